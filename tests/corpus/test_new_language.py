"""A language is one file: French, with a few words, put into a copy of the course."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from utils.corpus import (
    ADJECTIVES,
    CONJUNCTIONS,
    LANGUAGES,
    NOUNS,
    PREPOSITIONS,
    TAGS,
    VERBS,
)

ROOT = Path(__file__).parents[2]
FRENCH = '''
from .language import Language
from .trees import Word


class French(Language):
    code = "fr"
    NOUNS = """
        witch sorcière sorcières f
        student étudiant étudiants m
        house maison maisons f
    """
    ADJECTIVES = """
        big grand grande grands grandes
        green vert verte verts vertes
    """
    VERBS = """
        arrived arrivé être
        saw vu avoir
    """
    PREPOSITIONS = """
        beside à côté de
    """
    WORDS = """
        not pas
    """

    def agreeing(self, *forms):
        return forms

    def conjugated(self, participle, auxiliary):
        if auxiliary == "avoir":
            return [["a", participle]] * 2 + [["ont", participle]] * 2
        return [[be, participle + end] for be, end in zip(("est", "est", "sont", "sont"), ("", "e", "s", "es"))]

    def determiner(self, name, form, following):
        if form < 2 and following[0] in "aeiouéè":
            return "l'"
        return ("le", "la", "les", "les")[form]

    def contraction(self, preposition, article):
        return {("de", "le"): "du", ("de", "les"): "des"}.get((preposition, article))

    def stands_before(self, kind):
        return kind == "size"

    def negated(self, verb, link, possible):
        first, *rest = verb
        ne = Word("n'" if first.text[0] in "ae" else "ne", link, possible)
        return [ne, first, Word(self.words["not"], link, possible), *rest]
'''
SCRIPT = """
from utils.corpus import Clause, NounPhrase, Prepositional, translate

student = NounPhrase("student", plural=True)
house = NounPhrase("house", adjectives=("big", "green"), modifier=Prepositional("beside", student))
witch = NounPhrase("witch", adjectives=("green",))
for tree in (Clause(witch, "arrived", negated=True), Clause(NounPhrase("student"), "saw", house)):
    pair = translate(tree, "fr")
    print(*pair.target)
    print(*sorted(pair.alignment))
"""


@pytest.mark.lane("test")
def test_a_file_makes_a_language(tmp_path):
    shutil.copytree(ROOT / "utils", tmp_path / "utils", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "utils" / "corpus" / "french.py").write_text(FRENCH, encoding="utf-8")
    (tmp_path / "try_it.py").write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "try_it.py"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    arrived, links, saw, _ = done.stdout.splitlines()
    assert arrived == "la sorcière verte n' est pas arrivée"
    assert links == "(0, 0) (1, 2) (2, 1) (3, 4) (4, 5) (5, 4) (6, 5)", "ne and pas are not, est and arrivée arrive"
    assert saw == "l' étudiant a vu la grande maison verte à côté des étudiants"


@pytest.mark.parametrize("code", list(LANGUAGES))
def test_a_language_knows_every_english_word(code):
    language = LANGUAGES[code]
    assert set(language.nouns) == set(NOUNS) and set(language.adjectives) == set(ADJECTIVES)
    assert set(language.verbs) == set(VERBS) and set(language.prepositions) == set(PREPOSITIONS)
    assert set(language.words) == {*CONJUNCTIONS, "two", "three", "that", "not", "yesterday", "'s"}
    forms = [*language.adjectives.values(), *language.verbs.values()]
    assert all(len(row) == len(TAGS) for row in forms) and {noun.gender for noun in language.nouns.values()} == {*"mf"}
    assert set(language.FIXED_GENDERS) >= {"friend", "student"} and language.late < set(VERBS)
