"""Where an output can lie: a query that is moved among keys, and the output among the values."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import require_list
from ..plots import as_numbers, label_places
from .canvas import Phone, View, cut, two_decimals
from .controls import Explorer, menu, slider
from .softmax import draw_temperatures, softmax

SIDE, TOP = 170, 26  # pixels: the side of a plane, and its upper edge
FAR, STEP = 4.0, 0.2  # the largest entry of a query, and what it moves by
MOST = 6  # words
NEAR = 0.1  # of a corner: the distance of the task
TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 4.0)
HALO = {"stroke": "ground", "stroke_width": 4, "paint_order": "stroke", "stroke_opacity": "0.8"}


class Plane(NamedTuple):
    """A square of the picture: its left edge, the point in its middle, pixels for 1."""

    left: float
    middle: tuple[float, float]
    scale: float

    def on_page(self, point: Sequence[float]) -> tuple[float, float]:
        (x, y), (middle_x, middle_y) = map(float, point), self.middle
        across, up = self.scale * (x - middle_x), self.scale * (y - middle_y)
        return self.left + SIDE / 2 + across, TOP + SIDE / 2 - up


KEYS = Plane(4, (0, 0), 18)


def plane_of_values(values: np.ndarray) -> Plane:
    """The plane on the right, in which all values (k, 2) have room, and their words."""
    low, high = values.min(0), values.max(0)
    widest, highest = high - low
    scale = min((SIDE - 52) / max(widest, 1e-9), (SIDE - 44) / max(highest, 1e-9))
    return Plane(SIDE + 12, tuple((low + high) / 2), float(scale))


def draw_frame(canvas: Phone, plane: Plane, titles: Sequence[tuple[str, str]]) -> None:
    """The edge of a plane, its axes, and above it its title in parts: (text, role) of each."""
    canvas.rect(plane.left, TOP, SIDE, SIDE, stroke="edge")
    x, y = plane.on_page((0, 0))
    if plane.left < x < plane.left + SIDE:
        canvas.line(x, TOP, x, TOP + SIDE, "edge")
    if TOP < y < TOP + SIDE:
        canvas.line(plane.left, y, plane.left + SIDE, y, "edge")
    left = plane.left + 2
    for text, role in titles:
        canvas.text(left, 18, text, 12.5, "start", role, True)
        left += 7.3 * len(text) + 5


def write_words(canvas: Phone, plane: Plane, points: np.ndarray, words: Sequence[str], role: str) -> None:
    """Each word beside its point."""
    on_page, words = [plane.on_page(point) for point in points], [cut(word, 9) for word in words]
    origin = np.array(plane.on_page((0, 0)))
    along = np.concatenate([origin + share * (np.array(on_page) - origin) for share in np.linspace(0, 0.9, 9)])
    for (x, y), word, (dx, dy) in zip(on_page, words, label_places(on_page, words, 12, along)):
        half = 3.3 * len(word) + 3
        left = float(np.clip(x + dx, plane.left + half, plane.left + SIDE - half))
        base = float(np.clip(y + dy + 4, TOP + 13, TOP + SIDE - 4))
        canvas.text(left, base, word, 12, fill=role, **HALO)


def draw_keys(canvas: Phone, words: Sequence[str], keys: np.ndarray, query: np.ndarray) -> None:
    """Keys (k, 2) and a query (2,) as arrows from one point; the query is dragged."""
    draw_frame(canvas, KEYS, (("keys", "key"), ("and your query", "query")))
    origin, tip = KEYS.on_page((0, 0)), KEYS.on_page(query)
    for key in keys:
        canvas.arrow(*origin, *KEYS.on_page(key), "key", 2, 9)
    canvas.arrow(*origin, *tip, "query")
    write_words(canvas, KEYS, keys, words, "key")
    canvas.add("circle", cx=origin[0], cy=origin[1], r=3, fill="query")
    said = f"{query[0]:.1f} to the right, {query[1]:.1f} up"
    leads = {"x": ("query_x", origin[0], KEYS.scale), "y": ("query_y", origin[1], -KEYS.scale)}
    canvas.handle(*tip, "tip of the query", said, "query", **leads)


def draw_values(canvas: Phone, words: Sequence[str], hull: Any, weights: np.ndarray, output: np.ndarray) -> None:
    """Values (k, 2) with their `hull`, of SciPy; from the output (2,) a line to each, as thick as its weight."""
    values = hull.points
    plane = plane_of_values(values)
    draw_frame(canvas, plane, (("values", "value"), ("and the output", "here")))
    ring = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(plane.on_page, values[hull.vertices]))
    canvas.add("polygon", points=ring, fill="value", fill_opacity="0.13", stroke="value", stroke_opacity="0.5")
    x, y = plane.on_page(output)
    for value, weight in zip(values, weights.tolist()):
        if weight >= 0.005:
            canvas.line(x, y, *plane.on_page(value), "weight", 1 + 9 * weight, opacity="0.7")
    for value in values:
        left, top = plane.on_page(value)
        canvas.add("circle", cx=left, cy=top, r=4.5, fill="value", stroke="ground")
    write_words(canvas, plane, values, words, "value")
    canvas.add("circle", cx=x, cy=y, r=6, fill="here", stroke="ground", stroke_width=2, data_id="output")


def draw_weights(canvas: Phone, top: float, words: Sequence[str], weights: np.ndarray) -> None:
    """The weights (k,) as bars, 200 pixels for a whole."""
    for number, (word, weight) in enumerate(zip(words, weights.tolist())):
        y = top + 20 * number
        canvas.text(8, y + 11, cut(word, 11), 12.5, "start")
        canvas.rect(92, y, 200 * weight, 13, "weight", data_id=f"bar {number}")
        canvas.text(98 + 200 * weight, y + 11, f"{weight:.0%}", 12.5, "start")


def draw_hull(words: Sequence[str], keys: np.ndarray, hull: Any, query: np.ndarray, temperature: float) -> View:
    """Keys (k, 2) and a query (2,) in one plane; the `hull` of the values and the output in another; the weights of a
    softmax at this temperature."""
    canvas, weights = Phone(TOP + SIDE + 128 + 20 * len(words)), softmax(keys @ query / math.sqrt(2) / temperature)
    output, values = weights @ hull.points, hull.points
    draw_keys(canvas, words, keys, query)
    draw_values(canvas, words, hull, weights, output)
    canvas.text(8, TOP + SIDE + 25, "weights", 12.5, "start", "weight", True)
    draw_temperatures(canvas, temperature, TOP + SIDE + 10, TEMPERATURES)
    draw_weights(canvas, TOP + SIDE + 42, words, weights)
    distance, nearest = min((math.dist(output, values[k]), k) for k in hull.vertices.tolist())
    beyond = (hull.equations @ [*output, 1]).max()  # how far it lies beyond an edge, negative inside
    where = "inside" if beyond < 1e-9 else "outside"
    said = (
        f"Output ({', '.join(map(two_decimals, output))}), {where} the hull.",
        f"Nearest corner: {cut(words[nearest], 14)}, {two_decimals(distance)} away.",
    )
    y = TOP + SIDE + 60 + 20 * len(words)
    for line, text in enumerate(said):
        canvas.text(8, y + 18 * line, text, 12.5, "start")
    done = distance <= NEAR
    task = f"{'✔' if done else '○'} Bring the output within {NEAR:g} of a corner. Can you get it outside?"
    canvas.prose(8, y + 40, task, 12.5, fill="right" if done else "ink")
    shares = ", ".join(f"{word} {weight:.0%}" for word, weight in zip(words, weights))
    begin = f"Query ({query[0]:.1f}, {query[1]:.1f}). Temperature {temperature:g}."
    return canvas.view(f"{begin} Weights: {shares}. {' '.join(said)} {task}")


def hull(words: Sequence[str], keys: ArrayLike, values: ArrayLike, first: tuple[float, float] = (1.2, 0.4)) -> Explorer:
    """Drag a query among keys (k, 2), choose a temperature, and watch where the output lies among the values (k, 2) of
    up to six words.

    first: the query at first."""
    from scipy.spatial import ConvexHull, QhullError  # only here: most notebooks do without

    require_list(words=words)
    words, keys, values = list(words), as_numbers(keys, 2), as_numbers(values, 2)
    if not 3 <= len(words) <= MOST:
        raise ValueError(f"{len(words)} words: from 3 to {MOST} have room here")
    for name, rows in (("keys", keys), ("values", values)):
        if rows.shape != (len(words), 2):
            raise ValueError(f"{name} {rows.shape} must be ({len(words)}, 2): two entries for each word")
    if max(np.abs(keys).max(), *map(abs, first)) > FAR:
        raise ValueError(f"keys and the first query must lie between {-FAR:g} and {FAR:g}")

    try:
        around = ConvexHull(values)
    except QhullError:
        raise ValueError(f"the values {values.tolist()} lie on one line: give them two dimensions") from None

    def draw(query_x, query_y, temperature):
        return draw_hull(words, keys, around, np.array([query_x, query_y]), temperature)

    labels = ("first entry of the query", "second entry of the query")
    controls = {
        name: slider(label, value, -FAR, FAR, STEP)
        for name, label, value in zip(("query_x", "query_y"), labels, map(float, first))
    }
    controls["temperature"] = menu("temperature", list(TEMPERATURES), 1.0, "170px")
    return Explorer(draw, controls, replaced=list(controls))
