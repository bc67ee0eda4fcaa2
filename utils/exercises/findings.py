"""What is said of a wrong answer: the first of `FINDINGS` that applies speaks.

A finding takes a `Case` and returns a sentence or None. It declares what it needs and is asked only where that is
there: the answer's `source`, the first wrong input's `result`, or the `exception` that it raised. All but the known
mistakes look at the first wrong input first: later ones may go wrong for its reason.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from . import reading
from .isolation import Isolation
from .known import Known
from .remedies import A_SHAPE_PROBLEM, BATCH_REMEDY, BATCH_REVERSED, BROADCAST, PRODUCTS, REMEDIES
from .running import FLOATS, INTEGERS, Run, as_asked, as_tensor, holds_nan, run, same, same_kind, unchanged
from .variants import CONSTANTS, LAST_STEPS
from .wording import (
    describe_inputs,
    describe_kind,
    describe_shape,
    describe_want,
    dtype_name,
    letters_of,
    listed,
    own_frame,
    own_line,
    shorten,
    text_of,
)


@dataclass(eq=False)
class Case:
    """A wrong answer: the reference, what is asked and known of the exercise, and how the answer did on the inputs."""

    reference: Callable
    function: Callable
    runs: list[Run]
    known: Known
    intermediates: dict[str, Callable] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    named: tuple[str, ...] = ()  # the known mistakes that were found

    @cached_property
    def wrong(self) -> list[Run]:
        return [done for done in self.runs if not done.right or done.changed]

    @property
    def first(self) -> Run:
        return self.wrong[0]

    @cached_property
    def source(self) -> str:
        return reading.source_of(self.function)

    @cached_property
    def letters(self) -> dict[str, tuple[str, ...]]:
        return letters_of(self.reference)

    def sizes(self, done: Run) -> dict[str, int]:
        """How long each letter of the docstring is in this input; whole numbers by their own names."""
        sizes = {}
        for name, value in done.arguments.items():
            if type(value) is int:
                sizes[name] = value
            elif isinstance(value, Tensor):
                sizes |= dict(zip(self.letters.get(name, ())[::-1], value.shape[::-1]))
        return {name: size for name, size in sizes.items() if name not in ("…", "...", "1")}


def needs(what: str) -> Callable:
    def mark(finding: Callable) -> Callable:
        finding.needs = what
        return finding

    return mark


def applies(finding: Callable, case: Case) -> bool:
    """Is there what the finding needs?"""
    there = {"source": bool(case.source), "exception": case.first.error is not None, "": True}
    there["result"] = not there["exception"]
    return there[getattr(finding, "needs", "")]


def diagnosis(case: Case) -> str:
    """The first sentence that applies; whoever is right on some inputs learns on which not."""
    for finding in FINDINGS:
        if applies(finding, case) and (message := finding(case)):
            return message
    raise AssertionError("the last finding always speaks")


# ---- known mistakes


def known_mistake(case: Case) -> str | None:
    return _explained(case, case.runs, "rows")


def two_mistakes(case: Case) -> str | None:
    return _explained(case, case.runs, "pairs", "variants", "mixed")


def known_in_one_branch(case: Case) -> str | None:
    """Where an argument is a switch, True or False: each branch may be wrong in its own way."""
    for name in [name for name, value in case.runs[0].arguments.items() if isinstance(value, bool)]:
        for value in (True, False):
            runs = [done for done in case.runs if done.arguments[name] is value]
            if len(runs) > 1 and not all(done.right for done in runs):
                branch = f"{name}={value}"
                if message := _explained(case, runs, "rows", "pairs"):
                    return message if branch in message else f"with {branch}: {message}"
    return None


def known_where_it_runs(case: Case) -> str | None:
    """The inputs without an exception, of which several are wrong; or those whose numbers are finite."""
    for runs in (
        [done for done in case.runs if done.error is None],
        [done for done in case.runs if done.error is None and not holds_nan({"": as_tensor(done.result)})],
    ):
        if len(runs) < len(case.runs) and sum(not done.right for done in runs) > 1:
            if message := _explained(case, runs, "rows", "pairs", "variants", "mixed"):
                return message
    return None


def _explained(case: Case, runs: list[Run], *stages: str) -> str | None:
    candidate = case.known.explain(runs, stages)
    if candidate is None:
        return None
    case.named = candidate.names
    return candidate.sentence()


# ---- exceptions


@needs("exception")
def crash(case: Case, done: Run | None = None) -> str | None:
    """What the exception means, the learner's own line, the shapes that went in and a question to go on with."""
    done = done or case.first
    error = done.error
    if isinstance(error, TypeError) and own_frame(error, case.function) is None:
        given = ", ".join(done.arguments)
        return f"it cannot be called. Keep its first line as it was: def {case.reference.__name__}({given}):"
    text = shorten((text_of(error).splitlines() or [""])[0].rstrip("."), 160)
    kind, line, inputs = type(error).__name__, own_line(error, case.function), describe_inputs(done.arguments)
    if kind == "NameError" and (name := re.search(r"name '(\w+)'", text)):
        used = reading.its_arguments(done.arguments)
        return f"'{name[1]}' is not defined (in your line `{line}`). The function can use {used}, and what you define or import."
    meaning = " ".join(
        filter(None, (_shapes_that_meet(text, case, done), _remedy(case, done, f"{kind}: {text}", line)))
    )
    place = f"in your line `{line}`" if line else ""
    if meaning:
        return f"{meaning} ({place + ': ' if place else ''}{kind}: {text}. The inputs were {inputs}.)"
    return f"{' '.join(filter(None, (kind, place)))}{': ' + text if text else ''}. The inputs were {inputs}."


