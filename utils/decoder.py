"""The Transformer decoder: attention that keeps keys and values, block, stack, language model; and a
translator.

Axis letters: b batch, n position, q and k the same as query and as key, h head, e head dimension, d model dimension,
v vocabulary. Masks are boolean, True = may attend. Sizes are keyword arguments, in the order of `transformer.py`, and
go down to the blocks as one, `Sizes`.
What reads word by word returns (output, state, weights)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention, attention_weights, merge_heads, split_heads
from .checks import (
    require_choice,
    require_continuation,
    require_fitting_shapes,
    require_ids,
    require_shares,
    require_tokens,
    require_vectors,
    require_whole,
)
from .decoding import write
from .transformer import (
    PAIRINGS,
    POSITIONS,
    Encoder,
    FeedForward,
    GatedFeedForward,
    LayerNorm,
    ResidualNorm,
    RMSNorm,
    TokenEmbedding,
    Turns,
    rotate,
    turns,
)

ROTARY = {"rotary": "interleaved", "rotary halves": "halves"}  # positions that are not added, and their pairing
NORMS = {"layer": LayerNorm, "rms": RMSNorm}


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What a decoder is built of: its sizes, then its choices. A `Decoder` passes them whole to its blocks.

    num_layers: needed by a stack, not by a single block. norm, dropout, activation: as in `EncoderBlock`. final_norm: a
    norm after the last block. cross: blocks attend to a memory, too. num_kv_heads, rotary, base: as in
    `CachedAttention`; num_kv_heads holds for both attentions, rotary for the first alone. norm_kind: "layer" or "rms",
    for `LayerNorm` and `RMSNorm`. gated: the feed-forward layer is a `GatedFeedForward`, with activation "silu" a
    SwiGLU. bias False leaves the biases of attention and feed-forward layer out. Another norm_kind: ValueError."""

    d_model: int
    num_heads: int
    num_layers: int | None = None
    d_ff: int
    dropout: float = 0.0
    norm: str = "pre"
    activation: str = "relu"
    final_norm: bool = False
    cross: bool = True
    num_kv_heads: int | None = None
    rotary: str | None = None
    base: float = 10000
    norm_kind: str = "layer"
    gated: bool = False
    bias: bool = True

    def __post_init__(self):
        require_choice(self.norm_kind, NORMS, "norm_kind")


def sizes_of(layer: nn.Module, sizes: Sizes | None, **fields: Any) -> Sizes:
    """The sizes of a layer, with the fields in which they differ; made of the fields alone where there are none.

    Fields that are missing or do not exist: TypeError that names the layer."""
    try:
        return Sizes(**fields) if sizes is None else replace(sizes, **fields)
    except TypeError as error:
        raise TypeError(f"{type(layer).__name__}: {error}") from None


class KeysValues(NamedTuple):
    """What attention keeps of the positions that it has read: keys and values, (b, h, k, e) each."""

    keys: Tensor
    values: Tensor


