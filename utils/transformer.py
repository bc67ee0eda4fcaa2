"""The Transformer encoder: tokens with positions, norms, feed-forward layers, block, stack; and a tagger of them.

Axis letters: b batch, n position, q and k the same as query and as key, h head, e head dimension, d model dimension.
Masks are boolean, True = may attend, and broadcast to (b, h, q, k).
Sizes are keyword arguments in one order: the vocabulary's, which comes first and needs no name, d_model, num_heads,
num_layers, d_ff."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .attention import MultiHeadAttention
from .checks import (
    require_above_0,
    require_boolean,
    require_choice,
    require_last_axes,
    require_room,
    require_rotatable,
    require_tokens,
    require_vectors,
    require_whole,
)
from .masks import causal_mask

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
PAIRINGS = {"interleaved": -1, "halves": -2}  # the axis of a pair, once the e entries are (e/2, 2) or (2, e/2)


def sinusoidal_positions(n: int, d_model: int, base: float = 10000.0, device: torch.device | None = None) -> Tensor:
    """(n, d_model): P[p, 2j] = sin(p / base^(2j/d)), P[p, 2j+1] = cos(p / base^(2j/d)).

    Vaswani et al. 2017, section 3.5; an odd d_model ends with a sine. device: where they are made, torch's default
    device if not given. Sizes below 1, a base that is not above 0: ValueError."""
    require_whole(n=n, d_model=d_model)
    require_above_0(base=base)
    position = torch.arange(n, device=device)[:, None]  # (n, 1)
    two_j = torch.arange(0, d_model, 2, dtype=torch.float64, device=device)  # (⌈d/2⌉,)
    angles = position / base ** (two_j / d_model)  # (n, ⌈d/2⌉)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)  # (n, d), or (n, d + 1) for an odd d
    return waves[:, :d_model].to(torch.get_default_dtype())


class PositionalEncoding(nn.Module):
    """Adds sinusoidal positions to x (…, n, d_model).

    The table goes with the module to another dtype; the state dict leaves it out, as the equation gives it anew. More
    than max_len positions, or another width: ValueError."""

    def __init__(self, *, d_model: int, max_len: int):
        super().__init__()
        self.register_buffer("table", sinusoidal_positions(max_len, d_model), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        require_room(x, self.table)
        return x + self.table[: x.shape[-2]]


class LearnedPositions(PositionalEncoding):
    """The same with a table that is learned; it starts at random, N(0, 1)."""

    def __init__(self, *, d_model: int, max_len: int):
        super().__init__(d_model=d_model, max_len=max_len)
        self.table = nn.Parameter(torch.randn_like(self.table))


class Turns(NamedTuple):
    """By which angles the pairs of entries are turned at some places: their cosines and sines, (…, n, e/2) each."""

    cos: Tensor
    sin: Tensor


def turns(places: Tensor, e: int, base: float, dtype: torch.dtype) -> Turns:
    """At places (…, n), pair i of e entries is turned by place / base^(2i/e) (Su et al. 2021, section 3.2.2)."""
    two_i = torch.arange(0, e, 2, dtype=torch.float64, device=places.device)  # (e/2,)
    angles = places[..., None] / base ** (two_i / e)  # (…, n, e/2)
    return Turns(angles.cos().to(dtype), angles.sin().to(dtype))


def rotate(
    x: Tensor, places: Tensor | Turns | None = None, pairing: str | None = "interleaved", base: float = 10000
) -> Tensor:
    """Rotary positions (Su et al. 2021): pair i of the entries of x (…, n, e) is turned by place / base^(2i/e).

    places broadcast to (…, n), and are 0, 1, … if not given; or they are their `turns`, made once for many x, whose
    base holds then. pairing: "interleaved" turns the entries 2i and 2i + 1 together, as in the paper, "halves" i and
    i + e/2, as many models do; None returns x. An x that holds no floats or has a single axis, an odd e, places that do
    not fit, another pairing, a base that is not above 0: ValueError."""
    if pairing is None:
        return x
    require_choice(pairing, PAIRINGS, "pairing")
    if not isinstance(places, Turns):
        require_rotatable(x, places, base)
        places = torch.arange(x.shape[-2], device=x.device) if places is None else places
        places = turns(places, x.shape[-1], base, x.dtype)
    cos, sin = places
    axis = PAIRINGS[pairing]
    first, second = x.unflatten(-1, (-1, 2) if axis == -1 else (2, -1)).unbind(axis)  # (…, n, e/2) each
    return torch.stack([first * cos - second * sin, first * sin + second * cos], dim=axis).flatten(-2)


class LayerNorm(nn.Module):
    """(x - mean) / √(variance + eps) · gamma + beta over the last axis (Ba et al. 2016).

    The variance is the biased one, divided by d_model, and float16 is computed in float32, both as in PyTorch. Another
    width than d_model: ValueError."""

    def __init__(self, d_model: int):
        super().__init__()
        require_whole(d_model=d_model)
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.eps = 1e-5

    def forward(self, x: Tensor) -> Tensor:
        require_last_axes(self.gamma.shape, x=x)
        wide = x.to(torch.promote_types(x.dtype, torch.float32))  # the square of a float16 may overflow
        centred = wide - wide.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)  # (…, 1); far faster than x.var
        return (centred / torch.sqrt(variance + self.eps) * self.gamma + self.beta).to(x.dtype)


class RMSNorm(nn.Module):
    """x / √(mean of x² + eps) · gamma over the last axis (Zhang & Sennrich 2019, equation 4): LayerNorm without mean
    and beta.

    float16 is computed in float32, as in PyTorch. Another width than d_model: ValueError."""

    def __init__(self, d_model: int):
        super().__init__()
        require_whole(d_model=d_model)
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.eps = 1e-5

    def forward(self, x: Tensor) -> Tensor:
        require_last_axes(self.gamma.shape, x=x)
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        mean_square = wide.square().mean(dim=-1, keepdim=True)  # (…, 1)
        return (wide / torch.sqrt(mean_square + self.eps) * self.gamma).to(x.dtype)


class ResidualNorm(nn.Module):
    """The residual connection around a sublayer, with a norm before it ("pre") or after it ("post").

    "post" is norm(x + sublayer(x)), Vaswani et al. 2017, section 3.1; "pre" is x + sublayer(norm(x)), Xiong et al.
    2020. In either, the sublayer gets `before(x)`, and `after(x, added)` goes on from what it added, on which dropout
    falls. kind: LayerNorm or RMSNorm. Called with x, it returns norm(x). Another norm: ValueError."""

    def __init__(self, d_model: int, *, norm: str = "pre", dropout: float = 0.0, kind: type = LayerNorm):
        super().__init__()
        self.layer = kind(d_model)
        self.norm = require_choice(norm, ("pre", "post"), "norm")
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)

    def before(self, x: Tensor) -> Tensor:
        return self(x) if self.norm == "pre" else x

    def after(self, x: Tensor, added: Tensor) -> Tensor:
        x = x + self.dropout(added)
        return self(x) if self.norm == "post" else x


# Weights have the names that they had when a ResidualNorm was a LayerNorm itself, `norm_1.gamma` for
# `norm_1.layer.gamma`: in files, saved and loaded, and where they are asked for. Notebooks show the class without this.


def state_dict_with_short_names(self: ResidualNorm, *given: Any, prefix: str = "", **options: Any) -> dict[str, Any]:
    """The state dict in which the norm's weights are named as those of the residual connection."""
    weights = nn.Module.state_dict(self, *given, prefix=prefix, **options)
    for name in [name for name in weights if name.startswith(f"{prefix}layer.")]:
        weights[prefix + name.removeprefix(f"{prefix}layer.")] = weights.pop(name)
    return weights


