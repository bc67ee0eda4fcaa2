"""Which row of a cross-attention is the row of a word? Gold links as frames over the weights, to be moved by rows."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..plots import as_numbers, largest
from .canvas import Phone, View, cut
from .controls import Explorer, menu, slider

ROW, NAMES = 24, 72  # how high a row is, and how wide the words beside it are
SHIFTS = {-1: "one row above the one that writes it", 0: "the row that writes it", 1: "the row that reads it"}
TASK = "Drag the frames to the rows where they lie on the darkest cells."


def framed(gold: Sequence[tuple[int, int]], shift: int, rows: int) -> list[tuple[int, int, int]]:
    """(word, its row, its column) for each gold link (word, column), so many rows further down; what leaves the map
    above or below has no frame."""
    return [(i, i + shift, j) for i, j in sorted(gold) if 0 <= i + shift < rows]


def hits_of(weights: np.ndarray, gold: Sequence[tuple[int, int]], shift: int) -> int:
    """How many frames lie on the largest weight of their row, of weights (q, k)."""
    return sum(largest(weights[row, :-1])[0] == column for _, row, column in framed(gold, shift, len(weights)))


def draw_map(canvas: Phone, top: float, wide: float, weights: np.ndarray, words: tuple) -> None:
    """The weights (q, k), a row for each step, between the word that it reads and the one that it writes."""
    source, reads, writes = words
    for column, word in enumerate(source):
        x = NAMES + wide * (column + 0.5)
        turned = {"transform": f"rotate(-55 {x + 3:.1f} {top - 6})"}
        canvas.text(x + 3, top - 6, cut(word, 10), 11.5, "start", "key", **turned)
    for (row, column), weight in np.ndenumerate(weights):
        canvas.shade(NAMES + wide * column, top + ROW * row, wide, ROW, "weight", float(weight))
    right = NAMES + wide * len(source)
    for row, (read, written) in enumerate(zip(reads, writes)):
        y = top + ROW * row + 16
        canvas.text(NAMES - 5, y, cut(read, 9), 12, "end", "query")
        canvas.text(right + 5, y, cut(written, 9), 12, "start")
    canvas.text(NAMES - 5, top - 8, "reads", 11.5, "end", "quiet")
    canvas.text(right + 5, top + ROW * len(writes) + 14, "writes", 11.5, "start", "quiet")


def draw_frames(
    source: Sequence[str], target: Sequence[str], gold: Sequence[tuple[int, int]], weights: np.ndarray, layer: str,
    shift: int,
) -> View:  # fmt: skip
    """The map with its frames, and how many of them lie on the darkest cell of their row."""
    words = [*source, "</s>"], ["<s>", *target], [*target, "</s>"]
    wide = min(30.0, (350 - 2 * NAMES) / len(words[0]))
    canvas, top = Phone(0), 118
    canvas.text(6, 20, f"{layer}: where each step looks", 14, "start", bold=True)
    canvas.text(6, 40, f"a frame is in {SHIFTS[shift]}", 12.5, "start", "here")
    draw_map(canvas, top, wide, weights, words)
    frames = framed(gold, shift, len(weights))
    for word, row, column in frames:
        x, y = NAMES + wide * column, top + ROW * row
        canvas.rect(x + 1.5, y + 1.5, wide - 3, ROW - 3, "none", stroke="ground", stroke_width=5, rx=3,
                    data_id=f"back {word}")  # fmt: skip
        canvas.rect(x + 1.5, y + 1.5, wide - 3, ROW - 3, "none", stroke="here", stroke_width=2.5, rx=3,
                    data_id=f"frame {word}")  # fmt: skip
    tall = ROW * len(weights)
    high, value = ROW * len(target), f"{shift}, {SHIFTS[shift]}"
    place = NAMES, top + ROW * shift, wide * len(words[0]), high
    canvas.grip(*place, "row of the frames", value, y=("shift", top + high / 2, ROW))
    hits, best = hits_of(weights, gold, shift), max(hits_of(weights, gold, one) for one in SHIFTS)
    found = hits == best
    said = f"{hits} of {len(frames)} frames lie on the darkest cell of their row (the end of the source left out)."
    y = canvas.prose(6, top + tall + 34, said)
    task = f"{'✔' if found else '○'} {TASK}"
    y = canvas.prose(6, y + 3, task, fill="right" if found else "quiet", bold=found)
    canvas.height = round(y)
    where = " ".join(f"{cut(one, 9)}" for one in target)
    return canvas.view(f"{layer}, {' '.join(source)}: {where}. A frame is in {SHIFTS[shift]}. {said} {task}")


def gold_frames(pairs: Sequence, maps: Mapping[str, Sequence[ArrayLike]]) -> Explorer:
    """Drag the gold links of a translation over the rows of the cross-attention with which it was written.

    pairs: sentence pairs of the corpus, of up to 8 words; maps: {name of a layer: for each pair the weights (q, k)
    while its translation is read from `<s>` on, `</s>` being the last source word}. ValueError: weights that do not
    fit."""
    tables = {layer: [as_numbers(one, 2) for one in of_layer] for layer, of_layer in maps.items()}
    for layer, of_layer in tables.items():
        for pair, weights in zip(pairs, of_layer, strict=True):
            wanted = len(pair.target) + 1, len(pair.source) + 1
            if weights.shape != wanted:
                raise ValueError(f"{layer}: weights {weights.shape} must be {wanted} for {' '.join(pair.source)!r}")

    def draw(sentence, layer, shift):
        pair = pairs[sentence]
        return draw_frames(pair.source, pair.target, pair.alignment, tables[layer][sentence], layer, shift)

    titles = [(" ".join(pair.source), number) for number, pair in enumerate(pairs)]
    controls = {"sentence": menu("sentence", titles), "layer": menu("layer", list(tables))}
    return Explorer(draw, controls | {"shift": slider("rows further down", 1, -1, 1)})
