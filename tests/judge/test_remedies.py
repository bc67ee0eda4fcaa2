"""What is said of any exercise proves itself: each remedy of an exception, each mistake that can be made anywhere,
each last step that is missing, by the answer that stands beside it."""

import ast
import re
from pathlib import Path

import pytest
from learner import written

from utils import judge
from utils.exercises import catalogue, verbs
from utils.judge.catalogue.variants import (
    ALTERED,
    EXCHANGED,
    LAST_STEPS,
    OF_RESULTS,
    TRACES,
)
from utils.judge.context import IMPORTS
from utils.judge.run.remedies import REMEDIES
from utils.judge.verdict import sentences

pytestmark = pytest.mark.sampled(3, "utils/judge/", "utils/exercises/")


def judged(example):
    """The verdict on an example, "exercise: body"."""
    name, _, body = example.partition(": ")
    return catalogue()[name].verdict(written(body, name, **IMPORTS))


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda remedy: remedy.example)
def test_a_remedy_is_said_of_its_example(remedy):
    assert f"remedies.{remedy.name}" in judged(remedy.example).said.keys


def test_no_two_remedies_say_the_same():
    assert len({sentences()[f"remedies.{remedy.name}"] for remedy in REMEDIES}) == len(REMEDIES)


OF_ARGUMENTS = [("exchanged", EXCHANGED), *((name, example) for name, _, example in ALTERED)]


@pytest.mark.parametrize("name, example", OF_ARGUMENTS)
def test_a_change_of_an_argument_is_said_of_its_example(name, example):
    assert f"arguments.{name}" in judged(example).said.keys


@pytest.mark.parametrize("variant", OF_RESULTS, ids=lambda variant: variant.example)
def test_a_change_of_the_result_is_said_of_its_example(variant):
    """And its trace is to be seen there."""
    assert variant.said.key in judged(variant.example).said.keys
    assert re.search(variant.trace, variant.example.partition(": ")[2])


@pytest.mark.parametrize("name, step, example", LAST_STEPS, ids=lambda part: part if isinstance(part, str) else "")
def test_a_last_step_that_is_missing_is_said_of_its_example(name, step, example):
    assert f"last_steps.{name}" in judged(example).said.keys


def test_every_trace_is_that_of_a_change():
    assert TRACES.keys() <= {variant.name for variant in OF_RESULTS}


def said_in(path):
    """What a file of the judge may say: keys, and for those of a table a pattern."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield re.escape(node.value)
        elif isinstance(node, ast.JoinedStr):
            yield "".join(re.escape(part.value) if isinstance(part, ast.Constant) else ".*" for part in node.values)


KEY = re.compile(r"(\w+)\\\.")  # a section and a dot, as re.escape writes it


def test_every_sentence_is_said_somewhere_and_every_key_has_a_sentence():
    keys, sections = [*sentences()], {key.partition(".")[0] for key in sentences()}
    files = [*Path(judge.__file__).parent.rglob("*.py"), Path(verbs.__file__)]
    said = {one for path in files for one in said_in(path)}
    said = {one for one in said if (key := KEY.match(one)) and key[1] in sections}
    assert [one for one in said if not any(re.fullmatch(one, key) for key in keys)] == []
    assert [key for key in keys if not any(re.fullmatch(one, key) for one in said)] == []
