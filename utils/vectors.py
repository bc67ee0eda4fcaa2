"""Word vectors: load them, look words up, compare them, draw them in the plane.

The vectors that ship with the course and those of Stanford (GloVe, https://nlp.stanford.edu/projects/glove/)
are used in the same way. Both list their words from the most useful to the rarest."""

import difflib
import os
import re
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path

import numpy as np

from .checks import require_list
from .vector_files import COURSE, CUT, DAMAGED, first_duplicate, other_form, read_npz, trouble, write_npz
from .vector_text import read_text

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "course_vectors.npz"


class WordVectors:
    """n words and their vectors of d numbers.

    `words` is the list of words, `matrix` the (n, d) float32 array of their vectors, in the same order,
    and `name` says in a few words which set this is."""

    def __init__(self, words: Sequence[str], matrix: np.ndarray, name: str = "word vectors"):
        require_list(words=words)
        self.words = list(words)
        if odd := [word for word in self.words if not isinstance(word, str)]:
            raise ValueError(f"a word is a string, not {odd[0]!r}: .decode() makes one of bytes, str of anything else")
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        self.name = name
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            raise ValueError(f"{len(self.words)} words need a matrix of as many rows, not one of {self.matrix.shape}")
        self._index = dict(zip(self.words, range(len(self.words))))
        if len(self._index) != len(self.words):
            raise ValueError(f"the word {first_duplicate(self.words)!r} occurs twice")

    @classmethod
    def load(cls, source: str | os.PathLike | None = None) -> "WordVectors":
        """Read the vectors that ship with the course, or those in the file `source`, an .npz as `save` writes it.

        Raises FileNotFoundError and, for a damaged file or one of another form, ValueError, with the way to get or read
        it."""
        path = SHIPPED if source is None else Path(source).expanduser()
        remedy = "`make glove` fetches Stanford's vectors, WordVectors.from_text(…).save(…) makes a file of yours"
        if source is None:
            remedy = f"get it back with `git checkout -- data/{path.name}`, or clone the course again"
        require_file(path, f"The word vectors {path} are missing: {remedy}.")
        try:
            words, matrix = read_npz(path)
        except ValueError as error:
            if source is not None and (form := form_for_load(path)):
                raise ValueError(f"{path} {form}.") from error
            raise ValueError(f"{error}: {remedy}.") from error
        return cls(words, matrix, describe(path, *matrix.shape))

    @classmethod
    def from_text(cls, source: str | os.PathLike) -> "WordVectors":
        """Read a text file: in each line a word and its d numbers, with blanks between, as GloVe writes it.

        A word may hold blanks itself: the last d fields are the numbers. d is what most of the first lines end in, or
        what a first line "n d" says.

        Two lines turn one into the form that is read fastest: `vectors = WordVectors.from_text("mine.txt")`,
        `vectors.save("mine.npz")`. Raises FileNotFoundError, and ValueError for a file that is damaged or has another
        form."""
        path = Path(source).expanduser()
        require_file(path, f"There is no file {path}.")
        form = other_form(path)
        if form == COURSE:
            read_npz(path)  # ValueError if it is damaged
        if form:
            raise ValueError(f"{path} {form}.")
        words, matrix = read_text(path)
        return cls(words, matrix, describe(path, *matrix.shape))

    def save(self, path: str | os.PathLike) -> None:
        """Write the vectors into an .npz, which `load` reads. ValueError for what no file holds: NaN and infinity, no
        vectors at all, and a word that is empty or has the end of a line in it."""
        if why := trouble(self.words, self.matrix):
            raise ValueError(f"WordVectors.load could not read the file: {why}. Leave that out, or change it.")
        write_npz(path, self.words, self.matrix)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._index

    def __getitem__(self, word: str) -> np.ndarray:
        """The vector of a word: a new (d,) float32 array. KeyError, naming close spellings, if the word is unknown."""
        return self.matrix[self._position(word)].copy()

    def __repr__(self) -> str:
        return f"<WordVectors: {self.name}>"

    def similarity(self, a: str | np.ndarray, b: str | np.ndarray) -> float:
        """The cosine of the angle between two words (or vectors): a.b / (|a| |b|), from -1 to 1."""
        return float(self._direction(a) @ self._direction(b))

    def nearest(self, word_or_vector: str | np.ndarray, count: int = 10, among: int | None = 10_000) -> list:
        """The `count` words with the largest cosine to a word or to a (d,) vector: [(word, cosine), ...], best first.

        A word is not listed as its own neighbour. Only the first `among` words are offered, for rare words crowd
        around frequent ones ("lothringen" is closer to "france" than "italy" is); `among=None` offers all of them."""
        asked = {word_or_vector} if isinstance(word_or_vector, str) else set()
        return self._closest(self._direction(word_or_vector), count, among, without=asked)

    def analogy(self, a: str, b: str, c: str, count: int = 1, among: int | None = 10_000) -> list:
        """Words for "a is to b as c is to ...": [(word, cosine), ...], the three question words left out.

        The answer is sought near b - a + c, the three vectors scaled to length 1 (Mikolov, Yih & Zweig 2013).
        `among` is that of `nearest`."""
        target = self._direction(b) - self._direction(a) + self._direction(c)
        return self._closest(self._direction(target), count, among, without={a, b, c})

    def _position(self, word: str) -> int:
        try:
            return self._index[word]
        except KeyError:
            raise KeyError(self._unknown(word)) from None
        except TypeError:
            raise TypeError(f"a word is a string, not {type(word).__name__}") from None

    def _unknown(self, word: str) -> str:
        """The message for a word that is not there."""
        message = f"{word!r} is not among the {len(self):,} words of {self.name}"
        if not isinstance(word, str):
            return f"{message}: a word is a string"
        if word.lower() in self._index:
            return f"{message}: they are in lower case, try {word.lower()!r}"
        close = difflib.get_close_matches(word.lower(), self.words, n=3, cutoff=0.75)
        if close:
            return f"{message}; close spellings: {', '.join(close)}"
        return message

    def _direction(self, word_or_vector: str | np.ndarray) -> np.ndarray:
        """The (d,) vector of length 1 that points the same way, in float64."""
        if isinstance(word_or_vector, str):
            vector = self.matrix[self._position(word_or_vector)].astype(np.float64)
            what = f"the vector of {word_or_vector!r}"
        else:
            vector = np.asarray(word_or_vector, dtype=np.float64)
            what = "the vector"
        if vector.shape != self.matrix.shape[1:]:
            raise ValueError(f"expected a word or a vector of shape {self.matrix.shape[1:]}, got shape {vector.shape}")
        largest = np.abs(vector).max(initial=0)
        if not 0 < largest < np.inf:
            raise ValueError(f"{what} has length {largest}: it points nowhere and has no cosine with any other")
        vector = vector / largest  # so that no square is too small or too large
        return vector / np.linalg.norm(vector)

    def _closest(self, direction: np.ndarray, count: int, among: int | None, without: set) -> list:
        for name, value in {"count": count, "among": len(self) if among is None else among}.items():
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} is a whole number of words, 1 or more, not {value!r}")
        cosines = self._cosines(self.matrix[:among], direction)
        enough = min(count + len(without), len(cosines))
        best = np.argpartition(-cosines, enough - 1)[:enough]
        best = best[np.lexsort((best, -cosines[best]))]
        found = [(self.words[i], float(cosines[i])) for i in best if self.words[i] not in without]
        return found[:count]

    def _cosines(self, vectors: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The cosine of each of the first vectors (n, d) with a (d,) vector of length 1; a zero vector has 0."""
        for dtype in (np.float32, np.float64):  # the second, slower, where squares vanish or overflow in the first
            with np.errstate(over="ignore", invalid="ignore"):
                squares = np.einsum("nd,nd->n", vectors, vectors, dtype=dtype)
                products = np.einsum("nd,d->n", vectors, direction.astype(dtype), dtype=dtype)
            if squares.min() > 1e-30 and squares.max() < 1e30:
                break
        if not np.isfinite(squares).all():
            word = self.words[np.flatnonzero(~np.isfinite(squares))[0]]
            raise ValueError(f"the vector of {word!r} holds NaN or infinite numbers: it has no cosine with any other")
        return products / np.sqrt(np.where(squares > 0, squares, 1))


def pca(points: np.ndarray, count: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Principal component analysis of n points (n, d): coordinates (n, count), and the share of the variance that each
    axis keeps (count,).

    The points are centred first. An axis and its opposite serve equally well; here each points the way in which
    its entry of largest size is positive, so that the same points always give the same picture."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or not 1 <= count <= min(points.shape) or len(points) < 2:
        raise ValueError(
            f"cannot find {count} axes for points of shape {points.shape}: they must be (n, d) with count <= n, d"
        )
    if not np.isfinite(points).all():
        raise ValueError("the points hold NaN or infinite numbers")
    if (points == points[0]).all():
        raise ValueError("all points are the same: there is no variance to keep")
    centred = points - points.mean(axis=0)
    _, singular_values, directions = np.linalg.svd(centred, full_matrices=False)  # (n or d,), (n or d, d)
    axes, variances = directions[:count], singular_values**2
    largest = np.abs(axes).argmax(axis=1)
    signs = np.where(axes[np.arange(count), largest] < 0, -1.0, 1.0)
    return centred @ axes.T * signs, variances[:count] / variances.sum()


def require_file(path: Path, missing: str) -> None:
    """FileNotFoundError where there is no file: what is there instead, or what is missing."""
    if path.is_dir():
        raise FileNotFoundError(f"{path} is a folder: name the file in it.")
    if re.match(r"[a-z]{2,}:/", str(path), re.IGNORECASE):
        raise FileNotFoundError(f"{path} is an address: fetch the file first, then name it.")
    if not path.is_file():
        raise FileNotFoundError(missing)


def form_for_load(path: Path) -> str:
    """What a file is that is not in the form of `WordVectors.save`, and the way to its vectors; "" if it is damaged."""
    form, npz = other_form(path), path.suffix.lower() == ".npz"
    if form and form != COURSE and not (npz and form in (CUT, DAMAGED)):
        return form
    if not path.stat().st_size:
        return "is empty: fetch it again"
    if not npz:
        return "is not an .npz: WordVectors.from_text reads a text file, and .save makes an .npz"
    try:
        is_text = b"\0" not in path.read_bytes() and bool(path.read_text("utf-8"))
    except UnicodeDecodeError:
        is_text = False
    return "is text: WordVectors.from_text reads it, and .save makes an .npz" if is_text else ""


def describe(path: Path, n: int, d: int) -> str:
    """A short description of a set of vectors, from its file."""
    if path == SHIPPED:
        return f"the course's own vectors ({n:,} words, {d} dimensions, trained on WordNet text)"
    stanford = re.match(r"glove\.(6B|42B|840B|twitter\.27B)\b", path.name)
    title = f"Stanford's GloVe {stanford[1]}" if stanford else f"vectors from {path.name}"
    return f"{title} ({n:,} words, {d} dimensions)"
