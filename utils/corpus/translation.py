"""From a tree to a word-aligned pair: its English, and its translation by the rules of a language."""

from ..checks import require_list
from . import english
from .language import LANGUAGES, TAGS, Language
from .trees import Clause, Link, NounPhrase, Pair, Prepositional, Relative, Sentence, Word


def translate(tree: NounPhrase | Clause | Sentence, language: str) -> Pair:
    """The English of a tree and its translation into "es" (Spanish), "it" (Italian) or another of LANGUAGES.

    ValueError for a word that the grammar does not know (it lists those it does), a verb with an object too many or
    too few, "a" with a plural, "other" after anything but "the", an owner that is plural or has a modifier or owner.
    """
    words = _Translation(LANGUAGES[language])
    target, links, possible, content = zip(*words.sentence(tree))
    source, heads, tags = zip(*words.said)
    sure = {(i, link) for i, link in enumerate(links) if link is not None}
    any_link = sure.union([(i, link) for i, others in enumerate(possible) for link in others])
    return Pair(source, target, shared(sure), shared(any_link), heads, tags, content)


_KNOWN: dict[Link, Link] = {}


def shared(links: set[Link]) -> tuple[Link, ...]:
    """The links in order, each the one object that stands for it in the whole corpus."""
    return tuple(_KNOWN.setdefault(link, link) for link in sorted(links))


class _Translation:
    """One sentence in the making: each method says the English of a tree and returns the words that it becomes."""

    def __init__(self, language: Language):
        self.language = language
        self.said = []  # English words, each with the position of its noun, and a noun's tag

    def say(self, word: str, head: int | None = None, tag: str | None = None) -> int:
        """Append an English word; returns its position."""
        self.said.append((word, head, tag))
        return len(self.said) - 1

    def sentence(self, tree: NounPhrase | Clause | Sentence) -> list[Word]:
        if isinstance(tree, NounPhrase):
            return self.noun_phrase(tree)
        if isinstance(tree, Clause):
            return self.clause(tree)
        require_list(conjunctions=tree.conjunctions)
        if len(tree.clauses) != len(tree.conjunctions) + 1:
            raise ValueError(f"{len(tree.clauses)} clauses need one conjunction fewer, not {len(tree.conjunctions)}")
        target = self.clause(tree.clauses[0])
        for name, clause in zip(tree.conjunctions, tree.clauses[1:]):
            # Without a comma "entró el oso y el dragón cantó" begins as if both had come in.
            mark = english.CONJUNCTIONS[name]
            target += [Word(mark, self.say(mark))] if mark else []
            position = self.say(name)
            more = self.clause(clause)
            target += [Word(self.language.conjunction(name, more[0].text), position), *more]
        return target

    def clause(self, tree: Clause) -> list[Word]:
        noun, form = self.noun_and_form(tree.subject)
        subject = self.noun_phrase(tree.subject)
        verb = self.verb_phrase(tree, noun, form)
        target = verb + subject if self.language.verb_first(tree) else subject + verb
        if not tree.yesterday:
            return target
        return [Word(self.language.words["yesterday"], self.say("yesterday"), content=True), *target]

    def verb_phrase(self, tree: Clause | Relative, noun: int, form: int) -> list[Word]:
        """Verb and object for a subject: the position of its noun, and its form."""
        verb = english.VERBS[tree.verb]
        if bool(verb.objects) != (tree.object is not None):
            raise ValueError(f"{tree.verb!r} {'needs an' if verb.objects else 'takes no'} object")
        did = (self.say("did"),) if tree.negated else ()
        no = self.say("not") if tree.negated else None
        position, possible = self.say(verb.bare if tree.negated else tree.verb, noun), (*did, noun)
        *auxiliaries, last = self.language.verbs[tree.verb][form]
        target = [Word(word, position, possible) for word in auxiliaries]
        target.append(Word(last, position, possible, True))
        if tree.negated:
            target = self.language.negated(target, no, did)
        if tree.object is None:
            return target
        return target + self.noun_phrase(tree.object, self.language.before_object(tree.object))

    def noun_and_form(self, tree: NounPhrase) -> tuple[int, int]:
        """Where the noun of a phrase that begins here will be, and its place in TAGS."""
        before = 1 if tree.owner is None else 3 + len(tree.owner.adjectives)
        english.NOUNS[tree.noun]
        return len(self.said) + before + len(tree.adjectives), self.language.form(tree)

    def noun_phrase(self, tree: NounPhrase, before: list[Word] | tuple = ()) -> list[Word]:
        """`before`: the words of a preposition, whose last may contract with the article."""
        english.require_grammatical(tree)
        noun, form = self.noun_and_form(tree)
        owner, determiner = self.determiner(tree, noun)
        early, late = [], []
        for name in tree.adjectives:
            text = self.language.adjectives[name][form]
            word = Word(text, self.say(name, noun), (noun,), True)
            (early if self.language.stands_before(english.ADJECTIVES[name].kind) else late).append(word)
        self.say(english.NOUNS[tree.noun] if form > 1 else tree.noun, noun, TAGS[form])
        core = [*early, Word(self.language.noun(tree.noun, form), noun, (), True), *reversed(late)]
        text = self.language.determiner(tree.determiner, form, core[0].text)
        agreeing = () if tree.determiner in self.language.INVARIABLE else (noun,)
        article = self.contracted(list(before), Word(text, determiner, agreeing))
        return article + core + owner + self.modifier(tree, noun, form)

    def determiner(self, tree: NounPhrase, noun: int) -> tuple[list[Word], int]:
        """The owner of a phrase, and the position of its determiner."""
        if tree.owner is None:
            agrees = tree.determiner not in self.language.INVARIABLE
            return [], self.say(english.determiner(tree), noun if agrees else None)
        mark = self.noun_and_form(tree.owner)[0] + 1  # "the witch 's hat" → "el sombrero de la bruja": 's is el and de
        return self.noun_phrase(tree.owner, [Word(self.language.words["'s"], mark)]), self.say("'s", noun)

    def contracted(self, before: list[Word], article: Word) -> list[Word]:
        """The words of a preposition and an article, of which two may become one."""
        joined = self.language.contraction(before[-1].text, article.text) if before else None
        if joined is None:
            return [*before, article]
        if before[-1].link is None:
            return [*before[:-1], article._replace(text=joined)]
        return [*before[:-1], Word(joined, before[-1].link, (article.link, *article.possible))]

    def modifier(self, tree: NounPhrase, noun: int, form: int) -> list[Word]:
        if isinstance(tree.modifier, Prepositional):
            name = tree.modifier.preposition
            english.PREPOSITIONS[name]
            position = self.say(name)
            words = [Word(text, position) for text in self.language.prepositions[name]]
            return self.noun_phrase(tree.modifier.object, words)
        if tree.modifier is None:
            return []
        that = Word(self.language.words["that"], self.say(english.relative_pronoun(tree.noun)))
        return [that, *self.verb_phrase(tree.modifier, noun, form)]
