"""utils/published.py: pieces are those of the `tokenizers` library, vectors the published ones, layers as torch's."""

import random
import unicodedata

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from utils import encoder_files, probes, published
from utils.masks import padding_mask

HARD = [  # signs and words that go wrong easily
    *"aZ9 \t\n-'’“…!?.,;:_#$€%&@*()[]{}<>|/\\^~`´+=",
    *"éÉüßñçøİıſǅﬁ①½²Ⅷªº",
    *"中文字漢日本語カタひら한국어",
    *"אבשלוםعربيहिन्दीไทยкириллицаελληνικά",
    *"\u0300\u0301\u0308\u200b\u200d\u00ad\ufeff\ufffd\x00\x07\x1b\x7f\x85\xa0\u2028\u3000",
    *"⋅√∞≤→♠☃◆",
    *"the attention embedding unaffable transformers supercalifragilistic don't can't U.S.A. 3.14 1,000,000".split(),
    *"[CLS] [SEP] [PAD] [UNK] [MASK] ##ing naïve café Zürich señor İstanbul Ωmega ﬁle e\u0301tude".split(),
    *"ΟΔΟΣ ΣΟΦΟΣ, ΑΣ. ΣΑΣ’Σ Σ ΣΣ ὈΔΥΣΣΕΎΣ Ὀδυσσεύς σς ς".split(),
    "x" * 99,
    "x" * 100,
    "x" * 101,
    "a" * 300,
]


def needs_encoder(test):
    return pytest.mark.opens("published_encoder")(pytest.mark.lane("test", "published_encoder")(test))


@pytest.fixture(scope="module")
def wordpiece():
    return published.WordPiece(encoder_files.content(encoder_files.VOCABULARY).decode())


@pytest.fixture(scope="module")
def encoder():
    return published.load_published()[0]


@pytest.fixture(scope="module")
def found():
    return encoder_files.tensors(encoder_files.content(encoder_files.WEIGHTS))


def hard_strings():
    chance = random.Random(0)
    # The library has older tables of signs: none here has changed since 2002.
    old = [chr(k) for k in range(0x3000) if unicodedata.ucd_3_2_0.category(chr(k)) == unicodedata.category(chr(k))]
    for number in range(2000):
        parts = [chance.choice(HARD) if chance.random() < 0.8 else chance.choice(old) for _ in range(1 + number % 30)]
        yield chance.choice(["", " "]).join(parts)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_words_are_those_of_the_library(form):
    """Letter by letter in lower case: Σ at the end of a word is σ, as in its middle."""
    from tokenizers import normalizers, pre_tokenizers

    normalizer, cut = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    for text in [*HARD, *hard_strings()]:
        text = "".join(sign for sign in unicodedata.normalize(form, text) if unicodedata.category(sign) != "Cn")
        theirs = [word for word, _ in cut.pre_tokenize_str(normalizer.normalize_str(text))]
        assert published.plain_words(text) == theirs, text
    assert published.plain_words("ΟΔΟΣ") == ["οδοσ"]


@needs_encoder
def test_pieces_are_those_of_the_library(wordpiece):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    theirs = Tokenizer(models.WordPiece(wordpiece.ids, unk_token="[UNK]", max_input_chars_per_word=100))
    theirs.normalizer, theirs.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    strings = list(hard_strings())
    assert len(set(strings)) > 1900
    differ = [text for text in strings if wordpiece.pieces(text, 10**6)[1:-1] != theirs.encode(text).tokens]
    assert not differ, differ[:3]


def test_a_word_is_cut_greedily():
    assert published.word_pieces("unaffable", {"un", "##aff", "##able", "##a"}) == ["un", "##aff", "##able"]
    assert published.word_pieces("abcd", {"abc", "ab", "##cd"}) == ["[UNK]"], "no way back"
    assert published.word_pieces("", {"a"}) == []


def test_a_batch_is_padded():
    words = published.WordPiece("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\n")
    assert len(words) == 8
    assert words.batch(["a b c", "D"]).tolist() == [[2, 4, 5, 6, 3], [2, 7, 3, 0, 0]]
    assert words.pieces("a b c d", most=2) == ["[CLS]", "a", "b", "[SEP]"]
    with pytest.raises(ValueError, match="a batch needs a text"):
        words.batch([])


