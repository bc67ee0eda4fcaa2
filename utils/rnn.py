"""Recurrent networks: an Elman cell, a language model, encoder and decoder, and the attention between the two.

Axis letters: b batch, n position, q target position (query), k source position (key), d hidden dimension, v vocabulary.
Masks are boolean, True = a word; padding never reaches a state, a weight or a loss.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .attention import masked_softmax
from .checks import known, require_logits, require_tensors, require_tokens, require_whole
from .vocabulary import END_ID, START_ID


class ElmanCell(nn.Module):
    """One step of a recurrent network: h_t = tanh(x_t W + h_{t−1} U + b). Elman 1990, "Finding structure in time".

    Called with x (…, d_in) and h (…, d_hidden), returns the new state (…, d_hidden). Sizes that do not fit: ValueError.
    """

    def __init__(self, d_in: int, d_hidden: int):
        super().__init__()
        require_whole(d_in=d_in, d_hidden=d_hidden)
        self.W = nn.Parameter(torch.randn(d_in, d_hidden) / d_in**0.5)
        self.U = nn.Parameter(torch.randn(d_hidden, d_hidden) / d_hidden**0.5)
        self.b = nn.Parameter(torch.zeros(d_hidden))

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        require_tensors(x=x, h=h)
        d_in, d_hidden = self.W.shape
        if x.shape[-1:] != (d_in,) or h.shape[-1:] != (d_hidden,):
            shapes = f"x {tuple(x.shape)} and h {tuple(h.shape)}"
            raise ValueError(f"{shapes} must end in {d_in} and {d_hidden}")
        return torch.tanh(x @ self.W + h @ self.U + self.b)

    def load_torch(self, module: nn.RNN) -> "ElmanCell":
        return load_elman(self, module)


@torch.no_grad()
def load_elman(cell: ElmanCell, module: nn.RNN) -> ElmanCell:
    """Copy the weights of a torch `nn.RNN` of one layer, one direction and tanh into our cell, and return it."""
    fits = isinstance(module, nn.RNN) and (module.input_size, module.hidden_size) == tuple(cell.W.shape)
    if not fits or module.num_layers != 1 or module.bidirectional or module.nonlinearity != "tanh":
        raise ValueError(f"{module} must be an nn.RNN{tuple(cell.W.shape)} with one layer, one direction and tanh")
    cell.W.copy_(module.weight_ih_l0.T)
    cell.U.copy_(module.weight_hh_l0.T)
    cell.b.copy_(module.bias_ih_l0 + module.bias_hh_l0 if module.bias else torch.zeros_like(cell.b))
    return cell


CELLS = {"elman": nn.RNN, "gru": nn.GRU}


def recurrent(cell: str, d_in: int, d_hidden: int, bidirectional: bool = False) -> nn.Module:
    """torch's recurrent layer, inputs (b, n, d_in): "elman" (equal to an `ElmanCell` at every step) or "gru"."""
    require_whole(d_in=d_in, d_hidden=d_hidden)
    return CELLS[known(cell, CELLS, "cell")](d_in, d_hidden, batch_first=True, bidirectional=bidirectional)


def embed(embedding: nn.Embedding, tokens: Tensor) -> Tensor:
    """The vectors (b, n, d) of token ids (b, n); ValueError for another shape, no token, or ids of no word."""
    require_tokens(tokens, embedding.num_embeddings)
    return embedding(tokens)


