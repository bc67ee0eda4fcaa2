"""Exercises of the notebook on several heads: a head that fails, project per head, split, merge, combine, the layer,
and whether a story about a head holds."""

import math

import torch

from ...judge.exercise import exercise

EACH_READS_ALL = (
    "In your code each head gets a slice of X. It should read all d numbers of every token, through its own matrix: "
    "split the product into heads, not X."
)


FOUR = ["AA", "AB", "BA", "BB"]


def draw_cuts(generator):
    """Weights and cuts of which AA fails, by the first answer and by the second; AB; BA; BB, tried early; a share that is
    at a cut; weights that leave some attention elsewhere; equal weights. Eighths, and cuts between them, so that no sum
    is rounded."""
    yield from ((FOUR, 0.25, 0.25, 0.5625, 0.1875), (FOUR, 0.375, 0.125, 0.1875, 0.8125))
    yield from ((FOUR, 0.5, 0.25, 0.5625, 0.3125), (FOUR, 0.75, 0.25, 0.1875, 0.8125))
    yield from ((FOUR, 0.25, 0.75, 0.1875, 0.5625), (FOUR, 0.75, 0.25, 0.5625, 0.8125))
    yield from ((FOUR, 0.75, 0.25, 0.75, 0.875), (FOUR, 0.5, 0.5, 0.4375, 0.5625), (FOUR, 0.625, 0.25, 0.5625, 0.1875))
    yield from (
        ([*"BB AA BA AB".split()], 0.625, 0.25, 0.5625, 0.1875),
        (["BA", "AB", "BB"], 0.25, 0.625, 0.3125, 0.1875),
    )
    yield from ((["AB", "BB", "BA"], 0.75, 0.25, 0.5625, 0.8125), (["AB", "BA", "BB"], 0.25, 0.25, 0.5625, 0.1875))
    yield ["BB", "BA", "AB"], 0.5, 0.25, 0.1875, 0.1875
    a, b, *cuts = torch.randint(1, 8, (4,), generator=generator).tolist()
    yield FOUR, a / 16, b / 16, *(cut / 16 + 1 / 32 for cut in cuts)


def edges_of_cuts(generator):
    yield "70 pairs, of which the last fails", (["BB", "AB"] * 35 + ["BA"], 0.75, 0.25, 0.5625, 0.8125)


@exercise(
    draws=draw_cuts,
    edges=edges_of_cuts,
    level=2,
    minutes=7,
    hints=[
        "Take one pair after the other. What is the share of A in AB, if the weights are a and b? And in BA?",
        "For each pair: compute its share of A, compare it with both cuts, and write down the two answers. Are they the pair?",
        'The first place adds a * (pair[0] == "A") to the share. Return the first pair that differs from its answers.',
    ],
    question="Take the pair AB: which share of A does the head find there, and which two answers should it give?",
)
def find_failure(pairs, a, b, cut_1, cut_2):
    """The first of the pairs, such as "AB", that a head with weights a, b gets wrong (A is above a cut): returns it."""
    failed = []
    for pair in pairs:
        share = a * (pair[0] == "A") + b * (pair[1] == "A")
        answers = ("A" if share > cut_1 else "B") + ("A" if share > cut_2 else "B")
        if answers != pair:
            failed.append(pair)
    return failed[0]


def draw_inputs_and_head_matrices(generator):
    """Sizes that differ, h = n, e = d, all equal, a single head, a single token, and float64."""
    for n, d, h, e in (5, 8, 4, 2), (3, 6, 3, 4), (4, 5, 2, 5), (3, 3, 3, 3), (6, 4, 1, 2), (1, 4, 3, 5):
        yield torch.randn(n, d, generator=generator), torch.randn(h, d, e, generator=generator)
    yield tuple(torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((2, 6), (3, 6, 2)))


def edges_of_projections(generator):
    yield "70 tokens", (torch.randn(70, 66, generator=generator), torch.randn(2, 66, 67, generator=generator))
    yield "66 heads", (torch.randn(2, 4, generator=generator), torch.randn(66, 4, 3, generator=generator))


