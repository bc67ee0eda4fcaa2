"""Exercises of the notebook on the encoder's block: position waves, a matrix that reverses them, a rotation, norm, what a
norm cannot tell apart, residual step, feed-forward layer, block, dropout."""

import math

import torch
import torch.nn.functional as F

from ...attention import scaled_dot_product_attention
from ...judge.exercise import exercise


def draw_numbers_of_positions(generator):
    """Even and odd d_model, also 1 and 2; n = d_model; a single position; an even and an odd width by chance."""
    yield from ((5, 8), (4, 6), (3, 5), (6, 6), (1, 4), (4, 1), (5, 2))
    n, pairs = torch.randint(4, 10, (2,), generator=generator).tolist()
    yield from ((n, 2 * pairs), (n - 1, 2 * pairs - 1))


def edges_of_positions(generator):
    yield from ((f"{n} positions, and a d_model of {d_model}", (n, d_model)) for n, d_model in ((150, 2), (3, 131)))


@exercise(
    draws=draw_numbers_of_positions,
    edges=edges_of_positions,
    hints=[
        "Columns come in pairs, a sine and a cosine of the same angle. Which j has column 6? And column 7?",
        "Positions are a column, (n, 1), and wavelengths a row, (⌈d/2⌉,): one division gives all the angles at once. "
        "torch.arange(0, d_model, 2) gives the 2j.",
        "Sines belong in the columns 0::2, cosines in 1::2. If d_model is odd, the last sine has no cosine: there are only "
        "d_model // 2 cosines.",
    ],
    intermediates={
        "(d, n), but positions should be the rows": lambda n, d_model: torch.zeros(d_model, n),
        "the angles, one for each pair of columns: are sine and cosine still missing?": lambda n, d_model: torch.zeros(
            n, (d_model + 1) // 2
        ),
        "sines and cosines as pairs, which still have an axis of their own": lambda n, d_model: torch.zeros(
            n, (d_model + 1) // 2, 2
        ),
        "a single position, but each should have its own row": lambda n, d_model: torch.zeros(d_model),
        "the cosines below the sines, but their columns should alternate": lambda n, d_model: torch.zeros(
            2 * n, (d_model + 1) // 2
        ),
    },
    question={
        r"1::2|cat|stack": "If d_model is odd, there are ⌈d/2⌉ columns of sines and one column fewer of cosines: does this line allow for that?",
        r"\[[^\]]*(\+ ?1|2 ?\* ?\w)[^\]]*\]": "There are ⌈d/2⌉ pairs of columns; if d_model is odd, "
        "the last one is a sine alone. Does every column exist that this line uses?",
        "": "Positions (n, 1) and wavelengths (⌈d/2⌉,) give angles (n, ⌈d/2⌉): which shapes meet in this line?",
    },
    level=2,
    minutes=9,
)
def sinusoidal_positions(n, d_model):
    """Column 2j is sin(p / 10000^(2j/d_model)), column 2j + 1 the cosine: returns (n, d_model).

    Positions count from 0; d_model may be odd.
    """
    exponents = torch.arange(0, d_model, 2) / d_model  # (⌈d/2⌉,)
    wavelengths = 10000**exponents  # (⌈d/2⌉,), over 2π
    angles = torch.arange(n)[:, None] / wavelengths  # (n, ⌈d/2⌉)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :d_model]


def draw_lengths_to_reverse(generator):
    """The notebook's sizes; n = d; fewer positions than columns; a single pair; two positions; a size by chance."""
    yield from ((16, 32), (6, 6), (3, 8), (5, 2), (2, 4))
    n, pairs = torch.randint(4, 12, (2,), generator=generator).tolist()
    yield n, 2 * pairs


def edges_of_reversing(generator):
    yield from (
        (f"{n} positions, and a d_model of {d_model}", (n, d_model)) for n, d_model in ((1, 4), (70, 2), (20, 130))
    )


