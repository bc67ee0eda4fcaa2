"""AGENTS.md, which tells an assistant how to tutor: it is short, what it names is there, and it gives nothing away."""

import re
from pathlib import Path

from learner import written
from topics import notebook

from tools.notebooks import files
from utils.exercises import catalogue
from utils.records import OPENED

ROOT = Path(__file__).parents[2]
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
    section = re.search(r"\(section (\d) of the notebook on masking\)", TEXT)[1]
    cells = files.read(notebook("masking")).cells
    at = next(number for number, cell in enumerate(cells) if cell.source.startswith(f"## {section} · "))
    until = next(number for number, cell in enumerate(cells[at + 1 :], at + 1) if cell.source.startswith("## "))
    assert any("True = may attend" in cell.source for cell in cells[at:until])


def test_the_sentence_of_its_dialogue_is_what_check_says():
    code, said = re.search(r"`(return torch\.ones[^`]+)`\. It says: \*(.+?)\*", TEXT).groups()
    assert catalogue()["causal_mask"].verdict(written(code, "causal_mask", "n")).message.startswith(said.rstrip("."))


def test_it_holds_no_answer():
    assert not any(word in TEXT for word in ("tril", "dtype=", "arange"))
