"""utils/corpus/: the translation of trees, its grammar and its links.

Agreement is checked from tables of endings that stand here, not from the lexicons that the corpus is made from.
"""

import functools
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.corpus import (
    ADJECTIVES,
    CONJUNCTIONS,
    LANGUAGES,
    NOUNS,
    PREPOSITIONS,
    TAGS,
    VERBS,
    Clause,
    Grammar,
    NounPhrase,
    Prepositional,
    Relative,
    Sentence,
    splits,
    translate,
)

CODES = list(LANGUAGES)


@functools.cache
def pairs_of(code):
    return Grammar(code).sample(4000, 3, 16) + Grammar(code).sample(500, 17, 24)


@pytest.fixture(params=CODES)
def language(request):
    return request.param


def side_by_side(tree, language):
    pair = translate(tree, language)
    return f"{' '.join(pair.source)} → {' '.join(pair.target)}"


# Known examples

GREEN_WITCH = NounPhrase("witch", adjectives=("green",))
KNOWN = [
    ("es", Clause(GREEN_WITCH, "arrived"), "the green witch arrived → llegó la bruja verde"),
    ("it", Clause(GREEN_WITCH, "arrived"), "the green witch arrived → è arrivata la strega verde"),
    ("it", NounPhrase("squirrel"), "the squirrel → lo scoiattolo"),
    ("it", NounPhrase("squirrel", adjectives=("young",)), "the young squirrel → il giovane scoiattolo"),
    ("it", NounPhrase("mirror", "a", ("small", "green")), "a small green mirror → un piccolo specchio verde"),
    ("it", NounPhrase("table", adjectives=("old", "green")), "the old green table → il vecchio tavolo verde"),
    ("es", NounPhrase("table", adjectives=("old", "green")), "the old green table → la vieja mesa verde"),
    ("it", NounPhrase("letter", "a", ("big",)), "a big letter → una grande lettera"),
    ("it", NounPhrase("tower", adjectives=("tall",)), "the tall tower → la torre alta"),
    ("it", NounPhrase("friend", "a"), "a friend → un' amica"),
    ("it", NounPhrase("student", "a", ("old",)), "an old student → un vecchio studente"),
    ("it", NounPhrase("student", "a", ("famous",)), "a famous student → uno studente famoso"),
    ("it", NounPhrase("king", adjectives=("other", "brave")), "the other brave king → l' altro re coraggioso"),
    ("it", NounPhrase("student", plural=True), "the students → gli studenti"),
    ("it", NounPhrase("king", plural=True), "the kings → i re"),
    ("es", NounPhrase("door", adjectives=("big", "green")), "the big green door → la puerta verde grande"),
    ("es", NounPhrase("key", "this", plural=True), "these keys → estas llaves"),
    ("es", NounPhrase("tower", "three", ("old",)), "three old towers → tres viejas torres"),
    ("es", NounPhrase("dragon", "two", ("young",)), "two young dragons → dos jóvenes dragones"),
    (
        "es",
        NounPhrase("hat", adjectives=("red",), owner=NounPhrase("wizard", adjectives=("tall",))),
        "the tall wizard 's red hat → el sombrero rojo del mago alto",
    ),
    (
        "it",
        NounPhrase("cat", modifier=Prepositional("near", NounPhrase("tree"))),
        "the cat near the tree → il gatto vicino all' albero",
    ),
    (
        "es",
        NounPhrase("cat", modifier=Prepositional("beside", NounPhrase("tree"))),
        "the cat beside the tree → el gato junto al árbol",
    ),
    (
        "es",
        Clause(NounPhrase("girl"), "saw", NounPhrase("dragon"), negated=True, yesterday=True),
        "the girl did not see the dragon yesterday → ayer la niña no vio al dragón",
    ),
    (
        "es",
        Clause(NounPhrase("girl"), "greeted", NounPhrase("witch", "two")),
        "the girl greeted two witches → la niña saludó a dos brujas",
    ),
    (
        "it",
        Clause(NounPhrase("girl", modifier=Relative("found", NounPhrase("ring"))), "escaped", negated=True),
        "the girl who found the ring did not escape → non è scappata la ragazza che ha trovato l' anello",
    ),
    (
        "it",
        Sentence((Clause(NounPhrase("boy", "two"), "sang"), Clause(NounPhrase("queen"), "entered")), ("and",)),
        "two boys sang , and the queen entered → due ragazzi hanno cantato , ed è entrata la regina",
    ),
    (
        "es",
        Sentence((Clause(NounPhrase("bear"), "entered"), Clause(NounPhrase("king"), "smiled")), ("because",)),
        "the bear entered because the king smiled → entró el oso porque el rey sonrió",
    ),
    (
        "es",
        Clause(NounPhrase("wizard", modifier=Prepositional("near", GREEN_WITCH)), "arrived"),
        "the wizard near the green witch arrived → el mago cerca de la bruja verde llegó",
    ),
    (
        "it",
        Clause(NounPhrase("bear", modifier=Relative("returned")), "arrived"),
        "the bear that returned arrived → l' orso che è tornato è arrivato",
    ),
    (
        "es",
        Clause(NounPhrase("witch", "a"), "arrived", negated=True),
        "a witch did not arrive → una bruja no llegó",
    ),
]


