"""utils/decoding.py: one loop that writes for every model of which it gets a step."""

from itertools import product
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from utils.decoder import LanguageModel, TokenEncoder, TransformerTranslator
from utils.decoding import (
    beam_search,
    drawn_by,
    keep_top_k,
    keep_top_p,
    most_probable,
    rows_of,
    sampling,
    write,
)
from utils.masks import padding_mask
from utils.transformer import Tagger
from utils.vocabulary import END_ID, START_ID

WORDS = 9


def transformer(seed, bonus=0.0):
    """A causal Transformer with a logit for every next word; `bonus` makes `</s>` likelier."""
    torch.manual_seed(seed)
    model = Tagger(WORDS, num_tags=WORDS, d_model=8, num_heads=2, num_layers=2, d_ff=16, causal=True).double().eval()
    nn.init.normal_(model.embedding.vectors.weight, std=3.0)
    with torch.no_grad():
        model.to_logits.bias[END_ID] += bonus
    return model


def step_of(model):
    """Without a cache: the state is the tokens so far, (b, n), and all of them are read again in every step."""

    def step(token, so_far):
        so_far = torch.cat([so_far, token], dim=1)
        logits, weights = model(so_far)
        return logits, so_far, weights[-1][:, 0, -1]

    return step


def nothing_yet(sentences):
    return torch.zeros(sentences, 0, dtype=torch.int64)


@torch.no_grad()
def test_a_transformer_writes_what_it_finds_most_probable():
    lengths = set()
    for seed in range(8):
        model = transformer(seed, bonus=seed / 8)
        [ids], kept = write(step_of(model), nothing_yet(1), 1, 12)
        best = model(torch.tensor([[START_ID, *ids]]))[0][0].argmax(-1).tolist()  # all at once
        assert ids == best[: len(ids)] and END_ID not in ids
        assert len(kept) == min(len(ids) + 1, 12) == kept[-1].shape[-1], "of each step, the weights over what it read"
        assert len(ids) == 12 or best[-1] == END_ID
        lengths.add(len(ids) < 12)
    assert lengths == {True, False}, "the cases must show both ends"


def scripted(*sentences):
    """A step that says these tokens, whatever it reads, and keeps what it read."""

    def step(token, state):
        state = 0 if state is None else state + 1
        said = torch.tensor([sentence[state] for sentence in sentences])
        return nn.functional.one_hot(said, WORDS)[:, None].float(), state, token[:, 0].tolist()

    return step


def test_each_token_is_read_in_the_next_step_until_every_sentence_has_ended():
    written, kept = write(scripted([5, 6, END_ID, 7, 8], [5, 7, 6, END_ID, 8]), None, 2, 9)
    assert written == [[5, 6], [5, 7, 6]]
    assert kept == [[START_ID] * 2, [5, 5], [6, 7], [END_ID, 6]], "and no step after the last </s>"
    assert write(scripted([5, 6, 7, 8, 4]), None, 1, 2)[0] == [[5, 6]]


def test_tokens_are_drawn_with_their_probabilities_by_the_generator():
    logits = torch.tensor([[0.0, 1.0, 2.0, -torch.inf]]).expand(20_000, 4)
    drawn = drawn_by(torch.Generator().manual_seed(0))(logits)
    found = torch.bincount(drawn, minlength=4) / len(logits)
    assert (found - logits[0].softmax(-1)).abs().max() < 0.02 and found[3] == 0
    assert torch.equal(drawn, drawn_by(torch.Generator().manual_seed(0))(logits))
    assert most_probable(logits[:2]).tolist() == [2, 2]
    model = transformer(0)
    ways = [
        write(step_of(model), nothing_yet(3), 3, 9, drawn_by(torch.Generator().manual_seed(s)))[0] for s in (1, 1, 2)
    ]
    assert ways[0] == ways[1] != ways[2] and ways[0][0] != ways[0][1]


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
def test_logits_that_say_nothing_are_refused(broken):
    def step(token, state):
        return torch.full((1, 1, WORDS), broken), state, None

    with pytest.raises(ValueError, match="no token is the most probable"):
        write(step, None, 1, 3)


def test_sizes_below_1_are_refused():
    for sizes, said in (
        ((0, 3), "sentences 0 and limit 3"),
        ((1, 0), "sentences 1 and limit 0"),
        ((1, 2.5), "limit 2.5"),
    ):
        with pytest.raises(ValueError, match=said):
            write(scripted([5]), None, *sizes)