class CachedAttention(nn.Module):
    """Multi-head attention in two halves, `keep` and `attend`, so that keys and values are computed once and kept.

    num_kv_heads: how many heads of keys and values there are, each for num_heads / num_kv_heads heads of queries: one
    (multi-query attention, Shazeer 2019), fewer than num_heads (grouped, Ainslie et al. 2023), or as many, the default.
    rotary: a pairing of `rotate`, by which queries and keys are turned to their places (…, 1, n), 0, 1, … if not given,
    with the base of `rotate`. bias False: no layer has a bias.
    Called with query (…, q, d), and perhaps a memory (…, k, d) and a mask, it returns the output (…, q, d) and the
    weights (…, h, q, k), as a `MultiHeadAttention` does whose key and value are the memory."""

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        dropout: float = 0.0,
        rotary: str | None = None,
        base: float = 10000,
        bias: bool = True,
    ):
        super().__init__()
        self.num_heads = num_heads
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        self.rotary, self.base = require_choice(rotary, (None, *PAIRINGS), "rotary"), base
        self.dropout = nn.Dropout(dropout)
        plain = MultiHeadAttention(
            d_model=d_model, num_heads=num_heads, bias=bias
        )  # W_q and W_o start as they do there
        require_shares(num_heads=num_heads, num_kv_heads=self.num_kv_heads)
        d_kv = d_model // num_heads * self.num_kv_heads
        self.W_q = plain.W_q
        self.W_k = nn.Linear(d_model, d_kv, bias)
        self.W_v = nn.Linear(d_model, d_kv, bias)
        self.W_o = plain.W_o

    def turns(self, places: Tensor | None, dtype: torch.dtype) -> Tensor | Turns | None:
        """What `keep` and `attend` take for places (b, 1, n), made once for all layers with the same base."""
        if places is None or self.rotary is None:
            return places
        return turns(places, self.W_q.out_features // self.num_heads, self.base, dtype)

    def keep(self, x: Tensor, kept: KeysValues | None = None, places: Tensor | Turns | None = None) -> KeysValues:
        """The keys and values of x (…, n, d), behind those that were kept before."""
        require_vectors("x", x, self.W_k.weight)
        keys = rotate(split_heads(self.W_k(x), self.num_kv_heads), places, self.rotary, self.base)  # (…, h, n, e)
        values = split_heads(self.W_v(x), self.num_kv_heads)  # (…, h, n, e)
        return appended(kept, KeysValues(keys, values))

    def attend(
        self, x: Tensor, kept: KeysValues, mask: Tensor | None = None, places: Tensor | Turns | None = None
    ) -> tuple[Tensor, Tensor]:
        """The output (…, q, d) and weights (…, h, q, k) of the queries of x (…, q, d)."""
        require_vectors("x", x, self.W_q.weight)
        Q = rotate(split_heads(self.W_q(x), self.num_heads), places, self.rotary, self.base)  # (…, h, q, e)
        K, V = (repeat_heads(part, self.num_heads // self.num_kv_heads) for part in kept)  # (…, h, k, e)
        require_fitting_shapes(Q, K, V, mask)
        weights = attention_weights(Q, K, mask)  # (…, h, q, k)
        return self.W_o(merge_heads(self.dropout(weights) @ V)), weights

    def forward(self, query: Tensor, memory: Tensor | None = None, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self.attend(query, self.keep(query if memory is None else memory), mask)


def appended(kept: KeysValues | None, new: KeysValues) -> KeysValues:
    """The new keys and values behind those that were kept before."""
    return new if kept is None else KeysValues(*(torch.cat(both, dim=-2) for both in zip(kept, new)))


def repeat_heads(heads: Tensor, times: int) -> Tensor:
    """(…, h, k, e) → (…, h · times, k, e): each head for so many heads of queries side by side."""
    return heads if times == 1 else heads.repeat_interleave(times, dim=-3)


class BlockState(NamedTuple):
    """What a block keeps: of its own words, more each time, and of the memory, once."""

    own: KeysValues | None
    cross: KeysValues | None


NOTHING_YET = BlockState(None, None)


class DecoderBlock(nn.Module):
    """Self-attention, cross-attention to a memory, feed-forward layer (Vaswani et al. 2017, section 3.1).

    Built of `Sizes`, or of their fields by name: `DecoderBlock(d_model=8, num_heads=2, d_ff=16)`.
    Called with x (b, n, d), a mask (…, n, k) that keeps the future away, the memory (b, k, d) and its mask, and perhaps
    the state after the words before x and the places (b, 1, n) of x, it returns the output (b, n, d), the state, and
    the weights (b, h, n, k) of both attentions. With a state, the memory is not read: its keys are in the state."""

    def __init__(self, sizes: Sizes | None = None, **fields: Any):
        super().__init__()
        sizes = sizes_of(self, sizes, **fields)
        d_model, dropout = sizes.d_model, sizes.dropout
        heads = dict(num_heads=sizes.num_heads, num_kv_heads=sizes.num_kv_heads)
        layers = dict(d_model=d_model, dropout=dropout, bias=sizes.bias)
        around = dict(norm=sizes.norm, dropout=dropout, kind=NORMS[sizes.norm_kind])
        self.attention = CachedAttention(**layers, **heads, rotary=sizes.rotary, base=sizes.base)
        self.cross_attention = CachedAttention(**layers, **heads) if sizes.cross else None
        of_kind = GatedFeedForward if sizes.gated else FeedForward
        self.feed_forward = of_kind(**layers, d_ff=sizes.d_ff, activation=sizes.activation)
        self.norm_1, self.norm_3 = (ResidualNorm(d_model, **around) for _ in range(2))
        self.norm_2 = ResidualNorm(d_model, **around) if sizes.cross else None

    def forward(
        self, x: Tensor, mask: Tensor | None = None, memory: Tensor | None = None, memory_mask: Tensor | None = None,
        state: BlockState = NOTHING_YET, places: Tensor | Turns | None = None,
    ) -> tuple[Tensor, BlockState, tuple[Tensor, Tensor | None]]:  # fmt: skip
        y = self.norm_1.before(x)
        own = self.attention.keep(y, state.own, places)
        attended, own_weights = self.attention.attend(y, own, mask, places)
        x, cross, weights = self.norm_1.after(x, attended), None, (own_weights, None)
        if self.cross_attention is not None:
            cross = state.cross or self.cross_attention.keep(memory)  # once for all words
            attended, cross_weights = self.cross_attention.attend(self.norm_2.before(x), cross, memory_mask)
            x, weights = self.norm_2.after(x, attended), (own_weights, cross_weights)
        return self.norm_3.after(x, self.feed_forward(self.norm_3.before(x))), BlockState(own, cross), weights


class Weights(NamedTuple):
    """Of each layer, (b, h, q, k): the decoder's words at each other, these at the source, its words at each other."""

    own: list[Tensor]
    cross: list[Tensor]
    source: list[Tensor] = []


class Decoder(nn.Module):
    """num_layers decoder blocks, one after the other, and perhaps a norm, of `Sizes` or of their fields by name.

    Called as a block is, with a list of their states, it returns the output (b, n, d), such a list, and `Weights`."""

    def __init__(self, sizes: Sizes | None = None, **fields: Any):
        super().__init__()
        sizes = sizes_of(self, sizes, **fields)
        require_whole(num_layers=sizes.num_layers)
        self.blocks = nn.ModuleList(DecoderBlock(sizes) for _ in range(sizes.num_layers))
        self.final_norm = NORMS[sizes.norm_kind](sizes.d_model) if sizes.final_norm else nn.Identity()

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        state: list[BlockState] | None = None,
        places: Tensor | None = None,
    ) -> tuple[Tensor, list[BlockState], Weights]:
        if state is None and (memory is None) != (self.blocks[0].cross_attention is None):
            raise ValueError("there must be a memory where the blocks have cross=True, and only there")
        before = [NOTHING_YET] * len(self.blocks) if state is None else state
        places = self.blocks[0].attention.turns(places, x.dtype)  # once, as all blocks have one base
        after, weights = [], Weights([], [])
        for block, state_of_block in zip(self.blocks, before):
            x, state_of_block, (own, cross) = block(x, mask, memory, memory_mask, state_of_block, places)
            after.append(state_of_block)
            weights.own.append(own)
            weights.cross.append(cross)
        return self.final_norm(x), after, weights


class PlacedEmbedding(TokenEmbedding):
    """A `TokenEmbedding` whose tokens may stand at any places (b, n); with rotary positions, nothing is added.

    scaled: the vectors start √d_model times smaller, as a matrix that is shared with the output layer has to, and are
    multiplied by √d_model when they are read (Vaswani et al. 2017, section 3.4)."""

    def __init__(
        self,
        vocabulary_size: int,
        *,
        d_model: int,
        positions: str | None = "sine",
        max_len: int = 64,
        scaled: bool = False,
    ):
        require_choice(positions, (*POSITIONS, *ROTARY), "positions")
        added = None if positions in ROTARY else positions
        super().__init__(vocabulary_size, d_model=d_model, positions=added, max_len=max_len)
        self.scale = math.sqrt(d_model) if scaled else 1.0
        self.vectors.weight.data /= self.scale

    def forward(self, tokens: Tensor, places: Tensor | None = None) -> Tensor:
        require_tokens(tokens, self.vectors)
        x = self.vectors(tokens) * self.scale  # (b, n, d)
        if places is None or isinstance(self.positions, nn.Identity):
            return self.positions(x)
        require_ids(places, len(self.positions.table), "places")
        return x + self.positions.table[places]


class State(NamedTuple):
    """What a language model keeps: the state of each block; which of the k tokens so far are words and no padding, (b,
    1, 1, k); the mask of the memory."""

    blocks: list[BlockState]
    words: Tensor
    memory_mask: Tensor | None = None


class LanguageModel(nn.Module):
    """Logits for the next token at every position, by a decoder that sees the tokens up to there, and perhaps a memory.

    positions: "sine", "learned", None, "rotary", "rotary halves". tied: the output layer `to_logits` and the embedding
    have one matrix (Press & Wolf 2017), which should be `scaled` then. causal False lets every token see all others.
    cross: there is a memory. final_norm: if not given, norm "pre" brings one with it. fields: the others of `Sizes`,
    d_model, num_heads, num_layers and d_ff among them.
    Called with token ids (b, n), and perhaps the state after those before them, the mask (b, 1, 1, n) of padding, which
    may stand anywhere, a memory (b, k, d) and its mask, it returns logits (b, n, v), the state, and `Weights`."""

    def __init__(
        self,
        vocabulary_size: int,
        *,
        positions: str | None = "sine",
        max_len: int = 64,
        scaled: bool = False,
        tied: bool = False,
        causal: bool = True,
        cross: bool = False,
        norm: str = "pre",
        final_norm: bool | None = None,
        **fields: Any,
    ):
        super().__init__()
        final_norm = norm == "pre" if final_norm is None else final_norm
        given = dict(cross=cross, norm=norm, final_norm=final_norm, rotary=ROTARY.get(positions))
        sizes = sizes_of(self, None, **fields, **given)
        self.causal = causal
        self.embedding = PlacedEmbedding(
            vocabulary_size, d_model=sizes.d_model, positions=positions, max_len=max_len, scaled=scaled
        )
        self.decoder = Decoder(sizes)
        self.to_logits = nn.Linear(sizes.d_model, vocabulary_size, bias=False)
        if tied:
            self.to_logits.weight = self.embedding.vectors.weight

    def forward(
        self,
        tokens: Tensor,
        state: State | None = None,
        mask: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> tuple[Tensor, State, Weights]:
        words = require_continuation(tokens, mask, None if state is None else state.words)  # (b, 1, 1, n)
        blocks = None
        if state is not None:
            blocks, memory_mask = state.blocks, state.memory_mask
            words = torch.cat([state.words, words], dim=-1)  # (b, 1, 1, k)
        n = tokens.shape[1]
        places = self.places(words, n)
        x = self.embedding(tokens, places[:, 0])  # (b, n, d)
        x, blocks, weights = self.decoder(x, self.visible(words, n), memory, memory_mask, blocks, places)
        return self.to_logits(x), State(blocks, words, memory_mask), weights

    def places(self, words: Tensor, n: int) -> Tensor:
        """(b, 1, n): of the last n of k tokens, how many words stand before each, so that padding takes no place.

        words (b, 1, 1, k): which of the k are words."""
        return (words.cumsum(-1) - words.long())[:, 0, :, -n:]

    def visible(self, words: Tensor, n: int) -> Tensor:
        """(b, 1, n, k): whom the last n of k tokens may see, the words up to each; or all words, (b, 1, 1, k), where
        causal is False."""
        k = words.shape[-1]
        return words & words.new_ones(n, k).tril(k - n) if self.causal else words


class TokenEncoder(nn.Module):
    """From source tokens (b, k) with their mask a memory (b, k, d), and the weights (b, h, k, k) of each layer.

    positions, scaled and final_norm are as in `LanguageModel`, all else as in `Encoder`."""

    def __init__(
        self,
        vocabulary_size: int,
        *,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        positions: str | None = "sine",
        max_len: int = 64,
        scaled: bool = False,
        dropout: float = 0.0,
        norm: str = "pre",
        activation: str = "relu",
        final_norm: bool | None = None,
    ):
        super().__init__()
        self.embedding = PlacedEmbedding(
            vocabulary_size, d_model=d_model, positions=positions, max_len=max_len, scaled=scaled
        )
        heads = dict(d_model=d_model, num_heads=num_heads, dropout=dropout)
        sizes = dict(heads, num_layers=num_layers, d_ff=d_ff, norm=norm, activation=activation)
        self.encoder = Encoder(**sizes, final_norm=norm == "pre" if final_norm is None else final_norm)
        if positions in ROTARY:
            for block in self.encoder.blocks:
                block.attention = CachedAttention(**heads, rotary=ROTARY[positions])

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, list[Tensor]]:
        require_tokens(tokens, self.embedding.vectors, mask)
        return self.encoder(self.embedding(tokens), mask)


class TransformerTranslator(nn.Module):
    """An encoder, and a language model that looks at what the encoder made of the source (Vaswani et al. 2017).

    Called with source (b, k), its mask and the target so far (b, q), from `<s>` on, it returns logits (b, q, v) for the
    next word at each position, and `Weights`."""

    def __init__(self, encoder: TokenEncoder, language_model: LanguageModel):
        super().__init__()
        self.encoder, self.language_model = encoder, language_model

    def forward(self, source: Tensor, mask: Tensor, target: Tensor) -> tuple[Tensor, Weights]:
        memory, of_source = self.encoder(source, mask)
        logits, _, weights = self.language_model(target, memory=memory, memory_mask=mask)
        return logits, weights._replace(source=of_source)

    def step_for(self, source: Tensor, mask: Tensor) -> Callable:
        """step(tokens, state) for `utils.decoding`, after the source was read once."""
        memory, _ = self.encoder(source, mask)
        return lambda tokens, state: self.language_model(tokens, state, memory=memory, memory_mask=mask)

    @torch.no_grad()
    def translate(self, source: Tensor, mask: Tensor, limit: int = 40) -> tuple[list[list[int]], list[Tensor]]:
        """Greedy search: the most probable word each time, until every sentence has its `</s>` or has `limit` words.

        Returns the token ids of each sentence without `</s>`, and the weights (b, h, q, k) of the cross-attention in
        each layer, a row for each word that was written."""
        sentences, steps = write(self.step_for(source, mask), None, len(source), limit, device=source.device)
        return sentences, [torch.cat(layer, dim=-2) for layer in zip(*(weights.cross for weights in steps))]
