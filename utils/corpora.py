"""Words as numbers, and a parallel corpus whose word alignments are known.

From top to bottom: the lexicon, syntax trees and their translation into Spanish or Italian, a grammar that draws
trees and so makes a corpus, and the vocabulary that turns words into ids and back.

English → Spanish has a past of one word ("llegó"), English → Italian one of two ("è arrivata").
"""

import difflib
import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

PADDING, START, END, UNKNOWN = "<pad>", "<s>", "</s>", "<unk>"  # ids 0, 1, 2, 3 in every Vocabulary

# The lexicon. What a word goes with is a list of nouns, or of kinds of nouns.

KINDS = {
    "person": "witch queen girl friend wizard uncle boy student",
    "beast": "dragon cat bear turtle squirrel",
    "thing": "letter hat book mirror ring key lamp flower",
    "place": "house castle tower garden tree bridge door boat table",
}

# English; Spanish singular, plural, gender; Italian singular, plural, gender
_NOUNS = """
witch      witches     bruja       brujas       f   strega      streghe     f
queen      queens      reina       reinas       f   regina      regine      f
girl       girls       niña        niñas        f   ragazza     ragazze     f
friend     friends     amiga       amigas       f   amica       amiche      f
wizard     wizards     mago        magos        m   mago        maghi       m
uncle      uncles      tío         tíos         m   zio         zii         m
boy        boys        niño        niños        m   ragazzo     ragazzi     m
student    students    estudiante  estudiantes  m   studente    studenti    m
dragon     dragons     dragón      dragones     m   drago       draghi      m
cat        cats        gato        gatos        m   gatto       gatti       m
bear       bears       oso         osos         m   orso        orsi        m
turtle     turtles     tortuga     tortugas     f   tartaruga   tartarughe  f
squirrel   squirrels   ardilla     ardillas     f   scoiattolo  scoiattoli  m
letter     letters     carta       cartas       f   lettera     lettere     f
hat        hats        sombrero    sombreros    m   cappello    cappelli    m
book       books       libro       libros       m   libro       libri       m
mirror     mirrors     espejo      espejos      m   specchio    specchi     m
ring       rings       anillo      anillos      m   anello      anelli      m
key        keys        llave       llaves       f   chiave      chiavi      f
lamp       lamps       lámpara     lámparas     f   lampada     lampade     f
flower     flowers     flor        flores       f   fiore       fiori       m
house      houses      casa        casas        f   casa        case        f
castle     castles     castillo    castillos    m   castello    castelli    m
tower      towers      torre       torres       f   torre       torri       f
garden     gardens     jardín      jardines     m   giardino    giardini    m
tree       trees       árbol       árboles      m   albero      alberi      m
bridge     bridges     puente      puentes      m   ponte       ponti       m
door       doors       puerta      puertas      f   porta       porte       f
boat       boats       barco       barcos       m   barca       barche      f
table      tables      mesa        mesas        f   tavolo      tavoli      m
"""

# English | Spanish and Italian: masculine, feminine, masculine plural, feminine plural | nouns.
# "before" comes before its noun. A word of "size" may stand before one of "sort", in English; both follow the noun in
# Spanish and Italian, in mirror-image order.
_ADJECTIVES = """
other before | otro otra otros otras | altro altra altri altre | person beast thing place
big size | grande grande grandes grandes | grande grande grandi grandi | beast thing place
small size | pequeño pequeña pequeños pequeñas | piccolo piccola piccoli piccole | beast thing place
old size | viejo vieja viejos viejas | vecchio vecchia vecchi vecchie | wizard dragon bear turtle hat book mirror \
    ring key lamp house castle tower garden tree bridge door boat table
tall size | alto alta altos altas | alto alta alti alte | person tower tree
green sort | verde verde verdes verdes | verde verde verdi verdi | witch dragon turtle letter hat book lamp mirror \
    house tree door boat table
red sort | rojo roja rojos rojas | rosso rossa rossi rosse | dragon squirrel letter hat book lamp flower house tower \
    door boat table
blue sort | azul azul azules azules | blu blu blu blu | dragon letter hat book lamp flower mirror house door boat table
golden sort | dorado dorada dorados doradas | dorato dorata dorati dorate | dragon hat mirror ring key lamp flower \
    tower door
magic sort | mágico mágica mágicos mágicas | magico magica magici magiche | hat book mirror ring key lamp flower \
    castle garden tree door boat
young alone | joven joven jóvenes jóvenes | giovane giovane giovani giovani | witch queen wizard friend student beast
famous alone | famoso famosa famosos famosas | famoso famosa famosi famose | person dragon book ring castle tower \
    garden bridge
happy alone | feliz feliz felices felices | felice felice felici felici | person beast
kind alone | amable amable amables amables | gentile gentile gentili gentili | person beast
"""

