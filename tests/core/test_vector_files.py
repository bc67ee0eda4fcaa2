"""utils/vector_files.py, vector_text.py: the form of the course's vectors, text of one's own, other people's forms, and
every way in which each can be wrong."""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import re
import tracemalloc
import zipfile

import numpy as np
import pytest
import torch

from utils import vector_text
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
        "4\t2 \n" + GOOD.replace(" ", "\t"),
        GOOD.replace(" ", "\t", 1).replace(" ", "  "),
        GOOD.replace("east 1", "east\t1").replace("south ", "south \t "),
        GOOD.replace("east", " \t east", 1).replace("south", " south"),
        GOOD + "\n\n \t\n",
        GOOD.replace("\n", "\r\n") + "\r\n\r\n",
        "\ufeff" + GOOD,
        "\ufeff\ufeff4 2\n" + GOOD,
        "\ufeff4 2\r\n" + GOOD.replace("\n", "\r\n").rstrip(),
        GOOD.encode("utf-16"),
        ("\ufeff4 2\r\n" + GOOD.replace("\n", "\r\n")).encode("utf-16-be"),
    ],
    ids=["no newline at the end", "Windows", "exponent and sign", "header", "header on Windows", "fastText"]
    + [
        "tabs",
        "tab and blanks",
        "mixed blanks",
        "blanks in front",
        "blank lines",
        "blank lines on Windows",
        "BOM",
        "BOM and header",
        "Notepad",
        "UTF-16",
        "PowerShell",
    ],
)
def test_reads_what_other_programs_write(text_file, content):
    vectors = WordVectors.from_text(text_file(content))
    assert vectors.words == ["north", "east", "south", "northeast"]
    assert vectors.matrix.tolist() == [[0, 1], [1, 0], [0, -1], [2, 2.5]]


ALONE = ['"', "'", "#", ",", "null", "nan", "1.5", "été", "\xa0x", "\x85", "<unk>", "\\", "\u2028", "\ufffd"]
BLANKS = [
    ". . .",
    "at name@domain.com",
    "a\xa0b\u3000c",
    "route 66",
    "new inf",
    "- 15",
    "New\tYork",
    "x  y",
    ". .\x85",
]


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "middle", "last"])
@pytest.mark.parametrize("header", ["", "3 3\n"], ids=["no header", "header"])
@pytest.mark.parametrize("word", ALONE + BLANKS)
def test_any_word_is_text(text_file, word, header, place):
    """The numbers are the last d fields, wherever the word stands that has blanks in it."""
    words = [*("one", "two"), ""][:place] + [word] + ["two", "three"][place:]
    rows = [f"{one} 0.{number} .5 -1e-3\n" for number, one in enumerate(words)]
    vectors = WordVectors.from_text(text_file(header + "".join(rows)))
    assert vectors.words == words
    assert np.allclose(vectors.matrix, [[number / 10, 0.5, -0.001] for number in range(3)])


