"""A ✔ holds for all that the docstring allows: at its edges, for long inputs, and for all that notebooks hand over."""

import functools
import inspect
import re
import textwrap
from pathlib import Path

import pytest
import torch
from docstring_axes import TABLE, lengths
from learner import written
from torch import Tensor

from utils.exercises import catalogue, use

ROOT = Path(__file__).parent
KNOWN = catalogue()
NO_LENGTH = {"pad_id", "num_layers", "…-2", "…-3"}  # a number that is no length, or the outer of several batches
BOUNDED = {"looks": {"b"}, "pack_attention": {"p"}}  # the axis goes with another one, which is long


class TooLong(Exception):
    pass


def only_up_to(size, letter, found):
    """The course's own answer, as if it held a table of `size` along one letter of its docstring."""
    is_class = found.asked == "class"
    course = found.course.forward if is_class else found.course

    @functools.wraps(course)
    def answer(*arguments):
        names = ["self", *found.reference.inputs] if is_class else inspect.signature(course).parameters
        if lengths(found.reference, dict(zip(names, arguments))).get(letter, 0) > size:
            raise TooLong(letter)
        return course(*arguments)

    return type(found.name, (found.course,), {"forward": answer}) if is_class else answer


def letters_of(found):
    """The lengths that a docstring names, and those of tensors of which it says nothing by a letter of its own."""
    drawn = [lengths(found.reference, arguments) for arguments in found.inputs()]
    sizes = found.reference.sizes if found.asked == "class" else ()  # a layer is made for its sizes
    return sorted({letter for lengths_drawn in drawn for letter in lengths_drawn}.difference(NO_LENGTH, sizes))


@pytest.mark.parametrize("name", KNOWN)
def test_no_table_of_fixed_size_passes(name):
    found = KNOWN[name]
    for letter in letters_of(found):
        verdict = found.verdict(only_up_to(TABLE, letter, found), search=False)
        assert verdict.status == "wrong", letter


@pytest.mark.parametrize("name", KNOWN)
def test_some_input_is_longer_than_any_table(name):
    """Also where the docstring names lengths in words: every list, string and axis that can be long is so once."""
    found, longest = KNOWN[name], 0
    for arguments in [*found.inputs(), *(arguments for _, arguments in found.edges())]:
        for value in arguments.values():
            sizes = value.shape if isinstance(value, Tensor) else [value] if type(value) is int else []
            sizes = [len(value)] if isinstance(value, (list, str)) else sizes
            longest = max(longest, *sizes, 0)
    assert longest > TABLE or all(type(value) is bool for value in arguments.values())


# ---- wrong at an edge

