"""Lexicons as text: a line a word, read into dictionaries that answer a wrong word with the right ones."""

from collections.abc import Iterator


class Table(dict):
    """A dictionary of words; asked for one that it does not hold, it raises a ValueError that lists those it does."""

    def __init__(self, name: str, entries: dict):
        super().__init__(entries)
        self.name = name

    def __missing__(self, word: str):
        raise ValueError(f"{word!r} is no {self.name} of this grammar: choose one of {', '.join(self)}")


def rows(text: str) -> Iterator[list[str]]:
    """The cells of each line; bars part them, or blanks where there is no bar."""
    for line in text.strip().splitlines():
        yield [cell.strip() for cell in line.split("|")] if "|" in line else line.split()
