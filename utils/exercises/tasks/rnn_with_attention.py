"""Exercises of the notebook on RNNs with attention: contexts, scores, a step of a decoder, a mask that does nothing, the
alignment error rate, a rival that counts, a hidden word."""

import math

import torch

from ...judge.exercise import exercise
from .masking import LOW_SCORES


def draw_weights_and_states(generator):
    """q ≠ k ≠ d, q = k, k = d, q = d, b = q = k = d; one sentence of one step; padding of weight 0; float64."""
    for b, q, k, d in (
        (2, 3, 4, 5),
        (2, 4, 4, 3),
        (3, 2, 4, 4),
        (2, 3, 5, 3),
        (3, 3, 3, 3),
        (1, 1, 4, 2),
        (2, 3, 3, 4),
    ):
        dtype = torch.float64 if (q, d) == (3, 4) else torch.float32
        scores = 2 * torch.randn(b, q, k, generator=generator, dtype=dtype)
        scores[0, :, k - 1] = -math.inf
        yield torch.softmax(scores, -1), torch.randn(b, k, d, generator=generator, dtype=dtype)


def edges_of_contexts(generator):
    weights = torch.randn(2, 66, 70, generator=generator).softmax(-1)
    yield "70 states and 66 steps", (weights, torch.randn(2, 70, 67, generator=generator))
    weights = torch.randn(66, 2, 3, generator=generator).softmax(-1)
    yield "66 sentences", (weights, torch.randn(66, 3, 2, generator=generator))


@exercise(
    draws=draw_weights_and_states,
    edges=edges_of_contexts,
    hints=[
        "One decoder step has k weights, one for each encoder state. How do you make one vector of the k states?",
        "Multiply each state by its weight, then add up. In einsum, weights is bqk and states is bkd: which letters stay after the arrow?",
        "The shared axis k is the last of weights and the second to last of states: a matrix product sums over these two axes.",
    ],
    intermediates={
        "the products, (b, q, k, d), before k is summed": lambda w, s: w[..., None] * s[:, None],
        "the weights: did you add up the states with them?": lambda w, s: w,
        "the states: is there one vector for each decoder step?": lambda w, s: s,
        "one vector per sentence, (b, d): each decoder step should have its own": lambda w, s: s[:, 0],
        "(b, d, q): the last two axes should be exchanged": lambda w, s: (w @ s).mT,
        "(b, b, q, d): the weights of a sentence should meet the states of the same sentence only": lambda w, s: (
            w @ s[:, None]
        ),
        "(b, q, b, d): the weights of a sentence should meet the states of the same sentence only": lambda w, s: (
            torch.tensordot(w, s, ([2], [1]))
        ),
        "(q·b, d): torch.cat puts the steps below one another, torch.stack gives them an axis": (
            lambda w, s: (w @ s).transpose(0, 1).flatten(0, 1)
        ),
        "(b, q·d): torch.cat puts the steps side by side, torch.stack gives them an axis": lambda w, s: (w @ s).flatten(
            1
        ),
        "(q, d): does each sentence keep its own contexts?": lambda w, s: w[0] @ s[0],
        "(d, q): einsum without an arrow sums over every letter that occurs twice, the batch as well": lambda w, s: (
            (w[0] @ s[0]).T
        ),
    },
    question={
        "einsum": "weights is bqk, states bkd: does your string have as many letters as each tensor has axes, and is a letter the same length in both?",
        r"\.T\b|\.mT|transpose|permute": "The axis k is the last of weights (b, q, k) and the second to last of states "
        "(b, k, d): they should be multiplied as they are, without a transpose.",
        "": "weights is (b, q, k), states is (b, k, d), and they share the axis k. Which axes meet in this line?",
    },
    minutes=4,
    trained=True,
)
def context_vector(weights, states):
    """Encoder states (b, k, d), summed by each step's weights (b, q, k): returns (b, q, d)."""
    return weights @ states


def draw_queries_and_keys(generator):
    """All sizes different; q = k; d_q = d_k = d; b = q = k = d; one sentence, one query, one key; b = q; float64."""
    for (b, q, k, d_q, d_k, d), dtype in (
        ((2, 3, 4, 5, 6, 7), None),
        ((2, 4, 4, 3, 2, 5), None),
        ((2, 3, 5, 4, 4, 4), None),
        ((3, 3, 3, 3, 3, 3), None),
        ((1, 1, 4, 2, 3, 5), None),
        ((2, 4, 1, 3, 5, 2), None),
        ((3, 3, 2, 2, 4, 3), torch.float64),
    ):
        shapes = (b, q, d_q), (b, k, d_k), (d_q, d), (d_k, d), (d,)
        yield tuple(torch.randn(*shape, generator=generator, dtype=dtype) for shape in shapes)


