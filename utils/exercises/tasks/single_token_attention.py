"""Exercises of the notebook on a single token: one-hot look-up, softmax and its slopes, scores, attention for one token."""

import math

import torch

from ...judge.exercise import exercise


def draw_token_ids(generator):
    """Ids that repeat, the first and last of the vocabulary among them; a sentence of one token; n = v; any."""
    yield torch.tensor([2, 6, 8, 3, 1]), 10
    yield torch.tensor([0, 3, 1, 3]), 6
    yield torch.tensor([1]), 3
    yield torch.tensor([3, 0, 3, 1]), 4
    for n, v in ((3, 7), (5, 8)):
        yield torch.randint(v, (n,), generator=generator), v


def edges_of_token_ids(generator):
    yield "70 tokens of a vocabulary of 140", (torch.randint(140, (70,), generator=generator), 140)


@exercise(
    draws=draw_token_ids,
    edges=edges_of_token_ids,
    hints=[
        "How many rows does the result have, and how many columns? How many ones does each row have?",
        "Start from torch.zeros(n, v). For token i of the sentence, which single entry should become 1?",
        "Row i gets its 1 in column token_ids[i]. Set it in a loop, or pick the right rows of an identity matrix, torch.eye(v).",
    ],
    intermediates={
        "the token ids: each of them should get a row of its own": lambda token_ids, vocabulary_size: token_ids
    },
    question="The result is (n, v): one row for each of the n tokens, one column for each of the v words. Does your index choose a row or a column, and is it below n or below v?",
)
def one_hot(token_ids, vocabulary_size):
    """One row for each token id (n,), 1 in the column of the id and 0 elsewhere: returns floats (n, v)."""
    return torch.eye(vocabulary_size)[token_ids]


def draw_scores(generator):
    """One, two and three axes, a square, single scores; ±1000, in one row and from row to row; float64 once."""
    for shape in ((5,), (4, 4), (2, 3, 4), (3, 1)):
        yield (2 * torch.randn(shape, generator=generator),)
    yield (1000 + 2 * torch.randn(4, generator=generator),)
    yield (torch.tensor([1000.0, 0.0, -1000.0, 999.0]) + torch.rand(4, generator=generator),)
    yield (torch.tensor([[1000.0], [-1000.0]]) + torch.randn(2, 3, generator=generator),)
    yield (torch.randn(3, 3, 5, generator=generator, dtype=torch.float64),)


def edges_of_softmax(generator):
    yield "a score of -∞, whose weight is 0", (torch.tensor([0.5, -math.inf, 1.0, 0.0]),)
    yield "a score of 1,000 between two of -1,000", (torch.tensor([-1000.0, 1000.0, 999.0, -1000.0]),)
    yield "scores near -1,000", (torch.tensor([-1000.0, -1001.0, -999.5]),)
    yield "scores with four axes", (torch.randn(2, 3, 4, 5, generator=generator),)
    yield "70 scores in a row", (torch.randn(66, 70, generator=generator),)


@exercise(
    draws=draw_scores,
    edges=edges_of_softmax,
    hints=[
        "Which function makes any number positive and keeps the order? And what do you divide by, so that a row sums to 1?",
        "Along which axis does a row run? Sum over this axis, and keep it with keepdim=True, so that the division works for any shape.",
        "exp(1000) is infinite. But you may subtract the same number from all the scores of a row, and the weights stay the same. After subtracting the maximum, .amax(dim=-1, keepdim=True), no power is larger than exp(0) = 1.",
    ],
    intermediates={"one number per row: did you forget to divide something by it?": lambda scores: scores.sum(-1)},
    question="Does a sum or a maximum lose an axis? keepdim=True keeps it, and dim=-1 is the last axis of any shape.",
    level=2,
    minutes=10,
)
def softmax(scores):
    """Positive weights that sum to 1 over the last axis, for scores (…, k), large ones included: returns (…, k)."""
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    powers = torch.exp(shifted)
    return powers / powers.sum(dim=-1, keepdim=True)


def draw_weights(generator):
    """The first, the last and one between; two weights, one weight alone, a weight of nearly 1, float64 once."""
    for k, wanted, size, dtype in (
        (4, 1, 1, None),
        (5, 0, 1, None),
        (3, 2, 1, None),
        (2, 1, 1, None),
        (1, 0, 1, None),
        (6, 3, 3, None),
        (5, 4, 1, torch.float64),
    ):
        yield torch.softmax(size * torch.randn(k, generator=generator, dtype=dtype), dim=-1), wanted


def edges_of_weights(generator):
    yield "a weight of 0 among others", (torch.tensor([0.25, 0.0, 0.75]), 2)
    yield "two equal weights", (torch.tensor([0.25, 0.25, 0.5]), 1)
    yield "a wanted weight of 0", (torch.tensor([0.5, 0.5, 0.0]), 2)
    yield "70 weights", (torch.softmax(torch.randn(70, generator=generator), dim=-1), 69)


