"""Exercises of notebook 04: masks for padding, order and distance; softmax, attention and mean that keep to them."""

import math

import torch

from .engine import exercise

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


@exercise(
    draws=draw_padded_tokens,
    hints=[
        "Which tokens may be attended to: those equal to pad_id, or those that differ from it?",
        "Compare the whole tensor at once: that gives (b, k). Scores are (b, h, q, k): which axes does the mask lack, "
        "and where?",
        "Every head and every query gets the same row, so the axes h and q have length 1: None as an index makes one.",
    ],
    question="tokens is (b, k), the mask (b, 1, 1, k): which axis is which in this line?",
    level=1,
    minutes=5,
)
def padding_mask(tokens, pad_id):
    """False where a token id of (b, k) is pad_id, padding, and True elsewhere: returns boolean (b, 1, 1, k)."""
    return (tokens != pad_id)[:, None, None, :]


padding_mask.mistakes("""
!= -> ==
    the sense is inverted: True marks padding. Here True = may attend, so True marks the words.
[:, None, None, :] ->
    the shape is (b, k). Scores are (b, h, q, k): axes of length 1 for h and q, in the middle, let the mask broadcast.
[:, None, None, :] -> [:, None, :]
    one axis is missing: (b, 1, k). Beside scores (b, h, q, k) the batch would be taken for the heads: (b, 1, 1, k).
[:, None, None, :] -> [:, None, :, None]
    (b, 1, k, 1) masks the rows of padded queries. Nobody may attend TO padding; what is attended to are keys, the last axis.
[:, None, None, :] -> [:, :, None, None]
    the two axes of length 1 stand behind, (b, k, 1, 1). Keys are the last axis: (b, 1, 1, k).
[:, None, None, :] -> [None, None]
    the two axes of length 1 stand in front, (1, 1, b, k), so the batch stands in the wrong place: on the axis of the queries. It comes first.
[:, None, None, :] -> [None, :, None]
    (1, b, 1, k): the batch stands in the wrong place, on the axis of the heads. It comes first.
[:, None, None, :] -> .reshape(1, 1, 1, -1)
    all sentences end up in one long row, (1, 1, 1, b · k). The batch keeps its own axis, the first.
pad_id -> 0
    you compare with 0. That is one pad id of many, and a word where pad_id is another number.
!= -> >
    you take all ids above pad_id for words. An id below it is a word, too: what differs is one.
!= -> <
    you take all ids below pad_id for words. An id above it is a word, too: what differs is one.
return ( -> return 1.0 * (
    ones and zeros come as floats. A mask is boolean, as the comparison alone gives it.
return ( -> return 1 * (
    ones and zeros come as integers, for which ~ and & mean something else. A mask is boolean, as the comparison gives it.
pad_id) -> pad_id).log()
    0 and -∞ are what is added to the scores. The mask itself is boolean: True = may attend.
pad_id) -> pad_id).any(-1, keepdim=True)
    any(…) over the tokens leaves one truth for a whole sentence. Each token has its own.
real = tokens != pad_id
return (real[:, :, None] & real[:, None, :])[:, None]
    you mask padded queries, too. Their rows would attend to nothing; what they yield is ignored later. Keys only.
    https://github.com/harvardnlp/annotated-transformer/issues/37
= (torch.arange(tokens.shape[1]) < (tokens != pad_id).sum(1, keepdim=True))[:, None, None, :]
    you count the words and take so many places from the front. Padding may stand in front or in between: compare each token.
= (torch.arange(tokens.shape[1]) >= (tokens == pad_id).sum(1, keepdim=True))[:, None, None, :]
    you count the pads and hide so many places in front. Padding may stand behind or in between: compare each token.
pads = tokens == pad_id
return ~(pads.cumprod(1) | pads.flip(1).cumprod(1).flip(1)).bool()[:, None, None, :]
    you hide pads at both ends only. A pad between words is padding, too: compare each token.
= (tokens != pad_id).nonzero()
    nonzero gives the places of the words, one row each. The mask has a truth for every token, words and padding.
= tokens.masked_fill(tokens == pad_id, 0)[:, None, None, :]
    you return the tokens, with padding taken out. The mask says where there are words: a truth for each.
""")


padding_mask.right("""
masks.padding_mask(tokens, pad_id)

tokens.ne(pad_id).unsqueeze(1).unsqueeze(2)

~(tokens == pad_id).reshape(tokens.shape[0], 1, 1, -1)

torch.tensor([[[[token != pad_id for token in row]]] for row in tokens.tolist()])
""")


# ---- masked_softmax


def draw_scores_and_masks(generator):
    """Causal, also over heads; padding; rows that may attend to nothing or to all; loud masked scores; 1-D; float64."""

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


