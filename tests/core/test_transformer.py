"""utils/transformer.py against PyTorch's encoder with copied weights, against the equations, and its own laws."""

import math
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from utils.masks import causal_mask, padding_mask
from utils.probes import causality_probe, leaks
from utils.torch_weights import load
from utils.transformer import (
    Encoder,
    EncoderBlock,
    FeedForward,
    GatedFeedForward,
    LayerNorm,
    LearnedPositions,
    PositionalEncoding,
    ResidualNorm,
    RMSNorm,
    Tagger,
    sinusoidal_positions,
)

TOKENS = torch.tensor([[5, 3, 9, 2, 7, 1], [4, 8, 0, 0, 0, 0], [6, 1, 2, 3, 0, 0]])
SIZES = dict(d_model=12, num_heads=2, d_ff=20)


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def pair(num_layers=3, norm="post", activation="relu", final_norm=False, dropout=0.0, bias=True, eps=1e-5):
    """Our encoder with the weights of PyTorch's, and PyTorch's."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        12, 2, 20, dropout, activation, eps, True, norm == "pre", bias=bias, dtype=torch.float64
    )
    last = nn.LayerNorm(12, eps, bias=bias, dtype=torch.float64) if final_norm else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where there is no way through nested tensors, PyTorch says so
        theirs = nn.TransformerEncoder(layer, num_layers, last)
    for parameter in theirs.parameters():  # PyTorch starts all layers equal, biases at 0 and gamma at 1
        nn.init.normal_(parameter, std=0.4)
    ours = Encoder(
        num_layers=num_layers, **SIZES, dropout=dropout, norm=norm, activation=activation, final_norm=final_norm
    )
    return load(ours, theirs), theirs


def close(actual, expected, atol=1e-10):
    torch.testing.assert_close(actual, expected, atol=atol, rtol=0)


# Against PyTorch


MASKS = {
    "none": lambda b: (None, {}),
    "causal": lambda b: (causal_mask(6), {"mask": ~causal_mask(6)}),
    "padding": lambda b: (padding_mask(TOKENS[:b]), {"src_key_padding_mask": TOKENS[:b] == 0}),
    "both": lambda b: (
        padding_mask(TOKENS[:b]) & causal_mask(6),
        {"mask": ~causal_mask(6), "src_key_padding_mask": TOKENS[:b] == 0},
    ),
}
every_kind = pytest.mark.parametrize(
    "kind",
    [
        dict(norm="post", activation="relu"),
        dict(norm="post", activation="gelu", eps=0.1),
        dict(norm="pre", activation="relu", final_norm=True, eps=0.1),
        dict(norm="pre", activation="gelu"),
        dict(norm="pre", activation="gelu", bias=False),
        dict(norm="post", activation="relu", bias=False),
    ],
    ids=lambda kind: "-".join(f"{value}" for value in kind.values()),
)
every_mask = pytest.mark.parametrize("mask_name", MASKS)


def weights_of(theirs, x, mask=None, src_key_padding_mask=None):
    """The weights (b, h, q, k) of each layer of PyTorch's encoder, which does not return them itself."""
    weights = []
    for layer in theirs.layers:
        X = layer.norm1(x) if layer.norm_first else x
        masks = dict(attn_mask=mask, key_padding_mask=src_key_padding_mask)
        weights.append(layer.self_attn(X, X, X, **masks, need_weights=True, average_attn_weights=False)[1])
        x = layer(x, mask, src_key_padding_mask)
    return weights


def gradients_of(theirs):
    """The gradients of PyTorch's encoder, under the names of ours."""
    found = {}
    for i, layer in enumerate(theirs.layers):
        attention = layer.self_attn
        named = {"attention.W_o": attention.out_proj, "norm_1.layer": layer.norm1, "norm_2.layer": layer.norm2}
        named |= {"feed_forward.W_1": layer.linear1, "feed_forward.W_2": layer.linear2}
        kinds = {"weight": attention.in_proj_weight, "bias": attention.in_proj_bias}
        for kind, packed in kinds.items():
            parts = (None,) * 3 if packed is None else packed.grad.chunk(3)
            found |= {f"blocks.{i}.attention.{name}.{kind}": part for name, part in zip(("W_q", "W_k", "W_v"), parts)}
        found |= gradients_by_name(f"blocks.{i}.", named)
    return found if theirs.norm is None else found | gradients_by_name("", {"final_norm": theirs.norm})


