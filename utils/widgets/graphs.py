"""A graph whose edges are painted as a mask, and news that travel through layers of attention."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..style import letters_on
from .canvas import Phone, View
from .controls import Explorer, checkbox, slider

LAYERS, CELL, MASK = 4, 27, (84, 262)  # how many there are, a cell of the mask, and where this begins
Points = Mapping[str, tuple[float, float]]


def spread(mask: np.ndarray, source: int, layers: int) -> np.ndarray:
    """How much of the source is in each node (n,) after so many layers of attention under the mask (n, n), if all
    scores are equal: each layer makes of every node the mean of those that it may attend to."""
    share = np.eye(len(mask))[source]
    for _ in range(layers):
        share = mask @ share / mask.sum(1)
    return share


def arrival(mask: np.ndarray, source: int) -> np.ndarray:
    """After how many layers, of LAYERS, each node (n,) hears of the source; LAYERS + 1: later, or never."""
    heard = np.array([spread(mask, source, layers) > 0 for layers in range(LAYERS + 1)])
    return np.where(heard.any(0), heard.argmax(0), LAYERS + 1)


def mask_of(roads: Mapping[tuple[int, int], bool], n: int) -> np.ndarray:
    """The mask (n, n) of a graph: True where two nodes have a road, and on the diagonal."""
    mask = np.eye(n, dtype=bool)
    for (i, j), there in roads.items():
        mask[i, j] = mask[j, i] = there
    return mask


def draw_roads(canvas: Phone, points: Points, mask: np.ndarray, comes: np.ndarray, layers: int) -> None:
    """The roads; strong where news travel in this layer."""
    places = list(points.values())
    for i, j in zip(*np.triu(mask, 1).nonzero()):
        first, last = sorted((comes[i], comes[j]))
        now = last == layers and first == layers - 1
        (x, y), (to_x, to_y) = places[i], places[j]
        canvas.line(x, y, to_x, to_y, "here" if now else "quiet", 3 if now else 1.2)


def draw_nodes(canvas: Phone, points: Points, shares: np.ndarray, comes: np.ndarray, layers: int) -> None:
    """The nodes, the deeper the more of the source is in them; ringed where it arrives in this layer."""
    for (name, (x, y)), share, layer in zip(points.items(), shares.tolist(), comes.tolist()):
        canvas.rect(x - 19, y - 19, 38, 38, "ground", rx=19)
        edge = {"stroke": "here" if layer == layers else "edge", "stroke_width": 3 if layer == layers else 1.2}
        depth = round(0.75 * share**0.5, 2)
        canvas.rect(x - 19, y - 19, 38, 38, "weight", rx=19, fill_opacity=f"{depth:.2f}", **edge)
        text = f"{share:.0%}" if share >= 0.005 else "<1%" if share else "0"
        canvas.text(x, y + 4.5, text, 12, fill=letters_on("weight", depth), bold=share > 0)
        canvas.text(x, y + 34, name, 12)


def draw_mask(canvas: Phone, names: Sequence[str], mask: np.ndarray) -> None:
    """The mask: a touch on a cell adds a road or takes it away, in both of its cells."""
    left, top = MASK
    for (i, j), there in np.ndenumerate(mask):
        x, y = left + CELL * j, top + CELL * i
        canvas.rect(x, y, CELL, CELL, "data", fill_opacity="0.45" if there else "0", stroke="edge")
        if i != j:
            road, box = f"{names[i]} may attend to {names[j]}", f"road_{min(i, j)}_{max(i, j)}"
            canvas.touch(x, y, CELL, CELL, road, "roads", bool(there), paint=True, **{box: not there})
    for row, name in enumerate(names):
        canvas.text(left - 6, top + CELL * (row + 0.5) + 4, name, 12, "end")
        middle = left + CELL * (row + 0.5)
        turned = {"transform": f"rotate(-40 {middle:.1f} {top - 6:.1f})"}
        canvas.text(middle, top - 6, name, 11.5, "start", **turned)


def draw_graph(
    points: Points, roads: Mapping[tuple[int, int], bool], first: Sequence[tuple[int, int]], source: str, target: str,
    layers: int,
) -> View:  # fmt: skip
    """A graph of nodes at {name: (x, y)} and where news of the source have come after so many layers; below, its mask.

    first: the roads that were there. The task: one road more, so that the target hears after two layers."""
    names, canvas = list(points), Phone(474)
    mask = mask_of(roads, len(names))
    begin, end = names.index(source), names.index(target)
    comes, shares = arrival(mask, begin), spread(mask, begin, layers)
    after = "1 layer" if layers == 1 else f"{layers} layers"
    title = f"How much {source} is in each node after {after}"
    canvas.text(6, 20, title, 13, "start", bold=True)
    draw_roads(canvas, points, mask, comes, layers)
    draw_nodes(canvas, points, shares, comes, layers)
    draw_mask(canvas, names, mask)
    canvas.text(262, MASK[1] + 16, "the mask:", 12, "start", "quiet")
    canvas.hint(262, MASK[1] + 34, "click a cell")
    there = {road for road, on in roads.items() if on}
    done = len(there - set(first)) == 1 and set(first) < there and comes[end] <= 2
    task = f"{'✔' if done else '○'} Add one road, so that the {target} hears of the {source} within two layers."
    canvas.prose(6, 442, task, fill="right" if done else "quiet", bold=done)
    heard = ", ".join(f"{name} {share:.1%}" for name, share in zip(names, shares.tolist()) if share)
    lines = ", ".join(f"{names[i]} – {names[j]}" for i, j in sorted(there)) or "none"
    return canvas.view(f"{title}: {heard}. Roads: {lines}. {task}")


def graph(points: Points, roads: Sequence[tuple[int, int]], source: str, target: str) -> Explorer:
    """Paint the mask of a graph, and press ▶: news of the source travel a road a layer.

    points: {name: (right, down)} on a picture of 356 by 230; roads: pairs of numbers of nodes. A name that is none, or
    a road to itself or to no node: ValueError."""
    names, n = list(points), len(points)
    if unknown := {source, target} - set(names):
        raise ValueError(f"{sorted(unknown)} are no nodes: these are {names}")
    roads = [(min(road), max(road)) for road in roads]
    if wrong := [road for road in roads if not 0 <= road[0] < road[1] < n]:
        raise ValueError(f"roads {wrong} must lead from one node to another: they count from 0 to {n - 1}")
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]

    def draw(layers, **boxes):
        there = {(i, j): boxes[f"road_{i}_{j}"] for i, j in pairs}
        return draw_graph(points, there, roads, source, target, layers)

    labelled = {f"road_{i}_{j}": checkbox(f"{names[i]} – {names[j]}", (i, j) in roads, "170px") for i, j in pairs}
    controls = {"layers": slider("layers", 0, 0, LAYERS), **labelled}
    return Explorer(draw, controls, replaced=list(labelled))
