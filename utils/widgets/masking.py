"""A mask to paint, how an empty row spoils what is near it, and the one model that lets no earlier output move."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import ipywidgets
import numpy as np
import torch
from torch import Tensor, nn

from .. import masks
from ..attention import masked_softmax_, scaled_dot_product_attention
from ..checks import require_list
from ..plots import as_numbers
from .board import ABOVE, ROW, Board, draw_products, short, width_of
from .canvas import Phone, View, cut, two_decimals
from .controls import Explorer, checkbox, menu, slider


def mask_presets(n: int, padded: int) -> dict[str, Tensor]:
    """{name: mask (n, n)} for a sentence of n positions, the last `padded` of them padding."""
    pairs, causal = torch.ones(n, n, dtype=torch.bool), masks.causal_mask(n)
    padding = masks.padding_mask_from_lengths(torch.tensor([n - padded]), n)[0, 0].expand(n, n)
    return {
        "none": pairs,
        "padding": padding,
        "causal": causal,
        "causal and padding": causal & padding,
        "window, one word to each side": pairs.triu(-1).tril(1),
    }


# Painting a mask

ASKS, HEARS = 2, 1  # the task: which word is to hear which one alone


def of_a_score(score: float) -> str:
    """A score with one decimal at most."""
    return f"{score:.1f}".removesuffix(".0").replace("-0", "0" if round(score, 1) == 0 else "-0")


def painted_board(words: Sequence[str], scores: np.ndarray, V: np.ndarray) -> Board:
    """The board of a painted mask: on the line of each query its scores, weights, their sum, and its output."""
    n, wide = len(words), max(15.0, *(width_of(of_a_score(score)) for score in scores.flat)) + 2
    weight, output = width_of("0.00") + (3 if n < 5 else 1), max(width_of(two_decimals(value)) for value in V.flat) + 4
    names = max(width_of(cut(word, 7), 12.5) for word in words) + 8
    spare = max(0.0, (352 - names - n * (wide + weight) - 22 - V.shape[1] * output - 3 * 8) / n)
    more = min(max(ROW - wide, 0.0), 0.6 * spare)  # scores are clicked: most of the room is theirs
    also = min(6.0, (spare - more) / 2)
    scores_wide, weights_wide = wide + more + also, weight + also
    columns = {"S": (n, scores_wide), "A": (n, weights_wide), "sum": (1, 22.0), "Z": (V.shape[1], output)}
    return Board(words, columns, 60.0 + ABOVE * n)


def draw_permission(canvas: Phone, board: Board, mask: np.ndarray, scores: np.ndarray) -> None:
    """The scores: a filled cell may attend, and what may not is −∞."""
    for (row, column), score in np.ndenumerate(scores):
        x, y, wide, tall = board.place("S", row, column)
        letters = canvas.shade(x, y, wide, tall, "data", 0.3 * mask[row, column])
        text, fill = (of_a_score(score), letters) if mask[row, column] else ("−∞", "quiet")
        canvas.text(x + wide / 2, y + tall / 2 + 4, text, 11, fill=fill)


def touch_permission(canvas: Phone, board: Board, words: Sequence[str], mask: np.ndarray) -> None:
    """A touch on a score allows it or forbids it; a finger that moves on does so to more of them."""
    for (row, column), allowed in np.ndenumerate(mask):
        name, box = f"{words[row]} may attend to {words[column]}", {f"box_{row}_{column}": not allowed}
        canvas.touch(*board.place("S", row, column), name, "scores", bool(allowed), paint=True, **box)


def draw_task(canvas: Phone, words: Sequence[str], mask: np.ndarray, V: np.ndarray) -> str:
    """What the learner is to bring about, and whether it is done: first a causal mask, then a row with a single word;
    two lines, whatever the mask."""
    asks, hears, value = words[ASKS], words[HEARS], ", ".join(map(short, V[HEARS]))
    said, done = ("○ Hide the future: no word", "may hear a later one."), True
    if mask[ASKS].nonzero()[0].tolist() == [HEARS]:
        said = f"✔ {asks} hears only {hears}.", f"Its output is the value of {hears}: {value}."
    elif np.array_equal(mask, np.tri(len(mask), dtype=bool)):
        said = "✔ The future is hidden. Now let", f"{asks} hear only {hears}. What comes out?"
    else:
        done = False
    for number, line in enumerate(said):
        canvas.text(5, 40 + 18 * number, line, 12.5, "start", "right" if done else "ink")
    return " ".join(said)


def draw_masked(
    words: Sequence[str], mask: Tensor, scores: Tensor, weights: Tensor, V: Tensor, outputs: Tensor
) -> View:
    """One sentence under a mask: mask, scores and weights (n, n), V and outputs (n, v). The line of a query depends on
    its own row of the mask alone. ValueError: there is no room for the numbers."""
    mask, scores, weights, V, outputs = (as_numbers(array, 2) for array in (mask, scores, weights, V, outputs))
    board, n = painted_board(words, scores, V), len(words)
    canvas, deepest = Phone(board.top + ROW * n + 48), np.abs(V).max()  # no mean of values exceeds the largest
    canvas.text(5, 18, "Who may attend to whom?", 15, "start", bold=True)
    draw_permission(canvas, board, mask, scores)
    board.table(canvas, "A", [list(map(two_decimals, row)) for row in weights], "weight", weights)
    board.table(canvas, "sum", [[short(row.sum())] for row in weights], "weight", np.zeros((n, 1)))
    board.table(canvas, "Z", [list(map(two_decimals, row)) for row in outputs], "value", 0.5 * abs(outputs) / deepest)
    board.table(canvas, "V", [list(map(short, row)) for row in V], "value", 0.5 * abs(V) / deepest)
    for part, name, role in (("S", "scores", "data"), ("A", "weights", "weight"), ("Z", "output", "value")):
        board.name(canvas, part, name, role)
    canvas.text(board.middle("sum"), board.top - 6, "sum", 11, fill="weight")
    canvas.text(board.middle("V"), board.place("V", 0, 0, n)[1] - 6, "V", 13, fill="value", bold=True)
    for row, word in enumerate(words):
        _, y, *_ = board.place("S", row, 0)
        canvas.text(board.lefts["S"] - 5, y + 16, cut(word, 7), 12.5, "end", "ink" if mask[row].any() else "wrong")
        x, _, wide, _ = board.place("S", 0, row)
        middle, above = x + wide / 2, board.top - 5
        turned = {"transform": f"rotate(-40 {middle:.1f} {above:.1f})"}
        canvas.text(middle, above, cut(word, 9), 11.5, "start", "key", **turned)
        left, top, *_ = board.place("V", row, 0, n)
        canvas.text(left - 5, top + 14, cut(word, 9), 11.5, "end", "value")
    canvas.rect(6, canvas.height - 20, 13, 13, "data", fill_opacity="0.3", stroke="edge")
    canvas.text(24, canvas.height - 9, "filled: may attend · −∞: may not", 12, "start", "quiet")
    canvas.hint(352, canvas.height - 9, "click or paint cells", "end")
    task = draw_task(canvas, words, mask, V)
    touch_permission(canvas, board, words, mask)
    said = [
        f"{word} to {int(allowed.sum())} of {n}: "
        f"{', '.join(f'{words[k]} {line[k]:.2f}' for k in np.flatnonzero(allowed)) or 'nothing'}"
        for word, line, allowed in zip(words, weights, mask)
    ]
    return canvas.view(f"Who attends to whom. {'; '.join(said)}. {task}")


def paint_mask(words: Sequence[str], Q: Tensor, K: Tensor, V: Tensor, padded: int = 0) -> Explorer:
    """Paint a mask (n, n), a box for each pair, and see scores, weights and outputs; of three words or more.

    Q and K (n, e), V (n, v): small, and best of whole numbers; ValueError: too wide. `padded`: how many positions at
    the end are padding."""
    require_list(words=words)
    n, scores = len(words), Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    presets = mask_presets(n, padded)
    preset = menu("start from", list(presets), "none")
    at_first = np.ndenumerate(presets["none"].numpy())
    boxes = {f"box_{i}_{j}": checkbox(words[j], bool(allowed), "96px") for (i, j), allowed in at_first}

    def draw(preset, **painted):
        mask = torch.tensor(list(painted.values())).view(n, n)
        outputs, weights = scaled_dot_product_attention(Q, K, V, mask)
        return draw_masked(words, mask, scores, weights, V, outputs)

    rows = np.array(list(boxes.values()), dtype=object).reshape(n, n).tolist()
    for word, row in zip(words, rows):
        row.insert(0, ipywidgets.Label(f"{word} may attend to", layout=ipywidgets.Layout(width="170px")))

    def boxes_of(preset, _state):
        return dict(zip(boxes, presets[preset].flatten().tolist()))

    rows = [preset, *map(ipywidgets.HBox, rows)]
    return Explorer(draw, {"preset": preset, **boxes}, rows, follows={"preset": boxes_of}, replaced=list(boxes))


# An empty row


def as_in_most_texts(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over scores (q, k) of which the forbidden ones are −∞: NaN in a row where all are."""
    return torch.softmax(scores.masked_fill(~mask, -math.inf), -1)


