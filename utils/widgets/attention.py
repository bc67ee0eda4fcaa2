"""Who attends to whom, weight beside share, einsum as loops, shapes."""

import itertools
import math
import re
import textwrap
from collections.abc import Callable, Container, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ..checks import require_list
from ..plots import as_numbers, largest
from ..vectors import WordVectors
from .board import Board
from .canvas import MONOSPACE, Phone, View, cut, draw_attending, verdict
from .controls import Explorer, Options, checkbox, menu, slider, text


def numbered(words: Sequence[str]) -> list[tuple[str, int]]:
    """Words as options of a menu whose values are their positions, since a word may occur twice."""
    return [(word, number) for number, word in enumerate(words)]


# One word of a sentence, and those that it attends to
MOST_WORDS, NEAREST = 9, 3  # of a typed sentence; words whose vectors lie nearest to one


def words_of_a_sentence(typed: str, known: Container[str]) -> tuple[list[str], str]:
    """The first words of a typed text that have a vector, and a note on the others."""
    asked = re.findall(r"[^\W_]+", typed[:2000].lower())
    unknown = list(dict.fromkeys(word for word in asked if word not in known))
    words = [word for word in asked if word in known]
    notes = [f"Without a vector: {', '.join(cut(word, 14) for word in unknown[:4])}."] if unknown else []
    notes += [f"The first {MOST_WORDS} words are shown."] if len(words) > MOST_WORDS else []
    return words[:MOST_WORDS], " ".join(notes)


def draw_choice(canvas: Phone, y: float, itself: bool) -> None:
    """Whether the word may look at itself, to be clicked."""
    for x, wide, name, value in ((8, 108, "with itself", True), (122, 126, "without itself", False)):
        edge = {"stroke": "here", "stroke_width": 2} if value == itself else {"stroke": "edge"}
        canvas.rect(x, y, wide, 24, "raised" if value == itself else "none", rx=4, **edge)
        canvas.text(x + wide / 2, y + 16.5, name, 12.5, bold=value == itself)
        canvas.touch(x, y, wide, 24, name, on=value == itself, itself=value)


def draw_links(
    words: Sequence[str], weights: ArrayLike, chosen: int, itself: bool, near: Mapping[str, Sequence[str]], note: str
) -> View:
    """Words and, from word number `chosen`, an arc to each word, as thick as its weight; weights (n,). Below them which
    words are nearest to each of some vectors, {name of the vector: words}."""
    weights, canvas, word = as_numbers(weights, 1), Phone(172 + 24 * len(words)), words[chosen]
    canvas.text(8, 18, f"“{cut(word, 14)}” asks", 14, "start", "here", True)
    canvas.hint(350, 18, "click a word", "end")
    draw_choice(canvas, 27, itself)
    draw_attending(canvas, 58, words, weights, chosen, 24)
    y = 82 + 24 * len(words)
    canvas.text(8, y, "words with the nearest vectors", 12, "start", bold=True)
    for number, (name, found) in enumerate(near.items(), 1):
        role = "value" if name == "mixture" else "ink"
        canvas.text(96, y + 19 * number, name, 12, "end", role)
        canvas.text(104, y + 19 * number, ", ".join(cut(one, 13) for one in found), 12, "start", role)
    done = itself and weights[chosen] < 0.5
    task = f"{'✔' if done else '○'} Find a word that gives more to others than to itself."
    if not itself:
        task = "Does the mixture still know which word asks?"
    canvas.text(8, y + 80, task, 12, "start", "right" if done else "quiet")
    most = ", ".join(f"{words[k]} {weights[k]:.0%}" for k in largest(weights, 3))
    said = "; ".join(f"to {name}: {', '.join(found)}" for name, found in near.items())
    end = canvas.prose(8, y + 100, note, 12, fill="wrong")
    canvas.height = round(max(canvas.height, end - 10))
    how = "with itself" if itself else "without itself"
    return canvas.view(f"“{word}” asks, {how}: most to {most}. Nearest {said}. {task} {note}".rstrip())


