"""When two results count as the same."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

FLOATS = (torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-9}  # relative
EXACT = 5e-10  # relative, of float64: what it may be off to be handed on; float32 is off by more
RIGHT = 1e-7  # what a right answer may be off: + 1e-8, which keeps a divisor from being 0, is no mistake


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


def unchanged(before: Any, after: Any) -> bool:
    try:
        if not isinstance(before, Tensor):
            return before == after or callable(before)
        if before.dtype != after.dtype or before.shape != after.shape:
            return False
        return torch.equal(before, after) or bool(((before == after) | (before.isnan() & after.isnan())).all())
    except Exception:  # something was put into it that cannot be compared
        return False


def furthest(got: Tensor, want: Tensor) -> tuple[tuple[int, ...], str, str]:
    """Where two tensors differ most, and both entries in as many digits as it takes to see it."""
    distance = (got.double() - want.double()).abs().nan_to_num(math.inf).masked_fill(got == want, 0)  # -∞ and -∞
    place = tuple(int(i) for i in np.unravel_index(distance.argmax().item(), tuple(want.shape)))
    yours, expected = got[place].item(), want[place].item()
    if want.dtype == torch.bool:
        return place, str(yours), str(expected)
    digits = next((digits for digits in (4, 7) if f"{yours:.{digits}g}" != f"{expected:.{digits}g}"), 16)
    return place, f"{yours:.{digits}g}", f"{expected:.{digits}g}"
