"""Notebook 03: multi-head attention as a whole, the split into heads, and a shelf to ask one head and two about."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ..plots import as_numbers, largest
from .canvas import Canvas, View
from .controls import Explorer, checkbox, menu, slider

DEPTHS = (0.15, 0.4, 0.65, 0.9)  # of four heads
HEADS = (1, 2, 4)  # the numbers of heads that the pictures show
D_MODEL, N = 16, 5  # entries of a word, and words

# Multi-head attention as a whole
PLAN = (
    "project: every head gets its own narrow queries, keys and values, X times three matrices of its own",
    "weights: softmax of Q Kᵀ / √e, in every head by itself",
    "mix: weights times V, in every head by itself",
    "side by side: one row a word again, as wide as X",
    "W_o: one last matrix, and here the heads meet",
)
UNIT, MIDDLE = 5, 186  # pixels of an entry; half the height of the drawing


def draw_table(
    canvas: Canvas, x: float, y: float, widths: Sequence[int], depths: Sequence[float], label: str, below: str = ""
) -> float:
    """A table of N rows to scale: blocks of columns side by side, `widths` entries wide; returns its right end."""
    end = x + UNIT * sum(widths)
    for number, (width, depth) in enumerate(zip(widths, depths)):
        canvas.shade(x + UNIT * sum(widths[:number]), y, UNIT * width, UNIT * N, "data", depth, "quiet")
    canvas.text((x + end) / 2, y - 7, label, 13)
    canvas.text((x + end) / 2, y + UNIT * N + 17, below, 12.5, fill="quiet")
    return end


def draw_lane(canvas: Canvas, head: int, num_heads: int, step: int) -> None:
    """What one head does, from step 1 to step 3, and the arrow to the others in step 4."""
    e, fill, name = D_MODEL // num_heads, [DEPTHS[head]], head + 1
    middle = MIDDLE + 74 * (head - (num_heads - 1) / 2)
    top = middle - UNIT * N / 2
    canvas.arrow(108, MIDDLE, 188, middle, "quiet", 1.5)
    end = draw_table(canvas, 196, top, [e], fill, f"Q{name}")
    end = draw_table(canvas, end + 16, top, [e], fill, f"K{name}")
    draw_table(canvas, 474, top, [e], fill, f"V{name}")
    below, of_values = middle + 27, 474 + UNIT * e / 2  # the values come from X, too, and pass below the weights
    canvas.line(108, MIDDLE, 188, below, "quiet", 1.5)
    canvas.line(188, below, of_values, below, "quiet", 1.5)
    canvas.arrow(of_values, below, of_values, middle + 15, "quiet", 1.5)
    if step > 1:
        canvas.arrow(end + 6, middle, 416, middle, "quiet", 1.5)
        draw_table(canvas, 424, top, [N], fill, f"A{name}")
    if step > 2:
        canvas.text(461, middle + 5, "·", 18, bold=True)
        canvas.arrow(480 + UNIT * e, middle, 582, middle, "quiet", 1.5)
        end = draw_table(canvas, 590, top, [e], fill, f"Z{name}")
    if step > 3:
        canvas.arrow(end + 6, middle, 722, MIDDLE, "quiet", 1.5)


def draw_plan(num_heads: int, step: int) -> View:
    """Multi-head attention of 5 words with 16 entries, drawn to scale up to `step`, one of the five of PLAN."""
    canvas, e, top = Canvas(960, 392), D_MODEL // num_heads, MIDDLE - UNIT * N / 2
    for head in range(num_heads):
        draw_lane(canvas, head, num_heads, step)
    draw_table(canvas, 22, top, [D_MODEL], [0], "X", f"({N}, {D_MODEL})")
    if step > 3:
        draw_table(canvas, 730, top, [e] * num_heads, DEPTHS, "Z", f"({N}, {D_MODEL})")
    if step > 4:
        canvas.arrow(816, MIDDLE, 860, MIDDLE, "quiet", 1.5)
        canvas.text(836, MIDDLE - 10, "W_o", 13)
        draw_table(canvas, 868, top, [D_MODEL], [0], "output", f"({N}, {D_MODEL})")
    shapes = f"Q, K, V of a head: ({N}, {e}). Its weights A: ({N}, {N}). What it finds, Z: ({N}, {e})."
    canvas.text(22, 350, f"{step} · {PLAN[step - 1]}", 15, "start", bold=True)
    canvas.text(22, 376, shapes, 14, "start", "quiet")
    heads = "1 head" if num_heads == 1 else f"{num_heads} heads"
    return canvas.view(f"Multi-head attention, {heads}, step {step}: {PLAN[step - 1]}. {shapes}")


def multi_head_plan() -> Explorer:
    """The whole of multi-head attention, drawn step by step for one, two or four heads."""
    controls = {"num_heads": menu("heads", HEADS, 4), "step": slider("step", 5, 1, 5)}
    return Explorer(draw_plan, controls)


# The split
def split_and_merge(numbers: np.ndarray, num_heads: int, direct: bool) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (n, d) as heads (h, n, e), cut and exchanged, or read directly; and these merged again, (n, d)."""
    n, d = numbers.shape
    if direct:
        heads = numbers.reshape(num_heads, n, d // num_heads)
    else:
        heads = numbers.reshape(n, num_heads, d // num_heads).swapaxes(0, 1)
    return heads, heads.swapaxes(0, 1).reshape(n, d)


CELL_WIDTH, CELL_HEIGHT = 26, 18


def draw_split_row(canvas: Canvas, y: float, row: np.ndarray, right: np.ndarray, gap: int, num_heads: int) -> None:
    """One row of numbers (d,), `right` (d,) the true ones, with a gap of so many pixels between the heads."""
    e = len(row) // num_heads
    for column, (number, owner) in enumerate(zip(row // D_MODEL, row % D_MODEL // e)):
        x = 120 + CELL_WIDTH * column + gap * (column // e)
        misplaced = row[column] != right[column]
        role, depth = ("wrong", 1) if misplaced else ("data", DEPTHS[owner])
        letters = canvas.shade(x, y, CELL_WIDTH, CELL_HEIGHT, role, depth, "ground")
        canvas.text(x + CELL_WIDTH / 2, y + 13.5, number + 1, 12.5, fill=letters, bold=misplaced)


def draw_stage(
    canvas: Canvas, y: float, words: Sequence[str], table: np.ndarray, right: np.ndarray, num_heads: int,
    title: str, comment: str, outer: str = "",
) -> None:  # fmt: skip
    """Numbers (n, d) as rows of cells, `right` (n, d) the true ones; `outer`: what stands apart, rows or heads."""
    gap, pitch = (20 if outer else 0), CELL_HEIGHT + 5 * (outer == "rows")
    canvas.text(630, y + 40, title, 15, "start", bold=True)
    canvas.text(630, y + 62, comment, 13.5, "start")
    for number, word in enumerate(words):
        canvas.text(112, y + pitch * number + 13.5, word, 13, "end")
        draw_split_row(canvas, y + pitch * number, table[number], right[number], gap, num_heads)
    width = CELL_WIDTH * D_MODEL / num_heads
    for head in range(num_heads) if outer == "heads" else ():
        middle = 120 + (width + gap) * head + width / 2
        canvas.text(middle, y - 8, f"head {head + 1}", 13, bold=True)


def draw_strip(canvas: Canvas, y: float, num_heads: int) -> None:
    """All numbers of X in the order in which they lie in memory, and to which head a direct view gives them."""
    width, e = 480 / (N * D_MODEL), D_MODEL // num_heads
    for place in range(N * num_heads):
        left, depth = 120 + width * e * place, DEPTHS[place % num_heads]
        letters = canvas.shade(left, y, width * e, CELL_HEIGHT, "data", depth, "ground")
        canvas.text(left + width * e / 2, y + 13.5, place // num_heads + 1, 12.5, fill=letters)
    for head in range(num_heads):
        left, right = 120 + 480 * head / num_heads, 120 + 480 * (head + 1) / num_heads
        canvas.line(left + 3, y + 27, right - 3, y + 27, "data", 3)
        canvas.text((left + right) / 2, y + 45, f"to head {head + 1}", 13)
    canvas.text(630, 196, f"no cut: viewed directly as ({num_heads}, {N}, {e})", 15, "start", bold=True)
    canvas.text(630, 218, "all rows in a line, dealt out to the heads", 13.5, "start")


def draw_split(words: Sequence[str], num_heads: int, direct: bool) -> View:
    """16 columns become heads and are merged again; each cell holds the number of its word, red in a wrong place."""
    canvas, e = Canvas(960, 546), D_MODEL // num_heads
    X = np.arange(N * D_MODEL).reshape(N, D_MODEL)
    cut, (right, _) = f"({N}, {num_heads}, {e})", split_and_merge(X, num_heads, False)
    heads, merged = split_and_merge(X, num_heads, direct)
    wrong, lost = int((heads != right).sum()), int((merged != X).sum())
    draw_stage(
        canvas, 28, words, X, X, num_heads, f"X (n, d) = ({N}, {D_MODEL})", "each cell holds the number of its word"
    )
    if direct:
        draw_strip(canvas, 190, num_heads)
    else:
        said = f"cut into (n, h, e) = {cut}", "each word's row falls into h pieces of e"
        draw_stage(canvas, 154, words, X, X, num_heads, *said, "rows")
    whole = "each row of a head belongs to one word"
    said = (
        f"heads (h, n, e) = ({num_heads}, {N}, {e})",
        f"{wrong} of {X.size} numbers are misplaced" if wrong else whole,
    )
    draw_stage(canvas, 316, words, np.concatenate(heads, -1), np.concatenate(right, -1), num_heads, *said, "heads")
    said = f"merged (n, d) = ({N}, {D_MODEL})", f"{lost} of {X.size} numbers are misplaced" if lost else "X again"
    draw_stage(canvas, 442, words, merged, X, num_heads, *said)
    way = "viewed directly" if direct else "cut, then exchanged"
    rows = "; ".join(f"{word} {' '.join(str(k // D_MODEL + 1) for k in row)}" for word, row in zip(words, heads[-1]))
    return canvas.view(
        f"X ({N}, {D_MODEL}) {way}: {num_heads} heads of ({N}, {e}), {wrong} of {X.size} numbers in a wrong place. "
        f"Numbers of the words in head {num_heads}: {rows}. Merged again: {lost} in a wrong place."
    )


def head_split(words: Sequence[str]) -> Explorer:
    """Five words of 16 entries, split into heads and merged: the right way, or viewed directly as heads."""
    controls = {"num_heads": menu("heads", HEADS, 4), "direct": checkbox("view directly", False)}
    return Explorer(lambda num_heads, direct: draw_split(words, num_heads, direct), controls)


# The shelf
LETTERS = "ABCDEFGH"  # the symbols
Reader = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # symbols, places → logits (b, 2, 8), weights (b, h, 8)
PLACE_X = [236 + 62 * place for place in range(8)]  # middles of the places of the shelf


@torch.no_grad()
def read_shelf(model: Reader, symbols: Sequence[int], places: Sequence[int]) -> tuple[str, np.ndarray]:
    """A model's two answers as letters, and the weights (h, 8) of its heads, for one shelf (8,) and two places (2,)."""
    logits, weights = model(torch.tensor([symbols]), torch.tensor([places]))
    return "".join(LETTERS[largest(row)[0]] for row in logits[0].tolist()), as_numbers(weights[0], 2)


def draw_weights_of_head(canvas: Canvas, y: float, name: str, row: np.ndarray) -> None:
    """The weights (8,) of one head as bars that stand at height y."""
    canvas.text(196, y - 12, name, 14.5, "end", bold=True)
    canvas.line(206, y, 700, y, "quiet")
    for x, weight in zip(PLACE_X, row.tolist()):
        canvas.rect(x - 20, y - 46 * weight, 40, 46 * weight, "weight")
        canvas.text(x, y + 15, f"{weight:.0%}", 12.5, fill="ink" if weight >= 0.2 else "quiet", bold=weight >= 0.2)


def draw_shelf(symbols: Sequence[int], places: tuple[int, int], read: Mapping[int, tuple[str, np.ndarray]]) -> View:
    """A shelf (8,), the two places that are asked for, and what one head and two make of it: {heads: (answers,
    weights (heads, 8))}."""
    canvas, wanted = Canvas(960, 400), "".join(LETTERS[symbols[place]] for place in places)
    first, second = (place + 1 for place in places)
    question = f"What lies at place {first} and at place {second}? Right: {wanted[0]}, {wanted[1]}."
    if first == second:
        question += " (In training, the two were never the same.)"
    canvas.text(20, 24, question, 16, "start", bold=True)
    for place, (x, symbol) in enumerate(zip(PLACE_X, symbols)):
        edge = {"stroke": "ink", "stroke_width": 3} if place in places else {"stroke": "quiet"}
        canvas.rect(x - 24, 44, 48, 44, "raised", **edge)
        canvas.text(x, 74, LETTERS[symbol], 22, bold=place in places)
        canvas.text(x, 106, place + 1, 13, fill="quiet")
    canvas.text(196, 106, "place", 13, "end", "quiet")
    said = []
    for top, (num_heads, (answers, weights)) in zip((182, 284), sorted(read.items())):
        names = ["one head"] if num_heads == 1 else [f"head {head + 1} of {num_heads}" for head in range(num_heads)]
        for number, (name, row) in enumerate(zip(names, weights)):
            draw_weights_of_head(canvas, top + 84 * number, name, row)
        right, colour = ("✔", "right") if answers == wanted else ("✘", "wrong")
        answered = f"{right} answers {answers[0]}, {answers[1]}"
        canvas.text(730, top - 12 + 42 * (num_heads - 1), answered, 16, "start", colour, bold=True)
        looks = (
            f"{name}: {row[first - 1]:.0%} and {row[second - 1]:.0%} of the weight there"
            for name, row in zip(names, weights)
        )
        said.append(
            f"{', '.join(looks)}; answers {answers[0]}, {answers[1]}, {'right' if answers == wanted else 'wrong'}."
        )
    return canvas.view(f"Shelf {' '.join(LETTERS[symbol] for symbol in symbols)}. {question} {' '.join(said)}")


def shelf(models: Mapping[tuple[int, int], Reader], shelves: ArrayLike) -> Explorer:
    """Choose a shelf and two places of it, and see what one head and two do; models: {(number of heads, seed): model},
    shelves (count, 8): symbols from 0 to 7."""
    shelves = as_numbers(shelves, 2).astype(int).tolist()
    seeds = sorted({seed for _, seed in models})

    def draw(seed, shelf, first, second):
        places = first - 1, second - 1
        read = {heads: read_shelf(models[heads, seed], shelves[shelf], places) for heads, s in models if s == seed}
        return draw_shelf(shelves[shelf], places, read)

    shown = [("".join(LETTERS[symbol] for symbol in symbols), number) for number, symbols in enumerate(shelves)]
    controls = {
        "seed": menu("trained with seed", seeds),
        "shelf": menu("shelf", shown),
        "first": slider("first place", 3, 1, 8),
        "second": slider("second place", 7, 1, 8),
    }
    return Explorer(draw, controls)
