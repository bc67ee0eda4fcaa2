"""Files of word vectors: the course's own form, .npz, and how to tell other people's, which messages name.

`WordVectors.load` and `WordVectors.from_text` are the ways in; nothing here needs to be read to follow the course."""

import os
import re
import secrets
import shlex
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

PACKED = "is a compressed file: unpack it first, for example with 7-Zip, then read the text in it"
GENSIM = 'in gensim, {}.save_word2vec_format("vectors.txt") writes text that WordVectors.from_text reads'
TENSORS = "without words: with a list of them, WordVectors(words, tensor.numpy()) holds both, and .save keeps them"
SIGNATURES = {  # what a file begins with: what it is, and the way to vectors that can be read
    rb"\x1f\x8b": "is packed by gzip: unpack it first, {gunzip}, then read the text in it",
    rb"BZh\d1AY|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf|Rar!\x1a": PACKED,
    rb"\x93NUMPY": "is one array without words: with a list of them, WordVectors(words, np.load({name!r})) holds both, "
    "and .save keeps them",
    rb"\x80[\2-\5]": "is a pickle, which may run any code and is not opened here. A .kv or .model is gensim's: "
    + GENSIM.format("KeyedVectors.load({name!r}) or Word2Vec.load({name!r}).wv"),
    rb"\d+[ \t]\d+\s*\n(?!\S+[ \t]+[-+.\deE]+\s)(?s:.{0,1200}?)"
    rb"(?:[\0-\x08\x0e-\x1f]|[\xc2-\xff][^\x80-\xbf]|[\0-\x7f][\x80-\xbf])": "is a .bin of word2vec: "
    + GENSIM.format("KeyedVectors.load_word2vec_format({name!r}, binary=True)"),
    rb"\xba\x16\x4f\x2f": "is a .bin of fastText: " + GENSIM.format("models.fasttext.load_facebook_vectors({name!r})"),
    rb"(?s:.{4})\0{4}\{": f"is a .safetensors of tensors {TENSORS}",
    rb"version https://git-lfs": "is a pointer of Git LFS, not the file itself: `git lfs pull` fetches that",
    rb"\s*<(?i:!doctype|html)\b": "is a web page, not the vectors: download the file that the page links to",
}
COURSE = "is an .npz, which WordVectors.load reads"
DAMAGED = "is a damaged zip archive: fetch it again"
CUT = "begins as a zip archive, but its end is missing: fetch it again"

NO_WORD = re.compile(r"[\n\r\ud800-\udfff]")  # ends of lines, and halves of characters, which UTF-8 cannot hold

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
    if why := trouble(words, matrix):
        raise ValueError(f"{path} is damaged ({why})")
    return words, matrix


def trouble(words: Sequence[str], matrix: np.ndarray) -> str:
    """Why words and their matrix are no word vectors that a file holds; "" where they are."""
    if matrix.ndim != 2 or len(words) != len(matrix) or not matrix.size:
        return f"{len(words)} words, vectors of shape {matrix.shape}"
    if not (finite := np.isfinite(matrix).all(axis=1)).all():
        return f"the vector of {words[finite.argmin()]!r} holds NaN or infinite numbers"
    if (twice := first_duplicate(words)) is not None:
        return f"the word {twice!r} occurs twice"
    if odd := [word for word in words if not word or NO_WORD.search(word)]:
        return f"{odd[0]!r} is not a word"
    return ""


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


def other_form(path: Path) -> str:
    """What a file is and the way to its vectors, if it is neither text nor damaged text; "" if it is.

    Told by its first bytes, and of a zip archive by what it lists. Nothing in it is unpacked or unpickled."""
    with open(path, "rb") as file:
        head = file.read(1 << 12)
    if head.startswith(b"PK"):
        return _archive_form(path)
    gunzip = f"with `python -m gzip -d {shlex.quote(str(path))}`" if path.suffix == ".gz" else "for example with 7-Zip"
    form = next((what for signature, what in SIGNATURES.items() if re.match(signature, head)), "")
    return form.format(name=str(path), gunzip=gunzip)


def _archive_form(path: Path) -> str:
    if not zipfile.is_zipfile(path):
        return CUT
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            for name in names:
                archive.open(name).close()  # does it stand where the list says?
            if any(name.endswith("data.pkl") for name in names):
                return f"is a .pt of PyTorch, of tensors {TENSORS}"
            if not any(name.endswith(".npy") for name in names):
                unzip = f"python -m zipfile -e {shlex.quote(str(path))} ."
                return f"is a zip archive: unzip it first, with `{unzip}`, then read the text"
            _refuse_a_bomb(archive, path.stat().st_size)
            arrays = {name.removesuffix(".npy"): _kind(archive, name) for name in names if name.endswith(".npy")}
    except Exception:  # of any kind, as in read_npz
        return DAMAGED
    kinds = {name: dtype.str[1:] for name, (_, dtype) in arrays.items()}
    if kinds.get("words") == "u1" and kinds.get("vectors", "f").startswith("f"):
        return COURSE
    held = ", ".join(f"{name!r} {shape} of {dtype}" for name, (shape, dtype) in arrays.items())[:200]
    another = f"is an .npz of another form ({held})"
    if any(dtype.hasobject for _, dtype in arrays.values()):
        return f"{another}, with pickles, which may run any code: have it made without them"
    tables = {name: shape for name, (shape, dtype) in arrays.items() if dtype.kind == "f" and len(shape) == 2}
    lists = {name: shape for name, (shape, dtype) in arrays.items() if dtype.kind in "US" and len(shape) == 1}
    pairs = [(words, table) for words in lists for table in tables if lists[words][0] == tables[table][0]]
    for words, table in pairs:
        text = f"a[{words!r}]" if kinds[words][0] == "U" else f"np.char.decode(a[{words!r}], 'utf-8')"
        holds = f"WordVectors({text}.tolist(), a[{table!r}]) holds them, and .save keeps them"
        return f"{another}. After `a = np.load({str(path)!r})`, {holds}"
    for table in tables:
        holds = f"with a list of the words, WordVectors(words, np.load({str(path)!r})[{table!r}]) holds both"
        return f"{another}, without a word for each row: {holds}, and .save keeps them"
    return f"{another}, without a matrix of floats: get the vectors as a text file"


def _kind(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and dtype of an array of an .npz archive."""
    with archive.open(name) as member:
        version, _ = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == 1 else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(member)
    return shape, dtype
