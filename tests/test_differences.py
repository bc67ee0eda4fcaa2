"""The drawings of what models of today do differently say what they show, and it is right."""

import math
import re

import pytest

from utils.widgets import differences


@pytest.mark.parametrize("distance", [-5, 0, 2, 11])
def test_two_hands_that_move_together_keep_angle_and_product(distance):
    said = set()
    for position in range(max(0, -distance), 13 - max(0, distance)):
        words = differences.draw_rotary(20 + 15 * (position + distance), 70 + 15 * position).description
        said.add(re.search(r"(\d+) degrees between them, q · k (-?\d\.\d\d)\.", words).groups())
    assert said == {(f"{abs(15 * distance - 50)}", f"{0.96 * math.cos(math.radians(15 * distance - 50)):.2f}")}


def test_a_dragged_hand_stops_at_whole_positions():
    explorer = differences.rotary_hands()
    for angle, position in ((27, 0), (28, 1), (5, 0), (350, 12), (141, 8)):
        explorer.touch({"angle_q": angle})
        assert explorer.state["angle_q"] == 20 + 15 * position


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_blocks_of_any_size_end_with_the_same_sum(size):
    scores = [1.0, 2.0, 0.5, -1.0, 3.5, 1.5, 0.0, 2.5]
    view = differences.softmax_in_blocks(scores, size)
    total = f"{sum(math.exp(score - 3.5) for score in scores):.2f}"
    assert re.findall(r"sum (\S+?)[;.] ", view.description)[-1] == total
    assert view.description.endswith(f"{total}.") and view.svg.count(f">block {math.ceil(8 / size)}<") == 1


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_old_sum_shrinks_when_a_larger_score_arrives(size):
    scores = [1.0, 2.0, 0.5, -1.0, 3.5, 1.5, 0.0, 2.5]
    view = differences.softmax_in_blocks(scores, size)
    tops = [max(scores[:end]) for end in range(size, len(scores) + size, size)]  # the largest after each block
    shrinks = [f"{math.exp(old - new):.2f}" for old, new in zip(tops, tops[1:])]
    assert re.findall(r"old sum times (\S+), ", view.description) == shrinks
    bars = [float(wide) for wide in re.findall(r'width="([\d.]+)" height="12"', view.svg)][:-2]  # but the legend's
    sums = [sum(math.exp(score - top) for score in scores[: size * (row + 1)]) for row, top in enumerate(tops)]
    long = [left + new for left, new in zip(bars[::2], bars[1::2])]
    assert long == pytest.approx([one * long[-1] / sums[-1] for one in sums], abs=0.2)
    olds = [float(wide) - 2 for wide in re.findall(r'width="([\d.]+)" height="16"', view.svg)][:-1]
    assert olds == pytest.approx(long[:-1], abs=0.2) and view.svg.count('stroke-dasharray="4 3"') == len(long)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        differences.softmax_in_blocks([1.0, math.nan], 1)
