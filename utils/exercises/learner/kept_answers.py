"""A learner's own right answers: `check` keeps each as a file of Python in the folder my_answers, `use("name")` goes on
with it.

The folder lies beside progress.json. Git ignores it, and no update touches it. A file holds the function as it was
written, below what it needs of its notebook: imports, numbers and words, helper functions and classes. So it runs
alone, and that is tried before it is kept: what does not come out right by itself is not. A file is written whole, and
the last right answer counts. When it is used it is judged again, for a newer version may ask for something else. An
answer to what an older version asked is never overwritten: it gets a name of its own (attend_earlier.py).

Deleting a file, or the folder, gives back the course's functions. In marked work, in tests and where a tool executes
notebooks nothing is kept, and nothing kept is used.
"""

import ast
import contextlib
import difflib
import inspect
import io
import math
import symtable
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from ... import records, settings
from ...files import write_whole
from ...judge.exercise import Exercise, catalogue
from ...judge.run.sandbox import Sandbox, Stopped
from ...judge.syntax import (
    define,
    source_and_names,
)
from ...judge.verdict import Verdict

FOLDER = "my_answers"
LARGEST = 1000  # characters of a number, word or list that is kept with an answer
HOMES = ("builtins", "math", "torch", "torch.nn", "torch.nn.functional", "torch.linalg", "numpy", "numpy.linalg")


class NotSelfContained(Exception):
    """An answer does not work without its notebook; the message is a sentence that says why."""


def folder() -> Path | None:
    """Where right answers are kept; None where they are not."""
    return settings.root() / FOLDER if settings.recording() and not settings.marked() else None


def file_of(name: str) -> Path | None:
    """The file of the answer that is kept to an exercise; None where none is."""
    place = folder()
    return place / f"{name}.py" if place and name.isidentifier() and (place / f"{name}.py").is_file() else None


def names() -> list[str]:
    """The exercises to which an answer is kept."""
    place = folder()
    return sorted(path.stem for path in place.glob("*.py") if path.stem.isidentifier()) if place else []


def former(name: str) -> str:
    """Sentences on an exercise that the course no longer has: it is gone, and where the learner's answer is.

    "" for a name of which the learner has neither an answer nor a try."""
    tried = {}
    with contextlib.suppress(ValueError):
        tried = records.entries()
    file = file_of(name)
    if not file and name not in tried:
        return ""
    gone = f"{name} is no longer an exercise of the course."
    if file:
        return f'{gone} Your answer to it is kept in {FOLDER}/{file.name}: my_answers("{name}") prints it.'
    return gone if settings.marked() else f"{gone} No answer to it is kept."


def by_name(name: str) -> Exercise:
    """The exercise of that name; ValueError, with what became of it or the nearest one, where there is none."""
    if name in catalogue():
        return catalogue()[name]
    near = difflib.get_close_matches(name, catalogue(), n=1)
    raise ValueError(
        former(name) or f"there is no exercise named {name!r}" + (f"; do you mean {near[0]!r}?" if near else "")
    )


def keep(name: str, function: Callable, references: dict[str, Callable], judge: Callable[[Callable], Verdict]) -> str:
    """Keep a right answer. Returns "", or a sentence: why it is not kept, or where the one kept before is that is no
    longer right. Nothing that goes wrong disturbs a check.

    `references` are the course's functions by name, `judge` gives the verdict on a function.
    """
    place = folder()
    if place is None:
        return ""
    try:
        text = text_of(name, function, references)
        if judge(made(name, text, f"<{name}, kept>")).status != "right":
            raise NotSelfContained("It is not kept for other notebooks: without this one it does not come out right.")
        place.mkdir(exist_ok=True)
        file = place / f"{name}.py"
        is_earlier = file.is_file() and file.read_bytes() != text.encode() and not _is_right(name, file, judge)
        spare = _copy_aside(file) if is_earlier else None
        write_whole(file, text)
        if spare:
            return (
                "The answer kept before is not right for this edition of the course: "
                f"it stays in {FOLDER}/{spare.name}."
            )
    except NotSelfContained as problem:
        return str(problem)
    except OSError as error:
        return f"It is not kept for other notebooks: {FOLDER} cannot be written ({error.strerror})."
    except Stopped as much:
        return f"It is not kept for other notebooks: without this one it {much}."
    except (Exception, SystemExit) as error:
        return f"It is not kept for other notebooks: without this one it raises {type(error).__name__}."
    return ""


def kept(name: str, judge: Callable[[Callable], Verdict]) -> tuple[Callable, Verdict] | None:
    """The learner's own function and the verdict on it, where one is kept and right. Says which is taken, if any is."""
    if (file := file_of(name)) is None:
        return None
    place = f"{FOLDER}/{file.name}"
    try:
        function = made(name, text_in(file), str(file))
    except (Exception, SystemExit, Stopped) as error:
        why = f"it {error}" if isinstance(error, Stopped) else f"{type(error).__name__}: {error}"
        print(f"{name}: the course's function, for your own in {place} does not run: {why}")
        return None
    verdict = judge(function)
    if verdict.status != "right":
        print(
            f"{name}: the course's function, for your own in {place} is not right in this version of the course. "
            "Paste it into its exercise, and check says why."
        )
        return None
    print(f"{name}: your own {'class' if isinstance(function, type) else 'function'}, kept in {place}.")
    return function, verdict