def gradients_by_name(prefix, modules):
    found = {}
    for name, module in modules.items():
        weight, bias = ("gamma", "beta") if "norm" in name else ("weight", "bias")
        found[f"{prefix}{name}.{weight}"] = module.weight.grad
        found[f"{prefix}{name}.{bias}"] = None if module.bias is None else module.bias.grad
    return found


@every_mask
@every_kind
@pytest.mark.parametrize("batch", [1, 3])
def test_equal_to_torch_forward_and_backward(mask_name, kind, batch):
    ours, theirs = pair(**kind)
    ours.train()
    theirs.train()
    mask, masks = MASKS[mask_name](batch)
    x, twin = draw(batch, 6, 12).requires_grad_(), draw(batch, 6, 12).requires_grad_()
    output, weights = ours(x, mask)
    expected = theirs(twin, **masks)
    close(output, expected)
    close(weights, weights_of(theirs, twin.detach(), **masks))
    upstream = draw(*output.shape, seed=9)
    output.backward(upstream)
    expected.backward(upstream)
    close(x.grad, twin.grad)
    named = gradients_of(theirs)
    assert named.keys() == dict(ours.named_parameters()).keys()
    for name, parameter in ours.named_parameters():
        if named[name] is not None:  # without a bias there is nothing to compare
            close(parameter.grad, named[name], atol=1e-9)


@every_mask
@every_kind
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@torch.no_grad()
def test_equal_to_torch_in_eval_mode_by_its_fast_path(mask_name, kind, batch, monkeypatch):
    ours, theirs = pair(**kind)
    ours.eval()
    theirs.eval()
    mask, masks = MASKS[mask_name](batch)
    x = draw(batch, 6, 12)
    output, weights = ours(x, mask)
    linear, calls = F.linear, []
    with monkeypatch.context() as patch:
        patch.setattr(F, "linear", lambda *given: calls.append(1) or linear(*given))
        expected = theirs(x, **masks)
    assert bool(calls) != kind.get("bias", True), "the fast path does a layer as a whole; without biases there is none"
    real = TOKENS[:batch] != 0 if "src_key_padding_mask" in masks else torch.ones(batch, 6, dtype=torch.bool)
    close(output[real], expected[real])  # where there is padding, the fast path gives 0
    close(weights, weights_of(theirs, x, **masks))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_dropout_falls_where_torch_drops(norm):
    """The same seed drops the same entries, as the four places come in the same order and the same shapes.

    (One sequence at a time: PyTorch lays a batch out in memory as (n, b, d), so it draws in another order.)
    """
    ours, theirs = pair(norm=norm, dropout=0.3)
    torch.manual_seed(7)
    output, _ = ours(draw(1, 6, 12), causal_mask(6))
    torch.manual_seed(7)
    close(output, theirs(draw(1, 6, 12), mask=~causal_mask(6)))


def test_a_single_block_loads_too_and_keeps_its_own_copy():
    torch.manual_seed(0)
    theirs = nn.TransformerEncoderLayer(12, 2, 20, 0.0, batch_first=True, dtype=torch.float64)
    ours, x = load(EncoderBlock(**SIZES, norm="post"), theirs), draw(2, 5, 12)
    expected = theirs(x).detach()
    for parameter in theirs.parameters():
        nn.init.zeros_(parameter)
    close(ours(x)[0], expected)


@pytest.mark.parametrize("activation", [nn.ReLU(), nn.GELU(), torch.relu, lambda x: x.clamp(min=0)])
def test_activations_are_known_by_what_they_do(activation):
    theirs = nn.TransformerEncoderLayer(12, 2, 20, activation=activation, batch_first=True)
    name = "gelu" if isinstance(activation, nn.GELU) else "relu"
    load(EncoderBlock(**SIZES, norm="post", activation=name), theirs)
    with pytest.raises(ValueError, match="make them equal"):
        load(EncoderBlock(**SIZES, norm="post", activation="relu" if name == "gelu" else "gelu"), theirs)


def layer(d_model=12, num_heads=2, d_ff=20, **options):
    return nn.TransformerEncoderLayer(d_model, num_heads, d_ff, batch_first=True, **options)


def stack(num_layers, last=None):
    return nn.TransformerEncoder(layer(), num_layers, last, enable_nested_tensor=False)