def test_words_are_shuffled_whole():
    generator, text = torch.Generator().manual_seed(0), "The king's embeddings , twice twice"
    mixed = {published.shuffle_words(text, generator) for _ in range(20)}
    assert len(mixed) > 5 and {tuple(sorted(one.split())) for one in mixed} == {tuple(sorted(text.split()))}
    assert published.shuffle_words("", generator) == ""


@needs_encoder
def test_every_tensor_finds_its_place_or_is_named(encoder, found):
    own = encoder.state_dict()
    renamed = {published.our_name(name): tensor for name, tensor in found.items()}
    assert len(own) == 101 and renamed.keys() - own.keys() == {
        "embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"
    }  # fmt: skip
    assert all(torch.equal(own[name], renamed[name]) for name in own)
    assert {part.eps for part in encoder.modules() if hasattr(part, "eps")} == {1e-12}


@needs_encoder
def test_the_published_vector(encoder, wordpiece):
    """github.com/ToluClassics/mlx-transformers/issues/23 has it, computed by the authors' library."""
    tokens = wordpiece.batch(["Each sentence is converted"])
    assert tokens.tolist() == [[101, 2169, 6251, 2003, 4991, 102]]
    with torch.no_grad():
        vector = encoder(tokens)[0][0].mean(0)
    assert (vector[:3] - torch.tensor([5.41010201e-01, 6.43181562e-01, 3.37639935e-02])).abs().max() < 1e-6


@needs_encoder
def test_the_model_card_s_example(encoder, wordpiece):
    texts = ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"]
    vectors = published.sentence_vectors(encoder, wordpiece, texts)
    assert (vectors.norm(dim=-1) - 1).abs().max() < 1e-6
    assert (vectors[1:] @ vectors[0] - torch.tensor([0.695, 0.943, 0.257])).abs().max() < 6e-4


