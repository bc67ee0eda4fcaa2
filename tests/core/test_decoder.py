"""utils/decoder.py against PyTorch's decoder with copied weights, against itself without a cache, and its own laws."""

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from utils.attention import MultiHeadAttention
from utils.decoder import (
    BlockState,
    CachedAttention,
    Decoder,
    DecoderBlock,
    LanguageModel,
    PlacedEmbedding,
    Sizes,
    TokenEncoder,
    TransformerTranslator,
)
from utils.decoding import write
from utils.masks import causal_mask, padding_mask
from utils.probes import causality_probe, leaks
from utils.torch_weights import load
from utils.transformer import EncoderBlock, TokenEmbedding, rotate
from utils.vocabulary import END_ID, PAD_ID

SOURCE = torch.tensor([[5, 3, 9, 2, 7, 1, 4], [4, 8, 6, 0, 0, 0, 0], [6, 1, 2, 3, 5, 0, 0]])
TARGET = torch.tensor([[1, 3, 9, 2, 7], [1, 8, 6, 5, 0], [1, 6, 0, 0, 0]])
SIZES = dict(d_model=12, num_heads=2, d_ff=20)
POSITIONS = ["sine", "learned", None, "rotary", "rotary halves"]


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def close(actual, expected, atol=1e-10):
    torch.testing.assert_close(actual, expected, atol=atol, rtol=0)


def model_of(kind, seed=0, **options):
    """A language model or a translator in float64, in evaluation mode, with weights that matter everywhere."""
    torch.manual_seed(seed)
    options = {**dict(d_model=16, num_heads=4, d_ff=24, num_layers=2), **options}
    if kind == "translator":
        of_encoder = {name: options[name] for name in options if name not in ("num_kv_heads", "causal", "tied")}
        model = TransformerTranslator(TokenEncoder(11, **of_encoder), LanguageModel(11, **options, cross=True))
    else:
        model = LanguageModel(11, **options)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model.double().eval()


# Against PyTorch