@exercise(
    draws=draw_scores_and_masks,
    hints=[
        "Which score has exactly the weight 0 after the softmax? What becomes of a row in which all are such?",
        "masked_fill puts -∞ where the mask is False, ~mask, before the softmax. A row of nothing but -∞ is 0/0, NaN: "
        "which rows are these? mask.any(dim=-1, keepdim=True) is False for them.",
        "In such rows hide nothing before the softmax; afterwards set every masked weight to 0.",
    ],
    names={"one number a row: did you forget to divide something by it?": lambda scores, mask: scores.sum(-1)},
    question={
        r"\w\[[^]]*mask|\w\[(?!.*None)": "mask.expand_as(scores) has all the axes of the scores.",
        "": "The mask broadcasts to the scores, (…, q, k): does an axis get lost on the way? keepdim=True keeps it.",
    },
    level=2,
    minutes=10,
)
def masked_softmax(scores, mask):
    """Softmax of scores (…, q, k) over the keys where mask, which broadcasts to them, is True: returns (…, q, k).

    The weight is 0 where mask is False; a row that may attend to nothing is all 0.
    """
    hidden = ~mask
    some = mask.any(dim=-1, keepdim=True)  # (…, q, 1): is there anything to attend to?
    weights = torch.softmax(scores.masked_fill(hidden & some, -math.inf), dim=-1)
    return weights.masked_fill(hidden, 0.0)


UNDER_A_MASK = """
~mask -> mask
    the sense is inverted: you hide what may be attended to. True = may attend, so what is hidden is ~mask.
    https://github.com/rasbt/LLMs-from-scratch/issues/1061
scores.masked_fill(hidden & some, -math.inf) -> scores
.masked_fill(hidden, 0.0) ->
    the mask is not used: each query attends to padding and future, as if they were there.
, dim=-1) -> , dim=-2)
    the softmax runs over the queries. Each query shares its weight out among the keys: its row sums to 1, dim=-1.
scores.masked_fill(hidden & some, -math.inf) -> scores
    you mask after the softmax: the weights that are left no longer sum to 1, for the masked scores had their share. Mask the scores, before it.
    https://github.com/lucidrains/memory-compressed-attention/issues/2
hidden & some -> hidden
.masked_fill(hidden, 0.0) ->
    a query that may attend to nothing gets NaN: every score there is -∞, and the softmax is 0/0. What it gets is 0.
    https://github.com/pytorch/pytorch/issues/103963
hidden & some, -math.inf -> hidden, -1e9
.masked_fill(hidden, 0.0) ->
    a query that may attend to nothing has equal scores, all hugely negative, so its weights come out uniform, on the very keys that are hidden. What it gets is 0.
scores.masked_fill(hidden & some, -math.inf) -> scores + hidden * -1e9
.masked_fill(hidden, 0.0) ->
    where a query may attend to nothing, the huge negative number is added to all scores alike, and the softmax ignores what all have in common. What it gets is 0.
.masked_fill(hidden, 0.0) ->
    a query that may attend to nothing gets what it would get without a mask. What it gets is 0.
hidden & some, -math.inf -> hidden, 0.0
.masked_fill(hidden, 0.0) ->
    you set masked scores to 0. exp(0) is 1: they get a weight all the same. -∞ gets none.
-math.inf -> 0.0
    you set masked scores to 0, and their weights, too. In between, exp(0) = 1 took a share: the rest of the row no longer sums to 1. A score of -∞ takes none.
hidden & some, -math.inf -> hidden, -10.0
.masked_fill(hidden, 0.0) ->
    you put masked scores at -10: exp(-10) is small, not 0, and a query whose scores are lower still prefers what is hidden. Only -∞ hides for certain.
hidden & some, -math.inf -> hidden, -100.0
.masked_fill(hidden, 0.0) ->
    your number for masked scores is not low enough: where the other scores are lower still, the hidden keys get the weight. -∞ is below all.
-math.inf -> -100.0
    your number for masked scores is not low enough: where the other scores are lower still, hidden keys take all the weight in the softmax, and 0 is left. -∞ is below all.
scores.masked_fill(hidden & some, -math.inf) -> scores + mask
.masked_fill(hidden, 0.0) ->
    you add the mask as 1 and 0: that prefers what may be attended to a little, and hides nothing. What hides is -∞, in place of the score.
scores.masked_fill(hidden & some, -math.inf) -> scores + hidden * -math.inf
.masked_fill(hidden, 0.0) ->
    0 · ∞ is NaN: multiplied by -∞, the mask ruins the scores that it does not hide. masked_fill(~mask, …) sets only what is hidden.
"""  # edits of masked_softmax and of masked_attention, which hold the same lines

