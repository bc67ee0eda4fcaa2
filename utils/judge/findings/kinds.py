"""Results of another kind: nothing, a tuple, a list, another dtype."""

import functools
import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..case import Case
from ..catalogue.candidates import two_things
from ..catalogue.variants import OF_RESULTS
from ..compare import FLOATS, INTEGERS, as_tensor, furthest, same, same_kind
from ..run.calls import Run
from ..verdict import Finding, in_a_row
from ..wording import describe_inputs, describe_kind, describe_want, dtype_name, shorten


def nothing_returned(case: Case) -> Finding | None:
    """None comes out."""
    if case.first_wrong.result is not None:
        return None
    if any(done.result is not None for done in case.runs):
        return Finding("kinds.returns_none", {"inputs": describe_inputs(case.first_wrong.arguments)})
    return Finding("kinds.nothing_returned")


def positions(case: Case) -> Finding | None:
    """Whole numbers, as argmax gives them, where others are asked for."""
    got, want = as_tensor(case.first_wrong.result), as_tensor(case.first_wrong.want)
    name = re.search(r"\b(argmax|argmin|argsort|indices)\b", case.source)
    if got is None or want is None or name is None or got.dtype not in INTEGERS or want.dtype not in FLOATS:
        return None
    return Finding("kinds.positions", {"function": name[0]})


def wrong_type(case: Case) -> Finding | None:
    """A result of another kind than the one that is asked for."""
    return kind_difference(case)


@functools.lru_cache(1)  # it is asked for several times of each case
def kind_difference(case: Case) -> Finding | None:
    """How a result differs in kind from what is asked for: no tensor, a tuple, another dtype."""
    result, want = case.first_wrong.result, case.first_wrong.want
    fields = {"got": describe_kind(result), "want": describe_want(want)}
    if isinstance(result, torch.nn.Module):
        return Finding("kinds.layer", fields)
    if callable(result):
        return Finding("kinds.function")
    if isinstance(want, tuple):
        return _difference_from_tuple(case, fields)
    if isinstance(want, str):
        return None if isinstance(result, str) else Finding(f"kinds.{_joining(case)}", fields)
    if isinstance(want, list):
        return None if isinstance(result, list) else Finding("kinds.other", fields)
    got = as_tensor(result)
    if got is None:
        return in_a_row(Finding("kinds.other", fields), _of_its_parts(case) or _remedy_for_kind(result, case.source))
    if same_kind(got.dtype, as_tensor(want).dtype) or type(result) is int:
        return None
    return _difference_of_dtype(case, got, as_tensor(want))


def _difference_from_tuple(case: Case, fields: dict[str, str]) -> Finding | None:
    """What is wrong with a result in place of a tuple, of tensors or of the lengths of axes."""
    result, want = case.first_wrong.result, case.first_wrong.want
    tensors = isinstance(want[0], Tensor)
    if tensors and (alone := _one_of_several(case)):
        return alone
    if not tensors and all(isinstance(done.result, Tensor) and done.result.shape == done.want for done in case.runs):
        return Finding("kinds.tensor_of_that_shape", fields)
    if not isinstance(result, tuple):
        return Finding("kinds.no_tuple_of_tensors" if tensors else "kinds.no_tuple_of_numbers", fields)
    if len(result) != len(want):
        key = "kinds.number_of_results" if tensors else "kinds.number_of_axes"
        return Finding(key, {"got": len(result), "want": len(want), "result": shorten(repr(tuple(result)), 60)})
    odd = next((part for part in result if type(part) is not int), None)
    if tensors or odd is None:
        return None
    is_quotient = isinstance(odd, float) and "/" in case.source.replace("//", "")
    return Finding("kinds.quotient_in_tuple" if is_quotient else "kinds.no_int_in_tuple", {"got": describe_kind(odd)})