def edges_of_additive_scores(generator):
    query, keys = torch.tensor([[[1.0], [-1.0]]]), torch.tensor([[[1.0], [0.0], [-1.0]]])
    yield "sums of 200 and -200 (exp(200) is infinite in float32)", (
        query, keys, torch.full((1, 2), 150.0), torch.full((1, 2), 50.0), torch.tensor([1.0, 2.0]),
    )  # fmt: skip
    for name, (b, q, k, d_q, d_k, d) in (
        ("66 queries and 70 keys", (1, 66, 70, 2, 3, 2)),
        ("66 sentences, and vectors of 67 numbers and more", (66, 2, 1, 67, 68, 69)),
    ):
        shapes = (b, q, d_q), (b, k, d_k), (d_q, d), (d_k, d), (d,)
        yield name, tuple(torch.randn(*shape, generator=generator) / shape[-1] ** 0.5 for shape in shapes)


@exercise(
    draws=draw_queries_and_keys,
    edges=edges_of_additive_scores,
    hints=[
        "Start with one query and one key. Each is multiplied by its own matrix, and then both have the same length. "
        "How are they combined, and what makes one number of the result?",
        "After the projection, the queries are (b, q, d) and the keys (b, k, d). Every query should meet every key: "
        "(b, q, k, d). None as an index gives each of them the missing axis, of length 1, and the sum broadcasts.",
        "Queries with the index [:, :, None] are (b, q, 1, d), keys with [:, None] are (b, 1, k, d). Add them, apply "
        "tanh, and multiply by w with @, which sums over the last axis.",
    ],
    intermediates={
        "the pairs, (b, q, k, d): w should make one number of each": lambda query, keys, W_q, W_k, w: (
            (query @ W_q)[:, :, None] + (keys @ W_k)[:, None]
        ),
        "(b, k, q): queries and keys should be exchanged": lambda query, keys, W_q, W_k, w: query.new_zeros(
            len(query), keys.shape[1], query.shape[1]
        ),
        "(b, q, k, 1): the last axis, of length 1, should not be there": lambda query, keys, W_q, W_k, w: (
            query.new_zeros(*query.shape[:2], keys.shape[1], 1)
        ),
        "the projected queries, (b, q, d): did you add the keys?": lambda query, keys, W_q, W_k, w: query @ W_q,
        "the projected keys, (b, k, d): did you add the queries?": lambda query, keys, W_q, W_k, w: keys @ W_k,
        "(b, q): one number per query, but each query should have a score for every key": lambda query, keys, W_q, W_k, w: (
            query[..., 0]
        ),
        "(b, k): one number per key, but each query should have its own scores": lambda query, keys, W_q, W_k, w: keys[
            ..., 0
        ],
        "(q, k): does each sentence keep its own scores?": lambda query, keys, W_q, W_k, w: (
            query[0] @ query.new_zeros(query.shape[-1], keys.shape[1])
        ),
    },
    question={
        "einsum": "query is bqi, W_q id, keys bkj, W_k jd, w d: does your string have as many letters as each tensor has axes?",
        r"cat\(": "To be side by side, queries and keys need the same axes except for the last: (b, q, k, d_q) and "
        "(b, q, k, d_k), every query with every key. expand makes these axes.",
        r"\.T\b|\.mT|transpose|permute": "Vectors are rows: query and keys should be on the left of their matrices, "
        "and nothing should be transposed.",
        r"\bw\b": "w is (d,). Which axis of the tensor on its left has this length, and is it the last one?",
        r"\+": "(b, q, d) and (b, k, d) do not broadcast. Each needs an axis of length 1: (b, q, 1, d) and (b, 1, k, d).",
        "": "query is (b, q, d_q), W_q (d_q, d), keys (b, k, d_k), W_k (d_k, d), w (d,). Which axes meet in this line?",
    },
    level=2,
    minutes=8,
)
def additive_scores(query, keys, W_q, W_k, w):
    """Additive scores of all queries (b, q, d_q) for all keys (b, k, d_k): returns (b, q, k).

    W_q (d_q, d) and W_k (d_k, d) bring both to the same length; w (d,) makes one number of each pair.
    """
    queries = query @ W_q  # (b, q, d)
    projected = keys @ W_k  # (b, k, d)
    pairs = queries[:, :, None] + projected[:, None]  # (b, q, k, d)
    return torch.tanh(pairs) @ w


