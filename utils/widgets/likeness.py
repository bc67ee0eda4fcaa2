"""Which key is most like a query; where the walk of an analogy ends."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import require_list
from ..plots import as_numbers, label_places, largest
from ..vectors import WordVectors
from .canvas import Phone, View, cut, two_decimals, verdict
from .controls import Explorer, checkbox, slider, text
from .hull import HALO

# Which key wins
FAR, STEP, MOST = 3.0, 0.2, 5  # the largest entry of a query, what it moves by, and how many keys
SIDE, TOP, UNIT = 260, 8, 41  # pixels: a plane, and 1
ZERO = 160  # where the bars of dot products begin


def likenesses(keys: np.ndarray, query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dot products (k,) and cosines (k,) of keys (k, 2) with a query (2,), whose length is not 0."""
    scores = keys @ query
    return scores, scores / (np.hypot(*keys.T) * math.hypot(*query))


def in_plane(point: ArrayLike) -> tuple[float, float]:
    x, y = map(float, point)
    return 178 + UNIT * x, TOP + SIDE / 2 - UNIT * y


def draw_contest(canvas: Phone, words: Sequence[str], keys: np.ndarray, query: np.ndarray) -> None:
    """Keys (k, 2) and a query (2,) as arrows from one point; the query is dragged."""
    canvas.rect(178 - SIDE / 2, TOP, SIDE, SIDE, stroke="edge")
    origin, tip = in_plane((0, 0)), in_plane(query)
    for key in keys:
        canvas.arrow(*origin, *in_plane(key), "key", 2, 9)
    canvas.arrow(*origin, *tip, "query")
    ends = np.array([in_plane(key) for key in keys])
    along = np.concatenate([origin + share * (ends - origin) for share in np.linspace(0, 0.9, 9)])
    for (x, y), word, (dx, dy) in zip(ends, words, label_places(ends, words, 12, along)):
        canvas.text(float(x + dx), float(y + dy + 4), word, 12.5, fill="key", **HALO)
    canvas.add("circle", cx=origin[0], cy=origin[1], r=3, fill="query")
    leads = {"x": ("query_x", origin[0], UNIT), "y": ("query_y", origin[1], -UNIT)}
    said = f"{query[0]:.1f} to the right, {query[1]:.1f} up"
    canvas.handle(*tip, "tip of the query", said, "query", **leads)


def draw_winning_key(words: Sequence[str], keys: np.ndarray, query: np.ndarray, wanted: int) -> View:
    """Keys (k, 2) and a query (2,), and below them dot product and cosine of each, the largest in bold."""
    top = TOP + SIDE + 40
    canvas = Phone(top + 22 * len(words) + 40)
    draw_contest(canvas, words, keys, query)
    canvas.text(60, top - 10, "dot product", 12.5, "start", "quiet")
    canvas.text(348, top - 10, "cosine", 12.5, "end", "quiet")
    task = f"Drag the query until {words[wanted]} has the largest dot product."
    if not query.any():
        canvas.prose(8, top + 16, "A query of length 0 is like no key.", 13)
        canvas.prose(8, canvas.height - 26, f"○ {task}", 13)
        return canvas.view(f"Query (0.0, 0.0): it has length 0 and is like no key. ○ {task}")
    scores, cosines = likenesses(keys, query)
    best, closest = largest(scores)[0], largest(cosines)[0]
    unit = 78 / np.abs(scores).max()
    for row, (word, score, cosine) in enumerate(zip(words, scores.tolist(), cosines.tolist())):
        y, long, wins = top + 22 * row, unit * abs(score), row == best
        canvas.text(8, y + 12, word, 13, "start", "key", wins)
        role = "weight" if wins else "quiet"
        canvas.rect(ZERO - long * (score < 0), y, long, 14, role, data_id=f"score {row}")
        canvas.text(282, y + 12, two_decimals(score), 13, "end", bold=wins)
        canvas.text(348, y + 12, two_decimals(cosine), 13, "end", bold=row == closest)
    canvas.line(ZERO, top - 4, ZERO, top + 22 * len(words) - 4, "ink")
    done = best == wanted
    task = f"{'✔' if done else '○'} {task}"
    canvas.prose(8, canvas.height - 26, task, 13, fill="right" if done else "ink")
    said = "; ".join(f"{word} {a:.2f} and {b:.2f}" for word, a, b in zip(words, scores + 0.0, cosines + 0.0))
    wins = f"Largest dot product: {words[best]}. Largest cosine: {words[closest]}."
    return canvas.view(
        f"Query ({query[0]:.1f}, {query[1]:.1f}). Its dot product and cosine with each key: {said}. {wins} {task}"
    )


