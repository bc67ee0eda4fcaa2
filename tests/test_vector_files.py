"""utils/vector_files.py: every way a file of vectors can be right or wrong, and the cache beside it."""

import gzip
import os
import re
import signal
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest

from utils import vector_files as module
from utils import vectors as vectors_module
from utils.vector_files import read_text, write_npz
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


def cache_of(path):
    return path.with_name(path.name + ".cache.npz")


@contextmanager
def no_waiting():
    """Opening a named pipe waits for somebody who writes: here that fails after a while."""

    def stop(*_):
        pytest.fail("it waits for a pipe")  # not an Exception, which the reader would take for damage

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 20, 20)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# files that are good


def test_reads_text(text_file):
    vectors = WordVectors.load(text_file(GOOD))
    assert vectors.words == ["north", "east", "south", "northeast"]
    assert vectors["northeast"].tolist() == [2, 2.5]
    assert vectors.name == "vectors from vectors.txt (4 words, 2 dimensions)"
    assert WordVectors.load(text_file(GOOD, "glove.6B.2d.txt")).name == "Stanford's GloVe 6B (4 words, 2 dimensions)"


@pytest.mark.parametrize(
    "content",
    [
        GOOD.rstrip("\n"),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("2.5", "25e-1").replace("2 ", "+2. "),
        GOOD.replace("2.5", ".25E1"),
    ],
    ids=["no newline at the end", "Windows line ends", "exponent and sign", "capital exponent"],
)
def test_reads_variants_of_the_text(text_file, content):
    words, matrix = read_text(text_file(content))
    assert words == ["north", "east", "south", "northeast"]
    assert matrix.tolist() == [[0, 1], [1, 0], [0, -1], [2, 2.5]]


@pytest.mark.parametrize("word", ['"', "'", "#", ",", "null", "nan", "1.5", "été", "\xa0x", "\x85", "<unk>", "\\"])
def test_any_word_is_text(text_file, word):
    words, matrix = read_text(text_file(f"one 1 2\n{word} 3 4\nthree 5 6\n"))
    assert words == ["one", word, "three"]
    assert matrix.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    "content",
    [
        "4 2\n" + GOOD,
        "4 2\r\n" + GOOD.replace("\n", " \r\n"),
        GOOD.replace(" ", "\t"),
        "4\t2\n" + GOOD.replace(" ", "\t"),
        GOOD.replace(" ", "\t").replace("\n", "\t\n"),
        "4 2\n" + GOOD.replace("\n", " \n"),
        GOOD.replace("\n", "  \n").rstrip("\n"),
    ],
    ids=["header", "word2vec on Windows", "tabs", "header and tabs", "tab at the end", "fastText", "blanks at the end"],
)
@pytest.mark.parametrize("block", [1, 1 << 20])
def test_reads_what_other_programs_write(text_file, monkeypatch, content, block):
    monkeypatch.setattr(module, "_BLOCK", block)
    words, matrix = read_text(text_file(content))
    assert words == ["north", "east", "south", "northeast"]
    assert matrix.tolist() == [[0, 1], [1, 0], [0, -1], [2, 2.5]]


@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize("word", [". .", ". . . .", "at name@domain.com", "New York", "\xa0 é", "1 x"])
@pytest.mark.parametrize("separator", [" ", "\t"])
def test_a_word_may_hold_blanks(text_file, word, place, separator):
    names = ["one", "two", "three"]
    names.insert(place, word)
    content = "".join(separator.join([name, str(i), "0.5", "-2"]) + "\n" for i, name in enumerate(names))
    words, matrix = read_text(text_file(content))
    assert words == names
    assert matrix.tolist() == [[i, 0.5, -2] for i in range(4)]


def test_a_header_of_one_number_counts_the_words(text_file):
    assert read_text(text_file("2 1\na 5\nb 6\n"))[0] == ["a", "b"]
    assert read_text(text_file("2 7\n3 5\n4 6\n"))[0] == ["2", "3", "4"]


