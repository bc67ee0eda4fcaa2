"""A shelf of symbols: be the head that looks at two places, ask trained heads, and cut a line in two."""

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ..plots import as_numbers, largest
from .canvas import Phone, View
from .controls import Explorer, menu, slider

LETTERS = "ABCDEFGH"  # the symbols
PLACES = len(LETTERS)  # as many places as symbols
PITCH = 33
FIRST_X = 104.0  # the middle of the first place
PLACE_X = [FIRST_X + PITCH * place for place in range(PLACES)]
HEADS = {1: "one head", 2: "two heads"}


def draw_places(canvas: Phone, y: float, symbols: str, asked: Sequence[int]) -> None:
    """A shelf at the height y: a box with its symbol for each place, those asked for framed, and their numbers."""
    for place, (x, symbol) in enumerate(zip(PLACE_X, symbols)):
        edge = {"stroke": "here", "stroke_width": 3} if place in asked else {"stroke": "quiet"}
        canvas.rect(x - 14, y, 28, 30, "raised", **edge)
        canvas.text(x, y + 21, symbol, 17, bold=place in asked)
        canvas.text(x, y + 46, place + 1, 12, fill="quiet")
    canvas.text(82, y + 46, "place", 12, "end", "quiet")


def draw_choice(canvas: Phone, y: float, heads: int) -> None:
    """Two buttons: one head, or two."""
    for number, name in HEADS.items():
        x, here = 8 + 110 * (number - 1), number == heads
        canvas.rect(x, y, 102, 26, "raised", stroke="here" if here else "edge", stroke_width=2.5 if here else 1, rx=5)
        canvas.text(x + 51, y + 17.5, name, 13, fill="here" if here else "ink", bold=here)
        canvas.touch(x, y, 102, 26, name, group="heads", on=here, heads=number)


def draw_split(canvas: Phone, y: float, control: str, percent: int, names: Sequence[str]) -> None:
    """A bar of 100 %, in two parts with their names; the border between them is dragged and sets the control."""
    x = 14 + 3.28 * percent
    canvas.rect(14, y, 3.28 * percent, 20, "weight", fill_opacity="0.75", data_id="part 1")
    canvas.rect(x, y, 342 - x, 20, "weight", fill_opacity="0.25", data_id="part 2")
    canvas.text(14, y - 6, f"{names[0]}: {percent}%", 12, "start")
    canvas.text(342, y - 6, f"{names[1]}: {100 - percent}%", 12, "end")
    canvas.handle(x, y + 10, "border between the two parts", f"{percent}%", x=(control, 14, 3.28))


# Be the head
def mixture(symbols: str, looks: Sequence[tuple[int, int]]) -> dict[str, int]:
    """{symbol: per cent} of what is found by so many per cent on each place: [(place, per cent), …]."""
    found = dict.fromkeys(LETTERS, 0)
    for place, percent in looks:
        found[symbols[place]] += percent
    return {symbol: percent for symbol, percent in found.items() if percent}


def answers_that_fit(symbols: str, asked: Sequence[int], heads: Sequence[Sequence[tuple[int, int]]]) -> list[str]:
    """Which pairs of symbols could lie at the two places asked for, so that each head finds what it does find."""
    fit, true = [], [mixture(symbols, looks) for looks in heads]
    for pair in itertools.product(LETTERS, repeat=2):
        other = list(symbols)
        for place, symbol in zip(asked, pair):
            other[place] = symbol
        if [mixture("".join(other), looks) for looks in heads] == true:
            fit.append("".join(pair))
    return fit


def draw_mixture(canvas: Phone, y: float, name: str, found: Mapping[str, int]) -> None:
    """What one head hands over: a bar in which each symbol has its part."""
    canvas.text(82, y + 16, name, 12.5, "end", bold=True)
    x = 90.0
    for symbol, percent in found.items():
        wide = 2.58 * percent
        letters = canvas.shade(x, y, wide, 24, "value", 0.2 + percent / 200)
        canvas.text(
            x + wide / 2, y + 16.5, f"{symbol} {percent}%" if wide > 42 else symbol, 13, fill=letters, bold=True
        )
        x += wide


