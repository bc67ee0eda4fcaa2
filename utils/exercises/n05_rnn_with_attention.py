"""Exercises of notebook 05: an Elman step, its loss and perplexity, bilinear weights, context, alignment error rate."""

import math

import torch

from .engine import exercise

# ---- elman_step


def draw_inputs_and_states(generator):
    """One vector, a batch, two leading axes; d_in = d_hidden, b = d_in = d_hidden; the first state, 0; float64."""
    for leading, d_in, d_hidden, dtype in (
        ((), 3, 4, None),
        ((), 3, 3, None),
        ((5,), 4, 2, None),
        ((3,), 3, 3, None),
        ((2, 4), 2, 5, None),
        ((2,), 3, 3, torch.float64),
    ):
        x, h = (torch.randn(*leading, d, generator=generator, dtype=dtype) for d in (d_in, d_hidden))
        W, U = (torch.randn(d, d_hidden, generator=generator, dtype=dtype) for d in (d_in, d_hidden))
        yield x, h.tanh(), W, U, torch.randn(d_hidden, generator=generator, dtype=dtype)
    W, U = torch.randn(2, 3, generator=generator), torch.randn(3, 3, generator=generator)
    yield torch.randn(4, 2, generator=generator), torch.zeros(4, 3), W, U, torch.randn(3, generator=generator)


@exercise(
    draws=draw_inputs_and_states,
    hints=[
        "Two things go into the new state: what is read now, and what is remembered. Which matrix belongs to which?",
        "Vectors are rows, so each stands on the left of its matrix. Both products are (…, d_hidden): what joins them?",
        "Add both products and the bias first; the tanh comes last, once, around the whole sum.",
    ],
    names={
        "x: is it projected by its matrix?": lambda x, h, W, U, b: x,
        "x and h side by side: is the product with the matrices still to come?": (
            lambda x, h, W, U, b: torch.cat([x, h], -1)
        ),
        "the products of the state with U before they are added up": lambda x, h, W, U, b: h[..., None] * U,
        "the products of the input with W before they are added up": lambda x, h, W, U, b: x[..., None] * W,
        "W": lambda x, h, W, U, b: W,
    },
    question={
        r"cat\(|stack\(": "Side by side, dim=-1, x and h have d_in + d_hidden numbers. The matrices then stand one "
        "below the other, dim=0, in the same order.",
        r"\.T\b|\.mT\b|\.t\(\)|\b[WU] @|(matmul|mm|mv)\([WU]\b": "Vectors are rows here: they stand on the left of "
        "their matrices, W (d_in, d_hidden) and U (d_hidden, d_hidden), and nothing is transposed.",
        "": "x is (…, d_in), W (d_in, d_hidden), h (…, d_hidden), U (d_hidden, d_hidden): which axes meet in this "
        "line?",
    },
    trained=True,
)
def elman_step(x, h, W, U, b):
    """One step of an Elman RNN: returns the new state (…, d_hidden).

    Input x (…, d_in), old state h (…, d_hidden); W (d_in, d_hidden), U (d_hidden, d_hidden),
    bias b (d_hidden,).
    """
    return torch.tanh(x @ W + h @ U + b)


elman_step.mistakes("""
torch.tanh ->
    the tanh is missing: without it the state may grow at every step, and the network stays linear.
torch.tanh -> torch.sigmoid
    you take the sigmoid, which lies between 0 and 1. The state of an Elman RNN goes through tanh.
torch.tanh -> torch.relu
    you take relu, which cuts off what is negative and bounds nothing. The state goes through tanh.
torch.tanh -> torch.tan
    you take the tangent, tan. The hyperbolic one, tanh, stays between -1 and 1.
torch.tanh -> F.hardtanh
    you cut off what lies outside -1 and 1. tanh bends smoothly towards both: all numbers between change, too.
torch.tanh -> F.softmax
    you take a softmax: the numbers of a state are no weights, and need not sum to 1. Each goes through tanh by itself.
x @ W + h @ U -> x @ U + h @ W
    W and U are exchanged, which crashes unless d_in = d_hidden. W, (d_in, d_hidden), takes the input; U the old state.
h @ U -> h @ U.T
    U is transposed. As it is square, the shape fits all the same, but the numbers do not: rows stand on the left, and U stays as it is.
x @ W -> x @ W.T
    W is transposed, which crashes unless d_in = d_hidden. x is a row: it meets the rows' axis of W.
x @ W + h @ U -> x @ W.T + h @ U.T
    both matrices are transposed, as with the weights that nn.Linear and nn.RNN store. Here they are used as they are.
x @ W + h @ U -> W @ x + U @ h
    the matrices stand on the left, as in books that write vectors as columns. Here vectors are rows: x and h stand on the left.
x @ W + h @ U -> W.T @ x + U.T @ h
    matrices on the left of x and h fit a single vector only: in a batch each row is a vector, and they mix the rows. With x and h on the left, nothing is transposed.
x @ W + h @ U -> x @ W + U @ h
    U stands on the left of the state. Vectors are rows here: h stands on the left of its matrix.
h @ U + b -> b
    the old state is forgotten: h and U are not used, so the network remembers nothing.
x @ W + h -> h
    the input is forgotten: x and W are not used, so the state goes on whatever is read.
+ b) -> )
    the bias is forgotten: b is added before the tanh.
+ b) -> + 2 * b)
    the bias counts twice. nn.RNN has two of them, one for the input and one for the state; here b is the only one.
+ b) -> ) + b
    the bias stands outside the tanh: the state may leave the range from -1 to 1. Add it before.
+ b) -> + b.sum())
    the numbers of the bias are added up. Each belongs to its own number of the state: b is added as it is.
h @ U + b -> (h + b) @ U
    the bias goes through U together with the state. It is added behind the products: a bracket is in the wrong place.
x @ W + h @ U -> (x @ W) * (h @ U)
    the two products are multiplied with each other. They are added up.
x @ W + h @ U -> (x @ W + h) @ U
    the input goes through U, too: the bracket is in the wrong place. U belongs to the old state alone.
torch.tanh(x @ W + h @ U + b) -> torch.tanh((x @ W + h @ U + b) / math.sqrt(h.shape[-1]))
    you divide by √d_hidden before the tanh. An RNN scales nothing: that belongs to the scores of attention.
x @ W + h -> torch.tanh(x @ W) + h
    the input's part goes through a tanh of its own before the sum. There is one tanh, around all of it.
h @ U + b -> torch.tanh(h @ U) + b
    the state's part goes through a tanh of its own before the sum. There is one tanh, around all of it.
= torch.tanh(x @ W) + torch.tanh(h @ U) + b
    tanh is taken of both parts, and the bias added outside. Add up all three, then one tanh.
= torch.tanh(x @ W) + torch.tanh(h @ U) + torch.tanh(b)
    each of the three goes through a tanh of its own. Add them up first, then one tanh.
= torch.tanh(x @ W) + torch.tanh(h @ U + b)
    tanh is taken of the input's part and of the rest apart. Add up all three, then one tanh.
= torch.tanh(x @ W + b) + torch.tanh(h @ U)
    tanh is taken of the state's part and of the rest apart. Add up all three, then one tanh.
= torch.tanh(x @ W) + h @ U + b
    the tanh holds the input's part only. A bracket closes too early: it goes around the whole sum.
= torch.tanh(x @ W + b) + h @ U
    the state's part stands outside the tanh. It goes around the whole sum.
= x @ W + torch.tanh(h @ U + b)
    the input's part stands outside the tanh. It goes around the whole sum.
= x @ W + torch.tanh(h @ U) + b
    the tanh holds the state's part only: input and bias stand outside. It goes around the whole sum.
torch.tanh -> h + torch.tanh
    you add the old state once more, outside the tanh. h enters through U only.
torch.tanh(x @ W + h @ U + b) -> (h + torch.tanh(x @ W + h @ U + b)) / 2
    you average the new state with the old one, as a gate would. An Elman RNN has none: the new state takes the place of the old.
h @ U -> h
    the old state is added as it is. It goes through its matrix U first.
h @ U -> h @ W
    input and state go through the same matrix, W. The old state has its own, U.
x @ W + h @ U -> torch.cat([h, x], -1) @ torch.cat([W, U])
    concatenated in two orders: h meets rows of W, and x rows of U. Take the vectors in the order of the matrices.
x @ W + h @ U -> torch.cat([x, h], -1) @ torch.cat([U, W])
    concatenated in two orders: U stands above W, but x before h. Take the matrices in the order of the vectors.
x @ W + h @ U -> torch.cat([x, h]) @ torch.cat([W, U])
    in a batch, torch.cat without dim puts the rows of h below those of x; dim=-1 puts them side by side.
for one in x:
    h = torch.tanh(one @ W + h @ U + b)
return h
    you go through x row by row, as if its rows were the words of one sentence. They are a batch here: one step, for all of them at once.
= elman_step(x, h, W, U, b).round(decimals=2)
    you round. The text shows few digits, but the next step goes on with all of them.
= elman_step(x, h, W, U, b), elman_step(x, h, W, U, b)
    you return a pair, as nn.RNN does. Output and new state are one here: return it once.
""")

