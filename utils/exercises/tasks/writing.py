"""Exercises of the notebook on writing: a step with a cache, reading on, a beam's step, a block of attention."""

import math

import torch

from ...judge.exercise import exercise


def draw_words_and_caches(generator):
    """All sizes different; d = e; b = n; b = n + 1; b = n = d = e; one sentence; one word kept, and none; float64,
    and scores that lie far apart."""
    for b, n, d, e in (
        (2, 4, 3, 6),
        (3, 3, 3, 3),
        (1, 2, 5, 4),
        (4, 3, 2, 2),
        (2, 1, 4, 3),
        (2, 0, 3, 4),
        (3, 4, 4, 4),
    ):
        dtype = torch.float64 if n == e == 4 else torch.float32
        shapes = (b, d), (b, n, e), (b, n, e), (d, e), (d, e), (d, e)
        x, keys, *others = (torch.randn(*shape, generator=generator, dtype=dtype) for shape in shapes)
        yield x, keys, *others
    yield 50 * x, 50 * keys, *others


def edges_of_decoding(generator):
    x, eye, values = torch.tensor([[1.0], [-1.0]]), torch.eye(1), torch.randn(2, 2, 1, generator=generator)
    yield (
        "scores of 300 (exp(300) is infinite in float32)",
        (x, torch.tensor([[[300.0], [299.0]]] * 2), values, eye, 300 * eye, eye),
    )
    for name, (b, n, d, e) in (("70 words kept", (1, 70, 66, 67)), ("66 sentences", (66, 2, 3, 4))):
        shapes = (b, d), (b, n, e), (b, n, e), (d, e), (d, e), (d, e)
        yield name, tuple(torch.randn(*shape, generator=generator) / shape[-1] ** 0.25 for shape in shapes)
    shapes = (2, 3), (2, 4, 5), (2, 4, 5), (3, 5), (3, 5), (3, 5)
    yield "numbers in float64", tuple(torch.randn(*shape, generator=generator).double() for shape in shapes)


@exercise(
    draws=draw_words_and_caches,
    edges=edges_of_decoding,
    hints=[
        "The earlier words were projected when they were new. How many words have to be projected now? And which words "
        "may the new word see?",
        "Project x three times: each result is (b, e). Append its key and its value to those that were kept. "
        "torch.cat needs three axes in both, so the new ones need an axis of length 1: [:, None].",
        "Then compute attention with a single query: scores (b, n + 1) divided by √d_k, softmax, weighted sum of the "
        "values. There is no later word to hide, so no mask is needed. einsum with be,bne->bn needs no extra axis.",
    ],
    intermediates={
        "(b, n + 1), the shape of the weights: should the values be averaged with them?": (
            lambda x, keys, values, W_q, W_k, W_v: (
                torch.cat([keys, keys[:, :1]], 1)[..., 0] if keys.shape[1] else x[:, :1]
            )
        ),
        "(b, 1, e): the axis of the single query should be removed": lambda x, keys, values, W_q, W_k, W_v: (x @ W_v)[
            :, None
        ],
        "(b, n, e): is the new word in it?": lambda x, keys, values, W_q, W_k, W_v: keys,
        "(b, b, e): every sentence's query meets every sentence's keys": (
            lambda x, keys, values, W_q, W_k, W_v: (x @ W_v)[None].expand(len(x), -1, -1)
        ),
    },
    question={
        r"(cat|stack)\(.*\bx(\[[^]]*\]|\.unsqueeze\(-?\d\))?[\]),]": "What is kept of a word is its key and its value, "
        "x @ W_k and x @ W_v. This line joins x itself, which is (b, d).",
        r"cat\(|stack\(": "keys is (b, n, e), the new key is (b, e): it needs an axis of length 1 for its position, and "
        "the positions are axis 1.",
        "einsum": "The query has the axes be, keys and values bne, the weights bn: does your string name all of them?",
        r"\.T\b|\.t\(\)|permute|transpose|\.mT": "The keys are (b, n + 1, e): swap only the last two axes, and give "
        "the query an axis for its position, (b, 1, e).",
        r"W_[qkv]": "x is (b, d), each matrix (d, e): x is on the left. The old keys and values are projected already.",
        "": "The query is (b, e), keys and values are (b, n + 1, e): which axes meet in this line?",
    },
    level=2,
    minutes=9,
)
def decoding_step(x, keys, values, W_q, W_k, W_v):
    """One new word x (b, d), with what was kept of n others: returns z (b, e), keys, values.

    The earlier words have keys (b, n, e) and values (b, n, e); n may be 0. The new word attends to them and to
    itself, with W_q, W_k and W_v (d, e), scores divided by √d_k. Keys and values are returned with the
    new ones appended, (b, n + 1, e).
    """
    query, key, value = x @ W_q, x @ W_k, x @ W_v  # (b, e)
    keys = torch.cat([keys, key[:, None]], dim=1)  # (b, n + 1, e)
    values = torch.cat([values, value[:, None]], dim=1)
    scores = torch.einsum("be,bne->bn", query, keys) / math.sqrt(keys.shape[-1])
    weights = torch.softmax(scores, dim=-1)  # (b, n + 1)
    return torch.einsum("bn,bne->be", weights, values), keys, values


