"""Exercises of notebook 00: the weighted sum at the heart of attention, and a quiz on shapes."""

import torch

from .engine import exercise

# ---- weighted_sum


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


@weighted_sum.mistake("you add up the rows without their weights: every row counts the same.")
def plain_sum(weights, values):
    return values.sum(0)


@weighted_sum.mistake(
    "you divide by the number of rows. The weights already say how much of each row to take: "
    "the result is k times too small."
)
def mean_of_weighted_rows(weights, values):
    return (weights[:, None] * values).mean(0)


@weighted_sum.mistake("you multiply each row by its weight, and stop there. The k rows still have to be added up.")
def weighted_rows(weights, values):
    return weights[:, None] * values


@weighted_sum.mistake("you add up every entry, across the columns too. Only the rows are added: d numbers remain.")
def sum_of_everything(weights, values):
    return (weights[:, None] * values).sum()


@weighted_sum.mistake("you sum over the columns, so one number a row remains. The rows are what is added up: axis 0.")
def sum_over_columns(weights, values):
    return (weights[:, None] * values).sum(1)


@weighted_sum.mistake(
    "values @ weights gives the weights to the columns; where k and d differ it crashes. A weight belongs to a row."
)
def weights_for_columns(weights, values):
    return values @ weights


@weighted_sum.mistake(
    "weights * values lines the weights up with the columns, for broadcasting starts at the last axis. "
    "weights[:, None] turns them towards the rows."
)
def broadcast_along_columns(weights, values):
    return (weights * values).sum(0)


@weighted_sum.mistake(
    "weights * values lines the weights up with the columns, for broadcasting starts at the last axis; "
    "and the rows still have to be added up."
)
def broadcast_without_sum(weights, values):
    return weights * values


@weighted_sum.mistake("you divide the weights by their sum first. Take them as they are, whatever they sum to.")
def normalised_weights(weights, values):
    return weights / weights.sum() @ values


@weighted_sum.mistake("you apply softmax to the weights. They are weights already: a weight of 0 must take nothing.")
def softmax_of_weights(weights, values):
    return torch.softmax(weights, 0) @ values


@weighted_sum.mistake("you divide by the sum of absolute weights. Take the weights as they are.")
def normalised_by_absolute_weights(weights, values):
    return weights / weights.abs().sum() @ values


@weighted_sum.mistake("you drop the signs of the weights. A negative weight subtracts its row.")
def absolute_weights(weights, values):
    return weights.abs() @ values


@weighted_sum.mistake(
    "you add up the weights and the rows separately, and multiply afterwards. Then no weight has its own row any more."
)
def product_of_sums(weights, values):
    return weights.sum() * values.sum(0)


@weighted_sum.mistake("you add the weights to the rows. A weight multiplies its row: twice the weight, twice the row.")
def added_weights(weights, values):
    return (weights[:, None] + values).sum(0)


@weighted_sum.mistake("you take the row of the largest weight, all of it, and nothing of the others.")
def row_of_largest_weight(weights, values):
    return values[weights.argmax()]


@weighted_sum.mistake("you keep the last product only: add it to the rows before it instead of replacing them.")
def last_row_only(weights, values):
    return weights[-1] * values[-1]


@weighted_sum.mistake("the numbers are right, but an axis of length 1 is left over: (1, d) instead of (d,).")
def kept_axis(weights, values):
    return weights[None] @ values


# ---- shape quiz


def draw_sizes(generator):
    """Three different sizes each time, in no fixed order of magnitude."""
    yield 5, 16, 8
    yield 2, 3, 4
    yield 9, 6, 7


@exercise(
    draws=draw_sizes,
    hints=[
        "Write the two shapes side by side: (n, d_model) @ (d_model, d_head). Which two numbers meet in the middle?",
        "The two numbers in the middle have to be equal, and vanish. The outer two remain, in their order.",
    ],
)
def projection_shape(n, d_model, d_head):
    """Shape of Q = X @ W_q for X (n, d_model) and W_q (d_model, d_head): returns a tuple of ints."""
    return (n, d_head)


@projection_shape.mistake("that is the shape of X itself. The projection replaces the last axis by that of W_q.")
def shape_of_x(n, d_model, d_head):
    return (n, d_model)


@projection_shape.mistake("that is the shape of W_q. Its first axis meets the last of X and vanishes in the product.")
def shape_of_w_q(n, d_model, d_head):
    return (d_model, d_head)


@projection_shape.mistake("the axes are the wrong way round: one row a token, so n comes first.")
def transposed_projection(n, d_model, d_head):
    return (d_head, n)


@projection_shape.mistake("that would be W_q transposed. Q has one row a token.")
def shape_of_w_q_transposed(n, d_model, d_head):
    return (d_head, d_model)


@projection_shape.mistake("that would be X transposed. In X @ W_q the axis d_model vanishes.")
def shape_of_x_transposed(n, d_model, d_head):
    return (d_model, n)


@projection_shape.mistake("that is the shape of scores, one number for each pair of tokens. Q has one row a token.")
def pairs_of_tokens(n, d_model, d_head):
    return (n, n)


@projection_shape.mistake("nothing of X is left there: Q has one row for each of the n tokens.")
def square_of_d_head(n, d_model, d_head):
    return (d_head, d_head)


