"""Exercises of notebook 02: one-hot look-up, softmax, scores, attention for one token and for all, W_q with W_k."""

import math

import torch

from .engine import exercise

# ---- one_hot


def draw_token_ids(generator):
    """Ids that repeat, the first and last of the vocabulary among them; a sentence of one token; s = v once."""
    yield torch.tensor([2, 6, 8, 3, 1]), 10
    yield torch.tensor([0, 3, 3, 2]), 5
    yield torch.tensor([1]), 3
    yield torch.tensor([3, 0, 3, 1]), 4


@exercise(
    draws=draw_token_ids,
    hints=[
        "How many rows does the result have, and how many columns? How many ones does each row have?",
        "Start from torch.zeros(s, v). For token i of the sentence, which single entry becomes 1?",
        "Row i gets its 1 in column token_ids[i]: a loop does it, or an index pair with torch.arange for the rows, "
        "or the rows of an identity matrix.",
    ],
    names={"the token ids: each needs a row of its own": lambda token_ids, vocabulary_size: token_ids},
    question="The result is (s, v): a row for each of the s tokens, a column for each of the v words. Which of the two "
    "does an index of yours choose, and is it below s or below v?",
)
def one_hot(token_ids, vocabulary_size):
    """One row for each token id (s,), 1 in the column of the id and 0 elsewhere: returns floats (s, v)."""
    return torch.eye(vocabulary_size)[token_ids]


one_hot.mistakes("""
= torch.nn.functional.one_hot(token_ids, vocabulary_size)
    ones and zeros are right, but as integers: a product with float embeddings crashes. .float() converts.
= token_ids[:, None] == torch.arange(vocabulary_size)
    ones and zeros are right, but as True and False: a matrix product needs numbers. .float() converts.
= torch.eye(vocabulary_size)[token_ids].T
    the axes are the wrong way round: one row a token, one column a word of the vocabulary.
= torch.eye(vocabulary_size)[token_ids].sum(0)
    you add the tokens up: the counts of each word. Which token stood where is lost.
rows = torch.zeros(len(token_ids), vocabulary_size)
rows[:, token_ids] = 1
return rows
    you mark all the words of the sentence in every row. Row i has a single 1, for token i.
= torch.ones(len(token_ids), vocabulary_size)
    you fill row i with ones, in every column. Choose the column, too: the token's id.
rows = torch.zeros(len(token_ids), vocabulary_size)
rows[token_ids] = 1
return rows
    you use the ids to choose rows, and fill these with ones. An id chooses the column; the row is the token's
    position.
row = torch.zeros(vocabulary_size)
row[token_ids] = 1
return row
    you mark the words of the sentence in a single row. Each token needs a row of its own.
= torch.eye(vocabulary_size)[token_ids - 1]
    the ones stand one column too far to the left: ids count from 0, so id 0 belongs to column 0.
= torch.eye(vocabulary_size)[(token_ids + 1) % vocabulary_size]
    the ones stand one column too far to the right: id 0 belongs to column 0.
= torch.eye(vocabulary_size)[token_ids + 1]
    you add 1 to the ids, and the last id falls off the end: id 0 belongs to column 0.
= torch.eye(int(token_ids.max()) + 1)[token_ids]
    there are only as many columns as the largest id of this sentence needs. Every sentence gets vocabulary_size
    columns, or its rows do not fit the embedding matrix.
= torch.eye(len(token_ids.unique()))[token_ids.unique(return_inverse=True)[1]]
    there are only as many columns as the sentence has different words. Make it vocabulary_size.
= torch.eye(len(token_ids), vocabulary_size)
    the 1 stands in the column of the token's position. It belongs in the column of its id.
= torch.eye(vocabulary_size)
    you return one row for each word of the vocabulary. Pick the rows of the token ids out of them.
= torch.eye(vocabulary_size)[token_ids] * token_ids[:, None]
    you write the id into its column. A 1 belongs there: id 6 is not six times a word.
= 1 - torch.eye(vocabulary_size)[token_ids]
    ones and zeros are exchanged: the 1 stands in the column of the id, 0 everywhere else.
= (torch.arange(vocabulary_size) <= token_ids[:, None]).float()
    you mark every column up to the id. A single 1 belongs in each row, at the id itself.
= torch.eye(vocabulary_size)[token_ids.sort().values]
    you sort the tokens. Row i belongs to token i of the sentence: the order is part of the meaning.
= torch.eye(vocabulary_size)[token_ids.unique(sorted=False).sort().values]
    you drop repeated tokens. A word that comes twice gets two rows.
= torch.eye(vocabulary_size)[token_ids.flip(0)]
    the rows run backwards: row 0 belongs to the first token.
""")


one_hot.right("""
F.one_hot(token_ids, num_classes=vocabulary_size).float()

rows = torch.zeros(len(token_ids), vocabulary_size)
for i, token_id in enumerate(token_ids):
    rows[i, token_id] = 1
return rows

(token_ids[:, None] == torch.arange(vocabulary_size)).double()

torch.zeros(len(token_ids), vocabulary_size).scatter_(1, token_ids[:, None], 1.0)

rows = torch.zeros(token_ids.shape[0], vocabulary_size)
rows[torch.arange(token_ids.shape[0]), token_ids] = 1.0
return rows
""")


