"""The files in data/: what README.md says of them is true."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

from tools.vectors import evaluate_vectors
from utils.vectors import SHIPPED, WordVectors

ROOT = Path(__file__).parents[2]

README = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
COURSE_SENTENCES = """
    the ship laden with goods from several international ports sailed gently across the ocean
    the animal did n't cross the street because it was too tired the animal did not
    the man took the chair and disappeared  my name is  so long and thanks for all the fish
    the green witch arrived  the blue car  florida california texas politics truth  king queen man woman
    paris france berlin germany rome italy madrid spain london england
"""


@pytest.fixture(scope="module")
def vectors():
    return WordVectors.load()


def table(heading):
    """The rows of the table under a heading of README.md, as lists of cells."""
    section = README.split(f"# {heading}\n", 1)[1].split("\n#", 1)[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")
    ]
    return rows[2:]


def test_every_file_is_listed_with_its_checksum():
    listed = {row[0].strip("`"): row[-1].strip("`") for row in table("Files")}
    ignored = re.compile(r"README\.md|glove.*|cache")
    data = SHIPPED.parent
    there = {path.name for path in data.iterdir() if path.is_file() and not ignored.fullmatch(path.name)}
    there |= {f"checkpoints/{path.name}" for path in (data / "checkpoints").glob("*.pt")}
    assert set(listed) == there
    for name, checksum in listed.items():
        assert hashlib.sha256((SHIPPED.parent / name).read_bytes()).hexdigest() == checksum, name


def test_the_notice_of_wordnet_is_there():
    notice = (SHIPPED.parent / "WORDNET-LICENSE.txt").read_text(encoding="utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in notice
    assert 'THIS SOFTWARE AND DATABASE IS PROVIDED "AS IS"' in notice


def test_size_and_words(vectors):
    assert vectors.matrix.shape == (20_000, 100)
    assert SHIPPED.stat().st_size < 5_000_000
    assert set(COURSE_SENTENCES.split()) <= set(vectors.words)
    assert all(word == word.lower() for word in vectors.words)
    assert (np.linalg.norm(vectors.matrix, axis=1) > 0.1).all()
    assert vectors.words[0] == "the"


@pytest.mark.lane("all", "evaluate_vectors", "train_vectors", "vectors", "test_data")
def test_analogies_are_as_good_as_quoted(vectors):
    kinds = evaluate_vectors.read_analogies()
    rows = {kind: [float(cell.removesuffix(" %")) / 100 for cell in cells] for kind, _, *cells in table("Analogies")}
    numbers = {kind: int(number.replace(",", "")) for kind, number, *_ in table("Analogies")}
    shares = {kind: evaluate_vectors.analogy_shares(vectors, pairs) for kind, pairs in kinds.items()}
    shares["mean"] = np.mean(list(shares.values()), axis=0)
    assert list(rows) == list(shares)
    for kind, quoted in rows.items():
        assert shares[kind] == pytest.approx(quoted, abs=0.0051), kind
    for kind, pairs in kinds.items():
        assert len(evaluate_vectors.questions(vectors, pairs)) == numbers[kind], kind
    assert rows["mean"][0] > 0.5


def test_the_five_words_are_as_far_apart_as_quoted(vectors):
    quoted = table("Five words")
    words = [row[0] for row in quoted]
    assert tuple(words) == evaluate_vectors.FIVE_WORDS
    cosines = np.array([[float(cell.replace("−", "-")) for cell in row[1:]] for row in quoted])
    assert evaluate_vectors.cosine_table(vectors) == pytest.approx(cosines, abs=0.0051)
    states, others = cosines[:3, :3], cosines[:3, 3:]
    assert states.min() > 0.5 and others.max() < 0.1


def test_neighbours_are_as_quoted(vectors):
    quoted = dict(re.findall(r"^- \*(\w+)\*: (.+)$", README, re.MULTILINE))
    assert set(quoted) == set(evaluate_vectors.PROBES)
    for word, neighbours in quoted.items():
        assert [neighbour for neighbour, _ in vectors.nearest(word, 10)] == neighbours.split(", ")


def test_the_lists_of_analogies_are_sound():
    for kind, pairs in evaluate_vectors.read_analogies().items():
        assert len(pairs) >= 15 and len(set(pairs)) == len(pairs), kind
        assert all(a != b for a, b in pairs), kind