@exercise(
    draws=draw_lengths_to_reverse,
    edges=edges_of_reversing,
    hints=[
        "Take one pair, (sin pω, cos pω), and let a = (n - 1) ω. What should it become? Write sin(a - pω) and cos(a - pω) "
        "as sums.",
        "sin(a - pω) = sin a cos pω - cos a sin pω, and cos(a - pω) = cos a cos pω + sin a sin pω. Which numbers multiply "
        "sin pω, the first entry? They are the first row of the block.",
        "Begin with zeros (d, d). For j = 0, 2, 4, …, the square of rows and columns j to j + 1 is [[-cos a, sin a], [sin a, cos a]], "
        "with a = (n - 1) / 10000 ** (j / d_model).",
    ],
    intermediates={
        "the positions reversed, but the matrix that reverses them should be returned": lambda n, d_model: torch.zeros(
            n, d_model
        ),
        "a matrix that moves the positions, (n, n): it should act on the columns, (d, d)": lambda n, d_model: (
            torch.zeros(n, n)
        ),
        "one block of 2 × 2: every pair of columns needs its own, on the diagonal of (d, d)": (
            lambda n, d_model: torch.zeros(2, 2)
        ),
        "the blocks one after the other: they should lie on the diagonal of (d, d)": (
            lambda n, d_model: torch.zeros(d_model // 2, 2, 2)
        ),
    },
    question="M is (d, d), with one 2 × 2 block per pair of columns: which shapes meet in this line?",
    level=2,
    minutes=6,
)
def reversing_matrix(n, d_model):
    """The matrix M that makes row p of the waves (n, d) into row n - 1 - p, d_model even: returns (d, d).

    Each pair of columns has its own 2 × 2 block on the diagonal, a reflection. All else is 0.
    """
    reflecting = torch.zeros(d_model, d_model)
    for j in range(0, d_model, 2):
        angle = (n - 1) / 10000 ** (j / d_model)
        cos, sin = math.cos(angle), math.sin(angle)
        reflecting[j : j + 2, j : j + 2] = torch.tensor([[-cos, sin], [sin, cos]])
    return reflecting


def draw_pairs_and_angles(generator):
    """One pair; a row, a batch, three axes; two pairs, and 2 × 2; one of them alone; a quarter, whole turns; float64."""
    for shape, dtype in (
        ((), None),
        ((5,), None),
        ((2,), None),
        ((2, 2), None),
        ((1, 3), None),
        ((5, 3, 4), torch.float64),
    ):
        x = torch.randn(*shape, 2, generator=generator, dtype=dtype)
        yield x, 4 * torch.randn(shape, generator=generator, dtype=dtype)
    yield torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]]), math.pi * torch.tensor([0.5, 1.0, 2.0])


def edges_of_rotations(generator):
    yield "66 rows of 70 pairs", (torch.randn(66, 70, 2, generator=generator), torch.randn(66, 70, generator=generator))


@exercise(
    draws=draw_pairs_and_angles,
    edges=edges_of_rotations,
    hints=[
        "Rotate (1, 0) by a right angle, counterclockwise: where does it point then? And (0, 1)? What do your formulas "
        "give for these two?",
        "Rotated by an angle, (1, 0) becomes (cos, sin), and (0, 1) becomes (-sin, cos). (x0, x1) is x0 times the first "
        "plus x1 times the second.",
        "Take out both numbers, x[..., 0] and x[..., 1], before you change either; torch.stack with dim=-1 joins "
        "the two new ones into pairs.",
    ],
    intermediates={
        "the pairs with their axis first, (2, …): dim tells torch.stack where the axis should be": lambda x, angle: (
            x.movedim(-1, 0)
        ),
        "every number with every angle: chunk and [..., :1] keep an axis of length 1, which should be dropped": (
            lambda x, angle: x.new_zeros(*x.shape[:-1], 2 * [*angle.shape, 1][-1 - bool(angle.ndim)])
        ),
        "one number for each pair: both numbers should be returned": lambda x, angle: angle,
        "(…, 2, 2), such as a matrix for each angle: is a sum still missing?": (
            lambda x, angle: x[..., None].expand(*x.shape, 2)
        ),
    },
    question={
        r"cat\(": "torch.cat joins along an existing axis; torch.stack with dim=-1 makes a new one for the pair.",
        r"@|matmul|einsum": "A matrix for each angle is (…, 2, 2), a pair (…, 2): for @, the pair needs another axis "
        "of length 1, at the end.",
        r"math\.": "math.cos takes one number, torch.cos a tensor.",
        "": "x is (…, 2), angle (…): x[..., 0], x[..., 1] and the cosine of the angle all have the same shape. Which shapes meet "
        "in this line?",
    },
    level=1,
    minutes=5,
    trained=True,
)
def rotate_pair(x, angle):
    """Rotate pairs x (…, 2), each by its angle (…), counterclockwise, in radians: returns (…, 2)."""
    first, second = x[..., 0], x[..., 1]  # (…)
    cos, sin = torch.cos(angle), torch.sin(angle)  # (…)
    return torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1)


