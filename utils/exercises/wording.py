"""How values, shapes and the place of an error are put into words."""

import ast
import inspect
import linecache
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .running import as_tensor, holds_nan

LONGEST = 5000  # characters of an exception's message: what reads it may take time for each


def describe_value(name: str, value: Any) -> str:
    if isinstance(value, Tensor):
        return (
            f"{name} {tuple(value.shape)}"
            + " float64" * (value.dtype == torch.float64)
            + " with NaN" * holds_nan({name: value})
        )
    if callable(value):
        return f"{name} (a {'module' if isinstance(value, torch.nn.Module) else 'function'})"
    return f"{name} = {shorten(_in_order(value), 120)}"


def _in_order(value: Any) -> str:
    """A value as text that is the same every time: sets in order, functions without their place in memory."""
    if isinstance(value, set):
        return f"{{{', '.join(map(_in_order, sorted(value, key=repr)))}}}" if value else "set()"
    if isinstance(value, list):
        return f"[{', '.join(map(_in_order, value))}]"
    return value.__name__ if inspect.isfunction(value) else re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def describe_inputs(arguments: dict[str, Any]) -> str:
    """Names with shapes: "query (8,), keys (5, 8)"."""
    return ", ".join(describe_value(name, value) for name, value in arguments.items())


def describe_shape(shape: tuple) -> str:
    return f"shape {tuple(shape)}" if shape else "a single number"


def describe_want(want: Any) -> str:
    if isinstance(want, tuple):
        return f"a tuple of {len(want)} {'tensors' if isinstance(want[0], Tensor) else 'ints'}"
    if isinstance(want, str):
        return "a string"
    if isinstance(want, list):
        return "a list"
    tensor = as_tensor(want)
    return f"a tensor of shape {tuple(tensor.shape)}" if tensor.ndim else "a single number"


def dtype_name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def describe_kind(result: Any) -> str:
    if isinstance(result, (np.ndarray, np.generic)):
        return "a NumPy array" if isinstance(result, np.ndarray) else "a NumPy number"
    if isinstance(result, Tensor) and as_tensor(result) is None:
        return f"a tensor of layout {result.layout} on device {result.device}"
    name = type(result).__name__
    if not name:
        return "something of a type without a name"
    if "return_types" in type(result).__module__ or name in ("topk", "sort", "max", "min"):
        return f"both that {name} gives, values and positions"
    return ("an " if name[0].lower() in "aeiou" else "a ") + name


def text_of(error: BaseException) -> str:
    try:
        return str(error)[:LONGEST]
    except Exception:
        return ""


def own_frames(error: BaseException, function: Callable) -> list:
    """The traceback's entries in the file or notebook cell where `function` was written, the innermost first."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    found, entry = [], error.__traceback__
    while entry is not None:
        if code is not None and entry.tb_frame.f_code.co_filename == code.co_filename:
            found.append(entry)
        entry = entry.tb_next
    return found[::-1]


def own_frame(error: BaseException, function: Callable):
    """The innermost of own_frames, or None."""
    return next(iter(own_frames(error, function)), None)


def own_line(error: BaseException, function: Callable) -> str:
    """The learner's line that raised, as they wrote it. Notebook cells, too, are in linecache."""
    frame = own_frame(error, function)
    line = linecache.getline(frame.tb_frame.f_code.co_filename, frame.tb_lineno).strip() if frame else ""
    return shorten(line, 100)


def own_loop(error: BaseException, function: Callable) -> str:
    """The first line of the loop in which the learner's code was stopped, a `while` if there is one; else ""."""
    for entry in own_frames(error, function)[:100]:
        lines = linecache.getlines(entry.tb_frame.f_code.co_filename)
        try:
            nodes = list(ast.walk(ast.parse("".join(lines))))
        except SyntaxError:
            return ""
        around = [node for node in nodes if isinstance(node, (ast.For, ast.While))]
        around = [node for node in around if node.lineno <= entry.tb_lineno <= node.end_lineno]
        if around:
            loop = max(around, key=lambda node: (isinstance(node, ast.While), node.lineno))
            return shorten(lines[loop.lineno - 1].strip(), 100)
    return ""


def shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def listed(names: Iterable[str]) -> str:
    """ "query, keys and values"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def letters_of(reference: Callable) -> dict[str, tuple[str, ...]]:
    """The letters of the axes of each argument, as the docstring gives them: "scores (…, q, k)", and of `keys` and `K`,
    too, where it says "every key (k, e)" or "its keys (k, e)"."""
    text = inspect.getdoc(reference) or ""
    found = {}
    for name in inspect.signature(reference).parameters:
        noun = name.lower().rstrip("s")
        if shape := re.search(rf"\b{name} \(([^()]*)\)", text) or re.search(rf"\b{noun}\w* \(([^()]*)\)", text):
            found[name] = tuple(letter.strip() for letter in shape[1].split(",") if letter.strip())
    return found