REFUSED = [
    (layer(d_model=16), "(12, 2, True) here and (16, 2, True)"),
    (layer(num_heads=3), "(12, 2, True) here and (12, 3, True)"),
    (layer(d_ff=24), "(20, 'post', 'relu') here and (24, 'post', 'relu')"),
    (layer(norm_first=True), "(20, 'pre', 'relu') in"),
    (layer(activation=F.gelu), "(20, 'post', 'gelu') in"),
    (layer(activation=F.relu6), "relu6"),
    (layer(activation=nn.GELU("tanh")), "GELU(approximate='tanh')"),
    (nn.TransformerDecoderLayer(12, 2, 20), "cannot load a TransformerDecoderLayer"),
]


@pytest.mark.parametrize("theirs, said", REFUSED, ids=[said for _, said in REFUSED])
def test_a_block_names_what_it_cannot_load(theirs, said):
    with pytest.raises(ValueError) as caught:
        load(EncoderBlock(**SIZES, norm="post"), theirs)
    assert said in str(caught.value)


def test_a_block_without_feed_forward_layer_cannot_load_one():
    with pytest.raises(ValueError, match="feed-forward layer None cannot load a TransformerEncoderLayer"):
        load(EncoderBlock(d_model=12, num_heads=2, d_ff=None, norm="post"), layer())


# Good in every part but the last that is looked at
NEARLY = {
    "block": (lambda: EncoderBlock(**SIZES, norm="post"), lambda: with_norm(layer(), norm2=nn.LayerNorm(11))),
    "stack": (
        lambda: Encoder(num_layers=2, **SIZES, norm="post", final_norm=True),
        lambda: with_norm(stack(2), norm=nn.RMSNorm(12)),
    ),
}


def with_norm(module, **norms):
    for name, norm in norms.items():
        setattr(module, name, norm)
    return module


@pytest.mark.parametrize("kind", NEARLY)
def test_what_cannot_be_loaded_leaves_every_weight(kind):
    ours, theirs = (make() for make in NEARLY[kind])
    before = {name: parameter.detach().clone() for name, parameter in ours.named_parameters()}
    with pytest.raises(ValueError, match="Norm"):
        load(ours, theirs)
    for name, parameter in ours.named_parameters():
        assert torch.equal(parameter, before[name]), name


def test_an_optimiser_from_before_loading_goes_on_training_the_stack():
    ours, theirs = Encoder(num_layers=2, **SIZES, norm="post"), stack(2)
    before = list(map(id, ours.parameters()))
    optimiser = torch.optim.Adam(ours.parameters())
    load(ours, theirs)
    assert list(map(id, ours.parameters())) == before
    loaded = [parameter.detach().clone() for parameter in ours.parameters()]
    x = draw(2, 6, 12).to(loaded[0])
    ours(x)[0].square().sum().backward()
    optimiser.step()
    assert not any(torch.equal(old, parameter) for old, parameter in zip(loaded, ours.parameters()))


every_norm = pytest.mark.parametrize("kind, of_torch", [(LayerNorm, nn.LayerNorm), (RMSNorm, nn.RMSNorm)])


@every_norm
@pytest.mark.parametrize("size", [1, 300, 30_000])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_norm_in_half_precision_is_right_where_torch_is(kind, of_torch, dtype, size):
    ours, theirs = kind(12).to(dtype), of_torch(12, eps=1e-5, dtype=dtype)
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    load(ours, theirs)
    x, twin = ((draw(4, 12).clamp(-2, 2) * size).to(dtype).requires_grad_() for _ in range(2))
    output, expected, upstream = ours(x), theirs(twin), draw(4, 12, seed=9).to(dtype)
    assert output.dtype == dtype
    close_enough = dict(atol=0.02, rtol=0.02)
    torch.testing.assert_close(output, expected, **close_enough)
    output.backward(upstream)
    expected.backward(upstream)
    torch.testing.assert_close(x.grad, twin.grad, **close_enough)
    torch.testing.assert_close(ours.gamma.grad, theirs.weight.grad, **close_enough)


STACKS = [
    (stack(3), "(2, False) here and (3, False)", False),
    (stack(2, nn.LayerNorm(12)), "(2, False) here and (2, True)", False),
    (stack(2), "(2, True) here and (2, False)", True),
    (stack(2, nn.RMSNorm(12)), "RMSNorm", True),
    (stack(2, nn.LayerNorm(12, elementwise_affine=False)), "elementwise_affine=False", True),
    (stack(2, nn.LayerNorm((6, 12))), "(6, 12)", True),
]


@pytest.mark.parametrize("theirs, said, final_norm", STACKS, ids=[said for _, said, _ in STACKS])
def test_an_encoder_names_what_it_cannot_load(theirs, said, final_norm):
    with pytest.raises(ValueError) as caught:
        load(Encoder(num_layers=2, **SIZES, norm="post", final_norm=final_norm), theirs)
    assert said in str(caught.value)


