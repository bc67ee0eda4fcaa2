"""Exercises of the notebook on the encoder at work: stack, parameters, induction."""

import torch

from ...attention import scaled_dot_product_attention
from ...judge.exercise import exercise
from .transformer_encoder_block import another_norm


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
    minutes=10,
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


def draw_layer_sizes(generator):
    """With and without biases; one head, as many heads as d; the sizes of the original paper; two drawn."""
    yield from ((16, 4, False), (16, 4, True), (6, 3, True), (10, 1, True), (5, 5, False), (512, 8, True))
    for bias in (False, True):
        h, e = torch.randint(2, 12, (2,), generator=generator).tolist()
        yield h * e, h, bias


def edges_of_layer_sizes(generator):
    yield "a d_model of 1,024 in 128 heads", (1024, 128, True)
    yield "a d_model of 1", (1, 1, True)


@exercise(
    draws=draw_layer_sizes,
    edges=edges_of_layer_sizes,
    hints=[
        "Which matrices does the layer learn? How many numbers are in one of them?",
        "Each head's part of W_q is (d, e), and there are h such parts, with h · e = d. How many numbers are in all of them together?",
        "There are four matrices, including W_o. A bias has one number for each output of its matrix.",
    ],
    question="The result is one whole number, computed from d_model and bias: what does this line do with them?",
)
def count_parameters(d_model, num_heads, bias):
    """Parameters of W_q, W_k, W_v, W_o, each (d, d), with a bias (d,) if bias: returns an int."""
    matrices = 4 * d_model**2
    biases = 4 * d_model if bias else 0
    return matrices + biases


def draw_encoder_sizes(generator):
    """One block and many, d_ff = 4d, = d and neither, a single head; the original paper's; two by chance."""
    yield from ((1, 8, 2, 20), (2, 16, 4, 64), (3, 6, 1, 6), (6, 512, 8, 2048), (4, 10, 5, 7))
    for _ in range(2):
        layers, heads, width, d_ff = torch.randint(2, 9, (4,), generator=generator).tolist()
        yield layers, heads * width, heads, 5 * d_ff + 1


def edges_of_encoder_sizes(generator):
    yield "70 layers, with a d_model of 132 in 66 heads", (70, 132, 66, 130)
    yield "a d_model of 1", (1, 1, 1, 1)


@exercise(
    draws=draw_encoder_sizes,
    edges=edges_of_encoder_sizes,
    hints=[
        "Which parts of a block learn? Count one block first: attention, feed-forward layer, norms. How many blocks are there?",
        "Attention has four matrices, the feed-forward layer has two, and each matrix has a bias as long as its output. "
        "Does the number of heads change any of that?",
        "A norm has gamma and beta, d_model numbers each, and a block has two norms. Every block has parameters of its "
        "own.",
    ],
    question="The result is one whole number, computed from the four sizes: what does this line do with them?",
    level=2,
    minutes=8,
)
def count_encoder_parameters(num_layers, d_model, num_heads, d_ff):
    """Parameters of num_layers blocks, nothing before or behind them: returns an int.

    A block has attention with W_q, W_k, W_v and W_o, a feed-forward layer and two layer norms.
    Every matrix has a bias.
    """
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = (d_model * d_ff + d_ff) + (d_ff * d_model + d_model)
    norms = 2 * (d_model + d_model)
    return num_layers * (attention + feed_forward + norms)


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
    minutes=10,
)
def induction_target(symbols):
    """The position that an induction head should look at, for each position of symbols (n,): returns (n,), integers.

    Take the symbol at a position: where did it first occur before? The position right after that one is
    the answer, counted from 0; it may be the position itself. If the symbol is new, the answer is -1.
    """
    seen = (symbols[:, None] == symbols).tril(-1)  # (q, k): the same symbol, in the past
    after = seen.int().argmax(-1) + 1  # (q,): one place after the first of them
    return torch.where(seen.any(-1), after, -1)
