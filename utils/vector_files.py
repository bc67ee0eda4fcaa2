"""Files of word vectors: text in the formats of GloVe, word2vec and fastText, and the course's own .npz.

`utils.vectors.WordVectors.load` is the way in; nothing here needs to be read in order to follow the course."""

import gzip
import os
import re
import secrets
import zipfile
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

_BLOCK = 1 << 22  # bytes of text that are parsed at a time: few enough for the memory to be used again
_AHEAD = 2  # blocks that are parsed at once: while one waits for the file or for Python, the other uses the processor
_FIRST_LINES = 10  # so many tell how the lines of a file are built
_LONGEST_LINE = 1 << 20  # bytes
_WIDEST = 1 << 14  # numbers in a line
_UNPACKED = 1 << 26  # bytes that any archive may unpack to; beyond them at most _PACKING times its own size
_PACKING = 50  # numbers as text are packed to about a third
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_ARCHIVE_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)


def suffix_of(path: Path) -> str:
    return path.suffix.lower()  # a file from Windows may end in .ZIP


def first_duplicate(words: Sequence[str]) -> tuple[str, int, int]:
    """The first word that occurs a second time, and its first two positions."""
    seen: dict[str, int] = {}
    for i, word in enumerate(words):
        if seen.setdefault(word, i) < i:
            return word, seen[word], i
    raise ValueError("no word occurs twice")


