"""How a learner's function is run, how its results are compared, and what is said when no known mistake fits.

The findings at the end are tried in the order of `FINDINGS`; the first that applies speaks.
"""

import contextlib
import dis
import inspect
import io
import linecache
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

FLOATS = (torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-9}  # relative
A_SHAPE_PROBLEM = re.compile(r"shape|size|dimension|broadcast|1D tensors|must match", re.IGNORECASE)
A_DTYPE_PROBLEM = re.compile(r"dtype|not implemented for '")
PRODUCTS_THAT_DO_NOT_FIT = (  # torch's words for the two shapes of a matrix, matrix-vector or vector product
    (
        re.compile(r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)"),
        r"(\1, \2) and (\3, \4)",
    ),
    (re.compile(r"size mismatch, got input \(\d+\), mat \((\d+)x(\d+)\), vec \((\d+)\)"), r"(\1, \2) and (\3,)"),
    (re.compile(r"inconsistent tensor size, expected tensor \[(\d+)\] and src \[(\d+)\].*"), r"(\1,) and (\2,)"),
)


@dataclass
class Run:
    """One call of a function: what went in, what came out or was raised, what was altered, what was printed."""

    arguments: dict[str, Any]  # by the names of the reference's parameters
    want: Any  # the reference's result
    result: Any = None
    error: BaseException | None = None
    changed: tuple[str, ...] = ()
    printed: str = ""

    @property
    def right(self) -> bool:
        return self.error is None and same(self.result, self.want)


def run(function: Callable, arguments: dict[str, Any], want: Any = None) -> Run:
    """Call `function` on copies of `arguments`. Whatever it raises is kept, except KeyboardInterrupt."""
    copies = {name: value.clone() if isinstance(value, Tensor) else value for name, value in arguments.items()}
    done = Run(arguments, want)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        try:
            done.result = function(*copies.values())
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: quit() in an exercise must not end the kernel
            done.error = error
    done.printed = output.getvalue()
    done.changed = tuple(name for name, value in arguments.items() if not unchanged(value, copies[name]))
    return done


def unchanged(before: Any, after: Any) -> bool:
    return not isinstance(before, Tensor) or (before.dtype == after.dtype and torch.equal(before, after))


# ---- comparing


def as_tensor(result: Any) -> Tensor | None:
    """A dense tensor or a Python number as a detached tensor; None for all else, bools and NumPy's numbers too."""
    if isinstance(result, Tensor):
        return result.detach() if result.layout == torch.strided and result.device.type == "cpu" else None
    if isinstance(result, (bool, np.generic)) or not isinstance(result, (int, float)):
        return None
    is_float = isinstance(result, float) or abs(result) >= 2**63
    return torch.tensor(float(result), dtype=torch.float64) if is_float else torch.tensor(result)


def same_kind(a: torch.dtype, b: torch.dtype) -> bool:
    """float32 and float64 agree, so do all integers; half precision, bool and complex agree with themselves only."""
    return a == b or (a in FLOATS and b in FLOATS) or (a in INTEGERS and b in INTEGERS)


def same(result: Any, want: Any) -> bool:
    """Equal in structure, shape, kind of number and, up to rounding in the coarser dtype, in value; NaN equals NaN."""
    if isinstance(result, tuple) or isinstance(want, tuple):
        both = isinstance(result, tuple) and isinstance(want, tuple) and len(result) == len(want)
        return both and all(map(same, result, want))
    got, want = as_tensor(result), as_tensor(want)
    if got is None or want is None or got.shape != want.shape or not same_kind(got.dtype, want.dtype):
        return False
    if want.dtype not in FLOATS:
        return torch.equal(got.to(want.dtype), want)
    tolerance = max(TOLERANCE[got.dtype], TOLERANCE[want.dtype])
    finite = want[want.isfinite()]
    largest = finite.abs().max().item() if finite.numel() else 0.0
    absolute = 0.01 * tolerance * max(1.0, largest)
    return torch.allclose(got.double(), want.double(), rtol=tolerance, atol=absolute, equal_nan=True)


def behaves_like(mistake: Callable, learner: Run) -> bool:
    """Does the mistake give the learner's result, or raise the learner's kind of exception, on the same inputs?"""
    other = run(mistake, learner.arguments)
    if learner.error is None and other.error is None:
        return same(learner.result, other.result)
    return type(learner.error) is type(other.error)


