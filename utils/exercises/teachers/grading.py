"""Notebooks that were handed in, judged exercise by exercise (`python -m utils.exercises grade NOTEBOOK ...`).

Of a notebook nothing runs but its exercise cells and, of the other cells, imports and definitions; statement by
statement, so that a line that needs what was left out hurts no other. Where an answer does not come right that way, the
statements run that bind what it looks up (needed.py), and it is judged again. `use` gives back the learner's own
function here (settings.marked), so what is judged is what the cell defines; afterwards the reference takes a wrong
one's place, and that of one whose cell is gone.

A notebook has a process of its own (processes.py), which tells its parent each cell that it begins and each verdict, as
lines of JSON. A cell in which the process ends or stays silent for too long is left out when the next process takes
over.
"""

import ast
import asyncio
import codeop
import contextlib
import functools
import inspect
import json
import linecache
import os
import queue
import re
import secrets
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from IPython import get_ipython
from IPython.display import display

from ...cells import EXERCISE
from ...judge.exercise import Exercise, catalogue
from ...judge.run.errors import text_of
from ...judge.wording import shorten
from ...records import A_NAME, TRIED, short
from ..learner.progress import notebook_of
from .needed import Notebook
from .processes import ROOT, STARTING, Processes

DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
LARGEST = 200_000_000  # bytes of a file that is read
SHOWN = 20  # exercises of other versions that are named; who has more made them up
LINE = 1_000_000  # bytes of a line that a process says
MISSING = {"status": "missing", "message": "no cell defines it.", "mistakes": []}
DISTURBED = "disturbed the process that judges it"
PROCESSES = Processes()


# ---- the notebook


def content_of(path: Path) -> bytes:
    """What a file holds. Raises ValueError with one line for a pipe, a device, a file too large or out of reach."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise ValueError("cannot be read: it is not a file")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    if len(content) > LARGEST:
        raise ValueError(f"is larger than {LARGEST // 10**6} MB: clear the outputs of its cells")
    return content


def code_cells(path: Path) -> list[tuple[str, list[str]]]:
    """(source, tags) of the code cells; where another tool wrote null or the like, there is no text and no tag.

    Raises ValueError with one line for a file that is not a notebook.
    """
    content = content_of(path)
    try:
        cells = json.loads(content)["cells"]
    except (ValueError, RecursionError, TypeError, KeyError):
        cells = None
    read = [_cell(cell) for cell in cells] if isinstance(cells, list) else [None]
    if read and not any(read):
        raise ValueError("is not a notebook (of format 4, as Jupyter saves them)")
    return [(source, tags) for kind, source, tags in filter(None, read) if kind == "code"]


def _cell(cell: Any) -> tuple[str, str, list[str]] | None:
    """(kind, source, tags) of a cell; None for what is none."""
    source = (cell.get("source") or "") if isinstance(cell, dict) else None
    if not isinstance(source, (str, list)):
        return None
    data = cell.get("metadata")
    tags = data.get("tags") if isinstance(data, dict) else None
    tags = tags if isinstance(tags, list) else [tags]
    text = "".join(line for line in source if isinstance(line, str))
    return cell.get("cell_type"), text, [tag for tag in tags if isinstance(tag, str)]


def exercises_in(source: str, tags: list[str]) -> dict[str, bool]:
    """{exercise: is it sure?} of a cell: sure by the tag `exercise:name`, or if it defines name and checks or uses it.

    A tool may have lost the tags, and a learner may go on in another cell. What a cell defines and does not check may
    be an answer, or what the notebook shows later.
    """
    defined = [] if "defines" in tags else re.findall(r"^(?:def|class)\s+(\w+)\s*[(:]", source, re.MULTILINE)
    called = re.findall(r"\b(?:check|use)\((\w+)\)", source)
    tagged = {tag.removeprefix(EXERCISE): True for tag in tags if tag.startswith(EXERCISE)}
    found = {name: name in called for name in defined} | tagged
    return {name: found[name] for name in catalogue() if name in found}


@functools.cache
def _shown(notebook: str) -> set[str]:
    """The cells of the course's own notebook that hold no exercise: some show later what an exercise asked for."""
    path = ROOT / "notebooks" / f"{notebook}.ipynb"
    with contextlib.suppress(ValueError):
        cells = code_cells(path)
        return {source.strip() for source, tags in cells if not any(tag.startswith(EXERCISE) for tag in tags)}
    return set()


