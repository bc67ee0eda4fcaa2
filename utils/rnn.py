"""Recurrent networks: an Elman cell, a language model, encoder and decoder, and the attention between the two.

Axis letters: b batch, n position, q target position (query), k source position (key), d hidden dimension, v vocabulary.
Masks are those of padding, (b, 1, 1, k), True = a word; padding never reaches a state, a weight or a loss.
Sizes are keyword arguments, except for that of a vocabulary, which comes first."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .attention import masked_softmax_
from .checks import (
    require_choice,
    require_fitting_memory,
    require_last_axes,
    require_shares,
    require_tokens,
    require_whole,
)
from .decoding import drawn_by, most_probable, write


class ElmanCell(nn.Module):
    """One step of a recurrent network: s_t = tanh(x_t W + s_{t−1} U + bias). Elman 1990, "Finding structure in time".

    Called with x (…, d_in) and the old state (…, d_hidden), returns the new one. Sizes that do not fit: ValueError."""

    def __init__(self, *, d_in: int, d_hidden: int):
        super().__init__()
        require_whole(d_in=d_in, d_hidden=d_hidden)
        self.W = nn.Parameter(torch.randn(d_in, d_hidden) / d_in**0.5)
        self.U = nn.Parameter(torch.randn(d_hidden, d_hidden) / d_hidden**0.5)
        self.bias = nn.Parameter(torch.zeros(d_hidden))

    def forward(self, x: Tensor, state: Tensor) -> Tensor:
        require_last_axes(self.W.shape, x=x, state=state)
        return torch.tanh(x @ self.W + state @ self.U + self.bias)


CELLS = {"elman": nn.RNN, "gru": nn.GRU}


def recurrent(cell: str, *, d_in: int, d_hidden: int, bidirectional: bool = False) -> nn.Module:
    """torch's recurrent layer, inputs (b, n, d_in): "elman" (equal to an `ElmanCell` at every step) or "gru"."""
    require_choice(cell, CELLS, "cell")
    require_whole(d_in=d_in, d_hidden=d_hidden)
    return CELLS[cell](d_in, d_hidden, batch_first=True, bidirectional=bidirectional)


