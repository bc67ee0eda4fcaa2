r"""Cards to keep what one has learnt: a text file that Anki imports (`make cards`, or from the site).

    python -m tools.site.cards [FILE]        default: cards.txt

A card is a question of *Check yourself* with its answer, or a row of a summary's table that holds an equation: the
function's name asks, the equation answers. They are taken from the notebooks. Markdown becomes HTML, and formulas
are between \( and \), which Anki gives to MathJax. Each card has an id from its cell, so that a later file brings
it up to date.
"""

import argparse
import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tools.notebooks import links
from tools.notebooks.files import COURSE, paths, read
from utils.files import write_whole

HEAD = "#separator:tab\n#html:true\n#notetype:Basic\n#deck:Attention, understood\n#guid column:1\n#tags column:4\n"
QUESTION = re.compile(r"<details><summary>(?:\d+\. )?(.+?)</summary>\s*(.+?)\s*</details>", re.DOTALL)
PLACE = re.compile(r"section \d")  # replaces a name where an equation has none


class Card(NamedTuple):
    """What Anki imports of a note: an id for life, both sides as HTML, tags."""

    id: str
    front: str
    back: str
    tags: str


def converter():
    r"""Markdown to HTML, formulas between \( and \), or \[ and \] where they are displayed."""
    made = MarkdownIt("commonmark").use(dollarmath_plugin)
    made.add_render_rule("math_inline", lambda _, tokens, number, *rest: rf"\({escapeHtml(tokens[number].content)}\)")
    for kind in ("math_inline_double", "math_block"):
        made.add_render_rule(kind, lambda _, tokens, number, *rest: rf"\[{escapeHtml(tokens[number].content)}\]")
    return made


def with_addresses(source, site):
    """Markdown of a notebook whose links to notebooks and to README lead to the site."""
    source = re.sub(r"\]\((\d\d_\w+)\.ipynb(?:#[^)]*)?\)", rf"]({site}\1.html)", source)
    return source.replace("](../README.md)", f"]({site}readme.html)")


def questions(source):
    """(question as HTML, answer as Markdown) of a cell *Check yourself*."""
    return QUESTION.findall(source) if re.match(r"#+ .*Check yourself", source) else []


def equations(source):
    """(name, equation), both as Markdown, of the rows of a summary's table that hold an equation with a name."""
    rows = re.findall(r"^\| (.*\$.*) \|$", source, re.MULTILINE) if re.match(r"#+ .*Summary", source) else []
    for row in rows:
        equation, *names = (part.strip() for part in re.split(r"(?<!\\)\|", row))
        names = [name for name in names if name and not PLACE.fullmatch(name)]
        if "$" in equation and names:
            yield names[0], equation


def cards():
    """The cards of all notebooks, in the order of the course."""
    html, site = converter().render, links.site_address(links.repository(COURSE))
    for path in paths():
        notebook = read(path)
        title = re.search(r"^# (.+)$", notebook.cells[0].source, re.MULTILINE)[1]
        place = f'<p><small><a href="{site}{path.stem}.html">{escapeHtml(title)}</a></small></p>'
        for cell in notebook.cells:
            if cell.cell_type != "markdown":
                continue
            sides = [(f"<p>{front}</p>", html(with_addresses(back, site))) for front, back in questions(cell.source)]
            sides += [(html(f"{name}: in symbols?"), html(back)) for name, back in equations(cell.source)]
            for number, (front, back) in enumerate(sides, 1):
                yield Card(f"attention-{cell.id}-{number}", place + front, back, f"attention::{path.stem}")


def text():
    """The file that Anki imports."""
    lines = io.StringIO()
    table = csv.writer(lines, delimiter="\t", lineterminator="\n")
    table.writerows([" ".join(side.split()) for side in card] for card in cards())
    return HEAD + lines.getvalue()


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("file", nargs="?", type=Path, default=COURSE / "cards.txt")
    file = ask.parse_args(arguments).file
    write_whole(file, text())
    print(f"{file}: {sum(1 for _ in cards())} cards. In Anki: File > Import.")


if __name__ == "__main__":
    main()
