"""A whole Transformer that translates, in one file, to be read from top to bottom and to be run.

    python transformer.py        in about ten seconds it learns to write digits backwards

It needs PyTorch and nothing else. Every shape is told in letters: b sentence of the batch, n position, q and k the same
as query and as key, h head, e entry of a head, d entry of the model, v word of the vocabulary. A mask is boolean, and
True means: may attend. What it computes is what `utils/` of the course "Attention, understood" computes, which explains
each line, offers choices where papers differ, and says what is wrong where something does not fit. MIT licence.
"""

import math
from typing import NamedTuple

import torch
from torch import nn

PAD, START, END = 0, 1, 2  # token ids that are no words: fills a short sentence up, begins one, ends one


# Who may attend to whom


def padding_mask(tokens):
    """(b, 1, 1, k) for tokens (b, k): every query of every head may attend to the words, and not to the padding."""
    return (tokens != PAD)[:, None, None, :]


def causal_mask(n):
    """(n, n): a position may attend to itself and to what comes before it."""
    return torch.ones(n, n, dtype=torch.bool).tril()


# Attention


def scaled_dot_product_attention(query, key, value, mask=None):
    """softmax(Q Kᵀ / √d_k) V and the weights (Vaswani et al. 2017, equation 1). Each query has to see a key."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (…, q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def rotate(x, places):
    """Rotary positions (Su et al. 2021): the i-th pair of entries of x (…, n, e) turns by place / 10000^(2i/e)."""
    two_i = torch.arange(0, x.shape[-1], 2, dtype=torch.float64)  # (e/2,)
    angles = places[:, None] / 10000 ** (two_i / x.shape[-1])  # (n, e/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.unflatten(-1, (-1, 2)).unbind(-1)  # (…, n, e/2) each
    return torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1).flatten(-2)


class KeysValues(NamedTuple):
    """Of the positions that were read so far, (b, h, k, e) each: what the cache of a decoder keeps."""

    keys: torch.Tensor
    values: torch.Tensor


class MultiHeadAttention(nn.Module):
    """Attention in several heads, in two halves: `keep` makes keys and values, `attend` asks them.

    So what was read once need not be read again, and what is read can be another sentence than the one that asks."""

    def __init__(self, *, d_model, num_heads, rotary=False):
        super().__init__()
        self.num_heads, self.rotary = num_heads, rotary
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def split(self, x):
        """(b, n, d) → (b, h, n, e): the entries of each position are shared out to the heads."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def keep(self, x, places=None, before=None):
        """The keys and values of x (b, n, d), behind those that were kept before."""
        keys, values = self.split(self.W_k(x)), self.split(self.W_v(x))  # (b, h, n, e) each
        keys = rotate(keys, places) if self.rotary else keys
        if before is not None:
            keys, values = torch.cat([before.keys, keys], dim=2), torch.cat([before.values, values], dim=2)
        return KeysValues(keys, values)

    def attend(self, x, kept, mask=None, places=None):
        """What each query of x (b, q, d) finds, (b, q, d), and with which weights, (b, h, q, k)."""
        query = self.split(self.W_q(x))  # (b, h, q, e)
        query = rotate(query, places) if self.rotary else query
        heads, weights = scaled_dot_product_attention(query, kept.keys, kept.values, mask)
        return self.W_o(heads.transpose(1, 2).flatten(2)), weights  # the heads side by side, then mixed


# What stands between attentions


class LayerNorm(nn.Module):
    """(x - mean) / √(variance + 1e-5) · gamma + beta over the entries of each position (Ba et al. 2016)."""

    def __init__(self, d_model):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)  # (b, n, 1)
        return centred / torch.sqrt(variance + 1e-5) * self.gamma + self.beta


class FeedForward(nn.Module):
    """relu(x W_1 + b_1) W_2 + b_2, at each position by itself (Vaswani et al. 2017, equation 2)."""

    def __init__(self, *, d_model, d_ff):
        super().__init__()
        self.W_1, self.W_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.W_2(torch.relu(self.W_1(x)))


