"""English: its lexicon, what goes with what, and its rules. All trees are thought in English."""

from typing import NamedTuple

from ..checks import require_list
from .tables import Table, rows
from .trees import NounPhrase

# What a word goes with is a list of nouns, or of kinds of nouns; what is named twice is drawn twice as often.

KINDS = {
    "person": "witch queen girl friend wizard king boy student",
    "beast": "dragon cat bear turtle squirrel",
    "thing": "letter hat book mirror ring key lamp flower",
    "place": "house castle tower garden tree bridge door boat table",
}

# adjective | its kind | nouns. A word of size or age may be before one of sort; "other" may be before any.
_ADJECTIVES = """
other | other | person beast thing place
big | size | beast hat book mirror ring key lamp flower place
small | size | beast hat book mirror ring key lamp flower place
old | age | wizard king dragon bear turtle letter hat book mirror ring key lamp house castle tower garden tree bridge \
    door boat table
young | age | witch queen wizard king friend student beast
green | sort | witch dragon turtle hat book lamp mirror house tree door boat table
red | sort | dragon squirrel hat book lamp flower house tower door boat table
blue | sort | dragon hat book lamp flower mirror house door boat table
golden | sort | dragon hat mirror ring key lamp flower castle tower door
magic | sort | hat book mirror ring key lamp flower castle garden tree door boat
tall | trait | person tower tree
famous | trait | person dragon book ring castle tower garden bridge letter
happy | trait | person beast
brave | trait | person beast
"""

# past | bare form | subjects | objects
_VERBS = """
arrived | arrive | person beast letter boat |
returned | return | person beast boat |
appeared | appear | person beast thing boat |
disappeared | disappear | witch wizard cat dragon thing boat |
entered | enter | person beast |
escaped | escape | person beast |
sang | sing | person beast |
slept | sleep | person beast |
danced | dance | person beast |
smiled | smile | person beast |
cried | cry | person beast |
saw | see | person beast | person beast thing place place
greeted | greet | person beast | person beast
found | find | person beast | thing house castle tower garden bridge door boat
lost | lose | person beast | letter hat book ring key lamp
bought | buy | person beast | hat book mirror ring lamp flower house boat table
painted | paint | person beast | flower house castle tower tower garden garden tree bridge door boat
hid | hide | person beast | thing
opened | open | person beast | letter book door
wrote | write | person beast | letter book
"""

# preposition | its noun: which noun may follow; …
_PREPOSITIONS = """
with | person beast: letter hat book ring key lamp flower mirror; person: cat turtle squirrel; \
    house castle: tower door garden
in | letter hat book ring key lamp mirror: house castle tower boat; tree flower: garden
on | letter hat book mirror ring key lamp flower: table
under | person beast: tree bridge; letter hat book ring key: table tree
behind | person beast: house castle tower tree; house garden tree: castle tower
near | person beast: person beast; person beast: house castle tower garden tree bridge boat tower bridge; \
    house castle tower garden tree boat: bridge tree castle; flower: tree tower
beside | person beast: person beast; person beast: tree tower door castle bridge; \
    letter hat book ring key lamp: mirror lamp book; house tree tower: garden bridge castle
"""


class Adjective(NamedTuple):
    kind: str  # other, size, age, sort or trait
    nouns: tuple[str, ...]


class Verb(NamedTuple):
    bare: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]  # none: intransitive


def nouns(names: str) -> tuple[str, ...]:
    """The nouns in a list of nouns and kinds."""
    return tuple(noun for name in names.split() for noun in KINDS.get(name, name).split())


def plural(noun: str) -> str:
    return noun + ("es" if noun.endswith(("ch", "sh", "s", "x")) else "s")


def _may_follow(rules: str) -> dict[str, list[tuple[str, ...]]]:
    """noun → groups of nouns that may follow, when a preposition is between"""
    groups = {}
    for rule in rules.split(";"):
        before, after = rule.split(":")
        for noun in nouns(before):
            groups.setdefault(noun, []).append(nouns(after))
    return groups


NOUNS = Table("noun", {noun: plural(noun) for noun in nouns(" ".join(KINDS))})
ADJECTIVES = Table("adjective", {word: Adjective(kind, nouns(fit)) for word, kind, fit in rows(_ADJECTIVES)})
VERBS = Table("verb", {past: Verb(bare, nouns(who), nouns(what)) for past, bare, who, what in rows(_VERBS)})
PREPOSITIONS = Table("preposition", {word: _may_follow(rules) for word, rules in rows(_PREPOSITIONS)})
NUMERALS = ("two", "three")
DETERMINERS = Table("determiner", dict.fromkeys(("the", "a", "this", *NUMERALS)))
CONJUNCTIONS = Table("conjunction", {"and": ",", "but": ",", "because": "", "when": ""})  # and what is before
PERSONS, ANIMATE = frozenset(nouns("person")), nouns("person beast")
LEMMAS = {many: one for one, many in NOUNS.items()} | {verb.bare: past for past, verb in VERBS.items()}


def determiner(phrase: NounPhrase) -> str:
    """The first word of a phrase without an owner."""
    if phrase.determiner == "a":
        return "an" if (phrase.adjectives or (phrase.noun,))[0][0] in "aeiou" else "a"
    return "these" if phrase.determiner == "this" and phrase.plural else phrase.determiner


def is_plural(phrase: NounPhrase) -> bool:
    return phrase.plural or phrase.determiner in NUMERALS


def relative_pronoun(noun: str) -> str:
    return "who" if noun in PERSONS else "that"


def require_grammatical(phrase: NounPhrase) -> None:
    """A ValueError that names what is wrong with a noun phrase of known words."""
    DETERMINERS[phrase.determiner]
    require_list(adjectives=phrase.adjectives)
    if phrase.determiner == "a" and phrase.plural:
        raise ValueError(f"'a' and a plural do not go together: give {phrase.noun!r} another determiner")
    if "other" in phrase.adjectives and (phrase.determiner != "the" or phrase.adjectives.index("other")):
        raise ValueError(f"'other' must be the first of the adjectives {phrase.adjectives}, and follow 'the'")
    owner = phrase.owner
    if owner is not None:
        if phrase.determiner != "the":
            raise ValueError(f"an owner stands in place of the determiner: leave {phrase.determiner!r} out")
        if is_plural(owner) or owner.owner is not None or owner.modifier is not None:
            raise ValueError("an owner is singular, and has neither an owner nor a modifier of its own")