@pytest.mark.parametrize("word", ['"', "nan", "été", "\x85"])
def test_whole_numbers_are_no_part_of_a_word_without_blanks(text_file, word):
    vectors = WordVectors.from_text(text_file(f"one 1 2\n{word} 3 4\nthree 5 6\n"))
    assert vectors.words == ["one", word, "three"]
    assert vectors.matrix.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            GOOD.replace("south 0 -1", "south 0"),
            ", line 3: a line needs a word and 2 numbers, but this one has 2 fields",
        ),
        (
            GOOD.replace("south 0 -1", "south"),
            ", line 3: a line needs a word and 2 numbers, but this one has 1 field: ",
        ),
        (
            GOOD.replace("south 0 -1", "south 0, -1"),
            ", line 3: a line needs a word and 2 numbers, but '0,' is not a number",
        ),
        (GOOD.replace("2.5", "2.5x"), ", line 4: a line needs a word and 2 numbers, but '2.5x' is not a number"),
        (GOOD.replace("2.5", "0x2"), "'0x2' is not a number"),
        (GOOD.replace("2.5", "1_0"), "'1_0' is not a number"),
        (GOOD.replace("2.5", "\u0662"), "'\u0662' is not a number"),
        (GOOD.replace("2.5", ""), ", line 4: "),
        (GOOD.replace("2.5", "nan"), ", line 4: a line needs a word and 2 numbers, but 'nan' is not a finite number"),
        (
            GOOD.replace("2.5", "-inf"),
            ", line 4: a line needs a word and 2 numbers, but '-inf' is not a finite number",
        ),
        (
            GOOD.replace("2.5", "1e39"),
            ", line 4: a line needs a word and 2 numbers, but '1e39' is too large: float32 ends at 3.4e+38",
        ),
        (
            GOOD.replace("2.5", "-1e400"),
            "'-1e400' is too large: float32 ends at 3.4e+38: 'northeast 2 -1e400'",
        ),
        (GOOD.replace("east 1 0\n", "\n"), ", line 2: a line needs a word and 2 numbers, but this one has no fields"),
        (
            "# vectors of 2026\n" + GOOD,
            ", line 1: a line needs a word and 2 numbers, but 'of' is not a number: '# vectors",
        ),
        (
            "# comment\n" + GOOD,
            ", line 1: a line needs a word and 2 numbers, but this one has 2 fields: '# comment'. Cor",
        ),
        ("4 2\n# comment\n" + GOOD, ", line 2: a line needs a word and 2 numbers, but this one has 2 fields"),
        ("// a comment of five words\n4 2\n" + GOOD, ", line 1: a line needs a word and 2 numbers"),
        (GOOD + "\n \nwest -1 0\n", ", line 5: a line needs a word and 2 numbers, but this one has no fields: ''."),
        (GOOD.replace("east", "", 1), ", line 2: "),
        (GOOD.replace("south", "east"), ", line 3: 'east' is already in line 2. Remove one of them."),
        (
            GOOD.encode().replace(b"south", b"s\xffuth"),
            ", line 3: a line needs a word and 2 numbers, but the word is not in",
        ),
        (
            GOOD.encode().replace(b"-1", b"-\xff"),
            ", line 3: a line needs a word and 2 numbers, but '-\ufffd' is not a num",
        ),
        ("3 2\n" + GOOD, ": line 1 announces 3 words, and 4 follow. Correct or remove line 1."),
        ("5 2\n" + GOOD, " is cut short: line 1 announces 5 words, and 4 follow. Fetch it again"),
        ("4 2\n" + GOOD.replace("south", "east"), ", line 4: 'east' is already in line 3"),
        ("4 2\n" + GOOD.replace("-1", ""), ", line 4: "),
        (
            "4 3\n" + GOOD,
            ": line 1 says 4 words of 3 numbers, but most lines have 2. Correct or remove line 1.",
        ),
        ("4 1\n" + GOOD.replace(" ", " 0."), ": line 1 says 4 words of 1 number, but most lines have 2."),
        ("4 0\n" + GOOD, ": line 1 says 4 words of 0 numbers, but most lines have 2."),
        ("2 3\n", " is cut short: line 1 announces 2 words of 3 numbers, and none follows. Fetch it again."),
        ("2 3", " is cut short: line 1 announces 2 words of 3 numbers, and none follows."),
        ("\ufeff2 3", " is cut short: line 1 announces 2 words of 3 numbers, and none follows."),
        (
            GOOD.replace("east 1 0\n", "east 1 0 "),
            ", line 2: a line needs a word and 2 numbers, but two lines seem to have run together",
        ),
        (
            GOOD.replace("\n", "\r"),
            ", line 1: a line needs a word and 2 numbers, but lines end in \\r, as on old Macs: save the file wi",
        ),
        (
            GOOD.replace("south", "so\ruth"),
            ", line 3: a line needs a word and 2 numbers, but lines end in \\r, as on old",
        ),
        (
            GOOD.replace(" ", ","),
            " contains no line with a word and its numbers; line 1 is 'north,0,1'. ',' stands where blanks or tabs",
        ),
        (GOOD.replace(" ", "\xa0"), "; line 1 is 'north\\xa00\\xa01'. '\\xa0' stands where blanks or tabs should."),
        (GOOD.replace(" ", "\u3000"), "'\\u3000' stands where blanks or tabs should."),
        (GOOD.replace(" ", ";").replace("2.5", "2,5"), "';' stands where blanks or tabs should."),
        (
            "the 0,1 0,2\nof 0,3 0,4\n",
            "line 1 is 'the 0,1 0,2'. The numbers have decimal commas: write 0.25, not 0,25.",
        ),
        ('{"the": [0.1, 0.2]}', "line 1 is '{\"the\": [0.1, 0.2]}'. It looks like JSON"),
        ("2 2\nthe,0.1,0.2\nof,0.3,0.4\n", "line 2 is 'the,0.1,0.2'. ',' stands where"),
        (b"PAR1\x15\x04\x15\x80\xff" * 9, " is not a text file in UTF-8. If it is text, save it as UTF-8; if not, get"),
        (
            b"\x89PNG\r\n\x1a\n" + bytes(30),
            " is not a text file in UTF-8. If it is text, save it as UTF-8; if not, get",
        ),
        ("".join(f"w{i} 1 2\n" for i in range(900)) + "so\0uth 1 2\n", ", line 901: it holds a NUL"),
        (
            (GOOD + "w 1 2\n").encode("utf-16").replace(b"w\0", b"\0\xd8"),
            " is damaged: it begins as text in UTF-16, but byte",
        ),
        ("word\n", " contains no line with a word and its numbers; line 1 is 'word'. A number looks like 0.25, with"),
        ("\n", " holds nothing but blank lines."),
        ("", " is empty."),
        (GOOD.replace("south", "so\0uth"), " is not a text file in UTF-8. If it is text, save"),
        (GOOD.encode("utf-16-le"), " is not a text file in UTF-8. If it is text, save"),
    ],
)
def test_what_is_wrong_with_a_text_file_is_said(text_file, content, message):
    path = text_file(content)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}") as caught:
        WordVectors.from_text(path)
    assert message in str(caught.value) and len(str(caught.value).splitlines()) == 1


