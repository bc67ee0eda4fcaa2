"""How values and shapes are put into words."""

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .compare import as_tensor, holds_nan


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
