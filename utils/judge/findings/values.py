"""What the numbers of a wrong result say by themselves: how they differ from the right ones, where, and on which inputs."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..case import Case
from ..catalogue.variants import CONSTANTS, LAST_STEPS
from ..compare import INTEGERS, as_tensor, furthest, holds_nan, same, unchanged
from ..run.calls import Run, copied, run
from ..run.sandbox import Sandbox
from ..search.nan import origin_of_nan
from ..syntax import unread
from ..verdict import Finding, in_a_row
from ..wording import describe_inputs
from .source import its_arguments

RANDOM = re.compile(r"rand|dropout|bernoulli|normal\b|normal_|multinomial|choice|sample|shuffle")


def not_finite_for_certain(case: Case) -> Finding | None:
    """NaN that comes of the exponential of large numbers, from which no maximum is subtracted."""
    got = as_tensor(case.first_wrong.result)
    is_nan = got is not None and bool(got.isnan().any())
    is_certain = is_nan and not holds_nan(case.first_wrong.arguments) and _lacks_the_maximum(case)
    return not_finite_result(case, case.first_wrong) if is_certain else None


def not_finite(case: Case) -> Finding | None:
    """NaN or infinity where numbers are asked for."""
    return not_finite_result(case, case.first_wrong)


def not_finite_result(case: Case, done: Run) -> Finding | None:
    """What is said of an input for which NaN or infinity comes out."""
    got, want = as_tensor(done.result), as_tensor(done.want)
    if got is None or want is None or got.isfinite().all() or not want.isfinite().all():
        return None
    kind = "values.nan" if got.isnan().any() else "values.infinity"
    return in_a_row(Finding(kind, {"inputs": describe_inputs(done.arguments)}), _why_not_finite(case, done, got))


def _why_not_finite(case: Case, done: Run, got: Tensor) -> Finding:
    if not got.isnan().any():
        return Finding("values.why_infinite")
    if holds_nan(done.arguments):
        return Finding("values.given_nan")
    if _lacks_the_maximum(case):
        return Finding("values.exp_of_large")
    if origin := origin_of_nan(case, done):
        return Finding("values.origin", {"origin": origin})
    return Finding("values.row_of_infinity" if re.search(r"inf\b|finfo", case.source) else "values.why_nan")


def _lacks_the_maximum(case: Case) -> bool:
    return "exp(" in case.source and not re.search(r"amax\(|max\([^)]", case.source)


def nothing_but_nan(case: Case) -> Finding | None:
    """On every input each number is NaN: nothing else can be seen."""
    results = [as_tensor(done.result) for done in case.runs if done.error is None]
    wanted = [as_tensor(done.want) for done in case.runs if done.error is None]
    if not all(want is not None and want.isfinite().any() for want in wanted):
        return None
    if not all(got is not None and got.numel() and got.isnan().all() for got in results):
        return None
    if origin := origin_of_nan(case, case.first_wrong):
        return in_a_row(Finding("values.all_nan"), Finding("values.origin", {"origin": origin}))
    return in_a_row(Finding("values.all_nan"), Finding("values.why_all_nan"))


def constant(case: Case) -> Finding | None:
    """The same result for different inputs."""
    first, *others = case.runs
    if not others or not all(done.error is None and same(done.result, first.result) for done in case.runs):
        return None
    if isinstance(first.result, str) and first.result in case.source and not isinstance(first.want, str):
        return Finding("values.text_in_quotes")
    reads = not set(first.arguments).intersection(unread(case.function))
    fields = {"arguments": its_arguments(first.arguments)}
    return Finding("values.same_for_all" if reads else "values.constants", fields)


def small_number_added(case: Case) -> Finding | None:
    added = re.search(r"\+ (1e-\d+|\w*eps\w*)|min=1e-\d+", case.source)
    if added is None or isinstance(case.first_wrong.want, tuple) or "eps" in case.first_wrong.arguments:
        return None
    numbers = list(results_as_numbers(case))
    if len(numbers) < len(case.wrong) or not all(torch.allclose(got, want, 0.01) for _, got, want in numbers):
        return None
    if any(want.ndim and bool((want == 0).all(-1).any()) for _, _, want in numbers):
        return Finding("values.small_number_for_empty_rows", {"piece": added[0]})
    return Finding("values.small_number_added", {"piece": added[0]})


def another_each_time(case: Case) -> Finding | None:
    """Random numbers, such as dropout's: the same input does not give the same result again."""
    want = case.first_wrong.want
    kind, is_again = (list, same) if isinstance(want, list) else (Tensor, unchanged)
    if kind is Tensor and as_tensor(want) is None:
        return None  # what is asked for is neither tensor nor list: that comes first
    first, tries = case.first_wrong.result, 8 if RANDOM.search(case.source) else 1  # who draws may draw the same once
    for _ in range(tries):
        again = run(case.function, case.first_wrong.arguments, want, Sandbox.current.call).result
        if not is_again(first, again):
            break
    if not isinstance(first, kind) or not isinstance(again, kind):
        return None
    if re.search(r"\b(new_)?empty(_like)?\(", case.source) and (_is_unset(first) or not is_again(first, again)):
        return Finding("values.empty")
    if is_again(first, again):
        return None
    if "nn.Embedding(" in case.source:
        return Finding("values.new_embedding")
    if layer := re.search(r"\bnn\.(Linear|Bilinear|Conv\dd|GRU|RNN|MultiheadAttention)\(", case.source):
        return Finding("values.new_layer", {"layer": layer[0]})
    return Finding("values.another_each_time")


