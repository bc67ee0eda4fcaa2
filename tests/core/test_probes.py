"""utils/probes.py: the causality probe on right and broken modules, heads that are silenced, what is kept, what takes
how long."""

import copy
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from utils.attention import MultiHeadAttention
from utils.masks import causal_mask
from utils.probes import (
    ablate,
    causality_probe,
    kept,
    leaks,
    milliseconds,
    readings,
    two_changes,
)
from utils.transformer import Encoder, Tagger


class Causal(nn.Module):
    """Two layers of attention; `masks` gives the mask of each layer, or None."""

    def __init__(self, masks=lambda n, training: [causal_mask(n)] * 2, dropout=0.3):
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.masks = nn.Embedding(10, 8), masks
        self.layers = nn.ModuleList(MultiHeadAttention(d_model=8, num_heads=2, dropout=dropout) for _ in range(2))

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


# Ablation


def encoder():
    """Three layers of two heads, with weights large enough that each makes a difference."""
    torch.manual_seed(0)
    made = Encoder(d_model=12, num_heads=2, num_layers=3, d_ff=20, final_norm=True).double()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.4)
    return made


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def close(actual, expected):
    torch.testing.assert_close(actual, expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_last_reading_is_the_taggers_and_a_sublayer_that_adds_nothing_changes_none(norm):
    torch.manual_seed(0)
    tagger = Tagger(9, num_tags=3, d_model=8, num_heads=2, num_layers=2, d_ff=16, norm=norm).eval()
    tokens, mask = torch.randint(9, (4, 6)), torch.rand(4, 1, 1, 6) > 0.4
    mask[..., 0] = True
    logits, weights = readings(tagger, tokens, mask)
    expected, expected_weights = tagger(tokens, mask)
    assert logits.shape == (5, 4, 6, 3) and torch.equal(logits[-1], expected)
    assert all(torch.equal(*pair) for pair in zip(weights, expected_weights, strict=True))
    assert all((before - after).abs().max() > 1e-3 for before, after in pairwise(logits))
    if norm == "pre":  # what adds 0 leaves the stream as it is
        for parameter in tagger.encoder.blocks[1].attention.W_o.parameters():
            torch.nn.init.zeros_(parameter)
        logits, _ = readings(tagger, tokens, mask)
        assert torch.equal(logits[3], logits[2]) and not torch.equal(logits[4], logits[3])


def test_an_ablated_head_adds_nothing_and_comes_back():
    """Leaving out one head is leaving out its columns of W_o; the other heads and the biases stay."""
    ours, x, mask = encoder(), draw(3, 6, 12), causal_mask(6)
    whole = ours(x, mask)[0]
    for layer, head in [(1, 1), (2, 2), (3, 1)]:
        cut = copy.deepcopy(ours)
        with torch.no_grad():
            cut.blocks[layer - 1].attention.W_o.weight[:, 6 * head - 6 : 6 * head] = 0.0
        with ablate(ours, layer, head):
            close(ours(x, mask)[0], cut(x, mask)[0])
            assert not torch.allclose(ours(x, mask)[0], whole)
        assert torch.equal(ours(x, mask)[0], whole)


def test_ablations_add_up_and_end_with_an_exception():
    ours, x = encoder(), draw(3, 6, 12)
    whole = ours(x)[0]
    with pytest.raises(KeyError), ablate(ours, 1, 1), ablate(ours, 1, 2):
        W_o = ours.blocks[0].attention.W_o
        close(ours.blocks[0].attention(x)[0], W_o.bias.expand(3, 6, 12))
        raise KeyError
    assert torch.equal(ours(x)[0], whole)


def test_what_is_kept_for_the_backward_pass_is_counted_once():
    """A product keeps its two factors, a square of a tensor that tensor, a sum nothing."""
    x, y = torch.rand(256, 1024, requires_grad=True), torch.rand(256, 1024, requires_grad=True)  # 1 MB each
    assert kept(lambda x: x * y, x) == 2
    assert kept(lambda x: x * x.view(-1).view(256, 1024), x) == 1
    assert kept(lambda x: x + y, x) == 0


def test_a_disturbance_does_not_change_how_times_compare(monkeypatch):
    """For its first five calls the computer is ten times slower: as many as one of the two is called in all."""
    clock = [0.0, 0]  # seconds, and calls so far
    monkeypatch.setattr("utils.probes.time.process_time", lambda: clock[0])

    def takes(seconds):
        clock[:] = clock[0] + seconds * (10 if clock[1] < 5 else 1), clock[1] + 1

    took = milliseconds({"fast": lambda: takes(1), "slow": lambda: takes(10)})
    assert took == pytest.approx({"fast": 1000, "slow": 10_000})
    with pytest.raises(ValueError, match="rounds 0 must be at least 1"):
        milliseconds({}, rounds=0)


# Refusals


NOT_PROBED = {
    "not (4,)": lambda: causality_probe(Causal(), torch.rand(4)),
    "not (0, 4)": lambda: causality_probe(Causal(), torch.rand(0, 4)),
    "x is of the type list": lambda: causality_probe(Causal(), [[1.0]]),
    "is (12,); the probe needs a tensor (…, 3, ·)": lambda: causality_probe(nn.Flatten(0), torch.rand(3, 4)),
    "train mode the output holds NaN": lambda: causality_probe(nn.Identity(), torch.full((3, 4), torch.nan)),
    "layer 2, head 1: there are 1 layers of 2 heads": lambda: ablate(
        Encoder(d_model=4, num_heads=2, num_layers=1, d_ff=8), 2, 1
    ).__enter__(),
    "layer 1, head 0": lambda: ablate(Encoder(d_model=4, num_heads=2, num_layers=1, d_ff=8), 1, 0).__enter__(),
}


@pytest.mark.parametrize("said", NOT_PROBED)
def test_the_probe_names_what_it_cannot_use(said):
    with pytest.raises(ValueError) as caught:
        NOT_PROBED[said]()
    assert said in str(caught.value)
