"""For teachers: `grade` judges notebooks that were handed in, `class` sums up what a class misunderstood."""

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any

from .classroom import report
from .grading import grade
from .verdict import MARKS

WARNING = """Judge the exercises of notebooks that were handed in. They run as you, with all your rights: grade in a
container, or on an account without anything of value, unless you trust their authors. Of each notebook run the exercise
cells and, of the other cells, imports and definitions, in an empty folder, without input, in a process of its own. An
answer that means to deceive can: it may look up the course's own function, return what claims to be equal to
everything, or exchange a piece of the judge, which then judges later answers wrongly, too. Look at those that seem odd.
An answer may end its process or hang in one long step: its cell then counts as wrong after the limit of seconds, and a
new process goes on. What it started by itself may run on after the grading. An answer that only waits is stopped
after 30 seconds, and one that computes after 10 seconds of work, which may take longer on a computer that is busy."""


def graded_notebooks(told: argparse.Namespace) -> None:
    """Judge, print, and write the files that were asked for."""
    graded, table = [], [("file", "notebook", "exercise", "status", "mistakes", "message")]
    for path in told.notebooks:
        graded.append(one := grade(path, told.seconds, told.seed))
        show(one)
        table += [(one["file"], one["notebook"], "", "problem", "", problem) for problem in one["problems"]]
        for name, verdict in one["exercises"].items():
            mistakes = " ".join(verdict["mistakes"])
            table.append((one["file"], one["notebook"], name, verdict["status"], mistakes, verdict["message"]))
    judged = [row[3] for row in table[1:] if row[2]]
    print(f"In all: {judged.count('right')} of {len(judged)} exercises right, {len(graded)} file(s).")
    if told.json:
        text = json.dumps({"version": 1, "notebooks": graded}, indent=1, ensure_ascii=False)
        told.json.write_text(text + "\n", encoding="utf-8")
    if told.csv:
        with told.csv.open("w", encoding="utf-8-sig", newline="") as file:  # Excel needs the mark to read √ and ✔
            csv.writer(file).writerows([[inert(text) for text in row] for row in table])


def inert(text: str) -> str:
    """Text for a cell of a spreadsheet, which takes what begins with = + - @ for a formula: others wrote some of it."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def show(one: dict[str, Any]) -> None:
    """A line for each exercise and each problem; others wrote some of it, so what is not printable is left out."""
    exercises = one["exercises"]
    right = sum(judged["status"] == "right" for judged in exercises.values())
    lines = [f"{one['file']} ({one['notebook']}): {right} of {len(exercises)} right"] if exercises else []
    lines += [f"{one['file']}: {problem}." for problem in one["problems"]]
    for name, judged in exercises.items():
        lines.append(f"  {MARKS.get(judged['status'], '–')} {name}: {judged['message']}")
    for line in lines:
        print("".join(filter(str.isprintable, line)), flush=True)


def a_file(name: str) -> Path:
    """A path for argparse that is no notebook's, lest one be overwritten."""
    if not name.endswith((".json", ".csv")) or not Path(name).parent.is_dir():
        raise argparse.ArgumentTypeError(f"{name} is not the name of a .json or .csv file in a folder that exists")
    return Path(name)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m utils.exercises", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("grade", help="judge notebooks that were handed in", description=WARNING)
    command.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    command.add_argument("--json", type=a_file, metavar="FILE", help="write the verdicts, for `class` and for tools")
    command.add_argument("--csv", type=a_file, metavar="FILE", help="write a table, a row for each exercise")
    command.add_argument("--seconds", type=float, default=60, help="limit for an exercise (default 60)")
    command.add_argument("--seed", type=int, default=0, help="other numbers than those of check (default 0, the same)")
    command.set_defaults(run=graded_notebooks)
    command = commands.add_parser("class", help="sum up progress.json files of learners, or files of `grade --json`")
    command.add_argument("files", nargs="+", type=Path, metavar="FILE")
    command.set_defaults(run=lambda told: report(told.files))
    sys.stdout.reconfigure(errors="replace")  # where a terminal has no ✔
    told = parser.parse_args(arguments)
    if not 0 < getattr(told, "seconds", 1) < 1e6:
        parser.error(f"--seconds is {told.seconds}: it has to be more than 0, and less than a week")
    told.run(told)


if __name__ == "__main__":
    main()
