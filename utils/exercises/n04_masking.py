"""Exercises of notebook 04: masks for padding, order and distance; softmax, attention and mean that keep to them."""

import math

import torch

from .engine import exercise

# ---- padding_mask


def draw_padded_tokens(generator):
    """Padding behind, in front, none; pad ids 0, 1 and 9, with 0 as a word; b = k; one sentence."""
    yield torch.tensor([[5, 2, 7, 0, 0], [3, 1, 4, 6, 2]]), 0
    yield torch.tensor([[0, 4, 2, 1], [3, 0, 1, 1], [2, 5, 6, 0]]), 1
    yield torch.tensor([[9, 9, 2], [3, 0, 4], [1, 9, 9]]), 9
    yield torch.tensor([[4, 3, 0]]), 0
    yield torch.tensor([[2, 8, 1, 1, 1, 1]]), 1


@exercise(
    draws=draw_padded_tokens,
    hints=[
        "Which tokens may be attended to: those equal to pad_id, or those that differ from it?",
        "Compare the whole tensor at once: that gives (b, k). Scores are (b, h, q, k): which axes does the mask lack, "
        "and where?",
        "Every head and every query gets the same row, so the axes h and q have length 1: None as an index makes one.",
    ],
    names={
        "one truth for each token, (b, k): are the axes for heads and queries still to come?": lambda tokens, pad_id: (
            tokens
        ),
        "(b, k, 1, 1), where k stands on the axis of the heads": lambda tokens, pad_id: tokens[:, :, None, None],
        "(b, 1, k, 1), which masks queries. Keys are the last axis": lambda tokens, pad_id: tokens[:, None, :, None],
        "(b, 1, k): are there axes for heads and for queries?": lambda tokens, pad_id: tokens[:, None],
        "(1, 1, b, k), where the batch stands in the wrong place, on the axis of the queries. It is the first axis": (
            lambda tokens, pad_id: tokens[None, None]
        ),
        "(1, b, 1, k), where the batch stands in the wrong place, on the axis of the heads. It is the first axis": (
            lambda tokens, pad_id: tokens[None, :, None]
        ),
    },
    question="tokens is (b, k), the mask (b, 1, 1, k): which axis is which in this line?",
)
def padding_mask(tokens, pad_id):
    """False where a token id of (b, k) is pad_id, padding, and True elsewhere: returns boolean (b, 1, 1, k)."""
    return (tokens != pad_id)[:, None, None, :]


padding_mask.mistakes("""
= (tokens == pad_id)[:, None, None, :]
    the sense is inverted: True marks padding. Here True = may attend, so True marks the words.
= tokens != pad_id
    the sense is right, the shape is (b, k). Scores are (b, h, q, k): axes of length 1 for h and q, in the middle,
    let the mask broadcast.
= tokens == pad_id
    the sense is inverted, and the axes for heads and queries are missing: True marks the words.
= (tokens != pad_id)[:, None, :]
    one axis is missing: (b, 1, k). Beside scores (b, h, q, k) the batch would be taken for the heads: (b, 1, 1, k).
= (tokens != pad_id)[:, None, :, None]
    (b, 1, k, 1) masks the rows of padded queries. Nobody may attend TO padding; what is attended to are keys, the
    last axis.
= (tokens != pad_id)[:, :, None, None]
    the two axes of length 1 stand behind, (b, k, 1, 1). Keys are the last axis: (b, 1, 1, k).
real = tokens != pad_id
return (real[:, :, None] & real[:, None, :])[:, None]
    you mask padded queries, too. Their rows would attend to nothing; what they yield is ignored later. Keys only.
= (tokens != 0)[:, None, None, :]
    you compare with 0. That is one pad id of many, and a word where pad_id is another number.
= (tokens > pad_id)[:, None, None, :]
    you take all ids above pad_id for words. An id below it is a word, too: what differs is one.
= (tokens != pad_id)[:, None, None, :].float()
    ones and zeros stand in the right places, but as floats. A mask is boolean: the comparison alone.
= (tokens != pad_id)[:, None, None, :].long()
    ones and zeros stand in the right places, but as integers: ~ and & mean something else there.
= torch.zeros(tokens.shape).masked_fill(tokens == pad_id, -math.inf)[:, None, None, :]
    that is what is added to the scores, 0 or -∞. The mask itself is boolean: True = may attend.
""")


