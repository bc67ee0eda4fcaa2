"""What models of today do differently: pairs of numbers are turned to their places, a softmax comes block by block."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..plots import as_numbers
from .board import short
from .canvas import Canvas, Phone, View, two_decimals

# Rotary positions


def turned_pairs(query: ArrayLike, key: ArrayLike, places: Sequence[tuple[int, int]], turn: float = 1.0) -> View:
    """A query and a key (2,) as arrows, each turned by `turn` (in radians) times its place, for some pairs of places
    (of the query, of the key): where only the distance counts, all angles between the two are the same."""
    arrows = as_numbers([query, key], 2)
    columns = min(3, len(places))
    rows, half = math.ceil(len(places) / columns), 172 / columns
    radius, tall = min(52, half - 12), 2 * min(52, half - 12) + 78
    canvas, said = Phone(tall * rows + 6), []
    longest = np.hypot(*arrows.T).max()
    for number, place in enumerate(places):
        x, y = 6 + half * (2 * (number % columns) + 1), tall * (number // columns) + radius + 46
        ends = [turned(arrow, turn * p) for arrow, p in zip(arrows, place)]
        canvas.add("circle", cx=x, cy=y, r=radius, fill="ground", stroke="edge", stroke_width=2)
        for before, end, colour in zip(arrows, ends, ("query", "key")):
            canvas.arrow(x, y, *on_circle(x, y, before, radius / longest), "edge", 2.5)
            canvas.arrow(x, y, *on_circle(x, y, end, radius / longest), colour, 3)
        between = draw_angle(canvas, x, y, *ends)
        for letter, end, colour in zip("qk", ends, ("query", "key")):
            far = on_circle(x, y, end / np.hypot(*end), radius + 9)
            canvas.text(far[0], far[1] + 4, letter, 13, fill=colour, bold=True)
        canvas.text(x, y - radius - 24, f"q at {place[0]}, k at {place[1]}", 12.5, bold=True)
        product = two_decimals(ends[0] @ ends[1])
        canvas.text(x, y + radius + 28, f"q · k = {product}", 12.5)
        said.append(f"q at place {place[0]}, k at place {place[1]}: {between} degrees between them, q · k {product}")
    return canvas.view(
        f"A query and a key of two numbers each, turned by {math.degrees(turn):.0f} degrees a place; pale: before. "
        f"{'; '.join(said)}."
    )


def turned(pair: np.ndarray, angle: float) -> np.ndarray:
    """A pair of numbers (2,), turned against the clock."""
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]) @ pair


def on_circle(x: float, y: float, pair: np.ndarray, scale: float) -> tuple[float, float]:
    """Where the end of an arrow (2,) from (x, y) lies on the page, on which y grows downwards."""
    return x + scale * float(pair[0]), y - scale * float(pair[1])


def draw_angle(canvas: Canvas, x: float, y: float, begin: np.ndarray, end: np.ndarray) -> int:
    """The arc between two arrows from (x, y), the short way round, with its degrees, which it returns."""
    first, last = (math.atan2(pair[1], pair[0]) for pair in (begin, end))
    way = (last - first + math.pi) % (2 * math.pi) - math.pi
    steps = [first + way * share for share in np.linspace(0, 1, 25)]
    points = [on_circle(x, y, np.array([math.cos(step), math.sin(step)]), 20) for step in steps]
    canvas.add("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in points), fill="none", stroke="here",
               stroke_width=2.5)  # fmt: skip
    middle = np.array([math.cos(first + way / 2), math.sin(first + way / 2)])
    across, down = on_circle(x, y, middle, 34)
    degrees = round(abs(math.degrees(way)))
    halo = {"stroke": "ground", "stroke_width": 5, "paint_order": "stroke"}
    canvas.text(across, down + 4, f"{degrees}°", 12, fill="here", bold=True, **halo)
    return degrees


# A softmax in blocks


def softmax_in_blocks(scores: Sequence[float], size: int) -> View:
    """The softmax of one row of scores, read `size` at a time: what is kept after each block, and what is forgotten."""
    numbers = as_numbers(scores, 1)
    blocks = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    left, largest, total, said = 48, -math.inf, 0.0, []
    wide = min(44.0, 184 / len(numbers))
    canvas = Phone(100 + 40 * len(blocks))
    canvas.text(left + wide * len(numbers) / 2, 30, "the scores of one query", 12, bold=True)
    for x, *title in ((260, "largest", "so far"), (300, "×", ""), (334, "sum", "so far")):
        for line, text in enumerate(title):
            canvas.text(x, 16 + 15 * line, text, 11.5, bold=True)
    for row, block in enumerate(blocks):
        y = 42 + 40 * row
        before, largest = largest, max(largest, float(block.max()))
        shrinks, total = math.exp(before - largest), total * math.exp(before - largest)
        total += float(np.exp(block - largest).sum())
        canvas.text(4, y + 20, f"block {row + 1}", 11.5, "start")
        draw_scores(canvas, left, y, wide, blocks, row)
        shown = [two_decimals(largest), two_decimals(shrinks) if row else "–", two_decimals(total)]
        for x, text in zip((260, 300, 334), shown):
            canvas.text(x, y + 20, text, 12.5, fill="weight" if x == 334 else "ink", bold=x == 334)
        said.append(f"block {row + 1}, {', '.join(map(two_decimals, block))}: largest {shown[0]}, sum {shown[2]}")
    at_once = float(np.exp(numbers - numbers.max()).sum())
    text = f"All at once, divided by the exponential of the largest: {two_decimals(at_once)}"
    canvas.prose(4, 66 + 40 * len(blocks), text, 12.5, fill="weight", bold=True)
    return canvas.view(f"A softmax in blocks of {size}. {'; '.join(said)}. {text}.")


def draw_scores(canvas: Canvas, left: float, y: float, wide: float, blocks: list[np.ndarray], current: int) -> None:
    """A row of boxes: the block that is read holds its numbers, those before it are forgotten, the others wait."""
    x = left
    for number, block in enumerate(blocks):
        for score in block:
            if number == current:
                canvas.rect(x, y, wide - 2, 30, "ground", stroke="here", stroke_width=2)
                canvas.text(x + wide / 2 - 1, y + 19.5, short(score), 11)
            elif number < current:
                canvas.rect(x, y, wide - 2, 30, "ground", stroke="quiet", stroke_dasharray="2 5")
            else:
                canvas.rect(x, y, wide - 2, 30, "raised", stroke="edge")
                canvas.text(x + wide / 2 - 1, y + 20, "?", 12, fill="quiet")
            x += wide
