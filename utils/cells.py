"""What a cell of a notebook says of itself: its tags, and the exercise that it holds.

A cell is a dictionary, as JSON has it or as nbformat reads it. `make update` brings its own reader
(tools/setup/carry_over.py), since it has to run where utils/ is half old, half new; a test holds the two equal.
"""

from collections.abc import Mapping

EXERCISE = "exercise:"  # begins the tag of a cell that holds an exercise, its name follows
VOLATILE = "nbval-ignore-output"  # the tag of a cell whose output differs from run to run


def tags(cell: Mapping) -> list[str]:
    return cell.get("metadata", {}).get("tags", [])


def has(cell: Mapping, tag: str) -> bool:
    return tag in tags(cell)


def after(cell: Mapping, prefix: str) -> str | None:
    """What follows `prefix` in the first tag that begins with it; None without one."""
    return next((tag.removeprefix(prefix) for tag in tags(cell) if tag.startswith(prefix)), None)


def is_volatile(cell: Mapping) -> bool:
    """Does the output of the cell differ from run to run?"""
    return has(cell, VOLATILE)


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
