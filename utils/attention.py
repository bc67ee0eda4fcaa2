"""Scaled dot-product attention, one head of self-attention, and several heads.

Axis letters: q query position, k key position, n position (queries and keys the same), d model dimension,
e head dimension, h head, v value dimension; "…" stands for any leading axes, such as a batch.
"""

import math

import torch
from torch import Tensor, nn

from .checks import require_fitting_shapes, require_vectors, require_whole


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(Q Kᵀ / √e) V, from Vaswani et al. 2017, equation 1.

    query (…, q, e), key (…, k, e), value (…, k, v); mask boolean, broadcasts to (…, q, k),
    True = may attend; two axes are always (q, k). Returns the output (…, q, v) and the weights
    (…, q, k); both are 0 for a query that may attend to nothing. Inputs that do not fit, and
    padding (b, k) without its axis for the queries: ValueError that names them.
    """
    require_fitting_shapes(query, key, value, mask)
    weights = attention_weights(query, key, mask)  # (…, q, k)
    return mix(weights, value, mask), weights


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax(Q Kᵀ / √e), (…, q, k). The query is divided, not the far more numerous scores, which could overflow."""
    if mask is not None and not key.isfinite().all():
        return weights_despite_broken_keys(query, key, mask)
    scores = query / math.sqrt(query.shape[-1]) @ key.transpose(-2, -1)  # (…, q, k)
    return masked_softmax(scores, mask)


def weights_despite_broken_keys(query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    """`attention_weights` where a key is NaN or infinite: NaN for a query that may see it. For the others it is 0,
    since their gradients are products with it, and 0 · NaN is NaN."""
    finite = key.isfinite()
    broken = mask & ~finite.all(dim=-1)[..., None, :]  # (…, q, k)
    weights = attention_weights(query, key.masked_fill(~finite, 0.0), mask)
    return weights.masked_fill(broken.any(dim=-1, keepdim=True) & mask, math.nan)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax over the last axis of scores (…, q, k), with weight 0 where the mask is False.

    Each row sums to 1, or is 0 where a query may attend to nothing (a softmax of nothing but -inf would be NaN).
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    scores = scores.masked_fill(~mask, -math.inf)
    blind = ~mask.any(dim=-1, keepdim=True)  # (…, q, 1): may attend to nothing
    if not blind.any():
        return torch.softmax(scores, dim=-1)
    return torch.softmax(scores.masked_fill(blind, 0.0), dim=-1).masked_fill(blind, 0.0)


def mix(weights: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """weights @ value; a masked value has no influence even if it is NaN or infinite (0 · NaN is NaN)."""
    if mask is None or value.isfinite().all():
        return weights @ value
    finite = value.isfinite()
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
    is key. Sizes, shapes and dtypes that do not fit: ValueError that names them.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        require_whole(d_model=d_model, num_heads=num_heads)
        if d_model % num_heads:
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
        weights = attention_weights(Q, K, mask)  # (…, h, q, k)
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
    """W(x), or a ValueError that names x, its shape or its dtype, if it is not what W needs."""
    require_vectors(name, x, W.weight)
    return W(x)


def load_multi_head(ours: MultiHeadAttention, module: nn.MultiheadAttention) -> MultiHeadAttention:
    """Copy the weights of PyTorch's layer into ours, and return ours.

    PyTorch packs W_q, W_k and W_v into one matrix, and keeps them apart where keys or values have sizes of their own
    (kdim, vdim), which ours then takes over. ValueError where sizes, heads or biases differ; then nothing is copied.
    """
    put(changes_of_multi_head(ours, module))
    return ours


def changes_of_multi_head(ours: MultiHeadAttention, module: nn.MultiheadAttention, bias: bool | None = None) -> list:
    """What `load_multi_head` puts where, as `put` takes it. bias True: missing biases are loaded as 0."""
    if not isinstance(module, nn.MultiheadAttention):
        raise ValueError(f"{type(module).__name__} is not an nn.MultiheadAttention")
    bias = module.in_proj_bias is not None if bias is None else bias
    here = (ours.W_q.in_features, ours.num_heads, ours.W_q.bias is not None)
    there = (module.embed_dim, module.num_heads, bias)
    if here != there or module.bias_k is not None or module.add_zero_attn:
        raise ValueError(
            f"d_model, num_heads and bias are {here} here and {there} in PyTorch's layer; they must be equal, "
            "and its add_bias_kv and add_zero_attn off"
        )
    apart = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    weights = apart if module.in_proj_weight is None else module.in_proj_weight.chunk(3)
    linears, sources = (ours.W_q, ours.W_k, ours.W_v, ours.W_o), (*weights, module.out_proj.weight)
    changes = [(linear, "weight", weight) for linear, weight in zip(linears, sources)]
    changes += [(linear, "in_features", weight.shape[1]) for linear, weight in zip(linears, sources)]
    if bias:
        packed = weights[0].new_zeros(3 * len(weights[0])) if module.in_proj_bias is None else module.in_proj_bias
        biases = (*packed.chunk(3), bias_or_zeros(module.out_proj))
        changes += [(linear, "bias", b) for linear, b in zip(linears, biases)]
    return changes


@torch.no_grad()
def put(changes: list[tuple[nn.Module, str, object]]) -> None:
    """Make each change (layer, name, new). A parameter gets the numbers, shape and dtype of the new one and stays the
    same object, so that an optimiser which holds it goes on training it; anything else is replaced."""
    for layer, name, new in changes:
        old = getattr(layer, name)
        if not isinstance(old, nn.Parameter):
            setattr(layer, name, new)
        elif (old.shape, old.dtype) == (new.shape, new.dtype):
            old.copy_(new)
        else:
            old.data = new.clone()


def bias_or_zeros(layer: nn.Module) -> Tensor:
    """The bias of a layer, or zeros where it has none."""
    return layer.weight.new_zeros(len(layer.weight)) if layer.bias is None else layer.bias
