"""utils/masks.py: shapes, refusals, and the translation to PyTorch."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from utils.attention import scaled_dot_product_attention
from utils.masks import (
    added,
    causal_mask,
    padding_mask,
    padding_mask_from_lengths,
    to_torch,
)
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
        (lambda: causal_mask(True), "positions True must be whole"),
        (lambda: padding_mask(torch.tensor([[True, False]])), "whole numbers, not torch.bool"),
        (lambda: padding_mask(torch.tensor([[1j, 0]])), "whole numbers, not torch.complex64"),
        (lambda: padding_mask(torch.tensor([[1, 2]]), pad_id=None), "pad_id None must be whole"),
        (lambda: padding_mask(torch.tensor([[1, 2]]), pad_id="0"), "pad_id '0' must be whole"),
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


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_ids_of_any_whole_kind_have_their_padding(dtype):
    tokens = torch.tensor([[4, 2, 0], [5, 0, 0]])
    assert torch.equal(padding_mask(tokens.to(dtype)), padding_mask(tokens))
    assert torch.equal(padding_mask(tokens - 100, pad_id=-100), padding_mask(tokens))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_an_added_mask_is_0_and_minus_infinity(dtype):
    found = added(causal_mask(2), dtype)
    assert found.dtype == dtype and found.tolist() == [[0, -torch.inf], [0, 0]]
