"""The ledger of claims: what the notebooks assert, with the numbers they print and their spread over seeds.

Nothing here is written by hand twice. A *claim* is a cell with an assertion; its numbers are what the cell prints, or
what the cells print that a claims cell names, in the stored notebook (seed 0) and with other seeds, as
`python -m tools.notebooks.seeds NOTEBOOK --store` has kept it in measured.json. A number that differs from seed to seed
becomes a range. What somebody else has found about the same thing, and whether it is so here, is in claims.txt by
the id of the cell that prints the numbers, which a cell keeps for life:

    [5c578f33 agrees: Bahdanau et al. (2015)]
    With attention, long sentences are translated as well as short ones.

The cell may also be one of text with a table over seeds, which a tool of the course repeats.
"""

import ast
import functools
import re
from pathlib import Path
from typing import NamedTuple

from tools.notebooks import seeds
from tools.notebooks.files import paths, read
from utils.cells import is_volatile, speaks_of

HERE = Path(__file__).parent
NUMBER = re.compile(r"(?<![\w.,])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
ROW = re.compile(r"^\[(\w+) ([^:\]]+): ([^\]]+)\]\n((?:(?!\[).+\n)+)", re.MULTILINE)
TABLE = re.compile(r"(?:^\|.*\n?)+", re.MULTILINE)
VERDICTS = ("agrees", "in part", "differs", "not at this size")
FIGURES = ("Curves of", "Heat map", "Pictures of", "Tables of")  # how descriptions of figures begin
SILENT = "Small pictures"  # so begin those whose numbers tell nothing
# A question that is still open in the stored notebook, and a task: they tell what nobody has answered yet.
OPEN = re.compile(r"Drag the (?:mark|points)|\b[Gg]uess: |Click your guess|○ ")
LINES, LONGEST = 8, 400  # lines of what a cell prints, and letters of a line; what is longer is a log


class Row(NamedTuple):
    """What somebody else found: the verdict is ours, one of VERDICTS."""

    verdict: str
    source: str
    says: str
    lines: tuple[str, ...] = ()  # which lines tell it, printed or asserted in words; without any, all printed ones do
    unit: str = ""  # what their numbers are, where the lines do not say


class Result(NamedTuple):
    """What a cell said, by seed; with which seeds its claims failed, when it was repeated, and whether it trains."""

    said: dict[int, str]
    failed: list[int] = []
    date: str = ""
    trained: bool = False

    @property
    def measured(self) -> list[str]:
        """The lines with numbers that the cell prints with every seed; those that differ are ranges between « and »."""
        every = merged([text for _, text in sorted(self.said.items())])
        return chosen([line for line in every if re.search(r"\d", line)])

    @property
    def printed(self) -> list[str]:
        """What it prints with seed 0 alone."""
        return chosen(merged([self.said[0]]))


class Claim(NamedTuple):
    """A cell with assertions: where it is, what it asserts, and the results that it speaks of. Or, asserting
    nothing itself, a cell that is beside what others found."""

    notebook: str  # the stem of its file
    section: str  # 4 · Translating through one vector
    cell: str
    asserted: list[str]  # the conditions
    told: list[str]  # what they mean, in words
    results: list[Result]
    rows: list[Row]

    @property
    def trained(self) -> bool:
        return any(result.trained for result in self.results)

    @property
    def failed(self) -> list[int]:
        return sorted({seed for result in self.results for seed in result.failed})

    @property
    def date(self) -> str:
        return max(result.date for result in self.results)

    @property
    def seeds(self) -> str:
        """With which seeds all of its results that trainings decide were repeated; nothing where they were not."""
        every = [set(result.said) for result in self.results if result.trained]
        numbers = sorted(set.intersection(*every)) if every else []
        if len(numbers) < 2:
            return ""
        whole = numbers == list(range(numbers[0], numbers[-1] + 1))
        return f"{numbers[0]} to {numbers[-1]}" if whole else ", ".join(map(str, numbers))

    @property
    def measured(self) -> list[str]:
        return [line for result in self.results for line in result.measured]

    @property
    def printed(self) -> list[str]:
        return [line for result in self.results for line in result.printed]

    def telling(self, row: Row) -> list[str]:
        """What is beside what somebody else found: the lines that the row names, of what is printed and of what is
        asserted in words; or else all that is printed, or asserted where nothing is."""

        def named(lines):
            return [line for line in lines if any(words in line for words in row.lines)]

        if row.lines:
            return (named(self.measured) or named(self.printed)) + named(self.told)
        return self.measured or self.printed or self.told


def words(line):
    """A line with its numbers taken out."""
    return " ".join(NUMBER.sub("#", line).split())


def value(number):
    return float(number.replace(",", ""))


def between(numbers):
    """The smallest and the largest of some numbers as they were printed; the number itself where all are equal."""
    low, high = min(numbers, key=value), max(numbers, key=value)
    return numbers[0] if value(low) == value(high) else f"«{low} to {high}»"


def merged(texts):
    """The lines that all texts have in common, numbers aside: each number from its smallest to its largest."""
    every = [[" ".join(line.split()) for line in text.splitlines() if line.strip()] for text in texts]
    result = []
    for line in dict.fromkeys(every[0]):
        alike = [[other for other in lines if words(other) == words(line)] for lines in every]
        if len({len(found) for found in alike}) != 1:
            continue  # another number of such lines with another seed: they cannot be put side by side
        place = alike[0].index(line) if alike[0].count(line) == 1 else 0
        columns = zip(*(NUMBER.findall(found[place]) for found in alike))
        parts = [*map(between, columns), ""]
        result.append("".join(text + number for text, number in zip(NUMBER.split(line), parts)))
    return result


def chosen(lines):
    """Of the lines that a cell prints those worth a place: not the descriptions of figures, if there are others."""
    lines = [line for line in lines if len(line) <= LONGEST and not line.startswith(SILENT) and not OPEN.search(line)]
    return [line for line in lines if not line.startswith(FIGURES)][:LINES] or lines[:LINES]


def assertions(source):
    """What a cell asserts, as it is written, and what it says of it in words: [(condition, words)]. The condition is
    that of `assert`, or the two sides of `assert_close`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert):
            found.append((node.lineno, ast.get_source_segment(source, node.test), in_words(node.msg)))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "assert_close":
            sides = [ast.get_source_segment(source, side) for side in node.args[:2]]
            message = next((one.value for one in node.keywords if one.arg == "msg"), None)
            found.append((node.lineno, " ≈ ".join(sides), in_words(message)))
    return [(" ".join(condition.split()), told) for _, condition, told in sorted(found)]


def in_words(message):
    """The message of an assertion; what is filled in where it runs is a dot."""
    parts = message.values if isinstance(message, ast.JoinedStr) else [message]
    return "".join("…" if isinstance(part, ast.FormattedValue) else part.value for part in parts if part)


def rows(text):
    """{cell: [Row]} of claims.txt. ValueError for a verdict that is none, or text that is no row."""
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#")) + "\n"
    if left := ROW.sub("", text).strip():
        raise ValueError(f"claims.txt: this is no row: {left.splitlines()[0]!r}")
    found = {}
    for cell, verdict, source, says in ROW.findall(text):
        if verdict not in VERDICTS:
            raise ValueError(f"claims.txt: [{cell}] says {verdict!r}; a verdict is one of {VERDICTS}")
        lines = says.splitlines()
        wanted = tuple(line[1:].strip() for line in lines if line.startswith(">"))
        unit = " ".join(line[1:].strip() for line in lines if line.startswith("="))
        says = " ".join(line for line in lines if line[0] not in ">=")
        found.setdefault(cell, []).append(Row(verdict, source, says, wanted, unit))
    return found


def sections(notebook):
    """(heading of level 2, cell) of every cell; the empty heading above the first."""
    heading = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := re.search(r"^## (.+)$", cell.source, re.MULTILINE)):
            heading = found[1]
        yield heading, cell


def spelled(source):
    """The tables of a text, a line per row: what is in the first column, then each other column's head and entry.
    Of a text without a table its sentences, a line each."""
    lines = [] if TABLE.search(source) else re.split(r"(?<=[.?!)]) (?=[A-Z(])", source.removeprefix("**Look.** "))
    for table in TABLE.findall(source):
        cut = [row.strip().removeprefix("|").removesuffix("|").split("|") for row in table.splitlines()]
        head, _, *rest = ([entry.strip() for entry in row] for row in cut)
        for first, *entries in rest:
            told = " · ".join(f"{name} {entry}" for name, entry in zip(head[1:], entries) if entry)
            lines.append(f"{first}: {told}")
    return "\n".join(lines)


def result(cell, kept, key):
    """What a cell says; of other seeds what is kept of it, unless it has changed since, or what it depends on."""
    other = kept.get(cell.id, {})
    other = other if key is not None and other.get("source") == key else {}
    said = {0: seeds.said(cell)} | {int(seed): text for seed, text in other.get("said", {}).items()}
    return Result(said, other.get("failed", []), other.get("date", ""), is_volatile(cell))


def claims(path, kept, known):
    """The claims of a notebook's file in its order, and what else in it is beside what others found: results that
    a claims cell speaks of, and tables in its text.

    `kept` is measured.json, `known` the rows of claims.txt. ValueError: a claims cell names a cell that is not there.
    """
    notebook = read(path)
    code = {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}
    keys = seeds.keys(notebook)
    for section, cell in sections(notebook):
        others = known.get(cell.id, [])
        if cell.cell_type == "markdown":
            if others:
                yield Claim(path.stem, section, cell.id, [], [], [Result({0: spelled(cell.source)})], others)
            continue
        asserted = assertions(cell.source)
        if asserted or others:
            spoken = speaks_of(cell) if asserted else [cell.id]
            results = [result(code[one], kept, keys.get(one)) for one in spoken]
            told = list(dict.fromkeys(words for _, words in asserted if words))
            yield Claim(path.stem, section, cell.id, [one for one, _ in asserted], told, results, others)


@functools.cache
def course():
    """Every claim of the course, by notebook: {path: [Claim]}."""
    kept, text = seeds.read_measured(), (HERE / "claims.txt").read_text(encoding="utf-8")
    return {path: list(claims(path, kept, rows(text))) for path in paths()}
