"""What an answer needs of its notebook: the statements that bind the names it looks up, and what these need in turn.

    LOW = -1e30                        needed, if the answer looks up `fill`
    model = train(epochs=50)           not needed
    fill = LOW / 2                     needed

A name has the value of the last statement above that binds it, together with what changes that value in place; where
none above does, that of the first statement below. Names inside of a function are looked up when it is called. Of a
`for`, an `if`, a `with` and a tuple only the part that is needed is taken. What IPython adds to Python, magics, shell
commands and help, is read by IPython.
"""

import ast
import contextlib
import copy
import functools
import symtable
from collections.abc import Iterator

from IPython.core.inputtransformer2 import TransformerManager

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)
TRIES = (ast.Try, ast.TryStar)
CUT = (ast.If, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Match, *TRIES)  # a while might never end without all
JUMPS = (ast.Break, ast.Continue)
COMPREHENSIONS = ("listcomp", "setcomp", "dictcomp", "genexpr")  # as symtable calls them: functions that run at once
CHANGES = set("append extend insert remove pop clear sort reverse add discard update setdefault".split())
TIMED = ("time", "timeit", "prun")  # magics that run a piece of code of the notebook
OTHER_LANGUAGES = set(
    "! SVG HTML bash cmd file html javascript js latex markdown perl pypy python python2 python3 ruby script sh shell "
    "svg sx system writefile".split()
)

Place = tuple[int, int]  # number of the cell, number of the statement in it


# ---- the cells


class Cell:
    """A cell: its `text` as Python reads it, its `statements`, or the `error` for which it has none."""

    def __init__(self, source: str):
        self.text, self.statements, self.error = source, [], None
        try:
            self.statements = _read(source)
        except Exception:
            try:
                self.text = as_python(source)
                self.statements = _read(self.text)
            except Exception as error:  # besides SyntaxError what Python raises where it is too deep to read
                self.error = error


def as_python(source: str) -> str:
    """The text of a cell without IPython's own syntax, line for line; "" for one in another language."""
    text = TransformerManager().transform_cell(source)
    magic = _magic(ast.parse(text).body[0]) if text.startswith("get_ipython().run_cell_magic(") else None
    if magic is None:
        return text
    kind, *_, body = magic
    return "" if kind in OTHER_LANGUAGES else "\n" + as_python(body)


def _read(text: str) -> list[ast.stmt]:
    statements = ast.parse(text).body
    return _Plain().visit(ast.Module(statements, [])).body if "get_ipython" in text else statements


def _magic(node: ast.AST) -> list[str] | None:
    """The arguments of a call `get_ipython().method("…", …)`; None for anything else."""
    call = node.value if isinstance(node, ast.Expr) else node
    if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("get_ipython()."):
        return [one.value for one in call.args if isinstance(one, ast.Constant)]
    return None


