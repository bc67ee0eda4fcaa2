"""The pages of the site that the notebooks do not have: what we measured, real bugs, open questions and others.

    python -m tools.site.pages               brings docs/ and TUTOR.md in line with the notebooks and AGENTS.md
    python -m tools.site.pages FOLDER        writes measured.md, bugs.md, symbols.md and so on there, for the site

They are made of the notebooks, of the exercises with their known mistakes, and of docs/; whatever is in one of
these places is taken from there. On the site a link into a notebook leads to the page beside these, at the cell; in
docs/, which people read on GitHub, to the site. `make notebooks` and `make text` bring docs/ in line.
"""

import argparse
import functools
import html
import json
import re
from pathlib import Path

from tools.notebooks import links, reading_time
from tools.notebooks.files import COURSE, NOTEBOOKS, paths, read
from tools.site import bugs, ledger
from utils import cells
from utils.files import write_whole

HERE = Path(__file__).resolve().parent

DOCS = COURSE / "docs"
# In a file of docs/: what is above it is written by hand, what is below is made.
MARK = "<!-- What follows is made from the notebooks: `make text` writes it anew. -->"
SIGNS = {"agrees": "✔", "in part": "◐", "differs": "✘", "not at this size": "○"}
ORDER = ("differs", "not at this size", "in part", "agrees")
OPEN = re.compile(r"^\*\*Open question\.\*\* (.+)$", re.MULTILINE)  # a paragraph of a summary
TAUGHT = re.compile(r'<a id="(\w+)"></a>.+')  # a line of docs/texts.md, by the id of what it says
SPREAD = re.compile(r"seeds? 0 to \d|by seed|over five trainings")


def title(notebook):
    """05 · RNN with attention, from the first line of a notebook."""
    return re.search(r"^# (.+)$", notebook.cells[0].source, re.MULTILINE)[1]


def link(notebook, cell, text):
    """A link into the page of a notebook, at a cell; for one of text, which has no address, at code of its section."""
    return f'<a href="{notebook}.html#cell-{addresses(notebook)[cell]}">{html.escape(text)}</a>'


def place(notebook, heading):
    """05, section 3: the number of a notebook and that of a section, which some sections do not have."""
    return f"{notebook[:2]}, section {heading.partition(' ')[0]}" if heading[:1].isdigit() else notebook[:2]


@functools.cache
def addresses(notebook):
    """{cell: the code cell that it is, or that is before it in its section, else after it} of a notebook."""
    found, last, waiting = {}, None, []
    for section, cell in ledger.sections(read(NOTEBOOKS / f"{notebook}.ipynb")):
        if cell.cell_type == "code":
            last = section, cell.id
            found |= dict.fromkeys([*waiting, cell.id], cell.id)
            waiting = []
        elif last and last[0] == section:
            found[cell.id] = last[1]
        else:
            waiting.append(cell.id)
    return found | dict.fromkeys(waiting, last[1])


def said(lines):
    """Lines that a cell printed, as HTML: a range over seeds in bold, a minus for a hyphen."""
    text = "<br>".join(html.escape(re.sub(r"(?<![\w)])-(?=\d)", "−", line)) for line in lines)
    return re.sub("«(.*?)»", r"<b>\1</b>", text).replace("|", "&#124;").replace("$", "&#36;")


def code(text):
    """An expression as HTML that Markdown leaves as it is, also in a table."""
    escaped = html.escape(text, quote=False)
    return "<code>" + re.sub(r"[|$*_`\[\]~\\]", lambda found: f"&#{ord(found[0])};", escaped) + "</code>"


def moved(text):
    """Markdown of a notebook or of docs/ whose links to notebooks lead to their pages."""
    text = re.sub(r"\]\((?:\.\./notebooks/|notebooks/)?(\d\d_\w+)\.ipynb(#[^)]*)?\)", r"](\1.md)", text)
    text = re.sub(r"\]\(\.\./docs/(\w+\.md)\)", r"](\1)", text).replace("](../README.md)", "](readme.md)")
    file = f"https://github.com/{links.repository()}/blob/main/"
    return text.replace("](../", f"]({file}")


