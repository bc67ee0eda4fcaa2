"""What is said of a wrong answer: the first of `FINDINGS` that applies speaks.

A finding takes a `Case` and returns a `Finding` or None. It declares what it needs and is asked only where that is
there: the answer's `source`, the first wrong input's `result`, or the `exception` that it raised. All but the known
mistakes look at the first wrong input first: later ones may go wrong for its reason.
"""

import ast
import inspect
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from . import reading
from .case import Case, needs
from .classes import Built, Misbuilt
from .isolation import Isolation
from .locate import last_right_step, origin_of_nan, wrong_step, zeros_and_ones_added
from .numbers import (
    furthest,
    last_step_missing,
    one_factor,
    results_as_numbers,
    right_but_for_some_inputs,
    wrong_in_one_place,
)
from .remedies import A_SHAPE_PROBLEM, BATCH_REMEDY, BATCH_REVERSED, BROADCAST, PRODUCTS, REMEDIES
from .repair import Repair, one_change, two_changes
from .rows import IMPORTS
from .running import FLOATS, INTEGERS, RIGHT, Run, as_tensor, holds_nan, run, same, same_kind, unchanged
from .variants import OF_RESULTS
from .verdict import Finding
from .wording import (
    describe_inputs,
    describe_kind,
    describe_shape,
    describe_want,
    dtype_name,
    listed,
    own_frame,
    own_line,
    shorten,
    text_of,
)

LEFT_OPEN = re.compile(
    r"Sizes of tensors|equal size|invalid for input of size|index k out of range|out of bounds|index out of range"
    r"|einsum\(\):|multiply up|one element tensors can be converted|is not in list"
)
LEFT_OVER = "an axis of length 1 is left over"
OF_A_STEP = "your result has the shape of "
RANDOM = re.compile(r"rand|dropout|bernoulli|normal\b|normal_|multinomial|choice|sample|shuffle")
AN_AXIS = re.compile(r"-\d|\b(dim\d?|axis)=\d|\b(transpose|swapaxes|permute|movedim)\([^()]*\)|\[\d\]|\*\* 2")
FROM_THE_FRONT = re.compile(
    r"\b(transpose|permute|swapaxes|movedim)\(\d[^()]*\)|\b\w+\.(shape\[\d\]|size\(\d\))|\b(dim|axis)=\d"
)


def applies(finding: Callable, case: Case) -> bool:
    """Is there what the finding needs?"""
    there = {"source": bool(case.source), "exception": case.first.error is not None, "": True}
    there["result"] = not there["exception"]
    return there[getattr(finding, "needs", "")]


def diagnosis(case: Case) -> Finding:
    """What the first finding that applies has found; where it names no mistake, behind what is right."""
    for finding in FINDINGS:
        if applies(finding, case) and (found := finding(case)):
            is_open = finding in NAMELESS and not found.by and not _says_it_all(case)  # who says why signs it
            found = replace(found, by=found.by or finding.__name__)
            return _placed(case, finding, found) if is_open else found
    raise AssertionError("the last finding always speaks")


def at_an_edge(case: Case) -> Finding:
    """What is seen of an answer that is wrong for an edge of what may go in: the cause stands in the edge's name."""
    done = case.first
    if done.error is None and isinstance(done.result, tuple) and isinstance(done.want[0], Tensor):
        pairs = zip(done.result, done.want) if len(done.result) == len(done.want) else ()
        parts = [Run(done.arguments, want, got, changed=done.changed) for got, want in pairs]
        wrong = next((place for place, part in enumerate(parts) if not part.right), None)
        if wrong is not None:
            found = at_an_edge(replace(case, runs=[parts[wrong]]))
            return replace(found, message=f"result {wrong + 1} of {len(parts)}: {found.message}")
    found = ((finding, finding(case)) for finding in AT_AN_EDGE if applies(finding, case))
    return next(replace(said, by=finding.__name__) for finding, said in found if said)


def _placed(case: Case, finding: Callable, found: Finding) -> Finding:
    """A finding that names no mistake, behind the place of the mistake, or else behind what is right."""
    if found.message.startswith((LEFT_OVER, OF_A_STEP)):
        return found
    if finding is wrong_shape and (unused := unused_argument(case)):
        found = replace(found, message=_behind(unused.message, found.message))
    wrong = wrong_step(case) if case.more is not None else None
    if wrong and (wrong.is_alone or finding is not unused_argument):
        seen = finding in (wrong_in_one_place, right_but_for_some_inputs) and not isinstance(case.first.want, tuple)
        numbers = furthest_entry(case).message if seen else found.message  # no pattern in them: the place is known
        before = None if wrong.is_alone else last_right_step(case)
        is_before = before is not None and before.line <= wrong.at and wrong.piece not in before.following
        where = _behind(before.sentence(), wrong.sentence()) if is_before else wrong.sentence()
        return Finding(_behind(where, numbers), by="wrong_step")
    if finding is not unused_argument and (step := last_right_step(case)):
        return replace(found, message=_behind(step.sentence(), found.message), by="last_right_step")
    return found


def _behind(where: str, what: str) -> str:
    return f"{where} {what[0].upper()}{what[1:]}"


# ---- known mistakes


def only_an_input_changed(case: Case) -> Finding | None:
    return changed_input(case) if all(done.right for done in case.runs) else None


def known_mistake(case: Case) -> Finding | None:
    """A known mistake. Before it, that an input is changed, where the mistake does not do so; and a change that mends a
    line of the learner's own, where of code that is to be mended no more could be said than that it is still wrong."""
    candidate = case.known.explain(case.runs, ("rows",), case.source)
    if candidate is None:
        return None
    spoilt = [done for done in case.runs if done.changed]
    if spoilt and not any(case.known.spoils(candidate, done) for done in spoilt):
        return replace(changed_input(case), by="changed_input")
    if case.broken and case.broken in candidate.names:
        return _in_a_new_line(case) or Finding(candidate.sentence(), candidate.names)
    return Finding(candidate.sentence(), candidate.names)


