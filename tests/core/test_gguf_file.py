"""A GGUF file is read as its specification says, and its blocks become the numbers that they stand for."""

import math
import struct

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from utils import gguf_file

TYPES = {bool: (7, "?"), int: (4, "I"), float: (6, "f")}


def text(said):
    return struct.pack("<Q", len(said.encode())) + said.encode()


def value(given):
    """The type of a metadata value, and its bytes."""
    if isinstance(given, str):
        return 8, text(given)
    if isinstance(given, list):
        kinds = [value(one) for one in given]
        return 9, struct.pack("<IQ", kinds[0][0], len(given)) + b"".join(raw for _, raw in kinds)
    kind, form = TYPES[type(given)]
    return kind, struct.pack(f"<{form}", given)


def written(metadata, tensors, version=3):
    """A GGUF file of metadata and tensors {name: (sizes of the axes, the last first, kind, bytes)}."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, one in metadata.items():
        kind, raw = value(one)
        head += text(key) + struct.pack("<I", kind) + raw
    align, numbers = metadata.get("general.alignment", 32), b""
    for name, (sizes, kind, raw) in tensors.items():
        numbers += bytes(-len(numbers) % align)
        head += text(name) + struct.pack("<I", len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes)
        head += struct.pack("<IQ", kind, len(numbers))
        numbers += raw
    return head + bytes(-len(head) % align) + numbers


def q4_1(scale, minimum, bits):
    halves = [low | high << 4 for low, high in zip(bits[:16], bits[16:])]
    return struct.pack("<2e16B", scale, minimum, *halves)


BITS = [(7 * k) % 16 for k in range(32)]
WHOLE = [k * 8 - 128 for k in range(32)]
FILE = {
    "a": ([3, 2], 0, struct.pack("<6f", 1, 2, 3, 4, 5, 6.5)),
    "b": ([32, 2], 3, q4_1(0.5, -3, BITS) + q4_1(-2, 0.25, BITS[::-1])),
    "c": ([64], 8, struct.pack("<e32b", 0.5, *WHOLE) + struct.pack("<e32b", -1, *WHOLE)),
}
METADATA = {
    "general.architecture": "llama",
    "heads": 9,
    "eps": 0.5,
    "tied": True,
    "words": ["Ġa", "é", ""],
    "n": [1, 2],
}


@pytest.mark.parametrize("align", [32, 64])
def test_metadata_and_tensors_are_those_that_were_written(align):
    metadata, tensors = gguf_file.read(written(METADATA | {"general.alignment": align}, FILE))
    assert metadata == METADATA | {"general.alignment": align} and list(tensors) == list(FILE)
    assert torch.equal(tensors["a"].numbers(), torch.tensor([[1, 2, 3], [4, 5, 6.5]]))
    rows = [[0.5 * bit - 3 for bit in BITS], [-2 * bit + 0.25 for bit in BITS[::-1]]]
    assert tensors["b"].shape == (2, 32) and torch.equal(tensors["b"].numbers(), torch.tensor(rows))
    assert tensors["c"].numbers().tolist() == [0.5 * one for one in WHOLE] + [-one for one in WHOLE]


def test_numbers_are_of_their_own_memory():
    content = bytearray(written(METADATA, FILE))
    _, tensors = gguf_file.read(memoryview(content))
    first = tensors["a"].numbers()
    first.zero_()
    assert tensors["a"].numbers()[0, 0] == 1, "the file is not written into"


@given(st.data())
def test_a_file_that_is_cut_short_is_refused_and_never_read(data):
    content = written(METADATA, FILE)
    with pytest.raises(ValueError, match="model.gguf"):
        gguf_file.read(content[: data.draw(st.integers(0, len(content) - 1))], "model.gguf")


@pytest.mark.parametrize(
    "content, problem",
    [
        (b"PK\x03\x04", r"m.gguf is no GGUF file: it begins with b'PK\\x03\\x04'"),
        (b"", "m.gguf is no GGUF file"),
        (written({}, {}, version=2), "m.gguf is of GGUF version 2; the course reads version 3"),
        (written({}, {"x": ([32], 12, bytes(32))}), "x of m.gguf is stored as kind 12; the course reads"),
        (written({}, {"x": ([33], 3, bytes(40))}), "x of m.gguf was cut short or altered: not all of its 33"),
    ],
)
def test_other_files_are_refused(content, problem):
    with pytest.raises(ValueError, match=problem):
        gguf_file.read(content, "m.gguf")


def test_blocks_are_read_as_the_formula_says_for_any_bytes():
    blocks = np.random.default_rng(0).integers(0, 256, (500, 20), dtype=np.uint8)
    blocks[:, 1] &= 0x3B  # scales and minima that are finite
    blocks[:, 3] &= 0x3B
    found = gguf_file.of_q4_1(torch.from_numpy(blocks))
    for row, numbers in zip(blocks.tolist(), found.tolist()):
        scale, minimum = struct.unpack("<2e", bytes(row[:4]))
        for place, number in enumerate(numbers):
            bits = row[4 + place % 16] >> (4 * (place >= 16)) & 15
            assert math.isclose(number, scale * bits + minimum, rel_tol=1e-6, abs_tol=1e-7)
