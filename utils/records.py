"""What a learner tried, what came right and what was guessed, in one small file, progress.json in the course's folder.

    {"version": 1, "exercises": {"softmax": {"status": "right", "tries": 3, "mistakes": {"no_maximum": 2},
                                             "first": "2026-11-21T14:05Z", "right": "2026-11-21T14:30Z"}},
     "guesses": {"attention_to_padding": {"guess": 0.1, "measured": 0.38, "when": "2026-11-21T14:02Z"}}}

It holds no code and no name of a person, and deleting it harms nothing. A stub is not a try, and once an answer came
right its entry stays as it is; only when the solution was first opened is still added, as "solution". Several kernels
may write at once: each reads the file anew under a lock, adds its own tries, and puts the whole file in place of
the old one. What cannot be written is kept until the next try.

An entry whose exercise asks for something else by now gets a name of its own, softmax_earlier, and the exercise begins
anew. "form" in an entry stands for what was asked; without it, that is what version 0.2.0 asked.
"""

import contextlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock

from . import settings
from .files import write_whole

FORMS: dict[str, tuple[str, str]] = {}  # {exercise: (its form, that in version 0.2.0)}
FILE, VERSION = "progress.json", 1
TRIED, OPENED = ("right", "wrong"), "solution"
PATIENCE = 3.0  # seconds to wait for another kernel
MOST = 1_000_000  # tries; a number above it was made up
A_NAME = re.compile(r"[\w.:+-]{1,80}")  # other people's files are printed, too: no control characters


class Damaged(ValueError):
    """A file that is no progress file, or no longer."""


_unwritten: list[tuple[str, str, tuple[str, ...], str]] = []  # exercise, status or OPENED, known mistakes, when
_guesses: list[tuple[str, dict]] = []  # question, entry


def record(exercise: str, verdict: Any) -> None:
    """Keep what `check` found. Nothing that goes wrong here, a full disk or a read-only folder, disturbs a check."""
    if verdict.status != "todo":
        _keep(exercise, verdict.status, tuple(map(short, verdict.names)))


def opened(exercise: str) -> None:
    """Keep that the solution was shown."""
    _keep(exercise, OPENED, ())


def guessed(name: str, guess: Any, measured: Any) -> None:
    """Keep the first guess of a question beside its result; not in marked work."""
    if settings.marked() or not settings.recording():
        return
    _guesses.append((name, {"guess": guess, "measured": measured, "when": _now()}))
    with contextlib.suppress(Exception):
        _write((settings.root() / FILE).resolve())


def guesses() -> dict[str, dict]:
    """{question: its first guess} of this learner. Raises ValueError where the file cannot be read."""
    file = settings.root() / FILE
    return _with_guesses(_load(file) if file.exists() else {}) if settings.recording() else {}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ")


def _keep(exercise: str, status: str, names: tuple[str, ...]) -> None:
    if not settings.recording():
        return
    _unwritten.append((exercise, status, names, _now()))
    with contextlib.suppress(Exception):
        _write((settings.root() / FILE).resolve())  # where the file is a link, what it links to


def short(name: str) -> str:
    """A known mistake's name, where it is a word; where it is a piece of code, eight digits that stand for it."""
    return name if A_NAME.fullmatch(name) else f"{zlib.crc32(name.encode()):08x}"


def earlier(name: str, is_taken: Callable[[str], bool]) -> str:
    """The name that an earlier form of an exercise gets: softmax_earlier, or softmax_earlier_2 where that is taken."""
    names = (f"{name}_earlier{'' if number == 1 else f'_{number}'}" for number in count(1))
    return next(one for one in names if not is_taken(one))


def entries() -> dict[str, dict]:
    """{exercise: entry} of this learner, with what could not be written. Raises ValueError as `read` does."""
    file = settings.root() / FILE
    return _with(_unwritten, read(file) if file.exists() else {}) if settings.recording() else {}


def read(file: Path) -> dict[str, dict]:
    """{exercise: entry} of a progress file, without what looks like no entry. Raises ValueError, "is damaged"."""
    try:
        return _as_asked({name: entry for name, entry in _load(file)["exercises"].items() if _is_entry(name, entry)})
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None


def _load(file: Path) -> dict[str, Any]:
    try:
        kept = json.loads(file.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        raise Damaged("is damaged: it is not JSON") from None
    if not isinstance(kept, dict) or not isinstance(kept.get("exercises"), dict) or "version" not in kept:
        raise Damaged("is damaged: it is not a progress file of the course")
    if kept["version"] != VERSION:
        raise ValueError("belongs to another version of the course: only that one reads and writes it")
    return kept


def _is_entry(name: str, entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.get("status") not in ("todo", *TRIED):
        return False
    if not isinstance(entry.get("mistakes"), dict):
        return False
    numbers = [entry.get("tries"), *entry["mistakes"].values()]
    return all(type(number) is int and 0 <= number <= MOST for number in numbers) and all(
        map(A_NAME.fullmatch, [name, *entry["mistakes"]])
    )


def _as_asked(kept: dict[str, Any]) -> dict[str, Any]:
    """The entries `kept`; those to an earlier form of an exercise under another name."""
    new: dict[str, Any] = {}
    for name, entry in kept.items():
        now, first = FORMS.get(name, ("", ""))
        is_earlier = now and _is_entry(name, entry) and entry.get("form", first or now) != now
        new[earlier(name, lambda one: one in kept or one in new) if is_earlier else name] = entry
    return new


def _with(tries: list[tuple], kept: dict[str, Any]) -> dict[str, Any]:
    """The entries `kept` and what `tries` add to them."""
    new = _as_asked(kept)
    for exercise, status, names, when in tries:
        now, first = FORMS.get(exercise, ("", ""))
        fresh = {"status": "todo", "tries": 0, "mistakes": {}} | ({"form": now} if now != first else {})
        entry = new[exercise] if _is_entry(exercise, new.get(exercise)) else fresh
        if status == OPENED:
            new[exercise] = {OPENED: when} | entry
            continue
        if entry["status"] == "right":
            continue
        mistakes = dict(Counter(entry["mistakes"]) + Counter(names))
        tried = {"status": status, "tries": entry["tries"] + 1, "mistakes": mistakes}
        new[exercise] = {"first": when} | entry | tried
        if status == "right":
            new[exercise]["right"] = when
    return new


def _with_guesses(kept: dict[str, Any]) -> dict[str, dict]:
    """The guesses that are `kept`, and those that are not written yet; of each question the first."""
    made = kept.get("guesses")
    made = {name: entry for name, entry in made.items() if isinstance(entry, dict)} if isinstance(made, dict) else {}
    return made | {name: entry for name, entry in reversed(_guesses) if name not in made}


def _write(file: Path) -> None:
    """Add what is not written yet to the file. One that is damaged is put aside, one of another version left alone."""
    with FileLock(file.with_name(f"{FILE}.lock"), timeout=PATIENCE):
        kept, tries = {"version": VERSION, "exercises": {}}, _unwritten[:]
        with contextlib.suppress(FileNotFoundError):
            try:
                kept = _load(file)
            except Damaged:  # something in it may still be of use to its owner
                aside = (file.with_name(f"{FILE}.damaged{number}") for number in count(1))
                file.rename(next(path for path in aside if not path.exists()))
        new = kept | {"exercises": _with(tries, kept["exercises"])}
        taken = len(_guesses)
        new |= {"guesses": made} if (made := _with_guesses(kept)) else {}
        if new != kept:
            write_whole(file, json.dumps(new, indent=1) + "\n")
    del _unwritten[: len(tries)], _guesses[:taken]
