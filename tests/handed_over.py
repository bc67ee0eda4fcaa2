"""What the notebooks hand to the learner's functions, written down while they run with the references.

`python -m tests.handed_over NOTEBOOK ...` prints it as JSON: for each exercise a list of what was ever handed to one of
its parameters (`kinds`), how long the axes were, and whether a gradient came back through its result.
"""

import contextlib
import functools
import io
import json
import os
import sys
from pathlib import Path

import torch
from torch import Tensor

from utils import cells
from utils.exercises import catalogue


def kinds_of(value):
    """What a draw has to have, too, if a notebook hands this over: words, for a tensor; none for all else."""
    if not isinstance(value, Tensor):
        return set()
    found = {str(value.dtype).removeprefix("torch."), f"{value.ndim} axes"}
    if not value.is_contiguous():
        found.add("not contiguous")
    found |= {f"an axis of {size}" for size in value.shape if size < 2}
    if value.is_floating_point():
        found |= {word for word, sees in (("NaN", torch.isnan), ("∞", torch.isinf)) if bool(sees(value.detach()).any())}
    return found


def lengths_of(value):
    """The longest axis of a tensor, a whole number, or the length of a list."""
    if isinstance(value, Tensor):
        return max(value.shape, default=0)
    return value if type(value) is int else len(value) if isinstance(value, (list, dict, str)) else 0


class Recorder:
    """Stands for the references of the exercises, but for classes. `seen` says what was handed to each, by exercise and
    parameter."""

    def __init__(self):
        self.seen, self.trained = {}, set()

    def function(self, name):
        if catalogue()[name].asked == "class":
            return catalogue()[name].course
        reference = catalogue()[name].reference
        parameters = reference.__code__.co_varnames[: reference.__code__.co_argcount]

        @functools.wraps(reference)
        def recorded(*arguments, **keywords):
            given = dict(zip(parameters, arguments)) | keywords
            for parameter, value in given.items():
                kinds, longest = self.seen.setdefault(name, {}).setdefault(parameter, (set(), 0))
                kinds |= kinds_of(value)
                if isinstance(value, Tensor) and value.requires_grad and torch.is_grad_enabled():
                    kinds.add("requires grad")
                self.seen[name][parameter] = kinds, max(longest, lengths_of(value))
            result = reference(*arguments, **keywords)
            for part in result if isinstance(result, tuple) else (result,):
                if isinstance(part, Tensor) and part.requires_grad:
                    part.register_hook(lambda gradient: self.trained.add(name))
            return result

        return recorded


def record(path):
    """Run a notebook, its exercises answered with their references. Returns the `Recorder`."""
    recorder, space = Recorder(), {"__name__": "__main__", "display": lambda *_: None}
    for number, cell in enumerate(cells.code(json.loads(Path(path).read_text(encoding="utf-8")))):
        if name := cells.exercise(cell):
            space[name] = recorder.function(name)
            continue
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            exec(compile(cells.source(cell), f"<{Path(path).stem}, code cell {number}>", "exec"), space)
            if cells.has(cell, "setup"):
                space["use"] = lambda given, own=True: (
                    recorder.function(given) if isinstance(given, str) else recorder.function(given.__name__)
                )
    return recorder


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "Agg"
    for path in sys.argv[1:]:
        recorder = record(path)
        for name, parameters in recorder.seen.items():
            row = {key: [sorted(kinds), longest] for key, (kinds, longest) in parameters.items()}
            print(
                json.dumps({"notebook": Path(path).stem, "exercise": name, "trained": name in recorder.trained, **row})
            )
        sys.stdout.flush()
