"""The notebook on a published encoder: a search by meaning beside one that counts words, one's own sentence in all
heads, and how pairs of sentences find each other in training."""

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from torch import Tensor

from ..checks import require_list
from ..plots import as_numbers, largest
from .canvas import Phone, View, cut, draw_attending, two_decimals, verdict
from .controls import Explorer, Options, menu, slider, text

MOST_PIECES = 20  # in a picture; more would be too small to read
LONGEST = 300  # characters of a question that are read
SAMPLES = ("", "why?", "Do not be in a hurry.")

# Search
Found = Mapping[str, Sequence[tuple[str, float]]]  # {how: [(text, cosine), …], the nearest first}


def draw_tabs(canvas: Phone, y: float, names: Sequence[str], control: str, chosen: str) -> None:
    """Names side by side, the chosen one framed; a click gives the control that name."""
    wide = 340 / len(names)
    for number, name in enumerate(names):
        x, here = 8 + wide * number, name == chosen
        canvas.rect(
            x, y, wide - 6, 26, "raised", stroke="here" if here else "edge", stroke_width=2.5 if here else 1, rx=5
        )
        canvas.text(x + wide / 2 - 3, y + 17.5, name, 12.5, fill="here" if here else "ink", bold=here)
        canvas.touch(x, y, wide - 6, 26, name, on=here, **{control: name})


def draw_found(question: str, found: Found, how: str) -> View:
    """What was found for a question in one of several ways, the nearest first, each with its cosine as a bar."""
    canvas = Phone(0)
    y = canvas.prose(8, 18, cut(question, 120), 13.5, fill="query", bold=True)
    draw_tabs(canvas, y, list(found), "how", how)
    y += 48
    for number, (one, cosine) in enumerate(found[how]):
        y = canvas.prose(8, y, cut(one, 120), 13, bold=not number) - 10
        canvas.rect(8, y, 270 * max(cosine, 0), 9, "data", data_id=f"bar {number}")
        canvas.text(14 + 270 * max(cosine, 0), y + 9, two_decimals(cosine), 12.5, "start")
        y += 30
    ask = "Describe a proverb without its words: is it found first?"
    canvas.text(8, y, ask, 12, "start", "quiet")
    canvas.height = round(y + 12)
    listed = "; ".join(f"{one} ({cosine:.2f})" for one, cosine in found[how])
    return canvas.view(f"{question} Nearest {how}: {listed}. {ask}")


def search(find: Callable[[str], Found], questions: Sequence[str]) -> Explorer:
    """Choose a description, or type one, and see which texts are nearest, in each way of searching.

    find: called with a question, returns for each way, by its name, the texts that it found with their cosines,
    nearest first."""
    require_list(questions=questions)
    ways = list(find(questions[0]))

    def draw(example, question, how):
        asked = " ".join(question.split())[:LONGEST]
        if not any(sign.isalnum() for sign in asked):
            return verdict("There is no description yet", False, ["Type at least one word."], 230)
        return draw_found(asked, find(asked), how)

    examples, typed = menu("example", list(questions), width="500px"), text("your words", questions[0], SAMPLES)
    follows = {"example": lambda example, state: {"question": example}}
    controls = {"example": examples, "question": typed, "how": menu("search", ways)}
    return Explorer(draw, controls, follows=follows, replaced=["how"])


# Heads
SHOWN = {"weight": "attends most to", "length of what is added": "gets most from"}
SHADES = ((0.12, "0.3"), (0.3, "0.6"), (0.6, "1"))  # a share from which a cell is drawn, and how deep
CELL = 27  # of the wall: one head


def draw_small_map(canvas: Phone, x: float, y: float, shares: np.ndarray) -> None:
    """Who looks at whom, shares (n, n), as a small picture: a row for each query."""
    n = len(shares)
    pitch = (CELL - 4) / n
    for (low, depth), (high, _) in zip(SHADES, (*SHADES[1:], (2, ""))):
        cells = np.argwhere((shares >= low) & (shares < high))
        if len(cells):
            path = "".join(f"M{x + pitch * k:.1f} {y + pitch * (q + 0.5):.1f}h{pitch:.1f}" for q, k in cells.tolist())
            canvas.add("path", d=path, stroke="weight", stroke_width=pitch, opacity=depth)


