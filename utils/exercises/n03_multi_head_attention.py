"""Exercises of notebook 03: project per head, split, merge, scores of every head, parameters, the whole layer."""

import math

import torch

from .engine import exercise


def draw_inputs_and_head_matrices(generator):
    """Sizes that differ, h = n, e = d, all equal, a single head, a single token, and float64."""
    for n, d, h, e in (5, 8, 4, 2), (3, 6, 3, 4), (4, 5, 2, 5), (3, 3, 3, 3), (6, 4, 1, 2), (1, 4, 3, 5):
        yield torch.randn(n, d, generator=generator), torch.randn(h, d, e, generator=generator)
    yield tuple(torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((2, 6), (3, 6, 2)))


@exercise(
    draws=draw_inputs_and_head_matrices,
    hints=[
        "What would you write for a single head, whose matrix is W[0]? What shape comes out, and how often?",
        "In einsum, X has the axes nd and W the axes hde. Which letters stay after the arrow, and which one is summed?",
        "A letter that is missing after the arrow is summed: d. The others stay, in the order of (h, n, e).",
    ],
    names={"a single head: is there one for each of the h matrices?": lambda X, W: X @ W[0]},
    question="X has the axes nd, W hde: does a letter stand for the same length in both, and which axes meet in this line?",
)
def project_per_head(X, W):
    """Project X (n, d) with each of the h matrices in W (h, d, e): returns (h, n, e)."""
    return torch.einsum("nd,hde->hne", X, W)


project_per_head.mistakes("""
hne -> nhe
    tokens come first in your result, (n, h, e). Heads come first: (h, n, e).
hne -> ne
    you add the heads up: h is missing after the arrow, or summed afterwards. Only d is summed; each head stays apart.
hne -> hnde
    d is not summed: each product stands on its own. What is summed is missing after the arrow.
hne -> hde
    you sum over the tokens, and every token is lost. The axis that X and W share is d: it is the one to sum.
hde -> hed
    you project with the transposed matrices: that needs e = d. The axis d of X meets the axis d of W, in (h, d, e) the middle one.
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

(X @ W.permute(1, 0, 2).reshape(X.shape[1], -1)).view(len(X), *W.shape[::2]).transpose(0, 1)

(X[None, :, :, None] * W[:, None]).sum(2)
""")


def draw_queries_and_keys_of_heads(generator):
    """One sentence, a batch, two leading axes; q ≠ k, k = e, all equal; one head, one query; e = 1; float64 (√4 is
    exact in float32 as well)."""
    shapes = (2, 3, 5, 4), (3, 3, 3, 3), (2, 4, 3, 6, 2), (2, 3, 2, 4, 4, 3), (2, 1, 1, 3, 6), (4, 4, 2, 1)
    for *front, q, k, e in shapes:
        yield torch.randn(*front, q, e, generator=generator), torch.randn(*front, k, e, generator=generator)
    yield tuple(torch.randn(2, 4, n, 4, generator=generator, dtype=torch.float64) for n in (2, 4))


