"""Masks: who may attend to whom. Boolean, True = may attend; combined with &.

A mask broadcasts to the scores (…, q, k), with heads (b, h, q, k).
"""

from itertools import product

import torch
from torch import Tensor

from .checks import require_tensors, require_whole


def causal_mask(n: int) -> Tensor:
    """(n, n): a position may attend to itself and to what comes before it. Vaswani et al. 2017, section 3.2.3."""
    require_whole(positions=n)
    return torch.ones(n, n, dtype=torch.bool).tril()


def padding_mask(tokens: Tensor, pad_id: int = 0) -> Tensor:
    """(b, 1, 1, k) for token ids (b, k): every query of every head may attend to what is not padding."""
    require_tensors(tokens=tokens)
    if tokens.ndim != 2:
        raise ValueError(f"token ids must have the shape (b, k), not {tuple(tokens.shape)}; one sentence: tokens[None]")
    if tokens.is_floating_point():
        raise ValueError(f"token ids are whole numbers, not {tokens.dtype}; lengths: padding_mask_from_lengths")
    return (tokens != pad_id)[:, None, None, :]


def padding_mask_from_lengths(lengths: Tensor, longest: int | None = None) -> Tensor:
    """(b, 1, 1, k) for lengths (b,): the first `length` of the k = `longest` positions are no padding."""
    require_tensors(lengths=lengths)
    if lengths.ndim != 1 or not len(lengths) or lengths.is_floating_point():
        raise ValueError(f"lengths must be whole numbers (b,), not {tuple(lengths.shape)} of {lengths.dtype}")
    longest = int(lengths.max()) if longest is None else longest
    require_whole(least=0, longest=longest)
    if lengths.min() < 0 or lengths.max() > longest:
        raise ValueError(f"lengths from {lengths.min()} to {lengths.max()} do not fit into 0 to {longest} positions")
    return (torch.arange(longest, device=lengths.device) < lengths[:, None])[:, None, None, :]


def to_torch(mask: Tensor, num_heads: int) -> Tensor:
    """A mask as `nn.MultiheadAttention` wants its `attn_mask`: True = may NOT attend, (q, k) or (b · h, q, k).

    (`F.scaled_dot_product_attention` needs no translation: there, too, True = may attend.)
    A mask with a batch must come with its q axis spelled out: mask.expand(b, 1, q, k).
    """
    require_tensors(mask=mask)
    if mask.dtype != torch.bool:
        raise ValueError(f"the mask has dtype {mask.dtype}; it must be boolean, True = may attend")
    if mask.ndim == 2:
        return ~mask
    if mask.ndim != 4 or mask.shape[1] not in (1, num_heads):
        raise ValueError(f"the mask {tuple(mask.shape)} must be (q, k), (b, 1, q, k) or (b, {num_heads}, q, k)")
    batch, _, n_queries, n_keys = mask.shape
    return ~mask.expand(batch, num_heads, n_queries, n_keys).reshape(batch * num_heads, n_queries, n_keys)


def causality_probe(module, x: Tensor, seed: int = 0) -> dict[str, Tensor]:
    """Which outputs move when one input position changes? {"train": (n, n), "eval": (n, n)}, boolean.

    Entry [i, j] is True if output i changes when position j of the input does; a causal module has nothing above the
    diagonal, in either mode (`leaks` lists what there is). module: called with x, returns a tensor (…, n, ·) or a
    tuple that begins with it. x: (…, n, d) of floats, or token ids (…, n); each position is changed twice, see
    `two_changes`. Dropout is seeded, so that it drops the same entries each time; the module's mode is restored.

    ValueError: another x or output, or an output that holds NaN, which nothing can be seen to move.
    """
    require_tensors(x=x)
    positions = -2 if x.is_floating_point() else -1
    if x.ndim < -positions or not x.numel():
        raise ValueError(f"the probe needs vectors (…, n, d) or token ids (…, n), not {tuple(x.shape)} of {x.dtype}")
    n, was_training, moved = x.shape[positions], module.training, {}

    def run(x):
        torch.manual_seed(seed)
        result = module(x)
        result = result[0] if isinstance(result, tuple) else result
        if not isinstance(result, Tensor) or result.ndim < 2 or result.shape[-2] != n:
            shape = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
            raise ValueError(f"the output of the module is {shape}; the probe needs a tensor (…, {n}, ·)")
        return result.detach()

    try:
        with torch.random.fork_rng(devices=[]):
            others = two_changes(x, seed)
            for mode in ("train", "eval"):
                module.train(mode == "train")
                before, moved[mode] = run(x), torch.zeros(n, n, dtype=torch.bool)
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
    0 to the largest in x, which every embedding that takes x has a row for (and 1, where all are 0).
    """
    generator = torch.Generator().manual_seed(seed)
    if x.is_floating_point():
        noise = torch.randn(x.shape, generator=generator).to(x) * (1 + x.detach().abs().max())
        return noise, -noise
    size = max(int(x.max()) + 1, 2)
    step = torch.randint(1, size, x.shape, generator=generator).to(x.device)  # 1 to size − 1
    next_step = step % (size - 1) + 1  # another of these
    return tuple(((x + s) % size).to(x.dtype) for s in (step, next_step))


def leaks(moved: dict[str, Tensor]) -> list[tuple[str, int, int]]:
    """What a `causality_probe` found above the diagonal: (mode, output i, later input j) for each leak."""
    return [(mode, i, j) for mode, found in moved.items() for i, j in found.triu(1).nonzero().tolist()]
