"""A learner's function may run for ever, leave the kernel, print 20 MB, switch torch's default dtype: not for long.

Inside `with Isolation() as isolation`, `isolation.call(function, ...)` calls it. It is stopped after `SECONDS`, or when
it takes `MEMORY` bytes; the kernel's exit raises SystemExit; and what it leaves switched is set back after every call
and named in `isolation.switched`. At the end random numbers, warnings and what shows output are as they were.

Not held back: one long step inside torch, NumPy or a loop of Python that is written in C (it ends by itself, or not),
os._exit and os.kill, threads and processes that are started, new attributes of modules, files. The clock runs in the
main thread only, where kernels run their cells.
"""

import builtins
import contextlib
import copy
import gc
import io
import math
import mmap
import os
import random
import signal
import sys
import threading
import time
import warnings
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from operator import is_
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import attention, masks

SECONDS, MEMORY, TICK = 10.0, 500_000_000, 0.1  # seconds of work, bytes, seconds
WAITING = 3  # times as long, by the clock, may an answer take that sleeps, or runs beside something else
PRINTED = 1000  # characters
ALARM = getattr(signal, "SIGALRM", signal.SIGTERM)  # Windows has no SIGALRM
FIGURES = "matplotlib._pylab_helpers"  # the module that keeps a list of open figures
SEED = 0
SPARE = np.random.MT19937(SEED)
DRAWN = SPARE.state
# builtins first: setting back the others needs them
WATCHED = (builtins, math, torch, torch.nn.functional, torch.linalg, np, np.linalg, attention, masks)
PRINTING = torch._tensor_str.PRINT_OPTS
GLOBAL = (value for name, value in vars(torch.nn.modules.module).items() if name.startswith("_global_"))
HOOKS = [hooks for hooks in GLOBAL if isinstance(hooks, dict)]  # that every module calls


def _folder() -> str | None:
    with contextlib.suppress(FileNotFoundError):  # it may be gone
        return os.getcwd()


def _go_to(folder: str | None) -> None:
    with contextlib.suppress(TypeError, OSError):
        os.chdir(folder)


def _set_environment(kept: dict[str, str]) -> None:
    for name in os.environ.keys() - kept.keys():
        del os.environ[name]
    os.environ.update(kept)


def _on_interrupt(handler: Any) -> None:
    with contextlib.suppress(ValueError, TypeError):  # in another thread, or a handler that is not Python's
        signal.signal(signal.SIGINT, handler)


def _hooks() -> list[dict]:
    return [dict(hooks) for hooks in HOOKS]


def _set_hooks(kept: list[dict]) -> None:
    for hooks, before in zip(HOOKS, kept):
        hooks.clear()
        hooks.update(before)


