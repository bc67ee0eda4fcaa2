"""The axes that a docstring names by letters, and how long they are in a draw."""

import inspect
import re

from torch import Tensor

TABLE = 64  # what ends at 8, 16 or 32 ends before it
AXES = r"\b{}((?:, \w+)*(?: and \w+)?) \(([^()]*)\)"


def letters(reference):
    """The letters of each argument's axes, also where several share them: "W_q, W_k and W_v (d, e)"."""
    text, found = inspect.getdoc(reference), {}
    for name in inspect.signature(reference).parameters:
        if shape := re.search(AXES.format(name), text):
            found[name] = [letter.strip() for letter in shape[2].split(",")]
    return found


def lengths(reference, arguments):
    """How long each letter is in a draw; `…-1` and so on are the axes in front, counted from the last of them."""
    known, found = letters(reference), {}
    for name, value in arguments.items():
        if isinstance(value, int) and not isinstance(value, bool):
            found[name] = value
        if isinstance(value, Tensor) and name in known:
            own = [letter for letter in known[name] if letter != "…"]
            front = value.shape[: max(0, value.ndim - len(own))] if "…" in known[name] else ()
            found |= {f"…-{place}": size for place, size in enumerate(reversed(front), start=1)}
            found |= {letter: size for letter, size in zip(own[::-1], value.shape[::-1]) if letter.isidentifier()}
    return found
