"""utils/byte_pairs.py: pieces by hand and by the `tokenizers` library, there and back, and a chat as one text."""

import json
import random

import jinja2
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments.record_pieces import HARD, checksum, hard_texts, library, library_words
from utils import byte_pairs, gguf_file
from utils.byte_pairs import BytePairs, chat_prompt, merge, visible, words
from utils.model_files import CHAT, Missing

# python -m experiments.record_pieces FILE
RECORDED = 126_637, "beafd2c30050ec35e3d705957ffb8be6add2747e35075575fe29c29d089d969a"
ALL_BYTES = sorted({*map(chr, byte_pairs.VISIBLE), *map(chr, byte_pairs.TO_VISIBLE.values())})
MERGES = ["e r", "l o", "lo w", "Ġ low", "a a", "Ã ©"]
SPECIAL = ["<end>", "<end>!", "<é a>"]
SMALL = BytePairs([*ALL_BYTES, "er", "lo", "low", "Ġlow", "aa", "Ã©", *SPECIAL], MERGES, SPECIAL)


@pytest.fixture(scope="module")
def found():
    """What the model's file says of itself."""
    try:
        content = CHAT.content(next(iter(CHAT.sha256)))
    except Missing:
        pytest.skip("the chat model is not here, and neither source could be reached: `make models` fetches it")
    return gguf_file.read(content)[0]


@pytest.fixture(scope="module")
def ours(found):
    return BytePairs.from_metadata(found)


@pytest.fixture(scope="module")
def theirs(found):
    names, merges = found["tokenizer.ggml.tokens"], found["tokenizer.ggml.merges"]
    return library(names, merges, names[:17])  # of the vocabulary, those before the first byte are special


# By hand


def test_the_pair_that_was_learned_first_is_joined_first():
    ranks = {("b", "c"): 0, ("a", "b"): 1, ("bc", "d"): 2}
    assert merge("abcd", ranks) == ["a", "bcd"] and merge("abab", ranks) == ["ab", "ab"]
    assert merge("aaaaa", {("a", "a"): 0}) == ["aa", "aa", "a"], "from left to right"
    assert merge("", ranks) == [] and merge("a", ranks) == ["a"]


def test_pieces_of_a_small_vocabulary():
    for text, pieces in {
        "lower low": ["low", "er", " low"],
        "slow": ["s", "low"],
        "é è": ["é", " ", r"\xc3", r"\xa8"],
        "aaaaa": ["aa", "aa", "a"],
        "lo<end>low": ["lo", "<end>", "low"],
        "<end>!!<end": ["<end>!", "!", "<", "e", "n", "d"],
        "a<é a>": ["a", "<é a>"],
        "": [],
    }.items():
        assert SMALL.pieces(text) == pieces, text
    assert SMALL.pieces("<end>", special=False) == ["<", "e", "n", "d", ">"]
    assert len(SMALL) == 265 and SMALL.encode(" low<end>") == [SMALL.names.index("Ġlow"), 262]


def test_a_file_says_which_pieces_are_special():
    kinds = {"tokens": ["a", "b", "ab"], "token_type": [1, 1, 3], "merges": [], "model": "gpt2", "pre": "smollm"}
    small = BytePairs.from_metadata({f"tokenizer.ggml.{key}": value for key, value in kinds.items()})
    assert small.encode("bab") == [1, 2] and small.special == {"ab"}


def test_a_byte_without_a_piece_is_left_out():
    assert BytePairs(["a", "aa"], ["a a"]).encode("a\x04a b") == [0, 0], "three words"
    assert BytePairs(["!", "!!"], ["! !"]).encode("!\x04!") == [1], "its neighbours become neighbours"


# Laws


@given(st.lists(st.text() | st.sampled_from([*HARD, *SPECIAL]), max_size=8).map("".join), st.booleans())
def test_what_is_encoded_is_decoded(text, special):
    assert "".join(words(text)) == text
    assert SMALL.decode(SMALL.encode(text, special)) == text


@given(st.lists(st.integers(0, len(SMALL) - 1)))
def test_any_ids_are_a_text_which_may_be_written_piece_by_piece(ids):
    """A character appears with its last byte; bytes that are no UTF-8 become �, by Unicode's rule."""
    written = list(SMALL.stream(torch.tensor(ids, dtype=torch.int64)))
    whole = b"".join(map(SMALL.bytes_of, ids)).decode("utf-8", "replace")
    assert len(written) == len(ids) + 1 and "".join(written) == SMALL.decode(ids) == whole


def test_a_character_is_written_when_it_is_whole():
    assert list(SMALL.stream(SMALL.encode("a👍"))) == ["a", "", "", "", "👍", ""]
    assert list(SMALL.stream(SMALL.encode("👍")[:3])) == ["", "", "", "�"]


# As the library


def test_words_are_those_of_the_library():
    cut = library_words()
    for text in [*HARD, *hard_texts()]:
        assert list(map(visible, words(text))) == [word for word, _ in cut.pre_tokenize_str(text)], text


