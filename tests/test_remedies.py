"""What is said of any exercise proves itself: each remedy of an exception, each mistake that can be made anywhere,
each last step that is missing, by the answer that stands beside it."""

import re

import pytest
from test_exercises import written

from utils.exercises import catalogue
from utils.exercises.remedies import REMEDIES
from utils.exercises.rows import IMPORTS
from utils.exercises.variants import ALTERED, EXCHANGED, LAST_STEPS, OF_RESULTS, TRACES

pytestmark = pytest.mark.sampled(3, "utils/exercises/")


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


OF_ARGUMENTS = [EXCHANGED, *((message, example) for _, message, _, example in ALTERED)]


@pytest.mark.parametrize("message, example", OF_ARGUMENTS, ids=lambda part: "" if "{" in part else part)
def test_a_change_of_an_argument_is_said_of_its_example(message, example):
    pattern = re.sub(r"\\{\w+\\}", r"\\w+", re.escape(message))  # there stand the arguments' names
    verdict = judged(example)
    assert re.search(pattern, verdict.message), verdict.message


@pytest.mark.parametrize("variant", OF_RESULTS, ids=lambda variant: variant.example)
def test_a_change_of_the_result_is_said_of_its_example(variant):
    """And its trace is to be seen there."""
    verdict = judged(variant.example)
    assert variant.message in verdict.message, verdict.message
    assert re.search(variant.trace, variant.example.partition(": ")[2])


@pytest.mark.parametrize("message, step, example", LAST_STEPS, ids=lambda part: part if isinstance(part, str) else "")
def test_a_last_step_that_is_missing_is_said_of_its_example(message, step, example):
    verdict = judged(example)
    assert verdict.message.startswith(message), verdict.message


def test_every_trace_is_that_of_a_change():
    assert TRACES.keys() <= {variant.name for variant in OF_RESULTS}
