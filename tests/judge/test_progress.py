"""What a learner tried is kept in one file that disturbs nothing and loses nothing; marked work gives no answers."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock
from learner import said, written

from tools.notebooks import execute as execute_notebooks
from utils import records
from utils.exercises import catalogue, hint, progress, solution, use
from utils.judge.exercise import Exercise
from utils.judge.verdict import Finding, Verdict

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.lane("test")
RIGHT, WRONG = "return weights @ values", "return 2 * weights @ values"
OTHERS = {"softmax": {"status": "right", "tries": 4, "mistakes": {}, "first": "", "right": ""}, "gone": [1], "new": 2}


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    """The file of progress of a course in a folder of its own."""
    monkeypatch.setenv("ATTENTION_COURSE", str(tmp_path))
    monkeypatch.delenv("ATTENTION_PROGRESS")
    monkeypatch.setattr(records, "_unwritten", [])
    return tmp_path / "progress.json"


def kept(file, name="weighted_sum"):
    return json.loads(file.read_text())["exercises"].get(name)


def table(capsys):
    capsys.readouterr()
    progress()
    return capsys.readouterr().out


# ---- the file


def test_a_byte_order_mark_does_no_harm(file, capsys):
    """Notepad puts one before a text that it saves."""
    said(capsys, written(WRONG))
    file.write_text(file.read_text(), encoding="utf-8-sig")
    said(capsys, written(WRONG))
    assert kept(file)["tries"] == 2 and not list(file.parent.glob("*.damaged*"))


def test_a_check_keeps_what_came_out(file, capsys):
    assert said(capsys, written("return ...")).startswith("○") and not file.exists(), "a stub is not a try"
    said(capsys, written(WRONG))
    entry = kept(file)
    minute = entry.pop("first")
    names = map(records.short, catalogue()["weighted_sum"].verdict(written(WRONG)).names)
    assert entry == {"status": "wrong", "tries": 1, "mistakes": dict.fromkeys(names, 1)}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", minute)
    said(capsys, written(RIGHT))
    entry = kept(file)
    assert (entry["status"], entry["tries"], entry["first"]) == ("right", 2, minute) and entry["right"] >= minute
    said(capsys, written(WRONG))
    assert kept(file) == entry, "what came right stays"
    assert "weights" not in file.read_text()
    written_files = {path.name for path in file.parent.iterdir()} - {"progress.json.lock"}
    assert written_files == {"my_answers", file.name}, "the first keeps the code"


def test_it_is_kept_that_the_solution_was_opened(file, capsys):
    """An assistant that tutors shows a solution only where the learner has opened it: AGENTS.md."""
    assert "solution opened" not in table(capsys) and not file.exists()
    solution(written(WRONG))
    minute = kept(file)["solution"]
    assert kept(file) == {"status": "todo", "tries": 0, "mistakes": {}, "solution": minute}
    assert re.search(r"○ weighted_sum +\S+ +\d+ min +solution opened\n", table(capsys)), "that is no try"
    assert records.read(file)["weighted_sum"]["status"] not in records.TRIED, "and none in a class's table"
    said(capsys, written(RIGHT))
    entry = kept(file)
    assert (entry["status"], entry["tries"], entry["solution"]) == ("right", 1, minute) and entry["first"] >= minute
    assert re.search(r"✔ weighted_sum .* 1 try +kept +solution opened\n", table(capsys))
    said(capsys, written("return (a * b).sum()", "dot_product"))
    before = kept(file, "dot_product")
    solution(written(WRONG, "dot_product"))
    assert before | {"solution": kept(file, "dot_product")["solution"]} == kept(file, "dot_product")


def test_known_mistakes_are_counted_by_name(file, capsys, monkeypatch):
    verdict = Verdict("wrong", Finding("twice", names=("scaled_twice", "transposed"), words="scaled twice."))
    monkeypatch.setattr(Exercise, "verdict", lambda self, *_: verdict)
    said(capsys, written(WRONG))
    monkeypatch.setattr(
        Exercise, "verdict", lambda self, *_: replace(verdict, said=replace(verdict.said, names=("scaled_twice",)))
    )
    said(capsys, written(WRONG))
    assert kept(file)["mistakes"] == {"scaled_twice": 2, "transposed": 1}
    verdict = Verdict("wrong", Finding("not", names=("= keys @ query\n",), words="not scaled."))
    monkeypatch.setattr(Exercise, "verdict", lambda self, *_: verdict)
    for _ in range(2):
        said(capsys, written(WRONG, "dot_product"))
    assert kept(file, "dot_product")["mistakes"] == {records.short("= keys @ query\n"): 2}
    assert "@" not in file.read_text(), "a mistake that is named by its code goes by a number"


def test_tools_leave_no_file(file, capsys, monkeypatch):
    said(capsys, written(WRONG))
    before = file.read_bytes()
    monkeypatch.setenv("ATTENTION_PROGRESS", "off")
    said(capsys, written(WRONG))
    assert file.read_bytes() == before and records._unwritten == []
    assert not re.search("[✔✘]|try", table(capsys)), "a notebook that shows the table is the same everywhere"
    assert execute_notebooks.kernel_environment()["ATTENTION_PROGRESS"] == "off"
    settings = re.search("^COMPARABLE := (.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert "ATTENTION_PROGRESS=off" in settings and "-u ATTENTION_MARKED" in settings
    assert 'ATTENTION_PROGRESS="off"' in (ROOT / "conftest.py").read_text(), "nbval's kernels inherit it"


def test_git_does_not_see_the_file():
    if not (ROOT / ".git").exists():
        pytest.skip("this copy of the course is not a git repository")
    names = ["progress.json", "progress.json.lock", "progress.json.damaged1"]
    done = subprocess.run(["git", "check-ignore", *names], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == names


def test_the_course_s_folder_is_found_without_being_named(monkeypatch):
    monkeypatch.delenv("ATTENTION_COURSE")
    assert records.settings.root() == ROOT


def test_other_entries_are_left_as_they_are(file, capsys):
    file.write_text(json.dumps({"version": 1, "exercises": OTHERS, "more": 3}))
    said(capsys, written(WRONG))
    after = json.loads(file.read_text())
    assert after["exercises"].pop("weighted_sum")["tries"] == 1
    assert after == {"version": 1, "exercises": OTHERS, "more": 3}
    assert list(records.read(file)) == ["softmax", "weighted_sum"], "only what has the form of an entry"


DAMAGED = [
    "",
    "{",
    "null",
    "[" * 100_000,
    '{"version": 1}',
    '{"exercises": {}}',
    '{"version": 1, "exercises": []}',
    "\0\x7f",
]


@pytest.mark.parametrize("text", DAMAGED, ids=lambda text: text[:20] or "empty")
def test_a_damaged_file_is_put_aside(text, file, capsys):
    file.write_text(text)
    assert "progress.json is damaged" in table(capsys)
    undisturbed = said(capsys, written(WRONG))
    assert undisturbed.startswith("✘ weighted_sum: ") and undisturbed.count("weighted_sum: ") == 1
    assert kept(file)["tries"] == 1 and file.with_name("progress.json.damaged1").read_text() == text
    file.write_bytes(b"\xff\xfe")
    said(capsys, written(WRONG))
    assert file.with_name("progress.json.damaged1").read_text() == text
    assert file.with_name("progress.json.damaged2").read_bytes() == b"\xff\xfe"


def test_an_entry_of_another_form_is_begun_anew(file, capsys):
    for odd in [3, {"status": "odd", "tries": 1, "mistakes": {}}, {"status": "wrong", "tries": "1", "mistakes": {}}]:
        file.write_text(json.dumps({"version": 1, "exercises": {"weighted_sum": odd}}))
        assert "0 of" in table(capsys)
        said(capsys, written(WRONG))
        assert kept(file)["tries"] == 1


def test_a_file_of_another_version_is_left_alone(file, capsys):
    file.write_text('{"version": 2, "exercises": {}}')
    assert said(capsys, written(WRONG)).count("weighted_sum: ") == 1
    assert file.read_text() == '{"version": 2, "exercises": {}}'
    assert "cannot be shown: progress.json belongs to another version of the course" in table(capsys)


def test_where_nothing_can_be_written_a_check_goes_on_and_nothing_is_lost(file, capsys, monkeypatch):
    def read_only(*_):
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", read_only)
        assert said(capsys, written(WRONG)).startswith("✘ weighted_sum: ") and not file.exists()
        assert re.search(r"✘ weighted_sum +.*1 try\n", table(capsys)), "this session's tries are shown"
    said(capsys, written(WRONG))
    assert kept(file)["tries"] == 2 and records._unwritten == []
    monkeypatch.setenv("ATTENTION_COURSE", str(file))  # a file, not a folder
    assert said(capsys, written(WRONG)).count("weighted_sum: ") == 1
    assert "weighted_sum" in table(capsys)


def test_writing_is_all_or_nothing(file, capsys, monkeypatch):
    said(capsys, written(WRONG))
    before = file.read_bytes()

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "replace", full)
    said(capsys, written(WRONG))
    assert file.read_bytes() == before
    assert {path.name for path in file.parent.iterdir()} <= {file.name, "progress.json.lock"}


MANY = """
from utils.records import record
from utils.judge.verdict import Finding, Verdict
for _ in range(100):
    record("both", Verdict("wrong", Finding("")))
    record("{}", Verdict("wrong", Finding("")))