masked_softmax.mistakes(UNDER_A_MASK)
masked_softmax.mistakes("""
scores.masked_fill(hidden & some, -math.inf) -> scores / mask
.masked_fill(hidden, 0.0) ->
    you divide by the mask: a score divided by 0 is +∞ or -∞, by its sign. masked_fill puts -∞ where the mask is False.
torch.softmax -> torch.log_softmax
    log_softmax gives the logarithms of the weights. It is torch.softmax that gives weights.
= scores.masked_fill(~mask, -math.inf)
    you return the masked scores. The softmax over the keys is still to come.
= torch.softmax(scores.masked_fill(~mask, -math.inf), -2)
    the softmax runs over the queries, where a key hidden from all of them is 0/0 = NaN. Each row, over the keys, sums to 1: dim=-1.
= torch.softmax(scores.masked_fill(~mask, -math.inf), -2).nan_to_num(0.0)
    masked weights are 0, but the softmax runs over the queries: columns sum to 1. Each row, over the keys, has to: dim=-1.
= torch.softmax(scores.masked_fill(~mask, -1e9), -2)
    the softmax runs over the queries, and a column that is hidden from all of them comes out uniform. Rows, over the keys, sum to 1: dim=-1.
= torch.softmax(scores.masked_fill(~mask, -math.inf).flatten(), 0).view_as(scores)
    all the scores together share the weight 1. Each row, one query's, has to sum to 1 on its own: dim=-1.
= F.one_hot(scores.masked_fill(~mask, -math.inf).argmax(-1), scores.shape[-1]).to(scores.dtype) * mask
    each query takes its best key alone, as argmax does. The softmax shares the weight out among all keys that are not hidden.
weights = torch.softmax(scores, -1) * mask
return weights / weights.sum(-1, keepdim=True)
    you mask after the softmax and divide by the sum of the rest. Where a masked score is far above all others, or a row has no others, that is 0/0 = NaN. Mask before.
powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
return (powers / powers.sum(-1, keepdim=True)).nan_to_num(0.0)
    a row comes out 0 where a masked score is far above the others: all powers are taken relative to it and vanish. The maximum has to be one of the scores that may be attended to: mask first.
powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
return powers / powers.sum(-1, keepdim=True).clamp(min=1e-9)
    where a masked score is far above the others, all powers relative to it vanish, and clamping their sum leaves the row 0. The maximum has to be one of the scores that may be attended to: mask first.
weights = torch.softmax(scores, -1) * mask
return weights / (weights.sum(-1, keepdim=True) + 1e-9)
    the small number below the line saves rows that may attend to nothing, but makes weights a little wrong, and all of them 0 where a masked score is far above the others. Mask the scores, before the softmax.
powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
return powers / (powers.sum(-1, keepdim=True) + 1e-9)
    the small number below the line saves rows that may attend to nothing, but powers of a masked score far above the others leave the row 0: mask first, then subtract the maximum.
powers = scores.exp() * mask
return powers / powers.sum(-1, keepdim=True)
    you mask the powers and divide by their sum. A row that may attend to nothing has the sum 0, 0/0 = NaN; and exp(1000) is infinite: subtract each row's maximum first, or take torch.softmax.
powers = torch.where(mask, scores.exp(), 0.0)
return powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
    exp(1000) is infinite, and so is the sum it is divided by: inf / inf = NaN. Subtract each row's maximum first, or take torch.softmax.
powers = torch.where(mask, (scores - scores.max()).exp(), 0.0)
return powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
    you subtract the maximum of all scores from every row: of a row far below it all powers vanish. Each row has a maximum of its own: amax(-1, keepdim=True).
powers = torch.where(mask, scores.exp(), 0.0)
return (powers / powers.sum(-1, keepdim=True)).nan_to_num(0.0)
    exp(1000) is infinite, exp(-1000) is 0: rows of such scores are inf/inf or 0/0, and you turn both into 0. Subtract each row's maximum first, or take torch.softmax.
weights = torch.softmax(scores.masked_fill(~mask, -math.inf), -1)
return weights.nan_to_num(0.0) * (not weights.isnan().any())
    one row that may attend to nothing makes all the others 0, too. Set that row alone to 0: mask.any(dim=-1, keepdim=True) tells which.
= torch.softmax(scores.masked_fill(~mask, -math.inf), -1).nan_to_num(0.0) * mask.all(-1, keepdim=True)
    a row is 0 as soon as one key is hidden. It is 0 where all are: any, not all, tells whether there is something to attend to.
= torch.stack([masked_softmax(one, its_mask) for one, its_mask in zip(scores, mask)])
    a loop over both pairs sentences with rows of the mask, which may have fewer axes than the scores, as a causal (q, k) for all. Let torch broadcast, which pairs axes from the end.
""")


masked_softmax.right("""
torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1).nan_to_num(0.0)

torch.softmax(scores.masked_fill(mask == 0, -1e9), -1) * mask

weights = torch.softmax(scores + torch.where(mask, 0.0, -torch.inf), -1)
return torch.where(weights.isnan(), 0.0, weights)

scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
return powers / powers.sum(-1, keepdim=True).clamp(min=1e-9)

torch.where(mask, torch.exp(scores - scores.masked_fill(~mask, -math.inf).logsumexp(-1, keepdim=True)), 0.0)
""")


# ---- masked_attention


