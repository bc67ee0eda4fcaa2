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
)
def elman_step(x, h, W, U, b):
    """One step of an Elman RNN: returns the new state (…, d_hidden).

    Input x (…, d_in), old state h (…, d_hidden); W (d_in, d_hidden), U (d_hidden, d_hidden),
    bias b (d_hidden,).
    """
    return torch.tanh(x @ W + h @ U + b)


elman_step.mistakes("""
= x @ W + h @ U + b
    the tanh is missing: without it the state may grow at every step, and the network stays linear.
= torch.sigmoid(x @ W + h @ U + b)
    you take the sigmoid, which lies between 0 and 1. The state of an Elman RNN goes through tanh.
= torch.relu(x @ W + h @ U + b)
    you take relu, which cuts off what is negative and bounds nothing. The state goes through tanh.
= torch.tan(x @ W + h @ U + b)
    you take the tangent, tan. The hyperbolic one, tanh, stays between -1 and 1.
= torch.tanh(x @ U + h @ W + b)
    W and U are exchanged, which crashes unless d_in = d_hidden. W, (d_in, d_hidden), takes the input; U the old
    state.
= torch.tanh(x @ W + h @ U.T + b)
    U is transposed. As it is square, the shape fits all the same, but the numbers do not: rows stand on the left,
    and U stays as it is.
= torch.tanh(x @ W.T + h @ U + b)
    W is transposed, which crashes unless d_in = d_hidden. x is a row: it meets the rows' axis of W.
= torch.tanh(x @ W.T + h @ U.T + b)
    both matrices are transposed, as with the weights that nn.Linear and nn.RNN store. Here they are used as they
    are.
= torch.tanh(W @ x + U @ h + b)
    the matrices stand on the left, as in books that write vectors as columns. Here vectors are rows: x and h stand
    on the left.
= torch.tanh(W.T @ x + U.T @ h + b)
    right for a single vector, but in a batch each row is a vector, and matrices on the left mix the rows. Put x and
    h on the left, then nothing is transposed.
= torch.tanh(x @ W + b)
    the old state is forgotten: h and U are not used, so the network remembers nothing.
= torch.tanh(h @ U + b)
    the input is forgotten: x and W are not used, so the state goes on whatever is read.
= torch.tanh(x @ W + h @ U)
    the bias is forgotten: b is added before the tanh.
= torch.tanh((x @ W + b) + (h @ U + b))
    the bias counts twice. nn.RNN has two of them, one for the input and one for the state; here b is the only one.
= torch.tanh(x @ W + h @ U) + b
    the bias stands outside the tanh: the state may leave the range from -1 to 1. Add it before.
= torch.tanh(x @ W) + torch.tanh(h @ U) + b
    tanh is taken of both parts, and the bias added outside. Add up all three, then one tanh.
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
= h + torch.tanh(x @ W + h @ U + b)
    you add the old state once more, outside the tanh. h enters through U only.
= torch.tanh(x @ W + h + b)
    the old state is added as it is. It goes through its matrix U first.
= torch.tanh(x @ W + h @ W + b)
    input and state go through the same matrix, W. The old state has its own, U.
= torch.tanh(torch.cat([h, x], -1) @ torch.cat([W, U]) + b)
    concatenated in two orders: h meets rows of W, and x rows of U. Take the vectors in the order of the matrices.
= torch.tanh(torch.cat([x, h]) @ torch.cat([W, U]) + b)
    right for a single vector. In a batch, torch.cat without dim puts the rows of h below those of x; dim=-1 puts
    them side by side.
= elman_step(x, h, W, U, b), elman_step(x, h, W, U, b)
    you return a pair, as nn.RNN does. Output and new state are one here: return it once.
""")


elman_step.right("""
cell = torch.nn.RNNCell(*W.shape, dtype=W.dtype)
zeros = torch.zeros_like(b)
with torch.no_grad():
    for parameter, value in zip(cell.parameters(), (W.T, U.T, b, zeros)):  # weight_ih, weight_hh, bias_ih, bias_hh
        parameter.copy_(value)
return cell(x.reshape(-1, x.shape[-1]), h.reshape(-1, h.shape[-1])).reshape(h.shape)

(torch.cat([x, h], dim=-1) @ torch.cat([W, U]) + b).tanh()

torch.tanh(torch.einsum("...i,ij->...j", x, W) + torch.einsum("...i,ij->...j", h, U) + b)

torch.tanh(F.linear(x, W.T, b) + F.linear(h, U.T))

if x.ndim > 1:
    return torch.stack([elman_step(one, state, W, U, b) for one, state in zip(x, h)])
new = []
for j in range(len(b)):
    total = b[j] + sum(x[i] * W[i, j] for i in range(len(x))) + sum(h[i] * U[i, j] for i in range(len(h)))
    new.append(math.tanh(total))
return torch.tensor(new, dtype=h.dtype)

total = torch.matmul(x, W) + torch.matmul(h, U) + b
return 2 * torch.sigmoid(2 * total) - 1

torch.tanh((x[..., None] * W).sum(-2) + (h[..., None] * U).sum(-2) + b)
""")


# ---- sequence_cross_entropy


def draw_logits_and_targets(generator):
    """One sentence, a batch, two leading axes; n = v, b = n = v; padding behind, in front, none, with any ids and loud
    logits; logits too large for exp; a single word; float64.
    """
    for leading, n, v, words, dtype in (
        ((), 4, 6, [1, 1, 1, 0], None),
        ((2,), 5, 7, [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], None),
        ((3,), 3, 3, [[1, 0, 0], [0, 1, 1], [1, 1, 1]], None),
        ((), 4, 4, [1, 1, 1, 1], None),
        ((2, 2), 3, 5, [[[1, 1, 1], [1, 0, 0]], [[1, 1, 0], [0, 0, 1]]], None),
        ((2,), 4, 6, [[1, 1, 1, 1], [0, 0, 1, 1]], torch.float64),
    ):
        mask = torch.tensor(words).bool()
        logits = 2 * torch.randn(*leading, n, v, generator=generator, dtype=dtype)
        targets = torch.randint(v, mask.shape, generator=generator)
        yield logits * torch.where(mask, 1, 3)[..., None], targets, mask
    logits = torch.tensor([[[1000.0, 0, 990, -800], [-200, 0, -50, -900]], [[-300, -450, -301, -303], [0, 1, 2, 3]]])
    yield logits, torch.tensor([[1, 2], [3, 0]]), torch.tensor([[True, True], [True, False]])
    yield torch.tensor([[[0.3, -1.2, 2.0]]]), torch.tensor([[1]]), torch.tensor([[True]])


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
)
def sequence_cross_entropy(logits, targets, mask):
    """Mean of -log of the probability that softmax gives each target: returns one number.

    logits (…, n, v); targets (…, n), token ids; mask (…, n), True for words, False for padding.
    The mean runs over all words of the batch alike; there is at least one. Logits may be large.
    """
    log_probabilities = torch.log_softmax(logits, dim=-1)  # (…, n, v)
    losses = -log_probabilities.gather(-1, targets[..., None])[..., 0]  # (…, n)
    return losses[mask].mean()


