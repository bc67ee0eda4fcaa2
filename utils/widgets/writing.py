"""What a translator looks at while it writes a word, a cache that fills up, and a choice among words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ..checks import require_list, require_whole
from ..decoder import TransformerTranslator
from ..decoding import keep_top_k, keep_top_p
from ..masks import padding_mask
from ..plots import as_numbers, largest
from ..probes import silenced
from ..vocabulary import END_ID, START_ID, Vocabulary
from .canvas import Phone, View, cut, two_decimals
from .controls import Explorer, checkbox, menu, slider
from .hiding import draw_chips

KEPT = "data"  # what was computed before; "here" is computed now
LONGEST = 10  # signs of a word; a longer one is cut


# What is written, and where it looks
MOST_TOKENS = 20  # of a sentence; more would be too small to read


class Steps(NamedTuple):
    """A source of k tokens, and what was written of it in q steps, each of which reads a token and writes the next; the
    weights of the decoder's layers, (h, q, q) and (h, q, k)."""

    source: list[str]
    reads: list[str]
    writes: list[str]
    own: list[np.ndarray]
    cross: list[np.ndarray]


@torch.no_grad()
def steps_of_writing(
    translator: TransformerTranslator, words: Sequence[str], english: Vocabulary, spanish: Vocabulary,
    limit: int = MOST_TOKENS,
) -> Steps:  # fmt: skip
    """What the translator writes for the English words, greedily, `</s>` or `limit` tokens being the end; read again,
    as in training, for the weights of all steps at once: with its causal mask they are those of the writing."""
    source = torch.tensor([english.encode(words, end=True, strict=True)])  # (1, k)
    if not 1 < source.shape[1] <= MOST_TOKENS:
        raise ValueError(f"the sentence {words!r} has {source.shape[1] - 1} words; give 1 to {MOST_TOKENS - 1} of them")
    mask = padding_mask(source)
    ids = translator.translate(source, mask, limit)[0][0]
    writes = ids + [END_ID] * (len(ids) < limit)
    reads = [START_ID, *writes[:-1]]
    _, weights = translator(source, mask, torch.tensor([reads]))
    named = [english.words[i] for i in source[0]], *([spanish.words[i] for i in some] for some in (reads, writes))
    own, cross = ([as_numbers(layer[0], 3) for layer in layers] for layers in (weights.own, weights.cross))
    return Steps(*named, own, cross)


def named_largest(words: Sequence[str], row: np.ndarray) -> str:
    """The two largest of the weights (n,) by their words, "witch 71%, green 20%"; what rounds to 0 is left out."""
    best = [k for k in largest(row, 2) if row[k] >= 0.005]
    return ", ".join(f"{cut(words[k], LONGEST)} {row[k]:.0%}" for k in best)


def best_first(shares: np.ndarray, count: int) -> list[int]:
    """Positions of the largest of the probabilities (v,), best first, however small they are."""
    return np.argsort(-shares, kind="stable")[:count].tolist()


def require_translator(
    translator: TransformerTranslator, sentences: Sequence[Sequence[str]], english: Vocabulary, spanish: Vocabulary
) -> None:
    """ValueError: no sentences, or a model or vocabularies that do not go with them."""
    if not hasattr(translator, "language_model"):  # a notebook may define the class anew
        raise ValueError(f"a {type(translator).__name__} lacks some attentions; give a TransformerTranslator")
    sizes = [part.embedding.vectors.num_embeddings for part in (translator.encoder, translator.language_model)]
    if sizes != [len(english), len(spanish)]:
        given = f"the vocabularies have {len(english)} and {len(spanish)} words"
        raise ValueError(f"{given}, the translator's {sizes[0]} and {sizes[1]}: first the source's, then the target's")
    if isinstance(sentences, str) or not sentences or any(isinstance(sentence, str) for sentence in sentences):
        form = 'a list of sentences, each a list of words: write ["…".split()]'
        raise ValueError(f"sentences {sentences!r} must be {form}")


