"""Exercises of the notebook on masking: masks for order, padding and distance; softmax and attention that keep to them;
the shortest input that gives a leak away."""

import math

import torch

from ...judge.exercise import exercise

LOW_SCORES = "scores below -1e9, a number that many people write instead of -∞"

# ---- causal_mask


def draw_lengths(generator):
    """Few tokens, one, and more than anybody writes down."""
    yield from ((4,), (1,), (2,), (7,), (int(torch.randint(20, 60, (), generator=generator)),))


def edges_of_lengths(generator):
    yield "70 tokens", (70,)
    yield "300 tokens", (300,)


@exercise(
    draws=draw_lengths,
    edges=edges_of_lengths,
    hints=[
        "Write down the four rows for n = 4: which tokens may the first one attend to? And the last one?",
        "Rows are queries, columns are keys. Row i is True up to column i, the diagonal: which triangle of the matrix is it?",
        "torch.ones with dtype=torch.bool is True everywhere, and tril keeps the lower triangle with the diagonal. You can "
        "also compare torch.arange(n) as a column with torch.arange(n) as a row.",
    ],
    question="The mask is (n, n), with queries as rows and keys as columns. Where are the queries in this line, and where the "
    "keys?",
    level=1,
    minutes=4,
)
def causal_mask(n):
    """True where the query of a row may attend to the key of a column, itself or earlier: returns boolean (n, n)."""
    return torch.ones(n, n, dtype=torch.bool).tril()


# ---- masked_softmax


def draw_scores_and_masks(generator):
    """Causal, also over heads; padding; rows that may attend to nothing or to all; masked scores that are loud, or far
    above what is not masked, farther than -10,000 or -65,504 reach; 1-D; float64."""

    def scores(*shape, dtype=None):
        return 2 * torch.randn(shape, generator=generator, dtype=dtype)

    yield scores(4, 4), causal_mask(4)
    yield scores(2, 3, 4, 5), torch.arange(5) < torch.tensor([3, 5])[:, None, None, None]
    yield scores(3, 5), torch.tensor([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]).bool()
    mask = torch.rand(2, 1, 3, 4, generator=generator) < 0.5
    mask[0, 0, 1], mask[1, 0, 2] = False, torch.tensor([True, False, False, True])
    yield scores(2, 2, 3, 4, dtype=torch.float64), mask
    loud = torch.tensor(
        [[1000.0, 2000, 1001, 999], [-2000, -2001, -1900, -1999.5], [1001, 999, 1000, 1000], [0, 2, 1, 1]]
    )
    yield loud + scores(4, 1), torch.tensor([[1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1], [1, 1, 1, 0]]).bool()
    yield scores(3, 3, 3), torch.tensor([[1, 1, 0], [1, 0, 0], [0, 1, 1]]).bool()[:, None]
    yield scores(2, 2, 4, 4), causal_mask(4)
    yield scores(5), torch.tensor([True, True, True, False, False])
    low = torch.tensor([[-3e4], [-1e6], [-60]], dtype=torch.float64)
    mask = torch.tensor([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 1]]).bool()
    yield torch.where(mask, low, 0.0) + scores(3, 4, dtype=torch.float64), mask


def edges_of_masked_softmax(generator):
    mask = torch.tensor([[0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]]).bool()
    yield LOW_SCORES, (torch.randn(3, 4, generator=generator).double().masked_fill(mask, -1e25), mask)
    mask = torch.rand(66, 70, generator=generator) < 0.7
    yield "70 keys and 66 queries", (torch.randn(66, 70, generator=generator), mask)
    mask = torch.rand(66, 2, 3, generator=generator) < 0.7
    yield "66 sentences", (torch.randn(66, 2, 3, generator=generator), mask)


@exercise(
    draws=draw_scores_and_masks,
    edges=edges_of_masked_softmax,
    hints=[
        "Which score gets exactly the weight 0 from the softmax? What does the softmax give if all scores of a row are so?",
        "Before the softmax, masked_fill can put -∞ where the mask is False, ~mask. But a row that is all -∞ gives 0/0, "
        "NaN. Which rows are these? mask.any(dim=-1, keepdim=True) is False for them.",
        "In such rows, hide nothing before the softmax. After it, set every masked weight to 0, in all rows.",
    ],
    intermediates={
        "one number per row: did you forget to divide something by it?": lambda scores, mask: scores.sum(-1)
    },
    question={
        r"\w\[[^]]*mask|\w\[(?!.*None)": "The mask may have fewer axes than the scores. mask.expand_as(scores) has all of them.",
        "": "The mask broadcasts to the scores, (…, q, k): do you lose an axis in this line? keepdim=True keeps it.",
    },
    level=2,
    minutes=10,
)
def masked_softmax(scores, mask):
    """Softmax of finite scores (…, q, k) over keys where mask, which broadcasts to them, is True: returns (…, q, k).

    The weight is 0 where mask is False; a row that may attend to nothing is all 0.
    """
    hidden = ~mask
    some = mask.any(dim=-1, keepdim=True)  # (…, q, 1): is there anything to attend to?
    weights = torch.softmax(scores.masked_fill(hidden & some, -math.inf), dim=-1)
    return weights.masked_fill(hidden, 0.0)


