"""What the numbers of a wrong result say by themselves: how they differ from the right ones, where, and on which inputs."""

import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from ..case import Case
from ..catalogue.variants import LAST_STEPS
from ..compare import INTEGERS, as_tensor, furthest, holds_nan, same, unchanged
from ..example import small_example
from ..run.calls import Run, run
from ..run.sandbox import Sandbox
from ..search.nan import exponential_of_large, origin_of_nan
from ..syntax import unread
from ..verdict import Finding, in_a_row
from ..wording import describe_inputs
from .source import its_arguments

RANDOM = re.compile(r"rand|dropout|bernoulli|normal\b|normal_|multinomial|choice|sample|shuffle")


def not_finite_for_certain(case: Case) -> Finding | None:
    """NaN that comes of an exponential that is infinite."""
    got = as_tensor(case.first_wrong.result)
    is_nan = got is not None and bool(got.isnan().any())
    is_certain = is_nan and not holds_nan(case.first_wrong.arguments)
    is_certain = is_certain and exponential_of_large(case, case.first_wrong)
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
    if exponential_of_large(case, done):
        return Finding("values.exp_of_large")
    if origin := origin_of_nan(case, done):
        return Finding("values.origin", {"origin": origin})
    return Finding("values.row_of_infinity" if re.search(r"inf\b|finfo", case.source) else "values.why_nan")


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
    if RANDOM.search(case.source):
        return Finding("values.another_each_time")
    defaults = [*(case.function.__defaults__ or ()), *(getattr(case.function, "__kwdefaults__", None) or {}).values()]
    is_shared = any(isinstance(one, (dict, list, set)) for one in defaults)
    return Finding("values.mutable_default" if is_shared else "values.keeps_something")


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


def one_small_example(case: Case) -> Finding | None:
    """The smallest input on which the answer goes wrong, what it should give there, and what it gives."""
    draws = [done.arguments for done in case.runs]
    return small_example(case.reference, case.function, draws, Sandbox.current.call)


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
