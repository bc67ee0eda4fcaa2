"""Exercises of notebook 00: the weighted sum at the heart of attention, and a quiz on shapes."""

import torch

from .engine import exercise


def draw_weights_and_values(generator):
    """Weights that do not sum to 1, some of them negative; once k = d, one row, one column, and float64."""
    for k, d, dtype in ((3, 2, None), (4, 4, None), (1, 3, None), (5, 1, None), (6, 3, torch.float64)):
        weights = torch.randn(k, generator=generator, dtype=dtype)
        yield weights, torch.randn(k, d, generator=generator, dtype=dtype)


@exercise(
    draws=draw_weights_and_values,
    hints=[
        "What should become of a row of values whose weight is 0? And if one weight is 1 and all the others are 0?",
        "Multiply each row by its own weight, then add the rows up. weights[:, None] has shape (k, 1), a weight a row.",
        "As a loop: start from zeros, and for every i add weights[i] * values[i]. A matrix product does it in one go: "
        "which order of weights and values has the two axes of length k side by side?",
    ],
    names={"the weighted rows: did you forget to add them up?": lambda weights, values: weights[:, None] * values},
    question="Which axis of values has the length k of weights?",
)
def weighted_sum(weights, values):
    """Sum of the rows of values (k, d), each times its weight (k,): returns (d,)."""
    return weights @ values


@weighted_sum.mistake("you take the plain mean of the rows: every row counts the same, whatever its weight.")
def plain_mean(weights, values):
    return values.mean(0)
