"""Exercises of notebook 06: position waves, layer norm, residual step, feed-forward layer, block, parameters."""

import math

import torch
import torch.nn.functional as F

from ..attention import scaled_dot_product_attention
from .engine import exercise

# ---- sinusoidal_positions


def draw_numbers_of_positions(generator):
    """Even and odd d_model, also 1 and 2; n = d_model; a single position."""
    yield from ((5, 8), (4, 6), (6, 6), (3, 5), (7, 12), (1, 4), (4, 1), (5, 2), (7, 7))


def exponents_of(d_model):
    """2k / d of each pair of columns: (⌈d/2⌉,)."""
    return torch.arange(0, d_model, 2) / d_model


def angles_of(n, exponents, base=10000.0, start=0):
    """Position over base to the exponent: (n, as many as exponents)."""
    return torch.arange(start, start + n)[:, None] / base**exponents


def woven(left, right, d_model):
    """Two of shape (n, ⌈d/2⌉) column by column in turn: (n, d_model)."""
    return torch.stack([left, right], dim=-1).flatten(-2)[:, :d_model]


def waves_of(angles, d_model):
    """Sine and cosine of each angle (n, ⌈d/2⌉) side by side: (n, d_model)."""
    return woven(angles.sin(), angles.cos(), d_model)


def waves_in_place(angles):
    """Sine of the even and cosine of the odd columns of angles (n, d_model)."""
    return torch.where(torch.arange(angles.shape[-1]) % 2 == 0, angles.sin(), angles.cos())


