"""What the environment settles: ATTENTION_COURSE, the course's folder; ATTENTION_PROGRESS=off; ATTENTION_MARKED=1."""

import os
from pathlib import Path

if told := os.environ.get("ATTENTION_COURSE", "").strip(" \t\r\n'\""):  # as the setup cell reads it; chdir moves it not
    os.environ["ATTENTION_COURSE"] = os.path.abspath(os.path.expanduser(told))


def root() -> Path:
    """The course's folder."""
    return Path(os.environ.get("ATTENTION_COURSE") or Path(__file__).resolve().parents[1]).expanduser()


def recording() -> bool:
    """Are progress and right answers kept? Not in tests, and not where a tool executes notebooks."""
    return os.environ.get("ATTENTION_PROGRESS") != "off"


def marked(verb: str = "") -> bool:
    """Is this marked work, in which the course gives no answers? If so, and a verb asks for one, say it."""
    closed = os.environ.get("ATTENTION_MARKED", "0") not in ("", "0")
    if closed and verb:
        print(f"{verb} is closed: this is marked work (ATTENTION_MARKED is set). check still answers.")
    return closed
