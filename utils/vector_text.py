"""Text files of word vectors, as GloVe, word2vec and fastText write them: a line holds a word and its d numbers.

A word may hold blanks, as some of Stanford's do, so the numbers are the last d fields of a line. Polars reads pieces of
the file where each line is a word without blanks and d numbers; other lines are first brought into that form."""

import codecs
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

PIECE = 1 << 24  # bytes that are read at once
SAMPLE = 200  # lines that tell how many numbers there are
NO_TEXT = "is not a text file in UTF-8. If it is text, save it as UTF-8; if not, get the vectors as a text file"
SHOWN = 60  # characters of a line that a message shows
LARGEST = float(np.finfo(np.float32).max) * (1 + 1e-8)  # what is rounded to the largest is finite
INTEGER = re.compile(rb"[+-]?\d+")
FIGURES = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE)
NUMBER = re.compile(FIGURES.pattern + rb"|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
TOGETHER = "two lines seem to have run together here"


class WrongLine(ValueError):
    """A line does not hold a word and its numbers; `row` is its place in the piece, from 0."""

    def __init__(self, row: int, why: str):
        super().__init__(why)
        self.row = row


def read_text(path: Path) -> tuple[list[str], np.ndarray]:
    """Words and (n, d) float32 matrix of a text file: a line holds a word and its d numbers, blanks or tabs between.

    A first line "n d", as word2vec and fastText write it, is left out, and so is a byte-order mark. ValueError, with
    the number of the first line that is wrong and what to do about it."""
    words, matrices = [], []
    with opened(path) as file:
        announced, d, fewer = header_and_width(path, file)
        first = 1 if announced is None else 2  # the number of the line with the first vector
        for piece in pieces(file):
            try:
                some, matrix = read_piece(piece, d, told=announced is not None)
            except WrongLine as wrong:
                remedy = "Correct or remove it"
                if fewer < d:
                    n = len(words) + sum(map(bool, map(bytes.strip, (piece + file.read()).split(b"\n"))))
                    remedy += f" (if a vector has {fewer} numbers, put a first line '{n} {fewer}' in front)"
                raise ValueError(f"{path}, line {first + len(words) + wrong.row}: {wrong}. {remedy}.") from None
            words += some
            matrices.append(matrix)
    if announced not in (None, len(words)):
        said = f"line 1 announces {announced} words, and {len(words)} follow"
        if len(words) < announced:
            raise ValueError(f"{path} is cut short: {said}. Fetch it again, or correct line 1.")
        raise ValueError(f"{path}: {said}. Correct or remove line 1.")
    return without_lost(path, words, matrices[0] if len(matrices) == 1 else np.concatenate(matrices), first)


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """The rest of a file in pieces of whole lines, without the blank lines at its end."""
    blank = b""
    while piece := file.read(PIECE) + file.readline():
        piece = blank + piece
        end = len(piece.rstrip())
        end = end and (piece.find(b"\n", end) + 1 or len(piece))
        blank = piece[end:]
        if end:
            yield piece[:end]


def opened(path: Path) -> BinaryIO:
    """The file as UTF-8, behind its byte-order mark; UTF-16, as PowerShell writes it, is converted."""
    file = open(path, "rb")
    start = file.read(3)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        with file:
            try:
                return io.BytesIO(path.read_bytes().decode("utf-16").lstrip("\ufeff").encode())
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path} is damaged: it begins as text in UTF-16, but byte {error.start} is not"
                ) from None
    begin = 0
    while start == codecs.BOM_UTF8:
        begin, start = file.tell(), file.read(3)
    file.seek(begin)
    if b"\0" in file.read(1 << 12):
        file.close()
        raise ValueError(f"{path} {NO_TEXT}.")
    file.seek(begin)
    return file


