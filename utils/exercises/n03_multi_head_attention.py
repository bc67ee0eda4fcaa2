"""Exercises of notebook 03: project per head, split, merge, scores of every head, parameters, the whole layer."""

import math

import torch

from .engine import exercise

# ---- project_per_head


def draw_inputs_and_head_matrices(generator):
    """Sizes that differ, h = n, e = d, all equal, a single head, a single token, and float64."""
    for n, d, h, e, dtype in (
        (5, 8, 4, 2, None),
        (3, 6, 3, 4, None),
        (4, 5, 2, 5, None),
        (3, 3, 3, 3, None),
        (6, 4, 1, 2, None),
        (1, 4, 3, 5, None),
        (2, 6, 3, 2, torch.float64),
    ):
        X = torch.randn(n, d, generator=generator, dtype=dtype)
        yield X, torch.randn(h, d, e, generator=generator, dtype=dtype)


@exercise(
    draws=draw_inputs_and_head_matrices,
    level=1,
    minutes=5,
    hints=[
        "What would you write for a single head, whose matrix is W[0]? What shape comes out, and how often?",
        "In einsum, X has the axes nd and W the axes hde. Which letters stay after the arrow, and which one is summed?",
        "A letter that is missing after the arrow is summed: d. The others stay, in the order of (h, n, e).",
    ],
    names={
        "(n, h, e): which axis comes first after the arrow?": lambda X, W: torch.einsum("nd,hde->nhe", X, W),
        "a single head: is there one for each of the h matrices?": lambda X, W: X @ W[0],
        "the products before d is summed": lambda X, W: torch.einsum("nd,hde->hnde", X, W),
        "the heads side by side: here each is to have an axis of its own": lambda X, W: torch.cat([*(X @ W)], -1),
    },
    question={
        "einsum": "X has two axes, nd, and W three, hde: does each string before the arrow name as many, and does a "
        "letter stand for the same length in both?",
        "": "X is (n, d), one head's matrix (d, e): which axes meet in this line?",
    },
)
def project_per_head(X, W):
    """Project X (n, d) with each of the h matrices in W (h, d, e): returns (h, n, e)."""
    return torch.einsum("nd,hde->hne", X, W)


project_per_head.mistakes("""
hne -> nhe
    tokens come first in your result, (n, h, e). Heads come first: (h, n, e).
hne -> hen
    the last two axes are exchanged, (h, e, n). Each head has the tokens in rows: (h, n, e).
hne -> ne
    you add the heads up: h is missing after the arrow, or summed afterwards. Only d is summed; each head stays apart.
hne -> hnde
    d is not summed: each product stands on its own. What is summed is missing after the arrow.
hne -> hde
    you sum over the tokens, and every token is lost. The axis that X and W share is d: it is the one to sum.
->hne ->
    without an arrow einsum sorts the letters that stay: (e, h, n). After an arrow they stand in your order.
X, W) -> X, W) / X.shape[1]
    you average over d: a mean has crept in where the d products are added up.
hde -> hed
    you project with the transposed matrices: that needs e = d. The axis d of X meets the axis d of W, in (h, d, e) the middle one.
= X @ W[0]
    you project with the first head's matrix only. Each of the h matrices gives a head.
= X @ W[-1]
    you return the last head only: in a loop, collect the heads, then torch.stack them.
= (X @ W[:1]).expand(len(W), -1, -1)
    every head is head 0 again: in a loop, take the matrix of that round, W[i].
= X @ W.mean(0)
    you average the heads, or their matrices: one head comes out. Each matrix gives one of its own.
= W @ X
    W @ X mixes the tokens. They are the rows of X here, so the matrix stands on the right.
= torch.cat([*(X @ W)], dim=-1)
    the heads stand side by side, (n, h·e). That is for later: here each head has an axis of its own, (h, n, e).
= torch.cat([*(X @ W)], dim=0)
    the heads stand one below the other, (h·n, e). torch.stack gives them an axis, torch.cat none.
= torch.cat([*(X @ W)], dim=-1).reshape(len(W), len(X), -1)
    the last reshape mixes the heads: (n, h·e) read as (h, n, e) gives a head numbers of all the others. Stack the heads, then no reshape is needed.
= (X @ W.reshape(W.shape[1], -1)).reshape(len(X), len(W), -1).transpose(0, 1)
    W.reshape(d, h·e) mixes the heads: W has h in front, so its columns are not side by side. Is the reshape needed?
""")


project_per_head.right("""
X @ W

torch.stack([X @ matrix for matrix in W])

h, d, e = W.shape
return (X @ W.permute(1, 0, 2).reshape(d, h * e)).view(len(X), h, e).transpose(0, 1)

(X[None, :, :, None] * W[:, None]).sum(2)
""")


# ---- head_scores


def draw_queries_and_keys_of_heads(generator):
    """One sentence, a batch, two leading axes; q ≠ k, k = e, all equal; one head, one query; e = 1; float64 (its √e a
    whole number, which float32 holds as well)."""
    for leading, h, q, k, e, dtype in (
        ((), 2, 3, 5, 4, None),
        ((), 3, 3, 3, 3, None),
        ((2,), 4, 3, 6, 2, None),
        ((3,), 2, 5, 4, 4, None),
        ((2, 3), 2, 4, 4, 3, None),
        ((2,), 1, 1, 3, 6, None),
        ((), 4, 4, 2, 1, None),
        ((2,), 3, 2, 3, 4, torch.float64),
    ):
        Q = torch.randn(*leading, h, q, e, generator=generator, dtype=dtype)
        yield Q, torch.randn(*leading, h, k, e, generator=generator, dtype=dtype)