def _in_a_new_line(case: Case) -> Finding | None:
    """The change that mends code which was to be mended, if it is of a line that was not given so."""
    found = one_change(case) if case.more is not None else None
    if found is None or found.beside or not found.sure:
        return None
    given = next(row for row in case.known.mistakes if row.name == case.broken)
    lines = {" ".join(line.split("  #")[0].split()) for line in inspect.getsource(given.function).splitlines()}
    if " ".join(found.line.split("  #")[0].split()) in lines:
        return None
    return Finding(found.message, change=found.change, by="one_change_away")


def known_mistakes(case: Case) -> Finding | None:
    """Two known mistakes at once, where no single change mends the answer, or something that any result may have."""
    pair = _explained(case, case.runs, "pairs")
    return _alone(case, pair) if pair else _explained(case, case.runs, "variants")


def mistake_and_more(case: Case) -> Finding | None:
    found = _explained(case, case.runs, "mixed")
    return _alone(case, found, sure=False) if found and len(found.names) > 1 else found


def _alone(case: Case, found: Finding, sure: bool = True) -> Finding:
    """A single change that mends everything, in the place of two mistakes that fit together; not where all that a line
    computes would have to be looked at, of which the two say more."""
    change = one_change(case) if _is_searched(case) else None
    if change is None or change.beside or sure and not change.sure:
        return found
    computed = re.split(r"\breturn | = ", change.line, maxsplit=1)[-1]
    if f"look at `{computed}`" in change.message:
        return found
    return replace(_asked(case, _said(change)), by="one_change_away")


# ---- a change that mends the answer


@needs("source")
def one_change_away(case: Case) -> Finding | None:
    """The place of the change that mends the answer, or that leaves it with a known mistake."""
    found = one_change(case) if _is_searched(case) else None
    return _asked(case, _said(found)) if found and found.sure else None


@needs("source")
def something_missing(case: Case) -> Finding | None:
    """The place where something has to be put in, which then mends the answer."""
    found = one_change(case) if _is_searched(case) else None
    if found is None:
        return None
    shape = wrong_shape(case) if case.first.error is None else None
    return shape if shape and shape.message.startswith(LEFT_OVER) else _said(found)


@needs("source")
def two_changes_away(case: Case) -> Finding | None:
    """The two places of changes that mend the answer together."""
    found = two_changes(case) if _is_searched(case) else None
    return _said(found) if found else None


def _is_searched(case: Case) -> bool:
    if case.more is None or unused_argument(case) or _says_it_all(case) and not _leaves_open(case):
        return False
    return case.first.error is not None or wrong_type(case) is None


def _asked(case: Case, found: Finding) -> Finding:
    """With what the exercise asks about the line of such an exception."""
    if not _leaves_open(case):
        return found
    line = own_line(case.first.error, case.function)
    asked = next((text for pattern, text in case.questions.items() if pattern and re.search(pattern, line)), "")
    return replace(found, message=f"{found.message} {asked}".rstrip())


def _said(found: Repair) -> Finding:
    if found.beside is None:
        return Finding(found.message, change=found.change)
    both = f"two things: (1) {found.beside.sentence()} (2) {found.message}"
    return Finding(both, found.beside.names, found.change)


def _says_it_all(case: Case) -> bool:
    """Is it an exception whose words alone say what is wrong?"""
    error = case.first.error
    if error is None:
        return False
    clue, line = f"{type(error).__name__}: {text_of(error)}", own_line(error, case.function)
    return (
        isinstance(error, NameError)
        or bool(_in_an_argument(case, case.first))
        or any(re.search(remedy.error, clue) and re.search(remedy.line, line) for remedy in REMEDIES)
    )


def _leaves_open(case: Case) -> bool:
    """Is it an exception that says what does not fit, but not why?"""
    return case.first.error is not None and bool(LEFT_OPEN.search(text_of(case.first.error)))


def known_in_one_branch(case: Case) -> Finding | None:
    """Where an argument is a switch, True or False: each branch may be wrong in its own way."""
    for name in [name for name, value in case.runs[0].arguments.items() if isinstance(value, bool)]:
        for value in (True, False):
            runs = [done for done in case.runs if done.arguments[name] is value]
            if len(runs) > 1 and not all(done.right for done in runs):
                branch = f"{name}={value}"
                if found := _explained(case, runs, "rows", "pairs"):
                    return (
                        found if branch in found.message else replace(found, message=f"with {branch}: {found.message}")
                    )
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
    return Finding(candidate.sentence(), candidate.names) if candidate else None


@needs("result")
def mask_added(case: Case) -> Finding | None:
    """A mask of True and False, or of 1 and 0, is added to scores where the reference hides some."""
    if not re.search(r"masked_fill|masked_softmax|mask", reading.source_of(case.reference)):
        return None
    piece = zeros_and_ones_added(case, case.first)
    if not piece:
        return None
    return Finding(
        f"in `{piece}` a mask is added, as 1 and 0: that prefers some scores a little, and hides none. What hides a "
        "score is -∞ in its place."
    )


@needs("source")
def divided_by_its_sum(case: Case) -> Finding | None:
    """Scores over their own sum, and no exponential anywhere, where the reference has a softmax."""
    if not re.search(r"softmax|exp\(", reading.source_of(case.reference)):
        return None
    source = case.source.replace(f"def {case.reference.__name__}(", "")
    found = re.search(r"\b(\w+) / \(?(?:\1\.sum\(|torch\.sum\(\1\b|sum\(\1\))", case.source)
    if found is None or re.search("exp|softmax|scaled_dot", source):
        return None
    if case.first.error is not None and "size" in text_of(case.first.error):
        return None
    return Finding(
        f"`{found[1]}` is divided by its own sum, which is no softmax: what is negative stays so, and a sum near 0 "
        "makes everything huge. A softmax takes the exponential of each first, which is positive, and divides by their "
        "sum."
    )


