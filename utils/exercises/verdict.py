"""What the judge says: a `Verdict` on an answer, and of a wrong one the `Finding` that speaks."""

from dataclasses import dataclass

MARKS = {"todo": "○", "right": "✔", "wrong": "✘"}


@dataclass(frozen=True)
class Finding:
    """What is said of a wrong answer, the names of the known mistakes that it fell into, and, where a change was found
    that mends it, that change, for the last hint; `by` is the finding that speaks."""

    message: str
    names: tuple[str, ...] = ()
    change: str = ""
    by: str = ""


@dataclass(frozen=True)
class Verdict:
    """Status "todo", "right" or "wrong"; the diagnosis; what the function printed and displayed on the first draw.

    `names` are those of the known mistakes that the answer fell into; `fits` is False where a right answer comes in
    another precision, or not as a tensor, `exact` where it loses digits of what comes in; `share` is that of the usual
    inputs on which the answer is right; `change` is what would mend it, for the last hint; `by` is the finding that
    speaks.
    """

    status: str
    message: str
    names: tuple[str, ...] = ()
    printed: str = ""
    shown: tuple = ()
    fits: bool = True
    exact: bool = True
    share: float = 0.0
    change: str = ""
    by: str = ""

    @property
    def credit(self) -> float:
        """1 for a right answer, one half where at least half of the inputs come out right, or else 0."""
        return 1.0 if self.status == "right" else 0.5 if self.share >= 0.5 else 0.0