def reading(table, out):
    """A model that reads: what it says of a word depends on all words before it, their order, its position, and how
    often the model was called, as with a cache that is wrong."""

    def model(tokens, state=None):
        if not isinstance(tokens, torch.Tensor) or tokens.ndim != 2 or tokens.is_floating_point():
            raise ValueError("tokens must be a tensor (b, n) of whole numbers")
        summed, position, calls = (0.0, 0, 0) if state is None else state
        moved = 0.9 ** torch.arange(tokens.shape[1])[:, None] * table[tokens]  # (b, n, e)
        so_far = summed + 0.9**position * moved.cumsum(dim=1)  # (b, n, e)
        return so_far.tanh() @ out + calls, (so_far[:, -1:], position + tokens.shape[1], calls + 1), None

    return model


def draw_texts(generator):
    """Chunks of several sizes, of one word, one chunk for all, one word for each; one sentence and several."""
    for b, v, e, sizes in (
        (2, 7, 4, [1, 3, 1]),
        (1, 5, 3, [2, 2]),
        (3, 9, 4, [5]),
        (2, 6, 5, [1, 1, 1, 1]),
        (4, 8, 3, [3, 1, 2]),
        (1, 11, 4, [1, 5, 4]),
    ):
        model = reading(torch.randn(v, e, generator=generator), torch.randn(e, v, generator=generator))
        yield model, torch.randint(v, (b, sum(sizes)), generator=generator), sizes


def edges_of_texts(generator):
    model = reading(torch.randn(70, 4, generator=generator), torch.randn(4, 70, generator=generator))
    yield "70 words, one by one", (model, torch.randint(70, (1, 70), generator=generator), [1] * 70)
    yield "66 sentences", (model, torch.randint(70, (66, 3), generator=generator), [2, 1])


@exercise(
    draws=draw_texts,
    edges=edges_of_texts,
    hints=[
        "tokens.split(sizes, dim=1) gives the chunks. The model returns the logits of a chunk and a state. What does it "
        "need when it reads the next chunk?",
        "The state is None before the first chunk. After each call it is what the model returned. You need the logits "
        "of all chunks, so collect them in a list.",
        "In the loop: logits, state, _ = model(chunk, state). Then torch.cat joins the collected logits along the axis "
        "of the words, dim=1.",
    ],
    question={
        r"model\(": "model takes tokens (b, n) and a state. What does each chunk look like, and what is the state?",
        r"cat|stack": "The logits of a chunk are (b, its words, v): along which axis should they be joined to (b, n, v)?",
        "": "tokens are (b, n), logits are (b, n, v): which axis is the axis of the words?",
    },
    level=1,
    minutes=6,
)
def in_chunks(model, tokens, sizes):
    """Let a model read sentences chunk by chunk: returns the logits (b, n, v) of all chunks, side by side.

    tokens are (b, n); sizes lists the number of words in each chunk, n in total. model(tokens, state) returns the
    logits for its tokens, the state after them, and a third result, which is not needed here. Each call gets the
    state that the previous call returned; the first call gets None.
    """
    parts, state = [], None
    for chunk in tokens.split(sizes, dim=1):
        logits, state, _ = model(chunk, state)
        parts.append(logits)
    return torch.cat(parts, dim=1)