# ---- softmax


def draw_scores(generator):
    """One, two and three axes, a square; scores of ±1000, in one row and from row to row; float64 once."""
    yield (2 * torch.randn(5, generator=generator),)
    yield (2 * torch.randn(4, 4, generator=generator),)
    yield (2 * torch.randn(2, 3, 4, generator=generator),)
    yield (1000 + 2 * torch.randn(4, generator=generator),)
    yield (torch.tensor([1000.0, 0.0, -1000.0, 999.0]),)
    yield (torch.tensor([[1001.0, 1000.0, 999.0], [-1000.0, -1000.5, -1002.0]]),)
    yield (torch.randn(3, 3, 5, generator=generator, dtype=torch.float64),)


@exercise(
    draws=draw_scores,
    hints=[
        "Which function makes any number positive and keeps the order? What do you divide by for a row to sum to 1?",
        "Which axis is a row? Sum over that one, and keep it with keepdim=True, so that the division fits any shape.",
        "exp(1000) is infinite. Subtracting the same number from all the scores of a row does not change the result: "
        "which number makes sure that nothing above exp(0) occurs? .amax(dim=-1, keepdim=True) finds it row by row.",
    ],
    names={"one number a row: did you forget to divide something by it?": lambda scores: scores.sum(-1)},
    question="Does a sum or a maximum lose an axis on the way? keepdim=True keeps it; dim=-1 is the last of any shape.",
)
def softmax(scores):
    """Positive weights that sum to 1 over the last axis, for scores (…, k), large ones included: returns (…, k)."""
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    powers = torch.exp(shifted)
    return powers / powers.sum(dim=-1, keepdim=True)


softmax.mistakes("""
= scores.exp() / scores.exp().sum(-1, keepdim=True)
    right for small scores, but exp overflows: exp(1000) is infinite, and inf / inf is NaN. Subtract each row's
    maximum first: the result stays the same, the overflow goes.
powers = (scores - scores.mean(-1, keepdim=True)).exp()
return powers / powers.sum(-1, keepdim=True)
    you subtract the mean of each row. A row with 1000 and -1000 still overflows: subtract its maximum, then the
    largest power is exp(0) = 1.
powers = (scores - scores.amin(-1, keepdim=True)).exp()
return powers / powers.sum(-1, keepdim=True)
    you subtract the minimum of each row: that makes the large scores larger still. Subtract the maximum.
powers = (scores - scores.max()).exp()
return powers / powers.sum(-1, keepdim=True)
    you subtract one maximum of the whole tensor. In a row far below it every power becomes 0, and 0 / 0 is NaN:
    each row needs its own maximum.
powers = (scores - scores.amax(0)).exp()
return powers / powers.sum(-1, keepdim=True)
    you subtract the maximum over the first axis. In a row far below it every power becomes 0, and 0 / 0 is NaN:
    each row, the last axis, needs its own maximum, dim=-1.
powers = (scores - scores.amax(-1, keepdim=True)).exp()
return powers / powers.sum(0)
    the maximum is subtracted row by row, but the sum runs over the first axis. A row is the last: dim=-1.
= torch.softmax(scores.clamp(-80, 80), -1)
    you clip the scores to avoid the overflow. Then all large scores become equal; subtract the maximum.
= (scores.exp() / scores.exp().sum(-1, keepdim=True)).nan_to_num()
    you replace NaN after the overflow. The weights of large scores are lost; subtract the maximum before.
= scores / scores.sum(-1, keepdim=True)
    exp is missing: negative scores give negative weights, and a sum of 0 would divide by zero.
= torch.softmax(-scores, -1)
    the exponential is of the wrong sign: the largest score gets the smallest weight.
= scores.exp()
    you take exp, and stop there. Divide by the sum of the row, so that its weights sum to 1.
= (scores - scores.amax(-1, keepdim=True)).exp()
    you subtract the maximum and take exp, and stop there. Divide by the sum of the row.
= (scores - scores.amax(-1, keepdim=True)).exp() / scores.exp().sum(-1, keepdim=True)
    you shift the scores above the line only. The sum below it needs the same powers.
= scores.exp() / (scores - scores.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True)
    you shift the scores below the line only. Above it exp overflows, and the weights no longer sum to 1.
= scores.exp() / scores.exp().amax(-1, keepdim=True)
    you divide by the largest power instead of their sum: the largest weight is always 1.
= torch.softmax(scores, 0)
    the weights sum to 1 over the first axis. Each row, the last axis, has to sum to 1: dim=-1.
= scores.exp() / scores.exp().sum(0)
    the weights sum to 1 over the first axis, and exp overflows. Each row, the last axis, has to sum to 1.
= torch.softmax(scores, 1)
    the weights sum to 1 over axis 1. That is the last one of two axes only: dim=-1 is of any shape.
= scores.exp() / scores.exp().sum(1, keepdim=True)
    the weights sum to 1 over axis 1, and exp overflows. The last axis is dim=-1, whatever the shape.
= torch.softmax(scores, -2)
    the weights sum to 1 over the last axis but one. Each row, the last axis, has to sum to 1: dim=-1.
= torch.softmax(scores.flatten(), 0).view(scores.shape)
    all weights together sum to 1. Each row has to: sum over the last axis only.
= scores.exp() / scores.exp().sum()
    all weights together sum to 1, and exp overflows. Each row has to sum to 1: sum over the last axis only.
= torch.nn.functional.softmax(scores)
    you leave the axis to torch, which takes the first one of a tensor with three axes. dim=-1 is the last.
= scores.exp() / scores.exp().sum(-1)
    the sum loses its axis, so the division goes along the columns, or crashes. keepdim=True keeps the axis; and
    exp(1000) overflows: subtract each row's maximum first.
powers = (scores - scores.amax(-1, keepdim=True)).exp()
return powers / powers.sum(-1)
    the sum loses its axis, so the division goes along the columns, or crashes. keepdim=True keeps it.
powers = (scores - scores.amax(-1)).exp()
return powers / powers.sum(-1, keepdim=True)
    the maximum loses its axis, so it is subtracted along the columns, or crashes. keepdim=True keeps it.
powers = (scores - scores.amax(-1)).exp()
return powers / powers.sum(-1)
    maximum and sum lose their axis, so they go along the columns, or crash. keepdim=True keeps it.
= torch.log_softmax(scores, -1)
    those are the logarithms of the weights: negative, and they do not sum to 1.
= torch.logsumexp(scores, -1)
    that is the logarithm of the sum of the powers, one number a row. Return the weights.
= torch.sigmoid(scores)
    the sigmoid squeezes each score alone. In a softmax the scores of a row compete for a sum of 1.
= torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)
    the largest score gets everything. Softmax is soft: each of the others gets its part.
= torch.softmax(scores * math.log(2), -1)
    you take powers of 2, not of e: the weights come out flatter.
= torch.softmax(scores / math.sqrt(scores.shape[-1]), -1)
    you divide the scores by the root of their number first. Scaling is not part of the softmax.
low, high = scores.amin(-1, keepdim=True), scores.amax(-1, keepdim=True)
return (scores - low) / (high - low)
    you shift and divide the scores to a range from 0 to 1. That has neither exp nor a sum of 1.
= scores**2 / (scores**2).sum(-1, keepdim=True)
    you square instead of taking exp: then a score of -3 weighs as much as one of 3.
= scores.abs() / scores.abs().sum(-1, keepdim=True)
    you drop the signs: then a score of -3 weighs as much as one of 3. exp keeps the order.
= scores.relu() / scores.relu().sum(-1, keepdim=True)
    you cut negative scores off at 0 instead of taking exp: their keys can never be attended to.
= scores / scores.norm(dim=-1, keepdim=True)
    you divide by the length of the row as a vector: its squares sum to 1, not its weights. exp is missing.
""")


