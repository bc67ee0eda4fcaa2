"""Exercises of the notebook on recurrent networks: an Elman step, cross-entropy, perplexity and a step of a GRU."""

import torch

from ...judge.exercise import exercise


def draw_inputs_and_states(generator):
    """One vector, a batch, two leading axes; d_in = d_hidden, b = d_in = d_hidden; the first state, 0; float64."""
    for leading, d_in, d_hidden, dtype in (
        ((), 3, 4, None),
        ((), 3, 3, None),
        ((5,), 4, 2, None),
        ((3,), 3, 3, None),
        ((3, 4), 2, 5, None),
        ((2,), 3, 3, torch.float64),
    ):
        x, state = (torch.randn(*leading, d, generator=generator, dtype=dtype) for d in (d_in, d_hidden))
        W, U = (torch.randn(d, d_hidden, generator=generator, dtype=dtype) for d in (d_in, d_hidden))
        yield x, state.tanh(), W, U, torch.randn(d_hidden, generator=generator, dtype=dtype)
    W, U = torch.randn(2, 3, generator=generator), torch.randn(3, 3, generator=generator)
    yield torch.randn(4, 2, generator=generator), torch.zeros(4, 3), W, U, torch.randn(3, generator=generator)


def edges_of_elman_steps(generator):
    x, state, bias = torch.tensor([[1.0, -1.0]]), torch.zeros(1, 2), torch.zeros(2)
    W = 200 * torch.eye(2)
    yield "sums of 200 and -200 (exp(200) is infinite in float32)", (x, state, W, torch.eye(2), bias)
    x, state = torch.randn(66, 70, generator=generator), torch.rand(66, 67, generator=generator)
    W, U = (torch.randn(width, 67, generator=generator) / 8 for width in (70, 67))
    yield "66 vectors of 70 numbers", (x, state, W, U, torch.randn(67, generator=generator))


@exercise(
    draws=draw_inputs_and_states,
    edges=edges_of_elman_steps,
    hints=[
        "Two things go into the new state: what is read now, and what is remembered. Which matrix belongs to which?",
        "Vectors are rows, so each stands on the left of its matrix. Both products are (…, d_hidden): what joins them?",
        "Add both products and the bias first; the tanh comes last, once, around the whole sum.",
    ],
    intermediates={
        "x: is it projected by its matrix?": lambda x, state, W, U, bias: x,
        "x and state side by side: is the product with the matrices still to come?": (
            lambda x, state, W, U, bias: torch.cat([x, state], -1)
        ),
        "the products of the state with U before they are added up": lambda x, state, W, U, bias: state[..., None] * U,
        "the products of the input with W before they are added up": lambda x, state, W, U, bias: x[..., None] * W,
        "W": lambda x, state, W, U, bias: W,
    },
    question={
        r"cat\(|stack\(": "Side by side, dim=-1, x and state have d_in + d_hidden numbers. The matrices then stand one "
        "below the other, dim=0, in the same order.",
        r"\.T\b|\.mT\b|\.t\(\)|\b[WU] @|(matmul|mm|mv)\([WU]\b": "Vectors are rows here: they stand on the left of "
        "their matrices, W (d_in, d_hidden) and U (d_hidden, d_hidden), and nothing is transposed.",
        "": "x is (…, d_in), W (d_in, d_hidden), state (…, d_hidden), U (d_hidden, d_hidden): which axes meet in this "
        "line?",
    },
    trained=True,
)
def elman_step(x, state, W, U, bias):
    """One step of an Elman RNN: returns the new state (…, d_hidden).

    Input x (…, d_in), old state (…, d_hidden); W (d_in, d_hidden), U (d_hidden, d_hidden),
    bias (d_hidden,). The non-linear function is tanh.
    """
    return torch.tanh(x @ W + state @ U + bias)