elman_step.right("""
rows = [vector.reshape(-1, vector.shape[-1]) for vector in (x, h)]
return torch.rnn_tanh_cell(*rows, W.T, U.T, b, torch.zeros_like(b)).reshape(h.shape)

(torch.cat([x, h], dim=-1) @ torch.cat([W, U]) + b).tanh()

torch.tanh(torch.einsum("...i,ij->...j", x, W) + torch.einsum("...i,ij->...j", h, U) + b)

torch.tanh(F.linear(x, W.T, b) + F.linear(h, U.T))

if x.ndim > 1:
    return torch.stack([elman_step(one, state, W, U, b) for one, state in zip(x, h)])
new = []
for j in range(len(b)):
    total = b[j] + sum(x[i] * W[i, j] for i in range(len(x))) + sum(h[i] * U[i, j] for i in range(len(h)))
    new.append(total.tanh())
return torch.stack(new)

total = torch.matmul(x, W) + torch.matmul(h, U) + b
return 2 * torch.sigmoid(2 * total) - 1

torch.tanh((x[..., None] * W).sum(-2) + (h[..., None] * U).sum(-2) + b)
""")


# ---- sequence_cross_entropy


def draw_logits_and_targets(generator):
    """One sentence, batches of two and of one, two leading axes; n = v, b = n = v; padding behind, in front, none, with
    any ids and loud logits; sentences of a single word; logits too large for exp; float64."""
    for leading, n, v, words, dtype in (
        ((), 4, 6, [1, 1, 1, 0], None),
        ((2,), 5, 7, [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], None),
        ((3,), 3, 3, [[1, 0, 0], [0, 1, 1], [1, 1, 1]], None),
        ((1,), 4, 4, [[1, 1, 1, 1]], None),
        ((2, 2), 3, 5, [[[1, 1, 1], [1, 0, 0]], [[1, 1, 0], [0, 0, 1]]], None),
        ((2,), 4, 6, [[1, 1, 1, 1], [0, 0, 1, 1]], torch.float64),
        ((3,), 1, 4, [[1], [1], [1]], None),
    ):
        mask = torch.tensor(words).bool()
        logits = 2 * torch.randn(*leading, n, v, generator=generator, dtype=dtype)
        targets = torch.randint(v, mask.shape, generator=generator)
        yield logits * torch.where(mask, 1, 3)[..., None], targets, mask
    logits = torch.tensor([[[1000.0, 0, 990, -800], [-200, 0, -50, -900]], [[-300, -450, -301, -303], [0, 1, 2, 3]]])
    yield logits, torch.tensor([[1, 2], [3, 0]]), torch.tensor([[True, True], [True, False]])


@exercise(
    draws=draw_logits_and_targets,
    hints=[
        "The loss of one word is the negative logarithm of one probability. Which of the v probabilities of its row?",
        "torch.log_softmax makes logarithms of probabilities of a row of logits, over the last axis. gather picks one "
        "of each row, if the ids have an axis of length 1 at the end: targets[..., None].",
        "What remains is a loss for each position, (…, n). Only those where mask is True are added up, and their "
        "number divides the sum.",
    ],
    names={
        "one loss a position: which of them count, and what is their mean?": lambda logits, targets, mask: mask,
        "one number a sentence: the mean runs over all words of the batch at once": (
            lambda logits, targets, mask: mask.any(-1)
        ),
        "logits: which of the v numbers of a row belongs to the target?": lambda logits, targets, mask: logits,
        "the losses of the words: is their mean still to come?": lambda logits, targets, mask: targets[mask],
        "one loss a position, with an axis of length 1 left over": lambda logits, targets, mask: mask[..., None],
    },
    question={
        r"cross_entropy|nll_loss": "F.cross_entropy wants the classes as axis 1, and one axis less in the targets: "
        "make it (words, v) and (words,), by the mask as an index or by flatten.",
        "gather": "gather wants ids with as many axes as the logits have: (…, n, 1), and dim=-1.",
        "arange": "The number of axes varies: gather with dim=-1 picks one number of each row, whatever stands in "
        "front.",
        "one_?hot": "F.one_hot makes as many columns as the largest id needs, unless told: "
        "num_classes=logits.shape[-1].",
        r"\bmask\b": "mask is (…, n). Have the losses that shape, too, or is an axis of length 1 left over from "
        "gather?",
        "": "logits is (…, n, v), targets and mask are (…, n): which axis is which in this line?",
    },
    level=3,
    minutes=12,
    trained=True,
)
def sequence_cross_entropy(logits, targets, mask):
    """Mean of -log of the probability that softmax gives each target: returns one number.

    logits (…, n, v); targets (…, n), token ids; mask (…, n), True for words, False for padding.
    The mean runs over all words of the batch alike; there is at least one. Logits may be large.
    """
    log_probabilities = torch.log_softmax(logits, dim=-1)  # (…, n, v)
    losses = -log_probabilities.gather(-1, targets[..., None])[..., 0]  # (…, n)
    return losses[mask].mean()


