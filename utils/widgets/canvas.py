"""What every view is drawn with: SVG text, a description in words beside it, drawn in about a millisecond."""

import base64
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np
from matplotlib.colors import to_hex
from PIL import Image

from ..style import BLUE, GREEN, GREY, RED, SIGNED, WEIGHTS, image_html, ink_on

INK, PALE, FAINT = "#1F2328", "#D0D5DB", "#EEF0F2"  # text; edges; what only helps the eye
MONOSPACE = "Menlo, Consolas, monospace"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class View:
    """A picture as SVG text, and in words."""

    svg: str
    description: str

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        """As an image in HTML, it shows in notebooks that are not trusted, too, and carries its description."""
        shown = image_html("image/svg+xml", self.svg.encode(), self.description)
        return {"text/html": shown, "image/svg+xml": self.svg, "text/plain": self.description}


class Canvas:
    """Collects the shapes of one view. Coordinates are pixels from the top left corner.

    The ground is white on a dark page, too: every colour was chosen for it."""

    def __init__(self, width: int, height: int):
        self.width, self.height, self.shapes = width, height, []

    def add(self, tag: str, text: object = None, **attributes: object) -> None:
        """One SVG element; `stroke_width=2` becomes stroke-width="2", numbers are rounded to a tenth of a pixel."""
        written = " ".join(f'{name.replace("_", "-")}="{_short(value)}"' for name, value in attributes.items())
        self.shapes.append(f"<{tag} {written}/>" if text is None else f"<{tag} {written}>{in_xml(text)}</{tag}>")

    def text(
        self, x: float, y: float, text: object,
        size: float = 14, anchor: str = "middle", fill: str = INK, bold: bool = False, **more: object,
    ) -> None:  # fmt: skip
        weight = {"font_weight": "bold"} if bold else {}
        self.add("text", text, x=x, y=y, font_size=size, text_anchor=anchor, fill=fill, **weight, **more)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str = GREY, stroke_width: float = 1, **more: object
    ) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, stroke_width=stroke_width, **more)

    def rect(self, x: float, y: float, width: float, height: float, fill: str = "none", **more: object) -> None:
        self.add("rect", x=x, y=y, width=max(0, width), height=max(0, height), fill=fill, **more)

    def arrow(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str, stroke_width: float = 3, **more: object
    ) -> None:
        """A line with a head at its end."""
        length = math.hypot(x2 - x1, y2 - y1)
        if length < 1:
            return
        dx, dy, head = (x2 - x1) / length, (y2 - y1) / length, min(12, length)
        neck_x, neck_y = x2 - head * dx, y2 - head * dy
        self.line(x1, y1, neck_x, neck_y, stroke, stroke_width, **more)
        side_x, side_y = head * dy / 2, head * dx / 2
        corners = (x2, y2), (neck_x - side_x, neck_y + side_y), (neck_x + side_x, neck_y - side_y)
        self.add("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in corners), fill=stroke)

    def cell(
        self, x: float, y: float, width: float, height: float, value: float, limit: float, signed: bool = False
    ) -> None:
        """A number as a coloured cell, `limit` being the deepest colour, and as text in it."""
        share = value / limit if limit else 0.0
        colour = to_hex(SIGNED((share + 1) / 2) if signed else WEIGHTS(share))
        self.rect(x, y, width, height, colour, stroke=PALE)
        self.text(x + width / 2, y + height / 2 + 4.5, two_decimals(value), 12.5, fill=ink_on(colour))

    def pixels(self, x: float, y: float, width: float, height: float, colours: np.ndarray) -> None:
        """A table of colours (r, c, 3), from 0 to 1, as one image: a tenth of the size of a square for each."""
        picture = io.BytesIO()
        Image.fromarray((255 * colours).round().astype(np.uint8)).save(picture, format="png")
        data = f"data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}"
        shown = {"preserveAspectRatio": "none", "style": "image-rendering: pixelated"}
        self.add("image", x=x, y=y, width=width, height=height, href=data, **shown)

    def view(self, description: str) -> View:
        """The finished picture. Its size is fixed, so that nothing below it moves when it is drawn again."""
        description = NOT_XML.sub(REPLACEMENT, description)
        return View(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" font-family="Helvetica, Arial, sans-serif" role="img" '
            f'aria-label="{in_xml(description)}" style="max-width: 100%; background: white">'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(self.shapes)}</svg>',
            description,
        )