# Drawn, but not from all


logits_of_one = st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0]), min_size=1, max_size=9)


@given(logits_of_one, st.integers(1, 12), st.floats(0.01, 1.0))
@settings(max_examples=200, deadline=None)
def test_the_most_probable_are_kept_and_nothing_else(values, k, p):
    logits = torch.tensor([values, values[::-1]], dtype=torch.float64)
    for kept in (keep_top_k(logits, k), keep_top_p(logits, p)):
        inside = kept.isfinite()
        assert torch.equal(kept[inside], logits[inside])
        for row, one in zip(logits, inside):
            assert one.any() and (one.all() or row[one].min() >= row[~one].max())
    assert keep_top_k(logits, k).isfinite().sum(-1).tolist() == [min(k, len(values))] * 2
    for probabilities, one in zip(logits.softmax(-1), keep_top_p(logits, p).isfinite()):
        total, least = probabilities[one].sum(), probabilities[one].min()
        assert total >= p - 1e-9 and (total - least < p + 1e-9), "enough, and one fewer would not be"


def test_of_equal_logits_the_first_are_kept():
    assert keep_top_k(torch.tensor([1.0, 2.0, 1.0, 1.0]), 2).tolist() == [1.0, 2.0, -torch.inf, -torch.inf]


@pytest.mark.parametrize("options", [{}, dict(top_p=1.0), dict(top_k=WORDS), dict(temperature=1.0)])
def test_sampling_from_all_is_drawing(options):
    logits = torch.randn(500, WORDS, generator=torch.Generator().manual_seed(0))
    drawn = sampling(torch.Generator().manual_seed(1), **options)(logits)
    assert torch.equal(drawn, drawn_by(torch.Generator().manual_seed(1))(logits))


@pytest.mark.parametrize("options", [dict(top_k=1), dict(top_p=1e-6), dict(temperature=1e-4)])
def test_sampling_from_next_to_nothing_is_greedy(options):
    logits = torch.randn(500, WORDS, generator=torch.Generator().manual_seed(0))
    choose = sampling(torch.Generator().manual_seed(1), **options)
    assert torch.equal(choose(logits), most_probable(logits))
    model = transformer(0)
    ways = [write(step_of(model), nothing_yet(2), 2, 9, way)[0] for way in (choose, most_probable)]
    assert ways[0] == ways[1]


def test_shares_follow_the_temperature_and_the_cuts():
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0]]).expand(20_000, 4)
    kept = (logits[0] / 0.5)[:3]  # 0.87, 0.12 and 0.02 of three
    drawn = sampling(torch.Generator().manual_seed(0), temperature=0.5, top_k=3, top_p=0.95)(logits)
    found = torch.bincount(drawn, minlength=4) / len(logits)
    expected = torch.cat([kept[:2].softmax(-1), torch.zeros(2)])
    assert (found - expected).abs().max() < 0.01


def test_what_cannot_be_sampled_is_named():
    for options, said in (
        (dict(temperature=0), "temperature 0 must be above 0"),
        (dict(temperature=float("nan")), "temperature nan"),
        (dict(temperature=float("inf")), "temperature inf must be above 0 and finite"),
        (dict(top_k=0), "top_k 0 must be at least 1"),
        (dict(top_p=0.0), "top_p 0.0 must lie above 0"),
        (dict(top_p=1.5), "top_p 1.5 must lie above 0"),
    ):
        with pytest.raises(ValueError, match=said):
            sampling(torch.Generator(), **options)(torch.zeros(1, WORDS))


# Beam search


SOURCE = torch.tensor([[5, 3, 7, 4], [4, 8, 0, 0], [6, 5, 3, 0]])


def translator(seed, end=1.0):
    """With weights that matter everywhere; `end` makes `</s>` stand out."""
    torch.manual_seed(seed)
    sizes = dict(d_model=16, num_heads=2, d_ff=16, num_layers=1, positions="rotary")
    model = TransformerTranslator(TokenEncoder(WORDS, **sizes), LanguageModel(WORDS, **sizes, cross=True))
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    with torch.no_grad():
        model.language_model.to_logits.weight[END_ID] *= end
    return model.double().eval()


def log_probability(model, row, ids, limit):
    """Of a whole translation, read at once; with its `</s>` where it is shorter than the limit."""
    tokens = [*ids, END_ID] if len(ids) < limit else ids
    source = SOURCE[row : row + 1]
    with torch.no_grad():
        logits, _ = model(source, padding_mask(source), torch.tensor([[START_ID, *tokens[:-1]]]))
    return logits[0].log_softmax(-1)[range(len(tokens)), tokens].sum().item()