def draw_rows_to_normalise(generator):
    """A sentence, batches; n = d, b = n = d; one token; a constant row; eps from 0 to 0.5 shows its place; a
    mean far larger than the deviation; float64."""
    for shape, eps, dtype in (
        ((5, 8), 1e-5, None),
        ((4, 4), 0.1, None),
        ((3, 3, 3), 0.5, None),
        ((2, 5, 6), 1e-3, None),
        ((2, 3, 4, 5), 0.02, None),
        ((1, 6), 0.0, None),
        ((2, 3, 4), 0.05, torch.float64),
    ):
        x = torch.randn(shape, generator=generator, dtype=dtype) * 1.5 + 1
        if eps == 0.1:
            x[1] = 2.0
        gamma, beta = torch.randn(2, shape[-1], generator=generator, dtype=dtype)
        yield x, gamma + 1, beta, eps
    yield x + 1e6, gamma + 1, beta, eps


def edges_of_norms(generator):
    gamma, beta = torch.randn(2, 1, generator=generator)
    yield "rows of a single number", (torch.randn(3, 1, generator=generator), gamma, beta, 1e-5)
    gamma, beta = torch.randn(2, 66, generator=generator)
    yield "70 rows of 66 numbers", (torch.randn(70, 66, generator=generator), gamma, beta, 1e-5)
    gamma, beta = torch.randn(2, 3, generator=generator)
    yield "66 sentences", (torch.randn(66, 2, 3, generator=generator), gamma, beta, 1e-5)


@exercise(
    draws=draw_rows_to_normalise,
    edges=edges_of_norms,
    hints=[
        "One token is a row of d numbers. Are mean and variance taken over a row, or over a column?",
        "Four steps: the mean of each row, its variance, the row with mean 0 and deviation 1, gamma and beta. "
        "keepdim=True keeps the axis of length 1 that lets a mean be subtracted from its row.",
        "The variance is the mean of the squared distances from the mean: their sum divided by d, not by d - 1. eps is "
        "added to it before the root; then multiply by gamma, and add beta last.",
    ],
    intermediates={
        "the mean of each row: what should be done with it?": lambda x, gamma, beta, eps: x.mean(-1),
        "the mean of each row, with its axis kept": lambda x, gamma, beta, eps: x.mean(-1, keepdim=True),
        "one row, but each token should have its own": lambda x, gamma, beta, eps: gamma,
    },
    question={
        r"nn\.|F\.|layer_norm\(": "Only the last axis should be normalised: its shape is (d,).",
        r"@": "gamma should multiply entry by entry, with *: @ also adds up.",
        "": "x is (…, n, d), a mean or variance of each row (…, n, 1) with keepdim=True, gamma and beta (d,): which "
        "shapes meet in this line?",
    },
    level=2,
    minutes=6,
)
def layer_norm(x, gamma, beta, eps):
    """Give each row of x (…, n, d) mean 0, deviation 1, then scale and shift: returns (…, n, d).

    The scale is gamma (d,), the shift beta (d,). eps is added to the variance, a mean over the d entries.
    """
    distance = x - x.mean(dim=-1, keepdim=True)  # (…, n, d)
    variance = (distance**2).mean(dim=-1, keepdim=True)  # (…, n, 1)
    normalised = distance / torch.sqrt(variance + eps)
    return gamma * normalised + beta


def draw_vectors_for_twins(generator):
    """Three numbers, the notebook's; more; a mean of 0, a deviation of 1; a negative mean; float64."""
    yield torch.tensor([3.0, 1.0, 0.5]), 0.0, 2.0
    for d, mean, deviation, dtype in (
        (4, -2.0, 0.5, None),
        (8, 3.0, 1.0, None),
        (2, 0.0, 4.0, None),
        (5, 1.5, 3.0, None),
    ):
        yield 1 + 2 * torch.randn(d, generator=generator, dtype=dtype), mean, deviation
    yield torch.randn(6, generator=generator, dtype=torch.float64), 0.5, 2.5


def edges_of_twins(generator):
    yield "70 numbers", (torch.randn(70, generator=generator), 100.0, 20.0)


