"""Choosing words: what the learner has to find is there, clicks go on from a word and back to one, errors name a remedy."""

import math

import pytest
import torch
from course_widgets import sentences, small_writer
from test_chat_widget import shapes_that_set

from utils import widgets
from utils.widgets import choosing


def test_the_most_probable_sentences_are_those_of_all():
    model, words, _ = small_writer()
    writer, begun = choosing.Writer(model, words), words.encode("la")
    found = choosing.most_probable_endings(writer, begun, 5, 4)
    every = sentences((*begun,), lambda ids: choosing.best_first(writer.logs(ids))[:5].tolist(), 5)
    totals = sorted((writer.total(ids, 1) for ids in every), reverse=True)
    assert [total for total, _ in found[:2]] == pytest.approx(totals[:2])


def test_a_click_writes_a_word_and_a_click_on_a_word_goes_back():
    model, words, _ = small_writer()
    explorer = widgets.next_word(model, words, "la", 4, 6)
    assert shapes_that_set(explorer.first.svg, "taken") == ["", "1:2", "1:3", "1:4"]
    explorer.touch({"taken": "1:2", "step": 1})
    explorer.touch({"step": 2})
    assert shapes_that_set(explorer.picture.svg, "step") == [0, 1, 3, 3, 3, 3]
    assert shapes_that_set(explorer.picture.svg, "taken") == ["", "1:2", "1:2", "1:2 3:2", "1:2 3:3", "1:2 3:4"]


@pytest.mark.parametrize(
    "p, said", [(0.5, "50.0%"), (0.0123, "1.2%"), (1 / 1234.5, "1 in 1,230"), (1e-3, "1 in 1,000")]
)
def test_small_chances_are_told_in_three_digits(p, said):
    assert choosing.chance(math.log(p)) == said


@pytest.mark.parametrize(
    "given, problem",
    [
        ({"candidates": 1}, "candidates 1 must be 2 to 12"),
        ({"limit": 0}, "must be at least 1"),
        ({"beginning": "la brujja"}, "'brujja' is not among the 8 words"),
        ({"beginning": "la </s>"}, "ends with </s>: leave it out"),
        (
            {"step": lambda tokens, state: (torch.zeros(1, 1, 5), None, None)},
            "logits for 5 words, the vocabulary has 12",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(given, problem):
    model, words, _ = small_writer()
    with pytest.raises(ValueError, match=problem):
        widgets.next_word(**{"step": model, "words": words} | given)
