"""Every widget of the course, built as the notebooks build them, where they train with a model that is not trained;
and beside each what its description must say, from a computation of its own: torch's functions, NumPy, or loops.

`expected(state)` returns the description with every number in full, and, where the view is a table, the numbers that
stand in it (None otherwise).
"""

import copy
import functools
import itertools
import math
import re
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tools.site import films
from utils import corpus
from utils.attention import MultiHeadAttention
from utils.beyond import MotifReader, PatchTransformer
from utils.byte_pairs import BytePairs, chat_prompt
from utils.decoder import LanguageModel, TokenEncoder, TransformerTranslator
from utils.rnn import (
    AttentionDecoder,
    RecurrentDecoder,
    RecurrentEncoder,
    RecurrentTranslator,
)
from utils.torch_weights import load
from utils.transformer import Tagger
from utils.vectors import WordVectors
from utils.vocabulary import Vocabulary
from utils.widgets import attention, beyond, choosing
from utils.widgets.flow import TIMES
from utils.widgets.guess import questions

SHIP = "ship laden goods several international ports sailed gently ocean".split()
MAP = "king queen man woman ship boat ocean sea paris france rome italy"
VECTORS = WordVectors.load()


def rows(words):
    return torch.tensor(np.stack([VECTORS[word] for word in words]))


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def attends(words, row, count):
    """ "ship 30 %, ocean 20 %": the largest weights of a row."""
    best = torch.as_tensor(row).topk(min(count, len(words)))
    return ", ".join(f"{words[k]} {100 * share}%" for share, k in zip(best.values.tolist(), best.indices.tolist()))


# start here


def sentence_attention(widgets):
    """Weights by torch's attention with a mask, neighbours by one product with all the words that are offered."""
    offered = F.normalize(torch.tensor(VECTORS.matrix[:10_000]), dim=1)

    def attend(X, chosen, itself):
        scores = X @ X[chosen] / math.sqrt(X.shape[-1])
        return torch.softmax(scores if itself else scores.masked_fill(torch.arange(len(X)) == chosen, -math.inf), -1)

    def near(vector):
        return ", ".join(VECTORS.words[k] for k in (offered @ F.normalize(vector, dim=0)).topk(3).indices)

    def expected(state):
        typed = "".join(sign if sign.isalnum() else " " for sign in state["sentence"][:2000].lower()).split()
        known = [word for word in typed if word in VECTORS]
        words = known[:9]
        if len(words) < 2:
            return "✘ Type two words or more", None
        chosen, itself, X = min(state["chosen"], len(words) - 1), state["itself"], rows(words)
        may = torch.ones(1, len(words), dtype=torch.bool)
        may[0, chosen] = itself
        z = F.scaled_dot_product_attention(X[chosen, None], X, X, may)[0]
        weights = F.scaled_dot_product_attention(X[chosen, None], X, torch.eye(len(words)), may)[0]
        task = "Does the mixture still know which word asks?"
        if itself:
            task = f"{'✔' if weights[chosen] < 0.5 else '○'} Find a word that gives more to others than to itself."
        said = (
            f"“{words[chosen]}” asks, {'with' if itself else 'without'} itself: most to {attends(words, weights, 3)}. "
        )
        said += f"Nearest to x: {near(X[chosen])}; to mixture: {near(z)}; to x + mixture: {near(X[chosen] + z)}. {task}"
        unknown = list(dict.fromkeys(word for word in typed if word not in VECTORS))
        short = [word if len(word) <= 14 else f"{word[:13]}…" for word in unknown[:4]]
        said += f" Without a vector: {', '.join(short)}." if unknown else ""
        return said + (" The first 9 words are shown." if len(known) > 9 else ""), None

    return widgets.sentence_attention(VECTORS, attend, "caught bass fish lake", "bass"), expected


KITCHEN, DESK = "mouse ran kitchen cat followed".split(), "mouse click window computer keyboard".split()
STEPS_OF_A_LOOK = (
    "Each word is a vector: 100 numbers, drawn as 100 bars.",
    "Compare: each of its numbers times the other word's. Their sum, divided by √100 = 10, is the score.",
    "Share out: the higher the score, the more of the 100 % a word gets.",
    "Mix: so much of each vector, added up.",
    "Add the mixture to the word's own vector. Which words are nearest to it now?",
)


def first_look(widgets):
    """Scores and mixture word by word, neighbours by one product with all the words that are offered."""
    offered = F.normalize(torch.tensor(VECTORS.matrix[:10_000]), dim=1)
    sentences = {}
    for words in (KITCHEN, DESK):
        X, n = rows(words), len(words)
        weights = F.scaled_dot_product_attention(X[None], X[None], torch.eye(n)[None], ~torch.eye(n, dtype=torch.bool))
        sentences[" ".join(words)] = words, X, weights[0]

    def nearest(vector, word):
        order = (offered @ F.normalize(vector, dim=0)).argsort(descending=True)[:4].tolist()
        return ", ".join([VECTORS.words[k] for k in order if VECTORS.words[k] != word][:3])

    def expected(state):
        (words, X, _), i, step = sentences[state["sentence"]], state["chosen"], state["step"]
        scores = {k: sum(a * b for a, b in zip(X[i].tolist(), X[k].tolist())) / 10 for k in range(len(words)) if k != i}
        total = sum(map(math.exp, scores.values()))
        shares = {k: math.exp(score) / total for k, score in scores.items()}
        mixture = sum(share * X[k] for k, share in shares.items())
        said = f"“{words[i]}” in “{' '.join(words)}”, step {step}: {STEPS_OF_A_LOOK[step - 1]} "
        if step == 2:
            said += f"Scores: {', '.join(f'{words[k]} {score}' for k, score in scores.items())}. "
        if step > 2:
            said += f"Shares: {', '.join(f'{words[k]} {100 * share}%' for k, share in shares.items())}. "
        new = nearest(X[i] + mixture, words[i]) if step == 5 else "?"
        return f"{said}Alone, nearest to {nearest(X[i], words[i])}; now, nearest to {new}.", None

    return widgets.first_look(sentences, VECTORS.nearest, "mouse"), expected


def translator(widgets):
    """A translator that writes the words of the source backwards, each of them with an own row of weights."""
    knows = {"the", "green", "witch", "arrived", "sang", ",", "'s"}

    def translate(words):
        n = len(words)
        scores = torch.sin(2.0 + torch.arange(float(n * (n + 1)))).view(n, n + 1) * 3
        return [word.upper() for word in reversed(words)], scores.softmax(-1)

    def expected(state):
        words = state["sentence"].lower().replace("’", "'")
        words = re.sub("('s)(?![a-z0-9_])", r" \1 ", words.replace(",", " , ")).rstrip(" .!?").split()
        strange = [word for word in words if word not in knows]
        if not words:
            return "✘ There is no sentence yet.", None
        if len(words) > 12:
            return f"✘ That is {len(words)} words. Give at most 12.", None
        if strange:
            return "✘ The translator has never read", None
        target, weights = translate(words)
        written = min(state["written"], len(target))
        here = state["chosen"] if 0 < state["chosen"] <= written else written
        row, names = weights[here - 1].tolist(), [*words, "(end)"]
        most = sorted(range(len(row)), key=lambda k: -row[k])[:2]
        looks = ", ".join(f"{names[k]} {100 * row[k]}%" for k in most if row[k] >= 0.005)
        sign = "✔" if sorted(row)[-2] > 0.3 else "○"
        said = f"English: {' '.join(words)}. Spanish: {' '.join(target[:written])}. To write “{target[here - 1]}”, it "
        return f"{said}looks at {looks}. {sign} Find a Spanish word that looks at two words, each with over 30 %.", None

    tries = ("The witch's green, green witch sang!", "the " * 13, "the wich sang")
    return widgets.translator(translate, knows, "the green witch arrived", tries), expected


def attention_shapes(widgets):
    def expected(state):
        q, k, e, v = (state[name] for name in ("n_queries", "n_keys", "d_head", "d_value"))
        Q, K, V = torch.empty(q, e), torch.empty(k, e), torch.empty(k, v)
        weights, output = Q @ K.T, Q @ K.T @ V
        shapes = [tuple(array.shape) for array in (Q, K.T, weights, V, output)]
        said = (
            "Q {} times K transposed {}, scaled and through softmax, gives weights {}; times V {} gives the output {}."
        )
        done = shapes[4] == shapes[0] and shapes[2] == shapes[2][::-1]
        task = f"{'✔' if done else '○'} Make the output as large as Q, the weights square."
        return f"{said.format(*shapes)} {task}", None

    return widgets.attention_shapes(), expected


# dot-product similarity


def two_arrows(widgets):
    """The angle by atan2, the product by torch."""

    def expected(state):
        (p, q), (r, s) = a, b = [[state[f"{name}_{axis}"] for axis in "xy"] for name in "ab"]
        dot = torch.dot(*map(torch.tensor, (a, b))).item()
        said = f"Two arrows, a ({p}, {q}) and b ({r}, {s}): dot product {p * r} + {q * s} = {dot}; "
        if not (any(a) and any(b)):
            said += "an arrow of length 0 has no direction, and no cosine. ○"
        else:
            turn = abs(math.degrees(math.atan2(q, p) - math.atan2(s, r)))
            turn = min(turn, 360 - turn)
            lengths = [torch.tensor(arrow).norm() for arrow in (a, b)]
            said += f"they meet at {turn}°; |a| · |b| · cosine = {lengths[0]} · {lengths[1]} · "
            cosine = 0.0 if dot == 0 else math.cos(math.radians(turn))
            said += f"({cosine}) = {dot}. {'○' if dot else '✔'}"
        return f"{said} Make a · b = 0, with no arrow of length 0.", None

    return widgets.two_arrows(), expected


HARBOUR = {"ship": (1.8, 1.2), "storm": (-2.4, 1.6), "sea": (2.6, -2.0), "fish": (0.3, 0.9)}


def winning_key(widgets):
    """Dot products as sums, cosines by torch; the winner by sorting."""

    def expected(state):
        query = [state["query_x"], state["query_y"]]
        said, task = f"Query ({query[0]}, {query[1]})", "Drag the query until ship has the largest dot product."
        if not any(query):
            return f"{said}: it has length 0 and is like no key. ○ {task}", None
        dots = {word: sum(x * y for x, y in zip(key, query)) for word, key in HARBOUR.items()}
        cosines = {
            word: F.cosine_similarity(torch.tensor(key).double(), torch.tensor(query).double(), dim=0).item()
            for word, key in HARBOUR.items()
        }
        best, closest = (max(of, key=lambda word: round(of[word], 9)) for of in (dots, cosines))
        listed = "; ".join(f"{word} {dots[word]:.12f} and {cosines[word]:.12f}" for word in HARBOUR)
        said += f". Its dot product and cosine with each key: {listed}. Largest dot product: {best}. "
        return f"{said}Largest cosine: {closest}. {'✔' if best == 'ship' else '○'} {task}", None

    return widgets.winning_key(list(HARBOUR), list(HARBOUR.values()), "ship", (-1.2, 1.0)), expected


def word_map(widgets):
    def expected(state):
        asked = [word for part in state["words"].lower().split(",") for word in part.split()]
        asked = sorted(set(asked), key=asked.index)
        unknown = [word for word in asked if word not in VECTORS]
        known = [word for word in asked if word in VECTORS]
        note = ", ".join(word if len(word) < 15 else word[:13] + "…" for word in unknown[:5]).replace("\x00", "\ufffd")
        note = note.replace("\x1b", "\ufffd").replace("\ud800", "\ufffd").replace("\ufffe", "\ufffd")
        note = f"not among the vectors: {note}{f' and {len(unknown) - 5} more' * (len(unknown) > 5)}" if unknown else ""
        if len(known) < 3:
            return f"✘ A map needs three words or more {note or 'Type more words, separated by spaces.'}", None
        centred = rows(known).double() - rows(known).double().mean(0)
        U, S, V = torch.linalg.svd(centred, full_matrices=False)
        points = U[:, :2] * S[:2]
        points = points * V[:2].gather(1, V[:2].abs().argmax(1)[:, None]).sign().T  # its largest entry is positive
        kept = 100 * (S[:2].square().sum() / S.square().sum())
        placed = ", ".join(f"{word} ({x}, {y})" for word, (x, y) in zip(known, points.tolist()))
        if state["neighbours"]:
            pages = [
                (torch.cdist(x, x) + torch.diag(torch.full((len(x),), torch.inf))).argmin(1)
                for x in (rows(known).double(), points)
            ]
            lost = [f"{known[i]} to {known[j]}, not {known[k]}" for i, (j, k) in enumerate(zip(*pages)) if j != k]
            ask = f"{'○' if lost else '✔'} Type words until every arrow is solid."
            note = f"Nearest with all entries and not on the map: {'; '.join(lost) or 'none'}. {ask} {note}"
        else:
            note = f"Which word is nearest by all entries? Show the arrows. {note}"
        return f"Word map: {placed}. Two components keep {kept}% of the variance. {note}".rstrip(), None

    return widgets.word_map(VECTORS, MAP), expected


def analogy(widgets):
    """One product with all words that are offered; the distance from the cosine, where the length of a word is 1."""
    offered = F.normalize(torch.tensor(VECTORS.matrix[:10_000]).double(), dim=1)

    def expected(state):
        asked = [word for part in state["question"].lower().split(",") for word in part.split()]
        asked = sorted(set(asked), key=asked.index)
        unknown = [word if len(word) < 15 else word[:13] + "…" for word in asked if word not in VECTORS]
        if unknown or len(asked) < 3:
            said = f"not among the vectors: {', '.join(unknown[:5])}" if unknown else "Such as: man king woman"
            for strange in "\x00\x1b\ud800\ufffe":
                said = said.replace(strange, "\ufffd")
            return f"✘ Type three different words {said}", None
        a, b, c = F.normalize(rows(asked[:3]).double(), dim=1)
        target = b - a + c
        cosines = offered @ target / target.norm()
        order = [k for k in cosines.argsort(descending=True)[:9].tolist()]
        best = [k for k in order if state["own"] or VECTORS.words[k] not in asked[:3]][:5]
        listed = ", ".join(f"{VECTORS.words[k]} {cosines[k]:.12f}" for k in best)
        first, size = VECTORS.words[best[0]], target.norm()
        away = math.sqrt(1 + size**2 - 2 * size * cosines[best[0]])
        done = state["own"] and first in asked[:3]
        said = (
            f"{asked[0]} is to {asked[1]} as {asked[2]} is to ? Nearest to the end of the walk, the question's words "
        )
        said += (
            f"{'allowed' if state['own'] else 'left out'}: {listed} (cosines). The circle reaches to {first}, {away}"
        )
        return f"{said} away. {'✔' if done else '○'} Find a question that is answered with one of its own words.", None

    return widgets.analogy(VECTORS, "man king woman"), expected


# single-token attention


def derivatives(scores, chosen, temperature=1.0):
    """How one weight changes with each score: torch's own derivative, and the weights."""
    scores = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    weights = F.softmax(scores / temperature, dim=0)
    return torch.autograd.grad(weights[chosen], scores)[0].tolist(), weights.tolist()


def small(number):
    return number if abs(number) >= 1e-9 else "below 1e-9"


def softmax_sharing(widgets):
    words = ["the", "ship", "sailed", "away"]

    def expected(state):
        scores = [float(state[f"score_{k}"]) for k in range(1, 5)]
        grows, weights = derivatives(scores, state["chosen"], state["temperature"])
        shares = ", ".join(f"{word} {weight:.12f}" for word, weight in zip(words, weights))
        moves = ", ".join(f"{word} {small(number)}" for word, number in zip(words, grows))
        done = weights[1] > 0.8 and scores == [0, 2, 1, -1]
        said = f"softmax(scores / {state['temperature']}). Shares of one bar: {shares}. With each score the share of "
        said += f"{words[state['chosen']]} grows by: {moves}. {'✔' if done else '○'} Change only T: give ship more "
        return f"{said}than 0.8. It gets {weights[1]}. Then drag scores, or click a word.", None

    return widgets.softmax_sharing(words, [0, 2, 1, -1], 1), expected


def softmax_saturation(widgets):
    generator = torch.Generator().manual_seed(433)
    shapes = (1, 1), (1, 5), (500, 1), (500, 5)
    query, keys, others, their_keys = (torch.randn(*shape, 1024, generator=generator).double() for shape in shapes)

    def gradients(query, keys, scale, wanted):
        query = query[:, 0].clone().requires_grad_()
        weights = torch.softmax(torch.einsum("ne,nke->nk", query, keys) / scale, dim=-1)
        weights[:, wanted].sum().backward()
        return query.grad.norm(dim=-1).tolist(), weights[0].tolist()

    def expected(state):
        e, b = 2 ** state["power"], state["wanted"]
        scale = math.sqrt(e) if state["divide"] else 1.0
        (length,), own = gradients(query[..., :e], keys[..., :e], scale, b)
        said = ", ".join(f"key {k} {weight:.12f}" for k, weight in enumerate(own))
        norms = (keys[0, :, :e].square().sum(-1).sqrt() / scale).tolist()
        parts, _ = derivatives([math.log(weight) for weight in own], b)
        moves = ", ".join(f"key {k} {small(one * norm)}" for k, (one, norm) in enumerate(zip(parts, norms)))
        title = f"d_k = {e}, {'divided by √d_k' if state['divide'] else 'not divided'}"
        said = f"{title}. Shares of one bar: {said}. To raise the share of key {b}, each key pulls the query: {moves}. "
        said += f"To raise the share of key {b}, the query gets a gradient of length {small(length)}. "
        others_too, _ = gradients(others[..., :e], their_keys[..., :e], scale, 0)
        has, end = f"more than 0.99 of the bar. It has {max(own)}.", small(sorted(others_too)[249])
        if max(own) > 0.99:
            said += "✔ One key has more than 0.99 of the bar. What is left of the arrows?"
        elif state["divide"]:
            said += f"○ Is there a d_k at which one key has {has.replace('bar.', 'bar?')}"
        else:
            said += f"○ Drag until one key has {has}"
        return f"{said} Median gradient of 500 queries: {end}.", None

    return widgets.softmax_saturation(keys=5, seed=433), expected


