"""utils/vectors.py: look-up and comparison, PCA, and every way a file of vectors can be wrong."""

import gzip
import os
import re
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utils import vectors as module
from utils.vectors import SHIPPED, WordVectors, pca, read_text, write_npz

GOOD = "north 0 1\neast 1 0\nsouth 0 -1\nnortheast 2 2.5\n"


@pytest.fixture(scope="module")
def shipped():
    return WordVectors.load()


@pytest.fixture
def compass():
    return WordVectors(["north", "east", "south", "northeast"], [[0, 1], [1, 0], [0, -1], [2, 2.5]])


@pytest.fixture
def text_file(tmp_path):
    def write(content, name="vectors.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def cache_of(path):
    return path.with_name(path.name + ".cache.npz")


# look-up and comparison


def test_looks_words_up(compass):
    assert "north" in compass and "west" not in compass and 3 not in compass
    assert len(compass) == 4 and compass.words[1] == "east"
    assert compass.matrix.shape == (4, 2) and compass.matrix.dtype == np.float32
    assert compass["east"].tolist() == [1, 0] and compass["east"].dtype == np.float32


def test_a_vector_that_is_changed_does_not_change_the_set(compass):
    vector = compass["east"]
    vector += 5
    assert compass["east"].tolist() == [1, 0]


def test_unknown_word_names_close_spellings(shipped):
    with pytest.raises(KeyError, match="'oceann' is not among the 20,000 words.*close spellings: ocean"):
        shipped["oceann"]
    with pytest.raises(KeyError, match="'Ocean'.*lower case, try 'ocean'"):
        shipped.similarity("ship", "Ocean")
    with pytest.raises(KeyError, match="^\"'qqqqqqq' is not among .* text\\)\"$"):
        shipped.nearest("qqqqqqq")
    with pytest.raises(KeyError, match="a word is a string"):
        shipped[3]
    with pytest.raises(TypeError, match="a word is a string, not list"):
        shipped[["ship"]]


def test_similarity_is_the_cosine(compass):
    assert compass.similarity("north", "east") == pytest.approx(0)
    assert compass.similarity("north", "south") == pytest.approx(-1)
    assert compass.similarity("north", "northeast") == pytest.approx(2.5 / np.hypot(2, 2.5))
    assert compass.similarity("east", np.array([3, 3])) == pytest.approx(np.sqrt(0.5))
    assert isinstance(compass.similarity("north", "east"), float)


def test_nearest_is_sorted_and_leaves_the_question_out(compass):
    found = compass.nearest("north", 2)
    assert [word for word, _ in found] == ["northeast", "east"]
    assert found[0][1] == pytest.approx(compass.similarity("north", "northeast"))
    assert compass.nearest(np.array([0, 3]), 1) == [("north", pytest.approx(1))]
    assert len(compass.nearest("north", 100)) == 3


def test_among_offers_the_first_words_only(compass):
    assert compass.nearest("north", 3, among=2) == [("east", pytest.approx(0))]
    assert compass.nearest("northeast", 1, among=1)[0][0] == "north"
    assert compass.nearest("south", 3, among=None) == compass.nearest("south", 3)


def test_analogy_adds_the_difference_and_leaves_the_questions_out(compass):
    assert compass.analogy("south", "east", "east", k=1)[0][0] == "northeast"
    words = [word for word, _ in compass.analogy("north", "east", "south", k=5)]
    assert words == ["northeast"]


def test_analogy_on_the_shipped_words(shipped):
    assert shipped.analogy("man", "king", "woman")[0][0] == "queen"
    assert not {"man", "king", "woman"} & {word for word, _ in shipped.analogy("man", "king", "woman", k=50)}


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 19_999), st.integers(0, 19_999))
def test_cosines_are_symmetric_and_bounded(shipped, i, j):
    a, b = shipped.words[i], shipped.words[j]
    assert shipped.similarity(a, b) == pytest.approx(shipped.similarity(b, a), abs=1e-12)
    assert abs(shipped.similarity(a, b)) <= 1 + 1e-12
    assert shipped.similarity(a, a) == pytest.approx(1)


def test_nearest_agrees_with_similarity(shipped):
    cosines = {word: shipped.similarity("ship", word) for word in shipped.words[:2000] if word != "ship"}
    best = sorted(cosines, key=cosines.get, reverse=True)[:10]
    found = shipped.nearest("ship", 10, among=2000)
    assert [word for word, _ in found] == best
    assert [cosine for _, cosine in found] == pytest.approx([cosines[word] for word in best], abs=1e-5)


@pytest.mark.parametrize("wrong", [np.zeros(2), np.array([np.nan, 1]), np.array([np.inf, 1])])
def test_a_vector_without_a_direction_is_refused(compass, wrong):
    with pytest.raises(ValueError, match="the vector has length .* points nowhere"):
        compass.nearest(wrong)