@exercise(
    draws=draw_queries_and_keys_of_heads,
    level=1,
    minutes=5,
    hints=[
        "What are the scores of a single head? What becomes of the head axis, and of those before it?",
        "einsum would sum e and keep h, and `...` for what stands in front. @ does that, too: it multiplies the last two "
        "axes, and all before them are a batch, the heads as well.",
        "Exchange the last two axes of K, counted from the end. A score is a sum of e products: Q.shape[-1] is e.",
    ],
    names={
        "one head's scores: does each head keep its own?": lambda Q, K: Q[..., 0, :, :] @ K[..., 0, :, :].mT,
        "the scores with q and k exchanged": lambda Q, K: K @ Q.mT,
    },
    question="Q is (…, h, q, e) and K (…, h, k, e): which axis of each is to meet in this line, and does it count "
    "from the end?",
)
def head_scores(Q, K):
    """Scaled scores of each head's queries (…, h, q, e) against its keys (…, h, k, e): returns (…, h, q, k)."""
    return Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])


head_scores.mistakes("""
/ math.sqrt(Q.shape[-1]) ->
    the scores are not divided by √e: they spread more the larger e is, and the softmax saturates.
    https://github.com/huggingface/blog/pull/2893
math.sqrt(Q.shape[-1]) -> Q.shape[-1]
    you divide by e, or by √e twice: the larger e, the more equal all weights become. Once by the root.
    https://github.com/delzac/cntkx/issues/10
/ math.sqrt -> * math.sqrt
    you multiply by √e instead of dividing: the spread of the scores grows to e.
    https://github.com/esceptico/perceiver-io/issues/9
Q.shape[-1] -> Q.shape[-3] * Q.shape[-1]
    you divide by √(h·e), the root of d_model. A head's score is a sum of e products: divide by √e, e the last axis.
    https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/42
Q.shape[-1] -> Q.shape[-3]
    you divide by the root of the number of heads. A score is a sum of e products: divide by √e.
Q.shape[-1] -> K.shape[-2]
    you divide by the root of the number of keys. A score is a sum of e products: divide by √e.
Q.shape[-1] -> Q.shape[-2]
    you divide by the root of the number of queries. A score is a sum of e products: divide by √e.
math.sqrt(Q.shape[-1]) -> 2
    you divide by 2, whatever e is: that is √e for e = 4 only. Read e off the shape, the last axis.
math.sqrt(Q.shape[-1]) -> 4
    you divide by 4, whatever e is: that is √e for e = 16 only. Read e off the shape, the last axis.
math.sqrt(Q.shape[-1]) -> 8
    you divide by 8, whatever e is: that is √e for e = 64 only. Read e off the shape, the last axis.
Q.shape[-1] -> (Q.shape[-1] - 1)
    you divide by √(e - 1). A score is a sum of e products: divide by √e.
K.transpose(-2, -1) -> K
    K is not transposed: its positions meet the entries of the queries, and it crashes unless k = e.
K.transpose(-2, -1) -> K.T
    K.T exchanges all the axes, heads and batch among them. Exchange the last two only: K.transpose(-2, -1).
K.transpose(-2, -1) -> K.transpose(1, 2)
    K.transpose(1, 2) fits one sentence: with a batch, axes 1 and 2 of K are heads and positions. Count from the end: -2 and -1.
K.transpose(-2, -1) -> K.transpose(2, 3)
    K.transpose(2, 3) fits a batch of sentences: a single one has no axis 3. Count from the end: -2 and -1.
Q @ K.transpose(-2, -1) -> K @ Q.transpose(-2, -1)
    queries and keys are exchanged: rows belong to queries, columns to keys, (…, h, q, k).
@ K.transpose(-2, -1) -> * K
    `*` multiplies entry by entry, and needs equal shapes. A score is the sum of e such products, one for each query and key: @.
Q @ K.transpose(-2, -1) -> torch.einsum("...hqe,...hke->...qk", Q, K)
    you add the scores of the heads up. Then all heads would attend alike: each keeps its own, (…, h, q, k).
Q @ K.transpose(-2, -1) -> (Q @ K.mT).mean(-3)
    you average the scores of the heads. Then all heads would attend alike: each keeps its own, (…, h, q, k).
Q @ K.transpose(-2, -1) -> torch.einsum("...hqe,...hke->hqk", Q, K)
    `...` is missing after the arrow, so sentences of a batch are added up. It stays: each has its own scores.
Q @ K.transpose(-2, -1) -> torch.einsum("...hqe,...gke->...hgqk", Q, K)
    you compare every head's queries with every other head's keys. h is one letter, in Q and in K.
Q @ K.transpose(-2, -1) -> torch.einsum("...qe,...kf->...qk", Q, K)
    e stands under two letters: you sum the query and the key each alone, then multiply. One letter pairs their entries up.
Q @ K.transpose(-2, -1) -> F.normalize(Q, dim=-1) @ F.normalize(K, dim=-1).mT
    you shorten queries and keys to length 1: those are cosines. A score is the dot product as it is, lengths and all.
Q @ K.transpose(-2, -1) -> torch.softmax(Q @ K.transpose(-2, -1), -1)
    a softmax comes before the division. Here the scores are asked for; the softmax comes after them.
= torch.softmax(Q @ K.mT / math.sqrt(Q.shape[-1]), -1)
    you apply softmax already: those are the weights. Return the scores, one step before.
""")


head_scores.right("""
torch.einsum("...qe,...ke->...qk", Q, K) / K.shape[-1] ** 0.5

torch.matmul(Q / math.sqrt(Q.size(-1)), K.mT)

Q @ K.mT / torch.sqrt(torch.tensor(Q.shape[-1]))

(Q.unsqueeze(-2) * K.unsqueeze(-3)).sum(-1) / math.sqrt(K.shape[-1])

pairs = zip(Q.unbind(-3), K.unbind(-3))
return torch.stack([q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) for q, k in pairs], dim=-3)
""")


# ---- split_heads


