"""Processes for notebooks that were handed in. To import the course takes seconds, to fork a hundredth of one.

    the grader ── a process that has imported the course ── for each notebook one that waits ── the notebook's own

So a notebook that signals its parent disturbs no other and not the grader; one that finds the importing process and
ends it costs an import. The pipes and the session of a notebook's process are its own. Where forking is not safe, on
Windows and macOS, every notebook has a process that imports the course for itself.
"""

import contextlib
import importlib
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
STARTING = 300.0  # seconds for the imports of the course, on a slow machine
ENDING = 5.0  # seconds within which a process that was killed is gone
FORKS = sys.platform == "linux"
SETTINGS = {
    "ATTENTION_PROGRESS": "off",
    "ATTENTION_MARKED": "1",
    "MPLBACKEND": "agg",
    "OMP_NUM_THREADS": "1",
    "TORCH_COMPILE_DISABLE": "1",  # torch.compile may take longer than an answer has, and changes no result
}
ALONE = "from utils.exercises.teachers.grading import work; work()"
READY = "from utils.exercises.teachers import grading, processes; processes.serve({}, grading.work)"
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Spawned(subprocess.Popen):
    """A process that imports the course for one notebook."""

    def __init__(self, folder: str):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        super().__init__(_command(ALONE), cwd=folder, env=_environment(), start_new_session=True, **pipes)

    def kill_group(self) -> None:
        with contextlib.suppress(AttributeError, OSError):  # Windows has no groups, and this one may be gone
            os.killpg(self.pid, signal.SIGKILL)
        self.kill()

    def end(self) -> None:
        """Kill the process and those of its group, and wait until it is gone."""
        self.kill_group()
        self.wait()


class Forked:
    """A process forked for one notebook, with as much of Popen as is needed here. OSError if there is none."""

    def __init__(self, control: socket.socket, folder: str):
        self.report, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        job, job_in = os.pipe()
        said_out, said = os.pipe()
        self.stdin, self.stdout = open(job_in, "wb"), open(said_out, "rb")
        try:
            socket.send_fds(control, [os.fsencode(folder)], [theirs.fileno(), job, said])
        finally:
            theirs.close()
            os.close(job)
            os.close(said)
        self.pid, self.waiting = self._reported(STARTING)

    def _reported(self, seconds: float) -> list[int]:
        self.report.settimeout(seconds)
        if not (numbers := self.report.recv(64)):
            raise ConnectionError("the process that forks, or waits, is gone")
        return [*map(int, numbers.split())]

    def wait(self, timeout: float) -> int:
        """The status with which it ended, a signal as a negative number. TimeoutExpired, or OSError if nobody knows."""
        try:
            return self._reported(timeout)[0]
        except TimeoutError:
            raise subprocess.TimeoutExpired("work", timeout) from None

    def kill_group(self) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the process and those of its group, and wait until it is gone."""
        self.kill_group()
        try:
            self.wait(ENDING)
        except subprocess.TimeoutExpired:  # the notebook may have stopped the one that waits
            os.kill(self.waiting, signal.SIGKILL)
        except OSError:
            pass
        self.report.close()


class Processes:
    """Begins the processes of notebooks, for any number of threads. After `stop` it kills them and begins no more."""

    def __init__(self):
        self.lock, self.running, self.stopped = threading.Lock(), set(), False
        self.ready: subprocess.Popen | None = None
        self.control: socket.socket | None = None

    @contextlib.contextmanager
    def begin(self, folder: str) -> Iterator[Spawned | Forked]:
        """A process in `folder` that does `work` (grading.py); it is ended when the block is left."""
        process = self._begun(folder)
        try:
            with self.lock:
                self.running.add(process)
            self._go_on()
            yield process
        finally:
            with self.lock:
                self.running.discard(process)
            process.end()
            with contextlib.suppress(OSError):  # what was written and never read
                process.stdin.close()

    def _go_on(self) -> None:
        if self.stopped:
            raise ValueError("was not judged: grading was stopped")

    def _begun(self, folder: str) -> Spawned | Forked:
        for _ in range(2 * FORKS):  # a notebook may have ended the process that forks
            self._go_on()
            control = self._control()
            try:
                return Forked(control, folder)
            except OSError:
                self._forget(control)
        return Spawned(folder)

    def _control(self) -> socket.socket:
        """The line to the process that has imported the course."""
        with self.lock:
            if self.control is None:
                self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
                given = {"pass_fds": [theirs.fileno()], "env": _environment(), "start_new_session": True}
                self.ready = subprocess.Popen(_command(READY.format(theirs.fileno())), **streams, **given)
                theirs.close()
            return self.control

    def _forget(self, control: socket.socket | None) -> None:
        with self.lock:
            if control is not None and control is self.control:
                control.close()
                self.control = None
                self.ready.kill()
                self.ready.wait()

    def stop(self) -> None:
        """Kill whatever runs."""
        self.stopped = True
        self._forget(self.control)
        with self.lock:
            running = [*self.running]
        for process in running:
            process.kill_group()


def _command(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return os.environ | SETTINGS | {"PYTHONPATH": path}


# ---- in the process that has imported the course


def serve(control: int, work: Callable[[], None]) -> None:
    """Import what notebooks do, and fork for each of them, until the grader is gone."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    for module in pkgutil.iter_modules([str(ROOT / "utils")]):
        importlib.import_module(f"...{module.name}", __package__)
    with socket.socket(fileno=control) as asked:
        while True:
            folder, given, *_ = socket.recv_fds(asked, 2**16, 3)
            if not folder:
                os._exit(0)
            if os.fork() == 0:
                asked.close()
                _wait_for(os.fsdecode(folder), *given, work)
            for one in given:
                os.close(one)


def _wait_for(folder: str, report: int, job: int, said: int, work: Callable[[], None]) -> None:
    """Fork once more, say the numbers of both processes and, when that one has ended, its status. Never returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if pid := os.fork():
        os.close(job)
        os.close(said)
        os.write(report, f"{pid} {os.getpid()}".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(OSError):  # the grader may be gone
            os.write(report, str(status).encode())
        os._exit(0)
    try:
        os.setsid()
        os.chdir(folder)
        os.dup2(job, 0)
        os.dup2(said, 1)
        os.closerange(3, max(report, job, said) + 1)
        for number in SIGNALS:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        work()
    finally:
        os._exit(0)
