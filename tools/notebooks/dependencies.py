"""Which cells of a notebook a cell depends on, and a short key of what they are: it changes when the cell's output may.

So what is stored of a cell, an output, a spread over seeds, a film, holds as long as nothing changes that it depends
on, whatever else is put into the notebook or taken out. Comments, docstrings and layout say nothing, and an exercise
is the course's function, whatever is in its cell.
"""

import ast
import builtins
import contextlib
import functools
import hashlib
import symtable
from collections.abc import Iterator
from pathlib import Path

from utils.cells import exercise

ONLY_SHOW = {"plots", "print", "check", "hint", "display", "widgets"}  # a call of these changes nothing


class Cell:
    """What the code of a cell binds, uses, and changes in place.

    now: names that it takes from cells above while it runs; later: those in functions and classes, which are looked up
    when these are called."""

    def __init__(self, source: str):
        self.source, self.binds, self.modules, self.changes = source, set(), set(), set()
        self.now, self.later, self.uses = set(), set(), set()
        for piece in pieces(ast.parse(source).body):
            table = symtable.symtable(ast.unparse(piece), "cell", "exec")
            inner = {name for child in table.get_children() for name in outer_names(child)}
            uses = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
            if isinstance(piece, ast.FunctionDef | ast.ClassDef):
                self.later |= inner
            else:
                uses |= inner  # of comprehensions
            self.uses |= uses | inner
            self.now |= (uses | changed_by_operator(piece)) - self.binds
            self.changes |= changed_in_place(piece) | changed_by_call(piece)
            bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
            self.binds |= bound
            self.modules |= bound if isinstance(piece, ast.Import | ast.ImportFrom) else set()
        self.later -= self.binds | set(dir(builtins))
        self.now -= set(dir(builtins))


@functools.cache
def read(source: str) -> Cell:
    return Cell(source)


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


def as_course(cell) -> str:
    """The source of a cell where every exercise is the course's function.

    What is no Python, a magic command among it, counts as its text."""
    if name := exercise(cell):
        return f"{name} = use({name!r})"
    with contextlib.suppress(SyntaxError):
        ast.parse(cell["source"])
        return cell["source"]
    return repr(cell["source"])


def meaning(node) -> object:
    """A syntax tree without places, comments and docstrings, the same in every version of Python."""
    if isinstance(node, list):
        return [meaning(one) for one in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        fields["body"] = node.body[1:]
    told = {name: value for name, value in fields.items() if name not in ("ctx", "kind") and value not in (None, [])}
    return type(node).__name__, *((name, meaning(value)) for name, value in sorted(told.items()))


def keys(code) -> dict[str, str]:
    """{cell id: key} of all code cells but the first, the setup cell, on which all depend and none is keyed by."""
    cells = [read(as_course(cell)) for cell in code]
    return {code[place]["id"]: key([cells[one] for one in needed(cells, place)[1:]]) for place in range(1, len(code))}


def key(cells: list[Cell]) -> str:
    """A short hash of what these cells mean. An import counts where one of them uses the name."""
    used = set().union(*(cell.uses for cell in cells))
    said = [text for cell in cells for name, text in told(cell.source) if name is None or name in used]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:12]


@functools.cache
def told(source: str) -> list[tuple[str | None, str]]:
    """What the statements of a cell mean, each with the name that it imports, or None where it is no import."""
    found = []
    for one in ast.parse(source).body:
        if not isinstance(one, ast.Import | ast.ImportFrom):
            found.append((None, repr(meaning(one))))
            continue
        for alias in one.names:
            bound = alias.asname or alias.name.partition(".")[0]
            found.append((bound, repr((getattr(one, "module", None), meaning(alias)))))
    return found


def neighbours(module: Path) -> set[Path]:
    """The modules of its folder that a module imports, and those that these import."""
    found, waiting = set(), [module]
    while waiting:
        for node in ast.walk(ast.parse(waiting.pop().read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
                file = module.with_name(f"{node.module}.py")
                waiting += {file} - found
                found.add(file)
    return found