def _shapes_that_meet(text: str, case: Case, done: Run) -> str | None:
    """What torch's words about two shapes mean."""
    for pattern in PRODUCTS:
        if found := re.search(pattern, text):
            left, right = (
                f"({shape.replace('x', ', ')}{'' if 'x' in shape or ',' in shape else ','})" for shape in found.groups()
            )
            return f"shapes {left} and {right} do not fit: a product adds up over one axis that both share."
    if found := re.search(BROADCAST, text):
        one, other = (_with_letter(int(size), case.sizes(done)) for size in found.groups())
        return f"axes of length {one} and {other} meet: paired up from the end, two axes have to be equally long, or one of them 1."
    return None


def _with_letter(size: int, sizes: dict[str, int]) -> str:
    letters = [name for name, length in sizes.items() if length == size]
    return f"{size} ({letters[0]})" if len(letters) == 1 else str(size)


def _remedy(case: Case, done: Run, clue: str, line: str) -> str | None:
    remedy = next(
        (remedy.text for remedy in REMEDIES if re.search(remedy.error, clue) and re.search(remedy.line, line)), None
    )
    if (
        remedy is None
        and "RuntimeError" in clue
        and has_batch(case.first.arguments)
        and BATCH_REVERSED.search(case.source)
    ):
        remedy = BATCH_REMEDY
    if re.match(r"RuntimeError|IndexError|ValueError", clue) and A_SHAPE_PROBLEM.search(clue):
        asked = next((text for pattern, text in case.questions.items() if text and re.search(pattern, line)), None)
        remedy = " ".join(filter(None, (remedy, asked)))
    return remedy.replace("{first}", first_floats(done.arguments)) if remedy else None


def first_floats(arguments: dict[str, Any]) -> str:
    """The name of the first argument that is a tensor of floats."""
    floats = (name for name, value in arguments.items() if isinstance(value, Tensor) and value.is_floating_point())
    return next(floats, "x")


def has_batch(arguments: dict[str, Any]) -> bool:
    """Has the first tensor more than two axes? Later ones, such as one matrix per head, may where there is no batch."""
    return next((value.ndim > 2 for value in arguments.values() if isinstance(value, Tensor)), False)


# ---- results of another kind or shape


