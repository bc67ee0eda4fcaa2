"""A wrong answer, as the findings see it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from torch import Tensor

from .catalogue.candidates import Candidate, Known
from .run.calls import Run
from .syntax import source_of, unread
from .wording import letters_of


@dataclass(eq=False)
class Case:
    """A wrong answer: the reference, what is asked and known of the exercise, and how the answer did on the inputs."""

    reference: Callable
    function: Callable
    runs: list[Run]
    known: Known
    intermediates: dict[str, Callable] = field(default_factory=dict)
    question_by_line: dict[str, str] = field(default_factory=dict)
    broken: str = ""  # the name of the mistake that the code holds which is to be fixed
    draws_of_seed: Callable[[int], Iterator[Run]] | None = (
        None  # other inputs by seed, not run; None: no change is searched for
    )
    right_answers: list[Callable] = field(default_factory=list)  # right answers in other words than the reference's

    @cached_property
    def wrong(self) -> list[Run]:
        return [done for done in self.runs if not done.right or done.changed]

    @property
    def first_wrong(self) -> Run:
        return self.wrong[0]

    @cached_property
    def known_row(self) -> Candidate | None:
        """The known mistake that the answer makes, if it is one alone."""
        return self.known.explain(self.runs, ("rows",), self.source)

    @cached_property
    def unused(self) -> list[str]:
        """The arguments that the answer never reads, though the reference and all other right answers do."""
        needed = [unread(one) for one in (self.reference, *self.right_answers)]
        return [name for name in unread(self.function) if not any(name in one for one in needed)]

    @cached_property
    def source(self) -> str:
        return source_of(self.function)

    @cached_property
    def letters(self) -> dict[str, tuple[str, ...]]:
        return letters_of(self.reference)

    def unnamed(self, done: Run) -> set[int]:
        """The lengths of axes that have no letter in the docstring, such as those of a batch."""
        tensors = {name: value for name, value in done.arguments.items() if isinstance(value, Tensor)}
        letters = {name: [one for one in self.letters.get(name, ()) if one not in ("…", "...")] for name in tensors}
        return {
            size for name, value in tensors.items() for size in value.shape[: max(0, value.ndim - len(letters[name]))]
        }

    def sizes(self, done: Run) -> dict[str, int]:
        """How long each letter of the docstring is in this input; whole numbers by their own names."""
        sizes = {}
        for name, value in done.arguments.items():
            if type(value) is int:
                sizes[name] = value
            elif isinstance(value, Tensor):
                sizes |= dict(zip(self.letters.get(name, ())[::-1], value.shape[::-1]))
        return {name: size for name, size in sizes.items() if name not in ("…", "...", "1")}