def test_where_all_words_end_in_a_number_the_header_says_where_the_word_ends(text_file):
    rows = "".join(f"route {number} 0.{number} 0.5\n" for number in range(1, 4))
    assert WordVectors.from_text(text_file(f"3 2\n{rows}")).words == ["route 1", "route 2", "route 3"]
    with pytest.raises(ValueError, match="line 2: 'route' is already in line 1"):
        WordVectors.from_text(text_file(rows))


B = "the 0.1 0.2 0.3\nof 0.4 0.5 0.6\nto 0.7 0.8 0.9\n"


def refused(path, message):
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}") as caught:
        WordVectors.from_text(path)
    assert message in str(caught.value) and len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("header", ["", "2 3\n"])
@pytest.mark.parametrize("word", ["of", "New York", "é", "'", ".", "-", "e", "2nd", "007", "inf"])
def test_a_lost_end_of_a_line_is_noticed(text_file, word, header):
    text = header + B.replace("0.3\nof", f"0.3{word}") + "a 1 2 .3\n"
    refused(
        text_file(text), f"line {2 if header else 1}: a line needs a word and 3 numbers, but two lines seem to have"
    )


@pytest.mark.parametrize("lost", [" 0.3\n", "3\n", "0.3\n", ".3\n", " 0.2 0.3\n", ".2 0.3\n"])
def test_a_lost_end_of_a_line_and_of_its_numbers_is_noticed(text_file, lost):
    for between in " ", "":
        refused(text_file(B.replace(lost, between, 1)), "line 1: a line needs a word and 3 numbers, but ")


def test_whole_numbers_that_run_into_the_next_word_are_noticed(text_file):
    refused(
        text_file("north 0 1east 1 0\nsouth 0 -1\nwest 1 2\n"), "line 1: a line needs a word and 2 numbers, but two"
    )


@pytest.mark.parametrize(
    "line", ["a 0.1 0.2 0.3 0.4", "a 5e-1 0.2 0.3 0.4", "a -.1 1 2 3", "a 1 2 3 4", "a b .1 1 .3 .4"]
)
def test_one_number_too_many_is_refused(text_file, line):
    refused(text_file(B + line), f"line 4: a line needs a word and 3 numbers, but this one has 4: {line!r}. Correct")


def test_a_header_may_say_that_words_end_in_decimals(text_file):
    text = "3 2\npi 3.14 0.1 0.2\ne 2.71 0.1 0.2\nthe 0.1 0.2"
    vectors = WordVectors.from_text(text_file(text))
    assert vectors.words == ["pi 3.14", "e 2.71", "the"] and vectors.matrix.shape == (3, 2)


