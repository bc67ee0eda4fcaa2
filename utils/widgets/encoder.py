"""Notebook 06: waves of positions, a walk through an encoder block, and the heads of a trained encoder."""

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ..plots import as_numbers, largest
from ..style import WAVES
from ..transformer import EncoderBlock, sinusoidal_positions
from ..vocabulary import Vocabulary
from .canvas import Canvas, Phone, View, cut, draw_attending, two_decimals, verdict
from .controls import Explorer, checkbox, menu, slider, text

# Waves of positions


def turned(table: np.ndarray, pair: int, shift: int) -> float:
    """By how many degrees columns 2·pair and 2·pair + 1 of a table of positions (n, d), a sine and its cosine, turn
    over `shift` positions; more than 360 where they go round."""
    sine, cosine = table[1, 2 * pair : 2 * pair + 2]  # at position 1: one step from the angle 0
    return shift * math.degrees(math.atan2(sine, cosine))


def draw_table(canvas: Phone, table: np.ndarray, framed: Sequence[tuple[int, str, str]]) -> None:
    """The table (n, d) as colours, a row for each position; framed rows: (row, colour, name)."""
    (n, d), (left, top, wide, tall) = table.shape, (26, 26, 288, 216)
    height = tall / n
    canvas.text(left, 18, f"{n} positions (down), {d} columns (across)", 12.5, "start", bold=True)
    canvas.pixels(left, top, wide, tall, WAVES((table + 1) / 2)[..., :3])
    for (row, colour, name), x, side in zip(framed, (left - 5, left + wide + 5), ("end", "start")):
        place = left - 1, top - 1 + height * row, wide + 2, height + 2
        canvas.rect(*place, "none", stroke=colour, stroke_width=2)
        canvas.text(x, top + height * (row + 0.5) + 4, name, 12, side, colour, bold=True)


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
    """The waves of 36 positions (36, d_model), d_model even; two rows, `shift` apart, are framed. Below it four pairs
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


# Through a block
ORDERS = {  # stations, each with the number of the station from which a residual connection leads to it
    "pre": (("x", None), ("norm 1", None), ("attention", None), ("+", 0), ("norm 2", None), ("feed-forward", None))
    + (("+", 3),),
    "post": (("x", None), ("attention", None), ("+", 0), ("norm 1", None), ("feed-forward", None), ("+", 3))
    + (("norm 2", None),),
}


@torch.no_grad()
def block_stations(block: EncoderBlock, x: Tensor, norm: str, bypass: bool = True) -> list[Tensor]:
    """What x (n, d) is at each station of ORDERS[norm], (n, d) each; without `bypass` the residual connections are cut.

    The last one is block(x)[0] where block.norm is `norm`, the connections are there, and nothing is dropped."""
    sublayers = {
        "attention": lambda x: block.attention(x)[0],
        "feed-forward": block.feed_forward,
        "norm 1": block.norm_1,
        "norm 2": block.norm_2,
    }
    outputs = [x]
    for name, source in ORDERS[norm][1:]:
        if name == "+":
            outputs.append(outputs[-1] + outputs[source] if bypass else outputs[-1])
        else:
            outputs.append(sublayers[name](outputs[-1]))
    return outputs


def draw_stations(canvas: Canvas, stations: Sequence[tuple], step: int, bypass: bool) -> None:
    """A block as a row of stations, number `step` framed, with the residual connections above it."""
    width = 940 / len(stations)
    middle = [10 + width * (number + 0.5) for number in range(len(stations))]
    for number, ((name, source), x) in enumerate(zip(stations, middle)):
        here = number == step
        if number:
            canvas.arrow(middle[number - 1] + width / 2 - 13, 86, x - width / 2 + 13, 86, "quiet", 2)
        edge = {"stroke": "here" if here else "quiet", "stroke_width": 3 if here else 1, "rx": 6}
        canvas.rect(x - width / 2 + 14, 66, width - 28, 40, "raised" if here else "ground", **edge)
        canvas.text(x, 91, name, 13.5, bold=here)
        if source is not None:
            begin = middle[source] + 14
            drawn = {} if bypass else {"stroke_dasharray": "3 8", "opacity": "0.4"}
            path = f"M{begin:.0f} 65 C{begin:.0f} 22 {x:.0f} 22 {x:.0f} 64"
            canvas.add("path", d=path, fill="none", stroke="data", stroke_width=2.5, **drawn)
            canvas.text((begin + x) / 2, 26, "goes past" if bypass else "cut off", 13, fill="data")


def draw_rows(canvas: Canvas, left: float, title: str, numbers: np.ndarray) -> str:
    """The first three entries of each row (n, d), and its mean, deviation and length; returns their mean in words."""
    shown, limit, lengths = numbers[:, :3], np.abs(numbers).max(), np.linalg.norm(numbers, axis=-1)
    right = left + 58 * shown.shape[1] + 44
    canvas.text(left, 168, title, 14, "start", bold=True)
    canvas.text(left, 190, f"{shown.shape[1]} of {numbers.shape[1]} entries", 13, "start", "quiet")
    for column, heading in enumerate(("mean", "deviation", "length")):
        canvas.text(right + 72 * column, 190, heading, 13, fill="quiet")
    for (row, entry), value in np.ndenumerate(shown):
        canvas.cell(left + 58 * entry, 198 + 32 * row, 56, 28, value, limit, "signed")
    for row, measures in enumerate(zip(numbers.mean(-1), numbers.std(-1), lengths)):
        for column, value in enumerate(measures):
            canvas.text(right + 72 * column, 217 + 32 * row, two_decimals(value), 13.5)
    return f"{title}: rows of length {lengths.mean():.2f} on average"


def draw_block(words: Sequence[str], norm: str, outputs: Sequence[Tensor], step: int, bypass: bool) -> View:
    """A block as a row of stations, number `step` framed; below it what goes in and what comes out there.

    outputs: as `block_stations` returns them."""
    name, source = ORDERS[norm][step]
    does = {
        "attention": "every word takes from the others: the only station where rows mix",
        "feed-forward": "each row by itself: to d_ff entries, relu, and back",
        "+": f"what {'came in at x' if source == 0 else 'went past'} is added" if bypass else "nothing is added",
    }.get(name, "each row gets mean 0 and deviation 1")
    note, canvas = f"{norm}-norm, step {step}, {name}: {does}", Canvas(960, 212 + 32 * len(words))
    draw_stations(canvas, ORDERS[norm], step, bypass)
    canvas.text(10, 138, note, 14.5, "start")
    for row, word in enumerate(words):
        canvas.text(82, 217 + 32 * row, word, 14, "end")
    sides = (90, "goes in", outputs[step - 1]), (530, "comes out", outputs[step])
    said = [draw_rows(canvas, left, title, as_numbers(numbers, 2)) for left, title, numbers in sides]
    return canvas.view(f"{note}. {'; '.join(said)}.")


def block_stepper(words: Sequence[str], x: Tensor, block: EncoderBlock) -> Explorer:
    """Walk x (n, d) through an `EncoderBlock` station by station, in pre- or post-norm order, with the residual
    connections or without: what goes in, what comes out, and how long its rows are."""

    def draw(norm, step, bypass):
        return draw_block(words, norm, block_stations(block, x, norm, bypass), step, bypass)

    controls = {
        "norm": menu("norm", list(ORDERS)),
        "step": slider("step", 1, 1, 6),
        "bypass": checkbox("residual connections", True),
    }
    return Explorer(draw, controls)


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


def draw_tagged(words: Sequence[str], weights: ArrayLike, chosen: int, tags: Sequence[str | None], title: str) -> View:
    """Words of a sentence, each with its tag (None: it was not trained to have one); from word number `chosen` an arc
    to each word, as thick as its weight. weights (n, n)."""
    row, pitch = as_numbers(weights, 2)[chosen], 22
    canvas = Phone(84 + pitch * len(words))
    canvas.text(8, 18, title, 14, "start", bold=True)
    canvas.text(350, 38, "tag", 12, "end", "quiet")
    draw_attending(canvas, 42, words, row, chosen, pitch)
    for number, tag in enumerate(tags):
        y = 42 + pitch * (number + 0.5) + 5
        canvas.text(350, y, tag or "–", 13, "end", "ink" if tag else "quiet", bold=bool(tag))
    foot = "–: a word that was not trained to have a tag"
    canvas.text(8, 66 + pitch * len(words), foot, 12, "start", "quiet")
    most = ", ".join(f"{words[k]} {row[k]:.0%}" for k in largest(row, 2))
    tag = f"its tag is {tags[chosen]}" if tags[chosen] else "it gets no tag"
    return canvas.view(f"{title}. {words[chosen]} attends most to {most}; {tag}.")


def head_browser(
    tagger: Callable, vocabulary: Vocabulary, tags: Sequence[str], tagged: Collection[str],
    sentences: Sequence[str], word: str, layer: int, head: int,
) -> Explorer:  # fmt: skip
    """Choose one of some sentences, or type one, and see where each head of each layer looks, and the words' tags.

    tagger: called with token ids (1, n), returns logits (1, n, tags) and the weights (1, h, n, n) of each layer.
    tagged: the words that it was trained to give a tag. `word` is one of the first sentence, with layer and head, both
    from 1, what is shown first."""

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
        return draw_tagged(given, weights[layer - 1][0, head - 1], chosen, named, f"layer {layer}, head {head}")

    def offer(_change=None):
        given = typed.value.lower().split()[:MOST_IN_A_PICTURE]
        words.options = [(cut(one, 30), number) for number, one in enumerate(given)] or [("", 0)]
        words.value = given.index(word) if word in given else 0

    given = sentences[0].split()
    tries = (" ".join(given[::-1]), " ".join(given[1:]), given[0].upper(), f"{given[0]}x {given[-1]}", "</s> <s>")
    examples, typed = menu("example", list(sentences), width="500px"), text("sentence", sentences[0], tries)
    words = menu("word", [("", 0)])
    offer()
    typed.observe(offer, "value")
    examples.observe(lambda change: setattr(typed, "value", change["new"]), "value")
    _, weights = run(given)
    layers = menu("layer", list(range(1, len(weights) + 1)), layer)
    heads = menu("head", list(range(1, len(weights[0][0]) + 1)), head)
    controls = {"example": examples, "sentence": typed, "chosen": words, "layer": layers, "head": heads}
    return Explorer(draw, controls)