# English past, bare form | Spanish singular, plural | Italian participle, auxiliary | subjects | objects.
# With the auxiliary essere the verb comes before its subject, in both languages, and the participle agrees with it.
_VERBS = """
arrived arrive | llegó llegaron | arrivato essere | person beast letter boat |
returned return | volvió volvieron | tornato essere | person beast boat |
appeared appear | apareció aparecieron | apparso essere | person beast thing boat |
disappeared disappear | desapareció desaparecieron | scomparso essere | witch wizard cat dragon thing boat |
entered enter | entró entraron | entrato essere | person beast |
came come | vino vinieron | venuto essere | person beast |
sang sing | cantó cantaron | cantato avere | person beast |
slept sleep | durmió durmieron | dormito avere | person beast |
danced dance | bailó bailaron | ballato avere | person beast |
smiled smile | sonrió sonrieron | sorriso avere | person beast |
dreamed dream | soñó soñaron | sognato avere | person beast |
saw see | vio vieron | visto avere | person beast | person beast thing place
greeted greet | saludó saludaron | salutato avere | person beast | person beast
found find | encontró encontraron | trovato avere | person beast | thing house garden door boat
lost lose | perdió perdieron | perso avere | person beast | letter hat book ring key lamp
bought buy | compró compraron | comprato avere | person beast | hat book mirror ring lamp flower house boat table
painted paint | pintó pintaron | dipinto avere | person beast | flower house castle tower garden tree bridge door boat
hid hide | escondió escondieron | nascosto avere | person beast | thing
opened open | abrió abrieron | aperto avere | person beast | letter book door
wrote write | escribió escribieron | scritto avere | person beast | letter book
"""

# English | Spanish | Italian | nouns: what may follow. "one": in the singular; "place": or with "the" in the plural.
_PREPOSITIONS = """
with any | con | con | person beast: letter hat book ring key lamp flower mirror; house castle: tower door garden
in one | en | in | person beast: garden house castle tower boat; letter hat book ring key lamp mirror: house castle \
    tower boat; tree flower: garden
on one | en | su | letter hat book mirror ring key lamp flower: table; cat squirrel: table; person beast: bridge
under one | bajo | sotto | person beast: tree bridge; letter hat book ring key: table tree
behind place | detrás de | dietro | person beast: house castle tower tree; house garden tree: castle tower
near place | cerca de | vicino a | person beast: house castle tower garden tree bridge boat; house castle tower garden \
    tree boat: bridge tree castle; flower: tree tower
beside place | junto a | accanto a | person beast: tree table door castle bridge; letter hat book ring key lamp: \
    mirror lamp book; house tree tower: garden bridge castle
"""

# English, Spanish, Italian
_WORDS = """
and        y       e
but        pero    ma
because    porque  perché
when       cuando  quando
two        dos     due
three      tres    tre
that       que     che
not        no      non
yesterday  ayer    ieri
's         de      di
"""

OWNERS, OWNED = "person dragon", "thing house castle garden boat tower table friend uncle cat turtle"
AFTER_WHEN = "arrived returned appeared disappeared entered came smiled saw greeted found lost opened"
NOT_BEFORE_WHEN = "slept dreamed"
NOT_AFTER_THAT = "slept dreamed disappeared"  # who slept does nothing else
NUMERALS = ("two", "three")
TAGS = ("m sg", "f sg", "m pl", "f pl")  # gender and number, in the order in which forms are listed


class Table(dict):
    """A dictionary of words; asked for one that it does not hold, it raises a ValueError that lists those it does."""

    def __init__(self, name: str, entries: dict):
        super().__init__(entries)
        self.name = name

    def __missing__(self, word):
        raise ValueError(f"{word!r} is no {self.name} of this grammar: choose one of {', '.join(self)}")


class Noun(NamedTuple):
    plural: str
    forms: dict[str, tuple[str, str]]  # language → singular, plural
    feminine: dict[str, bool]


class Adjective(NamedTuple):
    place: str  # before, size, sort or alone
    forms: dict[str, list[str]]  # language → forms in the order of TAGS
    nouns: tuple[str, ...]


class Verb(NamedTuple):
    bare: str
    inverted: bool  # comes before its subject
    forms: dict[str, list[list[str]]]  # language → words, in the order of TAGS
    subjects: tuple[str, ...]
    objects: tuple[str, ...]  # none: intransitive


