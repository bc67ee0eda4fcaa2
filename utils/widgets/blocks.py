"""Drawings of blocks: which numbers a norm takes together, a block before and after."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..plots import as_numbers
from .board import short, width_of
from .canvas import Phone, View, cut

# Which numbers a norm takes together


def draw_numbers(canvas: Phone, left: float, top: float, numbers: np.ndarray, wide: float) -> None:
    """Numbers (n, d) as coloured cells, `wide` pixels each; whole numbers are written without decimals."""
    limit = np.abs(numbers).max() or 1.0
    for (row, column), value in np.ndenumerate(numbers):
        x, y, role = left + wide * column, top + TALL * row, "negative" if value < 0 else "data"
        letters = canvas.shade(x, y, wide, TALL, role, abs(float(value)) / limit)
        canvas.text(x + wide / 2, y + TALL / 2 + 4, short(value), 11, fill=letters)


def draw_names(canvas: Phone, x: float, top: float, words: Sequence[str], signs: int = 8) -> None:
    """The words of a table's rows, which end at x."""
    for row, word in enumerate(words):
        canvas.text(x, top + TALL * (row + 0.5) + 4, cut(word, signs), 12, "end")


def width_of_cells(numbers: np.ndarray) -> float:
    """How wide a cell must be that has room for each of the numbers, and for a frame."""
    return max(width_of(short(value)) for value in numbers.flat) + 5


TALL = 26  # pixels of a row


def draw_layer_norm(canvas: Phone, top: float, numbers: np.ndarray, words: Sequence[str]) -> str:
    """A table (n, d) whose rows are framed, each with its mean and its deviation, and on the right the normed rows;
    returns what it shows. ValueError: there is no room."""
    means, deviations = numbers.mean(-1), numbers.std(-1)
    normed = (numbers - means[:, None]) / np.sqrt(deviations[:, None] ** 2 + 1e-5)  # a row of equal numbers: 0
    (n, d), wide, wider = numbers.shape, width_of_cells(numbers), width_of_cells(normed)
    left, right = max(width_of(cut(word, 8), 12) for word in words) + 13, 350 - wider * d
    room = right - left - wide * d - 90
    if room < 0:
        raise ValueError(f"the numbers are {-room:.0f} pixels too wide for a phone")
    wide = min(wider, wide + room / d)
    middle = left + wide * d
    draw_names(canvas, left - 7, top, words)
    draw_numbers(canvas, left, top, numbers, wide)
    draw_numbers(canvas, right, top, normed, wider)
    for x, y, name in ((middle + 20, 6, "mean"), (middle + 55, 22, "deviation"), (right + wider * d / 2, 6, "normed")):
        canvas.text(x, top - y, name, 12 if y == 6 else 11.5)
    for row, (mean, deviation) in enumerate(zip(means, deviations)):
        y = top + TALL * row
        canvas.frame(left, y + 2, wide * d, TALL - 4, 5)
        canvas.text(middle + 20, y + 17, short(mean), 12, bold=True)
        canvas.text(middle + 55, y + 17, short(deviation), 12, bold=True)
        canvas.arrow(right - 16, y + 13, right - 4, y + 13, "quiet", 2, 7)
    canvas.text(right + wider * d, top + TALL * n + 17, "mean 0, deviation 1", 11.5, "end")
    said = (f"{word} {short(a)} and {short(b)}, normed {in_a_row(row)}" for word, a, b, row in
            zip(words, means, deviations, normed))  # fmt: skip
    return f"means and deviations: {'; '.join(said)}. Each normed row has mean 0 and deviation 1"


def in_a_row(numbers: ArrayLike) -> str:
    """Numbers (k,) as text: "2, 1.41"."""
    return ", ".join(map(short, numbers))


