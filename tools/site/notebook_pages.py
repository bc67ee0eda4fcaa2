"""A notebook as a page of the site: its cells as Markdown that Sphinx reads, its pictures as files beside the pages.

`page(notebook, name, folder, repo)` is the text of the page. What differs from the notebook: a picture is a file, so
that a page is small and the picture comes when it scrolls into view; an exercise says which
it is and where it can be solved, and what `check` answers before anybody tried is folded; a link to another notebook
leads to its page.
"""

import base64
import hashlib
import html
import re
import struct
from pathlib import Path
from urllib.parse import quote

from tools.notebooks import links, transformer_map
from utils import cells

FIGURES = "_static/figures"  # where pictures lie, seen from a page
ENDINGS = {"image/svg+xml": "svg", "image/png": "png"}
IMAGE = re.compile(r'<img alt="([^"]*)" src="data:([\w/+]+);base64,([^"]+)">')
SUMMARIES = {  # of cells that are folded, by their tag
    "setup": "The setup cell, the same in every notebook",
    cells.CLAIMS: "What this section claims, asserted",
    cells.LIBRARY: "Code that this section needs and that is not its subject",
}
LAB = "http://localhost:8888/lab/tree/notebooks/"  # as `make lab` starts it, with the course's folder on top
SMALLEST = 10  # pixels of a picture's smallest letters: where there is no room for them, it scrolls


def page(notebook, name, folder, repo, living=None):
    """The Markdown of the page of `notebook`, whose file is `name`; pictures are written below `folder`.

    living: {cell id: function of the HTML of a picture → the HTML of the cell's widget, which shows it at first}.
    """
    title, rest = notebook.cells[0], notebook.cells[1:]
    blocks = [with_site_links(headed(title.source, name))]
    for cell in rest:
        if cell.cell_type == "markdown":
            blocks.append(with_site_links(cell.source))
        else:
            blocks.append(code_cell(cell, name, folder, repo, (living or {}).get(cell.id)))
    return "\n\n".join(blocks) + "\n"


def headed(source, name):
    """The text of a notebook's first cell with the map below its title, each part a link; none where it has none."""
    bare = transformer_map.without_map(source)
    if bare == source:
        return source
    title, _, text = bare.partition("\n\n")
    return f"{title}\n\n{transformer_map.page_html(name[3:].removesuffix('.ipynb'), links.stems())}\n\n{text}"


def with_site_links(source):
    """Markdown of a notebook whose links to notebooks, docs and README lead to their pages."""
    source = re.sub(r"\]\((\d\d_\w+)\.ipynb(#[^)]*)?\)", r"](\1.md)", source)
    source = re.sub(r"\]\(\.\./docs/(\w+\.md)\)", r"](\1)", source)
    return source.replace("](../README.md)", "](readme.md)")


def code_cell(cell, name, folder, repo, widget=None):
    """A code cell and its outputs as a block of its own, with the cell's id as the address within the page."""
    if cell.execution_count is None:
        raise SystemExit(f"{name}, cell {cell.id} was never run, so a page cannot show what it does: `make notebooks`")
    exercise = cells.exercise(cell)
    outputs = [shown(output, folder) for output in cell.outputs]
    if widget:
        outputs = [widget(re.search("<img [^>]+>", outputs[-1])[0])]
    outputs = "\n\n".join(filter(None, outputs))
    code = fenced(cell.source)
    for tag in filter(SUMMARIES.get, cells.tags(cell)):
        code = folded(SUMMARIES[tag], code)
    if exercise:
        code = f"{heading(exercise, cell.outputs)}\n\n{code}\n\n{places(name, repo)}"
        outputs = folded("What <code>check</code> answers before anybody tried", outputs)
    kind = "cell exercise" if exercise else "cell"
    return f'<div class="{kind}" id="cell-{cell.id}">\n\n{code}\n\n{outputs}\n\n</div>'


def fenced(source):
    """Python code as a block of Markdown, whatever backticks are in it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", source))])
    return f"{fence}python\n{source}\n{fence}"


def folded(summary, content):
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>" if content else ""


def heading(exercise, outputs):
    """The line above an exercise: its name, and in the words of `check` how hard it is and how long it takes."""
    said = "".join("".join(output.get("text", "")) for output in outputs)
    level, minutes = re.search(r"\(([●○]+), (\d+ minutes?)\)", said).groups()
    hard = f'<span role="img" aria-label="difficulty {level.count("●")} of {len(level)}">{level}</span>'
    return f'<p class="your-turn"><strong>Your turn</strong> <code>{exercise}</code> {hard} {minutes}</p>'


def places(name, repo):
    """Where an exercise can be solved: links that open the notebook (none of the three goes to a cell of it)."""
    colab, binder = links.launch_links(name, repo)
    named = [("Colab", colab), ("Binder", binder), ("JupyterLab on this computer", LAB + quote(name))]
    listed = " · ".join(f'<a href="{html.escape(address)}">{place}</a>' for place, address in named)
    return f'<p class="places">Solve it, and have your answer checked: {listed}</p>'


def shown(output, folder):
    """One output of a cell as HTML: printed text, a picture, or the words that stand for an object."""
    data = output.get("data", {})
    if "text/html" in data:
        return IMAGE.sub(lambda found: picture(*found.groups(), folder), data["text/html"])
    text = output.get("text") or data.get("text/plain", "")
    # A blank line stays within <pre>: it is the one block of HTML that Markdown lets go on after it.
    return f'<pre class="output">{html.escape(text.rstrip())}</pre>' if text.strip() else ""


def picture(alt, kind, encoded, folder):
    """A picture as a file, named by its content, in a box that scrolls where the page is too narrow for it."""
    data = base64.b64decode(encoded)
    path = Path(folder, FIGURES, f"{hashlib.sha256(data).hexdigest()[:16]}.{ENDINGS[kind]}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    least = least_width(data.decode()) if kind == "image/svg+xml" else None
    return framed(f"{FIGURES}/{path.name}", alt, *size(data, kind), least)


def least_width(svg):
    """The width in pixels at which the smallest letters of a picture are ten pixels high: a page shows it so wide."""
    width, shown = (float(re.search(place, svg)[1]) for place in (r'viewBox="0 0 ([\d.]+)', r' width="([\d.]+)"'))
    sizes = [float(size) for size in re.findall(r'font-size(?:="|: )([\d.]+)', svg)]
    return round(min(shown, width * SMALLEST / min(sizes, default=SMALLEST)))


def framed(address, alt, width, height, least=None):
    """The HTML of a picture with its alternative text (which is HTML already); it gets no narrower than `least`, or
    than four fifths of its width."""
    least = least or min(round(0.8 * width), 760)
    return (
        f'<div class="figure"><img src="{address}" alt="{alt}" width="{width}" height="{height}" '
        f'style="min-width: {least}px" loading="lazy" decoding="async"></div>'
    )


def size(data, kind):
    """(width, height) in pixels of a picture's data."""
    if kind == "image/png":
        return struct.unpack(">II", data[16:24])
    found = re.search(rb'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', data)
    return tuple(round(float(number)) for number in found.groups())
