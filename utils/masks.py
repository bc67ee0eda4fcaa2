"""Masks: who may attend to whom. Boolean, True = may attend; combined with &.

A mask broadcasts to the scores (…, q, k), with heads (b, h, q, k). Padding has one shape everywhere, (b, 1, 1, k)."""

import math
from collections.abc import Callable
from functools import wraps

import torch
from torch import Tensor

from .checks import require_padding, require_tensors, require_whole
from .vocabulary import PAD_ID


def causal_mask(n: int) -> Tensor:
    """(n, n): a position may attend to itself and to what comes before it. Vaswani et al. 2017, section 3.2.3."""
    require_whole(positions=n)
    return torch.ones(n, n, dtype=torch.bool).tril()


def padding_mask(tokens: Tensor, pad_id: int = PAD_ID) -> Tensor:
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
    return (torch.arange(longest) < lengths[:, None])[:, None, None, :]


def lengths(mask: Tensor) -> Tensor:
    """(b,) for a padding mask (b, 1, 1, k): how many words each sentence has, at least one, with padding behind them.

    Any other mask: ValueError."""
    require_padding(mask)
    return mask.sum(-1)[:, 0, 0]


def to_torch(mask: Tensor, num_heads: int) -> Tensor:
    """A mask as `nn.MultiheadAttention` wants its `attn_mask`: True = may NOT attend, (q, k) or (b · h, q, k).

    (`F.scaled_dot_product_attention` needs no translation: there, too, True = may attend.)
    A mask with a batch must come with its q axis spelled out: mask.expand(b, 1, q, k)."""
    require_tensors(mask=mask)
    if mask.dtype != torch.bool:
        raise ValueError(f"the mask has dtype {mask.dtype}; it must be boolean, True = may attend")
    if mask.ndim == 2:
        return ~mask
    if mask.ndim != 4 or mask.shape[1] not in (1, num_heads):
        raise ValueError(f"the mask {tuple(mask.shape)} must be (q, k), (b, 1, q, k) or (b, {num_heads}, q, k)")
    batch, _, n_queries, n_keys = mask.shape
    return ~mask.expand(batch, num_heads, n_queries, n_keys).reshape(batch * num_heads, n_queries, n_keys)


def put_aside(x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Keys or values x (…, k, d) with 0 for each entry that is NaN or infinite, and which of those a query may see,
    (…, q, d): what is computed from them has to be NaN.

    None instead, and x as it is, where every entry is finite, or where there is no mask and everyone sees everything.
    """
    if mask is None or x.detach().sum().isfinite():  # no sum is finite with a part that is not, and sums are cheap
        return x, None
    finite = x.isfinite()
    allowed = torch.atleast_2d(mask).expand(*mask.shape[:-2], -1, x.shape[-2])  # (…, q, k)
    seen = allowed.to(x.dtype) @ (~finite).to(x.dtype) > 0  # (…, q, d)
    return x.masked_fill(~finite, 0.0), seen


def despite_broken_keys(weigh: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """weigh(query, key, mask), which gives weights (…, q, k), so that a masked key has no influence even if it is NaN
    or infinite: it meets the queries as 0. (Gradients are products with it, and 0 · NaN is NaN.) The weights of a query
    that may see it are NaN."""

    @wraps(weigh)
    def weigh_the_others(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
        key, seen = put_aside(key, mask)
        weights = weigh(query, key, mask)
        return weights if seen is None else weights.masked_fill(seen.any(-1, keepdim=True) & mask, math.nan)

    return weigh_the_others
