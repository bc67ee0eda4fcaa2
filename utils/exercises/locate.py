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

from . import reading
from .case import Case
from .isolation import Isolation, Stopped
from .rows import IMPORTS
from .running import Run, copied, run, same
from .wording import shorten

RECORDED = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Attribute, ast.Subscript, ast.Name)
CLOSED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr)
RECORD = "__record"  # the name under which an instrumented function finds its recorder
TRIES, PATIENCE = 300, 2.0  # values put in the place of others; seconds, which are only a stop
NOUNS = (  # variables of references that say what a step is
    "angles context cosines distance heads keys labels losses norms normalised output pairs patches proposal queries "
    "query scores squares total totals value values variance variances wavelengths weights"
).split()
FEW = 3  # inputs on which steps are compared first; those that agree are compared on all


class Trace(NamedTuple):
    """The nodes of a function's syntax tree and, for each input, the first value that each of them had, in the order in
    which they came; and the nodes, by number, that later had another, as in a loop."""

    nodes: list[ast.AST]
    values: list[dict[int, Any]]
    varying: set[int]


class Steps(NamedTuple):
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


class Step(NamedTuple):
    """A sub-expression of the answer that is right: the learner's piece, its name in the reference, what follows, and
    in which line of the answer."""

    piece: str
    name: str
    following: str
    line: int

    def sentence(self) -> str:
        """What is right, and where to look on."""
        if self.name and self.following:
            return f"right up to `{self.piece}`, {self.name}: look at what you make of it, `{self.following}`."
        if self.following:
            return f"right up to `{self.piece}`: look at what you make of it, `{self.following}`."
        if self.name:
            return f"right up to `{self.piece}`, {self.name}: look at what comes after it."
        return f"right up to `{self.piece}`: look at what comes after it."


def steps(function: Callable, arguments: dict[str, Any], call: Callable) -> int:
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
    tree = reading.tree_of(function)
    if tree is None or getattr(function, "__closure__", None):
        return None
    space = {**IMPORTS, **inspect.unwrap(function).__globals__, RECORD: record}
    exec(compile(_instrumented(tree), "<traced>", "exec"), space)
    for arguments in inputs:
        begin()
        try:
            call(space[tree.name], *map(copied, arguments.values()))
        except (KeyboardInterrupt, Stopped):
            raise
        except BaseException:  # SystemExit, too: up to there its steps are known
            pass
    return tree


def _instrumented(tree: ast.FunctionDef) -> ast.Module:
    """A copy in which each expression of a kind in RECORDED, but for callees, hands its value to the recorder."""
    twin = copy.deepcopy(tree)
    numbers = {id(node): number for number, node in enumerate(ast.walk(twin))}
    left_out = {id(node.func) for node in ast.walk(twin) if isinstance(node, ast.Call)}
    left_out |= {id(node) for node in ast.walk(twin) if isinstance(node, ast.Name) and node.id in IMPORTS}

    class Instrument(ast.NodeTransformer):
        def visit(self, node):
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
    twin.body = [Instrument().visit(statement) for statement in twin.body]
    return ast.fix_missing_locations(ast.Module([twin], []))


# ---- which steps are the same


@functools.lru_cache(1)  # it is asked for twice of each case
def right_steps(case: Case) -> Steps | None:
    """The steps that the answer and the reference have both; None where the source of one cannot be found."""
    inputs = [done.arguments for done in case.runs]
    call = Isolation.current.call
    theirs, mine = trace(case.reference, inputs, call), trace(case.function, inputs, call)
    if theirs is None or mine is None:
        return None
    for values, done in zip(theirs.values, case.runs):
        values |= {-1 - place: part for place, part in enumerate(_still_wanted(done))}
    wanted = [number for number in theirs.values[0] if _is_step(case, theirs, number)]
    own = [number for number in mine.values[0] if _is_step(case, mine, number)]
    return Steps(mine, theirs, dict(_matches(mine, own, theirs, wanted)))


def _still_wanted(done: Run) -> tuple:
    """The result that is asked for; of several, those that the answer has not, and None in the place of the others."""
    if not isinstance(done.want, tuple):
        return (done.want,)
    given = done.result if isinstance(done.result, tuple) and len(done.result) == len(done.want) else done.want
    return tuple(part if given is done.want or not same(mine, part) else None for mine, part in zip(given, done.want))


