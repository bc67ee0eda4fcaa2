"""The weights of PyTorch's layers for ours, so that the two can be compared."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from .transformer import ACTIVATIONS

Changes = list[tuple[nn.Module, str, object]]  # (layer, name of the attribute, its new content)


def load(ours: nn.Module, theirs: nn.Module) -> nn.Module:
    """Copy the weights of PyTorch's layer into ours, and return ours.

    MultiHeadAttention and CachedAttention take them from nn.MultiheadAttention, EncoderBlock from
    nn.TransformerEncoderLayer, Encoder from nn.TransformerEncoder, DecoderBlock and Decoder likewise,
    TransformerTranslator its two stacks from nn.Transformer, LayerNorm from nn.LayerNorm, RMSNorm from nn.RMSNorm,
    ResidualNorm from the one of these that it has, ElmanCell from nn.RNN. Rates of dropout are not copied.
    ValueError where kind, sizes, norm or activation differ; then nothing is copied."""
    kinds = [kind.__name__ for kind in type(ours).__mro__]  # by name, for notebooks define these layers once more
    name = next((kind for kind in kinds if kind in CHANGES), None)
    if name is None:
        raise ValueError(f"{kinds[0]} has no counterpart in PyTorch; these have: {', '.join(CHANGES)}")
    put(CHANGES[name](ours, theirs))
    return ours


@torch.no_grad()
def put(changes: Changes) -> None:
    """Make each change. A parameter gets the numbers, shape and dtype of the new one and stays the same object, so that
    an optimiser which holds it goes on training it; anything else is replaced."""
    for layer, name, new in changes:
        old = getattr(layer, name)
        if not isinstance(old, nn.Parameter):
            setattr(layer, name, new)
        elif (old.shape, old.dtype) == (new.shape, new.dtype):
            old.copy_(new)
        else:
            old.data = new.to(old.device, copy=True)


def of_multi_head(ours: nn.Module, theirs: nn.MultiheadAttention, bias: bool | None = None) -> Changes:
    """PyTorch packs W_q, W_k and W_v into one matrix, and keeps them apart where keys or values have sizes of their own
    (kdim, vdim), which ours then takes over. bias True: missing biases are loaded as 0."""
    if not isinstance(theirs, nn.MultiheadAttention):
        raise ValueError(f"{type(theirs).__name__} is not an nn.MultiheadAttention")
    bias = theirs.in_proj_bias is not None if bias is None else bias
    if getattr(ours, "num_kv_heads", ours.num_heads) != ours.num_heads or getattr(ours, "rotary", None):
        raise ValueError("PyTorch's layer has neither fewer heads of keys and values nor rotary positions")
    here = (ours.W_q.in_features, ours.num_heads, ours.W_q.bias is not None)
    there = (theirs.embed_dim, theirs.num_heads, bias)
    if here != there or theirs.bias_k is not None or theirs.add_zero_attn:
        raise ValueError(
            f"d_model, num_heads and bias are {here} here and {there} in PyTorch's layer; they must be equal, "
            "and its add_bias_kv and add_zero_attn off"
        )
    apart = (theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight)
    weights = apart if theirs.in_proj_weight is None else theirs.in_proj_weight.chunk(3)
    linears = (ours.W_q, ours.W_k, ours.W_v, ours.W_o)
    sources = (*weights, theirs.out_proj.weight)
    changes = [(linear, "weight", weight) for linear, weight in zip(linears, sources)]
    changes += [(linear, "in_features", weight.shape[1]) for linear, weight in zip(linears, sources)]
    if bias:
        packed = weights[0].new_zeros(3 * len(weights[0])) if theirs.in_proj_bias is None else theirs.in_proj_bias
        biases = (*packed.chunk(3), bias_or_zeros(theirs.out_proj))
        changes += [(linear, "bias", b) for linear, b in zip(linears, biases)]
    return changes


def of_norm(ours: nn.Module, theirs: nn.LayerNorm | nn.RMSNorm) -> Changes:
    """ValueError unless both are layer norms, or both RMSNorms, and theirs has a weight of the same width."""
    ours = getattr(ours, "layer", ours)  # that of a ResidualNorm
    kind = nn.LayerNorm if hasattr(ours, "beta") else nn.RMSNorm
    if not isinstance(theirs, kind) or theirs.weight is None or theirs.weight.shape != ours.gamma.shape:
        raise ValueError(f"{theirs} is not an nn.{kind.__name__} with a weight for d_model = {len(ours.gamma)}")
    eps = torch.finfo(theirs.weight.dtype).eps if theirs.eps is None else theirs.eps
    changes = [(ours, "gamma", theirs.weight), (ours, "eps", eps)]
    return changes + [(ours, "beta", bias_or_zeros(theirs))] if kind is nn.LayerNorm else changes


def of_block(ours: nn.Module, theirs: nn.TransformerEncoderLayer) -> Changes:
    """Biases that PyTorch's layer lacks are 0 here."""
    return of_sublayers(ours, theirs, nn.TransformerEncoderLayer, {"attention": "self_attn"})


def of_decoder_block(ours: nn.Module, theirs: nn.TransformerDecoderLayer) -> Changes:
    if ours.cross_attention is None:
        raise ValueError("PyTorch's layer attends to a memory, ours does not: cross=True")
    attentions = {"attention": "self_attn", "cross_attention": "multihead_attn"}
    return of_sublayers(ours, theirs, nn.TransformerDecoderLayer, attentions)


