"""Static figures: data in, figure out, and with it a description in words computed from the same data.

Every function returns a `Figure` whose `description` says what there is to see. Jupyter shows the picture, a screen
reader speaks the description, and the tests compare it, so a picture that changes does not go unnoticed."""

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Rectangle
from matplotlib.text import Annotation
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from . import style
from .checks import require_list
from .style import COLOURS, INK, LIGHT, WAVES, WEIGHTS, Figure, in_style, letters_on, new_figure

Named = Mapping[str, ArrayLike]  # numbers of several things, each with its name
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_CELLS = 600  # of a picture without numbers that is told as a table, too
UNDER = {False: {"ha": "center"}, True: {"ha": "right", "va": "center", "rotation_mode": "anchor"}}
SLANTED = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}  # names under columns that are too narrow for them
GREY = (LIGHT["quiet"], 0.68)  # of bars beside those that matter: 3 : 1 against the ground or more, light and dark
NOISE = 1e-9  # a smaller number may be what rounding leaves, so it differs from processor to processor


@in_style
def heat_map(
    values: ArrayLike, rows: Sequence, columns: Sequence, title: str = "", kind: str = "attention weights",
    *, signed: bool = False, decimals: int = 2, axis: str = "", side: str = "",
    marks: Iterable[tuple[int, int]] = (),
) -> Figure:  # fmt: skip
    """Numbers (r, c) as colours, with the words of the rows and columns on the axes and the number in each cell.

    `kind` says what the numbers are, `axis` what the columns are, `side` what the rows are. `signed`: they are of both
    signs. `marks`: cells (row, column) to be framed."""
    values, rows, columns = as_numbers(values, 2), [str(row) for row in rows], [str(column) for column in columns]
    if values.shape != (len(rows), len(columns)):
        raise ValueError(
            f"values {values.shape} need as many labels, not {len(rows)} of rows, {len(columns)} of columns"
        )
    table = rounded(values, decimals)
    cell = max(26, 6 + 6.2 * max(len(number) for row in table for number in row))  # pixels
    slanted = 6.6 * max(map(len, columns)) > cell - 4
    width = min(style.WIDE, 60 + 7 * max(map(len, rows)) + cell * len(columns))
    high = 62 + 27 * len(rows) + 16 * bool(axis) + slanted * 5 * max(map(len, columns))
    figure, [[axes]] = new_figure(max(width, 210), high, title)
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xticks(range(len(columns)), columns, **SLANTED if slanted else {})
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.set(xlabel=axis, ylabel=side)
    axes.set_title(kind, color=LIGHT["quiet"])
    shares, role = abs(values) / (abs(values).max() or 1.0), "weight" if kind == "attention weights" else "data"
    for (row, column), share in np.ndenumerate(shares.round(2)):
        own = "negative" if values[row, column] < 0 else role
        shade(axes, row, column, own, share)
        written = {"color": LIGHT[letters_on(own, share)], "ha": "center", "va": "center", "size": 11}
        axes.text(column, row, table[row][column], **written)
    for row, column in marks:
        frame(axes, row, column)
    figure.description = describe_heat_map(values, rows, columns, kind, decimals)
    figure.table = style.folded_tables({title or kind: (rows, columns, table)})
    if marks:
        framed = ", ".join(f"{rows[row]} → {columns[column]}" for row, column in sorted(marks))
        figure.description += f" Framed: {framed}."
    return figure


def shade(axes: Axes, row: int, column: int, role: str, share: float) -> None:
    """A cell of which so much, from 0 to 1, is in the colour of the role."""
    colours = {"facecolor": (LIGHT[role], float(share)), "edgecolor": LIGHT["edge"], "linewidth": 0.6}
    axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, clip_on=False, **colours))


def frame(axes: Axes, row: int, column: int) -> None:
    """A frame that stands out from cells of any colour: a line in ink within a line in the colour of the page."""
    for role, thick in (("ground", 5), ("ink", 2)):
        place = (column - 0.45, row - 0.43), 0.9, 0.86
        axes.add_patch(Rectangle(*place, fill=False, edgecolor=LIGHT[role], linewidth=thick))


def rounded(values: np.ndarray, decimals: int) -> list[list[str]]:
    """Numbers (r, c) as text; what rounds to 0 has no sign."""
    return [[f"{round(value, decimals) + 0.0:.{decimals}f}" for value in row] for row in values.tolist()]


def describe_heat_map(values: np.ndarray, rows: list[str], columns: list[str], kind: str, decimals: int) -> str:
    """The largest number of each row in words; where that is the diagonal everywhere, the largest beside it."""
    said = [f"Heat map of {kind}, {len(rows)} x {len(columns)}."]
    if values.min() >= 0 and np.allclose(values.sum(-1), 1, atol=1e-4):
        said.append("Every row sums to 1.")
    where = "Largest in each row"
    peaks = [largest(line)[0] for line in values]
    if rows == columns and peaks == list(range(len(rows))):
        values, where = np.where(np.eye(len(rows)) > 0, -np.inf, values), "Largest is the diagonal; beside it"
        peaks = [largest(line)[0] for line in values]
    named = [f"{row} → {columns[k]} {line[k]:.{decimals}f}" for row, line, k in zip(rows, values, peaks)]
    return " ".join([*said, f"{where}: {', '.join(named)}."])


