"""utils/masks.py: shapes, refusals, the translation to PyTorch, and the causality probe on right and broken modules."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from utils.attention import MultiHeadAttention, scaled_dot_product_attention
from utils.masks import causal_mask, causality_probe, leaks, padding_mask, padding_mask_from_lengths, to_torch


def test_causal_mask_sees_itself_and_the_past():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert causal_mask(3).dtype == torch.bool


def test_padding_mask_of_tokens_and_of_lengths_agree():
    tokens = torch.tensor([[4, 2, 7], [5, 0, 0], [3, 9, 0]])
    mask = padding_mask(tokens)
    assert mask.shape == (3, 1, 1, 3) and mask[1, 0, 0].tolist() == [True, False, False]
    assert torch.equal(mask, padding_mask_from_lengths(torch.tensor([3, 1, 2])))
    assert padding_mask_from_lengths(torch.tensor([1]), longest=4).shape == (1, 1, 1, 4)
    assert torch.equal(padding_mask(tokens, pad_id=4), (tokens != 4)[:, None, None])


def test_masks_combine_and_broadcast_over_heads():
    both = padding_mask(torch.tensor([[4, 2, 0], [5, 3, 1]])) & causal_mask(3)
    assert both.shape == (2, 1, 3, 3) and both[0, 0, 2].tolist() == [True, True, False]
    X = torch.randn(2, 4, 3, 5)
    _, weights = scaled_dot_product_attention(X, X, X, both)
    assert weights.shape == (2, 4, 3, 3) and (weights[0, :, :, 2] == 0).all()


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: causal_mask(0), "at least one position"),
        (lambda: padding_mask(torch.tensor([1, 2])), r"not \(2,\)"),
        (lambda: padding_mask(torch.rand(2, 3)), "whole numbers"),
        (lambda: padding_mask_from_lengths(torch.tensor([[1]])), r"\(1, 1\)"),
        (lambda: padding_mask_from_lengths(torch.tensor([5]), longest=3), "do not fit"),
        (lambda: to_torch(torch.ones(2, 2), 1), "boolean"),
        (lambda: to_torch(torch.ones(2, 3, 2, 2, dtype=torch.bool), 4), r"\(2, 3, 2, 2\)"),
    ],
)
def test_refusals_name_the_value(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_to_torch_turns_the_sense_round():
    mask = causal_mask(3)
    X = torch.randn(1, 3, 8)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    _, weights = theirs(X, X, X, attn_mask=to_torch(mask, 2))
    assert (weights[0][~mask] == 0).all() and (weights[0][mask] > 0).all()
    batched = to_torch(mask.expand(5, 1, 3, 3), 2)
    assert batched.shape == (10, 3, 3) and torch.equal(batched[7], ~mask)
    ours, _ = scaled_dot_product_attention(X, X, X, mask)
    torch.testing.assert_close(ours, F.scaled_dot_product_attention(X, X, X, attn_mask=mask))


class Causal(nn.Module):
    """Two layers of attention; `masks` gives the mask of each layer, or None."""

    def __init__(self, masks=lambda n, training: [causal_mask(n)] * 2, dropout=0.3):
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.masks = nn.Embedding(10, 8), masks
        self.layers = nn.ModuleList(MultiHeadAttention(8, 2, dropout) for _ in range(2))

    def forward(self, x):
        x = x if x.is_floating_point() else self.embedding(x)
        for layer, mask in zip(self.layers, self.masks(x.shape[-2], self.training)):
            x = x + layer(x, mask=mask)[0]
        return x, None


INPUTS = [torch.tensor([[3, 0, 9, 1, 5], [2, 2, 2, 7, 4]]), torch.randn(5, 8), torch.randn(2, 3, 5, 8)]


@pytest.mark.parametrize("x", INPUTS, ids=["tokens", "vectors", "more axes"])
def test_a_causal_module_has_no_leak_in_either_mode(x):
    module = Causal()
    moved = causality_probe(module, x)
    assert leaks(moved) == []
    assert set(moved) == {"train", "eval"} and all(found.diagonal().all() for found in moved.values())
    assert moved["eval"].equal(causal_mask(5)), "every output depends on all that came before"


BROKEN = {
    "inverted": (lambda n, training: [~causal_mask(n) | torch.eye(n, dtype=torch.bool)] * 2, {"train", "eval"}),
    "in training only": (lambda n, training: [causal_mask(n) if training else None] * 2, {"eval"}),
    "dropped in the second layer": (lambda n, training: [causal_mask(n), None], {"train", "eval"}),
}


@pytest.mark.parametrize("defect", BROKEN)
def test_the_probe_finds_published_defects(defect):
    masks, modes = BROKEN[defect]
    found = leaks(causality_probe(Causal(masks), INPUTS[0]))
    assert {mode for mode, _, _ in found} == modes and all(j > i for _, i, j in found)


def test_the_probe_leaves_mode_and_random_numbers_alone():
    module = Causal().eval()
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    causality_probe(module, INPUTS[0])
    assert torch.equal(torch.rand(1), expected) and not module.training


def test_the_probe_names_an_input_that_it_cannot_use():
    with pytest.raises(ValueError, match=r"\(4,\)"):
        causality_probe(Causal(), torch.rand(4))