def grade(path: Path, seconds: float = 60.0, seed: int = 0, processes: Processes = PROCESSES) -> dict[str, Any]:
    """{"file", "notebook", "problems": [...], "exercises": {name: {"status", "message", "mistakes"}}} of a notebook.

    Status is "right", "wrong", "todo" or "missing". Of several answers to an exercise the last counts that was tried,
    and one that is checked before one that is not. `seconds` is the limit for one, `seed` draws the inputs.
    """
    graded = {"file": str(path), "notebook": "", "problems": [], "exercises": {}}
    try:
        cells = code_cells(path)
        found, known = [exercises_in(*cell) for cell in cells], catalogue()
        votes = Counter(notebook_of(known[name]) for names in found for name in names)
        if not votes:
            raise ValueError("holds no exercise of the course")
        graded["notebook"] = notebook = votes.most_common(1)[0][0]  # whatever the file is called
        for (source, _), names in zip(cells, found):
            if not any(names.values()) and source.strip() in _shown(notebook):
                names.clear()
        jobs = [(source, list(names)) for (source, _), names in zip(cells, found)]
        verdicts, graded["problems"] = _judge_all(jobs, seconds, seed, processes)
        graded["exercises"] = _of_each_exercise(found, verdicts, notebook)
        if others := _of_other_editions(cells):
            graded["problems"].append(f"not in this version of the course, and so not judged: {', '.join(others)}")
    except ValueError as problem:
        graded["problems"] = [str(problem)]
    except Exception as error:  # one notebook, whatever it holds, leaves the others judged
        graded["problems"] = [f"could not be judged: {type(error).__name__}: {error}"]
    return graded


def _of_other_editions(cells: list[tuple[str, list[str]]]) -> list[str]:
    """The exercises that tags name and this version of the course does not have."""
    tagged = (tag.removeprefix(EXERCISE) for _, tags in cells for tag in tags if tag.startswith(EXERCISE))
    return [name for name in dict.fromkeys(tagged) if name not in catalogue() and A_NAME.fullmatch(name)][:SHOWN]


def _of_each_exercise(found: list[dict[str, bool]], verdicts: dict, notebook: str) -> dict[str, dict[str, Any]]:
    """{exercise: the verdict that counts}, in the order of the course."""
    counting = {}
    for name, exercise in catalogue().items():
        answers = [(sure[name], verdicts[n, name]) for n, sure in enumerate(found) if name in sure]
        answers.sort(key=lambda answer: (answer[1]["status"] in TRIED, answer[0]))
        if any(sure for sure, _ in answers) or notebook_of(exercise) == notebook:
            counting[name] = answers[-1][1] if answers else MISSING
    return counting


# ---- the parent


def _judge_all(cells: list, seconds: float, seed: int, processes: Processes) -> tuple[dict, list[str]]:
    """{(number of the cell, exercise): verdict}, with as many processes as it takes, and what befell other cells."""
    verdicts, skipped, problems = {}, [], []
    while True:
        number, how = None, None
        for line in _said_by_a_process({"cells": cells, "skipped": skipped, "seed": seed}, seconds, processes):
            number, how = line.get("cell", number), line.get("ended")
            if "exercise" in line:
                verdicts[number, line["exercise"]] = {key: line[key] for key in MISSING}
        if how is None:
            return verdicts, problems
        if number is None:
            raise ValueError(f"could not be judged: the process {how} before it began")
        skipped.append(number)
        if not cells[number][1]:
            problems.append(f"code cell {number + 1} was left out: it {how}")
        for name in cells[number][1]:
            verdicts.setdefault((number, name), {"status": "wrong", "message": f"its cell {how}.", "mistakes": []})


def _said_by_a_process(job: dict[str, Any], seconds: float, processes: Processes) -> Iterator[dict[str, Any]]:
    """What the process of a notebook says, and {"ended": how} if it did not come to its end. Then it is gone."""
    key = secrets.token_hex()  # begins each line: what a notebook writes into the pipe by chance is not taken for one
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        processes.begin(folder) as process,
    ):
        lines, limit = queue.Queue(), STARTING
        threading.Thread(target=_read_lines, args=(process.stdout, lines), daemon=True).start()
        try:
            process.stdin.write(json.dumps(job | {"key": key}).encode())
            process.stdin.close()
            while line := lines.get(timeout=limit):
                own, _, text = line.partition(b" ")
                said, limit = json.loads(text) if own == key.encode() else {"ended": DISTURBED}, seconds
                if "done" in said:
                    return
                yield said
                if "ended" in said:
                    return
            status = process.wait(timeout=seconds)
            yield {"ended": f"ended Python, status {status}" if status >= 0 else f"crashed Python, signal {-status}"}
        except (queue.Empty, subprocess.TimeoutExpired):
            yield {"ended": f"was still running after {limit:g} seconds"}
        except (OSError, ValueError):
            yield {"ended": DISTURBED}


def _read_lines(stream: Any, lines: queue.Queue) -> None:
    """Put the lines of a stream into a queue, and b"" at its end; one that is too long is the last."""
    with stream:
        while (line := stream.readline(LINE)).endswith(b"\n"):
            lines.put(line)
        lines.put(line)
        lines.put(b"")


# ---- the process of a notebook


def work() -> None:
    """Read the job, judge its cells, and say so on what was standard output; the cells themselves have none."""
    job = json.load(sys.stdin)
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        for stream, mode in enumerate((os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)):
            os.dup2(os.open(os.devnull, mode), stream)
        sys.modules[__package__].check = lambda *_: None  # the verdict follows; to judge twice would take twice as long
        Judge(job, lambda **line: print(job["key"], json.dumps(line), file=out, flush=True)).all_cells()