def winning_key(words: Sequence[str], keys: ArrayLike, wanted: str, first: tuple[float, float] = (1, 0)) -> Explorer:
    """Drag a query among the keys (k, 2) of up to five words, and watch whose dot product with it is the largest.

    wanted: the word that the learner shall let win. first: the query at first."""
    require_list(words=words)
    words, keys = list(words), as_numbers(keys, 2)
    if not 2 <= len(words) <= MOST or keys.shape != (len(words), 2):
        raise ValueError(f"{len(words)} words with keys {keys.shape}: 2 to {MOST} words, and two entries for each")
    if wanted not in words:
        raise ValueError(f"{wanted!r} is not one of the words {words}")
    if max(np.abs(keys).max(), *map(abs, first)) > FAR or not np.abs(keys).max(1).min() > 0:
        raise ValueError(f"keys and the first query lie between {-FAR:g} and {FAR:g}, and no key is 0")

    def draw(query_x, query_y):
        return draw_winning_key(words, keys, np.array([query_x, query_y]) + 0.0, words.index(wanted))

    labels = ("first entry of the query", "second entry of the query")
    controls = {
        name: slider(label, value, -FAR, FAR, STEP)
        for name, label, value in zip(("query_x", "query_y"), labels, map(float, first))
    }
    return Explorer(draw, controls, replaced=list(controls))


# The parallelogram of an analogy
HIGH, ANSWERS = 270, 5  # pixels of the plane; how many of the nearest words are shown


class Walk(NamedTuple):
    """What an analogy of three words leads to.

    corners: those of its parallelogram (4, 2) in its own plane. answers: the words nearest to the fourth corner, with
    their cosines. beside: where they are (k, 2), each as far from the fourth corner as it is, in the direction of its
    shadow. reach: how far that corner is from the nearest word that is not in the question."""

    corners: np.ndarray
    answers: list[tuple[str, float]]
    beside: np.ndarray
    reach: float


def walk(vectors: WordVectors, asked: Sequence[str], own: bool) -> Walk:
    """From the first word to the second, and the same step from the third, all scaled to length 1; own: may the three
    words of the question be answers?"""
    a, b, c = (unit(vectors[word]) for word in asked)
    target, others = b - a + c, vectors.analogy(*asked, ANSWERS)
    answers = vectors.nearest(target, ANSWERS) if own else others
    along = unit(b - a)
    plane = np.stack([along, unit(c - a - (c - a) @ along * along)])  # (2, d)
    corners = (np.stack([a, b, c, target]) - a) @ plane.T
    near = np.stack([unit(vectors[word]) for word, _ in answers]) - target  # (k, d)
    ways = near @ plane.T
    ways *= np.linalg.norm(near, axis=1, keepdims=True) / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-9)
    return Walk(corners, answers, corners[3] + ways, math.dist(unit(vectors[others[0][0]]), target))


def unit(vector: np.ndarray) -> np.ndarray:
    vector = np.asarray(vector, float)
    return vector / max(np.linalg.norm(vector), 1e-12)


def draw_walk(asked: Sequence[str], found: Walk, own: bool) -> View:
    """The parallelogram of three words, a circle around the end of the walk, as far as the nearest word, and the
    nearest words."""
    canvas, names = Phone(HIGH + 212), [cut(word, 12) for word in asked]
    distance = math.dist(found.beside[0], found.corners[3])
    draw_parallelogram(canvas, asked, found, distance)
    draw_answers(canvas, HIGH + 24, asked, found.answers)
    canvas.rect(8, HIGH + 138, 340, 28, "raised", stroke="ink", rx=5)
    button = "Leave the question's words out" if own else "Let the question's words answer, too"
    canvas.text(178, HIGH + 157, button, 13, bold=True)
    canvas.touch(8, HIGH + 138, 340, 28, button, own=not own)
    first = found.answers[0][0]
    done = own and first in asked
    task = f"{'✔' if done else '○'} Find a question that is answered with one of its own words."
    canvas.prose(8, HIGH + 186, task, 12.5, fill="right" if done else "ink")
    said = ", ".join(f"{word} {cosine:.2f}" for word, cosine in found.answers)
    rule = "allowed" if own else "left out"
    return canvas.view(
        f"{names[0]} is to {names[1]} as {names[2]} is to ? Nearest to the end of the walk, the question's words "
        f"{rule}: {said} (cosines). The circle reaches to {first}, {distance:.2f} away. {task}"
    )


