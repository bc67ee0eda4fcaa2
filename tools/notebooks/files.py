"""The notebooks' files: where they are, and how they are read and written, so that a second writing leaves no diff."""

import hashlib
import subprocess
from pathlib import Path

import nbformat

from utils.data_files import SUMS
from utils.files import write_whole

COURSE = Path(__file__).resolve().parents[2]
NOTEBOOKS = COURSE / "notebooks"
# What JupyterLab would write into a notebook that is opened, and then say that it is not saved (●). The version is the
# one that the kernel of `make lab` names (tools/lab/kernels): a whole one would differ from learner to learner.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": "3",
    },
}


def paths(course=COURSE):
    """The files of the notebooks, in the order of the course."""
    return sorted((course / "notebooks").glob("[0-9]*.ipynb"))


def read(path):
    """The notebook in the file `path`."""
    return nbformat.read(path, as_version=4)


def choose(names, course=COURSE):
    """The files that these names mean: a path, a number ("02"), or a topic ("masking"); all of them without a name.

    ValueError for a name that means no notebook."""
    by_name = {name: path for path in paths(course) for name in (path.stem[:2], path.stem[3:], path.stem)}
    found = [by_name.get(name) or Path(name) for name in names]
    for name, path in zip(names, found):
        if not path.is_file():
            raise ValueError(f"{name} is no notebook: give a file, a number (02) or a topic ({list(by_name)[1]})")
    return found or paths(course)


def git(*arguments):
    """What git prints about the course. subprocess.CalledProcessError, or OSError without git."""
    command = ["git", "-C", str(COURSE), *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


def at(revision):
    """{stem: notebook} as git has them at `revision`."""
    names = git("ls-tree", "--name-only", revision, "notebooks/").split()
    texts = {Path(name).stem: git("show", f"{revision}:{name}") for name in names if name.endswith(".ipynb")}
    return {stem: nbformat.reads(text, as_version=4) for stem, text in texts.items()}


def text(notebook):
    """The notebook as the text of its file."""
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def write(notebook, path):
    """Write the notebook whole or not at all, and only where it differs from the file; returns whether it did. Its
    metadata become those of the course."""
    notebook.metadata = nbformat.from_dict(METADATA)
    return write_whole(path, text(notebook))


def write_sums(folder, files):
    """Write SHA256SUMS into a folder, for these files in it; without any, it has none."""
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files)]
    if sums:
        write_whole(folder / SUMS, "".join(sums))
    elif folder.exists():
        (folder / SUMS).unlink(missing_ok=True)