def draw_be_the_head(symbols: str, asked: Sequence[int], heads: int, looks: Sequence[tuple[int, int]]) -> View:
    """looks: two pairs (place, per cent), one head's two shares, or each the place of a head of its own."""
    canvas, first, second = Phone(388), asked[0] + 1, asked[1] + 1
    question = f"What lies at place {first}, and what at place {second}?"
    canvas.text(8, 20, question, 14, "start", bold=True)
    draw_choice(canvas, 32, heads)
    canvas.hint(348, 50, "drag the discs", "end")
    draw_places(canvas, 72, symbols, asked)
    by_head = [looks] if heads == 1 else [[(place, 100)] for place, _ in looks]
    for number, (place, percent) in enumerate(looks):
        percent, x, y = percent if heads == 1 else 100, PLACE_X[place], 142 + 34 * number
        name = f"{'share' if heads == 1 else 'head'} {number + 1}"
        canvas.text(82, y + 4.5, name, 12.5, "end", "weight", True)
        canvas.line(x, 104, x, y, "weight", 1 + percent / 12, opacity="0.5", data_id=f"look {number}")
        canvas.add("circle", cx=x, cy=y, r=9, fill="weight", stroke="ground", stroke_width=2, data_id=f"disc {number}")
        leads = {"x": (f"look_{number + 1}", FIRST_X - PITCH, PITCH)}
        canvas.handle(x, y, name, f"{place + 1}", "weight", 13, **leads)
    if heads == 1:
        draw_split(canvas, 220, "percent", looks[0][1], ("share 1", "share 2"))
    else:
        canvas.text(14, 234, "Each head has 100% of its own.", 12.5, "start", "quiet")
    canvas.text(8, 268, f"The reader sees only {'this mixture' if heads == 1 else 'these two'}:", 12.5, "start")
    found = [mixture(symbols, one) for one in by_head]
    for number, one in enumerate(found):
        draw_mixture(canvas, 278 + 28 * number, "mixture" if heads == 1 else f"head {number + 1}", one)
    fit = answers_that_fit(symbols, asked, by_head)
    listed = f": {' or '.join(map(', '.join, fit))}" if len(fit) < 3 else ""
    fits = f"Of 64 possible answers, {len(fit)} {'fits' if len(fit) == 1 else 'fit'}{listed}."
    canvas.text(8, 352, fits, 13, "start", bold=True)
    task = f"{'✔' if len(fit) == 1 else '○'} Leave the reader a single answer."
    canvas.text(8, 374, task, 12.5, "start", "right" if len(fit) == 1 else "quiet")
    given = " and ".join(f"{100 if heads == 2 else percent}% at place {place + 1}" for place, percent in looks)
    sees = "; ".join(", ".join(f"{symbol} {percent}%" for symbol, percent in one.items()) for one in found)
    return canvas.view(
        f"Shelf {' '.join(symbols)}. {question} You are {HEADS[heads]}: {given}. The reader sees {sees}. {fits} {task}"
    )


def be_the_head(symbols: str, asked: tuple[int, int]) -> Explorer:
    """Hand out 100 % over eight places, as one head or as two, so that what is found leaves a reader one answer.

    symbols: eight letters from A to H; asked: the two places that are asked for, counted from 1. The reader knows the
    rule by which you look, and what lies at the other places, but not what lies at these two. ValueError: others."""
    if len(symbols) != PLACES or not set(symbols) <= set(LETTERS):
        raise ValueError(f"symbols {symbols!r} should be {PLACES} letters from A to H")
    if len(set(asked)) != 2 or not all(1 <= place <= PLACES for place in asked):
        raise ValueError(f"asked {asked} should be two different places from 1 to {PLACES}")
    places = [place - 1 for place in asked]

    def draw(heads, look_1, look_2, percent):
        return draw_be_the_head(symbols, places, heads, [(look_1 - 1, percent), (look_2 - 1, 100 - percent)])

    controls = {
        "heads": menu("you are", [(name, number) for number, name in HEADS.items()]),
        "look_1": slider("place of share 1", 1, 1, PLACES),
        "look_2": slider("place of share 2", 2, 1, PLACES),
        "percent": slider("share 1, %", 50, 0, 100, 10),
    }
    return Explorer(draw, controls, replaced=list(controls))


# Ask trained heads
Reader = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # symbols, places → logits (b, 2, 8), weights (b, h, 8)


