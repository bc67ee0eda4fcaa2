"""What the judge is told of the course whose exercises it judges: nothing else of it is known here."""

import math
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import torch

IMPORTS: dict[str, Any] = {  # what a row may use, besides the names of its module
    "F": torch.nn.functional,
    "math": math,
    "nn": torch.nn,
    "np": np,
    "torch": torch,
}
WATCHED: list[ModuleType] = []  # modules that answers call, in which nothing may stay exchanged
NOUNS: set[str] = set()  # variables of references whose names say what a step is
PARAMETERS: list[str] = []  # how the names of parameters that an exercise hands over begin
_hints: list[Callable[[], bool]] = [lambda: True]


def configure(
    imports: Mapping[str, Any],
    watched: Iterable[ModuleType],
    nouns: Iterable[str],
    parameters: Iterable[str],
    hints: Callable[[], bool],
) -> None:
    """Tell the judge what answers and rows may use, which modules are watched, what is a noun, how the names of
    parameters begin, and whether hints are given at the moment."""
    IMPORTS.update(imports)
    WATCHED.extend(watched)
    NOUNS.update(nouns)
    PARAMETERS.extend(parameters)
    _hints[:] = [hints]


def hints_are_given() -> bool:
    """Are hints given, or is the work marked?"""
    return _hints[0]()
