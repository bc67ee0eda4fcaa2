"""The notebooks' files: where they are, and how they are read and written, so that a second writing leaves no diff."""

from pathlib import Path

import nbformat

from utils.files import write_whole

COURSE = Path(__file__).resolve().parents[2]
NOTEBOOKS = COURSE / "notebooks"


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
    """Write the notebook whole or not at all, and only where it differs from the file; returns whether it did."""
    return write_whole(path, text(notebook))