@torch.no_grad()
def read_shelf(model: Reader, symbols: Sequence[int], places: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities (2, 8) of a model's two answers, and the weights (h, 8) of its heads, for one shelf (8,) and
    two places (2,)."""
    logits, weights = model(torch.tensor([symbols]), torch.tensor([places]))
    return as_numbers(logits[0].softmax(-1), 2), as_numbers(weights[0], 2)


def draw_weights_of_head(canvas: Phone, y: float, name: str, row: np.ndarray, number: str) -> None:
    """The weights (8,) of one head as bars that are at height y."""
    canvas.text(82, y - 6, name, 12, "end", bold=True)
    canvas.line(87, y, 352, y)
    for place, (x, weight) in enumerate(zip(PLACE_X, row.tolist())):
        canvas.rect(x - 12, y - 36 * weight, 24, 36 * weight, "weight", data_id=f"bar {number} {place}")
        canvas.text(x, y + 14, f"{weight:.0%}", 11, fill="ink" if weight >= 0.2 else "quiet", bold=weight >= 0.2)


def draw_shelf(symbols: Sequence[int], places: tuple[int, int], read: Mapping[int, tuple]) -> View:
    """A shelf (8,), the two places that are asked for, and what one head and two make of it: {heads: (probabilities
    (2, 8), weights (heads, 8))}."""
    canvas, letters = Phone(470), "".join(LETTERS[symbol] for symbol in symbols)
    wanted = "".join(letters[place] for place in places)
    first, second = (place + 1 for place in places)
    question = f"What lies at places {first} and {second}? Right: {wanted[0]}, {wanted[1]}."
    canvas.text(6, 20, question, 13, "start", bold=True)
    draw_places(canvas, 34, letters, places)
    for number, (name, place) in enumerate(zip(("first", "second"), places)):
        x, y = PLACE_X[place], 98 + 24 * number
        canvas.text(82, y + 4, f"{name} place", 12, "end", "here")
        canvas.line(87, y, 352, y, "edge")
        canvas.add("circle", cx=x, cy=y, r=8, fill="here", data_id=f"asked {number}")
        canvas.handle(x, y, f"{name} place", f"{place + 1}", "here", 12, x=(name, FIRST_X - PITCH, PITCH))
    said = []
    for top, (num_heads, (shares, weights)) in zip((160, 286), sorted(read.items())):
        names = ["one head"] if num_heads == 1 else [f"head {head + 1}" for head in range(num_heads)]
        two = [largest(row, 2) for row in shares]
        answered = "".join(LETTERS[best] for best, _ in two)
        right, role = ("✔", "right") if answered == wanted else ("✘", "wrong")
        canvas.text(6, top, f"{right} {HEADS[num_heads]}: {answered[0]}, {answered[1]}", 13.5, "start", role, bold=True)
        guesses = [", ".join(f"{LETTERS[k]} {row[k]:.0%}" for k in best) for row, best in zip(shares, two)]
        canvas.text(6, top + 18, f"first: {guesses[0]}; second: {guesses[1]}", 12, "start")
        for number, (name, row) in enumerate(zip(names, weights)):
            draw_weights_of_head(canvas, top + 66 + 62 * number, name, row, f"{num_heads} {number}")
        looks = (f"{name}: {row[first - 1]:.0%} and {row[second - 1]:.0%} there" for name, row in zip(names, weights))
        verdict = "right" if answered == wanted else "wrong"
        said.append(f"{', '.join(looks)}; first answer {guesses[0]}, second {guesses[1]}, {verdict}.")
    if first == second:
        canvas.text(6, 460, "(In training, the two places were never the same.)", 12, "start", "quiet")
    return canvas.view(f"Shelf {' '.join(letters)}. {question} {' '.join(said)}")


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
        "first": slider("first place", 3, 1, PLACES),
        "second": slider("second place", 7, 1, PLACES),
    }
    return Explorer(draw, controls, replaced=["first", "second"])


# Two cuts of a line
PAIRS = ("AA", "AB", "BA", "BB")  # what lies at the two places that are asked for
HALO = {"stroke": "ground", "stroke_width": 3, "paint_order": "stroke", "stroke_opacity": "0.7"}
BEGIN, END = 34.0, 322.0  # of a line, from a share of 0 to 1


def shares_of_a(percent: int, heads: int, answer: int) -> list[int]:
    """The per cent of A that the reader of an answer (0 or 1) sees for each pair. One head has so many per cent on the
    first place and the rest on the second; of two heads, the other one has it the other way round."""
    first = 100 - percent if heads == 2 and answer else percent
    return [first * (pair[0] == "A") + (100 - first) * (pair[1] == "A") for pair in PAIRS]


def draw_line(canvas: Phone, y: float, answer: int, shares: Sequence[int], cut: int) -> list[bool]:
    """The four pairs on a line, and the cut beyond which the reader says A. Returns which of them it reads rightly."""
    right = [(share > cut) == (pair[answer] == "A") for pair, share in zip(PAIRS, shares)]
    x_of_cut, scale = BEGIN + (END - BEGIN) * cut / 100, (END - BEGIN) / 100
    canvas.rect(x_of_cut, y - 32, 346 - x_of_cut, 64, "value", fill_opacity="0.15")
    canvas.text(10, y - 46, f"{('first', 'second')[answer]} answer", 13, "start", bold=True)
    canvas.text(346, y - 46, "right of the cut the reader says A", 12, "end", "quiet")
    canvas.line(BEGIN - 10, y, END + 10, y, "quiet", 1.5)
    canvas.line(x_of_cut, y - 32, x_of_cut, y + 32, "here", 2.5)
    for pair, share, well in zip(PAIRS, shares, right):
        x, role = BEGIN + scale * share, "right" if well else "wrong"
        canvas.add("circle", cx=x, cy=y, r=5.5, fill=role, stroke="ground", data_id=f"{pair} {answer}")
        height = y + 22 if pair == "BA" else y - 12  # AB and BA may lie on one another
        canvas.text(x, height, f"{pair} {'✔' if well else '✘'}", 12.5, fill=role, bold=True, **HALO)
    canvas.handle(
        x_of_cut,
        y + 32,
        f"cut of the {('first', 'second')[answer]} answer",
        f"{cut}%",
        x=(f"cut_{answer + 1}", BEGIN, scale),
    )
    return right


def draw_two_cuts(heads: int, percent: int, cuts: tuple[int, int]) -> View:
    """Two places, each with A or B. What a head finds is one number, its share of A; a reader cuts the line in two."""
    canvas = Phone(400)
    draw_choice(canvas, 8, heads)
    canvas.hint(348, 26, "drag the rings", "end")
    whose = "head 1" if heads == 2 else "the head"
    canvas.text(8, 56, f"Where {whose} looks{', and head 2 the other way round' * (heads == 2)}:", 12.5, "start")
    draw_split(canvas, 84, "percent", percent, ("first place", "second place"))
    lines = [shares_of_a(percent, heads, answer) for answer in (0, 1)]
    right = [draw_line(canvas, 186 + 122 * answer, answer, lines[answer], cuts[answer]) for answer in (0, 1)]
    well = [pair for pair, one, two in zip(PAIRS, *right) if one and two]
    done = len(well) == 4
    listed = f"{len(well)}: {', '.join(well) or 'none'}"
    task = f"{'✔' if done else '○'} Get all four right. Both answers are right for {listed}."
    canvas.prose(8, 372, task, 12.5, fill="right" if done else "ink")
    shown = [
        f"{('First', 'Second')[answer]} answer: A above {cuts[answer]}%; "
        + ", ".join(f"{pair} {share}%" for pair, share in zip(PAIRS, lines[answer]))
        for answer in (0, 1)
    ]
    looks = f"{percent}% on the first place, {100 - percent}% on the second"
    return canvas.view(f"{HEADS[heads].capitalize()}: {looks}. {'. '.join(shown)}. {task}")


def two_cuts() -> Explorer:
    """One head or two look at two places with A or B; drag its weights, and for each answer the cut beyond which a
    linear reader says A. Can all four pairs be read?"""
    controls = {
        "heads": menu("heads", [(name, number) for number, name in HEADS.items()]),
        "percent": slider("on the first place, %", 60, 0, 100, 10),
        "cut_1": slider("cut of the first answer, %", 25, 5, 95, 10),
        "cut_2": slider("cut of the second answer, %", 25, 5, 95, 10),
    }
    return Explorer(
        lambda heads, percent, cut_1, cut_2: draw_two_cuts(heads, percent, (cut_1, cut_2)),
        controls,
        replaced=list(controls),
    )