@needs("source")
def axes_from_the_front(case: Case) -> Finding | None:
    """Right for one number of axes, wrong for every other, and an axis is counted from the front."""
    found, error = FROM_THE_FRONT.search(case.source), case.first.error
    outside = error is not None and "Dimension out of range" in text_of(error)
    if found is None or error is not None and not outside:
        return None
    numbers: dict[int, set[bool]] = {}
    for done in case.runs:
        first = next((value for value in done.arguments.values() if isinstance(value, Tensor)), None)
        numbers.setdefault(first.ndim if first is not None else 0, set()).add(done not in case.wrong)
    failed = own_line(error, case.function) if outside else ""
    if "cross_entropy" in failed:
        return None  # which wants the classes in a certain place from the front
    line = FROM_THE_FRONT.search(failed)
    if line and len(numbers) > 1:
        return Finding(
            f"the number of axes varies, and `{line[0]}` counts from the front: there is no such axis for "
            f"{describe_inputs(case.first.arguments)}. Counted from the end, -1, -2, …, each keeps its place."
        )
    right = [number for number, verdicts in numbers.items() if verdicts == {True}]
    if len(right) != 1 or any(verdicts != {False} for number, verdicts in numbers.items() if number not in right):
        return None
    return Finding(
        f"right where there are {right[0]} axes, but their number varies, and `{found[0]}` counts from the front. "
        "Counted from the end, -1, -2, …, each keeps its place, however many stand before it."
    )


# ---- exceptions


@needs("exception")
def crash(case: Case, done: Run | None = None) -> Finding | None:
    """What the exception means, the learner's own line, the shapes that went in and a question to go on with."""
    done = done or case.first
    error = done.error
    if isinstance(error, Misbuilt):
        return Finding(text_of(error))
    is_class = isinstance(case.function, Built)
    if isinstance(error, TypeError) and not is_class and own_frame(error, case.function) is None:
        given = ", ".join(done.arguments)
        return Finding(f"it cannot be called. Keep its first line as it was: def {case.reference.__name__}({given}):")
    text = shorten((text_of(error).splitlines() or [""])[0].rstrip("."), 160)
    text = re.sub(r"^\[enforce fail.* allocate (\d+) bytes.*", r"\1 bytes are more than there is", text)
    kind, line, inputs = type(error).__name__, own_line(error, case.function), describe_inputs(done.arguments)
    if kind == "NameError" and (name := re.search(r"name '(\w+)'", text)):
        used = reading.its_arguments(done.arguments)
        where = f"'{name[1]}' is not defined (in your line `{line}`)"
        if is_class and (known := case.function.on_name(name[1])):
            return Finding(f"{where}. {known}")
        return Finding(f"{where}. The function can use {used}, and what you define or import.")
    if what := _in_an_argument(case, done):
        return Finding(f"{what} ({kind}: {text}. The inputs were {inputs}.)")
    written = _written_out(case) if LEFT_OPEN.search(text) else ""
    meaning = written or " ".join(
        filter(None, (_shapes_that_meet(text, case, done), _remedy(case, done, f"{kind}: {text}", line)))
    )
    place = f"in your line `{line}`" if line else ""
    if meaning:
        said = f"{meaning} ({place + ': ' if place else ''}{kind}: {text}. The inputs were {inputs}.)"
    else:
        said = f"{' '.join(filter(None, (kind, place)))}{': ' + text if text else ''}. The inputs were {inputs}."
    unused = [f"`{name}`" for name in _unused(case)] if isinstance(error, IndexError) else []
    if unused:
        said += f" What is asked for depends on {listed(unused)}, too, and your function does not use it."
    return Finding(said)


def _in_an_argument(case: Case, done: Run) -> str:
    """Of an exception that a function raised which the learner was given: what it was called with."""
    given = {
        inspect.unwrap(value).__code__: name for name, value in done.arguments.items() if inspect.isfunction(value)
    }
    entry = own_frame(done.error, case.function)
    while entry is not None and entry.tb_frame.f_code not in given:
        entry = entry.tb_next
    if entry is None:
        return ""
    code = entry.tb_frame.f_code
    handed = {name: entry.tb_frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]}
    return (
        f"in your line `{own_line(done.error, case.function)}`, `{given[code]}` is handed {describe_inputs(handed)}, "
        "and cannot work with that. The docstring says what it takes."
    )


def _shapes_that_meet(text: str, case: Case, done: Run) -> str | None:
    """What torch's words about two shapes mean."""
    for pattern in PRODUCTS:
        if found := re.search(pattern, text):
            left, right = (
                f"({shape.replace('x', ', ')}{'' if 'x' in shape or ',' in shape else ','})" for shape in found.groups()
            )
            return f"shapes {left} and {right} do not fit: a product adds up over one axis that both share."
    if found := re.search(BROADCAST, text):
        one, other = (_with_letter(int(size), case, done) for size in found.groups())
        sizes = AN_AXIS.sub("", case.source)
        alone = (size for size in found.groups() if re.search(rf"(?<![\w.]){size}(?![\w.])", sizes))
        constant = next((size for size in alone if size != "1"), "")
        if constant:
            cure = "lengths vary, take them from the shapes of the inputs"
            return f"axes of length {one} and {other} meet, and {constant} is written out in your code: {cure}."
        rule = "paired up from the end, two axes have to be equally long, or one of them 1"
        return f"axes of length {one} and {other} meet: {rule}."
    return None


def _written_out(case: Case) -> str:
    """Of a length that is written out as a number."""
    tree, known = reading.tree_of(case.function), reading.numbers_of(reading.tree_of(case.reference))
    if tree is None:
        return ""
    powers = [node.right for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)]
    known += [node.value for node in powers if isinstance(node, ast.Constant)]
    number = next((one for one in reading.numbers_of(tree) if one > 2 and one not in known), None)
    if number is None:
        return ""
    return f"{number} is written out in your code, and lengths vary: take them from the inputs."


def _with_letter(size: int, case: Case, done: Run) -> str:
    """A length with the letter that it belongs to, where it can be no other's, nor a number of the learner's."""
    letters = [name for name, length in case.sizes(done).items() if length == size]
    sure = len(letters) == 1 and size not in case.unnamed(done) and not re.search(rf"\b{size}\b", case.source)
    return f"{size} ({letters[0]})" if sure else str(size)


