"""Run a training notebook again with other seeds: how far do its figures move, and do its claims still hold?

    python -m tools.notebooks.seeds NOTEBOOK [--seeds 0 1 2 3 4] [--store]
    python -m tools.notebooks.seeds --carry REVISION

Each run is a copy of the notebook with another number in its line `SEED = 0`; the file stays as it is. What the cells
tagged `nbval-ignore-output` say is printed; a cell whose assertion fails ends that run, and the tool exits with status
1. (The notebooks on several heads and on masking train with five seeds, starting at SEED: `--seeds 5` runs 5 to 9.)

`--store` keeps what each such cell with an assertion said, by seed, in tools/site/measured.json, and whether it failed:
the course's page "What we measured" takes its spreads from there. What is asserted of a cell may also be in a claims
cell at the end of its section, which names it. Where a cell changes, or one that it depends on, what is kept of it is
void (dependencies.py says what counts). After a change that leaves the computation as it was, such as a renamed
variable, run `make notebooks` and then `--carry REVISION` with the commit before it: where a cell says with seed 0 what
it said there, to the letter, its spread is kept; the others are named.

At the end, the margins: for every comparison of two numbers inside an assertion, the smallest distance to its bound
over all runs, and the spread of that distance, largest minus smallest. `thin` precedes a margin of less than half
the spread. There the next seed may fail: reword the claim, or set a bound that the measured spread justifies, before a
seed fails.
"""

import argparse
import ast
import datetime
import hashlib
import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from tools.notebooks import execute
from tools.notebooks.files import COURSE, at, choose, paths, read
from utils.cells import is_volatile, speaks_of
from utils.files import write_whole

MEASURED = COURSE / "tools" / "site" / "measured.json"
ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
RECORDER = """
import json as _json
import operator as _operator

_ORDERS = {"<": _operator.lt, "<=": _operator.le, ">": _operator.gt, ">=": _operator.ge}


def _holds(claims, orders, *sides):
    holds = True
    for claim, order, left, right in zip(claims, orders, sides, sides[1:]):
        try:
            distance = (np.asarray(right, float) - np.asarray(left, float)).min().item()
        except (TypeError, ValueError, RuntimeError):
            pass  # not numbers
        else:
            with open(_MARGINS, "a") as _file:
                print(_json.dumps([claim, distance if "<" in order else -distance]), file=_file)
        holds = holds and _ORDERS[order](left, right)
    return holds
"""


class Instrument(ast.NodeTransformer):
    """Lets every comparison by size inside an assertion of a cell note how far it is from failing."""

    def __init__(self, cell: int):
        self.cell, self.inside = cell, False

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        self.inside = True
        node.test = self.visit(node.test)
        self.inside = False
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        sides, orders = [node.left, *node.comparators], [ORDERS.get(type(order)) for order in node.ops]
        texts = [ast.unparse(side) for side in sides]
        self.generic_visit(node)
        if not self.inside or None in orders:
            return node
        pairs = zip(texts, orders, texts[1:])
        claims = [f"[{self.cell}] {left} {order} {right}" for left, order, right in pairs]
        noted = [ast.Constant(tuple(claims)), ast.Constant(tuple(orders)), node.left, *node.comparators]
        return ast.Call(ast.Name("_holds", ast.Load()), noted, [])


def with_margins(notebook, file):
    """The notebook, changed in place, with assertions that write the margins of their comparisons to `file`."""
    cells = list(execute.code_cells(notebook))
    for number, cell in cells:
        if "assert" in cell.source:
            cell.source = ast.unparse(Instrument(number).visit(ast.parse(cell.source)))
    cells[0][1].source = f"import numpy as np\n_MARGINS = {str(file)!r}\n{RECORDER}\n\n{cells[0][1].source}"
    return notebook


def with_seed(notebook, number):
    """The notebook, changed in place, with `SEED = number`. ValueError where it has not exactly one line `SEED = 0`."""
    cells = [cell for _, cell in execute.code_cells(notebook) if re.search(r"^SEED = 0\b", cell.source, re.M)]
    if len(cells) != 1:
        raise ValueError(f"{len(cells)} cells have a line SEED = 0; there must be one")
    cells[0].source = re.sub(r"^SEED = 0\b", f"SEED = {number}", cells[0].source, count=1, flags=re.M)
    for _, cell in execute.code_cells(notebook):
        cell.outputs, cell.execution_count = [], None  # where a run ends early, the rest said nothing
    return notebook


def smallest(file):
    """{comparison: its smallest margin in one run}, from what the run wrote."""
    found = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        claim, margin = json.loads(line)
        found[claim] = min(margin, found.get(claim, margin))
    return found


def said(cell):
    """What a cell printed and displayed, as text."""
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", [])]
    return "\n".join(filter(None, (text.rstrip() for text in texts)))


def holds(cell):
    return not any(output.output_type == "error" for output in cell.outputs)


