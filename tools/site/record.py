"""Record the films of the notebooks' widgets, for the site: each state once, drawn by the notebook's own code.

    python -m tools.site.record [--out FOLDER] [NOTEBOOK ...]      without names: every notebook of the course

Films are kept in .site-cache/ and made anew where the cells that a widget needs, or the code behind it, have changed.
For the generator of pages: `names(path)` says which cells show a widget, `widget_html(name, path)` is what is in a
page instead of it, `write(folder, paths)` records what is missing and fills `folder`: NAME.js for each film, frames.js
and frames.css.
"""

import argparse
import ast
import functools
import hashlib
import html
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from filelock import FileLock

from tools.notebooks import dependencies, execute
from tools.notebooks.dependencies import Cell
from tools.notebooks.files import COURSE
from tools.site import films, slices
from tools.site.shown import PAGES, Page
from tools.site.slices import names  # noqa: F401
from utils import widgets
from utils.exercises import catalogue
from utils.exercises.tasks import OPENS
from utils.files import write_whole
from utils.model_files import MODELS, Missing

HERE = Path(__file__).resolve().parent

CACHE = COURSE / ".site-cache"
STORED = HERE / "stored"  # films of notebooks that need a download, for where it is not here
WIDGETS = COURSE / "utils" / "widgets"
APART = ("widgets", "exercises")  # rooms of utils/ of which a film needs a few files
PLAYER = {"frames.js": "picture.js", "frames.css": "picture.css"}  # what of utils/widgets/ goes before each
HEAD = """<link rel="stylesheet" href="{folder}/frames.css">
<script src="{folder}/frames.js" defer></script>
"""  # before the first widget of a page


# The cache


def kind(name: str) -> str:
    """The function of `widgets` that makes the widget `name`: word_map_2 is a word_map, guess_wider a guess."""
    while not hasattr(widgets, name):
        name = name.rpartition("_")[0]
    return name


def page_of(name: str) -> Page:
    return PAGES.get(kind(name), Page())


def code_of(name: str, cells: Sequence[Cell]) -> list[Path]:
    """The files on which a film depends besides its notebook; of widgets and exercises those of these cells alone."""
    module = Path(sys.modules[getattr(widgets, kind(name)).__module__].__file__)
    beside = dependencies.neighbours(module) | ({WIDGETS / "guesses.toml"} if kind(name) == "guess" else set())
    files = [path for path in (COURSE / "utils").rglob("*.py") if path.relative_to(COURSE).parts[1] not in APART]
    files += [module, *beside, HERE / "films.py"]
    data = "course_vectors.npz", "SHA256SUMS", "checkpoints/SHA256SUMS"
    files += [COURSE / "data" / name for name in data]
    bound = set().union(*(cell.binds for cell in cells))
    files += [Path(inspect.getfile(found.course)) for exercise, found in catalogue().items() if exercise in bound]
    return sorted({*files})


def key(name: str, cells: Sequence[Cell]) -> str:
    """Changes where the film does: with the cells that it needs, with what a page shows, with the code behind it."""
    digest = hashlib.sha256(f"{dependencies.key(cells)}\0{page_of(name)!r}".encode())
    for path in code_of(name, cells):
        digest.update(path.name.encode() + b"\0" + content(path))
    return digest.hexdigest()[:16]


def content(path: Path) -> bytes:
    """What a file says: of code its meaning, without comments and docstrings."""
    return meaning(path.read_text(encoding="utf-8")) if path.suffix == ".py" else path.read_bytes()


@functools.cache
def meaning(source: str) -> bytes:
    module = ast.parse(source)
    return repr(dependencies.meaning(module.body[ast.get_docstring(module) is not None :])).encode()


def kept(path: Path) -> dict[str, Path]:
    """{widget of a notebook: the file of its film in the cache, whether it is there or not}."""
    return {name: CACHE / f"{name}.{key(name, cells)}.json" for name, cells in slices.slices(path).items()}


def missing(path: Path) -> dict[str, Path]:
    """What is to be recorded, and can be."""
    return {name: file for name, file in kept(path).items() if not file.exists() and can_run(path)}


def needs_download(path: Path) -> bool:
    return Path(path).stem[3:] in OPENS


def can_run(path: Path) -> bool:
    """Is everything here that the notebook needs?"""
    try:
        if not needs_download(path):
            return True
        model = MODELS[OPENS[Path(path).stem[3:]]]
        return all(model.content(name) for name in model.sha256)
    except Missing:
        return False


def record(paths: Sequence[Path], at_once: int = 2) -> None:
    """Record what is missing in the cache, each notebook in a process of its own."""
    CACHE.mkdir(exist_ok=True)
    with FileLock(CACHE / "lock"):  # the others wait, and find what this process has recorded
        waiting = [path.resolve() for path in paths if missing(path.resolve())]
        environment = execute.kernel_environment()

        def start(path: Path) -> None:
            command = [sys.executable, "-m", "tools.site.record", "--here", str(path)]
            done = subprocess.run(command, cwd=COURSE, env=environment, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{path.name}: its widgets could not be recorded.\n{done.stderr[-3000:]}")
            print(done.stdout, end="")

        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(start, reversed(waiting)))  # the last notebooks take longest


