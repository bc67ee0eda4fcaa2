"""An exercise that asks for a class: its layer as a function, built with drawn sizes and the reference's weights.

The judge compares functions. `Built(SelfAttention)` is one: of the sizes that `__init__` takes and of the inputs of
`forward`. So draws, known mistakes and comparisons are those of every exercise; what only a class can get wrong, its
parameters above all, is said here.
"""

import ast
import difflib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .own import source_and_names
from .wording import listed

TOO_EARLY = "before Module.__init__() call"  # PyTorch's own words
FIRST = (
    "`super().__init__()` should be the first line of `__init__`: without it PyTorch keeps neither layers nor weights."
)


class Misbuilt(Exception):
    """The class gives no layer that can take the reference's weights; the message says what it should have."""


class Built:
    """A class of layers as a function: it builds the layer, gives it the weights of the reference and calls it.

    Takes the sizes of `__init__`, then the inputs of `forward`. Raises Misbuilt, and whatever the class raises."""

    def __init__(self, layer: type, reference: "Built | None" = None):
        self.layer, self.reference = layer, reference or self
        self.__name__, self.__module__ = layer.__name__, layer.__module__
        self.__qualname__, self.__doc__ = layer.__qualname__, layer.__doc__
        self.__closure__ = (layer,)  # no function that could be written anew with a change
        if reference is None:
            sizes, inputs = parameters_of(layer.__init__), parameters_of(layer.forward)
            self.sizes, self.__signature__ = list(sizes), inspect.Signature([*sizes.values(), *inputs.values()])

    @property
    def __code__(self):
        """That of a method: it names the cell in which the class was written."""
        return method_of(self.layer).__code__

    @property
    def text(self) -> str:
        """The source of the class; "" where it cannot be found."""
        if self.reference is self:
            return textwrap.dedent(inspect.getsource(self.layer))
        return source_and_names(self.layer)[0]

    @property
    def space(self) -> dict[str, Any]:
        """The names around the class."""
        return vars(sys.modules[self.__module__])

    def __call__(self, *arguments: Any) -> Any:
        layer, inputs = self.layer_for(arguments)
        before = set(dict(layer.named_parameters()))
        result = layer(*inputs)
        if new := sorted(set(dict(layer.named_parameters())) - before):
            raise Misbuilt(f"`forward` makes {listed(map(code, new))} anew. Parameters should be made in `__init__`.")
        return result

    def layer_for(self, arguments: tuple) -> tuple[nn.Module, tuple]:
        """The layer for the drawn arguments, with the reference's weights, in evaluation mode; and its inputs."""
        count = len(self.reference.sizes)
        sizes, inputs = dict(zip(self.reference.sizes, arguments)), arguments[count:]
        self._takes_inputs(inputs)
        layer, theirs = self._build(sizes), self.reference._build(sizes)
        give_weights(layer, theirs)
        floats = [value.dtype for value in inputs if isinstance(value, Tensor) and value.is_floating_point()]
        return layer.to(next(iter(floats), torch.get_default_dtype())).eval(), inputs

    def _build(self, sizes: dict[str, Any]) -> nn.Module:
        own = parameters_of(self.layer.__init__)
        if not can_take(own, sizes):
            raise Misbuilt(f"`__init__` should take ({', '.join(sizes)}); yours takes ({', '.join(own)}).")
        with torch.random.fork_rng(devices=[]):  # the weights that it draws are of no account
            torch.manual_seed(0)
            try:
                layer = self.layer(**sizes)
            except AttributeError as error:
                raise Misbuilt(FIRST) if TOO_EARLY in str(error) else error from None
        if "_parameters" not in vars(layer):
            raise Misbuilt(FIRST)
        return layer

    def _takes_inputs(self, inputs: tuple) -> None:
        if not hasattr(self.layer, "forward") or self.layer.forward is nn.Module.forward:
            near = difflib.get_close_matches("forward", vars(self.layer), n=1, cutoff=0.7)
            found = f" Yours has `{near[0]}`." if near else ""
            raise Misbuilt(f"the class should have a method `forward`, which PyTorch calls with the input.{found}")
        asked = [name for name in self.reference.__signature__.parameters if name not in self.reference.sizes]
        own = parameters_of(self.layer.forward)
        if not can_take(own, inputs):
            raise Misbuilt(f"`forward` should take ({', '.join(asked)}); yours takes ({', '.join(own)}).")


def parameters_of(method: Any) -> dict[str, inspect.Parameter]:
    """The parameters of a method by name, without `self`."""
    _, *others = inspect.signature(method).parameters.values()
    return {one.name: one for one in others}


