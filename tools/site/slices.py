"""The widgets that a notebook shows, built by running only the cells that they need: its trainings take minutes."""

import ast
import contextlib
import functools
import io
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tools.notebooks.dependencies import Cell, as_course, needed
from tools.notebooks.files import read
from utils import cells
from utils.widgets.controls import Explorer


def called_widget(source: str) -> str | None:
    """The name of the function of `widgets` that the last line of a cell calls, None if it calls none; with the name of
    the guess, as guess_wider, where it calls that: one more guess renames no other."""
    last = ast.parse(source).body[-1:]
    call = last[0].value if last and isinstance(last[0], ast.Expr) else None
    target = call.func if isinstance(call, ast.Call) else None
    found = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "widgets"
    if found and target.attr == "guess":
        return f"guess_{call.args[0].value}"
    return target.attr if found else None


def names(path: Path) -> dict[str, str]:
    """{id of a cell that shows a widget: the widget's name on the site}, such as paint_mask; the second of its kind in
    the course, in the order of the notebooks in that folder, is word_map_2."""
    taken = Counter()
    for other in sorted(path.parent.glob("*.ipynb")):
        found = {}
        for cell, kind in shown(other, other.stat().st_mtime_ns):
            taken[kind] += 1
            found[cell] = f"{kind}_{taken[kind]}" if taken[kind] > 1 else kind
        if other.name == path.name:
            return found
    raise FileNotFoundError(path)


@functools.cache
def shown(path: Path, changed: int) -> list[tuple[str, str]]:
    """(cell, kind) of the widgets of a notebook, which was last changed at that time."""
    code = cells.code(read(path))
    return [(cell.id, kind) for cell in code if (kind := called_widget(cell.source))]


def slices(path: Path) -> dict[str, list[Cell]]:
    """{name of a widget: the cells that it needs, the setup cell left out, its own as the last}."""
    code = cells.code(read(path))
    parts, named = [Cell(as_course(cell)) for cell in code], names(path)
    return {
        named[cell.id]: [parts[number] for number in needed(parts, place) if number]
        for place, cell in enumerate(code)
        if cell.id in named
    }


def explorers(path: Path, wanted: set[str]) -> Iterator[tuple[str, Explorer]]:
    """Run what the `wanted` widgets of a notebook need, each cell once and in order; yields (name, widget)."""
    code = cells.code(read(path))
    parts, named = [Cell(as_course(cell)) for cell in code], names(path)
    ends = {place: named[cell.id] for place, cell in enumerate(code) if named.get(cell.id) in wanted}
    run = set().union(*(needed(parts, place) for place in ends))
    scope, folder = {"__name__": "__main__"}, os.getcwd()
    os.chdir(path.parent)
    try:
        for place in sorted(run):
            *statements, last = ast.parse(parts[place].source).body
            shown = isinstance(last, ast.Expr) and place in ends
            whole = ast.Module(statements if shown else [*statements, last], [])
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(whole, f"{path.name}, cell {code[place].id}", "exec"), scope)
                value = eval(compile(ast.Expression(last.value), path.name, "eval"), scope) if shown else None
            if shown:
                yield ends[place], value
    finally:
        os.chdir(folder)
