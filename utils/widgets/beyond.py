"""Beyond text: an image whose patches one hides and shuffles, DNA with motifs to plant and cut, patch size and cost."""

import functools
import re
from collections.abc import Callable, Sequence

import ipywidgets
import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ..beyond import BASES, EITHER, MOTIFS, patchify, photograph
from ..plots import as_numbers, largest
from .canvas import Phone, View
from .controls import Explorer, Options, checkbox, menu

# Patches of a digit

SIDE, PLACES = 4, 16  # patches of 2 x 2 pixels in a row of an image of 8 x 8, and in all of it
ARRANGED = {  # the patch that lies at each place
    "as it is": (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    "rows of patches from below": (12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3),
    "halves exchanged": (2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13),
    "shuffle 1": (9, 2, 15, 4, 12, 7, 0, 10, 5, 13, 3, 8, 1, 14, 6, 11),
    "shuffle 2": (6, 11, 1, 14, 8, 3, 13, 5, 10, 0, 7, 12, 4, 15, 2, 9),
    "shuffle 3": (3, 12, 6, 9, 15, 0, 10, 5, 2, 8, 13, 7, 11, 4, 1, 14),
}
HIDDEN = {  # places that begin hidden
    "none": (),
    "every second": (1, 3, 4, 6, 9, 11, 12, 14),
    "upper half": (0, 1, 2, 3, 4, 5, 6, 7),
    "the middle": (5, 6, 9, 10),
    "all but the middle": (0, 1, 2, 3, 4, 7, 8, 11, 12, 13, 14, 15),
}


@torch.no_grad()
def read_patches(
    model: Callable, image: Tensor, order: Sequence[int], shown: Sequence[int]
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """What a model makes of an image (8, 8) whose places hold the patches of `order`, where only `shown` are read.

    Returns the patches as they lie (16, 4), probabilities (classes,), each layer's weights (q, k), mean over heads."""
    laid = patchify(image[None], 2)[:, list(order)]  # (1, 16, 4)
    logits, weights = model(laid[:, list(shown)], torch.tensor(shown))
    return laid[0], logits[0].softmax(-1), [layer[0].mean(0) for layer in weights]


BOX, GRIDS, GRID_TOP = 42, (6, 182), 78  # pixels of a patch, where the two grids begin


def corner(left: float, place: int) -> tuple[float, float]:
    return left + BOX * (place % SIDE), GRID_TOP + BOX * (place // SIDE)


def draw_ink(canvas: Phone, laid: Tensor, lies: Sequence[int]) -> None:
    """The patches (16, 4) where they lie; each glides when it is laid elsewhere."""
    squares = np.repeat(1 - laid.numpy().reshape(PLACES, 2, 2, 1), 3, axis=-1).clip(0, 1)
    for place, (square, patch) in enumerate(zip(squares, lies)):
        named = {"data_id": f"patch {patch}"} if patch not in lies[:place] else {}
        canvas.pixels(*corner(GRIDS[0], place), BOX, BOX, square, **named)


def touch_patches(canvas: Phone, lies: Sequence[int], shown: Sequence[int]) -> None:
    """On the left: a click hides a patch or shows it, and one that is dragged changes places with another."""
    for place, patch in enumerate(lies):
        on, name = place in shown, f"show patch {patch}, at place {place}"
        box = {f"place_{place}": not on}
        canvas.touch(*corner(GRIDS[0], place), BOX, BOX, name, "patches", on, swap=("lies_", place, patch), **box)


def touch_asking(canvas: Phone, asks: int | str) -> None:
    """On the right: who asks, a patch or, by the button below, all."""
    canvas.text(GRIDS[1], 266, "ask", 12, "start", "quiet")
    x, wide, on = GRIDS[1] + 26, 12 + 6.2 * len(EVERY), asks == EVERY
    canvas.rect(x, 250, wide, 24, "raised", stroke="here" if on else "edge", stroke_width=2 if on else 1, rx=4)
    canvas.text(x + wide / 2, 266, EVERY, 12)
    canvas.touch(x, 250, wide, 24, f"ask {EVERY}", on=on, asks=EVERY)
    for place in range(PLACES):
        canvas.touch(*corner(GRIDS[1], place), BOX, BOX, f"ask patch {place}", on=place == asks, asks=place)


def draw_grid(canvas: Phone, left: float, shown: Sequence[int], weights: np.ndarray | None, asks: int | None) -> None:
    """The 16 places of an image: hidden ones as "?", weights (shown,) as colours where there are any, one framed."""
    for place in range(PLACES):
        x, y = corner(left, place)
        if place not in shown:
            canvas.rect(x, y, BOX, BOX, "raised", stroke="edge")
            canvas.text(x + BOX / 2, y + 27, "?", 17, fill="quiet")
        elif weights is not None:
            share = float(weights[shown.index(place)])
            letters = canvas.shade(x, y, BOX, BOX, "weight", share / weights.max())
            canvas.text(x + BOX / 2, y + 33, f"{share:.0%}", 12.5, fill=letters)
            canvas.text(x + 4, y + 13, place, 11, "start", letters)
        else:
            canvas.rect(x, y, BOX, BOX, stroke="edge")
    if asks is not None:
        x, y = corner(left, asks)
        canvas.rect(x + 1.5, y + 1.5, BOX - 3, BOX - 3, stroke="here", stroke_width=3)


def draw_bars(canvas: Phone, top: float, probabilities: np.ndarray, right: int) -> None:
    """A bar for each class, in two columns, the right one's name in green."""
    for digit, share in enumerate(probabilities.tolist()):
        x, y = 24 + 178 * (digit // 5), top + 21 * (digit % 5)
        colour = "right" if digit == right else "ink"
        canvas.text(x - 6, y + 13, digit, 13, "end", colour, bold=digit == right)
        canvas.rect(x, y, 108 * share, 16, "right" if digit == right else "data")
        canvas.text(x + 6 + 108 * share, y + 13, f"{share:.0%}", 12, "start", colour)


def draw_patches(
    title: str, laid: Tensor, lies: Sequence[int], shown: Sequence[int], asks: int | str, row: ArrayLike,
    probabilities: ArrayLike, digit: int,
) -> View:  # fmt: skip
    """An image as a model gets it, the attention (shown,) of what asks, a place or all, and ten probabilities."""
    row, probabilities, canvas = as_numbers(row, 1), as_numbers(probabilities, 1), Phone(TALL)
    frame = asks if isinstance(asks, int) else None
    asked = "all patches look" if frame is None else f"patch {asks} looks"
    y = canvas.prose(6, 19, title, 13, bold=True)
    for x, heading in zip(GRIDS, ("what the model gets", f"where {asked}")):
        canvas.text(x, max(y + 6, 66), heading, 12, "start", "quiet")
    draw_ink(canvas, laid, lies)
    draw_grid(canvas, GRIDS[0], shown, None, frame)
    draw_grid(canvas, GRIDS[1], shown, row, frame)
    canvas.hint(6, 261, "click to hide, drag to swap", kernel=True)
    canvas.text(6, 286, "its answer", 12, "start", "quiet")
    draw_bars(canvas, 294, probabilities, digit)
    best, most = largest(probabilities, 2), largest(row, 2)
    done = best[0] == digit and len(shown) <= FEW_PATCHES
    sign, role = ("✔", "right") if done else ("○", "quiet")
    task = f"{sign} Leave {FEW_PATCHES} patches or fewer, and let it still say {digit}."
    canvas.prose(6, 420, task, fill=role)
    touch_patches(canvas, lies, shown)
    touch_asking(canvas, asks)
    looks = ", ".join(f"patch {shown[k]} {row[k]:.0%}" for k in most)
    answers = ", ".join(f"{k} {probabilities[k]:.0%}" for k in best)
    said = f"{title}. Most of all, {asked} at {looks}. Most probable: {answers}; it is a {digit}. {task}"
    return canvas.view(said)


FEW_PATCHES, TALL, EVERY = 8, 446, "all patches"


def draw_all_hidden(lies: Sequence[int]) -> View:
    """What there is to see where no patch is shown: places to click."""
    canvas, said = Phone(TALL), ("✘ Every patch is hidden.", "There is nothing to read: show one.")
    canvas.text(6, 20, said[0], 14, "start", "wrong", True)
    canvas.text(6, 66, "what the model gets", 12, "start", "quiet")
    draw_grid(canvas, GRIDS[0], (), None, None)
    canvas.text(6, 266, said[1], 13, "start")
    touch_patches(canvas, lies, ())
    return canvas.view(" ".join(said))


def named_order(lies: Sequence[int]) -> str:
    """The name of an arrangement, or how many patches lie elsewhere."""
    moved = sum(patch != place for place, patch in enumerate(lies))
    own = f"your order, {moved} {'patch' if moved == 1 else 'patches'} moved"
    return next((name for name, arranged in ARRANGED.items() if arranged == tuple(lies)), own)


def named_digits(images: Tensor, digits: Tensor) -> list[tuple[str, int]]:
    """The options of the menu of images; ValueError unless images are (b, 8, 8) and digits (b,)."""
    if images.ndim != 3 or images.shape[1:] != (8, 8) or digits.shape != images.shape[:1]:
        given = f"images {tuple(images.shape)} and digits {tuple(digits.shape)}"
        raise ValueError(f"{given} must be (b, 8, 8) and (b,): one digit an image")
    return [(f"{number}: a {digit}", number - 1) for number, digit in enumerate(digits.tolist(), 1)]


def patches(images: Tensor, digits: Tensor, model: Callable) -> Explorer:
    """Hide patches of a digit, or drag them elsewhere, and see what a model makes of it and where its patches look.

    images (b, 8, 8), digits (b,); `model` as `beyond.PatchTransformer`, with patches of 2 x 2 at 16 places. A hidden
    patch asks nothing: all patches do in its place. Other shapes: ValueError."""
    names = named_digits(images, digits)
    everywhere = tuple(range(PLACES))
    layers = len(read_patches(model, images[0], everywhere, everywhere)[2])
    asking = [(EVERY, EVERY)] + [(f"patch {place}", place) for place in everywhere]

    def draw(image, order, hide, layer, asks, **places):
        shown = [place for place in everywhere if places[f"place_{place}"]]
        lies = [places[f"lies_{place}"] for place in everywhere]
        if not shown:
            return draw_all_hidden(lies)
        title = f"Image {names[image][0]}, {named_order(lies)}, {len(shown)} of {PLACES} patches shown, layer {layer}"
        if asks in everywhere and asks not in shown:
            asks = EVERY
        laid, probabilities, weights = read_patches(model, images[image], lies, shown)
        rows = weights[layer - 1]
        row = rows[shown.index(asks)] if asks in shown else rows.mean(0)
        return draw_patches(title, laid, lies, shown, asks, row, probabilities, int(digits[image]))

    boxes = {f"place_{place}": checkbox(str(place), True, "72px") for place in everywhere}
    controls = {
        "image": menu("image", names, width="200px"),
        "order": menu("patches lie", list(ARRANGED), width="300px"),
        "hide": menu("hide", list(HIDDEN), width="260px"),
        "layer": menu("layer", list(range(1, layers + 1)), layers, "130px"),
        "asks": menu("who asks", asking, width="240px"),
    }
    lying = {f"lies_{place}": menu(f"at place {place}", everywhere, place) for place in everywhere}
    rows = [ipywidgets.HBox(list(controls.values()), layout=ipywidgets.Layout(flex_flow="row wrap"))]
    for start in range(0, PLACES, SIDE):
        label = ipywidgets.Label("shown patches, by position:" if not start else "")
        label.layout.width = "200px"
        rows.append(ipywidgets.HBox([label, *[*boxes.values()][start : start + SIDE]]))

    def hidden(hide, _state):
        return {name: place not in HIDDEN[hide] for place, name in enumerate(boxes)}

    def arranged(order, _state):
        return dict(zip(lying, ARRANGED[order]))

    follows = {"hide": hidden, "order": arranged}
    return Explorer(draw, controls | boxes | lying, rows, follows=follows, replaced=[*boxes, "asks"])


# Motifs in DNA

LENGTH, LINE = 120, 30  # bases of a sequence, and of a line of the picture
SPOTS = {"AP-1": (6, 48, 92), "E-box": (20, 68, 104), "GC box": (34, 78, 112)}  # where each can stand: none overlap
NEEDED = "AP-1", "E-box"
COLOURED = {"AP-1": "here", "E-box": "data", "GC box": "quiet"}
LANE, LETTERS = 26, 72  # pixels of a head's lane, and from the top of a line to its letters


def without_motifs(bases: Tensor, seed: int = 0) -> Tensor:
    """Bases (n,), 0 to 3, in which random ones have taken the place of every motif, until none is left."""
    generator, left = torch.Generator().manual_seed(seed), bases.clone()
    patterns = ["".join(f"[{EITHER.get(letter, letter)}]" for letter in motif) for motif in MOTIFS.values()]
    while found := re.search("|".join(patterns), "".join(BASES[base] for base in left)):
        start, stop = found.span()
        left[start:stop] = torch.randint(len(BASES), (stop - start,), generator=generator)
    return left


def planted(background: Tensor, places: dict[str, int]) -> Tensor:
    """The bases (n,) with each motif of `places` written in, from its first base on; of S always the C."""
    bases = background.clone()
    for name, start in places.items():
        letters = [EITHER.get(letter, letter)[0] for letter in MOTIFS[name]]
        bases[start : start + len(letters)] = torch.tensor([BASES.index(letter) for letter in letters])
    return bases


def on_motif(places: dict[str, int], windows: int, width: int) -> dict[str, np.ndarray]:
    """For each motif, which windows (windows,) of `width` bases hold at least four of its bases."""
    first = np.arange(windows)
    ends = {name: start + len(MOTIFS[name]) for name, start in places.items()}
    shared = {name: np.minimum(first + width, ends[name]) - np.maximum(first, start) for name, start in places.items()}
    return {name: count >= 4 for name, count in shared.items()}


def draw_lane(canvas: Phone, floor: float, start: int, row: np.ndarray, full: np.ndarray) -> None:
    """The weights (windows,) of a head as bars at the middle of each window, from base `start` on; outlined: `full`,
    those that it has with both motifs planted. 100 % are 22 pixels."""
    step, width = 344 / LINE, LENGTH - len(row) + 1
    canvas.line(6, floor, 350, floor, "edge")
    for window, (share, other) in enumerate(zip(row.tolist(), full.tolist())):
        x = 6 + step * (window + width / 2 - start)
        if 6 <= x < 350 and max(share, other) > 0.01:
            canvas.rect(x - 4, floor - 22 * share, 8, 22 * share, "weight")
            canvas.rect(x - 4, floor - 22 * other, 8, 22 * other, stroke="weight", stroke_dasharray="2 2")


def draw_line(
    canvas: Phone, top: float, start: int, bases: Tensor, places: dict[str, int], heads: np.ndarray, full: np.ndarray
) -> None:
    """LINE bases from number `start` on, a lane for each head above them, motifs underlined; a touch plants a motif
    where it can stand, and cuts it out where it does."""
    step = 344 / LINE
    for head, (row, other) in enumerate(zip(heads, full), 1):
        draw_lane(canvas, top + LANE * head, start, row, other)
        canvas.text(350, top + LANE * (head - 1) + 14, f"head {head}", 11, "end", "quiet")
    covered = {start + k: name for name, start in places.items() for k in range(len(MOTIFS[name]))}
    for place in range(start, start + LINE):
        name, letter = covered.get(place), BASES[int(bases[place])]
        canvas.text(6 + step * (place - start + 0.5), top + LETTERS - 6, letter, 11.5, fill=COLOURED.get(name, "quiet"),
                    bold=bool(name))  # fmt: skip
    for name, spots in SPOTS.items():
        for number, place in enumerate(spots, 1):
            if start <= place < start + LINE:
                left, long, here = 6 + step * (place - start), step * len(MOTIFS[name]), places.get(name) == place
                canvas.rect(left, top + LETTERS - 2, long, 4, COLOURED[name], fill_opacity="1" if here else "0.25")
                canvas.text(left + long / 2, top + LETTERS + 15, name if here else f"+ {name}", 11,
                            fill=COLOURED[name] if here else "quiet", bold=here)  # fmt: skip
                said = f"cut {name} out" if here else f"plant {name} from base {place} on"
                chosen = {name: 0 if here else number}
                canvas.touch(left - 2, top + LETTERS - 18, long + 4, 36, said, "motifs", here, **chosen)


def draw_motifs(
    title: str, bases: Tensor, places: dict[str, int], probability: float, weights: ArrayLike, full: ArrayLike
) -> View:
    """Bases (120,) with planted motifs {name: first base}, a model's probability that AP-1 and E-box are both there,
    and the weights (h, windows) of its heads over the sequence; full: those with both planted."""
    heads, full, canvas, said = as_numbers(weights, 2), as_numbers(full, 2), Phone(498), []
    width = LENGTH - heads.shape[1] + 1
    there = on_motif(places, heads.shape[1], width)
    y = canvas.prose(6, 18, title, 13, bold=True)
    canvas.text(6, y, f"both motifs, says the model: {probability:.0%}", 13, "start", bold=True)
    canvas.rect(6, 58, 344, 10, "raised")
    canvas.rect(6, 58, 344 * probability, 10, "data", data_id="probability")
    for number, row in enumerate(heads, 1):
        window = largest(row, 1)[0]
        where = next((name for name, on in there.items() if on[window]), "no motif")
        shares = ", ".join(f"{name} {row[on].sum():.0%}" for name, on in there.items())
        span = f"bases {window} to {window + width - 1}, on {where}"
        said.append(f"Head {number}: largest weight {row[window]:.0%}, {span}{'; in all on ' * bool(shares)}{shares}.")
    for line in range(LENGTH // LINE):
        draw_line(canvas, 70 + 92 * line, LINE * line, bases, places, heads, full)
    canvas.text(6, 450, "outlined: the weights with AP-1 and E-box planted", 12, "start", "quiet")
    sign, role = ("✔", "right") if probability > 0.9 else ("○", "quiet")
    task = f"{sign} Make it say more than 90%. Which motifs does it take, and does it matter where they stand?"
    canvas.prose(6, 470, task, fill=role)
    return canvas.view(f"{title}. Probability of both motifs {probability:.0%}. {' '.join(said)} {task}")


def motifs(model: Callable, bases: Tensor) -> Explorer:
    """Plant the motifs AP-1, E-box and GC box in DNA, cut them out again, and see a model's answer and where it looks.

    bases (b, 120), whole numbers 0 to 3; motifs that they hold are cut out first. `model` as `beyond.MotifReader`.
    Other shapes or numbers: ValueError."""
    if bases.ndim != 2 or bases.shape[1] != LENGTH or bases.is_floating_point():
        raise ValueError(f"bases {tuple(bases.shape)} {bases.dtype} must be (b, {LENGTH}) whole numbers")
    if bases.min() < 0 or bases.max() >= len(BASES):
        raise ValueError(f"bases run from {bases.min()} to {bases.max()}; they must be 0 to 3, for {', '.join(BASES)}")
    backgrounds = [without_motifs(row, number) for number, row in enumerate(bases)]

    @torch.no_grad()
    def draw(sequence, **spots):
        places = {name: SPOTS[name][spot - 1] for name, spot in spots.items() if spot}
        both = {name: SPOTS[name][0] for name in NEEDED} | places
        letters, full = planted(backgrounds[sequence], places), planted(backgrounds[sequence], both)
        logits, weights = model(torch.eye(len(BASES))[torch.stack([letters, full])])
        probability, heads = logits[0].softmax(-1)[1].item(), weights[-1][:, :, 0]
        named = ", ".join(f"{name} at base {start}" for name, start in places.items()) or "nothing"
        return draw_motifs(f"Sequence {sequence + 1}; planted: {named}", letters, places, probability, *heads)

    controls = {"sequence": menu("sequence", [(str(i + 1), i) for i in range(len(bases))], width="160px")}
    for name, begin in zip(SPOTS, (1, 0, 0)):
        options = [("cut out", 0), *((f"from base {place} on", i) for i, place in enumerate(SPOTS[name], 1))]
        controls[name] = menu(name, options, begin, "230px")
    return Explorer(draw, controls, replaced=list(SPOTS))


# Patch size and cost

WIDER = {48: 2, 192: 4, 768: 4}  # d: how many times as wide the feed-forward layer is
MODELS = {48: "the one below", 192: "tiny ViT", 768: "ViT-Base"}
COSTS = {8: (1, 2, 4, 8), 32: (1, 2, 4, 8, 16, 32), 96: (2, 4, 8, 16, 32), 224: (4, 8, 14, 16, 28, 32)}  # side: patches


def costs(side: int, size: int, channels: int, d_model: int) -> dict[str, int]:
    """Of side² pixels in patches of size²: how many, numbers in each, scores, parameters of an embedding with bias,
    multiplications of a block, (4 + 2 d_ff / d) n d² + 2 n² d, and of these the second part, for scores and sums."""
    n, entries = (side // size) ** 2, channels * size**2
    found = {"n": n, "entries": entries, "scores": n**2, "embedding": entries * d_model + d_model}
    products = 2 * n**2 * d_model
    return found | {"block": (4 + 2 * WIDER[d_model]) * n * d_model**2 + products, "products": products}


@functools.cache
def tower(side: int) -> np.ndarray:
    """The square on the left of the photograph in so many pixels, or in 112 where that is more: (s, s, 3)."""
    square = photograph(1)[:, :427].permute(2, 0, 1)[None]  # (1, 3, 427, 427)
    return torch.nn.functional.adaptive_avg_pool2d(square, min(side, 112))[0].permute(1, 2, 0).numpy()


def draw_scores(canvas: Phone, scores: dict[int, int], size: int) -> None:
    """For each patch size its number of scores, and below that a bar, to the right 10 times as many at each line."""
    canvas.text(216, 44, "scores by patch size", 12, "start", "quiet")
    canvas.text(216, 60, "line to line: 10 times", 12, "start", "quiet")
    for power in range(8):
        canvas.line(240 + 15.5 * power, 70, 240 + 15.5 * power, 230, "edge", 0.6)
    halo = {"stroke": "ground", "stroke_width": 4, "paint_order": "stroke"}
    for number, (other, many) in enumerate(scores.items()):
        y, long, chosen = 73 + 26 * number, 15.5 * float(np.log10(many)), other == size
        letters = {"fill": "here" if chosen else "ink", "bold": chosen}
        canvas.text(233, y + 18, other, 11.5, "end", **letters)
        canvas.text(241, y + 10, f"{many:,}", 11.5, "start", **letters, **halo)
        canvas.rect(240, y + 14, max(long, 1), 7, "here" if chosen else "data")
        canvas.touch(212, y - 2, 142, 26, f"patches of {other} x {other}", on=chosen, size=other)


def draw_costs(side: int, size: int, channels: int, d_model: int) -> View:
    """An image cut into patches, what this costs, and for each patch size the number of scores."""
    found, canvas, rows = costs(side, size, channels, d_model), Phone(452), side // size
    share = found["products"] / found["block"]
    colour = "in colour" if channels == 3 else "in grey"
    canvas.text(6, 20, f"{side} x {side} pixels {colour}, patches of {size} x {size}", 13, "start", bold=True)
    picture = tower(side) if channels == 3 else tower(side).mean(-1, keepdims=True).repeat(3, axis=-1)
    canvas.pixels(6, 34, 196, 196, picture)
    canvas.rect(6, 34, 196, 196, stroke="data")
    for line in range(1, rows):
        at = 196 * line / rows
        canvas.line(6 + at, 34, 6 + at, 230, "data", 0.6)
        canvas.line(6, 34 + at, 202, 34 + at, "data", 0.6)
    draw_scores(canvas, {other: costs(side, other, channels, d_model)["scores"] for other in COSTS[side]}, size)
    facts = (
        ("patches, the sequence's length n", f"{rows} x {rows} = {found['n']:,}"),
        ("numbers in a patch", f"{found['entries']:,}"),
        ("scores, n² a head and layer", f"{found['scores']:,}"),
        ("parameters of the embedding", f"{found['embedding']:,}"),
        (f"multiplications of a block, d_ff = {WIDER[d_model]} d", f"{found['block']:,}"),
        ("of these for scores and sums", f"{share:.0%}"),
    )
    for number, (name, value) in enumerate(facts):
        y = 260 + 29 * number
        canvas.text(6, y, name, 12, "start", "quiet")
        canvas.text(350, y, value, 13, "end", bold=True)
    sign, role = ("✔", "right") if share > 0.5 else ("○", "quiet")
    task = f"{sign} Make scores and sums more than half of the work."
    canvas.text(6, 434, task, 12.5, "start", role)
    return canvas.view(
        f"{side} x {side} pixels {colour} in patches of {size} x {size}: n = {found['n']:,} patches of "
        f"{found['entries']:,} numbers, {found['scores']:,} scores a head and layer. For d = {d_model} the embedding "
        f"has {found['embedding']:,} parameters, and a block multiplies {found['block']:,} times, {share:.0%} of that "
        f"for scores and weighted sums. {task}"
    )


def patch_sizes() -> Explorer:
    """Patch size against the length of the sequence, its scores and parameters, for images of 8 x 8 to 224 x 224."""
    sides = menu("image", [(f"{side} x {side}", side) for side in COSTS], 96, width="200px")

    def sizes_of(side, state):
        kept = state.get("size")
        options = [(f"{size} x {size}", size) for size in COSTS[side]]
        return {"size": Options(options, kept if kept in COSTS[side] else COSTS[side][len(COSTS[side]) // 2])}

    sizes = menu("patches", *sizes_of(sides.value, {})["size"], width="200px")
    controls = {
        "side": sides,
        "size": sizes,
        "channels": menu("colours", [("grey, 1 number a pixel", 1), ("red, green, blue, 3 numbers", 3)], 3, "300px"),
        "d_model": menu("model", [(f"{name}, d = {d}", d) for d, name in MODELS.items()], width="240px"),
    }
    return Explorer(draw_costs, controls, follows={"side": sizes_of})
