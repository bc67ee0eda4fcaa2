"""tools/notebooks/export.py: notebooks for nbgrader and otter-grader, whose own commands grade them where they are
installed (`make test-classroom`)."""

import contextlib
import csv
import io
import json
import os
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest
import torch
from lanes import topic
from solved import plain, solved
from topics import notebook

from tools.notebooks import export as export_assignment
from tools.notebooks import files
from utils.cells import exercise, has
from utils.exercises import catalogue
from utils.exercises.teachers.marking import go_on, mark, require

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.lane("test")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NOTEBOOK = notebook("single_token_attention")
TOOLS = ROOT / ".venv" / "classroom" / "bin"


def exercises(cells):
    return [name for name in map(exercise, cells) if name]


def below(cells, name):
    """The cell below an exercise."""
    return cells[1 + next(n for n, cell in enumerate(cells) if exercise(cell) == name)]


# What the exported cells call


def softmax_of_small_scores(scores):
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def softmax(scores):
    return torch.softmax(scores, -1)


def raises(scores):
    raise RuntimeError("no")


class Raises:
    """Raises when it is called, and when it is asked where it comes from."""

    __module__ = property(raises)
    __call__ = raises


RAISES = Raises()
ANSWERS = {
    "right": (lambda: softmax, 1.0, "✔ softmax: right on all"),
    "half": (lambda: softmax_of_small_scores, 0.5, "✘ softmax: exp overflows"),
    "wrong": (lambda: raises, 0.0, "✘ softmax: your line `raise RuntimeError"),
    "nothing": (lambda: None, 0.0, "– softmax: its cell defines no function of this name"),
    "the course's": (lambda: catalogue()["softmax"].reference, 0.0, "✘ softmax: this is the course's own function"),
    "an object that raises": (lambda: RAISES, 0.0, "✘ softmax: your function cannot be called"),
    "an import": (lambda: mark, 0.0, "✘ softmax: this is the course's own function"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_earns_all_or_half_or_nothing_and_later_cells_go_on(kind, capsys):
    answer, credit, said = ANSWERS[kind]
    space = {"softmax": answer()}
    assert mark("softmax", 2, dict(space)) == 2 * credit and capsys.readouterr().out.startswith(said)
    for wanted in (0.5, 1):
        if credit >= wanted:
            require("softmax", wanted, space)
        else:
            with pytest.raises(AssertionError, match=said.partition(": ")[2]):
                require("softmax", wanted, space)
    assert space == {"softmax": answer()}, "to judge replaces nothing"
    go_on("softmax", space)
    assert space["softmax"] is (answer() if credit == 1 else catalogue()["softmax"].reference)
    marked = {"softmax": answer()}
    mark("softmax", 2, marked, seed=3)
    assert marked == space


def test_an_exercise_of_another_version_is_named():
    with pytest.raises(ValueError, match="no exercise named 'soft': is the course another version"):
        mark("soft", 1, {})


def test_half_the_points_take_half_of_the_inputs():
    """Right answers earn 1, each known mistake at most one half."""
    for name in ("softmax", "attend", "one_hot"):
        found = catalogue()[name]
        assert {found.verdict(answer).credit for answer in found.answers} == {1.0}
        credits = {found.verdict(mistake.function).credit for mistake in found.rows}
        assert 0.0 in credits <= {0.0, 0.5}


# What is exported


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_exercise_is_judged_right_below_its_cell(path):
    """At the end of the notebook it would be too late: the course's function stands in for a wrong answer."""
    nbgrader = nbformat.reads(export_assignment.for_nbgrader(path, seed=1), as_version=4)["cells"]
    otter = nbformat.reads(export_assignment.for_otter(path, seed=1), as_version=4)["cells"]
    names = exercises(nbgrader)
    assert names == exercises(otter) == exercises(files.read(path)["cells"])
    ids = [cell["metadata"]["nbgrader"]["grade_id"] for cell in nbgrader if "nbgrader" in cell["metadata"]]
    assert len(ids) == len(set(ids)) == len(names) + 1
    for name in names:
        assert f'mark("{name}", {catalogue()[name].level}, globals(), seed=1)' in below(nbgrader, name)["source"]
        entry = below(nbgrader, name)["metadata"]["nbgrader"]
        assert entry["grade"] and entry["locked"] and entry["points"] == catalogue()[name].level
        assert f'grader.check("{name}")\ngo_on("{name}", globals(), seed=1)' in below(otter, name)["source"]
    for cells in (nbgrader, otter):
        assert not any(cell.get("outputs") for cell in cells)
        assert not any(f"{name} = use({name})" in cell["source"] for cell in cells for name in exercises([cell]))
        assert [cell["id"] for cell in cells].count("marked") == 1 and cells[1]["id"] == "marked"


def test_the_exports_are_notebooks_and_leave_the_file_alone(tmp_path, capsys):
    before = NOTEBOOK.read_bytes()
    export_assignment.main(["nbgrader", *map(str, NOTEBOOKS[:3]), "--to", str(tmp_path / "n"), "--open"])
    export_assignment.main(["otter", str(NOTEBOOK), "--to", str(tmp_path / "o"), "--seed", "4"])
    assert NOTEBOOK.read_bytes() == before
    written = sorted((tmp_path / "n" / "source").rglob("*.ipynb")) + [tmp_path / "o" / NOTEBOOK.name]
    assert len(written) == 4
    for path in written:
        nbformat.validate(nbformat.read(path, as_version=4))
    assert "ATTENTION_MARKED" not in written[0].read_text() and "ATTENTION_MARKED" in written[3].read_text()
    assert "require('softmax', 0.5, env, 4)" in (tmp_path / "o" / "tests" / "softmax.py").read_text()
    assert (tmp_path / "o" / "attention-course" / "utils" / "exercises").is_dir()
    assert "nbgrader generate_assignment 00_start_here" in capsys.readouterr().out
    config = tmp_path / "n" / "nbgrader_config.py"
    export_assignment.main(["nbgrader", str(NOTEBOOK), "--to", str(tmp_path / "n"), "--open"])
    assert "is yours" not in capsys.readouterr().out, "it is ours"
    config.write_text("mine")
    export_assignment.main(["nbgrader", str(NOTEBOOK), "--to", str(tmp_path / "n"), "--open"])
    said = capsys.readouterr().out
    assert config.read_text() == "mine" and f"{config} is yours and stays. It needs these lines:\n\nimport os" in said
    assert str(ROOT) in said and "c.ExecutePreprocessor.timeout = 1200" in said


@pytest.mark.parametrize("tool, below", [("nbgrader", f"source/{NOTEBOOK.stem}"), ("otter", "."), ("otter", "tests")])
def test_a_teacher_s_changes_are_overwritten_on_demand_alone(tmp_path, tool, below):
    command = [tool, str(NOTEBOOK), "--to", str(tmp_path)]
    export_assignment.main(command)
    export_assignment.main(command)
    file = tmp_path / below / (NOTEBOOK.name if below != "tests" else "softmax.py")
    before = file.read_text(encoding="utf-8")
    file.write_text("mine")
    with pytest.raises(SystemExit, match=f"there already, and different: {file}. Move that away, or add --force"):
        export_assignment.main(command)
    assert file.read_text() == "mine"
    export_assignment.main([*command, "--force"])
    assert file.read_text(encoding="utf-8") == before


def test_tests_of_another_notebook_are_not_handed_out(tmp_path):
    export_assignment.main(["otter", str(NOTEBOOK), "--to", str(tmp_path)])
    other = NOTEBOOKS[NOTEBOOKS.index(NOTEBOOK) + 1]
    with pytest.raises(SystemExit, match="tests holds tests of another notebook: .*softmax.py"):
        export_assignment.main(["otter", str(other), "--to", str(tmp_path)])
    assert not (tmp_path / other.name).exists()


def test_otter_leaves_out_what_takes_time():
    text = export_assignment.for_otter(notebook("encoder_at_work"))
    cells = nbformat.reads(text, as_version=4)["cells"]
    left_out = [cell["source"] for cell in cells if has(cell, "otter_ignore")]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    trains = [source for source in left_out if "training.fit(" in source or ": trained(" in source]
    assert len(trains) == 3 and len(left_out) > len(code) / 3


@pytest.mark.parametrize("text", ["{}", '{"cells": []}', None])
def test_what_is_no_notebook_of_the_course_is_refused(tmp_path, text):
    path = tmp_path / "x.ipynb"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SystemExit, match="x.ipynb"):
        export_assignment.main(["otter", str(path), "--to", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


# As it ships


SLOW = notebook("decoder"), notebook("beyond_text")  # they read their data beside the names that are looked up


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.lane("all", topic(path))] if path in SLOW else [])
        for path in NOTEBOOKS
    ],
)
def test_references_with_the_names_of_their_notebook_earn_all_points(path, monkeypatch, capsys):
    """Of a notebook for otter only the cells run that grading needs, and of these, here, only those that give names;
    they are what an answer needs in a notebook for nbgrader, too."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("ATTENTION_MARKED", "1")
    monkeypatch.chdir(path.parent)
    graded = nbformat.reads(export_assignment.for_nbgrader(path), as_version=4)["cells"]
    assignment = solved(nbformat.reads(export_assignment.for_otter(path), as_version=4))["cells"]
    space = {"__name__": "__main__", "display": lambda *_: None}
    for cell in assignment:
        is_run = cell["cell_type"] == "code" and not has(cell, "otter_ignore") and "grader" not in cell["source"]
        if not is_run or not (exercise(cell) or has(cell, "setup") or plain(cell["source"])):
            continue
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):  # what needs what is left out
            exec(compile(cell["source"], cell["id"], "exec"), space)
        if name := exercise(cell):
            mine = space[name]
            for credit in (0.5, 1):
                require(name, credit, space)
            go_on(name, space)
            assert space[name] is mine
            exec(below(graded, name)["source"], space)
            assert space[name] is mine and f"✔ {name}: right on all" in capsys.readouterr().out


# No answer is handed out


def solved_by_hand(tmp_path):
    """A notebook that somebody solved: answers in exercise cells, in a cell without tags, in a text, in a draft."""
    mine = files.read(NOTEBOOK)
    for cell in mine["cells"]:
        if exercise(cell):
            cell["source"] = cell["source"].replace("return ...", "return 'SECRET'")
        if exercise(cell) == "softmax":
            cell["metadata"].pop("tags")
    after = next(n for n, cell in enumerate(mine["cells"]) if exercise(cell) == "attend") + 1
    mine["cells"][after:after] = [
        nbformat.v4.new_code_cell("def attend(query, keys, values):\n    return 'SECRET'"),
        nbformat.v4.new_code_cell("draft = 'SECRET'"),
        nbformat.v4.new_markdown_cell("```python\ndef softmax(scores):\n    return 'SECRET'\n```"),
        nbformat.from_dict(mine["cells"][after - 1] | {"id": "copied"}),
    ]
    mine["cells"][3]["source"] += "\n'SECRET'"
    mine["metadata"]["widgets"] = {"state": "SECRET"}
    path = tmp_path / "mine.ipynb"
    path.write_text(files.text(mine), encoding="utf-8")
    return path


@pytest.mark.parametrize("export", [export_assignment.for_nbgrader, export_assignment.for_otter])
def test_a_solved_notebook_is_exported_with_stubs(tmp_path, capsys, export):
    text = export(solved_by_hand(tmp_path))
    assert text == export(NOTEBOOK) and "SECRET" not in text
    said = capsys.readouterr().out
    assert "a cell of your own is left out, as it may hold an answer: draft = 'SECRET'" in said
    assert "your change of a cell is left out: " in said


def test_own_cells_stay_on_demand_but_for_answers(tmp_path, capsys):
    text = export_assignment.for_otter(solved_by_hand(tmp_path), own_cells=True)
    cells = nbformat.reads(text, as_version=4)["cells"]
    secrets = [cell["source"] for cell in cells if "SECRET" in cell["source"]]
    assert len(secrets) == 2 and "draft = 'SECRET'" in secrets
    assert "left out, as it may hold an answer: def attend" in capsys.readouterr().out
    assert exercises(cells) == exercises(files.read(NOTEBOOK)["cells"])


@pytest.mark.parametrize("own_cells", [True, False])
def test_an_exercise_of_an_earlier_edition_is_left_out(tmp_path, capsys, own_cells):
    mine = files.read(NOTEBOOK)
    source = "def of_old(x):\n    return 'SECRET'\n\ncheck(of_old)"
    mine["cells"].insert(5, nbformat.v4.new_code_cell(source, metadata={"tags": ["exercise:of_old"]}))
    path = tmp_path / "mine.ipynb"
    path.write_text(files.text(mine), encoding="utf-8")
    for export in (export_assignment.for_nbgrader, export_assignment.for_otter):
        assert export(path, own_cells=own_cells) == export(NOTEBOOK)
        assert "a cell of your own is left out, as it may hold an answer: def of_old(x):" in capsys.readouterr().out


def test_an_exercise_that_a_teacher_took_out_stays_out(tmp_path):
    mine = files.read(NOTEBOOK)
    mine["cells"] = [cell for cell in mine["cells"] if exercise(cell) != "attend"]
    path = tmp_path / "mine.ipynb"
    path.write_text(files.text(mine), encoding="utf-8")
    export_assignment.main(["otter", str(path), "--to", str(tmp_path / "out")])
    assert not (tmp_path / "out" / "tests" / "attend.py").exists()
    assert "def attend" not in (tmp_path / "out" / "mine.ipynb").read_text(encoding="utf-8")


def test_the_file_in_the_course_s_folder_may_be_solved(tmp_path, monkeypatch, capsys):
    """Git keeps the notebook as it was; where there is no git, its exercises are stubs all the same."""
    there = tmp_path / "notebooks" / NOTEBOOK.name
    there.parent.mkdir()
    before = export_assignment.for_nbgrader(NOTEBOOK)
    shutil.copy(NOTEBOOK, there)
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(export_assignment, "COURSE", tmp_path)
    shutil.copy(solved_by_hand(tmp_path), there)
    assert export_assignment.for_nbgrader(there) == before
    shutil.rmtree(tmp_path / ".git")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    text = export_assignment.for_nbgrader(there)
    assert text.count("SECRET") == 2, "in a draft and in a changed cell, which nothing tells from the course's"
    assert "look yourself whether other cells hold answers" in capsys.readouterr().out


# With the tools


GIVEN = {
    "one_hot": "return torch.nn.functional.one_hot(token_ids, vocabulary_size).float()",
    "softmax": "return scores.exp() / scores.exp().sum(-1, keepdim=True)",
    "attention_scores": "return keys @ query",
    "attend": "return broken(",
}
POINTS = {"one_hot": 1.0, "softmax": 1.0}  # of 1 and 2; all others 0


def hand_in(source, target):
    """Write a learner's notebook: one exercise right, one half, one wrong, one that Python cannot read."""
    notebook = files.read(source)
    for cell in notebook["cells"]:
        if exercise(cell) in GIVEN:
            cell["source"] = cell["source"].replace("return ...", GIVEN[exercise(cell)])
    target.parent.mkdir(parents=True)
    target.write_text(files.text(notebook), encoding="utf-8")


