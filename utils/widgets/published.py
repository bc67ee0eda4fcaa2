"""The notebook on a published encoder: search in the course's own text, and one's own sentence in the heads."""

import functools
from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor

from ..checks import require_list
from ..plots import as_numbers, largest
from .canvas import Phone, View, cut, draw_attending, draw_heads, two_decimals, verdict
from .controls import Explorer, Options, menu, text

MOST_PIECES = 20  # in a picture; more would be too small to read
LONGEST = 300  # signs of a question that are read
SAMPLES = ("", "why?", "How do I stop a model from looking ahead?")

# Search


def draw_found(question: str, found: Sequence[tuple[str, str, float]]) -> View:
    """What was found for a question, the nearest first: its file, title and cosine, as a link and a bar."""
    canvas = Phone(0)
    y = canvas.prose(8, 18, cut(question, 120), 13.5, fill="query", bold=True) + 8
    for file, title, cosine in found:
        canvas.shapes.append(f'<a href="{file}" target="_blank">')
        canvas.text(8, y + 4, cut(title, 44), 13, "start", "data", True, text_decoration="underline")
        canvas.shapes.append("</a>")
        canvas.text(8, y + 21, cut(file.removesuffix(".ipynb").replace("_", " "), 34), 12, "start", "quiet")
        canvas.rect(8, y + 28, 290 * max(cosine, 0), 10, "data")
        canvas.text(16 + 290 * max(cosine, 0), y + 38, two_decimals(cosine), 12.5, "start")
        y += 62
    ask = "Ask what you know the place of: is it found first?"
    canvas.text(8, y + 4, ask, 12, "start", "quiet")
    canvas.height = round(y + 14)
    listed = "; ".join(f"{title} ({cosine:.2f})" for _, title, cosine in found)
    return canvas.view(f"{question} Nearest: {listed}. {ask}")


def search(find: Callable[[str], Sequence[tuple[str, str, float]]], questions: Sequence[str]) -> Explorer:
    """Ask the course: choose a question, or type one, and see which sections are nearest.

    find: called with a question, returns (file of the notebook, title, cosine) of what was found, nearest first."""
    require_list(questions=questions)

    def draw(example, question):
        asked = " ".join(question.split())[:LONGEST]
        if not any(sign.isalnum() for sign in asked):
            return verdict("There is no question yet", False, ["Type at least one word."], 230)
        return draw_found(asked, find(asked))

    examples, typed = menu("example", list(questions), width="500px"), text("your question", questions[0], SAMPLES)
    follows = {"example": lambda example, state: {"question": example}}
    return Explorer(draw, {"example": examples, "question": typed}, follows=follows)


# Heads
SHOWN = {"weight": "attends most to", "length of what is added": "gets most from"}


def draw_look(
    pieces: Sequence[str], row: np.ndarray, chosen: int, shown: str, size: tuple[int, int], layer: int, head: int
) -> View:
    """The pieces of a sentence, from piece number `chosen` an arc to each other as thick as its share of row (n,);
    size: how many layers and heads there are, of which one each is chosen, from 1."""
    pitch, title = 22, f"layer {layer}, head {head}"
    canvas = Phone(96 + 25 * size[0] + pitch * len(pieces))
    canvas.text(8, 18, title, 14, "start", bold=True)
    canvas.hint(350, 18, "click a head or a word", "end")
    top = draw_heads(canvas, 28, *size, layer, head) + 32
    canvas.text(8, top - 12, f"bars: {shown}, in % of the row", 12, "start", "quiet")
    draw_attending(canvas, top, pieces, row, chosen, pitch)
    most = ", ".join(f"{pieces[k]} {row[k]:.0%}" for k in largest(row, 2))
    sign, role = ("✔", "right") if largest(row)[0] == len(pieces) - 1 else ("○", "quiet")
    task = f"{sign} Find a head that looks most at {pieces[-1]}."
    canvas.text(8, top + 22 + pitch * len(pieces), task, 12, "start", role)
    return canvas.view(f"{title}, {shown}. {pieces[chosen]} {SHOWN[shown]} {most}. {task}")


def published_heads(
    look: Callable[[str], tuple[Sequence[str], Tensor, Tensor]], sentences: Sequence[str], word: str,
    layer: int, head: int,
) -> Explorer:  # fmt: skip
    """Choose a sentence, or type one, and see where each head of each layer looks, or how much it adds of what it sees.

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
        row = as_numbers((weights if shown == "weight" else lengths)[layer - 1][head - 1], 2)[chosen]
        return draw_look(pieces, row / row.sum(), chosen, shown, (len(weights), len(weights[0])), layer, head)

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
