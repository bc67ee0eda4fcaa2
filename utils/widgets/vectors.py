"""Two arrows, and a map of words."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..plots import label_places, largest
from ..vectors import WordVectors, pca
from .canvas import Phone, View, cut, verdict
from .controls import Explorer, checkbox, slider, text

# Two arrows


def products(angle: float, length_a: float, length_b: float) -> tuple[np.ndarray, float, float]:
    """The arrow b (2,), `angle` degrees from the arrow a = (length_a, 0), and dot product and cosine of the two."""
    b = length_b * np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
    dot = float(np.array([length_a, 0.0]) @ b)
    return b, dot, dot / (length_a * length_b)


def draw_arrows(angle: float, length_a: float, length_b: float) -> View:
    """Two arrows from one point; below them dot product, magnitudes and cosine."""
    b, dot, cosine = products(angle, length_a, length_b)
    canvas, sign = Phone(358), "data" if round(dot, 9) >= 0 else "negative"
    x0, y0, scale = 178, 132, 40
    for step in range(-4, 5):
        canvas.line(x0 + scale * step, 6, x0 + scale * step, 258, "raised")
        if abs(step) <= 3:
            canvas.line(10, y0 - scale * step, 346, y0 - scale * step, "raised")
    shadow = x0 + scale * length_b * cosine
    canvas.line(x0, y0, shadow, y0, sign, 9, opacity="0.4")
    canvas.line(x0 + scale * b[0], y0 - scale * b[1], shadow, y0, "quiet", 1, stroke_dasharray="4 4")
    canvas.arrow(x0, y0, x0 + scale * length_a, y0, "query")
    canvas.arrow(x0, y0, x0 + scale * b[0], y0 - scale * b[1], "key")
    tips = (
        ("a", "query", np.array([scale * length_a, 0]) + (20, 0)),
        ("b", "key", (scale * length_b + 20) * b / length_b),
    )
    for name, role, (x, y) in tips:
        left, base = float(x0 + x), float(y0 - y + 5)
        if not 15 < base < 256:  # no room beyond the head: beside it
            left, base = left + 18, 20.0 if base < 15 else 254.0
        elif left > 346:
            left, base = 340.0, base - 20
        canvas.text(left, base, name, 15, fill=role, bold=True)
    canvas.hint(12, 250, "drag the tips")
    tip = float(x0 + scale * b[0]), float(y0 - scale * b[1])
    canvas.handle(x0 + scale * length_a, y0, "tip of a", f"{length_a:.1f} long", "query", x=("length_a", x0, scale))
    turned = f"{angle:.0f} degrees, {length_b:.1f} long"
    canvas.handle(*tip, "tip of b", turned, "key", polar=("angle", "length_b"), at=(x0, y0), scale=scale)
    said = {"angle": f"{angle:.0f}°", "|a|": f"{length_a:.1f}", "|b|": f"{length_b:.1f}"}
    said |= {"cosine": f"{round(cosine, 2) + 0.0:+.2f}", "a · b": f"{round(dot, 2) + 0.0:+.2f}"}  # + 0.0: no -0.00
    for number, ((name, value), role) in enumerate(zip(said.items(), ("ink", "query", "key", "ink", sign))):
        canvas.text(38 + 70 * number, 280, name, 12.5)
        canvas.text(38 + 70 * number, 301, value, 16, fill=role, bold=True)
    product = f"{length_a:.1f} · {length_b:.1f} · ({said['cosine']}) = {said['a · b']}"
    canvas.text(178, 327, f"|a| · |b| · cosine = {product}", 12.5, fill="quiet")
    done = said["a · b"] == "+0.00"
    task = f"{'✔' if done else '○'} Make a · b = 0 without shortening an arrow."
    canvas.text(178, 349, task, 12.5, fill="right" if done else "ink")
    lengths = f"lengths {length_a:.1f} and {length_b:.1f}"
    return canvas.view(
        f"Two arrows at {angle:.0f}°, {lengths}: cosine {said['cosine']}, dot product {said['a · b']}. {task}"
    )


def two_arrows() -> Explorer:
    """Two arrows: turn one, stretch both, watch dot product and cosine."""
    controls = {
        "angle": slider("angle in degrees", 40, 0, 360, 5),
        "length_a": slider("length of a", 2.0, 0.5, 4.0, 0.1),
        "length_b": slider("length of b", 1.5, 0.5, 3.0, 0.1),
    }
    return Explorer(draw_arrows, controls)


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
    points, canvas = np.asarray(points, float), Phone(432)
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
        task = "Guess, then show the arrows: is the next word on the map the nearest one?"
    end = canvas.prose(6, 383 if nearest else 346, task, 12, fill="right" if solid else "quiet")
    canvas.prose(6, end, note, 11.5, fill="wrong")
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
    return Explorer(draw, {"words": text("words", words, tries), "neighbours": arrows})