padding_mask.right("""
masks.padding_mask(tokens, pad_id)

tokens.ne(pad_id).unsqueeze(1).unsqueeze(2)

~(tokens == pad_id).reshape(tokens.shape[0], 1, 1, -1)

torch.tensor([[[[token != pad_id for token in row]]] for row in tokens.tolist()])
""")


# ---- masked_softmax


def draw_scores_and_masks(generator):
    """Causal, also over heads; padding; rows that may attend to nothing or to all; loud masked scores; float64."""
    yield 2 * torch.randn(4, 4, generator=generator), causal_mask(4)
    yield 2 * torch.randn(2, 3, 4, 5, generator=generator), torch.arange(5) < torch.tensor([3, 5])[:, None, None, None]
    mask = torch.tensor([[True, False, True, True, False], [False] * 5, [True] * 5])
    yield 2 * torch.randn(3, 5, generator=generator), mask
    mask = torch.rand(2, 1, 3, 4, generator=generator) < 0.5
    mask[0, 0, 1], mask[1, 0, 2] = False, torch.tensor([True, False, False, True])
    yield 2 * torch.randn(2, 2, 3, 4, generator=generator, dtype=torch.float64), mask
    scores = torch.tensor([[1000.0, 2000, 1001, 999], [-1000, -1001, -900, -999.5]])
    yield scores, torch.tensor([[True, False, True, True], [True, True, False, True]])
    yield 2 * torch.randn(3, 3, 3, generator=generator), torch.tensor([[1, 1, 0], [1, 0, 0], [0, 1, 1]]).bool()[:, None]
    yield 2 * torch.randn(2, 2, 4, 4, generator=generator), causal_mask(4)


@exercise(
    draws=draw_scores_and_masks,
    hints=[
        "Which score has exactly the weight 0 after the softmax? What becomes of a row in which all are such?",
        "masked_fill puts -∞ where the mask is False, ~mask, before the softmax. A row of nothing but -∞ is 0/0, NaN: "
        "which rows are these? mask.any(dim=-1, keepdim=True) is False for them.",
        "Give such rows a harmless score, 0, before the softmax; afterwards set every masked weight to 0.",
    ],
    names={"one number a row: did you forget to divide something by it?": lambda scores, mask: scores.sum(-1)},
    question="The mask broadcasts to the scores, (…, q, k): does an axis get lost on the way? keepdim=True keeps it.",
)
def masked_softmax(scores, mask):
    """Softmax of scores (…, q, k) over the keys where mask, which broadcasts to them, is True: returns (…, q, k).

    The weight is 0 where mask is False; a row that may attend to nothing is all 0.
    """
    attends = mask.any(dim=-1, keepdim=True)  # (…, q, 1)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(~attends, 0.0)
    return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)


