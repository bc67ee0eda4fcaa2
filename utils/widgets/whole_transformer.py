"""A whole Transformer with a sentence in it: every part can be clicked, and shows what it does to the word that is
read now, in the numbers of a trained model."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..decoder import TransformerTranslator
from ..masks import causal_mask, padding_mask
from ..plots import as_numbers, largest
from ..vocabulary import Vocabulary
from .board import width_of
from .canvas import Phone, View, cut
from .controls import Explorer, menu, slider
from .writing import LONGEST, best_first, named_largest, require_translator, steps_of_writing

PITCH, TALL, BOX = 33, 24, 142  # from one part to the next; how high and how wide its box is
SIDES = {"encoder": 12, "decoder": 192}  # where the stream of each side runs
STRIP, LABELS = 222, 82  # how wide a vector is drawn, and where it begins


class Part(NamedTuple):
    """What a part does to each of the n words of its side: their vectors before it and after it, after its norm, and
    what it adds, (n, d) each; the weights (h, n, k) with which it looks; None where there is no such thing."""

    name: str
    side: str
    before: np.ndarray | None
    normed: np.ndarray | None
    added: np.ndarray | None
    after: np.ndarray
    weights: np.ndarray | None = None


class Walk(NamedTuple):
    """The words that are read and written, all parts from the bottom up, and for each part of the decoder the
    probabilities (q, v) of the next word if the output layer came right after it; None for those of the encoder."""

    source: list[str]
    reads: list[str]
    writes: list[str]
    parts: list[Part]
    said: list[np.ndarray | None]


def numbers(x: Tensor | None, axes: int = 2) -> np.ndarray | None:
    return None if x is None else as_numbers(x[0], axes)


def through_block(block: torch.nn.Module, x: Tensor, layers: dict, side: str) -> tuple[Tensor, list[Part]]:
    """x (1, n, d) after a block, and its parts. layers: {name: (its norm, what it adds, with weights or None)}."""
    parts = []
    for name, (norm, layer) in layers.items():
        normed = norm(x)
        added, weights = layer(normed)
        parts.append(Part(name, side, *map(numbers, (x, normed, added, x + added)), numbers(weights, 3)))
        x = x + added
    return x, parts


@torch.no_grad()
def walk(translator: TransformerTranslator, words: Sequence[str], english: Vocabulary, spanish: Vocabulary) -> Walk:
    """The words through all parts of a pre-norm translator, with the translation that it writes greedily."""
    steps = steps_of_writing(translator, words, english, spanish)
    source = torch.tensor([english.encode(words, end=True, strict=True)])  # (1, k)
    ids = torch.tensor([spanish.encode(steps.reads[1:], start=True)])  # (1, q)
    encoder, writer = translator.encoder, translator.language_model
    mask, places = padding_mask(source), torch.arange(ids.shape[1])[None, None]
    x = encoder.embedding(source)  # (1, k, d)
    parts = [Part("source vectors", "encoder", None, None, None, numbers(x))]
    for number, block in enumerate(encoder.encoder.blocks, 1):
        x, found = through_block(block, x, {
            f"self-attention {number}": (block.norm_1, lambda y, block=block: block.attention(y, mask=mask)),
            f"feed-forward {number}": (block.norm_2, lambda y, block=block: (block.feed_forward(y), None)),
        }, "encoder")  # fmt: skip
        parts += found
    memory = encoder.encoder.final_norm(x)  # (1, k, d)
    parts.append(Part("memory", "encoder", numbers(x), None, None, numbers(memory)))
    x, causal = writer.embedding(ids, places[:, 0]), causal_mask(ids.shape[1])
    parts.append(Part("target vectors", "decoder", None, None, None, numbers(x)))
    for number, block in enumerate(writer.decoder.blocks, 1):
        own, cross = block.attention, block.cross_attention
        x, found = through_block(block, x, {
            f"self-attention {number}": (
                block.norm_1, lambda y, own=own: own.attend(y, own.keep(y, None, places), causal, places)
            ),
            f"cross-attention {number}": (
                block.norm_2, lambda y, cross=cross: cross.attend(y, cross.keep(memory), mask)
            ),
            f"feed-forward {number}": (block.norm_3, lambda y, block=block: (block.feed_forward(y), None)),
        }, "decoder")  # fmt: skip
        parts += found
    state = writer.decoder.final_norm(x)
    parts.append(Part("output layer", "decoder", numbers(x), numbers(state), None, numbers(state)))

    def read_out(part):
        after = torch.tensor(part.after, dtype=x.dtype)  # (q, d)
        state = after if part.name == "output layer" else writer.decoder.final_norm(after)
        return as_numbers(writer.to_logits(state).softmax(-1), 2)

    said = [read_out(part) if part.side == "decoder" else None for part in parts]
    return Walk(steps.source, steps.reads, steps.writes, parts, said)


def first_right(seen: Walk, row: int) -> int:
    """The part from which on the most probable word is the one that is written at last."""
    tops = [None if one is None else int(one[row].argmax()) for one in seen.said]
    number = len(tops) - 1
    while number and tops[number - 1] == tops[-1]:
        number -= 1
    return number


def looked_at(seen: Walk, row: int) -> int:
    """The source word that the last cross-attention looks at most."""
    last = [part for part in seen.parts if part.name.startswith("cross")][-1]
    return largest(last.weights.mean(0)[row])[0]


# Drawing


def heights(parts: Sequence[Part], top: float) -> list[float]:
    """The top of the box of each part, the first ones of both sides at the bottom."""
    sides = [part.side for part in parts]
    most = max(map(sides.count, SIDES))
    return [top + PITCH * (most - 1 - sides[:number].count(side)) for number, side in enumerate(sides)]


def draw_streams(canvas: Phone, seen: Walk, y_of: list[float]) -> None:
    """The stream of each side, the background of each block, and the way of the memory into the cross-attentions."""
    for side, x in SIDES.items():
        tops = [y for y, part in zip(y_of, seen.parts) if part.side == side]
        per_block = 2 if side == "encoder" else 3
        for start in range(1, len(tops) - 1, per_block):
            low, high = tops[start] + TALL, tops[start + per_block - 1]
            canvas.rect(x - 9, high - 5, BOX + 30, low - high + 9, "raised", rx=6)
        canvas.line(x, tops[0], x, tops[-1] + TALL, "quiet", 2.5)
    named = list(zip(y_of, (part.name for part in seen.parts)))
    bend = SIDES["encoder"] + 14 + BOX + 7
    start = next(y for y, name in named if name == "memory") + TALL / 2
    crosses = [y + TALL / 2 for y, name in named if name.startswith("cross")]
    canvas.line(SIDES["encoder"] + 14 + BOX, start, bend, start, "value", 2)
    canvas.line(bend, min(start, *crosses), bend, max(start, *crosses), "value", 2)
    for y in crosses:
        canvas.arrow(bend, y, SIDES["decoder"] + 14, y, "value", 2, 7)


def draw_boxes(canvas: Phone, seen: Walk, y_of: list[float], chosen: int) -> None:
    """A box for each part, with its norm before it and its plus after it."""
    for number, part in enumerate(seen.parts):
        x, y, here = SIDES[part.side], y_of[number], number == chosen
        role = "ink" if here else "value" if part.side == "encoder" else "query"
        if part.added is not None:
            canvas.line(x, y + TALL - 3, x + 14, y + TALL - 3, "quiet", 1.5)
            canvas.line(x, y + 3, x + 14, y + 3, "quiet", 1.5)
            canvas.add("circle", cx=x, cy=y + 3, r=5.5, fill="ground", stroke="ink")
            canvas.line(x - 3, y + 3, x + 3, y + 3, "ink", 1.2)
            canvas.line(x, y, x, y + 6, "ink", 1.2)
        left = x + 14 if part.added is not None else x - 6
        wide = BOX if part.added is not None else BOX + 20
        canvas.rect(left, y, wide, TALL, "ground", stroke=role, stroke_width=2.5 if here else 1.2, rx=5)
        normed = part.added is not None or part.name in ("memory", "output layer")
        if normed:
            canvas.text(left + 5, y + 16, "norm", 11, "start", "quiet")
        middle = left + (38 + wide) / 2 if normed else left + wide / 2
        canvas.text(middle, y + 16.5, part.name, 12, fill=role)


def draw_next(canvas: Phone, x: float, y: float, words: Sequence[str], shares: np.ndarray, title: str) -> None:
    """The four most probable words as bars."""
    canvas.text(x, y, title, 11.5, "start", "quiet")
    for number, k in enumerate(best_first(shares, 4)):
        low, share = y + 19 + 17 * number, float(shares[k])
        canvas.text(x + 62, low, cut(words[k], 9), 12, "end", bold=not number)
        canvas.rect(x + 67, low - 10, 58 * share, 12, "data")
        canvas.text(x + 71 + 58 * share, low, f"{share:.0%}", 11.5, "start", bold=not number)


def draw_strip(canvas: Phone, y: float, name: str, vector: np.ndarray, limit: float) -> None:
    """A vector (d,) as a row of coloured cells, with its name before it and its length behind."""
    canvas.text(LABELS - 6, y + 11, name, 12, "end")
    wide = STRIP / len(vector)
    for column, value in enumerate(vector.tolist()):
        role = "negative" if value < 0 else "data"
        shade = f"{min(1.0, abs(value) / limit):.2f}"
        canvas.rect(LABELS + wide * column, y, wide, 14, role, fill_opacity=shade)
    canvas.rect(LABELS, y, STRIP, 14, "none", stroke="edge")
    canvas.text(LABELS + STRIP + 6, y + 11, f"{np.linalg.norm(vector):.1f}", 12, "start")


def draw_weights(canvas: Phone, y: float, words: Sequence[str], weights: np.ndarray) -> float:
    """For each word that is looked at the weights (h, k) of the heads as cells, and their mean as a bar; returns where
    the next thing can stand."""
    wide = min(24.0, 112 / len(weights))
    left, mean = LABELS, weights.mean(0)
    for head in range(len(weights)):
        canvas.text(left + wide * (head + 0.5), y + 10, head + 1, 11, fill="quiet")
    canvas.text(LABELS - 6, y + 10, "head", 11, "end", "quiet")
    canvas.text(left + wide * len(weights) + 12, y + 10, "mean", 11, "start", "quiet")
    for number, word in enumerate(words):
        top = y + 15 + 18 * number
        canvas.text(LABELS - 6, top + 13, cut(word, LONGEST), 12, "end", bold=number == mean.argmax())
        for head, share in enumerate(weights[:, number].tolist()):
            canvas.shade(left + wide * head, top, wide, 17, "weight", share)
        x, share = left + wide * len(weights) + 12, float(mean[number])
        canvas.rect(x, top + 2, 90 * share, 13, "weight")
        canvas.text(x + 90 * share + 5, top + 13, f"{share:.0%}", 12, "start", bold=number == mean.argmax())
    return y + 15 + 18 * len(words) + 8


def of_word(seen: Walk, part: Part, row: int) -> str:
    """What the part does with this word, in one sentence."""
    word = (seen.source if part.side == "encoder" else seen.reads)[row]
    if part.name.endswith("vectors"):
        return f"Here {word} is nothing but its row in the table of words."
    if part.name == "memory":
        return "A last norm. These rows are all that the decoder ever sees of the source."
    if part.name == "output layer":
        return f"A last norm, then the score of each word. The largest wins: {seen.writes[row]}."
    if part.weights is None:
        return f"{word} computes by itself, looks at no other word, and adds what it finds."
    words = seen.source if part.side == "encoder" or part.name.startswith("cross") else seen.reads
    who = "the words so far" if words is seen.reads else "the source"
    return f"{word} asks {who}: {named_largest(words, part.weights.mean(0)[row])}."


def draw_panel(canvas: Phone, top: float, seen: Walk, part: Part, row: int) -> tuple[float, str]:
    """The numbers of one part; returns where the next thing can stand, and what is shown in words."""
    word = (seen.source if part.side == "encoder" else seen.reads)[row]
    canvas.text(6, top, f"{part.side}, {part.name}, at {cut(word, LONGEST)}", 13.5, "start", bold=True)
    said = of_word(seen, part, row)
    y = canvas.prose(6, top + 20, said) - 4
    if part.weights is not None:
        words = seen.source if part.side == "encoder" or part.name.startswith("cross") else seen.reads[: row + 1]
        y = draw_weights(canvas, y, words, part.weights[:, row, : len(words)])
    strips = {"before": part.before, "normed": part.normed, "it adds": part.added}
    strips["after" if part.added is not None else "its vector" if part.before is None else "normed"] = part.after
    shown = {name: one[row] for name, one in strips.items() if one is not None}
    if part.name == "memory":
        shown = {f"{i} {cut(one, 9)}": vector for i, (one, vector) in enumerate(zip(seen.source, part.after), 1)}
    limit = max(float(np.quantile(np.abs(one), 0.97)) for one in shown.values()) or 1.0
    canvas.text(350, y + 2, "length", 11, "end", "quiet")
    for number, (name, one) in enumerate(shown.items()):
        draw_strip(canvas, y + 7 + 19 * number, name, one, limit)
    if part.added is not None:
        lengths = [np.linalg.norm(one[row]) for one in (part.before, part.added, part.after)]
        said += " To a vector of length {:.1f} it adds one of length {:.1f}; the sum has {:.1f}.".format(*lengths)
    return y + 7 + 19 * len(shown) + 8, said


def draw_written(canvas: Phone, seen: Walk, step: int, most: int, known: bool) -> None:
    """The words that are written before this step, as chips, and its own once it is known: a click goes to the step
    that wrote it."""
    canvas.text(6, 42, f"source: {' '.join(seen.source)}", 12, "start", "value")
    x, room = 6.0, 344 / most
    for number in range(len(seen.writes)):
        here, text = number == step, cut(seen.writes[number], 8) if number < step + known else "?"
        canvas.rect(x, 52, room - 4, 22, "raised" if here else "none", stroke="ink" if here else "edge",
                    stroke_width=2 if here else 1, rx=9)  # fmt: skip
        size = min(12.0, 12 * (room - 6) / width_of(text, 12))
        canvas.text(x + room / 2 - 2, 67.5, text, max(11, size), fill="ink" if here else "quiet", bold=here)
        canvas.touch(x, 52, room - 4, 22, f"step {number + 1}", on=here, step=number + 1)
        x += room


TASK = "Find the part from which on the most probable word is the one that is written."


def draw_whole(seen: Walk, step: int, chosen: int, words: Sequence[str], most: int) -> View:
    """Step number `step` of writing, from 0, and the numbers of one part. The word that it writes is asked for, and
    named in the parts that know it."""
    canvas, part, first = Phone(0), seen.parts[chosen], first_right(seen, step)
    known = chosen >= first
    asked = f"step {step + 1}: it reads {seen.reads[step]}. What comes next?"
    title = f"step {step + 1}: it reads {seen.reads[step]}, and writes {seen.writes[step]}" if known else asked
    canvas.text(6, 20, title, min(14.5, 570 / len(title)), "start", bold=True)
    draw_written(canvas, seen, step, most, known)
    y_of = heights(seen.parts, 94)
    foot = max(y_of) + TALL
    draw_streams(canvas, seen, y_of)
    draw_boxes(canvas, seen, y_of, chosen)
    for side, x in SIDES.items():
        canvas.text(x - 6, foot + 17, f"{side} {'reads' if side == 'encoder' else 'writes'}", 12, "start", "quiet")
    canvas.hint(350, foot + 17, "click a part", "end")
    shares = seen.said[chosen]
    if shares is not None:
        here = "next word" if part.name == "output layer" else "read out already here:"
        draw_next(canvas, 6, 104, words, shares[step], here)
    row = step if part.side == "decoder" else looked_at(seen, step)
    y, said = draw_panel(canvas, foot + 42, seen, part, row)
    if shares is not None:
        best = ", ".join(f"{words[k]} {shares[step][k]:.0%}" for k in best_first(shares[step], 2))
        said += f" {'Next word' if part.name == 'output layer' else 'Read out already here'}: {best}."
    found = chosen == first
    task = f"{'✔' if found else '○'} {TASK}"
    y = canvas.prose(6, y + 12, task, fill="right" if found else "quiet", bold=found)
    for number, one in enumerate(seen.parts):
        left = SIDES[one.side] - 8
        canvas.touch(left, y_of[number] - 3, BOX + 26, TALL + 6, f"{one.side}, {one.name}", on=number == chosen,
                     group="parts", part=number)  # fmt: skip
    canvas.height = round(max(y + 4, foot + 227 + 18 * len(seen.source)))
    place, title = f"{part.side}, {part.name}", f"{title[0].upper()}{title[1:]}{'.' if known else ''}"
    return canvas.view(f"{title} Source: {' '.join(seen.source)}. {place}: {said} {task}")


def whole_transformer(
    translator: TransformerTranslator, sentences: Sequence[Sequence[str]], english: Vocabulary, spanish: Vocabulary,
    step: int = 1,
) -> Explorer:  # fmt: skip
    """Watch a sentence in a pre-norm translator: choose a step of writing, and a part of the Transformer: where it
    looks, what it adds to the vector of the word, and which word would come next if it were the last part.

    step: the one that is shown first. ValueError: no sentence, or one that has unknown words or does not fit; the
    vocabularies of other models."""
    require_translator(translator, sentences, english, spanish)
    walks = [walk(translator, words, english, spanish) for words in sentences]
    most = max(len(seen.writes) for seen in walks)
    names = [f"{part.side}: {part.name}" for part in walks[0].parts]
    begin = names.index("decoder: self-attention 1")

    def draw(sentence, step, part):
        seen = walks[sentence]
        return draw_whole(seen, min(step, len(seen.writes)) - 1, part, spanish.words, most)

    titles = [(" ".join(words), number) for number, words in enumerate(sentences)]
    controls = {"sentence": menu("sentence", titles), "step": slider("step of writing", step, 1, most)}
    controls["part"] = menu("part", [(name, number) for number, name in enumerate(names)], begin)
    return Explorer(draw, controls, replaced=["part"])