sequence_cross_entropy.mistakes("""
.mean() -> .sum()
    you add up the losses of the words. Divide by their number, or long texts look worse.
[mask] ->
    the mask is not used: padding counts as if it were words to be predicted.
[mask] -> [~mask]
    the sense is inverted: that is the loss of padding, NaN where there is none.
losses = -log_p -> losses = log_p
    the sign: a logarithm of a probability is negative, a loss positive.
losses[mask].mean() -> (losses * mask).mean()
    the losses of padding are 0, but you divide by the number of all positions. Divide by the number of words.
losses[mask].mean() -> losses[mask].sum() / mask.shape[-1]
    you divide by n, the length with padding. Divide by the number of words.
losses[mask].mean() -> losses[mask].sum() / len(mask)
    you divide by the length of the first axis: positions in one sentence, sentences in a batch. Divide by the number of words.
losses[mask].mean() -> losses.sum() / mask.sum()
    you divide by the number of words, but add up padding, too. Its losses have to be 0, or left out.
losses[mask].mean() -> (losses * mask).sum(-1).mean()
    you add up each sentence and average the sums: long sentences look worse. Divide by the number of words instead.
losses[mask].mean() -> ((losses * mask).sum(-1) / mask.sum(-1)).mean()
    you average each sentence, then the averages: a word of a short sentence counts for more. All words count alike.
    https://github.com/huggingface/transformers/pull/34387
.mean() -> .median()
    you take the median of the losses. Their mean is asked for.
.mean() -> [-1]
    that is the loss of the last word alone: does a loop overwrite the sum instead of adding to it?
losses[mask].mean() -> losses.flatten()[:-1][mask.flatten()[:-1]].mean()
    the last position of all is left out: does a loop or a slice end one too early?
[mask] -> [targets != 0]
    you take id 0 for padding. It is a word here like any other: the mask says what is padding.
[mask] -> [mask & (targets != 0)]
    words with the id 0 are left out, too. They are words like any other: the mask says what is padding.
losses[mask].mean() -> losses[mask].mean().exp()
    that is the perplexity, exp of the loss. Return the loss itself.
losses[mask].mean() -> (-losses[mask].sum()).exp()
    that is the likelihood, the product of the probabilities. The loss is the mean of -log of each.
losses[mask].mean() -> (-losses)[mask].exp().mean()
    that is the mean probability of the targets. The loss is the mean of -log of it.
losses[mask].mean() -> -(-losses)[mask].exp().mean().log()
    you average the probabilities and take the logarithm afterwards. Each word's own logarithm comes first, then the mean.
losses[mask].mean() -> -((-losses).exp() * mask).log().sum() / mask.sum()
    you set probabilities of padding to 0, and their logarithm is -∞. Mask the losses, after the logarithm.
torch.log_softmax(logits, dim=-1) -> logits
    the softmax is missing: you take the targets' logits. A logit says nothing until it is compared with the others of its row.
torch.log_softmax(logits, dim=-1) -> logits.log()
    you take the logarithm of the logits. They are no probabilities, and many are negative: softmax comes first, as in torch.log_softmax.
torch.log_softmax( -> torch.softmax(
    the logarithm is missing: softmax gives p, and what counts is -log p. torch.log_softmax does both at once.
logits, dim -> logits.softmax(-1), dim
    the softmax comes twice: F.cross_entropy and log_softmax take logits as they are.
    https://github.com/Lightning-Universe/lightning-bolts/issues/654
torch.log_softmax( -> torch.softmax(
)  # (…, n, v) -> ).log()
    softmax first, then its logarithm: where a probability is below what a float can hold, it is 0, and its logarithm -∞. torch.log_softmax does both at once.
torch.log_softmax( -> torch.softmax(
)  # (…, n, v) -> ).log2()
    softmax and logarithm one after the other, with log2: in bits, and infinite where a probability underflows to 0. torch.log_softmax does both at once, with the natural logarithm.
torch.log_softmax( -> torch.softmax(
)  # (…, n, v) -> ).log10()
    softmax and logarithm one after the other, with log10: another base, and infinite where a probability underflows to 0. torch.log_softmax does both at once, with the natural logarithm.
torch.log_softmax(logits, dim=-1) -> (logits.exp() / logits.exp().sum(-1, keepdim=True)).log()
    where logits are large, exp(1000) is infinite, and so is the sum of a row's powers: the loss is NaN or ∞. torch.log_softmax subtracts the maximum first; so does torch.logsumexp.
torch.log_softmax(logits, dim=-1) -> (logits / logits.sum(-1, keepdim=True)).log()
    you divide the logits by their sum. That makes no probabilities of them, for some are negative: exp comes first, as in a softmax.
torch.log_softmax(logits, dim=-1) -> (torch.softmax(logits, -1) + 1e-8).log()
    log(p + 1e-8) avoids -∞ and makes the loss wrong: no word costs more than 18.4. torch.log_softmax needs no such help.
torch.log_softmax(logits, dim=-1) -> (torch.softmax(logits, -1) + 1e-9).log()
    log(p + 1e-9) avoids -∞ and makes the loss wrong: no word costs more than 20.7. torch.log_softmax needs no such help.
torch.log_softmax(logits, dim=-1) -> (torch.softmax(logits, -1) + 1e-10).log()
    log(p + 1e-10) avoids -∞ and makes the loss wrong: no word costs more than 23.0. torch.log_softmax needs no such help.
torch.log_softmax(logits, dim=-1) -> (torch.softmax(logits, -1) + 1e-12).log()
    log(p + 1e-12) avoids -∞ and makes the loss wrong: no word costs more than 27.6. torch.log_softmax needs no such help.
torch.log_softmax(logits, dim=-1) -> torch.softmax(logits, -1).clamp(min=1e-8).log()
    a clamp at 1e-8 avoids -∞ and makes the loss wrong: no word costs more than 18.4. torch.log_softmax needs no such help.
torch.log_softmax(logits, dim=-1) -> torch.softmax(logits, -1).clamp(min=1e-9).log()
    a clamp at 1e-9 avoids -∞ and makes the loss wrong: no word costs more than 20.7. torch.log_softmax needs no such help.
torch.log_softmax(logits, dim=-1) -> torch.softmax(logits, -1).clamp(min=1e-10).log()
    a clamp at 1e-10 avoids -∞ and makes the loss wrong: no word costs more than 23.0. torch.log_softmax needs no such help.
dim=-1 -> dim=0
    the softmax runs over the first axis, positions or sentences. Each row, over the v words, sums to 1: dim=-1.
dim=-1 -> dim=1
    dim=1 is the vocabulary in one sentence only, not in a batch. Count from the end: dim=-1.
dim=-1 -> dim=-2
    the softmax runs over the positions. Each row, over the v words, sums to 1: dim=-1.
torch.log_softmax(logits, dim=-1) -> (logits.exp() / logits.exp().sum()).log()
    you divide by the sum over all positions: each row's powers have a sum of their own, over dim=-1. And exp(1000) is infinite: torch.log_softmax.
log_probabilities.gather(-1, targets[..., None])[..., 0] -> log_probabilities.amax(-1)
    you take the likeliest word of each position. What counts is the probability of the target, likely or not.
log_probabilities.gather(-1, targets[..., None])[..., 0] -> log_probabilities
    that is the mean of -log p over all words of the vocabulary. Only the target's counts: pick it from each row.
log_probabilities.gather(-1, targets[..., None])[..., 0] -> (log_probabilities.exp() * log_probabilities).sum(-1)
    that is the entropy of the guess, in which the target has no say. Only the target's -log p counts: pick it from each row.
log_probabilities.gather(-1, targets[..., None])[..., 0] -> log_probabilities[..., targets]
    indexed like this, torch picks whole columns: each word is held against every target. One number of each row is wanted: gather.
log_probabilities.gather(-1, targets[..., None])[..., 0] -> log_probabilities[..., targets]
[mask] ->
    each position is held against every target: indexed like this, torch picks whole columns. One number of each row is wanted: gather.
-log_probabilities.gather(-1, targets[..., None])[..., 0] -> log_probabilities[..., targets]
    indexed like this, each word is held against every target: one number of each row is wanted, gather. And the minus is missing.
[..., 0] -> .squeeze()
    squeeze() without a number takes away every axis of length 1: that of one sentence, or of sentences of one word, too. Take the last one only: [..., 0] or squeeze(-1).
[..., 0] -> .squeeze()
losses[mask].mean() -> (losses * mask).sum() / mask.sum()
    squeeze() without a number takes away every axis of length 1. With sentences of one word, losses and mask then no longer pair up: [..., 0] or squeeze(-1).
logits, dim -> logits * mask[..., None], dim
[mask] ->
    you multiply the logits by the mask. Logits of 0 make a uniform distribution, and padding costs log v. Leave out the losses instead.
logits, dim -> logits.masked_fill(~mask[..., None], -math.inf), dim
[mask] ->
    you hide the logits of padding: a row of nothing but -∞ has no softmax, NaN. Leave out the losses of padding instead.
log_probabilities.gather( -> log_probabilities[..., :-1, :].gather(
targets[..., None] -> targets[..., 1:, None]
[mask] -> [mask[..., 1:]]
    you shift the targets by one. They are shifted already: the logits at a position belong to the target at the same one.
    https://github.com/huggingface/transformers/pull/44642
= F.cross_entropy(logits, targets, reduction="none")[mask].mean()
    in a batch, F.cross_entropy takes axis 1 for the classes, which are the last axis here. Make it (words, v) and (words,), by the mask as an index or by flatten.
= (logits.argmax(-1) == targets)[mask].to(logits.dtype).mean()
    that is the accuracy: how often the likeliest word is the target. The loss looks at the target's probability.
= (logits.softmax(-1) - F.one_hot(targets, logits.shape[-1]))[mask].square().mean()
    that is the mean squared error. Cross-entropy is -log of the probability of the target alone.
= F.binary_cross_entropy_with_logits(logits, F.one_hot(targets, logits.shape[-1]).to(logits.dtype), reduction="none")[mask].mean()
    that is the binary cross-entropy, a yes or no for each word of the vocabulary. Here they share one softmax, and the target's -log p counts.
""")

