"""Agreement as a task: each article, adjective and verb gets the gender and the number of the noun it belongs to."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..vocabulary import Vocabulary
from .english import ANIMATE, LEMMAS
from .language import TAGS
from .trees import Pair

NO_TAG = -100


def agreement(pairs: Sequence[Pair], vocabulary: Vocabulary) -> tuple[Tensor, Tensor, Tensor]:
    """Token ids, tags and places of the noun, (b, n) each: tags as numbers in TAGS; NO_TAG for words that get none,
    as nouns and prepositions, and for pads."""
    tokens = vocabulary.batch([pair.source for pair in pairs])
    tags, nouns = torch.full_like(tokens, NO_TAG), torch.full_like(tokens, NO_TAG)
    for row, pair in enumerate(pairs):
        for i, noun in enumerate(pair.heads):
            if noun is not None and noun != i:
                tags[row, i], nouns[row, i] = TAGS.index(pair.tags[noun]), noun
    return tokens, tags, nouns


def reach(pair: Pair) -> int:
    """How far the farthest word of a sentence is from its noun."""
    return max(abs(noun - i) for i, noun in enumerate(pair.heads) if noun is not None)


def crossed(pair: Pair) -> bool:
    """Is there another person or animal between a word and the noun before it that it belongs to?"""
    between = [pair.source[noun + 1 : i] for i, noun in enumerate(pair.heads) if noun is not None]
    return any(LEMMAS.get(word, word) in ANIMATE for words in between for word in words)
