"""What a wrong function's source says for certain, whatever it returns.

Findings as in findings.py, spoken before the known mistakes are tried: nothing else explains a result so well as a
`return` inside the loop. A function whose source cannot be found (typed at a plain prompt) has none of them.
"""

import ast
import inspect
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .classes import Built
from .verdict import Finding
from .wording import listed

SLIPS = (  # patterns of the source, spaced as ast.unparse spaces it
    (r"\b2\.71\d*", "a few digits of e are not exact. torch.exp, or math.e where it has to be a number."),
    (r"\*\* -?1 / 2\b", "`** 1/2` halves, for `**` binds tighter than `/`. The root is `** 0.5`."),
    (
        r"sqrt\((math|np|torch)\.e\)|(math|np|torch)\.e \*\* 0\.5",
        "√d_k is the root of the length of a key, not of Euler's number 2.718…",
    ),
    (
        r"masked_fill_?\([^()]*(?<!-)\b(math\.inf|torch\.inf|np\.inf|float\('inf'\))\)",
        "what is hidden gets the score +∞ there, the largest of all. The score whose weight is exactly 0 is -∞.",
    ),
    (
        r"(?s)^(?=.*softmax).*(masked_fill_?|where)\([^()]*\b((math|torch|np)\.nan|float\('nan'\))\)",
        "what is hidden gets NaN there, and the softmax of a row with a single NaN is NaN throughout. The score whose "
        "weight is exactly 0 is -∞.",
    ),
    (
        r"\b\d{3,}(\.0)? \*\* [\w.]+ [*/] ",
        "`**` binds tighter than `*` and `/`: only the first number behind it is the exponent there. What belongs to "
        "the exponent besides has to stand in brackets with it.",
    ),
    (r"[\w)] \^ \d", "`^` is no power in Python, and gives some other whole number: `**` is the power."),
    (
        r"(?m)^return [^\n]*\w is (?:not )?(?!None$|True$|False$)[a-z_]\w*$",
        "`is` and `is not` ask once whether two things are one and the same object. == and != compare entry by entry.",
    ),
    (
        r"\[\[[^\[\]]*\] \* [^\[\]]+\] \* ",
        "a list of a list, multiplied, is the same row several times: what is set in one row is set in all. "
        "torch.zeros, or a list made anew for each row, `[[False] * n for _ in range(n)]`, has rows of their own.",
    ),
)


FILLING = ("masked_fill", "masked_fill_", "where")  # by which a learner hides scores
HIDDEN = "__hidden"  # by which -∞ stands in the place of a sum that hides
PRODUCT = "__product"  # by which x @ W stands in the place of F.linear
FRESH = {"type_params": []} if sys.version_info >= (3, 12) else {}
RETURNING = ("masked_fill", "transpose", "permute", "unsqueeze", "squeeze", "reshape", "view", "float", "softmax", "t")
RETURNING += (
    "flatten",
    "unflatten",
    "expand",
    "clamp",
    "to",
    "double",
    "bool",
    "long",
    "tril",
    "triu",
    "flip",
    "detach",
)


def tree_of(function: Callable) -> ast.FunctionDef | None:
    """The syntax tree of a function written with def, or None; of a class none."""
    try:
        statement = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    return statement if isinstance(statement, ast.FunctionDef) else None


def numbers_of(tree: ast.FunctionDef | None) -> list[int]:
    """The whole numbers that stand in a function, without a sign."""
    nodes = list(ast.walk(tree)) if tree else []
    negated = {id(node.operand) for node in nodes if isinstance(node, ast.UnaryOp)}
    whole = [node for node in nodes if isinstance(node, ast.Constant) and type(node.value) is int]
    return [node.value for node in whole if id(node) not in negated]


def source_of(function: Callable) -> str:
    """The source without comments, docstring and odd spacing; "" where it cannot be found. Of a class all of it."""
    tree = ast.parse(function.text or "...").body[0] if isinstance(function, Built) else tree_of(function)
    if isinstance(tree, ast.Expr):
        return ""
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


def compared_with_text(case) -> Finding | None:
    """An argument that is no text on any input is compared with one, which is never equal."""
    tree = tree_of(case.function)
    for node in ast.walk(tree) if tree else []:
        if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Name) or len(node.comparators) != 1:
            continue
        values = [done.arguments.get(node.left.id, "") for done in case.runs]
        is_text = isinstance(node.comparators[0], ast.Constant) and isinstance(node.comparators[0].value, str)
        if is_text and isinstance(node.ops[0], ast.Eq) and all(isinstance(value, bool) for value in values):
            return Finding(
                f"`{ast.unparse(node)}` is never true: `{node.left.id}` is True or False, not a text. "
                f"`if {node.left.id}:` asks for it."
            )
    return None


def result_not_kept(case) -> Finding | None:
    """A method that returns a new tensor stands in a line of its own, and nothing takes what it returns."""
    tree = tree_of(case.function)
    lines = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)] if tree else []
    for call in lines:
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in RETURNING:
            name = call.func.attr
            return Finding(
                f"in your line `{ast.unparse(call)}`, `{name}` returns a new tensor and leaves the old one as it is. "
                "Nothing keeps what it returns: give it a name, as in `x = x.…`."
            )
    return None


