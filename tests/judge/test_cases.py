"""What `check` says of answers that learners write: cases.jsonl, one case a line.

A case has an exercise, the body of an answer, parts of what is to be said of it and of what is not, the keys of the
sentences that are said where their words do not matter, `right` where it is right, and why it stands there: it is to be
understood, it seems right, it was refused once, something untrue was said of it once, it is a common slip, a finding
speaks of it, or what a finding speaks of is not there.
"""

import json
from pathlib import Path

import pytest
import torch
from learner import NOTEBOOK, said, written

from utils.exercises import catalogue, use
from utils.judge.compare import same

LINES = (Path(__file__).parent / "cases.jsonl").read_text(encoding="utf-8").splitlines()
CASES = [
    pytest.param(case, id=f"{case['exercise']}-{line}") for line, case in enumerate(map(json.loads, LINES), start=1)
]


@pytest.mark.sampled(8, "utils/judge/", "utils/exercises/", "tests/judge/cases.jsonl")
@pytest.mark.parametrize("case", CASES)
def test_what_is_said_of_an_answer(case, capsys):
    name, body, right = case["exercise"], case["answer"], case.get("right", False)
    answer = written(body, name, **NOTEBOOK, buffer=torch.empty(0))
    text = said(capsys, answer)
    assert text.startswith(f"{'✔' if right else '✘'} {name}: "), text
    if keys := case.get("keys"):
        assert {*keys} <= {*catalogue()[name].verdict(answer).said.keys}, text
    assert all(part in text for part in case["says"]), text
    assert not any(part in text for part in case["says_not"]), text
    if right and "buffer" not in body:
        reference = catalogue()[name].reference
        arguments = next(catalogue()[name].inputs()).values()
        result, want = use(answer)(*arguments), reference(*arguments)
        assert type(result) is type(want) and same(result, want)