class Preposition(NamedTuple):
    number: str  # of what follows: one, place or any
    words: dict[str, list[str]]
    objects: dict[str, tuple[str, ...]]  # noun → nouns that may follow


def _nouns(names: str) -> tuple[str, ...]:
    """The nouns in a list of nouns and kinds."""
    return tuple(noun for name in names.split() for noun in KINDS.get(name, name).split())


def _rows(table: str):
    """Each line of a table: (first word, the other words before the first bar, the cells after it)."""
    for line in table.strip().splitlines():
        head, *cells = line.split("|")
        word, *more = head.split()
        yield word, more, cells


def _read_verb(bare: str, spanish: str, italian: str, subjects: str, objects: str) -> Verb:
    (singular, plural), (participle, auxiliary) = spanish.split(), italian.split()
    one_word = [[singular], [singular], [plural], [plural]]
    if auxiliary == "essere":
        stem = participle[:-1]
        two_words = [["è", stem + "o"], ["è", stem + "a"], ["sono", stem + "i"], ["sono", stem + "e"]]
    else:
        two_words = [["ha", participle]] * 2 + [["hanno", participle]] * 2
    forms = {"es": one_word, "it": two_words}
    return Verb(bare, auxiliary == "essere", forms, _nouns(subjects), _nouns(objects))


def _read_preposition(number: str, spanish: str, italian: str, rules: str) -> Preposition:
    objects = {}
    for rule in rules.split(";"):
        nouns, may_follow = rule.split(":")
        for noun in _nouns(nouns):
            objects[noun] = (*objects.get(noun, ()), *_nouns(may_follow))
    return Preposition(number, {"es": spanish.split(), "it": italian.split()}, objects)


NOUNS, ADJECTIVES = Table("noun", {}), Table("adjective", {})
for _word, (_plural, *_es, _f, _it, _its, _g), _ in _rows(_NOUNS):
    NOUNS[_word] = Noun(_plural, {"es": tuple(_es), "it": (_it, _its)}, {"es": _f == "f", "it": _g == "f"})
for _word, (_place,), (_es, _it, _goes_with) in _rows(_ADJECTIVES):
    ADJECTIVES[_word] = Adjective(_place, {"es": _es.split(), "it": _it.split()}, _nouns(_goes_with))
WORDS = {word: {"es": spanish, "it": italian} for word, (spanish, italian), _ in _rows(_WORDS)}
CONJUNCTIONS = Table("conjunction", {word: WORDS[word] for word in ("and", "but", "because", "when")})
DETERMINERS = Table("determiner", dict.fromkeys(("the", "a", "this", *NUMERALS)))
VERBS = Table("verb", {past: _read_verb(*bare, *cells) for past, bare, cells in _rows(_VERBS)})
PREPOSITIONS = Table(
    "preposition", {word: _read_preposition(*number, *cells) for word, number, cells in _rows(_PREPOSITIONS)}
)
ANIMATE = _nouns("person beast")


# Words that depend on what follows: articles by the sound of the next word, and what contracts with them.


class Language(NamedTuple):
    definite: list[tuple[str, str, str]]  # in the order of TAGS: before a consonant, a vowel, z or s + consonant
    indefinite: list[tuple[str, str, str]]
    this: list[str]
    contracted: dict[tuple[str, str], str]  # (preposition, article) → one word


_ARTICLES = "il lo l' i gli la le".split()
_CONTRACTED = {
    "di": "del dello dell' dei degli della delle".split(),
    "a": "al allo all' ai agli alla alle".split(),
    "in": "nel nello nell' nei negli nella nelle".split(),
    "su": "sul sullo sull' sui sugli sulla sulle".split(),
}
_SPANISH = Language(
    definite=[("el",) * 3, ("la",) * 3, ("los",) * 3, ("las",) * 3],
    indefinite=[("un",) * 3, ("una",) * 3],
    this="este esta estos estas".split(),
    contracted={("de", "el"): "del", ("a", "el"): "al"},
)
_ITALIAN = Language(
    definite=[("il", "l'", "lo"), ("la", "l'", "la"), ("i", "gli", "gli"), ("le", "le", "le")],
    indefinite=[("un", "un", "uno"), ("una", "un'", "una")],
    this="questo questa questi queste".split(),
    contracted={(word, a): joined for word, row in _CONTRACTED.items() for a, joined in zip(_ARTICLES, row)},
)
LANGUAGES = Table("language", {"es": _SPANISH, "it": _ITALIAN})


