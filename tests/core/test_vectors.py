"""utils/vectors.py: look-up and comparison, and PCA."""

import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.vectors import WordVectors, pca


@pytest.fixture(scope="module")
def shipped():
    return WordVectors.load()


@pytest.fixture
def compass():
    return WordVectors(["north", "east", "south", "northeast"], [[0, 1], [1, 0], [0, -1], [2, 2.5]])


# look-up and comparison


def test_looks_words_up(compass):
    assert "north" in compass and "west" not in compass and 3 not in compass
    assert len(compass) == 4 and compass.words[1] == "east"
    assert compass.matrix.shape == (4, 2) and compass.matrix.dtype == np.float32
    assert compass["east"].tolist() == [1, 0] and compass["east"].dtype == np.float32


def test_a_vector_that_is_changed_does_not_change_the_set(compass):
    vector = compass["east"]
    vector += 5
    assert compass["east"].tolist() == [1, 0]


def test_unknown_word_names_close_spellings(shipped):
    with pytest.raises(KeyError, match="'oceann' is not among the 20,000 words.*close spellings: ocean"):
        shipped["oceann"]
    with pytest.raises(KeyError, match="'Ocean'.*lower case, try 'ocean'"):
        shipped.similarity("ship", "Ocean")
    with pytest.raises(KeyError, match="^\"'qqqqqqq' is not among .* text\\)\"$"):
        shipped.nearest("qqqqqqq")
    with pytest.raises(KeyError, match="a word is a string"):
        shipped[3]
    with pytest.raises(TypeError, match="a word is a string, not list"):
        shipped[["ship"]]


def test_similarity_is_the_cosine(compass):
    assert compass.similarity("north", "east") == pytest.approx(0)
    assert compass.similarity("north", "south") == pytest.approx(-1)
    assert compass.similarity("north", "northeast") == pytest.approx(2.5 / np.hypot(2, 2.5))
    assert compass.similarity("east", np.array([3, 3])) == pytest.approx(np.sqrt(0.5))
    assert isinstance(compass.similarity("north", "east"), float)


def test_nearest_is_sorted_and_leaves_the_question_out(compass):
    found = compass.nearest("north", 2)
    assert [word for word, _ in found] == ["northeast", "east"]
    assert found[0][1] == pytest.approx(compass.similarity("north", "northeast"))
    assert compass.nearest(np.array([0, 3]), 1) == [("north", pytest.approx(1))]
    assert len(compass.nearest("north", 100)) == 3


def test_among_offers_the_first_words_only(compass):
    assert compass.nearest("north", 3, among=2) == [("east", pytest.approx(0))]
    assert compass.nearest("northeast", 1, among=1)[0][0] == "north"
    assert compass.nearest("south", 3, among=None) == compass.nearest("south", 3)


def test_analogy_adds_the_difference_and_leaves_the_questions_out(compass):
    assert compass.analogy("south", "east", "east", count=1)[0][0] == "northeast"
    words = [word for word, _ in compass.analogy("north", "east", "south", count=5)]
    assert words == ["northeast"]


def test_analogy_on_the_shipped_words(shipped):
    assert shipped.analogy("man", "king", "woman")[0][0] == "queen"
    assert not {"man", "king", "woman"} & {word for word, _ in shipped.analogy("man", "king", "woman", count=50)}


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 19_999), st.integers(0, 19_999))
def test_cosines_are_symmetric_and_bounded(shipped, i, j):
    a, b = shipped.words[i], shipped.words[j]
    assert shipped.similarity(a, b) == pytest.approx(shipped.similarity(b, a), abs=1e-12)
    assert abs(shipped.similarity(a, b)) <= 1 + 1e-12
    assert shipped.similarity(a, a) == pytest.approx(1)


def test_nearest_agrees_with_similarity(shipped):
    cosines = {word: shipped.similarity("ship", word) for word in shipped.words[:2000] if word != "ship"}
    best = sorted(cosines, key=cosines.get, reverse=True)[:10]
    found = shipped.nearest("ship", 10, among=2000)
    assert [word for word, _ in found] == best
    assert [cosine for _, cosine in found] == pytest.approx([cosines[word] for word in best], abs=1e-5)


@pytest.mark.parametrize("wrong", [np.zeros(2), np.array([np.nan, 1]), np.array([np.inf, 1])])
def test_a_vector_without_a_direction_is_refused(compass, wrong):
    with pytest.raises(ValueError, match="the vector has length .* points nowhere"):
        compass.nearest(wrong)


