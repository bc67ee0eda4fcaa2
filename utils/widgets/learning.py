"""A head of self-attention while it learns to look something up: its loss, what its matrices read, where it looks."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from torch import nn

from ..plots import as_numbers
from .canvas import Phone, View
from .controls import Explorer, slider
from .softmax import softmax

LETTERS, DIGITS = "abcdefgh", 10
PARTS = {"its letter": 8, "asks for": 8, "its digit": DIGITS}  # of the vector of a card, and their sizes
WIDTH = sum(PARTS.values())
ROLES = {"W_q": "query", "W_k": "key", "W_v": "value"}
LEFT, RIGHT = 14, 342  # where the loss begins and ends
BAR, ROW, GAP = 84, 7, 9  # the longest bar, the height of a row, and between two parts of a card
FITS, MAP = 15, 19  # sides of a cell of the two tables


class Frame(NamedTuple):
    """What is seen after some step."""

    step: int
    loss: float
    reads: Mapping[str, np.ndarray]  # of each matrix, how long its rows are (26,)
    fits: np.ndarray  # the score of each letter that is asked for with each letter of a card (8, 8)
    weights: np.ndarray  # of the row of cards (n, n)
    says: list[int]  # the digit that each card names


def frame_of(step: int, loss: float, matrices: Mapping[str, np.ndarray], cards: np.ndarray) -> Frame:
    """matrices W_q, W_k (26, e) and W_v (26, 10), cards (n, 26)."""
    W_q, W_k, W_v = (matrices[name] for name in ROLES)
    root = math.sqrt(W_k.shape[1])
    weights = np.stack([softmax(scores) for scores in (cards @ W_q) @ (cards @ W_k).T / root])
    reads = {name: np.linalg.norm(matrix, axis=1) for name, matrix in matrices.items()}
    fits = W_q[8:16] @ W_k[:8].T / root
    return Frame(step, loss, reads, fits, weights, (weights @ cards @ W_v).argmax(-1).tolist())


class Cards(NamedTuple):
    """A row of cards (n, 26), read: their letters, which card each asks, and that card's digit."""

    letters: list[int]
    partner: list[int]
    digits: list[int]


def read_cards(cards: np.ndarray) -> Cards:
    """ValueError: what is there is no row of cards, each of which asks for exactly one of them."""
    letters, asked, digits = (part.argmax(-1).tolist() for part in np.split(cards, [8, 16], axis=1))
    if any(letters.count(letter) != 1 for letter in asked):
        raise ValueError("each card should ask for a letter that exactly one card of the row has")
    partner = [letters.index(letter) for letter in asked]
    return Cards(letters, partner, [digits[number] for number in partner])


def draw_loss(canvas: Phone, frames: Sequence[Frame], shown: int) -> None:
    """The loss as a curve over the steps, up to the one that is shown; that point is dragged."""
    top, foot, most = 34, 100, max(frame.loss for frame in frames)
    apart = (RIGHT - LEFT) / (len(frames) - 1)
    at = [(LEFT + apart * k, foot - (foot - top) * frame.loss / most) for k, frame in enumerate(frames)]
    canvas.line(LEFT, foot, RIGHT, foot, "edge")
    for part, role in ((at, "edge"), (at[: shown + 1], "data")):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in part)
        canvas.add("polyline", points=path, fill="none", stroke=role, stroke_width=2.5)
    x, y = at[shown]
    canvas.add("circle", cx=x, cy=y, r=5, fill="data", stroke="ground", stroke_width=1.5, data_id="loss")
    step = frames[shown].step
    canvas.handle(x, y, "step of the training", f"{step}", "data", x=("picture", LEFT - apart, apart))


def draw_reads(canvas: Phone, top: float, frame: Frame, most: Mapping[str, float]) -> float:
    """For each matrix a bar for each of the 26 numbers of a card. Returns where the next thing can be drawn."""
    for column, (name, role) in enumerate(ROLES.items()):
        canvas.text(70 + 96 * column, top, name, 12.5, "start", role, True)
    y = top + 8
    for part, (name, count) in enumerate(PARTS.items()):
        canvas.text(62, y + ROW * count / 2 + 4, name, 12, "end")
        for row in range(count):
            number = sum([*PARTS.values()][:part]) + row
            for column, (matrix, role) in enumerate(ROLES.items()):
                long = BAR * frame.reads[matrix][number] / most[matrix]
                canvas.rect(70 + 96 * column, y, max(1.0, float(long)), ROW - 1.5, role, data_id=f"{matrix} {number}")
            y += ROW
        y += GAP
    return y


