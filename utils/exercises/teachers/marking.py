"""What notebooks exported for nbgrader and otter-grader call (tools/notebooks/export.py): points for one exercise.

Below an exercise's cell is one that judges what it defined and says why, as `check` does. Then the notebook goes on
with the reference where the answer is not right, so that no mistake costs the points of a later exercise.
"""

import contextlib
from typing import Any

from ...judge.exercise import catalogue
from ...judge.verdict import MARKS
from .grading import judge


def mark(name: str, points: float, space: dict[str, Any], seed: int = 0) -> float:
    """Print the verdict on the answer `space[name]` and return the points it earns: all, half or none.

    Half of them where at least half of the inputs come out right. `space` is `globals()`; a wrong answer in it is
    replaced by the reference. `seed` draws other inputs. ValueError where there is no exercise of that name.
    """
    verdict = _judged(name, space, seed)
    if verdict["status"] != "right":
        space[name] = catalogue()[name].course
    print(f"{MARKS.get(verdict['status'], '–')} {name}: {verdict['message']}")
    return points * verdict["credit"]


def require(name: str, credit: float, space: dict[str, Any], seed: int = 0) -> None:
    """Raise AssertionError, with what `check` would say, where the answer `space[name]` earns less than `credit`."""
    verdict = _judged(name, space, seed)
    if verdict["credit"] < credit:
        raise AssertionError(verdict["message"])


def go_on(name: str, space: dict[str, Any], seed: int = 0) -> None:
    """Put the reference in place of the answer `space[name]` unless that is right."""
    if _judged(name, space, seed)["status"] != "right":
        space[name] = catalogue()[name].course


def _judged(name: str, space: dict[str, Any], seed: int) -> dict[str, Any]:
    known, answer = catalogue(), space.get(name)
    if name not in known:
        raise ValueError(f"there is no exercise named {name!r}: is the course another version than the notebook?")
    with contextlib.suppress(Exception):  # an answer may be anything, one that raises when it is asked included
        if str(getattr(answer, "__module__", "")).startswith("utils."):  # the cell failed, and an import has this name
            answer = known[name].course  # judged as what it is: the course's own
    verdict = judge(known[name], answer, None, seed)
    if answer is None:
        verdict["message"] = f"its cell defines no {known[name].asked} of this name: does the cell end in an error?"
    return verdict