def draw_states_and_memories(generator):
    """All sizes different; k = d, d = v, b = k, b = k = d = v; one sentence; a single word in each; loud states behind
    the mask; scores too large for exp, and far below 0; float64."""
    for (b, k, d, v), rows, loud, dtype in (
        ((2, 4, 3, 6), [[1, 1, 1, 0], [1, 1, 1, 1]], 1, None),
        ((3, 3, 3, 3), [[1, 1, 0], [1, 0, 1], [1, 1, 1]], 1, None),
        ((2, 4, 4, 5), [[1, 1, 0, 0], [0, 1, 1, 1]], 4, None),
        ((1, 5, 2, 4), [[1, 1, 1, 0, 0]], 4, None),
        ((3, 1, 4, 2), [[1], [1], [1]], 1, None),
        ((4, 4, 3, 3), [[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 0]], 4, torch.float64),
    ):
        mask = torch.tensor(rows).bool()
        shapes = (b, d), (b, k, d), (2 * d, d), (d, v)
        state, M, W_c, W_y = (torch.randn(*shape, generator=generator, dtype=dtype) for shape in shapes)
        yield state, M * torch.where(mask, 1, loud)[..., None], mask, W_c / 2, W_y
    M = 60 * torch.randn(2, 3, 4, generator=generator)
    state = M[:, 0] / 2
    W_c, W_y = torch.randn(8, 4, generator=generator) / 100, torch.randn(4, 5, generator=generator)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    yield state, M, mask, W_c, W_y
    state, M, W_c, W_y = state.double(), M.double(), W_c.double(), W_y.double()
    low = -1e5 * state[:, None] / (state**2).sum(-1)[:, None, None]
    yield state, torch.where(mask[..., None], low, M), mask, W_c, W_y


def edges_of_attention_steps(generator):
    state, M, mask = torch.tensor([[1.0, -1.0]]), torch.tensor([[[0.5, 0.0], [0.0, 0.5]]]), torch.tensor([[True, True]])
    W_c = 200 * torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    yield "sums of 200 and -200 (exp(200) is infinite in float32)", (state, M, mask, W_c, torch.eye(2))
    state, M = torch.full((1, 2), 3e12).double(), torch.full((1, 3, 2), -3e12).double()
    mask = torch.tensor([[True, True, False]])
    W_c = 3e-13 * torch.randn(4, 2, generator=generator).double()
    yield LOW_SCORES, (
        state, torch.where(mask[..., None], M, 0.0), mask, W_c, torch.eye(2).double(),
    )  # fmt: skip
    for name, (b, k, d, v) in (("70 states", (1, 70, 66, 67)), ("66 sentences", (66, 3, 2, 4))):
        shapes = (b, d), (b, k, d), (2 * d, d), (d, v)
        state, M, W_c, W_y = (torch.randn(*shape, generator=generator) / d**0.5 for shape in shapes)
        yield name, (state, M, torch.arange(k) < torch.randint(1, k, (b, 1), generator=generator), W_c, W_y)


