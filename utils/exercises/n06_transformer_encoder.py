"""Exercises of notebook 06: position waves, layer norm, residual step, feed-forward layer, block, parameters."""


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


sinusoidal_positions.mistakes("""
waves, angles = torch.zeros(n, d_model), angles_of(n, exponents_of(d_model))
waves[:, 0::2], waves[:, 1::2] = angles.sin(), angles.cos()
return waves
    right for an even d_model. An odd one has one column of cosines less than of sines: take as many angles as fit.
waves, angles = torch.zeros(n, d_model), angles_of(n, exponents_of(d_model))
for i in range(0, d_model, 2):
    waves[:, i], waves[:, i + 1] = angles[:, i // 2].sin(), angles[:, i // 2].cos()
return waves
    right for an even d_model. With an odd one there is no column for the last cosine: ask whether i + 1 < d_model.
angles = angles_of(n, exponents_of(d_model))
return woven(angles.sin(), angles.cos(), d_model + 1)
    right for an even d_model. With an odd one you return one column too many: the last.
waves, angles = torch.zeros(n, d_model), angles_of(n, exponents_of(d_model))
half = d_model // 2
waves[:, 0 : 2 * half : 2], waves[:, 1::2] = angles[:, :half].sin(), angles[:, :half].cos()
return waves
    right for an even d_model. With an odd one the last column, a sine without its cosine, is missing or 0.
angles = angles_of(n, exponents_of(d_model))
return torch.cat([angles.sin(), angles.cos()], dim=-1)[:, :d_model]
    all the sines stand in front of all the cosines. Here they alternate: column 2k a sine, 2k + 1 its cosine.
half = (d_model + 1) // 2
angles = angles_of(n, torch.arange(half) / max(half - 1, 1))
return torch.cat([angles.sin(), angles.cos()], dim=-1)[:, :d_model]
    the sines stand in front of the cosines, and the last frequency is 1/10000, as in some libraries. Here columns
    alternate, and the exponent is 2k/d_model.
half = (d_model + 1) // 2
return waves_of(angles_of(n, torch.arange(half) / max(half - 1, 1)), d_model)
    the exponent runs from 0 to 1, both included, as in some libraries. Here it is 2k/d_model, which stays below 1.
angles = angles_of(n, exponents_of(d_model))
return woven(angles.cos(), angles.sin(), d_model)
    sine and cosine are exchanged: even columns, 0, 2, …, hold the sines.
angles = angles_of(n, exponents_of(d_model))
return woven(angles.sin(), angles.sin(), d_model)
    every column is a sine. Odd columns, 1, 3, …, hold the cosine of the same angle.
angles = angles_of(n, exponents_of(d_model))
return woven(angles.sin(), 0 * angles, d_model)
    odd columns are still 0. They hold the cosine of the same angle as the sine before them.
= waves_in_place(angles_of(n, exponents_of(d_model)).repeat_interleave(2, -1)[:, :d_model].T).T
    sines and cosines take turns row by row: [0::2] chooses every other row. Columns are the second index: [:,
    0::2].
= waves_in_place(angles_of(n, torch.arange(d_model) / d_model))
    each column has a frequency of its own, i/d for column i. A sine and the cosine beside it share one: columns 2k
    and 2k + 1 both have 2k/d_model.
= waves_in_place(angles_of(n, 2 * torch.arange(d_model) / d_model))
    the exponent is 2i/d, with i the column: twice too large, and another for the cosine than for its sine. Columns
    2k and 2k + 1 share 2k/d_model.
= waves_of(angles_of(n, 2 * exponents_of(d_model)), d_model)
    the exponent is twice too large, 4k/d. Where a loop or an arange goes in steps of 2, its number is the 2k
    already.
= waves_of(angles_of(n, exponents_of(d_model) / 2), d_model)
    the exponent lacks its 2: it is k/d_model. Pair k, of columns 2k and 2k + 1, has 2k.
= waves_of(angles_of(n, exponents_of(d_model) + 2 / d_model), d_model)
    k counts from 1 in yours. The first pair has k = 0, whose wave is the fastest: the sine and cosine of p itself.
= waves_of(angles_of(n, exponents_of(d_model) + 1 / d_model), d_model)
    the exponents are (2k + 1)/d_model. Both columns of a pair have 2k/d_model: 0 for the first.
= waves_of(angles_of(n, torch.arange(0, d_model, 2) / (d_model - 1)), d_model)
    you divide the exponent by d_model - 1. It is 2k/d_model.
= waves_of(angles_of(n, torch.arange(0, d_model, 2) / 512), d_model)
    d_model is 512 in yours, as in the paper, whatever is asked for. Use the argument.
= waves_of(angles_of(n, 0 * exponents_of(d_model)), d_model)
    the exponent is a whole number: // cuts 2k/d_model down to 0, and all columns have one frequency. Divide with /.
= waves_of(angles_of(n, exponents_of(d_model), start=1), d_model)
    positions count from 1 in yours. The first is 0: all its sines are 0, its cosines 1.
= waves_of(angles_of(n, exponents_of(d_model)) / n, d_model)
    positions are divided by n, so that they depend on the sentence's length. p itself counts.
= waves_of(angles_of(n, exponents_of(d_model), base=1000.0), d_model)
    the base is 1000. A zero is missing: 10000.
= waves_of(angles_of(n, exponents_of(d_model), base=100000.0), d_model)
    the base is 100000. That is a zero too many: 10000.
= waves_of(angles_of(n, exponents_of(d_model), base=math.e), d_model)
    the base is e: exp alone gives e^(2k/d). For powers of 10000, multiply the exponent by math.log(10000).
= waves_of(angles_of(n, exponents_of(d_model), base=math.exp(4)), d_model)
    exp and log do not fit: log10 goes with 10 ** …. With exp, take the natural logarithm, math.log(10000).
= waves_of(2 * math.pi * angles_of(n, exponents_of(d_model)), d_model)
    you multiply the angles by 2π. p / 10000^(2k/d) is the angle, in radians.
= waves_of(torch.deg2rad(angles_of(n, exponents_of(d_model))), d_model)
    you turn the angles from degrees to radians. They are radians already.
= waves_of(torch.arange(n)[:, None] * 10000 ** exponents_of(d_model), d_model)
    you multiply by 10000^(2k/d) and the waves get faster. Divide: from column to column slower.
angles = torch.arange(n)[:, None] * 10000 ** exponents_of(d_model).double()
return waves_of(angles, d_model).float()
    the power stands on the wrong side: p times 10000^(2k/d) makes faster waves. It divides p.
= waves_of(torch.arange(n)[:, None] * torch.exp(exponents_of(d_model) * math.log(10000)), d_model)
    the exponent of exp lacks its minus: the waves get faster, and they are to get slower.
= waves_of(1 / angles_of(n, exponents_of(d_model)), d_model)
    the quotient is upside down: 10000^(2k/d) / p, which for position 0 is infinite. p stands above.
= waves_of(torch.arange(n)[:, None] * exponents_of(d_model), d_model)
    the angle is p · 2k/d: 10000 has no say. The exponent belongs to 10000, which divides p.
= waves_of(torch.arange(n)[:, None] / 10000 * exponents_of(d_model), d_model)
    the angle is p / 10000 · 2k/d: `*` where `**` is meant. 2k/d is an exponent.
= waves_of(torch.arange(n)[:, None] / (10000 ** torch.arange(0.0, d_model, 2) / d_model), d_model)
    brackets: 10000 ** 2k / d is (10000 ** 2k) / d, for ** binds tighter. Write ** (2k / d).
= waves_of(torch.arange(n)[:, None] / 10000 ** torch.arange(0.0, d_model, 2) / d_model, d_model)
    brackets: p / 10000 ** 2k / d divides by 10000 ** 2k, then by d. ** binds tighter: ** (2k / d).
powers = 10000 ** torch.arange(0, d_model, 2)
return waves_of(torch.arange(n)[:, None] / powers ** (1 / d_model), d_model)
    right for few columns: 10000 ** 6 is too large for a whole number of 64 bits and comes out wrong, without a
    word. Form the exponent 2k/d first: it is a fraction.
= waves_of(angles_of(n, exponents_of(d_model)), d_model).T
    the table is transposed, (d, n). Each position is a row.
= waves_of(angles_of(d_model, exponents_of(n)), n).T
    positions and columns are exchanged: the columns count as positions. Positions run down the rows, (n, 1).
= angles_of(n, exponents_of(d_model))
    those are the angles. Each gives two columns: its sine and, beside it, its cosine.
angles = angles_of(n, exponents_of(d_model))
return angles.sin() + angles.cos()
    sines and cosines are added up. They stand in columns of their own, in turn.
""")


