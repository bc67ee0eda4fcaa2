"""What is said of a wrong answer: the first finding of `ORDER` that applies speaks.

A finding takes a `Case` and returns a `Finding` or None. It is asked only where what it needs is there: the answer's
source, the first wrong input's result, or the exception that it raised. All but the known mistakes look at the first
wrong input first: later ones may go wrong for its reason. No finding calls another; what several need is a fact
(facts.py).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from torch import Tensor

from ..case import Case
from ..compare import RIGHT, same
from ..facts import is_self_explanatory
from ..run.calls import Run
from ..search.blame import wrong_step
from ..search.steps import last_right_step
from ..verdict import Finding
from . import catalogue, changes, exceptions, kinds, shapes, source, values


class Rule(NamedTuple):
    """A finding in its order: what it needs, "source", "result", "exception" or ""; whether it leaves the cause open,
    so that the place of the mistake is put in front; and of what it is asked."""

    finding: Callable[[Case], Finding | None]
    needs: str = ""
    leaves_open: bool = False
    asked_of: str = "answer"  # or a part of a result, or an edge

    def of(self, case: Case) -> Finding | None:
        """What it finds, under its name."""
        has = {"source": bool(case.source), "exception": case.first_wrong.error is not None, "": True}
        has["result"] = not has["exception"]
        found = self.finding(case) if has[self.needs] else None
        return replace(found, by=found.by or self.finding.__name__) if found else None


def _first(case: Case, what: str) -> tuple[Rule, Finding]:
    """The first rule that applies, of those that are asked of "answer", "part" or "edge"."""
    found: Iterator = ((rule, rule.of(case)) for rule in ORDER if what in rule.asked_of.split())
    return next((rule, said) for rule, said in found if said)


def diagnosis(case: Case) -> Finding:
    """What the first finding that applies has found; where it leaves the cause open, behind what is right."""
    rule, found = _first(case, "answer")
    return behind_its_place(case, rule.finding, found) if rule.leaves_open and not is_self_explanatory(case) else found


def at_an_edge(case: Case) -> Finding:
    """What is seen of an answer that is wrong for an edge of what may go in: the cause is in the edge's name."""
    done = case.first_wrong
    if done.error is None and isinstance(done.result, tuple) and isinstance(done.want[0], Tensor):
        pairs = zip(done.result, done.want) if len(done.result) == len(done.want) else ()
        parts = [Run(done.arguments, want, got, changed=done.changed) for got, want in pairs]
        wrong = next((place for place, part in enumerate(parts) if not part.right), None)
        if wrong is not None:
            found = at_an_edge(replace(case, runs=[parts[wrong]]))
            return _of_a_part("order.result", found, wrong, len(parts))
    return _first(case, "edge")[1]


def _of_a_part(key: str, found: Finding, place: int, number: int) -> Finding:
    return replace(found, key=key, fields={"place": place + 1, "number": number, "found": found}, words="")


def in_one_part(case: Case) -> Finding | None:
    """Where several tensors are asked for: what is wrong with the last one that is not right, for the others are made
    of it as often as not."""
    want = case.first_wrong.want
    if not isinstance(want, tuple) or not isinstance(want[0], Tensor):
        return None
    runs = [done for done in case.runs if isinstance(done.result, tuple) and len(done.result) == len(want)]
    wrong = [i for i in range(len(want)) if not all(same(done.result[i], done.want[i], RIGHT) for done in runs)]
    parts = [Run(done.arguments, done.want[wrong[-1]], done.result[wrong[-1]], number=done.number) for done in runs]
    part = Case(case.reference, case.function, parts, case.known, case.intermediates, case.question_by_line)
    rule, found = _first(part, "part")
    key = "order.only_result" if len(wrong) == 1 else "order.result"
    said = replace(_of_a_part(key, found, wrong[-1], len(want)), by="in_one_part")
    return behind_its_place(case, in_one_part, said) if rule.leaves_open else said


def behind_its_place(case: Case, finding: Callable, found: Finding) -> Finding:
    """A finding that leaves the cause open, behind the place of the mistake, or else behind what is right."""
    is_unused = finding is source.unused_argument
    if finding is shapes.wrong_shape and (unused := source.what_is_unused(case)):
        found = replace(found, key="steps.behind", fields={"where": unused, "what": found})
    wrong = wrong_step(case) if case.draws_of_seed is not None else None
    if wrong and (wrong.is_alone or not is_unused):
        before = None if wrong.is_alone else last_right_step(case)
        is_before = before is not None and before.line <= wrong.at and wrong.piece not in before.following
        where = _behind(before.finding(), wrong.finding()) if is_before else wrong.finding()
        return replace(_behind(where, found), by="wrong_step")
    if not is_unused and (step := last_right_step(case)):
        return replace(_behind(step.finding(), found), names=found.names, change=found.change, by="last_right_step")
    return found


def _behind(where: Finding, what: Finding) -> Finding:
    return Finding("steps.behind", {"where": where, "what": what})


ORDER = (
    Rule(source.parameters_exchanged),
    Rule(source.hidden_builtin),
    Rule(source.outside_data),
    Rule(source.return_in_loop),
    Rule(source.slip),
    Rule(source.compared_with_text),
    Rule(source.linear_transposes, "source"),
    Rule(source.fresh_layer, "source"),
    Rule(catalogue.only_an_input_changed),
    Rule(source.result_not_kept, "source"),
    Rule(source.einsum_letters),
    Rule(catalogue.changed_besides_a_mistake),
    Rule(catalogue.fixed_in_a_new_line),
    Rule(catalogue.known_mistake),
    Rule(values.nothing_but_nan, "result"),
    Rule(kinds.nothing_returned, "result"),
    Rule(source.finite_fill, "result"),
    Rule(source.changed_input, asked_of="answer edge"),
    Rule(values.another_each_time, "result"),
    Rule(values.constant, "result"),
    Rule(values.small_number_added, "result"),
    Rule(kinds.another_order, "result"),
    Rule(catalogue.known_mistakes),
    Rule(source.mask_added, "result"),
    Rule(source.divided_by_its_sum, "source"),
    Rule(changes.one_change_away, "source"),
    Rule(catalogue.mistake_and_more),
    Rule(catalogue.known_in_one_branch),
    Rule(catalogue.known_where_it_runs),
    Rule(kinds.changed_at_the_end, "result", asked_of="part"),
    Rule(values.last_step_missing, "result", asked_of="answer part"),
    Rule(kinds.positions, "result"),
    Rule(shapes.shape_of_a_step, "result", asked_of="answer part edge"),
    Rule(shapes.axis_left_over, "result", asked_of="answer part edge"),
    Rule(changes.something_missing, "source"),
    Rule(shapes.axes_from_the_front, "source"),
    Rule(exceptions.crash, "exception", leaves_open=True, asked_of="answer edge"),
    Rule(shapes.wrong_shape, "result", leaves_open=True, asked_of="answer part edge"),
    Rule(kinds.wrong_type, "result", asked_of="answer part edge"),
    Rule(source.unused_by_several, "result"),
    Rule(in_one_part, "result"),
    Rule(values.not_finite_for_certain, "result", asked_of="answer part"),
    Rule(values.not_finite, "result", leaves_open=True, asked_of="answer part"),
    Rule(source.unused_argument, "source", leaves_open=True),
    Rule(exceptions.worse_elsewhere, "result", leaves_open=True),
    Rule(values.one_small_example, "result", leaves_open=True),
    Rule(values.furthest_entry, leaves_open=True, asked_of="answer part edge"),
)
