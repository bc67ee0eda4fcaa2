"""Which known mistake, or which two at once, an answer behaves like on every input."""

import functools
import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import rows, variants
from .running import Run, as_asked, copied, same


class Candidate(NamedTuple):
    """A function that is wrong in known ways: their names, sentences and threads.

    Where the second way is something done with a result, `function` gives the result of the first, and `after` goes on.
    `traces` are what an answer's code has to hold for the sentences to be said of it, each a regular expression; nor
    may it hold `absent`, names that these ways take out of the reference altogether.
    """

    names: tuple[str, ...]
    messages: tuple[str, ...]
    threads: tuple[str, ...]
    function: Callable
    after: Callable | None = None
    traces: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()

    def contradicts(self, source: str) -> bool:
        """Would one of the sentences speak of code that is not there, or miss what is there?"""
        if not source:
            return False
        return not all(re.search(trace, source) for trace in self.traces) or bool(self.absent & names_in(source))

    def sentence(self) -> str:
        """What is said of it: one sentence, or two with numbers."""
        text = self.messages[0] if len(self.messages) == 1 else "two things: (1) {} (2) {}".format(*self.messages)
        thread = next(filter(None, self.threads), "")
        return f"{text} You are in good company: {thread}" if thread else text


SYNONYMS = (  # names that can do one another's work
    {"T", "mT", "t", "transpose", "permute", "swapaxes", "swapdims", "movedim", "einsum", "adjoint"},
    {"sqrt", "pow", "rsqrt", "norm", "std", "normalize", "vector_norm"},
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


class Known:
    """All that is known to go wrong in one exercise. What a candidate does with a usual input is computed once."""

    def __init__(self, reference: Callable, mistakes: list[rows.Mistake], arguments: dict[str, Any]):
        self.reference, self.mistakes, self.names = reference, mistakes, list(arguments)
        self.rows = [Candidate((row.name,), (row.message,), (row.thread,), row.function) for row in mistakes]
        is_text = isinstance(reference(*map(copied, arguments.values())), str)
        results = variants.OF_TEXTS if is_text else variants.OF_RESULTS
        self.changes = [*results, *variants.of_arguments(arguments)]
        self.variants = [
            Candidate((one.name,), (one.message,), (), *one.upon(reference, self.names)) for one in self.changes
        ]
        self.kept: dict[Callable, dict[int, Run]] = {}

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
        threads = (one.thread, getattr(other, "thread", ""))
        traces, absent = self._signs(one, other)
        traces += (getattr(other, "trace", "") or "",)
        messages = (one.message, other.message)
        return Candidate((one.name, other.name), messages, threads, function, after, traces, absent)

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
        return tuple(map(_any_of, sorted(put_in))), frozenset(gone)

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
            return type(learner.error) is type(other.error)
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
        if learner.number in kept:
            return kept[learner.number]
        done = Run(learner.arguments, learner.want)
        try:
            done.result = function(*map(copied, learner.arguments.values()))
        except Exception as error:
            done.error = error.with_traceback(None)
        if learner.number is not None:
            kept[learner.number] = done
        return done
