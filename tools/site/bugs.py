"""The page of real bugs: mistakes with attention that have happened in public code, and how to find them.

A bug has a thread. The known mistakes of the exercises bring theirs, with the code and the sentence that helps; others
are in the text of the notebooks. bugs.txt puts them in order, says which probe finds them, and for those that it
knows, what was seen there. What a mistake does is not told but tried, on the inputs with which `check` judges.
"""

import html
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tools.notebooks.files import paths, read
from tools.site import ledger
from utils import cells
from utils.exercises import catalogue
from utils.judge.compare import same
from utils.judge.run.calls import copied
from utils.judge.wording import describe_kind

THREAD = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)")
QUIET = "the right shape, other numbers"
THEME = re.compile(r"^\[(.+)\]\n", re.MULTILINE)


class Bug(NamedTuple):
    """A thread, what was seen there, its known mistakes as (exercise, row), and the cells of text that tell of it."""

    thread: str
    seen: str
    mistakes: list
    told: list

    @property
    def name(self) -> str:
        return "{} #{}".format(*THREAD.fullmatch(self.thread).groups())


class Theme(NamedTuple):
    name: str
    probe: str
    threads: dict[str, str]  # thread → what was seen there


def themes(text):
    """The themes of bugs.txt, in its order. ValueError for a line that is none of a probe, a thread, what was seen."""
    parts = THEME.split("\n".join(line for line in text.splitlines() if not line.startswith("#")) + "\n")[1:]
    return [Theme(name, *_theme(name, body)) for name, body in zip(parts[::2], parts[1::2])]


def _theme(name, body):
    probe, threads, last = [], {}, ""
    for line in filter(str.strip, body.splitlines()):
        if THREAD.fullmatch(line):
            threads[last := line] = ""
        elif line[0] == " " and last:
            threads[last] = f"{threads[last]} {line.strip()}".strip()
        elif not last:
            probe.append(line)
        else:
            raise ValueError(f"bugs.txt, {name}: what is {line!r}? What was seen is indented")
    return " ".join(probe), threads


def cited():
    """{thread: (its known mistakes, the cells of text that link to it)} of the whole course."""
    found, placed = {}, where_exercises_stand()
    for exercise in catalogue().values():
        for row in exercise.rows:
            if row.thread and exercise.name in placed:
                found.setdefault(row.thread, ([], []))[0].append((exercise, row))
    for path in paths():
        for section, cell in ledger.sections(read(path)):
            for link in THREAD.finditer(cell.source) if cell.cell_type == "markdown" else ():
                found.setdefault(link[0], ([], []))[1].append((path.stem, section, cell))
    return found


def where_exercises_stand():
    """{exercise: (notebook, section, cell)}"""
    return {
        name: (path.stem, section, cell)
        for path in paths()
        for section, cell in ledger.sections(read(path))
        if (name := cells.exercise(cell))
    }


def outcome(want, function, inputs):
    """What a mistake does with one input: right, other numbers, another shape, an error."""
    try:
        got = function(*map(copied, inputs.values()))
    except Exception as error:
        return f"an error, {type(error).__name__}"
    if same(got, want):
        return "right"
    return QUIET if describe_kind(got) == describe_kind(want) else "another shape or type"


def symptom(exercise, row):
    """What the mistake does on the inputs of `check`, in words."""
    inputs = list(exercise.inputs())
    counted = Counter(outcome(exercise.reference(*map(copied, one.values())), row.function, one) for one in inputs)
    parts = [f"{kind} on {number} of {len(inputs)}" for kind, number in counted.most_common() if kind != "right"]
    right = f", right all the same on {counted['right']}" if counted["right"] else ""
    return f"On our inputs: {', '.join(parts)}{right}."


def change(row):
    """The row's code as Markdown: what replaces what."""
    lines = row.name.splitlines()
    edits = [line.partition(" ->") for line in lines]
    if all(arrow for _, arrow, _ in edits):
        lines = [f"- {old.strip()}\n+ {new.strip()}".removesuffix("\n+ ") for old, _, new in edits]
        return "```diff\n" + "\n".join(lines) + "\n```"
    return "```python\n" + row.name.removeprefix("= ") + "\n```"


def entry(bug, places, link):
    """One bug as Markdown."""
    name, parts = f"**[{bug.name}]({bug.thread})**", [bug.seen] if bug.seen else []
    given = bool(bug.mistakes) and bug.mistakes[0][0].broken is bug.mistakes[0][1]
    if bug.mistakes:
        exercise, row = bug.mistakes[0]
        parts += [] if given else [f"> {row.message[0].upper()}{row.message[1:]}"]
        parts += [change(row), f"{symptom(exercise, row)} {_known_to(bug, places, link)}".strip()]
    parts += [_told(bug, link)]
    body = "\n\n".join(filter(None, parts))
    if given:
        return f"{name}\n\n<details><summary>An exercise in debugging: solve it first</summary>\n\n{body}\n\n</details>"
    return f"{name} {body}" if bug.seen else f"{name}\n\n{body}"


def _known_to(bug, places, link):
    names = {found.name: places[found.name] for found, _ in bug.mistakes if found.name in places}
    links = [link(stem, cell.id, f"{name} ({stem[:2]})") for name, (stem, _, cell) in names.items()]
    return f"Known to the exercise{'s' * (len(links) > 1)} {', '.join(links)}." if links else ""


def _told(bug, link):
    cells = {cell.id: (stem, section) for stem, section, cell in bug.told}
    links = [
        link(stem, cell, f"notebook {stem[:2]}, section {section.partition(' ')[0]}")
        for cell, (stem, section) in cells.items()
    ]
    return f"Told in {', '.join(links)}." if links else ""


def page(link, text=None):
    """The Markdown of the page below what docs/ says of it; `link(notebook, cell, text)` makes a link to a cell."""
    text = text or (Path(__file__).parent / "bugs.txt").read_text(encoding="utf-8")
    known, places, ordered = cited(), where_exercises_stand(), themes(text)
    listed = {thread for theme in ordered for thread in theme.threads}
    if others := {thread: "" for thread in known if thread not in listed}:
        ordered.append(Theme("Others", "", others))
    parts = []
    for theme in ordered:
        bugs = [Bug(thread, seen, *known[thread]) for thread, seen in theme.threads.items() if thread in known]
        parts += [f"## {html.escape(theme.name)}", f"**The probe.** {theme.probe}" if theme.probe else ""]
        parts += [entry(bug, places, link) for bug in bugs]
    symptoms = [symptom(*mistakes[0]) for mistakes, _ in known.values() if mistakes]
    quiet = sum(QUIET in found and "an error" not in found for found in symptoms)
    counted = (
        f"**{len(known)} threads.** The mistakes of {len(symptoms)} are known to an exercise and were tried on its "
        f"inputs: {quiet} of them never raise an error there, and give other numbers in the right shape. The indented "
        "sentence is what `check` says to a learner who does the same."
    )
    return "\n\n".join(filter(None, [counted, *parts]))