@needs("source")
def fresh_layer(case: Case) -> str | None:
    """A layer of its own, with parameters made anew, while of those that were given nothing but the shape is read."""
    layer = re.search(r"\b(Multi[Hh]eadAttention|Linear|Bilinear|LayerNorm|RNN|RNNCell|GRU|GRUCell)\(", case.source)
    given = [name for name in case.first.arguments if name.startswith(("W", "U", "b_", "gamma", "beta"))]
    unused = [name for name in given if not re.search(rf"\b{name}\b(?!\.(shape|size))", case.source)]
    if layer is None or not unused:
        return None
    what = "draws matrices" if unused[0].startswith("W") else "has parameters"
    return f"{layer[1]} {what} of its own, and your function does not use the given ones, {listed(unused)}."


@needs("result")
def nothing_returned(case: Case) -> str | None:
    return "your function returns None. Did you forget the return?" if case.first.result is None else None


@needs("result")
def wrong_shape(case: Case) -> str | None:
    """The shape that came out, the one expected, and the named intermediate that has it."""
    misshapen = []
    for done in case.wrong:
        got = as_tensor(as_asked(done.result, done.want)) if done.error is None else None
        want = None if isinstance(done.want, tuple) else as_tensor(done.want)
        if got is not None and want is not None and got.shape != want.shape:
            misshapen.append((done, got.shape, want.shape))
    if not misshapen or misshapen[0][0] is not case.first:
        return None
    done, got, want = misshapen[0]
    sizes = (
        f"(For {describe_inputs(done.arguments)} it has {describe_shape(got)}; asked for is {describe_shape(want)}.)"
    )
    for label, intermediate in case.intermediates.items():
        if all(as_tensor(intermediate(*done.arguments.values())).shape == shape for done, shape, _ in misshapen):
            return f"your result has the shape of {label}{'' if label.endswith('?') else '.'} {sizes}"
    if all(shape.numel() == wanted.numel() and 1 in shape for _, shape, wanted in misshapen):
        if all(len(shape) > len(wanted) for _, shape, wanted in misshapen):
            return f"an axis of length 1 is left over: an index, or [..., 0], takes it away. {sizes}"
        if all(sorted(shape) == sorted(wanted) for _, shape, wanted in misshapen):
            return f"the axes of length 1 are right in number, but stand in the wrong place. {sizes}"
    return (
        f"{said} {sizes}"
        if (said := _how_shapes_differ(case, misshapen))
        else (
            f"for {describe_inputs(done.arguments)} your function gives {describe_shape(got)}, expected {describe_shape(want)}."
        )
    )


def _how_shapes_differ(case: Case, misshapen: list[tuple[Run, torch.Size, torch.Size]]) -> str | None:
    """What holds of all the shapes: an axis too few or too many, two that changed places, one that is too long."""
    pairs = [(list(got), list(want)) for _, got, want in misshapen]
    if all(sorted(got) == sorted(want) for got, want in pairs):
        return "the axes are the right ones, in the wrong order: transpose and permute exchange them."
    if all(not got and want for got, want in pairs):
        return "you return a single number: something adds up, or picks, too much. dim=… keeps the other axes."
    for k in range(-1, -5, -1):
        if all(len(want) >= -k and got == want[: len(want) + k] + want[len(want) + k + 1 :] for got, want in pairs):
            return f"axis {k} is missing: it has been added up, or indexed away."
        if all(len(got) >= -k and got[: len(got) + k] + got[len(got) + k + 1 :] == want for got, want in pairs):
            return f"axis {k} of your result is one too many: should it have been added up?"
        differ = [(got[k], want[k]) for got, want in pairs if len(got) == len(want) >= -k and got[:k] == want[:k]]
        if len(differ) == len(pairs) and all(
            got[len(got) + k + 1 :] == want[len(want) + k + 1 :] for got, want in pairs if len(got) == len(want)
        ):
            steps = {one - other for one, other in differ}
            if len(steps) == 1:
                step = steps.pop()
                return f"axis {k} is {abs(step)} too {'long' if step > 0 else 'short'}."
            letters = [
                {name for name, size in case.sizes(done).items() if size == got[k]} for done, got, _ in misshapen
            ]
            if common := sorted(set.intersection(*letters)):
                return f"axis {k} of your result has the length {common[0]}: is that the axis that is asked for there?"
    return None


