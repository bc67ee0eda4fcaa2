"""Exercises of the notebook on recurrent networks: steps of an Elman network and of a GRU, perplexity, a decoder, two
lists with one note, a note by hand, and the context of an encoder that reads in both directions."""

import torch
from torch import nn

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
        "Two things go into the new state: the new input x and the old state. Which matrix belongs to which?",
        "Vectors are rows, so each is on the left of its matrix. Both products are (…, d_hidden). How are they combined?",
        "Add both products and the bias first. Then apply tanh once, to the whole sum.",
    ],
    intermediates={
        "x: did you multiply it by W?": lambda x, state, W, U, bias: x,
        "x and state side by side: did you multiply them by the matrices?": (
            lambda x, state, W, U, bias: torch.cat([x, state], -1)
        ),
        "the products of state and U before they are added up": lambda x, state, W, U, bias: state[..., None] * U,
        "the products of x and W before they are added up": lambda x, state, W, U, bias: x[..., None] * W,
        "W": lambda x, state, W, U, bias: W,
    },
    question={
        r"cat\(|stack\(": "Side by side (dim=-1), x and state have d_in + d_hidden numbers. The matrices should then be "
        "one below the other (dim=0), in the same order.",
        r"\.T\b|\.mT\b|\.t\(\)|\b[WU] @|(matmul|mm|mv)\([WU]\b": "Vectors are rows here: they should be on the left "
        "of their matrices, W (d_in, d_hidden) and U (d_hidden, d_hidden), and nothing should be transposed.",
        "": "x is (…, d_in), W (d_in, d_hidden), state (…, d_hidden), U (d_hidden, d_hidden): which axes meet in this "
        "line?",
    },
    trained=True,
)
def elman_step(x, state, W, U, bias):
    """One step of an Elman RNN: returns the new state (…, d_hidden).

    Input x (…, d_in), old state (…, d_hidden); W (d_in, d_hidden), U (d_hidden, d_hidden),
    bias (d_hidden,). The activation function is tanh.
    """
    return torch.tanh(x @ W + state @ U + bias)


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
        "If each word has probability 1/5, the perplexity is 5. What does your formula give for five times 1/5?",
        "The loss of a word is the negative natural logarithm of its probability. The loss of a text is their mean.",
        "There are three steps: the logarithms, their mean with a minus, and the function that undoes a natural logarithm.",
    ],
    intermediates={"one number per word: did you take their mean?": lambda probabilities: probabilities},
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
        "Write four lines, one for each equation. Start with the gates: which two things does each of them read?",
        "A gate lies between 0 and 1: torch.sigmoid. The proposal lies between -1 and 1, like the state: torch.tanh. "
        "@ is the matrix product, * multiplies entry by entry.",
        "r multiplies the product state @ U. At the end, z says how much of the old state is kept, and 1 - z how much "
        "of the proposal is added.",
    ],
    intermediates={
        "the gate z: did you compute the new state from it?": lambda x, s, W_z, U_z, W_r, U_r, W, U: torch.sigmoid(
            x @ W_z + s @ U_z
        ),
        "the gate r: did you compute the new state from it?": lambda x, s, W_z, U_z, W_r, U_r, W, U: torch.sigmoid(
            x @ W_r + s @ U_r
        ),
        "the old state: did you compute a new one?": lambda x, s, W_z, U_z, W_r, U_r, W, U: s,
        "x: did you multiply it by the matrices?": lambda x, s, W_z, U_z, W_r, U_r, W, U: x,
    },
    question={
        r"\b[WU](_[zr])? @": "Vectors are rows here: x and state should be on the left of their matrices.",
        r"[zr] @|@ (state|proposal)": "Gates should be multiplied entry by entry, with * instead of @.",
        "": "x is (…, d_in) and is multiplied by W_z, W_r, W; state is (…, d_hidden) and is multiplied by U_z, U_r, U. "
        "Which axes meet in this line?",
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


def draw_decoders(generator):
    """A batch with and without a state; d_context = d_hidden, = d_embedding, all sizes equal; one word; one sentence;
    float64; a context of large numbers."""
    for v, d_embedding, d_context, d_hidden, b, q, given, dtype in (
        (7, 3, 4, 5, 2, 3, False, None),
        (7, 3, 4, 5, 2, 3, True, None),
        (6, 4, 4, 4, 4, 4, False, None),
        (5, 2, 6, 6, 3, 1, True, None),
        (5, 3, 3, 2, 1, 4, False, None),
        (9, 4, 2, 3, 3, 2, False, torch.float64),
        (9, 4, 2, 3, 3, 2, True, torch.float64),
    ):
        words = torch.randint(v, (b, q), generator=generator)
        context = torch.randn(b, d_context, generator=generator, dtype=dtype)
        state = torch.randn(1, b, d_hidden, generator=generator, dtype=dtype).tanh() if given else None
        yield v, d_embedding, d_context, d_hidden, words, context, state
    yield 4, 3, 2, 3, torch.tensor([[1, 0, 3]]), torch.tensor([[30.0, -40.0]]), None


def edges_of_decoders(generator):
    words, context = torch.randint(5, (2, 70), generator=generator), torch.randn(2, 3, generator=generator)
    yield "70 words", (5, 2, 3, 4, words, context, None)
    words, context = torch.randint(5, (66, 2), generator=generator), torch.randn(66, 3, generator=generator)
    yield "66 sentences", (5, 2, 3, 4, words, context, None)
    yield "a state of zeros", (5, 2, 3, 4, words[:2], context[:2], torch.zeros(1, 2, 4))


@exercise(
    draws=draw_decoders,
    edges=edges_of_decoders,
    hints=[
        "You need four layers in __init__. For each, what goes in, and what comes out? The GRU reads a word's vector and "
        "the context, side by side.",
        "In forward, make the state where it is None: torch.tanh(self.first(context))[None] is (1, b, d_hidden). The "
        "context needs an axis for the words: context[:, None].expand(-1, words.shape[1], -1) is (b, q, d_context).",
        "Call the repeated context `every`. self.rnn reads torch.cat([self.embedding(words), every], dim=-1) and the "
        "state. It returns all states and the last one; the logits are computed from all states.",
    ],
    question={
        r"cat\(": "torch.cat with dim=-1 should get the vectors of the words, (b, q, d_embedding), and the context, "
        "repeated for each word, (b, q, d_context). Which of them has another shape in this line?",
        r"rnn\(|GRU": "The GRU reads (b, q, d_embedding + d_context), and its state is (1, b, d_hidden). Which of the "
        "two has another shape in this line?",
        "": "words is (b, q), context (b, d_context), a state (1, b, d_hidden). Which axes meet in this line?",
    },
    level=3,
    minutes=12,
    trained=True,
)
class Decoder(nn.Module):
    """Writes from context (b, d_context), reading words (b, q): returns logits (b, q, v) and the last state.

    State i has read the words up to word i, and its logits predict the next word. The first state is state; where that
    is None, it is made from the context. A state is (1, b, d_hidden).
    """

    def __init__(self, vocabulary_size, d_embedding, d_context, d_hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, d_embedding)
        self.first = nn.Linear(d_context, d_hidden)
        self.rnn = nn.GRU(d_embedding + d_context, d_hidden, batch_first=True)
        self.to_logits = nn.Linear(d_hidden, vocabulary_size)

    def forward(self, words, context, state):
        if state is None:
            state = torch.tanh(self.first(context))[None]  # (1, b, d_hidden)
        every = context[:, None].expand(-1, words.shape[1], -1)  # (b, q, d_context)
        x = torch.cat([self.embedding(words), every], dim=-1)  # (b, q, d_embedding + d_context)
        states, last = self.rnn(x, state)  # (b, q, d_hidden)
        return self.to_logits(states), last


def draw_notes(generator):
    """A pair with others between; neighbours; several pairs, of which a later one begins earlier; three that are equal;
    two rows; rows with the same sum, or that differ in one number; numbers that are no switches; float64."""
    yield (torch.tensor([[1.0, -1], [-1, 1], [1, 1], [-1, 1], [-1, -1]]),)
    yield (torch.tensor([[1.0, 1], [1, 1]]),)
    yield (torch.tensor([[1.0, 1, 1], [1, 1, -1], [-1, 1, 1], [1, 1, -1], [1, 1, 1]]),)
    yield (torch.tensor([[1.0, -1], [-1, -1], [-1, -1], [-1, -1], [1, -1]]),)
    yield (torch.tensor([[-1.0, 1, 1], [1, -1, 1], [1, 1, -1], [1, 1, 1], [1, 1, -1], [-1, 1, 1]]),)
    yield (torch.tensor([[0.5, 0.25], [0.25, 0.5], [0.5, 0.5], [0.25, 0.5]], dtype=torch.float64),)
    for rows, d in ((30, 4), (40, 5)):
        yield (torch.randint(2, (rows, d), generator=generator) * 2.0 - 1,)


def edges_of_notes(generator):
    notes = torch.randint(2, (70, 6), generator=generator) * 2.0 - 1
    yield "70 notes", (notes,)
    yield "notes of 66 numbers", (notes[:5, :1].repeat(1, 66),)


@exercise(
    draws=draw_notes,
    edges=edges_of_notes,
    hints=[
        "Go through the notes, starting with the first. Has the same note come up before?",
        "Write two loops: j from 0 upwards, and for each j all i below it. The first pair that agrees is the answer.",
        "torch.equal(notes[i], notes[j]) is True if all numbers of the two rows agree.",
    ],
    question="notes is (n, d), with one row for each list. Which rows do you compare in this line?",
    level=1,
    minutes=5,
)
def same_note(notes):
    """The first two lists with the same note, of notes (n, d): returns their numbers (i, j), i below j.

    Of all pairs, the one with the smallest j. There is at least one.
    """
    i, j = next((i, j) for j in range(len(notes)) for i in range(j) if torch.equal(notes[i], notes[j]))
    return i, j


def draw_lists(generator):
    """A list, one word, two axes in front, n = 4, every word once."""
    yield (torch.tensor([5, 12]),)
    yield (torch.tensor([9]),)
    for shape in ((3, 2), (4, 4), (2, 3, 5)):
        yield (torch.randint(16, shape, generator=generator),)
    yield (torch.arange(16),)


def edges_of_lists(generator):
    yield "70 words", (torch.randint(16, (70,), generator=generator),)
    yield "66 lists", (torch.randint(16, (66, 2), generator=generator),)


@exercise(
    draws=draw_lists,
    edges=edges_of_lists,
    hints=[
        "13 is 8 + 4 + 1, so its digits are 1, 1, 0, 1. How can you get one of them with a division and a remainder?",
        "word // 8 % 2 is the first digit, word // 4 % 2 the second. Dividing by a tensor of 8, 4, 2, 1 gives all four at "
        "once, if the words have an axis of length 1 at the end.",
        "words[..., None] // torch.tensor([8, 4, 2, 1]) % 2 is (…, n, 4). A digit d becomes 2 d - 1, and "
        "flatten(-2) joins the last two axes.",
    ],
    intermediates={
        "one number per word: each word should have four switches": lambda words: (words[..., None] // 2 % 2).flatten(
            -2
        )
    },
    question="words is (…, n), the digits are (…, n, 4), the note is (…, 4 n). Which axes meet in this line?",
    level=2,
    minutes=6,
)
def note_by_hand(words):
    """Four switches for each word: takes whole numbers from 0 to 15 (…, n), returns -1.0 or 1.0 (…, 4 n).

    The switches of a word are its binary digits: that of 8 first, then those of 4, 2 and 1. A digit 1 becomes 1.0, a
    digit 0 becomes -1.0. The words keep their order.
    """
    powers = torch.tensor([8, 4, 2, 1])
    digits = words[..., None] // powers % 2  # (…, n, 4)
    return (2.0 * digits - 1.0).flatten(-2)


def draw_both_ways(generator):
    """Sentences of different lengths; all as long as the batch; one sentence; one word; b = k = d; float64."""
    for lengths, k, d, dtype in (
        ([3, 5, 2], 5, 4, None),
        ([4, 4], 4, 6, None),
        ([2], 4, 2, None),
        ([1, 3], 3, 4, None),
        ([4, 1, 3, 2], 4, 4, None),
        ([2, 6], 6, 8, torch.float64),
    ):
        yield torch.randn(len(lengths), k, d, generator=generator, dtype=dtype), torch.tensor(lengths)


def edges_of_both_ways(generator):
    yield "70 tokens", (torch.randn(2, 70, 4, generator=generator), torch.tensor([70, 66]))
    lengths = torch.randint(1, 4, (66,), generator=generator)
    yield "66 sentences", (torch.randn(66, 3, 2, generator=generator), lengths)


@exercise(
    draws=draw_both_ways,
    edges=edges_of_both_ways,
    hints=[
        "What does the cell below show about this line? At which token has the backward half read the whole sentence? "
        "And the forward half, if padding follows?",
        "states.chunk(2, dim=-1) gives the two halves. The backward half reads the first token of the sentence last.",
        "forwards[torch.arange(len(states)), lengths - 1] takes from each sentence the state at its own last token. "
        "torch.cat with dim=-1 puts both halves side by side, the forward half first.",
    ],
    question="states is (b, k, d), lengths (b,), the context (b, d). Which axes meet in this line?",
    level=2,
    minutes=7,
)
def context_of(states, lengths):
    """The context of each sentence, from the states of a bidirectional network (b, k, d): returns (b, d).

    The first d / 2 numbers of a state come from reading forwards, the others from reading backwards. Sentence i has
    lengths[i] tokens, at least one; the rest is padding. lengths is (b,).
    """
    forwards, backwards = states.chunk(2, dim=-1)  # (b, k, d / 2) each
    rows = torch.arange(len(states))
    return torch.cat([forwards[rows, lengths - 1], backwards[:, 0]], dim=-1)
