"""Say how good a set of word vectors is: the figures that data/README.md quotes.

    python tools/evaluate_vectors.py                    # the vectors that ship with the course
    python tools/evaluate_vectors.py data/glove.6B.100d.txt
"""

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from utils.vectors import WordVectors, pca  # noqa: E402  (the folder above has to be on the path first)

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


def analogy_accuracy(vectors: WordVectors, pairs: list[tuple[str, str]], among: int | None = 10_000) -> tuple[int, int]:
    """(right answers, questions) over all ordered choices of two pairs whose four words are known and different.

    An answer is right if it is the first of `vectors.analogy`; `among` is passed on to it.
    """
    right = asked = 0
    for (a, b), (c, d) in itertools.permutations(pairs, 2):
        if len({a, b, c, d}) == 4 and all(word in vectors for word in (a, b, c, d)):
            asked += 1
            right += vectors.analogy(a, b, c, k=1, among=among)[0][0] == d
    return right, asked


def cosine_table(vectors: WordVectors, words: tuple[str, ...] = FIVE_WORDS) -> np.ndarray:
    """Cosines of all pairs of `words`, (n, n)."""
    return np.array([[vectors.similarity(a, b) for b in words] for a in words])


def main() -> None:
    parser = argparse.ArgumentParser(description="Say how good a set of word vectors is.")
    parser.add_argument("source", nargs="?", help="file to evaluate (default: the vectors that ship with the course)")
    vectors = WordVectors.load(parser.parse_args().source)
    print(vectors.name, end="\n\n")
    print("Analogies, first answer right (among the first 10,000 words, among all words):")
    accuracies = []
    for kind, pairs in read_analogies().items():
        scores = [analogy_accuracy(vectors, pairs, among) for among in (10_000, None)]
        shares = [right / max(asked, 1) for right, asked in scores]
        accuracies.append(shares)
        print(f"  {kind:12} {shares[0]:6.1%} {shares[1]:6.1%}   of {scores[0][1]} questions")
    mean = np.mean(accuracies, axis=0)
    print(f"  {'mean':12} {mean[0]:6.1%} {mean[1]:6.1%}", end="\n\n")
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
