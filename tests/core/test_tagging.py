"""The task of the encoder at work: its rules, its templates and what a model says of them are counted right."""

import pytest
import torch

from utils import corpus, rnn, tagging
from utils.masks import padding_mask
from utils.probes import sublayers
from utils.transformer import Encoder, Tagger
from utils.vocabulary import Vocabulary


def test_verbs_belong_to_their_subjects():
    sentence = corpus.Clause(corpus.NounPhrase("witch", adjectives=("green",)), "arrived")
    pair = corpus.translate(sentence, "it")
    assert pair.source == tuple("the green witch arrived".split()) and tagging.verbs_in(pair) == [(3, 2)]


def test_templates_pair_each_noun_with_the_other_gender_or_with_places():
    filled = tagging.fill("the {} near the {} slept")
    assert len(filled) == 48 and filled[0][0] == "the wizard near the witch slept".split()
    assert all((noun in tagging.MALE) != (other in tagging.MALE) for _, noun, other in filled)
    assert len(tagging.fill("the {} near the {} slept", tagging.PLACES)) == 30
    assert {"witch", "witches", "cat"} <= tagging.BEINGS and not {"castle", "saw", "see"} & tagging.BEINGS


@pytest.mark.parametrize("tag, expected", [("m sg", (24, 24, 0)), ("f sg", (24, 24, 0)), ("f pl", (0, 0, 48))])
def test_verbs_are_counted_by_what_they_got(tag, expected):
    vocabulary = Vocabulary([*tagging.MALE, *tagging.FEMALE, "the", "near", "slept"])

    class Always(torch.nn.Linear):
        def forward(self, tokens):
            return torch.nn.functional.one_hot(torch.full_like(tokens, corpus.TAGS.index(tag)), 4).float(), None

    found = tagging.verbs(Always(1, 1), vocabulary, ["the {} near the {} slept"])
    assert tuple(found) == expected and found.share == expected[0] / 48


@pytest.mark.parametrize("kind", tagging.KINDS)
def test_every_kind_of_tagger_gives_logits_and_only_attention_can_be_opened(kind):
    torch.manual_seed(0)
    model, tokens = tagging.tagger(kind, 12).eval(), torch.tensor([[4, 5, 6], [7, 8, 0]])
    logits, weights = model(tokens, padding_mask(tokens))
    assert logits.shape == (2, 3, 4)
    if kind == "Elman network":
        with pytest.raises(ValueError, match="has no layers of attention"):
            tagging.opened(model)
        return
    assert [one.shape for one in weights] == [(2, 2, 3, 3)] * 2
    embedding, encoder = tagging.opened(model)
    x = embedding(tokens)
    for part in sublayers(encoder, padding_mask(tokens)).values():
        x = x + part(x)
    torch.testing.assert_close(model.to_logits(encoder.final_norm(x)), logits)


def test_an_encoder_whose_parts_do_not_only_add_has_none():
    for changes in ({"norm": "post"}, {"d_ff": None}):
        with pytest.raises(ValueError, match="pre-norm"):
            sublayers(Encoder(**{"d_model": 4, "num_heads": 1, "num_layers": 1, "d_ff": 8} | changes))
    assert list(sublayers(Encoder(d_model=4, num_heads=1, num_layers=2, d_ff=8)))[2:] == [
        "attention 2",
        "feed-forward 2",
    ]


def test_an_output_layer_on_another_encoder():
    model = tagging.TaggerOf(rnn.RecurrentEncoder(9, d_embedding=4, d_hidden=6), num_tags=3, d_state=6)
    assert model(torch.tensor([[4, 5]]))[0].shape == (1, 2, 3)
    assert isinstance(tagging.tagger("sine", 9), Tagger)
