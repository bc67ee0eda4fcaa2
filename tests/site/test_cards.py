"""The cards for Anki: every question and every equation of the notebooks once, and formulas as Anki wants them."""

import re

import pytest

# Its neighbour markdown_it comes with other packages, too.
pytest.importorskip("mdit_py_plugins", reason="the packages of requirements-site.txt are missing (make setup-site)")

from tools.notebooks import files
from tools.site import cards


def test_every_question_and_every_equation_is_a_card():
    made = list(cards.cards())
    assert len({card.id for card in made}) == len({card.front for card in made}) == len(made)
    for stem, notebook in ((path.stem, files.read(path)) for path in files.paths()):
        here = [card for card in made if card.tags == f"attention::{stem}"]
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        yourself = re.split(r"^#+ .*Check yourself.*$", text, flags=re.MULTILINE)[1]
        asked = re.split(r"^## ", yourself, maxsplit=1, flags=re.MULTILINE)[0].count("<summary>")
        assert len([card for card in here if "in symbols?" not in card.front]) == asked >= 3, stem
        summary = re.split(r"^#+ .*Summary$", text, flags=re.MULTILINE)[1]
        named = re.findall(r"^\|[^|]*\$[^|]*\|.*`.*\|$", summary, re.MULTILINE)
        assert len([card for card in here if "in symbols?" in card.front]) >= len(named), stem


def test_anki_reads_the_cards():
    """Formulas as it wants them, no Markdown left, four columns: its package `anki` imported all of them."""
    text = cards.text()
    head, table = text[: len(cards.HEAD)], text[len(cards.HEAD) :]
    assert head == cards.HEAD and {len(row.split("\t")) for row in table.splitlines()} == {4}
    plain = re.sub(r"\\\(.*?\\\)|<code>.*?</code>|<[^>]+>", "", table)
    assert not re.search(r"\$|`|\*\*|\]\(|\.ipynb", plain)
    render = cards.converter().render
    assert render("so $a < b_1$ *here*") == r"<p>so \(a &lt; b_1\) <em>here</em></p>" + "\n"
    assert render("$$x_1 * y_1$$").strip() == r"\[x_1 * y_1\]"