def test_a_header_that_would_help_is_named(text_file):
    rows = "route 66 .1 .2\npage 3 .1 .2\nno 5 .3 .4\nthe .1 .2\n"
    refused(
        text_file(rows + "\n"),
        "line 4: a line needs a word and 3 numbers, but this one has 3 fields: 'the .1 .2'. "
        "Correct or remove it (if a vector has 2 numbers, put a first line '4 2' in front).",
    )
    assert WordVectors.from_text(text_file("4 2\n" + rows)).words == ["route 66", "page 3", "no 5", "the"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("3 3\nthe 0.1 0.2 0.3\nof 0.4 0.5", ", line 3: a line needs a word and 3 numbers, but this one has 3 fields"),
        ("2 3\nthe 0.1", ", line 2: a line needs a word and 3 numbers, but this one has 2 fields"),
        ("4 3\nthe 0.1 0.2 0.3\nof 0.4\n", ", line 3: a line needs a word and 3 numbers, but this one has 2 fields"),
        ("1 2\nthe 0.1\n", ": line 1 says 1 word of 2 numbers, but most lines have 1. Correct or remove line 1."),
        ("2 3\nthe 0.1 0.2\nof 0.1 0.2\n", ": line 1 says 2 words of 3 numbers, but most lines have 2."),
        ("5 3\na .1 .2 .3\nb .1 .2 .3\nc .1\nd .1 .2\ne .1 .2 .3 .4\n", ", line 4: "),
    ],
)
def test_a_header_and_lines_that_differ(text_file, content, message):
    refused(text_file(content), message)


def test_lost_characters_may_be_two_words(text_file):
    """Stanford's 840B has two lines whose words were characters that are lost; the first counts."""
    vectors = WordVectors.from_text(text_file("a 1 2\n\ufffd\ufffd 3 4\nb 5 6\n\ufffd\ufffd 7 8\nc 9 0\n"))
    assert vectors.words == ["a", "\ufffd\ufffd", "b", "c"] and vectors.matrix[:, 0].tolist() == [1, 3, 5, 9]
    with pytest.raises(ValueError, match="line 4: 'a' is already in line 3"):
        WordVectors.from_text(text_file("\ufffd 1 2\n\ufffd 3 4\na 5 6\na 7 8\n"))


def test_pieces_make_no_difference(text_file, monkeypatch):
    """A large file is read in pieces: lines are counted through, and odd ones change nothing in the others."""
    words = [f"word{number}" if number % 7 else f". {number} ." for number in range(100)]
    path = text_file("100 2\r\n" + "".join(f"{word} {number}.5\t1e-3\r\n" for number, word in enumerate(words)))
    monkeypatch.setattr(vector_text, "PIECE", 200)
    vectors = WordVectors.from_text(path)
    assert vectors.words == words and vectors.matrix[:, 0].tolist() == [number + 0.5 for number in range(100)]
    path.write_text(path.read_text().replace("word97 97.5", "word97 97.5.5"))
    with pytest.raises(ValueError, match=r"line 99: a line needs a word and 2 numbers, but '97\.5\.5' is not a number"):
        WordVectors.from_text(path)


# other people's forms


def saved(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def zipped(name, content):
    def write(file):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(name, content)

    return saved(write)


NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3) / 10
BINARY = b"2 3\n" + b"".join(word + b" " + row.tobytes() + b"\n" for word, row in zip([b"the", b"of"], NUMBERS + 1))
TENSOR = {"a": torch.ones(2)}
HEADER = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
FORMS = {
    "glove.zip": (
        zipped("glove.txt", GOOD),
        "is a zip archive: unzip it first, with `python -m zipfile -e {path} .`",
    ),
    "text.gz": (gzip.compress(GOOD.encode()), "is packed by gzip: unpack it first, {gunzip}, then"),
    "text.bz2": (bz2.compress(GOOD.encode()), "is a compressed file: unpack it first, for example with 7-Zip"),
    "text.xz": (lzma.compress(GOOD.encode()), "is a compressed file: unpack it first, for example with 7-Zip"),
    "vectors.bin": (
        BINARY,
        "is a .bin of word2vec: in gensim, KeyedVectors.load_word2vec_format('{path}', binary=True)",
    ),
    "cc.en.bin": (b"\xba\x16\x4f\x2f\x0c\0\0\0", "is a .bin of fastText: in gensim, models.fasttext.load_facebook_vec"),
    "words.kv": (
        pickle.dumps({"a": 1}),
        "is a pickle, which may run any code and is not opened here.*KeyedVectors.load(",
    ),
    "words.model": (pickle.dumps({"a": 1}, 2), "is a pickle.*Word2Vec.load('{path}').wv.save_word2vec_format("),
    "old.pt": (saved(lambda file: torch.save(TENSOR, file, _use_new_zipfile_serialization=False)), "is a pickle"),
    "new.pt": (
        saved(lambda file: torch.save(TENSOR, file)),
        "is a .pt of PyTorch, of tensors without words: with a list",
    ),
    "a.safetensors": (
        len(HEADER).to_bytes(8, "little") + HEADER + bytes(8),
        "is a .safetensors of tensors without words",
    ),
    "a.npy": (
        saved(lambda file: np.save(file, NUMBERS)),
        "is one array without words: with a list of them, WordVectors(wor",
    ),
    "page.txt": (
        b"\n<!DOCTYPE html><html>",
        "is a web page, not the vectors: download the file that the page links to",
    ),
    "pointer.txt": (b"version https://git-lfs.github.com/spec/v1\noid", "is a pointer of Git LFS, not the file itself"),
    "other.npz": (
        saved(lambda file: np.savez(file, vocab=np.array(["the", "of"]), table=NUMBERS)),
        "is an .npz of another form ('vocab' (2,) of <U3, 'table' (2, 3) of float32). After "
        "`a = np.load('{path}')`, WordVectors(a['vocab'].tolist(), a['table']) holds them",
    ),
    "words.npz": (
        saved(lambda file: np.savez(file, words=np.array(["the", "of"]), vectors=NUMBERS)),
        "is an .npz of another form ('words' (2,) of <U3, 'vectors' (2, 3) of float32). After `a",
    ),
    "one.npz": (
        saved(lambda file: np.savez(file, NUMBERS)),
        "is an .npz of another form ('arr_0' (2, 3) of float32), without a word for each row: "
        "with a list of the words, WordVectors(words, np.load('{path}')['arr_0']) holds both",
    ),
    "none.npz": (
        saved(lambda file: np.savez(file, a=[1, 2])),
        "is an .npz of another form ('a' (2,) of int64), without a matrix of floats",
    ),
}