class LanguageModel(nn.Module):
    """A recurrent language model: from the tokens up to each position, logits for the next one.

    Called with tokens (b, n) and perhaps a state, it returns logits (b, n, v) and the last state.
    """

    def __init__(self, vocabulary_size, d_embedding, d_hidden, cell="elman"):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, d_embedding)
        self.rnn = recurrent(cell, d_embedding, d_hidden)
        self.head = nn.Linear(d_hidden, vocabulary_size)

    def forward(self, tokens: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        states, last = self.rnn(embed(self.embedding, tokens), state)  # (b, n, d)
        return self.head(states), last

    @torch.no_grad()
    def generate(self, limit: int = 20, generator: torch.Generator | None = None) -> list[int]:
        """Token ids from `<s>` on until `</s>`, which is left out, at most `limit`: the most probable token each time,
        or one drawn at random where a `generator` is given. Logits that are NaN or ∞: ValueError."""
        token, state, written = torch.tensor([[START_ID]]), None, []
        while len(written) < limit:
            logits, state = self(token, state)
            p = require_logits(logits[:, -1]).softmax(-1)  # (1, v)
            if generator is None:
                token = p.argmax(-1, keepdim=True)
            else:
                token = torch.multinomial(p, 1, generator=generator)
            if token.item() == END_ID:
                break
            written.append(token.item())
        return written


class Memory(NamedTuple):
    """What the encoder hands to the decoder: all its states (b, k, d), the context (b, d), and the mask (b, k)."""

    states: Tensor
    context: Tensor
    mask: Tensor


class Encoder(nn.Module):
    """Reads source tokens (b, k) with their mask and returns a `Memory` of states of size d_hidden.

    bidirectional: half of each state comes from reading forwards, half from reading backwards. The context is made of
    the last state of each direction. Padding stands at the end and is never read; tokens without a mask (b, k) of
    that kind: ValueError.
    """

    def __init__(self, vocabulary_size, d_embedding, d_hidden, cell="gru", bidirectional=True):
        super().__init__()
        if d_hidden % 2 and bidirectional:
            raise ValueError(f"d_hidden = {d_hidden} must be even, for two directions")
        self.embedding = nn.Embedding(vocabulary_size, d_embedding)
        size = d_hidden // 2 if bidirectional else d_hidden
        self.rnn = recurrent(cell, d_embedding, size, bidirectional)

    def forward(self, tokens: Tensor, mask: Tensor) -> Memory:
        lengths = require_words_first(tokens, mask)
        x = embed(self.embedding, tokens)  # (b, k, d_embedding)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.rnn(packed)
        n = tokens.shape[1]
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=n)  # (b, k, d)
        return Memory(states, torch.cat(list(last), dim=-1), mask)


def require_words_first(tokens: Tensor, mask: Tensor) -> Tensor:
    """The lengths (b,) of the sentences; ValueError unless each begins with a word and ends in padding."""
    require_tensors(tokens=tokens, mask=mask)
    if tokens.shape != mask.shape or mask.dtype != torch.bool or tokens.ndim != 2 or not len(tokens):
        shapes = f"tokens {tuple(tokens.shape)} and mask {tuple(mask.shape)} of {mask.dtype}"
        raise ValueError(f"{shapes} must both be (b, k), at least one sentence, and the mask boolean")
    lengths = mask.sum(-1)
    if lengths.min() < 1 or not torch.equal(mask, torch.arange(mask.shape[1]) < lengths[:, None]):
        raise ValueError("every sentence needs a word, and padding only after its words")
    return lengths


def require_fitting_memory(memory: Memory, tokens: Tensor, d: int) -> None:
    """ValueError unless the parts of the memory fit each other, the target tokens (b, q) and the decoder's size d."""
    require_tensors(tokens=tokens, **memory._asdict())
    b, k, d_states = memory.states.shape
    fits = memory.context.shape == (b, d_states) and memory.mask.shape == (b, k) and memory.mask.dtype == torch.bool
    if not fits or d_states != d or len(tokens) != b:
        shapes = ", ".join(f"{name} {tuple(part.shape)}" for name, part in memory._asdict().items())
        raise ValueError(
            f"{shapes} of {memory.mask.dtype} must be (b, k, d), (b, d) and boolean (b, k), "
            f"with b = {len(tokens)} as in the target tokens and d = {d} as in the decoder"
        )


