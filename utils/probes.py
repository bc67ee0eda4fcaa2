"""Measuring devices for models: what depends on what, what a single head or layer contributes, what a training keeps,
what takes how long."""

import copy
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from itertools import product
from timeit import timeit

import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention, split_heads
from .checks import require_tensors, require_whole
from .transformer import Encoder, Tagger


def causality_probe(module: nn.Module, x: Tensor, seed: int = 0) -> dict[str, Tensor]:
    """Which outputs move when one input position changes? {"train": (n, n), "eval": (n, n)}, boolean.

    Entry [i, j] is True if output i changes when position j of the input does; a causal module has nothing above the
    diagonal, in either mode (`leaks` lists what there is). module: called with x, returns a tensor (…, n, ·) or a
    tuple that begins with it. x: (…, n, d) of floats, or token ids (…, n); each position is changed twice, see
    `two_changes`. Dropout is seeded, so that it drops the same entries each time; the module's mode is restored.

    ValueError: another x or output, or an output that holds NaN, which nothing can be seen to move."""
    require_tensors(x=x)
    positions = -2 if x.is_floating_point() else -1
    if x.ndim < -positions or not x.numel():
        raise ValueError(f"the probe needs vectors (…, n, d) or token ids (…, n), not {tuple(x.shape)} of {x.dtype}")
    n = x.shape[positions]
    was_training = module.training
    moved = {}

    def run(x):
        torch.manual_seed(seed)
        result = module(x)
        result = result[0] if isinstance(result, tuple) else result
        if not isinstance(result, Tensor) or result.ndim < 2 or result.shape[-2] != n:
            shape = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
            raise ValueError(f"the output of the module is {shape}; the probe needs a tensor (…, {n}, ·)")
        return result.detach()

    try:
        with torch.random.fork_rng():
            others = two_changes(x, seed)
            for mode in ("train", "eval"):
                module.train(mode == "train")
                before = run(x)
                moved[mode] = torch.zeros(n, n, dtype=torch.bool, device=x.device)
                if before.isnan().any():
                    raise ValueError(f"in {mode} mode the output holds NaN before anything is changed")
                for other, j in product(others, range(n)):
                    changed = x.detach().clone()
                    changed.select(positions, j).copy_(other.select(positions, j))
                    differs = (run(changed) != before).movedim(-2, 0).flatten(1)
                    moved[mode][:, j] |= differs.any(-1)
    finally:
        module.train(was_training)
    return moved


