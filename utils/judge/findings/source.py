"""What a wrong function's source says for certain, whatever it returns.

Nothing else explains a result so well as a `return` inside the loop. A function whose source cannot be found (typed at
a plain prompt) has none of these findings.
"""

import ast
import builtins
import inspect
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..case import Case
from ..compare import holds_nan
from ..context import IMPORTS, PARAMETERS
from ..run.calls import run
from ..run.errors import (
    text_of,
)
from ..run.sandbox import Sandbox
from ..search.nan import zeros_and_ones_added
from ..syntax import (
    bare,
    define,
    put,
    source_of,
    tree_of,
)
from ..verdict import Finding
from ..wording import (
    listed,
)


def mask_added(case: Case) -> Finding | None:
    """A mask of True and False, or of 1 and 0, is added to scores where the reference hides some."""
    if not re.search(r"masked_fill|masked_softmax|mask", source_of(case.reference)):
        return None
    piece = zeros_and_ones_added(case, case.first_wrong)
    if not piece:
        return None
    return Finding("source.mask_added", {"piece": piece})


def divided_by_its_sum(case: Case) -> Finding | None:
    """Scores over their own sum, and no exponential anywhere, where the reference has a softmax."""
    if not re.search(r"softmax|exp\(", source_of(case.reference)):
        return None
    source = case.source.replace(f"def {case.reference.__name__}(", "")
    found = re.search(r"\b(\w+) / \(?(?:\1\.sum\(|torch\.sum\(\1\b|sum\(\1\))", case.source)
    if found is None or re.search("exp|softmax|scaled_dot", source):
        return None
    if case.first_wrong.error is not None and "size" in text_of(case.first_wrong.error):
        return None
    return Finding("source.divided_by_its_sum", {"name": found[1]})


def fresh_layer(case: Case) -> Finding | None:
    """A layer of its own, with parameters made anew, while of those that were given nothing but the shape is read."""
    layer = re.search(
        r"\b(Multi[Hh]eadAttention|Linear|Bilinear|Conv\dd|LayerNorm|RNN|RNNCell|GRU|GRUCell)\(", case.source
    )
    given = [name for name in case.first_wrong.arguments if name.startswith(tuple(PARAMETERS))]
    unused = [name for name in given if not re.search(rf"(?<!len\()\b{name}\b(?!\.(shape|size))", case.source)]
    if layer is None or not unused:
        return None
    key = "source.layer_with_matrices" if unused[0].startswith("W") else "source.layer_with_parameters"
    return Finding(key, {"layer": layer[1], "given": listed(unused)})


def linear_transposes(case: Case) -> Finding | None:
    """F.linear, which takes its matrix the other way round, where products in its place make the answer right."""
    other = with_products(case.function)
    if other is None or not all(
        run(other, done.arguments, done.want, Sandbox.current.call).right for done in case.runs
    ):
        return None
    if re.search(r"linear\([^()]*\.(T|mT)\b|linear\([^()]*\.t\(\)", case.source):
        return Finding("source.linear_of_a_transposed_matrix")
    return Finding("source.linear_transposes")


def unused_argument(case: Case) -> Finding | None:
    """An argument that the function never reads, though the reference does."""
    return what_is_unused(case) if case.first_wrong.error is None else None


def unused_by_several(case: Case) -> Finding | None:
    """The same, where several results are asked for: then nothing is said of one of them."""
    want = case.first_wrong.want
    return unused_argument(case) if isinstance(want, tuple) and isinstance(want[0], Tensor) else None


def what_is_unused(case: Case) -> Finding | None:
    """The arguments that are never read."""
    if not case.unused:
        return None
    unused = [f"`{name}`" for name in case.unused]
    if len(unused) == 1 and (taker := _takes(case, case.unused[0])):
        return Finding("source.unused_by_a_call", {"name": case.unused[0], "function": taker})
    return Finding("source.unused", {"names": listed(unused)})


def _takes(case: Case, name: str) -> str:
    """A function of torch that the answer calls, and that takes an argument of this name; "" where there is none."""
    tree = tree_of(case.function)
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree else []:
        try:
            taker = eval(ast.unparse(call.func), {**IMPORTS})
            if name in inspect.signature(taker).parameters:
                return ast.unparse(call.func)
        except Exception:  # no function of a module's, or one without a signature
            continue
    return ""


def changed_input(case: Case) -> Finding | None:
    """An argument is changed in place."""
    return changed_in_place(case)


def changed_in_place(case: Case) -> Finding | None:
    """What is said of arguments that are changed in place."""
    names = next((done.changed for done in case.wrong if done.changed), ())
    return Finding("source.changed_in_place", {"names": listed(names)}) if names else None


