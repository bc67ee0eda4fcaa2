"""Every state of every widget: it is drawn, quickly, as XML, in colours that can be read, and what is said is right."""

import math
import re
import time
import xml.etree.ElementTree

import ipywidgets
import numpy as np
import pytest
import torch
from course_widgets import COURSE, agree, numbers

from tools.site.record_widgets import record, values
from utils import widgets
from utils.style import ROLES, blend, luminance
from utils.widgets import (
    attention,
    beyond,
    blocks,
    encoder,
    heads,
    online_softmax,
    recurrence,
    traps,
)

MOST = {"check": 150, "test": 150, "all": 600}  # states; of more, all values of all controls and a sample
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (  # what somebody types by accident, or to see what happens
    "",
    " \t\u00a0",
    "\x00\x1b[31m",
    "\ud800",
    "\ufffe",
    "$$ \\frac{1}{0} %s {0}",
    "<script>alert('&amp;')</script> ]]> \"",
    "<pad> <s> </s> <unk>",
    "\u202eשלום 👩‍👩‍👧",
    "x" * 3000,
    "the " * 300,
)


def test_numbers_agree_when_they_are_rounded():
    assert agree("a 0.33, b 3e-05 (2)", "a 0.3333, b 0.0000312 (2)") and agree("-0.50", "-0.5")
    for said in ("a 0.34, b 3e-05 (2)", "a 0.33, b 4e-05 (2)", "a 0.33, b 3e-05 (3)", "c 0.33, b 3e-05 (2)", "a 0.33"):
        assert not agree(said, "a 0.3333, b 0.0000312 (2)"), said


def drawn(root):
    """The numbers with two decimals that stand in a picture."""
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    return [float(text) for part in texts for text in re.findall(r"^(?:sum )?(-?\d+\.\d\d)$", part)]


def same_table(found, exact):
    """Are the numbers of a table, in any order, the exact ones, rounded?"""
    return len(found) == len(exact) and all(abs(a - b) < 0.0051 for a, b in zip(sorted(found), sorted(exact)))


def colour(paint, dark):
    """A paint of the picture as a light page shows it, or a dark one; only roles have two."""
    role = re.fullmatch(r"var\(--([a-z-]+)\)", paint)
    return ROLES[role[1]][dark] if role else paint


def unreadable(root):
    """Texts with less contrast than 4.5 : 1 to what is drawn under their middle, on light pages or on dark ones."""
    grounds, found = [], []
    for element in root.iter():
        if element.tag == f"{SVG}rect" and element.get("fill") != "none" and "%" not in element.get("width"):
            x, y, width, height = (float(element.get(name)) for name in ("x", "y", "width", "height"))
            share = float(element.get("fill-opacity", 1)) * float(element.get("opacity", 1))
            grounds.append((x, y, x + width, y + height, element.get("fill"), share))
        elif element.tag == f"{SVG}text" and (element.text or "").strip():
            x, y, size = (float(element.get(name)) for name in ("x", "y", "font-size"))
            x += 0.25 * size * len(element.text) * {"start": 1, "middle": 0, "end": -1}[element.get("text-anchor")]
            for dark in (0, 1):
                under = ROLES["ground"][dark]
                for a, b, c, d, fill, share in grounds:
                    if a <= x <= c and b <= y - 0.35 * size <= d:
                        under = blend(colour(fill, dark), under, share)
                light, deep = sorted(map(luminance, (colour(element.get("fill"), dark), under)), reverse=True)
                if (light + 0.05) / (deep + 0.05) < 4.5:
                    found.append((element.text, element.get("fill"), under, "dark" if dark else "light"))
    return found


def width(root):
    return float(root.get("viewBox").split()[2])


def misplaced(root):
    """Texts of a picture for phones that are smaller than eleven pixels there, or run out of it.

    In Helvetica and Arial a letter is about half as wide as high, a digit 0.56, and a bold one a little more."""
    _, _, wide, tall = map(float, root.get("viewBox").split())
    found = []
    for element in root.iter(f"{SVG}text"):
        x, y, size = (float(element.get(name)) for name in ("x", "y", "font-size"))
        mono = "monospace" in element.get("font-family", "")
        length = (0.6 if mono else 0.52) * size * len(element.text or "")
        left = x - length * {"start": 0, "middle": 0.5, "end": 1}[element.get("text-anchor")]
        inside = -2 <= left and left + length <= wide + 2 and size <= y <= tall
        if size < 11 or not (inside or element.get("transform")):
            found.append((element.text, size, left, left + length, y))
    return found


def strange(root):
    """Paints that are no roles: a picture has the course's colours alone."""
    paints = {element.get(name) for element in root.iter() for name in ("fill", "stroke")}
    return {paint for paint in paints - {None, "none"} if not re.fullmatch(r"var\(--[a-z-]+\)", paint)}


def alike(root):
    """Shapes in two roles that are hardly told apart: what is framed as "here" among what is "negative"."""
    paints = {one.get(name) for one in root.iter() if one.tag != f"{SVG}text" for name in ("fill", "stroke")}
    return {"var(--here)", "var(--negative)"} <= paints