KINDS = [
    dict(norm="post", activation="relu"),
    dict(norm="post", activation="gelu", layer_norm_eps=0.1),
    dict(norm="pre", activation="relu"),
    dict(norm="pre", activation="gelu", bias=False),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
MASKS = {
    "none": (None, {}),
    "causal": (causal_mask(5), {"tgt_mask": ~causal_mask(5)}),
    "both": (
        causal_mask(5) & padding_mask(TARGET),
        {"tgt_mask": ~causal_mask(5), "tgt_key_padding_mask": TARGET == PAD_ID},
    ),
}


def stirred(theirs):
    for parameter in theirs.parameters():  # PyTorch starts all layers equal, biases at 0 and gamma at 1
        nn.init.normal_(parameter, std=0.4)
    return theirs.double()


def layer(norm="post", bias=True, dropout=0.0, **options):
    return nn.TransformerDecoderLayer(
        12, 2, 20, dropout, batch_first=True, norm_first=norm == "pre", bias=bias, **options
    )


def decoders(norm, activation, final_norm, **options):
    """Our decoder with the weights of PyTorch's, and PyTorch's."""
    torch.manual_seed(0)
    last = nn.LayerNorm(12) if final_norm else None
    theirs = stirred(nn.TransformerDecoder(layer(norm, activation=activation, **options), 2, last))
    return load(Decoder(num_layers=2, **SIZES, norm=norm, activation=activation, final_norm=final_norm), theirs), theirs


def cross_weights_of(theirs, run):
    """The weights (b, h, q, k) of each layer's attention to the memory, which PyTorch's decoder does not return."""
    found = []

    def look(attention, given, named, _):
        named = {**named, "need_weights": True, "average_attn_weights": False}
        found.append(attention.forward(*given, **named)[1])

    hooks = [one.multihead_attn.register_forward_hook(look, with_kwargs=True) for one in theirs.layers]
    run()
    [hook.remove() for hook in hooks]
    return found


def gradients_of(theirs, prefix=""):
    """The gradients of PyTorch's decoder, under the names of ours."""
    found = {}
    for i, one in enumerate(theirs.layers):
        for name, attention in (("attention", one.self_attn), ("cross_attention", one.multihead_attn)):
            for kind in ("weight", "bias"):
                packed = getattr(attention, f"in_proj_{kind}")
                parts = (None,) * 3 if packed is None else packed.grad.chunk(3)
                found |= {f"blocks.{i}.{name}.{W}.{kind}": part for W, part in zip(("W_q", "W_k", "W_v"), parts)}
            found |= by_name(f"blocks.{i}.{name}.W_o", attention.out_proj)
        found |= by_name(f"blocks.{i}.feed_forward.W_1", one.linear1) | by_name(
            f"blocks.{i}.feed_forward.W_2", one.linear2
        )
        for j in (1, 2, 3):
            found |= by_name(f"blocks.{i}.norm_{j}.layer", getattr(one, f"norm{j}"), "gamma", "beta")
    return found if theirs.norm is None else found | by_name("final_norm", theirs.norm, "gamma", "beta")


def by_name(prefix, module, weight="weight", bias="bias"):
    gradient = None if module.bias is None else module.bias.grad
    return {f"{prefix}.{weight}": module.weight.grad, f"{prefix}.{bias}": gradient}


@every_kind
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("mask_name, memory_padded", [("none", True), ("causal", False), ("both", True)])
def test_equal_to_torch_forward_and_backward(kind, mask_name, memory_padded, training):
    ours, theirs = decoders(**kind, final_norm=mask_name == "both")
    ours.train(training)
    theirs.train(training)
    mask, masks = MASKS[mask_name]
    memory_mask = padding_mask(SOURCE) if memory_padded else None
    masks = masks | ({"memory_key_padding_mask": SOURCE == PAD_ID} if memory_padded else {})
    (x, memory), (twin, twin_memory) = (
        [draw(3, 5, 12).requires_grad_(), draw(3, 7, 12, seed=2).requires_grad_()] for _ in range(2)
    )
    output, _, weights = ours(x, mask, memory, memory_mask)
    expected = theirs(twin, twin_memory, **masks)
    close(output, expected)
    close(weights.cross, cross_weights_of(theirs, lambda: theirs(twin, twin_memory, **masks)))
    upstream = draw(*output.shape, seed=9)
    output.backward(upstream)
    expected.backward(upstream)
    close([x.grad, memory.grad], [twin.grad, twin_memory.grad])
    named = gradients_of(theirs)
    assert named.keys() == dict(ours.named_parameters()).keys()
    for name, parameter in ours.named_parameters():
        if named[name] is not None:  # without a bias there is nothing to compare
            close(parameter.grad, named[name])


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors", "ignore:enable_nested_tensor")
def test_a_translator_is_nn_transformer_between_embedding_and_output_layer(norm, training):
    torch.manual_seed(0)
    theirs = stirred(nn.Transformer(12, 2, 2, 2, 20, 0.0, batch_first=True, norm_first=norm == "pre"))
    sizes = dict(**SIZES, num_layers=2, norm=norm, final_norm=True)
    ours = load(
        TransformerTranslator(TokenEncoder(10, **sizes), LanguageModel(10, **sizes, cross=True)).double(), theirs
    )
    ours.train(training)
    theirs.train(training)
    mask, past = padding_mask(SOURCE), causal_mask(5)
    logits, weights = ours(SOURCE, mask, TARGET)
    hidden = dict(src_key_padding_mask=SOURCE == PAD_ID, memory_key_padding_mask=SOURCE == PAD_ID)
    with torch.set_grad_enabled(training):  # without gradients, PyTorch's encoder takes another way
        x, y = ours.encoder.embedding(SOURCE), ours.language_model.embedding(TARGET)
        expected = ours.language_model.to_logits(theirs(x, y, tgt_mask=~past, **hidden))
    close(logits, expected)
    assert [w.shape for w in (weights.source[1], weights.own[1], weights.cross[1])] == [
        (3, 2, 7, 7),
        (3, 2, 5, 5),
        (3, 2, 5, 7),
    ]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_dropout_falls_where_torch_drops(norm):
    """The same seed drops the same entries, as they come in the same order and shapes, for one sentence at a time."""
    theirs = stirred(layer(norm, dropout=0.3))
    ours = load(DecoderBlock(**SIZES, norm=norm, dropout=0.3), theirs)
    x, memory = draw(1, 5, 12), draw(1, 7, 12, seed=2)
    torch.manual_seed(7)
    output, _, _ = ours(x, causal_mask(5), memory)
    torch.manual_seed(7)
    close(output, theirs(x, memory, tgt_mask=~causal_mask(5)))


def test_without_a_memory_it_is_an_encoder_block():
    ours, encoder = DecoderBlock(**SIZES, cross=False).double(), EncoderBlock(**SIZES).double()
    names = {name: name.replace("norm_3", "norm_2") for name in ours.state_dict()}
    encoder.load_state_dict({names[name]: tensor for name, tensor in ours.state_dict().items()})
    x = draw(2, 5, 12)
    (output, _, (weights, none)), expected = ours(x, causal_mask(5)), encoder(x, causal_mask(5))
    close((output, weights), expected)
    assert none is None


@pytest.mark.parametrize("training", [True, False])
def test_a_block_of_today_is_torch_s_with_rms_norms_and_a_gate_forward_and_backward(training):
    """PyTorch's layer without biases, its norms and its feed-forward layer replaced: linear1 holds W_1 and W_3."""
    torch.manual_seed(0)
    theirs = layer("pre", bias=False, activation=lambda both: F.silu(both[..., :20]) * both[..., 20:])
    theirs.linear1 = nn.Linear(12, 40, bias=False)
    for j in (1, 2, 3):
        setattr(theirs, f"norm{j}", nn.RMSNorm(12, eps=1e-5))
    theirs = stirred(theirs).train(training)
    options = dict(norm_kind="rms", gated=True, activation="silu", bias=False)
    ours = DecoderBlock(**SIZES, **options).double().train(training)
    load(ours.attention, theirs.self_attn)
    load(ours.cross_attention, theirs.multihead_attn)
    for j in (1, 2, 3):
        load(getattr(ours, f"norm_{j}"), getattr(theirs, f"norm{j}"))
    gate, up = theirs.linear1.weight.detach().chunk(2)
    names = {"W_1.weight": gate, "W_3.weight": up, "W_2.weight": theirs.linear2.weight}
    ours.feed_forward.load_state_dict(names)
    assert not any("bias" in name or "beta" in name for name, _ in ours.named_parameters())
    given, twins = ([draw(3, 5, 12).requires_grad_(), draw(3, 7, 12, seed=2).requires_grad_()] for _ in range(2))
    output, _, _ = ours(given[0], causal_mask(5), given[1])
    expected = theirs(*twins, tgt_mask=~causal_mask(5))
    close(output, expected)
    output.backward(draw(3, 5, 12, seed=9))
    expected.backward(draw(3, 5, 12, seed=9))
    close([one.grad for one in given], [one.grad for one in twins])
    feed_forward = ours.feed_forward
    close(torch.cat([feed_forward.W_1.weight.grad, feed_forward.W_3.weight.grad]), theirs.linear1.weight.grad)
    close(ours.norm_3.gamma.grad, theirs.norm3.weight.grad)
    close(ours.attention.W_o.weight.grad, theirs.self_attn.out_proj.weight.grad)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_stack_without_biases_takes_the_weights_of_one_of_torch_s(norm):
    torch.manual_seed(0)
    theirs = stirred(nn.TransformerDecoder(layer(norm, bias=False), 2, nn.LayerNorm(12)))
    ours = load(Decoder(num_layers=2, **SIZES, norm=norm, final_norm=True, bias=False), theirs)
    assert not any(name.endswith("bias") for name, _ in ours.named_parameters())
    x, memory = draw(3, 5, 12), draw(3, 7, 12, seed=2)
    close(ours(x, causal_mask(5), memory)[0], theirs(x, memory, tgt_mask=~causal_mask(5)))


@pytest.mark.parametrize("kind", [Decoder, DecoderBlock])
def test_sizes_given_whole_or_by_name_make_the_same_layers(kind):
    fields = dict(**SIZES, num_layers=2, norm="post", num_kv_heads=1, rotary="halves", gated=True, norm_kind="rms")
    made = []
    for build in (lambda: kind(Sizes(**fields)), lambda: kind(**fields), lambda: kind(Sizes(**SIZES), **fields)):
        torch.manual_seed(0)
        made.append(build())
    assert len({str(one) for one in made}) == 1
    states = [one.state_dict() for one in made]
    assert states[0].keys() == states[1].keys() == states[2].keys()
    assert all(torch.equal(state[name], tensor) for state in states[1:] for name, tensor in states[0].items())


def test_a_language_model_of_today_has_the_size_of_a_published_one():
    """SmolLM2-135M: 134,515,008 numbers, the output layer's being those of the embedding."""
    with torch.device("meta"):  # shapes without numbers
        model = LanguageModel(
            49_152, d_model=576, num_heads=9, num_layers=30, d_ff=1536, positions="rotary", base=100_000, tied=True,
            num_kv_heads=3, norm_kind="rms", gated=True, activation="silu", bias=False,
        )  # fmt: skip
    block = 2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536 + 2 * 576
    by_hand = 49_152 * 576 + 30 * block + 576
    assert sum(p.numel() for p in model.parameters()) == by_hand == 134_515_008


REFUSED = [
    (nn.TransformerEncoderLayer(12, 2, 20), {}, "cannot load a TransformerEncoderLayer"),
    (layer("pre"), {}, "(20, 'pre', 'relu') in"),
    (layer(activation="gelu"), {}, "(20, 'post', 'gelu') in"),
    (layer(), dict(cross=False), "cross=True"),
    (layer(), dict(gated=True), "cannot load a TransformerDecoderLayer"),
    (layer(), dict(norm_kind="rms"), "is not an nn.RMSNorm with a weight for d_model = 12"),
    (layer(), dict(bias=False), "PyTorch's layer has biases, the block has none"),
    (layer(), dict(num_kv_heads=1), "neither fewer heads of keys and values nor rotary"),
    (layer(), dict(rotary="halves"), "neither fewer heads of keys and values nor rotary"),
]


@pytest.mark.parametrize("theirs, options, said", REFUSED, ids=[f"{said} {options}" for _, options, said in REFUSED])
def test_a_block_names_what_it_cannot_load_and_keeps_its_weights(theirs, options, said):
    ours = DecoderBlock(**SIZES, norm="post", **options)
    before = copy.deepcopy(ours.state_dict())
    with pytest.raises(ValueError) as caught:
        load(ours, theirs)
    assert said in str(caught.value)
    assert all(torch.equal(before[name], tensor) for name, tensor in ours.state_dict().items())


# Rotary positions


@given(st.sampled_from(["interleaved", "halves"]), st.integers(1, 8), st.integers(0, 5000), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_rotation_keeps_lengths_and_scores_depend_on_the_distance_alone(pairing, pairs, shift, seed):
    q, k, places = draw(7, 2 * pairs, seed=seed), draw(7, 2 * pairs, seed=seed + 1), torch.arange(7)
    close(rotate(q, places, pairing).norm(dim=-1), q.norm(dim=-1), atol=1e-12)
    scores = [rotate(q, places + s, pairing) @ rotate(k, places + s, pairing).mT for s in (0, shift)]
    close(*scores, atol=1e-10)
    assert torch.equal(rotate(q, torch.zeros(7), pairing), q)


@pytest.mark.parametrize("base", [10_000, 100_000.0, 7])
def test_a_pair_is_a_complex_number_that_is_turned(base):
    x, places = draw(3, 6, 8), torch.tensor([0, 1, 2, 5, 9, 1000])
    angles = places[:, None] * float(base) ** -(torch.arange(4, dtype=torch.float64) / 4)
    for pairing, (first, second) in {"interleaved": (x[..., 0::2], x[..., 1::2]), "halves": x.chunk(2, -1)}.items():
        turned = torch.complex(first, second) * torch.polar(torch.ones_like(angles), angles)
        parts = [turned.real, turned.imag]
        expected = torch.stack(parts, -1).flatten(-2) if pairing == "interleaved" else torch.cat(parts, -1)
        close(rotate(x, places, pairing, base), expected, atol=1e-12)
        assert base != 10_000 or torch.equal(rotate(x, places, pairing), rotate(x, places, pairing, base))


@pytest.mark.parametrize("rotary", ["interleaved", "halves", None])
def test_a_stack_turns_as_its_blocks_do_one_by_one(rotary):
    """It computes the angles once for all blocks; the result is that of blocks which are told the places."""
    torch.manual_seed(0)
    ours = Decoder(**SIZES, num_layers=3, cross=False, rotary=rotary, base=50, num_kv_heads=1).double()
    x, twin, places = draw(2, 5, 12).requires_grad_(), draw(2, 5, 12).requires_grad_(), torch.tensor([0, 3, 4, 9, 70])
    output, _, _ = ours(x, causal_mask(5), places=places.expand(2, 1, 5))
    expected = twin
    for block in ours.blocks:
        expected, _, _ = block(expected, causal_mask(5), places=places)
    assert torch.equal(output, expected)
    gradients = [torch.autograd.grad(y.square().sum(), at)[0] for y, at in ((output, x), (expected, twin))]
    assert torch.equal(*gradients)
    other = Decoder(**SIZES, num_layers=3, cross=False, rotary=rotary, num_kv_heads=1).double()
    other.load_state_dict(ours.state_dict())
    assert torch.allclose(other(x, causal_mask(5), places=places)[0], output) == (rotary is None), "another base"


def test_the_two_pairings_are_one_up_to_the_order_of_rows_in_W_q_and_W_k():
    torch.manual_seed(0)
    ours = CachedAttention(d_model=16, num_heads=2, rotary="interleaved").double()
    other = copy.deepcopy(ours)
    other.rotary = "halves"
    order = torch.cat([torch.arange(0, 8, 2), torch.arange(1, 8, 2)])
    rows = torch.cat([order, order + 8])
    x = draw(2, 6, 16)
    assert (other(x)[0] - ours(x)[0]).abs().max() > 1e-4
    for W in (other.W_q, other.W_k):
        W.weight.data, W.bias.data = W.weight.data[rows], W.bias.data[rows]
    close(other(x), ours(x), atol=1e-12)


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
def test_rotary_attention_sees_distances_and_not_places(pairing):
    torch.manual_seed(0)
    ours, x, places = CachedAttention(d_model=16, num_heads=2, rotary=pairing).double(), draw(2, 6, 16), torch.arange(6)
    output, weights = ours(x)
    for shift, stretch, same in ((1000, 1, True), (0, 3, False)):
        moved = stretch * places + shift
        other, others = ours.attend(x, ours.keep(x, places=moved), places=moved)
        assert torch.allclose(other, output, atol=1e-10) == torch.allclose(others, weights, atol=1e-10) == same


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_only_positions_tell_an_encoder_the_order_of_words(positions):
    encoder, order = model_of("translator", positions=positions).encoder, torch.tensor([2, 0, 1])
    source, mask = SOURCE[2:, :3], padding_mask(SOURCE[2:, :3])
    memory, _ = encoder(source, mask)
    permuted, _ = encoder(source[:, order], mask)
    assert torch.allclose(permuted, memory[:, order], atol=1e-10) == (positions is None)


# Attention


@pytest.mark.parametrize("num_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("causal", [True, False])
def test_fewer_heads_of_keys_are_torch_s_grouped_attention(num_kv_heads, causal):
    torch.manual_seed(0)
    ours, x = CachedAttention(d_model=16, num_heads=4, num_kv_heads=num_kv_heads).double(), draw(2, 6, 16)
    Q, K, V = (W(x).unflatten(-1, (-1, 4)).transpose(1, 2) for W in (ours.W_q, ours.W_k, ours.W_v))
    assert K.shape == V.shape == (2, num_kv_heads, 6, 4)
    heads = F.scaled_dot_product_attention(Q, K, V, is_causal=causal, enable_gqa=True)
    output, weights = ours(x, mask=causal_mask(6) if causal else None)
    close(output, ours.W_o(heads.transpose(1, 2).flatten(-2)), atol=1e-12)
    assert weights.shape == (2, 4, 6, 6)


def test_with_as_many_heads_of_keys_it_is_multi_head_attention():
    plain, ours = (
        MultiHeadAttention(d_model=12, num_heads=3).double(),
        CachedAttention(d_model=12, num_heads=3).double(),
    )
    ours.load_state_dict(plain.state_dict())
    x, memory = draw(2, 5, 12), draw(2, 7, 12, seed=2)
    close(ours(x, mask=causal_mask(5)), plain(x, mask=causal_mask(5)), atol=1e-12)
    close(ours(x, memory), plain(x, memory), atol=1e-12)


# The cache


def in_chunks(model, tokens, sizes, mask=None, **memory):
    """The logits of tokens read in chunks of these sizes, each with the state after those before it."""
    state, parts, start = None, [], 0
    for size in sizes:
        part = slice(start, start + size)
        logits, state, _ = model(tokens[:, part], state, None if mask is None else mask[..., part], **memory)
        parts.append(logits)
        start += size
    return torch.cat(parts, dim=1), state


chunks = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@given(chunks, st.sampled_from(POSITIONS), st.sampled_from([4, 2, 1]), st.sampled_from(["pre", "post"]), st.booleans())
@settings(max_examples=40, deadline=None)
@torch.no_grad()
def test_a_cache_changes_nothing_however_the_tokens_are_split(sizes, positions, num_kv_heads, norm, padded):
    n = sum(sizes)
    model = model_of("language model", n, positions=positions, num_kv_heads=num_kv_heads, norm=norm)
    generator = torch.Generator().manual_seed(n)
    tokens = torch.randint(1, 11, (3, n), generator=generator)
    mask = torch.rand(3, 1, 1, n, generator=generator) < 0.7 if padded else None
    whole, last, _ = model(tokens, mask=mask)
    logits, state = in_chunks(model, tokens, sizes, mask)
    close(logits, whole, atol=1e-12)
    close(
        [pair for block in state.blocks for pair in block.own],
        [pair for block in last.blocks for pair in block.own],
        atol=1e-12,
    )


@given(chunks, st.sampled_from(POSITIONS), st.sampled_from([4, 2]))
@settings(max_examples=40, deadline=None)
@torch.no_grad()
def test_a_cache_changes_nothing_in_a_translator(sizes, positions, num_kv_heads):
    model = model_of("translator", positions=positions, num_kv_heads=num_kv_heads)
    target = torch.randint(1, 11, (3, sum(sizes)), generator=torch.Generator().manual_seed(len(sizes)))
    mask = padding_mask(SOURCE)
    whole, _ = model(SOURCE, mask, target)
    memory, _ = model.encoder(SOURCE, mask)
    logits, _ = in_chunks(model.language_model, target, sizes, memory=memory, memory_mask=mask)
    close(logits, whole, atol=1e-12)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_a_batch_with_padding_is_its_sentences_one_by_one(positions, side):
    """Prompts of 2 to 6 tokens, then three more tokens for each: the positions of each go on from its own words."""
    model, lengths = model_of("language model", positions=positions), [6, 2, 4]
    tokens = torch.randint(1, 11, (3, 9), generator=torch.Generator().manual_seed(0))
    prompts, mask = torch.zeros(3, 6, dtype=torch.int64), torch.zeros(3, 1, 1, 6, dtype=torch.bool)
    for row, n in enumerate(lengths):
        words = slice(0, n) if side == "right" else slice(6 - n, 6)
        prompts[row, words], mask[row, 0, 0, words] = tokens[row, :n], True
    _, state, _ = model(prompts, mask=mask)
    logits, state = in_chunks_from(model, state, tokens[:, 6:])
    for row, n in enumerate(lengths):
        alone, _, _ = model(torch.cat([tokens[row : row + 1, :n], tokens[row : row + 1, 6:]], dim=1))
        close(logits[row], alone[0, n:], atol=1e-12)


def in_chunks_from(model, state, tokens):
    parts = []
    for token in tokens.split(1, dim=1):
        logits, state, _ = model(token, state)
        parts.append(logits)
    return torch.cat(parts, dim=1), state


@torch.no_grad()
def test_keys_of_the_memory_are_computed_once_and_the_memory_is_not_looked_at_again():
    model, mask = model_of("translator"), padding_mask(SOURCE)
    memory, _ = model.encoder(SOURCE, mask)
    calls = []
    for block in model.language_model.decoder.blocks:
        block.cross_attention.W_k.register_forward_hook(lambda *_: calls.append(1))
    step = model.step_for(SOURCE, mask)
    write(step, None, 3, 6)
    assert len(calls) == 2, "once in each layer"
    _, state, _ = model.language_model(TARGET[:, :2], memory=memory, memory_mask=mask)
    logits, _, _ = model.language_model(TARGET[:, 2:], state)
    whole, _ = model(SOURCE, mask, TARGET)
    close(logits, whole[:, 2:], atol=1e-12)


@pytest.mark.parametrize("num_kv_heads", [1, 2, 4])
@torch.no_grad()
def test_bytes_of_a_cache(num_kv_heads):
    """2 (keys and values) · layers · heads · n · e · 4 bytes a sentence, e = 16 / 4, however it grew."""
    model = model_of("language model", num_kv_heads=num_kv_heads, num_layers=3).float()
    _, state = in_chunks(model, torch.ones(5, 9, dtype=torch.int64), [4, 1, 1, 3])
    found = sum(part.numel() * part.element_size() for block in state.blocks for part in block.own)
    assert found == 5 * 2 * 3 * num_kv_heads * 9 * 4 * 4


@torch.no_grad()
def test_a_state_is_not_changed_by_going_on_from_it():
    model, tokens = model_of("language model"), TARGET[:, :4]
    _, state, _ = model(tokens)
    before = copy.deepcopy(state)
    first, second = (model(torch.full((3, 1), word), state)[0] for word in (5, 6))
    assert all(map(torch.equal, state.blocks[1].own, before.blocks[1].own)) and torch.equal(state.words, before.words)
    close(model(torch.full((3, 1), 5), state)[0], first, atol=0)
    assert not torch.equal(first, second)


# What may be seen


@pytest.mark.parametrize("positions, norm", [("sine", "pre"), ("rotary", "post"), (None, "pre")])
def test_no_future_reaches_the_past(positions, norm):
    """In train mode with dropout, too, through the language model and through the translator."""
    model = model_of("language model", positions=positions, norm=norm, dropout=0.1)
    moved = causality_probe(model, TARGET[:1])
    assert not leaks(moved) and moved["eval"].tril().sum() == 15
    translator = model_of("translator", positions=positions, norm=norm, dropout=0.1)
    source = SOURCE[:1]

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.translator = translator

        def forward(self, target):
            return self.translator(source, padding_mask(source), target)

    moved = causality_probe(Reader(), TARGET[:1])
    assert not leaks(moved) and moved["eval"].tril().sum() == 15


def test_without_the_mask_the_future_leaks_in_both_modes():
    moved = causality_probe(model_of("language model", causal=False), TARGET[:1])
    assert {(mode, i, j) for mode, i, j in leaks(moved)} >= {("train", 0, 4), ("eval", 0, 4)}


@given(st.integers(1, 10), st.sampled_from(["train", "eval"]))
@settings(max_examples=10, deadline=None)
def test_padding_of_the_source_has_no_influence(other, mode):
    model = model_of("translator").train(mode == "train")
    mask = padding_mask(SOURCE)
    changed = torch.where(SOURCE == PAD_ID, other, SOURCE)
    source = [SOURCE, changed]
    (logits, weights), (same, _) = (model(tokens, mask, TARGET) for tokens in source)
    assert torch.equal(logits, same)
    assert all((w[1, :, :, 3:] == 0).all() for w in (*weights.cross, *weights.source))
    shorter, _ = model(SOURCE[1:2, :3], mask[1:2, ..., :3], TARGET[1:2])
    close(logits[1], shorter[0], atol=1e-12)


def test_what_padding_of_the_memory_holds_does_not_matter_backwards_either():
    block, found = DecoderBlock(**SIZES).double(), []
    for number in (0.0, 1e100):
        memory = draw(3, 7, 12, seed=2)
        memory[SOURCE == PAD_ID] = number
        x = draw(3, 5, 12).requires_grad_()
        block(x, causal_mask(5), memory, padding_mask(SOURCE))[0].square().sum().backward()
        found.append(x.grad)
    close(*found, atol=1e-12)


# Embedding and output layer


def test_scaled_vectors_start_small_and_are_read_as_large_as_the_others():
    torch.manual_seed(0)
    plain = TokenEmbedding(50, d_model=16)
    torch.manual_seed(0)
    scaled = PlacedEmbedding(50, d_model=16, scaled=True)
    tokens = torch.arange(50)[None]
    close(scaled(tokens), plain(tokens), atol=1e-6)
    close(scaled.vectors.weight * 4, plain.vectors.weight, atol=1e-6)
    places = torch.arange(50)[None] // 2
    close(scaled(tokens, places), 4 * scaled.vectors(tokens) + scaled.positions.table[places])


@pytest.mark.parametrize("tied", [True, False])
def test_a_tied_output_layer_is_the_embedding_and_stays_it(tied):
    torch.manual_seed(0)
    model = LanguageModel(30, d_model=16, num_heads=2, num_layers=1, d_ff=32, tied=tied, scaled=True)
    assert (model.to_logits.weight.data_ptr() == model.embedding.vectors.weight.data_ptr()) == tied
    assert len(list(model.parameters())) == len(list(model.decoder.parameters())) + (1 if tied else 2)
    optimiser = torch.optim.Adam(model.parameters())
    model(TARGET)[0].square().sum().backward()
    optimiser.step()
    assert torch.equal(model.to_logits.weight, model.embedding.vectors.weight) == tied
    twin = LanguageModel(30, d_model=16, num_heads=2, num_layers=1, d_ff=32, tied=tied, scaled=True)
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin(TARGET)[0], model(TARGET)[0])


def test_tied_without_the_scale_repeats_its_input_and_is_far_from_guessing():
    guess, tokens = math.log(180), torch.randint(4, 180, (16, 12), generator=torch.Generator().manual_seed(0))
    first = {}
    for tied, scaled in ((True, False), (True, True), (False, False)):
        torch.manual_seed(0)
        logits, _, _ = LanguageModel(180, d_model=64, num_heads=4, num_layers=2, d_ff=128, tied=tied, scaled=scaled)(
            tokens[:, :-1]
        )
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).item()
        first[tied, scaled] = loss, (logits.argmax(-1) == tokens[:, :-1]).float().mean().item()
    assert first[True, False][0] > 50 and first[True, False][1] > 0.95
    assert abs(first[False, False][0] - guess) < 0.5 and first[True, True][0] < guess + 5


# Translating


@torch.no_grad()
def test_translations_are_those_of_reading_everything_again_for_each_word():
    ends = set()
    for seed in range(6):
        model, mask = model_of("translator", seed, positions=POSITIONS[seed % 5]), padding_mask(SOURCE)
        model.language_model.to_logits.weight[END_ID] *= 1 + seed
        written, weights = model.translate(SOURCE, mask, limit=8)
        for row, ids in enumerate(written):
            target = torch.tensor([[1, *ids]])
            logits, others = model(SOURCE[row : row + 1], mask[row : row + 1], target)
            best = logits[0].argmax(-1).tolist()
            assert best[: len(ids)] == ids and (len(ids) == 8 or best[len(ids)] == END_ID)
            rows = min(len(ids) + 1, 8)
            for mine, other in zip(weights, others.cross):
                close(mine[row, :, :rows], other[0, :, :rows], atol=1e-12)
            ends.add(len(ids) < 8)
    assert ends == {True, False}, "the cases must show both ends"


def test_a_source_in_the_same_sequence_is_read_first_and_gone_on_from():
    """A decoder alone translates, too: source and padding, then `<s>` and the words, whose places go on."""
    model, mask = model_of("language model", positions="rotary"), padding_mask(SOURCE)
    with torch.no_grad():
        _, state, _ = model(SOURCE, mask=mask)
        written, _ = write(model, state, 3, 5)
        for row, ids in enumerate(written):
            words = SOURCE[row][SOURCE[row] != PAD_ID].tolist()
            logits, _, _ = model(torch.tensor([[*words, 1, *ids]]))
            assert logits[0, len(words) :].argmax(-1).tolist()[: len(ids)] == ids


# Refused


def test_what_does_not_fit_is_named():
    model, translator, mask = model_of("language model"), model_of("translator"), padding_mask(SOURCE)
    _, state, _ = model(TARGET)
    memory = draw(3, 7, 16)
    for call, said in [
        (lambda: model(TARGET[0]), "whole numbers (b, n), not (5,)"),
        (lambda: model(TARGET.tolist()), "tokens is of the type list"),
        (lambda: model(TARGET.to(torch.uint8)), "not (3, 5) of torch.uint8: .long() converts"),
        (lambda: model(TARGET > 0), "not (3, 5) of torch.bool"),
        (lambda: model(TARGET + 0j), "not (3, 5) of torch.complex64"),
        (lambda: model(TARGET, mask=padding_mask(TARGET).float()), "dtype torch.float32; it must be boolean"),
        (lambda: model(TARGET.float()), "token ids must be whole numbers"),
        (lambda: model(TARGET + 20), "token ids from 20 to 29 must lie between 0 and 10"),
        (lambda: model(TARGET, mask=mask), "the mask (3, 1, 1, 7) is not that of tokens (3, 5)"),
        (lambda: model(TARGET[:2], state), "the state is that of 3 sentences; the tokens are (2, 5)"),
        (lambda: translator.language_model(TARGET), "there must be a memory where"),
        (lambda: model(TARGET, memory=memory), "cross=True, and only there"),
        (lambda: translator.language_model(TARGET, memory=memory[:2]), "do not broadcast"),
        (lambda: translator.language_model(TARGET, memory=memory[..., :9]), "x (3, 7, 9) must be (…, positions, 16)"),
        (lambda: model(TARGET.repeat(1, 13)), "places from 0 to 64 must lie between 0 and 63"),
        (lambda: translator(SOURCE, mask[..., :5], TARGET), "is not that of tokens (3, 7)"),
        (lambda: rotate(draw(3, 5), torch.arange(3)), "e = 5 cannot be shared by entries_of_a_pair = 2"),
        (lambda: rotate(draw(3, 4), torch.arange(3), "pairs"), "there are interleaved, halves"),
        (lambda: rotate(torch.arange(8).view(2, 4)), "x (2, 4) of torch.int64 must be (…, n, e) and hold floats"),
        (lambda: rotate([[1.0, 2.0]]), "x is of the type list"),
        (lambda: rotate(draw(4)), "x (4,) of torch.float64 must be (…, n, e)"),
        (lambda: rotate(draw(3, 4), torch.arange(2)), "places (2,) do not broadcast to (3,)"),
        (lambda: rotate(draw(3, 4), [0, 1, 2]), "places is of the type list"),
        (lambda: rotate(draw(3, 4), base=0), "base 0 must be above 0"),
        (lambda: DecoderBlock(**SIZES, norm_kind="batch"), "norm_kind 'batch' is unknown; there are layer, rms"),
        (lambda: Decoder(**SIZES), "num_layers None must be whole numbers"),
        (
            lambda: CachedAttention(d_model=12, num_heads=3, num_kv_heads=2),
            "num_heads = 3 cannot be shared by num_kv_heads = 2",
        ),
        (
            lambda: LanguageModel(9, d_model=8, num_heads=2, num_layers=1, d_ff=8, positions="cosine"),
            "there are sine, learned, None, rotary, rotary halves",
        ),
        (lambda: Decoder(d_model=8, num_heads=2, num_layers=0, d_ff=8), "num_layers 0 must be at least 1"),
        (
            lambda: DecoderBlock(d_model=8, num_heads=2, d_ff=8, norm="both"),
            "norm 'both' is unknown; there are pre, post",
        ),
    ]:
        with pytest.raises(ValueError) as caught:
            call()
        assert said in str(caught.value), said


def test_a_block_goes_on_from_its_own_state():
    block, x, memory = DecoderBlock(**SIZES, rotary="halves").double(), draw(2, 6, 12), draw(2, 4, 12, seed=3)
    whole, _, _ = block(x, causal_mask(6), memory)  # places 0 to 5
    first, state, _ = block(x[:, :4], causal_mask(4), memory)
    second, state, _ = block(x[:, 4:], causal_mask(6)[4:], state=state, places=torch.tensor([4, 5]))
    close(torch.cat([first, second], dim=1), whole, atol=1e-12)
    assert isinstance(state, BlockState) and state.own.keys.shape == (2, 2, 6, 6)


@pytest.mark.parametrize("kind", [LanguageModel, TokenEncoder, Decoder, DecoderBlock])
def test_an_option_that_does_not_exist_or_is_missing_is_named_by_what_was_called(kind):
    words = (9,) if kind in (LanguageModel, TokenEncoder) else ()
    with pytest.raises(TypeError, match=rf"{kind.__name__}.*'dropuot'"):
        kind(*words, d_model=8, num_heads=2, num_layers=1, d_ff=8, dropuot=0.1)
    with pytest.raises(TypeError, match=rf"{kind.__name__}.*'d_ff'"):
        kind(*words, d_model=8, num_heads=2, num_layers=1)