@needs("result")
def wrong_type(case: Case) -> str | None:
    done = case.first
    result, want = done.result, done.want
    asked = f"your function returns {describe_kind(result)}; asked for is {describe_want(want)}"
    if isinstance(result, torch.nn.Module):
        return f"your function returns a layer, {describe_kind(result)}, where {describe_want(want)} is asked for: call it on a tensor."
    if callable(result):
        return "your function returns a function, not its result: did you forget the ()?"
    if isinstance(want, tuple):
        if not isinstance(result, tuple):
            return f"{asked}: round brackets, as in (3, 4)."
        if len(result) != len(want):
            return (
                f"your tuple {shorten(repr(tuple(result)), 60)} has {len(result)} numbers; there are {len(want)} axes."
            )
        odd = next((part for part in result if type(part) is not int), None)
        return (
            f"your tuple holds {describe_kind(odd)}, but the length of an axis is an int." if odd is not None else None
        )
    got = as_tensor(result)
    if got is None:
        return f"{asked}.{remedy_for_type(result, case.source)}"
    if same_kind(got.dtype, as_tensor(want).dtype) or type(result) is int:
        return None
    want = as_tensor(want)
    if (
        want.dtype in FLOATS
        and got.dtype in INTEGERS
        and got.shape == want.shape
        and not same(got.to(want.dtype), want)
    ):
        _, yours, expected = furthest(got, want)
        return f"your function gives the integer {yours} where {expected} is right. Does int(…), round(…), // or max(0, …) cut something off?"
    remedy = {torch.float32: " .float() converts.", torch.bool: " A comparison gives bool; .bool() converts."}
    return f"your numbers are {dtype_name(got)}, asked for is {dtype_name(want)}.{remedy.get(want.dtype, '')}"


def remedy_for_type(result: Any, source: str) -> str:
    if isinstance(result, (np.ndarray, np.generic)):
        return " Use torch's own functions all the way, or convert at the end with torch.tensor(…)."
    if isinstance(result, tuple) and any(isinstance(part, Tensor) for part in result):
        if not re.search(r"\b(sort|topk|max|min)\(", source):
            return " It is one tensor that is asked for: which of the tuple, or torch.stack of all?"
        return " sort, topk, and max with dim return values and positions: take .values or .indices before you cut it."
    return " torch.tensor(…) or torch.stack(…) makes one." if isinstance(result, list) else ""


@needs("result")
def not_finite(case: Case) -> str | None:
    done, got = case.first, as_tensor(case.first.result)
    if got is None or got.isfinite().all() or not as_tensor(done.want).isfinite().all():
        return None
    message = (
        f"your result contains {'NaN' if got.isnan().any() else 'infinity'} for {describe_inputs(done.arguments)}."
    )
    if not got.isnan().any():
        return f"{message} Is there a division by 0, a log of 0, or exp of a large number?"
    if holds_nan(done.arguments):
        return f"{message} 0 · NaN is NaN: what does not count is replaced, by masked_fill or torch.where."
    if "exp(" in case.source:
        return f"{message} exp(1000) is infinite, and inf / inf is NaN: subtract each row's maximum first."
    if re.search(r"inf\b|finfo", case.source):
        return f"{message} A row of nothing but -∞ has no softmax, 0/0, and 0 · ∞ is NaN."
    return f"{message} Is there 0/0, inf/inf, or a root or log of a negative?"


def changed_input(case: Case) -> str | None:
    names = next((done.changed for done in case.wrong if done.changed), ())
    if not names:
        return None
    return (
        f"your function changes what it is given, {listed(names)}, in place, so the caller's tensor changes, too. "
        "Make a new one instead of *=, +=, &= or an assignment into it."
    )


@needs("result")
def another_each_time(case: Case) -> str | None:
    """Random numbers, such as dropout's: the same input does not give the same result again."""
    first, again = case.first.result, run(case.function, case.first.arguments, call=Isolation.current.call).result
    if not isinstance(first, Tensor) or not isinstance(again, Tensor) or unchanged(first, again):
        return None
    return (
        "your function gives another result each time for the same input: does it draw random numbers, as dropout does?"
    )