def sentence_attention(
    vectors: WordVectors, attend: Callable[[Tensor, int, bool], Tensor], sentence: str, first: str
) -> Explorer:
    """Type a sentence and click a word: how much it gives to each word, and which words are nearest to its vector, to
    the mixture that it gets, and to their sum.

    attend: called with the vectors (n, d) of the words, the number of one of them, and whether it may look at itself;
    returns its weights (n,). `first` is the word of the sentence that is shown at first."""

    def draw(sentence, chosen, itself):
        words, note = words_of_a_sentence(sentence, vectors)
        if len(words) < 2:
            return verdict("Type two words or more", False, [note or "Words without a vector cannot take part."], 300)
        chosen = min(chosen, len(words) - 1)
        rows = torch.tensor(np.stack([vectors[word] for word in words]))  # (n, d)
        weights = attend(rows, chosen, itself).detach()  # (n,)
        x, mixture = rows[chosen], weights.to(rows) @ rows  # (d,) each
        near = {
            name: [word for word, _ in vectors.nearest(vector.numpy(), NEAREST)]
            for name, vector in {"x": x, "mixture": mixture, "x + mixture": x + mixture}.items()
        }
        return draw_links(words, weights, chosen, itself, near, note)

    def words_of(typed, _state):
        words = words_of_a_sentence(typed, vectors)[0] or ["no word"]
        return {"chosen": Options(numbered(words), words.index(first) if first in words else 0)}

    tries = ("the old bank by the river", "she played bass in a jazz band", "a computer mouse ate the qqzzxx", "fish")
    typed = text("words", sentence, tries)
    word = menu("word", *words_of(sentence, {})["chosen"])
    controls = {"sentence": typed, "chosen": word, "itself": checkbox("it may look at itself", True)}
    return Explorer(draw, controls, follows={"sentence": words_of}, replaced=["chosen", "itself"])