SOFTMAXES = {"as in most texts": as_in_most_texts, "in this course": lambda s, mask: masked_softmax_(s.clone(), mask)}
STAGES = ("scores", "weights", "outputs", "loss", "to outputs", "to V", "a step later")
RATE = 0.1  # of the training step


@dataclass(frozen=True)
class Journey:
    """Attention under a mask, forwards, backwards and after a training step of V, with one kind of softmax. The loss
    reads the outputs of the queries that may attend to something: the mean of the squares of their entries."""

    Q: Tensor
    K: Tensor
    V: Tensor
    mask: Tensor
    softmax: Callable[[Tensor, Tensor], Tensor]

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """What there is after each of the STAGES; of "a step later" the new V and the outputs."""
        V, scores = self.V.clone().requires_grad_(), self.Q @ self.K.mT / math.sqrt(self.Q.shape[-1])
        weights = self.softmax(scores, self.mask)
        outputs = weights @ V
        outputs.retain_grad()
        loss = outputs[self.mask.any(-1)].square().mean()
        loss.backward()
        later = V.detach() - RATE * V.grad
        found = (scores, weights, outputs, loss, outputs.grad, V.grad, weights @ later)
        kept = dict(zip(STAGES, (number.detach().numpy() for number in found)))
        return kept | {"V": self.V.numpy(), "V later": later.numpy()}


