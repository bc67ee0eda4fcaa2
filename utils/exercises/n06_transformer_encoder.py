"""Exercises of notebook 06: position waves, layer norm, residual step, feed-forward layer, block, parameters."""

import torch
import torch.nn.functional as F

from ..attention import scaled_dot_product_attention
from .engine import exercise

# ---- sinusoidal_positions


def draw_numbers_of_positions(generator):
    """Even and odd d_model, also 1 and 2; n = d_model; a single position; an even and an odd width by chance."""
    yield from ((5, 8), (4, 6), (3, 5), (6, 6), (1, 4), (4, 1), (5, 2))
    n, pairs = torch.randint(4, 10, (2,), generator=generator).tolist()
    yield from ((n, 2 * pairs), (n - 1, 2 * pairs - 1))


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
    },
    question={
        r"1::2|cat|stack": "An odd d_model has ⌈d/2⌉ columns of sines, and one less of cosines: does this line know?",
        r"\[[^\]]*(\+ ?1|2 ?\* ?\w)[^\]]*\]": "There are ⌈d/2⌉ pairs of columns; where d_model is odd, "
        "the last one is a sine alone. Is each column there that this line names?",
        "": "Positions (n, 1) and frequencies (⌈d/2⌉,) give angles (n, ⌈d/2⌉): which shapes meet in this line?",
    },
    level=2,
    minutes=10,
)
def sinusoidal_positions(n, d_model):
    """Column 2k is sin(p / 10000^(2k/d_model)), column 2k + 1 the cosine: returns (n, d_model).

    Positions count from 0; d_model may be odd.
    """
    exponents = torch.arange(0, d_model, 2) / d_model  # (⌈d/2⌉,)
    wavelengths = 10000**exponents  # (⌈d/2⌉,), over 2π
    angles = torch.arange(n)[:, None] / wavelengths  # (n, ⌈d/2⌉)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :d_model]


sinusoidal_positions.mistakes("""
.flatten(-2)[:, :d_model] -> .reshape(n, d_model)
    an odd d_model has one column of cosines less than of sines, and yours crashes there: take as many angles as fit.
    https://github.com/codertimo/BERT-pytorch/issues/78
[:, :d_model] -> [:, : d_model // 2 * 2]
    an odd d_model comes out one column short: its last column is a sine without a cosine.
[:, :d_model] -> [:, :d_model] * (torch.arange(d_model) < d_model // 2 * 2)
    the last column of an odd d_model is still 0: it is a sine, without a cosine beside it.
dim=-1 -> dim=1
    all the sines stand in front of all the cosines. Here they alternate: column 2k a sine, 2k + 1 its cosine.
    https://github.com/tensorops/TransformerX/issues/115
[angles.sin(), angles.cos()] -> [angles.cos(), angles.sin()]
    sine and cosine are exchanged: even columns, 0, 2, …, hold the sines.
angles.cos() -> angles.sin()
    every column is a sine. Odd columns, 1, 3, …, hold the cosine of the same angle.
angles.sin() -> angles.cos()
    every column is a cosine. Even columns, 0, 2, …, hold the sine of the same angle.
angles.cos() -> 0 * angles
    odd columns are still 0. They hold the cosine of the same angle as the sine before them.
torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2) -> torch.where(torch.arange(n)[:, None] % 2 == 0, angles.sin(), angles.cos()).repeat_interleave(2, -1)
    sines and cosines take turns row by row: [0::2] chooses every other row. Columns are the second index: [:, 0::2].
torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :d_model] -> angles.sin() + angles.cos()
    sines and cosines are added up. They stand in columns of their own, in turn.
angles.cos() -> (angles / 10000 ** (1 / d_model)).cos()
    each column has a frequency of its own, i/d for column i. A sine and the cosine beside it share one: columns 2k and 2k + 1 both have 2k/d_model.
angles.cos() -> (angles / 10000 ** (2 / d_model)).cos()
    a cosine has the frequency of the next pair: its k is one too large. Columns 2k and 2k + 1 share 2k/d_model.
torch.arange(0, d_model, 2) -> 2 * torch.arange(0, d_model, 2)
angles.cos() -> (angles / 10000 ** (2 / d_model)).cos()
    the exponent is 2i/d, with i the column: twice too large, and another for the cosine than for its sine. Columns 2k and 2k + 1 share 2k/d_model.
    https://github.com/Kyubyong/transformer/issues/38
torch.arange(0, d_model, 2) -> 2 * torch.arange(0, d_model, 2)
    the exponent is twice too large, 4k/d. Where a loop or an arange goes in steps of 2, its number is the 2k already.
torch.arange(0, d_model, 2) -> torch.arange(0, d_model, 2) / 2
    the exponent lacks its 2: it is k/d_model. Pair k, of columns 2k and 2k + 1, has 2k.
torch.arange(0, d_model, 2) -> torch.arange(2, d_model + 2, 2)
    k counts from 1 in yours. The first pair has k = 0, whose wave is the fastest: the sine and cosine of p itself.
torch.arange(0, d_model, 2) -> torch.arange(1, d_model + 1, 2)
    the exponents are (2k + 1)/d_model. Both columns of a pair have 2k/d_model: 0 for the first.
torch.arange(0, d_model, 2) / d_model -> torch.linspace(0, 1, (d_model + 1) // 2)
    the exponent runs from 0 to 1, both included, as in some libraries. Here it is 2k/d_model, which stays below 1.
/ d_model -> / max(d_model // 2 * 2, 1)
    you divide k by d_model // 2, which is less than half of an odd d_model. The exponent is 2k/d_model.
/ d_model -> / ((d_model + 1) // 2 * 2)
    you divide k by ⌈d_model / 2⌉, which is more than half of an odd d_model. The exponent is 2k/d_model.
/ d_model -> / max(d_model // 2, 1)
    you divide 2k by d_model // 2, so that the exponent is twice too large. It is 2k/d_model.
/ d_model -> / (d_model - 1)
    you divide the exponent by d_model - 1. It is 2k/d_model.
/ d_model -> / 512
    d_model is 512 in yours, as in the paper, whatever is asked for. Use the argument.
/ d_model -> // d_model
    the exponent is a whole number: // cuts 2k/d_model down to 0, and all columns have one frequency. Divide with /.
/ d_model -> * 1.0
    the exponent is 2k alone: it is still to be divided by d_model.
torch.arange(n) -> torch.arange(1, n + 1)
    positions count from 1 in yours. The first is 0: all its sines are 0, its cosines 1.
torch.arange(n) -> (torch.arange(n) / n)
    positions are divided by n, so that they depend on the sentence's length. p itself counts.
torch.arange(n) -> torch.linspace(0, 1, n)
    positions run from 0 to 1, so that they depend on the sentence's length. The first is 0, the next 1.
10000 -> 1000
    the base is 1000. A zero is missing: 10000.
    https://github.com/maxjcohen/transformer/issues/62
10000 -> 100000
    the base is 100000. That is a zero too many: 10000.
10000 -> math.e
    the base is e: exp alone gives e^(2k/d). For powers of 10000, multiply the exponent by math.log(10000).
10000 -> math.exp(4)
    exp and log do not fit: log10 goes with 10 ** …. With exp, take the natural logarithm, math.log(10000).
/ wavelengths -> / wavelengths * 2 * math.pi
    you multiply the angles by 2π. p / 10000^(2k/d) is the angle, in radians.
/ wavelengths -> / wavelengths * math.pi / 180
    you turn the angles from degrees to radians. They are radians already.
/ wavelengths -> * wavelengths
    you multiply by 10000^(2k/d) and the waves get faster. Divide: from column to column slower.
10000**exponents -> 10000 ** exponents.double()
/ wavelengths -> * wavelengths
    the power stands on the wrong side: p times 10000^(2k/d) makes faster waves. It divides p.
10000**exponents -> torch.exp(exponents * math.log(10000))
/ wavelengths -> * wavelengths
    the exponent of exp lacks its minus: the waves get faster, and they are to get slower.
10000**exponents -> torch.exp(torch.arange(0, d_model, 2).float() * math.log(10000.0) / d_model)
/ wavelengths -> * wavelengths
    the 2k in exp lacks its minus: the waves get faster from column to column, and they are to get slower.
10000**exponents -> torch.exp(torch.arange(0, d_model, 2) * (math.log(10000.0) / d_model))
/ wavelengths -> * wavelengths
    math.log(10000) / d_model lacks its minus: the waves get faster, and they are to get slower.
torch.arange(n)[:, None] / wavelengths -> wavelengths / torch.arange(n)[:, None]
    the quotient is upside down: 10000^(2k/d) / p, which for position 0 is infinite. p stands above.
torch.arange(n)[:, None] / wavelengths -> (torch.arange(n)[:, None] / 10000) ** exponents
    brackets: the power is taken of the whole quotient, (p / 10000)^(2k/d). Only 10000 has the exponent.
/ wavelengths -> * exponents
    the angle is p · 2k/d: 10000 has no say. The exponent belongs to 10000, which divides p.
/ wavelengths -> / 10000 * exponents
    the angle is p / 10000 · 2k/d: `*` where `**` is meant. 2k/d is an exponent.
10000**exponents -> 10000 * exponents
    you multiply 10000 by 2k/d, which for k = 0 divides p by 0: `*` where `**` is meant.
10000**exponents -> 10000 ** torch.arange(0.0, d_model, 2) / d_model
    brackets: 10000 ** 2k / d is (10000 ** 2k) / d, for ** binds tighter. Write ** (2k / d).
10000**exponents -> 10000 ** torch.arange(0.0, d_model, 2) * d_model
    brackets: p / 10000 ** 2k / d divides by 10000 ** 2k, then by d. ** binds tighter: ** (2k / d).
10000**exponents -> (10000 ** torch.arange(0, d_model, 2)) ** (1 / d_model)
    10000 ** 6 is too large for a whole number of 64 bits and comes out wrong, without a word. Form the exponent 2k/d first: it is a fraction.
= sinusoidal_positions(d_model, n).T
    positions and columns are exchanged: the columns count as positions. Positions run down the rows, (n, 1).
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

10000**exponents -> torch.exp(exponents * math.log(10000.0))

columns = torch.arange(d_model)
angles = torch.arange(n)[:, None] / 10000 ** ((columns - columns % 2) / d_model)
return torch.sin(angles + columns % 2 * math.pi / 2)

columns = torch.arange(d_model)
angles = torch.einsum("n,d->nd", torch.arange(n).float(), torch.pow(10000.0, -2 * (columns // 2) / d_model))
return torch.where(columns % 2 == 0, angles.sin(), angles.cos())

positions, pairs = torch.arange(n, dtype=torch.float64), torch.arange(0, d_model, 2, dtype=torch.float64)
angles = positions[:, None] * 10000 ** (-pairs / d_model)
return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]
""")


