"""Where NaN arises in an answer, and where a mask is added."""

import ast
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..case import Case
from ..run.calls import Run
from ..run.sandbox import Sandbox
from ..search.steps import (
    name_called,
    tensors_in,
    trace,
)
from ..verdict import Finding
from ..wording import (
    shorten,
)


def zeros_and_ones_added(case: Case, done: Run) -> str:
    """The sum of an answer in which one part holds nothing but 0 and 1, both of them, and the other does not; or ""."""
    mine = trace(case.function, [done.arguments], Sandbox.current.call)
    if mine is None:
        return ""
    numbers = {id(node): number for number, node in enumerate(mine.nodes)}
    logarithms = [node for node in mine.nodes if name_called(node) == "log"]
    inside = {id(part) for node in logarithms for part in ast.walk(node)}  # the log of a mask hides: it is -∞, or low
    for number, value in mine.values[0].items():
        node = mine.nodes[number]
        is_sum = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(value, Tensor)
        if not is_sum or id(node) in inside:
            continue
        parts = [mine.values[0].get(numbers[id(part)]) for part in (node.left, node.right)]
        if value.is_floating_point() and value.ndim > 1 and sum(map(_is_mask, parts)) == 1:
            return shorten(ast.unparse(node), 80)
    return ""


def _is_mask(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim > 1 and value.double().unique().tolist() == [0.0, 1.0]


def exponential_of_large(case: Case, done: Run) -> bool:
    """Does the answer compute an exponential that is infinite for this input?"""
    mine = trace(case.function, [done.arguments], Sandbox.current.call)
    values = mine.values[0].items() if mine else ()
    return any(name_called(mine.nodes[number]) == "exp" and _holds(value, torch.isinf) for number, value in values)


def origin_of_nan(case: Case, done: Run) -> Finding | None:
    """The piece of the answer that is the first to hold NaN for an input, and why it does; None where nothing tells."""
    if any(bool(value.isnan().any()) for value in tensors_in(done.arguments) if value.is_floating_point()):
        return None
    mine = trace(case.function, [done.arguments], Sandbox.current.call)
    if mine is None:
        return None
    values = mine.values[0]
    first = next((number for number, value in values.items() if _holds(value, torch.isnan)), None)
    numbers = {id(node): number for number, node in enumerate(mine.nodes)}
    if first is None:
        return None
    node = mine.nodes[first]
    why = _why_nan(node, lambda part: values.get(numbers.get(id(part))))
    return Finding(f"nan.{why}", {"piece": shorten(ast.unparse(node), 80)}) if why else None


def _holds(value: Any, what: Callable) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and bool(what(value).any())


def _why_nan(node: ast.AST, value_of: Callable[[ast.AST], Any]) -> str:
    """The sentence that says why; "" where nothing tells."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return "infinity_over_infinity" if _holds(value_of(node.right), torch.isinf) else "zero_over_zero"
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.MatMult)):
        return "zero_times_infinity"
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return "infinity_minus_infinity"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return "power"
    name = name_called(node)
    if "softmax" in name:
        return "softmax"
    if name in ("sqrt", "log", "rsqrt"):
        return "root"
    if name in ("mean", "nanmean", "std", "var"):
        return "too_few"
    return ""
