"""Notebooks that were handed in are judged exercise by exercise, whatever they hold, and a class is summed up."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import nbformat
import pytest
from learner import written
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from solved import solved
from topics import named

from tools.notebooks import files
from utils import cells
from utils.exercises import catalogue
from utils.exercises.__main__ import main
from utils.exercises.teachers import processes
from utils.exercises.teachers.grading import LARGEST, grade
from utils.judge.exercise import source
from utils.records import short

ROOT = Path(__file__).parents[2]
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
        ("from utils.exercises.tasks.dot_product_similarity import likeness_to_others", "exercise:likeness_to_others"),
    )
    said = told(capsys, "grade", path.name, "--json", "all.json", "--csv", "all.csv")
    assert said[0] == f"maria.ipynb ({named('dot_product_similarity')}): 1 of 6 right"
    assert said[1].startswith("  ✔ dot_product: right on all")
    assert said[2] == f"  ✘ magnitude: {wrong.message}"
    assert said[3] == "  ○ cosine_similarity: not tried yet."
    assert said[5] == "  ✘ likeness_to_others: this is the course's own function."
    assert said[4].startswith("  ✘ nearest: its cell raises SyntaxError in line 2: ")
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
        answer("add_mixture", "assert math\nreturn x + weights @ values", end=False),
        answer("most_looked_at", "input()\nreturn words"),
        answer("output_shape", "print('{\"done\": true}', flush=True)\nreturn (n_queries, d_value)"),
    )
    before = set(Path.cwd().iterdir())
    graded = grade(path)
    assert statuses(graded) == {
        "weighted_sum": "right",
        "add_mixture": "right",
        "most_looked_at": "wrong",
        "output_shape": "right",
    }
    assert "EOF" in graded["exercises"]["most_looked_at"]["message"]
    assert not ran.exists() and set(Path.cwd().iterdir()) == before


def test_of_several_answers_the_last_that_was_tried_counts(tmp_path):
    path = handed_in(
        tmp_path / "x.ipynb",
        (answer("weighted_sum", "return ..."), "exercise:weighted_sum"),
        answer("weighted_sum"),
        answer("add_mixture"),
        answer("add_mixture", "return x"),
        answer("most_looked_at"),
        answer("most_looked_at", "return ...\n"),
        answer("output_shape") + "\n" + answer("most_looked_at", "return ...\n"),
        "def add_mixture(x, weights, values):\n    return 'not an answer, for nothing checks it'",
        "def softmax(scores):\n    return 'an exercise of another notebook'",
    )
    graded = statuses(grade(path))
    assert graded == {
        "weighted_sum": "right",
        "add_mixture": "wrong",
        "most_looked_at": "right",
        "output_shape": "right",
    }


# ---- what is marked right is what check marks right


MASK = "def causal_mask(n):\n    return torch.ones(n, n, dtype=torch.bool).tril()"
SOFTMAX = "def masked_softmax(scores, mask):\n    return torch.softmax(scores.masked_fill(~mask, {}), -1) * mask"
WINDOW = "def sliding_window_mask(n, width):\n    return causal_mask(n) & ~causal_mask(n).tril(-width)"
OF_LOW = SOFTMAX.format("LOW")


def with_check(code, name=""):
    name = name or re.search(r"def (\w+)", code)[1]
    return f"{code}\n\ncheck({name})\n{name} = use({name})", f"exercise:{name}"


RIGHT = {
    "the course's alias": [
        "F = torch.nn.functional",
        with_check(OF_LOW.replace("torch.s", "F.s").replace("LOW", "-1e30")),
    ],
    "a number of one's own": ["LOW = -1e30", with_check(OF_LOW)],
    "a name for torch": ["t = torch", with_check(MASK.replace("torch.", "t."))],
    "in a cell that trains": ["model = torch.nn.Linear(1, 1)\nLOW = -1e30\nwhile True: pass", with_check(OF_LOW)],
    "a chain": ["A = 30\nB = float(f'1e{A}')", "LOW = -B", with_check(OF_LOW)],
    "a tuple, annotated, changed": [
        "LOW, other = -1, open('nothing')",
        "LOW: float = -1",
        "LOW *= 1e30",
        with_check(OF_LOW),
    ],
    "a loop": ["for n in range(31):\n    LOW = -10.0**n", with_check(OF_LOW)],
    "with": ["with torch.no_grad():\n    LOW = -1e30", with_check(OF_LOW)],
    "a default": ["LOW = -1e30", with_check(OF_LOW.replace("LOW)", "low)").replace("mask):", "mask, low=LOW):"))],
    "a decorator": ["import functools\nquick = functools.wraps(torch.tril)", with_check("@quick\n" + MASK)],
    "an attribute of a class": [
        "LOW = -1e30",
        "class Config:\n    low = LOW",
        with_check(SOFTMAX.format("Config.low")),
    ],
    "a helper that needs one": ["def low(): return LOW\nLOW = -1e30", with_check(SOFTMAX.format("low()"))],
    "bound again above and below": ["LOW = 0", "LOW = -1e30", with_check(OF_LOW), "LOW = 5"],
    "a function, and then a number": ["def LOW(): pass", "LOW = -1e30", with_check(OF_LOW)],
    "below alone": [with_check(OF_LOW), "LOW = -1e30"],
    "needed by one below": ["LOW = 2 * HALF", with_check(OF_LOW), "HALF = -1e30"],
    "by global": ["def set_up():\n    global LOW\n    LOW = -1e30", "set_up()", with_check(OF_LOW)],
    "by await": ["async def low(): return -1e30", "LOW = await low()", with_check(OF_LOW)],
    "deleted below": ["LOW = -1e30", with_check(OF_LOW), "del LOW"],
    "in the cell of another exercise": [with_check(MASK + "\nLOW = -1e30"), with_check(OF_LOW)],
    "annotations that are never read": [
        "from __future__ import annotations",
        with_check(MASK.replace("(n)", "(n: Odd)", 1)),
    ],
    "help": [with_check(MASK + "\ntorch.tril?")],
    "the shell": [with_check("files = !ls\n" + MASK)],
    "timed": [with_check("%%time\n" + MASK)],
    "timed, the call": ["LOW = %time float('-1e30')", with_check(OF_LOW + "\n%time masked_softmax")],
    "display": [with_check(MASK.replace("return", "display(n)\n    return"))],
    "compiled": [with_check("@torch.compile\n" + MASK)],
    "below the stub": [with_check("def causal_mask(n):\n    return ..."), MASK],
    "above the stub": [MASK, with_check("def causal_mask(n):\n    return ...")],
    "above one that is gone": [with_check(WINDOW)],
    "above one that nobody can read": [with_check("def causal_mask(n: return 1", "causal_mask"), with_check(WINDOW)],
    "above one that is wrong": [with_check(MASK.replace("tril", "triu")), with_check(WINDOW)],
    "above one that ends Python": [with_check("import os; os._exit(0)", "causal_mask"), with_check(WINDOW)],
    "by a name for another exercise": [
        with_check(MASK),
        "mask = causal_mask",
        with_check(WINDOW.replace("causal_", "")),
    ],
}


@pytest.fixture(scope="module")
def judged_kinds(tmp_path_factory):
    """The verdicts on the last answer of each notebook of RIGHT."""
    folder = tmp_path_factory.mktemp("kinds")
    found = {}
    for number, (kind, sources) in enumerate(RIGHT.items()):
        graded = grade(handed_in(folder / f"{number}.ipynb", *sources), seconds=20)
        answers = [cell[1].removeprefix("exercise:") for cell in sources if not isinstance(cell, str)]
        found[kind] = graded["exercises"][answers[-1]]
    return found


@pytest.mark.parametrize("kind", RIGHT)
def test_a_right_answer_is_right_whatever_its_notebook_does(kind, judged_kinds):
    assert judged_kinds[kind]["message"].startswith("right on all")


NOT_NEEDED = """
LOW = -1e30
name = input()
Path({here!r}).touch()
model = train()
while True: pass
"""


def test_what_an_answer_does_not_need_never_runs(tmp_path):
    """Not even where the answer is wrong; what a wrong one needs runs within its time, and the others are judged."""
    ran = tmp_path / "ran"
    path = handed_in(
        tmp_path / "x.ipynb",
        f"from pathlib import Path\ndef train(): Path({str(ran)!r}).touch()",
        NOT_NEEDED.format(here=str(ran)),
        with_check(OF_LOW),
        with_check(MASK.replace("tril()", "triu(LOW and 0)")),
        "for i in range(3):\n    WIDTH = i\n    train()",
        with_check(WINDOW.replace("width)\n", "width=WIDTH)\n").replace("-width", "-width + WIDTH")),
    )
    verdicts = statuses(grade(path))
    assert verdicts["masked_softmax"] == "right" and verdicts["causal_mask"] == "wrong" and not ran.exists()
    assert verdicts["sliding_window_mask"] == "wrong" and not ran.exists()


def test_what_an_answer_needs_has_a_limit_of_time_and_leaves_its_verdict(tmp_path):
    path = handed_in(
        tmp_path / "x.ipynb", "import itertools\nLOW = sum(itertools.count())", with_check(OF_LOW), with_check(MASK)
    )
    graded = grade(path, seconds=2)["exercises"]
    assert graded["masked_softmax"]["message"].startswith("'LOW' is not defined")
    assert graded["causal_mask"]["status"] == "right"


def test_references_with_the_names_of_their_notebook_are_right(tmp_path, capsys):
    paths = [tmp_path / path.name for path in files.paths()]
    for path, own in zip(paths, files.paths()):
        path.write_text(files.text(solved(files.read(own))), encoding="utf-8")
    said = told(capsys, "grade", *paths)
    assert said[-1] == f"In all: {len(KNOWN)} of {len(KNOWN)} exercises right, {len(paths)} file(s).", said


ODD = [{"metadata": None}, {"metadata": []}, {}, {"metadata": {"tags": None}}, {"metadata": {"tags": [1]}}]
ODD += [{"metadata": {"tags": [5, {"a": 1}, None]}}, {"metadata": {"tags": {"a": 1}}}, {"metadata": {}, "source": None}]
ODD += [{"metadata": {"tags": "x"}}, {"source": [None, 3]}, {"source": 3}, {"source": {}}, {"cell_type": None}, None, 3]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_an_odd_cell_costs_no_mark(tmp_path, odd):
    path = handed_in(tmp_path / "x.ipynb", with_check(MASK))
    notebook = json.loads(path.read_text())
    cell = {"cell_type": "code", "source": "1 + 1", "outputs": []} | odd if isinstance(odd, dict) else odd
    notebook["cells"][1:1] = [cell, odd]
    path.write_text(json.dumps(notebook))
    graded = grade(path)
    assert statuses(graded)["causal_mask"] == "right" and graded["problems"] == []


# ---- what disturbs


@pytest.mark.lane("all", "grading", "sandbox")
def test_endless_loops_and_crashes_leave_the_other_exercises_judged(tmp_path):
    path = handed_in(
        tmp_path / "x.ipynb",
        "class Odd:\n    import os\n    os._exit(0)",
        (answer("weighted_sum", "import os\nos._exit(3)"), "exercise:weighted_sum"),
        ("while True: pass\n" + answer("add_mixture"), "exercise:add_mixture"),
        (answer("most_looked_at", "import ctypes\nctypes.string_at(0)"), "exercise:most_looked_at"),
        (answer("output_shape"), "exercise:output_shape"),
    )
    graded = grade(path, seconds=5)
    said = {name: verdict["message"] for name, verdict in graded["exercises"].items()}
    assert said.pop("output_shape").startswith("right on all")
    assert said == {
        "weighted_sum": "its cell ended Python, status 3.",
        "add_mixture": "its cell was still running after 5 seconds.",
        "most_looked_at": "its cell crashed Python, signal 11.",
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


# ---- a class


def command(*arguments):
    return [sys.executable, "-m", "utils.exercises", "grade", *map(str, arguments)]


def begun(*arguments):
    """The command in a process of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]])}
    return subprocess.Popen(
        command(*arguments), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def rows_of(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def eventually(is_so, seconds=60):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.lane("all", "grading"))],
    ids=lambda number: number.name,
)
def test_a_signal_loses_no_verdict(tmp_path, number):
    """The second notebook never ends; the third is done before it, and its verdict waits for its turn."""
    paths = [handed_in(tmp_path / f"{name}.ipynb", with_check(MASK)) for name in "abc"]
    handed_in(paths[1], with_check(MASK.replace("return", "import time; time.sleep(1e3)\n    return")))
    process = begun(*paths, "--jobs", 2, "--csv", "all.csv", "--json", "all.json")
    eventually(lambda: (tmp_path / "all.csv").exists() and len(rows_of(tmp_path / "all.csv")) == 7)
    assert json.loads((tmp_path / "all.json").read_text())["notebooks"][0]["file"] == str(paths[0])
    time.sleep(2)
    process.send_signal(number)
    out, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number and "Traceback" not in errors
    assert out.splitlines()[-2:] == [
        "Stopped: 2 of 3 files are judged.",
        "In all: 2 of 14 exercises right, 2 file(s).",
    ]
    assert [one["file"] for one in json.loads((tmp_path / "all.json").read_text())["notebooks"]] == [
        str(paths[0]),
        str(paths[2]),
    ]
    assert {row["file"] for row in rows_of(tmp_path / "all.csv")} == {str(paths[0]), str(paths[2])}


