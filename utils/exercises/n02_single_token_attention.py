"""Exercises of notebook 02: one-hot look-up, softmax, scores, attention for one token and for all, W_q with W_k."""

import math

import torch

from .engine import exercise


def draw_token_ids(generator):
    """Ids that repeat, the first and last of the vocabulary among them; a sentence of one token; s = v; any."""
    yield torch.tensor([2, 6, 8, 3, 1]), 10
    yield torch.tensor([0, 3, 1, 3]), 6
    yield torch.tensor([1]), 3
    yield torch.tensor([3, 0, 3, 1]), 4
    for s, v in ((3, 7), (5, 8)):
        yield torch.randint(v, (s,), generator=generator), v


@exercise(
    draws=draw_token_ids,
    hints=[
        "How many rows does the result have, and how many columns? How many ones does each row have?",
        "Start from torch.zeros(s, v). For token i of the sentence, which single entry becomes 1?",
        "Row i gets its 1 in column token_ids[i]: by a loop, by an index pair with torch.arange for the rows, or as a row of an identity matrix.",
    ],
    names={"the token ids: each needs a row of its own": lambda token_ids, vocabulary_size: token_ids},
    question="The result is (s, v): a row for each of the s tokens, a column for each of the v words. Which of the two does an index of yours choose, and is it below s or below v?",
)
def one_hot(token_ids, vocabulary_size):
    """One row for each token id (s,), 1 in the column of the id and 0 elsewhere: returns floats (s, v)."""
    return torch.eye(vocabulary_size)[token_ids]


one_hot.mistakes("""
= torch.zeros(len(token_ids), vocabulary_size)
    there are zeros only. In each row one entry has to become 1: the one in the column of the token's id.
= torch.ones(len(token_ids), vocabulary_size)
    you fill row i with ones, in every column. Choose the column, too: the token's id.
] -> ].long()
    the ones and zeros are integers: a product with float embeddings crashes. .float() converts.
] -> ].bool()
    the entries are True and False: a matrix product needs numbers. .float() converts.
] -> ].T
    the axes are the wrong way round: one row a token, one column a word of the vocabulary.
] -> ].amax(0)
    you mark the words of the sentence in a single row. Each token needs a row of its own.
] -> ].amax(0).expand(len(token_ids), -1)
    you mark all the words of the sentence in every row. Row i has a single 1, for token i.
= torch.zeros(len(token_ids), vocabulary_size).index_put((torch.tensor(0), token_ids), torch.tensor(1.0))
    all the ones stand in row 0, and the other rows are empty. Token i has its 1 in row i.
= torch.zeros(len(token_ids), vocabulary_size).index_put((token_ids, token_ids), torch.tensor(1.0))
    the id chooses both row and column. It is the column alone; the row is the token's position in the sentence.
= torch.zeros(len(token_ids), vocabulary_size).index_fill(0, token_ids, 1)
    you use the ids to choose rows, and fill these with ones. An id chooses the column; the row is the token's position.
] -> ] * (torch.arange(len(token_ids)) < len(token_ids) - 1)[:, None]
    the last row is empty: does a loop end one too early? range(len(token_ids)) reaches every token.
] -> ] * (torch.arange(len(token_ids)) > 0)[:, None]
    row 0 is empty: does a loop begin one too late? range(len(token_ids)) begins at 0.
] -> ] * token_ids[:, None]
    you write the id into its column. A 1 belongs there: id 6 is not six times a word.
[token_ids] ->
    you return one row for each word of the vocabulary. Pick the rows of the token ids out of them.
token_ids -> torch.arange(len(token_ids))
    the 1 stands in the column of the token's position. It belongs in the column of its id.
token_ids -> token_ids - 1
    the ones stand one column too far to the left: ids count from 0, so id 0 belongs to column 0.
token_ids -> (token_ids + 1) % vocabulary_size
    the ones stand one column too far to the right: id 0 belongs to column 0.
token_ids -> token_ids.sort().values
    you sort the tokens. Row i belongs to token i of the sentence: the order is part of the meaning.
token_ids -> token_ids.unique()
    you drop repeated tokens. A word that comes twice gets two rows.
vocabulary_size -> int(token_ids.max()) + 1
    there are only as many columns as the largest id of this sentence needs. Every sentence gets vocabulary_size columns, or its rows do not fit the embedding matrix.
vocabulary_size -> 10
    there are 10 columns, whatever the vocabulary. 10 is the size in one example: make it vocabulary_size.
= torch.eye(len(token_ids.unique()))[token_ids.unique(return_inverse=True)[1]]
    there are only as many columns as the sentence has different words. Make it vocabulary_size.
= (torch.arange(vocabulary_size) == token_ids).float()
    you pair ids and words one by one. Each id is compared with each word: token_ids[:, None] has an axis for the words.
= (torch.arange(vocabulary_size) <= token_ids[:, None]).float()
    you mark every column up to the id. A single 1 belongs in each row, at the id itself.
""")
one_hot.right("""
F.one_hot(token_ids, num_classes=vocabulary_size).float()

rows = torch.zeros(len(token_ids), vocabulary_size)
for i, token_id in enumerate(token_ids):
    rows[i, token_id] = 1
return rows

(token_ids[:, None] == torch.arange(vocabulary_size)).double()

torch.zeros(len(token_ids), vocabulary_size).scatter_(1, token_ids[:, None], 1.0)
""")


