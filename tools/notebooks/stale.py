"""List what a change has made out of date, and the command that updates it (`make stale`). Nothing is run or written.

    python -m tools.notebooks.stale [--since REVISION]        without one: where this branch left main

Outputs, spreads over seeds and kept trainings record what they belong to. For the rest, git shows what has changed
since the revision: modules of utils/, and cells that make a checkpoint.
"""

import argparse
import copy
import subprocess
import sys
from collections.abc import Iterator

from tools.notebooks import checkpoints, execute, fill, links, reading_time, seeds
from tools.notebooks.files import COURSE, at, git, paths, read

sys.path.insert(0, str(COURSE / "tests" / "offline"))

import kept_trainings  # noqa: E402  (the folder above has to be on the path first)

Line = tuple[str, str]  # what is void and why; the command that renews it


def outputs(path) -> Iterator[Line]:
    """Of one notebook: its text, its outputs, its pictures."""
    notebook, run = read(path), f"make notebooks ONLY={path.stem[:2]}"
    if execute.code_cells(notebook)[0][1].source != links.setup_cell():
        yield f"{path.name}: its setup cell", "make links"
    filled = fill.fill(copy.deepcopy(notebook))
    if not execute.has_run(filled):
        yield f"{path.name}: its code has changed since it was run", run
    elif [cell.source for cell in filled.cells] != [cell.source for cell in notebook.cells]:
        yield f"{path.name}: what it shows of utils/ reads otherwise there", "make text"
    elif reading_time.told(notebook) != reading_time.count(notebook).minutes:
        yield f"{path.name}: its minutes", "make text"
    volatile = [cell for _, cell in execute.code_cells(filled) if execute.is_volatile(cell)]
    if drawn := [cell.id for cell in volatile if cell.metadata.get(execute.DRAWN) != execute.drawn_by(cell)]:
        yield f"{path.name}: the code that draws the pictures of {', '.join(drawn)} has changed", run


def spreads() -> Iterator[Line]:
    """What was measured with other seeds."""
    measured = seeds.read_measured()
    for path in paths():
        void = [
            cell for cell, key in seeds.keys(read(path)).items() if measured.get(cell, {}).get("source", key) != key
        ]
        if void:
            again = f"python -m tools.notebooks.seeds {path.stem[:2]} --store"
            yield f"{path.name}: the spreads over seeds of {', '.join(void)}", f"{again} (or --carry, see there)"


def trainings() -> Iterator[Line]:
    for path in sorted(kept_trainings.FOLDER.glob("*.npz")):
        if reasons := kept_trainings.stale(path):
            yield f"the training {path.name}: {', '.join(reasons)}", "make trainings"


def since(revision: str) -> Iterator[Line]:
    """What git tells: cells that make a checkpoint, and modules of utils/."""
    before = at(revision)
    for path in paths():
        now, then = (checkpoint_keys(one) for one in (read(path), before.get(path.stem)))
        if changed := [name for name, key in now.items() if then.get(name, key) != key]:
            yield f"{path.name}: what trains the checkpoint {', '.join(changed)}", "make checkpoints"
    modules = [name for name in git("diff", "--name-only", revision, "--", "utils").split() if name.endswith(".py")]
    aside = ("utils/widgets", "utils/judge", "utils/exercises")
    if modules := [name for name in modules if not name.startswith(aside)]:
        yield f"outputs, perhaps: {', '.join(modules)} changed", "make notebooks"
    if git("diff", "--name-only", revision, "--", "utils/judge", "utils/exercises", "tests/answers"):
        yield "how often the judge names a mistake: it has changed", "make answers"


def checkpoint_keys(notebook) -> dict[str, str]:
    """{name of a checkpoint: key of the cell that makes it}; none without a notebook."""
    if notebook is None:
        return {}
    keys = execute.fingerprints(notebook)
    cells = [cell for _, cell in execute.code_cells(notebook)[1:]]
    return {name: keys[cell.id] for cell in cells for name in checkpoints.made_by(cell)}


def main_branch() -> str:
    """Where this branch left main; the last commit without a main."""
    for name in ("origin/main", "main"):
        try:
            return git("merge-base", name, "HEAD").strip()
        except subprocess.CalledProcessError:
            continue
    return "HEAD"


def every(revision: str) -> Iterator[Line]:
    for path in paths():
        yield from outputs(path)
    for found in (spreads(), trainings(), since(revision)):
        yield from found


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--since", metavar="REVISION")
    found = list(every(ask.parse_args(arguments).since or main_branch()))
    for what, command in found:
        print(f"{what}\n    {command}")
    if not found:
        print("Nothing is void.")


if __name__ == "__main__":
    main()