def test_capitals_in_a_file_name(text_file, tmp_path):
    assert len(WordVectors.load(text_file(gzip.compress(GOOD.encode()), "VECTORS.TXT.GZ"))) == 4
    with zipfile.ZipFile(tmp_path / "VECTORS.ZIP", "w") as file:
        file.writestr("README.MD", "hello")
        file.writestr("VECTORS.TXT", GOOD)
    assert len(WordVectors.load(tmp_path / "VECTORS.ZIP")) == 4
    write_npz(tmp_path / "v.npz", ["a"], np.ones((1, 2), np.float32))
    (tmp_path / "v.npz").rename(tmp_path / "V.NPZ")
    assert WordVectors.load(tmp_path / "V.NPZ").words == ["a"]


def test_blocks_do_not_change_the_result(text_file, monkeypatch):
    rng = np.random.default_rng(0)
    expected = rng.normal(size=(200, 5)).astype(np.float32)
    path = text_file("".join(f"w{i} {' '.join(map(str, row.tolist()))}\n" for i, row in enumerate(expected)))
    for size in (1, 7, 100, 4096):
        monkeypatch.setattr(module, "_BLOCK", size)
        words, matrix = read_text(path)
        assert words == [f"w{i}" for i in range(200)] and np.array_equal(matrix, expected)


def test_reads_packed_text(text_file, tmp_path):
    assert WordVectors.load(text_file(gzip.compress(GOOD.encode()), "vectors.txt.gz")).words[0] == "north"
    archive = tmp_path / "one.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("folder/readme.md", "hello")
        file.writestr("folder/vectors.txt", GOOD)
    assert WordVectors.load(archive).words[0] == "north"
    assert WordVectors.load(f"{archive}::folder/vectors.txt").words[0] == "north"


def test_one_of_several_members_is_chosen(tmp_path):
    archive = tmp_path / "two.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("glove.6B.1d.txt", "one 1\n")
        file.writestr("glove.6B.2d.txt", "two 1 2\n")
    for _ in range(2):  # the second time from the cache, which holds the last member only
        assert WordVectors.load(f"{archive}::glove.6B.1d.txt").words == ["one"]
        assert WordVectors.load(f"{archive}::glove.6B.2d.txt").name == "Stanford's GloVe 6B (1 words, 2 dimensions)"
    with pytest.raises(ValueError, match=r"two.zip holds 2 .txt files.*::member.*glove.6B.1d.txt"):
        WordVectors.load(archive)
    with pytest.raises(ValueError, match=r"no member 'three.txt'.*glove.6B.1d.txt"):
        WordVectors.load(f"{archive}::three.txt")


