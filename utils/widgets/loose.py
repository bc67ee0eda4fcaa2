"""The patches of a digit, loose in a bag: say which digit it is, and they glide to where they belong."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..beyond import patchify
from .canvas import Phone, View
from .controls import Explorer, menu

PLACES, BOX, TOP = 16, 40, 62
NONE = -1  # no digit was named yet


def bag(number: int) -> list[int]:
    """The patch that lies on each of the 16 heaps of bag `number`."""
    return torch.randperm(PLACES, generator=torch.Generator().manual_seed(number)).tolist()


def heap(spot: int) -> tuple[float, float]:
    """Where a loose patch lies: in a row of four, apart from the others and not in line with them."""
    row, column = divmod(spot, 4)
    return 26 + 80 * column + 9 * (row % 2), TOP + 52 * row + (7, -4, 5, -7)[(column + row) % 4]


def home(patch: int) -> tuple[float, float]:
    """Where a patch belongs: the image stands in the middle."""
    row, column = divmod(patch, 4)
    return 98 + BOX * column, TOP + 12 + BOX * row


def draw_bag(number: int, many: int, patches: np.ndarray, lies: Sequence[int], digit: int, answer: int) -> View:
    """The patches (16, 4) of bag `number` of so many, from 0: loose, or put together once a digit was named."""
    canvas, named = Phone(388), answer != NONE
    canvas.text(6, 22, f"Bag {number + 1} of {many}: which digit is it?", 15, "start", bold=True)
    squares = np.repeat(1 - patches.reshape(PLACES, 2, 2, 1), 3, axis=-1).clip(0, 1)
    for spot, patch in enumerate(lies):
        x, y = home(patch) if named else heap(spot)
        canvas.pixels(x, y, BOX, BOX, squares[patch], data_id=f"patch {patch}")
        canvas.rect(x, y, BOX, BOX, stroke="edge", data_id=f"edge {patch}")
    said, role = "○ Choose a digit.", "quiet"
    if named:
        right = answer == digit
        said = f"✔ It is a {digit}." if right else f"✘ It is a {digit}, not a {answer}."
        role = "right" if right else "wrong"
    canvas.text(6, 292, said, 14, "start", role, bold=named)
    for one in range(10):
        x, here = 6 + 34.6 * one, one == answer
        colour = ("right" if one == digit else "wrong") if here else "edge"
        canvas.rect(x, 304, 31, 32, "raised", stroke=colour, stroke_width=2.5 if here else 1, rx=5)
        canvas.text(x + 15.5, 326, one, 16, bold=here)
        canvas.touch(x, 304, 31, 32, f"it is a {one}", on=here, answer=one)
    canvas.rect(6, 350, 130, 30, "raised", stroke="ink", rx=5)
    canvas.text(71, 370, "the next bag", 13, bold=True)
    canvas.touch(6, 350, 130, 30, "the next bag", image=(number + 1) % many)
    dark = np.flatnonzero(patches.mean(-1) > 0.6)
    lit = ", ".join(map(str, dark)) or "none"
    where = "where they belong" if named else f"loose; from the first one on patches {', '.join(map(str, lies))}"
    return canvas.view(f"Bag {number + 1} of {many}. 16 patches, {where}. Mostly ink: {lit}. {said}")


def loose_patches(images: Tensor, digits: Tensor) -> Explorer:
    """A bag of 16 patches for each image (b, 8, 8), and the digit (b,) that one has to name.

    Other shapes: ValueError."""
    if images.ndim != 3 or images.shape[1:] != (8, 8) or digits.shape != images.shape[:1]:
        given = f"images {tuple(images.shape)} and digits {tuple(digits.shape)}"
        raise ValueError(f"{given} must be (b, 8, 8) and (b,): one digit an image")
    patches, many = patchify(images, 2).numpy(), len(images)

    def draw(image, answer):
        return draw_bag(image, many, patches[image], bag(image), int(digits[image]), answer)

    controls = {
        "image": menu("bag", [(str(number + 1), number) for number in range(many)], width="140px"),
        "answer": menu("it is a", [("choose …", NONE), *((str(one), one) for one in range(10))], width="180px"),
    }
    follows = {"image": lambda value, state: {"answer": NONE}}
    return Explorer(draw, controls, follows=follows, replaced=list(controls))
