"""Four heads at work on one sentence, the split into heads, and a shelf to ask one head and two about."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ..attention import MultiHeadAttention, attention_weights, merge_heads, split_heads
from ..checks import require_list
from ..plots import as_numbers, largest
from .attention import numbered
from .canvas import Phone, View, cut
from .controls import Explorer, checkbox, menu, slider

DEPTHS = (0.15, 0.4, 0.65, 0.9)  # of four heads
HEADS = (1, 2, 4)  # the numbers of heads that the pictures show
D_MODEL, N = 16, 5  # entries of a word, and words

# Heads at work
LEFT, WIDE = 60, 290.0  # of a row of numbers
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


def draw_maps(canvas: Phone, work: Work, i: int, head: int, words: Sequence[str]) -> None:
    """The map of each head, the row of the word framed, and where it looks most."""
    part, size = WIDE / len(work.weights), 12.5
    wide = (part - 8) / len(words)
    for number, weights in enumerate(work.weights):
        left = LEFT + part * number + 3
        for (q, k), weight in np.ndenumerate(weights):
            canvas.rect(left + wide * k, 170 + size * q, wide - 1, size - 1, "weight", fill_opacity=f"{weight:.2f}")
        canvas.rect(left - 1.5, 168.5 + size * i, part - 5, size + 2, stroke="here", stroke_width=2)
        for rank, k in enumerate(largest(weights[i], 2)):
            y = 192 + size * len(words) + 17 * rank
            canvas.text(left, y, cut(words[k], 7), 11, "start")
            canvas.text(left + part - 8, y, f"{weights[i, k]:.0%}", 11, "end", bold=not rank)
        if number == head:
            canvas.rect(left - 3.5, 164, part - 1, size * len(words) + 52, stroke="ink", stroke_width=2, rx=3)
    for q, word in enumerate(words):
        here = q == i
        canvas.text(LEFT - 6, 180 + size * q, cut(word, 8), 11, "end", "here" if here else "quiet", here)


def draw_coming_maps(canvas: Phone, heads: int, words: Sequence[str]) -> None:
    """The maps that are yet to come, as outlines, with the words whose rows they have."""
    part, size = WIDE / heads, 12.5
    wide = (part - 8) / len(words)
    for number in range(heads):
        for q, k in np.ndindex(len(words), len(words)):
            place = LEFT + part * number + 3 + wide * k, 170 + size * q, wide - 1, size - 1
            canvas.rect(*place, stroke="edge", stroke_width=0.8)
    for q, word in enumerate(words):
        canvas.text(LEFT - 6, 180 + size * q, cut(word, 8), 11, "end", "quiet")


def guess_of(work: Work, i: int, words: Sequence[str]) -> str:
    """What is to be guessed before the maps are seen: who looks most at the word that is looked at most."""
    others = np.where(np.arange(len(words)) == i, 0, work.weights[:, i].max(0))
    return f"Guess before you go on: which head looks most at “{words[largest(others)[0]]}”?"


def describe_heads(work: Work, i: int, head: int, step: int, words: Sequence[str]) -> str:
    """What the picture shows at this step, in words."""
    d, heads = work.x.shape[1], len(work.weights)
    e = d // heads
    if step == 1:
        return (
            f"Head {head + 1} gets no slice of x: it reads all {d} numbers. Its own are {e} columns of W_q, and so "
            f"{e} of the {d} numbers of the query; W_k and W_v are shared out alike."
        )
    if step == 2:
        first = [(words[largest(weights[i])[0]], weights[i].max()) for weights in work.weights]
        listed = ", ".join(f"{word} {weight:.0%}" for word, weight in first)
        return f"{words[i]} gives most to, head by head: {listed}. Nobody told the heads what to ask."
    if step == 3:
        return f"Head {head + 1} mixes its {e} numbers of every word's value by these weights."
    return f"The {heads} results side by side are as wide as x. W_o is the first place where the heads meet."


def draw_heads(words: Sequence[str], work: Work, i: int, head: int, step: int) -> View:
    """Word number i in attention with several heads, as far as `step`, one of the four of WORK; one head is lit."""
    low, d, heads = 226 + 12.5 * len(words), work.x.shape[1], len(work.weights)
    canvas, own = Phone(low + 204), slice(d // heads * head, d // heads * (head + 1))
    canvas.text(6, 20, f"{step} · {WORK[step - 1]}", 14.5, "start", bold=True)
    canvas.text(LEFT - 6, 66, cut(words[i], 8), 12, "end", "here", bold=True)
    draw_own_query(canvas, work, i, head, words[i])
    for number in range(heads):
        middle = LEFT + WIDE / heads * (number + 0.5)
        canvas.text(middle, 158, f"head {number + 1}", 12, bold=number == head)
    if step > 1:
        draw_maps(canvas, work, i, head, words)
    else:
        draw_coming_maps(canvas, heads, words)
    canvas.text(LEFT - 6, low + 14, "z", 13, "end", "value", bold=True)
    canvas.text(LEFT - 6, low + 66, "output", 12, "end", bold=step > 3)
    if step > 2:
        draw_numbers(canvas, low + 2, work.found[i], "value", own if step == 3 else slice(None))
    else:
        draw_place(canvas, low, 20)
    if step > 3:
        canvas.rect(LEFT - 2, low + 26, WIDE + 3, 22, "raised", stroke="ink", rx=3)
        canvas.text(LEFT + WIDE / 2, low + 41, "W_o: every output hears all heads", 12, bold=True)
        draw_numbers(canvas, low + 54, work.output[i], "data")
    else:
        draw_place(canvas, low + 26, 46)
        canvas.text(LEFT + WIDE / 2, low + 53, "W_o", 12, fill="quiet")
    said = describe_heads(work, i, head, step, words)
    end = canvas.prose(6, low + 96, said)
    guess = guess_of(work, i, words) if step == 1 else ""
    canvas.prose(6, end + 3, guess, fill="quiet")
    return canvas.view(f"Word {words[i]}, head {head + 1}, step {step} of 4: {WORK[step - 1]}. {said} {guess}".rstrip())


def heads_at_work(words: Sequence[str], x: Tensor, attention: MultiHeadAttention, first: str) -> Explorer:
    """Follow a word through attention with two to four heads: what each head reads, where it looks, what it finds, and
    where the heads meet; x (n, d): what the layer reads, for up to eight words. Others: ValueError."""
    require_list(words=words)
    if not 2 <= attention.num_heads <= 4 or len(words) > 8 or len(words) != len(x):
        raise ValueError(f"{len(words)} words, {len(x)} rows and {attention.num_heads} heads: give up to 8 and 2 to 4")
    work = work_of_heads(x, attention)
    controls = {
        "chosen": menu("word", numbered(words), list(words).index(first)),
        "head": slider("head", 1, 1, attention.num_heads),
        "step": slider("step", 1, 1, len(WORK)),
    }
    return Explorer(lambda chosen, head, step: draw_heads(words, work, chosen, head - 1, step), controls)


# The split
def split_and_merge(numbers: np.ndarray, num_heads: int, direct: bool) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (n, d) as heads (h, n, e), cut and exchanged, or read directly; and these merged again, (n, d)."""
    n, d = numbers.shape
    if direct:
        heads = numbers.reshape(num_heads, n, d // num_heads)
    else:
        heads = numbers.reshape(n, num_heads, d // num_heads).swapaxes(0, 1)
    return heads, heads.swapaxes(0, 1).reshape(n, d)


CELL_WIDTH, CELL_HEIGHT, CELLS = 16, 13, 62  # of a number; where a row begins


def draw_split_row(canvas: Phone, y: float, row: np.ndarray, right: np.ndarray, gap: int, e: int) -> None:
    """One row of numbers, `right` the true ones, with a gap of so many pixels after every e of them."""
    for column, (number, owner) in enumerate(zip(row // D_MODEL, row % D_MODEL // e)):
        x = CELLS + CELL_WIDTH * column + gap * (column // e)
        misplaced = row[column] != right[column]
        role, depth = ("wrong", 1) if misplaced else ("data", DEPTHS[owner])
        letters = canvas.shade(x, y, CELL_WIDTH, CELL_HEIGHT, role, depth, "ground")
        canvas.text(x + CELL_WIDTH / 2, y + 10.5, number + 1, 11, fill=letters, bold=misplaced)


def draw_stage(
    canvas: Phone, y: float, words: Sequence[str], tables: np.ndarray, right: np.ndarray, e: int,
    title: str, comment: str, gap: int = 0,
) -> float:  # fmt: skip
    """A title, and below one another tables (m, n, d) of numbers, `right` (m, n, d) the true ones, with a gap of so
    many pixels after every e of them, the entries of a head; several are those of heads, and say so. Returns where the
    next stage begins."""
    canvas.text(6, y, title, 13, "start", bold=True)
    canvas.text(6, y + 17, comment, 12, "start", "wrong" if "misplaced" in comment else "ink")
    y += 26
    for head, (table, true) in enumerate(zip(tables, right)):
        for number, word in enumerate(words):
            canvas.text(CELLS - 6, y + 10.5, cut(word, 8), 11, "end")
            draw_split_row(canvas, y, table[number], true[number], gap, e)
            y += CELL_HEIGHT
        if len(tables) > 1:
            middle = y - CELL_HEIGHT * len(words) / 2 + 4.5
            canvas.text(CELLS + CELL_WIDTH * e + 10, middle, f"head {head + 1}", 12, "start", bold=True)
        y += 6
    return y + 17


def draw_strip(canvas: Phone, y: float, num_heads: int) -> None:
    """All numbers of Q in the order in which they lie in memory, and to which head a direct view gives them."""
    width, e, left = 340 / (N * D_MODEL), D_MODEL // num_heads, 8
    canvas.text(6, y, f"Q = X W_q: (n, d) = ({N}, {D_MODEL}), not cut", 13, "start", bold=True)
    canvas.text(6, y + 17, f"viewed as ({num_heads}, {N}, {e}): all rows in a line, dealt out", 12, "start")
    for place in range(N * num_heads):
        x, depth = left + width * e * place, DEPTHS[place % num_heads]
        letters = canvas.shade(x, y + 34, width * e, CELL_HEIGHT, "data", depth, "ground")
        canvas.text(x + width * e / 2, y + 44.5, place // num_heads + 1, 11, fill=letters)
    for head in range(num_heads):
        begin, end = left + 340 * head / num_heads, left + 340 * (head + 1) / num_heads
        canvas.line(begin + 3, y + 56, end - 3, y + 56, "data", 3)
        canvas.text((begin + end) / 2, y + 73, f"to head {head + 1}", 12)


def draw_split(words: Sequence[str], num_heads: int, direct: bool) -> View:
    """16 columns become heads and are merged again; each cell holds the number of its word, red in a wrong place."""
    canvas, e = Phone(0), D_MODEL // num_heads
    Q = np.arange(N * D_MODEL).reshape(N, D_MODEL)
    right, _ = split_and_merge(Q, num_heads, False)
    heads, merged = split_and_merge(Q, num_heads, direct)
    wrong, lost = int((heads != right).sum()), int((merged != Q).sum())
    if direct:
        draw_strip(canvas, 18, num_heads)
    else:
        title = f"Q = X W_q: (n, d) = ({N}, {D_MODEL})"
        comment = f"cut into (n, h, e) = ({N}, {num_heads}, {e}); in a cell: its word"
        draw_stage(canvas, 18, words, Q[None], Q[None], e, title, comment, 9)
    title = f"heads (h, n, e) = ({num_heads}, {N}, {e})"
    comment = f"{wrong} of {Q.size} numbers are misplaced" if wrong else "each row of a head belongs to one word"
    y = draw_stage(canvas, 134, words, heads, right, e, title, comment)
    comment = f"{lost} of {Q.size} numbers are misplaced" if lost else "Q again"
    title = f"merged (n, d) = ({N}, {D_MODEL})"
    y = draw_stage(canvas, y, words, merged[None], Q[None], e, title, comment)
    ask = "And with another number of heads?" if direct else "Guess, then view directly: how many are misplaced?"
    canvas.text(6, y, ask, 12.5, "start", "quiet")
    canvas.height = round(y + 10)
    way = "viewed directly" if direct else "cut, then exchanged"
    rows = "; ".join(f"{word} {' '.join(str(k // D_MODEL + 1) for k in row)}" for word, row in zip(words, heads[-1]))
    return canvas.view(
        f"Q ({N}, {D_MODEL}) {way}: {num_heads} heads of ({N}, {e}), {wrong} of {Q.size} numbers in a wrong place. "
        f"Numbers of the words in head {num_heads}: {rows}. Merged again: {lost} in a wrong place. {ask}"
    )


def head_split(words: Sequence[str]) -> Explorer:
    """Five words of 16 entries, split into heads and merged: the right way, or viewed directly as heads."""
    require_list(words=words)
    controls = {"num_heads": menu("heads", HEADS, 4), "direct": checkbox("view directly", False)}
    return Explorer(lambda num_heads, direct: draw_split(words, num_heads, direct), controls)


# The shelf
LETTERS = "ABCDEFGH"  # the symbols
Reader = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # symbols, places → logits (b, 2, 8), weights (b, h, 8)
PLACE_X = [104 + 33 * place for place in range(8)]  # middles of the places of the shelf


@torch.no_grad()
def read_shelf(model: Reader, symbols: Sequence[int], places: Sequence[int]) -> tuple[str, np.ndarray]:
    """A model's two answers as letters, and the weights (h, 8) of its heads, for one shelf (8,) and two places (2,)."""
    logits, weights = model(torch.tensor([symbols]), torch.tensor([places]))
    return "".join(LETTERS[largest(row)[0]] for row in logits[0].tolist()), as_numbers(weights[0], 2)


def draw_weights_of_head(canvas: Phone, y: float, name: str, row: np.ndarray) -> None:
    """The weights (8,) of one head as bars that stand at height y."""
    canvas.text(82, y - 6, name, 12, "end", bold=True)
    canvas.line(87, y, 352, y)
    for x, weight in zip(PLACE_X, row.tolist()):
        canvas.rect(x - 12, y - 40 * weight, 24, 40 * weight, "weight")
        canvas.text(x, y + 14, f"{weight:.0%}", 11, fill="ink" if weight >= 0.2 else "quiet", bold=weight >= 0.2)


def draw_shelf(symbols: Sequence[int], places: tuple[int, int], read: Mapping[int, tuple[str, np.ndarray]]) -> View:
    """A shelf (8,), the two places that are asked for, and what one head and two make of it: {heads: (answers,
    weights (heads, 8))}."""
    canvas, wanted = Phone(408), "".join(LETTERS[symbols[place]] for place in places)
    first, second = (place + 1 for place in places)
    question = f"What lies at place {first} and at place {second}? Right: {wanted[0]}, {wanted[1]}."
    if first == second:
        question += " (In training, the two were never the same.)"
    canvas.prose(6, 18, question, 13, bold=True)
    for place, (x, symbol) in enumerate(zip(PLACE_X, symbols)):
        edge = {"stroke": "here", "stroke_width": 3} if place in places else {"stroke": "quiet"}
        canvas.rect(x - 14, 68, 28, 30, "raised", **edge)
        canvas.text(x, 89, LETTERS[symbol], 17, bold=place in places)
        canvas.text(x, 114, place + 1, 12, fill="quiet")
    canvas.text(82, 114, "place", 12, "end", "quiet")
    said = []
    for top, (num_heads, (answers, weights)) in zip((148, 250), sorted(read.items())):
        names = ["one head"] if num_heads == 1 else [f"head {head + 1} of {num_heads}" for head in range(num_heads)]
        right, role = ("✔", "right") if answers == wanted else ("✘", "wrong")
        has = "one head" if num_heads == 1 else f"{num_heads} heads"
        answered = f"{right} {has}: answers {answers[0]}, {answers[1]}"
        canvas.text(6, top, answered, 13.5, "start", role, bold=True)
        for number, (name, row) in enumerate(zip(names, weights)):
            draw_weights_of_head(canvas, top + 56 + 70 * number, name, row)
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
