"""A translator that has been trained, and its first heads, to be looked at before their parts are explained."""

import copy
from collections.abc import Sequence
from statistics import fmean

import torch
from torch import Tensor, nn

from . import corpus
from .checkpoints import load_checkpoint
from .corpus import Pair
from .decoder import LanguageModel, TokenEncoder, TransformerTranslator
from .masks import padding_mask
from .translating import translate_all, vocabularies


class TrainedTranslator:
    """The Transformer with rotary positions that comes with the course, from English to Spanish.

    Called with source words (k,), it returns the words that it writes, and its weights (q, k + 1) at the source and at
    the end of the sentence, a row for each written word: the mean over the heads of its last layer. `knows` are the
    English words that it was trained on."""

    def __init__(self):
        train = corpus.splits("es", seed=0, train=2_000).train  # as many as hold every word of the corpus
        self.english, self.spanish = vocabularies(train)
        self.knows = {word for pair in train for word in pair.source}
        sizes = dict(d_model=64, num_heads=4, d_ff=128, positions="rotary", scaled=True)
        writing = LanguageModel(len(self.spanish), **sizes, num_layers=2, cross=True, tied=True)
        encoder = TokenEncoder(len(self.english), **sizes, num_layers=1)
        self.model = load_checkpoint("translator_rotary", TransformerTranslator(encoder, writing))

    def __call__(self, words: Sequence[str]) -> tuple[list[str], Tensor]:
        source = self.english.batch([words], end=True)  # (1, k + 1)
        (ids,), layers = self.model.translate(source, padding_mask(source))
        written = self.spanish.decode(ids)
        return written, layers[-1][0].mean(0)[: len(written)]  # (q, k + 1)

    def with_plain_averages(self) -> "TrainedTranslator":
        """A copy that gives every word of the source the same weight: its queries are 0, and so are all scores."""
        other = copy.copy(self)
        other.model = copy.deepcopy(self.model)
        for block in other.model.language_model.decoder.blocks:
            for parameter in block.cross_attention.W_q.parameters():
                nn.init.zeros_(parameter)
        return other

    def share_right(self, pairs: Sequence[Pair]) -> float:
        """Which share of the pairs it translates as they are, word for word."""
        written = translate_all(self.model, pairs, self.english, self.spanish)
        return fmean(words == pair.target for words, pair in zip(written, pairs))


class FourHeads:
    """The four heads that read first, in the Transformer with sine positions that comes with the course.

    Called with words (n,), it returns what the heads read, x (n + 1, d), the end of the sentence included. `attention`
    is their layer; `knows` are the words that it was trained on."""

    def __init__(self):
        train = corpus.splits("es", seed=0, train=2_000).train
        self.english, spanish = vocabularies(train)
        self.knows = {word for pair in train for word in pair.source}
        sizes = dict(d_model=64, num_heads=4, d_ff=128, positions="sine", scaled=True)
        writing = LanguageModel(len(spanish), **sizes, num_layers=2, cross=True, tied=True)
        reader = TokenEncoder(len(self.english), **sizes, num_layers=1)
        self.reader = load_checkpoint("translator_sine", TransformerTranslator(reader, writing)).encoder
        self.block = self.reader.encoder.blocks[0]
        self.attention = self.block.attention

    @torch.no_grad()
    def __call__(self, words: Sequence[str]) -> Tensor:
        source = self.english.batch([list(words)], end=True)  # (1, n + 1)
        return self.block.norm_1(self.reader.embedding(source))[0]

    @torch.no_grad()
    def maps(self, words: Sequence[str]) -> Tensor:
        """The weights (h, n + 1, n + 1) of the four heads."""
        return self.attention(self(words)[None])[1][0]
