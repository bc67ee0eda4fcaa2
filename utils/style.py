"""What every picture of the course shares: colours, letters, and a figure that carries its description in words."""

import base64
import functools
import html
import io
import re
import textwrap
from collections.abc import Mapping, Sequence

import matplotlib.axes
import matplotlib.figure
import numpy as np
from matplotlib import rc_context
from matplotlib.colors import LinearSegmentedColormap, to_rgb

# What a colour means, the same in the whole course: role: (on a light page, on a dark one). Letters in a role are read
# on `ground` and on `raised`, and roles that meet are told apart by colour-blind eyes. The last four are letters on a
# coloured cell, black or white on light and on dark pages, so little off that they are told from the others.
ROLES = {
    "ground": ("#ffffff", "#16191d"), "raised": ("#f1f3f5", "#242a31"), "edge": ("#c9cfd6", "#48515c"),
    "ink": ("#1b1f24", "#e8ebee"), "quiet": ("#515962", "#a9b3be"), "here": ("#c14600", "#ff9c6b"),
    "query": ("#0064a0", "#74bdf0"), "key": ("#8f5600", "#f0ac4e"), "value": ("#00704f", "#55cda6"),
    "weight": ("#6e3f86", "#cfa9e0"), "right": ("#2f6b12", "#93d072"), "wrong": ("#b3261e", "#ff8f85"),
    "data": ("#46607e", "#aac3e2"), "negative": ("#9c4a00", "#f5a56b"),
    "dark-bright": ("#000001", "#fffffe"), "bright-dark": ("#fffffd", "#000002"),
    "dark-dark": ("#000003", "#000003"), "bright-bright": ("#fffffc", "#fffffc"),
}  # fmt: skip
LIGHT = {role: light for role, (light, _) in ROLES.items()}  # for Matplotlib, whose pictures get the roles when stored
# Of curves, in order: none that means a query, a key, a value or a weight, since a curve is of numbers of any kind.
CURVES = ("data", "negative", "ink", "quiet")
COLOURS = tuple(LIGHT[role] for role in CURVES)
# One style in each picture, in force for its own shapes alone. A browser without light-dark() shows the light one.
STYLE = (
    f".ac{{{';'.join(f'--{role}:{light}' for role, (light, _) in ROLES.items())}}}"
    "@supports(color:light-dark(red,red)){.ac{"
    f"{';'.join(f'--{role}:light-dark({light},{dark})' for role, (light, dark) in ROLES.items() if light != dark)}}}}}"
    "svg:root{color-scheme:light dark}"  # as an image: what the page around it has, else what the reader prefers
    "[data-jp-theme-light=false] .ac,[theme=dark] .ac,.vscode-dark .ac{color-scheme:dark}"  # JupyterLab, Colab, VS Code
)
# For pictures of many weights, without letters: purple over the page's ground, between what it is on light and on dark.
WEIGHTS = LinearSegmentedColormap.from_list("weights", ["#9B6CB300", "#9B6CB3FF"])
# For pictures of many numbers, whose cells are too small for letters: negative … positive, dark to light, so that the
# sign is there in grey, too; and ink on paper, what is hidden in orange. They are as they are on a dark page, too.
WAVES = LinearSegmentedColormap.from_list("waves", ["#003A66", "#0072B2", "#8CC0E0", "#FFF3D0"])
INK = LinearSegmentedColormap.from_list("ink", ["#FFFFFF", "#000000"]).with_extremes(bad="#F6CF94")
AS_TABLE = "The picture as a table"
WIDE = 356  # pixels, those of a phone: no picture is wider whose content lets it, and a phone shows its letters whole
LARGER = 1.5  # where there is more room, a picture is so many times as large
# The style of the course, for its own figures only: a learner's keep theirs. Used as a decorator.
in_style = rc_context(
    {
        "font.size": 12, "axes.titlesize": 12, "axes.labelsize": 12, "xtick.labelsize": 11, "ytick.labelsize": 11,
        "figure.titlesize": 13, "axes.titlelocation": "left",
        "axes.spines.top": False, "axes.spines.right": False, "lines.linewidth": 2,
        "axes.edgecolor": LIGHT["quiet"], "grid.color": LIGHT["edge"], "axes.axisbelow": True, "legend.frameon": False,
        "text.color": LIGHT["ink"], "axes.labelcolor": LIGHT["ink"], "axes.titlecolor": LIGHT["ink"],
        "xtick.color": LIGHT["ink"], "ytick.color": LIGHT["ink"],
        "text.parse_math": False,  # a word may hold "$"
        "svg.fonttype": "none", "svg.hashsalt": "course",  # letters stay letters, and names the same every time
    }
)  # fmt: skip