# Two looks and a layer that computes, and what is written without one of them
CUTS = {"nothing": None, "source": "cross_attention", "own words": "attention", "feed-forward": "feed_forward"}
MOST_WRITTEN = 10  # tokens
LINE, FIRST_LINE, NAMES = 22, 158, 66  # of the rows of words: their height, the first, how wide the words are


def mean_map(layers: Sequence[np.ndarray]) -> np.ndarray:
    """The mean (q, k) of all heads of all layers, (h, q, k) each."""
    return np.mean([layer.mean(0) for layer in layers], axis=0)


def draw_map(
    canvas: Phone, left: float, wide: float, rows: np.ndarray, words: Sequence[str], title: str, cut_off: bool,
    to_come: Sequence[int],
) -> None:  # fmt: skip
    """The weights (q, k) of the steps so far, a line each, over the words that are asked; empty where it is cut off.
    Below, plain cells for the steps to come: to_come says how many in each."""
    canvas.text(left, FIRST_LINE - 80, title, 12.5, "start", "wrong" if cut_off else "weight", True)
    canvas.text(left, FIRST_LINE - 64, "cut" if cut_off else "", 12, "start", "wrong")
    for number, word in enumerate(words):
        x = left + wide * (number + 0.4)
        turned = {"transform": f"rotate(-90 {x + 4:.1f} {FIRST_LINE - 6})"}
        canvas.text(x + 4, FIRST_LINE - 6, cut(word, 8), 11.5, "start", "quiet" if cut_off else "key", **turned)
    for (row, column), weight in np.ndenumerate(rows):
        place = left + wide * column, FIRST_LINE + LINE * row, wide, LINE
        if column < len(words) and cut_off:
            canvas.rect(*place, "none", stroke="edge", stroke_dasharray="2 3")
        elif column < len(words):
            canvas.shade(*place, "weight", float(weight))
    for row, count in enumerate(to_come, len(rows)):
        for column in range(count):
            place = left + wide * column, FIRST_LINE + LINE * row, wide, LINE
            canvas.rect(*place, "raised", stroke="ground", stroke_width=2)


def draw_looks(steps: Steps, whole: Steps, step: int, off: str, size: tuple[float, int]) -> View:
    """Step number `step` of writing, with `off` cut: a line for each step, over its look at the words so far and its
    look at the source to the word that it writes. whole: what is written with nothing cut; size: how wide a column is,
    and for how many words so far there is room."""
    i, (wide, lines), asks = step - 1, size, cut(steps.reads[step - 1], LONGEST)
    own, cross = mean_map(steps.own)[:step], mean_map(steps.cross)[:step]
    low, later = FIRST_LINE + LINE * len(steps.reads), range(step + 1, len(steps.reads) + 1)
    canvas, left = Phone(low + 148), NAMES + 12 + wide * lines
    title = f"step {step}: it reads {asks}, and writes {cut(steps.writes[i], LONGEST)}"
    canvas.text(6, 19, "cut:", 12, "start", "quiet")
    draw_chips(canvas, 4, "off", list(CUTS), off, 36)
    canvas.text(6, 48, title, min(14.5, 570 / len(title)), "start", bold=True)
    for heading, x, rows, words, name, to_come in (
        ("1 own words", NAMES, np.tril(own), steps.reads[:step], "attention", later),
        ("2 source", left, cross, steps.source, "cross_attention", [len(steps.source)] * len(later)),
    ):
        draw_map(canvas, x, wide, rows, words, heading, CUTS[off] == name, to_come)
    if later:
        canvas.text(NAMES - 6, FIRST_LINE + LINE * step + 16, "to come", 11.5, "end", "quiet")
    end = left + wide * len(steps.source)
    for number, (read, written) in enumerate(zip(steps.reads[:step], steps.writes)):
        y, here = FIRST_LINE + LINE * number + 16, number == i
        canvas.text(NAMES - 6, y, cut(read, 9), 12.5, "end", "query" if here else "quiet", here)
        moves = canvas.appear(0.3) if here else {}
        canvas.text(end + 6, y, cut(written, 9), 12.5, "start", "here" if here else "ink", here, **moves)
    canvas.rect(1, FIRST_LINE + LINE * i, 354, LINE, stroke="here", stroke_width=2, rx=4)
    for number in range(len(steps.reads)):
        canvas.touch(1, FIRST_LINE + LINE * number, 354, LINE, f"step {number + 1}", on=number == i, step=number + 1)
    looks = {
        "at its own words": ("attention", steps.reads[:step], own[i, :step]),
        "at the source": ("cross_attention", steps.source, cross[i]),
    }
    said = [f"{at}: {named_largest(words, row)}" for at, (name, words, row) in looks.items() if CUTS[off] != name]
    looked = f"It looks {'; '.join(said)}."
    so_far = " ".join(steps.writes[:step])
    texts = {f"The source is: {' '.join(steps.source[:-1])}.": "quiet", looked: "ink", f"Written: {so_far}.": "here"}
    if CUTS[off]:
        texts[f"With nothing cut: {' '.join(whole.writes)}."] = "quiet"
    ask = {
        "nothing": "Cut one part after the other, in two sentences. What does each of them do for the writer?",
        "own words": "Does it say the right words? Why not in order?",
        "source": "Now take another sentence. What changes?",
        "feed-forward": "Which words does it say twice? Are the right ones missing?",
    }[off]
    y = low + 16
    for text, role in (texts | {ask: "quiet"}).items():
        y = canvas.prose(6, y, text, 12.5, fill=role) + 2
    canvas.height = round(max(y, low + 148))
    return canvas.view(f"Cut: {off}. {title[0].upper()}{title[1:]}. {' '.join([*texts, ask])}")


