"""Masks to look at: pictures of masks, the mask to paint, and the outputs that a changed word moves."""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from utils import masks, plots, widgets
from utils.attention import attention_weights
from utils.widgets.masking import SOFTMAXES, Journey, draw_masked, first_leak, mask_presets
from utils.widgets.peeking import exchange

WORDS = "the sailor slept <pad> <pad>".split()


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def painted(widget):
    """The mask (n, n) that the boxes of a widget show."""
    boxes = [control.value for name, control in widget.controls.items() if name.startswith("box")]
    return torch.tensor(boxes).view(5, 5)


def test_pictures_of_masks_count_pairs_and_empty_rows():
    behind, in_front = torch.arange(5) < 3, torch.arange(5) > 1
    figure = plots.mask_pictures({"a": masks.causal_mask(5) & behind, "b": masks.causal_mask(5) & in_front}, WORDS)
    assert "a: 12 of 25 pairs; b: 6 of 25 pairs, 2 rows are empty." in figure.description
    assert len(figure.axes) == 2
    assert len(plots.mask_pictures({"one": torch.ones(2, 3)}, "ab", "xyz").axes) == 1
    with pytest.raises(ValueError, match="mask 'a' .* needs 3 rows and 3 columns"):
        plots.mask_pictures({"a": masks.causal_mask(5)}, "abc")


def test_presets_are_masks():
    presets = mask_presets(5, 2)
    assert torch.equal(presets["causal and padding"], presets["causal"] & presets["padding"])
    assert presets["padding"].sum(1).tolist() == [3] * 5 and presets["none"].all()
    assert presets["window, one word to each side"].sum(1).tolist() == [2, 3, 3, 3, 2]


def test_a_painted_mask_is_the_mask_that_is_shown():
    Q, K, V = draw(3, 5, 4).round()
    widget = widgets.paint_mask(WORDS, Q, K, V[:, :1], padded=2)
    presets = mask_presets(5, 2)
    for name, mask in presets.items():
        widget.controls["preset"].value = name
        assert torch.equal(painted(widget), mask)
        said = re.findall(r"(\d) of 5:", widget.redraw().description)
        assert list(map(int, said)) == mask.sum(1).tolist()
    widget.controls["preset"].value = "causal"
    widget.controls["box_2_0"].value = False
    weights = attention_weights(Q, K, painted(widget))
    said = widget.redraw().description
    assert f"slept to 2 of 5: sailor {weights[2, 1]:.2f}, slept {weights[2, 2]:.2f};" in said
    widget.controls["box_0_0"].value = False
    assert "the to 0 of 5: nothing;" in widget.redraw().description
    assert widget.screen.value.count(">−∞<") == 25 - 13


def test_masked_scores_are_hidden_and_empty_rows_are_zero():
    mask, whole = torch.eye(5, dtype=torch.bool), torch.arange(5.0)
    shown = draw_masked(WORDS, mask, whole.expand(5, 5), mask.float(), whole[:, None], whole[:, None])
    assert shown.svg.count(">−∞<") == 20 and "Who attends to whom. the to 1 of 5: the 1.00;" in shown.description


def test_numbers_for_which_a_phone_has_no_room_are_refused():
    with pytest.raises(ValueError, match="too wide for a phone"):
        widgets.paint_mask(WORDS, *draw(3, 5, 4), padded=2)


def test_an_empty_row_is_what_autograd_says():
    """The two ways agree wherever nothing is NaN, and NaN is where torch's own softmax puts it."""
    Q, K, V = draw(3, 4, 2)
    mask = torch.tensor([[1, 0, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0], [0, 1, 1, 0]]).bool()
    theirs, ours = (Journey(Q, K, V, mask, softmax).numbers for softmax in SOFTMAXES.values())
    assert np.isnan(theirs["weights"]).any(1).tolist() == [False, False, True, False]
    assert (
        np.isnan(theirs["to V"]).all() and np.isnan(theirs["V later"]).all() and np.isnan(theirs["a step later"]).all()
    )
    assert theirs["loss"] == pytest.approx(ours["loss"]) and all(np.isfinite(one).all() for one in ours.values())
    seen = mask.any(-1)
    expected = F.scaled_dot_product_attention(Q, K, V.requires_grad_(), attn_mask=mask)[seen]
    expected.square().mean().backward()
    np.testing.assert_allclose(ours["outputs"][seen], expected.detach(), atol=1e-6)
    np.testing.assert_allclose(ours["to V"], V.grad, atol=1e-6)
    with pytest.raises(ValueError, match="no row of the mask is empty"):
        widgets.empty_row(list("abcd"), Q, K, V.detach(), mask | True)


class Summing(torch.nn.Module):
    """Each output adds up the words that it hears, in training and in evaluation."""

    def __init__(self, training, evaluation):
        super().__init__()
        self.tables = {True: training, False: evaluation}

    def forward(self, X):
        return self.tables[self.training](torch.ones(len(X), len(X))) @ X


def test_exactly_one_model_is_to_be_shipped():
    honest, forgets = Summing(torch.tril, torch.tril), Summing(torch.tril, torch.triu)
    assert first_leak(honest, draw(5, 3), (3, 5)) is None and honest.training
    assert first_leak(forgets, draw(5, 3), (3, 5)) == ("evaluation", 3, 1, 0)
    widget = widgets.which_to_ship(WORDS, draw(5, 3), {"1": forgets, "2": honest}, short=3)
    widget.touch({"shipped": True})
    assert "✘ Model 1 leaks: in evaluation mode, with 3 words" in widget.redraw().description
    widget.touch({"model": "2"})
    assert not widget.controls["shipped"].value, "another model has to be shipped anew"
    widget.touch({"chosen": 4})
    assert (
        "sailor (2) changes" not in widget.redraw().description and "slept (3) changes" in widget.redraw().description
    )
    with pytest.raises(ValueError, match="exactly one of the models"):
        widgets.which_to_ship(WORDS, draw(5, 3), {"1": forgets}, short=3)


def test_a_word_is_exchanged_and_the_start_is_not():
    others = [0, 1, 3, 4, 5, 6, 2]
    assert exchange([1, 2, 6], 2, others) == [1, 2, 2] and exchange([1, 2, 6], 1, others) == [1, 3, 6]
    follows = lambda ids: (F.one_hot(ids.roll(-1, 1), 7).float(), torch.ones(1, 1, ids.shape[1], ids.shape[1]))  # noqa: E731
    widget = widgets.peeking({"A": follows}, {"one": [1, 2, 3, 4], "two": [1, 5, 6]}, list("ps.abcd"), others)
    widget.touch({"changed": 2})
    assert "a → s" not in widget.redraw().description
    assert "b replaces a. Earlier guesses that changed: 1" in widget.redraw().description
    widget.touch({"sentence": "two"})
    assert "○ Exchange a word" in widget.redraw().description, "another sentence is read as it is"
    with pytest.raises(ValueError, match="3 to 11 ids"):
        widgets.peeking({"A": follows}, {"one": [1, 2]}, list("ps."), [0, 1, 2])
    with pytest.raises(ValueError, match="one for each word"):
        widgets.peeking({"A": follows}, {"one": [1, 2, 2]}, list("ps."), [0, 1])
