"""How long a notebook takes to read and run, and to solve; and how dense it is. One rule for all of them.

    python -m tools.notebooks.reading_time                     a table of every notebook
    python -m tools.notebooks.reading_time --since REVISION    words and code, folded code included, now and then

The rule: 100 words a minute, 10 seconds a displayed formula and 2 one in a line, 15 lines of code a minute, 40 seconds
a figure or widget, and the seconds of a training whose cell is tagged `seconds:N`; to this comes the time that the
exercises say they take. Both are rounded to 5 minutes. Left out are folded cells, blank lines and lines that hold
nothing but a comment, the map of the course, the links and the small print. The answers that are folded are read, too.
`make notebooks` and `make text` write the minutes into titles, README, the map and the teachers' plan.
"""

import argparse
import math
import re
import statistics
from typing import NamedTuple

from tools.notebooks import fill, links
from tools.notebooks.files import COURSE, at, paths, read, write
from utils import cells
from utils.cells import source
from utils.exercises import catalogue
from utils.files import write_whole

WORDS_A_MINUTE, LINES_A_MINUTE = 100, 15
SECONDS = {"displayed": 10, "inline": 2, "pictures": 40}
STEP = 5  # minutes
TITLE = re.compile(r"\b\d+( minutes to read and run.*?)\b\d+( more for)", re.DOTALL)
ROW = re.compile(r"^\| \d\d \| \[[^\n]*\]\(\S+?/(\w+)\.html\) \| ([^|\n]*) \|.*$", re.MULTILINE)
TOTAL = re.compile(r"\d+ notebooks, \d+ hours to read and run them, \d+ for their \d+ exercises")
AFTERWARDS = re.compile(r"\bAfterwards you can ([^\n]+?)\.(?:\s|$)")
PLAN = """\
| notebook | read and run + exercises | lessons of 45 | lessons of 90 | term of 15 weeks | weekend |
|---|---|---|---|---|---|
"""
WEEKEND = (  # topics of the notebooks that two days have time for, with their exercises
    "start_here", "single_token_attention", "self_attention", "masking", "transformer_encoder_block", "decoder",
)  # fmt: skip
READING, SOLVING, CELLS = 60, 45, 90  # one sitting: minutes, minutes of exercises, cells at most
LONG, DENSE = 25, 8  # lines of a cell at most; its median at most


class Counts(NamedTuple):
    """What is in a notebook; `cells` are the lines of its code cells, exercises and folded cells left out."""

    words: int
    displayed: int
    inline: int
    pictures: int
    cells: list[int]
    folded: int
    training: int
    exercises: int

    @property
    def lines(self) -> int:
        return sum(self.cells)

    @property
    def exact(self) -> float:
        """Minutes to read and run, not rounded."""
        seconds = sum(seconds * getattr(self, kind) for kind, seconds in SECONDS.items()) + self.training
        return self.words / WORDS_A_MINUTE + self.lines / LINES_A_MINUTE + seconds / 60

    @property
    def minutes(self) -> tuple[int, int]:
        """To read and run, and for the exercises, rounded to 5 and at least 5."""
        return rounded(self.exact), rounded(self.exercises)

    @property
    def median(self) -> float:
        return statistics.median(self.cells)


def rounded(minutes):
    return max(STEP, int(minutes / STEP + 0.5) * STEP)


def words(source):
    """(words, displayed formulas, inline formulas) of a text in Markdown."""
    source = re.sub(r"<small>.*?</small>|```.*?```", " ", source, flags=re.DOTALL)
    source, displayed = re.subn(r"\$\$.+?\$\$", " ", source, flags=re.DOTALL)
    source, inline = re.subn(r"(?<![\\$])\$[^$\n]+\$", " formula ", source)
    source = re.sub(r"`[^`\n]+`", " code ", source)  # a name or an expression is one word
    source = re.sub(r"!?\[([^\]]*)\]\([^)]*\)|<[^>]*>", r" \1 ", source)
    return len(re.findall(r"[^\W_]+(?:[’'.,-][^\W_]+)*", source)), displayed, inline


def code_lines(source):
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in source.splitlines())


def count(notebook):
    """The counts of a notebook, as a dictionary or as nbformat reads it."""
    texts = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown" and not cells.has(cell, "map")]
    prose = [words(source(cell)) for cell in texts]
    code, names = cells.code(notebook), cells.exercises(notebook)
    to_read = [cell for cell in code if not cells.exercise(cell) and not cells.is_folded(cell)]
    folded = [cell for cell in code if cells.is_folded(cell) and not cells.has(cell, "setup")]
    shown = [output.get("data", {}) for cell in code for output in cell.get("outputs", [])]
    return Counts(
        *map(sum, zip(*prose)),
        pictures=sum("image/png" in data or "image/svg+xml" in data for data in shown),
        cells=[code_lines(source(cell)) for cell in to_read],
        folded=sum(code_lines(source(cell)) for cell in folded),
        training=sum(int(cells.after(cell, "seconds:") or 0) for cell in code),
        exercises=sum(catalogue()[name].minutes for name in names if name in catalogue()),
    )


def with_minutes(notebook):
    """The notebook, changed in place, with its minutes in its first cell."""
    reading, solving = count(notebook).minutes
    first = notebook["cells"][0]
    first["source"] = TITLE.sub(rf"{reading}\g<1>{solving}\g<2>", source(first), count=1)
    return notebook


def told(notebook):
    """The minutes that a notebook's first cell names; None where it names none."""
    found = re.search(r"(\d+) minutes to read and run.*?(\d+) more for", source(notebook["cells"][0]), re.DOTALL)
    return found and (int(found[1]), int(found[2]))


