"""Write the course's address, its version, the numbers of notebooks and the map wherever they occur (`make links`).

    python -m tools.notebooks.links [OWNER/NAME]        without a name: only bring everything in line with setup_cell.py

The address is in one place, the line `COURSE, VERSION = ...` of setup_cell.py beside this file, which is every
notebook's setup cell; the version is in utils/__init__.py. A notebook that is opened alone fetches the tag of its
version, so the tag has to be pushed when the version rises. From the address follow the launch links in each notebook's
first cell, and every link to the course in notebooks and documents. While no address is filled in, README says so.

A notebook's number is in the name of its file. From there come the number in its title, and text and target of
every link to it, for which its topic decides: `[notebook 05](05_masking.ipynb)`; so do numbers and links of README's
table. A plain "notebook 05" in the text of a notebook becomes such a link. And from there come the numbers on the map
(transformer_map.py), in each notebook's first cell and in docs/. README's moving picture is drawn anew, too
(opening_picture.py).
"""

import argparse
import re
from pathlib import Path
from urllib.parse import urlencode

from tools.notebooks import opening_picture, transformer_map
from tools.notebooks.files import COURSE, paths, read, write
from utils import VERSION
from utils.files import write_whole

SETUP_CELL = Path("tools/notebooks/setup_cell.py")
ADDRESS = re.compile(r'^COURSE, VERSION = "https://github\.com/([^"]+)", "([^"]+)"$', re.MULTILINE)
PLACEHOLDER = "THE_OWNER/attention-course"  # no account may have an underscore, so nobody can take this name
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}")
COLAB, BINDER = "https://colab.research.google.com/github/", "https://mybinder.org/v2/gh/"
TO_NOTEBOOK = re.compile(r"\[([^\]]*)\]\((?:\d\d_)?([a-z]\w*)\.ipynb(#[^)]*)?\)")
PLAIN = re.compile(r"(\[[^\]]*\]\([^)]*\)|`[^`]*`|<[^>]*>|^#.*)|\b([Nn]otebook (\d\d))\b", re.MULTILINE)
FILE = re.compile(r"(?<!\d)\d\d_([a-z]\w*)\.(ipynb|html)")
IN_DOCUMENT = re.compile(r"(?<=notebooks/)(\d\d_([a-z]\w*))\.ipynb")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CITATION.cff", "docs/*.md")  # where the address stands, besides notebooks
CITED_VERSION = re.compile(r"^version: .+$", re.MULTILINE)
LAUNCH_LINK = re.compile(rf"(?:{COLAB}|{BINDER})[^)\s]+".replace(".", r"\."))


def setup_cell(root=COURSE):
    """The source of the setup cell, which is the same in every notebook."""
    return (root / SETUP_CELL).read_text(encoding="utf-8").rstrip("\n")


def repository(root=COURSE):
    """The owner/name that the course is published under."""
    return ADDRESS.search(setup_cell(root)).group(1)


def launch_links(notebook, repo):
    """The addresses that open the notebook file `notebook` on Colab and on Binder."""
    return f"{COLAB}{repo}/blob/main/notebooks/{notebook}", f"{BINDER}{repo}/HEAD?labpath=notebooks%2F{notebook}"


def site_address(repo):
    """Where GitHub Pages shows the site of the course."""
    owner, name = repo.split("/")
    return f"https://{owner}.github.io/{name}/"


def page_address(notebook, repo):
    """The page of the site that shows the notebook file `notebook`."""
    return f"{site_address(repo)}{notebook.removesuffix('.ipynb')}.html"


def hub_link(repo):
    """What follows a JupyterHub's address: nbgitpuller fetches the course there and opens its first notebook."""
    folder = repo.partition("/")[2]
    asked = {"repo": f"https://github.com/{repo}", "branch": "main"}
    return f"git-pull?{urlencode(asked | {'urlpath': f'lab/tree/{folder}/notebooks/00_start_here.ipynb'})}"


def replace_address(text, old_repo, repo):
    """`text` with every link to the course, its site, Colab, Binder and a hub leading to `repo`, not to `old_repo`."""
    text = text.replace(hub_link(old_repo), hub_link(repo)).replace(site_address(old_repo), site_address(repo))
    hosts = "|".join(map(re.escape, ("https://github.com/", COLAB, BINDER)))
    return re.sub(rf"({hosts}){re.escape(old_repo)}(?![\w-])", rf"\g<1>{repo}", text)


def stems(root=COURSE):
    """{topic: the stem of its notebook, with the number before it}"""
    return {path.stem[3:]: path.stem for path in sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))}


def with_numbers(source, known):
    """Markdown of a notebook with the numbers of today in its links to others, where plain mentions become links."""
    by_number = {stem[:2]: stem for stem in known.values()}

    def linked(found):
        text, topic, place = found.groups(default="")
        if topic not in known:
            return found[0]
        text = re.sub(r"^([Nn]otebook )?\d\d\b", rf"\g<1>{known[topic][:2]}", text)
        return f"[{text}]({known[topic]}.ipynb{place})"

    def mentioned(found):
        stem = by_number.get(found[3])
        return f"[{found[2]}]({stem}.ipynb)" if stem else found[0]

    return PLAIN.sub(mentioned, TO_NOTEBOOK.sub(linked, source))


def with_table(text, known):
    """README with today's numbers in the rows of its table of notebooks."""

    def renamed(found):
        return f"{known.get(found[1], found[0].rpartition('.')[0])}.{found[2]}"

    lines = [FILE.sub(renamed, line) if line.startswith("| ") else line for line in text.split("\n")]
    return "\n".join(re.sub(r"^\| \d\d (\| .*?/(\d\d)_)", r"| \2 \1", line) for line in lines)


NO_ADDRESS = """\
> **This copy has no address yet**, so the links to the site, to Colab and to Binder lead nowhere. The first push to a \
repository of your own on GitHub fills them in; `make links REPO=owner/name` does it by hand.

"""


def with_note(readme, repo):
    """README with a note above its first heading of the second level where it has no address; else without."""
    bare = readme.replace(NO_ADDRESS, "")
    return bare.replace("\n## ", f"\n{NO_ADDRESS}## ", 1) if repo == PLACEHOLDER else bare


def update_document(path, old_repo, repo, known):
    """Bring one document in line; returns whether the file changed."""
    text = replace_address(path.read_text(encoding="utf-8"), old_repo, repo)
    text = IN_DOCUMENT.sub(lambda found: f"{known.get(found[2], found[1])}.ipynb", text)
    if path.name == "README.md":
        text = with_note(with_table(text, known), repo)
    if path.name == "CITATION.cff":
        text = CITED_VERSION.sub(f"version: {VERSION}", text)
    return write_whole(path, text)


def update_notebook(path, cell_source, old_repo, repo, known):
    """Bring one notebook in line; returns whether the file changed."""
    notebook = read(path)
    setup = next((cell for cell in notebook.cells if re.search(r"^COURSE\b", cell.source, re.MULTILINE)), None)
    if setup is None:
        raise SystemExit(f"{path.name} has no setup cell: its first code cell must be the text of {SETUP_CELL}")
    setup.source = cell_source
    colab, binder = launch_links(path.name, repo)
    title = notebook.cells[0]
    title.source = re.sub(r"^# \d\d · ", f"# {path.name[:2]} · ", title.source)
    title.source = LAUNCH_LINK.sub(lambda found: colab if found[0].startswith(COLAB) else binder, title.source)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = with_numbers(replace_address(cell.source, old_repo, repo), known)
    title.source = transformer_map.with_map(title.source, path.stem[3:], known)
    return write(notebook, path)


def update(root, new_repo=None):
    """Write the address `new_repo` (owner/name) everywhere below `root`; returns the files that changed."""
    old_repo = repository(root)
    repo = new_repo or old_repo
    if repo != PLACEHOLDER and (not NAME.fullmatch(repo) or repo.endswith((".git", "/.", "/.."))):
        raise SystemExit(f"REPO={repo} is not of the form owner/name, as in REPO=ada/attention-course")
    cell, changed, known = root / SETUP_CELL, [], stems(root)
    source = ADDRESS.sub(f'COURSE, VERSION = "https://github.com/{repo}", "{VERSION}"', setup_cell(root))
    for path in paths(root):
        if update_notebook(path, source, old_repo, repo, known):
            changed.append(path.name)
    for path in (path for place in DOCUMENTS for path in sorted(root.glob(place))):
        if update_document(path, old_repo, repo, known):
            changed.append(path.name)
    for name, picture in (transformer_map.files(known) | opening_picture.files()).items():
        if write_whole(root / "docs" / name, picture):
            changed.append(name)
    if write_whole(cell, source + "\n"):  # last: where anything above fails, the old address is still known
        changed.append(str(SETUP_CELL))
    return changed


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("repo", nargs="?", metavar="OWNER/NAME")
    changed = update(COURSE, ask.parse_args(arguments).repo)
    print(f"The course is at https://github.com/{repository()}. Changed: {', '.join(changed) or 'nothing'}")
    print(f"Notebooks opened alone fetch the tag v{VERSION}: git tag v{VERSION}, then git push --tags")


if __name__ == "__main__":
    main()
