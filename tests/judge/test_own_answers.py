"""A right answer is kept with all that it needs, later notebooks go on with it, and nothing else ever sees it."""

import linecache
import math
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from learner import said, written

from tools.notebooks import execute, export
from utils.exercises import catalogue, check, my_answers, progress, use
from utils.exercises.learner import kept_answers as own
from utils.exercises.learner.progress import notebook_of
from utils.judge.run import sandbox

ROOT = Path(__file__).parents[2]
RIGHT, WRONG = "return weights @ values", "return 2 * weights @ values"
REFERENCE = catalogue()["weighted_sum"].reference


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where answers are kept in a course in a folder of its own."""
    monkeypatch.setenv("ATTENTION_COURSE", str(tmp_path))
    monkeypatch.delenv("ATTENTION_PROGRESS")
    return tmp_path / "my_answers"


def cell(source, **notebook):
    """What a cell defines, and the names of other cells beside it; its lines are in linecache, as in a kernel."""
    cell.number += 1
    file = f"/tmp/ipykernel_4711/own{cell.number}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {"__name__": "__main__", **notebook}
    exec(compile(source, file, "exec"), space)
    return space


cell.number = 0


def later(name, capsys, **told):
    """(the function that a later notebook goes on with, what it prints)."""
    capsys.readouterr()
    return use(name, **told), capsys.readouterr().out


# ---- kept, and gone on with


def test_a_right_answer_is_kept_and_a_later_notebook_goes_on_with_it(folder, capsys):
    assert said(capsys, written(RIGHT)) == "✔ weighted_sum: right on all 9 inputs.\n"
    assert [path.name for path in folder.iterdir()] == ["weighted_sum.py"]
    function, text = later("weighted_sum", capsys)
    assert (
        function is not REFERENCE and text == "weighted_sum: your own function, kept in my_answers/weighted_sum.py.\n"
    )
    assert function(torch.ones(2), torch.ones(2, 3)).tolist() == [2.0, 2.0, 2.0]
    assert later("weighted_sum", capsys, own=False) == (REFERENCE, "")


def test_what_is_not_right_is_not_kept_and_costs_no_answer_that_was(folder, capsys):
    for body in ("return ...", WRONG):
        said(capsys, written(body))
        assert not folder.exists() and later("weighted_sum", capsys) == (REFERENCE, "")
    check(written(RIGHT))
    before = (folder / "weighted_sum.py").read_text()
    check(written(WRONG))
    check(REFERENCE)
    assert (folder / "weighted_sum.py").read_text() == before
    check(written("return (weights[:, None] * values).sum(0)"))
    assert "[:, None]" in (folder / "weighted_sum.py").read_text(), "the last right answer counts"


def test_use_of_a_function_goes_on_with_that_one(capsys):
    check(written(RIGHT))
    capsys.readouterr()
    other = written("return (weights[:, None] * values).sum(0)")
    assert use(other).__wrapped__ is other and use(written("return ...")) is REFERENCE and capsys.readouterr().out == ""


def test_numbers_of_another_kind_are_fitted_to_the_notebook(capsys):
    check(written("return (weights @ values).tolist()"))
    function, text = later("weighted_sum", capsys)
    assert "your own function" in text and isinstance(function(torch.ones(2), torch.ones(2, 3)), torch.Tensor)


def test_an_answer_with_self_is_kept(capsys):
    check(catalogue()["SelfAttention"].answers[0])
    assert "your own class" in later("SelfAttention", capsys)[1]


@pytest.mark.sampled(4, "utils/judge/", "utils/exercises/")
@pytest.mark.parametrize("found", catalogue().values(), ids=lambda found: found.name)
def test_what_is_kept_is_what_check_says_is_right(found, folder, capsys):
    """Each exercise with a right answer: kept, gone on with, checked and kept again as it is."""
    check(found.answers[0])
    assert not capsys.readouterr().out.partition("right on all")[2].partition(".")[2].strip()
    before = (folder / f"{found.name}.py").read_text()
    function, text = later(found.name, capsys)
    assert f"your own {found.asked}" in text
    check(function)
    assert (folder / f"{found.name}.py").read_text() == before


# ---- what an answer needs of its notebook

ALONE = '''
import functools

HALF, SIZES, LOW = 0.5, (1, 2), -float("inf")
plus = lambda x: x.clamp(min=LOW)


class Mean(nn.Module):
    """A module."""

    def forward(self, x):
        return F.relu(x) * HALF


@functools.lru_cache
def twice(x):
    return x * len(SIZES)


def helper(weights: Tensor, values, scale=HALF):
    again = lambda x: twice_(x)
    return scale * again(plain(weights) @ values)


def weighted_sum(weights, values):
    """Mine."""
    helped = helper(weights, values)  # HALF, twice
    unused = torch.stack([cos for cos in values])
    return plus(helped) + 0 * Mean()(helped) + 0 * mixed(weights, values)
'''


def test_imports_numbers_helpers_and_classes_of_other_cells_are_kept_with_it(folder, capsys):
    notebook = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "Tensor": torch.Tensor, "plain": torch.clone}
    space = cell(ALONE, **notebook, mixed=REFERENCE, cos="not this one", table=torch.ones(3))
    space["twice_"] = space["twice"]
    assert said(capsys, space["weighted_sum"]) == "✔ weighted_sum: right on all 9 inputs.\n"
    text = (folder / "weighted_sum.py").read_text()
    assert "def helper" in text and "class Mean" in text and "@functools.lru_cache" in text and '"""Mine."""' in text
    assert "twice_ = twice" in text and "from torch import clone as plain" in text and "HALF = 0.5" in text
    assert 'LOW = float("-inf")' in text and "plus = lambda x: x.clamp(min=LOW)" in text
    assert 'mixed = use("weighted_sum", own=False)' in text and "not this one" not in text and "table" not in text
    function, text_said = later("weighted_sum", capsys)
    check(function)
    assert "your own function" in text_said and (folder / "weighted_sum.py").read_text() == text
    alone = {}
    exec(text, alone)
    assert alone["weighted_sum"](torch.ones(2), torch.ones(2, 3)).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    "body, notebook, why",
    [
        ("return weights @ values + 0 * table.sum()", {"table": torch.ones(3)}, "it uses `table` of this one."),
        ("return layer(weights @ values)", {"layer": torch.nn.Identity()}, "it uses `layer` of this one."),
        ("return weights @ values + eval('zero')", {"zero": 0}, "without this one it does not come out right."),
    ],
)
def test_what_cannot_be_taken_along_is_said_and_nothing_is_kept(body, notebook, why, folder, capsys):
    expected = f"✔ weighted_sum: right on all 9 inputs. It is not kept for other notebooks: {why}\n"
    assert said(capsys, written(body, **notebook)) == expected
    assert not folder.exists() and later("weighted_sum", capsys) == (REFERENCE, "")


def test_a_function_without_a_source_is_not_kept(folder, capsys):
    space = {}
    exec("def weighted_sum(weights, values):\n    return weights @ values", space)
    assert said(capsys, space["weighted_sum"]).endswith(
        "It is not kept for other notebooks: its source cannot be found.\n"
    )
    assert not folder.exists()


# ---- a newer course, a damaged file


@pytest.mark.parametrize(
    "text, why",
    [
        ("def weighted_sum(weights, values):\n    return 2 * weights @ values", "is not right in this version"),
        ("def weighted_sum(weights, values):\n    return ...", "is not right in this version"),
        ("from utils.attention import gone", "does not run: ImportError: cannot import name 'gone'"),
        ("def weighted_sum(", "does not run: SyntaxError"),
        ("raise SystemExit", "does not run: SystemExit"),
        ("", "does not run: KeyError"),
        ("weighted_sum = 3", "is not right in this version"),
        ("class weighted_sum:\n    def __init__(self, weights, values):\n        pass", "is not right in this version"),
        ("def weighted_sum(weights):\n    return weights", "is not right in this version"),
        ("from utils.exercises import use\nuse('gone', own=False)", "does not run: ValueError: there is no exercise"),
    ],
)
def test_what_is_no_longer_right_gives_way_to_the_course_s_function(text, why, folder, capsys):
    folder.mkdir()
    (folder / "weighted_sum.py").write_text(text)
    function, text = later("weighted_sum", capsys)
    assert function is REFERENCE and why in text and text.count("\n") == 1
    assert text.startswith("weighted_sum: the course's function, for your own in my_answers/weighted_sum.py ")


def test_a_deleted_file_gives_the_course_s_function_back(folder, capsys):
    check(written(RIGHT))
    (folder / "weighted_sum.py").unlink()
    assert later("weighted_sum", capsys) == (REFERENCE, "")


# ---- a file that was changed by hand


def test_a_byte_order_mark_does_no_harm(folder, capsys):
    """Notepad puts one before a text that it saves."""
    check(written(RIGHT))
    file = folder / "weighted_sum.py"
    file.write_text(file.read_text(), encoding="utf-8-sig")
    assert "your own function" in later("weighted_sum", capsys)[1]
    my_answers("weighted_sum")
    assert capsys.readouterr().out == file.read_text(encoding="utf-8-sig")


@pytest.mark.parametrize(
    "loop", ["while True:\n    pass", "for _ in iter(int, 1):\n    try:\n        1\n    except:\n        2"]
)
def test_a_file_that_never_ends_is_stopped(folder, loop, capsys, monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS", 0.3)
    check(written(RIGHT))
    with (folder / "weighted_sum.py").open("a") as file:
        file.write(f"\n\n{loop}\n")
    function, text = later("weighted_sum", capsys)
    why = r"it was still running after 0\.\d seconds( of work)?"  # the clock stops it where other processes run, too
    assert function is REFERENCE and re.fullmatch(
        rf"weighted_sum: the course's function, for your own in my_answers/weighted_sum\.py does not run: {why}\n", text
    )


SWITCHED = """
import numpy, os, random, torch
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.manual_seed(3)
random.seed(3)
os.environ["ATTENTION_SWITCHED"] = "1"
numpy.seterr(all="raise")
torch.softmax = None
"""


def test_a_file_leaves_nothing_switched(folder, capsys):
    check(written(RIGHT))
    file = folder / "weighted_sum.py"
    file.write_text(SWITCHED + file.read_text())
    before = torch.get_rng_state(), random.getstate(), np.geterr(), torch.softmax
    assert "your own function" in later("weighted_sum", capsys)[1]
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()
    assert "ATTENTION_SWITCHED" not in os.environ and torch.equal(before[0], torch.get_rng_state())
    assert before[1:] == (random.getstate(), np.geterr(), torch.softmax)


def test_a_file_may_call_on_another_answer(folder, capsys):
    """As a hand may write it: use goes on with what is kept of that one."""
    check(written(RIGHT))
    check(written("return math.fsum(a * b)", "dot_product", math=math))
    with (folder / "weighted_sum.py").open("a") as file:
        file.write("\nfrom utils.exercises import use\nmine = use('dot_product')\n")
    assert later("weighted_sum", capsys)[1] == "".join(
        f"{name}: your own function, kept in my_answers/{name}.py.\n" for name in ("dot_product", "weighted_sum")
    )


# ---- cells under a magic

MAGIC = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in {cells!r}:
    shell.run_cell(cell, store_history=True)
"""
TIMED = (
    "import torch\nfrom utils.exercises import check",
    "%%time\nHALF = 0.5\ndef doubled(x):\n    return 2 * x\n"
    "class Halves:\n    def of(self, x):\n        return HALF * x",
    "%%time\n\n# mine\ndef weighted_sum(weights, values):\n    total = weights @ doubled(values)\n    "
    "return Halves().of(total)\n\ncheck(weighted_sum)",
    "%%time\ndef doubled(x):\n    return 2 * x + 0",
    "%%html\n<b>def doubled(x): return 3 * x</b>",
    "%%time\ndef doubled(x):\n    return x * 2",
    "check(weighted_sum)",
    "get_ipython().history_manager.input_hist_raw.clear()\ncheck(weighted_sum)",
)


