"""Judge every answer of this folder, and print how often the mistake is named.

    python -m tests.answers                      judge all, print, and write judged.json, which the site shows
    python -m tests.answers attend softmax       those of some exercises, and write nothing
    python -m tests.answers --unread FILE        write what nobody has read, a line of JSON each, to be read
    python -m tests.answers --list vague         print the answers of that class, with what is said of them
    python -m tests.answers --corrected KEY      keep the readings of a sentence in which a misspelling was corrected

What an answer is told is *read* once: readings.jsonl keeps the class by answer and by what is said, its keys and
fields, beside a hash of the words that were read. Other words count as unread, so a sentence that changes has to be
read again; where nothing but a misspelling was corrected, `--corrected` says so. KEY is that of the sentence in
en.txt, such as shapes.left_over, or the name of a known mistake.
"""

import argparse
import importlib.util
import json
import math
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from utils.exercises import catalogue
from utils.judge.verdict import Finding, digits

HERE = Path(__file__).parent
JUDGED, READINGS = HERE / "judged.json", HERE / "readings.jsonl"
COMMAND = "make answers"
NAMES = {
    "named": "named: true, and specific",
    "vague": "vague",
    "misleading": "misleading",
    "unread": "unread",
    "false right": "a wrong answer that passes",
}
CLASSES = tuple(NAMES)
SPEAKERS = {
    "one_change_away": "an edit",
    "something_missing": "an edit",
    "two_changes_away": "an edit",
    "wrong_step": "the last right step",
    "last_right_step": "the last right step",
}
SPEAKING = ("the catalogue", *dict.fromkeys(SPEAKERS.values()))  # whoever is not in SPEAKERS


class Answer(NamedTuple):
    """An answer of the collection: kind "R" (right), "W" (wrong) or "?" (arguable), and a module that defines it."""

    id: str
    exercise: str
    kind: str
    source: str


class Judged(NamedTuple):
    """What the judge makes of an answer: the class of what is said, who speaks, what is said, processor seconds."""

    answer: Answer
    kind: str
    speaker: str
    said: Finding
    seconds: float

    @property
    def key(self) -> tuple[str, str, str]:
        """By which its readings are kept: answer, what is said, a hash of the words."""
        return self.answer.id, self.said.digits, digits(self.said.message)


def answers() -> Iterator[Answer]:
    """All answers, topic by topic. What the sources begin with stands in heads.json once."""
    heads = json.loads((HERE / "heads.json").read_text(encoding="utf-8"))
    for file in sorted(HERE.glob("*.jsonl")):
        if file == READINGS:
            continue
        for line in file.read_text(encoding="utf-8").splitlines():
            kept = json.loads(line)
            source = heads.get(kept.get("head"), "") + kept["code"]
            yield Answer(kept["id"], kept["id"].rpartition("-")[0], kept["kind"], source)


def readings() -> dict[tuple[str, str, str], list[str]]:
    """{(answer, what is said, hash of the words): the classes that its readers gave it}."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for line in READINGS.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        found.setdefault((one["answer"], one["said"], one["words"]), []).append(one["class"])
    return found


def corrected(key: str, judged: Iterable[Judged]) -> int:
    """Give readings of what is said with this key the words of today; returns how many were other ones."""
    now = {one.key[:2]: one.key[2] for one in judged if key in one.said.keys}
    lines = [json.loads(line) for line in READINGS.read_text(encoding="utf-8").splitlines()]
    others = [one for one in lines if now.get((one["answer"], one["said"]), one["words"]) != one["words"]]
    for one in others:
        one["words"] = now[one["answer"], one["said"]]
    READINGS.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines), encoding="utf-8")
    return len(others)


def judge(some: Iterable[Answer]) -> Iterator[Judged]:
    """The verdict on each answer, read where somebody has read it. One that cannot be imported is left out."""
    known, read = catalogue(), readings()
    with tempfile.TemporaryDirectory() as folder:
        for answer in some:
            try:
                function = _imported(answer, Path(folder))
            except Exception:  # the notebook's cell would have said so
                continue
            began = time.process_time()
            verdict = known[answer.exercise].verdict(function)
            seconds = time.process_time() - began
            found = Judged(answer, "unread", SPEAKERS.get(verdict.by, SPEAKING[0]), verdict.said, seconds)
            kind = read.get(found.key, ["unread"])[0]
            if verdict.status == "right":
                kind = "false right" if answer.kind == "W" else "right"
            elif answer.kind == "R":
                kind = "false wrong"
            yield found._replace(kind=kind)


def _imported(answer: Answer, folder: Path):
    name = "answer_" + answer.id.replace("-", "_")
    file = folder / f"{name}.py"
    file.write_text(answer.source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, answer.exercise)


def row(name: str, part: int, whole: int) -> dict:
    """A share with Wilson's 95 % interval."""
    z, share = 1.96, part / max(1, whole)
    middle = (share + z * z / (2 * max(1, whole))) / (1 + z * z / max(1, whole))
    half = (
        z / (1 + z * z / max(1, whole)) * math.sqrt(share * (1 - share) / max(1, whole) + (z / 2 / max(1, whole)) ** 2)
    )
    ends = {"low": round(max(0.0, middle - half), 4), "high": round(min(1.0, middle + half), 4)}
    return {"name": name, "part": part, "whole": whole, "share": round(share, 4)} | ends