def number_or_nan(value: float) -> str:
    return "NaN" if math.isnan(value) else short(value)


def draw_table(canvas: Phone, board: Board, part: str, table: np.ndarray, role: str, depth: float) -> None:
    """Numbers in the colour of their role; what is NaN is red."""
    for (row, column), value in np.ndenumerate(table):
        x, y, wide, tall = board.place(part, row, column, len(table))
        broken = math.isnan(value)
        letters = canvas.shade(x, y, wide, tall, "wrong" if broken else role, 0.85 if broken else depth * abs(value))
        canvas.text(x + wide / 2, y + tall / 2 + 4, number_or_nan(value), 11, fill=letters, bold=broken)


def draw_journey(canvas: Phone, board: Board, words: Sequence[str], name: str, way: Journey, step: int) -> str:
    """One of the two ways up to this one of the STAGES, from 1; returns the sum that makes an entry of V's gradient."""
    now, numbers, n, below = STAGES[step - 1], way.numbers, len(words), board.top + ROW * len(words)
    deepest = max(1.0, float(way.V.abs().max()))
    canvas.text(5, board.place("V", 0, 0, n)[1] + 4, name, 13, "start", bold=True)
    for (row, column), score in np.ndenumerate(numbers["scores"]):
        x, y, wide, tall = board.place("S", row, column)
        letters = canvas.shade(x, y, wide, tall, "data", 0.3 * bool(way.mask[row, column]))
        text, fill = (of_a_score(score), letters) if way.mask[row, column] else ("−∞", "quiet")
        canvas.text(x + wide / 2, y + tall / 2 + 4, text, 11, fill=fill)
    for part, known in (("A", step >= 2), ("Z", step >= 3)):
        for row, column in np.ndindex(n, 0 if known else board.columns[part][0]):
            canvas.rect(*board.place(part, row, column), stroke="edge")
    if step >= 2:
        draw_table(canvas, board, "A", numbers["weights"], "weight", 1.0)
    if step >= 3:
        shown = {"to outputs": "to outputs", "to V": "to outputs", "a step later": "a step later"}.get(now, "outputs")
        draw_table(canvas, board, "Z", numbers[shown], "value", 0.5 / deepest)
    values = {"to V": "to V", "a step later": "V later"}.get(now, "V")
    draw_table(canvas, board, "V", numbers[values], "value", 0.5 / deepest)
    above = {"to V": "gradient of V", "V later": "V, a step later", "V": "V"}[values]
    middle = min(board.middle("V"), 352 - 0.63 * 12.5 * len(above) / 2)
    canvas.text(middle, board.place("V", 0, 0, n)[1] - 6, above, 12.5, fill="value", bold=True)
    board.name(canvas, "S", "scores", "data")
    board.name(canvas, "A", "weights", "weight")
    board.name(canvas, "Z", "its gradient" if now in ("to outputs", "to V") else "output", "value")
    for row, word in enumerate(words):
        _, y, *_ = board.place("S", row, 0)
        empty = not way.mask[row].any()
        canvas.text(board.lefts["S"] - 5, y + 16, cut(word, 7), 12.5, "end", "wrong" if empty else "ink")
    if step >= 4:
        canvas.text(5, board.place("V", 1, 0, n)[1] + 12, f"loss {numbers['loss']:.2f}", 13, "start")
    if now != "to V":
        return ""
    column = [board.place("A", row, 0) for row in range(n)], [board.place("Z", row, 0) for row in range(n)]
    result = board.place("V", 0, 0, n)
    for cells, role in ((column[0], "weight"), (column[1], "value"), ([result], "here")):
        board.frame(canvas, cells[0], cells[-1], role)
    pairs = [tuple(map(number_or_nan, pair)) for pair in zip(numbers["weights"][:, 0], numbers["to outputs"][:, 0])]
    total = number_or_nan(numbers["to V"][0, 0])
    draw_products(canvas, below + 38, pairs, total, ("weight", "value"), column)
    return f"{' + '.join(map(' · '.join, pairs))} = {total}"


