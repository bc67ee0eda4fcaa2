"""utils/rnn.py: against loops of torch's cells with copied weights, and the laws of padding, decoding and causality."""

import copy

import pytest
import torch
from torch import nn

from utils import checks, rnn
from utils.masks import padding_mask
from utils.probes import causality_probe, leaks
from utils.rnn import (
    AttentionDecoder,
    ElmanCell,
    Memory,
    PreviousStateDecoder,
    RecurrentDecoder,
    RecurrentEncoder,
    RecurrentLanguageModel,
    RecurrentTranslator,
)
from utils.torch_weights import load
from utils.vocabulary import END_ID, START_ID, Vocabulary

WORDS, SIZE, STATE = 13, 5, 6  # of the vocabularies, the embeddings, the states
TOKENS = torch.tensor([[4, 7, 9, 5, 2], [8, 6, 2, 0, 0], [10, 2, 0, 0, 0]])  # (b, k)
REAL = TOKENS > 0  # (b, k)
MASK = padding_mask(TOKENS)  # (b, 1, 1, k)
LENGTHS = REAL.sum(-1).tolist()  # of the sentences
TARGETS = torch.tensor([[1, 5, 11, 4, 12, 6], [1, 9, 7, 4, 4, 3], [1, 12, 3, 8, 10, 5]])  # (b, q)

every_cell = pytest.mark.parametrize("cell", ["elman", "gru"])
both_directions = pytest.mark.parametrize("bidirectional", [True, False])


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def close(actual, expected):
    torch.testing.assert_close(actual, expected, atol=1e-12, rtol=0)


def spread(model, seed=0):
    """The model in float64, every parameter drawn anew and large enough that each makes a difference."""
    torch.manual_seed(seed)
    for parameter in model.double().parameters():
        nn.init.normal_(parameter, std=0.7)
    return model


DECODERS = {
    f"no attention, context {context}": (RecurrentDecoder, dict(context=context)) for context in ("first", "every")
}
DECODERS |= {
    f"{score}, {kind.__name__}": (kind, dict(score=score))
    for score in ("dot", "bilinear", "additive")
    for kind in (AttentionDecoder, PreviousStateDecoder)
}
every_decoder = pytest.mark.parametrize("name", DECODERS)


def decoder(name, cell="gru"):
    kind, options = DECODERS[name]
    return spread(kind(WORDS, d_embedding=SIZE, d_hidden=STATE, cell=cell, **options))


def translator(name, cell="gru", bidirectional=True, seed=0):
    return spread(
        RecurrentTranslator(
            RecurrentEncoder(WORDS, d_embedding=SIZE, d_hidden=STATE, cell=cell, bidirectional=bidirectional),
            decoder(name, cell),
        ),
        seed,
    )


def memory(seed=3):
    return Memory(draw(3, 5, STATE, seed=seed), draw(3, STATE, seed=seed + 1), MASK)


# Cells


