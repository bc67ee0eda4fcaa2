"""Which known mistake, or which two at once, an answer behaves like on every input."""

import contextlib
import functools
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..compare import as_asked, same, unchanged
from ..run.calls import Run, copied
from ..run.errors import BROADCAST, PRODUCTS
from ..run.layers import Misbuilt
from ..run.sandbox import Sandbox, Stopped
from ..verdict import Finding, in_a_row
from . import rows, variants


class SourceTest(NamedTuple):
    """What an answer's code has to hold for a sentence to be said of it, each a regular expression; and names that it
    must not read, for these mistakes take them out of the reference altogether."""

    must_hold: tuple[str, ...] = ()
    must_not_read: frozenset[str] = frozenset()

    def fits(self, source: str) -> bool:
        """Where the source is not known, everything fits."""
        if not source:
            return True
        return all(re.search(one, source) for one in self.must_hold) and not self.must_not_read & names_in(source)


class Candidate(NamedTuple):
    """A function that is wrong in known ways: what is said of each, the threads where they happened, and what an
    answer's source has to hold.

    Where the second way is something done with a result, `function` gives the result of the first, and `after` goes on.
    """

    parts: tuple[Finding, ...]
    threads: tuple[str, ...]
    function: Callable
    after: Callable | None = None
    source: SourceTest = SourceTest()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.names)

    def finding(self, **how: Any) -> Finding:
        """What is said of it: one sentence, or two with numbers."""
        said = self.parts[0] if len(self.parts) == 1 else two_things(*self.parts)
        if thread := next(filter(None, self.threads), ""):
            said = in_a_row(said, Finding("known.thread", {"thread": thread}))
        return replace(said, names=self.names, **how)


def two_things(one: Finding, other: Finding) -> Finding:
    return Finding("known.two_things", {"one": one, "other": other})


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
# what divides, or multiplies by a broken number
DIVIDES = r"/|div|mean|average|norm|cosine|std|softmax|scaled_dot|reciprocal|\*\* ?-|\.\d"
PATIENCE = 0.5  # seconds of work for one input: on altered arguments a loop of the reference may never end
EVERYWHERE = {"shape", "size", "len", "torch", "math", "range", "float", "to", "dtype"}  # what can be written otherwise


def names_in(code: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", code))


def _called(code: str) -> set[str]:
    """The names of methods and functions in a piece of code."""
    return set(re.findall(r"(?<=\.)[A-Za-z_]\w*|\b[A-Za-z_]\w*(?=\()", code))


def _any_of(name: str) -> str:
    """A pattern for a name, or for another that does its work; of a sum, `@` does, too."""
    names = set().union({name}, *(group for group in SYNONYMS if name in group))
    pattern = rf"\b({'|'.join(map(re.escape, sorted(names)))})\b"
    return f"{pattern}|@" if "sum" in names else pattern


def _put_in(row: rows.Mistake) -> str:
    """The code that a row writes."""
    return " ".join(edit.new for edit in row.edits) if row.edits else row.name


def _taken_out(reference: Callable, row: rows.Mistake) -> str:
    """The code of the reference in whose place it is."""
    body = rows.body_of(reference)[1]
    return " ".join(body[edit.start : edit.end] for edit in row.edits) if row.edits else body


def _kind(error: BaseException | None) -> str:
    """Of an exception about shapes, whether it is of a product, or of what is paired up entry by entry; of one about a
    class, what is said; else ""."""
    if isinstance(error, Misbuilt):
        return error.said.digits
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
            Candidate((one.said,), (), one.applied_to(reference, self.names), one.after) for one in self.changes
        ]
        self.kept: dict[Callable, dict[int, Run]] = {}
        self.endless: set[str] = set()  # changes with which the reference was stopped

    def _alone(self, row: rows.Mistake) -> Candidate:
        """A row by itself. Its code may be written otherwise, where the row does not say what has to be there."""
        own = _put_in(row)
        divides = (DIVIDES,) if own.count("/") > _taken_out(self.reference, row).count("/") else ()
        return Candidate((row.said,), (row.thread,), row.function, None, SourceTest((*row.only_where, *divides)))

    @functools.cached_property
    def pairs(self) -> list[Candidate]:
        """Two rows of edits at once, the more basic first."""
        both = rows.pairs(self.mistakes)
        return [self._both(one, other, rows.edited(self.reference, one.edits + other.edits)) for one, other in both]

    @functools.cached_property
    def mixed(self) -> list[Candidate]:
        """A row, and what can go wrong in any exercise."""
        both = itertools.product(self.mistakes, [one for one in self.changes if one.name not in self.endless])
        return [self._both(row, one, one.applied_to(row.function, self.names), one.after) for row, one in both]

    def _both(
        self,
        one: rows.Mistake,
        other: rows.Mistake | variants.Variant,
        function: Callable,
        after: Callable | None = None,
    ) -> Candidate:
        if other.name == variants.MINUS:  # another formula than the right one has no sign to be turned round
            alone = self.rows[self.mistakes.index(one)]
            return alone._replace(function=function, after=after)
        threads = (one.thread, getattr(other, "thread", ""))
        return Candidate((one.said, other.said), threads, function, after, self._source_test_of_pair(one, other))

    def _source_test_of_pair(self, *parts: rows.Mistake | variants.Variant) -> SourceTest:
        """What both put into the reference together has to be there, and what they take out of it altogether not."""
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
        traces = [one.trace for one in parts if isinstance(one, variants.Variant)]
        only_where = [one for row in given for one in row.only_where]
        return SourceTest((*map(_any_of, sorted(put_in)), *divides, *traces, *only_where), frozenset(gone))

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
                continue  # what is behind an exception cannot be seen
            for candidate in getattr(self, stage):
                if all(self._alike(candidate, done) for done in runs) and candidate.source.fits(source):
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
            with Sandbox.current.within(PATIENCE) if Sandbox.current else contextlib.nullcontext():
                done.result = function(*copies.values())
        except (Exception, Stopped) as error:
            done.error = error.with_traceback(None)
        if isinstance(done.error, Stopped):
            self.endless |= {name for one in self.variants if one.function is function for name in one.names}
        if learner.changed:
            done.changed = tuple(
                name for name in learner.changed if not unchanged(learner.arguments[name], copies[name])
            )
        if learner.number is not None:
            kept[learner.number] = done
        return done
