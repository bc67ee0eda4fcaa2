"""Exercises of the notebook on self-attention: attention for all tokens, between two sequences, W_q with W_k, the forward
of a module with a learned query, and what each key makes of the output."""

import math

import torch
from torch import nn

from ..engine import exercise
from .single_token_attention import SCALE, WEIGHTS, attend  # noqa: F401 (rows use attend)


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
        "Five steps: project three times, score, scale, softmax, weighted sum. What shape comes out of each?",
        "The scores are (…, n, n), one row a query. K needs its last two axes exchanged: what does .T do to three?",
        "K.transpose(-2, -1) exchanges the last two axes of any shape; the softmax runs over the keys, dim=-1; and what is weighted are the projected values.",
    ],
    names={
        "the weights: did you forget the values?": lambda X, W_q, W_k, W_v: X @ X.mT,
        "X: are the values projected with W_v, and the outputs not once more?": lambda X, W_q, W_k, W_v: X,
        "the queries and keys: are the values projected with W_v?": lambda X, W_q, W_k, W_v: X @ W_q,
    },
    question={
        "W_[qkv]": "X is (…, n, d) and the matrices are (d, e) and (d, v): which axes meet in this product?",
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


self_attention.mistakes(SCALE.format(keys="K") + WEIGHTS.format(keys="K", values="V"))


def draw_two_sequences(generator):
    """n_q and n_k differ, widths differ; all equal once; one query, one key; batches; float64; scores too large for exp."""
    sizes = (((3,), 5, 6, 8, 4, 2, None), ((4,), 4, 4, 4, 4, 4, None), ((2, 3), 5, 6, 4, 3, 5, None))
    sizes += (
        ((1,), 6, 5, 3, 4, 1, None),
        ((4,), 1, 3, 5, 2, 3, None),
        ((3, 2), 3, 4, 5, 3, 2, None),
        ((6, 2, 3), 5, 3, 2, 4, 3, torch.float64),
    )
    for (*batch, q), k, wide, other, e, v, dtype in sizes:
        asking = torch.randn(*batch, q, wide, generator=generator, dtype=dtype)
        answering = torch.randn(*batch, k, other, generator=generator, dtype=dtype)
        widths = ((wide, e), (other, e), (other, v))
        W_q, W_k, W_v = (torch.randn(pair, generator=generator, dtype=dtype) / math.sqrt(pair[0]) for pair in widths)
        yield asking, answering, 2 * W_q, W_k, W_v
    yield asking, answering, 2000 * W_q, W_k, W_v


def edges_between(generator):
    asking, answering = torch.randn(66, 68, generator=generator), torch.randn(70, 65, generator=generator)
    W_q, W_k = (torch.randn(width, 69, generator=generator) / 8 for width in (68, 65))
    yield "70 keys and 66 queries", (asking, answering, W_q, W_k, torch.randn(65, 67, generator=generator))
    asking, answering = torch.randn(66, 2, 3, generator=generator), torch.randn(66, 4, 3, generator=generator)
    yield "66 sentences", (asking, answering, *torch.randn(3, 3, 4, generator=generator))
    matrices = torch.randn(3, 3, 5, generator=generator).double()
    yield "numbers in float64", (asking[0].double(), answering[0].double(), *matrices)


@exercise(
    draws=draw_two_sequences,
    edges=edges_between,
    hints=[
        "There is one output for each row of asking. Which of query, key and value has as many rows as the output?",
        "What is compared and what is handed over both belong to the sequence that is looked at. Which of the two inputs meets which matrix?",
        "Only the queries are made of asking. The scores are (…, q, k): a row for who asks, a column for who is asked; the softmax runs over the columns of each row.",
    ],
    names={
        "the weights: did you forget the values?": lambda asking, answering, *matrices: (
            asking @ matrices[0] @ (answering @ matrices[1]).mT
        ),
        "the values: a row for each key. There has to be a row for each query": lambda asking, answering, *matrices: (
            answering @ matrices[2]
        ),
        "the queries": lambda asking, answering, *matrices: asking @ matrices[0],
    },
    question={
        "W_[qkv]": "asking is as wide as W_q is tall, answering as W_k and W_v are: which of the two meets which matrix?",
        "": "Queries are (…, q, e), keys (…, k, e), values (…, k, v), weights (…, q, k): which axes meet in this line?",
    },
    level=2,
    minutes=8,
    trained=True,
)
def attention_between(asking, answering, W_q, W_k, W_v):
    """One output for each row of asking (…, q, d), made of answering (…, k, d): returns (…, q, v)."""
    Q, K, V = asking @ W_q, answering @ W_k, answering @ W_v
    scores = Q @ K.mT / math.sqrt(K.shape[-1])  # (…, q, k)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V


attention_between.mistakes(SCALE.format(keys="K") + WEIGHTS.format(keys="K", values="V"))


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
        "Write Q and K out in Q @ K.T: what stands between X and X.T?",
        "The transpose of a product turns its factors round: (X @ W_k).T = W_k.T @ X.T.",
        "Q @ K.T = (X @ W_q) @ (W_k.T @ X.T). The two matrices in the middle are W, in this order.",
    ],
    names={"W_q.T @ W_k, (e, e). W stands between X and X.T, so it has to be (d, d)": lambda W_q, W_k: W_q.T @ W_k},
    question="W_q and W_k are both (d, e), and W is (d, d): which axis has to vanish?",
    level=2,
    minutes=5,
)
def merge_query_key(W_q, W_k):
    """The matrix W (d, d) with Q @ K.T = X @ W @ X.T, for W_q and W_k (d, e): returns (d, d)."""
    return W_q @ W_k.T


