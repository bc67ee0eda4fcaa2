"""Known mistakes as findings: one row, two at once, where it runs, in one branch."""

import inspect
import re
from dataclasses import replace
from typing import Any

from ..case import Case
from ..compare import as_tensor
from ..run.calls import Run
from ..search.repair import Repair, one_change
from ..verdict import Finding
from .changes import finding_of, repair_in_question, with_question
from .source import changed_in_place


def only_an_input_changed(case: Case) -> Finding | None:
    """Every result is right, but an input was changed."""
    return changed_in_place(case) if all(done.right for done in case.runs) else None


def changed_besides_a_mistake(case: Case) -> Finding | None:
    """An input is changed, which the known mistake that the answer makes does not do."""
    spoilt = [done for done in case.runs if done.changed]
    if not spoilt or case.known_row is None or any(case.known.spoils(case.known_row, done) for done in spoilt):
        return None
    return changed_in_place(case)


def fixed_in_a_new_line(case: Case) -> Finding | None:
    """Code given to be fixed behaves as before: the change that fixes it, if it is of a line of the learner's own."""
    if not _is_as_given(case):
        return None
    found = one_change(case)
    if found is None or found.beside or not found.sure:
        return None
    given = next(row for row in case.known.mistakes if row.name == case.broken)
    lines = {" ".join(line.split("  #")[0].split()) for line in inspect.getsource(given.function).splitlines()}
    return None if " ".join(found.line.split("  #")[0].split()) in lines else finding_of(found)


def _is_as_given(case: Case) -> bool:
    """Is it code that was given to be fixed, and still makes the mistake that was given with it?"""
    return bool(case.broken) and case.known_row is not None and case.broken in case.known_row.names


def known_mistake(case: Case) -> Finding | None:
    """A single known mistake."""
    return case.known_row.finding() if case.known_row else None


def known_mistakes(case: Case) -> Finding | None:
    """Two known mistakes at once, where no single change fixes the answer, or something that any result may have."""
    if pair := case.known.explain(case.runs, ("pairs",), case.source):
        return _single_change_instead(case) or pair.finding()
    return _explained(case, case.runs, "variants")


def mistake_and_more(case: Case) -> Finding | None:
    """A known mistake, and something that any result may have."""
    found = case.known.explain(case.runs, ("mixed",), case.source)
    if found and len(found.names) > 1 and (change := _single_change_instead(case, sure=False)):
        return change
    return found.finding() if found else None


def _single_change_instead(case: Case, sure: bool = True) -> Finding | None:
    """A single change that fixes everything, in place of two mistakes that fit together; not where all that a line
    computes would have to be looked at, of which the two say more."""
    change: Repair | None = repair_in_question(case)
    if change is None or change.beside or sure and not change.sure:
        return None
    computed = re.split(r"\breturn | = ", change.line, maxsplit=1)[-1]
    if change.piece == computed:
        return None
    return replace(with_question(case, finding_of(change)), by="one_change_away")


def known_in_one_branch(case: Case) -> Finding | None:
    """Where an argument is a switch, True or False: each branch may be wrong in its own way."""
    for name in [name for name, value in case.runs[0].arguments.items() if isinstance(value, bool)]:
        for value in (True, False):
            runs = [done for done in case.runs if done.arguments[name] is value]
            if len(runs) > 1 and not all(done.right for done in runs):
                if found := _explained(case, runs, "rows", "pairs"):
                    fields = {"name": name, "value": value, "found": found}
                    return replace(found, key="known.in_a_branch", fields=fields, words="")
    return None


def known_where_it_runs(case: Case) -> Finding | None:
    """The inputs without an exception, of which several are wrong; or those whose numbers are finite."""
    for runs in (
        [done for done in case.runs if done.error is None],
        [done for done in case.runs if done.error is None and _finite(done.result)],
    ):
        if len(runs) < len(case.runs) and sum(not done.right for done in runs) > 1:
            if found := _explained(case, runs, "rows", "pairs", "variants", "mixed"):
                return found
    return None


def _finite(result: Any) -> bool:
    numbers = as_tensor(result)
    return numbers is None or bool(numbers.isfinite().all())


def _explained(case: Case, runs: list[Run], *stages: str) -> Finding | None:
    candidate = case.known.explain(runs, stages, case.source)
    return candidate.finding() if candidate else None
