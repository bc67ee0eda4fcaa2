"""Syntax trees, in which sentences are thought, and word-aligned pairs of sentences, which come of them."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun, named in the singular. determiner: the, a, this, two or three; owner: "the witch 's" in its place."""

    noun: str
    determiner: str = "the"
    adjectives: tuple[str, ...] = ()
    plural: bool = False
    modifier: "Prepositional | Relative | None" = None
    owner: "NounPhrase | None" = None


@dataclass(frozen=True, slots=True)
class Prepositional:
    """ "near the castle"."""

    preposition: str
    object: NounPhrase


@dataclass(frozen=True, slots=True)
class Relative:
    """ "who found the ring", "that did not sing". The verb is named by its past."""

    verb: str
    object: NounPhrase | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """ "the boy opened the letter yesterday". The verb is named by its past."""

    subject: NounPhrase
    verb: str
    object: NounPhrase | None = None
    negated: bool = False
    yesterday: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """Clauses, and the conjunctions (and, but, because, when) between them, one fewer."""

    clauses: tuple[Clause, ...]
    conjunctions: tuple[str, ...]


class Word(NamedTuple):
    """A target word in the making: the source position of its sure link, or None, and of other possible ones.

    content: is it a noun, an adjective, an adverb, a participle or a verb of one word?
    """

    text: str
    link: int | None
    possible: tuple[int, ...] = ()
    content: bool = False


Link = tuple[int, int]  # (target position, source position)


class Pair(NamedTuple):
    """A sentence, its translation and their word alignment.

    Links are (target position, source position). `alignment` holds the sure ones, S of Och & Ney 2003, at most one for
    each target word; `possible`, their P, adds the noun that an article, adjective or verb agrees with, the other half
    of a contraction ("del" is "of" and "the"), and "did" for a negated verb and its "no".
    `heads` gives for each source word whose translation shows gender or number the position of the noun that it takes
    them from (a noun points at itself), and `tags` for each noun its gender and number in the target language; both
    are None elsewhere. `content` says of each target word what `Word` does.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure_links: tuple[Link, ...]  # tuples of shared links: sets of their own would take four times the memory
    possible_links: tuple[Link, ...] = ()
    heads: tuple[int | None, ...] = ()
    tags: tuple[str | None, ...] = ()
    content: tuple[bool, ...] = ()

    @property
    def alignment(self) -> frozenset[Link]:
        return frozenset(self.sure_links)

    @property
    def possible(self) -> frozenset[Link]:
        return frozenset(self.possible_links)

    @property
    def inserted(self) -> tuple[int, ...]:
        """The target positions without a link: words that stand for nothing in the source (es. "vio a la bruja")."""
        linked = {target for target, _ in self.sure_links}
        return tuple(i for i in range(len(self.target)) if i not in linked)
