"""utils/vector_files.py: the form of the course's vectors, text of one's own, and every way either can be wrong."""

import os
import re
import tracemalloc
import zipfile

import numpy as np
import pytest

from utils import vectors as vectors_module
from utils.vector_files import write_npz
from utils.vectors import SHIPPED, WordVectors

GOOD = "north 0 1\neast 1 0\nsouth 0 -1\nnortheast 2 2.5\n"


@pytest.fixture(scope="module")
def shipped():
    return WordVectors.load()


@pytest.fixture
def text_file(tmp_path):
    def write(content, name="vectors.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# text


def test_a_text_file_is_read_and_kept_as_npz(text_file, tmp_path):
    vectors = WordVectors.from_text(text_file(GOOD))
    assert vectors.words == ["north", "east", "south", "northeast"]
    assert vectors["northeast"].tolist() == [2, 2.5]
    assert vectors.name == "vectors from vectors.txt (4 words, 2 dimensions)"
    assert WordVectors.from_text(text_file(GOOD, "glove.6B.2d.txt")).name == (
        "Stanford's GloVe 6B (4 words, 2 dimensions)"
    )
    vectors.save(tmp_path / "mine.npz")
    again = WordVectors.load(tmp_path / "mine.npz")
    assert again.words == vectors.words and np.array_equal(again.matrix, vectors.matrix)
    assert again.name == "vectors from mine.npz (4 words, 2 dimensions)"


@pytest.mark.parametrize(
    "content",
    [
        GOOD.rstrip("\n"),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("2.5", "25e-1").replace("2 ", "+2. "),
        "4 2\n" + GOOD,
        "4 2\r\n" + GOOD.replace("\n", "\r\n"),
        "4 2\n" + GOOD.replace("\n", " \n"),
    ],
    ids=["no newline at the end", "Windows", "exponent and sign", "header", "header on Windows", "fastText"],
)
def test_reads_what_other_programs_write(text_file, content):
    vectors = WordVectors.from_text(text_file(content))
    assert vectors.words == ["north", "east", "south", "northeast"]
    assert vectors.matrix.tolist() == [[0, 1], [1, 0], [0, -1], [2, 2.5]]


@pytest.mark.parametrize("word", ['"', "'", "#", ",", "null", "nan", "1.5", "été", "\xa0x", "\x85", "<unk>", "\\"])
def test_any_word_is_text(text_file, word):
    vectors = WordVectors.from_text(text_file(f"one 1 2\n{word} 3 4\nthree 5 6\n"))
    assert vectors.words == ["one", word, "three"]
    assert vectors.matrix.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD.replace("south 0 -1", "south 0"), ", line 3: a line needs a word and 2 numbers"),
        (GOOD.replace("south 0 -1", "south"), ", line 3: "),
        (GOOD.replace("south 0 -1", "south 0 -1 5"), " cannot be read: a line needs a word and 2 numbers"),
        (GOOD.replace("south", "due south"), " cannot be read: a line needs a word and 2 numbers"),
        (GOOD.replace("2.5", "2.5x"), "could not parse `2.5x`"),
        (GOOD.replace("2.5", "0x2"), "could not parse `0x2`"),
        (GOOD.replace("2.5", "1_0"), "could not parse `1_0`"),
        (GOOD.replace("2.5", ""), ", line 4: "),
        (GOOD.replace("2.5", "nan"), ", line 4: "),
        (GOOD.replace("2.5", "-inf"), ", line 4: "),
        (GOOD.replace("2.5", "1e39"), ", line 4: "),
        (GOOD.replace("east 1 0\n", "\n"), ", line 2: "),
        (GOOD + "\n", ", line 5: "),
        (GOOD.replace("east", "", 1), ", line 2: "),
        (GOOD.replace("south", "east"), ", line 3: the word 'east' already stands in line 2"),
        (GOOD.encode().replace(b"south", b"s\xffuth"), "Polars says: invalid utf-8"),
        (GOOD.encode().replace(b"-1", b"-\xff"), " cannot be read: "),
        ("3 2\n" + GOOD, " is cut short: line 1 announces 3 words, and 4 follow"),
        ("5 2\n" + GOOD, " is cut short: line 1 announces 5 words, and 4 follow"),
        ("4 2\n" + GOOD.replace("south", "east"), ", line 4: the word 'east' already stands in line 3"),
        ("4 2\n" + GOOD.replace("-1", ""), ", line 4: "),
        ("2 300\nword \0\1\2\nb \3\n", " cannot be read: "),
        (GOOD.replace("east 1 0\n", "east 1 0 "), " cannot be read: "),
        (GOOD.replace(" ", ","), " holds no word vectors: a line needs a word and its numbers, with a blank between"),
        (GOOD.replace(" ", "\t"), " holds no word vectors"),
        ("word\n", " holds no word vectors"),
        ("\n", " holds no word vectors"),
        ("", " holds no word vectors"),
        (b"\x80\x04\x95\x10", " holds no word vectors"),
    ],
)
def test_what_is_wrong_with_a_text_file_is_said(text_file, content, message):
    path = text_file(content)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}") as caught:
        WordVectors.from_text(path)
    assert message in str(caught.value) and len(str(caught.value).splitlines()) == 1


