"""Where an exception arose in the learner's code, and torch's own words for shapes that do not fit."""

import ast
import inspect
import linecache
from collections.abc import Callable

from ..wording import (
    shorten,
)

PRODUCTS = (  # torch's words for the two shapes of a matrix, matrix-vector or vector product that do not fit
    r"mat1 and mat2 shapes cannot be multiplied \((?P<left>\d+x\d+) and (?P<right>\d+x\d+)\)",
    r"size mismatch, got input \(\d+\), mat \((?P<left>\d+x\d+)\), vec \((?P<right>\d+)\)",
    r"inconsistent tensor size, expected tensor \[(?P<left>\d+)\] and src \[(?P<right>\d+)\].*",
    r"Expected size for first two dimensions of batch2 tensor to be: \[(?P<left>\d+, \d+)\] "
    r"but got: \[(?P<right>\d+, \d+)\].*",
)
BROADCAST = r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension \d+"

LONGEST = 5000  # characters of an exception's message: what reads it may take time for each


def text_of(error: BaseException) -> str:
    try:
        return str(error)[:LONGEST]
    except Exception:
        return ""


def own_frames(error: BaseException, function: Callable) -> list:
    """The traceback's entries in the file or notebook cell where `function` was written, the innermost first."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    found, entry = [], error.__traceback__
    while entry is not None:
        if code is not None and entry.tb_frame.f_code.co_filename == code.co_filename:
            found.append(entry)
        entry = entry.tb_next
    return found[::-1]


def own_frame(error: BaseException, function: Callable):
    """The innermost of own_frames, or None."""
    return next(iter(own_frames(error, function)), None)


def own_line(error: BaseException, function: Callable) -> str:
    """The learner's line that raised, as they wrote it. Notebook cells, too, are in linecache."""
    frame = own_frame(error, function)
    line = linecache.getline(frame.tb_frame.f_code.co_filename, frame.tb_lineno).strip() if frame else ""
    return shorten(line, 100)


def own_loop(error: BaseException, function: Callable) -> str:
    """The first line of the loop in which the learner's code was stopped, a `while` if there is one; else ""."""
    for entry in own_frames(error, function)[:100]:
        lines = linecache.getlines(entry.tb_frame.f_code.co_filename)
        try:
            nodes = list(ast.walk(ast.parse("".join(lines))))
        except SyntaxError:
            return ""
        around = [node for node in nodes if isinstance(node, (ast.For, ast.While))]
        around = [node for node in around if node.lineno <= entry.tb_lineno <= node.end_lineno]
        if around:
            loop = max(around, key=lambda node: (isinstance(node, ast.While), node.lineno))
            return shorten(lines[loop.lineno - 1].strip(), 100)
    return ""