@exercise(
    draws=draw_inputs_and_head_matrices,
    edges=edges_of_projections,
    hints=[
        "What would you write for a single head, whose matrix is W[0]? What shape does it give, and how many of these "
        "do you need?",
        "In einsum, X has the axes nd and W the axes hde. Which letters should be after the arrow, and which one is summed?",
        "A letter that is missing after the arrow is summed: here d. Write the others in the order of (h, n, e).",
    ],
    intermediates={"a single head: there should be one for each of the h matrices": lambda X, W: X @ W[0]},
    question={
        r"\bX\.(unflatten|view|reshape|chunk|split)|split_heads\(X\b|X\[\.\.\., |X\[:, ": EACH_READS_ALL,
        "": "X is (n, d) and W is (h, d, e): which axes do you multiply with each other in this line, and are they equally "
        "long?",
    },
)
def project_per_head(X, W):
    """Project X (n, d) with each of the h matrices in W (h, d, e): returns (h, n, e)."""
    return torch.einsum("nd,hde->hne", X, W)


def draw_tokens_to_split(generator):
    """A sentence, a batch, two leading axes; n = h, n = h = e, n no multiple of h; a single head, e = 1, float64."""
    shapes = ((5, 8), 2), ((4, 8), 4), ((2, 4), 2), ((3, 5, 6), 3), ((5, 3, 4, 8), 2), ((2, 3, 4), 1), ((7, 5), 5)
    for shape, h in shapes:
        yield torch.randn(shape, generator=generator), h
    yield torch.randn(2, 6, 9, generator=generator, dtype=torch.float64), 3


def edges_of_splitting(generator):
    yield "whole numbers", (torch.arange(24).reshape(3, 8), 2)
    yield "sentences of a single token", (torch.randn(2, 1, 6, generator=generator), 3)
    yield "70 tokens and 66 heads", (torch.randn(70, 132, generator=generator), 66)
    yield "66 sentences, 70 numbers for a head", (torch.randn(66, 2, 140, generator=generator), 2)


@exercise(
    draws=draw_tokens_to_split,
    edges=edges_of_splitting,
    level=2,
    minutes=6,
    hints=[
        "One token has d numbers in a row. How many of them does each head get? Which go to the first head, which to the "
        "next?",
        "Split the last axis into h pieces of e numbers, so that the numbers of a token stay together. Which shape is that?",
        "Split it with unflatten, or with reshape(*projected.shape[:-1], …): (…, n, h, e). Then swap two axes, counted "
        "from the end.",
    ],
    intermediates={
        "(…, h, n, d): each head should get e numbers of a token, not all d": lambda projected, num_heads: torch.stack(
            [projected] * num_heads, -3
        )
    },
    question="The last axis, d = h · e, should become two, h and e, and all others should stay: what do the sizes in this line do?",
    trained=True,
)
def split_heads(projected, num_heads):
    """Give each head its d / h numbers of every token, projected (…, n, d): returns (…, h, n, e)."""
    per_token = projected.reshape(*projected.shape[:-1], num_heads, -1)  # (…, n, h, e)
    return per_token.transpose(-3, -2)


def draw_heads(generator):
    """One sentence, a batch, two leading axes; n = h, all equal; one head, one token, e = 1; float64."""
    shapes = (2, 5, 4), (4, 4, 2), (3, 3, 3), (2, 3, 4, 2), (4, 2, 3, 5, 2), (2, 1, 3, 4), (3, 1, 2), (5, 3, 1)
    yield from ((torch.randn(shape, generator=generator),) for shape in shapes)
    yield (torch.randn(3, 2, 6, 3, generator=generator, dtype=torch.float64),)


def edges_of_merging(generator):
    yield "whole numbers", (torch.arange(24).reshape(2, 3, 4),)
    yield "70 tokens and 66 heads", (torch.randn(66, 70, 2, generator=generator),)
    yield "66 sentences, 70 numbers from a head", (torch.randn(66, 2, 3, 70, generator=generator),)


@exercise(
    draws=draw_heads,
    edges=edges_of_merging,
    level=2,
    hints=[
        "A token's row should hold its e numbers from the first head, then those from the next: which axes should be next "
        "to each other?",
        "Undo split_heads: swap the two axes that it swapped, then join the two that it made of one.",
        "Swap h and n, axes -3 and -2, to get (…, n, h, e). Then join the last two: flatten(-2), or reshape.",
    ],
    intermediates={
        "(…, h·n, e): the heads of a token should be in one row, (…, n, h·e)": lambda heads: heads.flatten(-3, -2),
        "a single head: the heads should be side by side, not added, averaged or left out": lambda heads: heads.sum(-3),
    },
    question="The result should be (…, n, h·e): do the sizes in this line give this shape for any number of axes?",
    trained=True,
)
def merge_heads(heads):
    """Put the heads (…, h, n, e) side by side for each token, the inverse of split_heads: returns (…, n, h·e)."""
    per_token = heads.transpose(-3, -2)  # (…, n, h, e)
    return per_token.flatten(-2)