def draw_wall(canvas: Phone, top: float, shares: np.ndarray, layer: int, head: int) -> float:
    """A small map for each head, a row for each layer, shares (layers, h, n, n); the chosen one is framed, a click
    sets the controls `layer` and `head`, both from 1. Returns where the next thing can stand."""
    left = 350 - CELL * len(shares[0])
    for row, maps in enumerate(shares, start=1):
        y = top + CELL * (row - 1)
        canvas.text(8, y + 18, row, 12, "start", "ink" if row == layer else "quiet", row == layer)
        for column, one in enumerate(maps, start=1):
            x, here = left + CELL * (column - 1), (row, column) == (layer, head)
            frame = {"stroke": "here", "stroke_width": 2.5} if here else {"stroke": "edge"}
            canvas.rect(x + 0.5, y + 0.5, CELL - 1, CELL - 1, "ground", rx=2, **frame)
            draw_small_map(canvas, x + 2, y + 2, one)
            canvas.touch(x, y, CELL, CELL, f"layer {row}, head {column}", "heads", here, layer=row, head=column)
    return top + CELL * len(shares)


def draw_look(pieces: Sequence[str], shares: np.ndarray, chosen: int, shown: str, layer: int, head: int) -> View:
    """All heads as small maps, shares (layers, h, n, n), and of one layer and head, counted from 1, an arc from piece
    number `chosen` to each other as thick as its share."""
    pitch, title, row = 22, f"layer {layer}, head {head}", shares[layer - 1, head - 1, chosen]
    canvas = Phone(104 + CELL * len(shares) + pitch * len(pieces))
    canvas.text(8, 18, title, 14, "start", bold=True)
    canvas.hint(350, 18, "click a map or a word", "end")
    top = draw_wall(canvas, 28, shares, layer, head) + 36
    canvas.text(8, top - 12, f"bars: {shown}, in % of the row", 12, "start", "quiet")
    draw_attending(canvas, top, pieces, row, chosen, pitch)
    most = ", ".join(f"{pieces[k]} {row[k]:.0%}" for k in largest(row, 2))
    first = largest(row)[0]
    before = 0 < chosen == first + 1
    sign, role = ("✔", "right") if before else ("○", "quiet")
    task = f"{sign} Find a head that looks one piece back."
    canvas.text(8, top + 22 + pitch * len(pieces), task, 12, "start", role)
    return canvas.view(f"{title}, {shown}. {pieces[chosen]} {SHOWN[shown]} {most}. {task}")


def published_heads(
    look: Callable[[str], tuple[Sequence[str], Tensor, Tensor]], sentences: Sequence[str], word: str,
    layer: int, head: int,
) -> Explorer:  # fmt: skip
    """Choose a sentence, or type one, and see where all heads look, or how much they add of what they see.

    look: called with a sentence, returns its n pieces, weights and lengths, (layers, h, n, n) each. `word` is a piece
    of the first sentence, with layer and head, both from 1, what is shown first."""
    require_list(sentences=sentences)

    look = functools.lru_cache(16)(look)  # the encoder reads a sentence once, not for every head

    def draw(example, sentence, chosen, layer, head, shown):
        pieces, weights, lengths = look(" ".join(sentence.split())[:LONGEST])
        if len(pieces) < 3:
            return verdict("This sentence cannot be read", False, ["Type at least one word."], 240)
        if len(pieces) > MOST_PIECES:
            said = f"{len(pieces)} pieces are too many for one picture: up to {MOST_PIECES}, please."
            return verdict("This sentence cannot be read", False, [said], 240)
        chosen = min(chosen, len(pieces) - 1)
        numbers = as_numbers(weights if shown == "weight" else lengths, 4)
        return draw_look(pieces, numbers / numbers.sum(-1, keepdims=True), chosen, shown, layer, head)

    def pieces_of(sentence, _state):
        pieces = look(" ".join(sentence.split())[:LONGEST])[0][:MOST_PIECES]
        chosen = pieces.index(word) if word in pieces else min(1, len(pieces) - 1)
        return {"chosen": Options([(cut(one, 30), number) for number, one in enumerate(pieces)], chosen)}

    tries = ("", "the " * 30, "Unbelievable!")
    examples, typed = menu("example", list(sentences), width="500px"), text("sentence", sentences[0], tries)
    words = menu("piece", *pieces_of(sentences[0], {})["chosen"])
    _, weights, _ = look(sentences[0])
    layers = menu("layer", list(range(1, len(weights) + 1)), layer)
    heads = menu("head", list(range(1, len(weights[0]) + 1)), head)
    controls = {"example": examples, "sentence": typed, "chosen": words, "layer": layers, "head": heads}
    follows = {"example": lambda example, state: {"sentence": example}, "sentence": pieces_of}
    controls["shown"] = menu("bars", list(SHOWN))
    return Explorer(draw, controls, follows=follows, replaced=["chosen", "layer", "head"])