def three_cuts(
    translator: TransformerTranslator, sentences: Sequence[Sequence[str]], english: Vocabulary, spanish: Vocabulary,
    step: int = 1,
) -> Explorer:  # fmt: skip
    """Watch a sentence being written, one line per step, from the word that is read over the look at the words so far
    and the look at the source to the next word; cut one of the looks, or the feed-forward layer, in all blocks of the
    decoder, and see what is written then. step: the one that is shown first.

    ValueError: no sentence, or one of more than 9 words or with unknown ones; vocabularies of other models."""
    require_translator(translator, sentences, english, spanish)
    if max(map(len, sentences)) >= MOST_WRITTEN:
        raise ValueError(f"a sentence has {max(map(len, sentences))} words; there is room for {MOST_WRITTEN - 1}")
    models = {name: silenced(translator, "decoder", off) if off else translator for name, off in CUTS.items()}
    written = {
        (number, name): steps_of_writing(model, words, english, spanish, MOST_WRITTEN)
        for number, words in enumerate(sentences)
        for name, model in models.items()
    }
    lines = max(len(one.reads) for one in written.values())
    wide = min(20.0, (356 - 2 * NAMES - 12) / (lines + max(len(words) for words in sentences) + 1))

    def draw(sentence, off, step):
        steps = written[sentence, off]
        return draw_looks(steps, written[sentence, "nothing"], min(step, len(steps.reads)), off, (wide, lines))

    titles = [(" ".join(words), number) for number, words in enumerate(sentences)]
    controls = {"sentence": menu("sentence", titles), "off": menu("cut", list(CUTS))}
    return Explorer(draw, controls | {"step": slider("step of writing", step, 1, lines)}, replaced=["off"])


# A cache that fills up
BYTES = 4  # of a number in float32


