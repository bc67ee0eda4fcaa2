"""Colours that everybody can read and tell apart: contrast, lightness in grey, three kinds of colour blindness."""

import io
import xml.etree.ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba
from PIL import Image

from utils import plots, style
from utils.widgets import canvas

MAPS = {"weights": style.WEIGHTS, "signed": style.SIGNED, "waves": style.WAVES}
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


@pytest.mark.parametrize("name", ["BLUE", "DARK_ORANGE", "GREEN", "RED", "GREY"])
def test_a_colour_of_text_is_read_on_white(name):
    assert contrast(getattr(style, name), "white") >= 4.5


def test_black_or_white_is_read_on_every_colour():
    assert contrast(canvas.INK, "white") > 15
    for colours in MAPS.values():
        for share in np.linspace(0, 1, 501):
            assert contrast(style.ink_on(colours(share)), colours(share)) >= 4.5
    for grey in np.linspace(0, 1, 501):
        assert contrast(style.ink_on((grey, grey, grey)), (grey, grey, grey)) >= 4.58


@pytest.mark.parametrize("signed", [False, True])
def test_the_numbers_of_a_heat_map_are_read(signed):
    values = np.linspace(-1 if signed else 0, 1, 100).reshape(10, 10)
    axes = plots.heat_map(values, range(10), range(10), signed=signed).axes[0]
    image = axes.images[0]
    for text in axes.texts:
        column, row = text.get_position()
        ground = image.cmap(image.norm(values[int(row), int(column)]))
        assert contrast(to_rgba(text.get_color())[:3], ground[:3]) >= 4.5, text.get_text()


def test_a_cell_of_a_widget_is_read():
    for share in np.linspace(-1, 1, 201):
        board = canvas.Canvas(100, 100)
        board.cell(0, 0, 50, 30, share, 1.0, signed=True)
        ground, ink = (shape.partition('fill="')[2].partition('"')[0] for shape in board.shapes)
        assert contrast(ink, ground) >= 4.5


def test_maps_are_read_in_grey():
    shares = np.linspace(0, 1, 101)
    for name in ("weights", "waves"):
        steps = np.diff([lightness(MAPS[name](share)) for share in shares])
        assert (steps < 0).all() or (steps > 0).all(), f"{name}: every number has a lightness of its own"
    sizes = np.array([lightness(style.SIGNED(share)) for share in shares])
    assert (np.diff(sizes[:51]) > 0).all() and (np.diff(sizes[50:]) < 0).all(), "the further from 0, the darker"
    assert abs(sizes - sizes[::-1]).max() < 8, "and as dark on either side: the number in the cell has the sign"


@pytest.mark.parametrize("kind", BLINDNESS)
def test_signs_are_told_apart_by_the_colour_blind(kind):
    for colours in (style.SIGNED, style.WAVES):
        ends = [lab(np.array(BLINDNESS[kind]) @ linear(colours(end))) for end in (0.0, 1.0)]
        assert np.linalg.norm(ends[0] - ends[1]) > 40


def test_a_figure_in_256_colours_is_the_same_to_the_eye():
    figure = plots.heat_map(np.linspace(-1, 1, 36).reshape(6, 6), range(6), range(6), signed=True)
    whole, small = io.BytesIO(), figure.png()
    figure.savefig(whole, format="png")
    before, after = (np.asarray(Image.open(png).convert("RGB"), float) for png in (whole, io.BytesIO(small)))
    assert before.shape == after.shape and abs(before - after).mean() < 1.5 and len(small) < 0.6 * len(whole.getvalue())


def test_a_figure_and_a_view_carry_their_text_as_an_image():
    figure = plots.heat_map(np.eye(2), ["<pad>", 'a "b"'], "cd")
    view = canvas.verdict("<pad> & co", None, ['"no"'])
    for shown in (figure, view):
        bundle = shown._repr_mimebundle_()
        bundle = bundle[0] if isinstance(bundle, tuple) else bundle
        alt, _, source = bundle["text/html"].removeprefix('<img alt="').partition('" src="data:image/')
        assert alt == shown.description.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace(
            '"', "&quot;"
        )
        assert source.startswith(("png;base64,", "svg+xml;base64,")) and bundle["text/plain"] == shown.description


def tables_of(figure):
    """What stands behind the fold of a figure: {title: rows of cells, the head first}."""
    found = xml.etree.ElementTree.fromstring(figure._repr_mimebundle_()[0]["text/html"].partition(">")[2])
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
