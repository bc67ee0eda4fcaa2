"""Drawing sentences: a grammar of English trees, and the splits of a corpus drawn from it."""

import functools
import random
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from .english import ADJECTIVES, ANIMATE, CONJUNCTIONS, LEMMAS, NOUNS, PREPOSITIONS, VERBS, nouns
from .language import LANGUAGES
from .translation import translate
from .trees import Clause, NounPhrase, Pair, Prepositional, Relative, Sentence

# What reads well beside what

OWNERS = nouns("person dragon")
OWNED = frozenset(nouns("thing house castle garden boat tower table friend cat turtle"))
NONE, EVERY_VERB = frozenset(), frozenset(VERBS)
ARRIVALS = frozenset("arrived returned appeared disappeared entered escaped".split())
AFTER_WHEN = ARRIVALS | frozenset("smiled saw greeted found lost opened".split())
BEFORE_WHEN = EVERY_VERB - {"slept"}  # it wants "was sleeping", and no reason
AFTER_WHO = EVERY_VERB - {"slept", "disappeared"}  # who slept does nothing else; what disappeared is not there
# "The boy who sang smiled" is hard to read: where a verb follows, a relative clause ends in an object.
BEFORE_A_VERB = frozenset(verb for verb in AFTER_WHO if VERBS[verb].objects)
HAD = {verb: AFTER_WHO - ARRIVALS for verb in ("lost", "found", "bought", "hid")}  # it "had appeared" before: no past
PLACES_OF = {  # the prepositions after objects, where not every one will do: nobody buys a ring beside a lamp
    "wrote": NONE,
    "lost": frozenset({"in"}),
    "bought": frozenset({"with", "near", "behind"}),
    "saw": frozenset(PREPOSITIONS) - {"with"},  # who has the mirror in "saw the boy with a mirror"?
    "greeted": frozenset(PREPOSITIONS) - {"with"},
}
UNWRITTEN = frozenset("big small old green red blue golden".split())  # "wrote big letters" says how they look
CHAINS = {  # conjunctions by the number of clauses; one of because and when is enough
    1: [()],
    2: [(name,) for name in CONJUNCTIONS],
    3: [(a, b) for a in CONJUNCTIONS for b in CONJUNCTIONS if a != b and {a, b} != {"because", "when"}],
}

# Determiners and whether a plural, as often as they are to be drawn

SINGULAR = [("the", False)] * 6 + [("a", False)] * 3 + [("this", False)]
EITHER = SINGULAR + [("the", True)] * 4 + [("this", True), ("two", True), ("three", True)]
DEFINITE = [("the", False)] * 6 + [("the", True)] * 3 + [("this", False), ("this", True)]
PLACE = [("the", False)] * 3 + [("the", True)]
BELONGINGS = [pair for pair in EITHER if pair[0] != "this"]
PARTS = [("a", False), ("two", True), ("three", True)]


def _numbers(noun: str, preposition: str) -> list[tuple[str, bool]]:
    """The determiners of what follows a noun and a preposition."""
    if preposition == "with":
        return BELONGINGS if noun in ANIMATE else PARTS  # a castle with two towers
    return PLACE[:1] if preposition in ("in", "on", "under") else PLACE  # one is in one place only


def _held_out() -> frozenset[tuple[str, str]]:
    """About a seventh of what each noun goes with: (noun, adjective) and (subject, verb). The same for all seeds."""
    chance, held = random.Random(0), set()
    for noun in NOUNS:
        for table in (
            [name for name, adjective in ADJECTIVES.items() if noun in adjective.nouns],
            [name for name, verb in VERBS.items() if noun in verb.subjects],
        ):
            held |= {(noun, name) for name in chance.sample(table, round(0.15 * len(table)))}
    return frozenset(held)


UNSEEN = _held_out()  # combinations that occur in no pair but those of the split `unseen`


def combinations(pair: Pair) -> set[tuple[str, str]]:
    """The (noun, adjective) and (subject, verb) combinations in a pair; nouns in the singular, verbs in the past."""
    found = set()
    for word, head in zip(pair.source, pair.heads):
        word = LEMMAS.get(word, word)
        if head is not None and (word in ADJECTIVES or word in VERBS):
            noun = pair.source[head]
            found.add((LEMMAS.get(noun, noun), word))
    return found


class Splits(NamedTuple):
    """Four lists of pairs, without a common sentence. `unseen`: each pair has a combination that `train` has not."""

    train: list[Pair]
    test: list[Pair]
    unseen: list[Pair]
    longer: list[Pair]