class RecurrentLanguageModel(nn.Module):
    """A recurrent language model: from the tokens up to each position, logits for the next one.

    Called with tokens (b, n) and perhaps a state, it returns logits (b, n, v) and the last state."""

    def __init__(self, vocabulary_size: int, *, d_embedding: int, d_hidden: int, cell: str = "elman"):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, d_embedding)
        self.rnn = recurrent(cell, d_in=d_embedding, d_hidden=d_hidden)
        self.to_logits = nn.Linear(d_hidden, vocabulary_size)

    def forward(self, tokens: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        require_tokens(tokens, self.embedding)
        states, last = self.rnn(self.embedding(tokens), state)  # (b, n, d)
        return self.to_logits(states), last

    def generate(self, limit: int = 20, generator: torch.Generator | None = None) -> list[int]:
        """Token ids from `<s>` on until `</s>`, which is left out, at most `limit`: the most probable token each time,
        or one drawn at random where a `generator` is given."""

        def step(token, state):
            return *self(token, state), None  # a step keeps nothing else

        choose = most_probable if generator is None else drawn_by(generator)
        [ids], _ = write(step, None, 1, limit, choose, self.embedding.weight.device)
        return ids


class Memory(NamedTuple):
    """What the encoder hands to the decoder: its states (b, k, d), the context (b, d), the mask (b, 1, 1, k)."""

    states: Tensor
    context: Tensor
    mask: Tensor


Step = tuple[Tensor, Tensor, Tensor | None]  # what a decoder returns: logits, state, weights


class RecurrentEncoder(nn.Module):
    """Reads source tokens (b, k) with their mask and returns a `Memory` of states of size d_hidden.

    bidirectional: half of each state comes from reading forwards, half from reading backwards. The context is made of
    the last state of each direction. Padding is at the end and is never read; a mask that is not that of the
    tokens, or shows padding elsewhere: ValueError."""

    def __init__(
        self, vocabulary_size: int, *, d_embedding: int, d_hidden: int, cell: str = "gru", bidirectional: bool = True
    ):
        super().__init__()
        directions = 2 if bidirectional else 1
        require_shares(d_hidden=d_hidden, directions=directions)
        self.embedding = nn.Embedding(vocabulary_size, d_embedding)
        self.rnn = recurrent(cell, d_in=d_embedding, d_hidden=d_hidden // directions, bidirectional=bidirectional)

    def forward(self, tokens: Tensor, mask: Tensor) -> Memory:
        require_tokens(tokens, self.embedding, mask)
        x = self.embedding(tokens)  # (b, k, d_embedding)
        lengths = mask.sum(-1).flatten().tolist()  # (b,), as numbers: packing takes no tensor of a GPU
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.rnn(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])  # (b, k, d)
        return Memory(states, torch.cat(list(last), dim=-1), mask)


class RecurrentDecoder(nn.Module):
    """A decoder without attention: all it knows of the source is the context (b, d).

    context "first": it makes the first state; "every": it is also an input at every step.
    Called with target tokens (b, q), the memory and perhaps a state, it returns logits (b, q, v), the last state, and
    None for the weights that it does not have."""

    def __init__(
        self, vocabulary_size: int, *, d_embedding: int, d_hidden: int, cell: str = "gru", context: str = "every"
    ):
        super().__init__()
        self.context = require_choice(context, ("first", "every"), "context")
        d_in = d_embedding + d_hidden if context == "every" else d_embedding
        self.embedding = nn.Embedding(vocabulary_size, d_embedding)
        self.first = nn.Linear(d_hidden, d_hidden)
        self.rnn = recurrent(cell, d_in=d_in, d_hidden=d_hidden)
        self.to_logits = nn.Linear(d_hidden, vocabulary_size)

    def forward(self, tokens: Tensor, memory: Memory, state: Tensor | None = None) -> Step:
        require_fitting_memory(tokens, memory, self.embedding, self.rnn.hidden_size)
        state = torch.tanh(self.first(memory.context))[None] if state is None else state  # (1, b, d)
        x = self.embedding(tokens)  # (b, q, d_embedding)
        if self.context == "every":
            x = torch.cat([x, memory.context[:, None].expand(-1, x.shape[1], -1)], dim=-1)
        states, state = self.rnn(x, state)  # (b, q, d)
        return self.to_logits(states), state, None


class DotScore(nn.Module):
    """query · key, which learns nothing: the sizes of queries and keys must be equal.

    A score is called with query (b, q, d_query) and keys (b, k, d_key), and returns (b, q, k). Other sizes: ValueError.
    """

    def __init__(self, *, d_query: int, d_key: int):
        super().__init__()
        if d_query != d_key:
            raise ValueError(f"the dot product needs equal sizes, but d_query = {d_query} and d_key = {d_key}")
        self.d = d_query

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        require_last_axes((self.d, self.d), query=query, keys=keys)
        return query @ keys.mT


class BilinearScore(nn.Module):
    """query W_s keyᵀ (Luong et al. 2015, "general"), W_s (d_query, d_key); called as `DotScore` is.

    W_s starts as the identity, and so the score as the dot product."""

    def __init__(self, *, d_query: int, d_key: int):
        super().__init__()
        self.W_s = nn.Parameter(torch.eye(d_query, d_key))

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        require_last_axes(self.W_s.shape, query=query, keys=keys)
        return query @ self.W_s @ keys.mT


class AdditiveScore(nn.Module):
    """tanh(query W_q + key W_k) · w (Bahdanau et al. 2015); called as `DotScore` is.

    W_q (d_query, d), W_k (d_key, d), w (d,), where d is d_query."""

    def __init__(self, *, d_query: int, d_key: int):
        super().__init__()
        self.W_q = nn.Parameter(torch.randn(d_query, d_query) / d_query**0.5)
        self.W_k = nn.Parameter(torch.randn(d_key, d_query) / d_key**0.5)
        self.w = nn.Parameter(torch.randn(d_query) / d_query**0.5)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        require_last_axes((len(self.W_q), len(self.W_k)), query=query, keys=keys)
        queries, keys = query @ self.W_q, keys @ self.W_k  # (b, q, d), (b, k, d)
        pairs = queries[..., :, None, :] + keys[..., None, :, :]  # (b, q, k, d)
        return torch.tanh(pairs) @ self.w


SCORES = {"dot": DotScore, "bilinear": BilinearScore, "additive": AdditiveScore}


class AttentionDecoder(nn.Module):
    """A decoder that looks back at all states of the encoder, with a context vector of its own at every step.

    It reads the last word, asks with the state that follows, and predicts from state and context (Luong et al. 2015).
    Its first state, learned, is the same for all sentences: what it knows of a source comes through attention alone.
    Called as `RecurrentDecoder` is; the weights are (b, q, k), 0 on padding."""

    def __init__(self, vocabulary_size: int, *, d_embedding: int, d_hidden: int, cell: str = "gru", score: str = "dot"):
        super().__init__()
        require_choice(score, SCORES, "score")
        self.embedding = nn.Embedding(vocabulary_size, d_embedding)
        self.start = nn.Parameter(torch.randn(d_hidden) / d_hidden**0.5)
        self.rnn = recurrent(cell, d_in=d_embedding, d_hidden=d_hidden)
        self.score = SCORES[score](d_query=d_hidden, d_key=d_hidden)
        self.combine = nn.Linear(2 * d_hidden, d_hidden)
        self.to_logits = nn.Linear(d_hidden, vocabulary_size)

    def forward(self, tokens: Tensor, memory: Memory, state: Tensor | None = None) -> Step:
        require_fitting_memory(tokens, memory, self.embedding, self.rnn.hidden_size)
        state = self.start.repeat(1, len(tokens), 1) if state is None else state  # (1, b, d)
        states, state = self.rnn(self.embedding(tokens), state)  # (b, q, d)
        context, weights = self.attend(states, memory)  # (b, q, d), (b, q, k)
        both = torch.cat([context, states], dim=-1)  # (b, q, 2 d)
        return self.to_logits(torch.tanh(self.combine(both))), state, weights

    def attend(self, query: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """The context vectors (b, q, d) of queries (b, q, d), and the weights (b, q, k)."""
        mask = memory.mask[:, 0]  # (b, 1, k), as there are no heads
        weights = masked_softmax_(self.score(query, memory.states), mask)  # (b, q, k)
        return weights @ memory.states, weights


class PreviousStateDecoder(AttentionDecoder):
    """The same, asking with the state before (Bahdanau et al. 2015): only then it reads last word and context."""

    def __init__(self, vocabulary_size: int, *, d_embedding: int, d_hidden: int, cell: str = "gru", score: str = "dot"):
        super().__init__(vocabulary_size, d_embedding=d_embedding, d_hidden=d_hidden, cell=cell, score=score)
        self.rnn = recurrent(cell, d_in=d_embedding + d_hidden, d_hidden=d_hidden)

    def forward(self, tokens: Tensor, memory: Memory, state: Tensor | None = None) -> Step:
        require_fitting_memory(tokens, memory, self.embedding, self.rnn.hidden_size)
        state = self.start.repeat(1, len(tokens), 1) if state is None else state  # (1, b, d)
        steps = []
        for word in self.embedding(tokens).split(1, dim=1):  # (b, 1, d_embedding)
            context, weights = self.attend(state.transpose(0, 1), memory)  # one query
            new, state = self.rnn(torch.cat([word, context], dim=-1), state)  # (b, 1, d)
            steps.append((torch.cat([context, new], dim=-1), weights))
        both, weights = (torch.cat(parts, dim=1) for parts in zip(*steps))  # (b, q, …)
        return self.to_logits(torch.tanh(self.combine(both))), state, weights


class RecurrentTranslator(nn.Module):
    """Encoder and decoder. Called with source (b, k), its mask and the target so far (b, q), from `<s>` on, it returns
    logits (b, q, v) for the next word at each position, and the attention weights (b, q, k) or None."""

    def __init__(self, encoder: RecurrentEncoder, decoder: nn.Module):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, source: Tensor, mask: Tensor, target: Tensor) -> tuple[Tensor, Tensor | None]:
        logits, _, weights = self.decoder(target, self.encoder(source, mask))
        return logits, weights

    @torch.no_grad()
    def translate(self, source: Tensor, mask: Tensor, limit: int = 40) -> tuple[list[list[int]], Tensor | None]:
        """Greedy search: the most probable word each time, until every sentence has its `</s>` or has `limit` words.

        Returns the token ids of each sentence without `</s>`, and the weights (b, q, k) of each step or None."""
        memory = self.encoder(source, mask)
        sentences, weights = write(
            lambda tokens, state: self.decoder(tokens, memory, state), None, len(source), limit, device=source.device
        )
        return sentences, None if weights[0] is None else torch.cat(weights, dim=1)
