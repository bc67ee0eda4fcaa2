"""utils/corpus/roles.py: sentences in which two nouns exchange their roles, with their translations."""

import pytest

from utils.corpus import ADJECTIVES, LANGUAGES, roles


@pytest.mark.parametrize("language", list(LANGUAGES))
def test_both_sentences_have_the_same_english_words_in_another_order(language):
    pairs = roles(300, language)
    for one, other in pairs:
        assert sorted(one.source) == sorted(other.source) and one.source != other.source
        assert one.target != other.target
    for side in (0, 1):
        assert len({tuple(pair[side].source) for pair in pairs}) == 300
    sentences = [" ".join(one.source) for pair in pairs for one in pair]
    assert len(set(sentences)) == 600, "no sentence comes twice"
    assert any(set(sentence.split()) & set(ADJECTIVES) for sentence in sentences)


def test_the_same_seed_gives_the_same_sentences():
    assert roles(20) == roles(20) != roles(20, seed=1)
    one, other = roles(1)[0]
    assert one.source[0] == "the" and ("saw" in one.source or "greeted" in one.source)
