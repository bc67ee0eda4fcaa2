"""Four heads at work on a sentence that is typed, and the split into heads."""

import functools
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..attention import MultiHeadAttention, attention_weights, merge_heads, split_heads
from ..checks import require_list
from ..plots import as_numbers, largest
from ..style import letters_on
from .attention import numbered
from .canvas import Phone, View, cut
from .controls import Explorer, Options, checkbox, menu, slider, text
from .mixing import draw_problem, english_words, unknown

DEPTHS = (0.15, 0.4, 0.65, 0.9)  # of four heads
HEADS = (2, 4)  # the numbers of heads that the split shows
D_MODEL, N = 16, 5  # entries of a word, and words

# Heads at work
LEFT, WIDE = 62, 290.0  # of a row of numbers
MOST, TALL = 8, 138  # words of a sentence, and the height of a map
LOW = 222 + TALL  # where the maps and what is said below them end
END = "(end)"
WORK = (
    "each head makes its own query",
    "each head compares by itself",
    "each head collects its own values",
    "side by side, and W_o joins them",
)


class Work(NamedTuple):
    """What several heads make of some words: x, queries, what the heads found side by side, and the output, all (n, d);
    the weights (h, n, n)."""

    x: np.ndarray
    queries: np.ndarray
    weights: np.ndarray
    found: np.ndarray
    output: np.ndarray


@torch.no_grad()
def work_of_heads(x: Tensor, attention: MultiHeadAttention) -> Work:
    """The steps of self-attention with several heads, x (n, d)."""
    Q, K, V = (split_heads(part(x), attention.num_heads) for part in (attention.W_q, attention.W_k, attention.W_v))
    weights = attention_weights(Q, K)  # (h, n, n)
    found = merge_heads(weights @ V)  # (n, d)
    rows = (as_numbers(part, 2) for part in (x, merge_heads(Q), found, attention.W_o(found)))
    x, queries, found, output = rows
    return Work(x, queries, as_numbers(weights, 3), found, output)


def draw_numbers(canvas: Phone, y: float, row: np.ndarray, role: str, lit: slice = slice(None)) -> None:
    """A row of numbers (d,) as colours, the larger the deeper; those that are not lit are pale."""
    shares, wide = 0.06 + 0.94 * np.abs(row) / np.abs(row).max(), WIDE / len(row)
    pale = np.full(len(row), 0.25)
    pale[lit] = 1
    for column, share in enumerate((shares * pale).tolist()):
        canvas.rect(LEFT + wide * column, y, 0.92 * wide, 16, role, fill_opacity=f"{share:.2f}")


def draw_place(canvas: Phone, y: float, tall: float, lit: bool = False) -> None:
    """A frame around a whole row of numbers: dashed for what is yet to come."""
    looks = {"stroke": "ink", "stroke_width": 1.5} if lit else {"stroke": "edge", "stroke_dasharray": "4 4"}
    canvas.rect(LEFT - 2, y, WIDE + 3, tall, rx=3, **looks)