# ---- layer_norm


def draw_rows_to_normalise(generator):
    """A sentence, batches; n = d, b = n = d; one token; a constant row; eps from 0 to 0.5 shows its place; float64."""
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
        "one row: is there a row for each token?": lambda x, gamma, beta, eps: gamma,
    },
    question={
        r"nn\.|F\.|layer_norm\(": "The shape that is normalised is (d,), the last axis alone.",
        r"@": "gamma multiplies entry by entry, with *: @ adds up.",
        "": "x is (…, n, d), a mean or variance of each row (…, n, 1) with keepdim=True, gamma and beta (d,): which "
        "shapes meet in this line?",
    },
    level=2,
    minutes=8,
)
def layer_norm(x, gamma, beta, eps):
    """Give each row of x (…, n, d) mean 0, deviation 1, then scale and shift: returns (…, n, d).

    The scale is gamma (d,), the shift beta (d,). eps is added to the variance, a mean over the d entries.
    """
    distance = x - x.mean(dim=-1, keepdim=True)  # (…, n, d)
    variance = (distance**2).mean(dim=-1, keepdim=True)  # (…, n, 1)
    normalised = distance / torch.sqrt(variance + eps)
    return gamma * normalised + beta


layer_norm.mistakes("""
torch.sqrt(variance + eps) -> (torch.sqrt(variance) + eps)
    eps is added to the deviation. It belongs inside the root: added to the variance.
    https://github.com/hkproj/pytorch-transformer/pull/31
(distance**2).mean(dim=-1, keepdim=True) -> x.var(dim=-1, keepdim=True)
    the variance is divided by d - 1: torch.var and std do, unless told unbiased=False. Divide by d.
    https://github.com/harvardnlp/annotated-transformer/pull/119
variance + eps -> variance
    eps is missing. A row of equal numbers has the variance 0, and 0/0 is NaN: add eps to the variance.
+ eps) -> + 1e-5)
    eps is 1e-5 whatever is asked for, as where torch's own is not told. Use the argument.
variance + eps) -> variance) + eps
    eps is added after the root was taken of all, or to the quotient. Add it to the variance.
+ eps) -> + eps**2)
    eps is squared, as a deviation would be. It is added to the variance as it is.
variance + eps -> variance.clamp(min=eps)
    eps is a lower bound of the variance in yours. It is added, whatever the variance.
torch.sqrt(variance + eps) -> (variance + eps)
    you divide by the variance. The deviation is its root: only then does it become 1.
torch.sqrt(variance + eps) -> (variance + eps) ** 2
    you square the variance. The deviation is its root: ** 0.5.
    https://github.com/131250208/TPlinker-joint-extraction/issues/37
variance + eps -> torch.sqrt(variance) + eps
    the root is taken twice: std is a root already, so eps is to be added to its square.
/ torch.sqrt -> * torch.sqrt
    you multiply by the deviation instead of dividing: rows that spread much spread more.
distance / torch.sqrt(variance + eps) -> distance
    the mean is subtracted, but nothing divides: the deviation is still to become 1.
distance / -> x /
    the mean is not subtracted before you divide: the rows' deviation is 1, their mean is not 0.
x - x.mean(dim=-1, keepdim=True) -> x
    that is RMS norm: no mean is subtracted, and the mean square divides. Subtract the mean first.
x.mean(dim=-1, keepdim=True) -> x.sum(dim=-1, keepdim=True)
    what you subtract is the sum of the row. Divided by d, it is the mean.
(distance**2) -> (x**2)
    the mean of the squares is no variance yet: the squares of the distances from the mean are averaged.
(distance**2).mean -> (distance**2).sum
    the squared distances are added up, not averaged: √d too large a divisor. Their mean is the variance.
(distance**2).mean(dim=-1, keepdim=True) -> distance.mean(dim=-1, keepdim=True) ** 2
    the mean of the distances from the mean is 0, and so is its square. Square first, then average.
distance / torch.sqrt(variance + eps) -> x / (torch.linalg.vector_norm(x, dim=-1, keepdim=True) + eps)
    you give each row the length 1. Layer norm gives it mean 0 and deviation 1.
distance / torch.sqrt(variance + eps) -> F.normalize(x, dim=-1)
    F.normalize gives each row the length 1, and subtracts nothing. Layer norm gives it mean 0 and deviation 1.
distance / torch.sqrt(variance + eps) -> F.normalize(distance, dim=-1)
    you subtract the mean, then give each row the length 1. The deviation is to be 1: the root of the mean of the squares, not of their sum; and eps is added to it.
torch.sqrt(variance + eps) -> (distance.abs().mean(dim=-1, keepdim=True) + eps)
    you divide by the mean distance from the mean, abs. The deviation is the root of the mean square.
torch.sqrt(variance + eps) -> torch.sqrt(distance**2 + eps).mean(dim=-1, keepdim=True)
    the root comes before the mean: the mean of √(distance² + eps). Average the squares, then the root.
distance / torch.sqrt(variance + eps) -> (x - x.amin(-1, keepdim=True)) / (x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True) + eps)
    that puts a row between 0 and 1. Layer norm gives it mean 0 and deviation 1.
distance / -> x - x.mean(dim=-1, keepdim=True) /
    brackets: x - mean / deviation divides the mean only. Subtract first, (x - mean), then divide.
gamma * normalised -> gamma * x - x.mean(dim=-1, keepdim=True) / torch.sqrt(variance + eps)
    brackets: gamma * x - mean / deviation scales x and divides the mean only. First (x - mean), then divide, then gamma.
gamma * normalised -> gamma * x / torch.sqrt(variance + eps) - x.mean(dim=-1, keepdim=True)
    the mean is subtracted after dividing and scaling. It comes first: (x - mean), then divide, then gamma.
distance / torch.sqrt(variance + eps) -> x / torch.sqrt(variance + eps) - x.mean(dim=-1, keepdim=True)
    the mean is subtracted after dividing. It comes first: (x - mean), then divide.
x.mean(dim=-1, -> x.mean(dim=-2,
(distance**2).mean(dim=-1, -> (distance**2).mean(dim=-2,
    mean and variance go over the tokens, dim=-2. Each token, a row, is normalised by itself: dim=-1.
x.mean(dim=-1, -> x.mean(dim=-2,
(distance**2).mean(dim=-1, -> x.var(dim=-2,
    mean and variance go over the tokens, dim=-2, and the variance is divided by n - 1. Each row has its own, dim=-1, divided by d.
x.mean(dim=-1, -> x.mean(dim=0,
(distance**2).mean(dim=-1, -> x.var(dim=0,
    mean and variance go over the first axis, and the variance is divided by its length less 1. Each row has its own, dim=-1, divided by d.
x.mean(dim=-1, -> x.mean(dim=0,
(distance**2).mean(dim=-1, -> (distance**2).mean(dim=0,
    mean and variance go over the first axis, the batch: that is batch norm. Each token is normalised by itself: dim=-1.
x.mean(dim=-1, -> x.mean(dim=tuple(range(x.ndim - 1)),
(distance**2).mean(dim=-1, -> (distance**2).mean(dim=tuple(range(x.ndim - 1)),
    mean and variance go down the columns, over all the tokens there are: that is batch norm. Each token is normalised by itself: dim=-1.
x.mean(dim=-1, -> x.mean(dim=1,
(distance**2).mean(dim=-1, -> (distance**2).mean(dim=1,
    mean and variance go over axis 1, which in a batch holds the tokens. The d numbers of a token are dim=-1.
x.mean(dim=-1, -> x.mean(dim=(-2, -1),
(distance**2).mean(dim=-1, -> (distance**2).mean(dim=(-2, -1),
    mean and variance go over all the tokens of a sentence, (n, d) together. Each token has its own: dim=-1.
x.mean(dim=-1, -> x.mean(dim=tuple(range(1, x.ndim)),
(distance**2).mean(dim=-1, -> (distance**2).mean(dim=tuple(range(1, x.ndim)),
    each x[i] has one mean and one variance. In a batch x[i] is a whole sentence, and each of its tokens has its own: dim=-1.
x.mean(dim=-1, keepdim=True) -> x.mean()
(distance**2).mean(dim=-1, keepdim=True) -> (distance**2).mean()
    there is one mean and one variance for everything. Each token has its own: dim=-1.
(distance**2).mean(dim=-1, keepdim=True) -> (distance**2).mean()
    each row has its own mean in yours, but the variance is one for everything. It, too, goes by row.
x.mean(dim=-1, keepdim=True) -> x.mean()
    the mean is one for everything. Each row has its own: dim=-1.
x.mean(dim=-1, -> x.mean(dim=-2,
    the mean goes over the tokens, dim=-2. Each row has its own: dim=-1.
(distance**2).mean(dim=-1, -> (distance**2).mean(dim=-2,
    the variance goes over the tokens, dim=-2. Each row has its own: dim=-1.
x.mean(dim=-1, keepdim=True) -> x.sum(dim=-1, keepdim=True) / len(x)
(distance**2).mean(dim=-1, keepdim=True) -> (distance**2).sum(dim=-1, keepdim=True) / len(x)
    the sums are divided by len(x), the length of the first axis. A row has x.shape[-1] numbers.
x.mean(dim=-1, keepdim=True) -> x.mean(dim=-1)
(distance**2).mean(dim=-1, keepdim=True) -> x.var(dim=-1, unbiased=False)
    mean and variance lose their axis, (…, n), and meet the columns of x, or nothing that fits. keepdim=True keeps it.
(distance**2).mean(dim=-1, keepdim=True) -> (distance**2).mean(dim=-1)
    the variance loses its axis, (…, n), and divides columns of x, or crashes. keepdim=True keeps it, as for the mean.
x.mean(dim=-1, keepdim=True) -> x.mean(dim=-1)
    the mean loses its axis, (…, n), and is subtracted from columns of x, or crashes. keepdim=True keeps it.
gamma * normalised + beta -> normalised
    the mean is 0 and the deviation 1, and there you stop: gamma and beta are still to come.
normalised + beta -> normalised
    beta is missing. It is added last.
gamma * ->
    gamma is missing. It multiplies the normalised row, entry by entry.
gamma * normalised + beta -> beta * normalised + gamma
    gamma and beta are exchanged: gamma scales, beta shifts.
normalised + beta -> (normalised + beta)
    beta is added before gamma multiplies, and is scaled along. Multiply, then add.
= layer_norm(gamma * x + beta, torch.ones_like(gamma), 0 * beta, eps)
    gamma and beta come first, and the norm undoes a part of it. Normalise, then scale and shift.
gamma * -> (1 + gamma) *
    gamma is added and multiplied, 1 + gamma, as where it starts at 0. Here gamma itself scales.
gamma * -> 1 / gamma *
    gamma divides. It multiplies: where it is large, the entry counts more.
gamma * -> gamma +
    gamma is added. It multiplies the normalised row, entry by entry.
""")