def _is_unset(result: Any) -> bool:
    """Does it hold what `empty` leaves in the sandbox: NaN, or the largest whole number?"""
    if not isinstance(result, Tensor):
        return False
    if result.is_floating_point():
        return bool(result.isnan().any())
    return result.dtype in INTEGERS and bool((result == torch.iinfo(result.dtype).max).any())


def _first_difference(done: Run, kind: str) -> Finding:
    """How many parts a wrong string or list has, or the first of them that is wrong."""
    fields = {"inputs": describe_inputs(done.arguments), "got": len(done.result), "want": len(done.want)}
    if len(done.result) != len(done.want):
        return Finding(f"values.{'one' if len(done.result) == 1 else 'number'}_in_{kind}", fields)
    place = next(i for i, (got, want) in enumerate(zip(done.result, done.want)) if not same(got, want))
    fields |= {"place": place, "got": repr(done.result[place]), "want": repr(done.want[place])}
    return Finding(f"values.part_of_{kind}", fields)


def furthest_entry(case: Case) -> Finding:
    """The entry that differs most; of a wrong tuple only the place, for there the right number is the answer; of a
    wrong string or list its length, or the first part that is wrong."""
    done = case.first_wrong
    fields = {"inputs": describe_inputs(done.arguments)}
    if isinstance(done.want, (str, list)):
        return _first_difference(done, "string" if isinstance(done.want, str) else "list")
    if isinstance(done.want, tuple):
        place = next(i for i, (got, want) in enumerate(zip(done.result, done.want)) if got != want)
        return Finding("values.place_in_tuple", fields | {"place": place, "result": tuple(done.result)})
    want = as_tensor(done.want)
    place, yours, expected = furthest(as_tensor(done.result), want)
    fields |= {"got": yours, "want": expected, "place": ", ".join(map(str, place))}
    return Finding("values.entry" if want.ndim else "values.number", fields)


def results_as_numbers(case: Case) -> Iterator[tuple[Run, Tensor, Tensor]]:
    """The wrong inputs whose result has the right shape: result and wanted, as float64."""
    for done in case.wrong:
        got, want = done.tensors or (None, None)
        if want is not None and got.shape == want.shape and not got.is_complex() and want.numel():
            yield done, got.double(), want.double()


def last_step_missing(case: Case) -> Finding | None:
    """One more step would make every result right."""
    results = [done.tensors for done in case.wrong]
    if not all(results) or any(same(got, want) for got, want in results):
        return None
    if all(got.ndim > want.ndim and got.numel() == want.numel() for got, want in results):
        return None  # an axis of length 1 is left over: a sum over it adds nothing up
    for name, step, _ in LAST_STEPS:
        try:
            if all((after := step(got)) is not None and same(after, want) for got, want in results):
                return Finding(f"last_steps.{name}")
        except (RuntimeError, IndexError, TypeError):
            continue
    return None