def draw_batch_norm(canvas: Phone, top: float, numbers: np.ndarray, words: Sequence[str]) -> str:
    """A table (n, d) whose columns are framed, each with its mean below it; returns what it shows."""
    (n, d), means, left = numbers.shape, numbers.mean(0), 78
    wide, foot = min(46.0, 268 / d), top + TALL * n + 17
    draw_names(canvas, left - 8, top, words)
    draw_numbers(canvas, left, top, numbers, wide)
    for column, mean in enumerate(means):
        canvas.frame(left + wide * column + 2, top + 2, wide - 4, TALL * n - 4, 5)
        canvas.text(left + wide * (column + 0.5), foot, short(mean), 12, bold=True)
    canvas.text(left - 8, foot, "mean", 12, "end")
    return f"means {in_a_row(means)}"


def norm_axes(words: Sequence[str], x: ArrayLike) -> View:
    """The vectors x (n, d) of some words twice: which numbers layer norm takes together, and what it makes of them; and
    which numbers batch norm takes together. ValueError: they are too wide for a phone."""
    numbers, tall = as_numbers(x, 2), TALL * len(words)
    canvas, layer, batch = Phone(2 * tall + 178), "each row, one word, by itself", "each column, over all words"
    canvas.text(6, 20, f"Layer norm: {layer}", 13.5, "start", bold=True)
    rows = draw_layer_norm(canvas, 66, numbers, words)
    canvas.text(6, tall + 122, f"Batch norm: {batch}", 13.5, "start", bold=True)
    columns = draw_batch_norm(canvas, tall + 142, numbers, words)
    return canvas.view(f"Layer norm: {layer}; {rows}. Batch norm: {batch}; {columns}.")


# Where the norm stands

STEPS = (("attention", "norm 1"), ("feed-forward", "norm 2"))


def draw_station(canvas: Phone, x: float, y: float, name: str, colour: str = "ink") -> None:
    """A box 98 wide around its middle, with a name in it."""
    canvas.rect(x - 49, y - 14, 98, 28, "ground", stroke=colour, stroke_width=2, rx=6)
    canvas.text(x, y + 4.5, name, 12, fill=colour, bold=True)


def draw_plus(canvas: Phone, x: float, y: float) -> None:
    canvas.add("circle", cx=x, cy=y, r=11, fill="ground", stroke="ink", stroke_width=2)
    canvas.text(x, y + 5, "+", 15, bold=True)


def draw_stream(canvas: Phone, x: float, pre: bool) -> list[str]:
    """The stream of one block as a line from below to above, and on its right what reads from it; returns what stands
    on the stream, in order."""
    canvas.text(x, 516, "x", 14, bold=True)
    canvas.arrow(x, 500, x, 62, "data", 4)
    aside, on_it = x + 82, []
    for number, (sublayer, norm) in enumerate(STEPS):
        low = 488 - 216 * number
        chain = [norm, sublayer] if pre else [sublayer]
        heights = [low - 40, low - 96] if pre else [low - 62]
        back = low - (146 if pre else 118)
        canvas.line(x, low, aside, low, "quiet", 2)
        for begin, y in zip([low, *(middle - 14 for middle in heights)], heights):
            canvas.arrow(aside, begin, aside, y + 15, "quiet", 2)
        canvas.line(aside, heights[-1] - 14, aside, back, "quiet", 2)
        canvas.arrow(aside, back, x + 11, back, "quiet", 2)
        for name, y in zip(chain, heights):
            draw_station(canvas, aside, y, name, "here" if name == norm else "ink")
        draw_plus(canvas, x, back)
        on_it.append("+")
        if not pre:
            draw_station(canvas, x, back - 46, norm, "here")
            on_it.append(norm)
    return on_it


def norm_orders() -> View:
    """A block in post-norm and in pre-norm: the stream from x to the output, and what reads from it and adds to it."""
    canvas, said = Phone(526), []
    for x, name, about, pre in (
        (54, "post-norm, 2017", "norms on the stream", False), (212, "pre-norm, today", "norms beside it", True),
    ):  # fmt: skip
        canvas.text(x - 42, 20, name, 12.5, "start", bold=True)
        canvas.text(x - 42, 38, about, 12, "start", "quiet")
        said.append(f"{name}: on the stream from x to the output stand {', '.join(draw_stream(canvas, x, pre))}")
    reads = "beside it attention and feed-forward read from the stream and write back at the +"
    return canvas.view(f"A block. {said[0]}; {reads}. {said[1]}; each norm stands beside it, before what it feeds.")