def header_and_width(path: Path, file: BinaryIO) -> tuple[int | None, int, int]:
    """How many words a header announces (None without one), how many numbers each has, d, and, without a header, how
    many would fit each of the first lines, if d does not. The file is left where the first vector begins.

    d is what most of the first lines end in, or what the header says, unless most of them differ from it."""
    begin = file.tell()
    header = file.readline().split()
    announced = header if len(header) == 2 and all(map(bytes.isdigit, header)) else None
    begin = file.tell() if announced else file.seek(begin)
    lines = list(itertools.islice(file, SAMPLE))
    file.seek(begin)
    bounds = [(low, high) for low, high in map(width_bounds, lines) if high]
    if not bounds and announced and not lines:
        n, d = map(int, announced)
        raise ValueError(
            f"{path} is cut short: line 1 announces {n} words of {d} numbers, and none follows. Fetch it again."
        )
    if not bounds:
        raise ValueError(f"{path} {form_of(lines, 2 if announced else 1)}.")
    fitting = Counter(d for low, high in bounds for d in range(low, high + 1))
    most = Counter(high for _, high in bounds)
    d = max(fitting, key=lambda d: (most[d], fitting[d], d))
    if announced is None:
        return None, d, max((fewer for fewer in fitting if fitting[fewer] == len(bounds)), default=d)
    n, told = map(int, announced)
    if lines[-1][-1:] != b"\n" or len(lines) < min(n, SAMPLE):
        bounds = bounds[:-1]  # the last line may be cut
    differing = sum(not low <= told <= high for low, high in bounds)
    if 2 * differing > len(bounds) and told not in (d, min(most)):
        said = f"line 1 says {n} word{'s' * (n != 1)} of {told} number{'s' * (told != 1)}, but most lines have {d}"
        raise ValueError(f"{path}: {said}. Correct or remove line 1.")
    return n, told, told


def form_of(lines: list[bytes], first: int) -> str:
    """What a file is that has no vector in its first lines, of which the number of the first is given."""
    try:
        text = b"".join(lines).decode()
    except UnicodeDecodeError:
        return NO_TEXT
    if not text.strip():
        return "is empty" if not text else "holds nothing but blank lines"
    line = text.splitlines()[0].strip(" \t")
    said = f"contains no line with a word and its numbers; line {first} is {shown(line)}"
    between = re.search(r"[^\S \t\r\n]|[;,|]", line)
    if line.startswith(("{", "[")):
        return f"{said}. It looks like JSON: write each word and its numbers into a line, with blanks between"
    if re.search(r"[ \t][+-]?\d*,\d", line):
        return f"{said}. The numbers have decimal commas: write 0.25, not 0,25"
    if between:
        return f"{said}. {between[0]!r} stands where blanks or tabs should"
    return f"{said}. A number looks like 0.25, with blanks or tabs between"


def shown(line: str) -> str:
    """A line as a message shows it: its beginning, in quotes."""
    return repr(line if len(line) <= SHOWN else f"{line[:SHOWN]}…")


def width_bounds(line: bytes) -> tuple[int, int]:
    """The least and the largest number of numbers that a line can have behind its word.

    They differ where only the first are whole: in "route 66 0.1 0.2" the word may be "route" or "route 66"."""
    numbers = list(itertools.takewhile(NUMBER.fullmatch, reversed(line.split()[1:])))[::-1]
    rest = list(itertools.dropwhile(bytes.isdigit, numbers))
    return len(numbers if any(map(bytes.isdigit, rest)) else rest or numbers), len(numbers)


def read_piece(piece: bytes, d: int, told: bool) -> tuple[list[str], np.ndarray]:
    """Words and (n, d) matrix of whole lines; `told` says that a header gives d. WrongLine: the first that does not
    hold a word and d numbers."""
    if b"\0" in piece:
        raise WrongLine(piece[: piece.index(b"\0")].count(b"\n"), "it holds a NUL, a character that no text has")
    n = piece.count(b"\n") + (not piece.endswith(b"\n"))
    words, matrix, right = parsed(piece.replace(b"\t", b" "), d, n)
    if right.all():
        return words, matrix
    lines = piece.split(b"\n", n)[:n]
    fields = [line.lstrip(b" \t").rsplit(None, d) for line in lines]
    straight = b"".join(b"word %b\n" % b" ".join(some[1:]) for some in fields)
    _, matrix, right = parsed(straight, d, n)
    words = [str(some[0], "utf-8", "replace") if some else "" for some in fields]
    for row, some in enumerate(fields):
        if why := trouble_with_numbers(some, d) if not right[row] else trouble_with_word(some, told):
            line = shown(lines[row].decode(errors="replace").strip())
            raise WrongLine(row, f"a line needs a word and {d} numbers, but {why}: {line}")
    if not right.all():
        raise WrongLine(int(right.argmin()), f"a line needs a word and {d} numbers: Polars cannot read it")
    return words, matrix