def searched(model, limit, width, **options):
    return beam_search(model.step_for(SOURCE, padding_mask(SOURCE)), None, 3, limit, width, **options)


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy_search(seed):
    model = translator(seed)
    greedy, _ = model.translate(SOURCE, padding_mask(SOURCE), 7)
    found = searched(model, 7, 1)
    assert [[ids for ids, _ in beams] for beams in found] == [[ids] for ids in greedy]


@pytest.mark.parametrize("width", [1, 3, 5])
def test_beams_have_the_sums_of_their_log_probabilities_and_come_best_first(width):
    for seed in range(4):
        model = translator(seed)
        for row, beams in enumerate(searched(model, 6, width)):
            assert len(beams) == width and len({tuple(ids) for ids, _ in beams}) == width
            sums = [total for _, total in beams]
            assert sums == sorted(sums, reverse=True)
            for ids, total in beams:
                assert END_ID not in ids and abs(total - log_probability(model, row, ids, 6)) < 1e-9


def test_a_beam_with_room_for_everything_finds_the_best():
    model, limit = translator(1), 3
    others = [i for i in range(WORDS) if i != END_ID]
    every = [ids for n in range(limit + 1) for ids in product(others, repeat=n)]
    source = SOURCE[:1]
    [beams] = beam_search(model.step_for(source, padding_mask(source)), None, 1, limit, WORDS**limit)
    assert {tuple(ids) for ids, _ in beams} == set(every) and len(beams) == len(every), "each once"
    assert abs(torch.tensor([total for _, total in beams], dtype=torch.float64).exp().sum() - 1) < 1e-9
    for ids, total in beams[::50]:
        assert abs(total - log_probability(model, 0, ids, limit)) < 1e-9


def test_a_sentence_s_beams_do_not_depend_on_the_others():
    model = translator(2)
    for row, beams in enumerate(searched(model, 6, 3)):
        source = SOURCE[row : row + 1, : (SOURCE[row] > 0).sum()]
        [alone] = beam_search(model.step_for(source, padding_mask(source)), None, 1, 6, 3)
        assert [ids for ids, _ in alone] == [ids for ids, _ in beams]


def test_length_power_only_sorts_anew():
    differs = False
    for seed in range(6):
        model = translator(seed, end=3.0)
        for plain, mean in zip(searched(model, 6, 4), searched(model, 6, 4, length_power=1.0)):
            assert sorted(map(str, plain)) == sorted(map(str, mean))
            per_token = [total / min(len(ids) + 1, 6) for ids, total in mean]
            assert per_token == sorted(per_token, reverse=True)
            differs |= plain != mean
    assert differs


def test_beams_without_a_cache_and_of_a_recurrent_state_are_picked():
    model = transformer(3)

    def ignoring(token, state):
        logits, state, _ = step_of(model)(token, state)
        return logits, state, None

    found = beam_search(ignoring, nothing_yet(2), 2, 5, 3)
    assert found[0] == found[1] and len(found[0]) == 3
    rnn = nn.GRU(4, 4, batch_first=True).double()
    vectors, out = torch.randn(WORDS, 4, dtype=torch.float64), torch.randn(4, WORDS, dtype=torch.float64)

    def step(token, state):
        before = None if state is None else state.transpose(0, 1).contiguous()  # torch's state is (1, b, d)
        states, after = rnn(vectors[token], before)
        return states @ out, after.transpose(0, 1), None

    with torch.no_grad():
        for ids, total in beam_search(step, None, 1, 5, 4)[0]:
            tokens = [*ids, END_ID][:5]
            logits = rnn(vectors[torch.tensor([[START_ID, *tokens[:-1]]])])[0][0] @ out
            assert abs(logits.log_softmax(-1)[range(len(tokens)), tokens].sum() - total) < 1e-9


def test_rows_are_picked_from_every_tensor_of_a_state():
    class Kept(NamedTuple):
        x: torch.Tensor
        more: list

    x = torch.arange(6).view(3, 2)
    found = rows_of(Kept(x, [None, (x + 1,)]), torch.tensor([2, 2, 0]))
    assert isinstance(found, Kept) and found.x[:, 0].tolist() == [4, 4, 0] and found.more[0] is None
    assert isinstance(found.more[1], tuple) and found.more[1][0][:, 1].tolist() == [6, 6, 2]
