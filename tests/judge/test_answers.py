"""The answers of tests/answers can be read, judged and counted, and the page shows what was counted."""

import ast
import importlib
import json
from pathlib import Path

import pytest

from tools.site import pages
from utils.exercises import catalogue

answers = importlib.import_module("tests.answers.__main__")
ROOT = Path(__file__).parents[2]
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
    for (answer, said, words), classes in answers.readings().items():
        assert answer in ids and len(said) == len(words) == 12 and set(classes) <= {"named", "vague", "misleading"}


def test_words_that_have_changed_count_as_unread_until_they_are_declared_as_corrected(tmp_path, monkeypatch):
    some = [one for one in ALL if one.exercise == "dot_product"][:12]
    wrong = [one for one in answers.judge(some) if one.answer.kind == "W"]
    read = tmp_path / "readings.jsonl"
    monkeypatch.setattr(answers, "READINGS", read)

    def keep(words):
        lines = [{"answer": one.key[0], "said": one.key[1], "words": words(one), "class": "named"} for one in wrong]
        read.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return {one.kind for one in answers.judge(one.answer for one in wrong)}

    assert keep(lambda one: one.key[2]) == {"named"}
    assert keep(lambda one: one.key[2][::-1]) == {"unread"}
    keys = {key for one in wrong for key in one.said.keys}
    assert sum(answers.corrected(key, wrong) for key in sorted(keys)) == len(wrong)
    assert {one.kind for one in answers.judge(one.answer for one in wrong)} == {"named"}
    rows = answers.counted(wrong)["rows"]
    classes = [row for row in rows if row["name"] in answers.NAMES.values()]
    assert sum(row["part"] for row in classes) == classes[0]["whole"]


@pytest.mark.parametrize("part, whole, low, high", [(0, 10, 0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1)])
def test_intervals_are_wilsons(part, whole, low, high):
    row = answers.row("", part, whole)
    assert (row["low"], row["high"]) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_the_page_shows_what_the_command_has_counted():
    kept = json.loads(answers.JUDGED.read_text(encoding="utf-8"))
    assert f"\n{kept['command'].split()[1]}: " in (ROOT / "Makefile").read_text(encoding="utf-8")
    shown = [row for row in kept["rows"] if row["name"] in pages.UNREAD]
    assert shown and all(f"| {row['name']} | {row['part']} of {row['whole']:,} |" in pages.judge() for row in shown)
    assert "are not people's" in (ROOT / "docs" / "judge.md").read_text(encoding="utf-8")