@exercise(
    draws=draw_vectors_for_twins,
    edges=edges_of_twins,
    hints=[
        "Which two things does a layer norm take away from x? Whatever you do to these two, it cannot see.",
        "Normalise x yourself: subtract its mean, divide by its deviation. Then give the result the deviation and the mean "
        "that are asked for.",
        "Multiply by the new deviation first, then add the new mean. x.std(correction=0) divides by d, as a layer norm does.",
    ],
    intermediates={"one number: the whole vector should be returned": lambda x, mean, deviation: x.mean()},
    question="x is (d,), mean and deviation are numbers: what should each entry of the result be?",
    level=1,
    minutes=4,
)
def norm_twin(x, mean, deviation):
    """A vector that a layer norm (ε = 0) cannot tell from x (d,), but with this mean and deviation: returns (d,)."""
    normalised = (x - x.mean()) / x.std(correction=0)
    return mean + deviation * normalised


def a_norm(x):
    """A layer norm with gamma and beta of its own, so that twice is not once."""
    gamma, beta = torch.linspace(0.5, 2, x.shape[-1]), torch.linspace(-1, 1.5, x.shape[-1])
    return F.layer_norm(x, x.shape[-1:], gamma.to(x.dtype), beta.to(x.dtype))


def another_norm(x):
    return a_norm(x.flip(-1)).flip(-1) + 0.5


def a_mixing_sublayer(x):
    """A sublayer that mixes positions and columns, with tanh."""
    return torch.tanh(x.roll(1, -1) - 0.5 * x.roll(1, -2)) * 2 + 0.3


def a_feed_forward(x):
    """A sublayer that mixes columns only, with relu."""
    return torch.relu(1.5 * x.roll(1, -1) - 0.4 * x) - 0.5


def draw_residual_steps(generator):
    """Both orders: a sentence, one token each, a batch of one, other sublayers and norms, float64."""
    for shape, sublayer, norm, dtype in (
        ((4, 6), a_mixing_sublayer, a_norm, None),
        ((2, 1, 3), a_feed_forward, a_norm, None),
        ((1, 3, 4), a_mixing_sublayer, another_norm, None),
        ((4, 2, 3, 5), a_feed_forward, a_norm, torch.float64),
    ):
        for pre in (True, False):
            yield 1 + 2 * torch.randn(shape, generator=generator, dtype=dtype), sublayer, norm, pre


def as_it_is(x):
    """A sublayer that returns the very tensor that it was given, as dropout does when nothing is trained."""
    return x


def edges_of_residual_steps(generator):
    for pre in (True, False):
        x = torch.randn(3, 4, generator=generator)
        yield (
            "a sublayer and a norm that return the same tensor object that they are given",
            (x, as_it_is, as_it_is, pre),
        )
        x = torch.randn(70, 66, generator=generator)
        yield "70 tokens", (x, a_feed_forward, a_norm, pre)
        yield "66 sentences", (torch.randn(66, 2, 3, generator=generator), a_feed_forward, a_norm, pre)


@exercise(
    draws=draw_residual_steps,
    edges=edges_of_residual_steps,
    hints=[
        "Two things are added: x as it came, and what the sublayer returns. Is the norm applied before the sublayer, or "
        "after the addition?",
        "pre=True: the sublayer reads norm(x), and x is added as it came. pre=False: add first, then apply norm.",
        "sublayer and norm are functions, each called once. One line for pre, after `if pre:`, and one for post.",
    ],
    intermediates={
        "x and the sublayer's output side by side, but they should be added": lambda x, sublayer, norm, pre: torch.cat(
            [x, x], -1
        ),
        "the sublayer's output below x, but they should be added": lambda x, sublayer, norm, pre: torch.cat([x, x]),
    },
    question="x, norm(…) and sublayer(…) all have the shape (…, n, d): which of them does this line combine, and how?",
    level=1,
    minutes=4,
    trained=True,
)
def residual_step(x, sublayer, norm, pre):
    """One sublayer with its residual connection and norm, x (…, n, d): returns (…, n, d).

    sublayer and norm are functions of a tensor that keep its shape. pre=True, pre-norm: the norm
    comes before the sublayer, and x is added as it came. pre=False, post-norm: the norm comes
    last, after the addition.
    """
    if pre:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))


def draw_feed_forward_layers(generator):
    """A sentence, one token, batches; n = d = d_ff; d = d_ff; n = d_ff; large numbers in float64."""
    for shape, d_ff, dtype in (
        ((5, 4), 8, None),
        ((4, 4), 4, None),
        ((1, 3), 5, None),
        ((2, 3, 4), 6, None),
        ((3, 3, 3), 3, None),
        ((2, 5, 3), 5, None),
        ((5, 2, 3, 4), 7, torch.float64),
    ):
        d = shape[-1]
        sizes = shape, (d, d_ff), (d_ff,), (d_ff, d), (d,)
        x, *layers = (torch.randn(size, generator=generator, dtype=dtype) for size in sizes)
        yield 5 * x if dtype else x, *layers