def draw_symptoms(generator):
    """Each of the five mistakes, with what the four experiments show of it."""
    yield True, False, True, True
    yield False, False, True, True
    yield True, True, True, True
    yield True, False, True, False
    yield True, False, False, False


@exercise(
    draws=draw_symptoms,
    hints=[
        "Take one mistake at a time and go through the four experiments in your head. Forgetful, for example, sees "
        "nothing of the earlier chunks: can it notice a different first word?",
        "Only one of the five is wrong even when it reads everything at once, and only one is right with a single layer. "
        "Only one notices nothing at all of the earlier chunks.",
        "Two remain: OneTooFar and FromTopLeft. A mask that begins at the top left shows the last chunk only the "
        "first words. Which experiment tells the two apart?",
    ],
    question='Each argument is True or False. The function should return a name, such as "Forgetful".',
    level=2,
    minutes=8,
)
def which_mistake(at_once, one_layer, first_word, middle_word):
    """The mistake that shows these symptoms: returns its name, such as "Forgetful".

    at_once: are the logits right when the model reads all words at once? one_layer: are they right in chunks when
    the model has a single layer? first_word, middle_word: does the last chunk notice if the first word of the
    sentence, or one in its middle, is changed? In chunks, with two layers, each of the five is wrong.
    """
    if not at_once:
        return "AlwaysAtZero"
    if one_layer:
        return "LayerOneForAll"
    if not first_word:
        return "Forgetful"
    return "OneTooFar" if middle_word else "FromTopLeft"


def draw_beams(generator):
    """Three beams; the first step, one beam; width 1; more beams to keep than there are; v = w; all best ones from one
    beam; fewer words than beams; a word that cannot follow; float64."""
    for w, v, width, spread, dtype in (
        (3, 6, 3, 1, None),
        (1, 5, 3, 1, None),
        (4, 7, 1, 1, None),
        (2, 6, 4, 1, None),
        (4, 4, 4, 1, None),
        (3, 8, 3, 30, None),
        (4, 3, 4, 1, None),
        (3, 9, 5, 1, torch.float64),
    ):
        sums = -torch.rand(w, generator=generator, dtype=dtype) * 3 * spread - 1
        logits = 2 * torch.randn(w, v, generator=generator, dtype=dtype)
        if v == 9:
            logits[0, 2] = -math.inf
        yield sums, torch.log_softmax(logits, dim=-1), width


def edges_of_beams(generator):
    sums, logits = -torch.rand(66, generator=generator), torch.randn(66, 70, generator=generator)
    yield "66 beams, 70 words", (sums, logits.log_softmax(-1), 67)