# How pairs find each other
Snapshots = Mapping[str, Sequence[tuple[int, Tensor]]]  # {training: [(after so many steps, cosines (n, n)), …]}


def softmax_rows(scores: np.ndarray) -> np.ndarray:
    """The softmax of each row (n, n)."""
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def draw_contrast(
    texts: Sequence[str], partners: Sequence[str], shares: np.ndarray, row: int, step: int,
    kinds: Sequence[str], kind: str,
) -> View:  # fmt: skip
    """Each text's shares (n, n) of all partners as a square of cells; below, those of one row with its sentences."""
    n, cell = len(texts), 40
    canvas = Phone(142 + (cell + 30) * n)
    draw_tabs(canvas, 6, kinds, "kind", kind)
    canvas.text(8, 56, f"after {step} steps", 14, "start", bold=True)
    canvas.hint(348, 56, "click a row", "end")
    left, top = 348 - cell * n, 84
    for k in range(n):
        canvas.text(left + cell * (k + 0.5) - 1, top - 5, k + 1, 12, fill="quiet")
    for q in range(n):
        y = top + cell * q
        canvas.text(left - 10, y + 25, q + 1, 13, "end", "here" if q == row else "ink", q == row)
        for k in range(n):
            letters = canvas.shade(left + cell * k, y, cell - 2, cell - 2, "weight", shares[q, k])
            canvas.text(left + cell * (k + 0.5) - 1, y + 24, f"{shares[q, k]:.0%}", 12, fill=letters, bold=q == k)
        canvas.touch(left - 26, y, cell * n + 26, cell, f"row {q + 1}, {texts[q]}", group="rows", on=q == row, row=q)
    canvas.frame(left, top + cell * row, cell * n - 2, cell - 2)
    y = top + cell * n + 20
    canvas.text(8, y, f"{row + 1}  {texts[row]}", 13, "start", "query", True)
    for k, partner in enumerate(partners):
        at = y + 24 + 30 * k
        canvas.text(8, at, f"{k + 1}  {partner}", 12, "start", bold=k == row)
        canvas.rect(8, at + 5, 290 * shares[row, k], 6, "weight", data_id=f"share {k}")
        canvas.text(348, at, f"{shares[row, k]:.0%}", 12, "end", bold=k == row)
    right = sum(largest(shares[q])[0] == q for q in range(n))
    task = f"{'✔' if right == n else '○'} {right} of {n} rows have most on their own partner."
    canvas.text(8, y + 24 + 30 * n, task, 12.5, "start", "right" if right == n else "quiet")
    listed = ", ".join(f"{partner} {share:.0%}" for partner, share in zip(partners, shares[row]))
    return canvas.view(f"{kind}, after {step} steps. Row {row + 1}, {texts[row]}: {listed}. {task}")


def contrast(texts: Sequence[str], partners: Sequence[str], snapshots: Snapshots, scale: float) -> Explorer:
    """Watch n texts find their partners while an encoder learns: the softmax of each row of scale · cosines.

    snapshots: for each training, by its name, how many steps it has made, and the cosines (n, n) of texts and partners
    then; all of them after the same numbers of steps. ▶ plays the steps."""
    require_list(texts=texts, partners=partners)
    kinds = list(snapshots)
    if len({tuple(step for step, _ in one) for one in snapshots.values()}) != 1:
        raise ValueError("each training should have snapshots after the same numbers of steps")

    def draw(moment, kind, row):
        step, cosines = snapshots[kind][moment - 1]
        return draw_contrast(texts, partners, softmax_rows(scale * as_numbers(cosines, 2)), row, step, kinds, kind)

    controls = {
        "moment": slider("moment", 1, 1, len(snapshots[kinds[0]])),
        "kind": menu("training", kinds),
        "row": menu("row", [(text, number) for number, text in enumerate(texts)]),
    }
    return Explorer(draw, controls, replaced=["kind", "row"], pace=900)
