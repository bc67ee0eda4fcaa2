"""utils/masks.py: shapes, refusals, the translation to PyTorch, and the causality probe on right and broken modules."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from utils.attention import MultiHeadAttention, scaled_dot_product_attention
from utils.masks import (
    causal_mask,
    causality_probe,
    leaks,
    padding_mask,
    padding_mask_from_lengths,
    to_torch,
    two_changes,
)


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


class Reads(nn.Module):
    """Output i is `measure` of what stands at the positions that `reads` (n, n) has in row i, a weighted sum."""

    def __init__(self, reads, measure, direction):
        super().__init__()
        self.reads, self.measure, self.direction = reads.double(), measure, direction

    def forward(self, x):
        x = x @ self.direction if x.is_floating_point() else self.direction[x]  # (…, n)
        return (self.reads @ self.measure(x)[..., None]).detach()  # (…, n, 1)


MEASURES = {
    "identity": lambda x: x,
    "one sign only": torch.relu,
    "the other sign only": lambda x: torch.relu(-x),
    "no sign": torch.abs,
    "nothing but the sign": torch.sign,
}


def causal_or_not(n, seed):
    """Who reads whom at random, at least one position each."""
    return torch.rand(n, n, generator=torch.Generator().manual_seed(seed)) < 0.4


@settings(max_examples=40, deadline=None)
@given(
    constant=st.floats(-1e6, 1e6, allow_subnormal=False),
    measure=st.sampled_from(list(MEASURES)),
    n=st.integers(1, 5),
    seed=st.integers(0, 10_000),
)
def test_the_probe_sees_every_dependence_whatever_the_vectors(constant, measure, n, seed):
    """On vectors that are all the same number, too, of which 3 − 2x leaves 1 as it is."""
    reads, direction = causal_or_not(n, seed), torch.randn(3, dtype=torch.float64)
    module = Reads(reads, MEASURES[measure], direction)
    for x in (torch.full((n, 3), constant, dtype=torch.float64), constant * torch.rand(2, n, 3, dtype=torch.float64)):
        moved = causality_probe(module, x, seed=seed)
        assert moved["train"].equal(reads) and moved["eval"].equal(reads)


@settings(max_examples=40, deadline=None)
@given(size=st.integers(2, 9), n=st.integers(1, 5), batch=st.integers(1, 3), seed=st.integers(0, 10_000))
def test_the_probe_sees_every_dependence_whatever_the_ids(size, n, batch, seed):
    """The smallest vocabularies and rows of the id 0 alone, too; no id is asked for that the embedding lacks."""
    tokens = torch.randint(0, size, (batch, n), generator=torch.Generator().manual_seed(seed))
    reads = causal_or_not(n, seed)
    module = Reads(reads, MEASURES["identity"], torch.randn(size, dtype=torch.float64))
    for x in (tokens, torch.zeros_like(tokens), torch.full_like(tokens, size - 1), tokens.int()):
        assert causality_probe(module, x)["eval"].equal(reads)


def test_an_id_is_exchanged_for_two_others_where_there_are_three():
    x = torch.tensor([[0, 1, 2, 4, 4, 2, 0]])
    one, other = two_changes(x, seed=0)
    assert (one != x).all() and (other != x).all() and (one != other).all()
    assert min(one.min(), other.min()) >= 0 and max(one.max(), other.max()) <= 4


NOT_PROBED = {
    "not (4,)": lambda: causality_probe(Causal(), torch.rand(4)),
    "not (0, 4)": lambda: causality_probe(Causal(), torch.rand(0, 4)),
    "x is of the type list": lambda: causality_probe(Causal(), [[1.0]]),
    "is (12,); the probe needs a tensor (…, 3, ·)": lambda: causality_probe(nn.Flatten(0), torch.rand(3, 4)),
    "train mode the output holds NaN": lambda: causality_probe(nn.Identity(), torch.full((3, 4), torch.nan)),
}


@pytest.mark.parametrize("said", NOT_PROBED)
def test_the_probe_names_what_it_cannot_use(said):
    with pytest.raises(ValueError) as caught:
        NOT_PROBED[said]()
    assert said in str(caught.value)
