"""Where a model keeps what it knows: one vector of another run put into this one, and two layers that go on with what
came before."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from ..checks import require_list
from ..plots import as_numbers, largest
from ..probes import sublayers
from ..tagging import opened
from ..transformer import Tagger
from ..vocabulary import Vocabulary
from .canvas import Phone, View, cut, verdict
from .controls import Explorer, checkbox, menu, slider, text
from .masking import draw_buttons

# One vector of another run


class Board(NamedTuple):
    """Two sentences of one model that differ in one word: what each makes it say of the last word, shares (tags,); and
    for each station and word the shares of the first run once it gets that vector of the second, (s, n, tags)."""

    words: list[str]
    others: list[str]
    first: np.ndarray
    second: np.ndarray
    patched: np.ndarray


@torch.no_grad()
def board(tagger: nn.Module, vocabulary: Vocabulary, sentence: str, other: str) -> Board:
    """What a tagger says of the last word of a sentence, for every vector of the other sentence's run that is put into
    it, after the embedding and after each sublayer. ValueError: the sentences have different lengths."""
    words, others = sentence.split(), other.split()
    if len(words) != len(others):
        raise ValueError(f"{sentence!r} has {len(words)} words, {other!r} {len(others)}: give sentences of one length")
    embedding, encoder = opened(tagger)
    x, y = embedding(torch.tensor([vocabulary.encode(one, strict=True) for one in (words, others)]))  # (n, d) each
    added, n = list(sublayers(encoder).values()), len(words)
    batch, streams = x[None], []  # those that were patched so far, the run itself first
    for station in range(len(added) + 1):
        swapped = batch[:1].repeat(n, 1, 1)  # (n, n, d)
        swapped[range(n), range(n)] = y
        streams.append(swapped)
        batch = torch.cat([batch[:1], *streams])
        if station < len(added):
            batch = batch + added[station](batch)
            y = y + added[station](y[None])[0]
            streams = [batch[1:]]
    said = tagger.to_logits(encoder.final_norm(torch.cat([batch, y[None]])))[:, -1].softmax(-1)  # (b, tags)
    shares = as_numbers(said, 2)
    return Board(words, others, shares[0], shares[-1], shares[1:-1].reshape(len(added) + 1, n, -1))


ROW, FIRST_COLUMN = 30, 96  # height of a station; where the column of the first word begins


def names_of_stations(count: int) -> list[str]:
    """The embedding, and what comes after it, two for each block."""
    return ["embedding", *(f"{part} {k + 1}" for k in range(count // 2) for part in ("attention", "feed-forward"))]


def draw_words(canvas: Phone, y: float, one: Board, wide: float) -> None:
    """The words above their columns, askew; where the sentences differ, both."""
    for column, (word, other) in enumerate(zip(one.words, one.others)):
        x, differs = FIRST_COLUMN + wide * (column + 0.5) - 3, word != other
        shown, role = (f"{word}/{other}", "here") if differs else (word, "ink")
        canvas.text(x, y, cut(shown, 13), 11.5, "start", role, differs, transform=f"rotate(-38 {x:.1f} {y:.1f})")


def by_construction(count: int) -> tuple[set[int], str]:
    """The stations, out of so many, at which what flips does not depend on what was learned; and why, in words."""
    why = f"Dashed rows follow from the architecture: at first one vector differs, and after attention {count // 2}"
    return {0, count - 2, count - 1}, f"{why} nothing passes between words any more."


def draw_cells(canvas: Phone, top: float, one: Board, wide: float, tag: int, cell: int, shown: bool) -> None:
    """A row for each station, the first one below; what a tag gets in per cent, where it is uncovered. Dashed: what is
    so by construction."""
    count, n, _ = one.patched.shape
    for row in by_construction(count)[0]:
        dashed = {"stroke": "quiet", "stroke_width": 1.5, "stroke_dasharray": "5 3", "rx": 4}
        canvas.rect(FIRST_COLUMN - 2, top + ROW * (count - 1 - row) - 1, wide * n + 4, ROW + 1, **dashed)
    for (row, column), share in np.ndenumerate(one.patched[..., tag]):
        x, y = FIRST_COLUMN + wide * column, top + ROW * (count - 1 - row)
        number, name = row * n + column, names_of_stations(count)[row]
        now = number == cell
        if column == 0:
            canvas.text(FIRST_COLUMN - 6, y + 19, name, 11.5, "end")
        if shown or now:
            letters = canvas.shade(x + 1, y + 1, wide - 2, ROW - 2, "weight", float(share))
            canvas.text(
                x + wide / 2, y + 19, f"{100 * share:.0f}", 11.5, fill=letters, bold=bool(share > 0.5 and n < 8)
            )
        else:
            canvas.rect(x + 1, y + 1, wide - 2, ROW - 2, "raised", stroke="edge", rx=3)
        if now:
            canvas.rect(x, y, wide, ROW, stroke="here", stroke_width=2.5, rx=3, data_id="now")
        where = f"{column + 1}, {one.words[column]}, after {name}"
        canvas.touch(x, y, wide, ROW, where, group="cells", on=now, cell=-1 if now else number)


def told(one: Board, tags: Sequence[str], cell: int, shown: bool) -> tuple[str, str]:
    """What is seen, and the task, in words."""
    count, n, _ = one.patched.shape
    verb, before, other = one.words[-1], largest(one.first)[0], largest(one.second)[0]
    task, late = f"Flip {verb}: first by an early station, then by a late one.", False
    if before == other:
        task = f"Both give {tags[other]}: nothing can flip. Take another pair, or another model."
    said = f"In per cent: how much {verb} gives to {tags[other]}."
    if cell >= 0:
        row, column = divmod(cell, n)
        best, share = largest(one.patched[row, column])[0], one.patched[row, column].max()
        flips = best == other != before
        late = flips and row > count // 2
        said = f"{one.words[column]} after {names_of_stations(count)[row]}: {verb} says {tags[best]}, {share:.0%}."
        said += " It flips." if flips else " It does not flip."
    if shown:
        rows = zip(names_of_stations(count), one.patched[..., other].tolist())
        said += "".join(f" {name}: {', '.join(f'{share:.0%}' for share in row)}." for name, row in rows)
    return said, f"{'✔' if late else '○'} {task}"


def draw_board(names: Sequence[str], name: str, one: Board, tags: Sequence[str], cell: int, shown: bool) -> View:
    """The two sentences with what the last word gets, and the cells; `cell` counts from 0 where a vector is exchanged,
    below 0 there is none. shown: every cell is uncovered."""
    canvas, (count, n, _) = Phone(0), one.patched.shape
    if len(names) > 1:
        draw_buttons(canvas, 8, 6, 100, {option: option for option in names}, "model", name)
    y, gives = 52.0, []
    for words, shares, role in ((one.words, one.first, "ink"), (one.others, one.second, "here")):
        tag = tags[largest(shares)[0]]
        y = canvas.prose(8, y, f"{' '.join(words)} → {tag}", 12.5, fill=role, bold=words is one.others) + 1
        gives.append(f"{' '.join(words)} gives {tag}")
    top, wide = y + 62, min(40.0, 246 / n)
    draw_words(canvas, top - 6, one, wide)
    draw_cells(canvas, top, one, wide, largest(one.second)[0], cell, shown)
    y = top + ROW * count + 12
    label = "Cover them again" if shown else "Uncover every cell"
    canvas.rect(8, y, 150, 28, "raised", stroke="ink", rx=5)
    canvas.text(83, y + 19, label, 12.5, bold=True)
    canvas.touch(8, y, 150, 28, label, shown=not shown)
    (seen, _), (said, task) = told(one, tags, cell, False), told(one, tags, cell, shown)
    y = canvas.prose(8, y + 50, seen)
    why = f" {by_construction(count)[1]}" if shown or cell >= 0 else ""
    y = canvas.prose(8, y, why.strip(), fill="quiet") if why else y
    canvas.prose(8, y + 3, task, fill="right" if task[0] == "✔" else "quiet", bold=task[0] == "✔")
    canvas.height = round(y + 42)
    return canvas.view(f"{name}. {', '.join(gives)}. {said}{why} {task}")


def patch_board(
    models: Mapping[str, nn.Module], vocabulary: Vocabulary, tags: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> Explorer:
    """Put one vector of the run on the second sentence of a pair into the run on the first, and see whether the last
    word changes its tag. models: {name: a tagger with attention, in pre-norm}; pairs: sentences that differ in a word.
    """
    require_list(tags=tags, pairs=pairs)
    boards = {
        (name, k): board(model, vocabulary, *pair) for name, model in models.items() for k, pair in enumerate(pairs)
    }
    most = max(one.patched.shape[0] * one.patched.shape[1] for one in boards.values())

    only = list(models)[0]

    def draw(pair, cell, shown, model=only):
        one = boards[model, pair]
        size = one.patched.shape[0] * one.patched.shape[1]
        return draw_board(list(models), model, one, tags, cell if cell < size else -1, shown)

    titles = [(" / ".join(pair), number) for number, pair in enumerate(pairs)]
    choose = {"model": menu("model", list(models))} if len(models) > 1 else {}
    controls = choose | {
        "pair": menu("sentences", titles, width="700px"),
        "cell": menu("exchange", [("nothing", -1), *((f"cell {k + 1}", k) for k in range(most))], -1, "200px"),
        "shown": checkbox("uncover", False),
    }
    anew = {"pair": lambda _value, _state: {"cell": -1, "shown": False}}
    return Explorer(draw, controls, follows=anew, replaced=[*choose, "cell", "shown"])


# Two layers that go on with what came before

LETTERS = "ABCDEFGHIJKLMNOPQRST"
MOST_LETTERS = 14


class Followed(NamedTuple):
    """A string as a causal model of two layers with one head each reads it: where each position looks in either layer,
    (n, n), and the shares of the next letter, (n, letters)."""

    letters: str
    first: np.ndarray
    second: np.ndarray
    shares: np.ndarray

    def knows(self, position: int) -> bool:
        """Is what it says here the letter that does come next?"""
        return LETTERS[largest(self.shares[position])[0]] == self.letters[position + 1 : position + 2]


def letters_of(typed: str) -> str:
    """A string as it was typed, without blanks; a ValueError in plain words."""
    found = "".join(typed.split()).upper()
    if not 2 <= len(found) <= MOST_LETTERS:
        raise ValueError(f"Type 2 to {MOST_LETTERS} letters; these are {len(found)}.")
    strange = [letter for letter in found if letter not in LETTERS]
    if strange:
        raise ValueError(f"The model knows the letters A to T; {cut(strange[0], 1)!r} is none of them.")
    return found


@torch.no_grad()
def follow(tagger: Tagger, letters: str) -> Followed:
    logits, (first, second) = tagger(torch.tensor([[LETTERS.index(letter) for letter in letters]]))
    return Followed(letters, *(as_numbers(one, 2) for one in (first[0, 0], second[0, 0], logits[0].softmax(-1))))


def draw_row_of_arcs(
    canvas: Phone, middles: Sequence[float], y: float, row: np.ndarray, position: int, role: str, up: bool, late: float
) -> None:
    """From one position arcs to where it looks, row (n,), as thick as the weights; above the letters, or below them."""
    for k, weight in enumerate(row[: position + 1].tolist()):
        if weight < 0.05:
            continue
        begin, end, sign = middles[position], middles[k], -1 if up else 1
        high = y + sign * (26 + 30 * min(1.0, abs(begin - end) / 200))
        shown = {"stroke_width": float(1 + 5 * weight), "opacity": f"{0.35 + 0.6 * weight:.2f}"}
        if k == position:
            path = f"M{begin - 5:.1f} {y} C{begin - 14:.1f} {high:.1f} {begin + 14:.1f} {high:.1f} {begin + 5:.1f} {y}"
        else:
            path = f"M{begin:.1f} {y} C{begin:.1f} {high:.1f} {end:.1f} {high:.1f} {end:.1f} {y}"
        canvas.add("path", d=path, fill="none", stroke=role, **shown, **canvas.appear(late))


def draw_induction(one: Followed, position: int) -> View:
    """A string; from one position, counted from 0, where layer 2 looks, above it; below it where layer 1 looked there;
    and which letter is the most probable next."""
    canvas, n = Phone(0), len(one.letters)
    wide = min(40.0, 320 / (n + 1))
    middles, y = [18 + wide * (k + 0.5) for k in range(n + 1)], 128
    target = largest(one.second[position])[0]
    before = largest(one.first[target])[0]
    best = largest(one.shares[position])[0]
    canvas.text(
        8, 18, f"What comes after the {one.letters[position]} at position {position + 1}?", 14, "start", bold=True
    )
    canvas.hint(350, 38, "click a letter", "end")
    draw_row_of_arcs(canvas, middles, y - 22, one.second[position], position, "weight", True, 0.8)
    draw_row_of_arcs(canvas, middles, y + 22, one.first[target], target, "key", False, 0)
    for k, letter in enumerate(one.letters):
        role = "here" if k == position else "weight" if k == target else "key" if k == before else "edge"
        canvas.rect(middles[k] - wide / 2 + 2, y - 19, wide - 4, 38, "ground", stroke=role, stroke_width=2.5, rx=5)
        canvas.text(middles[k], y + 6, letter, 16, bold=True, fill="ink" if k <= position else "quiet")
        canvas.touch(middles[k] - wide / 2, y - 22, wide, 44, f"{k + 1}, {letter}", on=k == position, position=k + 1)
    canvas.text(8, 58, "layer 2", 12.5, "start", "weight", True)
    canvas.text(8, y + 76, "layer 1", 12.5, "start", "key", True)
    seen, noted = one.second[position, target], one.first[target, before]
    said = f"Layer 2 looks at position {target + 1}, {one.letters[target]}, with {seen:.0%}. There, layer 1 looked at "
    said += f"position {before + 1}, {one.letters[before]}, with {noted:.0%}. "
    said += f"Next: {LETTERS[best]}, {one.shares[position, best]:.0%}."
    foot = canvas.prose(8, y + 102, said)
    known = [k for k in range(n - 1) if one.knows(k)]
    done = position == (known or [None])[0]
    task = f"{'✔' if done else '○'} Find the first position at which it knows what comes next."
    if not known:
        task = "○ Here it never knows what comes next. Does anything repeat?"
    canvas.prose(8, foot + 3, task, fill="right" if done else "quiet", bold=done)
    canvas.height = round(y + 102 + 5 * 17.5)
    return canvas.view(f"{one.letters}, position {position + 1}, {one.letters[position]}. {said} {task}")


def induction(tagger: Tagger, strings: Sequence[str]) -> Explorer:
    """Type a string of the letters A to T, and follow a model of two layers with one head each through it: where layer
    2 looks at a position, where layer 1 looked there, and what it says comes next. strings: to begin with."""
    require_list(strings=strings)
    known = {}

    def draw(example, string, position):
        try:
            letters = letters_of(string)
        except ValueError as problem:
            return verdict("This string cannot be read", False, [str(problem)], 300)
        if letters not in known:
            known[letters] = follow(tagger, letters)
        return draw_induction(known[letters], min(position, len(letters)) - 1)

    controls = {
        "example": menu("example", list(strings)),
        "string": text("string", strings[0], ("A B C", "a", "ABCDEFGHIJKLMNOPQRST", "AXB", "q q q q"), "340px"),
        "position": slider("position", 1, 1, MOST_LETTERS),
    }
    follows = {"example": lambda example, state: {"string": example}, "string": lambda _value, _state: {"position": 1}}
    return Explorer(draw, controls, follows=follows, pace=2200)
