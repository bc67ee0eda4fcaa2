"""Spanish: a past of one word, "llegó"."""

from .english import ANIMATE
from .language import Language
from .trees import NounPhrase, Word

_THE = ("el", "la", "los", "las")
_THIS = ("este", "esta", "estos", "estas")
_CONTRACTED = {("de", "el"): "del", ("a", "el"): "al"}


class Spanish(Language):
    code = "es"

    NOUNS = """
        witch bruja brujas f
        queen reina reinas f
        girl niña niñas f
        friend amiga amigas f
        wizard mago magos m
        king rey reyes m
        boy niño niños m
        student estudiante estudiantes m
        dragon dragón dragones m
        cat gato gatos m
        bear oso osos m
        turtle tortuga tortugas f
        squirrel ardilla ardillas f
        letter carta cartas f
        hat sombrero sombreros m
        book libro libros m
        mirror espejo espejos m
        ring anillo anillos m
        key llave llaves f
        lamp lámpara lámparas f
        flower flor flores f
        house casa casas f
        castle castillo castillos m
        tower torre torres f
        garden jardín jardines m
        tree árbol árboles m
        bridge puente puentes m
        door puerta puertas f
        boat barco barcos m
        table mesa mesas f
    """
    FIXED_GENDERS = {
        "friend": ("amiga", "amigo"),
        "student": ("el estudiante", "la estudiante"),
        "cat": ("gato", "gata"),
        "bear": ("oso", "osa"),
    }

    ADJECTIVES = """
        other otro
        big grande
        small pequeño
        old viejo
        young joven joven jóvenes jóvenes
        green verde
        red rojo
        blue azul
        golden dorado
        magic mágico
        tall alto
        famous famoso
        happy feliz
        brave valiente
    """

    VERBS = """
        arrived llegó llegaron
        returned volvió volvieron
        appeared apareció aparecieron
        disappeared desapareció desaparecieron
        entered entró entraron
        escaped escapó escaparon
        sang cantó cantaron
        slept durmió durmieron
        danced bailó bailaron
        smiled sonrió sonrieron
        cried lloró lloraron
        saw vio vieron
        greeted saludó saludaron
        found encontró encontraron
        lost perdió perdieron
        bought compró compraron
        painted pintó pintaron
        hid escondió escondieron
        opened abrió abrieron
        wrote escribió escribieron
    """
    late = frozenset("arrived returned appeared disappeared entered escaped".split())

    PREPOSITIONS = """
        with con
        in en
        on en
        under bajo
        behind detrás de
        near cerca de
        beside junto a
    """

    WORDS = """
        and y
        but pero
        because porque
        when cuando
        two dos
        three tres
        that que
        not no
        yesterday ayer
        's de
    """

    def agreeing(self, *forms: str) -> tuple[str, ...]:
        if len(forms) > 1:
            return forms
        (word,) = forms
        if word.endswith("o"):
            return word, word[:-1] + "a", word + "s", word[:-1] + "as"
        many = word[:-1] + "ces" if word.endswith("z") else word + ("s" if word.endswith("e") else "es")
        return word, word, many, many

    def conjugated(self, *forms: str) -> list[list[str]]:
        singular, plural = forms
        return [[singular], [singular], [plural], [plural]]

    def determiner(self, name: str, form: int, following: str) -> str:
        if name == "a":
            return ("un", "una")[form]
        return {"the": _THE, "this": _THIS}[name][form] if name in ("the", "this") else self.words[name]

    def contraction(self, preposition: str, article: str) -> str | None:
        return _CONTRACTED.get((preposition, article))

    def stands_before(self, kind: str) -> bool:
        return kind in ("other", "age")

    def before_object(self, phrase: NounPhrase) -> list[Word]:
        return [Word("a", None)] if phrase.noun in ANIMATE else []  # vio a la bruja
