"""Exercises that tell a learner what went wrong: `check`, `hint`, `solution`, `use`.

An exercise is a reference function with a way to draw inputs, graded hints, and a catalogue of *known mistakes*: wrong
functions, each with the sentence that helps whoever wrote it. `check` runs the learner's function beside the reference
on every draw. Is it wrong, the learner reads what its source says for certain (reading.py), or else the sentence of the
known mistake that is wrong in the same way, or else the first finding of diagnosis.py. The tests use the same catalogue
to prove that every mistake is caught.

    @exercise(draws=..., hints=["Which ...?", "..."], names={"the weights: did you forget the values?": weights_of})
    def attention_scores(query, keys):
        return keys @ query / math.sqrt(keys.shape[-1])

    @attention_scores.mistake("the scores are not divided by √e, so their spread grows with e.")
    def unscaled(query, keys):
        return keys @ query
"""

import ast
import contextlib
import difflib
import functools
import inspect
import linecache
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import torch

from .diagnosis import (
    FINDINGS,
    Run,
    as_tensor,
    behaves_like,
    describe_kind,
    dtype_name,
    is_todo,
    run,
    stopped,
    text_of,
    unchanged,
)
from .isolation import Isolation, Printed, Stopped
from .reading import READ_FIRST, listed
from .records import record
from .settings import marked

MARKS = {"todo": "○", "right": "✔", "wrong": "✘"}


class Mistake(NamedTuple):
    """A wrong function that learners write, and the sentence that helps them."""

    name: str
    function: Callable
    message: str


class Verdict(NamedTuple):
    """Status "todo", "right" or "wrong"; the diagnosis; what the function printed and displayed on the first draw.

    `names` are those of the known mistakes that the answer fell into.
    """

    status: str
    message: str
    printed: str = ""
    shown: tuple = ()
    names: tuple[str, ...] = ()