def draw_logits_and_targets(generator):
    """One sentence, batches of two and of one, two leading axes; n = v, b = n = v; padding behind, in front, none, with
    any ids and loud logits; sentences of a single word; logits too large for exp; a word that is sure; float64."""
    for leading, n, v, words, dtype in (
        ((), 4, 6, [1, 1, 1, 0], None),
        ((2,), 5, 7, [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], None),
        ((3,), 3, 3, [[1, 0, 0], [0, 1, 1], [1, 1, 1]], None),
        ((1,), 4, 4, [[1, 1, 1, 1]], None),
        ((2, 3), 4, 5, [[[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0]], [[1, 1, 1, 0], [0, 0, 1, 1], [0, 1, 1, 1]]], None),
        ((2,), 4, 6, [[1, 1, 1, 1], [0, 0, 1, 1]], torch.float64),
        ((3,), 1, 4, [[1], [1], [1]], None),
    ):
        mask = torch.tensor(words).bool()
        logits = 2 * torch.randn(*leading, n, v, generator=generator, dtype=dtype)
        targets = torch.randint(v, mask.shape, generator=generator)
        yield logits * torch.where(mask, 1, 3)[..., None], targets, mask
    logits = torch.tensor([[[1000.0, 0, 990, -800], [-200, 0, -50, -900]], [[-300, -450, -301, -303], [0, 1, 2, 3]]])
    yield logits, torch.tensor([[1, 2], [3, 0]]), torch.tensor([[True, True], [True, False]])
    sure = torch.randn(3, 4, generator=generator).double()
    sure[1, 2] = 90.0
    yield sure, torch.tensor([0, 2, 3]), torch.tensor([True, True, True])


def edges_of_cross_entropy(generator):
    logits, targets = torch.randn(2, 3, 4, generator=generator), torch.tensor([[1, 0, 2], [3, 3, 0]])
    yield (
        "a sentence that is all padding, beside another",
        (logits, targets, torch.tensor([[1, 1, 1], [0, 0, 0]]).bool()),
    )
    logits, targets = torch.randn(70, 66, generator=generator), torch.randint(66, (70,), generator=generator)
    yield "70 positions, and 66 words to choose from", (logits, targets, torch.rand(70, generator=generator) < 0.8)
    logits, targets = torch.randn(66, 2, 3, generator=generator), torch.randint(3, (66, 2), generator=generator)
    yield "66 sentences", (logits, targets, torch.rand(66, 2, generator=generator) < 0.8)