def draw_tokens_to_split(generator):
    """A sentence, a batch, two leading axes; n = h, n = h = e, n no multiple of h; a single head, e = 1, float64."""
    for shape, h, dtype in (
        ((5, 8), 2, None),
        ((4, 8), 4, None),
        ((2, 4), 2, None),
        ((3, 5, 6), 3, None),
        ((2, 3, 4, 8), 2, None),
        ((2, 3, 4), 1, None),
        ((7, 5), 5, None),
        ((2, 1, 8), 4, None),
        ((2, 6, 9), 3, torch.float64),
    ):
        yield torch.randn(shape, generator=generator, dtype=dtype), h


@exercise(
    draws=draw_tokens_to_split,
    level=2,
    minutes=10,
    hints=[
        "One token has d numbers in a row. Which of them belong to head 0, which to head 1? How many to each?",
        "Cutting the last axis into h pieces of e keeps each token's numbers together. Which shape is that?",
        "(…, n, d) is cut to (…, n, h, e) by unflatten, or by reshape, where *X.shape[:-1] stands for all axes but the "
        "last. Then exchange two axes, counted from the end, since there may be any number in front.",
    ],
    names={
        "(…, n, h, e): two axes are still to be exchanged": lambda X, num_heads: X.unflatten(-1, (num_heads, -1)),
        "(…, h, n, d): does each head get all of the d numbers?": lambda X, num_heads: torch.stack([X] * num_heads, -3),
        "X": lambda X, num_heads: X,
    },
    question="The last axis, d = h · e, becomes two, h and e; every axis before it stays. Do the sizes in this line "
    "say so, whatever number of axes there is?",
)
def split_heads(X, num_heads):
    """Give each head its d / h numbers of every token, X (…, n, d): returns (…, h, n, e)."""
    per_token = X.reshape(*X.shape[:-1], num_heads, -1)  # (…, n, h, e)
    return per_token.transpose(-3, -2)


split_heads.mistakes("""
*X.shape[:-1], num_heads, -1) -> *X.shape[:-2], num_heads, X.shape[-2], -1)
.transpose(-3, -2) ->
    the numbers are mixed: read directly as (h, n, e), head 0 gets the first tokens whole. Cut d into (h, e) first, (…, n, h, e), then exchange n and h.
    https://github.com/reczoo/FuxiCTR/issues/30
= X.reshape(num_heads, X.shape[0], -1)
    the numbers are mixed: read directly as (h, n, e), head 0 gets the first tokens whole. Cut d first, (…, n, h, e), then exchange n and h. And axis 0 holds the tokens of one sentence only: count from the end.
= X.reshape(num_heads, X.shape[-2], -1)
    the numbers are mixed: read directly as (h, n, e), head 0 gets the first tokens whole. Cut d first, (…, n, h, e), then exchange n and h. And the axes of a batch, in front, have to stay.
= X.reshape(num_heads, -1, X.shape[-1] // num_heads)
    the numbers are mixed: read directly as (h, n, e), head 0 gets the first tokens whole. Cut d first, (…, n, h, e), then exchange n and h. And -1 in the middle takes in the batch, too.
= X.reshape(-1, num_heads, X.shape[-2], X.shape[-1] // num_heads)
    the numbers are mixed: read directly as (h, n, e), head 0 gets the first tokens whole. Cut d first, (…, n, h, e), then exchange n and h. And -1 in front makes four axes of whatever comes.
= X.reshape(num_heads, X.shape[-2], X.shape[-1] // num_heads)
    the numbers are mixed: read directly as (h, n, e), head 0 gets the first tokens whole. Cut d first, (…, n, h, e), then exchange n and h. And with a batch it crashes: the axes in front have to stay.
.transpose(-3, -2) ->
    n and h are still to be exchanged: (…, n, h, e). Each head is to see all tokens: (…, h, n, e).
.transpose(-3, -2) -> .transpose(-2, -1)
    you exchange the last two axes, (…, n, e, h). After the cut, (…, n, h, e), the ones to exchange are n and h.
.transpose(-3, -2) -> .movedim(-3, -1)
    the last two axes are exchanged, (…, h, e, n). Each head has the tokens in rows: (…, h, n, e).
(-3, -2) -> (1, 2)
    axes 1 and 2 are the right ones in a batch; a single sentence has one axis less, two leading axes one more. Count from the end: the ones to exchange are -3 and -2.
(-3, -2) -> (0, 1)
    axes 0 and 1 are the right ones in one sentence; in a batch axis 0 is the batch. Count from the end: exchange -3 and -2.
num_heads, -1) -> -1, num_heads)
    h and e are exchanged: you make d / h heads of size h. num_heads is the number of heads, d / num_heads their size.
num_heads, -1) -> -1, num_heads)
transpose(-3, -2) -> movedim(-1, -3)
    you deal the numbers out in turn: head 0 gets every h-th one. Give it e neighbouring numbers: d is cut into (h, e), not (e, h).
num_heads, -1) -> 4, -1)
    you make 4 heads, whatever num_heads says, or crash where d is not a multiple of 4.
num_heads, -1) -> num_heads, 4)
    you give every head 4 numbers, and it crashes unless d = 4 · h. What is e, given d and num_heads? -1 works it out.
= X.reshape(X.shape[0], num_heads, -1).transpose(0, 1)
    that fits one sentence: in a batch X.shape[0] is the number of sentences, and -1 takes in tokens. Keep all axes but the last, *X.shape[:-1], and exchange -3 and -2.
= X.reshape(X.shape[0], num_heads, X.shape[1] // num_heads).transpose(0, 1)
    that fits one sentence of two axes, n and d: with a batch it crashes. Keep all axes but the last, *X.shape[:-1], and exchange -3 and -2.
= X.reshape(-1, num_heads, X.shape[-1] // num_heads).transpose(0, 1)
    that fits one sentence: with a batch, -1 in front joins sentences and tokens. Keep all axes but the last, *X.shape[:-1], and exchange -3 and -2.
= X.reshape(X.shape[0], X.shape[1], num_heads, -1).transpose(1, 2)
    that fits a batch of sentences, three axes. A single sentence has two, two leading axes make four: keep all but the last, *X.shape[:-1], and exchange -3 and -2.
= X.reshape(-1, X.shape[-2], num_heads, X.shape[-1] // num_heads).transpose(1, 2)
    -1 in front makes four axes of whatever comes: a batch of sentences, and no other. Keep those in front, *X.shape[:-1], and exchange -3 and -2.
= torch.stack(X.chunk(num_heads, dim=-1))
    the heads stand in front of everything: in a batch that makes (h, b, n, e). They belong before n: dim=-3.
= torch.cat(X.chunk(num_heads, dim=-1), dim=-2)
    the heads stand below each other, (…, h·n, e). torch.stack gives them an axis of their own, dim=-3; torch.cat none.
= X.chunk(num_heads, dim=-1)
    chunk and split give a tuple of h tensors, the right ones. torch.stack makes one tensor, with the heads before n: dim=-3.
= X.unflatten(-2, (num_heads, -1))
    you share out the tokens. Every head sees all of them: what is cut is the last axis, the d numbers of a token.
= X.mT.reshape(*X.shape[:-2], num_heads, X.shape[-2], -1)
    you exchange axes before the cut: the reshape to (h, n, e) then reads down the columns. Cut d first, (…, n, h, e).
= torch.stack([X] * num_heads, dim=-3)
    each head gets a copy of all d numbers. Heads share them out, e = d / h each, so that h heads cost what one did.
= torch.stack([X[..., : X.shape[-1] // num_heads]] * num_heads, dim=-3)
    every head gets the same e numbers, the first. Head i begins at i · e.
= torch.stack([X[..., i : i + X.shape[-1] // num_heads] for i in range(num_heads)], dim=-3)
    your slices overlap: head i begins at i. Each head takes e numbers, so head i begins at i · e.
= torch.stack([X[..., i * num_heads : (i + 1) * num_heads] for i in range(num_heads)], dim=-3)
    your slices are h wide, num_heads. Each head takes e = d / h numbers: head i begins at i · e and ends before (i + 1) · e.
= X[..., : X.shape[-1] // num_heads]
    you return the first head only. The result holds all h of them: (…, h, n, e).
= X[..., -(X.shape[-1] // num_heads) :]
    you return the last head only: in a loop, collect the heads, then torch.stack them, dim=-3.
""")