def record_here(path: Path) -> None:
    """Record the missing films of a notebook in this process."""
    path = path.resolve()
    files = missing(path)  # before anything can change while it is recorded
    for name, explorer in slices.explorers(path, set(files)):
        filmed = films.recorded(explorer, page_of(name))
        for old in CACHE.glob(f"{name}.*.json"):
            old.unlink()
        write_whole(files[name], json.dumps(filmed, ensure_ascii=False))
        if needs_download(path):
            STORED.mkdir(exist_ok=True)
            write_whole(STORED / f"{name}.json", json.dumps(filmed, ensure_ascii=False))
        print(f"{name}: {filmed['states']:,} states, {len(filmed['film']) / 1000:.0f} kB")


# Pages


def load(name: str, path: Path) -> dict:
    """What the cache holds of a widget; it is recorded where it is missing, or taken as it was when it last was."""
    file = kept(Path(path).resolve())[name]
    if not file.exists():
        record([Path(path)])
        file = file if file.exists() else STORED / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8"))


def write(folder: Path, paths: Sequence[Path]) -> None:
    """Record what is missing, and write the films and the player into `folder`; what else is there stays."""
    record(paths)
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        for name in names(path).values():
            call = f"attentionFilm({json.dumps(name)}, {json.dumps(load(name, path)['film'])});\n"
            (folder / f"{name}.js").write_text(call, encoding="utf-8")
    for file, of_picture in PLAYER.items():
        text = (WIDGETS / of_picture).read_text(encoding="utf-8")
        if file.endswith(".js"):  # a page that is opened as a file may load scripts, but no modules
            text = f"window.attentionPicture = (() => {{\n{text.replace('export default', 'return')}}})();\n"
        (folder / file).write_text(text + (HERE / file).read_text(encoding="utf-8"), encoding="utf-8")


def widget_html(name: str, path: Path, picture: str | None = None, folder: str = "_static/widgets") -> str:
    """The block of HTML, without blank lines, that is in a page instead of the widget.

    picture: HTML to show until the film is there, its first picture if None; folder: where films lie, from the page.
    The block of the first widget of a notebook loads the player."""
    kept = load(name, path)
    rows = "\n".join(row_html(name, kept["controls"], row) for row in kept["layout"])
    head = HEAD.format(folder=folder) if name == next(iter(names(Path(path)).values())) else ""
    film = f'data-film="{name}" data-src="{folder}/{name}.js"'
    return f"""{head}<div class="living" {film} style="--least: {kept["least"]}px">
<fieldset class="living-controls" disabled>
<legend class="living-said">Controls of the picture below</legend>
{rows}
</fieldset>
<div class="living-screen" role="group" aria-label="The picture" tabindex="0">{picture or kept["svg"]}</div>
<p class="living-said" role="status"></p>
<details class="living-words"><summary>The picture in words</summary><p>{html.escape(kept["words"])}</p></details>
<p class="living-note">{html.escape(page_of(name).note)}</p>
</div>"""


def row_html(name: str, controls: Sequence[dict], row: Sequence) -> str:
    label = next((entry for entry in row if isinstance(entry, str)), None)
    named = f' role="group" aria-label="{html.escape(label)}"' if label else ""
    parts = [
        f'<span class="living-label" aria-hidden="true">{html.escape(entry)}</span>'
        if isinstance(entry, str)
        else control_html(name, entry, controls[entry])
        for entry in row
    ]
    return f'<div class="living-row"{named}>{"".join(parts)}</div>'


def control_html(name: str, place: int, control: dict) -> str:
    """A control as HTML with a label, showing its first value."""
    about = f'id="{name}-{place}" data-control="{place}" autocomplete="off"'
    label = f'<label for="{name}-{place}">{html.escape(control["label"])}</label>'
    first, said = control["first"], html.escape(control["texts"][control["first"]])
    kind = "living-control living-replaced" if control["replaced"] else "living-control"
    if control["kind"] == "box":
        checked = " checked" if first else ""
        return f'<span class="{kind}"><input type="checkbox" {about}{checked}>{label}</span>'
    if control["kind"] == "slider":
        last = len(control["texts"]) - 1
        slider = f'<input type="range" {about} min="0" max="{last}" value="{first}" aria-valuetext="{said}">'
        shown = f'<span class="living-value" aria-hidden="true">{said}</span>'  # a slider says its value itself
        return f'<span class="{kind}">{label}{slider}{shown}</span>'
    options = "".join(
        f'<option value="{number}"{" selected" if number == first else ""}>{html.escape(text)}</option>'
        for number, text in control["options"]
    )
    return f'<span class="{kind}">{label}<select {about}>{options}</select></span>'


def main(arguments: Sequence[str] | None = None) -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("notebooks", nargs="*", type=Path)
    ask.add_argument("--out", type=Path, help="write films and player into this folder")
    ask.add_argument("--here", action="store_true", help="record in this process")
    options = ask.parse_args(arguments)
    paths = options.notebooks or sorted((COURSE / "notebooks").glob("[0-9]*.ipynb"))
    if options.here:
        os.environ["ATTENTION_PROGRESS"] = "off"
        for path in paths:
            record_here(path)
    else:
        record(paths)
        if options.out:
            write(options.out, paths)


if __name__ == "__main__":
    main()