def test_wrong_arguments_are_named(compass):
    with pytest.raises(ValueError, match=re.escape("a vector of shape (2,), got shape (3,)")):
        compass.nearest(np.ones(3))
    for wrong in (0, 2.5, "3", None):
        with pytest.raises(ValueError, match=f"count is a whole number of words, 1 or more, not {wrong!r}"):
            compass.nearest("north", wrong)
    with pytest.raises(ValueError, match="among is a whole number of words, 1 or more, not 2.5"):
        compass.nearest("north", among=2.5)
    with pytest.raises(ValueError, match="among is a whole number of words, 1 or more, not -1"):
        compass.analogy("north", "east", "south", among=-1)
    with pytest.raises(ValueError, match="3 words need a matrix"):
        WordVectors(["a", "b", "c"], np.ones((2, 2)))
    with pytest.raises(ValueError, match="'a' occurs twice"):
        WordVectors(["a", "b", "a"], np.ones((3, 2)))
    for words, odd in ([b"a"], "b'a'"), ([1, 2], "1"), ([None], "None"), (["a", 2.5], "2.5"), (b"ab", "97"):
        with pytest.raises(ValueError, match=f"^a word is a string, not {odd}: "):
            WordVectors(words, np.ones((len(words), 2)))


def test_a_zero_row_is_nobodys_neighbour():
    vectors = WordVectors(["a", "nothing", "b"], [[1, 0], [0, 0], [-1, 0]])
    assert vectors.nearest("a", 2) == [("nothing", 0), ("b", -1)]
    with pytest.raises(ValueError, match="vector of 'nothing' has length 0"):
        vectors.similarity("a", "nothing")


@pytest.mark.parametrize("scale", [100, 1e-2, 1e-23, 1e20, 1e-43, 1e38])
def test_cosines_are_those_of_the_matrix_as_it_is(scale):
    vectors = WordVectors(["east", "up", "northeast", "west"], [[1, 0], [0, 1], [1, 1], [-2, 0]])
    found = [("northeast", pytest.approx(np.sqrt(0.5), rel=0.01)), ("up", 0), ("west", -1)]
    assert vectors.nearest("east") == found
    vectors.matrix *= np.float32(scale)
    assert vectors.nearest("east") == found
    assert vectors.similarity("east", "northeast") == found[0][1]
    assert vectors.analogy("west", "east", "up", count=1)[0] == ("northeast", pytest.approx(np.sqrt(0.9), rel=0.01))
    vectors.matrix[1] = -vectors.matrix[0]
    assert [word for word, _ in vectors.nearest("east")] == ["northeast", "up", "west"]
    assert vectors.nearest("east")[1][1] == -1


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_a_vector_of_any_length_has_a_direction(compass, size):
    assert compass.nearest(np.array([size, 0]), 1) == [("east", pytest.approx(1))]
    assert compass.similarity(np.array([0, size]), "north") == pytest.approx(1)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_row_that_is_not_finite_is_named(compass, wrong):
    compass.matrix[2, 1] = wrong
    with pytest.raises(ValueError, match="the vector of 'south' holds NaN or infinite numbers"):
        compass.nearest("east")
    assert compass.nearest("east", 1, among=2)[0][0] == "north"  # only what is offered counts


@pytest.mark.lane("test")
def test_all_cosines_together_cost_less_than_one_by_one(shipped):
    """`nearest` keeps no lengths; 20,000 words still take less processor time than 1,000 calls of `similarity`."""
    began = time.process_time()
    for word in shipped.words[:1000]:
        shipped.similarity("ship", word)
    one_by_one, began = time.process_time() - began, time.process_time()
    shipped.nearest("ship", among=None)
    assert time.process_time() - began < one_by_one


# PCA


def test_pca_keeps_the_distances_when_it_keeps_all_axes():
    points = np.random.default_rng(0).normal(size=(5, 3))
    coordinates, shares = pca(points, count=3)
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert np.allclose(np.linalg.norm(coordinates[:, None] - coordinates[None], axis=-1), distances)
    assert shares.sum() == pytest.approx(1) and (np.diff(shares) <= 0).all()
    assert np.allclose(coordinates.mean(axis=0), 0)


def test_pca_signs_follow_the_points(shipped):
    points = np.stack([shipped[word] for word in ("florida", "california", "texas", "politics", "truth")])
    coordinates, shares = pca(points)
    assert coordinates.shape == (5, 2) and shares.shape == (2,)
    assert np.array_equal(coordinates, pca(points)[0])
    mirrored, _ = pca(-points)
    axes = np.linalg.lstsq(coordinates, points - points.mean(axis=0), rcond=None)[0]
    assert all(axis[np.abs(axis).argmax()] > 0 for axis in axes)
    assert np.allclose(np.abs(mirrored), np.abs(coordinates))


@pytest.mark.parametrize("shape", [(3,), (1, 4), (5, 1), (2, 3, 4)])
def test_pca_refuses_points_without_two_axes(shape):
    with pytest.raises(ValueError, match=re.escape(str(shape))):
        pca(np.random.default_rng(0).normal(size=shape))


def test_pca_refuses_points_without_variance():
    with pytest.raises(ValueError, match="all points are the same"):
        pca(np.ones((4, 3)))
    with pytest.raises(ValueError, match="NaN or infinite"):
        pca([[1, 2], [np.nan, 3]])
