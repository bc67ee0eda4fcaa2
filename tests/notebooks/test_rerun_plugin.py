"""Behind a notebook's own cells, in the same kernel: what would go wrong for somebody who goes on is found."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.notebooks import execute as execute_notebooks

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.lane("all", "rerun_plugin")

EXERCISE = """\
def weighted_sum(weights, values):
    return ...

check(weighted_sum)
weighted_sum = use(weighted_sum)"""


def run(path, *options):
    """{name of a cell: its outcome} under nbval."""
    command = [sys.executable, "-m", "pytest", "-n0", "-v", "-p", "conftest", "-p", "no:cacheprovider", *options]
    command += [f"--rootdir={ROOT}", "-c", str(ROOT / "pyproject.toml"), str(path)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    return dict(re.findall(r"::(Cell [\w ]+) (PASSED|FAILED)", said))


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """A notebook that runs as it ships, and not again: a list is used up, a name gets another meaning."""
    cells = [
        new_markdown_cell("# Tiny"),
        new_code_cell(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom utils.exercises import check, use"),
        new_code_cell("waiting = ['first', 'second']"),
        new_code_cell(EXERCISE, metadata={"tags": ["exercise:weighted_sum"]}),
        new_code_cell("from math import pi\nshare = 1"),
        new_code_cell("print(share)"),
        new_code_cell("left = iter(waiting)"),
        new_code_cell("print(next(left))"),
        new_code_cell("waiting.append('third'); print(len(waiting))"),
        new_code_cell("share = 2"),
    ]
    path = tmp_path_factory.mktemp("rerun") / "tiny.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    assert execute_notebooks.main([str(path)]) == 0
    return path


def test_what_works_only_once_is_found(notebook):
    outcomes = run(notebook)
    assert list(outcomes)[9:11] == ["Cell 2 wrong", "Cell 2 solved"] and len(outcomes) == 9 + 2 + 8
    failed = {name for name, outcome in outcomes.items() if outcome == "FAILED"}
    assert failed == {"Cell 4 again", "Cell 6 again", "Cell 7 again"}, "share, left and waiting have changed"


def test_once_is_once(notebook):
    assert run(notebook, "--once") == {f"Cell {number}": "PASSED" for number in range(9)}


def test_a_verdict_that_is_another_is_found(notebook, monkeypatch):
    """Here `check` says nothing but ✔, so the wrong answer is not found wrong."""
    text = notebook.read_text(encoding="utf-8")
    fooled = notebook.with_name("fooled.ipynb")
    yes = "; check = lambda given: print('✔ weighted_sum: right'); use = lambda given: given"
    fooled.write_text(text.replace("import check, use", f"import check, use{yes}"), encoding="utf-8")
    assert execute_notebooks.main([str(fooled)]) == 0
    outcomes = run(fooled)
    assert (outcomes["Cell 2 wrong"], outcomes["Cell 2 solved"]) == ("FAILED", "PASSED")
