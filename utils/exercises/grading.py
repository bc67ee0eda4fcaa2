"""Notebooks that were handed in, judged exercise by exercise (`python -m utils.exercises grade NOTEBOOK ...`).

Of a notebook nothing runs but its exercise cells and, of the other cells, imports and definitions; statement by
statement, so that a line that needs what was left out hurts no other. `use` gives back the learner's own function here
(settings.marked), so what is judged is what the cell defines; afterwards the reference takes a wrong one's place.

A notebook has a process of its own, which tells its parent each cell that it begins and each verdict, as lines of JSON.
A cell in which the process ends or stays silent for too long is left out when the next process takes over.
"""

import ast
import contextlib
import json
import linecache
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..cells import EXERCISE
from .engine import Exercise, catalogue
from .progress import notebook_of
from .records import TRIED, short

ROOT = Path(__file__).resolve().parents[2]
STARTING = 300.0  # seconds for the imports of the course, on a slow machine
COMMAND = [sys.executable, "-c", "from utils.exercises.grading import work; work()"]
SETTINGS = {"ATTENTION_PROGRESS": "off", "ATTENTION_MARKED": "1", "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
MAGIC = re.compile(r"^[ \t]*[%!?].*$", re.MULTILINE)  # lines for IPython, such as %time
MISSING = {"status": "missing", "message": "no cell defines it.", "mistakes": []}


# ---- the notebook


def code_cells(path: Path) -> list[tuple[str, list[str]]]:
    """(source, tags) of the code cells. Raises ValueError with one line for a file that is not a notebook."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8-sig"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        return [("".join(cell["source"]), list(cell.get("metadata", {}).get("tags", []))) for cell in code]
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        raise ValueError("is not a notebook (of format 4, as Jupyter saves them)") from None


def exercises_in(source: str, tags: list[str]) -> dict[str, bool]:
    """{exercise: is it sure?} of a cell: sure by the tag `exercise:name`, or if it defines name and checks or uses it.

    A tool may have lost the tags, and a learner may go on in another cell. What a cell defines and does not check may
    be an answer, or what the notebook shows later.
    """
    defined = [] if "defines" in tags else re.findall(r"^def\s+(\w+)\s*\(", source, re.MULTILINE)
    called = re.findall(r"\b(?:check|use)\((\w+)\)", source)
    tagged = {tag.removeprefix(EXERCISE): True for tag in tags if tag.startswith(EXERCISE)}
    found = {name: name in called for name in defined} | tagged
    return {name: found[name] for name in catalogue() if name in found}


def grade(path: Path, seconds: float = 60.0, seed: int = 0) -> dict[str, Any]:
    """{"file", "notebook", "problems": [...], "exercises": {name: {"status", "message", "mistakes"}}} of a notebook.

    Status is "right", "wrong", "todo" or "missing". Of several answers to an exercise the last counts. `seconds` is the
    limit for one, `seed` draws the inputs.
    """
    graded = {"file": str(path), "notebook": "", "problems": [], "exercises": {}}
    try:
        cells = code_cells(path)
        found, known = [exercises_in(*cell) for cell in cells], catalogue()
        votes = Counter(notebook_of(known[name]) for names in found for name in names)
        if not votes:
            raise ValueError("holds no exercise of the course")
        graded["notebook"] = votes.most_common(1)[0][0]  # whatever the file is called
        jobs = [(source, list(names)) for (source, _), names in zip(cells, found)]
        verdicts, graded["problems"] = _judge_all(jobs, seconds, seed)
        for name, exercise in known.items():
            answers = [(sure[name], verdicts[n, name]) for n, sure in enumerate(found) if name in sure]
            answers.sort(key=lambda answer: (answer[0], answer[1]["status"] in TRIED))
            sure, verdict = answers[-1] if answers else (False, MISSING)
            if sure or notebook_of(exercise) == graded["notebook"]:
                graded["exercises"][name] = verdict
    except ValueError as problem:
        graded["problems"] = [str(problem)]
    except (LookupError, TypeError, AttributeError):  # lines that no process of ours writes
        graded["problems"] = ["cannot be judged: it disturbs the process that judges it"]
    return graded


# ---- the parent


def _judge_all(jobs: list[tuple[str, list[str]]], seconds: float, seed: int) -> tuple[dict, list[str]]:
    """{(number of the cell, exercise): verdict}, with as many processes as it takes, and what befell other cells."""
    verdicts, skipped, problems = {}, [], []
    while True:
        number, how = None, None
        for line in _said_by_a_process(json.dumps({"cells": jobs, "skipped": skipped, "seed": seed}), seconds):
            number, how = line.get("cell", number), line.get("ended")
            if "exercise" in line:
                verdicts[number, line["exercise"]] = {key: line[key] for key in MISSING}
        if how is None:
            return verdicts, problems
        if number is None:
            raise ValueError(f"could not be judged: the process {how} before it began")
        skipped.append(number)
        if not jobs[number][1]:
            problems.append(f"code cell {number + 1} was left out: it {how}")
        for name in jobs[number][1]:
            verdicts.setdefault((number, name), {"status": "wrong", "message": f"its cell {how}.", "mistakes": []})


def _said_by_a_process(job: str, seconds: float) -> Iterator[dict[str, Any]]:
    """What the process of a notebook says, and {"ended": how} if it did not come to its end. Then it is gone."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    environment = os.environ | SETTINGS | {"PYTHONPATH": path}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(COMMAND, cwd=folder, env=environment, start_new_session=True, **pipes)
        lines, limit = queue.Queue(), STARTING
        threading.Thread(target=lambda: [*map(lines.put, process.stdout), lines.put(None)], daemon=True).start()
        try:
            process.stdin.write(job.encode())
            process.stdin.close()
            while (line := lines.get(timeout=limit)) is not None:
                said, limit = json.loads(line), seconds
                if "done" in said:
                    return
                yield said
            status = process.wait(timeout=seconds)
            yield {"ended": f"ended Python, status {status}" if status >= 0 else f"crashed Python, signal {-status}"}
        except (queue.Empty, subprocess.TimeoutExpired):
            yield {"ended": f"was still running after {limit:g} seconds"}
        except (OSError, ValueError):
            yield {"ended": "disturbed the process that judges it"}
        finally:
            with contextlib.suppress(AttributeError, OSError):  # Windows has no groups, and this one may be gone
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()


# ---- the process of a notebook


def work() -> None:
    """Read the job, judge its cells, and say so on what was standard output; the cells themselves have none."""
    job = json.load(sys.stdin)
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        for stream, mode in enumerate((os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)):
            os.dup2(os.open(os.devnull, mode), stream)
        sys.modules[__package__].check = lambda *_: None  # the verdict follows; to judge twice would take twice as long
        judge_cells(job, lambda **line: print(json.dumps(line), file=out, flush=True))


def judge_cells(job: dict[str, Any], say: Callable) -> None:
    """Run the cells in order and say the verdicts. Where an answer is not right, later cells find the reference."""
    space, known = {"__name__": "__main__"}, catalogue()
    for number, (source, names) in enumerate(job["cells"]):
        references = {name: known[name].reference for name in names}
        if number in job["skipped"]:
            space |= references
            continue
        space |= dict.fromkeys(names)
        say(cell=number)
        error = _execute(source, f"<code cell {number + 1}>", space, () if names else DEFINITIONS)
        for name in names:
            verdict = judge(known[name], space.get(name), error, job["seed"])
            say(exercise=name, **verdict)
            if verdict["status"] != "right":
                space[name] = references[name]
    say(done=True)


def _execute(source: str, filename: str, space: dict, only: tuple[type, ...]) -> BaseException | None:
    """Execute the statements one by one, those of the kinds `only` if any are given; returns the first exception."""
    first = None
    for text in (source, MAGIC.sub("pass", source)):
        try:
            statements, first = ast.parse(text).body, None
            break
        except (SyntaxError, ValueError) as error:
            statements, first = [], first or error
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    for statement in statements:
        if not only or isinstance(statement, only):
            try:
                exec(compile(ast.Module([statement], []), filename, "exec"), space)
            except BaseException as error:  # SystemExit, too
                first = first or error
    return first


def judge(found: Exercise, function: Any, error: BaseException | None, seed: int) -> dict[str, Any]:
    """The verdict on what a cell defined, or why it defined nothing; with the credit that it earns, 0 to 1."""
    status, message, names, credit = "wrong", "", (), 0.0
    if function is found or function is found.reference:
        message = "this is the course's own function."
    elif function is None and error is None:
        return MISSING | {"message": "its cell does not define it.", "credit": credit}
    elif function is None:
        place = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        message = f"its cell raises {type(error).__name__}{place}: {error.args[0] if error.args else ''}."
    else:
        try:
            verdict = found.verdict(function, seed, search=False)
            status, message, names, credit = verdict.status, verdict.message, verdict.names, verdict.credit
        except BaseException as problem:  # KeyboardInterrupt, which an answer can raise, too
            message = f"it cannot be judged: {type(problem).__name__}."
    message = "not tried yet." if status == "todo" else " ".join(message.split())
    return {"status": status, "message": message, "mistakes": [*map(short, names)], "credit": credit}
