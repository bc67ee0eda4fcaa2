"""Views: the pictures inside widgets, as SVG text. Data in, `View` out; drawn in about a millisecond.

A view carries its description in words, as a `Figure` of plots.py does. explore.py puts controls around these.
"""

import base64
import math
import re
from dataclasses import dataclass
from html import escape

import numpy as np
from matplotlib.colors import to_hex

from utils.plots import BLUE, GREEN, GREY, ORANGE, RED, SIGNED, WEIGHTS, as_numbers, label_places, largest

INK, PALE = "#1F2328", "#D0D5DB"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class View:
    """A picture as SVG text, and in words."""

    svg: str
    description: str

    def _repr_mimebundle_(self, include=None, exclude=None):
        """As an image in HTML, it shows in notebooks that are not trusted, too, and carries its description."""
        picture = base64.b64encode(self.svg.encode()).decode()
        shown = f'<img alt="{escape(self.description)}" src="data:image/svg+xml;base64,{picture}">'
        return {"text/html": shown, "image/svg+xml": self.svg, "text/plain": self.description}


class Canvas:
    """Collects the shapes of one view. Coordinates are pixels from the top left corner."""

    def __init__(self, width, height):
        self.width, self.height, self.shapes = width, height, []

    def add(self, tag, text=None, **attributes):
        """One SVG element; `stroke_width=2` becomes stroke-width="2", numbers are rounded to a tenth of a pixel."""
        written = " ".join(
            f'{name.rstrip("_").replace("_", "-")}="{_short(value)}"' for name, value in attributes.items()
        )
        self.shapes.append(f"<{tag} {written}/>" if text is None else f"<{tag} {written}>{in_xml(text)}</{tag}>")

    def text(self, x, y, text, size=14, anchor="middle", fill=INK, **more):
        self.add("text", text, x=x, y=y, font_size=size, text_anchor=anchor, fill=fill, **more)

    def line(self, x1, y1, x2, y2, stroke=GREY, stroke_width=1, **more):
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, stroke_width=stroke_width, **more)

    def rect(self, x, y, width, height, fill="none", **more):
        self.add("rect", x=x, y=y, width=max(0, width), height=max(0, height), fill=fill, **more)

    def arrow(self, x1, y1, x2, y2, stroke, stroke_width=3):
        """A line with a head at its end."""
        length = math.hypot(x2 - x1, y2 - y1)
        if length < 1:
            return
        dx, dy, head = (x2 - x1) / length, (y2 - y1) / length, min(12, length)
        neck_x, neck_y = x2 - head * dx, y2 - head * dy
        self.line(x1, y1, neck_x, neck_y, stroke, stroke_width)
        corners = (
            (x2, y2),
            (neck_x - head * dy / 2, neck_y + head * dx / 2),
            (neck_x + head * dy / 2, neck_y - head * dx / 2),
        )
        self.add("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in corners), fill=stroke)

    def cell(self, x, y, width, height, value, limit, signed=False):
        """A number as a coloured cell, and as text in it."""
        share = value / limit if limit else 0.0
        colour = to_hex(SIGNED((share + 1) / 2) if signed else WEIGHTS(share))
        self.rect(x, y, width, height, colour, stroke=PALE)
        ink = "white" if abs(share) > 0.55 else INK
        self.text(x + width / 2, y + height / 2 + 4.5, f"{round(value, 2) + 0.0:.2f}", 12.5, fill=ink)

    def view(self, description):
        """The finished picture. Its size is fixed, so that nothing below it moves when it is drawn again."""
        description = NOT_XML.sub("\N{REPLACEMENT CHARACTER}", description)
        return View(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" font-family="Helvetica, Arial, sans-serif" role="img" '
            f'aria-label="{in_xml(description)}" style="max-width: 100%; background: white">'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(self.shapes)}</svg>',
            description,
        )


def _short(value):
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else in_xml(value)


def in_xml(text):
    """Text as it stands in XML; what XML cannot hold at all, as control characters, becomes the replacement sign."""
    return escape(NOT_XML.sub("\N{REPLACEMENT CHARACTER}", str(text)))


def cut(text, signs):
    """The text, or where it is longer than `signs` its beginning and "…"."""
    return text if len(text) <= signs else text[: signs - 1] + "…"