@exercise(
    draws=draw_states_and_memories,
    edges=edges_of_attention_steps,
    hints=[
        "You have written both parts before: the weights of a query, which are 0 for padding, and the weighted sum of "
        "the states. Here the score is a dot product, and the query is state. What comes after the context?",
        "Write five lines: scores (b, k), weights (b, k), context (b, d), context and state side by side (b, 2 d), logits "
        "(b, v). With einsum, the context is bk,bkd->bd.",
        "torch.cat([…, …], dim=-1) puts two tensors (b, d) side by side: which comes first? Then come W_c, tanh and W_y. "
        "There is no softmax at the end, because the function returns logits.",
    ],
    intermediates={
        "the weights, (b, k): did you add up the states M with them?": lambda state, M, mask, W_c, W_y: mask,
        "a state, (b, d): did you multiply by W_y?": lambda state, M, mask, W_c, W_y: state,
        "context and state side by side, (b, 2 d): did you multiply by W_c and W_y?": lambda state, M, mask, W_c, W_y: (
            torch.cat([state, state], -1)
        ),
        "(b, 1, v): the axis of length 1 should not be there": lambda state, M, mask, W_c, W_y: (state @ W_y)[:, None],
        "(b, k, v), one word for each position of the source: did you add up the states by their weights?": (
            lambda state, M, mask, W_c, W_y: M @ W_y
        ),
        "(v,): does each sentence keep its own logits?": lambda state, M, mask, W_c, W_y: (state @ W_y)[0],
        "one number per sentence, (b,): the function should return the logits of all words": (
            lambda state, M, mask, W_c, W_y: mask[:, 0]
        ),
    },
    question={
        r"cat\(": "torch.cat needs the same number of axes in each tensor: context (b, d) and state (b, d), side by side with dim=-1.",
        "einsum": "state is bd, M bkd, weights bk: does your string have as many letters as each tensor has axes, and is a letter always the same length?",
        r"\bW_c\b": "W_c is (2 d, d): on its left there should be context and state side by side, (b, 2 d).",
        r"\bW_y\b": "W_y is (d, v): on its left there should be (b, d), the result of W_c and tanh.",
        r"\bmask\b": "mask is (b, k). Do your scores have this shape as well?",
        "": "state is (b, d), M (b, k, d): the scores (b, k) are dot products over d, one for each k. Which axes meet in "
        "this line?",
    },
    level=3,
    minutes=10,
)
def attention_step(state, M, mask, W_c, W_y):
    """One step of a decoder with attention: returns logits (b, v) for the next word.

    state (b, d) is the query; M (b, k, d), the encoder's states; mask (b, k), True for words. The
    score is the dot product, not scaled. Context and state, side by side in this order, go through
    W_c (2 d, d) and tanh, then through the output matrix W_y (d, v). There is no bias.
    """
    scores = torch.einsum("bd,bkd->bk", state, M)
    weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
    context = torch.einsum("bk,bkd->bd", weights, M)
    both = torch.cat([context, state], dim=-1)  # (b, 2 d)
    return torch.tanh(both @ W_c) @ W_y


def draw_queries_and_memories(generator):
    """Padding behind, in front, none; q = k, d = k, b = q; one sentence; a single word; words that score far below
    padding; states of padding as loud as those of words, or 0, as packing leaves them; float64."""
    for (b, q, k, d), rows, loud, dtype in (
        ((2, 3, 4, 5), [[1, 1, 0, 0], [1, 1, 1, 1]], 1, None),
        ((2, 4, 4, 3), [[1, 1, 1, 0], [0, 1, 1, 1]], 0, None),
        ((3, 3, 3, 3), [[1, 0, 0], [1, 1, 0], [1, 1, 1]], 2, None),
        ((1, 2, 5, 5), [[1, 1, 1, 0, 0]], 0, torch.float64),
        ((2, 1, 3, 2), [[1, 1, 1], [1, 1, 1]], 1, None),
    ):
        mask = torch.tensor(rows).bool()
        query, M = (torch.randn(b, n, d, generator=generator, dtype=dtype) for n in (q, k))
        yield query, M * torch.where(mask, 1, loud)[..., None], mask
    query, mask = torch.randn(2, 1, 4, generator=generator).double(), torch.tensor([[1, 0, 1], [1, 1, 0]]).bool()
    yield query, torch.where(mask[..., None], -1e6 * query / (query**2).sum(-1, keepdim=True), 0.0), mask


def edges_of_looking_back(generator):
    query, mask = torch.full((1, 2, 2), 3e12).double(), torch.tensor([[True, True, False]])
    M = torch.where(mask[..., None], torch.tensor([[[-3e12, -3e12], [-3e12, -3e12], [0.0, 0.0]]]).double(), 0.0)
    yield LOW_SCORES, (query, M, mask)
    for name, (b, q, k, d) in (("70 states and 66 queries", (1, 66, 70, 67)), ("66 sentences", (66, 2, 3, 2))):
        query, M = (torch.randn(b, n, d, generator=generator) for n in (q, k))
        yield name, (query / d**0.5, M, torch.arange(k) < torch.randint(1, k, (b, 1), generator=generator))


@exercise(
    draws=draw_queries_and_memories,
    edges=edges_of_looking_back,
    hints=[
        "What does the cell below show about this code? Which line was meant to prevent that, and what does it do to "
        "`scores`?",
        "Print scores before and after the line with the mask. Does it contain any -∞?",
        "masked_fill returns a new tensor and does not change the old one, as most methods of a tensor. Where does its "
        "result go?",
    ],
    intermediates={"the weights: did you add up the states M with them?": lambda query, M, mask: query @ M.mT},
    question={
        r"\bmask\b": "mask is (b, k), scores is (b, q, k): the mask needs an axis of length 1 for q, mask[:, None].",
        "": "query is (b, q, d), M (b, k, d), scores (b, q, k). Which axes meet in this line?",
    },
    level=2,
    minutes=8,
)
def look_back(query, M, mask):
    """Contexts of queries (b, q, d) in states M (b, k, d), mask (b, k), True = word: returns (b, q, d)."""
    scores = query @ M.transpose(-2, -1)  # (b, q, k)
    scores = scores.masked_fill(~mask[:, None], -math.inf)
    weights = torch.softmax(scores, dim=-1)  # (b, q, k)
    return weights @ M


