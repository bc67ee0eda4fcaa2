"""The Transformer decoder: rotary positions, attention that keeps keys and values, block, stack, language model; and a
translator.

Axis letters: b batch, n position, q and k the same as query and as key, h head, e head dimension, d model dimension,
v vocabulary. Masks are boolean, True = may attend. What reads word by word returns (output, state, weights)."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention, attention_weights, merge_heads, mix, split_heads
from .checks import (
    known,
    require_fitting_shapes,
    require_going_on,
    require_ids,
    require_shares,
    require_tokens,
    require_vectors,
    require_whole,
)
from .decoding import write
from .transformer import POSITIONS, Encoder, FeedForward, LayerNorm, TokenEmbedding

PAIRINGS = {"interleaved": -1, "halves": -2}  # the axis of a pair, once the e entries are (e/2, 2) or (2, e/2)
ROTARY = {"rotary": "interleaved", "rotary halves": "halves"}  # positions that are not added, and their pairing
Maybe = Tensor | None


def rotate(x: Tensor, places: Maybe = None, pairing: str | None = "interleaved", base: float = 10000.0) -> Tensor:
    """Rotary positions (Su et al. 2021): pair i of the entries of x (…, n, e) is turned by place / base^(2i/e).

    places broadcast to (…, n), and are 0, 1, … if not given. pairing: "interleaved" turns the entries 2i and 2i + 1
    together, as in the paper, "halves" i and i + e/2, as many models do; None returns x. An odd e: ValueError."""
    if pairing is None:
        return x
    known(pairing, PAIRINGS, "pairing")
    require_shares(e=x.shape[-1], entries_of_a_pair=2)
    places = torch.arange(x.shape[-2]) if places is None else places
    two_i = torch.arange(0, x.shape[-1], 2, dtype=torch.float64)  # (e/2,)
    angles = places[..., None] / base ** (two_i / x.shape[-1])  # (…, n, e/2)
    cos, sin, axis = angles.cos().to(x.dtype), angles.sin().to(x.dtype), PAIRINGS[pairing]
    first, second = x.unflatten(-1, (-1, 2) if axis == -1 else (2, -1)).unbind(axis)  # (…, n, e/2) each
    return torch.stack([first * cos - second * sin, first * sin + second * cos], dim=axis).flatten(-2)


class KeysValues(NamedTuple):
    """What attention keeps of the positions that it has read: keys and values, (b, h, k, e) each."""

    keys: Tensor
    values: Tensor


class CachedAttention(MultiHeadAttention):
    """Multi-head attention in two halves, `keep` and `attend`, so that keys and values are computed once and kept.

    num_kv_heads: how many heads of keys and values there are, each for num_heads / num_kv_heads heads of queries: one
    (multi-query attention, Shazeer 2019), fewer than num_heads (grouped, Ainslie et al. 2023), or as many, the default.
    rotary: a pairing of `rotate`, by which queries and keys are turned to their places (…, 1, n), 0, 1, … if not given.
    Called with query (…, q, d), and perhaps a memory (…, k, d) and a mask, it is a `MultiHeadAttention`."""

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, num_kv_heads: int | None = None,
        rotary: str | None = None,
    ):  # fmt: skip
        super().__init__(d_model, num_heads, dropout)
        self.rotary, self.num_kv_heads = known(rotary, (None, *PAIRINGS), "rotary"), num_kv_heads or num_heads
        require_shares(num_heads=num_heads, num_kv_heads=self.num_kv_heads)
        self.W_k, self.W_v = (nn.Linear(d_model, d_model // num_heads * self.num_kv_heads) for _ in range(2))

    def keep(self, x: Tensor, kept: KeysValues | None = None, places: Maybe = None) -> KeysValues:
        """The keys and values of x (…, n, d), behind those that were kept before."""
        require_vectors("x", x, self.W_k.weight)
        keys, values = (split_heads(W(x), self.num_kv_heads) for W in (self.W_k, self.W_v))  # (…, h, n, e)
        return appended(kept, KeysValues(rotate(keys, places, self.rotary), values))

    def attend(self, x: Tensor, kept: KeysValues, mask: Maybe = None, places: Maybe = None) -> tuple[Tensor, Tensor]:
        """The output (…, q, d) and weights (…, h, q, k) of the queries of x (…, q, d)."""
        require_vectors("x", x, self.W_q.weight)
        Q = rotate(split_heads(self.W_q(x), self.num_heads), places, self.rotary)  # (…, h, q, e)
        K, V = (shared(part, self.num_heads // self.num_kv_heads) for part in kept)  # (…, h, k, e)
        require_fitting_shapes(Q, K, V, mask)
        weights = attention_weights(Q, K, mask)  # (…, h, q, k)
        return self.W_o(merge_heads(mix(self.dropout(weights), V, mask))), weights

    def forward(self, query: Tensor, memory: Maybe = None, mask: Maybe = None) -> tuple[Tensor, Tensor]:
        return self.attend(query, self.keep(query if memory is None else memory), mask)


def appended(kept: KeysValues | None, new: KeysValues) -> KeysValues:
    """The new keys and values behind those that were kept before."""
    return new if kept is None else KeysValues(*(torch.cat(both, dim=-2) for both in zip(kept, new)))


def shared(heads: Tensor, times: int) -> Tensor:
    """(…, h, k, e) → (…, h · times, k, e): each head for so many heads of queries side by side."""
    return heads if times == 1 else heads.repeat_interleave(times, dim=-3)


class ResidualNorm(LayerNorm):
    """The layer norm before ("pre") or after ("post") a sublayer and its residual connection, as in `EncoderBlock`.
    Dropout falls on what the sublayer adds."""

    def __init__(self, d_model: int, norm: str = "pre", dropout: float = 0.0):
        super().__init__(d_model)
        self.norm, self.dropout = known(norm, ("pre", "post"), "norm"), nn.Dropout(dropout)

    def before(self, x: Tensor) -> Tensor:
        return self(x) if self.norm == "pre" else x

    def after(self, x: Tensor, added: Tensor) -> Tensor:
        x = x + self.dropout(added)
        return self(x) if self.norm == "post" else x


class BlockState(NamedTuple):
    """What a block keeps: of its own words, more each time, and of the memory, once."""

    own: KeysValues | None
    cross: KeysValues | None


NOTHING_YET = BlockState(None, None)


class DecoderBlock(nn.Module):
    """Self-attention, cross-attention to a memory, feed-forward layer (Vaswani et al. 2017, section 3.1).

    norm and dropout are as in `EncoderBlock`. cross False leaves the cross-attention out. num_kv_heads holds for both
    attentions, rotary for the first alone; see `CachedAttention`.
    Called with x (b, n, d), a mask (…, n, k) that keeps the future away, the memory (b, k, d) and its mask, and perhaps
    the state after the words before x and the places (b, 1, n) of x, it returns the output (b, n, d), the state, and
    the weights (b, h, n, k) of both attentions. With a state, the memory is not read: its keys are in the state."""

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0, norm: str = "pre",
        activation: str = "relu", cross: bool = True, num_kv_heads: int | None = None, rotary: str | None = None,
    ):  # fmt: skip
        super().__init__()
        self.attention = CachedAttention(d_model, num_heads, dropout, num_kv_heads, rotary)
        self.cross_attention = CachedAttention(d_model, num_heads, dropout, num_kv_heads) if cross else None
        self.feed_forward = FeedForward(d_model, d_ff, activation, dropout)
        self.norm_1, self.norm_3 = ResidualNorm(d_model, norm, dropout), ResidualNorm(d_model, norm, dropout)
        self.norm_2 = ResidualNorm(d_model, norm, dropout) if cross else None

    def forward(
        self, x: Tensor, mask: Maybe = None, memory: Maybe = None, memory_mask: Maybe = None,
        state: BlockState = NOTHING_YET, places: Maybe = None,
    ) -> tuple[Tensor, BlockState, tuple[Tensor, Maybe]]:  # fmt: skip
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
    """num_layers decoder blocks, one after the other; final_norm as in `Encoder`; options: those of `DecoderBlock`.

    Called as a block is, with a list of their states, it returns the output (b, n, d), such a list, and `Weights`."""

    def __init__(
        self, num_layers: int, d_model: int, num_heads: int, d_ff: int, final_norm: bool = False, **options: Any
    ):
        super().__init__()
        require_whole(num_layers=num_layers)
        self.blocks = nn.ModuleList(DecoderBlock(d_model, num_heads, d_ff, **options) for _ in range(num_layers))
        self.final_norm = LayerNorm(d_model) if final_norm else nn.Identity()

    def forward(
        self, x: Tensor, mask: Maybe = None, memory: Maybe = None, memory_mask: Maybe = None,
        state: list[BlockState] | None = None, places: Maybe = None,
    ) -> tuple[Tensor, list[BlockState], Weights]:  # fmt: skip
        if state is None and (memory is None) != (self.blocks[0].cross_attention is None):
            raise ValueError("there must be a memory where the blocks have cross=True, and only there")
        kept, weights = [], Weights([], [])
        for block, before in zip(self.blocks, state or [NOTHING_YET] * len(self.blocks)):
            x, after, (own, cross) = block(x, mask, memory, memory_mask, before, places)
            kept.append(after)
            weights.own.append(own)
            weights.cross.append(cross)
        return self.final_norm(x), kept, weights


class PlacedEmbedding(TokenEmbedding):
    """A `TokenEmbedding` whose tokens may stand at any places (b, n); with rotary positions, nothing is added.

    scaled: the vectors start √d_model times smaller, as a matrix that is shared with the output layer has to, and are
    multiplied by √d_model when they are read (Vaswani et al. 2017, section 3.4)."""

    def __init__(
        self, vocabulary_size: int, d_model: int, positions: str | None = "sine", max_len: int = 64,
        scaled: bool = False,
    ):  # fmt: skip
        known(positions, (*POSITIONS, *ROTARY), "positions")
        super().__init__(vocabulary_size, d_model, None if positions in ROTARY else positions, max_len)
        self.scale = math.sqrt(d_model) if scaled else 1.0
        self.vectors.weight.data /= self.scale

    def forward(self, tokens: Tensor, places: Maybe = None) -> Tensor:
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
    memory_mask: Maybe = None


class WordByWord(nn.Module):
    """The places of the last n of k tokens, and whom they may see, by the mask of words (b, 1, 1, k) among the k."""

    def __init__(self, causal: bool = True):
        super().__init__()
        self.causal = causal

    def places(self, words: Tensor, n: int) -> Tensor:
        """(b, 1, n): how many words stand before each token, so that padding takes no place."""
        return (words.cumsum(-1) - words.long())[:, 0, :, -n:]

    def visible(self, words: Tensor, n: int) -> Tensor:
        """(b, 1, n, k): the words up to each token; (b, 1, 1, k), all words, where causal is False."""
        k = words.shape[-1]
        return words & torch.ones(n, k, dtype=torch.bool).tril(k - n) if self.causal else words


class LanguageModel(WordByWord):
    """Logits for the next token at every position, by a decoder that sees the tokens up to there, and perhaps a memory.

    positions: "sine", "learned", None, "rotary", "rotary halves". tied: the output layer `to_logits` and the embedding
    have one matrix (Press & Wolf 2017), which should be `scaled` then. cross: there is a memory. norm "pre" brings a
    final norm with it. options: those of `Decoder`.
    Called with token ids (b, n), and perhaps the state after those before them, the mask (b, 1, 1, n) of padding, which
    may stand anywhere, a memory (b, k, d) and its mask, it returns logits (b, n, v), the state, and `Weights`."""

    def __init__(
        self, vocabulary_size: int, d_model: int, num_heads: int, d_ff: int, num_layers: int,
        positions: str | None = "sine", max_len: int = 64, scaled: bool = False, tied: bool = False,
        causal: bool = True, cross: bool = False, norm: str = "pre", **options: Any,
    ):  # fmt: skip
        super().__init__(causal)
        self.embedding = PlacedEmbedding(vocabulary_size, d_model, positions, max_len, scaled)
        options = {"final_norm": norm == "pre", "rotary": ROTARY.get(positions)} | options
        self.decoder = Decoder(num_layers, d_model, num_heads, d_ff, norm=norm, cross=cross, **options)
        self.to_logits = nn.Linear(d_model, vocabulary_size, bias=False)
        if tied:
            self.to_logits.weight = self.embedding.vectors.weight

    def forward(
        self, tokens: Tensor, state: State | None = None, mask: Maybe = None, memory: Maybe = None,
        memory_mask: Maybe = None,
    ) -> tuple[Tensor, State, Weights]:  # fmt: skip
        new = require_going_on(tokens, mask, None if state is None else state.words)  # (b, 1, 1, n)
        blocks, before, memory_mask = (None, new[..., :0], memory_mask) if state is None else state
        words = torch.cat([before, new], dim=-1)  # (b, 1, 1, k)
        places, visible = self.places(words, tokens.shape[1]), self.visible(words, tokens.shape[1])
        x = self.embedding(tokens, places[:, 0])  # (b, n, d)
        x, blocks, weights = self.decoder(x, visible, memory, memory_mask, blocks, places)
        return self.to_logits(x), State(blocks, words, memory_mask), weights


class TokenEncoder(nn.Module):
    """From source tokens (b, k) with their mask a memory (b, k, d), and the weights (b, h, k, k) of each layer.

    positions, scaled and norm are as in `LanguageModel`; options: those of `Encoder`."""

    def __init__(
        self, vocabulary_size: int, d_model: int, num_heads: int, d_ff: int, num_layers: int,
        positions: str | None = "sine", max_len: int = 64, scaled: bool = False, norm: str = "pre", **options: Any,
    ):  # fmt: skip
        super().__init__()
        self.embedding = PlacedEmbedding(vocabulary_size, d_model, positions, max_len, scaled)
        options = {"final_norm": norm == "pre"} | options
        self.encoder = Encoder(num_layers, d_model, num_heads, d_ff, norm=norm, **options)
        for block in self.encoder.blocks if positions in ROTARY else ():
            block.attention = CachedAttention(d_model, num_heads, options.get("dropout", 0.0), rotary=ROTARY[positions])

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
        sentences, steps = write(self.step_for(source, mask), None, len(source), limit)
        return sentences, [torch.cat(layer, dim=-2) for layer in zip(*(weights.cross for weights in steps))]
