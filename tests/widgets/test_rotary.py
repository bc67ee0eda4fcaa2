"""Rotary positions: what stays if both words move, and where a word that is dragged stops."""

import re

import pytest

from utils.widgets import rotary


@pytest.mark.parametrize("distance", [-5, 0, 2, 11])
def test_two_words_that_move_together_keep_angles_and_product(distance):
    said = set()
    for position in range(max(0, -distance), rotary.PLACES - max(0, distance)):
        words = rotary.draw_rotary(position + distance, position).description
        said.add(tuple(re.findall(r"(\d+) degrees between|(\d+) degrees, adds|q · k is (-?\d\.\d\d)", words)))
    assert len(said) == 1


def test_two_words_at_another_distance_have_another_product():
    found = {round(sum(rotary.product({"q": q, "k": k})), 3): q - k for q in range(12) for k in range(12)}
    assert [distance for total, distance in found.items() if abs(total - sum(rotary.product(rotary.FIRST))) < 0.01] == [
        2
    ]


def test_a_dragged_word_stops_at_whole_positions_of_the_sentence():
    explorer = rotary.rotary_hands()
    for asked, position in ((0.4, 0), (0.6, 1), (-3, 0), (40, 11), (8.2, 8)):
        explorer.touch({"q": asked})
        assert explorer.state["q"] == position