softmax.right("""
torch.softmax(scores, dim=-1)

(scores - torch.logsumexp(scores, dim=-1, keepdim=True)).exp()

shifted = scores - scores.max(dim=-1, keepdim=True)[0]
return shifted.exp() / shifted.exp().sum(-1).unsqueeze(-1)

rows = scores.reshape(-1, scores.shape[-1])
return torch.stack([torch.exp(r - r.max()) / torch.exp(r - r.max()).sum() for r in rows]).reshape(scores.shape)
""")


# ---- attention_scores


def draw_query_and_keys(generator):
    """e = 8 with five keys, k = e once, a single key, many keys, e = 1, and float64."""
    for k, e, dtype in ((5, 8, None), (4, 4, None), (1, 6, None), (12, 3, None), (3, 1, None), (7, 16, torch.float64)):
        query = torch.randn(e, generator=generator, dtype=dtype)
        yield query, torch.randn(k, e, generator=generator, dtype=dtype)


@exercise(
    draws=draw_query_and_keys,
    hints=[
        "A score is the dot product of the query with one key. How many scores does one query get?",
        "A matrix product gives all of them at once. Its inner axes must both have length e: what comes first, "
        "the query or the keys?",
        "e is the last axis of the keys: keys.shape[-1]. Divide the products by its root.",
    ],
    names={
        "the products entry by entry: did you forget to add them up over e?": lambda query, keys: keys * query,
        "the query: the sum has to run over e, not over the keys": lambda query, keys: query,
    },
    question="Which axis of keys has length e?",
)
def attention_scores(query, keys):
    """Scaled scores of one query (e,) against every key (k, e): returns (k,)."""
    return keys @ query / math.sqrt(keys.shape[-1])