sinusoidal_positions.right("""
waves = torch.zeros(n, d_model)
angles = torch.arange(n).unsqueeze(1) / 10000 ** (torch.arange(0, d_model, 2) / d_model)
waves[:, 0::2] = torch.sin(angles)
waves[:, 1::2] = torch.cos(angles[:, : d_model // 2])
return waves

waves = torch.zeros(n, d_model)
for p in range(n):
    for i in range(d_model):
        angle = p / 10000 ** (2 * (i // 2) / d_model)
        waves[p, i] = math.cos(angle) if i % 2 else math.sin(angle)
return waves

frequencies = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
angles = torch.outer(torch.arange(n).float(), frequencies)
return torch.stack((angles.sin(), angles.cos()), dim=2).reshape(n, -1)[:, :d_model]

columns = torch.arange(d_model)
angles = torch.arange(n)[:, None] / 10000 ** ((columns - columns % 2) / d_model)
return torch.sin(angles + columns % 2 * math.pi / 2)

columns = torch.arange(d_model)
angles = torch.einsum("n,d->nd", torch.arange(n).float(), torch.pow(10000.0, -2 * (columns // 2) / d_model))
return torch.where(columns % 2 == 0, angles.sin(), angles.cos())

positions, pairs = torch.arange(n, dtype=torch.float64), torch.arange(0, d_model, 2, dtype=torch.float64)
angles = positions[:, None] * 10000 ** (-pairs / d_model)
return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]

angles = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
return torch.view_as_real(torch.polar(torch.ones_like(angles), angles)).flip(-1).flatten(1)[:, :d_model]
""")


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


