"""The drawings of what models of today do differently say what they show, and it is right."""

import math
import re

import pytest

from utils.widgets import differences


@pytest.mark.parametrize("places", [[(1, 0), (3, 2), (60, 59)], [(0, 0), (7, 7)], [(2, 9)]])
def test_turned_pairs_keep_their_angle(places):
    said = differences.turned_pairs((1.0, 0.0), (0.0, 2.0), places, turn=0.1).description
    product = 2 * math.cos(math.pi / 2 + 0.1 * (places[0][1] - places[0][0]))
    assert len(set(re.findall(r"(\d+) degrees between", said))) == 1
    assert said.count(f"q · k {product + 0.0:.2f}".replace("-0.00", "0.00")) == len(places)


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
    with pytest.raises(ValueError, match="2 axes"):
        differences.turned_pairs([[1.0, 0.0]], [[1.0, 0.0]], [(0, 0)])
