"""What is said of any exercise proves itself: each remedy of an exception, by the answer that stands beside it."""

import pytest
from test_exercises import written

from utils.exercises import catalogue
from utils.exercises.remedies import REMEDIES
from utils.exercises.rows import IMPORTS


def judged(example):
    """The verdict on an example, "exercise: body"."""
    name, _, body = example.partition(": ")
    return catalogue()[name].verdict(written(body, name, **IMPORTS))


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda remedy: remedy.example)
def test_a_remedy_is_said_of_its_example(remedy):
    verdict = judged(remedy.example)
    text, _, end = remedy.text.partition("{first}")  # there stands an argument's name
    assert verdict.message.startswith(text) and end in verdict.message, verdict.message


def test_no_two_remedies_say_the_same():
    assert len({remedy.text for remedy in REMEDIES}) == len(REMEDIES)
