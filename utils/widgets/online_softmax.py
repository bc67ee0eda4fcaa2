"""A softmax that reads its scores in blocks: what is kept, what is forgotten, and how the old sum shrinks."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..plots import as_numbers, in_words
from .board import short
from .canvas import Phone, View, two_decimals
from .controls import Explorer, menu, slider

LOWEST, HIGHEST, STEP = -4.0, 6.0, 0.5  # of a score
COUNTS, SIZES = (4, 6, 8), (1, 2, 4, 8)  # of scores, of scores in a block
TENTH = 0.1  # of the task
KEPT = ("the old sum is", "the old sum and mixture are")  # without values, and with them


class Sum(NamedTuple):
    """A sum once a block is read: as it was, what is left of that, and what the block adds."""

    old: float
    left: float
    adds: float

    @property
    def total(self) -> float:
        return self.left + self.adds


class Read(NamedTuple):
    """What is kept once a block is read: the largest score so far; the sum of exp(score - largest), and the mixture,
    the same sum with each one times its value. `factor`: what the old ones were multiplied by, 0 before the first."""

    largest: float
    factor: float
    sum: Sum
    mixture: Sum


def read_blocks(scores: np.ndarray, values: np.ndarray, size: int) -> list[Read]:
    """What is kept after each block of `size` scores (k,), which have values (k,)."""
    found, largest, total, mixture = [], -math.inf, 0.0, 0.0
    for start in range(0, len(scores), size):
        block = slice(start, start + size)
        before, largest = largest, max(largest, float(scores[block].max()))
        factor, powers = math.exp(before - largest), np.exp(scores[block] - largest)
        sums = Sum(total, total * factor, float(powers.sum()))
        mixed = Sum(mixture, mixture * factor, float(powers @ values[block]))
        total, mixture = sums.total, mixed.total
        found.append(Read(largest, factor, sums, mixed))
    return found


LEFT, WIDE = 48, 304  # pixels: where the columns of scores begin, and how wide all of them are
ZERO, UNIT = 146, 10.5  # the height of a score of 0, pixels for 1
BARS, LONG, NUMBERS, ROW = 98, 158, 262, 20  # where bars of sums begin, the longest, their numbers; height of a row
THICK = 13  # of such a bar


def rounded_up(number: float) -> float:
    """The next number with one digit: 1.64 becomes 2, 0.31 becomes 0.4; 0 stays."""
    if number == 0:
        return 0.0
    unit = 10.0 ** math.floor(math.log10(number))
    return math.ceil(number / unit) * unit


def draw_sizes(canvas: Phone, sizes: Sequence[int], size: int) -> None:
    """The sizes of a block, to choose one, at the right of the title."""
    left = 352 - 33.0 * len(sizes)
    canvas.text(left - 6, 18, "block size", 12, "end")
    for number, one in enumerate(sizes):
        x, on = left + 33 * number, one == size
        edge = {"stroke": "here", "stroke_width": 2} if on else {"stroke": "edge"}
        canvas.rect(x, 3, 30, 22, "raised" if on else "none", rx=4, **edge)
        canvas.text(x + 15, 18, one, 12, bold=on)
        canvas.touch(x, 2, 30, 24, f"blocks of {one}", group="sizes", on=on, size=one)


def draw_scores(canvas: Phone, scores: np.ndarray, values: np.ndarray | None, size: int, at: int) -> float:
    """The scores as bars, block number `at`, from 0, framed; those before it forgotten, those after it to come. Below,
    their values, and the blocks, to choose one. Returns where the next thing can be drawn."""
    pitch, low = WIDE / len(scores), 200 if values is None else 219
    canvas.line(LEFT, ZERO, LEFT + WIDE, ZERO)
    canvas.text(LEFT - 6, ZERO + 4, "score", 12, "end", "data", True)
    for k, score in enumerate(scores.tolist()):
        middle, high, block = LEFT + pitch * (k + 0.5), UNIT * score, k // size
        looks = {"fill": "data"} if block == at else {"fill": "raised", "stroke": "quiet"}
        if block < at:
            looks = {"stroke": "quiet", "stroke_dasharray": "2 4"}
        canvas.rect(middle - 9, ZERO - max(high, 0), 18, abs(high), data_id=f"score {k}", **looks)
        role = "ink" if block == at else "quiet"
        canvas.text(middle, ZERO + 20 if score >= 0 else ZERO - 6, short(score), 12, fill=role, bold=block == at)
        if values is not None:
            canvas.text(middle, 209, short(values[k]), 12, fill="value" if block == at else "quiet", bold=block == at)
    if values is not None:
        canvas.text(LEFT - 6, 209, "value", 12, "end", "value", True)
    canvas.text(LEFT - 6, low + 13, "block", 12, "end")
    for block in range(len(scores) // size):
        x, wide, here = LEFT + pitch * size * block, pitch * size, block == at
        canvas.rect(x + 2, low, wide - 4, 18, "raised", stroke="edge", rx=4)
        canvas.text(x + wide / 2, low + 13, block + 1, 12, fill="ink" if here else "quiet", bold=here)
        canvas.touch(x, low - 2, wide, 22, f"read block {block + 1}", group="blocks", on=here, step=block + 1)
    x = LEFT + pitch * size * at
    canvas.rect(x + 0.5, 70, pitch * size - 1, low - 48, stroke="here", stroke_width=2, rx=5, data_id="frame")
    return low + 24.0


def draw_largest(canvas: Phone, y: float, end: float, largest: float, before: float | None) -> None:
    """The largest score so far as a line over what has been read, and dashed the one before, where there is a new one;
    at the height y, what the lines are."""
    for score, dashes, x, said in (
        (largest, {"data_id": "largest"}, 8, f"largest so far: {short(largest)}"),
        (before, {"stroke_dasharray": "4 3"}, 190, f"before: {short(before)}" if before is not None else ""),
    ):
        if score is not None:
            canvas.line(LEFT, ZERO - UNIT * score, end, ZERO - UNIT * score, "ink", 2, **dashes)
            canvas.line(x, y - 4, x + 22, y - 4, "ink", 2, **{k: v for k, v in dashes.items() if k != "data_id"})
            canvas.text(x + 28, y, said, 12, "start")


def draw_sum(
    canvas: Phone, y: float, name: str, role: str, at: int, kept: Sequence[Sum], factor: float, at_once: float
) -> float:
    """A sum after block number `at` as bars, row by row: what is left of the old one, which is dashed, what the block
    adds, the new sum, and after the last block the same sum, made `at_once`. One scale for all blocks, in `kept`.
    Returns where the next thing can be drawn."""
    one, ends = kept[at], [end for each in kept for end in (each.old, each.left, each.total)]
    low, high = rounded_up(max(0.0, -min(ends))), rounded_up(max(0.0, *ends))
    scale = LONG / ((low + high) or 1.0)
    zero, foot = BARS + scale * low, y + 3 * ROW + 3

    def bar(row: int, begin: float, end: float, **looks: object) -> None:
        left, wide = zero + scale * min(begin, end), scale * abs(end - begin)
        canvas.rect(left, y + ROW * row - THICK + 2, wide, THICK, **looks)

    canvas.text(zero, y - 15, "0", 11, fill="quiet")
    for number in (-low, high):
        if scale * abs(number) > 24:  # pixels, for its label
            end = zero + scale * number
            canvas.line(end, y - 12, end, foot, "edge")
            canvas.text(end, y - 15, f"{number:g}", 11, fill="quiet")
    if at:
        bar(0, 0, one.left, fill=role, fill_opacity="0.35", data_id=f"{name} {at - 1}")
        bar(0, 0, one.old, stroke="ink", stroke_width=1.5, stroke_dasharray="4 3")
    bar(1, one.left, one.total, fill=role)
    bar(2, 0, one.total, fill=role, fill_opacity="0.65", data_id=f"{name} {at}")
    last = at == len(kept) - 1
    if last:
        bar(3, 0, at_once, stroke=role, stroke_width=2)
    canvas.line(zero, y - 12, zero, foot, "ink")
    rows = {
        f"old {name}": f"{two_decimals(one.old)} × {in_words(factor, 2)}" if at else "none yet",
        "this block": f"{'−' if one.adds < 0 else '+'} {two_decimals(abs(one.adds))}",
        f"new {name}": f"= {two_decimals(one.total)}",
        "all at once": two_decimals(at_once) if last else "?",
    }
    for row, (label, number) in enumerate(rows.items()):
        looks = {"fill": role, "bold": True} if row == 2 else {"fill": "ink" if row < 2 or last else "quiet"}
        canvas.text(BARS - 8, y + ROW * row, label, 12, "end", **looks)
        canvas.text(NUMBERS, y + ROW * row, number, 12, "start", **looks)
    return y + 4 * ROW


def news(read: Sequence[Read], at: int, kept: str) -> str:
    """What block number `at` changes, in words; kept: what there was before."""
    if not at:
        return "The sum adds up exp(score - largest). What has to happen to it when a larger score comes?"
    lead = read[at].largest - read[at - 1].largest
    if not lead:
        return f"No score is larger than {short(read[at].largest)}: {kept} as before."
    return f"A new largest score, {short(lead)} higher: {kept} multiplied by exp(-{short(lead)})."


def draw_blocks(scores: np.ndarray, values: np.ndarray | None, size: int, step: int, sizes: Sequence[int]) -> View:
    """Block number `step`, from 1, is read, of `size` scores (k,) each; with values (k,), the mixture, too."""
    weighted = np.zeros(len(scores)) if values is None else values
    read, (once,) = read_blocks(scores, weighted, size), read_blocks(scores, weighted, len(scores))
    at, number, canvas = step - 1, len(read), Phone(0)
    one, new = read[at], at > 0 and read[at].factor < 1
    title, said = f"block {step} of {number}", news(read, at, KEPT[values is not None])
    canvas.text(8, 18, title, 14.5, "start", bold=True)
    draw_sizes(canvas, sizes, size)
    canvas.prose(8, 44, said, 12.5)
    y = draw_scores(canvas, scores, values, size, at) + 14
    draw_largest(canvas, y, LEFT + WIDE * size * step / len(scores), one.largest, read[at - 1].largest if new else None)
    sums = {"sum": ("weight", [each.sum for each in read], once.sum.total)}
    if values is not None:
        sums["mixture"] = "value", [each.mixture for each in read], once.mixture.total
    for name, (role, each, whole) in sums.items():
        y = draw_sum(canvas, y + 38, name, role, at, each, one.factor, whole)
    facts = []
    if values is not None:
        output = f"{two_decimals(one.mixture.total)} / {two_decimals(one.sum.total)}"
        facts = [f"Output = mixture / sum = {output} = {two_decimals(one.mixture.total / one.sum.total)}."]
        canvas.text(8, y + 8, facts[0] if step == number else "Output = mixture / sum, after the last block.", 12.5,
                    "start", "value" if step == number else "quiet", step == number)  # fmt: skip
        y += 24
    last, done = read[-1].factor, number > 1 and read[-1].factor < TENTH
    now = f"Now {'all' if last == 1 else in_words(last, 2)} of it is left."
    now = now if number > 1 else "With one block, there is no old sum."
    task = f"{'✔' if done else '○'} Drag scores until the last block shrinks the old sum to less than a tenth. {now}"
    canvas.prose(8, y + 8, task, 12.5, fill="right" if done else "ink")
    canvas.height = round(y + 50)
    for k, score in enumerate(scores.tolist()):
        x, way = LEFT + WIDE * (k + 0.5) / len(scores), (f"score_{k + 1}", ZERO, -UNIT)
        canvas.handle(x, ZERO - UNIT * score, f"score {k + 1}", short(score), "ink", 8, y=way)
    block = ", ".join(map(short, scores[size * at : size * step]))
    found = [f"Blocks of {size}. Block {step} of {number}: {block}. {said}"]
    for name, (_, each, whole) in sums.items():
        it, end = each[at], f", all at once {two_decimals(whole)}" if step == number else ""
        old = f"{two_decimals(it.old)} × {in_words(one.factor, 2)} + {two_decimals(it.adds)} = " if at else ""
        found.append(f"New {name}: {old}{two_decimals(it.total)}{end}.")
    return canvas.view(" ".join([*found, *(facts if step == number else []), task]))


def softmax_in_blocks(scores: Sequence[float], values: ArrayLike | None = None) -> Explorer:
    """The softmax of one row of scores, a block at a time: each step reads a block and forgets it; when a new largest
    score turns up, the old sum shrinks. The scores are dragged, and the size of a block is chosen.

    values: a number for each score; then their mixture is kept, too. ValueError: not 4, 6 or 8 scores, one that cannot
    be reached by dragging, or another number of values."""
    start = as_numbers(scores, 1)
    if len(start) not in COUNTS:
        raise ValueError(f"{len(start)} scores: give 4, 6 or 8, so that they can be read in blocks of several sizes")
    off = [score for score in start.tolist() if not LOWEST <= score <= HIGHEST or score % STEP]
    if off:
        near = min(max(round(off[0] / STEP) * STEP, LOWEST), HIGHEST)
        way = f"from {LOWEST:g} to {HIGHEST:g} in steps of {STEP:g}, so that it can be dragged: give {near:g}"
        raise ValueError(f"score {off[0]:g} must lie {way}")
    mixed = None if values is None else as_numbers(values, 1)
    if mixed is not None and len(mixed) != len(start):
        raise ValueError(f"{len(mixed)} values for {len(start)} scores: give one number for each score")
    sizes = [size for size in SIZES if len(start) % size == 0]

    def draw(step, size, **own):
        now = np.array(list(own.values()))
        return draw_blocks(now, mixed, size, min(step, len(now) // size), sizes)

    controls = {"step": slider("block", 1, 1, len(start)), "size": menu("block size", sizes, 2, "170px")}
    controls |= {
        f"score_{k}": slider(f"score {k}", score, LOWEST, HIGHEST, STEP) for k, score in enumerate(start.tolist(), 1)
    }
    return Explorer(draw, controls, replaced=["size", *list(controls)[2:]], pace=3000)
