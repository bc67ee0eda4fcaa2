"""An exercise that asks for a class: its layer as a function, built with drawn sizes and the weights of the reference.

The judge compares functions. `Built(SelfAttention)` is one: of the sizes that `__init__` takes and of the inputs of
`forward`. So draws, known mistakes and comparisons are those of every exercise; what only a class can get wrong, its
parameters above all, is said here.
"""

import ast
import difflib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from inspect import Parameter, Signature
from typing import Any

import torch
from torch import Tensor, nn

from ..syntax import (
    source_and_names,
)
from ..verdict import Finding, in_a_row
from ..wording import (
    listed,
)

TOO_EARLY = "before Module.__init__() call"  # PyTorch's own words
FIRST = Finding("layers.no_super")
NAMED = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
MAKES = re.compile(r"\bnn\.(Parameter|Linear|Bilinear|Embedding|LayerNorm|RMSNorm|Conv\dd|GRU|RNN)\(")


class Misbuilt(Exception):
    """The class gives no layer that can take the weights of the reference; `said` is what it should have."""

    def __init__(self, said: Finding):
        super().__init__(said.message)
        self.said = said


class Built:
    """A class of layers as a function: it builds the layer, gives it the weights of the reference and calls it.

    Takes the sizes of `__init__`, then the inputs of `forward`. Raises Misbuilt, and whatever the class raises."""

    def __init__(self, layer: type, reference: "Built | None" = None):
        self.layer, self.reference = layer, reference or self
        self.__name__, self.__module__ = layer.__name__, layer.__module__
        self.__qualname__, self.__doc__ = layer.__qualname__, layer.__doc__
        self.__closure__ = (layer,)  # no function that could be written anew with a change
        if reference is None:
            self.sizes, self.inputs = parameters_of(layer.__init__), parameters_of(layer.forward)
            drawn = [*self.sizes.values(), *self.inputs.values()]
            if any(one.kind not in NAMED for one in drawn):
                raise ValueError(
                    f"{self.__name__}: `__init__` and `forward` of a reference take no *args, no **keywords"
                )
            self.__signature__ = Signature(
                [one.replace(kind=Parameter.POSITIONAL_OR_KEYWORD, default=Parameter.empty) for one in drawn]
            )

    @property
    def __code__(self):
        """That of a method: it names the cell in which the class was written."""
        written = [one for one in vars(self.layer).values() if inspect.isfunction(one)]
        return getattr(next(iter(written), None), "__code__", None)

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
        before = shapes_of(layer)
        result = layer(*inputs)
        if new := sorted(shapes_of(layer).keys() - before.keys()):
            raise Misbuilt(Finding("layers.made_in_forward", {"names": listed(map(code, new))}))
        return result

    def layer_for(self, arguments: tuple) -> tuple[nn.Module, tuple]:
        """The layer for the drawn arguments, with the weights of the reference, in evaluation mode; and its inputs."""
        asked, count = self.reference, len(self.reference.sizes)
        sizes, inputs = dict(zip(asked.sizes, arguments)), arguments[count:]
        self._has("__init__", asked.sizes, by_name=True)
        self._has("forward", asked.inputs, by_name=False)
        layer = self._build(sizes)
        give_weights(self, layer, asked._build(sizes))
        floats = [value.dtype for value in inputs if isinstance(value, Tensor) and value.is_floating_point()]
        return layer.to(next(iter(floats), torch.get_default_dtype())).eval(), inputs

    def _build(self, sizes: dict[str, Any]) -> nn.Module:
        with torch.random.fork_rng(devices=[]):  # the weights that it draws are of no account
            torch.manual_seed(0)
            try:
                positional = [one for one, how in self.reference.sizes.items() if how.kind != Parameter.KEYWORD_ONLY]
                by_name = {name: value for name, value in sizes.items() if name not in positional}
                layer = self.layer(*[sizes[name] for name in positional], **by_name)
            except AttributeError as error:
                raise Misbuilt(FIRST) if TOO_EARLY in str(error) else error from None
        if not isinstance(layer, nn.Module):
            raise Misbuilt(Finding("layers.no_layer", {"name": self.__name__, "got": f"{layer!r:.60}"}))
        if "_parameters" not in vars(layer):
            raise Misbuilt(FIRST)
        return layer

    def _has(self, method: str, asked: dict[str, Parameter], by_name: bool) -> None:
        """Is there this method, and can it be called in every way in which that of the reference can?"""
        own = getattr(self.layer, method, None)
        if not callable(own) or own is getattr(nn.Module, method):
            raise Misbuilt(in_a_row(Finding("layers.no_method", {"method": method}), instead_of(method, self)))
        if not takes(parameters_of(own), asked, by_name):
            theirs = getattr(self.reference.layer, method)
            fields = {"method": method, "want": first_line(method, theirs), "got": first_line(method, own)}
            raise Misbuilt(Finding("layers.first_line", fields))

    def on_name(self, name: str) -> Finding | None:
        """What is said where `forward` looks up a name that only `__init__` knows, or a part of the layer."""
        if name in self.reference.sizes:
            return Finding("layers.name_of_a_size", {"name": name})
        is_part = name in re.findall(r"\bself\.(\w+) = ", self.text)
        return Finding("layers.name_of_a_part", {"name": name}) if is_part else None


