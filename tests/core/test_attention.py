"""utils/attention.py against PyTorch's own, and the laws that hold for every input."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.attention import SelfAttention, scaled_dot_product_attention

SHAPES = [((5, 8), (7, 8), (7, 3)), ((2, 5, 8), (2, 7, 8), (2, 7, 8)), ((2, 3, 1, 4), (2, 3, 6, 4), (2, 3, 6, 5))]


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def inputs(shapes, dtype=torch.float64):
    return [draw(*shape, seed=seed, dtype=dtype).requires_grad_() for seed, shape in enumerate(shapes)]


def some_mask(q, k):
    """A mask in which every query may attend to something."""
    mask = torch.rand(q, k, generator=torch.Generator().manual_seed(3)) < 0.5
    mask[:, 0] = True
    return mask


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("shapes", SHAPES)
def test_equal_to_torch_forward_and_backward(shapes, masked):
    ours, theirs = inputs(shapes), inputs(shapes)
    mask = some_mask(shapes[0][-2], shapes[1][-2]) if masked else None
    output, weights = scaled_dot_product_attention(*ours, mask)
    expected = F.scaled_dot_product_attention(*theirs, attn_mask=mask)
    torch.testing.assert_close(output, expected, atol=1e-12, rtol=0)
    gradient = draw(*output.shape, seed=9)
    output.backward(gradient)
    expected.backward(gradient)
    for mine, other in zip(ours, theirs):
        torch.testing.assert_close(mine.grad, other.grad, atol=1e-12, rtol=0)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)), atol=1e-12, rtol=0)


def test_leading_axes_broadcast():
    query, key, value = draw(4, 3, 5, 8), draw(3, 7, 8), draw(7, 2)
    output, weights = scaled_dot_product_attention(query, key, value)
    assert output.shape == (4, 3, 5, 2) and weights.shape == (4, 3, 5, 7)
    one, _ = scaled_dot_product_attention(query[2, 1], key[1], value)
    torch.testing.assert_close(output[2, 1], one)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_fully_masked_row_is_zero_without_nan(dtype):
    query, key, value = inputs(SHAPES[1], dtype)
    mask = some_mask(5, 7)
    mask[2] = False
    with torch.autograd.detect_anomaly(check_nan=True):
        output, weights = scaled_dot_product_attention(query, key, value, mask)
        output.float().square().sum().backward()
    assert output.dtype == dtype and (output[:, 2] == 0).all() and (weights[:, 2] == 0).all()
    for tensor in (output, weights, query.grad, key.grad, value.grad):
        assert torch.isfinite(tensor).all()
    assert (query.grad[:, 2] == 0).all() and (weights[:, ~mask] == 0).all()


@pytest.mark.parametrize(
    "shapes, said",
    [
        (((5, 8), (7, 9), (7, 3)), ["(5, 8)", "(7, 9)", "8 ≠ 9"]),
        (((5, 8), (7, 8), (6, 3)), ["7 keys", "6 values"]),
        (((8,), (7, 8), (7, 3)), ["(8,)", "two axes"]),
        (((2, 5, 8), (3, 7, 8), (3, 7, 3)), ["(2, 5, 8)", "broadcast"]),
    ],
)
def test_shapes_that_do_not_fit_are_named(shapes, said):
    with pytest.raises(ValueError) as caught:
        scaled_dot_product_attention(*inputs(shapes))
    assert all(part in str(caught.value) for part in said), caught.value


@pytest.mark.parametrize(
    "mask, said",
    [
        (torch.ones(5, 6, dtype=torch.bool), "(5, 6)"),
        (torch.ones(4, 5, 7, dtype=torch.bool), "(4, 5, 7)"),
        (torch.ones(5, 7), "boolean"),
    ],
)
def test_masks_that_do_not_fit_are_named(mask, said):
    with pytest.raises(ValueError) as caught:
        scaled_dot_product_attention(*inputs(SHAPES[0]), mask)
    assert said in str(caught.value)


FLOATS = torch.zeros(4, 8)


@pytest.mark.parametrize(
    "given, said",
    [
        ((None, FLOATS, FLOATS), "query is None"),
        ((FLOATS, FLOATS.numpy(), FLOATS), "key is of the type ndarray"),
        ((FLOATS, FLOATS, FLOATS.tolist()), "value is of the type list"),
        ((FLOATS, FLOATS, FLOATS, [[True]]), "mask is of the type list"),
        ((FLOATS, FLOATS.double(), FLOATS), "torch.float32, torch.float64 and torch.float32"),
        ((FLOATS.int(), FLOATS.int(), FLOATS.int()), "torch.int32, torch.int32 and torch.int32"),
    ],
)
def test_inputs_of_another_kind_are_named(given, said):
    with pytest.raises(ValueError) as caught:
        scaled_dot_product_attention(*given)
    assert said in str(caught.value)


# A mask of two axes


def masked_weights(mask, b, q, heads=()):
    X, memory = draw(b, *heads, q, 4), draw(b, *heads, mask.shape[-1], 4, seed=1)
    return scaled_dot_product_attention(X, memory, memory, mask)[1]


@pytest.mark.parametrize("lengths", [[3, 1, 2], [5, 4, 4], [1, 5, 1]])
@pytest.mark.parametrize("heads, index", [((), "[:, None, :]"), ((2,), "[:, None, None, :]")])
def test_padding_for_a_batch_is_refused_with_its_remedy(lengths, heads, index):
    padding = torch.arange(5) < torch.tensor(lengths)[:, None]  # (b, k)
    with pytest.raises(ValueError) as caught:
        masked_weights(padding, 3, 4, heads)
    assert str(caught.value).endswith(f"if it is padding (b, k), one row a sentence, write mask{index}")
    place = (slice(None), *[None] * (len(heads) + 1))
    weights = masked_weights(padding[place], 3, 4, heads)
    assert (weights.movedim(0, -2)[..., ~padding] == 0).all()


@settings(max_examples=60, deadline=None)
@given(b=st.integers(1, 5), q=st.integers(1, 5), k=st.integers(1, 5), seed=st.integers(0, 999), heads=st.booleans())
def test_a_mask_of_two_axes_is_that_of_queries_and_keys_whatever_the_batch(b, q, k, seed, heads):
    mask = torch.rand(q, k, generator=torch.Generator().manual_seed(seed)) < 0.5
    weights = masked_weights(mask, b, q, (2,) if heads else ())
    assert torch.equal(weights > 0, mask.expand(weights.shape))


@pytest.mark.parametrize("rows", [[[1, 1, 1], [1, 0, 0], [1, 1, 0]], [[1, 1, 0], [1, 0, 0], [1, 1, 1]]])
@pytest.mark.parametrize("b", [1, 2, 3, 4])
def test_rows_that_look_like_lengths_are_still_those_of_queries(rows, b):
    mask = torch.tensor(rows).bool()
    assert torch.equal(masked_weights(mask, b, 3) > 0, mask.expand(b, 3, 3))


@settings(max_examples=50, deadline=None)
@given(q=st.integers(1, 5), k=st.integers(1, 6), e=st.integers(1, 8), seed=st.integers(0, 10_000))
def test_laws_for_all_inputs(q, k, e, seed):
    query, key, value = draw(q, e, seed=seed) * 5, draw(k, e, seed=seed + 1) * 5, draw(k, 3, seed=seed + 2)
    output, weights = scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(weights.sum(-1), torch.ones(q, dtype=torch.float64))
    assert (weights >= 0).all()
    # every output entry lies between the smallest and the largest value of its column: the hull's bounding box
    assert (output >= value.min(0).values - 1e-12).all() and (output <= value.max(0).values + 1e-12).all()
    order = torch.randperm(k, generator=torch.Generator().manual_seed(seed))
    permuted, _ = scaled_dot_product_attention(query, key[order], value[order])
    torch.testing.assert_close(permuted, output)


# Padding. Products with queries and gradients, which are below 10 here, stay finite in float64.
NUMBERS = st.floats(-1e150, 1e150)


@settings(max_examples=50, deadline=None)
@given(k=st.integers(2, 6), changed=st.integers(0, 5), seed=st.integers(0, 10_000), number=NUMBERS)
def test_a_masked_key_has_no_influence_whatever_number_it_holds(k, changed, seed, number):
    """A key and its value become any number: no query moves that may not see it."""
    changed %= k
    mask = torch.rand(2, 4, k, generator=torch.Generator().manual_seed(seed)) < 0.6
    query, key, value = draw(2, 4, 3, seed=seed), draw(2, k, 3, seed=seed + 1), draw(2, k, 5, seed=seed + 2)
    before, weights_before = scaled_dot_product_attention(query, key, value, mask)
    key[:, changed], value[:, changed] = number, -number
    after, weights_after = scaled_dot_product_attention(query, key, value, mask)
    blind = ~mask[..., changed]
    torch.testing.assert_close(after[blind], before[blind], atol=0, rtol=0)
    torch.testing.assert_close(weights_after[blind], weights_before[blind], atol=0, rtol=0)


@settings(max_examples=50, deadline=None)
@given(k=st.integers(2, 6), changed=st.integers(0, 5), seed=st.integers(0, 10_000), number=NUMBERS)
def test_a_masked_key_has_no_influence_on_any_gradient(k, changed, seed, number):
    """No gradient of what the blind queries yield moves, whatever number a key and its value hold; their own is 0."""
    changed %= k
    mask = torch.rand(2, 4, k, generator=torch.Generator().manual_seed(seed)) < 0.6
    blind, found = ~mask[..., changed], []
    for key_holds, value_holds in ((0.5, 0.5), (number, -number)):
        given = [draw(2, 4, 3, seed=seed), draw(2, k, 3, seed=seed + 1), draw(2, k, 5, seed=seed + 2)]
        given[1][:, changed], given[2][:, changed] = key_holds, value_holds
        given = [x.requires_grad_() for x in given]
        output, weights = scaled_dot_product_attention(*given, mask)
        (output[blind].square().sum() + weights[blind].square().sum()).backward()
        found.append([x.grad for x in given])
    torch.testing.assert_close(found[1], found[0], atol=1e-12, rtol=0)
    assert all((gradient[:, changed] == 0).all() for gradient in found[1][1:])


def with_padding(dtype, size, key_holds, value_holds, blind_row):
    """query, key and value (1, 2, 5, size) whose last position is masked, and the mask."""
    query, key, value = (draw(1, 2, 5, size, seed=s, dtype=dtype) for s in (0, 1, 2))
    key[..., 4, :], value[..., 4, :] = key_holds, value_holds
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    mask[:, 4] = False
    mask[0, 0] = not blind_row
    return [x.requires_grad_() for x in (query, key, value)], mask


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [3, 8, 64])
@pytest.mark.parametrize("blind_row", [False, True])
def test_padding_has_no_influence_wherever_torch_stays_finite(dtype, size, blind_row):
    """Finite extremes in a masked key, value or both, up to the largest number, where PyTorch is not finite either."""
    ends, largest = set(), torch.finfo(dtype).max
    for share in (0.3, 0.5, 0.9, 0.95, 0.97, 0.98, 0.99, 1.0):
        number = largest**share
        for key_holds, value_holds in ((number, 1.0), (-number, 1.0), (1.0, number), (1.0, -number), (number, -number)):
            theirs, mask = with_padding(dtype, size, key_holds, value_holds, blind_row)
            expected = F.scaled_dot_product_attention(*theirs, attn_mask=mask)
            expected.sum().backward()
            finite = all(x.isfinite().all() for x in (expected, *(x.grad for x in theirs)))
            ends.add(finite)
            if finite:
                found = []
                for holds in ((key_holds, value_holds), (0.0, 0.0)):
                    ours, mask = with_padding(dtype, size, *holds, blind_row)
                    output, weights = scaled_dot_product_attention(*ours, mask)
                    output.sum().backward()
                    found.append([output, weights, *(x.grad for x in ours)])
                torch.testing.assert_close(*found, atol=0, rtol=0)
    assert ends == {True, False}, "the extremes must show both ends"


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_padding_that_is_no_number_is_not_put_aside(broken):
    """As in PyTorch: 0 · NaN is NaN. It is not hidden either."""
    value = draw(4, 3)
    value[3, 1] = broken
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    output, _ = scaled_dot_product_attention(draw(4, 2), draw(4, 2, seed=1), value, mask)
    assert output[:, 1].isnan().any() and output[:, [0, 2]].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("masked", [False, True])
def test_no_overflow_where_torch_has_none(dtype, masked):
    """Products that pass 65,504, the largest float16, though the scores do not."""
    query, key = (60 * draw(6, 64, seed=s).sign().to(dtype) for s in (0, 1))
    key[0] = query[0]
    value, mask = draw(6, 3, seed=2).to(dtype), some_mask(6, 6) if masked else None
    assert (query.double() @ key.double().mT).max() > 65_504
    ours, theirs = ([x.clone().requires_grad_() for x in (query, key, value)] for _ in range(2))
    output, weights = scaled_dot_product_attention(*ours, mask)
    expected = F.scaled_dot_product_attention(*theirs, attn_mask=mask)
    assert weights.isfinite().all()
    torch.testing.assert_close(output, expected)
    output.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close([x.grad for x in ours], [x.grad for x in theirs], atol=0.05, rtol=0.05)


def test_self_attention_equals_its_steps_with_a_batch_and_without():
    torch.manual_seed(0)
    layer, X = SelfAttention(d_model=6, d_head=4).double(), draw(2, 5, 6)
    output, weights = layer(X)
    assert output.shape == (2, 5, 4) and weights.shape == (2, 5, 5)
    Q, K, V = (X @ matrix.weight.T for matrix in (layer.W_q, layer.W_k, layer.W_v))
    torch.testing.assert_close(weights, torch.softmax(Q @ K.mT / math.sqrt(4), -1))
    torch.testing.assert_close(output, weights @ V)
    torch.testing.assert_close(layer(X[1])[0], output[1])
    assert sum(parameter.numel() for parameter in layer.parameters()) == 3 * 6 * 4
    assert SelfAttention(d_model=6)(torch.randn(3, 6))[0].shape == (3, 6)


def test_self_attention_keeps_to_its_mask():
    layer, X = SelfAttention(d_model=6).double(), draw(5, 6)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    _, weights = layer(X, mask)
    assert (weights[~mask] == 0).all()


@pytest.mark.parametrize("d_model, d_head", [(0, None), (4, 0), (-1, 2), (2.5, None), (4, "4")])
def test_self_attention_refuses_impossible_sizes(d_model, d_head):
    with pytest.raises(ValueError, match="at least 1|whole numbers"):
        SelfAttention(d_model=d_model, d_head=d_head)


@pytest.mark.parametrize("shape", [(6,), (5, 7)])
def test_self_attention_names_an_input_of_the_wrong_width(shape):
    with pytest.raises(ValueError, match=r"\(…, positions, 6\)"):
        SelfAttention(d_model=6)(torch.zeros(shape))
