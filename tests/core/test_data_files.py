"""utils/data_files.py: what ships in data/ is read as it was written, or one error names the file and the remedy."""

import shutil

import pytest

from utils import data_files, published
from utils.data_files import DATA, SUMS

READ = {
    "pairs.txt": lambda: published.sentences("pairs.txt"),
    "questions.txt": lambda: published.sentences("questions.txt"),
    "senses.txt": lambda: published.sentences("senses.txt"),
    "proverbs.txt": lambda: published.sentences("proverbs.txt"),
    "course_text.txt": lambda: published.sentences("course_text.txt"),
}
MIDDLE = 1000
DAMAGE = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "a line short": lambda content: content[: content.rindex(b"\n", 0, -1) + 1],
    "a NUL": lambda content: content[:MIDDLE] + b"\0" + content[MIDDLE:],
    "a vertical tab": lambda content: content.replace(b" ", b"\x0b", 5),
    "a line separator": lambda content: content.replace(b" ", "\u2028".encode(), 1),
    "no UTF-8": lambda content: content[:MIDDLE] + b"\xff" + content[MIDDLE + 1 :],
    "a byte-order mark": lambda content: b"\xef\xbb\xbf" + content,
    "UTF-16": lambda content: content.decode().encode("utf-16"),
    "a blank more": lambda content: content + b" ",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the small files of data/, which are read there."""
    for name in (*READ, SUMS):
        shutil.copy(DATA / name, tmp_path)
    for module in (data_files, published):
        monkeypatch.setattr(module, "DATA", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_as_it_was_written(folder, name):
    assert len(READ[name]()) > 30 and all(len(row) in (2, 3, 4) for row in READ[name]())


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", READ)
def test_damage_is_named_with_its_remedy(folder, name, damage):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(DAMAGE[damage](content))
    assert (folder / name).read_bytes() != content
    remedy = rf"Get it back with `git checkout -- data/{name}`, or clone the course again\.$"
    with pytest.raises(ValueError, match=rf"{name} was cut short or altered: its sha256 is .* {remedy}"):
        READ[name]()


@pytest.mark.parametrize("name", READ)
def test_a_missing_file_is_named_with_its_remedy(folder, name):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{name} is missing\. Get it back with `git checkout -- data/{name}`"):
        READ[name]()


def test_a_list_that_is_lost_or_damaged_is_named_itself(folder):
    (folder / SUMS).write_bytes(b"\0" + (folder / SUMS).read_bytes())
    with pytest.raises(ValueError, match=f"{SUMS}, line 1, is not a checksum .*git checkout -- data/{SUMS}`"):
        READ["pairs.txt"]()
    (folder / SUMS).unlink()
    with pytest.raises(ValueError, match=f"{SUMS} does not list it. Get it back with `git checkout -- data/{SUMS}`"):
        READ["pairs.txt"]()


@pytest.mark.parametrize("name", READ)
def test_the_ends_of_lines_of_windows_do_no_harm(folder, name):
    """git writes them there, into the list, too."""
    before = READ[name]()
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert READ[name]() == before
