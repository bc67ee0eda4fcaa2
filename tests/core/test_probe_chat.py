"""The mistakes of experiments/probe_chat.py are made and undone, and its judge takes right answers only."""

import pytest
import torch

from experiments import probe_chat
from utils.decoder import LanguageModel, Weights

HARMLESS = {"none", "positions shifted by 100"}


@pytest.fixture
def model():
    torch.manual_seed(0)
    sizes = dict(d_model=48, num_heads=6, num_kv_heads=2, num_layers=2, d_ff=32, positions="rotary", base=100_000)
    model = LanguageModel(40, **sizes, norm_kind="rms", gated=True, activation="silu", bias=False, tied=True)
    return model.double().eval()


@torch.no_grad()
def logits(model):
    return model(torch.arange(20)[None])[0]


@pytest.mark.parametrize("name", probe_chat.MISTAKES)
def test_a_mistake_changes_the_logits_and_is_undone(model, name):
    right = logits(model)
    with probe_chat.change(probe_chat.MISTAKES[name](model)):
        wrong = logits(model)
    assert torch.equal(logits(model), right)
    assert torch.allclose(wrong, right, atol=1e-8, rtol=0) == (name in HARMLESS)


def test_who_does_not_see_a_place_gives_it_no_weight_and_its_rows_add_up_to_1(model):
    ids = torch.arange(20)[None]
    right = logits(model)
    with probe_chat.hide(model, place=3, since=8), torch.no_grad():
        hidden, _, weights = model(ids)
    for w in weights.own:
        assert (w[..., 8:, 3] == 0).all() and (w[..., 3:8, 3] > 0).all()
        torch.testing.assert_close(w.sum(-1), torch.ones_like(w[..., 0]))
    assert torch.equal(hidden[:, :8], right[:, :8]) and not torch.isclose(hidden[:, 8:], right[:, 8:]).all(-1).any()
    assert torch.equal(logits(model), right)


def test_a_head_that_looks_at_the_previous_piece_has_all_weight():
    weights = Weights([torch.ones(2, 1, 6, 6).double().tril(-1).triu(-1)], [])
    seen = probe_chat.weight_on_previous(lambda tokens: (None, None, weights), torch.zeros(2, 6))
    assert seen.tolist() == [[1.0]]


def test_what_comes_after_the_last_block_are_the_logits_of_the_model(model):
    ids = torch.arange(20)[None]
    torch.testing.assert_close(probe_chat.after_each_block(model, ids)[-1], logits(model)[0, -1])


def test_a_head_that_looks_at_the_next_piece_of_the_first_pass_has_all_weight():
    tokens = probe_chat.repetitions(2, seed=0, length=4)
    same = tokens[:, 1:, None] == tokens[:, None]  # (b, q, k): is k the piece that follows q?
    weights = Weights([same[:, None].double().tril()], [])
    assert probe_chat.weight_on_successor(lambda tokens: (None, None, weights), tokens, length=4).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("answer", "right"),
    [("The capital is PARIS.", True), ("Parish", False), ("It is in par is", False), ("Saint Paris", True)],
)
def test_an_answer_is_right_if_it_contains_the_words(answer, right):
    assert probe_chat.contains(answer, ["Lyon", "Paris"]) == right


def test_a_translation_is_right_if_it_is_the_whole_first_line():
    assert probe_chat.says_only(" Je ne sais PAS !\nGerman:", ["je sais pas", "je ne sais pas"])
    assert not probe_chat.says_only("Je suis bonjour.", ["bonjour"])


def test_wilsons_interval():
    assert probe_chat.share(0, 20) == "0 of 20, 0% [0%, 16%]"
    assert probe_chat.share(29, 40) == "29 of 40, 72% [57%, 84%]"
