"""Right up to here: the last step of an answer whose values are those of a step of the reference.

Every sub-expression of the answer and of the reference is recorded while both run on the same inputs (`Trace`). Steps
that have the same values on every input, if need be with the last two axes exchanged, are the same step, however they
are written. Inputs in another shape, and what does not depend on the inputs at all, count for nothing.
"""

import ast
import copy
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..case import Case
from ..compare import (
    same,
)
from ..context import IMPORTS
from ..run.calls import Run, copied
from ..run.sandbox import Sandbox, Stopped
from ..syntax import define, tree_of
from ..verdict import Finding
from ..wording import (
    shorten,
)

RECORDED = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Attribute, ast.Subscript, ast.Name)
CLOSED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr)
RECORD = "__record"  # the name under which an instrumented function finds its recorder
FEW = 3  # inputs on which steps are compared first; those that agree are compared on all


class Trace(NamedTuple):
    """The nodes of a function's syntax tree and, for each input, the first value that each of them had, in the order in
    which they came; and the nodes, by number, that later had another, as in a loop."""

    nodes: list[ast.AST]
    values: list[dict[int, Any]]
    varying: set[int]


class Alignment(NamedTuple):
    """An answer and its reference, traced, and for nodes of the answer those of the reference with the same values."""

    mine: Trace
    theirs: Trace
    found: dict[int, int]

    @property
    def exactly(self) -> list[int]:
        """The answer's nodes whose values are not only those of a step with its axes exchanged."""
        return [one for one, other in self.found.items() if self._has_same_shapes(one, other)]

    def _has_same_shapes(self, one: int, other: int) -> bool:
        pairs = zip(self.mine.values, self.theirs.values)
        return all(mine[one].shape == theirs[other].shape and same(mine[one], theirs[other]) for mine, theirs in pairs)


class RightStep(NamedTuple):
    """A sub-expression of the answer that is right: the learner's piece, its name in the reference, what follows, and
    in which line of the answer."""

    piece: str
    name: str
    following: str
    line: int

    def finding(self) -> Finding:
        """What is right, and where to look on."""
        key = f"steps.right_up_to{'_named' * bool(self.name)}{'_and_next' * bool(self.following)}"
        name = as_noun(self.name) if self.name else ""
        return Finding(key, {"piece": self.piece, "name": name, "next": self.following})


def as_noun(name: str) -> Finding:
    """A variable of the reference in a sentence: the weights, `x`."""
    return Finding("steps.noun" if len(name) > 2 else "steps.letter", {"name": name})


def count_steps(function: Callable, arguments: dict[str, Any], call: Callable) -> int:
    """How many sub-expressions a function computes for these arguments, each as often as it does."""
    count = itertools.count()
    _traced(function, [arguments], call, lambda number, value: (next(count), value)[1])
    return next(count)


def trace(function: Callable, inputs: list[dict[str, Any]], call: Callable) -> Trace | None:
    """What the sub-expressions of a function are on these inputs. None where its source cannot be found."""
    values: list[dict[int, Any]] = []
    varying: set[int] = set()

    def record(number: int, value: Any) -> Any:
        if number not in values[-1]:
            values[-1][number] = value.detach().clone() if isinstance(value, Tensor) else value
        elif number not in varying and isinstance(value, Tensor) and not _is_again(value, values[-1][number]):
            varying.add(number)
        return value

    tree = _traced(function, inputs, call, record, lambda: values.append({}))
    return tree and Trace(list(ast.walk(tree)), values, varying)


def _is_again(value: Tensor, before: Any) -> bool:
    return isinstance(before, Tensor) and value.shape == before.shape and torch.equal(value, before)


def _traced(
    function: Callable, inputs: list[dict[str, Any]], call: Callable, record: Callable, begin: Callable = lambda: None
) -> ast.FunctionDef | None:
    """Call a function that hands the value of each sub-expression to record(number of its node, value); its tree."""
    tree = tree_of(function)
    if tree is None or getattr(function, "__closure__", None):
        return None
    space = {**IMPORTS, **inspect.unwrap(function).__globals__, RECORD: record}
    traced = define(instrumented(tree), tree.name, space)
    for arguments in inputs:
        begin()
        try:
            call(traced, *map(copied, arguments.values()))
        except (KeyboardInterrupt, Stopped):
            raise
        except BaseException:  # SystemExit, too: up to there its steps are known
            pass
    return tree


