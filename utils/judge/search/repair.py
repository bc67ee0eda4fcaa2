"""One change away: changes of a wrong answer's own code, tried until one of them is right on every draw.

`mutations.py` says what can be changed. Here the changes are made, cheapest first, run in the sandbox, and dropped at
the first input that is still wrong. What is said of the one that makes the answer right is true by construction. It
says where to look, not what to write; that is the last hint. The search is bounded by the work that it takes, counted
in steps of the answer's code, so the same answer gets the same sentence on every machine; the clock is only a stop.
"""

import functools
import inspect
import itertools
import re
import textwrap
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from ..case import Case
from ..catalogue.candidates import Candidate
from ..context import IMPORTS
from ..run.calls import Run, run
from ..run.sandbox import Sandbox, Stopped
from ..search.mutations import (
    KINDS_BESIDE_A_ROW,
    LOOP_GUARD,
    Mutation,
    Program,
    changes,
)
from ..search.steps import count_steps
from ..syntax import source_of, tree_of
from ..verdict import Finding

WORK = 90_000  # steps of the answer's code that a search may take: one second on an idle core
OVERHEAD = 25  # steps that it costs to make a change and to compare its result, besides one for each node to compile
FALLBACK_RANK = {  # if no other fixes
    "other number": 1,
    "put in axis": 2,
    "put in call": 2,
    "put in operand": 2,
    "one off": 2,
    "collected": 2,
}
TRIES_AFTER_FIRST = 400  # changes that are tried after the first that fixes, for one that fits the reference better
ROUNDS = 100  # of a `while` beyond five times those that the answer takes: then the change has made it endless
INCOMPARABLE = (ArithmeticError, RuntimeError, TypeError, ValueError)  # a result that cannot be compared
SECONDS, PATIENCE = 0.5, 4.0  # the clock: of one change, of all
SEEDS = (1, 2)  # a change has to be right on these draws, too


class RanAway(Exception):
    """Raised in a changed answer whose `while` goes round and round."""


class Repair(NamedTuple):
    """A change that makes an answer right: what is said of it, the change itself, a known mistake beside it, if any."""

    said: Finding
    change: Finding
    beside: Candidate | None = None
    sure: bool = True  # False: something had to be put in, and where else it may belong is open
    line: str = ""  # the learner's line that it changes
    piece: str = ""  # the piece of that line at which to look


def one_change(case: Case) -> Repair | None:
    """The change that makes the answer right on every draw, or that leaves it with a known mistake; None if none does.

    Raises nothing.
    """
    search = _searched(case)
    return search.one if search else None


@functools.lru_cache(1)  # it is asked for several times of each case
def _searched(case: Case) -> "_Search | None":
    tree = tree_of(case.function) if case.draws_of_seed is not None else None
    if tree is None or getattr(case.function, "__closure__", None):
        return None
    try:
        return _Search(case, Program(tree, textwrap.dedent(inspect.getsource(case.function))))
    except (SyntaxError, ValueError):
        return None