layer_norm.right("""
F.layer_norm(x, (x.shape[-1],), gamma, beta, eps)

layer = torch.nn.LayerNorm(x.shape[-1], eps=eps, dtype=x.dtype)
layer.load_state_dict({"weight": gamma, "bias": beta})
return layer(x)

(x - x.mean(-1, True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + eps) * gamma + beta

variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
return torch.rsqrt(variance + eps) * (x - mean) * gamma + beta

torch.sqrt(variance + eps) -> (x.std(-1, keepdim=True, unbiased=False) ** 2 + eps) ** 0.5

(distance**2).mean(dim=-1, keepdim=True) -> (x**2).mean(-1, keepdim=True) - x.mean(-1, keepdim=True) ** 2

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
    """Both orders: a sentence, one token each, a batch of one, other sublayers and norms, float64."""
    for shape, sublayer, norm, dtype in (
        ((4, 6), a_mixing_sublayer, a_norm, None),
        ((2, 1, 3), a_feed_forward, a_norm, None),
        ((1, 3, 4), a_mixing_sublayer, another_norm, None),
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
    level=1,
    minutes=5,
    trained=True,
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
if pre: -> if not pre:
    pre and post are exchanged: pre=True normalises before the sublayer, pre=False after the addition.
x + sublayer(norm(x)) -> sublayer(norm(x))
norm(x + sublayer(x)) -> norm(sublayer(x))
    the residual is missing: x itself is never added to what the sublayer gives.
x + sublayer(norm(x)) -> norm(x) + sublayer(norm(x))
    with pre=True you add the normalised x. Then the norm stands on the way that is to carry x through unchanged: add x as it came.
    https://github.com/Howuhh/faster-trajectory-transformer/issues/3
norm(x + sublayer(x)) -> norm(norm(x) + sublayer(x))
    with pre=False you add the normalised x. What is added is x as it came; the norm takes the sum.
norm(x + sublayer(x)) -> norm(norm(x) + sublayer(norm(x)))
    with pre=False x is normalised before anything else. The only norm there comes last, after the addition.
norm(x + sublayer(x)) -> norm(x) + sublayer(norm(x))
    with pre=False x is normalised first, and the sum is not. The norm comes last there: it takes the sum.
x + sublayer(norm(x)) -> norm(norm(x) + sublayer(norm(x)))
    with pre=True you replace x by its norm and then go on as without one: the residual is gone. Keep x to add it.
x + sublayer(norm(x)) -> x + norm(sublayer(x))
    with pre=True you normalise what the sublayer gives. Pre-norm normalises what the sublayer reads.
norm(x + sublayer(x)) -> x + norm(sublayer(x))
    with pre=False you normalise the sublayer's output, then add x. Add first, normalise the sum.
    https://github.com/harvardnlp/annotated-transformer/issues/110
x + sublayer(norm(x)) -> norm(x + sublayer(norm(x)))
    with pre=True you normalise twice, before the sublayer and after the addition. Before it is enough.
norm(x + sublayer(x)) -> norm(x + sublayer(norm(x)))
    with pre=False you normalise twice, before the sublayer and after the addition. Only the sum is normalised.
norm(x + sublayer(x)) -> norm(x) + norm(sublayer(x))
    with pre=False you normalise both parts and add them. Then the sum itself is not normalised: add, then norm.
norm(x + sublayer(x)) -> norm(x) + sublayer(x)
    with pre=False you normalise x and then add. The norm is the last thing there: it takes the sum.
norm(x + sublayer(x)) -> sublayer(norm(x))
    with pre=False you do as with pre=True, and without the residual. Add x to what the sublayer gives, then normalise.
x + sublayer(norm(x)) -> norm(x) + sublayer(x)
    with pre=True you normalise x where it is added, not where the sublayer reads it. It is the other way round.
x + sublayer(norm(x)) -> x + norm(sublayer(norm(x)))
    with pre=True the norm stands before the sublayer and behind it. Before it is enough.
norm(x + sublayer(x)) -> x + norm(sublayer(norm(x)))
    with pre=False the norm stands before the sublayer and behind it. It takes the sum, and nothing else.
norm(x + sublayer(x)) -> x + norm(x + sublayer(x))
    with pre=False you add x a second time, after the norm. The normalised sum is the result.
x + sublayer(norm(x)) -> 2 * x + sublayer(norm(x))
norm(x + sublayer(x)) -> norm(2 * x + sublayer(x))
    x is added twice. What the sublayer gives and x, once each, make the sum.
x + sublayer(norm(x)) -> x + sublayer(x)
norm(x + sublayer(x)) -> x + sublayer(x)
    the norm is missing. pre=True: the sublayer reads the norm of x; pre=False: the sum is normalised.
x + sublayer(norm(x)) -> x + norm(x)
norm(x + sublayer(x)) -> norm(x)
    the sublayer is never called: it stands between the norm and the addition, or before both.
x + sublayer(norm(x)) -> x + sublayer(sublayer(norm(x)))
norm(x + sublayer(x)) -> norm(x + sublayer(sublayer(x)))
    the sublayer is applied twice, to its own output. Once is enough in either order.
x + sublayer(norm(x)) -> sublayer(x + norm(x))
norm(x + sublayer(x)) -> norm(sublayer(x + x))
    x is added to what the sublayer reads. It goes past the sublayer: add it to what comes out.
x + sublayer(norm(x)) -> x * sublayer(norm(x))
norm(x + sublayer(x)) -> norm(x * sublayer(x))
    x is multiplied by what the sublayer gives. A residual connection adds it.
x + sublayer(norm(x)) -> x - sublayer(norm(x))
norm(x + sublayer(x)) -> norm(x - sublayer(x))
    the sublayer's output is subtracted. A residual connection adds the two.
x + sublayer(norm(x)) -> sublayer(norm(x)) - x
norm(x + sublayer(x)) -> norm(sublayer(x) - x)
    x is subtracted. A residual connection adds it.
x + sublayer(norm(x)) -> (x + sublayer(norm(x))) / 2
norm(x + sublayer(x)) -> norm((x + sublayer(x)) / 2)
    you halve the sum, a mean of both ways. A residual connection adds them, no more.
x + sublayer(norm(x)) -> x + sublayer(F.layer_norm(x, x.shape[-1:]))
norm(x + sublayer(x)) -> F.layer_norm(x + sublayer(x), x.shape[-1:])
    that is a layer norm of your own, with neither gamma nor beta. Call norm, the function that you are given.
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
        ((2, 2, 3, 4), 7, torch.float64),
    ):
        d = shape[-1]
        sizes = shape, (d, d_ff), (d_ff,), (d_ff, d), (d,)
        yield tuple(torch.randn(size, generator=generator, dtype=dtype) for size in sizes)


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
        "one row for all tokens: each position keeps its own": lambda x, W_1, b_1, W_2, b_2: x[..., 0, :],
        "one number a token: the last axis is to have d": lambda x, W_1, b_1, W_2, b_2: x[..., 0],
        "W_2: is what multiplies it a single number, the maximum of all?": lambda x, W_1, b_1, W_2, b_2: W_2,
    },
    question={
        r"\* ?W_": "`*` multiplies entry by entry: is the matrix product, @, meant?",
        r"\.m?T|linear": "Vectors are rows and W_1 is (d, d_ff): x @ W_1 fits as it is. F.linear wants it transposed.",
        r"W_1(\.m?T)? @|W_1, x": "Vectors are the rows of x here, (…, n, d), and W_1 is (d, d_ff): on which side is x?",
        "W_2": "W_2 is (d_ff, d), b_2 (d,): what stands on the left of W_2 has d_ff numbers a token, does it?",
        "": "x is (…, n, d), W_1 (d, d_ff), b_1 (d_ff,): which axes meet in this line, and on which side is x?",
    },
    level=1,
    minutes=4,
)
def feed_forward(x, W_1, b_1, W_2, b_2):
    """Two linear layers with relu between them, on x (…, n, d): returns (…, n, d).

    W_1 is (d, d_ff), W_2 (d_ff, d); b_1 (d_ff,) and b_2 (d,) are their biases. Every row of x goes through by itself.
    """
    hidden = torch.relu(x @ W_1 + b_1)  # (…, d_ff)
    return hidden @ W_2 + b_2


feed_forward.mistakes("""
torch.relu( -> (
    there is no relu: two linear layers in a row are one linear layer. Negative numbers become 0.
    https://github.com/YujiaBao/ls/issues/1
hidden @ W_2 + b_2 -> torch.relu(hidden @ W_2 + b_2)
    there is a second relu at the end. The output may be negative: relu stands between the layers.
torch.relu( -> (
hidden @ W_2 + b_2 -> torch.relu(hidden @ W_2 + b_2)
    relu stands at the end instead of between the layers: after W_1 and b_1, before W_2.
    https://github.com/goruck/nilm/issues/1
W_1 + b_1) -> W_1) + b_1
    relu comes before b_1 is added: max(0, x W_1) + b_1. The bias belongs inside.
hidden @ W_2 -> torch.relu(hidden @ W_2)
    there is a second relu, before b_2 is added. It stands once, after b_1.
x @ -> torch.relu(x) @
    relu is applied to x. It belongs to the hidden numbers, after W_1 and b_1.
torch.relu( -> (
x @ -> torch.relu(x) @
    relu is applied to x instead of the hidden numbers. It comes after W_1 and b_1.
+ b_1 ->
    b_1 is missing: it is added to the hidden numbers before the relu.
+ b_2 ->
    b_2 is missing: it is added at the end.
+ b_1 -> + b_2
    b_2 (d,) stands where b_1 (d_ff,) belongs: b_1 goes with W_1.
+ b_2 -> + b_1
    b_1 (d_ff,) stands where b_2 (d,) belongs: b_2 goes with W_2.
+ b_1 -> - b_1
    b_1 is subtracted. It is added.
+ b_2 -> - b_2
    b_2 is subtracted. It is added.
W_1 + b_1 -> (W_1 + b_1)
    b_1 is added to the matrix W_1. It is added to the product, once for each token.
W_2 + b_2 -> (W_2 + b_2)
    b_2 is added to the matrix W_2. It is added to the product, once for each token.
torch.relu( -> F.gelu(
    that is gelu, as in BERT and GPT. Here it is relu, as in the original paper: max(0, ·).
torch.relu( -> (lambda z: F.gelu(z, approximate="tanh"))(
    that is gelu in its tanh form, as in GPT-2. Here it is relu: max(0, ·).
torch.relu( -> F.silu(
    that is silu, z · sigmoid(z). Here it is relu: max(0, ·).
torch.relu( -> F.leaky_relu(
    that is a leaky relu: it lets a hundredth of negative numbers through. relu makes them 0.
torch.relu( -> torch.sigmoid(
    that is a sigmoid, between 0 and 1. Here it is relu, max(0, ·), which leaves positive numbers.
torch.relu( -> torch.tanh(
    that is tanh, between -1 and 1. Here it is relu, max(0, ·), which leaves positive numbers.
torch.relu( -> (lambda z: z.softmax(-1))(
    that is a softmax over the hidden numbers. Nothing competes here: relu, max(0, ·), for each.
torch.relu( -> F.elu(
    that is elu: it lets negative numbers through, down to -1. relu makes them 0.
torch.relu( -> F.softplus(
    that is softplus, a relu with its corner rounded off. Here it is relu itself: max(0, ·).
torch.relu( -> torch.abs(
    abs turns negative numbers positive. relu makes them 0.
torch.relu( -> (lambda z: z.clamp(max=0))(
    that keeps the negative numbers and makes the positive ones 0: min instead of max.
torch.relu( -> (lambda z: (z > 0).to(z.dtype))(
    that gives 1 for a positive hidden number, 0 for others: whether, not how much. relu keeps it.
torch.relu( -> (lambda z: z.clamp(0, 1))(
    negative numbers are cut off at 0, but large ones at 1, too. relu has no upper limit.
torch.relu( -> (lambda z: z.amax(-1, keepdim=True).expand_as(z))(
    the largest of a token's hidden numbers stands for all of them: max over an axis. max(0, ·) compares each with 0.
hidden @ -> hidden**2 @
    the hidden numbers are squared after the relu. They go on as relu leaves them.
W_1 -> W_1.T
    W_1 is transposed, which fits only where d = d_ff. It is (d, d_ff): vectors are rows, x @ W_1.
W_2 -> W_2.T
    W_2 is transposed, which fits only where d = d_ff. It is (d_ff, d), after the hidden layer.
W_2 -> W_1.T
    the second layer uses W_1 again, transposed. It has a matrix of its own, W_2.
W_1 -> W_2.T
    the first layer uses W_2, transposed. It has a matrix of its own, W_1.
W_1 -> W_2
    W_2 stands where W_1 belongs, which fits only where d = d_ff. W_1 comes first.
W_2 -> W_1
    W_1 stands where W_2 belongs, which fits only where d = d_ff. W_2 comes second.
= feed_forward(x, W_2, b_2, W_1, b_1)
    the layers are exchanged, which fits only where d = d_ff. W_1 and b_1 lead from d to d_ff, W_2 and b_2 back.
x @ W_1 -> W_1 @ x
    W_1 @ x mixes the tokens, which are the rows of x. The matrix stands on the right.
hidden @ W_2 -> W_2 @ hidden
    W_2 on the left mixes the tokens, which are the rows. The matrix stands on the right.
hidden @ W_2 + b_2 -> hidden
    that is the hidden layer, with d_ff numbers a token. W_2 and b_2 bring it back to d.
hidden @ -> x + hidden @
    you add x, a residual connection. That belongs to the block: here return what the layers give.
x @ -> F.layer_norm(x, x.shape[-1:]) @
    x is normalised first. The norm belongs to the block: here x goes in as it comes.
x @ -> x.mean(-2, keepdim=True).expand_as(x) @
    you average over the tokens, and all come out alike. Every position goes through by itself.
x @ -> x.reshape(-1, x.shape[-1]) @
    the tokens of all sentences stand in one row of tokens at the end. Keep the axes: @ does.
""")


feed_forward.right("""
F.linear(F.relu(F.linear(x, W_1.T, b_1)), W_2.T, b_2)

torch.relu(x @ W_1 + b_1) -> torch.clamp(torch.matmul(x, W_1) + b_1, min=0)

hidden = x @ W_1 + b_1
return b_2 + torch.maximum(hidden, torch.zeros_like(hidden)) @ W_2

hidden = torch.einsum("...d,df->...f", x, W_1) + b_1
return torch.einsum("...f,fd->...d", hidden * (hidden > 0), W_2) + b_2

rows = [(row @ W_1 + b_1).relu() @ W_2 + b_2 for row in x.reshape(-1, x.shape[-1])]
return torch.stack(rows).reshape(x.shape)

layers = nn.Sequential(nn.Linear(*W_1.shape), nn.ReLU(), nn.Linear(*W_2.shape)).to(x.dtype)
layers.load_state_dict({"0.weight": W_1.T, "0.bias": b_1, "2.weight": W_2.T, "2.bias": b_2})
return layers(x)
""")


# ---- encoder_block


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
    level=2,
    minutes=8,
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


encoder_block.mistakes("""
= encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, True)
    pre=False is treated like pre=True. With pre=False each norm comes after its addition.
= encoder_block(x, attention, feed_forward, norm_1, norm_2, mask, False)
    pre=True is treated like pre=False. With pre=True each norm comes before attention or feed_forward.
if pre: -> if not pre:
    pre and post are exchanged: pre=True normalises before attention and feed_forward, pre=False after each addition.
norm_1(x + attention(x, mask)) -> x + attention(norm_1(x), mask)
    with pre=False the first step is done as with pre=True. There norm_1 takes the sum of x and attention.
norm_2(attended + feed_forward(attended)) -> attended + feed_forward(norm_2(attended))
    with pre=False the second step is done as with pre=True. There norm_2 takes the sum, last of all.
x + attention(norm_1(x), mask) -> norm_1(x + attention(x, mask))
    with pre=True the first step is done as with pre=False. There attention reads norm_1 of x.
attended + feed_forward(norm_2(attended)) -> norm_2(attended + feed_forward(attended))
    with pre=True the second step is done as with pre=False. There feed_forward reads norm_2 of the first step's result.
norm_2(attended) -> norm_1(attended)
norm_2(attended + -> norm_1(attended +
    norm_1 stands in both places. Each norm has a gamma and a beta of its own: norm_2 goes with feed_forward.
    https://github.com/allenai/OLMo/issues/222
norm_1(x) -> norm_2(x)
norm_1(x + -> norm_2(x +
    norm_2 stands in both places. Each norm has a gamma and a beta of its own: norm_1 goes with attention.
attended + feed_forward(norm_2 -> x + feed_forward(norm_2
attended + feed_forward(attended) -> x + feed_forward(attended)
    the second residual adds the block's input: what attention gave is lost from the main way. Add what the second step started from, the result of the first.
    https://github.com/strutive07/transformer-tensorflow2.0/issues/14
norm_1(x + attention(x, mask)) -> x + attention(x, mask)
feed_forward(attended) -> feed_forward(norm_1(attended))
    with pre=False feed_forward reads norm_1 of the sum, but the second residual adds the sum itself. The first step's result is the norm: both start from it.
attention(norm_1(x), mask) -> attention(norm_1(x), None)
attention(x, mask) -> attention(x, None)
    attention does not get the mask, and looks at what it is not to see. Hand it on.
attention(norm_1(x), mask) -> attention(norm_1(x), ~mask)
attention(x, mask) -> attention(x, ~mask)
    the mask is inverted on the way. True = may attend, for attention, too: hand it on as it is.
attention(norm_1(x), mask) -> attention(norm_1(x), mask.bool())
attention(x, mask) -> attention(x, mask.bool())
    a mask may be None, and None has no methods: hand it on as it is.
= encoder_block(x, lambda y, _: feed_forward(y), lambda y: attention(y, mask), norm_1, norm_2, mask, pre)
    feed_forward comes before attention. Attention is the first of the two, with norm_1.
= encoder_block(x, lambda y, _: feed_forward(y), lambda y: attention(y, mask), norm_2, norm_1, mask, pre)
    feed_forward comes before attention, each with its norm, but in the wrong order. Attention is the first.
= encoder_block(x, attention, lambda y: attention(y, mask), norm_1, norm_2, mask, pre)
    attention comes twice. The second sublayer is feed_forward.
= encoder_block(x, lambda y, _: feed_forward(y), feed_forward, norm_1, norm_2, mask, pre)
    feed_forward comes twice. The first sublayer is attention.
x + attention(norm_1 -> norm_1(x) + attention(norm_1
    with pre=True the first residual adds norm_1 of x. Add x as it came.
    https://github.com/Howuhh/faster-trajectory-transformer/issues/3
attended + feed_forward(norm_2 -> norm_2(attended) + feed_forward(norm_2
    with pre=True the second residual adds what comes out of norm_2. Add what goes into it.
x + attention(norm_1 -> attention(norm_1
x + attention(x -> attention(x
    the first residual is missing: add x to what attention gives.
attended + feed_forward(norm_2 -> feed_forward(norm_2
attended + feed_forward(attended) -> feed_forward(attended)
    the second residual is missing: add the first step's result to what feed_forward gives.
= x + feed_forward(norm_2(attention(norm_1(x), mask))) if pre else norm_2(x + feed_forward(norm_1(attention(x, mask))))
    there is one residual around both sublayers. Each has its own: add after attention, and again after feed_forward.
attention(norm_1(x) -> attention(x
norm_1(x + attention(x, mask)) -> x + attention(x, mask)
    norm_1 is missing: it goes with attention, before it or after its addition.
feed_forward(norm_2(attended)) -> feed_forward(attended)
norm_2(attended + feed_forward(attended)) -> attended + feed_forward(attended)
    norm_2 is missing: it goes with feed_forward, before it or after its addition.
attention(norm_1(x), mask) -> norm_1(attention(x, mask))
norm_1(x + attention(x, mask)) -> x + norm_1(attention(x, mask))
    you normalise what attention gives, before adding it. Pre-norm normalises what attention reads, post-norm the sum.
feed_forward(norm_2(attended)) -> norm_2(feed_forward(attended))
norm_2(attended + feed_forward(attended)) -> attended + norm_2(feed_forward(attended))
    you normalise what feed_forward gives, before adding it. Pre-norm normalises what feed_forward reads, post-norm the sum.
x + attention(norm_1(x), mask) -> norm_1(x + attention(norm_1(x), mask))
attention(x, mask) -> attention(norm_1(x), mask)
    norm_1 is used twice, before attention and after the addition. Pre-norm has it before only, post-norm after only.
attended + feed_forward(norm_2(attended)) -> norm_2(attended + feed_forward(norm_2(attended)))
feed_forward(attended) -> feed_forward(norm_2(attended))
    norm_2 is used twice, before feed_forward and after the addition. Pre-norm has it before only, post-norm after only.
attended + feed_forward(norm_2(attended)) -> attended
norm_2(attended + feed_forward(attended)) -> attended
    that is the first step only. feed_forward with norm_2 follows.
x + attention(norm_1(x), mask) -> x
norm_1(x + attention(x, mask)) -> x
    attention is missing: that is the second step only.
norm_2(attended) -> norm_2(x)
feed_forward(attended) -> feed_forward(x)
    feed_forward reads x, beside attention. It comes behind it: it reads the result of the first step.
attended + feed_forward(norm_2 -> x + attended + feed_forward(norm_2
attended + feed_forward(attended) -> x + attended + feed_forward(attended)
    in the second step x is added along with the first step's result: it is in there already.
attended + feed_forward(norm_2(attended)) -> attended + x + feed_forward(norm_2(x))
norm_2(attended + feed_forward(attended)) -> attended + norm_2(x + feed_forward(x))
    the second step starts from x, and the two are added up. It starts from the first step's result, and its own is the block's.
attended + feed_forward(norm_2 -> 2 * attended + feed_forward(norm_2
norm_2(attended + feed_forward(attended)) -> attended + norm_2(attended + feed_forward(attended))
    the first step's result is added to the whole second step, which adds it already.
x + attention(norm_1 -> 2 * x + attention(norm_1
norm_1(x + attention(x, mask)) -> x + norm_1(x + attention(x, mask))
    x is added to the whole first step, which adds it already.
attention(norm_1(x), mask) -> attention(norm_1(x), mask)[0]
attention(x, mask) -> attention(x, mask)[0]
    you take the first part of what attention returns, which is a row: it returns the output alone, without the weights.
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

y = x + attention(norm_1(x) if pre else x, mask=mask)
y = y if pre else norm_1(y)
y = y + (feed_forward(norm_2(y)) if pre else feed_forward(y))
return y if pre else norm_2(y)
""")


# ---- count_encoder_parameters


def draw_encoder_sizes(generator):
    """One block and many, d_ff = 4d, = d and neither, a single head; the original paper's; two by chance."""
    yield from ((1, 8, 2, 20), (2, 16, 4, 64), (3, 6, 1, 6), (6, 512, 8, 2048), (4, 10, 5, 7))
    for _ in range(2):
        layers, heads, width, d_ff = torch.randint(2, 9, (4,), generator=generator).tolist()
        yield layers, heads * width, heads, 5 * d_ff + 1


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


count_encoder_parameters.mistakes("""
num_layers * ->
    you count one block. Each of the num_layers blocks has parameters of its own.
num_layers * -> num_layers +
    num_layers is added. Each block has as many parameters: multiply.
num_layers * (attention + feed_forward + norms) -> (attention + feed_forward + norms) ** num_layers
    num_layers is an exponent in yours. Each block has as many parameters: multiply.
(attention + feed_forward + norms) -> attention + feed_forward + norms
    num_layers multiplies the first term only, attention: brackets around the whole block are missing.
num_layers * (attention + feed_forward + norms) -> attention + feed_forward + norms * num_layers
    num_layers multiplies the last term only, the norms: brackets around the whole block are missing.
+ norms) -> ) + norms
    the norms are counted once for all blocks. Each block has two of its own.
(attention + feed_forward + norms) -> (attention + norms) + feed_forward
    the feed-forward layer is counted once for all blocks. Each block has its own.
(attention + feed_forward + norms) -> (feed_forward + norms) + attention
    attention is counted once for all blocks. Each block has its own.
4 * -> 4 * num_heads *
    attention is counted once for each head. Heads share W_q, W_k, W_v and W_o out: their number adds nothing.
num_layers * -> num_layers * num_heads *
    everything is counted once for each head. The heads share out four matrices of (d, d): their number adds nothing.
4 * -> (3 * num_heads + 1) *
    each head has its own W_q, W_k and W_v of (d, d) in yours. A head's are (d, d / h): heads share, not repeat.
4 * (d_model * d_model + d_model) -> 4 * (d_model + 1) * (d_model // num_heads)
    attention is counted for one head, (d, d / h). Count all of them: four matrices of (d, d).
4 * -> 3 * (d_model + 1) * (d_model // num_heads) +
    W_q, W_k and W_v are those of one head, (d, d / h). There are h such slices of each.
d_model * d_model + d_model -> d_model * d_model + num_heads * d_model
    each head has a bias of d_model numbers in yours. A matrix has one bias, d_model numbers for all heads together.
d_model * d_model + d_model -> d_model ^ 2 + d_model
    `^` is no power in Python, but an exclusive or of bits: write d_model ** 2.
d_model * d_model + d_model -> d_model * d_model
d_model * d_ff + d_ff -> d_model * d_ff
d_ff * d_model + d_model -> d_ff * d_model
    the biases of the matrices are missing, all six. Each has as many numbers as its matrix has outputs.
d_model * d_ff + d_ff -> d_model * d_ff
d_ff * d_model + d_model -> d_ff * d_model
    the biases of the feed-forward layer are missing: d_ff numbers for the first matrix, d_model for the second.
d_model * d_ff + d_ff -> d_model * d_ff
    the feed-forward layer has the bias b_2 only. b_1 has d_ff numbers.
d_ff * d_model + d_model -> d_ff * d_model + d_ff
    both biases of the feed-forward layer have d_ff numbers in yours. The second has d_model, as its output has.
d_model * d_ff + d_ff -> d_model * d_ff + d_model
    both biases of the feed-forward layer have d_model numbers in yours. The first has d_ff, as the hidden layer has.
d_model * d_model + d_model -> d_model * d_model + 1
d_model * d_ff + d_ff -> d_model * d_ff + 1
d_ff * d_model + d_model -> d_ff * d_model + 1
    each bias counts as one number in yours. It has as many as its matrix has outputs.
2 * (d_model + d_model) -> 3 * d_model
    each block lacks d_model numbers. Is it the bias of W_o, the second bias of the feed-forward layer, or a beta?
2 * (d_model + d_model) -> 2 * d_model
    each block lacks 2 · d_model numbers. There are two norms, and each has gamma and beta: four rows of d_model.
2 * (d_model + d_model) -> d_model
    each block lacks 3 · d_model numbers. W_q, W_k and W_v have biases, too; and two norms make four rows of d_model.
2 * (d_model + d_model) -> 0
    each block lacks 4 · d_model numbers: those of the two norms, or the biases of attention's four matrices. Both are learned.
2 * (d_model + d_model) -> -4 * d_model
    each block lacks 8 · d_model numbers: the biases of attention's four matrices, and two norms, gamma and beta each.
2 * (d_model + d_model) -> 4
    a norm has gamma and beta, one number each, in yours. They are rows of d_model numbers.
2 * (d_model + d_model) -> 6 * d_model
    three norms a block in yours. There are two: one for each sublayer.
2 * (d_model + d_model) -> 2 * (d_model + d_ff)
    one norm has rows of d_ff numbers in yours. Both stand where a token has d_model.
2 * (d_model + d_model) -> 4 * d_ff
    the norms have rows of d_ff numbers in yours. They stand where a token has d_model.
2 * (d_model + d_model) -> 2 * (d_model * d_model + d_model)
    a norm has a matrix of (d, d) in yours. Its gamma is a row of d_model numbers, like its beta.
norms) -> norms) + 2 * d_model
    an extra norm stands at the end. Nothing is counted behind the blocks here.
4 * -> 3 *
    W_o is missing: attention has four matrices, each with its bias.
4 * -> 1 *
    attention has a single matrix in yours. There are four: W_q, W_k, W_v and W_o.
4 * -> 0 *
    attention is missing: its four matrices with their biases.
(d_model * d_ff + d_ff) + (d_ff * d_model + d_model) -> 0
    the feed-forward layer is missing: its two matrices with their biases.
+ (d_ff * d_model + d_model) ->
    you count one feed-forward matrix, (d, d_ff), with its bias. A second one leads back, (d_ff, d), with a bias, too.
d_ff * d_model + d_model -> d_model
    you count one feed-forward matrix, with both biases. A second one leads back, (d_ff, d).
d_ff * d_model + d_model -> d_ff * d_ff + d_ff
    the second feed-forward matrix is (d_ff, d_ff) in yours. It leads back to d_model.
d_model * d_ff + d_ff -> d_ff * d_ff + d_ff
    the first feed-forward matrix is (d_ff, d_ff) in yours. It takes d_model numbers, and its second side alone is d_ff.
= count_encoder_parameters(num_layers, d_model, num_heads, 4 * d_model)
    d_ff is 4 · d_model in yours, as in the paper, whatever is asked for. Use the argument.
= count_encoder_parameters(num_layers, d_model, num_heads, 2048)
    d_ff is 2048 in yours, as where torch's own layer is not told. Use the argument.
= num_layers * (3 * d_model**2 + 2 * d_model * d_ff)
    those are matrices only, and one is missing: attention has four, W_o the last. Biases and norms count, too.
= num_layers * (4 * d_model**2 + d_model * d_ff)
    those are matrices only, and one is missing: the feed-forward layer has two. Biases and norms count, too.
= num_layers * 12 * d_model**2
    12 · d_model² counts the matrices where d_ff is 4 · d_model. d_ff is an argument here, and biases and norms count.
(attention + feed_forward + norms) -> attention
    that is attention only. The feed-forward layer and the norms belong to the block.
(attention + feed_forward + norms) -> feed_forward
    that is the feed-forward layer only. Attention and the norms belong to the block.
= num_layers * 12
    you count the tensors. Count the numbers in them: p.numel().
num_layers * -> 1.0 * num_layers *
    the result is a float: / always gives one, and so does a float among the factors. A count is whole: //.
""")


count_encoder_parameters.right("""
layer = nn.TransformerEncoderLayer(d_model, num_heads, d_ff, device="meta")
return num_layers * sum(parameter.numel() for parameter in layer.parameters())

num_layers * (4 * d_model**2 + 2 * d_model * d_ff + 9 * d_model + d_ff)

total = 0
for _ in range(num_layers):
    for rows, columns in [(d_model, d_model)] * 4 + [(d_model, d_ff), (d_ff, d_model)]:
        total += rows * columns + columns
    total += 2 * 2 * d_model
return total

4 * (d_model * d_model + d_model) -> catalogue()["count_parameters"](d_model, num_heads, True)

shapes = [(d_model, d_model), (d_model,)] * 4 + [(d_model, d_ff), (d_ff,), (d_ff, d_model)] + [(d_model,)] * 5
return torch.tensor(num_layers * sum(math.prod(shape) for shape in shapes))
""")