@needs("result")
def constant(case: Case) -> str | None:
    """The same result for different inputs."""
    first, *others = case.wrong
    if (
        len(case.wrong) < len(case.runs)
        or not others
        or not all(done.error is None and same(done.result, first.result) for done in others)
    ):
        return None
    return f"your function returns the same constants for all inputs. Use {reading.its_arguments(first.arguments)}."


@needs("result")
def small_number_added(case: Case) -> str | None:
    added = re.search(r"\+ (1e-\d+|\w*eps\w*)|min=1e-\d+", case.source)
    if added is None or isinstance(case.first.want, tuple) or "eps" in case.first.arguments:
        return None
    numbers = list(_numbers(case))
    if len(numbers) < len(case.wrong) or not all(torch.allclose(got, want, 0.01) for _, got, want in numbers):
        return None
    return f"`{added[0]}` makes the result a little wrong, and is not needed: nothing that is divided by can be 0 here."


# ---- what the numbers themselves say


def _numbers(case: Case) -> Iterator[tuple[Run, Tensor, Tensor]]:
    """The wrong inputs whose result has the right shape: result and wanted, as float64."""
    for done in case.wrong:
        got = as_tensor(as_asked(done.result, done.want)) if done.error is None else None
        want = None if isinstance(done.want, tuple) else as_tensor(done.want)
        if got is not None and want is not None and got.shape == want.shape and not got.is_complex() and want.numel():
            yield done, got.double(), want.double()


@needs("result")
def last_step_missing(case: Case) -> str | None:
    """One more step would make every result right."""
    results = [(as_tensor(as_asked(done.result, done.want)), done.want) for done in case.wrong if done.error is None]
    results = [(got, want) for got, want in results if got is not None and not isinstance(want, tuple)]
    if len(results) < len(case.wrong):
        return None
    for message, step in LAST_STEPS:
        try:
            if all((after := step(got)) is not None and same(after, want) for got, want in results):
                return message
        except (RuntimeError, IndexError, TypeError):
            continue
    return None


@needs("result")
def one_factor(case: Case) -> str | None:
    """All numbers of a result are wrong by the same factor, or by the same amount."""
    numbers = list(_numbers(case))
    if len(numbers) < len(case.wrong) or any(want.abs().max() == 0 for _, _, want in numbers):
        return None
    factors = [
        (done, _one_number(got[want != 0] / want[want != 0]))
        for done, got, want in numbers
        if same(got[want == 0], want[want == 0])
    ]
    if len(factors) == len(numbers) and all(factor is not None for _, factor in factors):
        return _named(
            case, factors, "you return {} times the right result.", "you return the right result divided by {}.", True
        )
    amounts = [(done, _one_number(got - want)) for done, got, want in numbers]
    if all(amount is not None for _, amount in amounts):
        return _named(
            case,
            amounts,
            "every number of your result is {} too large.",
            "every number of your result is {} too small.",
            False,
        )
    return None


def _one_number(values: Tensor) -> float | None:
    """The number that all these are, up to rounding; None if they differ."""
    if not values.numel() or not values.isfinite().all():
        return None
    middle = values.median().item()
    return middle if torch.allclose(values, torch.full_like(values, middle), rtol=2e-3, atol=1e-4) else None


def _named(case: Case, found: list[tuple[Run, float]], more: str, less: str, times: bool) -> str | None:
    """The factor (or amount) by a name: a constant, or what the letters of the shapes are long."""
    inverse = (lambda x: 1 / x) if times else (lambda x: -x)
    for text, turn in ((more, lambda x: x), (less, inverse)):
        if times and any(value == 0 for _, value in found):
            return "you return 0 everywhere."
        values = [turn(value) for _, value in found]
        if len(found) > 1:
            for name, size in _measures(case.sizes(found[0][0])):
                lengths = [dict(_measures(case.sizes(done))).get(name) for done, _ in found]
                if len(set(lengths)) > 1 and all(
                    length and math.isclose(length, value, rel_tol=2e-3) for length, value in zip(lengths, values)
                ):
                    return text.format(name)
        if max(values) - min(values) <= 2e-3 * abs(values[0]) and (values[0] > 1 or not times and values[0] > 0):
            name = next(
                (name for name, value in CONSTANTS.items() if math.isclose(value, values[0], rel_tol=2e-3)), None
            )
            return text.format(name or f"{values[0]:.4g}")
    if times and max(value for _, value in found) < 0 and math.isclose(found[0][1], found[-1][1], rel_tol=2e-3):
        return more.format(f"{found[0][1]:.4g}")
    listed_values = ", ".join(f"{value:.3g} for {describe_inputs(done.arguments)}" for done, value in found[:2])
    kind = "factor" if times else "amount"
    return f"all numbers of a result are wrong by the same {kind}, which changes with the input: {listed_values}."