@in_style
def lines(
    x: Sequence, series: Named, title: str = "", x_label: str = "", y_label: str = "", log: bool | str = False,
    *, levels: Mapping[str, float] | None = None, bands: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    spread: str = "seeds", message: Iterable[str] = (), inside: bool = False,
) -> Figure:  # fmt: skip
    """Curves over x (n,), numbers or names; `series` maps the name of a curve, which is at its end, to its numbers
    (n,). What is not on a scale of powers begins at 0.

    log: True for both axes in powers of two, "x" for the horizontal one alone, "y" for the vertical one in powers of
    ten. levels: {name: number}, dashed lines across, as that of a guess. bands: {name of a curve: (smallest (n,),
    largest (n,))}, over what `spread` says, as five seeds. message: the names of the curves that matter; the others are
    grey. inside: names of levels are at the left ends of their lines, not to the right of them."""
    require_list(message=message)
    levels, bands, message = levels or {}, bands or {}, set(message)
    curves = {name: as_numbers(values, 1) for name, values in series.items()}
    if unknown := {*bands, *message} - set(curves):
        raise ValueError(f"no curve is named {sorted(unknown)}: they are {list(curves)}")
    grey = set(curves) - message if message else set()
    colours = {
        name: LIGHT["quiet"] if name in grey else colour for name, colour in zip(curves, itertools.cycle(COLOURS))
    }
    names = [value if isinstance(value, str) else in_digits(value) for value in x]
    places = np.arange(len(x)) if isinstance(x[0], str) else np.asarray(x, dtype=float)
    ends = {name: (values[-1], colours[name]) for name, values in curves.items()}
    ends |= {} if inside else {name: (level, LIGHT["quiet"]) for name, level in levels.items()}
    labels = [style.wrap(name, 118, 12) for name in ends]
    tall = max(150, sum(16 + 14 * label.count("\n") for label in labels))
    figure, [[axes]] = new_figure(style.WIDE, 80 + tall, title)
    draw_curves(axes, places, curves, colours, grey)
    for name, (low, high) in bands.items():
        axes.fill_between(places, as_numbers(low, 1), as_numbers(high, 1), color=colours[name], alpha=0.3, linewidth=0)
    for level in levels.values():
        axes.axhline(level, color=LIGHT["quiet"], linewidth=1.3, linestyle=(0, (4, 3)))
    set_scales(axes, log)
    axes.set(xlabel=x_label)
    named = f"{y_label} (band: {spread})" if bands else y_label
    axes.set_title(style.wrap(named, style.WIDE - 50, 12), color=LIGHT["quiet"])
    write_ticks(axes, places, names)
    name_ends(axes, labels, [(places[-1], value) for value, _ in ends.values()], [c for _, c in ends.values()])
    if inside:
        name_levels(axes, levels, places, curves.values())
    figure.description = f"Curves of {y_label} over {x_label}. {describe_curves(names, curves, levels, bands)}."
    figure.description += f" In brackets: {spread}." if bands else ""
    table = [[in_words(value) for value in values] for values in curves.values()]
    figure.table = style.folded_tables({title or y_label: (list(curves), names, table)})
    return figure


def draw_curves(axes: Axes, x: np.ndarray, curves: Named, colours: Mapping[str, str], grey: set[str]) -> None:
    """The curves of `lines`, each thinner than the one before, so that one which lies upon another does not hide it;
    thinnest and below all others those in grey. Where colours begin anew, lines have gaps."""
    for number, (name, values) in enumerate(curves.items()):
        thick = 1.4 if name in grey else max(1.6, 2.8 - 0.5 * number)
        dots = {"marker": "osD^v"[number % 5], "markersize": 2.5 * thick if len(x) < 16 else 0}
        gaps = "-" if number < len(COLOURS) or name in grey else (0, (9, 2))
        axes.plot(
            x, values, color=colours[name], linewidth=thick, linestyle=gaps, zorder=2 if name in grey else 3, **dots
        )


def set_scales(axes: Axes, log: bool | str) -> None:
    """Scales of powers where they are asked for; any other begins at 0. Numbers are written on them in one way."""
    if log is True or log == "x":
        axes.set_xscale("log", base=2)
    if log is True or log == "y":
        base = 10 if log == "y" else 2
        axes.set_yscale("log", base=base)
        low, high = np.log(axes.get_ylim()) / np.log(base)
        step = np.ceil((high - low) / 7)
        axes.set_yticks(float(base) ** np.arange(np.ceil(low / step) * step, high, step))
    else:
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        low, high = axes.dataLim.intervaly
        low, high = min(low, 0), max(high, 0)
        axes.set_ylim(low - 0.05 * (high - low) * (low < 0), high + 0.05 * (high - low))
    low, high = axes.get_ylim()
    powers = log == "y" and (low < 1e-4 or high > 1e6)
    axes.yaxis.set_major_formatter(lambda value, _: power_of_ten(value) if powers else in_digits(value))
    axes.minorticks_off()
    axes.grid(True, axis="y")


def write_ticks(axes: Axes, places: np.ndarray, names: Sequence[str]) -> None:
    """Write at the places (n,) of the horizontal axis what is there: all, or every second, third … where it is full."""
    for step in range(1, len(names) + 1):
        axes.set_xticks(places[::step], names[::step])
        axes.figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
        if all(left.x1 + 6 < right.x0 for left, right in zip(boxes, boxes[1:])):
            return


def name_ends(axes: Axes, labels: Sequence[str], points: Sequence[tuple], colours: Sequence[str]) -> None:
    """Write each label to the right of its point, moved up or down where it would cover another, and then tied to it
    by a line. This settles the layout."""
    beside = {"textcoords": "offset pixels", "va": "center", "size": 12, "annotation_clip": False, "linespacing": 1.1}
    tie = {"arrowstyle": "-", "color": LIGHT["quiet"], "linewidth": 0.8, "shrinkA": 1, "shrinkB": 6, "relpos": (0, 0.5)}
    written = [
        axes.annotate(label, point, (20, 0), color=colour, arrowprops=tie, **beside)
        for label, point, colour in zip(labels, points, colours)
    ]
    axes.figure.draw_without_rendering()
    axes.figure.set_layout_engine("none")
    ends = axes.transData.transform(points)[:, 1]
    sizes = np.array([14.0 * (label.count("\n") + 1) for label in labels])
    for text, shift in zip(written, apart(ends, sizes, axes.bbox.y0, axes.bbox.y1) - ends):
        text.xyann = (20, shift)
        text.arrow_patch.set_visible(abs(shift) > 3)


