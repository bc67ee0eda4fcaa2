"""Which known mistake, or which two at once, an answer behaves like on every input."""

import functools
import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import rows, variants
from .classes import Misbuilt
from .remedies import BROADCAST, PRODUCTS
from .running import Run, as_asked, copied, same, unchanged


class Candidate(NamedTuple):
    """A function that is wrong in known ways: their names, sentences and threads.

    Where the second way is something done with a result, `function` gives the result of the first, and `after` goes on.
    `traces` are what an answer's code has to hold for the sentences to be said of it, each a regular expression; nor
    may it hold `absent`, names that these ways take out of the reference altogether, nor `cures`, the calls that a
    sentence asks for. `off_axis`: they go along another
    axis than the last, so an answer that goes along no other is meant by none of them.
    """

    names: tuple[str, ...]
    messages: tuple[str, ...]
    threads: tuple[str, ...]
    function: Callable
    after: Callable | None = None
    traces: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()
    off_axis: bool = False
    cures: tuple[str, ...] = ()

    def contradicts(self, source: str) -> bool:
        """Would one of the sentences speak of code that is not there, or miss what is there?"""
        if not source:
            return False
        if self.off_axis and _goes_along_the_last(source):
            return True
        if any(cure in source for cure in self.cures):
            return True
        return not all(re.search(trace, source) for trace in self.traces) or bool(self.absent & names_in(source))

    def sentence(self) -> str:
        """What is said of it: one sentence, or two with numbers."""
        text = self.messages[0] if len(self.messages) == 1 else "two things: (1) {} (2) {}".format(*self.messages)
        thread = next(filter(None, self.threads), "")
        return f"{text} You are in good company: {thread}" if thread else text


SYNONYMS = (  # names that can do one another's work
    {"T", "mT", "t", "transpose", "permute", "swapaxes", "swapdims", "movedim", "einsum", "adjoint"},
    {"sqrt", "pow", "rsqrt", "norm", "std", "normalize", "vector_norm"},
    {"var", "std", "cov"},
    {"softmax", "exp", "log_softmax", "logsumexp"},
    {"sum", "mean", "einsum", "matmul", "dot", "cumsum"},
    {"max", "amax", "argmax", "topk", "sort"},
    {"min", "amin", "argmin"},
    {"relu", "clamp", "maximum", "max", "where"},
    {"log", "log_softmax", "cross_entropy", "nll_loss"},
    {"masked_fill", "masked_fill_", "where"},
    {"reshape", "view", "flatten", "unflatten"},
    {"zeros", "zeros_like", "new_zeros"},
)

AXIS = re.compile(
    r"\b(?:dim|axis)=(-?\w+)"
    r"|\b(?:softmax|log_softmax|logsumexp|sum|mean|amax|max)\((?:(?:[^()]|\((?:[^()]|\([^()]*\))*\))*, )?(-?\d)\b"
)
OWN_SOFTMAX = re.compile(r"(?<![.\w])softmax\(")  # the exercise's: it goes along the last axis
# what divides, or multiplies by a broken number
DIVIDES = r"/|div|mean|average|norm|cosine|std|softmax|scaled_dot|reciprocal|\*\* ?-|\.\d"

EVERYWHERE = {"shape", "size", "len", "torch", "math", "range", "float", "to", "dtype"}  # what can be written otherwise