def _measures(sizes: dict[str, int]) -> Iterator[tuple[str, float]]:
    """Lengths, their roots and squares, by name."""
    for name, size in sizes.items():
        yield name, float(size)
        yield f"√{name}", math.sqrt(abs(size))
        yield f"{name}²", float(size) ** 2
        yield f"{name} + 1", size + 1.0
        yield f"{name} - 1", size - 1.0
        yield f"2 · {name}", 2.0 * size
    for one in sizes:
        for other in sizes:
            if one < other:
                yield f"{one} · {other}", float(sizes[one] * sizes[other])
            if one != other and sizes[other]:
                yield f"{one} / {other}", sizes[one] / sizes[other]
                yield f"√({one} / {other})", math.sqrt(abs(sizes[one] / sizes[other]))


PLACES = (  # of a tensor's entries: which, and what to ask
    ("on the diagonal", lambda i: i[-1] == i[-2], 2, "Is each entry paired with itself, too?"),
    ("beside the diagonal", lambda i: i[-1] != i[-2], 2, ""),
    ("above the diagonal", lambda i: i[-1] > i[-2], 2, ""),
    ("below the diagonal", lambda i: i[-1] < i[-2], 2, ""),
    ("in the last row", lambda i: i[-2] == i[-2].max(), 2, "Does a loop or a slice end one too early?"),
    ("in the first row", lambda i: i[-2] == 0, 2, "Does a loop or a slice begin one too late?"),
    ("outside the first row", lambda i: i[-2] > 0, 2, "What stays as it was in the first round?"),
    ("in the last column", lambda i: i[-1] == i[-1].max(), 1, "Does a loop or a slice end one too early?"),
    ("in the first column", lambda i: i[-1] == 0, 1, "Does a loop or a slice begin one too late?"),
    ("in the odd columns", lambda i: i[-1] % 2 == 1, 1, ""),
    ("in the even columns", lambda i: i[-1] % 2 == 0, 1, ""),
    ("after the first entry of the batch", lambda i: i[0] > 0, 3, "Does each entry of the batch use its own numbers?"),
    ("in the first entry of the batch", lambda i: i[0] == 0, 3, ""),
)  # fmt: skip


@needs("result")
def wrong_in_one_place(case: Case) -> str | None:
    """All that is wrong lies in one part of the result."""
    numbers = list(_numbers(case))
    if len(numbers) < len(case.wrong):
        return None
    wrong = [~torch.isclose(got, want, rtol=1e-3, atol=1e-5, equal_nan=True) for _, got, want in numbers]
    for name, part, axes, question in PLACES:
        if all(want.ndim >= axes for _, _, want in numbers):
            parts = [part(np.indices(want.shape)) for _, _, want in numbers]
            parts = [
                torch.from_numpy(np.broadcast_to(there, tuple(want.shape)).copy())
                for there, (_, _, want) in zip(parts, numbers)
            ]
            if all(bad.any() and not (bad & ~there).any() for bad, there in zip(wrong, parts)) and sum(
                map(int, map(torch.sum, wrong))
            ) >= 0.6 * sum(map(int, map(torch.sum, parts))):
                if sum(int((~there).sum()) for there in parts):
                    done, got, want = numbers[0]
                    return f"right, except {name}. {question} ({_entry(done, got, want)})".replace(". (", ". (")
    for name, value in case.first.arguments.items():
        if (
            isinstance(value, Tensor)
            and value.dtype == torch.bool
            and (message := _wrong_by_mask(case, name, numbers, wrong))
        ):
            return message
    return None


