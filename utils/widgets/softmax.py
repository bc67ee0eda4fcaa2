"""Softmax as sharing: scores, their exponentials, one bar of length 1, and what each score does to a share."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ..checks import require_list
from ..plots import as_numbers, in_words
from .board import short, width_of
from .canvas import Phone, cut
from .controls import Explorer, checkbox, menu, slider

ZERO, GROUND, BAR = 146, 272, 296  # heights of the line at a score of 0, of the feet of exponentials, of the one bar
BEFORE = {"stroke": "quiet", "stroke_dasharray": "3 3"}  # the look of what was before
TALL, ARROW = 40, 130  # pixels of the largest score, and of a slope of 1


def softmax(scores: np.ndarray) -> np.ndarray:
    """Weights (k,) of scores (k,)."""
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def slopes(weights: np.ndarray, chosen: int) -> np.ndarray:
    """How much weight number `chosen` grows with each score: p (1 - p) with its own, -p p_j with another one, (k,)."""
    others = np.arange(len(weights)) != chosen
    return weights[chosen] * np.where(
        others, -weights, weights[others].sum()
    )  # 1 - p would be rounding where p is near 1


def draw_slope(canvas: Phone, x: float, foot: float, slope: float, bounded: bool = True) -> None:
    """An arrow up where the weight grows with the score, down where it shrinks, as long as the slope; a dot where there
    is hardly any. One that is not bounded, as a slope of the softmax is, is drawn 58 pixels long at most."""
    length = ARROW * slope if bounded else max(-58, min(58, ARROW * slope))
    if abs(length) < 2:
        canvas.add("circle", cx=x, cy=foot, r=2.5, fill="here")
    else:
        canvas.arrow(x, foot, x, foot - length, "here", 3)


def draw_fall(canvas: Phone, top: float, gradients: Mapping[str, np.ndarray], power: int, name: str) -> None:
    """How the median of queries' gradients changes with d_k = 2⁰ … 2¹⁰, on a scale of powers of ten: {name: medians
    (11,)}, each curve as far as d_k, and a dot where the learner is, at `power` on the curve `name`; it is dragged,
    and a name is clicked."""
    canvas.text(8, top, "median gradient of 500 queries, by d_k", 12, "start", bold=True)
    for tens in (0, 3, 6, 9):
        y = top + 16 + 9 * tens
        canvas.line(48, y, 268, y, "edge")
        canvas.text(35, y + 4, "1" if tens == 0 else f"10⁻{'⁰¹²³⁴⁵⁶⁷⁸⁹'[tens]}", 11, "end", "quiet")
    for at in (0, 5, 10):
        canvas.text(48 + 22 * at, top + 122, f"{2**at:,}", 11, fill="quiet")
    canvas.hint(174, top + 138, "drag the dot, click “divided”", "middle")
    for (curve, values), role, place in zip(gradients.items(), ("ink", "data"), (74, 30)):
        heights = top + 16 - 9 * np.log10(np.clip(values[: power + 1], 1e-9, 1))
        path = " ".join(f"{48 + 22 * at},{y:.1f}" for at, y in enumerate(heights))
        canvas.add("polyline", points=path, fill="none", stroke=role, stroke_width=2.5)
        edge = {"stroke": "here", "stroke_width": 2} if curve == name else {"stroke": "edge"}
        canvas.rect(280, top + place - 11, 74, 22, rx=4, **edge)
        canvas.text(317, top + place + 4, curve, 12, fill=role)
        canvas.touch(280, top + place - 12, 74, 24, curve, on=curve == name, divide=curve == "divided")
    x, y = 48 + 22 * power, float(top + 16 - 9 * np.log10(max(gradients[name][power], 1e-9)))
    canvas.add("circle", cx=x, cy=y, r=5, fill="here", stroke="ground", data_id="dot")
    canvas.handle(x, y, "d_k as a power of 2", f"{power}: d_k is {2**power}", x=("power", 48, 22))


def name_parts(canvas: Phone, title: str, arrow: str, powers: str, dashed: str) -> None:
    """The title, what bars, arrows and outlines are, and the lines on which the bars are."""
    canvas.text(8, 18, title, 14.5, "start", bold=True)
    canvas.text(8, 38, "scores", 12, "start", "data", True)
    canvas.text(348, 38, f"arrow: {arrow}", 12, "end", "here")
    canvas.text(8, ZERO + 70, powers, 12, "start", "weight", True)
    canvas.text(348, ZERO + 70, f"dashed: {dashed}", 12, "end", "quiet")
    for zone in (ZERO, GROUND):
        canvas.line(8, zone, 348, zone)


def draw_sharing(
    labels: Sequence[str], scores: ArrayLike, before: ArrayLike, dashed: str, chosen: int, title: str,
    temperature: float = 1, facts: Sequence[str] = (), arrows: np.ndarray | None = None,
) -> tuple[Phone, str]:  # fmt: skip
    """From scores (k,) to shares of one bar at a temperature: on each score an arrow, what it does to share number
    `chosen`, or else one of the `arrows` (k,), how strongly each key would pull the query; as outlines, which are
    called `dashed`, the scores `before` (k,) and their shares at a temperature of 1. `facts` are lines of text at the
    foot. Returns the canvas, to draw more on it, and the description."""
    scores, before = as_numbers(scores, 1), as_numbers(before, 1)
    weights, weights_before = softmax(scores / temperature), softmax(before)
    slope, step = slopes(weights, chosen) / temperature, 340 / len(labels)
    arrow = f"what raising it does to {cut(labels[chosen], 9)}"
    grows = f"With each score the share of {labels[chosen]} grows by"
    if arrows is not None:
        slope, arrow = arrows, "pull on the query"
        grows = f"To raise the share of {labels[chosen]}, each key pulls the query"
    most = max(4.0, np.abs([*scores, *before]).max())
    canvas, x, x_before = Phone(BAR + 84 + 19 * sum(-(-len(fact) // 46) for fact in facts)), 8.0, 8.0
    name_parts(canvas, title, arrow, "exp(score)" if temperature == 1 else "exp(score / T)", dashed)
    powers = np.exp((scores - scores.max()) / temperature)
    for k, label in enumerate(labels):
        middle, wide, high, old = 8 + step * (k + 0.5), 30, TALL * scores[k] / most, TALL * before[k] / most
        canvas.rect(middle - wide / 2, ZERO - max(high, 0), wide, abs(high), "data", data_id=f"score {k}")
        canvas.rect(middle - wide / 2 - 3, ZERO - max(old, 0), wide + 6, abs(old), **BEFORE)
        draw_slope(canvas, middle + wide / 2 + 10, ZERO - high, float(slope[k]), arrows is None)
        beside = ZERO + 21 - min(old, 0) if scores[k] >= 0 else ZERO - 12 - max(old, 0)
        canvas.text(middle, beside, short(scores[k]), 12)
        tall, written = 34 * powers[k], f"{np.exp(scores[k] / temperature):.3g}"
        canvas.text(middle, GROUND - 4 - tall, written, 11, data_id=f"number {k}")
        canvas.rect(middle - wide / 2, GROUND - tall, wide, tall, "weight", data_id=f"exponential {k}")
        share, share_before = 340 * weights[k], 340 * weights_before[k]
        shade = {"fill_opacity": f"{0.3 + 0.6 * weights[k]:.2f}", "stroke": "edge"}
        canvas.rect(x, BAR, share, 20, "weight", **shade, data_id=f"share {k}")
        canvas.line(middle, GROUND, x + share / 2, BAR, "weight", 1.5)
        canvas.rect(x_before, BAR - 4, share_before, 28, **BEFORE)
        canvas.line(x + share / 2, BAR + 20, middle, BAR + 38, "weight", 1.5)
        name = cut(label, max(3, int(step / width_of("o", 12))))
        canvas.text(middle, BAR + 51, name, 12, fill="here" if k == chosen else "key", bold=True)
        canvas.text(middle, BAR + 67, f"{weights[k]:.3f}", 12)
        x, x_before = x + share, x_before + share_before
    y = BAR + 90.0
    for fact in facts:
        y = canvas.prose(8, y, fact, 12.5, fill="right" if fact.startswith("✔") else "ink")
    said = ", ".join(f"{label} {weight:.3f}" for label, weight in zip(labels, weights))
    moves = ", ".join(f"{label} {in_words(number, 2)}" for label, number in zip(labels, slope))
    return canvas, f"{title}. Shares of one bar: {said}. {grows}: {moves}. {' '.join(facts)}".rstrip()


ENOUGH = 0.8  # the share of the task
TEMPERATURES = (0.5, 1.0, 2.0, 4.0, 10.0)


def draw_temperatures(canvas: Phone, now: float, top: float = 3, temperatures: Sequence[float] = TEMPERATURES) -> None:
    """The temperatures, to choose one, at the right of a row that begins at `top`."""
    begin = 350.5 - 29.5 * len(temperatures)
    canvas.text(begin - 6, top + 15, "T", 12.5, "end", bold=True)
    for number, temperature in enumerate(temperatures):
        x, on = begin + 29.5 * number, temperature == now
        edge = {"stroke": "here", "stroke_width": 2} if on else {"stroke": "edge"}
        canvas.rect(x, top, 27, 22, "raised" if on else "none", rx=4, **edge)
        canvas.text(x + 13.5, top + 15, f"{temperature:g}", 12, bold=on)
        canvas.touch(x, top - 1, 27, 24, f"temperature {temperature:g}", on=on, temperature=temperature)


def touch_scores(canvas: Phone, labels: Sequence[str], scores: Sequence[float], chosen: int) -> None:
    """The tips of the bars are dragged, the names below are clicked: number `chosen` is."""
    step = 340 / len(labels)
    for k, (label, score) in enumerate(zip(labels, scores)):
        canvas.touch(8 + step * k, BAR + 38, step, 34, f"arrows for the share of {label}", on=k == chosen, chosen=k)
        x, unit = 8 + step * (k + 0.5), TALL / 4
        place = f"score_{k + 1}", ZERO, -unit
        canvas.handle(x, ZERO - unit * score, f"score of {label}", short(score), "ink", 9, y=place)


def softmax_sharing(labels: Sequence[str], scores: Sequence[int], task: int) -> Explorer:
    """Whole scores from -4 to 4 that the learner changes, at any temperature, as shares of one bar, and what each score
    does to the share of one word. The task: word number `task` is to get more than 0.8 by the temperature alone."""
    require_list(labels=labels)
    start = np.array(scores, float)
    sliders = {f"score_{k + 1}": slider(f"score of {label}", scores[k], -4, 4) for k, label in enumerate(labels)}
    for one in sliders.values():
        one.layout.width = "250px"

    def draw(temperature, chosen, **own):
        now = np.array(list(own.values()), float)
        share = softmax(now / temperature)[task]
        done = share > ENOUGH and np.array_equal(now, start)
        ask = f"Change only T: give {labels[task]} more than {ENOUGH:g}. It gets {share:.2f}."
        title = f"softmax(scores / {temperature:g})"
        facts = [f"{'✔' if done else '○'} {ask}", "Then drag scores, or click a word."]
        canvas, said = draw_sharing(labels, now, start, "at first", chosen, title, temperature, facts)
        draw_temperatures(canvas, temperature)
        touch_scores(canvas, labels, now.tolist(), chosen)
        return canvas.view(said)

    more = menu("arrows for the share of", [(label, k) for k, label in enumerate(labels)], task, "250px")
    controls = {"temperature": menu("temperature", list(TEMPERATURES), 1.0, "170px"), "chosen": more, **sliders}
    return Explorer(draw, controls, plays="temperature", replaced=list(controls))


ALL = 0.99  # the share of the task
QUERIES = 500  # of the curves


def softmax_saturation(keys: int = 5, seed: int = 0) -> Explorer:
    """One random query and some keys, cut to any size: the shares with and without the division by √d_k; and, if one
    wanted key is to get a larger share, how strongly each key pulls the query then, and how long its gradient is. As an
    outline, the shares with the division. A curve shows the median gradient of 500 other queries."""
    generator = torch.Generator().manual_seed(seed)
    query, own, others, their_keys = (
        torch.randn(draws, count, 1024, generator=generator).double() for draws in (1, QUERIES) for count in (1, keys)
    )
    sizes, scales = [2**power for power in range(11)], {"not divided": lambda size: 1.0, "divided": math.sqrt}
    medians = {
        name: np.array(
            [of_query(others[..., :size], their_keys[..., :size], scale(size), 0).median() for size in sizes]
        )
        for name, scale in scales.items()
    }

    def draw(power, divide, wanted):
        size, name = sizes[power], "divided" if divide else "not divided"
        mine, beside, root, scale = query[..., :size], own[..., :size], math.sqrt(size), scales[name](size)
        raw = (mine * beside).sum(-1)[0].numpy()  # (k,)
        weights = softmax(raw / scale)
        lengths = beside[0].norm(dim=-1).numpy() / scale  # (k,): how far each key moves the query
        length = of_query(mine, beside, scale, wanted).item()
        title = f"d_k = {size}, {'divided by √d_k' if divide else 'not divided'}"
        names = [f"key {k}" for k in range(keys)]
        canvas, said = draw_sharing(
            names, raw / scale, raw / root, "divided by √d_k", wanted, title,
            facts=facts_of(length, weights.max(), names[wanted], divide), arrows=slopes(weights, wanted) * lengths,
        )  # fmt: skip
        for k, label in enumerate(names):
            left = 8 + 340 / keys * k
            canvas.touch(left, BAR + 38, 340 / keys, 34, f"arrows for the share of {label}", on=k == wanted, wanted=k)
        draw_fall(canvas, canvas.height + 12, medians, power, name)
        canvas.height += 166
        return canvas.view(f"{said} Median gradient of {QUERIES} queries: {in_words(float(medians[name][power]), 2)}.")

    controls = {
        "power": slider("d_k = 2 to the power of", 2, 0, 10),
        "divide": checkbox("divide by √d_k", False),
        "wanted": menu("arrows for the share of", [(f"key {k}", k) for k in range(keys)], 0, "250px"),
    }
    return Explorer(draw, controls, replaced=["divide", "wanted"])


def facts_of(length: float, largest: float, wanted: str, divide: bool) -> tuple[str, str]:
    """The gradient, and the task, which is done where one key has nearly everything."""
    gradient = f"To raise the share of {wanted}, the query gets a gradient of length {in_words(length, 2)}."
    if largest > ALL:
        return gradient, f"✔ One key has more than {ALL:g} of the bar. What is left of the arrows?"
    asked = "Is there a d_k at which one key has" if divide else "Drag until one key has"
    return gradient, f"○ {asked} more than {ALL:g} of the bar{'?' if divide else '.'} It has {largest:.2f}."


def of_query(query: Tensor, keys: Tensor, scale: float, wanted: int) -> Tensor:
    """The length (n,) of the gradient that reaches queries (n, 1, e) from their weight on key number b = `wanted` of
    keys (n, k, e): of a_b (k_b - Σ a_j k_j) / scale."""
    weights = torch.softmax((query * keys).sum(-1) / scale, dim=-1)  # (n, k)
    apart = keys[:, wanted, None] - keys  # (n, k, e): 0 for b itself, so nothing cancels
    return weights[:, wanted] / scale * (weights[..., None] * apart).sum(1).norm(dim=-1)
