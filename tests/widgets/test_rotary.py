"""The drawings of what models of today do differently say what they show, and it is right."""

import math
import re

import pytest

from utils.widgets import rotary


@pytest.mark.parametrize("distance", [-5, 0, 2, 11])
def test_two_hands_that_move_together_keep_angle_and_product(distance):
    said = set()
    for position in range(max(0, -distance), 13 - max(0, distance)):
        words = rotary.draw_rotary(20 + 15 * (position + distance), 70 + 15 * position).description
        said.add(re.search(r"(\d+) degrees between them, q · k (-?\d\.\d\d)\.", words).groups())
    assert said == {(f"{abs(15 * distance - 50)}", f"{0.96 * math.cos(math.radians(15 * distance - 50)):.2f}")}


def test_a_dragged_hand_stops_at_whole_positions():
    explorer = rotary.rotary_hands()
    for angle, position in ((27, 0), (28, 1), (5, 0), (350, 12), (141, 8)):
        explorer.touch({"angle_q": angle})
        assert explorer.state["angle_q"] == 20 + 15 * position