def word_losses(logits, targets, dim=-1):
    return -torch.log_softmax(logits, dim).gather(-1, targets[..., None])[..., 0]


def word_probabilities(logits, targets):
    return torch.softmax(logits, -1).gather(-1, targets[..., None])[..., 0]


def masked(losses, mask):
    """The mean over the words."""
    return losses[mask].mean()


UNDERFLOWS = " And a softmax may underflow to 0, whose log is -∞: torch.log_softmax."


def mistaken_loss(message):
    """Adds two mistakes to the catalogue: with torch.log_softmax, and with the logarithm of a softmax."""

    def add(loss):
        def at_once(logits, targets, mask):
            return loss(torch.log_softmax(logits, -1), targets, mask)

        def in_two_steps(logits, targets, mask):
            return loss(torch.softmax(logits, -1).log(), targets, mask)

        at_once.__name__, in_two_steps.__name__ = loss.__name__, f"{loss.__name__}_in_two_steps"
        sequence_cross_entropy.mistake(message)(at_once)
        sequence_cross_entropy.mistake(message + UNDERFLOWS)(in_two_steps)
        return loss

    return add


def mistaken_mean(message):
    """The same for a slip behind the losses of the words."""

    def add(mean):
        def loss(log_probabilities, targets, mask):
            return mean(-log_probabilities.gather(-1, targets[..., None])[..., 0], mask)

        loss.__name__ = mean.__name__
        mistaken_loss(message)(loss)
        return mean

    return add


@mistaken_mean("you add up the losses of the words. Divide by their number, or long texts look worse.")
def loss_summed(losses, mask):
    return losses[mask].sum()


@mistaken_mean("the mask is not used: padding counts as if it were words to be predicted.")
def loss_with_padding(losses, mask):
    return losses.mean()


@mistaken_mean(
    "the losses of padding are 0, but you divide by the number of all positions. Divide by the number of words."
)
def loss_divided_by_positions(losses, mask):
    return (losses * mask).mean()


@mistaken_mean("you divide by n, the length with padding. Divide by the number of words.")
def loss_divided_by_n(losses, mask):
    return losses[mask].sum() / mask.shape[-1]


@mistaken_mean(
    "you divide by the length of the first axis: positions in one sentence, sentences in a batch. Divide by the "
    "number of words."
)
def loss_divided_by_sentences(losses, mask):
    return losses[mask].sum() / len(mask)


@mistaken_mean(
    "you add up each sentence and average the sums: long sentences look worse. Divide by the number of words instead."
)
def loss_as_mean_of_sums(losses, mask):
    return (losses * mask).sum(-1).mean()


@mistaken_mean("you divide by the number of words, but add up padding, too. Its losses have to be 0, or left out.")
def loss_with_padding_divided_by_words(losses, mask):
    return losses.sum() / mask.sum()


@mistaken_mean(
    "you average each sentence, then the averages: a word of a short sentence counts for more. All words count alike."
)
def loss_as_mean_of_means(losses, mask):
    return ((losses * mask).sum(-1) / mask.sum(-1)).mean()


sequence_cross_entropy.mistakes("""
= masked(word_losses(logits, targets), ~mask)
    the sense is inverted: that is the loss of padding, NaN where there is none.
= masked(-logits.log().gather(-1, targets[..., None])[..., 0], mask)
    you take the logarithm of the logits. They are no probabilities, and many are negative: softmax comes first, as
    in torch.log_softmax.
= masked(-logits.gather(-1, targets[..., None])[..., 0], mask)
    the softmax is missing: that is the mean of the targets' logits, with a minus. A logit says nothing until it is
    compared with the others of its row.
""")


@mistaken_mean("that is the log-likelihood of all words. The loss is its negative, divided by their number.")
def loss_as_log_likelihood(losses, mask):
    return -losses[mask].sum()


sequence_cross_entropy.mistakes("""
= masked(word_losses(torch.softmax(logits, -1), targets), mask)
    the softmax comes twice: F.cross_entropy and log_softmax take logits as they are.
""")


@mistaken_mean("the sign: a logarithm of a probability is negative, a loss positive.")
def loss_without_minus(losses, mask):
    return -masked(losses, mask)


sequence_cross_entropy.mistakes("""
= masked(-word_probabilities(logits, targets).log2(), mask)
    softmax and logarithm one after the other, with log2: in bits, and infinite where a probability underflows to 0.
    torch.log_softmax does both at once, with the natural logarithm.
= masked(-word_probabilities(logits, targets).log(), mask)
    right, but for a softmax that underflows: where a word's probability is below what a float can hold, it is 0,
    and its logarithm -∞. torch.log_softmax does both at once, without the detour.
powers = logits.exp()
return masked(-(powers / powers.sum(-1, keepdim=True)).log().gather(-1, targets[..., None])[..., 0], mask)
    right, unless logits are large: exp(1000) is infinite, the sum of a row's powers too, and inf / inf is NaN.
    torch.log_softmax subtracts the maximum first; so does torch.logsumexp.
""")


def capped(text, floor):
    """Adds a mistake: the logarithm of a probability that is kept above `floor`."""

    def loss_capped(logits, targets, mask):
        p = word_probabilities(logits, targets)
        return masked(-(p + floor if "+" in text else p.clamp(min=floor)).log(), mask)

    loss_capped.__name__ = f"loss_capped_by_{text.format(floor)}"
    sequence_cross_entropy.mistake(
        f"{text.format(floor)} avoids -∞ and makes the loss wrong: no word costs more than {-math.log(floor):.1f}. "
        "torch.log_softmax needs no such help."
    )(loss_capped)


for floor in (1e-8, 1e-9, 1e-10, 1e-12):
    capped("log(p + {})", floor)