@needs_encoder
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 2e-6)], ids=str)
def test_as_torch_s_encoder_forwards_and_backwards(dtype, tolerance, found, wordpiece):
    """The length of the difference, relative to that of the whole: single numbers differ as their sums are rounded.

    So do the gradients of weights, by up to 2.1e-6 in float32: float64 tells that they are the same sums."""
    encoder = published.load_published()[0].to(dtype)
    layer = nn.TransformerEncoderLayer(384, 12, 1536, 0.0, "gelu", 1e-12, batch_first=True)
    theirs = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).to(dtype)
    state = {}
    for number in range(6):
        there, here = f"encoder.layer.{number}.", f"layers.{number}."
        for kind in ("weight", "bias"):
            packed = [found[f"{there}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            state[f"{here}self_attn.in_proj_{kind}"] = torch.cat(packed)
            for name, part in {
                "self_attn.out_proj": "attention.output.dense", "norm1": "attention.output.LayerNorm",
                "linear1": "intermediate.dense", "linear2": "output.dense", "norm2": "output.LayerNorm",
            }.items():  # fmt: skip
                state[f"{here}{name}.{kind}"] = found[f"{there}{part}.{kind}"]
    theirs.load_state_dict(state)
    tokens = wordpiece.batch(["The quick brown fox jumps over the lazy dog.", "Each sentence is converted", "No."])
    mask = padding_mask(tokens)
    real = mask[:, 0, 0]
    x = encoder.embed(tokens).detach()
    inputs = x.clone().requires_grad_(), x.clone().requires_grad_()
    outputs = encoder.encoder(inputs[0], mask)[0], theirs(inputs[1], src_key_padding_mask=~real)
    direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(0)).to(dtype) * real[..., None]
    for output in outputs:
        (output * direction).sum().backward()
    compared = [tuple(output[real] for output in outputs), tuple(one.grad for one in inputs)]
    for block, layer in zip(encoder.encoder.blocks, theirs.layers) if dtype == torch.float64 else ():
        compared.append((block.attention.W_q.weight.grad, layer.self_attn.in_proj_weight.grad[:384]))
    for ours, same in compared:
        assert (ours - same).norm() < tolerance * same.norm()


@needs_encoder
def test_padding_and_batches_change_nothing(encoder, wordpiece):
    texts = ["A short one.", "A much longer sentence, which makes the others of its batch be padded.", "No!"] * 3
    together = published.sentence_vectors(encoder, wordpiece, texts)
    alone = torch.cat([published.sentence_vectors(encoder, wordpiece, [text]) for text in texts])
    assert (together - alone).abs().max() < 1e-5
    means = published.means_by_layer(encoder, wordpiece, texts[:2])
    steps = published.journey(encoder, wordpiece.batch(texts[:1]))
    assert means.shape == (7, 2, 384) and (F.normalize(steps.mean(1), dim=-1) - means[:, 0]).abs().max() < 1e-5


def test_batches_hold_texts_of_like_length_and_no_more_than_they_should():
    lengths = [5, 300, 7, 5, 290, 1, 2500]
    found = list(published.batches(lengths, most=600))
    assert sorted(number for batch in found for number in batch) == list(range(7))
    assert all(len(batch) == 1 or len(batch) * max(lengths[k] for k in batch) <= 600 for batch in found)


@needs_encoder
def test_what_is_added_is_as_long_as_it_is_said(encoder, wordpiece):
    pieces, weights, lengths = published.looks(encoder, wordpiece, "The bank of the river.")
    n, first = len(pieces), encoder.encoder.blocks[0].attention
    assert weights.shape == lengths.shape == (6, 12, n, n) and (weights.sum(-1) - 1).abs().max() < 1e-5
    x = encoder.embed(wordpiece.batch(["The bank of the river."]))[0]
    head, query, key = 4, 2, 3
    value = (first.W_v(x)[key]).view(12, 32)[head]
    added = weights[0, head, query, key] * (first.W_o.weight.view(384, 12, 32)[:, head] @ value)
    assert lengths[0, head, query, key] == pytest.approx(added.norm().item(), rel=1e-4)


@needs_encoder
def test_what_is_silenced_says_nothing_and_the_rest_is_as_before(encoder, wordpiece):
    tokens = wordpiece.batch(["The bank of the river."])
    before = encoder(tokens)[0]
    with probes.silence(encoder.encoder, 0):
        x = encoder.embed(tokens)
        silent, weights = encoder.encoder.blocks[0].attention(x)
        values = encoder.encoder.blocks[0].attention.W_v(x)
    assert (values[:, 0] == 0).all() and (values[:, 1:] != 0).any() and weights[0, :, :, 0].sum() > 1
    assert not torch.allclose(silent, encoder.encoder.blocks[0].attention(x)[0])
    assert torch.equal(encoder(tokens)[0], before)


# The course's own sentences


def test_senses_and_pairs_are_as_many_as_is_said():
    senses = published.sentences("senses.txt")
    words = {word for word, _, _ in senses}
    assert len(senses) == 80 and len(words) == 10
    for word in words:
        kinds = [sense for one, sense, _ in senses if one == word]
        assert len(set(kinds)) == 2 and len(kinds) == 8 and all(kinds.count(kind) == 4 for kind in kinds)
    for word, _, sentence in senses:
        assert published.plain_words(sentence).count(word) == 1, sentence
    kinds = [kind for kind, _, _ in published.sentences("pairs.txt")]
    assert kinds.count("other words") == 20 and all(kinds.count(kind) == 10 for kind in set(kinds) - {"other words"})


def test_the_texts_that_are_searched_are_whole():
    """Each is read to its end by the encoder, and no two entries are the same."""
    proverbs, course = published.sentences("proverbs.txt"), published.sentences("course_text.txt")
    assert len(proverbs) == 120 == len({one for one, _ in proverbs}) == len({said for _, said in proverbs})
    titles = {title for kind, _, title, _ in course if kind == "section"}
    assert len(titles) == 72 and sum(kind == "question" for kind, *_ in course) == 39
    assert {title for title, _ in published.sentences("questions.txt")} <= titles


@needs_encoder
def test_no_text_that_is_searched_is_cut_off(wordpiece):
    for row in (*published.sentences("proverbs.txt"), *published.sentences("course_text.txt")):
        assert len(wordpiece.pieces(row[-1], most=10_000)) <= 256