attention_scores.mistakes("""
= keys @ query
    the scores are not divided by √e: they spread more the larger e is, and the softmax saturates.
= keys @ query / keys.shape[-1]
    you divide by e, not by √e. The scores shrink as e grows: at e = 1024 all weights come out nearly equal.
= keys @ query * math.sqrt(keys.shape[-1])
    you multiply by √e instead of dividing: the spread, √e already, becomes e.
= keys @ query / keys.shape[-1] ** 2
    you divide by e²: the root is a square here. √e is e ** 0.5.
= keys @ query / keys.shape[-1] ** 0.25
    you divide by the fourth root of e. Half of the growth is left: is there one root too many?
= keys @ query / 4
    you divide by 4 = √16. 16 is this notebook's e; take e from the shape, math.sqrt(query.shape[-1]), to fit any.
= keys @ query / math.sqrt(keys.shape[0])
    you divide by the root of the number of keys. The spread comes from e, the entries of one key.
= keys @ query / keys.shape[0]
    you divide by the number of keys. The spread comes from e, the entries of one key: √e.
= query @ keys / math.sqrt(keys.shape[-1])
    query @ keys pairs the query with a column of keys, one entry of every key; it crashes where k and e differ.
    Which order puts the axes of length e side by side?
= query @ keys
    query @ keys pairs the query with a column of keys, and the division by √e is missing. Which order puts the axes
    of length e side by side?
= torch.softmax(keys @ query / math.sqrt(keys.shape[-1]), 0)
    you apply softmax already: those are the weights. Return the scores, one step before.
= torch.softmax(keys @ query, 0)
    you apply softmax, and without the division by √e. Return the scores, one step before.
= keys @ query / (keys.norm(dim=1) * query.norm())
    those are cosines: you divide by the magnitudes. A long key may score higher: divide by √e only.
= keys * query / math.sqrt(keys.shape[-1])
    you multiply entry by entry, and stop there. Each key's e products have to be added up.
= (keys * query).sum(0) / math.sqrt(keys.shape[-1])
    you add up over the keys, so that e numbers remain. Each key gets a score: sum over e.
= (keys * query).sum() / math.sqrt(keys.shape[-1])
    you add everything up to a single number. Each key gets a score of its own: sum over e only.
= (keys * query).mean(-1) / math.sqrt(keys.shape[-1])
    you take the mean over e: that divides by e, and then by √e again.
= (keys - query).norm(dim=1)
    those are distances: a key that is alike gets a small one. A dot product gets large.
= (keys @ query).abs() / math.sqrt(keys.shape[-1])
    you drop the signs: a key that points the opposite way scores as high as one that is alike.
= keys @ query[:, None] / math.sqrt(keys.shape[-1])
    the numbers are right, but an axis of length 1 is left over: (k, 1) instead of (k,).
= query[None] @ keys.T / math.sqrt(keys.shape[-1])
    the numbers are right, but an axis of length 1 is left over: (1, k) instead of (k,).
""")


attention_scores.right("""
torch.stack([key @ query for key in keys]) / len(query) ** 0.5

torch.tensor([(key @ query).item() / math.sqrt(query.shape[0]) for key in keys])

query @ keys.T / keys.shape[1] ** 0.5

torch.einsum("e,ke->k", query, keys) * query.shape[-1] ** -0.5

(query / math.sqrt(len(query)) * keys).sum(-1)
""")


# ---- attend


def draw_query_keys_values(generator):
    """v ≠ e, all equal once, a single key, more keys than entries; float64, and once scores too large for exp."""
    sizes = ((5, 8, 6, None), (4, 4, 4, None), (1, 5, 3, None), (9, 2, 5, None), (6, 16, 3, torch.float64))
    for k, e, v, dtype in sizes:
        query = 1.5 * torch.randn(e, generator=generator, dtype=dtype)
        keys = torch.randn(k, e, generator=generator, dtype=dtype)
        yield query, keys, torch.randn(k, v, generator=generator, dtype=dtype)
    yield 1000 * query, keys, torch.randn(k, v, generator=generator, dtype=dtype)