class Exercise:
    """A reference function with draws, hints, named intermediates and known mistakes. Calling it calls the reference.

    Public: `name`, `reference`, `hints`, `mistakes`, `verdict(function)`.
    """

    def __init__(self, reference: Callable, draws: Callable, hints: list[str], names: dict, question: str | dict):
        functools.update_wrapper(self, reference)
        self.name, self.reference, self.draws = reference.__name__, reference, draws
        self.hints, self.names = list(hints), names
        self.questions = question if isinstance(question, dict) else {"": question}
        self.mistakes: list[Mistake] = []
        self.hints_given = 0
        self.used, self.stopped = False, None  # has use(…) been called; the last function that ran too long

    def __call__(self, *arguments, **keywords):
        return self.reference(*arguments, **keywords)

    def __repr__(self) -> str:
        return f"<exercise {self.name}: {len(self.hints)} hints, {len(self.mistakes)} known mistakes>"

    def mistake(self, message: str) -> Callable:
        """Decorator: add a wrong function to the catalogue, with the sentence for the learner who wrote it."""

        def add(function: Callable) -> Callable:
            self.mistakes.append(Mistake(function.__name__, function, message))
            return function

        return add

    def inputs(self, seed: int = 0) -> Iterator[dict[str, Any]]:
        """The draws of a seed as arguments by name, the same ones every time."""
        names = list(inspect.signature(self.reference).parameters)
        for arguments in self.draws(torch.Generator().manual_seed(seed)):
            yield dict(zip(names, arguments, strict=True))

    def _other_numbers(self, usual: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
        """One draw of another seed that differs from the usual one; none where draws do not depend on the seed."""
        pairs = zip(self.inputs(seed), usual)
        others = (new for new, old in pairs if not all(unchanged(old[name], value) for name, value in new.items()))
        return list(islice(others, 1))

    def verdict(self, function: Callable, seed: int = 0) -> Verdict:
        """Judge `function` on every draw, and on one with other numbers, which finds a table of the answers.

        Silent; raises KeyboardInterrupt only. What the function does to the process is undone (isolation.py).
        """
        if not callable(function):
            return Verdict("wrong", f"{describe_kind(function)} is not a function.")
        with Isolation() as isolation:
            usual = list(self.inputs(seed))
            draws = usual + self._other_numbers(usual, seed + 1)
            wanted = [self.reference(*inputs.values()) for inputs in draws]  # before the answer can spoil them
            runs: list[Run] = []
            for inputs, want in zip(draws, wanted):
                runs.append(run(function, inputs, want, isolation.call))
                if isinstance(runs[-1].error, Stopped):
                    break
            isolation.settle()
            with contextlib.redirect_stdout(Printed()), contextlib.redirect_stderr(Printed()):
                try:
                    status, message = isolation.bounded(self._judge, function, runs, len(usual), isolation)
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # a result so odd that it cannot be compared
                    why = text_of(error) if isinstance(error, Stopped) else type(error).__name__
                    status = "wrong"
                    message = f"your result, {describe_kind(runs[0].result)}, cannot be compared: {why}."
        return Verdict(status, message, runs[0].printed, isolation.shown)

    def _judge(self, function: Callable, runs: list[Run], usual: int, isolation: Isolation) -> tuple[str, str]:
        """Status and message: first what hides everything else, then the diagnosis."""
        if isolation.asked:
            return "wrong", (
                f"{isolation.asked}(…) stands inside a function, which then calls it each time it runs. "
                "It belongs below the function, as far left as the word `def`."
            )
        if isinstance(runs[-1].error, Stopped):
            self.stopped = function
            return "wrong", stopped(runs[-1].error, function)
        if any(is_todo(done, function) for done in runs):
            return "todo", f"not tried yet. hint({self.name}) helps."
        if isolation.switched:
            return "wrong", (
                f"your function sets {listed(isolation.switched)}: every later cell would go on with that. "
                "Here it was set back; leave it as it is."
            )
        status, message = self._diagnose(function, runs[:usual])
        wrong = [done for done in runs[usual:] if not done.right]
        if status == "right" and wrong:
            found = next(filter(None, (finding(self, function, wrong) for finding in FINDINGS)))
            return "wrong", f"right on the {usual} inputs of every check, but not on others like them: {found}"
        return status, message

    def _diagnose(self, function: Callable, runs: list[Run]) -> tuple[str, str]:
        """Status and message: the first finding that applies, in the order in which findings help."""
        wrong = [done for done in runs if not done.right or done.changed]
        if not wrong:
            return "right", f"right on all {len(runs)} inputs.{_precision_note(runs)}"
        for finding in READ_FIRST:
            if message := finding(self, function, wrong):
                return "wrong", message
        if message := self._known(runs):
            return "wrong", message
        for case, its_runs in _cases(runs):
            if message := self._known(its_runs):
                return "wrong", message if case in message else f"with {case}: {message}"
        number_right = len(runs) - len(wrong)
        score = f" ({number_right} of {len(runs)} inputs come out right.)" if number_right else ""
        return "wrong", next(filter(None, (finding(self, function, wrong) for finding in FINDINGS))) + score

    def _known(self, runs: list[Run]) -> str | None:
        """The message of the first known mistake that behaves like all these runs."""
        for mistake in self.mistakes:
            if all(behaves_like(mistake.function, done) for done in runs):
                return mistake.message
        return None


def _cases(runs: list[Run]) -> Iterator[tuple[str, list[Run]]]:
    """Where an argument is a switch, True or False, the runs of either: each branch may be wrong in its own way."""
    switches = [name for name, value in runs[0].arguments.items() if isinstance(value, bool)]
    for name in switches:
        for value in (True, False):
            its_runs = [done for done in runs if done.arguments[name] is value]
            if len(its_runs) > 1 and not all(done.right for done in its_runs):
                yield f"{name}={value}", its_runs


def _precision_note(runs: list[Run]) -> str:
    """A remark on a right result whose tensors are of another precision than the inputs'."""
    for done in runs:
        if isinstance(done.result, torch.Tensor) and done.result.dtype != as_tensor(done.want).dtype:
            given, expected = map(dtype_name, (done.result, done.want))
            return f" (For {expected} inputs it returns {given}: torch.zeros and torch.tensor take dtype=….)"
    return ""


def exercise(
    draws: Callable[[torch.Generator], Iterator[tuple]],
    hints: list[str],
    names: dict[str, Callable] | None = None,
    question: str | dict[str, str] = "",
) -> Callable[[Callable], Exercise]:
    """Decorator that turns a reference function into an `Exercise` and adds it to the catalogue.

    `draws(generator)` yields tuples of positional arguments; `hints` go from a question to nearly the code; `names`
    maps a label to a function of the same arguments that gives an intermediate, to be recognised by its shape;
    `question` is asked where shapes do not fit; of several, the first whose pattern, its key, is found in the line that
    failed. Raises ValueError if another module has an exercise of that name.
    """

    def make(reference: Callable) -> Exercise:
        known = _catalogue.get(reference.__name__)
        if known is not None and known.__module__ != reference.__module__:
            raise ValueError(f"exercise {reference.__name__} exists already in {known.__module__}: choose another name")
        _catalogue[reference.__name__] = Exercise(reference, draws, hints, names or {}, question)
        return _catalogue[reference.__name__]

    return make


_catalogue: dict[str, Exercise] = {}


def catalogue() -> dict[str, Exercise]:
    """Every exercise by name, in the order of the course."""
    return dict(_catalogue)


def check(function: Callable) -> None:
    """Print one short diagnosis of the learner's function: ○ not tried yet, ✔ right, ✘ with what went wrong."""
    found = _find(function, "check")
    if found is None:
        return
    if function is found.reference:
        print(
            f"{MARKS['todo']} {found.name}: this is the course's own function, which use(...) put in the place of "
            "yours. Run the cell with your definition again, then check."
        )
        return
    verdict = found.verdict(function)
    if verdict.printed:
        print(verdict.printed, end="" if verdict.printed.endswith("\n") else "\n")
    for output in verdict.shown:
        output.display()
    again = f" Until use({found.name}) runs again, the cells below work with this definition."
    again = again if found.used and verdict.status != "right" and not _use_follows(found.name) else ""
    print(f"{MARKS[verdict.status]} {found.name}: {verdict.message}{again}")
    record(found.name, verdict)


def hint(function: Callable) -> None:
    """Print the next hint, each call one further; at the end, the last one again and what else there is."""
    found = _find(function, "hint")
    if found is None or marked("hint"):
        return
    number = min(found.hints_given + 1, len(found.hints))
    at_the_end = found.hints_given >= len(found.hints)
    found.hints_given = number
    print(f"Hint {number} of {len(found.hints)}: {found.hints[number - 1]}")
    if at_the_end:
        print(f"There are no more hints; solution({found.name}) shows one way to write it.")


def solution(function: Callable) -> None:
    """Print the reference code."""
    found = _find(function, "solution")
    if found is not None and not marked("solution"):
        print(source(found))


def use(function: Callable) -> Callable:
    """The learner's function where it is right or the work is marked, the reference where it is not, without a word.

    A function that a check had to stop is not run again: that would take as long once more.
    """
    found = _find(function, "use")
    if found is None or marked():
        return function
    found.used = True
    right = function is not found.stopped and found.verdict(function).status == "right"
    return function if right else found.reference


def source(found: Exercise) -> str:
    """The code of the reference, without its decorator."""
    text = textwrap.dedent(inspect.getsource(found.reference))
    definition = ast.parse(text).body[0]
    return "\n".join(text.splitlines()[definition.lineno - 1 :]).rstrip()


def _find(function: Callable, verb: str) -> Exercise | None:
    """The exercise that the learner means, by the function's name; None after a message that says what to do.

    None without one where an answer that is being judged calls the verb: it would be judged for ever.
    """
    if Isolation.current is not None:
        Isolation.current.asked = verb
        return None
    name = getattr(function, "__name__", None)
    if not callable(function) or not isinstance(name, str):
        print(
            f"✘ {verb}: you passed {describe_kind(function)}; {verb} takes the function itself, "
            f"without quotes and without arguments: {verb}({_meant(function)})."
        )
    elif name == "<lambda>":
        print(f"✘ {verb}: a lambda has no name to find its exercise by. Write it with def, as in the exercise.")
    elif name not in _catalogue:
        near = difflib.get_close_matches(name, _catalogue, n=1)
        print(
            f"✘ {verb}: there is no exercise named {name}"
            + (f"; do you mean {near[0]}?" if near else ".")
            + " Keep the name of the function as the exercise gives it."
        )
    else:
        return _catalogue[name]
    return None


def _use_follows(name: str) -> bool:
    """Does the cell that called check go on to use(…)?"""
    frame = sys._getframe(2)
    lines = linecache.getlines(frame.f_code.co_filename)[frame.f_lineno :]
    return any(f"use({name})" in line for line in lines)


def _meant(passed: Any) -> str:
    """The exercise whose name was passed, or stands in the line that called the verb, or was defined last."""
    frame = sys._getframe(3)  # the caller of check, hint, …
    words = [passed] if isinstance(passed, str) else []
    words += re.findall(r"\w+", linecache.getline(frame.f_code.co_filename, frame.f_lineno))
    words += reversed(frame.f_globals)
    return next((word for word in words if word in _catalogue), next(iter(_catalogue), "f"))
