"""The query, key and value of one word, and a curve smoothed by attention."""

from collections.abc import Sequence

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ..checks import require_list
from ..plots import as_numbers
from .attention import numbered
from .canvas import Canvas, Phone, View, cut
from .controls import Explorer, menu, slider

# One word, three vectors
ROLES = (  # name, symbol, colour, what it is for
    ("query", "q", "query", "what it looks for"),
    ("key", "k", "key", "what it can be found by"),
    ("value", "v", "value", "what it hands over"),
)
CELL, ROW = 24, 22  # width and height of a number
MOST = 4  # words


def draw_table(
    canvas: Canvas, x: float, middle: float, numbers: ArrayLike, colour: str, lit: Sequence[float] = (1,)
) -> None:
    """Numbers (r, c) as a table whose left edge is at x, and which lies around the height `middle`; a row whose share
    `lit` is 0 is not used, and pale."""
    table = as_numbers(numbers, 2)
    top = middle - ROW * len(table) / 2
    for row, (line, used) in enumerate(zip(table.tolist(), lit)):
        for column, value in enumerate(line):
            share = min(0.3, 0.3 * used) if len(table) > 1 else 0
            letters = canvas.shade(x + CELL * column, top + ROW * row, CELL, ROW, colour, share, colour)
            letters, bold = (letters, len(table) > 1) if used else ("quiet", False)
            canvas.text(
                x + CELL * (column + 0.5), top + ROW * (row + 0.5) + 4.5, f"{value:g}", 12.5, fill=letters, bold=bold
            )


def draw_projections(words: Sequence[str], X: Tensor, matrices: Sequence[Tensor], chosen: int) -> View:
    """The vector (d,) of word number `chosen`, and its way through W_q, W_k (d, e) and W_v (d, v)."""
    d, widest = X.shape[-1], max(matrix.shape[-1] for matrix in matrices)
    height = ROW * d + 62
    canvas, word, x = Phone(36 + height * len(matrices)), words[chosen], X[chosen]
    middle, left = 8 + height * len(matrices) / 2, 6 + CELL * d
    canvas.text(6 + CELL * d / 2, middle - ROW / 2 - 24, cut(word, 10), 14, fill="here", bold=True)
    canvas.text(6 + CELL * d / 2, middle - ROW / 2 - 7, f"x ({d},)", 12)
    draw_table(canvas, 6, middle, x[None], "here")
    end, result = left + 40, left + 40 + CELL * widest + 22
    said = []
    for number, (matrix, (name, symbol, role, purpose)) in enumerate(zip(matrices, ROLES)):
        y, width = 30 + height * (number + 0.5), CELL * matrix.shape[-1]
        canvas.arrow(left + 6, middle, end - 5, y, "quiet", 2)
        canvas.text(end, y - ROW * d / 2 - 26, f"{name}: {purpose}", 13, "start", role, bold=True)
        canvas.text(end + width / 2, y - ROW * d / 2 - 7, f"W_{symbol} {tuple(matrix.shape)}", 12, fill=role)
        draw_table(canvas, end, y, matrix, role, x.abs().tolist())
        canvas.text(result - 11, y + 5, "=", 15)
        draw_table(canvas, result, y, (x @ matrix)[None], role)
        canvas.text(result + width / 2, y - ROW / 2 - 7, f"{symbol} ({matrix.shape[-1]},)", 12, fill=role, bold=True)
        said.append(f"times W_{symbol} it is the {name} {in_brackets(x @ matrix)}, {purpose}")
    ask = "Why are some rows of the matrices pale?" if not x.all() else "Which row of the matrices counts most?"
    canvas.text(6, canvas.height - 10, ask, 12.5, "start", "quiet")
    for number, name in enumerate(words):
        edge = {"stroke": "here", "stroke_width": 2} if number == chosen else {"stroke": "edge"}
        canvas.rect(6, 8 + 28 * number, CELL * d, 24, "raised" if number == chosen else "none", rx=4, **edge)
        canvas.text(6 + CELL * d / 2, 24.5 + 28 * number, cut(name, 8), 12.5, bold=number == chosen)
        canvas.touch(6, 8 + 28 * number, CELL * d, 24, f"word {name}", on=number == chosen, chosen=number)
    return canvas.view(f"{word}, the vector {in_brackets(x)}: {'; '.join(said)}. {ask}")


def in_brackets(vector: Tensor) -> str:
    return f"({', '.join(f'{entry:g}' for entry in vector.tolist())})"


