"""Which known mistake, or which two at once, an answer behaves like on every input."""

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import rows, variants
from .running import Run, as_asked, copied, holds_nan, same


class Candidate(NamedTuple):
    """A function that is wrong in known ways: their names, sentences and threads."""

    names: tuple[str, ...]
    messages: tuple[str, ...]
    threads: tuple[str, ...]
    function: Callable

    def sentence(self) -> str:
        """What is said of it: one sentence, or two with numbers."""
        text = self.messages[0] if len(self.messages) == 1 else "two things: (1) {} (2) {}".format(*self.messages)
        return text + "".join(f" You are in good company: {thread}" for thread in self.threads if thread)


class Known:
    """All that is known to go wrong in one exercise. What a candidate does with a usual input is computed once."""

    def __init__(self, reference: Callable, mistakes: list[rows.Mistake], arguments: dict[str, Any]):
        self.reference, self.mistakes, self.names = reference, mistakes, list(arguments)
        self.variants = [*variants.of_arguments(arguments), *variants.OF_RESULTS]
        self.singles = [Candidate((row.name,), (row.message,), (row.thread,), row.function) for row in mistakes]
        for variant in self.variants:
            function = variant.applied(reference, self.names)
            self.singles.append(Candidate((variant.name,), (variant.message,), (), function))
        self.done: dict[tuple, Run] = {}

    @functools.cached_property
    def doubles(self) -> list[Candidate]:
        """Two at once, the more basic first: two rows of edits, then a row and what can go wrong anywhere."""
        rows_of_edits = rows.pairs(self.mistakes)
        found = [
            _both(one, other, rows.edited(self.reference, one.edits + other.edits)) for one, other in rows_of_edits
        ]
        for row, variant in itertools.product(self.mistakes, self.variants):
            found.append(_both(row, variant, variant.applied(row.function, self.names)))
        return found

    def explain(self, runs: list[Run]) -> Candidate | None:
        """The first candidate that does on all these inputs what the answer did."""
        runs = sorted(runs, key=lambda done: done.right)  # where the answer is right, so are most candidates
        for candidate in itertools.chain(self.singles, (double for double in self.doubles)):
            if all(self._alike(candidate, done) for done in runs):
                return candidate
        return None

    def _alike(self, candidate: Candidate, learner: Run) -> bool:
        """Does the candidate give the learner's result, if only as a list, or raise the learner's kind of exception?

        NaN of the inputs that leaked into the learner's result hides what else is wrong: such entries count as alike.
        """
        other = self._outcome(candidate, learner)
        if learner.error is not None or other.error is not None:
            return type(learner.error) is type(other.error)
        result, expected = as_asked(learner.result, other.result), other.result
        if holds_nan(learner.arguments) and all(isinstance(part, Tensor) for part in (result, expected)):
            if result.shape == expected.shape and expected.is_floating_point():
                expected = expected.masked_fill(result.isnan(), torch.nan)
        if not learner.right and not learner.changed and same(expected, learner.want):
            return False  # no mistake on this input: something else is wrong there
        return same(result, expected)

    def _outcome(self, candidate: Candidate, learner: Run) -> Run:
        key = (candidate.names, learner.number)
        done = self.done.get(key) if learner.number is not None else None
        if done is None:
            done = Run(learner.arguments, learner.want)
            try:
                done.result = candidate.function(*map(copied, learner.arguments.values()))
            except Exception as error:
                done.error = error.with_traceback(None)
            if learner.number is not None:
                self.done[key] = done
        return done


def _both(one: rows.Mistake, other: rows.Mistake | variants.Variant, function: Callable) -> Candidate:
    threads = (one.thread, getattr(other, "thread", ""))
    return Candidate((one.name, other.name), (one.message, other.message), threads, function)
