"""`progress()`: every exercise of the course and how far the learner is."""

from .engine import Exercise, catalogue
from .records import FILE, entries
from .tasks import TOPIC_OF, TOPICS
from .verdict import MARKS


def notebook_of(found: Exercise) -> str:
    """The stem of the notebook of an exercise: its module's topic, with its place in the course before it."""
    own = found.reference.__module__
    return f"{TOPICS.index(TOPIC_OF[own]):02}_{TOPIC_OF[own]}" if own in TOPIC_OF else own


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