def attention_flow(widgets):
    """Sums one by one, and what torch makes of the same numbers; the fourth query is the learner's."""
    words, Q = ["my", "cat", "purrs"], torch.tensor([[0.0, 2, -1, 2], [2, 0, 1, 0], [1, 3, 0, 2]])
    K, V = torch.tensor([[2.0, 0, 1, 0], [0, 2, 0, 1], [1, 0, 2, -1]]), torch.tensor([[4.0, 0.5], [0, 4], [-4, 4]])
    does = ["query", 0, 1, 2, "scale", "exponentials", "weights", "first", "second", "all"]

    def expected(state):
        own, i, step = torch.tensor([float(state[f"entry_{k}"]) for k in range(1, 5)]), state["chosen"], state["step"]
        every = torch.cat([Q, own[None]])
        weights = F.scaled_dot_product_attention(every[None], K[None], torch.eye(3)[None])[0]
        outputs = F.scaled_dot_product_attention(every[None], K[None], V[None])[0]
        q, w, kind = every[i].tolist(), weights[i].tolist(), does[step - 1]
        scores = [sum(a * b for a, b in zip(q, key)) for key in K.tolist()]
        powers = [math.exp(score / 2) for score in scores]
        asks = "You ask" if i == 3 else f"“{words[i]}” asks"
        table = weights.flatten().tolist() + outputs.flatten().tolist() if kind == "all" else w * (step > 6)
        table += w * (step in (7, 8, 9)) + outputs[i, : max(0, step - 7)].tolist() * (kind != "all")
        if kind in (0, 1, 2):
            products = " + ".join(f"{a}{TIMES}{b}" for a, b in zip(q, K[kind].tolist()))
            said = f"Its score for {words[kind]}: {products} = {scores[kind]}. Multiply entry by entry, then add."
        elif kind in ("first", "second"):
            at = ["first", "second"].index(kind)
            products = " + ".join(f"{a}{TIMES}{b}" for a, b in zip(w, V[:, at].tolist()))
            said = f"Entry {at + 1} of its output, “{named[at]}”: each weight times that entry of the word's value. "
            said += f"{products} = "
            said += f"{outputs[i, at]}."
            table += [outputs[i, at].item()]
        else:
            shared = ", ".join(f"{word} {share}" for word, share in zip(words, w))
            row = outputs[i].tolist()
            said = {
                "query": f"Its query is its row of Q: {q[0]}, {q[1]}, {q[2]}, {q[3]}. A column of Kᵀ is the key of a "
                "word, a row of V its value. Click another word to let it ask. Which word will get most?",
                "scale": "Every score of the row is divided by √4, as a query has 4 entries: "
                f"{scores[0] / 2}, {scores[1] / 2}, {scores[2] / 2}.",
                "exponentials": f"Their exponentials: {powers[0]}, {powers[1]}, {powers[2]}. All are positive. "
                "A lead in the scores has become a factor.",
                "weights": f"Each exponential is divided by their sum, {sum(powers)}. These are the weights: {shared}. "
                "Together they are 1.",
                "all": "Every row is computed in the same way, and the formula does all rows at once. Its "
                f"output: {row[0]}, {row[1]}.",
            }[kind]
        task = "✔" if w[0] > 0.8 else "○"
        yours = "Drag numbers in the last row of Q until my gets more than 0.8. Now:"
        task = f" {task} {yours} {w[0]}." if i == 3 else ""
        return f"{asks}: which words matter to me? Step {step} of 10. {said}{task}", table

    named = ["somebody does something", "something is done"]
    return widgets.attention_flow(words, Q, K, V, "cat", named), expected


def projections(widgets):
    words, X = "cats eat fish".split(), torch.tensor([[1.0, 0, 0], [0, 1, 0], [1, 0, 1]])
    W_q = torch.tensor([[0.0, 2, 0, 2], [2, 0, 1, 0], [0, 1, 0, 0]])
    W_k = torch.tensor([[2.0, 0, 0, 0], [0, 2, 0, 1], [0, 0, 2, 0]])
    W_v = torch.tensor([[4.0, 0], [0, 4], [0, 4]])

    def in_brackets(row):
        return f"({', '.join(str(int(entry)) for entry in row)})"

    def expected(state):
        x = X[state["chosen"]].tolist()
        rows = []
        for matrix in (W_q, W_k, W_v):
            columns = zip(*matrix.tolist())
            rows.append(in_brackets(sum(a * b for a, b in zip(x, column)) for column in columns))
        said = f"{words[state['chosen']]}, the vector {in_brackets(x)}: times W_q it is the query {rows[0]}, what it "
        said += f"looks for; times W_k it is the key {rows[1]}, what it can be found by; times W_v it is the value "
        return f"{said}{rows[2]}, what it hands over. Why are some rows of the matrices pale?", None

    return widgets.projections(words, X, W_q, W_k, W_v, "fish"), expected


# self-attention


def hull(widgets):
    """A point lies in a hull if in no direction it lies beyond all values; a corner is a value that alone is farthest
    in some direction."""
    words, keys = ["cats", "eat", "fish", "bread", "often"], [(2, -1), (-2, -2), (2, 2), (-1, 2), (0, -1)]
    values = [(0, -3), (-3, -1), (3, -1), (0, 1), (1, 3)]
    ways = [(math.cos(math.radians(angle)), math.sin(math.radians(angle))) for angle in range(360)]

    def reaches(point):
        return [x * point[0] + y * point[1] for x, y in ways]

    farthest = [max(column) for column in zip(*map(reaches, values))]
    ends = [k for k, value in enumerate(values) if any(map(math.isclose, reaches(value), farthest))]

    def expected(state):
        x, y = state["query_x"], state["query_y"]
        powers = [math.exp((x * a + y * b) / math.sqrt(2) / state["temperature"]) for a, b in keys]
        weights = [power / sum(powers) for power in powers]
        output = [sum(weight * value[axis] for weight, value in zip(weights, values)) for axis in (0, 1)]
        within = all(far <= most + 1e-9 for far, most in zip(reaches(output), farthest))
        near, nearest = min((math.hypot(values[k][0] - output[0], values[k][1] - output[1]), k) for k in ends)
        shares = ", ".join(f"{word} {100 * weight}%" for word, weight in zip(words, weights))
        said = f"Query ({x}, {y}). Temperature {state['temperature']:g}. Weights: {shares}. "
        said += f"Output ({output[0]:.9f}, {output[1]:.9f}), "
        said += f"{'inside' if within else 'outside'} the hull. Nearest corner: {words[nearest]}, {near:.9f} away. "
        return (
            f"{said}{'✔' if near <= 0.1 else '○'} Bring the output within 0.1 of a corner. Can you get it outside?",
            None,
        )

    return widgets.hull(words, keys, values), expected


def kernel_smoothing(widgets):
    places = torch.linspace(0, 1, 60)
    true = torch.sin(2 * math.pi * places)
    noisy = true + 0.4 * torch.randn(60, generator=torch.Generator().manual_seed(0))

    def expected(state):
        width, smoothed = state["width"], []
        for place in places.tolist():
            weights = [math.exp(-((place - other) ** 2) / (2 * width**2)) for other in places.tolist()]
            smoothed.append(sum(w * y for w, y in zip(weights, noisy.tolist())) / sum(weights))
        before = np.mean([abs(a - b) for a, b in zip(noisy.tolist(), true.tolist())])
        after = np.mean([abs(a - b) for a, b in zip(smoothed, true.tolist())])
        asks = places.tolist()[5 * (state["moment"] - 1)]
        near = [math.exp(-((asks - other) ** 2) / (2 * width**2)) for other in places.tolist()]
        heard = f"The moment {asks} gives {sum(w > 0.01 * sum(near) for w in near)} of them more than 1 %"
        said = f"60 points over time, width {width}. {heard}. "
        said += f"Mean distance from the true curve: measured {before}, smoothed "
        through = np.mean([abs(a - b) for a, b in zip(smoothed, noisy.tolist())]) < 0.01
        task = f"{'✔' if through else '○'} Make the curve meet every point. Is it better?"
        return f"{said}{after}. {task}", None

    return widgets.kernel_smoothing(places, noisy, true), expected


def learning(widgets):
    """Weights by torch's own attention; what the matrices read, by the lengths of the columns that nn.Linear stores."""
    generator, film = torch.Generator().manual_seed(1), {}
    letters, asks, digits = [7, 0, 3, 1, 6, 4], [3, 4, 5, 4, 5, 4], [4, 2, 8, 6, 5, 3]
    rows = [F.one_hot(torch.tensor(part), size) for part, size in ((letters, 8), ([letters[k] for k in asks], 8))]
    cards = torch.cat([*rows, F.one_hot(torch.tensor(digits), 10)], -1).double()
    for picture in range(4):  # more and more of what is right, in noise that stays the same
        layer = nn.ModuleDict({f"W_{name}": nn.Linear(26, 10, bias=False) for name in "qkv"}).double()
        right = {"W_q": torch.eye(10, 26).roll(8, 1), "W_k": torch.eye(10, 26), "W_v": torch.eye(10, 26).roll(16, 1)}
        for name, part in layer.items():
            noise = torch.randn(10, 26, generator=generator).double() / 5
            part.weight.data = noise + 2 * picture * right[name]
        film[20 * picture] = 2.5 - 0.7 * picture, layer

    def right_cards(layer):
        Q, K, V = (layer[f"W_{name}"](cards) for name in "qkv")
        says = F.scaled_dot_product_attention(Q, K, V).argmax(-1).tolist()
        weights = F.scaled_dot_product_attention(Q, K, torch.eye(6).double())
        count = sum(digit == digits[k] for digit, k in zip(says, asks))
        return count, sum(weights[row, k].item() for row, k in enumerate(asks)) / 6

    def most(part):
        means = [rows.mean().item() for rows in part.weight.square().sum(0).sqrt().split([8, 8, 10])]
        return ("its letter", "asks for", "its digit")[means.index(max(means))]

    def expected(state):
        step = 20 * (state["picture"] - 1)
        loss, layer = film[step]
        counts = [right_cards(layer)[0] for _, layer in film.values()]
        first = counts.index(6) == state["picture"] - 1 if 6 in counts else False
        reads = ", ".join(f"{name} {most(part)}" for name, part in layer.items())
        said = (
            f"Step {step}, loss {loss}. Each matrix reads most: {reads}. {right_cards(layer)[0]} of 6 cards name the "
        )
        said += f"right digit. Mean weight on the right card: {right_cards(layer)[1]}. "
        return f"{said}{'✔' if first else '○'} Find the first picture in which all 6 cards are right.", None

    shown = {step: (loss, SimpleNamespace(**dict(layer.items()))) for step, (loss, layer) in film.items()}
    return widgets.learning(shown, cards), expected


# multi-head attention


def weight_and_share(widgets):
    """Each term of the weighted sum by itself, its length along the output by a projection."""
    words, X, W = "my name is marcello politi".split(), numbers(5, 8), numbers(3, 8, 8, seed=1) / 3
    weights, V = torch.softmax((X @ W[0]) @ (X @ W[1]).T / math.sqrt(8), -1), X @ W[2]

    def expected(state):
        row = weights[state["chosen"]]
        terms = torch.stack([weight * value for weight, value in zip(row, V)])  # (k, v)
        output = terms.sum(0)
        share = F.normalize(output, dim=0) @ terms.T / output.norm()
        said = [f"{word} {100 * w}% and {100 * s}%" for word, w, s in zip(words, row.tolist(), share.tolist())]
        ask = "Which word gets weight, and takes away?"
        ask = ask if share.min() < -0.005 else "No word takes away here. Where does one?"
        return f"{words[state['chosen']]} asks. Weight and share of the output: {', '.join(said)}. {ask}", None

    return widgets.weight_and_share(words, weights, V, "my"), expected


def einsum_loops(widgets):
    """The loops that are shown are run, and must give what torch.einsum gives."""
    cases = {name: (a, torch.randn(s), b, torch.randn(t)) for name, (a, s, b, t, _) in attention.EINSUM_TENSORS.items()}

    def expected(state):
        first, a, second, b = cases[state["tensors"]]
        equation = state["equation"]
        short = equation if len(equation) <= 40 else equation[:39] + "…"
        for strange in "\x00\x1b\ud800\ufffe":
            short = short.replace(strange, "\ufffd")
        title = f'einsum("{short}", {first}, {second})'
        shorthand = "->" not in equation or equation != equation.lower()  # PyTorch takes these, too
        try:
            result = None if shorthand or len(equation) > 40 else torch.einsum(equation, a, b)
        except (RuntimeError, ValueError):
            result = None
        if result is None:
            return f"{title} cannot be read. ", None
        (left, right), dots = equation.replace(" ", "").split("->"), ""
        unnamed = sorted(set("abcdefgh") - set(left + right))  # these name the axes under three dots
        for group, shape in zip(left.split(","), (a.shape, b.shape)):
            dots = max(dots, "".join(unnamed[: len(shape) - len(group.replace("...", ""))]), key=len)
        spelled = [
            group.replace("...", dots[len(dots) + len(group) - 3 - len(shape) :])
            for group, shape in zip(left.split(","), (a.shape, b.shape))
        ]
        told = [f"three dots stand for {', '.join(dots) or 'no axis'}"] if "..." in equation else []
        left, right = ",".join(spelled), right.replace("...", dots)
        sizes = dict(zip(left.replace(",", ""), (*a.shape, *b.shape)))
        summed = [letter for letter in sizes if letter not in right]
        run = {"result": torch.zeros(result.shape), first: a, second: b}
        order = "".join(right) + "".join(summed)
        loops = [f"for {letter} in range({sizes[letter]}):" for letter in order]
        operands = left.split(",")
        product = f"{first}[{', '.join(operands[0])}] * {second}[{', '.join(operands[1])}]"
        target = f"result[{', '.join(right)}]" if right else "result"
        line = f"{target} {'+=' if summed else '='} {product}"
        exec("\n".join("    " * depth + code for depth, code in enumerate([*loops, line])), run)
        assert torch.allclose(torch.as_tensor(run["result"]), result, atol=1e-4)
        shape = f"shape {tuple(result.shape)}" if right else "a single number"
        shown = " ".join([*told, "result = 0, of the shape below", *loops, line, "", f"result: {shape}"])
        count = math.prod(sizes.values())
        task = f"{'○' if right else '✔'} Change the string so that a single number comes out."
        return f"{title}. {shown} summed over: {', '.join(summed) or 'nothing'} multiplications: {count:,} {task}", None

    return widgets.einsum_loops(), expected


FOUR_WORDS, LONG = "the green witch arrived", "the old cat that the green witch saw"
KNOWN_WORDS = {*FOUR_WORDS.split(), *LONG.split()}


def heads_at_work(widgets):
    """The weights are those of PyTorch's layer with the same numbers; a sentence is read as rows of random numbers."""
    torch.manual_seed(3)
    theirs = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    with torch.no_grad():
        theirs.in_proj_weight[:16].mul_(4)  # heads that look somewhere
    layer = load(MultiHeadAttention(d_model=16, num_heads=4), theirs).eval()
    does = ("each head makes its own query", "each head compares by itself", "each head collects its own values")
    does += ("side by side, and W_o joins them",)

    def read(words):
        return numbers(len(words) + 1, 16, seed=len(words))

    def expected(state):
        given = re.sub(r"(,|'s\b)", r" \1 ", state["sentence"].lower()).rstrip(" .!?").split()
        if not given or len(given) > 8 or not KNOWN_WORDS.issuperset(given):
            return "✘ ", None
        words, head, step = [*given, "(end)"], state["head"], state["step"]
        i, x = min(state["chosen"], len(given)), read(given)
        with torch.no_grad():
            maps = theirs(x, x, x, average_attn_weights=False)[1]
        most = ", ".join(f"{words[int(row.argmax())]} {100 * row.max()}%" for row in maps[:, i])
        said = {
            1: f"Head {head} gets no slice of x: it reads all 16 numbers. Its own are 4 columns of W_q, and so 4 of "
            "the 16 numbers of the query.",
            2: f"{words[i]} gives most to, head by head: {most}. Does that hold in another sentence?",
            3: f"Head {head} mixes its 4 numbers of every word's value by these weights.",
            4: "The 4 results side by side are as wide as x. W_o is the first place where the heads meet.",
        }[step]
        return f"{' '.join(words)}: {words[i]}, head {head}, step {step} of 4: {does[step - 1]}. {said}", None

    return widgets.heads_at_work(read, layer, KNOWN_WORDS, FOUR_WORDS, "green", [LONG, "the witch the"]), expected