def two_changes(x: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Two inputs like x, at random, that differ from it at every position.

    Vectors point one way in the first and the opposite way in the second, so that one of them moves even what is
    constant for one sign, such as a ReLU. Each token id becomes two other ids, where there are three, out of those from
    0 to the largest in x, which every embedding that takes x has a row for (and 1, where all are 0)."""
    generator = torch.Generator().manual_seed(seed)
    if x.is_floating_point():
        noise = torch.randn(x.shape, generator=generator, device=generator.device).to(x) * (1 + x.detach().abs().max())
        return noise, -noise
    size = max(int(x.max()) + 1, 2)
    step = torch.randint(1, size, x.shape, generator=generator, device=generator.device).to(x.device)  # 1 to size − 1
    next_step = step % (size - 1) + 1  # another of these
    return tuple(((x + s) % size).to(x.dtype) for s in (step, next_step))


def leaks(moved: dict[str, Tensor]) -> list[tuple[str, int, int]]:
    """What a `causality_probe` found above the diagonal: (mode, output i, later input j) for each leak."""
    return [(mode, i, j) for mode, found in moved.items() for i, j in found.triu(1).nonzero().tolist()]


@contextmanager
def ablate(encoder: Encoder, layer: int, head: int) -> Iterator[None]:
    """A with block in which one head of one layer, both counted from 1, adds nothing: it is 0 where it enters W_o."""
    num_heads = encoder.blocks[0].attention.num_heads
    if layer not in range(1, len(encoder.blocks) + 1) or head not in range(1, num_heads + 1):
        raise ValueError(f"layer {layer}, head {head}: there are {len(encoder.blocks)} layers of {num_heads} heads")

    def silence(W_o, inputs):
        heads = list(inputs[0].chunk(num_heads, dim=-1))  # each (…, n, e)
        heads[head - 1] = torch.zeros_like(heads[head - 1])
        return torch.cat(heads, dim=-1)

    hook = encoder.blocks[layer - 1].attention.W_o.register_forward_pre_hook(silence)
    try:
        yield
    finally:
        hook.remove()


@torch.no_grad()
def readings(tagger: Tagger, tokens: Tensor, mask: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
    """What a tagger would say of each word if it stopped after the embedding or after any of its sublayers, whose
    vectors are read as if they were the last (nostalgebraist 2020, "interpreting GPT: the logit lens").

    tokens (b, n), mask as the tagger takes it, which has feed-forward layers; returns the logits (s, b, n, tags), where
    s is 1 and two more for each layer, and the weights (b, h, q, k) of each layer. The last logits are the tagger's."""
    x, weights = tagger.embedding(tokens), []  # (b, n, d)
    stream = [x]
    for block in tagger.encoder.blocks:
        attended, weights_of_block = block.attention(block.norm_1.before(x), mask=mask)
        stream.append(block.norm_1.after(x, attended))
        x = block.norm_2.after(stream[-1], block.feed_forward(block.norm_2.before(stream[-1])))
        stream.append(x)
        weights.append(weights_of_block)
    return tagger.to_logits(tagger.encoder.final_norm(torch.stack(stream))), weights  # (s, b, n, tags)


def sublayers(encoder: Encoder, mask: Tensor | None = None) -> dict:
    """{"attention 1": what it adds to x (b, n, d), "feed-forward 1": …}, the sublayers of an encoder in pre-norm, in
    order: x = x + f(x) for each of them is what its blocks compute. ValueError: post-norm, or no feed-forward."""
    if any(block.feed_forward is None or block.norm_1.norm != "pre" for block in encoder.blocks):
        raise ValueError("the encoder has to be in pre-norm and to have feed-forward layers")

    def attend(block):
        return lambda x: block.attention(block.norm_1.before(x), mask=mask)[0]

    def think(block):
        return lambda x: block.feed_forward(block.norm_2.before(x))

    found = {}
    for number, block in enumerate(encoder.blocks, 1):
        found |= {f"attention {number}": attend(block), f"feed-forward {number}": think(block)}
    return found


@contextmanager
def silence(encoder: Encoder, place: int) -> Iterator[None]:
    """A with block in which what is at a place keeps its weights and says nothing: its values are 0 in all layers.

    For x (b, n, d); place counts from 0."""

    def be_silent(W_v, inputs, values):
        return values.index_fill(-2, torch.tensor([place], device=values.device), 0.0)

    hooks = [block.attention.W_v.register_forward_hook(be_silent) for block in encoder.blocks]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def added_lengths(attention: MultiHeadAttention, x: Tensor, weights: Tensor) -> Tensor:
    """How long the vector is that each head adds of each key to each query's output, (…, h, q, k).

    x (…, k, d): what keys and values are made of; weights (…, h, q, k). A head's vector of a key is weight · value ·
    its block of W_o (Kobayashi et al. 2020)."""
    values = split_heads(attention.W_v(x), attention.num_heads)  # (…, h, k, e)
    blocks = attention.W_o.weight.T.unflatten(0, (attention.num_heads, -1))  # (h, e, d)
    return weights * (values @ blocks).norm(dim=-1)[..., None, :]


def kept(run: Callable[[Tensor], object], x: Tensor) -> float:
    """Megabytes (2²⁰ bytes) of the tensors that run(x) keeps for the backward pass; what shares memory counts once."""
    storages = {}

    def note(tensor):
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor.detach()  # the tensor itself would hold on to itself for ever

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        run(x)
    return sum(storages.values()) / 2**20


@torch.no_grad()
def silenced(translator: nn.Module, half: str, layer: str) -> nn.Module:
    """A copy of a `TransformerTranslator` in which one layer of every block adds nothing: the last matrix and bias of
    the layer are 0. half: "encoder" or "decoder"; layer: "attention", "cross_attention" or "feed_forward"."""
    changed = copy.deepcopy(translator)
    part = changed.encoder.encoder if half == "encoder" else changed.language_model.decoder
    for block in part.blocks:
        silent = getattr(block, layer)
        for weights in (silent.W_2 if layer == "feed_forward" else silent.W_o).parameters():
            weights.zero_()
    return changed


def milliseconds(ways: dict[Hashable, Callable[[], object]], rounds: int = 5) -> dict[Hashable, float]:
    """Processor time that each of the `ways` takes, in milliseconds: its best of several rounds.

    In a round each has its turn. So what disturbs the computer for a moment disturbs one round of all of them, and not
    all rounds of one, and how they compare can be relied on. ValueError: less than one round."""
    require_whole(rounds=rounds)
    took = [{name: timeit(way, timer=time.process_time, number=1) for name, way in ways.items()} for _ in range(rounds)]
    return {name: 1000 * min(one[name] for one in took) for name in ways}
