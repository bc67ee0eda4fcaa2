"""What can be changed in an answer, one thing at a time, and what is asked about it.

`changes` yields typed edits of the learner's own syntax tree, the cheapest kinds first: a number, an axis, an operator,
a name for another … and, from the reference, what may have been left out: its calls, operands and indices around what
the learner wrote. An `Mutation` says where to look. `Program.made` makes it for a while.
"""

import ast
import contextlib
import copy
import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ..case import Case
from ..context import IMPORTS
from ..run.errors import own_frame
from ..syntax import define, put, tree_of
from ..verdict import Finding
from ..wording import (
    shorten,
)
from .steps import right_steps

KINDS = (  # of changes, the cheapest first; the section `changes` of the sentences says what is asked about each
    "branch", "everywhere", "squeezed", "extra", "axis", "axes", "number", "extra number", "truth", "sign",
    "overwritten", "comparison", "operator", "order", "unpacked", "exchanged", "name", "function", "collected",
    "other number", "transposition", "letters", "kept axis", "bound", "brackets", "text", "extra line", "lines",
    "rounds", "put in axis", "put in call", "put in operand", "one off",
)  # fmt: skip
KINDS_BESIDE_A_ROW = (
    "axis",
    "axes",
    "truth",
    "comparison",
    "operator",
    "order",
    "exchanged",
    "function",
    "transposition",
)
MISSING = {  # the sentences for a missing operand, by the operation
    ast.Add: "missing sum",
    ast.Sub: "missing difference",
    ast.Mult: "missing factor",
    ast.Div: "missing division",
    ast.MatMult: "missing product",
    ast.Pow: "missing power",
}
CHANGES = ("extra line", "lines", "rounds")  # kinds with a sentence of their own for the change itself
SIBLINGS = (  # of each group, one is easily written for another
    "mT T", "tril triu", "softmax log_softmax", "sum mean median prod", "cumsum sum", "any all",
    "max min amax amin argmax argmin",
    "zeros ones empty", "zeros_like ones_like empty_like", "sin cos", "stack cat concatenate hstack vstack", "exp log",
    "topk sort argsort", "values indices", "view reshape", "repeat repeat_interleave tile", "square sqrt",
    "int float bool long", "unbind chunk split", "var std", "floor ceil round", "dot outer inner cross kron",
    "logical_and logical_or logical_xor", "minimum maximum", "append extend", "isnan isinf isfinite", "tanh sigmoid",
    "mse_loss l1_loss smooth_l1_loss huber_loss", "cross_entropy nll_loss binary_cross_entropy",
    "TransformerEncoderLayer TransformerDecoderLayer",
)  # fmt: skip
SIBLING: dict[str, list[str]] = {}
for group in SIBLINGS:
    for one in group.split():
        SIBLING.setdefault(one, []).extend(other for other in group.split() if other != one)
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr)
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
AXIS = ("dim", "axis", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim", "axis0", "axis1")
ALONG = dict.fromkeys(  # functions that go along an axis, and the place of the axis among their arguments
    "softmax log_softmax sum mean prod max min amax amin argmax argmin any all cumsum cumprod stack cat unsqueeze "
    "squeeze flip sort argsort unbind logsumexp size var std".split(),
    1,
) | {"normalize": 2}
ADD_UP = ("sum", "mean", "amax", "amin", "max", "min", "any", "all", "norm", "var", "std", "logsumexp", "argmax")
JOINS = ("cat", "concatenate", "stack")
EXCHANGE = ("transpose", "swapaxes", "movedim", "swapdims")
COLLECT = ("append", "extend")
PAIRS = ((-1, -2), (-2, -3), (0, 1), (1, 2), (0, 2), (-1, -3))
LOOP_GUARD = "__goes_on"  # is in every `while`, so that one that a change made endless ends
FORGOTTEN = {  # what is often left out around something
    "sign": ("-({})",),
    "one off": ("({}) + 1", "({}) - 1"),
    "put in axis": (
        "({}).mT", "({})[..., None]", "({})[None]", "({}).unsqueeze(-2)", "({}).squeeze(-1)", "({})[0]",
        "({}).transpose(-3, -2)",
    ),
    "put in call": (
        "~({})", "({}).sum(-1)", "({}).sum(-1, keepdim=True)", "({}).sum(0)", "({}).exp()", "({}).log()", "({}).sqrt()",
        "({}).abs()", "({}).contiguous()",
    ),
    "put in operand": ("1 - ({})",),
}  # fmt: skip


class Mutation(NamedTuple):
    """Its kind; where to look; and the places in the tree, (owner, field, index or None), with what is put there."""

    kind: str
    at: ast.AST
    swaps: tuple[tuple[ast.AST, str, int | None, Any], ...]
    line: ast.AST | None = None  # where `at` is no node of the tree: the node by whose line it goes
    piece: str = ""
    missing: str = ""  # the sentence for it in place of its kind's


class Program:
    """An answer's syntax tree that can be changed for a while, and its text as the learner wrote it."""

    def __init__(self, tree: ast.FunctionDef, text: str):
        self.tree, self.source, self.walked = tree, text, list(ast.walk(tree))
        documented = ast.get_docstring(tree) is not None
        self.nodes = [node for statement in tree.body[documented:] for node in ast.walk(statement)]
        for node in self.nodes:
            if isinstance(node, ast.While):
                node.test = ast.copy_location(
                    ast.BoolOp(ast.And(), [_expression(f"{LOOP_GUARD}()"), node.test]), node.test
                )
        self.slots = {}
        for owner in ast.walk(tree):
            for field, value in ast.iter_fields(owner):
                if isinstance(value, list):
                    self.slots |= {id(part): (owner, field, k) for k, part in enumerate(value)}
                elif isinstance(value, ast.AST):
                    self.slots[id(value)] = owner, field, None
        self.parents = {key: slot[0] for key, slot in self.slots.items()}
        parameters = [one.arg for one in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]
        stored = [node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        self.names = list(dict.fromkeys([*parameters, *stored]))

    def replaced(self, node: ast.AST, new: ast.AST) -> tuple[ast.AST, str, int | None, Any]:
        """`new` in place of a node, as one of the swaps of an edit."""
        return *self.slots[id(node)], new

    @contextlib.contextmanager
    def made(self, edit: Mutation) -> Iterator[None]:
        """Within it the tree is changed."""
        before = []
        for owner, field, index, new in edit.swaps:
            _with_lines(new, owner)
            before.append((owner, field, index, put(owner, field, index, new)))
        try:
            yield
        finally:
            for one in reversed(before):
                put(*one)

    def function(self, space: dict[str, Any]) -> Callable:
        """The program as it is now, defined in `space`."""
        return define(self.tree, self.tree.name, space)

    def text(self, edit: Mutation | None = None) -> str:
        """The program as it is now; of an edit that changes one statement, that one alone, behind its number."""
        changed = {id(self.statement(owner)): self.statement(owner) for owner, *_ in edit.swaps} if edit else {}
        if len(changed) != 1 or any(isinstance(new, ast.stmt | list) for *_, new in edit.swaps):
            return ast.unparse(self.tree)
        (number, statement), *_ = changed.items()
        return f"{number} {ast.unparse(statement)}"

    def statement(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.parents[id(node)]
        return node

    def line(self, node: ast.AST) -> str:
        """The learner's line in which a node begins."""
        return shorten(self.source.splitlines()[node.lineno - 1].strip(), 100)

    def piece(self, edit: Mutation) -> str:
        """What the learner wrote there; of a short thing, with the call in which it occurs."""
        node, written = edit.at, edit.piece or self._written(edit.at)
        line = self.source.splitlines()[node.lineno - 1]
        while len(written) < 2 or _count(written, line) > 1 or self._is_callee(node):  # which one is meant?
            if not isinstance(self.parents.get(id(node)), ast.expr | ast.keyword):
                break
            node = self.parents[id(node)]
            written = self._written(node)
        return shorten(written, 80)

    def behind(self, part: ast.expr, whole: ast.expr) -> str:
        """What the learner wrote after the first part of an expression: "/ 2" or ".exp()"."""
        end = ast.copy_location(ast.Constant(0), whole)
        end.lineno, end.col_offset = part.end_lineno, part.end_col_offset
        return " ".join(ast.get_source_segment(self.source, end).lstrip(") \n").split())

    def _is_callee(self, node: ast.AST) -> bool:
        parent = self.parents.get(id(node))
        return isinstance(parent, ast.Call) and node is parent.func

    def _written(self, node: ast.AST) -> str:
        text = ast.get_source_segment(self.source, node) or ast.unparse(node)
        return " ".join(text.split())

    def where_to_look(self, edit: Mutation) -> Finding:
        """Where to look, and what to ask oneself there."""
        kind, fields = edit.missing or edit.kind, {"line": self.line(edit.line or edit.at), "piece": self.piece(edit)}
        alone = kind == "name" and len(edit.swaps) == 1 and isinstance(edit.at, ast.Name)
        if alone and _count(edit.at.id, fields["piece"]) > 1:
            if place := self._first_or_last(edit.at):
                return Finding(f"changes.{place} name", fields | {"piece": edit.at.id})
        return Finding(f"changes.{kind}", fields)

    def _first_or_last(self, node: ast.Name) -> str:
        """Which of its name in a line it is, the first or the last; "" for one between these, and for one alone."""
        line = self.source.splitlines()[node.lineno - 1].encode()
        before, after = (part.decode() for part in (line[: node.col_offset], line[node.end_col_offset :]))
        occurs = _count(node.id, before) > 0, _count(node.id, after) > 0
        return {(False, True): "first", (True, False): "last"}.get(occurs, "")

    def change(self, edit: Mutation) -> Finding:
        """The change itself; to be called while it is made."""
        changed = [new for _, _, _, new in edit.swaps if isinstance(new, ast.stmt)]
        new = edit.piece if edit.kind == "lines" else _first_line(*changed or [self.statement(edit.line or edit.at)])
        lines = {owner.lineno for owner, *_ in edit.swaps if isinstance(owner, ast.expr)}
        own = edit.kind if edit.kind in CHANGES else "replaced" if len(lines) < 2 else "replaced everywhere"
        return Finding(f"changes.change {own}", {"old": self.line(edit.line or edit.at), "new": new})


def _count(written: str, line: str) -> int:
    """How often it stands in the line as a whole: `mask` does not in `masked_fill`."""
    before = r"(?<!\w)" if written[0].isalnum() or written[0] == "_" else ""
    return len(re.findall(rf"{before}{re.escape(written)}(?!\w)", line))


def _with_lines(new: Any, owner: ast.AST) -> None:
    """Give new nodes a line, which the compiler wants: that of the owner."""
    for node in new if isinstance(new, list) else [new]:
        if isinstance(node, ast.expr | ast.stmt | ast.keyword):
            inner = [part for part in ast.walk(node) if not hasattr(part, "lineno")]
            for part in inner:
                part.lineno = part.end_lineno = getattr(owner, "lineno", 1)
                part.col_offset = part.end_col_offset = 0


def _first_line(statement: ast.stmt) -> str:
    """A statement as text; of one with others inside, its first line."""
    return ast.unparse(statement).splitlines()[0].replace(f"{LOOP_GUARD}() and ", "")


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def changes(program: Program, case: Case) -> list[Mutation]:
    """Every edit of the program that is thought of here; last those of pieces that are right already, and earlier than
    their kind would be those of the line that raised an exception."""
    found = [edit for make in MAKERS for edit in make(program, case)]
    ranks = {kind: rank for rank, kind in enumerate(KINDS)}
    steps = right_steps(case)
    right = {id(part) for number in steps.exactly for part in ast.walk(program.walked[number])} if steps else set()
    failed = _failed_line(case)

    def place(edit: Mutation) -> tuple[bool, float]:
        owners = [owner for owner, *_ in edit.swaps]
        there = any(getattr(owner, "lineno", None) == failed for owner in owners)
        return all(id(owner) in right for owner in owners), ranks[edit.kind] / (2 if there else 1)

    return sorted(found, key=place)


def _failed_line(case: Case) -> int:
    """The line, counted from that of `def`, in which the first wrong input raised an exception; 0 where none did."""
    error, function = case.first_wrong.error, inspect.unwrap(case.function)
    frame = own_frame(error, function) if error else None
    return frame.tb_lineno - function.__code__.co_firstlineno + 1 if frame else 0


def _reads(program: Program) -> Iterator[ast.expr]:
    """The expressions that are read, without callees, modules and what stands for an axis or a dtype."""
    for node in program.nodes:
        parent = program.parents[id(node)]
        if not isinstance(
            node, (ast.Name, ast.Call, ast.BinOp, ast.Attribute, ast.Subscript, ast.Compare, ast.UnaryOp)
        ):
            continue
        if not isinstance(getattr(node, "ctx", None), (ast.Load, type(None))) or isinstance(parent, ast.keyword):
            continue
        if isinstance(parent, ast.Call) and node is parent.func:
            continue
        if isinstance(node, ast.Name) and (node.id not in program.names):
            continue
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            continue
        if isinstance(node, ast.Attribute) and (
            _is_module(node.value) or node.attr in ("shape", "dtype", "device", "ndim")
        ):
            continue
        yield node


def _is_module(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Name) and node.id in IMPORTS or isinstance(node, ast.Attribute) and _is_module(node.value)
    )


def _is_method(node: ast.Call) -> bool:
    """Is it called on a value, as in x.sum(), not on a module?"""
    return isinstance(node.func, ast.Attribute) and not _is_module(node.func.value)


def _called(node: ast.Call) -> str:
    """The name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _whole(node: ast.AST) -> int | None:
    """The whole number that a node is, with its sign; None for all else."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    is_whole = isinstance(node, ast.Constant) and type(node.value) is int
    return sign * node.value if is_whole else None


def _number(value: float) -> ast.expr:
    return _expression(repr(value))


def _axes(program: Program) -> list[ast.expr]:
    """The nodes that stand for an axis: `dim=-1`, the second argument of torch.softmax, both of transpose, …"""
    found = []
    for node in program.nodes:
        if isinstance(node, ast.keyword) and node.arg in AXIS:
            found += node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        if not isinstance(node, ast.Call):
            continue
        name, is_method = _called(node), _is_method(node)
        if name in EXCHANGE or name in ("flatten", "permute"):
            found += node.args[0 if is_method else 1 :]
        elif name in ALONG and len(node.args) > ALONG[name] - is_method:
            found.append(node.args[ALONG[name] - is_method])
        if name == "size" and is_method and node.args:
            found.append(node.args[0])
    for node in program.nodes:  # x.shape[-1]
        if isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "shape":
            found.append(node.slice)
    return [node for node in found if _whole(node) is not None]


def axes(program: Program, case: Case) -> Iterator[Mutation]:
    """Another axis; the same one wherever it is; both axes of a transposition; the axes of a permutation."""
    nodes = _axes(program)
    for node in nodes:
        for value in (-1, -2, -3, 0, 1, 2):
            if value != _whole(node):
                yield Mutation("axis", _with_keyword(program, node), (program.replaced(node, _number(value)),), node)
    groups: dict[tuple, list[ast.expr]] = {}
    for node in nodes:  # all of an axis, and those of one function
        groups.setdefault((_whole(node),), []).append(node)
        groups.setdefault((_whole(node), _function_of(program, node)), []).append(node)
    for key in [key for key, same in groups.items() if len(same) > 1]:
        for new in (-1, -2, -3, 0, 1, 2):
            if new != key[0]:
                first = groups[key][0]
                swaps = tuple(program.replaced(node, _number(new)) for node in groups[key])
                yield Mutation("axes", _with_keyword(program, first), swaps, first)
    for node in program.nodes:
        if isinstance(node, ast.Call):
            yield from _several_axes(program, node)


def _function_of(program: Program, node: ast.AST) -> str:
    """The name of the function along whose axis a node says that it goes."""
    while not isinstance(node, ast.stmt | ast.Call):
        node = program.parents[id(node)]
    return _called(node) if isinstance(node, ast.Call) else ""


def _several_axes(program: Program, node: ast.Call) -> Iterator[Mutation]:
    """Other pairs for a call that exchanges two axes, other orders for one of `permute`."""
    own = [argument for argument in node.args if _whole(argument) is not None]
    orders: Iterable[Iterable[ast.expr]] = ()
    if _called(node) in EXCHANGE and len(own) == 2:
        orders = (map(_number, pair) for pair in PAIRS)
    elif _called(node) == "permute" and 2 < len(own) < 5:
        orders = itertools.permutations(own)
    elif _called(node) == "permute" and len(own) < 8:
        orders = _one_moved(own)
    for order in orders:
        yield Mutation("axes", node, tuple(program.replaced(*one) for one in zip(own, order)))


def _one_moved(own: list[ast.expr]) -> Iterator[list[ast.expr]]:
    """Two axes of several exchanged, and one moved to another place."""
    for i, j in itertools.combinations(range(len(own)), 2):
        yield [own[{i: j, j: i}.get(k, k)] for k in range(len(own))]
    for i, j in itertools.permutations(range(len(own)), 2):
        others = own[:i] + own[i + 1 :]
        yield [*others[:j], own[i], *others[j:]]


def _with_keyword(program: Program, node: ast.AST) -> ast.AST:
    """The keyword whose value a node is, as in `dim=-1`; else the node."""
    parent = program.parents[id(node)]
    return parent if isinstance(parent, ast.keyword) else node


def numbers(program: Program, case: Case) -> Iterator[Mutation]:
    """Another number, those of the reference first; -∞ for a large one; True for False."""
    theirs = [node.value for node in ast.walk(tree_of(case.reference)) if isinstance(node, ast.Constant)]
    theirs = [value for value in theirs if type(value) in (int, float)]
    axes = set(map(id, _axes(program)))
    for node in program.nodes:
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, bool):
            swaps = (program.replaced(node, ast.Constant(not value)),)
            yield Mutation("truth", _with_keyword(program, node), swaps, node)
        inside = isinstance(program.parents[id(node)], ast.UnaryOp)
        if _whole(node) is not None and id(node) not in axes and not inside:
            yield from _of_whole(program, node, theirs)
        elif type(value) is float:
            others = [*theirs, -value, 0.0, 0.5, 1.0, 2.0]
            yield from _other_numbers(program, node, value, others, theirs)
        if _is_large(node):
            yield Mutation("number", node, (program.replaced(node, _expression("-math.inf")),))


def _of_whole(program: Program, node: ast.expr, theirs: list[float]) -> Iterator[Mutation]:
    """For a whole number its neighbours, small ones, and what is read off a variable, as its length."""
    whole = _whole(node)
    near = [whole + 1, whole - 1, -whole, *theirs]
    small = [0, 1, 2, -1, whole // 2, 2 * whole] if abs(whole) < 10 else []  # twice -20 hides no more than -20
    yield from _other_numbers(program, node, whole, [*near, *small], near)
    same = [one for one in program.nodes if _whole(one) == whole]
    for name in program.names if whole > 1 else ():
        for size in (f"{name}.shape[-1]", f"{name}.shape[-2]", f"len({name})", name):
            yield Mutation("other number", node, (program.replaced(node, _expression(size)),))
            if whole > 2 and node is same[0] and len(same) > 1:
                yield Mutation("other number", node, tuple(program.replaced(one, _expression(size)) for one in same))


def _other_numbers(
    program: Program, node: ast.expr, own: float, others: list[float], likely: list[float]
) -> Iterator[Mutation]:
    for value in dict.fromkeys(others):
        if value != own:
            kind = "number" if value in likely else "other number"
            yield Mutation(kind, node, (program.replaced(node, _number(value)),))


def _is_large(node: ast.AST) -> bool:
    """Is it a number written out that stands for infinity, or infinity itself?"""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_large(node.operand)
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    is_inf = isinstance(node, ast.Attribute) and node.attr == "inf"
    is_called = isinstance(node, ast.Call) and _called(node) == "float"
    return is_number and abs(node.value) >= 10 or is_inf or is_called


def _of_einsum(program: Program, node: ast.AST) -> bool:
    parent = program.parents[id(node)]
    return isinstance(parent, ast.Call) and _called(parent) == "einsum"


def letters(program: Program, case: Case) -> Iterator[Mutation]:
    """A letter of an einsum string for another, one less, two exchanged; other axes of the result."""
    for node in program.nodes:
        if not (_of_einsum(program, node) and isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        text = node.value
        own = sorted(set(re.findall("[a-zA-Z]", text)))
        new = [text[:k] + one + text[k + 1 :] for k, c in enumerate(text) if c.isalpha() for one in ("", *own)]
        new += [
            text[:k] + text[k + 1] + text[k] + text[k + 2 :] for k in range(len(text) - 1) if text[k : k + 2].isalpha()
        ]
        before, arrow, after = text.partition("->")
        if arrow and len(after.strip()) <= 4:
            new += [f"{before}->{''.join(order)}" for order in itertools.permutations(after.strip())]
        new += [text + one for one in own]
        new += [text.replace(" ", ",", 1), *_two_of_one(before, arrow, after)]
        for one in dict.fromkeys(new):
            yield Mutation("letters", node, (program.replaced(node, ast.Constant(one)),))


def _two_of_one(before: str, arrow: str, after: str) -> Iterator[str]:
    """An einsum string in which a letter stands for two axes of a tensor: another for the second, as in the result."""
    for found in re.finditer(r"([a-zA-Z])([a-zA-Z]*)\1", before):
        fresh = next(one for one in "zyxwuv" if one not in before + after)
        changed = before[: found.end() - 1] + fresh + before[found.end() :]
        for place in [k for k, one in enumerate(after) if one == found[1]] if arrow else []:
            yield f"{changed}->{after[:place]}{fresh}{after[place + 1 :]}"


def operations(program: Program, case: Case) -> Iterator[Mutation]:
    """Another operator, other brackets, operands exchanged or left out; another comparison; another sign."""
    for node in program.nodes:
        if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
            kind = "sign" if isinstance(node.op, ast.USub) else "extra"
            yield Mutation(kind, node, (program.replaced(node, node.operand),))
        if isinstance(node, ast.BinOp):
            yield from _of_operation(program, node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            for kind in COMPARISONS:
                if not isinstance(node.ops[0], kind):
                    yield Mutation("comparison", node, ((node, "ops", 0, kind()),))


def assignments(program: Program, case: Case) -> Iterator[Mutation]:
    """Another operation with which something is set, or none; a sum in place of what is overwritten."""
    for node in program.nodes:
        if isinstance(node, ast.AugAssign):
            for kind in OPERATORS[:4]:
                if not isinstance(node.op, kind):
                    yield Mutation("operator", node, ((node, "op", None, kind()),))
            assigned = ast.Assign([node.target], node.value)
            yield Mutation("operator", node, (program.replaced(node, assigned),))
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple):
            added = ast.AugAssign(node.targets[0], ast.Add(), node.value)
            yield Mutation("overwritten", node, (program.replaced(node, added),))


def _of_operation(program: Program, node: ast.BinOp) -> Iterator[Mutation]:
    left, right = node.left, node.right
    for kind in (*OPERATORS, *((ast.Pow,) if isinstance(right, ast.Constant) else ())):
        if not isinstance(node.op, kind):
            yield Mutation("operator", node, ((node, "op", None, kind()),))
    if not isinstance(node.op, (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)):
        yield Mutation("order", node, ((node, "left", None, right), (node, "right", None, left)))
    yield Mutation("extra", right, (program.replaced(node, left),), right, program.behind(left, node))
    yield Mutation("extra", left, (program.replaced(node, right),), left)
    if isinstance(left, ast.BinOp):
        inner = ast.BinOp(left.right, node.op, right)
        yield Mutation("brackets", node, (program.replaced(node, ast.BinOp(left.left, left.op, inner)),))
    if isinstance(right, ast.BinOp):
        inner = ast.BinOp(left, node.op, right.left)
        yield Mutation("brackets", node, (program.replaced(node, ast.BinOp(inner, right.op, right.right)),))


def names(program: Program, case: Case) -> Iterator[Mutation]:
    """Another variable, here or wherever this one is read; two of them exchanged."""
    reads = [node for node in program.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    reads = [node for node in reads if node.id in program.names]
    for node in reads:
        for other in program.names:
            if other != node.id:
                yield Mutation("name", node, (program.replaced(node, ast.Name(other, ast.Load())),))
    own = dict.fromkeys(node.id for node in reads)
    for one, other in itertools.permutations(own, 2):
        ones, others = ([node for node in reads if node.id == name] for name in (one, other))
        swaps = [program.replaced(node, ast.Name(other, ast.Load())) for node in ones]
        if len(swaps) > 1:
            yield Mutation("name", ones[0], tuple(swaps))
        if one < other:
            swaps += [program.replaced(node, ast.Name(one, ast.Load())) for node in others]
            yield Mutation("exchanged", ones[0], tuple(swaps))


def calls(program: Program, case: Case) -> Iterator[Mutation]:
    """A function for its sibling; a call left out; arguments exchanged, left out, added."""
    for node in program.nodes:
        if isinstance(node, ast.Attribute):
            yield from _of_attribute(program, node)
        if isinstance(node, ast.Name) and node.id not in program.names:
            for other in SIBLING.get(node.id, ()):
                yield Mutation("function", node, ((node, "id", None, other),))
        if isinstance(node, ast.Call):
            yield from _of_call(program, node)
        if isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Load):
            yield from _two_exchanged(node, "order", "elts")
        if isinstance(node, (ast.If, ast.IfExp)):
            for value in (True, False):
                yield Mutation("branch", node.test, ((node, "test", None, ast.Constant(value)),))
        if isinstance(node, ast.IfExp):
            yield Mutation("order", node, ((node, "body", None, node.orelse), (node, "orelse", None, node.body)))


def unpackings(program: Program, case: Case) -> Iterator[Mutation]:
    """Two names on the left exchanged, of those that are read afterwards: an unread one is not mixed up, but unused."""
    read = {node.id for node in program.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for node in program.nodes:
        if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store):
            for edit in _two_exchanged(node, "unpacked", "elts"):
                if all(getattr(new, "id", None) in read for *_, new in edit.swaps):
                    yield edit


def filters(program: Program, case: Case) -> Iterator[Mutation]:
    """A comprehension without one of its conditions."""
    for node in program.nodes:
        if isinstance(node, ast.comprehension):
            for test in node.ifs:
                others = [other for other in node.ifs if other is not test]
                yield Mutation("extra", test, ((node, "ifs", None, others),), test, f"if {program._written(test)}")


def _of_attribute(program: Program, node: ast.Attribute) -> Iterator[Mutation]:
    """A sibling for a function or a transposition; nothing for what can be left out."""
    parent = program.parents[id(node)]
    for other in SIBLING.get(node.attr, ()):
        kind = "transposition" if other in ("mT", "T") else "collected" if other in COLLECT else "function"
        yield Mutation(kind, parent if isinstance(parent, ast.Call) else node, ((node, "attr", None, other),), node)
    if node.attr in ("mT", "T"):
        yield Mutation("transposition", node, (program.replaced(node, node.value),))
    elif node.attr in ("real", "values", "indices"):
        yield Mutation("extra", node, (program.replaced(node, node.value),), node)


def _two_exchanged(node: ast.AST, kind: str, field: str) -> Iterator[Mutation]:
    """Each two parts of a list or tuple exchanged."""
    for (i, one), (j, other) in itertools.combinations(enumerate(getattr(node, field)), 2):
        yield Mutation(kind, node, ((node, field, i, other), (node, field, j, one)))


def together(program: Program, case: Case) -> Iterator[Mutation]:
    """Functions and transpositions that are there more than once, exchanged or left out wherever they are."""
    joined = [node for node in program.nodes if isinstance(node, ast.Call) and _called(node) in JOINS]
    joined = [node for node in joined if len(node.args) == 1 and not node.keywords]
    for value in (1, -1, -2) if len(joined) > 1 else ():
        dims = [(node, "keywords", None, [ast.keyword("dim", _number(value))]) for node in joined]
        yield Mutation("axis", joined[0], tuple(dims))
    written = [node for node in program.nodes if isinstance(node, ast.Attribute)]
    for name in dict.fromkeys(node.attr for node in written):
        same = [node for node in written if node.attr == name]
        if len(same) < 2:
            continue
        for other in SIBLING.get(name, ()):
            yield Mutation("function", same[0], tuple((node, "attr", None, other) for node in same))
        if name in ("mT", "T"):
            yield Mutation("transposition", same[0], tuple(program.replaced(node, node.value) for node in same))


def _of_call(program: Program, node: ast.Call) -> Iterator[Mutation]:
    if _is_method(node):
        kind = "transposition" if _called(node) in (*EXCHANGE, "t") else "extra"
        text = program.behind(node.func.value, node)
        yield Mutation(kind, node, (program.replaced(node, node.func.value),), node, text if kind == "extra" else "")
    yield from _two_exchanged(node, "order", "args")
    for i in range(len(node.args)):
        yield from _of_argument(program, node, i)
    if _called(node) in JOINS and len(node.args) == 1 and not node.keywords:
        for value in (-1, 1, -2):
            yield Mutation("axis", node, ((node, "keywords", None, [ast.keyword("dim", _number(value))]),))
    for i, keyword in enumerate(node.keywords):
        others = node.keywords[:i] + node.keywords[i + 1 :]
        yield Mutation("extra", keyword, ((node, "keywords", None, others),), keyword.value)
    if _called(node) in ADD_UP:
        yield from _of_sum(node)
    if _called(node) == "squeeze" and _is_method(node) and not node.args:
        for value in (-1, -2, 1, 0):
            yield Mutation("squeezed", node, ((node, "args", None, [_number(value)]),), piece=".squeeze()")
    if _called(node) in ("var", "std"):
        biased = ast.keyword("unbiased", ast.Constant(False))
        yield Mutation("number", node, ((node, "keywords", None, [*node.keywords, biased]),))


def _of_argument(program: Program, node: ast.Call, i: int) -> Iterator[Mutation]:
    """The i-th argument in place of the call, and the call without it."""
    name, is_method, argument = _called(node), _is_method(node), node.args[i]
    if not isinstance(argument, ast.Constant):
        callee = program._written(node.func)
        named = callee if program.line(node).count(callee) == 1 else ""
        yield Mutation("extra", node, (program.replaced(node, argument),), node, named)
    if len(node.args) > 1 or is_method:
        is_axis = name in ALONG and i == ALONG[name] - is_method
        kind = "axis" if is_axis else "extra" if _whole(argument) is None else "extra number"
        yield Mutation(kind, argument, ((node, "args", None, node.args[:i] + node.args[i + 1 :]),))


def _of_sum(node: ast.Call) -> Iterator[Mutation]:
    """What is added up, or the largest …, with its axis kept; along an axis, where it goes over all of them."""
    others = [keyword for keyword in node.keywords if keyword.arg != "keepdim"]
    kept = ast.keyword("keepdim", ast.Constant(True))
    yield Mutation("kept axis", node, ((node, "keywords", None, [*others, kept]),))
    if len(node.args) == (not _is_method(node)) and len(others) == len(node.keywords):
        for value in (-1, -2, 0, 1):
            dim = ast.keyword("dim", _number(value))
            yield Mutation("axis", node, ((node, "keywords", None, [*others, dim]),))


def bounds(program: Program, case: Case) -> Iterator[Mutation]:
    """The ends of slices and ranges, one further or one less; a slice that takes all but an end."""
    for node in program.nodes:
        if isinstance(node, ast.Slice):
            yield from _of_slice(program, node)
        if isinstance(node, ast.Call) and _called(node) in ("range", "arange"):
            for i, end in enumerate(node.args):
                for kind in (ast.Add, ast.Sub):
                    yield Mutation("bound", node, ((node, "args", i, ast.BinOp(end, kind(), ast.Constant(1))),))
            if len(node.args) == 1:
                yield Mutation("bound", node, ((node, "args", None, [ast.Constant(1), *node.args]),))


def _of_slice(program: Program, node: ast.Slice) -> Iterator[Mutation]:
    """Other ends of a slice: none, one further or one less, both of them moved."""
    for lower, upper in ((None, "-1"), ("1", None), (None, None)):
        new = ast.Slice(lower and _expression(lower), upper and _expression(upper), node.step)
        yield Mutation("bound", program.parents[id(node)], (program.replaced(node, new),))
    for field in ("lower", "upper"):
        end = getattr(node, field)
        for kind in (ast.Add, ast.Sub) if end is not None else ():
            new = ast.BinOp(end, kind(), ast.Constant(1))
            yield Mutation("bound", node, ((node, field, None, new),), node)
    if node.lower is None and node.upper is not None:  # from the other end
        last = ast.Slice(ast.UnaryOp(ast.USub(), node.upper), None, node.step)
        yield Mutation("bound", program.parents[id(node)], (program.replaced(node, last),))
    if node.lower is not None and node.upper is not None:
        further = ast.BinOp(node.lower, ast.Add(), node.upper)  # a length was written in place of an end
        yield Mutation("bound", node, ((node, "upper", None, further),), node)
        for kind in (ast.Add, ast.Sub):
            both = [ast.BinOp(end, kind(), ast.Constant(1)) for end in (node.lower, node.upper)]
            yield Mutation("bound", node, ((node, "lower", None, both[0]), (node, "upper", None, both[1])), node)


def all_bounds(program: Program, case: Case) -> Iterator[Mutation]:
    """The ends of all ranges, where there are several: the same further, or what is added or taken off left out."""
    ranges = [node for node in program.nodes if isinstance(node, ast.Call) and _called(node) in ("range", "arange")]
    if len(ranges) < 2:
        return
    ends = [(node, 1 if len(node.args) > 1 else 0) for node in ranges if node.args]
    for kind in (ast.Add, ast.Sub):
        new = [ast.BinOp(node.args[i], kind(), ast.Constant(1)) for node, i in ends]
        yield Mutation("bound", ranges[0], tuple((node, "args", i, end) for (node, i), end in zip(ends, new)))
    if all(isinstance(node.args[i], ast.BinOp) for node, i in ends):
        yield Mutation("bound", ranges[0], tuple((node, "args", i, node.args[i].left) for node, i in ends))


def repeated(program: Program, case: Case) -> Iterator[Mutation]:
    """What is written more than once, word for word, with the same left out of each."""
    groups: dict[str, list[ast.BinOp]] = {}
    for node in program.nodes:
        if isinstance(node, ast.BinOp):
            groups.setdefault(ast.dump(node), []).append(node)
    for same in [same for same in groups.values() if len(same) > 1]:
        swaps = tuple(program.replaced(node, node.left) for node in same)
        yield Mutation("extra", same[0].right, swaps, same[0].right, program.behind(same[0].left, same[0]))
        inner = [[part for part in ast.walk(node) if isinstance(part, ast.Name)] for node in same]
        for parts in zip(*inner):
            for name in program.names if parts[0].id in program.names else ():
                if name != parts[0].id:
                    new = tuple(program.replaced(part, ast.Name(name, ast.Load())) for part in parts)
                    yield Mutation("everywhere", same[0], new, same[0])


def loop_indices(program: Program, case: Case) -> Iterator[Mutation]:
    """A variable of a loop in place of a number in an index."""
    loops = [node for node in program.nodes if isinstance(node, ast.For)]
    targets = dict.fromkeys(part.id for loop in loops for part in ast.walk(loop.target) if isinstance(part, ast.Name))
    for node in program.nodes if targets else ():
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            for part in [part for part in parts if _whole(part) is not None]:
                for name in targets:
                    yield Mutation("number", node, (program.replaced(part, ast.Name(name, ast.Load())),), node)


def sizes(program: Program, case: Case) -> Iterator[Mutation]:
    """For the length of an axis that of another one: those that the reference reads, and how long a variable is."""
    theirs = [ast.unparse(node) for node in ast.walk(tree_of(case.reference)) if _is_size(node)]
    theirs = [
        text for text in theirs if set(re.findall(r"[A-Za-z_]\w*", text)) <= {*program.names, "shape", "size", "len"}
    ]
    own = {
        target.id
        for node in program.nodes
        if isinstance(node, ast.Assign) and re.search(r"\bshape\b|\bsize\(|\blen\(", ast.unparse(node.value))
        for target in ast.walk(node.targets[0])
        if isinstance(target, ast.Name)
    }
    lengths = [f"len({name})" for name in program.names if name not in own]
    for node in program.nodes:
        is_own = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in own
        if is_own or _is_size(node):
            for text in dict.fromkeys([*theirs, *lengths]):
                if text != ast.unparse(node):
                    kind = "name" if text in theirs else "other number"
                    yield Mutation(kind, node, (program.replaced(node, _expression(text)),))


def _is_size(node: ast.AST) -> bool:
    """Is it the length of an axis: x.shape[-1], x.size(0) or len(x)?"""
    if isinstance(node, ast.Subscript):
        return getattr(node.value, "attr", "") == "shape" and _whole(node.slice) is not None
    return isinstance(node, ast.Call) and _called(node) in ("size", "len")


def texts(program: Program, case: Case) -> Iterator[Mutation]:
    """Another text, of those that the reference writes, also in place of None; not einsum's, which says less than
    its letters."""
    tree = tree_of(case.reference)
    documented = tree.body[ast.get_docstring(tree) is not None :]
    parts = [node for statement in documented for node in ast.walk(statement)]
    theirs = [node.value for node in parts if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for node in program.nodes if theirs else ():
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str | type(None))
            and not _of_einsum(program, node)
        ):
            for text in dict.fromkeys(theirs):
                if text != node.value:
                    yield Mutation("text", node, (program.replaced(node, ast.Constant(text)),))


def put_in(program: Program, case: Case) -> Iterator[Mutation]:
    """Around what is read: what the reference does with something, and what is often forgotten."""
    around = dict.fromkeys(_around(case))
    around |= dict.fromkeys((kind, template) for kind, templates in FORGOTTEN.items() for template in templates)
    for node in _reads(program):
        text = ast.unparse(node)
        for kind, template in around:
            new = _expression(template.format(text))
            missing = MISSING.get(type(new.op), "") if kind == "put in operand" and isinstance(new, ast.BinOp) else ""
            yield Mutation(kind, node, (program.replaced(node, new),), missing=missing)
        if isinstance(node, ast.Name):
            yield Mutation("put in axis", node, (program.replaced(node, _expression(f"{text}.flatten(0, 1)")),))
        for other in program.names:
            if other != text:
                swaps = (program.replaced(node, _expression(f"({text}) * {other}")),)
                yield Mutation("put in operand", node, swaps, missing=MISSING[ast.Mult])


def _around(case: Case) -> Iterator[tuple[str, str]]:
    """What the reference does with a value, given its arguments alone, as (kind, text with a hole)."""
    tree = tree_of(case.reference)
    own = {argument.arg for argument in tree.args.args}

    def known(*nodes: ast.AST) -> bool:
        names = [part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)]
        return all(name in own or name in IMPORTS or name in ("len", "float", "int", "range") for name in names)

    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            sides = (node.left, node.right), (node.right, node.left)
            yield from (("put in operand", _with_hole(node, one)) for one, other in sides if known(other))
        elif isinstance(node, ast.Call) and known(*node.args[1:], *node.keywords):
            if _is_method(node) and known(*node.args):
                yield "put in call", _with_hole(node, node.func.value)
            elif node.args and isinstance(node.func, (ast.Attribute, ast.Name)):
                yield "put in call", _with_hole(node, node.args[0])
        elif isinstance(node, ast.Subscript) and known(node.slice):
            yield "put in axis", _with_hole(node, node.value)
        elif isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
            yield "put in call", _with_hole(node, node.operand)


def _with_hole(node: ast.AST, part: ast.AST) -> str:
    """The text of a node with `({})` in place of one of its parts."""
    twin = copy.deepcopy(node, {id(part): ast.Name("HOLE", ast.Load())})
    return ast.unparse(twin).replace("{", "{{").replace("}", "}}").replace("HOLE", "({})")


def lines(program: Program, case: Case) -> Iterator[Mutation]:
    """A line dropped, two exchanged, one moved out of a loop or into it."""
    for owner in [program.tree, *program.nodes]:
        for field in ("body", "orelse"):
            block = getattr(owner, field, None)
            if isinstance(block, list):
                yield from _of_block(program, owner, field, block)


def _of_block(program: Program, owner: ast.AST, field: str, block: list[ast.stmt]) -> Iterator[Mutation]:
    for i, one in enumerate(block):
        before, after = block[:i], block[i + 1 :]
        if len(block) > 1 and not isinstance(one, ast.Return):
            yield Mutation("extra line", one, ((owner, field, None, before + after),))
        if after and not isinstance(after[0], ast.Return):
            swapped = [*before, after[0], one, *after[1:]]
            yield Mutation("lines", one, ((owner, field, None, swapped),), one, program.line(after[0]))
        if isinstance(one, (ast.For, ast.While, ast.If)):
            if len(one.body) > 1:
                moved = (one, "body", None, one.body[:-1]), (owner, field, None, [*before, one, one.body[-1], *after])
                yield Mutation("rounds", one.body[-1], moved)
                moved = (one, "body", None, one.body[1:]), (owner, field, None, [*before, one.body[0], one, *after])
                yield Mutation("rounds", one.body[0], moved)
            if after and not isinstance(after[0], ast.Return):
                moved = (one, "body", None, [*one.body, after[0]]), (owner, field, None, [*before, one, *after[1:]])
                yield Mutation("rounds", after[0], moved)
            for k in range(max(0, len(before) - 3), len(before)) if not isinstance(one, ast.If) else [len(before) - 1]:
                if k < 0 or isinstance(before[k], (ast.For, ast.While, ast.If)):
                    continue
                others = before[:k] + before[k + 1 :]
                moved = (one, "body", None, [before[k], *one.body]), (owner, field, None, [*others, one, *after])
                yield Mutation("rounds", before[k], moved)


MAKERS: Iterable[Callable[[Program, Case], Iterator[Mutation]]] = (
    axes, numbers, letters, operations, assignments, names, calls, unpackings, filters, together, repeated, bounds,
    all_bounds, loop_indices, sizes, texts, put_in, lines,
)  # fmt: skip
