"""Files of word vectors: the course's own form, .npz, and text as GloVe, word2vec and fastText write it.

`WordVectors.load` and `WordVectors.from_text` are the ways in; nothing here needs to be read to follow the course."""

import os
import secrets
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

_UNPACKED = 1 << 26  # bytes that any archive may unpack to; beyond them at most _PACKING times its own size
_PACKING = 10  # numbers that mean something can hardly be packed


def first_duplicate(words: Sequence[str]) -> str | None:
    """The first word that occurs more than once."""
    if len(set(words)) == len(words):
        return None
    return next(word for word, number in Counter(words).items() if number > 1)


def write_npz(path: str | os.PathLike, words: Sequence[str], matrix: np.ndarray) -> None:
    """Write vectors in the form that `WordVectors.load` reads; `path` is never a half-written file.

    The archive holds `words` (UTF-8, one a line) and `vectors` (n, d) in float16 or float32."""
    path = Path(path)
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(unfinished, "xb") as file:
            np.savez(file, words=np.frombuffer("\n".join(words).encode(), np.uint8), vectors=matrix)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_npz(path: Path) -> tuple[list[str], np.ndarray]:
    """Words and (n, d) float32 matrix of a file by `write_npz`.

    Raises FileNotFoundError, and ValueError if anything about the file is wrong."""
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_a_bomb(archive, path.stat().st_size)
            words = str(_read_array(archive, "words", "u1"), "utf-8").split("\n")
            matrix = _read_array(archive, "vectors", "f").astype(np.float32, copy=False)
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged archive can fail in a dozen ways inside zipfile and NumPy
        raise ValueError(f"{path} is damaged ({type(error).__name__}: {error})") from error
    if matrix.ndim != 2 or len(words) != len(matrix) or not matrix.size or not np.isfinite(matrix).all():
        raise ValueError(f"{path} is damaged ({len(words)} words, vectors of shape {matrix.shape})")
    if (twice := first_duplicate(words)) is not None:
        raise ValueError(f"{path} is damaged (the word {twice!r} occurs twice)")
    if odd := [word for word in words if not word or "\r" in word]:
        raise ValueError(f"{path} is damaged ({odd[0]!r} is not a word)")
    return words, matrix


def _refuse_a_bomb(archive: zipfile.ZipFile, size: int) -> None:
    """ValueError, before anything is unpacked, for an archive that says to hold far more than its size."""
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > max(_UNPACKED, _PACKING * size):
        raise ValueError(f"{size:,} bytes that unpack to {unpacked:,} hold no word vectors")


def _read_array(archive: zipfile.ZipFile, name: str, kind: str) -> np.ndarray:
    """An array of an .npz archive; `kind` begins its dtype."""
    with archive.open(f"{name}.npy") as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):  # at the end of a member its checksum is tested
            raise ValueError("it is longer than its header says")
    if not array.dtype.str[1:].startswith(kind):  # complex numbers, dates and text would be converted without a word
        raise ValueError(f"{name} are of type {array.dtype}, not {'bytes of text' if kind == 'u1' else 'floats'}")
    return array


def read_text(path: Path) -> tuple[list[str], np.ndarray]:
    """Words and (n, d) float32 matrix of a text file: a line holds a word and its d numbers, a blank between.

    A first line "n d", as word2vec and fastText write it, is left out. ValueError, with the number of the first line
    that is wrong where it is known."""
    import polars  # only here: it takes longer to import than the course's own vectors to load

    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        first, second = file.readline(), file.readline()
    header = len(first.split()) == 2 < len(second.split())
    fields = (second if header else first).rstrip("\r\n").split(" ")
    width = len(fields) - 1 - (fields[-1] == "")  # word2vec and fastText end a line with a blank
    if width < 1:
        raise ValueError(f"{path} holds no word vectors: a line needs a word and its numbers, with a blank between")
    schema = {"word": polars.String} | {f"number {i}": polars.Float32 for i in range(1, width + 1)}
    schema |= {} if fields[-1] else {"end": polars.String}
    form = f"a line needs a word and {width} numbers, with a blank between"
    try:
        table = polars.read_csv(
            path, has_header=False, separator=" ", quote_char=None, schema=schema, skip_lines=int(header)
        )
    except polars.exceptions.PolarsError as error:
        raise ValueError(f"{path} cannot be read: {form}. Polars says: {str(error).splitlines()[0]}") from error
    words, matrix = table["word"].to_list(), table[:, 1 : width + 1].to_numpy()
    whole = np.isfinite(matrix).all(axis=1) & np.array([bool(word) for word in words])  # what is missing is NaN
    if not whole.all():
        raise ValueError(f"{path}, line {whole.argmin() + 1 + header}: {form}")
    if header and first.split()[0] != str(len(words)):
        raise ValueError(f"{path} is cut short: line 1 announces {first.split()[0]} words, and {len(words)} follow")
    if (twice := first_duplicate(words)) is not None:
        lines = [number for number, word in enumerate(words, start=1 + header) if word == twice]
        raise ValueError(f"{path}, line {lines[1]}: the word {twice!r} already stands in line {lines[0]}")
    return words, matrix
