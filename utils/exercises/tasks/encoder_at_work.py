"""Exercises of the notebook on the encoder at work: a cheaper rule, the stack, what is cut and patched, induction."""

import torch

from ...attention import scaled_dot_product_attention
from ...judge.exercise import exercise
from .transformer_encoder_block import another_norm

WORDS = "the wizard near the witch arrived".split()
CAN_ACT = {"wizard", "witch", "friends", "king", "cat", "fish"}


def draw_verbs(generator):
    """Nobody, one and two in between; the same being twice; one after the verb; a verb that is also a being; chance."""
    yield WORDS, CAN_ACT, 5
    yield "the friends sang because the king near the tower slept".split(), CAN_ACT, 8
    yield "the friends sang because the king near the tower slept".split(), CAN_ACT, 2
    yield "the cat saw the cat behind the king who slept".split(), CAN_ACT, 8
    yield "the cat who saw the cat arrived".split(), CAN_ACT, 6
    yield "it rained near the castle".split(), CAN_ACT, 1
    yield "the fish fish".split(), CAN_ACT, 2
    yield "friends slept".split(), CAN_ACT, 1
    yield "arrived the witch".split(), CAN_ACT, 0
    order = torch.randperm(6, generator=generator).tolist()
    yield [WORDS[k] for k in order], CAN_ACT, 4


def edges_of_verbs(generator):
    yield "70 words", (["cat", *["the"] * 68, "slept"], CAN_ACT, 69)
    yield "no being at all", (WORDS, set(), 5)


@exercise(
    draws=draw_verbs,
    edges=edges_of_verbs,
    hints=[
        "Which positions come before the verb? Which of them hold a word that is in beings?",
        "Walk from verb - 1 back to 0, and stop at the first word that is in beings. What if there is none?",
        "max of the positions that fit is the nearest one; max(…, default=-1) says what to return if there are none.",
    ],
    question="words is a list of strings, verb a position: which positions does this line look at?",
    minutes=4,
)
def nearest_being(words, beings, verb):
    """The cheaper rule: the position of the being nearest to words[verb] among the words before it: returns an int.

    words is a list of strings, beings the set of those that can act, verb a position, counted from 0. The
    result is -1 if no being comes before the verb.
    """
    return max((k for k in range(verb) if words[k] in beings), default=-1)


def a_block(x, mask):
    """A block that mixes positions as far as mask lets it, and is not its own repetition."""
    return 0.8 * x + torch.tanh(scaled_dot_product_attention(x, x, x.roll(1, -1), mask)[0])


def another_block(x, mask):
    return 0.5 * x.flip(-1) + scaled_dot_product_attention(x.roll(1, -1), x, x, mask)[0]


def draw_encoders(generator):
    """One, two and three blocks; a batch with padding, a causal sentence, no mask; tables with rows to spare."""
    padding = torch.tensor([[[1, 1, 1, 0, 0]], [[1, 1, 1, 1, 1]]]).bool()  # (b, 1, k)
    for shape, d, blocks, mask, dtype in (
        ((5,), 4, [a_block], None, None),
        ((2, 5), 6, [a_block, another_block], padding, None),
        ((1, 3), 4, [another_block, a_block, a_block], torch.ones(3, 3).tril().bool(), None),
        ((3,), 4, [a_block, a_block, another_block], None, torch.float64),
        ((9,), 12, [another_block, a_block], None, None),  # as many words as rows: no more can be taken
    ):
        tokens = torch.randint(9, shape, generator=generator)
        vectors, positions = (torch.randn(rows, d, generator=generator, dtype=dtype) for rows in (11, 9))
        yield tokens, vectors, positions, blocks, another_norm, mask