masked_softmax.mistakes("""
= torch.softmax(scores.masked_fill(~mask, -math.inf), -1)
    right, except for rows that may attend to nothing: there every score is -∞, and the softmax is 0/0 = NaN. Make
    these rows 0.
= torch.softmax(scores.masked_fill(~mask, -1e9), -1)
    right, except for rows that may attend to nothing: with equal scores, all of them hugely negative, their weights
    come out uniform. They attend to padding; make these rows 0.
= torch.softmax(scores + (~mask) * -1e9, -1)
    right, except for rows that may attend to nothing: the huge negative number is added to all scores alike, and
    the softmax ignores what all have in common. Make these rows 0.
= torch.softmax(scores, -1)
    the mask is not used: padding and future get weights as if they were there.
= torch.softmax(scores.masked_fill(mask, -math.inf), -1)
    the sense is inverted: you hide what may be attended to. True = may attend, so -∞ goes where mask is False:
    ~mask.
= torch.softmax(scores.masked_fill(mask, -1e9), -1)
    the sense is inverted, as for torch's masks where True hides. Here True = may attend: the large negative number
    goes where mask is False, ~mask.
= masked_softmax(scores, ~mask)
    the sense is inverted: you hide what may be attended to, and a row with nothing left is 0. True = may attend:
    what is hidden is ~mask.
= torch.softmax(scores, -1) * mask
    you mask after the softmax: masked weights are 0, but the rest of the row no longer sums to 1, for the masked
    scores had their share. Mask before.
weights = torch.softmax(scores, -1) * mask
return weights / weights.sum(-1, keepdim=True)
    you mask after the softmax and divide by the sum of the rest. Where a masked score is far above all others, or a
    row has no others, that is 0/0 = NaN. Mask before.
powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
return (powers / powers.sum(-1, keepdim=True)).nan_to_num(0.0)
    right, unless a masked score is far above the others. All powers are taken relative to it and vanish, so the row
    comes out 0. The maximum has to be one of the scores that may be attended to: mask first.
powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
return powers / powers.sum(-1, keepdim=True).clamp(min=1e-9)
    right, unless a masked score is far above the others: relative to it all powers vanish, and clamping their sum
    leaves the row 0. The maximum has to be one of the scores that may be attended to: mask first.
weights = torch.softmax(scores, -1) * mask
return weights / (weights.sum(-1, keepdim=True) + 1e-9)
    the small number below the line saves rows that may attend to nothing, but makes weights a little wrong, and all
    of them 0 where a masked score is far above the others. Mask the scores, before the softmax.
powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
return powers / (powers.sum(-1, keepdim=True) + 1e-9)
    the small number below the line saves rows that may attend to nothing, but powers of a masked score far above
    the others leave the row 0: mask first, then subtract the maximum.
= torch.stack([masked_softmax(one, its_mask) for one, its_mask in zip(scores, mask)])
    right, unless mask has fewer axes than the scores, as a causal (q, k) for all sentences has: a loop over both
    pairs sentences with rows of the mask. Let torch broadcast, which pairs axes from the end.
powers = scores.exp() * mask
return powers / powers.sum(-1, keepdim=True)
    you mask the powers and divide by their sum. A row that may attend to nothing has the sum 0, 0/0 = NaN; and
    exp(1000) is infinite: subtract each row's maximum first, or take torch.softmax.
= torch.softmax(scores * mask, -1)
    you set masked scores to 0. exp(0) is 1: they get a weight all the same. -∞ gets none.
= torch.softmax(scores * mask, -1) * mask
    you set masked scores to 0, and their weights, too. In between, exp(0) = 1 took a share: the rest of the row no
    longer sums to 1. A score of -∞ takes none.
= torch.softmax(scores.masked_fill(~mask, -10.0), -1)
    you put masked scores at -10: exp(-10) is small, not 0, and a row whose scores are lower still prefers the mask.
    Only -∞ hides for certain.
= torch.softmax(scores + (~mask) * -math.inf, -1)
    0 · ∞ is NaN: multiplied by -∞, the mask ruins the scores that it does not hide. masked_fill(~mask, …) sets only
    what is hidden.
= scores.masked_fill(~mask, -math.inf)
    you return the masked scores. The softmax over the keys is still to come.
= torch.softmax(scores.masked_fill(~mask, -math.inf), -2)
    the softmax runs over the queries. Each row, over the keys, sums to 1: dim=-1.
= torch.softmax(scores.masked_fill(~mask, -math.inf), -2).nan_to_num(0.0)
    masked weights are 0, but the softmax runs over the queries: columns sum to 1. Each row, over the keys, has to:
    dim=-1.
= torch.softmax(scores.masked_fill(~mask, -1e9), -2)
    the softmax runs over the queries, and a column that is hidden from all of them comes out uniform. Rows, over
    the keys, sum to 1: dim=-1.
= torch.softmax(scores, -2)
    the mask is not used, and the softmax runs over the queries. Rows, over the keys: dim=-1.
""")