def draw_heads_and_blocks(generator):
    """One sentence, a batch, two leading axes; h = q, e = d, all equal; one head, one query, e = 1; float64."""
    shapes = (
        (2, 5, 4, 8),
        (3, 3, 2, 2),
        (3, 3, 3, 3),
        (2, 3, 4, 2, 6),
        (6, 2, 3, 5, 2, 4),
        (2, 1, 3, 4, 5),
        (4, 1, 1, 3),
    )
    for *front, h, q, e, d in shapes:
        yield torch.randn(*front, h, q, e, generator=generator), torch.randn(h, e, d, generator=generator)
    many = {"generator": generator, "dtype": torch.float64}
    yield torch.randn(3, 2, 6, 3, **many), torch.randn(2, 3, 5, **many)


def edges_of_combining(generator):
    yield "66 heads", (torch.randn(66, 3, 2, generator=generator), torch.randn(66, 2, 4, generator=generator))
    yield "70 queries", (torch.randn(2, 70, 66, generator=generator), torch.randn(2, 66, 67, generator=generator))
    yield "66 sentences", (torch.randn(66, 2, 3, 2, generator=generator), torch.randn(2, 2, 4, generator=generator))


@exercise(
    draws=draw_heads_and_blocks,
    edges=edges_of_combining,
    level=2,
    minutes=7,
    hints=[
        "What is the result of head i, whose Z is (q, e) and whose block is (e, d)? What should happen to the results of "
        "all heads?",
        "Each entry of the result is a sum over the heads and over the e numbers of Z. Which letters should be missing "
        "after ->?",
        "In einsum: three dots and three letters for heads, three letters for W_o; for the result three dots, q and d.",
    ],
    intermediates={
        "(…, h, q, d): the results of the heads should be added up": lambda heads, W_o: heads @ W_o,
        "the heads side by side, (…, q, h·e): they should be multiplied by W_o": lambda heads, W_o: heads.transpose(
            -3, -2
        ).flatten(-2),
    },
    question="heads is (…, h, q, e) and W_o is (h, e, d): which axes do you multiply with each other in this line?",
)
def combine_heads(heads, W_o):
    """The sum over the heads of Z_i (…, h, q, e) times its block of W_o (h, e, d): returns (…, q, d)."""
    return torch.einsum("...hqe,hed->...qd", heads, W_o)


def draw_layers(generator):
    """A sentence, a batch, two leading axes; n = h, n = h = e; one head; one token; e = 1; scores too large for a plain
    exp; float64 (√4 is exact in float32 as well)."""
    shapes = ((5, 8), 2), ((4, 8), 4), ((2, 4), 2), ((3, 2, 4, 8), 2), ((2, 4, 6), 1), ((1, 6), 2), ((2, 3, 4), 4)
    for shape, h in (*shapes, ((3, 5, 6), 3), ((2, 4, 8), 2)):
        X, d = torch.randn(shape, generator=generator, dtype=torch.float64), shape[-1]
        W_q, W_k, W_v, W_o = torch.randn(4, d, d, generator=generator, dtype=torch.float64) / math.sqrt(d)
        layer = (30 * X if h == 3 else X), 2 * W_q, 2 * W_k, W_v, W_o
        yield *(part if shape == (2, 4, 8) else part.float() for part in layer), h


def edges_of_layers(generator):
    X = torch.randn(70, 132, generator=generator)
    yield "70 tokens and 66 heads", (X, *torch.randn(4, 132, 132, generator=generator) / 11, 66)
    yield (
        "66 sentences",
        (torch.randn(66, 3, 4, generator=generator), *torch.randn(4, 4, 4, generator=generator) / 2, 2),
    )
    yield "numbers in float64", (X[:3, :6].double(), *torch.randn(4, 6, 6, generator=generator).double() / 3, 2)


