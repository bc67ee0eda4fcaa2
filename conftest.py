"""What holds for all tests, those in tests/ and the notebooks' own cells, which nbval runs and compares.

No network, each training once, or not at all where it is kept (tests/offline/), one thread, one hash seed, no progress
bars, no record of what is checked; unrun cells are refused. lanes.py says which tests run, rerun_plugin.py what
notebooks do.
"""

import contextlib
import os
import re
import runpy
import shutil
import signal
import tempfile
from pathlib import Path

import nbval.plugin
import pytest

from utils.exercises.tasks import OPENS
from utils.model_files import MODELS, Missing

pytest_plugins = ["lanes", "rerun_plugin"]

ROOT = Path(__file__).parent
OFFLINE = ROOT / "tests" / "offline"

runpy.run_path(str(OFFLINE / "sitecustomize.py"))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(OFFLINE), os.environ.get("PYTHONPATH")]))
os.environ.update(OMP_NUM_THREADS="1", PYTHONHASHSEED="0", TQDM_DISABLE="1", ATTENTION_PROGRESS="off")
for name in ("MPLBACKEND", "ATTENTION_MARKED"):
    os.environ.pop(name, None)

TRAININGS = None  # what the process that runs the tests, and none of its workers, has made and removes
if "COURSE_TRAININGS" not in os.environ:
    TRAININGS = os.environ["COURSE_TRAININGS"] = tempfile.mkdtemp(prefix="trainings-")

# A shell that runs the tests in the background lets them ignore interrupts, which some of them send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

KEPT = ROOT / "tests" / "trainings"  # `make trainings` fills it
browser_lines = []  # what tests measured on widgets
taken = set()  # the names of the files in KEPT that a notebook has taken a training from


# What takes long comes first, so that no worker waits for the other at the end; the trainings of two notebooks before
# the tests that run them again, and those that record the widgets' films before those that only show them.
LISTED = (ROOT / "utils" / "exercises" / "tasks" / "topics.txt").read_text()
TRAINS = re.findall(r"^(\w+) .* trains$", LISTED, re.MULTILINE)
LONG = [*TRAINS, *OPENS]
FIRST = [f"notebooks/{path.name}" for topic in LONG for path in (ROOT / "notebooks").glob(f"[0-9]*_{topic}.ipynb")]
FIRST += [
    "tests/judge/test_exercises",
    "tests/judge/test_cases",
    "tests/notebooks/test_notebooks",
    "tests/notebooks/test_browser",
    "tests/site/test_living",
    "tests/judge/test_answers.",
    "tests/notebooks/test_answers",
    "tests/setup/test_setup",
    "tests/site/test_site",
    "tests/widgets/test_widget_states",
    "tests/judge/test_grading",
    "notebooks/",
]


for model in MODELS.values():
    with contextlib.suppress(Missing):  # for notebooks that fetch the course into another folder
        os.environ.setdefault(model.variable, str(model.find(next(iter(model.sha256))).parent))


def without(model):
    """Why the cells that need a published model cannot run; nothing where they can."""
    with contextlib.suppress(Missing):
        model.find(next(iter(model.sha256)))
        return ""
    return "a published model is not here, and neither source could be reached: `make models` fetches it"


def pytest_collection_modifyitems(items):
    """A cell that was never run has no stored output, so nbval would compare nothing: refuse it. Then the order.

    What needs a published model is skipped where it is not here."""
    for item in items:
        runs = isinstance(item, nbval.plugin.IPyNbCell) or item.get_closest_marker("runs_cells")
        topics = [topic for topic in OPENS if runs and topic in item.nodeid]
        topics += [topic for mark in item.iter_markers("opens") for topic in mark.args if topic in OPENS]
        for reason in filter(None, (without(MODELS[OPENS[topic]]) for topic in topics)):
            item.add_marker(pytest.mark.skip(reason=reason))
        if isinstance(item, nbval.plugin.IPyNbCell) and item.cell.execution_count is None:
            raise pytest.UsageError(f"{item.nodeid} was never run, so nothing would be compared: run `make notebooks`")

    def place(item):
        return next((place for place, name in enumerate(FIRST) if item.nodeid.startswith(name)), len(FIRST))

    items.sort(key=place)


def pytest_configure(config):
    """At night everything is trained."""
    os.environ.pop("COURSE_TRAININGS_KEPT", None)
    if config.getoption("lane") != "all":
        os.environ["COURSE_TRAININGS_KEPT"] = str(KEPT)


def pytest_sessionfinish(session):
    """A worker process hands its lines to the process that prints them."""
    if TRAININGS:
        taken.update(path.stem for path in Path(TRAININGS).glob("*.taken"))
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["browser_lines"] = browser_lines


def pytest_unconfigure():
    if TRAININGS:
        shutil.rmtree(TRAININGS, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    browser_lines.extend(getattr(node, "workeroutput", {}).get("browser_lines", []))


@pytest.fixture(scope="module")
def published_chat():
    """(model, pieces) of the published chat model, which one process at a time holds; skipped where it is not here."""
    from rerun_plugin import one_chat_model

    from utils.chat import load_chat

    with one_chat_model():
        try:
            yield load_chat()
        except Missing:
            pytest.skip(without(MODELS["chat"]))


@pytest.fixture(scope="module")
def browser():
    """Chromium, one for each file of tests, which skips them where it is missing."""
    from chromium import CHROMIUM, LAUNCH
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=LAUNCH)
        yield running
        running.close()


@pytest.fixture(scope="session")
def browser_report():
    """A list; its lines are printed after the tests."""
    return browser_lines


def pytest_terminal_summary(terminalreporter):
    left = [path.name for path in sorted(KEPT.glob("*.npz")) if path.name not in taken]
    if left and taken and os.environ.get("COURSE_TRAININGS_KEPT"):
        terminalreporter.section("trainings")
        terminalreporter.write_line(f"kept, but no notebook took it; `make trainings` keeps others: {', '.join(left)}")
    if browser_lines:
        terminalreporter.section("widgets")
        for line in sorted(browser_lines):
            terminalreporter.write_line(line)
