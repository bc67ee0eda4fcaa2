"""The chat model in the course's layers says what `transformers` says of the same file (experiments/record_chat.py)."""

import functools
import hashlib
import json
from pathlib import Path

import pytest
import torch

from utils import chat, gguf_file
from utils.byte_pairs import chat_prompt
from utils.exercises.tasks.decoder import tied_logits
from utils.exercises.tasks.masking import causal_mask, masked_attention
from utils.exercises.tasks.multi_head_attention import merge_heads, split_heads
from utils.exercises.tasks.transformer_encoder_block import residual_step, rotate_pair
from utils.model_files import CHAT

RECORDED = json.loads((Path(__file__).parents[2] / "data" / "chat_reference.json").read_text(encoding="utf-8"))
# Of all numbers, as the package gguf 0.19 reads them: python -m experiments.record_chat FOLDER --numbers
CHECKSUM = "3d36236037ab7420ec103c8e026cc38edbde536506031ea7d8c37e1530fb4fe0"


@pytest.fixture(scope="module")
def loaded(published_chat):
    return published_chat


def written(model, ids, count):
    """The ids that a model writes greedily after these, until it ends."""
    tokens, state, found = torch.tensor([ids]), None, []
    while len(found) < count and found[-1:] != [2]:
        with torch.no_grad():
            logits, state, _ = model(tokens, state)
        tokens = logits[:, -1:].argmax(-1)
        found.append(tokens.item())
    return found


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda one: one["said"])
def test_logits_and_text_are_those_of_transformers(loaded, recorded):
    model, pieces = loaded
    ids = pieces.encode(chat_prompt([{"role": "user", "content": recorded["said"]}]))
    assert ids == recorded["ids"]
    with torch.no_grad():
        logits = model(torch.tensor([ids]))[0][0, -len(recorded["logits"]) :]
    largest, expected = torch.tensor(recorded["largest"]), torch.tensor(recorded["logits"])
    torch.testing.assert_close(logits.gather(1, largest), expected, atol=1e-3, rtol=0)
    assert logits.topk(largest.shape[1]).values.ge(expected - 1e-3).all(), "no other logit is larger"
    assert written(model, ids, len(recorded["written"])) == recorded["written"]


def test_a_prompt_read_in_parts_through_the_cache_gives_the_same(loaded):
    model, _ = loaded
    ids = torch.tensor([RECORDED[0]["ids"]])
    with torch.no_grad():
        whole = model(ids)[0]
        for cuts in ([1], [7, 8], [3, 20, 21]):
            parts, state = [], None
            for part in ids.tensor_split(cuts, dim=1):
                logits, state, _ = model(part, state)
                parts.append(logits)
            torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-3, rtol=0)


def test_loading_again_brings_the_file_s_numbers_back_in_the_same_memory(loaded):
    model, _ = loaded
    before = model.decoder.blocks[3].attention.W_q.weight.clone()
    with torch.no_grad():
        model.decoder.blocks[3].attention.W_q.weight.zero_()
    again, _ = chat.load_chat()
    assert again is model and torch.equal(model.decoder.blocks[3].attention.W_q.weight, before)
    assert model.to_logits.weight is model.embedding.vectors.weight


def test_the_numbers_are_those_that_the_package_gguf_reads(loaded):
    _, tensors = gguf_file.read(CHAT.find(chat.FILE).read_bytes())
    digest = hashlib.sha256()
    for name, stored in tensors.items():
        digest.update(name.encode())
        digest.update(stored.numbers().numpy().tobytes())
    assert digest.hexdigest() == CHECKSUM


def test_one_byte_changed_is_found_before_anything_is_read(loaded, tmp_path, monkeypatch):
    content = bytearray(CHAT.find(chat.FILE).read_bytes())
    content[50_000_000] ^= 1
    (tmp_path / chat.FILE).write_bytes(content)
    monkeypatch.setenv(CHAT.variable, str(tmp_path))
    with pytest.raises(ValueError, match=f"{chat.FILE} was cut short or altered: .* Remove it; model_files.CHAT.fetch"):
        chat.load_chat()


