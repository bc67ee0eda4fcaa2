"""A parallel corpus whose word alignments are known: English with Spanish or Italian, drawn from a grammar.

Trees, then English with its lexicon; languages as rules, a file each; the translation of trees; the grammar that draws
them. Spanish has a past of one word ("llegó"), Italian one of two ("è arrivata").
"""

from importlib import import_module
from pkgutil import iter_modules

from .agreement import agreement, crossed, reach
from .english import ADJECTIVES, CONJUNCTIONS, NOUNS, PREPOSITIONS, VERBS
from .grammar import UNSEEN, Grammar, Splits, combinations, splits
from .language import LANGUAGES, TAGS, Language
from .roles import roles
from .translation import translate
from .trees import Clause, NounPhrase, Pair, Prepositional, Relative, Sentence, Word

for _module in iter_modules(__path__):  # a language is known as soon as its module was read
    import_module(f"{__name__}.{_module.name}")
del _module

__all__ = [
    "ADJECTIVES",
    "CONJUNCTIONS",
    "LANGUAGES",
    "NOUNS",
    "PREPOSITIONS",
    "TAGS",
    "UNSEEN",
    "VERBS",
    "Clause",
    "Grammar",
    "Language",
    "NounPhrase",
    "Pair",
    "Prepositional",
    "Relative",
    "Sentence",
    "Splits",
    "Word",
    "agreement",
    "combinations",
    "crossed",
    "reach",
    "roles",
    "splits",
    "translate",
]