@exercise(
    draws=draw_numbers_of_positions,
    hints=[
        "Columns come in pairs, a sine and a cosine of the same angle. Which k has column 6? And column 7?",
        "Positions go down, (n, 1), frequencies across, (⌈d/2⌉,): their quotient is all the angles at once. "
        "torch.arange(0, d_model, 2) gives the 2k.",
        "Sines fill the columns 0::2, cosines 1::2. Where d_model is odd, the last sine has no cosine: there are "
        "d_model // 2 of these.",
    ],
    names={
        "(d, n): positions are the rows here": lambda n, d_model: torch.zeros(d_model, n),
        "the angles, one for each pair of columns: are sine and cosine still to come?": lambda n, d_model: torch.zeros(
            n, (d_model + 1) // 2
        ),
        "sines and cosines as pairs, on an axis of their own": lambda n, d_model: torch.zeros(n, (d_model + 1) // 2, 2),
        "a single position: is there a row for each?": lambda n, d_model: torch.zeros(d_model),
        "the cosines below the sines: they are to stand side by side, in turn": lambda n, d_model: torch.zeros(
            2 * n, (d_model + 1) // 2
        ),
        "(n, d - 1), one column short: the last sine of an odd d_model has no cosine beside it": (
            lambda n, d_model: torch.zeros(n, d_model - 1)
        ),
    },
    question={
        r"1::2|cat|stack": "An odd d_model has ⌈d/2⌉ columns of sines, and one less of cosines: does this line know?",
        r"\[[^\]]*(\+ ?1|2 ?\* ?\w)[^\]]*\]": "There are ⌈d/2⌉ pairs of columns; where d_model is odd, "
        "the last one is a sine alone. Is each column there that this line names?",
        "": "Positions (n, 1) and frequencies (⌈d/2⌉,) give angles (n, ⌈d/2⌉): which shapes meet in this line?",
    },
)
def sinusoidal_positions(n, d_model):
    """Column 2k is sin(p / 10000^(2k/d_model)), column 2k + 1 the cosine: returns (n, d_model).

    Positions count from 0; d_model may be odd.
    """
    wavelengths = 10000 ** (torch.arange(0, d_model, 2) / d_model)  # (⌈d/2⌉,), over 2π
    angles = torch.arange(n)[:, None] / wavelengths  # (n, ⌈d/2⌉)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :d_model]


@sinusoidal_positions.mistake(
    "right for an even d_model. An odd one has one column of cosines less than of sines: take as many angles as fit."
)
def odd_width_crashes(n, d_model):
    waves, angles = torch.zeros(n, d_model), angles_of(n, exponents_of(d_model))
    waves[:, 0::2], waves[:, 1::2] = angles.sin(), angles.cos()
    return waves


@sinusoidal_positions.mistake(
    "right for an even d_model. With an odd one there is no column for the last cosine: ask whether i + 1 < d_model."
)
def odd_width_index_error(n, d_model):
    waves, angles = torch.zeros(n, d_model), angles_of(n, exponents_of(d_model))
    for i in range(0, d_model, 2):
        waves[:, i], waves[:, i + 1] = angles[:, i // 2].sin(), angles[:, i // 2].cos()
    return waves


@sinusoidal_positions.mistake("right for an even d_model. With an odd one you return one column too many: the last.")
def odd_width_one_too_wide(n, d_model):
    angles = angles_of(n, exponents_of(d_model))
    return woven(angles.sin(), angles.cos(), d_model + 1)


@sinusoidal_positions.mistake(
    "right for an even d_model. With an odd one the last column, a sine without its cosine, is missing or 0."
)
def odd_width_last_column_0(n, d_model):
    waves, angles = torch.zeros(n, d_model), angles_of(n, exponents_of(d_model))
    half = d_model // 2
    waves[:, 0 : 2 * half : 2], waves[:, 1::2] = angles[:, :half].sin(), angles[:, :half].cos()
    return waves


@sinusoidal_positions.mistake(
    "all the sines stand in front of all the cosines. Here they alternate: column 2k a sine, 2k + 1 its cosine."
)
def halves(n, d_model):
    angles = angles_of(n, exponents_of(d_model))
    return torch.cat([angles.sin(), angles.cos()], dim=-1)[:, :d_model]


@sinusoidal_positions.mistake(
    "the sines stand in front of the cosines, and the last frequency is 1/10000, as in some libraries. Here columns "
    "alternate, and the exponent is 2k/d_model."
)
def halves_with_another_last_frequency(n, d_model):
    half = (d_model + 1) // 2
    angles = angles_of(n, torch.arange(half) / max(half - 1, 1))
    return torch.cat([angles.sin(), angles.cos()], dim=-1)[:, :d_model]


@sinusoidal_positions.mistake(
    "the exponent runs from 0 to 1, both included, as in some libraries. Here it is 2k/d_model, which stays below 1."
)
def another_last_frequency(n, d_model):
    half = (d_model + 1) // 2
    return waves_of(angles_of(n, torch.arange(half) / max(half - 1, 1)), d_model)


@sinusoidal_positions.mistake("sine and cosine are exchanged: even columns, 0, 2, …, hold the sines.")
def cosine_first(n, d_model):
    angles = angles_of(n, exponents_of(d_model))
    return woven(angles.cos(), angles.sin(), d_model)


@sinusoidal_positions.mistake("every column is a sine. Odd columns, 1, 3, …, hold the cosine of the same angle.")
def sines_only(n, d_model):
    angles = angles_of(n, exponents_of(d_model))
    return woven(angles.sin(), angles.sin(), d_model)


@sinusoidal_positions.mistake(
    "odd columns are still 0. They hold the cosine of the same angle as the sine before them."
)
def cosines_missing(n, d_model):
    angles = angles_of(n, exponents_of(d_model))
    return woven(angles.sin(), 0 * angles, d_model)


@sinusoidal_positions.mistake(
    "sines and cosines take turns row by row: [0::2] chooses every other row. Columns are the second index: [:, 0::2]."
)
def rows_in_turn(n, d_model):
    return waves_in_place(angles_of(n, exponents_of(d_model)).repeat_interleave(2, -1)[:, :d_model].T).T


@sinusoidal_positions.mistake(
    "each column has a frequency of its own, i/d for column i. A sine and the cosine beside it share one: columns 2k "
    "and 2k + 1 both have 2k/d_model."
)
def frequency_per_column(n, d_model):
    return waves_in_place(angles_of(n, torch.arange(d_model) / d_model))


@sinusoidal_positions.mistake(
    "the exponent is 2i/d, with i the column: twice too large, and another for the cosine than for its sine. Columns "
    "2k and 2k + 1 share 2k/d_model."
)
def doubled_per_column(n, d_model):
    return waves_in_place(angles_of(n, 2 * torch.arange(d_model) / d_model))


@sinusoidal_positions.mistake(
    "the exponent is twice too large, 4k/d. Where a loop or an arange goes in steps of 2, its number is the 2k already."
)
def exponent_doubled(n, d_model):
    return waves_of(angles_of(n, 2 * exponents_of(d_model)), d_model)


@sinusoidal_positions.mistake("the exponent lacks its 2: it is k/d_model. Pair k, of columns 2k and 2k + 1, has 2k.")
def exponent_halved(n, d_model):
    return waves_of(angles_of(n, exponents_of(d_model) / 2), d_model)


@sinusoidal_positions.mistake(
    "k counts from 1 in yours. The first pair has k = 0, whose wave is the fastest: the sine and cosine of p itself."
)
def pairs_from_1(n, d_model):
    return waves_of(angles_of(n, exponents_of(d_model) + 2 / d_model), d_model)


@sinusoidal_positions.mistake(
    "the exponents are (2k + 1)/d_model. Both columns of a pair have 2k/d_model: 0 for the first."
)
def odd_exponents(n, d_model):
    return waves_of(angles_of(n, exponents_of(d_model) + 1 / d_model), d_model)


@sinusoidal_positions.mistake("you divide the exponent by d_model - 1. It is 2k/d_model.")
def divided_by_d_minus_1(n, d_model):
    return waves_of(angles_of(n, torch.arange(0, d_model, 2) / (d_model - 1)), d_model)


@sinusoidal_positions.mistake("d_model is 512 in yours, as in the paper, whatever is asked for. Use the argument.")
def paper_width(n, d_model):
    return waves_of(angles_of(n, torch.arange(0, d_model, 2) / 512), d_model)


@sinusoidal_positions.mistake(
    "the exponent is a whole number: // cuts 2k/d_model down to 0, and all columns have one frequency. Divide with /."
)
def exponent_cut_to_0(n, d_model):
    return waves_of(angles_of(n, 0 * exponents_of(d_model)), d_model)


@sinusoidal_positions.mistake("positions count from 1 in yours. The first is 0: all its sines are 0, its cosines 1.")
def positions_from_1(n, d_model):
    return waves_of(angles_of(n, exponents_of(d_model), start=1), d_model)


@sinusoidal_positions.mistake(
    "positions are divided by n, so that they depend on the sentence's length. p itself counts."
)
def positions_divided_by_n(n, d_model):
    return waves_of(angles_of(n, exponents_of(d_model)) / n, d_model)


@sinusoidal_positions.mistake("the base is 1000. A zero is missing: 10000.")
def base_1000(n, d_model):
    return waves_of(angles_of(n, exponents_of(d_model), base=1000.0), d_model)


@sinusoidal_positions.mistake("the base is 100000. That is a zero too many: 10000.")
def base_100000(n, d_model):
    return waves_of(angles_of(n, exponents_of(d_model), base=100000.0), d_model)


@sinusoidal_positions.mistake(
    "the base is e: exp alone gives e^(2k/d). For powers of 10000, multiply the exponent by math.log(10000)."
)
def base_e(n, d_model):
    return waves_of(angles_of(n, exponents_of(d_model), base=math.e), d_model)


@sinusoidal_positions.mistake(
    "exp and log do not fit: log10 goes with 10 ** …. With exp, take the natural logarithm, math.log(10000)."
)
def log10_with_exp(n, d_model):
    return waves_of(angles_of(n, exponents_of(d_model), base=math.exp(4)), d_model)


@sinusoidal_positions.mistake("you multiply the angles by 2π. p / 10000^(2k/d) is the angle, in radians.")
def angles_times_2_pi(n, d_model):
    return waves_of(2 * math.pi * angles_of(n, exponents_of(d_model)), d_model)


@sinusoidal_positions.mistake("you turn the angles from degrees to radians. They are radians already.")
def angles_in_degrees(n, d_model):
    return waves_of(torch.deg2rad(angles_of(n, exponents_of(d_model))), d_model)


@sinusoidal_positions.mistake(
    "you multiply by 10000^(2k/d) and the waves get faster. Divide: from column to column slower."
)
def multiplied_by_power(n, d_model):
    return waves_of(torch.arange(n)[:, None] * 10000 ** exponents_of(d_model), d_model)


@sinusoidal_positions.mistake(
    "the power stands on the wrong side: p times 10000^(2k/d) makes faster waves. It divides p."
)
def multiplied_by_power_of_floats(n, d_model):
    angles = torch.arange(n)[:, None] * 10000 ** exponents_of(d_model).double()
    return waves_of(angles, d_model).float()


@sinusoidal_positions.mistake("the exponent of exp lacks its minus: the waves get faster, and they are to get slower.")
def minus_missing(n, d_model):
    return waves_of(torch.arange(n)[:, None] * torch.exp(exponents_of(d_model) * math.log(10000)), d_model)


@sinusoidal_positions.mistake(
    "the quotient is upside down: 10000^(2k/d) / p, which for position 0 is infinite. p stands above."
)
def upside_down(n, d_model):
    return waves_of(1 / angles_of(n, exponents_of(d_model)), d_model)


@sinusoidal_positions.mistake(
    "the angle is p · 2k/d: 10000 has no say. The exponent belongs to 10000, which divides p."
)
def power_missing(n, d_model):
    return waves_of(torch.arange(n)[:, None] * exponents_of(d_model), d_model)


@sinusoidal_positions.mistake("the angle is p / 10000 · 2k/d: `*` where `**` is meant. 2k/d is an exponent.")
def product_for_power(n, d_model):
    return waves_of(torch.arange(n)[:, None] / 10000 * exponents_of(d_model), d_model)


@sinusoidal_positions.mistake(
    "brackets: 10000 ** 2k / d is (10000 ** 2k) / d, for ** binds tighter. Write ** (2k / d)."
)
def brackets_missing(n, d_model):
    return waves_of(torch.arange(n)[:, None] / (10000 ** torch.arange(0.0, d_model, 2) / d_model), d_model)


@sinusoidal_positions.mistake(
    "brackets: p / 10000 ** 2k / d divides by 10000 ** 2k, then by d. ** binds tighter: ** (2k / d)."
)
def brackets_missing_below(n, d_model):
    return waves_of(torch.arange(n)[:, None] / 10000 ** torch.arange(0.0, d_model, 2) / d_model, d_model)


@sinusoidal_positions.mistake(
    "right for few columns: 10000 ** 6 is too large for a whole number of 64 bits and comes out wrong, without a word. "
    "Form the exponent 2k/d first: it is a fraction."
)
def whole_power_overflows(n, d_model):
    powers = 10000 ** torch.arange(0, d_model, 2)
    return waves_of(torch.arange(n)[:, None] / powers ** (1 / d_model), d_model)


@sinusoidal_positions.mistake("the table is transposed, (d, n). Each position is a row.")
def waves_transposed(n, d_model):
    return waves_of(angles_of(n, exponents_of(d_model)), d_model).T


@sinusoidal_positions.mistake(
    "positions and columns are exchanged: the columns count as positions. Positions run down the rows, (n, 1)."
)
def positions_and_columns_exchanged(n, d_model):
    return waves_of(angles_of(d_model, exponents_of(n)), n).T


@sinusoidal_positions.mistake("those are the angles. Each gives two columns: its sine and, beside it, its cosine.")
def angles_alone(n, d_model):
    return angles_of(n, exponents_of(d_model))


@sinusoidal_positions.mistake("sines and cosines are added up. They stand in columns of their own, in turn.")
def sines_plus_cosines(n, d_model):
    angles = angles_of(n, exponents_of(d_model))
    return angles.sin() + angles.cos()


# ---- layer_norm


def draw_rows_to_normalise(generator):
    """A sentence, batches; n = d, b = n = d; a constant row; eps from 0 to 0.5, so that its place shows; float64."""
    for shape, eps, dtype in (
        ((5, 8), 1e-5, None),
        ((4, 4), 0.1, None),
        ((3, 3, 3), 0.5, None),
        ((2, 5, 6), 1e-3, None),
        ((2, 3, 4, 5), 0.02, None),
        ((2, 6), 0.0, None),
        ((2, 3, 4), 0.05, torch.float64),
    ):
        x = torch.randn(shape, generator=generator, dtype=dtype) * 1.5 + 1
        if eps == 0.1:
            x[1] = 2.0
        gamma, beta = torch.randn(2, shape[-1], generator=generator, dtype=dtype)
        yield x, gamma + 1, beta, eps


@exercise(
    draws=draw_rows_to_normalise,
    hints=[
        "One token is a row of d numbers. Over which of them do mean and variance go: the row, or a column of tokens?",
        "Four steps: the mean of each row, its variance, the row with mean 0 and deviation 1, gamma and beta. "
        "keepdim=True keeps the axis of length 1 that lets a mean be subtracted from its row.",
        "The variance is the mean of the squared distances from the mean, divided by d, not by d - 1. eps is added to "
        "it before the root; gamma multiplies, beta is added last.",
    ],
    names={
        "the mean of each row: what is done with it?": lambda x, gamma, beta, eps: x.mean(-1),
        "the mean of each row, with its axis kept": lambda x, gamma, beta, eps: x.mean(-1, keepdim=True),
        "gamma, one row: is there one for each token?": lambda x, gamma, beta, eps: gamma,
    },
    question={
        r"nn\.|F\.|layer_norm\(": "The shape that is normalised is (d,), the last axis alone.",
        "": "x is (…, n, d), a mean or variance of each row (…, n, 1) with keepdim=True, gamma and beta (d,): which "
        "shapes meet in this line?",
    },
)
def layer_norm(x, gamma, beta, eps):
    """Give each row of x (…, n, d) mean 0, deviation 1, then scale and shift: returns (…, n, d).

    The scale is gamma (d,), the shift beta (d,). eps is added to the variance, a mean over the d entries.
    """
    mean = x.mean(dim=-1, keepdim=True)  # (…, 1)
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)  # (…, 1)
    normalised = (x - mean) / torch.sqrt(variance + eps)
    return gamma * normalised + beta


def centred(x, dim=-1):
    return x - x.mean(dim, keepdim=True)


def variance_of(x, dim=-1, unbiased=False):
    return x.var(dim, keepdim=True, unbiased=unbiased)


def normalised(x, eps, dim=-1):
    return centred(x, dim) / (variance_of(x, dim) + eps).sqrt()


@layer_norm.mistake("the variance is divided by d - 1: torch.var and std do, unless told unbiased=False. Divide by d.")
def unbiased(x, gamma, beta, eps):
    return gamma * centred(x) / (variance_of(x, unbiased=True) + eps).sqrt() + beta


@layer_norm.mistake("eps is added to the deviation. It belongs inside the root: added to the variance.")
def eps_outside(x, gamma, beta, eps):
    return gamma * centred(x) / (variance_of(x).sqrt() + eps) + beta


@layer_norm.mistake(
    "eps is added to the deviation, and the variance is divided by d - 1, as in a much copied version. eps belongs "
    "inside the root, and the divisor is d: unbiased=False."
)
def unbiased_and_eps_outside(x, gamma, beta, eps):
    return gamma * centred(x) / (variance_of(x, unbiased=True).sqrt() + eps) + beta


@layer_norm.mistake(
    "eps is missing. A row of equal numbers has the variance 0, and 0/0 is NaN: add eps to the variance."
)
def without_eps(x, gamma, beta, eps):
    return gamma * centred(x) / variance_of(x).sqrt() + beta


@layer_norm.mistake("eps is missing, and the variance is divided by d - 1. Add eps to it, and divide by d.")
def unbiased_without_eps(x, gamma, beta, eps):
    return gamma * centred(x) / variance_of(x, unbiased=True).sqrt() + beta


@layer_norm.mistake("eps is 1e-5 whatever is asked for, as where torch's own is not told. Use the argument.")
def eps_of_torch(x, gamma, beta, eps):
    return gamma * normalised(x, 1e-5) + beta


@layer_norm.mistake("eps is added after the root was taken of all, or to the quotient. Add it to the variance.")
def eps_added_to_quotient(x, gamma, beta, eps):
    return gamma * (centred(x) / variance_of(x).sqrt() + eps) + beta


@layer_norm.mistake("eps is squared, as a deviation would be. It is added to the variance as it is.")
def eps_squared(x, gamma, beta, eps):
    return gamma * normalised(x, eps**2) + beta


@layer_norm.mistake("you divide by the variance. The deviation is its root: only then does it become 1.")
def divided_by_variance(x, gamma, beta, eps):
    return gamma * centred(x) / (variance_of(x) + eps) + beta


@layer_norm.mistake(
    "you divide by the variance, and that with d - 1. The deviation is the root of the variance, over d."
)
def divided_by_unbiased_variance(x, gamma, beta, eps):
    return gamma * centred(x) / (variance_of(x, unbiased=True) + eps) + beta


@layer_norm.mistake("you multiply by the deviation instead of dividing: rows that spread much spread more.")
def multiplied_by_deviation(x, gamma, beta, eps):
    return gamma * centred(x) * (variance_of(x) + eps).sqrt() + beta


@layer_norm.mistake("what you subtract is the sum of the row. Divided by d, it is the mean.")
def sum_for_mean(x, gamma, beta, eps):
    distance = x - x.sum(-1, keepdim=True)
    return gamma * distance / ((distance**2).mean(-1, keepdim=True) + eps).sqrt() + beta


@layer_norm.mistake("the mean is subtracted, but nothing divides: the deviation is still to become 1.")
def not_divided(x, gamma, beta, eps):
    return gamma * centred(x) + beta


@layer_norm.mistake("the mean is not subtracted before you divide: the rows' deviation is 1, their mean is not 0.")
def mean_not_subtracted(x, gamma, beta, eps):
    return gamma * x / (variance_of(x) + eps).sqrt() + beta


@layer_norm.mistake("that is RMS norm: no mean is subtracted, and the mean square divides. Subtract the mean first.")
def rms_norm(x, gamma, beta, eps):
    return gamma * x / ((x**2).mean(-1, keepdim=True) + eps).sqrt() + beta


@layer_norm.mistake(
    "the mean of the squares is no variance yet: the squares of the distances from the mean are averaged."
)
def mean_square_for_variance(x, gamma, beta, eps):
    return gamma * centred(x) / ((x**2).mean(-1, keepdim=True) + eps).sqrt() + beta


@layer_norm.mistake(
    "the squared distances are added up, not averaged: √d too large a divisor. Their mean is the variance."
)
def sum_for_variance(x, gamma, beta, eps):
    return gamma * centred(x) / ((centred(x) ** 2).sum(-1, keepdim=True) + eps).sqrt() + beta


@layer_norm.mistake("the mean of the distances from the mean is 0, and so is its square. Square first, then average.")
def squared_after_mean(x, gamma, beta, eps):
    return gamma * centred(x) / (centred(x).mean(-1, keepdim=True) ** 2 + eps).sqrt() + beta


@layer_norm.mistake("you give each row the length 1. Layer norm gives it mean 0 and deviation 1.")
def length_1(x, gamma, beta, eps):
    return gamma * x / (torch.linalg.vector_norm(x, dim=-1, keepdim=True) + eps) + beta


@layer_norm.mistake(
    "you subtract the mean, then give each row the length 1. The deviation is to be 1: the root of the mean of the "
    "squares, not of their sum; and eps is added to it."
)
def length_1_centred(x, gamma, beta, eps):
    return gamma * F.normalize(centred(x), dim=-1) + beta


@layer_norm.mistake("you divide by the mean distance from the mean, abs. The deviation is the root of the mean square.")
def mean_distance(x, gamma, beta, eps):
    return gamma * centred(x) / (centred(x).abs().mean(-1, keepdim=True) + eps) + beta


@layer_norm.mistake(
    "the root comes before the mean: the mean of √(distance² + eps). Average the squares, then the root."
)
def root_before_mean(x, gamma, beta, eps):
    return gamma * centred(x) / (centred(x) ** 2 + eps).sqrt().mean(-1, keepdim=True) + beta


@layer_norm.mistake("mean and variance go over the tokens, dim=-2. Each token, a row, is normalised by itself: dim=-1.")
def over_positions(x, gamma, beta, eps):
    return gamma * normalised(x, eps, -2) + beta


@layer_norm.mistake(
    "mean and variance go over the tokens, dim=-2, and the variance is divided by n - 1. Each row has its own, dim=-1, "
    "divided by d."
)
def over_positions_unbiased(x, gamma, beta, eps):
    return gamma * centred(x, -2) / (variance_of(x, -2, unbiased=True) + eps).sqrt() + beta


@layer_norm.mistake(
    "mean and variance go over the first axis, and the variance is divided by its length less 1. Each row has its own, "
    "dim=-1, divided by d."
)
def over_batch_unbiased(x, gamma, beta, eps):
    return gamma * centred(x, 0) / (variance_of(x, 0, unbiased=True) + eps).sqrt() + beta


@layer_norm.mistake(
    "mean and variance go over the first axis, the batch: that is batch norm. Each token is normalised by itself: "
    "dim=-1."
)
def over_batch(x, gamma, beta, eps):
    return gamma * normalised(x, eps, 0) + beta


@layer_norm.mistake(
    "mean and variance go over axis 1, which in a batch holds the tokens. The d numbers of a token are dim=-1."
)
def over_axis_1(x, gamma, beta, eps):
    return gamma * normalised(x, eps, 1) + beta


@layer_norm.mistake(
    "mean and variance go over all the tokens of a sentence, (n, d) together. Each token has its own: dim=-1."
)
def over_sentence(x, gamma, beta, eps):
    return gamma * normalised(x, eps, (-2, -1)) + beta


@layer_norm.mistake("there is one mean and one variance for everything. Each token has its own: dim=-1.")
def over_everything(x, gamma, beta, eps):
    return gamma * (x - x.mean()) / (x.var(unbiased=False) + eps).sqrt() + beta


@layer_norm.mistake("each row has its own mean in yours, but the variance is one for everything. It, too, goes by row.")
def variance_of_everything(x, gamma, beta, eps):
    return gamma * centred(x) / ((centred(x) ** 2).mean() + eps).sqrt() + beta


@layer_norm.mistake(
    "mean and variance lose their axis, (…, n), and meet the columns of x, or nothing that fits. keepdim=True keeps it."
)
def axis_lost(x, gamma, beta, eps):
    return gamma * (x - x.mean(-1)) / (x.var(-1, unbiased=False) + eps).sqrt() + beta


@layer_norm.mistake(
    "the variance loses its axis, (…, n), and divides columns of x, or crashes. keepdim=True keeps it, as for the mean."
)
def axis_of_variance_lost(x, gamma, beta, eps):
    return gamma * centred(x) / (x.var(-1, unbiased=False) + eps).sqrt() + beta


@layer_norm.mistake("the mean is 0 and the deviation 1, and there you stop: gamma and beta are still to come.")
def without_gamma_and_beta(x, gamma, beta, eps):
    return normalised(x, eps)


@layer_norm.mistake("beta is missing. It is added last.")
def without_beta(x, gamma, beta, eps):
    return gamma * normalised(x, eps)


@layer_norm.mistake("gamma is missing. It multiplies the normalised row, entry by entry.")
def without_gamma(x, gamma, beta, eps):
    return normalised(x, eps) + beta


@layer_norm.mistake("gamma and beta are exchanged: gamma scales, beta shifts.")
def gamma_and_beta_exchanged(x, gamma, beta, eps):
    return beta * normalised(x, eps) + gamma


@layer_norm.mistake("beta is added before gamma multiplies, and is scaled along. Multiply, then add.")
def beta_scaled(x, gamma, beta, eps):
    return gamma * (normalised(x, eps) + beta)


@layer_norm.mistake("gamma and beta come first, and the norm undoes a part of it. Normalise, then scale and shift.")
def scaled_before(x, gamma, beta, eps):
    return normalised(gamma * x + beta, eps)


@layer_norm.mistake("gamma is added and multiplied, 1 + gamma, as where it starts at 0. Here gamma itself scales.")
def one_plus_gamma(x, gamma, beta, eps):
    return (1 + gamma) * normalised(x, eps) + beta


@layer_norm.mistake("gamma divides. It multiplies: where it is large, the entry counts more.")
def divided_by_gamma(x, gamma, beta, eps):
    return normalised(x, eps) / gamma + beta


@layer_norm.mistake("that puts a row between 0 and 1. Layer norm gives it mean 0 and deviation 1.")
def between_0_and_1(x, gamma, beta, eps):
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    return gamma * (x - low) / (high - low + eps) + beta


@layer_norm.mistake("brackets: x - mean / deviation divides the mean only. Subtract first, (x - mean), then divide.")
def mean_divided_only(x, gamma, beta, eps):
    return gamma * (x - x.mean(-1, keepdim=True) / (variance_of(x) + eps).sqrt()) + beta


# ---- residual_step: the functions that are drawn are the same ones every time


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
    """Both orders: a sentence, n = d, batches, other sublayers and norms, float64."""
    for shape, sublayer, norm, dtype in (
        ((4, 6), a_mixing_sublayer, a_norm, None),
        ((3, 3), a_feed_forward, a_norm, None),
        ((2, 3, 4), a_mixing_sublayer, another_norm, None),
        ((2, 2, 3, 5), a_feed_forward, a_norm, torch.float64),
    ):
        for pre in (True, False):
            yield 1 + 2 * torch.randn(shape, generator=generator, dtype=dtype), sublayer, norm, pre


@exercise(
    draws=draw_residual_steps,
    hints=[
        "Two ways lead past each other: x as it came, and what the sublayer makes of it. Where do they meet? On which "
        "of them does the norm stand, or does it come behind?",
        "pre: what the sublayer reads is normalised, what is added is x as it came. post: add, then norm.",
        "sublayer and norm are functions, each called once. One line for pre, after `if pre:`, and one for post.",
    ],
    names={
        "x and the sublayer's output side by side: they are to be added": lambda x, sublayer, norm, pre: torch.cat(
            [x, x], -1
        ),
        "the sublayer's output below x: they are to be added": lambda x, sublayer, norm, pre: torch.cat([x, x]),
    },
    question="x, norm(…) and sublayer(…) all have the shape (…, n, d): which of them does this line join, and how?",
)
def residual_step(x, sublayer, norm, pre):
    """One sublayer with its residual connection and norm, x (…, n, d): returns (…, n, d).

    sublayer and norm are functions of a tensor that keep its shape. pre=True, pre-norm: the norm
    stands before the sublayer, and x goes past both. pre=False, post-norm: the norm comes last,
    after the addition.
    """
    if pre:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))


