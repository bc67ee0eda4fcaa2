"""What a class misunderstood, read from many learners' files (`python -m utils.exercises class FILE ...`)."""

import json
import textwrap
from collections import Counter
from pathlib import Path
from statistics import median

from . import records
from .engine import catalogue
from .progress import notebook_of

SHOWN = 15  # of the commonest mistakes
WIDTH = 100


def learners(file: Path) -> list[dict[str, dict]]:
    """[{exercise: entry}] of a progress file, one learner, or of the JSON of `grade`, one for each notebook.

    Raises OSError, and ValueError for a file that is neither.
    """
    try:
        graded = json.loads(file.read_text(encoding="utf-8-sig"))["notebooks"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return [records.read(file)]
    try:
        return [{name: _entry(judged) for name, judged in one["exercises"].items() if _tried(judged)} for one in graded]
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"{file.name} is damaged: it is not what `grade --json` writes") from None


def _tried(judged: dict) -> bool:
    return judged["status"] in ("right", "wrong")


def _entry(judged: dict) -> dict:
    return {"status": judged["status"], "tries": None, "mistakes": Counter(judged["mistakes"])}


def report(files: list[Path]) -> None:
    """Print how many tried each exercise and came right, and the commonest mistakes; name the files that are skipped."""
    everyone, read = [], 0
    for file in files:
        try:
            everyone += learners(file)
            read += 1
        except OSError as problem:
            print(f"skipped: {file.name} cannot be read: {problem.strerror}")
        except ValueError as problem:
            print(f"skipped: {problem}")
    print(f"{read} of {len(files)} files read.")
    known = catalogue()
    tried = {name for one in everyone for name in one}
    print(f"\n{'':32} tried  right  median tries")
    notebook = None
    for name in [name for name in known if name in tried] + sorted(tried - set(known)):
        if notebook != (notebook := notebook_of(known[name]) if name in known else "not in this version of the course"):
            print(notebook)
        entries = [one[name] for one in everyone if name in one]
        right = sum(entry["status"] == "right" for entry in entries)
        tries = [entry["tries"] for entry in entries if entry["tries"] is not None]
        print(f"  {name:<30} {len(entries):5} {right:6} {f'{median(tries):g}' if tries else '–':>13}")
    fallen = Counter((name, mistake) for one in everyone for name in one for mistake in one[name]["mistakes"])
    print("\nThe commonest mistakes, and how many made them" if fallen else "\nNo known mistakes.")
    for (name, mistake), count in fallen.most_common(SHOWN):
        text = f"{count:5}  {name}: {sentence(name, mistake)}"
        print(textwrap.fill(text, WIDTH, subsequent_indent=" " * 7))


def sentence(exercise: str, mistake: str) -> str:
    """What `check` says of a known mistake; its name, where this version of the course does not know it."""
    known = catalogue()[exercise].mistakes if exercise in catalogue() else []
    return next((row.message for row in known if row.name == mistake), mistake)
