"""Scaled dot-product attention, one head of self-attention, and several heads.

Axis letters: q query position, k key position, n position (queries and keys the same), d model dimension,
e head dimension, h head, v value dimension; "…" stands for any leading axes, such as a batch."""

import math

import torch
from torch import Tensor, nn

from .checks import (
    can_be_read,
    require_fitting_shapes,
    require_multi_head,
    require_shares,
    require_vectors,
    require_whole,
)
from .masks import added


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(Q Kᵀ / √d_k) V, from Vaswani et al. 2017, equation 1.

    query (…, q, e), key (…, k, e), value (…, k, v); mask boolean, broadcasts to (…, q, k), True = may attend; two axes
    are always (q, k). Returns the output (…, q, v) and the weights (…, q, k); both are 0 for a query that may attend to
    nothing, and so are its gradients.

    A masked key or value has no influence, forwards or backwards, as long as it is finite and its products with queries
    and gradients are: padding must hold numbers, as in PyTorch, for 0 · NaN and 0 · ∞ are NaN. In float16, whose
    largest number is 65,504, that ends early: a score above it is NaN, and a masked value of 2,000 can make the
    gradients of queries and keys NaN, where `F.scaled_dot_product_attention`, which computes in float32, stays finite.

    ValueError: inputs that do not fit, by name; padding (b, k) without its axis for the queries, unless b is q."""
    require_fitting_shapes(query, key, value, mask)
    weights = attention_weights(query, key, mask)  # (…, q, k)
    return weights @ value, weights


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax(Q Kᵀ / √d_k), (…, q, k). The query is divided, not the far more numerous scores, which could overflow."""
    scores = (query / math.sqrt(query.shape[-1])) @ key.mT  # (…, q, k)
    return masked_softmax_(scores, mask)


def masked_softmax_(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax over the last axis of scores (…, q, k), with weight 0 where the mask is False.

    Each row sums to 1, or is 0 where a query may attend to nothing (a softmax of nothing but −∞ would be NaN). Whether
    there is such a row is looked up, as a second pass over the weights would cost half of the time again: so
    `torch.func.vmap` cannot run over masks, while over scores that share one it can.
    The mask is added to the scores in place, hence the `_` in the name: a copy of them would cost a tenth of the time.
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    blind = ~mask.any(dim=-1, keepdim=True)  # (…, q, 1): may attend to nothing
    scores += added(mask | blind, scores.dtype)
    weights = torch.softmax(scores, dim=-1)
    return weights.masked_fill(blind, 0.0) if not can_be_read(blind) or blind.any() else weights


class SelfAttention(nn.Module):
    """One head of self-attention without biases (Vaswani et al. 2017, section 3.2).

    Called with X (…, n, d_model) and perhaps a mask (…, n, n), it returns output (…, n, d_head) and weights (…, n, n).
    d_head is d_model if not given. Sizes below 1, or an X of another width: ValueError."""

    def __init__(self, *, d_model: int, d_head: int | None = None):
        super().__init__()
        d_head = d_model if d_head is None else d_head
        require_whole(d_model=d_model, d_head=d_head)
        self.W_q = nn.Linear(d_model, d_head, bias=False)
        self.W_k = nn.Linear(d_model, d_head, bias=False)
        self.W_v = nn.Linear(d_model, d_head, bias=False)

    def forward(self, X: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        require_vectors("X", X, self.W_q.weight)
        return scaled_dot_product_attention(self.W_q(X), self.W_k(X), self.W_v(X), mask)


class MultiHeadAttention(nn.Module):
    """Several heads side by side, each with its slice of the projections (Vaswani et al. 2017, section 3.2.2).

    d_model must be a multiple of num_heads; each head has size e = d_model / num_heads. dropout: the share of the
    weights set to 0 in training, the others growing so that their expectation stays.
    Called with query (…, q, d), and perhaps key and value (…, k, d) and a mask that broadcasts to (…, h, q, k), it
    returns the output (…, q, d) and the weights (…, h, q, k) before dropout. key is query where it is left out, value
    is key. Sizes, shapes and dtypes that do not fit: ValueError that names them."""

    def __init__(self, *, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        require_shares(d_model=d_model, num_heads=num_heads)
        self.num_heads = num_heads
        self.dropout = nn.Dropout(dropout)
        self.W_q = nn.Linear(d_model, d_model, bias)
        self.W_k = nn.Linear(d_model, d_model, bias)
        self.W_v = nn.Linear(d_model, d_model, bias)
        self.W_o = nn.Linear(d_model, d_model, bias)

    def forward(
        self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        key = query if key is None else key
        value = key if value is None else value
        require_multi_head(self, query, key, value, mask)
        Q = split_heads(self.W_q(query), self.num_heads)  # (…, h, q, e)
        K = split_heads(self.W_k(key), self.num_heads)  # (…, h, k, e)
        V = split_heads(self.W_v(value), self.num_heads)  # (…, h, k, e)
        weights = attention_weights(Q, K, mask)  # (…, h, q, k)
        heads = self.dropout(weights) @ V  # (…, h, q, e)
        return self.W_o(merge_heads(heads)), weights


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(…, n, d) → (…, h, n, e): the d entries of each position are shared out to the heads."""
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def merge_heads(heads: Tensor) -> Tensor:
    """(…, h, n, e) → (…, n, h · e): the heads of each position side by side, the inverse of split_heads."""
    return heads.transpose(-3, -2).flatten(-2)