@cache
def _sound(word: str) -> int:
    """How a word begins, for the article before it: 0 a consonant, 1 a vowel, 2 z, gn, ps or s + consonant."""
    if word[0] in "aeiouáéíóúàèìòù":
        return 1
    return 2 if word[0] == "z" or word[:2] in ("gn", "ps") or (word[0] == "s" and word[1] not in "aeiou") else 0


# Syntax trees


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
    """ "that found the ring", "that did not sing". The verb is named by its past."""

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


class Pair(NamedTuple):
    """A sentence, its translation and their word alignment.

    Links are (target position, source position). `alignment` holds the sure ones, S of Och & Ney 2003, at most one for
    each target word; `possible`, their P, adds the noun that an article, adjective or verb agrees with, the other half
    of a contraction ("del" is "of" and "the"), and "did" for a negated verb.
    `heads` gives for each source word whose translation shows gender or number the position of the noun that it takes
    them from (a noun points at itself), and `tags` for each noun its gender and number in the target language, one of
    TAGS; both are None elsewhere. `content` says which target words are nouns, adjectives, adverbs, participles or
    verbs of one word.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]] = frozenset()
    heads: tuple[int | None, ...] = ()
    tags: tuple[str | None, ...] = ()
    content: tuple[bool, ...] = ()

    @property
    def inserted(self) -> tuple[int, ...]:
        """The target positions without a link: words that stand for nothing in the source (es. "vio a la bruja")."""
        linked = {target for target, _ in self.alignment}
        return tuple(i for i in range(len(self.target)) if i not in linked)


def translate(tree: NounPhrase | Clause | Sentence, language: str) -> Pair:
    """The English of a tree and its translation into "es" (Spanish) or "it" (Italian).

    ValueError for a word that the grammar does not know (it lists those it does), a verb with an object too many or
    too few, "a" with a plural, "other" after anything but "the", an owner that is plural or has a modifier or owner.
    """
    words = _Translation(language)
    target = words.sentence(tree)
    sure, possible = [], []
    for i, (_, position, others, _) in enumerate(target):
        if position is not None:
            sure.append((i, position))
        for other in others:
            possible.append((i, other))
    return Pair(
        tuple(words.source),
        tuple([word for word, *_ in target]),
        frozenset(sure),
        frozenset(sure + possible),
        tuple(words.heads),
        tuple(words.tags),
        tuple([content for *_, content in target]),
    )


class _Translation:
    """One sentence in the making: each method appends to the English and returns what that becomes.

    That is a list of (word, position of its sure link or None, positions of its other possible links, content word?).
    """

    def __init__(self, language: str):
        self.language, self.code = LANGUAGES[language], language
        self.source, self.heads, self.tags = [], [], []

    def add(self, word: str, head: int | None = None, tag: str | None = None) -> int:
        """Append an English word; returns its position."""
        self.source.append(word)
        self.heads.append(head)
        self.tags.append(tag)
        return len(self.source) - 1

    def sentence(self, tree) -> list:
        if isinstance(tree, NounPhrase):
            return self.noun_phrase(tree)
        if isinstance(tree, Clause):
            return self.clause(tree)
        if len(tree.clauses) != len(tree.conjunctions) + 1:
            raise ValueError(f"{len(tree.clauses)} clauses need one conjunction fewer, not {len(tree.conjunctions)}")
        target = self.clause(tree.clauses[0])
        for name, clause in zip(tree.conjunctions, tree.clauses[1:]):
            word = CONJUNCTIONS[name][self.code]
            position = self.add(name)
            more = self.clause(clause)
            word = "ed" if word == "e" and more[0][0][0] in "eè" else word
            target += [(word, position, (), False), *more]
        return target

    def clause(self, tree: Clause) -> list:
        noun, form = self.position_and_form(tree.subject)
        subject = self.noun_phrase(tree.subject)
        verb = self.verb_phrase(tree, noun, form)
        target = verb + subject if VERBS[tree.verb].inverted else subject + verb
        if tree.yesterday:
            return [(WORDS["yesterday"][self.code], self.add("yesterday"), (), True), *target]
        return target

    def verb_phrase(self, tree: Clause | Relative, noun: int, form: int) -> list:
        verb = VERBS[tree.verb]
        if bool(verb.objects) != (tree.object is not None):
            raise ValueError(f"{tree.verb!r} {'needs an' if verb.objects else 'takes no'} object")
        target, others = [], (noun,)
        if tree.negated:
            others = (self.add("did"), noun)
            target.append((WORDS["not"][self.code], self.add("not"), (), False))
        position = self.add(verb.bare if tree.negated else tree.verb, noun)
        *auxiliary, last = verb.forms[self.code][form]
        target += [(word, position, others, False) for word in auxiliary]
        target.append((last, position, others, True))
        if tree.object is not None:
            to = ("a",) if self.code == "es" and tree.object.noun in ANIMATE else ()  # vio a la bruja
            target += self.noun_phrase(tree.object, to)
        return target

    def position_and_form(self, tree: NounPhrase) -> tuple[int, int]:
        """Where the noun of a phrase that begins here will stand, and its place in TAGS."""
        before = 1 if tree.owner is None else 3 + len(tree.owner.adjectives)
        position = len(self.source) + before + len(tree.adjectives)
        plural = tree.plural or tree.determiner in NUMERALS
        return position, 2 * plural + NOUNS[tree.noun].feminine[self.code]

    def noun_phrase(self, tree: NounPhrase, before: tuple[str, ...] = (), link: int | None = None) -> list:
        """`before`: the words of a preposition, whose last may contract with the article; `link`: its position."""
        require_grammatical(tree)
        language, code = self.language, self.code
        noun, form = self.position_and_form(tree)
        agreeing, owner = (noun,), []
        if tree.owner is not None:  # "the witch 's hat" → "el sombrero de la bruja": 's becomes el and de
            mark = self.position_and_form(tree.owner)[0] + 1
            owner = self.noun_phrase(tree.owner, (WORDS["'s"][code],), mark)
            determiner = self.add("'s", noun)
        else:
            determiner = self.add(english_determiner(tree), None if tree.determiner in NUMERALS else noun)
        adjectives = []
        for name in tree.adjectives:
            adjectives.append((ADJECTIVES[name].forms[code][form], self.add(name, noun), agreeing, True))
        self.add(NOUNS[tree.noun].plural if form > 1 else tree.noun, noun, TAGS[form])
        before_noun = adjectives[:1] if tree.adjectives[:1] == ("other",) else []
        after_noun = adjectives[len(before_noun) :][::-1]
        core = [*before_noun, (NOUNS[tree.noun].forms[code][form > 1], noun, (), True), *after_noun]

        target = [(word, link, (), False) for word in before]
        if tree.determiner in NUMERALS:
            target.append((WORDS[tree.determiner][code], determiner, (), False))
        elif tree.determiner == "this":
            target.append((language.this[form], determiner, agreeing, False))
        else:
            articles = language.definite if tree.determiner == "the" else language.indefinite
            article = articles[form][_sound(core[0][0])]
            joined = language.contracted.get((before[-1], article)) if before else None
            if joined is None:
                target.append((article, determiner, agreeing, False))
            elif link is None:
                target[-1] = (joined, determiner, agreeing, False)
            else:
                target[-1] = (joined, link, (determiner, noun), False)
        target += core + owner
        if isinstance(tree.modifier, Prepositional):
            words = PREPOSITIONS[tree.modifier.preposition].words[code]
            position = self.add(tree.modifier.preposition)
            target += self.noun_phrase(tree.modifier.object, words, position)
        elif tree.modifier is not None:
            target.append((WORDS["that"][code], self.add("that"), (), False))
            target += self.verb_phrase(tree.modifier, noun, form)
        return target


def english_determiner(tree: NounPhrase) -> str:
    if tree.determiner == "a":
        return "an" if (tree.adjectives or (tree.noun,))[0][0] in "aeiou" else "a"
    return "these" if tree.determiner == "this" and tree.plural else tree.determiner


def require_grammatical(tree: NounPhrase) -> None:
    """A ValueError that names what is wrong with a noun phrase of known words."""
    DETERMINERS[tree.determiner]
    if tree.determiner == "a" and tree.plural:
        raise ValueError(f"'a' and a plural do not go together: give {tree.noun!r} another determiner")
    if "other" in tree.adjectives and (tree.determiner != "the" or tree.adjectives.index("other")):
        raise ValueError(f"'other' must be the first of the adjectives {tree.adjectives}, and follow 'the'")
    owner = tree.owner
    if owner is not None:
        if tree.determiner != "the":
            raise ValueError(f"an owner stands in the place of the determiner: leave {tree.determiner!r} out")
        if owner.plural or owner.determiner in NUMERALS or owner.owner is not None or owner.modifier is not None:
            raise ValueError("an owner is singular, and has neither an owner nor a modifier of its own")


# Drawing sentences


def _held_out() -> frozenset[tuple[str, str]]:
    """About a seventh of what each noun goes with: (noun, adjective) and (subject, verb). The same for all seeds."""
    chance, held = random.Random(5), set()
    for noun in NOUNS:
        for table in (
            [name for name, adjective in ADJECTIVES.items() if noun in adjective.nouns],
            [name for name, verb in VERBS.items() if noun in verb.subjects],
        ):
            held |= {(noun, name) for name in chance.sample(table, round(0.15 * len(table)))}
    return frozenset(held)


UNSEEN = _held_out()  # combinations that occur in no pair but those of the split `unseen`
_LEMMAS = {noun.plural: name for name, noun in NOUNS.items()} | {verb.bare: past for past, verb in VERBS.items()}


def combinations(pair: Pair) -> set[tuple[str, str]]:
    """The (noun, adjective) and (subject, verb) combinations in a pair; nouns in the singular, verbs in the past."""
    found = set()
    for word, head in zip(pair.source, pair.heads):
        word = _LEMMAS.get(word, word)
        if head is not None and (word in ADJECTIVES or word in VERBS):
            noun = pair.source[head]
            found.add((_LEMMAS.get(noun, noun), word))
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
    """
    grammar = Grammar(language, seed)
    tested = grammar.sample(test, shortest, longest)
    unseen = grammar.sample(test, shortest, longest, unseen=True)
    longer = grammar.sample(test, longest + 1, longest_test)
    return Splits(grammar.sample(train, shortest, longest, avoid=tested), tested, unseen, longer)