@exercise(
    draws=draw_queries_and_keys_of_heads,
    hints=[
        "What are the scores of a single head? What becomes of the head axis, and of those before it?",
        "einsum sums e and keeps h, and `...` for what stands in front. @ too: the last two axes meet, all others stay.",
        "Exchange the last two axes of K, counted from the end. A score is a sum of e products: Q.shape[-1] is e.",
    ],
    names={"one head's scores: does each head keep its own?": lambda Q, K: (Q @ K.mT).sum(-3)},
    question="Q is (…, h, q, e), K (…, h, k, e): which axes are to meet in this line, and do they count from the end?",
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
Q.shape[-1] -> K.shape[-2]
    you divide by the root of the number of keys. A score is a sum of e products: divide by √e.
Q.shape[-1] -> Q.shape[-2]
    you divide by the root of the number of queries. A score is a sum of e products: divide by √e.
math.sqrt(Q.shape[-1]) -> 2
    you divide by 2, whatever e is: that is √e for e = 4 only. Read e off the shape, the last axis.
math.sqrt(Q.shape[-1]) -> 4
    you divide by 4, whatever e is: that is √e for e = 16 only. Read e off the shape, the last axis.
K.transpose(-2, -1) -> K
    K is not transposed: its positions meet the entries of the queries, and it crashes unless k = e.
K.transpose(-2, -1) -> K.transpose(1, 2)
    K.transpose(1, 2) fits one sentence: with a batch, axes 1 and 2 of K are heads and positions. Count from the end: -2 and -1.
Q @ K.transpose(-2, -1) -> torch.einsum("...hqe,...hke->hqk", Q, K)
    `...` is missing after the arrow, so sentences of a batch are added up. It stays: each has its own scores.
Q @ K.transpose(-2, -1) -> torch.einsum("...hqe,...gke->...hgqk", Q, K)
    you compare every head's queries with every other head's keys. h is one letter, in Q and in K.
Q @ K.transpose(-2, -1) -> F.normalize(Q, dim=-1) @ F.normalize(K, dim=-1).mT
    you shorten queries and keys to length 1: those are cosines. A score is the dot product as it is, lengths and all.
""")
head_scores.right("""
torch.einsum("...qe,...ke->...qk", Q, K) / K.shape[-1] ** 0.5

torch.matmul(Q / math.sqrt(Q.size(-1)), K.mT)

(Q.unsqueeze(-2) * K.unsqueeze(-3)).sum(-1) / torch.sqrt(torch.tensor(K.shape[-1]))

torch.stack([q @ k.mT / q.shape[-1] ** 0.5 for q, k in zip(Q.unbind(-3), K.unbind(-3))], dim=-3)
""")


def draw_tokens_to_split(generator):
    """A sentence, a batch, two leading axes; n = h, n = h = e, n no multiple of h; a single head, e = 1, float64."""
    shapes = ((5, 8), 2), ((4, 8), 4), ((2, 4), 2), ((3, 5, 6), 3), ((2, 3, 4, 8), 2), ((2, 3, 4), 1), ((7, 5), 5)
    for shape, h in shapes:
        yield torch.randn(shape, generator=generator), h
    yield torch.randn(2, 6, 9, generator=generator, dtype=torch.float64), 3


@exercise(
    draws=draw_tokens_to_split,
    level=2,
    minutes=10,
    hints=[
        "One token has d numbers in a row. Which of them belong to head 0, which to head 1? How many to each?",
        "Cutting the last axis into h pieces of e keeps each token's numbers together. Which shape is that?",
        "Cut it by unflatten, or reshape(*X.shape[:-1], …): (…, n, h, e). Then exchange two axes, counted from the end.",
    ],
    names={"(…, h, n, d): does each head get all d numbers?": lambda X, num_heads: torch.stack([X] * num_heads, -3)},
    question="The last axis, d = h · e, becomes two, h and e, and all others stay: do the sizes in this line say so?",
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
.transpose(-3, -2) ->
    n and h are still to be exchanged: (…, n, h, e). Each head is to see all tokens: (…, h, n, e).
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
= X.reshape(X.shape[0], num_heads, -1).transpose(0, 1)
    that fits one sentence: in a batch X.shape[0] is the number of sentences, and -1 takes in tokens. Keep all axes but the last, *X.shape[:-1], and exchange -3 and -2.
= X.reshape(X.shape[0], num_heads, X.shape[1] // num_heads).transpose(0, 1)
    that fits one sentence of two axes, n and d: with a batch it crashes. Keep all axes but the last, *X.shape[:-1], and exchange -3 and -2.
= X.reshape(-1, num_heads, X.shape[-1] // num_heads).transpose(0, 1)
    that fits one sentence: with a batch, -1 in front joins sentences and tokens. Keep all axes but the last, *X.shape[:-1], and exchange -3 and -2.
= X.reshape(-1, X.shape[-2], num_heads, X.shape[-1] // num_heads).transpose(1, 2)
    -1 in front makes four axes of whatever comes: a batch of sentences, and no other. Keep those in front, *X.shape[:-1], and exchange -3 and -2.
= torch.stack(X.chunk(num_heads, dim=-1))
    the heads stand in front of everything: in a batch that makes (h, b, n, e). They belong before n: dim=-3.
= X.mT.reshape(*X.shape[:-2], num_heads, X.shape[-2], -1)
    you exchange axes before the cut: the reshape to (h, n, e) then reads down the columns. Cut d first, (…, n, h, e).
= X.reshape(num_heads, *X.shape[:-1], -1)
    a reshape that puts h in front deals out tokens, or sentences, not the numbers of a token. Cut the last axis, (…, n, h, e), then exchange n and h.
= torch.cat(X.chunk(num_heads, dim=-1), dim=-2)
    the heads stand below each other, (…, h·n, e). torch.stack gives them an axis of their own, dim=-3; torch.cat none.
= torch.stack([X[..., i : i + X.shape[-1] // num_heads] for i in range(num_heads)], dim=-3)
    your slices overlap: head i begins at i. Each head takes e numbers, so head i begins at i · e.
= X.reshape(*X.shape[:-1], num_heads, -1).transpose(-3, -2).flip(-3)
    the heads are in reverse order: head 0 takes the first e numbers.
= X.unflatten(-2, (num_heads, -1))
    you share out the tokens. Every head sees all of them: what is cut is the last axis, the d numbers of a token.
= X[..., : X.shape[-1] // num_heads]
    you return the first head only. The result holds all h of them: (…, h, n, e).
= X[..., -(X.shape[-1] // num_heads) :]
    you return the last head only: in a loop, collect the heads, then torch.stack them, dim=-3.
= torch.stack([X[..., : X.shape[-1] // num_heads]] * num_heads, dim=-3)
    every head gets the same e numbers, the first. Head i begins at i · e.
""")
split_heads.right("""
torch.stack(X.chunk(num_heads, dim=-1), dim=-3)

X.unflatten(-1, (num_heads, X.shape[-1] // num_heads)).transpose(-2, -3)

X.mT.unflatten(-2, (num_heads, -1)).mT

torch.einsum("...nhe->...hne", X.unflatten(-1, (num_heads, -1)))
""")


