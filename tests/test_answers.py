"""The answers of tests/answers can be read, judged and counted, and the page shows what was counted."""

import ast
import importlib
import json
from pathlib import Path

import pytest

from tools.site import pages
from utils.exercises import catalogue

answers = importlib.import_module("tests.answers.__main__")
ROOT = Path(__file__).parent.parent
ALL = list(answers.answers())


def test_every_answer_is_a_module_that_defines_it():
    assert len({one.id for one in ALL}) == len(ALL) > 2000
    for one in ALL:
        assert one.kind in ("R", "W", "?")
        names = [node.name for node in ast.parse(one.source).body if isinstance(node, ast.FunctionDef)]
        assert one.exercise in names or one.exercise in one.source
    assert {one.exercise for one in ALL} <= set(catalogue())


def test_readings_are_of_answers_and_of_known_classes():
    ids = {one.id for one in ALL}
    for (answer, message), classes in answers.readings().items():
        assert answer in ids and len(message) == 12 and set(classes) <= {"named", "vague", "misleading"}


def test_a_message_that_has_changed_counts_as_unread(monkeypatch):
    some = [one for one in ALL if one.exercise == "dot_product"][:12]
    known = {key: classes for key, classes in answers.readings().items() if key[0].startswith("dot_product-")}
    judged = list(answers.judge(some))
    read = [one for one in judged if (one.answer.id, answers.hashed(one.message)) in known]
    assert read and all(one.kind == known[one.answer.id, answers.hashed(one.message)][0] for one in read)
    monkeypatch.setattr(
        answers, "readings", lambda: {(key, hashed[::-1]): value for (key, hashed), value in known.items()}
    )
    kinds = {one.kind for one in answers.judge(some) if one.answer.kind == "W"}
    assert kinds == {"unread"}
    rows = answers.counted(judged)["rows"]
    classes = [row for row in rows if row["name"] in answers.NAMES.values()]
    assert sum(row["part"] for row in classes) == classes[0]["whole"]


@pytest.mark.parametrize("part, whole, low, high", [(0, 10, 0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1)])
def test_intervals_are_wilsons(part, whole, low, high):
    row = answers.row("", part, whole)
    assert (row["low"], row["high"]) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_the_page_shows_what_the_command_has_counted():
    kept = json.loads(answers.JUDGED.read_text(encoding="utf-8"))
    assert f"\n{kept['command'].split()[1]}: " in (ROOT / "Makefile").read_text(encoding="utf-8")
    page = pages.judge()
    assert all(f"| {row['name']} | {row['part']} of {row['whole']} |" in page for row in kept["rows"])
    assert "not people's answers" in page
