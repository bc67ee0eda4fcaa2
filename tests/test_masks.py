"""utils/masks.py: shapes, refusals, and the translation to PyTorch."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from utils.attention import scaled_dot_product_attention
from utils.masks import causal_mask, lengths, padding_mask, padding_mask_from_lengths, to_torch
from utils.vocabulary import PAD_ID


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
    assert torch.equal(mask, padding_mask(tokens, PAD_ID)), "what a vocabulary pads with"
    assert lengths(mask).tolist() == [3, 1, 2]


def test_masks_combine_and_broadcast_over_heads():
    both = padding_mask(torch.tensor([[4, 2, 0], [5, 3, 1]])) & causal_mask(3)
    assert both.shape == (2, 1, 3, 3) and both[0, 0, 2].tolist() == [True, True, False]
    X = torch.randn(2, 4, 3, 5)
    _, weights = scaled_dot_product_attention(X, X, X, both)
    assert weights.shape == (2, 4, 3, 3) and (weights[0, :, :, 2] == 0).all()


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: causal_mask(0), "positions 0 must be at least 1"),
        (lambda: padding_mask(torch.tensor([1, 2])), r"not \(2,\)"),
        (lambda: padding_mask(torch.rand(2, 3)), "whole numbers"),
        (lambda: padding_mask_from_lengths(torch.tensor([[1]])), r"\(1, 1\)"),
        (lambda: padding_mask_from_lengths(torch.tensor([5]), longest=3), "do not fit"),
        (lambda: causal_mask(2.5), "positions 2.5 must be whole"),
        (lambda: padding_mask([[1, 2]]), "tokens is of the type list"),
        (lambda: padding_mask_from_lengths(np.array([1])), "lengths is of the type ndarray"),
        (lambda: padding_mask_from_lengths(torch.tensor([2]), longest=2.5), "longest 2.5 must be whole"),
        (lambda: padding_mask_from_lengths(torch.tensor([], dtype=torch.int64)), r"not \(0,\)"),
        (lambda: lengths(None), "mask is None"),
        (
            lambda: lengths(torch.ones(2, 3).bool()),
            r"\(2, 3\) of torch.bool is not one of padding: padding_mask\(tokens\)",
        ),
        (lambda: lengths(torch.ones(2, 1, 1, 3)), "torch.float32 is not one of padding"),
        (lambda: lengths(torch.ones(2, 1, 3, 3).bool()), r"\(2, 1, 3, 3\)"),
        (lambda: lengths(padding_mask(torch.tensor([[0, 4, 7]]))), "padding only after its words"),
        (lambda: to_torch(None, 1), "mask is None"),
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
