"""The Transformer encoder: positions, layer norm, feed-forward layer, block, stack; and a tagger built of them.

Axis letters: b batch, n position, q and k the same as query and as key, h head, d model dimension.
Masks are boolean, True = may attend, and broadcast to (b, h, q, k).
"""

from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .attention import MultiHeadAttention, bias_or_zeros, changes_of_multi_head, project, put
from .checks import known, require_tensors, require_whole
from .masks import causal_mask
from .rnn import embed

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


def sinusoidal_positions(n: int, d_model: int, base: float = 10000.0) -> Tensor:
    """(n, d_model): PE(p, 2i) = sin(p / base^(2i/d)), PE(p, 2i+1) = cos(p / base^(2i/d)).

    Vaswani et al. 2017, section 3.5; an odd d_model ends with a sine. Sizes below 1 or base ≤ 0: ValueError.
    """
    require_whole(n=n, d_model=d_model)
    if base <= 0:
        raise ValueError(f"base {base} must be above 0")
    position = torch.arange(n)[:, None]  # (n, 1)
    two_i = torch.arange(0, d_model, 2, dtype=torch.float64)  # (⌈d/2⌉,)
    angles = position / base ** (two_i / d_model)  # (n, ⌈d/2⌉)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)  # (n, d), or (n, d + 1) for an odd d
    return waves[:, :d_model].to(torch.get_default_dtype())


class PositionalEncoding(nn.Module):
    """Adds sinusoidal positions to x (…, n, d_model).

    The table goes with the module to another device or dtype; the state dict leaves it out, as the equation gives it
    anew. More than max_len positions, or another width: ValueError.
    """

    def __init__(self, d_model: int, max_len: int):
        super().__init__()
        self.register_buffer("table", sinusoidal_positions(max_len, d_model), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        require_tensors(x=x)
        max_len, d_model = self.table.shape
        if x.ndim < 2 or x.shape[-1] != d_model or x.shape[-2] > max_len:
            fits = f"(…, n, {d_model}) with n at most max_len = {max_len}"
            raise ValueError(f"x {tuple(x.shape)} must be {fits}: cut the input, or build with a larger max_len")
        return x + self.table[: x.shape[-2]]


class LearnedPositions(PositionalEncoding):
    """The same with a table that is learned; it starts at random, N(0, 1)."""

    def __init__(self, d_model: int, max_len: int):
        super().__init__(d_model, max_len)
        self.table = nn.Parameter(torch.randn_like(self.table))


class LayerNorm(nn.Module):
    """(x - mean) / √(variance + eps) · gamma + beta over the last axis (Ba et al. 2016).

    The variance is the biased one, divided by d_model, and float16 is computed in float32, both as in PyTorch. Another
    width than d_model: ValueError.
    """

    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        require_whole(d_model=d_model)
        self.gamma, self.beta = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        require_tensors(x=x)
        if x.shape[-1:] != self.gamma.shape:
            raise ValueError(f"x {tuple(x.shape)} must be (…, {len(self.gamma)})")
        wide = x.to(torch.promote_types(x.dtype, torch.float32))  # the square of a float16 may overflow
        centred = wide - wide.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)  # (…, 1); far faster than x.var
        return (centred / torch.sqrt(variance + self.eps) * self.gamma + self.beta).to(x.dtype)