@pytest.mark.parametrize("language, tree, expected", KNOWN, ids=[expected for _, _, expected in KNOWN])
def test_known_translations(language, tree, expected):
    assert side_by_side(tree, language) == expected


def test_the_links_of_the_green_witch_cross():
    pair = translate(Clause(GREEN_WITCH, "arrived"), "es")
    assert pair.alignment == {(0, 3), (1, 0), (2, 2), (3, 1)}
    assert pair.possible == pair.alignment | {(0, 2), (1, 2), (3, 2)}
    assert pair.heads == (2, 2, 2, 2) and pair.tags == (None, None, "f sg", None)
    assert pair.content == (True, False, True, True) and pair.inserted == ()
    italian = translate(Clause(GREEN_WITCH, "arrived"), "it")
    assert {(0, 3), (1, 3)} <= italian.alignment, "both halves of è arrivata belong to the verb"
    assert italian.content == (False, True, False, True, True)


def test_a_contraction_belongs_to_both_of_its_halves():
    pair = translate(NounPhrase("hat", owner=NounPhrase("wizard")), "es")
    assert (pair.source, pair.target) == (("the", "wizard", "'s", "hat"), ("el", "sombrero", "del", "mago"))
    assert pair.alignment == {(0, 2), (1, 3), (2, 2), (3, 1)}
    assert pair.possible == pair.alignment | {(0, 3), (2, 0), (2, 1)}


def test_what_stands_for_nothing_is_inserted():
    pair = translate(Clause(NounPhrase("girl"), "saw", NounPhrase("witch")), "es")
    assert pair.target == ("la", "niña", "vio", "a", "la", "bruja") and pair.inserted == (3,)
    negated = translate(Clause(NounPhrase("girl"), "danced", negated=True), "es")
    assert negated.target == ("la", "niña", "no", "bailó") and negated.source[2:4] == ("did", "not")
    assert {(2, 3), (3, 4)} <= negated.alignment
    assert {(2, 2), (3, 2)} <= negated.possible - negated.alignment, "did belongs to either"


def test_a_comma_stands_for_a_comma():
    pair = translate(Sentence((Clause(GREEN_WITCH, "sang"), Clause(NounPhrase("bear"), "cried")), ("but",)), "it")
    assert pair.source[4:6] == (",", "but") and pair.target[5:7] == (",", "ma")
    assert {(5, 4), (6, 5)} <= pair.alignment and not pair.content[5] and pair.heads[4] is None