masked_softmax.right("""
torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1).nan_to_num(0.0)

torch.softmax(scores.masked_fill(mask == 0, -1e9), -1) * mask

weights = torch.softmax(scores + torch.where(mask, 0.0, -torch.inf), -1)
return torch.where(weights.isnan(), 0.0, weights)

scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
return powers / powers.sum(-1, keepdim=True).clamp(min=1e-9)

identity = torch.eye(scores.shape[-1], dtype=scores.dtype)
return attention.scaled_dot_product_attention(scores * scores.shape[-1] ** 0.5, identity, identity, mask)[0]
""")


# ---- masked_attention


def draw_masked_attention(generator):
    """Causal with n = e = v, padding over heads, q ≠ k, rows that may attend to nothing; a loud masked key; float64."""

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
    yield (*(randn(2, 3, width, dtype=torch.float64) for width in (5, 5, 2)), mask)
    query, key = randn(3, 4), randn(5, 4)
    query[:, 0], key[:, 0], key[1] = 2.0, 0.0, torch.tensor([120.0, 0, 0, 0])  # 2 · 120 / √4
    yield query, key, randn(5, 2), torch.tensor([[1, 0, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 1]]).bool()


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
)
def masked_attention(query, key, value, mask):
    """Attention of query (…, q, e) to key (…, k, e) and value (…, k, v) where mask is True: returns (…, q, v).

    mask broadcasts to (…, q, k); a query that may attend to nothing gets 0.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (…, q, k)
    attends = mask.any(dim=-1, keepdim=True)  # (…, q, 1)
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(~attends, 0.0)
    weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
    return weights @ value


def scaled_scores(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])


masked_attention.mistakes("""
= torch.softmax(scaled_scores(query, key).masked_fill(~mask, -math.inf), -1) @ value
    right, except for a query that may attend to nothing: a softmax of nothing but -∞ is NaN. Its output is 0.
= torch.softmax(scaled_scores(query, key).masked_fill(~mask, -1e9), -1) @ value
    right, except for a query that may attend to nothing: with equal scores it gets the mean of all values, the very
    ones that are hidden. Its output is 0.
= torch.softmax(scaled_scores(query, key), -1) @ value
    the mask is not used: each query attends to padding and future, too.
= torch.softmax(scaled_scores(query, key).masked_fill(mask, -math.inf), -1) @ value
    the sense is inverted: you hide what may be attended to. True = may attend, so what is hidden is ~mask.
= masked_softmax(scaled_scores(query, key), ~mask) @ value
    the sense is inverted: you hide what may be attended to, and a row with nothing left is 0. True = may attend.
= (torch.softmax(scaled_scores(query, key), -1) * mask) @ value
    you mask after the softmax: the weights that are left no longer sum to 1. Mask the scores, before it.
weights = torch.softmax(scaled_scores(query, key), -1) * mask
return (weights / weights.sum(-1, keepdim=True)) @ value
    you mask after the softmax and divide by the sum of the rest. Where a masked score is far above all others, or a
    query has no others, that is 0/0 = NaN. Mask before.
weights = torch.softmax(scaled_scores(query, key), -1) * mask
return (weights / weights.sum(-1, keepdim=True)).nan_to_num(0.0) @ value
    right, unless a masked score is far above the others: it takes all the weight in the softmax, masking leaves a
    row of zeros, and its sum cannot mend that. Mask the scores, before it.
weights = torch.softmax(scaled_scores(query, key), -1) * mask
return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9) @ value
    right, unless a masked score is far above the others: it takes all the weight in the softmax. Clamping the sum
    of what is left avoids 0/0, but the row stays 0. Mask the scores, before it.
= torch.softmax(scaled_scores(query, key) * mask, -1) @ value
    you set masked scores to 0. exp(0) is 1: they get a weight all the same. -∞ gets none.
= masked_softmax(scaled_scores(query, key), mask.mT) @ value
    you mask the rows, the queries, or turn the mask round: it crashes unless q = k. The mask fits as it is.
