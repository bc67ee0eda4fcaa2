"""Three lanes of tests: `--lane check`, after every change; `test`, before a change lands; `all`, at night.

A test runs in the lane that a mark names, `@pytest.mark.lane("test")`, and in those behind it; without a mark it runs
in all three. Of several marks, on the file, the test and one of its parameters, the latest lane counts.

A mark may go on with topics: `lane("all", "masking")`. Where a notebook, a module, a test or a tool of that name
differs from main, the test comes one lane earlier.

Of the cases of a test marked `sampled(4, "utils/judge/", "utils/exercises/")` every fourth runs by day, and all of them
at night and where a file in one of these folders differs from main.
"""

import functools
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

from hypothesis import settings

ROOT = Path(__file__).parent.parent
LANES = ("check", "test", "all")
WATCHED = ("notebooks/", "utils/", "tools/", "experiments/", "tests/", "conftest.py")

# By day, laws are tried on the same inputs each time; at night on others, and what fails is printed to be tried again.
settings.register_profile("same", derandomize=True)
settings.register_profile("random", print_blob=True)


def topic(path):
    """What a file is about: masking, of the notebook on masking as of utils/widgets/masking.py."""
    return re.sub(r"^n?\d\d_", "", Path(path).stem)


def git(*arguments):
    """The lines that git prints; none where it is missing, or fails, as it does without a repository."""
    if not shutil.which("git"):
        return []
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


@functools.cache
def changed():
    """The files that differ from main, as it was when this branch left it."""
    base = git("merge-base", "origin/main", "HEAD") or git("merge-base", "main", "HEAD")
    return [*git("diff", "--name-only", base[0]), *git("ls-files", "--others", "--exclude-standard")] if base else []


def runs_in(lane, marks, files):
    """Whether a test with marks of these (lane, topic, ...) runs in `lane`, when `files` differ from main."""
    topics = {topic(name) for name in files if name.startswith(WATCHED)}
    own = max((LANES.index(name) for name, *_ in marks), default=0)
    earlier = any(topics.intersection(about) for _, *about in marks)
    return own - earlier <= LANES.index(lane)


def sample(items, files):
    """The items without those that a sample leaves out."""
    seen = Counter()
    for item in items:
        every, *folders = next((mark.args for mark in item.iter_markers("sampled")), (1,))
        test = item.nodeid.partition("[")[0]
        if seen[test] % every == 0 or any(name.startswith(tuple(folders)) for name in files):
            yield item
        seen[test] += 1


def pytest_addoption(parser):
    parser.addoption("--lane", choices=LANES, default="test", help="how much is run: tests/lanes.py")


def pytest_configure(config):
    config.addinivalue_line("markers", "lane(name, *topics): the first lane in which a test runs")
    config.addinivalue_line("markers", "sampled(every, *folders): of its cases, some run by day")
    config.addinivalue_line("markers", "runs_cells: it runs the cells of the notebook that its name holds")
    config.addinivalue_line(
        "markers", "opens(topic): it needs the published model that the notebook of this topic opens, if it opens one"
    )
    settings.load_profile("random" if config.getoption("lane") == "all" else "same")


def pytest_ignore_collect(collection_path, config):
    """No cell of a notebook runs in the first lane."""
    return True if config.getoption("lane") == "check" and collection_path.suffix == ".ipynb" else None


def pytest_collection_modifyitems(config, items):
    lane = config.getoption("lane")
    chosen = [item for item in items if runs_in(lane, [mark.args for mark in item.iter_markers("lane")], changed())]
    chosen = chosen if lane == "all" else list(sample(chosen, changed()))
    config.hook.pytest_deselected(items=list(set(items).difference(chosen)))
    items[:] = chosen