class Decoder(nn.Module):
    """A decoder without attention: all it knows of the source is the context (b, d).

    context "first": it makes the first state; "every": it is also an input at every step.
    Called with target tokens (b, q), the memory and perhaps a state, it returns logits (b, q, v), the last state, and
    None for the weights that it does not have.
    """

    def __init__(self, vocabulary_size, d_embedding, d_hidden, cell="gru", context="every"):
        super().__init__()
        self.context = known(context, ("first", "every"), "context")
        self.embedding = nn.Embedding(vocabulary_size, d_embedding)
        self.first = nn.Linear(d_hidden, d_hidden)
        self.rnn = recurrent(cell, d_embedding + d_hidden * (context == "every"), d_hidden)
        self.head = nn.Linear(d_hidden, vocabulary_size)

    def forward(self, tokens, memory, state=None):
        require_fitting_memory(memory, tokens, self.rnn.hidden_size)
        if state is None:
            state = torch.tanh(self.first(memory.context))[None]  # (1, b, d)
        x = embed(self.embedding, tokens)  # (b, q, d_embedding)
        if self.context == "every":
            x = torch.cat([x, memory.context[:, None].expand(-1, x.shape[1], -1)], dim=-1)
        states, state = self.rnn(x, state)  # (b, q, d)
        return self.head(states), state, None


def dot_score(query, keys, parameters):
    """query · key: query (b, q, d), keys (b, k, d) → (b, q, k); no parameters. Sizes that do not fit: ValueError."""
    require_sizes(query, keys, query.shape[-1], query.shape[-1])
    return query @ keys.transpose(-2, -1)


def bilinear_score(query, keys, parameters):
    """query W_s keyᵀ (Luong et al. 2015, "general"): W_s (d_query, d_key), so that the sizes may differ."""
    require_sizes(query, keys, *parameters["W_s"].shape)
    return query @ parameters["W_s"] @ keys.transpose(-2, -1)


def additive_score(query, keys, parameters):
    """tanh(query W_q + key W_k) · v (Bahdanau et al. 2015): W_q (d_query, d), W_k (d_key, d), v (d,)."""
    require_sizes(query, keys, len(parameters["W_q"]), len(parameters["W_k"]))
    queries, keys = query @ parameters["W_q"], keys @ parameters["W_k"]  # (b, q, d), (b, k, d)
    pairs = queries[..., :, None, :] + keys[..., None, :, :]  # (b, q, k, d)
    return torch.tanh(pairs) @ parameters["v"]


def require_sizes(query, keys, d_query, d_key):
    if (query.shape[-1], keys.shape[-1]) != (d_query, d_key):
        raise ValueError(f"query {tuple(query.shape)} and keys {tuple(keys.shape)} must end in {d_query} and {d_key}")


SCORES = {"dot": dot_score, "bilinear": bilinear_score, "additive": additive_score}


def score_parameters(score: str, d: int) -> nn.ParameterDict:
    """What a score learns, for queries and keys of size d. The bilinear one starts as the dot product, W_s = 1."""
    if known(score, SCORES, "score") == "bilinear":
        return nn.ParameterDict({"W_s": torch.eye(d)})
    shapes = {"W_q": (d, d), "W_k": (d, d), "v": (d,)} if score == "additive" else {}
    return nn.ParameterDict({name: torch.randn(shape) / d**0.5 for name, shape in shapes.items()})