@projection_shape.mistake("you list all three lengths. In a matrix product the two in the middle vanish.")
def all_three_lengths(n, d_model, d_head):
    return (n, d_model, d_head)


@projection_shape.mistake("you list all four lengths. In a matrix product the two in the middle vanish.")
def all_four_lengths(n, d_model, d_head):
    return (n, d_model, d_model, d_head)


@projection_shape.mistake("that is the number of entries, not the shape: return the lengths of the axes as a tuple.")
def entries_of_projection(n, d_model, d_head):
    return n * d_head


def draw_sizes_of_attention(generator):
    """More queries than keys and fewer, and as many (where a mistake must not hide the others)."""
    yield 2, 5, 8
    yield 7, 3, 4
    yield 6, 6, 9


@exercise(
    draws=draw_sizes_of_attention,
    hints=[
        "Which shapes have Q and K? And K.T?",
        "(n_queries, d_head) @ (d_head, n_keys): the two numbers in the middle vanish. What does one entry of the "
        "product say about one query and one key?",
    ],
)
def scores_shape(n_queries, n_keys, d_head):
    """Shape of Q @ K.T for Q (n_queries, d_head) and K (n_keys, d_head): returns a tuple of ints."""
    return (n_queries, n_keys)


@scores_shape.mistake("the axes are the wrong way round: a row belongs to a query, a column to a key.")
def transposed_scores(n_queries, n_keys, d_head):
    return (n_keys, n_queries)


@scores_shape.mistake("that is the shape of Q. A score is one number for a query and a key: d_head has vanished.")
def shape_of_q(n_queries, n_keys, d_head):
    return (n_queries, d_head)


@scores_shape.mistake("that is the shape of K. A score is one number for a query and a key: d_head has vanished.")
def shape_of_k(n_queries, n_keys, d_head):
    return (n_keys, d_head)


@scores_shape.mistake("that is the shape of K.T alone. Multiplied by Q, the axis d_head vanishes.")
def shape_of_k_transposed(n_queries, n_keys, d_head):
    return (d_head, n_keys)


@scores_shape.mistake("that would be Q against itself. There may be more keys than queries, or fewer.")
def queries_only(n_queries, n_keys, d_head):
    return (n_queries, n_queries)


@scores_shape.mistake("that would be K against itself. There may be more keys than queries, or fewer.")
def keys_only(n_queries, n_keys, d_head):
    return (n_keys, n_keys)


@scores_shape.mistake("that would be Q.T @ K, which sums over the tokens. Q @ K.T sums over d_head.")
def summed_over_tokens(n_queries, n_keys, d_head):
    return (d_head, d_head)


@scores_shape.mistake("you keep d_head as an axis. A score is a dot product: the d_head products are added up.")
def scores_before_the_sum(n_queries, n_keys, d_head):
    return (n_queries, n_keys, d_head)


@scores_shape.mistake("that is the number of scores, not the shape: return the lengths of the axes as a tuple.")
def number_of_scores(n_queries, n_keys, d_head):
    return n_queries * n_keys


@exercise(
    draws=draw_sizes_of_attention,
    hints=[
        "The weights have the shape of the scores. How many outputs does one query get?",
        "(n_queries, n_keys) @ (n_keys, d_value): the two numbers in the middle vanish.",
    ],
)
def output_shape(n_queries, n_keys, d_value):
    """Shape of weights @ V for weights (n_queries, n_keys) and V (n_keys, d_value): returns a tuple of ints."""
    return (n_queries, d_value)


@output_shape.mistake("that is the shape of the weights. Multiplied by V, the axis of the keys vanishes.")
def shape_of_weights(n_queries, n_keys, d_value):
    return (n_queries, n_keys)


@output_shape.mistake("that is the shape of V. There is one output for each query, not for each key.")
def shape_of_v(n_queries, n_keys, d_value):
    return (n_keys, d_value)


@output_shape.mistake("the axes are the wrong way round: a row belongs to a query.")
def transposed_output(n_queries, n_keys, d_value):
    return (d_value, n_queries)


@output_shape.mistake("that would be V transposed. There is one row for each query.")
def shape_of_v_transposed(n_queries, n_keys, d_value):
    return (d_value, n_keys)


@output_shape.mistake("that would be the weights transposed. An output is as long as a value: d_value.")
def shape_of_weights_transposed(n_queries, n_keys, d_value):
    return (n_keys, n_queries)


@output_shape.mistake("an output is as long as a value: the last axis is d_value.")
def queries_twice(n_queries, n_keys, d_value):
    return (n_queries, n_queries)


@output_shape.mistake("you keep the axis of the keys. The weighted sum adds up over the keys, so that it vanishes.")
def output_before_the_sum(n_queries, n_keys, d_value):
    return (n_queries, n_keys, d_value)


@output_shape.mistake("that is the output of one query. Here are n_queries of them, one a row.")
def single_output(n_queries, n_keys, d_value):
    return (d_value,)


@output_shape.mistake("that is the number of entries, not the shape: return the lengths of the axes as a tuple.")
def entries_of_output(n_queries, n_keys, d_value):
    return n_queries * d_value
