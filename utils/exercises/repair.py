"""One change away: edits of a wrong answer's own code, tried until one of them is right on every draw.

`edits.py` says what can be changed. Here the changes are made, cheapest first, run in isolation, and dropped at the
first input that is still wrong. What is said of the one that mends the answer is true by construction, and says where
to look, not what to write; that is the last hint. The search is bounded by the work that it takes, counted in steps of
the answer's code, so the same answer gets the same sentence on every machine; the clock is only a stop.
"""

import ast
import functools
import inspect
import itertools
import re
import textwrap
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from . import edits, reading
from .case import Case
from .edits import SIMPLE, Edit, Program
from .isolation import Isolation, Stopped
from .known import Candidate
from .rows import IMPORTS
from .running import Run, run

WORK = 90_000  # steps of the answer's code that a search may take: one second on an idle core
OVERHEAD = 25  # steps that it costs to make a change and to compare its result, besides one for each node to compile
LATER = {  # if no other mends
    "other number": 1,
    "put in axis": 2,
    "put in call": 2,
    "put in operand": 2,
    "one off": 2,
    "collected": 2,
}
MORE = 400  # changes that are tried after the first that mends, for one that fits the reference better
ROUNDS = 100  # of a `while` beyond five times those that the answer takes: then the change has made it endless
ODD = (ArithmeticError, RuntimeError, TypeError, ValueError)  # a result that cannot be compared
SECONDS, PATIENCE = 0.5, 4.0  # the clock: of one change, of all
SEEDS = (1, 2)  # a change has to be right on these draws, too
PAIRED = {  # of which two are tried at once, where none mends: what is there, and is another or too much
    "extra", "axis", "number", "sign", "comparison", "operator", "order", "function", "transposition", "bound",
}  # fmt: skip
TWO = "two changes away: (1) {} (2) {}"


class Endless(Exception):
    """Raised in a changed answer whose `while` goes round and round."""


class Repair(NamedTuple):
    """A change that mends an answer: what is said of it, the change itself, and a known mistake beside it, if any."""

    message: str
    change: str
    beside: Candidate | None = None
    sure: bool = True  # False: something had to be put in, and where else it may belong is open
    line: str = ""  # the learner's line that it changes


def one_change(case: Case) -> Repair | None:
    """The change that makes the answer right on every draw, or that leaves it with a known mistake; None if none does.

    Raises nothing.
    """
    search = _searched(case)
    return search.one if search else None


def two_changes(case: Case) -> Repair | None:
    """Two changes that do so together, as far as the work suffices that one left over; None if none do."""
    search = _searched(case)
    return search.two() if search and search.one is None else None


@functools.lru_cache(1)  # it is asked for several times of each case
def _searched(case: Case) -> "_Search | None":
    tree = reading.tree_of(case.function)
    if tree is None or getattr(case.function, "__closure__", None):
        return None
    try:
        return _Search(case, Program(tree, textwrap.dedent(inspect.getsource(case.function))))
    except (SyntaxError, ValueError):
        return None