def test_genders_that_were_chosen_are_those_that_stand(language):
    """Notebook 05 names them."""
    chosen = LANGUAGES[language].FIXED_GENDERS
    assert chosen["friend"] == {"es": ("amiga", "amigo"), "it": ("amica", "amico")}[language]
    for noun, (always, never) in chosen.items():
        text = " ".join(translate(NounPhrase(noun), language).target)
        assert text.endswith(always) and not text.endswith(never)


# Laws of alignment


def check_links(pair):
    n_source, n_target = len(pair.source), len(pair.target)
    assert pair.alignment <= pair.possible
    assert all(0 <= i < n_target and 0 <= j < n_source for i, j in pair.possible)
    linked = Counter(i for i, _ in pair.alignment)
    assert set(linked.values()) <= {1} and sorted([*linked, *pair.inserted]) == list(range(n_target))
    assert len(pair.heads) == len(pair.tags) == n_source and len(pair.content) == n_target
    assert not any(pair.content[i] for i in pair.inserted), "a word with a meaning stands for one"
    for position, (head, tag) in enumerate(zip(pair.heads, pair.tags)):
        assert (tag is not None) == (head == position), "a noun has a tag and is its own head"
        assert head is None or pair.tags[head] in TAGS
    for i, j in pair.alignment:
        head = pair.heads[j]
        contracted = any(pair.source[k] == "the" and k != j for t, k in pair.possible if t == i)
        if head is not None and pair.target[i] not in {"de", "di"} and not contracted:
            assert (i, head) in pair.possible, "what agrees with a noun may be linked to it"


determiners = st.sampled_from([("the", False), ("the", True), ("a", False), ("this", True), ("two", True)])
plain_adjectives = st.lists(st.sampled_from([name for name in ADJECTIVES if name != "other"]), max_size=2, unique=True)


@st.composite
def noun_phrases(draw, depth=2):
    determiner, plural = draw(determiners)
    adjectives = tuple(draw(plain_adjectives))
    if determiner == "the" and draw(st.booleans()):
        adjectives = ("other", *adjectives)
    owner = (
        NounPhrase(draw(st.sampled_from(list(NOUNS))), "this") if determiner == "the" and draw(st.booleans()) else None
    )
    modifier = None
    if depth and draw(st.booleans()):
        inner = noun_phrases(depth - 1)
        modifier = draw(
            st.builds(Prepositional, st.sampled_from(list(PREPOSITIONS)), inner) | verb_phrases(Relative, depth - 1)
        )
    return NounPhrase(draw(st.sampled_from(list(NOUNS))), determiner, adjectives, plural, modifier, owner)


@st.composite
def verb_phrases(draw, kind, depth=1, **more):
    verb = draw(st.sampled_from(list(VERBS)))
    object = draw(noun_phrases(depth)) if VERBS[verb].objects else None
    return kind(**{name: draw(strategy) for name, strategy in more.items()}, verb=verb, object=object)


clauses = verb_phrases(Clause, subject=noun_phrases(), negated=st.booleans(), yesterday=st.booleans())
sentences = st.builds(
    lambda a, b, word: Sentence((a, b), (word,)), clauses, clauses, st.sampled_from(list(CONJUNCTIONS))
)


@settings(max_examples=150, deadline=None)
@given(tree=noun_phrases() | clauses | sentences, code=st.sampled_from(CODES))
def test_every_target_word_is_linked_or_inserted(tree, code):
    pair = translate(tree, code)
    check_links(pair)
    check_agreement(pair, code)
    assert all(pair.target[i] == "a" and code == "es" for i in pair.inserted), "only the a of vio a la bruja"


def test_the_corpus_keeps_the_laws(language):
    for pair in pairs_of(language):
        check_links(pair)
        check_agreement(pair, language)


# Agreement