def parameters_of(method: Any) -> dict[str, Parameter]:
    """The parameters of a method by name, without `self`."""
    return {one.name: one for one in [*inspect.signature(method).parameters.values()][1:]}


def takes(own: dict[str, Parameter], asked: dict[str, Parameter], by_name: bool) -> bool:
    """Can a method be called with all that is asked for, and with what of it has no default? Not by_name: what has no
    default may be called otherwise, for it is handed over by position."""
    signature = Signature([*own.values()])
    for given in (asked, {name: one for name, one in asked.items() if one.default is one.empty}):
        positional = [name for name, one in given.items() if one.kind != Parameter.KEYWORD_ONLY]
        try:
            bound = signature.bind(*positional, **{name: name for name in given if name not in positional}).arguments
        except TypeError:
            return False
        fixed = [name for name in positional if by_name or given[name].default is not Parameter.empty]
        if any(bound.get(name) != name for name in fixed):
            return False
    return True


def first_line(method: str, function: Any) -> str:
    """`def forward(self, X, mask=None):`"""
    signature = inspect.signature(function)
    plain = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    return f"def {method}{Signature(plain)}:"


def instead_of(method: str, built: Built) -> Finding | None:
    """Where the method is that is missing, if something looks like it."""
    if near := difflib.get_close_matches(method, vars(built.layer).keys() - {"__init__", "forward"}, n=1, cutoff=0.6):
        return Finding("layers.near", {"name": near[0]})
    for node in ast.walk(ast.parse(built.text)):
        if isinstance(node, ast.FunctionDef) and any(getattr(one, "name", "") == method for one in node.body):
            return Finding("layers.inside", {"method": method, "name": node.name})
    is_call = method == "forward" and "__call__" in vars(built.layer)
    return Finding("layers.call") if is_call else None


def code(name: str) -> str:
    return f"`{name}`"


def shapes_of(layer: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(value.shape) for name, value in nn.Module.named_parameters(layer)}


def give_weights(built: Built, layer: nn.Module, theirs: nn.Module) -> None:
    """Give a layer weights that differ from those with which layers begin, the same as the reference has; Misbuilt says
    which parameter is missing, too many, or of another shape. Buffers are the layer's own affair."""
    wanted = dict(nn.Module.named_parameters(theirs))
    if said := next(differences(built, layer, shapes_of(layer), shapes_of(theirs)), None):
        raise Misbuilt(said)
    generator = torch.Generator().manual_seed(0)
    own = dict(nn.Module.named_parameters(layer))
    with torch.no_grad():
        for name, value in wanted.items():  # gains of 1 and biases of 0 would hide what is done with them
            drawn = torch.randn(value.shape, generator=generator)
            own[name].copy_(drawn / value.shape[-1] ** 0.5 if value.ndim > 1 else drawn)
    if frozen := [name for name, value in own.items() if wanted[name].requires_grad and not value.requires_grad]:
        raise Misbuilt(Finding("layers.frozen", {"names": listed(map(code, frozen))}))


def differences(built: Built, layer: nn.Module, mine: dict[str, tuple], wanted: dict[str, tuple]) -> Iterator[Finding]:
    """What is said of parameters that are not those of the reference, the plainest first."""
    missing = [name for name in wanted if name not in mine]
    extra = [name for name in mine if name not in wanted]
    asked = {"parameters": described({name: wanted[name] for name in missing})} if missing else {}
    if missing:
        yield from hidden(built, layer, missing, Finding("layers.should_have", asked))
        yield from renamed(missing, extra, sorted(mine.values()) == sorted(wanted.values()))
    biases = [name.removesuffix(".bias") for name in extra if name.endswith(".bias")]
    if biases and len(biases) == len(extra) and not missing:
        yield Finding("layers.no_bias", {"names": listed(map(code, biases))})
    biases = [name.removesuffix(".bias") for name in missing if name.endswith(".bias")]
    if biases and len(biases) == len(missing) and not extra:
        yield Finding("layers.bias", {"names": listed(map(code, biases))})
    if missing:
        said = Finding("layers.should_have", asked)
        yield Finding("layers.begin", {"said": said}) if mine else in_a_row(Finding("layers.none"), said)
    if extra:
        yield Finding("layers.should_not_have", {"parameters": described({name: mine[name] for name in extra})})
    for name, shape in wanted.items():
        if mine[name] != shape:
            said = Finding("layers.shape", {"name": name, "got": mine[name], "want": shape})
            yield in_a_row(said, Finding("layers.order_of_sizes") if mine[name] == shape[::-1] else None)