for floor in (1e-8, 1e-9, 1e-10):
    capped("a clamp at {}", floor)

sequence_cross_entropy.mistakes("""
= masked(word_probabilities(logits, targets), mask)
    that is the mean probability of the targets. The loss is the mean of -log of it.
= -masked(word_probabilities(logits, targets), mask)
    that is -p: the logarithm is missing. The loss is the mean of -log p.
= -masked(word_probabilities(logits, targets), mask).log()
    you average the probabilities and take the logarithm afterwards. Each word's own logarithm comes first, then the
    mean.
= masked(-torch.log_softmax(logits, -1).amax(-1), mask)
    you take the likeliest word of each position. What counts is the probability of the target, likely or not.
= masked(word_losses(logits, targets, dim=0), mask)
    the softmax runs over the first axis, positions or sentences. Each row, over the v words, sums to 1: dim=-1.
= masked(word_losses(logits, targets, dim=1), mask)
    right for one sentence, but in a batch dim=1 is not the vocabulary. Count from the end: dim=-1.
= masked(-torch.softmax(logits, 1).log().gather(-1, targets[..., None])[..., 0], mask)
    dim=1 is the vocabulary in one sentence only: dim=-1. And log of a softmax is infinite where it underflows:
    torch.log_softmax.
powers = logits.exp()
return masked(-(powers / powers.sum()).log().gather(-1, targets[..., None])[..., 0], mask)
    you divide by the sum over all positions: each row's powers have a sum of their own, over dim=-1. And exp(1000)
    is infinite: torch.log_softmax.
= masked(word_losses(logits, targets), mask).exp()
    that is the perplexity, exp of the loss. Return the loss itself.
= word_losses(logits * mask[..., None], targets).mean()
    you multiply the logits by the mask. Logits of 0 make a uniform distribution, and padding costs log v. Leave out
    the losses instead.
= -(word_probabilities(logits, targets) * mask).log().sum() / mask.sum()
    you set probabilities of padding to 0, and their logarithm is -∞. Mask the losses, after the logarithm.
hidden = logits.masked_fill(~mask[..., None], -math.inf)
return word_losses(hidden, targets).mean()
    you hide the logits of padding: a row of nothing but -∞ has no softmax, NaN. Leave out the losses of padding
    instead.
= masked(word_losses(logits[..., :-1, :], targets[..., 1:]), mask[..., 1:])
    you shift the targets by one. They are shifted already: the logits at a position belong to the target at the
    same one.
""")


@mistaken_loss(
    "that is the mean of -log p over all words of the vocabulary. Only the target's counts: pick it from each row."
)
def loss_over_vocabulary(log_probabilities, targets, mask):
    return -log_probabilities[mask].mean()


sequence_cross_entropy.mistakes("""
= masked(word_losses(logits, targets), targets != 0)
    you take id 0 for padding. It is a word here like any other: the mask says what is padding.
""")


@mistaken_loss(
    "each position is held against every target: indexed like this, torch picks whole columns. One number of each row "
    "is wanted: gather."
)
def loss_of_all_pairs(log_probabilities, targets, mask):
    return -log_probabilities[..., targets].mean()


@mistaken_loss(
    "indexed like this, torch picks whole columns: each word is held against every target. One number of each row is "
    "wanted: gather."
)
def loss_of_pairs_with_words(log_probabilities, targets, mask):
    return -log_probabilities[..., targets][mask].mean()


@mistaken_loss(
    "indexed like this, each word is held against every target: one number of each row is wanted, gather. And the "
    "minus is missing."
)
def loss_of_pairs_with_words_without_minus(log_probabilities, targets, mask):
    return log_probabilities[..., targets][mask].mean()


sequence_cross_entropy.mistakes("""
= masked(torch.nn.functional.cross_entropy(logits, targets, reduction="none"), mask)
    right for one sentence. In a batch, F.cross_entropy takes axis 1 for the classes, which are the last axis here.
    Make it (words, v) and (words,), by the mask as an index or by flatten.
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
        total -= torch.log_softmax(row, 0)[target].item()
        words += 1
return total / words

losses = F.cross_entropy(logits.movedim(-1, 1), targets, reduction="none")
return losses[mask].mean()
""")


# ---- perplexity


def draw_probabilities(generator):
    """Two words to count by hand; equal ones; a sure one; random ones; a single word; 400 of 1e-3; float64."""
    yield (torch.tensor([0.5, 0.125]),)
    yield (torch.full((5,), 0.2),)
    yield (torch.tensor([1.0, 0.1, 0.3]),)
    yield (torch.rand(7, generator=generator) * 0.9 + 0.05,)
    yield (torch.tensor([0.3]),)
    yield (torch.full((400,), 1e-3),)
    yield (torch.rand(6, generator=generator, dtype=torch.float64) * 0.9 + 0.05,)


@exercise(
    draws=draw_probabilities,
    hints=[
        "A model that chooses among 5 equally likely words has the perplexity 5. What does your formula give for five "
        "probabilities of 1/5?",
        "The loss of a word is the negative natural logarithm of its probability. The loss of a text is their mean.",
        "Three steps: logarithms, their mean with a minus, and what undoes a natural logarithm.",
    ],
    names={
        "one number a word: are they still to be averaged?": lambda probabilities: probabilities,
    },
)
def perplexity(probabilities):
    """Perplexity of n words that a model gave these probabilities (n,): returns one number."""
    return torch.exp(-torch.log(probabilities).mean())