class _DeadEnd(Exception):
    """No phrase of the size that was asked for begins like this."""


class _Choices(NamedTuple):
    """What goes with each noun."""

    adjectives: dict[str, tuple[list[str], list[str], list[str]]]  # any but "other", of size, of sort
    other: frozenset[str]  # nouns that "other" goes with
    verbs: dict[str, tuple[list[str], list[str]]]  # intransitive, transitive


def _choices(without: frozenset[tuple[str, str]]) -> _Choices:
    adjectives, verbs = {}, {}
    for noun in NOUNS:
        fits = [name for name in ADJECTIVES if noun in ADJECTIVES[name].nouns and (noun, name) not in without]
        of_place = {place: [name for name in fits if ADJECTIVES[name].place == place] for place in ("size", "sort")}
        adjectives[noun] = [name for name in fits if name != "other"], of_place["size"], of_place["sort"]
        does = [name for name in VERBS if noun in VERBS[name].subjects and (noun, name) not in without]
        verbs[noun] = [[name for name in does if bool(VERBS[name].objects) == takes] for takes in (False, True)]
    return _Choices(adjectives, frozenset(noun for noun in NOUNS if (noun, "other") not in without), verbs)


_ALL, _SEEN = _choices(frozenset()), _choices(UNSEEN)
_SINGULAR = [("the", False)] * 6 + [("a", False)] * 3 + [("this", False)]
_EITHER = _SINGULAR + [("the", True)] * 4 + [("this", True), ("two", True), ("three", True)]
_DEFINITE = [("the", False)] * 6 + [("the", True)] * 3 + [("this", False), ("this", True)]
_NUMBERS = {"one": _SINGULAR, "place": _SINGULAR + [("the", True)] * 3, "any": _EITHER}
_PLACES = {noun: [] for noun in NOUNS}  # noun → (preposition, nouns that may follow, their determiners)
for _name, _preposition in PREPOSITIONS.items():
    for _noun, _objects in _preposition.objects.items():
        _PLACES[_noun].append((_name, _objects, _NUMBERS[_preposition.number]))