def test_names_in_an_archive_are_not_paths(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    archive = inner / "evil.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("../escaped.txt", GOOD)
    WordVectors.load(archive)
    assert sorted(path.name for path in inner.iterdir()) == ["evil.zip", "evil.zip.cache.npz"]
    assert [path.name for path in tmp_path.iterdir()] == ["inner"]


# files that are wrong


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (GOOD.replace("south 0 -1", "south 0"), 3, "1 numbers, where other lines have 2"),
        (GOOD.replace("south 0 -1", "south"), 3, "0 numbers, where other lines have 2"),
        (GOOD.replace("south 0 -1", "south 0 -1 5"), 3, "3 numbers, where other lines have 2"),
        (GOOD.replace("east 1 0\nsouth", "east 1\nsouth 4"), 2, "1 numbers"),
        (GOOD.replace("2.5", "2.5x"), 4, "'2.5x' is not a number"),
        (GOOD.replace("2.5", "0x2"), 4, "'0x2' is not a number"),
        (GOOD.replace("2.5", "1_0"), 4, "'1_0' is not a number"),
        (GOOD.replace("2.5", ""), 4, "1 numbers, where other lines have 2"),
        (GOOD.replace("0 -1", "0  -1"), 3, "'' is not a number"),
        (GOOD.replace("0 -1", "0\t-1"), 3, r"'0\t-1' is not a number"),
        (GOOD.replace("2.5", "nan"), 4, "'nan' is not a number"),
        (GOOD.replace("2.5", "-inf"), 4, "'-inf' is not a number"),
        (GOOD.replace("2.5", "1e39"), 4, "too large for 32 bits"),
        (GOOD.replace("east 1 0\n", "\n"), 2, "the line is empty"),
        (GOOD + "\n", 5, "the line is empty"),
        (GOOD.replace("east", ""), 2, "no word"),
        (GOOD.replace("south", "east"), 3, "'east' already stands in line 2"),
        (GOOD.encode().replace(b"south", b"s\xffuth"), 3, "not UTF-8"),
        (GOOD.encode().replace(b"-1", b"-\xff"), 3, r"'-\xff' is not a number"),
        (GOOD.encode().replace(b"-1", b"\x00"), 3, r"'\x00' is not a number"),
        ("word\n", 1, "no numbers"),
        (b"\x80\x04\x95\x10", 1, "no numbers"),
        ("3 2\n" + GOOD, 1, "announces 3 words of 2 numbers, and 4 follow"),
        ("5 2\n" + GOOD, 1, "announces 5 words of 2 numbers, and 4 follow"),
        ("4 7\n" + GOOD, 1, "announces vectors of 7 numbers, and line 2 has 2"),
        ("4 2\n" + GOOD.replace("south", "east"), 4, "'east' already stands in line 3"),
        ("4 2\n" + GOOD.replace("2.5", "2.5x"), 5, "'2.5x' is not a number"),
        ("2 300\nword \x00\x01\x02\nb \x03\n", 1, "binary files of word2vec and fastText must be saved as text"),
        (GOOD.replace("south", "so\ruth"), 3, "a carriage return in the word 'so\\ruth'"),
        (GOOD.replace("east 1 0\n", "east 1 0 "), 2, "'south' is not a number"),
        (GOOD.replace("east 1 0\n", "east 1 0"), 2, "'0south' is not a number"),
        (GOOD.replace("south 0", "south  0"), 3, "'' is not a number"),
        (GOOD.replace("south", "due south").replace("-1", "-1x"), 3, "'-1x' is not a number"),
        (GOOD.replace("south", "due south").replace("2.5", "2.5x"), 4, "'2.5x' is not a number"),
        (GOOD.encode().replace(b"south", b"due s\xffuth"), 3, r"'s\xffuth' is not a number"),
        (GOOD.replace(" ", ","), 1, "with blanks or tabs between"),
    ],
)
@pytest.mark.parametrize("block", [1, 1 << 20])
def test_a_wrong_line_is_named(text_file, monkeypatch, content, line, message, block):
    monkeypatch.setattr(module, "_BLOCK", block)
    monkeypatch.setattr(module, "_FIRST_LINES", 2 if block == 1 else 10)
    path = text_file(content)
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        WordVectors.load(path)
    shown = str(caught.value)
    assert f", line {line}: " in shown and message in shown
    assert not cache_of(path).exists()


def test_an_empty_file_is_named(text_file):
    with pytest.raises(ValueError, match="vectors.txt is empty"):
        WordVectors.load(text_file(b""))


def test_a_missing_file_says_how_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*absent.txt.*`make glove`.*WordVectors.load\(\)"):
        WordVectors.load(tmp_path / "absent.txt")
    with pytest.raises(FileNotFoundError):
        WordVectors.load(tmp_path)


def test_damaged_archives_are_named(text_file, tmp_path):
    packed = gzip.compress(GOOD.encode() * 50, mtime=0)
    for content in (packed[:40], b"not gzip", packed[:30] + b"\xff\xff\xff" + packed[33:]):
        with pytest.raises(ValueError, match="vectors.txt.gz"):
            WordVectors.load(text_file(content, "vectors.txt.gz"))
    with pytest.raises(ValueError, match="not a zip archive"):
        WordVectors.load(text_file("not a zip", "vectors.zip"))
    with pytest.raises(ValueError, match="is not a .zip archive, so it has no member"):
        WordVectors.load(f"{text_file(GOOD)}::member.txt")


