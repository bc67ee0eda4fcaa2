"""nbval runs and compares the cells of a notebook as they ship; then, in the same kernel, the notebook goes on.

One execution serves five checks. Each claims cell runs again on its own. Each exercise is answered with the first of
its known mistakes, and judged so; then with its reference, and judged right. Then every other cell runs again, last to
first, and is compared once more: no name was bound to something else, no generator used up, nothing piled up. Cells
tagged `seconds:N` run again only at night. `--once` stops where nbval does.
"""

import ast
import contextlib
import copy
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import nbval.plugin
import pytest
from filelock import FileLock

from utils.cells import CLAIMS, after, exercise, has

CHAT = "chat_model"  # what the name of a notebook ends in that opens the published chat model


def one_chat_model():
    """A lock: the chat model takes 1 GB, and two processes with it more than a small machine has."""
    return FileLock(Path(tempfile.gettempdir()) / "attention-course-chat-model.lock")


runs = []  # (name of a notebook, seconds, peak memory in MB or None), in the order in which they ran

WRONG_CLASS = """\
from utils.exercises import catalogue
{0} = catalogue()["{0}"].rows[0].function.layer"""
WRONG = """\
def {0}(*arguments, **keywords):
    from utils.exercises import catalogue
    written = {1!r}  # what the judge says of it has to stand in the code
    return catalogue()["{0}"].rows[0].function(*arguments, **keywords)"""


def pytest_addoption(parser):
    parser.addoption(
        "--once", action="store_true", help="notebooks as they ship: no further cells (tests/rerun_plugin.py)"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    collectors = yield
    ours = (isinstance(one, nbval.plugin.IPyNbFile) for one in collectors)
    return [Notebook.from_parent(parent, path=file_path) if our else one for our, one in zip(ours, collectors)]


def pytest_sessionfinish(session):
    """A worker process hands its runs to the process that prints them."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["notebook_runs"] = runs


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    runs.extend(getattr(node, "workeroutput", {}).get("notebook_runs", []))


def pytest_terminal_summary(terminalreporter):
    if runs:
        terminalreporter.section("notebooks")
    for name, seconds, memory in sorted(runs):
        used = f"{memory:5d} MB at most" if memory else ""
        terminalreporter.write_line(f"{name:<40} {seconds:6.1f} s  {used}")


def peak_memory(pid):
    """The largest memory that process `pid` has held so far, in MB; None where the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    return next((int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM")), None)


def words(outputs):
    """What outputs say: streams and descriptions, not pictures."""
    return "".join(one.get("text") or one.get("data", {}).get("text/plain", "") for one in outputs)


class Notebook(nbval.plugin.IPyNbFile):
    """A notebook as nbval collects it, with further cells; its time and memory without these are reported."""

    def setup(self):
        self.alone = one_chat_model() if self.path.stem.endswith(CHAT) else contextlib.nullcontext()
        self.alone.__enter__()
        self.began, self.noted = time.perf_counter(), False
        super().setup()

    def teardown(self):
        self.note_run()
        super().teardown()
        self.alone.__exit__(None, None, None)

    def note_run(self):
        """Report the run as far as it went, the first time that it is called."""
        if not self.noted and self.kernel is not None and self.kernel.is_alive():
            memory = peak_memory(self.kernel.km.provisioner.pid)
            runs.append((self.path.name, time.perf_counter() - self.began, memory))
            self.noted = True

    def collect(self):
        cells = list(super().collect())
        yield from cells
        if not self.config.getoption("once"):
            yield from self.further(cells)

    def further(self, cells):
        from utils.exercises import catalogue
        from utils.judge.exercise import source
        from utils.judge.syntax import source_of

        for one in cells:
            if has(one.cell, CLAIMS):
                yield FurtherCell.of(self, f"{one.name} on its own", one.cell, one.options)
        exercises = [one for one in cells if exercise(one.cell)]
        benches = [below for one, below in zip(cells, cells[1:]) if has(below.cell, "bench")]
        for one in exercises:
            name = exercise(one.cell)
            mistake = catalogue()[name].rows[0]
            form = WRONG_CLASS if isinstance(catalogue()[name].course, type) else WRONG
            code = form.format(name, source_of(mistake.function))
            yield self.answer(one, "wrong", code, [f"✘ {name}: ", mistake.message])
        for one in exercises:
            name = exercise(one.cell)
            yield self.answer(one, "solved", source(catalogue()[name]), [f"✔ {name}: "])
        by_day = self.config.getoption("lane") != "all"
        for one in reversed(cells):
            if by_day and after(one.cell, "seconds:"):
                continue
            if one in benches:
                yield MendedBench.of(self, f"{one.name} again", one.cell)
            elif one not in exercises:
                yield FurtherCell.of(self, f"{one.name} again", one.cell, one.options)

    def answer(self, one, kind, code, expected):
        """The cell of an exercise with `code` in place of its stub."""
        cell = copy.deepcopy(one.cell)
        end = ast.parse(cell.source).body[0].end_lineno
        cell.source = "\n".join([code, *cell.source.splitlines()[end:]])
        answer = Answer.of(self, f"{one.name} {kind}", cell)
        answer.expected = expected
        return answer


class FurtherCell(nbval.plugin.IPyNbCell):
    """A cell that runs after all of the notebook's own; compared as they are, unless it is given no options."""

    @classmethod
    def of(cls, notebook, name, cell, options=None):
        number, uncompared = int(name.split()[1]), defaultdict(bool, check=False)
        given = uncompared if options is None else options
        return cls.from_parent(notebook, name=name, cell_num=number, cell=cell, options=given)

    def runtest(self):
        self.parent.note_run()
        super().runtest()


class Answer(FurtherCell):
    """An exercise whose verdict is one line that begins and goes on as `expected`."""

    def runtest(self):
        super().runtest()
        said, (mark, *sentences) = words(self.test_outputs), self.expected
        assert said.startswith(mark) and said.count("\n") == 1, said
        assert all(sentence in said for sentence in sentences), said


class MendedBench(FurtherCell):
    """A cell that tries out the function mended above it: it shows something else than it ships with."""

    def runtest(self):
        super().runtest()
        assert words(self.test_outputs) != words(self.cell.outputs), "a mended answer shows"