@exercise(
    draws=draw_logits_and_targets,
    edges=edges_of_cross_entropy,
    hints=[
        "The loss of one word is the negative logarithm of one probability. Which of the v probabilities of its row?",
        "torch.log_softmax makes logarithms of probabilities of a row of logits, over the last axis. gather picks one "
        "of each row, if the ids have an axis of length 1 at the end: targets[..., None].",
        "What remains is a loss for each position, (…, n). Only those where mask is True are added up, and their "
        "number divides the sum.",
    ],
    intermediates={
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

    logits (…, n, v); targets (…, n), token ids; mask (…, n), True for words, False for padding, which is left out.
    The mean runs over all words of the batch alike; there is at least one. Logits are finite, and may be large.
    """
    log_probabilities = torch.log_softmax(logits, dim=-1)  # (…, n, v)
    losses = -log_probabilities.gather(-1, targets[..., None])[..., 0]  # (…, n)
    return losses[mask].mean()


def draw_probabilities(generator):
    """Two words to count by hand; equal ones; a sure one; random ones; a single word; 400 of 1e-3; float64."""
    for fixed in ([0.5, 0.125], [0.2] * 5, [1.0, 0.1, 0.3], [0.3], [1e-3] * 400):
        yield (torch.tensor(fixed),)
    for n, dtype in ((7, torch.float32), (6, torch.float64)):
        yield (torch.rand(n, generator=generator, dtype=dtype) * 0.9 + 0.05,)


def edges_of_perplexity(generator):
    yield "a probability of 1e-12", (torch.tensor([0.5, 1e-12, 0.25]),)
    yield "a probability of 1e-30", (torch.tensor([1e-30, 0.5]),)


@exercise(
    draws=draw_probabilities,
    edges=edges_of_perplexity,
    hints=[
        "Among 5 equally likely words the perplexity is 5. What does your formula give for five times 1/5?",
        "The loss of a word is the negative natural logarithm of its probability. The loss of a text is their mean.",
        "Three steps: logarithms, their mean with a minus, and what undoes a natural logarithm.",
    ],
    intermediates={"one number a word: are they still to be averaged?": lambda probabilities: probabilities},
    minutes=4,
)
def perplexity(probabilities):
    """Perplexity of n words that a model gave these probabilities (n,), all above 0: returns one number."""
    return torch.exp(-torch.log(probabilities).mean())


def draw_gated_steps(generator):
    """One vector, a batch, two leading axes; d_in = d_hidden, b = d_in = d_hidden; the first state, 0; gates nearly
    shut and nearly open; float64."""
    for leading, d_in, d_hidden, loud, dtype in (
        ((), 3, 4, 1, None),
        ((), 3, 3, 1, None),
        ((5,), 4, 2, 1, None),
        ((3,), 3, 3, 1, None),
        ((3, 4), 2, 5, 3, None),
        ((2,), 4, 3, 1, torch.float64),
        ((4,), 2, 3, 0, None),
    ):
        x, state = (torch.randn(*leading, d, generator=generator, dtype=dtype) for d in (d_in, d_hidden))
        sizes = 3 * [(d_in, d_hidden), (d_hidden, d_hidden)]
        matrices = [torch.randn(size, generator=generator, dtype=dtype) for size in sizes]
        yield x * max(loud, 1), (loud * state).tanh(), *matrices


def edges_of_gru_steps(generator):
    x, state, matrices = torch.tensor([[1.0, -1.0]]), torch.tensor([[0.5, -0.3]]), torch.eye(2).repeat(6, 1, 1)
    yield "sums of 200 and -200 (exp(200) is infinite in float32)", (x, state, *(200 * matrices))
    x, state = torch.randn(66, 70, generator=generator), torch.rand(66, 67, generator=generator)
    sizes = 3 * (70, 67)
    matrices = (torch.randn(width, 67, generator=generator) / 8 for width in sizes)
    yield "66 vectors of 70 numbers", (x, state, *matrices)


@exercise(
    draws=draw_gated_steps,
    edges=edges_of_gru_steps,
    hints=[
        "Four lines, one for each equation. Begin with the gates: which two things does each of them read?",
        "A gate lies between 0 and 1: torch.sigmoid. The proposal lies between -1 and 1, like the state: torch.tanh. "
        "@ is the matrix product, * multiplies entry by entry.",
        "r multiplies what comes out of state @ U. At the end, z says how much of the old state stays, and 1 - z how "
        "much of the proposal comes in.",
    ],
    intermediates={
        "the gate z: the new state is still to come": lambda x, s, W_z, U_z, W_r, U_r, W, U: torch.sigmoid(
            x @ W_z + s @ U_z
        ),
        "the gate r: the new state is still to come": lambda x, s, W_z, U_z, W_r, U_r, W, U: torch.sigmoid(
            x @ W_r + s @ U_r
        ),
        "the old state: nothing was written": lambda x, s, W_z, U_z, W_r, U_r, W, U: s,
        "x: is it projected?": lambda x, s, W_z, U_z, W_r, U_r, W, U: x,
    },
    question={
        r"\b[WU](_[zr])? @": "Vectors are rows here: x and the state stand on the left of their matrices.",
        r"[zr] @|@ (state|proposal)": "Gates multiply entry by entry: *, not @.",
        "": "x is (…, d_in) and meets W_z, W_r, W; the state is (…, d_hidden) and meets U_z, U_r, U. Which axes meet in "
        "this line?",
    },
    level=2,
    minutes=8,
)
def gru_step(x, state, W_z, U_z, W_r, U_r, W, U):
    """One step of a GRU without biases: returns the new state (…, d_hidden).

    Input x (…, d_in), old state (…, d_hidden); W_z, W_r, W (d_in, d_hidden), U_z, U_r, U (d_hidden, d_hidden).
    """
    z = torch.sigmoid(x @ W_z + state @ U_z)  # how much of the old state stays
    r = torch.sigmoid(x @ W_r + state @ U_r)  # how much of it the proposal reads
    proposal = torch.tanh(x @ W + r * (state @ U))
    return (1 - z) * proposal + z * state