sequence_cross_entropy.right("""
F.cross_entropy(logits[mask], targets[mask])

ignored = targets.masked_fill(~mask, -100)
return F.cross_entropy(logits.flatten(0, -2), ignored.flatten())

F.nll_loss(F.log_softmax(logits[mask], dim=-1), targets[mask])

losses = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), reduction="none")
return (losses * mask.reshape(-1)).sum() / mask.sum()

own = torch.take_along_dim(logits, targets.unsqueeze(-1), dim=-1).squeeze(-1)
return torch.where(mask, logits.logsumexp(-1) - own, 0.0).sum() / mask.count_nonzero()

log_p = logits.log_softmax(-1) * F.one_hot(targets, logits.shape[-1])
return -(log_p.sum(-1) * mask).sum() / mask.sum()

total, words = 0.0, 0
for row, target, real in zip(logits.flatten(0, -2), targets.flatten(), mask.flatten()):
    if real:
        total = total - torch.log_softmax(row, 0)[target]
        words += 1
return total / words

losses = F.cross_entropy(logits.movedim(-1, 1), targets, reduction="none")
return losses[mask].mean()
""")


# ---- perplexity


def draw_probabilities(generator):
    """Two words to count by hand; equal ones; a sure one; random ones; a single word; 400 of 1e-3; float64."""
    for fixed in ([0.5, 0.125], [0.2] * 5, [1.0, 0.1, 0.3], [0.3], [1e-3] * 400):
        yield (torch.tensor(fixed),)
    for n, dtype in ((7, torch.float32), (6, torch.float64)):
        yield (torch.rand(n, generator=generator, dtype=dtype) * 0.9 + 0.05,)


@exercise(
    draws=draw_probabilities,
    hints=[
        "Among 5 equally likely words the perplexity is 5. What does your formula give for five times 1/5?",
        "The loss of a word is the negative natural logarithm of its probability. The loss of a text is their mean.",
        "Three steps: logarithms, their mean with a minus, and what undoes a natural logarithm.",
    ],
    names={"one number a word: are they still to be averaged?": lambda probabilities: probabilities},
    minutes=4,
)
def perplexity(probabilities):
    """Perplexity of n words that a model gave these probabilities (n,): returns one number."""
    return torch.exp(-torch.log(probabilities).mean())


perplexity.mistakes("""
= probabilities.prod() ** (-1 / len(probabilities))
    the product of many probabilities is too small for a float and becomes 0, and the result infinite. Add logarithms instead of multiplying.
= math.prod(probabilities.tolist()) ** (-1 / len(probabilities))
    the product of many probabilities is too small for a float and becomes 0, and that has no inverse. Add logarithms instead of multiplying.
= math.exp(-math.log(probabilities.prod()) / len(probabilities))
    the product of many probabilities is too small for a float and becomes 0, and that has no logarithm. Take the logarithm of each, then add.
= probabilities.prod()
    that is the likelihood of the text, the product. What is it for one word on average, and inverted?
.mean() -> .sum()
    the sum of the losses instead of their mean, or the product inverted without its n-th root: a long text looks worse than a short one.
.mean() -> .sum() / (len(probabilities) - 1)
    you divide by n - 1. The mean of n losses is their sum, divided by n.
.mean() -> .median()
    you take the median of the logarithms. Their mean is asked for.
torch.log(probabilities) -> torch.log(probabilities[1:])
    the first word is left out. It was predicted like all the others, and counts.
torch.log(probabilities) -> torch.log(probabilities[:-1])
    the last word is left out: does a loop or a slice end one too early?
torch.log(probabilities) -> torch.log(probabilities[-1:])
    only the last word counts: does a loop overwrite the sum instead of adding to it?
exp(-torch -> exp(torch
    that is the geometric mean of the probabilities: the minus is missing. Perplexity is at least 1.
torch.exp(-torch -> -torch.exp(torch
    the minus stands in front of exp. It belongs to the mean of the logarithms: a perplexity is at least 1.
-torch.log( -> torch.log(-
    the logarithm of a negative number is NaN: the minus belongs in front of the logarithm, not inside it.
= probabilities.prod() ** (1 / len(probabilities))
    that is the geometric mean of the probabilities, by way of their product, which becomes 0 for many words. Perplexity is its inverse, by way of logarithms.
torch.log(probabilities).mean() -> torch.log(probabilities.mean())
    that is 1 / mean(p), or the logarithm is taken after the mean. First the logarithm of each, then the mean.
= (1 / probabilities).mean()
    that is the mean of 1 / p, or exp comes before the mean. The mean is taken of -log p, and exp comes last.
    https://github.com/magenta/magenta/pull/239
= 1 / probabilities.sum()
    you invert the sum of the probabilities. They belong to different words: the mean is taken of -log p, then exp.
torch.exp ->
    that is the mean loss, -log p. Perplexity is exp of it.
torch.exp(-torch.log( -> (-torch.log2(
    that is the loss in bits, the mean of -log2 p. Perplexity is 2 to the power of it.
torch.exp -> torch.exp2
    two bases are mixed: 2 to the power of a natural logarithm. To torch.log belongs torch.exp.
torch.log -> torch.log2
    two bases are mixed: e to the power of a log2. To torch.log2 belongs 2 ** …, to torch.log torch.exp.
torch.log -> torch.log10
    two bases are mixed: e to the power of a log10. To torch.exp belongs torch.log.
torch.log(probabilities) -> probabilities
    the logarithm is missing: exp of the negative mean of p. The mean is taken of -log p.
torch.log(probabilities) -> torch.log(1 - probabilities)
    you take the probability that the word does not come, 1 - p. The loss of a word is -log p.
torch.log(probabilities) -> torch.log_softmax(probabilities, -1)
    a softmax makes probabilities of logits. These are probabilities already, each of another word, and need not sum to 1.
torch.log(probabilities) -> torch.log(probabilities / probabilities.sum())
    you divide by the sum of the probabilities. Each is of another word: they need not sum to 1, and stay as they are.
torch.log(probabilities).mean() -> (probabilities * torch.log(probabilities)).sum()
    you weight each -log p by p, which makes an entropy. These are the probabilities of the words that came: each counts once.
torch.log(probabilities).mean() -> (probabilities * torch.log(probabilities)).mean()
    you multiply each -log p by p before the mean. These are the probabilities of the words that came: each counts once.
= probabilities.prod() ** -1 / len(probabilities)
    you divide the inverse product by n where its n-th root is asked for; without brackets, p ** -1 / n does that, too. And use logarithms: the product becomes 0.
= 1 / probabilities.prod() ** len(probabilities)
    the power is n where a mean divides by n: 1/n. And the product becomes 0: use logarithms.
""")

