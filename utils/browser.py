"""Notebooks 00 and 01 in a browser, where Python has NumPy and no PyTorch: what `import utils` sets up under Pyodide.

`torch` becomes a little of PyTorch, with NumPy's arrays for tensors: what these two notebooks call, and nothing that
learns. Widgets say where they can be moved, figures too where Matplotlib is missing. `check` tells right from wrong and
leaves the diagnosis to a kernel with PyTorch. ATTENTION_BROWSER=1 sets the same up elsewhere, for the tests.
"""

import importlib
import importlib.util
import inspect
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

EXERCISES = ("n00_start_here", "n01_dot_product_similarity")
ELSEWHERE = "open this notebook on Colab, on Binder or in JupyterLab"
float32, float64, int64, bool_ = map(np.dtype, ("float32", "float64", "int64", "bool"))


def wanted() -> bool:
    """Is this Python one in a browser, or to behave as if?"""
    return sys.platform == "emscripten" or os.environ.get("ATTENTION_BROWSER", "0") not in ("", "0")


def install() -> None:
    """Put the stand-ins where `import` finds them; whatever is installed itself stays."""
    if importlib.util.find_spec("torch") is not None:
        return
    torch = _torch()
    names = {"torch": torch, "torch.nn": torch.nn, "torch.nn.functional": torch.nn.functional}
    sys.modules |= names | {"torch.testing": torch.testing, "torch.linalg": torch.linalg}
    exercises = _exercises()
    missing = {"utils.widgets": "widget"} | (
        {} if importlib.util.find_spec("matplotlib") else {"utils.plots": "figure"}
    )
    for name, module in {
        "exercises": exercises,
        **{n.partition(".")[2]: Absent(n, w) for n, w in missing.items()},
    }.items():
        sys.modules[f"utils.{name}"] = module
        setattr(sys.modules["utils"], name, module)


class Absent(ModuleType):
    """A module whose functions say, once each, that what they show cannot be had here."""

    def __init__(self, name: str, what: str):
        super().__init__(name)
        self.what, self.said = what, set()

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("__"):
            raise AttributeError(name)

        def say(*_, **__):
            if name not in self.said:
                self.said.add(name)
                print(f"(The {self.what} {name} cannot be shown here: {ELSEWHERE}.)")

        return say


# A little of PyTorch


class Topk(NamedTuple):
    values: "Tensor"
    indices: "Tensor"


class Tensor(np.ndarray):
    """An array with the names of torch's methods."""

    def __format__(self, spec: str) -> str:
        return format(self.item() if self.ndim == 0 else str(self), spec)

    def _reduced(self, function: Callable, dim: Any, keepdim: bool) -> "Tensor":
        return as_tensor(function(np.asarray(self), axis=dim, keepdims=keepdim))

    def sum(self, dim: Any = None, keepdim: bool = False, **_) -> "Tensor":
        return self._reduced(np.sum, dim, keepdim)

    def mean(self, dim: Any = None, keepdim: bool = False, **_) -> "Tensor":
        return self._reduced(np.mean, dim, keepdim)

    def any(self, dim: Any = None, keepdim: bool = False, **_) -> "Tensor":
        return self._reduced(np.any, dim, keepdim)

    def all(self, dim: Any = None, keepdim: bool = False, **_) -> "Tensor":
        return self._reduced(np.all, dim, keepdim)

    def max(self, **_) -> "Tensor":
        return as_tensor(np.max(np.asarray(self)))

    def min(self, **_) -> "Tensor":
        return as_tensor(np.min(np.asarray(self)))

    def argmax(self, dim: Any = None, **_) -> "Tensor":
        return as_tensor(np.argmax(np.asarray(self), axis=dim))

    def argsort(self, dim: int = -1, descending: bool = False, **_) -> "Tensor":
        plain = np.asarray(self)
        return as_tensor(np.argsort(-plain if descending else plain, axis=dim, kind="stable"))

    def topk(self, k: int) -> Topk:
        indices = self.argsort(descending=True)[..., :k]
        return Topk(as_tensor(np.take_along_axis(np.asarray(self), np.asarray(indices), -1)), indices)

    def quantile(self, q: float) -> "Tensor":
        return as_tensor(np.quantile(np.asarray(self), q).astype(self.dtype))

    def norm(self, dim: Any = None, keepdim: bool = False) -> "Tensor":
        return (self * self).sum(dim, keepdim).sqrt()

    def square(self) -> "Tensor":
        return self * self

    def sqrt(self) -> "Tensor":
        return as_tensor(np.sqrt(np.asarray(self)))

    def exp(self) -> "Tensor":
        return as_tensor(np.exp(np.asarray(self)))

    def abs(self) -> "Tensor":
        return as_tensor(np.abs(np.asarray(self)))

    def double(self) -> "Tensor":
        return self.astype(float64)

    def float(self) -> "Tensor":
        return self.astype(float32)

    def isfinite(self) -> "Tensor":
        return as_tensor(np.isfinite(np.asarray(self)))

    def detach(self) -> "Tensor":
        return self

    def clone(self) -> "Tensor":
        return self.copy()

    def numpy(self) -> np.ndarray:
        return np.asarray(self)

    def numel(self) -> int:
        return self.size

    def dim(self) -> int:
        return self.ndim

    def unsqueeze(self, dim: int) -> "Tensor":
        return as_tensor(np.expand_dims(np.asarray(self), dim))

    def is_floating_point(self) -> bool:
        return self.dtype.kind == "f"

    def masked_fill(self, mask: Any, value: Any) -> "Tensor":
        return as_tensor(np.where(np.asarray(mask), np.asarray(value, dtype=self.dtype), np.asarray(self)))