def load_from_short_names(self: ResidualNorm, weights: dict[str, Any], prefix: str, *given: Any) -> None:
    """What nn.Module does to load its own weights, before it comes to its layers; long names are loaded, too."""
    for name, _ in self.layer.named_parameters():
        if prefix + name in weights:
            weights[f"{prefix}layer.{name}"] = weights.pop(prefix + name)
    nn.Module._load_from_state_dict(self, weights, prefix, *given)


ResidualNorm.state_dict = state_dict_with_short_names
ResidualNorm._load_from_state_dict = load_from_short_names
ResidualNorm.gamma = property(lambda self: self.layer.gamma)
ResidualNorm.beta = property(lambda self: self.layer.beta)


class FeedForward(nn.Module):
    """activation(x W_1 + b_1) W_2 + b_2, the same at every position (Vaswani et al. 2017, equation 2).

    activation: "relu", "gelu" or "silu". bias False leaves b_1 and b_2 out. Dropout falls on the d_ff hidden values.
    Another activation, sizes below 1, or an x that is not (…, n, d_model): ValueError."""

    def __init__(
        self, *, d_model: int, d_ff: int, activation: str = "relu", dropout: float = 0.0, bias: bool = True
    ):  # fmt: skip
        super().__init__()
        require_whole(d_model=d_model, d_ff=d_ff)
        self.activation = require_choice(activation, ACTIVATIONS, "activation")
        self.dropout = nn.Dropout(dropout)
        self.W_1 = nn.Linear(d_model, d_ff, bias)
        self.W_2 = nn.Linear(d_ff, d_model, bias)

    def forward(self, x: Tensor) -> Tensor:
        require_vectors("x", x, self.W_1.weight)
        hidden = ACTIVATIONS[self.activation](self.W_1(x))  # (…, n, d_ff)
        return self.W_2(self.dropout(hidden))


