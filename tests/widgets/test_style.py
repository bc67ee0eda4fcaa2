"""Colours that everybody can read and tell apart: contrast, lightness in grey, three kinds of colour blindness."""

import functools
import itertools
import re
import xml.etree.ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text

from utils import plots, style
from utils.widgets import canvas

BLINDNESS = {  # Machado, Oliveira and Fernandes (2009), full severity, for linear RGB
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def contrast(one, other):
    """From 1, the same, to 21, black on white; 4.5 is asked of text."""
    dark, light = sorted((style.luminance(one), style.luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def linear(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* of linear RGB."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb.clip(0, 1)
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in xyz / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def lightness(colour):
    return lab(linear(colour))[0]


def test_contrast_is_that_of_the_guidelines():
    assert contrast("black", "white") == pytest.approx(21) and contrast("#767676", "white") == pytest.approx(
        4.54, abs=0.01
    )


WRITTEN = [role for role in style.ROLES if "-" not in role and role not in ("ground", "raised", "edge")]
modes = pytest.mark.parametrize("dark", [0, 1], ids=["light", "dark"])


@modes
@pytest.mark.parametrize("role", WRITTEN)
def test_letters_in_a_role_are_read(role, dark):
    for ground in ("ground", "raised"):
        assert contrast(style.ROLES[role][dark], style.ROLES[ground][dark]) >= 4.5


@modes
def test_letters_are_read_on_every_shade_of_every_role(dark):
    for role in WRITTEN:
        for share in np.linspace(0, 1, 101).round(2):
            ground = style.blend(style.ROLES[role][dark], style.ROLES["ground"][dark], share)
            assert contrast(style.ROLES[style.letters_on(role, share)][dark], ground) >= 4.5, (role, share)


@modes
def test_boxes_stand_out_from_the_ground(dark):
    ground, raised, edge = (style.ROLES[role][dark] for role in ("ground", "raised", "edge"))
    assert contrast(raised, ground) > 1.1 and contrast(edge, ground) > 1.5


TOGETHER = [("query", "key"), ("query", "value"), ("key", "value"), ("weight", "value"), ("weight", "key")]
TOGETHER += [("query", "here"), ("value", "here"), ("weight", "here"), ("data", "wrong"), ("data", "here")]
TOGETHER += [("data", "negative"), *itertools.combinations(style.CURVES, 2)]
# "here" and "negative" are too alike for that: no picture has shapes in both, see below and test_widget_states.py.


@modes
@pytest.mark.parametrize("kind", BLINDNESS)
@pytest.mark.parametrize("pair", TOGETHER, ids="-".join)
def test_roles_that_meet_are_told_apart_by_the_colour_blind(pair, kind, dark):
    one, other = (lab(np.array(BLINDNESS[kind]) @ linear(style.ROLES[role][dark])) for role in pair)
    assert np.linalg.norm(one - other) > 10


def test_a_frame_stands_out_from_cells_of_both_signs():
    """In ink within the colour of the page, and so at least 4.5 : 1; "here" is hardly told from "negative"."""
    signed = np.linspace(-1, 1, 16).reshape(4, 4)
    framed = plots.heat_map(signed, "abcd", "abcd", marks=[(0, 0), (3, 3)], signed=True)
    for figure in (framed, plots.maps_of_places({"one": signed}, "", signed=True)):
        lines = {to_hex(patch.get_edgecolor()) for patch in figure.axes[0].patches if not patch.get_fill()}
        assert style.LIGHT["ink"] in lines <= {style.LIGHT["ink"], style.LIGHT["ground"]}


def test_curves_mean_no_part_of_attention():
    assert not {"query", "key", "value", "weight"} & set(style.CURVES)
    curves = {name: [1, 2] for name in "abcdef"}
    drawn = plots.lines([1, 2], curves).axes[0].get_lines()
    looks = [(line.get_color(), line.get_linestyle()) for line in drawn]
    assert len(set(looks)) == 6, "colours that begin anew have lines with gaps"
    bars = plots.bars({"a": 1.0}).axes[0].patches
    assert to_hex(bars[0].get_facecolor()) == style.LIGHT["data"]


@pytest.mark.parametrize("signed", [False, True])
def test_the_numbers_of_a_heat_map_are_read(signed):
    values = np.linspace(-1 if signed else 0, 1, 100).reshape(10, 10)
    axes = plots.heat_map(values, range(10), range(10), signed=signed).axes[0]
    cells = {patch.get_xy(): patch for patch in axes.patches if patch.get_fill()}
    for text in axes.texts[:100]:
        cell = cells[tuple(place - 0.5 for place in text.get_position())]
        roles = [
            {light: role for role, light in style.LIGHT.items()}[to_hex(one)]
            for one in (text.get_color(), cell.get_facecolor())
        ]
        for dark in (0, 1):
            letters, colour = (style.ROLES[role][dark] for role in roles)
            ground = style.blend(colour, style.ROLES["ground"][dark], cell.get_facecolor()[3])
            assert contrast(letters, ground) >= 4.5, text.get_text()


def test_maps_are_read_in_grey():
    shares = np.linspace(0, 1, 101)
    steps = np.diff([lightness(style.WAVES(share)) for share in shares])
    assert (steps > 0).all(), "every number has a lightness of its own"
    for dark in (0, 1):
        ground, data, less = (style.ROLES[role][dark] for role in ("ground", "data", "negative"))
        sizes = np.array([[lightness(style.blend(one, ground, share)) for share in shares] for one in (data, less)])
        assert (np.diff(sizes) * (1 if dark else -1) > 0).all(), "the further from 0, the further from the ground"
        assert abs(sizes[0] - sizes[1]).max() < 8, "and as far on either side: the number in the cell has the sign"


@pytest.mark.parametrize("kind", BLINDNESS)
def test_signs_are_told_apart_by_the_colour_blind(kind):
    for low, high in [[style.WAVES(end) for end in (0.0, 1.0)], *zip(style.ROLES["data"], style.ROLES["negative"])]:
        ends = [lab(np.array(BLINDNESS[kind]) @ linear(end)) for end in (low, high)]
        assert np.linalg.norm(ends[0] - ends[1]) > 30


def test_a_stored_figure_has_roles_for_colours_and_letters_for_letters():
    words = ["green", "witch", "<pad>"]
    svg = plots.heat_map(np.eye(3), words, words, "Weights & more").svg()
    root = xml.etree.ElementTree.fromstring(svg)
    said = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"green", "<pad>", "1.00", "Weights & more"} <= set(said)
    assert not set(re.findall("#[0-9a-f]{6}", svg.partition("</style>")[2])), "a colour that no role has"
    assert svg.count("var(--weight)") == 3 and 'width="' in svg and len(svg) < 40_000
    assert svg == plots.heat_map(np.eye(3), words, words, "Weights & more").svg()


def test_a_picture_is_dark_where_its_page_is():
    for role, (light, dark) in style.ROLES.items():
        assert f"--{role}:{light}" in style.STYLE and (light == dark or f"light-dark({light},{dark})" in style.STYLE)
    assert "@supports" in style.STYLE, "a browser without light-dark() shows the light one"
    for other in ("<", ">", "&"):
        assert other not in style.STYLE, "it stands in XML, and films are cut between tags"


def test_a_figure_and_a_view_carry_their_text_as_an_image():
    figure = plots.heat_map(np.eye(2), ["<pad>", 'a "b"'], "cd")
    view = canvas.verdict("<pad> & co", None, ['"no"'])
    for shown in (figure, view):
        bundle = shown._repr_mimebundle_()
        alt, _, source = bundle["text/html"].removeprefix('<img alt="').partition('" src="data:image/')
        assert alt == shown.description.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace(
            '"', "&quot;"
        )
        assert source.startswith("svg+xml;base64,") and bundle["text/plain"] == shown.description


def tables_of(figure):
    """What stands behind the fold of a figure: {title: rows of cells, the head first}."""
    found = xml.etree.ElementTree.fromstring(figure._repr_mimebundle_()["text/html"].partition(">")[2])
    assert found.tag == "details" and found[0].tag == "summary"
    return {
        table[0].text: [[cell.text for cell in row] for row in table.iter("tr")] for table in found.findall("table")
    }


def test_a_picture_of_numbers_is_a_table_too():
    values, words = np.array([[0.25, 0.75], [-0.001, 1.0]]), ["a & b", "<pad>"]
    table = [[None, *words], [words[0], "0.25", "0.75"], [words[1], "0.00", "1.00"]]
    assert tables_of(plots.heat_map(values, words, words, "Weights")) == {"Weights": table}
    masks = tables_of(plots.mask_pictures({"one": values > 0, "two": values > 0.5}, "ab"))
    assert masks["two"] == [[None, "a", "b"], ["a", "no", "yes"], ["b", "no", "yes"]] and len(masks) == 2
    pictures = tables_of(plots.images({"large": np.eye(25), "small": values}))
    assert list(pictures) == ["small"] and pictures["small"][1] == ["0", "0.25", "0.75"]
    assert plots.images({"large": np.eye(25)}).table == ""


WINDOW = np.tri(9) - np.tri(9, k=-3)  # a word hears itself and the two before it
WINDOWS = {f"layers: {depth}": np.linalg.matrix_power(WINDOW, depth) > 0 for depth in (1, 2, 3)}


# Nothing written in a figure leaves it or covers something else that is written

LONG = ["the", "international", "witch", "<pad>", "arrived"]
GROWTH = np.array([1.0, 30.0, 5e5])
FIGURES = {
    "a map of weights": lambda: plots.heat_map(
        np.eye(5), LONG, LONG, "Who attends to whom: rows ask, columns answer", axis="key", side="query"
    ),
    "a wide map": lambda: plots.heat_map(-np.eye(10)[:5], LONG, range(10), "Wide", "value", signed=True, decimals=1),
    "long names of rows": lambda: plots.heat_map(
        np.eye(3), [f"layer {i}, row that writes it" for i in range(3)], ["head 1", "head 2", "mean"], "Errors", "rate"
    ),
    "arrows": lambda: plots.word_map(
        [(-2.40, 0.00), (-2.54, -0.38), (-2.25, -0.13), (3.02, 2.89), (4.17, -2.39)], LONG, "As published", arrows=True
    ),
    "words": lambda: plots.word_map([(3.0, 0), (3.1, 0.9), (2.7, -0.5), (-4.0, -4.7), (-4.8, 4.3)], LONG, "A map"),
    "four long names": lambda: plots.lines(
        [2, 16, 32],
        {"PyTorch's start, way around": GROWTH**0, "PyTorch's start, none": 1e-6 / GROWTH,
         "Xavier's start, way around": GROWTH, "Xavier's start, none": 0.9 * GROWTH**0},
        "What arrives at the bottom of the stack of layers", "layers", "gradient norm", log="y",
    ),
    "curves that end together": lambda: plots.lines(
        [2, 5, 10, 20, 40], {name: np.linspace(1, 0.1, 5) for name in LONG}, "Together", "words back", "accuracy",
        levels={"a guess": 0.125}, bands={"the": (np.zeros(5), np.ones(5))}, message=["the"],
    ),
    "levels that are named inside": lambda: plots.lines(
        range(7),
        {"other words": np.linspace(0.55, 0.95, 7), "question, answer": [0.36, 0.33, 0.33, 0.31, 0.33, 0.4, 0.5]},
        "Right first, by layer", "after layer", "share right",
        levels={"TF-IDF, other words": 0.25, "TF-IDF, mean of the rest": 0.388}, inside=True,
    ),
    "many steps": lambda: plots.lines(range(0, 20_000, 1000), {"loss": range(20)}, "Steps", "step", "loss"),
    "ranges": lambda: plots.lines([f"{i}–{i + 1}" for i in range(3, 17, 2)], {"right": range(7)}, "", "words", "share"),
    "both in powers": lambda: plots.lines([16, 256, 1024, 4096], {"spread": [4, 16, 32, 64]}, "", "n", "", log=True),
    "four masks": lambda: plots.mask_pictures(
        {"none": np.eye(5), "inverted": np.eye(5), "only in training": np.eye(5), "layer 2 forgotten": np.eye(5)},
        LONG, None, "the output moves", ("output", "input that was changed"), "leak: an earlier output moves",
    ),
    "three masks": lambda: plots.mask_pictures(
        {"source → memory": np.eye(7), "target → output": np.eye(7), "by the way": np.eye(7)}, range(1, 8)
    ),
    "images": lambda: plots.images(
        {"layer 1: previous token": np.eye(24), "layer 2: what followed it": np.eye(24)}, "key place", "query position",
        corners={"layer 1: previous token": 10},
    ),
    "dots of seeds": lambda: plots.seeds(
        {"at the start of a sentence": {"Elman network": [0.5, 0.1], "Elman network, taught": [1.0, 0.9]},
         "in a second clause": {"Elman network": [0.4, 0.1], "Elman network, taught": [1.0, 0.8]}},
        "share of verbs right", level=("a coin", 0.5), message=["Elman network, taught"],
    ),
    "bars": lambda: plots.bars(
        {"Elman network · a place": 1.0, "Elman network · somebody": 0.4, "rotary · somebody": 0.08},
        "share of verbs right", level=("a coin", 0.5),
    ),
    "a rival beside each bar": lambda: plots.bars(
        {"who to whom": 0.99, "a rather long name of a kind": 0.1}, "mean cosine",
        level=("TF-IDF", {"who to whom": 1.0, "a rather long name of a kind": 0.02}),
    ),
    "bars that matter, and one below 0": lambda: plots.bars(
        {"la: read here": 63.0, "reina: comes next": 2.0, "verde": -11.0},
        "score", 0, level=("8 · 8", 64), message=["la: read here"],
    ),
    "photographs": lambda: plots.photographs(
        dict.fromkeys(["seen, a rather long title", "restored", "smoothed", "as it was"], np.full((24, 12, 3), 0.5))
    ),
    "a cone": lambda: plots.cone(WINDOWS),
    "maps by offset": lambda: plots.offsets(
        dict.fromkeys(["A", "B", "linear fit"], np.eye(16)), "the stronger, the more it is looked at"
    ),
    "a gallery": lambda: plots.gallery({f"restored {i}": np.eye(8) for i in range(12)}, columns=6),
}  # fmt: skip


@functools.cache
def drawn(name):
    return FIGURES[name]()


def written(figure):
    """(what a figure says, where, and by how much it is turned) of each of its texts, once its layout is made."""
    figure.draw_without_rendering()
    axes = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    ticks = {
        label for axis in axes for tick in axis.majorTicks + axis.minorTicks for label in (tick.label1, tick.label2)
    }
    shown = {label for axis in axes for tick in axis._update_ticks() for label in (tick.label1, tick.label2)}
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    return [
        (text.get_text(), Text.get_window_extent(text), text.get_rotation())
        for text in texts
        if text in shown or text not in ticks
    ]


def apart(one, turned, other, also_turned):
    """How far two boxes are apart; of names that slant alike, how far their lines are."""
    if turned == also_turned and turned % 90:
        return abs(one.x1 - other.x1) * np.sin(np.radians(turned)) - 11
    return max(max(one.x0, other.x0) - min(one.x1, other.x1), max(one.y0, other.y0) - min(one.y1, other.y1))


@pytest.mark.parametrize("name", FIGURES)
def test_what_is_written_stays_in_the_figure_and_apart(name):
    figure = drawn(name)
    boxes = written(figure)
    assert len(boxes) > 3
    for text, box, _ in boxes:
        free = (box.x0, box.y0, figure.bbox.x1 - box.x1, figure.bbox.y1 - box.y1)
        assert min(free) > -1, f"{text!r} leaves the figure"
    for place, (text, *one) in enumerate(boxes):
        for other, *beside in boxes[:place]:
            assert apart(*one, *beside) > -2, f"{text!r} covers {other!r}"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_read_on_a_phone(name):
    svg = drawn(name).svg()
    assert float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1]) <= style.WIDE
    assert min(int(size) for size in re.findall(r"font-size: (\d+)px", svg)) >= 11


def test_labels_that_are_moved_apart_stay_as_near_as_can_be():
    near = plots.apart(np.array([50.0, 51, 90]), np.array([14.0, 14, 14]), 0, 200)
    np.testing.assert_allclose(near, [43.5, 57.5, 90])  # the pair around its middle, the third where it was
    low, high = plots.apart(np.array([1.0, 199, 200]), np.array([14.0, 14, 28]), 0, 200)[[0, 2]]
    assert (low, high) == (7, 186), "none below the axis, none above"
    assert plots.apart(np.array([9.0, 5]), np.array([4.0, 4]), 0, 20).tolist() == [9, 5]


def axis_of(figure, which="x"):
    axis = getattr(figure.axes[0], f"{which}axis")
    return dict(zip(axis.get_ticklocs(), [label.get_text() for label in axis.get_ticklabels()]))


def test_axes_are_true_and_say_numbers():
    curves = plots.lines([16, 256, 1024, 16384], {"share": [0.99, 0.95, 0.9, 0.85]}, log="x")
    assert list(axis_of(curves).values()) == ["16", "256", "1,024", "16,384"]
    place = {name: curves.axes[0].transData.transform((x, 0.9))[0] for x, name in axis_of(curves).items()}
    assert place["256"] - place["16"] == pytest.approx(2 * (place["1,024"] - place["256"])), "times 16, and times 4"
    assert curves.axes[0].get_ylim()[0] == 0, "what is no scale of powers begins at 0"
    assert plots.lines([1, 2], {"score": [-2, 3]}).axes[0].get_ylim()[0] < -2
    low = axis_of(plots.lines([1, 2, 3], {"norm": [1e-16, 1, 3e9]}, log="y"), "y").values()
    assert "1" in low and all(name.startswith("10") for name in {*low} - {"1"}), "one way of saying numbers"


def test_what_matters_has_a_colour_and_the_rest_is_grey():
    curves = {"attention": [1, 0.9], "one vector": [1, 0.1]}
    drawn = plots.lines([1, 2], curves, message=["attention"]).axes[0].get_lines()
    assert drawn[1].get_color() == style.LIGHT["quiet"] != drawn[0].get_color()
    band = {"attention": ([0.9, 0.8], [1, 1])}
    said = plots.lines([1, 2], curves, levels={"a guess": 0.125}, bands=band).description
    assert "attention: from 1 at 1 (0.9 to 1) to 0.9 at 2 (0.8 to 1)." in said and "Dashed: a guess, 0.125." in said
    with pytest.raises(ValueError, match="no curve is named"):
        plots.lines([1, 2], curves, message=["Attention"])


def bar_numbers(figure):
    """(box of the letters, place of the level on the page) of the number of each bar."""
    figure.draw_without_rendering()
    axes = figure.axes[0]
    levels = [axes.transData.transform(dashes)[0, 0] for dashes in axes.collections[-1].get_segments()]
    return [(text.get_window_extent(), level) for text, level in zip(axes.texts, levels)]


@pytest.mark.parametrize("level", [0.1, 0.4, 0.45, 0.5, 0.52, 0.55, 0.6, 0.99])
def test_no_number_of_a_bar_touches_the_dashed_line(level):
    figure = plots.bars({"somebody": 0.45, "a place": 0.98, "less than nothing": -0.1}, level=("a coin", level))
    for box, line in bar_numbers(figure):
        assert line < box.x0 - 2 or box.x1 + 2 < line, f"{level}: the line is at {line:.1f}, the number at {box}"
        assert line < figure.axes[0].bbox.x1, "the line is in the picture"


@modes
def test_bars_that_matter_are_told_from_the_grey_and_the_level_from_both(dark):
    values = {"la": 63.0, "reina": 2.0, "verde": -11.0}
    axes = plots.bars(values, message=["la", "reina"], level=("8 · 8", 64)).axes[0]
    bars = [bar.get_facecolor() for bar in axes.patches]
    assert bars[0] == bars[1] != bars[2]
    ground, quiet, data, ink = (style.ROLES[role][dark] for role in ("ground", "quiet", "data", "ink"))
    assert to_hex(bars[0]) == style.LIGHT["data"] and to_hex(bars[2]) == style.LIGHT["quiet"]
    grey = style.blend(quiet, ground, bars[2][3])
    assert contrast(grey, ground) >= 3 and abs(lightness(grey) - lightness(data)) > 15
    halo, dashes = axes.collections
    assert [to_hex(line.get_color()[0]) for line in (halo, dashes)] == [style.LIGHT["ground"], style.LIGHT["ink"]]
    assert halo.get_linewidth()[0] >= dashes.get_linewidth()[0] + 2 and contrast(ink, ground) > 4.5
    assert halo.get_zorder() > axes.patches[0].get_zorder(), "a halo above the bars"
    assert len({bar.get_facecolor() for bar in plots.bars(values).axes[0].patches}) == 1, "none is grey"
    with pytest.raises(ValueError, match=r"no bar is named \['Reina'\]: they are \['la', 'reina', 'verde'\]"):
        plots.bars(values, message=["Reina"])


def test_the_line_that_bars_begin_at_is_at_0():
    axes = plots.bars({"la": 63.0, "verde": -11.0}).axes[0]
    upright = [line.get_xdata()[0] for line in axes.get_lines()]
    assert upright == [0] and not axes.spines.left.get_visible() and axes.get_xlim()[0] <= -11


@pytest.mark.parametrize("word, reach", [(-1, [3, 5, 7]), (4, [3, 5, 5]), (0, [1, 1, 1])])
def test_a_cone_is_what_the_tables_say(word, reach):
    figure = plots.cone(WINDOWS, word)
    axes, word = figure.axes[0], word % 9
    layers = ("1 layer", "2 layers", "3 layers")
    assert [text.get_text() for text in axes.texts] == [f"{many}: {count}" for many, count in zip(layers, reach)]
    lit = {tuple(place) for dots in axes.collections[1::2] for place in dots.get_offsets().tolist()}
    below = {(place, depth) for depth in (1, 2, 3) for place in np.flatnonzero(WINDOWS[f"layers: {depth}"][word])}
    assert lit == below | {(word, 0)}
    strong = [line for line in axes.get_lines() if line.get_color() == style.LIGHT["weight"]]
    ends = [{(line.get_xdata()[end], line.get_ydata()[end]) for line in strong} for end in (0, 1)]
    assert ends[0] == {place for place in lit if place[1] < 3} and ends[1] == below
    assert len(axes.get_lines()) == 3 * WINDOW.sum(), "all others are there, pale"
    assert tables_of(figure)[f"Whom word {word + 1} of layer 3 hears"][-1].count("yes") == reach[-1]


def test_a_cone_wants_tables_of_one_size():
    with pytest.raises(ValueError, match=r"table 'two' \(9, 8\) must be \(9, 9\)"):
        plots.cone({"one": WINDOW, "two": WINDOW[:, :8]})


def test_a_photograph_is_shown_as_it_is_and_what_is_hidden_is_grey():
    picture = np.random.default_rng(0).random((4, 3, 3))
    hidden = picture.copy()
    hidden[1, 2] = np.nan
    figure = plots.photographs({"all": picture, "one hidden": hidden})
    shown = [axes.images[0].get_array() for axes in figure.axes]
    np.testing.assert_allclose(shown[0], picture)
    np.testing.assert_allclose(shown[1][1, 2], [0.55] * 3)
    assert "all: 4x3, mean of red, green, blue" in figure.description and "1 hidden" in figure.description


def test_a_map_of_offsets_is_the_mean_over_the_places():
    rows, columns = np.divmod(np.arange(16), 4)
    right = (rows[:, None] == rows) & (columns[:, None] + 1 == columns)  # looks at the one to its right
    far = np.where(np.arange(16) == 15, 6.0, 0.0) * (np.arange(16) == 0)[:, None]  # the first at the last
    figure = plots.offsets({"A": 2.0 * right, "B": far}, "the stronger, the more")
    tables = {title: np.array(table)[1:, 1:].astype(float) for title, table in tables_of(figure).items()}
    assert tables["A"][3, 4] == 2 and tables["A"].sum() == 2, "a mean over the pairs that are so far apart"
    assert tables["B"][6, 6] == 6 and tables["B"].sum() == 6 and tables["A"].shape == (7, 7)
    assert "A: (0, 1) 2.00" in figure.description and "B: (3, 3) 6.00" in figure.description
    for panel, strong, place in zip(figure.axes, (2 / 6, 1), ((3, 4), (6, 6))):
        cells = [patch for patch in panel.patches if patch.get_fill()]
        deepest = max(cells, key=lambda cell: cell.get_facecolor()[3])
        assert deepest.get_facecolor()[3] == pytest.approx(strong, abs=0.01), "one scale for all"
        assert (deepest.get_y() + 0.5, deepest.get_x() + 0.5) == place
        frames = [patch for patch in panel.patches if not patch.get_fill()]
        assert {(round(one.get_x() + 0.45), round(one.get_y() + 0.43)) for one in frames} == {(3, 3)}
    for shape in ((15, 15), (16, 9)):
        with pytest.raises(ValueError, match=rf"map 'A' \({shape[0]}, {shape[1]}\) must be \(n, n\), n the square"):
            plots.offsets({"A": np.ones(shape)}, "")


def test_the_name_of_a_level_stands_where_no_curve_runs():
    figure = drawn("levels that are named inside")
    figure.draw_without_rendering()
    axes = figure.axes[0]
    boxes = {text.get_text(): text.get_window_extent() for text in axes.texts}
    lines = [axes.transData.transform(line.get_xydata()) for line in axes.get_lines()[:2]]
    levels = {"TF-IDF, other words": 0.25, "TF-IDF, mean of the rest": 0.388}
    for name in levels:
        box = boxes[name]
        assert axes.bbox.x0 < box.x0 < box.x1 < axes.bbox.x1, "inside"
        across = np.linspace(box.x0, box.x1, 100)
        for line in lines:
            height = np.interp(across, *line.T)
            assert ((height > box.y1 + 2) | (height < box.y0 - 2)).all(), f"a curve runs through {name!r}"
        heights = [axes.transData.transform((0, other))[1] for other in levels.values()]
        assert not [height for height in heights if box.y0 < height < box.y1], "and no level does"
        near = min(levels, key=lambda other: abs(axes.transData.transform((0, levels[other]))[1] - box.y0 - 7))
        assert near == name
