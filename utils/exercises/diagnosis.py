"""How a learner's function is run, how its results are compared, and what is said when no known mistake fits.

The findings at the end are tried in the order of `FINDINGS`; the first that applies speaks.
"""

import ast
import contextlib
import copy
import dis
import inspect
import linecache
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .isolation import Isolation, Printed, Stopped
from .reading import its_arguments, listed, source_of, tree_of

FLOATS = (torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-9}  # relative
A_SHAPE_PROBLEM = re.compile(r"shape|size|dimension|broadcast|1D tensors|must match", re.IGNORECASE)
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


def run(function: Callable, arguments: dict[str, Any], want: Any = None, call: Callable = operator.call) -> Run:
    """call(function, …) on copies of `arguments`. Whatever it raises is kept, except KeyboardInterrupt."""
    copies = {name: copied(value) for name, value in arguments.items()}
    done = Run(arguments, want)
    with contextlib.redirect_stdout(Printed()) as output, contextlib.redirect_stderr(output):
        try:
            done.result = call(function, *copies.values())
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: sys.exit() in an exercise must not end the kernel
            done.error = error
    done.printed = str(output)
    done.changed = tuple(name for name, value in arguments.items() if not unchanged(value, copies[name]))
    return done


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else copy.deepcopy(value)


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


def as_asked(result: Any, asked: Any) -> Any:
    """A list or array as the tensor that was asked for, or any of the three as the tuple: the same numbers."""
    try:
        if isinstance(asked, tuple) and isinstance(result, (list, np.ndarray, Tensor)):
            return tuple(result if isinstance(result, list) else result.tolist())
        if isinstance(result, list) and any(isinstance(part, Tensor) and part.ndim for part in result):
            return torch.stack(result)
        return torch.tensor(result) if isinstance(result, (list, np.ndarray)) else result
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return result


def same_kind(a: torch.dtype, b: torch.dtype) -> bool:
    """float32 and float64 agree, so do all integers; half precision, bool and complex agree with themselves only."""
    return a == b or (a in FLOATS and b in FLOATS) or (a in INTEGERS and b in INTEGERS)


def same(result: Any, want: Any) -> bool:
    """Equal in structure, shape, kind of number and, up to rounding in the coarser dtype, in value; NaN equals NaN.

    Python's whole numbers stand for floats, too: 0 for 0.0.
    """
    if isinstance(result, tuple) or isinstance(want, tuple):
        both = isinstance(result, tuple) and isinstance(want, tuple) and len(result) == len(want)
        return both and all(map(same, result, want))
    got, want = as_tensor(result), as_tensor(want)
    if type(result) is int and want is not None and want.dtype in FLOATS:
        got = got.to(want.dtype)
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
    """Does the mistake give the learner's result, if only as a list, or raise the learner's kind of exception?

    NaN of the inputs that leaked into the learner's result hides what else is wrong: such entries count as alike.
    """
    other = run(mistake, learner.arguments)
    if learner.error is not None or other.error is not None:
        return type(learner.error) is type(other.error)
    result, expected = as_asked(learner.result, other.result), other.result
    if holds_nan(learner.arguments) and all(isinstance(part, Tensor) for part in (result, expected)):
        if result.shape == expected.shape and expected.is_floating_point():
            expected = expected.masked_fill(result.isnan(), torch.nan)
    return same(result, expected)


def holds_nan(arguments: dict[str, Any]) -> bool:
    return any(isinstance(value, Tensor) and bool(value.isnan().any()) for value in arguments.values())


def is_todo(done: Run, function: Callable) -> bool:
    """Nothing written yet: the stub returns `...` or a tuple with it, or itself raises NotImplementedError.

    torch raises NotImplementedError too ("not implemented for 'Long'"), but from inside a call. A `...` that is left in
    an expression raises a TypeError that names the ellipsis.
    """
    if isinstance(done.error, TypeError) and "ellipsis" in text_of(done.error):
        return True
    if isinstance(done.error, NotImplementedError):
        frame = own_frame(done.error, function)
        return frame is not None and dis.opname[frame.tb_frame.f_code.co_code[frame.tb_lasti]] == "RAISE_VARARGS"
    return done.result is ... or (isinstance(done.result, tuple) and any(part is ... for part in done.result))