def _difference_of_dtype(case: Case, got: Tensor, want: Tensor) -> Finding:
    is_cut = want.dtype in FLOATS and got.dtype in INTEGERS and got.shape == want.shape
    if is_cut and not same(got.to(want.dtype), want):
        _, yours, expected = furthest(got, want)
        return Finding("kinds.integer_instead_of_float", {"got": yours, "want": expected})
    fields = {"got": dtype_name(got), "want": dtype_name(want)}
    is_whole = want.dtype in INTEGERS and got.dtype in FLOATS
    if is_whole and (got.shape != want.shape or not same(got.round().long(), want)):
        return Finding("kinds.float_instead_of_integer", fields)
    named = {torch.float32: "kinds.dtype_not_float32", torch.bool: "kinds.dtype_not_bool"}
    said = Finding(named.get(want.dtype, "kinds.dtype"), fields)
    besides = _besides_its_dtype(case, want.dtype)
    return two_things(said, besides) if besides else said


def _besides_its_dtype(case: Case, dtype: torch.dtype) -> Finding | None:
    """What is known of the answer's numbers once they are converted; None where they are right then, too."""
    converted = []
    for done in case.runs:
        got = as_tensor(done.result) if done.error is None else None
        if got is None:
            return None
        converted.append(replace(done, result=got.to(dtype)))
    found = case.known.explain(converted, ("rows",), case.source)
    return found.finding() if found else None


def _joining(case: Case) -> str:
    """The sentence on a list in place of a string, of which joining would make the right one, or "other"."""
    for between, key in ((" ", "words_to_join"), ("", "letters_to_join")):
        lists = all(isinstance(done.result, list | tuple) for done in case.runs)
        if lists and all(between.join(map(str, done.result)) == done.want for done in case.runs):
            return key
    return "other"


def _of_its_parts(case: Case) -> Finding | None:
    """Of a tuple or list in place of one result: is that one of its parts, or what they make together?"""
    results = [done.result for done in case.runs]
    if not all(type(one) in (tuple, list) and 0 < len(one) < 9 for one in results):
        return None
    for i in range(min(map(len, results))):
        if all(same(done.result[i], done.want) for done in case.runs):
            return Finding("kinds.one_of_its_parts", {"place": i + 1})
    if all(_is_joined(done) for done in case.runs):
        return Finding("kinds.parts_to_join")
    return Finding("kinds.parts_to_add") if all(_is_sum(done) for done in case.runs) else None


def _is_joined(done: Run) -> bool:
    if not all(isinstance(part, Tensor) and part.ndim for part in done.result):
        return False
    try:
        return any(same(torch.cat(list(done.result), dim), done.want) for dim in range(-done.result[0].ndim, 0))
    except (RuntimeError, IndexError):
        return False


def _is_sum(done: Run) -> bool:
    try:
        return same(sum(done.result), done.want)
    except (RuntimeError, TypeError):
        return False


def _one_of_several(case: Case) -> Finding | None:
    """Of several results that are asked for, one alone."""
    number = len(case.first_wrong.want)
    for i in range(number):
        if all(same(done.result, done.want[i]) for done in case.runs):
            return Finding("kinds.one_result_of_several", {"place": i + 1, "number": number})
    return None


def _remedy_for_kind(result: Any, source: str) -> Finding | None:
    if isinstance(result, (np.ndarray, np.generic)):
        return Finding("kinds.numpy")
    if isinstance(result, tuple) and any(isinstance(part, Tensor) for part in result):
        is_pair = re.search(r"\b(sort|topk|max|min)\(", source)
        return Finding("kinds.values_and_positions" if is_pair else "kinds.tuple_of_tensors")
    return Finding("kinds.list") if isinstance(result, list) else None


def another_order(case: Case) -> Finding | None:
    """The right results, except for their order."""
    if not isinstance(case.first_wrong.want, tuple) or not isinstance(case.first_wrong.want[0], Tensor):
        return None
    number = len(case.first_wrong.want)
    for order in itertools.permutations(range(number)):
        if order != tuple(range(number))[::-1] and all(
            isinstance(done.result, tuple)
            and len(done.result) == number
            and same(tuple(done.result[i] for i in order), done.want)
            for done in case.runs
            if done.error is None
        ):
            return Finding("kinds.another_order")
    return None


def changed_at_the_end(case: Case) -> Finding | None:
    """The right result, and a step too many (variants.py)."""
    for variant in OF_RESULTS:
        try:
            if all(
                same(done.result, after := variant.after(done.want)) and same_kind(after.dtype, done.want.dtype)
                for done in case.runs
            ):
                return replace(variant.said, names=())
        except Exception:  # it makes no sense for such a tensor
            continue
    return None
