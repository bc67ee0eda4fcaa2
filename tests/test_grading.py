"""Notebooks that were handed in are judged exercise by exercise, whatever they hold, and a class is summed up."""

import csv
import json
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from test_exercises import written
from topics import named

from tools.notebooks import files
from utils import cells
from utils.exercises import catalogue
from utils.exercises.__main__ import main
from utils.exercises.engine import source
from utils.exercises.grading import grade
from utils.exercises.records import short

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.lane("test")
KNOWN = catalogue()
SETUP = "from utils.exercises import check, hint, solution, use\nimport torch"


def answer(name, body=None, end=True):
    """A cell with an exercise: the reference's signature and `body`, without one the reference."""
    code = source(KNOWN[name])
    if body is not None:
        code = code.partition("\n")[0] + "\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return f"{code}\n\ncheck({name})\n{name} = use({name})" if end else code


def handed_in(path, *cells):
    """A notebook in a file; a cell is a source, or (source, tag)."""
    pairs = [(cell, None) if isinstance(cell, str) else cell for cell in ((SETUP, "setup"), *cells)]
    made = [new_code_cell(source, metadata={"tags": [tag]} if tag else {}) for source, tag in pairs]
    nbformat.write(new_notebook(cells=[new_markdown_cell("# Mine"), *made]), path)
    return path


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    """The command prints paths as they are given: those of thirty learners may have one name."""
    monkeypatch.chdir(tmp_path)


def told(capsys, *arguments):
    """The lines that the command prints."""
    capsys.readouterr()
    main([str(argument) for argument in arguments])
    return capsys.readouterr().out.splitlines()


def statuses(graded):
    return {name: verdict["status"] for name, verdict in graded["exercises"].items()}


# ---- what is judged