class Figure(matplotlib.figure.Figure):
    """A matplotlib figure that says what it shows: `description` is its text and its alternative text, `table` the
    HTML of its numbers behind a fold, where it is a map of numbers."""

    description = "a figure without a description"
    table = ""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        picture = self.svg()
        shown = image_html("image/svg+xml", picture.encode(), self.description) + self.table
        return {"text/html": shown, "image/svg+xml": picture, "text/plain": self.description}

    @in_style  # some texts, as those of the ticks, are made only when the figure is drawn
    def svg(self) -> str:
        """The picture with roles for colours, and letters that are letters, in the fonts of the reader."""
        raw = io.StringIO()
        self.savefig(raw, format="svg", metadata={"Date": None})
        drawn = re.search(r"</metadata>(.*)</svg>", raw.getvalue(), re.DOTALL)[1]
        drawn = re.sub(r"<defs>\s*<style.*?</defs>", "", drawn, count=1, flags=re.DOTALL)  # for all of a page
        drawn = re.sub("#[0-9a-f]{6}", lambda found: VARIABLES.get(found[0], found[0]), drawn)
        drawn = re.sub(r"(font-size|font): (\d+)px[^;\"]*;?( font-family:[^;\"]*;?)?", r"font-size: \2px;", drawn)
        drawn = re.sub(r"-?\d+\.\d\d+(?=[\s\",)])", lambda found: shortened(float(found[0])), drawn)
        width, height = self.get_size_inches() * self.dpi
        drawn = re.sub(r' transform="rotate\(-?0 [^"]*"|(?<=<g) id="[^"]*_\d+"|<g id="[^"]*"/>', "", drawn)
        drawn = re.sub(r"<g/>", "", re.sub(r"\s+", " ", drawn)).replace("> <", "><")
        return in_frame(f'<g stroke-linejoin="round">{drawn}</g>', width, height, self.description, LARGER)


def shortened(number: float) -> str:
    """A place in a picture to a tenth of a pixel, a scale below 1 in three digits."""
    return f"{number:.1f}".removesuffix(".0") if abs(number) >= 1 else f"{number:.3g}"


VARIABLES = {light: f"var(--{role})" for role, light in LIGHT.items()}


def in_frame(shapes: str, width: float, height: float, description: str, scale: float = 1, style: str = STYLE) -> str:
    """Shapes as an SVG picture in the course's style, `scale` times as large, smaller where there is less room."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="ac" '
        f'width="{round(scale * width)}" height="{round(scale * height)}" viewBox="0 0 {width:g} {height:g}" '
        f'font-family="Helvetica, Arial, sans-serif" role="img" aria-label="{html.escape(description)}" '
        f'style="max-width: 100%; height: auto"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="var(--ground)"/>{shapes}</svg>'
    )


def image_html(kind: str, data: bytes, description: str) -> str:
    """A picture of the MIME type `kind` as an image that carries its alternative text. In this form JupyterLab,
    nbconvert and MyST-NB pass the text on, and JupyterLab shows the picture in a notebook that is not trusted, too."""
    return f'<img alt="{html.escape(description)}" src="data:{kind};base64,{base64.b64encode(data).decode()}">'


def folded_tables(tables: Mapping[str, tuple[Sequence, Sequence, Sequence[Sequence]]]) -> str:
    """HTML in one line: tables behind a fold; `tables` maps a title to (names of rows, names of columns, entries)."""

    def cells(values: Sequence, before: str = "<td>", after: str = "</td>") -> str:
        return "".join(f"{before}{html.escape(str(value))}{after}" for value in values)

    def head(names: Sequence, scope: str) -> str:
        return cells(names, f'<th scope="{scope}">', "</th>")

    made = ""
    for title, (rows, columns, table) in tables.items():
        body = "".join(f"<tr>{head([row], 'row')}{cells(values)}</tr>" for row, values in zip(rows, table, strict=True))
        made += f"<table>{cells([title], '<caption>', '</caption>')}"
        made += f"<thead><tr><td></td>{head(columns, 'col')}</tr></thead><tbody>{body}</tbody></table>"
    return made and f'<details class="numbers"><summary>{AS_TABLE}</summary>{made}</details>'


def luminance(colour: str | tuple) -> float:
    """Relative luminance of a colour, from 0, black, to 1, white (WCAG 2.2)."""
    channels = np.array(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def blend(colour: str | tuple, ground: str | tuple, share: float) -> tuple[float, ...]:
    """A colour of which so much, from 0 to 1, lies on a ground."""
    return tuple(share * above + (1 - share) * below for above, below in zip(to_rgb(colour), to_rgb(ground)))


@functools.cache
def letters_on(role: str, share: float = 1.0) -> str:
    """The role of letters on a cell in `role` of which so much, from 0 to 1, lies on the ground: black or white, in
    light and in dark whichever is easier to read. The contrast is 4.58 : 1 or more everywhere."""
    grounds = (blend(colour, ground, share) for colour, ground in zip(ROLES[role], ROLES["ground"]))
    return "-".join("dark" if luminance(ground) > 0.179 else "bright" for ground in grounds)


@in_style
def new_figure(
    width: float, height: float, title: str = "", rows: int = 1, columns: int = 1
) -> tuple[Figure, np.ndarray]:
    """A figure of `width` by `height` pixels and its axes (rows, columns). The title takes as many lines as it needs,
    and the height they need comes on top."""
    wrapped = wrap(title, width)
    height += 17 * (wrapped.count("\n") + 1) if title else 0
    figure = Figure(figsize=(width / 72, height / 72), dpi=72, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.04, h_pad=0.05)
    if title:
        figure.suptitle(wrapped, x=3 / width, ha="left", linespacing=1.2)
    return figure, figure.subplots(rows, columns, squeeze=False)


def wrap(text: str, width: float, size: float = 13) -> str:
    """Text in as few lines as it needs if none is wider than so many pixels (unless a word is), all about as long."""
    whole, most = {"break_long_words": False, "break_on_hyphens": False}, max(1, int(width / (0.6 * size)))
    lines = {signs: textwrap.wrap(text, signs, **whole) for signs in range(1, most + 1)}
    return "\n".join(next(found for found in lines.values() if len(found) <= len(lines[most])))
