"""Where language models look while they guess every next word of a sentence, and which guesses change with one word."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..checks import require_list
from ..plots import as_numbers
from .canvas import Phone, View, cut
from .controls import Explorer, menu
from .masking import draw_buttons

Reader = Callable[[Tensor], tuple[Tensor, Tensor]]  # ids (1, n) → logits (1, n, v), weights (1, h, n, n)

LEFT, CELL, ROW = 66, 20, 24  # where the map begins; width and height of a cell


@dataclass(frozen=True)
class Reading:
    """A sentence as a model reads it: at each position the word read, the weights of its row, the mean of all heads,
    the word guessed, and the word that does follow."""

    words: list[str]
    weights: np.ndarray
    guesses: list[str]
    follow: list[str]

    @property
    def next_weights(self) -> np.ndarray:
        """What each position but the last gives to the next one, (n − 1,)."""
        return np.diagonal(self.weights, 1)


@torch.no_grad()
def read(reader: Reader, row: Sequence[int], lexicon: Sequence[str]) -> Reading:
    """A model reads a row of ids but the last, and guesses all but the first."""
    logits, weights = reader(torch.tensor(row[:-1])[None])
    words = [lexicon[number] for number in row]
    guesses = [lexicon[number] for number in logits[0].argmax(-1).tolist()]
    return Reading(words[:-1], as_numbers(weights[0].mean(0), 2), guesses, words[1:])


def exchange(row: Sequence[int], position: int, others: Sequence[int]) -> list[int]:
    """The row with another word at a position, the one that `others` (v,) has for it."""
    return [*row[:position], others[row[position]], *row[position + 1 :]]


def draw_map(canvas: Phone, top: float, now: Reading, before: Reading, changed: int) -> None:
    """The weights in per cent, a row for each position; behind it the guess, and whether that word follows."""
    for row, word in enumerate(now.words):
        y, middle = top + ROW * row, LEFT + CELL * (row + 0.5)
        here, turned = row == changed, {"transform": f"rotate(-40 {middle:.1f} {top - 6:.1f})"}
        canvas.text(LEFT - 5, y + 16, cut(word, 8), 12, "end", "here" if here else "ink", here)
        canvas.text(middle, top - 6, cut(word, 8), 11.5, "start", "here" if here else "key", here, **turned)
        for column, weight in enumerate(now.weights[row].tolist()):
            x = LEFT + CELL * column
            letters = canvas.shade(x, y, CELL, ROW, "weight", weight)
            if weight >= 0.05:
                canvas.text(x + CELL / 2, y + 16, f"{100 * weight:.0f}", 11, fill=letters)
        guess = now.guesses[row]
        moved = guess != before.guesses[row]
        role = ("wrong" if row < changed else "here") if moved else "ink"
        sign = "✔" if guess == now.follow[row] else "✘"
        end = LEFT + CELL * len(now.words) + 6
        canvas.text(end, y + 16, f"{cut(guess, 8)} {sign}", 11.5, "start", role, moved)
    for row in range(len(now.words) - 1):
        canvas.rect(LEFT + CELL * (row + 1) + 1, top + ROW * row + 1, CELL - 2, ROW - 2, stroke="here", stroke_width=2)
    for row, word in enumerate(now.words[1:], 1):
        aim = -1 if row == changed else row
        above = (LEFT + CELL * row, top - 30, CELL, 28)
        canvas.touch(*above, f"exchange {word} ({row + 1}), a column", on=row == changed, changed=aim)
        canvas.touch(0, top + ROW * row, LEFT - 2, ROW, f"exchange {word} ({row + 1})", on=row == changed, changed=aim)


def draw_peeking(
    models: Sequence[str], sentences: Sequence[str], model: str, sentence: str, now: Reading, before: Reading,
    changed: int, longest: int,
) -> View:  # fmt: skip
    """How `model` reads `sentence`, in which the word at position `changed` has been exchanged (−1: none), and how it
    read it before; as high as for a sentence with the `longest` number of words."""
    canvas = Phone(0)
    canvas.text(8, 18, "Who looks where, and guesses what?", 13, "start", bold=True)
    draw_buttons(canvas, 8, 28, 46, {name: name for name in models}, "model", model)
    wide = 345 / len(sentences) - 5
    draw_buttons(canvas, 8, 62, wide, {name: name for name in sentences}, "sentence", sentence)
    top = 148
    canvas.text(LEFT + CELL * len(now.words) + 6, top - 8, "guess", 12, "start", bold=True)
    draw_map(canvas, top, now, before, changed)
    y = top + ROW * longest + 18
    right = sum(map(str.__eq__, now.guesses, now.follow))
    fact = f"{right} of {len(now.words)} guesses are the next word. "
    fact += f"The next position, framed, gets {now.next_weights.mean():.0%} of the attention."
    y = canvas.prose(8, y, fact, 12.5)
    earlier = sum(now.guesses[row] != before.guesses[row] for row in range(max(changed, 0)))
    task = "○ Exchange a word so that an earlier guess changes: click it."
    if changed >= 0:
        other = f"{now.words[changed]} replaces {before.words[changed]}. "
        task = f"○ {other}No earlier guess has changed. Try other words, and other models."
        if earlier:
            task = f"✔ {other}Earlier guesses that changed: {earlier}. They knew what was to come."
    canvas.prose(8, y + 3, task, 12.5, fill="right" if earlier else "quiet")
    canvas.height = round(y + 3 * 17.5)
    guesses = ", ".join(f"{word} → {guess}" for word, guess in zip(now.words, now.guesses))
    return canvas.view(f"Model {model} reads {sentence} and guesses: {guesses}. {fact} {task}")


def peeking(
    models: Mapping[str, Reader], sentences: Mapping[str, Sequence[int]], lexicon: Sequence[str], others: Sequence[int]
) -> Explorer:  # fmt: skip
    """See where each of the models looks in each of the sentences, and exchange a word to see which guesses change.

    A model is called with ids (1, n) and returns its logits (1, n, v) and weights (1, h, n, n). A sentence is a row of
    ids into the lexicon that begins with the start: a model reads all of them but the last and guesses all but the
    first. others: for each id of the lexicon the one that it is exchanged for. ValueError: no model, no sentence, one
    that is not of 3 to 11 ids, or not one of the others for each word."""
    require_list(lexicon=lexicon, others=others)
    if len(others) != len(lexicon):
        raise ValueError(f"{len(others)} others for {len(lexicon)} words: give one for each word")
    if not models or not sentences or any(not 3 <= len(row) <= 11 for row in sentences.values()):
        raise ValueError("give models, and sentences of 3 to 11 ids each")
    longest = max(map(len, sentences.values())) - 1

    def draw(model, sentence, changed):
        row = [*map(int, sentences[sentence])]
        changed = changed if changed < len(row) - 1 else -1
        before = read(models[model], row, lexicon)
        other = exchange(row, changed, others) if changed >= 0 else row
        now = read(models[model], other, lexicon)
        return draw_peeking([*models], [*sentences], model, sentence, now, before, changed, longest)

    positions = [("none", -1), *((f"{number + 1}", number) for number in range(1, longest))]
    controls = {
        "model": menu("model", [*models], width="170px"),
        "sentence": menu("sentence", [*sentences]),
        "changed": menu("exchange word", positions, width="170px"),
    }
    anew = {"sentence": lambda _value, _state: {"changed": -1}}
    return Explorer(draw, controls, follows=anew, replaced=controls)