= masked_softmax(query @ key.mT, mask) @ value
    the mask is right, but the scores are not divided by √e: they spread more the larger e is.
= masked_softmax(query @ key.mT / math.sqrt(value.shape[-1]), mask) @ value
    the mask is right, but you divide by the root of v, a value's length. The scores are sums of e products: √e.
= torch.softmax((query @ key.mT).masked_fill(~mask, -math.inf), -1) @ value
    the scores are not divided by √e, and a query that may attend to nothing gets NaN. Its output is 0.
= masked_softmax(query @ key.mT / query.shape[-1], mask) @ value
    the mask is right, but you divide by e. Scores are divided by its root, √e.
= masked_softmax(query @ key.mT / math.sqrt(key.shape[-2]), mask) @ value
    the mask is right, but you divide by the root of k, the number of keys. The scores are sums of e products: √e.
= torch.softmax(scaled_scores(query, key).masked_fill(~mask, -math.inf), -2) @ value
    the softmax runs over the queries. Each query shares its weights out among the keys, the last axis: dim=-1.
= torch.softmax(scaled_scores(query, key).masked_fill(~mask, -math.inf), -2).nan_to_num(0.0) @ value
    masked weights are 0, but the softmax runs over the queries. Each query's own row has to sum to 1: dim=-1.
= torch.softmax(scaled_scores(query, key).masked_fill(~mask, -1e9), -2) @ value
    the softmax runs over the queries, and a key that is hidden from all of them comes out uniform. Each query's own
    row has to sum to 1: dim=-1.
= torch.softmax((query @ key.mT / query.shape[-1]).masked_fill(~mask, -math.inf), -1) @ value
    you divide by e, not by its root √e, and a query that may attend to nothing gets NaN. Its output is 0.
= torch.softmax((query @ key.mT / math.sqrt(key.shape[-2])).masked_fill(~mask, -math.inf), -1) @ value
    you divide by the root of k, not of e, and a query that may attend to nothing gets NaN. Its output is 0.
= scaled_scores(query, key).masked_fill(~mask, -math.inf) @ value
    the softmax is missing: masked scores, -∞ among them, weight the values. First make weights of them.
= scaled_scores(query, key).masked_fill(~mask, 0.0) @ value
    the softmax is missing: scores, 0 where masked, weight the values. Weights are positive and sum to 1.
= masked_softmax(scaled_scores(query, key), mask)
    you return the weights. They say how much of each value to take: did you forget the values?
= masked_attention(query, key, value, mask), masked_softmax(scaled_scores(query, key), mask)
    you return output and weights. Here return the output only.
= masked_attention(query, key, key, mask)
    you weight the keys. Keys are for finding, values for taking.
""")


masked_attention.right("""
attention.scaled_dot_product_attention(query, key, value, mask)[0]

F.scaled_dot_product_attention(query, key, value, attn_mask=mask).nan_to_num(0.0)

exercises = catalogue()
return exercises["masked_softmax"](exercises["head_scores"](query, key), mask) @ value

