"""Scaled dot-product attention, one head of self-attention, and several heads.

Axis letters: q query position, k key position, n position (queries and keys the same), d model dimension,
e head dimension, h head, v value dimension; "…" stands for any leading axes, such as a batch.
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
    """softmax(Q Kᵀ / √e), (…, q, k)."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (…, q, k)
    return masked_softmax(scores, mask)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax over the last axis of scores (…, q, k), with weight 0 where the mask is False.

    Each row sums to 1, or is 0 where a query may attend to nothing (a softmax of nothing but -inf would be NaN).
    """
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


class MultiHeadAttention(nn.Module):
    """Several heads side by side, each with its slice of the projections (Vaswani et al. 2017, section 3.2.2).

    d_model must be a multiple of num_heads; each head has size e = d_model / num_heads. dropout: the share of the
    weights set to 0 in training, the others growing so that their expectation stays.
    Called with query (…, q, d), and perhaps key and value (…, k, d) and a mask that broadcasts to (…, h, q, k), it
    returns the output (…, q, d) and the weights (…, h, q, k) before dropout. key is query where it is left out, value
    is key. Sizes and shapes that do not fit: ValueError that names them.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        if min(d_model, num_heads) < 1 or d_model % num_heads:
            raise ValueError(f"d_model = {d_model} cannot be shared by num_heads = {num_heads}")
        self.num_heads, self.dropout = num_heads, nn.Dropout(dropout)
        projections = (nn.Linear(d_model, d_model, bias) for _ in range(4))
        self.W_q, self.W_k, self.W_v, self.W_o = projections

    def forward(self, query, key=None, value=None, mask=None) -> tuple[Tensor, Tensor]:
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(project(self.W_q, query, "query"), self.num_heads)  # (…, h, q, e)
        K = split_heads(project(self.W_k, key, "key"), self.num_heads)  # (…, h, k, e)
        V = split_heads(project(self.W_v, value, "value"), self.num_heads)  # (…, h, k, e)
        require_fitting_shapes(Q, K, V, mask)
        scores = torch.einsum("...hqe,...hke->...hqk", Q, K) / math.sqrt(Q.shape[-1])
        weights = masked_softmax(scores, mask)  # (…, h, q, k)
        heads = mix(self.dropout(weights), V, mask)  # (…, h, q, e)
        return self.W_o(merge_heads(heads)), weights

    def load_torch(self, module: nn.MultiheadAttention) -> "MultiHeadAttention":
        return load_multi_head(self, module)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(…, n, d) → (…, h, n, e): the d entries of each position are shared out to the heads."""
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def merge_heads(heads: Tensor) -> Tensor:
    """(…, h, n, e) → (…, n, h · e): the heads of each position side by side, the inverse of split_heads."""
    return heads.transpose(-3, -2).flatten(-2)


def project(W: nn.Linear, x: Tensor, name: str) -> Tensor:
    """W(x), or a ValueError that names the shape of x if its last axis is not what W needs."""
    if x.ndim < 2 or x.shape[-1] != W.in_features:
        raise ValueError(f"{name} {tuple(x.shape)} must be (…, positions, {W.in_features})")
    return W(x)


@torch.no_grad()
def load_multi_head(ours: MultiHeadAttention, module: nn.MultiheadAttention) -> MultiHeadAttention:
    """Copy the weights of PyTorch's layer into ours, and return ours.

    PyTorch packs W_q, W_k and W_v into one matrix, and keeps them apart where keys or values have sizes of their own
    (kdim, vdim), which ours then takes over. ValueError where sizes, heads or biases differ.
    """
    bias = module.in_proj_bias is not None
    here = (ours.W_q.in_features, ours.num_heads, ours.W_q.bias is not None)
    there = (module.embed_dim, module.num_heads, bias)
    if here != there or module.bias_k is not None or module.add_zero_attn:
        raise ValueError(
            f"d_model, num_heads and bias are {here} here and {there} in PyTorch's layer; they must be equal, "
            "and its add_bias_kv and add_zero_attn off"
        )
    apart = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    weights = apart if module.in_proj_weight is None else module.in_proj_weight.chunk(3)
    biases = module.in_proj_bias.chunk(3) if bias else (None, None, None)
    linears, sources = (ours.W_q, ours.W_k, ours.W_v, ours.W_o), (*weights, module.out_proj.weight)
    for linear, weight, b in zip(linears, sources, (*biases, module.out_proj.bias)):
        linear.weight, linear.in_features = nn.Parameter(weight.clone()), weight.shape[1]
        if b is not None:
            linear.bias = nn.Parameter(b.clone())
    return ours


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