def draw_scores(generator):
    """One, two and three axes, a square, single scores; ±1000, in one row and from row to row; -∞; float64 once."""
    for shape in ((5,), (4, 4), (2, 3, 4), (3, 1)):
        yield (2 * torch.randn(shape, generator=generator),)
    yield (1000 + 2 * torch.randn(4, generator=generator),)
    yield (torch.tensor([1000.0, 0.0, -1000.0, 999.0]) + torch.rand(4, generator=generator),)
    yield (torch.tensor([[1000.0], [-1000.0]]) + torch.randn(2, 3, generator=generator),)
    yield (torch.randn(4, 4, generator=generator).fill_diagonal_(-math.inf),)
    yield (torch.randn(3, 3, 5, generator=generator, dtype=torch.float64),)


@exercise(
    draws=draw_scores,
    hints=[
        "Which function makes any number positive and keeps the order? What do you divide by for a row to sum to 1?",
        "Which axis is a row? Sum over that one, and keep it with keepdim=True, so that the division fits any shape.",
        "exp(1000) is infinite. Subtracting the same number from all the scores of a row changes nothing: which number lets nothing above exp(0) occur? .amax(dim=-1, keepdim=True) finds it row by row.",
    ],
    names={"one number a row: did you forget to divide something by it?": lambda scores: scores.sum(-1)},
    question="Does a sum or a maximum lose an axis on the way? keepdim=True keeps it; dim=-1 is the last of any shape.",
    level=2,
    minutes=10,
)
def softmax(scores):
    """Positive weights that sum to 1 over the last axis, for scores (…, k), large ones included: returns (…, k)."""
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    powers = torch.exp(shifted)
    return powers / powers.sum(dim=-1, keepdim=True)