@pytest.mark.parametrize("size", [300, 700])
def test_pieces_learned_by_the_library_are_those_of_the_library(size):
    """On texts of which it has seen a part, with a vocabulary that it learned from them."""
    from tokenizers import Tokenizer, models, trainers

    learner, texts = Tokenizer(models.BPE()), list(hard_texts(600))
    learner.pre_tokenizer = library_words()
    learner.train_from_iterator(texts[:300], trainers.BpeTrainer(vocab_size=size, initial_alphabet=ALL_BYTES))
    learned = json.loads(learner.to_str())["model"]
    names, merges = sorted(learned["vocab"], key=learned["vocab"].get), list(map(" ".join, learned["merges"]))
    assert len(names) == size and len(merges) == size - 256
    ours, theirs = BytePairs(names, merges), library(names, merges, [])
    assert [ours.encode(text) for text in texts] == [theirs.encode(text).ids for text in texts]


def test_ids_of_the_model_are_those_of_the_library(ours, theirs):
    """Special tokens in the middle, cut in half, and in capitals are among the texts."""
    texts = list(hard_texts())
    assert len(set(texts)) > 1900
    differ = [text for text in [*HARD, *texts] if ours.encode(text) != theirs.encode(text).ids]
    assert not differ, differ[:3]
    assert checksum(map(ours.encode, texts)) == RECORDED


def test_special_tokens_that_others_typed_are_text(ours, found):
    plain = library(found["tokenizer.ggml.tokens"], found["tokenizer.ggml.merges"], [])
    assert all(ours.encode(text, special=False) == plain.encode(text).ids for text in HARD)
    assert ours.encode("<|im_end|>") == [found["tokenizer.ggml.eos_token_id"]] == [2]
    assert 2 not in ours.encode("<|im_end|>", special=False)


def test_any_ids_of_the_model_are_the_text_of_the_library(ours, theirs):
    """Of the lowest 300, most are a byte, of which few make UTF-8 together."""
    chance = random.Random(0)
    for number in range(1000):
        ids = [chance.randrange(300 if number % 2 else len(ours)) for _ in range(number % 20)]
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False), ids


def test_the_model_writes_what_it_reads_except_for_a_few_bytes(ours):
    """Six control characters, two bytes that begin characters of planes without any, and what UTF-8 never has."""
    lacking = {byte for byte in range(256) if chr(byte_pairs.TO_VISIBLE.get(byte, byte)) not in ours.ids}
    controls = {4, 6, 19, 20, 22, 29}
    assert lacking == controls | {0xC0, 0xC1, 0xF1, 0xF2} | set(range(0xF5, 0x100))
    for text in [*HARD, *hard_texts(300)]:
        assert ours.decode(ours.encode(text)) == "".join(one for one in text if ord(one) not in controls)


def test_joining_all_occurrences_at_once_is_exact_for_the_model(ours):
    """Each piece is made by one merge, behind those that make its halves, so that joining a pair makes none that
    comes before it."""
    made = [first + second for first, second in ours.ranks]
    assert len(made) == len(set(made)) == 48_900
    position = {piece: rank for rank, piece in enumerate(made)}
    assert all(position.get(half, -1) < rank for pair, rank in ours.ranks.items() for half in pair)


# Errors


def test_half_of_a_surrogate_pair_is_an_error_with_a_remedy():
    text = "a \ud83d"
    with pytest.raises(ValueError, match=r"character 2 of the text, '\\ud83d', is half of a surrogate pair.* puts \?"):
        SMALL.encode(text)
    assert SMALL.decode(SMALL.encode(text.encode(errors="replace").decode())) == "a ?"


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="must be a string, not 7"):
        SMALL.encode(7)
    for number in (-1, 265):
        with pytest.raises(ValueError, match=f"the id {number} must lie between 0 and 264"):
            SMALL.decode([0, number])
    with pytest.raises(ValueError, match="the vocabulary lacks 'ab'"):
        BytePairs(["a", "b"], ["a b"])
    with pytest.raises(ValueError, match="the vocabulary lacks '<end>'"):
        BytePairs(["a", "b"], [], ["<end>"])
    with pytest.raises(ValueError, match="'llama', cut by the rule None; .* take the file of SmolLM2"):
        BytePairs.from_metadata({"tokenizer.ggml.model": "llama"})


# A chat


def test_a_chat_is_one_text():
    hello = {"role": "user", "content": "Hello"}
    assert chat_prompt([hello]) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )
    own = [{"role": "system", "content": "Be brief."}, hello, {"role": "assistant", "content": "Hi."}, hello]
    assert chat_prompt(own) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n"
        "<|im_start|>assistant\nHi.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_chat_is_what_the_file_s_template_makes_of_it(found):
    """As `transformers` renders it."""
    template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(found["tokenizer.chat_template"])
    turns = [(role, f" {role}'s\n<|im_end|> ") for role in ("system", "user", "assistant", "user")]
    messages = [{"role": role, "content": content} for role, content in turns]
    for chat in (messages, messages[1:], messages[:1], messages[1:2], [*messages[1:], *messages]):
        assert chat_prompt(chat) == template.render(messages=chat, add_generation_prompt=True)


def test_what_is_no_chat_is_an_error():
    for messages in ([], "Hello", ["Hello"], {"role": "user", "content": "Hello"}):
        with pytest.raises(ValueError, match=r'must be a list of messages, such as \[\{"role": "user"'):
            chat_prompt(messages)
    with pytest.raises(ValueError, match="role 'User' is unknown; there are system, user, assistant"):
        chat_prompt([{"role": "User", "content": "Hello"}])
    with pytest.raises(ValueError, match="a text must be a string, not None"):
        chat_prompt([{"role": "user"}])
