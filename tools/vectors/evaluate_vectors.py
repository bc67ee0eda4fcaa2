"""Say how good a set of word vectors is: the figures that data/README.md quotes.

    python -m tools.vectors.evaluate_vectors            # the vectors that ship with the course
    python -m tools.vectors.evaluate_vectors data/glove.6B.100d.first40000.npz

The questions are made from the pairs of words in analogies.txt.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np

from utils.vectors import WordVectors, pca

ANALOGIES = Path(__file__).with_name("analogies.txt")
FIVE_WORDS = ("florida", "california", "texas", "politics", "truth")
PROBES = ("ship", "ocean", "king", "france", "computer", "street", "tired")


def read_analogies() -> dict[str, list[tuple[str, str]]]:
    """The pairs of words of each kind: {"gender": [("man", "woman"), ...], ...}."""
    kinds: dict[str, list[tuple[str, str]]] = {}
    for line in ANALOGIES.read_text(encoding="utf-8").splitlines():
        if line.startswith(":"):
            pairs = kinds.setdefault(line[1:].strip(), [])
        elif line and not line.startswith("#"):
            a, b = line.split()
            pairs.append((a, b))
    return kinds


def questions(vectors: WordVectors, pairs: list[tuple[str, str]]) -> list[tuple[str, str, str, str]]:
    """ "a is to b as c is to d", for all ordered choices of two pairs whose four words are known and different."""
    chosen = [(*first, *second) for first, second in itertools.permutations(pairs, 2)]
    return [words for words in chosen if len(set(words)) == 4 and all(word in vectors for word in words)]


def analogy_shares(vectors: WordVectors, pairs: list[tuple[str, str]]) -> list[float]:
    """The shares of `questions` that `vectors.analogy` answers right: among the first 10,000 words, among all."""
    asked = questions(vectors, pairs)
    shares = []
    for among in (10_000, None):
        right = sum(vectors.analogy(a, b, c, count=1, among=among)[0][0] == d for a, b, c, d in asked)
        shares.append(right / len(asked) if asked else float("nan"))
    return shares


def cosine_table(vectors: WordVectors, words: tuple[str, ...] = FIVE_WORDS) -> np.ndarray:
    """Cosines of all pairs of `words`, (n, n)."""
    return np.array([[vectors.similarity(a, b) for b in words] for a in words])


def main() -> None:
    parser = argparse.ArgumentParser(description="Say how good a set of word vectors is.")
    parser.add_argument("source", nargs="?", help="file to evaluate (default: the vectors that ship with the course)")
    vectors = WordVectors.load(parser.parse_args().source)
    print(vectors.name, end="\n\n")
    print("Analogies whose first answer is right (among the first 10,000 words, among all words):")
    kinds = read_analogies()
    shares = [analogy_shares(vectors, pairs) for pairs in kinds.values()]
    for (kind, pairs), (common, whole) in zip(kinds.items(), shares):
        print(f"  {kind:12} {common:6.1%} {whole:6.1%}   of {len(questions(vectors, pairs))} questions")
    common, whole = np.nanmean(shares, axis=0)
    print(f"  {'mean':12} {common:6.1%} {whole:6.1%}", end="\n\n")
    print("Cosines:", *(f"{word:>10}" for word in FIVE_WORDS))
    for word, row in zip(FIVE_WORDS, cosine_table(vectors)):
        print(f"{word:>10}", *(f"{cosine:8.2f}" for cosine in row))
    _, shares = pca(np.stack([vectors[word] for word in FIVE_WORDS]))
    print(f"Variance of these five kept in two dimensions: {shares.sum():.0%}", end="\n\n")
    print("Ten nearest words:")
    for word in PROBES:
        print(f"  {word}: " + ", ".join(neighbour for neighbour, _ in vectors.nearest(word, 10)))


if __name__ == "__main__":
    main()