def _remedy(case: Case, done: Run, clue: str, line: str) -> str | None:
    remedy = next(
        (remedy.text for remedy in REMEDIES if re.search(remedy.error, clue) and re.search(remedy.line, line)), None
    )
    if remedy is None and "RuntimeError" in clue and has_batch(done.arguments) and _reverses_a_batch(case, done):
        remedy = BATCH_REMEDY
    if re.match(r"RuntimeError|IndexError|ValueError", clue) and A_SHAPE_PROBLEM.search(clue):
        asked = next((text for pattern, text in case.questions.items() if text and re.search(pattern, line)), None)
        remedy = " ".join(filter(None, (remedy, asked)))
    return remedy.replace("{first}", first_floats(done.arguments)) if remedy else None


def _reverses_a_batch(case: Case, done: Run) -> bool:
    """Is there a `.T` or transpose(0, 1) of anything else than an argument that is a matrix?"""
    flat = [name for name, value in done.arguments.items() if isinstance(value, Tensor) and value.ndim <= 2]
    source = re.sub(rf"\b({'|'.join(flat)})\.(T\b|t\(\))", "", case.source) if flat else case.source
    return bool(BATCH_REVERSED.search(source))


def first_floats(arguments: dict[str, Any]) -> str:
    """The name of the first argument that is a tensor of floats."""
    floats = (name for name, value in arguments.items() if isinstance(value, Tensor) and value.is_floating_point())
    return next(floats, "x")


def has_batch(arguments: dict[str, Any]) -> bool:
    """Has the first tensor more than two axes? Later ones, such as one matrix per head, may where there is no batch."""
    return next((value.ndim > 2 for value in arguments.values() if isinstance(value, Tensor)), False)


# ---- results of another kind or shape


@needs("source")
def fresh_layer(case: Case) -> Finding | None:
    """A layer of its own, with parameters made anew, while of those that were given nothing but the shape is read."""
    layer = re.search(
        r"\b(Multi[Hh]eadAttention|Linear|Bilinear|Conv\dd|LayerNorm|RNN|RNNCell|GRU|GRUCell)\(", case.source
    )
    names = ("W", "U", "E", "b_", "gamma", "beta", "kernel")
    given = [name for name in case.first.arguments if name.startswith(names)]
    unused = [name for name in given if not re.search(rf"(?<!len\()\b{name}\b(?!\.(shape|size))", case.source)]
    if layer is None or not unused:
        return None
    what = "draws matrices" if unused[0].startswith("W") else "has parameters"
    return Finding(f"{layer[1]} {what} of its own, and your function does not use the given ones, {listed(unused)}.")


@needs("source")
def linear_transposes(case: Case) -> Finding | None:
    """F.linear, which takes its matrix the other way round, where products in its place make the answer right."""
    other = reading.with_products(case.function)
    if other is None or not all(
        run(other, done.arguments, done.want, Isolation.current.call).right for done in case.runs
    ):
        return None
    if re.search(r"linear\([^()]*\.(T|mT)\b|linear\([^()]*\.t\(\)", case.source):
        return Finding(
            "`F.linear(x, W)` is x @ W.T, for a layer of PyTorch keeps its matrix the other way round. You transpose "
            "the matrix yourself besides, which takes that back: leave one of the two out."
        )
    return Finding(
        "`F.linear(x, W)` is x @ W.T, for a layer of PyTorch keeps its matrix the other way round. The matrices that "
        "are given here are meant for x @ W, all of them."
    )


@needs("result")
def nothing_returned(case: Case) -> Finding | None:
    if case.first.result is not None:
        return None
    if re.search(r"\breturn None\b", case.source) and any(done.result is not None for done in case.runs):
        return Finding(
            f"for {describe_inputs(case.first.arguments)} your function returns None, as its `return None` says. What "
            "is asked for then? The docstring says."
        )
    return Finding("your function returns None. Did you forget the return?")


@needs("result")
def wrong_shape(case: Case) -> Finding | None:
    """The shape that came out, the one expected, and the named intermediate that has it."""
    pairs = ((done, *done.tensors) for done in case.wrong if done.tensors)
    misshapen = [(done, got.shape, want.shape) for done, got, want in pairs if got.shape != want.shape]
    if not misshapen or misshapen[0][0] is not case.first:
        return None
    done, got, want = misshapen[0]
    sizes = (
        f"(For {describe_inputs(done.arguments)} it has {describe_shape(got)}; asked for is {describe_shape(want)}.)"
    )
    for label, intermediate in case.intermediates.items():
        if all(as_tensor(intermediate(*done.arguments.values())).shape == shape for done, shape, _ in misshapen):
            return Finding(f"your result has the shape of {label}{'' if label.endswith('?') else '.'} {sizes}")
    if all(shape.numel() == wanted.numel() and 1 in shape for _, shape, wanted in misshapen):
        if all(len(shape) > len(wanted) for _, shape, wanted in misshapen):
            return Finding(f"{LEFT_OVER}: an index, or [..., 0], takes it away. {sizes}")
        if all(sorted(shape) == sorted(wanted) for _, shape, wanted in misshapen):
            return Finding(f"the axes of length 1 are right in number, but stand in the wrong place. {sizes}")
    if said := _how_shapes_differ(case, misshapen):
        return Finding(f"{said} {sizes}")
    given = f"for {describe_inputs(done.arguments)} your function gives {describe_shape(got)}"
    return Finding(f"{given}, expected {describe_shape(want)}.")


@needs("result")
def positions(case: Case) -> Finding | None:
    """Whole numbers, as argmax gives them, where others are asked for."""
    got, want = as_tensor(case.first.result), as_tensor(case.first.want)
    name = re.search(r"\b(argmax|argmin|argsort|indices)\b", case.source)
    if got is None or want is None or name is None or got.dtype not in INTEGERS or want.dtype not in FLOATS:
        return None
    return Finding(
        f"`{name[0]}` gives positions: where something stands, not how large it is. Asked for are the numbers "
        "themselves."
    )


@needs("result")
def shape_of_a_step(case: Case) -> Finding | None:
    """Where the shape alone tells which step of the reference came out."""
    found = wrong_shape(case)
    return found if found and found.message.startswith(OF_A_STEP) else None


