"""The course's own text, for the notebook on a published encoder, which searches in it.

    python -m tools.notebooks.course_text         writes data/course_text.jsonl, and checksums

It holds the sections of the notebooks before that one, with the topic of the notebook, their title and what is said in
them, and the questions of *Check yourself* with their answers. The file is kept, and not made anew with every
change of a notebook, so that a sentence elsewhere changes no result there; a test asks whether the titles still hold.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from tools.notebooks.files import COURSE, paths, read, write_sums
from utils.data_files import SUMS
from utils.files import write_whole
from utils.published import TEXT

SECTION = re.compile(r"## \d+ · (.+)\n")
QUESTION = re.compile(r"<summary>\d+\. (.*?)</summary>\s*(.*?)</details>", re.DOTALL)
MARKUP = re.compile(r"<[^>]+>|(?<=\])\([^)]*\)|\$\$?|[#*`_\[\]|\\{}]")
SEARCHER = "published_encoder"
MOST = 1200  # characters of a section: what the encoder reads of it


def plain(text: str) -> str:
    """Markdown without its markup, in one line."""
    return " ".join(MARKUP.sub(" ", text).split())


def text_of(path: Path) -> Iterator[list[str]]:
    """["section", topic, title, text] of each section of a notebook, ["question", topic, question, answer] of each
    question; the text of a section in as many cells as it has."""
    topic, section = path.stem[3:], None
    for cell in read(path).cells:
        if cell.cell_type != "markdown":
            continue
        if cell.source.startswith("## "):
            heading = SECTION.match(cell.source)
            section = ["section", topic, plain(heading[1]), ""] if heading else None
            yield from [section] if heading else []
            yield from (
                ["question", topic, plain(question), plain(said)] for question, said in QUESTION.findall(cell.source)
            )
        if section:
            section[3] = f"{section[3]} {plain(SECTION.sub('', cell.source))}".strip()[:MOST]


def course_text() -> list[list[str]]:
    before = takewhile(lambda path: path.stem[3:] != SEARCHER, paths())
    return [one for path in before for one in list(text_of(path))]


def write_rows(files: list[Path]) -> None:
    """Bring the sizes and checksums of these files in line in the table of data/README.md."""
    readme = TEXT.with_name("README.md")
    table = readme.read_text(encoding="utf-8")
    for file in files:
        content = file.read_bytes()
        told = f"{len(content):,} | `{hashlib.sha256(content).hexdigest()}`"
        table = re.sub(
            rf"^(\| `{re.escape(file.name)}` \|.*\| )[\d,]+ \| `[0-9a-f]+`", rf"\g<1>{told}", table, flags=re.M
        )
    write_whole(readme, table)


def main() -> None:
    argparse.ArgumentParser(description="Keep the course's own text.").parse_args()
    found = course_text()
    changed = write_whole(TEXT, "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in found))
    listed = [TEXT, *TEXT.parent.glob("[a-z]*.txt")]
    write_sums(TEXT.parent, listed)
    write_rows([*listed, TEXT.with_name(SUMS)])
    sections = sum(kind == "section" for kind, *_ in found)
    said = "written" if changed else "no change"
    print(f"{TEXT.relative_to(COURSE)}: {sections} sections, {len(found) - sections} questions, {said}")


if __name__ == "__main__":
    main()