split_heads.right("""
e = X.shape[-1] // num_heads
return torch.stack([X[..., i * e : (i + 1) * e] for i in range(num_heads)], dim=-3)

torch.stack(X.chunk(num_heads, dim=-1), dim=-3)

X.unflatten(-1, (num_heads, X.shape[-1] // num_heads)).transpose(-2, -3)

X.mT.unflatten(-2, (num_heads, -1)).mT

torch.einsum("...nhe->...hne", X.reshape(*X.shape[:-1], num_heads, -1))
""")


# ---- merge_heads


def draw_heads(generator):
    """One sentence, a batch, two leading axes; n = h, all equal; one head, one token, e = 1; float64."""
    for shape, dtype in (
        ((2, 5, 4), None),
        ((4, 4, 2), None),
        ((3, 3, 3), None),
        ((2, 3, 4, 2), None),
        ((2, 2, 3, 5, 2), None),
        ((2, 1, 3, 4), None),
        ((3, 1, 2), None),
        ((5, 3, 1), None),
        ((3, 2, 6, 3), torch.float64),
    ):
        yield (torch.randn(shape, generator=generator, dtype=dtype),)


@exercise(
    draws=draw_heads,
    level=2,
    minutes=5,
    hints=[
        "A token's row in the result holds its e numbers from head 0, then those from head 1: which axes must be "
        "neighbours before they can become one?",
        "It is the way back from split_heads: exchange the two axes that it exchanged, then join what it cut.",
        "Exchange h and n, axes -3 and -2, to get (…, n, h, e). Then join the last two: flatten(-2), or reshape.",
    ],
    names={
        "(…, n, h, e): the last two axes are still to be joined": lambda heads: heads.transpose(-3, -2),
        "(…, h·n, e): the heads stand below each other, not side by side": lambda heads: heads.flatten(-3, -2),
        "a single head: are they added, averaged or left out?": lambda heads: heads[..., 0, :, :],
        "(…, h, n·e): tokens are joined, not heads": lambda heads: heads.flatten(-2),
    },
    question="A result has the shape (…, n, h·e): do the sizes in this line say so, whatever number of axes there is?",
)
def merge_heads(heads):
    """Put the heads (…, h, n, e) side by side for each token, the inverse of split_heads: returns (…, n, h·e)."""
    per_token = heads.transpose(-3, -2)  # (…, n, h, e)
    return per_token.flatten(-2)