def draw_own_query(canvas: Phone, work: Work, i: int, head: int, word: str) -> None:
    """All of x goes into each head, whose columns of W_q make its part of the query."""
    d, heads = work.x.shape[1], len(work.weights)
    part = WIDE / heads
    x = LEFT + part * head
    canvas.text(LEFT, 46, f"x: all {d} numbers of “{cut(word, 12)}”", 12, "start")
    draw_numbers(canvas, 54, work.x[i], "data")
    draw_place(canvas, 52, 20, True)
    cone = f"M{LEFT - 2} 72L{x:.1f} 94H{x + part:.1f}L{LEFT + WIDE + 1:.1f} 72Z"
    canvas.add("path", d=cone, fill="query", opacity="0.25")
    for number in range(heads):
        lit, left = number == head, LEFT + part * number
        letters = canvas.shade(left + 1, 94, part - 2, 22, "query", float(lit), "query")
        canvas.text(left + part / 2, 109, f"W_q, {number + 1}", 12, fill=letters, bold=lit)
    canvas.text(LEFT - 6, 134, "q", 13, "end", "query", bold=True)
    draw_numbers(canvas, 122, work.queries[i], "query", slice(d // heads * head, d // heads * (head + 1)))


def draw_maps(canvas: Phone, work: Work, i: int, head: int, words: Sequence[str], known: bool) -> None:
    """The map of each head, the row of the word framed, and where it looks most; before it is known, outlines. A click
    on a word lets it ask, one on a map chooses the head."""
    part = WIDE / len(work.weights)
    wide, tall = (part - 8) / len(words), TALL / len(words)
    for number, weights in enumerate(work.weights):
        left = LEFT + part * number + 3
        for (q, k), weight in np.ndenumerate(weights):
            place = left + wide * k, 164 + tall * q, wide - 1, tall - 1
            looks = {"fill_opacity": f"{weight:.2f}"} if known else {"fill_opacity": "0", "stroke": "edge"}
            canvas.rect(*place, "weight", **looks, data_id=f"{number} {q} {k}")
        foot = 164 + TALL
        if known:
            canvas.rect(left - 1.5, 162.5 + tall * i, part - 5, tall + 2, stroke="here", stroke_width=2)
            most = largest(weights[i])[0]
            canvas.text(left + part / 2 - 4, foot + 14, cut(words[most], 11), 11)
            canvas.text(left + part / 2 - 4, foot + 28, f"{weights[i, most]:.0%}", 12, bold=True)
        if number == head:
            canvas.rect(left - 3.5, 158, part - 1, foot - 124, stroke="ink", stroke_width=2, rx=3)
        name = f"head {number + 1}"
        canvas.touch(left, 146, part - 6, foot - 112, name, group="heads", on=number == head, head=number + 1)
    for q, word in enumerate(words):
        here = q == i
        canvas.text(LEFT - 6, 164 + tall * (q + 0.5) + 4, cut(word, 9), 11, "end", "here" if here else "ink", here)
    for q, word in enumerate(words):
        canvas.touch(0, 164 + tall * q, LEFT - 2, tall, f"{q + 1}, {word}", on=q == i, chosen=q)


def describe_heads(work: Work, i: int, head: int, step: int, words: Sequence[str]) -> str:
    """What the picture shows at this step, in words."""
    d, heads = work.x.shape[1], len(work.weights)
    e = d // heads
    if step == 1:
        return (
            f"Head {head + 1} gets no slice of x: it reads all {d} numbers. Its own are {e} columns of W_q, and so "
            f"{e} of the {d} numbers of the query."
        )
    if step == 2:
        first = [(words[largest(weights[i])[0]], weights[i].max()) for weights in work.weights]
        listed = ", ".join(f"{word} {weight:.0%}" for word, weight in first)
        return f"{words[i]} gives most to, head by head: {listed}. Does that hold in another sentence?"
    if step == 3:
        return f"Head {head + 1} mixes its {e} numbers of every word's value by these weights."
    return f"The {heads} results side by side are as wide as x. W_o is the first place where the heads meet."


def draw_heads(words: Sequence[str], work: Work, i: int, head: int, step: int) -> View:
    """Word number i in attention with several heads, as far as `step`, one of the four of WORK; one head is lit."""
    d, heads = work.x.shape[1], len(work.weights)
    canvas, own = Phone(LOW + 172), slice(d // heads * head, d // heads * (head + 1))
    canvas.text(6, 20, f"{step} · {WORK[step - 1]}", 14, "start", bold=True)
    canvas.text(LEFT - 6, 66, cut(words[i], 9), 12, "end", "here", bold=True)
    draw_own_query(canvas, work, i, head, words[i])
    for number in range(heads):
        middle = LEFT + WIDE / heads * (number + 0.5)
        canvas.text(middle, 154, f"head {number + 1}", 12, bold=number == head)
    draw_maps(canvas, work, i, head, words, step > 1)
    canvas.text(LEFT - 6, LOW + 14, "z", 13, "end", "value", bold=True)
    canvas.text(LEFT - 6, LOW + 66, "output", 12, "end", bold=step > 3)
    if step > 2:
        draw_numbers(canvas, LOW + 2, work.found[i], "value", own if step == 3 else slice(None))
    else:
        draw_place(canvas, LOW, 20)
    if step > 3:
        canvas.rect(LEFT - 2, LOW + 26, WIDE + 3, 22, "raised", stroke="ink", rx=3)
        canvas.text(LEFT + WIDE / 2, LOW + 41, "W_o: every output hears all heads", 12, bold=True)
        draw_numbers(canvas, LOW + 54, work.output[i], "data")
    else:
        draw_place(canvas, LOW + 26, 46)
        canvas.text(LEFT + WIDE / 2, LOW + 53, "W_o", 12, fill="quiet")
    said = describe_heads(work, i, head, step, words)
    canvas.prose(6, LOW + 94, said)
    canvas.hint(6, LOW + 162, "Click a word to let it ask, a map to choose its head.")
    return canvas.view(f"{' '.join(words)}: {words[i]}, head {head + 1}, step {step} of 4: {WORK[step - 1]}. {said}")


def heads_at_work(
    read: Callable[[Sequence[str]], Tensor], attention: MultiHeadAttention, knows: Collection[str], first: str,
    chosen: str, tries: Sequence[str] = (),
) -> Explorer:  # fmt: skip
    """Type a sentence of up to eight words, and follow a word of it through attention with two to four heads: what
    each head reads, where it looks, what it finds, and where the heads meet.

    read(words) → x (n + 1, d): what the layer reads, the end of the sentence included; knows: the words that it can
    read; first: the sentence at first, and of it the `chosen` word; tries: others that a page offers. ValueError:
    another number of heads, or rows that do not fit the words."""
    require_list(knows=knows, tries=tries)

    @functools.lru_cache(maxsize=64)
    def work_on(words: tuple[str, ...]) -> Work:
        x = read(list(words))
        if not 2 <= attention.num_heads <= 4 or len(x) != len(words) + 1:
            raise ValueError(
                f"{len(words)} words, {len(x)} rows and {attention.num_heads} heads: give a row for each word and one "
                "for the end, and 2 to 4 heads"
            )
        return work_of_heads(x, attention)

    def draw(sentence, chosen, head, step):
        words = english_words(sentence)
        if len(words) > MOST:
            return draw_problem(f"That is {len(words)} words. Give at most {MOST}.", [])
        if (problem := unknown(words, knows)) is not None:
            return problem
        return draw_heads([*words, END], work_on(tuple(words)), min(chosen, len(words)), head - 1, step)

    def words_of(sentence, _state):
        names = [*english_words(sentence)[:MOST], END]
        return {"chosen": Options(numbered(names), 0)}

    names = [*english_words(first), END]
    controls = {
        "sentence": text("your sentence", first, (*tries, ""), "500px"),
        "chosen": menu("word", numbered(names), names.index(chosen)),
        "head": slider("head", 1, 1, max(2, attention.num_heads)),
        "step": slider("step", 2, 1, len(WORK)),
    }
    return Explorer(draw, controls, plays="step", follows={"sentence": words_of}, replaced=["chosen", "head"])


# The split
def split_and_merge(numbers: np.ndarray, num_heads: int, direct: bool) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (n, d) as heads (h, n, e), cut and exchanged, or read directly; and these merged again, (n, d)."""
    n, d = numbers.shape
    if direct:
        heads = numbers.reshape(num_heads, n, d // num_heads)
    else:
        heads = numbers.reshape(n, num_heads, d // num_heads).swapaxes(0, 1)
    return heads, heads.swapaxes(0, 1).reshape(n, d)


CELL_WIDTH, CELL_HEIGHT, CELLS = 16, 17, 62  # of a number; where a row begins
STAGES = ("Q = X W_q", "cut", "heads", "merged")
TOP = 74  # where the numbers begin


def corner(head: int, num_heads: int) -> tuple[float, float]:
    """Where the table of a head begins: four are in two columns, two below one another."""
    down, across = divmod(head, 2) if num_heads == 4 else (head, 0)
    return CELLS + 128 * across, TOP + (CELL_HEIGHT * N + 10) * down


def places_of(stage: int, num_heads: int, direct: bool) -> dict[int, tuple[float, float]]:
    """Where each of the 80 numbers of Q is at a stage from 1 to 4: {its number in Q: (x, y)}."""
    e, found = D_MODEL // num_heads, {}
    heads, merged = split_and_merge(np.arange(N * D_MODEL).reshape(N, D_MODEL), num_heads, direct)
    if stage == 2 and direct:  # all rows in one line, of which each head gets a piece
        for number in range(N * D_MODEL):
            line, column = divmod(number, 20)
            found[number] = 18 + CELL_WIDTH * column, TOP + 24 * line + 14 * (line // (4 // num_heads))
    elif stage == 3:
        for (head, row, column), number in np.ndenumerate(heads):
            left, top = corner(head, num_heads)
            found[int(number)] = left + CELL_WIDTH * column, top + CELL_HEIGHT * row
    else:
        for (row, column), number in np.ndenumerate(merged if stage == 4 else np.arange(80).reshape(N, D_MODEL)):
            gap = 8 * (column // e) if stage == 2 else 0
            found[int(number)] = CELLS + CELL_WIDTH * column + gap, TOP + CELL_HEIGHT * row
    return found


def misplaced(stage: int, num_heads: int, direct: bool) -> list[int]:
    """The numbers that are where another one belongs, once there are heads."""
    if stage < 3:
        return []
    where, right = places_of(stage, num_heads, direct), places_of(stage, num_heads, False)
    return [number for number in where if where[number] != right[number]]


def say_stage(stage: int, num_heads: int, direct: bool, wrong: int) -> str:
    """What has happened to the shape, in words."""
    e = D_MODEL // num_heads
    if stage == 1:
        return f"(n, d) = ({N}, {D_MODEL}). In each cell: the number of its word."
    if stage == 2 and direct:
        return f"All rows in one line. A view as ({num_heads}, {N}, {e}) gives each head the next {N * e} numbers."
    if stage == 2:
        return f"The last axis is cut in two: (n, h, e) = ({N}, {num_heads}, {e})."
    count = f"{wrong} of {N * D_MODEL} numbers are in the wrong place" if wrong else "each number is in its place"
    if stage == 3:
        done = "Viewed" if direct else "n and h are exchanged"
        return f"{done}: (h, n, e) = ({num_heads}, {N}, {e}), and {count}."
    return f"Exchanged back and joined: ({N}, {D_MODEL}), and {count}."


def draw_labels(canvas: Phone, words: Sequence[str], num_heads: int, stage: int, lit: int) -> None:
    """The words of the rows, to be clicked, and at stage 3 the names of the heads."""
    wide = CELL_WIDTH * (D_MODEL // num_heads if stage == 3 else D_MODEL)
    for block in range(num_heads if stage == 3 else 1):
        left, top = corner(block, num_heads) if stage == 3 else (CELLS, TOP)
        x = 0 if left == CELLS else left
        for row, word in enumerate(words):
            y, here = top + CELL_HEIGHT * row, row + 1 == lit
            if left == CELLS:
                canvas.text(CELLS - 6, y + 12.5, cut(word, 8), 11, "end", "here" if here else "ink", here)
            name = f"{word}, head {block + 1}" if stage == 3 else word
            canvas.touch(x, y, left + wide - x, CELL_HEIGHT, name, group="words", on=here, lit=0 if here else row + 1)
        if stage == 3:
            canvas.text(left + wide + 8, top + CELL_HEIGHT * N / 2 + 4, f"head {block + 1}", 12.5, "start", bold=True)


def draw_split(words: Sequence[str], num_heads: int, direct: bool, stage: int, lit: int) -> View:
    """16 columns become heads and are merged again, at a stage from 1 to 4; each cell holds the number of its word, red
    in the wrong place; the numbers of word `lit` (from 1; 0: none) are framed."""
    canvas, e = Phone(312), D_MODEL // num_heads
    where, wrong = places_of(stage, num_heads, direct), set(misplaced(stage, num_heads, direct))
    canvas.text(8, 20, f"{stage} · {STAGES[stage - 1]}", 14, "start", bold=True)
    canvas.hint(350, 20, "click a word", "end")
    said = say_stage(stage, num_heads, direct, len(wrong))
    canvas.prose(8, 40, said, 12.5, fill="wrong" if wrong else "ink")
    for number, (x, y) in where.items():
        row, column = divmod(number, D_MODEL)
        role, depth = ("wrong", 1) if number in wrong else ("data", DEPTHS[column // e])
        shown = {"fill_opacity": f"{depth:.2f}", "stroke": "ground", "data_id": f"cell {number}"}
        canvas.rect(x, y, CELL_WIDTH, CELL_HEIGHT, role, **shown)
        letters = letters_on(role, depth)
        canvas.text(x + CELL_WIDTH / 2, y + 12.5, row + 1, 11, fill=letters, data_id=f"text {number}")
    for number, (x, y) in where.items():
        if number // D_MODEL + 1 == lit:
            canvas.rect(x + 0.5, y + 0.5, CELL_WIDTH - 1, CELL_HEIGHT - 1, stroke="ink", stroke_width=1.8)
    if stage == 2 and direct:
        for head in range(num_heads):
            last = 24 * (4 // num_heads) * (head + 1) + 14 * head
            canvas.text(338, TOP + last + 5, f"to head {head + 1}", 11, "end")
    else:
        draw_labels(canvas, words, num_heads, stage, lit)
    ask = (
        "Where do the numbers of a word go? Then tick “view directly”."
        if not direct
        else "Which words does head 1 get now?"
    )
    if stage == 4 and direct:
        ask = "Merge by a direct view as well, and Q comes back: “there and back” proves nothing."
    canvas.prose(8, 284, ask, 12.5, fill="quiet")
    way = "viewed directly" if direct else "cut, then exchanged"
    of_lit = f" Framed: the numbers of {words[lit - 1]}." if lit else ""
    return canvas.view(f"{num_heads} heads, {way}. {stage} · {STAGES[stage - 1]}. {said}{of_lit} {ask}")


def head_split(words: Sequence[str]) -> Explorer:
    """Five words of 16 entries, split into heads and merged in four steps: the right way, or by a direct view."""
    require_list(words=words)
    if len(words) != N:
        raise ValueError(f"{len(words)} words: give {N}")
    controls = {
        "stage": slider("step", 1, 1, len(STAGES)),
        "num_heads": menu("heads", HEADS, 4, "170px"),
        "direct": checkbox("view directly", False, "170px"),
        "lit": menu("framed", [("no word", 0), *((word, row) for row, word in enumerate(words, 1))]),
    }
    return Explorer(
        lambda stage, num_heads, direct, lit: draw_split(words, num_heads, direct, stage, lit),
        controls,
        replaced=["lit"],
        pace=1500,
    )
