"""Layer norm as geometry: a vector of three numbers, dropped on a plane and then put on a circle."""

import math
from collections.abc import Sequence

import numpy as np

from .canvas import Phone, View, two_decimals
from .controls import Explorer, slider

FIRST = (3.0, 1.0, 2.0)
LOW, HIGH, STEP = -3.0, 3.0, 1.0
AXES = np.array([[math.cos(angle), math.sin(angle)] for angle in np.radians([90, 210, 330])]) * math.sqrt(2 / 3)
BARS, ZERO, UNIT = 36.0, 132.0, 28.0  # the first bar; the height of 0; pixels for 1
X, Y, SCALE = 250, 136, 44  # the middle of the plane; pixels for 1 in it
RADIUS = math.sqrt(3)
HALO = {"stroke": "ground", "stroke_width": 4, "paint_order": "stroke"}


def normed(x: Sequence[float]) -> tuple[float, np.ndarray, float, np.ndarray]:
    """Mean, x without its mean, deviation, and the normed vector of x (3,); where all are equal it is 0."""
    x = np.array(x, float)
    centred, deviation = x - x.mean(), float(x.std())
    return float(x.mean()), centred, deviation, centred / deviation if deviation > 1e-9 else 0 * centred


def on_plane(x: np.ndarray) -> tuple[float, float]:
    """Where x (3,) lies on the page, seen along the line on which all three numbers are equal."""
    across, up = x @ AXES
    return X + SCALE * float(across), Y - SCALE * float(up)


def draw_bars(canvas: Phone, x: Sequence[float], mean: float) -> None:
    """The three numbers as bars whose ends are dragged, and their mean."""
    canvas.line(8, ZERO, 150, ZERO, "quiet")
    canvas.line(8, ZERO - UNIT * mean, 150, ZERO - UNIT * mean, "here", 2, stroke_dasharray="5 4")
    for number, value in enumerate(x):
        left, end = BARS + 42 * number, ZERO - UNIT * value
        canvas.rect(left - 9, min(ZERO, end), 18, abs(end - ZERO), "data", fill_opacity="0.55")
        low = ZERO + UNIT * 3 + 26
        canvas.text(left, low, f"{value:g}", 13, bold=True)
        drag = {"y": (f"x_{number + 1}", ZERO, -UNIT)}
        canvas.handle(left, end, f"number {number + 1}", f"{value:g}", "data", 9, **drag)


def draw_plane(canvas: Phone, centred: np.ndarray, result: np.ndarray) -> None:
    """The plane of vectors with mean 0: the three axes, the circle, x without its mean and the normed vector."""
    canvas.add("circle", cx=X, cy=Y, r=SCALE * RADIUS, fill="none", stroke="edge", stroke_width=2)
    for number, axis in enumerate(AXES):
        end = X + 92 * axis[0] / np.hypot(*axis), Y - 92 * axis[1] / np.hypot(*axis)
        canvas.line(X, Y, *end, "edge")
        canvas.text(end[0] + (-2, 1, -1)[number], end[1] + (-3, 12, 12)[number], number + 1, 12, fill="quiet")
    far = float(np.linalg.norm(centred))
    shown = centred * min(1.0, 2.05 / far) if far else centred  # what is longer leaves the picture
    canvas.arrow(X, Y, *on_plane(result), "here", 4, 13)
    canvas.arrow(X, Y, *on_plane(shown), "data", 5 if far < RADIUS else 2, 13)
    canvas.add("circle", cx=on_plane(result)[0], cy=on_plane(result)[1], r=5, fill="here", stroke="ground", data_id="n")


def draw_norm(x: Sequence[float]) -> View:
    """Three numbers, their mean and deviation, and what a layer norm makes of them."""
    canvas, (mean, centred, deviation, result) = Phone(356), normed(x)
    canvas.text(8, 20, "x: drag its numbers", 12.5, "start", bold=True)
    canvas.text(348, 20, "with mean 0: a plane", 12.5, "end", bold=True)
    draw_bars(canvas, x, mean)
    draw_plane(canvas, centred, result)
    written = ", ".join(f"{value:g}" for value in x)
    rows = (
        (f"mean {two_decimals(mean)} (dashed): subtract it", "here"),
        (f"deviation {two_decimals(deviation)}: divide by it", "data"),
        (f"normed: {', '.join(map(two_decimals, result))}", "ink"),
    )
    for number, (text, role) in enumerate(rows):
        canvas.text(8, 268 + 19 * number, text, 13, "start", role, bold=number == 2)
    at_first = normed(FIRST)[3]
    moved, same = [a != b for a, b in zip(x, FIRST)], bool(np.abs(result - at_first).max() < 1e-6)
    done = all(moved) and same
    task = f"{'✔' if done else '○'} Change all three numbers, and keep the normed arrow where it is."
    canvas.prose(8, 332, task, 12.5, fill="right" if done else "ink")
    ghost = on_plane(at_first)
    canvas.add("circle", cx=ghost[0], cy=ghost[1], r=9, fill="none", stroke="quiet", stroke_dasharray="3 3")
    return canvas.view(
        f"Three numbers: {written}. Mean {two_decimals(mean)}, deviation {two_decimals(deviation)}. Normed: "
        f"{', '.join(map(two_decimals, result))}, an arrow of length {two_decimals(np.linalg.norm(result))} in the "
        f"plane of mean 0. {task}"
    )


def norm_circle() -> Explorer:
    """Drag a vector of three numbers: a layer norm drops it on the plane of mean 0 and puts it on a circle."""
    controls = {
        f"x_{number}": slider(f"number {number}", first, LOW, HIGH, STEP) for number, first in enumerate(FIRST, 1)
    }
    return Explorer(lambda x_1, x_2, x_3: draw_norm((x_1, x_2, x_3)), controls, replaced=list(controls))