@exercise(
    draws=draw_weights,
    edges=edges_of_weights,
    hints=[
        "The quotient rule: (f / Z)′ = (f′ Z − f Z′) / Z². Which of f and Z depend on the score s_b itself?",
        "f′ and Z′ are both exp(s_b), so the slope is (exp(s_b) Z − exp(s_b) exp(s_b)) / Z². Since a_b = exp(s_b) / Z, what is this in terms of a_b?",
        "For every other score j the slope is -weights[wanted] * weights[j]. For its own score it is weights[wanted] * (1 - weights[wanted]).",
    ],
    intermediates={
        "a single number: each of the k scores should have a slope of its own": lambda weights, wanted: weights[wanted]
    },
    question="There is one slope for each of the k scores. Which of the weights belongs to slope j?",
    level=2,
    minutes=8,
)
def softmax_slopes(weights, wanted):
    """How much the weight number `wanted` grows with each of the scores, for weights (k,): returns (k,)."""
    own = torch.arange(len(weights)) == wanted
    return weights[wanted] * (own.float() - weights)


def draw_query_and_keys(generator):
    """e = 8 with five keys, k = e once, a single key, many keys, e = 1, and float64."""
    for k, e, dtype in ((5, 8, None), (4, 4, None), (1, 6, None), (12, 3, None), (3, 1, None), (7, 16, torch.float64)):
        query = torch.randn(e, generator=generator, dtype=dtype)
        yield query, torch.randn(k, e, generator=generator, dtype=dtype)


def edges_of_scores(generator):
    yield "70 keys of 66 entries", (torch.randn(66, generator=generator), torch.randn(70, 66, generator=generator))
    query = torch.randn(3, generator=generator, dtype=torch.float64)
    yield "numbers in float64", (query, torch.randn(2, 3, generator=generator, dtype=torch.float64))


@exercise(
    draws=draw_query_and_keys,
    edges=edges_of_scores,
    hints=[
        "A score is the dot product of the query and one key. How many scores does one query get?",
        "A matrix product gives all of them at once. Its inner axes must both have length e: which factor comes first, the query or the keys?",
        "e is the length of the last axis of keys: keys.shape[-1]. Divide the dot products by its square root.",
    ],
    intermediates={"the query: the sum should run over e, not over the keys": lambda query, keys: query},
    question="Which axis of keys has length e?",
)
def attention_scores(query, keys):
    """Scaled scores of one query (e,) against every key (k, e): returns (k,)."""
    return keys @ query / math.sqrt(keys.shape[-1])


def draw_query_keys_values(generator):
    """v ≠ e, all equal once, a single key, v = 1; float64, and once scores too large for exp."""
    sizes = ((5, 8, 6, None), (4, 4, 4, None), (1, 5, 3, None), (9, 2, 5, None), (3, 4, 1, None))
    for k, e, v, dtype in (*sizes, (6, 16, 3, torch.float64)):
        query = 1.5 * torch.randn(e, generator=generator, dtype=dtype)
        keys = torch.randn(k, e, generator=generator, dtype=dtype)
        yield query, keys, torch.randn(k, v, generator=generator, dtype=dtype)
    yield 1000 * query, keys, torch.randn(k, v, generator=generator, dtype=dtype)


def edges_of_attention(generator):
    query, keys = torch.randn(66, generator=generator), torch.randn(70, 66, generator=generator)
    yield "70 keys of 66 entries", (query, keys, torch.randn(70, 67, generator=generator))
    yield "numbers in float64", (query[:3].double(), keys[:4, :3].double(), keys[:4, :2].double())


@exercise(
    draws=draw_query_keys_values,
    edges=edges_of_attention,
    hints=[
        "There are three steps: scores, weights, weighted sum. Which of them have you written before?",
        "A softmax turns the scores (k,) into weights (k,), which are positive and sum to 1. What should be multiplied by the weights?",
        "scores = keys @ query, divided by √d_k; weights = the softmax of the scores; then the weighted sum of the rows of values.",
    ],
    intermediates={
        "the weights: did you forget the values?": lambda query, keys, values: keys @ query,
        "the weighted rows: did you forget to add them up?": lambda query, keys, values: values,
        "a key: the weighted sum should be one of values": lambda query, keys, values: query,
    },
    question={
        "value": "values (k, v) has one row for each key: which axis has length k, as the weights do?",
        "key|query": "Which axis of keys has length e?",
    },
    level=2,
    minutes=10,
)
def attend(query, keys, values):
    """Attention of one query (e,) over keys (k, e) and values (k, v): returns the output (v,)."""
    scores = keys @ query / math.sqrt(keys.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ values