@pytest.mark.parametrize("read", [WordVectors.load, WordVectors.from_text], ids=["load", "from_text"])
@pytest.mark.parametrize("name", FORMS)
def test_other_forms_are_named_with_a_way_forward(text_file, name, read):
    """By what is in the file, whatever its name is."""
    content, message = FORMS[name]
    for path in text_file(content, name), text_file(content, "odd_name"):
        gunzip = f"with `python -m gzip -d {path}`" if path.suffix == ".gz" else "for example with 7-Zip"
        said = message.replace("{path}", str(path)).replace("{gunzip}", gunzip)
        with pytest.raises(ValueError, match=re.escape(f"{path} {said}").replace(r"\.\*", ".*")) as caught:
            read(path)
        assert len(str(caught.value).splitlines()) == 1


def test_paths_in_remedies_can_be_typed(text_file):
    for name, content in {"my glove.gz": gzip.compress(b"a"), "my glove.zip": FORMS["glove.zip"][0]}.items():
        path = text_file(content, name)
        with pytest.raises(ValueError, match=f" -[de] '{path}'"):
            WordVectors.from_text(path)


@pytest.mark.parametrize("words", [["the", "é"], np.array(["the", "é"]), np.char.encode(["the", "é"], "utf-8")])
@pytest.mark.parametrize("other", [{}, {"also": np.ones((5, 2))}, {"names": np.array(["a", "b", "c"])}])
def test_what_is_said_of_an_npz_can_be_typed(tmp_path, words, other):
    np.savez(tmp_path / "their s.npz", **other, theirs=words, table=NUMBERS)
    with pytest.raises(ValueError) as caught:
        WordVectors.load(tmp_path / "their s.npz")
    said = re.search(r"`a = (.*)`, (WordVectors.*) holds them", str(caught.value))
    vectors = eval(said[2], {"a": eval(said[1], {"np": np}), "np": np, "WordVectors": WordVectors})
    assert vectors.words == ["the", "é"] and np.array_equal(vectors.matrix, NUMBERS)


def test_an_archive_that_is_cut_short(tmp_path, text_file):
    WordVectors(["a", "b"], NUMBERS).save(tmp_path / "v.npz")
    whole = (tmp_path / "v.npz").read_bytes()
    for content in FORMS["glove.zip"][0][:-30], whole[:-30], whole[:100]:
        for name in "glove.zip", "glove.npz":
            refused(text_file(content, name), "begins as a zip archive, but its end is missing: fetch it again.")
        with pytest.raises(ValueError, match="glove.zip begins as a zip archive, but its end is missing: fetch it"):
            WordVectors.load(text_file(content, "glove.zip"))
    damaged = whole.replace(NUMBERS.tobytes()[4:], NUMBERS.tobytes()[:-4])
    refused(text_file(damaged, "damaged.npz"), "damaged.npz is a damaged zip archive: fetch it again.")
    write_npz(tmp_path / "v.npz", ["a", ""], NUMBERS)
    refused(tmp_path / "v.npz", "v.npz is damaged ('' is not a word)")


