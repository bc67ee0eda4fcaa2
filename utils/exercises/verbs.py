"""`check`, `hint`, `solution` and `use`: what a learner calls."""

import difflib
import functools
import linecache
import re
import sys
from collections.abc import Callable
from typing import Any

import torch

from ..judge.compare import as_asked, as_list
from ..judge.example import SMALL, small_example
from ..judge.exercise import ClassExercise, Exercise, catalogue, source
from ..judge.run.sandbox import Sandbox, standard_torch
from ..judge.verdict import MARKS, Finding, Verdict, grounds
from ..judge.wording import describe_kind
from ..records import opened, record
from ..settings import marked
from .learner.kept_answers import by_name, former, keep, kept


def check(function: Callable, seed: int = 0) -> None:
    """Print one short diagnosis of the learner's function: ○ not tried yet, ✔ right, ✘ with what went wrong.

    Another `seed` draws other numbers: a second try on fresh ones. A right answer is kept for later notebooks.
    """
    found = _find(function, "check")
    if found is None:
        return
    if function is found.course:
        print(
            f"{MARKS['todo']} {found.name}: this is the course's own function, which use(...) put in place of "
            "yours. Run the cell with your definition again, then check."
        )
        return
    verdict = found.verdict(function, seed)
    twice = verdict.status == "wrong" and verdict.said.digits == found.said and function is not found.stopped
    twice = twice and not isinstance(found, ClassExercise)  # without its weights, an example of a layer says nothing
    example = _in_small_numbers(found, function, seed) if twice and SMALL not in verdict.said.keys else ""
    found.said, found.change = verdict.said.digits, verdict.change
    if verdict.printed:
        print(verdict.printed, end="" if verdict.printed.endswith("\n") else "\n")
    for output in verdict.shown:
        output.display()
    again = f" Until use({found.name}) runs again, the cells below work with this definition."
    again = again if found.used and verdict.status != "right" and not _use_follows(found.name) else ""
    unkept = ""
    if verdict.status == "right":
        references = {name: one.course for name, one in catalogue().items()}
        unkept = keep(found.name, function, references, functools.partial(found.verdict, search=False))
    message = " ".join(filter(None, (verdict.message, example, unkept)))
    again = "\n" + again.lstrip() if again and "\n" in message else again  # an example fills lines of its own
    print(f"{MARKS[verdict.status]} {found.name}: {message}{again}")
    record(found.name, verdict)


def _in_small_numbers(found: Exercise, function: Callable, seed: int) -> str:
    """For a learner who hears the same again: one small input, what should come out and what does."""
    with Sandbox() as sandbox:
        shown = small_example(found.reference, function, list(found.inputs(seed)), sandbox.call)
    return Finding("example.again", shown.fields).message if shown else ""


def why(function: Callable, seed: int = 0) -> None:
    """Print who speaks about a wrong answer, under which key, and on what grounds: for those who work on the judge."""
    found = _find(function, "why")
    if found is None:
        return
    verdict = found.verdict(function, seed)
    print(f"{MARKS[verdict.status]} {found.name}: {verdict.message}")
    print(f"  speaks    {verdict.by or 'the exercise itself'}")
    print(f"  keys      {' · '.join(verdict.said.keys)}")
    for name, value in grounds(verdict.said):
        print(f"  {name:<9} {value}")
    print(f"  right on  {verdict.share:.0%} of the usual inputs")


def hint(function: Callable) -> None:
    """Print the next hint, each call one further; at the end, the last one again and what else there is."""
    found = _find(function, "hint")
    if found is None or marked("hint"):
        return
    hints = [*found.hints, *filter(None, [found.change])]
    number = min(found.hints_given + 1, len(hints))
    at_the_end = found.hints_given >= len(hints)
    found.hints_given = number
    print(f"Hint {number} of {len(hints)}: {hints[number - 1]}")
    if at_the_end:
        print(f"There are no more hints; solution({found.name}) shows one way to write it.")


def solution(function: Callable) -> None:
    """Print the reference code; progress() says from then on that it was opened."""
    found = _find(function, "solution")
    if found is not None and not marked("solution"):
        print(source(found))
        opened(found.name)


def use(function: Callable | str, own: bool = True) -> Callable:
    """The learner's function where it is right or the work is marked, the reference where it is not, without a word.

    The name of an exercise instead of a function, `use("attend")`, gives the answer that `check` kept of the learner's,
    and says so, or else the course's function; with own=False always the course's. So a notebook goes on from what
    another one built. ValueError where there is no exercise of that name.
    A right function of another kind of number, a list or a NumPy array for instance, is fitted with what the notebook
    goes on with: tensors of the inputs' precision. A function that a check had to stop is not run again.
    """
    if isinstance(function, str) and Sandbox.current is None:
        found = by_name(function)
        answer = kept(found.name, functools.partial(found.verdict, search=False)) if own else None
        return _fitting(*answer, found) if answer else found.course
    found = _find(function, "use")
    if found is None or marked():
        return function
    found.used = True
    if function is found.stopped or (verdict := found.verdict(function, search=False)).status != "right":
        return found.course
    return _fitting(function, verdict, found)


