"""A model in a GGUF file, as llama.cpp writes them: its metadata, and its tensors, each of which becomes numbers when
it is asked for. Source: the specification of GGUF, version 3 (ggml-org/ggml, docs/gguf.md). Nothing is unpickled.

    file      "GGUF", version, how many tensors, how many metadata; metadata; tensor infos; the numbers, aligned
    metadata  key, type, value                    text: its length in bytes, then UTF-8; everything is little-endian
    info      name, sizes of the axes (the last one first), kind of numbers, from which byte on
"""

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

MAGIC, VERSION, ALIGNMENT = b"GGUF", 3, "general.alignment"
NUMBERS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd"))  # types of metadata, as `struct` calls them
TEXT, ARRAY = 8, 9
BLOCK = 32  # numbers that share a scale


def of_float32(blocks: Tensor) -> Tensor:
    """Numbers from bytes (n, 4): (n, 1)."""
    return blocks.view(torch.float32)


def of_q4_1(blocks: Tensor) -> Tensor:
    """Numbers (n, 32) from blocks (n, 20) of bytes: a scale and a minimum in float16, then 32 numbers of four bits, the
    lower halves of the 16 bytes first. A number is scale · bits + minimum."""
    scale, minimum = blocks[:, :4].contiguous().view(torch.float16).float().split(1, dim=1)  # (n, 1) each
    bits = torch.cat([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], dim=1)  # (n, 32)
    return bits.float().mul_(scale).add_(minimum)


def of_q8_0(blocks: Tensor) -> Tensor:
    """Numbers (n, 32) from blocks (n, 34) of bytes: a scale in float16, then 32 whole numbers of eight bits."""
    scale = blocks[:, :2].contiguous().view(torch.float16).float()  # (n, 1)
    return blocks[:, 2:].contiguous().view(torch.int8).float().mul_(scale)


KINDS: Mapping[int, tuple[int, int, Callable[[Tensor], Tensor]]] = {  # numbers of a block, bytes of a block, reader
    0: (1, 4, of_float32),
    3: (BLOCK, 20, of_q4_1),
    8: (BLOCK, 34, of_q8_0),
}


class Stored(NamedTuple):
    """A tensor of a file: its shape, and where its numbers are and in which form."""

    raw: memoryview
    shape: tuple[int, ...]
    kind: int
    begin: int

    def numbers(self) -> Tensor:
        """The tensor in float32, of its own memory."""
        per_block, size, read = KINDS[self.kind]
        count = math.prod(self.shape) // per_block * size
        blocks = torch.from_numpy(np.frombuffer(self.raw, np.uint8, count, self.begin).copy()).view(-1, size)
        return read(blocks).view(self.shape)


class Cursor:
    """Reads one thing after the other from the bytes of a file."""

    def __init__(self, raw: memoryview):
        self.raw, self.at = raw, 0

    def one(self, form: str) -> Any:
        """A number, in the form that `struct` calls so."""
        (found,) = struct.unpack_from(f"<{form}", self.raw, self.at)
        self.at += struct.calcsize(f"<{form}")
        return found

    def text(self) -> str:
        length = self.one("Q")
        self.at += length
        return str(self.raw[self.at - length : self.at], "utf-8")

    def value(self, kind: int) -> Any:
        if kind == TEXT:
            return self.text()
        if kind == ARRAY:
            kind, length = self.one("I"), self.one("Q")
            return [self.value(kind) for _ in range(length)]
        return self.one(NUMBERS[kind])


def read(content: bytes | memoryview, name: str = "the file") -> tuple[dict[str, Any], dict[str, Stored]]:
    """Metadata and tensors of a GGUF file by name. No number is read yet: `Stored.numbers()` does that.

    content: the bytes of the file, or a map of it. ValueError: it is no GGUF file of version 3, it ends too early, or
    it holds numbers in a form that the course does not read; the message calls it by `name`."""
    raw = memoryview(content).cast("B")
    if bytes(raw[:4]) != MAGIC:
        raise ValueError(f"{name} is no GGUF file: it begins with {bytes(raw[:4])!r}")
    cursor = Cursor(raw[4:])
    try:
        if (version := cursor.one("I")) != VERSION:
            raise ValueError(f"{name} is of GGUF version {version}; the course reads version {VERSION}")
        tensors, entries = cursor.one("Q"), cursor.one("Q")
        metadata = {cursor.text(): cursor.value(cursor.one("I")) for _ in range(entries)}
        infos = [
            (cursor.text(), [cursor.one("Q") for _ in range(cursor.one("I"))], cursor.one("I"), cursor.one("Q"))
            for _ in range(tensors)
        ]
    except (struct.error, KeyError, UnicodeDecodeError):
        raise ValueError(f"{name} was cut short or altered: what it holds cannot be read") from None
    align = metadata.get(ALIGNMENT, 32)
    begin = math.ceil((4 + cursor.at) / align) * align
    found = {one: Stored(raw, tuple(sizes[::-1]), kind, begin + offset) for one, sizes, kind, offset in infos}
    for one, stored in found.items():
        require_readable(stored, f"{one} of {name}")
    return metadata, found


def require_readable(stored: Stored, name: str) -> None:
    """ValueError unless the numbers are of a known kind, in whole blocks, and all there."""
    if stored.kind not in KINDS:
        raise ValueError(f"{name} is stored as kind {stored.kind}; the course reads the kinds {[*KINDS]}")
    per_block, size, _ = KINDS[stored.kind]
    count = math.prod(stored.shape)
    if count % per_block or stored.begin + count // per_block * size > len(stored.raw):
        raise ValueError(f"{name} was cut short or altered: not all of its {count:,} numbers are there")