def name_levels(axes: Axes, levels: Mapping[str, float], x: np.ndarray, curves: Iterable[np.ndarray]) -> None:
    """Write the name of each level at the left end of its line, above or below it: where curves over x (n,) and other
    levels leave more room."""
    curves = [*curves, *(np.full(len(x), level) for level in levels.values())]
    for name, level in levels.items():
        beside = {"textcoords": "offset points", "color": LIGHT["quiet"], "bbox": GROUND, "zorder": 2.5}
        text = axes.annotate(name, (0, level), (4, 4), xycoords=("axes fraction", "data"), **beside)
        box = text.get_window_extent()
        left, right = axes.transData.inverted().transform(box.get_points())[:, 0]
        under = np.linspace(max(left, x[0]), right, 50)
        heights = np.concatenate([np.interp(under, x, curve) for curve in curves])
        line, *others = axes.transData.transform([(x[0], height) for height in (level, *heights)])[:, 1]
        away = np.array(others) - line
        if away[away > 0.1].min(initial=np.inf) < -away[away < -0.1].max(initial=-np.inf):
            text.set(va="top", position=(4, -4))


def apart(wanted: np.ndarray, sizes: np.ndarray, low: float, high: float) -> np.ndarray:
    """Middles (n,) of labels of these sizes, as near to the wanted ones as can be if none covers another, from low up.

    Less what lies below it, the middle of a label may not fall from one to the next: the nearest such numbers, by the
    least squares, are those of isotonic regression (Robertson, Wright and Dykstra 1988, the min-max formula)."""
    order = np.argsort(wanted, kind="stable")
    below = np.cumsum(sizes[order]) - sizes[order] / 2
    free = wanted[order] - below
    n = len(free)
    rising = [max(min(free[i : j + 1].mean() for j in range(k, n)) for i in range(k + 1)) for k in range(n)]
    middles = np.empty(len(free))
    middles[order] = np.clip(rising, low, max(low, high - sizes.sum())) + below
    return middles


def describe_curves(names: Sequence[str], curves: Named, levels: Mapping[str, float], bands: Mapping) -> str:
    """Where each curve begins and ends, between which numbers its band lies there, and where the levels are."""
    said = []
    for name, values in curves.items():
        around = ["", ""]
        if name in bands:
            around = [f" ({in_words(low)} to {in_words(high)})" for low, high in zip(*bands[name])]
        first, last = (f"{in_words(values[end])} at {names[end]}{around[end]}" for end in (0, -1))
        said.append(f"{name}: from {first} to {last}")
    return ". ".join(said + [f"Dashed: {name}, {in_words(level)}" for name, level in levels.items()])


def in_digits(number: float) -> str:
    """A number as the axes say it: 1,024 and 0.001, no exponents."""
    return f"{number:,.12f}".rstrip("0").rstrip(".")


def power_of_ten(number: float) -> str:
    """10⁻¹⁵, 10⁵, and 1."""
    exponent = round(float(np.log10(number)))
    return f"10{str(exponent).translate(SUPERSCRIPTS)}" if exponent else "1"


@in_style
def word_map(
    points: ArrayLike, words: Sequence[str], title: str = "", arrows: bool = False,
    labels: tuple[str, str] = ("first component", "second component"),
) -> Figure:  # fmt: skip
    """Words as points (n, 2) of the plane, or with `arrows` as arrows from the origin; `labels`: those of the axes."""
    require_list(words=words)
    points = as_numbers(points, 2)
    figure, [[axes]] = new_figure(style.WIDE, 290, title)
    axes.axhline(0, color=LIGHT["edge"], linewidth=1)
    axes.axvline(0, color=LIGHT["edge"], linewidth=1)
    axes.scatter(*points.T, s=0 if arrows else 46, color=LIGHT["data"], zorder=3)
    for end in points if arrows else []:
        drawn = {"arrowstyle": "-|>", "mutation_scale": 16, "color": LIGHT["data"], "linewidth": 1.8}
        drawn |= {"shrinkA": 0, "shrinkB": 0}
        axes.annotate("", end, (0, 0), arrowprops=drawn)
    axes.set(xlabel=labels[0], ylabel=labels[1])
    low, high = points.min(0), points.max(0)
    step = ((high - low) / [180, 170]).max() or 1.0  # what a pixel is, of about 300 x 230: the rest is for the labels
    left, bottom = (low + high) / 2 - step * np.array([150, 115])
    axes.set(xlim=(left, left + 300 * step), ylim=(bottom, bottom + 230 * step))
    axes.set_aspect("equal", adjustable="box")
    along = np.concatenate([points * share for share in np.linspace(0, 0.95, 20)])  # the arrows, point by point
    write_labels(axes, points, words, avoid=along if arrows else ())
    placed = ", ".join(f"{word} ({x:.2f}, {y:.2f})" for word, (x, y) in zip(words, points))
    figure.description = f"Map of {len(words)} words. {nearest_pairs(points, words)} Coordinates: {placed}."
    return figure


# Of a square that says yes its role, and whether it is a dot: who may look, who is heard, and how much look different.
LOOKS = {
    "the output moves": ("data", True), "gets weight": ("weight", False),
}  # fmt: skip


def mark(axes: Axes, row: int, column: int, role: str, dot: bool) -> None:
    """A yes in a table of yes and no."""
    shape = Circle((column, row), 0.36) if dot else Rectangle((column - 0.5, row - 0.5), 1, 1)
    shape.set(facecolor=LIGHT[role], edgecolor=LIGHT["ground"], linewidth=1)
    axes.add_patch(shape)


