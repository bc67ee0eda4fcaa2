"""What a wrong function's source says for certain, whatever it returns.

Findings as in findings.py, spoken before the known mistakes are tried: nothing else explains a result so well as a
`return` inside the loop. A function whose source cannot be found (typed at a plain prompt) has none of them.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor

from .verdict import Finding
from .wording import listed

SLIPS = (  # patterns of the source, spaced as ast.unparse spaces it
    (r"\b2\.71\d*", "a few digits of e are not exact. torch.exp, or math.e where it has to be a number."),
    (r"\*\* -?1 / 2\b", "`** 1/2` halves, for `**` binds tighter than `/`. The root is `** 0.5`."),
    (
        r"sqrt\((math|np|torch)\.e\)|(math|np|torch)\.e \*\* 0\.5",
        "√e is the root of the head dimension e, the length of a query, not of Euler's number 2.718…",
    ),
    (
        r"\[\[[^\[\]]*\] \* [^\[\]]+\] \* ",
        "a list of a list, multiplied, is the same row several times: what is set in one row is set in all. "
        "torch.zeros, or a list made anew for each row, `[[False] * n for _ in range(n)]`, has rows of their own.",
    ),
)


def tree_of(function: Callable) -> ast.FunctionDef | None:
    """The syntax tree of a function written with def, or None."""
    try:
        statement = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    return statement if isinstance(statement, ast.FunctionDef) else None


def source_of(function: Callable) -> str:
    """The source without comments, docstring and odd spacing; "" where it cannot be found."""
    tree = tree_of(function)
    if tree is None:
        return ""
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    return "\n".join(map(ast.unparse, body))


def its_arguments(arguments: dict[str, Any]) -> str:
    sizes = " (sizes, not tensors)" if all(isinstance(value, int) for value in arguments.values()) else ""
    return f"its argument{'s' if len(arguments) > 1 else ''} {listed(arguments)}{sizes}"


def outside_data(case) -> Finding | None:
    """Tensors, arrays, lists and numbers of the notebook that the function reads."""
    tree = tree_of(case.function)
    if tree is None:
        return None
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    data = (Tensor, np.ndarray, list, tuple, dict, int, float, np.generic)
    notebook = getattr(inspect.unwrap(case.function), "__globals__", {})
    outside = sorted(name for name in read - own if isinstance(notebook.get(name), data))
    if not outside:
        return None
    return Finding(
        f"your function uses {listed(outside)} from outside. "
        f"It has to work from {its_arguments(case.first.arguments)} alone."
    )


def parameters_exchanged(case) -> Finding | None:
    tree, asked = tree_of(case.function), list(case.first.arguments)
    given = [argument.arg for argument in tree.args.args] if tree else []
    if given == asked or sorted(given) != sorted(asked):
        return None
    return Finding(
        f"your first line has its parameters in another order, ({', '.join(given)}); values come in by their place. "
        f"Keep it as it was: def {case.reference.__name__}({', '.join(asked)}):"
    )


def return_in_loop(case) -> Finding | None:
    tree = tree_of(case.function)
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)] if tree else []
    if any(isinstance(statement, ast.Return) for loop in loops for statement in loop.body):
        return Finding(
            "the return stands inside the loop and ends it in its first round. Indent it less, as the word `for`."
        )
    return None


def slip(case) -> Finding | None:
    source = source_of(case.function)
    return next((Finding(message) for pattern, message in SLIPS if re.search(pattern, source)), None)


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