def splits(
    language: str = "es",
    seed: int = 0,
    train: int = 30_000,
    test: int = 1000,
    shortest: int = 3,
    longest: int = 16,
    longest_test: int = 24,
) -> Splits:
    """A corpus: `train` pairs, and three times `test` pairs to measure with, of `shortest` to `longest` source words.

    `longer` has longest + 1 to longest_test. Lengths are as even as the grammar allows: there are few short sentences.
    Drawing many takes seconds; asked for the same again, it gives the same pairs at once, in lists of their own.
    """
    return Splits(*map(list, _drawn(language, seed, train, test, shortest, longest, longest_test)))


@functools.lru_cache(maxsize=2)
def _drawn(language: str, seed: int, train: int, test: int, shortest: int, longest: int, longest_test: int) -> Splits:
    grammar = Grammar(language, seed)
    tested = grammar.sample(test, shortest, longest)
    unseen = grammar.sample(test, shortest, longest, unseen=True)
    longer = grammar.sample(test, longest + 1, longest_test)
    return Splits(grammar.sample(train, shortest, longest, avoid=tested), tested, unseen, longer)


class _DeadEnd(Exception):
    """No phrase of the size that was asked for begins like this."""


class _Choices:
    """What goes with each noun, except for the combinations in `without`."""

    def __init__(self, without: Collection[tuple[str, str]] = ()):
        self.adjectives, self.leading, self.sorts, self.acts, self.other = {}, {}, {}, {}, set()
        for noun in NOUNS:
            fits = [name for name in ADJECTIVES if noun in ADJECTIVES[name].nouns and (noun, name) not in without]
            self.adjectives[noun] = [name for name in fits if name != "other"]
            self.leading[noun] = [name for name in fits if ADJECTIVES[name].kind in ("size", "age")]
            self.sorts[noun] = [name for name in fits if ADJECTIVES[name].kind == "sort"]
            self.other |= {noun} if "other" in fits else set()
            does = [name for name in VERBS if noun in VERBS[name].subjects and (noun, name) not in without]
            for transitive in (False, True):
                self.acts[noun, transitive] = [name for name in does if bool(VERBS[name].objects) == transitive]


_ALL, _SEEN = _Choices(), _Choices(UNSEEN)
_PLACES = {  # noun → (preposition, nouns that may follow, their determiners)
    noun: [(name, group, _numbers(noun, name)) for name, row in PREPOSITIONS.items() for group in row.get(noun, ())]
    for noun in NOUNS
}
_ACTORS = [noun for noun in NOUNS if _ALL.acts[noun, False]]
_ANY_NOUN = tuple(NOUNS)


class _Slot(NamedTuple):
    """What may be in one place of a sentence."""

    nouns: Sequence[str]
    numbers: Sequence[tuple[str, bool]] = EITHER
    relatives: frozenset[str] = AFTER_WHO  # verbs of a relative clause; none: no such clause
    depth: int = 0  # how deep it is nested; 2: adjectives are all that it may have
    unfit: frozenset[str] = NONE  # adjectives that it must not have
    prepositions: Collection[str] = PREPOSITIONS  # those that may follow


def _sensible(verbs: frozenset[str], subject: NounPhrase, negated: bool) -> frozenset[str]:
    """The intransitive verbs without those that sound odd of a subject like this."""
    if "happy" in subject.adjectives:
        verbs = verbs - {"cried"}
    if not isinstance(subject.modifier, Prepositional):
        return verbs
    if subject.noun not in ANIMATE:
        return verbs & {"disappeared"}  # how could the letter on the table arrive?
    if subject.determiner not in ("the", "this"):
        return verbs - ARRIVALS  # such verbs want a new subject behind them, and a place keeps it in front
    if subject.modifier.preposition == "with":
        return verbs
    near = subject.modifier.preposition in ("near", "beside") and not negated
    return verbs - {"appeared"} if near else verbs - ARRIVALS