def cell_of(layer, suffix=""):
    """One step of torch's recurrent layer: an ElmanCell or an nn.GRUCell with its weights."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    weights = {name: getattr(layer, f"{name}_l0{suffix}").detach() for name in names}
    if isinstance(layer, nn.GRU):
        cell = nn.GRUCell(layer.input_size, layer.hidden_size).double()
        cell.load_state_dict(weights)
        return cell
    one = nn.RNN(layer.input_size, layer.hidden_size).double()
    one.load_state_dict({f"{name}_l0": weight for name, weight in weights.items()})
    return load(ElmanCell(d_in=layer.input_size, d_hidden=layer.hidden_size).double(), one)


@pytest.mark.parametrize("bias", [True, False])
def test_elman_cell_over_time_is_torch_s_rnn_forward_and_backward(bias):
    theirs = spread(nn.RNN(SIZE, STATE, batch_first=True, bias=bias))
    ours = load(ElmanCell(d_in=SIZE, d_hidden=STATE).double(), theirs)
    x, twin = (draw(3, 7, SIZE).requires_grad_() for _ in range(2))
    h, twin_h = (draw(3, STATE, seed=2).requires_grad_() for _ in range(2))
    states, state = [], h
    for t in range(7):
        state = ours(x[:, t], state)
        states.append(state)
    output = torch.stack(states, dim=1)
    expected, _ = theirs(twin, twin_h[None])
    close(output, expected)
    output.backward(draw(3, 7, STATE, seed=9))
    expected.backward(draw(3, 7, STATE, seed=9))
    close(x.grad, twin.grad)
    close(h.grad, twin_h.grad)
    close([ours.W.grad, ours.U.grad], [theirs.weight_ih_l0.grad.T, theirs.weight_hh_l0.grad.T])
    if bias:
        close(ours.bias.grad, theirs.bias_ih_l0.grad)


def test_elman_cell_keeps_its_own_copy_and_takes_any_leading_axes():
    theirs = spread(nn.RNN(SIZE, STATE))
    ours = load(ElmanCell(d_in=SIZE, d_hidden=STATE).double(), theirs)
    x, h = draw(2, 4, SIZE), draw(2, 4, STATE)
    before = ours(x, h)
    nn.init.zeros_(theirs.weight_ih_l0)
    close(ours(x, h), before)
    close(ours(x[1, 2], h[1, 2]), before[1, 2])


# The language model


@every_cell
def test_language_model_is_a_loop_of_cells(cell):
    model = spread(RecurrentLanguageModel(WORDS, d_embedding=SIZE, d_hidden=STATE, cell=cell))
    step, state, rows = cell_of(model.rnn), torch.zeros(3, STATE, dtype=torch.float64), []
    for t in range(TARGETS.shape[1]):
        state = step(model.embedding.weight[TARGETS[:, t]], state)
        rows.append(state @ model.to_logits.weight.T + model.to_logits.bias)
    logits, last = model(TARGETS)
    close(logits, torch.stack(rows, dim=1))
    close(last[0], state)
    _, half = model(TARGETS[:, :2])
    close(model(TARGETS[:, 2:], half)[0], logits[:, 2:])
    assert leaks(causality_probe(model, TARGETS)) == []


def test_generation_feeds_back_what_it_wrote_and_stops():
    for seed in range(12):
        model = spread(RecurrentLanguageModel(WORDS, d_embedding=SIZE, d_hidden=STATE), seed)
        written = model.generate(limit=9)
        logits, _ = model(torch.tensor([[1, *written]]))
        best = logits[0].argmax(-1).tolist()
        assert written == best[: len(written)] and 2 not in written and len(written) <= 9
        assert len(written) == 9 or best[-1] == 2
    with torch.no_grad():
        model.to_logits.bias[2] = 1e6
    assert model.generate() == []
    with torch.no_grad():
        model.to_logits.bias[2] = -1e6
    assert len(model.generate(limit=3)) == 3 and len(model.generate()) == 20


def test_generation_at_random_follows_the_probabilities_and_the_seed():
    model = spread(RecurrentLanguageModel(WORDS, d_embedding=SIZE, d_hidden=STATE))
    generator = torch.Generator().manual_seed(0)
    first = [(model.generate(1, generator) or [2])[0] for _ in range(2000)]
    p = model(torch.tensor([[1]]))[0][0, 0].softmax(-1)
    found = torch.bincount(torch.tensor(first), minlength=WORDS) / len(first)
    assert (found - p).abs().max() < 0.04
    again = [model.generate(30, torch.Generator().manual_seed(7)) for _ in range(2)]
    assert again[0] == again[1] != model.generate(30, torch.Generator().manual_seed(8))


# The encoder


@every_cell
@both_directions
@torch.no_grad()
def test_encoder_is_a_loop_of_cells_in_each_direction(cell, bidirectional):
    encoder = spread(RecurrentEncoder(WORDS, d_embedding=SIZE, d_hidden=STATE, cell=cell, bidirectional=bidirectional))
    found = encoder(TOKENS, MASK)
    for b, length in enumerate(LENGTHS):
        words, parts, context = encoder.embedding.weight[TOKENS[b, :length]], [], []
        for suffix in ("", "_reverse") if bidirectional else ("",):
            step = cell_of(encoder.rnn, suffix)
            state, states = torch.zeros(encoder.rnn.hidden_size, dtype=torch.float64), []
            for x in words.flip(0) if suffix else words:
                state = step(x[None], state[None])[0]
                states.append(state)
            parts.append(torch.stack(states[::-1] if suffix else states))
            context.append(state)
        close(found.states[b, :length], torch.cat(parts, dim=-1))
        close(found.context[b], torch.cat(context))
    assert found.mask is MASK


# Decoders


def score_of(name, d_query=STATE, d_key=STATE):
    return rnn.SCORES[name](d_query=d_query, d_key=d_key)


def hand_score(score, query, key):
    """The score of one query (d,) and one key (d,)."""
    if isinstance(score, rnn.DotScore):
        return sum(a * b for a, b in zip(query, key))
    if isinstance(score, rnn.BilinearScore):
        W = score.W_s
        return sum(query[i] * W[i, j] * key[j] for i in range(len(query)) for j in range(len(key)))
    hidden = torch.tanh(query @ score.W_q + key @ score.W_k)
    return sum(a * b for a, b in zip(score.w, hidden))


@pytest.mark.parametrize("name", rnn.SCORES)
@torch.no_grad()
def test_scores_are_loops_over_pairs(name):
    score = spread(score_of(name))
    query, keys = draw(2, 3, STATE), draw(2, 4, STATE, seed=5)
    found = score(query, keys)
    assert found.shape == (2, 3, 4)
    for b, i, j in torch.cartesian_prod(*map(torch.arange, found.shape)).tolist():
        close(found[b, i, j], hand_score(score, query[b, i], keys[b, j]))


@torch.no_grad()
def test_bilinear_and_additive_let_the_sizes_differ_and_dot_does_not():
    query, keys = draw(2, 3, 4), draw(2, 5, 6)
    for name in ("bilinear", "additive"):
        score = spread(score_of(name, 4, 6))
        close(score(query, keys)[1, 2, 3], hand_score(score, query[1, 2], keys[1, 3]))
    with pytest.raises(ValueError, match="d_query = 4 and d_key = 6"):
        score_of("dot", 4, 6)


def test_the_bilinear_score_starts_as_the_dot_product():
    query, keys = draw(2, 3, STATE).float(), draw(2, 4, STATE).float()
    torch.testing.assert_close(score_of("bilinear")(query, keys), score_of("dot")(query, keys))
    assert not list(score_of("dot").parameters())


def look_back(model, query, source, b):
    """Context and weights of one query (d,), over the words of sentence b alone."""
    keys = source.states[b, source.mask[b, 0, 0]]
    weights = torch.stack([hand_score(model.score, query, key) for key in keys]).softmax(0)
    return sum(weight * key for weight, key in zip(weights, keys)), weights


def first_state(model, source, b):
    if hasattr(model, "first"):
        return torch.tanh(source.context[b] @ model.first.weight.T + model.first.bias)
    return model.start


@every_decoder
@every_cell
@torch.no_grad()
def test_decoders_are_loops_of_cells(name, cell):
    model, source = decoder(name, cell), memory()
    logits, last, weights = model(TARGETS, source)
    step = cell_of(model.rnn)
    for b in range(3):
        state = first_state(model, source, b)
        for i, token in enumerate(TARGETS[b]):
            x = model.embedding.weight[token]
            if isinstance(model, RecurrentDecoder):
                x = torch.cat([x, source.context[b]]) if model.context == "every" else x
                state = features = step(x[None], state[None])[0]
            else:
                if isinstance(model, PreviousStateDecoder):
                    context, expected = look_back(model, state, source, b)
                    state = step(torch.cat([x, context])[None], state[None])[0]
                else:
                    state = step(x[None], state[None])[0]
                    context, expected = look_back(model, state, source, b)
                close(weights[b, i, source.mask[b, 0, 0]], expected)
                mixed = torch.cat([context, state]) @ model.combine.weight.T + model.combine.bias
                features = torch.tanh(mixed)
            close(logits[b, i], features @ model.to_logits.weight.T + model.to_logits.bias)
        close(last[0, b], state)
    assert weights is None if isinstance(model, RecurrentDecoder) else weights.shape == (3, 6, 5)


@every_decoder
@torch.no_grad()
def test_a_word_at_a_time_is_all_words_at_once(name):
    model, source = decoder(name), memory()
    logits, _, weights = model(TARGETS, source)
    state, steps = None, []
    for i in range(TARGETS.shape[1]):
        one, state, row = model(TARGETS[:, i : i + 1], source, state)
        steps.append((one, row))
    close(torch.cat([one for one, _ in steps], dim=1), logits)
    if weights is not None:
        close(torch.cat([row for _, row in steps], dim=1), weights)


@every_decoder
def test_decoders_are_causal(name):
    model = translator(name)
    one = RecurrentTranslator.forward

    class Logits(nn.Module):
        def forward(self, target):
            return one(model, TOKENS, MASK, target)[0]

    moved = causality_probe(Logits(), TARGETS)
    assert leaks(moved) == []
    assert moved["eval"].equal(torch.ones(6, 6, dtype=torch.bool).tril()), "and all that came before matters"


# Padding


class BlindEncoder(RecurrentEncoder):
    """Ignores its mask: reads padding as words, and hands it on as words."""

    def forward(self, tokens, mask):
        return super().forward(tokens, torch.ones_like(mask))


class BlindDecoder(AttentionDecoder):
    """Ignores its mask when it looks back."""

    def attend(self, query, memory):
        return super().attend(query, memory._replace(mask=torch.ones_like(memory.mask)))


class HasteEncoder(RecurrentEncoder):
    """Masks its states, but starts to read backwards at the padding."""

    def forward(self, tokens, mask):
        return super().forward(tokens, torch.ones_like(mask))._replace(mask=mask)


@torch.no_grad()
def moved_by_padding(model):
    """What changes in the model's answer for TOKENS when only padding does; empty for a model that minds its mask."""
    logits, weights = model(TOKENS, MASK, TARGETS)
    tokens, more = TOKENS.masked_fill(~REAL, 8), nn.functional.pad(TOKENS, (0, 3))
    found = {
        "ids of padding": model(tokens, MASK, TARGETS)[0] - logits,
        "more padding": model(more, padding_mask(more), TARGETS)[0] - logits,
        "weights on padding": torch.zeros(1) if weights is None else weights.transpose(1, 2)[~REAL],
    }
    for b, length in enumerate(LENGTHS):
        alone, row = model(TOKENS[b : b + 1, :length], MASK[b : b + 1, ..., :length], TARGETS[b : b + 1])
        found[f"sentence {b} alone"] = alone[0] - logits[b]
        if weights is not None:
            found[f"weights of sentence {b} alone"] = row[0] - weights[b, :, :length]
            assert (weights[b].sum(-1) - 1).abs().max() < 1e-12
    limits = {"weights on padding": 0.0}  # exactly
    return {what for what, change in found.items() if change.abs().max() > limits.get(what, 1e-12)}