def test_wrong_arguments_are_named(compass):
    with pytest.raises(ValueError, match=re.escape("a vector of shape (2,), got shape (3,)")):
        compass.nearest(np.ones(3))
    with pytest.raises(ValueError, match="k counts words and must be 1 or more, not 0"):
        compass.nearest("north", 0)
    with pytest.raises(ValueError, match="among counts words .* not -1"):
        compass.analogy("north", "east", "south", among=-1)
    with pytest.raises(ValueError, match="3 words need a matrix"):
        WordVectors(["a", "b", "c"], np.ones((2, 2)))
    with pytest.raises(ValueError, match="'a' occurs twice"):
        WordVectors(["a", "b", "a"], np.ones((3, 2)))


def test_a_zero_row_is_nobodys_neighbour():
    vectors = WordVectors(["a", "nothing", "b"], [[1, 0], [0, 0], [-1, 0]])
    assert vectors.nearest("a", 2) == [("nothing", 0), ("b", -1)]
    with pytest.raises(ValueError, match="vector of 'nothing' has length 0"):
        vectors.similarity("a", "nothing")


# PCA


def test_pca_keeps_the_distances_when_it_keeps_all_axes():
    points = np.random.default_rng(0).normal(size=(5, 3))
    coordinates, shares = pca(points, k=3)
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert np.allclose(np.linalg.norm(coordinates[:, None] - coordinates[None], axis=-1), distances)
    assert shares.sum() == pytest.approx(1) and (np.diff(shares) <= 0).all()
    assert np.allclose(coordinates.mean(axis=0), 0)


def test_pca_signs_follow_the_points(shipped):
    points = np.stack([shipped[word] for word in ("florida", "california", "texas", "politics", "truth")])
    coordinates, shares = pca(points)
    assert coordinates.shape == (5, 2) and shares.shape == (2,)
    assert np.array_equal(coordinates, pca(points)[0])
    mirrored, _ = pca(-points)
    axes = np.linalg.lstsq(coordinates, points - points.mean(axis=0), rcond=None)[0]
    assert all(axis[np.abs(axis).argmax()] > 0 for axis in axes)
    assert np.allclose(np.abs(mirrored), np.abs(coordinates))


@pytest.mark.parametrize("shape", [(3,), (1, 4), (5, 1), (2, 3, 4)])
def test_pca_refuses_points_without_two_axes(shape):
    with pytest.raises(ValueError, match=re.escape(str(shape))):
        pca(np.random.default_rng(0).normal(size=shape))


def test_pca_refuses_points_without_variance():
    with pytest.raises(ValueError, match="all points are the same"):
        pca(np.ones((4, 3)))
    with pytest.raises(ValueError, match="NaN or infinite"):
        pca([[1, 2], [np.nan, 3]])


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
        (GOOD.replace("south 0 -1", "south 0"), 3, "1 numbers, where the first line has 2"),
        (GOOD.replace("south 0 -1", "south"), 3, "0 numbers, where the first line has 2"),
        (GOOD.replace("south 0 -1", "south 0 -1 5"), 3, "3 numbers, where the first line has 2"),
        (GOOD.replace("east 1 0\nsouth", "east 1\nsouth 4"), 2, "1 numbers"),
        (GOOD.replace("2.5", "2.5x"), 4, "'2.5x' is not a number"),
        (GOOD.replace("2.5", "0x2"), 4, "'0x2' is not a number"),
        (GOOD.replace("2.5", "1_0"), 4, "'1_0' is not a number"),
        (GOOD.replace("2.5", ""), 4, "'' is not a number"),
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
        ("3 2\n" + GOOD, 2, "2 numbers, where the first line has 1"),
    ],
)
@pytest.mark.parametrize("block", [1, 1 << 20])
def test_a_wrong_line_is_named(text_file, monkeypatch, content, line, message, block):
    monkeypatch.setattr(module, "_BLOCK", block)
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
    monkeypatch.setattr(module, "SHIPPED", tmp_path / "course_vectors.npz")
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
    monkeypatch.setattr(module, "SHIPPED", path)
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


@pytest.mark.parametrize("length", [63, 65, 1000])
def test_a_member_longer_or_shorter_than_its_header_says_is_damaged(tmp_path, length):
    path = tmp_path / "bad.npz"
    write_npz(path, ["a"] * 2, np.ones((2, 8), np.float32))
    with np.load(path) as archive:
        members = {name: archive.zip.read(f"{name}.npy") for name in archive}
    members["vectors"] = members["vectors"][:-64] + bytes(length)  # (2, 8) float32 take 64 bytes
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    with pytest.raises(ValueError, match="bad.npz is damaged .*header"):
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

    def half(member, header):
        member.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", half)
    with pytest.raises(KeyboardInterrupt):
        write_npz(path, ["b"], np.ones((1, 2), np.float32))
    assert WordVectors.load(path).words == ["a"]
    assert [file.name for file in tmp_path.iterdir()] == ["vectors.npz"]
