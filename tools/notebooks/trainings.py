"""Keep the longest trainings of the notebooks, so that the tests need not train them each time (`make trainings`).

    python -m tools.notebooks.trainings

Every notebook is run once, two at a time, and trains what it trains. Those trainings that save most seconds for a byte
go to tests/trainings/, in files named by topic and number, as long as there is room; of what ships as a checkpoint, the
weights are not stored again. A training that a notebook goes on with stays live. Where a notebook fails, what is kept
stays as it is. tests/offline/kept_trainings.py says when a training is taken from there.
"""

import argparse
import copy
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from nbformat.v4 import new_code_cell

from tools.notebooks import checkpoints, execute
from tools.notebooks.files import COURSE, paths, read
from utils.cells import after

OFFLINE = COURSE / "tests" / "offline"
sys.path.insert(0, str(OFFLINE))

import kept_trainings  # noqa: E402  (the folder above has to be on the path first)

BYTES = 1_900_000  # of all files
SECONDS = 2  # what is shorter is not worth a file


def noted(notebook, topic):
    """A copy of a notebook that notes whose trainings these are, and which of them ship as a checkpoint; the others'
    weights are rounded as a file rounds them."""
    cells = [new_code_cell(f"import shared_trainings as _shared\n_shared.notebook = {topic!r}")]
    for cell in copy.deepcopy(notebook.cells):
        cells.append(cell)
        if after(cell, "checkpoint:"):
            for name, target in checkpoints.made_by(cell).items():
                cells.append(new_code_cell(f"_shared.ships({target}, {name!r})"))
        if cell.cell_type == "code":
            cells.append(new_code_cell("_shared.round_off()"))
    notebook = copy.copy(notebook)
    notebook.cells = cells
    return notebook


def train(path):
    """Run one notebook, with all of its trainings."""
    began = time.perf_counter()
    topic = path.stem.partition("_")[2]
    execute.execute(noted(read(path), topic), path.parent, fresh=True)
    print(f"{path.name}: {time.perf_counter() - began:.0f} s", flush=True)


def keep(found, folder):
    """Write files into `folder` for the trainings of a run that save most; returns [(name, seconds, bytes)]."""
    candidates, number = [], {}
    trainings = [(path, torch.load(path, weights_only=False)) for path in found.iterdir() if not path.suffix]
    for path, ended in sorted(trainings, key=lambda one: (one[1]["notebook"], one[1]["number"])):
        topic = ended["notebook"]
        number[topic] = number.get(topic, 0) + 1
        if ended["seconds"] >= SECONDS and not path.with_suffix(".further").exists():
            shipped, file = path.with_suffix(".checkpoint"), folder / f"{topic}_{number[topic]}.npz"
            kept_trainings.write(file, ended, shipped.read_text() if shipped.exists() else None)
            candidates.append((file, ended["seconds"], file.stat().st_size))
    kept, room = [], BYTES
    for file, seconds, size in sorted(candidates, key=lambda one: one[1] / one[2], reverse=True):
        if size <= room:
            kept.append((file.name, seconds, size))
            room -= size
        else:
            file.unlink()
    return kept


def main(arguments=None):
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args(
        arguments
    )
    with tempfile.TemporaryDirectory() as scratch:
        found, made = Path(scratch) / "found", Path(scratch) / "made"
        found.mkdir()
        made.mkdir()
        offline = os.pathsep.join(filter(None, [str(OFFLINE), os.environ.get("PYTHONPATH")]))
        os.environ.update(COURSE_TRAININGS=str(found), PYTHONPATH=offline)
        os.environ.pop("COURSE_TRAININGS_KEPT", None)
        with ProcessPoolExecutor(2) as pool:  # threads that parse at once can fail: python/cpython#106905
            list(pool.map(train, reversed(paths())))  # the last train longest
        kept = keep(found, made)
        shutil.rmtree(kept_trainings.FOLDER, ignore_errors=True)
        shutil.copytree(made, kept_trainings.FOLDER)
    for name, seconds, size in sorted(kept):
        print(f"{name}: {seconds:.0f} s, {size:,} bytes")
    print(f"{len(kept)} trainings: {sum(one[1] for one in kept):.0f} s, {sum(one[2] for one in kept):,} bytes")


if __name__ == "__main__":
    try:
        main()
    except execute.CellFailed as problem:
        sys.exit(f"{problem}. What is kept stays as it is.")