def test_every_exercise_of_a_notebook_gets_a_line(tmp_path, capsys):
    """The verdict is on what the cell defines, not on the reference that `use` puts in the place of a wrong answer."""
    wrong = KNOWN["magnitude"].verdict(written("return a @ a", "magnitude"))
    path = handed_in(
        tmp_path / "maria.ipynb",
        (answer("dot_product"), "exercise:dot_product"),
        (f"%time\n{answer('magnitude', 'return a @ a')}\nplot(magnitude)", "exercise:magnitude"),
        (answer("cosine_similarity", "return ..."), "exercise:cosine_similarity"),
        (answer("nearest", "return (matrix @@ query"), "exercise:nearest"),
        ("from utils.exercises.tasks.dot_product_similarity import variance_kept", "exercise:variance_kept"),
    )
    said = told(capsys, "grade", path.name, "--json", "all.json", "--csv", "all.csv")
    assert said[0] == f"maria.ipynb ({named('dot_product_similarity')}): 1 of 6 right"
    assert said[1].startswith("  ✔ dot_product: right on all")
    assert said[2] == f"  ✘ magnitude: {wrong.message}"
    assert said[3] == "  ○ cosine_similarity: not tried yet."
    assert said[4] == "  ✘ variance_kept: this is the course's own function."
    assert said[5].startswith("  ✘ nearest: its cell raises SyntaxError in line 2: ")
    assert said[6] == "  – analogy_target: no cell defines it."
    assert said[7:] == ["In all: 1 of 6 exercises right, 1 file(s)."]
    (one,) = json.loads((tmp_path / "all.json").read_text())["notebooks"]
    assert one["exercises"]["magnitude"] == {
        "status": "wrong",
        "message": wrong.message,
        "mistakes": [*map(short, wrong.names)],
    }
    with (tmp_path / "all.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["right", "wrong", "todo", "wrong", "wrong", "missing"]
    assert {(row["file"], row["notebook"]) for row in rows} == {("maria.ipynb", named("dot_product_similarity"))}


def test_no_cell_of_the_table_is_a_formula(tmp_path, capsys):
    """A spreadsheet that opens the table would compute it, or fetch something from elsewhere."""
    name = '=cmd|" !A1.ipynb'
    handed_in(tmp_path / name, answer("dot_product"))
    told(capsys, "grade", name, "--csv", "all.csv")
    with (tmp_path / "all.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[1][0] == f"'{name}" and not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)


NIGHTLY = pytest.param(named("transformer_encoder_block"), marks=pytest.mark.lane("all", "grading"))


@pytest.mark.parametrize("name", [named("multi_head_attention"), NIGHTLY])
def test_a_solved_notebook_is_all_right_with_and_without_tags(name, tmp_path):
    """Without tags, too, where the notebook defines a function again later, as the course's own."""
    notebook = files.read(ROOT / "notebooks" / f"{name}.ipynb")
    wrong = None
    for cell in notebook.cells:
        exercise = cells.exercise(cell)
        if exercise in ("split_heads", "layer_norm"):
            wrong = exercise
        elif exercise:
            cell.source = answer(exercise)
        cell.metadata.pop("tags", None)
    nbformat.write(notebook, tmp_path / "untagged.ipynb")
    verdicts = statuses(grade(tmp_path / "untagged.ipynb"))
    assert verdicts.pop(wrong) == "todo"
    assert len(verdicts) >= 4 and set(verdicts.values()) == {"right"}


def test_nothing_else_of_a_notebook_runs(tmp_path):
    ran = tmp_path / "ran"
    path = handed_in(
        tmp_path / "x.ipynb",
        f"open({str(ran)!r}, 'w').write('')\nimport math\ndef half(x): return x / 2\nweights = 0",
        (
            "from pathlib import Path\nPath('here').touch()\n"
            + answer("weighted_sum", "return 2 * half(weights) @ values"),
            "exercise:weighted_sum",
        ),
        answer("projection_shape", "assert math\nreturn (n, d_head)", end=False),
        answer("scores_shape", "input()\nreturn (n_queries, n_keys)"),
        answer("output_shape", "print('{\"done\": true}', flush=True)\nreturn (n_queries, d_value)"),
    )
    before = set(Path.cwd().iterdir())
    graded = grade(path)
    assert statuses(graded) == {
        "weighted_sum": "right",
        "projection_shape": "right",
        "scores_shape": "wrong",
        "output_shape": "right",
    }
    assert "EOF" in graded["exercises"]["scores_shape"]["message"]
    assert not ran.exists() and set(Path.cwd().iterdir()) == before


def test_of_several_answers_the_last_that_was_tried_counts(tmp_path):
    path = handed_in(
        tmp_path / "x.ipynb",
        (answer("weighted_sum", "return ..."), "exercise:weighted_sum"),
        answer("weighted_sum"),
        answer("projection_shape"),
        answer("projection_shape", "return (1, 2)"),
        answer("scores_shape"),
        answer("scores_shape", "return ...\n"),
        answer("output_shape") + "\n" + answer("scores_shape", "return ...\n"),
        "def projection_shape(n, d_model, d_head):\n    return 'not an answer, for nothing checks it'",
        "def softmax(scores):\n    return 'an exercise of another notebook'",
    )
    graded = statuses(grade(path))
    assert graded == {
        "weighted_sum": "right",
        "projection_shape": "wrong",
        "scores_shape": "right",
        "output_shape": "right",
    }


@pytest.mark.lane("all", "grading", "isolation")
def test_endless_loops_and_crashes_leave_the_other_exercises_judged(tmp_path):
    path = handed_in(
        tmp_path / "x.ipynb",
        "class Odd:\n    import os\n    os._exit(0)",
        (answer("weighted_sum", "import os\nos._exit(3)"), "exercise:weighted_sum"),
        ("while True: pass\n" + answer("projection_shape"), "exercise:projection_shape"),
        (answer("scores_shape", "import ctypes\nctypes.string_at(0)"), "exercise:scores_shape"),
        (answer("output_shape"), "exercise:output_shape"),
    )
    graded = grade(path, seconds=5)
    said = {name: verdict["message"] for name, verdict in graded["exercises"].items()}
    assert said.pop("output_shape").startswith("right on all")
    assert said == {
        "weighted_sum": "its cell ended Python, status 3.",
        "projection_shape": "its cell was still running after 5 seconds.",
        "scores_shape": "its cell crashed Python, signal 11.",
    }
    assert graded["problems"] == ["code cell 2 was left out: it ended Python, status 0"]


FORGED = ["3", '{"exercise": "weighted_sum"}', '{"cell": 99, "ended": "rose"}']


@pytest.mark.parametrize("line", FORGED)
def test_a_notebook_that_meddles_leaves_the_others_judged(line, tmp_path):
    meddle = (
        f"import os\nfor stream in range(3, 20):\n    try:\n        os.write(stream, {line.encode()!r} + bytes([10]))\n"
    )
    path = handed_in(tmp_path / "x.ipynb", meddle + "    except OSError:\n        pass\n" + answer("weighted_sum"))
    graded = grade(path)
    assert graded["problems"] or {*statuses(graded).values()} <= {"right", "wrong", "missing"}


def test_another_seed_draws_other_numbers():
    def drawn(seed):
        seen = []
        KNOWN["weighted_sum"].verdict(lambda weights, values: seen.append(weights.tolist()), seed)
        return seen

    assert drawn(0) == drawn(0) != drawn(5)


# ---- the command


def test_what_is_not_a_notebook_is_one_line(tmp_path, capsys):
    (tmp_path / "text.ipynb").write_text("not \x1b[31m JSON")
    (tmp_path / "list.ipynb").write_text("[]")
    (tmp_path / "cells.ipynb").write_text('{"cells": [{"cell_type": "code", "source": 3}]}')
    handed_in(tmp_path / "other.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    names = ["text", "list", "cells", "other", "folder", "missing"]
    said = told(capsys, "grade", *(f"{name}.ipynb" for name in names))
    assert said == [
        "text.ipynb: is not a notebook (of format 4, as Jupyter saves them).",
        "list.ipynb: is not a notebook (of format 4, as Jupyter saves them).",
        "cells.ipynb: is not a notebook (of format 4, as Jupyter saves them).",
        "other.ipynb: holds no exercise of the course.",
        "folder.ipynb: cannot be read: Is a directory.",
        "missing.ipynb: cannot be read: No such file or directory.",
        "In all: 0 of 0 exercises right, 6 file(s).",
    ]


def test_a_notebook_is_never_overwritten(tmp_path, capsys):
    path = handed_in(tmp_path / "x.ipynb")
    before = path.read_bytes()
    for option, name in (("--json", "x.ipynb"), ("--csv", "x.ipynb"), ("--csv", "none/x.csv")):
        with pytest.raises(SystemExit) as left:
            main(["grade", str(path), option, str(tmp_path / name)])
        assert left.value.code == 2 and "is not the name of a" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_a_limit_that_is_none_is_refused(seconds, capsys):
    with pytest.raises(SystemExit):
        main(["grade", "x.ipynb", "--seconds", seconds])
    assert "has to be more than 0" in capsys.readouterr().err


def test_help_says_that_foreign_code_runs(capsys):
    for arguments, said in (
        (["-h"], "grade.*class"),
        (["grade", "-h"], "run as you.*--seconds.*--seed"),
        (["class", "-h"], "FILE"),
    ):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 0 and re.search(said, capsys.readouterr().out, re.DOTALL)


# ---- the class


def entry(status, tries, **mistakes):
    return {"status": status, "tries": tries, "mistakes": mistakes, "first": "2026-11-21T14:05Z"}


def test_a_class_is_summed_up(tmp_path, capsys):
    rows = KNOWN["softmax"].rows
    (first, sentence), (second, other) = ((short(row.name), row.message) for row in rows[:2])
    for number in range(28):
        exercises = {"softmax": entry("right" if number < 20 else "wrong", number + 1, **{first: 9})}
        exercises |= {"attend": entry("wrong", 1, odd_name=1)} if number < 3 else {}
        exercises |= {"bad\x1b[31m": entry("wrong", 1), "from_later": entry("right", 2)} if number == 0 else {}
        (tmp_path / f"{number:02}.json").write_text(json.dumps({"version": 1, "exercises": exercises}))
    verdict = {"status": "wrong", "message": "", "mistakes": [first, second]}
    untried = {"status": "todo", "message": "", "mistakes": []}
    graded = [{"file": "x.ipynb", "exercises": {"softmax": verdict, "attend": untried}}]
    (tmp_path / "28.json").write_text(json.dumps({"version": 1, "notebooks": graded}))
    (tmp_path / "29.json").write_text("{")
    (tmp_path / "30.json").write_text('{"version": 1, "notebooks": [{}]}')
    said = told(capsys, "class", *sorted(path.name for path in tmp_path.glob("*.json")), "a/none.json")
    text = "\n".join(said)
    assert said[:4] == [
        "skipped: 29.json is damaged: it is not JSON",
        "skipped: 30.json is damaged: it is not what `grade --json` writes",
        "skipped: a/none.json cannot be read: No such file or directory",
        "29 of 32 files read.",
    ]
    assert re.search(r"\n02_single_token_attention\n  softmax +29 +20 +14.5\n  attend +3 +0 +1\n", text)
    assert re.search(r"\nnot in this version of the course\n  from_later +1 +1 +2\n", text) and "\x1b" not in text
    *_, commonest = " ".join(text.split()).partition("The commonest mistakes, and how many made them ")
    assert commonest == f"29 softmax: {sentence} 3 attend: odd_name 1 softmax: {other}"
    assert max(map(len, said)) <= 100


def test_a_class_without_files_that_can_be_read(tmp_path, capsys):
    said = told(capsys, "class", tmp_path / "none.json")
    assert said[1] == "0 of 1 files read." and said[-1] == "No known mistakes."