class Embedding(nn.Module):
    """tokens (b, n) → vectors (b, n, d). They begin √d smaller than usual, since the output layer may share them."""

    def __init__(self, vocabulary_size, d_model):
        super().__init__()
        self.vectors, self.scale = nn.Embedding(vocabulary_size, d_model), math.sqrt(d_model)
        self.vectors.weight.data /= self.scale

    def forward(self, tokens):
        return self.vectors(tokens) * self.scale


# The encoder reads the source, all positions at once


class EncoderBlock(nn.Module):
    """x (b, n, d) → (b, n, d): look at each other, then think for yourself; each adds to what was there (pre-norm)."""

    def __init__(self, *, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model=d_model, num_heads=num_heads, rotary=True)
        self.feed_forward = FeedForward(d_model=d_model, d_ff=d_ff)
        self.norm_1, self.norm_2 = LayerNorm(d_model), LayerNorm(d_model)

    def forward(self, x, mask, places):
        y = self.norm_1(x)
        found, weights = self.attention.attend(y, self.attention.keep(y, places), mask, places)
        x = x + found
        return x + self.feed_forward(self.norm_2(x)), weights


class Encoder(nn.Module):
    """x (b, n, d) → (b, n, d) through one block after the other, and the weights of each."""

    def __init__(self, *, d_model, num_heads, d_ff, num_layers):
        super().__init__()
        sizes = {"d_model": d_model, "num_heads": num_heads, "d_ff": d_ff}
        self.blocks = nn.ModuleList(EncoderBlock(**sizes) for _ in range(num_layers))
        self.final_norm = LayerNorm(d_model)

    def forward(self, x, mask):
        places, weights = torch.arange(x.shape[1]), []
        for block in self.blocks:
            x, of_block = block(x, mask, places)
            weights.append(of_block)
        return self.final_norm(x), weights


class TokenEncoder(nn.Module):
    """source (b, k) and its mask → what the decoder looks at, the memory (b, k, d), and weights (b, h, k, k)."""

    def __init__(self, vocabulary_size, *, d_model, num_heads, d_ff, num_layers):
        super().__init__()
        self.embedding = Embedding(vocabulary_size, d_model)
        self.encoder = Encoder(d_model=d_model, num_heads=num_heads, d_ff=d_ff, num_layers=num_layers)

    def forward(self, tokens, mask):
        return self.encoder(self.embedding(tokens), mask)


# The decoder writes the target, each word from those before it and from the memory


class BlockState(NamedTuple):
    """What a block keeps from word to word: of its own words, more each time, and of the memory, once for all."""

    own: KeysValues
    cross: KeysValues


class Weights(NamedTuple):
    """A list with an entry (b, h, q, k) for each layer."""

    own: list
    cross: list
    source: list


class DecoderBlock(nn.Module):
    """x (b, n, d) → (b, n, d): look at the words so far, at the memory, then think for yourself."""

    def __init__(self, *, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model=d_model, num_heads=num_heads, rotary=True)
        self.cross_attention = MultiHeadAttention(d_model=d_model, num_heads=num_heads)
        self.feed_forward = FeedForward(d_model=d_model, d_ff=d_ff)
        self.norm_1, self.norm_2, self.norm_3 = (LayerNorm(d_model) for _ in range(3))

    def forward(self, x, mask, places, memory, memory_mask, state=None):
        y = self.norm_1(x)
        own = self.attention.keep(y, places, state and state.own)
        found, own_weights = self.attention.attend(y, own, mask, places)
        x = x + found
        cross = state.cross if state else self.cross_attention.keep(memory)
        found, cross_weights = self.cross_attention.attend(self.norm_2(x), cross, memory_mask)
        x = x + found
        return x + self.feed_forward(self.norm_3(x)), BlockState(own, cross), own_weights, cross_weights