perplexity.right("""
2 ** -probabilities.log2().mean()

math.exp(-sum(math.log(p) for p in probabilities) / len(probabilities))

F.nll_loss(probabilities.log()[:, None], torch.zeros(len(probabilities), dtype=torch.long)).exp()

1 / (probabilities ** (1 / len(probabilities))).prod()

np.exp(-np.mean(np.log(probabilities.numpy())))
""")


# ---- context_vector


def draw_weights_and_states(generator):
    """q ≠ k ≠ d, q = k, k = d, q = d, b = q = k = d; one sentence of one step; padding of weight 0; float64."""
    for b, q, k, d in (
        (2, 3, 4, 5),
        (2, 4, 4, 3),
        (3, 2, 4, 4),
        (2, 3, 5, 3),
        (3, 3, 3, 3),
        (1, 1, 4, 2),
        (2, 3, 3, 4),
    ):
        dtype = torch.float64 if (q, d) == (3, 4) else torch.float32
        scores = 2 * torch.randn(b, q, k, generator=generator, dtype=dtype)
        scores[0, :, k - 1] = -math.inf
        yield torch.softmax(scores, -1), torch.randn(b, k, d, generator=generator, dtype=dtype)


@exercise(
    draws=draw_weights_and_states,
    hints=[
        "One decoder step has k weights, one for each encoder state. What does it make of the k states?",
        "Weighted states are added up. In einsum, weights are bqk and states bkd: which letter goes after the arrow?",
        "The shared axis, k, is the last of weights, the second to last of states: there a matrix product sums.",
    ],
    names={
        "the products, (b, q, k, d), before k is summed": lambda w, s: w[..., None] * s[:, None],
        "the weights: are the states still to be added up with them?": lambda w, s: w,
        "the states: is there one vector for each decoder step?": lambda w, s: s,
        "(b, d), one vector a sentence: each decoder step has one of its own": lambda w, s: s[:, 0],
        "(b, d, q): the last two axes are exchanged": lambda w, s: (w @ s).mT,
        "(b, b, q, d): every sentence's weights meet every sentence's states": lambda w, s: w @ s[:, None],
        "(b, q, b, d): every sentence's weights meet every sentence's states": lambda w, s: torch.tensordot(
            w, s, ([2], [1])
        ),
        "(q·b, d): torch.cat puts the steps below one another, torch.stack gives them an axis": (
            lambda w, s: (w @ s).transpose(0, 1).flatten(0, 1)
        ),
        "(b, q·d): torch.cat puts the steps side by side, torch.stack gives them an axis": lambda w, s: (w @ s).flatten(
            1
        ),
        "(q, d): does each sentence keep its own?": lambda w, s: w[0] @ s[0],
        "(d, q): einsum without an arrow adds up every letter that comes twice, the batch, too": lambda w, s: (
            (w[0] @ s[0]).T
        ),
    },
    question={
        "einsum": "weights is bqk, states bkd: does each string name as many axes, and a letter mean one length in both?",
        r"\.T\b|\.mT|transpose|permute": "The axis k is the last of weights (b, q, k) and the second to last of states "
        "(b, k, d): they meet as they are, without a transpose.",
        "": "weights is (b, q, k), states (b, k, d): k is what they share. Which axes meet in this line?",
    },
    minutes=4,
    trained=True,
)
def context_vector(weights, states):
    """Encoder states (b, k, d), summed by each step's weights (b, q, k): returns (b, q, d)."""
    return weights @ states


context_vector.mistakes("""
weights -> weights.mT
    the weights are transposed, which crashes unless q = k. Rows belong to decoder steps: they meet the states as they are.
states -> states.mT
    the states are transposed: their numbers, not their places, are weighted. It crashes unless k = d.
weights @ states -> states @ weights
    the states stand on the left, which crashes unless d = q: numbers of a state meet decoder steps. What is weighted stands on the right.
= states.mean(1, keepdim=True).expand(-1, weights.shape[1], -1)
    you average all states alike. Each has a weight of its own, another at every decoder step.
= states.sum(1, keepdim=True).expand(-1, weights.shape[1], -1)
    you add up the states without their weights. Each is multiplied by its weight, another at every decoder step.
= states[:, -1:].expand(-1, weights.shape[1], -1)
    that is the last encoder state for every decoder step, as if there were no attention. All states enter, each by its weight.
@ states -> @ states / states.shape[1]
    you divide by k. The weights sum to 1 already, so that the weighted sum is a mean: a sum over k, not a mean over it.
@ states -> @ states / math.sqrt(states.shape[-1])
    you divide by √d. What is scaled in notebook 02 are scores, before the softmax; these weights sum to 1 already.
weights -> torch.softmax(weights, -1)
    softmax once more: the weights have been through it, and a second one makes them nearly equal.
= torch.stack([rows[one.argmax(-1)] for one, rows in zip(weights, states)])
    you take the state with the largest weight. All of them enter, each by its weight.
= (weights[..., None] * states[:, None]).sum(1)
    you sum over the decoder steps, q. The sum runs over the encoder states, k.
= (weights[..., None] * states[:, None]).sum(-1)
    you sum over the numbers of a state, d. The sum runs over the encoder states, k.
= weights[:, :, -1:] * states[:, -1:]
    only the last encoder state is left: does a loop overwrite the sum instead of adding to it? Use +, from 0 on.
= weights[..., :-1] @ states[:, :-1]
    the last encoder state is left out: does a loop or a slice end one too early?
= (weights[:, -1:] @ states)[:, 0]
    you return the last decoder step's context only. In a loop, collect the steps: torch.stack, dim=1.
weights -> weights[:, :1].expand_as(weights)
    all decoder steps take the weights of the first. Each has weights of its own.
= (weights @ states).sum(1)
    the contexts of all decoder steps are added up. Each step keeps its own: q stays.
= (weights @ states).transpose(0, 1)
    the steps stand in front, (q, b, d): torch.stack puts its axis first. dim=1 puts it behind b.
= (weights @ states).transpose(0, 1).reshape(len(weights), weights.shape[1], -1)
    the steps stood in front, (q, b, d), and a reshape only cuts them anew: sentences and steps get mixed. torch.stack(…, dim=1), or transpose.
= (weights @ states).mT.reshape(len(weights), weights.shape[1], -1)
    reshape or view cuts the numbers anew instead of exchanging axes: a transpose is what moves them.
weights -> weights[0]
    all sentences take the weights of the first. Each has weights of its own.
states -> states[0]
    all sentences take the states of the first. Each has states of its own.
= weights @ states, weights
    you return the weighted sum and the weights. Return the sum only.
""")

context_vector.right("""
torch.einsum("bqk,bkd->bqd", weights, states)

torch.bmm(weights, states)

(weights.unsqueeze(-1) * states.unsqueeze(1)).sum(dim=2)

context = torch.zeros(*weights.shape[:2], states.shape[2], dtype=states.dtype)
for i in range(weights.shape[0]):
    for j in range(weights.shape[1]):
        for n in range(states.shape[1]):
            context[i, j] += weights[i, j, n] * states[i, n]
return context

torch.stack([(step[:, :, None] * states).sum(1) for step in weights.unbind(1)], dim=1)

(states.mT @ weights.mT).mT
""")


# ---- bilinear_weights