def _fitting(function: Callable, verdict: Verdict, found: Exercise) -> Callable:
    """A right function as the notebook goes on with it: fitted where its numbers are of another kind, without gradients
    where the notebook trains nothing through it, and not for what it would round."""
    if function is found.course:
        return function
    if isinstance(found, ClassExercise):
        return function
    function = function if found.trained else _detached(function)
    if not verdict.fits:
        with standard_torch():
            function = _fitted(function, found.reference(*next(found.inputs()).values()))
    return function if verdict.exact else _in_float32(function, found.reference)


def _in_float32(function: Callable, reference: Callable) -> Callable:
    """`function` for numbers in float32, whose digits it keeps; for all others the reference."""

    @functools.wraps(function)
    def in_float32(*arguments, **keywords):
        given = [value for value in (*arguments, *keywords.values()) if isinstance(value, torch.Tensor)]
        floats = {value.dtype for value in given if value.is_floating_point()}
        return (function if floats == {torch.float32} else reference)(*arguments, **keywords)

    return in_float32


def _detached(function: Callable) -> Callable:
    """`function` as `check` has judged it: what it is given records no gradients, so NumPy takes it, too."""

    @functools.wraps(function)
    def detached(*arguments, **keywords):
        result = function(*map(_detach, arguments), **{name: _detach(value) for name, value in keywords.items()})
        return result.clone() if isinstance(result, torch.Tensor) and result.is_inference() else result

    return detached


def _detach(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) and value.requires_grad else value


def _fitted(function: Callable, want: Any) -> Callable:
    """`function` with its result as a tensor of the precision of its first tensor of floats, or else float32; of
    several results, as in `want`, each of them.

    Without any tensor among its arguments, as where parameters are counted: a single number as a number.
    """

    @functools.wraps(function)
    def fitted(*arguments, **keywords):
        given = [value for value in (*arguments, *keywords.values()) if isinstance(value, torch.Tensor)]
        dtype = next((value.dtype for value in given if value.is_floating_point()), torch.get_default_dtype())

        def fit(result: Any, want: Any) -> Any:
            if isinstance(want, tuple):
                return tuple(map(fit, result, want))
            if isinstance(want, list):
                return as_list(result)
            exact = torch.float64 if isinstance(result, float) else None
            tensor = torch.as_tensor(as_asked(result, want), dtype=exact)
            if not given and not tensor.ndim:
                return tensor.item()
            return tensor.to(dtype) if tensor.is_floating_point() else tensor

        return fit(function(*arguments, **keywords), want)

    return fitted


def _find(function: Callable, verb: str) -> Exercise | None:
    """The exercise that the learner means, by the function's name; None after a message that says what to do.

    None without one where an answer that is being judged calls the verb: it would be judged for ever.
    """
    if Sandbox.current is not None:
        Sandbox.current.asked = verb
        return None
    name = getattr(function, "__name__", None)
    if not callable(function) or not isinstance(name, str):
        meant = _meant(function)
        what = "class" if isinstance(catalogue().get(meant), ClassExercise) else "function"
        if callable(function) and what == "function":
            print(
                f"✘ {verb}: {meant} is {describe_kind(function)} here. The exercise asks for a function: "
                f"write def {meant}(…): and call your object inside it."
            )
            return None
        print(
            f"✘ {verb}: you passed {describe_kind(function)}; {verb} takes the {what} itself, "
            f"without quotes and without arguments: {verb}({meant})."
        )
    elif name == "<lambda>":
        print(f"✘ {verb}: a lambda has no name to find its exercise by. Write it with def, as in the exercise.")
    elif name not in catalogue() and (gone := former(name)):
        print(f"✘ {verb}: {gone}")
    elif name not in catalogue():
        near = difflib.get_close_matches(name, catalogue(), n=1)
        print(
            f"✘ {verb}: there is no exercise named {name}"
            + (f"; do you mean {near[0]}?" if near else ".")
            + " Keep the name of the function as the exercise gives it."
        )
    else:
        return catalogue()[name]
    return None


def _use_follows(name: str) -> bool:
    """Does the cell that called check go on to use(…)?"""
    frame = sys._getframe(2)
    lines = linecache.getlines(frame.f_code.co_filename)[frame.f_lineno :]
    return any(f"use({name})" in line for line in lines)


def _meant(passed: Any) -> str:
    """The exercise whose name was passed, or is in the line that called the verb, or was defined last."""
    frame = sys._getframe(3)  # the caller of check, hint, …
    words = [passed] if isinstance(passed, str) else [type(passed).__name__]
    words += re.findall(r"\w+", linecache.getline(frame.f_code.co_filename, frame.f_lineno))
    words += reversed(frame.f_globals)
    return next((word for word in words if word in catalogue()), next(iter(catalogue()), "f"))