def is_todo(done: Run, function: Callable) -> bool:
    """Nothing written yet: the stub returns `...` or a tuple with it, or itself raises NotImplementedError.

    torch raises NotImplementedError too ("not implemented for 'Long'"), but from inside a call.
    """
    if isinstance(done.error, NotImplementedError):
        frame = own_frame(done.error, function)
        return frame is not None and dis.opname[frame.tb_frame.f_code.co_code[frame.tb_lasti]] == "RAISE_VARARGS"
    return done.result is ... or (isinstance(done.result, tuple) and any(part is ... for part in done.result))


# ---- describing


def describe_value(name: str, value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{name} {tuple(value.shape)}" + (" float64" if value.dtype == torch.float64 else "")
    return f"{name} = {value!r}"


def describe_inputs(arguments: dict[str, Any]) -> str:
    """Names with shapes: "query (8,), keys (5, 8)"."""
    return ", ".join(describe_value(name, value) for name, value in arguments.items())


def describe_shape(shape: tuple) -> str:
    return f"shape {tuple(shape)}" if shape else "a single number"


def describe_want(want: Any) -> str:
    if isinstance(want, tuple):
        return f"a tuple of {len(want)} ints"
    tensor = as_tensor(want)
    return f"a tensor of shape {tuple(tensor.shape)}" if tensor.ndim else "a single number"


def describe_kind(result: Any) -> str:
    if isinstance(result, (np.ndarray, np.generic)):
        return "a NumPy array" if isinstance(result, np.ndarray) else "a NumPy number"
    if isinstance(result, Tensor) and as_tensor(result) is None:
        return f"a tensor of layout {result.layout} on device {result.device}"
    name = type(result).__name__
    return ("an " if name[0] in "aeiou" else "a ") + name


def own_frame(error: BaseException, function: Callable):
    """The innermost traceback entry in the file or notebook cell where `function` was written, or None."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    found, entry = None, error.__traceback__
    while entry is not None:
        if code is not None and entry.tb_frame.f_code.co_filename == code.co_filename:
            found = entry
        entry = entry.tb_next
    return found


def own_line(error: BaseException, function: Callable) -> str:
    """The learner's line that raised, as they wrote it. Notebook cells, too, are in linecache."""
    frame = own_frame(error, function)
    line = linecache.getline(frame.tb_frame.f_code.co_filename, frame.tb_lineno).strip() if frame else ""
    return shorten(line, 100)


def shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


# ---- findings: each takes the exercise, the learner's function and its wrong runs, and returns a message or None


def crash(exercise, function: Callable, wrong: list[Run]) -> str | None:
    """The exception, the learner's own line, the shapes that went in and a question to go on with."""
    done = next((done for done in wrong if done.error is not None), None)
    if done is None:
        return None
    error = done.error
    if isinstance(error, TypeError) and own_frame(error, function) is None:
        return f"it cannot be called. Keep its first line as it was: def {exercise.name}({', '.join(done.arguments)}):"
    text = shorten((str(error).splitlines() or [""])[0].rstrip("."), 160)
    for pattern, shapes in PRODUCTS_THAT_DO_NOT_FIT:
        text = pattern.sub(f"shapes {shapes} do not fit", text)
    line = own_line(error, function)
    message = type(error).__name__ + (f" in your line `{line}`" if line else "") + (f": {text}." if text else ".")
    message += f" The inputs were {describe_inputs(done.arguments)}."
    if isinstance(error, RecursionError):
        return f"{message} Does the function call itself?"
    if isinstance(error, RuntimeError) and A_DTYPE_PROBLEM.search(text):
        return f"{message} Which tensor did you make yourself? torch.zeros and torch.tensor take dtype=…."
    if isinstance(error, (RuntimeError, IndexError, ValueError)) and A_SHAPE_PROBLEM.search(text) and exercise.question:
        return f"{message} {exercise.question}"
    return message


def nothing_returned(exercise, function: Callable, wrong: list[Run]) -> str | None:
    if any(done.error is None and done.result is None for done in wrong):
        return "your function returns None. Did you forget the return?"
    return None


def wrong_shape(exercise, function: Callable, wrong: list[Run]) -> str | None:
    """The shape that came out, the one expected, and the named intermediate that has it."""
    misshapen = []
    for done in wrong:
        got, want = as_tensor(done.result), None if isinstance(done.want, tuple) else as_tensor(done.want)
        if got is not None and want is not None and got.shape != want.shape:
            misshapen.append((done, got.shape, want.shape))
    if not misshapen:
        return None
    done, got, want = misshapen[0]
    inputs = describe_inputs(done.arguments)
    message = f"for {inputs} your function gives {describe_shape(got)}, expected {describe_shape(want)}"
    for label, intermediate in exercise.names.items():
        if all(as_tensor(intermediate(*done.arguments.values())).shape == shape for done, shape, _ in misshapen):
            return f"{message}: that is the shape of {label}" + ("" if label.endswith("?") else ".")
    if all(shape.numel() == expected.numel() and 1 in shape for _, shape, expected in misshapen):
        return f"{message}: an axis of length 1 is left over."
    return message + "."


def wrong_type(exercise, function: Callable, wrong: list[Run]) -> str | None:
    for done in wrong:
        result, want = done.result, done.want
        asked = f"your function returns {describe_kind(result)}, expected {describe_want(want)}"
        if isinstance(result, (np.ndarray, np.generic)):
            return f"{asked}. Use torch's own functions all the way, or convert at the end with torch.tensor(…)."
        if isinstance(want, tuple):
            if not isinstance(result, tuple):
                return f"{asked}."
            if len(result) != len(want):
                return f"your tuple {shorten(repr(tuple(result)), 60)} has not the right number of axes."
            odd = next((part for part in result if type(part) is not int), None)
            if odd is not None:
                return f"your tuple holds {describe_kind(odd)}, but the length of an axis is an int."
        elif as_tensor(result) is None:
            remedy = " torch.tensor(…) or torch.stack(…) makes one." if isinstance(result, list) else ""
            return f"{asked}.{remedy}"
        elif not same_kind(as_tensor(result).dtype, as_tensor(want).dtype):
            got, expected = (str(as_tensor(value).dtype).removeprefix("torch.") for value in (result, want))
            remedy = " .float() converts." if expected == "float32" else ""
            return f"your numbers are {got}, expected {expected}.{remedy}"
    return None


def not_finite(exercise, function: Callable, wrong: list[Run]) -> str | None:
    for done in wrong:
        got = as_tensor(done.result)
        if got is not None and not got.isfinite().all():
            name = "NaN" if got.isnan().any() else "infinity"
            inputs = describe_inputs(done.arguments)
            return f"your result contains {name} for {inputs}. Is there 0/0, inf/inf, or a root or log of a negative?"
    return None


def changed_input(exercise, function: Callable, wrong: list[Run]) -> str | None:
    names = next((done.changed for done in wrong if done.changed), ())
    if not names:
        return None
    return (
        f"your function changes its input {' and '.join(names)} in place, so the caller's tensor changes too. "
        "Make a new tensor instead of *=, += or an assignment into it."
    )


def furthest_entry(exercise, function: Callable, wrong: list[Run]) -> str | None:
    """The entry that differs most; of a wrong tuple only the place, for there the right number is the answer."""
    done = wrong[0]
    inputs = describe_inputs(done.arguments)
    if isinstance(done.want, tuple):
        place = next(i for i, (got, want) in enumerate(zip(done.result, done.want)) if got != want)
        yours = tuple(done.result)
        return f"for {inputs} the number at place {place} of your {yours} is not right (places count from 0)."
    got, want = as_tensor(done.result), as_tensor(done.want)
    place = np.unravel_index((got.double() - want.double()).abs().argmax().item(), want.shape)
    yours, expected = got[place].item(), want[place].item()
    digits = next((digits for digits in (4, 7) if f"{yours:.{digits}g}" != f"{expected:.{digits}g}"), 16)
    entry = f"entry [{', '.join(str(i) for i in place)}] of your result" if want.ndim else "your result"
    return f"for {inputs} {entry} is {yours:.{digits}g}, expected {expected:.{digits}g}."


FINDINGS = (crash, nothing_returned, wrong_shape, wrong_type, not_finite, changed_input, furthest_entry)
