"""What the languages that English is translated into have in common, and which rules each has its own of.

A language is a subclass of `Language` in a module of its own: a lexicon, and a method for every rule in which it
differs from the ones below. To define it is enough: it can be named by its code from then on.
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from .english import NUMERALS, is_plural
from .tables import Table, rows
from .trees import Clause, NounPhrase, Prepositional, Relative, Word

TAGS = ("m sg", "f sg", "m pl", "f pl")  # gender and number, in the order in which forms are listed
LANGUAGES = Table("language", {})


class Noun(NamedTuple):
    singular: str
    plural: str
    gender: str  # m or f


class Language:
    """A lexicon in tables, a line a word, and rules as methods. `form` is always a place in TAGS.

    The rules here are those of a language with two genders, in which adjectives follow their noun.
    """

    code: ClassVar[str]
    NOUNS: ClassVar[str]  # English, singular, plural, gender
    ADJECTIVES: ClassVar[str]  # English, and the forms in the order of TAGS, or only the first
    VERBS: ClassVar[str]  # English past, and what `verb` makes its forms of
    PREPOSITIONS: ClassVar[str]  # English, and one word or more
    WORDS: ClassVar[str]  # English, one word
    FIXED_GENDERS: ClassVar[dict[str, tuple[str, str]]] = {}  # noun → the form that always stands, one that never does
    late: frozenset[str] = frozenset()  # the verbs that come before their subject
    INVARIABLE = NUMERALS  # determiners that show neither gender nor number

    def __init_subclass__(cls):
        LANGUAGES[cls.code] = cls()

    def __init__(self):
        self.nouns = Table("noun", {word: Noun(*forms) for word, *forms in rows(self.NOUNS)})
        self.adjectives = Table("adjective", {word: self.agreeing(*forms) for word, *forms in rows(self.ADJECTIVES)})
        self.verbs = Table("verb", {past: self.conjugated(*forms) for past, *forms in rows(self.VERBS)})
        self.prepositions = Table("preposition", {word: words for word, *words in rows(self.PREPOSITIONS)})
        self.words = Table("word", dict(rows(self.WORDS)))

    def form(self, phrase: NounPhrase) -> int:
        """The place in TAGS of a phrase."""
        return 2 * is_plural(phrase) + (self.nouns[phrase.noun].gender == "f")

    def noun(self, noun: str, form: int) -> str:
        return self.nouns[noun][form > 1]

    # Agreement: what the forms in the lexicon stand for

    def agreeing(self, *forms: str) -> Sequence[str]:
        """The forms of an adjective, in the order of TAGS."""
        raise NotImplementedError

    def conjugated(self, *forms: str) -> Sequence[Sequence[str]]:
        """The words of a verb, auxiliaries first, in the order of TAGS."""
        raise NotImplementedError

    # Words that depend on their neighbours

    def determiner(self, name: str, form: int, following: str) -> str:
        """the, a, this or a numeral, before the word that follows."""
        raise NotImplementedError

    def contraction(self, preposition: str, article: str) -> str | None:
        """The one word that both become, if they do."""
        return None

    def conjunction(self, name: str, following: str) -> str:
        return self.words[name]

    # The order of words

    def stands_before(self, kind: str) -> bool:
        """Does this kind of adjective come before its noun?"""
        return kind == "other"

    def verb_first(self, clause: Clause) -> bool:
        """Does the verb come before the subject? Verbs of coming, going and appearing, `late`, before a light one."""
        missing = clause.negated and clause.subject.determiner == "a"  # "no llegó una bruja" would be "ninguna bruja"
        return clause.verb in self.late and not missing and is_light(clause.subject, self.late)

    def negated(self, verb: list[Word], link: int, possible: tuple[int, ...]) -> list[Word]:
        """A verb with its "not", whose links these are."""
        return [Word(self.words["not"], link, possible), *verb]

    def before_object(self, phrase: NounPhrase) -> list[Word]:
        """What a verb puts before its object."""
        return []


def is_light(subject: NounPhrase, late: frozenset[str]) -> bool:
    """Whether a subject may follow its verb. Not with a place: "llegó la bruja cerca del castillo" would say where she
    arrived. Nor with a verb of the same kind, one of `late`: "volvió la bruja que llegó" is clumsy."""
    modifier = subject.modifier
    return not isinstance(modifier, Prepositional) and not (isinstance(modifier, Relative) and modifier.verb in late)