class Decoder(nn.Module):
    """x (b, n, d) → (b, n, d), the states of the blocks for the words to come, and the weights."""

    def __init__(self, *, d_model, num_heads, d_ff, num_layers):
        super().__init__()
        sizes = {"d_model": d_model, "num_heads": num_heads, "d_ff": d_ff}
        self.blocks = nn.ModuleList(DecoderBlock(**sizes) for _ in range(num_layers))
        self.final_norm = LayerNorm(d_model)

    def forward(self, x, mask, places, memory, memory_mask, state=None):
        states, weights = [], Weights([], [], [])
        for number, block in enumerate(self.blocks):
            before = state[number] if state else None
            x, after, own, cross = block(x, mask, places, memory, memory_mask, before)
            states.append(after)
            weights.own.append(own)
            weights.cross.append(cross)
        return self.final_norm(x), states, weights


class LanguageModel(nn.Module):
    """tokens (b, n) → logits (b, n, v) for the token that follows each, the state to go on from, and the weights."""

    def __init__(self, vocabulary_size, *, d_model, num_heads, d_ff, num_layers):
        super().__init__()
        self.embedding = Embedding(vocabulary_size, d_model)
        self.decoder = Decoder(d_model=d_model, num_heads=num_heads, d_ff=d_ff, num_layers=num_layers)
        self.to_logits = nn.Linear(d_model, vocabulary_size, bias=False)
        self.to_logits.weight = self.embedding.vectors.weight  # one matrix reads words and writes them

    def forward(self, tokens, state=None, *, memory, memory_mask):
        before = state[0].own.keys.shape[2] if state else 0  # tokens that were read earlier
        after = before + tokens.shape[1]
        x, places, visible = self.embedding(tokens), torch.arange(before, after), causal_mask(after)[before:]
        x, state, weights = self.decoder(x, visible, places, memory, memory_mask, state)
        return self.to_logits(x), state, weights


# The translator


class TransformerTranslator(nn.Module):
    """source (b, k), its mask, and the target from START on (b, q) → logits (b, q, v) for what follows, weights."""

    def __init__(self, encoder, language_model):
        super().__init__()
        self.encoder, self.language_model = encoder, language_model

    def forward(self, source, mask, target):
        memory, of_source = self.encoder(source, mask)
        logits, _, weights = self.language_model(target, memory=memory, memory_mask=mask)
        return logits, weights._replace(source=of_source)

    def step_for(self, source, mask):
        """step(tokens, state) → logits, state, weights: the source is read once, now."""
        memory, _ = self.encoder(source, mask)
        return lambda tokens, state: self.language_model(tokens, state, memory=memory, memory_mask=mask)

    @torch.no_grad()
    def translate(self, source, mask, limit=40):
        """For each source the most probable word, then the next, as far as END, with at most `limit` of them.

        Returns lists of token ids, and for each layer the weights (b, h, q, k) with which the words looked back."""
        step, state, tokens, weights = self.step_for(source, mask), None, [torch.full((len(source), 1), START)], []
        ended = torch.zeros(len(source), 1, dtype=torch.bool)
        while len(tokens) <= limit and not ended.all():
            logits, state, looked = step(tokens[-1], state)
            tokens.append(logits.argmax(-1))  # (b, 1)
            weights.append(looked.cross)
            ended |= tokens[-1] == END
        written = torch.cat(tokens[1:], dim=1).tolist()
        sentences = [ids[: ids.index(END)] if END in ids else ids for ids in written]
        return sentences, [torch.cat(layer, dim=2) for layer in zip(*weights)]


# An example


def learn_to_write_backwards(steps=600):
    """A translator from digits, the tokens 4 to 13, to the same digits in reverse; prints its loss and one example."""
    torch.manual_seed(0)
    sizes = {"d_model": 32, "num_heads": 2, "d_ff": 64, "num_layers": 1}
    model = TransformerTranslator(TokenEncoder(14, **sizes), LanguageModel(14, **sizes))
    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    start, end = torch.full((64, 1), START), torch.full((64, 1), END)
    for _ in range(steps):
        source = torch.randint(4, 14, (64, 8))
        target = torch.cat([start, source.flip(1), end], dim=1)  # reads all but the last, writes all but the first
        logits, _ = model(source, padding_mask(source), target[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
    sentences, _ = model.translate(source[:1], padding_mask(source[:1]))
    print(f"loss {loss:.3f}", source[0].tolist(), "→", sentences[0])


if __name__ == "__main__":
    learn_to_write_backwards()
