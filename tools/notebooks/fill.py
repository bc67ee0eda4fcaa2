"""What a notebook shows of utils/ is written there once, and filled into the notebook by `make notebooks`.

A cell tagged `defines` holds functions or classes that utils/ holds, too: their code is taken from there, while the
docstring stays the cell's own, or away, for in a notebook the prose around the cell says what a docstring says in a
module. A cell tagged `exercise:name` holds a stub: its signature and docstring are those of the exercise's reference,
and its body stays as it is, since it may be a learner's. The map of the course, in a cell tagged `map`, has the rows
of the table in README.md. The code of a cell tagged `setup`, `claims` or `library` is folded in JupyterLab.
"""

import ast
import functools
import re
import textwrap

from tools.notebooks.files import COURSE
from utils import cells
from utils.exercises import catalogue
from utils.judge.exercise import source as reference_source

MAP_ROW = re.compile(r"\| \d\d \|.*\.ipynb|\| \| \*\*")  # of a notebook, or the heading of a part


def definitions(source):
    """{name: node} of the functions and classes that `source` defines."""
    return {node.name: node for node in ast.parse(source).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def lines_of(source, node):
    """The lines of a definition, from its first decorator on."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return source.splitlines()[first - 1 : node.end_lineno]


def without_docstrings(source, node):
    """The lines of a definition; where a docstring stood below `class` or `def`, nothing is left, not even its gap."""
    lines, first = lines_of(source, node), node.end_lineno + 1 - len(lines_of(source, node))
    for inner in reversed(list(ast.walk(node))):
        if isinstance(inner, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(inner) and len(inner.body) > 1:
            begin, end = inner.body[0].lineno - first, inner.body[0].end_lineno - first + 1
            while end < len(lines) and not lines[end].strip():
                end += 1
            lines[begin:end] = []
    return lines


def docstring_lines(source, node):
    """The lines of a definition's own docstring with the blank line below it; none where it has none."""
    if ast.get_docstring(node) is None:
        return []
    lines, statement = source.splitlines(), node.body[0]
    gap = statement.end_lineno < len(lines) and not lines[statement.end_lineno].strip()
    return lines[statement.lineno - 1 : statement.end_lineno + gap]


@functools.cache
def in_utils(root=COURSE):
    """{name: (source of its module, node)} of what one module of utils/ defines, exercises left out."""
    found = {}
    for path in sorted((root / "utils").rglob("*.py")):
        if "exercises" not in path.parts:
            source = path.read_text(encoding="utf-8")
            for name, node in definitions(source).items():
                found.setdefault(name, []).append((source, node))
    return {name: places[0] for name, places in found.items() if len(places) == 1}


def with_code_of(cell_source, held):
    """A cell's source with the code of every definition taken from `held`, {name: (source, node)}."""
    for name, shown in definitions(cell_source).items():
        if name not in held:
            raise ValueError(f"a cell tagged `defines` shows {name}, which is not what one module of utils/ holds")
        shown = definitions(cell_source)[name]  # its place after those before it were filled
        code, own = without_docstrings(*held[name]), docstring_lines(cell_source, shown)
        body = held[name][1].end_lineno + 1 - held[name][1].body[0].lineno
        header = len(lines_of(*held[name])) - body if own else 0
        filled = [*code[:header], *own, *code[header:]]
        lines, old = cell_source.splitlines(), lines_of(cell_source, shown)
        lines[shown.end_lineno - len(old) : shown.end_lineno] = filled
        cell_source = "\n".join(lines)
    return cell_source


def end_of_head(lines, node):
    """The number of the line with which a function's docstring ends, or else its signature."""
    if ast.get_docstring(node) is not None:
        return node.body[0].end_lineno
    end = node.body[0].lineno - 1
    while end > node.lineno and re.match(r"\s*(#|$)", lines[end - 1]):  # a comment is the body's
        end -= 1
    if end < node.lineno:
        raise ValueError(f"the stub of {node.name} stands in one line: write `return ...` on a line of its own")
    return end


def with_stub_of(cell_source, name, reference):
    """An exercise cell's source with the signature and the docstring of `reference`, the source of a function; of a
    class with its first line and docstring, and those of each method that both have."""
    mine, theirs = definitions(cell_source)[name], definitions(reference)[name]
    if isinstance(theirs, ast.ClassDef):
        return with_class_stub(cell_source, mine, theirs, reference)
    lines, given = cell_source.splitlines(), reference.splitlines()
    head = given[theirs.lineno - 1 : end_of_head(given, theirs)]
    return "\n".join([*lines[: mine.lineno - 1], *head, *lines[end_of_head(lines, mine) :]])


def with_class_stub(cell_source, mine, theirs, reference):
    lines, given = cell_source.splitlines(), reference.splitlines()
    methods = {node.name: node for node in theirs.body if isinstance(node, ast.FunctionDef)}
    for node in reversed([one for one in mine.body if isinstance(one, ast.FunctionDef) and one.name in methods]):
        other = methods[node.name]
        lines[node.lineno - 1 : end_of_head(lines, node)] = given[other.lineno - 1 : end_of_head(given, other)]
    lines[mine.lineno - 1 : end_of_head(lines, mine)] = given[theirs.lineno - 1 : end_of_head(given, theirs)]
    return "\n".join(lines)


def map_rows(root=COURSE):
    """The rows of README's table of notebooks, headings among them, without the column of launch links."""
    lines = (root / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [line.split("|")[1:5] for line in lines if MAP_ROW.match(line)]
    return [re.sub(r"\]\(\S*/(\w+)\.html\)", r"](\1.ipynb)", f"|{'|'.join(row)}|") for row in rows]


def with_map(cell_source, root=COURSE):
    """The cell's source with README's rows in place of its own."""
    first, *_ = (line for line in cell_source.splitlines() if MAP_ROW.match(line))
    kept = [line for line in cell_source.splitlines() if line == first or not MAP_ROW.match(line)]
    return "\n".join(kept).replace(first, "\n".join(map_rows(root)))


def fill(notebook):
    """The notebook, changed in place, with the code of utils/ in its cells that show it."""
    held = in_utils()
    for cell in notebook.cells:
        if cells.is_folded(cell):
            cell.metadata["jupyter"] = {"source_hidden": True}
        if cells.has(cell, "map"):
            cell.source = with_map(cell.source)
        if cells.has(cell, "defines"):
            cell.source = with_code_of(cell.source, held)
        if name := cells.exercise(cell):
            cell.source = with_stub_of(cell.source, name, textwrap.dedent(reference_source(catalogue()[name])))
    return notebook