layer_norm.mistakes("""
= gamma * centred(x) / (variance_of(x).sqrt() + eps) + beta
    eps is added to the deviation. It belongs inside the root: added to the variance.
= gamma * centred(x) / (variance_of(x, unbiased=True).sqrt() + eps) + beta
    eps is added to the deviation, and the variance is divided by d - 1, as in a much copied version. eps belongs
    inside the root, and the divisor is d: unbiased=False.
= gamma * centred(x) / variance_of(x).sqrt() + beta
    eps is missing. A row of equal numbers has the variance 0, and 0/0 is NaN: add eps to the variance.
= gamma * centred(x) / variance_of(x, unbiased=True).sqrt() + beta
    eps is missing, and the variance is divided by d - 1. Add eps to it, and divide by d.
= gamma * normalised(x, 1e-5) + beta
    eps is 1e-5 whatever is asked for, as where torch's own is not told. Use the argument.
= gamma * (centred(x) / variance_of(x).sqrt() + eps) + beta
    eps is added after the root was taken of all, or to the quotient. Add it to the variance.
= gamma * normalised(x, eps**2) + beta
    eps is squared, as a deviation would be. It is added to the variance as it is.
= gamma * centred(x) / (variance_of(x) + eps) + beta
    you divide by the variance. The deviation is its root: only then does it become 1.
= gamma * centred(x) / (variance_of(x, unbiased=True) + eps) + beta
    you divide by the variance, and that with d - 1. The deviation is the root of the variance, over d.
= gamma * centred(x) * (variance_of(x) + eps).sqrt() + beta
    you multiply by the deviation instead of dividing: rows that spread much spread more.
distance = x - x.sum(-1, keepdim=True)
return gamma * distance / ((distance**2).mean(-1, keepdim=True) + eps).sqrt() + beta
    what you subtract is the sum of the row. Divided by d, it is the mean.
= gamma * centred(x) + beta
    the mean is subtracted, but nothing divides: the deviation is still to become 1.
= gamma * x / (variance_of(x) + eps).sqrt() + beta
    the mean is not subtracted before you divide: the rows' deviation is 1, their mean is not 0.
= gamma * x / ((x**2).mean(-1, keepdim=True) + eps).sqrt() + beta
    that is RMS norm: no mean is subtracted, and the mean square divides. Subtract the mean first.
= gamma * centred(x) / ((x**2).mean(-1, keepdim=True) + eps).sqrt() + beta
    the mean of the squares is no variance yet: the squares of the distances from the mean are averaged.
= gamma * centred(x) / ((centred(x) ** 2).sum(-1, keepdim=True) + eps).sqrt() + beta
    the squared distances are added up, not averaged: √d too large a divisor. Their mean is the variance.
= gamma * centred(x) / (centred(x).mean(-1, keepdim=True) ** 2 + eps).sqrt() + beta
    the mean of the distances from the mean is 0, and so is its square. Square first, then average.
= gamma * x / (torch.linalg.vector_norm(x, dim=-1, keepdim=True) + eps) + beta
    you give each row the length 1. Layer norm gives it mean 0 and deviation 1.
= gamma * F.normalize(centred(x), dim=-1) + beta
    you subtract the mean, then give each row the length 1. The deviation is to be 1: the root of the mean of the
    squares, not of their sum; and eps is added to it.
= gamma * centred(x) / (centred(x).abs().mean(-1, keepdim=True) + eps) + beta
    you divide by the mean distance from the mean, abs. The deviation is the root of the mean square.
= gamma * centred(x) / (centred(x) ** 2 + eps).sqrt().mean(-1, keepdim=True) + beta
    the root comes before the mean: the mean of √(distance² + eps). Average the squares, then the root.
= gamma * normalised(x, eps, -2) + beta
    mean and variance go over the tokens, dim=-2. Each token, a row, is normalised by itself: dim=-1.
= gamma * centred(x, -2) / (variance_of(x, -2, unbiased=True) + eps).sqrt() + beta
    mean and variance go over the tokens, dim=-2, and the variance is divided by n - 1. Each row has its own,
    dim=-1, divided by d.
= gamma * centred(x, 0) / (variance_of(x, 0, unbiased=True) + eps).sqrt() + beta
    mean and variance go over the first axis, and the variance is divided by its length less 1. Each row has its
    own, dim=-1, divided by d.
= gamma * normalised(x, eps, 0) + beta
    mean and variance go over the first axis, the batch: that is batch norm. Each token is normalised by itself:
    dim=-1.
= gamma * normalised(x, eps, 1) + beta
    mean and variance go over axis 1, which in a batch holds the tokens. The d numbers of a token are dim=-1.
= gamma * normalised(x, eps, (-2, -1)) + beta
    mean and variance go over all the tokens of a sentence, (n, d) together. Each token has its own: dim=-1.
= gamma * (x - x.mean()) / (x.var(unbiased=False) + eps).sqrt() + beta
    there is one mean and one variance for everything. Each token has its own: dim=-1.
= gamma * centred(x) / ((centred(x) ** 2).mean() + eps).sqrt() + beta
    each row has its own mean in yours, but the variance is one for everything. It, too, goes by row.
= gamma * (x - x.mean(-1)) / (x.var(-1, unbiased=False) + eps).sqrt() + beta
    mean and variance lose their axis, (…, n), and meet the columns of x, or nothing that fits. keepdim=True keeps
    it.
= gamma * centred(x) / (x.var(-1, unbiased=False) + eps).sqrt() + beta
    the variance loses its axis, (…, n), and divides columns of x, or crashes. keepdim=True keeps it, as for the
    mean.
= normalised(x, eps)
    the mean is 0 and the deviation 1, and there you stop: gamma and beta are still to come.
= gamma * normalised(x, eps)
    beta is missing. It is added last.
= normalised(x, eps) + beta
    gamma is missing. It multiplies the normalised row, entry by entry.
= beta * normalised(x, eps) + gamma
    gamma and beta are exchanged: gamma scales, beta shifts.
= gamma * (normalised(x, eps) + beta)
    beta is added before gamma multiplies, and is scaled along. Multiply, then add.
= normalised(gamma * x + beta, eps)
    gamma and beta come first, and the norm undoes a part of it. Normalise, then scale and shift.
= (1 + gamma) * normalised(x, eps) + beta
    gamma is added and multiplied, 1 + gamma, as where it starts at 0. Here gamma itself scales.
= normalised(x, eps) / gamma + beta
    gamma divides. It multiplies: where it is large, the entry counts more.
low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
return gamma * (x - low) / (high - low + eps) + beta
    that puts a row between 0 and 1. Layer norm gives it mean 0 and deviation 1.
= gamma * (x - x.mean(-1, keepdim=True) / (variance_of(x) + eps).sqrt()) + beta
    brackets: x - mean / deviation divides the mean only. Subtract first, (x - mean), then divide.
""")


layer_norm.right("""
F.layer_norm(x, (x.shape[-1],), gamma, beta, eps)

layer = torch.nn.LayerNorm(x.shape[-1], eps=eps, dtype=x.dtype)
layer.load_state_dict({"weight": gamma, "bias": beta})
return layer(x)

(x - x.mean(-1, True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + eps) * gamma + beta

variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
return torch.rsqrt(variance + eps) * (x - mean) * gamma + beta

deviation = x.std(-1, keepdim=True, unbiased=False)
return gamma * (x - x.mean(-1, keepdim=True)) / (deviation**2 + eps) ** 0.5 + beta

mean = x.mean(-1, keepdim=True)
variance = (x**2).mean(-1, keepdim=True) - mean**2
return gamma * ((x - mean) / (variance + eps).sqrt()) + beta

rows = []
for row in x.reshape(-1, x.shape[-1]):
    distance = row - row.sum() / len(row)
    rows.append(gamma * distance / math.sqrt(distance @ distance / len(row) + eps) + beta)
return torch.stack(rows).reshape(x.shape)

centred = x - torch.einsum("...d->...", x)[..., None] / x.shape[-1]
variance = torch.einsum("...d,...d->...", centred, centred) / x.shape[-1]
return torch.einsum("...d,...,d->...d", centred, (variance + eps).rsqrt(), gamma) + beta
""")


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