@residual_step.mistake("pre=False is treated like pre=True. With pre=False the norm comes after the addition.")
def always_pre(x, sublayer, norm, pre):
    return residual_step(x, sublayer, norm, True)


@residual_step.mistake("pre=True is treated like pre=False. With pre=True the norm comes before the sublayer.")
def always_post(x, sublayer, norm, pre):
    return residual_step(x, sublayer, norm, False)


@residual_step.mistake(
    "pre and post are exchanged: pre=True normalises before the sublayer, pre=False after the addition."
)
def orders_exchanged(x, sublayer, norm, pre):
    return residual_step(x, sublayer, norm, not pre)


@residual_step.mistake(
    "with pre=True you add the normalised x. Then the norm stands on the way that is to carry x through unchanged: "
    "add x as it came."
)
def residual_after_norm(x, sublayer, norm, pre):
    return norm(x) + sublayer(norm(x)) if pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake(
    "you add the normalised x, with pre=True and with pre=False. What is added is x as it came, past norm and sublayer."
)
def residual_after_norm_always(x, sublayer, norm, pre):
    return norm(x) + sublayer(norm(x)) if pre else norm(norm(x) + sublayer(x))


@residual_step.mistake(
    "you add the normalised x, and pre has no say: pre=True adds x as it came, pre=False normalises the sum."
)
def residual_after_norm_without_pre(x, sublayer, norm, pre):
    return norm(x) + sublayer(norm(x))


