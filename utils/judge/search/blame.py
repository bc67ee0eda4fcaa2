"""The one step of an answer that is wrong: with a step of the reference in its place all the rest is right."""

import ast
import functools
import inspect
from typing import Any, NamedTuple

from torch import Tensor

from ..case import Case
from ..context import IMPORTS, NOUNS
from ..run.calls import run
from ..run.sandbox import Sandbox, Stopped
from ..search.steps import (
    RECORD,
    Alignment,
    Trace,
    as_noun,
    equals_step,
    instrumented,
    is_own_variable,
    is_step,
    name_of_step,
    results_not_yet_right,
    right_steps,
)
from ..syntax import define, tree_of
from ..verdict import Finding
from ..wording import (
    shorten,
)

TRIES, PATIENCE = 300, 2.0  # values put in place of others; seconds, which are only a stop


class Wrong(NamedTuple):
    """A sub-expression of the answer, alone to blame: with a step of the reference in its place all the rest is right.

    `name` is that of the step in the reference, "" where it has none; `is_right`: it is right itself, but not what has
    to go on. `is_alone`: what it is made of is right, too; else that is open. `at` is the number of its line.
    """

    piece: str
    at: int
    line: str
    name: str
    is_right: bool
    is_alone: bool

    def finding(self) -> Finding:
        """Where the mistake is."""
        name = as_noun(self.name) if self.name else ""
        fields = {"piece": self.piece, "line": self.line, "name": name}
        if not self.is_alone:
            return Finding("steps.there_or_before", fields)
        key = f"steps.{'not_yet' if self.is_right else 'wrong'}{'_named' * bool(self.name)}"
        return Finding(key, fields)


@functools.lru_cache(1)  # it may be asked for twice of each case
def wrong_step(case: Case) -> Wrong | None:
    """The smallest sub-expression that, with the values of a step of the reference in its place, makes the answer right
    on every input; None where there is none. Raises nothing."""
    steps = right_steps(case)
    if steps is None:
        return None
    order = sorted(range(len(case.runs)), key=lambda k: case.runs[k] not in case.wrong)
    theirs = _distinct_steps(case, steps.theirs, order)
    splice = _Splice(case, steps.mine.values)
    tries = TRIES
    try:
        with Sandbox.current.within(PATIENCE):
            for number in sorted(_to_blame(case, steps), key=lambda one: not _reads_only_right_values(steps, one)):
                for other in theirs:
                    if steps.found.get(number) == other:
                        continue
                    may_be = not is_own_variable(steps, number) and _fits(steps, number, other)
                    if not (may_be or _goes_into(steps, number, other)):
                        continue
                    tries -= 1
                    if tries < 0:
                        return None
                    if all(splice.is_right(k, number, steps.theirs.values[k].get(other)) for k in order):
                        if _meets_a_wrong_variable(steps, number):
                            return None  # which of the two is to blame is open
                        return _blamed(case, steps, number, other)
    except (Stopped, RecursionError, SyntaxError, ValueError):
        pass
    return None


def _blamed(case: Case, steps: Alignment, number: int, other: int) -> Wrong:
    node = steps.mine.nodes[number]
    line = inspect.getsource(case.function).splitlines()[node.lineno - 1].strip()
    piece, name = shorten(ast.unparse(node), 80), name_of_step(steps.theirs, other)
    name = name if len(name) < 3 or name in NOUNS else ""
    return Wrong(
        piece,
        node.lineno,
        shorten(line, 100),
        name,
        _goes_into(steps, number, other),
        _reads_only_right_values(steps, number),
    )


def _reads_only_right_values(steps: Alignment, number: int) -> bool:
    """Are all the variables right that a sub-expression reads, of those that the answer sets itself?"""
    numbers = {id(node): place for place, node in enumerate(steps.mine.nodes)}
    read = [numbers[id(node)] for node in ast.walk(steps.mine.nodes[number]) if isinstance(node, ast.Name)]
    own = [one for one in read if one != number and is_own_variable(steps, one)]
    values = {one: steps.mine.values[0].get(one) for one in own}
    if any(isinstance(value, list) for value in values.values()):
        return False  # what a loop has put into a list is not followed
    return all(one in steps.found for one, value in values.items() if isinstance(value, Tensor))


