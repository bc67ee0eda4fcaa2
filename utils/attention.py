"""Scaled dot-product attention, and one head of self-attention.

Axis letters: q query position, k key position, n position (queries and keys the same), d model dimension,
e head dimension, v value dimension; "…" stands for any leading axes, such as a batch.
"""

import math

import torch
from torch import Tensor, nn


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(Q Kᵀ / √e) V, from Vaswani et al. 2017, equation 1.

    query (…, q, e), key (…, k, e), value (…, k, v); mask boolean, broadcasts to (…, q, k),
    True = may attend. Returns the output (…, q, v) and the weights (…, q, k); both are 0 for a
    query that may attend to nothing. Shapes that do not fit: ValueError that names them.
    """
    require_fitting_shapes(query, key, value, mask)
    weights = attention_weights(query, key, mask)  # (…, q, k)
    return mix(weights, value, mask), weights


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax(Q Kᵀ / √e): each row sums to 1, or is 0 where a query may attend to nothing."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (…, q, k)
    if mask is None:
        return torch.softmax(scores, dim=-1)
    attends = mask.any(dim=-1, keepdim=True)  # (…, q, 1), False: masked everywhere
    scores = scores.masked_fill(~mask, -math.inf).masked_fill(~attends, 0.0)
    return torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)


def mix(weights: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """weights @ value; a masked value has no influence even if it is NaN or infinite (0 · NaN is NaN)."""
    finite = torch.isfinite(value)
    if mask is None or finite.all():
        return weights @ value
    seen = mask.expand(weights.shape).to(value.dtype) @ (~finite).to(value.dtype)
    return (weights @ value.masked_fill(~finite, 0.0)).masked_fill(seen > 0, math.nan)


class SelfAttention(nn.Module):
    """One head of self-attention without biases (Vaswani et al. 2017, section 3.2).

    Called with X (…, n, d_model) and perhaps a mask (…, n, n), it returns output (…, n, d_head)
    and weights (…, n, n). d_head is d_model if not given. Sizes below 1, or an X of another
    width: ValueError.
    """

    def __init__(self, d_model: int, d_head: int | None = None):
        super().__init__()
        d_head = d_model if d_head is None else d_head
        if min(d_model, d_head) < 1:
            raise ValueError(f"d_model {d_model} and d_head {d_head} must be at least 1")
        self.W_q = nn.Linear(d_model, d_head, bias=False)
        self.W_k = nn.Linear(d_model, d_head, bias=False)
        self.W_v = nn.Linear(d_model, d_head, bias=False)

    def forward(self, X: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if X.ndim < 2 or X.shape[-1] != self.W_q.in_features:
            raise ValueError(f"X {tuple(X.shape)} must be (…, n, {self.W_q.in_features})")
        return scaled_dot_product_attention(self.W_q(X), self.W_k(X), self.W_v(X), mask)


def require_fitting_shapes(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    """Raise a ValueError that names the shapes unless query, key, value and mask go together."""
    shapes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ValueError(f"{shapes}: each needs at least two axes, (…, q, e), (…, k, e), (…, k, v)")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"{shapes}: query and key must have the same last axis e, but {query.shape[-1]} ≠ {key.shape[-1]}"
        )
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"{shapes}: each key needs one value, but there are {key.shape[-2]} keys, {value.shape[-2]} values"
        )
    try:
        leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    except RuntimeError:
        raise ValueError(f"{shapes}: the axes before the last two do not broadcast") from None
    if mask is None:
        return
    if mask.dtype != torch.bool:
        raise ValueError(
            f"the mask has dtype {mask.dtype}; it must be boolean, True = may attend: mask.bool() converts"
        )
    scores_shape = (*leading, query.shape[-2], key.shape[-2])
    try:
        fits = torch.broadcast_shapes(mask.shape, scores_shape) == scores_shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(f"{shapes}: the mask {tuple(mask.shape)} does not broadcast to the scores {scores_shape}")
