"""utils/measures.py: the measures are their equations, and say what does not fit."""

import math

import pytest
import torch
from batches import MASK, TARGETS, draw
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from utils import measures, training


def test_loss_likelihood_and_perplexity_agree():
    """Cross-entropy is the mean of −log y[w]; the likelihood is the product of the y[w]."""
    logits, targets = draw(6, 9), torch.tensor([4, 0, 8, 8, 2, 5])
    y = logits.exp() / logits.exp().sum(-1, keepdim=True)
    likelihood = math.prod(y[j, w].item() for j, w in enumerate(targets.tolist()))
    loss = training.sequence_loss(logits, targets, torch.ones(6, dtype=torch.bool))
    assert loss.item() == pytest.approx(-sum(math.log(y[j, w]) for j, w in enumerate(targets.tolist())) / 6)
    assert likelihood == pytest.approx(math.exp(-6 * loss))
    assert measures.perplexity(loss) == pytest.approx(likelihood ** (-1 / 6)) == measures.perplexity(loss.item())
    uniform = training.sequence_loss(torch.zeros(6, 9), targets, torch.ones(6, dtype=torch.bool))
    assert measures.perplexity(uniform) == pytest.approx(9)
    assert measures.perplexity(5000.0) == math.inf


def test_accuracies():
    logits = nn.functional.one_hot(TARGETS, 5).double()
    assert measures.token_accuracy(logits, TARGETS, MASK) == 1.0
    assert measures.token_accuracy(logits, TARGETS.masked_fill(~MASK, 1), MASK) == 1.0
    assert measures.token_accuracy(logits.masked_fill(~MASK[..., None], math.nan), TARGETS, MASK) == 1.0
    wrong = TARGETS.clone()
    wrong[0, 0], wrong[1, 1] = 1, 1
    assert measures.token_accuracy(logits, wrong, MASK) == pytest.approx(4 / 6)
    right = [[3, 4], [5], []]
    assert measures.sequence_accuracy([(3, 4), [5], []], right) == 1.0
    assert measures.sequence_accuracy([[3, 4], [5, 5], []], right) == pytest.approx(2 / 3)
    assert measures.sequence_accuracy([[4, 3], [], [1]], right) == 0.0


def test_links_are_the_largest_weights_within_the_lengths():
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1], [0.0, 0.1, 0.9], [0.2, 0.3, 0.5]])
    assert measures.argmax_links(weights, 3, 4) == {(0, 2), (1, 0), (2, 2), (3, 2)}
    assert measures.argmax_links(weights, 2, 3) == {(0, 1), (1, 0), (2, 1)}


# S sure, P possible, A found: |A ∩ S| = 1, |A ∩ P| = 2, |A| + |S| = 3 + 2
A, S, P = {(0, 0), (1, 1), (2, 2)}, {(0, 0), (1, 2)}, {(0, 0), (1, 2), (1, 1), (2, 1)}


def test_alignment_error_rate_by_hand():
    rate = measures.alignment_error_rate
    assert rate([A], [S], [P]) == pytest.approx(1 - 3 / 5)
    assert rate([S], [S], [P]) == rate([P], [S], [P]) == 0.0, "a possible link does no harm"
    assert rate([{(0, 1)}], [S], [P]) == 1.0
    assert rate([set()], [S], [P]) == 1.0 and rate([{(0, 0)}], [S], [P]) == pytest.approx(1 - 2 / 3)
    assert rate([set()], [set()], [P]) == 0.0
    assert rate([A, S], [S, S], [P, P]) == pytest.approx(1 - 7 / 9), "counted over all, not a mean of rates"


links = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)
sentences = st.lists(st.tuples(links, links, links), min_size=1, max_size=4)


@given(sentences)
@settings(max_examples=200, deadline=None)
def test_alignment_error_rate_lies_between_0_and_1(triples):
    found, sure, more = map(list, zip(*triples))
    possible = [s | p for s, p in zip(sure, more)]
    rate = measures.alignment_error_rate(found, sure, possible)
    assert -1e-12 <= rate <= 1 + 1e-12
    assert rate <= measures.alignment_error_rate(found, sure, sure) + 1e-12, "more possible links, no more errors"


@given(sentences)
@settings(max_examples=200, deadline=None)
def test_alignment_error_rate_is_1_minus_f1_where_all_possible_links_are_sure(triples):
    found, sure, _ = map(list, zip(*triples))
    hits = sum(len(a & s) for a, s in zip(found, sure))
    if hits:
        precision, recall = hits / sum(map(len, found)), hits / sum(map(len, sure))
        f1 = 2 * precision * recall / (precision + recall)
        assert measures.alignment_error_rate(found, sure, sure) == pytest.approx(1 - f1)


