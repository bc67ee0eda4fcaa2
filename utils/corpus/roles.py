"""Who does what to whom: pairs of sentences in which two nouns exchange their roles."""

import random

from .english import ADJECTIVES, ANIMATE, VERBS
from .translation import translate
from .trees import Clause, NounPhrase, Pair

MEET = [name for name, verb in VERBS.items() if set(ANIMATE) & set(verb.objects)]  # verbs that take such objects


def roles(number: int, language: str = "es", seed: int = 0) -> list[tuple[Pair, Pair]]:
    """So many different pairs "the witch saw the young king", each with "the young king saw the witch" beside it.

    No sentence comes twice, on either side. Every second noun has an adjective."""
    draw, found, known = random.Random(seed), [], set()

    def phrase() -> NounPhrase:
        noun = draw.choice(ANIMATE)
        fitting = [name for name, row in ADJECTIVES.items() if noun in row.nouns and name != "other"]
        return NounPhrase(noun, adjectives=(draw.choice(fitting),) if draw.random() < 0.5 else ())

    while len(found) < number:
        subject, verb, object_ = phrase(), draw.choice(MEET), phrase()
        clauses = Clause(subject, verb, object_), Clause(object_, verb, subject)
        if subject.noun != object_.noun and known.isdisjoint(clauses):
            known.update(clauses)
            found.append(tuple(translate(clause, language) for clause in clauses))
    return found
