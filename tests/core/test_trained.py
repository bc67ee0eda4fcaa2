"""The translator that comes with the course: it knows the corpus's words, looks where it should, and fails without."""

import torch

from utils import corpus, translating
from utils.trained import TrainedTranslator


def test_the_trained_translator_knows_every_word_and_looks_or_averages():
    trained, whole = TrainedTranslator(), corpus.splits("es", seed=0, train=20_000)
    assert [trained.english.words, trained.spanish.words] == [
        one.words for one in translating.vocabularies(whole.train)
    ]
    assert trained.knows == {word for pair in whole.test + whole.train for word in pair.source}
    words, weights = trained("the green witch arrived".split())
    assert words == "llegó la bruja verde".split() and weights.shape == (4, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4))
    averaging = trained.with_plain_averages()
    _, weights = averaging("the green witch arrived".split())
    torch.testing.assert_close(weights, torch.full(weights.shape, 0.2))
    right, averaged = (one.share_right(whole.test[:100]) for one in (trained, averaging))
    assert right > 0.9 > 0.1 > averaged and trained("the green witch arrived".split())[0] == words
