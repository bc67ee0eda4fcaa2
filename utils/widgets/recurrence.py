"""Recurrent networks: a network unrolled, a note that is rewritten at every word, and what is left of a far word."""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..checks import require_list
from ..plots import as_numbers, in_words
from ..style import WAVES
from .canvas import Phone, View, cut, indexed, two_decimals
from .controls import Explorer, menu, slider

# Unrolled


def draw_unrolled(reads: Sequence[str], writes: Sequence[str] = (), encoder: int = 0) -> View:
    """A recurrent network, one column per step: the words it `reads` below, those it `writes` above, if any; they
    are turned where columns are too narrow for them.

    The first `encoder` columns are those of an encoder that reads in both directions; its two last states, at either
    end, make the context c, which enters every step of the decoder after them."""
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
            canvas.arrow(x, top - (18 if encoder else 4), x, top - 36, "quiet", 2, 10)
        if number and number != encoder:
            high = 9 if ours else 15
            canvas.arrow(middles[number - 1] + box / 2, top + high, x - box / 2 - 1, top + high, "quiet", 2)
            if ours:
                canvas.arrow(x - box / 2, top + 22, middles[number - 1] + box / 2 + 1, top + 22, "quiet", 2)
    if encoder:
        draw_bridge(canvas, top, middles, encoder)
    else:
        canvas.text(middles[0] + 6, top + 60, "W", 12.5, "start", "quiet")
    if len(reads) > 1 and not encoder:
        canvas.text(middles[0] + width / 2, top + 6, "U", 12.5, fill="quiet")
    said = "; ".join(f"reads {word}" + f", writes {out}" * bool(out) for word, out in zip(reads, writes))
    passes = f" States 1 and {encoder} make the context c, which enters every step after them." if encoder else ""
    return canvas.view(f"A network unrolled over {len(reads)} steps, each state passed on to the next: {said}.{passes}")


def draw_bridge(canvas: Phone, top: float, middles: Sequence[float], encoder: int) -> None:
    """The context c, from the first and the last state of the encoder to every step of the decoder."""
    y = top - 13
    for x in (middles[0], middles[encoder - 1]):
        canvas.line(x, top - 1, x, y, "value", 2.5)
    canvas.line(middles[0], y, middles[-1], y, "value", 2.5)
    for x in middles[encoder:]:
        canvas.arrow(x, y, x, top - 1, "value", 2, 9)
    canvas.text((middles[encoder - 1] + middles[encoder]) / 2, y - 6, "c", 14, fill="value", bold=True)


# A note that is rewritten
NOTE_X, NOTE_WIDE, LEFT_X, LEFT_WIDE, ROW = 82, 120, 214, 92, 24  # where notes and bars begin, and how large they are


def notes_of(vectors: np.ndarray, W: np.ndarray, U: np.ndarray) -> np.ndarray:
    """The states (n, d) of an Elman network without a bias that reads vectors (n, d_in)."""
    state, found = np.zeros(len(U)), []
    for x in vectors:
        state = np.tanh(x @ W + state @ U)
        found.append(state)
    return np.stack(found)