def draw_states_and_masks(generator):
    """d_q ≠ d_k, d_q = d_k, b = k, b = k = d; one sentence; a single word in each; float64. In the last three some
    scores are far above the others, below 0, or too large for exp."""
    for (b, k, d_q, d_k), rows, moved, score in (
        ((2, 4, 3, 5), [[1, 1, 1, 0], [1, 1, 1, 1]], slice(0), 0),
        ((3, 4, 2, 2), [[1, 1, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1]], slice(0), 0),
        ((3, 3, 3, 3), [[1, 1, 0], [1, 0, 1], [1, 1, 1]], slice(0), 0),
        ((1, 5, 4, 2), [[1, 1, 1, 0, 0]], slice(0), 0),
        ((2, 1, 3, 4), [[1], [1]], slice(0), 0),
        ((4, 4, 2, 3), [[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 0]], slice(0), 0),
        ((2, 4, 3, 3), [[1, 1, 1, 0], [1, 0, 1, 0]], slice(3, 4), 200),  # padding
        ((2, 4, 3, 5), [[1, 1, 0, 0], [1, 0, 1, 1]], slice(None), -300),
        ((2, 4, 3, 2), [[1, 1, 1, 0], [1, 1, 1, 1]], slice(None), 1000),
    ):
        shapes, dtype = ((b, d_q), (b, k, d_k), (d_q, d_k)), torch.float64 if score == 1000 else torch.float32
        query, keys, W_s = (torch.randn(*shape, generator=generator, dtype=dtype) for shape in shapes)
        projected = query @ W_s
        step = score * projected / (projected**2).sum(-1, keepdim=True)  # what adds `score` to a key's score
        keys[:, moved] += step[:, None]
        yield query, keys, W_s, torch.tensor(rows).bool()


@exercise(
    draws=draw_states_and_masks,
    hints=[
        "What does W_s make of a decoder state, and what is its length then? With what can that be compared?",
        "query @ W_s is (b, d_k). For each sentence, its dot product with each of the keys (k, d_k): in einsum, which "
        "letters stay after the arrow?",
        "The scores are (b, k). Padding gets the score -∞, where mask is False, and then comes the softmax over keys.",
    ],
    names={
        "(b, b, k): every query meets the keys of every sentence. Does the batch broadcast?": (
            lambda query, keys, W_s, mask: query @ W_s @ keys.mT
        ),
        "(b, 1, k): is the axis of a single query left over?": lambda query, keys, W_s, mask: mask[:, None],
        "(b, k, 1): is the axis of a single query left over?": lambda query, keys, W_s, mask: mask[..., None],
        "a sum of the keys: the weights themselves are asked for": lambda query, keys, W_s, mask: keys[:, 0],
        "the keys: are the products summed over d_k, to one score for each key?": lambda query, keys, W_s, mask: keys,
        "one number a sentence: is there one for each key?": lambda query, keys, W_s, mask: mask[:, 0],
        "the words of all sentences in a row: an index by mask loses the axes": lambda query, keys, W_s, mask: mask[
            mask
        ],
        "(k, b): the batch is the first axis": lambda query, keys, W_s, mask: mask.T,
        "(k,): does each sentence keep its own weights?": lambda query, keys, W_s, mask: mask[0],
    },
    question={
        "einsum": "query is bq, W_s qd, keys bkd: does each string name as many axes, and a letter mean one length?",
        r"keys\.T\b|keys\.t\(\)|permute|transpose|\.mT": "keys is (b, k, d_k): exchange its last two axes only, "
        "keys.mT, and the query needs an axis of length 1 for its place, (b, 1, d_k).",
        r"W_s\.(T|mT|t\(\))": "W_s is (d_q, d_k): the query, a row, stands on its left as it is.",
        "mask": "mask is (b, k): have the scores that shape, too?",
        "": "query is (b, d_q), W_s (d_q, d_k), keys (b, k, d_k): which axes meet in this line?",
    },
    level=2,
    minutes=10,
    trained=True,
)
def bilinear_weights(query, keys, W_s, mask):
    """Weights of query (b, d_q) for the encoder states keys (b, k, d_k): returns (b, k).

    The score is bilinear, with W_s (d_q, d_k), and not scaled. The weight is 0 where mask (b, k)
    is False, for padding; each sentence has at least one word.
    """
    scores = torch.einsum("bd,bkd->bk", query @ W_s, keys)
    return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)


bilinear_weights.mistakes("""
.masked_fill(~mask, -math.inf) ->
    the mask is not used: padding gets weight, and takes it from the words.
    https://github.com/MaximumEntropy/Seq2Seq-PyTorch/issues/6
~mask -> mask
    the sense is inverted: you hide the words. True = may attend, so -∞ goes where mask is False.
~mask, -math.inf -> mask, -1e9
    the words are hidden in place of padding: the large negative number belongs where mask is False.
torch.softmax( -> mask * torch.softmax(
.masked_fill(~mask, -math.inf) ->
    you mask after the softmax: the weights that are left no longer sum to 1. Mask the scores, before it.
, dim=-1) -> , dim=-1).masked_fill(~mask, -math.inf)
.masked_fill(~mask, -math.inf) ->
    you put -∞ among the weights. It belongs among the scores: mask first, then the softmax, which makes 0 of it.
return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) -> weights = torch.softmax(scores, -1) * mask; return weights / weights.sum(-1, keepdim=True)
    you mask powers or weights, and divide by the sum of the rest. Where padding has a score far above all words, that is 0/0 = NaN. Mask the scores, before the maximum and the softmax.
    https://github.com/abisee/pointer-generator/issues/88
return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) -> weights = torch.softmax(scores, -1) * mask; return weights / (weights.sum(-1, keepdim=True) + 1e-9)
    you mask the weights: where padding has a score far above all words, it takes all the weight, and the small number below the line leaves 0 in every place. Mask the scores, before the softmax.
scores.masked_fill(~mask, -math.inf) -> scores * mask
    you set scores, or states, of padding to 0. exp(0) is 1: it gets a weight all the same. A score of -∞ gets none.
scores.masked_fill(~mask, -math.inf) -> scores + (~mask) * -math.inf
    0 · ∞ is NaN: multiplied by -∞, the mask ruins the words' scores. masked_fill(~mask, …).
-math.inf -> math.inf
    you give padding the score +∞: it takes all the weight, and inf / inf is NaN. A score of -∞ gets none.
-math.inf -> scores.min()
    padding gets the smallest score of all: its weight is small, not 0. Only -∞ hides for certain.
-math.inf -> -10.0
    the score of padding is -10: its weight is small, not 0. Only -∞ hides for certain.
-math.inf -> -100.0
    where the words' scores lie below your number for padding, it takes all the weight. Only -∞ hides for certain.
return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) -> powers = scores.exp() * mask; return powers / powers.sum(-1, keepdim=True)
    you mask the powers and divide by their sum. exp(200) is infinite already in float32: mask the scores, and let torch.softmax subtract the maximum.
return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) -> powers = scores.masked_fill(~mask, -math.inf).exp(); return powers / powers.sum(-1, keepdim=True)
    exp(1000) is infinite, and inf / inf is NaN. torch.softmax subtracts the maximum first.
torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) -> scores * mask / (scores * mask).sum(-1, keepdim=True)
    you divide scores by their sum. Some are negative, so that makes no weights of them: exp comes first, as in a softmax.
torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) -> torch.sigmoid(scores.masked_fill(~mask, -math.inf))
    you take the sigmoid of each score by itself. The weights of a sentence share one softmax and sum to 1.
dim=-1 -> dim=0
    the softmax runs over the batch. Each sentence has weights of its own: over the keys, dim=-1.
, dim=-1) -> .flatten(), dim=0).view_as(scores)
    the softmax runs over all sentences at once. Each has weights of its own, which sum to 1: dim=-1.
query @ W_s -> query @ W_s.T
    W_s is transposed, which crashes unless d_q = d_k. It is (d_q, d_k): the query meets its rows, the keys its columns.
query @ W_s -> query
    that is the dot-product score: W_s is not used, and it crashes unless d_q = d_k. W_s stands between query and keys.
, keys) -> , keys) / math.sqrt(keys.shape[-1])
    you divide by √d_k. The bilinear score is not scaled: W_s learns the scale.
, keys) -> , keys) / math.sqrt(query.shape[-1])
    you divide by √d_q. The bilinear score is not scaled: W_s learns the scale.
, keys) -> , keys).tanh()
    the scores go through tanh. That belongs to the additive score, between its layers; the bilinear one goes into the softmax as it is.
query @ W_s, keys -> F.normalize(query @ W_s, dim=-1), F.normalize(keys, dim=-1)
    that is the cosine: you divide by the lengths. The bilinear score is the dot product itself.
torch.einsum("bd,bkd->bk", query @ W_s, keys) -> torch.tanh((query @ W_s)[:, None] + keys).sum(-1)
    you add query and key and take tanh: that is akin to the additive score. The bilinear one is a dot product, query @ W_s with each key.
torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) -> scores
    you return the scores. The softmax over the keys, with padding hidden, is still to come.
torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) -> scores.masked_fill(~mask, -math.inf)
    you return the masked scores. The softmax over the keys is still to come.
torch.einsum("bd,bkd->bk", query @ W_s, keys) -> query @ W_s @ keys.mT
    every query meets the keys of every sentence, (b, b, k): (b, d_k) times (b, d_k, k) broadcasts. With an axis for its place, query[:, None], each meets its own.
torch.einsum("bd,bkd->bk", query @ W_s, keys) -> (query[:, None] @ W_s @ keys.mT).expand(-1, len(mask), -1)
    the axis of the single query is left over when the mask comes: (b, 1, k) and (b, k) make (b, b, k). Take the axis away before, [:, 0].
torch.einsum("bd,bkd->bk", query @ W_s, keys) -> (query[:, None] @ W_s @ keys.mT).squeeze()
    squeeze() without a number takes away every axis of length 1: with a single sentence or word, that of the batch or of the keys, too. Say which: squeeze(1) or [:, 0].
= bilinear_weights(query, keys, W_s, mask).squeeze()
    squeeze() at the end takes away every axis of length 1, that of a single sentence, or of a single word in each, too. Say which: squeeze(1) or [:, 0].
= (bilinear_weights(query, keys, W_s, mask)[:, None] @ keys)[:, 0]
    you return the context vector, as in the exercise before. Here the weights themselves are asked for.
= bilinear_weights(query, keys, W_s, mask), (bilinear_weights(query, keys, W_s, mask)[:, None] @ keys)[:, 0]
    you return weights and context. Here return the weights only.
""")

