"""Translations: what length does to a translation."""

import difflib
from collections.abc import Mapping, Sequence

from .canvas import Phone
from .controls import Explorer, slider

LEFT, FOOT, TALL = 40, 104, 66  # where the bars begin, on which height they are, and how high one of 100% is


def corrected(words: Sequence[str], right: Sequence[str]) -> list[tuple[str, str]]:
    """Each of the words with its role: "ink" where it is right, "wrong" where it should not be, and in between, as
    "right", those that should."""
    found = []
    for kind, begin, end, first, last in difflib.SequenceMatcher(None, words, right, False).get_opcodes():
        if kind == "equal":
            found += [(word, "ink") for word in words[begin:end]]
        else:
            found += [(word, "wrong") for word in words[begin:end]] + [(word, "right") for word in right[first:last]]
    return found


def draw_shares(canvas: Phone, length: int, shares: Mapping[int, Mapping[str, float]]) -> None:
    """For each length up to this one a bar for each model, as high as its share of right sentences; a click on a length
    shows it."""
    names, wide = list(shares[length]), 308 / len(shares)
    for share in (0, 0.5, 1):
        y = FOOT - TALL * share
        canvas.line(LEFT, y, 348, y, "edge")
        canvas.text(LEFT - 4, y + 4, f"{share:.0%}", 11, "end", "quiet")
    for number, name in enumerate(names):
        canvas.rect(LEFT + 128 * number, 8, 10, 10, BARS[number % 2])
        canvas.text(LEFT + 14 + 128 * number, 17, name, 12, "start")
    for column, (one, by_model) in enumerate(sorted(shares.items())):
        x, bar = LEFT + wide * column, (wide - 6) / len(names)
        for number, name in enumerate(names):
            tall = TALL * by_model[name] * (one <= length)
            canvas.rect(x + 3 + bar * number, FOOT - tall, bar, tall, BARS[number % 2])
        here = one == length
        canvas.text(x + wide / 2, FOOT + 16, one, 11.5, fill="here" if here else "quiet", bold=here)
        if here:
            canvas.rect(x, FOOT - TALL - 4, wide, TALL + 24, stroke="here", stroke_width=2, rx=4)
    for column, one in enumerate(sorted(shares)):
        canvas.touch(LEFT + wide * column, 30, wide, 96, f"{one} words", on=one == length, length=one)


def wide_as(word: str) -> float:
    """About how wide a word is in letters of 12.5."""
    return 7.5 * sum(0.55 if sign in "fijlrtí,." else 1.4 if sign in "mw" else 0.95 for sign in word)


BARS = ("quiet", "weight")
MARKED = {"wrong": {"text_decoration": "line-through"}, "right": {"font_weight": "bold"}}


def draw_lengths(
    length: int, source: Sequence[str], right: Sequence[str], written: Mapping, shares: Mapping, found: bool
) -> tuple[Phone, str]:
    """The shares of right sentences for all lengths, and a sentence of this one with what models wrote {name: words},
    corrected: the picture, as high as it needs to be, and what it says.

    `shares`: {length: {name: share that is right}}; found: this is the length of the task."""
    canvas = Phone(0)
    draw_shares(canvas, length, shares)
    canvas.hint(348, FOOT + 34, "click a length", "end")
    canvas.text(8, FOOT + 34, f"{length} words in the source", 13, "start", bold=True)
    y = canvas.prose(8, FOOT + 56, " ".join(source), 12.5) + 8
    for name, words in written.items():
        sign = "✔" if list(words) == list(right) else "✘"
        share = f"{shares[length][name]:.0%} of such sentences right"
        canvas.text(8, y, f"{sign} {name}: {share}", 12.5, "start", "quiet")
        y += 19
        lines = [[]]
        for word, role in corrected(list(words), list(right)):
            if sum(wide_as(one) + 5 for one, *_ in lines[-1]) + wide_as(word) > 340:
                lines.append([])
            lines[-1].append((word, role, MARKED.get(role, {})))
        for line in lines:
            canvas.words(8, y, line)
            y += 17
        y += 9
    sign, role = ("✔", "right") if found else ("○", "quiet")
    task = f"{sign} Find the first length at which {next(iter(written))} gets less than half right."
    y = canvas.prose(8, y, task, fill=role, bold=found)
    canvas.height = round(y)
    said = "; ".join(f"{name} {shares[length][name]:.0%} right" for name in written)
    return canvas, f"Sentences of {length} words: {said}. {task}"


def bottleneck(
    examples: Mapping[int, tuple], shares: Mapping[int, Mapping[str, float]], begin: int | None = None
) -> Explorer:
    """Choose a length, see which share of such sentences each model gets right, and what it made of one of them.

    examples: {length: (source, right, {model: written})}, words; shares: {length: {model: share right}}. begin: the
    length that is shown first, the shortest if not given."""
    lengths, name = sorted(examples), next(iter(next(iter(shares.values()))))
    half = next((length for length in lengths if shares[length][name] < 0.5), None)
    words = slider("words in the source", begin or lengths[0], lengths[0], lengths[-1])

    drawn = {one: draw_lengths(one, *examples[one], shares, one == half) for one in lengths}
    tallest = max(canvas.height for canvas, _ in drawn.values())

    def draw(length):
        canvas, said = drawn[length]
        canvas.height = tallest
        return canvas.view(said)

    return Explorer(draw, {"length": words}, pace=2500)
