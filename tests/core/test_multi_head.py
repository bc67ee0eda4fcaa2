"""MultiHeadAttention against PyTorch's nn.MultiheadAttention with copied weights, and its own laws."""

import pytest
import torch
from torch import nn

from utils.attention import (
    MultiHeadAttention,
    masked_softmax_,
    scaled_dot_product_attention,
)
from utils.masks import causal_mask, padding_mask, to_torch
from utils.torch_weights import load

TOKENS = torch.tensor([[5, 3, 9, 2, 7, 1], [4, 8, 0, 0, 0, 0], [6, 1, 2, 0, 0, 0]])


def pair(d_model=12, num_heads=3, bias=True, **sizes):
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(d_model, num_heads, bias=bias, batch_first=True, dtype=torch.float64, **sizes)
    for parameter in theirs.parameters():  # PyTorch starts biases at 0, where a mistake would not show
        nn.init.normal_(parameter, std=0.3)
    return load(MultiHeadAttention(d_model=d_model, num_heads=num_heads, bias=bias).double(), theirs), theirs


def gradients(layer):
    return [parameter.grad for parameter in layer.parameters()]


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).requires_grad_()


MASKS = {
    "none": lambda b, q, k: None,
    "causal": lambda b, q, k: causal_mask(k)[-q:],
    "padding": lambda b, q, k: padding_mask(TOKENS[:b])[..., :k].expand(b, 1, q, k),
    "both": lambda b, q, k: padding_mask(TOKENS[:b])[..., :k] & causal_mask(k)[-q:],
}


@pytest.mark.parametrize("mask_name", MASKS)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("n_queries", [6, 4], ids=["self", "cross"])
@pytest.mark.parametrize("bias", [True, False])
def test_equal_to_torch_forward_and_backward(mask_name, batch, n_queries, bias):
    ours, theirs = pair(bias=bias)
    mask = MASKS[mask_name](batch, n_queries, 6)
    memory, twin_memory = draw(batch, 6, 12), draw(batch, 6, 12)
    query = memory if n_queries == 6 else draw(batch, n_queries, 12, seed=2)
    twin_query = twin_memory if n_queries == 6 else draw(batch, n_queries, 12, seed=2)
    output, weights = ours(query) if mask is None and n_queries == 6 else ours(query, memory, mask=mask)
    attn_mask = None if mask is None else to_torch(mask, 3)
    expected, expected_weights = theirs(
        twin_query, twin_memory, twin_memory, attn_mask=attn_mask, average_attn_weights=False
    )
    torch.testing.assert_close(output, expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(weights, expected_weights, atol=1e-12, rtol=0)
    upstream = draw(*output.shape, seed=9).detach()
    output.backward(upstream)
    expected.backward(upstream)
    torch.testing.assert_close(memory.grad, twin_memory.grad, atol=1e-12, rtol=0)
    torch.testing.assert_close(query.grad, twin_query.grad, atol=1e-12, rtol=0)
    theirs_packed = [theirs.in_proj_weight.grad, theirs.out_proj.weight.grad]
    mine = [torch.cat([W.weight.grad for W in (ours.W_q, ours.W_k, ours.W_v)]), ours.W_o.weight.grad]
    torch.testing.assert_close(mine, theirs_packed, atol=1e-12, rtol=0)


def test_loads_matrices_that_torch_keeps_apart():
    ours, theirs = pair(kdim=5, vdim=7)
    assert (ours.W_q.in_features, ours.W_k.in_features, ours.W_v.in_features) == (12, 5, 7)
    query, key, value = draw(2, 4, 12), draw(2, 6, 5, seed=2), draw(2, 6, 7, seed=3)
    torch.testing.assert_close(ours(query, key, value)[0], theirs(query, key, value)[0], atol=1e-12, rtol=0)


@pytest.mark.parametrize("sizes", [{}, {"kdim": 5, "vdim": 7}], ids=["packed", "apart"])
def test_an_optimiser_from_before_loading_goes_on_training_the_layer(sizes):
    ours, theirs = MultiHeadAttention(d_model=12, num_heads=3), nn.MultiheadAttention(12, 3, **sizes)
    optimiser = torch.optim.SGD(ours.parameters(), lr=0.1)
    load(ours, theirs)
    before = [parameter.detach().clone() for parameter in ours.parameters()]
    query, key, value = torch.randn(4, 12), torch.randn(6, sizes.get("kdim", 12)), torch.randn(6, sizes.get("vdim", 12))
    ours(query, key, value)[0].square().sum().backward()
    optimiser.step()
    for old, parameter in zip(before, ours.parameters()):
        torch.testing.assert_close(parameter, old - 0.1 * parameter.grad)
    assert sum(not torch.equal(old, parameter) for old, parameter in zip(before, ours.parameters())) >= 7


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_loading_copies_and_takes_the_dtype_over(dtype):
    ours, theirs = MultiHeadAttention(d_model=12, num_heads=3), nn.MultiheadAttention(12, 3, dtype=dtype)
    load(ours, theirs)
    with torch.no_grad():
        theirs.out_proj.weight.zero_()
    assert ours.W_o.weight.all() and {parameter.dtype for parameter in ours.parameters()} == {dtype}


def test_without_a_batch_and_with_more_leading_axes():
    ours, _ = pair()
    X = draw(2, 4, 6, 12)
    output, weights = ours(X)
    assert output.shape == (2, 4, 6, 12) and weights.shape == (2, 4, 3, 6, 6)
    torch.testing.assert_close(ours(X[1, 2])[0], output[1, 2])


def test_value_is_key_where_it_is_left_out():
    ours, _ = pair()
    query, key = draw(2, 4, 12), draw(2, 6, 12, seed=2)
    assert torch.equal(ours(query, key)[0], ours(query, key, key)[0])
    assert torch.equal(ours(query)[0], ours(query, query, query)[0])


def test_weights_are_those_before_dropout_and_eval_drops_nothing():
    torch.manual_seed(0)
    layer, X = MultiHeadAttention(d_model=8, num_heads=2, dropout=0.5).double(), draw(3, 5, 8)
    dropped, weights = layer(X)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 2, 5, dtype=torch.float64))
    layer.eval()
    whole, same_weights = layer(X)
    assert torch.equal(weights, same_weights) and not torch.allclose(dropped, whole)
    layer.train()
    mean = torch.stack([layer(X)[0].detach() for _ in range(4000)]).mean(0)
    torch.testing.assert_close(mean, whole, atol=0.05, rtol=0)