def head_split(widgets):
    """Number j of word i belongs to head j // e; where a view reads on, it comes to head (16 i + j) // 5 e."""
    words = "my name is marcello politi".split()

    def expected(state):
        h, stage, direct = state["num_heads"], state["stage"], state["direct"]
        e, wrong = 16 // h, 0
        for i, j in itertools.product(range(5), range(16)):
            read_on = 16 * i + j
            wrong += (read_on // (5 * e), read_on // e % 5, read_on % e) != (j // e, i, j % e)
        count = f"{wrong} of 80 numbers are in the wrong place" if direct else "each number is in its place"
        shape = f"(h, n, e) = ({h}, 5, {e})"
        said = {
            1: "(n, d) = (5, 16). In each cell: the number of its word.",
            2: f"All rows in one line. A view as ({h}, 5, {e}) gives each head the next {5 * e} numbers."
            if direct
            else f"The last axis is cut in two: (n, h, e) = (5, {h}, {e}).",
            3: f"{'Viewed' if direct else 'n and h are exchanged'}: {shape}, and {count}.",
            4: f"Exchanged back and joined: (5, 16), and {count}.",
        }[stage]
        ask = (
            "Which words does head 1 get now?"
            if direct
            else "Where do the numbers of a word go? Then tick “view directly”."
        )
        if direct and stage == 4:
            ask = "Merge by a direct view as well, and Q comes back: “there and back” proves nothing."
        name = ("Q = X W_q", "cut", "heads", "merged")[stage - 1]
        framed = f" Framed: the numbers of {words[state['lit'] - 1]}." if state["lit"] else ""
        way = "viewed directly" if direct else "cut, then exchanged"
        return f"{h} heads, {way}. {stage} · {name}. {said}{framed} {ask}", None

    return widgets.head_split(words), expected


def be_the_head(widgets):
    """Which answers fit follows from where the weights lie, without trying any."""
    row, (p, q) = "FBGEHADC", (3, 7)

    def expected(state):
        heads, places, share = state["heads"], (state["look_1"], state["look_2"]), state["percent"]
        each = (100, 100) if heads == 2 else (share, 100 - share)
        looks = [list(zip(places, each))] if heads == 1 else [[one] for one in zip(places, each)]
        sees = []
        for one in looks:
            found = {symbol: sum(part for place, part in one if row[place - 1] == symbol) for symbol in sorted(row)}
            sees.append(", ".join(f"{symbol} {part}%" for symbol, part in found.items() if part))
        on = [tuple(sum(part for place, part in one if place == at) for at in (p, q)) for one in looks]
        known_p, known_q = any(a and not b for a, b in on), any(b and not a for a, b in on)
        mixed = [(a, b) for a, b in on if a and b]
        if (known_p and known_q) or any(a != b for a, b in mixed):
            fit = [row[p - 1] + row[q - 1]]
        elif mixed:
            fit = sorted({row[p - 1] + row[q - 1], row[q - 1] + row[p - 1]})
        else:
            fit = [None] * (8 if known_p or known_q else 64)
        listed = f": {' or '.join(f'{one}, {two}' for one, two in fit)}" if len(fit) < 3 else ""
        fits = f"Of 64 possible answers, {len(fit)} {'fits' if len(fit) == 1 else 'fit'}{listed}."
        you = f"You are {'one head' if heads == 1 else 'two heads'}: "
        you += " and ".join(f"{part}% at place {place}" for place, part in zip(places, each))
        task = f"{'✔' if len(fit) == 1 else '○'} Leave the reader a single answer."
        question = "What lies at place 3, and what at place 7?"
        return f"Shelf {' '.join(row)}. {question} {you}. The reader sees {'; '.join(sees)}. {fits} {task}", None

    return widgets.be_the_head(row, (p, q)), expected


def shelf(widgets):
    """With models that answer and look by tables of random numbers."""
    tables = {(h, s): numbers(h + 2, 8, 8, seed=10 * h + s) for h in (1, 2) for s in range(3)}
    shelves = torch.randint(8, (4, 8), generator=torch.Generator().manual_seed(0))

    def reader(table):
        def read(symbols, places):
            asked = torch.stack([table[0][symbols.gather(1, places)[:, 0]], table[1][places[:, 1]]], 1)
            return asked, table[2:][:, places[:, 0], :].transpose(0, 1).softmax(-1)

        return read

    def expected(state):
        row, first, second = shelves[state["shelf"]].tolist(), state["first"], state["second"]
        right, said = "ABCDEFGH"[row[first - 1]] + "ABCDEFGH"[row[second - 1]], []
        for h in (1, 2):
            table = tables[h, state["seed"]].double()
            answers, guesses = "", []
            for scores in (table[0][row[first - 1]], table[1][second - 1]):
                share = [math.exp(x) for x in scores.tolist()]
                best = sorted(range(8), key=lambda k: -share[k])[:2]
                answers += "ABCDEFGH"[best[0]]
                guesses.append(", ".join(f"{'ABCDEFGH'[k]} {100 * share[k] / sum(share)}%" for k in best))
            looks = []
            for i in range(h):
                share = [math.exp(x) for x in table[2 + i][first - 1].tolist()]
                one, two = (100 * share[place - 1] / sum(share) for place in (first, second))
                looks.append(f"{'one head' if h == 1 else f'head {i + 1}'}: {one}% and {two}% there")
            verdict = "right" if answers == right else "wrong"
            said.append(f"{', '.join(looks)}; first answer {guesses[0]}, second {guesses[1]}, {verdict}.")
        question = f"What lies at places {first} and {second}? Right: {right[0]}, {right[1]}."
        return f"Shelf {' '.join('ABCDEFGH'[k] for k in row)}. {question} {' '.join(said)}", None

    return widgets.shelf({key: reader(table) for key, table in tables.items()}, shelves), expected


def two_cuts(widgets):
    """Shares as fractions, and each answer by a comparison of its own."""

    def expected(state):
        a = state["percent"] / 100
        weights = [(a, 1 - a), (1 - a, a) if state["heads"] == 2 else (a, 1 - a)]
        cuts, told, wrong = (state["cut_1"], state["cut_2"]), [], set()
        for answer, (on_first, on_second) in enumerate(weights):
            shares = {"AA": 1.0, "AB": on_first, "BA": on_second, "BB": 0.0}
            said = {pair: "AB"[100 * share < cuts[answer]] for pair, share in shares.items()}
            wrong |= {pair for pair in shares if said[pair] != pair[answer]}
            listed = ", ".join(f"{pair} {100 * share:.0f}%" for pair, share in shares.items())
            told.append(f"{('First', 'Second')[answer]} answer: A above {cuts[answer]}%; {listed}")
        well = [pair for pair in ("AA", "AB", "BA", "BB") if pair not in wrong]
        task = f"{'✔' if len(well) == 4 else '○'} Get all four right. Both answers are right for {len(well)}: "
        task += f"{', '.join(well) or 'none'}."
        heads = "One head" if state["heads"] == 1 else "Two heads"
        begin = f"{heads}: {state['percent']}% on the first place, {100 - state['percent']}% on the second."
        return f"{begin} {'. '.join(told)}. {task}", None

    return widgets.two_cuts(), expected


# masking


Masked = "the sailor slept <pad>".split()
Masked_Q = torch.tensor([[2.0, 0, 0, 0], [0, 2, 1, 0], [2, 1, 0, 0], [1, 1, 1, 0]])
Masked_K = torch.tensor([[0.0, 0, 2, 0], [2, 0, 0, 0], [0, 2, 0, 0], [2, 2, 2, 2]])
Masked_V = torch.tensor([[1.0, 0], [4, 1], [0, 3], [9, 9]])


def paint_mask(widgets):
    words, (Q, K, V) = Masked, (Masked_Q, Masked_K, Masked_V)

    def expected(state):
        painted = torch.tensor([value for name, value in state.items() if name.startswith("box")]).view(4, 4)
        outputs, said = torch.zeros(4, 2), []
        weights = torch.zeros(4, 4)
        for i in range(4):
            keys = [k for k in range(4) if painted[i, k]]
            if keys:
                scores = torch.stack([Q[i] @ K[k] for k in keys]) / 2
                weights[i, keys] = scores.softmax(0)
                outputs[i] = weights[i] @ V
            pairs = ", ".join(f"{words[k]} {weights[i, k]:.12f}" for k in keys)
            said.append(f"{words[i]} to {len(keys)} of 4: {pairs or 'nothing'}")
        task = "○ Hide the future: no word may hear a later one."
        if all(painted[i, k] == (k <= i) for i in range(4) for k in range(4)):
            task = "✔ The future is hidden. Now let slept hear only sailor. What comes out?"
        if painted[2].tolist() == [False, True, False, False]:
            assert outputs[2].equal(V[1])
            task = "✔ slept hears only sailor. Its output is the value of sailor: 4, 1."
        table = [*weights.flatten().tolist(), *outputs.flatten().tolist()]
        return f"Who attends to whom. {'; '.join(said)}. {task}", table

    return widgets.paint_mask(words, Q, K, V, padded=1), expected


def empty_row(widgets):
    Q, K, V = Masked_Q[1:].numpy(), Masked_K[1:].numpy(), Masked_V[1:].numpy()

    def expected(state):
        exponentials = np.exp(Q[:2] @ K[:2].T / 2)
        weights = exponentials / exponentials.sum(1, keepdims=True)  # of the words, to the words
        gradient = weights @ V[:2] / 2  # of the mean of four squares
        loss = np.square(weights @ V[:2]).mean()
        terms = [f"{weights[i, 0]:.12f} · {gradient[i, 0]:.12f}" for i in range(2)]
        first = f"{' + '.join(terms)} + NaN · 0 = NaN"
        second = f"{' + '.join(terms)} + 0 · 0 = {weights[:, 0] @ gradient[:, 0]:.12f}"
        said = [
            "Forwards. <pad> may attend to nothing: weights of 0 / 0, NaN, above, of 0 below. How far will it spread?",
            "The outputs of the words are the same in both. That of <pad> is NaN above, 0 below.",
            f"The loss reads the words alone: {loss} above, {loss} below. Nothing to be noticed.",
            "Backwards. The loss does not read <pad>, so the gradient of its output is 0. Where is the harm?",
            f"The gradient of V, weight times gradient and added up: {first} above, "
            f"for 0 · NaN is NaN; {second} below.",
            "After one training step every entry of V is NaN above, and with it every output. Below, training goes on.",
        ]
        return f"What does an empty row do? Step {state['step']} of 6. {said[state['step'] - 1]}", None

    real = torch.tensor([True, True, False])
    arrays = Masked_Q[1:], Masked_K[1:], Masked_V[1:]
    return widgets.empty_row(Masked[1:], *arrays, real[:, None] & real), expected


class TwoSteps(nn.Module):
    """Each output adds up the words that it may hear, and so does each of the outputs of a second step."""

    def __init__(self, first, second, only=None):
        super().__init__()
        self.first, self.second, self.only = first, second, only

    def forward(self, X):
        past = torch.ones(len(X), len(X)).tril()
        slips = self.only in (None, self.training)
        for table in (self.first, self.second):
            X = X + 0.5 * (table(past) if slips else past) @ X
        return X


def which_to_ship(widgets):
    words, X = "the old ship from rome sailed gently away".split(), numbers(8, 16, seed=4)
    right, wrong = (lambda past: past), (lambda past: past.T)
    late = lambda past: torch.where(torch.arange(len(past)) >= 6, 1.0, past)  # noqa: E731
    models = {"1": TwoSteps(late, late), "2": TwoSteps(right, right), "3": TwoSteps(right, wrong, False)}

    @torch.no_grad()
    def distances(model, mode, n, chosen):
        model.train(mode == "training")
        other = X[:n].clone()
        other[chosen] += 1
        return (model(other) - model(X[:n])).norm(dim=-1).tolist()

    def leak(name):
        for mode, n in itertools.product(("training", "evaluation"), (5, 8)):
            for chosen in range(n):
                for output, distance in enumerate(distances(models[name], mode, n, chosen)[:chosen]):
                    if distance > 1e-6:
                        return mode, n, output, chosen
        return None

    def expected(state):
        name, n = state["model"], state["n"]
        chosen = min(state["chosen"], n - 1)
        far = distances(models[name], state["mode"], n, chosen)
        moved = [k for k in range(n) if far[k] > 1e-6]
        moves = ", ".join(f"{words[k]} ({k + 1}) by {far[k]:.12f}" for k in moved) or "none"
        seen = "Red: an earlier output moves." if any(k < chosen for k in moved) else "No earlier output moves."
        said = "○ One model is honest. Click words, modes and lengths, then decide."
        if state["shipped"]:
            said = f"✔ You ship model {name}, the right one: no earlier output moves, in either mode, at either length."
            if name != "2":
                mode, length, output, word = leak(name)
                said = f"✘ Model {name} leaks: in {mode} mode, with {length} words, output {output + 1} moves when "
                said += f"{words[word]} ({word + 1}) changes."
        at = f"Model {name}, {state['mode']}, {n} words. {words[chosen]} ({chosen + 1}) changes."
        return f"{at} Outputs that move: {moves}. {seen} {said}", None

    return widgets.which_to_ship(words, X, models, short=5), expected


def peeking(widgets):
    lexicon = ["<pad>", "<start>", *"and li paris plays chess .".split()]
    sentences = {"a sentence": [1, 3, 2, 4, 5, 6, 7], "another one": [1, 4, 5, 7]}
    vectors, positions, out = numbers(8, 16, seed=2), numbers(6, 16, seed=3), numbers(16, 8, seed=5)
    torch.manual_seed(6)
    theirs = nn.MultiheadAttention(16, 2, batch_first=True).eval()
    ours = load(MultiHeadAttention(d_model=16, num_heads=2), theirs)

    def reader(causal):
        def run(ids):
            X, n = vectors[ids] + positions[: ids.shape[1]], ids.shape[1]
            found, weights = ours(X, mask=torch.ones(n, n).tril().bool() if causal else None)
            return (X + found) @ out, weights

        return run

    @torch.no_grad()
    def by_torch(ids, causal):
        X, n = vectors[ids] + positions[: len(ids)], len(ids)
        hidden = torch.ones(n, n).triu(1).bool() if causal else None
        found, weights = theirs(X, X, X, attn_mask=hidden)  # weights: the mean over the heads
        return ((X + found) @ out).argmax(-1).tolist(), weights

    def expected(state):
        row, changed = [*sentences[state["sentence"]]], state["changed"]
        before, _ = by_torch(torch.tensor(row[:-1]), state["model"] == "B")
        exchanged = 0 < changed < len(row) - 1
        if exchanged:
            old, row[changed] = lexicon[row[changed]], {2: 7, 3: 2, 4: 5, 5: 4, 6: 6, 7: 3}[row[changed]]
        guesses, weights = by_torch(torch.tensor(row[:-1]), state["model"] == "B")
        pairs = ", ".join(f"{lexicon[word]} → {lexicon[guess]}" for word, guess in zip(row, guesses))
        right = sum(guess == word for guess, word in zip(guesses, row[1:]))
        to_next = np.mean([weights[k, k + 1].item() for k in range(len(row) - 2)])
        task = "○ Exchange a word so that an earlier guess changes: click it."
        if exchanged:
            other, earlier = f"{lexicon[row[changed]]} replaces {old}. ", 0
            earlier = sum(one != other_one for one, other_one in zip(guesses[:changed], before))
            task = f"○ {other}No earlier guess has changed. Try other words, and other models."
            if earlier:
                task = f"✔ {other}Earlier guesses that changed: {earlier}. They knew what was to come."
        fact = f"{right} of {len(row) - 1} guesses are the next word. "
        fact += f"The next position, framed, gets {100 * to_next}% of the attention."
        return f"Model {state['model']} reads {state['sentence']} and guesses: {pairs}. {fact} {task}", None

    models, others = {"A": reader(False), "B": reader(True)}, [0, 1, 7, 2, 5, 4, 6, 3]
    return widgets.peeking(models, sentences, lexicon, others), expected


# recurrent networks


def fading(widgets):
    norms = {"slow": [2 * 0.7**k for k in range(25)], "fast": [0.5 * 0.45**k for k in range(25)]}
    states = {"slow": numbers(25, 6).tanh(), "fast": numbers(25, 6, seed=1).tanh()}

    def expected(state):
        rate, first = (0.7, 2.0) if state["network"] == "slow" else (0.45, 0.5)
        left = math.exp(state["back"] * math.log(rate))
        said = f"{state['network']}, {state['back']} words back: the gradient is {first * left}, {left} times that of "
        said += "the last word."
        if state["back"] == 0:
            said = f"{state['network']}, the last word itself: the gradient is {first}."
        ask = "How much is left 20 words back?" if state["back"] < 20 else "And in the other networks?"
        return f"{said} {ask}", None

    return widgets.fading(norms, states), expected


def rewritten_note(widgets):
    """By torch's RNN without a bias, run once for each word that is left out."""
    words, vectors = "dear friend I am well".split(), numbers(5, 3)
    layer = nn.RNN(3, 4, bias=False, batch_first=True).requires_grad_(False)
    layer.weight_ih_l0.copy_(numbers(4, 3, seed=1)), layer.weight_hh_l0.copy_(numbers(4, 4, seed=2) / 2)
    notes = layer(vectors[None])[0][0]

    def expected(state):
        step, chosen = state["step"], state["chosen"]
        without = vectors.clone()
        without[chosen] = 0
        apart = (layer(without[None])[0][0] - notes).norm(dim=1)
        left = float(apart[step - 1] / apart[chosen])
        said = f"Of “{words[chosen]}”, {100 * left}% is left in the note."
        said = f"“{words[chosen]}” is still to come." if step <= chosen else said
        sign = "✔" if step - 1 > chosen and left < 0.1 else "○"
        note = ", ".join(map(str, notes[step - 1].tolist()))
        task = f"{sign} At which step is less than 10 % of a word left? Is it the same for every word?"
        return f"Step {step}: it reads {words[step - 1]}. The note is ({note}). {said} {task}", None

    return widgets.rewritten_note(words, vectors, layer.weight_ih_l0.T, layer.weight_hh_l0.T), expected


def gate(widgets):
    """By a loop of products, and the step at which they pass one half."""

    def expected(state):
        z, left = state["gate"] / 100, 1.0
        for _ in range(20):
            left *= z
        percent = f"{100 * left} %" if left >= 1e-4 or not left else "less than 0.01 %"
        half = "never" if z == 1 else f"after {math.log2(0.5) / math.log2(z) if z else 0.0} steps"
        sign = "✔" if state["gate"] == 97 else "○"
        said = f"Gate z = {z}: {100 * z}% of the old number stays, {100 - 100 * z}% of the proposal comes in. After 20 "
        said += f"steps, {percent} is left. It falls to one half {half}. {sign} Find the smallest gate that keeps half "
        return f"{said}of a number for 20 steps.", None

    return widgets.gate(), expected


def recall(widgets):
    films = {
        ("Elman", "one"): {0: [0.1, 0.12, 0.15], 250: [0.2, 0.93, 0.91], 500: [1.0, 0.99, 0.95]},
        ("GRU", "one"): {0: [0.11, 0.14, 0.13], 250: [1.0, 1.0, 1.0]},
    }

    def expected(state):
        film, step = films[state["network"], state["practice"]], 250 * state["picture"]
        shares = film.get(step, [1.0, 1.0, 1.0])
        said = ", ".join(f"{back} back {100 * share}%" for back, share in zip((2, 20, 40), shares))
        sign = "✔" if state["network"] == "Elman" and step else "○"
        said = f"{state['network']}, {state['practice']}, after {step} steps: {said}. {sign} Make an Elman network "
        return f"{said}right at 40 words back. What does it take?", None

    return widgets.recall(films, [2, 20, 40]), expected


# RNN with attention


def states_of(layer, suffix, xs):
    """The states (n, d) of torch's GRU over xs (n, d_in), by its cell, step by step."""
    step, state, found = nn.GRUCell(layer.input_size, layer.hidden_size), torch.zeros(1, layer.hidden_size), []
    step.load_state_dict({key: getattr(layer, f"{key}_l0{suffix}") for key in step.state_dict()})
    for x in xs:
        state = step(x[None], state)
        found.append(state[0])
    return torch.stack(found)


@torch.no_grad()
def written_by_hand(model, ids):
    """What a recurrent translator writes for token ids, and for each step scores, weights (or None), probabilities."""
    encoder, decoder = model.encoder, model.decoder
    xs, looks = encoder.embedding.weight[ids], hasattr(decoder, "start")
    forth, back = states_of(encoder.rnn, "", xs), states_of(encoder.rnn, "_reverse", xs.flip(0)).flip(0)
    memory, c = torch.cat([forth, back], 1), torch.cat([forth[-1], back[0]])
    state = decoder.start[None] if looks else torch.tanh(decoder.first(c))[None]
    step, written, steps = nn.GRUCell(decoder.rnn.input_size, decoder.rnn.hidden_size), [1], []
    step.load_state_dict({key: getattr(decoder.rnn, f"{key}_l0") for key in step.state_dict()})
    while len(written) < 15 and (len(written) == 1 or written[-1] != 2):
        x, scores, weights = decoder.embedding.weight[written[-1:]], None, None
        out = state = step(x if looks else torch.cat([x, c[None]], 1), state)
        if looks:
            W_q, W_k, w = decoder.score.parameters()
            scores = torch.stack([torch.tanh(state[0] @ W_q + m @ W_k) @ w for m in memory])
            weights = scores.softmax(0)
            out = torch.tanh(decoder.combine(torch.cat([weights @ memory, state[0]])))[None]
        steps.append((scores, weights, decoder.to_logits(out)[0].softmax(0)))
        written.append(int(steps[-1][-1].argmax()))
    return written, steps


READING = (
    "the encoder reads. Each of the {} tokens gets a state of 8 numbers. Half of them have read up to it from the "
)
READING += "first word on, half from the last one back."
BRIDGE = "one vector is the only bridge. It is made of the last state of either direction, 8 numbers: all that the "
BRIDGE += "decoder ever gets of the {} tokens."
KEPT = (
    "all states are kept. The decoder may look back at each of the {}, before every word. At the start it knows none."
)
NEW = "a new state. It has read {}. From that, from its old state and from c it makes a new one."
SAME = "the same c again. There is nobody to ask. What this word needs is in these two vectors, or it is lost."
MIXES = "weights and context. Softmax makes weights of the scores: {}. The states, mixed by them, are the context c of "
MIXES += "this word."


def some(words, row):
    """The three largest weights; one that rounds to 0 is not named."""
    return attends(words, row, min(3, int((row >= 0.005).sum())))


def asked(name, i, kind, reads, source, step):
    """What is said of the two stages before a word."""
    scores, weights, _ = step
    if name == "one":
        return (NEW.format(reads), SAME)[kind]
    best = attends(source, scores / 100, 3).replace("%", "")
    asks = f"the state asks. It has read {reads}, and asks every state. Highest scores: {best}."
    return (asks, MIXES.format(some(source, weights)))[kind]


def task_of(name, at, wrong, best, last):
    """What there is to find or to guess in stage number `at` of all words."""
    if at == -2:
        return "Guess: will it write every word right?"
    if wrong:
        return "✔ Here it goes wrong first." if at == 3 * wrong[0] + 2 else "○ Find the first word that goes wrong."
    if name == "all" and at >= 0 and at % 3 == 0:
        return f"Guess before you go on: what share of the weight will “{best}” get?"
    return "Every word is right. And in a longer sentence?" if at == last else ""


def bridge(widgets):
    """Step by step, by torch's cells and with sums of their own; one of the models is without attention."""
    given = ["the tall witch arrived".split(), "the witch".split()]
    right = ["llegó la bruja alta".split(), ["la", "bruja"]]
    english, spanish = Vocabulary(given[0]), Vocabulary(right[0])
    sizes, models = dict(d_embedding=6, d_hidden=8), {}
    for seed, name in enumerate(("one", "all"), 3):
        torch.manual_seed(seed)
        decoder = RecurrentDecoder(8, **sizes) if name == "one" else AttentionDecoder(8, **sizes, score="additive")
        models[name] = RecurrentTranslator(RecurrentEncoder(8, **sizes), decoder).eval()
        torch.nn.utils.vector_to_parameters(
            2 * nn.utils.parameters_to_vector(models[name].parameters()), models[name].parameters()
        )
    ids = [[4 + sorted(given[0]).index(word) for word in words] + [2] for words in given]
    looked = {(name, n): written_by_hand(models[name], ids[n]) for name in models for n in range(2)}

    def expected(state):
        name, source = state["name"], [*given[state["sentence"]], "</s>"]
        (written, steps), true = looked[name, state["sentence"]], [*right[state["sentence"]], "</s>"]
        words, at = [spanish.words[i] for i in written], min(state["step"] - 3, 3 * len(steps) - 1)
        i, kind = divmod(max(at, 0), 3)
        wrong = [k for k in range(len(steps)) if true[k : k + 1] != words[k + 1 : k + 2]]
        scores = steps[i][0]
        best = source[int(scores.argmax())] if name == "all" else None
        task = task_of(name, at, wrong, best, 3 * len(steps) - 1)
        if at < 0:
            said = (READING, {"one": BRIDGE, "all": KEPT}[name])[at + 2]
            return f"{said.format(len(source))} {task}".rstrip(), None
        if kind < 2:
            said = f"word {i + 1}: {asked(name, i, kind, words[i], source, steps[i])} {task}"
            return said.rstrip(), scores.tolist() if best and kind == 0 else None
        said = f"word {i + 1}: {words[i + 1]}. Having read {words[i]}, it finds most probable: "
        said += f"{some(spanish.words, steps[i][2])}."
        said += f" Right would be: {true[i] if i < len(true) else 'nothing more'}." if i in wrong else ""
        return f"{said} {task}".rstrip(), None

    return widgets.bridge(models, list(zip(given, right)), english, spanish), expected


def bottleneck(widgets):
    examples = {n: (["word"] * n, ["palabra"] * n, {"one": ["palabra"] * (n - 1), "two": []}) for n in range(3, 17)}
    shares = {n: {"one": 1 / n, "two": 1 - 1 / n} for n in range(3, 17)}

    def expected(state):
        n = state["length"]
        said = f"Sentences of {n} words: one {100 / n}% right; two {100 - 100 / n}% right. {'✔' if n == 3 else '○'}"
        return f"{said} Find the first length at which one gets less than half right.", None

    return widgets.bottleneck(examples, shares), expected


def crossing(widgets):
    """The same models and sentences as of `bridge`, a picture a word."""
    given = ["the tall witch arrived".split(), "the witch".split()]
    right = ["llegó la bruja alta".split(), ["la", "bruja"]]
    english, spanish = Vocabulary(given[0]), Vocabulary(right[0])
    sizes, models = dict(d_embedding=6, d_hidden=8), {}
    for seed, name in enumerate(("all", "one"), 3):
        torch.manual_seed(seed)
        decoder = RecurrentDecoder(8, **sizes) if name == "one" else AttentionDecoder(8, **sizes, score="additive")
        models[name] = RecurrentTranslator(RecurrentEncoder(8, **sizes), decoder).eval()
        for numbers_of_layer in models[name].parameters():
            numbers_of_layer.data *= 2
    ids = [[4 + sorted(given[0]).index(word) for word in words] + [2] for words in given]
    looked = {(name, n): written_by_hand(models[name], ids[n]) for name in models for n in range(2)}
    right[0][:2] = [spanish.words[k] for k in looked["all", 0][0][1:3]]  # so that not the first word goes wrong

    def expected(state):
        name, source = state["decoder"], [*given[state["sentence"]], "</s>"]
        (written, steps), true = looked[name, state["sentence"]], [*right[state["sentence"]], "</s>"]
        words, i = [spanish.words[k] for k in written], min(state["step"], len(steps)) - 1
        wrong = [k for k in range(len(steps)) if true[k : k + 1] != words[k + 1 : k + 2]]
        _, weights, probable = steps[i]
        said = f"{name}, word {i + 1}: {words[i + 1]}. The decoder has read {words[i]}. "
        ask = "What does the bridge carry for the next word?"
        if weights is None:
            said += "It gets the vector c, the same for every word, made of the last state of either reading direction."
        else:
            said += f"It looks at {some(source, weights)}."
            ask = "Where will it look for the next word?"
        two = attends(spanish.words, probable, min(2, int((probable >= 0.005).sum())))
        said += f" Most probable next: {two}."
        said += f" Right would be: {true[i] if i < len(true) else 'nothing more'}." if i in wrong else ""
        if wrong:
            ask = "✔ Here it goes wrong first." if i == wrong[0] else "○ Find the first word that goes wrong."
        elif i == len(steps) - 1:
            ask = "Every word is right. And the other sentence, or the other decoder?"
        return f"{said} {ask}", None

    return widgets.crossing(models, list(zip(given, right)), english, spanish), expected


def hiding(widgets):
    """With a model that knows every sentence, and writes every third one the wrong way round; hidden, a word takes
    away the word at its place, and every second time the one after it."""
    castle, cat = corpus.Prepositional("near", corpus.NounPhrase("castle")), corpus.NounPhrase("cat")
    modifiers = {"who saw the cat": corpus.Relative("saw", cat), "near the castle": castle, "—": None}
    modifiers["who sang"] = corpus.Relative("sang")
    predicates = {"arrived": ("arrived", None), "sang": ("sang", None)}
    predicates |= {f"{verb} the {thing}": (verb, corpus.NounPhrase(thing)) for verb, thing in
                   (("found", "ring"), ("painted", "door"))}  # fmt: skip
    determiners = {"the": ("the", False), "the …s": ("the", True), "a": ("a", False)}
    determiners |= {"these": ("this", True), "two": ("two", True)}
    choices = (
        determiners, ("—", "green", "happy", "brave", "young", "small"), "witch dragon turtle king squirrel".split(),
        modifiers, ("—", "did not"), predicates,
    )  # fmt: skip

    def pair_of(determiner, adjective, noun, modifier, negated, predicate):
        (word, plural), (verb, thing) = determiners[determiner], predicates[predicate]
        adjectives = (adjective,) * (adjective != "—")
        subject = corpus.NounPhrase(noun, word, adjectives, plural, modifiers[modifier])
        return corpus.translate(corpus.Clause(subject, verb, thing, negated == "did not"), "es")

    known = {pair.source: pair for pair in itertools.starmap(pair_of, itertools.product(*choices))}

    def translate(words, hidden):
        target = list(known[tuple(words)].target[:: 1 if sum(map(len, words)) % 3 else -1])
        sure = numbers(len(target), len(words) + 1, seed=len(" ".join(words))).mul(5).softmax(-1)
        if hidden is None:
            return target, sure, sure, target
        now = sure.clone()
        now[:, hidden] = 0
        then = [word if (i - hidden) % len(target) > hidden % 2 else "nada" for i, word in enumerate(target)]
        return target, sure, now / now.sum(-1, keepdim=True), then

    def expected(state):
        hidden = state.pop("hidden")
        pair = pair_of(**state)
        hidden = hidden if hidden <= len(pair.source) else 0
        target, sure, now, then = translate(pair.source, hidden - 1 if hidden else None)
        names, best = [*pair.source, "</s>"], now.max(-1)
        looks = ", ".join(
            f"{word} → {names[k]} {100 * share}%"
            for word, share, k in zip(target, best.values.tolist(), best.indices.tolist())
        )
        said = f"{' '.join(pair.source)}: {' '.join(target)}. Largest weights: {looks}."
        good, kept = list(target) == list(pair.target), []
        said += "" if good else f" The grammar says: {' '.join(pair.target)}."
        if hidden:
            changes = [f"{old} → {new}" for old, new in zip(target, then) if old != new]
            kept = [w for w, new, row in zip(target, then, sure) if w == new and row[hidden - 1] > 0.9]
            said += f" Hidden: {pair.source[hidden - 1]}. Changed: {', '.join(changes) or 'nothing'}."
            said += f" Not needed for {', '.join(kept)}." if kept else ""
        else:
            said += " Per cent: the largest weight of each word. Dashed: the gold links."
        said += (
            f" {'✔' if kept else '○'} Hide a word so that a Spanish word loses over 90 % of its weight, and stays the"
        )
        return f"{said} same. {'○' if good else '✔'} Build a sentence that the model gets wrong.", None

    def of_copy(state):
        return expected(dict(state))

    return widgets.hiding(translate, "es"), of_copy


# transformer encoder block


def position_waves(widgets):
    def expected(state):
        d, p, s = state["d_model"], state["position"], state["shift"]
        rates = [10000 ** (-2 * i / d) for i in range(d // 2)]
        both = sum(math.cos(rate * s) for rate in rates)  # sin a sin b + cos a cos b
        chosen = sorted({round(i * (d // 2 - 1) / 3) for i in range(4)})
        turns = "; ".join(f"columns {2 * i} and {2 * i + 1} by {math.degrees(rates[i] * s)}°" for i in chosen)
        said = (
            f"Positions p = {p} and p + s = {p + s} of 36, {d} columns: dot product {both:.12f}, with itself {d / 2}."
        )
        task = f"{'✔' if both < d / 4 else '○'} Find an s that makes the product less than half of that with itself."
        return f"{said} From one to the other the hands turn: {turns}. {task} Does p matter?", None

    return widgets.position_waves(), expected


def rotary_hands(widgets):
    """As complex numbers: a turn is a product."""
    begin = {1: ((1.1, 20), (0.9, 70), 40), 2: ((0.9, 120), (1.2, 60), 10)}

    def at(pair, q, k):
        (long_q, angle_q), (long_k, angle_k), turn = begin[pair]
        one, other = (
            torch.polar(*torch.tensor([long, math.radians(angle + turn * place)]).double())
            for long, angle, place in ((long_q, angle_q, q), (long_k, angle_k, k))
        )
        return abs((one / other).angle().rad2deg().item()), (one * other.conj()).real.item()

    def expected(state):
        q, k = state["q"], state["k"]
        (first, adds), (second, adds_too) = at(1, q, k), at(2, q, k)
        at_first = at(1, 3, 1)[1] + at(2, 3, 1)[1]
        said = f"A query at position {q} and a key at position {k}. Pair 1 turns by 40 degrees per position: {first} "
        said += f"degrees between the hands, adds {adds}. Pair 2 turns by 10: {second} degrees, adds {adds_too}. "
        sign = "✔" if q != 3 and k != 1 and q - k == 2 else "○"
        return f"{said}q · k is {adds + adds_too}. {sign} Move both words. Can q · k still be {at_first}?", None

    return widgets.rotary_hands(), expected


def norm_circle(widgets):
    """By torch's layer norm; two vectors have the same normed one if both are a positive multiple of it, shifted."""
    first = F.layer_norm(torch.tensor([3.0, 1.0, 2.0]).double(), (3,), eps=0.0)

    def expected(state):
        x = torch.tensor([state["x_1"], state["x_2"], state["x_3"]]).double()
        flat = x.max() == x.min()
        normed = torch.zeros(3) if flat else F.layer_norm(x, (3,), eps=0.0)
        written = ", ".join(f"{value:g}" for value in x.tolist())
        done = bool((x != torch.tensor([3.0, 1.0, 2.0])).all()) and torch.allclose(normed.double(), first)
        said = f"Three numbers: {written}. Mean {x.mean():.9f}, deviation {x.var(correction=0).sqrt():.9f}. Normed: "
        said += f"{', '.join(f'{one:.9f}' for one in normed)}, an arrow of length {0 if flat else math.sqrt(3)} in the "
        task = "Change all three numbers, and keep the normed arrow where it is."
        return f"{said}plane of mean 0. {'✔' if done else '○'} {task}", None

    return widgets.norm_circle(), expected


NAMES_OF_PARTS = {
    "positions": "positions", "attention": "attention", "skip": "skip connections", "norm": "norms",
    "feed_forward": "feed-forward layers", "more_blocks": "more blocks",
}  # fmt: skip


def block_parts(widgets):
    """Made-up blocks: one without attention says 0, another one is right; a share falls by 0.1 for each missing part,
    and to 0.2 where feed-forward layers and more blocks are missing both."""
    every = frozenset(NAMES_OF_PARTS)

    def share(parts):
        missing = every - parts
        return (
            0.2 if {"feed_forward", "more_blocks"} <= missing else 1 - 0.03 * len(missing) - 0.4 * ("skip" in missing)
        )

    def answer(parts, digits):
        return [(a + b) % 10 if "attention" in parts else 0 for a, b in zip(digits, digits[::-1])]

    def expected(state):
        on = frozenset(part for part in every if state[part])
        missing = [NAMES_OF_PARTS[part] for part in NAMES_OF_PARTS if part not in on]
        digits = [int(one) for one in re.findall(r"[0-9]", state["digits"])][:8]
        digits += [0] * (8 - len(digits))
        said = answer(on, digits)
        right = sum(one == (a + b) % 10 for one, a, b in zip(said, digits, digits[::-1]))
        without = " and ".join(missing) if len(missing) < 3 else f"{len(missing)} parts"
        name = f"without {without}" if missing else "with all parts"
        done = every - on == {"feed_forward", "more_blocks"}
        text = f"A block {name}: {100 * share(on):.9f}% of new digits right. Digits {' '.join(map(str, digits))}: it "
        text += f"says {' '.join(map(str, said))}, {right} of 8 right. {'✔' if done else '○'} Find two parts of which "
        wrong = "" if re.fullmatch(r"\s*[0-9]{8}\s*", state["digits"]) else " Type 8 digits: others are left out, or 0."
        return f"{text}either may be missing, but not both.{wrong}", None

    shares = {
        frozenset(some): share(frozenset(some))
        for count in range(7)
        for some in itertools.combinations(NAMES_OF_PARTS, count)
    }
    return widgets.block_parts(answer, shares, "31415926", ["00000000", "1234"]), expected


# encoder at work


def unknown_language(widgets):
    """Which rule three answers follow, from the sentences alone."""
    kinds = dict(zip("mip bal sut fen kest zor ruli".split(), "●●▲▲●▲■"))
    asked = ["da sut nu da kest gami", "da mip lo da sut gami", "ruli hoda iko da fen nu da bal veru"]
    english = "1: the witch behind the castle arrived. 2: the wizard near the witch arrived. "
    english += "3: the friends sang because the queen behind the king slept."

    def expected(state):
        nouns = [[word for word in one.split() if word in kinds] for one in asked]
        mine = [some[k] if k >= 0 else None for some, k in zip(nouns, (state[f"noun_{n}"] for n in (1, 2, 3)))]
        said = f"A language with the nouns {', '.join(f'{word} {sign}' for word, sign in kinds.items())}. Yours: "
        said += "; ".join(f"{one}: {noun or '?'}" for one, noun in zip(asked, mine))
        if None in mine:
            return f"{said}. ○ {3 - mine.count(None)} of 3 answered. Which noun gives the last word its sign?", None
        rule = "✘ Your answers follow neither of the two rules that fit all four examples: the subject, or the nearest "
        rule += "being."
        if mine == ["sut", "mip", "fen"]:
            rule = "✔ All three as in English. But nothing here says so: “take the nearest being” fits all four, too."
        elif mine == ["sut", "sut", "bal"]:
            rule = (
                "✘ You took the nearest being. That fits all four examples, and it is not the rule: 2 and 3 are wrong."
            )
        return f"{said}. {rule} In English, {english}", None

    return widgets.unknown_language(), expected


def problem_of_template(words):
    special = [token for token in ("<pad>", "<s>", "</s>", "<unk>") if token in words]
    if words.count("{}") != 2:
        return "A template has {} twice, each as a word of its own: for the subject, and for somebody else."
    if len(words) > 20:
        return f"{len(words)} words are too many: up to 20, please."
    if words[-1] not in ("slept", "arrived"):
        return "The last word should be the verb of the first {}: slept or arrived."
    return f"{special[0]} is a special token, not a word: leave it out." if special else ""


def trap_bench(widgets):
    """Sentence by sentence, each on its own."""
    male, female = "wizard king boy dragon cat bear".split(), "witch queen girl turtle".split()
    known = [*male, *female, *"the near castle tower tree slept arrived".split()]
    vocabulary, ids = Vocabulary(known), {word: 4 + k for k, word in enumerate(sorted(known))}
    torch.manual_seed(0)
    sizes = dict(d_model=8, num_heads=2, num_layers=1, d_ff=16)
    models = [Tagger(len(vocabulary), num_tags=4, **sizes).eval() for _ in range(4)]

    @torch.no_grad()
    def count(model, template, somebody):
        tags = []
        for noun in male + female:
            others = (female if noun in male else male) if somebody else ["castle", "tower", "tree"]
            for other in others:
                words = template.replace("{}", noun, 1).replace("{}", other, 1).split()
                given = int(model(torch.tensor([[ids[word] for word in words]]))[0][0, -1].argmax())
                tags.append("plural" if given > 1 else "right" if (given == 0) == (noun in male) else "other")
        return [tags.count(kind) for kind in ("right", "other", "plural")]

    def expected(state):
        words, no = state["template"].lower().split(), "✘ This template cannot be tried "
        if words.count("{}") != 2:
            return (
                f"{no}A template has {{}} twice, each as a word of its own: for the subject, and for somebody else.",
                None,
            )
        if len(words) > 20:
            return f"{no}{len(words)} words are too many: up to 20, please.", None
        if words[-1] not in ("slept", "arrived"):
            return f"{no}The last word should be the verb of the first {{}}: slept or arrived.", None
        special = [token for token in ("<pad>", "<s>", "</s>", "<unk>") if token in words]
        if special:
            return f"{no}{special[0]} is a special token, not a word: leave it out.", None
        template, pair = " ".join(words), models[2:] if state["taught"] else models[:2]
        said = f"{template}, {'taught' if state['taught'] else 'before'}."
        done = False
        for name, model in zip(("sine", "rotary"), pair):
            control, trap = count(model, template, False), count(model, template, True)
            lamp = "fair" if control[0] >= 27 else "unfair"
            said += (
                f" {name}: {control[0]} of 30 with a place, {lamp}; {trap[0]} of 48 with somebody, {trap[1]} the other "
            )
            said += f"gender, {trap[2]} plural."
            done = state["taught"] and lamp == "fair" and trap[0] < 24
        task = "Find a template that is fair, and on which rotary, taught, gets fewer than half right."
        return f"{said} {'✔' if done else '○'} {task}", None

    named = [dict(zip(("sine", "rotary"), some)) for some in (models[:2], models[2:])]
    return widgets.trap_bench(*named, vocabulary, ["the {} near the {} slept", "the {} {} arrived"], "rotary"), expected


@torch.no_grad()
def run_of_torch(tagger, theirs, x, station=-1, position=0, other=None):
    """The shares of the last word's tags, and the stream at each station; `other` is that of another run."""
    seen = []
    for number in range(5):
        if number:
            layer = theirs.layers[(number - 1) // 2]
            y = layer.norm1(x) if number % 2 else layer.norm2(x)
            x = x + (layer.self_attn(y, y, y)[0] if number % 2 else layer.linear2(layer.linear1(y).relu()))
        if number == station:
            x = x.clone()
            x[0, position] = other[station][0, position]
        seen.append(x)
    return tagger.to_logits(theirs.norm(x))[0, -1].softmax(-1), seen


def told_of_a_cell(words, mine, yours, now, cell):
    """What one exchange makes of the last word, in words, and whether it flips late."""
    tags, stations = corpus.TAGS, ["embedding", "attention 1", "feed-forward 1", "attention 2", "feed-forward 2"]
    row, column = divmod(cell, len(words))
    best, before, after = int(now.argmax()), int(mine.argmax()), int(yours.argmax())
    flips = best == after != before
    said = f"{words[column]} after {stations[row]}: {words[-1]} says {tags[best]}, {100 * now[best]}%. "
    return said + ("It flips." if flips else "It does not flip."), flips and row > 2


def patch_board(widgets):
    """PyTorch's own layers with the same weights, one exchange at a time."""
    pairs = [("the witch near the tower slept", "the boy near the tower slept"), ("a boy slept", "a witch slept")]
    vocabulary, tags = Vocabulary(" ".join(map(" ".join, pairs)).split()), corpus.TAGS
    sizes = dict(d_model=16, num_heads=2, num_layers=2, d_ff=32)
    models, theirs = {}, {}
    for seed, name in enumerate(("sine", "learned"), 3):
        torch.manual_seed(seed)
        models[name] = Tagger(len(vocabulary), num_tags=4, **sizes, positions=name).eval()
        layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, norm_first=True, batch_first=True)
        theirs[name] = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16), enable_nested_tensor=False).eval()
        for parameter in theirs[name].layers.parameters():
            nn.init.normal_(parameter, std=0.5)
        load(models[name].encoder, theirs[name])
    stations = ["embedding", "attention 1", "feed-forward 1", "attention 2", "feed-forward 2"]
    ids = {word: 4 + k for k, word in enumerate(sorted(set(" ".join(map(" ".join, pairs)).split())))}

    def run(name, words, *exchange):
        x = models[name].embedding(torch.tensor([[ids[word] for word in words]]))
        return run_of_torch(models[name], theirs[name], x, *exchange)

    def expected(state):
        name, (sentence, other) = state["model"], pairs[state["pair"]]
        words, others = sentence.split(), other.split()
        (mine, _), (yours, seen) = run(name, words), run(name, others)
        before, after, verb = int(mine.argmax()), int(yours.argmax()), words[-1]
        said = f"{name}. {sentence} gives {tags[before]}, {other} gives {tags[after]}. "
        late, cell = False, state["cell"]
        if 0 <= cell < 5 * len(words):
            now, _ = run(name, words, *divmod(cell, len(words)), seen)
            one, late = told_of_a_cell(words, mine, yours, now, cell)
            said += one
        else:
            said += f"In per cent: how much {verb} gives to {tags[after]}."
        if state["shown"]:
            for row, station in enumerate(stations):
                shares = [100 * run(name, words, row, column, seen)[0][after] for column in range(len(words))]
                said += f" {station}: {', '.join(f'{share}%' for share in shares)}."
        if state["shown"] or 0 <= cell < 5 * len(words):
            said += " Dashed rows follow from the architecture: at first one vector differs, and after attention 2 "
            said += "nothing passes between words any more."
        task = f"Flip {verb}: first by an early station, then by a late one."
        if before == after:
            task = f"Both give {tags[after]}: nothing can flip. Take another pair, or another model."
        return f"{said} {'✔' if late else '○'} {task}", None

    return widgets.patch_board(models, vocabulary, tags, pairs), expected


def induction(widgets):
    """PyTorch's own attention with the same weights, layer by layer."""
    torch.manual_seed(5)
    tagger = Tagger(20, num_tags=20, d_model=16, num_heads=1, num_layers=2, d_ff=None, positions="learned", causal=True)
    tagger.eval()
    layers = [nn.MultiheadAttention(16, 1, batch_first=True).eval() for _ in range(2)]
    with torch.no_grad():
        for ours, theirs in zip(tagger.encoder.blocks, layers):
            nn.init.normal_(theirs.in_proj_weight, std=0.5)
            load(ours.attention, theirs)

    @torch.no_grad()
    def read(letters):
        n, looks = len(letters), []
        x = tagger.embedding(torch.tensor([[ord(letter) - 65 for letter in letters]]))
        future = torch.ones(n, n).triu(1).bool()
        for block, layer in zip(tagger.encoder.blocks, layers):
            normed = F.layer_norm(x, (16,), block.norm_1.layer.gamma, block.norm_1.layer.beta)
            added, weights = layer(normed, normed, normed, attn_mask=future)
            x = x + added
            looks.append(weights[0])
        final = tagger.encoder.final_norm
        logits = tagger.to_logits(F.layer_norm(x, (16,), final.gamma, final.beta))
        return *looks, logits[0].softmax(-1)

    def expected(state):
        letters, no = "".join(state["string"].split()).upper(), "✘ This string cannot be read "
        if not 2 <= len(letters) <= 14:
            return f"{no}Type 2 to 14 letters; these are {len(letters)}.", None
        if strange := [letter for letter in letters if not "A" <= letter <= "T"]:
            return f"{no}The model knows the letters A to T; {strange[0]!r} is none of them.", None
        first, second, shares = read(letters)
        q = min(state["position"], len(letters)) - 1
        target = int(second[q].argmax())
        before, best = int(first[target].argmax()), int(shares[q].argmax())
        said = f"{letters}, position {q + 1}, {letters[q]}. Layer 2 looks at position {target + 1}, {letters[target]}, "
        said += (
            f"with {100 * second[q, target]}%. There, layer 1 looked at position {before + 1}, {letters[before]}, with "
        )
        said += f"{100 * first[target, before]}%. Next: {chr(65 + best)}, {100 * shares[q, best]}%. "
        knows = [k for k in range(len(letters) - 1) if chr(65 + int(shares[k].argmax())) == letters[k + 1]]
        if not knows:
            return f"{said}○ Here it never knows what comes next. Does anything repeat?", None
        return f"{said}{'✔' if q == knows[0] else '○'} Find the first position at which it knows what comes next.", None

    return widgets.induction(tagger, ["ACKBACK", "AABB"]), expected


def head_browser(widgets):
    sentence = "the tall witch near the golden castle arrived"
    vocabulary, tags, small = Vocabulary(sentence.split()), corpus.TAGS, ("witch", "near", "castle")
    ids = {word: 4 + number for number, word in enumerate(sorted(set(sentence.split())))}
    torch.manual_seed(6)
    tagger = Tagger(len(vocabulary), num_tags=len(tags), d_model=16, num_heads=2, num_layers=2, d_ff=32).eval()
    with torch.no_grad():
        tagger.embedding.vectors.weight.mul_(3)  # heads that look somewhere

    @torch.no_grad()
    def expected(state):
        words, no = state["sentence"].lower().split(), "✘ This sentence cannot be read "
        special = [token for token in ("<pad>", "<s>", "</s>", "<unk>") if token in words]
        if not words:
            return no + "Type at least one word.", None
        if len(words) > 20:
            return f"{no}{len(words)} words are too many for one picture: up to 20, please.", None
        if special:
            several = "are special tokens, not words: leave them out."
            several = several if special[1:] else "is a special token, not a word: leave it out."
            return f"{no}{' and '.join(special)} {several}", None
        if unknown := [word for word in words if word not in ids]:
            shown = unknown[0] if len(unknown[0]) <= 30 else unknown[0][:29] + "…"
            return f"{no}{shown!r} is not among the 7 words of this vocabulary", None
        logits, weights = tagger(torch.tensor([[ids[word] for word in words]]))
        i = min(state["chosen"], len(words) - 1)
        row = weights[state["layer"] - 1][0, state["head"] - 1, i]
        tag = "it gets no tag" if words[i] in small else f"its tag is {tags[int(logits[0, i].argmax())]}"
        said = f"layer {state['layer']}, head {state['head']}. {words[i]} attends most to {attends(words, row, 2)};"
        return f"{said} {tag}. Which head of which layer finds the subject?", None

    examples, tagged = [sentence, "the witch near the castle arrived"], ids.keys() - set(small)
    return widgets.head_browser(tagger, vocabulary, tags, tagged, examples, "arrived", 2, 1), expected


# decoder


def small_translator():
    """PyTorch's own Transformer, and ours with the same weights; returns ours, its sentences and vocabularies, and a
    function that says what theirs writes, and where it looks, with one attention cut."""
    sentences = ["the tall witch near the castle arrived".split(), "the witch arrived".split()]
    english, spanish = Vocabulary(sentences[0]), Vocabulary("la bruja alta llegó cerca del castillo ayer".split())
    torch.manual_seed(2)
    options = dict(dim_feedforward=32, dropout=0.0, batch_first=True, norm_first=True)
    layer = nn.TransformerEncoderLayer(16, 2, **options)
    reader = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16), enable_nested_tensor=False)
    whole = nn.Transformer(16, 2, num_decoder_layers=2, custom_encoder=reader, **options).eval()
    sizes = dict(d_model=16, num_heads=2, d_ff=32, positions=None)
    encoder = TokenEncoder(len(english), **sizes, num_layers=2)
    writer = LanguageModel(len(spanish), **sizes, num_layers=2, cross=True)
    translator = load(TransformerTranslator(encoder, writer), whole).eval()
    with torch.no_grad():
        writer.to_logits.weight.mul_(3)

    def asked(attention, norm, x, memory, **more):
        """What x gets from the memory, and the weights (1, h, q, k)."""
        x = norm(x) if norm else x
        memory = x if memory is None else memory
        return attention(x, memory, memory, average_attn_weights=False, **more)

    @torch.no_grad()
    def look(words, cut=None, most=20):
        """Tokens, and for each step the weights of the decoder's layers."""
        theirs = copy.deepcopy(whole)
        for layer in theirs.decoder.layers if cut else ():
            silent = layer.linear2 if cut == "linear2" else getattr(layer, cut).out_proj
            silent.weight.zero_()
            silent.bias.zero_()
        ids = {word: 4 + number for number, word in enumerate(sorted(set(sentences[0])))}
        source = encoder.embedding.vectors(torch.tensor([[*(ids[word] for word in words), 2]]))
        written = [1]
        while len(written) < most + 1 and written[-1] != 2:
            x = writer.embedding.vectors(torch.tensor([written]))
            hidden = theirs(source, x, tgt_mask=nn.Transformer.generate_square_subsequent_mask(len(written)))
            written.append(int((hidden[0, -1] @ writer.to_logits.weight.T).argmax()))
        memory, weights = theirs.encoder(source), []
        causal = torch.ones(len(written) - 1, len(written) - 1).tril() == 0
        for layer in theirs.decoder.layers:
            added, own = asked(layer.self_attn, layer.norm1, x, None, attn_mask=causal)
            added, cross = asked(layer.multihead_attn, layer.norm2, x + added, memory)
            x, pair = layer(x, memory, tgt_mask=causal), (own[0], cross[0])
            weights.append(pair)
        return [spanish.words[i] for i in written], weights

    look.whole = whole
    return translator, sentences, english, spanish, look


def both(words, row):
    """The two largest weights; one that rounds to 0 is not named."""
    return attends(words[: len(row)], row, min(2, int((row >= 0.005).sum())))


def steps_of(side, x, layers):
    """(side, name, before, added, after, weights) of each part of a block."""
    for name, norm, layer in layers:
        added, weights = layer(norm(x))
        yield side, name, x, added, x + added, weights
        x = x + added


def attends_in(attention, memory=None, **more):
    """A layer of PyTorch as a function: what it adds, and the mean (q, k) of its heads' weights."""

    def run(y):
        there = y if memory is None else memory
        added, weights = attention(y, there, there, average_attn_weights=False, **more)
        return added, weights[0].mean(0)

    return run


def computes_in(layer):
    return lambda y: (layer.linear2(layer.linear1(y).relu()), None)


@torch.no_grad()
def parts_of(whole, x, y):
    """All parts of PyTorch's own Transformer, for vectors x (1, k, d) of the source and y (1, q, d) of the target."""
    parts = [("encoder", "source vectors", None, None, x, None)]
    for number, layer in enumerate(whole.encoder.layers, 1):
        parts += steps_of("encoder", x, (
            (f"self-attention {number}", layer.norm1, attends_in(layer.self_attn)),
            (f"feed-forward {number}", layer.norm2, computes_in(layer)),
        ))  # fmt: skip
        x = layer(x)
    memory, causal = whole.encoder.norm(x), torch.ones(y.shape[1], y.shape[1]).tril() == 0
    parts.append(("encoder", "memory", None, None, memory, None))
    parts.append(("decoder", "target vectors", None, None, y, None))
    for number, layer in enumerate(whole.decoder.layers, 1):
        parts += steps_of("decoder", y, (
            (f"self-attention {number}", layer.norm1, attends_in(layer.self_attn, attn_mask=causal)),
            (f"cross-attention {number}", layer.norm2, attends_in(layer.multihead_attn, memory)),
            (f"feed-forward {number}", layer.norm3, computes_in(layer)),
        ))  # fmt: skip
        y = layer(y, memory, tgt_mask=causal)
    return [*parts, ("decoder", "output layer", None, None, y, None)]


def said_of_part(name, word, written):
    """What the widget says of a part that looks at no word."""
    return {
        "source vectors": f"Here {word} is nothing but its row in the table of words.",
        "target vectors": f"Here {word} is nothing but its row in the table of words.",
        "memory": "A last norm. These rows are all that the decoder ever sees of the source.",
        "output layer": f"A last norm, then the score of each word. The largest wins: {written}.",
    }.get(name, f"{word} computes by itself, looks at no other word, and adds what it finds.")


def whole_transformer(widgets):
    """PyTorch's own layers with the same weights, called one by one; read out early by the last norm and the matrix of
    the output layer."""
    translator, sentences, english, spanish, look = small_translator()
    writer, walked = translator.language_model, []
    ids = {word: 4 + number for number, word in enumerate(sorted(set(sentences[0])))}
    for words in sentences:
        written = look(words)[0]
        x = translator.encoder.embedding.vectors(torch.tensor([[*(ids[word] for word in words), 2]]))
        y = writer.embedding.vectors(torch.tensor([[spanish.words.index(word) for word in written[:-1]]]))
        parts = parts_of(look.whole, x.detach(), y.detach())
        read = [look.whole.decoder.norm(one[4][0]) @ writer.to_logits.weight.T for one in parts if one[0] == "decoder"]
        walked.append((written, parts, [None] * (len(parts) - len(read)) + [one.softmax(-1).detach() for one in read]))

    def asked(part, row, source, written):
        side, name, *_, weights = part
        if weights is None:
            return said_of_part(
                name, (source if side == "encoder" else written)[row], written[min(row + 1, len(written) - 1)]
            )
        far = side == "encoder" or name.startswith("cross")
        words, where = (source, "the source") if far else (written, "the words so far")
        return f"{(source if side == 'encoder' else written)[row]} asks {where}: {both(words, weights[row])}."

    def expected(state):
        written, parts, read = walked[state["sentence"]]
        source, i = [*sentences[state["sentence"]], "</s>"], min(state["step"], len(written) - 1) - 1
        side, name, before, added, after, _ = part = parts[state["part"]]
        last = [one for one in parts if one[1].startswith("cross")][-1][5]
        row = i if side == "decoder" else int(last[i].argmax())
        tops = [None if one is None else int(one[i].argmax()) for one in read]
        first = len(tops) - next(k for k, one in enumerate([*tops[::-1], None]) if one != tops[-1])
        found = f", and writes {written[i + 1]}." if state["part"] >= first else ". What comes next?"
        said = f"Step {i + 1}: it reads {written[i]}{found} Source: {' '.join(source)}. "
        said += f"{side}, {name}: {asked(part, row, source, [*written, ''])}"
        if added is not None:
            lengths = [one[0, row].norm().item() for one in (before, added, after)]
            said += f" To a vector of length {lengths[0]} it adds one of length {lengths[1]}; the sum has {lengths[2]}."
        if (shares := read[state["part"]]) is not None:
            here = "Next word" if name == "output layer" else "Read out already here"
            said += f" {here}: {attends(spanish.words, shares[i], 2)}."
        said += f" {'✔' if state['part'] == first else '○'} Find the part from which on the most probable word is the"
        return f"{said} one that is written.", None

    return widgets.whole_transformer(translator, sentences, english, spanish), expected


def three_cuts(widgets):
    """PyTorch's own Transformer writes, with the output of a layer set to nothing where it is cut."""
    translator, sentences, english, spanish, look = small_translator()
    cuts = {"nothing": None, "source": "multihead_attn", "own words": "self_attn", "feed-forward": "linear2"}
    every = itertools.product(enumerate(sentences), cuts.items())
    looked = {(number, off): look(words, cut, 10) for (number, words), (off, cut) in every}

    def expected(state):
        off, source = state["off"], [*sentences[state["sentence"]], "</s>"]
        written, weights = looked[state["sentence"], off]
        i = min(state["step"], len(written) - 1) - 1
        own, cross = (torch.cat([layer[part] for layer in weights]).mean(0)[i] for part in (0, 1))
        looks = {"own words": f"at its own words: {both(written, own[: i + 1])}"}
        looks |= {"source": f"at the source: {both(source, cross)}"}
        looks = [said for name, said in looks.items() if name != off]
        said = f"Cut: {off}. Step {i + 1}: it reads {written[i]}, and writes {written[i + 1]}. The source is: "
        said += f"{' '.join(source[:-1])}. It looks {'; '.join(looks)}. Written: {' '.join(written[1 : i + 2])}."
        if off != "nothing":
            said += f" With nothing cut: {' '.join(looked[state['sentence'], 'nothing'][0][1:])}."
        asks = {"own words": "Does it say the right words? Why not in order?"}
        asks["source"] = "Now take another sentence. What changes?"
        asks["feed-forward"] = "Which words does it say twice? Are the right ones missing?"
        ask = "Cut one part after the other, in two sentences. What does each of them do for the writer?"
        return f"{said} {asks.get(off, ask)}", None

    return widgets.three_cuts(translator, sentences, english, spanish), expected


def side_by_side(widgets):
    """Two writers that know the translation: one forgets the last word of long sentences, the other repeats a word."""
    modifiers = {"near the castle": corpus.Prepositional("near", corpus.NounPhrase("castle")), "—": None}
    modifiers["who saw the cat"] = corpus.Relative("saw", corpus.NounPhrase("cat"))
    near = corpus.Prepositional("near", corpus.NounPhrase("tree"))
    ends = {"a boy slept": corpus.Clause(corpus.NounPhrase("boy", "a"), "slept")}
    girls = corpus.NounPhrase("girl", plural=True, modifier=near), corpus.NounPhrase("girl", "two", modifier=near)
    ends["the girls near the tree sang"] = corpus.Clause(girls[0], "sang")
    seen = corpus.Clause(girls[1], "saw", corpus.NounPhrase("king"), negated=True)
    ends["two girls near the tree did not see the king"] = seen
    ring = corpus.NounPhrase("ring", adjectives=("golden",))
    predicates = {"arrived": ("arrived", None), "found the golden ring": ("found", ring)}
    predicates["greeted the king"] = "greeted", corpus.NounPhrase("king")
    determiners = {"the": ("the", False), "the …s": ("the", True), "a": ("a", False)}
    determiners |= {"these": ("this", True), "two": ("two", True)}

    def pair_of(determiner, adjective, noun, modifier, negated, predicate, join, end):
        word, plural = determiners[determiner]
        subject = corpus.NounPhrase(noun, word, (adjective,) * (adjective != "—"), plural, modifiers[modifier])
        clause = corpus.Clause(subject, *predicates[predicate], negated == "did not")
        return corpus.translate(clause if join == "—" else corpus.Sentence((clause, ends[end]), (join,)), "es")

    menus = ("the", "the …s", "a", "these", "two"), ("—", "green", "happy", "brave", "young", "small")
    nouns, joins = ("witch", "dragon", "student", "king"), ("—", "when", "because", "but")
    pairs = itertools.starmap(pair_of, itertools.product(
        *menus, nouns, modifiers, ("—", "did not"), predicates, joins, ends
    ))  # fmt: skip
    known = {pair.source: pair.target for pair in pairs}
    english, spanish = (Vocabulary(word for words in some for word in words) for some in (known, known.values()))

    class Writer:
        def __init__(self, wrong):
            self.wrong = wrong

        def translate(self, source, mask):
            words = english.decode(source[0, :-1].tolist())
            return [spanish.encode(self.wrong(list(known[tuple(words)])))], None

    writers = {
        "one": Writer(lambda words: words[:-1] if len(words) > 9 else words),
        "other": Writer(lambda words: words[:3] + words[2:] if words[0][0] == "e" else words),
    }

    def expected(state):
        mark = state["mark"]
        pair = pair_of(**{name: value for name, value in state.items() if name != "mark"})
        written = {name: writer.wrong(list(pair.target)) for name, writer in writers.items()}
        said = f"{' '.join(pair.source)}, {len(pair.source)} words. "
        said += "; ".join(f"{name}: {' '.join(one)}" for name, one in written.items()) + "."
        name, at = ("one", "other")[mark // 100], mark % 100 - 1
        words, right = [*written[name], "</s>"], [*pair.target, "</s>"]
        good = [list(one) == list(pair.target) for one in written.values()]
        clicked = mark > 0 and at < len(words)
        if not clicked:
            said += " ○ Is a word wrong? Click the first one in each column."
        elif words == right:
            said += f" All that {name} wrote is right."
        else:
            first = min(k for k, (one, other) in enumerate(zip(words, right)) if one != other)
            if at < first:
                said += f" {name}: {words[at]} is right."
            elif at > first:
                said += f" {name} went wrong before {words[at]}."
            else:
                said += f" ✔ {name} goes wrong at {words[at]}. Right would be {right[at]}."
        said += f" The grammar says: {' '.join(pair.target)}." if clicked else ""
        sign = "✔" if clicked and good[0] != good[1] else "○"
        return f"{said} {sign} Build a sentence that only one of them gets right.", None

    return widgets.side_by_side(writers, english, spanish, "es"), expected


def gold_frames(widgets):
    """Weights drawn at random, a little larger at the gold links, one row further down in the second layer."""
    trees = [corpus.Clause(corpus.NounPhrase("witch", adjectives=("green",)), "arrived", negated=True)]
    trees.append(corpus.Clause(corpus.NounPhrase("king"), "saw", corpus.NounPhrase("cat")))
    pairs, maps = [corpus.translate(tree, "es") for tree in trees], {"layer 1": [], "layer 2": []}
    for number, (of_layer, shift) in enumerate(zip(maps.values(), (0, 1))):
        for pair in pairs:
            scores = numbers(len(pair.target) + 1, len(pair.source) + 1, seed=number)
            for i, j in pair.alignment:
                scores[i + shift, j] += 1.5
            of_layer.append(scores.softmax(-1))

    def hits(pair, weights, shift):
        rows = [(i + shift, j) for i, j in pair.alignment if 0 <= i + shift <= len(pair.target)]
        return sum(int(weights[i, :-1].argmax()) == j for i, j in rows), len(rows)

    def expected(state):
        pair, weights = pairs[state["sentence"]], maps[state["layer"]][state["sentence"]]
        found, frames = hits(pair, weights, state["shift"])
        best = max(hits(pair, weights, shift)[0] for shift in (-1, 0, 1))
        where = {-1: "one row above the one that writes it", 0: "the row that writes it", 1: "the row that reads it"}
        said = f"{state['layer']}, {' '.join(pair.source)}: {' '.join(pair.target)}. "
        said += f"A frame is in {where[state['shift']]}. {found} of {frames} frames lie on the darkest cell of their "
        said += f"row (the end of the source left out). {'✔' if found == best else '○'} Drag the frames to the rows"
        return f"{said} where they lie on the darkest cells.", None

    return widgets.gold_frames(pairs, maps), expected


# writing


def filling_cache(widgets):
    """A model of these sizes reads the words; its layers count the rows that they make keys of, its state the bytes."""
    words, layers, heads, e = "<s> la bruja verde no llegó".split(), 3, 4, 8

    @torch.no_grad()
    def run(kv_heads, cached):
        model = LanguageModel(10, d_model=heads * e, num_heads=heads, num_layers=layers, d_ff=16, num_kv_heads=kv_heads)
        rows, told, state = [], [], None
        model.decoder.blocks[1].attention.W_k.register_forward_hook(lambda layer, given, _: rows.append(given[0][0]))
        for step in range(1, len(words) + 1):
            if cached:
                _, state, _ = model(torch.tensor([[step]]), state)
            else:
                model(torch.arange(1, step + 1)[None])
            blocks = state.blocks if cached else ()
            kept = sum(part.numel() * part.element_size() for block in blocks for part in block.own)
            told.append((len(rows[-1]), sum(map(len, rows)), kept))
        return told

    counted = {(kv, cached): run(kv, cached) for kv in (4, 2, 1) for cached in (False, True)}

    def expected(state):
        step, cached, kv = state["step"], state["cached"], state["kv_heads"]
        computed, _, kept = counted[kv, cached][step - 1]
        rows, some = ("row", "rows")[computed > 1], ("key head", "key heads")[kv > 1]
        each = f", {kept // step} for each token" if cached else ""
        said = f"step {step} reads {words[step - 1]}: {computed} {rows} computed, {step - computed} only read"
        said = f"{said}. {f'{kv} {some}' if cached else 'No cache'}, kept: {kept} bytes{each}. "
        totals = [counted[kv, way][step - 1][1] for way in (True, False)]
        last = f"{totals[0]} rows with a cache, {totals[1]} without."
        ask = "And after 100 steps, with a cache and without?"
        if step < 6:
            ask = "Guess before you go on: by step 6, how many rows with a cache, and how many without?"
        return f"{said}Computed so far, in each layer: {last} {ask}", None

    return widgets.filling_cache(words, layers, heads, e), expected


def sampling(widgets):
    situations, words = ["la bruja", "el mago y"], [f"{a}{b}" for a in "abcdef" for b in "lmnop"]
    logits, occurs = 2 * numbers(2, 30), numbers(2, 30, seed=1) > 0.3

    def probabilities(scores):
        sizes = {k: math.exp(score - max(scores.values())) for k, score in scores.items()}
        return {k: size / sum(sizes.values()) for k, size in sizes.items()}

    def expected(state):
        scores = dict(enumerate(logits[state["situation"]].tolist()))
        warm = {k: score / state["temperature"] for k, score in scores.items()}
        best = sorted(warm, key=warm.get, reverse=True)
        first = {k: warm[k] for k in best[: state["top_k"] or None]}
        total, nucleus = 0.0, {}
        for k, share in probabilities(first).items():
            if total < state["top_p"]:
                nucleus[k] = first[k]
            total += share
        nucleus = first if state["top_p"] == 1 else nucleus
        stages = [probabilities(one) for one in (scores, warm, first, nucleus)]
        entropy = [-sum(p * math.log(p) for p in stage.values() if p) for stage in stages]
        known = dict(enumerate(occurs[state["situation"]].tolist()))
        sign = {k: "" if known[k] else " (never)" for k in known}
        said = ", ".join(f"{words[k]}{sign[k]} {100 * stages[3][k]}%" for k in best[:5] if k in nucleus)
        settings = f"temperature {state['temperature']:g}, top-k {state['top_k'] or 'all'}, top-p {state['top_p']:g}"
        said = f"{settings} leave {len(nucleus)} of 30 words: {said}" + ", …" * (len(nucleus) > 5)
        never = [{k: share for k, share in stage.items() if not known[k]} for stage in stages]
        spread = f"Entropy from stage to stage: {', '.join(map(str, entropy))}. Words left that occur here in the "
        spread += f"training corpus: {len(nucleus) - len(never[3])}; that never do: {len(never[3])}, together "
        spread += f"{100 * sum(never[3].values())}%, at first {100 * sum(never[0].values())}%."
        task = "✔" if len(nucleus) == 3 and state["top_k"] == 0 else "○"
        task += " Leave just 3 words, with top-k at all. Does the same top-p do it after other words, too?"
        return f"{said}. {spread} After: {situations[state['situation']]}. {task}", entropy

    return widgets.sampling(situations, logits, words, occurs), expected


def softmax_in_blocks(widgets):
    """Of all scores up to the end of a block at once: torch's logsumexp, and a softmax-weighted mean times the sum."""
    start, values = [1.0, 2.0, 0.5, -1.0, 3.5, 1.5, 0.0, 2.5], torch.tensor([1, -1, 2, 0.5, 3, -2, 1, 4]).double()

    def kept(scores):
        if not len(scores):
            return -math.inf, 0.0, 0.0
        largest, sums = scores.max().item(), scores.logsumexp(0)
        total = (sums - scores.max()).exp().item()
        return largest, total, total * (scores.softmax(0) @ values[: len(scores)]).item()

    def expected(state):
        scores = torch.tensor([state[f"score_{k}"] for k in range(1, 9)]).double()
        size, last = state["size"], 8 // state["size"]
        step = min(state["step"], last)
        (before, *old), (largest, *new) = kept(scores[: size * (step - 1)]), kept(scores[: size * step])
        kept_before, factor = kept(scores[: 8 - size])[0], math.exp(before - largest)
        final = math.exp(kept_before - scores.max().item())
        block = ", ".join(map(str, scores[size * (step - 1) : size * step].tolist()))
        said = f"Blocks of {size}. Block {step} of {last}: {block}. "
        if step == 1:
            said += "The sum adds up exp(score - largest). What has to happen to it when a larger score comes?"
        elif largest > before:
            said += f"A new largest score, {largest - before} higher: the old sum and mixture are multiplied by "
            said += f"exp(-{largest - before})."
        else:
            said += f"No score is larger than {largest}: the old sum and mixture are as before."
        for name, one, other in zip(("sum", "mixture"), old, new):
            sums = f"{one} × {factor} + {other - one * factor} = " if step > 1 else ""
            said += f" New {name}: {sums}{other}" + f", all at once {other}" * (step == last) + "."
        if step == last:
            output = scores.softmax(0) @ values
            said += f" Output = mixture / sum = {new[1]} / {new[0]} = {output}."
        said += (
            f" {'✔' if 0 < final < 0.1 else '○'} Drag scores until the last block shrinks the old sum to less than a "
        )
        left = f"Now {'all' if final == 1 else final} of it is left."
        return f"{said}tenth. {left if last > 1 else 'With one block, there is no old sum.'}", None

    return widgets.softmax_in_blocks(start, values), expected


# beyond text


def loose_patches(widgets):
    """The image is laid out anew from the patches that are named, where they are said to belong."""
    images, digits = torch.rand(3, 8, 8, generator=torch.Generator().manual_seed(1)), torch.tensor([7, 0, 4])

    def expected(state):
        image, answer, digit = images[state["image"]], state["answer"], digits[state["image"]]
        means = image.reshape(4, 2, 4, 2).mean((1, 3)).flatten()
        lit = ", ".join(str(k) for k in range(16) if means[k] > 0.6) or "none"
        lies = torch.randperm(16, generator=torch.Generator().manual_seed(state["image"])).tolist()
        where, said = "where they belong", f"✔ It is a {digit}."
        if answer < 0:
            where, said = f"loose; from the first one on patches {', '.join(map(str, lies))}", "○ Choose a digit."
        elif answer != digit:
            said = f"✘ It is a {digit}, not a {answer}."
        return f"Bag {state['image'] + 1} of 3. 16 patches, {where}. Mostly ink: {lit}. {said}", None

    return widgets.loose_patches(images, digits), expected


def graph(widgets):
    """News walk from node to node, one road a layer, and split equally, the part that stays included."""
    names = "witch dragon knight castle cook king".split()
    points = {name: (30 + 58 * k, 80) for k, name in enumerate(names)}
    first = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]

    def expected(state):
        roads = [pair for pair in itertools.combinations(range(6), 2) if state[f"road_{pair[0]}_{pair[1]}"]]
        near = [{i} | {j for road in roads if i in road for j in road} for i in range(6)]
        shares, heard = [1.0, 0, 0, 0, 0, 0], [0, 9, 9, 9, 9, 9]
        for layer in range(1, 5):
            heard = [min(heard[i], layer if any(heard[j] < layer for j in near[i]) else 9) for i in range(6)]
            if layer <= state["layers"]:
                shares = [sum(shares[j] for j in near[i]) / len(near[i]) for i in range(6)]
        told = ", ".join(f"{name} {100 * share}%" for name, share in zip(names, shares) if share)
        lines = ", ".join(f"{names[i]} – {names[j]}" for i, j in roads) or "none"
        after = "1 layer" if state["layers"] == 1 else f"{state['layers']} layers"
        done = set(first) < set(roads) and len(roads) == 6 and heard[4] <= 2
        task = f"{'✔' if done else '○'} Add one road, so that the cook hears of the witch within two layers."
        return f"How much witch is in each node after {after}: {told}. Roads: {lines}. {task}", None

    return widgets.graph(points, first, "witch", "cook"), expected


def patches(widgets):
    """The encoder is computed anew with torch's own layers."""
    torch.manual_seed(8)
    model, images, digits = PatchTransformer().eval(), torch.rand(3, 8, 8), torch.tensor([3, 5, 0])
    theirs = [nn.TransformerEncoderLayer(48, 4, 96, 0.0, norm_first=True, batch_first=True).eval() for _ in range(2)]
    for block, layer in zip(model.encoder.blocks, theirs):
        nn.init.normal_(layer.self_attn.in_proj_weight, std=0.4)  # heads that look somewhere
        load(block, layer)
    grid = torch.arange(16).view(4, 4)
    known = {"as it is": grid, "rows of patches from below": grid.flip(0), "halves exchanged": grid.roll(2, 1)}
    known = {name: order.flatten().tolist() for name, order in known.items()}
    known |= {name: list(order) for name, order in beyond.ARRANGED.items() if name.startswith("shuffle")}

    @torch.no_grad()
    def read(image, on, lies):
        """Probabilities and the weights of each layer."""
        rows = []
        for place in on:
            row, column = divmod(lies[place], 4)
            square = images[image, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            rows.append(model.embed.weight @ square.reshape(4) + model.embed.bias + model.positions[place])
        x, weights = torch.stack(rows)[None], []
        for layer in theirs:
            attended, looked = layer.self_attn(layer.norm1(x), layer.norm1(x), layer.norm1(x))
            x, weights = x + attended, [*weights, looked[0]]
            x = x + layer.linear2(layer.linear1(layer.norm2(x)).relu())
        return model.to_logits(F.layer_norm(x[0], (48,)).mean(0)).softmax(-1), weights

    def expected(state):
        on = [place for place in range(16) if state[f"place_{place}"]]
        if not on:
            return "✘ Every patch is hidden. There is nothing to read: show one.", None
        lies = [value for name, value in state.items() if name.startswith("lies_")]
        order = next((name for name, those in known.items() if those == lies), None)
        if order is None:
            moved = 16 - sum(map(int.__eq__, lies, range(16)))
            order = f"your order, {moved} {'patches' if moved > 1 else 'patch'} moved"
        answer, weights = read(state["image"], on, lies)
        looked, asks, digit = weights[state["layer"] - 1], state["asks"], digits[state["image"]]
        who, row = "all patches look", looked.mean(0)
        if asks in on:
            who, row = f"patch {asks} looks", looked[on.index(asks)]
        best, first = row.topk(min(2, len(on))), answer.topk(2)
        looks = ", ".join(f"patch {on[k]} {100 * w}%" for w, k in zip(best.values.tolist(), best.indices.tolist()))
        says = ", ".join(f"{k} {100 * p}%" for p, k in zip(first.values.tolist(), first.indices.tolist()))
        said = f"Image {state['image'] + 1}: a {digit}, {order}, {len(on)} of 16 patches shown, "
        said += f"layer {state['layer']}. Most of all, {who} at {looks}. Most probable: {says}; it is a {digit}."
        done = len(on) <= 8 and first.indices[0] == digit
        return f"{said} {'✔' if done else '○'} Leave 8 patches or fewer, and let it still say {digit}.", None

    return widgets.patches(images, digits, model), expected


def motifs(widgets):
    """With a model that is not trained but looks somewhere; the sequence is put together as a string."""
    torch.manual_seed(10)
    model, bases = MotifReader().eval(), torch.randint(4, (3, 120))
    with torch.no_grad():
        model.question.mul_(60)
        model.windows.weight.mul_(4)
    spelled = ["".join("ACGT"[base] for base in row) for row in bases.tolist()]
    assert not any(re.search("TGA[CG]TCA|CACGTG|GGGCGG", row) for row in spelled), "draw others"
    written = {"AP-1": "TGACTCA", "E-box": "CACGTG", "GC box": "GGGCGG"}

    @torch.no_grad()
    def expected(state):
        row, starts = spelled[state["sequence"]], {}
        for name, motif in written.items():
            if state[name]:
                starts[name] = beyond.SPOTS[name][state[name] - 1]
                row = row[: starts[name]] + motif + row[starts[name] + len(motif) :]
        logits, weights = model(torch.tensor([[[float(a == b) for b in "ACGT"] for a in row]]))
        said = ", ".join(f"{name} at base {start}" for name, start in starts.items()) or "nothing"
        said = f"Sequence {state['sequence'] + 1}; planted: {said}. "
        said += f"Probability of both motifs {100 * logits.softmax(-1)[0, 1]}%."
        for head, looked in enumerate(weights[0][0, :, 0].tolist(), 1):
            mass, place = {name: 0.0 for name in starts}, "no motif"
            first = max(range(113), key=looked.__getitem__)
            for name, start in starts.items():
                for i in range(113):
                    if len(set(range(i, i + 8)) & set(range(start, start + len(written[name])))) >= 4:
                        mass[name] += looked[i]
                        if i == first:
                            place = name
            said += f" Head {head}: largest weight {100 * looked[first]}%, bases {first} to {first + 7}, on {place}"
            said += (
                "; in all on " * bool(mass) + ", ".join(f"{name} {100 * part}%" for name, part in mass.items()) + "."
            )
        task = "✔" if logits.softmax(-1)[0, 1] > 0.9 else "○"
        task += " Make it say more than 90%. Which motifs does it take, and does it matter where they stand?"
        return f"{said} {task}", None

    return widgets.motifs(model, bases), expected


def patch_sizes(widgets):
    """The layer is made, and counted, without memory for its numbers."""

    def expected(state):
        side, size, colours, d = (state[name] for name in ("side", "size", "channels", "d_model"))
        layer = nn.Conv2d(colours, d, size, stride=size, device="meta")
        n = layer(torch.empty(1, colours, side, side, device="meta")).flatten(2).shape[-1]
        parameters, entries = sum(x.numel() for x in layer.parameters()), layer.weight[0].numel()
        products = n * n * d + n * n * d  # scores and weighted sums
        wide = 2 * d if d == 48 else 4 * d
        block = 4 * n * d * d + n * d * wide + n * wide * d + products
        said = f"{side} x {side} pixels {'in grey' if colours == 1 else 'in colour'} in patches of {size} x {size}: "
        said += f"n = {n} patches of {entries} numbers, {n * n} scores a head and layer. For d = {d} the embedding has "
        said += f"{parameters} parameters, and a block multiplies {block} times, {100 * products / block}% of that for "
        task = f"{'✔' if products > block / 2 else '○'} Make scores and sums more than half of the work."
        return f"{said}scores and weighted sums. {task}", None

    return widgets.patch_sizes(), expected


# published encoder


def letters_in(text):
    return torch.tensor([text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]).float()


def search(widgets):
    """With finders that count letters, and vowels alone."""
    titles = ["The future", "From reading to writing", "A cache"]

    def cosines(text, keep):
        counted = torch.stack([letters_in("".join(keep(one))) for one in (text, *titles)])
        return counted[1:] @ counted[0] / (counted[1:].norm(dim=1) * counted[0].norm()).clamp_min(1e-9)

    ways = {"by letters": lambda text: text, "by vowels": lambda text: [sign for sign in text if sign in "aeiouAEIOU"]}

    def find(question):
        found = {}
        for way, keep in ways.items():
            near = cosines(question, keep)
            found[way] = [(titles[k], near[k].item()) for k in near.argsort(descending=True, stable=True).tolist()]
        return found

    def expected(state):
        asked = " ".join(state["question"].split())[:300]
        if not re.search(r"[^\W_]", asked):
            return "✘ There is no description yet Type at least one word.", None
        near = cosines(asked, ways[state["how"]]).tolist()
        best = sorted(zip(titles, near), key=lambda pair: -pair[1])
        asked = "".join("\ufffd" if sign in "\x00\x1b\ud800\ufffe" else sign for sign in asked)
        listed = "; ".join(f"{title} ({cosine:.12f})" for title, cosine in best)
        ask = "Describe a proverb without its words: is it found first?"
        return f"{asked} Nearest {state['how']}: {listed}. {ask}", None

    return widgets.search(find, ["How do I hide the future?", "Where is the cache?"]), expected


def published_heads(widgets):
    """With an encoder whose weights and lengths hang on the number of pieces alone."""

    def look(sentence):
        pieces = ["[CLS]", *sentence.split(), "[SEP]"]
        weights = numbers(2, 12, len(pieces), len(pieces), seed=len(pieces)).mul(3).softmax(-1)
        return pieces, weights, weights * numbers(2, 12, 1, len(pieces), seed=9).abs()

    def expected(state):
        pieces = ["[CLS]", *state["sentence"][:300].split(), "[SEP]"]
        if len(pieces) == 2:
            return "✘ This sentence cannot be read Type at least one word.", None
        if len(pieces) > 20:
            said = f"{len(pieces)} pieces are too many for one picture: up to 20, please."
            return f"✘ This sentence cannot be read {said}", None
        place, kind = min(state["chosen"], len(pieces) - 1), state["shown"]
        row = look(" ".join(pieces[1:-1]))[1 if kind == "weight" else 2][state["layer"] - 1, state["head"] - 1, place]
        verb = "attends most to" if kind == "weight" else "gets most from"
        pieces = ["".join("\ufffd" if sign in "\x00\x1b\ud800\ufffe" else sign for sign in one) for one in pieces]
        said = f"layer {state['layer']}, head {state['head']}, {kind}. {pieces[place]} {verb}"
        back = place > 0 and int(row.argmax()) == place - 1
        task = f"{'✔' if back else '○'} Find a head that looks one piece back."
        return f"{said} {attends(pieces, F.normalize(row, p=1, dim=0), 2)}. {task}", None

    return widgets.published_heads(look, ["the bank of the river", "the bank lent money"], "bank", 1, 2), expected


def contrast(widgets):
    """Three pairs, in two trainings of three moments."""
    steps, scale = (0, 5, 9), 4.0
    texts, partners = ["the cat slept", "the dog slept", "a bird sang"], ["el gato", "el perro", "un ave"]
    snapshots = {
        kind: [(step, numbers(3, 3, seed=step + 20 * number) + step * torch.eye(3) / 4) for step in steps]
        for number, kind in enumerate(("random", "hard"))
    }

    def expected(state):
        step, cosines = snapshots[state["kind"]][state["moment"] - 1]
        shares = (scale * cosines.double()).exp()
        shares = shares / shares.sum(1, keepdim=True)
        row, right = state["row"], int((shares.argmax(1) == torch.arange(3)).sum())
        listed = ", ".join(f"{one} {100 * share}%" for one, share in zip(partners, shares[row].tolist()))
        task = f"{'✔' if right == 3 else '○'} {right} of 3 rows have most on their own partner."
        return f"{state['kind']}, after {step} steps. Row {row + 1}, {texts[row]}: {listed}. {task}", None

    return widgets.contrast(texts, partners, snapshots, scale), expected


# a chat model


def small_chat():
    """A chat model of two blocks that was not trained, and its pieces: letters, no digits, and three merges."""
    merges = ["t h", "th e", "Ġ the"]
    letters = [*"abcdefghiklmnoprstuvwyTWIHYx?.,=%<>/&;'", "Ġ", "Ċ"]
    names = ["<|im_start|>", "<|im_end|>", *letters, "th", "the", "Ġthe"]
    torch.manual_seed(0)
    sizes = dict(d_model=16, num_heads=4, num_kv_heads=2, num_layers=2, d_ff=24, norm_kind="rms", gated=True)
    model = LanguageModel(len(names), positions="rotary", activation="silu", bias=False, **sizes).eval()
    with torch.no_grad():
        model.to_logits.weight.mul_(4)  # some candidates are likely
        model.to_logits.weight[:2].mul_(0.7)  # and answers do not end at once
        for block in model.decoder.blocks:
            block.attention.W_q.weight.mul_(4)  # heads that look somewhere
    return model, BytePairs(names, merges, special=["<|im_start|>", "<|im_end|>"])


def drawn_id(logits, temperature, top_p, seed):
    """One of the ids that together have the probability top_p, drawn by the largest of logits + noise."""
    if temperature == 0:
        return max(range(len(logits)), key=lambda k: logits[k])
    powers = [math.exp(logit / temperature) for logit in logits]
    allowed, before = [], 0.0
    for k in sorted(range(len(logits)), key=lambda k: -logits[k]):
        if before < top_p:
            allowed.append(k)
        before += powers[k] / sum(powers)
    noise = np.random.default_rng(seed).gumbel(size=len(logits))
    return max(allowed, key=lambda k: logits[k] / temperature + noise[k])


def chat(widgets):
    """With a small model that reads everything anew for each piece."""
    model, pieces = small_chat()
    asked = ["What is the weather?", "Why?", "Is the sun a star, or not?"]
    tail, most = pieces.encode("<|im_end|>\n<|im_start|>assistant\n"), 24

    def look(ids, state):
        with torch.no_grad():
            logits, _, weights = model(torch.tensor([ids]))
        logits = logits[0, -1].double().tolist()
        ranked = sorted(range(len(logits)), key=lambda k: -logits[k])[:5]
        writes = drawn_id(logits, state["temperature"], state["top_p"], len(ids))
        total = sum(map(math.exp, logits))
        ranked += [writes] if writes not in ranked else []
        seen = sum(weights.own[1][0, head, -1] for head in range(4)) / 4
        return ranked, [math.exp(logits[k]) / total for k in ranked], writes, seen.tolist()

    def said_of(number):
        return pieces.decode([number]).replace("\n", "⏎").strip() or "blank"

    def expected(state):
        question = re.sub("[\x00\x1b\ud800\ufffe]", "\ufffd", " ".join(state["asked"].split()))[:300]
        own = pieces.encode(question.replace("\ufffd", ""))
        if not own:
            return "✘ There is no question yet Type at least one word.", None
        messages = [{"role": "user", "content": question}]
        prompt = pieces.encode(chat_prompt(messages)) if state["template"] else own
        start = len(prompt) - len(tail) - len(own) if state["template"] else 0
        taken = dict(pair.split(":") for pair in state["taken"].split() if re.fullmatch("[0-9]+:[0-9]", pair))
        ids = list(prompt)
        while len(ids) - len(prompt) < state["step"] and ids[-1] not in (0, 1)[len(ids) == len(prompt) :]:
            ranked, _, writes, _ = look(ids, state)
            rank = int(taken.get(str(len(ids) - len(prompt) + 1), 0))
            ids.append(ranked[min(rank, len(ranked)) - 1] if rank else writes)
        answer = ids[len(prompt) :]
        clicked = 1 <= state["chosen"] <= len(answer)
        full = len(answer) == most or (answer and answer[-1] in (0, 1))
        place = state["chosen"] if clicked else len(answer) + (not full)
        ranked, shares, _, seen = look([*prompt, *answer[: place - 1]], state)
        visible = [*range(start, start + len(own)), *range(len(prompt), len(prompt) + place - 1)]
        visible = [k for k in visible if k]
        best = sorted(visible, key=lambda k: -seen[k])[:3]
        best = ", ".join(f"“{said_of(ids[k])}” {100 * seen[k]}%" for k in best if seen[k] >= 0.005)
        candidates = ", ".join(f"“{said_of(k)}” {100 * share}%" for k, share in zip(ranked, shares))
        written = "".join(pieces.decode([k]).replace("\n", "⏎") for k in answer).strip() or "nothing yet"
        looks = "Where did it look when it chose this piece?" if place <= len(answer) else "Where does it look for the"
        looks += " next piece?" if place > len(answer) else ""
        looks += f" In layer 2 (mean of 4 heads), most at {best or 'no piece that is shown'}."
        left_out = 100 * sum(share for k, share in enumerate(seen) if k not in visible)
        quiet = f" Not shaded: the {'chat format' if state['template'] else 'first token'}, {left_out}%."
        raw = " The candidates have the probabilities that they had before temperature and top-p."
        others = [share for k, share in zip(ranked, shares) if not clicked or k != answer[place - 1]]
        sign = "✔" if clicked and max(others) > 0.25 else "○"
        said = f"Question: {question} Answer: {written}. Candidates for piece {place}: {candidates}. {looks}{quiet}"
        return (
            f"{said}{raw * (state['temperature'] > 0)} {sign} Find a piece where another candidate had over 25 %.",
            None,
        )

    return widgets.chat(model, pieces, asked, layer=2, limit=most), expected


# choosing words


def small_writer():
    """A language model of two blocks that was not trained, its words, and logits (v,) after ids, all read anew."""
    words = Vocabulary("a bruja duerme el la mago rey y".split())
    torch.manual_seed(42)
    model = LanguageModel(len(words), d_model=16, num_heads=2, num_layers=2, d_ff=24, positions="rotary").eval()
    with torch.no_grad():
        model.to_logits.weight.mul_(4)  # some words are likely

    def logits(ids):
        with torch.no_grad():
            return model(torch.tensor([[1, *ids]]))[0][0, -1].double().tolist()

    return model, words, logits


def log_probabilities(logits):
    whole = math.log(sum(map(math.exp, logits)))
    return [logit - whole for logit in logits]


def as_chance(total):
    """A probability in percent, or "1 in 1230" in three digits."""
    if math.exp(total) > 0.01:
        return f"{100 * math.exp(total)}%"
    return f"1 in {float(f'{math.exp(-total):.2e}'):.0f}"


def sentences(ids, follow, most):
    """All ids that go on from these to their end, with up to `most`; follow(ids): what can come next."""
    for one in follow(ids):
        if one == 2:
            yield (*ids, one)
        elif len(ids) + 1 < most:
            yield from sentences((*ids, one), follow, most)


def note_below(ended, over, done, greedy, share):
    if done:
        return f"Greedy search writes “{greedy}”, {share}: each word is the most probable one, but not the sentence."
    if ended:
        return "Your sentence has ended. Go back to a word where another one was almost as probable."
    if over:
        return "There is no room for more words. Go back, and end your sentence earlier."
    return "Which word comes next? Greedy search always writes the first candidate."


def next_word(widgets):
    """Against all sentences of a few words, each read as a whole."""
    model, words, logits = small_writer()
    begun, count, most = words.encode("la"), 5, 5
    logs = functools.cache(lambda ids: log_probabilities(logits(ids)))

    def ranked(ids):
        return sorted(range(len(words)), key=lambda k: -logs(ids)[k])

    def total(ids):
        return sum(logs((*ids[:k],))[ids[k]] for k in range(len(begun), len(ids)))

    def ruled(ids, rule):
        return ranked(ids)[0] if not rule else drawn_id(logits(ids), 1.0, 1.0, [rule, len(ids)])

    def named(ids):
        return ["end of sentence" if k == 2 else words.words[k] for k in ids]

    greedy = (*begun,)
    while greedy[-1] != 2:
        greedy = (*greedy, ranked(greedy)[0])
    best = max(sentences((*begun,), lambda ids: ranked(ids)[:count], len(begun) + most), key=total)
    assert len(greedy) - len(begun) <= most and total(best) > total(greedy) + 0.1, "the task is to find a better one"
    task = "Write a sentence to its end that is more probable than the one that greedy search writes, "
    task += f"{as_chance(total(greedy))}."

    def expected(state):
        taken = dict(pair.split(":") for pair in state["taken"].split() if re.fullmatch("[0-9]{1,3}:[0-9]+", pair))
        ids = (*begun,)
        while len(ids) - len(begun) < state["step"] and ids[-1] != 2:
            rank = int(taken.get(str(len(ids) - len(begun) + 1), 0))
            ids += (ranked(ids)[min(rank, len(words)) - 1] if rank else ruled(ids, state["rule"]),)
        over = ids[-1] == 2 or len(ids) - len(begun) == most
        place = len(ids) - len(begun) + (not over)
        before = ids[:-1] if over else ids
        shares = [math.exp(log) for log in logs(before)]
        shown = ranked(before)[:count]
        shown = shown if 2 in shown else [*shown[:-1], 2]
        said = ", ".join(f"{word} {100 * shares[k]}%" for word, k in zip(named(shown), shown))
        rest = 100 * sum(share for k, share in enumerate(shares) if k not in shown)
        done = ids[-1] == 2 and total(ids) > total(greedy) + 1e-6
        note = note_below(ids[-1] == 2, over, done, " ".join(named(greedy[len(begun) : -1])), as_chance(total(greedy)))
        sums = f"Sentence: {' '.join(named(ids))}. Probability {as_chance(total(ids))}, sum of logs {total(ids)}. "
        others = f"{len(words) - count} others, together {rest}%"
        return f"{sums}Candidates for word {place}: {said}; {others}. {note} {'✔' if done else '○'} {task}", None

    return widgets.next_word(model, words, "la", count, most), expected


def tree_levels(follow, width, most):
    """Levels of a beam search: [(words, sum of logs, is it kept?, has it ended?)], best first; follow(words): what can
    come next, [(word, log, does it end there?)]."""
    levels = [[((), 0.0, True, False)]]
    while len(levels) <= most and not all(ended for _, _, kept, ended in levels[-1] if kept):
        pool = []
        for words, total, kept, ended in levels[-1]:
            pool += [(words, total, ended)] * (kept and ended)
            if kept and not ended:
                pool += [((*words, word), total + log, ends) for word, log, ends in follow(words)]
        pool.sort(key=lambda one: one[1], reverse=True)
        levels.append([(words, total, k < width, ended) for k, (words, total, ended) in enumerate(pool)])
    return levels


def beam_tree(widgets):
    """A small tree, and searches with a model that reads each beginning as a whole."""
    tree = {
        "the": (0.6, {"dog": (0.4, {}), "cat": (0.35, {}), "owl": (0.25, {})}),
        "a": (0.4, {"witch": (0.9, {}), "king": (0.1, {})}),
    }
    model, words, logits = small_writer()
    ids_of = {"end of sentence": 2} | {word: k for k, word in enumerate(words.words)}

    def in_tree(path):
        node = tree
        for word in path:
            node = node[word][1]
        return [(word, math.log(share), not below) for word, (share, below) in node.items()]

    def in_model(path):
        logs = log_probabilities(logits([ids_of[word] for word in path]))
        best = sorted(range(len(logs)), key=lambda k: -logs[k])
        return [("end of sentence" if k == 2 else words.words[k], logs[k], k == 2) for k in best]

    sizes = (1, 2, 4)
    found = {
        "a tree": {width: tree_levels(in_tree, width, 9) for width in sizes},
        "a model": {width: tree_levels(in_model, width, 7) for width in sizes},
    }

    def plain(path):
        return " ".join(word for word in path if word != "end of sentence") or (
            "an empty sentence" if path else "no word yet"
        )

    def expected(state):
        searches, width = found[state["example"]], state["width"]
        levels, percent = searches[width], state["example"] == "a tree"
        level = min(state["step"], len(levels) - 1)
        row = levels[level][: 6 if percent else width + 2]

        def told(total):
            return f"{100 * math.exp(total)}%" if percent else f"{total}"

        def fate(kept, ended):
            return ("kept" if kept else "pruned") + ", ended" * ended

        rows = "; ".join(f"{plain(path)} {told(total)} {fate(kept, ended)}" for path, total, kept, ended in row)
        number = min(state["chosen"] or 1, len(row)) if level == state["step"] else 1
        path, total, *rest = row[number - 1]
        chosen = f"{plain(path)}: {as_chance(total)}, sum of logs {total}, {fate(*rest)}"
        best = {one: searches[one][-1][0] for one in sizes}
        note = f"Which beginnings go on? The best {width} of those that are tried; the others are crossed out."
        if width == 1:
            note = "Which beginning goes on? The best of those that are tried; the others are crossed out."
        over = level == len(levels) - 1
        if over:
            same = best[1][0] == best[width][0]
            other = f"finds “{plain(best[1][0])}”, {told(best[1][1])}."
            note = f"“{plain(best[width][0])}” wins, {told(best[width][1])}."
            note += f" Greedy search, width 1, {'finds the same.' if same else other}" * (width > 1)
        smallest = max(sizes, key=lambda one: (round(best[one][1], 6), -one))
        sign = "✔" if over and width == smallest else "○"
        said = (
            f"Width {width}, level {level}. {rows}. Chosen: {chosen}. {note} {sign} Find the smallest width that finds "
        )
        return f"{said}the best sentence.", None

    recorded = [choosing.grown(model, words, width, 7) for width in sizes]
    return widgets.beam_tree({"a tree": tree, "a model": recorded}), expected


# guesses


def guess(widgets):
    """A curve of three points in steps of a twentieth, of which the first is given."""
    curve, scale = {6: 0.98, 96: 0.52, 6144: 0.07}, [f"{5 * level}%" for level in range(21)]

    def expected(state):
        mine = "; ".join(f"{x} {scale[state[f'level_{k}']]}" for k, x in ((1, "96"), (2, "6,144")))
        shown = [f"{100 * y}%" if state["shown"] else "?" for y in curve.values()]
        said = (
            f"{whole(asked['question'])} Your guess: {mine}. Measured: 6 {shown[0]}; 96 {shown[1]}; 6,144 {shown[2]}. "
        )
        end = asked["explanation"].format(measured="7%") if state["shown"] else "Drag the points, then show the result."
        return said + whole(end), None

    def whole(text):  # a film cuts a description between sentences, but not here
        return text.replace(". ", ".\u00a0").replace(": ", ":\u00a0")

    asked = questions()["weight_in_a_longer_list"]
    return widgets.guess("weight_in_a_longer_list", curve=curve), expected


COURSE = {
    make.__name__: make
    for make in (
        sentence_attention,
        first_look,
        translator,
        attention_shapes,
        two_arrows,
        winning_key,
        word_map,
        analogy,
        projections,
        softmax_sharing,
        softmax_saturation,
        attention_flow,
        hull,
        kernel_smoothing,
        learning,
        weight_and_share,
        einsum_loops,
        heads_at_work,
        head_split,
        be_the_head,
        shelf,
        two_cuts,
        paint_mask,
        empty_row,
        which_to_ship,
        peeking,
        fading,
        rewritten_note,
        gate,
        recall,
        bridge,
        crossing,
        bottleneck,
        hiding,
        position_waves,
        rotary_hands,
        norm_circle,
        block_parts,
        unknown_language,
        head_browser,
        trap_bench,
        patch_board,
        induction,
        whole_transformer,
        side_by_side,
        three_cuts,
        gold_frames,
        filling_cache,
        sampling,
        softmax_in_blocks,
        loose_patches,
        graph,
        patches,
        motifs,
        patch_sizes,
        search,
        published_heads,
        contrast,
        chat,
        next_word,
        beam_tree,
        guess,
    )
}


# What is said, and what is touched

NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def agree(said, expected):
    """Are the words of a description those that are expected, and each number the expected one, rounded?

    Where the expected text ends early, as for a message, the description may go on.
    """
    said, expected = said.replace(",", ""), expected.replace(",", "")
    words, right = NUMBER.split(said), NUMBER.split(expected)
    numbers, exact = NUMBER.findall(said), NUMBER.findall(expected)
    same_words = words == right or (len(words) >= len(right) and said.startswith(expected))
    return same_words and all(rounded(number, float(whole)) for number, whole in zip(numbers, exact))


def rounded(number, exact):
    """Is the number as it is written `exact`, rounded to as many digits as are written?"""
    digits, _, power = number.partition("e")
    unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return abs(float(number) - exact) <= 0.51 * unit  # 0.01: what float32 may round the other way


def shapes_that_set(svg, name):
    """What the shapes of a picture give to the control `name`."""
    found = [films.json.loads(films.html.unescape(one[2])) for one in films.TOUCH.finditer(svg) if one[1] == "set"]
    return [values[name] for values in found if name in values]
