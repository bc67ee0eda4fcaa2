"""Rotary positions: two words that are moved along a sentence, and the pairs of numbers that turn with them."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .canvas import Canvas, Phone, View, two_decimals
from .controls import Explorer, slider

PLACES = 12  # positions of the sentence, from 0
FIRST = {"q": 3, "k": 1}
ROLES = {"q": "query", "k": "key"}
LEFT, WIDE, TOP = 10.0, 28.0, 78.0  # of the sentence's cells


class Pair(NamedTuple):
    """Two entries of a query and of a key: by how many degrees a position turns them, the angles (q, k) and lengths
    (q, k) that they have at position 0, and where their clock stands."""

    turn: int
    begin: tuple[float, float]
    length: tuple[float, float]
    x: float

    def hand(self, which: int, position: int) -> np.ndarray:
        """The two entries (2,) of q, which = 0, or k, which = 1, at a position."""
        return turned(np.array([self.length[which], 0.0]), math.radians(self.begin[which] + self.turn * position))


PAIRS = (Pair(40, (20, 70), (1.1, 0.9), 92), Pair(10, (120, 60), (0.9, 1.2), 264))
Y, SCALE = 232, 62  # where the hands meet; pixels for a length of 1


def product(positions: Mapping[str, int]) -> list[float]:
    """What each pair adds to the dot product of q and k at these positions."""
    return [float(pair.hand(0, positions["q"]) @ pair.hand(1, positions["k"])) for pair in PAIRS]


def draw_sentence(canvas: Phone, positions: Mapping[str, int]) -> None:
    """The positions of a sentence as cells, the word that asks above them and the word that is asked below."""
    for position in range(PLACES):
        x = LEFT + WIDE * position
        canvas.rect(x, TOP, WIDE, 24, "raised", stroke="edge")
        canvas.text(x + WIDE / 2, TOP + 16.5, position, 12, fill="quiet")
    for name, y in (("q", TOP - 16), ("k", TOP + 40)):
        x = LEFT + WIDE * (positions[name] + 0.5)
        canvas.line(x, TOP - 4 if name == "q" else TOP + 28, x, TOP + (0 if name == "q" else 24), ROLES[name], 2)
        canvas.rect(x - 12, y - 12, 24, 24, "ground", stroke=ROLES[name], stroke_width=2, rx=5, data_id=f"word {name}")
        canvas.text(x, y + 5, name, 14, fill=ROLES[name], bold=True, data_id=f"letter {name}")
    for name, y in (("q", TOP - 16), ("k", TOP + 40)):
        x = LEFT + WIDE * (positions[name] + 0.5)
        leads = {"x": (name, LEFT + WIDE / 2, WIDE)}
        canvas.grip(x - 14, y - 14, 28, 28, f"word {name}", f"{positions[name]} is its position", **leads)


def draw_together(canvas: Phone, positions: Mapping[str, int]) -> None:
    """Two buttons that move both words by a position; at an end of the sentence they have no effect."""
    low, high = min(positions.values()), max(positions.values())
    for x, name, step, can in (
        (8, "◀ both", -1, low > 0), (100, "both ▶", 1, high < PLACES - 1),
    ):  # fmt: skip
        canvas.rect(x, 12, 84, 26, "raised", stroke="edge", rx=5)
        canvas.text(x + 42, 30, name, 13, fill="ink" if can else "quiet", bold=can)
        moved = {one: position + step * can for one, position in positions.items()}
        canvas.touch(x, 12, 84, 26, f"move both words by {step}", group="both", **moved)
    canvas.hint(348, 30, "or drag one of them", "end")


def draw_clock(canvas: Phone, number: int, pair: Pair, positions: Mapping[str, int]) -> None:
    """One pair of q and of k as hands: pale as W_q and W_k give them, coloured as they are at their positions."""
    canvas.text(pair.x, 150, f"pair {number}: {pair.turn}° per position", 12, bold=True)
    canvas.add("circle", cx=pair.x, cy=Y, r=SCALE * 1.05, fill="none", stroke="edge")
    for which in (0, 1):
        canvas.arrow(pair.x, Y, *on_circle(pair.x, Y, pair.hand(which, 0), SCALE), "edge", 4, 12)
    hands = [pair.hand(which, positions[name]) for which, name in enumerate("qk")]
    for name, hand in zip("qk", hands):
        canvas.arrow(pair.x, Y, *on_circle(pair.x, Y, hand, SCALE), ROLES[name], 4, 13)
    draw_angle(canvas, pair.x, Y, *hands)


def draw_rotary(q: int, k: int) -> View:
    """A query at position q and a key at position k: two pairs of their entries, and their dot product."""
    canvas, positions = Phone(408), {"q": q, "k": k}
    draw_together(canvas, positions)
    draw_sentence(canvas, positions)
    for number, pair in enumerate(PAIRS, 1):
        draw_clock(canvas, number, pair, positions)
    now, before = product(positions), product(FIRST)
    degrees = [between(*(pair.hand(which, positions[name]) for which, name in enumerate("qk"))) for pair in PAIRS]
    for pair, degree, part in zip(PAIRS, degrees, now):
        canvas.text(pair.x, 322, f"{degree}° apart: adds {two_decimals(part)}", 13)
    total, at_first = two_decimals(sum(now)), two_decimals(sum(before))
    canvas.text(8, 350, f"q at {q}, k at {k}: q · k = {total}", 14.5, "start", bold=True)
    canvas.text(348, 350, f"at first {at_first}", 12.5, "end", "quiet")
    done = q != FIRST["q"] and k != FIRST["k"] and q - k == FIRST["q"] - FIRST["k"]
    task = f"{'✔' if done else '○'} Move both words. Can q · k still be {at_first}?"
    canvas.text(8, 376, task, 12.5, "start", "right" if done else "ink")
    canvas.text(8, 398, "pale: at position 0, as W_q and W_k give them", 11.5, "start", "quiet")
    return canvas.view(
        f"A query at position {q} and a key at position {k}. Pair 1 turns by 40 degrees per position: {degrees[0]} "
        f"degrees between the hands, adds {two_decimals(now[0])}. Pair 2 turns by 10: {degrees[1]} degrees, adds "
        f"{two_decimals(now[1])}. q · k is {total}. {task}"
    )


def rotary_hands() -> Explorer:
    """Move a query and a key along a sentence, alone or together: what happens to the angles and to the dot product?"""
    controls = {name: slider(f"position of {name}", first, 0, PLACES - 1) for name, first in FIRST.items()}
    return Explorer(draw_rotary, controls, replaced=list(controls))


def turned(pair: np.ndarray, angle: float) -> np.ndarray:
    """A pair of numbers (2,), turned counterclockwise."""
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]) @ pair


def on_circle(x: float, y: float, pair: np.ndarray, scale: float) -> tuple[float, float]:
    """Where the end of an arrow (2,) from (x, y) lies on the page, on which y grows downwards."""
    return x + scale * float(pair[0]), y - scale * float(pair[1])


def between(one: np.ndarray, other: np.ndarray) -> int:
    """The degrees between two arrows, from 0 to 180."""
    cosine = float(one @ other) / (math.hypot(*one) * math.hypot(*other))
    return round(math.degrees(math.acos(max(-1.0, min(1.0, cosine)))))


def draw_angle(canvas: Canvas, x: float, y: float, begin: np.ndarray, end: np.ndarray) -> None:
    """The arc between two arrows from (x, y), the short way round."""
    first, last = (math.atan2(pair[1], pair[0]) for pair in (begin, end))
    way = (last - first + math.pi) % (2 * math.pi) - math.pi
    steps = [first + way * share for share in np.linspace(0, 1, 25)]
    points = [on_circle(x, y, np.array([math.cos(step), math.sin(step)]), 20) for step in steps]
    canvas.add("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in points), fill="none", stroke="here",
               stroke_width=2.5)  # fmt: skip