scores = torch.einsum("...qe,...ke->...qk", query, key) / query.shape[-1] ** 0.5
weights = torch.softmax(torch.where(mask, scores, -1e9), dim=-1)
return torch.einsum("...qk,...kv->...qv", weights, value) * mask.any(-1, keepdim=True)
""")


# ---- masked_mean


def draw_outputs_and_masks(generator):
    """Padding behind and in front, full of large numbers or NaN; none; words with zeros; one sentence; b = d; float64.

    In float64 the numbers of words have an exact inverse, so that weights of float32 are no mistake.
    """
    for (b, n, d), rows, dtype in (
        ((2, 5, 3), [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], None),
        ((3, 4, 3), [[1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]], None),
        ((2, 4, 4), [[0, 0, 1, 1], [0, 1, 1, 1]], None),
        ((1, 3, 6), [[1, 1, 0]], None),
        ((3, 3, 3), [[1, 1, 0], [1, 0, 0], [1, 1, 1]], None),
        ((2, 4, 5), [[1, 1, 0, 0], [1, 1, 1, 1]], torch.float64),
    ):
        mask = torch.tensor(rows).bool()
        outputs = torch.randn(b, n, d, generator=generator, dtype=dtype)
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
        "outputs: are the tokens still to be added up?": lambda outputs, mask: outputs,
    },
    question="outputs is (b, n, d), mask (b, n): an axis of length 1 at the end, mask[:, :, None], lets them meet; and "
    "what divides (b, d) is (b, 1).",
)
def masked_mean(outputs, mask):
    """Mean of outputs (b, n, d) over the words of each sentence, where mask (b, n) is True: returns (b, d)."""
    total = outputs.masked_fill(~mask[:, :, None], 0.0).sum(dim=1)  # (b, d)
    words = mask.sum(dim=1, keepdim=True)  # (b, 1)
    return total / words


def words_only(outputs, mask):
    return outputs.masked_fill(~mask[:, :, None], 0.0)


masked_mean.mistakes("""
= outputs.mean(1)
    the mask is not used: padding is averaged as if it were words.
= words_only(outputs, mask).mean(1)
    padding is set to 0, but you divide by n, padding included: short sentences come out too small. Divide by the
    number of words.
= outputs.sum(1) / mask.sum(1, keepdim=True)
    you divide by the number of words, but add up the padding, too. Make its rows 0 first.
= words_only(outputs, mask).sum(1)
    that is the sum over the words. Divide by their number, each sentence by its own.
= words_only(outputs, mask).sum(1) / mask.sum()
    you divide by the number of words in the whole batch. Each sentence has its own: mask.sum(dim=1).
= outputs[mask].mean(0)
    you average all the words of the batch: one vector. Each sentence has a mean of its own: (b, d).
= words_only(outputs, mask).sum(0) / mask.sum(0)[:, None]
    you average over the sentences, position by position. Average over the tokens, dim=1: (b, d).
= words_only(outputs, mask).sum(-1) / mask.sum(1, keepdim=True)
    you sum over d, the numbers of a token. Sum over the tokens, dim=1: (b, d).
= words_only(outputs, mask).sum(1) / mask.sum(1)
    the number of words is (b,) and divides along d, or crashes. It has to be (b, 1): keepdim=True, or [:, None].
= words_only(outputs, ~mask).sum(1) / (~mask).sum(1, keepdim=True)
    the sense is inverted: that is the mean of the padding. True = a word.
= outputs[:, 0]
    you take the first token. The mean is over all the words of a sentence.
= outputs.masked_fill(~mask[:, :, None], -math.inf).amax(1)
    you take the largest number of the words. The mean adds them up and divides by their number.