def draw_parallelogram(canvas: Phone, asked: Sequence[str], found: Walk, distance: float) -> None:
    """Four corners, the step as an arrow, twice; the nearest words, and a circle as far as the first of them."""
    others = [k for k, (word, _) in enumerate(found.answers) if word not in asked]
    end = found.corners[3]
    around = np.array([end - found.reach, end + found.reach])
    low, high = (function(np.concatenate([found.corners, around]), axis=0) for function in (np.min, np.max))
    scale = float(min(310 / (high[0] - low[0]), (HIGH - 36) / (high[1] - low[1])))
    middle = (low + high) / 2
    shown = np.concatenate([found.corners, found.beside[others].reshape(-1, 2)])
    points = np.column_stack([178 + scale * (shown[:, 0] - middle[0]), HIGH / 2 - scale * (shown[:, 1] - middle[1])])
    start, goal, begin, target = corners = [tuple(map(float, point)) for point in points[:4]]
    canvas.rect(2, 2, 352, HIGH, stroke="edge")
    ring = {"fill": "weight", "fill_opacity": "0.12", "stroke": "weight", "stroke_dasharray": "4 3"}
    canvas.add("circle", cx=target[0], cy=target[1], r=scale * distance, **ring)
    for one, other in ((start, goal), (begin, target)):
        canvas.arrow(*one, *other, "query", 2.5, 10)
    for one, other in ((start, begin), (goal, target)):
        canvas.line(*one, *other, "edge", 1.5, stroke_dasharray="5 4")
    for number, point in enumerate(points):
        radius, role = (4.5, "here" if number == 3 else "ink") if number < 4 else (3, "quiet")
        canvas.add("circle", cx=float(point[0]), cy=float(point[1]), r=radius, fill=role)
    names = [*(cut(word, 12) for word in asked), "?", *(cut(found.answers[k][0], 12) for k in others)]
    along = [np.array(one) + share * np.subtract(other, one) for one, other in zip(corners[::2], corners[1::2])
             for share in np.linspace(0, 1, 9)]  # fmt: skip
    for number, (point, name, (dx, dy)) in enumerate(zip(points, names, label_places(points, names, 12, along))):
        half, role = 3.5 * len(name) + 4, ("here" if number == 3 else "ink") if number < 4 else "quiet"
        left, base = np.clip(point[0] + dx, half, 356 - half), np.clip(point[1] + dy + 4, 16, HIGH - 3)
        canvas.text(float(left), float(base), name, 12.5, fill=role, bold=number < 4, **HALO)


def draw_answers(canvas: Phone, top: float, asked: Sequence[str], answers: Sequence[tuple[str, float]]) -> None:
    """The nearest words with their cosines as bars, those of the question in another colour."""
    for row, (word, cosine) in enumerate(answers):
        y, role = top + 21 * row, "here" if word in asked else "weight"
        canvas.text(8, y + 11, cut(word, 15), 13, "start", "here" if word in asked else "ink", row == 0)
        canvas.rect(124, y, 180 * max(cosine, 0), 13, role, data_id=f"answer {row}")
        canvas.text(130 + 180 * max(cosine, 0), y + 11, f"{cosine:.2f}", 13, "start", bold=row == 0)


def analogy(vectors: WordVectors, question: str = "man king woman") -> Explorer:
    """Type three words, and see the parallelogram of "the first is to the second as the third is to …?", with the
    words that are nearest to its fourth corner."""

    def draw(question, own):
        asked = list(dict.fromkeys(question.lower().replace(",", " ").split()))
        unknown = [word for word in asked if word not in vectors]
        asked = [word for word in asked if word in vectors][:3]
        if len(asked) < 3 or unknown:
            said = f"not among the vectors: {', '.join(cut(word, 14) for word in unknown[:5])}" if unknown else ""
            return verdict("Type three different words", False, [said or "Such as: man king woman"], HIGH + 212)
        return draw_walk(asked, walk(vectors, asked, own), own)

    tries = (
        "france paris italy",
        "walk, walked, talk",
        "up down left",
        "Good better BAD",
        "king king queen",
        "qqzzx a b",
    )
    return Explorer(
        draw,
        {
            "question": text("three words", question, tries, "420px"),
            "own": checkbox("the question's own words may answer, too", False, "420px"),
        },
        replaced=["own"],
    )