@every_decoder
@every_cell
@both_directions
def test_padding_changes_nothing(name, cell, bidirectional):
    assert moved_by_padding(translator(name, cell, bidirectional)) == set()


@pytest.mark.parametrize("bidirectional", [True, False])
def test_models_that_ignore_their_mask_are_caught(bidirectional):
    sizes = dict(d_embedding=SIZE, d_hidden=STATE)
    for broken in (BlindEncoder, HasteEncoder):
        encoder = broken(WORDS, **sizes, bidirectional=bidirectional)
        found = moved_by_padding(spread(RecurrentTranslator(encoder, AttentionDecoder(WORDS, **sizes))))
        if broken is BlindEncoder or bidirectional:
            assert {"ids of padding", "more padding", "sentence 1 alone"} <= found
            assert "sentence 0 alone" not in found, "which has no padding"
    for score in rnn.SCORES:
        encoder = RecurrentEncoder(WORDS, **sizes, bidirectional=bidirectional)
        model = RecurrentTranslator(encoder, BlindDecoder(WORDS, **sizes, score=score))
        assert "weights on padding" in moved_by_padding(spread(model))


@every_cell
@both_directions
@torch.no_grad()
def test_states_do_not_depend_on_neighbours_or_padding(cell, bidirectional):
    encoder = spread(RecurrentEncoder(WORDS, d_embedding=SIZE, d_hidden=STATE, cell=cell, bidirectional=bidirectional))
    together = encoder(TOKENS, MASK)
    turned = encoder(TOKENS.flip(0), MASK.flip(0))
    close(turned.states.flip(0), together.states)
    for b, length in enumerate(LENGTHS):
        alone = encoder(TOKENS[b : b + 1, :length], MASK[b : b + 1, ..., :length])
        close(alone.states[0], together.states[b, :length])
        close(alone.context[0], together.context[b])
        assert not together.states[b, length:].any()


