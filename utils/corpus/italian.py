"""Italian: a past of two words, "è arrivata", and articles that go by the sound of the next word."""

from functools import cache

from .language import Language

_THE = [("il", "l'", "lo"), ("la", "l'", "la"), ("i", "gli", "gli"), ("le", "le", "le")]  # columns: see _sound
_A = [("un", "un", "uno"), ("una", "un'", "una")]
_THIS = ("questo", "questa", "questi", "queste")
_ARTICLES = "il lo l' i gli la le".split()
_MELTED = {
    "di": "del dello dell' dei degli della delle".split(),
    "a": "al allo all' ai agli alla alle".split(),
    "in": "nel nello nell' nei negli nella nelle".split(),
    "su": "sul sullo sull' sui sugli sulla sulle".split(),
}
_CONTRACTED = {(word, article): one for word, row in _MELTED.items() for article, one in zip(_ARTICLES, row)}


@cache
def _sound(word: str) -> int:
    """How a word begins, for the article before it: 0 a consonant, 1 a vowel, 2 z, gn, ps or s + consonant."""
    if word[0] in "aeiouàèìòù":
        return 1
    return 2 if word[0] == "z" or word[:2] in ("gn", "ps") or (word[0] == "s" and word[1] not in "aeiou") else 0


class Italian(Language):
    code = "it"

    NOUNS = """
        witch strega streghe f
        queen regina regine f
        girl ragazza ragazze f
        friend amica amiche f
        wizard mago maghi m
        king re re m
        boy ragazzo ragazzi m
        student studente studenti m
        dragon drago draghi m
        cat gatto gatti m
        bear orso orsi m
        turtle tartaruga tartarughe f
        squirrel scoiattolo scoiattoli m
        letter lettera lettere f
        hat cappello cappelli m
        book libro libri m
        mirror specchio specchi m
        ring anello anelli m
        key chiave chiavi f
        lamp lampada lampade f
        flower fiore fiori m
        house casa case f
        castle castello castelli m
        tower torre torri f
        garden giardino giardini m
        tree albero alberi m
        bridge ponte ponti m
        door porta porte f
        boat barca barche f
        table tavolo tavoli m
    """
    FIXED_GENDERS = {
        "friend": ("amica", "amico"),
        "student": ("studente", "studentessa"),
        "cat": ("gatto", "gatta"),
        "bear": ("orso", "orsa"),
    }

    ADJECTIVES = """
        other altro
        big grande
        small piccolo
        old vecchio vecchia vecchi vecchie
        young giovane
        green verde
        red rosso
        blue blu blu blu blu
        golden dorato
        magic magico magica magici magiche
        tall alto
        famous famoso
        happy felice
        brave coraggioso
    """

    VERBS = """
        arrived arrivato essere
        returned tornato essere
        appeared apparso essere
        disappeared scomparso essere
        entered entrato essere
        escaped scappato essere
        sang cantato avere
        slept dormito avere
        danced ballato avere
        smiled sorriso avere
        cried pianto avere
        saw visto avere
        greeted salutato avere
        found trovato avere
        lost perso avere
        bought comprato avere
        painted dipinto avere
        hid nascosto avere
        opened aperto avere
        wrote scritto avere
    """

    PREPOSITIONS = """
        with con
        in in
        on su
        under sotto
        behind dietro
        near vicino a
        beside accanto a
    """

    WORDS = """
        and e
        but ma
        because perché
        when quando
        two due
        three tre
        that che
        not non
        yesterday ieri
        's di
    """

    def __init__(self):
        super().__init__()
        # The subject of a verb with essere undergoes what it says, as an object does, and is where one would.
        self.late = frozenset(past for past, forms in self.verbs.items() if forms[0][0] == "è")

    def agreeing(self, *forms: str) -> tuple[str, ...]:
        if len(forms) > 1:
            return forms
        (word,) = forms
        stem = word[:-1]
        return (word, word, stem + "i", stem + "i") if word.endswith("e") else tuple(stem + end for end in "oaie")

    def conjugated(self, *forms: str) -> list[list[str]]:
        participle, auxiliary = forms
        if auxiliary == "avere":
            return [["ha", participle]] * 2 + [["hanno", participle]] * 2
        return [[be, participle[:-1] + end] for be, end in zip(("è", "è", "sono", "sono"), "oaie")]

    def determiner(self, name: str, form: int, following: str) -> str:
        if name in ("the", "a"):
            return (_THE if name == "the" else _A)[form][_sound(following)]
        return _THIS[form] if name == "this" else self.words[name]

    def contraction(self, preposition: str, article: str) -> str | None:
        return _CONTRACTED.get((preposition, article))

    def conjunction(self, name: str, following: str) -> str:
        return "ed" if name == "and" and following[0] in "eè" else self.words[name]

    def stands_before(self, kind: str) -> bool:
        return kind in ("other", "size", "age")