# ---- describing


def describe_value(name: str, value: Any) -> str:
    if isinstance(value, Tensor):
        return (
            f"{name} {tuple(value.shape)}"
            + " float64" * (value.dtype == torch.float64)
            + " with NaN" * holds_nan({name: value})
        )
    if callable(value):
        return f"{name} (a function)"
    return f"{name} = {shorten(repr(value), 120)}"


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


def dtype_name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def describe_kind(result: Any) -> str:
    if isinstance(result, (np.ndarray, np.generic)):
        return "a NumPy array" if isinstance(result, np.ndarray) else "a NumPy number"
    if isinstance(result, Tensor) and as_tensor(result) is None:
        return f"a tensor of layout {result.layout} on device {result.device}"
    name = type(result).__name__
    return ("an " if name[0].lower() in "aeiou" else "a ") + name


def text_of(error: BaseException) -> str:
    try:
        return str(error)
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


REMEDIES = (  # what to add to an exception; the pattern is sought in "Type: text; line"
    (r"^RecursionError", "Does the function call itself?"),
    (r"^SystemExit", "A function ends with return."),
    (r"^MemoryError|bytes are more", "What is so large there? The inputs have few numbers."),
    (
        r"return_types",
        "`max` with dim, like sort and topk, returns values and positions: take `.values`, or use `amax`.",
    ),
    (r"builtin_function_or_method|'method'|'function'", "A function stands where its result is meant: add ()."),
    (r"norm\(\) got an unexpected keyword", "torch's norm along an axis is torch.linalg.vector_norm(x, dim=…)."),
    (
        r"^TypeError.*(\bnp\.|numpy)",
        "NumPy and torch are mixed. The inputs are tensors: use torch.sum, torch.sqrt and the like.",
    ),
    (
        r"operand type.*'(ReLU|GELU|Linear|LayerNorm|Softmax)'",
        "The layer is made in that call, and has to be called on a tensor: nn.ReLU()(x), or torch.relu(x).",
    ),
    (r"only one element tensors.*;.*\bmath\.", "math's functions take one number; torch.sin, torch.sqrt, … a tensor."),
    (
        r"Boolean value of Tensor.*;.*(?<![.\w])(max|min)\(",
        "Python's max and min compare whole tensors. Entry by entry: torch.maximum, or clamp(min=…).",
    ),
    (r"mixed dtype.*;.*nn\.", "The layer has parameters of its own, in float32: does it use those that are given?"),
    (r"unpack.*;.*=.*\)$", "What is called there returns one tensor, not one for each name on the left."),
    (r"ints, ?but got float|'float' object cannot be interpreted", "`/` always gives a float. A size is whole: `//`."),
    (r"Boolean value of Tensor.*;.*einsum\((?![\"'])", "einsum takes its string first, then the tensors in its order."),
    (
        r"Boolean value of Tensor",
        "`and`, `or` and `a < b < c` ask for a single truth. Join comparisons of tensors with &, each in brackets.",
    ),
    (
        r"subscripts in the equation",
        "einsum takes one letter for each axis; `...` stands for any number of axes, as in `...ne`.",
    ),
    (r"math domain error|nonnegative", "That is the root (or logarithm) of a negative number."),
    (
        r"expected scalar type|same dtype.*;.*\.float\(\)",
        "Two precisions meet; .float() always gives float32. `.to({first}.dtype)` gives what the input has.",
    ),
    (
        r"^(RuntimeError|NotImplementedError).*(dtype|not implemented for ')",
        "Which tensor did you make yourself? torch.zeros and torch.tensor take dtype=….",
    ),
    (
        r"unpack.*;.*(shape|size)|tuple index.*;.*(shape|size)|must be a (3D tensor|matrix)|permute.*of dimensions",
        "The number of axes varies. Count axes from the end, as in x.shape[-1] and x.mT; @ takes any number of them.",
    ),
    (r"unpack.*;.*\bfor .* in [^(]*$", "`for a, b in …` takes one pair at a time: zip(x, y) makes pairs of two lists."),
    (
        r"unsupported operand.*'list'|unhashable type: 'set'",
        "The argument is a list, with one set a sentence: go through the lists together, with zip.",
    ),
    (r"'set' and 'set'", "Sets cannot be added. & is what both have, | what either has; len counts."),
    (
        r"__init__\(\) takes 1 positional.*;.*nn\.",
        "That is a layer, made first and called then; torch.tanh is a function.",
    ),
    (r"^ZeroDivisionError", "What is empty or 0 there? The docstring says what is asked for in such a case."),
    (
        r"^IndexError: (list )?index.*out of.*;.*\[\d+\]|unpack",
        "The number of entries varies: what you write has to fit any, as a loop does, or @.",
    ),
)
BATCH_REMEDY = (
    "`.T` exchanges all the axes, and transpose(0, 1) the first two, the batch among them. Exchange the last two only: "
    "K.transpose(-2, -1)."
)
BATCH_REVERSED = re.compile(r"\.T\b|\.t\(\)|transpose\((0, 1|1, 0)\)")