def claiming(notebook):
    """{cell id: the cells that assert something of its results} of the cells whose results trainings decide.

    ValueError: a claims cell names a cell that is not there."""
    cells = {cell.id: cell for _, cell in execute.code_cells(notebook)}
    found = {}
    for cell in cells.values():
        for one in speaks_of(cell) if "assert" in cell.source else []:
            if one not in cells:
                raise ValueError(f"the claims cell {cell.id} speaks of {one!r}, which is no code cell of its notebook")
            if is_volatile(cells[one]):
                found.setdefault(one, []).append(cell)
    return found


def keys(notebook):
    """{cell id: key} of these cells: it changes with what the cell depends on, and with a claims cell about it."""
    fingerprints = execute.fingerprints(notebook)

    def key(cell, claims):
        texts = [fingerprints[cell], *(fingerprints[claim.id] for claim in claims if claim.id != cell)]
        return texts[0] if len(texts) == 1 else hashlib.sha256(" ".join(texts).encode()).hexdigest()[:12]

    return {cell: key(cell, claims) for cell, claims in claiming(notebook).items()}


def read_measured():
    """{cell id: {source, date, said, failed}}, as measured.json holds it."""
    return json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}


def write_measured(kept):
    write_whole(MEASURED, json.dumps(kept, ensure_ascii=False, indent=1) + "\n")


def store(path, number, notebook):
    """Keep what the cells of an executed notebook said with one seed of which something is asserted, by cell id.

    With the key of the cell as it is in the file. Of a cell whose claims were not reached nothing is kept.
    """
    current, kept, today = keys(read(path)), read_measured(), datetime.date.today().isoformat()
    cells = {cell.id: cell for _, cell in execute.code_cells(notebook)}
    for cell, claims in claiming(notebook).items():
        if kept.get(cell, {}).get("source") != current[cell]:
            kept[cell] = {"source": current[cell], "date": today, "said": {}, "failed": []}
        entry, held = kept[cell], all(map(holds, [cells[cell], *claims]))
        entry["failed"] = sorted({*entry["failed"], number} - ({number} if held else set()))
        if (text := said(cells[cell])) and all(claim.execution_count for claim in claims):
            entry["said"][str(number)] = text
            entry["date"] = today
    course = {cell.id for one in path.parent.glob("*.ipynb") for cell in read(one).cells}
    write_measured({id: entry for id, entry in kept.items() if id in course and entry["said"]})


def carry(before, notebooks):
    """Give what is kept of a cell its new key where the code reads otherwise and computes the same.

    `before`: the notebooks as they were when the spreads held; `notebooks`: as they are, executed since. A cell whose
    output with seed 0 is the same to the letter does the same with other seeds. Returns ids: (carried, void)."""
    kept, carried, void = read_measured(), [], []
    cells = {cell.id: cell for notebook in before for cell in execute.stored_and_valid(notebook)}
    belonged = {cell: key for notebook in before for cell, key in keys(notebook).items() if cell in cells}
    for notebook in notebooks:
        current, valid = keys(notebook), {cell.id for cell in execute.stored_and_valid(notebook)}
        for cell in notebook.cells:
            entry, key = kept.get(cell.id), current.get(cell.id)
            if entry is None or entry["source"] == key:
                continue
            held = belonged.get(cell.id) == entry["source"]
            if held and key and cell.id in valid and said(cells[cell.id]) == said(cell):
                entry["source"] = key
                carried.append(cell.id)
            else:
                void.append(cell.id)
    write_measured(kept)
    return carried, void


def print_margins(margins):
    print("== margins: smallest over the runs, spread; the number in brackets is that of the cell")
    for claim, values in margins.items():
        margin, spread = min(values), max(values) - min(values)
        if spread > 0:
            print(f"{'thin' if margin < spread / 2 else '    '} {margin:10.3g} {spread:10.3g}  {claim}")


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("notebook", nargs="?")
    ask.add_argument("--carry", metavar="REVISION", help="run nothing: keep spreads that held at this revision of git")
    ask.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    ask.add_argument("--store", action="store_true", help="keep what the cells say for the page of what was measured")
    options = ask.parse_args(arguments)
    if options.carry:
        carried, void = carry(at(options.carry).values(), map(read, paths()))
        print(f"carried over: {len(carried)}; to be measured anew: {', '.join(void) or 'none'}")
        return 0
    if options.notebook is None:
        ask.error("which notebook?")
    (path,) = choose([options.notebook])
    failures, margins = 0, defaultdict(list)
    for number in options.seeds:
        notebook, began = with_seed(read(path), number), time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "margins"
            try:
                execute.execute(with_margins(notebook, file), path.resolve().parent, fresh=True)
            except execute.CellFailed as problem:
                failures += 1
                print(f"seed {number}: {problem}", file=sys.stderr)
            for claim, margin in smallest(file).items():
                margins[claim].append(margin)
        print(f"== seed {number}, {time.perf_counter() - began:.0f} s", flush=True)
        for _, cell in execute.code_cells(notebook):
            for output in cell.get("outputs", []) if is_volatile(cell) else []:
                print((output.get("text") or output.get("data", {}).get("text/plain", "")).rstrip(), flush=True)
        if options.store:
            store(path, number, notebook)
    print_margins(margins)
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