def work_of_step(step: int, cached: bool) -> tuple[int, int]:
    """Rows of keys and values, in each layer, that this step computes, and that all steps so far have computed."""
    return (1, step) if cached else (step, step * (step + 1) // 2)


def draw_history(canvas: Phone, top: float, words: Sequence[str], step: int, cached: bool, width: float) -> None:
    """A row of cells for each step, a cell for each token: its keys and values are computed, or only read."""
    for token, word in enumerate(words):
        x, ink = 60 + width * (token + 0.4), {"fill": "ink" if token < step else "quiet", "bold": token == step - 1}
        turned = {"transform": f"rotate(-40 {x:.1f} {top - 7:.1f})"}
        canvas.text(x, top - 7, cut(word, LONGEST), 12, "start", **ink, **turned)
    for row in range(len(words)):
        y = top + 20 * row
        canvas.text(54, y + 15, f"step {row + 1}", 12, "end", "ink" if row < step else "quiet", row == step - 1)
        for token in range(row + 1):
            fill = "raised" if row >= step else "here" if token == row or not cached else KEPT
            canvas.rect(60 + width * token, y, width, 20, fill, stroke="ground", stroke_width=2)
    canvas.rect(59, top - 1 + 20 * (step - 1), width * step + 2, 22, "none", stroke="ink", stroke_width=2.5)
    for y, fill, meaning in ((top + 1, "here", "computed"), (top + 21, KEPT, "kept, only read")):
        canvas.rect(242, y, 14, 14, fill)
        canvas.text(262, y + 12, meaning, 12, "start")


def draw_kept(
    canvas: Phone, top: float, sizes: tuple[int, int, int], fills: Sequence[str | None], width: float
) -> None:
    """What is kept of each token in each layer: keys on the left, values on the right, a band for each key head. There
    is room for as many as heads. sizes: layers, heads, key heads; fills: the colour of each token, None for nothing."""
    num_layers, num_heads, num_kv_heads = sizes
    slot = 120 / num_layers
    band = 0.9 * slot / num_heads
    bands, tall = (num_kv_heads, band) if band >= 3 else (1, band * num_kv_heads)  # thinner ones are drawn as one
    for layer in range(num_layers):
        y = top + slot * layer
        canvas.text(54, y + slot / 2 + 4, f"layer {layer + 1}" if slot >= 20 else "", 12, "end", "quiet")
        for token, fill in enumerate(fills):
            canvas.rect(61 + width * token, y, width - 2, 0.9 * slot, "raised")
            for number in range(2 * bands if fill else 0):
                left, edge = 61 + width * token + number % 2 * (width / 2 - 0.5), float(bands > 1)
                place = left, y + tall * (number // 2), width / 2 - 1.5, tall
                canvas.rect(*place, fill, stroke="ground", stroke_width=edge)


def draw_cache(words: Sequence[str], sizes: tuple[int, int, int], d_head: int, step: int, cached: bool) -> View:
    """Step number `step` of a decoder that reads the words one by one, with a cache or without; sizes: layers, heads,
    key heads."""
    tokens, computed, each = len(words), work_of_step(step, cached)[0], 2 * sizes[0] * sizes[2] * d_head * BYTES
    letters = [min(len(word), LONGEST) for word in words]
    width, top = min(32.0, (290 - 5 * letters[-1]) / (tokens - 0.6)), 44 + 4.6 * max(letters)  # the last word fits, too
    below = top + 20 * tokens + 28
    canvas, rows = Phone(below + 290), "1 row" if computed == 1 else f"{computed} rows"
    title = f"step {step} reads {cut(words[step - 1], LONGEST)}: {rows} computed, {step - computed} only read"
    kept = f"{each * step:,} bytes, {each:,} for each token" if cached else "0 bytes"
    detail = f"keys left, values right: {d_head} numbers of {BYTES} bytes a head"
    fills = [("here" if token == step - 1 else KEPT) if cached and token < step else None for token in range(tokens)]
    canvas.text(6, 20, title, min(14.5, 570 / len(title)), "start", bold=True)
    draw_history(canvas, top, words, step, cached, width)
    canvas.text(6, below, f"kept: {kept}", 12.5, "start", bold=True)
    detail = detail if cached else "all rows are computed anew, and thrown away"
    canvas.text(6, below + 19, detail, 12, "start", "quiet")
    draw_kept(canvas, below + 30, sizes, fills, width)
    canvas.text(6, below + 174, "rows computed so far, in each layer", 12.5, "start", bold=True)
    totals = [work_of_step(step, way)[1] for way in (True, False)]
    for y, name, total in ((below + 196, "cache", totals[0]), (below + 218, "no cache", totals[1])):
        here, long = (name == "cache") == cached, 500 * total / (tokens * (tokens + 1))
        canvas.text(62, y, name, 12, "end", bold=here)
        canvas.rect(68, y - 12, long, 16, "here")
        canvas.text(74 + long, y, total, 12, "start", bold=here)
    if step < tokens:
        ask = f"Guess before you go on: by step {tokens}, how many rows with a cache, and how many without?"
    else:
        ask = "And after 100 steps, with a cache and without?"
    canvas.prose(6, below + 246, ask, fill="quiet")
    heads = ("1 key head" if sizes[2] == 1 else f"{sizes[2]} key heads") if cached else "No cache"
    so_far = f"Computed so far, in each layer: {totals[0]} rows with a cache, {totals[1]} without."
    return canvas.view(f"{title}. {heads}, kept: {kept}. {so_far} {ask}")


def filling_cache(words: Sequence[str], num_layers: int, num_heads: int, d_head: int) -> Explorer:
    """Token by token, with a cache or without, and with fewer key heads: which rows of keys and values are computed,
    which are only read, how many bytes are kept, and how many rows were computed in all.

    words: 2 to 12 tokens that a decoder reads; other sizes than whole ones from 1: ValueError."""
    require_list(words=words)
    require_whole(num_layers=num_layers, num_heads=num_heads, d_head=d_head)
    if not 2 <= len(words) <= 12:
        raise ValueError(f"words {words!r} must be a list of 2 to 12 tokens: one picture has room for so many")
    fewer = [heads for heads in dict.fromkeys((num_heads, num_heads // 2, 1)) if heads and num_heads % heads == 0]

    def draw(step, cached, kv_heads):
        return draw_cache(words, (num_layers, num_heads, kv_heads), d_head, step, cached)

    controls = {
        "step": slider("step", 1, 1, len(words)),
        "cached": checkbox("keep keys and values", True),
        "kv_heads": menu("key heads", fewer),
    }
    return Explorer(draw, controls)


# A choice among words
SHOWN = 12  # words in a picture
TOP_K = (1, 2, 3, 5, 10, 20)  # besides all


def sampling_stages(logits: Tensor, temperature: float, top_k: int | None, top_p: float) -> list[Tensor]:
    """The probabilities (v,) that logits (v,) give as they are, then with the temperature, then cut to the top_k, then
    to top_p: the last is what `utils.decoding.sampling` draws from. None or 1: nothing is cut."""
    warm = logits / temperature
    first = warm if top_k is None else keep_top_k(warm, top_k)
    return [one.softmax(-1) for one in (logits, warm, first, keep_top_p(first, top_p))]


class Row(NamedTuple):
    """A row of the picture: one word, or all others of a kind; `never`: they never occur where they stand."""

    name: str
    words: list[int]
    never: bool


NEVER = "✘"  # the sign of a word that never occurs there


def rows_of_words(shares: np.ndarray, words: Sequence[str], occurs: np.ndarray | None) -> list[Row]:
    """The most probable words, and all others in one row; occurs (v,): in two rows, those that occur and the others."""
    never, order = np.zeros(len(words), bool) if occurs is None else ~occurs, best_first(shares, len(words))
    rows = [Row(cut(words[k], LONGEST), [k], bool(never[k])) for k in order[:SHOWN]]
    for kind in (False, True):
        others = [k for k in order[SHOWN:] if never[k] == kind]
        rows += [Row(f"{len(others)} others", others, kind)] * bool(others)
    return [row._replace(name=f"{NEVER} {row.name}") if row.never else row for row in rows]


def draw_shares(
    canvas: Phone, x: float, rows: Sequence[Row], shares: np.ndarray, before: np.ndarray | None, most: float
) -> None:
    """A column of probabilities as bars, of which that of `most` is the longest, and numbers; what is 0, but was not
    `before`, is cut (None: nothing can be)."""
    for number, (row, share) in enumerate(zip(rows, shares.tolist())):
        y, gone = 104 + 21 * number, before is not None and share == 0
        canvas.rect(x, y - 14, 63, 18, "raised")
        canvas.rect(x, y - 14, 63 * share / most, 18, "wrong" if row.never else "data", fill_opacity=0.35)
        said = f"{share:.1%}" if not gone else "cut" if before[number] else ""
        canvas.text(x + 61, y, said, 11.5, "end", "quiet" if gone else "ink", bold=number == 0)


def write_facts(canvas: Phone, top: float, facts: Mapping[str, Iterable[object]]) -> float:
    """A line for each fact, a number for each stage; returns where the next thing can be drawn."""
    for line, (name, numbers) in enumerate(facts.items()):
        canvas.text(80, top + 20 * line, name, 12, "end", "quiet")
        for stage, fact in enumerate(numbers):
            canvas.text(147 + 67 * stage, top + 20 * line, fact, 12, "end")
    return top + 20 * len(facts) + 6


def touch_words(canvas: Phone, rows: Sequence[Row], now: int | None) -> None:
    """A click on a word sets the smallest top-k that keeps it; another one sets top-k to all again."""
    for number, row in enumerate(rows):
        fits = [count for count in TOP_K if count > number]
        if len(row.words) == 1 and number < SHOWN and fits:
            on, place = fits[0] == now, (4, 90 + 21 * number, 348, 18)
            name = f"{row.name}: top-k {'all' if on else fits[0]}"
            canvas.touch(*place, name, group="words", on=on, top_k=0 if on else fits[0])


FEW = 3  # words that the task asks for
UNCHANGED = ("1", "all", "1")  # the settings of temperature, top-k and top-p that change nothing


def draw_unchanged(canvas: Phone, x: float, count: int) -> None:
    """The column of a stage that changes nothing: outlines."""
    for number in range(count):
        canvas.rect(x, 90 + 21 * number, 63, 18, stroke="edge", stroke_dasharray="2 3")
    canvas.text(x + 31, 103, "as before", 11, fill="quiet")


def draw_sampling(
    situation: str, stages: Sequence[Tensor], words: Sequence[str], settings: Sequence, occurs: np.ndarray | None = None
) -> View:
    """The most probable words, and what each stage (v,) leaves them; settings: of temperature, top-k and top-p, in
    words; occurs (v,): which words ever occur there."""
    table = np.stack([as_numbers(stage, 1) for stage in stages])  # (stages, v)
    rows = rows_of_words(table[0], words, occurs)
    shares = np.column_stack([table[:, row.words].sum(1) for row in rows])
    entropy = -(table * np.log(np.where(table > 0, table, 1.0))).sum(1)
    left, foot, canvas = (table > 0).sum(1), 116 + 21 * len(rows), Phone(236 + 21 * len(rows))
    facts = {"words left": left}
    spread = f"Entropy from stage to stage: {', '.join(map(two_decimals, entropy))}."
    if occurs is not None:
        never, share = (table[:, ~occurs] > 0).sum(1), table[:, ~occurs].sum(1)
        facts |= {f"{NEVER} of them": never, f"{NEVER} together": [f"{one:.1%}" for one in share]}
        spread += f" Words left that occur here in the training corpus: {left[-1] - never[-1]}; that never do: "
        spread += f"{never[-1]}, together {share[-1]:.1%}, at first {share[0]:.1%}."
    facts |= {"entropy": map(two_decimals, entropy), "perplexity": [f"{one:.1f}" for one in np.exp(entropy)]}
    canvas.text(6, 22, situation if len(situation) <= 44 else f"…{situation[-43:]}", 13.5, "start", bold=True)
    for stage, name in enumerate(("softmax", "temperature", "top-k", "top-p")):
        x = 86 + 67 * stage
        canvas.text(x + 31, 54, name, 11.5)
        canvas.text(x + 31, 74, f"then {settings[stage - 1]}" if stage else "at first", 12, fill="quiet")
        if stage and settings[stage - 1] == UNCHANGED[stage - 1]:
            draw_unchanged(canvas, x, len(rows))
        else:
            draw_shares(canvas, x, rows, shares[stage], shares[stage - 1] if stage > 1 else None, shares.max())
    for number, row in enumerate(rows):
        canvas.text(80, 104 + 21 * number, row.name, 12.5, "end", "wrong" if row.never else "ink", bold=number == 0)
    low = write_facts(canvas, foot, facts)
    if occurs is not None:
        canvas.text(6, low, f"{NEVER} never follows the last word in the training corpus", 11.5, "start", "wrong")
        low += 18
    now = None if settings[1] == UNCHANGED[1] else int(settings[1])
    touch_words(canvas, rows, now)
    shown = [row.words[0] for row in rows[:SHOWN] if table[-1, row.words[0]] > 0][:5]
    said = ", ".join(f"{named(words, k, occurs)} {table[-1, k]:.1%}" for k in shown) + ", …" * int(
        left[-1] > len(shown)
    )
    all_set = "temperature {}, top-k {}, top-p {}".format(*settings)
    found = left[-1] == FEW and now is None
    sign, role = ("✔", "right") if found else ("○", "quiet")
    task = f"{sign} Leave just {FEW} words, with top-k at all. Does the same top-p do it after other words, too?"
    canvas.text(6, low, f"the longest bar: {shares.max():.1%}", 12, "start", "quiet")
    canvas.hint(352, low, "click a word: top-k keeps it", "end")
    canvas.prose(6, low + 24, task, fill=role)
    canvas.height = round(low + 54)
    return canvas.view(f"{all_set} leave {left[-1]} of {len(words)} words: {said}. {spread} After: {situation}. {task}")


def named(words: Sequence[str], word: int, occurs: np.ndarray | None) -> str:
    """A word as the description says it."""
    return f"{words[word]} (never)" if occurs is not None and not occurs[word] else words[word]


def sampling(
    situations: Sequence[str], logits: ArrayLike, words: Sequence[str], occurs: ArrayLike | None = None
) -> Explorer:
    """What temperature, top-k and top-p, in this order, make of the probabilities of a next word.

    situations: what was written so far, a text for each row of logits (situations, v); words: the v of the vocabulary;
    occurs: booleans (situations, v), whether a word ever follows the last one of the situation in the training corpus.
    Logits that are not numbers, or do not go with the texts and words, other `occurs`: ValueError."""
    require_list(situations=situations, words=words)
    table = torch.as_tensor(as_numbers(logits, 2))
    wanted = len(situations), len(words)
    if tuple(table.shape) != wanted:
        raise ValueError(
            f"logits {tuple(table.shape)} must be {wanted}: a row for each situation, a column for each word"
        )
    known = None if occurs is None else np.asarray(occurs)
    if known is not None and (known.shape != wanted or known.dtype != bool):
        given = f"occurs {known.shape} of {known.dtype}"
        raise ValueError(f"{given} must be {wanted} of bool: for each situation, which words ever follow it")

    def draw(situation, temperature, top_k, top_p):
        stages = sampling_stages(table[situation], temperature, top_k or None, top_p)
        settings = f"{temperature:g}", f"{top_k or 'all'}", f"{top_p:g}"
        return draw_sampling(
            situations[situation], stages, words, settings, None if known is None else known[situation]
        )

    controls = {
        "situation": menu("situation", [(text, number) for number, text in enumerate(situations)]),
        "temperature": slider("temperature", 0.5, 0.1, 2.0, 0.1),
        "top_k": menu("top-k", [("all", 0), *((str(count), count) for count in TOP_K)]),
        "top_p": slider("top-p", 1.0, 0.05, 1.0, 0.05),
    }
    return Explorer(draw, controls)