SLIPS = (  # patterns of the source, spaced as ast.unparse spaces it
    (r"\b2\.71\d*", "digits_of_e"),
    (r"\*\* -?1 / 2\b", "half_instead_of_root"),
    (
        r"sqrt\((math|np|torch)\.e\)|(math|np|torch)\.e \*\* 0\.5",
        "root_of_e",
    ),
    (
        r"masked_fill_?\([^()]*(?<!-)\b(math\.inf|torch\.inf|np\.inf|float\('inf'\))\)",
        "hidden_plus_infinity",
    ),
    (
        r"(?s)^(?=.*softmax).*(masked_fill_?|where)\([^()]*\b((math|torch|np)\.nan|float\('nan'\))\)",
        "hidden_nan",
    ),
    (
        r"\b\d{3,}(\.0)? \*\* [\w.]+ [*/] ",
        "power_binds_tighter",
    ),
    (r"[\w)] \^ \d", "caret_is_no_power"),
    (
        r"(?m)^return [^\n]*\w is (?:not )?(?!None$|True$|False$)[a-z_]\w*$",
        "is_of_tensors",
    ),
    (
        r"\[\[[^\[\]]*\] \* [^\[\]]+\] \* ",
        "multiplied_list",
    ),
)
FILLING = ("masked_fill", "masked_fill_", "where")  # by which a learner hides scores
HIDDEN = "__hidden"  # by which -∞ replaces a sum that hides
PRODUCT = "__product"  # by which x @ W replaces F.linear
RETURNING = set(  # methods that return a new tensor
    "masked_fill transpose permute unsqueeze squeeze reshape view float softmax t flatten unflatten expand clamp to "
    "double bool long tril triu flip detach".split()
)


def its_arguments(arguments: dict[str, Any]) -> Finding:
    """The arguments of an exercise in a sentence."""
    number = "one" if len(arguments) == 1 else "several"
    sizes = "_sizes" if all(isinstance(value, int) for value in arguments.values()) else ""
    return Finding(f"arguments.{number}{sizes}", {"names": listed(arguments)})


def hidden_builtin(case: Case) -> Finding | None:
    """One of Python's own functions whose name the notebook has given to something else."""
    tree = tree_of(case.function)
    called = [node.func.id for node in ast.walk(tree) if _calls_a_name(node)] if tree else []
    notebook = getattr(inspect.unwrap(case.function), "__globals__", {})
    hidden = [name for name in called if hasattr(builtins, name) and not callable(notebook.get(name, len))]
    return Finding("source.hidden_builtin", {"name": hidden[0]}) if hidden else None


def _calls_a_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def outside_data(case: Case) -> Finding | None:
    """Tensors, arrays, lists and numbers of the notebook that the function reads."""
    tree = tree_of(case.function)
    if tree is None:
        return None
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    data = (Tensor, np.ndarray, list, tuple, dict, int, float, np.generic)
    notebook = getattr(inspect.unwrap(case.function), "__globals__", {})
    outside = sorted(name for name in read - own if isinstance(notebook.get(name), data))
    if not outside:
        return None
    fields = {"names": listed(outside), "arguments": its_arguments(case.first_wrong.arguments)}
    return Finding("source.outside_data", fields)


def parameters_exchanged(case: Case) -> Finding | None:
    tree, asked = tree_of(case.function), list(case.first_wrong.arguments)
    given = [argument.arg for argument in tree.args.args] if tree else []
    if given == asked or sorted(given) != sorted(asked):
        return None
    fields = {"given": ", ".join(given), "function": case.reference.__name__, "asked": ", ".join(asked)}
    return Finding("source.parameters_exchanged", fields)


def return_in_loop(case: Case) -> Finding | None:
    tree = tree_of(case.function)
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)] if tree else []
    if any(isinstance(statement, ast.Return) for loop in loops for statement in loop.body):
        return Finding("source.return_in_loop")
    return None


def slip(case: Case) -> Finding | None:
    source = source_of(case.function)
    return next((Finding(f"slips.{name}") for pattern, name in SLIPS if re.search(pattern, source)), None)


def compared_with_text(case: Case) -> Finding | None:
    """An argument that is no text on any input is compared with one, which is never equal."""
    tree = tree_of(case.function)
    for node in ast.walk(tree) if tree else []:
        if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Name) or len(node.comparators) != 1:
            continue
        values = [done.arguments.get(node.left.id, "") for done in case.runs]
        is_text = isinstance(node.comparators[0], ast.Constant) and isinstance(node.comparators[0].value, str)
        if is_text and isinstance(node.ops[0], ast.Eq) and all(isinstance(value, bool) for value in values):
            return Finding("source.compared_with_text", {"piece": ast.unparse(node), "name": node.left.id})
    return None


def result_not_kept(case: Case) -> Finding | None:
    """A method that returns a new tensor is in a line of its own, and nothing takes what it returns; not where that
    was given so in code to be fixed."""
    if case.broken and case.known_row and case.broken in case.known_row.names:
        return None
    tree = tree_of(case.function)
    lines = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)] if tree else []
    for call in lines:
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in RETURNING:
            return Finding("source.result_not_kept", {"line": ast.unparse(call), "function": call.func.attr})
    return None