DETERMINERS = {
    "m sg": "el un este del al | il lo l' un uno questo del dello dell' al allo all' nel nello nell' sul sullo sull'",
    "f sg": "la una esta | la l' una un' questa della dell' alla all' nella nell' sulla sull'",
    "m pl": "los estos | i gli questi dei degli ai agli nei negli sui sugli",
    "f pl": "las estas | le queste delle alle nelle sulle",
}
SPANISH, ITALIAN = ({tag: row.split("|")[i].split() for tag, row in DETERMINERS.items()} for i in (0, 1))
ANY = set(TAGS)
SINGULAR, PLURAL = {"m sg", "f sg"}, {"m pl", "f pl"}
TWO_FORMS = re.compile(r"(verd|grand|giovan|felic)[ei]")  # Italian adjectives that show number only


def spanish_tags(word):
    """The genders and numbers with which a determiner, adjective or verb goes."""
    listed = {tag for tag, words in SPANISH.items() if word in words}
    if listed:
        return listed
    endings = {"as": {"f pl"}, "os": {"m pl"}, "es": PLURAL, "on": PLURAL, "ó": SINGULAR}
    for ending, tags in endings.items():
        if word.endswith(ending):
            return tags
    if word == "vio":
        return SINGULAR
    return {"a": {"f sg"}, "o": {"m sg"}, "e": SINGULAR, "l": SINGULAR, "n": SINGULAR, "z": SINGULAR}[word[-1]]


def italian_tags(word, before):
    listed = {tag for tag, words in ITALIAN.items() if word in words}
    if word in {"ha", "è"} or word in {"hanno", "sono"}:
        return SINGULAR if word in {"ha", "è"} else PLURAL
    if before in {"ha", "hanno"}:
        return ANY if word.endswith("o") else set()
    if listed or word == "blu":
        return listed or ANY
    if TWO_FORMS.fullmatch(word):
        return SINGULAR if word.endswith("e") else PLURAL
    return {"o": {"m sg"}, "a": {"f sg"}, "i": {"m pl"}, "e": {"f pl"}}[word[-1]]


def check_agreement(pair, language):
    for i, j in pair.alignment:
        word, before = pair.target[i], pair.target[i - 1] if i else ""
        article = [k for t, k in pair.possible if t == i and pair.source[k] == "the"]  # of a contraction, too
        head = pair.heads[article[0] if article else j]
        if head is None or pair.heads[j] == j or word in {"de", "di"}:
            continue
        fitting = spanish_tags(word) if language == "es" else italian_tags(word, before)
        assert pair.tags[head] in fitting, f"{word} with {pair.source[head]} ({pair.tags[head]}): {pair.target}"


def test_the_check_of_agreement_finds_what_does_not_agree(language):
    """Otherwise the tests above would prove nothing."""
    wrong = {"es": ("llegó", "el", "bruja", "verde"), "it": ("è", "arrivato", "la", "strega", "verde")}
    pair = translate(Clause(GREEN_WITCH, "arrived"), language)
    check_agreement(pair, language)
    with pytest.raises(AssertionError, match="with witch"):
        check_agreement(pair._replace(target=wrong[language]), language)


def test_nouns_have_the_gender_of_their_article(language):
    """The article that stands beside a noun with nothing between them tells a reader its gender."""
    genders = {
        "es": "la: bruja reina niña amiga tortuga ardilla carta llave lámpara flor casa torre puerta mesa",
        "it": "la: strega regina ragazza amica tartaruga lettera chiave lampada casa torre porta barca",
    }
    feminine = set(genders[language].split(": ")[1].split())
    for noun in NOUNS:
        pair = translate(NounPhrase(noun, "this"), language)
        assert (pair.target[0] in {"esta", "questa"}) == (pair.target[1] in feminine), pair.target


# Spelling

WRONG = {
    "es": [" (de|a) el ", " y h?i"],
    "it": [
        " (di|a|in|su) (il|lo|l'|i|gli|la|le) ",
        " (il|lo|la|i|una|uno) [aeiou]",
        " (l'|un') [^aeiou]",
        " (il|i|un) (z|gn|ps|s[^aeiou])",
        " (lo|uno|gli) (?!z|gn|ps|s[^aeiou]|[aeiou])",
        " e è ",
        " ed (?!è)",
    ],
}


