"""Run a learner's function within limits of time, memory and output; undo and name what it leaves switched."""

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
from collections.abc import Callable, Iterator, Mapping
from operator import is_
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils import _python_dispatch as dispatch
from torch.utils._device import DeviceContext

from ..context import WATCHED

SECONDS, MEMORY, TICK = 10.0, 500_000_000, 0.1  # seconds of work, bytes, seconds
CLOCK_FACTOR = 3  # times as long, by the clock, may an answer take that sleeps, or runs beside something else
PRINTED = 1000  # characters
ALARM = getattr(signal, "SIGALRM", signal.SIGTERM)  # Windows has no SIGALRM
FIGURES = "matplotlib._pylab_helpers"  # the module that keeps a list of open figures
SEED = 0
NUMPY_STREAM = np.random.MT19937(SEED)
NUMPY_STATE = NUMPY_STREAM.state
# builtins first: setting back the others needs them
STANDARD_MODULES = (builtins, math, torch, torch.nn.functional, torch.linalg, np, np.linalg)
PRINTING = torch._tensor_str.PRINT_OPTS
GLOBAL = (value for name, value in vars(torch.nn.modules.module).items() if name.startswith("_global_"))
CLASSES = (Tensor, *dict.fromkeys(one for one in vars(torch.nn).values() if isinstance(one, type)))  # and their methods
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


def _umask() -> int:
    kept = os.umask(0o077)  # there is no other way to read it
    os.umask(kept)
    return kept


def _entered(devices: bool) -> list:
    """The modes of torch's functions that are entered: those that give a default device, or the others."""
    return [mode for mode in _get_current_function_mode_stack() if isinstance(mode, DeviceContext) is devices]


def _enter(devices: list, others: list) -> None:
    for _ in _get_current_function_mode_stack():
        _pop_mode()
    for mode in devices + others:
        _push_mode(mode)


def _modes() -> tuple[list, list]:
    """The modes that hear of every call, and those that hear of every operation inside torch."""
    return _entered(False), dispatch._get_current_dispatch_mode_stack()


def _set_modes(kept: tuple[list, list]) -> None:
    calls, operations = kept
    for _ in dispatch._get_current_dispatch_mode_stack():
        dispatch._pop_mode()
    for mode in operations:
        dispatch._push_mode(mode)
    _enter(_entered(True), calls)


def _default_device() -> tuple[list, Any]:
    """What gives it, `with torch.device(…)` too, which torch.set_default_device could not set back."""
    return _entered(True), getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)


def _set_default_device(kept: tuple[list, Any]) -> None:
    devices, torch._GLOBAL_DEVICE_CONTEXT.device_context = kept
    _enter(devices, _entered(False))
    torch.utils._device.CURRENT_DEVICE = devices[0].device if devices else None


def _hooks() -> list[dict]:
    return [dict(hooks) for hooks in HOOKS]


def _set_hooks(kept: list[dict]) -> None:
    for hooks, before in zip(HOOKS, kept):
        hooks.clear()
        hooks.update(before)


