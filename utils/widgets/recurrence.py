"""Notebook 05: a recurrent network unrolled, what is left of a far word, and a decoder that looks back step by step."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..plots import as_numbers, in_words
from ..style import WAVES
from .canvas import Canvas, View, two_decimals
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
    count, canvas = len(table), Canvas(960, 400)
    width = 800 / count
    x_of = [130 + width * (count - 0.5 - k) for k in range(count)]  # by words back: now stands on the right
    canvas.text(120, 64, "state", 14, "end")
    canvas.pixels(130, 24, 800, 70, WAVES((table.T + 1) / 2)[..., :3])
    for k, colour in ((0, "ink"), (back, "here")):
        canvas.rect(x_of[k] - width / 2, 20, width, 78, "none", stroke=colour, stroke_width=3)
    logs = {key: np.log10(np.maximum(norms, 1e-12)) for key, norms in curves.items()}
    low, high = math.floor(min(map(np.min, logs.values()))), math.ceil(max(map(np.max, logs.values())))
    y_of = {power: 340 - 210 * (power - low) / (high - low) for power in range(low, high + 1)}
    for power in range(low, high + 1, 2):
        canvas.line(130, y_of[power], 930, y_of[power], "raised")
        canvas.text(120, y_of[power] + 5, f"10{str(power).translate(SUPER)}", 13, "end", "quiet")
    for key in sorted(curves, key=lambda key: key == name):
        places = [340 - 210 * (value - low) / (high - low) for value in logs[key]]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(x_of, places))
        chosen = key == name
        canvas.add(
            "polyline", points=points, fill="none", stroke="data" if chosen else "edge", stroke_width=3 if chosen else 2
        )
        far, lowest = 3 * count // 4, min(values[3 * count // 4] for values in logs.values())
        below, rises = logs[key][far] == lowest, logs[key][far] < logs[key][0]
        anchor = "end" if rises and not below else "start"
        canvas.text(x_of[far], places[far] + (20 if below else -8), key, 13, anchor, "data" if chosen else "quiet")
    canvas.add("circle", cx=x_of[back], cy=places[back], r=6, fill="here")
    canvas.text(130, 122, "norm of the gradient", 13, "start", "quiet")
    canvas.text(120, 362, "words back", 13, "end", "quiet")
    for k in range(0, count, 5):
        canvas.text(x_of[k], 362, k or "now", 13, fill="quiet")
    norm, share = curves[name][back], curves[name][back] / curves[name][0]
    said = f"{name}, {back} words back: gradient {in_words(norm)}, {in_words(share)} times that of the last word"
    canvas.text(530, 390, said, 15)
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
    i, canvas = word - 1, Canvas(960, 400)
    scores = MEMORY @ STATES[i]
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    context, middles = weights @ MEMORY, [190 + 150 * j for j in range(len(SOURCE))]
    begin, colour = (260, "quiet") if stage < 3 else (260 if stage == 3 else 740, "weight")
    for x, weight in zip(middles, weights.tolist() if stage > 1 else ()):
        thick, opacity = (1.5, 0.6) if stage == 2 else (1 + 14 * weight, 0.2 + 0.7 * weight)
        canvas.line(begin, 128, x, 208, colour, thick, opacity=f"{opacity:.2f}")
    canvas.text(20, 40, "written", 14, "start", "quiet")
    for j, known in enumerate(TARGET[: i + (stage > 4)]):
        canvas.text(140 + 110 * j, 40, known, 18, fill="here" if j == i else "ink", bold=j == i)
    canvas.rect(150, 84, 220, 42, "ground", stroke="query", stroke_width=2.5, rx=8)
    canvas.text(260, 111, f"query {indexed('s', word)} = {pair(STATES[i])}", 15, fill="query")
    if stage > 3:
        canvas.rect(620, 84, 240, 42, "ground", stroke="value", stroke_width=2.5, rx=8)
        canvas.text(740, 111, f"context {indexed('c', word)} = {pair(context, 2)}", 15, fill="value")
    rows = {"memory": [pair(row) for row in MEMORY], "": SOURCE}
    rows |= {"score": [two_decimals(score) for score in scores]} if stage > 1 else {}
    rows |= {"weight": [two_decimals(weight) for weight in weights]} if stage > 2 else {}
    for number, (label, texts) in enumerate(rows.items()):
        y = 236 + 36 * number
        canvas.text(20, y, label, 14, "start", "quiet")
        for x, text, weight in zip(middles, texts, weights):
            if label == "memory":
                canvas.rect(x - 60, y - 26, 120, 38, "ground", stroke="value", stroke_width=2.5, rx=8)
            canvas.text(
                x, y, text, 15, fill="value" if label == "memory" else "ink", bold=label == "weight" and weight > 0.5
            )
    said = describe_look_back(i, stage, scores, weights, context)
    canvas.text(480, 388, said, 15)
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
        "stage": menu("show as far as", [(name, number) for number, name in enumerate(STAGES, 1)], 4),
    }
    return Explorer(draw_look_back, controls)