def _of_all_axes(misshapen: list[tuple[Run, torch.Size, torch.Size]], pairs: list[tuple[list, list]]) -> str | None:
    """What holds of the shapes as a whole."""
    if all(got.numel() == _picked(done, got) for done, got, _ in misshapen):
        return (
            "what is left is one row of the entries where the mask is True: an index by a mask loses the axes. "
            "masked_fill, or torch.where, keeps them."
        )
    if _is_always_the_same(pairs):
        return "the shape is the same, whatever goes in: is a number written out where a length of the inputs belongs?"
    if all(sorted(got) == sorted(want) for got, want in pairs):
        return "the axes are the right ones, in the wrong order: transpose and permute exchange them."
    if all(not got and want for got, want in pairs):
        return "you return a single number: something adds up, or picks, too much. dim=… keeps the other axes."
    return None


def _is_always_the_same(pairs: list[tuple[list, list]]) -> bool:
    """Is there one shape for several, with as many axes as there should be, and already the first as long as none?"""
    got, want = pairs[0]
    if len(pairs) < 3 or len({tuple(one) for one, _ in pairs}) > 1 or len({tuple(other) for _, other in pairs}) == 1:
        return False
    return len(got) == len(want) and max(got, default=1) > 1 and got[0] != want[0]


def _how_shapes_differ(case: Case, misshapen: list[tuple[Run, torch.Size, torch.Size]]) -> str | None:
    """What holds of all the shapes: an axis too few or too many, two that changed places, one that is too long."""
    pairs = [(list(got), list(want)) for _, got, want in misshapen]
    if said := _of_all_axes(misshapen, pairs):
        return said
    for k in range(-1, -5, -1):
        if all(len(want) >= -k and got == want[: len(want) + k] + want[len(want) + k + 1 :] for got, want in pairs):
            return f"axis {k} is missing: it has been added up, or indexed away."
        if all(len(got) >= -k and got[: len(got) + k] + got[len(got) + k + 1 :] == want for got, want in pairs):
            return f"you return an axis too many, axis {k}: should it have been added up?"
        differ = [(got[k], want[k]) for got, want in pairs if len(got) == len(want) >= -k and got[:k] == want[:k]]
        if len(differ) == len(pairs) and all(
            got[len(got) + k + 1 :] == want[len(want) + k + 1 :] for got, want in pairs if len(got) == len(want)
        ):
            steps = {one - other for one, other in differ}
            if len(steps) == 1:
                step = steps.pop()
                return f"axis {k} is {abs(step)} too {'long' if step > 0 else 'short'}."
            if len({one for one, _ in differ}) == 1 < len({other for _, other in differ}):
                return _always_as_long(k, differ[0][0])
            letters = [
                {name for name, size in case.sizes(done).items() if size == got[k]} for done, got, _ in misshapen
            ]
            if common := sorted(set.intersection(*letters)):
                return f"axis {k} of your result has the length {common[0]}: is that the axis that is asked for there?"
    return None


def _picked(done: Run, got: torch.Size) -> int:
    """How many entries an index by one of the arguments, a mask, takes out of something; -1 where that is not seen."""
    masks = [value for value in done.arguments.values() if isinstance(value, Tensor) and value.dtype == torch.bool]
    counts = [int(mask.sum()) for mask in masks if not mask.all()]
    return counts[0] if counts and len(got) == 1 else -1


def _always_as_long(k: int, length: int) -> str:
    if length == 1:
        return (
            f"axis {k} is 1 long, whatever goes in: has an index picked a single one there, or a sum made one of all?"
        )
    return f"axis {k} is {length} long, whatever goes in: is a number written out there?"


def wrong_tuple(case: Case, asked: str) -> Finding | None:
    """What is wrong with a result in the place of a tuple, of tensors or of the lengths of axes."""
    result, want = case.first.result, case.first.want
    tensors = isinstance(want[0], Tensor)
    if tensors and (alone := _one_of_several(case)):
        return Finding(alone)
    if not tensors and all(isinstance(done.result, Tensor) and done.result.shape == done.want for done in case.runs):
        return Finding(f"{asked}. It has that very shape: return the shape of it, not the tensor itself.")
    if not isinstance(result, tuple):
        return Finding(f"{asked}: {'commas between them' if tensors else 'round brackets, as in (3, 4)'}.")
    if tensors:
        number = f"you return {len(result)} things, asked for are {len(want)}."
        return Finding(number) if len(result) != len(want) else None
    if len(result) != len(want):
        return Finding(
            f"your tuple {shorten(repr(tuple(result)), 60)} has not as many numbers as there are axes, {len(want)}."
        )
    odd = next((part for part in result if type(part) is not int), None)
    kind = f"your tuple holds {describe_kind(odd)}, but the length of an axis is an int."
    if isinstance(odd, float) and "/" in case.source.replace("//", ""):
        kind += " `/` gives a float, whatever it divides."
    return Finding(kind) if odd is not None else None


@needs("result")
def wrong_type(case: Case) -> Finding | None:
    done = case.first
    result, want = done.result, done.want
    asked = f"your function returns {describe_kind(result)}; asked for is {describe_want(want)}"
    if isinstance(result, torch.nn.Module):
        return Finding(f"{asked}: that is a layer, which has to be called on a tensor.")
    if callable(result):
        return Finding("your function returns a function, not its result: did you forget the ()?")
    if isinstance(want, tuple):
        return wrong_tuple(case, asked)
    if isinstance(want, str):
        return None if isinstance(result, str) else Finding(f"{asked}: {_joining(case)}")
    if isinstance(want, list):
        return None if isinstance(result, list) else Finding(f"{asked}.")
    got = as_tensor(result)
    if got is None:
        return Finding(f"{asked}.{_of_its_parts(case) or remedy_for_type(result, case.source)}")
    if same_kind(got.dtype, as_tensor(want).dtype) or type(result) is int:
        return None
    want = as_tensor(want)
    if (
        want.dtype in FLOATS
        and got.dtype in INTEGERS
        and got.shape == want.shape
        and not same(got.to(want.dtype), want)
    ):
        _, yours, expected = furthest(got, want)
        cut = "Does int(…), round(…), // or max(0, …) cut something off?"
        return Finding(f"your function gives the integer {yours} where {expected} is right. {cut}")
    if (
        want.dtype in INTEGERS
        and got.dtype in FLOATS
        and (got.shape != want.shape or not same(got.round().long(), want))
    ):
        return Finding(
            f"your numbers are {dtype_name(got)}, asked for are whole numbers: positions or counts. "
            "To convert what you have would not give them."
        )
    remedy = {torch.float32: " .float() converts.", torch.bool: " A comparison gives bool; .bool() converts."}
    said = f"your numbers are {dtype_name(got)}, asked for is {dtype_name(want)}.{remedy.get(want.dtype, '')}"
    besides = _besides_its_dtype(case, want.dtype)
    return Finding(f"two things: (1) {said} (2) {besides}" if besides else said)