def draw_masked_attention(generator):
    """Causal with n = e = v, padding over heads, q ≠ k, queries without a key, a loud masked key, q = k = 1; float64."""

    def randn(*shape, dtype=None):
        return torch.randn(*shape, generator=generator, dtype=dtype)

    yield randn(4, 4), randn(4, 4), randn(4, 4), causal_mask(4)
    real = (torch.arange(5) < torch.tensor([3, 5])[:, None])[:, None, None, :]  # (b, 1, 1, k)
    loud = torch.where(real.mT, 1.0, 20.0)  # padding holds large numbers
    yield randn(2, 3, 4, 6), loud * randn(2, 3, 5, 6), loud * randn(2, 3, 5, 2), real
    mask = torch.tensor([[True, False, True, True, False], [False] * 5, [True] * 5])
    yield randn(3, 6), randn(5, 6), randn(5, 4), mask
    mask = torch.rand(2, 3, 3, generator=generator) < 0.6
    mask[0, 1], mask[1] = False, torch.tensor([True, True, False])
    yield (*(randn(2, 3, width, dtype=torch.float64) for width in (4, 4, 2)), mask)
    query, key = randn(3, 4), randn(5, 4)  # the loud key's score is 2 · 120 / √4; all keys of the last query are low
    query[:, 0], key[:, 0], key[1] = 2.0, 0.0, torch.tensor([120.0, 0, 0, 0])
    query[2], key[2, 0], key[4, 0] = torch.tensor([40.0, 0, 0, 0]), -99.0, -99.1
    yield query, key, randn(5, 2), torch.tensor([[1, 0, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 1]]).bool()
    yield randn(2, 1, 5), randn(2, 1, 5), randn(2, 1, 3), torch.tensor([True, False])[:, None, None]