@pytest.mark.lane("test", "kept_answers", "test_own_answers")
def test_an_answer_under_time_is_kept(folder):
    """With what it needs of other cells under a magic, each as it was when it last ran."""
    done = subprocess.run([sys.executable, "-c", MAGIC.format(cells=TIMED)], cwd=ROOT, capture_output=True, text=True)
    said = [line for line in done.stdout.splitlines() if line.startswith("✔")]
    right = r"✔ weighted_sum: right on all \d+ inputs\."
    assert all(re.fullmatch(right, line) for line in said[:2]) and len(said) == 3, done.stdout + done.stderr
    assert said[2].endswith(
        "its source cannot be found, for %%time keeps it to itself: leave that line out, and run the cell again."
    )
    space = {}
    exec((folder / "weighted_sum.py").read_text(), space)
    assert space["weighted_sum"](torch.ones(2), torch.ones(2, 3)).tolist() == [2.0, 2.0, 2.0]
    assert "return x * 2\n" in (folder / "weighted_sum.py").read_text()


# ---- the file


def test_writing_is_all_or_nothing_and_disturbs_no_check(folder, capsys, monkeypatch):
    check(written(RIGHT))
    before = (folder / "weighted_sum.py").read_text()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    text = said(capsys, written("return (weights[:, None] * values).sum(0)"))
    assert text.endswith("my_answers cannot be written (No space left on device).\n") and text.startswith("✔")
    assert (folder / "weighted_sum.py").read_text() == before and len(list(folder.iterdir())) == 1
    monkeypatch.setenv("ATTENTION_COURSE", str(folder / "weighted_sum.py"))  # a file, not a folder
    assert said(capsys, written(RIGHT)).startswith("✔") and later("weighted_sum", capsys) == (REFERENCE, "")