residual_step.mistakes("""
= residual_step(x, sublayer, norm, True)
    pre=False is treated like pre=True. With pre=False the norm comes after the addition.
= residual_step(x, sublayer, norm, False)
    pre=True is treated like pre=False. With pre=True the norm comes before the sublayer.
= residual_step(x, sublayer, norm, not pre)
    pre and post are exchanged: pre=True normalises before the sublayer, pre=False after the addition.
""")


@residual_step.mistake(
    "with pre=True you add the normalised x. Then the norm stands on the way that is to carry x through unchanged: "
    "add x as it came."
)
def residual_after_norm(x, sublayer, norm, pre):
    return norm(x) + sublayer(norm(x)) if pre else residual_step(x, sublayer, norm, pre)


residual_step.mistakes("""
= norm(x) + sublayer(norm(x)) if pre else norm(norm(x) + sublayer(x))
    you add the normalised x, with pre=True and with pre=False. What is added is x as it came, past norm and
    sublayer.
= norm(x) + sublayer(norm(x))
    you add the normalised x, and pre has no say: pre=True adds x as it came, pre=False normalises the sum.
= norm(norm(x) + sublayer(norm(x))) if pre else residual_step(x, sublayer, norm, pre)
    with pre=True you replace x by its norm and then go on as without one: the residual is gone. Keep x to add it.
= sublayer(norm(x)) if pre else residual_step(x, sublayer, norm, pre)
    with pre=True the residual is missing: add x to what the sublayer gives.
= norm(sublayer(x)) if not pre else residual_step(x, sublayer, norm, pre)
    with pre=False the residual is missing: add x to what the sublayer gives, then normalise.
""")


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


residual_step.mistakes("""
= norm(x + sublayer(norm(x)))
    you normalise before the sublayer and after the addition, whatever pre says. Each order has one norm only.
= norm(x) + norm(sublayer(x)) if not pre else residual_step(x, sublayer, norm, pre)
    with pre=False you normalise both parts and add them. Then the sum itself is not normalised: add, then norm.
= norm(x) + sublayer(x) if not pre else residual_step(x, sublayer, norm, pre)
    with pre=False you normalise x and then add. The norm is the last thing there: it takes the sum.
= norm(x) + sublayer(x)
    you normalise x where it is added, and leave it as it is where the sublayer reads it. pre=True: the other way
    round; pre=False: the sum.
= x + norm(sublayer(norm(x)))
    the norm stands before the sublayer and behind it. pre=True: before; pre=False: on the sum.
= 2 * x + sublayer(norm(x)) if pre else norm(2 * x + sublayer(x))
    x is added twice. What the sublayer gives and x, once each, make the sum.
= x + norm(x + sublayer(x)) if not pre else residual_step(x, sublayer, norm, pre)
    with pre=False you add x a second time, after the norm. The normalised sum is the result.
""")


@residual_step.mistake("with pre=True the norm is missing: the sublayer reads x as it came, instead of its norm.")
def without_norm_in_pre(x, sublayer, norm, pre):
    return x + sublayer(x) if pre else residual_step(x, sublayer, norm, pre)


residual_step.mistakes("""
= x + sublayer(x) if not pre else residual_step(x, sublayer, norm, pre)
    with pre=False the norm is missing: the sum is still to be normalised.
""")


@residual_step.mistake("the norm is never used: neither on what the sublayer reads nor on the sum.")
def without_norm(x, sublayer, norm, pre):
    return x + sublayer(x)


residual_step.mistakes("""
= x + norm(x) if pre else norm(x)
    the sublayer is never called: it stands between the norm and the addition, or before both.
= x + sublayer(sublayer(norm(x))) if pre else norm(x + sublayer(sublayer(x)))
    the sublayer is applied twice, to its own output. Once is enough in either order.
= x * sublayer(norm(x)) if pre else norm(x * sublayer(x))
    x is multiplied by what the sublayer gives. A residual connection adds it.
= x - sublayer(norm(x)) if pre else norm(x - sublayer(x))
    x is subtracted, or the sublayer's output is. A residual connection adds the two.
= (x + sublayer(norm(x))) / 2 if pre else norm((x + sublayer(x)) / 2)
    with pre=True you halve the sum, a mean of both ways. A residual connection adds them, no more.
""")


residual_step.right("""
x + sublayer(norm(x)) if pre else norm(x + sublayer(x))

if not pre:
    added = sublayer(x) + x
    return norm(added)
normalised = norm(x)
return sublayer(normalised) + x

y = norm(x) if pre else x
y = x + sublayer(y)
return y if pre else norm(y)

total = x.clone()
total += sublayer(norm(x) if pre else x)
return total if pre else norm(total)

before, after = (norm, lambda y: y) if pre else (lambda y: y, norm)
return after(torch.add(x, sublayer(before(x))))

if pre:
    return torch.stack([x, sublayer(norm(x))]).sum(0)
return norm(torch.stack([x, sublayer(x)]).sum(dim=0))
""")


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


