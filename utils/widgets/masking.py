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
from .canvas import Phone, View, cut
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
    """Scores of one sentence under a mask, and below them weights and outputs; mask, scores, weights (n, n) and
    outputs (n, d), of which the first three entries are shown. `deepest`: the output that has the deepest colour, the
    largest if None; where it is given, a row of the picture depends on its own row of the mask alone."""
    mask, scores, weights, outputs = (as_numbers(array, 2) for array in (mask, scores, weights, outputs))
    shown, n, size = outputs[:, :3], len(words), outputs.shape[1]
    names, below = 56, 66 + 27 * n  # room for the words; where the second block begins
    canvas, wide = Phone(below + 66 + 27 * n), min(58.0, (350 - names) / n)
    deepest = np.abs(outputs).max() if deepest is None else deepest
    narrow = min(31.0, (300 - names) / (n + shown.shape[1]))
    blocks = [
        ("scores", names, 58, wide, scores, np.abs(scores).max(), "signed", words),
        ("weights", names, below + 58, narrow, weights, 1.0, "weight", words),
        (
            f"outputs, {shown.shape[1]} of {size}",
            names + narrow * n + 10,
            below + 58,
            narrow,
            shown,
            deepest,
            "signed",
            (),
        ),
    ]
    for title, left, top, width, table, limit, role, headings in blocks:
        canvas.text(left, top - 42, title, 13, "start", bold=True)
        for column, heading in enumerate(headings):
            x = left + width * (column + 0.4)
            turned = f"rotate(-30 {x:.1f} {top - 6})"
            canvas.text(x, top - 6, cut(heading, 7), 11, "start", transform=turned)
        for (row, column), value in np.ndenumerate(table):
            x, y = left + width * column, top + 27 * row
            if title == "scores" and not mask[row, column]:
                canvas.rect(x, y, width, 25, "raised", stroke="edge")
                canvas.text(x + width / 2, y + 17, "−∞", 12, fill="quiet")
            else:
                canvas.cell(x, y, width, 25, value, limit, role, 11)
    for row, word in enumerate(words):
        for top in (58, below + 58):
            canvas.text(names - 6, top + 17 + 27 * row, cut(word, 7), 12, "end")
        canvas.text(350, below + 75 + 27 * row, f"{weights[row].sum():.2f}", 11, "end", "quiet")
    canvas.text(350, below + 52, "sum", 11, "end", "quiet")
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
    """Inputs on the left, outputs on the right: a line from word number `changed` to each output that moved, distances
    (n,); to outputs before it, which no causal model moves, the line is red."""
    distances, canvas = as_numbers(distances, 1), Phone(62 + 30 * len(words))
    largest, y_of = distances.max() or 1.0, [66 + 30 * number for number in range(len(words))]
    canvas.text(6, 18, title, 13.5, "start", bold=True)
    canvas.text(6, 38, "red: an earlier output moves", 12, "start", "wrong")
    roles = ["wrong" if number < changed else "data" for number in range(len(words))]
    for y, role, distance in zip(y_of, roles, distances):
        if distance > 0:
            width = float(1 + 8 * distance / largest)
            canvas.line(86, y_of[changed] - 4, 170, y - 4, role, width, opacity="0.7")
    for number, (y, word, distance) in enumerate(zip(y_of, words, distances)):
        said, here = f"moves by {distance:.2f}" if distance > 0 else "does not move", number == changed
        canvas.text(80, y, cut(word, 9), 13, "end", "here" if here else "ink", here)
        canvas.add("circle", cx=178, cy=y - 4, r=7, fill=roles[number] if distance > 0 else "ground", stroke="quiet")
        canvas.text(194, y, f"output {number + 1} {said}", 12, "start", "ink" if distance > 0 else "quiet")
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
