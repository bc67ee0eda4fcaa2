"""A published chat model in the course's own layers: SmolLM2-135M-Instruct (Ben Allal et al. 2025, Apache-2.0).

Its blocks are those of Llama (Touvron et al. 2023): RMSNorm, rotary positions, shared key heads, gated feed-forward."""

import mmap
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from . import gguf_file
from .byte_pairs import BytePairs
from .decoder import LanguageModel
from .model_files import CHAT

FILE = next(iter(CHAT.sha256))
PARTS = {  # what the file calls the parts of a block
    "attn_q": "attention.W_q.weight", "attn_k": "attention.W_k.weight", "attn_v": "attention.W_v.weight",
    "attn_output": "attention.W_o.weight", "attn_norm": "norm_1.gamma", "ffn_norm": "norm_3.gamma",
    "ffn_gate": "feed_forward.W_1.weight", "ffn_up": "feed_forward.W_3.weight", "ffn_down": "feed_forward.W_2.weight",
}  # fmt: skip
OTHERS = {"token_embd.weight": "embedding.vectors.weight", "output_norm.weight": "decoder.final_norm.gamma"}
KEY = "llama."  # what the names of its sizes begin with
_last: Any = lambda: None  # noqa: E731  a weak reference to the model that was loaded last


def our_name(name: str) -> str:
    """What our model calls a tensor of the file: blk.0.attn_q.weight is decoder.blocks.0.attention.W_q.weight."""
    if name in OTHERS:
        return OTHERS[name]
    _, number, part, _ = name.split(".")
    return f"decoder.blocks.{number}.{PARTS[part]}"


def empty_model(metadata: Mapping[str, Any]) -> LanguageModel:
    """The model whose sizes are in the file, its numbers still without a value."""
    size = {name.removeprefix(KEY): value for name, value in metadata.items() if name.startswith(KEY)}
    with torch.device("meta"):
        model = LanguageModel(
            size["vocab_size"],
            d_model=size["embedding_length"],
            num_heads=size["attention.head_count"],
            num_kv_heads=size["attention.head_count_kv"],
            num_layers=size["block_count"],
            d_ff=size["feed_forward_length"],
            positions="rotary",
            base=size["rope.freq_base"],
            norm_kind="rms",
            gated=True,
            activation="silu",
            bias=False,
            tied=True,
        )
    model.to_empty(device="cpu")
    model.to_logits.weight = model.embedding.vectors.weight
    return model.eval().requires_grad_(False)


def fill(model: LanguageModel, tensors: Iterator[tuple[str, Tensor]]) -> None:
    """Write tensors with the file's names into a model, one after the other. ValueError: one is missing or too many."""
    named = model.state_dict(keep_vars=True)
    waiting = {name: parameter for name, parameter in named.items() if name != "to_logits.weight"}
    for name, tensor in tensors:
        parameter = waiting.pop(our_name(name), None)
        if parameter is None or parameter.shape != tensor.shape:
            raise ValueError(f"{name} {tuple(tensor.shape)} has no place in the model")
        parameter.data.copy_(tensor)
    if waiting:
        raise ValueError(f"the file has no {', '.join(waiting)}")


def load_chat() -> tuple[LanguageModel, BytePairs]:
    """The chat model and its pieces, from the file, whose checksum is compared before.

    Loaded a second time while the first model is still in use, that one gets the file's numbers again and is returned:
    two would take 540 MB more. Missing: the file is not here. ValueError: it was cut short or altered."""
    global _last
    path = CHAT.find(FILE)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        CHAT.checked(content, FILE, f"{path}")
        metadata, tensors = gguf_file.read(content, f"{path}")
        model = _last() or empty_model(metadata)
        fill(model, ((name, stored.numbers()) for name, stored in tensors.items()))
        del tensors  # they point into the map
    _last = weakref.ref(model)
    return model, BytePairs.from_metadata(metadata)