@in_style
def mask_pictures(
    masks: Named, rows: Sequence, columns: Sequence | None = None, meaning: str = "may attend",
    sides: tuple[str, str] = ("query", "key"), leaks: str = "",
) -> Figure:  # fmt: skip
    """Masks side by side, `masks` maps a title to a boolean (q, k); `meaning` says what a filled square is.

    rows: a word or number for each query; columns: for each key, the same as `rows` if not given; `sides` says what
    rows and columns are. leaks: what a filled square above the diagonal is, drawn in red, where it must not be."""
    columns = rows if columns is None else columns
    grids = {title: as_numbers(mask, 2) for title, mask in masks.items()}
    for title, grid in grids.items():
        if grid.shape != (len(rows), len(columns)):
            raise ValueError(f"mask {title!r} {grid.shape} needs {len(rows)} rows and {len(columns)} columns")
    names = [[str(name) for name in side] for side in (rows, columns)]
    longest = [6.6 * max(map(len, side)) for side in names]  # pixels, of a name of a row and of a column
    slanted = longest[1] > 16
    role, dots = LOOKS.get(meaning, ("data", False))
    beside = min(len(grids), 2 + len(grids) % 2)  # four are two by two
    cell = min(18.0, max(13.0, ((style.WIDE - 34 - longest[0]) / beside - 14) / len(columns)))  # pixels
    panel_width, under = max(cell * len(columns), 64), -(-len(grids) // beside)
    titles = [style.wrap(title, panel_width + 10, 12) for title in grids]
    above = 14 * max(title.count("\n") + 1 for title in titles) + 12
    named = {meaning: role} | ({leaks: "wrong"} if leaks else {})
    width = max(34 + longest[0] + beside * (panel_width + 14), 30 + 7 * max(map(len, named)))
    high = under * (cell * len(rows) + above + 6) + (longest[1] if slanted else 14) + 40 + 18 * len(named)
    figure, panels = new_figure(width, high, "", under, beside)
    figure.get_layout_engine().set(w_pad=0.07, h_pad=0.09)
    for number, (panel, title, grid) in enumerate(zip(panels.flat, titles, grids.values())):
        for row, column in np.argwhere(grid > 0):
            mark(panel, row, column, "wrong" if leaks and column > row else role, dots)
        panel.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5), aspect="equal")
        lowest = number + beside >= len(grids)
        panel.set_xticks(
            range(len(columns)),
            names[1] if lowest else [],
            rotation=(90 if cell < 16 else 60) * slanted,
            **UNDER[slanted],
        )
        panel.set_yticks(range(len(rows)), [] if number % beside else names[0])
        panel.set_xticks(np.arange(len(columns) - 1) + 0.5, minor=True)
        panel.set_yticks(np.arange(len(rows) - 1) + 0.5, minor=True)
        panel.grid(which="minor", linewidth=1)
        panel.tick_params(which="both", length=0)
        panel.spines[["top", "right"]].set_visible(True)
        panel.set_title(title)
        panel.set_ylabel("" if number % beside else sides[0])
    for panel in panels.flat[len(grids) :]:
        panel.axis("off")
    figure.supxlabel(sides[1], size=12)
    shape = {"marker": "o" if dots else "s", "markersize": 11, "linestyle": "", "markeredgewidth": 0}
    keys = [Line2D([], [], color=LIGHT[one], label=name, **shape) for name, one in named.items()]
    figure.legend(handles=keys, loc="outside upper left", handletextpad=0.2, borderaxespad=0.4, borderpad=0.2)
    red = f", red = {leaks}" if leaks else ""
    figure.description = f"Tables of yes and no, filled = {meaning}{red}. {describe_masks(grids, bool(leaks))}."
    said = {title: (rows, columns, np.where(grid > 0, "yes", "no")) for title, grid in grids.items()}
    figure.table = style.folded_tables(said)
    return figure


def describe_masks(grids: dict[str, np.ndarray], leaks: bool) -> str:
    """How many pairs of each table are filled, how many rows are empty, and with leaks how many squares are red."""
    said = []
    for title, grid in grids.items():
        empty, above = int((grid.sum(1) == 0).sum()), int(np.triu(grid, 1).sum())
        nothing = f", {empty} rows are empty" if empty else ""
        red = f", {above or 'none'} in red" if leaks else ""
        said.append(f"{title}: {int(grid.sum())} of {grid.size} pairs{nothing}{red}")
    return "; ".join(said)


@in_style
def cone(tables: Named, word: int = -1) -> Figure:
    """Whom one word of the last layer hears in each row below, down to the input: lines from it to the words that it
    hears, from these to theirs, and so on; all else is pale.

    tables: {title: boolean (n, n)}, row i: whom output i hears through one layer, through two, and so on."""
    grids = {title: as_numbers(table, 2) > 0 for title, table in tables.items()}
    one_layer = next(iter(grids.values()))
    n, depth = len(one_layer), len(grids)
    for title, grid in grids.items():
        if grid.shape != (n, n):
            raise ValueError(f"table {title!r} {grid.shape} must be ({n}, {n}), as the first: each word hears of each")
    word %= n
    rows = [np.arange(n) == word, *(grid[word] for grid in grids.values())]  # (n,) each, from the last layer down
    names = [*(f"layer {depth - row}" for row in range(depth)), "input"]
    reach = [int(row.sum()) for row in rows]
    title = f"Whom word {word + 1} hears, through how many layers"
    figure, [[axes]] = new_figure(style.WIDE, 60 + 52 * len(rows), title)
    for row, lit in enumerate(rows):
        for one, other in np.argwhere(one_layer) if row < depth else ():
            role, thick = ("weight", 2) if lit[one] else ("edge", 0.8)
            axes.plot([one, other], [row, row + 1], color=LIGHT[role], linewidth=thick, zorder=1 + (role == "weight"))
        for role, where in (("edge", ~lit), ("data", lit)):
            axes.scatter(np.flatnonzero(where), np.full(where.sum(), row), s=110, color=LIGHT[role], zorder=3)
        if row:
            heard = f"{row} layer{'s' if row > 1 else ''}: {reach[row]}"
            axes.annotate(heard, (n - 0.5, row), va="center", annotation_clip=False)
    axes.set(xlim=(-0.5, n - 0.5), ylim=(depth + 0.3, -0.3), xlabel="word")
    axes.set_yticks(range(len(rows)), names)
    axes.set_xticks(range(n), range(1, n + 1))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    told = [
        f"{name}: {count}, {' '.join(str(place + 1) for place in np.flatnonzero(row))}"
        for name, count, row in zip(names[1:], reach[1:], rows[1:])
    ]
    figure.description = f"Whom word {word + 1} of layer {depth} hears, how many and which. {'; '.join(told)}."
    yes = [["yes" if lit else "no" for lit in row] for row in rows]
    figure.table = style.folded_tables({f"Whom word {word + 1} of layer {depth} hears": (names, range(1, n + 1), yes)})
    return figure