def test_a_missing_file_says_how_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent.npz are missing: `make glove` fetches .*from_text.*save"):
        WordVectors.load(tmp_path / "absent.npz")
    with pytest.raises(FileNotFoundError, match="There is no file .*absent.txt"):
        WordVectors.from_text(tmp_path / "absent.txt")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(FileNotFoundError, match="folder.npz are missing"):
        WordVectors.load(tmp_path / "folder.npz")


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.vec", "vectors.txt.gz", "glove.6B.zip"])
def test_a_file_of_another_form_says_what_reads_it(text_file, name):
    with pytest.raises(ValueError, match=f"{name} is not an .npz: WordVectors.from_text reads a text file, and .save"):
        WordVectors.load(text_file(GOOD, name))


def test_capitals_in_a_file_name(tmp_path):
    write_npz(tmp_path / "V.NPZ", ["a"], np.ones((1, 2), np.float32))
    assert WordVectors.load(tmp_path / "V.NPZ").words == ["a"]


# damage


def test_every_flipped_byte_is_noticed_or_harmless(tmp_path):
    path = tmp_path / "vectors.npz"
    expected = WordVectors(["north", "é"], [[0, 1], [2, 2.5]])
    expected.save(path)
    good, noticed = path.read_bytes(), 0
    for position in range(len(good)):
        path.write_bytes(good[:position] + bytes([good[position] ^ 0xFF]) + good[position + 1 :])
        try:
            vectors = WordVectors.load(path)
        except ValueError as error:
            noticed += str(error).startswith(f"{path} is damaged") and "`make glove`" in str(error)
        else:
            noticed += vectors.words == expected.words and np.array_equal(vectors.matrix, expected.matrix)
    assert noticed == len(good)


def test_nothing_is_unpickled(tmp_path):
    witness = tmp_path / "witness"

    class Harmful:
        def __reduce__(self):
            return os.mkdir, (str(witness),)

    evil = np.array([Harmful()], dtype=object)
    np.savez(tmp_path / "evil.npz", words=evil, vectors=evil)
    with pytest.raises(ValueError, match="evil.npz is damaged"):
        WordVectors.load(tmp_path / "evil.npz")
    assert not witness.exists()


def test_an_archive_that_unpacks_to_far_too_much_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.npz"
    words = np.frombuffer("\n".join(map(str, range(2_000_000))).encode(), np.uint8)
    np.savez_compressed(path, words=words[:100], vectors=np.zeros((2_000_000, 100), np.float16))
    assert path.stat().st_size < 1_000_000
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"bomb.npz is damaged \(.* bytes that unpack to 400,.* hold no word vectors"):
        WordVectors.load(path)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


# the course's own file


def test_the_shipped_vectors_say_what_they_are(shipped):
    expected = "the course's own vectors (20,000 words, 100 dimensions, trained on WordNet text)"
    assert shipped.name == expected and repr(shipped) == f"<WordVectors: {expected}>"


def test_a_missing_shipped_file_says_how_to_get_it_back(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors_module, "SHIPPED", tmp_path / "course_vectors.npz")
    with pytest.raises(FileNotFoundError, match="course_vectors.npz are missing.*git checkout -- data/course_v"):
        WordVectors.load()


