"""For teachers: `grade` judges notebooks that were handed in, `class` sums up what a class misunderstood."""

import argparse
import csv
import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..files import write_whole
from ..judge.verdict import MARKS
from .teachers.classroom import report
from .teachers.grading import PROCESSES, grade
from .teachers.processes import SIGNALS

HEADER = "file", "notebook", "exercise", "status", "mistakes", "message"
WARNING = """Judge the exercises of notebooks that were handed in. They run as you, with all your rights: grade in a
container, or on an account without anything of value, unless you trust their authors. Of each notebook run the exercise
cells and, of the other cells, imports, definitions and the assignments that an answer needs, in an empty folder,
without input, in a process of its own. An answer that means to deceive can: it may look up the course's own function,
return what claims to be equal to everything, or exchange a piece of the judge, which then judges later answers wrongly,
too. Look at those that seem odd. An answer may end its process or hang in one long step: its cell then counts as wrong
after the limit of seconds, and a new process goes on. What it started by itself may run on after the grading. An answer
that only waits is stopped after 30 seconds, and one that computes after 10 seconds of work, which may take longer on a
computer that is busy."""


def graded_notebooks(told: argparse.Namespace) -> None:
    """Judge, and print and write the verdicts in the order of the arguments, each as soon as those before it are there.

    When a signal stops it, what is judged is printed and written, too; it then exits with 128 and the signal's number.
    """
    results = Results(told.json, told.csv)
    with caught_signals() as caught, ThreadPoolExecutor(told.jobs) as pool:
        jobs = [pool.submit(grade, path, told.seconds, told.seed) for path in told.notebooks]
        try:
            with tqdm(total=len(jobs), unit=" files", disable=None) as bar:
                for job in jobs:
                    job.add_done_callback(lambda _: bar.update())
                for job in jobs:
                    while not job.done() and not caught:
                        wait([job], timeout=0.2)
                    if caught:
                        break
                    results.add(job.result())
                done = [job for job in jobs[results.count :] if job.done()]
        finally:
            if results.count < len(jobs):
                pool.shutdown(wait=False, cancel_futures=True)
                PROCESSES.stop()
        for job in done:
            results.add(job.result())
        if caught:
            print(f"Stopped: {results.count} of {len(jobs)} files are judged.")
    print(f"In all: {results.right} of {results.exercises} exercises right, {results.count} file(s).")
    if caught:
        raise SystemExit(128 + caught[0])


@contextmanager
def caught_signals() -> Iterator[list[int]]:
    """The signals to stop that came, instead of an exception in the middle of a row; the second one is an exception."""
    caught: list[int] = []

    def note(number: int, _: Any) -> None:
        if caught:
            raise SystemExit(128 + number)
        caught.append(number)

    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    handlers = {number: handler for number, handler in handlers.items() if handler is not signal.SIG_IGN}
    for number in handlers:
        signal.signal(number, note)
    try:
        yield caught
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


class Results:
    """What is judged so far, printed and in the files that were asked for: whatever happens later, they hold it."""

    def __init__(self, json_file: Path | None, csv_file: Path | None):
        """SystemExit with one line where one of the files cannot be written."""
        for path in filter(None, (json_file, csv_file)):
            try:
                if path.exists() and not path.is_file():
                    raise SystemExit(f"{path} cannot be written: it is not a file")
                path.open("a").close()
            except OSError as error:
                raise SystemExit(f"{path} cannot be written: {error.strerror}") from None
        self.count = self.exercises = self.right = 0
        self.json, self.texts = json_file and json_file.resolve(), []
        self.csv = csv_file and csv_file.open("w", encoding="utf-8-sig", newline="")  # Excel needs the mark to read √
        self._write([HEADER])

    def add(self, one: dict[str, Any]) -> None:
        show(one)
        statuses = [verdict["status"] for verdict in one["exercises"].values()]
        self.count, self.exercises = self.count + 1, self.exercises + len(statuses)
        self.right += statuses.count("right")
        self.texts.append(json.dumps(one, indent=1, ensure_ascii=False))
        rows = [("", "problem", "", problem) for problem in one["problems"]]
        for name, verdict in one["exercises"].items():
            rows.append((name, verdict["status"], " ".join(verdict["mistakes"]), verdict["message"]))
        self._write([(one["file"], one["notebook"], *row) for row in rows])

    def _write(self, rows: list[tuple[str, ...]]) -> None:
        try:
            if self.json:
                text = '{"version": 1, "notebooks": [\n' + ",\n".join(self.texts) + "\n]}\n"
                write_whole(self.json, text.encode(errors="backslashreplace"))  # half a character, as JSON writes it
            if self.csv:
                csv.writer(self.csv).writerows([[inert(printable(text)) for text in row] for row in rows])
                self.csv.flush()
        except OSError as error:
            raise SystemExit(f"the verdicts cannot be written any more: {error.strerror}") from None


def printable(text: str) -> str:
    """Others wrote some of what is printed: without what moves a cursor or sets colours."""
    return "".join(filter(str.isprintable, text))


def inert(text: str) -> str:
    """Text for a cell of a spreadsheet, which takes what begins with = + - @ for a formula: others wrote some of it."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def show(one: dict[str, Any]) -> None:
    """A line for each exercise and each problem."""
    exercises = one["exercises"]
    right = sum(judged["status"] == "right" for judged in exercises.values())
    lines = [f"{one['file']} ({one['notebook']}): {right} of {len(exercises)} right"] if exercises else []
    lines += [f"{one['file']}: {problem}." for problem in one["problems"]]
    for name, judged in exercises.items():
        lines.append(f"  {MARKS.get(judged['status'], '–')} {name}: {judged['message']}")
    for line in lines:
        tqdm.write(printable(line))
    sys.stdout.flush()


def a_file(name: str) -> Path:
    """A path for argparse that is no notebook's, lest one be overwritten."""
    if not name.endswith((".json", ".csv")) or not Path(name).parent.is_dir():
        raise argparse.ArgumentTypeError(f"{name} is not the name of a .json or .csv file in a folder that exists")
    return Path(name)


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m utils.exercises", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("grade", help="judge notebooks that were handed in", description=WARNING)
    command.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    command.add_argument("--json", type=a_file, metavar="FILE", help="write the verdicts, for `class` and for tools")
    command.add_argument("--csv", type=a_file, metavar="FILE", help="write a table, a row for each exercise")
    command.add_argument("--seconds", type=float, default=60, help="limit for an exercise (default 60)")
    command.add_argument("--jobs", type=int, default=cores(), help="notebooks judged at a time (default: one per core)")
    command.add_argument("--seed", type=int, default=0, help="other numbers than those of check (default 0, the same)")
    command.set_defaults(run=graded_notebooks)
    command = commands.add_parser("class", help="sum up progress.json files of learners, or files of `grade --json`")
    command.add_argument("files", nargs="+", type=Path, metavar="FILE")
    command.set_defaults(run=lambda told: report(told.files))
    sys.stdout.reconfigure(errors="replace")  # where a terminal has no ✔
    told = parser.parse_args(arguments)
    if not 0 < getattr(told, "seconds", 1) < 1e6:
        parser.error(f"--seconds is {told.seconds}: it has to be more than 0, and less than a week")
    if getattr(told, "jobs", 1) < 1:
        parser.error(f"--jobs is {told.jobs}: it has to be at least 1")
    told.run(told)


if __name__ == "__main__":
    main()
