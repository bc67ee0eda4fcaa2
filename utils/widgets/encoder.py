"""The encoder: waves of positions, and the heads of a trained encoder."""

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike

from ..checks import require_list
from ..plots import as_numbers, largest
from ..style import WAVES
from ..transformer import sinusoidal_positions
from ..vocabulary import Vocabulary
from .canvas import Phone, View, cut, draw_attending, draw_heads, verdict
from .controls import Explorer, Options, menu, slider, text

# Waves of positions


def turned(table: np.ndarray, pair: int, shift: int) -> float:
    """By how many degrees columns 2·pair and 2·pair + 1 of a table of positions (n, d), a sine and its cosine, turn
    over `shift` positions; more than 360 where they go round."""
    sine, cosine = table[1, 2 * pair : 2 * pair + 2]  # at position 1: one step from the angle 0
    return shift * math.degrees(math.atan2(sine, cosine))


def draw_table(canvas: Phone, table: np.ndarray, marked: Sequence[tuple[int, str, str]]) -> None:
    """The table (n, d) as colours, a row for each position; triangles point at two rows from both sides, the first has
    its name on the left, the second on the right: (row, colour, name)."""
    (n, d), (left, top, wide, tall) = table.shape, (26, 26, 282, 216)
    height = tall / n
    canvas.text(left, 18, f"{n} positions (down), {d} columns (across)", 12.5, "start", bold=True)
    canvas.pixels(left, top, wide, tall, WAVES((table + 1) / 2)[..., :3])
    for (row, colour, name), x, side in zip(marked, (left - 13, left + wide + 13), ("end", "start")):
        y = top + height * (row + 0.5)
        canvas.add("polygon", points=f"{left - 10},{y - 4:.1f} {left - 10},{y + 4:.1f} {left - 1},{y:.1f}", fill=colour)
        end = left + wide
        canvas.add("polygon", points=f"{end + 10},{y - 4:.1f} {end + 10},{y + 4:.1f} {end + 1},{y:.1f}", fill=colour)
        canvas.text(x, y + 4, name, 12, side, colour, bold=True)


def draw_clocks(canvas: Phone, table: np.ndarray, position: int, other: int) -> list[str]:
    """Four pairs of columns as hands of a clock, at two positions; returns in words by how much each pair turns."""
    half, said = table.shape[1] // 2, []
    for number, pair in enumerate(sorted({round(i * (half - 1) / 3) for i in range(4)})):
        x, y = 46 + 88 * number, 296
        canvas.add("circle", cx=x, cy=y, r=36, fill="none", stroke="edge", stroke_width=2)
        for row, colour in ((position, "ink"), (other, "here")):
            sine, cosine = table[row, 2 * pair : 2 * pair + 2]
            canvas.arrow(x, y, float(x + 33 * sine), float(y - 33 * cosine), colour, 2.5)
        angle = turned(table, pair, other - position)
        said.append(f"columns {2 * pair} and {2 * pair + 1} by {angle:.1f}°")
        canvas.text(x, y + 52, f"{2 * pair} and {2 * pair + 1}", 12)
        canvas.text(x, y + 69, f"{angle:.1f}°", 12.5, fill="here", bold=True)
    canvas.text(6, 256, "pairs of columns as hands: p, and p + s", 12.5, "start", bold=True)
    return said


def draw_products(canvas: Phone, dots: np.ndarray, position: int, other: int) -> None:
    """The dot product of one position with each position, dots (n,), as bars."""
    canvas.text(6, 392, "dot product of p with each position", 12.5, "start", bold=True)
    canvas.text(6, 410, f"with itself {dots[position]:.2f}, with p + s {dots[other]:.2f}", 12.5, "start", "here")
    canvas.line(6, 492, 350, 492, "quiet")
    step = 344 / len(dots)
    for row, value in enumerate(dots):
        tall, colour = 70 * float(value) / dots.max(), "ink" if row == position else "here" if row == other else "data"
        canvas.rect(6 + step * row + 0.5, 492 - max(tall, 0), step - 1, abs(tall), colour)
        if row % 4 == 0:
            canvas.text(6 + step * (row + 0.5), 507, row, 11)


def draw_waves(d_model: int, position: int, shift: int) -> View:
    """The waves of 36 positions (36, d_model), d_model even; two rows, `shift` apart, are marked. Below it four pairs
    of columns as hands of a clock, at both positions; then the dot product of one position with all others."""
    table, other, canvas = as_numbers(sinusoidal_positions(36, d_model), 2), position + shift, Phone(554)
    dots = table @ table[position]
    draw_table(canvas, table, ((position, "ink", "p"), (other, "here", "p+s")))
    hands = draw_clocks(canvas, table, position, other)
    draw_products(canvas, dots, position, other)
    found = dots[other] < dots[position] / 2
    sign, role = ("✔", "right") if found else ("○", "quiet")
    task = f"{sign} Find an s that makes the product less than half of that with itself. Does p matter?"
    canvas.prose(6, 528, task, fill=role)
    return canvas.view(
        f"Positions p = {position} and p + s = {other} of {len(table)}, {table.shape[1]} columns: "
        f"dot product {dots[other]:.2f}, with itself {dots[position]:.2f}. "
        f"From one to the other the hands turn: {'; '.join(hands)}. {task}"
    )