perplexity.mistakes("""
= probabilities.prod() ** (-1 / len(probabilities))
    right for a few words. The product of many is too small for a float and becomes 0, and the result infinite. Add
    logarithms instead of multiplying.
= math.prod(probabilities.tolist()) ** (-1 / len(probabilities))
    right for a few words. The product of many is too small for a float and becomes 0, and that has no inverse. Add
    logarithms instead of multiplying.
= probabilities.prod()
    that is the likelihood of the text, the product. What is it for one word on average, and inverted?
= torch.exp(-torch.log(probabilities).sum())
    the sum of the losses instead of their mean, or the product inverted without its n-th root: a long text looks
    worse than a short one.
= torch.exp(torch.log(probabilities).mean())
    that is the geometric mean of the probabilities: the minus is missing. Perplexity is at least 1.
= -torch.exp(torch.log(probabilities).mean())
    the minus stands in front of exp. It belongs to the mean of the logarithms: a perplexity is at least 1.
= probabilities.prod() ** (1 / len(probabilities))
    that is the geometric mean of the probabilities, by way of their product, which becomes 0 for many words.
    Perplexity is its inverse, by way of logarithms.
= 1 / probabilities.mean()
    that is 1 / mean(p), or the logarithm is taken after the mean. First the logarithm of each, then the mean.
= (1 / probabilities).mean()
    that is the mean of 1 / p. The mean is taken of -log p, and exp comes last.
= -torch.log(probabilities).mean()
    that is the mean loss, -log p. Perplexity is exp of it.
= -torch.log2(probabilities).mean()
    that is the loss in bits, the mean of -log2 p. Perplexity is 2 to the power of it.
= 2 ** -torch.log(probabilities).mean()
    two bases are mixed: 2 to the power of a natural logarithm. To torch.log belongs torch.exp.
= torch.exp(-torch.log2(probabilities).mean())
    two bases are mixed: e to the power of a log2. To torch.log2 belongs 2 ** …, to torch.log torch.exp.
= torch.exp(-torch.log10(probabilities).mean())
    two bases are mixed: e to the power of a log10. To torch.exp belongs torch.log.
= torch.exp(-probabilities.mean())
    the logarithm is missing: exp of the negative mean of p. The mean is taken of -log p.
= torch.exp(-(probabilities * torch.log(probabilities)).sum())
    you weight each -log p by p, which makes an entropy. These are the probabilities of the words that came: each
    counts once.
= probabilities.prod() ** -1 / len(probabilities)
    `**` binds tighter than `/`: p ** -1 / n divides by n. And use logarithms: the product becomes 0.
= 1 / probabilities.prod() ** len(probabilities)
    the power is n where a mean divides by n: 1/n. And the product becomes 0: use logarithms.
""")


perplexity.right("""
2 ** -probabilities.log2().mean()

math.exp(-sum(math.log(p) for p in probabilities) / len(probabilities))

F.nll_loss(probabilities.log()[:, None], torch.zeros(len(probabilities), dtype=torch.long)).exp()

1 / (probabilities ** (1 / len(probabilities))).prod()

torch.exp(-probabilities.log().sum() / probabilities.shape[0])

torch.pow(10, (1 / probabilities).log10().mean())

np.exp(-np.mean(np.log(probabilities.numpy())))
""")


# ---- context_vector


def draw_weights_and_states(generator):
    """q ≠ k ≠ d, q = k, k = d, q = d, b = q = k = d; one sentence of one step; padding of weight 0; float64."""
    for b, q, k, d, dtype in (
        (2, 3, 4, 5, None),
        (2, 4, 4, 3, None),
        (3, 2, 4, 4, None),
        (2, 3, 5, 3, None),
        (3, 3, 3, 3, None),
        (1, 1, 4, 2, None),
        (2, 3, 3, 4, torch.float64),
    ):
        scores = 2 * torch.randn(b, q, k, generator=generator, dtype=dtype)
        scores[0, :, k - 1] = -math.inf
        yield torch.softmax(scores, -1), torch.randn(b, k, d, generator=generator, dtype=dtype)


@exercise(
    draws=draw_weights_and_states,
    hints=[
        "One decoder step has k weights, one for each encoder state. What does it make of the k states?",
        "Each state is multiplied by its weight, and the k products are added up. In einsum, weights are bqk and "
        "states bkd: which letter is missing after the arrow?",
        "The axis that both share, k, is the last of the weights and the second to last of the states: that is where a "
        "matrix product sums, with the batch in front.",
    ],
    names={
        "the products, (b, q, k, d), before k is summed": (
            lambda weights, states: torch.zeros(*weights.shape, states.shape[-1])
        ),
        "the weights: are the states still to be added up with them?": lambda weights, states: weights,
        "the states: is there one vector for each decoder step?": lambda weights, states: states,
        "(b, d), one vector a sentence: each decoder step has one of its own": lambda weights, states: states[:, 0],
        "(b, d, q): the last two axes are exchanged": lambda weights, states: torch.zeros(
            len(states), states.shape[-1], weights.shape[1]
        ),
        "(b, b, q, d): every sentence's weights meet every sentence's states": lambda weights, states: torch.zeros(
            len(states), len(states), weights.shape[1], states.shape[-1]
        ),
        "(q·b, d): torch.cat puts the steps one below the other, torch.stack gives them an axis": (
            lambda weights, states: torch.zeros(weights.shape[:2].numel(), states.shape[-1])
        ),
        "(b, q·d): torch.cat puts the steps side by side, torch.stack gives them an axis": lambda weights, states: (
            torch.zeros(len(states), weights.shape[1] * states.shape[-1])
        ),
        "(q, d): does each sentence keep its own?": lambda weights, states: torch.zeros(
            weights.shape[1], states.shape[-1]
        ),
    },
    question={
        "einsum": "weights has the axes bqk and states bkd: does each string before the arrow name as many, and does a "
        "letter stand for the same length in both?",
        r"\.T\b|\.mT|transpose|permute": "The axis k is the last of weights (b, q, k) and the second to last of states "
        "(b, k, d): they meet as they are, without a transpose.",
        "": "weights is (b, q, k), states (b, k, d): k is what they share. Which axes meet in this line?",
    },
)
def context_vector(weights, states):
    """Encoder states (b, k, d), summed by each step's weights (b, q, k): returns (b, q, d)."""
    return weights @ states