class Narrow(Canvas):
    """A canvas so narrow that its letters are still 10 pixels high on a phone, where it keeps its shape."""

    def __init__(self, height: float):
        super().__init__(580, round(height))

    def text(
        self, x: float, y: float, text: object, anchor: str = "start", fill: str = INK,
        size: float = 16.0, bold: bool = False, **more: object,
    ) -> None:  # fmt: skip
        """Smaller where it would run out of the picture on the right."""
        fits = (580 - x) / ((0.6 if bold else 0.54) * max(len(str(text)), 1)) if anchor == "start" else size
        super().text(x, y, text, min(size, fits), anchor, fill, bold, **more)

    def view(self, description: str) -> View:
        view = super().view(description)
        return replace(view, svg=view.svg.replace("max-width: 100%;", "max-width: 100%; height: auto;", 1))


def _short(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else in_xml(value)


def in_xml(text: object) -> str:
    """Text as it stands in XML; what XML cannot hold at all, as control characters, becomes the replacement sign."""
    return escape(NOT_XML.sub(REPLACEMENT, str(text)))


def cut(text: str, signs: int) -> str:
    """The text, or where it is longer than `signs` its beginning and "…"."""
    return text if len(text) <= signs else text[: signs - 1] + "…"


def two_decimals(value: float) -> str:
    """A number with two decimals; what rounds to 0 has no sign."""
    return f"{round(float(value), 2) + 0.0:.2f}"


def lay_out(words: Sequence[str]) -> tuple[list[float], float]:
    """Middles (n,) of words in a row across a canvas of 960 pixels, and the size of the letters with which they fit."""
    letters = np.array([max(len(word), 3) for word in words])
    widths = (letters + 2.0) * 940 / (letters + 2.0).sum()
    return (np.cumsum(widths) - widths / 2 + 10).tolist(), float(min(17, 1.7 * (widths / (letters + 1.0)).min()))


def draw_arcs(canvas: Canvas, middle: Sequence[float], weights: np.ndarray, chosen: int) -> None:
    """From word number `chosen` an arc to each other word, as thick as its weight; middle, weights (n,)."""
    start, share = middle[chosen], weights / weights.max()
    for number, x in enumerate(middle):
        if weights[number] > 0.005 and number != chosen:
            rise = 160 - 1.3 * min(115, 24 + 0.38 * abs(x - start))
            path = f"M{start:.1f} 160 C{start:.1f} {rise:.1f} {x:.1f} {rise:.1f} {x:.1f} 160"
            width, opacity = float(1 + 24 * weights[number]), f"{0.3 + 0.6 * share[number]:.2f}"
            canvas.add("path", d=path, fill="none", stroke=BLUE, stroke_width=width, opacity=opacity)


def verdict(question: str, right: bool | None, lines: Sequence[str]) -> View:
    """A sentence that is right (True), wrong (False) or open (None), and lines of text that say why."""
    sign, colour = {True: ("✔", GREEN), False: ("✘", RED), None: ("○", GREY)}[right]
    canvas = Canvas(760, 60 + 24 * len(lines))
    canvas.rect(1, 1, 8, 58 + 24 * len(lines), colour)
    canvas.text(26, 30, f"{sign}  {question}", 16, "start", colour, bold=True)
    for number, line in enumerate(lines):
        canvas.text(26, 58 + 24 * number, line, 15, "start")
    return canvas.view(f"{sign} {question} {' '.join(lines)}")