softmax.mistakes("""
- scores.amax(dim=-1, keepdim=True) ->
    exp overflows: exp(1000) is infinite, and inf / inf is NaN. Subtract each row's maximum first: the result stays the same, the overflow goes.
/ powers.sum(dim=-1, keepdim=True) ->
    the powers are not divided by the sum of their row: the weights of a row have to sum to 1.
torch.exp(shifted) -> scores
    exp is missing: negative scores give negative weights, and a sum of 0 would divide by zero.
= torch.softmax(scores, 0)
    the weights sum to 1 over the first axis. Each row, the last axis, has to sum to 1: dim=-1.
= torch.softmax(scores, 1)
    the weights sum to 1 over axis 1. That is the last one of two axes only: dim=-1 is of any shape.
= torch.softmax(scores, -2)
    the weights sum to 1 over the last axis but one. Each row, the last axis, has to sum to 1: dim=-1.
= torch.softmax(scores.flatten(), 0).view(scores.shape)
    all numbers are treated as one long row, whose weights sum to 1 together. Each row has a maximum and a sum of its own, over the last axis.
= torch.nn.functional.softmax(scores)
    you leave the axis to torch, which takes the first one of a tensor with three axes. dim=-1 is the last.
= torch.stack([torch.softmax(row, -1) for row in scores])
    you loop over the first axis: of a single row, scores (k,), that takes each score alone. Without a loop, dim=-1 fits any number of axes.
= torch.stack([torch.softmax(row, 0) for row in scores])
    you loop over the first axis, as if its entries were rows. Only in a matrix they are: without a loop, dim=-1 fits any number of axes.
= torch.softmax(scores.reshape(len(scores), -1), -1).reshape(scores.shape)
    the weights sum to 1 for each entry of the first axis. That is a row in a matrix only: the rows of any shape lie along dim=-1.
powers = [math.exp(score - max(scores)) for score in scores]
return torch.tensor([power / sum(powers) for power in powers])
    you go through the scores one by one, as if there were a single row. torch.exp, amax and sum with dim=-1 do it for any number of axes.
sum(dim=-1, keepdim=True) -> sum(dim=-1)
    the sum loses its axis, so the division goes along the columns, or crashes. keepdim=True keeps it.
amax(dim=-1, keepdim=True) -> amax(dim=-1)
    the maximum loses its axis, so it is subtracted along the columns, or crashes. keepdim=True keeps it.
sum(dim=-1 -> sum(dim=0
    the sum runs over the first axis. A row is the last: dim=-1.
sum(dim=-1 -> sum(dim=1
    the sum runs over axis 1, which is the last one of two axes only. dim=-1 is the last of any shape.
powers.sum(dim=-1, keepdim=True) -> powers.sum()
    you divide by the sum of all the numbers. Each row has a sum of its own: over the last axis only.
amax(dim=-1 -> amax(dim=0
    you subtract the maximum over the first axis. In a row far below it every power becomes 0, and 0 / 0 is NaN: each row, the last axis, needs its own maximum, dim=-1.
scores.amax(dim=-1, keepdim=True) -> scores.max()
    you subtract one maximum of the whole tensor. In a row far below it every power becomes 0, and 0 / 0 is NaN: each row needs its own maximum.
scores.amax(dim=-1, keepdim=True) -> 100
    you subtract the same number everywhere. That helps scores near it alone: each row needs its own maximum.
amax -> mean
    you subtract the mean of each row. A row with 1000 and -1000 still overflows: subtract its maximum, then the largest power is exp(0) = 1.
amax -> amin
    you subtract the minimum of each row: that makes the large scores larger still. Subtract the maximum.
scores - -> scores /
    you divide by the maximum, which changes the weights. Subtract it: that changes nothing but the size of the powers.
torch.exp(shifted) -> torch.exp(scores.clamp(-80, 80))
    you clip the scores to avoid the overflow. Then all large scores become equal; subtract the maximum.
powers.sum -> powers.norm
    you divide by the length of the row as a vector: its squares sum to 1, not its weights.
powers.sum( -> torch.exp(scores).sum(
    you shift the scores above the line only. The sum below it needs the same powers.
return powers / -> return torch.exp(scores) /
    you shift the scores below the line only. Above it exp overflows, and the weights no longer sum to 1.
torch.exp(shifted) -> torch.exp(-shifted)
    the difference is turned round, the maximum minus the score: the largest score gets the smallest weight.
torch.exp(shifted) -> (torch.exp(scores) - scores.amax(dim=-1, keepdim=True))
    you subtract the maximum after exp, when it has overflowed already. Subtract it from the scores.
torch.exp(shifted) -> torch.exp(2 * shifted)
    you double the scores, or square their powers. That makes the weights more decided: take the scores as they are.
torch.exp(shifted) -> torch.exp(shifted / math.sqrt(scores.shape[-1]))
    you divide the scores by the root of their number first. Scaling is not part of the softmax.
= torch.softmax(scores / scores.norm(dim=-1, keepdim=True), -1)
    you give each row of scores the length 1 before the softmax. Take them as they are: larger scores are more decided.
torch.exp(shifted) -> 2**shifted
    you take powers of 2, not of e: the weights come out flatter.
torch.exp(shifted) -> torch.sigmoid(scores)
    the sigmoid squeezes each score alone. In a softmax the scores of a row compete, by exp, for a sum of 1.
torch.exp(shifted) -> torch.tanh(scores)
    tanh squeezes each score alone, and gives negative weights. exp makes any number positive.
torch.exp(shifted) -> scores**2
    you square instead of taking exp: then a score of -3 weighs as much as one of 3.
torch.exp(shifted) -> scores.abs()
    you drop the signs: then a score of -3 weighs as much as one of 3. exp keeps the order.
torch.exp(shifted) -> scores.relu()
    you cut negative scores off at 0 instead of taking exp: their keys can never be attended to.
= torch.log_softmax(scores, -1)
    those are the logarithms of the weights: negative, and they do not sum to 1.
= (scores - scores.amin(-1, keepdim=True)) / (scores.amax(-1, keepdim=True) - scores.amin(-1, keepdim=True))
    you shift and divide the scores to a range from 0 to 1. That has neither exp nor a sum of 1.
""")
softmax.right("""
torch.softmax(scores, dim=-1)

(scores - torch.logsumexp(scores, dim=-1, keepdim=True)).exp()

shifted = scores - scores.max(dim=-1, keepdim=True)[0]
return shifted.exp() / shifted.exp().sum(-1).unsqueeze(-1)

rows = scores.reshape(-1, scores.shape[-1])
return torch.stack([torch.exp(r - r.max()) / torch.exp(r - r.max()).sum() for r in rows]).reshape(scores.shape)
""")