def _wrong_by_mask(case: Case, name: str, numbers: list, wrong: list[Tensor]) -> str | None:
    """Is everything wrong where a mask is False, or everything in rows that hold nothing True?"""
    try:
        masks = [done.arguments[name].expand(want.shape) for done, _, want in numbers]
    except (RuntimeError, AttributeError):
        return None
    for place, parts in (
        (
            f"in rows where {name} is False everywhere",
            [~mask.any(-1, keepdim=True).expand(mask.shape) for mask in masks],
        ),
        (f"where {name} is False", [~mask for mask in masks]),
        (f"where {name} is True", masks),
    ):
        if all(not (bad & ~there).any() for bad, there in zip(wrong, parts)):
            done, got, want = numbers[0]
            return f"right, except {place}. ({_entry(done, got, want)})"
    return None


def _entry(done: Run, got: Tensor, want: Tensor) -> str:
    place, yours, expected = furthest(got, want)
    where = f" at [{', '.join(map(str, place))}]" if want.ndim else ""
    return f"For {describe_inputs(done.arguments)} there is {yours}{where} in place of {expected}."


CONDITIONS = (  # of the arguments: in words, and as a test of one input
    ("the inputs are float64", lambda a: any(isinstance(x, Tensor) and x.dtype == torch.float64 for x in a)),
    ("the inputs hold NaN", lambda a: any(isinstance(x, Tensor) and bool(x.isnan().any()) for x in a)),
    ("the inputs hold -∞", lambda a: any(isinstance(x, Tensor) and bool(x.isneginf().any()) for x in a)),
    ("there is a batch", lambda a: any(isinstance(x, Tensor) and x.ndim > 2 for x in a)),
    ("there is no batch", lambda a: not any(isinstance(x, Tensor) and x.ndim > 2 for x in a)),
    ("there are axes for batch and heads", lambda a: any(isinstance(x, Tensor) and x.ndim > 3 for x in a)),
    ("there is a single vector", lambda a: isinstance(a[0], Tensor) and a[0].ndim == 1),
    ("there are several rows", lambda a: isinstance(a[0], Tensor) and a[0].ndim > 1),
    ("an axis has the length 1", lambda a: any(isinstance(x, Tensor) and 1 in x.shape for x in a)),
    ("a row of the mask is False everywhere", lambda a: any(isinstance(x, Tensor) and x.dtype == torch.bool and not bool(x.any(-1).all()) for x in a)),
    ("numbers are large", lambda a: any(isinstance(x, Tensor) and x.is_floating_point() and x.numel() and bool(x.nan_to_num(0, 0, 0).abs().max() > 50) for x in a)),
    ("numbers are negative", lambda a: any(isinstance(x, Tensor) and bool((x < 0).any()) for x in a)),
    ("something is None", lambda a: any(x is None for x in a)),
    ("nothing is None", lambda a: not any(x is None for x in a)),
    ("a list is empty or holds an empty set", lambda a: any(isinstance(x, list) and (not x or not all(map(_filled, x))) for x in a)),
    ("there are several sentences", lambda a: any(isinstance(x, list) and len(x) > 1 for x in a)),
    ("the last axis of the first argument is odd", lambda a: isinstance(a[0], Tensor) and a[0].ndim > 0 and a[0].shape[-1] % 2 == 1),
)  # fmt: skip


def _filled(part: Any) -> bool:
    return not hasattr(part, "__len__") or len(part) > 0


def condition(case: Case) -> str | None:
    """What the wrong inputs have in common, and the right ones have not."""
    right = [done for done in case.runs if done not in case.wrong]
    if len(right) < len(case.wrong):
        return None
    for words, holds in (*CONDITIONS, *_conditions_of_sizes(case)):
        try:
            if all(holds(list(done.arguments.values())) for done in case.wrong):
                if not any(holds(list(done.arguments.values())) for done in right):
                    return words
        except (RuntimeError, TypeError, IndexError, KeyError):
            continue
    return None