def in_words(number: float, digits: int = 3) -> str:
    """A number in at most `digits` digits, as descriptions say it: what rounding leaves of 0 is "below 1e-9".

    A sum that is 0 in mathematics comes out as 1e-17 on one processor and as 3e-17 on another."""
    number = float(number)
    return f"{number:.{digits}g}" if abs(number) >= NOISE or number == 0 else f"below {NOISE:g}"


def largest(values: ArrayLike, count: int = 1) -> list[int]:
    """Positions of the `count` largest numbers (n,), best first; of those that only rounding tells apart, the first."""
    rest = np.array(values, dtype=float)
    nearly = 1e-6 * np.abs(rest[np.isfinite(rest)]).max(initial=0.0)
    found = []
    for _ in range(min(count, len(rest))):
        found.append(int(np.flatnonzero(rest >= rest.max() - nearly)[0]))
        rest[found[-1]] = -np.inf
    return found


def nearest_pairs(points: np.ndarray, words: Sequence[str]) -> str:
    """Which words lie next to each other on a map (n, 2), in words."""
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.fill_diagonal(distances, np.inf)
    closest = [f"{word} to {words[largest(-row)[0]]}" for word, row in zip(words, distances)]
    return f"Nearest: {', '.join(closest)}."


GROUND = {"facecolor": LIGHT["ground"], "edgecolor": "none", "alpha": 0.75, "pad": 0}  # of a label
BESIDE = {"textcoords": "offset pixels", "ha": "center", "va": "center", "bbox": GROUND}  # where a label is


def write_labels(
    axes: Axes, points: ArrayLike, labels: Sequence[str], colours: Sequence[str] | None = None,
    avoid: ArrayLike = (),
) -> None:  # fmt: skip
    """Write a label next to each point (n, 2) of the axes, where it covers neither a point, nor one of those to `avoid`
    (m, 2), nor another label.

    A label that found no place next to its point is tied to it by a line."""
    size = 11
    axes.figure.draw_without_rendering()  # settles the layout, and with it where a point lies on the page
    on_page = [axes.transData.transform(some) for some in (points, avoid) if len(some)]
    places = label_places(on_page[0], labels, size, *on_page[1:])
    for point, label, (dx, dy), colour in zip(points, labels, places, colours or [LIGHT["ink"]] * len(labels)):
        away = abs(dx) > 0.31 * size * len(label) + 12 or abs(dy) > 0.6 * size + 12
        tie = {"arrowstyle": "-", "color": LIGHT["quiet"], "linewidth": 0.8, "shrinkB": 4} if away else None
        axes.annotate(label, point, (dx, dy), size=size, color=colour, arrowprops=tie, **BESIDE)


RINGS = np.array([[9, 7], [18, 14]])  # pixels between a point and its label: two rings of places around a point
SIDES = np.array([(1, 0), (1, 0.5), (1, -0.5), (-1, 0), (-1, 0.5), (-1, -0.5), (0, 1), (0, -1)])  # and those of a ring


def label_places(
    points: ArrayLike, labels: Sequence[str], size: float, avoid: ArrayLike = ()
) -> list[tuple[float, float]]:
    """Shifts (dx, dy) in pixels from each point (n, 2) to the middle of its label, found one label after the other: of
    sixteen places around a point the one whose box overlaps least with points, those to `avoid` (m, 2) among them, and
    with labels already placed."""
    points = np.asarray(points, dtype=float)
    taken = np.concatenate([points, np.reshape(avoid, (-1, 2))])
    boxes = np.full((len(taken) + len(points), 4), 6.0)  # middle and half sizes: of every point, then of labels placed
    boxes[: len(taken), :2] = taken
    shifts = []
    for number, (point, label) in enumerate(zip(points, labels), len(taken)):
        half = np.array([0.31 * size * len(label), 0.6 * size])
        around = ((half + RINGS)[:, None] * SIDES).reshape(-1, 2)  # (16, 2): the places of the near ring come first
        overlap = half + boxes[:number, 2:] - abs(point + around[:, None] - boxes[:number, :2])  # (16, boxes, 2)
        cover = overlap.clip(0).prod(-1).sum(-1) + 0.05 * np.hypot(*around.T)
        best = around[cover.argmin()]
        shifts.append(tuple(best.tolist()))
        boxes[number] = *(point + best), *half
    return shifts


def as_numbers(values: ArrayLike, axes: int) -> np.ndarray:
    """values as a NumPy array with the given number of axes, or a ValueError that says what came instead."""
    array = np.asarray(values.detach() if hasattr(values, "detach") else values, dtype=float)
    if array.ndim != axes or array.size == 0:
        raise ValueError(f"a figure needs numbers with {axes} axes, got shape {array.shape}")
    if not np.isfinite(array).all():
        broken = np.count_nonzero(~np.isfinite(array))
        raise ValueError(f"{broken} of {array.size} numbers are NaN or infinite: nothing to draw")
    return array