# ---- masked_attention


def draw_masked_attention(generator):
    """Causal with n = e = v, padding over heads, q ≠ k, queries without a key, a loud masked key, keys that score below
    any number that one would write for a mask, q = k = 1; float64."""

    def randn(*shape, dtype=None):
        return torch.randn(*shape, generator=generator, dtype=dtype)

    yield randn(4, 4), randn(4, 4), randn(4, 4), causal_mask(4)
    real = (torch.arange(5) < torch.tensor([3, 5])[:, None])[:, None, None, :]  # (b, 1, 1, k)
    loud = torch.where(real.mT, 1.0, 20.0)  # padding holds large numbers
    yield randn(2, 3, 4, 6), loud * randn(2, 3, 5, 6), loud * randn(2, 3, 5, 4), real
    mask = torch.tensor([[True, False, True, True, False], [False] * 5, [True] * 5])
    yield randn(3, 6), randn(5, 6), randn(5, 4), mask
    mask = torch.rand(2, 3, 3, generator=generator) < 0.6
    mask[0, 1], mask[1] = False, torch.tensor([True, True, False])
    yield (*(randn(2, 3, width, dtype=torch.float64) for width in (4, 4, 2)), mask)
    query, key = randn(3, 4), randn(5, 4)  # the loud key's score is 2 · 2000 / √4; all keys of the last query are low
    query[:, 0], key[:, 0], key[1] = 2.0, 0.0, torch.tensor([2000.0, 0, 0, 0])
    query[2], key[2, 0], key[4, 0] = torch.tensor([4000.0, 0, 0, 0]), -99.0, -99.001
    mask = torch.tensor([[1, 0, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 1]]).bool()
    yield query.double(), key.double(), randn(5, 2, dtype=torch.float64), mask
    yield randn(2, 1, 5), randn(2, 1, 5), randn(2, 1, 3), torch.tensor([True, False])[:, None, None]


def edges_of_masked_attention(generator):
    query, mask = torch.full((2, 2), 3e12).double(), torch.tensor([[1, 0, 0, 0], [0, 0, 1, 0]]).bool()
    key = torch.where(mask.any(0)[:, None], -3e12, 0.0).expand(4, 2).double()
    yield LOW_SCORES, (query, key, torch.randn(4, 3, generator=generator).double(), mask)
    query, key, value = (torch.randn(n, width, generator=generator) for n, width in ((66, 68), (70, 68), (70, 67)))
    yield "70 keys and 66 queries", (query, key, value, torch.rand(66, 70, generator=generator) < 0.7)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    yield "numbers in float64", (query[:2, :3].double(), key[:3, :3].double(), value[:3, :2].double(), mask)
    query, key, value = torch.randn(3, 66, 3, 4, generator=generator)
    yield "66 sentences", (query, key, value, torch.rand(66, 3, 3, generator=generator) < 0.7)