@exercise(
    draws=draw_layers,
    edges=edges_of_layers,
    level=3,
    minutes=12,
    hints=[
        "Project, split, attend, merge, project: which of these have you written already? What shape does each step give?",
        "Split Q, K and V into (…, h, n, e). From there on, it is the attention that you know: @ treats the heads as a batch.",
        "Divide the scores by the root of d_k, Q.shape[-1] after the split. Softmax over the keys, dim=-1. Merge, then W_o.",
    ],
    intermediates={
        "the heads before they are merged": lambda X, *rest: split_heads(X, rest[-1]),
        "one head: before W_o the heads should be side by side, not added, averaged or left out": lambda X, *rest: (
            X.chunk(rest[-1], -1)[0]
        ),
        "(…, n, h·d): the results of the heads after W_o should be added up": lambda X, *rest: torch.cat(
            [X] * rest[-1], -1
        ),
    },
    question={
        r"\bX\.(unflatten|view|reshape|chunk|split)|split_heads\(X\b|X\[\.\.\., ": EACH_READS_ALL,
        r"\.T\b": "`.T` swaps all the axes, the heads among them. Swap only the last two: transpose(-2, -1).",
        r"(transpose|swapaxes)\(\d": "In a batch this is another axis. Count from the end: -2 and -1 for the last two "
        "of K, -3 and -2 for heads and tokens.",
        "W_o @|matmul\\(W_o": "Tokens are rows here, so a matrix should be to the right of what it projects.",
        "W_o": "W_o should get all heads side by side, (…, n, h·e). Added or averaged heads have e numbers only.",
        "unflatten|reshape|view": "The last axis, d = h · e, should become two, h and e: what do the sizes in this line do?",
        r"W_[qkv]": "X is (…, n, d) and the matrices are (d, d): which axes do you multiply with each other in this product?",
        "": "After the split, Q, K and V are (…, h, n, e) and the weights (…, h, n, n): which axes do you multiply here?",
    },
)
def multi_head_attention(X, W_q, W_k, W_v, W_o, num_heads):
    """Self-attention of X (…, n, d) in num_heads heads, each matrix (d, d), Q = X @ W_q: returns (…, n, d)."""
    per_head = (*X.shape[:-1], num_heads, -1)  # (…, n, h, e)
    Q, K, V = ((X @ W).reshape(per_head).transpose(-3, -2) for W in (W_q, W_k, W_v))  # (…, h, n, e)
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])  # (…, h, q, k)
    heads = torch.softmax(scores, dim=-1) @ V  # (…, h, q, e)
    concatenated = heads.transpose(-3, -2).flatten(-2)  # (…, q, h·e)
    return concatenated @ W_o


def draw_maps_and_keys(generator):
    """Maps of one head, of four, of a batch; as many queries as keys, and not; one query; the largest weight first and
    last in a row; float64."""
    for shape in (5, 5), (4, 5, 5), (2, 3, 4, 6), (3, 7), (2, 1, 4), (4, 4, 4):
        weights = torch.softmax(2 * torch.randn(shape, generator=generator, dtype=torch.float64), dim=-1)
        wanted = torch.randint(shape[-1], shape[-2:-1], generator=generator)
        wanted[::2] = weights.flatten(0, -3)[0].argmax(-1)[::2] if len(shape) > 2 else weights.argmax(-1)[::2]
        yield weights if shape == (4, 5, 5) else weights.float(), wanted


def edges_of_maps(generator):
    yield "70 queries and 66 keys", (torch.rand(70, 66, generator=generator), torch.arange(70) % 66)
    yield "66 heads", (torch.rand(66, 3, 4, generator=generator), torch.tensor([0, 3, 1]))


@exercise(
    draws=draw_maps_and_keys,
    edges=edges_of_maps,
    minutes=4,
    hints=[
        "One row of weights is one query. At which position is its largest weight?",
        "argmax over the keys, the last axis, gives a position for each query. What should you compare it with?",
        "argmax(-1) gives (…, q). Compare it with wanted, (q,), by ==: this gives the answers for all queries and heads.",
    ],
    intermediates={
        "the positions of the largest weights: they should be compared with wanted": lambda weights, wanted: (
            weights.argmax(-1)
        ),
        "the weights on the wanted keys: are they the largest of their rows?": lambda weights, wanted: weights[
            ..., torch.arange(len(wanted)), wanted
        ],
    },
    question="A row is one query: where is its largest weight, and is this the wanted key of the query?",
)
def story_holds(weights, wanted):
    """For each query: does its largest weight lie on the wanted key? weights (…, q, k), wanted (q,): returns (…, q)."""
    return weights.argmax(-1) == wanted