@pytest.mark.parametrize("damage", ["cut short", "empty", "altered", "text"])
def test_a_damaged_shipped_file_says_how_to_get_it_back(tmp_path, monkeypatch, damage):
    path = tmp_path / "course_vectors.npz"
    good = SHIPPED.read_bytes()
    middle = len(good) // 2
    path.write_bytes(
        {
            "cut short": good[:middle],
            "empty": b"",
            "altered": good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :],
            "text": b"version https://git-lfs.github.com/spec/v1\n",
        }[damage]
    )
    monkeypatch.setattr(vectors_module, "SHIPPED", path)
    with pytest.raises(ValueError, match="course_vectors.npz is damaged.*git checkout -- data/course_vectors.npz"):
        WordVectors.load()


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_file_with_numbers_that_are_not_finite_is_damaged(tmp_path, wrong):
    write_npz(tmp_path / "bad.npz", ["a", "b"], np.array([[1, wrong], [0, 1]], np.float16))
    with pytest.raises(ValueError, match="bad.npz is damaged"):
        WordVectors.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("shape", [(2, 2), (3, 0), (3,), (3, 1, 1)])
def test_a_file_of_another_shape_is_damaged(tmp_path, shape):
    write_npz(tmp_path / "bad.npz", ["a", "b", "c"], np.ones(shape, np.float16))
    with pytest.raises(ValueError, match=r"bad.npz is damaged \(3 words, vectors of shape "):
        WordVectors.load(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("words", "message"),
    [(["a", ""], "'' is not a word"), (["a\r", "b\r"], r"'a\\r' is not a word"), (["a", "a"], "'a' occurs twice")],
)
def test_words_that_are_none_are_damage(tmp_path, words, message):
    write_npz(tmp_path / "bad.npz", words, np.ones((2, 2), np.float32))
    with pytest.raises(ValueError, match=f"bad.npz is damaged .*{message}"):
        WordVectors.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("dtype", ["complex64", "U3", "S3", "datetime64[s]", "timedelta64[s]", "bool", "int32"])
def test_vectors_of_another_type_are_damage(tmp_path, dtype):
    write_npz(tmp_path / "good.npz", ["a", "b"], np.ones((2, 2), np.float32))
    with np.load(tmp_path / "good.npz") as archive:
        arrays = dict(archive)
    np.savez(tmp_path / "bad.npz", **arrays | {"vectors": np.ones((2, 2), np.int64).astype(dtype)})
    with pytest.raises(ValueError, match="bad.npz is damaged .*vectors are of type .*, not floats"):
        WordVectors.load(tmp_path / "bad.npz")
    np.savez(tmp_path / "bad.npz", **arrays | {"words": np.array(["a", "b"])})
    with pytest.raises(ValueError, match="bad.npz is damaged .*words are of type <U1, not bytes of text"):
        WordVectors.load(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("length", "message"), [(63, "expected 64 bytes got 63"), (65, "longer than its header"), (1000, "longer than its")]
)
def test_a_member_longer_or_shorter_than_its_header_says_is_damaged(tmp_path, length, message):
    path = tmp_path / "bad.npz"
    write_npz(path, ["a"] * 2, np.ones((2, 8), np.float32))
    with np.load(path) as archive:
        members = {name: archive.zip.read(f"{name}.npy") for name in archive}
    members["vectors"] = members["vectors"][:-64] + bytes(length)  # (2, 8) float32 take 64 bytes
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    with pytest.raises(ValueError, match=f"bad.npz is damaged .*{message}"):
        WordVectors.load(path)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_format_is_that_of_numpy(tmp_path, order):
    ours, numpys = tmp_path / "ours.npz", tmp_path / "numpys.npz"
    words, matrix = ["é", "b", "c"], np.arange(6, dtype=np.float32).reshape(3, 2).copy(order)
    write_npz(ours, words, matrix)
    with np.load(ours) as archive:
        assert np.array_equal(archive["vectors"], matrix)
        for save in (np.savez, np.savez_compressed):
            save(numpys, words=archive["words"], vectors=matrix)
            vectors = WordVectors.load(numpys)
            assert vectors.words == words and np.array_equal(vectors.matrix, matrix) and vectors.matrix.flags.writeable


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "vectors.npz"
    write_npz(path, ["a"], np.ones((1, 2), np.float32))

    def half(file, **arrays):
        file.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", half)
    with pytest.raises(KeyboardInterrupt):
        write_npz(path, ["b"], np.ones((1, 2), np.float32))
    assert WordVectors.load(path).words == ["a"]
    assert [file.name for file in tmp_path.iterdir()] == ["vectors.npz"]
