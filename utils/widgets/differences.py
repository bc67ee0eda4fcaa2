"""What models of today do differently: pairs of numbers are turned to their places, a softmax comes block by block."""

import math
from collections.abc import Sequence
from typing import NamedTuple

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


class Read(NamedTuple):
    """What is kept once a block is read: the largest score and the sum so far; by how much the sum before shrank."""

    largest: float
    before: float
    shrinks: float
    total: float


def read_blocks(blocks: Sequence[np.ndarray]) -> list[Read]:
    """What is kept after each block of scores (k,); before the first there is no sum, and nothing that shrinks."""
    found, largest, total = [], -math.inf, 0.0
    for block in blocks:
        before, largest_before, largest = total, largest, max(largest, float(block.max()))
        shrinks = math.exp(largest_before - largest)
        total = before * shrinks + float(np.exp(block - largest).sum())
        found.append(Read(largest, before, shrinks, total))
    return found


BOXES, PITCH = 53, 66  # where boxes and bars begin; from a row to the next
KEPT = ((268, "largest", "so far"), (324, "old", "sum ×"))  # the columns on the right


def softmax_in_blocks(scores: Sequence[float], size: int) -> View:
    """The softmax of one row of scores, read `size` at a time: what is kept after each block, and what is forgotten;
    below each the sum as a bar: what is left of the old one, and what the block adds."""
    numbers, said = as_numbers(scores, 1), []
    blocks = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    kept, wide = read_blocks(blocks), min(44.0, 184 / len(numbers))
    longest = max(max(one.before, one.total) for one in kept)
    canvas = Phone(128 + PITCH * len(blocks))
    canvas.text(BOXES + wide * len(numbers) / 2, 31, "the scores of one query", 12, bold=True)
    for x, *title in KEPT:
        for line, text in enumerate(title):
            canvas.text(x, 16 + 15 * line, text, 11.5, bold=True)
    for row, (block, one) in enumerate(zip(blocks, kept)):
        y = 42 + PITCH * row
        canvas.text(4, y + 20, f"block {row + 1}", 11.5, "start")
        draw_scores(canvas, BOXES, y, wide, blocks, row)
        shown = [two_decimals(one.largest), two_decimals(one.shrinks) if row else "–"]
        for (x, *_), text in zip(KEPT, shown):
            canvas.text(x, y + 20, text, 12.5)
        draw_sum(canvas, y + 38, one, 240 / longest)
        shrunk = f"old sum times {shown[1]}, " if row else ""
        part = f"block {row + 1}, {', '.join(map(two_decimals, block))}: largest {shown[0]}, "
        said.append(f"{part}{shrunk}sum {two_decimals(one.total)}")
    draw_legend(canvas, 58 + PITCH * len(blocks))
    at_once = float(np.exp(numbers - numbers.max()).sum())
    text = f"All at once, divided by the exponential of the largest: {two_decimals(at_once)}"
    canvas.prose(4, 92 + PITCH * len(blocks), text, 12.5, fill="weight", bold=True)
    return canvas.view(f"A softmax in blocks of {size}. {'; '.join(said)}. {text}.")


def draw_sum(canvas: Canvas, y: float, one: Read, scale: float) -> None:
    """The sum so far as a bar: pale what is left of the old sum, full what this block adds, dashed the old sum; 1 is
    `scale` pixels long."""
    left, whole = scale * one.before * one.shrinks, scale * one.total
    canvas.text(4, y + 10.5, "sum", 11.5, "start", "weight", True)
    canvas.rect(BOXES, y, left, 12, "weight", fill_opacity="0.35")
    canvas.rect(BOXES + left, y, whole - left, 12, "weight")
    if one.before:
        draw_old(canvas, BOXES, y, scale * one.before)
    end = BOXES + max(whole, scale * one.before)
    canvas.text(end + 8, y + 10.5, two_decimals(one.total), 12.5, "start", "weight", True)


def draw_old(canvas: Canvas, x: float, y: float, wide: float) -> None:
    """The dashed outline of a bar of height 12 as it was."""
    canvas.rect(x - 1, y - 2, wide + 2, 16, stroke="ink", stroke_width=1.5, stroke_dasharray="4 3")


def draw_legend(canvas: Canvas, y: float) -> None:
    """What the three parts of a bar stand for, in one line."""
    draw_old(canvas, 5, y, 14)
    canvas.rect(103, y, 16, 12, "weight", fill_opacity="0.35")
    canvas.rect(229, y, 16, 12, "weight")
    for x, text in ((26, "the old sum"), (124, "what is left of it"), (250, "this block adds")):
        canvas.text(x, y + 10.5, text, 11, "start")


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