def _besides_its_dtype(case: Case, dtype: torch.dtype) -> str:
    """What is known of the answer's numbers once they are converted; "" where nothing is, or they are right then."""
    converted = []
    for done in case.runs:
        got = as_tensor(done.result) if done.error is None else None
        if got is None:
            return ""
        converted.append(replace(done, result=got.to(dtype)))
    found = case.known.explain(converted, ("rows",), case.source)
    return found.sentence() if found else ""


def _joining(case: Case) -> str:
    """How a string is made of the list that came in its place."""
    lists = all(isinstance(done.result, list | tuple) for done in case.runs)
    fits = lists and all(" ".join(map(str, done.result)) == done.want for done in case.runs)
    if fits or any(" " in str(done.want) for done in case.runs):
        return '" ".join(…) makes one of words, with blanks between them.'
    return '"".join(…) makes one of letters.'


def _of_its_parts(case: Case) -> str:
    """Of a tuple or list in the place of one result: is that one of its parts, or what they make together?"""
    results = [done.result for done in case.runs]
    if not all(type(one) in (tuple, list) and 0 < len(one) < 9 for one in results):
        return ""
    for i in range(min(map(len, results))):
        if all(same(done.result[i], done.want) for done in case.runs):
            return f" What is asked for stands at place {i + 1} of it: return that alone."
    if all(_is_joined(done) for done in case.runs):
        return " torch.cat, along the right axis, makes the one that is asked for of them."
    if all(_is_sum(done) for done in case.runs):
        return " Added up, its parts are what is asked for: is there a comma where a + belongs?"
    return ""


def _is_joined(done: Run) -> bool:
    if not all(isinstance(part, Tensor) and part.ndim for part in done.result):
        return False
    try:
        return any(same(torch.cat(list(done.result), dim), done.want) for dim in range(-done.result[0].ndim, 0))
    except (RuntimeError, IndexError):
        return False


def _is_sum(done: Run) -> bool:
    try:
        return same(sum(done.result), done.want)
    except (RuntimeError, TypeError):
        return False


def _one_of_several(case: Case) -> str | None:
    """Of several results that are asked for, one alone."""
    for i in range(len(case.first.want)):
        if all(same(done.result, done.want[i]) for done in case.runs):
            return (
                f"that is result {i + 1} of {len(case.first.want)}: return the others, too, with commas between them."
            )
    return None


def remedy_for_type(result: Any, source: str) -> str:
    if isinstance(result, (np.ndarray, np.generic)):
        return " Use torch's own functions all the way, or convert at the end with torch.tensor(…)."
    if isinstance(result, tuple) and any(isinstance(part, Tensor) for part in result):
        if not re.search(r"\b(sort|topk|max|min)\(", source):
            return " It is one tensor that is asked for: which of the tuple, or torch.stack of all?"
        return " sort, topk, and max with dim return values and positions: take .values or .indices before you cut it."
    return " torch.tensor(…) or torch.stack(…) makes one." if isinstance(result, list) else ""


@needs("result")
def another_order(case: Case) -> Finding | None:
    """The right results, but for their order."""
    if not isinstance(case.first.want, tuple) or not isinstance(case.first.want[0], Tensor):
        return None
    number = len(case.first.want)
    for order in itertools.permutations(range(number)):
        if order != tuple(range(number))[::-1] and all(
            isinstance(done.result, tuple)
            and len(done.result) == number
            and same(tuple(done.result[i] for i in order), done.want)
            for done in case.runs
            if done.error is None
        ):
            return Finding("your results are the right ones, in another order. The docstring says which comes first.")
    return None


@needs("result")
def in_one_part(case: Case) -> Finding | None:
    """Where several tensors are asked for: what is wrong with the last one that is not right, for the others are made
    of it as often as not."""
    want = case.first.want
    if not isinstance(want, tuple) or not isinstance(want[0], Tensor):
        return None
    if found := unused_argument(case):
        return found
    runs = [done for done in case.runs if isinstance(done.result, tuple) and len(done.result) == len(want)]
    wrong = [i for i in range(len(want)) if not all(same(done.result[i], done.want[i], RIGHT) for done in runs)]
    parts = [Run(done.arguments, done.want[wrong[-1]], done.result[wrong[-1]], number=done.number) for done in runs]
    part = Case(case.reference, case.function, parts, case.known, case.intermediates, case.questions)
    alone = ", the only one that is not right" if len(wrong) == 1 else ""
    asked = ((finding, finding(part)) for finding in OF_A_PART if applies(finding, part))
    finding, found = next((finding, found) for finding, found in asked if found)
    said = replace(found, message=f"result {wrong[-1] + 1} of {len(want)}{alone}: {found.message}", by="in_one_part")
    is_open = finding in NAMELESS and not found.by and not found.message.startswith((LEFT_OVER, OF_A_STEP))
    return _placed(case, in_one_part, said) if is_open else said


@needs("result")
def changed_at_the_end(case: Case) -> Finding | None:
    """The right result, and a step too many (variants.py)."""
    for variant in OF_RESULTS:
        try:
            if all(
                same(done.result, after := variant.after(done.want)) and same_kind(after.dtype, done.want.dtype)
                for done in case.runs
            ):
                return Finding(variant.message)
        except Exception:  # it makes no sense for such a tensor
            continue
    return None


