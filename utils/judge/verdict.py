"""What the judge says: a `Verdict` on an answer, and of a wrong one the `Finding` that speaks.

A finding has a key and fields. The words are in `sentences/en.txt`, and of a known mistake in its row; they are put
together here and nowhere else, so no code can look into them.
"""

import functools
import hashlib
import json
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MARKS = {"todo": "○", "right": "✔", "wrong": "✘"}
SENTENCES = Path(__file__).parent / "sentences" / "en.txt"
NEW_LINE = " ¶ "  # between the lines of a sentence that has several
IN_A_ROW = "in a row"  # the key of several findings, one behind the other


@dataclass(frozen=True)
class Finding:
    """What is said: the key of a sentence, and what is in its fields, other findings among them.

    `words` are those of a known mistake, whose key is its name; `names` are the known mistakes that an answer fell
    into; `change` is the change that makes it right, where one was found, for the last hint; `by` is who speaks.
    """

    key: str
    fields: dict[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    change: "Finding | None" = None
    by: str = ""
    words: str = ""

    @property
    def message(self) -> str:
        """The sentence in words."""
        if self.words:
            return self.words
        if self.key == IN_A_ROW:
            return " ".join(part.message for part in self.fields.values())
        return WORDING.vformat(sentences()[self.key], (), self.fields)

    @property
    def keys(self) -> Iterator[str]:
        """The keys of all sentences in it, from the outermost on."""
        if self.key != IN_A_ROW:
            yield self.key
        for part in self.fields.values():
            if isinstance(part, Finding):
                yield from part.keys

    @property
    def digits(self) -> str:
        """What is said, whatever its words: twelve digits of its keys and fields."""
        return digits(json.dumps(self._told(), ensure_ascii=False))

    def _told(self) -> list:
        parts = self.fields.items()
        return [self.key, {name: part._told() if isinstance(part, Finding) else str(part) for name, part in parts}]


def in_a_row(*findings: Finding | None, **how: Any) -> Finding:
    """Findings one behind the other, without those that are None; `how` are fields of the whole."""
    said = [one for one in findings if one is not None]
    return Finding(IN_A_ROW, {str(place): one for place, one in enumerate(said)}, **how)


def grounds(said: Finding) -> Iterator[tuple[str, str]]:
    """What is in the fields of a finding, and of those in it."""
    for name, value in said.fields.items():
        if isinstance(value, Finding):
            yield from grounds(value)
        elif value != "":
            yield name, str(value)


def digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class _Wording(string.Formatter):
    """Fields by name; `{found:capital}` begins with a capital letter, `{found:lower}` with a small one."""

    def format_field(self, value: Any, spec: str) -> str:
        text = value.message if isinstance(value, Finding) else str(value)
        first = {"capital": str.upper, "lower": str.lower}.get(spec, str)(text[:1])
        return first + text[1:]


WORDING = _Wording()


@functools.cache
def sentences() -> dict[str, str]:
    """{key: sentence}, of a file with headings `[section]`, lines `name: sentence`, and lines that go on, indented."""
    found: dict[str, str] = {}
    section = key = ""
    for number, line in enumerate(SENTENCES.read_text(encoding="utf-8").splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            section = heading[1]
        elif begun := re.fullmatch(r"(\S[^:]*): (.+)", line):
            key = f"{section}.{begun[1]}"
            if key in found:
                raise ValueError(f"{SENTENCES.name}, line {number}: {key} stands there twice")
            found[key] = begun[2]
        elif line.startswith("    ") and key:
            found[key] += " " + line.strip()
        else:
            raise ValueError(
                f"{SENTENCES.name}, line {number}: {line!r} is no heading, no `name: sentence`, not indented"
            )
    return {key: text.replace(NEW_LINE, "\n    ") for key, text in found.items()}


@dataclass(frozen=True)
class Verdict:
    """Status "todo", "right" or "wrong"; what is said; what the function printed and displayed on the first draw.

    `fits` is False where a right answer comes in another precision, or not as a tensor, `exact` where it loses digits
    of what comes in; `share` is that of the usual inputs on which the answer is right.
    """

    status: str
    said: Finding
    printed: str = ""
    shown: tuple = ()
    fits: bool = True
    exact: bool = True
    share: float = 0.0

    @property
    def message(self) -> str:
        """The diagnosis in words."""
        return self.said.message

    @property
    def names(self) -> tuple[str, ...]:
        """The known mistakes that the answer fell into."""
        return self.said.names

    @property
    def change(self) -> str:
        """What would make it right, in words; "" where no change is known."""
        return self.said.change.message if self.said.change else ""

    @property
    def by(self) -> str:
        """Who speaks."""
        return self.said.by

    @property
    def credit(self) -> float:
        """1 for a right answer, one half where at least half of the inputs come out right, or else 0."""
        return 1.0 if self.status == "right" else 0.5 if self.share >= 0.5 else 0.0