@exercise(
    draws=draw_masked_attention,
    hints=[
        "Scores, mask, softmax, values: where does your masked_softmax go, and what takes it as its input?",
        "The scores are those of every query against every key, divided by √e. The mask hides some before the softmax.",
        "masked_softmax gives weights (…, q, k), 0 where masked. What do they weight and add up?",
    ],
    names={
        "the weights: did you forget the values?": lambda query, key, value, mask: query @ key.mT,
        "the query: are the values weighted, or the keys?": lambda query, key, value, mask: query,
    },
    question="Queries are (…, q, e), keys (…, k, e), values (…, k, v), weights (…, q, k): which axes meet here?",
    level=2,
    minutes=8,
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


masked_attention.mistakes("""
/ math.sqrt(query.shape[-1]) ->
    the scores are not divided by √e: they spread more the larger e is.
math.sqrt(query.shape[-1]) -> query.shape[-1]
    you divide by e. Scores are divided by its root, √e.
    https://github.com/delzac/cntkx/issues/10
query.shape[-1] -> value.shape[-1]
    you divide by the root of v, a value's length. The scores are sums of e products: √e.
query.shape[-1] -> key.shape[-2]
    you divide by the root of k, the number of keys. The scores are sums of e products: √e.
query.shape[-1] -> query.shape[-2]
    you divide by the root of q, the number of queries. The scores are sums of e products: √e.
query.shape[-1] -> 4
    you divide by √4, which is right for e = 4 alone. e is the length of a query, its last axis.
/ math -> * math
    you multiply by √e. The scores spread with √e already; dividing takes that away.
""")
masked_attention.mistakes(UNDER_A_MASK)
masked_attention.mistakes("""
@ value ->
    you return the weights. They say how much of each value to take: did you forget the values?
@ value -> @ key
    you weight the keys. Keys are for finding, values for taking.
/ math.sqrt(query.shape[-1]) ->
@ value -> @ value / math.sqrt(query.shape[-1])
    you divide by √e after the softmax: that makes the output smaller, not the scores less spread. It belongs before the softmax.
weights = torch.softmax(scaled_scores(query, key), -1) * mask
return (weights / weights.sum(-1, keepdim=True)) @ value
    you mask after the softmax and divide by the sum of the rest. Where a masked score is far above all others, or a query has no others, that is 0/0 = NaN. Mask before.
weights = torch.softmax(scaled_scores(query, key), -1) * mask
return (weights / weights.sum(-1, keepdim=True)).nan_to_num(0.0) @ value
    a masked score far above the others takes all the weight in the softmax; masking leaves a row of zeros, and dividing by its sum cannot mend that. Mask the scores, before it.
weights = torch.softmax(scaled_scores(query, key), -1) * mask
return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9) @ value
    a masked score far above the others takes all the weight in the softmax. Clamping the sum of what is left avoids 0/0, but the row stays 0. Mask the scores, before it.
= torch.softmax(scaled_scores(query, key).masked_fill(~mask, -math.inf), -2) @ value
    the softmax runs over the queries, where a key hidden from all of them gives NaN. Each query shares its weights out among the keys: dim=-1.
= torch.softmax(scaled_scores(query, key).masked_fill(~mask, -math.inf), -2).nan_to_num(0.0) @ value
    masked weights are 0, but the softmax runs over the queries. Each query's own row has to sum to 1: dim=-1.
= torch.softmax(scaled_scores(query, key).masked_fill(~mask, -1e9), -2) @ value
    the softmax runs over the queries, and a key that is hidden from all of them comes out uniform. Each query's own row has to sum to 1: dim=-1.
= scaled_scores(query, key).masked_fill(~mask, -math.inf) @ value
    the softmax is missing: masked scores, -∞ among them, weight the values. First make weights of them.
= scaled_scores(query, key).masked_fill(~mask, 0.0) @ value
    the softmax is missing: scores, 0 where masked, weight the values. Weights are positive and sum to 1.
= scaled_scores(query, key).masked_fill(~mask, -math.inf)
    you return the masked scores. A softmax makes weights of them, and the weights are for adding up the values.
= F.one_hot(scaled_scores(query, key).masked_fill(~mask, -math.inf).argmax(-1), key.shape[-2]).to(value.dtype) * mask @ value
    each query takes the value of its best key alone, as argmax does. The softmax shares the weight out among all keys that are not hidden.
= masked_softmax(scaled_scores(query, key), mask.mT) @ value
    you mask the rows, the queries, or turn the mask round: it crashes unless q = k. The mask fits as it is.
= masked_softmax(scaled_scores(query, key), mask & mask.mT) @ value
    you mask rows, the queries, as well. Only keys are hidden, and mask says which: it fits the scores as it is.
= masked_attention(query, key, value, torch.ones(query.shape[-2], key.shape[-2]).tril().bool())
    you hide the future, with a causal mask of your own. What is hidden here is what the argument mask says.
= torch.softmax(scaled_scores(query, key), -1).masked_fill(~mask.any(-1, keepdim=True), 0.0) @ value
    only queries that may attend to nothing are treated; the others attend to what is hidden. mask says for each key whether it counts: -∞ for its score where not.
= torch.softmax(scaled_scores(query, key), -1) @ (value * mask.any(-2)[..., None])
    you mask the values that no query may attend to: they still take their share of the weight, and what is hidden from some queries is open to all. Mask the scores.
= torch.softmax(scaled_scores(query, key * mask[..., 0, :, None]), -1) @ value
    you mask the keys: a key of zeros has the score 0, and exp(0) is 1. Mask the scores; and mask has a row for each query, not only the first.
= torch.softmax(scaled_scores(query, key), -1) @ (value * mask.mT)
    you mask the values: hidden keys still take their share of the weight, and mask is (…, q, k), as the scores are. Put -∞ in the scores.
= torch.softmax(scaled_scores(query, key * mask.mT), -1) @ value
    you mask the keys: a key of zeros has the score 0, and exp(0) is 1. mask is (…, q, k), as the scores are: put -∞ there.
= masked_attention(query, key, value, mask), masked_softmax(scaled_scores(query, key), mask)
    you return output and weights. Here return the output only.
""")


masked_attention.right("""
attention.scaled_dot_product_attention(query, key, value, mask)[0]

F.scaled_dot_product_attention(query, key, value, attn_mask=mask).nan_to_num(0.0)

masked_softmax(query @ key.mT / torch.sqrt(torch.tensor(query.shape[-1])), mask) @ value

scores = torch.einsum("...qe,...ke->...qk", query, key) / query.shape[-1] ** 0.5
weights = torch.softmax(torch.where(mask, scores, -1e9), dim=-1)
return torch.einsum("...qk,...kv->...qv", weights, value) * mask.any(-1, keepdim=True)
""")


# ---- masked_mean


def draw_outputs_and_masks(generator):
    """Padding behind, in front, inside, full of large numbers or NaN; none; words with zeros; one sentence or word; float64.

    In float64 the numbers of words have an exact inverse, so that weights of float32 are no mistake.
    """
    for d, rows, dtype in (
        (3, [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], None),
        (3, [[1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]], None),
        (4, [[0, 0, 1, 1], [1, 0, 1, 1]], None),
        (6, [[1, 1, 0]], None),
        (3, [[1, 1, 0], [1, 0, 0], [1, 1, 1]], None),
        (5, [[1, 1, 0, 0], [1, 1, 1, 1]], torch.float64),
        (2, [[1], [1]], None),
    ):
        mask = torch.tensor(rows).bool()
        outputs = torch.randn(*mask.shape, d, generator=generator, dtype=dtype)
        yield outputs * torch.where(mask, 1, 5)[:, :, None], mask
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]).bool()
    outputs = torch.randn(2, 4, 3, generator=generator)
    outputs[0, 1], outputs[1, 2, 0] = 0.0, 0.0
    yield outputs, mask
    mask = torch.tensor([[1, 1, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1]]).bool()
    yield torch.randn(3, 4, 2, generator=generator).masked_fill(~mask[:, :, None], math.nan), mask