feed_forward.mistakes("""
= (x @ W_1 + b_1) @ W_2 + b_2
    there is no relu: two linear layers in a row are one linear layer. Negative numbers become 0.
= torch.relu(layers_with(torch.relu, x, W_1, b_1, W_2, b_2))
    there is a second relu at the end. The output may be negative: relu stands between the layers.
= torch.relu((x @ W_1 + b_1) @ W_2 + b_2)
    relu stands at the end instead of between the layers: after W_1 and b_1, before W_2.
= (torch.relu(x @ W_1) + b_1) @ W_2 + b_2
    relu comes before b_1 is added: max(0, x W_1) + b_1. The bias belongs inside.
= torch.relu((torch.relu(x @ W_1) + b_1) @ W_2) + b_2
    relu comes before b_1 is added, and once more before b_2. It stands once, after b_1.
= (torch.relu(x) @ W_1 + b_1) @ W_2 + b_2
    relu is applied to x. It belongs to the hidden numbers, after W_1 and b_1.
= torch.relu(x @ W_1) @ W_2
    the biases are missing, b_1 inside the relu and b_2 at the end.
= torch.relu(x @ W_1) @ W_2 + b_2
    b_1 is missing: it is added to the hidden numbers before the relu.
= torch.relu(x @ W_1 + b_1) @ W_2
    b_2 is missing: it is added at the end.
= torch.relu(x @ W_1 + b_2) @ W_2 + b_1
    the biases are exchanged: b_1 (d_ff,) goes with W_1, b_2 (d,) with W_2.
= torch.relu(x @ W_1 - b_1) @ W_2 - b_2
    a bias is subtracted. It is added.
= layers_with(F.gelu, x, W_1, b_1, W_2, b_2)
    that is gelu, as in BERT and GPT. Here it is relu, as in the original paper: max(0, ·).
= layers_with(lambda z: F.gelu(z, approximate="tanh"), x, W_1, b_1, W_2, b_2)
    that is gelu in its tanh form, as in GPT-2. Here it is relu: max(0, ·).
= layers_with(F.silu, x, W_1, b_1, W_2, b_2)
    that is silu, z · sigmoid(z). Here it is relu: max(0, ·).
= layers_with(F.leaky_relu, x, W_1, b_1, W_2, b_2)
    that is a leaky relu: it lets a hundredth of negative numbers through. relu makes them 0.
= layers_with(torch.sigmoid, x, W_1, b_1, W_2, b_2)
    that is a sigmoid, between 0 and 1. Here it is relu, max(0, ·), which leaves positive numbers.
= layers_with(torch.tanh, x, W_1, b_1, W_2, b_2)
    that is tanh, between -1 and 1. Here it is relu, max(0, ·), which leaves positive numbers.
= layers_with(lambda z: z.softmax(-1), x, W_1, b_1, W_2, b_2)
    that is a softmax over the hidden numbers. Nothing competes here: relu, max(0, ·), for each.
= layers_with(F.elu, x, W_1, b_1, W_2, b_2)
    that is elu: it lets negative numbers through, down to -1. relu makes them 0.
= layers_with(F.softplus, x, W_1, b_1, W_2, b_2)
    that is softplus, a relu with its corner rounded off. Here it is relu itself: max(0, ·).
= layers_with(lambda z: z.relu() ** 2, x, W_1, b_1, W_2, b_2)
    the hidden numbers are squared after the relu. They go on as relu leaves them.
= layers_with(torch.abs, x, W_1, b_1, W_2, b_2)
    abs turns negative numbers positive. relu makes them 0.
= layers_with(lambda z: z.clamp(max=0), x, W_1, b_1, W_2, b_2)
    that keeps the negative numbers and makes the positive ones 0: min instead of max.
= layers_with(lambda z: (z > 0).to(z.dtype), x, W_1, b_1, W_2, b_2)
    that gives 1 for a positive hidden number, 0 for others: whether, not how much. relu keeps it.
= layers_with(lambda z: z.clamp(0, 1), x, W_1, b_1, W_2, b_2)
    negative numbers are cut off at 0, but large ones at 1, too. relu has no upper limit.
= torch.relu(x @ W_1 + b_1) @ (W_2 + b_2)
    b_2 is added to the matrix W_2. It is added to the product, once for each token.
= torch.relu(x @ (W_1 + b_1)) @ W_2 + b_2
    b_1 is added to the matrix W_1. It is added to the product, once for each token.
= torch.relu(x @ W_1.T + b_1) @ W_2.T + b_2
    the matrices are transposed, which fits only where d = d_ff. Vectors are rows here: x stands left of W_1 as it
    is.
= torch.relu(x @ W_1.T + b_1) @ W_2 + b_2
    W_1 is transposed, which fits only where d = d_ff. It is (d, d_ff): x @ W_1.
= torch.relu(x @ W_1 + b_1) @ W_2.T + b_2
    W_2 is transposed, which fits only where d = d_ff. It is (d_ff, d), after the hidden layer.
= torch.relu(x @ W_1 + b_1) @ W_1.T + b_2
    the second layer uses W_1 again, transposed. It has a matrix of its own, W_2.
= torch.relu(x @ W_2 + b_1) @ W_1 + b_2
    W_1 and W_2 are exchanged, which fits only where d = d_ff. W_1 comes first.
= W_2 @ torch.relu(W_1 @ x + b_1) + b_2
    W_1 @ x mixes the tokens, which are the rows of x. The matrix stands on the right.
= torch.relu(x @ W_1 + b_1)
    that is the hidden layer, with d_ff numbers a token. W_2 and b_2 bring it back to d.
= x @ W_1 + b_1
    that is the hidden layer without its relu. Then W_2 and b_2 bring it back to d.
= x + layers_with(torch.relu, x, W_1, b_1, W_2, b_2)
    you add x, a residual connection. That belongs to the block: here return what the layers give.
= layers_with(torch.relu, x.mean(-2, keepdim=True).expand_as(x), W_1, b_1, W_2, b_2)
    you average over the tokens, and all come out alike. Every position goes through by itself.
= layers_with(torch.relu, x.reshape(-1, x.shape[-1]), W_1, b_1, W_2, b_2)
    the tokens of all sentences stand in one row of tokens at the end. Keep the axes: @ does.
""")


