"""Attention in blocks as a moving picture: the sums are right, the bars as long as these, and what is dragged moves."""

import math
import xml.etree.ElementTree

import numpy as np
import pytest

from tools.site.films import MOST, Recorder
from tools.site.shown import PAGES
from utils import widgets
from utils.widgets import online_softmax

SCORES, VALUES = [1.0, 2.0, 0.5, -1.0, 3.5, 1.5, 0.0, 2.5], [1.0, -1.0, 2.0, 0.5, 3.0, -2.0, 1.0, 4.0]


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_blocks_of_any_size_end_with_the_softmax_of_all(size):
    last = online_softmax.read_blocks(np.array(SCORES), np.array(VALUES), size)[-1]
    powers = np.exp(SCORES)
    assert last.sum.total == pytest.approx(powers.sum() / math.exp(3.5))
    assert last.mixture.total / last.sum.total == pytest.approx(powers @ VALUES / powers.sum())


def bars(svg):
    """{data-id: (left, width)} of the sum's bars, and the same of the dashed one."""
    rects = [one.attrib for one in xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect")]
    named = {one["data-id"]: one for one in rects if one.get("data-id", "").startswith("sum")}
    dashed = [one for one in rects if one.get("stroke-dasharray") == "4 3"]
    named |= {"dashed": dashed[0]} if dashed else {}
    return {name: (float(one["x"]), float(one["width"])) for name, one in named.items()}


def test_the_old_sum_shrinks_from_its_dashed_outline():
    explorer = widgets.softmax_in_blocks(SCORES)
    shown = []
    for step in (2, 3):
        explorer.controls["step"].value = step
        shown.append(bars(explorer.screen.value))
    before, now = shown
    assert now["dashed"] == pytest.approx(before["sum 1"], abs=0.15), "what was the new sum is the old one"
    assert now["sum 1"][1] == pytest.approx(before["sum 1"][1] * math.exp(2 - 3.5), abs=0.15)
    explorer.touch({"score_5": -4.0, "score_6": -4.0})
    now = bars(explorer.screen.value)
    assert now["sum 1"] == now["dashed"], "without a larger score nothing shrinks"


def test_a_last_score_that_is_dragged_up_does_the_task():
    explorer = widgets.softmax_in_blocks(SCORES)
    for asked, got, done in ((5.4, 5.5, False), (5.8, 6.0, True), (9, 6.0, True), (-7, -4.0, False)):
        explorer.touch({"score_8": asked})
        assert explorer.state["score_8"] == got and ("✔" in explorer.screen.value) == done
    explorer.touch({"score_8": 6, "size": 8})
    assert "✔" not in explorer.screen.value and "With one block, there" in explorer.screen.value


def test_a_picture_stays_as_tall_while_scores_and_blocks_change():
    explorer, tall = widgets.softmax_in_blocks(SCORES, VALUES), set()
    for values in ({}, {"step": 4}, {"score_8": 6}, {"size": 8}, {"score_1": -4}):
        explorer.touch(values)
        tall.add(xml.etree.ElementTree.fromstring(explorer.screen.value).get("viewBox"))
    assert len(tall) == 1


@pytest.mark.parametrize(
    "scores, values, problem",
    [
        ([1.0, 2.0, 3.0], None, "3 scores: give 4, 6 or 8"),
        ([1.0, 2.0, 7.2, 0.0], None, "score 7.2 must lie from -4 to 6 in steps of 0.5, .*: give 6"),
        ([1.0, 2.2, 3.0, 0.0], None, "score 2.2 must lie .*: give 2$"),
        ([1.0, math.nan, 3.0, 0.0], None, "NaN"),
        ([1.0, 2.0, 3.0, 0.0], [1.0, 2.0], "2 values for 4 scores: give one number for each score"),
        ([1.0, 2.0, 3.0, 0.0], [[1.0, 2.0]], "needs numbers with 1 ax"),
    ],
)
def test_scores_that_cannot_be_dragged_are_refused(scores, values, problem):
    with pytest.raises(ValueError, match=problem):
        widgets.softmax_in_blocks(scores, values)


def test_a_page_shows_few_enough_states():
    recorder = Recorder(widgets.softmax_in_blocks(SCORES, VALUES), PAGES["softmax_in_blocks"])
    try:
        assert recorder.shown == ["step", "size", "score_8"] and recorder.number() < MOST / 2
    finally:
        recorder.release()
