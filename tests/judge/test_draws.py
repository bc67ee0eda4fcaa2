"""Draws tell apart what is not the same: axes of different names, and -∞ from a number that is only low."""

import inspect
import itertools
import re
import textwrap

import pytest
import torch
from docstring_axes import lengths
from learner import written
from torch import Tensor

from utils.exercises import catalogue

# The weights of self-attention: each word asks, and each is asked. A layer that is made for the width of its input.
SQUARE = {"looks": {"q", "k", "n"}, "SelfAttention": {"d_model", "d"}}


@pytest.mark.parametrize("name", catalogue())
def test_two_different_axes_are_not_always_equally_long(name):
    found = catalogue()[name]
    draws = [lengths(found.reference, arguments) for arguments in found.inputs()]
    for one, other in itertools.combinations(dict.fromkeys(letter for draw in draws for letter in draw), 2):
        both = [(draw[one], draw[other]) for draw in draws if one in draw and other in draw]
        is_square = {one, other} <= SQUARE.get(name, set())
        assert is_square or not both or any(size != another for size, another in both), (one, other)


LOW = {
    "-10,000 in its place": r"\1.masked_fill(\2, -1e4)",
    "the least number of half precision in its place": r"\1.masked_fill(\2, -65504.0)",
    "-10,000 added": r"(\1 - 1e4 * (\2))",
}
HIDES = [
    name
    for name, found in catalogue().items()
    if re.search(r"\w+\.masked_fill\(.*-math\.inf", inspect.getsource(found.course))
]


def test_there_are_exercises_that_hide_scores():
    assert len(HIDES) > 5


@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("name", HIDES)
def test_a_number_that_is_only_low_does_not_hide(name, low):
    reference = catalogue()[name].reference
    code = textwrap.dedent(inspect.getsource(reference))
    body = textwrap.dedent(code[code.index(":\n", code.index("def ")) + 2 :])
    pattern = r"(\w+)\.masked_fill\(((?:[^()]|\([^()]*\))*), -math\.inf\)"
    assert catalogue()[name].verdict(written(body, name)).status == "right"
    finite = re.sub(pattern, LOW[low], body)
    assert finite != body and catalogue()[name].verdict(written(finite, name), search=False).status == "wrong"


def test_outputs_that_move_by_little_have_moved():
    body = """
before, columns = run(tokens), []
for j in range(tokens.shape[1]):
    other = tokens.clone()
    other[0, j] += 1
    columns.append(((run(other) - before).abs() > {})[0].any(dim=-1))
return torch.stack(columns, dim=-1)
"""
    moves = catalogue()["moves"]
    assert moves.verdict(written(body.format(1e-6), "moves")).status == "right"
    assert moves.verdict(written(body.format(0.5), "moves")).status == "wrong"
    first = body.replace("[0].any(dim=-1)", "[0, :, 0]").format(1e-6)
    assert "all of its numbers" not in moves.verdict(written(first, "moves")).message


def test_draws_are_finite_where_nothing_else_is_announced():
    for name in HIDES:
        for arguments in catalogue()[name].inputs():
            floats = [x for x in arguments.values() if isinstance(x, Tensor) and x.is_floating_point()]
            assert all(bool(torch.isfinite(x).all()) for x in floats), name
