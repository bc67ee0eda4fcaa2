"""What every view is drawn with: SVG text, a description in words beside it, drawn in about a millisecond."""

import base64
import io
import json
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from PIL import Image

from ..style import ROLES, STYLE, image_html, in_frame, letters_on

MONOSPACE = "Menlo, Consolas, monospace"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
MOTION = (  # what is new comes from where it was, or fades in; not for those who asked for less of it
    "@keyframes ac-fly{from{transform:translate(var(--x),var(--y))}}@keyframes ac-in{from{opacity:0}}"
    "@media(prefers-reduced-motion:no-preference){"
    ".ac .fly{animation:ac-fly .7s ease-in-out backwards}.ac .in{animation:ac-in .5s backwards}}"
)

HANDLES = ".ac .handle{display:none}"  # picture.css shows them where they can be dragged


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
    """Collects the shapes of one view. Coordinates are pixels from the top left corner, colours are roles of the style
    by name: "query", "here", "ink"."""

    scale = 1.0  # pixels of the page for one of the canvas

    def __init__(self, width: int, height: int):
        self.width, self.height, self.shapes = width, height, []
        self.moves = self.handles = False

    def add(self, tag: str, text: object = None, **attributes: object) -> None:
        """One SVG element; `stroke_width=2` becomes stroke-width="2", numbers are rounded to a tenth of a pixel."""
        for paint in ("fill", "stroke"):
            if attributes.get(paint) in ROLES:
                attributes[paint] = f"var(--{attributes[paint]})"
        written = " ".join(f'{name.replace("_", "-")}="{_short(value)}"' for name, value in attributes.items())
        self.shapes.append(f"<{tag} {written}/>" if text is None else f"<{tag} {written}>{in_xml(text)}</{tag}>")

    def text(
        self, x: float, y: float, text: object,
        size: float = 14, anchor: str = "middle", fill: str = "ink", bold: bool = False, **more: object,
    ) -> None:  # fmt: skip
        weight = {"font_weight": "bold"} if bold else {}
        self.add("text", text, x=x, y=y, font_size=size, text_anchor=anchor, fill=fill, **weight, **more)

    def words(self, x: float, y: float, words: Sequence[tuple[str, str, dict]], size: float = 12.5) -> None:
        """Words on one line, each with its role and further attributes: set by the browser, which knows their width."""
        self.add("text", x=x, y=y, font_size=size, text_anchor="start")
        start = self.shapes.pop().removesuffix("/>") + ">"
        outer, self.shapes = self.shapes, []
        for word, role, more in words:
            self.add("tspan", word, fill=role, **more)
        self.shapes = [*outer, start + " ".join(self.shapes) + "</text>"]

    def line(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str = "quiet", stroke_width: float = 1, **more: object
    ) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, stroke_width=stroke_width, **more)

    def rect(self, x: float, y: float, width: float, height: float, fill: str = "none", **more: object) -> None:
        self.add("rect", x=x, y=y, width=max(0, width), height=max(0, height), fill=fill, **more)

    def arrow(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str, stroke_width: float = 3, head: float = 12,
        **more: object,
    ) -> None:  # fmt: skip
        """A line with a head at its end, `head` pixels long and wide."""
        length = math.hypot(x2 - x1, y2 - y1)
        if length < 1:
            return
        dx, dy, head = (x2 - x1) / length, (y2 - y1) / length, min(head, length)
        neck_x, neck_y = x2 - head * dx, y2 - head * dy
        self.line(x1, y1, neck_x, neck_y, stroke, stroke_width, **more)
        side_x, side_y = head * dy / 2, head * dx / 2
        corners = (x2, y2), (neck_x - side_x, neck_y + side_y), (neck_x + side_x, neck_y - side_y)
        self.add("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in corners), fill=stroke)

    def frame(self, x: float, y: float, width: float, height: float, rx: float = 3) -> None:
        """A frame that stands out from cells of any colour: a line in ink within a line in the colour of the page."""
        for stroke, thick in (("ground", 5), ("ink", 2)):
            self.rect(x, y, width, height, stroke=stroke, stroke_width=thick, rx=rx)

    def shade(
        self, x: float, y: float, width: float, height: float, role: str, share: float, edge: str = "edge"
    ) -> str:
        """A cell of which so much, from 0 to 1, is in the colour of the role; returns the role of letters on it."""
        self.rect(x, y, width, height, role, fill_opacity=f"{share:.2f}", stroke=edge)
        return letters_on(role, round(share, 2))

    def cell(
        self, x: float, y: float, width: float, height: float, value: float, limit: float, role: str = "weight",
        size: float = 12.5,
    ) -> None:  # fmt: skip
        """A number as a coloured cell, `limit` being the deepest colour, and as text in it; where it can be negative,
        the role is "signed"."""
        share = abs(value) / limit if limit else 0.0
        role = ("negative" if value < 0 else "data") if role == "signed" else role
        letters = self.shade(x, y, width, height, role, share)
        self.text(x + width / 2, y + height / 2 + 4.5, two_decimals(value), size, fill=letters)

    def glide(self, x: float, y: float, late: float = 0) -> dict[str, str]:
        """Attributes of a shape that comes from so many pixels away, after so many seconds."""
        self.moves = True
        return {"class": "fly", "style": f"--x:{x:.0f}px;--y:{y:.0f}px;animation-delay:{late:.2f}s"}

    def appear(self, late: float = 0) -> dict[str, str]:
        """Attributes of a shape that fades in, after so many seconds."""
        self.moves = True
        return {"class": "in", "style": f"animation-delay:{late:.2f}s"}

    def touch(
        self, x: float, y: float, width: float, height: float, /, name: str,
        group: str = "", on: bool | None = None, paint: bool = False, swap: tuple[str, int, int] | None = None,
        **values: object,
    ) -> None:  # fmt: skip
        """A rectangle that gives controls these `values` when it is chosen: drawn last, over what it belongs to.

        name: what a screen reader says. group: shapes that are one stop of the tab key, those that set the same
        controls if not given. on: whether it is chosen now. paint: a finger may run over several. swap: (beginning of
        the names of controls, which of them, its value): dropped on another one, the two exchange their values."""
        said = {"data_set": json.dumps(values)} if values else {}
        said |= {"data_name": name, "data_group": group or " ".join(values)}
        said |= {} if on is None else {"data_on": str(bool(on)).lower()}
        said |= {"data_paint": ""} if paint else {}
        said |= {"data_drag": json.dumps(dict(zip(("swap", "at", "is"), swap)))} if swap else {}
        self.rect(x, y, width, height, pointer_events="all", **said)

    def handle(
        self, x: float, y: float, /, name: str, value: str, role: str = "here", radius: float = 10, **drag: object
    ) -> None:
        """A ring that is dragged, seen only where it can be. `drag`: which way it leads, as picture.js says: x or
        y=(control, where it is 0, pixels for 1), or polar=(control of an angle, of a length), at=(x, y), scale=pixels.
        value: what a screen reader says of it; it begins with a number."""
        ring = {"fill_opacity": "0.25", "stroke": role, "stroke_width": 2, "class": "handle"}
        self.add("circle", cx=x, cy=y, r=radius, fill=role, **ring, **dragged(name, value, drag))
        self.handles = True

    def hint(self, x: float, y: float, text: str, anchor: str = "start", kernel: bool = False) -> None:
        """What can be touched, in words: shown only where it can be. kernel: not on pages, which cannot do that."""
        self.text(x, y, text, 12, anchor, "quiet", **{"class": "handle in-kernel" if kernel else "handle"})
        self.handles = True

    def grip(self, x: float, y: float, width: float, height: float, /, name: str, value: str, **drag: object) -> None:
        """A rectangle that is dragged as a `handle` is: over what is drawn there."""
        self.rect(x, y, width, height, pointer_events="all", **dragged(name, value, drag))

    def pixels(self, x: float, y: float, width: float, height: float, colours: np.ndarray, **more: object) -> None:
        """A table of colours (r, c, 3), from 0 to 1, as one image: a tenth of the size of a square for each."""
        picture = io.BytesIO()
        Image.fromarray((255 * colours).round().astype(np.uint8)).save(picture, format="png")
        data = f"data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}"
        shown = {"preserveAspectRatio": "none", "style": "image-rendering: pixelated"}
        self.add("image", x=x, y=y, width=width, height=height, href=data, **shown, **more)

    def view(self, description: str) -> View:
        """The finished picture. Its size is fixed, so that nothing below it moves when it is drawn again."""
        description = NOT_XML.sub(REPLACEMENT, description)
        style = STYLE + MOTION * self.moves + HANDLES * self.handles
        svg = in_frame("".join(self.shapes), self.width, self.height, description, self.scale, style)
        return View(svg, description)


class Phone(Canvas):
    """A canvas as wide as a phone, where its letters, 11 pixels or more, keep their size; elsewhere it is larger."""

    scale = 1.5

    def __init__(self, height: float):
        super().__init__(356, round(height))

    def prose(self, x: float, y: float, text: str, size: float = 12.5, width: float = 348, **more: object) -> float:
        """Text in as many lines as it needs; returns where the next one would be."""
        for line in textwrap.wrap(text, int((width - x) / ((0.63 if more.get("bold") else 0.56) * size))):
            self.text(x, y, line, size, "start", **more)
            y += 1.4 * size
        return y


def dragged(name: str, value: str, way: Mapping[str, object]) -> dict[str, str]:
    """Attributes of a shape that is dragged; it is a stop of the tab key by itself."""
    return {"data_drag": json.dumps(way), "data_name": name, "data_value": value, "data_group": name}


def _short(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else in_xml(value)


def in_xml(text: object) -> str:
    """Text as it is in XML; what XML cannot hold at all, as control characters, becomes the replacement character."""
    return escape(NOT_XML.sub(REPLACEMENT, str(text)))


def cut(text: str, signs: int) -> str:
    """The text, or where it is longer than `signs` its beginning and "…"."""
    return text if len(text) <= signs else text[: signs - 1] + "…"


LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def indexed(letter: str, number: int) -> str:
    """A letter with a number below it: s₁."""
    return f"{letter}{number}".translate(LOW)


def two_decimals(value: float) -> str:
    """A number with two decimals; what rounds to 0 has no sign."""
    return f"{round(float(value), 2) + 0.0:.2f}"


ARCS, WORDS, BARS = 66, 76, 190  # where arcs, words and bars begin, in `draw_attending`


def draw_attending(
    canvas: Phone, top: float, words: Sequence[str], weights: np.ndarray, chosen: int, pitch: float
) -> None:
    """Words one below the other, from word number `chosen` an arc to each other word, as thick as its weight, and the
    weights (n,) as bars. A click on a word sets the control `chosen`."""
    most, y_of = weights.max(), [top + pitch * (number + 0.5) for number in range(len(words))]
    for y, weight in zip(y_of, weights.tolist()):
        if weight > 0.005 and y != y_of[chosen]:
            bulge = ARCS - min(62, 16 + 0.42 * abs(y - y_of[chosen])) * 1.3
            path = f"M{ARCS} {y_of[chosen]:.1f} C{bulge:.1f} {y_of[chosen]:.1f} {bulge:.1f} {y:.1f} {ARCS} {y:.1f}"
            shown = {"stroke_width": float(1 + 12 * weight), "opacity": f"{0.3 + 0.6 * weight / most:.2f}"}
            canvas.add("path", d=path, fill="none", stroke="weight", **shown)
    for number, (y, word, weight) in enumerate(zip(y_of, words, weights.tolist())):
        here, signs = number == chosen, 14
        canvas.text(WORDS, y + 5, cut(word, signs), 13, "start", "here" if here else "ink", here)
        canvas.rect(BARS, y - 6, 84 * weight / most, 12, "weight", data_id=f"bar {number}")
        canvas.text(BARS + 90 * weight / most + 4, y + 4.5, f"{weight:.0%}", 12, "start", bold=weight == most)
    for number, (y, word) in enumerate(zip(y_of, words)):
        canvas.touch(0, y - pitch / 2, 330, pitch, f"{number + 1}, {word}", on=number == chosen, chosen=number)


def draw_heads(canvas: Phone, top: float, layers: int, heads: int, layer: int, head: int) -> float:
    """A row for each layer with a cell for each head, counted from 1, the chosen one framed; a click sets the controls
    `layer` and `head`. Returns where the next thing can be drawn."""
    wide, left = min(40.0, 288 / heads), 62
    for row in range(1, layers + 1):
        y = top + 25 * (row - 1)
        canvas.text(8, y + 17, f"layer {row}", 12, "start", "ink" if row == layer else "quiet", row == layer)
        for column in range(1, heads + 1):
            x, here = left + wide * (column - 1), (row, column) == (layer, head)
            canvas.rect(
                x + 1,
                y + 1,
                wide - 2,
                23,
                "raised",
                stroke="here" if here else "edge",
                stroke_width=2.5 if here else 1,
                rx=4,
            )
            canvas.text(x + wide / 2, y + 17, column, 12, fill="ink" if here else "quiet", bold=here)
            canvas.touch(x, y, wide, 25, f"layer {row}, head {column}", group="heads", on=here, layer=row, head=column)
    return top + 25 * layers


def verdict(question: str, right: bool | None, lines: Sequence[str], height: float = 0) -> View:
    """A sentence that is right (True), wrong (False) or open (None), and lines of text that say why; as high as what
    it stands for, where that is higher."""
    sign, role = {True: ("✔", "right"), False: ("✘", "wrong"), None: ("○", "quiet")}[right]
    canvas = Phone(0)
    y = canvas.prose(16, 24, f"{sign} {question}", 14, fill=role, bold=True)
    for line in lines:
        y = canvas.prose(16, y + 4, line, 13)
    canvas.height = round(max(y, height))
    canvas.rect(1, 1, 6, canvas.height - 2, role)
    return canvas.view(f"{sign} {question} {' '.join(lines)}")
