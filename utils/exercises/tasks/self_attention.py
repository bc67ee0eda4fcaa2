"""Exercises of the notebook on self-attention: attention for all tokens, the same as a layer that can be trained, W_q with
W_k, and what each key makes of the output."""

import math

import torch
from torch import nn

from ...judge.exercise import exercise
from .single_token_attention import attend  # noqa: F401 (rows use attend)


def draw_projections(generator):
    """A sentence, a batch, a batch of batches; all sizes equal; n, v and b of 1; float64, and scores too large for exp."""
    sizes = (((5, 8), 4, 6, None), ((4, 4), 4, 4, None), ((2, 5, 8), 4, 3, None), ((3, 3, 3), 3, 3, None))
    sizes += (((2, 1, 6), 4, 1, None), ((1, 3, 6), 4, 5, torch.float64), ((2, 3, 4, 6), 4, 3, None))
    for shape, e, v, dtype in sizes:
        d = shape[-1]
        X = torch.randn(shape, generator=generator, dtype=dtype)
        W_q, W_k, W_v = (torch.randn(d, width, generator=generator, dtype=dtype) / math.sqrt(d) for width in (e, e, v))
        yield X, 2 * W_q, W_k, W_v
    yield X[0, 0].double(), 2000 * W_q.double(), W_k.double(), W_v.double()


def edges_of_self_attention(generator):
    X, W_v = torch.randn(70, 66, generator=generator), torch.randn(66, 68, generator=generator)
    W_q, W_k = torch.randn(2, 66, 67, generator=generator) / 8
    yield "70 tokens", (X, W_q, W_k, W_v)
    X = torch.randn(66, 2, 3, generator=generator)
    yield "66 sentences", (X, *torch.randn(3, 3, 4, generator=generator))
    X = torch.randn(5, 3, generator=generator)
    yield "numbers in float64", (X.double(), *torch.randn(3, 3, 5, generator=generator).double())


@exercise(
    draws=draw_projections,
    edges=edges_of_self_attention,
    hints=[
        "There are five steps: project three times, score, scale, softmax, weighted sum. What is the shape after each step?",
        "The scores are (…, n, n), one row per query. The last two axes of K should be exchanged: what does .T do to a tensor with three axes?",
        "K.transpose(-2, -1) exchanges the last two axes of any shape. The softmax runs over the keys, dim=-1. The weights are multiplied with the projected values.",
    ],
    intermediates={
        "the weights: did you forget the values?": lambda X, W_q, W_k, W_v: X @ X.mT,
        "X: are the values projected with W_v, and is the output not projected once more?": lambda X, W_q, W_k, W_v: X,
        "the queries and keys: are the values projected with W_v?": lambda X, W_q, W_k, W_v: X @ W_q,
    },
    question={
        "W_[qkv]": "X is (…, n, d), and the matrices are (d, e) and (d, v): which axes meet in this product?",
        "": "Queries and keys are (…, n, e), values (…, n, v), weights (…, n, n): which axes meet in this line?",
    },
    level=3,
    minutes=15,
)
def self_attention(X, W_q, W_k, W_v):
    """Self-attention of X (…, n, d) with W_q and W_k (d, e) and W_v (d, v): returns (…, n, v)."""
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    scores = Q @ K.transpose(-2, -1) / math.sqrt(K.shape[-1])  # (…, n, n)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V


def draw_layers(generator):
    """A sentence, a batch, a batch of batches; all sizes equal; n = 1 and e = 1; float64, and scores too large for exp."""
    sizes = ((6, 4, (5,), None), (4, 4, (4,), None), (6, 3, (2, 5), None), (3, 5, (2, 4), torch.float64))
    sizes += ((3, 3, (3, 3), None), (5, 1, (1,), None), (5, 2, (7, 3, 4), None))
    for d_model, d_head, shape, dtype in sizes:
        yield d_model, d_head, torch.randn(*shape, d_model, generator=generator, dtype=dtype)
    yield 5, 4, 500 * torch.randn(2, 6, 5, generator=generator, dtype=torch.float64)


def edges_of_layers(generator):
    yield "70 tokens", (66, 68, torch.randn(70, 66, generator=generator) / 8)
    yield "66 sentences", (3, 2, torch.randn(66, 4, 3, generator=generator))