def draw_alignments(generator):
    """One pair to count by hand; several of different lengths; a random half; no sure links; no link in one sentence;
    sure = possible; no links; no hits; nothing at all."""
    yield [{(0, 0), (1, 2), (2, 2)}], [{(0, 0), (2, 1)}], [{(0, 0), (2, 1), (2, 2), (3, 1)}]
    yield (
        [{(0, 1), (1, 0)}, {(0, 0), (1, 1), (2, 3), (3, 2), (4, 5)}],
        [{(0, 1), (1, 2)}, {(0, 0), (2, 3), (3, 2)}],
        [{(0, 1), (1, 2), (2, 2)}, {(0, 0), (2, 3), (3, 2), (1, 1), (4, 4)}],
    )
    places = [(target, source) for target in range(5) for source in range(6)]
    links, sure, rest = (
        [{place for place in places if torch.rand((), generator=generator) < share} for _ in range(4)]
        for share in (0.25, 0.2, 0.2)
    )
    yield links, sure, [one | other for one, other in zip(sure, rest)]
    yield [{(0, 0), (1, 1), (2, 1)}, {(1, 0)}], [set(), set()], [{(0, 0), (1, 1)}, {(0, 1)}]
    yield (
        [{(0, 2), (1, 1)}, set(), {(2, 0), (1, 2), (0, 1), (3, 3)}, {(0, 0)}],
        [{(0, 2), (1, 1)}, {(0, 0), (1, 0)}, {(2, 0), (0, 1)}, set()],
        [{(0, 2), (1, 1), (1, 2)}, {(0, 0), (1, 0), (1, 1)}, {(2, 0), (0, 1), (1, 2), (2, 1)}, {(0, 0)}],
    )
    yield [{(0, 0), (1, 2)}, {(1, 0)}], [{(0, 0), (2, 1)}, {(1, 0)}], [{(0, 0), (2, 1)}, {(1, 0)}]
    yield [set(), set()], [{(0, 0)}, {(1, 0)}], [{(0, 0), (0, 1)}, {(1, 0)}]
    yield [{(0, 1)}, {(1, 2)}], [{(0, 0)}, {(1, 0)}], [{(0, 0), (1, 1)}, {(1, 0)}]
    yield [set(), set()], [set(), set()], [set(), set()]


def edges_of_alignments(generator):
    yield "positions above 9", ([{(0, 10), (1, 2)}], [{(1, 0), (1, 2)}], [{(1, 0), (1, 2), (0, 12)}])
    yield "positions above 99", ([{(0, 100), (1, 11)}], [{(1, 0), (11, 1)}], [{(1, 0), (11, 1)}])
    yield "70 sentences", (70 * [{(0, 0), (1, 2)}], 70 * [{(0, 0)}], 70 * [{(0, 0), (1, 1)}])


@exercise(
    draws=draw_alignments,
    edges=edges_of_alignments,
    hints=[
        "a & b is what two sets have in common. Which sets of one sentence do you have to compare, and in which pairs?",
        "In the numerator, a sure link that was found counts twice, and one that is only possible counts once. The "
        "denominator is the number of links plus the number of sure links.",
        "Go through the three lists together, with zip. Add up numerators and denominators over all sentences, divide "
        "once, and subtract from 1. If the denominator is 0, return 0.0.",
    ],
    intermediates={
        "one number per sentence: numerators and denominators should be added up over all sentences, then divided once": (
            lambda links, sure, possible: torch.zeros(len(links))
        ),
    },
    level=2,
    minutes=6,
)
def alignment_error_rate(links, sure, possible):
    """1 - (|A∩S| + |A∩P|) / (|A| + |S|) of links A, sure S, possible P: returns a number.

    Each argument is a list with one set of (target position, source position) per sentence; every
    sure link is also possible. The four counts are summed over all sentences before dividing.
    The rate is 0.0 if there are neither links nor sure links at all (Och and Ney 2003).
    """
    found = sum(len(a & s) + len(a & p) for a, s, p in zip(links, sure, possible))
    total = sum(len(a) + len(s) for a, s in zip(links, sure))
    return 1 - found / total if total else 0.0