bilinear_weights.right("""
scores = torch.einsum("bq,qd,bkd->bk", query, W_s, keys)
return torch.where(mask, scores, -torch.inf).softmax(-1)

scores = torch.bmm(keys, (query @ W_s).unsqueeze(2)).squeeze(2)
return torch.softmax(scores.masked_fill(mask == 0, -1e9), dim=1)

scores = (query.unsqueeze(1) * (keys @ W_s.T)).sum(-1)
return torch.softmax(scores + torch.where(mask, 0.0, -torch.inf), dim=-1)

scores = torch.stack([torch.stack([q @ W_s @ state for state in states]) for q, states in zip(query, keys)])
return torch.stack([torch.softmax(row.where(real, -torch.inf), 0) for row, real in zip(scores, mask)])

identity = torch.eye(keys.shape[1], dtype=keys.dtype).expand(len(keys), -1, -1)
return F.scaled_dot_product_attention((query @ W_s)[:, None], keys, identity, mask[:, None], scale=1.0)[:, 0]

scores = (query[:, None] @ W_s @ keys.transpose(1, 2)).squeeze(1)
return catalogue()["masked_softmax"](scores, mask)
""")


# ---- alignment_error_rate


def draw_alignments(generator):
    """One pair to count by hand; several of different lengths; a random half; no sure links; no link in one sentence;
    sure = possible; no links; no hits; nothing at all."""
    yield [{(0, 0), (1, 2), (2, 2)}], [{(0, 0), (2, 1)}], [{(0, 0), (2, 1), (2, 2), (3, 1)}]
    yield (
        [{(0, 1), (1, 0)}, {(0, 0), (1, 1), (2, 3), (3, 2), (4, 5)}],
        [{(0, 1), (1, 2)}, {(0, 0), (2, 3), (3, 2)}],
        [{(0, 1), (1, 2), (2, 2)}, {(0, 0), (2, 3), (3, 2), (1, 1), (4, 4)}],
    )
    places = [(target, source) for target in range(5) for source in range(6)]
    links, sure, rest = (
        [{place for place in places if torch.rand((), generator=generator) < share} for _ in range(4)]
        for share in (0.25, 0.2, 0.2)
    )
    yield links, sure, [one | other for one, other in zip(sure, rest)]
    yield [{(0, 0), (1, 1), (2, 1)}, {(1, 0)}], [set(), set()], [{(0, 0), (1, 1)}, {(0, 1)}]
    yield (
        [{(0, 2), (1, 1)}, set(), {(2, 0), (1, 2), (0, 1), (3, 3)}, {(0, 0)}],
        [{(0, 2), (1, 1)}, {(0, 0), (1, 0)}, {(2, 0), (0, 1)}, set()],
        [{(0, 2), (1, 1), (1, 2)}, {(0, 0), (1, 0), (1, 1)}, {(2, 0), (0, 1), (1, 2), (2, 1)}, {(0, 0)}],
    )
    yield [{(0, 0), (1, 2)}, {(1, 0)}], [{(0, 0), (2, 1)}, {(1, 0)}], [{(0, 0), (2, 1)}, {(1, 0)}]
    yield [set(), set()], [{(0, 0)}, {(1, 0)}], [{(0, 0), (0, 1)}, {(1, 0)}]
    yield [{(0, 1)}, {(1, 2)}], [{(0, 0)}, {(1, 0)}], [{(0, 0), (1, 1)}, {(1, 0)}]
    yield [set(), set()], [set(), set()], [set(), set()]


@exercise(
    draws=draw_alignments,
    hints=[
        "Sets know what they have in common: a & b. Which three sets of one sentence are compared, and in which pairs?",
        "A link that is sure and found counts twice above the line, one that is only possible and found once. Below it "
        "stand the numbers of links and of sure links.",
        "Go through the three lists together, with zip. Add up over all sentences what stands above the line and what "
        "stands below, divide once, and subtract from 1. If nothing stands below the line, the rate is 0.0.",
    ],
    names={
        "one number a sentence: add up over all of them what stands above and below the line, then divide once": (
            lambda links, sure, possible: torch.zeros(len(links))
        ),
    },
    level=2,
    minutes=8,
)
def alignment_error_rate(links, sure, possible):
    """1 - (|A∩S| + |A∩P|) / (|A| + |S|) of links A, sure S, possible P: returns a number.

    Each argument is a list with one set of (target position, source position) a sentence; every
    sure link is possible, too. The four counts are summed over all sentences before dividing.
    The rate is 0.0 if there are neither links nor sure links at all (Och and Ney 2003).
    """
    found = sum(len(a & s) + len(a & p) for a, s, p in zip(links, sure, possible))
    total = sum(len(a) + len(s) for a, s in zip(links, sure))
    return 1 - found / total if total else 0.0