merge_heads.mistakes("""
.transpose(-3, -2) ->
.flatten(-2) -> .reshape(*heads.shape[:-3], heads.shape[-2], -1)
    the numbers are mixed: a reshape alone puts several tokens of one head into a row. Exchange h and n first.
    https://github.com/jsbaan/transformer-from-scratch/pull/6
.flatten(-2) -> .view(*heads.shape[:-3], heads.shape[-2], -1)
    view crashes after an exchange of axes: the numbers of a row no longer lie side by side in memory. reshape copies them where it must, as do flatten, and .contiguous() before the view.
    https://github.com/vllm-project/vllm/pull/11979
= heads
    those are the heads as they came in, (…, h, n, e). Put them side by side: (…, n, h·e).
.flatten(-2) ->
    the last two axes are still to be joined: (…, n, h, e) to (…, n, h·e).
.transpose(-3, -2) ->
    you join n and e, (…, h, n·e): each head's tokens in one row. Exchange h and n first, so that h stands beside e.
.transpose(-3, -2) -> .mT
    you exchange n and e. The axes to exchange are h and n, -3 and -2, so that h stands beside e.
*leading, h, n, e = heads.shape
return heads.mT.reshape(*leading, n, h * e)
    you exchange n and e before you join, and the reshape then mixes tokens. The axes to exchange are h and n, -3 and -2.
.transpose(-3, -2) -> .movedim(-3, -1)
    a row takes the first number of every head, then the second of every head. Keep each head's e numbers together: (…, n, h, e) before you join.
(-3, -2) -> (1, 2)
    axes 1 and 2 are the right ones in a batch; a single sentence has one axis less, two leading axes one more. Count from the end: the ones to exchange are -3 and -2.
(-3, -2) -> (0, 1)
    axes 0 and 1 are the right ones in one sentence; in a batch axis 0 is the batch. Count from the end: exchange -3 and -2.
.flatten(-2) -> .flatten(1)
    flatten(1) joins everything from axis 1 on: in a batch, the tokens as well. Count from the end: the last two axes only.
.flatten(-2) -> .flatten(2)
    flatten(2) joins from axis 2 on: that fits a batch, and leaves a single sentence as it is. Count from the end: the last two axes.
.flatten(-2) -> .flatten(-3, -2)
    you join the tokens with the heads, (…, n·h, e). A token's heads belong in one row: (…, n, h·e).
= heads.flatten(-3, -2)
    the heads stand below each other, (…, h·n, e). A token's heads belong in one row: (…, n, h·e).
= heads.mT.flatten(-3, -2)
    tokens and numbers are exchanged, (…, h·e, n). One row a token: (…, n, h·e).
= heads.transpose(0, 1).reshape(heads.shape[1], -1)
    that fits one sentence: in a batch axis 0 is the batch, axis 1 the heads. Keep all the axes in front: exchange -3 and -2, then join the last two.
= heads.transpose(1, 2).reshape(heads.shape[0], heads.shape[2], -1)
    that fits a batch of sentences, four axes. Keep whatever stands in front: exchange -3 and -2, then join the last two.
= torch.cat([*heads], dim=-1)
    going through `heads`, you take axis 0: in a batch the sentences, which you put side by side. The heads are axis -3: heads.unbind(-3).
= torch.cat([*heads], dim=0)
    you put things one below the other, along axis 0, and in a batch those are sentences. Side by side: dim=-1; the heads: heads.unbind(-3).
= torch.cat([*heads], dim=1)
    hstack, or cat along axis 1, fits one sentence. In a batch, axis 0 is the batch: unbind(-3) gives the heads, dim=-1 puts them side by side.
= heads.sum(-3)
    you add the heads up: what each has found is lost. Put them side by side: (…, n, h·e).
= heads.mean(-3)
    you average the heads: what each has found is lost. Put them side by side: (…, n, h·e).
= heads[..., 0, :, :]
    you keep the first head only. A row holds the e numbers of every head: (…, n, h·e).
= heads[..., -1, :, :]
    you keep the last head only: in a loop, collect the heads, then put them side by side with torch.cat, dim=-1.
= heads.flip(-3).transpose(-3, -2).flatten(-2)
    the heads are in reverse order: head 0 comes first in a row.
""")


merge_heads.right("""
torch.cat(heads.unbind(dim=-3), dim=-1)

*leading, h, n, e = heads.shape
return heads.transpose(-3, -2).contiguous().view(*leading, n, h * e)

torch.einsum("...hne->...nhe", heads).reshape(*heads.shape[:-3], heads.shape[-2], -1)

merged = torch.empty(*heads.shape[:-3], heads.shape[-2], heads.shape[-3] * heads.shape[-1], dtype=heads.dtype)
for i in range(heads.shape[-3]):
    merged[..., i * heads.shape[-1] : (i + 1) * heads.shape[-1]] = heads[..., i, :, :]
return merged
""")


# ---- count_parameters


def draw_layer_sizes(generator):
    """With and without biases; one head, as many heads as d; the sizes of the original paper; two drawn."""
    yield from ((16, 4, False), (16, 4, True), (6, 3, True), (10, 1, True), (5, 5, False), (512, 8, True))
    for bias in (False, True):
        h, e = torch.randint(2, 12, (2,), generator=generator).tolist()
        yield h * e, h, bias


@exercise(
    draws=draw_layer_sizes,
    level=1,
    minutes=5,
    hints=[
        "Which matrices does the layer learn? How many numbers has one of them?",
        "Each head's part of W_q is (d, e), and there are h of them, with h · e = d. What do they add up to?",
        "Four matrices, W_o among them. A bias has one number for each output of its matrix.",
    ],
    question="The result is one whole number, made of d_model and bias: which of them is used in this line, and how?",
)
def count_parameters(d_model, num_heads, bias):
    """Parameters of W_q, W_k, W_v, W_o, each (d, d), with a bias (d,) if bias: returns an int."""
    matrices = 4 * d_model**2
    biases = 4 * d_model if bias else 0
    return matrices + biases


