"""How an answer is run."""

import contextlib
import copy
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..compare import (
    FLOATS,
    INTEGERS,
    RIGHT,
    as_asked,
    as_tensor,
    as_wanted,
    has_type_of,
    holds_nan,
    is_exact,
    leak,
    same,
    unchanged,
)
from ..run.sandbox import Printed

KEPT = 10**6  # entries of a result that is copied


@dataclass(eq=False)
class Run:
    """One call of a function: what went in, what came out or was raised, what was altered, what was printed."""

    arguments: dict[str, Any]  # by the names of the reference's parameters
    want: Any  # the reference's result
    result: Any = None  # lists and arrays as what was asked for, where they can be such
    fits: bool = True  # does the result come in the type and precision of the reference's?
    exact: bool = True  # and where that is float64, is it right to nearly its last digit?
    error: BaseException | None = None
    changed: tuple[str, ...] = ()
    printed: str = ""
    number: int | None = None  # of the usual inputs; None for others

    @cached_property
    def right(self) -> bool:
        if self.error is not None:
            return False
        return same(self.result, self.want, RIGHT)

    @property
    def masked(self) -> bool:
        """Is there a mask among the arguments?"""
        return any(isinstance(value, Tensor) and value.dtype == torch.bool for value in self.arguments.values())

    @property
    def leak(self) -> float:
        """Where there is a mask among the arguments: the largest number that is 0 in the reference's result."""
        return leak(self.result, self.want) if self.masked else 0.0

    @cached_property
    def tensors(self) -> tuple[Tensor, Tensor] | None:
        """Result and wanted result as tensors, where both can be such: lists and arrays, too, but no tuples."""
        if self.error is not None or isinstance(self.want, tuple):
            return None
        got, want = as_tensor(as_asked(self.result, self.want)), as_tensor(self.want)
        return None if got is None or want is None else (got, want)

    @cached_property
    def sample(self) -> tuple[int, float] | None:
        """The place (in the flat tensor) and value of the largest finite entry: who differs there, differs."""
        if not isinstance(self.result, Tensor) or not self.result.numel() or not self.result.is_floating_point():
            return None
        flat = self.result.detach().flatten().nan_to_num(0, 0, 0)
        place = int(flat.abs().argmax())
        return (place, flat[place].item()) if self.result.flatten()[place].isfinite() else None

    @cached_property
    def given_nan(self) -> bool:
        return holds_nan(self.arguments)

    def differs_from(self, other: Any) -> bool:
        """Is another result certainly not the same? A look at the shape and at one number."""
        if isinstance(self.result, tuple) and isinstance(other, tuple):
            pairs = zip(self.result, other)
            return any(isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape != b.shape for a, b in pairs)
        if not isinstance(self.result, Tensor) or not isinstance(other, Tensor):
            return False
        if self.result.shape != other.shape:
            return True
        if self.sample is None or not other.is_floating_point() or self.given_nan:
            return False
        place, value = self.sample
        return abs(other.detach().flatten()[place].item() - value) > 1e-3 * max(1, abs(value))


def run(function: Callable, arguments: dict[str, Any], want: Any = None, call: Callable = operator.call) -> Run:
    """call(function, …) on copies of `arguments`. Whatever it raises is kept, except KeyboardInterrupt."""
    copies = {name: copied(value) for name, value in arguments.items()}
    done = Run(arguments, want)
    with contextlib.redirect_stdout(Printed()) as output, contextlib.redirect_stderr(output):
        try:
            result = call(function, *copies.values())
            done.result = snapshot(as_wanted(result, want))
            done.fits, done.exact = has_type_of(result, want), is_exact(done.result, want)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: sys.exit() in an exercise must not end the kernel
            done.error = error
    done.printed = str(output)
    done.changed = tuple(name for name, value in arguments.items() if not unchanged(value, copies[name]))
    return done


def snapshot(result: Any) -> Any:
    """A result as it is now: a function may write its next one into the same memory."""
    if isinstance(result, tuple):
        return tuple(map(snapshot, result)) if type(result) is tuple else result
    if type(result) is list and len(result) <= KEPT:
        return list(result)
    if type(result) is Tensor and result.numel() <= KEPT and as_tensor(result) is not None:
        return result.detach().clone()
    return result.copy() if type(result) is np.ndarray and result.size <= KEPT else result


def copied(value: Any) -> Any:
    """A copy; of a tensor with its numbers at the same places of memory, which clone keeps only where there are no gaps
    between them."""
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    if value.is_contiguous() or 0 in value.stride():
        return value.clone()
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)


def is_same_in_floats(done: Run) -> bool:
    """Whole numbers that come back as floats, as from a loop that starts from torch.zeros(…)."""
    got, want = as_tensor(done.result), as_tensor(done.want)
    if got is None or want is None or got.dtype not in FLOATS or want.dtype not in INTEGERS:
        return False
    return same(got, want.to(got.dtype))