def one_factor(case: Case) -> Finding | None:
    """All numbers of a result are wrong by the same factor, or by the same amount."""
    numbers = list(results_as_numbers(case))
    if len(numbers) < len(case.wrong) or any(want.abs().max() == 0 for _, _, want in numbers):
        return None
    if isinstance(case.first_wrong.want, Tensor) and case.first_wrong.want.dtype == torch.bool:
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
        texts = "every number that you return is {} too large.", "every number that you return is {} too small."
        return _named(case, amounts, *texts, False)
    return None


def _one_number(values: Tensor) -> float | None:
    """The number that all these are, up to rounding; None if they differ."""
    if not values.numel() or not values.isfinite().all():
        return None
    middle = values.median().item()
    return middle if torch.allclose(values, torch.full_like(values, middle), rtol=2e-3, atol=1e-4) else None


def _named(case: Case, found: list[tuple[Run, float]], more: str, less: str, times: bool) -> Finding | None:
    """The factor (or amount) by a name: a constant, or what the letters of the shapes are long."""
    values = [value for _, value in found]
    if any(math.isclose(value, 1 if times else 0, abs_tol=2e-3 if times else 1e-5) for value in values):
        return None  # a number beside the right one is no factor
    if times and not any(values):
        return Finding("values.said", {"said": "you return 0 everywhere."})
    if times and not all(values):
        return None
    for text, turned in ((more, values), (less, [1 / value if times else -value for value in values])):
        name = _measure(case, found, turned)
        if name:
            return Finding("values.said", {"said": text.format(name)})
        if max(turned) - min(turned) <= 2e-3 * abs(turned[0]) and turned[0] > (1 if times else 0):
            name = _constant(turned[0])
            if len(found) == 1 and not name:
                return None  # any single number is some factor of another
            name = name or f"{turned[0]:.4g}"
            return Finding("values.said", {"said": text.format(name)}) if name != "1" else None
    return _by_input(found, more, times)


def _measure(case: Case, found: list[tuple[Run, float]], values: list[float]) -> str | None:
    """The name of a measure that differs between the inputs, and is the value for each of them."""
    measures = [dict(_measures(case.sizes(done))) for done, _ in found] if len(found) > 1 else [{}]
    for name in measures[0]:
        lengths = [own.get(name) for own in measures]
        if len(set(lengths)) > 1 and all(
            length and math.isclose(length, value, rel_tol=2e-3) for length, value in zip(lengths, values)
        ):
            return name
    return None


def _constant(value: float) -> str | None:
    return next((name for name, known in CONSTANTS.items() if math.isclose(known, value, rel_tol=2e-3)), None)


def _by_input(found: list[tuple[Run, float]], more: str, times: bool) -> Finding | None:
    """One negative factor for all inputs; else, that it is one number for each input, with the first two."""
    values = [value for _, value in found]
    if len(found) == 1:
        return None
    if times and max(values) < 0 and math.isclose(values[0], values[-1], rel_tol=2e-3):
        return Finding("values.said", {"said": more.format(f"{values[0]:.4g}")})
    if any(as_tensor(done.want).numel() == 1 for done, _ in found):
        return None  # a single number is always wrong by one factor
    listed_values = ", ".join(f"{value:.3g} for {describe_inputs(done.arguments)}" for done, value in found[:2])
    kind = "factor" if times else "amount"
    return Finding(
        "values.said",
        {
            "said": f"all numbers of a result are wrong by the same {kind}, which changes with the input: {listed_values}."
        },
    )


def _measures(sizes: dict[str, int]) -> Iterator[tuple[str, float]]:
    """Lengths, their roots and squares, by name."""
    for name, size in sizes.items():
        yield name, float(size)
        yield f"√{name}", math.sqrt(abs(size))
        yield f"{name}²", float(size) ** 2
        yield f"{name} + 1", size + 1.0
        yield f"{name} - 1", size - 1.0
        yield f"2 · {name}", 2.0 * size
        for number in (2, 3, 4, 5, 8, 16, 64):
            yield f"√({name} / {number})", math.sqrt(abs(size / number))
            yield f"{name} / {number}", size / number
    for one in sizes:
        for other in sizes:
            if one < other:
                yield f"{one} · {other}", float(sizes[one] * sizes[other])
            if one != other and sizes[other]:
                yield f"{one} / {other}", sizes[one] / sizes[other]
                yield f"√({one} / {other})", math.sqrt(abs(sizes[one] / sizes[other]))


