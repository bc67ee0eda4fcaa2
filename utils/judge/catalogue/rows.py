"""Known mistakes and right answers as rows of text: edits of the reference, or code in its place.

They are in a file beside the module of the exercise, named as it is, except for .txt:

    [attention_scores: mistakes]
    / math.sqrt(keys.shape[-1]) ->
        the scores are not divided by √d_k, so their spread grows with d_k.
    keys.shape[-1] -> keys.shape[-2]
        you divide by the root of n, the number of keys. The sums run over d_k products: √d_k.
    = torch.softmax(keys @ query, -1)
        those are weights already. Here the scores are asked for; the softmax comes after them.

    [attention_scores: right]
    (keys * query).sum(-1) / len(query) ** 0.5

An exercise in debugging has one row under `[name: broken]`: the code that the learner gets, to be fixed. It is the
first of the mistakes, and its sentence says what is still wrong, not how to fix it.

A row is one or more lines of code, then, indented, the sentence that helps. A line `only where: PATTERN` below it says
what an answer's code has to hold, for the sentence speaks of it. `old -> new` exchanges a piece that occurs
exactly once in the reference's body; several edits in one row are made at once. `= expression`, or statements up to a
`return` that is not indented, are in its place. Two rows of edits at different places make a pair, so a sentence has
to hold on its own and in company. An address at the end of a row is the public thread where the mistake has happened.
"""

import ast
import functools
import inspect
import itertools
import linecache
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..context import IMPORTS
from ..run.layers import Built, stub_of
from ..syntax import define
from ..verdict import Finding

EDIT = re.compile(r"(?P<old>.*?\S) ->(?: (?P<new>.*))?")
HEADING = re.compile(r"^\[([^\]\n]*)\] *\n", re.MULTILINE)
KINDS = ("broken", "mistakes", "right")
ONLY_WHERE = "only where: "


class Replacement(NamedTuple):
    """The characters from `start` to `end` of the reference's body, and what takes their place."""

    start: int
    end: int
    new: str


class Mistake(NamedTuple):
    """What learners write: its code as it is in the row (its name, too), the sentence that helps, the thread where
    it happened, and what an answer's code has to hold for the sentence to be said of it; as a function; as edits, where
    it is made of them."""

    name: str
    message: str
    thread: str
    only_where: tuple[str, ...]
    function: Callable
    edits: tuple[Replacement, ...] = ()

    @property
    def said(self) -> Finding:
        """Its sentence, under the name of the mistake."""
        return Finding(self.name, names=(self.name,), words=self.message)


@functools.cache
def body_of(reference: Callable) -> tuple[str, str]:
    """The line `def …:` of a function, or `class …:`, and its body without the docstring, as they are written."""
    text = reference.text if isinstance(reference, Built) else textwrap.dedent(inspect.getsource(reference))
    definition = ast.parse(text).body[0]
    first = definition.body[ast.get_docstring(definition) is not None]
    lines = text.splitlines()
    return "\n".join(lines[definition.lineno - 1 : definition.body[0].lineno - 1]), "\n".join(lines[first.lineno - 1 :])