@exercise(
    draws=draw_beams,
    edges=edges_of_beams,
    hints=[
        "A beam with the sum -1.2 goes on with a word of log-probability -0.5: what is the new sum? How many such "
        "continuations do w beams and v words have, and do beams compete with each other?",
        "All w · v totals compete at once. torch.topk finds the largest in one row of numbers, so flatten the table "
        "first. Which beam and which word does index 9 of that row belong to if v is 4?",
        "Index i of the flat row is word i % v of beam i // v: a remainder and a quotient. "
        "topk returns values and indices, best first.",
    ],
    intermediates={
        "the totals of all continuations, (w, v): which are the best?": lambda sums, log_probabilities, width: (
            log_probabilities
        ),
        "the totals of all continuations, in a row: which are the best?": lambda sums, log_probabilities, width: (
            log_probabilities.flatten()
        ),
        "(w, width): each beam has kept its own best. All totals should compete": lambda sums, log_probabilities, width: (
            log_probabilities[:, :1].expand(-1, width)
        ),
        "(w,): one continuation of each beam. All totals should compete, and `width` of them go on": (
            lambda sums, log_probabilities, width: sums
        ),
    },
    question={
        r"topk": "topk looks along the last axis, which must have at least `width` numbers: is it the flat row of w · v?",
        r"sums": "sums is (w,), log_probabilities (w, v): a sum belongs to a whole row. Which axis does sums need?",
        "": "sums is (w,), log_probabilities is (w, v), and all w · v totals compete: which shapes meet in this line?",
    },
    level=2,
    minutes=8,
)
def beam_step(sums, log_probabilities, width):
    """w beams, each may go on with any of v words, the best of all stay: returns sums, rows, tokens.

    sums (w,) are the log-probabilities of the beams so far, log_probabilities (w, v) those of the next word. The
    function returns the new sums, the rows of the beams that go on, and the tokens that they go on with, (width,)
    each, best first. No two totals are equal.
    """
    totals = sums[:, None] + log_probabilities  # (w, v)
    best = totals.flatten().topk(width)
    v = log_probabilities.shape[1]
    return best.values, best.indices // v, best.indices % v


def draw_tails(generator):
    """Sure and unsure; a sum that reaches p in between and before the last; p near 1 and 1 itself; very small p; float64."""
    halves = torch.tensor([0.15, 0.5, 0.05, 0.3]).log()
    yield halves, 0.7
    for v, p, spread, dtype in (
        (6, 0.9, 1.0, None),
        (9, 0.5, 3.0, None),
        (5, 0.01, 1.0, None),
        (8, 0.99, 2.0, None),
        (7, 1.0, 2.0, None),
        (12, 0.75, 0.3, torch.float64),
    ):
        yield spread * torch.randn(v, generator=generator, dtype=dtype), p


def edges_of_tails(generator):
    yield "70 words", (torch.randn(70, generator=generator), 0.9)
    yield "logits near 1,000", (1000 + torch.randn(6, generator=generator).double(), 0.6)
    yield "a single word", (torch.zeros(1), 0.5)


@exercise(
    draws=draw_tails,
    edges=edges_of_tails,
    hints=[
        "Do it by hand for the probabilities 0.5, 0.3, 0.15, 0.05 and p = 0.7, taking the most probable first. When "
        "can you stop? Does the word that crosses p stay?",
        "Sort the probabilities, the largest first, and add them up: torch.sort and torch.cumsum. A word stays if the "
        "sum of the words *before* it is still below p.",
        "The cumsum minus the probabilities is the sum before each word. sort also returns the old positions, `order`: "
        "in a copy of logits, set the entries `order[~stays]` to -∞.",
    ],
    intermediates={
        "the probabilities, sorted: which words are these, and where are they in logits?": (
            lambda logits, p: logits.softmax(-1).sort(descending=True).values
        ),
        "the probabilities: which of the words should stay?": lambda logits, p: logits.softmax(-1),
    },
    question={
        r"cumsum|sort": "cumsum and sort run along an axis of the v words, dim=-1 or 0: does the line say so?",
        "": "logits and probabilities are (v,): does something in this line have another length?",
    },
    level=2,
    minutes=7,
)
def keep_top_p(logits, p):
    """Top-p: returns the logits (v,), -∞ for all but the fewest words that together have the probability p or more.

    The most probable words are taken first, no two are equally probable, and 0 < p ≤ 1. Do not change the logits
    that are passed in.
    """
    probabilities, order = logits.softmax(dim=-1).sort(descending=True)  # (v,) each
    stays = probabilities.cumsum(dim=-1) - probabilities < p  # what the words before it have together
    return logits.masked_fill(~stays[order.argsort()], -math.inf)