def renamed(missing: list[str], extra: list[str], same_shapes: bool) -> Iterator[Finding]:
    """Where the parameters are there, but are called otherwise, or are no layers."""
    asked = dict.fromkeys(name.rpartition(".")[0] or name for name in missing)
    if asked.keys() <= set(extra):
        names, parameters = listed(map(code, asked)), listed(map(code, missing))
        yield Finding("layers.layer_each", {"names": names, "parameters": parameters})
    own = dict.fromkeys(name.rpartition(".")[0] or name for name in extra)
    if extra and same_shapes and own.keys() != asked.keys():
        yield Finding("layers.renamed", {"got": listed(map(code, own)), "want": listed(map(code, asked))})


def described(shapes: dict[str, tuple]) -> str:
    return listed(f"`{name}` {shape}" for name, shape in shapes.items())


def hidden(built: Built, layer: nn.Module, missing: list[str], asked: Finding) -> Iterator[Finding]:
    """Why a layer lacks parameters: they are shared, or PyTorch does not see them, or they are made too late."""
    every = dict(nn.Module.named_parameters(layer, remove_duplicate=False))
    for name in [one for one in missing if one in every]:
        twin = next(other for other, value in every.items() if value is every[name] and other != name)
        yield Finding("layers.shared", {"one": name, "other": twin})
    for name, value in vars(layer).items():
        inside = [*value.values()] if isinstance(value, dict) else value
        own = not name.startswith("_") and isinstance(value, (list, tuple, dict))
        if own and any(isinstance(one, (nn.Module, nn.Parameter)) for one in inside):
            yield in_a_row(Finding("layers.in_a_list", {"name": name}), asked)
    buffers = dict(nn.Module.named_buffers(layer))
    tensors = {name: value for name, value in vars(layer).items() if isinstance(value, Tensor)} | buffers
    for name in [one for one in tensors if one in {part.partition(".")[0] for part in missing}]:
        yield in_a_row(Finding("layers.not_trained", {"name": name}), asked)
    methods_of = {one.name: one for one in methods(ast.parse(built.text).body[0])} if built.text else {}
    if (forward := methods_of.get("forward")) and (made := MAKES.search(ast.unparse(forward))):
        yield in_a_row(Finding("layers.made_anew", {"layer": made[0]}), asked)
    if (begin := methods_of.get("__init__")) and "..." in map(ast.unparse, begin.body):
        yield in_a_row(Finding("layers.dots_in_init"), asked)


# ---- the stub


def methods(tree: ast.ClassDef) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def stub_of(text: str) -> str:
    """The source of a class with its docstring and its methods' first lines, but `...` instead of their bodies."""
    lines, (tree,) = text.splitlines(), ast.parse(text).body
    begin = tree.body[0].end_lineno if ast.get_docstring(tree) is not None else methods(tree)[0].lineno - 1
    stub = [*lines[tree.lineno - 1 : begin]]
    for method in methods(tree):
        docstring = ast.get_docstring(method) is not None
        head = method.body[0].end_lineno if docstring else method.body[0].lineno - 1
        body = ["super().__init__()", "..."] if method.name == "__init__" else ["return ..."]
        stub += ["", *lines[method.lineno - 1 : head], *(" " * 8 + line for line in body)]
    return "\n".join(stub)


def is_stub_of_class(text: str) -> bool:
    """Is there nothing in any method but its docstring, `super().__init__()`, `...` and `return ...`?"""
    (tree,) = ast.parse(text).body
    left = {"super().__init__()", "...", "return ...", "pass", "raise NotImplementedError"}
    bodies = [one.body[ast.get_docstring(one) is not None :] for one in methods(tree)]
    is_all = len(bodies) == len(tree.body) - (ast.get_docstring(tree) is not None)
    return is_all and all(ast.unparse(line) in left for body in bodies for line in body)
