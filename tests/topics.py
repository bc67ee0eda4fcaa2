"""Where a notebook is: tests name its topic, and never its number, which changes when one comes before it."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIST = ROOT / "utils" / "exercises" / "tasks" / "topics.txt"
LISTED = [line.split(maxsplit=1) for line in LIST.read_text().splitlines()[1:]]


def notebook(topic):
    """The file of the notebook on a topic."""
    (path,) = (ROOT / "notebooks").glob(f"[0-9][0-9]_{topic}.ipynb")
    return path


def named(topic):
    """The stem of that file."""
    return notebook(topic).stem


SYLLABUS = {named(topic): re.sub(" (trains|download)$", "", ids) for topic, ids in LISTED}
TRAINS = {named(topic) for topic, ids in LISTED if ids.endswith(" trains")}