@pytest.fixture
def run(tmp_path):
    """run(command) in a folder of its own, with the tools in front of the path; skipped where they are missing."""

    def call(command):
        done = subprocess.run(command.split(), cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    path = os.pathsep.join([str(TOOLS), os.environ["PATH"]])
    if not all(shutil.which(tool, path=path) for tool in ("nbgrader", "otter")):
        pytest.skip("nbgrader and otter-grader are not installed: `make test-classroom` does it")
    environment = os.environ | {"PATH": path}
    environment.pop("PYTHONPATH")  # these tools talk with their kernels and services over sockets of this machine
    return call


def test_nbgrader_gives_these_points_and_says_why(tmp_path, run):
    export_assignment.main(["nbgrader", str(NOTEBOOK), "--to", str(tmp_path)])
    run(f"nbgrader generate_assignment {NOTEBOOK.stem}")
    place = Path(NOTEBOOK.stem, NOTEBOOK.name)
    hand_in(tmp_path / "release" / place, tmp_path / "submitted" / "anna" / place)
    run(f"nbgrader autograde {NOTEBOOK.stem}")
    run("nbgrader export")
    with (tmp_path / "grades.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    names = exercises(files.read(NOTEBOOK)["cells"])
    assert float(row["max_score"]) == sum(catalogue()[name].level for name in names)
    assert float(row["score"]) == sum(POINTS.values())
    cells = files.read(tmp_path / "autograded" / "anna" / place)["cells"]
    said = {name: json.dumps(below(cells, name)["outputs"], ensure_ascii=False) for name in names}
    assert "✔ one_hot: right on all" in said["one_hot"] and "exp overflows" in said["softmax"]
    assert "not divided by √d_k" in said["attention_scores"] and "its cell defines no function" in said["attend"]
    failed = [
        cell["source"] for cell in cells for output in cell.get("outputs", []) if output["output_type"] == "error"
    ]
    assert len(failed) == 1 and "return broken(" in failed[0], "the course's functions stand in for the wrong ones"
    run(f"nbgrader generate_feedback {NOTEBOOK.stem}")
    feedback = (tmp_path / "feedback" / "anna" / place).with_suffix(".html").read_text(encoding="utf-8")
    assert "exp overflows" in feedback


def test_otter_gives_these_points_and_says_why(tmp_path, run):
    export_assignment.main(["otter", str(NOTEBOOK), "--to", str(tmp_path)])
    run("otter generate -t tests attention-course")
    hand_in(tmp_path / NOTEBOOK.name, tmp_path / "anna" / NOTEBOOK.name)
    run(f"otter run --no-logo -a autograder.zip -o anna anna/{NOTEBOOK.name}")
    tests = json.loads((tmp_path / "anna" / "results.json").read_text(encoding="utf-8"))["tests"]
    points = {test["name"]: test["score"] for test in tests if "score" in test}
    names = exercises(files.read(NOTEBOOK)["cells"])
    assert points == {name: POINTS.get(name, 0.0) for name in names}
    said = json.dumps(tests, ensure_ascii=False)
    assert "AssertionError: exp overflows" in said and "its cell defines no function" in said