def can_take(own: dict[str, inspect.Parameter], given: dict[str, Any] | tuple) -> bool:
    """Can a method with these parameters be called with values by name, or by position?"""
    try:
        signature = inspect.Signature([*own.values()])
        signature.bind(**given) if isinstance(given, dict) else signature.bind(*given)
    except TypeError:
        return False
    return True


def method_of(layer: type) -> Any:
    """The first function that is written in a class."""
    return next(one for one in vars(layer).values() if inspect.isfunction(one))


def code(name: str) -> str:
    return f"`{name}`"


def shapes_of(layer: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(value.shape) for name, value in layer.named_parameters()}


def give_weights(layer: nn.Module, theirs: nn.Module) -> None:
    """Copy all parameters and buffers; Misbuilt says which parameter is missing, too many, or of another shape."""
    mine, wanted = shapes_of(layer), shapes_of(theirs)
    if message := next(differences(layer, mine, wanted), None):
        raise Misbuilt(message)
    with torch.no_grad():
        for name, value in (*theirs.named_parameters(), *theirs.named_buffers()):
            if (own := dict((*layer.named_parameters(), *layer.named_buffers())).get(name)) is not None:
                own.copy_(value)


def differences(layer: nn.Module, mine: dict[str, tuple], wanted: dict[str, tuple]) -> Iterator[str]:
    """What is said of parameters that are not those of the reference, the plainest first."""
    missing = [name for name in wanted if name not in mine]
    extra = [name for name in mine if name not in wanted]
    if missing and not mine:
        yield f"{hidden(layer)} After `__init__` the layer should have {described(wanted)}."
    if missing and extra and sorted(mine.values()) == sorted(wanted.values()):
        asked, own = (dict.fromkeys(name.rpartition(".")[0] or name for name in names) for names in (missing, extra))
        names = f"{listed(map(code, own))} should be called {listed(map(code, asked))}"
        yield f"{names}: weights are copied by these names."
    biases = [name.removesuffix(".bias") for name in extra if name.endswith(".bias")]
    if biases and len(biases) == len(extra) and not missing:
        yield f"{listed(map(code, biases))} should have no bias: nn.Linear(…, bias=False)."
    biases = [name.removesuffix(".bias") for name in missing if name.endswith(".bias")]
    if biases and len(biases) == len(missing) and not extra:
        yield f"{listed(map(code, biases))} should have a bias."
    if missing:
        yield f"after `__init__` the layer should have {described({name: wanted[name] for name in missing})}."
    if extra:
        yield f"the layer should not have {described({name: mine[name] for name in extra})}."
    for name, shape in wanted.items():
        if mine[name] != shape:
            turned = " nn.Linear takes the size that goes in first, then the size that comes out."
            turned = turned if mine[name] == shape[::-1] else ""
            yield f"`{name}` has the shape {mine[name]}; it should have {shape}.{turned}"


def described(shapes: dict[str, tuple]) -> str:
    return listed(f"`{name}` {shape}" for name, shape in shapes.items())


def hidden(layer: nn.Module) -> str:
    """Why a layer has no parameters: what PyTorch does not see among its attributes."""
    for name, value in vars(layer).items():
        inside = [*value.values()] if isinstance(value, dict) else value
        own = not name.startswith("_") and isinstance(value, (list, tuple, dict))
        if own and any(isinstance(one, (nn.Module, nn.Parameter)) for one in inside):
            return f"`self.{name}` hides its layers from PyTorch: nn.ModuleList or nn.ModuleDict shows them."
        if isinstance(value, Tensor):
            return (
                f"`self.{name}` is a tensor that PyTorch does not train: nn.Parameter or nn.Linear makes it learnable."
            )
    return "your layer has no parameters."


# ---- the stub


def methods(tree: ast.ClassDef) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def stub_of(text: str) -> str:
    """The source of a class with its docstring and its methods' first lines, but `...` in the place of their bodies."""
    lines, (tree,) = text.splitlines(), ast.parse(text).body
    begin = tree.body[0].end_lineno if ast.get_docstring(tree) is not None else methods(tree)[0].lineno - 1
    stub = [*lines[tree.lineno - 1 : begin]]
    for method in methods(tree):
        docstring = ast.get_docstring(method) is not None
        head = method.body[0].end_lineno if docstring else method.body[0].lineno - 1
        body = ["super().__init__()", "..."] if method.name == "__init__" else ["return ..."]
        stub += ["", *lines[method.lineno - 1 : head], *(" " * 8 + line for line in body)]
    return "\n".join(stub)


def is_stub(text: str) -> bool:
    """Is there nothing in any method but its docstring, `super().__init__()`, `...` and `return ...`?"""
    (tree,) = ast.parse(text).body
    left = {"super().__init__()", "...", "return ...", "pass"}
    bodies = [one.body[ast.get_docstring(one) is not None :] for one in methods(tree)]
    return all(ast.unparse(line) in left for body in bodies for line in body)