def draw_blocks(generator):
    """The first block; later ones with a larger top, a smaller one, both in one draw; scores so large, of the block or of
    all before it, that an exponential of them alone overflows; q = k = d; one query; one key; float64."""
    for q, k, d, before, moved, dtype in (
        (3, 4, 5, 0, 0.0, None),
        (3, 2, 4, 5, 0.0, None),
        (4, 4, 4, 3, 2.0, None),
        (2, 5, 3, 4, -3.0, None),
        (1, 3, 2, 2, 1.0, None),
        (4, 1, 3, 6, 0.0, None),
        (3, 3, 2, 4, 800.0, torch.float64),
        (2, 4, 3, 0, 900.0, torch.float64),
    ):
        scores = 2 * torch.randn(q, k, generator=generator, dtype=dtype) + moved
        values = torch.randn(k, d, generator=generator, dtype=dtype)
        earlier = 2 * torch.randn(q, before, generator=generator, dtype=dtype)  # what was read, and is forgotten
        old_values = torch.randn(before, d, generator=generator, dtype=dtype)
        earlier = earlier + moved if moved > 100 else earlier
        largest = earlier.amax(-1, keepdim=True) if before else torch.full_like(scores[:, :1], -math.inf)
        exponentials = torch.exp(earlier - largest)
        yield scores, values, largest, exponentials.sum(-1, keepdim=True), exponentials @ old_values


def edges_of_reading_blocks(generator):
    scores, values = torch.randn(66, 70, generator=generator), torch.randn(70, 67, generator=generator)
    kept = torch.randn(66, 1, generator=generator), 1 + torch.rand(66, 1, generator=generator)
    yield "66 queries, 70 keys", (scores, values, *kept, torch.randn(66, 67, generator=generator))
    low = scores[:2, :3] - 2e4, values[:3], torch.full((2, 1), -math.inf), torch.zeros(2, 1), torch.zeros(2, 67)
    yield "scores near -20,000", low


@exercise(
    draws=draw_blocks,
    edges=edges_of_reading_blocks,
    hints=[
        "Two exponentials can be added if both are relative to the same number. Relative to what is the sum so far, "
        "and relative to what should the new one be? What happens to it if the new block has a larger score?",
        "The new largest score is the maximum of the old one and of this block's, for each query. Sums that are "
        "relative to the old one have to be multiplied by exp(old - new), which is at most 1.",
        "Call the new largest score `now`, (q, 1). Multiply total and mixture by torch.exp(largest - now). Then add the "
        "sum of torch.exp(scores - now) to total, and its product with the values to mixture. torch.maximum compares "
        "entry by entry.",
    ],
    intermediates={
        "the mixture, divided by the sum already: that should be done once, after the last block": (
            lambda scores, values, largest, total, mixture: mixture / total.clamp(min=1e-30)
        ),
        "the block's own attention: are the blocks before it in it?": (
            lambda scores, values, largest, total, mixture: torch.softmax(scores, dim=-1) @ values
        ),
        "(q,): the axis of length 1 is missing. keepdim=True keeps it": (
            lambda scores, values, largest, total, mixture: scores.amax(-1)
        ),
        "(q, k), one number per key: what is kept should not grow with the number of keys": (
            lambda scores, values, largest, total, mixture: scores
        ),
    },
    question={
        r"max|sum": "largest and total are (q, 1): does this line keep an axis of length 1, with keepdim=True?",
        "@|einsum|matmul": "(q, k) should be multiplied by the values (k, d): are the keys the axis in the middle?",
        "": "scores is (q, k), values (k, d), largest and total (q, 1), mixture (q, d): which axes meet in this line?",
    },
    level=3,
    minutes=9,
)
def read_block(scores, values, largest, total, mixture):
    """A block of finite scores (q, k) and values (k, d), after others: returns largest, total, mixture.

    Three things are kept for each query: largest (q, 1), the largest score so far; total (q, 1), the sum of
    exp(score - largest); and mixture (q, d), the sum of exp(score - largest) times the value. Before the first
    block they are -inf, 0 and 0. Nothing is divided yet.
    """
    now = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))  # (q, 1)
    shrinks, new = torch.exp(largest - now), torch.exp(scores - now)  # (q, 1), (q, k)
    total = total * shrinks + new.sum(dim=-1, keepdim=True)  # (q, 1)
    return now, total, mixture * shrinks + new @ values
