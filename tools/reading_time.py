"""How long a notebook takes to read and run, and to solve; and how dense it is. One rule for all of them.

    python tools/reading_time.py            a table of every notebook
    python tools/reading_time.py --write    and the minutes into titles, README and the map of the course

The rule: 100 words a minute, 10 seconds a displayed formula and 2 one in a line, 15 lines of code a minute, 40 seconds
a figure or widget, and the seconds of a training whose cell is tagged `seconds:N`; to this comes the time that the
exercises say they take. Both are rounded to 5 minutes. Left out are the setup cell, blank lines and lines that hold
nothing but a comment, the map of the course, the links and the small print. The answers that are folded are read, too.
`make notebooks` writes the minutes of whatever it executes.
"""

import argparse
import json
import re
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

COURSE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(COURSE))

from utils.exercises import catalogue  # noqa: E402  (the folder above has to be on the path first)

WORDS_A_MINUTE, LINES_A_MINUTE = 100, 15
SECONDS = {"displayed": 10, "inline": 2, "pictures": 40}
STEP = 5  # minutes
TITLE = re.compile(r"\b\d+( minutes to read and run.*?)\b\d+( more for)", re.DOTALL)
ROW = re.compile(r"^(\| \d\d \|.*?\| )\d+ \+ \d+( \|)", re.MULTILINE)
LONG, DENSE, THIN = 25, 8, 7  # lines of a cell at most; its median at most; words for a line of code at least


class Counts(NamedTuple):
    """What stands in a notebook; `cells` are the lines of its code cells, exercises and the setup cell left out."""

    words: int
    displayed: int
    inline: int
    pictures: int
    cells: list[int]
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


def tags(cell):
    return cell["metadata"].get("tags", [])


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
    texts = [text_of(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown" and "map" not in tags(cell)]
    prose = [words(text) for text in texts]
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names = [tag.partition(":")[2] for cell in code for tag in tags(cell) if tag.startswith("exercise:")]
    read = [cell for cell in code[1:] if not any(tag.startswith("exercise:") for tag in tags(cell))]
    shown = [output.get("data", {}) for cell in code for output in cell.get("outputs", [])]
    return Counts(
        *map(sum, zip(*prose)),
        pictures=sum("image/png" in data or "image/svg+xml" in data for data in shown),
        cells=[code_lines(text_of(cell)) for cell in read],
        training=sum(int(tag.partition(":")[2]) for cell in code for tag in tags(cell) if tag.startswith("seconds:")),
        exercises=sum(catalogue()[name].minutes for name in names),
    )


def text_of(cell):
    return "".join(cell["source"])


def with_minutes(notebook):
    """The notebook, changed in place, with its minutes in its first cell."""
    read, solve = count(notebook).minutes
    first = notebook["cells"][0]
    first["source"] = TITLE.sub(rf"{read}\g<1>{solve}\g<2>", text_of(first), count=1)
    return notebook


def told(notebook):
    """The minutes that a notebook's first cell names; None where it names none."""
    found = re.search(r"(\d+) minutes to read and run.*?(\d+) more for", text_of(notebook["cells"][0]), re.DOTALL)
    return found and (int(found[1]), int(found[2]))


def paths(course=COURSE):
    return sorted((course / "notebooks").glob("*.ipynb"))


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def write_table(course=COURSE):
    """README's table of notebooks with the minutes that their titles name."""
    readme, minutes = course / "README.md", {path.name: told(load(path)) for path in paths(course)}

    def row(found):
        name = re.search(r"notebooks/(\w+\.ipynb)", found[0])
        read, solve = minutes[name[1]]
        return f"{found[1]}{read} + {solve}{found[2]}"

    text = readme.read_text(encoding="utf-8")
    readme.write_text(ROW.sub(row, text), encoding="utf-8", newline="\n")


def print_table(course=COURSE):
    print("notebook                  words  formulas  pictures  lines  minutes     exact | median  words/line  long")
    for path in paths(course):
        one = count(load(path))
        read, solve = one.minutes
        long = sum(lines > LONG for lines in one.cells)
        formulas = f"{one.displayed} + {one.inline}"
        dense = f"{one.median:6g} {one.words / max(one.lines, 1):11.1f} {long:5}"
        print(
            f"{path.stem:25} {one.words:5} {formulas:>9} {one.pictures:9} {one.lines:6}  {read:3} + {solve:2} "
            f"{one.exact:9.1f} | {dense}{'' if told(load(path)) == one.minutes else '   the title says otherwise'}"
        )


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--write", action="store_true", help="write the minutes where they are read")
    if ask.parse_args(arguments).write:
        import execute_notebooks

        execute_notebooks.write_minutes()
    print_table()


if __name__ == "__main__":
    main()