context_vector.mistakes("""
= weights.mT @ states
    the weights are transposed, which crashes unless q = k. Rows belong to decoder steps: they meet the states as
    they are.
= weights @ states.mT
    the states are transposed: their numbers, not their places, are weighted. It crashes unless k = d.
= states @ weights
    the states stand on the left, which crashes unless d = q: numbers of a state meet decoder steps. What is
    weighted stands on the right.
= states.mean(1, keepdim=True).expand(-1, weights.shape[1], -1)
    you average all states alike. Each has a weight of its own, another at every decoder step.
= weights @ states / states.shape[1]
    you divide by k. The weights sum to 1 already, so that the weighted sum is a mean: a sum over k, not a mean over
    it.
= weights @ states / math.sqrt(states.shape[-1])
    you divide by √d. What is scaled in notebook 02 are scores, before the softmax; these weights sum to 1 already.
= torch.softmax(weights, -1) @ states
    softmax once more: the weights have been through it, and a second one makes them nearly equal.
= torch.stack([rows[one.argmax(-1)] for one, rows in zip(weights, states)])
    you take the state with the largest weight. All of them enter, each by its weight.
= (weights[..., None] * states[:, None]).sum(1)
    you sum over the decoder steps, q. The sum runs over the encoder states, k.
= (weights[..., None] * states[:, None]).sum(-1)
    you sum over the numbers of a state, d. The sum runs over the encoder states, k.
= weights[:, :, -1:] * states[:, -1:]
    only the last encoder state is left: does a loop overwrite the sum instead of adding to it? Use +, from 0 on.
= (weights[:, -1:] @ states)[:, 0]
    you return the last decoder step's context only. In a loop, collect the steps: torch.stack, dim=1.
= (weights @ states).sum(1)
    the contexts of all decoder steps are added up. Each step keeps its own: q stays.
= (weights @ states).transpose(0, 1)
    the steps stand in front, (q, b, d): torch.stack puts its axis first. dim=1 puts it behind b.
= weights[0] @ states
    all sentences take the weights of the first. Each has weights of its own.
= weights @ states[0]
    all sentences take the states of the first. Each has states of its own.
= weights @ states, weights
    you return the weighted sum and the weights. Return the sum only.
""")


context_vector.right("""
torch.einsum("bqk,bkd->bqd", weights, states)

torch.bmm(weights, states)

(weights.unsqueeze(-1) * states.unsqueeze(1)).sum(dim=2)

context = torch.zeros(weights.shape[0], weights.shape[1], states.shape[2], dtype=states.dtype)
for i in range(weights.shape[0]):
    for j in range(weights.shape[1]):
        for n in range(states.shape[1]):
            context[i, j] += weights[i, j, n] * states[i, n]
return context

torch.stack([(step[:, :, None] * states).sum(1) for step in weights.unbind(1)], dim=1)

sum(weights[:, :, j, None] * states[:, None, j] for j in range(states.shape[1]))

(states.mT @ weights.mT).mT

return torch.stack(
    [torch.stack([catalogue()["weighted_sum"](w, s) for w in rows]) for rows, s in zip(weights, states)]
)
""")


# ---- bilinear_weights


def draw_states_and_masks(generator):
    """d_q ≠ d_k, d_q = d_k, b = k, b = k = d; one sentence; a single word in each; loud padding; words' scores far
    below 0; scores too large for exp in float64.
    """

    def randn(*shape, dtype=None):
        return torch.randn(*shape, generator=generator, dtype=dtype)

    for (b, k, d_q, d_k), rows in (
        ((2, 4, 3, 5), [[1, 1, 1, 0], [1, 1, 1, 1]]),
        ((3, 4, 2, 2), [[1, 1, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1]]),
        ((3, 3, 3, 3), [[1, 1, 0], [1, 0, 1], [1, 1, 1]]),
        ((1, 5, 4, 2), [[1, 1, 1, 0, 0]]),
        ((2, 1, 3, 4), [[1], [1]]),
        ((4, 4, 2, 3), [[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 0]]),
    ):
        yield randn(b, d_q), randn(b, k, d_k), randn(d_q, d_k), torch.tensor(rows).bool()
    query, keys, W_s = randn(2, 3), randn(2, 4, 3), randn(3, 3)
    projected = query @ W_s
    keys[:, 3] = 200 * projected / (projected**2).sum(-1, keepdim=True)  # a score of 200
    yield query, keys, W_s, torch.tensor([[1, 1, 1, 0], [1, 0, 1, 0]]).bool()
    query, keys, W_s = randn(2, 3), randn(2, 4, 5), randn(3, 5)
    projected = query @ W_s
    keys -= (300 * projected / (projected**2).sum(-1, keepdim=True))[:, None]  # every score 300 lower
    yield query, keys, W_s, torch.tensor([[1, 1, 0, 0], [1, 0, 1, 1]]).bool()
    query, keys, W_s = (randn(*shape, dtype=torch.float64) for shape in ((2, 3), (2, 4, 2), (3, 2)))
    projected = query @ W_s
    keys += (1000 * projected / (projected**2).sum(-1, keepdim=True))[:, None]  # every score 1000 higher
    yield query, keys, W_s, torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]).bool()


@exercise(
    draws=draw_states_and_masks,
    hints=[
        "What does W_s make of a decoder state, and what is its length then? With what can that be compared?",
        "query @ W_s is (b, d_k). For each sentence of its own, its dot product with each of the keys (k, d_k): in "
        "einsum, which letters stay after the arrow?",
        "The scores are (b, k). Padding gets the score -∞, where mask is False, and then comes the softmax over the "
        "keys.",
    ],
    names={
        "(b, b, k): every query meets the keys of every sentence. Does the batch broadcast?": (
            lambda query, keys, W_s, mask: torch.zeros(len(keys), *mask.shape)
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
        "einsum": "query has the axes bq, W_s qd, keys bkd: does each string before the arrow name as many, and does a "
        "letter stand for the same length in both?",
        r"keys\.T\b|keys\.t\(\)|permute|transpose|\.mT": "keys is (b, k, d_k): exchange its last two axes only, "
        "keys.mT, and the query needs an axis of length 1 for its place, (b, 1, d_k).",
        r"W_s\.(T|mT|t\(\))": "W_s is (d_q, d_k): the query, a row, stands on its left as it is.",
        "mask": "mask is (b, k): have the scores that shape, too?",
        "": "query is (b, d_q), W_s (d_q, d_k), keys (b, k, d_k): which axes meet in this line?",
    },
)
def bilinear_weights(query, keys, W_s, mask):
    """Weights of query (b, d_q) for the encoder states keys (b, k, d_k): returns (b, k).

    The score is bilinear, with W_s (d_q, d_k), and not scaled. The weight is 0 where mask (b, k)
    is False, for padding; each sentence has at least one word.
    """
    scores = torch.einsum("bd,bkd->bk", query @ W_s, keys)
    return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)


def bilinear_scores(query, keys, W_s):
    return (query[:, None] @ W_s @ keys.mT)[:, 0]  # (b, k)


def hidden_softmax(scores, mask, dim=-1):
    return torch.softmax(scores.masked_fill(~mask, -math.inf), dim)


