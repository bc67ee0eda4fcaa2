"""Text as the pieces of a published chat model, SmolLM2-135M-Instruct: byte-pair encoding, and the format of a chat.

Sennrich et al. 2016 (byte-pair encoding), Radford et al. 2019 (GPT-2: on bytes, after a text is cut into words), Ben
Allal et al. 2025 (SmolLM2). Vocabulary and merges come from the model's file; the rule that cuts a text into words is
not in the file, only its name.

Letters and numbers are those of Python's Unicode tables: a letter newer than these is cut like punctuation."""

import codecs
import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Self

from .checks import require_choice, require_list, require_text

# Words

BLANK = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # Unicode's White_Space; \s has four more
WORD = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)"  # the end of a contraction
    r"| ?[^\W_]+"  # letters; numbers stand alone already
    rf"| ?(?:[^\w{BLANK}]|_)+"  # whatever is no letter, number or blank
    rf"|[{BLANK}]+(?![^{BLANK}])|[{BLANK}]+"  # blanks, without the last one if a word follows: it begins the word
)


def words(text: str) -> list[str]:
    """A text, cut as SmolLM2's was: each digit is a word, then GPT-2's pattern. The words together are the text.

    A blank belongs to the word that follows it. Source: `pre_tokenizer` in the model's tokenizer.json, Digits and
    ByteLevel; the pattern is that of GPT-2's encoder.py (Radford et al. 2019)."""
    numbers = "".join(character for character in set(text) if is_number(character))
    parts = re.split(f"([{numbers}])", text) if numbers else [text]
    return [word for part in parts for word in WORD.findall(part)]


def is_number(character: str) -> bool:
    """Is it of Unicode's categories Nd, Nl or No? 中 and 三 are letters, although 三 has a numeric value."""
    return character.isnumeric() and not character.isalpha()


# Bytes

VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]  # bytes that Latin-1 shows as a character
HIDDEN = [byte for byte in range(256) if byte not in VISIBLE]  # blanks and control characters
TO_VISIBLE = {byte: 256 + number for number, byte in enumerate(HIDDEN)}  # a blank is Ġ, the end of a line Ċ
TO_BYTE = {character: byte for byte, character in TO_VISIBLE.items()}


def visible(text: str) -> str:
    """One visible character for each byte of the text in UTF-8, as GPT-2 writes its vocabulary: " é" is ĠÃ©."""
    return text.encode().decode("latin-1").translate(TO_VISIBLE)


def as_bytes(piece: str) -> bytes:
    """The bytes that the visible characters of a piece stand for."""
    return piece.translate(TO_BYTE).encode("latin-1")


# Merges


def join(parts: Sequence[str], pair: tuple[str, str]) -> list[str]:
    """The parts of a word, where each occurrence of the pair, from left to right, has become one part."""
    joined: list[str] = []
    for part in parts:
        if joined and (joined[-1], part) == pair:
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def merge(parts: Sequence[str], ranks: Mapping[tuple[str, str], int]) -> list[str]:
    """Byte-pair encoding of one word (Sennrich et al. 2016, algorithm 1, on a new word): while two neighbours are a
    pair of the list, join the pair that was learned first, which has the lowest rank."""
    parts = list(parts)
    while len(parts) > 1:
        pair = min(pairwise(parts), key=lambda pair: ranks.get(pair, math.inf))
        if pair not in ranks:
            break
        parts = join(parts, pair)
    return parts


