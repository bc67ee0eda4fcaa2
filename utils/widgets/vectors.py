"""Two arrows, and a map of words."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..plots import label_places, largest
from ..vectors import WordVectors, pca
from .canvas import Phone, View, cut, two_decimals, verdict
from .controls import Explorer, checkbox, slider, text

# Two arrows
FAR, STEP = 3.0, 0.5  # the largest entry of an arrow, and what a tip moves by
LEFT, MIDDLE, UNIT = 178, 146, 44  # where the arrows begin, and pixels for 1
BARS, WIDE = 214, 6.5  # where bars begin, and pixels for 1


def products(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float | None]:
    """The products of the entries of a (2,) and b (2,), and the cosine; there is none where a length is 0."""
    lengths = math.hypot(*a) * math.hypot(*b)
    return a * b, float(a @ b) / lengths if lengths else None


def draw_shadow(canvas: Phone, a: np.ndarray, b: np.ndarray, sign: str) -> None:
    """The shadow of b on the line of a, and the way down to it."""
    if not a.any():
        return
    end = on_page(b @ a / (a @ a) * a)
    canvas.line(*on_page((0, 0)), *end, sign, 10, opacity="0.4")
    canvas.line(*on_page(b), *end, "quiet", 1, stroke_dasharray="4 4")


def on_page(point: ArrayLike) -> tuple[float, float]:
    x, y = map(float, point)
    return LEFT + UNIT * x, MIDDLE - UNIT * y


def draw_plane(canvas: Phone) -> None:
    """A grid of lines, one for each whole number."""
    (left, foot), (right, top) = on_page((-FAR, -FAR)), on_page((FAR, FAR))
    for step in range(round(-FAR), round(FAR) + 1):
        x, y = on_page((step, step))
        colour = "edge" if step else "quiet"
        canvas.line(x, top - 8, x, foot + 8, colour)
        canvas.line(left - 8, y, right + 8, y, colour)


def draw_sum(canvas: Phone, top: float, a: np.ndarray, b: np.ndarray, sign: str) -> None:
    """The product of each pair of entries, and their sum, as bars to the right of 0 or to its left."""
    each, _ = products(a, b)
    rows = [(f"{x:g} · {y:g} = {value:g}", value) for x, y, value in zip(a, b, each)]
    rows += [(f"a · b = {each.sum():g}", float(each.sum()))]
    for row, (said, value) in enumerate(rows):
        y, last = top + 21 * row, row == 2
        canvas.text(8, y + 12, said.replace("-", "−"), 14 if last else 13, "start", sign if last else "ink", last)
        long = WIDE * abs(value)
        canvas.rect(BARS - long * (value < 0), y, long, 14, sign if last else "quiet", data_id=f"product {row}")
    canvas.line(BARS, top - 4, BARS, top + 60, "ink")


def draw_arrows(a: np.ndarray, b: np.ndarray) -> View:
    """Two arrows from one point, a (2,) and b (2,), both with a tip to drag; below them how their dot product adds up,
    and what it is by lengths and angle."""
    each, cosine = products(a, b)
    dot = float(each.sum())
    canvas, sign = Phone(432), "data" if dot >= 0 else "negative"
    draw_plane(canvas)
    draw_shadow(canvas, a, b, sign)
    for name, role, arrow in (("a", "query", a), ("b", "key", b)):
        canvas.arrow(*on_page((0, 0)), *on_page(arrow), role)
        x, y = on_page(arrow)
        away = 20 * (arrow / math.hypot(*arrow) if arrow.any() else np.array([-1.0 if name == "a" else 1.0, 0.4]))
        canvas.text(float(x + away[0]), float(np.clip(y - away[1] + 5, 15, 286)), name, 15, fill=role, bold=True)
        leads = {"x": (f"{name}_x", LEFT, UNIT), "y": (f"{name}_y", MIDDLE, -UNIT)}
        canvas.handle(x, y, f"tip of {name}", f"{arrow[0]:g} to the right, {arrow[1]:g} up", role, **leads)
    canvas.hint(8, 306, "drag the tips")
    draw_sum(canvas, 318, a, b, sign)
    long = [math.hypot(*arrow) for arrow in (a, b)]
    if cosine is None:
        said, angle = "an arrow of length 0 has no direction, and no cosine", "no angle"
    else:
        angle = f"{math.degrees(math.acos(np.clip(cosine, -1, 1))):.0f}°"
        said = f"{long[0]:.2f} · {long[1]:.2f} · ({two_decimals(cosine)}) = {two_decimals(dot)}"
    shown = said if cosine is None else f"|a| · |b| · cos {angle} = {said}"
    canvas.text(8, 396, shown.replace("-", "−"), 12.5, "start", "quiet")
    task = f"{'✔' if cosine is not None and dot == 0 else '○'} Make a · b = 0, with no arrow of length 0."
    canvas.text(8, 420, task, 13, "start", "right" if task[0] == "✔" else "ink")
    arrows = f"a ({a[0]:g}, {a[1]:g}) and b ({b[0]:g}, {b[1]:g})"
    ways = said if cosine is None else f"they meet at {angle}; |a| · |b| · cosine = {said}"
    return canvas.view(f"Two arrows, {arrows}: dot product {each[0]:g} + {each[1]:g} = {dot:g}; {ways}. {task}")


def two_arrows() -> Explorer:
    """Two arrows whose tips are dragged: watch dot product, angle and cosine."""

    def draw(a_x, a_y, b_x, b_y):
        return draw_arrows(np.array([a_x, a_y]) + 0.0, np.array([b_x, b_y]) + 0.0)

    names = {"a_x": 3.0, "a_y": 1.0, "b_x": 1.0, "b_y": 2.0}
    labels = {"x": "first entry of", "y": "second entry of"}
    controls = {name: slider(f"{labels[name[2]]} {name[0]}", value, -FAR, FAR, STEP) for name, value in names.items()}
    return Explorer(draw, controls, replaced=list(controls))


# A map of words
MOST_ON_A_MAP = 100  # words; more cover each other


def words_of_a_map(text: str, known: Mapping | WordVectors) -> tuple[list[str], list[str]]:
    """The words of a typed text that have a vector, each once, and notes on the others."""
    asked = list(dict.fromkeys(text.lower().replace(",", " ").split()))
    words, unknown = [word for word in asked if word in known], [word for word in asked if word not in known]
    notes = []
    if unknown:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        notes.append(f"not among the vectors: {', '.join(cut(word, 14) for word in unknown[:5])}{more}")
    if len(words) > MOST_ON_A_MAP:
        notes.append(f"{len(words)} words are too many for one map: the first {MOST_ON_A_MAP} are shown.")
    return words[:MOST_ON_A_MAP], notes


def nearest_points(points: ArrayLike) -> list[int]:
    """For each of the points (n, d) the number of the one that lies nearest to it: n numbers."""
    points = np.asarray(points, float)
    squares = np.square(points).sum(-1)
    distances = squares[:, None] + squares - 2 * points @ points.T  # (n, n), squared
    np.fill_diagonal(distances, np.inf)
    return [largest(-row)[0] for row in distances]


def draw_word_map(
    points: ArrayLike, words: list[str], kept: float, note: str = "", nearest: list[int] | None = None
) -> View:
    """Words at points (n, 2) of a plane, `kept` the share of variance it keeps; `note` is a line below the map.

    nearest: for each word the number of the one that is nearest to it with all entries. An arrow goes there, dashed
    where another word is nearer on the map."""
    points, canvas = np.asarray(points, float), Phone(462)
    spread = max(np.ptp(points[:, 0]) / 280, np.ptp(points[:, 1]) / 262, 1e-9)
    centre = (points.max(0) + points.min(0)) / 2
    on_page = np.column_stack([178 + (points[:, 0] - centre[0]) / spread, 154 - (points[:, 1] - centre[1]) / spread])
    zero_x, zero_y = 178 - centre[0] / spread, 154 + centre[1] / spread
    canvas.rect(1, 1, 354, 306, "none", stroke="edge")
    if 1 < zero_x < 355:
        canvas.line(zero_x, 1, zero_x, 307, "edge")
    if 1 < zero_y < 307:
        canvas.line(1, zero_y, 355, zero_y, "edge")
    said, along = draw_neighbours(canvas, points, on_page, words, nearest) if nearest else ("", ())
    for (x, y), word, (dx, dy) in zip(on_page, words, label_places(on_page, words, 12, along)):
        shown = cut(word, 24)
        half = 3.3 * len(shown) + 2
        canvas.add("circle", cx=float(x), cy=float(y), r=4, fill="data")
        canvas.text(float(np.clip(x + dx, half, 356 - half)), float(np.clip(y + dy + 4, 14, 303)), shown, 12)
    canvas.text(6, 326, f"{kept:.0%} of the variance of these {len(words)} words is kept", 13, "start", bold=True)
    solid = bool(nearest) and nearest_points(points) == nearest
    task = f"{'✔' if solid else '○'} Type words until every arrow is solid."
    if not nearest:
        task = "Which word is nearest by all entries? Show the arrows."
    button = "Hide the arrows" if nearest else "Show the arrows"
    canvas.rect(6, 378, 200, 28, "raised", stroke="ink", rx=5)
    canvas.text(106, 397, button, 13, bold=True)
    canvas.touch(6, 378, 200, 28, button, neighbours=not nearest)
    end = canvas.prose(6, 424 if nearest else 346, task, 12, fill="right" if solid else "quiet")
    canvas.prose(6, max(end, 424), note, 11.5, fill="wrong")
    placed = ", ".join(f"{word} ({x:.1f}, {y:.1f})" for word, (x, y) in zip(words, points))
    return canvas.view(
        f"Word map: {placed}. Two components keep {kept:.0%} of the variance. {said}{task} {note}".rstrip()
    )


def draw_neighbours(
    canvas: Phone, points: np.ndarray, on_page: np.ndarray, words: list[str], nearest: list[int]
) -> tuple[str, np.ndarray]:
    """An arrow from each word to the nearest one: what they say in words, and points (m, 2) along them.

    Two words that are nearest to each other have two arrows side by side, each to the right of its way."""
    on_map = nearest_points(points)
    for word in sorted(range(len(words)), key=lambda word: on_map[word] != nearest[word]):  # the dashed ones on top
        start, end = on_page[word], on_page[nearest[word]]
        way = (end - start) / max(1e-9, math.dist(start, end))
        aside = (4.5 if nearest[nearest[word]] == word else 0) * np.array([-way[1], way[0]])
        colour, dashes = ("data", {}) if on_map[word] == nearest[word] else ("here", {"stroke_dasharray": "6 4"})
        ends = np.concatenate([start + aside, end - 5 * way + aside])
        canvas.arrow(*map(float, ends), colour, 1.6, 8, **dashes)
    lost = [f"{word} to {words[k]}, not {words[here]}" for word, here, k in zip(words, on_map, nearest) if here != k]
    canvas.text(6, 345, "→ the nearest word with all entries", 12, "start", "data")
    canvas.text(6, 363, f"⇢ where on the map another one is nearer: {len(lost)}", 12, "start", "here")
    along = np.concatenate([on_page + share * (on_page[nearest] - on_page) for share in np.linspace(0.1, 0.9, 9)])
    return f"Nearest with all entries and not on the map: {'; '.join(lost) or 'none'}. ", along


def word_map(vectors: Mapping[str, np.ndarray] | WordVectors, words: str, neighbours: bool = False) -> Explorer:
    """Type words, see them on a map of two principal components, with arrows to their nearest words if wanted."""

    def draw(words, neighbours):
        known, notes = words_of_a_map(words, vectors)
        if len(known) < 3:
            return verdict("A map needs three words or more", False, notes or ["Type more words, separated by spaces."])
        rows = [vectors[word] for word in known]
        points, kept = pca(rows, 2)
        return draw_word_map(points, known, sum(kept), "; ".join(notes), nearest_points(rows) if neighbours else None)

    some = words.split()
    tries = (" ".join(some[:2]), ", ".join(some[:3]), " ".join([*some[:4], "qqzzx"]).upper(), " ".join(some[:3] * 2))
    arrows = checkbox("an arrow to the nearest word, all entries counted", neighbours, "420px")
    return Explorer(draw, {"words": text("words", words, tries), "neighbours": arrows}, replaced=["neighbours"])
