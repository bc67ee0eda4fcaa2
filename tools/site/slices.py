"""The widgets that a notebook shows, built by running only the cells that they need: its trainings take minutes."""

import ast
import builtins
import contextlib
import io
import os
import symtable
from collections.abc import Iterator
from pathlib import Path

from tools.notebooks.files import read
from utils import cells
from utils.widgets.controls import Explorer

ONLY_SHOW = {"plots", "print", "check", "hint", "display", "widgets"}  # a call of these changes nothing


def called_widget(source: str) -> str | None:
    """The name of the function of `widgets` that the last line of a cell calls, None if it calls none."""
    last = ast.parse(source).body[-1:]
    call = last[0].value if last and isinstance(last[0], ast.Expr) else None
    target = call.func if isinstance(call, ast.Call) else None
    found = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "widgets"
    return target.attr if found else None


def names(path: Path) -> dict[str, str]:
    """{id of a cell that shows a widget: the widget's name on the site}, such as 04_paint_mask; a second one of the
    same kind in the notebook is 01_word_map_2."""
    found, taken = {}, {}
    for cell in cells.code(read(path)):
        if kind := called_widget(cell.source):
            taken[kind] = taken.get(kind, 0) + 1
            number = f"_{taken[kind]}" if taken[kind] > 1 else ""
            found[cell.id] = f"{path.stem[:2]}_{kind}{number}"
    return found


class Cell:
    """What the code of a cell binds, uses, and changes in place.

    now: names that it takes from cells above while it runs; later: those in functions and classes, which are looked up
    when these are called."""

    def __init__(self, source: str):
        self.source, self.binds, self.modules, self.changes = source, set(), set(), set()
        self.now, self.later = set(), set()
        for piece in pieces(ast.parse(source).body):
            table = symtable.symtable(ast.unparse(piece), "cell", "exec")
            inner = {name for child in table.get_children() for name in outer_names(child)}
            uses = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
            if isinstance(piece, ast.FunctionDef | ast.ClassDef):
                self.later |= inner
            else:
                uses |= inner  # of comprehensions
            self.now |= (uses | changed_by_operator(piece)) - self.binds
            self.changes |= changed_in_place(piece) | changed_by_call(piece)
            bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
            self.binds |= bound
            self.modules |= bound if isinstance(piece, ast.Import | ast.ImportFrom) else set()
        self.later -= self.binds | set(dir(builtins))
        self.now -= set(dir(builtins))


def pieces(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements in the order in which they run, loops and the like taken apart into their heads and bodies."""
    for one in statements:
        if isinstance(one, ast.For):
            yield ast.fix_missing_locations(ast.Assign([one.target], one.iter))
        elif isinstance(one, ast.If | ast.While):
            yield ast.Expr(one.test)
        elif isinstance(one, ast.With):
            for item in one.items:
                target = item.optional_vars
                head = ast.Assign([target], item.context_expr) if target else ast.Expr(item.context_expr)
                yield ast.fix_missing_locations(head)
        elif not isinstance(one, ast.Try):
            yield one
        if isinstance(one, ast.For | ast.If | ast.While | ast.With | ast.Try):
            for name in ("body", "handlers", "orelse", "finalbody"):
                for part in getattr(one, name, []):
                    yield from pieces(part.body if isinstance(part, ast.ExceptHandler) else [part])


def outer_names(table: symtable.SymbolTable) -> set[str]:
    """The global names that a function or a comprehension uses, and all that is in it."""
    found = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    return found.union(*map(outer_names, table.get_children()))


def changed_by_operator(piece: ast.stmt) -> set[str]:
    target = getattr(piece, "target", None)
    return {target.id} if isinstance(piece, ast.AugAssign) and isinstance(target, ast.Name) else set()


def changed_in_place(piece: ast.stmt) -> set[str]:
    """Names of which an entry or an attribute is written."""
    found = set()
    for node in ast.walk(piece):
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
                node = node.func if isinstance(node, ast.Call) else node.value
            found |= {node.id} if isinstance(node, ast.Name) else set()
    return found


def changed_by_call(piece: ast.stmt) -> set[str]:
    """Names that a call may change: those in a call whose result nobody takes, and those that are trained."""
    found = set()
    for call in (node for node in ast.walk(piece) if isinstance(node, ast.Call)):
        trains = isinstance(call.func, ast.Attribute) and (call.func.attr == "fit" or call.func.attr.endswith("_"))
        if trains or (isinstance(piece, ast.Expr) and piece.value is call):
            names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
            found |= set() if names & ONLY_SHOW else {name for name in names if not name.isupper()}
    return found


def needed(cells: list[Cell], wanted: int) -> list[int]:
    """Numbers of the cells that cell number `wanted` needs, itself and the setup cell among them.

    A name comes from the last cell before its use that binds it; one in a function from the last before `wanted`. The
    cells in between that change it in place come along."""
    found, waiting = {0}, [wanted]
    modules = set().union(*(cell.modules for cell in cells))
    while waiting:
        place = waiting.pop()
        if place in found:
            continue
        found.add(place)
        uses = [(name, place) for name in cells[place].now | cells[place].later]
        uses += [(name, wanted) for name in cells[place].later]
        for name, before in uses:
            binding = [number for number in range(before) if name in cells[number].binds]
            waiting += binding[-1:]
            if name not in modules:
                waiting += [k for k in range(*binding[-1:] or [before], before) if name in cells[k].changes]
    return sorted(found)


def sources(path: Path) -> dict[str, list[str]]:
    """{name of a widget: sources of the cells that it needs, its own as the last}."""
    code = cells.code(read(path))
    parts, named = [Cell(cell.source) for cell in code], names(path)
    return {
        named[cell.id]: [parts[number].source for number in needed(parts, place)]
        for place, cell in enumerate(code)
        if cell.id in named
    }


def explorers(path: Path, wanted: set[str]) -> Iterator[tuple[str, Explorer]]:
    """Run what the `wanted` widgets of a notebook need, each cell once and in order; yields (name, widget)."""
    code = cells.code(read(path))
    parts, named = [Cell(cell.source) for cell in code], names(path)
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