def _conditions_of_sizes(case: Case) -> Iterator[tuple[str, Callable]]:
    """Truth values as arguments; lengths that are 1, or not alike."""
    names = list(case.first.arguments)
    for i, (name, value) in enumerate(case.first.arguments.items()):
        if isinstance(value, bool):
            yield f"{name} is {value}", lambda a, i=i, value=value: a[i] is value

    def sizes(a):
        return case.sizes(Run(dict(zip(names, a)), None))

    letters = list(case.sizes(case.first))
    for one in letters:
        yield f"{one} is 1", lambda a, one=one: sizes(a)[one] == 1
        yield f"{one} is more than 1", lambda a, one=one: sizes(a)[one] > 1
        yield f"{one} is odd", lambda a, one=one: sizes(a)[one] % 2 == 1
        for other in letters:
            if one != other:
                yield f"{one} is larger than {other}", lambda a, one=one, other=other: sizes(a)[one] > sizes(a)[other]
                yield f"{one} and {other} differ", lambda a, one=one, other=other: sizes(a)[one] != sizes(a)[other]


@needs("result")
def right_but_for_some_inputs(case: Case) -> str | None:
    words = condition(case)
    if words is None or isinstance(case.first.want, tuple):
        return None
    numbers = next(_numbers(case), None)
    return f"right, except where {words}." + (f" {_entry(*numbers)}" if numbers else "")


@needs("result")
def crash_elsewhere(case: Case) -> str | None:
    """Nothing is known of the first wrong number, but a later input raised something that has a meaning."""
    later = [done for done in case.wrong if done.error is not None]
    return crash(case, later[0]) if later else None


@needs("source")
def unused_argument(case: Case) -> str | None:
    """An argument that the function never reads, though the reference does."""
    unused = [f"`{name}`" for name in reading.unread(case.function) if name not in reading.unread(case.reference)]
    if not unused or case.first.error is not None:
        return None
    return f"your function does not use {listed(unused)}, and what is asked for depends on it."


def furthest(got: Tensor, want: Tensor) -> tuple[tuple[int, ...], str, str]:
    """Where two tensors differ most, and both entries in as many digits as it takes to see it."""
    distance = (got.double() - want.double()).abs().nan_to_num(math.inf)
    place = tuple(int(i) for i in np.unravel_index(distance.argmax().item(), tuple(want.shape)))
    yours, expected = got[place].item(), want[place].item()
    if want.dtype == torch.bool:
        return place, str(yours), str(expected)
    digits = next((digits for digits in (4, 7) if f"{yours:.{digits}g}" != f"{expected:.{digits}g}"), 16)
    return place, f"{yours:.{digits}g}", f"{expected:.{digits}g}"


def furthest_entry(case: Case) -> str:
    """The entry that differs most; of a wrong tuple only the place, for there the right number is the answer."""
    done = case.first
    inputs = describe_inputs(done.arguments)
    if isinstance(done.want, tuple):
        place = next(i for i, (got, want) in enumerate(zip(done.result, done.want)) if got != want)
        return (
            f"for {inputs} the number at place {place} of your {tuple(done.result)} is not right (places count from 0)."
        )
    want = as_tensor(done.want)
    place, yours, expected = furthest(as_tensor(done.result), want)
    entry = f"entry [{', '.join(str(i) for i in place)}] of your result" if want.ndim else "your result"
    return f"for {inputs} {entry} is {yours}, expected {expected}."


FINDINGS = (
    reading.parameters_exchanged,
    reading.outside_data,
    reading.return_in_loop,
    reading.slip,
    known_mistake,
    nothing_returned,
    changed_input,
    another_each_time,
    constant,
    small_number_added,
    two_mistakes,
    known_in_one_branch,
    known_where_it_runs,
    fresh_layer,
    crash,
    last_step_missing,
    wrong_shape,
    wrong_type,
    not_finite,
    one_factor,
    unused_argument,
    wrong_in_one_place,
    right_but_for_some_inputs,
    crash_elsewhere,
    furthest_entry,
)