@pytest.mark.parametrize("name", [name for name in DECODERS if "Attention" in name or "Previous" in name])
def test_a_padded_state_has_no_influence_whatever_number_it_is(name):
    """Neither on what comes out nor on any gradient."""
    model, source = decoder(name), memory()
    changed = source._replace(states=source.states.masked_fill(~REAL[..., None], -1e30))
    found = []
    for states in (source, changed):
        model.zero_grad()
        logits, _, weights = model(TARGETS, states)
        logits.logsumexp(-1).sum().backward()
        found.append([logits, weights, *(parameter.grad.clone() for parameter in model.parameters())])
    close(found[1], found[0])


# Greedy decoding


def eager(name):
    """Translators that come to </s> sooner or later, some never."""
    for seed in range(8):
        model = translator(name, seed=seed)
        with torch.no_grad():
            model.decoder.to_logits.bias[2] += seed % 4
        yield model


@every_decoder
@torch.no_grad()
def test_greedy_decoding_writes_what_teacher_forcing_finds_most_probable(name):
    stopped = set()
    for model in eager(name):
        sentences, weights = model.translate(TOKENS, MASK, limit=8)
        for b, words in enumerate(sentences):
            fed = torch.tensor([[1, *words]])
            logits, rows = model(TOKENS[b : b + 1], MASK[b : b + 1], fed)
            best = logits[0].argmax(-1).tolist()
            assert words == best[: len(words)] and 2 not in words and len(words) <= 8
            assert best[len(words)] == 2 if len(words) < 8 else True
            stopped.add(len(words) < 8)
            if weights is not None:
                steps = min(len(words) + 1, 8)
                close(weights[b, :steps], rows[0, :steps])
    assert stopped == {True, False}, "the cases must show both ends"