def number(one, other=None):
    """Of links, in all sentences; with another list, of those that both have."""
    return sum(map(len, one)) if other is None else sum(len(a & b) for a, b in zip(one, other))


def draw_counts(generator):
    """More words of one language than of the other, either way; as many; one word; words that never meet, that are never
    apart; many sentences, in float64."""
    for t, s, sentences, dtype in (
        (3, 5, 20, None), (6, 2, 30, None), (4, 4, 12, None), (1, 3, 9, None), (5, 3, 8, None), (4, 6, 60_000, torch.float64),
    ):  # fmt: skip
        of_target, of_source = (torch.randint(1, sentences, (n,), generator=generator) for n in (t, s))
        most = torch.minimum(of_target[:, None], of_source)  # (t, s)
        together = (torch.rand(t, s, generator=generator) * (most + 1)).floor()
        together[0, 0], of_source[0] = of_target[0], of_target[0]
        together[-1, -1] = 0 if s > 1 else together[-1, -1]
        yield tuple(part.to(dtype or torch.float32) for part in (together, of_target, of_source))


def edges_of_counts(generator):
    of_target, of_source = (torch.randint(1, 9, (n,), generator=generator).float() for n in (70, 66))
    yield "70 and 66 words", (torch.minimum(of_target[:, None], of_source), of_target, of_source)
    whole = torch.tensor([[3, 0], [1, 4]]), torch.tensor([3, 5]), torch.tensor([4, 4])
    yield "counts as whole numbers", whole


@exercise(
    draws=draw_counts,
    edges=edges_of_counts,
    hints=[
        "Each cell of the table needs three numbers. Which two make the denominator, and what are their shapes?",
        "together is (t, s). The sum of of_target and of_source should be (t, s) as well, every target word with every "
        "source word. Which of the two needs an axis of length 1?",
        "of_target[:, None] is (t, 1); added to of_source, (s,), it broadcasts to (t, s). The numerator is twice together.",
    ],
    question="together is (t, s), of_target (t,), of_source (s,). Which axes meet in this line?",
    level=1,
    minutes=5,
)
def dice_table(together, of_target, of_source):
    """Dice coefficients from counts, together (t, s), of_target (t,) and of_source (s,) above 0: returns (t, s)."""
    return 2 * together / (of_target[:, None] + of_source)


def draw_weights_and_a_key(generator):
    """One row, a map, a batch of maps, the first, a middle and the last key, k = q, two keys, a weight of 0; float64."""
    for shape, hidden, dtype in (
        ((5,), 2, None), ((3, 4), 0, None), ((4, 4), 3, None), ((2, 3, 5), 1, None), ((2, 2), 1, None),
        ((2, 4, 6), 5, torch.float64),
    ):  # fmt: skip
        scores = 2 * torch.randn(*shape, generator=generator, dtype=dtype)
        if len(shape) > 2:
            scores[0, :, 0 if hidden else 1] = -math.inf
        yield scores.softmax(-1), hidden


def edges_of_hiding(generator):
    yield "70 keys", (torch.randn(3, 70, generator=generator).softmax(-1), 66)
    yield "66 rows", (torch.randn(66, 3, generator=generator).softmax(-1), 1)
    yield "66 sentences of 67 rows", (torch.randn(66, 67, 2, generator=generator).softmax(-1), 0)
    yield "a weight of 0 that is hidden", (torch.tensor([[0.25, 0.0, 0.75], [0.5, 0.0, 0.5]]), 1)


@exercise(
    draws=draw_weights_and_a_key,
    edges=edges_of_hiding,
    hints=[
        "The other weights keep their proportions. What do they sum to before, and what should they sum to?",
        "The hidden key gets 0. In each row, all the others are divided by one number. Which one is it, and which shape "
        "does it need to broadcast over (…, k)?",
        "weights[..., hidden : hidden + 1] keeps the axis, (…, 1). torch.arange(weights.shape[-1]) != hidden is a mask of "
        "the other keys.",
    ],
    question="weights is (…, k). It should be divided by something of the shape (…, 1), such as weights[..., hidden : hidden + 1].",
    level=1,
    minutes=4,
)
def hide_key(weights, hidden):
    """The weights (…, k) of a softmax that leaves out key number `hidden`, which had less than 1: returns (…, k)."""
    others = torch.arange(weights.shape[-1]) != hidden
    return weights * others / (1 - weights[..., hidden : hidden + 1])
