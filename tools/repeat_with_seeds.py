"""Run a notebook that trains with other seeds, to see by how much its figures move and whether its claims still hold.

    python tools/repeat_with_seeds.py notebooks/05_rnn_with_attention.ipynb [--seeds 0 1 2 3 4]

Each run is a copy of the notebook with another number in its line `SEED = 0`; the file stays as it is. What the cells
tagged `nbval-ignore-output` say is printed; a cell whose assertion fails ends that run, and the tool with 1.
"""

import argparse
import sys
import time
from pathlib import Path

import execute_notebooks


def with_seed(notebook, number):
    """The notebook, changed in place, with `SEED = number`. ValueError where it has not exactly one line `SEED = 0`."""
    cells = [cell for _, cell in execute_notebooks.code_cells(notebook) if cell.source.startswith("SEED = 0")]
    if len(cells) != 1:
        raise ValueError(f"{len(cells)} cells begin with SEED = 0; there must be one")
    cells[0].source = cells[0].source.replace("SEED = 0", f"SEED = {number}", 1)
    return notebook


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("notebook", type=Path)
    ask.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    options = ask.parse_args(arguments)
    failures = 0
    for number in options.seeds:
        notebook, began = with_seed(execute_notebooks.read(options.notebook), number), time.perf_counter()
        try:
            execute_notebooks.execute(notebook, options.notebook.resolve().parent, fresh=True)
        except execute_notebooks.CellFailed as problem:
            failures += 1
            print(f"seed {number}: {problem}", file=sys.stderr)
        print(f"== seed {number}, {time.perf_counter() - began:.0f} s", flush=True)
        for _, cell in execute_notebooks.code_cells(notebook):
            for output in cell.get("outputs", []) if execute_notebooks.is_volatile(cell) else []:
                print((output.get("text") or output.get("data", {}).get("text/plain", "")).rstrip(), flush=True)
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