def instrumented(tree: ast.FunctionDef) -> ast.FunctionDef:
    """A copy in which each expression of a kind in RECORDED, except for callees, hands its value to the recorder."""
    twin = copy.deepcopy(tree)
    numbers = {id(node): number for number, node in enumerate(ast.walk(twin))}
    left_out = {id(node.func) for node in ast.walk(twin) if isinstance(node, ast.Call)}
    left_out |= {id(node) for node in ast.walk(twin) if isinstance(node, ast.Name) and node.id in IMPORTS}

    class Instrument(ast.NodeTransformer):
        def visit_AugAssign(self, node):
            """`x += y` gives x another value, which is recorded behind it."""
            number = numbers[id(node)]
            node.value = self.visit(node.value)
            read = copy.deepcopy(node.target)
            read.ctx = ast.Load()
            record = ast.Call(ast.Name(RECORD, ast.Load()), [ast.Constant(number), read], [])
            return [node, ast.copy_location(ast.Expr(record), node)]

        def visit(self, node):
            if isinstance(node, ast.AugAssign):
                return self.visit_AugAssign(node)
            if isinstance(node, (*CLOSED, ast.FunctionDef, ast.arguments)) and node is not twin:
                return node
            number = numbers[id(node)]
            is_read = isinstance(getattr(node, "ctx", None), (ast.Load, type(None)))
            node = self.generic_visit(node)
            if not isinstance(node, RECORDED) or not is_read or id(node) in left_out:
                return node
            recorder = ast.Name(RECORD, ast.Load())
            return ast.copy_location(ast.Call(recorder, [ast.Constant(number), node], []), node)

    twin.args = copy.deepcopy(tree.args)
    twin.decorator_list = []
    visited = (Instrument().visit(statement) for statement in twin.body)
    twin.body = [line for lines in visited for line in (lines if isinstance(lines, list) else [lines])]
    return ast.fix_missing_locations(twin)


@functools.lru_cache(1)  # it is asked for twice of each case
def right_steps(case: Case) -> Alignment | None:
    """The steps that the answer and the reference have both; None where the source of one cannot be found."""
    inputs = [done.arguments for done in case.runs]
    call = Sandbox.current.call
    theirs, mine = trace(case.reference, inputs, call), trace(case.function, inputs, call)
    if theirs is None or mine is None:
        return None
    for values, done in zip(theirs.values, case.runs):
        values |= {-1 - place: part for place, part in enumerate(results_not_yet_right(done))}
    wanted = [number for number in theirs.values[0] if is_step(case, theirs, number)]
    own = [number for number in mine.values[0] if is_step(case, mine, number)]
    return Alignment(mine, theirs, dict(_matches(mine, own, theirs, wanted)))


def results_not_yet_right(done: Run) -> tuple:
    """The result that is asked for; of several, those that the answer has not, and None in place of the others."""
    if not isinstance(done.want, tuple):
        return (done.want,)
    given = done.result if isinstance(done.result, tuple) and len(done.result) == len(done.want) else done.want
    return tuple(part if given is done.want or not same(mine, part) else None for mine, part in zip(given, done.want))


def last_right_step(case: Case) -> RightStep | None:
    """The furthest step of the reference that the answer has, too, and what the answer does next."""
    steps = right_steps(case)
    if steps is None or not steps.found:
        return None
    mine, theirs, found = steps.mine, steps.theirs, steps.found
    places = {number: place for place, number in enumerate(theirs.values[0])}
    parents = {id(child): node for node in mine.nodes for child in ast.iter_child_nodes(node)}
    numbers = {id(node): number for number, node in enumerate(mine.nodes)}

    def follows(number: int) -> ast.AST:
        """What is made of a step: of `k.transpose(-2, -1)` the call, not its name."""
        node = parents[id(mine.nodes[number])]
        around = parents.get(id(node))
        return around if isinstance(around, ast.Call) and node is around.func else node

    wrong = [line.lineno for line in mine.nodes if isinstance(line, ast.Assign) and _is_wrong(steps, line)]
    last = [number for number in found if numbers.get(id(follows(number))) not in found]
    last = [number for number in last if not any(line < mine.nodes[number].lineno for line in wrong)]
    last = [number for number in last if not _only_inspects(follows(number))]
    last = [number for number in last if not _reads_a_wrong_variable(steps, follows(number))]
    if not last:
        return None
    last = [number for number in last if not isinstance(follows(number), ast.Assign)] or last
    number = max(last, key=lambda one: (places[found[one]], one))
    after = follows(number)
    while isinstance(after, ast.expr) and not _can_be_read(after, parents[id(after)]):
        after = parents[id(after)]
    following = shorten(ast.unparse(after), 80) if isinstance(after, ast.expr) else ""
    piece = shorten(ast.unparse(mine.nodes[number]), 80)
    return RightStep(piece, name_of_step(theirs, found[number]), following, getattr(after, "lineno", 0))


def _is_wrong(steps: Alignment, line: ast.Assign) -> bool:
    """Does a line give a variable a value that no step of the reference has?"""
    number = next(place for place, node in enumerate(steps.mine.nodes) if node is line.value)
    return isinstance(steps.mine.values[0].get(number), Tensor) and number not in steps.found


