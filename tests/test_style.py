"""Colours that everybody can read and tell apart: contrast, lightness in grey, three kinds of colour blindness."""

import re
import xml.etree.ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

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
TOGETHER += [("data", "negative")]


@modes
@pytest.mark.parametrize("kind", BLINDNESS)
@pytest.mark.parametrize("pair", TOGETHER, ids="-".join)
def test_roles_that_meet_are_told_apart_by_the_colour_blind(pair, kind, dark):
    one, other = (lab(np.array(BLINDNESS[kind]) @ linear(style.ROLES[role][dark])) for role in pair)
    assert np.linalg.norm(one - other) > 10


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
