"""The files of a published encoder, all-MiniLM-L6-v2, and what is in them.

Reimers and Gurevych 2019, Wang et al. 2020; Apache-2.0; data/README.md says more."""

import json

import torch
from torch import Tensor

from .model_files import ENCODER

WEIGHTS, VOCABULARY = ENCODER.sha256
DTYPES = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}  # as a safetensors file calls them

content, fetch = ENCODER.content, ENCODER.fetch


def tensors(raw: bytes) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name: 8 bytes with the length of a header in JSON, the header, the numbers.

    The header says of each tensor its dtype, its shape, and from where to where its numbers stand behind the header."""
    length = int.from_bytes(raw[:8], "little")
    header, numbers = json.loads(raw[8 : 8 + length]), memoryview(bytearray(raw))[8 + length :]  # slices copy nothing
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            flat = torch.frombuffer(numbers[begin:end], dtype=DTYPES[entry["dtype"]])  # bytes → numbers
            found[name] = flat.view(entry["shape"])
    return found