def _is_right(name: str, file: Path, judge: Callable[[Callable], Verdict]) -> bool:
    """Is the answer in a file right? What it prints on the way is not shown."""
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            return judge(made(name, text_in(file), str(file))).status == "right"
        except (Exception, SystemExit, Stopped):
            return False


def _copy_aside(file: Path) -> Path:
    """A copy of an answer under a name that is free, in the same folder."""
    spare = file.with_stem(records.earlier(file.stem, lambda stem: file.with_stem(stem).exists()))
    write_whole(spare, file.read_bytes())
    return spare


def text_in(file: Path) -> str:
    """The text of an answer that is kept; Notepad puts a byte-order mark before it."""
    return file.read_text(encoding="utf-8-sig")


def made(name: str, text: str, file: str) -> Callable:
    """The function `name` that a text defines, run in a namespace of its own, within the bounds of an answer.

    What it switches is set back. Stopped: it takes too long, or too much memory."""
    space: dict[str, Any] = {"__name__": f"{FOLDER}.{name}"}

    def run():
        Sandbox.current = None  # its use(…) is that of a notebook: no answer is being judged here
        return define(text, name, space, file)

    with Sandbox() as sandbox:
        return sandbox.call(run)


def text_of(name: str, function: Callable, references: dict[str, Callable]) -> str:
    """The source of an answer below all that it needs. Raises NotSelfContained where that cannot be written down."""
    text = _Text(references)
    text.seen.add(name)
    if not text.define(name, function):
        timed = getattr(getattr(inspect.unwrap(function), "__code__", None), "co_filename", "").startswith("<timed")
        why = ", for %%time keeps it to itself: leave that line out, and run the cell again" if timed else ""
        raise NotSelfContained(f"It is not kept for other notebooks: its source cannot be found{why}.")
    head = f"# An answer to the exercise {name}: check kept it when it came right."
    imports = sorted(text.imports, key=lambda line: (line.startswith("from"), line))
    return "\n\n".join(filter(None, [head, "\n".join(imports), *text.pieces])) + "\n"


class _Text:
    """The lines of a file: what is imported, and pieces of code, each below those that it needs."""

    def __init__(self, references: dict[str, Callable]):
        self.references, self.imports, self.pieces, self.seen = references, set(), [], set()

    def define(self, called: str, value: Any) -> bool:
        """Add the source of a function or class, below what it needs; False where it is not found."""
        source, space = source_and_names(value)
        for name in _names(source):
            if name in space and name not in self.seen:
                self.seen.add(name)
                self.need(name, space[name])
        if source:
            self.pieces.append(source)
        if source and value.__name__ != called and value.__name__.isidentifier():
            self.pieces.append(f"{called} = {value.__name__}")
        return bool(source)

    def need(self, called: str, value: Any) -> None:
        """Add what gives `value` its name."""
        exercise = next((name for name, reference in self.references.items() if value is reference), "")
        if exercise:
            self.imports.add("from utils.exercises import use")
            self.pieces.append(f'{called} = use("{exercise}", own=False)')
        elif line := _import(called, value):
            self.imports.add(line)
        elif written := _literal(value):
            self.pieces.append(f"{called} = {written}")
        elif not self.define(called, value):
            raise NotSelfContained(f"It is not kept for other notebooks: it uses `{called}` of this one.")


def _names(source: str) -> list[str]:
    """The names that a piece of code takes from around it."""

    def within(table: symtable.SymbolTable) -> Iterator[str]:
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
                yield symbol.get_name()
        for child in table.get_children():
            yield from within(child)

    return sorted(set(within(symtable.symtable(source, "<answer>", "exec"))))


def _import(called: str, value: Any) -> str:
    """The line that imports a module, or what a module holds, under the name by which it is called; "" without one."""
    if isinstance(value, ModuleType):
        own = value.__name__
        return f"import {own}" if own == called else f"import {own} as {called}"
    own = getattr(value, "__name__", None)
    for home in (getattr(value, "__module__", None), *HOMES) if isinstance(own, str) else ():
        if home != "__main__" and getattr(sys.modules.get(home), own, None) is value:
            return f"from {home} import {own}" if own == called else f"from {home} import {own} as {called}"
    return ""


def _literal(value: Any) -> str:
    """How a number, a word, or a list, tuple, dict or set of them is written; "" where Python would not read it so."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if type(value) not in (bool, int, float, complex, str, bytes, tuple, list, dict, set, type(None)):
        return ""
    try:
        written = repr(value)
        return written if len(written) <= LARGEST and ast.literal_eval(written) == value else ""
    except (ValueError, SyntaxError, RecursionError):
        return ""