@exercise(
    draws=draw_layers,
    edges=edges_of_layers,
    hints=[
        "The layer keeps three matrices, W_q, W_k and W_v. Which method should make them, and which should use them?",
        "In __init__: self.W_q = nn.Linear(d_model, d_head, bias=False), and so on. In forward, self.W_q(X) is X W_q.",
        "forward does the same as your self_attention, with self.W_q(X) instead of X @ W_q. It returns two things: first weights @ V, then the weights.",
    ],
    question="Queries, keys and values are (…, n, e), weights (…, n, n): which axes meet in this line?",
    level=2,
    minutes=12,
    trained=True,
)
class SelfAttention(nn.Module):
    """One head of self-attention over X (…, n, d): returns the output (…, n, e) and the weights (…, n, n)."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_head, bias=False)
        self.W_k = nn.Linear(d_model, d_head, bias=False)
        self.W_v = nn.Linear(d_model, d_head, bias=False)

    def forward(self, X):
        Q, K, V = self.W_q(X), self.W_k(X), self.W_v(X)  # (…, n, e)
        weights = torch.softmax(Q @ K.mT / math.sqrt(K.shape[-1]), dim=-1)  # (…, n, n)
        return weights @ V, weights


def draw_query_key_matrices(generator):
    """e below d, above it, equal to it; e = 1, d = 1; float64 once."""
    for d, e, dtype in ((6, 3, None), (3, 5, None), (4, 4, None), (5, 1, None), (1, 2, None), (8, 4, torch.float64)):
        W_q = torch.randn(d, e, generator=generator, dtype=dtype)
        yield W_q, torch.randn(d, e, generator=generator, dtype=dtype)


def edges_of_matrices(generator):
    yield "matrices of 66 rows and 70 columns", tuple(torch.randn(2, 66, 70, generator=generator))


@exercise(
    draws=draw_query_key_matrices,
    edges=edges_of_matrices,
    hints=[
        "Replace Q and K in Q @ K.T by X @ W_q and X @ W_k: what is then between X and X.T?",
        "Transposing a product reverses the order of its factors: (X @ W_k).T = W_k.T @ X.T.",
        "Q @ K.T = (X @ W_q) @ (W_k.T @ X.T). The two matrices in the middle are W, in this order.",
    ],
    intermediates={"W_q.T @ W_k, (e, e). W is between X and X.T, so it should be (d, d)": lambda W_q, W_k: W_q.T @ W_k},
    question="W_q and W_k are both (d, e), and W is (d, d): which axis should vanish?",
    level=2,
    minutes=5,
)
def merge_query_key(W_q, W_k):
    """The matrix W (d, d) with Q @ K.T = X @ W @ X.T, for W_q and W_k (d, e): returns (d, d)."""
    return W_q @ W_k.T


def draw_weights_and_values(generator):
    """k, q, v and b all differ; all equal once; one query, one key, v = 1; float64; a weight of 0."""
    for (*batch, q), k, v, dtype in (
        ((5,), 4, 3, None), ((4,), 4, 4, None), ((2, 5), 4, 6, None), ((1,), 6, 3, None), ((3,), 1, 5, None),
        ((2, 3), 4, 2, None), ((3, 2, 4), 5, 6, torch.float64),
    ):  # fmt: skip
        scores = 2 * torch.randn(*batch, q, k, generator=generator, dtype=dtype)
        yield torch.softmax(scores, -1), 1 + torch.randn(*batch, k, v, generator=generator, dtype=dtype)
    hidden = scores.masked_fill(torch.arange(5) == 1, -math.inf)
    yield torch.softmax(hidden, -1), 1 + torch.randn(3, 2, 5, 6, generator=generator, dtype=torch.float64)


def edges_of_shares(generator):
    weights = torch.randn(2, 3, generator=generator).softmax(-1)
    yield "values near 0.0001", (weights, 1e-4 * torch.randn(3, 4, generator=generator))
    weights = torch.randn(66, 70, generator=generator).softmax(-1)
    yield "70 keys and 66 queries", (weights, 1 + torch.randn(70, 67, generator=generator))
    weights = torch.randn(66, 2, 3, generator=generator).softmax(-1)
    yield "66 sentences", (weights, 1 + torch.randn(66, 3, 2, generator=generator))


@exercise(
    draws=draw_weights_and_values,
    edges=edges_of_shares,
    hints=[
        "The output z is a sum with one term for each key: its weight times its value. How far does one term reach in the direction of z?",
        "z · z is the sum of (a_j v_j) · z over all keys j. So the share of key j is (a_j v_j) · z / (z · z).",
        "z = weights @ values is (…, q, v). The products v_j · z of all queries and keys are z @ values.mT, (…, q, k). Multiply them by the weights, and divide by z · z of each query (with keepdim).",
    ],
    intermediates={
        "the outputs z: return the share of each key instead, (…, q, k)": lambda weights, values: weights @ values,
        "the weights themselves: the values should matter, too": lambda weights, values: weights,
        "the products of z and the values: multiply them by the weights, and divide by z · z": lambda weights, values: (
            weights @ values @ values.mT
        ),
    },
    question="Weights are (…, q, k), values (…, k, v), outputs (…, q, v), shares (…, q, k): which axes meet in this line?",
    level=2,
    minutes=7,
)
def share_of_output(weights, values):
    """What part of its output each query owes to each key, weights (…, q, k), values (…, k, v): returns (…, q, k)."""
    output = weights @ values
    along = output @ values.mT  # (…, q, k), each value's product with each output
    return weights * along / (output * output).sum(-1, keepdim=True)