def as_tensor(values: Any, dtype: np.dtype | None = None) -> Tensor:
    """Numbers as a tensor; Python's own with a point become float32, as in PyTorch."""
    array = np.asarray(values, dtype=dtype)
    if dtype is None and array.dtype == float64 and not isinstance(values, (np.ndarray, np.generic)):
        array = array.astype(float32)
    return array.view(Tensor)


def _drawn(numbers: np.ndarray, dtype: np.dtype | None) -> Tensor:
    return as_tensor(numbers.astype(dtype or float32))


class Generator:
    """Random numbers from a seed: other ones than PyTorch's."""

    def __init__(self):
        self.manual_seed(0)

    def manual_seed(self, seed: int) -> "Generator":
        self.numbers = np.random.default_rng(seed)
        return self


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    powers = np.exp(np.asarray(x) - np.max(np.asarray(x), axis=dim, keepdims=True))
    return as_tensor(powers / powers.sum(axis=dim, keepdims=True))


def cosine_similarity(a: Tensor, b: Tensor, dim: int = -1) -> Tensor:
    return (a * b).sum(dim) / (a.norm(dim) * b.norm(dim))


def cdist(a: Tensor, b: Tensor) -> Tensor:
    return (a[:, None] - b[None]).norm(-1)


def assert_close(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-7, **_) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol, atol)