def edges_of_encoders(generator):
    vectors, positions = torch.randn(80, 66, generator=generator) / 3, torch.randn(75, 66, generator=generator) / 3
    tokens = torch.randint(80, (70,), generator=generator)
    yield "70 tokens", (tokens, vectors, positions, [a_block], another_norm, None)
    vectors, positions = torch.randn(2, 9, 4, generator=generator)
    tokens = torch.randint(9, (66, 3), generator=generator)
    yield "66 sentences", (tokens, vectors, positions, [a_block], another_norm, None)
    blocks = [a_block, another_block, another_block, a_block, another_block]
    yield "five blocks", (tokens[0], vectors, positions, blocks, another_norm, None)
    yield "no block", (tokens[0], vectors, positions, [], another_norm, None)


@exercise(
    draws=draw_encoders,
    edges=edges_of_encoders,
    hints=[
        "What does the bench below say about each block? Try fewer blocks: with one block the result is right. And with two?",
        "Follow x by hand through two blocks. What goes into the second one, and what should?",
        "The first block should read the words with their positions. Every other block should read the output of the block before it.",
    ],
    intermediates={
        "the words with their positions: are the blocks still missing?": (
            lambda tokens, vectors, positions, blocks, final_norm, mask: vectors[tokens]
        ),
    },
    question="After the first line everything is (…, n, d): what goes into this line, and what comes out of it?",
    level=2,
    minutes=8,
    trained=True,
)
def encode_tokens(tokens, vectors, positions, blocks, final_norm, mask):
    """Token ids (…, n) through an encoder: vectors, positions, all blocks, final norm: returns (…, n, d).

    vectors (v, d) has a row for each token, positions (max_len, d) one for each position. blocks is a
    list of functions block(x, mask), final_norm(x) is a function; all keep the shape (…, n, d).
    """
    x = vectors[tokens]  # (…, n, d)
    x = x + positions[: tokens.shape[-1]]
    output = x
    for block in blocks:
        output = block(output, mask)
    return final_norm(output)


def draw_added(generator):
    """With padding and without; one sentence; one word; a batch whose sentences differ much; float64."""
    for lengths, d, dtype in (
        ([3, 5], 4, None),
        ([2], 3, None),
        ([4, 1, 6], 5, None),
        ([1], 2, None),
        ([3, 3], 4, torch.float64),
    ):
        real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]  # (b, n)
        added = torch.randn(*real.shape, d, generator=generator, dtype=dtype)
        yield added + torch.arange(len(lengths))[:, None, None], real


def edges_of_added(generator):
    real = torch.arange(70) < torch.tensor([[70], [1], [33]])
    yield "70 words", (torch.randn(3, 70, 4, generator=generator), real)
    real = torch.arange(3) < torch.arange(70)[:, None] % 3 + 1
    yield "70 sentences", (torch.randn(70, 3, 66, generator=generator), real)
    real = torch.arange(3) < torch.tensor([[3], [2]])
    added = torch.randn(2, 3, 4, generator=generator)
    yield "padding of NaN", (added.masked_fill(~real[..., None], torch.nan), real)


@exercise(
    draws=draw_added,
    edges=edges_of_added,
    hints=[
        "How many vectors does the sublayer add? Those of padding should not count.",
        "added[real] takes the vectors of real words from all sentences, one below the other, (words, d). Which axis should the mean run over?",
        "The mean is one vector (d,). expand_as(added) repeats it for every position of every sentence.",
    ],
    intermediates={"the mean vector: repeat it for every position": lambda added, real: added[real].mean(0)},
    question="added is (b, n, d), real is (b, n): which axes does this line take the mean over?",
    level=2,
    minutes=5,
)
def mean_cut(added, real):
    """The same for all: added (b, n, d), the mean vector of all real words at every position: returns (b, n, d).

    added is what a sublayer adds to each word's vector; real (b, n) is True for words and False for padding,
    whose vectors do not count.
    """
    mean = added[real].mean(0)  # (d,)
    return mean.expand_as(added)