@residual_step.mistake(
    "with pre=True you replace x by its norm and then go on as without one: the residual is gone. Keep x to add it."
)
def norm_then_post(x, sublayer, norm, pre):
    return norm(norm(x) + sublayer(norm(x))) if pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake("with pre=True the residual is missing: add x to what the sublayer gives.")
def without_residual_in_pre(x, sublayer, norm, pre):
    return sublayer(norm(x)) if pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake("with pre=False the residual is missing: add x to what the sublayer gives, then normalise.")
def without_residual_in_post(x, sublayer, norm, pre):
    return norm(sublayer(x)) if not pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake("there is no residual: x itself is never added to what the sublayer gives.")
def without_residual(x, sublayer, norm, pre):
    return sublayer(norm(x)) if pre else norm(sublayer(x))


@residual_step.mistake(
    "with pre=True you normalise what the sublayer gives. Pre-norm normalises what the sublayer reads."
)
def norm_behind_sublayer_in_pre(x, sublayer, norm, pre):
    return x + norm(sublayer(x)) if pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake("with pre=False you normalise the sublayer's output, then add x. Add first, normalise the sum.")
def norm_before_addition_in_post(x, sublayer, norm, pre):
    return x + norm(sublayer(x)) if not pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake(
    "you normalise the sublayer's output alone, whatever pre says. pre=True: what it reads; pre=False: the sum."
)
def norm_behind_sublayer(x, sublayer, norm, pre):
    return x + norm(sublayer(x))


@residual_step.mistake(
    "with pre=True you normalise twice, before the sublayer and after the addition. Before it is enough."
)
def norm_twice_in_pre(x, sublayer, norm, pre):
    return norm(x + sublayer(norm(x))) if pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake(
    "with pre=False you normalise twice, before the sublayer and after the addition. Only the sum is normalised."
)
def norm_twice_in_post(x, sublayer, norm, pre):
    return norm(x + sublayer(norm(x))) if not pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake(
    "you normalise before the sublayer and after the addition, whatever pre says. Each order has one norm only."
)
def norm_twice(x, sublayer, norm, pre):
    return norm(x + sublayer(norm(x)))


@residual_step.mistake(
    "with pre=False you normalise both parts and add them. Then the sum itself is not normalised: add, then norm."
)
def parts_normalised_in_post(x, sublayer, norm, pre):
    return norm(x) + norm(sublayer(x)) if not pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake(
    "with pre=False you normalise x and then add. The norm is the last thing there: it takes the sum."
)
def only_x_normalised_in_post(x, sublayer, norm, pre):
    return norm(x) + sublayer(x) if not pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake(
    "you normalise x where it is added, and leave it as it is where the sublayer reads it. pre=True: the other way "
    "round; pre=False: the sum."
)
def only_x_normalised(x, sublayer, norm, pre):
    return norm(x) + sublayer(x)


@residual_step.mistake("the norm stands before the sublayer and behind it. pre=True: before; pre=False: on the sum.")
def norm_on_both_sides(x, sublayer, norm, pre):
    return x + norm(sublayer(norm(x)))


@residual_step.mistake("x is added twice. What the sublayer gives and x, once each, make the sum.")
def x_added_twice(x, sublayer, norm, pre):
    return 2 * x + sublayer(norm(x)) if pre else norm(2 * x + sublayer(x))


@residual_step.mistake("with pre=False you add x a second time, after the norm. The normalised sum is the result.")
def x_added_twice_in_post(x, sublayer, norm, pre):
    return x + norm(x + sublayer(x)) if not pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake("with pre=True the norm is missing: the sublayer reads x as it came, instead of its norm.")
def without_norm_in_pre(x, sublayer, norm, pre):
    return x + sublayer(x) if pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake("with pre=False the norm is missing: the sum is still to be normalised.")
def without_norm_in_post(x, sublayer, norm, pre):
    return x + sublayer(x) if not pre else residual_step(x, sublayer, norm, pre)


@residual_step.mistake("the norm is never used: neither on what the sublayer reads nor on the sum.")
def without_norm(x, sublayer, norm, pre):
    return x + sublayer(x)


@residual_step.mistake("the sublayer is never called: it stands between the norm and the addition, or before both.")
def without_sublayer(x, sublayer, norm, pre):
    return x + norm(x) if pre else norm(x)