def of_a_step(step: int, word: str, losses: Sequence[float], sums: Sequence[str]) -> str:
    """What is to be seen after this step, `word` being the one that may attend to nothing."""
    return (
        f"Forwards. {word} may attend to nothing: weights of 0 / 0, NaN, above, of 0 below. How far will it spread?",
        f"The outputs of the words are the same in both. That of {word} is NaN above, 0 below.",
        f"The loss reads the words alone: {losses[0]:.2f} above, {losses[1]:.2f} below. Nothing to be noticed.",
        f"Backwards. The loss does not read {word}, so the gradient of its output is 0. Where is the harm?",
        f"The gradient of V, weight times gradient and added up: {sums[0]} above, for 0 · NaN is NaN; {sums[1]} below.",
        "After one training step every entry of V is NaN above, and with it every output. Below, training goes on.",
    )[step - 1]


def draw_empty_row(words: Sequence[str], ways: dict[str, Journey], step: int) -> View:
    """Step number `step`, from 1, of two ways {name: journey} to treat a query that may attend to nothing: the first
    shows scores and weights."""
    first = next(iter(ways.values()))
    texts = [number_or_nan(value) for way in ways.values() for table in way.numbers.values() for value in table.flat]
    wide, n, size = max(map(width_of, texts)) + 3, len(words), first.V.shape[1]
    high, sums = 16 + ABOVE * n, []
    block = high + ROW * n + 66
    canvas = Phone(20 + len(ways) * block + 74)
    canvas.text(5, 18, "What does an empty row do?", 15, "start", bold=True)
    for number, (name, way) in enumerate(ways.items()):
        top = 44 + high + number * block
        columns = {"S": (n, max(wide, 24)), "A": (n, max(wide, 24)), "Z": (size, max(wide, 34))}
        sums.append(draw_journey(canvas, Board(words, columns, top), words, name, way, step + 1))
    word = words[int((~first.mask.any(-1)).nonzero()[0])]
    said = of_a_step(step, word, [way.numbers["loss"] for way in ways.values()], sums)
    canvas.prose(5, 36 + len(ways) * block, said)
    return canvas.view(f"What does an empty row do? Step {step} of {len(STAGES) - 1}. {said}")