def word_links(words, weights, chosen):
    """The words of a sentence in a row; from word number `chosen` an arc to each word, as thick as its weight."""
    row = np.asarray(weights, float)[chosen]
    canvas, share = Canvas(960, 260), row / row.max()
    widths = np.array([max(len(word), 3) + 2.2 for word in words])
    widths *= 940 / widths.sum()
    middle, size = (
        10 + np.cumsum(widths) - widths / 2,
        min(17, 1.7 * (widths / [len(word) + 2.2 for word in words]).min()),
    )
    draw_arcs(canvas, middle, row, chosen)
    for number, (x, word) in enumerate(zip(middle, words)):
        asks = number == chosen
        canvas.text(
            float(x), 182, word, float(size), fill=RED if asks else INK, font_weight="bold" if asks else "normal"
        )
        canvas.rect(float(x) - 17, 237 - 42 * float(share[number]), 34, 42 * float(share[number]), BLUE)
        canvas.text(float(x), 254, f"{row[number]:.0%}", 13)
    most = ", ".join(f"{words[k]} {row[k]:.0%}" for k in largest(row, 3))
    return canvas.view(f"{words[chosen]} attends most to {most}.")


def draw_arcs(canvas, middle, weights, chosen):
    """From word number `chosen` an arc to each other word, as thick as its weight; middle, weights (n,)."""
    start, share = middle[chosen], weights / weights.max()
    for number, x in enumerate(middle):
        if weights[number] > 0.005 and number != chosen:
            rise = 160 - 1.3 * min(115, 24 + 0.38 * abs(x - start))
            canvas.add(
                "path",
                d=f"M{start:.1f} 160 C{start:.1f} {rise:.1f} {x:.1f} {rise:.1f} {x:.1f} 160",
                fill="none",
                stroke=BLUE,
                stroke_width=float(1 + 24 * weights[number]),
                opacity=f"{0.3 + 0.6 * share[number]:.2f}",
            )


def two_arrows(angle, length_a, length_b):
    """Two arrows from one point; beside them dot product, magnitudes and cosine."""
    a = np.array([length_a, 0.0])
    b = length_b * np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
    dot, cosine = float(a @ b), math.cos(math.radians(angle))
    canvas = Canvas(760, 400)
    x0, y0, scale = 250, 200, 58
    for step in range(-4, 5):
        canvas.line(x0 + scale * step, 10, x0 + scale * step, 390, "#EEF0F2")
        if abs(step) <= 3:
            canvas.line(10, y0 - scale * step, 490, y0 - scale * step, "#EEF0F2")
    shadow = x0 + scale * length_b * cosine
    canvas.line(x0, y0, shadow, y0, GREEN if dot >= 0 else RED, 9, opacity="0.35")
    canvas.line(x0 + scale * b[0], y0 - scale * b[1], shadow, y0, GREY, 1, stroke_dasharray="4 4")
    canvas.arrow(x0, y0, x0 + scale * a[0], y0 - scale * a[1], BLUE)
    canvas.arrow(x0, y0, x0 + scale * b[0], y0 - scale * b[1], ORANGE)
    canvas.text(x0 + scale * a[0] + 14, y0 + 5, "a", 17, fill=BLUE, font_weight="bold")
    tip = (scale * length_b + 16) * b / length_b
    canvas.text(float(x0 + tip[0]), float(y0 - tip[1] + 5), "b", 17, fill=ORANGE, font_weight="bold")
    facts = [
        ("angle", f"{angle:.0f}°", INK),
        ("|a|", f"{length_a:.1f}", BLUE),
        ("|b|", f"{length_b:.1f}", ORANGE),
        ("cosine", f"{cosine:+.2f}", INK),
        ("a · b", f"{dot:+.2f}", GREEN if dot >= 0 else RED),
    ]
    for number, (name, value, colour) in enumerate(facts):
        canvas.text(600, 62 + 44 * number, name, 17, "end")
        canvas.text(625, 62 + 44 * number, value, 21, "start", colour, font_weight="bold")
    canvas.text(625, 300, "|a| · |b| · cosine", 14, fill=GREY)
    canvas.text(625, 322, f"= {length_a:.1f} · {length_b:.1f} · ({cosine:+.2f})", 14, fill=GREY)
    canvas.text(625, 344, f"= {dot:+.2f}", 14, fill=GREY)
    return canvas.view(
        f"Two arrows at {angle:.0f}°, lengths {length_a:.1f} and {length_b:.1f}: "
        f"cosine {cosine:+.2f}, dot product {dot:+.2f}."
    )