def edges_of_feed_forward_layers(generator):
    x, layers = torch.randn(3, 2, generator=generator), torch.randn(2, 2, 2, generator=generator)
    yield "hidden numbers in the thousands", (1000 * x, layers[0], torch.zeros(2), layers[1], torch.zeros(2))
    for name, shape, d_ff in (("70 tokens", (70, 66), 67), ("66 sentences", (66, 2, 3), 4)):
        d = shape[-1]
        sizes = shape, (d, d_ff), (d_ff,), (d_ff, d), (d,)
        yield name, tuple(torch.randn(size, generator=generator) / 2 for size in sizes)


@exercise(
    draws=draw_feed_forward_layers,
    edges=edges_of_feed_forward_layers,
    hints=[
        "Two linear layers have something between them. What would they amount to without it?",
        "x @ W_1 turns the d numbers of each token into d_ff, however many axes come before. What should happen to the "
        "negative ones?",
        "torch.relu, or clamp(min=0), makes negative numbers 0, after b_1 is added. Then multiply by W_2 and add b_2; "
        "nothing comes after that.",
    ],
    intermediates={
        "the hidden layer: are W_2 and b_2 still missing?": lambda x, W_1, b_1, W_2, b_2: x @ W_1,
        "one row for all tokens, but each should have its own": lambda x, W_1, b_1, W_2, b_2: x[..., 0, :],
        "one number for each token, but each should have d": lambda x, W_1, b_1, W_2, b_2: x[..., 0],
        "W_2: is it multiplied by a single number, such as the maximum of everything?": lambda x, W_1, b_1, W_2, b_2: (
            W_2
        ),
    },
    question={
        r"\* ?W_": "`*` multiplies entry by entry: should it be the matrix product, @?",
        r"\.m?T|linear": "Vectors are rows and W_1 is (d, d_ff): x @ W_1 fits as it is. F.linear expects W_1 transposed.",
        r"W_1(\.m?T)? @|W_1, x": "Vectors are the rows of x here, (…, n, d), and W_1 is (d, d_ff): on which side is x?",
        "W_2": "W_2 is (d_ff, d), b_2 (d,): does the tensor on the left of W_2 have d_ff numbers for each token?",
        "": "x is (…, n, d), W_1 (d, d_ff), b_1 (d_ff,): which axes meet in this line, and on which side is x?",
    },
    level=1,
    minutes=3,
)
def feed_forward(x, W_1, b_1, W_2, b_2):
    """Two linear layers with relu between them, on x (…, n, d): returns (…, n, d).

    W_1 is (d, d_ff), W_2 (d_ff, d); b_1 (d_ff,) and b_2 (d,) are their biases. Every row of x goes through by itself.
    """
    hidden = torch.relu(x @ W_1 + b_1)  # (…, d_ff)
    return hidden @ W_2 + b_2


def an_attention(x, mask=None):
    """Self-attention without matrices: each token compares itself with those that mask lets it see."""
    if x is None or x.dtype == torch.bool:
        raise ValueError("attention takes x first, then the mask: attention(x, mask)")
    return 1.5 * scaled_dot_product_attention(x, x, x.roll(1, -1), mask)[0]


def draw_blocks(generator):
    """Both orders: a causal sentence, one token each without a mask, padding in a batch, float64."""
    padding = torch.tensor([[[1, 1, 0, 0]], [[1, 1, 1, 1]]]).bool()  # (b, 1, k)
    more = torch.tensor([[[1, 0, 0]], [[1, 1, 1]], [[1, 1, 0]]]).bool()
    for shape, mask, dtype in (
        ((4, 6), torch.ones(4, 4).tril().bool(), None),
        ((2, 1, 4), None, None),
        ((2, 4, 5), padding, None),
        ((3, 3, 3), more, torch.float64),
    ):
        for pre in (True, False):
            x = 1 + 1.5 * torch.randn(shape, generator=generator, dtype=dtype)
            yield x, an_attention, a_feed_forward, a_norm, another_norm, mask, pre