def empty_row(words: Sequence[str], Q: Tensor, K: Tensor, V: Tensor, mask: Tensor) -> Explorer:
    """Follow a query that may attend to nothing, forwards, backwards and after a training step: with a softmax as in
    most texts, and below it with the course's. Q and K (n, e), V (n, v): small; mask (n, n). ValueError: no row of the
    mask is empty, or the numbers are too wide."""
    require_list(words=words)
    if mask.any(-1).all():
        raise ValueError("no row of the mask is empty: nothing goes wrong")
    ways = {name: Journey(Q, K, V, mask, softmax) for name, softmax in SOFTMAXES.items()}
    return Explorer(lambda step: draw_empty_row(words, ways, step), {"step": slider("step", 1, 1, len(STAGES) - 1)})


# A word that changes

MODES = ("training", "evaluation")
ROLE_OF_LEAK, HOME, FAR = "wrong", 168, 62  # where the dot of an output rests; how far it can move
STILL = 1e-6  # an output that moves by less has not moved


@torch.no_grad()
def moved_by(model: nn.Module, X: Tensor, mode: str, chosen: int) -> Tensor:
    """How far each output of model(X) moves (n,) when 1 is added to every entry of row `chosen` of X (n, d)."""
    was_training = model.training
    model.train(mode == "training")
    changed = X.clone()
    changed[chosen] += 1
    distances = (model(changed) - model(X)).norm(dim=-1)
    model.train(was_training)
    return torch.where(distances > STILL, distances, 0.0)


def first_leak(model: nn.Module, X: Tensor, lengths: Sequence[int]) -> tuple[str, int, int, int] | None:
    """The first (mode, number of words, word that changes, earlier output that moves); None: there is none."""
    for mode, n in itertools.product(MODES, lengths):
        for chosen in range(1, n):
            if (earlier := moved_by(model, X[:n], mode, chosen)[:chosen].nonzero().flatten()).numel():
                return mode, n, chosen, int(earlier[0])
    return None


def draw_buttons(
    canvas: Phone, left: float, y: float, wide: float, choices: Mapping[str, object], control: str, now: object
) -> None:
    """{text: value} side by side; a click sets the control."""
    for number, (text, value) in enumerate(choices.items()):
        x, here = left + (wide + 5) * number, value == now
        look = {"stroke": "here", "stroke_width": 2.5} if here else {"stroke": "edge"}
        canvas.rect(x, y, wide, 26, "raised", rx=5, **look)
        canvas.text(x + wide / 2, y + 18, text, 12, fill="here" if here else "ink", bold=here)
        canvas.touch(x, y, wide, 26, text, on=here, **{control: value})


def draw_moved(canvas: Phone, top: float, words: Sequence[str], changed: int, distances: np.ndarray) -> None:
    """Inputs on the left, outputs on the right, which leave their place by how far they move: a line from word number
    `changed` to each of these; to outputs before it, which no causal model moves, the line is red."""
    y_of, largest = [top + 26 * number for number in range(len(words))], distances.max() or 1.0
    canvas.line(HOME, top - 14, HOME, y_of[-1] + 6, "edge")
    for number, (y, word, distance) in enumerate(zip(y_of, words, distances.tolist())):
        here, role = number == changed, ROLE_OF_LEAK if number < changed else "data"
        x = HOME + (FAR * math.sqrt(distance / largest) if distance else 0)
        if distance:
            canvas.line(84, y_of[changed] - 4, x, y - 4, role, 1.5, opacity="0.6")
        canvas.text(78, y, cut(word, 9), 13, "end", "here" if here else "ink", here)
        shown = {"fill": role if distance else "ground", "stroke": "quiet", "data_id": f"dot {number}"}
        canvas.add("circle", cx=x, cy=y - 4, r=7, **shown)
        said = "moves" if distance else "stays"
        canvas.text(HOME + FAR + 16, y, f"output {number + 1} {said}", 12, "start", role if distance else "quiet")
        canvas.touch(4, y - 18, 92, 26, f"change {word} ({number + 1})", on=here, chosen=number)


