"""`progress()`: every exercise of the course and how far the learner is."""

from pathlib import Path

from .engine import Exercise, catalogue
from .records import FILE, entries
from .verdict import MARKS


def notebook_of(found: Exercise) -> str:
    """The notebook of an exercise, "04_masking": its module has that name, or one that begins with it."""
    own = found.reference.__module__.rpartition(".")[2]
    stems = sorted(path.stem for path in Path(__file__).parent.glob("n[0-9][0-9]_*.py"))
    return next((stem for stem in stems if own.startswith(stem)), own).removeprefix("n")


def progress() -> None:
    """Print every exercise, notebook by notebook: ○ not tried, ✘ not right yet, ✔ right; level, minutes, tries."""
    try:
        kept, remark = entries(), ""
    except ValueError as problem:
        kept, remark = {}, f"\nWhat you did before cannot be shown: {FILE} {problem}."
    exercises, notebook = catalogue(), None
    for name, found in exercises.items():
        if notebook != (notebook := notebook_of(found)):
            print(notebook)
        print("  " + _line(name, found, kept.get(name)).rstrip())
    right = sum(kept.get(name, {}).get("status") == "right" for name in exercises)
    print(f"{right} of {len(exercises)} exercises came right.{remark}")
    if kept:
        print(f"This is kept in {FILE} in the course's folder, without your code. Deleting it harms nothing.")


def _line(name: str, found: Exercise, entry: dict | None) -> str:
    """✘ softmax                        ●●○   10 min   3 tries"""
    mark = MARKS[entry["status"] if entry else "todo"]
    tries = f"{entry['tries']:3} {'try' if entry['tries'] == 1 else 'tries'}" if entry else ""
    return f"{mark} {name:<28} {found.dots} {found.minutes:4} min {tries}"