@needs("result")
def not_finite(case: Case, done: Run | None = None) -> Finding | None:
    done = done or case.first
    got, want = as_tensor(done.result), as_tensor(done.want)
    if got is None or want is None or got.isfinite().all() or not want.isfinite().all():
        return None
    message = (
        f"your result contains {'NaN' if got.isnan().any() else 'infinity'} for {describe_inputs(done.arguments)}."
    )
    if not got.isnan().any():
        return Finding(f"{message} Is there a division by 0, a log of 0, or exp of a large number?")
    if holds_nan(done.arguments):
        return Finding(f"{message} 0 · NaN is NaN: what does not count is replaced, by masked_fill or torch.where.")
    if "exp(" in case.source and not re.search(r"amax\(|max\([^)]", case.source):
        why = "exp(1000) is infinite, and inf / inf is NaN: subtract each row's maximum first."
        return Finding(f"{message} {why}", by="not_finite")
    if origin := origin_of_nan(case, done):
        return Finding(f"{message} It arises in {origin}")
    if re.search(r"inf\b|finfo", case.source):
        return Finding(f"{message} A row of nothing but -∞ has no softmax, 0/0, and 0 · ∞ is NaN.")
    return Finding(f"{message} Is there 0/0, inf/inf, or a root or log of a negative?")


@needs("result")
def finite_fill(case: Case) -> Finding | None:
    """Hidden scores get a finite number, and -∞ in its place would mend the answer, but for rows with nothing else."""
    for number, is_added, other in reading.finite_fills(case.function):
        again = [run(other, done.arguments, done.want, Isolation.current.call) for done in case.wrong]
        if any(done.right for done in again) and all(done.right or holds_nan({"": done.result}) for done in again):
            if is_added:
                return Finding(
                    f"hidden scores get {number} added. However low it is, where a hidden score is higher by more, it "
                    "still gets the weight; and where it is not low enough, it takes a part. -∞ in its place is below "
                    "all."
                )
            return Finding(
                f"hidden scores get {number}. However low a finite number is, where the other scores are lower still, "
                "what is hidden gets the weight; and where it is not low enough, it takes a part. -∞ is below all."
            )
    return None


@needs("source")
def result_not_kept(case: Case) -> Finding | None:
    """A line that changes nothing; in code that is to be mended, what was given with it says no more than it should."""
    found = reading.result_not_kept(case)
    known = known_mistake(case) if found else None
    return known if known and case.broken in known.names else found


@needs("result")
def nothing_but_nan(case: Case) -> Finding | None:
    """On every input each number is NaN: nothing else can be seen, unless a known mistake speaks of NaN."""
    results = [as_tensor(done.result) for done in case.runs if done.error is None]
    wanted = [as_tensor(done.want) for done in case.runs if done.error is None]
    if not all(want is not None and want.isfinite().any() for want in wanted):
        return None
    if not all(got is not None and got.numel() and got.isnan().all() for got in results):
        return None
    if (known := known_mistake(case)) and "NaN" in known.message:
        return known
    if origin := origin_of_nan(case, case.first):
        return Finding(f"every number that you return is NaN, whatever goes in. It arises in {origin}")
    return Finding(
        "every number that you return is NaN, whatever goes in. That comes from 0/0, ∞ - ∞, 0 · ∞, the root or "
        "logarithm of a negative number, or from NaN that you put in: print each step, which is the first to hold it?"
    )


def changed_input(case: Case) -> Finding | None:
    names = next((done.changed for done in case.wrong if done.changed), ())
    if not names:
        return None
    return Finding(
        f"your function changes what it is given, {listed(names)}, in place, so it changes outside, too. "
        "Make a new one instead of *=, +=, &= or an assignment into it."
    )


@needs("result")
def another_each_time(case: Case) -> Finding | None:
    """Random numbers, such as dropout's: the same input does not give the same result again."""
    want = case.first.want
    kind, is_again = (list, same) if isinstance(want, list) else (Tensor, unchanged)
    if kind is Tensor and as_tensor(want) is None:
        return None  # what is asked for is neither tensor nor list: that comes first
    first, tries = case.first.result, 8 if RANDOM.search(case.source) else 1  # who draws may draw the same once
    for _ in range(tries):
        again = run(case.function, case.first.arguments, want, Isolation.current.call).result
        if not is_again(first, again):
            break
    if not isinstance(first, kind) or not isinstance(again, kind):
        return None
    if re.search(r"\b(new_)?empty(_like)?\(", case.source) and (_is_unset(first) or not is_again(first, again)):
        return Finding(
            "`empty` leaves in memory whatever was there, and some entries are not set by you, so they are arbitrary. "
            "Does a loop or a slice leave some out? Where 0 is meant, it is `zeros` that sets them."
        )
    if is_again(first, again):
        return None
    if "nn.Embedding(" in case.source:
        return Finding(
            "your function gives another result each time for the same input: a new `nn.Embedding(…)` is a table of "
            "random numbers, another one at each call."
        )
    if layer := re.search(r"\bnn\.(Linear|Bilinear|Conv\dd|GRU|RNN|MultiheadAttention)\(", case.source):
        return Finding(
            f"your function gives another result each time for the same input: a new `{layer[0]}…)` begins with random "
            "numbers, in its bias as in its matrix. Which of them have you not set? `bias=False` makes a layer without "
            "a bias."
        )
    return Finding(
        "your function gives another result each time for the same input: does it draw random numbers, as dropout does?"
    )


def _is_unset(result: Any) -> bool:
    """Does it hold what `empty` leaves in the isolation: NaN, or the largest whole number?"""
    if not isinstance(result, Tensor):
        return False
    if result.is_floating_point():
        return bool(result.isnan().any())
    return result.dtype in INTEGERS and bool((result == torch.iinfo(result.dtype).max).any())