_OWNERS, _OWNED = _nouns(OWNERS), frozenset(_nouns(OWNED))
_ACTORS = [noun for noun in NOUNS if _ALL.verbs[noun][0]]
_NOUNS_OF_ALL, _VERBS_OF_ALL = tuple(NOUNS), frozenset(VERBS)
_AFTER_WHEN, _BEFORE_WHEN = frozenset(AFTER_WHEN.split()), _VERBS_OF_ALL.difference(NOT_BEFORE_WHEN.split())
_INVERTED = frozenset(name for name, verb in VERBS.items() if verb.inverted)
_AFTER_THAT = _VERBS_OF_ALL.difference(NOT_AFTER_THAT.split())


def _keeps_its_place(subject: NounPhrase) -> bool:
    """Whether a subject is clumsy after its verb: "llegó el mago cerca de la torre", "volvió la bruja que llegó"."""
    if isinstance(subject.modifier, Prepositional):
        return subject.modifier.preposition != "with"
    return subject.modifier is not None and VERBS[subject.modifier.verb].inverted


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

    def new_pair(self, length: int, unseen: bool, taken: set) -> Pair | None:
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

    def pick(self, options):
        if not options:
            raise _DeadEnd
        return options[int(self.random.random() * len(options))]

    def fresh(self, options) -> str:
        """A word that the sentence does not hold yet."""
        word = self.pick([option for option in options if option not in self.used])
        self.used.add(word)
        return word

    def once(self, word: str) -> bool:
        """Whether to say it here: rarely, and at most once a sentence."""
        if word in self.used or not self.chance(0.2):
            return False
        self.used.add(word)
        return True

    def sentence(self, size: int) -> NounPhrase | Clause | Sentence:
        """A tree of `size` English words, or _DeadEnd."""
        self.used = set()
        if size <= 8 and self.chance(0.4 if size == 3 else 0.15):
            return self.noun_phrase(size, _NOUNS_OF_ALL, _EITHER)
        fewest, most = -(-(size + 1) // 13), min((size + 1) // 4, 5)  # clauses
        count = min(self.random.randint(fewest, most), self.random.randint(fewest, most))
        sizes = [3] * count
        for _ in range(size - (count - 1) - 3 * count):
            sizes[self.random.randrange(count)] += 1
        conjunctions = tuple(self.random.sample(list(CONJUNCTIONS), count - 1))
        around = zip(("", *conjunctions), (*conjunctions, ""))
        clauses = [self.clause(part, *words) for part, words in zip(sizes, around)]
        return clauses[0] if count == 1 else Sentence(tuple(clauses), conjunctions)

    def clause(self, size: int, before: str, after: str) -> Clause:
        """A clause of `size` words between two conjunctions."""
        when = before == "when"
        negated = not when and after != "when" and size >= 5 and self.once("not")
        yesterday = not when and size - 2 * negated >= 4 and self.once("yesterday")
        size -= 2 * negated + yesterday + 1
        numbers = _DEFINITE if negated else _EITHER
        verbs = _AFTER_WHEN if when else _BEFORE_WHEN if after == "when" else _VERBS_OF_ALL
        if size >= 4 and (size > 6 or self.chance(0.6)):
            size_of_object = self.random.randint(2, size - 2)
            subject = self.noun_phrase(size - size_of_object, ANIMATE, numbers)
            # "the girl lost a ring that disappeared yesterday" would have two readings
            verb, object = self.act(subject.noun, size_of_object, negated, verbs, relative=not yesterday)
            return Clause(subject, verb, object, negated, yesterday)
        subject = self.noun_phrase(size, self.pick((ANIMATE, ANIMATE, _ACTORS)), numbers)
        if _keeps_its_place(subject):
            verbs = verbs - _INVERTED
        return Clause(subject, self.act(subject.noun, 0, negated, verbs)[0], None, negated, yesterday)

    def act(self, noun, size_of_object, negated=False, verbs=_VERBS_OF_ALL, depth=0, relative=True) -> tuple:
        """(verb, object) for a subject; an object of no words is None."""
        verb = self.fresh([verb for verb in self.choices.verbs[noun][size_of_object > 0] if verb in verbs])
        if not size_of_object:
            return verb, None
        numbers, old = _DEFINITE if negated else _EITHER, verb != "wrote"  # who writes a letter has it from nowhere
        return verb, self.noun_phrase(size_of_object, VERBS[verb].objects, numbers, depth, relative and old, old)

    def noun_phrase(self, size: int, nouns, numbers: list, depth=0, relative=True, owned=True) -> NounPhrase:
        """A noun phrase of `size` words; depth: how deep it is nested; relative, owned: may it have "that", "'s"?"""
        noun = self.fresh(nouns)
        determiner, plural = self.pick(numbers)
        extra, owner = size - 2, None
        if owned and extra >= 2 and noun in _OWNED and self.chance(0.4):
            owned_by = 3 if extra >= 3 and self.chance(0.4) else 2
            owner = self.noun_phrase(owned_by, _OWNERS, _SINGULAR, depth=2)
            determiner = "the"
            extra -= owned_by
        if depth == 2 or owner or extra < 2:
            count = extra
        else:
            count = self.pick((0, 1, 1, 2))
            count += extra - count == 1  # no modifier has one word
        adjectives = self.adjectives(noun, count, determiner)
        modifier = self.modifier(noun, extra - count, depth, relative) if extra > count else None
        return NounPhrase(noun, determiner, adjectives, plural, modifier, owner)

    def adjectives(self, noun: str, count: int, determiner: str) -> tuple[str, ...]:
        if count == 0:
            return ()
        if count > 2:
            raise _DeadEnd
        any_one, sizes, sorts = self.choices.adjectives[noun]
        other = determiner == "the" and noun in self.choices.other and self.chance(0.2)
        if count == 2 and not other:
            return self.pick(sizes), self.pick(sorts)
        return ("other",) * other + (self.pick(any_one),) * (count - other)

    def modifier(self, noun: str, size: int, depth: int, relative: bool) -> Prepositional | Relative:
        places = _PLACES[noun] if size >= 3 else ()
        acts = relative and size != 3 and self.choices.verbs[noun][size > 2]
        if acts and (not places or self.chance(0.5)):
            negated = size != 2 and size != 5 and self.once("not")
            verbs = _VERBS_OF_ALL - _INVERTED if negated else _AFTER_THAT if noun in ANIMATE else _VERBS_OF_ALL
            verb, object = self.act(noun, max(size - 2 - 2 * negated, 0), negated, verbs, depth + 1, relative=False)
            return Relative(verb, object, negated)
        preposition, objects, numbers = self.pick(places)
        depth = 2 if preposition == "with" else depth + 1  # "with the lamp", but not "with the lamp on the table"
        return Prepositional(preposition, self.noun_phrase(size - 1, objects, numbers, depth, relative))


# Words as numbers


class Vocabulary:
    """Words and their ids. The ids 0 to 3 are padding, start, end and unknown; then come the words in sorted order."""

    def __init__(self, words: Iterable[str]):
        special = [PADDING, START, END, UNKNOWN]
        self.words = special + sorted(set(words).difference(special))
        self._ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._ids

    def encode(
        self, sentence: str | Iterable[str], start: bool = False, end: bool = False, strict: bool = False
    ) -> list[int]:
        """The ids of a sentence; a string is split at blanks. start, end: put <s> before it, </s> after it.

        An unknown word becomes 3, <unk>; if strict, it is a ValueError that names words like it.
        """
        words = sentence.split() if isinstance(sentence, str) else list(sentence)
        for word in words if strict else ():
            if word not in self._ids:
                near = difflib.get_close_matches(word, self.words[4:], n=3)
                hint = f"; near it: {', '.join(near)}" if near else ""
                raise ValueError(f"{word!r} is not among the {len(self) - 4} words of this vocabulary{hint}")
        ids = [self._ids.get(word, 3) for word in words]
        return [1] * start + ids + [2] * end

    def decode(self, ids: Iterable[int] | Tensor) -> list[str]:
        """The words of one sequence of ids (n,) up to </s>, without <pad> and <s>. An id out of range: ValueError."""
        words = []
        for i in ids.tolist() if isinstance(ids, Tensor) else ids:
            if not 0 <= i < len(self):
                raise ValueError(f"the id {i} must lie between 0 and {len(self) - 1}")
            if i == 2:
                break
            if i > 2:
                words.append(self.words[i])
        return words

    def batch(
        self, sentences: Iterable[str | Iterable[str]], start: bool = False, end: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Sentences side by side: tokens (b, n), int64, and mask (b, n), boolean, True = a word, False = padding.

        n is the length of the longest; <s> and </s> count as words. ValueError for no sentence, or one without a word.
        """
        rows = [self.encode(sentence, start, end) for sentence in sentences]
        if not rows or not all(rows):
            raise ValueError(f"a batch needs sentences of at least one word, not {rows}")
        longest = max(map(len, rows))
        tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows])  # (b, n)
        lengths = torch.tensor([len(row) for row in rows])  # (b,)
        return tokens, torch.arange(longest) < lengths[:, None]


# Another language, by hand


def _phrase(source: str, target: str, links: str, noun: int, tag: str) -> Pair:
    """A noun phrase in which all words agree with the noun; links as target-source."""
    words = source.split()
    sure = frozenset(tuple(map(int, link.split("-"))) for link in links.split())
    content = (False,) + (True,) * (len(links.split()) - 1)
    tags = tuple(tag if i == noun else None for i in range(len(words)))
    possible = sure | {(i, noun) for i, _ in sure}
    return Pair(tuple(words), tuple(target.split()), sure, possible, (noun,) * len(words), tags, content)


FRENCH = (
    _phrase("the blue car", "la voiture bleue", "0-0 1-2 2-1", 2, "f sg"),
    _phrase("the green witch", "la sorcière verte", "0-0 1-2 2-1", 2, "f sg"),
    _phrase("the green book", "le livre vert", "0-0 1-2 2-1", 2, "m sg"),
    _phrase("the blue flowers", "les fleurs bleues", "0-0 1-2 2-1", 2, "f pl"),
    _phrase("a big red house", "une grande maison rouge", "0-0 1-1 2-3 3-2", 3, "f sg"),
    _phrase("the european economic area", "la zone économique européenne", "0-0 1-3 2-2 3-1", 3, "f sg"),
)