class Grammar:
    """Draws sentences. The same language and seed, asked for the same, give the same pairs."""

    def __init__(self, language: str, seed: int = 0):
        LANGUAGES[language]
        self.language, self.random, self.choices = language, random.Random(seed), _SEEN
        self.used = set()  # the nouns and verbs of the sentence so far, and "not" and "yesterday"

    def sample(
        self, count: int, shortest: int = 3, longest: int = 16, unseen: bool = False, avoid: Iterable[Pair] = ()
    ) -> list[Pair]:
        """`count` different pairs of `shortest` to `longest` source words, as even in length as can be.

        unseen: each pair has one of the combinations UNSEEN; else none has. avoid: pairs not to be drawn.
        ValueError where the grammar has not so many, or for lengths below 3.
        """
        if not 3 <= shortest <= longest <= 30:
            raise ValueError(f"lengths from {shortest} to {longest} must lie between 3 and 30")
        self.choices = _ALL if unseen else _SEEN
        taken, pairs, lengths = {pair.source for pair in avoid}, [], list(range(shortest, longest + 1))
        while len(pairs) < count:
            for length in list(lengths):
                pair = self.new_pair(length, unseen, taken)
                if pair is None:
                    lengths.remove(length)
                elif len(pairs) < count:
                    taken.add(pair.source)
                    pairs.append(pair)
            if not lengths:
                raise ValueError(f"there are hardly more than {len(pairs)} such pairs: ask for fewer than {count}")
        self.random.shuffle(pairs)
        return pairs

    def new_pair(self, length: int, unseen: bool, taken: set[tuple[str, ...]]) -> Pair | None:
        """A pair that is not taken, or None after many tries."""
        for _ in range(100):
            try:
                tree = self.sentence(length)
            except _DeadEnd:
                continue
            pair = translate(tree, self.language)
            if pair.source not in taken and (not unseen or combinations(pair) & UNSEEN):
                return pair
        return None

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, options: Sequence):
        if not options:
            raise _DeadEnd
        return options[int(self.random.random() * len(options))]

    def fresh(self, options: Sequence[str]) -> str:
        """A word that the sentence does not hold yet."""
        word = self.pick(options)
        if word in self.used:
            word = self.pick([option for option in options if option not in self.used])
        self.used.add(word)
        return word

    def once(self, word: str, probability: float = 0.2) -> bool:
        """Whether to say it here: not often, and at most once a sentence."""
        if word in self.used or not self.chance(probability):
            return False
        self.used.add(word)
        return True

    def sentence(self, size: int) -> NounPhrase | Clause | Sentence:
        """A tree of `size` English words, or _DeadEnd."""
        self.used = set()
        if size <= 8 and self.chance(0.4 if size == 3 else 0.15):
            return self.noun_phrase(size, _Slot(_ANY_NOUN))
        fewest, most = -(-(size + 1) // 13), min((size + 1) // 4, 3)  # clauses
        count = min(self.random.randint(fewest, most), self.random.randint(fewest, most))
        chain = self.pick(CHAINS[count])
        sizes, more = [3] * count, size - 3 * count - sum(1 + bool(CONJUNCTIONS[name]) for name in chain)
        if more < 0:
            raise _DeadEnd
        for _ in range(more):
            sizes[int(self.random.random() * count)] += 1
        clauses = tuple(self.clause(part, *words) for part, *words in zip(sizes, ("", *chain), (*chain, "")))
        return clauses[0] if count == 1 else Sentence(clauses, chain)

    def clause(self, size: int, before: str, after: str) -> Clause:
        """A clause of `size` words between two conjunctions."""
        # A reason or a time goes with one verb: no "did not" and no relative clause are before it.
        reasoned = after in ("when", "because")
        negated = not reasoned and before != "when" and size >= 5 and self.once("not")
        yesterday = "when" not in (before, after) and size - 2 * negated >= 4 and self.once("yesterday")
        size -= 2 * negated + yesterday + 1
        subject = _Slot(ANIMATE, DEFINITE if negated else EITHER, NONE if reasoned else BEFORE_A_VERB)
        verbs = AFTER_WHEN if before == "when" else BEFORE_WHEN if reasoned else EVERY_VERB
        if size >= 4 and (size > 6 or self.chance(0.6)):
            size_of_object = self.random.randint(2, size - 2)
            phrase = self.noun_phrase(size - size_of_object, subject)
            # "lost a ring that arrived yesterday" would have two readings
            object = subject._replace(relatives=NONE if reasoned or yesterday else AFTER_WHO)
            return Clause(phrase, *self.act(phrase.noun, size_of_object, object, verbs), negated, yesterday)
        phrase = self.noun_phrase(size, subject._replace(nouns=self.pick((ANIMATE, ANIMATE, _ACTORS))))
        return Clause(phrase, *self.act(phrase.noun, 0, subject, _sensible(verbs, phrase, negated)), negated, yesterday)

    def act(self, noun: str, size: int, slot: _Slot, verbs: frozenset[str]) -> tuple[str, NounPhrase | None]:
        """A verb for a subject, and an object of `size` words for the slot; of no words: None."""
        verb = self.fresh([verb for verb in self.choices.acts[noun, size > 0] if verb in verbs])
        if not size:
            return verb, None
        relatives, prepositions = slot.relatives & HAD.get(verb, AFTER_WHO), PLACES_OF.get(verb, PREPOSITIONS)
        slot = slot._replace(nouns=VERBS[verb].objects, relatives=relatives, prepositions=prepositions)
        if verb == "wrote":
            slot = slot._replace(depth=2, unfit=UNWRITTEN)
        return verb, self.noun_phrase(size, slot)

    def noun_phrase(self, size: int, slot: _Slot) -> NounPhrase:
        """A noun phrase of `size` words."""
        noun = self.fresh(slot.nouns)
        determiner, plural = self.pick(slot.numbers)
        if determiner == "this" and not self.once("this", 1):
            determiner = "the"
        extra, owner = size - 2, None
        if slot.depth < 2 and 2 <= extra <= 5 and noun in OWNED and self.chance(0.4):
            owned_by = 3 if extra >= 3 and self.chance(0.4) else 2
            one = [(word, many) for word, many in slot.numbers if not many]
            owner = self.noun_phrase(owned_by, _Slot(OWNERS, one, depth=2))
            determiner = "the"
            extra -= owned_by
        if extra == 0 or owner or slot.depth == 2:
            count = extra
        else:
            fits = [self.fits(noun, n, extra - n, slot) for n in range(3)]
            count = self.pick([n for n in (0, 1, 1, 2) if fits[n]])
        adjectives = self.adjectives(noun, count, determiner, slot.unfit)
        if "happy" in adjectives:
            slot = slot._replace(relatives=slot.relatives - {"cried"})
        modifier = self.modifier(noun, extra - count, slot) if extra > count else None
        return NounPhrase(noun, determiner, adjectives, plural, modifier, owner)

    def fits(self, noun: str, adjectives: int, size: int, slot: _Slot) -> bool:
        """Can a noun have so many adjectives, and a modifier of so many words?"""
        if adjectives == 2 and not (self.choices.leading[noun] and self.choices.sorts[noun]):
            return False
        if size < 2 or (slot.depth == 1 and size > 5):
            return size == 0
        return size > 2 and bool(self.places(noun, size, slot)) or size != 3 and bool(self.actions(noun, size, slot))

    def places(self, noun: str, size: int, slot: _Slot) -> list[tuple]:
        """(preposition, nouns, determiners) for modifiers of `size` words; a preposition is not repeated inside."""
        taken = {"with"} | self.used if size > 5 else self.used
        return [place for place in _PLACES[noun] if place[0] in slot.prepositions and place[0] not in taken]

    def actions(self, noun: str, size: int, slot: _Slot) -> frozenset[str]:
        """The verbs of relative clauses of `size` words."""
        return slot.relatives and slot.relatives.intersection(self.choices.acts[noun, size > 2])

    def adjectives(self, noun: str, count: int, determiner: str, unfit: frozenset[str]) -> tuple[str, ...]:
        if count == 0:
            return ()
        goes = determiner == "the" and noun in self.choices.other and "other" not in unfit
        other = goes and self.once("other", 0.4)
        if count == 2 and not other:
            found = self.fresh(self.choices.leading[noun]), self.fresh(self.choices.sorts[noun])
        else:
            found = ("other",) * other + (self.fresh(self.choices.adjectives[noun]),) * (count - other)
        if count > 2 or unfit.intersection(found):
            raise _DeadEnd
        return found

    def modifier(self, noun: str, size: int, slot: _Slot) -> Prepositional | Relative:
        places = self.places(noun, size, slot) if size > 2 else ()
        acts = size != 3 and self.actions(noun, size, slot)
        if acts and (not places or self.chance(0.5)):
            negated = size != 2 and size != 5 and self.once("not")
            verbs = slot.relatives - ARRIVALS if negated else slot.relatives
            inner = _Slot((), DEFINITE if negated else EITHER, NONE, slot.depth + 1)
            return Relative(*self.act(noun, max(size - 2 - 2 * negated, 0), inner, verbs), negated)
        preposition, objects, numbers = self.pick(places)
        depth = 2 if preposition == "with" else slot.depth + 1  # "with the lamp", but not "… on the table"
        unfit = frozenset({"other"}) if preposition == "with" else NONE
        self.used.add(preposition)
        # no relative clause: in "the boy near the king who sang", who sang?
        inner = self.noun_phrase(size - 1, _Slot(objects, numbers, NONE, depth, unfit))
        self.used.remove(preposition)  # the next phrase may have it
        return Prepositional(preposition, inner)