@needs("result")
def constant(case: Case) -> Finding | None:
    """The same result for different inputs."""
    first, *others = case.runs
    if not others or not all(done.error is None and same(done.result, first.result) for done in case.runs):
        return None
    if isinstance(first.result, str) and first.result in case.source and not isinstance(first.want, str):
        return Finding(
            "what stands in quotes is text, the same whatever goes in. Without them, names have their values."
        )
    given = reading.its_arguments(first.arguments)
    if not set(first.arguments).intersection(reading.unread(case.function)):
        return Finding(f"your function returns the same for all inputs: what it reads of {given} has no say in it.")
    return Finding(f"your function returns the same constants for all inputs. Use {given}.")


@needs("result")
def small_number_added(case: Case) -> Finding | None:
    added = re.search(r"\+ (1e-\d+|\w*eps\w*)|min=1e-\d+", case.source)
    if added is None or isinstance(case.first.want, tuple) or "eps" in case.first.arguments:
        return None
    numbers = list(results_as_numbers(case))
    if len(numbers) < len(case.wrong) or not all(torch.allclose(got, want, 0.01) for _, got, want in numbers):
        return None
    if any(want.ndim and bool((want == 0).all(-1).any()) for _, _, want in numbers):
        return Finding(f"`{added[0]}` makes every result a little wrong, where it is needed for none but an empty row.")
    return Finding(
        f"`{added[0]}` makes the result a little wrong, and is not needed: nothing that is divided by can be 0 here."
    )


@needs("result")
def worse_elsewhere(case: Case) -> Finding | None:
    """Nothing is known of the first wrong number, but a later input raised something, or gave NaN."""
    for done in case.wrong:
        if done.error is not None:
            return crash(case, done)
        if found := not_finite(case, done):
            return found
    return None


@needs("source")
def unused_argument(case: Case) -> Finding | None:
    """An argument that the function never reads, though the reference does."""
    names = _unused(case)
    if not names or case.first.error is not None:
        return None
    unused = [f"`{name}`" for name in names]
    if (taker := _takes(case, names[0])) and len(names) == 1:
        return Finding(
            f"your function does not use {unused[0]}, and what is asked for depends on it: `{taker}` takes it as "
            f"`{names[0]}=…`, and takes a number of its own where it is not given."
        )
    return Finding(f"your function does not use {listed(unused)}, and what is asked for depends on it.")


def _unused(case: Case) -> list[str]:
    """The arguments that the answer never reads, though the reference and all other right answers do."""
    needed = [reading.unread(one) for one in (case.reference, *case.others)]
    return [name for name in reading.unread(case.function) if not any(name in unread for unread in needed)]


def _takes(case: Case, name: str) -> str:
    """A function of torch that the answer calls, and that takes an argument of this name; "" where there is none."""
    tree = reading.tree_of(case.function)
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree else []:
        try:
            taker = eval(ast.unparse(call.func), {**IMPORTS})
            if name in inspect.signature(taker).parameters:
                return ast.unparse(call.func)
        except Exception:  # no function of a module's, or one without a signature
            continue
    return ""


def _first_difference(done: Run, whole: str, parts: str) -> Finding:
    """How many parts a wrong string or list has, or the first of them that is wrong."""
    inputs = describe_inputs(done.arguments)
    if len(done.result) != len(done.want):
        count = f"{len(done.result)} {parts}" if len(done.result) != 1 else f"1 {parts[:-1]}"
        return Finding(f"for {inputs} your {whole} has {count}, expected {len(done.want)}.")
    place = next(i for i, (got, want) in enumerate(zip(done.result, done.want)) if not same(got, want))
    found = f"is {done.result[place]!r}, expected {done.want[place]!r} ({parts} count from 0)"
    return Finding(f"for {inputs} {parts[:-1]} {place} of your {whole} {found}.")


def furthest_entry(case: Case) -> Finding:
    """The entry that differs most; of a wrong tuple only the place, for there the right number is the answer; of a
    wrong string or list its length, or the first part that is wrong."""
    done = case.first
    inputs = describe_inputs(done.arguments)
    if isinstance(done.want, str):
        return _first_difference(done, "string", "letters")
    if isinstance(done.want, list):
        return _first_difference(done, "list", "items")
    if isinstance(done.want, tuple):
        place = next(i for i, (got, want) in enumerate(zip(done.result, done.want)) if got != want)
        return Finding(
            f"for {inputs} the number at place {place} of your {tuple(done.result)} is not right (places count from 0)."
        )
    want = as_tensor(done.want)
    place, yours, expected = furthest(as_tensor(done.result), want)
    entry = f"entry [{', '.join(str(i) for i in place)}] of your result" if want.ndim else "your result"
    return Finding(f"for {inputs} {entry} is {yours}, expected {expected}.")


FINDINGS = (
    reading.parameters_exchanged,
    reading.outside_data,
    reading.return_in_loop,
    reading.slip,
    reading.compared_with_text,
    linear_transposes,
    fresh_layer,
    only_an_input_changed,
    result_not_kept,
    reading.einsum_letters,
    nothing_but_nan,
    known_mistake,
    nothing_returned,
    finite_fill,
    changed_input,
    another_each_time,
    constant,
    small_number_added,
    another_order,
    known_mistakes,
    mask_added,
    divided_by_its_sum,
    one_change_away,
    mistake_and_more,
    known_in_one_branch,
    known_where_it_runs,
    last_step_missing,
    positions,
    shape_of_a_step,
    something_missing,
    axes_from_the_front,
    two_changes_away,
    crash,
    wrong_shape,
    wrong_type,
    in_one_part,
    not_finite,
    one_factor,
    unused_argument,
    wrong_in_one_place,
    right_but_for_some_inputs,
    worse_elsewhere,
    furthest_entry,
)

AT_AN_EDGE = (changed_input, crash, wrong_shape, wrong_type, furthest_entry)  # where no cause is sought

NAMELESS = (
    crash,
    wrong_shape,
    not_finite,
    unused_argument,
    wrong_in_one_place,
    right_but_for_some_inputs,
    worse_elsewhere,
    furthest_entry,
)

OF_A_PART = (
    changed_at_the_end,
    last_step_missing,
    wrong_shape,
    wrong_type,
    not_finite,
    one_factor,
    wrong_in_one_place,
    right_but_for_some_inputs,
    furthest_entry,
)
