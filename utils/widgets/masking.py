"""Notebook 04: a mask to paint, and the outputs that a changed word moves."""

import math
from collections.abc import Sequence

import ipywidgets
import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from .. import masks
from ..attention import scaled_dot_product_attention
from ..plots import as_numbers
from .canvas import Canvas, View
from .controls import Explorer, checkbox, menu, slider


def mask_presets(n: int, padded: int) -> dict[str, Tensor]:
    """{name: mask (n, n)} for a sentence of n positions, the last `padded` of them padding."""
    pairs, causal = torch.ones(n, n, dtype=torch.bool), masks.causal_mask(n)
    padding = masks.padding_mask_from_lengths(torch.tensor([n - padded]), n)[0, 0].expand(n, n)
    return {
        "none": pairs,
        "padding": padding,
        "causal": causal,
        "causal and padding": causal & padding,
        "window, one word to each side": pairs.triu(-1).tril(1),
    }


# Painting a mask
def draw_masked(
    words: Sequence[str], mask: Tensor, scores: Tensor, weights: Tensor, outputs: Tensor, deepest: float | None = None
) -> View:
    """Scores, weights and outputs of one sentence under a mask, side by side; mask, scores, weights (n, n) and
    outputs (n, d), of which the first three entries are shown. `deepest`: the output that has the deepest colour, the
    largest if None; where it is given, a row of the picture depends on its own row of the mask alone."""
    mask, scores, weights, outputs = (as_numbers(array, 2) for array in (mask, scores, weights, outputs))
    shown, n, size, top = outputs[:, :3], len(words), outputs.shape[1], 62
    canvas, width = Canvas(960, 82 + 34 * n), min(58, 780 // (2 * n + min(3, size)))
    deepest = np.abs(outputs).max() if deepest is None else deepest
    blocks = [
        ("scores", 84, scores, np.abs(scores).max(), True, words),
        ("weights", 100 + width * n, weights, 1.0, False, words),
        (f"outputs, {shown.shape[1]} of {size} entries", 174 + 2 * width * n, shown, deepest, True, ()),
    ]
    for title, left, numbers, limit, signed, headings in blocks:
        canvas.text(left, 20, title, 15, "start", bold=True)
        for column, heading in enumerate(headings):
            canvas.text(left + width * (column + 0.5), 50, heading, 13)
        for (row, column), value in np.ndenumerate(numbers):
            x, y = left + width * column, top + 34 * row
            if title == "scores" and not mask[row, column]:
                canvas.rect(x, y, width, 30, "raised", stroke="edge")
                canvas.text(x + width / 2, y + 20, "−∞", 13, fill="quiet")
            else:
                canvas.cell(x, y, width, 30, value, limit, "signed" if signed else "weight")
    for row, word in enumerate(words):
        canvas.text(76, top + 34 * row + 20, word, 14, "end")
        canvas.text(106 + 2 * width * n, top + 34 * row + 20, f"sum {weights[row].sum():.2f}", 12, "start", "quiet")
    said = [
        f"{word} to {int(allowed.sum())} of {n}: "
        f"{', '.join(f'{words[k]} {line[k]:.2f}' for k in np.flatnonzero(allowed)) or 'nothing'}"
        for word, line, allowed in zip(words, weights, mask)
    ]
    return canvas.view(f"Who attends to whom. {'; '.join(said)}.")


def paint_mask(words: Sequence[str], Q: Tensor, K: Tensor, V: Tensor, padded: int = 0) -> Explorer:
    """Paint a mask (n, n), a box for each pair, and see scores, weights and outputs.

    Q and K (n, e), V (n, v); `padded`: how many positions at the end are padding."""
    n, scores = len(words), Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    presets = mask_presets(n, padded)
    preset = menu("start from", list(presets), "padding")
    at_first = np.ndenumerate(presets["padding"].numpy())
    boxes = {f"box_{i}_{j}": checkbox(words[j], bool(allowed), "96px") for (i, j), allowed in at_first}

    def draw(preset, **painted):
        mask = torch.tensor(list(painted.values())).view(n, n)
        outputs, weights = scaled_dot_product_attention(Q, K, V, mask)
        return draw_masked(words, mask, scores, weights, outputs, V.abs().max().item())  # no mean of values exceeds it

    rows = np.array(list(boxes.values()), dtype=object).reshape(n, n).tolist()
    for word, row in zip(words, rows):
        row.insert(0, ipywidgets.Label(f"{word} may attend to", layout=ipywidgets.Layout(width="170px")))
    shown = Explorer(draw, {"preset": preset, **boxes}, [preset, *map(ipywidgets.HBox, rows)])

    def fill(_change):
        with shown.screen.hold_sync():  # one picture for all boxes
            for box, allowed in zip(boxes.values(), presets[preset.value].flatten().tolist()):
                box.value = allowed

    preset.observe(fill, "value")
    return shown


# A word that changes
@torch.no_grad()
def moved_by(layers: Sequence[nn.Module], X: Tensor, mask: Tensor, chosen: int, change: float) -> Tensor:
    """How far each output moves (n,) when `change` is added to every entry of row `chosen` of X (n, d).

    Each layer is attention with a residual connection: X = X + layer(X, mask=mask)[0]."""
    changed = X.clone()
    changed[chosen] += change
    for layer in layers:  # one after the other: side by side as a batch, equal rows may be rounded differently
        X, changed = X + layer(X, mask=mask)[0], changed + layer(changed, mask=mask)[0]
    return (changed - X).norm(dim=-1)


def draw_moved(words: Sequence[str], changed: int, distances: ArrayLike, title: str) -> View:
    """Inputs above, outputs below: a line from word number `changed` to each output that moved, distances (n,); to
    outputs on its left, which no causal model moves, the line is red."""
    distances, canvas = as_numbers(distances, 1), Canvas(960, 250)
    largest, step = distances.max() or 1.0, 940 / len(words)
    middle = [10 + step * (number + 0.5) for number in range(len(words))]
    canvas.text(10, 24, title, 15, "start", bold=True)
    canvas.text(950, 24, "red: an earlier output moves", 13, "end", "wrong")
    colours = ["wrong" if number < changed else "data" for number in range(len(words))]
    for number, distance in enumerate(distances):
        if distance > 0:
            width = float(1 + 9 * distance / largest)
            canvas.line(middle[changed], 74, middle[number], 172, colours[number], width, opacity="0.7")
    for number, (x, word, distance) in enumerate(zip(middle, words, distances)):
        said = f"moves by {distance:.2f}" if distance > 0 else "does not move"
        canvas.text(x, 64, word, 15, fill="here" if number == changed else "ink", bold=number == changed)
        canvas.add("circle", cx=x, cy=180, r=8, fill=colours[number] if distance > 0 else "ground", stroke="quiet")
        canvas.text(x, 212, f"output {number + 1}", 13)
        canvas.text(x, 234, said, 13, fill="ink" if distance > 0 else "quiet")
    moves = [f"{words[k]} ({k + 1}) by {distances[k]:.2f}" for k in np.flatnonzero(distances > 0)]
    moved = ", ".join(moves) or "none"
    return canvas.view(f"{title}. {words[changed]} ({changed + 1}) changes. Outputs that move: {moved}.")


def masked_influence(words: Sequence[str], X: Tensor, layers: Sequence[nn.Module], padded: int = 0) -> Explorer:
    """Change one word's vector and see which outputs move; layers, called with X (n, d) and a mask, are stacked."""
    presets = mask_presets(len(words), padded)

    def draw(chosen, change, mask, depth):
        distances = moved_by(layers[:depth], X, presets[mask], chosen, change)
        return draw_moved(words, chosen, distances, f"mask: {mask} · {depth} layer{'s' * (depth > 1)}")

    controls = {
        "chosen": menu("change the vector of", [(f"{n + 1} {word}", n) for n, word in enumerate(words)], 1),
        "change": slider("by", 1.0, 0.0, 3.0, 0.25),
        "mask": menu("mask", list(presets), "causal"),
        "depth": slider("layers", 1, 1, len(layers)),
    }
    return Explorer(draw, controls)
