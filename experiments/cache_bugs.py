"""Five published bugs of a key-value cache, for a trained translator without them; `compare_decoders.py` tries each."""

import torch

from utils.decoder import BlockState
from utils.decoding import write

LIMIT = 40  # words that a translation has at most


def shared(blocks):
    return [BlockState(blocks[0].own, block.cross) for block in blocks]


def emptied(blocks):
    return [BlockState(None, block.cross) for block in blocks]


BUGS = {  # what takes the place of `places` or `visible`, methods of a language model, or of the states of its blocks
    "none": {},
    "place off by one": {"places": lambda places, words, n: places(words, n) + (words.shape[-1] > 1)},
    "place from 0": {"places": lambda places, words, n: 0 * places(words, n)},
    "one cache for all layers": {"blocks": shared},
    "mask (1, 1)": {"visible": lambda visible, words, n: visible(words, words.shape[-1])[..., :n, :]},  # the first row
    "cache emptied": {"blocks": emptied, "visible": lambda visible, words, n: visible(words, n)[..., -n:]},
}


@torch.no_grad()
def written(model, source, mask, cached=True, **bug):
    """The token ids that a translator writes with a cache, which may have a bug, or without a cache."""
    step, inside, change = model.step_for(source, mask), model.language_model, bug.pop("blocks", None)

    def with_cache(tokens, state):
        if state is not None and change is not None:
            state = state._replace(blocks=change(state.blocks))
        return step(tokens, state)

    def without(tokens, so_far):
        so_far = tokens if so_far is None else torch.cat([so_far, tokens], dim=1)
        logits, _, weights = step(so_far, None)
        return logits[:, -1:], so_far, weights

    for name, wrong in bug.items():  # an attribute of the model stands before the method of its class
        right = getattr(inside, name)
        setattr(inside, name, lambda words, n, wrong=wrong, right=right: wrong(right, words, n))
    try:
        return write(with_cache if cached else without, None, len(source), LIMIT)[0]
    finally:
        for name in bug:
            delattr(inside, name)