@exercise(
    draws=draw_masked_attention,
    edges=edges_of_masked_attention,
    hints=[
        "Scores, mask, softmax, values: which of these steps does masked_softmax do? What should it get, and what do you do "
        "with its result?",
        "The scores compare every query with every key, and are divided by √d_k, here √e. The mask hides some of them before "
        "the softmax.",
        "masked_softmax gives the weights (…, q, k), which are 0 where masked. They weight the values: multiply them by value.",
    ],
    intermediates={
        "the weights: did you forget the values?": lambda query, key, value, mask: query @ key.mT,
        "the query: did you weight the keys instead of the values?": lambda query, key, value, mask: query,
    },
    question="Queries are (…, q, e), keys (…, k, e), values (…, k, v), weights (…, q, k): which axes do you multiply with each "
    "other in this line?",
    level=2,
    minutes=5,
    trained=True,
)
def masked_attention(query, key, value, mask):
    """Attention of query (…, q, e) to key (…, k, e) and value (…, k, v) where mask is True: returns (…, q, v).

    mask broadcasts to (…, q, k); a query that may attend to nothing gets 0.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (…, q, k)
    hidden, some = ~mask, mask.any(dim=-1, keepdim=True)  # some: is there anything to attend to?
    weights = torch.softmax(scores.masked_fill(hidden & some, -math.inf), dim=-1)
    return weights.masked_fill(hidden, 0.0) @ value


def scaled_scores(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])


# ---- padding_mask


def draw_padded_tokens(generator):
    """Padding behind, in front, inside, none; pad ids 0, 1, 5 and 9, with 0 as a word; b = k; one sentence, one token."""

    def tokens(rows, pad_id):
        real = torch.tensor(rows).bool()
        words = torch.randint(0, 9, real.shape, generator=generator)
        return torch.where(real, words + (words >= pad_id), pad_id), pad_id

    yield tokens([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], 0)
    yield tokens([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]], 1)
    yield tokens([[0, 0, 1], [1, 1, 1], [0, 1, 1]], 9)
    yield tokens([[1, 0, 1, 1, 0, 0], [0, 1, 1, 0, 1, 1]], 5)
    yield tokens([[1, 1, 0]], 0)
    yield tokens([[1], [0]], 1)
    yield tokens((torch.rand(3, 6, generator=generator) < 0.7).tolist(), 3)


def edges_of_padding(generator):
    yield "a pad_id of -1", (torch.tensor([[5, 2, -1], [3, -1, -1]]), -1)
    yield "a pad_id of -100", (torch.tensor([[5, 2, 0], [3, -100, -100]]), -100)
    tokens = torch.randint(3, (66, 70), generator=generator)
    yield "66 sentences of 70 tokens", (tokens, 1)
    yield "a pad_id of 30,000", (torch.tensor([[29_999, 2, 30_000]]), 30_000)


@exercise(
    draws=draw_padded_tokens,
    edges=edges_of_padding,
    hints=[
        "Which tokens may be attended to: those equal to pad_id, or those that differ from it?",
        "Compare the whole tensor at once: this gives (b, k). Scores are (b, h, q, k): which axes are missing in the mask, "
        "and where?",
        "Every head and every query should get the same row, so the axes h and q have length 1. Each None in an index adds "
        "such an axis.",
    ],
    question="tokens is (b, k) and the mask (b, 1, 1, k): on which axes are the batch and the keys in this line?",
    level=1,
    minutes=5,
)
def padding_mask(tokens, pad_id):
    """False where a token id of (b, k) is pad_id, padding, and True elsewhere: returns boolean (b, 1, 1, k)."""
    return (tokens != pad_id)[:, None, None, :]


# ---- shortest_leak


def on_lengths(least, most=99):
    """The leaks of a model that leaks on `least` to `most` words: one for each later word."""

    def leaks(words):
        n = len(words)
        return [("eval", 0, j) for j in range(1, n)] if least <= n <= most else []

    return leaks


def at_a_loud_word(words):
    """The leaks of a model that leaks where a word behind the first one has an entry above 9."""
    return [("train", 0, j) for j in range(1, len(words)) if words[j].max() > 9]


def draw_leaks_and_words(generator):
    """Leaks from some length on, from the last one, from two words on, at one length alone, at a word, never; a single
    word; float64."""
    for leaks, n, d in (
        (on_lengths(3), 5, 2),
        (on_lengths(6), 6, 3),
        (on_lengths(99), 4, 2),
        (on_lengths(2), 5, 4),
        (on_lengths(3, 3), 7, 2),
        (on_lengths(2), 1, 3),
        (on_lengths(4, 5), 9, 2),
    ):
        yield leaks, torch.randn(n, d, generator=generator)
    X = torch.randn(6, 3, generator=generator).double()
    X[2], X[4, 1] = 0.0, 10.0
    yield at_a_loud_word, X


def edges_of_leaks(generator):
    yield "70 words", (on_lengths(67), torch.randn(70, 2, generator=generator))
    yield "words of 66 numbers", (on_lengths(2), torch.randn(4, 66, generator=generator))


@exercise(
    draws=draw_leaks_and_words,
    edges=edges_of_leaks,
    hints=[
        "How would you search by hand: which lengths would you try, and which of those that leak should you return?",
        "X[:n] are the first n words. Try every n up to len(X), and collect those for which the list of leaks is not empty.",
        "range(1, len(X) + 1) goes up to all the words. min returns the smallest number, and default= says what it returns "
        "for an empty list.",
    ],
    question="leaks takes words (m, d), such as X[:n], and returns a list: what do you give it in this line?",
    level=1,
    minutes=6,
)
def shortest_leak(leaks, X):
    """With how many of the first words of X (n, d) a model begins to leak: returns a whole number, 0 if it never does.

    leaks(words) is the list of leaks that the probe finds on words (m, d), which is empty if there are none.
    """
    lengths = range(1, len(X) + 1)
    leaking = [n for n in lengths if leaks(X[:n])]
    return min(leaking, default=0)


# ---- causal_head


def draw_head(generator):
    """Batches and none, n = e and n ≠ e, v ≠ e; a loud last row; scores below any number that one would write for a
    mask; a single word, where no mistake shows; float64."""
    for shape, e, v, dtype in (
        ((5, 4), 3, 3, None),
        ((2, 4, 6), 4, 2, None),
        ((3, 3, 5), 2, 4, torch.float64),
        ((3, 2, 6, 4), 4, 4, None),
        ((1, 4), 4, 4, None),
    ):
        X = torch.randn(shape, generator=generator, dtype=dtype)
        yield X, *(torch.randn(shape[-1], width, generator=generator, dtype=dtype) for width in (e, e, v))
    X = torch.randn(4, 4, generator=generator)
    X[:, 0], X[-1] = 2.0, torch.tensor([1e6, 0, 0, 0])  # what comes last has scores far above all others
    yield X, torch.eye(4), torch.eye(4), torch.randn(4, 4, generator=generator)
    X = torch.randn(5, 4, generator=generator).double()
    X[:, 0] = 400.0  # scores of -400² / √4
    yield X, torch.eye(4).double(), -torch.eye(4).double(), torch.randn(4, 3, generator=generator).double()


def edges_of_heads(generator):
    X = torch.randn(4, 3, generator=generator).double()
    X[:, 0] = 3e12
    W_q, W_v = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]).double(), torch.eye(3).double()[:, 1:]
    yield LOW_SCORES, (X, W_q, -W_q, W_v)
    X, W_v = torch.randn(140, 66, generator=generator), torch.randn(66, 68, generator=generator)
    yield "140 tokens", (X, *torch.randn(2, 66, 67, generator=generator) / 8, W_v)
    yield "numbers in float64", (X[:4, :3].double(), *torch.randn(3, 3, 5, generator=generator).double())
    yield "66 sentences", (torch.randn(66, 3, 4, generator=generator), *torch.randn(3, 4, 2, generator=generator))


@exercise(
    draws=draw_head,
    edges=edges_of_heads,
    hints=[
        "What does the probe say about this code, and in which modes? Which of its lines combine several positions, so that "
        "something could leak from one to another?",
        "Three lines do: the scores, the softmax, the weighted sum. Print weights for n = 3, and compare them with those "
        "of your masked_softmax under a causal mask: what should each row sum to?",
        "Every column sums to 1, but every row should. So the queries compete for a key, and later queries take part. Over "
        "which axis should the softmax run?",
    ],
    intermediates={"the weights: did you forget the values?": lambda X, W_q, W_k, W_v: X @ X.transpose(-2, -1)},
    question="Queries and keys are (…, n, e), scores (…, q, k), values (…, k, v): which axes do you multiply with each other in "
    "this line?",
    level=2,
    minutes=10,
)
def causal_head(X, W_q, W_k, W_v):
    """One head of causal self-attention: X (…, n, d), W_q and W_k (d, e), W_v (d, v); returns (…, n, v)."""
    query, key, value = X @ W_q, X @ W_k, X @ W_v
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (…, q, k)
    future = torch.ones(X.shape[-2], X.shape[-2], dtype=torch.bool).triu(1)  # (q, k), True = hidden
    weights = torch.softmax(scores.masked_fill(future, -math.inf), dim=-1)  # (…, q, k)
    return weights @ value


# ---- sliding_window_mask


def draw_windows(generator):
    """Widths of 1 to 4, the width of the sentence, and wider than it; a single token; a long sentence."""
    yield from ((5, 2), (6, 3), (4, 1), (9, 4), (4, 4), (3, 5), (1, 1))
    yield tuple(torch.randint(5, 12, (2,), generator=generator).mul(torch.tensor([3, 1])).tolist())


def edges_of_windows(generator):
    yield "70 tokens, and a window of 3", (70, 3)
    yield "130 tokens, and a window of 66", (130, 66)


@exercise(
    draws=draw_windows,
    edges=edges_of_windows,
    hints=[
        "With width 2, which tokens may the last of five attend to? How many are they?",
        "The distance to a key is the query's position minus the key's. Which distances are allowed, from which to which?",
        "torch.arange(n)[:, None] - torch.arange(n) holds all the distances, with queries as rows. Join two comparisons "
        "by &: the key is not in the future, and less than width back.",
    ],
    question="Queries (rows) and keys (columns) both have the positions 0 to n - 1: which of them does this line use, "
    "and is its result (n, n)?",
    level=2,
    minutes=7,
)
def sliding_window_mask(n, width):
    """Causal mask that reaches back `width` tokens at most, the query itself counted: returns boolean (n, n)."""
    distance = torch.arange(n)[:, None] - torch.arange(n)  # how far the key, a column, lies behind the query, a row
    return (distance >= 0) & (distance < width)