# One word's weights, and what each word gives to its output
def shares(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How much of the output each key makes, measured along the output: weights (k,), values (k, v), shares (k,)."""
    output = weights @ values  # (v,)
    return weights * (values @ output) / (output @ output)


def in_per_cent(share: float) -> str:
    """A share that may be negative; what rounds to 0 has no sign."""
    return f"{round(share, 2) + 0.0:.0%}"


SHARES, SHARES_END = 200, 310  # where the shares begin and end, except for the last one's number


def draw_adding_up(canvas: Phone, top: float, share: np.ndarray, pitch: float) -> None:
    """Shares (k,) that add up to 1 as bars below one another: each begins where the one before ended, and what takes
    away runs to the left."""
    ends = np.cumsum([0.0, *share])
    scale = (SHARES_END - SHARES) / (max(ends.max(), 1.0) - ends.min())
    at = (SHARES - scale * (ends.min() - ends)).tolist()
    nothing, whole, foot = at[0], at[0] + scale, top + pitch * len(share)
    for x, name in ((nothing, "0%"), (whole, "100%")):
        canvas.line(x, top - 2, x, foot, "quiet", 1)
        if name == "100%" or scale > 40:  # else there is room for one of them
            canvas.text(x, foot + 13, name, 11.5, fill="value", bold=name == "100%")
    halo = {"stroke": "ground", "stroke_width": 7, "paint_order": "stroke"}
    for number, (part, begin, end) in enumerate(zip(share.tolist(), at, at[1:])):
        y, left, right = top + pitch * number, min(begin, end), max(begin, end)
        if number + 1 < len(share):
            canvas.line(end, y + 18, end, y + pitch + 4, "quiet", 1, stroke_dasharray="2 2")
        canvas.rect(
            left, y + 4, max(right - left, 1), 14, "negative" if part < -0.005 else "value", data_id=f"share {number}"
        )
        canvas.text(right + 5, y + 16, in_per_cent(part), 12, "start", bold=part < -0.005, **halo)


def draw_weight_and_share(words: Sequence[str], weights: ArrayLike, values: ArrayLike, chosen: int) -> View:
    """For each word its weight as a bar, and its share of the output of word number `chosen`; the shares add up to
    100 %, and a word that takes away runs back. weights (n, n), values (n, v)."""
    row, canvas = as_numbers(weights, 2)[chosen], Phone(96 + 30 * len(words))
    share = shares(row, as_numbers(values, 2))
    canvas.text(8, 20, f"{words[chosen]} asks", 14, "start", bold=True)
    canvas.hint(348, 20, "click a word", "end")
    canvas.text(100, 44, "weight", 12, "start", "weight", True)
    canvas.text(SHARES, 44, "share of the output", 12, "start", "value", True)
    for number, (word, weight) in enumerate(zip(words, row.tolist())):
        y, wide = 54 + 30 * number, 50 * weight / row.max()
        canvas.text(8, y + 15, cut(word, 11), 13, "start")
        canvas.rect(100, y + 4, wide, 14, "weight", data_id=f"weight {number}")
        canvas.text(104 + wide, y + 16, f"{weight:.0%}", 12, "start")
    draw_adding_up(canvas, 54, share, 30)
    for number, word in enumerate(words):
        canvas.touch(0, 51 + 30 * number, 190, 30, f"{number + 1}, {word}", on=number == chosen, chosen=number)
    said = ", ".join(
        f"{word} {w:.0%} and {in_per_cent(part)}" for word, w, part in zip(words, row.tolist(), share.tolist())
    )
    takes = share.min() < -0.005
    ask = "Which word gets weight, and takes away?" if takes else "No word takes away here. Where does one?"
    canvas.prose(8, 86 + 30 * len(words), ask, fill="quiet")
    return canvas.view(f"{words[chosen]} asks. Weight and share of the output: {said}. {ask}")


def weight_and_share(words: Sequence[str], weights: ArrayLike, values: ArrayLike, first: str) -> Explorer:
    """Pick a word and compare what it gives to each word with what comes of that; weights (n, n), values (n, v)."""
    require_list(words=words)
    word = menu("word", numbered(words), words.index(first))
    return Explorer(
        lambda chosen: draw_weight_and_share(words, weights, values, chosen), {"chosen": word}, replaced=["chosen"]
    )


# Einsum
LONGEST_EINSUM = 40  # signs, of those that the widget reads
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def read_einsum(equation: str, shapes: Sequence[tuple]) -> tuple[list[str], str, dict[str, int]]:
    """(axes of each tensor, axes of the result, size of each letter) of an einsum string for tensors of these shapes;
    three dots are letters, too, that the string does not name.

    Raises ValueError with the reason where the string cannot be read. (PyTorch also takes capitals and a string without
    an arrow.)"""
    if len(equation) > LONGEST_EINSUM:
        raise ValueError(f"it is longer than {LONGEST_EINSUM} characters")
    left, arrow, result = (part.replace(" ", "") for part in equation.partition("->"))
    tensors = left.split(",")
    if not arrow:
        raise ValueError("write -> and after it the axes of the result (nothing after it: a single number)")
    if max(group.count("...") for group in (*tensors, result)) > 1:
        raise ValueError("three dots occur twice in one group of letters")
    if strange := sorted(set("".join([*tensors, result]).replace("...", "")) - set(LETTERS)):
        raise ValueError(f"axes are named by small letters or three dots, not by {' '.join(strange)}")
    if len(tensors) != len(shapes):
        raise ValueError(f"there are {len(shapes)} tensors, but {len(tensors)} group(s) of letters left of the arrow")
    *tensors, result = dots_as_letters(tensors, result, shapes)
    sizes = sizes_of_letters(tensors, shapes)
    if unknown := sorted(set(result) - set(sizes)):
        raise ValueError(f"{' '.join(unknown)} in the result comes from no tensor on the left")
    if len(set(result)) < len(result):
        raise ValueError("a letter occurs twice in the result")
    return tensors, result, sizes


def dots_as_letters(tensors: Sequence[str], result: str, shapes: Sequence[tuple]) -> list[str]:
    """The axes of each tensor and of the result, with letters that are still free in place of three dots. Where two
    tensors have dots, their last axes under them have the same letter."""
    free = [letter for letter in LETTERS if letter not in result + "".join(tensors)]
    under = [max(0, len(shape) - len(group) + 3) * ("..." in group) for group, shape in zip(tensors, shapes)]
    letters = free[: max(under)]
    spelled = [group.replace("...", "".join(letters[len(letters) - n :])) for group, n in zip(tensors, under)]
    return [*spelled, result.replace("...", "".join(letters))]


def sizes_of_letters(tensors: Sequence[str], shapes: Sequence[tuple]) -> dict[str, int]:
    """The size of each letter, of tensors whose axes have letters. ValueError where they do not fit the shapes."""
    sizes = {}
    for letters, shape in zip(tensors, shapes):
        if len(letters) != len(shape):
            raise ValueError(f"'{letters}' names {len(letters)} axes, but its tensor {shape} has {len(shape)}")
        for letter, size in zip(letters, shape):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"the letter {letter} stands for an axis of {sizes[letter]} and for one of {size}")
    return sizes


EINSUM_TENSORS = {  # with a string to begin with; every axis has a length of its own, so that no mix-up goes unseen
    "B (5, 4) and C (4, 3)": ("B", (5, 4), "C", (4, 3), "nd,dm->nm"),
    "B (2, 5, 4) and C (2, 4, 3)": ("B", (2, 5, 4), "C", (2, 4, 3), "bnd,bdm->bnm"),
    "B (5, 4) and D (5, 4)": ("B", (5, 4), "D", (5, 4), "nd,nd->n"),
    "u (3,) and w (5,)": ("u", (3,), "w", (5,), "i,j->ij"),
}


def einsum_code(equation: str, names: Sequence[str], shapes: Sequence[tuple]) -> list[tuple[int, str]]:
    """The loops that an einsum string stands for, as lines of code (depth, text), and what comes out of them."""
    operands, result, sizes = read_einsum(equation, shapes)
    summed = [letter for letter in sizes if letter not in result]
    unnamed = [letter for letter in sizes if letter not in equation]
    dots = f"three dots stand for {', '.join(unnamed)}" if unnamed else "three dots stand for no axis"
    lines = [(0, dots)] * ("..." in equation) + [(0, "result = 0, of the shape below")]
    lines += enumerate(f"for {letter} in range({sizes[letter]}):" for letter in [*result, *summed])
    place = f"result[{', '.join(result)}]" if result else "result"
    factors = [f"{name}[{', '.join(axes)}]" for name, axes in zip(names, operands)]
    shape = tuple(sizes[letter] for letter in result)
    return lines + [
        (len(sizes), f"{place} {'+=' if summed else '='} {' * '.join(factors)}"),
        (0, ""),
        (0, f"result: shape {shape}" if result else "result: a single number"),
        (0, f"summed over: {', '.join(summed) or 'nothing'}"),
        (0, f"multiplications: {math.prod(sizes.values()):,}"),
    ]


AXIS = 36  # width of the box of an axis


def toggled(operands: Sequence[str], result: str, letter: str) -> str:
    """The string in which a letter that was summed remains, or the other way round; what remains is in the order of the
    tensors."""
    remains = set(result) ^ {letter}
    return f"{','.join(operands)}->{''.join(one for one in dict.fromkeys(''.join(operands)) if one in remains)}"


def draw_axes(
    canvas: Phone, names: Sequence[str], operands: Sequence[str], result: str, sizes: dict[str, int], top: float
) -> float:
    """The axes of two tensors as boxes, and below them those of the result: a letter that the result has goes down to
    it, any other to a Σ, where it is added up. A click on a letter of a tensor changes that. Returns how far down that
    reaches."""
    boxes = [
        (letter, x + 22 + (AXIS + 4) * k, top) for x, axes in zip((10, 186), operands) for k, letter in enumerate(axes)
    ]
    start = 180 - (AXIS + 4) * len(result) / 2
    ends = {letter: (start + (AXIS + 4) * k + AXIS / 2, top + 84) for k, letter in enumerate(result)}
    for letter in sizes.keys() - ends.keys():
        own = [x + AXIS / 2 for one, x, _ in boxes if one == letter]
        ends[letter] = sum(own) / len(own), top + 54
    for letter, x, y in boxes:
        colour = "quiet" if letter in result else "here"
        canvas.line(x + AXIS / 2, y + 22, *ends[letter], colour, 1.5)
    for letter, x, y in [*boxes, *((letter, ends[letter][0] - AXIS / 2, top + 84) for letter in result)]:
        colour = "quiet" if letter in result else "here"
        canvas.rect(x, y, AXIS, 22, "ground", stroke=colour, rx=3)
        canvas.text(x + AXIS / 2, y + 15.5, f"{letter} {sizes[letter]}", 12, fill="ink" if letter in result else "here")
    for letter in sizes.keys() - set(result):
        canvas.add("circle", cx=ends[letter][0], cy=top + 54, r=9, fill="ground", stroke="here")
        canvas.text(ends[letter][0], top + 58.5, "Σ", 12, fill="here", bold=True)
    for name, x in zip(names, (10, 186)):
        canvas.text(x + 9, top + 16, name, 13, bold=True)
    canvas.text(start - 8, top + 99.5, "result" if result else "result: one number", 12, "end" if result else "middle")
    canvas.hint(352, top + 99.5, "click a letter", "end")
    for letter, x, y in boxes:
        name = f"{'sum over' if letter in result else 'keep'} {letter} of {names[x >= 186]}"
        canvas.touch(
            x, y, AXIS, 22, name, group="axes", on=letter in result, equation=toggled(operands, result, letter)
        )
    return top + 128


def draw_code(title: str, lines: Sequence[tuple[int, str]], right: bool, task: str = "", axes: tuple = ()) -> View:
    """A title and lines of text (depth, text) in a fixed-width font; `right`: green bar, else red. `axes`: what
    `draw_axes` is to draw above them, if anything."""
    canvas, role = Phone(0), "right" if right else "wrong"
    y = canvas.prose(14, 22, title, 13, fill=role, bold=True) + 4
    y = draw_axes(canvas, *axes, y) if axes else y
    for depth, line in lines:
        for part in textwrap.wrap(line, int((338 - 12 * depth) / 6.65)) or [""]:
            fill = "here" if part[:3] == "for" and axes and part[4] not in axes[2] else "ink"  # what is added up
            canvas.text(14 + 12 * depth, y, part, 11, "start", fill, font_family=MONOSPACE)
            y += 17
    y = canvas.prose(14, y + 4, task, 12, fill="right" if task.startswith("✔") else "quiet")
    canvas.height = round(max(y, 292))
    canvas.rect(1, 1, 6, canvas.height - 2, role)
    return canvas.view(f"{title}. {' '.join(line for _, line in lines)} {task}".rstrip())


def einsum_loops() -> Explorer:
    """Edit an einsum string for two tensors, or click its letters, and read the loops that it stands for, or why it
    makes no sense."""

    def draw(tensors, equation):
        first, first_shape, second, second_shape, _ = EINSUM_TENSORS[tensors]
        title = f'einsum("{cut(equation, LONGEST_EINSUM)}", {first}, {second})'
        try:
            names, shapes = (first, second), (first_shape, second_shape)
            lines, axes = einsum_code(equation, names, shapes), (names, *read_einsum(equation, shapes))
            sign = "○" if equation.partition("->")[2].strip() else "✔"
            task = f"{sign} Change the string so that a single number comes out."
            return draw_code(title, lines, True, task, axes)
        except ValueError as problem:
            lines = [(0, line) for line in [str(problem)]]
            return draw_code(f"{title} cannot be read", lines, False)

    strings = [string for *_, string in EINSUM_TENSORS.values()]
    tries = [*strings, "bnd,bdm->nm", "bnd,bdm->mnb", "bnd , bdm -> b", "bnd,bdm->", "bnd,bmd->bnm", "bnd,bdm->bnz"]
    tries += ["nd,dm->nn", "nd,dm", "nd->n", "ND,dm->nm", "...d,dm->m", "...nd,...dm->...nm", "...nd,dm->...nm"]
    tries += ["...n...,dm->m", "..nd,dm->nm", "i,i->", "bnd,bdm->bnm," * 9]
    for string in strings:  # and what clicks lead to
        operands = string.partition("->")[0].split(",")
        letters = [*dict.fromkeys("".join(operands))]
        kept = ("".join(some) for count in range(len(letters) + 1) for some in itertools.combinations(letters, count))
        tries += [f"{','.join(operands)}->{some}" for some in kept]
    tensors, equation = menu("tensors", list(EINSUM_TENSORS)), text("einsum", strings[0], tries, "340px")
    follows = {"tensors": lambda tensors, state: {"equation": EINSUM_TENSORS[tensors][-1]}}
    return Explorer(draw, {"tensors": tensors, "equation": equation}, follows=follows)


# Shapes
def draw_shapes(n_queries: int, n_keys: int, d_head: int, d_value: int) -> View:
    """The matrices of attention drawn to scale, each with its shape, where their rows and columns meet; the first row
    and column of each product are framed, and what they make. On the way to the weights is what the scores go
    through."""
    side = min(14, 238 // (d_head + n_keys + d_value), 100 // max(d_head, n_keys), 72 // n_queries)
    columns = {"Q": (d_head, side), "S": (n_keys, side), "Z": (d_value, side)}
    board = Board([""] * n_queries, columns, 70 + side * max(d_head, n_keys), row=side, above=side, apart=70)
    canvas, shapes = Phone(70 + 100 + 72 + 86), {"Q": (n_queries, d_head), "K": (d_head, n_keys)}
    shapes |= {"S": (n_queries, n_keys), "V": (n_keys, d_value), "Z": (n_queries, d_value)}
    names = {"Q": ("Q", "(q, e)"), "K": ("Kᵀ", "(e, k)"), "S": ("weights", "(q, k)")}
    names |= {"V": ("V", "(k, v)"), "Z": ("output", "(q, v)")}
    roles, cells = {"Q": "query", "K": "key", "S": "weight", "V": "value", "Z": "value"}, {}
    for part, (rows, width) in shapes.items():
        cells[part] = [[board.place(part, row, column, rows) for column in range(width)] for row in range(rows)]
    for left, above, to in (("Q", "K", "S"), ("S", "V", "Z")):
        board.beams(canvas, cells[left][0][-1], cells[above][-1][0], cells[to][0][0], (roles[left], roles[above]))
    for part, (rows, width) in shapes.items():
        board.table(canvas, part, [[""] * width] * rows, roles[part], np.full((rows, width), 0.45))
        (_, y, _, tall), x = cells[part][0 if part in "KV" else -1][0], min(max(board.middle(part), 28), 328)
        y = y - 38 if part in "KV" else y + tall + 16
        for line, said in enumerate((*names[part], f"({rows}, {width})")):
            canvas.text(x, y + 15 * line, said, 12, fill="quiet" if line else roles[part], bold=line == 0)
    for part in "QS":
        board.frame(canvas, cells[part][0][0], cells[part][0][-1], roles[part])
    for part in "KV":
        board.frame(canvas, cells[part][0][0], cells[part][-1][0], roles[part])
    for part in "SZ":  # last: what the framed ones make lies on top
        board.frame(canvas, cells[part][0][0], cells[part][0][0], "here")
    end, begin = board.lefts["Q"] + side * d_head, board.lefts["S"]
    for line, said in enumerate(("÷ √d_k,", "softmax", "each row")):
        canvas.text((end + begin) / 2 - 1, board.top - 30 + 12 * line, said, 11, fill="quiet")
    sign, fill = ("✔", "right") if n_queries == n_keys and d_head == d_value else ("○", "quiet")
    task = f"{sign} Make the output as large as Q, the weights square."
    canvas.text(8, board.top + side * n_queries + 76, task, 12, "start", fill)
    return canvas.view(
        f"Q ({n_queries}, {d_head}) times K transposed ({d_head}, {n_keys}), scaled and through softmax, gives weights "
        f"({n_queries}, {n_keys}); times V ({n_keys}, {d_value}) gives the output ({n_queries}, {d_value}). {task}"
    )


def attention_shapes() -> Explorer:
    """The matrices of attention, drawn for any number of queries, keys and entries."""
    controls = {
        "n_queries": slider("queries q", 3, 1, 10),
        "n_keys": slider("keys k", 5, 1, 10),
        "d_head": slider("entries e", 8, 1, 12),
        "d_value": slider("entries v", 4, 1, 12),
    }
    return Explorer(draw_shapes, controls)