def verdict_on(name: str, leak: tuple[str, int, int, int] | None, words: Sequence[str]) -> str:
    if leak is None:
        return f"✔ You ship model {name}, the right one: no earlier output moves, in either mode, at either length."
    mode, n, chosen, output = leak
    return (
        f"✘ Model {name} leaks: in {mode} mode, with {n} words, output {output + 1} moves when "
        f"{words[chosen]} ({chosen + 1}) changes."
    )


def which_to_ship(words: Sequence[str], X: Tensor, models: Mapping[str, nn.Module], short: int) -> Explorer:
    """Change a word and see which outputs of a model move; one of the models lets no earlier output move: which one?

    X (n, d): the vectors of the words. A model is called with the first `short` of them or with all, in either mode,
    and returns a row for each. ValueError: not exactly one model without a leak."""
    require_list(words=words)
    lengths = short, len(words)
    leaks = {name: first_leak(model, X, lengths) for name, model in models.items()}
    if [*leaks.values()].count(None) != 1:
        raise ValueError("exactly one of the models should have no leak")

    def draw(model, mode, n, chosen, shipped):
        chosen = min(chosen, n - 1)
        distances = moved_by(models[model], X[:n], mode, chosen).numpy()
        canvas = Phone(0)
        canvas.text(8, 18, "Which model would you ship?", 14, "start", bold=True)
        draw_buttons(canvas, 8, 28, 64, {f"model {name}": name for name in models}, "model", model)
        draw_buttons(canvas, 8, 60, 81, {one: one for one in MODES}, "mode", mode)
        draw_buttons(canvas, 180, 60, 81, {f"{one} words": one for one in lengths}, "n", n)
        draw_moved(canvas, 112, words[:n], chosen, distances)
        y = 112 + 26 * len(words) + 4
        moves = [f"{words[k]} ({k + 1}) by {distances[k]:.2f}" for k in np.flatnonzero(distances)]
        leaky = bool((distances[:chosen] > 0).any())
        seen = "Red: an earlier output moves." if leaky else "No earlier output moves."
        canvas.text(8, y, seen, 13, "start", ROLE_OF_LEAK if leaky else "quiet", bold=leaky)
        canvas.rect(8, y + 12, 200, 28, "raised", stroke="ink", rx=5)
        button = "Look again" if shipped else f"Ship model {model}"
        canvas.text(108, y + 31, button, 13, bold=True)
        canvas.touch(8, y + 12, 200, 28, button, shipped=not shipped)
        said = "○ One model is honest. Click words, modes and lengths, then decide."
        if shipped:
            said = verdict_on(model, leaks[model], words)
        role = "quiet" if not shipped else "right" if leaks[model] is None else "wrong"
        canvas.prose(8, y + 62, said, 12.5, fill=role)
        canvas.height = round(y + 92)
        state = f"Model {model}, {mode}, {n} words. {words[chosen]} ({chosen + 1}) changes."
        return canvas.view(f"{state} Outputs that move: {', '.join(moves) or 'none'}. {seen} {said}")

    controls = {
        "model": menu("model", [*models], width="170px"),
        "mode": menu("mode", MODES, width="200px"),
        "n": menu("words", [(f"{one}", one) for one in lengths], width="170px"),
        "chosen": menu("change the vector of", [(f"{n + 1} {word}", n) for n, word in enumerate(words)], 1),
        "shipped": checkbox("ship this model", False),
    }
    anew = {"model": lambda _value, _state: {"shipped": False}}
    return Explorer(draw, controls, follows=anew, replaced=controls)
