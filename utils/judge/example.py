"""An example in small numbers: an input, what should come out and what does, each on a line of its own."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from .run.calls import run
from .run.errors import text_of
from .run.sandbox import Stopped
from .verdict import Finding
from .wording import letters_of

SMALL = "example.small"  # the key
WIDTH = 90  # characters that the input, what was expected and what came may take, each
LENGTH = 2  # of an axis, where it can be cut


def small_example(
    reference: Callable, function: Callable, draws: list[dict[str, Any]], call: Callable
) -> Finding | None:
    """The smallest of the inputs on which `function` goes wrong, what should come out and what does; None where none
    fits on a line.

    One on which it returns something is better than one on which it raises an exception.
    """
    raised = None
    for arguments in sorted((small for draw in draws for small in _smaller(reference, draw)), key=_size):
        try:
            want = reference(*arguments.values())
            done = run(function, arguments, want, call)
            if isinstance(done.error, Stopped):
                return None
            if done.right or done.result is ... or not _is_told(want):
                continue
            given = ", ".join(f"{name} = {_written(value)}" for name, value in arguments.items())
            expected = _written(want)
            came = _written(done.result) if done.error is None else _raised(done.error)
        except Exception:  # the reference needs more than was left, or a result cannot be written
            continue
        if max(map(len, (given, expected, came))) <= WIDTH and came != expected:
            said = Finding(SMALL, {"inputs": given, "want": expected, "got": came})
            if done.error is None:
                return said
            raised = raised or said
    return raised


def _is_told(want: Any) -> bool:
    """Not where whole numbers are asked for: to tell them would be to tell the answer."""
    if isinstance(want, Tensor):
        return bool(want.isfinite().all())
    return isinstance(want, float) or isinstance(want, tuple) and all(isinstance(part, Tensor) for part in want)


def _smaller(reference: Callable, draw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A draw with axes cut and numbers rounded, with one of both, as it is."""
    letters = letters_of(reference)
    tensors = {name: value for name, value in draw.items() if isinstance(value, Tensor)}
    lettered = {name: [one for one in letters.get(name, ()) if one not in ("…", "...")] for name in tensors}
    if any(value.ndim and not lettered[name] for name, value in tensors.items()):
        letters = {}  # what is cut of one argument alone may not fit the others

    def cut(name: str, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        for axis in range(1, min(value.ndim, len(letters.get(name, ()))) + 1):
            if letters[name][-axis] not in ("…", "...", "1"):
                value = value.narrow(-axis, 0, min(LENGTH, value.shape[-axis]))
        return value.clone()

    def rounded(value: Any) -> Any:
        is_float = isinstance(value, Tensor) and value.is_floating_point()
        return torch.round(value, decimals=1) if is_float else value

    small = {name: cut(name, value) for name, value in draw.items()}
    for arguments in (small, draw):
        yield {name: rounded(value) for name, value in arguments.items()}
        yield arguments


def _size(arguments: dict[str, Any]) -> int:
    return sum(value.numel() for value in arguments.values() if isinstance(value, Tensor))


def _written(value: Any) -> str:
    """Nested lists of numbers with three digits."""
    if isinstance(value, Tensor):
        return _written(value.detach().tolist())
    if isinstance(value, (list, tuple)):
        inside = ", ".join(map(_written, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    return f"{value:.3g}" if isinstance(value, float) else repr(value)


def _raised(error: BaseException) -> str:
    return f"{type(error).__name__}: {text_of(error).splitlines()[0] if text_of(error) else ''}"[:WIDTH]
