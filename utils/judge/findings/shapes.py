"""Results of another shape."""

import re

import torch
from torch import Size, Tensor

from ..case import Case
from ..compare import same
from ..facts import misshapen, step_of_same_shape
from ..run.calls import Run
from ..run.errors import own_line, text_of
from ..verdict import Finding, in_a_row
from ..wording import describe_inputs, describe_shape

FROM_THE_FRONT = re.compile(
    r"\b(transpose|permute|swapaxes|movedim)\(\d[^()]*\)|\b\w+\.(shape\[\d\]|size\(\d\))|\b(dim|axis)=\d"
)
Misshapen = list[tuple[Run, Size, Size]]


def shape_of_a_step(case: Case) -> Finding | None:
    """Where the shape alone tells which step of the reference came out."""
    if not (label := step_of_same_shape(case)):
        return None
    key = "shapes.of_a_step_and_question" if label.endswith("?") else "shapes.of_a_step"
    return in_a_row(Finding(key, {"step": label}), _sizes(misshapen(case)))


def axis_left_over(case: Case) -> Finding | None:
    """The right numbers, with axes of length 1 too many."""
    found = misshapen(case)
    if not _has_axes_of_length_1(found) or not all(len(shape) > len(wanted) for _, shape, wanted in found):
        return None
    return in_a_row(Finding("shapes.left_over"), _sizes(found))


def wrong_shape(case: Case) -> Finding | None:
    """The shape that came out, and the one expected."""
    if not (found := misshapen(case)):
        return None
    if _has_axes_of_length_1(found) and all(sorted(shape) == sorted(wanted) for _, shape, wanted in found):
        return in_a_row(Finding("shapes.ones_in_the_wrong_place"), _sizes(found))
    if said := _how_shapes_differ(case, found):
        return in_a_row(said, _sizes(found))
    done, got, want = found[0]
    fields = {"inputs": describe_inputs(done.arguments), "got": describe_shape(got), "want": describe_shape(want)}
    return Finding("shapes.other", fields)


def _has_axes_of_length_1(found: Misshapen) -> bool:
    return bool(found) and all(shape.numel() == wanted.numel() and 1 in shape for _, shape, wanted in found)


def _sizes(found: Misshapen) -> Finding:
    done, got, want = found[0]
    fields = {"inputs": describe_inputs(done.arguments), "got": describe_shape(got), "want": describe_shape(want)}
    return Finding("shapes.sizes", fields)


def _of_all_axes(found: Misshapen, pairs: list[tuple[list, list]]) -> Finding | None:
    """What holds of the shapes as a whole."""
    if all(got.numel() == _picked(done, got) for done, got, _ in found):
        return Finding("shapes.index_by_a_mask")
    if _is_always_the_same(pairs):
        return Finding("shapes.always_the_same")
    if all(sorted(got) == sorted(want) for got, want in pairs):
        return Finding("shapes.wrong_order")
    if all(not got and want for got, want in pairs):
        return Finding("shapes.single_number")
    return None


def _is_always_the_same(pairs: list[tuple[list, list]]) -> bool:
    """Is there one shape for several, with as many axes as there should be, and already the first as long as none?"""
    got, want = pairs[0]
    if len(pairs) < 3 or len({tuple(one) for one, _ in pairs}) > 1 or len({tuple(other) for _, other in pairs}) == 1:
        return False
    return len(got) == len(want) and max(got, default=1) > 1 and got[0] != want[0]


def _how_shapes_differ(case: Case, found: Misshapen) -> Finding | None:
    """What holds of all the shapes: an axis too few or too many, two that changed places, one that is too long."""
    pairs = [(list(got), list(want)) for _, got, want in found]
    if said := _of_all_axes(found, pairs):
        return said
    for axis in range(-1, -5, -1):
        if said := _missing_or_too_many(axis, found, pairs) or _of_another_length(case, axis, found, pairs):
            return said
    return None


def _without(shape: list, axis: int) -> list:
    """The shape without that axis, counted from the end."""
    place = len(shape) + axis
    return shape[:place] + shape[place + 1 :]


def _missing_or_too_many(axis: int, found: Misshapen, pairs: list[tuple[list, list]]) -> Finding | None:
    if all(len(want) >= -axis and got == _without(want, axis) for got, want in pairs):
        return Finding("shapes.axis_missing", {"axis": axis})
    if all(len(got) >= -axis and _without(got, axis) == want for got, want in pairs):
        is_sum = all(same(done.tensors[0].sum(axis), done.tensors[1]) for done, _, _ in found)
        return Finding("shapes.axis_to_sum" if is_sum else "shapes.axis_too_many", {"axis": axis})
    return None


def _of_another_length(case: Case, axis: int, found: Misshapen, pairs: list[tuple[list, list]]) -> Finding | None:
    """What holds of the lengths of one axis, where all the others are as they should be."""
    if not all(len(got) == len(want) >= -axis and _without(got, axis) == _without(want, axis) for got, want in pairs):
        return None
    lengths = [(got[axis], want[axis]) for got, want in pairs]
    steps = {got - want for got, want in lengths}
    if len(steps) == 1:
        step = steps.pop()
        return Finding("shapes.axis_too_long" if step > 0 else "shapes.axis_too_short", {"axis": axis, "by": abs(step)})
    if len({got for got, _ in lengths}) == 1 < len({want for _, want in lengths}):
        length = lengths[0][0]
        return Finding(
            "shapes.axis_always_1" if length == 1 else "shapes.axis_always", {"axis": axis, "length": length}
        )
    letters = [{name for name, size in case.sizes(done).items() if size == got[axis]} for done, got, _ in found]
    if common := sorted(set.intersection(*letters)):
        return Finding("shapes.axis_of_another_letter", {"axis": axis, "letter": common[0]})
    return None


def _picked(done: Run, got: Size) -> int:
    """How many entries an index by one of the arguments, a mask, takes out of something; -1 where that is not seen."""
    masks = [value for value in done.arguments.values() if isinstance(value, Tensor) and value.dtype == torch.bool]
    counts = [int(mask.sum()) for mask in masks if not mask.all()]
    return counts[0] if counts and len(got) == 1 else -1


def axes_from_the_front(case: Case) -> Finding | None:
    """Right for one number of axes, wrong for every other, and an axis is counted from the front."""
    found, error = FROM_THE_FRONT.search(case.source), case.first_wrong.error
    outside = error is not None and "Dimension out of range" in text_of(error)
    if found is None or error is not None and not outside:
        return None
    numbers: dict[int, set[bool]] = {}
    for done in case.runs:
        first = next((value for value in done.arguments.values() if isinstance(value, Tensor)), None)
        numbers.setdefault(first.ndim if first is not None else 0, set()).add(done not in case.wrong)
    failed = own_line(error, case.function) if outside else ""
    if "cross_entropy" in failed:
        return None  # which wants the classes in a certain place from the front
    line = FROM_THE_FRONT.search(failed)
    if line and len(numbers) > 1:
        fields = {"piece": line[0], "inputs": describe_inputs(case.first_wrong.arguments)}
        return Finding("shapes.no_such_axis_from_the_front", fields)
    right = [number for number, verdicts in numbers.items() if verdicts == {True}]
    if len(right) != 1 or any(verdicts != {False} for number, verdicts in numbers.items() if number not in right):
        return None
    return Finding("shapes.axes_from_the_front", {"axes": right[0], "piece": found[0]})