def _meets_a_wrong_variable(steps: Alignment, number: int) -> bool:
    """Does the statement of a sub-expression read, besides it, a variable of the answer's own that is not right? Then a
    value put in its place may hide what is wrong with that one."""
    node, nodes = steps.mine.nodes[number], steps.mine.nodes
    numbers = {id(one): place for place, one in enumerate(nodes)}
    inside = {id(part) for part in ast.walk(node)}
    statements = [one for one in nodes if isinstance(one, (ast.Assign, ast.Return, ast.AugAssign, ast.Expr))]
    around = next((one for one in statements if any(part is node for part in ast.walk(one))), None)
    read = [one for one in ast.walk(around) if isinstance(one, ast.Name) and id(one) not in inside] if around else []
    values = steps.mine.values[0]
    own = [numbers[id(one)] for one in read if is_own_variable(steps, numbers[id(one)])]
    return any(isinstance(values.get(one), Tensor) and one not in steps.found for one in own)


def _fits(steps: Alignment, number: int, other: int) -> bool:
    """May it be that step of the reference, made wrongly? What holds more numbers than the step is an earlier one."""
    pairs = zip(steps.mine.values, steps.theirs.values)
    return all(mine[number].numel() <= theirs[other].numel() for mine, theirs in pairs if number in mine)


def _goes_into(steps: Alignment, number: int, other: int) -> bool:
    """Is a sub-expression of the answer right, and a part of what a step of the reference is made of?"""
    if number not in steps.found:
        return False
    theirs = steps.theirs
    values = [of_one[steps.found[number]] for of_one in theirs.values]
    numbers = {id(node): place for place, node in enumerate(theirs.nodes)}
    inner = {numbers[id(node)] for node in ast.walk(theirs.nodes[other])} - {other}
    known = [one for one in inner if all(one in of_one for of_one in theirs.values)]
    return any(
        all(equals_step(of_one[one], value) for of_one, value in zip(theirs.values, values))
        for one in known
        if isinstance(theirs.values[0][one], Tensor)
    )


def _distinct_steps(case: Case, theirs: Trace, order: list[int]) -> list[int]:
    """The steps of the reference, each value once, except for the result that is asked for."""
    found: list[int] = []
    for number in (one for one in theirs.values[0] if one >= 0 and is_step(case, theirs, one)):
        values = [of_one[number] for of_one in theirs.values]
        wanted = [results_not_yet_right(done) for done in case.runs]
        if any(
            all(equals_step(value, parts[k]) for value, parts in zip(values, wanted)) for k in range(len(wanted[0]))
        ):
            continue
        if not any(all(equals_step(of_one[one], of_one[number]) for of_one in theirs.values) for one in found):
            found.append(number)
    return found


def _to_blame(case: Case, steps: Alignment) -> list[int]:
    """The answer's sub-expressions that have one value on each input, the smallest first; of its own variables only
    those that are right, for of a wrong one it is the definition that is to blame."""
    found = []
    for number, value in steps.mine.values[0].items():
        if number in steps.mine.varying or not isinstance(value, Tensor):
            continue
        if number in steps.found or not is_own_variable(steps, number):
            found.append((sum(1 for _ in ast.walk(steps.mine.nodes[number])), number))
    return [number for _, number in sorted(found)]


def _reshaped_like(value: Tensor, own: Any) -> Tensor:
    """A step of the reference with the axes of length 1 that the answer has there."""
    if isinstance(own, Tensor) and own.shape != value.shape and own.squeeze().shape == value.squeeze().shape:
        return value.reshape(own.shape)
    return value


class _Splice:
    """The answer, with a value of the reference's in place of one of its own."""

    def __init__(self, case: Case, own: list[dict[int, Any]]):
        self.case, self.own, self.number, self.value = case, own, -1, None
        tree = tree_of(case.function)
        self.space = {**IMPORTS, **inspect.unwrap(case.function).__globals__, RECORD: self._handed_on}
        self.function = define(instrumented(tree), tree.name, self.space)

    def _handed_on(self, number: int, value: Any) -> Any:
        return self.value.clone() if number == self.number else value

    def is_right(self, k: int, number: int, value: Any) -> bool:
        """On the k-th input, with `value` as what node `number` gives?"""
        if not isinstance(value, Tensor):
            return False
        self.number, self.value, done = number, _reshaped_like(value, self.own[k].get(number)), self.case.runs[k]
        again = run(self.function, done.arguments, done.want, Sandbox.current.call)
        if isinstance(again.error, Stopped):
            raise again.error
        return again.right and not again.changed
