"""What every picture of the course shares: colours, letters, and a figure that carries its description in words."""

import base64
import html
import io
from collections.abc import Mapping, Sequence

import matplotlib.axes
import matplotlib.figure
import numpy as np
from matplotlib import rc_context
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, to_rgb
from PIL import Image

# Told apart by colour-blind eyes, and read as text on white, but for ORANGE, which has a darker sister for that.
BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#D98200", "#00785A", "#C14600", "#5F6670"
DARK_ORANGE, PURPLE = "#965A00", "#8A5A9E"
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, GREY)
WEIGHTS = LinearSegmentedColormap.from_list("weights", ["#FFFFFF", "#8CC0E0", BLUE, "#003A66"])  # 0 … large
# negative, 0, positive: as deep on either side, so in grey a cell shows the size, and the number in it the sign
SIGNED = LinearSegmentedColormap.from_list("signed", [RED, "#F3B08A", "#FFFFFF", "#8CC0E0", BLUE])
YES_NO = ListedColormap(["#FFFFFF", "#5A9FCB", RED])  # no, yes, and a yes where there must be none
# negative … positive for pictures without numbers: dark to light, so that the sign is there in grey, too
WAVES = LinearSegmentedColormap.from_list("waves", ["#003A66", BLUE, "#8CC0E0", "#FFF3D0"])
INK = LinearSegmentedColormap.from_list("ink", ["#FFFFFF", "#000000"]).with_extremes(bad="#F6CF94")  # hidden: orange
AS_TABLE = "The picture as a table"
# The style of the course, for its own figures only: a learner's keep theirs. Used as a decorator.
in_style = rc_context(
    {
        "font.size": 13, "axes.titlesize": 14, "axes.labelsize": 13, "xtick.labelsize": 12, "ytick.labelsize": 12,
        "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY,
        "axes.axisbelow": True, "grid.color": "#DDDDDD", "legend.frameon": False, "lines.linewidth": 2,
        "text.parse_math": False,  # a word may hold "$"
    }
)  # fmt: skip


class Figure(matplotlib.figure.Figure):
    """A matplotlib figure that says what it shows: `description` is its text and its alternative text, `table` the
    HTML of its numbers behind a fold, where it is a map of numbers."""

    description = "a figure without a description"
    table = ""

    @in_style  # some texts, as those of the ticks, are made only when the figure is drawn
    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        picture = self.png()
        shown = image_html("image/png", picture, self.description) + self.table
        data = {"text/html": shown, "image/png": picture, "text/plain": self.description}
        return data, {"image/png": {"alt": self.description}}

    def png(self) -> bytes:
        """The picture in 256 colours, which looks the same and takes a third of the space in a stored notebook."""
        raw, small = io.BytesIO(), io.BytesIO()
        self.savefig(raw, format="png")
        picture = Image.open(raw).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        picture.save(small, format="png", optimize=True, dpi=(self.dpi, self.dpi))
        return small.getvalue()


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


def ink_on(ground: str | tuple) -> str:
    """Black or white, whichever is easier to read on this colour: the contrast is 4.58 : 1 or more everywhere."""
    return "black" if luminance(ground) > 0.179 else "white"


@in_style
def new_figure(width: float, height: float, columns: int = 1) -> tuple[Figure, matplotlib.axes.Axes | np.ndarray]:
    """A figure of `width` by `height` inches at 72 dots per inch, and its axes (an array of them if columns > 1)."""
    figure = Figure(figsize=(width, height), dpi=72, layout="constrained")
    return figure, figure.subplots(1, columns)
