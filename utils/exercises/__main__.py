"""python -m utils.exercises: `grade` judges notebooks that were handed in, `class` sums up what a class misunderstood."""

import argparse
import csv
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from .classroom import report
from .engine import MARKS
from .grading import grade

COLUMNS = ("file", "notebook", "exercise", "status", "mistakes", "message")
WARNING = """\
The notebooks are run as you, with your rights: read on only those of people whom you trust, or grade in a container or
an account without anything of value. Of each notebook run the exercise cells and, of the other cells, imports and
definitions, in an empty folder, without input, in a process of its own. An answer that means to deceive can: have a
look at those that seem odd."""


def graded_files(arguments: argparse.Namespace) -> None:
    """Judge, print, and write the files that were asked for."""
    graded = []
    for path in arguments.notebooks:
        graded.append(grade(path, arguments.seconds, arguments.seed))
        show(graded[-1])
    statuses = Counter(verdict["status"] for one in graded for verdict in one["exercises"].values())
    print(f"{len(graded)} notebooks: {statuses['right']} of {statuses.total()} exercises right.")
    if arguments.json:
        text = json.dumps({"version": 1, "notebooks": graded}, indent=1, ensure_ascii=False)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    if arguments.csv:
        with arguments.csv.open("w", encoding="utf-8-sig", newline="") as file:  # the mark lets Excel read √ and ✔
            csv.writer(file).writerows([COLUMNS, *rows(graded)])


def rows(graded: list[dict[str, Any]]):
    """A row of COLUMNS for each exercise, and for each problem."""
    for one in graded:
        for problem in one["problems"]:
            yield one["file"], one["notebook"], "", "problem", "", problem
        for name, verdict in one["exercises"].items():
            mistakes = " ".join(verdict["mistakes"])
            yield one["file"], one["notebook"], name, verdict["status"], mistakes, verdict["message"]


def show(one: dict[str, Any]) -> None:
    """A line for each exercise; what is not printable is not printed, for others wrote some of it."""
    right = sum(verdict["status"] == "right" for verdict in one["exercises"].values())
    score = f" ({one['notebook']}): {right} of {len(one['exercises'])} right" if one["exercises"] else ""
    lines = [f"  {MARKS.get(verdict['status'], '–')} {name}: {verdict['message']}" for name, verdict in one["exercises"].items()]
    for line in [one["file"] + score, *(f"  {one['file']} {problem}." for problem in one["problems"]), *lines]:
        print("".join(letter if letter.isprintable() else "?" for letter in line), flush=True)


def a_file(ending: str):
    """A type for argparse: a path with that ending, lest a notebook be overwritten."""

    def parse(text: str) -> Path:
        if not text.endswith(ending) or not Path(text).parent.is_dir():
            raise argparse.ArgumentTypeError(f"{text} is not the name of a {ending} file in a folder that exists")
        return Path(text)

    return parse


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m utils.exercises", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("grade", help="judge notebooks that were handed in", description=WARNING)
    command.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    command.add_argument("--json", type=a_file(".json"), metavar="FILE", help="write the verdicts, for `class`")
    command.add_argument("--csv", type=a_file(".csv"), metavar="FILE", help="write a table, a row for each exercise")
    command.add_argument("--seconds", type=float, default=60, help="limit for each exercise (default 60)")
    command.add_argument("--seed", type=int, default=0, help="judge on other numbers than check does (default 0)")
    command.set_defaults(run=graded_files)
    command = commands.add_parser("class", help="sum up progress.json files of learners, or files of grade --json")
    command.add_argument("files", nargs="+", type=Path, metavar="FILE")
    command.set_defaults(run=lambda told: report(told.files))
    sys.stdout.reconfigure(errors="replace")  # a terminal that has no ✔ gets a question mark
    told = parser.parse_args(arguments)
    told.run(told)


if __name__ == "__main__":
    main()
