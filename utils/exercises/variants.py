"""Mistakes that can be made in any exercise: an argument exchanged, turned round or left out; a step too many at the end.

Each is a change of what goes into a function, or of what comes out of it, with the sentence that helps. They are tried
on the reference, and on the known mistakes of an exercise, as a second thing that went wrong.
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
                f"{one} and {other} have changed places: each is used where the other belongs.",
                lambda given, one=one, other=other: given | {one: given[other], other: given[one]},
            )
    for name, value in arguments.items():
        for sign, message, change in ALTERED:
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


ALTERED = (  # how a value is altered, what is said, how it is done
    ("inverted", "{name} is used the wrong way round: what you do where it is True belongs where it is False.", lambda x: ~x if isinstance(x, Tensor) else not x),
    ("all True", "{name} has no effect: you return what comes out where it is True everywhere.", torch.ones_like),
    ("transposed", "{name} is used with its last two axes exchanged.", lambda x: x.mT),
    ("negated", "{name} comes in with the wrong sign.", torch.neg),
    ("= 0", "{name} has no effect: you return what comes out where it is 0.", torch.zeros_like),
    ("= 1", "{name} has no effect: you return what comes out where it is 1.", torch.ones_like),
    ("squared", "{name} is squared where it should be taken as it is.", torch.square),
    ("whole", "{name} is cut to whole numbers.", torch.trunc),
    ("doubled", "{name} counts twice.", lambda x: 2 * x),
    ("first", "of {name} only the first entry along its first axis is used, for all the others, too.", lambda x: x[:1].expand_as(x)),
    ("backwards", "{name} is read backwards along its second-to-last axis.", lambda x: x.flip(-2)),
    ("+ 1", "{name} counts one too many.", lambda x: x + 1),
    ("- 1", "{name} counts one too few.", lambda x: x - 1),
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
    Variant(name, message, after=lambda x, after=after, name=name: after(x) if type(x) is not tuple or name == "reversed" else None, trace=TRACES.get(name, ""))
    for name, message, after in (
        ("transposed", "you return the right result with its last two axes exchanged.", lambda x: x.mT),
        ("first two axes", "you return the right result with its first two axes exchanged.", lambda x: x.transpose(0, 1)),
        ("middle axes", "you return the right result with axes -2 and -3 exchanged.", lambda x: x.transpose(-2, -3)),
        ("reversed", "your tuple is in the wrong order: it is the right one from the back.", lambda x: x[::-1]),
        ("- x", "the sign is turned round: you return minus the right result.", lambda x: -x),
        ("1 - x", "you return 1 minus the right result.", lambda x: 1 - x),
        ("~x", "the sense is inverted: True and False have changed places.", lambda x: ~x if x.dtype == torch.bool else None),
        ("1 / x", "you return 1 divided by the right result: is a quotient upside down?", lambda x: 1 / x),
        ("x²", "you return the square of the right result: is a root missing?", lambda x: x * x),
        ("√x", "you return the root of the right result: there is a root too many.", torch.sqrt),
        ("|x|", "your numbers are right, but all positive: something takes their absolute value.", torch.abs),
        ("relu", "right where it is positive, and 0 where it should be negative: something cuts it off at 0.", torch.relu),
        ("exp", "you return exp of the right result: there is an exp too many, or a log is missing.", torch.exp),
        ("log", "you return the logarithm of the right result: there is a log too many, or an exp is missing.", torch.log),
        ("tanh", "you return tanh of the right result: one tanh too many.", torch.tanh),
        ("sigmoid", "you return the sigmoid of the right result: one sigmoid too many.", torch.sigmoid),
        ("softmax", "you return a softmax of the right result, over the last axis: one softmax too many.", lambda x: torch.softmax(x, -1)),
        ("softmax -2", "you return a softmax of the right result, over the axis before the last: one softmax too many.", lambda x: torch.softmax(x, -2)),
        ("log softmax", "you return the logarithm of a softmax of the right result.", lambda x: torch.log_softmax(x, -1)),
        ("one-hot", "your result has a 1 at the largest number of each row of the right one and 0 elsewhere: did argmax come in?", _one_hot),
        ("rounded", "your numbers are the right ones, rounded to whole numbers.", torch.round),
        ("cut off", "your numbers are the right ones without what stands behind the point: does int(…), // or a whole dtype cut it off?", torch.trunc),
        ("floor", "your numbers are the right ones, rounded down: `//` divides without remainder, `/` with it.", torch.floor),
        ("2 x", "you return twice the right result.", lambda x: 2 * x),
        ("x / 2", "you return half the right result.", lambda x: x / 2),
        ("100 x", "you return 100 times the right result: per cent are not asked for.", lambda x: 100 * x),
        ("x + 1", "every number that you return is 1 too large.", lambda x: x + 1),
        ("x - 1", "every number that you return is 1 too small.", lambda x: x - 1),
        ("cumsum", "your result adds up along the last axis: each entry is the sum of the right ones up to there.", lambda x: x.cumsum(-1)),
        ("row sums 1", "you return the right result, divided by the sum of each row.", lambda x: x / x.sum(-1, keepdim=True)),
        ("length 1", "you return the right result, divided by the length of each row.", lambda x: torch.nn.functional.normalize(x, dim=-1)),
        ("centred", "you return the right result minus the mean of each row.", lambda x: x - x.mean(-1, keepdim=True)),
        ("backwards", "you return the right result, backwards along the last axis.", lambda x: x.flip(-1)),
        ("rows backwards", "you return the right result with its rows in reverse order.", lambda x: x.flip(-2)),
        ("first axis backwards", "you return the right result, backwards along its first axis.", lambda x: x.flip(0)),
        ("heads backwards", "you return the right result, backwards along axis -3.", lambda x: x.flip(-3)),
        ("two decimals", "your numbers are the right ones, rounded to two decimals.", lambda x: torch.round(x, decimals=2)),
        ("sorted", "you return the right result, sorted along its last axis.", lambda x: x.sort(-1).values),
        ("shifted right", "you return the right result, shifted by one along the last axis.", lambda x: x.roll(1, -1)),
        ("shifted left", "you return the right result, shifted by one, to the front, along the last axis.", lambda x: x.roll(-1, -1)),
        ("rows shifted down", "you return the right result with every row one too far down.", lambda x: x.roll(1, -2)),
        ("rows shifted up", "you return the right result with every row one too far up.", lambda x: x.roll(-1, -2)),
        ("first repeated", "the first entry along the first axis is right, and stands for all the others, too: does each get its own?", lambda x: x[:1].expand_as(x)),
        ("last repeated", "the last entry along the first axis is right, and stands for all the others, too: does each get its own?", lambda x: x[-1:].expand_as(x)),
        ("lower triangle", "right on and below the diagonal, and 0 above: something masks the future, which is not asked for here.", torch.tril),
        ("upper triangle", "right on and above the diagonal, and 0 below.", torch.triu),
        ("diagonal alone", "you return the diagonal of the right result.", lambda x: x.diagonal(dim1=-2, dim2=-1)),
        ("without diagonal", "right, but for the diagonal, which is 0: is each entry paired with itself, too?", lambda x: x - torch.diag_embed(x.diagonal(dim1=-2, dim2=-1))),
        ("added over -1", "you return the right result, added up over its last axis.", lambda x: x.sum(-1)),
        ("added over -2", "you return the right result, added up over the axis before the last.", lambda x: x.sum(-2)),
        ("added over 0", "you return the right result, added up over its first axis.", lambda x: x.sum(0)),
        ("mean of -1", "you return the mean of the right result over its last axis.", lambda x: x.mean(-1)),
        ("mean of -2", "you return the mean of the right result over the axis before the last.", lambda x: x.mean(-2)),
        ("mean of 0", "you return the mean of the right result over its first axis.", lambda x: x.mean(0)),
        ("mean of all", "you return the mean of all the numbers that are asked for.", torch.mean),
        ("first alone", "you return the first entry of the right result along its first axis. In a loop, collect them all, then torch.stack them.", lambda x: x[0]),
        ("last alone", "you return the last entry of the right result along its first axis: does each round of a loop overwrite the one before? Collect them all, then torch.stack them.", lambda x: x[-1]),
        ("without the first", "the first entry along the first axis is missing; the others are right.", lambda x: x[1:]),
        ("without the last", "the last entry along the first axis is missing; the others are right: does a loop or a slice end one too early?", lambda x: x[:-1]),
        ("flat", "your numbers are right, but all on one axis: the shape is lost. reshape brings it back.", torch.flatten),
        ("last two axes flat", "your numbers are right, but the last two axes have become one.", lambda x: x.flatten(-2)),
        ("first two axes flat", "your numbers are right, but the first two axes have become one.", lambda x: x.flatten(0, 1)),
        ("squeezed", "your numbers are right, but axes of length 1 are gone: squeeze() without an axis takes them all.", torch.squeeze),
        ("an axis in front", "your numbers are right, with an axis of length 1 too many in front.", lambda x: x[None]),
        ("an axis behind", "your numbers are right, with an axis of length 1 too many at the end.", lambda x: x[..., None]),
    )
)  # fmt: skip

OF_TEXTS = (
    Variant("turned round", "you return the right string from its end to its beginning.", after=lambda x: x[::-1]),
    Variant("small letters", "your letters are the right ones, but small: capitals are asked for.", after=str.lower),
    Variant("first letter", "the first letter is missing; the others are right.", after=lambda x: x[1:]),
    Variant("last letter", "the last letter is missing; the others are right.", after=lambda x: x[:-1]),
    Variant("twice", "the right string stands there twice.", after=lambda x: 2 * x),
    Variant("shifted", "you return the right string with every letter one place too late.", after=lambda x: x[-1:] + x[:-1]),
)  # fmt: skip

LAST_STEPS = (  # what would make a result the right one, with the sentence that says so
    ("a softmax over the last axis is still to come: it would make your result right.", lambda x: torch.softmax(x, -1)),
    ("a softmax over the axis before the last is still to come: it would make your result right.", lambda x: torch.softmax(x, -2)),
    ("a sum over the last axis is still to come: it would make your result right.", lambda x: x.sum(-1)),
    ("a sum over the axis before the last is still to come: it would make your result right.", lambda x: x.sum(-2)),
    ("a sum over the first axis is still to come: it would make your result right.", lambda x: x.sum(0)),
    ("a mean over the last axis is still to come: it would make your result right.", lambda x: x.mean(-1)),
    ("a mean over the first axis is still to come: it would make your result right.", lambda x: x.mean(0)),
    ("your numbers still have to be added up: their sum would be right.", lambda x: x.sum()),
    ("your numbers still have to be averaged: their mean would be right.", lambda x: x.mean()),
    ("a tanh is still to come: it would make your result right.", torch.tanh),
    ("a sigmoid is still to come: it would make your result right.", torch.sigmoid),
    ("a ReLU is still to come: it would make your result right.", torch.relu),
    ("the arc cosine does not belong here: the cosine of your result would be right.", torch.cos),
    ("each row still has to be divided by its sum.", lambda x: x / x.sum(-1, keepdim=True)),
    ("each row still has to be divided by its length.", lambda x: torch.nn.functional.normalize(x, dim=-1)),
    ("negative numbers are still in: with 0 in their place your result would be right.", lambda x: x.clamp(min=0)),
    ("the transposition is still to come: with its last two axes exchanged your result would be right.", lambda x: x.mT.contiguous()),
    ("each row is complete, but in the wrong direction: turned round your result would be right.", lambda x: x.flip(-1)),
    ("NaN stands where 0 is asked for; all other numbers are right.", lambda x: x.nan_to_num(0.0) if x.isnan().any() else None),
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