HOSTILE = {
    "interrupts its parent": "os.kill(os.getppid(), signal.SIGINT)",
    "ends its parent": "os.kill(os.getppid(), signal.SIGKILL)",
    "ends its parent's group": "os.killpg(os.getpgid(os.getppid()), signal.SIGTERM)",
    "ends all above it": """
        number = os.getppid()
        for _ in range(2):
            above = int(open(f"/proc/{number}/stat").read().rpartition(")")[2].split()[1])
            os.kill(number, signal.SIGKILL)
            number = above
    """,
    "stops its parent": "os.kill(os.getppid(), signal.SIGSTOP)",
}


@pytest.mark.skipif(not processes.FORKS, reason="every notebook has a process that imports the course for itself")
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_notebook_that_signals_leaves_the_others_judged(tmp_path, capsys, kind):
    paths = [handed_in(tmp_path / f"{name}.ipynb", with_check(MASK)) for name in "abc"]
    handed_in(paths[1], with_check("import os, signal\n" + textwrap.dedent(HOSTILE[kind]) + "\n" + MASK))
    said = told(capsys, "grade", *paths, "--jobs", 1)
    assert [line for line in said if "causal_mask: " in line][::2] == ["  ✔ causal_mask: right on all 7 inputs."] * 2
    assert said[-1].endswith("3 file(s).")


