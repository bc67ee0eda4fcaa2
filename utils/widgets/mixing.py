"""Start here: what attention makes of one word, in a picture that plays once."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..checks import require_list
from ..plots import as_numbers, largest
from .attention import numbered
from .canvas import Phone, View, cut, two_decimals
from .controls import Explorer, menu

ENTRIES, CELL, ROW = 8, 12, 22  # entries of a vector that are drawn, width of one, height of a word
NAMES, SCORES, BARS, TOP = 92, 234, 248, 56  # where names end, scores end, bars begin, and words begin
COMPARE, SHARE, MIX, READ = 0.5, 1.9, 2.7, 3.9  # seconds after which each of the four steps begins


def draw_strip(canvas: Phone, y: float, vector: np.ndarray, limit: float, **moves: object) -> None:
    """The first entries of a vector as coloured cells: the larger, the darker, and orange where they are negative."""
    for entry, value in enumerate(vector[:ENTRIES].tolist()):
        role = "negative" if value < 0 else "data"
        share = {"fill_opacity": f"{abs(value) / limit:.2f}", "stroke": "edge"}
        canvas.rect(NAMES + 8 + CELL * entry, y + 3, CELL, ROW - 6, role, **share, **moves)


def draw_first_look(
    words: Sequence[str], X: np.ndarray, weights: np.ndarray, chosen: int, read: Callable[[np.ndarray], Sequence[str]]
) -> View:
    """Word number `chosen` is compared with every other one, shares out 100 %, and gets the mixture for its new vector;
    X (n, d), weights (n, n), `read` names the words whose vectors lie nearest to one, the nearest first."""
    canvas, row, word = Phone(TOP + ROW * len(words) + 118), weights[chosen], cut(words[chosen], 14)
    scores, limit, below = X @ X[chosen] / X.shape[1] ** 0.5, np.abs(X[:, :ENTRIES]).max(), TOP + ROW * len(words) + 24
    canvas.text(8, 20, f"Where will “{word}” look most?", 15, "start", "here", True)
    canvas.text(NAMES + 8, TOP - 8, "vectors", 12, "start")
    canvas.text(SCORES, TOP - 8, "1 compare", 12, "end", bold=True, **canvas.appear(COMPARE))
    canvas.text(BARS, TOP - 8, "2 share 100 %", 12, "start", "weight", True, **canvas.appear(SHARE))
    for number, (name, vector) in enumerate(zip(words, X)):
        y, here, late = TOP + ROW * number, number == chosen, 0.13 * number
        canvas.text(NAMES, y + 15, cut(name, 13), 12, "end", "here" if here else "ink", here)
        draw_strip(canvas, y, vector, limit)
        if here:
            canvas.frame(NAMES + 6, y + 1, CELL * ENTRIES + 4, ROW - 2)
            continue
        canvas.text(SCORES, y + 15, two_decimals(scores[number]), 11, "end", "quiet", **canvas.appear(COMPARE + late))
        shown = canvas.appear(SHARE + 0.5 * late)
        canvas.rect(BARS, y + 4, 64 * row[number] / row.max(), ROW - 8, "weight", **shown)
        percent = f"{row[number]:.0%}"
        canvas.text(BARS + 4 + 64 * row[number] / row.max(), y + 15, percent, 11.5, "start", **shown)
        falls = canvas.glide(0, y - below, MIX + 0.5 * late)
        draw_strip(canvas, below, vector, limit / row[number], **falls)
    canvas.text(NAMES, below + 15, "mixture", 12, "end", "value", True, **canvas.appear(MIX))
    canvas.text(SCORES - 28, below + 15, "3 mix the vectors", 12, "start", "value", True, **canvas.appear(MIX))
    covers = canvas.appear(READ)
    canvas.rect(NAMES + 8, below + 3, CELL * ENTRIES, ROW - 6, "ground", **covers)
    draw_strip(canvas, below, row @ X, limit, **covers)
    canvas.rect(NAMES + 6, below + 1, CELL * ENTRIES + 4, ROW - 2, stroke="value", stroke_width=2.5, rx=3, **covers)
    near = [[name for name in read(vector) if name != words[chosen]][:3] for vector in (X[chosen], row @ X)]
    old, new = map(", ".join, near)
    y = below + ROW + 22
    canvas.text(8, y, "4 which words are nearest?", 12, "start", bold=True, **covers)
    for name, said, role in (("before", old, "quiet"), ("now", new, "value")):
        y += 20
        canvas.text(8, y, f"{name}: {said}", 12.5, "start", role, role == "value", **covers)
    for number, name in enumerate(words):
        canvas.touch(0, TOP + ROW * number, 356, ROW, f"{number + 1}, {name}", on=number == chosen, chosen=number)
    canvas.hint(350, 20, "click a word", "end")
    most = ", ".join(f"{words[k]} {row[k]:.0%}" for k in largest(row, 3))
    return canvas.view(
        f"“{word}” is compared with every other word and shares out 100 %: most to {most}. "
        f"Its new vector is the sum of their vectors, times these weights. "
        f"Nearest to the old one are {old}; to the new one {new}."
    )


def first_look(
    words: Sequence[str], X: ArrayLike, weights: ArrayLike, read: Callable[[np.ndarray], Sequence[str]], first: str
) -> Explorer:
    """Pick a word and watch what attention makes of it, in five seconds: X (n, d), weights (n, n), none for the word
    itself; `read` names the words whose vectors lie nearest to a vector (d,). ValueError: X or weights is no table."""
    require_list(words=words)
    X, weights = as_numbers(X, 2), as_numbers(weights, 2)
    word = menu("word", numbered(words), list(words).index(first))
    return Explorer(
        lambda chosen: draw_first_look(words, X, weights, chosen, read), {"chosen": word}, replaced=["chosen"]
    )
