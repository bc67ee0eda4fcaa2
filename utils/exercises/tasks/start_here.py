"""Exercises of the first notebook: the weighted sum at the heart of attention, what a word takes and where it looks, and a
shape."""

import torch

from ...judge.exercise import exercise


def draw_weights_and_values(generator):
    """Weights that do not sum to 1, some of them negative; once k = v, two rows, one column, and float64."""
    for k, v, dtype in ((3, 2, None), (4, 4, None), (2, 3, None), (5, 1, None), (6, 3, torch.float64)):
        weights = torch.randn(k, generator=generator, dtype=dtype)
        yield weights, torch.randn(k, v, generator=generator, dtype=dtype)


def edges_of_weighted_sums(generator):
    yield "a single key", (torch.tensor([0.7]), torch.randn(1, 3, generator=generator))
    yield "a single weight that is not 0", (torch.tensor([0.0, 0.7, 0.0]), torch.randn(3, 2, generator=generator))
    yield "70 keys", (torch.randn(70, generator=generator), torch.randn(70, 66, generator=generator))


@exercise(
    draws=draw_weights_and_values,
    edges=edges_of_weighted_sums,
    hints=[
        "What should a row of values add to the result if its weight is 0? And what is the result if one weight is 1 and all the others are 0?",
        "Multiply each row by its own weight, then add the rows up. weights[:, None] has the shape (k, 1), one weight per row.",
        "As a loop: start from zeros, and add weights[i] * values[i] for every i. A matrix product does the same at once: "
        "which order of weights and values puts the two axes of length k side by side?",
    ],
    question="Which axis of values has length k, as weights has?",
    minutes=6,
)
def weighted_sum(weights, values):
    """Sum of the rows of values (k, v), each times its weight (k,): returns (v,)."""
    return weights @ values


def draw_words_and_weights(generator):
    """A word with weights and values, as long as it: once k = v, two rows, one entry, and float64."""
    for weights, values in draw_weights_and_values(generator):
        yield torch.randn(values.shape[1], generator=generator, dtype=values.dtype), weights, values


def edges_of_added_mixtures(generator):
    for name, (weights, values) in edges_of_weighted_sums(generator):
        yield name, (torch.randn(values.shape[1], generator=generator), weights, values)


@exercise(
    draws=draw_words_and_weights,
    edges=edges_of_added_mixtures,
    hints=[
        "If all weights are 0, nothing is added to the word. What should the function return then?",
        "The mixture is what your `weighted_sum` from the exercise before returns. It has the same shape as x: which operation puts the two together?",
    ],
    minutes=4,
)
def add_mixture(x, weights, values):
    """The vector x (v,) plus the rows of values (k, v), each times its weight (k,): returns (v,)."""
    return x + weights @ values


WORDS = "cats like fish that swim in cold water near the old stone bridge".split()


def draw_looks(generator):
    """Sentences of 3 to 6 words with the shares that each word gives to each, itself included."""
    for n, dtype in ((4, None), (3, None), (5, None), (6, torch.float64), (5, None)):
        words = [WORDS[k] for k in torch.randperm(len(WORDS), generator=generator)[:n].tolist()]
        yield words, torch.randn(n, n, generator=generator, dtype=dtype).softmax(dim=1)


def edges_of_looks(generator):
    names = [f"word{k}" for k in range(70)]
    yield "70 words", (names, torch.randn(70, 70, generator=generator).softmax(dim=1))
    yield "a single word", (["alone"], torch.ones(1, 1))
    yield "words that look at themselves", (["a", "b", "c"], torch.eye(3))
    yield (
        "a word that occurs twice",
        (["fish", "eat", "fish"], torch.tensor([[0.2, 0.7, 0.1], [0, 0.2, 0.8], [0.6, 0.4, 0]])),
    )


@exercise(
    draws=draw_looks,
    edges=edges_of_looks,
    hints=[
        "Row 0 of weights says how much word 0 looks at each word. Where in that row is the largest number?",
        "argmax(dim=1) gives the column of the largest number in each row: one number per word.",
        "Pick the words in a loop over these numbers: words[k] for each k. `.tolist()` turns a tensor into plain numbers.",
    ],
    minutes=5,
)
def most_looked_at(words, weights):
    """For each word of a sentence, the word that it gives the largest weight: returns a list of strings.

    words is a list of n strings; row i of weights (n, n) holds the weights that word i gives to each word, itself
    included. No row has two largest numbers.
    """
    return [words[k] for k in weights.argmax(dim=1).tolist()]


def draw_sizes(generator):
    """Three different lengths a draw, in every order of magnitude."""
    yield from ((2, 5, 8), (7, 3, 4), (5, 16, 3), (9, 6, 7))
    yield tuple((2 + torch.randperm(20, generator=generator)[:3]).tolist())


def edges_of_sizes(generator):
    yield from ((f"the sizes {sizes}", sizes) for sizes in ((1, 5, 3), (4, 1, 3), (4, 5, 1), (70, 512, 66)))


@exercise(
    draws=draw_sizes,
    edges=edges_of_sizes,
    hints=[
        "weights has one row per query. How many outputs does one query get, and how long is an output?",
        "(n_queries, n_keys) @ (n_keys, d_value): the two lengths in the middle vanish, and the outer two remain.",
    ],
    minutes=3,
)
def output_shape(n_queries, n_keys, d_value):
    """Shape of weights @ V for weights (n_queries, n_keys) and V (n_keys, d_value): returns a tuple of ints."""
    return (n_queries, d_value)