def draw_fits(canvas: Phone, top: float, frame: Frame, most: float) -> None:
    """Which letter that is asked for fits which letter of a card: the higher the score, the darker."""
    for row, letter in enumerate(LETTERS):
        y = top + FITS * row
        canvas.text(14, y + 11.5, letter, 12)
        canvas.text(24 + FITS * (row + 0.5), top - 5, letter, 12)
        for column in range(len(LETTERS)):
            share = min(1.0, max(0.0, frame.fits[row, column]) / most)
            canvas.shade(24 + FITS * column, y, FITS, FITS, "data", float(share))


def draw_row(canvas: Phone, top: float, frame: Frame, cards: Cards) -> None:
    """The weights of the cards, those of the right ones framed, and the digit that each card names."""
    left = 206
    for row, (letter, partner) in enumerate(zip(cards.letters, cards.partner)):
        y = top + MAP * row
        canvas.text(left - 6, y + 13.5, f"{LETTERS[letter]} → {LETTERS[cards.letters[partner]]}", 12, "end")
        canvas.text(left + MAP * (row + 0.5), top - 5, LETTERS[letter], 12)
        for column, weight in enumerate(frame.weights[row].tolist()):
            canvas.shade(left + MAP * column, y, MAP, MAP, "weight", weight)
        right = frame.says[row] == cards.digits[row]
        end = left + MAP * len(cards.letters) + 5
        canvas.text(end, y + 13.5, frame.says[row], 12.5, "start", "right" if right else "wrong", True)
        canvas.text(end + 10, y + 13.5, "✔" if right else "✘", 11, "start", "right" if right else "wrong")
    for row, partner in enumerate(cards.partner):
        canvas.rect(left + MAP * partner, top + MAP * row, MAP, MAP, stroke="ink", stroke_width=1.5)


def draw_learning(frames: Sequence[Frame], cards: Cards, shown: int) -> View:
    """Picture number `shown`: the loss so far, what the matrices read, which letters fit, and a row of cards."""
    canvas, frame = Phone(548), frames[shown]
    most = {name: max(one.reads[name].max() for one in frames) for name in ROLES}
    right = [sum(map(int.__eq__, one.says, cards.digits)) for one in frames]
    canvas.text(8, 20, f"step {frame.step}", 14, "start", bold=True)
    canvas.text(348, 20, f"loss {frame.loss:.2f}", 13, "end", "data", True)
    draw_loss(canvas, frames, shown)
    canvas.hint(348, 46, "drag the point", "end")
    y = draw_reads(canvas, 136, frame, most) + 8
    canvas.text(8, y, "letter asked for × letter", 12, "start", "data", True)
    canvas.text(348, y, "where these cards look", 12, "end", "weight", True)
    draw_fits(canvas, y + 22, frame, max(one.fits.max() for one in frames))
    draw_row(canvas, y + 22, frame, cards)
    total = len(cards.digits)
    weight = float(np.mean([row[partner] for row, partner in zip(frame.weights, cards.partner)]))
    fact = f"{right[shown]} of {total} cards name the right digit. Mean weight on the right card: {weight:.2f}."
    y = canvas.prose(8, y + 22 + FITS * 8 + 22, fact, 12.5)
    first = right[shown] == total and all(one < total for one in right[:shown])
    task = f"{'✔' if first else '○'} Find the first picture in which all {total} cards are right."
    end = canvas.prose(8, y + 2, task, 12.5, fill="right" if first else "quiet")
    canvas.height = round(end - 6)
    reads = [
        f"{name} {[*PARTS][int(np.argmax([np.mean(part) for part in np.split(row, [8, 16])]))]}"
        for name, row in ((name, frame.reads[name]) for name in ROLES)
    ]
    said = f"Step {frame.step}, loss {frame.loss:.2f}. Each matrix reads most: {', '.join(reads)}. {fact} {task}"
    return canvas.view(said)


def learning(film: Mapping[int, tuple[float, nn.Module]], cards: ArrayLike) -> Explorer:
    """Watch a head of self-attention learn. The film is {step: (loss, the layer then)}; the layer projects 26 numbers
    by W_q and W_k to e, by W_v to 10. cards (n, 26) is the row whose weights are shown. ValueError: other sizes."""
    cards = as_numbers(cards, 2)
    if cards.shape[1] != WIDTH:
        raise ValueError(f"cards {cards.shape} must be (n, {WIDTH}): the letter, the letter asked for and the digit")
    if len(film) < 2:
        raise ValueError("a film should have two pictures or more")
    frames = []
    for step, (loss, layer) in film.items():
        named = {name: as_numbers(getattr(layer, name).weight, 2).T for name in ROLES}
        if any(len(matrix) != WIDTH for matrix in named.values()) or named["W_v"].shape[1] != DIGITS:
            raise ValueError(f"W_q and W_k should project {WIDTH} numbers to e, W_v to {DIGITS}")
        frames.append(frame_of(step, float(loss), named, cards))
    row = read_cards(cards)
    controls = {"picture": slider("picture", 1, 1, len(frames))}
    return Explorer(lambda picture: draw_learning(frames, row, picture - 1), controls, pace=300)
