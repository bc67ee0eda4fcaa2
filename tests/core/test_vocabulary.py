"""utils/vocabulary.py: ids of words and of special tokens, and batches."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from utils import masks
from utils.vocabulary import END_ID, PAD_ID, SPECIAL, START_ID, UNKNOWN_ID, Vocabulary


def test_special_tokens_come_first_and_words_are_sorted():
    vocabulary = Vocabulary(["so", "long", "and", "long", "</s>"])
    assert vocabulary.words == ["<pad>", "<s>", "</s>", "<unk>", "and", "long", "so"] and len(vocabulary) == 7
    assert "so" in vocabulary and "<s>" in vocabulary and "thanks" not in vocabulary


def test_each_special_token_has_its_id():
    assert [SPECIAL[i] for i in (PAD_ID, START_ID, END_ID, UNKNOWN_ID)] == ["<pad>", "<s>", "</s>", "<unk>"]
    assert Vocabulary([]).encode(SPECIAL) == [PAD_ID, START_ID, END_ID, UNKNOWN_ID]


@given(st.lists(st.sampled_from("the green witch arrived".split()), max_size=6), st.booleans(), st.booleans())
def test_encoding_and_decoding_are_inverse(words, start, end):
    vocabulary = Vocabulary("the green witch arrived".split())
    ids = vocabulary.encode(words, start, end)
    assert ids == vocabulary.encode(" ".join(words), start, end) and len(ids) == len(words) + start + end
    assert vocabulary.decode(ids) == words == vocabulary.decode(torch.tensor(ids + [2, 4, 4], dtype=torch.int64))
    assert vocabulary.decode([0, *ids, 0]) == words


def test_unknown_words():
    vocabulary = Vocabulary("the green witch".split())
    assert vocabulary.encode("the witsh") == [5, 3] and vocabulary.decode([5, 3]) == ["the", "<unk>"]
    with pytest.raises(ValueError, match="'witsh' is not among the 3 words of this vocabulary; near it: witch"):
        vocabulary.encode("the witsh", strict=True)
    for i in (-1, 7):
        with pytest.raises(ValueError, match=f"id {i} must lie between 0 and 6"):
            vocabulary.decode([i])


def test_a_batch_is_padded_and_its_mask_finds_the_words():
    vocabulary = Vocabulary("the green witch arrived".split())
    tokens = vocabulary.batch(["the green witch", ("arrived",)], start=True, end=True)
    assert tokens.tolist() == [[1, 6, 5, 7, 2], [1, 4, 2, 0, 0]] and tokens.dtype == torch.int64
    assert masks.padding_mask(tokens).tolist() == [[[[True] * 5]], [[[True, True, True, False, False]]]]
    assert vocabulary.batch(["the green witch"]).shape == (1, 3)
    for nothing in ([], ["the", ""], ["the", "<pad> <pad>"]):
        with pytest.raises(ValueError, match="at least one word"):
            vocabulary.batch(nothing)