def test_the_order_and_the_verdicts_are_those_of_one_at_a_time(tmp_path, capsys):
    paths = [
        handed_in(tmp_path / f"{n}.ipynb", with_check(MASK.replace("tril", "triu" * (n % 2) or "tril")))
        for n in range(5)
    ]
    slow = "import time; time.sleep(0.5)\n"
    handed_in(paths[0], with_check(slow + MASK))
    one = told(capsys, "grade", *paths, "--jobs", 1, "--csv", "1.csv")
    assert told(capsys, "grade", *paths, "--jobs", 3, "--csv", "3.csv") == one
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "3.csv").read_bytes()


def test_where_forking_is_not_safe_a_process_imports_the_course_for_one_notebook(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "FORKS", False)
    path = handed_in(tmp_path / "x.ipynb", with_check(MASK), with_check("import os; os._exit(3)", "padding_mask"))
    graded = grade(path)["exercises"]
    assert graded["causal_mask"]["status"] == "right"
    assert graded["padding_mask"]["message"] == "its cell ended Python, status 3."


def test_what_is_no_file_or_too_large_is_one_line(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "zero.ipynb").symlink_to("/dev/zero")
    with (tmp_path / "large.ipynb").open("wb") as file:
        file.truncate(LARGEST + 1)
    names = ["pipe.ipynb", "zero.ipynb", "large.ipynb"]
    said = told(capsys, "grade", *names)
    assert said == [
        "pipe.ipynb: cannot be read: it is not a file.",
        "zero.ipynb: cannot be read: it is not a file.",
        "large.ipynb: is larger than 200 MB: clear the outputs of its cells.",
        "In all: 0 of 0 exercises right, 3 file(s).",
    ]
    said = told(capsys, "class", *names)
    assert said[:3] == [
        "skipped: pipe.ipynb cannot be read: it is not a file",
        "skipped: zero.ipynb cannot be read: it is not a file",
        "skipped: large.ipynb is larger than 200 MB: clear the outputs of its cells",
    ]


