"""Writing word by word: a loop that needs no more of a model than one step of it.

Axis letters: b batch, v vocabulary, w the beams of a sentence, n tokens so far."""

import math
from collections.abc import Callable
from typing import Any

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


def keep_top_k(logits: Tensor, count: int) -> Tensor:
    """The logits (…, v), −∞ for all but the `count` largest. A count below 1: ValueError."""
    require_whole(top_k=count)
    return logits.masked_fill(ranks(logits) >= count, -math.inf)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """The logits (…, v), −∞ for all but the fewest that together have the probability p (Holtzman et al. 2020,
    "nucleus"); 1 keeps all. ValueError unless 0 < p ≤ 1."""
    if not 0 < p <= 1:
        raise ValueError(f"top_p {p} must lie above 0 and be at most 1")
    largest = logits.softmax(-1).sort(dim=-1, descending=True).values  # (…, v)
    enough = largest.cumsum(-1) - largest >= p  # without this one already
    return logits.masked_fill(enough.gather(-1, ranks(logits)), -math.inf) if p < 1 else logits


def sampling(
    generator: torch.Generator, temperature: float = 1.0, top_k: int | None = None, top_p: float = 1.0
) -> Callable:
    """A way to choose tokens (b,) for logits (b, v): drawn from softmax(logits / temperature), first cut to the top_k
    most probable, then to top_p. A temperature that is not above 0, where it would be greedy search, or infinite:
    ValueError."""
    if not 0 < temperature < math.inf:
        raise ValueError(f"temperature {temperature} must be above 0 and finite; near 0, the choice is most_probable's")
    draw = drawn_by(generator)

    def choose(logits):
        logits = logits / temperature
        if top_k is not None:
            logits = keep_top_k(logits, top_k)
        return draw(keep_top_p(logits, top_p))

    return choose


@torch.no_grad()
def write(
    step: Callable, state: object, sentences: int, limit: int, choose: Callable = most_probable,
    device: torch.device | None = None,
) -> tuple[list[list[int]], list]:  # fmt: skip
    """From `<s>` on, one token after the other, until each of the sentences has its `</s>` or `limit` tokens.

    step(tokens (b, 1), state) returns logits (b, 1, v) for the next token, the new state, and whatever else is to be
    kept of the step. The state may be that of a recurrent network, or the tokens so far. choose(logits (b, v)) returns
    tokens (b,). device: the model's. Returns the token ids of each sentence without `</s>`, and what was kept of each
    step (those of a sentence end with its `</s>`, while longer ones go on). Sizes below 1, logits that are NaN or ∞:
    ValueError."""
    require_whole(sentences=sentences, limit=limit)
    token = torch.full((sentences, 1), START_ID, device=device)
    done = token[:, 0] == END_ID
    tokens, kept = [], []
    while len(tokens) < limit and not done.all():
        logits, state, extra = step(token, state)  # (b, 1, v)
        token = choose(require_logits(logits[:, -1]))[:, None]  # (b, 1)
        tokens.append(token)
        kept.append(extra)
        done |= token[:, 0] == END_ID
    written = torch.cat(tokens, dim=1).tolist()
    return [ids[: ids.index(END_ID)] if END_ID in ids else ids for ids in written], kept


def rows_of(state: Any, rows: Tensor) -> Any:
    """The rows of a state: of each tensor in it, whose first axis is the batch. Tuples and lists are gone through."""
    if state is None:
        return None
    if isinstance(state, Tensor):
        return state[rows]
    parts = [rows_of(part, rows) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)


@torch.no_grad()
def beam_search(
    step: Callable, state: object, sentences: int, limit: int, width: int, length_power: float = 0.0,
    device: torch.device | None = None,
) -> list[list[tuple[list[int], float]]]:  # fmt: skip
    """Of each sentence up to `width` sequences, from a search that goes on from the `width` most probable at each step.

    A sequence is its token ids without `</s>`, and the sum of the log-probabilities of all that was written, `</s>`
    included. One that has its `</s>` stays as it is among the others; one that reaches the limit ends without. Best
    first: the largest sum / tokens ** length_power; the sum itself favours short sequences, power 1 is the mean.
    step, limit and device are those of `write`; the state is made of tensors whose first axis is the batch, or None, in
    tuples and lists. Width 1 is greedy. Sizes below 1, logits that are NaN or ∞: ValueError."""
    require_whole(sentences=sentences, limit=limit, width=width)
    tokens = torch.full((sentences, 1), START_ID, device=device)  # (b·w, n), with one beam at first
    sums = tokens.new_zeros(sentences, 1, dtype=torch.float64)  # (b, w)
    while tokens.shape[1] <= limit and not (tokens[:, -1] == END_ID).all():
        logits, state, _ = step(tokens[:, -1:], state)  # (b·w, 1, v)
        more = require_logits(logits[:, -1]).double().log_softmax(-1)  # (b·w, v)
        v = more.shape[1]
        ended = tokens[:, -1] == END_ID
        more[ended] = -math.inf
        more[ended, END_ID] = 0.0  # another </s> costs nothing
        totals = (sums.reshape(-1, 1) + more).view(sentences, -1)  # (b, w·v)
        sums, best = (x[:, :width] for x in totals.sort(dim=-1, descending=True, stable=True))  # (b, w)
        first = torch.arange(0, len(tokens), len(tokens) // sentences, device=tokens.device)  # (b,)
        rows = (first[:, None] + best // v).flatten()  # (b·w,): the beams that go on
        tokens = torch.cat([tokens[rows], best.reshape(-1, 1) % v], dim=1)
        state = rows_of(state, rows)
    beams = tokens[:, 1:].unflatten(0, (sentences, -1))  # (b, w, n)
    lengths = (beams != END_ID).sum(-1)  # (b, w), without `</s>`
    order = (sums / (lengths + 1).clamp(max=limit) ** length_power).argsort(dim=-1, descending=True, stable=True)
    found = zip(beams.tolist(), lengths.tolist(), sums.tolist(), order.tolist())
    return [[(ids[i][: n[i]], total[i]) for i in best if total[i] > -math.inf] for ids, n, total, best in found]