class _Search:
    def __init__(self, case: Case, program: Program):
        self.case, self.program = case, program
        self.space = {**IMPORTS, **inspect.unwrap(case.function).__globals__, LOOP_GUARD: self._goes_on}
        self.rounds, self.most = 0, 10**9
        wrong, right = case.wrong, [done for done in case.runs if done not in case.wrong]
        self.runs = sorted(wrong, key=_size) + right
        self.theirs, self.before = _words(source_of(case.reference)), _words(program.text())
        self.fixing: list[tuple[tuple[int, int], Mutation, Finding]] = []
        self.beside: tuple[Mutation, Candidate, Finding] | None = None
        self.one = self._within(self._found)

    def _within(self, searched: Callable[[], Repair | None]) -> Repair | None:
        try:
            with Sandbox.current.within(PATIENCE) as self.limit:
                return searched()
        except (Stopped, RecursionError, SyntaxError, ValueError):
            return None

    def _found(self) -> Repair | None:
        self._run(self.runs[0])
        self.most = 5 * self.rounds + ROUNDS
        steps = count_steps(self.case.function, self.runs[0].arguments, Sandbox.current.call)
        self._try_all(WORK // (OVERHEAD + len(self.program.nodes) + steps))
        if self.fixing:
            (later, _), edit, change = min(self.fixing, key=lambda one: one[0])
            return self._repair(edit, change, sure=not later)
        if self.beside:
            edit, candidate, change = self.beside
            return self._repair(edit, change, beside=candidate)
        return None

    def _repair(self, edit: Mutation, change: Finding, **how: Any) -> Repair:
        said = Finding("changes.one", {"where": self.program.where_to_look(edit)})
        line = self.program.line(edit.line or edit.at)
        return Repair(said, change, line=line, piece=self.program.piece(edit), **how)

    def _try_all(self, tries: int) -> None:
        seen = set()
        for edit in changes(self.program, self.case):
            if tries <= 0:
                break
            with self.program.made(edit):
                text = self.program.text(edit)
                if text in seen:
                    continue
                seen.add(text)
                tries -= 1
                if self._mends(edit):
                    tries = min(tries, TRIES_AFTER_FIRST)
                    self.fixing.append((self._cost(edit), edit, self.program.change(edit)))

    def _mends(self, edit: Mutation) -> bool:
        """Is the program as it is now right on every input, of other seeds, too?"""
        first = self._run(self.runs[0])
        try:
            if not _is_right(first):
                if self.beside is None and not self.fixing and edit.kind in KINDS_BESIDE_A_ROW:
                    self._look_beside(edit, first)
                return False
            return self._is_right_elsewhere()
        except INCOMPARABLE:
            return False

    def _is_right_elsewhere(self) -> bool:
        others = itertools.chain(self.runs[1:], *(self.case.draws_of_seed(seed) for seed in SEEDS))
        return all(_is_right(self._run(one)) for one in others)

    def _look_beside(self, edit: Mutation, first: Run) -> None:
        """Does the program now do what a known mistake does?"""
        if first.error is not None or self.case.known.explain([first], ("rows",)) is None:
            return
        candidate = self.case.known.explain([first, *map(self._run, self.runs[1:])], ("rows",))
        if candidate and self._was_in_the_answer(candidate):
            self.beside = edit, candidate, self.program.change(edit)

    def _run(self, on: Run) -> Run:
        try:
            function = self.program.function(self.space)
        except (SyntaxError, ValueError, TypeError) as error:
            return Run(on.arguments, on.want, error=error)
        self.rounds = 0
        with Sandbox.current.within(SECONDS):
            done = run(function, on.arguments, on.want, Sandbox.current.call)
        if isinstance(done.error, Stopped) and self.limit.passed:
            raise done.error
        done.number = on.number
        return done

    def _goes_on(self) -> bool:
        self.rounds += 1
        if self.rounds > self.most:
            raise RanAway
        return True

    def _cost(self, edit: Mutation) -> tuple[int, int]:
        """The lower, the rather it is this change that was missed: by its kind, and by what it makes of the program,
        how far that is from the reference and how much longer than before."""
        if edit.kind == "branch":  # which makes a comparison in its test right by accident
            return 0, -1
        new = _words(self.program.text())
        return FALLBACK_RANK.get(edit.kind, 0), _distance(new, self.theirs) + max(0, new.total() - self.before.total())

    def _was_in_the_answer(self, candidate: Candidate) -> bool:
        """Is the known mistake the answer's own, and not the change's?

        What it writes was there, what it leaves out was not, and the change does not lead away from it.
        """
        row = _words(source_of(candidate.function))
        left_out = self.theirs - row
        if any(word not in self.before for word in row - self.theirs):
            return False
        if left_out and all(self.before[word] >= self.theirs[word] for word in left_out):
            return False
        names = [word for word in left_out if word.isidentifier()]
        if not row - self.theirs and names and all(self.before[word] >= self.theirs[word] for word in names):
            return False
        return _distance(_words(self.program.text()), row) < _distance(self.before, row)


def _is_right(done: Run) -> bool:
    return done.right and not done.changed


def _size(done: Run) -> int:
    return sum(value.numel() for value in done.arguments.values() if isinstance(value, Tensor))


def _words(text: str) -> Counter[str]:
    """Names, numbers and operators, without brackets and the like, which tell little."""
    return Counter(re.findall(r"\w+|[-+*/@~<>!&|^%]+=?|==", text))


def _distance(one: Counter[str], other: Counter[str]) -> int:
    """How many words are in one of two programs alone."""
    return (one - other).total() + (other - one).total()
