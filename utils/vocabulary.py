"""Words as numbers: the ids of the special tokens, and the vocabulary that turns words into ids and back."""

import difflib
from collections.abc import Iterable

import torch
from torch import Tensor

from .checks import require_list

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")  # they come first in every Vocabulary
PAD_ID, START_ID, END_ID, UNKNOWN_ID = range(len(SPECIAL))


class Vocabulary:
    """Words and their ids. First come the special tokens, padding, start, end and unknown; then the words, sorted."""

    def __init__(self, words: Iterable[str]):
        require_list(words=words)
        self.words = [*SPECIAL, *sorted(set(words).difference(SPECIAL))]
        self._ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._ids

    def encode(
        self, sentence: str | Iterable[str], start: bool = False, end: bool = False, strict: bool = False
    ) -> list[int]:
        """The ids of a sentence; a string is split at blanks. start, end: put <s> before it, </s> after it.

        An unknown word becomes <unk>; if strict, it is a ValueError that names words like it."""
        words = sentence.split() if isinstance(sentence, str) else list(sentence)
        for word in words if strict else ():
            if word not in self._ids:
                own = self.words[len(SPECIAL) :]
                near = difflib.get_close_matches(word, own, n=3)
                hint = f"; near it: {', '.join(near)}" if near else ""
                raise ValueError(f"{word!r} is not among the {len(own)} words of this vocabulary{hint}")
        ids = [self._ids.get(word, UNKNOWN_ID) for word in words]
        return [START_ID] * start + ids + [END_ID] * end

    def decode(self, ids: Iterable[int] | Tensor) -> list[str]:
        """The words of one sequence of ids (n,) up to </s>, without <pad> and <s>. An id out of range: ValueError."""
        words = []
        for i in ids.tolist() if isinstance(ids, Tensor) else ids:
            if not 0 <= i < len(self):
                raise ValueError(f"the id {i} must lie between 0 and {len(self) - 1}")
            if i == END_ID:
                break
            if i not in (PAD_ID, START_ID):
                words.append(self.words[i])
        return words

    def batch(
        self,
        sentences: Iterable[str | Iterable[str]],
        start: bool = False,
        end: bool = False,
        device: torch.device | None = None,
    ) -> Tensor:
        """Sentences side by side: tokens (b, n), int64, shorter ones with <pad> behind (`masks.padding_mask` hides it).

        n is the length of the longest; <s> and </s> count as words. device: where they are made, such as a model's.
        ValueError for no sentence, or one without a word.
        """
        require_list(sentences=sentences)
        rows = [self.encode(sentence, start, end) for sentence in sentences]
        if not rows or not all(set(row) - {PAD_ID} for row in rows):
            raise ValueError(f"a batch needs sentences of at least one word, not {rows}")
        longest = max(map(len, rows))
        return torch.tensor([row + [PAD_ID] * (longest - len(row)) for row in rows], device=device)  # (b, n)
