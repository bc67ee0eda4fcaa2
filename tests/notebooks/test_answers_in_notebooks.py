"""✔ means that the notebook runs on: every right answer, alone, in every cell of its notebook that uses it."""

import ast
import contextlib
import io
import os
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest
from lanes import topic
from learner import file_of
from topics import LISTED, notebook

from utils import cells
from utils.exercises import catalogue, use

HERE = Path(__file__).parent
NOTEBOOKS = [notebook(topic) for topic, ids in LISTED if not ids.endswith(" trains")]
EXERCISES = catalogue()


def names(code):
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


def run(code, space):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        exec(compile(code, "<cell>", "exec"), space)


@pytest.mark.runs_cells
@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem, marks=pytest.mark.lane("all", topic(path))) for path in NOTEBOOKS]
)
def test_every_right_answer_carries_its_notebook_on(path, monkeypatch):
    """Where a notebook trains through an answer, its gradients are judged with it."""
    monkeypatch.chdir(path.parent)
    monkeypatch.setitem(os.environ, "MPLBACKEND", "Agg")
    plt.switch_backend("Agg")
    tried, failed, space = 0, [], {"__name__": "__main__", "display": lambda *_: None}
    for number, cell in enumerate(nbformat.read(path, 4).cells):
        if cell.cell_type != "code":
            continue
        if own := cells.exercise(cell):
            space[own] = EXERCISES[own].course
            continue
        asked = {name for name in EXERCISES.keys() & space.keys() if space[name] is EXERCISES[name].course}
        for name in sorted(names(cell.source) & asked):  # some cells define it anew, and go on with theirs
            for answer in EXERCISES[name].answers:
                tried += 1
                try:
                    run(cell.source, {**space, name: use(answer)})
                except Exception as error:
                    failed.append(f"cell {number}, {name}: {file_of(answer)}: {error!r}")
        run(cell.source, space)
    plt.close("all")
    assert tried and not failed, "\n".join(failed)
