"""The notebooks' files: where they are, and how they are read and written, so that a second writing leaves no diff."""

import hashlib
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