def word_plane(points, words, kept, note=""):
    """Words at points (n, 2) of a plane, `kept` the share of variance it keeps; `note` is a line below the map."""
    points, canvas = np.asarray(points, float), Canvas(760, 470)
    spread = max(np.ptp(points[:, 0]) / 600, np.ptp(points[:, 1]) / 330, 1e-9)
    centre = (points.max(0) + points.min(0)) / 2
    on_page = np.column_stack([380 + (points[:, 0] - centre[0]) / spread, 205 - (points[:, 1] - centre[1]) / spread])
    zero_x, zero_y = 380 - centre[0] / spread, 205 + centre[1] / spread
    canvas.rect(1, 1, 758, 408, "none", stroke=PALE)
    if 1 < zero_x < 759:
        canvas.line(zero_x, 1, zero_x, 409, PALE)
    if 1 < zero_y < 409:
        canvas.line(1, zero_y, 759, zero_y, PALE)
    for (x, y), word, (dx, dy) in zip(on_page, words, label_places(on_page, words, 15)):
        canvas.add("circle", cx=float(x), cy=float(y), r=5, fill=BLUE)
        canvas.text(float(x + dx), float(y + dy + 5), word, 15)
    canvas.text(10, 432, f"two components keep {kept:.0%} of the variance of these {len(words)} words", 14, "start")
    canvas.text(10, 456, note, 13, "start", RED)
    placed = ", ".join(f"{word} ({x:.1f}, {y:.1f})" for word, (x, y) in zip(words, points))
    return canvas.view(f"Word map: {placed}. Two components keep {kept:.0%} of the variance. {note}".rstrip())


