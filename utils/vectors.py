"""Word vectors: load them, look words up, compare them, draw them in the plane.

The vectors that ship with the course and those of Stanford (GloVe, https://nlp.stanford.edu/projects/glove/)
are used in the same way. Both list their words from the most useful to the rarest.
"""

import difflib
import gzip
import os
import re
import secrets
import zipfile
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "course_vectors.npz"

_BLOCK = 1 << 22  # bytes of text that are parsed at a time: few enough for the memory to be used again
_AHEAD = 2  # blocks that are parsed at once: while one waits for the file or for Python, the other uses the processor
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_ARCHIVE_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError)


class WordVectors:
    """n words and their vectors of d numbers.

    `words` is the list of words, `matrix` the (n, d) float32 array of their vectors, in the same order,
    and `name` says in a few words which set this is.
    """

    def __init__(self, words: Sequence[str], matrix: np.ndarray, name: str = "word vectors"):
        self.words = list(words)
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        self.name = name
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            raise ValueError(f"{len(self.words)} words need a matrix of as many rows, not one of {self.matrix.shape}")
        self._index = dict(zip(self.words, range(len(self.words))))
        if len(self._index) != len(self.words):
            raise ValueError(f"the word {_first_duplicate(self.words)[0]!r} occurs twice")
        self._lengths = None

    @classmethod
    def load(cls, source: str | os.PathLike | None = None) -> "WordVectors":
        """Read the vectors that ship with the course, or those in the file `source`.

        `source` may be a text file in Stanford's format (a line holds a word and its d numbers, one space between),
        the same file packed as `.gz`, or a member of a `.zip`: "glove.zip" if it holds one `.txt` member,
        "glove.zip::glove.6B.100d.txt" if it holds several. What was read is kept beside the file, in
        `<file>.cache.npz`, and the next load takes it from there as long as the file stays the same. An `.npz` in the
        format of the course's own file can be read too.

        Raises FileNotFoundError (with the way to get the file), and ValueError for a damaged file (with its line).
        """
        if source is None:
            return cls._load_shipped()
        path, _, member = os.fspath(source).partition("::")
        path = Path(path).expanduser()
        if not path.is_file():
            raise FileNotFoundError(
                f"There is no file {path}. `make glove` fetches Stanford's vectors into the folder data/; "
                "WordVectors.load() without a name uses the vectors that ship with the course."
            )
        if path.suffix == ".npz":
            words, matrix, _ = _read_npz(path)
        else:
            words, matrix = _read_text_or_cache(path, member)
        return cls(words, matrix, _describe(member or path.name, *matrix.shape))

    @classmethod
    def _load_shipped(cls) -> "WordVectors":
        remedy = f"get it back with `git checkout -- data/{SHIPPED.name}`, or clone the course again"
        try:
            words, matrix, _ = _read_npz(SHIPPED)
        except FileNotFoundError:
            raise FileNotFoundError(f"The course's word vectors, {SHIPPED}, are missing: {remedy}.") from None
        except ValueError as error:
            raise ValueError(f"{error}: {remedy}.") from error
        size = f"{len(words):,} words, {matrix.shape[1]} dimensions"
        return cls(words, matrix, f"the course's own vectors ({size}, trained on WordNet text)")

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

    def nearest(self, word_or_vector: str | np.ndarray, k: int = 10, among: int | None = 10_000) -> list:
        """The k words with the largest cosine to a word or to a (d,) vector: [(word, cosine), ...], best first.

        A word is not listed as its own neighbour. Only the first `among` words are offered, for rare words crowd
        around frequent ones ("lothringen" is closer to "france" than "italy" is); `among=None` offers all of them.
        """
        asked = {word_or_vector} if isinstance(word_or_vector, str) else set()
        return self._closest(self._direction(word_or_vector), k, among, without=asked)

    def analogy(self, a: str, b: str, c: str, k: int = 1, among: int | None = 10_000) -> list:
        """Words for "a is to b as c is to ...": [(word, cosine), ...], the three question words left out.

        The answer is sought near b - a + c, the three vectors scaled to length 1 (Mikolov, Yih & Zweig 2013).
        `among` is that of `nearest`.
        """
        target = self._direction(b) - self._direction(a) + self._direction(c)
        return self._closest(self._direction(target), k, among, without={a, b, c})

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
        length = np.linalg.norm(vector)
        if not np.isfinite(length) or length == 0:
            raise ValueError(f"{what} has length {length}: it points nowhere and has no cosine with any other")
        return vector / length

    def _closest(self, direction: np.ndarray, k: int, among: int | None, without: set) -> list:
        for name, value in (("k", k), ("among", among)):
            if value is not None and value < 1:
                raise ValueError(f"{name} counts words and must be 1 or more, not {value}")
        if self._lengths is None:
            self._lengths = np.maximum(np.linalg.norm(self.matrix, axis=1), np.finfo(np.float32).tiny)
        cosines = self.matrix[:among] @ direction.astype(np.float32) / self._lengths[:among]
        enough = min(k + len(without), len(cosines))
        best = np.argpartition(-cosines, enough - 1)[:enough]
        best = best[np.lexsort((best, -cosines[best]))]
        found = [(self.words[i], float(cosines[i])) for i in best if self.words[i] not in without]
        return found[:k]