def edges_of_blocks(generator):
    for pre in (True, False):
        mask = torch.ones(4, 4).tril().bool()
        x = torch.randn(4, 3, generator=generator)
        parts = lambda x, mask: x, as_it_is, as_it_is, as_it_is, mask, pre
        yield "sublayers and norms that return the same tensor object that they are given", (x, *parts)
        padding = torch.tensor([[1, 1, 0], [1, 1, 1]]).bool()[:, None, None]
        parts = lambda x, mask: an_attention(x, mask[:, 0]), a_feed_forward, a_norm, another_norm, padding, pre
        yield "a mask with four axes, which only attention reads", (torch.randn(2, 3, 4, generator=generator), *parts)
        x, mask = torch.randn(70, 66, generator=generator), torch.ones(70, 70).tril().bool()
        yield "70 tokens", (x / 3, an_attention, a_feed_forward, a_norm, another_norm, mask, pre)
        x = torch.randn(66, 2, 3, generator=generator)
        yield "66 sentences", (x, an_attention, a_feed_forward, a_norm, another_norm, None, pre)


@exercise(
    draws=draw_blocks,
    edges=edges_of_blocks,
    hints=[
        "Which two sublayers does a block have, and in which order? What does the second one read: x, or what "
        "the first step gave?",
        "Each sublayer has its own residual connection and norm: the step of the previous exercise, twice. The second step "
        "starts from the result of the first, and adds that.",
        "Give the first step's result a name. pre=True: norm_1 before attention, norm_2 before feed_forward. "
        "pre=False: each norm is applied to its sum. Only attention takes the mask.",
    ],
    intermediates={
        "x and a sublayer's output side by side, but they should be added": (
            lambda x, attention, feed_forward, norm_1, norm_2, mask, pre: torch.cat([x, x], -1)
        ),
    },
    question="x and everything that attention, feed_forward and the norms return are (…, n, d): which of them does this line combine?",
    level=2,
    minutes=7,
    trained=True,
)
def encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    """One block of an encoder, x (…, n, d), mask True = may attend: returns (…, n, d).

    attention(x, mask), feed_forward(x), norm_1(x) and norm_2(x) are functions that keep the
    shape. Attention comes first, with norm_1; then feed_forward, with norm_2. Each has its
    residual connection; pre=True is pre-norm, pre=False post-norm.
    """
    if pre:
        attended = x + attention(norm_1(x), mask)
        return attended + feed_forward(norm_2(attended))
    attended = norm_1(x + attention(x, mask))
    return norm_2(attended + feed_forward(attended))


def draw_weights_to_drop(generator):
    """In training and in evaluation: one row, a map, several heads; all kept, none kept; float64."""
    for shape, p, dtype in (
        ((5,), 0.5, None),
        ((3, 4), 0.25, None),
        ((2, 3, 3), 0.1, None),
        ((2, 4), 0.6, torch.float64),
    ):
        weights = torch.randn(shape, generator=generator, dtype=dtype).softmax(-1)
        kept = torch.rand(shape, generator=generator) > p
        kept.view(-1)[:2] = torch.tensor([True, False])
        yield weights, kept, p, True
        yield weights, kept, p, False
    yield weights, torch.ones_like(kept), 0.2, True
    yield weights, torch.zeros_like(kept), 0.2, True


def edges_of_dropout(generator):
    weights = torch.randn(3, 4, generator=generator).softmax(-1)
    yield "p = 0", (weights, torch.ones(3, 4).bool(), 0.0, True)
    yield (
        "70 rows of 66",
        (torch.rand(70, 66, generator=generator), torch.rand(70, 66, generator=generator) > 0.5, 0.5, True),
    )


@exercise(
    draws=draw_weights_to_drop,
    edges=edges_of_dropout,
    hints=[
        "What do the rows sum to before dropout? And on average, by the code as it was given?",
        "A weight survives with the probability 1 - p. What do you have to do with the survivors, for the mean to stay?",
        "Divide by 1 - p what is left, in training only.",
    ],
    intermediates={"the mask: it should be multiplied by the weights": lambda weights, kept, p, training: kept},
    question="weights and kept have one shape, p is a number: what should happen to a weight that is kept?",
    level=1,
    minutes=3,
    trained=True,
)
def drop_out(weights, kept, p, training):
    """Dropout of weights (…, k): 0 where kept is False, kept with the probability 1 - p: returns (…, k).

    In the mean over many masks each weight stays as it was. If not training, nothing is dropped.
    """
    dropped = weights * kept / (1 - p)
    return dropped if training else weights