def traces(vectors: np.ndarray, W: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Row k (n,): how far each note is from what it would be without word k, as a share of how far it is at word k; 0
    before it."""
    true, found = notes_of(vectors, W, U), []
    for k in range(len(vectors)):
        without = vectors.copy()
        without[k] = 0
        apart = np.linalg.norm(true - notes_of(without, W, U), axis=1)
        found.append(apart / apart[k])
    return np.stack(found)


def draw_note(words: Sequence[str], notes: np.ndarray, left: np.ndarray, step: int, chosen: int) -> View:
    """A row for each word with the note after it, up to this step; behind it, how much of the chosen word is left."""
    canvas, word = Phone(78 + ROW * len(words) + 74), words[chosen]
    canvas.text(8, 20, f"step {step}: it reads {words[step - 1]}", 14, "start", bold=True)
    canvas.text(NOTE_X + NOTE_WIDE / 2, 46, "the note", 12.5, fill="value", bold=True)
    canvas.text(LEFT_X, 46, f"left of {cut(word, 9)}", 12.5, "start", "here", True)
    canvas.hint(8, 62, "click a word")
    wide = NOTE_WIDE / notes.shape[1]
    for number, name in enumerate(words):
        y, read = 70 + ROW * number, number < step
        canvas.text(
            NOTE_X - 8, y + 15, cut(name, 10), 13, "end", "here" if number == chosen else "ink", number == chosen
        )
        if read:
            for column, value in enumerate(notes[number].tolist()):
                role = "data" if value > 0 else "negative"
                canvas.shade(NOTE_X + wide * column, y + 1, wide, ROW - 4, role, abs(value))
        else:
            canvas.rect(NOTE_X, y + 1, NOTE_WIDE, ROW - 4, stroke="edge", stroke_dasharray="3 3")
        if read and number >= chosen:
            share = float(left[number])
            canvas.rect(LEFT_X, y + 4, LEFT_WIDE * min(share, 1.0), ROW - 10, "weight", data_id=f"left {number}")
            canvas.text(LEFT_X + LEFT_WIDE * min(share, 1.0) + 5, y + 15, f"{share:.0%}", 12, "start")
        canvas.touch(0, y, NOTE_X, ROW, f"{number + 1}, {name}", on=number == chosen, chosen=number)
    canvas.rect(NOTE_X - 2, 69 + ROW * (step - 1), NOTE_WIDE + 4, ROW, stroke="ink", stroke_width=2, data_id="now")
    now = float(left[step - 1])
    said = f"“{word}” is still to come." if step - 1 < chosen else f"Of “{word}”, {now:.0%} is left in the note."
    y = canvas.prose(8, 70 + ROW * len(words) + 22, said, 13)
    found = step - 1 > chosen and now < 0.1
    task = f"{'✔' if found else '○'} At which step is less than 10 % of a word left? Is it the same for every word?"
    canvas.prose(8, y + 3, task, 12.5, fill="right" if found else "quiet")
    note = ", ".join(map(two_decimals, notes[step - 1]))
    return canvas.view(f"Step {step}: it reads {words[step - 1]}. The note is ({note}). {said} {task}")


def rewritten_note(words: Sequence[str], vectors: ArrayLike, W: ArrayLike, U: ArrayLike) -> Explorer:
    """Watch an Elman network rewrite its note at every word, and click a word: how far each later note is from what it
    would be without that word. vectors (n, d_in), one for each word; W (d_in, d) and U (d, d). ValueError: sizes."""
    require_list(words=words)
    vectors, W, U = (as_numbers(part, 2) for part in (vectors, W, U))
    if len(vectors) != len(words) or W.shape != (vectors.shape[1], len(U)) or U.shape != (len(U), len(U)):
        raise ValueError(f"{len(words)} words, vectors {vectors.shape}, W {W.shape} and U {U.shape} do not fit")
    notes, left = notes_of(vectors, W, U), traces(vectors, W, U)
    controls = {
        "step": slider("step", 1, 1, len(words)),
        "chosen": menu("word", [(word, number) for number, word in enumerate(words)]),
    }
    return Explorer(
        lambda step, chosen: draw_note(words, notes, left[chosen], step, chosen), controls, replaced=["chosen"]
    )


# What is left of a far word
FAR = 20  # words
CURVES = ("data", "ink", "query", "wrong")  # none is near "here", which marks a place


def draw_fading(name: str, back: int, reach: Mapping[str, ArrayLike], states: Mapping[str, ArrayLike]) -> View:
    """The states of a network over time as colours, and below, how strongly the last one depends on each word, as far
    back as one has looked.

    reach: {name: norms of the gradient (n,), by words back}; states: {name: (n, d)}."""
    table, curves = as_numbers(states[name], 2), {key: as_numbers(norms, 1) for key, norms in reach.items()}
    count, canvas = len(table), Phone(396)
    width = 300 / count
    x_of = [48 + width * (count - 0.5 - k) for k in range(count)]  # by words back: now is on the right
    roles = dict(zip(curves, itertools.cycle(CURVES)))
    draw_names(canvas, name, roles)
    canvas.text(42, 74, "state", 12.5, "end")
    canvas.pixels(48, 40, 300, 54, WAVES((table.T + 1) / 2)[..., :3])
    for k, role in ((0, "ink"), (back, "here")):
        canvas.rect(x_of[k] - width / 2 - 1, 37, width + 2, 60, "none", stroke=role, stroke_width=2)
    logs = {key: np.log10(np.maximum(norms, 1e-12)) for key, norms in curves.items()}
    low, high = math.floor(min(map(np.min, logs.values()))), math.ceil(max(map(np.max, logs.values())))
    y_of = {power: 286 - 154 * (power - low) / (high - low) for power in range(low, high + 1)}
    for power in range(low, high + 1, 2):
        canvas.line(48, y_of[power], 348, y_of[power], "edge")
        canvas.text(42, y_of[power] + 4, f"10{str(power).translate(SUPER)}", 12, "end", "quiet")
    for key in sorted(curves, key=lambda key: key == name):
        places = [286 - 154 * (value - low) / (high - low) for value in logs[key]]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(x_of[: back + 1], places))
        canvas.add("polyline", points=points, fill="none", stroke=roles[key], stroke_width=4 if key == name else 1.5)
        canvas.add("circle", cx=x_of[back], cy=places[back], r=5 if key == name else 3, fill=roles[key])
        if key == name:
            canvas.handle(x_of[back], places[back], "words back", f"{back}", x=("back", x_of[0], -width))
    canvas.text(8, 116, "norm of the gradient", 12, "start", "quiet")
    canvas.hint(348, 116, "drag the point to the left", "end")
    canvas.text(8, 304, "words back", 11, "start", "quiet")
    for k in range(0, count - 10, 10):
        canvas.text(x_of[k], 304, k or "now", 11, fill="quiet")
    norm, share = in_words(curves[name][back]), in_words(curves[name][back] / curves[name][0])
    said = f"{name}, {back} words back: the gradient is {norm}, {share} times that of the last word."
    if not back:
        said = f"{name}, the last word itself: the gradient is {norm}."
    end = canvas.prose(8, 326, said, 12.5)
    far = min(FAR, count - 1)
    ask = f"How much is left {far} words back?" if back < far else "And in the other networks?"
    canvas.prose(8, max(364, end + 3), ask, 12.5, fill="quiet")
    return canvas.view(f"{said} {ask}")


def draw_names(canvas: Phone, name: str, roles: Mapping[str, str]) -> None:
    """The names of the curves, each a button that chooses it."""
    wide = 344 / len(roles)
    for number, (key, role) in enumerate(roles.items()):
        x, here = 6 + wide * number, key == name
        canvas.rect(x + 2, 6, wide - 4, 24, "ground", stroke=role, stroke_width=2.5 if here else 1, rx=5)
        canvas.text(x + wide / 2, 22.5, key, 12, "middle", role, here)
        canvas.touch(x, 4, wide, 28, key, on=here, network=key)


SUPER = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def fading(reach: Mapping[str, ArrayLike], states: Mapping[str, ArrayLike]) -> Explorer:
    """Choose a network and a distance: how much of that word is left in the last state (see `draw_fading`)."""
    farthest = len(next(iter(reach.values()))) - 1
    controls = {
        "network": menu("network", list(reach)),
        "back": slider("words back", 0, 0, farthest),
    }
    return Explorer(lambda network, back: draw_fading(network, back, reach, states), controls, replaced=["network"])