def test_permuting_heads_permutes_weights_and_keeps_the_output():
    ours, _ = pair()
    X, order = draw(2, 5, 12), torch.tensor([2, 0, 1])
    output, weights = ours(X)
    rows = torch.arange(12).view(3, 4)[order].flatten()
    with torch.no_grad():
        for W in (ours.W_q, ours.W_k, ours.W_v):
            W.weight.copy_(W.weight[rows])
            W.bias.copy_(W.bias[rows])
        ours.W_o.weight.copy_(ours.W_o.weight[:, rows])
    permuted_output, permuted_weights = ours(X)
    torch.testing.assert_close(permuted_output, output)
    torch.testing.assert_close(permuted_weights, weights[:, order])


def test_permuting_keys_with_their_values_changes_nothing():
    ours, _ = pair()
    query, key, value = draw(2, 4, 12), draw(2, 6, 12, seed=2), draw(2, 6, 12, seed=3)
    order = torch.tensor([3, 5, 0, 2, 4, 1])
    torch.testing.assert_close(ours(query, key[:, order], value[:, order])[0], ours(query, key, value)[0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_gradients_are_finite_with_a_row_that_may_attend_to_nothing(dtype):
    torch.manual_seed(0)
    layer, X = MultiHeadAttention(d_model=8, num_heads=2).to(dtype), torch.randn(2, 5, 8).to(dtype).requires_grad_()
    mask = causal_mask(5).clone()
    mask[3] = False
    output, weights = layer(X, mask=mask)
    output.float().square().sum().backward()
    assert (weights[:, :, 3] == 0).all() and output.isfinite().all()
    assert X.grad.isfinite().all() and all(gradient.isfinite().all() for gradient in gradients(layer))


@pytest.mark.parametrize(
    "sizes, said",
    [
        ((10, 3), "d_model = 10 cannot be shared by num_heads = 3"),
        ((8, 0), "d_model 8 and num_heads 0 must be at least 1"),
        ((0, 1), "d_model 0 and num_heads 1 must be at least 1"),
        ((2.5, 2.5), "d_model 2.5 and num_heads 2.5 must be whole numbers"),
        ((8.0, 2), "d_model 8.0 and num_heads 2 must be whole numbers"),
        ((8, None), "num_heads None must be whole numbers"),
        ((8, True), "num_heads True must be whole numbers"),
    ],
)
def test_sizes_that_cannot_be_shared_are_named(sizes, said):
    with pytest.raises(ValueError, match=said):
        MultiHeadAttention(d_model=sizes[0], num_heads=sizes[1])


@pytest.mark.parametrize(
    "shapes, said",
    [([(4, 11)], "query (4, 11) must be (…, positions, 12)"), ([(4, 12), (6, 12), (5, 12)], "6 keys, 5 values")],
)
def test_inputs_that_do_not_fit_are_named(shapes, said):
    with pytest.raises(ValueError) as caught:
        MultiHeadAttention(d_model=12, num_heads=3).double()(*(draw(*shape) for shape in shapes))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "query, said",
    [
        (None, "query is None; it must be a tensor"),
        ([[0.0] * 12], "query is of the type list"),
        (torch.zeros(4, 12).numpy(), "query is of the type ndarray"),
        (torch.zeros(4, 12), "query holds torch.float32, the weights torch.float64: query.to(torch.float64)"),
    ],
)
def test_inputs_of_another_kind_are_named(query, said):
    with pytest.raises(ValueError) as caught:
        MultiHeadAttention(d_model=12, num_heads=3).double()(query)
    assert said in str(caught.value)


def test_padding_without_its_axes_is_refused_by_name():
    with pytest.raises(ValueError) as caught:
        pair()[0](draw(3, 6, 12), mask=TOKENS > 0)
    assert "if it is padding (b, k), one row a sentence, write mask[:, None, None, :]" in str(caught.value)


def test_what_a_masked_position_holds_does_not_matter_backwards_either():
    ours, _ = pair()
    found = []
    for number in (0.0, 1e100, -1e100):
        query, key = draw(3, 4, 12), draw(3, 6, 12, seed=2).detach()
        value = draw(3, 6, 12, seed=3)
        key[TOKENS == 0] = number
        Q = query.detach().requires_grad_()
        ours.zero_grad()
        ours(Q, key, value, padding_mask(TOKENS))[0].square().sum().backward()
        found.append([Q.grad, ours.W_q.weight.grad.clone(), ours.W_v.weight.grad.clone()])
    torch.testing.assert_close(found[1], found[0], atol=1e-12, rtol=0)
    torch.testing.assert_close(found[2], found[0], atol=1e-12, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_no_overflow_where_torch_has_none(dtype):
    """Products that pass 65,504, the largest float16, though the scores do not."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(64, 1, batch_first=True, dtype=dtype)
    ours, X = (
        load(MultiHeadAttention(d_model=64, num_heads=1).to(dtype), theirs),
        (torch.randn(2, 5, 64) * 150).to(dtype),
    )
    assert (ours.W_q(X).double() @ ours.W_k(X).double().mT).abs().max() > 65_504
    both = [X.clone().requires_grad_() for _ in range(2)]
    output, weights = ours(both[0])
    expected, expected_weights = theirs(both[1], both[1], both[1], average_attn_weights=False)
    torch.testing.assert_close([output, weights], [expected, expected_weights])
    upstream = torch.randn_like(output)
    output.backward(upstream)
    expected.backward(upstream)
    assert both[0].grad.isfinite().all()
    torch.testing.assert_close(both[0].grad, both[1].grad, atol=0.1, rtol=0.05)


def test_load_names_what_differs():
    with pytest.raises(ValueError, match="Linear"):
        load(MultiHeadAttention(d_model=12, num_heads=3), nn.Linear(12, 12))
    with pytest.raises(ValueError, match=r"\(12, 3, True\).*\(12, 4, True\)"):
        load(MultiHeadAttention(d_model=12, num_heads=3), nn.MultiheadAttention(12, 4))


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_of_every_sentence_at_once_by_vmap(masked):
    """Nothing in the attention branches on what its inputs hold, but for the mask, which all sentences share."""
    layer = MultiHeadAttention(d_model=8, num_heads=2).double()
    mask = causal_mask(5) if masked else None
    weights = dict(layer.named_parameters())

    def loss(weights, X):
        return torch.func.functional_call(layer, weights, (X,), {"mask": mask})[0].square().sum()

    X = draw(4, 5, 8).detach()
    found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, X)
    for b in range(4):
        alone = torch.func.grad(loss)(weights, X[b])
        for name, gradient in alone.items():
            torch.testing.assert_close(found[name][b], gradient, atol=1e-12, rtol=0)


def test_masks_of_sentences_are_not_for_vmap_as_the_docstring_says():
    X, masks = draw(2, 4, 8).detach(), causal_mask(4).expand(2, 4, 4)
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        torch.func.vmap(lambda x, mask: scaled_dot_product_attention(x, x, x, mask))(X, masks)
    assert "vmap" in masked_softmax_.__doc__