class FeedForward(nn.Module):
    """activation(x W_1 + b_1) W_2 + b_2, the same at every position (Vaswani et al. 2017, equation 2).

    activation: "relu" or "gelu". Dropout falls on the d_ff hidden values. Another activation, sizes below 1, or an x
    that is not (…, n, d_model): ValueError.
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu", dropout: float = 0.0):
        super().__init__()
        require_whole(d_model=d_model, d_ff=d_ff)
        self.W_1, self.W_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.activation, self.dropout = known(activation, ACTIVATIONS, "activation"), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = ACTIVATIONS[self.activation](project(self.W_1, x, "x"))  # (…, n, d_ff)
        return self.W_2(self.dropout(hidden))


class EncoderBlock(nn.Module):
    """Self-attention, then a feed-forward layer, each with a residual connection and a layer norm.

    norm: "post" is x = norm(x + sublayer(x)), Vaswani et al. 2017, section 3.1; "pre" is x = x + sublayer(norm(x)),
    Xiong et al. 2020. d_ff None leaves the feed-forward layer out. Dropout falls on the attention weights, on the
    hidden values of the feed-forward layer, and on what each of the two adds to x.
    Called with x (…, n, d) and perhaps a mask, it returns the output (…, n, d) and the weights (…, h, q, k).
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm="pre", activation="relu"):
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f"norm {norm!r} must be 'pre' or 'post'")
        self.norm, self.dropout = norm, nn.Dropout(dropout)
        self.attention, self.norm_1 = MultiHeadAttention(d_model, num_heads, dropout), LayerNorm(d_model)
        self.feed_forward = None if d_ff is None else FeedForward(d_model, d_ff, activation, dropout)
        self.norm_2 = None if d_ff is None else LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if self.norm == "pre":
            attended, weights = self.attention(self.norm_1(x), mask=mask)
            x = x + self.dropout(attended)
            if self.feed_forward is not None:
                x = x + self.dropout(self.feed_forward(self.norm_2(x)))
        else:
            attended, weights = self.attention(x, mask=mask)
            x = self.norm_1(x + self.dropout(attended))
            if self.feed_forward is not None:
                x = self.norm_2(x + self.dropout(self.feed_forward(x)))
        return x, weights

    def load_torch(self, module: nn.TransformerEncoderLayer) -> "EncoderBlock":
        return load_block(self, module)


class Encoder(nn.Module):
    """num_layers encoder blocks, one after the other; final_norm: a layer norm after the last, as pre-norm needs it.

    Called with x (…, n, d) and perhaps a mask, it returns the output (…, n, d) and a list with the weights
    (…, h, q, k) of each layer.
    """

    def __init__(
        self, num_layers, d_model, num_heads, d_ff, dropout=0.0, norm="pre", activation="relu", final_norm=False
    ):
        super().__init__()
        require_whole(num_layers=num_layers)
        blocks = (EncoderBlock(d_model, num_heads, d_ff, dropout, norm, activation) for _ in range(num_layers))
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = LayerNorm(d_model) if final_norm else nn.Identity()

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        weights = []
        for block in self.blocks:
            x, weights_of_block = block(x, mask)
            weights.append(weights_of_block)
        return self.final_norm(x), weights

    def load_torch(self, module: nn.TransformerEncoder) -> "Encoder":
        return load_encoder(self, module)


POSITIONS = {"sine": PositionalEncoding, "learned": LearnedPositions, None: nn.Identity}


class Tagger(nn.Module):
    """One of num_tags for each token: embedding, positions ("sine", "learned" or None), encoder, linear layer.

    causal: a token sees only itself and what comes before it. norm "pre" brings a final norm with it.
    Embedding and positions start at the same size, N(0, 1), so the embedding is not multiplied by √d_model: the paper
    does that (section 3.4) to a matrix that it shares with the output layer, and that has to start small for it.
    Called with token ids (b, n) and perhaps a mask, it returns the logits (b, n, num_tags) and a list with the weights
    (b, h, q, k) of each layer. Ids outside the vocabulary, or more than max_len of them: ValueError.
    """

    def __init__(
        self, vocabulary_size, num_tags, d_model, num_heads, d_ff, num_layers,
        positions="sine", max_len=64, norm="pre", causal=False, dropout=0.0,
    ):  # fmt: skip
        super().__init__()
        if positions not in POSITIONS:
            raise ValueError(f"positions {positions!r} must be one of {', '.join(map(repr, POSITIONS))}")
        self.embedding, self.causal = nn.Embedding(vocabulary_size, d_model), causal
        self.positions = POSITIONS[positions](d_model, max_len)
        self.encoder = Encoder(num_layers, d_model, num_heads, d_ff, dropout, norm, final_norm=norm == "pre")
        self.head = nn.Linear(d_model, num_tags)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        x = self.positions(embed(self.embedding, tokens))  # (b, n, d)
        if self.causal:
            past = causal_mask(tokens.shape[-1]).to(tokens.device)  # (q, k)
            mask = past if mask is None else mask & past
        x, weights = self.encoder(x, mask)
        return self.head(x), weights