SWITCHES = (  # name, how it is read, how it is set; the functions are held here, lest a patched one be called
    ("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
    (
        "torch's default device",
        torch.get_default_device,
        lambda device: torch.set_default_device(None if device.type == "cpu" else device),
    ),
    ("torch's recording of gradients", torch.is_grad_enabled, torch.set_grad_enabled),
    ("torch's number of threads", torch.get_num_threads, torch.set_num_threads),
    ("torch's deterministic mode", torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    ("torch's anomaly detection", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    ("torch's autocast", lambda: torch.is_autocast_enabled("cpu"), lambda on: torch.set_autocast_enabled("cpu", on)),
    ("torch's precision of products", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    ("how torch prints", lambda: copy.copy(PRINTING), lambda kept: vars(PRINTING).update(vars(kept))),
    ("how NumPy prints", np.get_printoptions, lambda kept: np.set_printoptions(**kept)),
    ("what NumPy does with errors", np.geterr, lambda kept: np.seterr(**kept)),
    ("the current folder", _folder, _go_to),
    ("variables of the environment", lambda: dict(os.environ), _set_environment),
    ("what an interrupt does", lambda: signal.getsignal(signal.SIGINT), _on_interrupt),
    ("the collection of garbage", gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
    ("Python's recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    ("how often Python's threads take turns", sys.getswitchinterval, sys.setswitchinterval),
    ("what traces Python", sys.gettrace, sys.settrace),
    ("hooks of every module", _hooks, _set_hooks),
    ("the filters of warnings", lambda: warnings.filters[:], lambda kept: setattr(warnings, "filters", kept)),
    ("sys.path", lambda: sys.path[:], lambda kept: setattr(sys, "path", kept)),
    ("sys.stdout", lambda: sys.stdout, lambda kept: setattr(sys, "stdout", kept)),
    ("sys.stderr", lambda: sys.stderr, lambda kept: setattr(sys, "stderr", kept)),
)
WARN = 1  # torch.empty is filled with NaN, and not with what memory happens to hold
STANDARD = (torch.float32, torch.device("cpu"), True, 1, WARN)  # of the first five: one thread, the same numbers again


class Stopped(BaseException):
    """Raised inside an answer that takes too long or too much memory; no `except Exception` catches it."""


class Limit:
    """A time at which what runs is stopped, by the processor time that the process takes."""

    def __init__(self, seconds: float):
        self.end = time.process_time() + seconds, time.monotonic() + WAITING * seconds

    @property
    def passed(self) -> bool:
        return any(now > end for now, end in zip(_now(), self.end))


class Printed(io.TextIOBase):
    """What an answer prints: the first characters, and the number of those that follow."""

    def __init__(self):
        self.kept, self.more = "", 0

    def write(self, text: str) -> int:
        self.more += max(0, len(self.kept) + len(text) - PRINTED)
        self.kept += text[: PRINTED - len(self.kept)]
        return len(text)

    def __str__(self) -> str:
        return self.kept + (f"… ({self.more:,} more characters)\n" if self.more else "")


class Isolation(contextlib.ExitStack):
    """Bounds for all the calls of one answer.

    Tells what it left switched (`switched`, names), which verb it called itself (`asked`), and what it displayed in its
    first call (`shown`).
    """

    current: "Isolation | None" = None

    def __enter__(self):
        self.switched, self.asked, self.shown, self.limits = {}, None, None, []
        self.running, self.began, self.memory = False, _now(), None
        self.displayed = self.enter_context(_shell_held())
        self.enter_context(_random_numbers_kept())
        self.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        for (_, read, write), standard in zip(SWITCHES, STANDARD):
            if (before := read()) != standard:
                write(standard)
                self.callback(write, before)
        self.spaces = [(module.__name__, vars(module), dict(vars(module))) for module in WATCHED]
        self.callback(_set_back, self.spaces)
        self.methods = dict(vars(Tensor))
        self.callback(_set_back_methods, self.methods)
        self.enter_context(_ticking(self._tick))
        self.callback(setattr, Isolation, "current", Isolation.current)
        Isolation.current = self
        return self

    def settle(self):
        """Set back what calls after the first one exchanged in modules, and start the clock anew."""
        self.switched |= dict.fromkeys(_set_back(self.spaces) + _set_back_methods(self.methods))
        self.began, self.memory = _now(), None

    def call(self, function: Callable, *arguments) -> Any:
        """function(*arguments) within bounds; what it leaves switched is set back and named."""
        outer, self.running = self.running, False
        switches, modules = [read() for _, read, _ in SWITCHES], len(sys.modules)
        try:
            return self.bounded(function, *arguments)
        finally:
            self.running = False
            switched = _set_back(self.spaces[:1]) + _set_back_methods(self.methods)
            for (name, read, write), before in zip(SWITCHES, switches):
                if read() != before:
                    write(before)
                    switched.append(name)
            if self.shown is None:
                self.shown = tuple(self.displayed.outputs)
                switched += _set_back(self.spaces[1:])
            if len(sys.modules) == modules:  # a first import may switch things itself
                self.switched |= dict.fromkeys(switched)
            self.running = outer

    def bounded(self, function: Callable, *arguments) -> Any:
        """function(*arguments), which is stopped when it takes too long or too much memory."""
        outer, self.running = self.running, True
        try:
            return function(*arguments)
        finally:
            self.running = outer

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[Limit]:
        """Within it another clock stops what is running: that of the whole answer stands still."""
        self.limits.append(Limit(seconds))
        began = _now()
        try:
            yield self.limits[-1]
        finally:
            self.limits.pop()
            if not self.limits:
                self.began = tuple(then + now - start for then, now, start in zip(self.began, _now(), began))

    def _tick(self, *_):
        """Stop what is running, again and again until it ends: a bare `except` may catch what is raised."""
        self.memory = _memory() if self.memory is None else self.memory
        computed, waited = (now - then for now, then in zip(_now(), self.began))
        much = ""
        if any(limit.passed for limit in self.limits):
            much = "was still running"
        elif computed > SECONDS and not self.limits:
            much = f"was still running after {SECONDS:g} seconds of work"
        elif waited > SECONDS * WAITING and not self.limits:
            much = f"was still running after {SECONDS * WAITING:g} seconds"
        elif _memory() - self.memory > MEMORY:
            much = f"takes more than {MEMORY // 10**6} MB of memory"
        if not self.running or not much:
            return
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, TICK / 20, TICK / 20)
        raise Stopped(much)


def _set_back(spaces: list[tuple[str, dict, dict]]) -> list[str]:
    """Give modules back what was exchanged in them; returns the names. Builtins come first, and without any builtin."""
    names = []
    for module, space, kept in spaces:
        if module == "builtins" or len(space) != len(kept) or not all(map(is_, space.values(), kept.values())):
            changed = [name for name in kept if name[0] != "_" and space.get(name, space) is not kept[name]]
            for name in changed:
                space[name] = kept[name]
            names += sorted(name if module == "builtins" else f"{module}.{name}" for name in changed)
    return names


def _set_back_methods(kept: dict[str, Any]) -> list[str]:
    """Give tensors the methods back that were exchanged or added; returns the names."""
    space = vars(Tensor)
    if len(space) == len(kept) and all(map(is_, space.values(), kept.values())):
        return []
    names = (space.keys() | kept.keys()) - {"__slotnames__"}  # which copy keeps there by itself
    changed = sorted(name for name in names if space.get(name, space) is not kept.get(name, space))
    for name in changed:
        if name in kept:
            setattr(Tensor, name, kept[name])
        else:
            delattr(Tensor, name)
    return [f"torch.Tensor.{name}" for name in changed]


def _now() -> tuple[float, float]:
    """Seconds of processor time that the process took, and of the clock."""
    return time.process_time(), time.monotonic()


def _memory() -> int:
    """Bytes of memory that the process holds; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    except (OSError, ValueError):
        return 0


@contextlib.contextmanager
def _ticking(tick: Callable) -> Iterator[None]:
    """tick() in the main thread ten times a second, by an alarm, or where there is none by a thread that asks for it.

    A handler and a timer that were set before are set again. Elsewhere than in the main thread nothing ticks.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler, done, began = signal.signal(ALARM, tick), threading.Event(), time.monotonic()

    def ask():
        while not done.wait(TICK):
            interrupt_main(ALARM)

    if by_alarm := hasattr(signal, "setitimer"):
        remaining, interval = signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
    else:
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
    try:
        yield
    finally:
        if by_alarm:
            signal.setitimer(signal.ITIMER_REAL, 0)
        else:
            done.set()
            asking.join()
        signal.signal(ALARM, handler or signal.SIG_DFL)
        if by_alarm and remaining:
            signal.setitimer(signal.ITIMER_REAL, max(remaining - (time.monotonic() - began), 1e-3), interval)


@contextlib.contextmanager
def _random_numbers_kept() -> Iterator[None]:
    python, numpy = random.getstate(), np.random.get_bit_generator()
    np.random.set_bit_generator(SPARE)  # faster than copying NumPy's state
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)  # who draws numbers is told the same every time
            random.seed(SEED)
            SPARE.state = DRAWN
            yield
    finally:
        random.setstate(python)
        np.random.set_bit_generator(numpy)


@contextlib.contextmanager
def _shell_held() -> Iterator[Any]:
    """In IPython exit() and quit() raise SystemExit, displays are kept in `outputs`, and new figures are closed."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        yield SimpleNamespace(outputs=[])
        return
    figures = _figures()
    from IPython.utils.capture import capture_output

    def leave(*_):
        raise SystemExit

    shell.ask_exit = leave  # IPython's exit calls it, and would end the kernel after the cell without raising anything
    try:
        with capture_output(stdout=False, stderr=False) as captured:
            yield captured
    finally:
        del shell.ask_exit
        for number in _figures() - figures:
            sys.modules[FIGURES].Gcf.destroy(number)


def _figures() -> set[int]:
    """The numbers of matplotlib's open figures: those of a cell are shown below it."""
    return set(sys.modules[FIGURES].Gcf.figs) if FIGURES in sys.modules else set()
