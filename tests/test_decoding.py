"""utils/decoding.py: one loop that writes for every model of which it gets a step."""

import pytest
import torch
from torch import nn

from utils.decoding import drawn_by, most_probable, write
from utils.transformer import Tagger
from utils.vocabulary import END_ID, START_ID

WORDS = 9


def transformer(seed, bonus=0.0):
    """A causal Transformer with a logit for every next word; `bonus` makes `</s>` likelier."""
    torch.manual_seed(seed)
    model = Tagger(WORDS, WORDS, 8, 2, 16, 2, causal=True).double().eval()
    nn.init.normal_(model.embedding.vectors.weight, std=3.0)
    with torch.no_grad():
        model.head.bias[END_ID] += bonus
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