def names_in(code: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", code))


def _called(code: str) -> set[str]:
    """The names of methods and functions in a piece of code."""
    return set(re.findall(r"(?<=\.)[A-Za-z_]\w*|\b[A-Za-z_]\w*(?=\()", code))


def _goes_along_the_last(source: str) -> bool:
    """Do all calls that go along an axis name the last one, -1? In a loop, an axis can be taken by an index as well."""
    axes = {one or other for one, other in AXIS.findall(source)} | {"-1" for _ in OWN_SOFTMAX.findall(source)}
    return axes == {"-1"} and not re.search(r"\bfor\b", source)


def _any_of(name: str) -> str:
    """A pattern for a name, or for another that does its work; of a sum, `@` does, too."""
    names = set().union({name}, *(group for group in SYNONYMS if name in group))
    pattern = rf"\b({'|'.join(map(re.escape, sorted(names)))})\b"
    return f"{pattern}|@" if "sum" in names else pattern


JOINING = {"stack", "cat", "append", "extend"}  # a sentence that names one of them is of that call
NAMED = re.compile(r"\b[A-Za-z_]\w*(?=\()|(?<=\.)[A-Za-z_]\w*")
CALL = re.compile(r"\.\w+\([^()]+\)")  # a method with its arguments, as in `.sum(0)`
INDEXED = re.compile(r"\b((?=[A-Za-z_])\w+)\[[^\]]*\]")


def _put_in(row: rows.Mistake) -> str:
    """The code that a row writes."""
    return " ".join(edit.new for edit in row.edits) if row.edits else row.name


def _taken_out(reference: Callable, row: rows.Mistake) -> str:
    """The code of the reference in whose place it stands."""
    body = rows.body_of(reference)[1]
    return " ".join(body[edit.start : edit.end] for edit in row.edits) if row.edits else body


def _kind(error: BaseException | None) -> str:
    """Of an exception about shapes, whether it is of a product, or of what is paired up entry by entry; of one about a
    class, what it says; else ""."""
    if isinstance(error, Misbuilt):
        return str(error)
    text = str(error) if isinstance(error, RuntimeError) else ""
    if re.search(BROADCAST, text):
        return "entries"
    return "product" if any(re.search(pattern, text) for pattern in PRODUCTS) else ""


class Known:
    """All that is known to go wrong in one exercise. What a candidate does with a usual input is computed once."""

    def __init__(self, reference: Callable, mistakes: list[rows.Mistake], arguments: dict[str, Any]):
        self.reference, self.mistakes, self.names = reference, mistakes, list(arguments)
        self.rows = [self._alone(row) for row in mistakes]
        self.changes = [*variants.OF_RESULTS, *variants.of_arguments(arguments)]
        self.variants = [
            Candidate((one.name,), (one.message,), (), *one.upon(reference, self.names)) for one in self.changes
        ]
        self.kept: dict[Callable, dict[int, Run]] = {}

    def _alone(self, row: rows.Mistake) -> Candidate:
        """A row by itself. Its code may be written otherwise, but for what its sentence names."""
        own: str = _put_in(row)
        traces: tuple[str, ...] = ()
        new = _called(own) - _called(rows.body_of(self.reference)[1])
        blamed = re.split(r"[.:?] ", row.message)[0]  # what follows is the cure
        traces += tuple(_any_of(name) for name in sorted(new & set(NAMED.findall(blamed))))
        traces += tuple(rf"\b{name}\b" for name in sorted(new & JOINING & names_in(blamed)))
        pieces = [found for found in INDEXED.finditer(blamed) if found[0] in own]
        traces += tuple(rf"\b{found[1]}\[" for found in pieces)
        traces += (DIVIDES,) if own.count("/") > len(re.findall("/", _taken_out(self.reference, row))) else ()
        off_axis = self._is_off_axis(row)
        left = rows.apply(rows.body_of(self.reference)[1], row.edits) if row.edits else own
        cures = tuple(call for call in CALL.findall(row.message.removeprefix(blamed)) if call not in left)
        return Candidate(
            (row.name,), (row.message,), (row.thread,), row.function, None, traces, off_axis=off_axis, cures=cures
        )

    def _is_off_axis(self, row: rows.Mistake) -> bool:
        """Is the last axis exchanged for another, so that the sentence asks for `dim=-1`?"""
        body = rows.body_of(self.reference)[1]
        olds = [body[edit.start : edit.end] for edit in row.edits]
        return "dim=-1" in row.message and any(
            "dim=-1" in old and re.search(r"\bdim=(?!-1\b)", edit.new) for old, edit in zip(olds, row.edits)
        )

    @functools.cached_property
    def pairs(self) -> list[Candidate]:
        """Two rows of edits at once, the more basic first."""
        both = rows.pairs(self.mistakes)
        return [self._both(one, other, rows.edited(self.reference, one.edits + other.edits)) for one, other in both]

    @functools.cached_property
    def mixed(self) -> list[Candidate]:
        """A row, and what can go wrong in any exercise."""
        both = itertools.product(self.mistakes, self.changes)
        return [self._both(row, change, *change.upon(row.function, self.names)) for row, change in both]

    def _both(
        self,
        one: rows.Mistake,
        other: rows.Mistake | variants.Variant,
        function: Callable,
        after: Callable | None = None,
    ) -> Candidate:
        if other.name == "- x":  # another formula than the right one has no sign to be turned round
            alone = self.rows[self.mistakes.index(one)]
            return alone._replace(function=function, after=after)
        threads = (one.thread, getattr(other, "thread", ""))
        traces, absent = self._signs(one, other)
        traces += (getattr(other, "trace", "") or "",)
        messages = (one.message, other.message)
        off_axis = any(self._is_off_axis(part) for part in (one, other) if isinstance(part, rows.Mistake))
        return Candidate((one.name, other.name), messages, threads, function, after, traces, absent, off_axis)

    def _signs(self, *parts: rows.Mistake | variants.Variant) -> tuple[tuple[str, ...], frozenset[str]]:
        """What rows put into the reference together, as patterns, and the names that they take out of it altogether."""
        body, given = rows.body_of(self.reference)[1], [part for part in parts if isinstance(part, rows.Mistake)]
        edits = tuple(edit for row in given for edit in row.edits)
        left = rows.apply(body, edits) if edits else given[0].name
        put_in = _called(left) - _called(body) - names_in(body) - EVERYWHERE
        gone = (names_in(body) - names_in(left)) & (_called(body) | set(self.names))
        for row in given:
            if row.edits and all(
                edit.new in ("", "pass") for edit in row.edits
            ):  # an argument that has no say is nowhere
                gone |= (names_in(body) - names_in(rows.apply(body, row.edits))) & set(self.names)
        divides = (DIVIDES,) if left.count("/") > body.count("/") else ()
        return (*map(_any_of, sorted(put_in)), *divides), frozenset(gone)

    def spoils(self, candidate: Candidate, learner: Run) -> bool:
        """Does the candidate change what it is given, as the learner's function did?"""
        return bool(self._done(candidate.function, learner).changed)

    def explain(self, runs: list[Run], stages: tuple[str, ...], source: str = "") -> Candidate | None:
        """The first candidate that does on all these inputs what the answer did, and fits its source if there is one.

        Stages: "rows", "pairs", "variants", "mixed".
        """
        runs = sorted(runs, key=lambda done: done.right)  # where the answer is right, so are most candidates
        only_raised = all(done.error is not None for done in runs if not done.right)
        for stage in stages:
            if only_raised and stage in ("pairs", "mixed"):
                continue  # what stands behind an exception cannot be seen
            for candidate in getattr(self, stage):
                if all(self._alike(candidate, done) for done in runs) and not candidate.contradicts(source):
                    return candidate
        return None

    def _alike(self, candidate: Candidate, learner: Run) -> bool:
        """Does the candidate give the learner's result, if only as a list, or raise the learner's kind of exception?

        NaN of the inputs that leaked into the learner's result hides what else is wrong: such entries count as alike.
        """
        other = self._outcome(candidate, learner)
        if learner.error is not None or other.error is not None:
            kinds = {_kind(learner.error), _kind(other.error)} - {""}
            return type(learner.error) is type(other.error) and len(kinds) < 2
        if learner.differs_from(other.result):
            return False
        result, expected = as_asked(learner.result, other.result), other.result
        if learner.given_nan and all(isinstance(part, Tensor) for part in (result, expected)):
            if result.shape == expected.shape and expected.is_floating_point():
                expected = expected.masked_fill(result.isnan(), torch.nan)
        if not same(result, expected):
            return False
        return learner.right or bool(learner.changed) or not same(expected, learner.want)  # no mistake: no explanation

    def _outcome(self, candidate: Candidate, learner: Run) -> Run:
        done = self._done(candidate.function, learner)
        if candidate.after is None or done.error is not None:
            return done
        after = Run(learner.arguments, learner.want)
        try:
            after.result = candidate.after(done.result)
        except Exception:  # it makes no sense there: it explains nothing
            pass
        return after

    def _done(self, function: Callable, learner: Run) -> Run:
        """What a function does with the learner's input, computed once if it is a usual one."""
        kept = self.kept.setdefault(function, {})
        if learner.number in kept and not learner.changed:
            return kept[learner.number]
        done = Run(learner.arguments, learner.want)
        copies = {name: copied(value) for name, value in learner.arguments.items()}
        try:
            done.result = function(*copies.values())
        except Exception as error:
            done.error = error.with_traceback(None)
        if learner.changed:
            done.changed = tuple(
                name for name in learner.changed if not unchanged(learner.arguments[name], copies[name])
            )
        if learner.number is not None:
            kept[learner.number] = done
        return done
