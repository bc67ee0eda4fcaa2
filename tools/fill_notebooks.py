"""What a notebook shows of utils/ is written there once, and filled into the notebook by `make notebooks`.

A cell tagged `defines` holds functions or classes that utils/ holds, too: their code is taken from there, while the
docstring stays the cell's own, or away, for in a notebook the prose around the cell says what a docstring says in a
module. A cell tagged `exercise:name` holds a stub: its signature and docstring are those of the exercise's reference,
and its body stays as it is, since it may be a learner's.
"""

import ast
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


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
        if isinstance(inner, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(inner) is not None:
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


def in_utils(root=ROOT):
    """{name: (source of the module, node)} of all that the modules of utils/ define, but for the exercises."""
    found = {}
    for path in sorted((root / "utils").rglob("*.py")):
        if "exercises" not in path.parts:
            source = path.read_text(encoding="utf-8")
            found |= {name: (source, node) for name, node in definitions(source).items()}
    return found


def with_code_of(cell_source, held):
    """A cell's source with the code of every definition taken from `held`, {name: (source, node)}."""
    for name, shown in definitions(cell_source).items():
        if name not in held:
            raise ValueError(f"a cell tagged `defines` shows {name}, which utils/ does not hold")
        shown = definitions(cell_source)[name]  # its place after those before it were filled
        code, own = without_docstrings(*held[name]), docstring_lines(cell_source, shown)
        header = held[name][1].body[0].lineno - held[name][1].lineno if own else 0
        filled = [*code[:header], *own, *code[header:]]
        lines, old = cell_source.splitlines(), lines_of(cell_source, shown)
        lines[shown.end_lineno - len(old) : shown.end_lineno] = filled
        cell_source = "\n".join(lines)
    return cell_source


def with_stub_of(cell_source, name, reference):
    """An exercise cell's source with the signature and the docstring of `reference`, the source of a function."""
    mine, theirs = definitions(cell_source)[name], definitions(reference)[name]
    lines, given = cell_source.splitlines(), reference.splitlines()
    mine_ends, theirs_ends = (node.body[0].end_lineno for node in (mine, theirs))
    return "\n".join([*lines[: mine.lineno - 1], *given[theirs.lineno - 1 : theirs_ends], *lines[mine_ends:]])


def fill(notebook):
    """The notebook, changed in place, with the code of utils/ in its cells that show it."""
    sys.path.insert(0, str(ROOT))
    from utils.exercises import catalogue
    from utils.exercises.engine import source as reference_source

    held = in_utils()
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "defines" in tags:
            cell.source = with_code_of(cell.source, held)
        for name in (tag.removeprefix("exercise:") for tag in tags if tag.startswith("exercise:")):
            cell.source = with_stub_of(cell.source, name, textwrap.dedent(reference_source(catalogue()[name])))
    return notebook