def finite_fills(function: Callable) -> list[tuple[str, bool, Callable]]:
    """The numbers that hidden scores get, whether they are added, and the function that has -∞ in the place of each."""
    tree, space = tree_of(function), getattr(function, "__globals__", None)
    if tree is None or space is None or getattr(function, "__closure__", None):
        return []
    space = {**space, HIDDEN: _hidden}
    found = []
    for owner in ast.walk(tree):
        for field, value in ast.iter_fields(owner):
            for index, node in enumerate(value if isinstance(value, list) else [value]):
                for number, is_added, spot, new in _of_a_fill(node):
                    place = spot or (owner, field, index if isinstance(value, list) else None)
                    found.append((number, is_added, _with(tree, place, new, space)))
    return found


def _of_a_fill(node: Any) -> Iterator[tuple[str, bool, tuple | None, ast.expr]]:
    """A number that hides: as text, is it added, where it stands if not at the node itself, and what hides instead."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        parts = [part for part in ast.walk(node) if isinstance(part, ast.UnaryOp)] if name in FILLING else []
        for part in parts:
            if isinstance(part.op, ast.USub) and isinstance(part.operand, ast.Constant):
                endless = ast.Call(ast.Name("float", ast.Load()), [ast.Constant("inf")], [])
                yield ast.unparse(part), False, (part, "operand", None), endless
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        sides = [(node.left, node.right), (node.right, node.left)]
        for scores, added in sides[:1] if isinstance(node.op, ast.Sub) else sides:
            number = next(filter(None, map(_large, (added.left, added.right))), "") if _is_product(added) else ""
            if number:
                sign = "-" if isinstance(node.op, ast.Sub) else ""
                yield f"{sign}{number}", True, None, ast.Call(ast.Name(HIDDEN, ast.Load()), [scores, added], [])


def _is_product(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _large(node: ast.AST) -> str:
    """A number of ten or more, with any sign, as text; "" for all else."""
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    is_number = isinstance(inner, ast.Constant) and type(inner.value) in (int, float)
    return ast.unparse(node) if is_number and abs(inner.value) >= 10 else ""


def _hidden(scores: Any, added: Any) -> Any:
    """-∞ where a number is added that hides, scores elsewhere."""
    return torch.where(added != 0, -math.inf, scores)


def with_products(function: Callable) -> Callable | None:
    """The function with a product in the place of each `F.linear` of two or three; None where it calls none."""
    tree, space = tree_of(function), getattr(function, "__globals__", None)
    if tree is None or space is None or getattr(function, "__closure__", None):
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_linear(node)]
    for call in calls:
        call.func = ast.Name(PRODUCT, ast.Load())
    return _made(tree, {**space, PRODUCT: _product}) if calls else None


def _is_linear(call: ast.Call) -> bool:
    return ast.unparse(call.func) in ("F.linear", "torch.nn.functional.linear", "nn.functional.linear")


def _product(x: Tensor, matrix: Tensor, bias: Tensor | float = 0.0) -> Tensor:
    return x @ matrix + bias


def _with(tree: ast.FunctionDef, place: tuple, new: ast.expr, space: dict[str, Any]) -> Callable:
    """The function with another node in that place, which is set back."""
    owner, field, index = place
    value = getattr(owner, field)
    kept = value if index is None else value[index]
    _put(owner, field, index, new)
    made = _made(tree, space)
    _put(owner, field, index, kept)
    return made


def _made(tree: ast.FunctionDef, space: dict[str, Any]) -> Callable:
    """The function that a tree defines."""
    alone = ast.FunctionDef(tree.name, tree.args, tree.body, [], **FRESH)
    made: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(ast.Module([alone], [])), "<changed>", "exec"), {**space}, made)
    return made[tree.name]


def _put(owner: ast.AST, field: str, index: int | None, new: Any) -> None:
    if index is None:
        setattr(owner, field, new)
    else:
        getattr(owner, field)[index] = new


def einsum_letters(case) -> Finding | None:
    """A letter of one operand alone that is missing after the arrow, while the other has one of its own there, too."""
    tree = tree_of(case.function)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree else []
    strings = [call.args[0].value for call in calls if call.args and isinstance(call.args[0], ast.Constant)]
    for text in strings:
        if not isinstance(text, str) or not (parts := re.fullmatch(r"([\w. ]+),([\w. ]+)->([\w. ]*)", text)):
            continue
        one, other, result = (set(part) - set(". ") for part in parts.groups())
        left, right = one - other - result, other - one - result
        if left and right:
            return Finding(
                f"in your einsum string `{text}`, the letters `{min(left)}` and `{min(right)}` each stand in one tensor"
                " and not after the arrow, so each is summed by itself before anything is multiplied. An axis that "
                "both share, over which the products are added up, has the same letter in both."
            )
    return None


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