def pca(points: np.ndarray, k: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Principal component analysis of n points (n, d): (coordinates (n, k), share of the variance of each axis (k,)).

    The points are centred first. An axis and its opposite serve equally well; here each points the way in which
    its entry of largest size is positive, so that the same points always give the same picture.
    """
    from sklearn.decomposition import PCA  # only here: it takes a second, and most notebooks do without

    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or not 1 <= k <= min(points.shape) or len(points) < 2:
        raise ValueError(f"cannot find {k} axes for points of shape {points.shape}: they must be (n, d) with k <= n, d")
    if not np.isfinite(points).all():
        raise ValueError("the points hold NaN or infinite numbers")
    if (points == points[0]).all():
        raise ValueError("all points are the same: there is no variance to keep")
    model = PCA(n_components=k, svd_solver="full")
    coordinates = model.fit_transform(points)
    largest = np.abs(model.components_).argmax(axis=1)
    signs = np.where(model.components_[np.arange(k), largest] < 0, -1.0, 1.0)
    return coordinates * signs, model.explained_variance_ratio_


# The rest of this module reads and writes files.


def write_npz(path: str | os.PathLike, words: Sequence[str], matrix: np.ndarray, stamp: str = "") -> None:
    """Write vectors in the format that `WordVectors.load` reads fastest; `path` is never a half-written file.

    The archive holds `words` (UTF-8, one per line), `vectors` (n, d) in float16 or float32, and `stamp`, a note.
    """
    path = Path(path)
    text = {"words": "\n".join(words), "stamp": stamp}
    arrays = {name: np.frombuffer(content.encode(), np.uint8) for name, content in text.items()}
    arrays["vectors"] = np.ascontiguousarray(matrix)
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}.cache.npz")
    try:
        with open(unfinished, "xb") as file, zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():  # as np.savez does, without its copies
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array_header_1_0(member, np.lib.format.header_data_from_array_1_0(array))
                    member.write(array.data)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _read_npz(path: Path) -> tuple[list[str], np.ndarray, str]:
    """Words, (n, d) float32 matrix and stamp of a file by `write_npz`; ValueError if anything about it is wrong."""
    try:
        with zipfile.ZipFile(path) as archive:
            words = str(_read_array(archive, "words"), "utf-8").split("\n")
            matrix = _read_array(archive, "vectors").astype(np.float32, copy=False)
            stamp = str(_read_array(archive, "stamp"), "utf-8")
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged archive can fail in a dozen ways inside zipfile and NumPy
        raise ValueError(f"{path} is damaged ({type(error).__name__}: {error})") from error
    if matrix.ndim != 2 or len(words) != len(matrix) or not matrix.size or not _all_finite(matrix):
        raise ValueError(f"{path} is damaged ({len(words)} words, vectors of shape {matrix.shape})")
    return words, matrix, stamp


def _read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """An array of an .npz archive, as `np.load` gives it, in a fraction of the time."""
    with archive.open(f"{name}.npy") as member:
        np.lib.format.read_magic(member)
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
        array = np.empty(shape, dtype, order="F" if by_columns else "C")
        rest = array.ravel("K").view(np.uint8)  # an array of Python objects, which would be unpickled, fails here
        while read := member.readinto(rest[: 1 << 20]):
            rest = rest[read:]
        if len(rest) or member.read(1):  # at the end of a member its checksum is tested
            raise ValueError("its header and its length differ")
    return array


def _all_finite(matrix: np.ndarray) -> bool:
    return bool(np.isfinite([matrix.min(), matrix.max()]).all())  # both are NaN where one number is


def _read_text_or_cache(path: Path, member: str) -> tuple[list[str], np.ndarray]:
    """Words and matrix of a text file: from its cache if that is of this very file, otherwise read and cached."""
    status = path.stat()
    stamp = f"{status.st_size} bytes, changed at {status.st_mtime_ns} ns, member {member!r}"
    cache = path.with_name(path.name + ".cache.npz")
    try:
        words, matrix, cached_stamp = _read_npz(cache)
        if cached_stamp == stamp:
            return words, matrix
    except (FileNotFoundError, ValueError):
        pass  # no cache, or a damaged one: read the text and write it anew
    words, matrix = read_text(path, member)
    try:
        write_npz(cache, words, matrix, stamp)
    except OSError:
        pass  # a folder that cannot be written to, or a full disk: the vectors are there all the same
    return words, matrix


def read_text(path: Path, member: str = "") -> tuple[list[str], np.ndarray]:
    """Words and (n, d) float32 matrix of a text file in Stanford's format; ValueError names the line that is wrong."""
    label = f"{path}::{member}" if member else str(path)
    words: list[str] = []
    with _open_text(path, member) as file:
        blocks = _blocks_of_lines(file, label)
        first = next(blocks, None)
        if first is None:
            raise ValueError(f"{label} is empty")
        block, _, lines = first
        width = block.partition(b"\n")[0].count(b" ")
        if width == 0:
            raise ValueError(f"{label}, line 1: no numbers after the word")
        packed = path.suffix in (".gz", ".zip")
        lines_expected = path.stat().st_size * (4 if packed else 1.1) * lines / len(block)
        matrix = np.empty((int(lines_expected) + 1, width), np.float32)  # memory counts when it is written to
        for new_words, vectors in _parse_ahead(chain([first], blocks), width, label):
            start, end = len(words), len(words) + len(new_words)
            if end > len(matrix):
                matrix = np.concatenate([matrix[:start], np.empty((end, width), np.float32)])
            matrix[start:end] = vectors
            words += new_words
    if len(set(words)) < len(words):
        word, first, second = _first_duplicate(words)
        raise ValueError(f"{label}, line {second + 1}: the word {word!r} already stands in line {first + 1}")
    return words, matrix[: len(words)]


@contextmanager
def _open_text(path: Path, member: str) -> Iterator[BinaryIO]:
    """The bytes of a text file, unpacked where it is packed. Names inside an archive are never used as paths."""
    if path.suffix == ".zip":
        try:
            archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise ValueError(f"{path} is damaged or not a zip archive ({error})") from error
        with archive:
            yield _open_member(archive, path, member)
    elif member:
        raise ValueError(f"{path} is not a .zip archive, so it has no member {member!r}")
    elif path.suffix == ".gz":
        with gzip.open(path) as file:
            yield file
    else:
        with open(path, "rb") as file:
            yield file


def _open_member(archive: zipfile.ZipFile, path: Path, member: str) -> BinaryIO:
    texts = [name for name in archive.namelist() if name.endswith(".txt")]
    if not member and len(texts) == 1:
        member = texts[0]
    if member not in archive.namelist():
        problem = f"has no member {member!r}" if member else f"holds {len(texts)} .txt files, not one"
        raise ValueError(f"{path} {problem}: choose with WordVectors.load('{path.name}::member') one of {texts}")
    try:
        return archive.open(member)
    except _ARCHIVE_ERRORS as error:
        raise ValueError(f"{path}::{member} cannot be unpacked ({error})") from error


def _blocks_of_lines(file: BinaryIO, label: str) -> Iterator[tuple[bytes, int, int]]:
    """The content of `file` in blocks of whole lines, each ending in a newline: (block, number of its first line,
    how many lines)."""
    first_line = 1
    while True:
        try:
            block = file.read(_BLOCK) + file.readline()
        except _ARCHIVE_ERRORS as error:
            raise ValueError(f"{label} is damaged or cut short and cannot be unpacked ({error})") from error
        if not block:
            return
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        if not block.endswith(b"\n"):
            block += b"\n"
        lines = block.count(b"\n")
        yield block, first_line, lines
        first_line += lines


def _parse_ahead(blocks: Iterator[tuple[bytes, int, int]], width: int, label: str) -> Iterator[tuple]:
    """Words and matrix of one block after the other, while the next ones are being parsed in other threads."""
    with ThreadPoolExecutor(_AHEAD) as pool:
        waiting: deque = deque()
        for block in blocks:
            if len(waiting) == _AHEAD:
                yield waiting.popleft().result()
            waiting.append(pool.submit(_parse, *block, width, label))
        while waiting:
            yield waiting.popleft().result()


def _parse(block: bytes, first_line: int, lines: int, width: int, label: str) -> tuple[list[str], np.ndarray]:
    """Words and (lines, width) float32 matrix of a block of whole lines."""
    try:
        import polars  # only here: most readers never load a text file
    except ImportError as error:
        raise ImportError(f"{error}: `make lab` installs it, or `pip install polars` does.") from error
    schema = {"word": polars.String} | {f"v{i}": polars.Float32 for i in range(width)}
    try:
        table = polars.read_csv(block, has_header=False, separator=" ", quote_char=None, schema=schema)
        words = table["word"].to_list()
        vectors = table[:, 1:].to_numpy()
        good = len(words) == lines and all(words) and _all_finite(vectors)
    except polars.exceptions.PolarsError as error:
        good, reason = False, str(error)
    else:
        reason = "blank lines or numbers that are not finite"
    if not good:
        _explain(block, width, label, first_line)
        raise ValueError(f"{label}, lines {first_line} to {first_line + lines - 1}: {reason}")
    return words, vectors


def _explain(block: bytes, width: int, label: str, first_line: int) -> None:
    """Find the first wrong line in a block and raise the ValueError that says what is wrong with it."""
    for number, line in enumerate(block[:-1].split(b"\n"), start=first_line):
        word, *fields = line.split(b" ")
        try:
            word.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{label}, line {number}: the word is not UTF-8 text ({error})") from None
        if not word:
            raise ValueError(f"{label}, line {number}: " + ("no word" if fields else "the line is empty"))
        wrong = next((field for field in fields if not _NUMBER.fullmatch(field)), None)
        if wrong is not None:
            raise ValueError(f"{label}, line {number}: {repr(wrong[:40])[1:]} is not a number")
        if len(fields) != width:
            raise ValueError(f"{label}, line {number}: {len(fields)} numbers, where the first line has {width}")
        if max(abs(float(field)) for field in fields) > float(np.finfo(np.float32).max):
            raise ValueError(f"{label}, line {number}: a number is too large for 32 bits")


def _first_duplicate(words: Sequence[str]) -> tuple[str, int, int]:
    """The first word that occurs a second time, and its first two positions."""
    seen: dict[str, int] = {}
    for i, word in enumerate(words):
        if word in seen:
            return word, seen[word], i
        seen[word] = i
    raise ValueError("no word occurs twice")


def _describe(file_name: str, n: int, d: int) -> str:
    """A short description of a set of vectors, from the name of its file."""
    stanford = re.match(r"glove\.(6B|42B|840B|twitter\.27B)\b", file_name)
    title = f"Stanford's GloVe {stanford[1]}" if stanford else f"vectors from {file_name}"
    return f"{title} ({n:,} words, {d} dimensions)"