bilinear_weights.mistakes("""
= torch.softmax(bilinear_scores(query, keys, W_s), -1)
    the mask is not used: padding gets weight, and takes it from the words.
= torch.softmax(bilinear_scores(query, keys, W_s), -1) * mask
    you mask after the softmax: the weights that are left no longer sum to 1. Mask the scores, before it.
weights = torch.softmax(bilinear_scores(query, keys, W_s), -1) * mask
return weights / weights.sum(-1, keepdim=True)
    you mask powers or weights, and divide by the sum of the rest. Where padding has a score far above all words,
    that is 0/0 = NaN. Mask the scores, before the maximum and the softmax.
weights = torch.softmax(bilinear_scores(query, keys, W_s), -1) * mask
return weights / (weights.sum(-1, keepdim=True) + 1e-9)
    right, unless padding has a score far above all words: it takes all the weight, and the small number below the
    line leaves 0 in every place. Mask the scores, before the softmax.
= hidden_softmax(bilinear_scores(query, keys, W_s), ~mask)
    the sense is inverted: you hide the words. True = may attend, so -∞ goes where mask is False.
= torch.softmax(bilinear_scores(query, keys, W_s) * mask, -1)
    you set scores, or states, of padding to 0. exp(0) is 1: it gets a weight all the same. A score of -∞ gets none.
= torch.softmax(bilinear_scores(query, keys, W_s) + (~mask) * -math.inf, -1)
    0 · ∞ is NaN: multiplied by -∞, the mask ruins the words' scores. masked_fill(~mask, …).
powers = bilinear_scores(query, keys, W_s).exp() * mask
return powers / powers.sum(-1, keepdim=True)
    you mask the powers and divide by their sum. exp(200) is infinite already in float32: mask the scores, and let
    torch.softmax subtract the maximum.
powers = bilinear_scores(query, keys, W_s).masked_fill(~mask, -math.inf).exp()
return powers / powers.sum(-1, keepdim=True)
    the mask is right, but exp(1000) is infinite, and inf / inf is NaN. torch.softmax subtracts the maximum first.
= hidden_softmax(bilinear_scores(query, keys, W_s), mask, 0)
    the softmax runs over the batch. Each sentence has weights of its own: over the keys, dim=-1.
= hidden_softmax(bilinear_scores(query, keys, W_s.T), mask)
    W_s is transposed, which crashes unless d_q = d_k. It is (d_q, d_k): the query meets its rows, the keys its
    columns.
= hidden_softmax((query[:, None] @ keys.mT)[:, 0], mask)
    that is the dot-product score: W_s is not used, and it crashes unless d_q = d_k. W_s stands between query and
    keys.
= hidden_softmax(bilinear_scores(query, keys, W_s) / math.sqrt(keys.shape[-1]), mask)
    you divide by √d_k. The bilinear score is not scaled: W_s learns the scale.
= hidden_softmax(bilinear_scores(query, keys, W_s) / math.sqrt(query.shape[-1]), mask)
    you divide by √d_q. The bilinear score is not scaled: W_s learns the scale.
= bilinear_scores(query, keys, W_s)
    you return the scores. The softmax over the keys, with padding hidden, is still to come.
= bilinear_scores(query, keys, W_s).masked_fill(~mask, -math.inf)
    you return the masked scores. The softmax over the keys is still to come.
= hidden_softmax(query @ W_s @ keys.mT, mask)
    every query meets the keys of every sentence, (b, b, k): (b, d_k) times (b, d_k, k) broadcasts. With an axis for
    its place, query[:, None], each meets its own.
= torch.softmax((query[:, None] @ W_s @ keys.mT).expand(-1, len(mask), -1).masked_fill(~mask, -math.inf), -1)
    the axis of the single query is left over when the mask comes: (b, 1, k) and (b, k) make (b, b, k). Take the
    axis away before, [:, 0].
= bilinear_weights(query, keys, W_s, mask).squeeze()
    right, except for one sentence, or one word in each: squeeze() without a number takes away every axis of length
    1. Say which: squeeze(1) or [:, 0].
= hidden_softmax((query[:, None] @ W_s @ keys.mT).squeeze(), mask)
    right, except for sentences of a single word: squeeze() without a number takes away every axis of length 1, that
    of the keys, too. Say which: squeeze(1) or [:, 0].
""")


@bilinear_weights.mistake("you return the context vector. Here the weights are asked for; the next exercise uses them.")
def bilinear_context(query, keys, W_s, mask):
    return (bilinear_weights(query, keys, W_s, mask)[:, None] @ keys)[:, 0]


bilinear_weights.mistakes("""
= bilinear_weights(query, keys, W_s, mask), bilinear_context(query, keys, W_s, mask)
    you return weights and context. Here return the weights only.
= torch.softmax(bilinear_scores(query, keys, W_s).masked_fill(~mask, -10.0), -1)
    the score of padding is -10: its weight is small, not 0. Only -∞ hides for certain.
= torch.softmax(bilinear_scores(query, keys, W_s).masked_fill(~mask, -100.0), -1)
    right, unless the words' scores lie below your number for padding, which then takes all the weight. Only -∞
    hides for certain.
""")


bilinear_weights.right("""
scores = torch.einsum("bq,qd,bkd->bk", query, W_s, keys)
return torch.where(mask, scores, -torch.inf).softmax(-1)

scores = torch.bmm(keys, (query @ W_s).unsqueeze(2)).squeeze(2)
return torch.softmax(scores.masked_fill(mask == 0, -1e9), dim=1)

scores = (query.unsqueeze(1) * (keys @ W_s.T)).sum(-1)
return torch.softmax(scores + torch.where(mask, 0.0, -torch.inf), dim=-1)

b, k, _ = keys.shape
repeated = query[:, None].expand(-1, k, -1)
scores = F.bilinear(repeated.reshape(b * k, -1), keys.reshape(b * k, -1), W_s[None]).reshape(b, k)
return torch.softmax(scores.masked_fill(~mask, -math.inf), -1)

rows = []
for q, states, real in zip(query, keys, mask):
    scores = torch.stack([q @ W_s @ state for state in states])
    scores[~real] = -torch.inf
    rows.append(torch.softmax(scores, 0))
return torch.stack(rows)

identity = torch.eye(keys.shape[1], dtype=keys.dtype).expand(len(keys), -1, -1)
projected = (query @ W_s)[:, None]
return F.scaled_dot_product_attention(projected, keys, identity, attn_mask=mask[:, None], scale=1.0)[:, 0]

scores = torch.matmul(keys, torch.matmul(query, W_s)[..., None])[..., 0]
return catalogue()["masked_softmax"](scores, mask)

scores = (query[:, None] @ W_s @ keys.transpose(1, 2)).squeeze(1).masked_fill(~mask, -math.inf)
powers = (scores - scores.max(dim=-1, keepdim=True).values).exp()
return powers / powers.sum(-1, keepdim=True)
""")