@in_style
def images(
    pictures: Named, x_label: str = "", y_label: str = "", kind: str = "attention weights", signed: bool = False,
    *, corners: Mapping[str, int] | None = None,
) -> Figure:  # fmt: skip
    """Tables (r, c) as pictures side by side, without numbers; `pictures` maps a title to a table, `kind` says what
    its numbers are. `signed`: colours for both signs. One scale of colours for all. corners: {title: n}, the first n
    rows and columns are framed."""
    corners = corners or {}
    tables = {title: as_numbers(table, 2) for title, table in pictures.items()}
    limit = max(np.abs(table).max() for table in tables.values()) or 1.0
    each = (style.WIDE - 40) / len(tables) - 8  # pixels
    titles = [style.wrap(title, each, 12) for title in tables]
    high = min(each, 250) + 14 * max(title.count("\n") for title in titles) + 118
    figure, [panels] = new_figure(style.WIDE, high, "", 1, len(tables))
    for number, (panel, title, table) in enumerate(zip(panels, titles, tables.values())):
        low, colours = (-limit, WAVES) if signed else (0, WEIGHTS)
        image = panel.imshow(table, cmap=colours, vmin=low, vmax=limit, aspect="auto", interpolation="none")
        panel.set_title(title)
        panel.set_xlabel(x_label)
        if number:
            panel.set_yticks([])
    for panel, name in zip(panels, tables):
        if n := corners.get(name):
            edge = {"fill": False, "edgecolor": LIGHT["here"], "linewidth": 2, "clip_on": False}
            panel.add_patch(Rectangle((-0.5, -0.5), n, n, **edge))
    figure.supylabel(y_label, size=12)
    scale = figure.colorbar(image, ax=panels, location="bottom", shrink=0.6, aspect=28, pad=0.04)
    scale.solids.set_rasterized(True)
    scale.set_label(kind)
    said = []
    for title, table in tables.items():
        peaks = " ".join(str(largest(row)[0]) for row in table[:16])
        shown = f"{'x'.join(map(str, table.shape))}, from {table.min():.2f} to {table.max():.2f}"
        said.append(f"{title}: {shown}; largest in each row, from the top: column {peaks}")
    figure.description = f"Pictures of {kind}. {'. '.join(said)}."
    for title, n in corners.items():
        figure.description += f" Framed in {title}: the first {n} rows and columns."
    small = {title: table for title, table in tables.items() if table.size <= MOST_CELLS}
    named = {title: (*map(range, table.shape), rounded(table, 2)) for title, table in small.items()}
    figure.table = style.folded_tables(named)
    return figure