def _module(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(members)
    return module


def _makers() -> dict[str, Callable]:
    """The functions of torch that make tensors."""
    shared = Generator()

    def drawn(method: str) -> Callable:
        def draw(*shape, generator: Generator = shared, dtype: np.dtype | None = None, **_) -> Tensor:
            return _drawn(getattr(generator.numbers, method)(shape), dtype)

        return draw

    def filled(number: float) -> Callable:
        return lambda *shape, dtype=float32, **_: as_tensor(np.full(shape, number, dtype))

    def spaced(function: Callable) -> Callable:
        return lambda start, end, steps, dtype=None: _drawn(function(start, end, steps), dtype)

    return {
        "tensor": lambda values, dtype=None: as_tensor(values, dtype).copy(),
        "as_tensor": as_tensor,
        "from_numpy": as_tensor,
        "stack": lambda tensors, dim=0: as_tensor(np.stack([np.asarray(one) for one in tensors], axis=dim)),
        "zeros": filled(0),
        "ones": filled(1),
        "empty": filled(0),
        "eye": lambda n, dtype=float32: as_tensor(np.eye(n, dtype=dtype)),
        "arange": lambda *bounds: as_tensor(np.arange(*bounds)),
        "linspace": spaced(np.linspace),
        "logspace": spaced(np.logspace),
        "randn": drawn("standard_normal"),
        "rand": drawn("random"),
        "randint": lambda high, shape, generator=shared: as_tensor(generator.numbers.integers(high, size=shape)),
        "randperm": lambda n, generator=shared: as_tensor(generator.numbers.permutation(n)),
    }


def _torch() -> ModuleType:
    """The module `torch`."""
    product = np.ndarray.__matmul__
    linalg = _module(
        "torch.linalg",
        norm=Tensor.norm,
        vector_norm=Tensor.norm,
        svd=lambda x, full_matrices=True: tuple(map(as_tensor, np.linalg.svd(np.asarray(x), full_matrices))),
        svdvals=lambda x: as_tensor(np.linalg.svd(np.asarray(x), compute_uv=False)),
    )
    functional = _module("torch.nn.functional", softmax=softmax, cosine_similarity=cosine_similarity)
    classes = {name: type(name, (), {}) for name in ("Module", "Embedding")}
    types = {"float": float32, "double": float64, "long": int64, "bool": bool_}
    types |= {"float32": float32, "float64": float64, "int64": int64}
    names = ("sum", "mean", "sqrt", "exp", "abs", "square", "norm", "topk", "argsort")
    return _module(
        "torch",
        Tensor=Tensor,
        Generator=Generator,
        Size=tuple,
        set_num_threads=lambda number: None,
        linalg=linalg,
        nn=_module("torch.nn", functional=functional, **classes),
        testing=_module("torch.testing", assert_close=assert_close),
        equal=lambda a, b: bool(np.array_equal(np.asarray(a), np.asarray(b))),
        **{"softmax": softmax, "cosine_similarity": cosine_similarity, "cdist": cdist, "inf": math.inf, "pi": math.pi},
        **dict.fromkeys(("dot", "matmul", "mv", "mm"), product),
        **{name: getattr(Tensor, name) for name in names},
        **types,
        **_makers(),
    )


# Exercises


@dataclass
class Exercise:
    """A reference function with its draws and hints; calling it calls the reference."""

    reference: Callable
    draws: Callable
    hints: Iterator[str]

    def __call__(self, *arguments):
        return self.reference(*arguments)

    def mistakes(self, text: str) -> None:
        """Known mistakes need the engine, and are not told here."""

    right = mistakes


def _exercises() -> ModuleType:
    """`utils.exercises` with the references of two notebooks, and verbs that know right and wrong."""
    package, engine = ModuleType("utils.exercises"), ModuleType("utils.exercises.engine")
    package.__path__, package.engine = [str(Path(__file__).parent / "exercises")], engine
    catalogue = {}

    def exercise(draws: Callable, hints: Sequence[str], **_) -> Callable:
        def add(reference: Callable) -> Exercise:
            catalogue[reference.__name__] = Exercise(reference, draws, iter(hints))
            return catalogue[reference.__name__]

        return add

    engine.exercise = exercise
    sys.modules |= {package.__name__: package, engine.__name__: engine}
    for name in EXERCISES:
        importlib.import_module(f"utils.exercises.{name}")

    def check(function: Callable) -> None:
        mark, words = _verdict(catalogue[function.__name__], function)
        print(f"{mark} {function.__name__}: {words}")

    def use(function: Callable) -> Callable:
        found = catalogue[function.__name__]
        return function if _verdict(found, function)[0] == "✔" else found.reference

    package.check, package.use = check, use
    package.hint = lambda function: print(next(catalogue[function.__name__].hints, "There are no more hints."))
    package.solution = lambda function: print(inspect.getsource(catalogue[function.__name__].reference))
    package.progress = lambda: print(f"Progress is not kept here: {ELSEWHERE}.")
    return package


def _verdict(found: Exercise, function: Callable) -> tuple[str, str]:
    """("✔", "✘" or "○", a sentence) on an answer."""
    for number, inputs in enumerate(found.draws(Generator()), start=1):
        want = found.reference(*inputs)
        try:
            got = function(*inputs)
            if got is ... or (isinstance(got, tuple) and ... in got):
                return "○", "not tried yet."
            fits = np.shape(got) == np.shape(want) and np.allclose(got, want, 1e-4, 1e-6, equal_nan=True)
        except Exception as error:
            return "✘", f"{type(error).__name__}: {error}"
        if not fits:
            return "✘", f"not the right result on input {number}. For a diagnosis, {ELSEWHERE}."
    return "✔", "right on all inputs."
