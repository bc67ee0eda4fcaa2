"""Fill notebooks with the code of utils/ that they show, and execute them in place (`make notebooks`).

    python -m tools.notebooks.execute [--fresh] [NOTEBOOK ...]        without names: every notebook of the course
    python -m tools.notebooks.execute --text [NOTEBOOK ...]           only what takes no kernel (`make text`)

A second run leaves no diff: what is stored holds nothing that changes from run to run, no timings, one kernelspec; for
a widget, only its picture is stored (a stored widget would need the kernel that made it). A cell keeps its id for life.
A cell tagged `nbval-ignore-output` shows timings or a training log, so its stored output is kept as long as the cell
and all that it depends on are what they were when it ran (a fingerprint in the cell's metadata says so,
dependencies.py); `--fresh` runs it anew. If only the code that draws its picture has changed, the cell's whole output
is replaced by that of the new run, and its spreads over seeds remain valid. How many minutes a notebook takes is
counted (reading_time.py) and written into its title, and at the end into README and the map of the course. A notebook
in which a cell raises is not written; a notebook is written whole or not at all.

The first code cell keeps a hash of all code that was run. `--text` asks for it: where words have changed and the code
has not, comments aside, nothing has to run. NOTEBOOK is a file, a number or a topic.
"""

import argparse
import ast
import functools
import hashlib
import inspect
import os
import sys
import time
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from tools.notebooks import dependencies, fill, reading_time
from tools.notebooks.files import COURSE, choose, paths, read, write
from utils import widgets
from utils.cells import is_volatile

WIDGET = "application/vnd.jupyter.widget-view+json"
FINGERPRINT = "output_of"  # the key in a volatile cell's metadata
DRAWN = "drawn_by"  # and that of the code which drew its picture
RAN = "ran"  # the key in the first code cell's metadata: a hash of all code as it was run
DRAWERS = ("plots", "widgets")  # what a cell calls to draw
CELL_SECONDS = 3000  # ten times what the slowest cell may take on two cores: a guard against cells that hang


class CellFailed(Exception):
    """A cell raised, took too long or took its kernel down; the message names the cell and the error."""


def kernel_environment():
    """The environment of a kernel whose outputs can be compared: one thread, one hash seed, no bars, no records."""
    comparable = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TQDM_DISABLE": "1", "ATTENTION_PROGRESS": "off"}
    names = set(os.environ) - {"MPLBACKEND", "ATTENTION_MARKED"}
    inherited = {name: os.environ.get(name) for name in names}  # get: pytest takes its variable back in another thread
    return {name: value for name, value in inherited.items() if value is not None} | comparable


def execute(notebook, folder, fresh=False, **hooks):
    """Run every cell of `notebook` (changed in place, and returned) in a new kernel that works in `folder`.

    `hooks` are those of nbclient, such as on_cell_start(cell, cell_index).
    Raises CellFailed where a cell raises without the tag `raises-exception`.
    """
    kept = {} if fresh else {cell.id: cell.outputs for cell in stored_and_valid(notebook)}
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        store_widget_state=False,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],  # the kernel warns on the terminal about its loopback connection
        resources={"metadata": {"path": str(folder)}},
        **hooks,
    )
    try:
        client.execute(env=kernel_environment())
    except CellExecutionError as error:
        number = next(n for n, cell in code_cells(notebook) if any(o.output_type == "error" for o in cell.outputs))
        raise CellFailed(f"cell {number} raised {error.ename}: {error.evalue}") from None
    except (CellTimeoutError, DeadKernelError) as error:
        raise CellFailed(str(error)) from None
    stabilise(notebook, kept)
    return notebook


def code_cells(notebook):
    """(position in the notebook, cell) of every code cell, counted from 0 as nbclient and JupyterLab's DOM do."""
    return [(number, cell) for number, cell in enumerate(notebook.cells) if cell.cell_type == "code"]


def fingerprints(notebook):
    """{cell id: a short hash of the cell and of those that it depends on}, of all code cells but the setup cell."""
    return dependencies.keys([cell for _, cell in code_cells(notebook)])


def code_key(notebook):
    """A short hash of all code below the setup cell, in its order; comments and docstrings say nothing."""
    return hashlib.sha256(" ".join(fingerprints(notebook).values()).encode()).hexdigest()[:12]