class BytePairs:
    """Text as ids of byte-pair pieces, and back.

    names: the vocabulary, in the order of the ids; each byte is a visible character (`visible`). merges: pairs of
    pieces, a blank between them, in the order in which they were learned. special: names of the vocabulary that are
    not made by merging, such as <|im_end|>. ValueError: a merge, or a special token, that the vocabulary lacks."""

    def __init__(self, names: Sequence[str], merges: Sequence[str], special: Iterable[str] = ()):
        require_list(names=names, merges=merges, special=special)
        self.names, self.special = list(names), frozenset(special)
        self.ids = {name: number for number, name in enumerate(self.names)}
        self.ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
        needed = {*self.special, *map("".join, self.ranks)}
        if not needed <= self.ids.keys():
            lacking = min(needed - self.ids.keys())
            raise ValueError(f"the vocabulary lacks {lacking!r}; names, merges and special have to be of one model")
        longest_first = sorted(self.special, key=len, reverse=True)
        self._cut_special = re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})").split
        self.ids_of_word = lru_cache(maxsize=1 << 16)(self._ids_of_word)

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Self:
        """The pieces of a GGUF file, by the keys `tokenizer.ggml.…` of its metadata.

        ValueError: the file has another kind of pieces, or cuts a text into words by another rule."""
        found = {key: metadata.get(f"tokenizer.ggml.{key}") for key in ("model", "pre")}
        if found != {"model": "gpt2", "pre": "smollm"}:
            raise ValueError(
                f"the file's pieces are {found['model']!r}, cut by the rule {found['pre']!r}; this class knows 'gpt2' "
                "and 'smollm': take the file of SmolLM2"
            )
        names, kinds, merges = (metadata[f"tokenizer.ggml.{key}"] for key in ("tokens", "token_type", "merges"))
        control = 3  # GGUF's number for a special token
        return cls(names, merges, special=[name for name, kind in zip(names, kinds) if kind == control])

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, text: str, special: bool = True) -> list[int]:
        """The ids of a text. special: what reads like a special token is one; False, where others typed the text.

        A byte without a piece is left out, as the library does: SmolLM2 has none for six control characters, and none
        that begins a character from U+40000 to U+BFFFF, where Unicode has no characters. ValueError: half of a
        surrogate pair."""
        require_text(text)
        ids: list[int] = []
        for part in self._cut_special(text) if special else [text]:
            if special and part in self.special:
                ids.append(self.ids[part])
            else:
                ids.extend(number for word in words(part) for number in self.ids_of_word(word))
        return ids

    def _ids_of_word(self, word: str) -> list[int]:
        known = [character for character in visible(word) if character in self.ids]
        return [self.ids[piece] for piece in merge(known, self.ranks)]

    def bytes_of(self, number: int) -> bytes:
        """The bytes of the piece with this id. An id out of range: ValueError."""
        if not 0 <= number < len(self):
            raise ValueError(f"the id {number} must lie between 0 and {len(self) - 1}")
        name = self.names[number]
        return name.encode() if name in self.special else as_bytes(name)

    def stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Text while it is written: for each id (an int, or a tensor of one) the characters that it completes, which
        may be none; at the end, � for a character that stayed incomplete. Together they are `decode(ids)`."""
        characters = codecs.getincrementaldecoder("utf-8")("replace")
        for number in ids:
            yield characters.decode(self.bytes_of(operator.index(number)))
        yield characters.decode(b"", final=True)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids (n,), special tokens included. Bytes that are no UTF-8 become �. An id out of range:
        ValueError."""
        return "".join(self.stream(ids))

    def pieces(self, text: str, special: bool = True) -> list[str]:
        r"""The pieces of a text, to show them. Where one holds only a part of a character, the part is \xf0\x9f."""
        return [self.bytes_of(number).decode("utf-8", "backslashreplace") for number in self.encode(text, special)]


# A chat

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"  # what the model was trained with
START, END = "<|im_start|>", "<|im_end|>"


def chat_prompt(messages: Sequence[Mapping[str, str]]) -> str:
    """A chat as one text, at whose end the assistant has to go on; its answer ends with <|im_end|>.

    messages: {"role": …, "content": …} each, the role system, user or assistant. Without a system message at the
    beginning it is SYSTEM. A special token that is typed in a message is one: nothing is taken out. Source: the
    `chat_template` of SmolLM2-135M-Instruct, in its tokenizer_config.json and in the GGUF file.
    ValueError: no messages, another role, a message without a text."""
    if not messages or not all(isinstance(message, Mapping) for message in messages):
        raise ValueError(f'{messages!r} must be a list of messages, such as [{{"role": "user", "content": "Hello"}}]')
    turns = [(message.get("role"), message.get("content")) for message in messages]
    for role, content in turns:
        require_choice(role, ("system", "user", "assistant"), "role")
        require_text(content)
    if turns[0][0] != "system":
        turns.insert(0, ("system", SYSTEM))
    return "".join(f"{START}{role}\n{content}{END}\n" for role, content in turns) + f"{START}assistant\n"
