"""utils/translating.py against loops over single sentences; and a network unrolled, told as it is drawn."""

import pytest
import torch

from utils import corpus, measures, rnn, translating
from utils.masks import padding_mask
from utils.vocabulary import END_ID, START_ID
from utils.widgets.recurrence import draw_unrolled

PAIRS = corpus.Grammar("es", seed=4).sample(40, 3, 12)
WORDS = translating.vocabularies(PAIRS)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    sizes = {"d_embedding": 8, "d_hidden": 12}
    encoder, decoder = rnn.RecurrentEncoder(len(WORDS[0]), **sizes), rnn.AttentionDecoder(len(WORDS[1]), **sizes)
    return rnn.RecurrentTranslator(encoder, decoder).eval()


def alone(pair):
    return WORDS[0].batch([pair.source], end=True)


def test_every_word_of_the_pairs_is_known():
    assert all(word in WORDS[0] for pair in PAIRS for word in pair.source)
    assert all(word in WORDS[1] for pair in PAIRS for word in pair.target)


def test_batches_hold_the_pairs_and_a_seed_settles_their_order():
    source, target = next(translating.translation_batches(PAIRS, *WORDS, seed=1))
    assert len(source) == len(target) == len(PAIRS)
    for read, guess in zip(source, target):
        pair = next(pair for pair in PAIRS if list(pair.source) == WORDS[0].decode(read))
        assert WORDS[1].decode(guess) == list(pair.target) and guess[0] == START_ID
        assert (read == END_ID).sum() == (guess == END_ID).sum() == 1
    again, _ = next(translating.translation_batches(PAIRS, *WORDS, seed=1))
    assert torch.equal(source, again)


def test_the_loss_is_the_mean_over_all_words_and_never_of_padding(model):
    source, target = next(translating.translation_batches(PAIRS, *WORDS))
    losses = []
    for pair in PAIRS:
        tokens = WORDS[1].batch([pair.target], start=True, end=True)
        logits, _ = model(alone(pair), padding_mask(alone(pair)), tokens[:, :-1])
        losses += (-logits[0].log_softmax(-1)[range(tokens.shape[1] - 1), tokens[0, 1:]]).tolist()
    found = translating.translation_loss(model, (source, target)).item()
    assert found == pytest.approx(sum(losses) / len(losses), abs=1e-5)


def test_in_batches_it_writes_and_looks_as_it_does_alone(model):
    written = translating.translate_all(model, PAIRS, *WORDS)
    for pair, words in zip(PAIRS, written):
        [ids], _ = model.translate(alone(pair), padding_mask(alone(pair)))
        assert words == tuple(WORDS[1].decode(ids))
    weights = translating.weights_while_reading(model, PAIRS, *WORDS)
    for pair, rows in zip(PAIRS, weights):
        reads = WORDS[1].batch([pair.target], start=True)
        with torch.no_grad():
            _, expected = model(alone(pair), padding_mask(alone(pair)), reads)
        torch.testing.assert_close(rows[: reads.shape[1], : len(pair.source) + 1], expected[0], atol=1e-6, rtol=0)
    links = [measures.argmax_links(rows, len(pair.source), len(pair.target)) for pair, rows in zip(PAIRS, weights)]
    assert all(len(one) == len(pair.target) for one, pair in zip(links, PAIRS))


def test_an_unrolled_network_says_what_it_reads_and_writes():
    said = draw_unrolled(["a", "b", "<s>"], ["", "", "c"], encoder=2).description
    context = "States 1 and 2 make the context c, which enters every step after them."
    assert said.endswith(f"reads a; reads b; reads <s>, writes c. {context}")
    assert draw_unrolled(["a"]).svg.count("<rect") == 2  # the ground, and one state