def has_run(notebook):
    """Is the code what it was when its outputs were stored?"""
    (_, first), *_ = code_cells(notebook)
    return first.metadata.get(RAN) == code_key(notebook)


def stored_and_valid(notebook):
    """The volatile cells whose stored output still belongs to their source."""
    expected = fingerprints(notebook)
    return [
        cell
        for _, cell in code_cells(notebook)
        if is_volatile(cell) and cell.outputs and cell.metadata.get(FINGERPRINT) == expected[cell.id]
    ]


def drawn_by(cell):
    """A short hash of the code that draws what a cell shows, or None where it draws nothing."""
    names = {}
    for node in ast.walk(ast.parse(dependencies.as_course(cell))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in DRAWERS:
            names.setdefault(node.value.id, set()).add(node.attr)
    return "-".join(key_of(drawer, ", ".join(sorted(called))) for drawer, called in sorted(names.items())) or None


@functools.cache
def key_of(drawer, called):
    """A short hash of the code behind the functions called: their part of plots.py, or the modules of their widgets."""
    calls, style = [dependencies.read(called)], dependencies.read(text_of(COURSE / "utils" / "style.py"))
    if drawer == "plots":
        pieces = ast.parse(text_of(COURSE / "utils" / "plots.py")).body
        cells = [*(dependencies.read(ast.unparse(piece)) for piece in pieces), *calls]
        return dependencies.key([style, *(cells[one] for one in dependencies.needed(cells, len(cells) - 1))])
    modules = {Path(inspect.getfile(getattr(widgets, name))).name for name in called.split(", ")}
    own = {COURSE / "utils" / "widgets" / module for module in modules}
    files = sorted(own.union(*map(dependencies.neighbours, own)))
    return dependencies.key([style, *(dependencies.read(text_of(file)) for file in files)])


def text_of(path):
    return path.read_text(encoding="utf-8")


def stabilise(notebook, kept):
    """Remove from an executed notebook what would differ next time; `kept`: outputs to put back, by cell id."""
    expected = fingerprints(notebook)
    for _, cell in code_cells(notebook):
        cell.metadata.pop("execution", None)
        cell.metadata.pop(FINGERPRINT, None)
        if is_volatile(cell):
            drawer = drawn_by(cell)
            if cell.metadata.pop(DRAWN, None) == drawer:
                cell.outputs = kept.get(cell.id, cell.outputs)
            cell.metadata |= {FINGERPRINT: expected[cell.id]} | ({DRAWN: drawer} if drawer else {})
        for output in cell.outputs:
            output.get("data", {}).pop(WIDGET, None)  # JupyterLab would show "model not found" instead of the picture
    (_, first), *_ = code_cells(notebook)
    first.metadata[RAN] = code_key(notebook)


def run(path, fresh=False):
    """The notebook in the file `path`, filled, executed, and with its minutes. Raises CellFailed."""
    executed = execute(fill.fill(read(path)), path.resolve().parent, fresh)
    return reading_time.with_minutes(executed)


def renew_text(path):
    """The notebook in the file `path`, filled, and with its minutes. CellFailed: its code has changed since it ran."""
    notebook = fill.fill(read(path))
    if not has_run(notebook):
        raise CellFailed(f"its code has changed since it was run: `make notebooks ONLY={path.stem[:2]}`")
    return reading_time.with_minutes(notebook)


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("notebooks", nargs="*")
    ask.add_argument("--fresh", action="store_true", help="do not keep the outputs of cells tagged nbval-ignore-output")
    ask.add_argument("--text", action="store_true", help="run nothing: fill in code of utils/ and minutes")
    options = ask.parse_args(arguments)
    failures, chosen = 0, choose(options.notebooks)
    for path in chosen:
        began = time.perf_counter()
        try:
            changed = write(renew_text(path) if options.text else run(path, options.fresh), path)
        except CellFailed as problem:
            failures += 1
            print(f"{path.name}: {problem}. The file is left as it was.", file=sys.stderr)
        else:
            print(f"{path.name}: {time.perf_counter() - began:.1f} s, {'written' if changed else 'no change'}")
    if set(chosen) <= set(paths()):
        reading_time.write_minutes()
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