@every_decoder
@torch.no_grad()
def test_decoding_a_batch_is_decoding_one_by_one(name):
    lengths = set()
    for model in eager(name):
        together, weights = model.translate(TOKENS, MASK, limit=10)
        for b in range(3):
            (alone,), row = model.translate(TOKENS[b : b + 1], MASK[b : b + 1], limit=10)
            assert alone == together[b]
            if weights is not None:
                close(row[0], weights[b, : row.shape[1]])
        if weights is not None:
            assert weights.shape[1] == min(max(map(len, together)) + 1, 10), "no step after the last </s>"
        lengths |= set(map(len, together))
    assert len(lengths) > 1


def test_decoding_ends_as_soon_as_all_sentences_do_and_at_the_limit(monkeypatch):
    model, calls = translator("dot, AttentionDecoder"), []
    forward = AttentionDecoder.forward
    monkeypatch.setattr(AttentionDecoder, "forward", lambda *given: calls.append(1) or forward(*given))
    with torch.no_grad():
        model.decoder.to_logits.bias[2] = 1e6
    assert model.translate(TOKENS, MASK)[0] == [[], [], []] and len(calls) == 1
    with torch.no_grad():
        model.decoder.to_logits.bias[2] = -1e6
    sentences, weights = model.translate(TOKENS, MASK, limit=4)
    assert [len(words) for words in sentences] == [4, 4, 4] and weights.shape == (3, 4, 5)
    assert max(len(words) for words in model.translate(TOKENS, MASK)[0]) == 40


def test_the_ids_are_those_of_the_vocabulary():
    words = Vocabulary(["witch"])
    assert words.encode([], start=True, end=True) == [START_ID, END_ID]
    tokens = words.batch(["witch witch", "witch"], end=True)
    states = RecurrentEncoder(len(words), d_embedding=SIZE, d_hidden=STATE)(tokens, padding_mask(tokens)).states
    assert states.shape == (2, 3, STATE) and not states[1, 2:].any()


# Refusals


def holes(mask):
    mask = mask.clone()
    mask[0, ..., 1] = False
    return mask


def nothing_to_read(mask):
    mask = mask.clone()
    mask[1] = False
    return mask