def last_right_step(case: Case) -> Step | None:
    """The furthest step of the reference that the answer has, too, and what the answer does next."""
    steps = right_steps(case)
    if steps is None or not steps.found:
        return None
    mine, theirs, found = steps.mine, steps.theirs, steps.found
    places = {number: place for place, number in enumerate(theirs.values[0])}
    parents = {id(child): node for node in mine.nodes for child in ast.iter_child_nodes(node)}
    numbers = {id(node): number for number, node in enumerate(mine.nodes)}

    def follows(number: int) -> ast.AST:
        return parents[id(mine.nodes[number])]

    last = [number for number in found if numbers.get(id(follows(number))) not in found]
    last = [number for number in last if not _is_about(follows(number))]
    last = [number for number in last if not _meets_what_is_wrong(steps, follows(number))]
    if not last:
        return None
    last = [number for number in last if not isinstance(follows(number), ast.Assign)] or last
    number = max(last, key=lambda one: (places[found[one]], one))
    after = follows(number)
    while isinstance(after, ast.expr) and not _can_be_read(after, parents[id(after)]):
        after = parents[id(after)]
    following = shorten(ast.unparse(after), 80) if isinstance(after, ast.expr) else ""
    piece = shorten(ast.unparse(mine.nodes[number]), 80)
    return Step(piece, _name(theirs, found[number]), following, getattr(after, "lineno", 0))


def _meets_what_is_wrong(steps: Steps, after: ast.AST) -> bool:
    """Is a right step joined there with a variable that the answer sets itself, wrongly? Then that one is to blame."""
    numbers = {id(node): place for place, node in enumerate(steps.mine.nodes)}
    read = [numbers[id(node)] for node in ast.walk(after) if isinstance(node, ast.Name) and id(node) in numbers]
    values = steps.mine.values[0]
    return any(isinstance(values.get(one), Tensor) and one not in steps.found and _is_own(steps, one) for one in read)


def _is_about(node: ast.AST) -> bool:
    """Is it something about a tensor, as its shape, which makes nothing of its numbers?"""
    name = _called(node) or getattr(node, "attr", "")
    return name in ("shape", "ndim", "dtype", "device", "size", "dim", "numel", "len", "new_zeros", "zeros_like")


# ---- the one step that is wrong


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

    def sentence(self) -> str:
        """Where the mistake is."""
        if not self.is_alone:
            return (
                f"what follows `{self.piece}` in your line `{self.line}` is right: the mistake is there, or before it."
            )
        if self.is_right and self.name:
            return (
                f"the mistake is in one place: in your line `{self.line}`, `{self.piece}` is right itself, but not yet "
                f"what has to stand there, {self.name}. All the rest is right."
            )
        if self.is_right:
            return (
                f"the mistake is in one place: in your line `{self.line}`, `{self.piece}` is right itself, but "
                "something has still to be done with it there. All the rest is right."
            )
        if self.name:
            return (
                f"the mistake is in one place: in your line `{self.line}`, `{self.piece}` is not what has to "
                f"stand there, {self.name}. All the rest is right."
            )
        return (
            f"the mistake is in one place: in your line `{self.line}`, `{self.piece}` is not what has to stand "
            "there. All the rest is right."
        )


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
        with Isolation.current.within(PATIENCE):
            for number in sorted(_to_blame(case, steps), key=lambda one: not _is_made_of_right(steps, one)):
                for other in theirs:
                    if steps.found.get(number) == other:
                        continue
                    may_be = not _is_own(steps, number) and _fits(steps, number, other)
                    if not (may_be or _goes_into(steps, number, other)):
                        continue
                    tries -= 1
                    if tries < 0:
                        return None
                    if all(splice.is_right(k, number, steps.theirs.values[k].get(other)) for k in order):
                        return _blamed(case, steps, number, other)
    except (Stopped, RecursionError, SyntaxError, ValueError):
        pass
    return None


def _blamed(case: Case, steps: Steps, number: int, other: int) -> Wrong:
    node = steps.mine.nodes[number]
    line = inspect.getsource(case.function).splitlines()[node.lineno - 1].strip()
    piece, name = shorten(ast.unparse(node), 80), _name(steps.theirs, other)
    name = name if name.startswith("`") or name.removeprefix("the ") in NOUNS else ""
    return Wrong(
        piece, node.lineno, shorten(line, 100), name, _goes_into(steps, number, other), _is_made_of_right(steps, number)
    )