def finite_fill(case: Case) -> Finding | None:
    """Hidden scores get a finite number, and -∞ in its place would make the answer right, except for rows with nothing
    else."""
    for number, is_added, other in finite_fills(case.function):
        again = [run(other, done.arguments, done.want, Sandbox.current.call) for done in case.wrong]
        if any(done.right for done in again) and all(done.right or holds_nan({"": done.result}) for done in again):
            return Finding("source.finite_number_added" if is_added else "source.finite_fill", {"number": number})
    return None


def finite_fills(function: Callable) -> list[tuple[str, bool, Callable]]:
    """The numbers that hidden scores get, whether they are added, and the function that has -∞ in place of each."""
    tree, space = tree_of(function), getattr(function, "__globals__", None)
    if tree is None or space is None or getattr(function, "__closure__", None):
        return []
    space = {**space, HIDDEN: _hidden}
    found, set_once = [], _set_once(tree)
    for owner in ast.walk(tree):
        for field, value in ast.iter_fields(owner):
            for index, node in enumerate(value if isinstance(value, list) else [value]):
                for number, is_added, spot, new in _of_a_fill(node, set_once):
                    place = spot or (owner, field, index if isinstance(value, list) else None)
                    before = put(*place, new)
                    found.append((number, is_added, define(bare(tree), tree.name, {**space}, apart=True)))
                    put(*place, before)
    return found


def _set_once(tree: ast.FunctionDef) -> dict[str, ast.expr]:
    """The variables that an answer sets in one line alone, and what that line computes."""
    lines = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
    stored = Counter(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return {line.targets[0].id: line.value for line in lines if stored[line.targets[0].id] == 1}


def _of_a_fill(node: Any, set_once: dict[str, ast.expr]) -> Iterator[tuple[str, bool, tuple | None, ast.expr]]:
    """A number that hides: as text, is it added, where it is if not at the node itself, and what hides instead."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        parts = [part for part in ast.walk(node) if isinstance(part, ast.UnaryOp)] if name in FILLING else []
        for part in parts:
            if isinstance(part.op, ast.USub) and isinstance(part.operand, ast.Constant):
                endless = ast.Call(ast.Name("float", ast.Load()), [ast.Constant("inf")], [])
                yield ast.unparse(part), False, (part, "operand", None), endless
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        sides = [(node.left, node.right), (node.right, node.left)]
        for scores, added in sides[:1] if isinstance(node.op, ast.Sub) else sides:
            written = set_once.get(added.id, added) if isinstance(added, ast.Name) else added
            number = ""
            if _is_product(written):
                number = next(filter(None, map(_large, (written.left, written.right))), "")
            if number:
                sign = "-" if isinstance(node.op, ast.Sub) else ""
                yield f"{sign}{number}", True, None, ast.Call(ast.Name(HIDDEN, ast.Load()), [scores, added], [])


def _is_product(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _large(node: ast.AST) -> str:
    """A number of ten or more, with any sign, as text; "" for all else."""
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    is_number = isinstance(inner, ast.Constant) and type(inner.value) in (int, float)
    return ast.unparse(node) if is_number and abs(inner.value) >= 10 else ""


def _hidden(scores: Any, added: Any) -> Any:
    """-∞ where a number is added that hides, scores elsewhere."""
    return torch.where(added != 0, -math.inf, scores)


def with_products(function: Callable) -> Callable | None:
    """The function with a product in place of each `F.linear` of two or three; None where it calls none."""
    tree, space = tree_of(function), getattr(function, "__globals__", None)
    if tree is None or space is None or getattr(function, "__closure__", None):
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_linear(node)]
    for call in calls:
        call.func = ast.Name(PRODUCT, ast.Load())
    return define(bare(tree), tree.name, {**space, PRODUCT: _product}, apart=True) if calls else None


def _is_linear(call: ast.Call) -> bool:
    return ast.unparse(call.func) in ("F.linear", "torch.nn.functional.linear", "nn.functional.linear")


def _product(x: Tensor, matrix: Tensor, bias: Tensor | float = 0.0) -> Tensor:
    return x @ matrix + bias


def einsum_letters(case: Case) -> Finding | None:
    """A letter of one operand alone that is missing after the arrow, while the other has one of its own there, too."""
    tree = tree_of(case.function)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree else []
    strings = [call.args[0].value for call in calls if call.args and isinstance(call.args[0], ast.Constant)]
    for text in strings:
        if not isinstance(text, str) or not (parts := re.fullmatch(r"([\w. ]+),([\w. ]+)->([\w. ]*)", text)):
            continue
        one, other, result = (set(part) - set(". ") for part in parts.groups())
        left, right = one - other - result, other - one - result
        if left and right:
            fields = {"text": text, "left": min(left), "right": min(right)}
            return Finding("source.einsum_letters", fields)
    return None