def draw_query_and_keys(generator):
    """e = 8 with five keys, k = e once, a single key, many keys, e = 1, and float64."""
    for k, e, dtype in ((5, 8, None), (4, 4, None), (1, 6, None), (12, 3, None), (3, 1, None), (7, 16, torch.float64)):
        query = torch.randn(e, generator=generator, dtype=dtype)
        yield query, torch.randn(k, e, generator=generator, dtype=dtype)


@exercise(
    draws=draw_query_and_keys,
    hints=[
        "A score is the dot product of the query with one key. How many scores does one query get?",
        "A matrix product gives all of them at once. Its inner axes must both have length e: what comes first, the query or the keys?",
        "e is the last axis of the keys: keys.shape[-1]. Divide the products by its root.",
    ],
    names={"the query: the sum has to run over e, not over the keys": lambda query, keys: query},
    question="Which axis of keys has length e?",
)
def attention_scores(query, keys):
    """Scaled scores of one query (e,) against every key (k, e): returns (k,)."""
    return keys @ query / math.sqrt(keys.shape[-1])


SCALE = """
/ math.sqrt({keys}.shape[-1]) ->
    the scores are not divided by √e: they spread more the larger e is, and the softmax saturates.
    https://github.com/delzac/cntkx/issues/10
math.sqrt ->
    you divide by e, not by √e (√e twice is e, too). The scores shrink as e grows: all weights come out nearly equal.
/ -> *
    you multiply by √e instead of dividing: the spread of the scores, √e already, becomes e.
    https://github.com/esceptico/perceiver-io/issues/9
math.sqrt({keys}.shape[-1]) -> {keys}.shape[-1] ** 2
    you divide by e²: the root is a square here. √e is e ** 0.5.
math.sqrt({keys}.shape[-1]) -> {keys}.shape[-1] ** 0.25
    you divide by the fourth root of e. Half of the growth is left: is there one root too many?
{keys}.shape[-1] -> 16
    you divide by 4 = √16. 16 is this notebook's e; take e from the shape, as in math.sqrt(x.shape[-1]), to fit any.
{keys}.shape[-1] -> 64
    you divide by 8 = √64. That fits e = 64 alone; take e from the shape, as in math.sqrt(x.shape[-1]), to fit any.
{keys}.shape[-1] -> {keys}.shape[-2]
    you divide by the root of the number of keys. The scores are sums of e products, however many there are: √e.
math.sqrt({keys}.shape[-1]) -> {keys}.shape[-2]
    you divide by the number of keys. The spread comes from e, the entries of one key: √e.
"""
VECTORS = """
keys @ query -> query @ keys
    query @ keys pairs the query with a column of keys, one entry of every key; it crashes where k and e differ. Which order puts the axes of length e side by side?
math.sqrt(keys.shape[-1]) -> (keys.norm(dim=-1) * query.norm())
    those are cosines: you divide by the magnitudes. A long key may score higher: divide by √e only.
query -> (query / query.norm())
    you give the query the length 1. Its length matters: take it as it is.
keys @ -> keys / keys.norm(dim=-1, keepdim=True) @
    you give each key the length 1. A long key may score higher: take the keys as they are.
math.sqrt(keys.shape[-1]) -> (keys @ query).std()
    you divide by the spread of these very scores. The same number for every query, √e, keeps a strong query strong.
keys @ query -> (keys - query).norm(dim=-1)
    those are distances: a key that is alike gets a small one. A dot product gets large.
"""
attention_scores.mistakes(SCALE.format(keys="keys") + VECTORS)
attention_scores.mistakes("""
keys @ query -> torch.softmax(keys @ query, 0)
    a softmax comes before the division. Return the scores, before any softmax.
keys @ query -> keys * query
    you multiply entry by entry, and stop there. Each key's e products have to be added up.
keys @ query -> (keys * query).sum()
    you add everything up to a single number. Each key gets a score of its own: sum over e only.
keys @ query -> (keys * query).sum(0)
    you add up over the keys, so that e numbers remain. Each key gets a score: sum over e.
keys @ query -> keys.sum(-1) * query.sum()
    you add up first and multiply after. Multiply entry by entry first: (1 + 2) (3 + 4) is not 1 · 3 + 2 · 4.
keys @ query -> torch.stack([keys[i] @ query for i in range(len(query))])
    your loop has a round for each of the e entries of the query. It takes one for each key: range(len(keys)).
""")
attention_scores.right("""
torch.stack([key @ query for key in keys]) / len(query) ** 0.5

torch.tensor([(key @ query).item() / math.sqrt(query.shape[0]) for key in keys])

query @ keys.T / keys.shape[1] ** 0.5

torch.einsum("e,ke->k", query, keys) * query.shape[-1] ** -0.5
""")