def small_file(**sizes):
    """Metadata of a model of one block, and its tensors by the file's names."""
    given = {"vocab_size": 7, "embedding_length": 8, "attention.head_count": 2, "attention.head_count_kv": 1}
    given |= {"block_count": 1, "feed_forward_length": 12, "rope.freq_base": 100.0} | sizes
    metadata = {f"llama.{name}": value for name, value in given.items()}
    model = chat.empty_model(metadata)
    names = {chat.our_name(f"blk.0.{part}.weight"): f"blk.0.{part}.weight" for part in chat.PARTS}
    names |= {ours: theirs for theirs, ours in chat.OTHERS.items()}
    state = {name: torch.randn_like(tensor) for name, tensor in model.state_dict().items() if name in names}
    return model, {names[name]: tensor for name, tensor in state.items()}


def test_every_tensor_of_the_file_finds_its_place():
    model, tensors = small_file()
    assert len(tensors) == len(chat.PARTS) + len(chat.OTHERS)
    chat.fill(model, iter(tensors.items()))
    state = model.state_dict()
    assert all(torch.equal(state[chat.our_name(name)], tensor) for name, tensor in tensors.items())
    assert not model.training and not any(one.requires_grad for one in model.parameters())


@pytest.mark.parametrize(
    "change, problem",
    [
        (lambda tensors: tensors.pop("blk.0.attn_q.weight"), "the file has no decoder.blocks.0.attention.W_q.weight"),
        (
            lambda tensors: tensors.update({"output_norm.weight": torch.zeros(9)}),
            r"output_norm.weight \(9,\) has no place",
        ),
        (
            lambda tensors: tensors.update({"blk.1.attn_q.weight": torch.zeros(8, 8)}),
            r"blk.1.attn_q.weight \(8, 8\) has no",
        ),
    ],
)
def test_a_file_of_another_model_is_refused(change, problem):
    model, tensors = small_file()
    change(tensors)
    with pytest.raises(ValueError, match=problem):
        chat.fill(model, iter(tensors.items()))


def test_it_is_carried_by_the_functions_that_a_learner_writes(loaded):
    """The whole model once more, in the answers to exercises: rotate_pair, split_heads, masked_attention, causal_mask,
    merge_heads, residual_step, tied_logits. Only RMSNorm and the gated layer are written out."""
    model, _ = loaded
    ids = torch.tensor(RECORDED[0]["ids"])
    half = torch.arange(0, 64, 2).double()
    angles = (torch.arange(len(ids))[:, None] / 100_000 ** (half / 64)).float()  # (n, e/2)
    mask = causal_mask(len(ids))

    def turned(heads):
        return rotate_pair(heads.unflatten(-1, (-1, 2)), angles).flatten(-2)

    def norm(gamma):
        return lambda x: x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gamma

    def attention(layer, x):
        query, key, value = (
            turned(split_heads(layer.W_q(x), 9)),
            split_heads(layer.W_k(x), 3),
            split_heads(layer.W_v(x), 3),
        )
        key, value = (part.repeat_interleave(3, dim=0) for part in (turned(key), value))
        return layer.W_o(merge_heads(masked_attention(query, key, value, mask)))

    def gated(layer, x):
        return layer.W_2(torch.nn.functional.silu(layer.W_1(x)) * layer.W_3(x))

    with torch.no_grad():
        x = model.embedding.vectors.weight[ids]  # (n, d)
        for block in model.decoder.blocks:
            for sublayer, layer, gamma in (
                (attention, block.attention, block.norm_1.gamma),
                (gated, block.feed_forward, block.norm_3.gamma),
            ):
                x = residual_step(x, functools.partial(sublayer, layer), norm(gamma), True)
        logits = tied_logits(norm(model.decoder.final_norm.gamma)(x), model.embedding.vectors.weight)
        torch.testing.assert_close(logits, model(ids[None])[0][0], atol=1e-3, rtol=0)