def weight_bars(labels, scores, weights, title, facts=()):
    """For each key its score and its weight as a bar; `facts` are lines of text below."""
    canvas = Canvas(760, 276 + 24 * math.ceil(len(facts) / 2))
    canvas.text(20, 26, title, 16, "start", font_weight="bold")
    step = 720 / len(labels)
    canvas.line(20, 210, 740, 210, GREY)
    for number, (label, score, weight) in enumerate(zip(labels, scores, weights)):
        x = 20 + step * (number + 0.5)
        canvas.rect(x - step * 0.32, 210 - 140 * float(weight), step * 0.64, 140 * float(weight), BLUE)
        canvas.text(x, 202 - 140 * float(weight), f"{weight:.3f}", 14, font_weight="bold")
        canvas.text(x, 229, label, 14)
        canvas.text(x, 248, f"score {score:+.2f}", 12.5, fill=GREY)
    for number, fact in enumerate(facts):
        canvas.text(20 + 365 * (number % 2), 284 + 24 * (number // 2), fact, 15, "start")
    said = ", ".join(f"{label} {weight:.3f}" for label, weight in zip(labels, weights))
    return canvas.view(f"{title}. Weights: {said}. " + " ".join(f"{fact}." for fact in facts))


STEPS = ("1 score q·k", "2 scaled /√e", "3 weight", "4 weight × value", "5 output = their sum")


def attention_walk(words, scores, scaled, weights, values, chosen, step):
    """One query's way through attention, column by column up to `step`, one of the five STEPS.

    scores, scaled, weights (n, n); values (n, v), of which the first four entries are shown; chosen: the query's row.
    """
    scores, scaled, weights, values = (as_numbers(array, 2) for array in (scores, scaled, weights, values))
    entries, size = min(4, values.shape[1]), values.shape[1]
    weighted = weights[chosen][:, None] * values[:, :entries]
    output = weighted.sum(0)
    # each column of the table: where it starts, how wide a cell is, its numbers (n, cells), the largest, both signs?
    largest = max(np.abs(weighted).max(), np.abs(output).max())
    columns = [
        (124, 84, scores[chosen][:, None], np.abs(scores).max(), True),
        (226, 84, scaled[chosen][:, None], np.abs(scaled).max(), True),
        (328, 84, weights[chosen][:, None], 1.0, False),
        (430, 56, weighted, largest, True),
        (468 + 56 * entries, 56, output[None], largest, True),
    ]
    canvas, top = Canvas(960, 118 + 34 * len(words)), 62
    canvas.text(20, 20, f"query: {words[chosen]}", 16, "start", RED, font_weight="bold")
    for key, word in enumerate(words):
        canvas.text(116, top + 34 * key + 20, word, 14.5, "end", RED if key == chosen else INK)
    for number, (left, width, numbers, limit, signed) in enumerate(columns, 1):
        bold = "bold" if number == step else "normal"
        middle = left + width * numbers.shape[1] / 2
        canvas.text(middle, 44, STEPS[number - 1], 14, fill=INK if number <= step else "#A9B0B8", font_weight=bold)
        start = top if len(numbers) == len(words) else top + 17 * (len(words) - 1)
        for (row, cell), value in np.ndenumerate(numbers) if number <= step else ():
            canvas.cell(left + width * cell, start + 34 * row, width, 30, value, limit, signed)
    foot = top + 34 * len(words) + 20
    if step > 2:
        canvas.text(370, foot, f"sum {weights[chosen].sum():.2f}", 13, fill=GREY)
    if step > 3 and size > entries:
        canvas.text(430, foot, f"the first {entries} of {size} entries", 13, "start", GREY)
    last = columns[min(step, 3) - 1][2][:, 0]
    said = f"Query {words[chosen]}, after step {STEPS[step - 1]}. {STEPS[min(step, 3) - 1][2:]} by key: "
    said += ", ".join(f"{word} {value:.2f}" for word, value in zip(words, last)) + "."
    if step > 4:
        said += f" Output begins {', '.join(f'{entry:.2f}' for entry in output)}."
    return canvas.view(said)


def code_lines(title, lines, right):
    """A title and lines of text (depth, text) in a fixed-width font; `right`: green bar, else red."""
    canvas = Canvas(760, 60 + 24 * max(11, len(lines)))
    canvas.rect(1, 1, 8, canvas.height - 2, GREEN if right else RED)
    canvas.text(26, 30, title, 16, "start", GREEN if right else RED, font_weight="bold")
    for number, (depth, text) in enumerate(lines):
        canvas.text(26 + 26 * depth, 62 + 24 * number, text, 15, "start", font_family="Menlo, Consolas, monospace")
    return canvas.view(f"{title}. " + " ".join(text for _, text in lines))


def attention_shapes(n_queries, n_keys, d_head, d_value):
    """The matrices of attention drawn to scale, each with its shape."""
    canvas, unit = Canvas(960, 262), 11
    matrices = [
        ("Q", n_queries, d_head, "(q, e)", BLUE, "·"),
        ("Kᵀ", d_head, n_keys, "(e, k)", ORANGE, "÷ √e, softmax →"),
        ("weights", n_queries, n_keys, "(q, k)", GREEN, "·"),
        ("V", n_keys, d_value, "(k, v)", ORANGE, "="),
        ("output", n_queries, d_value, "(q, v)", RED, ""),
    ]
    taken = sum(max(columns * unit, 60) + 8 * len(then) + 24 for _, _, columns, _, _, then in matrices)
    x = (960 - taken) / 2
    for name, rows, columns, letters, colour, then in matrices:
        slot = max(columns * unit, 60)
        left, top = x + (slot - columns * unit) / 2, 88 - rows * unit / 2
        for row, column in np.ndindex(rows, columns):
            canvas.rect(left + column * unit, top + row * unit, unit, unit, colour, stroke="white", opacity="0.75")
        for line, (text, size, fill) in enumerate(
            [(name, 16, colour), (letters, 14, INK), (f"({rows}, {columns})", 14, GREY)]
        ):
            canvas.text(x + slot / 2, 200 + 23 * line, text, size, fill=fill, font_weight="normal" if line else "bold")
        canvas.text(x + slot + 4 * len(then) + 12, 94, then, 15 if len(then) > 1 else 24)
        x += slot + 8 * len(then) + 24
    return canvas.view(
        f"Q ({n_queries}, {d_head}) times K transposed ({d_head}, {n_keys}), scaled and through softmax, gives weights "
        f"({n_queries}, {n_keys}); times V ({n_keys}, {d_value}) gives the output ({n_queries}, {d_value})."
    )


def verdict(question, right, lines):
    """The answer to a quiz question: `right` is True, False or None (not answered yet)."""
    canvas, colour = Canvas(760, 60 + 24 * len(lines)), {True: GREEN, False: RED, None: GREY}[right]
    canvas.rect(1, 1, 8, 58 + 24 * len(lines), colour)
    sign = {True: "✔", False: "✘", None: "○"}[right]
    canvas.text(26, 30, f"{sign}  {question}", 16, "start", colour, font_weight="bold")
    for number, line in enumerate(lines):
        canvas.text(26, 58 + 24 * number, line, 15, "start")
    return canvas.view(f"{sign} {question} {' '.join(lines)}")


# 04 masking


def masked_attention(words, mask, scores, weights, outputs):
    """Scores, weights and outputs of one sentence under a mask, side by side; mask, scores, weights (n, n) and
    outputs (n, d), of which the first three entries are shown."""
    mask, scores, weights, outputs = (as_numbers(array, 2) for array in (mask, scores, weights, outputs))
    entries, n, top = min(3, outputs.shape[1]), len(words), 62
    canvas = Canvas(960, 82 + 34 * n)
    width = min(58, 780 // (2 * n + entries))
    blocks = [
        ("scores", 84, scores, np.abs(scores).max(), True, words),
        ("weights", 100 + width * n, weights, 1.0, False, words),
        (
            f"outputs, {entries} of {outputs.shape[1]} entries",
            164 + 2 * width * n,
            outputs[:, :entries],
            np.abs(outputs).max(),
            True,
            ["", "", ""],
        ),
    ]
    for title, left, numbers, limit, signed, columns in blocks:
        canvas.text(left, 20, title, 15, "start", font_weight="bold")
        for (row, cell), value in np.ndenumerate(numbers):
            x, y = left + width * cell, top + 34 * row
            if row == 0:
                canvas.text(x + width / 2, 50, columns[cell], 13)
            if title == "scores" and not mask[row, cell]:
                canvas.rect(x, y, width, 30, "#E6E8EB", stroke=PALE)
                canvas.text(x + width / 2, y + 20, "−∞", 13, fill=GREY)
            else:
                canvas.cell(x, y, width, 30, value, limit, signed)
    for row, word in enumerate(words):
        canvas.text(76, top + 34 * row + 20, word, 14, "end")
        canvas.text(106 + 2 * width * n, top + 34 * row + 20, f"sum {weights[row].sum():.2f}", 12, "start", GREY)
    said = [
        f"{word} to {', '.join(f'{words[k]} {line[k]:.2f}' for k in np.flatnonzero(allowed)) or 'nothing'}"
        for word, line, allowed in zip(words, weights, mask)
    ]
    return canvas.view(f"{int(mask.sum())} of {mask.size} pairs may attend. {'; '.join(said)}.")


def moved_outputs(words, changed, distances, title):
    """Inputs above, outputs below: a line from word number `changed` to each output that moved, distances (n,)."""
    distances, canvas = as_numbers(distances, 1), Canvas(960, 250)
    largest, step = distances.max() or 1.0, 940 / len(words)
    middle = [10 + step * (number + 0.5) for number in range(len(words))]
    canvas.text(10, 24, title, 15, "start", font_weight="bold")
    moves = []
    for number, (x, word, distance) in enumerate(zip(middle, words, distances)):
        bold, colour, said = "normal", INK, "does not move"
        if number == changed:
            bold, colour = "bold", RED
        if distance > 0:
            canvas.line(middle[changed], 74, x, 172, BLUE, float(1 + 9 * distance / largest), opacity="0.7")
            said = f"moves by {distance:.2f}"
            moves.append(f"{word} ({number}) by {distance:.2f}")
        canvas.text(x, 64, word, 15, fill=colour, font_weight=bold)
        canvas.add("circle", cx=x, cy=180, r=8, fill=BLUE if distance > 0 else "white", stroke=GREY)
        canvas.text(x, 212, f"output {number}", 13)
        canvas.text(x, 234, said, 13, fill=INK if distance > 0 else GREY)
    moved = ", ".join(moves) or "none"
    return canvas.view(f"{title}. {words[changed]} ({changed}) changes. Outputs that move: {moved}.")


# 05 RNN with attention


def lay_out(words, width, size=17):
    """Middles of words in a row of `width` pixels, and the size of the letters with which they fit."""
    widths = np.array([len(word) + 2.0 for word in words])
    widths *= width / widths.sum()
    return np.cumsum(widths) - widths / 2, min(size, 1.7 * (widths / [len(word) + 1.0 for word in words]).min())


def decoding_step(source, target, weights, step, gold=()):
    """The source above, the translation below, written up to word number `step`; lines from that word to the source
    words as thick as their weights (q, k). Gold links (target, source) are dashed."""
    weights, canvas = as_numbers(weights, 2), Canvas(960, 268)
    row = weights[step]
    above, size_above = lay_out(source, 940)
    below, size_below = lay_out(target, 940)
    for i, j in gold:
        if i == step:
            canvas.line(float(10 + below[i]), 192, float(10 + above[j]), 86, RED, 2, stroke_dasharray="6 5")
    for j, (x, word) in enumerate(zip(10 + above, source)):
        if row[j] > 0.005:
            line = {"stroke_width": float(1 + 20 * row[j]), "opacity": f"{0.25 + 0.5 * row[j]:.2f}"}
            canvas.line(float(10 + below[step]), 192, float(x), 86, BLUE, **line)
        canvas.text(float(x), 72, word, float(size_above), font_weight="bold" if row[j] > 0.5 else "normal")
        canvas.rect(float(x) - 15, 44 - 36 * float(row[j]), 30, 36 * float(row[j]), BLUE)
    for i, (x, word) in enumerate(zip(10 + below, target)):
        bold = "bold" if i == step else "normal"
        if i <= step:
            canvas.text(float(x), 214, word, float(size_below), fill=RED if i == step else INK, font_weight=bold)
    heard = ", ".join(f"{source[j]} {row[j]:.0%}" for j in largest(row, 3))
    canvas.text(480, 252, f"step {step + 1}: {target[step]} looks at {heard}", 15)
    linked = ", ".join(source[j] for i, j in gold if i == step)
    return canvas.view(f"{target[step]} looks at {heard}." + (f" It translates {linked}." if linked else ""))


def translation_weights(source, target, weights, gold, facts=()):
    """Weights (q, k) of a translation as a table, a row for each target word; gold links framed; `facts` above."""
    weights = as_numbers(weights, 2)
    canvas = Canvas(960, 96 + 28 * max(11, len(target)) + 24 * len(facts))
    width, top = min(70, 800 / len(source)), 88 + 24 * len(facts)
    for j, word in enumerate(source):
        x = 140 + width * (j + 0.5)
        canvas.text(x, top - 8, word, 13.5, "start", transform=f"rotate(-40 {x:.1f} {top - 8})")
    for i, word in enumerate(target):
        canvas.text(130, top + 28 * i + 19, word, 14.5, "end")
        for j in range(len(source)):
            canvas.cell(140 + width * j, top + 28 * i, width, 26, weights[i, j], 1.0)
    for i, j in gold:
        if i < len(target):
            canvas.rect(141 + width * j, top + 1 + 28 * i, width - 2, 24, "none", stroke=RED, stroke_width=2.5)
    for number, fact in enumerate(facts):
        canvas.text(20, 24 + 24 * number, fact, 14.5, "start")
    peaks = ", ".join(f"{word} → {source[largest(row)[0]]}" for word, row in zip(target, weights))
    return canvas.view(f"{' '.join(source)}: {' '.join(target)}. Largest weights: {peaks}. " + " ".join(facts))


def translations_by_length(length, source, right, written, shares):
    """One sentence with its right translation and those `written` by models {name: words}; words that differ in red.
    `shares`: {name: share of the sentences of this length that are right}."""
    canvas = Canvas(960, 130 + 92 * len(written))
    canvas.text(10, 26, f"{length} words", 17, "start", font_weight="bold")
    longest = max(len(" ".join(words)) for words in (source, right, *written.values()))
    size = min(15.0, 840 / (0.6 * longest))
    letters = {"size": size, "anchor": "start", "font_family": "Menlo, Consolas, monospace"}
    for y, label, words in ((56, "source", source), (84, "right", right)):
        canvas.text(90, y, label, 13, "end", GREY)
        canvas.text(100, y, " ".join(words), **letters)
    for number, (name, words) in enumerate(written.items()):
        y, share = 130 + 92 * number, shares[name]
        canvas.text(10, y, name, 15, "start", font_weight="bold")
        canvas.rect(200, y - 14, 400, 18, "#EEF0F2")
        canvas.rect(200, y - 14, 400 * share, 18, BLUE if share > 0.5 else ORANGE)
        canvas.text(610, y, f"{share:.0%} of the sentences with {length} words are right", 14, "start")
        x = 100.0
        for position, word in enumerate(words):
            wrong = position >= len(right) or word != right[position]
            canvas.text(x, y + 30, word, fill=RED if wrong else INK, **letters)
            x += 0.6 * size * (len(word) + 1)
        canvas.text(90, y + 30, "✔" if list(words) == list(right) else "✘", 15, "end")
    said = "; ".join(f"{name} {shares[name]:.0%} right" for name in written)
    return canvas.view(f"Sentences of {length} words: {said}.")


# 06 the transformer encoder


def position_waves(table, position, shift):
    """A table of position waves (n, d), d even; two of its rows, `shift` apart, are framed. Beside it four pairs of
    columns as hands of a clock, at both positions; below it the dot product of one position with all others."""
    table = as_numbers(table, 2)
    (n, d), other = table.shape, position + shift
    canvas, width, height = Canvas(960, 512), 440 / table.shape[1], 320 / len(table)
    canvas.text(60, 20, f"{n} positions (down), {d} columns (across)", 14, "start", font_weight="bold")
    for (row, column), value in np.ndenumerate(table):
        colour = to_hex(SIGNED((value + 1) / 2))
        canvas.rect(60 + width * column, 30 + height * row, width + 0.3, height + 0.3, colour)
    for row, colour, name, x, side in ((other, RED, "p + s", 508, "start"), (position, INK, "p", 52, "end")):
        canvas.rect(59, 29 + height * row, 442, height + 2, "none", stroke=colour, stroke_width=2)
        canvas.text(x, 30 + height * (row + 0.5) + 5, name, 13, side, colour, font_weight="bold")
    pairs = sorted({round(i * (d // 2 - 1) / 3) for i in range(4)})
    turned = []
    for number, pair in enumerate(pairs):
        x, y = 650 + 190 * (number % 2), 84 + 170 * (number // 2)
        canvas.add("circle", cx=x, cy=y, r=54, fill="none", stroke=PALE, stroke_width=2)
        for row, colour in ((position, INK), (other, RED)):
            sine, cosine = table[row, 2 * pair : 2 * pair + 2]
            canvas.arrow(x, y, float(x + 50 * sine), float(y - 50 * cosine), colour, 3)
        angle = math.degrees(shift / 10000 ** (2 * pair / d))
        turned.append(f"columns {2 * pair} and {2 * pair + 1} by {angle:.1f}°")
        canvas.text(x, y + 76, f"columns {2 * pair}, {2 * pair + 1}", 13)
        canvas.text(x, y + 94, f"turned by {angle:.1f}°", 13, fill=RED)
    dots = table @ table[position]
    canvas.text(60, 386, "dot product of position p with each position", 14, "start", font_weight="bold")
    canvas.line(60, 488, 900, 488, GREY)
    for row, value in enumerate(dots):
        tall, colour = 88 * float(value) / dots.max(), INK if row == position else RED if row == other else BLUE
        canvas.rect(60 + 840 / n * row + 1, 488 - max(tall, 0), 840 / n - 2, abs(tall), colour)
        if row % 4 == 0:
            canvas.text(60 + 840 / n * (row + 0.5), 505, row, 12)
    canvas.text(900, 386, f"p · (p + s) = {dots[other]:.2f}, p · p = {dots[position]:.2f}", 14, "end", RED)
    return canvas.view(
        f"Positions p = {position} and p + s = {other} of {n}, {d} columns: dot product {dots[other]:.2f}, "
        f"with itself {dots[position]:.2f}. From one to the other the hands turn: {'; '.join(turned)}."
    )


def block_step(words, stations, step, goes_in, comes_out, note, bypass):
    """A block as a row of `stations`, number `step` framed; below it what goes in and what comes out there, (n, d)
    each, with mean, deviation and length of every row. A station is its name and the number of the station from which
    a residual connection leads to it, or None; `bypass`: are these connections there?"""
    goes_in, comes_out = as_numbers(goes_in, 2), as_numbers(comes_out, 2)
    entries, canvas, width = min(3, goes_in.shape[1]), Canvas(960, 212 + 32 * len(words)), 940 / len(stations)
    middle = [10 + width * (number + 0.5) for number in range(len(stations))]
    for number, ((name, source), x) in enumerate(zip(stations, middle)):
        here = number == step
        if number:
            canvas.arrow(middle[number - 1] + width / 2 - 13, 86, x - width / 2 + 13, 86, GREY, 2)
        edge = {"stroke": BLUE if here else GREY, "stroke_width": 3 if here else 1, "rx": 6}
        canvas.rect(x - width / 2 + 14, 66, width - 28, 40, "#E8F1F8" if here else "white", **edge)
        canvas.text(x, 91, name, 13.5, font_weight="bold" if here else "normal")
        if source is not None:
            begin = middle[source] + 14
            drawn = {} if bypass else {"stroke_dasharray": "3 8", "opacity": "0.4"}
            path = f"M{begin:.0f} 65 C{begin:.0f} 22 {x:.0f} 22 {x:.0f} 64"
            canvas.add("path", d=path, fill="none", stroke=RED, stroke_width=2.5, **drawn)
            canvas.text((begin + x) / 2, 26, "goes past" if bypass else "cut off", 13, fill=RED)
    canvas.text(10, 138, note, 14.5, "start")
    said = []
    for left, title, numbers in ((90, "goes in", goes_in), (530, "comes out", comes_out)):
        canvas.text(left, 168, title, 14, "start", font_weight="bold")
        canvas.text(left, 190, f"{entries} of {numbers.shape[1]} entries", 13, "start", GREY)
        limit, lengths = np.abs(numbers).max(), np.linalg.norm(numbers, axis=-1)
        for column, heading in enumerate(("mean", "deviation", "length")):
            canvas.text(left + 58 * entries + 44 + 72 * column, 190, heading, 13, fill=GREY)
        for row, word in enumerate(words):
            y = 198 + 32 * row
            if left == 90:
                canvas.text(82, y + 19, word, 14, "end")
            for entry in range(entries):
                canvas.cell(left + 58 * entry, y, 56, 28, numbers[row, entry], limit, True)
            for column, value in enumerate((numbers[row].mean(), numbers[row].std(), lengths[row])):
                canvas.text(left + 58 * entries + 44 + 72 * column, y + 19, f"{round(value, 2) + 0.0:.2f}", 13.5)
        said.append(f"{title}: rows of length {lengths.mean():.2f} on average")
    return canvas.view(f"{note}. {'; '.join(said)}.")


def tagged_links(words, weights, chosen, tags, title):
    """Words of a sentence, each with its tag below; from word number `chosen` a line to each word, as thick as its
    weight. weights (n, n)."""
    row, canvas = as_numbers(weights, 2)[chosen], Canvas(960, 262)
    middle, size = lay_out(words, 940)
    middle = middle + 10
    canvas.text(10, 22, title, 15, "start", font_weight="bold")
    draw_arcs(canvas, middle, row, chosen)
    for number, (x, word, tag) in enumerate(zip(middle, words, tags)):
        asks = {"fill": RED, "font_weight": "bold"} if number == chosen else {"fill": INK}
        canvas.text(float(x), 182, word, float(size), **asks)
        canvas.text(float(x), 206, f"{row[number]:.0%}", 13, fill=GREY)
        canvas.text(float(x), 230, tag, 14, fill=GREEN, font_weight="bold")
    canvas.text(480, 254, "below each word: its weight, and the tag that the model gives", 13, fill=GREY)
    most = ", ".join(f"{words[k]} {row[k]:.0%}" for k in largest(row, 2))
    return canvas.view(f"{title}. {words[chosen]} attends most to {most}; its tag is {tags[chosen]}.")