def _refuse_what_is_no_file(path: Path) -> None:
    """ValueError for a folder, and for a named pipe, which would be waited for without end."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a file, but a folder, a pipe or a device")


# .npz
def write_npz(path: str | os.PathLike, words: Sequence[str], matrix: np.ndarray, stamp: str = "") -> None:
    """Write vectors in the format that `WordVectors.load` reads fastest; `path` is never a half-written file.

    The archive holds `words` (UTF-8, one per line), `vectors` (n, d) in float16 or float32, and `stamp`, a note."""
    path = Path(path)
    text = {"words": "\n".join(words), "stamp": stamp}
    arrays = {name: np.frombuffer(content.encode(), np.uint8) for name, content in text.items()}
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}.cache.npz")
    try:
        with open(unfinished, "xb") as file:
            np.savez(file, **arrays, vectors=matrix)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_npz(path: Path) -> tuple[list[str], np.ndarray, str]:
    """Words, (n, d) float32 matrix and stamp of a file by `write_npz`.

    Raises FileNotFoundError, and ValueError if anything about the file is wrong."""
    _refuse_what_is_no_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            words = str(_read_array(archive, "words", "u1"), "utf-8").split("\n")
            matrix = _read_array(archive, "vectors", "f").astype(np.float32, copy=False)
            stamp = str(_read_array(archive, "stamp", "u1"), "utf-8")
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged archive can fail in a dozen ways inside zipfile and NumPy
        raise ValueError(f"{path} is damaged ({type(error).__name__}: {error})") from error
    if matrix.ndim != 2 or len(words) != len(matrix) or not matrix.size or not _all_finite(matrix):
        raise ValueError(f"{path} is damaged ({len(words)} words, vectors of shape {matrix.shape})")
    if len(set(words)) < len(words):
        raise ValueError(f"{path} is damaged (the word {first_duplicate(words)[0]!r} occurs twice)")
    if odd := [word for word in words if not word or "\r" in word]:
        raise ValueError(f"{path} is damaged ({odd[0]!r} is not a word)")
    return words, matrix, stamp


def _read_array(archive: zipfile.ZipFile, name: str, kind: str) -> np.ndarray:
    """An array of an .npz archive; `kind` begins its dtype."""
    with archive.open(f"{name}.npy") as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):  # at the end of a member its checksum is tested
            raise ValueError("it is longer than its header says")
    if not array.dtype.str[1:].startswith(kind):  # complex numbers, dates and text would be converted without a word
        raise ValueError(f"{name} are of type {array.dtype}, not {'bytes of text' if kind == 'u1' else 'floats'}")
    return array


def _all_finite(matrix: np.ndarray) -> bool:
    return bool(np.isfinite([matrix.min(), matrix.max()]).all())  # both are NaN where one number is


# The cache
def read_text_or_cache(path: Path, member: str) -> tuple[list[str], np.ndarray]:
    """Words and matrix of a text file: from its cache if that is of this very file, otherwise read and cached."""
    stamp = _stamp(path, member)
    cache = path.with_name(path.name + ".cache.npz")
    with suppress(FileNotFoundError, ValueError):  # no cache, or a damaged one: read the text and write it anew
        words, matrix, cached_stamp = read_npz(cache)
        if cached_stamp == stamp:
            return words, matrix
    words, matrix = read_text(path, member)
    if not cache.exists() or cache.is_file():  # a pipe of this name is somebody's
        with suppress(OSError):  # in a folder that cannot be written to, or on a full disk, the vectors do without
            write_npz(cache, words, matrix, stamp)
    return words, matrix


def _stamp(path: Path, member: str) -> str:
    """What changes when the file does, as far as that can be told without reading all of it.

    Programs set the time of change back (unpackers and copiers do), but not the inode's; and that clock ticks
    slowly, so that a small file can change twice at the same time: hence the checksum of both ends."""
    status = path.stat()
    with open(path, "rb") as file:
        ends = zlib.crc32(file.read(1 << 16))
        file.seek(max(0, status.st_size - (1 << 16)))
        ends = zlib.crc32(file.read(1 << 16), ends)
    times = f"changed at {status.st_mtime_ns} ns, inode {status.st_ino} at {status.st_ctime_ns} ns"
    return f"{status.st_size} bytes, {times}, ends {ends:08x}, member {member!r}"


# Text
class _Layout(NamedTuple):
    """How the lines of a text file are built."""

    width: int  # numbers in a line
    tabs: bool  # between them, instead of blanks
    announced: int | None  # lines, by the header that word2vec and fastText write


def read_text(path: Path, member: str = "") -> tuple[list[str], np.ndarray]:
    """Words and (n, d) float32 matrix of a text file of vectors.

    A line holds a word and its d numbers, with blanks or tabs between; the last d fields are the numbers, so that a
    word may hold blanks (some of GloVe 840B do). A first line "n d", as word2vec and fastText write it, is a header.
    Raises ValueError, which names the line that is wrong, and MemoryError, which names the file."""
    label = f"{path}::{member}" if member else str(path)
    try:
        words, matrix, layout = _read_lines(path, member, label)
    except MemoryError:
        raise MemoryError(f"{label} takes more memory than there is: keep only its first lines") from None
    if len(set(words)) < len(words):
        word, *positions = first_duplicate(words)
        first, second = (position + (1 if layout.announced is None else 2) for position in positions)
        raise ValueError(f"{label}, line {second}: the word {word!r} already stands in line {first}")
    if layout.announced not in (None, len(words)):
        raise ValueError(
            f"{label}, line 1: announces {layout.announced} words of {layout.width} numbers, and {len(words)} follow: "
            "the file is cut short, or that line does not belong there"
        )
    return words, matrix


def _read_lines(path: Path, member: str, label: str) -> tuple[list[str], np.ndarray, _Layout]:
    words: list[str] = []
    packed = suffix_of(path) in (".gz", ".zip")
    size = path.stat().st_size
    with _open_text(path, member) as file:
        blocks = _blocks_of_lines(file, label, max(_UNPACKED, _PACKING * size) if packed else np.inf)
        first = next(blocks, None)
        if first is None:
            raise ValueError(f"{label} is empty")
        block, _, lines = first
        layout = _layout(block, label)
        lines_expected = size * (4 if packed else 1.1) * lines / len(block)
        matrix = np.empty((int(lines_expected) + 1, layout.width), np.float32)  # memory counts when it is written to
        for new_words, vectors in _parse_ahead(chain([first], blocks), layout, label):
            start, end = len(words), len(words) + len(new_words)
            if end > len(matrix):
                matrix = np.concatenate([matrix[:start], np.empty((end, layout.width), np.float32)])
            matrix[start:end] = vectors
            words += new_words
    return words, matrix[: len(words)], layout


@contextmanager
def _open_text(path: Path, member: str) -> Iterator[BinaryIO]:
    """The bytes of a text file, unpacked where it is packed. Names inside an archive are never used as paths."""
    _refuse_what_is_no_file(path)
    if member and suffix_of(path) != ".zip":
        raise ValueError(f"{path} is not a .zip archive, so it has no member {member!r}")
    if suffix_of(path) == ".zip":
        try:
            archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise ValueError(f"{path} is damaged or not a zip archive ({error})") from error
        with archive:
            yield _open_member(archive, path, member)
    else:
        with (gzip.open if suffix_of(path) == ".gz" else open)(path, "rb") as file:
            yield file


def _open_member(archive: zipfile.ZipFile, path: Path, member: str) -> BinaryIO:
    texts = [name for name in archive.namelist() if name.lower().endswith((".txt", ".vec"))]
    if not member and len(texts) == 1:
        member = texts[0]
    if member not in archive.namelist():
        problem = f"has no member {member!r}" if member else f"holds {len(texts)} .txt files, not one"
        raise ValueError(f"{path} {problem}: choose with WordVectors.load('{path.name}::member') one of {texts}")
    try:
        return archive.open(member)
    except _ARCHIVE_ERRORS as error:
        raise ValueError(f"{path}::{member} cannot be unpacked ({error})") from error


def _blocks_of_lines(file: BinaryIO, label: str, most_bytes: float) -> Iterator[tuple[bytes, int, int]]:
    """The content of `file` in blocks of whole lines, each ending in a newline: (block, number of its first line,
    how many lines). ValueError where a line or the whole is longer than any file of word vectors."""
    first_line, total = 1, 0
    whole_lines = _FIRST_LINES
    while True:
        try:
            head = b"".join(file.readline(_LONGEST_LINE) for _ in range(whole_lines))
            block = head + file.read(_BLOCK) + file.readline(_LONGEST_LINE)
        except _ARCHIVE_ERRORS as error:
            raise ValueError(f"{label} is damaged or cut short and cannot be unpacked ({error})") from error
        if not block:
            return
        if len(block) - 1 - block.rfind(b"\n") >= _LONGEST_LINE:
            line = first_line + block.count(b"\n")
            raise ValueError(f"{label}, line {line}: does not end within {_LONGEST_LINE:,} bytes")
        total += len(block)
        if total > most_bytes:
            raise ValueError(f"{label} unpacks to more than {total:,} bytes: no word vectors can be packed so tightly")
        block = _without_line_ends_of_others(block)
        lines = block.count(b"\n")
        yield block, first_line, lines
        first_line, whole_lines = first_line + lines, 0


def _without_line_ends_of_others(block: bytes) -> bytes:
    """The block with a newline, and nothing before it, at the end of every line: Windows writes a carriage return
    there, word2vec and fastText a blank."""
    if not block.endswith(b"\n"):
        block += b"\n"
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    if b" \n" in block or b"\t\n" in block:
        block = re.sub(rb"[ \t]+\n", b"\n", block)
    return block


def _layout(block: bytes, label: str) -> _Layout:
    """How lines are built, as most of the first ones say."""
    lines = block.split(b"\n", _FIRST_LINES)[:_FIRST_LINES]
    lines = lines[: block.count(b"\n")]
    header = re.fullmatch(rb"(\d{1,18})[ \t](\d{1,18})", lines[0]) if len(lines) > 1 else None
    lines = lines[1:] if header else lines
    tabs = any(b"\t" in line and b" " not in line for line in lines)
    counts = [line.count(b"\t" if tabs else b" ") for line in lines]
    width = max(counts, key=counts.count)
    if header and int(header[2]) != width:
        if width != 1 or b"\0" in block:
            raise ValueError(
                f"{label}, line 1: announces vectors of {int(header[2])} numbers, and line 2 has {width}. "
                "(The binary files of word2vec and fastText must be saved as text.)"
            )
        header = None  # vectors of one number
    if width == 0:
        raise ValueError(f"{label}, line 1: no numbers after the word, with blanks or tabs between")
    if width > _WIDEST:
        raise ValueError(f"{label}, line 1: {width:,} numbers, where word vectors have at most {_WIDEST:,}")
    return _Layout(width, tabs, int(header[1]) if header else None)


def _parse_ahead(blocks: Iterator[tuple[bytes, int, int]], layout: _Layout, label: str) -> Iterator[tuple]:
    """Words and matrix of one block after the other, while the next ones are being parsed in other threads."""
    with ThreadPoolExecutor(_AHEAD) as pool:
        waiting: deque = deque()
        for block, first_line, lines in blocks:
            if len(waiting) == _AHEAD:
                yield waiting.popleft().result()
            if layout.tabs:
                block = block.replace(b"\t", b" ")
            if first_line == 1 and layout.announced is not None:
                block, first_line, lines = block.partition(b"\n")[2], 2, lines - 1
            waiting.append(pool.submit(_parse, block, first_line, lines, layout.width, label))
        while waiting:
            yield waiting.popleft().result()


def _parse(block: bytes, first_line: int, lines: int, width: int, label: str) -> tuple[list[str], np.ndarray]:
    """Words and (lines, width) float32 matrix of a block of whole lines."""
    try:
        import polars  # only here: most readers never load a text file
    except ImportError as error:
        raise ImportError(f"{error}: `make glove` installs it, or `pip install polars` does.") from error
    schema = {"word": polars.String} | {f"v{i}": polars.Float32 for i in range(width)}
    reason = "blank lines or numbers that are not finite"
    try:
        table = polars.read_csv(block, has_header=False, separator=" ", quote_char=None, schema=schema)
        words, vectors = table["word"].to_list(), table[:, 1:].to_numpy()
        if len(words) == lines and all(words) and _all_finite(vectors) and b"\r" not in block:
            return words, vectors
    except polars.exceptions.PolarsError as error:
        reason = str(error)
    names, block_of_names = _words_with_blanks(block, width)
    if names:
        words, vectors = _parse(block_of_names, first_line, lines, width, label)
        return [names.get(i, word) for i, word in enumerate(words)], vectors
    _explain(block, width, label, first_line)
    raise ValueError(f"{label}, lines {first_line} to {first_line + lines - 1}: {reason}")


def _words_with_blanks(block: bytes, width: int) -> tuple[dict[int, str], bytes]:
    """Words that hold blanks, by line (from 0), and the block with "_" in the place of each.

    What stands before the last `width` fields is no word if one of its later parts is a number or empty: a number too
    many, or a line end that is lost."""
    names = {}
    lines = block.split(b"\n")
    for i, line in enumerate(lines):
        if line.count(b" ") > width:
            word, *numbers = line.rsplit(b" ", width)
            parts = word.split(b" ")
            if all(parts) and not any(map(_NUMBER.fullmatch, parts[1:])):
                with suppress(UnicodeDecodeError):  # such a line stays as it is, and is explained as wrong
                    names[i] = word.decode("utf-8")
                    lines[i] = b" ".join([b"_", *numbers])
    return names, b"\n".join(lines)


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
        if b"\r" in word:
            raise ValueError(f"{label}, line {number}: a carriage return in the word {word.decode()[:40]!r}")
        wrong = next((field for field in fields if not _NUMBER.fullmatch(field)), None)
        if wrong is not None:
            raise ValueError(f"{label}, line {number}: {repr(wrong[:40])[1:]} is not a number")
        if len(fields) != width:
            raise ValueError(f"{label}, line {number}: {len(fields)} numbers, where other lines have {width}")
        if max(abs(float(field)) for field in fields) > float(np.finfo(np.float32).max):
            raise ValueError(f"{label}, line {number}: a number is too large for 32 bits")
