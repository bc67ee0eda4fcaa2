"""How an answer is run, and when two results count as the same."""

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

from .isolation import Printed

FLOATS = (torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-9}  # relative
EXACT = 5e-10  # relative, of float64: what it may be off to be handed on; float32 is off by more
RIGHT = 1e-7  # what a right answer may be off: + 1e-8, which keeps a divisor from being 0, is no mistake
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


def unchanged(before: Any, after: Any) -> bool:
    try:
        if not isinstance(before, Tensor):
            return before == after or callable(before)
        if before.dtype != after.dtype or before.shape != after.shape:
            return False
        return torch.equal(before, after) or bool(((before == after) | (before.isnan() & after.isnan())).all())
    except Exception:  # something was put into it that cannot be compared
        return False


# ---- comparing


def as_tensor(result: Any) -> Tensor | None:
    """A dense tensor or a single number, Python's or NumPy's, as a detached tensor; None for all else, bools too."""
    if isinstance(result, Tensor):
        return result.detach() if result.layout == torch.strided and result.device.type == "cpu" else None
    if isinstance(result, (np.floating, np.integer)):
        return torch.from_numpy(np.array(result)) if result.dtype.itemsize <= 8 else None
    if isinstance(result, bool) or not isinstance(result, (int, float)):
        return None
    is_float = isinstance(result, float) or abs(result) >= 2**63
    return torch.tensor(float(result), dtype=torch.float64) if is_float else torch.tensor(result)


def as_list(result: Any) -> Any:
    """A tuple, array or tensor as the list that was asked for, each number as one of Python's."""
    if isinstance(result, (Tensor, np.ndarray)):
        return result.tolist()
    if type(result) not in (list, tuple):
        return result
    single = (Tensor, np.generic)
    return [part.item() if isinstance(part, single) and part.ndim == 0 else part for part in result]


def as_asked(result: Any, asked: Any) -> Any:
    """A list or array as the tensor that was asked for, or any of the three as the tuple: the same numbers."""
    try:
        if isinstance(asked, list):
            return as_list(result)
        if isinstance(asked, tuple) and isinstance(result, (list, np.ndarray, Tensor)):
            return tuple(result if isinstance(result, list) else result.tolist())
        if isinstance(result, list) and any(isinstance(part, Tensor) and part.ndim for part in result):
            return torch.stack(result)
        if not isinstance(result, (list, np.ndarray)):
            return result
        tensor = torch.tensor(result)
        # Python's floats have the digits of float64, which torch would round
        return (
            torch.tensor(result, dtype=torch.float64)
            if tensor.dtype == torch.float32 and type(result) is list
            else tensor
        )
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return result


def as_wanted(result: Any, want: Any) -> Any:
    """A list as the tuple, a list or array as the tensor that was asked for, if it has its shape and kind of number;
    a tuple, array or tensor as the list."""
    if isinstance(want, list):
        return as_list(result)
    if isinstance(want, tuple):
        if type(result) not in (list, tuple) or len(result) != len(want):
            return result
        return tuple(map(as_wanted, result, want))
    if isinstance(want, Tensor) and type(result) in (list, np.ndarray):  # what is derived of them may never end
        tensor = as_asked(result, want)
        if isinstance(tensor, Tensor) and tensor.shape == want.shape and same_kind(tensor.dtype, want.dtype):
            return tensor if type(result) is not list or same(tensor, want) else as_rounded(tensor)
    return result


def as_rounded(tensor: Tensor) -> Tensor:
    """Numbers of a list, which do not say in which precision they were computed: in float32."""
    return tensor.float() if tensor.is_floating_point() else tensor


def has_type_of(result: Any, want: Any) -> bool:
    """Does a result come in the type and precision of the one that was asked for?"""
    if isinstance(want, tuple):
        return isinstance(result, tuple) and len(result) == len(want) and all(map(has_type_of, result, want))
    if isinstance(want, list):
        return isinstance(result, list) and not any(isinstance(part, (Tensor, np.generic)) for part in result)
    if not isinstance(want, Tensor):
        return not isinstance(result, Tensor)
    return isinstance(result, Tensor) and result.dtype == want.dtype


def is_exact(result: Any, want: Any) -> bool:
    """Is the result of the kind that is wanted, and of float64 right to nearly its last digit? What is off by more was
    rounded on its way, or has something added, and what a notebook computes with it is off, too."""
    if isinstance(want, tuple):
        return not isinstance(result, tuple) or all(map(is_exact, result, want))
    got = as_tensor(result)
    if got is None or not isinstance(want, Tensor) or got.shape != want.shape:
        return True
    if want.dtype != torch.float64:
        return same_kind(got.dtype, want.dtype)
    return torch.allclose(got.double(), want, rtol=EXACT, atol=EXACT * largest(want), equal_nan=True)


def is_same_in_floats(done: Run) -> bool:
    """Whole numbers that come back as floats, as from a loop that starts from torch.zeros(…)."""
    got, want = as_tensor(done.result), as_tensor(done.want)
    if got is None or want is None or got.dtype not in FLOATS or want.dtype not in INTEGERS:
        return False
    return same(got, want.to(got.dtype))


def leak(result: Any, want: Any) -> float:
    """The largest number of a right result where the reference has exactly 0."""
    if isinstance(want, tuple):
        return max(map(leak, result, want))
    got, want = as_tensor(result), as_tensor(want)
    return got[want == 0].abs().amax().item() if want.ndim and want.dtype in FLOATS and bool((want == 0).any()) else 0.0


def largest(want: Tensor) -> float:
    """The largest finite number, and at least 1."""
    finite = want[want.isfinite()]
    return max(1.0, finite.abs().max().item()) if finite.numel() else 1.0


def same_kind(a: torch.dtype, b: torch.dtype) -> bool:
    """float32 and float64 agree, so do all integers; half precision, bool and complex agree with themselves only."""
    return a == b or (a in FLOATS and b in FLOATS) or (a in INTEGERS and b in INTEGERS)


def same(result: Any, want: Any, least: float = 0.0) -> bool:
    """Equal in structure, shape, kind of number and, up to rounding in the coarser dtype, in value; NaN equals NaN.

    Of a tuple or list, part by part. Python's whole numbers stand for floats, too: 0 for 0.0. A string equals a string
    with the same letters. `least` is the smallest relative difference that counts, also where the dtype is finer.
    """
    if isinstance(want, str):
        return isinstance(result, str) and result == want
    kind = next((kind for kind in (tuple, list) if isinstance(result, kind) or isinstance(want, kind)), None)
    if kind is not None:
        both = isinstance(result, kind) and isinstance(want, kind) and len(result) == len(want)
        return both and all(same(one, other, least) for one, other in zip(result, want))
    got, want = as_tensor(result), as_tensor(want)
    if type(result) is int and want is not None and want.dtype in FLOATS:
        got = got.to(want.dtype)
    if got is None or want is None or got.shape != want.shape or not same_kind(got.dtype, want.dtype):
        return False
    if want.dtype not in FLOATS:
        return torch.equal(got.to(want.dtype), want)
    tolerance = max(least, TOLERANCE[got.dtype], TOLERANCE[want.dtype])
    absolute = 0.01 * tolerance * largest(want)
    return torch.allclose(got.double(), want.double(), rtol=tolerance, atol=absolute, equal_nan=True)


def holds_nan(arguments: dict[str, Any]) -> bool:
    return any(isinstance(value, Tensor) and bool(value.isnan().any()) for value in arguments.values())