def _is_made_of_right(steps: Steps, number: int) -> bool:
    """Are all the variables right that a sub-expression reads, of those that the answer sets itself?"""
    numbers = {id(node): place for place, node in enumerate(steps.mine.nodes)}
    read = [numbers[id(node)] for node in ast.walk(steps.mine.nodes[number]) if isinstance(node, ast.Name)]
    own = [one for one in read if one != number and _is_own(steps, one)]
    values = {one: steps.mine.values[0].get(one) for one in own}
    if any(isinstance(value, list) for value in values.values()):
        return False  # what a loop has put into a list is not followed
    return all(one in steps.found for one, value in values.items() if isinstance(value, Tensor))


def _fits(steps: Steps, number: int, other: int) -> bool:
    """May it be that step of the reference, made wrongly? What holds more numbers than the step is an earlier one."""
    pairs = zip(steps.mine.values, steps.theirs.values)
    return all(mine[number].numel() <= theirs[other].numel() for mine, theirs in pairs if number in mine)


def _goes_into(steps: Steps, number: int, other: int) -> bool:
    """Is a sub-expression of the answer right, and a part of what a step of the reference is made of?"""
    if number not in steps.found:
        return False
    theirs = steps.theirs
    values = [of_one[steps.found[number]] for of_one in theirs.values]
    numbers = {id(node): place for place, node in enumerate(theirs.nodes)}
    inner = {numbers[id(node)] for node in ast.walk(theirs.nodes[other])} - {other}
    known = [one for one in inner if all(one in of_one for of_one in theirs.values)]
    return any(
        all(_is_there(of_one[one], value) for of_one, value in zip(theirs.values, values))
        for one in known
        if isinstance(theirs.values[0][one], Tensor)
    )


def _distinct_steps(case: Case, theirs: Trace, order: list[int]) -> list[int]:
    """The steps of the reference, each value once, but for the result that is asked for."""
    found: list[int] = []
    for number in (one for one in theirs.values[0] if one >= 0 and _is_step(case, theirs, one)):
        values = [of_one[number] for of_one in theirs.values]
        wanted = [_still_wanted(done) for done in case.runs]
        if any(all(_is_there(value, parts[k]) for value, parts in zip(values, wanted)) for k in range(len(wanted[0]))):
            continue
        if not any(all(_is_there(of_one[one], of_one[number]) for of_one in theirs.values) for one in found):
            found.append(number)
    return found


def _is_there(one: Any, other: Any) -> bool:
    return isinstance(other, Tensor) and _alike(one, other)


def _to_blame(case: Case, steps: Steps) -> list[int]:
    """The answer's sub-expressions that have one value on each input, the smallest first; of its own variables only
    those that are right, for of a wrong one it is the definition that is to blame."""
    found = []
    for number, value in steps.mine.values[0].items():
        if number in steps.mine.varying or not isinstance(value, Tensor):
            continue
        if number in steps.found or not _is_own(steps, number):
            found.append((sum(1 for _ in ast.walk(steps.mine.nodes[number])), number))
    return [number for _, number in sorted(found)]


