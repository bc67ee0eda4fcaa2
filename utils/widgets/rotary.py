"""Rotary positions: pairs of numbers that are turned by an angle for each position."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .canvas import Canvas, Phone, View, two_decimals
from .controls import Explorer, slider

# Rotary positions
HALO = {"stroke": "ground", "stroke_width": 5, "paint_order": "stroke"}


TURN, LAST = 15, 12  # degrees from one position to the next; the last position


class Hand(NamedTuple):
    """Two entries of a query or of a key: its role, its angle at position 0, its length, where it is at first, and the
    radius of the numbers around it."""

    role: str
    begin: float
    length: float
    first: int
    dial: float

    def pair(self, position: int) -> np.ndarray:
        """Its two entries (2,) at a position."""
        return turned(np.array([self.length, 0.0]), math.radians(self.begin + TURN * position))


HANDS = {"q": Hand("query", 20, 1.2, 3, 148), "k": Hand("key", 70, 0.8, 1, 106)}
X, Y, SCALE = 172, 170, 105  # where the hands meet; pixels for a length of 1


def draw_dial(canvas: Canvas, name: str, hand: Hand) -> None:
    """A mark for each position of a hand, and the number of every third one."""
    arc = [on_circle(X, Y, hand.pair(position), (hand.dial - 13) / hand.length) for position in range(LAST + 1)]
    canvas.add("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in arc), fill="none", stroke="edge")
    for position in range(LAST + 1):
        way = hand.pair(position) / hand.length
        marks = [*on_circle(X, Y, way, hand.dial - 16), *on_circle(X, Y, way, hand.dial - 10)]
        canvas.line(*marks, hand.role, 1.5)
        if position % 3 == 0:
            across, down = on_circle(X, Y, way, hand.dial)
            canvas.text(across, down + 4, position, 11, fill=hand.role, **HALO)
    across, down = on_circle(X, Y, turned(np.array([1.0, 0.0]), math.radians(hand.begin - 1350 / hand.dial)), hand.dial)
    canvas.text(across, down + 4, name, 14, fill=hand.role, bold=True)


def draw_hand(canvas: Canvas, name: str, hand: Hand, position: int) -> None:
    """A hand at its position, to be dragged to another one."""
    tip = on_circle(X, Y, hand.pair(position), SCALE)
    canvas.arrow(X, Y, *tip, hand.role, 4, 14)
    leads = {"polar": (f"angle_{name}", None), "at": (X, Y), "scale": SCALE}
    canvas.handle(*tip, f"hand {name}", f"{position} is its position", hand.role, **leads)


def draw_rotary(angle_q: int, angle_k: int) -> View:
    """Two entries of a query and of a key as hands of a clock, at the positions to which these angles belong."""
    canvas, angles = Phone(366), {"q": angle_q, "k": angle_k}
    now = {name: round((angles[name] - hand.begin) / TURN) for name, hand in HANDS.items()}
    for hand in HANDS.values():
        canvas.arrow(X, Y, *on_circle(X, Y, hand.pair(0), SCALE), "edge", 4, 14)
    for name, hand in HANDS.items():
        draw_hand(canvas, name, hand, now[name])
    for name, hand in HANDS.items():
        draw_dial(canvas, name, hand)
    draw_angle(canvas, X, Y, *(hand.pair(now[name]) for name, hand in HANDS.items()))
    for line, text in enumerate((f"one position = {TURN}°", "pale: as W_q and W_k give them")):
        canvas.text(352, 228 + 18 * line, text, 11.5, "end", "quiet")
    before = facts_at({name: hand.first for name, hand in HANDS.items()})
    facts = facts_at(now)
    draw_facts(canvas, 293, {"at first": before, "now": facts})
    done = facts[3] == before[3] and facts[0] != before[0] and facts[1] != before[1]
    task = f"{'✔' if done else '○'} Move both hands. Can q · k still be {before[3]}?"
    canvas.text(8, 359, task, 12.5, "start", "right" if done else "ink")
    return canvas.view(
        f"Two entries of a query and of a key as hands of a clock; each position turns a hand by {TURN} degrees. "
        f"q at position {facts[0]}, k at position {facts[1]}: {facts[2][:-1]} degrees between them, q · k {facts[3]}. "
        f"{task}"
    )


def facts_at(positions: Mapping[str, int]) -> list[str]:
    """The positions of q and k, the angle between the two hands, and their dot product, as they are written."""
    one, other = (hand.pair(positions[name]) for name, hand in HANDS.items())
    cosine = one @ other / (np.hypot(*one) * np.hypot(*other))
    degrees = round(math.degrees(math.acos(cosine)))
    return [*map(str, positions.values()), f"{degrees}°", two_decimals(one @ other)]


def draw_facts(canvas: Canvas, y: float, rows: Mapping[str, Sequence[str]]) -> None:
    """A small table: for each row its name, the two positions, the angle, and the dot product."""
    columns = ((118, "position of q", "query"), (192, "of k", "key"), (255, "between", "here"), (322, "q · k", "ink"))
    for x, title, role in columns:
        canvas.text(x, y, title, 12, fill=role)
    for number, (name, facts) in enumerate(rows.items(), 1):
        last, line = number == len(rows), y + 21 * number
        canvas.text(8, line, name, 12.5, "start", bold=last)
        for (x, _, role), fact in zip(columns, facts):
            canvas.text(x, line, fact, 14, fill=role, bold=last)


def rotary_hands() -> Explorer:
    """Turn a query and a key, two entries of each, to their positions: what becomes of the dot product?"""
    controls = {
        f"angle_{name}": slider(
            f"angle of {name}, {TURN}° per position", hand.begin + TURN * hand.first, hand.begin,
            hand.begin + TURN * LAST, TURN,
        )
        for name, hand in HANDS.items()
    }  # fmt: skip
    return Explorer(draw_rotary, controls, replaced=list(controls))


def turned(pair: np.ndarray, angle: float) -> np.ndarray:
    """A pair of numbers (2,), turned against the clock."""
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]) @ pair


def on_circle(x: float, y: float, pair: np.ndarray, scale: float) -> tuple[float, float]:
    """Where the end of an arrow (2,) from (x, y) lies on the page, on which y grows downwards."""
    return x + scale * float(pair[0]), y - scale * float(pair[1])


def draw_angle(canvas: Canvas, x: float, y: float, begin: np.ndarray, end: np.ndarray) -> None:
    """The arc between two arrows from (x, y), the short way round, with its degrees."""
    first, last = (math.atan2(pair[1], pair[0]) for pair in (begin, end))
    way = (last - first + math.pi) % (2 * math.pi) - math.pi
    steps = [first + way * share for share in np.linspace(0, 1, 25)]
    points = [on_circle(x, y, np.array([math.cos(step), math.sin(step)]), 20) for step in steps]
    canvas.add("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in points), fill="none", stroke="here",
               stroke_width=2.5)  # fmt: skip
    middle = np.array([math.cos(first + way / 2), math.sin(first + way / 2)])
    across, down = on_circle(x, y, middle, 34)
    degrees = round(abs(math.degrees(way)))
    canvas.text(across, down + 4, f"{degrees}°", 12, fill="here", bold=True, **HALO)