def test_all_widgets_are_driven():
    assert set(COURSE) == {name for name, made in vars(widgets).items() if callable(made)}


@pytest.mark.sampled(2, "utils/widgets/")
@pytest.mark.parametrize("name", COURSE)
def test_every_state_is_right(name, browser_report, pytestconfig):
    explorer, expected = COURSE[name](widgets)
    for control in explorer.controls.values():
        if isinstance(control, ipywidgets.Text):
            control.tries += HOSTILE
    first, number, slowest, seen = explorer.state, 0, 0.0, {name: set() for name in explorer.controls}
    began = time.process_time()
    most = max(
        MOST[pytestconfig.getoption("lane")], sum(len(values(control)) for control in explorer.controls.values())
    )
    for state, svg, description in record(explorer, most):
        slowest, number = max(slowest, time.process_time() - began), number + 1
        root = xml.etree.ElementTree.fromstring(svg)
        assert root.get("aria-label").split() == description.split()
        said, table = expected(state)
        assert agree(description, said), (state, description, said)
        assert table is None or same_table(drawn(root), table), (state, drawn(root), table)
        assert not unreadable(root) and not strange(root), (state, unreadable(root), strange(root))
        assert not alike(root), state
        assert width(root) == 356 and not misplaced(root), (state, misplaced(root))
        for control, value in state.items():
            seen[control].add(value)
        began = time.process_time()
    assert explorer.state == first, "the widget is left as it was"
    missed = {key: set(values(control)) - seen[key] for key, control in explorer.controls.items()}
    assert not any(missed.values()), missed
    browser_report.append(f"every state of {name:<25} {number:5} states, slowest {1000 * slowest:4.0f} ms")
    assert slowest < 1, "seconds; 0.1 on the machine of the course"


@pytest.mark.parametrize("name", COURSE)
def test_a_first_view_asks_something_that_is_not_done_yet(name):
    root = xml.etree.ElementTree.fromstring(COURSE[name](widgets)[0].first.svg)
    said = [element.text or "" for element in root.iter(f"{SVG}text")]
    done = any(text.startswith("✔") for text in said)
    assert done == (name == "bottleneck"), "with these numbers its first length is the right one"
    assert done or any("?" in text or "○" in text for text in said), said


# What may stay blank of a first view from its lowest shape, but texts, to its highest one below: a quarter.
EMPTY_ONCE = "attention_flow attention_shapes heads_at_work crossing hiding three_cuts whole_transformer".split()


def heights(root):
    """From where to where shapes and texts of a picture stand: (top, foot) of each."""
    found = []
    for element in root.iter():
        if element.tag == f"{SVG}rect" and "%" not in element.get("width"):
            y = float(element.get("y"))
            found.append((y, y + float(element.get("height"))))
        elif element.tag == f"{SVG}text" and element.text:
            found.append((float(element.get("y")) - float(element.get("font-size")), float(element.get("y"))))
    return sorted(found)


@pytest.mark.parametrize("name", EMPTY_ONCE)
def test_a_first_view_has_no_empty_quarter(name):
    root = xml.etree.ElementTree.fromstring(COURSE[name](widgets)[0].first.svg)
    tall, reached, widest = float(root.get("viewBox").split()[3]), 0.0, 0.0
    for top, foot in [*heights(root), (math.inf, math.inf)]:
        widest, reached = max(widest, min(top, tall) - reached), max(reached, foot)
    assert widest < 0.25 * tall, (widest, tall)