feed_forward.right("""
F.linear(F.relu(F.linear(x, W_1.T, b_1)), W_2.T, b_2)

torch.clamp(torch.matmul(x, W_1) + b_1, min=0) @ W_2 + b_2

hidden = x @ W_1 + b_1
return b_2 + torch.maximum(hidden, torch.zeros_like(hidden)) @ W_2

hidden = torch.einsum("...d,df->...f", x, W_1) + b_1
return torch.einsum("...f,fd->...d", hidden * (hidden > 0), W_2) + b_2

rows = [(row @ W_1 + b_1).relu() @ W_2 + b_2 for row in x.reshape(-1, x.shape[-1])]
return torch.stack(rows).reshape(x.shape)

layers = torch.nn.Sequential(torch.nn.Linear(*W_1.shape), torch.nn.ReLU(), torch.nn.Linear(*W_2.shape)).to(x.dtype)
layers.load_state_dict({"0.weight": W_1.T, "0.bias": b_1, "2.weight": W_2.T, "2.bias": b_2})
return layers(x)

total = b_2
for i in range(len(b_1)):
    total = total + torch.relu(x @ W_1[:, i] + b_1[i])[..., None] * W_2[i]
return total
""")


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


encoder_block.mistakes("""
= encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, True)
    pre=False is treated like pre=True. With pre=False each norm comes after its addition.
= encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, False)
    pre=True is treated like pre=False. With pre=True each norm comes before attention or feed_forward.
= encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, not pre)
    pre and post are exchanged: pre=True normalises before attention and feed_forward, pre=False after each
    addition.
= encoder_block(x, attention, feed_forward, norm_1, norm_1, mask, pre)
    norm_1 stands in both places. Each norm has a gamma and a beta of its own: norm_2 goes with feed_forward.
= encoder_block(x, attention, feed_forward, norm_2, norm_2, mask, pre)
    norm_2 stands in both places. Each norm has a gamma and a beta of its own: norm_1 goes with attention.
= encoder_block(x, attention, feed_forward, norm_2, norm_1, mask, pre)
    the norms are exchanged: norm_1 goes with attention, norm_2 with feed_forward.
""")


