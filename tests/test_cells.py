"""utils/cells.py and utils/files.py: what a cell says of itself, and files that are written whole."""

import stat

import pytest

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


STUB = 'def softmax(x):\n    """(n,)"""\n    {}\n\ncheck(softmax)\nsoftmax = use(softmax)'


@pytest.mark.parametrize(
    "body, stub", [("return ...", True), ("return (..., ...)", True), ("return x", False), ("return ..., x", False)]
)
def test_only_dots_make_a_stub(body, stub):
    for source in (STUB.format(body), STUB.format(body).splitlines(keepends=True)):  # as nbformat and as JSON has it
        written = cell(source, "exercise:softmax")
        assert cells.is_stub(written) == cells.is_bare(written) == stub
    written = cell(STUB.format(body), "exercise:softmax")
    assert carry_over.is_stub(written) == carry_over.is_bare(written) == stub, "make update has a reader of its own"


@pytest.mark.parametrize("more", ["# mine", "print(softmax)"])
def test_a_stub_with_something_of_a_learner_s_is_not_bare(more):
    written = cell(f"{STUB.format('return ...')}\n{more}", "exercise:softmax")
    assert cells.is_stub(written) and not cells.is_bare(written)
    assert carry_over.is_stub(written) and not carry_over.is_bare(written)


@pytest.mark.parametrize("source", ["", "def softmax(x", "def other(x):\n    return ...", "softmax = 3", "\0"])
def test_what_defines_no_such_function_is_no_stub(source):
    written = cell(source, "exercise:softmax")
    assert not cells.is_stub(written) and not carry_over.is_stub(written)


def test_every_exercise_of_the_course_is_handed_out_as_a_stub():
    found = [one for path in files.paths() for one in cells.exercises(files.read(path)).values()]
    assert len(found) > 50 and sum(map(cells.is_bare, found)) > 50


def test_a_file_keeps_its_rights_and_is_written_only_where_it_differs(tmp_path):
    path = tmp_path / "a.txt"
    assert write_whole(path, "one\n") and path.read_bytes() == b"one\n"
    path.chmod(0o600)
    before = path.stat().st_ino
    assert not write_whole(path, b"one\n") and path.stat().st_ino == before
    assert write_whole(path, "zwölf") and path.read_text(encoding="utf-8") == "zwölf"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and list(tmp_path.iterdir()) == [path]