def draw_query_keys_values(generator):
    """v ≠ e, all equal once, a single key, v = 1; float64, and once scores too large for exp."""
    sizes = ((5, 8, 6, None), (4, 4, 4, None), (1, 5, 3, None), (9, 2, 5, None), (3, 4, 1, None))
    for k, e, v, dtype in (*sizes, (6, 16, 3, torch.float64)):
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
        "value": "values (k, v) has a row for each key: which axis has the length k of the weights?",
        "key|query": "Which axis of keys has length e?",
    },
    level=2,
    minutes=10,
)
def attend(query, keys, values):
    """Attention of one query (e,) over keys (k, e) and values (k, v): returns the output (v,)."""
    scores = keys @ query / math.sqrt(keys.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ values


WEIGHTS = """
{keys}.shape[-1] -> 8
    you divide by √8. 8 is e in one example; take e from the shape, as in math.sqrt(x.shape[-1]), to fit any.
torch.softmax(scores, dim=-1) -> scores.exp() / scores.exp().sum(-1, keepdim=True)
    exp overflows: exp(1000) is infinite, and inf / inf is NaN. Subtract each row's maximum first, as your softmax does.
torch.softmax(scores, dim=-1) -> scores
    the softmax is missing: you weight with the scores, which may be negative and sum to anything.
torch.softmax(scores, dim=-1) -> scores.exp()
    the powers are not divided by their sum: the weights of a query have to sum to 1.
torch.softmax(scores, dim=-1) -> scores.exp() / scores.shape[-1]
    you divide the powers by their number. Divide by their sum: the weights of a query have to sum to 1.
torch.softmax(scores, dim=-1) -> scores / scores.sum(-1, keepdim=True)
    you divide the scores by their sum. Without exp, weights may be negative, and the sum near zero.
torch.softmax(scores, dim=-1) -> torch.log_softmax(scores, -1)
    you take log_softmax. The weights are its exp: positive, with sum 1.
torch.softmax(scores, dim=-1) -> torch.sigmoid(scores)
    the sigmoid squeezes each score alone. By the softmax the keys compete for a sum of 1.
torch.softmax(scores, dim=-1) -> F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)
    you take the value of the best key, and nothing of the others. Attention is soft: each has its part.
torch.softmax(scores, dim=-1) -> torch.ones_like(scores)
    all weights are 1. Does a softmax run over an axis of length 1, or do you add up what sums to 1 already? There is one weight a key, and together they sum to 1.
torch.softmax(scores, dim=-1) -> torch.ones_like(scores) / scores.shape[-1]
    you take the plain mean of the values: the query has no say in it.
torch.softmax(scores -> torch.softmax(-scores
    the scores have the wrong sign: the key least like the query gets the largest weight.
torch.softmax(scores -> torch.softmax(scores / 2
    the scores are divided by 2 once more. √e alone is the scale.
return weights @ -> return torch.softmax(weights, dim=-1) @
    there are two softmaxes: the second one makes the weights nearly equal.
return weights @ -> return weights / math.sqrt({keys}.shape[-1]) @
    you divide by √e after the softmax: then the weights no longer sum to 1. The division belongs to the scores.
torch.softmax(scores, dim=-1) -> scores
return weights @ {values} -> return torch.softmax(weights @ {values}, dim=-1)
    you take the softmax of the output. It is the scores that become weights, before they meet the values.
@ {values} ->
    you return the weights. They say how much of each value to take: did you forget the values?
torch.softmax(scores, dim=-1) -> scores
@ {values} ->
    you return the scores. Softmax and values are still to come.
@ {values} -> @ {values}, weights
    you return output and weights. Return the output only.
return weights @ -> return weights, weights @
    you return weights and output. Return the output only.
"""
attend.mistakes(SCALE.format(keys="keys") + WEIGHTS.format(keys="keys", values="values") + VECTORS)
attend.mistakes("""
keys.shape[-1] -> values.shape[-1]
    you divide by the root of the length of a value. The spread of the scores comes from e: keys.shape[-1].
keys @ query -> values @ query
    you compare the query with the values. Keys are for finding, values for taking.
@ values -> @ keys
    you add up the keys. Keys are for finding, values for taking: the weighted sum is one of values.
@ values -> @ (values - values.mean(0))
    you subtract the mean of the values. The weights average them as they are.
@ values -> @ torch.softmax(values, 0)
    you take a softmax of the values. It is the scores that become weights; values are averaged as they are.
weights @ values -> weights[:, None] * values
    you multiply each value by its weight, and stop there. The k rows still have to be added up.
weights @ values -> (weights[:, None] * values).sum(1)
    you weight the rows, and add up over the entries of each. Add up over the keys, the rows: .sum(0).
weights @ values -> (weights[:, None] * values).mean(0)
    you take the mean of the weighted values. The weights sum to 1 already: add up, do not divide by k.
weights @ values -> weights[:-1] @ values[:-1]
    the last value is left out: does a loop end one too early? range(len(values)) reaches them all.
weights @ values -> weights[-1] * values[-1]
    only the last weighted value comes out: does each round of a loop overwrite the one before? Add them up.
weights @ values -> values @ weights
    values @ weights gives the weights to the columns; it crashes where k and v differ. Turn it round.
weights @ values -> (weights * values).sum(0)
    weights * values lines the weights up with the columns. weights[:, None] turns them towards the rows.
""")
attend.right("""
F.scaled_dot_product_attention(query[None], keys, values)[0]

scores = [key @ query / math.sqrt(len(key)) for key in keys]
powers = [torch.exp(score - max(scores)) for score in scores]
return sum(power / sum(powers) * value for power, value in zip(powers, values))

weights = torch.einsum("e,ke->k", query, keys).div(keys.size(1) ** 0.5).softmax(0)
return torch.einsum("k,kv->v", weights, values)

catalogue()["weighted_sum"](softmax(attention_scores(query, keys)), values)
""")


def draw_projections(generator):
    """A sentence, a batch, a batch of batches; all sizes equal; n, v and b of 1; float64, and scores too large for exp."""
    sizes = (((5, 8), 4, 6, None), ((4, 4), 4, 4, None), ((2, 5, 8), 4, 3, None), ((3, 3, 3), 3, 3, None))
    sizes += (((2, 1, 6), 4, 1, None), ((1, 3, 6), 4, 5, torch.float64), ((2, 3, 4, 6), 5, 3, None))
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
self_attention.mistakes("""
K.shape[-1] -> X.shape[-1]
    you divide by √d, d the length of an input. The scores are sums of e products: divide by the root of e = d_head.
    https://github.com/karpathy/ng-video-lecture/pull/6
K.shape[-1] -> V.shape[-1]
    you divide by the root of the length of a value. The scores are sums of e products: divide by √e.
K.shape[-1] -> len(K)
    you divide by the root of the length of the first axis: the tokens, or in a batch the sentences. e is the last axis, K.shape[-1].
K.shape[-1] -> K.shape[1]
    K.shape[1] is e in one sentence, but the number of tokens in a batch. Count from the end: shape[-1].
.transpose(-2, -1) -> .T
    .T exchanges all the axes, in a batch that of the sentences, too. Exchange the last two only: K.transpose(-2, -1).
(-2, -1) -> (0, 1)
    in a batch axis 0 holds the sentences, and you exchange it with the tokens. Exchange the last two only: K.transpose(-2, -1).
.transpose(-2, -1) -> .permute(0, 2, 1)
    the number of axes varies, and this fits a batch alone, (b, n, d). Count from the end, as in K.transpose(-2, -1), without a loop: @ takes any number of axes.
.transpose(-2, -1) ->
    K is not transposed: its tokens meet the entries of the queries, and it crashes unless n = e.
.transpose(-2, -1) -> .reshape(*K.shape[:-2], K.shape[-1], K.shape[-2])
    reshape cuts the numbers of K into other rows; it exchanges no axes. K.transpose(-2, -1) does.
Q @ K.transpose(-2, -1) -> K @ Q.mT
    queries and keys have changed roles: K @ Q.T has a row for each key. Rows belong to queries.
Q @ -> torch.softmax(Q, dim=-1) @
torch.softmax(scores, dim=-1) -> scores
    you take the softmax of the queries, before they have met a key. It is the scores that become weights.
dim=-1 -> dim=-2
    the softmax runs over the queries, so each column sums to 1. The weights of one query, a row, have to: dim=-1.
dim=-1 -> dim=0
    the softmax runs over axis 0: the queries of a sentence, and in a batch the sentences. The keys are dim=-1.
dim=-1 -> dim=1
    the softmax runs over axis 1. In a batch that holds the queries: the keys are always dim=-1.
torch.softmax(scores, dim=-1) -> F.softmax(scores)
    you leave the softmax's axis to torch, which takes the first one in a batch. The keys are dim=-1.
torch.softmax(scores, dim=-1) -> torch.softmax(scores.flatten(-2), -1).view(scores.shape)
    all weights of a sentence together sum to 1. Each query has a sum of 1 of its own: dim=-1.
torch.softmax(scores, dim=-1) -> torch.softmax(scores.flatten(), -1).view(scores.shape)
    all weights of all sentences together sum to 1. Each query has a sum of 1 of its own: dim=-1.
torch.softmax(scores, dim=-1) -> (p := (scores - scores.amax(-1, keepdim=True)).exp()) / p.sum()
    you divide by the sum of all the powers. Each query has a sum of its own: .sum(dim=-1, keepdim=True).
torch.softmax(scores, dim=-1) -> scores.exp() / scores.exp().sum(-1)
    the sum of the powers loses its axis, so the division goes along the columns. keepdim=True keeps it; and subtract the maximum of each row before exp.
torch.softmax(scores -> torch.softmax(scores + torch.full_like(scores, -math.inf).triu(1)
    each token sees itself and those before it only. Here every token may attend to all.
torch.softmax(scores -> torch.softmax(scores + torch.diag_embed(torch.full_like(scores[..., 0], -math.inf))
    no token attends to itself: the diagonal is left out. Here every token may attend to all, itself included.
weights @ V -> weights.mT @ V
    you transpose the weights before they meet the values: each value is sent, where it should be asked.
weights @ V -> X + weights @ V
    you add X to the output. That is a skip connection, a later part of the layer.
X @ W_v -> X
    you weight X itself. The values are projected too: V = X @ W_v.
X @ W_v -> X @ W_k
    you weight the keys. Keys are for finding, values for taking: V = X @ W_v.
X @ W_v -> X @ W_q
    you weight the queries. The weights belong to the values: V = X @ W_v.
X @ W_k -> X @ W_q
    the keys are projected with W_q: queries and keys are the same. Keys are X @ W_k.
X @ W_q -> X @ W_k
    the queries are projected with W_k: queries and keys are the same. Queries are X @ W_q.
X @ W_q, X @ W_k -> X, X
    the scores compare the inputs themselves. Compare their projections, X @ W_q and X @ W_k.
X @ W_q, X @ W_k, X @ W_v -> X, X, X
    nothing is projected: W_q, W_k and W_v have no say, and the layer could learn nothing.
X @ W_q, X @ W_k, X @ W_v -> X @ W_q.T, X @ W_k.T, X @ W_v.T
    you project with the transposed matrices, as x Wᵀ. That is how nn.Linear stores them; here W is (d, e): X @ W.
X @ W_q, X @ W_k, X @ W_v -> W_q @ X, W_k @ X, W_v @ X
    W @ X mixes the tokens. Tokens are the rows here, so the matrix stands on the right: X @ W.
= X @ W_v
    you return the values as they are: no token has looked at another one.
= self_attention(X.reshape(-1, X.shape[-1]), W_q, W_k, W_v).reshape(*X.shape[:-1], -1)
    you put all sentences behind each other, so that tokens attend across sentences. Each sentence is on its own: keep the axes in front.
= torch.stack([attend(x @ W_q, X @ W_k, X @ W_v) for x in X])
    your loop is right for one sentence. In a batch its rounds are sentences, not tokens: whole tensors with @, without a loop, fit any number of axes.
= torch.stack([attend(x @ W_q, x @ W_k, x @ W_v) for x in X])
    you make query and keys of the same x. attend takes one query, (e,), and the keys of all tokens, (n, e); and in a batch, x is a sentence.
= torch.softmax((X[0] @ W_q) @ (X[0] @ W_k).mT / math.sqrt(W_k.shape[-1]), -1) @ (X[0] @ W_v)
    you use X[0] alone: the first sentence of a batch, or of one sentence the first token. Every token of X asks, and is asked.
= attend(X[0] @ W_q, X @ W_k, X @ W_v)
    only the first token asks. Each token has a query of its own: Q = X @ W_q, (…, n, e).
= torch.stack([torch.softmax((x @ W_q) @ (x @ W_k).mT / math.sqrt(W_k.shape[-1]), -1) @ (x @ W_v) for x in X])
    your loop goes through a batch. Of one sentence, X (n, d), each round gets a token alone: without a loop, @ fits any number of axes.
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
return torch.stack([attend(x @ W_q, X @ W_k, X @ W_v) for x in X])
""")


def draw_query_key_matrices(generator):
    """e below d, above it, equal to it; e = 1, d = 1; float64 once."""
    for d, e, dtype in ((6, 3, None), (3, 5, None), (4, 4, None), (5, 1, None), (1, 2, None), (8, 4, torch.float64)):
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
    level=2,
    minutes=5,
)
def merge_query_key(W_q, W_k):
    """The matrix W (d, d) with Q @ K.T = X @ W @ X.T, for W_q and W_k (d, e): returns (d, d)."""
    return W_q @ W_k.T


