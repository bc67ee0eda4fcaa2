"""Mistakes that can be made in any exercise: an argument exchanged, turned round or left out; a step too many at the end.

Each is a change of what goes into a function, or of what comes out of it, with a sentence of `sentences/en.txt`. They are tried
on the reference, and on the known mistakes of an exercise, as a second thing that went wrong. Beside each is an
example, "exercise: body", an answer of which the sentence is said: the tests judge it.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..verdict import Finding

MINUS = "- x"  # the sign turned round


class Variant(NamedTuple):
    """What is said of it, and how it changes a function: other arguments go in, or something is done with what comes out.

    `trace` is what an answer's code has to hold for the sentence to be said beside another: numbers alone can fit by
    chance.
    """

    name: str
    said: Finding
    before: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    after: Callable[[Any], Any] | None = None
    trace: str = ""
    example: str = ""

    def applied_to(self, function: Callable, names: list[str]) -> Callable:
        """`function` of these parameters with the other arguments; None comes out where they make no sense. What is done
        with a result, `after`, is not: so the result itself is computed once."""
        if self.before is None:
            return function

        def changed(*values):
            try:
                return function(*self.before(dict(zip(names, values))).values())
            except Exception:
                return None

        return changed


def of_arguments(arguments: dict[str, Any]) -> Iterator[Variant]:
    """The changes that the arguments of an exercise allow."""
    for one, other in itertools.combinations(arguments, 2):
        if _exchangeable(arguments[one], arguments[other]):
            yield Variant(
                f"{one} ⇄ {other}",
                Finding("arguments.exchanged", {"one": one, "other": other}, (f"{one} ⇄ {other}",)),
                lambda given, one=one, other=other: given | {one: given[other], other: given[one]},
            )
    for name, value in arguments.items():
        for sign, change, _ in ALTERED:
            if _fits(value, sign):
                yield Variant(
                    f"{name} {sign}",
                    Finding(f"arguments.{sign}", {"name": name}, (f"{name} {sign}",)),
                    lambda given, name=name, change=change: given | {name: change(given[name])},
                )


def _exchangeable(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.ndim == other.ndim and one.dtype == other.dtype
    return type(one) is type(other) and (callable(one) or type(one) in (int, float, list))


def _fits(value: Any, sign: str) -> bool:
    """Can a value be altered so? Floats can be negated, truths inverted, …"""
    if isinstance(value, bool):
        return sign == "inverted"
    if not isinstance(value, Tensor):
        return type(value) is int and sign in ("+ 1", "- 1")
    if value.dtype == torch.bool:
        return sign in ("inverted", "first")
    if sign in ("transposed", "first", "backwards"):
        return value.ndim >= 2
    return value.is_floating_point() and sign in ("negated", "= 0", "= 1", "squared", "doubled", "whole")


EXCHANGED = "elman_step: return torch.tanh(x @ W + bias @ U + state)"  # an example
ALTERED = (  # how a value is altered, how it is done, an example
    ("inverted", lambda x: ~x if isinstance(x, Tensor) else not x,
        "mean_cut: return added[~real].mean(0).expand_as(added)"),
    ("transposed", lambda x: x.mT,
        "padding_mask: return (tokens.mT != pad_id)[:, None, None]"),
    ("negated", torch.neg,
        "elman_step: return torch.tanh(x @ W - state @ U + bias)"),
    ("= 0", torch.zeros_like,
        "weighted_sum: return torch.zeros_like(weights) @ values"),
    ("= 1", torch.ones_like,
        "analogy_target: return b - a + 1"),
    ("squared", torch.square,
        "analogy_target: return b**2 - a + c"),
    ("whole", torch.trunc,
        "dot_product: return (a.int() * b).sum()"),
    ("doubled", lambda x: 2 * x,
        "elman_step: return torch.tanh(x @ W + 2 * state @ U + bias)"),
    ("first", lambda x: x[:1].expand_as(x),
        "weighted_sum: return weights.sum() * values[0]"),
    ("backwards", lambda x: x.flip(-2),
        "context_vector: return weights @ states.flip(1)"),
    ("+ 1", lambda x: x + 1,
        "output_shape: return n_queries + 1, d_value"),
    ("- 1", lambda x: x - 1,
        "output_shape: return n_queries - 1, d_value"),
)  # fmt: skip


def _one_hot(x: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(x.argmax(-1), x.shape[-1]).to(x.dtype)


AXES = r"\.m?T\b|\bt\(|transpose|permute|swap|movedim|einsum|tensordot"
TRACES = {  # what of a result's change is to be seen in the code
    "transposed": AXES, "first two axes": AXES, "middle axes": AXES,
    "x²": r"\*\* ?2|square|pow", "√x": "sqrt|0\\.5|pow|norm", "|x|": "abs|norm", "relu": "relu|clamp|max",
    "exp": "exp", "log": "log", "tanh": "tanh", "sigmoid": "sigmoid|exp", "softmax": "softmax|exp", "softmax -2": "softmax|exp",
    "log softmax": "log", "one-hot": "one_hot|argmax|max", "rounded": "round", "cut off": "int|long|//|trunc|floor", "floor": "//|floor",
    "two decimals": "round", "cumsum": "cumsum|for ", "row sums 1": "sum", "length 1": "norm", "centred": "mean", "sorted": "sort|topk",
    "shifted right": r"roll|cat|\[.*:|range", "shifted left": r"roll|cat|\[.*:|range", "rows shifted down": r"roll|cat|\[.*:|range",
    "rows shifted up": r"roll|cat|\[.*:|range", "first repeated": r"\[0\]|\[:1\]", "last repeated": r"\[-1\]|\[-1:\]|for ",
    "lower triangle": "tril|triu", "upper triangle": "tril|triu", "diagonal alone": "diag", "without diagonal": "diag|eye|tri",
    "1 / x": "/|reciprocal|-1", "2 x": r"2|\+", "x / 2": "/|0\\.5|mean", "100 x": "100", "1 - x": r"1 -|~", "~x": "~|not|!=|==|<|>",
    "backwards": r"flip|-1|reversed", "rows backwards": "flip|reversed|-1", "first axis backwards": "flip|reversed|-1",
    "heads backwards": "flip|reversed|-1", "mean of -1": "mean|/", "mean of -2": "mean|/", "mean of 0": "mean|/", "mean of all": "mean|/",
}  # fmt: skip
OF_RESULTS = tuple(
    Variant(name, Finding(f"results.{name}", names=(name,)), after=lambda x, after=after, name=name: after(x) if type(x) not in (tuple, list) or type(x) is tuple and name == "reversed" else None, trace=TRACES.get(name, ""), example=example)
    for name, after, example in (
        ("transposed", lambda x: x.mT,
            "project_per_head: return (X @ W).mT"),
        ("first two axes", lambda x: x.transpose(0, 1),
            "merge_heads: return heads.transpose(-3, -2).flatten(-2).transpose(0, 1)"),
        ("middle axes", lambda x: x.transpose(-2, -3),
            "combine_heads: return (heads @ W_o).sum(-3).transpose(-2, -3)"),
        ("reversed", lambda x: x[::-1],
            "shift_target: return mask[:, 1:], target[:, 1:], target[:, :-1]"),
        (MINUS, lambda x: -x,
            "weighted_sum: return -weights @ values"),
        ("1 - x", lambda x: 1 - x,
            "weighted_sum: return 1 - weights @ values"),
        ("~x", lambda x: ~x if x.dtype == torch.bool else None,
            "control_starts: s = torch.arange(n - size + 1)\nb, e = planted[..., None], (planted + lengths)[..., None]\nreturn ((s + size > b) & (s < e) & ~(b < 0)).any(1)"),
        ("1 / x", lambda x: 1 / x,
            "weighted_sum: return 1 / (weights @ values)"),
        ("x²", lambda x: x * x,
            "weighted_sum: return (weights @ values) ** 2"),
        ("√x", torch.sqrt,
            "dot_product: return (a @ b).sqrt()"),
        ("|x|", torch.abs,
            "dot_product: return abs(a @ b)"),
        ("relu", torch.relu,
            "dot_product: return max(0, a @ b)"),
        ("exp", torch.exp,
            "perplexity: return torch.exp(torch.exp(-probabilities.log().mean()))"),
        ("log", torch.log,
            "dot_product: return torch.log(a @ b)"),
        ("tanh", torch.tanh,
            "weighted_sum: return torch.tanh(weights @ values)"),
        ("sigmoid", torch.sigmoid,
            "attention_scores: return torch.sigmoid(keys @ query / math.sqrt(len(query)))"),
        ("softmax", lambda x: torch.softmax(x, -1),
            "weighted_sum: return torch.softmax(weights @ values, -1)"),
        ("softmax -2", lambda x: torch.softmax(x, -2),
            "tied_logits: return torch.softmax(states @ E.T, -2)"),
        ("log softmax", lambda x: torch.log_softmax(x, -1),
            "weighted_sum: return torch.log_softmax(weights @ values, -1)"),
        ("one-hot", _one_hot,
            "analogy_target: x = b - a + c\nreturn F.one_hot(x.argmax(), len(x)).to(x.dtype)"),
        ("rounded", torch.round,
            "dot_product: return round(float(a @ b))"),
        ("cut off", torch.trunc,
            "dot_product: return int(a @ b)"),
        ("floor", torch.floor,
            "weighted_sum: return weights @ values // 1"),
        ("2 x", lambda x: 2 * x,
            "weighted_sum: return 2 * weights @ values"),
        ("x / 2", lambda x: x / 2,
            "weighted_sum: return weights @ values / 2"),
        ("100 x", lambda x: 100 * x,
            "cosine_similarity: return 100 * a @ b / (a.norm() * b.norm())"),
        ("x + 1", lambda x: x + 1,
            "weighted_sum: return weights @ values + 1"),
        ("x - 1", lambda x: x - 1,
            "weighted_sum: return weights @ values - 1"),
        ("cumsum", lambda x: x.cumsum(-1),
            "weighted_sum: return (weights @ values).cumsum(-1)"),
        ("row sums 1", lambda x: x / x.sum(-1, keepdim=True),
            "analogy_target: x = b - a + c\nreturn x / x.sum()"),
        ("length 1", lambda x: torch.nn.functional.normalize(x, dim=-1),
            "weighted_sum: x = weights @ values\nreturn x / x.norm()"),
        ("centred", lambda x: x - x.mean(-1, keepdim=True),
            "analogy_target: x = b - a + c\nreturn x - x.mean()"),
        ("backwards", lambda x: x.flip(-1),
            "weighted_sum: return (weights @ values).flip(-1)"),
        ("rows backwards", lambda x: x.flip(-2),
            "merge_query_key: return (W_q @ W_k.T).flip(-2)"),
        ("first axis backwards", lambda x: x.flip(0),
            "project_per_head: return (X @ W).flip(0)"),
        ("heads backwards", lambda x: x.flip(-3),
            "combine_heads: return (heads @ W_o).sum(-3).flip(-3)"),
        ("two decimals", lambda x: torch.round(x, decimals=2),
            "dot_product: return round(float(a @ b), 2)"),
        ("sorted", lambda x: x.sort(-1).values,
            "attention_scores: return (keys @ query / math.sqrt(len(query))).sort().values"),
        ("shifted right", lambda x: x.roll(1, -1),
            "weighted_sum: return (weights @ values).roll(1)"),
        ("shifted left", lambda x: x.roll(-1, -1),
            "weighted_sum: return (weights @ values).roll(-1)"),
        ("rows shifted down", lambda x: x.roll(1, -2),
            "merge_query_key: return (W_q @ W_k.T).roll(1, 0)"),
        ("rows shifted up", lambda x: x.roll(-1, -2),
            "merge_query_key: return (W_q @ W_k.T).roll(-1, 0)"),
        ("first repeated", lambda x: x[:1].expand_as(x),
            "merge_query_key: return (W_q[:1] @ W_k.T).expand(len(W_q), -1)"),
        ("last repeated", lambda x: x[-1:].expand_as(x),
            "merge_query_key: return (W_q[-1:] @ W_k.T).expand(len(W_q), -1)"),
        ("lower triangle", torch.tril,
            "merge_query_key: return (W_q @ W_k.T).tril()"),
        ("upper triangle", torch.triu,
            "merge_query_key: return (W_q @ W_k.T).triu()"),
        ("diagonal alone", lambda x: x.diagonal(dim1=-2, dim2=-1),
            "merge_query_key: return (W_q @ W_k.T).diagonal()"),
        ("without diagonal", lambda x: x - torch.diag_embed(x.diagonal(dim1=-2, dim2=-1)),
            "merge_query_key: return (W_q @ W_k.T).fill_diagonal_(0)"),
        ("added over -1", lambda x: x.sum(-1),
            "merge_query_key: return (W_q @ W_k.T).sum(-1)"),
        ("added over -2", lambda x: x.sum(-2),
            "tied_logits: return (states @ E.T).sum(-2)"),
        ("added over 0", lambda x: x.sum(0),
            "merge_heads: return heads.transpose(-3, -2).flatten(-2).sum(0)"),
        ("mean of -1", lambda x: x.mean(-1),
            "merge_query_key: return (W_q @ W_k.T).mean(-1)"),
        ("mean of -2", lambda x: x.mean(-2),
            "tied_logits: return (states @ E.T).mean(-2)"),
        ("mean of 0", lambda x: x.mean(0),
            "project_per_head: return (X @ W).mean(0)"),
        ("mean of all", torch.mean,
            "merge_query_key: return (W_q @ W_k.T).mean()"),
        ("first alone", lambda x: x[0],
            "weighted_sum: return weights @ values[:, 0]"),
        ("last alone", lambda x: x[-1],
            "weighted_sum: for column in values.T:\n    entry = weights @ column\nreturn entry"),
        ("without the first", lambda x: x[1:],
            "weighted_sum: return weights @ values[:, 1:]"),
        ("without the last", lambda x: x[:-1],
            "weighted_sum: return weights @ values[:, :-1]"),
        ("flat", lambda x: x.flatten(-2).flatten(),
            "merge_query_key: return (W_q @ W_k.T).flatten()"),
        ("last two axes flat", lambda x: x.flatten(-2),
            "project_per_head: return (X @ W).flatten(-2)"),
        ("first two axes flat", lambda x: x.flatten(0, 1),
            "merge_heads: return heads.transpose(-3, -2).flatten(-2).flatten(0, 1)"),
        ("squeezed", torch.squeeze,
            "tied_logits: return (states @ E.T).squeeze()"),
        ("an axis in front", lambda x: x[None],
            "analogy_target: return (b - a + c)[None]"),
        ("an axis behind", lambda x: x[..., None],
            "weighted_sum: return values.T @ weights[:, None]"),
    )
)  # fmt: skip
LAST_STEPS = (  # what would make a result the right one, by name, and an example
    ("softmax", lambda x: torch.softmax(x, -1),
        "softmax: return scores - scores.amax(-1, keepdim=True)"),
    ("sum_last", lambda x: x.sum(-1),
        "tied_logits: return states[:, :, None] * E"),
    ("sum_second_last", lambda x: x.sum(-2),
        "context_vector: return weights[..., None] * states[:, None]"),
    ("sum_first", lambda x: x.sum(0),
        "merge_query_key: return W_q.T[:, :, None] * W_k.T[:, None]"),
    ("mean_last", lambda x: x.mean(-1),
        "weighted_sum: return len(weights) * (weights * values.T)"),
    ("mean_first", lambda x: x.mean(0),
        "weighted_sum: return len(weights) * weights[:, None] * values"),
    ("sum", lambda x: x.sum(),
        "hidden_patch_loss: squares = (prediction - patches) ** 2\nreturn squares[hidden] / hidden.sum() / squares.shape[-1]"),
    ("mean", lambda x: x.mean(),
        "hidden_patch_loss: return ((prediction - patches) ** 2)[hidden]"),
    ("divide_by_row_sums", lambda x: x / x.sum(-1, keepdim=True),
        "softmax: return torch.exp(scores - scores.amax(-1, keepdim=True)) / scores.shape[-1]"),
)  # fmt: skip