class GatedFeedForward(FeedForward):
    """(activation(x W_1) · (x W_3)) W_2: the activation is a gate for a second product (Shazeer 2020, equation 6).

    With "silu" it is SwiGLU, with "gelu" GEGLU, with "relu" ReGLU. As in the paper, no layer has a bias unless bias is
    True. All else is as in `FeedForward`."""

    def __init__(
        self, *, d_model: int, d_ff: int, activation: str = "silu", dropout: float = 0.0, bias: bool = False
    ):  # fmt: skip
        super().__init__(d_model=d_model, d_ff=d_ff, activation=activation, dropout=dropout, bias=bias)
        self.W_3 = nn.Linear(d_model, d_ff, bias)

    def forward(self, x: Tensor) -> Tensor:
        require_vectors("x", x, self.W_1.weight)
        hidden = ACTIVATIONS[self.activation](self.W_1(x)) * self.W_3(x)  # (…, n, d_ff)
        return self.W_2(self.dropout(hidden))


class EncoderBlock(nn.Module):
    """Self-attention, then a feed-forward layer, each with a residual connection and a layer norm.

    norm: "pre" or "post", see `ResidualNorm`. d_ff None leaves the feed-forward layer out. Dropout falls on the
    attention weights, on the hidden values of the feed-forward layer, and on what each of the two adds to x.
    Called with x (…, n, d) and perhaps a mask, it returns the output (…, n, d) and the weights (…, h, q, k)."""

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_ff: int | None,
        dropout: float = 0.0,
        norm: str = "pre",
        activation: str = "relu",
    ):
        super().__init__()
        self.attention = MultiHeadAttention(d_model=d_model, num_heads=num_heads, dropout=dropout)
        self.norm_1 = ResidualNorm(d_model, norm=norm, dropout=dropout)
        self.feed_forward = self.norm_2 = None
        if d_ff is not None:
            self.feed_forward = FeedForward(d_model=d_model, d_ff=d_ff, activation=activation, dropout=dropout)
            self.norm_2 = ResidualNorm(d_model, norm=norm, dropout=dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        attended, weights = self.attention(self.norm_1.before(x), mask=mask)
        x = self.norm_1.after(x, attended)
        if self.feed_forward is not None:
            x = self.norm_2.after(x, self.feed_forward(self.norm_2.before(x)))
        return x, weights


class Encoder(nn.Module):
    """num_layers encoder blocks, one after the other; final_norm: a layer norm after the last, as pre-norm needs it.

    Called with x (…, n, d) and perhaps a mask, it returns the output (…, n, d) and a list with the weights
    (…, h, q, k) of each layer."""

    def __init__(
        self, *, d_model: int, num_heads: int, num_layers: int, d_ff: int | None,
        dropout: float = 0.0, norm: str = "pre", activation: str = "relu", final_norm: bool = False,
    ):  # fmt: skip
        super().__init__()
        require_whole(num_layers=num_layers)
        options = dict(dropout=dropout, norm=norm, activation=activation)
        blocks = (EncoderBlock(d_model=d_model, num_heads=num_heads, d_ff=d_ff, **options) for _ in range(num_layers))
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = LayerNorm(d_model) if final_norm else nn.Identity()

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        weights = []
        for block in self.blocks:
            x, weights_of_block = block(x, mask)
            weights.append(weights_of_block)
        return self.final_norm(x), weights


POSITIONS = {"sine": PositionalEncoding, "learned": LearnedPositions, None: nn.Identity}


class TokenEmbedding(nn.Module):
    """A vector (…, d_model) for each token id, with positions added: "sine", "learned" or None.

    Both start at the same size, N(0, 1), so the vectors are not multiplied by √d_model: the paper does that (section
    3.4) to a matrix that it shares with the output layer, and that has to start small for it. Called with token ids (b,
    n), it returns (b, n, d_model). Ids outside the vocabulary, or more than max_len of them: ValueError."""

    def __init__(self, vocabulary_size: int, *, d_model: int, positions: str | None = "sine", max_len: int = 64):
        super().__init__()
        require_whole(vocabulary_size=vocabulary_size, d_model=d_model)
        require_choice(positions, POSITIONS, "positions")
        self.vectors = nn.Embedding(vocabulary_size, d_model)
        self.positions = POSITIONS[positions](d_model=d_model, max_len=max_len)

    def forward(self, tokens: Tensor) -> Tensor:
        require_tokens(tokens, self.vectors)
        return self.positions(self.vectors(tokens))


class Tagger(nn.Module):
    """One of num_tags for each token: embedding with positions, encoder, linear layer.

    causal: a token sees only itself and what comes before it. norm "pre" brings a final norm with it.
    Called with token ids (b, n) and perhaps a mask, it returns the logits (b, n, num_tags) and a list with the weights
    (b, h, q, k) of each layer."""

    def __init__(
        self, vocabulary_size: int, *, num_tags: int, d_model: int, num_heads: int, num_layers: int, d_ff: int | None,
        positions: str | None = "sine", max_len: int = 64, norm: str = "pre", causal: bool = False,
        dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        sizes = dict(d_model=d_model, num_heads=num_heads, num_layers=num_layers, d_ff=d_ff)
        self.causal = causal
        self.embedding = TokenEmbedding(vocabulary_size, d_model=d_model, positions=positions, max_len=max_len)
        self.encoder = Encoder(**sizes, dropout=dropout, norm=norm, final_norm=norm == "pre")
        self.to_logits = nn.Linear(d_model, num_tags)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        x = self.embedding(tokens)  # (b, n, d)
        if mask is not None:
            require_boolean(mask)
        if self.causal:
            past = causal_mask(tokens.shape[-1], tokens.device)  # (q, k)
            mask = past if mask is None else mask & past
        x, weights = self.encoder(x, mask)
        return self.to_logits(x), weights
