"""Store the weights that notebooks train and later ones load (`make checkpoints`).

    python -m tools.notebooks.checkpoints [NOTEBOOK ...]        without names: every notebook of the course
    python -m tools.notebooks.checkpoints --list                write SHA256SUMS and the rows of data/README.md, no more

A cell tagged `checkpoint:translator_attentive=attentive` trains a model. Each notebook with such cells is run as far
as its last one, trainings and all, and what `attentive` is right after the cell goes to
data/checkpoints/translator_attentive.pt as float32, or as float16 if the model is. Where the weights are those that the
file holds already, the file stays as it is: a second run leaves no diff. What no such cell makes any more is removed.

A cell tagged `twin` loads what the notebook does not train itself, to save its readers the time. Here it is trained, by
the function `trained` that the notebook defines for a model like it, and kept as `trained` returns it, whatever the
cell does with it afterwards.
"""

import argparse
import ast
import copy
import hashlib
import io
import re
import sys
import tempfile
from pathlib import Path

import torch
from nbformat.v4 import new_code_cell

from tools.notebooks import execute
from tools.notebooks.files import COURSE, paths, read, write_sums
from utils import cells
from utils.checkpoints import FOLDER
from utils.files import write_whole

TOLD = "weights of `{target}` after its training in *{notebook}* | MIT, as the code"
ROW = f"| `checkpoints/{{file}}` | {TOLD} | {{size:,}} | `{{sha}}` |"
KEEP = """
import torch as _torch


def _keep(model, name):
    weights = {{key: value.detach() for key, value in model.state_dict().items()}}
    weights = {{key: (one if one.dtype == _torch.float16 else one.float()).clone() for key, one in weights.items()}}
    _torch.save(weights, {folder!r} + f"/{{name}}.pt")
    return model
"""


def made_by(cell):
    """{name of a checkpoint: target} of a cell that trains, as its tag has them, or of a twin."""
    name, _, target = (cells.after(cell, "checkpoint:") or "").partition("=")
    if name and not target:
        raise ValueError(f"the tag checkpoint:{name} has to say of what, as in checkpoint:{name}=model")
    return {name: target} if name else loads(cell.source) if cells.has(cell, "twin") else {}


def loads(source):
    """{name of a checkpoint: the text of what it is assigned to} in the source of a cell.

    ValueError for a call of load_checkpoint that is not `target = load_checkpoint("name", …)`."""
    tree, found = ast.parse(source), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and is_load(node.value) and len(node.targets) == 1:
            name = node.value.args[0] if node.value.args else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and re.fullmatch(r"\w+", name.value):
                found[name.value] = ast.unparse(node.targets[0])
    calls = sum(is_load(node) for node in ast.walk(tree))
    if calls != len(found):
        raise ValueError(
            f"{calls} calls of load_checkpoint; {len(found)} of the form target = load_checkpoint('name', …)"
        )
    return found


def is_load(node):
    return isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "load_checkpoint"


def made_in(notebook):
    """{name of a checkpoint: target} of all cells of a notebook."""
    return {name: target for cell in notebook.cells for name, target in made_by(cell).items()}


def as_far_as_needed(notebook, folder):
    """A copy of the notebook up to the last cell that makes a checkpoint, each followed by a cell that saves it."""
    kept, end = [new_code_cell(KEEP.format(folder=str(folder)))], 0
    for cell in copy.deepcopy(notebook.cells):
        kept.append(cell)
        made = made_by(cell)
        if cells.has(cell, "twin"):
            trained = "(lambda name, model: _keep(trained(model), name))("
            cell.source = cell.source.replace("load_checkpoint(", trained)
        else:
            kept += [new_code_cell(f"_keep({target}, {name!r})") for name, target in made.items()]
        end = len(kept) if made else end
    shortened = copy.copy(notebook)
    shortened.cells = kept[:end]
    return shortened


def packed(weights):
    """The bytes of a file with these weights: the same ones for the same weights, whatever they were a view of."""
    memory, kept = io.BytesIO(), {name: value.detach() for name, value in weights.items()}
    kept = {name: value if value.dtype == torch.float16 else value.float() for name, value in kept.items()}
    torch.save({name: value.contiguous().clone() for name, value in kept.items()}, memory)
    return memory.getvalue()


def same(weights, path):
    """Does the file hold exactly these weights?"""
    try:
        stored = torch.load(path, weights_only=True)
    except Exception:  # missing, damaged: it is written anew
        return False
    return list(stored) == list(weights) and all(torch.equal(stored[name], value) for name, value in weights.items())


def make(path, folder=FOLDER):
    """Run one notebook and write the weights that it trains; returns the names of the files that changed."""
    notebook, changed = read(path), []
    if not made_in(notebook):
        return changed
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as part:
        shortened = as_far_as_needed(notebook, part)
        execute.execute(shortened, Path(path).resolve().parent, fresh=True)
        for name in made_in(notebook):
            weights = torch.load(Path(part) / f"{name}.pt", weights_only=True)
            if not same(weights, folder / f"{name}.pt"):
                write_whole(folder / f"{name}.pt", packed(weights))
                changed.append(f"{name}.pt")
    return changed


def rows(notebooks, folder=FOLDER):
    """The rows of data/README.md, one a checkpoint, in the order of the course."""
    found = []
    for path in notebooks:
        notebook = read(path)
        title = re.match(r"# (?:\d\d · )?(.+)", notebook.cells[0].source)[1]
        for name, target in made_in(notebook).items():
            file = folder / f"{name}.pt"
            if file.is_file():
                told = {"file": file.name, "target": target, "notebook": title, "size": file.stat().st_size}
                found.append(ROW.format(**told, sha=hashlib.sha256(file.read_bytes()).hexdigest()))
    return found


def list_all(course=COURSE):
    """Write SHA256SUMS and the rows of data/README.md, and remove what no notebook makes."""
    notebooks, folder = paths(course), course / "data" / "checkpoints"
    wanted = {f"{name}.pt" for path in notebooks for name in made_in(read(path))}
    for file in folder.glob("*.pt"):
        if file.name not in wanted:
            file.unlink()
    write_sums(folder, folder.glob("*.pt"))
    readme = course / "data" / "README.md"
    lines = [line for line in readme.read_text(encoding="utf-8").split("\n") if not line.startswith("| `checkpoints/")]
    after = next(number for number, line in enumerate(lines) if line.startswith("| `course_vectors.npz`"))
    lines[after + 1 : after + 1] = rows(notebooks, folder)
    write_whole(readme, "\n".join(lines))


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("notebooks", nargs="*", type=Path)
    ask.add_argument("--list", action="store_true", help="run nothing; bring the lists in line with the files")
    options = ask.parse_args(arguments)
    every = [] if options.list else options.notebooks or paths()
    failures = 0
    for path in every:
        try:
            changed = make(path)
        except (execute.CellFailed, ValueError) as problem:
            failures += 1
            print(f"{path.name}: {problem}", file=sys.stderr)
        else:
            print(f"{path.name}: {', '.join(changed) or 'no change'}")
    list_all()
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
