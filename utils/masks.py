"""Masks: who may attend to whom. Boolean, True = may attend; combined with &.

A mask broadcasts to the scores (…, q, k), with heads (b, h, q, k). Padding has one shape everywhere, (b, 1, 1, k)."""

import math

import torch
from torch import Tensor

from .checks import can_be_read, require_boolean, require_tensors, require_whole
from .vocabulary import PAD_ID


def causal_mask(n: int, device: torch.device | None = None) -> Tensor:
    """(n, n): a position may attend to itself and to what comes before it. Vaswani et al. 2017, section 3.2.3.

    device: where the mask is made, such as tokens.device; torch's default device if not given."""
    require_whole(positions=n)
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def padding_mask(tokens: Tensor, pad_id: int = PAD_ID) -> Tensor:
    """(b, 1, 1, k) for token ids (b, k): every query of every head may attend to what is not padding.

    Token ids that are no whole numbers (b, k), or a pad_id that is none: ValueError."""
    require_tensors(tokens=tokens)
    require_whole(least=-math.inf, pad_id=pad_id)
    if tokens.ndim != 2:
        raise ValueError(f"token ids must have the shape (b, k), not {tuple(tokens.shape)}; one sentence: tokens[None]")
    if tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool:
        raise ValueError(f"token ids are whole numbers, not {tokens.dtype}; lengths: padding_mask_from_lengths")
    return (tokens != pad_id)[:, None, None, :]


def padding_mask_from_lengths(lengths: Tensor, longest: int | None = None) -> Tensor:
    """(b, 1, 1, k) for lengths (b,): the first `length` of the k = `longest` positions are no padding."""
    require_tensors(lengths=lengths)
    if lengths.ndim != 1 or not len(lengths) or lengths.is_floating_point():
        raise ValueError(f"lengths must be whole numbers (b,), not {tuple(lengths.shape)} of {lengths.dtype}")
    longest = int(lengths.max()) if longest is None else longest
    require_whole(least=0, longest=longest)
    if can_be_read(lengths) and (lengths.min() < 0 or lengths.max() > longest):
        raise ValueError(f"lengths from {lengths.min()} to {lengths.max()} do not fit into 0 to {longest} positions")
    return (torch.arange(longest, device=lengths.device) < lengths[:, None])[:, None, None, :]


def to_torch(mask: Tensor, num_heads: int) -> Tensor:
    """A mask as `nn.MultiheadAttention` wants its `attn_mask`: True = may NOT attend, (q, k) or (b · h, q, k).

    (`F.scaled_dot_product_attention` needs no translation: there, too, True = may attend.)
    A mask with a batch must come with its q axis spelled out: mask.expand(b, 1, q, k)."""
    require_boolean(mask)
    if mask.ndim == 2:
        return ~mask
    if mask.ndim != 4 or mask.shape[1] not in (1, num_heads):
        raise ValueError(f"the mask {tuple(mask.shape)} must be (q, k), (b, 1, q, k) or (b, {num_heads}, q, k)")
    batch, _, n_queries, n_keys = mask.shape
    return ~mask.expand(batch, num_heads, n_queries, n_keys).reshape(batch * num_heads, n_queries, n_keys)


def added(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The mask as papers write it, numbers that are added to the scores: 0 for may attend, −∞ for may not."""
    return mask.new_zeros((), dtype=dtype).where(mask, -math.inf)