class _Search:
    def __init__(self, case: Case, program: Program):
        self.case, self.program = case, program
        self.space = {**IMPORTS, **inspect.unwrap(case.function).__globals__, edits.GOES_ON: self._goes_on}
        self.rounds, self.most = 0, 10**9
        wrong, right = case.wrong, [done for done in case.runs if done not in case.wrong]
        self.runs = sorted(wrong, key=_size) + right
        self.theirs, self.before = _words(reading.source_of(case.reference)), _words(program.text())
        self.mending: list[tuple[tuple[int, int], Edit, str]] = []
        self.beside: tuple[Edit, Candidate, str] | None = None
        self.left = 0  # tries
        self.near: list[tuple[int, Edit]] = []  # simple changes that do not mend, and how far from the reference then
        self.one = self._within(self._found)

    def _within(self, searched: Callable[[], Repair | None]) -> Repair | None:
        try:
            with Isolation.current.within(PATIENCE) as self.limit:
                return searched()
        except (Stopped, RecursionError, SyntaxError, ValueError):
            return None

    def _found(self) -> Repair | None:
        self._run(self.runs[0])
        self.most = 5 * self.rounds + ROUNDS
        self._try_all(WORK // (OVERHEAD + len(self.program.nodes) + edits.steps(self.case, self.runs[0].arguments)))
        if self.mending:
            (later, _), edit, change = min(self.mending, key=lambda one: one[0])
            line = self.program.line(edit.line or edit.at)
            return Repair(self.program.sentence(edit), change, sure=not later, line=line)
        if self.beside:
            edit, candidate, change = self.beside
            return Repair(self.program.sentence(edit), change, candidate)
        return None

    def two(self) -> Repair | None:
        return self._within(self._two)

    def _two(self) -> Repair | None:
        """Two changes at places apart that mend the answer together, those nearest to the reference."""
        near = [edit for _, edit in sorted(self.near, key=lambda one: one[0])]
        mending, places = [], [_place(edit) for edit in near]
        for one, other in sorted(itertools.combinations(range(len(near)), 2), key=sum)[: self.left]:
            if places[one] & places[other]:
                continue
            first, second = sorted((near[one], near[other]), key=lambda edit: (edit.line or edit.at).lineno)
            with self.program.made(first):
                change = self.program.change(first)
                with self.program.made(second):
                    if self._is_mended() and self._are_apart(first, second):
                        change = f"{change} {self.program.change(second)}"
                        mending.append((self._cost(first)[1], TWO.format(*map(self._where, (first, second))), change))
        return Repair(*min(mending)[1:]) if mending else None

    def _are_apart(self, one: Edit, other: Edit) -> bool:
        """Does what is shown of each say which of the two is meant?"""
        pieces = self.program.piece(one), self.program.piece(other)
        return pieces[0] not in pieces[1] and pieces[1] not in pieces[0]

    def _where(self, edit: Edit) -> str:
        return self.program.sentence(edit).removeprefix(edits.ONE)

    def _try_all(self, tries: int) -> None:
        seen = set()
        for edit in edits.changes(self.program, self.case):
            if tries <= 0:
                break
            with self.program.made(edit):
                text = self.program.text(edit)
                if text in seen:
                    continue
                seen.add(text)
                tries -= 1
                if self._mends(edit):
                    tries = min(tries, MORE)
                    self.mending.append((self._cost(edit), edit, self.program.change(edit)))
                elif edit.kind in PAIRED:
                    self.near.append((self._cost(edit)[1], edit))
        self.left = max(tries, 0)

    def _mends(self, edit: Edit) -> bool:
        """Is the program as it is now right on every input, of other seeds, too?"""
        first = self._run(self.runs[0])
        try:
            if not _is_right(first):
                if self.beside is None and not self.mending and edit.kind in SIMPLE:
                    self._look_beside(edit, first)
                return False
            return self._is_right_elsewhere()
        except ODD:
            return False

    def _is_mended(self) -> bool:
        try:
            return _is_right(self._run(self.runs[0])) and self._is_right_elsewhere()
        except ODD:
            return False

    def _is_right_elsewhere(self) -> bool:
        others = itertools.chain(self.runs[1:], *(self.case.more(seed) for seed in SEEDS))
        return all(_is_right(self._run(one)) for one in others)

    def _look_beside(self, edit: Edit, first: Run) -> None:
        """Does the program now do what a known mistake does?"""
        if first.error is not None or self.case.known.explain([first], ("rows",)) is None:
            return
        candidate = self.case.known.explain([first, *map(self._run, self.runs[1:])], ("rows",))
        if candidate and self._has_been_there(candidate):
            self.beside = edit, candidate, self.program.change(edit)

    def _run(self, on: Run) -> Run:
        try:
            function = self.program.function(self.space)
        except (SyntaxError, ValueError, TypeError) as error:
            return Run(on.arguments, on.want, error=error)
        self.rounds = 0
        with Isolation.current.within(SECONDS):
            done = run(function, on.arguments, on.want, Isolation.current.call)
        if isinstance(done.error, Stopped) and self.limit.passed:
            raise done.error
        done.number = on.number
        return done

    def _goes_on(self) -> bool:
        self.rounds += 1
        if self.rounds > self.most:
            raise Endless
        return True

    def _cost(self, edit: Edit) -> tuple[int, int]:
        """The lower, the rather it is this change that was missed: by its kind, and by what it makes of the program,
        how far that is from the reference and how much longer than before."""
        if edit.kind == "branch":  # which makes a comparison in its test right by accident
            return 0, -1
        new = _words(self.program.text())
        return LATER.get(edit.kind, 0), _distance(new, self.theirs) + max(0, new.total() - self.before.total())

    def _has_been_there(self, candidate: Candidate) -> bool:
        """Is the known mistake the answer's own, and not the change's?

        What it writes was there, what it leaves out was not, and the change does not lead away from it.
        """
        row = _words(reading.source_of(candidate.function))
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


def _place(edit: Edit) -> set:
    """What an edit is about: the expressions under it, and the fields that it writes to."""
    written = {(id(owner), field) for owner, field, *_ in edit.swaps}
    return written.union(id(node) for node in ast.walk(edit.at) if isinstance(node, ast.expr))


def _size(done: Run) -> int:
    return sum(value.numel() for value in done.arguments.values() if isinstance(value, Tensor))


def _words(text: str) -> Counter[str]:
    """Names, numbers and operators, without brackets and the like, which tell little."""
    return Counter(re.findall(r"\w+|[-+*/@~<>!&|^%]+=?|==", text))


def _distance(one: Counter[str], other: Counter[str]) -> int:
    """How many words stand in one of two programs alone."""
    return (one - other).total() + (other - one).total()
