"""Build the site of the course from the notebooks as they are stored (`make site`).

    python -m tools.site.build [FOLDER]         default: site/

The pages are written as Markdown into .site-cache/source: one a notebook, with its widgets' films (record.py), what the
notebooks together tell (pages.py), the front page and what README says. Sphinx makes HTML of them with the theme beside
this file. Nothing is executed but what a film needs that is not in the cache. No page asks anything of another server:
MathJax comes from a package. The folder can be opened as files, too, without a server; only the search needs one.
"""

import argparse
import functools
import re
import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path

from sphinx.application import Sphinx

from tools.notebooks import links, transformer_map
from tools.notebooks.files import COURSE, paths, read
from tools.site import cards, pages, record
from tools.site.notebook_pages import folded, page

HERE = Path(__file__).resolve().parent

CACHE = COURSE / ".site-cache"
MATHJAX = "sphinx-mathjax-offline"  # the package that carries MathJax 3.2.2
MATHJAX_PARTS = re.compile(r"tex-chtml\.js$|output/chtml/fonts/woff-v2/.*\.woff$")
CARDS = "cards.txt"  # for Anki
FIRST = "attention_flow"  # the widget that plays at the head of the front page
OPENING = """<div class="opening">
<div class="first">
{picture}
</div>
<div>

<div class="lead">

{lead}

</div>

{doors}

{whom}

</div>
</div>"""
DOORS = """<p class="doors"><a href="{name}.html">Start reading</a> <a href="{colab}">Run it</a></p>

Run it on Colab, with nothing to install, [on Binder]({binder}), or [on your computer](places.md)."""
AFTERWARDS = f"""Afterwards, or meanwhile: [what we measured](measured.md), [how often the judge names a mistake](
judge.md), [real bugs](bugs.md), and [open questions](questions.md) that nobody here has settled. To keep:
<a href="_static/{CARDS}" download>cards for Anki</a>, the questions and equations of all notebooks. [Beside the
others](beside.md) says for whom another course is better, [for teachers](teachers.md) has three lessons planned in
full, and [what is new](changes.md) says what has changed since you were last here."""
ON_THE_MAP = "They are on [the map](index.md), with links that open each of them on Colab or Binder.\n"
SEARCH = "searchindex.js"  # a file that every site of Sphinx has
ROW = re.compile(r"^\| (\d\d) \| \[([^]]+)\]\(\S+/(\w+)\.html\) \| ([^|]+) \| (\d+) \+ (\d+) \|", re.MULTILINE)
ON_THE_FRONT = ("When your answer is wrong", "What you will have at the end")  # sections of README
ITS_MAP = re.compile(r"^Read the map [^\n]+\n\n<picture>.*?</picture>\n\n", re.MULTILINE | re.DOTALL)


def write_sources(folder, topics=None):
    """Everything that Sphinx reads, into `folder`, which is emptied first; topics: those with films, None for all."""
    shutil.rmtree(folder, ignore_errors=True)
    repo, readme = links.repository(COURSE), (COURSE / "README.md").read_text(encoding="utf-8")
    static = folder / "_static"
    static.mkdir(parents=True)
    copy_mathjax(static / "mathjax")
    (static / CARDS).write_text(cards.text(), encoding="utf-8", newline="\n")
    names = [path.stem for path in paths()]
    filmed = [path for path in paths() if topics is None or path.stem[3:] in topics]
    record.write(static / "widgets", filmed)
    whole, others = transformer_map.page_html(None, links.stems()), pages.write(folder)
    for path in paths():
        shown = record.names(path).items() if path in filmed else ()
        living = {cell: functools.partial(record.widget_html, name, path) for cell, name in shown}
        notebook = read(path)
        (folder / f"{path.stem}.md").write_text(page(notebook, path.name, folder, repo, living), encoding="utf-8")
    others.append(folder / "readme.md")
    others[-1].write_text(readme_page(readme, repo), encoding="utf-8")
    for path in others:
        title, _, text = path.read_text(encoding="utf-8").partition("\n\n")
        path.write_text(f"{title}\n\n{folded('The map', whole)}\n\n{text}", encoding="utf-8")
    front = front_page(readme, repo, names, [path.stem for path in others], first_picture(filmed), whole)
    (folder / "index.md").write_text(front, encoding="utf-8")


def copy_mathjax(folder):
    """The part of MathJax that a page loads, and its fonts."""
    package = distribution(MATHJAX)
    for file in package.files:
        if MATHJAX_PARTS.search(file.as_posix()):
            target = folder / file.as_posix().partition("/static/mathjax/")[2]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(package.locate_file(file), target)