class AttentionDecoder(nn.Module):
    """A decoder that looks back at all states of the encoder, with a context vector of its own at every step.

    It reads the last word, asks with the state that follows, and predicts from state and context (Luong et al. 2015).
    Its first state, learned, is the same for all sentences: what it knows of a source comes through attention alone.
    Called as `Decoder` is; the weights are (b, q, k), 0 on padding.
    """

    def __init__(self, vocabulary_size, d_embedding, d_hidden, cell="gru", score="dot"):
        super().__init__()
        self.score = known(score, SCORES, "score")
        self.embedding = nn.Embedding(vocabulary_size, d_embedding)
        self.start = nn.Parameter(torch.randn(d_hidden) / d_hidden**0.5)
        self.rnn = recurrent(cell, d_embedding, d_hidden)
        self.parameters_of_score = score_parameters(score, d_hidden)
        self.combine = nn.Linear(2 * d_hidden, d_hidden)
        self.head = nn.Linear(d_hidden, vocabulary_size)

    def forward(self, tokens, memory, state=None):
        require_fitting_memory(memory, tokens, self.rnn.hidden_size)
        if state is None:
            state = self.start.repeat(1, len(tokens), 1)  # (1, b, d)
        states, state = self.rnn(embed(self.embedding, tokens), state)  # (b, q, d)
        context, weights = self.attend(states, memory)  # (b, q, d), (b, q, k)
        both = torch.cat([context, states], dim=-1)  # (b, q, 2 d)
        return self.head(torch.tanh(self.combine(both))), state, weights

    def attend(self, query, memory):
        """The context vectors (b, q, d) of queries (b, q, d), and the weights (b, q, k)."""
        states = memory.states.masked_fill(~memory.mask[..., None], 0.0)  # (b, k, d), padding may hold NaN
        scores = SCORES[self.score](query, states, self.parameters_of_score)  # (b, q, k)
        weights = masked_softmax(scores, memory.mask[:, None, :])
        return weights @ states, weights


class PreviousStateDecoder(AttentionDecoder):
    """The same, asking with the state before (Bahdanau et al. 2015): only then it reads last word and context."""

    def __init__(self, vocabulary_size, d_embedding, d_hidden, cell="gru", score="dot"):
        super().__init__(vocabulary_size, d_embedding, d_hidden, cell, score)
        self.rnn = recurrent(cell, d_embedding + d_hidden, d_hidden)

    def forward(self, tokens, memory, state=None):
        require_fitting_memory(memory, tokens, self.rnn.hidden_size)
        if state is None:
            state = self.start.repeat(1, len(tokens), 1)  # (1, b, d)
        steps = []
        for word in embed(self.embedding, tokens).split(1, dim=1):  # (b, 1, d_embedding)
            context, weights = self.attend(state.transpose(0, 1), memory)  # one query
            new, state = self.rnn(torch.cat([word, context], dim=-1), state)  # (b, 1, d)
            steps.append((torch.cat([context, new], dim=-1), weights))
        both, weights = (torch.cat(parts, dim=1) for parts in zip(*steps))  # (b, q, …)
        return self.head(torch.tanh(self.combine(both))), state, weights


class Translator(nn.Module):
    """Encoder and decoder. Called with source (b, k), its mask (b, k) and the target so far (b, q), from `<s>` on, it
    returns logits (b, q, v) for the next word at each position, and the attention weights (b, q, k) or None."""

    def __init__(self, encoder: Encoder, decoder: nn.Module):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, source, mask, target):
        logits, _, weights = self.decoder(target, self.encoder(source, mask))
        return logits, weights

    @torch.no_grad()
    def translate(self, source: Tensor, mask: Tensor, limit: int = 40) -> tuple[list[list[int]], Tensor | None]:
        """Greedy decoding: the most probable word each time, until every sentence has its `</s>` or has `limit` words.

        Returns the token ids of each sentence without `</s>`, and the weights (b, q, k) of each step or None: those of
        a sentence end with its `</s>`, while longer ones go on. A limit below 1, logits that are NaN: ValueError.
        """
        require_whole(limit=limit)
        memory, state, steps, attended = self.encoder(source, mask), None, [], []
        token = torch.full((len(source), 1), START_ID)
        done = torch.zeros(len(source), dtype=torch.bool)
        while len(steps) < limit and not done.all():
            logits, state, weights = self.decoder(token, memory, state)
            token = require_logits(logits).argmax(-1)  # (b, 1)
            steps.append(token)
            attended.append(weights)
            done |= token[:, 0] == END_ID
        written = torch.cat(steps, dim=1).tolist()
        sentences = [ids[: ids.index(END_ID)] if END_ID in ids else ids for ids in written]
        return sentences, None if weights is None else torch.cat(attended, dim=1)