"""


def test_two_kernels_at_once_lose_no_try(file):
    kernels = [subprocess.Popen([sys.executable, "-c", MANY.format(name)], cwd=ROOT) for name in ("one", "other")]
    assert [kernel.wait(timeout=300) for kernel in kernels] == [0, 0]
    assert [kept(file, name)["tries"] for name in ("one", "other", "both")] == [100, 100, 200]


def test_a_check_does_not_wait_for_ever_for_another_kernel_and_loses_no_try(file, capsys, monkeypatch):
    monkeypatch.setattr(records, "PATIENCE", 0.1)
    with FileLock(file.with_name("progress.json.lock")):
        said(capsys, written(WRONG))
        assert not file.exists()
    said(capsys, written(WRONG))
    assert kept(file)["tries"] == 2


# ---- the table


def test_the_table_lists_every_exercise_of_the_course(file, capsys, monkeypatch):
    for body in (WRONG, RIGHT):
        said(capsys, written(body))
    said(capsys, written("return a + b", "dot_product"))
    found = catalogue()["weighted_sum"]
    monkeypatch.setattr(found, "level", 2)
    monkeypatch.setattr(found, "minutes", 10)
    lines = table(capsys).splitlines()
    listed = [line.split()[1] for line in lines if line.startswith("  ")]
    ours = [name for name, found in catalogue().items() if found.__module__.startswith("utils.exercises.tasks.")]
    assert [name for name in listed if name in ours] == ours
    assert [line for line in lines if re.match(r"\d\d_", line)] == [path.stem for path in NOTEBOOKS]
    assert any(re.fullmatch(r"  ✔ weighted_sum +●●○ +10 min +2 tries +kept", line) for line in lines)
    assert any(re.fullmatch(r"  ✘ dot_product .* 1 try", line) for line in lines)
    assert any(re.match(r"  ○ softmax\b", line) for line in lines)
    assert lines[-3].startswith("1 of ") and "my_answers" in lines[-2] and "progress.json" in lines[-1]


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


# ---- marked work


@pytest.mark.parametrize("value, closed", [("1", True), ("0", False), ("", False)])
def test_marked_work_gives_no_answers(value, closed, capsys, monkeypatch):
    monkeypatch.setenv("ATTENTION_MARKED", value)
    mine = written(WRONG)
    capsys.readouterr()
    for verb in (solution, hint):
        verb(mine)
        text = capsys.readouterr().out
        assert (
            text == f"{verb.__name__} is closed: this is marked work (ATTENTION_MARKED is set). check still answers.\n"
        ) == closed
        assert text
    assert (use(mine) is mine) == closed
    assert ("hint(" not in said(capsys, written("return ..."))) == closed
    assert said(capsys, mine).startswith("✘ weighted_sum: ") and use(written(RIGHT)).__name__ == "weighted_sum"
    use(written(WRONG, "weighted_sun", "weights, values"))
    assert "do you mean weighted_sum?" in capsys.readouterr().out