@functools.cache
def sections(file: Path, names: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """{(exercise, one of KINDS): text} of the file of rows for the exercises `names`; empty where there is no file.

    Raises ValueError for a heading that is not of this form, names none of them, or is there twice."""
    above, *parts = HEADING.split(file.read_text(encoding="utf-8") if file.exists() else "")
    if above.strip():
        raise ValueError(f"{file.name}: {above.strip().splitlines()[0]!r} stands above the first heading")
    found = {}
    for heading, text in zip(parts[::2], parts[1::2]):
        name, _, kind = heading.partition(": ")
        why = "names no exercise of its module" if name not in names else ""
        why = why or ("" if kind in KINDS else f"is none of {', '.join(KINDS)}")
        why = why or ("stands there twice" if (name, kind) in found else "")
        if why:
            raise ValueError(f"{file.name}: the heading [{heading}] {why}")
        found[name, kind] = text
    return found


def read(text: str) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """The code, the sentence, the address and the patterns of every row."""
    code: list[str] = []
    message: list[str] = []
    for line in filter(str.strip, textwrap.dedent(text).splitlines()):
        if line[0] != " " and message:
            yield "\n".join(code), *_sentence(message)
            code, message = [], []
        inside = code and not (code[-1].startswith(("return ", "= ")) or EDIT.fullmatch(code[-1]))
        if line[0] != " " or inside:
            code.append(line.rstrip())
        elif EDIT.fullmatch(line) and not line.strip().startswith(ONLY_WHERE):
            raise ValueError(
                f"`{line.strip()}` is indented: is it a row's code? Code begins at the left, sentences do not"
            )
        else:
            message.append(line.strip())
    if code:
        yield "\n".join(code), *_sentence(message)


def _sentence(lines: list[str]) -> tuple[str, str, tuple[str, ...]]:
    patterns = tuple(line.removeprefix(ONLY_WHERE) for line in lines if line.startswith(ONLY_WHERE))
    lines = [line for line in lines if not line.startswith(ONLY_WHERE)]
    thread = lines.pop() if len(lines) > 1 and lines[-1].startswith("https://") else ""
    return " ".join(lines), thread, patterns


def mistake(reference: Callable, code: str, message: str, thread: str, only_where: tuple[str, ...] = ()) -> Mistake:
    """A row as a `Mistake`. Raises ValueError where a piece of an edit does not occur exactly once."""
    return Mistake(code, message, thread, only_where, *_compiled(reference, code))


def answers(reference: Callable, text: str) -> Iterator[Callable]:
    """Right answers, divided by empty lines: edits, an expression, or statements that end in `return`."""
    for block in filter(None, re.split(r"\n\s*\n", textwrap.dedent(text).strip())):
        yield _compiled(reference, block)[0]


def _compiled(reference: Callable, code: str) -> tuple[Callable, tuple[Replacement, ...]]:
    """The function that a row's code stands for, and its edits, if it is made of them."""
    if all(map(EDIT.fullmatch, code.splitlines())):
        edits = tuple(_edit(reference, line) for line in code.splitlines())
        return edited(reference, edits, code), edits
    body = code if "return " in code else f"return {code.removeprefix('= ')}"
    return written(reference, textwrap.indent(body, "    "), code), ()


def _edit(reference: Callable, line: str) -> Replacement:
    found, body = EDIT.fullmatch(line), body_of(reference)[1]
    old, name = found["old"], reference.__name__
    if (times := body.count(old)) != 1:
        raise ValueError(f"{name}: `{old}` stands {times} times in the reference; an edit needs what is there once")
    start = body.index(old)
    return Replacement(start, start + len(old), found["new"] or "")


def edited(reference: Callable, edits: tuple[Replacement, ...], name: str = "") -> Callable:
    """The reference with all these edits made."""
    return written(reference, apply(body_of(reference)[1], edits), name)


def apply(body: str, edits: tuple[Replacement, ...]) -> str:
    """A reference's body with all these edits made."""
    for edit in sorted(edits, reverse=True):
        body = body[: edit.start] + edit.new + body[edit.end :]
    return body


def written(reference: Callable, body: str, name: str = "") -> Callable:
    """A function, or a class, with the reference's first line, in its module, with another body."""
    code = f"{body_of(reference)[0]}\n{body}"
    file = f"{reference.__name__}: {name}".replace("\n", "; ")
    if name:  # a row can be read in a traceback, and by the findings that read an answer's source
        linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    is_class = isinstance(reference, Built)
    space = {**IMPORTS, **(reference.space if is_class else reference.__globals__)}
    made = define(code, reference.__name__, space, file, apart=True)  # a row may call the reference by its name
    return Built(made, reference) if is_class else made


def given(reference: Callable, function: Callable | None = None) -> str:
    """What a learner gets: the reference's first line and docstring, above `return ...` or the body of a row's code. Of
    a class its methods, each so."""
    if isinstance(reference, Built):
        return function.text if function else stub_of(reference.text)
    text = textwrap.dedent(inspect.getsource(reference))
    definition = ast.parse(text).body[0]
    head = "\n".join(text.splitlines()[definition.lineno - 1 : definition.body[0].end_lineno])
    body = inspect.getsource(function).removeprefix(body_of(reference)[0]) if function else "\n    return ..."
    return f"{head}{body.rstrip()}"


def pairs(mistakes: list[Mistake]) -> Iterator[tuple[Mistake, Mistake]]:
    """Two rows of edits whose places do not touch, in the order of the rows: the more basic one first."""
    for one, other in itertools.combinations([row for row in mistakes if row.edits], 2):
        if all(a.end <= b.start or b.end <= a.start for a in one.edits for b in other.edits):
            yield one, other
