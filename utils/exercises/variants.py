"""Mistakes that can be made in any exercise: an argument exchanged, turned round or left out; a step too many at the end.

Each is a change of what goes into a function, or of what comes out of it, with the sentence that helps. They are tried
on the reference, and on the known mistakes of an exercise, as a second thing that went wrong. Beside each stands an
example, "exercise: body", an answer of which the sentence is said: the tests judge it.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Variant(NamedTuple):
    """A sentence, and how it changes a function: other arguments go in, or something is done with what comes out.

    `trace` is what an answer's code has to hold for the sentence to be said beside another: numbers alone can fit by
    chance.
    """

    name: str
    message: str
    before: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    after: Callable[[Any], Any] | None = None
    trace: str = ""
    example: str = ""

    def upon(self, function: Callable, names: list[str]) -> tuple[Callable, Callable | None]:
        """`function` of these parameters with the other arguments, and what is done with its result, if anything.

        None comes out where the exchange of arguments makes no sense.
        """
        if self.before is None:
            return function, self.after

        def changed(*values):
            try:
                return function(*self.before(dict(zip(names, values))).values())
            except Exception:
                return None

        return changed, None


def of_arguments(arguments: dict[str, Any]) -> Iterator[Variant]:
    """The changes that the arguments of an exercise allow."""
    for one, other in itertools.combinations(arguments, 2):
        if _exchangeable(arguments[one], arguments[other]):
            yield Variant(
                f"{one} ⇄ {other}",
                EXCHANGED[0].format(one=one, other=other),
                lambda given, one=one, other=other: given | {one: given[other], other: given[one]},
            )
    for name, value in arguments.items():
        for sign, message, change, _ in ALTERED:
            if _fits(value, sign):
                yield Variant(
                    f"{name} {sign}",
                    message.format(name=name),
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
        return sign in ("inverted", "all True", "first")
    if sign in ("transposed", "first", "backwards"):
        return value.ndim >= 2
    return value.is_floating_point() and sign in ("negated", "= 0", "= 1", "squared", "doubled", "whole")


EXCHANGED = (  # what is said, an example
    "{one} and {other} have changed places: each is used where the other belongs.",
    "elman_step: return torch.tanh(x @ W + bias @ U + state)",
)

ALTERED = (  # how a value is altered, what is said, how it is done, an example
    ("inverted", "{name} is used the wrong way round: what you do where it is True belongs where it is False.", lambda x: ~x if isinstance(x, Tensor) else not x,
        "count_parameters: return 4 * d_model**2 + (0 if bias else 4 * d_model)"),
    ("all True", "{name} has no effect: you return what comes out where it is True everywhere.", torch.ones_like,
        "sequence_cross_entropy: return F.cross_entropy(logits[mask >= 0], targets[mask >= 0], reduction='sum')"),
    ("transposed", "{name} is used with its last two axes exchanged.", lambda x: x.mT,
        "padding_mask: return (tokens.mT != pad_id)[:, None, None]"),
    ("negated", "{name} comes in with the wrong sign.", torch.neg,
        "elman_step: return torch.tanh(x @ W - state @ U + bias)"),
    ("= 0", "{name} has no effect: you return what comes out where it is 0.", torch.zeros_like,
        "weighted_sum: return torch.zeros_like(weights) @ values"),
    ("= 1", "{name} has no effect: you return what comes out where it is 1.", torch.ones_like,
        "analogy_target: return b - a + 1"),
    ("squared", "{name} is squared where it should be taken as it is.", torch.square,
        "analogy_target: return b**2 - a + c"),
    ("whole", "{name} is cut to whole numbers.", torch.trunc,
        "dot_product: return (a.int() * b).sum()"),
    ("doubled", "{name} counts twice.", lambda x: 2 * x,
        "elman_step: return torch.tanh(x @ W + 2 * state @ U + bias)"),
    ("first", "of {name} only the first entry along its first axis is used, for all the others, too.", lambda x: x[:1].expand_as(x),
        "weighted_sum: return weights.sum() * values[0]"),
    ("backwards", "{name} is read backwards along its second-to-last axis.", lambda x: x.flip(-2),
        "context_vector: return weights @ states.flip(1)"),
    ("+ 1", "{name} counts one too many.", lambda x: x + 1,
        "output_shape: return n_queries + 1, d_value"),
    ("- 1", "{name} counts one too few.", lambda x: x - 1,
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
    Variant(name, message, after=lambda x, after=after, name=name: after(x) if type(x) not in (tuple, list) or type(x) is tuple and name == "reversed" else None, trace=TRACES.get(name, ""), example=example)
    for name, message, after, example in (
        ("transposed", "you return the right result with its last two axes exchanged.", lambda x: x.mT,
            "project_per_head: return (X @ W).mT"),
        ("first two axes", "you return the right result with its first two axes exchanged.", lambda x: x.transpose(0, 1),
            "merge_heads: return heads.transpose(-3, -2).flatten(-2).transpose(0, 1)"),
        ("middle axes", "you return the right result with axes -2 and -3 exchanged.", lambda x: x.transpose(-2, -3),
            "combine_heads: return (heads @ W_o).sum(-3).transpose(-2, -3)"),
        ("reversed", "your tuple is in the wrong order: it is the right one from the back.", lambda x: x[::-1],
            "shift_target: return mask[:, 1:], target[:, 1:], target[:, :-1]"),
        ("- x", "the sign is turned round: you return minus the right result.", lambda x: -x,
            "weighted_sum: return -weights @ values"),
        ("1 - x", "you return 1 minus the right result.", lambda x: 1 - x,
            "weighted_sum: return 1 - weights @ values"),
        ("~x", "the sense is inverted: True and False have changed places.", lambda x: ~x if x.dtype == torch.bool else None,
            "adjacency_mask: mask = ~torch.eye(n, dtype=torch.bool)\nfor a, b in edges:\n    mask[a, b] = False\nreturn mask"),
        ("1 / x", "you return 1 divided by the right result: is a quotient upside down?", lambda x: 1 / x,
            "weighted_sum: return 1 / (weights @ values)"),
        ("x²", "you return the square of the right result: is a root missing?", lambda x: x * x,
            "weighted_sum: return (weights @ values) ** 2"),
        ("√x", "you return the root of the right result: there is a root too many.", torch.sqrt,
            "dot_product: return (a @ b).sqrt()"),
        ("|x|", "your numbers are right, but all positive: something takes their absolute value.", torch.abs,
            "dot_product: return abs(a @ b)"),
        ("relu", "right where it is positive, and 0 where it should be negative: something cuts it off at 0.", torch.relu,
            "dot_product: return max(0, a @ b)"),
        ("exp", "you return exp of the right result: there is an exp too many, or a log is missing.", torch.exp,
            "perplexity: return torch.exp(torch.exp(-probabilities.log().mean()))"),
        ("log", "you return the logarithm of the right result: there is a log too many, or an exp is missing.", torch.log,
            "dot_product: return torch.log(a @ b)"),
        ("tanh", "you return tanh of the right result: one tanh too many.", torch.tanh,
            "weighted_sum: return torch.tanh(weights @ values)"),
        ("sigmoid", "you return the sigmoid of the right result: one sigmoid too many.", torch.sigmoid,
            "attention_scores: return torch.sigmoid(keys @ query / math.sqrt(len(query)))"),
        ("softmax", "you return a softmax of the right result, over the last axis: one softmax too many.", lambda x: torch.softmax(x, -1),
            "weighted_sum: return torch.softmax(weights @ values, -1)"),
        ("softmax -2", "you return a softmax of the right result, over the axis before the last: one softmax too many.", lambda x: torch.softmax(x, -2),
            "tied_logits: return torch.softmax(states @ E.T, -2)"),
        ("log softmax", "you return the logarithm of a softmax of the right result.", lambda x: torch.log_softmax(x, -1),
            "weighted_sum: return torch.log_softmax(weights @ values, -1)"),
        ("one-hot", "your result has a 1 at the largest number of each row of the right one and 0 elsewhere: did argmax come in?", _one_hot,
            "analogy_target: x = b - a + c\nreturn F.one_hot(x.argmax(), len(x)).to(x.dtype)"),
        ("rounded", "your numbers are the right ones, rounded to whole numbers.", torch.round,
            "dot_product: return round(float(a @ b))"),
        ("cut off", "your numbers are the right ones without what stands behind the point: does int(…), // or a whole dtype cut it off?", torch.trunc,
            "dot_product: return int(a @ b)"),
        ("floor", "your numbers are the right ones, rounded down: `//` divides without remainder, `/` with it.", torch.floor,
            "weighted_sum: return weights @ values // 1"),
        ("2 x", "you return twice the right result.", lambda x: 2 * x,
            "weighted_sum: return 2 * weights @ values"),
        ("x / 2", "you return half the right result.", lambda x: x / 2,
            "weighted_sum: return weights @ values / 2"),
        ("100 x", "you return 100 times the right result: per cent are not asked for.", lambda x: 100 * x,
            "cosine_similarity: return 100 * a @ b / (a.norm() * b.norm())"),
        ("x + 1", "every number that you return is 1 too large.", lambda x: x + 1,
            "weighted_sum: return weights @ values + 1"),
        ("x - 1", "every number that you return is 1 too small.", lambda x: x - 1,
            "weighted_sum: return weights @ values - 1"),
        ("cumsum", "your result adds up along the last axis: each entry is the sum of the right ones up to there.", lambda x: x.cumsum(-1),
            "weighted_sum: return (weights @ values).cumsum(-1)"),
        ("row sums 1", "you return the right result, divided by the sum of each row.", lambda x: x / x.sum(-1, keepdim=True),
            "analogy_target: x = b - a + c\nreturn x / x.sum()"),
        ("length 1", "you return the right result, divided by the length of each row.", lambda x: torch.nn.functional.normalize(x, dim=-1),
            "weighted_sum: x = weights @ values\nreturn x / x.norm()"),
        ("centred", "you return the right result minus the mean of each row.", lambda x: x - x.mean(-1, keepdim=True),
            "analogy_target: x = b - a + c\nreturn x - x.mean()"),
        ("backwards", "you return the right result, backwards along the last axis.", lambda x: x.flip(-1),
            "weighted_sum: return (weights @ values).flip(-1)"),
        ("rows backwards", "you return the right result with its rows in reverse order.", lambda x: x.flip(-2),
            "merge_query_key: return (W_q @ W_k.T).flip(-2)"),
        ("first axis backwards", "you return the right result, backwards along its first axis.", lambda x: x.flip(0),
            "project_per_head: return (X @ W).flip(0)"),
        ("heads backwards", "you return the right result, backwards along axis -3.", lambda x: x.flip(-3),
            "combine_heads: return (heads @ W_o).sum(-3).flip(-3)"),
        ("two decimals", "your numbers are the right ones, rounded to two decimals.", lambda x: torch.round(x, decimals=2),
            "dot_product: return round(float(a @ b), 2)"),
        ("sorted", "you return the right result, sorted along its last axis.", lambda x: x.sort(-1).values,
            "attention_scores: return (keys @ query / math.sqrt(len(query))).sort().values"),
        ("shifted right", "you return the right result, shifted by one along the last axis.", lambda x: x.roll(1, -1),
            "weighted_sum: return (weights @ values).roll(1)"),
        ("shifted left", "you return the right result, shifted by one, to the front, along the last axis.", lambda x: x.roll(-1, -1),
            "weighted_sum: return (weights @ values).roll(-1)"),
        ("rows shifted down", "you return the right result with every row one too far down.", lambda x: x.roll(1, -2),
            "merge_query_key: return (W_q @ W_k.T).roll(1, 0)"),
        ("rows shifted up", "you return the right result with every row one too far up.", lambda x: x.roll(-1, -2),
            "merge_query_key: return (W_q @ W_k.T).roll(-1, 0)"),
        ("first repeated", "the first entry along the first axis is right, and stands for all the others, too: does each get its own?", lambda x: x[:1].expand_as(x),
            "merge_query_key: return (W_q[:1] @ W_k.T).expand(len(W_q), -1)"),
        ("last repeated", "the last entry along the first axis is right, and stands for all the others, too: does each get its own?", lambda x: x[-1:].expand_as(x),
            "merge_query_key: return (W_q[-1:] @ W_k.T).expand(len(W_q), -1)"),
        ("lower triangle", "right on and below the diagonal, and 0 above: does tril, or a causal mask, come in? None is asked for here.", torch.tril,
            "merge_query_key: return (W_q @ W_k.T).tril()"),
        ("upper triangle", "right on and above the diagonal, and 0 below.", torch.triu,
            "merge_query_key: return (W_q @ W_k.T).triu()"),
        ("diagonal alone", "you return the diagonal of the right result.", lambda x: x.diagonal(dim1=-2, dim2=-1),
            "merge_query_key: return (W_q @ W_k.T).diagonal()"),
        ("without diagonal", "right, but for the diagonal, which is 0: is each entry paired with itself, too?", lambda x: x - torch.diag_embed(x.diagonal(dim1=-2, dim2=-1)),
            "merge_query_key: return (W_q @ W_k.T).fill_diagonal_(0)"),
        ("added over -1", "you return the right result, added up over its last axis.", lambda x: x.sum(-1),
            "merge_query_key: return (W_q @ W_k.T).sum(-1)"),
        ("added over -2", "you return the right result, added up over the axis before the last.", lambda x: x.sum(-2),
            "tied_logits: return (states @ E.T).sum(-2)"),
        ("added over 0", "you return the right result, added up over its first axis.", lambda x: x.sum(0),
            "merge_heads: return heads.transpose(-3, -2).flatten(-2).sum(0)"),
        ("mean of -1", "you return the mean of the right result over its last axis.", lambda x: x.mean(-1),
            "merge_query_key: return (W_q @ W_k.T).mean(-1)"),
        ("mean of -2", "you return the mean of the right result over the axis before the last.", lambda x: x.mean(-2),
            "tied_logits: return (states @ E.T).mean(-2)"),
        ("mean of 0", "you return the mean of the right result over its first axis.", lambda x: x.mean(0),
            "project_per_head: return (X @ W).mean(0)"),
        ("mean of all", "you return the mean of all the numbers that are asked for.", torch.mean,
            "merge_query_key: return (W_q @ W_k.T).mean()"),
        ("first alone", "you return the first entry of the right result along its first axis. In a loop, collect them all, then torch.stack them.", lambda x: x[0],
            "weighted_sum: return weights @ values[:, 0]"),
        ("last alone", "you return the last entry of the right result along its first axis: does each round of a loop overwrite the one before? Collect them all, then torch.stack them.", lambda x: x[-1],
            "weighted_sum: for column in values.T:\n    entry = weights @ column\nreturn entry"),
        ("without the first", "the first entry along the first axis is missing; the others are right.", lambda x: x[1:],
            "weighted_sum: return weights @ values[:, 1:]"),
        ("without the last", "the last entry along the first axis is missing; the others are right: does a loop or a slice end one too early?", lambda x: x[:-1],
            "weighted_sum: return weights @ values[:, :-1]"),
        ("flat", "your numbers are right, but all on one axis: the shape is lost. reshape brings it back.", lambda x: x.flatten(-2).flatten(),
            "merge_query_key: return (W_q @ W_k.T).flatten()"),
        ("last two axes flat", "your numbers are right, but the last two axes have become one.", lambda x: x.flatten(-2),
            "project_per_head: return (X @ W).flatten(-2)"),
        ("first two axes flat", "your numbers are right, but the first two axes have become one.", lambda x: x.flatten(0, 1),
            "merge_heads: return heads.transpose(-3, -2).flatten(-2).flatten(0, 1)"),
        ("squeezed", "your numbers are right, but axes of length 1 are gone: squeeze() without an axis takes them all.", torch.squeeze,
            "tied_logits: return (states @ E.T).squeeze()"),
        ("an axis in front", "your numbers are right, with an axis of length 1 too many in front.", lambda x: x[None],
            "analogy_target: return (b - a + c)[None]"),
        ("an axis behind", "your numbers are right, with an axis of length 1 too many at the end.", lambda x: x[..., None],
            "weighted_sum: return values.T @ weights[:, None]"),
    )
)  # fmt: skip

LAST_STEPS = (  # what would make a result the right one, behind the sentence that says so, and an example
    ("a softmax over the last axis is still to come: it would make your result right.", lambda x: torch.softmax(x, -1),
        "softmax: return scores - scores.amax(-1, keepdim=True)"),
    ("a sum over the last axis is still to come: it would make your result right.", lambda x: x.sum(-1),
        "tied_logits: return states[:, :, None] * E"),
    ("a sum over the axis before the last is still to come: it would make your result right.", lambda x: x.sum(-2),
        "context_vector: return weights[..., None] * states[:, None]"),
    ("a sum over the first axis is still to come: it would make your result right.", lambda x: x.sum(0),
        "merge_query_key: return W_q.T[:, :, None] * W_k.T[:, None]"),
    ("a mean over the last axis is still to come: it would make your result right.", lambda x: x.mean(-1),
        "weighted_sum: return len(weights) * (weights * values.T)"),
    ("a mean over the first axis is still to come: it would make your result right.", lambda x: x.mean(0),
        "weighted_sum: return len(weights) * weights[:, None] * values"),
    ("your numbers still have to be added up: their sum would be right.", lambda x: x.sum(),
        "hidden_patch_loss: squares = (prediction - patches) ** 2\nreturn squares[hidden] / hidden.sum() / squares.shape[-1]"),
    ("your numbers still have to be averaged: their mean would be right.", lambda x: x.mean(),
        "hidden_patch_loss: return ((prediction - patches) ** 2)[hidden]"),
    ("each row still has to be divided by its sum.", lambda x: x / x.sum(-1, keepdim=True),
        "softmax: return torch.exp(scores - scores.amax(-1, keepdim=True)) / scores.shape[-1]"),
)  # fmt: skip

CONSTANTS = {
    "2": 2.0,
    "3": 3.0,
    "4": 4.0,
    "√2": math.sqrt(2),
    "10": 10.0,
    "100": 100.0,
    "ln 2": math.log(2),
    "e": math.e,
}
