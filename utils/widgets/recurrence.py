"""Notebook 05: a recurrent network unrolled, what is left of a far word, and a decoder that looks back step by step."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..plots import as_numbers, in_words
from ..style import WAVES
from .canvas import Canvas, Phone, View, cut, two_decimals
from .controls import Explorer, menu, slider

LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def indexed(letter: str, number: int) -> str:
    """A letter with a number below it: s₁."""
    return f"{letter}{number}".translate(LOW)


# Unrolled


def draw_unrolled(reads: Sequence[str], writes: Sequence[str] = (), encoder: int = 0) -> View:
    """A recurrent network, one column a step: the words it `reads` below, those it `writes` above, where there are any.

    The first `encoder` columns are those of an encoder; their last state is the context c of the decoder after them."""
    writes = [*writes] or [""] * len(reads)
    top = 84 if any(writes) else 34
    canvas, width = Canvas(960, top + 128), 900 / len(reads)
    middles = [40 + width * (number + 0.5) for number in range(len(reads))]
    for number, (x, word, written) in enumerate(zip(middles, reads, writes)):
        ours, first = number < encoder, number in (0, encoder)
        colour, letter = ("value", "m") if ours or not encoder else ("query", "s")
        letter = letter if encoder else "s"
        canvas.rect(x - 24, top, 48, 34, "ground", stroke=colour, stroke_width=2.5, rx=8)
        canvas.text(x, top + 22, indexed(letter, number + 1 - (0 if ours else encoder)), 16, fill=colour)
        canvas.arrow(x, top + 82, x, top + 38, "quiet", 2)
        canvas.text(x, top + 104, word, 15)
        canvas.text(x + 8, top + 66, "W" if first and not encoder else "", 14, "start", "quiet")
        if written:
            canvas.arrow(x, top - 4, x, top - 40, "quiet", 2)
            canvas.text(x, top - 52, written, 15, fill="here")
            canvas.text(x + 8, top - 18, "W" if first and not encoder else "", 14, "start", "quiet")
            canvas.text(x + 22, top - 14, "y" if first and not encoder else "", 11, "start", "quiet")
        if number:
            canvas.arrow(
                middles[number - 1] + 26, top + 17, x - 28, top + 17, "value" if number == encoder else "quiet", 2
            )
            label = "c" if encoder and number == encoder else "U" if number == 1 and not encoder else ""
            canvas.text((middles[number - 1] + x) / 2, top + 8, label, 15, fill="value" if encoder else "quiet")
    said = "; ".join(f"reads {word}" + f", writes {out}" * bool(out) for word, out in zip(reads, writes))
    passes = f" State {encoder} passes on as the context c." if encoder else ""
    return canvas.view(f"A network unrolled over {len(reads)} steps, each state passed on to the next: {said}.{passes}")


# What is left of a far word


def draw_fading(name: str, back: int, reach: Mapping[str, ArrayLike], states: Mapping[str, ArrayLike]) -> View:
    """The states of a network over time as colours, and below, how strongly the last one depends on each word.

    reach: {name: norms of the gradient (n,), by words back}; states: {name: (n, d)}."""
    table, curves = as_numbers(states[name], 2), {key: as_numbers(norms, 1) for key, norms in reach.items()}
    count, canvas = len(table), Phone(344)
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
    for key in sorted(curves, key=lambda key: key == name):
        places = [274 - 154 * (value - low) / (high - low) for value in logs[key]]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(x_of, places))
        looks = {"stroke": "data", "stroke_width": 3} if key == name else {"stroke": "quiet", "stroke_width": 1.5}
        canvas.add("polyline", points=points, fill="none", **looks)
        away = key != name
        canvas.text(52, places[-1] - 6, cut(key, 20), 11.5, "start", "quiet" if away else "data", bold=not away)
    canvas.add("circle", cx=x_of[back], cy=places[back], r=5, fill="here")
    canvas.text(8, 102, "norm of the gradient", 12, "start", "quiet")
    canvas.text(8, 292, "words back", 11, "start", "quiet")
    for k in range(0, count - 10, 10):
        canvas.text(x_of[k], 292, k or "now", 11, fill="quiet")
    norm, share = curves[name][back], curves[name][back] / curves[name][0]
    said = f"{name}, {back} words back: gradient {in_words(norm)}, {in_words(share)} times that of the last word"
    canvas.prose(8, 314, said, 12.5)
    return canvas.view(f"{said}.")


SUPER = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def fading(reach: Mapping[str, ArrayLike], states: Mapping[str, ArrayLike]) -> Explorer:
    """Choose a network and a distance: how much of that word is left in the last state (see `draw_fading`)."""
    farthest = len(next(iter(reach.values()))) - 1
    controls = {
        "name": menu("network", list(reach)),
        "back": slider("words back", min(20, farthest), 0, farthest),
    }
    return Explorer(lambda name, back: draw_fading(name, back, reach, states), controls)


# Looking back, step by step

SOURCE = ("the", "green", "witch", "arrived", "</s>")
MEMORY = np.array([(0.0, 3.0), (-2.9, 0.9), (-1.8, -2.4), (1.8, -2.4), (2.9, 0.9)])  # (k, d)
TARGET = ("llegó", "la", "bruja", "verde", "</s>")
STATES = np.array([(0.9, -1.2), (-0.3, 1.5), (-0.9, -1.2), (-1.5, 0.5), (1.5, 0.5)])  # (q, d)
STAGES = ("the state asks", "scores", "weights", "context", "word")


def pair(vector: Sequence[float], digits: int = 1) -> str:
    """A vector of two entries: (0.9, -1.2)."""
    return f"({', '.join(f'{entry + 0.0:.{digits}f}' for entry in vector)})"


def draw_look_back(word: int, stage: int) -> View:
    """Step number `word` of a small decoder, as far as `stage`: query, scores, weights as lines, context, word."""
    i, canvas = word - 1, Phone(394)
    scores = MEMORY @ STATES[i]
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    context, middles = weights @ MEMORY, [37 + 70.5 * j for j in range(len(SOURCE))]
    begin, role = (92 if stage < 4 else 264), ("query" if stage < 3 else "weight")
    for x, weight in zip(middles, weights.tolist() if stage > 1 else ()):
        thick, opacity = (1.5, 0.6) if stage == 2 else (1 + 12 * weight, 0.2 + 0.7 * weight)
        canvas.line(begin, 124, x, 186, role, thick, opacity=f"{opacity:.2f}")
    canvas.text(6, 18, "written", 12, "start", "quiet")
    for j, known in enumerate(TARGET[: i + (stage > 4)]):
        here = j == i
        canvas.text(30 + 66 * j, 42, known, 14.5, fill="here" if here else "ink", bold=here)
    canvas.rect(4, 62, 176, 60, "ground", stroke="query", stroke_width=2.5, rx=8)
    canvas.text(92, 86, f"query {indexed('s', word)}", 13, fill="query", bold=True)
    canvas.text(92, 108, pair(STATES[i]), 14, fill="query")
    if stage > 3:
        canvas.rect(190, 62, 162, 60, "ground", stroke="value", stroke_width=2.5, rx=8)
        canvas.text(271, 86, f"context {indexed('c', word)}", 13, fill="value", bold=True)
        canvas.text(271, 108, pair(context, 2), 14, fill="value")
    rows = {"memory": [pair(row) for row in MEMORY], "": SOURCE}
    rows |= {"score": [two_decimals(score) for score in scores]} if stage > 1 else {}
    rows |= {"weight": [two_decimals(weight) for weight in weights]} if stage > 2 else {}
    for number, (label, texts) in enumerate(rows.items()):
        y = 208 + 40 * number
        canvas.text(4, y - 13 if label != "memory" else 178, label, 11, "start", "quiet")
        for x, text, weight in zip(middles, texts, weights):
            memory = label == "memory"
            if memory:
                canvas.rect(x - 33.5, y - 20, 67, 30, "ground", stroke="value", stroke_width=2, rx=6)
            most = label == "weight" and weight > 0.5
            canvas.text(x, y, text, 11 if memory else 13, fill="value" if memory else "ink", bold=most)
    said = describe_look_back(i, stage, scores, weights, context)
    canvas.prose(6, 354, said, 12.5)
    return canvas.view(said)


def describe_look_back(i: int, stage: int, scores: np.ndarray, weights: np.ndarray, context: np.ndarray) -> str:
    """What the picture shows at this stage, in words."""
    listed = {2: scores, 3: weights}
    if stage in listed:
        shown = ", ".join(f"{word} {two_decimals(value)}" for word, value in zip(SOURCE, listed[stage]))
        what = "Its dot product with each state" if stage == 2 else "Softmax makes weights"
        return f"Step {i + 1}. {what}: {shown}."
    return (
        f"Step {i + 1}. "
        + {
            1: f"The state of the decoder asks: {pair(STATES[i])}.",
            4: f"The states, summed by these weights, are the context: {pair(context, 2)}.",
            5: f"From state and context the next word: {TARGET[i]}.",
        }[stage]
    )


def look_back_steps() -> Explorer:
    """A decoder with attention at work on five words; states made by hand, so small that one can check the numbers."""
    controls = {
        "word": slider("step of writing", 1, 1, len(TARGET)),
        "stage": menu("show as far as", [(name, number) for number, name in enumerate(STAGES, 1)], 1),
    }
    return Explorer(draw_look_back, controls)