@exercise(
    draws=draw_outputs_and_masks,
    hints=[
        "A sentence of three words and two of padding: what is added up, and what is it divided by?",
        "Make the padded rows 0, then sum over the tokens. mask is (b, n), outputs (b, n, d): which axis does it lack?",
        "mask[:, :, None] fits the outputs. The number of words of each sentence is the sum of its row of the mask; "
        "keepdim=True makes it (b, 1), which divides (b, d).",
    ],
    names={
        "a single mean for the whole batch: each sentence has one of its own": lambda outputs, mask: outputs[0, 0],
        "one number a token: is the sum over the tokens, dim=1?": lambda outputs, mask: mask,
        "one row a position: is the sum over the tokens, dim=1?": lambda outputs, mask: outputs[0],
        "mask @ outputs, (b, b, d), every mask with every sentence: mask[:, None] gives each its own": (
            lambda outputs, mask: outputs.new_zeros(len(mask), len(mask), outputs.shape[-1])
        ),
        "outputs: are the tokens still to be added up?": lambda outputs, mask: outputs,
    },
    question={
        r"\[mask\]|\.view|\.reshape": "outputs[mask] is one list of the words of all sentences, which are not equally many: "
        "keep (b, n, d), with 0 in padded rows.",
        "@|bmm|matmul|einsum": "mask[:, None], (b, 1, n), times (b, n, d) adds up over the tokens, each sentence its own.",
        "": "outputs is (b, n, d), mask (b, n): an axis of length 1 at the end, mask[:, :, None], lets them meet; and "
        "what divides (b, d) is (b, 1).",
    },
    level=2,
    minutes=8,
)
def masked_mean(outputs, mask):
    """Mean of outputs (b, n, d) over the words of each sentence, where mask (b, n) is True: returns (b, d)."""
    total = outputs.masked_fill(~mask[:, :, None], 0.0).sum(dim=1)  # (b, d)
    words = mask.sum(dim=1, keepdim=True)  # (b, 1)
    return total / words


masked_mean.mistakes("""
.masked_fill(~mask[:, :, None], 0.0) ->
mask.sum(dim=1, keepdim=True) -> outputs.shape[1]
    the mask is not used: padding is averaged as if it were words.
    https://github.com/jsboige/CoursIA/pull/15074
.masked_fill(~mask[:, :, None], 0.0) ->
    you add up the padding, too. Make its rows 0 first.
outputs.masked_fill(~mask[:, :, None], 0.0) -> (outputs * mask[:, :, None])
    where padding holds NaN or infinity, a product does not hide it: 0 · NaN is NaN. masked_fill or torch.where puts a 0 in its place.
~mask[:, :, None] -> mask[:, :, None]
    you set the words to 0 and add up the padding. True = a word, so what becomes 0 is ~mask.
~mask[:, :, None] -> mask[:, :, None]
words = mask -> words = (~mask)
    the sense is inverted: that is the mean of the padding. True = a word.
words = mask -> words = (~mask)
    you divide by the number of pads. What counts is the words, where mask is True.
mask.sum(dim=1, keepdim=True) -> outputs.shape[1]
    you divide by n, padding included: short sentences come out too small. Divide by the number of words.
return total / words -> return total
    that is a sum. Divide it by the number of words, each sentence's by its own.
mask.sum(dim=1, keepdim=True) -> mask.sum()
    you divide by the number of words in the whole batch. Each sentence has its own: mask.sum(dim=1).
mask.sum(dim=1, keepdim=True) -> mask.sum(dim=1).max()
    you divide all by the number of words of the longest sentence. Each has its own.
mask.sum(dim=1, keepdim=True) -> 3
    you divide every sentence by 3, but not all have three words: their number is the sum of a row of the mask.
mask.sum(dim=1, keepdim=True) -> outputs.shape[0]
    you divide by b, the number of sentences. Divide by the number of words.
mask.sum(dim=1, keepdim=True) -> outputs.shape[-1]
    you divide by d, the length of an output. Divide by the number of words.
mask.sum(dim=1, keepdim=True) -> (mask.sum(dim=1, keepdim=True) - 1)
    you divide by one word too few: a mean divides by all of them.
mask.sum(dim=1, keepdim=True) -> (mask.sum(dim=1, keepdim=True) + 1)
    you divide by one word too many: a mean divides by their number as it is.
, keepdim=True ->
    the number of words is (b,) and divides along d, or crashes. It has to be (b, 1): keepdim=True, or [:, None].
total / words -> total * words
    you multiply by the number of words. A mean divides by it.
.sum(dim=1) -> .mean(dim=1)
    you average, over n, what is still to be divided by the number of words: sum, then divide once.
.sum(dim=1) -> .sum(dim=0)
mask.sum(dim=1, keepdim=True) -> mask.sum(dim=0)[:, None]
    you average over the sentences, position by position. Average over the tokens, dim=1: (b, d).
.sum(dim=1) -> .sum(dim=-1)
    you sum over d, the numbers of a token. Sum over the tokens, dim=1: (b, d).
= outputs[mask].mean(0)
    you average all the words of the batch: one vector. Each sentence has a mean of its own: (b, d).
= outputs[:, 0]
    you take the first token. The mean is over all the words of a sentence.
= outputs[:, -1]
    you take the last token, which may be padding. The mean is over all the words of a sentence.
= outputs.masked_fill(~mask[:, :, None], -math.inf).amax(1)
    you take the largest number of the words. The mean adds them up and divides by their number.
kept = outputs.masked_fill(~mask[:, :, None], 0.0)
return kept.sum(1) / (kept != 0).sum(1)
    you count the numbers that are not 0, but a word may hold a 0, too. How many words there are is what mask says.
kept = outputs.masked_fill(~mask[:, :, None], 0.0)
return kept.sum(1) / (kept != 0).any(-1).sum(1, keepdim=True)
    you count the rows that are not all 0, but a word's output may be 0. How many words there are is what mask says.
= outputs.masked_fill(~mask[:, :, None], 0.0).mean(1) * mask.to(outputs.dtype).mean(1, keepdim=True)
    you average over n and multiply by the share of words. n is too much to divide by: dividing by that share makes up for it.
= (outputs.masked_fill(~mask[:, :, None], 0.0) * torch.softmax(mask.float(), -1)[:, :, None]).sum(1)
    a softmax of 1 and 0 gives padding a share, too, as exp(0) is 1. Each word's share is 1 divided by the number of words, padding has none.
= torch.stack([rows[: real.sum()].mean(0) for rows, real in zip(outputs, mask)])
    you take as many rows from the front as there are words. Padding may stand in front or in between: mask says which rows count.
= outputs[:, mask.any(0)].mean(1)
    you keep the positions where any sentence has a word, for all sentences. Each sentence has its own words: a row of mask.
= outputs[mask].view(len(outputs), -1, outputs.shape[-1]).mean(1)
    outputs[mask] is one list of the words of all sentences, and you cut it into equal parts. Sentences differ in their number of words: keep (b, n, d), with 0 in padded rows.
= outputs[:, mask[0]].mean(1)
    you take the words of the first sentence's mask for every sentence. Each has a row of its own.
""")


