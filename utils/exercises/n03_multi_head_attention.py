"""Exercises of notebook 03: project per head, split, merge, scores of every head, parameters, the whole layer."""

import math

import torch

from .engine import exercise

# ---- project_per_head


def draw_inputs_and_head_matrices(generator):
    """Sizes that differ, h = n, e = d, all equal, a single head, and float64."""
    for n, d, h, e, dtype in (
        (5, 8, 4, 2, None),
        (3, 6, 3, 4, None),
        (4, 5, 2, 5, None),
        (3, 3, 3, 3, None),
        (6, 4, 1, 2, None),
        (2, 6, 3, 2, torch.float64),
    ):
        X = torch.randn(n, d, generator=generator, dtype=dtype)
        yield X, torch.randn(h, d, e, generator=generator, dtype=dtype)


@exercise(
    draws=draw_inputs_and_head_matrices,
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
= torch.einsum("nd,hde->nhe", X, W)
    the numbers are right, but tokens come first, (n, h, e). Heads come first: (h, n, e).
= torch.einsum("nd,hde->hen", X, W)
    the last two axes are exchanged, (h, e, n). Each head has the tokens in rows: (h, n, e).
= torch.einsum("nd,hde->ne", X, W)
    you add the heads up: h is missing after the arrow, or summed afterwards. Only d is summed; each head stays
    apart.
= torch.einsum("nd,hde->hnde", X, W)
    d is not summed: each product stands on its own. What is summed is missing after the arrow.
= torch.einsum("nd,hde->hde", X, W)
    you sum over the tokens, and every token is lost. The axis that X and W share is d: it is the one to sum.
= X @ W[0]
    you project with the first head's matrix only. Each of the h matrices gives a head.
= X @ W[-1]
    you return the last head only: in a loop, collect the heads, then torch.stack them.
= torch.cat([*(X @ W)], dim=-1)
    the heads stand side by side, (n, h·e). That is for later: here each head has an axis of its own, (h, n, e).
= torch.cat([*(X @ W)], dim=0)
    the heads stand one below the other, (h·n, e). torch.stack gives them an axis, torch.cat none.
= torch.cat([*(X @ W)], dim=-1).reshape(len(W), len(X), -1)
    right numbers, mixed up by the last reshape: (n, h·e) read as (h, n, e) gives a head numbers of all the others.
    Stack the heads, then no reshape is needed.
h, d, e = W.shape
return (X @ W.reshape(d, h * e)).reshape(len(X), h, e).transpose(0, 1)
    W.reshape(d, h·e) mixes the heads: W has h in front, so its columns are not side by side. Is the reshape needed?
= X @ W.mT
    you project with the transposed matrices: that needs e = d. The axis d of X meets the axis d of W, in (h, d, e)
    the middle one.
= W @ X
    W @ X mixes the tokens. They are the rows of X here, so the matrix stands on the right.
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
    """One sentence, a batch, two leading axes; q ≠ k, k = e, all equal; one head; e = 1; float64."""
    for leading, h, q, k, e, dtype in (
        ((), 2, 3, 5, 4, None),
        ((), 3, 3, 3, 3, None),
        ((2,), 4, 3, 6, 2, None),
        ((3,), 2, 5, 4, 4, None),
        ((2, 3), 2, 4, 4, 3, None),
        ((2,), 1, 2, 3, 6, None),
        ((), 4, 4, 2, 1, None),
        ((2,), 3, 2, 3, 3, torch.float64),
    ):
        Q = torch.randn(*leading, h, q, e, generator=generator, dtype=dtype)
        yield Q, torch.randn(*leading, h, k, e, generator=generator, dtype=dtype)


@exercise(
    draws=draw_queries_and_keys_of_heads,
    hints=[
        "What are the scores of a single head? What becomes of the head axis, and of those before it?",
        "@ multiplies the last two axes and treats all in front of them as a batch, the heads too.",
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
= Q @ K.mT / math.sqrt(Q.shape[-3] * Q.shape[-1])
    you divide by √(h·e), the root of d_model. A head's score is a sum of e products: divide by √e, e the last axis.
""")


@head_scores.mistake("the scores are not divided by √e: they spread more the larger e is, and the softmax saturates.")
def head_scores_unscaled(Q, K):
    return Q @ K.mT


head_scores.mistakes("""
= Q @ K.mT / Q.shape[-1]
    you divide by e, not by √e: the larger e, the more equal all weights become.
= Q @ K.mT * math.sqrt(Q.shape[-1])
    you multiply by √e instead of dividing: the spread of the scores grows to e.
= Q @ K.mT / math.sqrt(Q.shape[-3])
    you divide by the root of the number of heads. A score is a sum of e products: divide by √e.
= Q @ K.mT / math.sqrt(K.shape[-2])
    you divide by the root of the number of keys. A score is a sum of e products: divide by √e.
= Q @ K.T / math.sqrt(Q.shape[-1])
    K.T exchanges all the axes, heads and batch among them. Exchange the last two only: K.transpose(-2, -1).
= Q @ K / math.sqrt(Q.shape[-1])
    K is not transposed: its positions meet the entries of the queries, and it crashes unless k = e.
= Q @ K.transpose(1, 2) / math.sqrt(Q.shape[-1])
    right for one sentence, but with a batch axes 1 and 2 of K are heads and positions. Count from the end: -2 and
    -1.
= Q @ K.transpose(2, 3) / math.sqrt(Q.shape[-1])
    right for a batch, but one sentence has no axis 3. Count from the end: K.transpose(-2, -1).
= K @ Q.mT / math.sqrt(Q.shape[-1])
    queries and keys are exchanged: rows belong to queries, columns to keys, (…, h, q, k).
= torch.einsum("...hqe,...hke->...qk", Q, K) / math.sqrt(Q.shape[-1])
    you add the scores of the heads up. Then all heads would attend alike: each keeps its own, (…, h, q, k).
= torch.einsum("...hqe,...gke->...hgqk", Q, K) / math.sqrt(Q.shape[-1])
    you compare every head's queries with every other head's keys. h is one letter, in Q and in K.
= torch.softmax(Q @ K.mT / math.sqrt(Q.shape[-1]), -1)
    you apply softmax already: those are the weights. Return the scores, one step before.
""")


head_scores.right("""
torch.einsum("...qe,...ke->...qk", Q, K) / K.shape[-1] ** 0.5

torch.matmul(Q / math.sqrt(Q.size(-1)), K.mT)

(Q.unsqueeze(-2) * K.unsqueeze(-3)).sum(-1) / math.sqrt(K.shape[-1])

pairs = zip(Q.unbind(-3), K.unbind(-3))
return torch.stack([q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) for q, k in pairs], dim=-3)
""")


# ---- split_heads


def draw_tokens_to_split(generator):
    """A sentence, a batch, two leading axes; n = h, n = h = e, a multiple of h; a single head, e = 1, float64."""
    for shape, h, dtype in (
        ((5, 8), 2, None),
        ((4, 8), 4, None),
        ((2, 4), 2, None),
        ((3, 4, 6), 3, None),
        ((2, 3, 4, 8), 2, None),
        ((2, 3, 4), 1, None),
        ((3, 5), 5, None),
        ((2, 6, 9), 3, torch.float64),
    ):
        yield torch.randn(shape, generator=generator, dtype=dtype), h


@exercise(
    draws=draw_tokens_to_split,
    hints=[
        "One token has d numbers in a row. Which of them belong to head 0, which to head 1? How many to each?",
        "Cutting the last axis into h pieces of e keeps each token's numbers together. Which shape is that?",
        "(…, n, d) is cut to (…, n, h, e) by reshape or unflatten. Then exchange two axes, counted from the end, since "
        "there may be any number in front.",
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


@split_heads.mistake(
    "the shape is right, the numbers are mixed: read directly as (h, n, e), head 0 gets the first tokens whole. Cut d "
    "into (h, e) first, (…, n, h, e), then exchange n and h."
)
def split_by_direct_view(X, num_heads):
    return X.reshape(*X.shape[:-2], num_heads, X.shape[-2], -1)


# Spelled without the leading axes: the same for one sentence, and in a batch another shape or a crash.
MIXED = (
    "the numbers are mixed: read directly as (h, n, e), head 0 gets the first tokens whole. Cut d into (h, e) first, "
    "(…, n, h, e), then exchange n and h. "
)


@split_heads.mistake(MIXED + "And axis 0 holds tokens in one sentence only: count from the end.")
def split_by_view_of_axis_0(X, num_heads):
    return X.reshape(num_heads, X.shape[0], -1)


@split_heads.mistake(MIXED + "And the axes of a batch, in front, have to stay.")
def split_by_view_losing_the_batch(X, num_heads):
    return X.reshape(num_heads, X.shape[-2], -1)


@split_heads.mistake(MIXED + "And -1 in the middle takes in the batch, too.")
def split_by_view_joining_batch_and_tokens(X, num_heads):
    return X.reshape(num_heads, -1, X.shape[-1] // num_heads)


@split_heads.mistake(MIXED + "And -1 in front always makes four axes: a batch of sentences, and no other.")
def split_by_view_of_a_batch(X, num_heads):
    return X.reshape(-1, num_heads, X.shape[-2], X.shape[-1] // num_heads)


@split_heads.mistake(MIXED + "And with a batch it crashes: the axes in front have to stay.")
def split_by_view_of_one_sentence(X, num_heads):
    return X.reshape(num_heads, X.shape[-2], X.shape[-1] // num_heads)


@split_heads.mistake(MIXED + "And X may have more than two axes: count from the end.")
def split_by_view_of_two_axes(X, num_heads):
    n, d = X.shape
    return X.reshape(num_heads, n, d // num_heads)


@split_heads.mistake("d is cut well, but the order is (…, n, h, e). Each head is to see all tokens: (…, h, n, e).")
def split_without_transpose(X, num_heads):
    return X.unflatten(-1, (num_heads, -1))


split_heads.mistakes("""
= X.unflatten(-1, (num_heads, -1)).transpose(-2, -1)
    you exchange the last two axes, (…, n, e, h). After the cut, (…, n, h, e), the ones to exchange are n and h.
= X.unflatten(-1, (num_heads, -1)).transpose(1, 2)
    right for a batch, but a single sentence has one axis less, two leading axes one more. Count from the end: the
    axes to exchange are -3 and -2.
= X.reshape(-1, X.shape[-2], num_heads, X.shape[-1] // num_heads).transpose(1, 2)
    right for a batch of sentences. But -1 in front makes four axes of whatever comes: keep those in front,
    *X.shape[:-1], and exchange -3 and -2.
= X.unflatten(-1, (num_heads, -1)).transpose(0, 1)
    right for one sentence, but in a batch axis 0 is the batch. Count from the end: exchange -3 and -2.
= torch.stack(X.chunk(num_heads, dim=-1))
    right for one sentence, but in a batch the heads stand in front of it: (h, b, n, e). They belong before n:
    dim=-3.
= X.chunk(num_heads, dim=-1)
    chunk and split give a tuple of h tensors, the right ones. torch.stack makes one tensor, with the heads before
    n: dim=-3.
= X.unflatten(-1, (-1, num_heads)).movedim(-1, -3)
    you deal the numbers out in turn: head 0 gets every h-th one. Give it e neighbouring numbers: d is cut into (h,
    e), not (e, h).
= X.unflatten(-1, (-1, num_heads)).transpose(-3, -2)
    h and e are exchanged: you make d / h heads of size h. num_heads is the number of heads, d / num_heads their
    size.
= torch.stack([X] * num_heads, dim=-3)
    each head gets a copy of all d numbers. Heads share them out, e = d / h each, so that h heads cost what one did.
= X.unflatten(-2, (num_heads, -1))
    you share out the tokens. Every head sees all of them: what is cut is the last axis, the d numbers of a token.
= X.unflatten(-1, (num_heads, -1)).transpose(-3, -2).mT
    the last two axes are exchanged, (…, h, e, n). Each head has the tokens in rows: (…, h, n, e).
= X.mT.reshape(*X.shape[:-2], num_heads, X.shape[-2], -1)
    you exchange axes before the cut: the reshape to (h, n, e) then reads down the columns. Cut d first, (…, n, h,
    e).
= X[..., : X.shape[-1] // num_heads]
    you return the first head only. The result holds all h of them: (…, h, n, e).
""")


split_heads.right("""
e = X.shape[-1] // num_heads
return torch.stack([X[..., i * e : (i + 1) * e] for i in range(num_heads)], dim=-3)

torch.stack(X.chunk(num_heads, dim=-1), dim=-3)

X.unflatten(-1, (num_heads, X.shape[-1] // num_heads)).transpose(-2, -3)

X.mT.unflatten(-2, (num_heads, -1)).mT

*leading, n, d = X.size()
return X.view(*leading, n, num_heads, d // num_heads).swapaxes(-3, -2)
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
        "heads": lambda heads: heads,
    },
    question="A result has the shape (…, n, h·e): do the sizes in this line say so, whatever number of axes there is?",
)
def merge_heads(heads):
    """Put the heads (…, h, n, e) side by side for each token, the inverse of split_heads: returns (…, n, h·e)."""
    per_token = heads.transpose(-3, -2)  # (…, n, h, e)
    return per_token.flatten(-2)


@merge_heads.mistake(
    "the shape is right, the numbers are mixed: a reshape alone puts several tokens of one head into a row. "
    "Exchange h and n first."
)
def merged_by_direct_view(heads):
    *leading, h, n, e = heads.shape
    return heads.reshape(*leading, n, h * e)


merge_heads.mistakes("""
*leading, h, n, e = heads.shape
return heads.transpose(-3, -2).view(*leading, n, h * e)
    view crashes after an exchange of axes: the numbers of a row no longer lie side by side in memory. reshape
    copies them where it must, as do flatten, and .contiguous() before the view.
= torch.cat([*heads], dim=-1)
    right for one sentence, but in a batch axis 0 is the batch, and you put its sentences side by side. The heads
    are axis -3: heads.unbind(-3).
= heads.transpose(-3, -2)
    h and n are exchanged, and that is all. Join the last two axes: (…, n, h, e) to (…, n, h·e).
= heads.flatten(-3, -2)
    the heads stand below each other, (…, h·n, e). A token's heads belong in one row: (…, n, h·e).
= heads.sum(-3)
    you add the heads up: what each has found is lost. Put them side by side: (…, n, h·e).
= heads.mean(-3)
    you average the heads: what each has found is lost. Put them side by side: (…, n, h·e).
= heads[..., 0, :, :]
    you keep the first head only. A row holds the e numbers of every head: (…, n, h·e).
= heads.movedim(-3, -1).flatten(-2)
    a row takes the first number of every head, then the second of every head. Keep each head's e numbers together:
    (…, n, h, e) before you join.
*leading, h, n, e = heads.shape
return heads.mT.reshape(*leading, n, h * e)
    you exchange n and e before you join. The axes to exchange are h and n, -3 and -2, so that h stands beside e.
= heads.mT.flatten(-3, -2)
    tokens and numbers are exchanged, (…, h·e, n). One row a token: (…, n, h·e).
= heads.transpose(1, 2).flatten(-2)
    right for a batch, but a single sentence has one axis less, two leading axes one more. Count from the end: the
    axes to exchange are -3 and -2.
= heads.transpose(0, 1).flatten(-2)
    right for one sentence, but in a batch axis 0 is the batch. Count from the end: exchange -3 and -2.
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
    """With and without biases; one head, as many heads as d; the sizes of the original paper."""
    yield from ((16, 4, False), (16, 4, True), (6, 3, True), (10, 1, True), (5, 5, False), (512, 8, True))
    yield 512, 8, False


@exercise(
    draws=draw_layer_sizes,
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
= num_heads * count_parameters(d_model, num_heads, bias)
    you multiply by the number of heads. Each head has a slice of the matrices, (d, d / h): together they are as
    large as for one head.
= (3 * num_heads + 1) * (d_model**2 + bias * d_model)
    you give each head its own W_q, W_k and W_v of (d, d). A head's slices are (d, d / h): heads share, not repeat.
= 3 * (d_model**2 + bias * d_model)
    you count three matrices. The heads are put side by side and projected once more: W_o.
= d_model**2 + bias * d_model
    you count a single matrix. There are W_q, W_k, W_v and W_o.
= 3 * d_model**2
    you count three matrices and no bias. W_o is the fourth, and if bias is True, each has one.
= 3 * d_model**2 + 3 * bias
    you count three matrices, and a bias as one number. W_o is the fourth; a bias has d numbers.
= 4 * d_model**2 + bias
    you add bias itself, and True counts as 1. Each of the four matrices has a bias, of d numbers.
= 4 * d_model**2
    the biases are missing. If bias is True, each of the matrices has one, of d numbers.
= 4 * (d_model**2 + d_model)
    you count biases whatever bias says. Count them only if it is True.
= 4 * d_model**2 + bias * d_model
    you count one bias. Each of the four matrices has its own.
= 4 * d_model**2 + 3 * bias * d_model
    you count three biases. W_o has one, too.
= 4 * d_model**2 + 4 * bias
    a bias counts as one number here. It has d: one for each output of its matrix.
= 4 * (d_model + bias) * (d_model // num_heads)
    that is one head's slice of the layer, e = d / h wide. Count all h heads.
= 3 * d_model**2 + d_model * (d_model // num_heads) + 4 * bias * d_model
    W_o is too small: its input is all heads side by side, h · e = d numbers, so that W_o is (d, d) as well.
= float(count_parameters(d_model, num_heads, bias))
    the number is right, but a float: / always gives one. A count is whole: d_model // num_heads.
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
    """A sentence, a batch, two leading axes; n = h, n = h = e; one head; one token; e = 1; float64."""
    for shape, h, dtype in (
        ((5, 8), 2, None),
        ((4, 8), 4, None),
        ((3, 9), 3, None),
        ((3, 5, 6), 3, None),
        ((2, 3, 4, 8), 2, None),
        ((2, 4, 6), 1, None),
        ((1, 6), 2, None),
        ((2, 3, 4), 4, None),
        ((2, 4, 6), 2, torch.float64),
    ):
        d = shape[-1]
        X = torch.randn(shape, generator=generator, dtype=dtype)
        W_q, W_k, W_v, W_o = torch.randn(4, d, d, generator=generator, dtype=dtype) / math.sqrt(d)
        yield X, 2 * W_q, 2 * W_k, W_v, W_o, h


@exercise(
    draws=draw_layers,
    hints=[
        "Project, split, attend, merge, project: what have you written already? What shape comes out of each step?",
        "Split Q, K and V into (…, h, n, e). From there on it is attention as before: @ treats the heads as a batch.",
        "Scale by the root of e, Q.shape[-1] after the split. Softmax over the keys, dim=-1. "
        "Merge to (…, n, d), and multiply by W_o last.",
    ],
    names={
        "the weights: did you forget the values?": lambda X, W_q, W_k, W_v, W_o, num_heads: torch.stack(
            [X @ X.mT] * num_heads, -3
        ),
        "the heads before they are merged": lambda X, W_q, W_k, W_v, W_o, num_heads: split_heads(X, num_heads),
        "one head: are the heads added, averaged or left out?": lambda X, W_q, W_k, W_v, W_o, num_heads: X[
            ..., : X.shape[-1] // num_heads
        ],
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


def split_projections(X, W_q, W_k, W_v, num_heads, split=split_heads):
    return (split(X @ W, num_heads) for W in (W_q, W_k, W_v))


def heads_of(Q, K, V, scale=None, dim=-1):
    """Each head's output, with another divisor than √e if given, or a softmax over another axis."""
    return torch.softmax(Q @ K.mT / (scale or math.sqrt(Q.shape[-1])), dim) @ V


multi_head_attention.mistakes("""
Q, K, V = split_projections(X, W_q, W_k, W_v, num_heads)
return merge_heads(heads_of(Q, K, V, scale=math.sqrt(X.shape[-1]))) @ W_o
    you divide by √d, the root of d_model. A head's score is a sum of e = d / h products: divide by √e.
= merge_heads(heads_of(*split_projections(X, W_q, W_k, W_v, num_heads), scale=1)) @ W_o
    the scores are not divided by √e: they spread more the larger e is, and the softmax saturates.
Q, K, V = split_projections(X, W_q, W_k, W_v, num_heads)
return merge_heads(heads_of(Q, K, V, scale=Q.shape[-1])) @ W_o
    you divide by e, not by √e: the larger e, the more equal all weights become.
Q, K, V = split_projections(X, W_q, W_k, W_v, num_heads, split_by_direct_view)
return merge_heads(heads_of(Q, K, V)) @ W_o
    the split mixes tokens: a direct view as (h, n, e) has the right shape, but head 0 gets the first tokens whole.
    Make it (…, n, h, e), then exchange n and h.
Q, K, V = split_projections(X, W_q, W_k, W_v, num_heads, split_by_direct_view)
return merged_by_direct_view(heads_of(Q, K, V)) @ W_o
    split and merge are both direct views. The second undoes the first, but in between each head saw a part of the
    tokens whole. Make it (…, n, h, e), then exchange n and h; and back.
= merged_by_direct_view(heads_of(*split_projections(X, W_q, W_k, W_v, num_heads))) @ W_o
    the merge mixes tokens: it has the right shape, but h and n are not exchanged back before the last two axes are
    joined. (…, h, n, e) to (…, n, h, e), then (…, n, h·e).
Q, K, V = split_projections(X, W_q, W_k, W_v, num_heads, split_without_transpose)
return heads_of(Q, K, V).flatten(-2) @ W_o
    h and n are not exchanged after the cut: at (…, n, h, e) each token's heads attend to each other, and no token
    to another.
= merge_heads(heads_of(*split_projections(X, W_q, W_k, W_v, num_heads)))
    the heads are side by side, and there you stop. W_o, which mixes them, is still to come.
= heads_of(X @ W_q, X @ W_k, X @ W_v) @ W_o
    there is one head only: num_heads has no say. Split Q, K and V before the scores, and merge after the values.
= merge_heads(heads_of(*split_projections(X, W_q, W_k, W_v, num_heads), dim=-2)) @ W_o
    the softmax runs over the queries. The weights of one query, a row, sum to 1: dim=-1.
= merge_heads(heads_of(*split_projections(X, W_q, W_k, W_v, num_heads), dim=-3)) @ W_o
    the softmax runs over the heads, which then compete for a token. Each head's rows sum to 1: dim=-1.
= merge_heads(heads_of(*split_projections(X, W_q, W_k, W_v, num_heads), dim=1)) @ W_o
    the softmax runs over axis 1: queries in one sentence, heads in a batch. The keys are dim=-1, whatever the
    shape.
= multi_head_attention(X, W_q.T, W_k.T, W_v.T, W_o.T, num_heads)
    you multiply by the transposed matrices, as nn.Linear does with what it stores. Here Q = X @ W_q, and so for
    all.
= multi_head_attention(X, W_q, W_k, W_v, W_o.T, num_heads)
    W_o is transposed. It is used as the others are: a row of numbers on its left.
Q, K, V = split_projections(X, W_q, W_k, W_v, num_heads)
return merge_heads(head_scores(Q, K) @ V) @ W_o
    there is no softmax: the scores themselves weight the values. Softmax them, dim=-1.
Q, K, V = split_projections(X, W_q, W_k, W_v, num_heads)
return merge_heads(head_scores_unscaled(Q, K) @ V) @ W_o
    neither √e nor a softmax: divide the scores by √e, then softmax them over the keys.
= multi_head_attention(X, W_q, W_q, W_v, W_o, num_heads)
    you compare the queries with themselves, Q with Q. The scores compare them with the keys.
= multi_head_attention(X, W_q, W_k, W_k, W_o, num_heads)
    you average the keys. The weights say how much of each value a token takes: V, not K.
Q, K, _ = split_projections(X, W_q, W_k, W_v, num_heads)
return merge_heads(heads_of(Q, K, split_heads(X, num_heads))) @ W_o
    you average X itself. The values are X projected with W_v, then split as Q and K are.
Q, K, V = split_projections(X, W_q, W_k, W_v, num_heads)
return merge_heads(heads_of(Q, K, V, scale=math.sqrt(num_heads))) @ W_o
    you divide by the root of the number of heads. A head's score is a sum of e = d / h products: divide by √e.
= X + multi_head_attention(X, W_q, W_k, W_v, W_o, num_heads)
    you add X at the end, as a Transformer block does. Here return what attention gives.
Q, K, V = split_projections(X, W_q, W_k, W_v, num_heads)
return merge_heads(heads_of(Q, K, V)), torch.softmax(head_scores(Q, K), -1)
    you return output and weights, and the output lacks W_o. Multiply it by W_o, and return the output only.
Q, K, V = split_projections(X, W_q, W_k, W_v, num_heads)
return merge_heads(heads_of(Q, K, V)) @ W_o, torch.softmax(head_scores(Q, K), -1)
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
heads = []
for i in range(num_heads):
    part = slice(i * e, (i + 1) * e)
    heads.append(catalogue()["self_attention"](X, W_q[:, part], W_k[:, part], W_v[:, part]))
return torch.cat(heads, dim=-1) @ W_o

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
weights = torch.softmax(torch.einsum("...hqe,...hke->...hqk", Q, K) * Q.shape[-1] ** -0.5, dim=-1)
return torch.einsum("...hqk,...hke,hed->...qd", weights, V, W_o.reshape(num_heads, -1, d))

layer = attention.MultiHeadAttention(X.shape[-1], num_heads, bias=False).to(X.dtype)
for name, W in {"W_q": W_q, "W_k": W_k, "W_v": W_v, "W_o": W_o}.items():
    getattr(layer, name).weight = torch.nn.Parameter(W.T.contiguous())
return layer(X)[0]
""")