def projections(words: Sequence[str], X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, first: str) -> Explorer:
    """Pick a word of X (n, d), and see which matrix makes its query, its key and its value; n is 4 at most."""
    require_list(words=words)
    if len(words) > MOST:
        raise ValueError(f"{len(words)} words: up to {MOST} have room here")
    word = menu("word", numbered(words), words.index(first))
    return Explorer(
        lambda chosen: draw_projections(words, X, (W_q, W_k, W_v), chosen), {"chosen": word}, replaced=["chosen"]
    )


# A curve smoothed by attention
WIDTHS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
APART = 5  # places between two that may ask


def by_nearness(places: Tensor, width: float) -> Tensor:
    """What each of the places (n,) gives to each: the softmax of -distance² / 2 width², (n, n)."""
    return torch.softmax(-(places[:, None] - places).square() / (2 * width**2), dim=-1)


def draw_asking(canvas: Phone, weights: Tensor, points: list[tuple[float, float]], answer: tuple[float, float]) -> None:
    """The place that asks, its weights (n,) as bars on the axis, and its answer; the points (x, y) that it looks at
    are the larger, the more it does."""
    shares = (weights / weights.max()).tolist()
    for (x, y), share in zip(points, shares):
        canvas.rect(x - 2.3, 262 - 42 * share, 4.6, 42 * share, "weight")
        canvas.add("circle", cx=x, cy=y, r=2 + 3 * share, fill="data", stroke="ground", stroke_width=0.5)
    canvas.line(answer[0], 266, *answer, "here", 1.5, stroke_dasharray="3 3")
    canvas.add("circle", cx=answer[0], cy=answer[1], r=5, fill="here", stroke="ground")


def draw_smoothing(places: Tensor, noisy: Tensor, true: Tensor, width: float, asks: int) -> View:
    """Noisy values (n,) as points over their places (n,), the true curve, what smoothing makes of the points, and the
    weights of place number `asks`."""
    weights, canvas = by_nearness(places, width), Phone(344)
    smoothed, low, high = weights @ noisy, float(noisy.min()), float(noisy.max())

    def point(place, value):
        across = (float(place) - float(places[0])) / float(places[-1] - places[0])
        return 10 + 336 * across, 212 - 150 * (float(value) - low) / (high - low)

    canvas.line(10, 262, 346, 262, "edge")
    canvas.text(346, 276, "time", 11.5, "end")
    for curve, role, thick, dashes in ((true, "quiet", 1.5, "6 5"), (smoothed, "value", 3, "none")):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(point, places, curve))
        canvas.add("polyline", points=path, fill="none", stroke=role, stroke_width=thick, stroke_dasharray=dashes)
    draw_asking(canvas, weights[asks], [*map(point, places, noisy)], point(places[asks], smoothed[asks]))
    canvas.text(8, 20, f"width {width:g}", 15, "start", bold=True)
    canvas.text(348, 20, "bars: weights of the marked moment", 12, "end", "weight")
    legend = ((8, "● measured", "data"), (94, "━ smoothed by attention", "value"), (262, "╌ true curve", "quiet"))
    for x, label, role in legend:
        canvas.text(x, 44, label, 12, "start", role)
    step = 336 * APART / (len(places) - 1)  # pixels from one that may ask to the next, if they are evenly spaced
    at = point(places[asks], smoothed[asks])
    canvas.handle(
        *at, "moment that asks", f"{asks // APART + 1}", x=("moment", at[0] - step * (asks // APART + 1), step)
    )
    before, after = ((curve - true).abs().mean() for curve in (noisy, smoothed))
    fact = f"mean distance from the true curve: measured {before:.2f}, smoothed {after:.2f}"
    end = canvas.prose(8, 294, fact, 12)
    through = float((smoothed - noisy).abs().mean()) < 0.01
    sign, role = ("✔", "right") if through else ("○", "quiet")
    task = f"{sign} Make the curve meet every point. Is it better?"
    canvas.prose(8, end + 3, task, 12, fill=role)
    heard = f"The moment {places[asks]:.2f} gives {int((weights[asks] > 0.01).sum())} of them more than 1 %"
    return canvas.view(f"{len(places)} points over time, width {width:g}. {heard}. {fact[0].upper()}{fact[1:]}. {task}")


def kernel_smoothing(places: Tensor, noisy: Tensor, true: Tensor, width: float = 0.05) -> Explorer:
    """Noisy values (n,) smoothed by attention that looks as wide as one chooses, by minus the squared distances; one
    place after the other asks."""
    moment = slider("moment that asks", 1, 1, -(-len(places) // APART))
    controls = {"width": menu("width", list(WIDTHS), width), "moment": moment}

    def draw(width, moment):
        return draw_smoothing(places, noisy, true, width, APART * (moment - 1))

    return Explorer(draw, controls)