# ---- findings: each takes the exercise, the learner's function and its wrong runs, and returns a message or None


def stopped(error: Stopped, function: Callable) -> str:
    """Where an answer was that took too long or too much memory."""
    line, loop = own_line(error, function), own_loop(error, function)
    place = f" in your line `{line}`" if line and line != loop else ""
    if not loop:
        return f"your function {text_of(error)}{place}."
    return f"your function {text_of(error)}{place}, in the loop `{loop}`. What ends this loop?"


def fresh_layer(exercise, function: Callable, wrong: list[Run]) -> str | None:
    """A layer of its own, with parameters made anew, while of those that were given nothing but the shape is read."""
    source = source_of(function)
    layer = re.search(r"\b(Multi[Hh]eadAttention|Linear|Bilinear|LayerNorm|RNN|RNNCell|GRU|GRUCell)\(", source)
    given = [name for name in wrong[0].arguments if name.startswith(("W", "U", "b_", "gamma", "beta"))]
    unused = [name for name in given if not re.search(rf"\b{name}\b(?!\.(shape|size))", source)]
    if layer is None or not unused:
        return None
    what = "draws matrices" if unused[0].startswith("W") else "has parameters"
    return f"{layer[1]} {what} of its own, and your function does not use the given ones, {listed(unused)}."


def crash(exercise, function: Callable, wrong: list[Run]) -> str | None:
    """The exception, the learner's own line, the shapes that went in and a question to go on with."""
    done = next((done for done in wrong if done.error is not None), None)
    if done is None:
        return None
    error = done.error
    if isinstance(error, TypeError) and own_frame(error, function) is None:
        return f"it cannot be called. Keep its first line as it was: def {exercise.name}({', '.join(done.arguments)}):"
    text = shorten((text_of(error).splitlines() or [""])[0].rstrip("."), 160)
    text = re.sub(r"^\[enforce fail.* allocate (\d+) bytes.*", r"\1 bytes are more than there is", text)
    for pattern, shapes in PRODUCTS_THAT_DO_NOT_FIT:
        text = pattern.sub(f"shapes {shapes} do not fit", text)
    line = own_line(error, function)
    message = type(error).__name__ + (f" in your line `{line}`" if line else "") + (f": {text}." if text else ".")
    message += f" The inputs were {describe_inputs(done.arguments)}."
    if type(error) is NameError:
        return f"{message} The function can use {its_arguments(done.arguments)}, and what you define or import."
    clue = f"{type(error).__name__}: {text}; {line}"
    remedy = next((remedy for pattern, remedy in REMEDIES if re.search(pattern, clue)), None)
    batches_only = all(has_batch(done.arguments) for done in wrong if done.error is not None)
    if remedy is None and isinstance(error, RuntimeError) and batches_only:
        remedy = BATCH_REMEDY if BATCH_REVERSED.search(source_of(function)) else None
    if remedy is None and isinstance(error, (RuntimeError, IndexError, ValueError)) and A_SHAPE_PROBLEM.search(text):
        remedy = next((asked for pattern, asked in exercise.questions.items() if re.search(pattern, line)), None)
    return f"{message} {remedy.replace('{first}', first_floats(done.arguments))}" if remedy else message