def number(one, other=None):
    """Of links, in all sentences; with another list, of those that both have."""
    return sum(map(len, one)) if other is None else sum(len(a & b) for a, b in zip(one, other))


alignment_error_rate.mistakes("""
if total else 0.0 ->
    where there are no links at all, 0 is divided by 0. Catch it: the rate is 0.0 then.
else 0.0 -> else 1.0
    where there are no links at all, you return 1.0, as a small number below the line does, too. Nothing is wrong there: the rate is 0.0.
if total -> if found
    you return 0.0 where no link is right. Then all are wrong, and the rate is 1: it is 0.0 only where there are neither links nor sure links.
if total -> if any(links)
    you return 0.0 where there are no links. The sure ones were missed then: the rate is 0.0 only where there are none of these either.
if total -> if any(sure)
    you return 0.0 where there are no sure links. Those that were drawn may be wrong: the rate is 0.0 only where there are none of these either.
if total -> if any(links) and any(sure)
    you return 0.0 where either links or sure links are missing. Only where both are, nothing is wrong.
1 - found -> found
    that is the share of what is right: the 1 - in front is missing. All right is the error 0.
= sum(alignment_error_rate([a], [s], [p]) for a, s, p in zip(links, sure, possible)) / len(links)
    you average the rates of the sentences: a link of a short one counts for more. Add the numbers up over all, then divide once.
= sum(alignment_error_rate([a], [s], [p]) for a, s, p in zip(links, sure, possible))
    you add up the rates of the sentences. Add up the numbers above and below the line over all, then divide once.
for a, s in zip(links, sure) -> for a, s in zip(links, sure) if a
    you skip sentences without links. Their sure links were missed, and have to count below the line.
sure, possible)) -> sure, possible) if s)
for a, s in zip(links, sure) -> for a, s in zip(links, sure) if s
    you skip sentences without sure links. Links drawn there count, too: below the line, and above it if they are possible.
len(a & s) + len(a & p) -> 2 * len(a & s)
    possible links are not used, sure ones count twice. A∩S is counted, and so is A∩P.
len(a & s) + len(a & p) -> 2 * len(a & p)
    sure links are not counted where they are found: it is |A∩S| + |A∩P|, not twice |A∩P|.
len(a & s) + len(a & p) -> len(a & s)
    above the line |A∩P| is missing: a link that is possible is right, too.
len(a & s) + len(a & p) -> len(a & p)
    above the line |A∩S| is missing, or P is taken without S. Sure links are possible, too, and count in both terms.
len(a & s) + len(a & p) -> len(a & s) + len(s & p)
    above the line stands |S∩P|, in which the links have no say. It is |A∩P|.
len(a & s) + len(a & p) -> len(a - s) + len(a - p)
    you count links that are wrong, the difference of sets. Above the line stand those that are right: &.
len(a & s) + len(a & p) -> len(a | s) + len(a | p)
    you take unions, |. What A has in common with S and P is their intersection, &.
len(a & s) + len(a & p) -> len(a and s) + len(a and p)
    `and` between sets gives the second one, unless the first is empty. What both share is &.
len(a & s) + len(a & p) -> sum(x == y for other in (s, p) for x, y in zip(sorted(a), sorted(other)))
    you compare the links by their place in line, the first with the first and so on. A link is found wherever it stands: &.
len(a) + len(s) for a, s in zip(links, sure) -> len(a) + len(p) for a, p in zip(links, possible)
    below the line you have |P|, or S and P are exchanged. It is |A| + |S|: nobody has to find what is optional.
len(a) + len(s) -> len(a)
    below the line |S| is missing: links that were not found cost nothing. It is |A| + |S|.
len(a) + len(s) -> len(s)
    below the line |A| is missing: superfluous links cost nothing. It is |A| + |S|.
len(a) + len(s) -> 2 * len(a)
    below the line |A| stands twice, and |S| is missing. It is |A| + |S|.
len(a) + len(s) -> len(a | s)
    below the line stands the union A∪S, where common links count once. |A| + |S| counts them twice.
sum(len(a) + len(s) for a, s in zip(links, sure)) -> number(links) + number(sure) + number(possible)
    below the line stand all three numbers. It is |A| + |S|, without |P|.
sum(len(a) + len(s) for a, s in zip(links, sure)) -> len(links) + len(sure)
    below the line you count sentences: len of a list of sets. Add up the lengths of the sets, the numbers of links.
len(a & s) + len(a & p) -> len(a & p)
len(a) + len(s) -> len(a)
    that is 1 - precision: which of the links are possible. Those that were not found have no say.
len(a & s) + len(a & p) -> len(a & s)
len(a) + len(s) -> len(s)
    that is 1 - recall: which of the sure links were found. Superfluous links have no say.
= 1 - 2 / (number(links) / number(links, possible) + number(sure) / number(links, sure)) if any(links + sure) else 0.0
    that is 1 - F1. Precision and recall count different sets here, S and P: the rate has its own formula.
= 1 - (number(links, possible) / number(links) + number(links, sure) / number(sure)) / 2 if any(links + sure) else 0.0
    you average precision and recall. Add the numbers above the line and those below, then divide once.
= 1 - (number(links, sure) + number(links, possible) / (number(links) + number(sure))) if any(links + sure) else 0.0
    `/` binds tighter than `+`: both numbers above the line need brackets around them.
= 1 - number(links, sure) + number(links, possible) / (number(links) + number(sure)) if any(links + sure) else 0.0
    without brackets, only the first number is subtracted from 1. Both above the line need brackets.
= 1 - (number(links, sure) + number(links, possible)) / number(links) + number(sure) if any(links + sure) else 0.0
    `/` binds tighter than `+`: both numbers below the line need brackets around them.
= alignment_error_rate(*([set().union(*lists)] for lists in (links, sure, possible)))
    you throw the links of all sentences into one set: the same pair of positions in two sentences counts once. Compare sentence by sentence.
len(a & s) + len(a & p) -> len(a & set().union(*sure)) + len(a & set().union(*possible))
    a link counts as found if any sentence has it. Compare sentence by sentence: zip.
for a, s, p in zip(links, sure, possible) -> for a in links for s, p in zip(sure, possible)
    you compare the sentences with each other, the sets of one list with all of another. Pair them up: zip.
= alignment_error_rate(links[:1], sure[:1], possible[:1])
    you count the first sentence only. Go through all of them, with zip.
= alignment_error_rate(links[-1:], sure[-1:], possible[-1:])
    you count the last sentence only: does a loop overwrite the numbers instead of adding to them?
= alignment_error_rate(links[:-1], sure[:-1], possible[:-1])
    the last sentence is left out: does a loop or a slice end one too early?
""")

alignment_error_rate.right("""
found = total = 0
for i in range(len(links)):
    found += sum((link in sure[i]) + (link in possible[i]) for link in links[i])
    total += len(links[i]) + len(sure[i])
return 0 if total == 0 else 1.0 - found / total

n, m = sum(map(len, links)), sum(map(len, sure))
precision = sum(len(a.intersection(p)) for a, p in zip(links, possible)) / max(n, 1)
recall = sum(len(a & s) for a, s in zip(links, sure)) / max(m, 1)
return 1 - (n * precision + m * recall) / (n + m) if n + m else 0.0

a, s, p = ({(i, *link) for i, one in enumerate(lists) for link in one} for lists in (links, sure, possible))
return torch.tensor(1 - (len(a & s) + len(a & p)) / (len(a) + len(s)) if a or s else 0.0)

superfluous = sum(len(a - p) for a, p in zip(links, possible))
missed = sum(len(s.difference(a)) for a, s in zip(links, sure))
return (superfluous + missed) / max(1, sum(len(a) + len(s) for a, s in zip(links, sure)))
""")
