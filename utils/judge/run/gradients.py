"""What of a right answer's gradients and digits is lost."""

import re
from collections.abc import Iterator
from typing import Any

import torch

from ..compare import FLOATS, as_asked, as_tensor, is_exact
from ..run.calls import Run
from ..verdict import Finding
from ..wording import listed, shorten

CUTS = re.compile(r"detach|\.data\b|item\(|tolist|tensor\(|Parameter\(|numpy|np\.|no_grad")  # out of the graph
AGAIN, IN_TRAINING, CUT_OFF = "gradients.again", "gradients.in_training", "gradients.cut_off"  # sentences


def in_double(value: Any) -> Any:
    """Floats and modules in float64, where gradients that cancel lose nothing to rounding."""
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if is_float or isinstance(value, torch.nn.Module) else value


def leaves_of(inputs: dict[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """What a gradient may reach, by name: tensors of floats, and the parameters of a module, such as `self`."""
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            yield name, value.requires_grad_()
        elif isinstance(value, torch.nn.Module):
            yield from ((f"{name}.{inner}", parameter) for inner, parameter in value.named_parameters())


def gradients_of(result: Any, leaves: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The gradients of a sum of all the results' numbers, each with a weight of its own; 0 where no way leads."""
    parts = [as_asked(part, leaves) for part in (result if isinstance(result, tuple) else [result])]
    total = sum((part * torch.arange(part.numel()).cos().view(part.shape)).sum() for part in parts)
    gradients = torch.autograd.grad(total, [*leaves.values()], allow_unused=True)
    pairs = zip(leaves.items(), gradients)
    return {name: torch.zeros_like(leaf) if gradient is None else gradient for (name, leaf), gradient in pairs}


def is_nan(gradient: torch.Tensor) -> bool:
    return bool(gradient.isnan().any())


def lost_gradients(names: list[str], is_nan: bool, text: str) -> Finding:
    """What is said of a right answer through which the gradients of `names` come wrong, or not at all."""
    fields = {"names": listed(f"`{name}`" for name in names)}
    if is_nan:
        return Finding("gradients.nan", fields)
    return Finding("gradients.cut" if not text or CUTS.search(text) else "gradients.lost", fields)


def cut_off(error: Exception, text: str) -> Finding:
    """What is said of a right answer through which no gradient can be computed: what changes a tensor in place, or what
    of its source takes numbers out of the graph."""
    if "inplace operation" in str(error) or "is a view" in str(error):
        return Finding("gradients.in_place")
    cutting = dict.fromkeys(CUTS.findall(text))
    if cutting:
        return Finding("gradients.cut_by", {"names": listed(f"`{one.strip('.(')}`" for one in cutting)})
    return Finding(CUT_OFF, {"why": shorten(str(error), 80)})


def lost_digits(done: Run) -> str:
    """How a right answer loses digits: a sentence of the section `digits`."""
    parts = zip(done.result, done.want) if isinstance(done.want, tuple) else [(done.result, done.want)]
    got, want = next((as_tensor(got), want) for got, want in parts if not is_exact(got, want))
    if want.dtype not in FLOATS:
        return "whole numbers"
    return "float32" if got.dtype == torch.float32 else "other"
