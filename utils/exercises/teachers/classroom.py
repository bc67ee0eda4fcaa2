"""What a class misunderstood, read from many learners' files (`python -m utils.exercises class FILE ...`)."""

import functools
import json
import textwrap
from collections import Counter
from pathlib import Path
from statistics import median

from ... import records
from ...judge.exercise import catalogue
from ..learner.progress import notebook_of
from .grading import content_of

SHOWN, WIDTH = 15, 100  # of the commonest mistakes; characters in a line
BELIEVED = 100  # mistakes in one exercise; who has more made them up


def learners(file: Path) -> list[dict[str, dict]]:
    """[{exercise: entry}] of a progress file, one learner, or of the JSON of `grade`, one for each notebook.

    Raises ValueError for a file that is neither.
    """
    content = content_of(file)
    try:
        graded = json.loads(content)["notebooks"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return [records.read(file)]
    try:
        pairs = [[(name, judged) for name, judged in one["exercises"].items()] for one in graded]
        return [{name: _entry(judged) for name, judged in one if records.A_NAME.fullmatch(name)} for one in pairs]
    except (KeyError, TypeError, AttributeError):
        raise ValueError("is damaged: it is not what `grade --json` writes") from None


def _entry(judged: dict) -> dict:
    """A verdict in the form of an entry, without a number of tries."""
    return {"status": judged["status"], "mistakes": [*filter(records.A_NAME.fullmatch, judged["mistakes"])]}


def report(files: list[Path]) -> None:
    """Print how many tried each exercise and came right, and the commonest mistakes; files that are skipped first."""
    tried, everyone, skipped = {}, [], []
    for file in files:
        try:
            everyone += learners(file)
        except ValueError as problem:
            skipped.append(f"{file} {problem}")
    print(
        "".join(f"skipped: {why}\n" for why in skipped) + f"{len(files) - len(skipped)} of {len(files)} files read.\n"
    )
    for name, entry in ((name, entry) for one in everyone for name, entry in one.items()):
        if entry["status"] in records.TRIED:
            tried.setdefault(name, []).append(entry)
    known, notebook = catalogue(), None
    print(f"{'':32} tried  right  median tries")
    others = sorted(tried.keys() - known, key=lambda name: (-len(tried[name]), name))
    for name in [name for name in known if name in tried] + others[:SHOWN]:
        if notebook != (notebook := notebook_of(known[name]) if name in known else "not in this version of the course"):
            print(notebook)
        right = sum(entry["status"] == "right" for entry in tried[name])
        tries = [entry["tries"] for entry in tried[name] if "tries" in entry]
        print(f"  {name:<30} {len(tried[name]):5} {right:6} {f'{median(tries):g}' if tries else '–':>13}")
    if others[SHOWN:]:
        print(f"  and {len(others) - SHOWN:,} more")
    entries = [(name, entry["mistakes"]) for name in known if name in tried for entry in tried[name]]
    fallen = Counter((name, one) for name, mistakes in entries if len(mistakes) <= BELIEVED for one in {*mistakes})
    print("\nThe commonest mistakes, and how many made them" if fallen else "\nNo known mistakes.")
    ranked = sorted(fallen.items(), key=lambda pair: (-pair[1], pair[0][1] not in _sentences(pair[0][0])))
    for (name, mistake), count in ranked[:SHOWN]:
        sentence = _sentences(name).get(mistake, mistake)  # its name, where this version does not know it
        print(textwrap.fill(f"{count:5}  {name}: {sentence}", WIDTH, subsequent_indent=" " * 7))


@functools.cache
def _sentences(exercise: str) -> dict[str, str]:
    """{known mistake of an exercise: what `check` says of it}."""
    found = catalogue().get(exercise)
    known = [*found.known.rows, *found.known.variants] if found else []
    return {records.short(one.names[0]): one.parts[0].message for one in reversed(known)}