def _is_own(steps: Steps, number: int) -> bool:
    """Is it a variable that the answer sets itself?"""
    node, nodes = steps.mine.nodes[number], steps.mine.nodes
    stored = (one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    return isinstance(node, ast.Name) and node.id in stored


def _in_its_axes(value: Tensor, own: Any) -> Tensor:
    """A step of the reference with the axes of length 1 that the answer has there."""
    if isinstance(own, Tensor) and own.shape != value.shape and own.squeeze().shape == value.squeeze().shape:
        return value.reshape(own.shape)
    return value


class _Splice:
    """The answer, with a value of the reference's in the place of one of its own."""

    def __init__(self, case: Case, own: list[dict[int, Any]]):
        self.case, self.own, self.number, self.value = case, own, -1, None
        tree = reading.tree_of(case.function)
        self.space = {**IMPORTS, **inspect.unwrap(case.function).__globals__, RECORD: self._handed_on}
        exec(compile(_instrumented(tree), "<spliced>", "exec"), self.space)
        self.function = self.space[tree.name]

    def _handed_on(self, number: int, value: Any) -> Any:
        return self.value.clone() if number == self.number else value

    def is_right(self, k: int, number: int, value: Any) -> bool:
        """On the k-th input, with `value` as what node `number` gives?"""
        if not isinstance(value, Tensor):
            return False
        self.number, self.value, done = number, _in_its_axes(value, self.own[k].get(number)), self.case.runs[k]
        again = run(self.function, done.arguments, done.want, Isolation.current.call)
        if isinstance(again.error, Stopped):
            raise again.error
        return again.right and not again.changed


def _can_be_read(node: ast.expr, parent: ast.AST) -> bool:
    """Is it a piece of code that stands for a step: no list of arguments, no callee?"""
    return isinstance(node, RECORDED) and not (isinstance(parent, ast.Call) and node is parent.func)


def _is_step(case: Case, theirs: Trace, number: int) -> bool:
    """A tensor on every input that is no input in another shape, and not the same on all inputs; a single number has to
    be a float, for a count of something is soon the same."""
    values = [of_one.get(number) for of_one in theirs.values]
    if number in theirs.varying:
        return False
    if not all(isinstance(value, Tensor) and (value.ndim or value.is_floating_point()) for value in values):
        return False
    if all(value.ndim and len(value.unique()) < 2 for value in values):
        return False
    given = [_tensors(done.arguments) for done in case.runs]
    for one in zip(*given):
        if all(_is_rearranged(value, x) for value, x in zip(values, one)):
            return False
    pairs = itertools.combinations(range(len(values)), 2)
    alike = [(one, other) for one, other in pairs if values[one].shape == values[other].shape]
    return not alike or any(not same(values[one], values[other]) for one, other in alike)


def _tensors(arguments: dict[str, Any]) -> list[Tensor]:
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


def _name(theirs: Trace, number: int) -> str:
    """The reference's variable that holds a step; "" where it has none."""
    values = [of_one[number] for of_one in theirs.values]
    numbers = {id(node): place for place, node in enumerate(theirs.nodes)}
    for node in theirs.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            own = numbers[id(node.value)]
            if all(own in of_one and _alike(of_one[own], value) for of_one, value in zip(theirs.values, values)):
                return f"the {node.targets[0].id}" if len(node.targets[0].id) > 2 else f"`{node.targets[0].id}`"
    return ""


# ---- where NaN arises, and where a mask is added


def zeros_and_ones_added(case: Case, done: Run) -> str:
    """The sum of an answer in which one part holds nothing but 0 and 1, both of them, and the other does not; or ""."""
    mine = trace(case.function, [done.arguments], Isolation.current.call)
    if mine is None:
        return ""
    numbers = {id(node): number for number, node in enumerate(mine.nodes)}
    for number, value in mine.values[0].items():
        node = mine.nodes[number]
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(value, Tensor)):
            continue
        parts = [mine.values[0].get(numbers[id(part)]) for part in (node.left, node.right)]
        if value.is_floating_point() and value.ndim > 1 and sum(map(_is_mask, parts)) == 1:
            return shorten(ast.unparse(node), 80)
    return ""


def _is_mask(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim > 1 and value.double().unique().tolist() == [0.0, 1.0]


def origin_of_nan(case: Case, done: Run) -> str:
    """The piece of the answer that is the first to hold NaN for an input, and why it does; "" where nothing tells."""
    if any(bool(value.isnan().any()) for value in _tensors(done.arguments) if value.is_floating_point()):
        return ""
    mine = trace(case.function, [done.arguments], Isolation.current.call)
    if mine is None:
        return ""
    values = mine.values[0]
    first = next((number for number, value in values.items() if _holds(value, torch.isnan)), None)
    numbers = {id(node): number for number, node in enumerate(mine.nodes)}
    if first is None:
        return ""
    node = mine.nodes[first]
    why = _why_nan(node, lambda part: values.get(numbers.get(id(part))))
    return f"`{shorten(ast.unparse(node), 80)}`: {why}" if why else ""


def _holds(value: Any, what: Callable) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and bool(what(value).any())


def _why_nan(node: ast.AST, value_of: Callable[[ast.AST], Any]) -> str:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return "that is ∞ / ∞ there." if _holds(value_of(node.right), torch.isinf) else "that is 0 / 0 there."
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.MatMult)):
        return "0 · ∞ is NaN."
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return "∞ - ∞ is NaN."
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return "a power that is no whole number, of a negative number, is NaN."
    name = _called(node)
    if "softmax" in name:
        return "along the axis on which it goes, there is somewhere nothing but -∞, which has no softmax: 0 / 0."
    if name in ("sqrt", "log", "rsqrt"):
        return "a negative number has no root and no logarithm."
    if name in ("mean", "nanmean", "std", "var"):
        return "there are too few numbers in it: a mean takes one, a spread two."
    return ""


def _called(node: ast.AST) -> str:
    function = getattr(node, "func", None)
    return getattr(function, "attr", getattr(function, "id", ""))