def first_floats(arguments: dict[str, Any]) -> str:
    """The name of the first argument that is a tensor of floats."""
    floats = (name for name, value in arguments.items() if isinstance(value, Tensor) and value.is_floating_point())
    return next(floats, "x")


def has_batch(arguments: dict[str, Any]) -> bool:
    """Has the first tensor more than two axes? Later ones, such as one matrix per head, may where there is no batch."""
    return next((value.ndim > 2 for value in arguments.values() if isinstance(value, Tensor)), False)


def nothing_returned(exercise, function: Callable, wrong: list[Run]) -> str | None:
    if any(done.error is None and done.result is None for done in wrong):
        return "your function returns None. Did you forget the return?"
    return None


def wrong_shape(exercise, function: Callable, wrong: list[Run]) -> str | None:
    """The shape that came out, the one expected, and the named intermediate that has it."""
    misshapen = []
    for done in wrong:
        got = as_tensor(as_asked(done.result, done.want))
        want = None if isinstance(done.want, tuple) else as_tensor(done.want)
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
        if all(len(shape) > len(expected) for _, shape, expected in misshapen):
            return f"{message}: an axis of length 1 is left over."
        if all(sorted(shape) == sorted(expected) for _, shape, expected in misshapen):
            return f"{message}: the axes of length 1 are right in number, but stand in the wrong place."
    return message + "."


def wrong_type(exercise, function: Callable, wrong: list[Run]) -> str | None:
    for done in wrong:
        result, want = done.result, done.want
        asked = f"your function returns {describe_kind(result)}, expected {describe_want(want)}"
        if isinstance(result, torch.nn.Module):
            return f"your function returns a layer, {describe_kind(result)}, expected {describe_want(want)}."
        if callable(result):
            return "your function returns a function, not its result: did you forget the ()?"
        if isinstance(want, tuple):
            if not isinstance(result, tuple):
                return f"{asked}: round brackets, as in (3, 4)."
            if len(result) != len(want):
                return f"your tuple {shorten(repr(tuple(result)), 60)} has not the right number of axes."
            odd = next((part for part in result if type(part) is not int), None)
            if odd is not None:
                return f"your tuple holds {describe_kind(odd)}, but the length of an axis is an int."
        elif as_tensor(result) is None:
            return f"{asked}.{remedy_for_type(result, function)}"
        elif not same_kind(as_tensor(result).dtype, as_tensor(want).dtype):
            got, want = as_tensor(result), as_tensor(want)
            if want.dtype in FLOATS and got.dtype in INTEGERS and not same(got.to(want.dtype), want):
                _, yours, expected = furthest(got, want)
                cut = "Does int(…), round(…), // or max(0, …) cut something off?"
                return f"your function gives the integer {yours}, expected {expected}. {cut}"
            remedy = {torch.float32: " .float() converts.", torch.bool: " A comparison gives bool; .bool() converts."}
            return f"your numbers are {dtype_name(got)}, expected {dtype_name(want)}.{remedy.get(want.dtype, '')}"
    return None


def remedy_for_type(result: Any, function: Callable) -> str:
    if isinstance(result, (np.ndarray, np.generic)):
        return " Use torch's own functions all the way, or convert at the end with torch.tensor(…)."
    if isinstance(result, tuple) and any(isinstance(part, Tensor) for part in result):
        if not re.search(r"\b(sort|topk|max|min)\(", source_of(function)):
            return " It is one tensor that is asked for: which of the tuple, or torch.stack of all?"
        return " sort, topk, and max with dim return values and positions: take .values or .indices before you cut it."
    return " torch.tensor(…) or torch.stack(…) makes one." if isinstance(result, list) else ""


def not_finite(exercise, function: Callable, wrong: list[Run]) -> str | None:
    for done in wrong:
        got = as_tensor(done.result)
        if got is not None and not got.isfinite().all():
            message = f"your result contains {'NaN' if got.isnan().any() else 'infinity'}"
            message += f" for {describe_inputs(done.arguments)}."
            if not got.isnan().any():
                return f"{message} Is there a division by 0, a log of 0, or exp of a large number?"
            if holds_nan(done.arguments):
                return f"{message} 0 · NaN is NaN: what does not count is replaced, by masked_fill or torch.where."
            if "exp(" in source_of(function):
                return f"{message} exp(1000) is infinite, and inf / inf is NaN: subtract each row's maximum first."
            return f"{message} Is there 0/0, inf/inf, or a root or log of a negative?"
    return None