def by_hand(name):
    """What is written by hand of a page in docs/, as it is there."""
    return (DOCS / f"{name}.md").read_text(encoding="utf-8").partition(MARK)[0].rstrip()


def written(name):
    """What is written by hand of a page in docs/, with links to pages of the site."""
    return moved(by_hand(name))


# What we measured


def measured():
    """The ledger of claims, below what docs/ says of it."""
    course = ledger.course()
    every = [claim for claims in course.values() for claim in claims]
    course = {path: [claim for claim in claims if claim.asserted] for path, claims in course.items()}
    jumps = " · ".join(f'<a href="#n{path.stem[:2]}">{path.stem[:2]}</a>' for path in course)
    parts = [
        counted(every),
        f'**Go to** <a href="#literature">beside the literature</a> · notebook {jumps}',
        beside(every),
    ]
    for path, claims in course.items():
        parts += notebook_claims(read(path), path.stem, claims)
    return "\n\n".join(parts)


UNREAD = ("a wrong answer that passes", "a right answer that does not pass")  # what nobody has to read to be counted


def judge():
    """What `make answers` counts on the set of answers without anybody reading a sentence."""
    kept = json.loads((COURSE / "tests" / "answers" / "judged.json").read_text(encoding="utf-8"))
    lines = [f"`{kept['command']}` runs all answers of the set. What it counts without a reader:", ""]
    lines += ["| of the answers to the exercises | how many |", "|---|---|"]
    lines += [f"| {row['name']} | {row['part']} of {row['whole']:,} |" for row in kept["rows"] if row["name"] in UNREAD]
    times = kept["seconds"]
    lines += ["", f"A verdict takes {times['median']} s (median), and {times['largest']} s at most."]
    return "\n".join(lines)


def counted(claims):
    rows = [row.verdict for claim in claims for row in claim.rows]
    claims = [claim for claim in claims if claim.asserted]
    verdicts = ", ".join(f"{rows.count(verdict)} {SIGNS[verdict]} {verdict}" for verdict in ledger.VERDICTS)
    trained = [claim for claim in claims if claim.trained]
    spread = sum(bool(claim.seeds) for claim in trained)
    return (
        f"**{len(claims)} cells** of the notebooks assert something. {len(claims) - len(trained)} of them say the same "
        f"in every run; {len(trained)} depend on a training or a timing, and {spread} of them were repeated with "
        f"other seeds. {len(rows)} claims are set beside a published finding: {verdicts}."
    )


def beside(claims):
    """The table of what others have found; first of all, where it is otherwise here."""
    lines = [
        '<a id="literature"></a>',
        "",
        "## Beside the literature",
        "",
        "| others found | here | verdict | where |",
        "|---|---|---|---|",
    ]
    pairs = [(one, row) for one in claims for row in one.rows]
    for claim, row in sorted(pairs, key=lambda pair: ORDER.index(pair[1].verdict)):
        unit = f"<i>{html.escape(row.unit)}</i><br>" if row.unit else ""
        here = unit + said(claim.telling(row))
        seeds = f"<br><small>seeds {claim.seeds}</small>" if claim.seeds and "<b>" in here else ""
        verdict = f"{SIGNS[row.verdict]}&nbsp;{row.verdict}"
        where = link(claim.notebook, claim.cell, place(claim.notebook, claim.section))
        lines.append(f"| {row.says} <small>{row.source}</small> | {here}{seeds} | {verdict} | {where} |")
    return "\n".join(lines)


def notebook_claims(notebook, stem, claims):
    """One notebook's part of the ledger: its trainings, its tables over seeds, and, folded, what holds exactly."""
    parts, trained = [f'<a id="n{stem[:2]}"></a>\n\n## {title(notebook)}'], [claim for claim in claims if claim.trained]
    for section in dict.fromkeys(section for section, _ in ledger.sections(notebook)):
        here = [trained_claim(claim) for claim in trained if claim.section == section]
        here += [table for heading, cell in ledger.sections(notebook) if heading == section for table in tables(cell)]
        parts += [f"### {section}", *here] if here else []
    exact = [exact_claim(claim) for claim in claims if not claim.trained]
    folded = f"<details><summary>{len(exact)} claims that say the same in every run</summary>"
    return [*parts, f"{folded}\n\n" + "\n".join(exact) + "\n\n</details>"] if exact else parts


