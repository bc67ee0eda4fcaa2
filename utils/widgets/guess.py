"""A guess before the result: one of some options, a number on a scale, or a curve that is drawn with handles."""

import functools
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import records
from ..plots import largest
from .board import short
from .canvas import Phone, View
from .controls import Explorer, checkbox, menu

CHOOSE = "choose …"
LEFT, RIGHT, TALL = 46, 342, 150  # where a scale begins and ends; how high a curve's is
MOST_POINTS = 8  # of a curve, the first one included: each has a handle


@functools.cache
def questions() -> dict[str, dict]:
    """{name: what is asked, and what is said of the result}, of every guess of the course."""
    return tomllib.loads(Path(__file__).with_name("guesses.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Question:
    """A question, the explanation of its result, and what else guesses.toml says of it."""

    question: str
    explanation: str
    levels: Sequence[float] = (0, 0, 1)
    values: Sequence[float] = ()
    share: bool = False
    x: str = ""
    answer: str = "largest"

    @property
    def scale(self) -> list[float]:
        if self.values:
            return list(self.values)
        first, last, step = self.levels
        return [round(first + step * k, 9) for k in range(round((last - first) / step) + 1)]

    def best(self, options: Mapping[str, float]) -> str:
        """The option that is the answer: the first of those with the largest number, or the smallest."""
        sign = -1 if self.answer == "smallest" else 1
        return list(options)[largest(sign * np.array(list(options.values()), float))[0]]

    def write(self, number: float) -> str:
        return f"{number:.0%}" if self.share else short(number)

    def at(self, number: float) -> float:
        """Where a number lies on the scale, counted in levels. ValueError: outside it."""
        if not self.scale[0] <= number <= self.scale[-1]:
            raise ValueError(f"{number} is not between {self.scale[0]:g} and {self.scale[-1]:g}, the ends of the scale")
        return float(np.interp(number, self.scale, range(len(self.scale))))

    def explain(self, measured: str) -> str:
        return self.explanation.format(measured=measured)


class Sheet(Phone):
    """A picture that begins with a question, and ends with a button and the explanation."""

    def __init__(self, asked: Question):
        super().__init__(0)
        self.text(8, 18, "Guess first", 12, "start", "quiet")
        self.top = self.prose(8, 40, asked.question, 13.5, bold=True) + 4

    def button(self, y: float, text: str, shown: bool) -> None:
        """A button that shows the result, or takes it away."""
        self.rect(8, y, 200, 28, "raised", stroke="ink", rx=5)
        self.text(108, y + 19, text, 13, bold=True)
        self.touch(8, y, 200, 28, text, shown=not shown)

    def explanation(self, y: float, text: str, shown: bool) -> None:
        """The explanation; before it is shown, as many empty lines."""
        begin = len(self.shapes)
        self.height = round(self.prose(8, y, text, 13) - 6)
        if not shown:
            self.shapes[begin:] = [re.sub(">[^<]*<", "><", line) for line in self.shapes[begin:]]


def one_clause(text: str) -> str:
    """A text that a film does not cut into pieces: with no-break spaces after full stops and colons."""
    return text.replace(". ", ".\u00a0").replace(": ", ":\u00a0")


# One of some options
def draw_options(asked: Question, options: Mapping[str, float], guess: int | None) -> View:
    """Options as rows to click; once one is chosen, what was measured of each as a bar, and which is the answer."""
    sheet, names, values = Sheet(asked), list(options), np.array(list(options.values()), float)
    best, known = asked.best(options), guess is not None
    for row, (name, value) in enumerate(zip(names, values.tolist())):
        y, mine = sheet.top + 34 * row, row == guess
        sheet.rect(8, y, 340, 28, "ground", stroke="here" if mine else "edge", stroke_width=2.5 if mine else 1, rx=5)
        if known:
            sheet.rect(120, y + 5, 150 * value / max(values.max(), 1e-9), 18, "data", fill_opacity="0.5")
            sheet.text(340, y + 19, asked.write(value), 13, "end", bold=name == best)
        sign = " ✔" if known and name == best else " ✘" if mine else ""
        sheet.text(18, y + 19, name + sign, 13, "start", "here" if mine else "ink", mine)
        sheet.touch(8, y, 340, 28, f"{name}, your guess" if mine else name, on=mine, guess=row)
    said = asked.explain(best)
    sheet.explanation(sheet.top + 34 * len(names) + 18, said, known)
    if not known:
        return sheet.view(f"{asked.question} Guess: {', '.join(names)}.")
    measured = "; ".join(f"{name} {asked.write(value)}" for name, value in options.items())
    verdict = "right" if names[guess] == best else "not right"
    return sheet.view(f"{asked.question} You guessed {names[guess]}, which is {verdict}. Results: {measured}. {said}")


# A number on a scale
def draw_number(asked: Question, measured: float, guess: int | None, shown: bool) -> View:
    """A scale with a mark to drag; once it is shown, the number that was measured below it."""
    sheet, last = Sheet(asked), len(asked.scale) - 1
    y, unit = sheet.top + 34, (RIGHT - 16) / last
    sheet.line(16, y, RIGHT, y, "quiet", 2)
    for level in (0, last // 2, last):
        sheet.line(16 + unit * level, y - 5, 16 + unit * level, y + 5, "quiet", 2)
        anchor = {0: "start", last: "end"}.get(level, "middle")
        sheet.text(16 + unit * level, y + 44, asked.write(asked.scale[level]), 12, anchor, "quiet")
    known = shown and guess is not None
    x, said = (
        16 + unit * (last / 2 if guess is None else guess),  # in the middle it suggests no end of the scale
        "drag the mark" if guess is None else f"your guess: {asked.write(asked.scale[guess])}",
    )
    sheet.add("circle", cx=x, cy=y, r=6, fill="here", data_id="guess")
    anchor = "start" if x < 80 else "end" if x > 276 else "middle"
    sheet.text(x, y - 16, said, 13, anchor, "here", True)
    sheet.handle(
        x, y, "your guess", "0, none yet" if guess is None else asked.write(asked.scale[guess]), x=("guess", 16, unit)
    )
    if known:
        true = 16 + unit * asked.at(measured)
        sheet.add(
            "polygon",
            points=f"{true:.1f},{y + 3:.1f} {true - 6:.1f},{y + 14:.1f} {true + 6:.1f},{y + 14:.1f}",
            fill="data",
        )
        anchor = "start" if true < 80 else "end" if true > 276 else "middle"
        sheet.text(true, y + 27, f"measured: {asked.write(measured)}", 13, anchor, "data", True)
    if guess is not None:
        sheet.button(y + 58, "Guess again" if known else "Show me", shown)
    explained = asked.explain(asked.write(measured))
    sheet.explanation(y + 108, explained, known)
    if guess is None:
        return sheet.view(f"{asked.question} Drag the mark, or choose a number.")
    measured_too = f" Measured: {asked.write(measured)}. {explained}" if known else ""
    return sheet.view(f"{asked.question} You guessed {asked.write(asked.scale[guess])}.{measured_too}")


# A curve
def label(place: float | str) -> str:
    return place if isinstance(place, str) else f"{place:,}"


def draw_points(sheet: Sheet, points: Sequence[tuple[float, float]], role: str, dashes: str = "none") -> None:
    for (x1, y1), (x2, y2) in zip(points, points[1:]):
        sheet.line(x1, y1, x2, y2, role, 2.5, stroke_dasharray=dashes)
    for x, y in points:
        sheet.add("circle", cx=x, cy=y, r=4.5, fill=role)


def draw_curve(asked: Question, curve: Mapping[float | str, float], levels: Sequence[int], shown: bool) -> View:
    """A curve with a handle at each point but the first, which is given; once it is shown, the measured one beside it.
    As many shapes before as after, so that a film can be cut where handles are independent."""
    sheet, last, places = Sheet(asked), len(asked.scale) - 1, list(curve)
    foot, unit = sheet.top + 12 + TALL, TALL / last
    for level in (0, last // 2, last):
        sheet.line(LEFT, foot - unit * level, RIGHT, foot - unit * level, "edge")
        sheet.text(LEFT - 8, foot - unit * level + 4, asked.write(asked.scale[level]), 12, "end", "quiet")
    xs = np.linspace(LEFT + 14, RIGHT - 14, len(places)).tolist()
    for x, place in zip(xs, places):
        sheet.text(x, foot + 20, label(place), 12, fill="quiet")
    sheet.text(RIGHT, foot + 38, asked.x, 12, "end", "quiet")
    begin = asked.at(curve[places[0]])
    mine = [(x, foot - unit * level) for x, level in zip(xs, (begin, *levels))]
    true = [(x, foot - unit * asked.at(value)) for x, value in zip(xs, curve.values())]
    draw_points(sheet, true if shown else [(LEFT, foot)] * len(true), "data" if shown else "none")
    draw_points(sheet, mine, "here", "6 4")
    for number, (x, y) in enumerate(mine[1:], 1):
        level = asked.write(asked.scale[levels[number - 1]])
        if shown:
            sheet.add("circle", cx=x, cy=y, r=4.5, fill="here")
        else:
            sheet.handle(x, y, f"your guess at {label(places[number])}", level, y=(f"level_{number}", foot, -unit))
    sheet.text(LEFT, foot + 38, "- - your guess", 12, "start", "here")
    sheet.text(LEFT + 110, foot + 38, "— measured" if shown else "", 12, "start", "data")
    sheet.button(foot + 50, "Guess again" if shown else "Show me", shown)
    explained = asked.explain(asked.write(curve[places[-1]]))
    sheet.explanation(foot + 98, explained, shown)
    guessed = "; ".join(f"{label(place)} {asked.write(asked.scale[level])}" for place, level in zip(places[1:], levels))
    known = "; ".join(f"{label(place)} {asked.write(value) if shown else '?'}" for place, value in curve.items())
    ends = one_clause(explained if shown else "Drag the points, then show the result.")
    return sheet.view(f"{one_clause(asked.question)} Your guess: {guessed}. Measured: {known}. {ends}")


def guess(
    name: str, options: Mapping[str, float] | None = None, number: float | None = None,
    curve: Mapping[float | str, float] | None = None,
) -> Explorer:  # fmt: skip
    """Ask for a guess, and show the result only after it: both side by side, with the sentence that explains it.

    name: of a question in guesses.toml. Its result is one of these: options {what can be chosen: what was measured of
    it}, of which one is the answer; a number; a curve {x: y} of 3 to 8 points, whose first is given, each x a number
    or a name. The first guess is kept for `progress()`. ValueError: no such question, not one result, or a result
    outside the scale."""
    if name not in questions():
        raise ValueError(f"{name!r} is not a question of guesses.toml: {', '.join(questions())}")
    given = [one for one in (options, number, curve) if one is not None]
    if len(given) != 1:
        raise ValueError(f"{len(given)} results are given: give exactly one of options, number and curve")
    asked = Question(**questions()[name])
    if options is not None:
        return guess_options(name, asked, options)
    if number is not None:
        return guess_number(name, asked, float(number))
    return guess_curve(name, asked, {x: float(y) for x, y in curve.items()})


def guess_options(name: str, asked: Question, options: Mapping[str, float]) -> Explorer:
    rows = [(option, row) for row, option in enumerate(options)]
    chosen = menu("your guess", [(CHOOSE, None), *rows])

    def keep(change):
        if change["new"] is not None:
            records.guessed(name, list(options)[change["new"]], asked.best(options))

    chosen.observe(keep, "value")
    return Explorer(lambda guess: draw_options(asked, options, guess), {"guess": chosen}, replaced=["guess"])


def guess_number(name: str, asked: Question, measured: float) -> Explorer:
    asked.at(measured)
    levels = [(asked.write(value), level) for level, value in enumerate(asked.scale)]
    chosen, show = menu("your guess", [(CHOOSE, None), *levels]), checkbox("show the result", False)

    def keep(_change):
        if show.value and chosen.value is not None:
            records.guessed(name, asked.scale[chosen.value], measured)

    for control in (chosen, show):
        control.observe(keep, "value")
    controls = {"guess": chosen, "shown": show}
    return Explorer(lambda guess, shown: draw_number(asked, measured, guess, shown), controls, replaced=controls)


def guess_curve(name: str, asked: Question, curve: Mapping[float | str, float]) -> Explorer:
    if not 3 <= len(curve) <= MOST_POINTS:
        raise ValueError(f"the curve has {len(curve)} points; give 3 to {MOST_POINTS}")
    begin, *_ = (math.floor(asked.at(value) + 0.5) for value in curve.values())
    levels = [(asked.write(value), level) for level, value in enumerate(asked.scale)]
    points = {
        f"level_{number}": menu(f"at {label(x)}", levels, begin, "170px") for number, x in enumerate(curve) if number
    }
    show = checkbox("show the result", False)

    def keep(_change):
        if show.value and any(point.value != begin for point in points.values()):  # an untouched curve is no guess
            records.guessed(name, [asked.scale[point.value] for point in points.values()], list(curve.values())[1:])

    show.observe(keep, "value")
    controls = points | {"shown": show}
    return Explorer(
        lambda shown, **drawn: draw_curve(asked, curve, list(drawn.values()), shown), controls, replaced=controls
    )