PLACES = (  # of a tensor's entries: which, and what to ask
    ("on the diagonal", lambda i: i[-1] == i[-2], 2, "Is each entry paired with itself, too?"),
    ("off the diagonal", lambda i: i[-1] != i[-2], 2, ""),
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


def wrong_in_one_place(case: Case) -> Finding | None:
    """All that is wrong lies in one part of the result, and fills most of it; outside, more than zeros is right."""
    numbers = list(results_as_numbers(case))
    if len(numbers) < len(case.wrong):
        return None
    several_rows = any(want.shape[-2:-1] > (1,) for _, _, want in numbers)  # a single one has no diagonal
    for name, part, axes, question in PLACES:
        if all(want.ndim >= axes for _, _, want in numbers) and (several_rows or axes < 2):
            parts = [torch.from_numpy(_everywhere(part, want)) for _, _, want in numbers]
            if _fill(numbers, parts, 0.6):
                by_loop = r"\b(for|while)\b" + ("" if "round" in question else "|:")
                asks = question and (not re.search("loop|round", question) or re.search(by_loop, case.source))
                asked = f" {question}" if asks else ""
                return Finding("values.said", {"said": f"right, except {name}.{asked} ({_entry(*numbers[0])})"})
    masks = (name for name, x in case.first_wrong.arguments.items() if isinstance(x, Tensor) and x.dtype == torch.bool)
    return next(filter(None, (_wrong_by_mask(name, numbers) for name in masks)), None)


def _everywhere(part: Callable, want: Tensor) -> np.ndarray:
    """A part of a tensor as a truth for each of its entries."""
    return np.broadcast_to(part(np.indices(tuple(want.shape))), tuple(want.shape)).copy()


def _fill(numbers: list[tuple[Run, Tensor, Tensor]], parts: list[Tensor], share: float) -> bool:
    """Does all that is wrong lie in the parts, and make up this share of them, and is some number outside not 0?"""
    wrong = [~torch.isclose(got, want, rtol=1e-3, atol=1e-5, equal_nan=True) for _, got, want in numbers]
    if not all(bad.any() and not (bad & ~part).any() for bad, part in zip(wrong, parts)):
        return False
    filled = sum(bad.sum() for bad in wrong) >= share * sum(part.sum() for part in parts)
    return bool(filled) and any(want[~part].any() for (_, _, want), part in zip(numbers, parts))


def _wrong_by_mask(name: str, numbers: list[tuple[Run, Tensor, Tensor]]) -> Finding | None:
    """Is everything wrong where a mask is False, or everything in rows that hold nothing True?"""
    try:
        masks = [done.arguments[name].expand(want.shape) for done, _, want in numbers]
    except (RuntimeError, AttributeError):
        return None
    empty = [~mask.any(-1, keepdim=True).expand(mask.shape) for mask in masks]
    places = {f"in rows where {name} is False everywhere": empty, f"where {name} is False": [~mask for mask in masks]}
    places[f"where {name} is True"] = masks
    found = next((place for place, parts in places.items() if _fill(numbers, parts, 0)), None)
    return Finding("values.said", {"said": f"right, except {found}. ({_entry(*numbers[0])})"}) if found else None


def _entry(done: Run, got: Tensor, want: Tensor) -> str:
    place, yours, expected = furthest(got, want)
    where = f" at [{', '.join(map(str, place))}]" if want.ndim else ""
    return f"For {describe_inputs(done.arguments)} there is {yours}{where} in place of {expected}."


CONDITIONS = (  # of the arguments: in words, and as a test of one input
    ("the inputs are float64", lambda a: any(x.dtype == torch.float64 for x in _filled_tensors(a))),
    ("the inputs hold NaN", lambda a: any(x.isnan().any() for x in _filled_tensors(a))),
    ("the inputs hold -∞", lambda a: any(x.isneginf().any() for x in _filled_tensors(a))),
    ("there is a batch", lambda a: any(x.ndim > 2 for x in _filled_tensors(a))),
    ("there is no batch", lambda a: not any(x.ndim > 2 for x in _filled_tensors(a))),
    ("there are axes for batch and heads", lambda a: any(x.ndim > 3 for x in _filled_tensors(a))),
    ("there is a single vector", lambda a: _filled_tensors(a)[0].ndim == 1),
    ("there are several rows", lambda a: _filled_tensors(a)[0].ndim > 1),
    ("an axis has the length 1", lambda a: any(1 in x.shape for x in _filled_tensors(a))),
    ("a row of the mask is False everywhere", lambda a: any(x.dtype == torch.bool and not x.any(-1).all() for x in _filled_tensors(a))),
    ("numbers are large", lambda a: any(x.is_floating_point() and x.nan_to_num(0, 0, 0).abs().max() > 50 for x in _filled_tensors(a))),
    ("numbers are negative", lambda a: any((x < 0).any() for x in _filled_tensors(a))),
    ("something is None", lambda a: any(x is None for x in a)),
    ("nothing is None", lambda a: not any(x is None for x in a)),
    ("a list is empty or holds an empty set", lambda a: any(not x or not all(map(_filled, x)) for x in a if isinstance(x, list))),
    ("there are several sentences", lambda a: any(len(x) > 1 and isinstance(x[0], set) for x in a if isinstance(x, list))),
    ("the last axis of the first argument is odd", lambda a: _filled_tensors(a)[0].shape[-1] % 2 == 1),
)  # fmt: skip


def _filled_tensors(values: list) -> list[Tensor]:
    return [value for value in values if isinstance(value, Tensor) and value.numel()]


def _filled(part: Any) -> bool:
    return not hasattr(part, "__len__") or len(part) > 0


def condition(case: Case) -> str | None:
    """What the wrong inputs have in common, and the right ones have not."""
    right = [done for done in case.runs if done not in case.wrong]
    if len(right) < len(case.wrong):
        return None
    for words, holds in (*CONDITIONS, *_conditions_of_sizes(case)):
        if words == "the inputs are float64" and not _by_precision(case):
            continue
        try:
            if all(holds(list(done.arguments.values())) for done in case.wrong):
                if not any(holds(list(done.arguments.values())) for done in right):
                    return words
        except (RuntimeError, TypeError, IndexError, KeyError):
            continue
    return None


def _by_precision(case: Case) -> bool:
    """Are the wrong inputs right as soon as their floats are float32? Their numbers could be the reason as well."""
    for done in case.wrong:
        given = {
            name: value.float() if isinstance(value, Tensor) and value.is_floating_point() else copied(value)
            for name, value in done.arguments.items()
        }
        again = run(case.function, given, case.reference(*map(copied, given.values())), Sandbox.current.call)
        if not again.right:
            return False
    return True


def _conditions_of_sizes(case: Case) -> Iterator[tuple[str, Callable]]:
    """Truth values as arguments; lengths that are 1, or not alike."""
    names = list(case.first_wrong.arguments)
    for i, (name, value) in enumerate(case.first_wrong.arguments.items()):
        if isinstance(value, bool):
            yield f"{name} is {value}", lambda a, i=i, value=value: a[i] is value

    def sizes(a):
        return case.sizes(Run(dict(zip(names, a)), None))

    letters = list(case.sizes(case.first_wrong))
    for one in letters:
        yield f"{one} is 1", lambda a, one=one: sizes(a)[one] == 1
        yield f"{one} is more than 1", lambda a, one=one: sizes(a)[one] > 1
        yield f"{one} is odd", lambda a, one=one: sizes(a)[one] % 2 == 1
        for other in letters:
            if one != other:
                yield f"{one} is larger than {other}", lambda a, one=one, other=other: sizes(a)[one] > sizes(a)[other]
                yield f"{one} and {other} differ", lambda a, one=one, other=other: sizes(a)[one] != sizes(a)[other]


def right_but_for_some_inputs(case: Case) -> Finding | None:
    words = condition(case)
    if words is None or isinstance(case.first_wrong.want, tuple):
        return None
    numbers = next(results_as_numbers(case), None)
    return Finding(
        "values.said", {"said": f"right, except where {words}." + (f" {_entry(*numbers)}" if numbers else "")}
    )