def _reads_a_wrong_variable(steps: Alignment, after: ast.AST) -> bool:
    """Is a right step joined there with a variable that the answer sets itself, wrongly? Then that one is to blame."""
    numbers = {id(node): place for place, node in enumerate(steps.mine.nodes)}
    read = [numbers[id(node)] for node in ast.walk(after) if isinstance(node, ast.Name) and id(node) in numbers]
    values = steps.mine.values[0]
    return any(
        isinstance(values.get(one), Tensor) and one not in steps.found and is_own_variable(steps, one) for one in read
    )


def _only_inspects(node: ast.AST) -> bool:
    """Is it something about a tensor, as its shape, which makes nothing of its numbers?"""
    name = name_called(node) or getattr(node, "attr", "")
    return name in ("shape", "ndim", "dtype", "device", "size", "dim", "numel", "len", "new_zeros", "zeros_like")


def _can_be_read(node: ast.expr, parent: ast.AST) -> bool:
    """Is it a piece of code that stands for a step: no list of arguments, no callee?"""
    return isinstance(node, RECORDED) and not (isinstance(parent, ast.Call) and node is parent.func)


def is_step(case: Case, theirs: Trace, number: int) -> bool:
    """A tensor on every input that is no input in another shape, and not the same on all inputs; a single number has to
    be a float, for a count of something is soon the same."""
    values = [of_one.get(number) for of_one in theirs.values]
    if number in theirs.varying:
        return False
    if not all(isinstance(value, Tensor) and (value.ndim or value.is_floating_point()) for value in values):
        return False
    if all(value.ndim and len(value.unique()) < 2 for value in values):
        return False
    given = [tensors_in(done.arguments) for done in case.runs]
    for one in zip(*given):
        if all(_is_rearranged(value, x) for value, x in zip(values, one)):
            return False
    pairs = itertools.combinations(range(len(values)), 2)
    alike = [(one, other) for one, other in pairs if values[one].shape == values[other].shape]
    return not alike or any(not same(values[one], values[other]) for one, other in alike)


def tensors_in(arguments: dict[str, Any]) -> list[Tensor]:
    """The inputs that are tensors, and the parameters of those that are modules."""
    modules = [value for value in arguments.values() if isinstance(value, torch.nn.Module)]
    parameters = [one.detach() for module in modules for one in module.parameters()]
    return [value for value in arguments.values() if isinstance(value, Tensor)] + parameters


def _is_rearranged(value: Tensor, given: Tensor) -> bool:
    """Has it the numbers of an input, in the same or in another order, in any dtype?"""
    if value.numel() != given.numel():
        return False
    if value.dtype == given.dtype == torch.bool and value.sum() != given.sum():
        given = ~given
    return bool(torch.equal(_sorted(value), _sorted(given)))


def _sorted(value: Tensor) -> Tensor:
    return value.flatten().double().nan_to_num().sort().values


def _matches(mine: Trace, own: list[int], theirs: Trace, wanted: list[int]) -> Iterator[tuple[int, int]]:
    """Pairs (my node, node of the reference) with the same values: on a few inputs first, then on all."""
    few = range(min(FEW, len(mine.values)))
    rest = range(len(few), len(mine.values))
    for number in own:
        for other in wanted:  # in the order in which they came: a name that is read again later is no later step
            if all(_alike(mine.values[k].get(number), theirs.values[k][other]) for k in (*few, *rest)):
                yield number, other
                break


def _alike(mine: Any, theirs: Tensor) -> bool:
    """The same numbers, if need be with the last two axes exchanged, or with axes of length 1 more or less."""
    if not isinstance(mine, Tensor) or mine.numel() != theirs.numel():
        return False
    if mine.shape == theirs.shape and same(mine, theirs):
        return True
    if mine.squeeze().shape == theirs.squeeze().shape and same(mine.squeeze(), theirs.squeeze()):
        return True
    return mine.ndim >= 2 and mine.mT.shape == theirs.shape and same(mine.mT, theirs)


def name_of_step(theirs: Trace, number: int) -> str:
    """The reference's variable that holds a step; "" where it has none."""
    values = [of_one[number] for of_one in theirs.values]
    numbers = {id(node): place for place, node in enumerate(theirs.nodes)}
    for node in theirs.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            own = numbers[id(node.value)]
            if all(own in of_one and _alike(of_one[own], value) for of_one, value in zip(theirs.values, values)):
                return node.targets[0].id
    return ""


def is_own_variable(steps: Alignment, number: int) -> bool:
    """Is it a variable that the answer sets itself?"""
    node, nodes = steps.mine.nodes[number], steps.mine.nodes
    stored = (one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    return isinstance(node, ast.Name) and node.id in stored


def equals_step(one: Any, other: Any) -> bool:
    return isinstance(other, Tensor) and _alike(one, other)


def name_called(node: ast.AST) -> str:
    function = getattr(node, "func", None)
    return getattr(function, "attr", getattr(function, "id", ""))