def changed_input(exercise, function: Callable, wrong: list[Run]) -> str | None:
    names = next((done.changed for done in wrong if done.changed), ())
    if not names:
        return None
    return (
        f"your function changes its input {listed(names)} in place, so the caller's changes too. "
        "Make a new one instead of *=, +=, &= or an assignment into it."
    )


def another_each_time(exercise, function: Callable, wrong: list[Run]) -> str | None:
    """Random numbers, such as dropout's: the same input does not give the same result again."""
    first, again = wrong[0].result, run(function, wrong[0].arguments, call=Isolation.current.call).result
    if not isinstance(first, Tensor) or not isinstance(again, Tensor) or unchanged(first, again):
        return None
    return (
        "your function gives another result each time for the same input: does it draw random numbers, as dropout does?"
    )


def constant(exercise, function: Callable, wrong: list[Run]) -> str | None:
    """The same result for different inputs."""
    first, *others = wrong
    if not others or not all(same(done.result, first.result) for done in others):
        return None
    return f"your function returns the same constants for all inputs. Use {its_arguments(first.arguments)}."


def small_number_added(exercise, function: Callable, wrong: list[Run]) -> str | None:
    added = re.search(r"\+ (1e-\d+|\w*eps\w*)", source_of(function))
    if added is None or isinstance(wrong[0].want, tuple) or "eps" in wrong[0].arguments:
        return None
    pairs = [(as_tensor(done.result).double(), as_tensor(done.want).double()) for done in wrong]
    if not all(torch.allclose(got, want, 0.01) for got, want in pairs):
        return None
    return (
        f"`{added[0]}` makes the result a little wrong (weights no longer sum to 1), and is not needed: "
        "no vector here is 0, and a sum of powers is at least 1 once the maximum is subtracted."
    )


def unread(function: Callable) -> list[str]:
    """The names of the arguments that the function never reads; none if its source cannot be found."""
    tree = tree_of(function)
    if tree is None:
        return []
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return [argument.arg for argument in tree.args.args if argument.arg not in read]


def unused_argument(exercise, function: Callable, wrong: list[Run]) -> str | None:
    """An argument that the function never reads, though the reference does."""
    unused = [f"`{name}`" for name in unread(function) if name not in unread(exercise.reference)]
    if not unused:
        return None
    return f"your function does not use {listed(unused)}: {furthest_entry(exercise, function, wrong)}"


def furthest(got: Tensor, want: Tensor) -> tuple[tuple[int, ...], str, str]:
    """Where two tensors differ most, and both entries in as many digits as it takes to see it."""
    place = np.unravel_index((got.double() - want.double()).abs().argmax().item(), want.shape)
    yours, expected = got[place].item(), want[place].item()
    if want.dtype == torch.bool:
        return place, str(yours), str(expected)
    digits = next((digits for digits in (4, 7) if f"{yours:.{digits}g}" != f"{expected:.{digits}g}"), 16)
    return place, f"{yours:.{digits}g}", f"{expected:.{digits}g}"


def furthest_entry(exercise, function: Callable, wrong: list[Run]) -> str | None:
    """The entry that differs most; of a wrong tuple only the place, for there the right number is the answer."""
    done = wrong[0]
    inputs = describe_inputs(done.arguments)
    if isinstance(done.want, tuple):
        place = next(i for i, (got, want) in enumerate(zip(done.result, done.want)) if got != want)
        yours = tuple(done.result)
        return f"for {inputs} the number at place {place} of your {yours} is not right (places count from 0)."
    want = as_tensor(done.want)
    place, yours, expected = furthest(as_tensor(done.result), want)
    entry = f"entry [{', '.join(str(i) for i in place)}] of your result" if want.ndim else "your result"
    return f"for {inputs} {entry} is {yours}, expected {expected}."


FINDINGS = (
    fresh_layer,
    crash,
    nothing_returned,
    wrong_shape,
    wrong_type,
    not_finite,
    changed_input,
    another_each_time,
    constant,
    small_number_added,
    unused_argument,
    furthest_entry,
)