@pytest.mark.parametrize("option, name", [("--csv", "all.csv"), ("--json", "all.json")])
def test_a_file_that_cannot_be_written_is_said_before_anything_is_judged(tmp_path, option, name, monkeypatch):
    (tmp_path / name).mkdir()
    monkeypatch.setattr("utils.exercises.__main__.grade", None)
    with pytest.raises(SystemExit, match=f"{name} cannot be written: it is not a file"):
        main(["grade", "x.ipynb", option, name])


def test_what_moves_a_cursor_is_in_no_file(tmp_path, capsys):
    path = handed_in(tmp_path / "x.ipynb", with_check("raise ValueError('\\x1b[31m red \\ud800')", "causal_mask"))
    told(capsys, "grade", path, "--csv", "all.csv", "--json", "all.json")
    assert "\x1b" not in (tmp_path / "all.csv").read_text("utf-8") + (tmp_path / "all.json").read_text("utf-8")
    assert any("red" in row["message"] for row in rows_of(tmp_path / "all.csv"))


@pytest.mark.parametrize("jobs", ["0", "-1"])
def test_no_process_at_all_is_refused(jobs, capsys):
    with pytest.raises(SystemExit):
        main(["grade", "x.ipynb", "--jobs", jobs])
    assert "has to be at least 1" in capsys.readouterr().err