def row(path, known, repo):
    """The row of a notebook in README's table; what one can do afterwards is what its first cell says, or is known."""
    first = source(read(path)["cells"][0])
    (number, title), said = re.match(r"# (\d\d) · (.+)", first).groups(), AFTERWARDS.search(first)
    colab, binder = links.launch_links(path.name, repo)
    reading, solving = told(read(path))
    page, file = links.page_address(path.name, repo), f"notebooks/{path.name}"
    cells_of_row = [number, f"[{title}]({page})", said[1] if said else known, f"{reading} + {solving}"]
    return f"| {' | '.join([*cells_of_row, f'[Colab]({colab}) · [Binder]({binder}) · [file]({file})'])} |"


def total(course=COURSE):
    """How many notebooks and exercises there are, and the hours that they take."""
    notebooks = [read(path) for path in paths(course)]
    reading, solving = (round(sum(minutes) / 60) for minutes in zip(*map(told, notebooks)))
    exercises = sum(len(cells.exercises(notebook)) for notebook in notebooks)
    return (
        f"{len(notebooks)} notebooks, {reading} hours to read and run them, {solving} for their {exercises} exercises"
    )


def write_table(course=COURSE):
    """README's table of notebooks: of each a row, also of one that is new, below that of the notebook before it; and
    the sentence with their sums."""
    readme, repo = course / "README.md", links.repository()
    text, below = TOTAL.sub(total(course), readme.read_text(encoding="utf-8")), None
    for path in paths(course):
        found = next((found for found in ROW.finditer(text) if found[1][3:] == path.stem[3:]), None)
        made = row(path, found[2] if found else "", repo)
        text = text.replace(found[0] if found else below, made if found else f"{below}\n{made}")
        below = made
    write_whole(readme, text)


def plan(course=COURSE):
    """The table of docs/teachers.md: lessons and weeks of each notebook, the day of a weekend of some, and of all."""
    first = {path: source(read(path)["cells"][0]).partition("\n")[0].removeprefix("# ") for path in paths(course)}
    minutes = [told(read(path)) for path in first]
    reading, solving = map(sum, zip(*minutes))
    both = {path.stem[3:]: sum(told(read(path))) for path in first}
    weekend, before, rows = sum(both[topic] for topic in WEEKEND if topic in both), 0, []
    for week, (path, title) in enumerate(first.items(), 1):
        topic, day = path.stem[3:], ""
        if topic in WEEKEND:
            day = "Saturday" if before + both[topic] / 2 < weekend / 2 else "Sunday"
            before += both[topic]
        rows.append((f"[{title}](../notebooks/{path.name})", *minutes[week - 1], f"week {week}", day))
    lessons = [
        [math.ceil((read_here + solve_here) / long) for _, read_here, solve_here, *_ in rows] for long in (45, 90)
    ]
    lines = [
        f"| {name} | {r} + {s} | {short} | {long} | {week} | {day} |"
        for (name, r, s, week, day), short, long in zip(rows, *lessons)
    ]
    hours = f"{weekend / 60:.0f} hours in two days"
    lines.append(
        f"| **all** | {reading} + {solving} | {sum(lessons[0])} | {sum(lessons[1])} | {len(rows)} weeks | {hours} |"
    )
    return PLAN + "".join(f"{line}\n" for line in lines)


def write_plan(course=COURSE):
    """The plan in docs/teachers.md, instead of the one that is there."""
    file = course / "docs" / "teachers.md"
    old = re.escape(PLAN) + r"(?:\|.*\n)*"
    write_whole(file, re.sub(old, lambda _: plan(course), file.read_text(encoding="utf-8")))


def write_minutes(course=COURSE):
    """Bring the minutes in line: in the title of each notebook, in README's table, in the map that comes from it, and
    in the plan for teachers."""
    for path in paths(course):
        write(with_minutes(read(path)), path)
    write_table(course)
    write_plan(course)
    for path in paths(course):
        notebook = read(path)
        for cell in notebook.cells:
            if cells.has(cell, "map"):
                cell.source = fill.with_map(cell.source, course)
        write(notebook, path)


def print_table(course=COURSE):
    print("notebook                  words  formulas  pictures  lines folded  minutes     exact | median  long")
    for path in paths(course):
        one = count(read(path))
        reading, solving = one.minutes
        long = sum(lines > LONG for lines in one.cells)
        formulas = f"{one.displayed} + {one.inline}"
        print(
            f"{path.stem:25} {one.words:5} {formulas:>9} {one.pictures:9} {one.lines:6} {one.folded:6}  {reading:3} + "
            f"{solving:2} {one.exact:9.1f} | {one.median:6g} {long:5}"
            f"{'' if told(read(path)) == one.minutes else '   the title says otherwise: `make text`'}"
        )


def print_change(revision, course=COURSE):
    """By how much words and lines of code have changed since a revision; by topic, since numbers may change."""
    before = {stem.partition("_")[2]: count(notebook) for stem, notebook in at(revision).items()}
    for path in paths(course):
        now, then = count(read(path)), before.get(path.stem.partition("_")[2])
        if then:
            code, was = now.lines + now.folded, then.lines + then.folded
            print(
                f"{path.stem:25} words {then.words:5} → {now.words:5} ({now.words / then.words - 1:+4.0%})", end="   "
            )
            print(f"code {was:4} → {code:4} ({code / was - 1:+4.0%})")


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--since", metavar="REVISION", help="compare with the notebooks as git has them there")
    revision = ask.parse_args(arguments).since
    print_change(revision) if revision else print_table()


if __name__ == "__main__":
    main()