@contextmanager
def ablate(encoder: Encoder, layer: int, head: int):
    """A with block in which one head of one layer, both counted from 0, adds nothing: it is 0 where it enters W_o."""
    num_heads = encoder.blocks[0].attention.num_heads
    if layer not in range(len(encoder.blocks)) or head not in range(num_heads):
        raise ValueError(f"layer {layer}, head {head}: there are {len(encoder.blocks)} layers of {num_heads} heads")

    def silence(W_o, inputs):
        heads = list(inputs[0].chunk(num_heads, dim=-1))  # each (…, n, e)
        heads[head] = torch.zeros_like(heads[head])
        return torch.cat(heads, dim=-1)

    hook = encoder.blocks[layer].attention.W_o.register_forward_pre_hook(silence)
    try:
        yield
    finally:
        hook.remove()


def load_encoder(ours: Encoder, module: nn.TransformerEncoder) -> Encoder:
    """Copy the weights of PyTorch's stack into ours, and return ours; ValueError, and nothing is copied, where they
    differ in kind."""
    if not isinstance(module, nn.TransformerEncoder):
        raise ValueError(f"{type(module).__name__} is not an nn.TransformerEncoder")
    here = (len(ours.blocks), isinstance(ours.final_norm, LayerNorm))
    there = (len(module.layers), module.norm is not None)
    if here != there:
        raise ValueError(f"num_layers and final_norm are {here} here and {there} in PyTorch's stack; make them equal")
    changes = [one for block, layer in zip(ours.blocks, module.layers) for one in changes_of_block(block, layer)]
    put(changes + (changes_of_norm(ours.final_norm, module.norm) if module.norm is not None else []))
    return ours


def load_block(ours: EncoderBlock, module: nn.TransformerEncoderLayer) -> EncoderBlock:
    """Copy the weights of PyTorch's layer into ours, and return ours.

    Biases that PyTorch's layer lacks are 0 here; rates of dropout are not copied. ValueError where sizes, norm or
    activation differ; then nothing is copied.
    """
    put(changes_of_block(ours, module))
    return ours


@torch.no_grad()
def changes_of_block(ours: EncoderBlock, module: nn.TransformerEncoderLayer) -> list:
    """What `load_block` puts where, as `put` takes it."""
    feed_forward = ours.feed_forward
    if not isinstance(module, nn.TransformerEncoderLayer) or feed_forward is None:
        raise ValueError(f"a block with feed-forward layer {feed_forward} cannot load a {type(module).__name__}")
    x = torch.linspace(-9, 9, 99).to(module.linear1.weight)
    activation = (name for name, f in ACTIVATIONS.items() if torch.equal(f(x), module.activation(x.clone())))
    here = (feed_forward.W_1.out_features, ours.norm, feed_forward.activation)
    there = (module.linear1.out_features, "pre" if module.norm_first else "post", next(activation, module.activation))
    if here != there:
        raise ValueError(f"d_ff, norm, activation are {here} here and {there} in PyTorch's layer; make them equal")
    return [
        *changes_of_multi_head(ours.attention, module.self_attn, bias=True),
        (feed_forward.W_1, "weight", module.linear1.weight),
        (feed_forward.W_1, "bias", bias_or_zeros(module.linear1)),
        (feed_forward.W_2, "weight", module.linear2.weight),
        (feed_forward.W_2, "bias", bias_or_zeros(module.linear2)),
        *changes_of_norm(ours.norm_1, module.norm1),
        *changes_of_norm(ours.norm_2, module.norm2),
    ]


def changes_of_norm(ours: LayerNorm, module: nn.LayerNorm) -> list:
    """What loading a layer norm puts where, as `put` takes it; ValueError unless it has a gamma of the same width."""
    if not isinstance(module, nn.LayerNorm) or module.weight is None or module.weight.shape != ours.gamma.shape:
        raise ValueError(f"{module} is not an nn.LayerNorm with a weight for d_model = {len(ours.gamma)}")
    return [(ours, "gamma", module.weight), (ours, "beta", bias_or_zeros(module)), (ours, "eps", module.eps)]
