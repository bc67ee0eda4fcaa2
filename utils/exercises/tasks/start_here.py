"""Exercises of the first notebook: the weighted sum at the heart of attention, and a quiz on shapes."""

import torch

from ..engine import exercise


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
        "What should become of a row of values whose weight is 0? And if one weight is 1 and all the others are 0?",
        "Multiply each row by its own weight, then add the rows up. weights[:, None] has shape (k, 1), a weight a row.",
        "As a loop: start from zeros, and for every i add weights[i] * values[i]. A matrix product does it in one go: "
        "which order of weights and values has the two axes of length k side by side?",
    ],
    question="Which axis of values has the length k of weights?",
    minutes=6,
)
def weighted_sum(weights, values):
    """Sum of the rows of values (k, v), each times its weight (k,): returns (v,)."""
    return weights @ values


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
        "Write the two shapes side by side: (n, d_model) @ (d_model, d_head). Which two numbers meet in the middle?",
        "The two numbers in the middle have to be equal, and vanish. The outer two remain, in their order.",
    ],
    minutes=2,
)
def projection_shape(n, d_model, d_head):
    """Shape of Q = X @ W_q for X (n, d_model) and W_q (d_model, d_head): returns a tuple of ints."""
    return (n, d_head)


@exercise(
    draws=draw_sizes,
    edges=edges_of_sizes,
    hints=[
        "Which shapes have Q and K? And K.T?",
        "(n_queries, d_head) @ (d_head, n_keys): the two numbers in the middle vanish. What does one entry of the "
        "product say about one query and one key?",
    ],
    minutes=3,
)
def scores_shape(n_queries, n_keys, d_head):
    """Shape of Q @ K.T for Q (n_queries, d_head) and K (n_keys, d_head): returns a tuple of ints."""
    return (n_queries, n_keys)


@exercise(
    draws=draw_sizes,
    edges=edges_of_sizes,
    hints=[
        "The weights have the shape of the scores. How many outputs does one query get?",
        "(n_queries, n_keys) @ (n_keys, d_value): the two numbers in the middle vanish.",
    ],
    minutes=3,
)
def output_shape(n_queries, n_keys, d_value):
    """Shape of weights @ V for weights (n_queries, n_keys) and V (n_keys, d_value): returns a tuple of ints."""
    return (n_queries, d_value)


MISTAKES = """
{last} -> {middle}
    {left} @ {right} adds up along {middle}, the last axis of {left} and the first of {right}, which vanishes. What stands last: {columns}.
({rows}, -> ({middle},
    the first axis of {right} is {middle}, but it meets the last axis of {left} and vanishes. What stands first: {each}.
{last} -> {rows}
    the last axis of {left} @ {right} is that of {right}: {columns}.
({rows}, -> ({last},
    the first axis of {left} @ {right} is that of {left}: {each}.
= ({last}, {rows})
    the axes are the wrong way round. First comes the axis of {left}, {each}; then that of {right}, {columns}.
({rows}, -> (1,
    1 in front means a single row, but there is {each}.
= ({last},)
    that is the shape of a single row of {left} @ {right}, but there is {each}.
= ({rows},)
    that says how many rows {left} @ {right} has. How long is each of them?
{last} -> {middle} * {last}
    you multiply two lengths for the last axis. In a matrix product the inner axes vanish, and the outer ones stay as long as they are.
({rows}, -> ({rows} * {middle},
    you multiply two lengths for the first axis. In a matrix product the inner axes vanish, and the outer ones stay as long as they are.
{last} -> {middle} + {last}
    you add two lengths for the last axis. In a matrix product the inner axes vanish, and the outer ones stay as long as they are.
({rows}, -> ({rows} + {middle},
    you add two lengths for the first axis. In a matrix product the inner axes vanish, and the outer ones stay as long as they are.
{last} -> {middle} // {last}
    you divide one length by another for the last axis. In a matrix product the inner axes vanish, and the outer ones stay as long as they are.
= ({arguments})
    you list all three lengths. The products along {middle} are added up, so that this axis vanishes.
= ({rows}, {middle}, {middle}, {last})
    you list all four lengths. In a matrix product the two in the middle vanish.
= {rows} * {last}
    that is the number of entries, not the shape: return the lengths of the axes as a tuple.
"""
RIGHT = """
(torch.zeros({rows}, {middle}) @ torch.zeros({middle}, {last})).shape

torch.einsum("ij,jk->ik", torch.empty({rows}, {middle}), torch.empty({middle}, {last})).size()

{rows}, {last}

tuple([{rows}, {last}])
"""
for asked, left, right, rows, middle, last, each, columns in (
    (projection_shape, "X", "W_q", "n", "d_model", "d_head", "one row per token", "as many columns as W_q has"),
    (scores_shape, "Q", "K.T", "n_queries", "d_head", "n_keys", "one row per query", "one column per key"),
    (output_shape, "weights", "V", "n_queries", "n_keys", "d_value", "one row per query", "as many columns as V has"),
):
    words = dict(left=left, right=right, rows=rows, middle=middle, last=last, each=each, columns=columns)
    words["arguments"] = ", ".join(asked.reference.__code__.co_varnames)
    asked.mistakes(MISTAKES.format(**words))
    asked.right(RIGHT.format(**words))

scores_shape.mistakes("""
= (n_queries + n_keys, d_head)
    that would be queries and keys below one another. In Q @ K.T each query meets each key; d_head is added up, and goes.
= (n_queries, d_head, n_keys)
    you list the three lengths in the order of the product. Along d_head its terms are added up, so that this axis vanishes.
""")