count_parameters.mistakes("""
= num_heads * (4 * d_model**2 + 4 * d_model * bias)
    you multiply by the number of heads. Each head has a slice of the matrices, (d, d / h): together they are as large as for one head.
4 * d_model**2 -> num_heads * 4 * d_model**2
    you multiply the matrices by the number of heads. Each head has a slice of them, (d, d / h): together they are as large as for one head.
4 * d_model**2 -> (3 * num_heads + 1) * d_model**2
    you give each head its own W_q, W_k and W_v of (d, d). A head's slices are (d, d / h): heads share, not repeat.
4 * d_model**2 -> 3 * d_model**2
    you count three matrices. The heads are put side by side and projected once more: W_o.
4 * d_model**2 -> 2 * d_model**2
    you count two matrices. There are W_q, W_k, W_v and W_o.
4 * d_model**2 -> d_model**2
    you count a single matrix. There are W_q, W_k, W_v and W_o.
4 * d_model**2 -> 4 * d_model
    you count d numbers for a matrix. It is (d, d): d rows of d numbers.
4 * d_model**2 -> 4 * d_model * 2
    you double d where a square is meant: a matrix (d, d) has d · d numbers, d_model**2.
4 * d_model**2 -> 4 * d_model * (d_model // num_heads)
    you count one head's slices of the matrices, e = d / h wide. Count all h heads.
4 * d_model**2 -> 4 * (d_model // num_heads) ** 2
    you count matrices of (e, e). A head's slice takes in all of a token: (d, e), and there are h of them.
4 * d_model**2 -> 3 * d_model * (d_model // num_heads) + d_model**2
    W_q, W_k and W_v are counted for one head, (d, e). There are h heads: h · e = d columns.
4 * d_model**2 -> 3 * d_model**2 + d_model * (d_model // num_heads)
    W_o is too small: its input is all heads side by side, h · e = d numbers, so that W_o is (d, d) as well.
4 * d_model**2 -> 4 * num_heads * d_model
    you count (h, d) for a matrix. Each is (d, d), whatever the number of heads.
4 * d_model if bias else 0 -> 0
    the biases are missing. If bias is True, each of the matrices has one, of d numbers.
if bias else 0 ->
    you count biases whatever bias says. Count them only if it is True.
4 * d_model if -> d_model if
    you count one bias. Each of the four matrices has its own.
4 * d_model if -> 3 * d_model if
    you count three biases. W_o has one, too.
4 * d_model if -> 4 if
    a bias counts as one number here. It has d: one for each output of its matrix.
4 * d_model if -> 1 if
    you add bias itself, and True counts as 1. Each of the four matrices has a bias, of d numbers.
4 * d_model if -> 4 * num_heads if
    a bias counts as h numbers here, one a head. It has d: one for each output of its matrix.
4 * d_model if -> 4 * num_heads * d_model if
    you multiply the biases by the number of heads. A bias has d numbers, and each head a slice of them.
4 * d_model if -> (3 * num_heads + 1) * d_model if
    you give each head biases of its own for W_q, W_k and W_v, of d numbers. A head has a slice of them, d / h: heads share.
4 * d_model if -> 4 * (d_model // num_heads) if
    a bias counts as e = d / h numbers here: that is one head's slice of it. Count all h heads.
4 * d_model if -> 3 * (d_model // num_heads) + d_model if
    the biases of W_q, W_k and W_v are counted for one head, e numbers. There are h heads: h · e = d.
4 * d_model if -> 4 * d_model**2 if
    you count a bias as large as a matrix. It has d numbers: one for each output.
= 4 * d_model**2 + 4 * d_model if bias else 0
    `if … else 0` takes in the whole sum, so that without biases nothing is left. Put brackets around the part that depends on bias.
= 4 * (d_model + bias) ** 2
    you square d + 1. A bias is one more input, not one more output: it adds d numbers to a matrix.
= 2 + 2 * bias
    that is how many tensors nn.MultiheadAttention holds. Count the numbers in them: .numel() of each.
= 4 + 4 * bias
    that is how many tensors the layer holds. Count the numbers in them: a matrix has d · d, a bias d.
matrices + biases -> float(matrices + biases)
    you return a float: / always gives one. A count is whole: d_model // num_heads.
""")


count_parameters.right("""
layer = torch.nn.MultiheadAttention(d_model, num_heads, bias=bias)
return sum(parameter.numel() for parameter in layer.parameters())

d_head = d_model // num_heads
return num_heads * 3 * (d_model + bias) * d_head + (d_model + bias) * d_model

if bias:
    return 4 * (d_model * d_model + d_model)
return 4 * d_model * d_model

torch.tensor(4 * d_model**2 + 4 * d_model * int(bias))
""")


# ---- multi_head_attention


def draw_layers(generator):
    """A sentence, a batch, two leading axes; n = h, n = h = e; one head; one token; e = 1; scores too large for a plain
    exp; float64 (its √e a whole number, which float32 holds as well)."""
    for shape, h, dtype, size in (
        ((5, 8), 2, None, 1),
        ((4, 8), 4, None, 1),
        ((3, 9), 3, None, 1),
        ((3, 5, 6), 3, None, 30),
        ((2, 3, 4, 8), 2, None, 1),
        ((2, 4, 6), 1, None, 1),
        ((1, 6), 2, None, 1),
        ((2, 3, 4), 4, None, 1),
        ((2, 4, 8), 2, torch.float64, 1),
    ):
        d = shape[-1]
        X = torch.randn(shape, generator=generator, dtype=dtype)
        W_q, W_k, W_v, W_o = torch.randn(4, d, d, generator=generator, dtype=dtype) / math.sqrt(d)
        yield size * X, 2 * W_q, 2 * W_k, W_v, W_o, h