DRAWINGS = {
    "unrolled": lambda: recurrence.draw_unrolled("dear friend I am well".split()),
    "unrolled, with guesses": lambda: recurrence.draw_unrolled(
        ["<s>", *"so long and thanks".split()] * 2, list("ab") * 5
    ),
    "encoder and decoder, unrolled": lambda: recurrence.draw_unrolled(list("abcdefghij"), [*5 * [""], *"abcde"], 5),
    "norms": lambda: blocks.norm_axes(["unmistakable", "b", "c"], torch.arange(-9.0, 3).view(3, 4)),
    "orders": blocks.norm_orders,
    "agreement": lambda: traps.agreement(
        "the old bears near a tree slept".split(), [2, 2, 2, None, 5, 5, 2], ["m pl"] * 7
    ),
    "read in blocks, without values": lambda: online_softmax.draw_blocks(
        np.array([1.5, 2.0, 0.5, -1.0, 3.5, -3.5]), None, 2, 3, (1, 2)
    ),
    "sampling, whatever occurs": lambda: (
        widgets.sampling(["a"], numbers(1, 30), [f"word {k}" for k in range(30)]).first
    ),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_fits_a_phone_and_can_be_read(name):
    root = xml.etree.ElementTree.fromstring(DRAWINGS[name]().svg)
    assert width(root) == 356 and not misplaced(root), misplaced(root)
    assert not unreadable(root) and not strange(root), (unreadable(root), strange(root))
    assert not alike(root)


def shapes(svg, tag, **wanted):
    """The shapes of a picture with this tag and these attributes, in order, each as its attributes."""
    found = (one.attrib for one in xml.etree.ElementTree.fromstring(svg).iter(f"{SVG}{tag}"))
    return [one for one in found if wanted.items() <= one.items()]


def test_shares_add_up_to_the_line_of_100_percent():
    parts = [0.3, -0.12, 0.7, 0.3, -0.18]
    view = attention.draw_weight_and_share("abcde", torch.full((5, 5), 0.2), torch.tensor(parts)[:, None], 0)
    bars = [one for one in shapes(view.svg, "rect", height="14") if one["fill"] != "var(--weight)"]
    nothing, whole = (float(one["x1"]) for one in shapes(view.svg, "line") if one["x1"] == one["x2"] and len(one) == 6)
    begin = nothing
    for part, bar in zip(parts, bars, strict=True):
        end = begin + part * (whole - nothing)
        assert float(bar["x"]) == pytest.approx(min(begin, end), abs=0.1)
        assert float(bar["width"]) == pytest.approx(abs(end - begin), abs=0.1)
        assert bar["fill"] == ("var(--negative)" if part < 0 else "var(--value)")
        begin = end
    assert begin == pytest.approx(whole, abs=0.1)
    weights = shapes(view.svg, "rect", fill="var(--weight)")
    assert {one["width"] for one in weights} == {"50"}, "scaled to the largest"


@pytest.mark.parametrize("count", [2, 4])
def test_merged_columns_keep_the_shades_of_their_heads(count):
    pictures = [
        heads.draw_split("my name is marcello politi".split(), count, False, stage, 0) for stage in (1, 2, 3, 4)
    ]
    by_number = []
    for view in pictures:
        cells = shapes(view.svg, "rect", height="17")
        by_number.append({one["data-id"]: one["fill-opacity"] for one in cells if "data-id" in one})
    assert by_number[0] == by_number[1] == by_number[2] == by_number[3]
    assert len(by_number[0]) == 80 and len(set(by_number[0].values())) == count


def test_what_a_row_and_a_column_make_is_framed_on_top():
    frames = [one["stroke"] for one in shapes(attention.draw_shapes(3, 5, 8, 4).svg, "rect", fill="none")]
    assert frames[-2:] == ["var(--here)"] * 2 and len(frames) == 6 and "var(--here)" not in frames[:4]


def test_triangles_point_at_two_rows():
    view = encoder.draw_waves(16, 4, 7)
    table = shapes(view.svg, "image")[0]
    triangles = {"var(--ink)": 4, "var(--here)": 11}
    for role, row in triangles.items():
        corners = [one["points"].split() for one in shapes(view.svg, "polygon", fill=role)[:2]]
        middle = float(table["y"]) + float(table["height"]) * (row + 0.5) / 36
        assert [float(points[-1].split(",")[1]) for points in corners] == pytest.approx([middle] * 2, abs=0.1)


def test_each_patch_size_has_its_number_of_scores():
    texts = [one.text for one in xml.etree.ElementTree.fromstring(beyond.draw_costs(8, 2, 1, 48).svg).iter()]
    assert {"4,096", "256", "16", "1"} <= set(texts)


def test_norms_are_those_of_the_layers():
    x = torch.tensor([[2.0, 4.5, 4, 6], [10, 0, 0, -2], [3, 3, 3, 3]])
    said = blocks.norm_axes("abc", x).description
    normed = torch.nn.functional.layer_norm(x, (4,))
    parts = [
        f"{word} {row.mean()} and {row.var(correction=0).sqrt()}, normed {', '.join(map(str, after.tolist()))}"
        for word, row, after in zip("abc", x, normed)
    ]
    columns = ", ".join(str(one) for one in (x.sum(0) / 3).tolist())
    expected = f"Layer norm: each row, one word, by itself; means and deviations: {'; '.join(parts)}. Each normed row"
    expected += f" has mean 0 and deviation 1. Batch norm: each column, over all words; means {columns}."
    assert agree(said, expected), said
    assert ">4.5<" in blocks.norm_axes("abc", x).svg and ">4.50<" not in blocks.norm_axes("abc", x).svg
    with pytest.raises(ValueError, match="pixels too wide"):
        blocks.norm_axes("abc", torch.linspace(-9, 9, 15).view(3, 5))


def test_all_states_are_walked_where_they_are_few():
    explorer, _ = COURSE["filling_cache"](widgets)
    assert len(list(record(explorer))) == 6 * 2 * 3
    explorer, _ = COURSE["two_arrows"](widgets)
    some = [tuple(state.values()) for state, _, _ in record(explorer, most=300)]
    assert len(some) == len(set(some)) == 300 and {a_x for a_x, *_ in some} == {k / 2 for k in range(-6, 7)}
    again = [tuple(state.values()) for state, _, _ in record(explorer, most=300)]
    assert again == some, "drawn from a seed"


def test_a_walk_that_is_left_leaves_the_widget_as_it_was():
    explorer, _ = COURSE["paint_mask"](widgets)
    first, shown = explorer.state, explorer.screen.value
    walk = record(explorer)
    for _ in range(9):
        next(walk)
    walk.close()
    assert explorer.state == first and explorer.screen.value == shown
    explorer.controls["box_0_0"].value = False
    assert explorer.screen.value != shown
