"""✔ means that the notebook runs: draws cover what it hands over, and answers in other numbers carry it to its end.

Every notebook runs with the references, and what it hands to them is written down (handed_over.py). Then it runs with
answers that loop over torch.zeros, return lists, compute with NumPy or in float32: what `use` makes of each of them.
"""

import contextlib
import functools
import io
import json
import os

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from docstring_axes import TABLE
from handed_over import kinds_of, lengths_of, record
from lanes import topic
from topics import LISTED, notebook
from torch import Tensor

from utils import cells
from utils.exercises import catalogue, use

KNOWN = catalogue()
PATHS = {topic: notebook(topic) for topic, _ in LISTED}


def of_notebooks(*ways, by_day=""):
    """A case for each notebook and way; one way comes a lane earlier where the notebook differs from main."""
    for name, path in PATHS.items():
        for way in ways or ("",):
            marks = [pytest.mark.lane("all", *([topic(path)] if way == by_day else []))]
            marks += [pytest.mark.opens(name)]
            yield pytest.param(*filter(None, (name, way)), marks=marks, id="-".join(filter(None, (path.stem, way))))


@pytest.fixture(autouse=True)
def as_in_a_notebook(monkeypatch):
    monkeypatch.chdir(next(iter(PATHS.values())).parent)
    monkeypatch.setitem(os.environ, "MPLBACKEND", "Agg")
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@functools.cache
def drawn(name):
    """{parameter: (kinds, longest)} of all draws of an exercise, those at the edges included."""
    found = {}
    for arguments in [*KNOWN[name].inputs(), *(arguments for _, arguments in KNOWN[name].edges())]:
        for parameter, value in arguments.items():
            kinds, longest = found.get(parameter, (set(), 0))
            found[parameter] = kinds | kinds_of(value), max(longest, lengths_of(value))
    return found


@pytest.mark.parametrize("name", [*of_notebooks()])
def test_draws_cover_what_the_notebook_hands_over(name):
    recorder, missing = record(PATHS[name]), []
    for exercise, parameters in recorder.seen.items():
        for parameter, (kinds, longest) in parameters.items():
            own, long = drawn(exercise)[parameter]
            lacks = kinds - own - {"requires grad"} | ({f"longer than {TABLE}"} if longest > TABLE >= long else set())
            missing += [(exercise, parameter, kind) for kind in sorted(lacks)]
    missing += [(exercise, "gradients") for exercise in recorder.trained if not KNOWN[exercise].trained]
    assert recorder.seen and not missing


# ---- four ways to write a right answer


def by_a_loop(result):
    """Row by row into torch.zeros, which are float32."""
    if not isinstance(result, Tensor) or not result.ndim:
        return result
    rows = torch.zeros(result.shape)
    for i, row in enumerate(result):
        rows[i] = row
    return rows


def in_floats(value):
    return value.float() if isinstance(value, Tensor) and value.is_floating_point() else value


def through_numpy(value):
    return torch.from_numpy(np.array(value.numpy())) if isinstance(value, Tensor) else value


WAYS = {  # what goes into the reference, what comes out of it
    "zeros": (lambda value: value, by_a_loop),
    "lists": (lambda value: value, lambda result: result.tolist() if isinstance(result, Tensor) else result),
    "numpy": (through_numpy, lambda result: result.detach().numpy() if isinstance(result, Tensor) else result),
    "float32": (in_floats, in_floats),
}


def written_so(way, name):
    reference, (goes_in, comes_out) = KNOWN[name].reference, WAYS[way]

    @functools.wraps(reference)
    def answer(*arguments, **keywords):
        given = map(goes_in, arguments), {key: goes_in(value) for key, value in keywords.items()}
        result = reference(*given[0], **given[1])
        return tuple(map(comes_out, result)) if isinstance(result, tuple) else comes_out(result)

    return answer


def failure(path, way, solved):
    """Run a notebook in which the exercises `solved` are written in one way; "" if it comes to its end."""
    space = {"__name__": "__main__", "display": lambda *_: None}
    for number, cell in enumerate(cells.code(json.loads(path.read_text(encoding="utf-8")))):
        if name := cells.exercise(cell):
            space[name] = use(written_so(way, name)) if name in solved else KNOWN[name].course
            continue
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                exec(compile(cells.source(cell), f"<{path.stem}, code cell {number}>", "exec"), space)
            except Exception as error:
                return f"code cell {number}: {error!r}"
    return ""


@pytest.mark.parametrize("name, way", [*of_notebooks(*WAYS, by_day="zeros")])
def test_a_right_answer_in_other_numbers_carries_the_notebook_to_its_end(name, way):
    path = PATHS[name]
    exercises = [*cells.exercises(json.loads(path.read_text(encoding="utf-8")))]
    if failure(path, way, exercises):
        failed = {exercise: why for exercise in exercises if (why := failure(path, way, [exercise]))}
        pytest.fail(f"with answers written by {way}: {failed or 'only all of them together fail'}")