def position_waves() -> Explorer:
    """Sinusoidal positions: choose d_model, a position and a shift, and see both rows, how far each pair of columns
    turns, and the dot product with every position."""
    controls = {
        "d_model": slider("d_model", 16, 4, 32, 2),
        "position": slider("position p", 4, 0, 23),
        "shift": slider("shift s", 1, 0, 12),
    }
    return Explorer(draw_waves, controls, plays="shift")


# Heads
MOST_IN_A_PICTURE = 20  # words; more would be too small to read


def sentence_of_words(sentence: str, vocabulary: Vocabulary) -> list[str]:
    """The words of a typed sentence, or a ValueError in plain words: none, too many, special tokens, unknown ones."""
    given = sentence.lower().split()
    if not given:
        raise ValueError("Type at least one word.")
    if len(given) > MOST_IN_A_PICTURE:
        raise ValueError(f"{len(given)} words are too many for one picture: up to {MOST_IN_A_PICTURE}, please.")
    special = [token for token in vocabulary.words[:4] if token in given]
    if special:
        are = "are special tokens, not words: leave them" if special[1:] else "is a special token, not a word: leave it"
        raise ValueError(f"{' and '.join(special)} {are} out.")
    vocabulary.encode([cut(word, 30) for word in given], strict=True)
    return given


def draw_tagged(
    words: Sequence[str], weights: Sequence[ArrayLike], chosen: int, tags: Sequence[str | None], layer: int, head: int
) -> View:
    """Words of a sentence, each with its tag (None: it was not trained to have one); from word number `chosen` an arc
    to each word, as thick as its weight in this head. weights: (h, n, n) for each layer; layer and head from 1."""
    row, pitch, title = as_numbers(weights[layer - 1][head - 1], 2)[chosen], 22, f"layer {layer}, head {head}"
    canvas = Phone(122 + 25 * len(weights) + pitch * len(words))
    canvas.text(8, 18, title, 14, "start", bold=True)
    canvas.hint(350, 18, "click a head or a word", "end")
    top = draw_heads(canvas, 28, len(weights), len(weights[0]), layer, head) + 22
    canvas.text(350, top - 4, "tag", 12, "end", "quiet")
    draw_attending(canvas, top, words, row, chosen, pitch)
    for number, tag in enumerate(tags):
        y = top + pitch * (number + 0.5) + 5
        canvas.text(350, y, tag or "–", 13, "end", "ink" if tag else "quiet", bold=bool(tag))
    foot = "–: a word that was not trained to have a tag"
    canvas.text(8, top + 24 + pitch * len(words), foot, 12, "start", "quiet")
    ask = "Which head of which layer finds the subject?"
    canvas.prose(8, top + 46 + pitch * len(words), ask, 12, fill="quiet")
    most = ", ".join(f"{words[k]} {row[k]:.0%}" for k in largest(row, 2))
    tag = f"its tag is {tags[chosen]}" if tags[chosen] else "it gets no tag"
    return canvas.view(f"{title}. {words[chosen]} attends most to {most}; {tag}. {ask}")


def head_browser(
    tagger: Callable, vocabulary: Vocabulary, tags: Sequence[str], tagged: Collection[str],
    sentences: Sequence[str], word: str, layer: int, head: int,
) -> Explorer:  # fmt: skip
    """Choose one of some sentences, or type one, and see where each head of each layer looks, and the words' tags.

    tagger: called with token ids (1, n), returns logits (1, n, tags) and the weights (1, h, n, n) of each layer.
    tagged: the words that it was trained to give a tag. `word` is one of the first sentence, with layer and head, both
    from 1, what is shown first."""
    require_list(tags=tags, tagged=tagged, sentences=sentences)

    @torch.no_grad()
    def run(words):
        return tagger(torch.tensor([vocabulary.encode(words)]))

    def draw(example, sentence, chosen, layer, head):
        try:
            given = sentence_of_words(sentence, vocabulary)
        except ValueError as problem:
            return verdict("This sentence cannot be read", False, [str(problem)], 240)
        logits, weights = run(given)
        best, chosen = logits[0].argmax(-1), min(chosen, len(given) - 1)
        named = [tags[k] if one in tagged else None for one, k in zip(given, best)]
        return draw_tagged(given, [one[0] for one in weights], chosen, named, layer, head)

    def words_of(sentence, _state):
        given = sentence.lower().split()[:MOST_IN_A_PICTURE]
        options = [(cut(one, 30), number) for number, one in enumerate(given)] or [("", 0)]
        return {"chosen": Options(options, given.index(word) if word in given else 0)}

    given = sentences[0].split()
    tries = (" ".join(given[::-1]), " ".join(given[1:]), given[0].upper(), f"{given[0]}x {given[-1]}", "</s> <s>")
    examples, typed = menu("example", list(sentences), width="500px"), text("sentence", sentences[0], tries)
    words = menu("word", *words_of(sentences[0], {})["chosen"])
    _, weights = run(given)
    layers = menu("layer", list(range(1, len(weights) + 1)), layer)
    heads = menu("head", list(range(1, len(weights[0][0]) + 1)), head)
    controls = {"example": examples, "sentence": typed, "chosen": words, "layer": layers, "head": heads}
    follows = {"example": lambda example, state: {"sentence": example}, "sentence": words_of}
    return Explorer(draw, controls, follows=follows, replaced=["chosen", "layer", "head"])