# ---- the class


def entry(status, tries, **mistakes):
    return {"status": status, "tries": tries, "mistakes": mistakes, "first": "2026-11-21T14:05Z"}


def test_a_class_is_summed_up(tmp_path, capsys):
    rows = KNOWN["softmax"].rows
    (first, sentence), (second, other) = ((short(row.name), row.message) for row in rows[:2])
    for number in range(28):
        exercises = {"softmax": entry("right" if number < 20 else "wrong", number + 1, **{first: 9})}
        exercises |= {"attend": entry("wrong", 1, odd_name=1)} if number < 3 else {}
        exercises |= {"bad\x1b[31m": entry("wrong", 1), "from_later": entry("right", 2, odd=1)} if number == 0 else {}
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


def made_up(**exercises):
    return json.dumps({"version": 1, "exercises": exercises})


MADE_UP = {f"made_up_{number}": 1 for number in range(50_000)}


def test_one_file_does_not_spoil_the_report_of_a_class(tmp_path, capsys):
    row = KNOWN["softmax"].rows[0]
    entries = {
        "huge": {"softmax": entry("wrong", int("9" * 4000))},
        "negative": {"softmax": entry("wrong", -5)},
        "counts": {"softmax": entry("wrong", 1) | {"mistakes": {short(row.name): -1}}},
        "liar": {"softmax": entry("wrong", 1) | {"mistakes": MADE_UP}},
        "names": {name: entry("wrong", 1) | {"mistakes": {"odd": 1}} for name in MADE_UP},
        "before": {"softmax": entry("wrong", 3, aaa=1, bbb=1)},
        "honest": {"softmax": entry("wrong", 3, **{short(row.name): 1})},
    }
    for name, exercises in entries.items():
        (tmp_path / f"{name}.json").write_text(made_up(**exercises))
    verdict = {"status": "wrong", "message": "", "mistakes": []}
    graded = [{"file": "x", "exercises": {"bad\x1b[31m": verdict, "softmax": verdict | {"mistakes": [*MADE_UP]}}}]
    (tmp_path / "graded.json").write_text(json.dumps({"version": 1, "notebooks": graded}))
    said = told(capsys, "class", *(f"{name}.json" for name in entries), "graded.json")
    assert said[0] == "8 of 8 files read." and len(said) < 60 and "\x1b" not in "".join(said)
    assert re.search(r"softmax +4 +0 +3\n", "\n".join(said)), "those of the liar and of the graded file, too"
    commonest = said[said.index("The commonest mistakes, and how many made them") + 1 :]
    assert commonest[0].startswith("    1  softmax: ") and row.message[:30] in commonest[0]


def test_a_class_without_files_that_can_be_read(tmp_path, capsys):
    said = told(capsys, "class", tmp_path / "none.json")
    assert said[1] == "0 of 1 files read." and said[-1] == "No known mistakes."