class Judge:
    """The cells of a notebook, run in their order; the verdicts are told by `say`."""

    def __init__(self, job: dict[str, Any], say: Callable):
        self.say, self.seed, self.skipped = say, job["seed"], job["skipped"]
        self.notebook = Notebook(*zip(*job["cells"]), self.skipped)
        self.known, self.compiled = catalogue(), codeop.Compile()  # which goes on with `from __future__ import …`
        self.compiled.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.space = {"__name__": "__main__", "display": display, "get_ipython": get_ipython}
        self.answers: dict[tuple[int, str], Any] = {}  # the reference replaces a wrong one
        self.ran: set[ast.stmt] = set()  # at their place: definitions, and what is in exercise cells

    def all_cells(self) -> None:
        for number, names in enumerate(self.notebook.exercises):
            if number not in self.skipped:
                self.say(cell=number)
                if names:
                    self._judge_cell(number, names)
                else:
                    cell = self.notebook.cell(number)
                    self._run(number, [one for one in cell.statements if isinstance(one, DEFINITIONS)])
            else:
                self.space |= {name: self.known[name].course for name in names}
        self.say(done=True)

    def _judge_cell(self, number: int, names: list[str]) -> None:
        """Where an answer is not right, or its cell failed, once more with what it needs of other cells."""
        verdicts = self._judged(number, names)
        failed = [name for name in names if verdicts[name]["status"] in ("wrong", "missing")]
        if failed and self._run_needed(number, failed):
            self.say(cell=number)  # the limit of time begins anew
            verdicts |= self._judged(number, failed)
        for name in names:
            right = verdicts[name]["status"] == "right"
            self.answers[number, name] = self.space[name] = self.space[name] if right else self.known[name].course

    def _judged(self, number: int, names: list[str]) -> dict[str, dict[str, Any]]:
        cell = self.notebook.cell(number)
        self.space |= dict.fromkeys(names)
        error = self._run(number, cell.statements) or cell.error
        verdicts = {}
        for name in names:
            verdicts[name] = judge(self.known[name], self.space.get(name), error, self.seed)
            self.say(exercise=name, **verdicts[name])
        return verdicts

    def _run_needed(self, number: int, names: list[str]) -> bool:
        """Run what the answers need of other cells; returns whether any of it had not run at its place."""
        notebooks = {notebook_of(self.known[name]) for name in names}
        beside = {name for name, found in self.known.items() if notebook_of(found) in notebooks}
        needed, new = self.notebook.needed(names, number, beside), []
        for (cell, index), one in needed.items():
            if isinstance(one, str):
                answer = self.answers.get((cell, one), self.known[one].course)
                new += [one] if self.space.get(one) is not answer else []
                needed[cell, index] = one, answer
            else:
                new += [one] if one not in self.ran else []
        left = [*needed.items()] if new else []
        while left:  # what is below a statement that needs it is there when that one is tried again
            before, left = left, [(place, one) for place, one in left if self._fails(place[0], one)]
            if len(left) == len(before):
                break
        return bool(new)

    def _fails(self, number: int, one: ast.stmt | tuple[str, Any]) -> bool:
        if isinstance(one, tuple):
            self.space |= [one]
            return False
        return self._run(number, [one]) is not None

    def _run(self, number: int, statements: list[ast.stmt]) -> BaseException | None:
        """Run the statements one by one; returns the first exception."""
        filename, text, first = f"<code cell {number + 1}>", self.notebook.cell(number).text, None
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        for statement in statements:
            try:
                waiting = eval(self.compiled(ast.Module([statement], []), filename, "exec"), self.space)
                if inspect.iscoroutine(waiting):
                    asyncio.run(waiting)
                self.ran.add(statement)
            except BaseException as error:  # SystemExit, too
                first = first or error
        return first


def judge(found: Exercise, function: Any, error: BaseException | None, seed: int) -> dict[str, Any]:
    """The verdict on what a cell defined, or why it defined nothing; with the credit that it earns, 0 to 1."""
    status, message, names, credit = "wrong", "", (), 0.0
    if function is found or function is found.course:
        message = "this is the course's own function."
    elif function is None and error is None:
        return MISSING | {"message": "its cell does not define it.", "credit": credit}
    elif function is None:
        is_syntax = isinstance(error, SyntaxError)
        place, why = f" in line {error.lineno}" if is_syntax else "", error.msg if is_syntax else text_of(error)
        message = f"its cell raises {type(error).__name__}{place}: {shorten(why, 300)}."
    else:
        try:
            verdict = found.verdict(function, seed, search=False)
            status, message, names, credit = verdict.status, verdict.message, verdict.names, verdict.credit
        except BaseException as problem:  # KeyboardInterrupt, which an answer can raise, too
            message = f"it cannot be judged: {type(problem).__name__}."
    message = "not tried yet." if status == "todo" else " ".join(message.split())
    return {"status": status, "message": message, "mistakes": [*map(short, names)], "credit": credit}