def test_attention_mass_by_hand():
    weights = torch.tensor([[0.7, 0.2, 0.1], [0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    mass = measures.attention_mass
    assert mass([weights], [{(0, 0), (2, 1)}]) == pytest.approx((0.7 + 0.1) / 2)
    assert mass([weights], [{(0, 0), (1, 0), (1, 2)}]) == pytest.approx((0.7 + 0.75) / 2), "a word with two links"
    assert mass([weights, weights[:1]], [{(2, 2)}, {(0, 1)}]) == pytest.approx((0.8 + 0.2) / 2)
    assert mass([weights, weights], [set(), {(2, 2)}]) == pytest.approx(0.8)
    assert mass([torch.eye(4)], [{(i, i) for i in range(4)}]) == 1.0


LOGITS, SQUARE = torch.zeros(2, 4, 5), torch.eye(3)
IGNORED = TARGETS.masked_fill(TARGETS == 3, -100)  # as torch's cross_entropy leaves targets out
UNFIT = {
    "logits (2, 4, 5), targets (2, 3), mask (2, 4)": lambda: training.sequence_loss(LOGITS, TARGETS[:, :3], MASK),
    "targets (2, 4), mask (2, 4) torch.int64 must": lambda: training.sequence_loss(LOGITS, TARGETS, MASK.long()),
    "mask (4,) torch.bool must be": lambda: measures.token_accuracy(LOGITS, TARGETS, MASK[0]),
    "the mask is False everywhere": lambda: measures.token_accuracy(LOGITS, TARGETS, MASK & False),
    "targets from -100 to 4 must lie between 0 and 4": lambda: training.sequence_loss(LOGITS, IGNORED, MASK),
    "targets from 0 to 5 must lie between": lambda: training.sequence_loss(LOGITS, TARGETS + (TARGETS == 4), MASK),
    "targets must be whole numbers, int64 or int32, not (6,) of torch.float32": lambda: training.sequence_loss(
        LOGITS, TARGETS.float(), MASK
    ),
    "from -100 to": lambda: measures.token_accuracy(LOGITS, IGNORED, MASK),
    "some logits are NaN": lambda: measures.token_accuracy(LOGITS * math.nan, TARGETS * 0, MASK),
    "logits is of the type list": lambda: measures.token_accuracy(LOGITS.tolist(), TARGETS, MASK),
    "mask is None": lambda: training.sequence_loss(LOGITS, TARGETS, None),
    "2 and 1 sentences": lambda: measures.sequence_accuracy([[1], [2]], [[1]]),
    "0 and 0 sentences": lambda: measures.sequence_accuracy([], []),
    "weights (3, 3) must be (q, k) and cover 4 target and 3": lambda: measures.argmax_links(SQUARE, 3, 4),
    "cover 3 target and 4 source": lambda: measures.argmax_links(SQUARE, 4, 3),
    "cover 3 target and 0 source": lambda: measures.argmax_links(SQUARE, 0, 3),
    "weights is of the type list": lambda: measures.argmax_links(SQUARE.tolist(), 3, 3),
    "weights is of the type tuple": lambda: measures.attention_mass([(1.0,)], [{(0, 0)}]),
    "weights (1, 3, 3) must be": lambda: measures.argmax_links(SQUARE[None], 3, 1),
    "1 and 2 and 1 sentences": lambda: measures.alignment_error_rate([A], [S, S], [P]),
    "0 and 0 and 0 sentences": lambda: measures.alignment_error_rate([], [], []),
    "sure links [(1, 1), (2, 1)] are not among the possible": lambda: measures.alignment_error_rate([A], [P], [S]),
    "1 and 2 sentences": lambda: measures.attention_mass([SQUARE], [A, A]),
    "links [(0, 3)] reach beyond weights (3, 3)": lambda: measures.attention_mass([SQUARE], [{(0, 3)}]),
    "there is no link": lambda: measures.attention_mass([SQUARE], [set()]),
}


@pytest.mark.parametrize("said", UNFIT)
def test_measures_name_what_does_not_fit(said):
    with pytest.raises(ValueError) as caught:
        UNFIT[said]()
    assert said in str(caught.value)


def test_an_interval_is_about_as_wide_as_theory_has_it():
    """Of the mean of n coins: ± 1.96 / √(4n)."""
    coins = torch.arange(400) % 2
    mean, low, high = measures.interval(coins)
    assert (
        mean == 0.5 and low == pytest.approx(0.5 - 0.049, abs=0.004) and high == pytest.approx(0.5 + 0.049, abs=0.004)
    )
    assert measures.interval(torch.ones(5)) == (1, 1, 1)


def test_what_belongs_together_is_drawn_together():
    """Ten groups of equal values are ten draws, however many there are of each."""
    single = torch.arange(10.0)
    alone = measures.interval(single)
    assert measures.interval(single.repeat_interleave(8), torch.arange(10).repeat_interleave(8)) == pytest.approx(alone)
    narrow = measures.interval(single.repeat_interleave(8))
    assert narrow[2] - narrow[1] < 0.5 * (alone[2] - alone[1])
    uneven = torch.tensor([1.0, 1, 1, 0]), torch.tensor([0, 0, 0, 1])
    assert measures.interval(*uneven)[1:] == (0, 1)


@pytest.mark.parametrize(
    "values, groups", [(torch.ones(0), None), (torch.ones(2, 2), None), (torch.ones(3), torch.zeros(2))]
)
def test_an_interval_needs_values(values, groups):
    with pytest.raises(ValueError, match=r"values \(n,\) and groups"):
        measures.interval(values, groups)