MANY = """
import linecache
from utils.exercises import check, use
for number in range(60):
    code = f"def weighted_sum(weights, values):\\n    return weights @ values + {number} * {0} * 0  # {'x' * 3000}\\n"
    name = f"cell{number}"
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    space = {{}}
    exec(compile(code, name, "exec"), space)
    check(space["weighted_sum"])
    use("weighted_sum")
"""


@pytest.mark.lane("all", "kept_answers")
def test_two_kernels_at_once_never_see_half_a_file(folder):
    code = [MANY.replace("{0}", number).replace("{{}}", "{}") for number in "12"]
    kernels = [
        subprocess.Popen([sys.executable, "-c", one], cwd=ROOT, stdout=subprocess.PIPE, text=True) for one in code
    ]
    said = [kernel.communicate(timeout=300)[0].splitlines() for kernel in kernels]
    assert [kernel.returncode for kernel in kernels] == [0, 0]
    assert {line for lines in said for line in lines} == {
        "✔ weighted_sum: right on all 9 inputs.",
        "weighted_sum: your own function, kept in my_answers/weighted_sum.py.",
    }
    assert [path.name for path in folder.iterdir()] == ["weighted_sum.py"]


def test_git_and_docker_do_not_see_the_folder():
    if not (ROOT / ".git").exists():
        pytest.skip("this copy of the course is not a git repository")
    done = subprocess.run(["git", "check-ignore", "my_answers/attend.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["my_answers/attend.py"]
    assert "my_answers" in (ROOT / ".dockerignore").read_text().split()


NOTEBOOKS = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in {!r}:
    shell.run_cell(cell)
"""
FIRST = [
    "import torch\nfrom torch import nn\nfrom utils.exercises import check, use",
    "SCALE = 2\nclass Half(nn.Module):\n    def forward(self, x):\n        return x / SCALE",
    "def twice(x):\n    return SCALE * x",
    "def weighted_sum(weights, values):\n    return Half()(twice(weights) @ values)\n\n"
    "check(weighted_sum)\nweighted_sum = use(weighted_sum)",
]
SECOND = ["from utils.exercises import use", "weighted_sum = use('weighted_sum')", "print(weighted_sum.__module__)"]


@pytest.mark.lane("all", "kept_answers", "test_own_answers")
def test_one_notebook_after_the_other_as_ipython_runs_them(folder):
    """Where a class has no file that Python finds, and each cell is a file of its own."""
    said = [
        subprocess.run([sys.executable, "-c", NOTEBOOKS.format(cells)], cwd=ROOT, capture_output=True, text=True).stdout
        for cells in (FIRST, SECOND)
    ]
    assert said[0] == "✔ weighted_sum: right on all 9 inputs.\n"
    assert said[1] == "weighted_sum: your own function, kept in my_answers/weighted_sum.py.\nmy_answers.weighted_sum\n"
    assert "class Half" in (folder / "weighted_sum.py").read_text()


# ---- who sees nothing of it


@pytest.mark.parametrize("variable, value", [("ATTENTION_PROGRESS", "off"), ("ATTENTION_MARKED", "1")])
def test_tools_and_marked_work_keep_nothing_and_use_nothing_kept(variable, value, folder, capsys, monkeypatch):
    check(written(RIGHT))
    check(written("return (a * b).sum()", "dot_product"))
    before = {path: path.read_text() for path in folder.iterdir()}
    monkeypatch.setenv(variable, value)
    assert later("weighted_sum", capsys) == (REFERENCE, "")
    assert said(capsys, written("return (weights[:, None] * values).sum(0)")).endswith("right on all 9 inputs.\n")
    check(written("return scores.softmax(-1)", "softmax"))
    assert {path: path.read_text() for path in folder.iterdir()} == before
    capsys.readouterr()
    progress()
    my_answers()
    text = capsys.readouterr().out
    assert "my_answers" not in text and "def " not in text


GRADED = """
from utils.exercises.teachers.grading import grade
print(grade(__import__("pathlib").Path({!r}))["exercises"]["weighted_sum"]["status"])
"""


@pytest.mark.lane("test")
def test_grading_sees_no_kept_answer(folder, tmp_path, capsys):
    """The kept answer is right, and what is handed in takes it: it is judged as the course's own."""
    check(written(RIGHT))
    book = tmp_path / "handed_in.ipynb"
    source = 'from utils.exercises import use\\nweighted_sum = use(\\"weighted_sum\\")'
    book.write_text(
        '{"cells": [{"cell_type": "code", "metadata": {"tags": ["exercise:weighted_sum"]}, "source": "'
        + source
        + '"}]}'
    )
    done = subprocess.run([sys.executable, "-c", GRADED.format(str(book))], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "wrong\n", done.stderr


def test_tools_that_run_notebooks_and_exports_for_marking_see_none(folder):
    assert execute.kernel_environment()["ATTENTION_PROGRESS"] == "off"
    assert 'os.environ["ATTENTION_PROGRESS"] = "off"' in export.NBGRADER_CONFIG
    assert 'os.environ["ATTENTION_MARKED"] = "1"' in export.MARKED


# ---- looked at, taken along, put back


def test_kept_lists_what_is_kept_and_shows_its_code(folder, capsys):
    my_answers()
    assert capsys.readouterr().out == "No answer is kept yet: check keeps one when it comes right.\n"
    check(written(RIGHT))
    check(written("return math.fsum(a * b)", "dot_product"))
    (folder / "gone.py").write_text("def gone():\n    return 1\n")
    (folder / "not-a-name.py").write_text("")
    capsys.readouterr()
    my_answers()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:-3]] == [
        [name, notebook_of(catalogue()[name])] for name in ("weighted_sum", "dot_product")
    ]
    assert lines[-3:-1] == ["from an earlier edition of the course", "  gone"]
    assert "my_answers" in lines[-1] and 'my_answers("' in lines[-1]
    my_answers("gone")
    assert capsys.readouterr().out == "def gone():\n    return 1\n"
    my_answers("softmax")
    assert capsys.readouterr().out == "No answer to softmax is kept yet: check keeps one when it comes right.\n"
    for name in ("weighted_sums", "../my_answers/gone", "not-a-name"):
        with pytest.raises(ValueError, match="there is no exercise named"):
            my_answers(name)


def test_what_kept_shows_fills_an_empty_exercise_and_is_right(folder, capsys):
    check(written("return torch.as_tensor(math.fsum(a * b))", "dot_product", math=math))
    capsys.readouterr()
    my_answers(catalogue()["dot_product"].reference)
    text = capsys.readouterr().out
    assert text == (folder / "dot_product.py").read_text()
    (folder / "dot_product.py").unlink()
    assert said(capsys, cell(text)["dot_product"]).startswith("✔ dot_product: right on all")
    assert (folder / "dot_product.py").read_text() == text


def test_a_folder_that_was_copied_to_another_place_goes_on_there(folder, tmp_path, monkeypatch, capsys):
    check(written(RIGHT))
    (tmp_path / "other").mkdir()
    folder.rename(tmp_path / "other" / "my_answers")
    assert later("weighted_sum", capsys) == (REFERENCE, "")
    monkeypatch.setenv("ATTENTION_COURSE", str(tmp_path / "other"))
    assert "your own function" in later("weighted_sum", capsys)[1]


def test_progress_shows_what_is_kept(capsys):
    check(written(RIGHT))
    check(written("return a + b", "dot_product"))
    capsys.readouterr()
    progress()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if line.endswith("   kept")] == ["weighted_sum"]
    assert any("my_answers" in line and "my_answers()" in line for line in lines)


def test_an_answer_that_is_judged_reaches_no_kept_one(capsys):
    check(written(RIGHT))
    answer = written("return use('weighted_sum')(weights, values)", use=use)
    assert said(capsys, answer).startswith("✘")
    assert own.names() == ["weighted_sum"]