@residual_step.mistake("the sublayer is applied twice, to its own output. Once is enough in either order.")
def sublayer_twice(x, sublayer, norm, pre):
    return x + sublayer(sublayer(norm(x))) if pre else norm(x + sublayer(sublayer(x)))


@residual_step.mistake("x is multiplied by what the sublayer gives. A residual connection adds it.")
def multiplied_residual(x, sublayer, norm, pre):
    return x * sublayer(norm(x)) if pre else norm(x * sublayer(x))


@residual_step.mistake("x is subtracted, or the sublayer's output is. A residual connection adds the two.")
def subtracted_residual(x, sublayer, norm, pre):
    return x - sublayer(norm(x)) if pre else norm(x - sublayer(x))


@residual_step.mistake(
    "with pre=True you halve the sum, a mean of both ways. A residual connection adds them, no more."
)
def averaged_residual(x, sublayer, norm, pre):
    return (x + sublayer(norm(x))) / 2 if pre else norm((x + sublayer(x)) / 2)


# ---- feed_forward


def draw_feed_forward_layers(generator):
    """A sentence, one token, batches; n = d = d_ff; d = d_ff; n = d_ff; float64."""
    for shape, d_ff, dtype in (
        ((5, 4), 8, None),
        ((4, 4), 4, None),
        ((1, 3), 5, None),
        ((2, 3, 4), 6, None),
        ((3, 3, 3), 3, None),
        ((2, 5, 3), 5, None),
        ((2, 2, 3, 4), 7, None),
        ((2, 3, 5), 4, torch.float64),
    ):
        d = shape[-1]
        x = torch.randn(shape, generator=generator, dtype=dtype)
        W_1 = torch.randn(d, d_ff, generator=generator, dtype=dtype)
        W_2 = torch.randn(d_ff, d, generator=generator, dtype=dtype)
        b_1, b_2 = (torch.randn(size, generator=generator, dtype=dtype) for size in (d_ff, d))
        yield x, W_1, b_1, W_2, b_2


@exercise(
    draws=draw_feed_forward_layers,
    hints=[
        "Two linear layers with something between them. What would two without it amount to?",
        "x @ W_1 turns the d numbers of each token into d_ff, whatever axes stand in front. What is done to the "
        "negative ones?",
        "torch.relu, or clamp(min=0), makes negative numbers 0, after the first bias. Then the same once more, with "
        "W_2 and b_2, and nothing behind.",
    ],
    names={
        "the hidden layer: are W_2 and b_2 still to come?": lambda x, W_1, b_1, W_2, b_2: x @ W_1,
        "x[0], the first or last one alone: in a loop, collect them all, then torch.stack them": (
            lambda x, W_1, b_1, W_2, b_2: x[0]
        ),
        "one row for all tokens: each position keeps its own": lambda x, W_1, b_1, W_2, b_2: x[..., 0, :],
        "one number a token: the last axis is to have d": lambda x, W_1, b_1, W_2, b_2: x[..., 0],
        "W_2: is what multiplies it a single number, the maximum of all?": lambda x, W_1, b_1, W_2, b_2: W_2,
        "all tokens in a row: flatten takes the axes away that @ keeps": lambda x, W_1, b_1, W_2, b_2: x.reshape(
            -1, x.shape[-1]
        ),
    },
    question={
        r"\.T|\.mT|linear": "Here the vectors are rows and W_1 is (d, d_ff): x @ W_1 fits as it is. F.linear, as "
        "nn.Linear, wants the transposed matrix.",
        r"W_1(\.m?T)? @|W_1, x": "Vectors are the rows of x here, (…, n, d), and W_1 is (d, d_ff): on which side is x?",
        "W_2": "W_2 is (d_ff, d), b_2 (d,): what stands on the left of W_2 has d_ff numbers a token, does it?",
        "": "x is (…, n, d), W_1 (d, d_ff), b_1 (d_ff,): which axes meet in this line, and on which side is x?",
    },
)
def feed_forward(x, W_1, b_1, W_2, b_2):
    """Two linear layers with relu between them, on x (…, n, d): returns (…, n, d).

    W_1 is (d, d_ff), W_2 (d_ff, d); b_1 (d_ff,) and b_2 (d,) are their biases. Every row of x goes through by itself.
    """
    hidden = torch.relu(x @ W_1 + b_1)  # (…, d_ff)
    return hidden @ W_2 + b_2


def layers_with(activation, x, W_1, b_1, W_2, b_2):
    return activation(x @ W_1 + b_1) @ W_2 + b_2


@feed_forward.mistake("there is no relu: two linear layers in a row are one linear layer. Negative numbers become 0.")
def without_relu(x, W_1, b_1, W_2, b_2):
    return (x @ W_1 + b_1) @ W_2 + b_2


@feed_forward.mistake("there is a second relu at the end. The output may be negative: relu stands between the layers.")
def relu_at_the_end_too(x, W_1, b_1, W_2, b_2):
    return torch.relu(layers_with(torch.relu, x, W_1, b_1, W_2, b_2))


@feed_forward.mistake("relu stands at the end instead of between the layers: after W_1 and b_1, before W_2.")
def relu_at_the_end(x, W_1, b_1, W_2, b_2):
    return torch.relu((x @ W_1 + b_1) @ W_2 + b_2)


@feed_forward.mistake("relu comes before b_1 is added: max(0, x W_1) + b_1. The bias belongs inside.")
def relu_before_bias(x, W_1, b_1, W_2, b_2):
    return (torch.relu(x @ W_1) + b_1) @ W_2 + b_2


@feed_forward.mistake("relu comes before b_1 is added, and once more before b_2. It stands once, after b_1.")
def relu_before_both_biases(x, W_1, b_1, W_2, b_2):
    return torch.relu((torch.relu(x @ W_1) + b_1) @ W_2) + b_2


@feed_forward.mistake("relu is applied to x. It belongs to the hidden numbers, after W_1 and b_1.")
def relu_of_x(x, W_1, b_1, W_2, b_2):
    return (torch.relu(x) @ W_1 + b_1) @ W_2 + b_2


@feed_forward.mistake("the biases are missing, b_1 inside the relu and b_2 at the end.")
def without_biases_b(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ W_1) @ W_2


@feed_forward.mistake("b_1 is missing: it is added to the hidden numbers before the relu.")
def without_b_1(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ W_1) @ W_2 + b_2


@feed_forward.mistake("b_2 is missing: it is added at the end.")
def without_b_2(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ W_1 + b_1) @ W_2


@feed_forward.mistake("the biases are exchanged: b_1 (d_ff,) goes with W_1, b_2 (d,) with W_2.")
def biases_exchanged(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ W_1 + b_2) @ W_2 + b_1


@feed_forward.mistake("a bias is subtracted. It is added.")
def biases_subtracted(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ W_1 - b_1) @ W_2 - b_2