@exercise(
    draws=draw_query_keys_values,
    hints=[
        "Three steps: scores, weights, weighted sum. Which of them have you written before?",
        "The scores (k,) become weights (k,) by a softmax: positive, and they sum to 1. What do the weights multiply?",
        "scores = keys @ query, over √e; weights = softmax of the scores; then the weighted sum of the rows of values.",
    ],
    names={
        "the weights: did you forget the values?": lambda query, keys, values: keys @ query,
        "the weighted rows: did you forget to add them up?": lambda query, keys, values: values,
        "a key: the weighted sum is one of values": lambda query, keys, values: query,
    },
    question={
        r"\bvalues\b": "values (k, v) has a row for each key: which axis has the length k of the weights?",
        "": "Which axis of keys has length e?",
    },
)
def attend(query, keys, values):
    """Attention of one query (e,) over keys (k, e) and values (k, v): returns the output (v,)."""
    scores = keys @ query / math.sqrt(keys.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ values


def weights_of(query, keys):
    """Attention weights of one query (e,) over keys (k, e): returns (k,)."""
    return torch.softmax(keys @ query / math.sqrt(keys.shape[-1]), -1)


attend.mistakes("""
= torch.softmax(keys @ query, -1) @ values
    the scores are not divided by √e: they spread more the larger e is, and one key takes nearly everything.
= torch.softmax(keys @ query / keys.shape[-1], -1) @ values
    you divide the scores by e, not by √e: the larger e, the closer the output to the plain mean of values.
= torch.softmax(keys @ query * math.sqrt(keys.shape[-1]), -1) @ values
    you multiply the scores by √e instead of dividing: one key takes nearly everything.
= torch.softmax(keys @ query / 4, -1) @ values
    you divide the scores by 4 = √16. 16 is this notebook's e; take e from the shape, math.sqrt(query.shape[-1]).
powers = (keys @ query / math.sqrt(keys.shape[-1])).exp()
return powers / powers.sum() @ values
    right for small scores, but exp overflows: exp(1000) is infinite, and inf / inf is NaN. Subtract the largest
    score first, as your softmax does.
= torch.softmax(keys @ query / math.sqrt(keys.shape[0]), -1) @ values
    you divide by the root of the number of keys. The spread of the scores comes from e: keys.shape[-1].
= torch.softmax(keys @ query / math.sqrt(values.shape[-1]), -1) @ values
    you divide by the root of the length of a value. The spread of the scores comes from e: keys.shape[-1].
= torch.softmax(keys @ query, -1) / math.sqrt(keys.shape[-1]) @ values
    you divide the weights by √e, after the softmax: they no longer sum to 1. Divide the scores.
= weights_of(query, keys) / math.sqrt(keys.shape[-1]) @ values
    you divide by √e twice, before the softmax and after it: the weights no longer sum to 1.
= keys @ query / math.sqrt(keys.shape[-1]) @ values
    the softmax is missing: you weight the values with the scores, which may be negative and sum to anything.
= keys @ query @ values
    softmax and scale are missing: you weight the values with the raw dot products.
scores = keys @ query
return scores / scores.sum() @ values
    you divide the scores by their sum. Without exp, weights may be negative, and the sum near zero.
= (keys @ query / math.sqrt(keys.shape[-1])).exp() @ values
    the powers are not divided by their sum: the weights have to sum to 1.
= torch.log_softmax(keys @ query / math.sqrt(keys.shape[-1]), -1) @ values
    you take log_softmax. The weights are its exp: positive, with sum 1.
= torch.sigmoid(keys @ query / math.sqrt(keys.shape[-1])) @ values
    the sigmoid squeezes each score alone. By the softmax the keys compete for a sum of 1.
= torch.softmax(keys @ query / (keys.norm(dim=1) * query.norm()), -1) @ values
    you use cosines as scores. Divide the dot products by √e only: how long a key is matters, too.
= torch.softmax(-keys @ query / math.sqrt(keys.shape[-1]), -1) @ values
    the softmax is of the wrong sign: the key least like the query gets the largest weight.
= weights_of(query, keys)
    you return the weights. They say how much of each value to take: did you forget the values?
= keys @ query / math.sqrt(keys.shape[-1])
    you return the scores. Softmax and values are still to come.
= weights_of(query, keys) @ values, weights_of(query, keys)
    you return output and weights. Return the output only.
= weights_of(query, keys) @ keys
    you add up the keys. Keys are for finding, values for taking: the weighted sum is one of values.
= torch.softmax(values @ query / math.sqrt(query.shape[-1]), -1) @ values
    you compare the query with the values. Keys are for finding, values for taking.
= torch.softmax(values @ query / math.sqrt(query.shape[-1]), -1) @ keys
    keys and values have changed places. Keys are for finding, values for taking.
= weights_of(query, keys)[:, None] * values
    you multiply each value by its weight, and stop there. The k rows still have to be added up.
= (weights_of(query, keys)[:, None] * values).sum(1)
    you weight the rows, and add up over the entries of each. Add up over the keys, the rows: .sum(0).
= (weights_of(query, keys)[:, None] * values).mean(0)
    you take the mean of the weighted values. The weights sum to 1 already: add up, do not divide by k.
= values.mean(0)
    you take the plain mean of the values: the query has no say in it.
= values[(keys @ query).argmax()]
    you take the value of the best key, and nothing of the others. Attention is soft: each has its part.
= torch.softmax(query @ keys / math.sqrt(keys.shape[-1]), -1) @ values
    query @ keys pairs the query with one entry of every key; it crashes where k and e differ. Turn it round.
= values @ weights_of(query, keys)
    values @ weights gives the weights to the columns; it crashes where k and v differ. Turn it round.
= (weights_of(query, keys) * values).sum(0)
    weights * values lines the weights up with the columns. weights[:, None] turns them towards the rows.
= weights_of(query, keys)[None] @ values
    the numbers are right, but an axis of length 1 is left over: (1, v) instead of (v,).
""")


attend.right("""
F.scaled_dot_product_attention(query[None], keys, values)[0]

scores = [key @ query / math.sqrt(len(key)) for key in keys]
powers = [torch.exp(score - max(scores)) for score in scores]
return sum(power / sum(powers) * value for power, value in zip(powers, values))

weights = torch.einsum("e,ke->k", query, keys).div(keys.size(1) ** 0.5).softmax(0)
return torch.einsum("k,kv->v", weights, values)

exercises = catalogue()
weights = exercises["softmax"](exercises["attention_scores"](query, keys))
return exercises["weighted_sum"](weights, values)
""")


# ---- self_attention


def draw_projections(generator):
    """A sentence, a batch, a batch of batches; v ≠ e, all sizes equal; float64, and once scores too large for exp."""
    sizes = (((5, 8), 4, 6, None), ((4, 4), 4, 4, None), ((2, 5, 8), 4, 3, None), ((3, 3, 3), 3, 3, None))
    sizes += (((2, 3, 6), 4, 5, torch.float64), ((2, 3, 4, 6), 5, 3, None))
    for shape, e, v, dtype in sizes:
        d = shape[-1]
        X = torch.randn(shape, generator=generator, dtype=dtype)
        W_q, W_k, W_v = (torch.randn(d, width, generator=generator, dtype=dtype) / math.sqrt(d) for width in (e, e, v))
        yield X, 2 * W_q, W_k, W_v
    yield X[0, 0].double(), 2000 * W_q.double(), W_k.double(), W_v.double()


@exercise(
    draws=draw_projections,
    hints=[
        "Five steps: project three times, score, scale, softmax, weighted sum. What shape comes out of each?",
        "The scores are (…, n, n), one row a query. K needs its last two axes exchanged: what does .T do to three?",
        "K.transpose(-2, -1) exchanges the last two axes of any shape; the softmax runs over the keys, dim=-1; "
        "and what is weighted are the projected values.",
    ],
    names={
        "the weights: did you forget the values?": lambda X, W_q, W_k, W_v: X @ X.mT,
        "X: did you forget to project the values?": lambda X, W_q, W_k, W_v: X,
        "the queries and keys: are the values projected with W_v?": lambda X, W_q, W_k, W_v: X @ W_q,
    },
    question={
        "W_[qkv]": "X is (…, n, d) and the matrices are (d, e) and (d, v): which axes meet in this product?",
        "": "Queries and keys are (…, n, e), values (…, n, v), weights (…, n, n): which axes meet in this line?",
    },
)
def self_attention(X, W_q, W_k, W_v):
    """Self-attention of X (…, n, d) with W_q and W_k (d, e) and W_v (d, v): returns (…, n, v)."""
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    scores = Q @ K.transpose(-2, -1) / math.sqrt(K.shape[-1])  # (…, n, n)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V


def projections(X, W_q, W_k, W_v):
    return X @ W_q, X @ W_k, X @ W_v


def attention(Q, K, V, scale=None):
    """Attention over the last two axes, with another divisor than √e if given."""
    return torch.softmax(Q @ K.mT / (scale or math.sqrt(K.shape[-1])), -1) @ V


self_attention.mistakes("""
Q, K, V = projections(X, W_q, W_k, W_v)
return torch.softmax(Q @ K.T / math.sqrt(K.shape[-1]), -1) @ V
    right for one sentence, but K.T exchanges all the axes, the batch among them. Exchange the last two only:
    K.transpose(-2, -1).
Q, K, V = projections(X, W_q, W_k, W_v)
return torch.softmax(Q @ K.transpose(0, 1) / math.sqrt(K.shape[-1]), -1) @ V
    right for one sentence, but in a batch axis 0 is the batch, and you exchange it with the tokens. Count from the
    end: K.transpose(-2, -1).
Q, K, V = projections(X, W_q, W_k, W_v)
return torch.softmax(Q @ K.transpose(1, 2) / math.sqrt(K.shape[-1]), -1) @ V
    right for a batch, but one sentence has no axis 2. Count from the end: K.transpose(-2, -1).
Q, K, V = projections(X, W_q, W_k, W_v)
return torch.softmax(Q @ K / math.sqrt(K.shape[-1]), -1) @ V
    K is not transposed: its tokens meet the entries of the queries, and it crashes unless n = e.
Q, K, V = projections(X, W_q, W_k, W_v)
return torch.softmax(Q.mT @ K / math.sqrt(K.shape[-1]), -1) @ V
    Q.T @ K sums over the tokens: e x e numbers. A score is the sum over e for two tokens: Q @ K.T.
Q, K, V = projections(X, W_q, W_k, W_v)
return torch.softmax(Q @ K.mT / math.sqrt(K.shape[-1]), -2) @ V
    the softmax runs over the queries, so each column sums to 1. The weights of one query, a row, have to: dim=-1.
Q, K, V = projections(X, W_q, W_k, W_v)
return torch.softmax(Q @ K.mT / math.sqrt(K.shape[-1]), 0) @ V
    the softmax runs over axis 0: the queries of a sentence, and in a batch the sentences. The keys are dim=-1.
Q, K, V = projections(X, W_q, W_k, W_v)
return torch.softmax(Q @ K.mT / math.sqrt(K.shape[-1]), 1) @ V
    right for one sentence, but in a batch axis 1 holds the queries. The keys are always dim=-1.
Q, K, V = projections(X, W_q, W_k, W_v)
return torch.nn.functional.softmax(Q @ K.mT / math.sqrt(K.shape[-1])) @ V
    you leave the softmax's axis to torch, which takes the first one in a batch. The keys are dim=-1.
Q, K, V = projections(X, W_q, W_k, W_v)
scores = Q @ K.mT / math.sqrt(K.shape[-1])
return torch.softmax(scores.flatten(-2), -1).view(scores.shape) @ V
    all weights of a sentence together sum to 1. Each query has a sum of 1 of its own: dim=-1.
= attention(*projections(X, W_q, W_k, W_v), scale=1)
    the scores are not divided by √e: they spread more the larger e is, and the softmax saturates.
= attention(*projections(X, W_q, W_k, W_v), scale=W_k.shape[-1])
    you divide by e, not by √e: the larger e, the more equal all weights become.
= attention(*projections(X, W_q, W_k, W_v), scale=4)
    you divide by 4 = √16. 16 is this notebook's e; take e from the shape, as in math.sqrt(Q.shape[-1]), to fit any.
Q, K, V = projections(X, W_q, W_k, W_v)
powers = (Q @ K.mT / math.sqrt(K.shape[-1])).exp()
return powers / powers.sum(-1, keepdim=True) @ V
    right for small scores, but exp overflows: exp(1000) is infinite, and inf / inf is NaN. Subtract each row's
    maximum first, as your softmax does.
= attention(*projections(X, W_q, W_k, W_v), scale=1 / math.sqrt(W_k.shape[-1]))
    you multiply by √e instead of dividing: the spread of the scores grows to e.
= attention(*projections(X, W_q, W_k, W_v), scale=math.sqrt(X.shape[-1]))
    you divide by √d, d the length of an input. The scores are sums of e products: divide by the root of e = d_head.
= attention(*projections(X, W_q, W_k, W_v), scale=math.sqrt(X.shape[-2]))
    you divide by the root of the number of tokens. The scores are sums of e products: divide by √e.
= attention(*projections(X, W_q, W_k, W_v), scale=math.sqrt(W_v.shape[-1]))
    you divide by the root of the length of a value. The scores are sums of e products: divide by √e.
= attention(*projections(X, W_q, W_k, W_v), scale=1) / math.sqrt(W_k.shape[-1])
    you divide the weights by √e, after the softmax: they no longer sum to 1. Divide the scores.
Q, K, V = projections(X, W_q, W_k, W_v)
return attention(K, Q, V)
    queries and keys have changed roles: K @ Q.T has a row for each key. Rows belong to queries.
Q, K, V = projections(X, W_q, W_k, W_v)
return attention(K, Q, V, scale=1)
    queries and keys have changed roles, and the scores are not divided by √e. Rows belong to queries.
Q, K, V = projections(X, W_q, W_k, W_v)
return torch.softmax(Q @ K.mT / math.sqrt(K.shape[-1]), -1).mT @ V
    you transpose the weights before they meet the values: each value is sent, where it should be asked.
= attention(X @ W_q, X @ W_k, X)
    you weight X itself. The values are projected too: V = X @ W_v.
= attention(X @ W_q, X @ W_k, X, scale=1)
    you weight X, and the scores are not divided by √e. The values are projected too: V = X @ W_v.
= attention(X @ W_q, X @ W_k, X @ W_k)
    you weight the keys. Keys are for finding, values for taking: V = X @ W_v.
= attention(X @ W_q, X @ W_k, X @ W_q)
    you weight the queries. The weights belong to the values: V = X @ W_v.
= attention(X @ W_q, X @ W_q, X @ W_v)
    the keys are projected with W_q: queries and keys are the same. Keys are X @ W_k.
= attention(X @ W_k, X @ W_k, X @ W_v)
    the queries are projected with W_k: queries and keys are the same. Queries are X @ W_q.
= attention(X, X, X @ W_v)
    the scores compare the inputs themselves. Compare their projections, X @ W_q and X @ W_k.
= attention(X, X, X @ W_v, scale=math.sqrt(W_k.shape[-1]))
    the scores compare the inputs themselves, though divided by √e. Compare X @ W_q and X @ W_k.
= attention(X, X, X)
    nothing is projected: W_q, W_k and W_v have no say, and the layer could learn nothing.
= attention(X @ W_q.T, X @ W_k.T, X @ W_v.T)
    you project with the transposed matrices, as x Wᵀ. That is how nn.Linear stores them; here W is (d, e): X @ W.
= attention(W_q @ X, W_k @ X, W_v @ X)
    W @ X mixes the tokens. Tokens are the rows here, so the matrix stands on the right: X @ W.
Q, K, V = projections(X, W_q, W_k, W_v)
return Q @ K.mT / math.sqrt(K.shape[-1]) @ V
    the softmax is missing: scores as weights may be negative, and sum to anything.
Q, K, V = projections(X, W_q, W_k, W_v)
return Q @ K.mT @ V
    softmax and scale are missing: the weights are raw dot products.
Q, K, V = projections(X, W_q, W_k, W_v)
return (Q @ K.mT / math.sqrt(K.shape[-1])).exp() @ V
    the powers are not divided by their sum: each query's weights have to sum to 1.
Q, K, V = projections(X, W_q, W_k, W_v)
return Q @ K.mT / (Q @ K.mT).sum(-1, keepdim=True) @ V
    you divide the scores by their sum. Without exp, weights may be negative, and the sum near zero.
Q, K, _ = projections(X, W_q, W_k, W_v)
return torch.softmax(Q @ K.mT / math.sqrt(K.shape[-1]), -1)
    you return the weights. They say how much of each value to take: did you forget the values?
Q, K, _ = projections(X, W_q, W_k, W_v)
return Q @ K.mT / math.sqrt(K.shape[-1])
    you return the scores. Softmax and values are still to come.
Q, K, V = projections(X, W_q, W_k, W_v)
return attention(Q, K, V), torch.softmax(Q @ K.mT / math.sqrt(K.shape[-1]), -1)
    you return output and weights. Return the output only.
= X @ W_v
    you return the values as they are: no token has looked at another one.
= X + attention(*projections(X, W_q, W_k, W_v))
    you add X to the output. That is a skip connection, a later part of the layer.
= torch.nn.functional.scaled_dot_product_attention(*projections(X, W_q, W_k, W_v), is_causal=True)
    each token sees itself and those before it only. Here every token may attend to all.
= attention(*projections(X, W_q, W_k, W_v)).sum(-2)
    you add up the outputs over the tokens. Each token has an output of its own: (…, n, v).
= attention(*projections(X, W_q, W_k, W_v)).mean(-2)
    you average the outputs over the tokens. Each token has an output of its own: (…, n, v).
""")


self_attention.right("""
F.scaled_dot_product_attention(X @ W_q, X @ W_k, X @ W_v)

Q, K, V = (torch.einsum("...nd,de->...ne", X, W) for W in (W_q, W_k, W_v))
weights = torch.softmax(torch.einsum("...qe,...ke->...qk", Q, K) / K.shape[-1] ** 0.5, dim=-1)
return torch.einsum("...qk,...kv->...qv", weights, V)

scores = X @ W_q @ W_k.T @ X.mT / math.sqrt(W_q.shape[1])
return scores.softmax(-1) @ X @ W_v

if X.ndim > 2:
    return torch.stack([self_attention(x, W_q, W_k, W_v) for x in X])
keys, values = X @ W_k, X @ W_v
return torch.stack([catalogue()["attend"](x @ W_q, keys, values) for x in X])

Q, K, V = F.linear(X, W_q.T), F.linear(X, W_k.T), F.linear(X, W_v.T)
return torch.matmul(F.softmax(torch.matmul(Q / math.sqrt(Q.size(-1)), K.transpose(-1, -2)), dim=-1), V)
""")


# ---- merge_query_key


def draw_query_key_matrices(generator):
    """e below d, above it, equal to it; e = 1; float64 once."""
    for d, e, dtype in ((6, 3, None), (3, 5, None), (4, 4, None), (5, 1, None), (8, 4, torch.float64)):
        W_q = torch.randn(d, e, generator=generator, dtype=dtype)
        yield W_q, torch.randn(d, e, generator=generator, dtype=dtype)


@exercise(
    draws=draw_query_key_matrices,
    hints=[
        "Write Q and K out in Q @ K.T: what stands between X and X.T?",
        "The transpose of a product turns its factors round: (X @ W_k).T = W_k.T @ X.T.",
        "Q @ K.T = (X @ W_q) @ (W_k.T @ X.T). The two matrices in the middle are W, in this order.",
    ],
    names={"W_q.T @ W_k, (e, e). W stands between X and X.T, so it has to be (d, d)": lambda W_q, W_k: W_q.T @ W_k},
    question="W_q and W_k are both (d, e), and W is (d, d): which axis has to vanish?",
)
def merge_query_key(W_q, W_k):
    """The matrix W (d, d) with Q @ K.T = X @ W @ X.T, for W_q and W_k (d, e): returns (d, d)."""
    return W_q @ W_k.T


merge_query_key.mistakes("""
= W_k @ W_q.T
    that is the transpose of W: it gives K @ Q.T, where rows belong to keys. In Q @ K.T the query comes first.
= W_q.T @ W_k
    W_q.T @ W_k is (e, e): right in books that write x as a column and W as (e, d). Here X @ W_q has the tokens in
    rows, so d stays outside and e vanishes.
= W_k.T @ W_q
    W_k.T @ W_q is (e, e). Here X @ W_q has the tokens in rows, so d stays outside and e vanishes; and the query
    comes first.
= W_q * W_k
    you multiply entry by entry. Q @ K.T holds a product of matrices, whose inner axes vanish.
= W_q + W_k
    you add the matrices. Q @ K.T multiplies them: double W_q, and every score doubles.
= W_q @ W_k
    neither matrix is transposed: it works for e = d only. What becomes of W_k in K.T?
= W_q.T @ W_k.T
    both matrices are transposed: it works for e = d only. Which of the two is transposed in Q @ K.T?
= W_k @ W_q
    W_k @ W_q works for e = d only. In Q @ K.T the query comes first; and what becomes of W_k in K.T?
= W_q @ W_k.T / math.sqrt(W_q.shape[-1])
    you divide by √e. The scale is a step of its own: here Q @ K.T is to come out as it is.
= W_q @ W_k.T / math.sqrt(W_q.shape[0])
    you divide by √d. Q @ K.T is to come out as it is, unscaled.
= (W_q @ W_k.T + W_k @ W_q.T) / 2
    you make W symmetric. Then i would attend to j as j does to i; query and key have different roles.
= W_q @ W_q.T
    you use W_q twice: W_q @ W_q.T. The key has a matrix of its own.
= W_k @ W_k.T
    you use W_k twice: W_k @ W_k.T. The query has a matrix of its own.
= torch.cat([W_q, W_k], dim=-1)
    you put the matrices side by side. Q @ K.T multiplies them: double W_q, and every score doubles.
= torch.softmax(W_q @ W_k.T, -1)
    you apply a softmax. The weights come later, from scores; W is the plain product.
""")


merge_query_key.right("""
torch.einsum("de,fe->df", W_q, W_k)

sum(torch.outer(W_q[:, i], W_k[:, i]) for i in range(W_q.shape[1]))

torch.matmul(W_q, W_k.transpose(0, 1))

F.linear(W_q, W_k)
""")
