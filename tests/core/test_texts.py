"""One text where a list of texts is asked for: an error that says what to write, wherever a learner can do so."""

import inspect
import re

import pytest

from utils import corpus, measures, plots, published, widgets
from utils.style import Figure
from utils.vectors import WordVectors
from utils.vocabulary import Vocabulary
from utils.widgets.controls import Explorer

TEXT = "The cat sat on the mat."
SAID = r'must be a list of texts, not one: write \["The cat sat on the mat\."\]'
LISTS = re.compile(r"(?:collections\.abc\.)?(Sequence|Iterable|Collection|list)\[str( \||\])")
OTHERS = [published.means_by_layer, published.sentence_vectors, published.WordPiece.batch, WordVectors.__init__]
OTHERS += [Vocabulary.__init__, Vocabulary.batch]
DRAWN = [*vars(widgets).values(), *vars(plots).values()]  # widgets, figures and what makes them


def asked():
    """Each public function that draws, or that is listed above, with each of its parameters for a list of texts."""
    functions = filter(inspect.isfunction, DRAWN)
    drawn = [one for one in functions if inspect.signature(one).return_annotation in (Explorer, Figure)]
    for function in [*drawn, *OTHERS]:
        for name, parameter in inspect.signature(function).parameters.items():
            if LISTS.match(str(parameter.annotation)):
                yield function, name


@pytest.mark.parametrize(("function", "name"), list(asked()), ids=lambda one: getattr(one, "__qualname__", one))
def test_one_text_is_refused(function, name):
    """It is looked at first: whatever the other arguments are."""
    given = {other: None for other, one in inspect.signature(function).parameters.items() if one.default is one.empty}
    with pytest.raises(ValueError, match=f"^{name} {SAID}"):
        function(**given | {name: TEXT})


def test_widgets_and_figures_are_among_them():
    assert {(plots.word_map, "words"), (plots.bars, "message"), (widgets.paint_mask, "words")} < set(asked())


def test_a_text_is_refused_where_no_signature_says_so():
    for written, right, name in (TEXT, [TEXT], "written"), ([TEXT], TEXT, "right"):
        with pytest.raises(ValueError, match=f"^{name} {SAID}"):
            measures.sequence_accuracy(written, right)
    with pytest.raises(ValueError, match=r'^adjectives must be a list of texts, not one: write \["green"\]'):
        corpus.translate(corpus.NounPhrase("witch", adjectives="green"), "es")
    clauses = 2 * [corpus.Clause(corpus.NounPhrase("witch"), "sang")]
    with pytest.raises(ValueError, match=r'^conjunctions must be a list of texts, not one: write \["and"\]'):
        corpus.translate(corpus.Sentence(clauses, "and"), "es")


def test_a_long_text_is_shown_in_part():
    with pytest.raises(ValueError, match=r'write \["word word[^"]{31}…"\], or "word .*"\.split\(\) for its words$'):
        Vocabulary.batch(None, "word " * 1000)