masked_mean.right("""
real = mask.unsqueeze(-1)
return torch.where(real, outputs, 0.0).sum(1) / real.sum(1)

torch.stack([rows[real].mean(0) for rows, real in zip(outputs, mask)])

weights = mask / mask.sum(-1, keepdim=True)
return torch.einsum("bn,bnd->bd", weights.to(outputs.dtype), outputs.masked_fill(~mask[..., None], 0.0))

outputs.masked_fill(~mask[..., None], torch.nan).nanmean(dim=1)
""")


# ---- causal_mask


def draw_lengths(generator):
    """Few tokens, one, and more than anybody writes down."""
    yield from ((4,), (1,), (2,), (7,), (int(torch.randint(20, 60, (), generator=generator)),))


@exercise(
    draws=draw_lengths,
    hints=[
        "Write the four rows for n = 4 down: where may the first token look? And the last one?",
        "Rows are queries, columns keys. Row i is True up to column i, which is the diagonal: which triangle is that?",
        "torch.ones with dtype=torch.bool is True everywhere, and tril keeps the lower triangle with the diagonal. Or "
        "compare torch.arange(n), once as a column and once as a row.",
    ],
    question="The mask is (n, n): queries as rows, keys as columns. Which of the two is which in this line?",
    level=1,
    minutes=4,
)
def causal_mask(n):
    """True where the query of a row may attend to the key of a column, itself or earlier: returns boolean (n, n)."""
    return torch.ones(n, n, dtype=torch.bool).tril()


causal_mask.mistakes("""
.tril() -> .triu(1)
    the sense is inverted: True marks what is hidden, the future. Here True = may attend.
.tril() -> .triu()
    that is the upper triangle: each token sees itself and the future. Rows are queries: row i is True up to column i.
    https://github.com/marin-community/levanter/pull/102
.tril() -> .tril(-1)
    the diagonal is missing: a token may attend to itself, too. Without that, the first sees nothing.
.tril() -> .tril(1)
    each token sees one token too far, the very one it is to predict. The diagonal is the last True.
.tril() -> .tril(-2)
    two are missing: the token itself and the one before it. Row i is True up to column i, the diagonal.
.tril() ->
    nothing is hidden: each token sees the whole sentence, the future included.
torch.ones(n, n -> torch.eye(n
    eye has its diagonal alone: each token sees itself. All the earlier ones belong to it: ones.
torch.ones -> torch.zeros
    zeros has nothing to keep: the mask is False everywhere. Begin with ones.
, dtype=torch.bool ->
    ones and zeros come as floats. A mask is boolean: dtype=torch.bool.
bool -> long
    ones and zeros come as integers. A mask is boolean: dtype=torch.bool.
= torch.full((n, n), -math.inf).triu(1)
    that is what is added to the scores, 0 or -∞. The mask itself is boolean: True = may attend.
= (torch.arange(n)[:, None] - torch.arange(n)).bool()
    the difference of the positions is 0 on the diagonal alone, so all else is True, the future, too. Compare: is the key behind the query?
""")