def trained_claim(claim):
    numbers = said(claim.measured) or said([line for line in claim.printed if re.search(r"\d", line)])
    held = f"holds with seeds {claim.seeds}, {claim.date}" if claim.seeds else "one run, seed 0"
    failed = ", ".join(map(str, claim.failed))
    notes = [link(claim.notebook, claim.cell, "the cell"), held]
    notes += ["numbers of seed 0"] if numbers and not claim.measured else []
    notes += [f"<b>does not hold with seed {failed}</b>"] if failed else []
    lines = "<br>\n".join([*filter(None, [numbers]), f"<small>{' · '.join(notes)}</small>"])
    return f'<div class="claim">\n\n<i>{claimed(claim)}</i><br>\n{lines}\n\n</div>'


def exact_claim(claim):
    place = link(claim.notebook, claim.cell, claim.section or "at the beginning")
    lines = [[line for line in one.printed if not line.startswith(ledger.FIGURES)][:3] for one in claim.results]
    numbers = said(sum(lines, []))
    return f"* {place}: <i>{claimed(claim)}</i>" + (f"<br>{numbers}" if numbers else "")


def claimed(claim):
    """What a cell claims, in the words of its assertions; their conditions where they have none."""
    return "; ".join(map(html.escape, claim.told)) or "; ".join(map(code, claim.asserted))


def tables(cell):
    """The tables over seeds of a cell of text, each with the sentence that leads to it."""
    if cell.cell_type != "markdown" or not SPREAD.search(cell.source):
        return
    for found in ledger.TABLE.finditer(cell.source):
        before = cell.source[: found.start()].rstrip().rpartition("\n\n")[2]
        lead = re.split(r"(?<=[.?!)]) (?=[A-Z(])", before)[-1]
        yield moved("\n\n".join([lead if lead.endswith(":") else "", found[0].rstrip()]).strip())


# Symbols


def symbols():
    """docs/symbols.md, whose letters are told where each is first used."""
    text = written("symbols")
    (table,) = (found[0] for found in ledger.TABLE.finditer(text + "\n") if found[0].startswith("| symbol |"))
    head, line, *rows = table.splitlines()
    texts = [(path.stem, place) for path in paths() for place in ledger.sections(read(path))]
    rows = [f"{row} {first(row, texts)} |" for row in rows]
    return text.replace(table.rstrip(), "\n".join([f"{head} first met in |", f"{line}---|", *rows]))


def first(row, texts):
    """The first section in which the first letter of this row is in an equation."""
    letter = re.search(r"\$([^$,]+)", row.split("|")[1])[1]
    pattern = re.compile(rf"(?<![A-Za-z\\_^]){re.escape(letter)}(?![A-Za-z])")
    for stem, (heading, cell) in texts:
        if cell.cell_type != "markdown":
            continue
        maths = " ".join(re.findall(r"(?s)\$\$.+?\$\$|\$[^$\n]+\$", cell.source))
        if pattern.search(maths):
            return f"[{place(stem, heading)}]({stem}.md)"
    return ""


# Open questions


def questions():
    """The question with which each notebook ends."""
    parts = []
    for path in paths():
        notebook = read(path)
        found = [OPEN.search(cell.source) for cell in notebook.cells if cell.cell_type == "markdown"]
        parts += [f"## [{title(notebook)}]({path.stem}.md)\n\n{moved(one[1])}" for one in found if one]
    return "\n\n".join(parts)


# The texts behind the course


def texts():
    """docs/texts.md, each line with links to the cells that teach what it says."""
    found = lessons()
    return TAUGHT.sub(lambda line: f"{line[0]} <small>{' · '.join(found[line[1]])}</small>", written("texts"))


