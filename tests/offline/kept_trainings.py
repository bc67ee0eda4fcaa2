"""Trainings that outlive a run of the tests: the longest ones lie in tests/trainings/, made by `make trainings`.

A training is taken from there where model, sizes, settings, random numbers and PyTorch are the same, the code that it
runs through is, and the weights at the start and the losses of the first steps agree to one part in ten thousand: so
what was trained on one processor holds on another, and whoever changes a training trains it live in that very change.

The code of a training: the modules of utils/ of which a function runs in its first steps, and those functions of cells
and exercises that do, without comments and docstrings. A line in plots.py voids nothing.
"""

import ast
import functools
import hashlib
import io
import json
import linecache
import random
import re
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "tests" / "trainings"
TOLERANCE = 1e-4
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


# Code


def bare_lines(source):
    """The lines of a source without comments and docstrings, at their places: the same ones in every Python."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            lines[docstring.lineno - 1 : docstring.end_lineno] = [""] * (docstring.end_lineno - docstring.lineno + 1)
    return [line.rstrip() for line in lines]


def digest(lines):
    return hashlib.sha256("\n".join(filter(None, lines)).encode()).hexdigest()[:16]


@functools.cache
def digest_of_module(path):
    return digest(bare_lines((ROOT / path).read_text(encoding="utf-8")))


def digest_of_function(code):
    """Of a function, a lambda or a generator; of the whole file or cell where it is not found."""
    source = "".join(linecache.getlines(code.co_filename))
    lines, found = bare_lines(source), None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.GeneratorExp)):
            first = min(part.lineno for part in [node, *getattr(node, "decorator_list", [])])
            found = node if first == code.co_firstlineno else found
    return digest(lines[found.lineno - 1 : found.end_lineno] if found else lines)


class Trace:
    """Within it, the code that runs is noted."""

    def __enter__(self):
        self.codes, self.before = set(), sys.getprofile()
        sys.setprofile(lambda frame, event, _: self.codes.add(frame.f_code) if event == "call" else None)
        return self

    def __exit__(self, *_):
        sys.setprofile(self.before)

    def code(self):
        """{module of utils/: digest}, and digests of functions: an answer in a cell is that among the exercises."""
        utils, exercises, modules, functions = str(ROOT / "utils"), str(ROOT / "utils" / "exercises"), {}, set()
        for code in self.codes:
            if code.co_filename.startswith(exercises) or "ipykernel_" in code.co_filename:
                if not re.fullmatch("<(list|set|dict)comp>", code.co_name):  # these belong to the function around them
                    functions.add(digest_of_function(code))
            elif code.co_filename.startswith(utils):
                name = Path(code.co_filename).relative_to(ROOT).as_posix()
                modules[name] = digest_of_module(name)
        return {"modules": dict(sorted(modules.items())), "functions": sorted(functions)}


# The beginning


def beginning(model, settings):
    """What a training begins with, in a form that can be written as JSON."""
    import torch

    random_numbers = torch.get_rng_state().numpy().tobytes() + repr(random.getstate()).encode()
    sizes = [[name, list(value.shape)] for name, value in model.state_dict().items()]
    return {
        "torch": torch.__version__.partition("+")[0],
        "model": type(model).__name__,
        "settings": settings,
        "random": hashlib.sha256(random_numbers).hexdigest(),
        "sizes": hashlib.sha256(repr(sizes).encode()).hexdigest(),
        "weights": [sketch(value) for value in model.state_dict().values()],
    }


def sketch(tensor):
    """Two numbers that tell tensors apart: how long it is, seen as a vector, and how far it goes in some direction."""
    import torch

    flat = tensor.detach().double().flatten()
    direction = torch.arange(len(flat), dtype=torch.float64).add(1).cos()
    return [flat.norm().item(), (flat @ direction).item()]


def near(first, second, scale):
    return abs(first - second) <= TOLERANCE * abs(scale) + 1e-9


def same(kept, start, losses):
    """Whether a training that starts like this, with these first losses, is the one that is kept."""
    exact = [name for name in start if name != "weights"]
    if any(kept[name] != start[name] for name in exact):
        return False
    pairs = zip(kept["weights"], start["weights"], strict=True)
    alike = all(near(one[0], other[0], one[0]) and near(one[1], other[1], one[0]) for one, other in pairs)
    return alike and all(near(one, other, one) for one, other in zip(kept["first"], losses, strict=True))


# The files


def packed(weights):
    """float32 (…, n) → whole numbers from -127 to 127, int8, and their unit, float32 (…, 1), for each row one.

    A number is rounded by 1 part in 254 of the largest in its row at most; that takes a quarter of the room, and what
    notebooks compare and assert has to hold with it, as it has to on another processor."""
    import numpy as np

    rows = np.atleast_1d(weights)
    unit = np.abs(rows).max(-1, keepdims=True, initial=0) / 127
    whole = np.round(rows / np.where(unit == 0, 1, unit)).astype(np.int8)
    return whole.reshape(weights.shape), unit.astype(np.float32)


def unpacked(whole, unit):
    import numpy as np

    return (whole * unit).reshape(whole.shape).astype(np.float32)


def rounded(weights):
    """Weights as a file gives them back."""
    return unpacked(*packed(weights))


def told(path):
    """What a file says of its training, without its weights."""
    import numpy as np

    with np.load(path) as file:
        return json.loads(file["told"].item())


def find(folder, start, losses):
    """The file of the training that starts like this; None where it is not kept."""
    return next((path for path in sorted(Path(folder).glob("*.npz")) if same(told(path), start, losses)), None)


def read(path):
    """What a training ended with: weights, losses, seconds, and the state of random numbers."""
    import numpy as np
    import torch

    with np.load(path) as file:
        about = json.loads(file["told"].item())
        names = [name.removeprefix("weights/") for name in file.files if name.startswith("weights/")]
        weights = {name: torch.from_numpy(unpacked(file[f"weights/{name}"], file[f"units/{name}"])) for name in names}
        losses, numbers_of_torch = file["losses"].tolist(), torch.from_numpy(file["torch"])
    if about["checkpoint"]:
        weights = torch.load(ROOT / "data" / "checkpoints" / f"{about['checkpoint']}.pt", weights_only=True)
    version, numbers, gauss = about["python"]
    ended = {"weights": weights, "losses": losses, "seconds": about["seconds"]}
    return ended | {"torch": numbers_of_torch, "python": (version, tuple(numbers), gauss)}


def write(path, ended, checkpoint=None):
    """Keep a training; of one whose weights ship as a checkpoint, all but these."""
    import numpy as np

    about = ended["start"] | {name: ended[name] for name in ("first", "seconds", "python")} | {"checkpoint": checkpoint}
    arrays = {"losses": np.array(ended["losses"]), "torch": ended["torch"].numpy()}
    if checkpoint is None:
        for name, value in ended["weights"].items():
            arrays[f"weights/{name}"], arrays[f"units/{name}"] = packed(value.numpy())
    with open(path, "wb") as file:
        np.savez_compressed(file, told=np.array(json.dumps(about)), **arrays)


def stale(path):
    """Why a file is never taken: the modules that have changed since, or PyTorch; an empty list where it is fresh."""
    import torch

    about, now = told(path), torch.__version__.partition("+")[0]
    kept = about["code"]["modules"].items()
    changed = [name for name, was in kept if not (ROOT / name).exists() or digest_of_module(name) != was]
    return changed + ([f"PyTorch {about['torch']} is {now} now"] if about["torch"] != now else [])
