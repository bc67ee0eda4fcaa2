"""Notebooks 00 and 01 in a browser, where Python has NumPy and no PyTorch: what `import utils` sets up under Pyodide.

`torch` becomes a little of PyTorch, with NumPy's arrays for tensors: what these two notebooks call, and nothing that
learns. Widgets say where they can be moved, figures too where Matplotlib is missing. `check` tells right from wrong and
leaves the diagnosis to a kernel with PyTorch. ATTENTION_BROWSER=1 sets the same up elsewhere, for the tests.
"""

import importlib
import importlib.util
import inspect
import math
import operator
import os
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, partialmethod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

EXERCISES = ("start_here", "dot_product_similarity")
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
    absent = {"widgets": "widget"} | ({} if importlib.util.find_spec("matplotlib") else {"plots": "figure"})
    modules = {"exercises": _exercises()} | {name: Absent(f"utils.{name}", what) for name, what in absent.items()}
    for name, module in modules.items():
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


Topk, Svd = namedtuple("Topk", "values indices"), namedtuple("Svd", "U S Vh")


class NotHere(AttributeError):
    """What PyTorch may well have, and the little of it that is here has not."""

    def __init__(self, name: str):
        super().__init__(f"{name} is not in this browser's small PyTorch: {ELSEWHERE}")


def _reduction(function: Callable, place: Callable | None = None) -> Callable:
    """What reduces along `dim`, which NumPy's own functions call axis; with `place`, (values, indices) along it."""

    def reduced(self, dim=None, keepdim=False, axis=None, out=None, dtype=None):
        plain, along = np.asarray(self, dtype), {"axis": axis if dim is None else dim, "keepdims": keepdim}
        values = as_tensor(function(plain, **along))
        return values if place is None or along["axis"] is None else Topk(values, as_tensor(place(plain, **along)))

    return reduced


def _product(*axes: int) -> Callable:
    def multiply(self, other):
        if axes and (self.ndim, other.ndim) != axes:
            raise RuntimeError(f"this product takes tensors with {axes[0]} and {axes[1]} axes")
        return self @ other

    return multiply


class Tensor(np.ndarray):
    """An array with the names of torch's methods; of NumPy's own it has those that do the same (SAME), no others."""

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, out: tuple = (), **settings: Any) -> "Tensor":
        """As in PyTorch, float64 comes out where an array of it goes in, and else float32."""
        plain = [np.asarray(one) if isinstance(one, Tensor) else one for one in inputs]
        if out:
            settings["out"] = tuple(map(np.asarray, out))
        result = getattr(function, method)(*plain, **settings)
        exact = any(isinstance(one, np.ndarray) and one.dtype == float64 for one in plain)
        return out[0] if out else as_tensor(result, float32 if result.dtype == float64 and not exact else None)

    def __getitem__(self, place: Any) -> "Tensor":
        return as_tensor(super().__getitem__(place))

    def __iter__(self) -> Iterator["Tensor"]:
        return (self[place] for place in range(len(self)))

    def __getattr__(self, name: str) -> Any:
        raise NotHere(f"Tensor.{name}")

    def __repr__(self) -> str:
        return f"tensor({np.array2string(np.asarray(self), separator=', ', prefix='tensor(')})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(self.item() if self.ndim == 0 else str(self), spec)


def as_tensor(values: Any, dtype: np.dtype | None = None) -> Tensor:
    """Numbers as a tensor; Python's own with a point become float32, as in PyTorch."""
    array = np.asarray(values, dtype=dtype)
    if dtype is None and array.dtype == float64 and not isinstance(values, (np.ndarray, np.generic)):
        array = array.astype(float32)
    return array.view(Tensor)


