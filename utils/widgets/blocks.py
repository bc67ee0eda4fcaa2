"""Notebooks 06 and 07, drawings: which numbers a norm takes together, a block before and after, what two layers do
together; an encoder and a decoder side by side."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..plots import as_numbers
from .canvas import Canvas, View, two_decimals

# Which numbers a norm takes together


def draw_grouped(canvas: Canvas, left: float, numbers: np.ndarray, words: Sequence[str], rows: bool) -> list[float]:
    """A table (n, d) in which the rows, or else the columns, are framed, each with its mean; returns the means."""
    top, wide, tall, (n, d) = 84, 54, 34, numbers.shape
    limit, means = np.abs(numbers).max(), numbers.mean(-1 if rows else 0)
    for (row, column), value in np.ndenumerate(numbers):
        canvas.cell(left + wide * column, top + tall * row, wide, tall, value, limit, "signed")
    for row, word in enumerate(words):
        canvas.text(left - 10, top + tall * (row + 0.5) + 5, word, 14, "end")
    for number, mean in enumerate(means):
        frame = (left, top + tall * number, wide * d, tall) if rows else (left + wide * number, top, wide, tall * n)
        canvas.rect(frame[0] + 2, frame[1] + 2, frame[2] - 4, frame[3] - 4, stroke="here", stroke_width=3, rx=6)
        x, y = (left + wide * d + 34, frame[1] + 22) if rows else (frame[0] + wide / 2, top + tall * n + 24)
        canvas.text(x, y, two_decimals(mean), 14, fill="here", bold=True)
    x, y = (left + wide * d + 34, top - 10) if rows else (left - 10, top + tall * n + 24)
    canvas.text(x, y, "mean", 14, "middle" if rows else "end", "here")
    return means.tolist()


def norm_axes(words: Sequence[str], x: ArrayLike) -> View:
    """The vectors x (n, d) of some words twice: which numbers layer norm takes together, and which batch norm."""
    numbers = as_numbers(x, 2)
    canvas, said = Canvas(960, 140 + 34 * len(words)), []
    sides = (
        (90, "Layer norm: each row, one word, by itself", True),
        (560, "Batch norm: each column, over all words", False),
    )
    for left, title, rows in sides:
        canvas.text(left, 28, title, 16, "start", bold=True)
        canvas.text(left, 54, "entries of a vector: across; words: down", 13, "start", "quiet")
        means = draw_grouped(canvas, left, numbers, words, rows)
        said.append(f"{title}; means {', '.join(map(two_decimals, means))}.")
    return canvas.view(" ".join(said))


# Where the norm stands

STEPS = (("attention", "norm 1"), ("feed-forward", "norm 2"))


def draw_station(canvas: Canvas, x: float, y: float, name: str, colour: str = "ink") -> None:
    """A box 128 wide around its middle, with a name in it."""
    canvas.rect(x - 64, y - 19, 128, 38, "ground", stroke=colour, stroke_width=2, rx=7)
    canvas.text(x, y + 5, name, 14.5, fill=colour, bold=True)


def draw_plus(canvas: Canvas, x: float, y: float) -> None:
    canvas.add("circle", cx=x, cy=y, r=15, fill="ground", stroke="ink", stroke_width=2)
    canvas.text(x, y + 7, "+", 20, bold=True)


def draw_stream(canvas: Canvas, top: float, pre: bool) -> list[str]:
    """The stream of one block as a line from left to right, and below it what reads from it; returns what stands on
    the stream, in order."""
    canvas.text(14, top, "x", 17, bold=True)
    canvas.arrow(28, top - 5, 946, top - 5, "data", 5)
    y, below, on_it = top - 5, top + 72, []
    for number, (sublayer, norm) in enumerate(STEPS):
        left = 40 + 450 * number
        chain = [norm, sublayer] if pre else [sublayer]
        middles = [left + 110, left + 268] if pre else [left + 150]
        back = left + (366 if pre else 250)
        canvas.line(left + 20, y, left + 20, below, "quiet", 2)
        for begin, x in zip([left + 20, *(middle + 64 for middle in middles)], middles):
            canvas.arrow(begin, below, x - 64, below, "quiet", 2)
        canvas.line(middles[-1] + 64, below, back, below, "quiet", 2)
        canvas.arrow(back, below, back, y + 15, "quiet", 2)
        for name, x in zip(chain, middles):
            draw_station(canvas, x, below, name, "here" if name == norm else "ink")
        draw_plus(canvas, back, y)
        on_it.append("+")
        if not pre:
            draw_station(canvas, back + 108, y, norm, "here")
            on_it.append(norm)
    return on_it


def norm_orders() -> View:
    """A block in post-norm and in pre-norm: the stream from x to the output, and what reads from it and adds to it."""
    canvas, said = Canvas(960, 346), []
    for top, name, pre in ((72, "post-norm, 2017", False), (240, "pre-norm, most models of today", True)):
        canvas.text(14, top - 40, name, 16, "start", bold=True)
        said.append(f"{name}: on the stream from x to the output stand {', '.join(draw_stream(canvas, top, pre))}")
    reads = "below it attention and feed-forward read from the stream and write back at the +"
    return canvas.view(f"A block. {said[0]}; {reads}. {said[1]}; each norm stands below it, before what it feeds.")


# Induction


def induction_arrows(symbols: Sequence[str]) -> View:
    """What two layers do at the last of some symbols, which occurred before: layer 1 writes at each place which symbol
    stands before it; layer 2 looks for the place that has the last symbol written there. ValueError: it is new."""
    last, before = len(symbols) - 1, list(symbols[:-1])
    if symbols[-1] not in before:
        raise ValueError(f"{symbols[-1]!r} does not occur twice in {' '.join(symbols)}: there is nothing to go on with")
    target = before.index(symbols[-1]) + 1
    wide, y = min(100, 900 // (last + 2)), 150
    left = 480 - wide * (last + 1) / 2
    canvas, middle = Canvas(960, 280), [left + wide * number for number in range(len(symbols) + 1)]
    begin, end = middle[last], middle[target]
    path = f"M{begin:.0f} {y - 24} C{begin:.0f} 30 {end:.0f} 30 {end:.0f} {y - 32}"
    canvas.add("path", d=path, fill="none", stroke="weight", stroke_width=4)
    canvas.arrow(end, y - 40, end, y - 24, "weight", 4)
    canvas.text((begin + end) / 2, 42, f"layer 2: who has “{symbols[-1]} before me” written on it?", 15, fill="weight")
    for number, (x, symbol) in enumerate(zip(middle, [*symbols, "?"])):
        edge = "weight" if number in (last, target) else "edge"
        canvas.rect(x - 26, y - 24, 52, 48, "ground", stroke=edge, stroke_width=3, rx=7)
        canvas.text(x, y + 8, symbol, 22, fill="here" if symbol == "?" else "ink", bold=True)
    for number in sorted(range(1, last + 1), key=lambda number: number == target):  # the one that counts on top
        x, colour, width = middle[number], *(("key", 4.0) if number == target else ("edge", 2.5))
        path = f"M{x:.0f} {y + 26} C{x:.0f} {y + 66} {x - wide:.0f} {y + 66} {x - wide:.0f} {y + 38}"
        canvas.add("path", d=path, fill="none", stroke=colour, stroke_width=width)
        canvas.arrow(x - wide, y + 39, x - wide, y + 25, colour, width)
        fill = "ink" if number == target else "quiet"
        canvas.text(x, y + 82, f"{symbols[number - 1]} before me", 12.5, fill=fill, bold=number == target)
    canvas.text(480, y + 114, "layer 1: each place looks one back, and notes what it finds there", 15)
    return canvas.view(
        f"The string {' '.join(symbols)} and a question mark. Layer 1: each place looks one place back and notes the "
        f"symbol there. Layer 2: from the last place, {symbols[-1]}, to place {target + 1}, where "
        f"“{symbols[target - 1]} before me” is noted: it holds {symbols[target]}, the answer."
    )


# Encoder and decoder

READS, WRITES = 215.0, 715.0  # the middles of the encoder and of the decoder
FIRST, SECOND, THIRD = 424.0, 316.0, 208.0  # the middles of their layers, from the bottom up


def draw_words(canvas: Canvas, x: float, y: float, words: Sequence[str], colour: str) -> None:
    """Words side by side around the middle x, so that those above and below each other belong together."""
    for number, word in enumerate(words):
        canvas.text(x + min(72, 360 / len(words)) * (number - (len(words) - 1) / 2), y, word, 15, fill=colour)


def draw_layer(canvas: Canvas, x: float, y: float, name: str, about: str, colour: str) -> None:
    """A box 310 wide around its middle, with a name and what it sees in it."""
    canvas.rect(x - 155, y - 28, 310, 56, "ground", stroke=colour, stroke_width=2.5, rx=8)
    canvas.text(x, y - 4, name, 15.5, fill=colour, bold=True)
    canvas.text(x, y + 17, about, 13, fill="ink")


def draw_side(
    canvas: Canvas, x: float, name: str, words: Sequence[str], colour: str, layers: dict[float, tuple]
) -> None:
    """Words at the bottom, an embedding, and a block of layers {middle: (name, what it sees)}."""
    canvas.text(x, 612, name, 16, fill=colour, bold=True)
    draw_words(canvas, x, 584, words, "ink")
    canvas.arrow(x, 566, x, 542, "quiet", 2)
    canvas.rect(x - 100, 506, 200, 34, "ground", stroke="quiet", stroke_width=2, rx=8)
    canvas.text(x, 528, "embedding, positions", 14)
    canvas.rect(
        x - 180, min(layers) - 46, 360, FIRST - min(layers) + 92, "raised", stroke="edge", stroke_width=2, rx=12
    )
    canvas.text(x + 186, min(layers) - 26, "× N", 15, "start", "quiet")
    for below, (y, (layer, about)) in zip([506.0, *(middle - 28 for middle in layers)], layers.items()):
        canvas.arrow(x, below, x, y + 30, "quiet", 2)
        draw_layer(canvas, x, y, layer, about, colour)


def draw_memory(canvas: Canvas, count: int) -> None:
    """One box a source word above the encoder, and from them the way to the cross-attention."""
    wide, top = min(58.0, 300 / count), SECOND - 114
    canvas.arrow(READS, SECOND - 28, READS, top + 38, "quiet", 2)
    for number in range(count):
        left = READS + wide * (number - count / 2)
        canvas.rect(left + 3, top, wide - 6, 34, "ground", stroke="value", stroke_width=2.5, rx=6)
        canvas.text(left + wide / 2, top + 22, f"m{str(number + 1).translate(LOW)}", 14, fill="value", bold=True)
    canvas.text(READS, top - 14, "the memory M: one row for each source token", 14, fill="value")
    bend, end, y = 440, WRITES - 157, top + 17
    canvas.line(READS + wide * count / 2, y, bend, y, "value", 3.5)
    canvas.line(bend, y - 1.5, bend, SECOND + 1.5, "value", 3.5)
    canvas.arrow(bend, SECOND, end, SECOND, "value", 3.5)
    canvas.text(bend + 48, SECOND - 12, "K and V", 16, fill="value", bold=True)


LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def encoder_and_decoder(source: Sequence[str], target: Sequence[str]) -> View:
    """An encoder that reads the source words, and a decoder that reads `<s>` and the target words, and writes these and
    `</s>`: what each layer sees, and where the queries, keys and values of the cross-attention come from."""
    canvas, reads, writes = Canvas(960, 626), ["<s>", *target], [*target, "</s>"]
    everything = {FIRST: ("self-attention", "each token sees all of the source")}
    everything |= {SECOND: ("feed-forward", "each word by itself")}
    draw_side(canvas, READS, "encoder: reads", [*source, "</s>"], "value", everything)
    step_by_step = {FIRST: ("causal self-attention", "each word sees those up to itself")}
    step_by_step |= {SECOND: ("cross-attention", "each token sees all of the source")}
    step_by_step |= {THIRD: ("feed-forward", "each word by itself")}
    draw_side(canvas, WRITES, "decoder: writes", reads, "query", step_by_step)
    draw_memory(canvas, len(source) + 1)
    canvas.text(WRITES + 14, (FIRST + SECOND) / 2 + 6, "Q", 16, "start", "query", bold=True)
    canvas.arrow(WRITES, THIRD - 28, WRITES, THIRD - 70, "quiet", 2)
    canvas.rect(WRITES - 100, THIRD - 106, 200, 34, "ground", stroke="quiet", stroke_width=2, rx=8)
    canvas.text(WRITES, THIRD - 84, "output layer", 14)
    canvas.arrow(WRITES, THIRD - 106, WRITES, THIRD - 136, "quiet", 2)
    draw_words(canvas, WRITES, THIRD - 148, writes, "here")
    return canvas.view(
        f"Left, the encoder reads {' '.join(source)} </s>: self-attention, feed-forward; its output is the memory, "
        f"{len(source) + 1} rows. Right, the decoder reads {' '.join(reads)}: causal self-attention, cross-attention, "
        f"feed-forward, output layer; it writes {' '.join(writes)}. The queries of the cross-attention come from "
        "below, from the decoder, its keys and values from the memory."
    )
