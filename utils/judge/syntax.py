"""The source of a learner's function, its syntax tree, and the one way to compile it."""

import ast
import contextlib
import inspect
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

FRESH = {"type_params": []} if sys.version_info >= (3, 12) else {}


def tree_of(function: Callable) -> ast.FunctionDef | None:
    """The syntax tree of a function written with def, or None; of a class none."""
    try:
        statement = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    return statement if isinstance(statement, ast.FunctionDef) else None


def numbers_of(tree: ast.FunctionDef | None) -> list[int]:
    """The whole numbers that are in a function, without a sign."""
    nodes = list(ast.walk(tree)) if tree else []
    negated = {id(node.operand) for node in nodes if isinstance(node, ast.UnaryOp)}
    whole = [node for node in nodes if isinstance(node, ast.Constant) and type(node.value) is int]
    return [node.value for node in whole if id(node) not in negated]


def source_of(function: Callable) -> str:
    """The source without comments, docstring and odd spacing; "" where it cannot be found. Of a class all of it."""
    text = getattr(function, "text", None)  # a class has it (run/layers.py)
    tree = ast.parse(text or "...").body[0] if isinstance(text, str) else tree_of(function)
    if tree is None or isinstance(tree, ast.Expr):
        return ""
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    return "\n".join(map(ast.unparse, body))


def with_decorators(function: Callable) -> str:
    """The source as `source_of` gives it, below the decorators."""
    tree = tree_of(function)
    return "\n".join([*(map(ast.unparse, tree.decorator_list) if tree else ()), source_of(function)])


def unread(function: Callable) -> list[str]:
    """The names of the arguments that the function never reads; none if its source cannot be found."""
    tree = tree_of(function)
    if tree is None:
        return []
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return [argument.arg for argument in tree.args.args if argument.arg not in read]


def is_stub(function: Callable) -> bool:
    """Is there nothing but the docstring and `return ...`, or an exception raised?"""
    tree = tree_of(function)
    body = tree.body[ast.get_docstring(tree) is not None :] if tree else []
    return len(body) <= 1


def define(code: str | ast.stmt, name: str, space: dict[str, Any], file: str = "<answer>", apart: bool = False) -> Any:
    """The function or class `name` that a text or a tree defines, among the names of `space`.

    Where it is `apart`, `space` is left as it is: `name` goes on to mean there what it meant.
    """
    module = code if isinstance(code, str) else ast.Module([code], [])
    made: dict[str, Any] = {} if apart else space
    exec(compile(module, file, "exec"), space, made)
    return made[name]


def bare(tree: ast.FunctionDef) -> ast.FunctionDef:
    """The function without its decorators and the annotation of its result; its statements are the same nodes."""
    return ast.fix_missing_locations(ast.FunctionDef(tree.name, tree.args, tree.body, [], **FRESH))


def put(owner: ast.AST, field: str, index: int | None, new: Any) -> Any:
    """Put a node, or anything else, into a field of a tree, or at a place of the list that is there; returns what was
    there before."""
    value = getattr(owner, field)
    if index is None:
        setattr(owner, field, new)
        return value
    before, value[index] = value[index], new
    return before


def source_and_names(value: Any) -> tuple[str, dict[str, Any]]:
    """The source of a function or class that was written in a cell, and the names around it; "" where it is not found.

    Python finds no class of a notebook: it has no file. Its methods know their cell.
    """
    if isinstance(value, type):
        methods = (inspect.unwrap(one) for one in vars(value).values() if isinstance(one, FunctionType))
        method = next((one for one in methods if one.__qualname__.startswith(f"{value.__qualname__}.")), None)
        return (_class(value.__name__, method), method.__globals__) if method else ("", {})
    try:
        function = inspect.unwrap(value)
        lines = _lines(function.__code__)[function.__code__.co_firstlineno - 1 :]
        source = textwrap.dedent("".join(inspect.getblock(lines))).rstrip()
        ast.parse(source)
        return source, function.__globals__
    except (OSError, TypeError, SyntaxError, AttributeError):
        return "", {}


def _lines(code: CodeType) -> list[str]:
    """The lines of the file or cell that a function is in; none where they are not found.

    Under a magic such as %%time a cell has no lines that Python knows: it is the last one in the kernel's history that
    makes this very code."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if (lines := linecache.getlines(code.co_filename)) or shell is None:
        return lines
    for cell in reversed(shell.history_manager.input_hist_raw):
        magic, _, body = cell.lstrip().partition("\n")
        if magic.startswith("%%"):
            with contextlib.suppress(SyntaxError, ValueError):  # under another magic is another language
                body = shell.transform_cell(body)
                if code in _codes(shell.compile(ast.parse(body), code.co_filename, "exec")):
                    return body.splitlines(keepends=True)
    return []


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code, and all in it: of functions, classes and their methods."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _class(name: str, method: FunctionType) -> str:
    lines = _lines(method.__code__)
    try:
        found = [one for one in ast.parse("".join(lines)).body if isinstance(one, ast.ClassDef) and one.name == name]
    except SyntaxError:
        return ""
    first = method.__code__.co_firstlineno
    node = next((one for one in found if one.lineno <= first <= one.end_lineno), None)
    if node is None:
        return ""
    start = min(one.lineno for one in (node, *node.decorator_list))
    return "".join(lines[start - 1 : node.end_lineno]).rstrip()