# ---- alignment_error_rate


def draw_alignments(generator):
    """One pair to count by hand; several of different lengths; all right; no link in one sentence; sure = possible; no
    sure link; a random half; nothing at all."""
    yield [{(0, 0), (1, 2), (2, 2)}], [{(0, 0), (2, 1)}], [{(0, 0), (2, 1), (2, 2), (3, 1)}]
    yield (
        [{(0, 1), (1, 0)}, {(0, 0), (1, 1), (2, 3), (3, 2), (4, 5)}],
        [{(0, 1), (1, 2)}, {(0, 0), (2, 3), (3, 2)}],
        [{(0, 1), (1, 2), (2, 2)}, {(0, 0), (2, 3), (3, 2), (1, 1), (4, 4)}],
    )
    yield [{(0, 0), (1, 1), (2, 1)}], [{(0, 0), (1, 1)}], [{(0, 0), (1, 1), (2, 1)}]
    yield (
        [{(0, 2), (1, 1)}, set(), {(2, 0), (1, 2), (0, 1), (3, 3)}],
        [{(0, 2), (1, 1)}, {(0, 0), (1, 0)}, {(2, 0), (0, 1)}],
        [{(0, 2), (1, 1), (1, 2)}, {(0, 0), (1, 0), (1, 1)}, {(2, 0), (0, 1), (1, 2), (2, 1)}],
    )
    yield [{(0, 0), (1, 2)}, {(1, 0)}], [{(0, 0), (2, 1)}, {(1, 0)}], [{(0, 0), (2, 1)}, {(1, 0)}]
    yield [{(0, 1), (1, 0)}, {(0, 0)}], [{(1, 0), (2, 2)}, set()], [{(1, 0), (2, 2)}, {(0, 0), (0, 1)}]
    places = [(target, source) for target in range(5) for source in range(6)]
    links, sure, rest = (
        [{place for place in places if torch.rand((), generator=generator) < share} for _ in range(4)]
        for share in (0.25, 0.2, 0.2)
    )
    yield links, sure, [one | other for one, other in zip(sure, rest)]
    yield [set(), set()], [set(), set()], [set(), set()]