@exercise(
    draws=draw_layers,
    level=3,
    minutes=15,
    hints=[
        "Project, split, attend, merge, project: what have you written already? What shape comes out of each step?",
        "Split Q, K and V into (…, h, n, e). From there on it is attention as before: @ treats the heads as a batch.",
        "Scale by the root of e, Q.shape[-1] after the split. Softmax over the keys, dim=-1. "
        "Merge to (…, n, d), and multiply by W_o last.",
    ],
    names={
        "the weights: did you forget the values?": lambda X, *rest: torch.stack([X @ X.mT] * rest[-1], -3),
        "the heads before they are merged": lambda X, *rest: split_heads(X, rest[-1]),
        "one head: are the heads added, averaged or left out?": lambda X, *rest: X[..., : X.shape[-1] // rest[-1]],
        "(…, n, h·d): each head through its own rows of W_o has d numbers already; those are added up, not put side by "
        "side": lambda X, *rest: torch.cat([X] * rest[-1], -1),
    },
    question={
        r"(transpose|permute).*\.view\(": "After an exchange of axes the numbers of a row no longer lie side by side "
        "in memory: reshape copies them where it must, view does not.",
        r"\.T\b": "`.T` exchanges all the axes, the heads among them. Exchange the last two only: transpose(-2, -1).",
        r"(transpose|swapaxes)\(\d": "An axis counted from the front is another one in a batch than in one sentence. "
        "Count from the end: -2 and -1 for the last two of K, -3 and -2 for heads and tokens.",
        "W_o": "W_o is (d, d), so it takes all heads side by side, (…, n, h·e): what is the shape on its left? Added "
        "or averaged heads have e numbers only.",
        r"W_[qkv]": "X is (…, n, d) and the matrices are (d, d): which axes meet in this product?",
        "": "After the split, Q, K and V are (…, h, n, e), weights (…, h, n, n): which axes meet in this line?",
    },
)
def multi_head_attention(X, W_q, W_k, W_v, W_o, num_heads):
    """Self-attention of X (…, n, d) in num_heads heads, each matrix (d, d), Q = X @ W_q: returns (…, n, d)."""
    per_head = (*X.shape[:-1], num_heads, -1)  # (…, n, h, e)
    Q, K, V = ((X @ W).reshape(per_head).transpose(-3, -2) for W in (W_q, W_k, W_v))  # (…, h, n, e)
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])  # (…, h, q, k)
    heads = torch.softmax(scores, dim=-1) @ V  # (…, h, q, e)
    concatenated = heads.transpose(-3, -2).flatten(-2)  # (…, q, h·e)
    return concatenated @ W_o


multi_head_attention.mistakes("""
num_heads, -1) -> 1, -1)
    there is one head only: num_heads has no say. Split Q, K and V before the scores, and merge after the values.
*X.shape[:-1], num_heads, -1) -> *X.shape[:-2], num_heads, X.shape[-2], -1)
reshape(per_head).transpose(-3, -2) -> reshape(per_head)
    the split mixes tokens: a direct view as (h, n, e) has the right shape, but head 0 gets the first tokens whole. Make it (…, n, h, e), then exchange n and h.
    https://github.com/reczoo/FuxiCTR/issues/30
heads.transpose(-3, -2).flatten(-2) -> heads.reshape(X.shape)
    the merge mixes tokens: h and n are not exchanged back before the last two axes are joined. (…, h, n, e) to (…, n, h, e), then (…, n, h·e).
    https://github.com/jsbaan/transformer-from-scratch/pull/6
reshape(per_head).transpose(-3, -2) -> reshape(per_head)
heads.transpose(-3, -2) -> heads
    h and n are not exchanged after the cut: at (…, n, h, e) each token's heads attend to each other, and no token to another.
num_heads, -1) -> -1, num_heads)
    h and e are exchanged in the split: you make d / h heads of size h. num_heads is the number of heads.
num_heads, -1) -> -1, num_heads)
reshape(per_head).transpose(-3, -2) -> reshape(per_head).movedim(-1, -3)
    the split deals the numbers out in turn: head 0 gets every h-th column. Give it e neighbouring ones: d is cut into (h, e), not (e, h).
heads.transpose(-3, -2) -> heads.movedim(-3, -1)
    the merge takes the first number of every head, then the second of every head. Keep each head's e numbers together: (…, n, h, e) before you join.
num_heads, -1) -> 4, -1)
    you make 4 heads, whatever num_heads says, or crash where d is not a multiple of 4.
heads.transpose(-3, -2) -> heads[..., :1, :, :].expand_as(heads).transpose(-3, -2)
    every head is head 0 again: in a loop, take the columns of that round, from i · e to (i + 1) · e.
/ math.sqrt(Q.shape[-1]) ->
    the scores are not divided by √e: they spread more the larger e is, and the softmax saturates.
math.sqrt(Q.shape[-1]) -> Q.shape[-1]
    you divide by e, or by √e twice: the larger e, the more equal all weights become. Once by the root.
/ math.sqrt -> * math.sqrt
    you multiply by √e instead of dividing: the larger e, the more the softmax saturates.
Q.shape[-1] -> X.shape[-1]
    you divide by √d, the root of d_model. A head's score is a sum of e = d / h products: divide by √e.
    https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/42
Q.shape[-1] -> num_heads
    you divide by the root of the number of heads. A head's score is a sum of e = d / h products: divide by √e.
Q.shape[-1] -> K.shape[-2]
    you divide by the root of the number of tokens. A head's score is a sum of e = d / h products: divide by √e.
math.sqrt(Q.shape[-1]) -> 2
    you divide the scores by 2, whatever e is: that is √e for e = 4 only. Read e off the shape, the last axis after the split.
/ math.sqrt(Q.shape[-1]) ->
(scores, dim=-1) -> (scores, dim=-1) / math.sqrt(Q.shape[-1])
    you divide by √e after the softmax: then the weights of a row do not sum to 1. The scores are scaled, before it.
    https://github.com/FrancescoSaverioZuppichini/ViT/issues/2
K.transpose(-2, -1) -> K
    K is not transposed: its positions meet the entries of the queries, and it crashes unless n = e.
K.transpose(-2, -1) -> K.transpose(1, 2)
    K.transpose(1, 2) fits one sentence: with a batch, axes 1 and 2 are heads and positions. Count from the end: -2 and -1.
torch.softmax(scores, dim=-1) -> scores
    there is no softmax: the scores themselves weight the values. Softmax them, dim=-1.
dim=-1 -> dim=-2
    the softmax runs over the queries. The weights of one query, a row, sum to 1: dim=-1.
dim=-1 -> dim=-3
    the softmax runs over the heads, which then compete for a token. Each head's rows sum to 1: dim=-1.
dim=-1 -> dim=1
    the softmax runs over axis 1: queries in one sentence, heads in a batch. The keys are dim=-1, whatever the shape.
dim=-1 -> dim=0
    the softmax runs over axis 0: heads in one sentence, the sentences of a batch. The keys are dim=-1, whatever the shape.
torch.softmax(scores, dim=-1) -> torch.softmax(scores.flatten(-2), dim=-1).view_as(scores)
    the softmax runs over the whole matrix of a head. The weights of each query, a row, sum to 1: dim=-1.
torch.softmax(scores, dim=-1) -> scores.exp() / scores.exp().sum(-1, keepdim=True)
    exp overflows where scores are large, and inf / inf is NaN. Subtract each row's maximum first, or take torch.softmax.
torch.softmax(scores, dim=-1) -> torch.exp(scores - scores.amax(-1, keepdim=True))
    exp alone is half a softmax: the weights of a row have to be divided by their sum.
torch.softmax(scores, dim=-1) -> (scores / scores.sum(-1, keepdim=True))
    you divide the scores by their sum, without exp: some weights are negative. Softmax them, dim=-1.
torch.softmax(scores, dim=-1) -> torch.sigmoid(scores)
    sigmoid looks at each score alone, so the weights of a row do not sum to 1. Softmax them, dim=-1.
torch.softmax(scores, dim=-1) -> torch.softmax(torch.softmax(scores, dim=-1), dim=-1)
    the softmax is taken twice: the second one makes the weights nearly equal.
torch.softmax(scores, dim=-1) -> F.one_hot(scores.argmax(-1), scores.shape[-1]).to(X.dtype)
    each query takes the value of its best key only: that is argmax. A softmax weights them all.
torch.softmax(scores, dim=-1) -> torch.softmax(scores, dim=-1).mean(-3, keepdim=True)
    the weights are averaged over the heads, so that all look alike. Each head weights its values itself.
torch.softmax(scores, dim=-1) -> torch.softmax(scores.mean(-3, keepdim=True), dim=-1)
    the scores are averaged over the heads, so that all look alike. Each head has its own scores.
torch.softmax(scores, dim=-1) -> torch.softmax(scores + torch.full_like(scores, -torch.inf).triu(1), dim=-1)
    no token looks at those after it: a causal mask, which is not asked for here.
torch.softmax(scores, dim=-1) -> torch.softmax(scores, dim=-1).mT
    the weights are transposed before they meet the values: the rows, one for each query, stay rows.
torch.softmax(scores, dim=-1) @ V -> V.mean(-2, keepdim=True).expand_as(V)
    you average the values, all with equal weight: queries and keys have no say. Their scores make the weights.
W_q, W_k, W_v) -> W_q, W_q, W_v)
    you compare the queries with themselves, Q with Q. The scores compare them with the keys.
W_q, W_k, W_v) -> W_k, W_k, W_v)
    you compare the keys with themselves, K with K. The scores compare the queries with them.
W_q, W_k, W_v) -> W_q, W_k, W_k)
    you average the keys. The weights say how much of each value a token takes: V, not K.
W_q, W_k, W_v) -> W_q, W_k, W_q)
    you average the queries. The weights say how much of each value a token takes: V, not Q.
(X @ W) -> X
    Q, K and V are all X itself, split. Each is X projected first: with W_q, W_k and W_v.
(X @ W) -> (X @ W.T)
    W_q, W_k and W_v are used transposed, as nn.Linear does with what it stores. Here they are used as they are, X on the left.
scores = Q -> scores = X.reshape(per_head).transpose(-3, -2)
    your queries are X itself, split. They are X projected with W_q, then split.
K.transpose(-2, -1) -> X.reshape(per_head).transpose(-3, -2).mT
    your keys are X itself, split. They are X projected with W_k, then split.
@ V -> @ X.reshape(per_head).transpose(-3, -2)
    you average X itself. The values are X projected with W_v, then split as Q and K are.
@ W_o ->
    the heads are side by side, and there you stop. W_o, which mixes them, is still to come.
    https://github.com/Kyubyong/transformer/issues/117
@ W_o -> @ W_o.T
    W_o is transposed. It is used as the others are: a row of numbers on its left.
return -> return X +
    you add X at the end, as a Transformer block does. Here return what attention gives.
@ W_o -> , torch.softmax(scores, dim=-1)
    you return output and weights, and the output lacks W_o. Multiply it by W_o, and return the output only.
@ W_o -> @ W_o, torch.softmax(scores, dim=-1)
    you return output and weights, as a layer does. Here return the output only.
""")