merge_query_key.mistakes("""
.T ->
    neither matrix is transposed: it works for e = d only. What becomes of W_k in K.T?
W_q -> W_q.T
    both matrices are transposed: it works for e = d only. Which of the two is transposed in Q @ K.T?
= W_k @ W_q.T
    that is the transpose of W: it gives K @ Q.T, where rows belong to keys. In Q @ K.T the query comes first.
= W_q.T @ W_k
    W_q.T @ W_k is (e, e): right in books that write x as a column and W as (e, d). Here X @ W_q has the tokens in rows, so d stays outside and e vanishes.
.T -> .reshape(W_k.shape[::-1])
    reshape cuts the numbers of W_k into other rows; it exchanges no axes. .T does.
W_k.T -> torch.linalg.pinv(W_k)
    you take an inverse of W_k. Q @ K.T holds a transpose: axes exchanged, numbers as they are.
W_q @ W_k.T -> W_q[:, :-1] @ W_k[:, :-1].T
    the last of the e columns is left out: does a loop end one too early? range(e) reaches them all.
W_q @ W_k.T -> W_q[:, :1] @ W_k[:, :1].T
    only the first of the e columns counts. The product adds up over all of them.
W_q @ W_k.T -> W_q[:, -1:] @ W_k[:, -1:].T
    only the last of the e columns counts: does each round of a loop overwrite the one before? Add them up.
W_q @ W_k.T -> W_q * W_k
    you multiply entry by entry. Q @ K.T holds a product of matrices, whose inner axes vanish.
W_q @ W_k.T -> W_q + W_k
    you add the matrices. Q @ K.T multiplies them: double W_q, and every score doubles.
= torch.cat([W_q, W_k], dim=-1)
    you put the matrices side by side. Q @ K.T multiplies them, so that e vanishes.
.T -> .T / math.sqrt(W_q.shape[-1])
    you divide by √e. The scale is a step of its own: here Q @ K.T is to come out as it is.
= (W_q @ W_k.T + W_k @ W_q.T) / 2
    you make W symmetric. Then i would attend to j as j does to i; query and key have different roles.
W_k -> W_q
    you use W_q twice: W_q @ W_q.T. The key has a matrix of its own.
W_q -> W_k
    you use W_k twice: W_k @ W_k.T. The query has a matrix of its own.
""")
merge_query_key.right("""
torch.einsum("de,fe->df", W_q, W_k)

sum(torch.outer(W_q[:, i], W_k[:, i]) for i in range(W_q.shape[1]))

torch.matmul(W_q, W_k.transpose(0, 1))

F.linear(W_q, W_k)
""")