CASES = re.findall(r"^### (\w+)\n(.*?)\n\n", (ROOT / "wrong_at_edges.txt").read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name, code", CASES, ids=[f"{name}-{number}" for number, (name, _) in enumerate(CASES)])
def test_what_is_wrong_at_an_edge_gets_no_tick(name, code):
    verdict = KNOWN[name].verdict(written(code, name, F=torch.nn.functional))
    assert verdict.status == "wrong" and not re.search("NameError|SyntaxError", verdict.message), verdict.message


def test_the_edge_is_named_and_a_leak_measured():
    verdict = KNOWN["causal_mask"].verdict(written("return torch.ones(64, 64).tril().bool()[:n, :n]", "causal_mask"))
    assert verdict.message.startswith("your function is right on the 5 usual inputs, but not for 70 tokens: ")
    leaking = written(
        "return right(scores, mask) + 1e-9 * ~mask", "masked_softmax", right=KNOWN["masked_softmax"].reference
    )
    said = KNOWN["masked_softmax"].verdict(leaking).message
    assert "what the mask hides is 1e-09 in your result and should be exactly 0" in said


def test_gradients_that_are_nan_are_told_where_nothing_is_trained():
    nan = written(
        "w = torch.softmax(scores + torch.where(mask, 0.0, -math.inf), -1)\nreturn w.nan_to_num(0.0)", "masked_softmax"
    )
    verdict, safe = (
        KNOWN["masked_softmax"].verdict(nan),
        KNOWN["masked_softmax"].verdict(KNOWN["masked_softmax"].answers[0]),
    )
    assert verdict.status == safe.status == "right"
    assert "For some inputs the gradients through it are NaN" in verdict.message
    assert "NaN" not in safe.message


# ---- what `use` hands on


def test_use_hands_on_numbers_as_precise_as_what_comes_in():
    """Python's own numbers have all digits of float64: to keep them is all that it takes."""
    a = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    body = "return sum(x * x for x in a.tolist()) ** 0.5"
    assert use(written(body, "magnitude"))(a).item() == pytest.approx(14**0.5, rel=1e-15)
    weights, values = torch.rand(5, dtype=torch.float64), torch.rand(5, 3, dtype=torch.float64)
    body = "return [sum(w * v for w, v in zip(weights.tolist(), column)) for column in values.T.tolist()]"
    torch.testing.assert_close(use(written(body))(weights, values), weights @ values, rtol=1e-14, atol=0)


LOOP = """
*lead, h, n, e = heads.shape
rows = torch.zeros(*lead, n, h * e)
for i in range(h):
    rows[..., i * e : (i + 1) * e] = heads[..., i, :, :]
return rows
"""


def test_a_right_answer_that_loses_digits_is_right_and_says_so():
    """The commonest way to write a loop: torch.zeros without a dtype is float32. The notebook needs what came in."""
    answer = written(LOOP, "merge_heads")
    verdict = KNOWN["merge_heads"].verdict(answer)
    assert (verdict.status, verdict.exact) == ("right", False)
    assert "float32 comes out, so use(…) continues with the course's function there." in verdict.message
    heads = torch.rand(2, 3, 4, dtype=torch.float64)
    assert torch.equal(use(answer)(heads), KNOWN["merge_heads"].reference(heads))
    assert (
        torch.equal(use(answer)(heads.float()), answer(heads.float()))
        and use(answer)(heads.float()).dtype == torch.float32
    )
    careful = written(LOOP.replace("h * e)", "h * e, dtype=heads.dtype)", 1), "merge_heads")
    assert KNOWN["merge_heads"].verdict(careful).exact and use(careful) is careful


def test_use_detaches_what_goes_into_an_answer_through_which_nothing_is_trained():
    seen = []
    right = written(
        "seen.append(query.requires_grad)\nreturn np.asarray(keys) @ np.asarray(query) / query.shape[0] ** 0.5",
        "attention_scores",
        seen=seen,
    )
    query, keys = torch.randn(4, requires_grad=True), torch.randn(5, 4, requires_grad=True)
    expected = KNOWN["attention_scores"].reference(query, keys)
    torch.testing.assert_close(use(right)(query, keys), expected.detach())
    assert not any(seen) and not use(right)(query, keys).requires_grad


def test_a_result_of_inference_mode_can_be_written_into():
    right = written("with torch.inference_mode():\n    return keys @ query / query.shape[0] ** 0.5", "attention_scores")
    result = use(right)(torch.randn(4), torch.randn(5, 4))
    result[0] = 1.0
    assert result[0] == 1.0


def test_use_leaves_gradients_to_what_is_trained_through():
    right = written("return projected.unflatten(-1, (num_heads, -1)).transpose(-3, -2)", "split_heads")
    assert use(right)(torch.randn(3, 8, requires_grad=True), 2).requires_grad


@pytest.mark.parametrize("name", ["attention_scores", "self_attention", "cross_attention"])
def test_a_root_in_float32_is_right_and_said_to_be_rounded(name):
    """math.sqrt(d_k) as torch.sqrt(torch.tensor(d_k)): off by 1e-8 where d_k is not a power of 4."""
    code = textwrap.dedent(inspect.getsource(KNOWN[name].reference))
    body = re.sub(r'\A.*?""".*?"""\n', "", code, flags=re.DOTALL)
    rounded = body.replace("math.sqrt(keys", "torch.sqrt(torch.tensor(keys").replace(
        "math.sqrt(K", "torch.sqrt(torch.tensor(K"
    )
    rounded = rounded.replace("math.sqrt(query", "torch.sqrt(torch.tensor(query").replace("shape[-1])", "shape[-1]))")
    verdict = KNOWN[name].verdict(written(textwrap.dedent(rounded), name))
    assert rounded != body and (verdict.status, verdict.exact) == ("right", False), verdict.message
