"""Writing word by word: a loop that needs no more of a model than one step of it.

Axis letters: b batch, v vocabulary, w the beams of a sentence, n tokens so far."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .checks import require_logits, require_whole
from .vocabulary import END_ID, START_ID


def most_probable(logits: Tensor) -> Tensor:
    """The token (b,) with the largest of the logits (b, v); to write it each time is greedy search."""
    return logits.argmax(-1)


def drawn_by(generator: torch.Generator) -> Callable:
    """A way to choose tokens (b,) for logits (b, v): at random, each with its probability."""
    return lambda logits: torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0]


def ranks(logits: Tensor) -> Tensor:
    """How many of the logits (…, v) come before each: 0 for the largest; of equal ones the first comes first."""
    return logits.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """The logits (…, v) with −∞ for all but the k largest (Fan et al. 2018). k below 1: ValueError."""
    require_whole(top_k=k)
    return logits.masked_fill(ranks(logits) >= k, -torch.inf)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """The logits (…, v) with −∞ for all but the smallest set of the most probable ones whose probabilities have a sum
    of at least p (Holtzman et al. 2020, "nucleus"). p 1 keeps all; p ≤ 0 or above 1: ValueError."""
    if not 0 < p <= 1:
        raise ValueError(f"top_p {p} must lie above 0 and be at most 1")
    largest = logits.softmax(-1).sort(dim=-1, descending=True, stable=True).values  # (…, v)
    reached = largest.cumsum(-1) - largest >= p  # without this one already
    return logits.masked_fill(reached.gather(-1, ranks(logits)), -torch.inf) if p < 1 else logits


def sampling(
    generator: torch.Generator, temperature: float = 1.0, top_k: int | None = None, top_p: float = 1.0
) -> Callable:
    """A way to choose tokens (b,) for logits (b, v), as `drawn_by`, but from softmax(logits / temperature), of which
    only the top_k most probable stay, and of these the top_p. A temperature of 0 or below: ValueError, as 0 would be
    greedy search."""
    if not temperature > 0:
        raise ValueError(f"temperature {temperature} must be above 0; most_probable is what it comes to near 0")
    draw = drawn_by(generator)

    def choose(logits: Tensor) -> Tensor:
        logits = logits / temperature
        return draw(keep_top_p(logits if top_k is None else keep_top_k(logits, top_k), top_p))

    return choose


@torch.no_grad()
def write(
    step: Callable, state: object, sentences: int, limit: int, choose: Callable = most_probable
) -> tuple[list[list[int]], list]:
    """From `<s>` on, one token after the other, until each of the sentences has its `</s>` or `limit` tokens.

    step(tokens (b, 1), state) returns logits (b, 1, v) for the next token, the new state, and whatever else is to be
    kept of the step. The state may be that of a recurrent network, or the tokens so far. choose(logits (b, v)) returns
    tokens (b,). Returns the token ids of each sentence without `</s>`, and what was kept of each step (those of a
    sentence end with its `</s>`, while longer ones go on). Sizes below 1, logits that are NaN or ∞: ValueError."""
    require_whole(sentences=sentences, limit=limit)
    token, done = torch.full((sentences, 1), START_ID), torch.zeros(sentences, dtype=torch.bool)
    tokens, kept = [], []
    while len(tokens) < limit and not done.all():
        logits, state, extra = step(token, state)  # (b, 1, v)
        token = choose(require_logits(logits[:, -1]))[:, None]  # (b, 1)
        tokens.append(token)
        kept.append(extra)
        done |= token[:, 0] == END_ID
    written = torch.cat(tokens, dim=1).tolist()
    return [ids[: ids.index(END_ID)] if END_ID in ids else ids for ids in written], kept


class Sequence(NamedTuple):
    """Token ids without `</s>`, and the sum of the log-probabilities of all that was written, `</s>` included."""

    ids: list[int]
    log_probability: float


def rows_of(state: Any, rows: Tensor) -> Any:
    """The rows of a state: of each tensor in it, which begins with the batch. Tuples and lists are gone through."""
    if state is None or isinstance(state, Tensor):
        return state if state is None else state[rows]
    parts = [rows_of(part, rows) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)


@torch.no_grad()
def beam_search(
    step: Callable, state: object, sentences: int, limit: int, width: int,
    length_power: float = 0.0, pick: Callable = rows_of,
) -> list[list[Sequence]]:  # fmt: skip
    """The `width` most probable sequences of each sentence that a search finds which goes on from no more than so many.

    step, state and limit are those of `write`; pick(state, rows) gives the state of other rows. A beam that has written
    `</s>` stays as it is, and the search ends when all have. The sum of log-probabilities favours short sequences;
    sorted, best first, are the sums divided by (number of tokens, `</s>` included) ** length_power, 1 for their mean.
    A sequence that reached `limit` has no `</s>`, and is sorted among the others. Width 1 is greedy search."""
    require_whole(sentences=sentences, limit=limit, width=width)
    tokens = torch.full((sentences, 1), START_ID)  # (b·w, n), with one beam at first
    sums = torch.zeros(sentences, 1, dtype=torch.float64)  # (b, w)
    while tokens.shape[1] <= limit and not (tokens[:, -1] == END_ID).all():
        logits, state, _ = step(tokens[:, -1:], state)  # (b·w, 1, v)
        more = require_logits(logits[:, -1]).double().log_softmax(-1)  # (b·w, v)
        ended, v = tokens[:, -1] == END_ID, more.shape[1]
        more[ended] = torch.arange(v).eq(END_ID).double().log()  # 0 for another </s>, −∞ for all else
        totals = (sums.reshape(-1, 1) + more).view(sentences, -1)  # (b, w·v)
        sums, best = (x[:, :width] for x in totals.sort(dim=-1, descending=True, stable=True))  # (b, w)
        first = torch.arange(sentences)[:, None] * (len(tokens) // sentences)  # (b, 1): a sentence's first row
        rows = (first + best // v).flatten()  # (b·w,): the beams that go on
        tokens, state = torch.cat([tokens[rows], best.reshape(-1, 1) % v], dim=1), pick(state, rows)
    found = zip(tokens[:, 1:].unflatten(0, (sentences, -1)).tolist(), sums.tolist())
    return [in_order(beams, sums, length_power) for beams, sums in found]


def in_order(beams: list[list[int]], sums: list[float], length_power: float) -> list[Sequence]:
    """The sequences of a sentence's beams, best first; what has probability 0 is none."""
    lengths = [ids.index(END_ID) + 1 if END_ID in ids else len(ids) for ids in beams]
    found = [(total / n**length_power, ids, total) for ids, n, total in zip(beams, lengths, sums) if total > -math.inf]
    found.sort(key=lambda one: -one[0])
    return [Sequence(ids[: ids.index(END_ID)] if END_ID in ids else ids, total) for _, ids, total in found]