def draw_heads(generator):
    """One sentence, a batch, two leading axes; n = h, all equal; one head, one token, e = 1; float64."""
    shapes = (2, 5, 4), (4, 4, 2), (3, 3, 3), (2, 3, 4, 2), (2, 2, 3, 5, 2), (2, 1, 3, 4), (3, 1, 2), (5, 3, 1)
    yield from ((torch.randn(shape, generator=generator),) for shape in shapes)
    yield (torch.randn(3, 2, 6, 3, generator=generator, dtype=torch.float64),)


@exercise(
    draws=draw_heads,
    level=2,
    hints=[
        "A token's row holds its e numbers from head 0, then those from head 1, …: which axes have to be neighbours?",
        "It is the way back from split_heads: exchange the two axes that it exchanged, then join what it cut.",
        "Exchange h and n, axes -3 and -2, to get (…, n, h, e). Then join the last two: flatten(-2), or reshape.",
    ],
    names={
        "(…, h·n, e): a token's heads belong in one row, (…, n, h·e)": lambda heads: heads.flatten(-3, -2),
        "a single head: are they added, averaged or left out?": lambda heads: heads.sum(-3),
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
.flatten(-2) -> .reshape(heads.shape[-2], -1)
    a reshape to two axes fits one sentence: with a batch, its axes in front have to stay. flatten(-2) leaves them.
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
= heads.sum(-3)
    you add the heads up: what each has found is lost. Put them side by side: (…, n, h·e).
= heads.mean(-3)
    you average the heads: what each has found is lost. Put them side by side: (…, n, h·e).
= heads[..., -1, :, :]
    you keep the last head only: in a loop, collect the heads, then put them side by side with torch.cat, dim=-1.
= heads.flip(-3).transpose(-3, -2).flatten(-2)
    the heads are in reverse order: head 0 comes first in a row.
= torch.cat([*heads], dim=-1)
    going through `heads`, you take axis 0: in a batch the sentences, which you put side by side. The heads are axis -3: heads.unbind(-3).
= torch.cat([*heads], dim=0)
    you put things one below the other, along axis 0, and in a batch those are sentences. Side by side: dim=-1; the heads: heads.unbind(-3).
= torch.cat([*heads], dim=1)
    hstack, or cat along axis 1, fits one sentence. In a batch, axis 0 is the batch: unbind(-3) gives the heads, dim=-1 puts them side by side.
""")
merge_heads.right("""
torch.cat(heads.unbind(dim=-3), dim=-1)

.flatten(-2) -> .contiguous().view(*heads.shape[:-3], heads.shape[-2], -1)

torch.einsum("...hne->...nhe", heads).reshape(*heads.shape[:-3], heads.shape[-2], -1)

torch.cat([heads[..., i, :, :] for i in range(heads.shape[-3])], dim=-1)
""")


def draw_layer_sizes(generator):
    """With and without biases; one head, as many heads as d; the sizes of the original paper; two drawn."""
    yield from ((16, 4, False), (16, 4, True), (6, 3, True), (10, 1, True), (5, 5, False), (512, 8, True))
    for bias in (False, True):
        h, e = torch.randint(2, 12, (2,), generator=generator).tolist()
        yield h * e, h, bias


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
4 * d_model**2 -> num_heads * 4 * d_model**2
    you multiply the matrices by the number of heads. Each head has a slice of them, (d, d / h): together they are as large as for one head.
4 * d_model**2 -> (3 * num_heads + 1) * d_model**2
    you give each head its own W_q, W_k and W_v of (d, d). A head's slices are (d, d / h): heads share, not repeat.
4 * d_model**2 -> 3 * d_model**2
    you count three matrices. The heads are put side by side and projected once more: W_o.
4 * d_model**2 -> d_model**2
    you count a single matrix. There are W_q, W_k, W_v and W_o.
4 * d_model**2 -> 4 * d_model * (d_model // num_heads)
    you count one head's slices of the matrices, e = d / h wide. Count all h heads.
4 * d_model**2 -> 3 * d_model * (d_model // num_heads) + d_model**2
    W_q, W_k and W_v are counted for one head, (d, e). There are h heads: h · e = d columns.
4 * d_model**2 -> 3 * d_model**2 + d_model * (d_model // num_heads)
    W_o is too small: its input is all heads side by side, h · e = d numbers, so that W_o is (d, d) as well.
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
= 4 * d_model**2 + 4 * d_model if bias else 0
    `if … else 0` takes in the whole sum, so that without biases nothing is left. Put brackets around the part that depends on bias.
= 4 * (d_model + bias) ** 2
    you square d + 1. A bias is one more input, not one more output: it adds d numbers to a matrix.
= 2 + 2 * bias
    that is how many tensors nn.MultiheadAttention holds. Count the numbers in them: .numel() of each.
matrices + biases -> float(matrices + biases)
    you return a float: / always gives one. A count is whole: d_model // num_heads.
""")
count_parameters.right("""
sum(parameter.numel() for parameter in torch.nn.MultiheadAttention(d_model, num_heads, bias=bias).parameters())

num_heads * 3 * (d_model + bias) * (d_model // num_heads) + (d_model + bias) * d_model

4 * sum(parameter.numel() for parameter in nn.Linear(d_model, d_model, bias).parameters())

torch.tensor(4 * d_model**2 + 4 * d_model * int(bias))
""")


def draw_layers(generator):
    """A sentence, a batch, two leading axes; n = h, n = h = e; one head; one token; e = 1; scores too large for a plain
    exp; float64 (√4 is exact in float32 as well)."""
    shapes = ((5, 8), 2), ((4, 8), 4), ((2, 4), 2), ((2, 3, 4, 8), 2), ((2, 4, 6), 1), ((1, 6), 2), ((2, 3, 4), 4)
    for shape, h in (*shapes, ((3, 5, 6), 3), ((2, 4, 8), 2)):
        X, d = torch.randn(shape, generator=generator, dtype=torch.float64), shape[-1]
        W_q, W_k, W_v, W_o = torch.randn(4, d, d, generator=generator, dtype=torch.float64) / math.sqrt(d)
        layer = (30 * X if h == 3 else X), 2 * W_q, 2 * W_k, W_v, W_o
        yield *(part if shape == (2, 4, 8) else part.float() for part in layer), h


@exercise(
    draws=draw_layers,
    level=3,
    minutes=15,
    hints=[
        "Project, split, attend, merge, project: what have you written already? What shape comes out of each step?",
        "Split Q, K and V into (…, h, n, e). From there on it is attention as before: @ treats the heads as a batch.",
        "Scale by the root of e, Q.shape[-1] after the split; softmax over the keys, dim=-1; merge; W_o comes last.",
    ],
    names={
        "the heads before they are merged": lambda X, *rest: split_heads(X, rest[-1]),
        "one head: are the heads added, averaged or left out?": lambda X, *rest: X.chunk(rest[-1], -1)[0],
        "(…, n, h·d): add up what heads give through W_o": lambda X, *rest: torch.cat([X] * rest[-1], -1),
    },
    question={
        r"\.T\b": "`.T` exchanges all the axes, the heads among them. Exchange the last two only: transpose(-2, -1).",
        r"(transpose|swapaxes)\(\d": "In a batch that is another axis. Count from the end: -2 and -1 for the last two "
        "of K, -3 and -2 for heads and tokens.",
        "W_o": "W_o takes all heads side by side, (…, n, h·e). Added or averaged heads have e numbers only.",
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
heads.transpose(-3, -2) -> heads[..., :1, :, :].expand_as(heads).transpose(-3, -2)
    every head is head 0 again: in a loop, take the columns of that round, from i · e to (i + 1) · e.
heads.transpose(-3, -2) -> heads.flip(-3).transpose(-3, -2)
    the heads are merged in reverse order: head 0 comes first in a row.
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
math.sqrt(Q.shape[-1]) -> 4
    you divide the scores by 4, whatever e is: that is √e for e = 16 only. Read e off the shape, the last axis after the split.
/ math.sqrt(Q.shape[-1]) ->
(scores, dim=-1) -> (scores, dim=-1) / math.sqrt(Q.shape[-1])
    you divide by √e after the softmax: then the weights of a row do not sum to 1. The scores are scaled, before it.
    https://github.com/FrancescoSaverioZuppichini/ViT/issues/2
torch.softmax(scores, dim=-1) -> scores
    there is no softmax: the scores themselves weight the values. Softmax them, dim=-1.
torch.softmax(scores, dim=-1) -> (scores / scores.sum(-1, keepdim=True))
    you divide the scores by their sum, without exp: some weights are negative. Softmax them, dim=-1.
torch.softmax(scores, dim=-1) -> scores.exp()
    exp alone is half a softmax: the weights of a row have to be divided by their sum.
torch.softmax(scores, dim=-1) -> torch.sigmoid(scores)
    sigmoid looks at each score alone, so the weights of a row do not sum to 1. Softmax them, dim=-1.
torch.softmax(scores, dim=-1) -> torch.softmax(torch.softmax(scores, dim=-1), dim=-1)
    the softmax is taken twice: the second one makes the weights nearly equal.
torch.softmax(scores, dim=-1) -> torch.softmax(scores + torch.full_like(scores, -torch.inf).triu(1), dim=-1)
    no token looks at those after it: a causal mask, which is not asked for here.
torch.softmax(scores, dim=-1) -> torch.softmax(scores.mean(-3, keepdim=True), dim=-1)
    the scores are averaged over the heads, so that all look alike. Each head has its own scores.
torch.softmax(scores, dim=-1) -> torch.softmax(scores.sum(-3, keepdim=True), dim=-1)
    all heads look alike: the scores are added up over them, or taken before the split. Each head has its own scores.
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
torch.softmax(scores, dim=-1) -> F.one_hot(scores.argmax(-1), scores.shape[-1]).to(X.dtype)
    each query takes the value of its best key only: that is argmax. A softmax weights them all.
torch.softmax(scores, dim=-1) -> torch.softmax(scores, dim=-1).mean(-3, keepdim=True)
    the weights are averaged over the heads, so that all look alike. Each head weights its values itself.
torch.softmax(scores, dim=-1) @ V -> V.mean(-2, keepdim=True).expand_as(V)
    you average the values, all with equal weight: queries and keys have no say. Their scores make the weights.
scores = Q @ -> scores = K @
    you compare the keys with themselves, K with K. The scores compare the queries with them.
@ K.transpose -> @ Q.transpose
    you compare the queries with themselves, Q with Q. The scores compare them with the keys.
@ V -> @ K
    you average the keys. The weights say how much of each value a token takes: V, not K.
@ V -> @ Q
    you average the queries. The weights say how much of each value a token takes: V, not Q.
(X @ W) -> (X @ W.T)
    W_q, W_k and W_v are used transposed, as nn.Linear does with what it stores. Here they are used as they are, X on the left.
@ V -> @ X.reshape(per_head).transpose(-3, -2)
    you average X itself. The values are X projected with W_v, then split as Q and K are.
@ W_o ->
    the heads are side by side, and there you stop. W_o, which mixes them, is still to come.
    https://github.com/Kyubyong/transformer/issues/117
return -> return X +
    you add X at the end, as a Transformer block does. Here return what attention gives.
.flatten(-2) -> .view(X.shape)
    view crashes after an exchange of axes: the numbers of a row no longer lie side by side in memory. reshape copies them where it must, view does not.
""")
multi_head_attention.right("""
Q, K, V = ((X @ W).unflatten(-1, (num_heads, -1)).transpose(-2, -3) for W in (W_q, W_k, W_v))
return F.scaled_dot_product_attention(Q, K, V).transpose(-2, -3).reshape(X.shape) @ W_o

x, W_in = X.reshape(-1, *X.shape[-2:]).transpose(0, 1), torch.cat([W_q, W_k, W_v], 1).T
given = W_in, None, None, None, False, 0.0, W_o.T, None
return F.multi_head_attention_forward(x, x, x, X.shape[-1], num_heads, *given)[0].transpose(0, 1).reshape(X.shape)

heads = zip(*(W.chunk(num_heads, 1) for W in (W_q, W_k, W_v)), W_o.chunk(num_heads))
return sum(catalogue()["self_attention"](X, q, k, v @ o) for q, k, v, o in heads)

Q, K, V = (torch.einsum("...nd,dhe->...hne", X, W.reshape(len(W), num_heads, -1)) for W in (W_q, W_k, W_v))
weights = torch.softmax(torch.einsum("...hqe,...hke->...hqk", Q, K) / torch.sqrt(torch.tensor(Q.shape[-1])), dim=-1)
return torch.einsum("...hqk,...hke,hed->...qd", weights, V, W_o.reshape(num_heads, -1, len(W_o)))
""")