def of_sublayers(ours: nn.Module, theirs: nn.Module, kind: type, attentions: dict[str, str]) -> Changes:
    """The attentions, given by our name and PyTorch's, the feed-forward layer, and the norm of each of these."""
    feed_forward = ours.feed_forward
    if not isinstance(theirs, kind) or feed_forward is None or hasattr(feed_forward, "W_3"):
        raise ValueError(f"a block with feed-forward layer {feed_forward} cannot load a {type(theirs).__name__}")
    has_bias = feed_forward.W_1.bias is not None
    if theirs.linear1.bias is not None and not has_bias:
        raise ValueError("PyTorch's layer has biases, the block has none: give both the same bias")
    here = (feed_forward.W_1.out_features, ours.norm_1.norm, feed_forward.activation)
    activation = activation_name(theirs.activation, theirs.linear1.weight.dtype, theirs.linear1.weight.device)
    there = (theirs.linear1.out_features, "pre" if theirs.norm_first else "post", activation)
    if here != there:
        raise ValueError(f"d_ff, norm, activation are {here} here and {there} in PyTorch's layer; make them equal")
    linears = ((feed_forward.W_1, theirs.linear1), (feed_forward.W_2, theirs.linear2))
    changes = [(mine, "weight", linear.weight) for mine, linear in linears]
    changes += [(mine, "bias", bias_or_zeros(linear)) for mine, linear in linears if has_bias]
    for mine, name in attentions.items():
        changes += of_multi_head(getattr(ours, mine), getattr(theirs, name), bias=has_bias or None)
    for i in range(1, len(attentions) + 2):
        changes += of_norm(getattr(ours, f"norm_{i}"), getattr(theirs, f"norm{i}"))
    return changes


@torch.no_grad()
def activation_name(f: Callable[[Tensor], Tensor], dtype: torch.dtype, device: torch.device | None = None) -> object:
    """The key of ACTIVATIONS that computes what f does (PyTorch may hold a function or a module), or f."""
    probe = torch.linspace(-9, 9, 99, dtype=dtype, device=device)
    for name, ours in ACTIVATIONS.items():
        if torch.equal(ours(probe), f(probe.clone())):  # f may work in place
            return name
    return f


def of_stack(ours: nn.Module, theirs: nn.Module, kind: type, of_one: Callable) -> Changes:
    """Block by block, and the norm after the last."""
    if not isinstance(theirs, kind):
        raise ValueError(f"{type(theirs).__name__} is not an nn.{kind.__name__}")
    here = (len(ours.blocks), not isinstance(ours.final_norm, nn.Identity))
    there = (len(theirs.layers), theirs.norm is not None)
    if here != there:
        raise ValueError(f"num_layers and final_norm are {here} here and {there} in PyTorch's stack; make them equal")
    changes = [change for pair in zip(ours.blocks, theirs.layers) for change in of_one(*pair)]
    return changes if theirs.norm is None else changes + of_norm(ours.final_norm, theirs.norm)


of_encoder = partial(of_stack, kind=nn.TransformerEncoder, of_one=of_block)
of_decoder = partial(of_stack, kind=nn.TransformerDecoder, of_one=of_decoder_block)


def of_translator(ours: nn.Module, theirs: nn.Transformer) -> Changes:
    """Its stacks end in a norm, even where the blocks have norm "post"; ours do with final_norm=True."""
    if not isinstance(theirs, nn.Transformer):
        raise ValueError(f"{type(theirs).__name__} is not an nn.Transformer")
    return of_encoder(ours.encoder.encoder, theirs.encoder) + of_decoder(ours.language_model.decoder, theirs.decoder)


def of_elman(ours: nn.Module, theirs: nn.RNN) -> Changes:
    """PyTorch keeps its matrices transposed, and two biases, of which only the sum counts."""
    sizes = tuple(ours.W.shape)
    fits = isinstance(theirs, nn.RNN) and (theirs.input_size, theirs.hidden_size) == sizes
    if not fits or theirs.num_layers != 1 or theirs.bidirectional or theirs.nonlinearity != "tanh":
        raise ValueError(f"{theirs} must be an nn.RNN{sizes} with one layer, one direction and tanh")
    bias = theirs.bias_ih_l0 + theirs.bias_hh_l0 if theirs.bias else theirs.weight_hh_l0.new_zeros(sizes[1])
    return [(ours, "W", theirs.weight_ih_l0.T), (ours, "U", theirs.weight_hh_l0.T), (ours, "bias", bias)]


def bias_or_zeros(layer: nn.Module) -> Tensor:
    """The bias of a layer, or zeros where it has none."""
    return layer.weight.new_zeros(len(layer.weight)) if layer.bias is None else layer.bias


CHANGES = {
    "MultiHeadAttention": of_multi_head,
    "CachedAttention": of_multi_head,
    "LayerNorm": of_norm,
    "RMSNorm": of_norm,
    "ResidualNorm": of_norm,
    "EncoderBlock": of_block,
    "Encoder": of_encoder,
    "DecoderBlock": of_decoder_block,
    "Decoder": of_decoder,
    "TransformerTranslator": of_translator,
    "ElmanCell": of_elman,
}