def test_articles_are_contracted_and_elided(language):
    for pair in pairs_of(language):
        text = f" {' '.join(pair.target)} "
        for pattern in WRONG[language]:
            assert not re.search(pattern, text), f"{pattern}: {text}"
    found = {word for pair in pairs_of(language) for word in pair.target}
    assert found >= set(
        {"es": "del al", "it": "del dello della dell' al alla all' ai agli nel nella sul ed"}[language].split()
    )


def test_english_is_right():
    bare = {verb.bare for verb in VERBS.values()}
    for pair in pairs_of("es"):
        text = f" {' '.join(pair.source)} "
        assert not re.search(r" a [aeiou]| an [^aeiou]| did (?!not )", text), text
        assert all(word in bare for no, word in zip(pair.source, pair.source[1:]) if no == "not"), text
        for determiner, head in zip(pair.source, pair.heads):
            if determiner in {"a", "an", "this", "these"}:
                assert pair.tags[head].endswith("pl") == (determiner == "these"), text
        assert all(tag is None or (word in NOUNS) == tag.endswith("sg") for word, tag in zip(pair.source, pair.tags)), (
            text
        )


def test_no_word_is_doubled(language):
    for pair in pairs_of(language):
        for sentence in (pair.source, pair.target):
            assert all(a != b for a, b in zip(sentence, sentence[1:])), sentence


# Refusals

HAT = NounPhrase("hat")
REFUSED = [
    (NounPhrase("unicorn"), "es", "'unicorn' is no noun .* witch, queen"),
    (NounPhrase("hat", adjectives=("purple",)), "es", "'purple' is no adjective"),
    (NounPhrase("hat", "some"), "es", "'some' is no determiner .* the, a, this"),
    (NounPhrase("hat", "a", plural=True), "es", "'a' and a plural"),
    (NounPhrase("hat", "a", ("other",)), "es", "'other' must be the first"),
    (NounPhrase("hat", adjectives=("green", "other")), "it", "'other' must be the first"),
    (NounPhrase("hat", "two", owner=NounPhrase("witch")), "es", "leave 'two' out"),
    (NounPhrase("hat", owner=NounPhrase("witch", plural=True)), "es", "an owner is singular"),
    (NounPhrase("hat", modifier=Prepositional("above", HAT)), "es", "'above' is no preposition"),
    (Clause(HAT, "flew"), "it", "'flew' is no verb"),
    (Clause(HAT, "found"), "it", "'found' needs an object"),
    (Clause(HAT, "sang", HAT), "it", "'sang' takes no object"),
    (Sentence((Clause(HAT, "appeared"),), ("and",)), "it", "one conjunction fewer"),
    (Sentence((Clause(HAT, "appeared"),) * 2, ("while",)), "it", "'while' is no conjunction"),
    (HAT, "fr", "'fr' is no language .* it, es"),
]


@pytest.mark.parametrize("tree, language, said", REFUSED, ids=[said for *_, said in REFUSED])
def test_refusals_name_the_value_and_the_choices(tree, language, said):
    with pytest.raises(ValueError, match=said):
        translate(tree, language)


def test_a_grammar_names_a_language_or_lengths_that_it_has_not():
    with pytest.raises(ValueError, match="'fr' is no language"):
        Grammar("fr")
    with pytest.raises(ValueError, match="lengths from 2 to 16"):
        Grammar("es").sample(5, shortest=2)


def test_asked_for_the_same_again_the_splits_are_there_at_once_in_lists_of_their_own(monkeypatch):
    first = splits("it", train=3000)
    monkeypatch.delattr(Grammar, "sample")
    again = splits("it", train=3000)
    assert again == first
    first.train.clear()
    assert len(again.train) == len(splits("it", train=3000).train) == 3000