def mixing(x):
    """A sublayer that lets positions hear each other, in no symmetric way."""
    return 0.5 * scaled_dot_product_attention(x, x, x.roll(1, -1))[0]


def thinking(x):
    return torch.tanh(x.flip(-1)) - 0.3


def draw_runs(generator):
    """Every station of one to four sublayers, first, middle and last positions; float64."""
    for n, d, sublayers, station, position, dtype in (
        (3, 4, [mixing, thinking], 0, 1, None),
        (3, 4, [mixing, thinking], 1, 0, None),
        (4, 4, [mixing, thinking, mixing, thinking], 2, 3, None),
        (4, 6, [mixing, thinking, mixing, thinking], 3, 1, None),
        (5, 4, [thinking, mixing, mixing], 3, 4, torch.float64),
        (2, 3, [mixing], 1, 0, None),
    ):
        x, other = torch.randn(2, n, d, generator=generator, dtype=dtype)
        yield x, other, sublayers, station, position


def edges_of_runs(generator):
    x, other = torch.randn(2, 70, 4, generator=generator)
    yield "70 words", (x, other, [mixing, thinking], 1, 68)
    x, other = torch.randn(2, 3, 70, generator=generator) / 4
    yield "vectors of 70 numbers", (x, other, [thinking, mixing], 1, 1)
    x, other = torch.randn(2, 3, 4, generator=generator)
    yield "no sublayer", (x, other, [], 0, 2)
    yield "twelve sublayers", (x, other, [thinking, mixing] * 6, 9, 1)
    yield "70 sublayers", (x, other, [thinking] * 69 + [mixing], 68, 1)


@exercise(
    draws=draw_runs,
    edges=edges_of_runs,
    hints=[
        "Two runs are needed, side by side. Which row goes over from one to the other, and after how many sublayers?",
        "Write the loop without any exchange first: x = x + f(x), and the same for other. At which turn of the loop should the row be exchanged?",
        "Make a copy with x.clone() before you set one row of it. Station 0 comes before the loop, and the last one after it.",
    ],
    intermediates={
        "x after all sublayers, with no row exchanged": lambda x, other, sublayers, station, position: all_of(
            sublayers, x
        ),
    },
    question="x and other stay (n, d) all the way: what does this line do to each of the two?",
    level=3,
    minutes=8,
)
def run_patched(x, other, sublayers, station, position):
    """The run on x (n, d), with one vector taken from the run on other (n, d): returns (n, d), after all sublayers.

    sublayers is a list of functions f; in both runs each adds to the stream, x + f(x). After `station` of
    them (0: before the first), row `position` of x is replaced by the same row of other's run. The run on
    other is not changed.
    """
    mine, theirs = x, other
    for number, f in enumerate([*sublayers, None]):
        if number == station:
            mine = torch.cat([mine[:position], theirs[position : position + 1], mine[position + 1 :]])
        if f is not None:
            mine, theirs = mine + f(mine), theirs + f(theirs)
    return mine


def all_of(sublayers, x):
    for f in sublayers:
        x = x + f(x)
    return x


def draw_strings(generator):
    """A period that repeats, more than twice; nothing repeats; one symbol; a pair at once; chance."""
    yield torch.tensor([0, 2, 4, 1, 0, 2, 4]), 6
    yield torch.tensor([3, 1, 3, 1, 3]), 4
    yield torch.tensor([4, 1, 0, 2]), 5
    yield torch.tensor([2]), 3
    yield torch.tensor([1, 1, 0, 1, 0, 0]), 2
    yield torch.randint(5, (9,), generator=generator), 5
    yield torch.randint(7, (11,), generator=generator), 7


def edges_of_strings(generator):
    yield "70 symbols", (torch.randint(20, (70,), generator=generator), 20)
    yield "out of 70 symbols", (torch.randint(70, (9,), generator=generator), 70)
    yield "one of a single symbol", (torch.tensor([0, 0]), 1)