def spoilt(model):
    """A copy of the model as a training that blew up leaves it."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        next(model.parameters()).fill_(torch.nan)
    return model


ENCODER, DECODER = (
    RecurrentEncoder(WORDS, d_embedding=SIZE, d_hidden=STATE),
    AttentionDecoder(WORDS, d_embedding=SIZE, d_hidden=STATE),
)
PLAIN, MEMORY = (
    RecurrentDecoder(WORDS, d_embedding=SIZE, d_hidden=STATE),
    Memory(torch.zeros(3, 5, STATE), torch.zeros(3, STATE), MASK),
)
REFUSED = {
    "d_in 0 and d_hidden 3 must be at least 1": lambda: ElmanCell(d_in=0, d_hidden=3),
    "d_in 2.5 and d_hidden 3 must be whole numbers": lambda: ElmanCell(d_in=2.5, d_hidden=3),
    "d_in 4 and d_hidden 2.5 must be whole numbers": lambda: RecurrentLanguageModel(9, d_embedding=4, d_hidden=2.5),
    "state is None": lambda: ElmanCell(d_in=5, d_hidden=6)(torch.zeros(2, 5), None),
    "x (2, 4) and state (2, 6) must end in 5 and 6": lambda: ElmanCell(d_in=5, d_hidden=6)(
        torch.zeros(2, 4), torch.zeros(2, 6)
    ),
    "x (2, 5) and state (2, 5) must end in 5 and 6": lambda: ElmanCell(d_in=5, d_hidden=6)(
        torch.zeros(2, 5), torch.zeros(2, 5)
    ),
    "RNN(6, 5) must be an nn.RNN(5, 6)": lambda: load(ElmanCell(d_in=5, d_hidden=6), nn.RNN(6, 5)),
    "RNN(5, 6, num_layers=2) must be": lambda: load(ElmanCell(d_in=5, d_hidden=6), nn.RNN(5, 6, 2)),
    "bidirectional=True) must be": lambda: load(ElmanCell(d_in=5, d_hidden=6), nn.RNN(5, 6, bidirectional=True)),
    "RNN(5, 6) must be an nn.RNN(5, 6) with one": lambda: load(
        ElmanCell(d_in=5, d_hidden=6), nn.RNN(5, 6, nonlinearity="relu")
    ),
    "bias=True) must be an nn.RNN": lambda: load(ElmanCell(d_in=5, d_hidden=6), nn.Linear(5, 6)),
    "GRU(5, 6) must be an nn.RNN": lambda: load(ElmanCell(d_in=5, d_hidden=6), nn.GRU(5, 6)),
    "cell 'lstm' is unknown; there are elman, gru": lambda: RecurrentLanguageModel(
        9, d_embedding=4, d_hidden=4, cell="lstm"
    ),
    "context 'last' is unknown; there are first, every": lambda: RecurrentDecoder(
        9, d_embedding=4, d_hidden=4, context="last"
    ),
    "score 'cosine' is unknown; there are dot, bilinear": lambda: AttentionDecoder(
        9, d_embedding=4, d_hidden=4, score="cosine"
    ),
    "d_hidden = 7 cannot be shared by directions = 2": lambda: RecurrentEncoder(9, d_embedding=4, d_hidden=7),
    "whole numbers (b, n), not (5,)": lambda: RecurrentLanguageModel(9, d_embedding=4, d_hidden=4)(TOKENS[0]),
    "not (3, 5) of torch.float32": lambda: RecurrentLanguageModel(9, d_embedding=4, d_hidden=4)(TOKENS.float()),
    "tokens is of the type list": lambda: RecurrentLanguageModel(9, d_embedding=4, d_hidden=4)(TOKENS.tolist()),
    "mask is of the type ndarray": lambda: ENCODER(TOKENS, MASK.numpy()),
    "context is None": lambda: DECODER(TARGETS, MEMORY._replace(context=None)),
    "some logits are NaN or infinite": lambda: spoilt(RecurrentLanguageModel(9, d_embedding=4, d_hidden=4)).generate(),
    "logits are NaN or infinite": lambda: spoilt(RecurrentLanguageModel(9, d_embedding=4, d_hidden=4)).generate(
        generator=torch.Generator()
    ),
    "so no token is the most probable": lambda: spoilt(RecurrentTranslator(ENCODER, DECODER)).translate(TOKENS, MASK),
    "not (1, 0)": lambda: RecurrentLanguageModel(9, d_embedding=4, d_hidden=4)(TOKENS[:1, :0]),
    "ids from 0 to 10 must lie between 0 and 8": lambda: RecurrentLanguageModel(9, d_embedding=4, d_hidden=4)(TOKENS),
    "ids from -1 to 9": lambda: ENCODER(TOKENS - 1, MASK),
    "mask (3, 5) of torch.bool is not one of padding: padding_mask(tokens) makes it": lambda: ENCODER(TOKENS, REAL),
    "mask (3, 1, 1, 5) of torch.int64 is not one of padding": lambda: ENCODER(TOKENS, MASK.long()),
    "not (0, 5)": lambda: ENCODER(TOKENS[:0], MASK[:0]),
    "the mask (2, 1, 1, 5) is not that of tokens (3, 5)": lambda: ENCODER(TOKENS, MASK[:2]),
    "mask (3, 1, 5, 5) of torch.bool is not one of": lambda: ENCODER(TOKENS, MASK.expand(3, 1, 5, 5)),
    "torch.int16: .long() converts": lambda: RecurrentLanguageModel(9, d_embedding=4, d_hidden=4)(TOKENS.short()),
    "not (3, 5) of torch.bool": lambda: RecurrentLanguageModel(9, d_embedding=4, d_hidden=4)(REAL),
    "mask (3, 1, 1, 4) is not that of tokens (3, 5)": lambda: ENCODER(TOKENS, MASK[..., :4]),
    "padding only after its words": lambda: ENCODER(TOKENS, holes(MASK)),
    "every sentence needs a word": lambda: ENCODER(TOKENS, nothing_to_read(MASK)),
    "boolean (b, 1, 1, k), with b = 2 as in the target": lambda: DECODER(TARGETS[:2], MEMORY),
    "mask (3, 1, 1, 4) of torch.bool must be": lambda: DECODER(TARGETS, MEMORY._replace(mask=MASK[..., :4])),
    "of torch.float32 must be": lambda: DECODER(TARGETS, MEMORY._replace(mask=MASK.float())),
    "context (1, 6)": lambda: PLAIN(TARGETS, MEMORY._replace(context=torch.zeros(1, STATE))),
    "d = 8 as in the decoder": lambda: AttentionDecoder(WORDS, d_embedding=SIZE, d_hidden=8)(TARGETS, MEMORY),
    "d = 4 as in the decoder": lambda: RecurrentDecoder(WORDS, d_embedding=SIZE, d_hidden=4)(TARGETS, MEMORY),
    "to 12 must lie between 0 and 8": lambda: AttentionDecoder(9, d_embedding=SIZE, d_hidden=STATE)(TARGETS, MEMORY),
    "query (1, 3) and keys (1, 6) must end in 2 and 6": lambda: score_of("bilinear", 2, 6)(draw(1, 3), draw(1, 6)),
    "must end in 3 and 5": lambda: score_of("additive", 3, 5)(draw(1, 3), draw(1, 6)),
    "keys (1, 6) must end in 3 and 3": lambda: score_of("dot", 3, 3)(draw(1, 3), draw(1, 6)),
    "limit 0 must be at least 1": lambda: RecurrentTranslator(ENCODER, DECODER).translate(TOKENS, MASK, limit=0),
}


@pytest.mark.parametrize("said", REFUSED)
def test_bad_input_is_named(said):
    with pytest.raises(ValueError) as caught:
        REFUSED[said]()
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["additive, AttentionDecoder", "dot, PreviousStateDecoder"])
def test_padding_is_looked_through_once_a_translation(name, monkeypatch):
    """By the encoder; a decoder compares shapes, whatever the number of words that it writes."""
    model, seen, looks = translator(name), [], checks.require_padding
    monkeypatch.setattr(checks, "require_padding", lambda mask: seen.append(mask) or looks(mask))
    model.translate(TOKENS, MASK, limit=7)
    assert len(seen) == 1


def test_gradients_reach_every_parameter():
    for name in DECODERS:
        model = copy.deepcopy(translator(name))
        model(TOKENS, MASK, TARGETS)[0].logsumexp(-1).sum().backward()
        idle = [key for key, value in model.named_parameters() if value.grad is None or not value.grad.any()]
        assert not idle, (name, idle)
