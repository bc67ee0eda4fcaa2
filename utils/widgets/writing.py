"""Notebook 07: what a translator looks at while it writes a word, a cache that fills up, and a choice among words."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ..checks import require_whole
from ..decoder import TransformerTranslator
from ..decoding import keep_top_k, keep_top_p
from ..masks import padding_mask
from ..plots import as_numbers, largest
from ..style import BLUE, DARK_ORANGE, GREEN, GREY, ORANGE
from ..vocabulary import END_ID, START_ID, Vocabulary
from .canvas import FAINT, INK, Canvas, View, cut, two_decimals
from .controls import Explorer, checkbox, menu, slider

WIDTH, LETTERS = 580, 16  # pixels: across a phone, letters are still 10 high
KEPT = "#BBD9EE"  # what was computed before; ORANGE is computed now
LONGEST = 13  # signs of a word; a longer one is cut


class Narrow(Canvas):
    """A canvas of the width above, which keeps its shape where it is shown smaller."""

    def __init__(self, height: int):
        super().__init__(WIDTH, height)

    def text(self, x: float, y: float, text: object, anchor: str = "start", fill: str = INK, **more: object) -> None:
        super().text(x, y, text, **{"size": LETTERS, "anchor": anchor, "fill": fill} | more)

    def view(self, description: str) -> View:
        view = super().view(description)
        return replace(view, svg=view.svg.replace("max-width: 100%;", "max-width: 100%; height: auto;", 1))


# One step of writing
MOST_TOKENS = 20  # of a sentence; more would be too small to read


class Steps(NamedTuple):
    """A source of k tokens, and what was written of it in q steps, each of which reads a token and writes the next.

    The weights of the last layer of the encoder (h, k, k), and of each layer of the decoder (h, q, q) and (h, q, k);
    the probabilities (q, v) of each next token."""

    source: list[str]
    reads: list[str]
    writes: list[str]
    encoder: np.ndarray
    own: list[np.ndarray]
    cross: list[np.ndarray]
    probable: np.ndarray


@torch.no_grad()
def steps_of_writing(
    translator: TransformerTranslator, words: Sequence[str], english: Vocabulary, spanish: Vocabulary
) -> Steps:
    """What the translator writes for the English words, greedily, `</s>` or 20 tokens being the end; read once more, as
    in training, for the weights of all steps at once: with its causal mask they are those of the writing."""
    source = torch.tensor([english.encode(words, end=True, strict=True)])  # (1, k)
    if not 1 < source.shape[1] <= MOST_TOKENS:
        raise ValueError(f"the sentence {words!r} has {source.shape[1] - 1} words; give 1 to {MOST_TOKENS - 1} of them")
    mask = padding_mask(source)
    ids = translator.translate(source, mask, MOST_TOKENS)[0][0]
    writes = ids + [END_ID] * (len(ids) < MOST_TOKENS)
    reads = [START_ID, *writes[:-1]]
    logits, weights = translator(source, mask, torch.tensor([reads]))  # (1, q, v)
    named = [english.words[i] for i in source[0]], *([spanish.words[i] for i in some] for some in (reads, writes))
    own, cross = ([as_numbers(layer[0], 3) for layer in layers] for layers in (weights.own, weights.cross))
    return Steps(*named, as_numbers(weights.source[-1][0], 3), own, cross, as_numbers(logits[0].softmax(-1), 2))


def of_head(weights: np.ndarray, head: int) -> np.ndarray:
    """Of the weights (h, …) those of one head, from 1, of the last if there are fewer; 0 is the mean of all."""
    return weights[min(head, len(weights)) - 1] if head else weights.mean(0)


def named_largest(words: Sequence[str], row: np.ndarray, count: int = 2) -> str:
    """The largest of the weights (n,) by their words: "witch 71%, green 20%"."""
    return ", ".join(f"{cut(words[k], LONGEST)} {row[k]:.0%}" for k in largest(row, count))


def row_y(number: int) -> float:
    """Where row number `number` of the two columns of words stands."""
    return 100.0 + 24 * number


def draw_own(canvas: Canvas, x: float, side: int, row: np.ndarray, asks: int, colour: str) -> None:
    """Within one column of words: from word number `asks` an arc to each other, to the left (side -1) or right (1) of
    x, as thick as its weight in row (n,), and the weights as numbers beyond the arcs."""
    for number, weight in enumerate(row.tolist()):
        if weight < 0.005:
            continue
        y, start = row_y(number) - 6, row_y(asks) - 6
        if number != asks:
            bulge = x + side * min(52, 14 + 7 * abs(number - asks))
            path = f"M{x:.1f} {start:.1f} C{bulge:.1f} {start:.1f} {bulge:.1f} {y:.1f} {x:.1f} {y:.1f}"
            thick, opacity = float(1 + 9 * weight), f"{0.3 + 0.6 * weight:.2f}"
            canvas.add("path", d=path, fill="none", stroke=colour, stroke_width=thick, opacity=opacity)
        canvas.text(x + side * 84, y + 6, f"{weight:.0%}", "start" if side < 0 else "end", colour, bold=number == asks)


def draw_cross(canvas: Canvas, row: np.ndarray, asks: int) -> None:
    """From word number `asks` on the right a line to each source word on the left, as thick as its weight, (k,)."""
    for number, weight in enumerate(row.tolist()):
        if weight >= 0.005:
            thick, opacity = float(1 + 11 * weight), f"{0.3 + 0.5 * weight:.2f}"
            ends = 390, row_y(asks) - 6, 270, row_y(number) - 6
            canvas.line(*ends, BLUE, thick, opacity=opacity)
            canvas.text(264, row_y(number), f"{weight:.0%}", "end", BLUE)


def draw_probable(canvas: Canvas, top: float, words: Sequence[str], probable: np.ndarray) -> str:
    """The five most probable next words as bars, probable (v,); returns them in words."""
    said = []
    for number, k in enumerate(largest(probable, 5)):
        y, word, share = top + 23 * number, cut(words[k], LONGEST), float(probable[k])
        canvas.text(130, y, word, "end", bold=not number)
        canvas.rect(138, y - 13, 350 * share, 16, BLUE)
        canvas.text(144 + 350 * share, y, f"{share:.1%}", bold=not number)
        said.append(f"{word} {share:.1%}")
    return ", ".join(said)


def draw_writing(steps: Steps, step: int, layer: int, head: int, rows: int, words: Sequence[str]) -> View:
    """Step number `step` of writing: the three attentions in one layer and head (0: their mean), and the five most
    probable of all `words`. The picture has room for so many rows of words."""
    i, asks = step - 1, cut(steps.reads[step - 1], LONGEST)
    own, cross = (of_head(weights[layer - 1], head)[i] for weights in (steps.own, steps.cross))
    seen = largest(cross)[0]
    encoder, canvas = of_head(steps.encoder, head)[seen], Narrow(int(row_y(rows)) + 212)
    draw_own(canvas, 98, -1, encoder, seen, GREEN)
    draw_own(canvas, 492, 1, own, i, DARK_ORANGE)
    draw_cross(canvas, cross, i)
    canvas.text(104, 76, "source", fill=GREY)
    canvas.text(398, 76, "written so far", fill=GREY)
    canvas.rect(392, row_y(i) - 18, 98, 24, "none", stroke=DARK_ORANGE, stroke_width=2, rx=5)
    canvas.rect(392, row_y(i + 1) - 18, 98, 24, "none", stroke=GREY, stroke_width=2, rx=5, stroke_dasharray="5 4")
    for number, word in enumerate(steps.source):
        canvas.text(104, row_y(number), cut(word, LONGEST), fill=GREEN if number == seen else INK, bold=number == seen)
    for number, word in enumerate([*steps.reads[:step], steps.writes[i]]):
        canvas.text(398, row_y(number), cut(word, LONGEST), fill=DARK_ORANGE if number == i else INK, bold=number >= i)
    title = f"step {step}: it reads {asks}, and writes {cut(steps.writes[i], LONGEST)}"
    place = f"layer {layer}, " + (f"head {head}" if head else "mean of the heads")
    looks = (
        (DARK_ORANGE, f"{asks} asks the words so far: {named_largest(steps.reads[:step], own[:step])}"),
        (BLUE, f"{asks} asks the source: {named_largest(steps.source, cross)}"),
        (GREEN, f"{steps.source[seen]} asked, in the encoder: {named_largest(steps.source, encoder)}"),
    )
    canvas.text(10, 26, title, size=18, bold=True)
    canvas.text(10, 50, place, fill=GREY)
    for number, (colour, said) in enumerate(looks):
        canvas.text(10, row_y(rows) + 12 + 23 * number, said, fill=colour)
    next_words = draw_probable(canvas, row_y(rows) + 94, words, steps.probable[i])
    return canvas.view(f"{title}. {place}: {'; '.join(said for _, said in looks)}. Next word: {next_words}.")


def writing_step(
    translator: TransformerTranslator, sentences: Sequence[Sequence[str]], english: Vocabulary, spanish: Vocabulary
) -> Explorer:
    """Choose a sentence, a step of writing its translation, a layer of the decoder and a head: what the word just read
    asks of the words so far, and of the source; what the source word that it looks at most had asked, in the last layer
    of the encoder; and the five most probable next words.

    sentences: words of `english`. ValueError for an unknown word, a sentence too long, or vocabularies of other models.
    """
    if not isinstance(translator, TransformerTranslator):
        raise ValueError(f"a {type(translator).__name__} has not all three attentions; give a TransformerTranslator")
    sizes = [part.embedding.vectors.num_embeddings for part in (translator.encoder, translator.language_model)]
    if sizes != [len(english), len(spanish)]:
        given = f"the vocabularies have {len(english)} and {len(spanish)} words"
        raise ValueError(f"{given}, the translator's {sizes[0]} and {sizes[1]}: first the source's, then the target's")
    if isinstance(sentences, str) or not sentences:
        raise ValueError(f"sentences {sentences!r} must be a list of sentences, each a list of words")
    written = [steps_of_writing(translator, words, english, spanish) for words in sentences]
    rows = max(max(len(one.source), len(one.reads) + 1) for one in written)

    def draw(sentence, step, layer, head):
        return draw_writing(
            written[sentence], min(step, len(written[sentence].reads)), layer, head, rows, spanish.words
        )

    layers, (heads, *_) = len(written[0].own), written[0].own[0].shape
    longest = max(len(one.reads) for one in written)
    controls = {
        "sentence": menu("sentence", [(" ".join(one.source[:-1]), number) for number, one in enumerate(written)]),
        "step": slider("step of writing", min(3, longest), 1, longest),
        "layer": menu("layer", list(range(1, layers + 1)), layers),
        "head": menu("head", [("mean of all", 0), *range(1, heads + 1)], 0),
    }
    return Explorer(draw, controls)


# A cache that fills up
BYTES = 4  # of a number in float32


class Work(NamedTuple):
    """In a step of writing: rows of keys and values computed, and only read; rows computed in all steps so far, with a
    cache and without; numbers of bytes kept for the next step."""

    computed: int
    read: int
    with_cache: int
    without: int
    kept: int


def work_of_step(step: int, num_layers: int, num_kv_heads: int, d_head: int, cached: bool) -> Work:
    """Rows are those of one layer."""
    kept = 2 * num_layers * num_kv_heads * step * d_head * BYTES if cached else 0
    computed = 1 if cached else step
    return Work(computed, step - computed, step, step * (step + 1) // 2, kept)


def draw_history(canvas: Canvas, words: Sequence[str], step: int, cached: bool, width: float) -> None:
    """A row of cells for each step, a cell for each token: its keys and values are computed, or only read."""
    for token, word in enumerate(words):
        x = 112 + width * (token + 0.5)
        canvas.text(x - 4, 122, cut(word, LONGEST), bold=token < step, transform=f"rotate(-40 {x - 4:.1f} 122)")
    for row in range(len(words)):
        y, now = 130 + 22 * row, row == step - 1
        canvas.text(104, y + 17, f"step {row + 1}", "end", INK if row < step else GREY, bold=now)
        for token in range(row + 1):
            new = token == row or not cached
            fill = FAINT if row >= step else ORANGE if new else KEPT
            canvas.rect(112 + width * token, y, width, 22, fill, stroke="white", stroke_width=2)
    canvas.rect(111, 129 + 22 * (step - 1), width * step + 2, 24, "none", stroke=INK, stroke_width=2.5)


def draw_towers(canvas: Canvas, top: float, step: int, cached: bool, width: float, tokens: int, sizes: tuple) -> None:
    """For each token and layer what is kept: keys on the left, values on the right, a band for each key head; the room
    is that of as many key heads as heads. sizes: layers, heads, key heads."""
    num_layers, num_heads, num_kv_heads = sizes
    slot = 120 / num_layers
    band = slot * 0.9 / num_heads
    bands = num_kv_heads if band >= 3 else 1  # thinner ones would not be seen apart
    for layer in range(num_layers):
        y = top + slot * layer
        if slot >= 20:
            canvas.text(104, y + slot / 2 + 5, f"layer {layer + 1}", "end", GREY)
        for token in range(tokens):
            x = 112 + width * token
            canvas.rect(x + 1, y, width - 2, slot * 0.9, FAINT)
            fill = ORANGE if token == step - 1 else KEPT
            for number in range(2 * bands if cached and token < step else 0):
                left, height = x + 1 + (number % 2) * (width / 2 - 0.5), band * num_kv_heads / bands
                place = left, y + height * (number // 2), width / 2 - 1.5, height
                canvas.rect(*place, fill, stroke="white", stroke_width=1 if bands > 1 else 0)


def draw_totals(canvas: Canvas, top: float, work: Work, most: int, cached: bool) -> None:
    """Rows computed so far, with a cache and without, as bars; `most` has the full length."""
    canvas.text(10, top, "rows of keys and values computed so far, in each layer", fill=GREY)
    for y, name, rows, here in ((24, "cache", work.with_cache, cached), (48, "no cache", work.without, not cached)):
        canvas.text(104, top + y, name, "end", bold=here)
        canvas.rect(112, top + y - 14, 380 * rows / most, 18, ORANGE)
        canvas.text(120 + 380 * rows / most, top + y, rows, bold=here)


def draw_cache(
    words: Sequence[str], num_layers: int, num_heads: int, d_head: int, step: int, cached: bool, kv_heads: int
) -> View:
    """Step number `step` of a decoder that reads the words one by one, with a cache or without."""
    work, tokens = work_of_step(step, num_layers, kv_heads, d_head, cached), len(words)
    width, below = min(44.0, 400 / tokens), 160 + 22 * tokens
    canvas = Narrow(below + 276)
    rows = f"{work.computed} row" + "s" * (work.computed > 1)
    title = f"step {step} reads {cut(words[step - 1], LONGEST)}: {rows} computed, {work.read} only read"
    canvas.text(10, 24, title, size=18, bold=True)
    for x, fill, meaning in ((330, ORANGE, "computed in this step"), (330, KEPT, "kept: only read")):
        y = 150 if fill == ORANGE else 174
        canvas.rect(x + 40, y - 13, 16, 16, fill)
        canvas.text(x + 62, y, meaning)
    draw_history(canvas, words, step, cached, width)
    heads = f"{kv_heads} key head" + "s" * (kv_heads > 1)
    canvas.text(10, below, f"kept for the next step: {heads}, keys left, values right" if cached else "nothing is kept")
    draw_towers(canvas, below + 12, step, cached, width, tokens, (num_layers, num_heads, kv_heads))
    sizes = f"2 · {num_layers} layers · {heads} · {step} tokens · {d_head} entries · {BYTES} bytes = "
    said = f"{sizes if cached else ''}{work.kept:,} bytes"
    canvas.text(10, below + 156, said, bold=True)
    draw_totals(canvas, below + 192, work, tokens * (tokens + 1) // 2, cached)
    totals = f"Computed so far, in each layer: {work.with_cache} rows with a cache, {work.without} without"
    return canvas.view(f"{title}, {'with a' if cached else 'no'} cache. Kept: {said}. {totals}.")


def filling_cache(words: Sequence[str], num_layers: int, num_heads: int, d_head: int) -> Explorer:
    """Token by token, with a cache or without, and with fewer key heads: which rows of keys and values are computed,
    which are only read, how many bytes are kept, and how many rows were computed in all.

    words: 2 to 12 tokens that a decoder reads; other sizes than whole ones from 1: ValueError."""
    require_whole(num_layers=num_layers, num_heads=num_heads, d_head=d_head)
    if isinstance(words, str) or not 2 <= len(words) <= 12:
        raise ValueError(f"words {words!r} must be a list of 2 to 12 tokens: one picture has room for so many")
    fewer = [heads for heads in dict.fromkeys((num_heads, num_heads // 2, 1)) if heads and num_heads % heads == 0]

    def draw(step, cached, kv_heads):
        return draw_cache(words, num_layers, num_heads, d_head, step, cached, kv_heads)

    controls = {
        "step": slider("step", (len(words) + 1) // 2, 1, len(words)),
        "cached": checkbox("keep keys and values", True),
        "kv_heads": menu("key heads", fewer),
    }
    return Explorer(draw, controls)


# A choice among words
SHOWN = 12  # words in a picture


def sampling_stages(logits: Tensor, temperature: float, top_k: int | None, top_p: float) -> list[Tensor]:
    """The probabilities (v,) that logits (v,) give as they are, then with the temperature, then cut to the top_k, then
    to top_p: the last is what `utils.decoding.sampling` draws from. None or 1: nothing is cut."""
    warm = logits / temperature
    first = warm if top_k is None else keep_top_k(warm, top_k)
    return [one.softmax(-1) for one in (logits, warm, first, keep_top_p(first, top_p))]


def draw_shares(canvas: Canvas, x: float, shares: np.ndarray, before: np.ndarray | None) -> None:
    """A column of probabilities as bars and numbers; what is 0, but was not `before`, is cut (None: nothing can be)."""
    for number, share in enumerate(shares.tolist()):
        y, gone = 108 + 24 * number, before is not None and share == 0
        canvas.rect(x, y - 16, 104, 21, FAINT)
        canvas.rect(x, y - 16, 104 * share, 21, KEPT)
        said = f"{share:.1%}" if not gone else "cut" if before[number] else ""
        canvas.text(x + 100, y, said, "end", GREY if gone else INK, bold=number == 0)


def draw_sampling(situation: str, stages: Sequence[Tensor], words: Sequence[str], settings: Sequence[str]) -> View:
    """The most probable words, and what each stage (v,) leaves them; settings: a text for each stage."""
    table = np.stack([as_numbers(stage, 1) for stage in stages])  # (stages, v)
    shown = largest(table[0], SHOWN)
    names, shares = [cut(words[k], LONGEST) for k in shown], table[:, shown]
    if len(words) > len(shown):
        names.append(f"{len(words) - len(shown)} others")
        shares = np.column_stack([shares, np.delete(table, shown, 1).sum(1)])
    entropy = -(table * np.log(np.where(table > 0, table, 1.0))).sum(1)
    left, canvas = (table > 0).sum(1), Narrow(206 + 24 * len(names))
    canvas.text(10, 26, cut(situation, 62), size=18, bold=True)
    for stage, (name, setting) in enumerate(zip(("softmax", "temperature", "top-k", "top-p"), settings)):
        x = 124 + 114 * stage
        canvas.text(x, 58, f"{stage + 1} {name}", bold=True)
        canvas.text(x, 80, setting, fill=GREY)
        draw_shares(canvas, x, shares[stage], shares[stage - 1] if stage > 1 else None)
        for line, fact in enumerate((left[stage], two_decimals(entropy[stage]), f"{np.exp(entropy[stage]):.1f}")):
            canvas.text(x + 100, 122 + 24 * (len(names) + line), fact, "end")
    for number, name in enumerate(names):
        canvas.text(116, 108 + 24 * number, name, "end", bold=number == 0)
    for line, name in enumerate(("words left", "entropy", "as equal words")):
        canvas.text(116, 122 + 24 * (len(names) + line), name, "end", GREY)
    kept = [k for k in shown if table[-1, k] > 0][:5]
    said = ", ".join(f"{words[k]} {table[-1, k]:.1%}" for k in kept)
    spread = ", ".join(two_decimals(one) for one in entropy)
    return canvas.view(
        f"{situation}: {', '.join(settings[1:])} leave {left[-1]} of {len(words)} words: {said}"
        f"{', …' if left[-1] > len(kept) else ''}. Entropy from stage to stage: {spread}."
    )


def sampling(situations: Sequence[str], logits: ArrayLike, words: Sequence[str]) -> Explorer:
    """What temperature, top-k and top-p, in this order, make of the probabilities of a next word.

    situations: what was written so far, a text for each row of logits (situations, v); words: the v of the vocabulary.
    Logits that are not numbers, or do not go with the texts and words: ValueError."""
    table = torch.as_tensor(as_numbers(logits, 2))
    if tuple(table.shape) != (len(situations), len(words)) or len(words) < 2:
        wanted = f"{len(situations)} rows, for the situations, and a column for each of {len(words)} words, two or more"
        raise ValueError(f"logits {tuple(table.shape)} must have {wanted}")

    def draw(situation, temperature, top_k, top_p):
        settings = ("of the logits", f"{temperature:g}", f"{top_k or 'all'}", f"{top_p:g}")
        stages = sampling_stages(table[situation], temperature, top_k, top_p)
        return draw_sampling(situations[situation], stages, words, settings)

    controls = {
        "situation": menu("situation", [(text, number) for number, text in enumerate(situations)]),
        "temperature": slider("temperature", 0.7, 0.1, 2.0, 0.1),
        "top_k": menu("top-k", [("all", None), *((str(count), count) for count in (1, 2, 3, 5, 10, 20))], 5),
        "top_p": slider("top-p", 0.9, 0.05, 1.0, 0.05),
    }
    return Explorer(draw, controls)