@in_style
def gallery(pictures: Named, columns: int = 8, patch: int = 0, kind: str = "ink") -> Figure:
    """Small pictures (r, c) from 0, white, to the largest number of all, dark, `columns` in a row; `pictures` maps a
    title to each, `kind` says what dark is. patch: lines around squares of that side; NaN: hidden, drawn in orange."""
    tables = {title: np.array(table.tolist(), dtype=float) for title, table in pictures.items()}
    columns = min(columns, len(tables))
    rows = -(-len(tables) // columns)
    wide = min(90.0, (style.WIDE - 8) / columns)  # pixels
    titles = [style.wrap(title, wide - 2, 11) for title in tables]
    above = 13 * max(title.count("\n") + 1 for title in titles) + 8
    figure, panels = new_figure(wide * columns + 8, (wide + above) * rows, "", rows, columns)
    limit = max(np.nanmax(np.abs(table), initial=0.0) for table in tables.values()) or 1.0
    said = []
    for axes, written, (title, table) in zip(panels.flat, titles, tables.items()):
        axes.imshow(table, cmap=INK, vmin=0, vmax=limit, interpolation="none")
        for edge in range(patch, max(table.shape), patch) if patch else ():
            axes.axhline(edge - 0.5, color=LIGHT["data"], linewidth=1)
            axes.axvline(edge - 0.5, color=LIGHT["data"], linewidth=1)
        axes.set_title(written, size=11, loc="center")
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(visible=True, color=LIGHT["data" if patch else "quiet"], linewidth=1)
        hidden = int(np.isnan(table).sum())
        shown = f"{'x'.join(map(str, table.shape))}, mean {np.nanmean(table):.2f}"
        said.append(f"{title}: {shown}{f', {hidden} hidden' if hidden else ''}")
    for axes in figure.axes[len(tables) :]:
        axes.axis("off")
    figure.description = f"Small pictures, dark = {kind}. {'; '.join(said)}."
    return figure


@in_style
def photographs(pictures: Named) -> Figure:
    """Pictures in colour (r, c, 3), from 0 to 1, side by side; `pictures` maps a title to each. NaN is hidden, grey."""
    tables = {title: np.array(np.asarray(table).tolist(), dtype=float) for title, table in pictures.items()}
    wide = style.WIDE / len(tables)  # pixels
    tall = max(table.shape[0] / table.shape[1] for table in tables.values())
    titles = [style.wrap(title, wide - 4, 12) for title in tables]
    above = 17 * max(title.count("\n") + 1 for title in titles) + 12
    figure, [panels] = new_figure(style.WIDE, (wide - 8) * tall + above + 8, "", 1, len(tables))
    said = []
    for axes, written, (title, table) in zip(panels, titles, tables.items()):
        axes.imshow(np.nan_to_num(table, nan=0.55).clip(0, 1), interpolation="none")
        axes.set_title(written, size=12, loc="center")
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(visible=True, color=LIGHT["quiet"], linewidth=1)
        hidden = int(np.isnan(table).any(-1).sum())
        colour = ", ".join(f"{part:.2f}" for part in np.nanmean(table, axis=(0, 1)))
        shape = "x".join(map(str, table.shape[:2]))
        said.append(f"{title}: {shape}, mean of red, green, blue {colour}{f', {hidden} hidden' if hidden else ''}")
    figure.description = f"Pictures in colour. {'; '.join(said)}."
    return figure


@in_style
def bars(
    values: Mapping[str, float], label: str = "", decimals: int = 2, *,
    level: tuple[str, float | Mapping[str, float]] | None = None, message: Iterable[str] = (),
) -> Figure:  # fmt: skip
    """Horizontal bars from 0, one below the other, each with its name and its number; `label` says what they are.

    level: a name and a number, as that of a guess, a dashed line across all bars; or, for a rival, one for each.
    message: the names of the bars that matter; the others are grey."""
    require_list(message=message)
    names, numbers, message = list(values), as_numbers(list(values.values()), 1), set(message)
    if unknown := message - set(names):
        raise ValueError(f"no bar is named {sorted(unknown)}: they are {names}")
    figure, [[axes]] = new_figure(style.WIDE, 55 + 24 * len(names) + 18 * bool(level))
    colours = [GREY if message and name not in message else LIGHT["data"] for name in names]
    axes.barh(range(len(names)), numbers, height=0.7, color=colours)
    axes.axvline(0, color=LIGHT["quiet"], linewidth=0.8, clip_on=False)
    axes.spines.left.set_visible(False)
    table = rounded(numbers[:, None], decimals)
    beside = {"textcoords": "offset points", "va": "center"}
    written = [
        axes.annotate(text, (end, row), (5, 0), **beside)
        for row, (end, [text]) in enumerate(zip(numbers.clip(0), table))
    ]
    title, levels = level or ("", {})
    each = np.array([levels[name] if isinstance(levels, Mapping) else levels for name in names if level], dtype=float)
    axes.set_yticks(range(len(names)), names)
    most = max(numbers.max(), each.max(initial=0.0))
    axes.set(xlabel=label, ylim=(len(names) - 0.5, -0.5), xlim=(min(0, numbers.min()), 1.15 * most))
    axes.tick_params(axis="y", length=0)
    said = "; ".join(f"{name} {text}" for name, [text] in zip(names, table))
    figure.description = f"Bars of {label}. {said}."
    if level:
        draw_level(axes, title, each)
        keep_off(written, each)
        told = ", ".join(map(in_words, each if isinstance(levels, Mapping) else each[:1]))
        figure.description += f" Dashed: {title}, {told}."
    return figure


def draw_level(axes: Axes, title: str, each: np.ndarray) -> None:
    """A dashed line across each bar at its own number of each (n,), in ink within the colour of the page, so that it
    is seen on a bar, too; above it what it is."""
    rows = np.arange(len(each))
    for role, thick, dashes in (("ground", 4, "solid"), ("ink", 1.6, (0, (4, 2.5)))):
        axes.vlines(each, rows - 0.5, rows + 0.5, color=LIGHT[role], linewidth=thick, linestyle=dashes)
    at_top = {"textcoords": "offset points", "ha": "center", "va": "bottom", "color": LIGHT["quiet"]}
    axes.annotate(title, (each[0], -0.5), (0, 3), annotation_clip=False, **at_top)


def keep_off(written: Sequence[Annotation], each: np.ndarray) -> None:
    """Move each number that would touch the dashed line at its number of each (n,) to the right of that line."""
    axes = written[0].axes
    axes.figure.draw_without_rendering()  # settles the layout, and with it where a number lies on the page
    for text, level in zip(written, each):
        begin, line = (axes.transData.transform((place, 0))[0] for place in (text.xy[0], level))
        box = text.get_window_extent()
        if box.x0 - 5 < line < box.x1 + 5:
            text.xyann = (line - begin + 5, 0)


@in_style
def seeds(
    panels: Mapping[str, Named], label: str = "", decimals: int = 2, *,
    level: tuple[str, float] | None = None, message: Iterable[str] = (),
) -> Figure:  # fmt: skip
    """Dots, one for each seed: `panels` maps a title to rows, and these map a name to numbers (s,), from seed 0 above
    to the last below. Panels have as many rows each, and one scale from 0; `label` says what it is.

    level: a name and a number, as that of a guess, a dashed line. message: the names of rows whose dots are filled."""
    require_list(message=message)
    tables = {title: as_numbers(list(rows.values()), 2) for title, rows in panels.items()}
    tall, message = max(map(len, tables.values())), set(message)
    figure, grid = new_figure(style.WIDE, 50 + (17 * tall + 26) * len(tables), "", len(tables))
    most = max(table.max() for table in [*tables.values(), np.array(level[1:] if level else 0.0)])
    for axes, (title, rows) in zip(grid.flat, panels.items()):
        axes.hlines(range(len(rows)), tables[title].min(1), tables[title].max(1), color=LIGHT["edge"], linewidth=2)
        if level:
            axes.axvline(level[1], color=LIGHT["ink"], linewidth=1.3, linestyle=(0, (4, 3)), zorder=1)
        for row, (name, numbers) in enumerate(zip(rows, tables[title])):
            filled, places = name in message, row + 0.13 * (np.arange(len(numbers)) - (len(numbers) - 1) / 2)
            edge = LIGHT["data" if filled else "negative"]
            inside = edge if filled else LIGHT["ground"]
            axes.plot(numbers, places, "o", color=edge, markerfacecolor=inside, markersize=5, markeredgewidth=1.2)
        axes.set_yticks(range(len(rows)), list(rows))
        axes.tick_params(axis="y", length=0)
        axes.set(xlim=(-0.03 * most, 1.03 * most), ylim=(tall - 0.4, -0.6))
        axes.set_title(title, color=LIGHT["quiet"])
    axes.set(xlabel=f"{label} (dashed: {level[0]})" if level else label)
    said = []
    for title, table in tables.items():
        ends = rounded(np.stack([table.min(1), table.max(1)], axis=1), decimals)
        rows = "; ".join(f"{name} {low} to {high}" for name, (low, high) in zip(panels[title], ends))
        said.append(f"{title}: {rows}.")
    said += [f"Dashed: {level[0]}, {in_words(level[1])}."] if level else []
    figure.description = f"Dots of {label}, one for each seed. {' '.join(said)}"
    columns = [f"seed {seed}" for seed in range(next(iter(tables.values())).shape[1])]
    figure.table = style.folded_tables(
        {title: (list(panels[title]), columns, rounded(table, decimals)) for title, table in tables.items()}
    )
    return figure


@in_style
def maps_of_places(maps: Named, legend: str, signed: bool = False) -> Figure:
    """For each of n = side² places a small map (side, side) of all places, at the place itself, which is framed.

    `maps` maps a title to numbers (n, n), a row for each place whose map it is; `legend` says what a colour is.
    signed: both signs, in two colours. One strongest colour for all, whose number is told. ValueError: n no square."""
    tables = {title: as_numbers(table, 2) for title, table in maps.items()}
    n = len(next(iter(tables.values())))
    side = round(n**0.5)
    for title, table in tables.items():
        if table.shape != (side**2, side**2):
            raise ValueError(f"map {title!r} {table.shape} must be (n, n), n the square of a whole number")
    beside = ~np.eye(side**2, dtype=bool)
    limit = max(np.abs(table[beside]).max() for table in tables.values()) or 1.0
    columns = min(2, len(tables))
    rows = -(-len(tables) // columns)
    wide = style.WIDE if columns == 2 else 0.62 * style.WIDE
    figure, panels = new_figure(wide, 44 + rows * (wide / columns + 22), "", rows, columns)
    for panel in panels.flat[len(tables) :]:
        panel.axis("off")
    for panel, (title, table) in zip(panels.flat, tables.items()):
        shares = np.abs(table) / limit
        for (place, other), share in np.ndenumerate(shares.clip(0, 1).round(2)):
            row, column = ((side + 1) * a + b for a, b in zip(divmod(place, side), divmod(other, side)))
            own = "negative" if table[place, other] < 0 else "data" if signed else "weight"
            shade(panel, row, column, own, 0.0 if place == other else share)
            if place == other:
                own = Rectangle((column - 0.4, row - 0.4), 0.8, 0.8, fill=False, edgecolor=LIGHT["ink"], linewidth=2)
                panel.add_patch(own)
        edge = side * (side + 1) - 1
        panel.set(xlim=(-1.6, edge + 0.6), ylim=(edge - 0.4, -0.6), aspect="equal", xticks=[], yticks=[])
        panel.spines[:].set_visible(False)
        panel.set_title(style.wrap(title, wide / columns, 12), size=12, loc="center")
    legend_below = f"framed: whose map it is · {legend} · the strongest colour: {limit:.2g}"
    figure.supxlabel(style.wrap(legend_below, wide, 12), fontsize=12, color=LIGHT["quiet"])
    most = {title: table - 2 * np.diag(np.abs(table).max(1)) for title, table in tables.items()}
    said = [
        f"{title}: " + " ".join(f"{k} → {largest(row)[0]}" for k, row in enumerate(one)) for title, one in most.items()
    ]
    figure.description = f"For each place a map of all places; {legend}. Most, itself left out: {'; '.join(said)}."
    figure.table = style.folded_tables(
        {title: (*map(range, table.shape), rounded(table, 2)) for title, table in tables.items() if n**2 <= MOST_CELLS}
    )
    return figure


@in_style
def offsets(maps: Named, legend: str) -> Figure:
    """What each of n = side² places gives to others on average, by how many rows and columns these lie away: a map
    (2 side - 1, 2 side - 1) around the place itself, which is framed.

    `maps` maps a title to numbers (n, n) of 0 or more, a row for each place that gives; `legend` says what a colour
    is. One strongest colour for all, whose number is told. ValueError: n is no square."""
    means = {title: mean_by_offset(title, as_numbers(table, 2)) for title, table in maps.items()}
    width = len(next(iter(means.values())))
    limit = max(mean.max() for mean in means.values()) or 1.0
    each = style.WIDE / max(3, len(maps))  # pixels
    figure, [panels] = new_figure(each * len(maps), each + 54, "", 1, len(maps))
    for panel, (title, mean) in zip(panels, means.items()):
        for (row, column), share in np.ndenumerate((mean / limit).round(2)):
            shade(panel, row, column, "weight", share)
        frame(panel, width // 2, width // 2)
        panel.set(xlim=(-0.5, width - 0.5), ylim=(width - 0.5, -0.5), aspect="equal", xticks=[], yticks=[])
        panel.spines[:].set_visible(False)
        panel.set_title(style.wrap(title, each, 12), size=12, loc="center")
    legend_below = f"framed: the place that looks · {legend} · the strongest colour: {limit:.2g}"
    figure.supxlabel(style.wrap(legend_below, style.WIDE, 12), fontsize=12, color=LIGHT["quiet"])
    away = list(range(-(width // 2), width // 2 + 1))
    told = []
    for title, mean in means.items():
        best = [divmod(place, width) for place in largest(mean.ravel(), 4)]
        most = ", ".join(f"({away[row]}, {away[column]}) {mean[row, column]:.2f}" for row, column in best)
        told.append(f"{title}: {most}")
    figure.description = f"Means over all places, by rows and columns away; {legend}. Most: {'; '.join(told)}."
    figure.table = style.folded_tables({title: (away, away, rounded(mean, 2)) for title, mean in means.items()})
    return figure


def mean_by_offset(title: str, table: np.ndarray) -> np.ndarray:
    """The mean of a table (n, n), n = side², over all pairs of places that lie as many rows and columns apart:
    (2 side - 1, 2 side - 1)."""
    side = round(len(table) ** 0.5)
    if table.shape != (side**2, side**2):
        raise ValueError(f"map {title!r} {table.shape} must be (n, n), n the square of a whole number")
    sums, pairs = np.zeros((2, 2 * side - 1, 2 * side - 1))
    for (place, other), number in np.ndenumerate(table):
        away = np.subtract(divmod(other, side), divmod(place, side)) + side - 1
        sums[*away] += number
        pairs[*away] += 1
    return sums / pairs
