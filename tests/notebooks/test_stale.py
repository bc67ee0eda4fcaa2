"""What a change has made void is named, with the command that renews it; and nothing else is."""

import copy
import json
import shutil
from pathlib import Path

import pytest
from topics import notebook

from tools.notebooks import execute, files, seeds, stale


@pytest.fixture
def path(tmp_path):
    """A copy of a notebook that trains."""
    return Path(shutil.copy(notebook("transformer_encoder_block"), tmp_path))


def changed(path, cell, source):
    """Give a cell of the notebook another source: the first cell for which `cell` holds."""
    found = files.read(path)
    next(one for one in found.cells if cell(one)).source = source
    files.write(found, path)


def plain(cell):
    return cell.cell_type == "code" and not cell.metadata.get("tags") and "import" not in cell.source


def test_what_is_fresh_is_not_named(path):
    assert list(stale.outputs(path)) == []
    changed(path, lambda cell: cell.cell_type == "markdown" and "more for" not in cell.source, "Other words.")
    assert {command for _, command in stale.outputs(path)} <= {"make text"}, "the minutes, if anything"


def test_code_that_has_not_run_is_named(path):
    changed(path, plain, "print('other code')")
    ((what, command),) = stale.outputs(path)
    assert "has changed since it was run" in what and command == f"make notebooks ONLY={path.name[:2]}"


def test_an_old_setup_cell_and_other_minutes_are_named(path):
    changed(path, lambda cell: cell.cell_type == "code", "import utils")
    changed(path, lambda cell: cell.cell_type == "markdown", "# A title\n\n5 minutes to read and run, 5 more for …")
    assert [command for _, command in stale.outputs(path)] == ["make links", "make text"]


def test_code_that_draws_otherwise_is_named(path, monkeypatch):
    monkeypatch.setattr(execute, "drawn_by", lambda cell: "other code")
    assert any("draws the pictures" in what for what, _ in stale.outputs(path))


def test_void_spreads_are_named(tmp_path, monkeypatch):
    path = notebook("masking")
    (cell, key), *_ = seeds.keys(files.read(notebook("multi_head_attention"))).items()
    monkeypatch.setattr(stale, "paths", lambda: [notebook("multi_head_attention"), path])
    monkeypatch.setattr(seeds, "MEASURED", tmp_path / "measured.json")
    for source, named in ((key, []), ("another", [cell])):
        seeds.MEASURED.write_text(json.dumps({cell: {"source": source, "said": {"1": "…"}}}))
        assert [what.rpartition(" ")[2] for what, _ in stale.spreads()] == named


def test_void_trainings_are_named(monkeypatch):
    monkeypatch.setattr(stale.kept_trainings, "stale", lambda path: ["utils/training.py"])
    assert {command for _, command in stale.trainings()} == {"make trainings"}


def test_what_git_tells_is_named(monkeypatch):
    path = notebook("rnn_with_attention")
    now = files.read(path)
    then = copy.deepcopy(now)
    trains = next(number for number, cell in enumerate(now.cells) if "checkpoint:" in str(cell.metadata.get("tags")))
    monkeypatch.setattr(stale, "paths", lambda: [path])
    monkeypatch.setattr(stale, "at", lambda revision: {path.stem: then})
    monkeypatch.setattr(stale, "git", lambda *arguments: "")
    assert list(stale.since("HEAD")) == []
    then.cells[trains].source += "\nprint('another training')"
    assert [command for _, command in stale.since("HEAD")] == ["make checkpoints"]
    then.cells[trains] = now.cells[trains]
    said = {"utils": "utils/attention.py\nutils/widgets/maps.py\n"}
    monkeypatch.setattr(stale, "git", lambda *arguments: said.get(arguments[-1], ""))
    assert [command for _, command in stale.since("HEAD")] == ["make notebooks"]
    said["utils"], said["tests/answers"] = "utils/widgets/maps.py\n", "tests/answers/one.py\n"
    assert [command for _, command in stale.since("HEAD")] == ["make answers"]
