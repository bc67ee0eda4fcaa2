"""Changes of the learner's own code that make it right."""

import re
from dataclasses import replace

from ..case import Case
from ..catalogue.candidates import two_things
from ..facts import is_ambiguous, is_self_explanatory
from ..run.errors import own_line
from ..search.repair import Repair, one_change
from ..verdict import Finding, in_a_row
from .kinds import kind_difference


def one_change_away(case: Case) -> Finding | None:
    """The place of the change that fixes the answer, or that leaves it with a known mistake."""
    found = repair_in_question(case)
    return with_question(case, finding_of(found)) if found and found.sure else None


def something_missing(case: Case) -> Finding | None:
    """The place where something has to be put in, which then fixes the answer."""
    found = repair_in_question(case)
    return finding_of(found) if found else None


def repair_in_question(case: Case) -> Repair | None:
    """The change that makes the answer right, where nothing plainer is to be said of it."""
    return one_change(case) if may_be_repaired(case) else None


def may_be_repaired(case: Case) -> bool:
    """Is a change looked for, or does something plainer say what is wrong?"""
    if case.first_wrong.error is None:
        return not case.unused and kind_difference(case) is None
    return is_ambiguous(case) or not is_self_explanatory(case)


def with_question(case: Case, found: Finding) -> Finding:
    """With what the exercise asks about the line of an exception that says what does not fit, but not why."""
    if not is_ambiguous(case):
        return found
    line = own_line(case.first_wrong.error, case.function)
    questions = case.question_by_line.items()
    asked = next((text for pattern, text in questions if pattern and re.search(pattern, line)), "")
    how = {"names": found.names, "change": found.change, "by": found.by}
    return in_a_row(found, Finding("question", words=asked), **how) if asked else found


def finding_of(found: Repair) -> Finding:
    """What is said of a change: where to look, with the known mistake beside it, if any."""
    if found.beside is None:
        return replace(found.said, change=found.change)
    return replace(two_things(found.beside.finding(), found.said), names=found.beside.names, change=found.change)
