"""What a learner writes in a cell, and what `check` prints of it."""

import inspect
import linecache
import math

import numpy as np
import torch

from utils.attention import MultiHeadAttention
from utils.exercises import catalogue, check
from utils.judge.exercise import ClassExercise

# What other cells of a notebook may have left.
NOTEBOOK = {"X": torch.ones(5, 16), "S": torch.ones(5), "five": 5}
NOTEBOOK |= {"MultiHeadAttention": MultiHeadAttention, "merge": catalogue()["merge_heads"]}
NOTEBOOK |= {name: torch.ones(5, 16) for name in "QKV"}
NOTEBOOK["attend"] = torch.nn.functional.scaled_dot_product_attention

PROJECTIONS = "".join(f"        self.W_{name} = nn.Linear(d_model, d_head, bias=False)\n" for name in "qkv")


def written(body, name="weighted_sum", parameters=None, filename="/tmp/ipykernel_4711/815.py", **notebook):
    """A function as a learner writes it in a cell: its lines are in linecache under a made-up file name. Of a class it
    is `forward` that has this body.

    `notebook` holds the variables of other cells.
    """
    found = catalogue().get(name)
    parameters = parameters or ", ".join(inspect.signature(found.reference).parameters if found else ["weights"])
    if found and isinstance(found, ClassExercise):
        code = found.stub.removesuffix("return ...").replace("        ...\n", PROJECTIONS)
        code += body.replace("\n", "\n        ") + "\n"
    else:
        code = f"def {name}({parameters}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    linecache.cache[filename] = (len(code), None, code.splitlines(True), filename)
    namespace = {"torch": torch, "np": np, "math": math, "nn": torch.nn, "__name__": "__main__", **notebook}
    exec(compile(code, filename, "exec"), namespace)
    return namespace[name]


def said(capsys, function):
    """What `check` prints."""
    capsys.readouterr()
    check(function)
    return capsys.readouterr().out


def file_of(answer):
    """The file, or what stands for it, in which a function or the first method of a class was written."""
    return next(one for one in (answer, *vars(answer).values()) if hasattr(one, "__code__")).__code__.co_filename