def test_parameters_of_the_paper_s_base_encoder():
    """Vaswani et al. 2017, table 3: N = 6, d_model = 512, h = 8, d_ff = 2048."""
    attention = 4 * (512 * 512 + 512)
    feed_forward = 512 * 2048 + 2048 + 2048 * 512 + 512
    by_hand = 6 * (attention + feed_forward + 2 * 2 * 512)
    with torch.device("meta"):  # shapes without numbers
        ours = Encoder(d_model=512, num_heads=8, num_layers=6, d_ff=2048, norm="post")
        theirs = nn.TransformerEncoder(nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True), 6)
    assert [sum(p.numel() for p in encoder.parameters()) for encoder in (ours, theirs)] == [by_hand] * 2
    assert by_hand == 18_914_304


# Norms and feed-forward layers


@every_norm
@given(
    d_model=st.integers(2, 64),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    eps=st.sampled_from([1e-5, 0.1, None]),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_a_norm_is_torch_s(kind, of_torch, d_model, scale, eps, seed):
    """An RMSNorm of PyTorch without an eps takes the smallest step of its dtype; a LayerNorm has one."""
    theirs = of_torch(d_model, 1e-5 if eps is None and kind is LayerNorm else eps, dtype=torch.float64)
    for number, parameter in enumerate(theirs.parameters(), start=1):
        parameter.data = draw(d_model, seed=seed + 100 * number)
    ours = load(kind(d_model).double(), theirs)
    x, twin = (((draw(3, 2, d_model, seed=seed) + 1) * scale).requires_grad_() for _ in range(2))
    output, expected, upstream = ours(x), theirs(twin), draw(3, 2, d_model, seed=seed + 1)
    close(output, expected)
    output.backward(upstream)
    expected.backward(upstream)
    torch.testing.assert_close(x.grad, twin.grad, rtol=1e-8, atol=1e-10)
    close([one.grad for one in ours.parameters()], [one.grad for one in theirs.parameters()])


def test_layer_norm_gives_mean_0_and_deviation_1():
    x = LayerNorm(512)(5 + 3 * torch.randn(4, 512, generator=torch.Generator().manual_seed(0)))
    close(x.mean(-1), torch.zeros(4), atol=1e-5)
    close(x.std(-1, correction=0), torch.ones(4), atol=1e-5)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_feed_forward_is_its_equation_at_every_position(activation):
    torch.manual_seed(0)
    layer, x = FeedForward(d_model=6, d_ff=10, activation=activation).double(), draw(2, 5, 6)
    (W_1, b_1), (W_2, b_2) = ((W.weight.T, W.bias) for W in (layer.W_1, layer.W_2))
    for b, n in [(0, 0), (1, 4)]:
        hidden = x[b, n] @ W_1 + b_1
        phi = (1 + torch.erf(hidden / math.sqrt(2))) / 2  # the normal distribution up to each value
        hidden = hidden * (phi if activation == "gelu" else (hidden > 0))
        close(layer(x)[b, n], hidden @ W_2 + b_2, atol=1e-12)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation, of_torch", [("silu", nn.SiLU()), ("gelu", nn.GELU()), ("relu", nn.ReLU())])
def test_a_gated_feed_forward_layer_is_its_equation_forward_and_backward(activation, of_torch, bias):
    torch.manual_seed(0)
    ours = GatedFeedForward(d_model=6, d_ff=10, activation=activation, bias=bias).double()
    W_1, W_3, W_2 = theirs = [nn.Linear(a, b, bias, dtype=torch.float64) for a, b in ((6, 10), (6, 10), (10, 6))]
    for mine, linear in zip((ours.W_1, ours.W_3, ours.W_2), theirs):
        mine.load_state_dict(linear.state_dict())
    x, twin = draw(2, 5, 6).requires_grad_(), draw(2, 5, 6).requires_grad_()
    output, expected, upstream = ours(x), W_2(of_torch(W_1(twin)) * W_3(twin)), draw(2, 5, 6, seed=9)
    close(output, expected, atol=1e-12)
    output.backward(upstream)
    expected.backward(upstream)
    close(x.grad, twin.grad, atol=1e-12)
    for mine, linear in zip((ours.W_1, ours.W_3, ours.W_2), theirs):
        close([one.grad for one in mine.parameters()], [one.grad for one in linear.parameters()], atol=1e-12)


def test_layers_without_biases_are_those_whose_biases_are_0():
    without, ours = FeedForward(d_model=6, d_ff=10, bias=False).double(), FeedForward(d_model=6, d_ff=10).double()
    assert without.state_dict().keys() == {"W_1.weight", "W_2.weight"}
    ours.load_state_dict(without.state_dict(), strict=False)
    nn.init.zeros_(ours.W_1.bias)
    nn.init.zeros_(ours.W_2.bias)
    close(without(draw(2, 5, 6)), ours(draw(2, 5, 6)), atol=1e-12)


# The residual connection and the names of its norm's weights


@every_norm
def test_a_residual_connection_has_its_norm_before_or_after(kind, of_torch):
    norm, x, added = of_torch(12, eps=1e-5, dtype=torch.float64), draw(2, 5, 12), draw(2, 5, 12, seed=2)
    for parameter in norm.parameters():
        nn.init.normal_(parameter)
    pre, post = (load(ResidualNorm(12, norm=where, kind=kind).double(), norm) for where in ("pre", "post"))
    close([pre.before(x), pre.after(x, added)], [norm(x), x + added])
    close([post.before(x), post.after(x, added)], [x, norm(x + added)])


@pytest.mark.parametrize("kind, names", [(LayerNorm, ["gamma", "beta"]), (RMSNorm, ["gamma"])])
def test_files_name_the_weights_of_a_norm_as_those_of_its_residual_connection(kind, names):
    """`norm_1.gamma`, as they did when a ResidualNorm was a LayerNorm itself, alone and in a model."""
    holder = nn.ModuleDict({"norm_1": ResidualNorm(4, kind=kind), "norm_2": nn.Linear(4, 4)})
    for parameter in holder.parameters():
        nn.init.normal_(parameter)
    saved = holder.state_dict()
    assert list(saved) == [*(f"norm_1.{name}" for name in names), "norm_2.weight", "norm_2.bias"]
    assert list(holder["norm_1"].state_dict()) == names
    by_parameter = {name: parameter.detach() for name, parameter in holder.named_parameters()}
    for weights in (saved, by_parameter):
        other = nn.ModuleDict({"norm_1": ResidualNorm(4, kind=kind), "norm_2": nn.Linear(4, 4)})
        other.load_state_dict(weights)
        assert all(map(torch.equal, other.parameters(), holder.parameters()))
    assert all(getattr(holder["norm_1"], name) is getattr(holder["norm_1"].layer, name) for name in names)
    with pytest.raises(RuntimeError, match=r"Missing key.*norm_1\.layer\.gamma"):
        other.load_state_dict({name: value for name, value in saved.items() if name != "norm_1.gamma"})


# Positions


@given(n=st.integers(1, 40), d_model=st.integers(1, 33), base=st.sampled_from([10000.0, 100.0]))
@settings(max_examples=40, deadline=None)
def test_positions_are_the_equation(n, d_model, base):
    expected = torch.zeros(n, d_model)
    for p in range(n):
        for column in range(d_model):
            angle = p / base ** ((column - column % 2) / d_model)
            expected[p, column] = math.cos(angle) if column % 2 else math.sin(angle)
    close(sinusoidal_positions(n, d_model, base), expected, atol=1e-6)
    layer = PositionalEncoding(d_model=d_model, max_len=n + 3)
    if base == 10000.0:
        close(layer(torch.ones(2, n, d_model)), 1 + expected.expand(2, n, d_model), atol=1e-6)


def test_positions_far_out_are_as_exact_as_near_ones():
    exact = torch.tensor([math.sin(90_001 / 10000 ** (i / 6)) for i in (0, 2, 4)])
    close(sinusoidal_positions(90_002, 6)[-1, 0::2], exact, atol=1e-6)


def test_a_shift_is_a_rotation():
    """PE(p + k) = PE(p) R, where R depends on k but not on p."""
    table, shift = sinusoidal_positions(60, 8).double(), 7
    R = torch.zeros(8, 8, dtype=torch.float64)
    for i in range(0, 8, 2):
        angle = torch.tensor(shift / 10000 ** (i / 8), dtype=torch.float64)
        cos, sin = angle.cos(), angle.sin()
        R[i : i + 2, i : i + 2] = torch.stack([torch.stack([cos, -sin]), torch.stack([sin, cos])])
    close(table[:-shift] @ R, table[shift:], atol=1e-6)
    close(table @ table[4], (table * table[4]).sum(-1))
    assert table[4] @ table[5] > table[4] @ table[17]


@pytest.mark.parametrize("kind", [PositionalEncoding, LearnedPositions])
def test_positions_refuse_what_they_have_no_room_for(kind):
    layer = kind(d_model=6, max_len=5)
    assert layer(torch.zeros(2, 5, 6)).shape == layer(torch.zeros(1, 2, 5, 6))[0].shape == (2, 5, 6)
    for shape in [(2, 6, 6), (2, 5, 1), (6,)]:
        with pytest.raises(ValueError) as caught:
            layer(torch.zeros(shape))
        assert f"x {shape} must be (…, n, 6) with n at most max_len = 5: " in str(caught.value)


def test_sine_positions_move_but_are_not_stored_and_learned_ones_are():
    sine, learned = PositionalEncoding(d_model=6, max_len=5), LearnedPositions(d_model=6, max_len=5)
    assert sine.state_dict() == {} and not list(sine.parameters())
    assert sine.double()(draw(5, 6)).dtype == torch.float64 and sine.to("meta").table.is_meta
    assert list(learned.state_dict()) == ["table"] and not list(learned.buffers())
    learned(torch.zeros(2, 3, 6)).sum().backward()
    close(learned.table.grad, torch.tensor([2.0, 2, 2, 0, 0])[:, None].expand(5, 6))


@pytest.mark.parametrize("positions", ["sine", "learned", None])
def test_without_positions_a_permutation_of_the_input_permutes_the_output(positions):
    torch.manual_seed(0)
    tagger, order = (
        Tagger(9, num_tags=4, d_model=12, num_heads=2, num_layers=2, d_ff=20, positions=positions).double().eval(),
        torch.tensor([3, 5, 0, 2, 4, 1]),
    )
    tokens = torch.tensor([[5, 3, 8, 2, 7, 1]])
    same = torch.allclose(tagger(tokens[:, order])[0], tagger(tokens)[0][:, order], atol=1e-10)
    assert same == (positions is None)


# Masks


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_a_causal_encoder_leaks_nothing_in_either_mode(norm, dropout):
    torch.manual_seed(0)
    encoder = Encoder(num_layers=3, **SIZES, dropout=dropout, norm=norm, final_norm=True).double()
    moved = causality_probe(Masked(encoder, causal_mask(6)), draw(2, 6, 12))
    assert leaks(moved) == []
    assert all((found == causal_mask(6)).all() for found in moved.values()), "the past must have an influence"
    assert leaks(causality_probe(encoder, draw(2, 6, 12))), "without the mask, the probe must find something"


class Masked(nn.Module):
    """An encoder that is given its mask with every call."""

    def __init__(self, encoder, mask):
        super().__init__()
        self.encoder, self.mask = encoder, mask

    def forward(self, x):
        return self.encoder(x, self.mask)


@pytest.mark.parametrize("causal", [True, False])
def test_a_causal_tagger_leaks_nothing(causal):
    torch.manual_seed(0)
    tagger = Tagger(10, num_tags=4, d_model=12, num_heads=2, num_layers=2, d_ff=20, causal=causal, dropout=0.3)
    assert bool(leaks(causality_probe(tagger, TOKENS))) != causal
    masked = tagger.eval()(TOKENS, padding_mask(TOKENS))[1]
    seen = padding_mask(TOKENS) & (causal_mask(6) if causal else torch.ones(6, 6, dtype=torch.bool))
    for weights in masked:
        assert torch.equal(weights > 0, seen.expand(3, 2, 6, 6)), "given masks and the causal one hold together"


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_more_padding_changes_nothing(norm, training):
    torch.manual_seed(0)
    tagger = Tagger(10, num_tags=4, d_model=12, num_heads=2, num_layers=3, d_ff=20, norm=norm).double().train(training)
    output, weights = tagger(TOKENS, padding_mask(TOKENS))
    longer = F.pad(TOKENS, (0, 4))
    padded_output, padded_weights = tagger(longer, padding_mask(longer))
    real = TOKENS != 0
    close(padded_output[:, :6][real], output[real])
    assert len(weights) == len(padded_weights) == 3
    for layer, padded in zip(weights, padded_weights):
        close(padded[..., :6, :6], layer)
        assert (padded.movedim(-1, 1)[longer == 0] == 0).all(), "no query attends to padding, in any layer"
        assert (layer.movedim(-1, 1)[real] > 0).all()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_rows_that_may_attend_to_nothing_stay_finite(norm):
    torch.manual_seed(0)
    encoder, x = Encoder(num_layers=2, **SIZES, norm=norm), torch.randn(3, 6, 12, requires_grad=True)
    mask = padding_mask(TOKENS) & causal_mask(6)
    mask = mask.clone()
    mask[1] = False  # a sentence of padding alone
    mask[2, :, 3] = False  # one query
    output, weights = encoder(x, mask)
    output.square().sum().backward()
    assert output.isfinite().all() and all(w.isfinite().all() for w in weights)
    assert all(p.grad.isfinite().all() for p in [x, *encoder.parameters()])


def test_without_a_batch_and_with_more_leading_axes():
    ours, _ = pair(norm="pre", final_norm=True)
    x = draw(2, 4, 6, 12)
    output, weights = ours(x, causal_mask(6))
    assert output.shape == x.shape and [w.shape for w in weights] == [(2, 4, 2, 6, 6)] * 3
    close(ours(x[1, 2], causal_mask(6))[0], output[1, 2])


# Modes, options, storage


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_dropout_in_training_only(norm):
    torch.manual_seed(0)
    encoder, x = Encoder(num_layers=2, **SIZES, dropout=0.5, norm=norm), torch.randn(2, 6, 12)
    assert not torch.allclose(encoder(x)[0], encoder(x)[0])
    encoder.eval()
    assert torch.equal(encoder(x)[0], encoder(x)[0])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_without_the_feed_forward_layer_a_block_is_attention_alone(norm):
    torch.manual_seed(0)
    block, x = EncoderBlock(d_model=12, num_heads=2, d_ff=None, norm=norm).double(), draw(2, 6, 12)
    normed = block.norm_1(x)
    alone = x + block.attention(normed)[0] if norm == "pre" else block.norm_1(x + block.attention(x)[0])
    close(block(x)[0], alone)
    count = sum(p.numel() for p in Encoder(d_model=12, num_heads=2, num_layers=2, d_ff=None, norm=norm).parameters())
    assert count == 2 * (4 * (12 * 12 + 12) + 2 * 12)


@pytest.mark.parametrize("positions", ["sine", "learned", None])
def test_state_dicts_save_and_load_with_weights_only(positions, tmp_path):
    torch.manual_seed(0)
    tagger, other = (
        Tagger(10, num_tags=4, d_model=12, num_heads=2, num_layers=2, d_ff=20, positions=positions) for _ in range(2)
    )
    assert not torch.allclose(other(TOKENS)[0], tagger(TOKENS)[0])
    torch.save(tagger.state_dict(), tmp_path / "tagger.pt")
    other.load_state_dict(torch.load(tmp_path / "tagger.pt", weights_only=True))
    assert torch.equal(other(TOKENS)[0], tagger(TOKENS)[0])


@pytest.mark.parametrize("norm, kind", [("pre", LayerNorm), ("post", nn.Identity)])
def test_a_tagger_is_its_parts(norm, kind):
    torch.manual_seed(0)
    tagger, mask = (
        Tagger(10, num_tags=4, d_model=12, num_heads=2, num_layers=2, d_ff=20, norm=norm, dropout=0.3).eval(),
        padding_mask(TOKENS),
    )
    x = tagger.embedding.vectors.weight[TOKENS] + sinusoidal_positions(6, 12)
    x, weights = tagger.encoder(x, mask)
    logits, same_weights = tagger(TOKENS, mask)
    close(logits, x @ tagger.to_logits.weight.T + tagger.to_logits.bias, atol=1e-6)
    assert logits.shape == (3, 6, 4) and all(map(torch.equal, weights, same_weights))
    assert type(tagger.encoder.final_norm) is kind
    norms = [one for block in tagger.encoder.blocks for one in (block.norm_1, block.norm_2)]
    assert {(one.norm, one.dropout.p) for one in norms} == {(norm, 0.3)}


# Refusals

WRONG = {
    "n 0 and d_model 4": lambda: sinusoidal_positions(0, 4),
    "n 4 and d_model 0": lambda: sinusoidal_positions(4, 0),
    "base -1": lambda: sinusoidal_positions(4, 4, -1),
    "base nan must be above 0": lambda: sinusoidal_positions(4, 4, math.nan),
    "x (2, 1) must end in 4": lambda: LayerNorm(4)(torch.zeros(2, 1)),
    "d_model 4 and d_ff 0 must": lambda: FeedForward(d_model=4, d_ff=0),
    "n 4 and d_model 2.5 must be whole numbers": lambda: sinusoidal_positions(4, 2.5),
    "d_model 4.0 must be whole numbers": lambda: LayerNorm(4.0),
    "x (2, 1) must end in 5": lambda: RMSNorm(5)(torch.zeros(2, 1)),
    "d_model 0 must be at least 1": lambda: RMSNorm(0),
    "activation 'swiglu' is unknown": lambda: GatedFeedForward(d_model=4, d_ff=8, activation="swiglu"),
    "x (2, 6) must be (…, positions, 4)": lambda: GatedFeedForward(d_model=4, d_ff=8)(torch.zeros(2, 6)),
    "x is of the type list": lambda: LayerNorm(4)([0.0] * 4),
    "x is None": lambda: PositionalEncoding(d_model=4, max_len=6)(None),
    "x holds torch.float64, the weights torch.float32": lambda: FeedForward(d_model=4, d_ff=8)(
        torch.zeros(2, 4).double()
    ),
    "tokens is of the type list": lambda: Tagger(9, num_tags=4, d_model=4, num_heads=2, num_layers=1, d_ff=8)([[1, 2]]),
    "activation 'tanh' is unknown; there are relu, gelu": lambda: FeedForward(d_model=4, d_ff=8, activation="tanh"),
    "x (2, 5) must be (…, positions, 4)": lambda: FeedForward(d_model=4, d_ff=8)(torch.zeros(2, 5)),
    "norm 'middle' is unknown; there are pre, post": lambda: EncoderBlock(
        d_model=4, num_heads=2, d_ff=8, norm="middle"
    ),
    "d_model = 5 cannot be shared by num_heads = 2": lambda: Encoder(d_model=5, num_heads=2, num_layers=1, d_ff=8),
    "d_ff 0 must": lambda: Encoder(d_model=4, num_heads=2, num_layers=1, d_ff=0),
    "num_layers 0 must be at least 1": lambda: Encoder(d_model=4, num_heads=2, num_layers=0, d_ff=8),
    "x (2, 3, 5) must end in 4": lambda: Encoder(d_model=4, num_heads=2, num_layers=1, d_ff=8)(torch.zeros(2, 3, 5)),
    "query (2, 3, 5) must be (…, positions, 4)": lambda: Encoder(
        d_model=4, num_heads=2, num_layers=1, d_ff=8, norm="post"
    )(torch.zeros(2, 3, 5)),
    "torch.int64; it must be boolean": lambda: Encoder(d_model=4, num_heads=2, num_layers=1, d_ff=8)(
        torch.zeros(2, 3, 4), torch.ones(3, 3).long()
    ),
    "positions 'cosine' is unknown; there are sine, learned, None": lambda: Tagger(
        9, num_tags=4, d_model=4, num_heads=2, num_layers=1, d_ff=8, positions="cosine"
    ),
    "the mask has dtype torch.float32; it must be boolean": lambda: Tagger(
        9, num_tags=4, d_model=4, num_heads=2, num_layers=1, d_ff=8, causal=True
    )(torch.tensor([[1, 2]]), torch.ones(2, 2)),
    "not (1, 2) of torch.uint8": lambda: Tagger(9, num_tags=4, d_model=4, num_heads=2, num_layers=1, d_ff=8)(
        torch.tensor([[1, 2]], dtype=torch.uint8)
    ),
    "not (3,) of torch.int64": lambda: Tagger(9, num_tags=4, d_model=4, num_heads=2, num_layers=1, d_ff=8)(
        torch.tensor([1, 2, 3])
    ),
    "not (1, 2) of torch.float32": lambda: Tagger(9, num_tags=4, d_model=4, num_heads=2, num_layers=1, d_ff=8)(
        torch.tensor([[1.0, 2.0]])
    ),
    "token ids from 1 to 9 must lie between 0 and 8": lambda: Tagger(
        9, num_tags=4, d_model=4, num_heads=2, num_layers=1, d_ff=8
    )(torch.tensor([[1, 9]])),
    "token ids from -1 to 2 must": lambda: Tagger(9, num_tags=4, d_model=4, num_heads=2, num_layers=1, d_ff=8)(
        torch.tensor([[-1, 2]])
    ),
    "at most max_len = 2": lambda: Tagger(9, num_tags=4, d_model=4, num_heads=2, num_layers=1, d_ff=8, max_len=2)(
        torch.tensor([[1, 2, 3]])
    ),
}


@pytest.mark.parametrize("said", WRONG)
def test_bad_input_is_named(said):
    with pytest.raises(ValueError) as caught:
        WRONG[said]()
    assert said in str(caught.value)