# Name, how it is read, how it is set; the functions are held here, lest a patched one be called. Modes come first: what
# the others call of torch would go through them.
SWITCHES = (
    ("a mode of torch's functions", _modes, _set_modes),
    ("torch's default device", _default_device, _set_default_device),
    ("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
    ("torch's recording of gradients", torch.is_grad_enabled, torch.set_grad_enabled),
    ("torch's number of threads", torch.get_num_threads, torch.set_num_threads),
    ("torch's deterministic mode", torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    ("torch's anomaly detection", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    ("torch's autocast", lambda: torch.is_autocast_enabled("cpu"), lambda on: torch.set_autocast_enabled("cpu", on)),
    ("torch's precision of products", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    ("torch's rounding of tiny numbers to 0", lambda: sys.float_info.min / 2 == 0, torch.set_flush_denormal),
    ("torch's use of oneDNN", torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled),
    ("how torch prints", lambda: copy.copy(PRINTING), lambda kept: vars(PRINTING).update(vars(kept))),
    ("how NumPy prints", np.get_printoptions, lambda kept: np.set_printoptions(**kept)),
    ("what NumPy does with errors", np.geterr, lambda kept: np.seterr(**kept)),
    ("the current folder", _folder, _go_to),
    ("the permissions of new files", _umask, os.umask),
    ("variables of the environment", lambda: dict(os.environ), _set_environment),
    ("what an interrupt does", lambda: signal.getsignal(signal.SIGINT), _on_interrupt),
    ("the collection of garbage", gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
    ("Python's recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    ("how often Python's threads take turns", sys.getswitchinterval, sys.setswitchinterval),
    ("what traces Python", sys.gettrace, sys.settrace),
    ("what profiles Python", sys.getprofile, sys.setprofile),
    ("sys.excepthook", lambda: sys.excepthook, lambda kept: setattr(sys, "excepthook", kept)),
    ("sys.displayhook", lambda: sys.displayhook, lambda kept: setattr(sys, "displayhook", kept)),
    ("hooks of every module", _hooks, _set_hooks),
    ("the filters of warnings", lambda: warnings.filters[:], lambda kept: setattr(warnings, "filters", kept)),
    ("sys.path", lambda: sys.path[:], lambda kept: setattr(sys, "path", kept)),
    ("sys.stdout", lambda: sys.stdout, lambda kept: setattr(sys, "stdout", kept)),
    ("sys.stderr", lambda: sys.stderr, lambda kept: setattr(sys, "stderr", kept)),
)
WARN = 1  # torch.empty is filled with NaN, and not with what memory happens to hold
STANDARD = (([], []), ([], None), torch.float32, True, 1, WARN)  # of the first six: one thread, the same numbers again


class Stopped(BaseException):
    """Raised inside an answer that takes too long or too much memory; no `except Exception` catches it."""


class Limit:
    """A time at which what runs is stopped, by the processor time that the process takes."""

    def __init__(self, seconds: float):
        self.end = time.process_time() + seconds, time.monotonic() + CLOCK_FACTOR * seconds

    @property
    def passed(self) -> bool:
        return any(now > end for now, end in zip(_now(), self.end))


@contextlib.contextmanager
def standard_torch() -> Iterator[None]:
    """Within it torch is as it starts, whatever a cell has set: tensors are made on the CPU, in float32."""
    with contextlib.ExitStack() as stack:
        for (_, read, write), standard in zip(SWITCHES, STANDARD):
            if (before := read()) != standard:
                write(standard)
                stack.callback(write, before)
        yield


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


class Sandbox(contextlib.ExitStack):
    """Bounds for all the calls of one answer.

    Tells what it left switched (`switched`, names), which verb it called itself (`asked`), and what it displayed in its
    first call (`shown`).
    """

    current: "Sandbox | None" = None

    def __enter__(self):
        self.switched, self.asked, self.shown, self.limits = {}, None, None, []
        self.running, self.began, self.memory = False, _now(), None
        self.displayed = self.enter_context(_shell_held())
        self.enter_context(_random_numbers_kept())
        self.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        self.enter_context(standard_torch())
        self.spaces = [(module.__name__, vars(module), dict(vars(module))) for module in (*STANDARD_MODULES, *WATCHED)]
        self.callback(_set_back, self.spaces)
        self.methods = [(one, vars(one), vars(one).copy()) for one in CLASSES]
        self.callback(_set_back_methods, self.methods)
        self.enter_context(_ticking(self._tick))
        self.callback(setattr, Sandbox, "current", Sandbox.current)
        Sandbox.current = self
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
            switched = _set_back(self.spaces[:1]) + _set_back_methods(self.methods[:1])
            for (name, read, write), before in zip(SWITCHES, switches):
                if read() != before:
                    write(before)
                    switched.append(name)
            if self.shown is None:
                self.shown = tuple(self.displayed.outputs)
                switched += _set_back(self.spaces[1:]) + _set_back_methods(self.methods[1:])
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
        elif waited > SECONDS * CLOCK_FACTOR and not self.limits:
            much = f"was still running after {SECONDS * CLOCK_FACTOR:g} seconds"
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


def _set_back_methods(spaces: list[tuple[type, Mapping, dict]]) -> list[str]:
    """Give classes the methods back that were exchanged or added; returns the names."""
    found = []
    for owner, space, kept in spaces:
        if not _equal(space, kept):
            names = (space.keys() | kept.keys()) - {"__slotnames__"}  # which copy keeps there by itself
            changed = sorted(name for name in names if space.get(name, space) is not kept.get(name, space))
            changed = [name for name in changed if not _is_of_torch(name, space.get(name))]
            for name in changed:
                if name in kept:
                    setattr(owner, name, kept[name])
                else:
                    delattr(owner, name)
            found += [f"torch.{'' if owner is Tensor else 'nn.'}{owner.__name__}.{name}" for name in changed]
    return found


def _is_of_torch(name: str, value: Any) -> bool:
    """Is it torch itself that has exchanged a method, as torch.compile does when it is first called?"""
    return name.startswith("___") or str(getattr(value, "__module__", "")).startswith("torch.")


def _equal(space: Mapping, kept: dict) -> bool:
    try:
        return space == kept  # faster than one by one: a function equals itself alone
    except Exception:  # one is a tensor now
        return False


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
    np.random.set_bit_generator(NUMPY_STREAM)  # faster than copying NumPy's state
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)  # who draws numbers is told the same every time
            random.seed(SEED)
            NUMPY_STREAM.state = NUMPY_STATE
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
