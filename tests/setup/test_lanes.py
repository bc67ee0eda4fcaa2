"""Which tests run in which lane, and what runs in nbval's kernel behind a notebook."""

from collections import namedtuple
from pathlib import Path

import lanes
import pytest
from topics import named

ROOT = Path(__file__).parents[2]

MASKING = f"notebooks/{named('masking')}.ipynb"


def lanes_of(*marks, files=()):
    return [lane for lane in lanes.LANES if lanes.runs_in(lane, marks, files)]


def test_a_test_runs_in_its_lane_and_those_behind_it():
    assert lanes_of() == ["check", "test", "all"]
    assert lanes_of(("test",)) == ["test", "all"] and lanes_of(("test",), ("all",)) == ["all"]


def test_what_differs_from_main_is_tested_a_lane_earlier():
    films = "all", "masking", "paint_mask"
    for file in (MASKING, "utils/widgets/masking.py", "utils/exercises/tasks/masking.txt"):
        assert lanes_of(films, files=[file]) == ["test", "all"], file
        assert lanes_of(("test", "masking"), files=[file]) == ["check", "test", "all"]
    assert lanes_of(("all", "execute"), files=["tools/notebooks/execute.py"]) == ["test", "all"]
    for file in (f"notebooks/{named('decoder')}.ipynb", "docs/masking.md"):
        assert lanes_of(films, files=[file]) == ["all"], file


def test_of_a_sample_every_test_is_there_and_all_of_it_where_files_differ():
    Item = namedtuple("Item", ["nodeid", "iter_markers"])
    marks = [pytest.mark.sampled(3, "utils/judge/", "utils/exercises/").mark]
    items = [Item(f"{test}[{case}]", lambda _: marks) for test in ("a", "b") for case in range(4)]
    items.append(Item("c", lambda _: []))
    chosen = [item.nodeid for item in lanes.sample(items, ["utils/plots.py"])]
    assert chosen == ["a[0]", "a[3]", "b[0]", "b[3]", "c"]
    for file in ("utils/exercises/verbs.py", "utils/judge/search/blame.py"):
        assert list(lanes.sample(items, [file])) == items, file


def test_files_that_differ_are_named(monkeypatch):
    monkeypatch.setattr(lanes, "git", lambda *given: [])
    assert lanes.changed.__wrapped__() == [], "no repository"
    said = {"merge-base": ["abc"], "diff": [MASKING], "ls-files": ["utils/new.py"]}
    monkeypatch.setattr(lanes, "git", lambda command, *given: said[command] if "origin/main" not in given else [])
    assert lanes.changed.__wrapped__() == [MASKING, "utils/new.py"]