def test_a_text_or_nothing_at_all_under_the_name_of_an_npz(text_file):
    with pytest.raises(ValueError, match="t.npz is text: WordVectors.from_text reads it"):
        WordVectors.load(text_file(GOOD, "t.npz"))
    for name in "t.npz", "t.txt":
        with pytest.raises(ValueError, match=f"{name} is empty"):
            WordVectors.load(text_file("", name))


@pytest.mark.parametrize("read", [WordVectors.load, WordVectors.from_text], ids=["load", "from_text"])
def test_a_folder_and_an_address(tmp_path, read):
    with pytest.raises(FileNotFoundError, match=f"{tmp_path} is a folder"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError, match="is an address: fetch the file first"):
        read("https://nlp.stanford.edu/data/glove.6B.zip")


@pytest.mark.parametrize(
    ("words", "matrix", "message"),
    [
        (["a\nb", "c"], NUMBERS, r"'a\\nb' is not a word"),
        (["a\r", "c"], NUMBERS, r"'a\\r' is not a word"),
        (["a", ""], NUMBERS, "'' is not a word"),
        (["a", "\ud800"], NUMBERS, r"'\\ud800' is not a word"),
        (["a", "b"], [[1, 2], [np.nan, 1]], "the vector of 'b' holds NaN or infinite numbers"),
        (["a", "b"], [[1, -np.inf], [2, 1]], "the vector of 'a' holds NaN or infinite numbers"),
        ([], np.ones((0, 3)), "0 words"),
        (["a", "b"], np.ones((2, 0)), r"2 words, vectors of shape \(2, 0\)"),
    ],
)
def test_what_could_not_be_read_again_is_not_saved(tmp_path, words, matrix, message):
    with pytest.raises(ValueError, match=f"^WordVectors.load could not read the file: {message}"):
        WordVectors(words, matrix).save(tmp_path / "v.npz")
    assert not list(tmp_path.iterdir())


def test_the_way_that_is_named_for_another_npz_works(text_file, tmp_path):
    a = np.load(text_file(FORMS["other.npz"][0], "other.npz"))
    WordVectors(a["vocab"].tolist(), a["table"]).save(tmp_path / "mine.npz")
    vectors = WordVectors.load(tmp_path / "mine.npz")
    assert vectors.words == ["the", "of"] and np.array_equal(vectors.matrix, NUMBERS)
    with pytest.raises(ValueError, match="mine.npz is an .npz, which WordVectors.load reads"):
        WordVectors.from_text(tmp_path / "mine.npz")
    (tmp_path / "mine.npz").rename(tmp_path / "mine.vectors")
    assert WordVectors.load(tmp_path / "mine.vectors").words == ["the", "of"]


def test_a_missing_file_says_how_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent.npz are missing: `make glove` fetches .*from_text.*save"):
        WordVectors.load(tmp_path / "absent.npz")
    with pytest.raises(FileNotFoundError, match="There is no file .*absent.txt"):
        WordVectors.from_text(tmp_path / "absent.txt")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(FileNotFoundError, match="folder.npz is a folder"):
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
    with pytest.raises(ValueError, match="evil.npz is an .npz of another form .* with pickles, which may run any code"):
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
def test_vectors_of_another_type_are_another_form(tmp_path, dtype):
    write_npz(tmp_path / "good.npz", ["a", "b"], np.ones((2, 2), np.float32))
    with np.load(tmp_path / "good.npz") as archive:
        arrays = dict(archive)
    np.savez(tmp_path / "bad.npz", **arrays | {"vectors": np.ones((2, 2), np.int64).astype(dtype)})
    with pytest.raises(ValueError, match="bad.npz is an .npz of another form .*'vectors' \\(2, 2\\) of"):
        WordVectors.load(tmp_path / "bad.npz")
    np.savez(tmp_path / "bad.npz", **arrays | {"words": np.array(["a", "b"])})
    with pytest.raises(ValueError, match="bad.npz is an .npz of another form .*'words' \\(2,\\) of <U1"):
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


def test_under_a_header_a_decimal_may_belong_to_a_word(tmp_path):
    path = tmp_path / "words.vec"
    path.write_text("2 3\n- 1.5 0.1 0.2 0.3\nthe 0.4 0.5 0.6\n", encoding="utf-8")
    vectors = WordVectors.from_text(path)
    assert vectors.words == ["- 1.5", "the"] and vectors.matrix.shape == (2, 3)
