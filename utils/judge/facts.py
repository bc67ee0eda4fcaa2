"""What several findings ask of a wrong answer."""

import inspect
import re

from torch import Size, Tensor

from .case import Case
from .compare import as_tensor
from .run.calls import Run
from .run.errors import own_frame, own_line, text_of
from .run.remedies import REMEDIES
from .wording import describe_inputs

AMBIGUOUS = re.compile(
    r"Sizes of tensors|equal size|invalid for input of size|index k out of range|out of bounds|index out of range"
    r"|einsum\(\):|multiply up|one element tensors can be converted|is not in list"
)


def is_ambiguous(case: Case) -> bool:
    """Is it an exception that says what does not fit, but not why?"""
    return case.first_wrong.error is not None and bool(AMBIGUOUS.search(text_of(case.first_wrong.error)))


def is_self_explanatory(case: Case) -> bool:
    """Is it an exception whose words alone say what is wrong?"""
    error = case.first_wrong.error
    if error is None:
        return False
    clue, line = f"{type(error).__name__}: {text_of(error)}", own_line(error, case.function)
    return (
        isinstance(error, NameError)
        or handed_over(case, case.first_wrong) is not None
        or any(re.search(remedy.error, clue) and re.search(remedy.line, line) for remedy in REMEDIES)
    )


def handed_over(case: Case, done: Run) -> dict[str, str] | None:
    """Of an exception in a function that the learner was given: the line that calls it, its name, what it was given."""
    given = {
        inspect.unwrap(value).__code__: name for name, value in done.arguments.items() if inspect.isfunction(value)
    }
    entry = own_frame(done.error, case.function)
    while entry is not None and entry.tb_frame.f_code not in given:
        entry = entry.tb_next
    if entry is None:
        return None
    code = entry.tb_frame.f_code
    handed = {name: entry.tb_frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]}
    return {
        "line": own_line(done.error, case.function),
        "function": given[code],
        "handed": describe_inputs(handed),
    }


def misshapen(case: Case) -> list[tuple[Run, Size, Size]]:
    """The wrong inputs whose result has another shape than it should, with both; none where the first is not one."""
    pairs = [(done, *done.tensors) for done in case.wrong if done.tensors]
    found = [(done, got.shape, want.shape) for done, got, want in pairs if got.shape != want.shape]
    return found if found and found[0][0] is case.first_wrong else []


def step_of_same_shape(case: Case) -> str:
    """The named intermediate that has the shape of the result on every input where that is not the right one."""
    found = misshapen(case)
    for label, intermediate in case.intermediates.items() if found else ():
        if all(as_tensor(intermediate(*done.arguments.values())).shape == shape for done, shape, _ in found):
            return label
    return ""


def first_floats(arguments: dict) -> str:
    """The name of the first argument that is a tensor of floats."""
    floats = (name for name, value in arguments.items() if isinstance(value, Tensor) and value.is_floating_point())
    return next(floats, "x")