def _norm(x: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    if p not in (2, "fro", None):
        raise NotHere("another norm than the Euclidean one")
    return np.sqrt((x * x).sum(dim, keepdim))


def _softmax(x: Tensor, dim: int) -> Tensor:
    powers = np.exp(np.asarray(x) - np.max(np.asarray(x), axis=dim, keepdims=True))
    return as_tensor(powers / powers.sum(axis=dim, keepdims=True))


def _argsort(x: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    return as_tensor(np.argsort(-np.asarray(x) if descending else np.asarray(x), axis=dim, kind="stable"))


def _sort(x: Tensor, dim: int = -1, descending: bool = False) -> Topk:
    places = _argsort(x, dim, descending)
    return Topk(as_tensor(np.take_along_axis(np.asarray(x), np.asarray(places), dim)), places)


SAME = "T mT dtype ndim shape item tolist reshape flatten squeeze diagonal cumsum round".split()  # as NumPy's
METHODS = {  # of a tensor, and no functions of torch
    "size": lambda x, dim=None: x.shape if dim is None else x.shape[dim],
    "dim": lambda x: x.ndim,
    "view": lambda x, *shape: x.reshape(*shape),
    "to": lambda x, dtype: as_tensor(np.asarray(x).astype(dtype)),
    "double": lambda x: x.to(float64),
    "float": lambda x: x.to(float32),
    "numpy": lambda x: np.asarray(x),
}
FUNCTIONS = {  # of torch, and methods of a tensor
    **{name: _reduction(getattr(np, name)) for name in ("sum", "mean", "prod", "any", "all", "argmax", "argmin")},
    **{name: _reduction(partial(getattr(np, name), ddof=1)) for name in ("std", "var")},
    **{"max": _reduction(np.max, np.argmax), "min": _reduction(np.min, np.argmin)},
    **{name: getattr(np, name) for name in ("square", "sqrt", "exp", "abs", "isfinite")},
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow},
    **{"matmul": _product(), "dot": _product(1, 1), "mv": _product(2, 1), "mm": _product(2, 2)},
    **{"norm": _norm, "softmax": _softmax, "argsort": _argsort, "sort": _sort},
    "topk": lambda x, k: Topk(*(found[..., :k] for found in _sort(x, descending=True))),
    "quantile": lambda x, q: as_tensor(np.quantile(np.asarray(x), q).astype(x.dtype)),
    "outer": lambda x, y: as_tensor(np.outer(np.asarray(x), np.asarray(y))),
    "clamp": lambda x, min=None, max=None: as_tensor(np.clip(np.asarray(x), min, max)),
    "detach": lambda x: x,
    "clone": lambda x: as_tensor(np.array(x)),
    "numel": lambda x: math.prod(x.shape),
    "unsqueeze": lambda x, dim: as_tensor(np.expand_dims(np.asarray(x), dim)),
    "t": lambda x: x.T,
    "transpose": lambda x, dim0, dim1: as_tensor(np.asarray(x).swapaxes(dim0, dim1)),
    "is_floating_point": lambda x: x.dtype.kind == "f",
    "masked_fill": lambda x, mask, value: as_tensor(np.where(mask, np.asarray(value, x.dtype), np.asarray(x))),
}
for own in dir(np.ndarray):
    if not own.startswith("_") and own not in SAME:
        setattr(Tensor, own, property())  # without a getter: so __getattr__ says that it is not here
for own, method in (METHODS | FUNCTIONS).items():
    setattr(Tensor, own, partialmethod(method))


def _drawn(numbers: np.ndarray, dtype: np.dtype | None) -> Tensor:
    return as_tensor(numbers.astype(dtype or float32))


class Generator:
    """Random numbers from a seed: other ones than PyTorch's."""

    def __init__(self):
        self.manual_seed(0)

    def manual_seed(self, seed: int) -> "Generator":
        self.numbers = np.random.default_rng(seed)
        return self


def cosine_similarity(a: Tensor, b: Tensor, dim: int = 1) -> Tensor:
    return (a * b).sum(dim) / (a.norm(dim=dim).clamp(1e-8) * b.norm(dim=dim).clamp(1e-8))


def normalize(x: Tensor, p: float = 2, dim: int = 1) -> Tensor:
    return x / x.norm(p, dim, keepdim=True).clamp(1e-12)


def cdist(a: Tensor, b: Tensor) -> Tensor:
    return (a[:, None] - b[None]).norm(dim=-1)


def assert_close(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-7, **_) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol, atol)


def _module(name: str, **members: Any) -> ModuleType:
    def missing(member: str) -> Any:
        raise NotHere(f"{name}.{member}")

    module = ModuleType(name)
    vars(module).update(members, __getattr__=missing)
    return module


def _makers() -> dict[str, Callable]:
    """The functions of torch that make tensors."""
    shared = Generator()

    def whole(shape: tuple) -> tuple:
        return shape[0] if shape and isinstance(shape[0], (tuple, list)) else shape

    def drawn(method: str) -> Callable:
        def draw(*shape, generator: Generator = shared, dtype: np.dtype | None = None, **_) -> Tensor:
            return _drawn(getattr(generator.numbers, method)(whole(shape)), dtype)

        return draw

    def filled(number: float) -> Callable:
        return lambda *shape, dtype=float32, **_: as_tensor(np.full(whole(shape), number, dtype))

    def joined(function: Callable) -> Callable:
        return lambda tensors, dim=0: as_tensor(function([np.asarray(one) for one in tensors], axis=dim))

    def counted(*bounds: float, dtype: np.dtype | None = None) -> Tensor:
        whole_numbers = all(isinstance(bound, int) for bound in bounds)
        return as_tensor(np.arange(*bounds), dtype or (int64 if whole_numbers else float32))

    def spaced(function: Callable) -> Callable:
        return lambda start, end, steps, dtype=None: _drawn(function(start, end, steps), dtype)

    return {
        "tensor": lambda values, dtype=None: as_tensor(values, dtype).clone(),
        "as_tensor": as_tensor,
        "from_numpy": as_tensor,
        "stack": joined(np.stack),
        "cat": joined(np.concatenate),
        "einsum": lambda axes, *tensors: as_tensor(np.einsum(axes, *map(np.asarray, tensors))),
        "zeros": filled(0),
        "ones": filled(1),
        "empty": filled(0),
        "eye": lambda n, dtype=float32: as_tensor(np.eye(n, dtype=dtype)),
        "arange": counted,
        "linspace": spaced(np.linspace),
        "logspace": spaced(np.logspace),
        "randn": drawn("standard_normal"),
        "rand": drawn("random"),
        "randint": lambda *given, generator=shared: as_tensor(generator.numbers.integers(*given[:-1], size=given[-1])),
        "randperm": lambda n, generator=shared: as_tensor(generator.numbers.permutation(n)),
    }