multi_head_attention.right("""
Q, K, V = ((X @ W).unflatten(-1, (num_heads, -1)).transpose(-2, -3) for W in (W_q, W_k, W_v))
return F.scaled_dot_product_attention(Q, K, V).transpose(-2, -3).reshape(X.shape) @ W_o

x = X.reshape(-1, *X.shape[-2:]).transpose(0, 1)
output, _ = F.multi_head_attention_forward(
    x, x, x, X.shape[-1], num_heads, torch.cat([W_q, W_k, W_v], 1).T, None, None, None, False, 0.0, W_o.T, None
)
return output.transpose(0, 1).reshape(X.shape)

e = X.shape[-1] // num_heads
parts = [slice(i * e, (i + 1) * e) for i in range(num_heads)]
attend = catalogue()["self_attention"]
return sum(attend(X, W_q[:, part], W_k[:, part], W_v[:, part] @ W_o[part]) for part in parts)

exercises = catalogue()
Q, K, V = (exercises["split_heads"](X @ W, num_heads) for W in (W_q, W_k, W_v))
weights = exercises["softmax"](exercises["head_scores"](Q, K))
return exercises["merge_heads"](weights @ V) @ W_o

d = X.shape[-1]
W_q, W_k, W_v = (W.reshape(d, num_heads, -1) for W in (W_q, W_k, W_v))
Q, K, V = (torch.einsum("...nd,dhe->...hne", X, W) for W in (W_q, W_k, W_v))
weights = torch.softmax(torch.einsum("...hqe,...hke->...hqk", Q, K) / torch.sqrt(torch.tensor(Q.shape[-1])), dim=-1)
return torch.einsum("...hqk,...hke,hed->...qd", weights, V, W_o.reshape(num_heads, -1, d))
""")
