"""utils/cells.py and utils/files.py: what a cell says of itself, and files that are written whole."""

import stat

import carry_over
from tools.notebooks import files
from utils import cells
from utils.files import write_whole


def cell(source, *tags):
    return {"cell_type": "code", "metadata": {"tags": list(tags)} if tags else {}, "source": source}


def test_tags_are_read_where_there_are_none():
    assert cells.tags(cell("")) == [] and cells.exercise(cell("")) is None and not cells.has(cell(""), "map")
    tagged = cell("", "seconds:30", "exercise:softmax", "nbval-ignore-output")
    assert cells.exercise(tagged) == "softmax" and cells.after(tagged, "seconds:") == "30"
    assert cells.is_volatile(tagged) and cells.exercises({"cells": [cell(""), tagged]}) == {"softmax": tagged}


def test_a_cell_that_teaches_nothing_of_the_syllabus_has_no_ids():
    assert cells.syllabus(cell("")) == cells.syllabus({}) == []
    assert cells.syllabus({"metadata": {"syllabus": ["A3", "X1"]}}) == ["A3", "X1"]


def test_make_update_has_a_reader_of_its_own_that_finds_the_same_exercises():
    notebooks = [files.read(path).cells for path in files.paths()]
    found = [(cells.exercise(one), carry_over.exercise(one)) for notebook in notebooks for one in notebook]
    assert sum(ours is not None for ours, _ in found) > 50 and all(ours == theirs for ours, theirs in found)


def test_a_file_keeps_its_rights_and_is_written_only_where_it_differs(tmp_path):
    path = tmp_path / "a.txt"
    assert write_whole(path, "one\n") and path.read_bytes() == b"one\n"
    path.chmod(0o600)
    before = path.stat().st_ino
    assert not write_whole(path, b"one\n") and path.stat().st_ino == before
    assert write_whole(path, "zwölf") and path.read_text(encoding="utf-8") == "zwölf"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and list(tmp_path.iterdir()) == [path]
