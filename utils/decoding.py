"""Writing word by word: a loop that needs no more of a model than one step of it.

Axis letters: b batch, v vocabulary."""

from collections.abc import Callable

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