def front_page(readme, repo, names, others, picture, whole):
    """What the course is: a picture that plays, README's first sentences, two doors; what README says of a wrong answer
    and of the end; then the map of the course: the whole picture, and the rows of README's table of notebooks."""
    title, lead, whom = re.match(r"# (.+)\n\n(.+)\n\n(.+)\n", readme).groups()
    colab, binder = links.launch_links(f"{names[0]}.ipynb", repo)
    doors = DOORS.format(name=names[0], colab=colab, binder=binder)
    parts = [f"# {title}", OPENING.format(picture=picture, lead=lead, doors=doors, whom=whom)]
    parts += [with_pages(section(readme, heading), repo) for heading in ON_THE_FRONT]
    parts += ["## The map of the course", whole, '<div class="map">']
    parts += [entry(found, repo) for found in ROW.finditer(readme)]
    parts += ["</div>", AFTERWARDS]
    return "\n\n".join([*parts, toctree("Notebooks", names), toctree("About", others)]) + "\n"


def first_picture(filmed):
    """The HTML of the widget with which the front page begins, where its notebook has films."""
    head = record.HEAD.format(folder="_static/widgets")
    found = (record.widget_html(FIRST, path) for path in filmed if FIRST in record.names(path).values())
    return head + next(found, "").removeprefix(head)


def entry(found, repo):
    """One notebook on the map: a row of README's table."""
    number, title, name, afterwards, minutes, exercises = found.groups()
    colab, binder = links.launch_links(f"{name}.ipynb", repo)
    return (
        f"1. [{number} · {title}]({name}.md)\n\n   Afterwards you can {afterwards}.\n\n"
        f"   {minutes} minutes to read and run, {exercises} for the exercises · [Colab]({colab}) · [Binder]({binder})"
    )


def toctree(caption, names):
    lines = "\n".join(names)
    return f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```"


def section(readme, heading):
    """A section of README, its heading included."""
    return re.search(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", readme, re.MULTILINE | re.DOTALL)[0].rstrip()


def readme_page(readme, repo):
    """What README says below what the front page shows, its maps aside."""
    text = readme[readme.index("\n## ") :]
    for heading in ON_THE_FRONT:
        text = text.replace(section(readme, heading), "")
    text = re.sub(r"(?:^\|.+\n)+", ON_THE_MAP, ITS_MAP.sub("", text), count=1, flags=re.MULTILINE)
    return "# About the course\n\n" + with_pages(text.strip(), repo) + "\n"


def with_pages(text, repo):
    """Text of README with links to pages of the site, or else to the repository."""

    def led(found):
        page = re.fullmatch(r"(?:notebooks|docs)/(\w+)\.(?:ipynb|md)(#[\w-]+)?", found[1])
        return f"]({page[1]}.md{page[2] or ''})" if page else f"](https://github.com/{repo}/blob/main/{found[1]})"

    return re.sub(r"\]\((?!https?:|#|index\.md)([^)]+)\)", led, text)


def build(target, cache=CACHE, topics=None):
    """Build the site into the folder `target`, instead of an older one; `cache` is a folder to work in.

    Widgets live in the notebooks of these topics, such as masking, and are pictures elsewhere; None: they live in all.
    Returns the number of Sphinx's warnings; with any, what is in `target` stays as it was."""
    target, source, made = Path(target).resolve(), cache / "source", cache / "made"
    if target.exists() and not (target.is_dir() and (not any(target.iterdir()) or (target / SEARCH).exists())):
        raise SystemExit(f"{target} holds something else than a site, and would be emptied: give another folder")
    write_sources(source, topics)
    shutil.rmtree(made, ignore_errors=True)
    settings = {"html_static_path": [str(source / "_static")]}
    app = Sphinx(source, HERE, made, cache / "doctrees", "html", settings, status=None, freshenv=True)
    app.build()
    if app._warncount:
        return app._warncount
    for path in made.glob("*.html"):
        path.write_text(finished(path.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.rmtree(made / "_sources", ignore_errors=True)
    old = target.with_name(f"{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    shutil.move(made, target)
    shutil.rmtree(old, ignore_errors=True)
    return 0


def finished(text):
    """A page's HTML with what Sphinx does not do: no row and no cell of a table's head is empty, and a paragraph that
    holds a displayed equation, which no <p> may, is a <div>."""
    text = re.sub(
        r"<p>((?:(?!</?p>).)*?<div class=\"math.*?)</p>", r'<div class="paragraph">\1</div>', text, flags=re.DOTALL
    )
    text = re.sub(r"<thead>\s*<tr[^>]*>(?:\s*<th[^>]*><p></p></th>)+\s*</tr>\s*</thead>", "", text)
    return re.sub(r"<th([^>]*)><p></p></th>", r"<td\1></td>", text)


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folder", nargs="?", type=Path, default=COURSE / "site")
    target = ask.parse_args(arguments).folder
    if warnings := build(target):
        return f"Sphinx has {warnings} warnings, see above"
    pages = list(target.glob("*.html"))
    print(f"{target}: {len(pages)} pages, open {target / 'index.html'} or run `make site-serve`")


if __name__ == "__main__":
    sys.exit(main())