= (outputs * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    right, unless padding holds NaN or infinity: 0 · NaN is NaN, so a product does not hide it. masked_fill or
    torch.where puts a 0 in its place.
kept = words_only(outputs, mask)
return kept.sum(1) / (kept != 0).sum(1)
    you count the numbers that are not 0, but a word may hold a 0, too. How many words there are is what mask says.
kept = words_only(outputs, mask)
return kept.sum(1) / (kept != 0).any(-1).sum(1, keepdim=True)
    you count the rows that are not all 0, but a word's output may be 0. How many words there are is what mask says.
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
    yield from ((4,), (1,), (2,), (7,))


@exercise(
    draws=draw_lengths,
    hints=[
        "Write the four rows for n = 4 down: where may the first token look? And the last one?",
        "Rows are queries, columns keys. Row i is True up to column i, which is the diagonal: which triangle is that?",
        "torch.ones with dtype=torch.bool is True everywhere, and tril keeps the lower triangle with the diagonal. Or "
        "compare torch.arange(n), once as a column and once as a row.",
    ],
    question="The mask is (n, n): queries as rows, keys as columns. Which of the two is which in this line?",
)
def causal_mask(n):
    """True where the query of a row may attend to the key of a column, itself or earlier: returns boolean (n, n)."""
    return torch.ones(n, n, dtype=torch.bool).tril()


causal_mask.mistakes("""
= torch.ones(n, n, dtype=torch.bool).triu(1)
    the sense is inverted: True marks what is hidden, the future. Here True = may attend.
= torch.ones(n, n, dtype=torch.bool).triu()
    that is the upper triangle: each token sees itself and the future. Rows are queries: row i is True up to column
    i.
= torch.ones(n, n, dtype=torch.bool).tril(-1)
    the diagonal is missing: a token may attend to itself, too. Without that, the first sees nothing.
= torch.ones(n, n, dtype=torch.bool).tril(1)
    each token sees one token too far, the very one it is to predict. The diagonal is the last True.
= torch.ones(n, n, dtype=torch.bool)
    everything is True: no token is hidden from an earlier one.
= torch.eye(n, dtype=torch.bool)
    only the diagonal is True: each token sees itself alone. The earlier ones belong to it.
= torch.ones(n, n).tril()
    ones and zeros stand in the right places, but as floats. A mask is boolean: dtype=torch.bool.
= torch.ones(n, n, dtype=torch.long).tril()
    ones and zeros stand in the right places, but as integers. A mask is boolean: dtype=torch.bool.
= torch.full((n, n), -math.inf).triu(1)
    that is what is added to the scores, 0 or -∞. The mask itself is boolean: True = may attend.
= torch.ones(n, n).triu(1)
    ones and zeros as floats, and the sense is inverted: True = may attend, and a mask is boolean, dtype=torch.bool.
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
    """Widths of 1, 2, 3 and 4, the width of the sentence, and wider than it; a single token."""
    yield from ((5, 2), (6, 3), (4, 1), (9, 4), (4, 4), (3, 5), (1, 1))


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
)
def sliding_window_mask(n, width):
    """Causal mask that reaches back `width` tokens at most, the query itself counted: returns boolean (n, n)."""
    distance = torch.arange(n)[:, None] - torch.arange(n)  # how far the key, a column, lies behind the query, a row
    return (distance >= 0) & (distance < width)


def distances(n):
    return torch.arange(n)[:, None] - torch.arange(n)


sliding_window_mask.mistakes("""
= (distances(n) >= 0) & (distances(n) <= width)
    the window is one too wide. `width` counts the token itself: distances 0 to width - 1.
= (distances(n) >= 0) & (distances(n) < width - 1)
    the window is one too narrow. width = 1 is the token itself: distances 0 to width - 1.
= (distances(n) > 0) & (distances(n) <= width)
    the token itself is missing: the window begins one behind it. Begin at distance 0.
= (distances(n) > 0) & (distances(n) < width)
    the token itself is missing: distance 0 belongs to the window, and width counts it.
= distances(n).abs() < width
    the window reaches into the future as well: a window on both sides. Look back only.
= distances(n) < width
    the past is limited, the future is not: nothing hides it. Two conditions are needed, joined by &.
= distances(n) >= 0
    that is causal, but nothing is too far back: width has no say.
= (distances(n) <= 0) & (distances(n) > -width)
    the window looks ahead. Queries are rows: row i is True at column i and before it.
= ~((distances(n) >= 0) & (distances(n) < width))
    the sense is inverted: True marks what is hidden. Here True = may attend.
= (distances(n) >= 0) | (distances(n) < width)
    you join the conditions with `or`, |: one of them always holds. Both have to: &.
block = torch.arange(n) // width
return (block[:, None] == block) & (distances(n) >= 0)
    that is causal in blocks of `width` tokens: the first of each block sees itself alone. The window slides along.
= torch.ones(n, n).tril().triu(1 - width)
    ones and zeros stand in the right places, but as floats. A mask is boolean: .bool().
""")


sliding_window_mask.right("""
torch.ones(n, n, dtype=torch.bool).tril().triu(1 - width)

mask = torch.zeros(n, n, dtype=torch.bool)
for i in range(n):
    mask[i, max(0, i - width + 1) : i + 1] = True
return mask

torch.ones(n, n).tril().bool() & ~torch.ones(n, n).tril(-width).bool()
""")
