"""Where the numbers of attention are, wherever it is computed: every query is one horizontal line from its row of Q
over its scores and weights to its output; Kᵀ is above the scores, V above the outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..plots import as_numbers
from .canvas import Phone, cut, two_decimals

Place = tuple[float, float, float, float]  # of a cell: left, top, width, height

ROW, ABOVE = 24, 20  # heights of a row, and of one of the matrices above it
LEFT_OF = {"K": "S", "V": "Z"}  # a matrix above is where that below it is
LETTER = 6.6  # width of a digit in the smallest letters, of 11


def width_of(text: str, size: float = 11) -> float:
    """About how wide a text is in letters of this size."""
    return size / 11 * sum(0.5 * LETTER if sign in ".,·- " else LETTER for sign in text)


@dataclass(frozen=True)
class Board:
    """Where the matrices of attention are on a phone: on one line for each of the `queries` its rows of Q, scores S,
    weights A and outputs Z; these begin at the height `top`. Above S is the matrix Kᵀ, above Z the matrix V.

    columns: {"Q": (how many, how wide), …} of those that are shown, from the left. ValueError: there is no room."""

    queries: Sequence[str]
    columns: Mapping[str, tuple[int, float]]
    top: float
    longest: int = 7  # signs of a word
    row: float = ROW  # heights of a row, and of one of the matrices above
    above: float = ABOVE
    apart: float = 20  # pixels between two matrices at most

    @cached_property
    def lefts(self) -> dict[str, float]:
        """Where each matrix begins; what room is left is between them."""
        names = max(width_of(cut(word, self.longest), 12.5) for word in self.queries) + 8
        room = 352 - names - sum(count * wide for count, wide in self.columns.values())
        gap = room / max(1, len(self.columns) - 1)
        if gap < 3:
            raise ValueError(f"the numbers are {-room + 3 * len(self.columns):.0f} pixels too wide for a phone")
        lefts, x = {}, names
        for part, (count, wide) in self.columns.items():
            lefts[part] = x
            x += count * wide + min(gap, self.apart)
        return lefts

    def place(self, part: str, row: int, column: int, rows: int = 0) -> Place:
        """The place of a cell; of Kᵀ and V, which end above the line, one says how many `rows` they have."""
        below = LEFT_OF.get(part, part)
        wide = self.columns[below][1]
        x = self.lefts[below] + wide * column
        if part in LEFT_OF:
            return x, self.top - 16 - self.above * (rows - row), wide, self.above
        return x, self.top + self.row * row, wide, self.row

    def middle(self, part: str) -> float:
        count, wide = self.columns[LEFT_OF.get(part, part)]
        return self.lefts[LEFT_OF.get(part, part)] + count * wide / 2

    def table(self, canvas: Phone, part: str, texts: Sequence[Sequence[str]], role: str, shares: ArrayLike) -> None:
        """A matrix: the text of each cell, "" where it is not yet known, and how much of the role's colour it has."""
        for (row, column), share in np.ndenumerate(shares):
            x, y, wide, tall = self.place(part, row, column, len(texts))
            letters = canvas.shade(x, y, wide, tall, role, float(share))
            if texts[row][column]:
                canvas.text(x + wide / 2, y + tall / 2 + 4, texts[row][column], 11, fill=letters)

    def name(self, canvas: Phone, part: str, text: str, role: str) -> None:
        """The name of a matrix on the line, below its last row."""
        canvas.text(self.middle(part), self.top + self.row * len(self.queries) + 16, text, 12.5, fill=role, bold=True)

    def frame(self, canvas: Phone, first: Place, last: Place, role: str, **more: object) -> None:
        """A frame around the cells from the first to the last."""
        x, y = first[0] - 1.5, first[1] - 1.5
        size = {"width": last[0] + last[2] + 1.5 - x, "height": last[1] + last[3] + 1.5 - y}
        canvas.rect(x, y, **size, stroke=role, stroke_width=2.5, rx=3, **more)

    def beams(self, canvas: Phone, left: Place, above: Place, to: Place, roles: tuple[str, str]) -> None:
        """Two beams that meet in a cell: one from the end of a row, one from the foot of a column."""
        end, foot = left[0] + left[2], above[1] + above[3]
        canvas.rect(end, to[1], to[0] - end, to[3], roles[0], fill_opacity="0.18")
        canvas.rect(to[0], foot, to[2], to[1] - foot, roles[1], fill_opacity="0.18")


def draw_products(
    canvas: Phone, y: float, pairs: Sequence[tuple[str, str]], result: str, roles: tuple[str, str],
    origins: tuple[Sequence[Place], Sequence[Place]],
) -> None:  # fmt: skip
    """A sum of products at the height y: every number comes from its cell, then the result appears."""
    pieces = []  # text, role, the cell that it comes from, when
    for number, pair in enumerate(pairs):
        for side, (text, cells) in enumerate(zip(pair, origins)):
            pieces += [(text, roles[side], cells[number], 0.15 * number), (" · ", "quiet", None, 0)]
        pieces[-1] = " + ", "quiet", None, 0
    pieces[-1] = " = ", "quiet", None, 0
    pieces.append((result, "here", None, 0.15 * len(pairs) + 0.5))
    size = min(16.0, 340 / sum(width_of(text, 1) for text, *_ in pieces))
    x = (356 - sum(width_of(text, size) for text, *_ in pieces)) / 2
    for text, role, cell, late in pieces:
        wide = width_of(text, size)
        moves = canvas.appear(late) if role == "here" else {}
        if cell:
            moves = canvas.glide(cell[0] + cell[2] / 2 - x - wide / 2, cell[1] + cell[3] / 2 + 4 - y, late)
        canvas.text(x + wide / 2, y, text.strip(), size, fill=role, bold=role != "quiet", **moves)
        x += wide


def draw_shares(canvas: Phone, y: float, shares: ArrayLike, words: Sequence[str], texts: Sequence[str]) -> None:
    """One bar, shared out: each share is as long as its number is large, and its owner is written below."""
    shares, x = as_numbers(shares, 1), 14.0
    for number, (share, word, text) in enumerate(zip(shares / shares.sum(), words, texts)):
        wide, column = 328 * float(share), 14 + 328 * (number + 0.5) / len(words)
        shade = {"fill_opacity": f"{0.3 + 0.6 * share:.2f}", "stroke": "edge"}
        canvas.rect(x, y, wide, 20, "weight", **shade, data_id=f"share {number}")
        canvas.line(x + wide / 2, y + 20, column, y + 33, "weight", 1.5)
        canvas.text(column, y + 45, cut(word, 9), 12, fill="key", bold=True)
        canvas.text(column, y + 60, text, min(13.0, 328 / len(words) / width_of(text, 1)), **canvas.appear(0.2))
        x += wide


def short(value: float) -> str:
    """A number with two decimals at most: 2, 1.5, 0.26."""
    return two_decimals(value).rstrip("0").rstrip(".")