@exercise(
    draws=draw_alignments,
    hints=[
        "Sets know what they have in common: a & b. Which three sets of one sentence are compared, and in which pairs?",
        "A link that is sure and found counts twice above the line, one that is merely possible and found once. Below "
        "it stand the numbers of links and of sure links.",
        "Go through the three lists together, with zip. Add up what stands above the line and what stands below over "
        "all sentences, divide once at the end, and subtract from 1. If nothing stands below the line, the rate is "
        "0.0.",
    ],
    names={
        "one number a sentence: add up over all of them what stands above and below the line, then divide once": (
            lambda links, sure, possible: torch.zeros(len(links))
        ),
    },
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


def mistaken_rate(message, unguarded=False):
    """Adds the rate to the catalogue with the 0.0 for no links at all; if `unguarded`, also as it is written."""

    def add(rate):
        def guarded(links, sure, possible):
            return rate(links, sure, possible) if any(links) or any(sure) else 0.0

        guarded.__name__ = f"{rate.__name__}_guarded"
        alignment_error_rate.mistake(message)(guarded)
        if unguarded:
            alignment_error_rate.mistake(f"{message} And without any links it divides by 0.")(rate)
        return rate

    return add


def number(one, other=None):
    """Of links, in all sentences; with another list, of those that both have."""
    return sum(map(len, one)) if other is None else sum(len(a & b) for a, b in zip(one, other))


def mean_over_sentences(rate, *lists):
    rates = [rate(*([one] for one in sentence)) for sentence in zip(*lists)]
    return sum(rates) / len(rates)


@alignment_error_rate.mistake(
    "right, except where there are no links at all: 0 divided by 0. Catch it: the rate is 0.0 then."
)
def rate_without_links(links, sure, possible):
    return 1 - (number(links, sure) + number(links, possible)) / (number(links) + number(sure))


alignment_error_rate.mistakes("""
= rate_without_links(links, sure, possible) if any(links) or any(sure) else 1.0
    right, except where there are no links at all: nothing is wrong there, the rate is 0.0.
= 1 - (number(links, sure) + number(links, possible)) / (number(links) + number(sure) + 1e-9)
    the small number below the line makes the rate a little wrong, and 1 without any links.
kept = [i for i, a in enumerate(links) if a]
return alignment_error_rate(*([lists[i] for i in kept] for lists in (links, sure, possible)))
    you skip sentences without links. Their sure links were missed, and have to count below the line.
""")


@mistaken_rate(
    "that is the share of what is right: the 1 - in front is missing. All right is the error 0.",
    unguarded=True,
)
def rate_as_accuracy(links, sure, possible):
    return 1 - rate_without_links(links, sure, possible)


@mistaken_rate(
    "you average the rates of the sentences: a link of a short one counts for more. Add the numbers up over all, then "
    "divide once.",
    unguarded=True,
)
def rate_as_mean(links, sure, possible):
    return mean_over_sentences(rate_without_links, links, sure, possible)


@mistaken_rate("possible links are not used, sure ones count twice. A∩S is counted, and so is A∩P.")
def rate_of_sure_only(links, sure, possible):
    return 1 - 2 * number(links, sure) / (number(links) + number(sure))


@mistaken_rate("sure links are not counted where they are found: it is |A∩S| + |A∩P|, not twice |A∩P|.")
def rate_of_possible_twice(links, sure, possible):
    return 1 - 2 * number(links, possible) / (number(links) + number(sure))


@mistaken_rate("sure links have no say: that compares A with P alone. |A∩S| above the line and |S| below belong to it.")
def rate_of_possible_only(links, sure, possible):
    return 1 - 2 * number(links, possible) / (number(links) + number(possible))


@mistaken_rate(
    "below the line you have |P|, or S and P are exchanged. It is |A| + |S|: nobody has to find what is optional.",
    unguarded=True,
)
def rate_with_sure_and_possible_exchanged(links, sure, possible):
    return 1 - (number(links, sure) + number(links, possible)) / (number(links) + number(possible))


@mistaken_rate("below the line |S| is missing: links that were not found cost nothing. It is |A| + |S|.")
def rate_divided_by_links(links, sure, possible):
    return 1 - (number(links, sure) + number(links, possible)) / number(links)


@mistaken_rate("below the line |A| is missing: superfluous links cost nothing. It is |A| + |S|.")
def rate_divided_by_sure(links, sure, possible):
    return 1 - (number(links, sure) + number(links, possible)) / number(sure)


alignment_error_rate.mistakes("""
= 1 - (number(links, sure) + number(links, possible)) / (len(links) + len(sure))
    below the line you count sentences: len of a list of sets. Add up the lengths of the sets, the numbers of links.
""")


@mistaken_rate("below the line stand all three numbers. It is |A| + |S|, without |P|.")
def rate_divided_by_all(links, sure, possible):
    total = number(links) + number(sure) + number(possible)
    return 1 - (number(links, sure) + number(links, possible)) / total


@mistaken_rate("below the line stands the union A∪S, where common links count once. |A| + |S| counts them twice.")
def rate_divided_by_union(links, sure, possible):
    union = number(links) + number(sure) - number(links, sure)
    return 1 - (number(links, sure) + number(links, possible)) / union


@mistaken_rate(
    "above the line |A∩P| is missing: a link that is possible is right, too.",
    unguarded=True,
)
def rate_without_possible_found(links, sure, possible):
    return 1 - number(links, sure) / (number(links) + number(sure))


@mistaken_rate(
    "above the line |A∩S| is missing, or P is taken without S. Sure links are possible, too, and count in both terms.",
    unguarded=True,
)
def rate_without_sure_found(links, sure, possible):
    return 1 - number(links, possible) / (number(links) + number(sure))


@mistaken_rate("that is 1 - precision: which of the links are possible. Those that were not found have no say.")
def rate_as_precision(links, sure, possible):
    return 1 - number(links, possible) / number(links)


@mistaken_rate("that is 1 - recall: which of the sure links were found. Superfluous links have no say.")
def rate_as_recall(links, sure, possible):
    return 1 - number(links, sure) / number(sure)


@mistaken_rate("that is 1 - F1. Precision and recall count different sets here, S and P: the rate has its own formula.")
def rate_as_f1(links, sure, possible):
    precision, recall = number(links, possible) / number(links), number(links, sure) / number(sure)
    return 1 - 2 * precision * recall / (precision + recall)


@mistaken_rate("you average precision and recall. Add the numbers above the line and those below, then divide once.")
def rate_as_mean_of_precision_and_recall(links, sure, possible):
    return 1 - (number(links, possible) / number(links) + number(links, sure) / number(sure)) / 2


@mistaken_rate("you take unions, |. What A has in common with S and P is their intersection, &.")
def rate_of_unions(links, sure, possible):
    found = sum(len(a | s) + len(a | p) for a, s, p in zip(links, sure, possible))
    return 1 - found / (number(links) + number(sure))


@mistaken_rate("`and` between sets gives the second one, unless the first is empty. What both share is &.")
def rate_of_and(links, sure, possible):
    found = sum(len(a and s) + len(a and p) for a, s, p in zip(links, sure, possible))
    return 1 - found / (number(links) + number(sure))


@mistaken_rate(
    "`/` binds tighter than `+`: both numbers above the line need brackets around them.",
    unguarded=True,
)
def rate_without_brackets_above(links, sure, possible):
    return 1 - (number(links, sure) + number(links, possible) / (number(links) + number(sure)))


@mistaken_rate("without brackets, only the first number is subtracted from 1. Both above the line need brackets.")
def rate_without_any_brackets_above(links, sure, possible):
    return 1 - number(links, sure) + number(links, possible) / (number(links) + number(sure))


@mistaken_rate(
    "`/` binds tighter than `+`: both numbers below the line need brackets around them.",
    unguarded=True,
)
def rate_without_brackets_below(links, sure, possible):
    return 1 - (number(links, sure) + number(links, possible)) / number(links) + number(sure)


@mistaken_rate(
    "you throw the links of all sentences into one set: the same pair of positions in two sentences counts once. "
    "Compare sentence by sentence."
)
def rate_of_one_set(links, sure, possible):
    return rate_without_links(*([set().union(*lists)] for lists in (links, sure, possible)))


@mistaken_rate("you count the first sentence only. Go through all of them, with zip.")
def rate_of_first_sentence(links, sure, possible):
    return rate_without_links(links[:1], sure[:1], possible[:1])


@mistaken_rate("you count the last sentence only: does a loop overwrite the numbers instead of adding to them?")
def rate_of_last_sentence(links, sure, possible):
    return rate_without_links(links[-1:], sure[-1:], possible[-1:])


@mistaken_rate(
    "you compare the sentences with each other, the sets of one list with all of another. Pair them up: zip."
)
def rate_of_all_pairs_of_sentences(links, sure, possible):
    found = sum(len(a & s) for a in links for s in sure) + sum(len(a & p) for a in links for p in possible)
    return 1 - found / (number(links) + number(sure))


alignment_error_rate.right("""
found = total = 0
for i in range(len(links)):
    for link in links[i]:
        found += (link in sure[i]) + (link in possible[i])
    total += len(links[i]) + len(sure[i])
return 0 if total == 0 else 1.0 - found / total

sure_found = sum(len(a.intersection(s)) for a, s in zip(links, sure))
found = sum(len(a.intersection(p)) for a, p in zip(links, possible))
below = sum(map(len, links)) + sum(map(len, sure))
if not below:
    return 0.0
return (below - sure_found - found) / below

n, m = sum(map(len, links)), sum(map(len, sure))
precision = sum(len(a & p) for a, p in zip(links, possible)) / max(n, 1)
recall = sum(len(a & s) for a, s in zip(links, sure)) / max(m, 1)
return 1 - (n * precision + m * recall) / (n + m) if n + m else 0.0

a, s, p = ({(i, *link) for i, one in enumerate(lists) for link in one} for lists in (links, sure, possible))
return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s)) if a or s else 0.0

counts = torch.tensor([[len(a & s), len(a & p), len(a), len(s)] for a, s, p in zip(links, sure, possible)])
a_s, a_p, a, s = counts.sum(0).tolist()
try:
    return 1 - (a_s + a_p) / (a + s)
except ZeroDivisionError:
    return 0.0

superfluous = sum(len(a - p) for a, p in zip(links, possible))
missed = sum(len(s.difference(a)) for a, s in zip(links, sure))
return (superfluous + missed) / max(1, sum(len(a) + len(s) for a, s in zip(links, sure)))
""")