def counted(judged: list[Judged]) -> dict:
    """What is written to judged.json: shares of the wrong answers by class and speaker, of the right ones; times."""
    wrong = [one for one in judged if one.answer.kind == "W"]
    right = [one for one in judged if one.answer.kind == "R"]
    seconds = [one.seconds for one in judged]
    named = [one for one in wrong if one.kind == "named"]
    rows = [row(NAMES[kind], sum(one.kind == kind for one in wrong), len(wrong)) for kind in CLASSES]
    rows[1:1] = [
        row(f"named by {speaker}", sum(one.speaker == speaker for one in named), len(wrong)) for speaker in SPEAKING
    ]
    read = [one for one in wrong if one.kind in ("named", "vague", "misleading")]
    rows.insert(1, row("named, of those that somebody has read", len(named), len(read)))
    rows.append(row("a right answer that does not pass", sum(one.kind == "false wrong" for one in right), len(right)))
    times = {"median": round(statistics.median(seconds), 3), "largest": round(max(seconds), 1)}
    return {"command": COMMAND, "rows": rows, "seconds": times}


def agreement() -> dict:
    """How often the first two readers of the same message agree: first those who had no part in the judge."""
    twice = [classes for classes in readings().values() if len(classes) > 1]
    return row("two readers gave the same class", sum(one[0] == one[1] for one in twice), len(twice))


def said(one: dict) -> str:
    """A row as text."""
    shares = f"{one['share']:.1%} ({one['low']:.1%} to {one['high']:.1%})"
    return f"{one['name']}: {one['part']} of {one['whole']}, {shares}"


def show(title: str, judged: list[Judged]) -> None:
    """Print a collection's numbers, and of whom the unread messages are."""
    counts = counted(judged)
    print(title)
    for one in counts["rows"]:
        print(f"  {said(one)}")
    kinds = Counter((one.speaker, one.kind) for one in judged if one.answer.kind == "W")
    for speaker in SPEAKING:
        print(f"  {speaker}: " + ", ".join(f"{kinds[speaker, kind]} {kind}" for kind in CLASSES))
    print(f"  a verdict: {counts['seconds']['median']} s (median), {counts['seconds']['largest']} s at most")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.answers", description=__doc__.partition("\n")[0])
    parser.add_argument("exercises", nargs="*", help="judge the answers to these alone")
    parser.add_argument("--corrected", default="", metavar="KEY", help="keep the readings of a corrected sentence")
    parser.add_argument("--unread", type=Path, metavar="FILE", help="write what nobody has read")
    parser.add_argument(
        "--list", default="", choices=["", *CLASSES, "false wrong"], help="print the answers of a class"
    )
    told = parser.parse_args()
    judged = list(judge(one for one in answers() if not told.exercises or one.exercise in told.exercises))
    if told.corrected:
        print(f"{corrected(told.corrected, judged)} readings go on with the corrected words")
        return
    show("Answers", judged)
    print(said(agreement()))
    for one in judged if told.list else []:
        if one.kind == told.list:
            print(f"\n{one.answer.id}\n{one.answer.source[one.answer.source.index('def ') :]}→ {one.said.message}")
    if told.unread:
        lines = [
            dict(zip(("answer", "said", "words"), one.key), source=one.answer.source, message=one.said.message)
            for one in judged
            if one.kind == "unread"
        ]
        told.unread.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    if not told.exercises:
        JUDGED.write_text(json.dumps(counted(judged), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