class _Plain(ast.NodeTransformer):
    """Code without calls of IPython: `f()` replaces `%time f()`, and nothing replaces the others."""

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt] | ast.AST:
        if (magic := _magic(node)) is None:
            return self.generic_visit(node)
        return _placed(_timed(magic) or [ast.Pass()], node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if (magic := _magic(node)) is None:
            return self.generic_visit(node)
        match _timed(magic):
            case [ast.Expr(value)]:
                return _placed([value], node)[0]
        shell = isinstance(node.func, ast.Attribute) and node.func.attr == "getoutput"
        return _placed([ast.List([], ast.Load()) if shell else ast.Constant(None)], node)[0]


def _placed(nodes: list, old: ast.AST) -> list:
    return [ast.fix_missing_locations(ast.copy_location(node, old)) for node in nodes]


def _timed(magic: list[str]) -> list[ast.stmt]:
    """The statements that a magic runs, without its options; none where it runs something else."""
    words = magic[1].split(" ") if len(magic) > 1 and magic[0] in TIMED else []
    for begin in range(len(words) if words and words[0].startswith("-") else 1):
        with contextlib.suppress(SyntaxError):
            return ast.parse(" ".join(words[begin:])).body
    return []


# ---- a statement


@functools.cache
def _table(node: ast.stmt) -> symtable.SymbolTable:
    try:
        return symtable.symtable(ast.unparse(node), "<cell>", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return symtable.symtable("", "<cell>", "exec")


def looked_up(node: ast.stmt) -> set[tuple[str, bool]]:
    """{(name, is it inside of a function?)} of what a statement takes from around it."""

    def within(table: symtable.SymbolTable, later: bool) -> Iterator[tuple[str, bool]]:
        kind = table.get_type()
        is_function = kind == "function" and table.get_name().strip("<>") not in COMPREHENSIONS
        later = later or is_function
        for symbol in table.get_symbols():
            used = symbol.is_referenced() and (kind == "module" or symbol.is_global())
            if used or (is_function and symbol.is_declared_global()):  # `calls += 1` alone is no reference
                yield symbol.get_name(), later
        for child in table.get_children():
            yield from within(child, later)

    return set(within(_table(node), False))


@functools.cache
def bound(node: ast.stmt) -> set[str]:
    """The names that a statement may bind where it runs; `del` counts as nothing."""
    if isinstance(node, ast.Delete) or (isinstance(node, ast.AnnAssign) and node.value is None):
        return set()
    symbols = _table(node).get_symbols()
    names = {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}
    return names if isinstance(node, FUNCTIONS) else names | sets(node)


def sets(node: ast.stmt) -> set[str]:
    """The names that a statement declares global: a function sets them when it is called; `:=` in a comprehension."""
    return {symbol.get_name() for symbol in _table(node).get_symbols() if symbol.is_declared_global()}


@functools.cache
def changed(node: ast.stmt) -> set[str]:
    """The names whose value a statement changes in place: `x += 1`, `x[0] = 1`, `x.y = 1`, `x.append(1)`."""
    found = []
    for one in ast.walk(node) if not isinstance(node, (*FUNCTIONS, ast.ClassDef)) else ():
        match one:
            case ast.AugAssign(target=target):
                found.append(target)
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                found.append(one)
            case ast.Expr(ast.Call(ast.Attribute(value, name))) if name in CHANGES or name.endswith("_"):
                found.append(value)
    return {_root(target) for target in found}


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def called_names(node: ast.stmt) -> list[ast.Name]:
    calls = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
    return [function for function in calls if isinstance(function, ast.Name)]


def is_only_called(node: ast.stmt, name: str) -> bool:
    """Is a name called wherever the statement uses it, so that the function is not handed on?"""
    used = [one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == name]
    return {*used} <= {*called_names(node)}


def surely(node: ast.stmt, name: str) -> bool:
    """Does a statement bind the name whatever happens, and whatever its value was before?"""

    def any_of(*statements: ast.stmt) -> bool:
        return any(surely(one, name) for one in statements)

    match node:
        case ast.AugAssign() | ast.For() | ast.AsyncFor() | ast.While() | ast.Match():
            return False
        case ast.If():
            return any_of(*node.body) and any_of(*node.orelse)
        case ast.Try() | ast.TryStar():
            handled = all(any_of(*handler.body) for handler in node.handlers)
            return any_of(*node.finalbody) or (any_of(*node.body, *node.orelse) and handled)
        case ast.With() | ast.AsyncWith():
            header = [target for item in node.items if (target := item.optional_vars)]
            return any_of(*node.body) or any(name in _stored(target) for target in header)
        case ast.Import():
            return any(alias.asname == name or alias.name == name for alias in node.names)
    return name in bound(node)


def _stored(target: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}


def part(node: ast.stmt, wanted: set[str]) -> ast.stmt | None:
    """What of a statement binds or changes the names `wanted`, or decides whether that happens; None for nothing."""
    if isinstance(node, JUMPS):
        return node
    touches = bool((bound(node) | changed(node)) & wanted)
    jumps = isinstance(node, (ast.If, *TRIES, ast.With)) and any(isinstance(one, JUMPS) for one in ast.walk(node))
    if not touches and not jumps:
        return None
    return _cut(node, wanted) if isinstance(node, CUT) else _tuple_part(node, wanted)


def _cut(node: ast.stmt, wanted: set[str]) -> ast.stmt:
    """A block with the needed part of what is in it."""
    node = copy.copy(node)
    for kind in ("handlers", "cases"):
        if hasattr(node, kind):
            setattr(node, kind, [_cut(one, wanted) for one in getattr(node, kind)])
    after = [*getattr(node, "orelse", []), *(one for handler in getattr(node, "handlers", []) for one in handler.body)]
    whole = isinstance(node, TRIES) and any(not isinstance(one, ast.Pass) for one in after)  # what it needs may fail
    for kind in {"body", "orelse", "finalbody"} & set(node._fields) - ({"body"} if whole else set()):
        kept = [some for one in getattr(node, kind) if (some := part(one, wanted))]
        kept = kept or ([ast.Pass()] if getattr(node, kind) else [])
        setattr(node, kind, [ast.copy_location(one, node) if isinstance(one, ast.Pass) else one for one in kept])
    return ast.fix_missing_locations(node)


def _tuple_part(node: ast.stmt, wanted: set[str]) -> ast.stmt:
    """`a = 1` of `a, b = 1, 2`."""
    match node:
        case ast.Assign([ast.Tuple(targets) as left], ast.Tuple(values) as right) if len(targets) == len(values):
            if any(isinstance(one, ast.Starred) for one in (*targets, *values)):
                return node
            pairs = [pair for pair in zip(targets, values) if _stored(pair[0]) & wanted]
            new = copy.copy(left), copy.copy(right)
            new[0].elts, new[1].elts = ([list(side) for side in zip(*pairs)]) if pairs else ([], [])
            return ast.copy_location(ast.Assign([new[0]], new[1]), node)
    return node


# ---- the notebook


class Notebook:
    """The code cells of a notebook; `exercises[number]` are those to which a cell holds an answer. Of the cells
    `left_out` nothing is read."""

    def __init__(self, sources: list[str], exercises: list[list[str]], left_out: list[int]):
        self.sources = ["" if number in left_out else source for number, source in enumerate(sources)]
        self.exercises = exercises
        self.cells: dict[int, Cell] = {}

    def cell(self, number: int) -> Cell:
        """Read when it is asked for: Python may crash over a cell."""
        if number not in self.cells:
            self.cells[number] = Cell(self.sources[number])
        return self.cells[number]

    def needed(self, names: list[str], number: int, stand_ins: set[str]) -> dict[Place, ast.stmt | str]:
        """What the answers `names` in cell `number` need of other cells, in the order of the notebook.

        At each place a statement, or the name of an exercise whose answer, judged before, is there. An exercise of
        `stand_ins` to which no cell above holds an answer is placed before all cells.
        """
        here = number, len(self.cell(number).statements)
        waiting, seen, wanted = [(name, here, True) for name in names], set(), {}
        found: dict[Place, ast.stmt | str] = {}
        while waiting:
            if (asked := waiting.pop()) in seen:
                continue
            seen.add(asked)
            name, point, lasts = asked  # may what it stands for be called later, too, by the answer itself?
            places = self._above(name, point)
            if not places and name in stand_ins:
                found[-1, len(found)] = name
                continue
            for place in places or self._below(name, point):
                if place[0] != number and name in self.exercises[place[0]]:
                    found[place] = name
                    break
                node = self._node(place)
                wanted[place] = _with_what_it_needs(node, wanted.get(place, set()) | {name})
                found[place] = some = _part(node, wanted[place])
                is_defined = isinstance(node, (*FUNCTIONS, ast.ClassDef))
                lasts = lasts or not is_defined
                calls = [point, *[here] * lasts, *[place] * (not is_defined or bool(node.decorator_list))]
                for other, later in looked_up(some):
                    stays = lasts if later else not is_only_called(some, other)
                    waiting += [(other, one, stays) for one in (calls if later else [place])]
        return {place: found[place] for place in sorted(found) if place[0] != number}

    def _node(self, place: Place) -> ast.stmt:
        return self.cell(place[0]).statements[place[1]]

    @functools.cached_property
    def _setters(self) -> dict[str, set[str]]:
        """{function: the global names that it sets}."""
        cells = [self.cell(number) for number, source in enumerate(self.sources) if "global" in source]
        return {one.name: sets(one) for cell in cells for one in cell.statements if isinstance(one, FUNCTIONS)}

    def _binds(self, name: str, place: Place) -> bool:
        """Does a statement bind a name, or call a function that sets it?"""
        node, by = self._node(place), {own for own, names in self._setters.items() if name in names}
        called = by and not isinstance(node, FUNCTIONS) and by & {one.id for one in called_names(node)}
        return name in bound(node) or bool(called)

    def _above(self, name: str, point: Place) -> list[Place]:
        """Where a name that is looked up at `point` got its value: the last place that surely binds it, and those
        below it that may, or that change the value in place; none where nothing binds it. A module is not changed."""
        found = []
        for number in range(point[0], -1, -1):
            for index in reversed(range(len(self._statements(name, number)))):
                place, node = (number, index), self.cell(number).statements[index]
                if place >= point or not (self._binds(name, place) or name in changed(node)):
                    continue
                found.append(place)
                if surely(node, name):
                    return found if not isinstance(node, IMPORTS) else [one for one in found if self._binds(name, one)]
        return found if any(self._binds(name, place) for place in found) else []

    def _below(self, name: str, point: Place) -> list[Place]:
        """The first place below that binds a name."""
        for number in range(point[0], len(self.sources)):
            for index in range(len(self._statements(name, number))):
                if (number, index) >= point and self._binds(name, (number, index)):
                    return [(number, index)]
        return []

    def _statements(self, name: str, number: int) -> list[ast.stmt]:
        """The statements of a cell in which the name may be bound."""
        words = [name, *(own for own, names in self._setters.items() if name in names)]
        cell = self.cell(number)
        return cell.statements if any(word in cell.text for word in words) else []


def _with_what_it_needs(node: ast.stmt, names: set[str]) -> set[str]:
    """The names, and those bound in a statement that the part of it for these names looks up."""
    more = {name for name, _ in looked_up(_part(node, names)) if name in bound(node) | changed(node)}
    return names if more <= names else _with_what_it_needs(node, names | more)


def _part(node: ast.stmt, names: set[str]) -> ast.stmt:
    return part(node, names) or node  # a call of a function that sets a name binds nothing itself
