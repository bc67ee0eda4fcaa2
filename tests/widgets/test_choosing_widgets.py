"""Choosing words: what the learner has to find is there, clicks write a word or go back, searches are those of the
course and, with all widths, of all sentences; errors name a remedy."""

import math
import random

import pytest
import torch
from course_widgets import sentences, shapes_that_set, small_writer

from utils import decoding, widgets
from utils.widgets import choosing


def test_the_most_probable_sentences_are_those_of_all():
    model, words, _ = small_writer()
    writer, begun = choosing.Writer(model, words), words.encode("la")
    found = choosing.most_probable_endings(writer, begun, 5, 4)
    every = sentences((*begun,), lambda ids: choosing.best_first(writer.logs(ids))[:5].tolist(), 5)
    totals = sorted((writer.total(ids, 1) for ids in every), reverse=True)
    assert [total for total, _ in found[:2]] == pytest.approx(totals[:2])


def test_a_click_writes_a_word_and_a_click_on_a_word_goes_back():
    model, words, _ = small_writer()
    explorer = widgets.next_word(model, words, "la", 4, 6)
    assert shapes_that_set(explorer.first.svg, "taken") == ["", "1:2", "1:3", "1:4"]
    explorer.touch({"taken": "1:2", "step": 1})
    explorer.touch({"step": 2})
    assert shapes_that_set(explorer.picture.svg, "step") == [0, 1, 3, 3, 3, 3]
    assert shapes_that_set(explorer.picture.svg, "taken") == ["", "1:2", "1:2", "1:2 3:2", "1:2 3:3", "1:2 3:4"]


@pytest.mark.parametrize(
    "p, said", [(0.5, "50.0%"), (0.0123, "1.2%"), (1 / 1234.5, "1 in 1,230"), (1e-3, "1 in 1,000")]
)
def test_small_chances_are_told_in_three_digits(p, said):
    assert choosing.chance(math.log(p)) == said


@pytest.mark.parametrize(
    "given, problem",
    [
        ({"candidates": 1}, "candidates 1 must be 2 to 12"),
        ({"limit": 0}, "must be at least 1"),
        ({"beginning": "la brujja"}, "'brujja' is not among the 8 words"),
        ({"beginning": "la </s>"}, "ends with </s>: leave it out"),
        (
            {"step": lambda tokens, state: (torch.zeros(1, 1, 5), None, None)},
            "logits for 5 words, the vocabulary has 12",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(given, problem):
    model, words, _ = small_writer()
    with pytest.raises(ValueError, match=problem):
        widgets.next_word(**{"step": model, "words": words} | given)


def test_a_width_as_large_as_the_tree_finds_the_best_of_all():
    for seed in range(20):
        tree, every = random_tree(random.Random(seed))
        best = max(every, key=every.get)
        search = choosing.searched(tree, 100)
        assert search.best.words == best and math.exp(search.best.total) == pytest.approx(every[best])
        assert len(search.levels[-1]) == len(every), "all sentences are there"
        assert choosing.searched(tree, 1).best.total <= search.best.total + 1e-12


def random_tree(chance, depth=3):
    """A tree, and {sentence: probability} of all its paths."""
    shares = [chance.random() for _ in range(chance.randint(2, 3))]
    tree, every = {}, {}
    for word, share in zip("abc", shares):
        share /= sum(shares)
        after, below = random_tree(chance, depth - 1) if depth and chance.random() < 0.7 else ({}, {(): 1.0})
        tree[word] = share, after
        every |= {(word, *words): share * other for words, other in below.items()}
    return tree, every


@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_recorded_search_is_that_of_the_course(width):
    model, words, _ = small_writer()
    search = choosing.grown(model, words, width, 6)
    theirs = decoding.beam_search(model, None, 1, 6, width)[0]
    ours = [beam for beam in search.levels[-1] if beam.kept]
    assert [beam.total for beam in ours] == pytest.approx([total for _, total in theirs], abs=1e-4)
    named = [[words.words[one] for one in ids] for ids, _ in theirs]
    assert [[word for word in beam.words if word != choosing.END] for beam in ours] == named
    assert all(len(level) <= width + 2 for level in search.levels)


@pytest.mark.parametrize(
    "examples, problem",
    [
        ({}, "there are no examples: give one or more"),
        ({"a": {}}, "the tree has no words: give one or more"),
        ({"a": {"the": 0.6}}, "at the beginning, 'the' has 0.6: give"),
        ({"a": {"the": (0.6, {"dog": (1.5, {})})}}, "after 'the', 'dog' has the probability 1.5: give one above 0"),
        ({"a": {"the": (0.6, {}), "a": (0.5, {})}}, "at the beginning, the probabilities 0.6, 0.5 sum to more than 1"),
        ({"a": []}, "the example 'a' must be a tree, or have a search for each of the widths"),
    ],
)
def test_a_search_that_cannot_be_shown_is_refused(examples, problem):
    with pytest.raises(ValueError, match=problem):
        widgets.beam_tree(examples)


def test_widths_begin_with_greedy_search():
    with pytest.raises(ValueError, match=r"the widths \[2, 4\] must rise, and begin with 1"):
        widgets.beam_tree({"a": {"the": (0.6, {})}}, widths=(2, 4))


def test_a_click_on_a_box_goes_to_its_level():
    explorer = widgets.beam_tree({"a": {"the": (0.6, {"dog": (0.4, {}), "owl": (0.3, {})}), "a": (0.4, {})}})
    explorer.touch({"step": 2})
    assert shapes_that_set(explorer.picture.svg, "step") == [1, 1, 2, 2]
    explorer.touch({"step": 1, "chosen": 2})
    assert "Chosen: a: 40.0%" in explorer.draw(**explorer.state).description
