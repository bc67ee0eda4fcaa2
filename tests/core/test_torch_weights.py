"""utils/torch_weights.py: which layer takes which weights. What is copied is tested beside each layer."""

import pytest
import torch
from torch import nn

from utils import attention, decoder, rnn, torch_weights, transformer
from utils.torch_weights import load


def block():
    return nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)


def decoder_block():
    return nn.TransformerDecoderLayer(4, 2, 8, batch_first=True)


def translator():
    torch.manual_seed(0)  # for embedding and output layer, which PyTorch's lacks
    sizes = dict(d_model=4, num_heads=2, d_ff=8, num_layers=1, norm="post", final_norm=True)
    return decoder.TransformerTranslator(
        decoder.TokenEncoder(5, **sizes), decoder.LanguageModel(5, **sizes, cross=True)
    )


PAIRS = {
    "MultiHeadAttention": (
        lambda: attention.MultiHeadAttention(d_model=4, num_heads=2),
        lambda: nn.MultiheadAttention(4, 2),
    ),
    "CachedAttention": (
        lambda: decoder.CachedAttention(d_model=4, num_heads=2),
        lambda: nn.MultiheadAttention(4, 2),
    ),
    "LayerNorm": (lambda: transformer.LayerNorm(4), lambda: nn.LayerNorm(4)),
    "RMSNorm": (lambda: transformer.RMSNorm(4), lambda: nn.RMSNorm(4)),
    "ResidualNorm": (lambda: transformer.ResidualNorm(4), lambda: nn.LayerNorm(4)),
    "EncoderBlock": (lambda: transformer.EncoderBlock(d_model=4, num_heads=2, d_ff=8, norm="post"), block),
    "Encoder": (
        lambda: transformer.Encoder(d_model=4, num_heads=2, num_layers=2, d_ff=8, norm="post"),
        lambda: nn.TransformerEncoder(block(), 2, enable_nested_tensor=False),
    ),
    "DecoderBlock": (lambda: decoder.DecoderBlock(d_model=4, num_heads=2, d_ff=8, norm="post"), decoder_block),
    "Decoder": (
        lambda: decoder.Decoder(d_model=4, num_heads=2, num_layers=2, d_ff=8, norm="post"),
        lambda: nn.TransformerDecoder(decoder_block(), 2),
    ),
    "TransformerTranslator": (translator, lambda: nn.Transformer(4, 2, 1, 1, 8, batch_first=True)),
    "ElmanCell": (lambda: rnn.ElmanCell(d_in=4, d_hidden=2), lambda: nn.RNN(4, 2)),
}


def test_every_layer_in_the_table_is_tried():
    assert PAIRS.keys() == torch_weights.CHANGES.keys()


@pytest.mark.parametrize("name", PAIRS)
def test_a_layer_defined_once_more_or_derived_loads_as_the_first(name):
    """As in a notebook, whose cells define the classes of utils/ anew."""
    ours, theirs = (make() for make in PAIRS[name])
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    assert load(ours, theirs) is ours
    again, _ = (make() for make in PAIRS[name])
    again.__class__ = type(name, (nn.Module,), dict(vars(type(ours))))  # the same name, another class
    derived, _ = (make() for make in PAIRS[name])
    derived.__class__ = type("Mine", (type(ours),), {})
    for twin in (load(again, theirs), load(derived, theirs)):
        assert all(map(torch.equal, twin.parameters(), ours.parameters()))


@pytest.mark.parametrize("name", PAIRS)
def test_a_layer_of_another_kind_is_refused_and_nothing_is_copied(name):
    ours = PAIRS[name][0]()
    before = [parameter.detach().clone() for parameter in ours.parameters()]
    with pytest.raises(ValueError, match="Linear"):
        load(ours, nn.Linear(4, 4))
    assert all(map(torch.equal, ours.parameters(), before))


def test_a_layer_without_a_counterpart_is_named():
    with pytest.raises(ValueError, match="FeedForward has no counterpart in PyTorch; these have: MultiHeadAttention, "):
        load(transformer.FeedForward(d_model=4, d_ff=8), nn.Linear(4, 8))


@pytest.mark.parametrize("activation", [nn.PReLU(dtype=torch.float64), nn.ReLU(inplace=True)])
def test_an_activation_is_known_by_what_it_does_in_its_own_dtype(activation):
    named = torch_weights.activation_name(activation, torch.float64)
    assert named == ("relu" if isinstance(activation, nn.ReLU) else activation)
