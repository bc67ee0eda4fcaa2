"""What an exception means."""

import ast
import re
from typing import Any

from torch import Tensor

from ..case import Case
from ..facts import AMBIGUOUS, first_floats, handed_over
from ..findings.values import not_finite_result
from ..run.calls import Run
from ..run.errors import BROADCAST, PRODUCTS, own_frame, own_line, text_of
from ..run.layers import Built, Misbuilt
from ..run.remedies import A_SHAPE_PROBLEM, BATCH_REVERSED, REMEDIES
from ..syntax import numbers_of, tree_of
from ..verdict import Finding, in_a_row
from ..wording import describe_inputs, listed, shorten
from .source import its_arguments

AN_AXIS = re.compile(r"-\d|\b(dim\d?|axis)=\d|\b(transpose|swapaxes|permute|movedim)\([^()]*\)|\[\d\]|\*\* 2")


def crash(case: Case) -> Finding:
    """What the exception of the first wrong input means."""
    return meaning_of_exception(case, case.first_wrong)


def meaning_of_exception(case: Case, done: Run) -> Finding:
    """What an exception means, the learner's own line, the shapes that went in and a question to go on with."""
    error = done.error
    if isinstance(error, Misbuilt):
        return error.said
    is_class = isinstance(case.function, Built)
    if isinstance(error, TypeError) and not is_class and own_frame(error, case.function) is None:
        fields = {"function": case.reference.__name__, "arguments": ", ".join(done.arguments)}
        return Finding("exceptions.cannot_be_called", fields)
    text = shorten((text_of(error).splitlines() or [""])[0].rstrip("."), 160)
    text = re.sub(r"^\[enforce fail.* allocate (\d+) bytes.*", r"\1 bytes are more than there is", text)
    kind, line, inputs = type(error).__name__, own_line(error, case.function), describe_inputs(done.arguments)
    fields = {"kind": kind, "text": text, "line": line, "inputs": inputs}
    if kind == "NameError" and (name := re.search(r"name '(\w+)'", text)):
        known = case.function.on_name(name[1]) if is_class else None
        known = known or Finding("exceptions.names_there_are", {"arguments": its_arguments(done.arguments)})
        return in_a_row(Finding("exceptions.not_defined", {"name": name[1], "line": line}), known)
    if handed := handed_over(case, done):
        return in_a_row(Finding("exceptions.handed_over", handed), Finding("exceptions.without_line", fields))
    meaning = _written_out(case) if AMBIGUOUS.search(text) else None
    if meaning is None:
        remedies = _remedies(case, done, f"{kind}: {text}", line)
        meanings = [one for one in (_shapes_that_meet(text, case, done), *remedies) if one]
        meaning = in_a_row(*meanings) if meanings else None
    if meaning:
        key = f"exceptions.{'in_line' if line else 'without_line'}{'' if text else '_no_text'}"
        said = in_a_row(meaning, Finding(key, fields))
    else:
        said = Finding(f"exceptions.bare{'_in_line' * bool(line)}{'' if text else '_without_text'}", fields)
    unused = case.unused if isinstance(error, IndexError) else []
    return in_a_row(said, Finding("exceptions.unused", {"names": _quoted(unused)})) if unused else said


def _quoted(names: list[str]) -> str:
    return listed(f"`{name}`" for name in names)


def _shapes_that_meet(text: str, case: Case, done: Run) -> Finding | None:
    """What torch's words about two shapes mean."""
    for pattern in PRODUCTS:
        if found := re.search(pattern, text):
            left, right = (
                f"({shape.replace('x', ', ')}{'' if 'x' in shape or ',' in shape else ','})" for shape in found.groups()
            )
            return Finding("exceptions.product", {"left": left, "right": right})
    if found := re.search(BROADCAST, text):
        one, other = (_with_letter(int(size), case, done) for size in found.groups())
        sizes = AN_AXIS.sub("", case.source)
        alone = (size for size in found.groups() if re.search(rf"(?<![\w.]){size}(?![\w.])", sizes))
        if number := next((size for size in alone if size != "1"), ""):
            return Finding("exceptions.broadcast_of_a_number", {"one": one, "other": other, "number": number})
        return Finding("exceptions.broadcast", {"one": one, "other": other})
    return None


def _written_out(case: Case) -> Finding | None:
    """Of a length that is written out as a number."""
    tree, known = tree_of(case.function), numbers_of(tree_of(case.reference))
    if tree is None:
        return None
    powers = [node.right for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)]
    known += [node.value for node in powers if isinstance(node, ast.Constant)]
    number = next((one for one in numbers_of(tree) if one > 2 and one not in known), None)
    return None if number is None else Finding("exceptions.number_written_out", {"number": number})


def _with_letter(size: int, case: Case, done: Run) -> str:
    """A length with the letter that it belongs to, where it can be no other's, nor a number of the learner's."""
    letters = [name for name, length in case.sizes(done).items() if length == size]
    sure = len(letters) == 1 and size not in case.unnamed(done) and not re.search(rf"\b{size}\b", case.source)
    return f"{size} ({letters[0]})" if sure else str(size)


def _remedies(case: Case, done: Run, clue: str, line: str) -> list[Finding]:
    """The remedy for an exception, and what the exercise asks about such a line, each if there is one."""
    found = [one for one in REMEDIES if re.search(one.error, clue) and re.search(one.line, line)][:1]
    said = [Finding(f"remedies.{one.name}", {"first": first_floats(done.arguments)}) for one in found]
    if not found and "RuntimeError" in clue and has_batch(done.arguments) and _reverses_a_batch(case, done):
        said.append(Finding("remedies.batch_reversed"))
    if re.match(r"RuntimeError|IndexError|ValueError", clue) and A_SHAPE_PROBLEM.search(clue):
        questions = case.question_by_line.items()
        asked = next((text for pattern, text in questions if text and re.search(pattern, line)), "")
        said += [Finding("question", words=asked)] if asked else []
    return said


def _reverses_a_batch(case: Case, done: Run) -> bool:
    """Is there a `.T` or transpose(0, 1) of anything else than an argument that is a matrix?"""
    flat = [name for name, value in done.arguments.items() if isinstance(value, Tensor) and value.ndim <= 2]
    source = re.sub(rf"\b({'|'.join(flat)})\.(T\b|t\(\))", "", case.source) if flat else case.source
    return bool(BATCH_REVERSED.search(source))


def has_batch(arguments: dict[str, Any]) -> bool:
    """Has the first tensor more than two axes? Later ones, such as one matrix per head, may where there is no batch."""
    return next((value.ndim > 2 for value in arguments.values() if isinstance(value, Tensor)), False)


def worse_elsewhere(case: Case) -> Finding | None:
    """Nothing is known of the first wrong number, but a later input raised something, or gave NaN."""
    for done in case.wrong:
        if done.error is not None:
            return meaning_of_exception(case, done)
        if found := not_finite_result(case, done):
            return found
    return None