@encoder_block.mistake(
    "the second residual adds the block's input: what attention gave is lost from the main way. Add what the second "
    "step started from, the result of the first."
)
def residual_from_block_input(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    if pre:
        return x + feed_forward(norm_2(x + attention(norm_1(x), mask)))
    return norm_2(x + feed_forward(norm_1(x + attention(x, mask))))


encoder_block.mistakes("""
parts = attention, feed_forward, norm_1, norm_2, mask, pre
return residual_from_block_input(x, *parts) if pre else encoder_block(x, *parts)
    with pre=True the second residual adds the block's input. Add the first step's result: the sum with attention.
parts = attention, feed_forward, norm_1, norm_2, mask, pre
return encoder_block(x, *parts) if pre else residual_from_block_input(x, *parts)
    with pre=False the second residual adds the block's input. Add the result of the first step, its norm included.
if pre:
    return encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, pre)
total = x + attention(x, mask)
return norm_2(total + feed_forward(norm_1(total)))
    with pre=False feed_forward reads norm_1 of the sum, but the second residual adds the sum itself. The first
    step's result is the norm: both start from it.
= encoder_block(x, attention, feed_forward, norm_1, norm_2, None, pre)
    attention does not get the mask, and looks at what it is not to see. Hand it on.
= encoder_block(x, attention, feed_forward, norm_1, norm_2, ~mask, pre)
    the mask is inverted on the way. True = may attend, for attention, too: hand it on as it is.
first = residual_step(x, feed_forward, norm_1, pre)
return residual_step(first, lambda y: attention(y, mask), norm_2, pre)
    feed_forward comes before attention. Attention is the first of the two, with norm_1.
first = residual_step(x, feed_forward, norm_2, pre)
return residual_step(first, lambda y: attention(y, mask), norm_1, pre)
    feed_forward comes before attention, each with its norm, but in the wrong order. Attention is the first.
= two_steps(residual_after_norm, residual_after_norm, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    with pre=True you add the normalised x in both steps, as where x is replaced by its norm. Then no way carries x
    through unchanged: add what went into the norm.
= two_steps(residual_after_norm, residual_step, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    with pre=True the first residual adds norm_1 of x. Add x as it came.
= two_steps(residual_step, residual_after_norm, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    with pre=True the second residual adds what comes out of norm_2. Add what goes into it.
= two_steps(without_residual, without_residual, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    there is no residual: attention and feed_forward replace x. Each adds to what it started from.
= two_steps(without_residual, residual_step, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    the first residual is missing: add x to what attention gives.
= two_steps(residual_step, without_residual, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    the second residual is missing: add the first step's result to what feed_forward gives.
= two_steps(without_norm, without_norm, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    there is no norm: norm_1 goes with attention, norm_2 with feed_forward.
= two_steps(without_norm, residual_step, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    norm_1 is missing: it goes with attention, before it or after its addition.
= two_steps(residual_step, without_norm, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    norm_2 is missing: it goes with feed_forward, before it or after its addition.
= two_steps(without_norm_in_pre, residual_step, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    with pre=True attention reads x as it came. It reads norm_1 of x.
= two_steps(residual_step, without_norm_in_pre, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    with pre=True feed_forward reads the sum as it is. It reads norm_2 of it.
= two_steps(norm_behind_sublayer, norm_behind_sublayer, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    you normalise what attention and feed_forward give, before adding. pre=True: what they read; pre=False: the
    sums.
= two_steps(norm_behind_sublayer_in_pre, norm_behind_sublayer_in_pre, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    with pre=True you normalise what attention and feed_forward give. Pre-norm normalises what they read.
= two_steps(norm_before_addition_in_post, norm_before_addition_in_post, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    with pre=False you normalise what attention and feed_forward give, then add. Add first, normalise the sums.
= two_steps(norm_twice_in_pre, norm_twice_in_pre, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    with pre=True each norm is used twice, before its sublayer and after the addition. Before it is enough.
= two_steps(norm_twice_in_post, norm_twice_in_post, x, attention, feed_forward, norm_1, norm_2, mask, pre)
    with pre=False each norm is used twice, before its sublayer and after the addition. Only the sums are
    normalised.
encoded = encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, pre)
return norm_2(encoded) if pre else encoded
    with pre=True a norm stands at the end. One norm after the last block is the encoder's, not the block's.
encoded = encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, True)
return encoded if pre else norm_2(encoded)
    with pre=False you do as with pre=True and normalise once at the end. There norm_1 stands around the first sum,
    norm_2 around the second, and nothing before.
= residual_step(x, lambda y: attention(y, mask), norm_1, pre)
    that is the first step only. feed_forward with norm_2 follows.
= residual_step(x, feed_forward, norm_2, pre)
    attention is missing: that is the second step only.
attended = residual_step(x, lambda y: attention(y, mask), norm_1, pre)
return attended + feed_forward(norm_2(x)) if pre else norm_2(attended + feed_forward(x))
    feed_forward reads x, beside attention. It comes behind it: it reads the result of the first step.
if pre:
    return x + feed_forward(norm_2(attention(norm_1(x), mask)))
return norm_2(x + feed_forward(norm_1(attention(x, mask))))
    there is one residual around both sublayers. Each has its own: add after attention, and again after
    feed_forward.
= two_steps(residual_step, residual_step, x, attention, lambda y: attention(y, mask), norm_1, norm_2, mask, pre)
    attention comes twice. The second sublayer is feed_forward.
attended = residual_step(x, lambda y: attention(y, mask), norm_1, pre)
return x + attended + feed_forward(norm_2(attended)) if pre else norm_2(x + attended + feed_forward(attended))
    in the second step x is added along with the first step's result: it is in there already.
if pre:
    x = x + attention(norm_1(x), mask)[0]
    return x + feed_forward(norm_2(x))
x = norm_1(x + attention(x, mask)[0])
return norm_2(x + feed_forward(x))
    your [0] takes the first row of what attention returns: here it returns the output alone, without the weights.
""")


encoder_block.right("""
if pre:
    x = x + attention(norm_1(x), mask)
    x = x + feed_forward(norm_2(x))
else:
    x = norm_1(x + attention(x, mask))
    x = norm_2(x + feed_forward(x))
return x

step = catalogue()["residual_step"]
first = step(x, lambda y: attention(y, mask), norm_1, pre)
return step(first, feed_forward, norm_2, pre)

for sublayer, norm in ((lambda y: attention(y, mask), norm_1), (feed_forward, norm_2)):
    x = x + sublayer(norm(x)) if pre else norm(x + sublayer(x))
return x

heads = attention(norm_1(x) if pre else x, mask)
first = x + heads if pre else norm_1(x + heads)
hidden = feed_forward(norm_2(first) if pre else first)
return first + hidden if pre else norm_2(first + hidden)

y = x.clone()
y += attention(norm_1(y), mask=mask) if pre else attention(y, mask=mask)
y = y if pre else norm_1(y)
y = y + (feed_forward(norm_2(y)) if pre else feed_forward(y))
return y if pre else norm_2(y)

if not pre:
    return norm_2((y := norm_1(attention(x, mask) + x)) + feed_forward(y))
return (y := x + attention(norm_1(x), mask)) + feed_forward(norm_2(y))
""")


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


count_encoder_parameters.mistakes("""
= count_encoder_parameters(num_layers, d_model, num_heads, d_ff) // num_layers
    you count one block. Each of the num_layers blocks has parameters of its own.
= num_layers * (num_heads * attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 4 * d_model)
    attention is counted once for each head. Heads share W_q, W_k, W_v and W_o out: their number adds nothing.
= num_heads * count_encoder_parameters(num_layers, d_model, num_heads, d_ff)
    everything is counted once for each head. The heads share out four matrices of (d, d): their number adds
    nothing.
= num_layers * ((3 * num_heads + 1) * (d_model ** 2 + d_model) + feed_forward_parameters(d_model, d_ff) + 4 * d_model)
    each head has its own W_q, W_k and W_v of (d, d) in yours. A head's are (d, d / h): heads share, not repeat.
= num_layers * (4 * (d_model + 1) * (d_model // num_heads) + feed_forward_parameters(d_model, d_ff) + 4 * d_model)
    attention is counted for one head, (d, d / h). Count all of them: four matrices of (d, d).
= num_layers * (4 * d_model**2 + 2 * d_model * d_ff + 4 * d_model)
    the biases of the matrices are missing, all six. Each has as many numbers as its matrix has outputs.
= num_layers * (4 * d_model**2 + 2 * d_model * d_ff)
    the biases and the norms are missing: those are the matrices alone.
= num_layers * (attention_parameters(d_model) + 2 * d_model * d_ff + 4 * d_model)
    the biases of the feed-forward layer are missing: d_ff numbers for the first matrix, d_model for the second.
= num_layers * (attention_parameters(d_model) + 2 * d_model * d_ff + 2 * d_ff + 4 * d_model)
    both biases of the feed-forward layer have d_ff numbers in yours. The second has d_model, as its output has.
= num_layers * (attention_parameters(d_model) + 2 * d_model * d_ff + 2 * d_model + 4 * d_model)
    both biases of the feed-forward layer have d_model numbers in yours. The first has d_ff, as the hidden layer
    has.
= num_layers * (attention_parameters(d_model) + 2 * d_model * d_ff + d_model + 4 * d_model)
    the feed-forward layer has the bias b_2 only. b_1 has d_ff numbers.
= num_layers * (4 * (d_model**2 + 1) + 2 * (d_model * d_ff + 1) + 4 * d_model)
    each bias counts as one number in yours. It has as many as its matrix has outputs.
= num_layers * (attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 4)
    a norm has gamma and beta, one number each, in yours. They are rows of d_model numbers.
= num_layers * (attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff)) + 4 * d_model
    the norms are counted once for all blocks. Each block has two of its own.
= count_encoder_parameters(num_layers, d_model, num_heads, d_ff) + 2 * d_model
    an extra norm stands at the end. Nothing is counted behind the blocks here.
= count_encoder_parameters(num_layers, d_model, num_heads, d_ff) - num_layers * d_model
    each block lacks d_model numbers. Is it the bias of W_o, the second bias of the feed-forward layer, or a beta?
= count_encoder_parameters(num_layers, d_model, num_heads, d_ff) - 2 * num_layers * d_model
    each block lacks 2 · d_model numbers. There are two norms, and each has gamma and beta: four rows of d_model.
= count_encoder_parameters(num_layers, d_model, num_heads, d_ff) - 3 * num_layers * d_model
    each block lacks 3 · d_model numbers. W_q, W_k and W_v have biases, too; and two norms make four rows of
    d_model.
= count_encoder_parameters(num_layers, d_model, num_heads, d_ff) - 4 * num_layers * d_model
    each block lacks 4 · d_model numbers: those of the two norms, or the biases of attention's four matrices. Both
    are learned.
= count_encoder_parameters(num_layers, d_model, num_heads, d_ff) - 8 * num_layers * d_model
    each block lacks 8 · d_model numbers: the biases of attention's four matrices, and two norms, gamma and beta
    each.
= num_layers * (attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 6 * d_model)
    three norms a block in yours. There are two: one for each sublayer.
= num_layers * (3 * (d_model**2 + d_model) + feed_forward_parameters(d_model, d_ff) + 4 * d_model)
    W_o is missing: attention has four matrices, each with its bias.
= num_layers * (feed_forward_parameters(d_model, d_ff) + 4 * d_model)
    attention is missing: its four matrices with their biases.
= num_layers * (attention_parameters(d_model) + 4 * d_model)
    the feed-forward layer is missing: its two matrices with their biases.
= num_layers * (attention_parameters(d_model) + d_model * d_ff + d_ff + 4 * d_model)
    you count one feed-forward matrix, (d, d_ff), with its bias. A second one leads back, (d_ff, d), with a bias,
    too.
= num_layers * (attention_parameters(d_model) + d_model * d_ff + d_ff + d_model + 4 * d_model)
    you count one feed-forward matrix, with both biases. A second one leads back, (d_ff, d).
= num_layers * (attention_parameters(d_model) + 4 * d_model) + feed_forward_parameters(d_model, d_ff)
    the feed-forward layer is counted once for all blocks. Each block has its own.
= num_layers * (feed_forward_parameters(d_model, d_ff) + 4 * d_model) + attention_parameters(d_model)
    attention is counted once for all blocks. Each block has its own.
= count_encoder_parameters(num_layers, d_model, num_heads, 4 * d_model)
    d_ff is 4 · d_model in yours, as in the paper, whatever is asked for. Use the argument.
= num_layers * (attention_parameters(d_model) + d_model * d_ff + d_ff + d_ff * d_ff + d_ff + 4 * d_model)
    the second feed-forward matrix is (d_ff, d_ff) in yours. It leads back to d_model.
= num_layers * (3 * d_model**2 + 2 * d_model * d_ff)
    those are matrices only, and one is missing: attention has four, W_o the last. Biases and norms count, too.
= num_layers * (4 * d_model**2 + d_model * d_ff)
    those are matrices only, and one is missing: the feed-forward layer has two. Biases and norms count, too.
= num_layers * 12 * d_model**2
    12 · d_model² counts the matrices where d_ff is 4 · d_model. d_ff is an argument here, and biases and norms
    count.
= num_layers * attention_parameters(d_model)
    that is attention only. The feed-forward layer and the norms belong to the block.
= num_layers * feed_forward_parameters(d_model, d_ff)
    that is the feed-forward layer only. Attention and the norms belong to the block.
= num_layers * (3 * (d_model + 1) * (d_model // num_heads) + d_model ** 2 + d_model + feed_forward_parameters(d_model, d_ff) + 4 * d_model)
    W_q, W_k and W_v are those of one head, (d, d / h). There are h such slices of each.
= num_layers + count_encoder_parameters(1, d_model, num_heads, d_ff)
    num_layers is added. Each block has as many parameters: multiply.
= attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 4 * d_model * num_layers
    num_layers multiplies the last term only, the norms: brackets around the whole block are missing.
= num_layers * attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + 4 * d_model
    num_layers multiplies the first term only, attention: brackets around the whole block are missing.
= count_encoder_parameters(num_layers, d_model, num_heads, 2048)
    d_ff is 2048 in yours, as where torch's own layer is not told. Use the argument.
= num_layers * 12
    you count the tensors. Count the numbers in them: p.numel().
= float(count_encoder_parameters(num_layers, d_model, num_heads, d_ff))
    the number is right, but a float: / always gives one. A count is whole: //.
""")


count_encoder_parameters.right("""
layer = torch.nn.TransformerEncoderLayer(d_model, num_heads, d_ff, device="meta")
return num_layers * sum(parameter.numel() for parameter in layer.parameters())

layer = torch.nn.TransformerEncoderLayer(d_model, num_heads, d_ff, batch_first=True, device="meta")
stack = torch.nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
return sum(parameter.numel() for parameter in stack.parameters())

num_layers * (4 * d_model**2 + 2 * d_model * d_ff + 9 * d_model + d_ff)

total = 0
for _ in range(num_layers):
    for rows, columns in [(d_model, d_model)] * 4 + [(d_model, d_ff), (d_ff, d_model)]:
        total += rows * columns + columns
    for _ in ("norm_1", "norm_2"):
        total += 2 * d_model
return total

d_head = d_model // num_heads
per_head = 3 * (d_model * d_head + d_head)
attention = num_heads * per_head + d_model * (d_head * num_heads) + d_model
feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
return (attention + feed_forward + 4 * d_model) * num_layers

attention = catalogue()["count_parameters"](d_model, num_heads, True)
return num_layers * (attention + (d_model + 1) * d_ff + (d_ff + 1) * d_model + 2 * 2 * d_model)

shapes = [(d_model, d_model), (d_model,)] * 4 + [(d_model, d_ff), (d_ff,), (d_ff, d_model)] + [(d_model,)] * 5
return torch.tensor(num_layers * sum(math.prod(shape) for shape in shapes))
""")