class LearnedQuery(nn.Module):
    """What `pooling_forward` is the forward of: a query (e,), and projections for keys and values."""

    def __init__(self, d_model: int, d_head: int, d_value: int, generator: torch.Generator):
        super().__init__()
        self.query = nn.Parameter(torch.empty(d_head))
        self.W_k = nn.Linear(d_model, d_head, bias=False)
        self.W_v = nn.Linear(d_model, d_value, bias=False)
        for parameter in self.parameters():
            nn.init.normal_(parameter, generator=generator)


def draw_modules(generator):
    """A sentence, a batch, batches of batches; all sizes equal; n = 1 and v = 1; float64, and scores too large for exp."""
    sizes = (((5, 6), 4, 3), ((4, 4), 4, 4), ((2, 5, 6), 4, 3), ((3, 3, 3), 3, 3), ((1, 6), 3, 2), ((2, 4, 5), 2, 1))
    for shape, e, v in (*sizes, ((2, 3, 4, 5), 3, 2)):
        yield LearnedQuery(shape[-1], e, v, generator), torch.randn(shape, generator=generator)
    yield LearnedQuery(5, 4, 3, generator).double(), 500 * torch.randn(2, 6, 5, generator=generator).double()


class OneAndTheSame(LearnedQuery):
    """It is not copied, so that it brings along what forward has put into it."""

    def __deepcopy__(self, memo):
        return self


def edges_of_pooling(generator):
    module = OneAndTheSame(5, 4, 3, generator)
    yield "a first call", (module, torch.randn(3, 5, generator=generator))
    yield "the second call of one module, with another X", (module, torch.randn(3, 5, generator=generator))
    module = LearnedQuery(66, 68, 69, generator)
    yield "70 tokens", (module, torch.randn(70, 66, generator=generator) / 8)
    yield "66 sentences", (LearnedQuery(3, 2, 2, generator), torch.randn(66, 4, 3, generator=generator))
    yield (
        "numbers in float64",
        (LearnedQuery(3, 5, 2, generator).double(), torch.randn(4, 3, generator=generator).double()),
    )


@exercise(
    draws=draw_modules,
    edges=edges_of_pooling,
    hints=[
        "Which parts of the module does forward call? A layer such as self.W_k is called like a function: what do you give it?",
        "Keys (…, n, e) and the one query (e,) make scores (…, n). What makes weights of them, and which root stands below the scores?",
        "The weights are (…, n), the values (…, n, v). Give the weights an axis of length 1 at the end; multiply; then add up over the tokens, the axis before the last.",
    ],
    names={
        "the weights: did you forget the values?": lambda self, X: X[..., 0],
        "the weighted values: did you forget to add them up?": lambda self, X: self.W_v(X),
        "the keys": lambda self, X: self.W_k(X),
    },
    question={
        r"W_[kv]\b(?!\(X\))": "self.W_k and self.W_v are layers: each is called with X (…, n, d). Is it?",
        "": "Keys are (…, n, e), the query (e,), weights (…, n), values (…, n, v): which axes meet in this line?",
    },
    level=2,
    minutes=10,
    trained=True,
)
def pooling_forward(self, X):
    """What self.query (e,) finds in X (…, n, d) by scaled scores, with self.W_k and self.W_v: returns (…, v)."""
    K, V = self.W_k(X), self.W_v(X)
    scores = K @ self.query / math.sqrt(K.shape[-1])  # (…, n)
    weights = torch.softmax(scores, dim=-1)
    return (weights[..., None] * V).sum(-2)


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
        "The output z is a sum: one term for each key, its weight times its value. How far does one term reach in z's direction?",
        "z · z is the sum of the terms (a_j v_j) · z. So each term's part of the whole is (a_j v_j) · z / (z · z).",
        "z = weights @ values, (…, q, v). The products v_j · z for all queries and keys are z @ values.mT, (…, q, k). Then weights, times these, over z · z of each query (keepdim).",
    ],
    names={
        "the outputs z: here the share of each key is asked for, (…, q, k)": lambda weights, values: weights @ values,
        "the weights themselves: the values have no say": lambda weights, values: weights,
        "the products of z and the values: they still lack the weights and z · z": lambda weights, values: (
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