@exercise(
    draws=draw_strings,
    edges=edges_of_strings,
    hints=[
        "Begin with one-hot vectors of the symbols, (n, size). Layer 1 hands each position the row above it. Which row does the first position get?",
        "Layer 2: queries are the symbols here, keys are what layer 1 noted. Their product is (q, k): 1 where “my symbol before me” is written. Multiply it by 20, and mask what comes later.",
        "softmax over the keys, then times the values. Values are the one-hot vectors of the symbols themselves.",
    ],
    intermediates={
        "what layer 1 noted, (n, size)": lambda symbols, size: (
            torch.eye(size)[symbols].roll(1, 0) * (torch.arange(len(symbols)) > 0)[:, None]
        ),
    },
    question="symbols become one-hot vectors (n, size): is this line layer 1, the scores of layer 2, or the mixture?",
    level=3,
    minutes=10,
)
def continue_by_hand(symbols, size):
    """Induction without any training, for symbols (n,) below size: returns (n, size), what layer 2 finds.

    Every symbol is a one-hot vector. Layer 1 hands each position the vector of the position before it (zeros
    at the first). Layer 2: the query is the symbol's own vector, the key is what layer 1 handed over, the
    score their dot product times 20, a position sees itself and what came before, and the value is the
    symbol's own vector.
    """
    here = torch.eye(size)[symbols]  # (n, size)
    before = torch.cat([torch.zeros(1, size), here[:-1]])  # (n, size)
    scores = 20 * here @ before.T  # (q, k)
    past = torch.ones(len(symbols), len(symbols)).tril().bool()  # (q, k)
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)  # (q, k)
    return weights @ here


def draw_repeating(generator):
    """A period that repeats, also three times; nothing new; nothing repeated; one symbol; a pair at once; chance."""
    yield (torch.tensor([7, 2, 5, 7, 2, 5, 7, 2, 5, 7]),)
    yield (torch.tensor([3, 3, 3, 3]),)
    yield (torch.tensor([4, 1, 0, 2]),)
    yield (torch.tensor([6]),)
    yield (torch.tensor([0, 1, 0, 2, 0, 3, 3]),)
    yield (torch.randint(4, (9,), generator=generator),)
    yield (torch.randint(6, (12,), generator=generator),)


def edges_of_symbols(generator):
    yield "symbols of two digits", (torch.tensor([12, 1, 2, 12, 21, 2, 1]),)
    yield "symbols in the thousands", (torch.tensor([3000, 12, 3000, 5, 12]),)
    yield "70 symbols", (torch.randint(100, (70,), generator=generator),)


@exercise(
    draws=draw_repeating,
    edges=edges_of_symbols,
    hints=[
        "A C K B A C K: the last symbol is K. At which position did K occur first? Which position comes right after it?",
        "symbols[:, None] == symbols compares every position (rows) with every other (columns). Which of these pairs are "
        "in the past? .tril(-1) keeps only what is below the diagonal.",
        "argmax of a row of 0 and 1 is the position of its first 1, and any says whether there is a 1. A loop over the "
        "positions, which searches the symbols before each of them, works as well.",
    ],
    intermediates={
        "for each position, all the positions before it: return one number per position": lambda symbols: (
            symbols[:, None] == symbols
        ),
    },
    question="symbols is (n,), whole numbers: does this line look at the past of one position, or of all positions at once?",
    level=2,
    minutes=8,
)
def induction_target(symbols):
    """The position that an induction head should look at, for each position of symbols (n,): returns (n,), integers.

    An induction head looks right after an earlier occurrence of the symbol at its position. Of several, take
    the first. The answer counts from 0 and may be the position itself. If the symbol is new, it is -1.
    """
    seen = (symbols[:, None] == symbols).tril(-1)  # (q, k): the same symbol, in the past
    after = seen.int().argmax(-1) + 1  # (q,): one place after the first of them
    return torch.where(seen.any(-1), after, -1)