def parsed(piece: bytes, d: int, n: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Words, (n, d) matrix, and which of the n lines are right (n,): a word and d finite numbers, one blank between.

    Where Polars refuses the piece, none is right."""
    import polars  # only here: it takes longer to import than the course's own vectors to load

    schema = {"word": polars.String} | {f"number {i}": polars.Float32 for i in range(d)} | {"end": polars.String}
    first = b"word%b \n" % (d * b" 0")  # it has every column, also that behind the blank that ends fastText's lines
    refused = [], np.empty((n, d), np.float32), np.zeros(n, bool)
    try:
        table = polars.read_csv(first + piece, has_header=False, separator=" ", quote_char=None, schema=schema)[1:]
    except polars.exceptions.PolarsError:
        return refused
    if len(table) != n:
        return refused
    words, matrix = table["word"].to_list(), table[:, 1:-1].to_numpy()
    right = np.isfinite(matrix).all(axis=1)  # what is missing is NaN
    right &= table["end"].is_null().to_numpy() & [bool(word) and "\r" not in word for word in words]
    return words, matrix, right


def trouble_with_numbers(fields: list[bytes], d: int) -> str:
    """Why the fields of a line are not a word and d finite numbers; "" where they are."""
    if len(fields) <= d:
        return f"this one has {len(fields) or 'no'} field{'s' * (len(fields) != 1)}"
    for field in fields[1:]:
        if not NUMBER.fullmatch(field):
            return f"{field.decode(errors='replace')!r} is not a number"
        if not FIGURES.fullmatch(field):
            return f"{field.decode()!r} is not a finite number"
        if abs(float(field)) > LARGEST:
            return f"{field.decode()!r} is too large: float32 ends at {LARGEST:.1e}"
    return ""


def trouble_with_word(fields: list[bytes], told: bool) -> str:
    """Why the first of the fields, what is in front of the d numbers, is not a word; "" where it is.

    A number like those of the vector is no part of a word, unless a header has told d; 66 in "route 66 0.1 0.2" is."""
    word, *numbers = fields
    if b"\r" in word:
        return "lines end in \\r, as on old Macs: save the file with Unix or Windows line endings"
    whole = all(map(INTEGER.fullmatch, numbers))
    run, odd = 0, False  # how many numbers are in a row, and whether one is like those of the vector
    for field in word.split()[1:]:
        begin = FIGURES.match(field)
        like = bool(begin and (whole or not INTEGER.fullmatch(begin[0])))
        if NUMBER.fullmatch(field):
            run, odd = run + 1, odd or like
        elif (odd or like) and not told or like and run + 1 >= len(numbers):
            return TOGETHER
        else:
            run = 0
        if run >= len(numbers):
            return TOGETHER
    if odd and not told:
        return f"this one has {len(numbers) + run}"
    try:
        word.decode()
    except UnicodeDecodeError:
        return "the word is not in UTF-8 (save the file in UTF-8)"
    return ""


def without_lost(path: Path, words: list[str], matrix: np.ndarray, first: int) -> tuple[list[str], np.ndarray]:
    """Words and matrix, if each word occurs once; else ValueError with the lines.

    Only a word of nothing but U+FFFD, which stands for lost characters, may come again, as in Stanford's 840B: the
    first counts."""
    if len(set(words)) == len(words):
        return words, matrix
    seen, rows = {}, []
    for row, word in enumerate(words):
        if seen.setdefault(word, row) == row:
            rows.append(row)
        elif set(word) != {"\N{REPLACEMENT CHARACTER}"}:
            lines = f"{path}, line {first + row}: {word!r} is already in line {first + seen[word]}"
            raise ValueError(f"{lines}. Remove one of them.")
    return [words[row] for row in rows], matrix[rows]