def test_a_damaged_member_is_named(tmp_path):
    path = tmp_path / "vectors.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("vectors.txt", GOOD)
    path.write_bytes(path.read_bytes().replace(b"northeast 2 2.5", b"northeast 2 2.6"))
    with pytest.raises(ValueError, match="damaged.*CRC"):
        WordVectors.load(path)


def test_a_line_without_end_is_named(text_file):
    path = text_file(gzip.compress(b"one 1 2\nword " + b"0" * (module._LONGEST_LINE + 10)), "bomb.txt.gz")
    with pytest.raises(ValueError, match="bomb.txt.gz, line 2: does not end within 1,048,576 bytes"):
        WordVectors.load(path)
    with pytest.raises(ValueError, match="vectors.txt, line 1: does not end within"):
        read_text(text_file("word" + " 0" * 2_000_000))


def test_more_numbers_than_any_vector_has(text_file):
    with pytest.raises(
        ValueError, match="vectors.txt, line 1: 100,000 numbers, where word vectors have at most 16,384"
    ):
        read_text(text_file(("word" + " 0" * 100_000 + "\n") * 2))


@pytest.mark.parametrize("name", ["bomb.txt.gz", "bomb.zip"])
def test_an_archive_that_unpacks_to_far_too_much(tmp_path, monkeypatch, name):
    monkeypatch.setattr(module, "_UNPACKED", 1 << 16)
    monkeypatch.setattr(module, "_BLOCK", 1 << 12)
    content = b"word 0 0 0 0\n" * 100_000
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bomb.txt", content)
    else:
        (tmp_path / name).write_bytes(gzip.compress(content))
    with pytest.raises(ValueError, match=f"{name} unpacks to more than [0-9,]+ bytes: no word vectors"):
        WordVectors.load(tmp_path / name)


def test_too_little_memory_names_the_file(text_file, monkeypatch):
    def fail(*_):
        raise MemoryError

    path = text_file(GOOD)
    monkeypatch.setattr(module, "_parse", fail)
    with pytest.raises(MemoryError, match=f"{re.escape(str(path))} takes more memory than there is: keep only"):
        WordVectors.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_nobody_waits_for_a_pipe(text_file, tmp_path):
    path = text_file(GOOD)
    os.mkfifo(cache_of(path))
    os.mkfifo(tmp_path / "pipe.txt")
    with no_waiting():
        assert len(WordVectors.load(path)) == 4
        with pytest.raises(FileNotFoundError, match="pipe.txt"):
            WordVectors.load(tmp_path / "pipe.txt")
        with pytest.raises(ValueError, match="pipe.txt is not a file"):
            read_text(tmp_path / "pipe.txt")
    assert cache_of(path).is_fifo()  # it is somebody's


# the cache


def test_the_second_load_comes_from_the_cache(text_file, monkeypatch):
    path = text_file(GOOD)
    first = WordVectors.load(path)
    monkeypatch.setattr(module, "read_text", None)  # it would fail if it were called
    second = WordVectors.load(path)
    assert second.words == first.words and np.array_equal(second.matrix, first.matrix) and second.name == first.name


