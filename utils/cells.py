"""What a cell of a notebook says of itself: its tags, the exercise that it holds, what of the syllabus it teaches.

A cell is a dictionary, as JSON has it or as nbformat reads it. `make update` brings its own reader
(tools/setup/carry_over.py), since it has to run where utils/ is half old, half new; a test holds the two equal.
"""

from collections.abc import Mapping

EXERCISE = "exercise:"  # begins the tag of a cell that holds an exercise, its name follows
VOLATILE = "nbval-ignore-output"  # the tag of a cell whose output differs from run to run
CLAIMS = "claims"  # the tag of the cell at the end of a section that asserts what the section says
LIBRARY = "library"  # the tag of code that a notebook needs and that is not its subject
FOLDED = {"setup", CLAIMS, LIBRARY}  # the tags of the cells that are folded; no other cell is


def tags(cell: Mapping) -> list[str]:
    return cell.get("metadata", {}).get("tags", [])


def has(cell: Mapping, tag: str) -> bool:
    return tag in tags(cell)


def after(cell: Mapping, prefix: str) -> str | None:
    """What follows `prefix` in the first tag that begins with it; None without one."""
    return next((tag.removeprefix(prefix) for tag in tags(cell) if tag.startswith(prefix)), None)


def syllabus(cell: Mapping) -> list[str]:
    """The ids of what the cell teaches, such as A3 (docs/texts.md has the words for each); none for most cells."""
    return cell.get("metadata", {}).get("syllabus", [])


def is_volatile(cell: Mapping) -> bool:
    """Does the output of the cell differ from run to run?"""
    return has(cell, VOLATILE)


def is_folded(cell: Mapping) -> bool:
    """Is the code of the cell folded, so that it does not count as a cell to be read?"""
    return not FOLDED.isdisjoint(tags(cell))


def speaks_of(cell: Mapping) -> list[str]:
    """The ids of the cells whose results the assertions of this cell are about: a claims cell names them, every other
    cell asserts something of its own results."""
    return cell["metadata"].get("of", []) if has(cell, CLAIMS) else [cell["id"]]


def exercise(cell: Mapping) -> str | None:
    """The name of the exercise that a cell holds, by its tag; None without one."""
    return after(cell, EXERCISE)


def exercises(notebook: Mapping) -> dict[str, Mapping]:
    """{name: cell} of the exercises of a notebook."""
    return {name: cell for cell in code(notebook) if (name := exercise(cell))}


def code(notebook: Mapping) -> list[Mapping]:
    """The code cells of a notebook."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def source(cell: Mapping) -> str:
    """The text of a cell, which JSON may hold as a list of lines."""
    return "".join(cell["source"])