@feed_forward.mistake("that is gelu, as in BERT and GPT. Here it is relu, as in the original paper: max(0, ·).")
def gelu(x, W_1, b_1, W_2, b_2):
    return layers_with(F.gelu, x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("that is gelu in its tanh form, as in GPT-2. Here it is relu: max(0, ·).")
def gelu_by_tanh(x, W_1, b_1, W_2, b_2):
    return layers_with(lambda z: F.gelu(z, approximate="tanh"), x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("that is silu, z · sigmoid(z). Here it is relu: max(0, ·).")
def silu(x, W_1, b_1, W_2, b_2):
    return layers_with(F.silu, x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("that is a leaky relu: it lets a hundredth of negative numbers through. relu makes them 0.")
def leaky_relu(x, W_1, b_1, W_2, b_2):
    return layers_with(F.leaky_relu, x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("that is a sigmoid, between 0 and 1. Here it is relu, max(0, ·), which leaves positive numbers.")
def sigmoid(x, W_1, b_1, W_2, b_2):
    return layers_with(torch.sigmoid, x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("that is tanh, between -1 and 1. Here it is relu, max(0, ·), which leaves positive numbers.")
def tanh(x, W_1, b_1, W_2, b_2):
    return layers_with(torch.tanh, x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("that is a softmax over the hidden numbers. Nothing competes here: relu, max(0, ·), for each.")
def softmax_of_hidden(x, W_1, b_1, W_2, b_2):
    return layers_with(lambda z: z.softmax(-1), x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("that is elu: it lets negative numbers through, down to -1. relu makes them 0.")
def elu(x, W_1, b_1, W_2, b_2):
    return layers_with(F.elu, x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("that is softplus, a relu with its corner rounded off. Here it is relu itself: max(0, ·).")
def softplus(x, W_1, b_1, W_2, b_2):
    return layers_with(F.softplus, x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("the hidden numbers are squared after the relu. They go on as relu leaves them.")
def squared_relu(x, W_1, b_1, W_2, b_2):
    return layers_with(lambda z: z.relu() ** 2, x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("abs turns negative numbers positive. relu makes them 0.")
def absolute(x, W_1, b_1, W_2, b_2):
    return layers_with(torch.abs, x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("that keeps the negative numbers and makes the positive ones 0: min instead of max.")
def minimum(x, W_1, b_1, W_2, b_2):
    return layers_with(lambda z: z.clamp(max=0), x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("that gives 1 for a positive hidden number, 0 for others: whether, not how much. relu keeps it.")
def step_function(x, W_1, b_1, W_2, b_2):
    return layers_with(lambda z: (z > 0).to(z.dtype), x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("negative numbers are cut off at 0, but large ones at 1, too. relu has no upper limit.")
def clamped_to_1(x, W_1, b_1, W_2, b_2):
    return layers_with(lambda z: z.clamp(0, 1), x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("b_2 is added to the matrix W_2. It is added to the product, once for each token.")
def b_2_added_to_matrix(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ W_1 + b_1) @ (W_2 + b_2)


@feed_forward.mistake("b_1 is added to the matrix W_1. It is added to the product, once for each token.")
def b_1_added_to_matrix(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ (W_1 + b_1)) @ W_2 + b_2


@feed_forward.mistake(
    "the matrices are transposed, which fits only where d = d_ff. Vectors are rows here: x stands left of W_1 as it is."
)
def matrices_transposed(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ W_1.T + b_1) @ W_2.T + b_2


@feed_forward.mistake("W_1 is transposed, which fits only where d = d_ff. It is (d, d_ff): x @ W_1.")
def W_1_transposed(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ W_1.T + b_1) @ W_2 + b_2


@feed_forward.mistake("W_2 is transposed, which fits only where d = d_ff. It is (d_ff, d), after the hidden layer.")
def W_2_transposed(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ W_1 + b_1) @ W_2.T + b_2


@feed_forward.mistake("the second layer uses W_1 again, transposed. It has a matrix of its own, W_2.")
def tied_matrices(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ W_1 + b_1) @ W_1.T + b_2


@feed_forward.mistake("W_1 and W_2 are exchanged, which fits only where d = d_ff. W_1 comes first.")
def matrices_exchanged(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ W_2 + b_1) @ W_1 + b_2


@feed_forward.mistake("W_1 @ x mixes the tokens, which are the rows of x. The matrix stands on the right.")
def matrices_on_the_left(x, W_1, b_1, W_2, b_2):
    return W_2 @ torch.relu(W_1 @ x + b_1) + b_2


@feed_forward.mistake("that is the hidden layer, with d_ff numbers a token. W_2 and b_2 bring it back to d.")
def hidden_only(x, W_1, b_1, W_2, b_2):
    return torch.relu(x @ W_1 + b_1)


@feed_forward.mistake("that is the hidden layer without its relu. Then W_2 and b_2 bring it back to d.")
def hidden_without_relu(x, W_1, b_1, W_2, b_2):
    return x @ W_1 + b_1


@feed_forward.mistake("you add x, a residual connection. That belongs to the block: here return what the layers give.")
def feed_forward_with_residual(x, W_1, b_1, W_2, b_2):
    return x + layers_with(torch.relu, x, W_1, b_1, W_2, b_2)


@feed_forward.mistake("you average over the tokens, and all come out alike. Every position goes through by itself.")
def averaged_over_tokens(x, W_1, b_1, W_2, b_2):
    return layers_with(torch.relu, x.mean(-2, keepdim=True).expand_as(x), W_1, b_1, W_2, b_2)


@feed_forward.mistake("the tokens of all sentences stand in one row of tokens at the end. Keep the axes: @ does.")
def axes_flattened(x, W_1, b_1, W_2, b_2):
    return layers_with(torch.relu, x.reshape(-1, x.shape[-1]), W_1, b_1, W_2, b_2)


# ---- encoder_block


def an_attention(x, mask=None):
    """Self-attention without matrices: each token compares itself with those that mask lets it see."""
    return 1.5 * scaled_dot_product_attention(x, x, x.roll(1, -1), mask)[0]


def draw_blocks(generator):
    """Both orders: a causal sentence, n = d, padding in a batch, float64."""
    for shape, real, dtype in (
        ((4, 6), None, None),
        ((3, 3), None, None),
        ((2, 4, 5), [[1, 1, 0, 0], [1, 1, 1, 1]], None),
        ((3, 3, 4), [[1, 0, 0], [1, 1, 1], [1, 1, 0]], torch.float64),
    ):
        n = shape[-2]
        mask = torch.ones(n, n).tril().bool() if real is None else torch.tensor(real).bool()[:, None, :]  # (b, 1, k)
        for pre in (True, False):
            x = 1 + 1.5 * torch.randn(shape, generator=generator, dtype=dtype)
            yield x, an_attention, a_feed_forward, a_norm, another_norm, mask, pre


@exercise(
    draws=draw_blocks,
    hints=[
        "Which two sublayers does a block have, and in which order? What does the second one read: x, or what "
        "the first step gave?",
        "Each sublayer has a residual and a norm of its own: the step of the exercise before, twice. The second step "
        "starts from the result of the first, and adds that.",
        "Give the first step's result a name. pre: norm_1 in front of attention, norm_2 in front of feed_forward. "
        "post: each norm around its sum. Only attention takes the mask.",
    ],
    names={
        "x and a sublayer's output side by side: they are to be added": (
            lambda x, attention, feed_forward, norm_1, norm_2, mask, pre: torch.cat([x, x], -1)
        ),
    },
    question="x and what attention, feed_forward and norms give all are (…, n, d): what does this line join?",
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


def two_steps(first, second, x, attention, feed_forward, norm_1, norm_2, mask, pre):
    """A block whose two steps, like `residual_step`, may be wrong ones."""
    attended = first(x, lambda y: attention(y, mask), norm_1, pre)
    return second(attended, feed_forward, norm_2, pre)


@encoder_block.mistake("pre=False is treated like pre=True. With pre=False each norm comes after its addition.")
def block_always_pre(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, True)


@encoder_block.mistake(
    "pre=True is treated like pre=False. With pre=True each norm comes before attention or feed_forward."
)
def block_always_post(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, False)


@encoder_block.mistake(
    "pre and post are exchanged: pre=True normalises before attention and feed_forward, pre=False after each addition."
)
def block_orders_exchanged(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, not pre)


@encoder_block.mistake(
    "norm_1 stands in both places. Each norm has a gamma and a beta of its own: norm_2 goes with feed_forward."
)
def norm_1_twice(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return encoder_block(x, attention, feed_forward, norm_1, norm_1, mask, pre)


@encoder_block.mistake(
    "norm_2 stands in both places. Each norm has a gamma and a beta of its own: norm_1 goes with attention."
)
def norm_2_twice(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return encoder_block(x, attention, feed_forward, norm_2, norm_2, mask, pre)


@encoder_block.mistake("the norms are exchanged: norm_1 goes with attention, norm_2 with feed_forward.")
def norms_exchanged(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return encoder_block(x, attention, feed_forward, norm_2, norm_1, mask, pre)


@encoder_block.mistake(
    "the second residual adds the block's input: what attention gave is lost from the main way. Add what the second "
    "step started from, the result of the first."
)
def residual_from_block_input(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    if pre:
        return x + feed_forward(norm_2(x + attention(norm_1(x), mask)))
    return norm_2(x + feed_forward(norm_1(x + attention(x, mask))))


@encoder_block.mistake(
    "with pre=True the second residual adds the block's input. Add the first step's result: the sum with attention."
)
def residual_from_block_input_in_pre(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    parts = attention, feed_forward, norm_1, norm_2, mask, pre
    return residual_from_block_input(x, *parts) if pre else encoder_block(x, *parts)


@encoder_block.mistake(
    "with pre=False the second residual adds the block's input. Add the result of the first step, its norm included."
)
def residual_from_block_input_in_post(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    parts = attention, feed_forward, norm_1, norm_2, mask, pre
    return encoder_block(x, *parts) if pre else residual_from_block_input(x, *parts)


@encoder_block.mistake(
    "with pre=False feed_forward reads norm_1 of the sum, but the second residual adds the sum itself. The first "
    "step's result is the norm: both start from it."
)
def residual_before_norm_in_post(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    if pre:
        return encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, pre)
    total = x + attention(x, mask)
    return norm_2(total + feed_forward(norm_1(total)))


@encoder_block.mistake("attention does not get the mask, and looks at what it is not to see. Hand it on.")
def mask_not_handed_on(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return encoder_block(x, attention, feed_forward, norm_1, norm_2, None, pre)


@encoder_block.mistake("the mask is inverted on the way. True = may attend, for attention, too: hand it on as it is.")
def mask_inverted(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return encoder_block(x, attention, feed_forward, norm_1, norm_2, ~mask, pre)


@encoder_block.mistake("feed_forward comes before attention. Attention is the first of the two, with norm_1.")
def feed_forward_first(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    first = residual_step(x, feed_forward, norm_1, pre)
    return residual_step(first, lambda y: attention(y, mask), norm_2, pre)


@encoder_block.mistake(
    "feed_forward comes before attention, each with its norm, but in the wrong order. Attention is the first."
)
def feed_forward_first_with_its_norm(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    first = residual_step(x, feed_forward, norm_2, pre)
    return residual_step(first, lambda y: attention(y, mask), norm_1, pre)


@encoder_block.mistake(
    "with pre=True you add the normalised x in both steps, as where x is replaced by its norm. Then no way carries x "
    "through unchanged: add what went into the norm."
)
def block_residual_after_norm(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(residual_after_norm, residual_after_norm, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake("with pre=True the first residual adds norm_1 of x. Add x as it came.")
def first_residual_after_norm(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(residual_after_norm, residual_step, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake("with pre=True the second residual adds what comes out of norm_2. Add what goes into it.")
def second_residual_after_norm(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(residual_step, residual_after_norm, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake("there is no residual: attention and feed_forward replace x. Each adds to what it started from.")
def block_without_residuals(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(without_residual, without_residual, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake("the first residual is missing: add x to what attention gives.")
def without_first_residual(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(without_residual, residual_step, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake("the second residual is missing: add the first step's result to what feed_forward gives.")
def without_second_residual(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(residual_step, without_residual, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake("there is no norm: norm_1 goes with attention, norm_2 with feed_forward.")
def block_without_norms(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(without_norm, without_norm, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake("norm_1 is missing: it goes with attention, before it or after its addition.")
def without_norm_1(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(without_norm, residual_step, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake("norm_2 is missing: it goes with feed_forward, before it or after its addition.")
def without_norm_2(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(residual_step, without_norm, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake("with pre=True attention reads x as it came. It reads norm_1 of x.")
def attention_reads_x_in_pre(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(without_norm_in_pre, residual_step, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake("with pre=True feed_forward reads the sum as it is. It reads norm_2 of it.")
def feed_forward_reads_sum_in_pre(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(residual_step, without_norm_in_pre, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake(
    "you normalise what attention and feed_forward give, before adding. pre=True: what they read; pre=False: the sums."
)
def block_norms_behind_sublayers(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(norm_behind_sublayer, norm_behind_sublayer, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake(
    "with pre=True you normalise what attention and feed_forward give. Pre-norm normalises what they read."
)
def block_norms_behind_sublayers_in_pre(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(
        norm_behind_sublayer_in_pre, norm_behind_sublayer_in_pre, x, attention, feed_forward, norm_1, norm_2, mask, pre
    )


@encoder_block.mistake(
    "with pre=False you normalise what attention and feed_forward give, then add. Add first, normalise the sums."
)
def block_norms_before_additions_in_post(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(
        norm_before_addition_in_post,
        norm_before_addition_in_post,
        x,
        attention,
        feed_forward,
        norm_1,
        norm_2,
        mask,
        pre,
    )


@encoder_block.mistake(
    "with pre=True each norm is used twice, before its sublayer and after the addition. Before it is enough."
)
def block_norms_twice_in_pre(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(norm_twice_in_pre, norm_twice_in_pre, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake(
    "with pre=False each norm is used twice, before its sublayer and after the addition. Only the sums are normalised."
)
def block_norms_twice_in_post(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(norm_twice_in_post, norm_twice_in_post, x, attention, feed_forward, norm_1, norm_2, mask, pre)


@encoder_block.mistake(
    "with pre=True a norm stands at the end. One norm after the last block is the encoder's, not the block's."
)
def final_norm_in_pre(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    encoded = encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, pre)
    return norm_2(encoded) if pre else encoded


@encoder_block.mistake(
    "with pre=False you do as with pre=True and normalise once at the end. There norm_1 stands around the first sum, "
    "norm_2 around the second, and nothing before."
)
def pre_with_final_norm_for_post(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    encoded = encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, True)
    return encoded if pre else norm_2(encoded)


@encoder_block.mistake("that is the first step only. feed_forward with norm_2 follows.")
def attention_only(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return residual_step(x, lambda y: attention(y, mask), norm_1, pre)


@encoder_block.mistake("attention is missing: that is the second step only.")
def feed_forward_only(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return residual_step(x, feed_forward, norm_2, pre)


@encoder_block.mistake(
    "feed_forward reads x, beside attention. It comes behind it: it reads the result of the first step."
)
def feed_forward_beside_attention(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    attended = residual_step(x, lambda y: attention(y, mask), norm_1, pre)
    return attended + feed_forward(norm_2(x)) if pre else norm_2(attended + feed_forward(x))


@encoder_block.mistake(
    "there is one residual around both sublayers. Each has its own: add after attention, and again after feed_forward."
)
def one_residual_around_both(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    if pre:
        return x + feed_forward(norm_2(attention(norm_1(x), mask)))
    return norm_2(x + feed_forward(norm_1(attention(x, mask))))


@encoder_block.mistake("attention comes twice. The second sublayer is feed_forward.")
def attention_twice(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    return two_steps(
        residual_step, residual_step, x, attention, lambda y: attention(y, mask), norm_1, norm_2, mask, pre
    )


@encoder_block.mistake("in the second step x is added along with the first step's result: it is in there already.")
def block_input_added_twice(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    attended = residual_step(x, lambda y: attention(y, mask), norm_1, pre)
    return x + attended + feed_forward(norm_2(attended)) if pre else norm_2(x + attended + feed_forward(attended))


@encoder_block.mistake(
    "your [0] takes the first row of what attention returns: here it returns the output alone, without the weights."
)
def first_row_of_attention(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    if pre:
        x = x + attention(norm_1(x), mask)[0]
        return x + feed_forward(norm_2(x))
    x = norm_1(x + attention(x, mask)[0])
    return norm_2(x + feed_forward(x))


# ---- count_encoder_parameters


def draw_encoder_sizes(generator):
    """One block and many, d_ff = 4d, = d and neither, a single head; the sizes of the original paper."""
    yield from ((1, 8, 2, 20), (2, 16, 4, 64), (3, 6, 1, 6), (6, 512, 8, 2048), (4, 10, 5, 7))


@exercise(
    draws=draw_encoder_sizes,
    hints=[
        "Which parts of a block learn? Count one block first: attention, feed-forward layer, norms. How many blocks?",
        "Attention has four matrices, the feed-forward layer two, and each matrix a bias as long as its output. What "
        "do the heads change about that?",
        "A norm has gamma and beta, d_model numbers each, and a block has two norms. Every block has parameters of its "
        "own.",
    ],
    question="The result is one whole number, made of the four sizes: which of them is used in this line, and how?",
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


def attention_parameters(d):
    return 4 * (d * d + d)


def feed_forward_parameters(d, d_ff):
    return 2 * d * d_ff + d_ff + d


@count_encoder_parameters.mistake("you count one block. Each of the num_layers blocks has parameters of its own.")
def one_block_only(num_layers, d_model, num_heads, d_ff):
    return count_encoder_parameters(num_layers, d_model, num_heads, d_ff) // num_layers


@count_encoder_parameters.mistake(
    "attention is counted once for each head. Heads share W_q, W_k, W_v and W_o out: their number adds nothing."
)
def attention_times_heads(num_layers, d_model, num_heads, d_ff):
    return num_layers * (
        num_heads * attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 4 * d_model
    )


@count_encoder_parameters.mistake(
    "everything is counted once for each head. The heads share out four matrices of (d, d): their number adds nothing."
)
def all_times_heads(num_layers, d_model, num_heads, d_ff):
    return num_heads * count_encoder_parameters(num_layers, d_model, num_heads, d_ff)


@count_encoder_parameters.mistake(
    "each head has its own W_q, W_k and W_v of (d, d) in yours. A head's are (d, d / h): heads share, not repeat."
)
def projections_times_heads(num_layers, d_model, num_heads, d_ff):
    return num_layers * (
        (3 * num_heads + 1) * (d_model**2 + d_model) + feed_forward_parameters(d_model, d_ff) + 4 * d_model
    )


@count_encoder_parameters.mistake(
    "attention is counted for one head, (d, d / h). Count all of them: four matrices of (d, d)."
)
def attention_of_one_head(num_layers, d_model, num_heads, d_ff):
    return num_layers * (
        4 * (d_model + 1) * (d_model // num_heads) + feed_forward_parameters(d_model, d_ff) + 4 * d_model
    )


@count_encoder_parameters.mistake(
    "the biases of the matrices are missing, all six. Each has as many numbers as its matrix has outputs."
)
def without_any_bias(num_layers, d_model, num_heads, d_ff):
    return num_layers * (4 * d_model**2 + 2 * d_model * d_ff + 4 * d_model)


@count_encoder_parameters.mistake("the biases and the norms are missing: those are the matrices alone.")
def matrices_only(num_layers, d_model, num_heads, d_ff):
    return num_layers * (4 * d_model**2 + 2 * d_model * d_ff)


@count_encoder_parameters.mistake(
    "the biases of the feed-forward layer are missing: d_ff numbers for the first matrix, d_model for the second."
)
def feed_forward_without_biases(num_layers, d_model, num_heads, d_ff):
    return num_layers * (attention_parameters(d_model) + 2 * d_model * d_ff + 4 * d_model)


@count_encoder_parameters.mistake(
    "both biases of the feed-forward layer have d_ff numbers in yours. The second has d_model, as its output has."
)
def feed_forward_biases_of_d_ff(num_layers, d_model, num_heads, d_ff):
    return num_layers * (attention_parameters(d_model) + 2 * d_model * d_ff + 2 * d_ff + 4 * d_model)


@count_encoder_parameters.mistake(
    "both biases of the feed-forward layer have d_model numbers in yours. The first has d_ff, as the hidden layer has."
)
def feed_forward_biases_of_d_model(num_layers, d_model, num_heads, d_ff):
    return num_layers * (attention_parameters(d_model) + 2 * d_model * d_ff + 2 * d_model + 4 * d_model)


@count_encoder_parameters.mistake("the feed-forward layer has the bias b_2 only. b_1 has d_ff numbers.")
def feed_forward_without_b_1(num_layers, d_model, num_heads, d_ff):
    return num_layers * (attention_parameters(d_model) + 2 * d_model * d_ff + d_model + 4 * d_model)


@count_encoder_parameters.mistake("each bias counts as one number in yours. It has as many as its matrix has outputs.")
def biases_of_one_number_each(num_layers, d_model, num_heads, d_ff):
    return num_layers * (4 * (d_model**2 + 1) + 2 * (d_model * d_ff + 1) + 4 * d_model)


@count_encoder_parameters.mistake(
    "a norm has gamma and beta, one number each, in yours. They are rows of d_model numbers."
)
def norms_of_two_numbers(num_layers, d_model, num_heads, d_ff):
    return num_layers * (attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 4)


@count_encoder_parameters.mistake("the norms are counted once for all blocks. Each block has two of its own.")
def norms_of_one_block(num_layers, d_model, num_heads, d_ff):
    return num_layers * (attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff)) + 4 * d_model


@count_encoder_parameters.mistake("an extra norm stands at the end. Nothing is counted behind the blocks here.")
def final_norm_counted(num_layers, d_model, num_heads, d_ff):
    return count_encoder_parameters(num_layers, d_model, num_heads, d_ff) + 2 * d_model


@count_encoder_parameters.mistake(
    "each block lacks d_model numbers. Is it the bias of W_o, the second bias of the feed-forward layer, or a beta?"
)
def one_row_missing(num_layers, d_model, num_heads, d_ff):
    return count_encoder_parameters(num_layers, d_model, num_heads, d_ff) - num_layers * d_model


@count_encoder_parameters.mistake(
    "each block lacks 2 · d_model numbers. There are two norms, and each has gamma and beta: four rows of d_model."
)
def two_rows_missing(num_layers, d_model, num_heads, d_ff):
    return count_encoder_parameters(num_layers, d_model, num_heads, d_ff) - 2 * num_layers * d_model


@count_encoder_parameters.mistake(
    "each block lacks 3 · d_model numbers. W_q, W_k and W_v have biases, too; and two norms make four rows of d_model."
)
def three_rows_missing(num_layers, d_model, num_heads, d_ff):
    return count_encoder_parameters(num_layers, d_model, num_heads, d_ff) - 3 * num_layers * d_model


@count_encoder_parameters.mistake(
    "each block lacks 4 · d_model numbers: those of the two norms, or the biases of attention's four matrices. Both "
    "are learned."
)
def four_rows_missing(num_layers, d_model, num_heads, d_ff):
    return count_encoder_parameters(num_layers, d_model, num_heads, d_ff) - 4 * num_layers * d_model


@count_encoder_parameters.mistake(
    "each block lacks 8 · d_model numbers: the biases of attention's four matrices, and two norms, gamma and beta each."
)
def eight_rows_missing(num_layers, d_model, num_heads, d_ff):
    return count_encoder_parameters(num_layers, d_model, num_heads, d_ff) - 8 * num_layers * d_model


@count_encoder_parameters.mistake("three norms a block in yours. There are two: one for each sublayer.")
def three_norms(num_layers, d_model, num_heads, d_ff):
    return num_layers * (attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 6 * d_model)


@count_encoder_parameters.mistake("W_o is missing: attention has four matrices, each with its bias.")
def without_w_o_in_block(num_layers, d_model, num_heads, d_ff):
    return num_layers * (3 * (d_model**2 + d_model) + feed_forward_parameters(d_model, d_ff) + 4 * d_model)


@count_encoder_parameters.mistake("attention is missing: its four matrices with their biases.")
def without_attention(num_layers, d_model, num_heads, d_ff):
    return num_layers * (feed_forward_parameters(d_model, d_ff) + 4 * d_model)


@count_encoder_parameters.mistake("the feed-forward layer is missing: its two matrices with their biases.")
def without_feed_forward(num_layers, d_model, num_heads, d_ff):
    return num_layers * (attention_parameters(d_model) + 4 * d_model)


@count_encoder_parameters.mistake(
    "you count one feed-forward matrix, (d, d_ff), with its bias. A second one leads back, (d_ff, d), with a bias, too."
)
def one_feed_forward_matrix(num_layers, d_model, num_heads, d_ff):
    return num_layers * (attention_parameters(d_model) + d_model * d_ff + d_ff + 4 * d_model)


@count_encoder_parameters.mistake(
    "you count one feed-forward matrix, with both biases. A second one leads back, (d_ff, d)."
)
def one_feed_forward_matrix_two_biases(num_layers, d_model, num_heads, d_ff):
    return num_layers * (attention_parameters(d_model) + d_model * d_ff + d_ff + d_model + 4 * d_model)


@count_encoder_parameters.mistake("the feed-forward layer is counted once for all blocks. Each block has its own.")
def feed_forward_of_one_block(num_layers, d_model, num_heads, d_ff):
    return num_layers * (attention_parameters(d_model) + 4 * d_model) + feed_forward_parameters(d_model, d_ff)


@count_encoder_parameters.mistake("attention is counted once for all blocks. Each block has its own.")
def attention_of_one_block(num_layers, d_model, num_heads, d_ff):
    return num_layers * (feed_forward_parameters(d_model, d_ff) + 4 * d_model) + attention_parameters(d_model)


@count_encoder_parameters.mistake(
    "d_ff is 4 · d_model in yours, as in the paper, whatever is asked for. Use the argument."
)
def d_ff_assumed(num_layers, d_model, num_heads, d_ff):
    return count_encoder_parameters(num_layers, d_model, num_heads, 4 * d_model)


@count_encoder_parameters.mistake("the second feed-forward matrix is (d_ff, d_ff) in yours. It leads back to d_model.")
def feed_forward_matrix_of_d_ff(num_layers, d_model, num_heads, d_ff):
    return num_layers * (attention_parameters(d_model) + d_model * d_ff + d_ff + d_ff * d_ff + d_ff + 4 * d_model)


@count_encoder_parameters.mistake(
    "those are matrices only, and one is missing: attention has four, W_o the last. Biases and norms count, too."
)
def matrices_without_w_o(num_layers, d_model, num_heads, d_ff):
    return num_layers * (3 * d_model**2 + 2 * d_model * d_ff)


@count_encoder_parameters.mistake(
    "those are matrices only, and one is missing: the feed-forward layer has two. Biases and norms count, too."
)
def matrices_with_one_of_feed_forward(num_layers, d_model, num_heads, d_ff):
    return num_layers * (4 * d_model**2 + d_model * d_ff)


@count_encoder_parameters.mistake(
    "12 · d_model² counts the matrices where d_ff is 4 · d_model. d_ff is an argument here, and biases and norms count."
)
def twelve_squares(num_layers, d_model, num_heads, d_ff):
    return num_layers * 12 * d_model**2


@count_encoder_parameters.mistake("that is attention only. The feed-forward layer and the norms belong to the block.")
def attention_alone(num_layers, d_model, num_heads, d_ff):
    return num_layers * attention_parameters(d_model)


@count_encoder_parameters.mistake("that is the feed-forward layer only. Attention and the norms belong to the block.")
def feed_forward_alone(num_layers, d_model, num_heads, d_ff):
    return num_layers * feed_forward_parameters(d_model, d_ff)


@count_encoder_parameters.mistake(
    "W_q, W_k and W_v are those of one head, (d, d / h). There are h such slices of each."
)
def projections_of_one_head(num_layers, d_model, num_heads, d_ff):
    return num_layers * (
        3 * (d_model + 1) * (d_model // num_heads)
        + d_model**2
        + d_model
        + feed_forward_parameters(d_model, d_ff)
        + 4 * d_model
    )


@count_encoder_parameters.mistake("num_layers is added. Each block has as many parameters: multiply.")
def num_layers_added(num_layers, d_model, num_heads, d_ff):
    return num_layers + count_encoder_parameters(1, d_model, num_heads, d_ff)


@count_encoder_parameters.mistake(
    "num_layers multiplies the last term only, the norms: brackets around the whole block are missing."
)
def num_layers_times_norms(num_layers, d_model, num_heads, d_ff):
    return attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 4 * d_model * num_layers


@count_encoder_parameters.mistake(
    "num_layers multiplies the first term only, attention: brackets around the whole block are missing."
)
def num_layers_times_attention(num_layers, d_model, num_heads, d_ff):
    return num_layers * attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 4 * d_model


@count_encoder_parameters.mistake("d_ff is 2048 in yours, as where torch's own layer is not told. Use the argument.")
def d_ff_of_torch(num_layers, d_model, num_heads, d_ff):
    return count_encoder_parameters(num_layers, d_model, num_heads, 2048)


@count_encoder_parameters.mistake("you count the tensors. Count the numbers in them: p.numel().")
def tensors_counted(num_layers, d_model, num_heads, d_ff):
    return num_layers * 12


@count_encoder_parameters.mistake("the number is right, but a float: / always gives one. A count is whole: //.")
def encoder_count_as_float(num_layers, d_model, num_heads, d_ff):
    return float(count_encoder_parameters(num_layers, d_model, num_heads, d_ff))
