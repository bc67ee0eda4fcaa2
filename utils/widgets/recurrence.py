"""Recurrent networks: a network unrolled, and what is left of a far word."""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..plots import as_numbers, in_words
from ..style import WAVES
from .board import width_of
from .canvas import Phone, View, indexed
from .controls import Explorer, menu, slider

# Unrolled


def draw_unrolled(reads: Sequence[str], writes: Sequence[str] = (), encoder: int = 0) -> View:
    """A recurrent network, one column a step: the words it `reads` below, those it `writes` above, where there are any;
    they are turned where columns are too narrow for them.

    The first `encoder` columns are those of an encoder; their last state is the context c of the decoder after them."""
    writes, longest = [*writes] or [""] * len(reads), max(map(len, [*reads, *writes]))
    turn = 6.6 * longest > 344 / len(reads)
    room, width = (4.4 * longest, 326 / len(reads)) if turn else (0, 344 / len(reads))
    top = 76 + room if any(writes) else 20.0
    canvas, box = Phone(top + 100 + room), min(34, 0.64 * width)
    middles = [6 + 8 * turn + width * (number + 0.5) for number in range(len(reads))]
    for number, (x, word, written) in enumerate(zip(middles, reads, writes)):
        ours = number < encoder
        letter, colour = ("m", "value") if ours else ("s", "query" if encoder else "value")
        canvas.rect(x - box / 2, top, box, 30, "ground", stroke=colour, stroke_width=2.5, rx=7)
        canvas.text(x, top + 20, indexed(letter, number + 1 - (0 if ours else encoder)), 12.5, fill=colour)
        for y, text, role, side in ((top + 90, word, "ink", "end"), (top - 44, written, "here", "start")):
            turned = {"transform": f"rotate(-40 {x:.1f} {y:.1f})"} if turn else {}
            if text:
                canvas.text(x, y, text, 12.5, side if turn else "middle", role, **turned)
        canvas.arrow(x, top + 74, x, top + 33, "quiet", 2)
        if written:
            canvas.arrow(x, top - 4, x, top - 36, "quiet", 2)
        if number:
            passes = "value" if encoder and number == encoder else "quiet"
            canvas.arrow(middles[number - 1] + box / 2, top + 15, x - box / 2 - 1, top + 15, passes, 2)
    if encoder:
        canvas.text((middles[encoder - 1] + middles[encoder]) / 2, top - 4, "c", 14, fill="value", bold=True)
    else:
        canvas.text(middles[0] + 6, top + 60, "W", 12.5, "start", "quiet")
    if len(reads) > 1 and not encoder:
        canvas.text(middles[0] + width / 2, top + 6, "U", 12.5, fill="quiet")
    said = "; ".join(f"reads {word}" + f", writes {out}" * bool(out) for word, out in zip(reads, writes))
    passes = f" State {encoder} passes on as the context c." if encoder else ""
    return canvas.view(f"A network unrolled over {len(reads)} steps, each state passed on to the next: {said}.{passes}")


# What is left of a far word
FAR = 20  # words
CURVES = ("data", "ink", "quiet", "wrong")  # none is near "here", which marks a place


def draw_fading(name: str, back: int, reach: Mapping[str, ArrayLike], states: Mapping[str, ArrayLike]) -> View:
    """The states of a network over time as colours, and below, how strongly the last one depends on each word.

    reach: {name: norms of the gradient (n,), by words back}; states: {name: (n, d)}."""
    table, curves = as_numbers(states[name], 2), {key: as_numbers(norms, 1) for key, norms in reach.items()}
    count, canvas = len(table), Phone(378)
    width = 300 / count
    x_of = [48 + width * (count - 0.5 - k) for k in range(count)]  # by words back: now stands on the right
    canvas.text(42, 54, "state", 12.5, "end")
    canvas.pixels(48, 16, 300, 64, WAVES((table.T + 1) / 2)[..., :3])
    for k, role in ((0, "ink"), (back, "here")):
        canvas.rect(x_of[k] - width / 2 - 1, 13, width + 2, 70, "none", stroke=role, stroke_width=2)
    logs = {key: np.log10(np.maximum(norms, 1e-12)) for key, norms in curves.items()}
    low, high = math.floor(min(map(np.min, logs.values()))), math.ceil(max(map(np.max, logs.values())))
    y_of = {power: 274 - 154 * (power - low) / (high - low) for power in range(low, high + 1)}
    for power in range(low, high + 1, 2):
        canvas.line(48, y_of[power], 348, y_of[power], "edge")
        canvas.text(42, y_of[power] + 4, f"10{str(power).translate(SUPER)}", 12, "end", "quiet")
    roles = dict(zip(curves, itertools.cycle(CURVES)))
    for key in sorted(curves, key=lambda key: key == name):
        places = [274 - 154 * (value - low) / (high - low) for value in logs[key]]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(x_of, places))
        canvas.add("polyline", points=points, fill="none", stroke=roles[key], stroke_width=4 if key == name else 1.5)
        name_curve(canvas, x_of, logs, key, places, roles[key], key == name)
    canvas.add("circle", cx=x_of[back], cy=places[back], r=5, fill="here")
    canvas.text(8, 102, "norm of the gradient", 12, "start", "quiet")
    canvas.text(8, 292, "words back", 11, "start", "quiet")
    for k in range(0, count - 10, 10):
        canvas.text(x_of[k], 292, k or "now", 11, fill="quiet")
    norm, share = in_words(curves[name][back]), in_words(curves[name][back] / curves[name][0])
    said = f"{name}, {back} words back: the gradient is {norm}, {share} times that of the last word."
    if not back:
        said = f"{name}, the last word itself: the gradient is {norm}."
    end = canvas.prose(8, 314, said, 12.5)
    ask = f"Guess, then look: how much is left {FAR} words back?" if back < FAR else "And in the other networks?"
    canvas.prose(8, max(352, end + 3), ask, 12.5, fill="quiet")
    return canvas.view(f"{said} {ask}")


def name_curve(
    canvas: Phone, x_of: Sequence[float], logs: Mapping[str, np.ndarray], key: str, places: Sequence[float],
    role: str, here: bool,
) -> None:  # fmt: skip
    """The name of a curve, a quarter of the way from its far end: below it where no other lies below, else above it."""
    at = round(0.75 * (len(places) - 1))
    lowest = all(logs[key][at] <= other[at] for other in logs.values())
    wide, x = width_of(key, 12) * (1.12 if here else 1), x_of[at]
    x = min(max(x, 50 + wide / 2), 348 - wide / 2)
    over = [place for place, at_x in zip(places, x_of) if abs(at_x - x) < wide / 2]
    y = max(over) + 16 if lowest else min(over) - 8
    halo = {"stroke": "ground", "stroke_width": 4, "paint_order": "stroke"}
    canvas.text(x, y, key, 12, "middle", role, here, **halo)


SUPER = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def fading(reach: Mapping[str, ArrayLike], states: Mapping[str, ArrayLike]) -> Explorer:
    """Choose a network and a distance: how much of that word is left in the last state (see `draw_fading`)."""
    farthest = len(next(iter(reach.values()))) - 1
    controls = {
        "name": menu("network", list(reach)),
        "back": slider("words back", 0, 0, farthest),
    }
    return Explorer(lambda name, back: draw_fading(name, back, reach, states), controls)