def _torch() -> ModuleType:
    """The module `torch`."""
    linalg = _module(
        "torch.linalg",
        norm=_norm,
        vector_norm=_norm,
        svd=lambda x, full_matrices=True: Svd(*map(as_tensor, np.linalg.svd(np.asarray(x), full_matrices))),
        svdvals=lambda x: as_tensor(np.linalg.svd(np.asarray(x), compute_uv=False)),
    )
    functional = _module(
        "torch.nn.functional", softmax=_softmax, cosine_similarity=cosine_similarity, normalize=normalize
    )
    classes = {name: type(name, (), {}) for name in ("Module", "Embedding")}
    types = {"float": float32, "double": float64, "long": int64, "bool": bool_}
    types |= {"float32": float32, "float64": float64, "int64": int64, "int32": np.dtype("int32")}
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
        **{"cosine_similarity": cosine_similarity, "cdist": cdist, "inf": math.inf, "pi": math.pi},
        **FUNCTIONS,
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
    package, engine, tasks = (ModuleType(f"utils.exercises{end}") for end in ("", ".engine", ".tasks"))
    package.__path__, package.engine = [str(Path(__file__).parent / "exercises")], engine
    catalogue = {}

    def exercise(draws: Callable, hints: Sequence[str], **_) -> Callable:
        def add(reference: Callable) -> Exercise:
            catalogue[reference.__name__] = Exercise(reference, draws, iter(hints))
            return catalogue[reference.__name__]

        return add

    engine.exercise, tasks.__path__ = exercise, [f"{package.__path__[0]}/tasks"]
    sys.modules |= {one.__name__: one for one in (package, engine, tasks)}
    for name in EXERCISES:
        importlib.import_module(f"utils.exercises.tasks.{name}")

    def found(function: Any) -> Exercise | None:
        name = str(getattr(function, "__name__", function))
        if name not in catalogue:
            print(f"✘ there is no exercise named {name}. Keep the name of the function as the exercise gives it.")
        return catalogue.get(name)

    def check(function: Callable) -> None:
        if one := found(function):
            mark, words = _verdict(one, function)
            print(f"{mark} {function.__name__}: {words}")

    def use(function: Callable) -> Callable:
        one = found(function)
        return function if one is None or _verdict(one, function)[0] == "✔" else one.reference

    package.check, package.use = check, use
    package.hint = lambda f: (one := found(f)) and print(next(one.hints, "There are no more hints."))
    package.solution = lambda f: (one := found(f)) and print(inspect.getsource(one.reference))
    package.progress = lambda: print(f"Progress is not kept here: {ELSEWHERE}.")
    return package


def _verdict(found: Exercise, function: Callable) -> tuple[str, str]:
    """("✔", "✘" or "○", a sentence) on an answer. What this small PyTorch cannot do is no mistake."""
    for number, inputs in enumerate(found.draws(Generator()), start=1):
        want = found.reference(*inputs)  # before the answer can change the inputs
        try:
            got = function(*inputs)
        except NotHere as missing:
            return "○", f"{missing}."
        except (TypeError, ImportError) as error:
            return "○", f"{type(error).__name__}: {error}. If PyTorch itself can do this, {ELSEWHERE}."
        except Exception as error:
            return "✘", f"{type(error).__name__}: {error}"
        if got is ... or (isinstance(got, tuple) and ... in got):
            return "○", "not tried yet."
        if not _fits(got, want):
            return "✘", f"not the right result on input {number}. For a diagnosis, {ELSEWHERE}."
    return "✔", "right on all inputs."


def _fits(got: Any, want: Any) -> bool:
    try:
        got, want = np.asarray(got), np.asarray(want)
        return got.shape == want.shape and np.allclose(got, want, 1e-4, 1e-6, equal_nan=True)
    except (TypeError, ValueError):
        return False