def test_a_changed_file_is_read_again(text_file):
    path = text_file(GOOD)
    WordVectors.load(path)
    status = path.stat()
    path.write_text(GOOD.replace("2.5", "7.5"))  # as long as before
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert WordVectors.load(path)["northeast"].tolist() == [2, 7.5]
    path.write_text(GOOD + "west -1 0\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert "west" in WordVectors.load(path)


def test_a_changed_file_is_read_again_although_its_time_was_set_back(text_file):
    path = text_file(GOOD)
    WordVectors.load(path)
    status = path.stat()
    path.write_text(GOOD.replace("2.5", "7.5"))  # as long as before
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert WordVectors.load(path)["northeast"].tolist() == [2, 7.5]


def test_a_change_in_the_middle_of_a_large_file(text_file):
    """Neither end is altered; another file took the place of the old one."""
    filling = "".join(f"w{i} 1 2\n" for i in range(20_000))
    path = text_file(filling + GOOD + filling.replace("w", "v"))
    WordVectors.load(path)
    status = path.stat()
    other = text_file(path.read_bytes().replace(b"northeast 2 2.5", b"northeast 2 7.5"), "other.txt")
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(other, path)
    assert WordVectors.load(path)["northeast"].tolist() == [2, 7.5]


def test_a_damaged_cache_is_ignored_and_written_anew(text_file):
    path = text_file(GOOD)
    WordVectors.load(path)
    cache = cache_of(path)
    good = cache.read_bytes()
    for content in (b"", b"rubbish", good[:-40], good[: len(good) // 2], b"\x80\x04." + good[:-40]):
        cache.write_bytes(content)
        assert WordVectors.load(path)["northeast"].tolist() == [2, 2.5]
        assert cache.read_bytes() == good


def test_every_flipped_byte_is_noticed_or_harmless(text_file):
    """Whatever byte of the cache is altered, the vectors are those of the text."""
    path = text_file(GOOD)
    expected = WordVectors.load(path)
    cache = cache_of(path)
    good = cache.read_bytes()
    for position in range(len(good)):
        cache.write_bytes(good[:position] + bytes([good[position] ^ 0xFF]) + good[position + 1 :])
        vectors = WordVectors.load(path)
        assert vectors.words == expected.words and np.array_equal(vectors.matrix, expected.matrix), position


def test_nothing_is_unpickled(text_file, tmp_path):
    path = text_file(GOOD)
    witness = tmp_path / "witness"

    class Harmful:
        def __reduce__(self):
            return os.mkdir, (str(witness),)

    evil = np.array([Harmful()], dtype=object)
    with open(cache_of(path), "wb") as file:
        np.savez(file, words=evil, vectors=evil, stamp=evil)
    assert WordVectors.load(path).words[0] == "north"
    with open(tmp_path / "evil.npz", "wb") as file:
        np.savez(file, words=evil, vectors=evil, stamp=evil)
    with pytest.raises(ValueError, match="evil.npz is damaged"):
        WordVectors.load(tmp_path / "evil.npz")
    assert not witness.exists()


@pytest.mark.parametrize("error", [PermissionError(13, "read-only"), OSError(28, "No space left on device")])
def test_a_folder_that_cannot_be_written_to_is_no_error(text_file, monkeypatch, error):
    path = text_file(GOOD)

    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(zipfile.ZipFile, "open", fail)
    assert WordVectors.load(path).words[0] == "north"
    assert [file.name for file in path.parent.iterdir()] == ["vectors.txt"]


def test_a_folder_in_the_place_of_the_cache_is_no_error(text_file):
    path = text_file(GOOD)
    cache_of(path).mkdir()
    assert WordVectors.load(path).words[0] == "north"
    assert sorted(file.name for file in path.parent.iterdir()) == ["vectors.txt", "vectors.txt.cache.npz"]


# the course's own file


def test_the_shipped_vectors_say_what_they_are(shipped):
    expected = "the course's own vectors (20,000 words, 100 dimensions, trained on WordNet text)"
    assert shipped.name == expected and repr(shipped) == f"<WordVectors: {expected}>"


def test_a_missing_shipped_file_says_how_to_get_it_back(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors_module, "SHIPPED", tmp_path / "course_vectors.npz")
    with pytest.raises(FileNotFoundError, match="course_vectors.npz, are missing.*git checkout -- data/course_v"):
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
    write_npz(ours, words, matrix, "a note")
    with np.load(ours) as archive:
        assert np.array_equal(archive["vectors"], matrix) and archive["stamp"].tobytes() == b"a note"
        for save in (np.savez, np.savez_compressed):
            save(numpys, words=archive["words"], vectors=matrix, stamp=archive["stamp"])
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
