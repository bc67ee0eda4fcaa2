"""AGENTS.md, which tells an assistant how to tutor: it is short, what it names is there, and it gives nothing away."""

import re
from pathlib import Path

from test_exercises import written

from tools.notebooks import files
from utils.exercises import catalogue
from utils.exercises.records import OPENED

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "AGENTS.md").read_text(encoding="utf-8")


def test_it_is_read_in_a_minute_and_found_by_every_tool():
    assert len(TEXT.split()) < 800
    for other in ("CLAUDE.md", ".github/copilot-instructions.md"):
        assert (ROOT / other).read_text(encoding="utf-8").count("\n") == 1
        assert "AGENTS.md" in (ROOT / other).read_text(encoding="utf-8")


def test_what_it_names_is_there():
    for target in re.findall(r"\]\(([^)]+)\)", TEXT) + re.findall(r"`([\w./]+/|[\w./]+\.(?:py|ipynb))`", TEXT):
        assert (ROOT / target).exists(), target
    assert "`solution(f)`" in TEXT and f'"{OPENED}"' in TEXT and "*solution opened*" in TEXT
    section, path = re.search(r"\(section (\d) of \[notebook \d\d\]\(notebooks/(\w+\.ipynb)\)\)", TEXT).groups()
    cells = files.read(ROOT / "notebooks" / path).cells
    assert any(re.match(rf"## {section} · .*True or False", cell.source) for cell in cells)


def test_the_sentence_of_its_dialogue_is_what_check_says():
    code, said = re.search(r"`(return torch\.ones[^`]+)`\. It says: \*(.+?)\*", TEXT).groups()
    assert catalogue()["causal_mask"].verdict(written(code, "causal_mask", "n")).message.startswith(said.rstrip("."))


def test_it_holds_no_answer():
    assert not any(word in TEXT for word in ("tril", "dtype=", "arange"))