def lessons():
    """{id of the syllabus: a link for each section that teaches it, to code where some of it does}"""
    found = {}
    for path in paths():
        for section, cell in ledger.sections(read(path)):
            for one in cells.syllabus(cell):
                found.setdefault(one, {}).setdefault((path.stem, section), []).append(cell)
    return {
        one: [link(stem, first_code(taught).id, place(stem, section)) for (stem, section), taught in places.items()]
        for one, places in found.items()
    }


def first_code(some):
    """The first cell of code of some cells, else the first of text."""
    return min(some, key=lambda cell: cell.cell_type != "code")


# For teachers


def teachers():
    """Minutes and exercises of every notebook."""
    return "\n\n".join(map(lesson, paths()))


def lesson(path):
    """One notebook for a teacher: minutes and exercises."""
    notebook, catalogue = read(path), reading_time.catalogue()
    reading, solving = reading_time.told(notebook)
    before = {cell.id: heading for heading, cell in ledger.sections(notebook)}
    lines = [
        f"### [{title(notebook)}]({path.stem}.md)",
        f"{reading} minutes to read and run, {solving} for the exercises.",
    ]
    rows = ["| exercise | section | how hard | minutes | known mistakes |", "|---|---|---|---|---|"]
    for exercise, cell in cells.exercises(notebook).items():
        found = catalogue[exercise]
        name = f"{link(path.stem, cell.id, found.name)}{' (to be fixed)' if found.broken else ''}"
        section = before[cell.id].partition(" ")[0]
        rows.append(f"| {name} | {section} | {found.dots} | {found.minutes} | {len(found.rows)} |")
    return "\n\n".join([*lines, "\n".join(rows)])


# All of them


def made():
    """{page: what is made of it}, of those that docs/ has in part written by hand and in part made."""
    known_bugs = bugs.page(link)
    return {
        "measured": measured(),
        "judge": judge(),
        "bugs": known_bugs,
        "questions": questions(),
        "teachers": teachers(),
    }


def write(folder):
    """Write the pages of the site into `folder`; returns their files."""
    pages = {name: f"{written(name)}\n\n{text}" for name, text in made().items()}
    pages |= {"symbols": symbols(), "texts": texts()}
    pages |= {name: written(name) for name in ("beside", "places", "costs", "changes")}
    Path(folder).mkdir(parents=True, exist_ok=True)
    files = [Path(folder) / f"{name}.md" for name in pages]
    for file, text in zip(files, pages.values()):
        file.write_text(text.rstrip() + "\n", encoding="utf-8", newline="\n")
    return files


def on_github(text):
    """A made page of the site as docs/ holds it: a link to a cell leads to the site, one to a notebook to its file."""
    site = links.site_address(links.repository())
    text = re.sub(r'href="(\w+\.html#)', rf'href="{site}\1', text)
    return re.sub(r"\]\((\d\d_\w+)\.md\)", r"](../notebooks/\1.ipynb)", text)


TUTOR = """\
# For a tutor inside the notebook

You see one cell of a course on attention, what it printed, and the text above it; you run nothing yourself. Where a \
rule says that something is run or read, ask the learner to do it. The rules are those of [AGENTS.md](AGENTS.md), in \
the same words.
"""


def tutor():
    """TUTOR.md, which jupyter-ai-tutor looks for from a notebook's folder upwards: the rules of AGENTS.md."""
    agents = (COURSE / "AGENTS.md").read_text(encoding="utf-8")
    return f"{TUTOR}\n{agents[agents.index('## As a tutor') :]}"


def documents():
    """{file: its text} of the documents that are made, in whole or below their mark."""
    found = {DOCS / f"{name}.md": f"{by_hand(name)}\n\n{MARK}\n\n{on_github(text)}\n" for name, text in made().items()}
    return found | {COURSE / "TUTOR.md": tutor()}


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folder", nargs="?", type=Path)
    if folder := ask.parse_args(arguments).folder:
        print(*write(folder), sep="\n")
    else:
        changed = [file.relative_to(COURSE) for file, text in documents().items() if write_whole(file, text)]
        print("Documents made from the notebooks:", ", ".join(map(str, changed)) or "as they were")


if __name__ == "__main__":
    main()