causal_mask.right("""
masks.causal_mask(n)

torch.arange(n)[:, None] >= torch.arange(n)

~torch.triu(torch.ones(n, n), diagonal=1).bool()

mask = torch.zeros(n, n, dtype=torch.bool)
for i in range(n):
    mask[i, : i + 1] = True
return mask

torch.nn.Transformer.generate_square_subsequent_mask(n) == 0
""")


# ---- sliding_window_mask


def draw_windows(generator):
    """Widths of 1 to 4, the width of the sentence, and wider than it; a single token; a long sentence."""
    yield from ((5, 2), (6, 3), (4, 1), (9, 4), (4, 4), (3, 5), (1, 1))
    yield tuple(torch.randint(5, 12, (2,), generator=generator).mul(torch.tensor([3, 1])).tolist())


@exercise(
    draws=draw_windows,
    hints=[
        "For width 2, which tokens may the last of five attend to? How many are these?",
        "How far back a key lies is the query's position minus the key's. From where to where is it allowed to be?",
        "torch.arange(n)[:, None] - torch.arange(n) holds all the distances, queries as rows. Two comparisons joined "
        "by &: not in the future, and less than width back.",
    ],
    question="Both positions run from 0 to n - 1, queries as rows, keys as columns: which of them does this line use, "
    "and is the mask (n, n)?",
    level=2,
    minutes=8,
)
def sliding_window_mask(n, width):
    """Causal mask that reaches back `width` tokens at most, the query itself counted: returns boolean (n, n)."""
    distance = torch.arange(n)[:, None] - torch.arange(n)  # how far the key, a column, lies behind the query, a row
    return (distance >= 0) & (distance < width)


sliding_window_mask.mistakes("""
[:, None] - torch.arange(n) -> - torch.arange(n)[:, None]
    the window looks ahead. Queries are rows: row i is True at column i and before it.
< width -> <= width
    the window is one too wide. `width` counts the token itself: distances 0 to width - 1.
    https://github.com/ml-explore/mlx-lm/pull/390
< width -> < width - 1
    the window is one too narrow. width = 1 is the token itself: distances 0 to width - 1.
< width -> == width
    only what lies precisely `width` back is left. All that lies nearer belongs to the window: distances 0 to width - 1.
< width -> >= width
    what lies too far back is seen, and what is near is hidden. The window is the near part: distances 0 to width - 1.
>= 0 -> > 0
    the token itself is missing: distance 0 belongs to the window, and width counts it.
>= 0 -> > 0
< width -> <= width
    the token itself is missing: the window begins one behind it. Begin at distance 0.
>= 0 -> >= -1
    the next token is seen, too, which is the future. Begin at distance 0.
(distance >= 0) & ->
    the past is limited, the future is not: nothing hides it. Two conditions are needed, joined by &.
& (distance < width) ->
    nothing is too far back: width has no say.
[:, None] - torch.arange(n)  # -> .sub(torch.arange(n)[:, None]).abs()  #
    distances to both sides count alike, so the window reaches into the future as well. Look back only.
) & ( -> ) | (
    you join the conditions with `or`, |: one of them always holds. Both have to: &.
) & ( -> ).float() * (
    ones and zeros come as floats. A mask is boolean: .bool().
) & ( -> ).long() * (
    ones and zeros come as integers. A mask is boolean: .bool().
= ~((torch.arange(n)[:, None] >= torch.arange(n)) & (torch.arange(n)[:, None] - torch.arange(n) < width))
    the sense is inverted: True marks what is hidden. Here True = may attend.
= torch.zeros(n, n).masked_fill(~torch.ones(n, n).tril().triu(1 - width).bool(), -math.inf)
    0 and -∞ are what is added to the scores. The mask itself is boolean, True = may attend: .bool() would turn -∞ into True.
= (torch.arange(n)[:, None] - torch.arange(n)).abs() <= width // 2
    a window to both sides, half of width each, sees the future. Here all of it lies behind: distances 0 to width - 1.
block = torch.arange(n) // width
return (block[:, None] == block) & (torch.arange(n)[:, None] >= torch.arange(n))
    those are causal blocks of `width` tokens: the first of each sees itself alone. The window slides along.
block = torch.arange(n) // width
return block[:, None] == block
    those are blocks of `width` tokens, inside which all see all, the future, too. The window slides along and looks back only.
= torch.ones(n, n).tril().bool() & (torch.arange(n) < width)
    a key is seen if it is among the first `width` of the sentence. What counts is how far it lies behind the query.
= torch.ones(n, n).tril().triu(width - 1).bool()
    triu(width - 1) begins above the diagonal, where tril has left nothing. Behind the diagonal numbers are negative: 1 - width.
""")


sliding_window_mask.right("""
torch.ones(n, n, dtype=torch.bool).tril().triu(1 - width)

mask = torch.zeros(n, n, dtype=torch.bool)
for i in range(n):
    mask[i, max(0, i - width + 1) : i + 1] = True
return mask

torch.ones(n, n).tril().bool() & ~torch.ones(n, n).tril(-width).bool()

torch.tensor([[0 <= i - j < width for j in range(n)] for i in range(n)])
""")
