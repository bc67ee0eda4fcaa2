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


weighted_sum.mistakes("""
= values.mean(0)
    you take the plain mean of the rows: every row counts the same, whatever its weight.
= values.sum(0)
    you add up the rows without their weights: every row counts the same.
= (weights[:, None] * values).mean(0)
    you divide by the number of rows. The weights already say how much of each row to take: the result is k times
    too small.
= weights[:, None] * values
    you multiply each row by its weight, and stop there. The k rows still have to be added up.
= (weights[:, None] * values).sum()
    you add up every entry, across the columns too. Only the rows are added: d numbers remain.
= (weights[:, None] * values).sum(1)
    you sum over the columns, so one number a row remains. The rows are what is added up: axis 0.
= values @ weights
    values @ weights gives the weights to the columns; where k and d differ it crashes. A weight belongs to a row.
= (weights * values).sum(0)
    weights * values lines the weights up with the columns, for broadcasting starts at the last axis. weights[:,
    None] turns them towards the rows.
= weights * values
    weights * values lines the weights up with the columns, for broadcasting starts at the last axis; and the rows
    still have to be added up.
= weights / weights.sum() @ values
    you divide the weights by their sum first. Take them as they are, whatever they sum to.
= torch.softmax(weights, 0) @ values
    you apply softmax to the weights. They are weights already: a weight of 0 must take nothing.
= weights / weights.abs().sum() @ values
    you divide by the sum of absolute weights. Take the weights as they are.
= weights.abs() @ values
    you drop the signs of the weights. A negative weight subtracts its row.
= weights.sum() * values.sum(0)
    you add up the weights and the rows separately, and multiply afterwards. Then no weight has its own row any
    more.
= (weights[:, None] + values).sum(0)
    you add the weights to the rows. A weight multiplies its row: twice the weight, twice the row.
= values[weights.argmax()]
    you take the row of the largest weight, all of it, and nothing of the others.
= weights[-1] * values[-1]
    you keep the last product only: add it to the rows before it instead of replacing them.
= weights[None] @ values
    the numbers are right, but an axis of length 1 is left over: (1, d) instead of (d,).
""")


weighted_sum.right("""
total = torch.zeros(values.shape[1])
for weight, row in zip(weights, values):
    total = total + weight * row
return total

total = torch.zeros(values.shape[1])
for i in range(values.shape[0]):
    for j in range(values.shape[1]):
        total[j] += weights[i] * values[i, j]
return total

(weights.unsqueeze(1) * values).sum(dim=0)

torch.einsum("k,kd->d", weights, values)

torch.mv(values.T, weights)

sum(weight * row for weight, row in zip(weights, values))
""")


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


projection_shape.mistakes("""
= (n, d_model)
    that is the shape of X itself. The projection replaces the last axis by that of W_q.
= (d_model, d_head)
    that is the shape of W_q. Its first axis meets the last of X and vanishes in the product.
= (d_head, n)
    the axes are the wrong way round: one row a token, so n comes first.
= (d_head, d_model)
    that would be W_q transposed. Q has one row a token.
= (d_model, n)
    that would be X transposed. In X @ W_q the axis d_model vanishes.
= (n, n)
    that is the shape of scores, one number for each pair of tokens. Q has one row a token.
= (d_head, d_head)
    nothing of X is left there: Q has one row for each of the n tokens.
= (n, d_model, d_head)
    you list all three lengths. In a matrix product the two in the middle vanish.
= (n, d_model, d_model, d_head)
    you list all four lengths. In a matrix product the two in the middle vanish.
= n * d_head
    that is the number of entries, not the shape: return the lengths of the axes as a tuple.
""")


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


scores_shape.mistakes("""
= (n_keys, n_queries)
    the axes are the wrong way round: a row belongs to a query, a column to a key.
= (n_queries, d_head)
    that is the shape of Q. A score is one number for a query and a key: d_head has vanished.
= (n_keys, d_head)
    that is the shape of K. A score is one number for a query and a key: d_head has vanished.
= (d_head, n_keys)
    that is the shape of K.T alone. Multiplied by Q, the axis d_head vanishes.
= (n_queries, n_queries)
    that would be Q against itself. There may be more keys than queries, or fewer.
= (n_keys, n_keys)
    that would be K against itself. There may be more keys than queries, or fewer.
= (d_head, d_head)
    that would be Q.T @ K, which sums over the tokens. Q @ K.T sums over d_head.
= (n_queries, n_keys, d_head)
    you keep d_head as an axis. A score is a dot product: the d_head products are added up.
= n_queries * n_keys
    that is the number of scores, not the shape: return the lengths of the axes as a tuple.
""")


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


output_shape.mistakes("""
= (n_queries, n_keys)
    that is the shape of the weights. Multiplied by V, the axis of the keys vanishes.
= (n_keys, d_value)
    that is the shape of V. There is one output for each query, not for each key.
= (d_value, n_queries)
    the axes are the wrong way round: a row belongs to a query.
= (d_value, n_keys)
    that would be V transposed. There is one row for each query.
= (n_keys, n_queries)
    that would be the weights transposed. An output is as long as a value: d_value.
= (n_queries, n_queries)
    an output is as long as a value: the last axis is d_value.
= (n_queries, n_keys, d_value)
    you keep the axis of the keys. The weighted sum adds up over the keys, so that it vanishes.
= (d_value,)
    that is the output of one query. Here are n_queries of them, one a row.
= n_queries * d_value
    that is the number of entries, not the shape: return the lengths of the axes as a tuple.
""")


projection_shape.right("""
(torch.zeros(n, d_model) @ torch.zeros(d_model, d_head)).shape

tuple([n, d_head])
""")


scores_shape.right("""
(torch.zeros(n_queries, d_head) @ torch.zeros(n_keys, d_head).T).shape

n_queries, n_keys
""")


output_shape.right("""
tuple((torch.zeros(n_queries, n_keys) @ torch.zeros(n_keys, d_value)).shape)

n_queries, d_value
""")
