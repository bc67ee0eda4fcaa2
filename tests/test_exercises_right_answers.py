"""Right answers of every form pass: loops, matrix products, einsum, torch's own functions."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from utils import attention, masks
from utils.exercises import catalogue

RIGHT = {}


def right(function):
    """Register a right answer: the function's name is the exercise's, up to a double underscore."""
    RIGHT[function.__name__] = function
    return function


@right
def weighted_sum__loop(weights, values):
    total = torch.zeros(values.shape[1])
    for weight, row in zip(weights, values):
        total = total + weight * row
    return total


@right
def weighted_sum__loop_over_entries(weights, values):
    total = torch.zeros(values.shape[1])
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            total[j] += weights[i] * values[i, j]
    return total


@right
def weighted_sum__broadcast(weights, values):
    return (weights.unsqueeze(1) * values).sum(dim=0)


@right
def weighted_sum__einsum(weights, values):
    return torch.einsum("k,kd->d", weights, values)


@right
def weighted_sum__transposed(weights, values):
    return torch.mv(values.T, weights)


@right
def weighted_sum__python_sum(weights, values):
    return sum(weight * row for weight, row in zip(weights, values))


@right
def projection_shape__by_torch(n, d_model, d_head):
    return (torch.zeros(n, d_model) @ torch.zeros(d_model, d_head)).shape


@right
def projection_shape__tuple(n, d_model, d_head):
    return tuple([n, d_head])


@right
def scores_shape__by_torch(n_queries, n_keys, d_head):
    return (torch.zeros(n_queries, d_head) @ torch.zeros(n_keys, d_head).T).shape


@right
def scores_shape__plain(n_queries, n_keys, d_head):
    return n_queries, n_keys


@right
def output_shape__by_torch(n_queries, n_keys, d_value):
    return tuple((torch.zeros(n_queries, n_keys) @ torch.zeros(n_keys, d_value)).shape)


@right
def output_shape__plain(n_queries, n_keys, d_value):
    return n_queries, d_value


@right
def dot_product__loop(a, b):
    total = 0
    for x, y in zip(a, b):
        total += x * y
    return total


@right
def dot_product__python_float(a, b):
    return sum(x * y for x, y in zip(a.tolist(), b.tolist()))


@right
def dot_product__operator(a, b):
    return a @ b


@right
def dot_product__einsum(a, b):
    return torch.einsum("d,d->", a, b)


@right
def dot_product__torch(a, b):
    return torch.dot(a, b)


@right
def dot_product__item(a, b):
    return (a * b).sum().item()


@right
def magnitude__torch(a):
    return torch.linalg.norm(a)


@right
def magnitude__math(a):
    return math.sqrt(sum(x**2 for x in a))


@right
def magnitude__hypot(a):
    return math.hypot(*a.tolist())


@right
def magnitude__dot(a):
    return (a @ a) ** 0.5


@right
def magnitude__einsum(a):
    return torch.einsum("d,d->", a, a).sqrt()


@right
def cosine_similarity__torch(a, b):
    return torch.cosine_similarity(a, b, dim=0)


@right
def cosine_similarity__normalised_first(a, b):
    return F.normalize(a, dim=0) @ F.normalize(b, dim=0)


@right
def cosine_similarity__loop(a, b):
    products, squares_a, squares_b = 0.0, 0.0, 0.0
    for x, y in zip(a.tolist(), b.tolist()):
        products, squares_a, squares_b = products + x * y, squares_a + x * x, squares_b + y * y
    return products / math.sqrt(squares_a * squares_b)


@right
def cosine_similarity__clamped(a, b):
    return (a.dot(b) / a.norm() / b.norm()).clamp(-1, 1)


@right
def variance_kept__eigenvalues(points, k):
    eigenvalues = torch.linalg.eigvalsh(torch.cov(points.T))
    return eigenvalues[-k:].sum() / eigenvalues.sum()


@right
def variance_kept__full_svd(points, k):
    centred = points - points.mean(dim=0, keepdim=True)
    _, s, _ = torch.linalg.svd(centred, full_matrices=False)
    return (s[:k] ** 2).sum() / (centred**2).sum()


@right
def variance_kept__projected(points, k):
    centred = points - points.mean(0)
    components = torch.linalg.svd(centred).Vh[:k]
    return (centred @ components.T).var(0).sum() / centred.var(0).sum()


@right
def variance_kept__lowrank(points, k):
    _, s, _ = torch.pca_lowrank(points, q=min(points.shape))
    return s[:k].pow(2).sum() / s.pow(2).sum()


@right
def variance_kept__scikit_learn(points, k):
    from sklearn.decomposition import PCA

    return float(PCA(k).fit(points.numpy()).explained_variance_ratio_.sum())


@right
def nearest__loop(query, matrix, k):
    cosines = [float(torch.cosine_similarity(query, row, dim=0)) for row in matrix]
    return torch.tensor(sorted(range(len(cosines)), key=cosines.__getitem__, reverse=True)[:k])


@right
def nearest__torch(query, matrix, k):
    return torch.cosine_similarity(matrix, query[None]).argsort(descending=True)[:k]


@right
def nearest__without_length_of_query(query, matrix, k):
    return torch.topk(F.normalize(matrix, dim=1) @ query, k)[1]


@right
def nearest__einsum(query, matrix, k):
    products = torch.einsum("nd,d->n", matrix, query) / torch.einsum("nd,nd->n", matrix, matrix).sqrt()
    return products.sort(descending=True).indices[:k].to(torch.int32)


@right
def analogy_target__other_order(a, b, c):
    return c + b - a


@right
def analogy_target__loop(a, b, c):
    return torch.stack([z + (y - x) for x, y, z in zip(a, b, c)])


@right
def analogy_target__torch(a, b, c):
    return torch.add(c, torch.sub(b, a))


@right
def one_hot__torch(token_ids, vocabulary_size):
    return F.one_hot(token_ids, num_classes=vocabulary_size).float()


@right
def one_hot__loop(token_ids, vocabulary_size):
    rows = torch.zeros(len(token_ids), vocabulary_size)
    for i, token_id in enumerate(token_ids):
        rows[i, token_id] = 1
    return rows


@right
def one_hot__comparison(token_ids, vocabulary_size):
    return (token_ids[:, None] == torch.arange(vocabulary_size)).double()


@right
def one_hot__scatter(token_ids, vocabulary_size):
    return torch.zeros(len(token_ids), vocabulary_size).scatter_(1, token_ids[:, None], 1.0)


@right
def one_hot__index_pair(token_ids, vocabulary_size):
    rows = torch.zeros(token_ids.shape[0], vocabulary_size)
    rows[torch.arange(token_ids.shape[0]), token_ids] = 1.0
    return rows


@right
def softmax__torch(scores):
    return torch.softmax(scores, dim=-1)


@right
def softmax__through_logarithms(scores):
    return (scores - torch.logsumexp(scores, dim=-1, keepdim=True)).exp()


@right
def softmax__max_and_indices(scores):
    shifted = scores - scores.max(dim=-1, keepdim=True)[0]
    return shifted.exp() / shifted.exp().sum(-1).unsqueeze(-1)


@right
def softmax__row_by_row(scores):
    rows = scores.reshape(-1, scores.shape[-1])
    return torch.stack([torch.exp(r - r.max()) / torch.exp(r - r.max()).sum() for r in rows]).reshape(scores.shape)


@right
def attention_scores__loop(query, keys):
    return torch.stack([key @ query for key in keys]) / len(query) ** 0.5


@right
def attention_scores__list(query, keys):
    return torch.tensor([(key @ query).item() / math.sqrt(query.shape[0]) for key in keys])


@right
def attention_scores__query_first(query, keys):
    return query @ keys.T / keys.shape[1] ** 0.5


@right
def attention_scores__einsum(query, keys):
    return torch.einsum("e,ke->k", query, keys) * query.shape[-1] ** -0.5


@right
def attention_scores__elementwise(query, keys):
    return (query / math.sqrt(len(query)) * keys).sum(-1)


@right
def attend__torch(query, keys, values):
    return F.scaled_dot_product_attention(query[None], keys, values)[0]


@right
def attend__loop(query, keys, values):
    scores = [key @ query / math.sqrt(len(key)) for key in keys]
    powers = [torch.exp(score - max(scores)) for score in scores]
    return sum(power / sum(powers) * value for power, value in zip(powers, values))


@right
def attend__einsum(query, keys, values):
    weights = torch.einsum("e,ke->k", query, keys).div(keys.size(1) ** 0.5).softmax(0)
    return torch.einsum("k,kv->v", weights, values)


@right
def attend__by_earlier_exercises(query, keys, values):
    exercises = catalogue()
    weights = exercises["softmax"](exercises["attention_scores"](query, keys))
    return exercises["weighted_sum"](weights, values)


@right
def self_attention__torch(X, W_q, W_k, W_v):
    return F.scaled_dot_product_attention(X @ W_q, X @ W_k, X @ W_v)


@right
def self_attention__einsum(X, W_q, W_k, W_v):
    Q, K, V = (torch.einsum("...nd,de->...ne", X, W) for W in (W_q, W_k, W_v))
    weights = torch.softmax(torch.einsum("...qe,...ke->...qk", Q, K) / K.shape[-1] ** 0.5, dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, V)


@right
def self_attention__merged_query_key(X, W_q, W_k, W_v):
    scores = X @ W_q @ W_k.T @ X.mT / math.sqrt(W_q.shape[1])
    return scores.softmax(-1) @ X @ W_v


@right
def self_attention__one_token_after_the_other(X, W_q, W_k, W_v):
    if X.ndim > 2:
        return torch.stack([self_attention__one_token_after_the_other(x, W_q, W_k, W_v) for x in X])
    keys, values = X @ W_k, X @ W_v
    return torch.stack([catalogue()["attend"](x @ W_q, keys, values) for x in X])


@right
def self_attention__linear(X, W_q, W_k, W_v):
    Q, K, V = F.linear(X, W_q.T), F.linear(X, W_k.T), F.linear(X, W_v.T)
    return torch.matmul(F.softmax(torch.matmul(Q / math.sqrt(Q.size(-1)), K.transpose(-1, -2)), dim=-1), V)


@right
def merge_query_key__einsum(W_q, W_k):
    return torch.einsum("de,fe->df", W_q, W_k)


@right
def merge_query_key__loop(W_q, W_k):
    return sum(torch.outer(W_q[:, i], W_k[:, i]) for i in range(W_q.shape[1]))


@right
def merge_query_key__torch(W_q, W_k):
    return torch.matmul(W_q, W_k.transpose(0, 1))


@right
def merge_query_key__linear(W_q, W_k):
    return F.linear(W_q, W_k)


@right
def project_per_head__broadcast(X, W):
    return X @ W


@right
def project_per_head__loop(X, W):
    return torch.stack([X @ matrix for matrix in W])


@right
def project_per_head__one_wide_matrix(X, W):
    h, d, e = W.shape
    return (X @ W.permute(1, 0, 2).reshape(d, h * e)).view(len(X), h, e).transpose(0, 1)


@right
def project_per_head__elementwise(X, W):
    return (X[None, :, :, None] * W[:, None]).sum(2)


@right
def split_heads__slices(X, num_heads):
    e = X.shape[-1] // num_heads
    return torch.stack([X[..., i * e : (i + 1) * e] for i in range(num_heads)], dim=-3)


@right
def split_heads__chunks(X, num_heads):
    return torch.stack(X.chunk(num_heads, dim=-1), dim=-3)


@right
def split_heads__unflatten(X, num_heads):
    return X.unflatten(-1, (num_heads, X.shape[-1] // num_heads)).transpose(-2, -3)


@right
def split_heads__transposed_first(X, num_heads):
    return X.mT.unflatten(-2, (num_heads, -1)).mT


@right
def split_heads__view(X, num_heads):
    *leading, n, d = X.size()
    return X.view(*leading, n, num_heads, d // num_heads).swapaxes(-3, -2)


@right
def merge_heads__concatenated(heads):
    return torch.cat(heads.unbind(dim=-3), dim=-1)


@right
def merge_heads__contiguous_view(heads):
    *leading, h, n, e = heads.shape
    return heads.transpose(-3, -2).contiguous().view(*leading, n, h * e)


@right
def merge_heads__einsum(heads):
    return torch.einsum("...hne->...nhe", heads).reshape(*heads.shape[:-3], heads.shape[-2], -1)


@right
def merge_heads__loop(heads):
    merged = torch.empty(*heads.shape[:-3], heads.shape[-2], heads.shape[-3] * heads.shape[-1], dtype=heads.dtype)
    for i in range(heads.shape[-3]):
        merged[..., i * heads.shape[-1] : (i + 1) * heads.shape[-1]] = heads[..., i, :, :]
    return merged


@right
def head_scores__einsum(Q, K):
    return torch.einsum("...qe,...ke->...qk", Q, K) / K.shape[-1] ** 0.5


@right
def head_scores__scaled_first(Q, K):
    return torch.matmul(Q / math.sqrt(Q.size(-1)), K.mT)


@right
def head_scores__elementwise(Q, K):
    return (Q.unsqueeze(-2) * K.unsqueeze(-3)).sum(-1) / math.sqrt(K.shape[-1])


@right
def head_scores__head_by_head(Q, K):
    pairs = zip(Q.unbind(-3), K.unbind(-3))
    return torch.stack([q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) for q, k in pairs], dim=-3)


@right
def count_parameters__torch(d_model, num_heads, bias):
    layer = torch.nn.MultiheadAttention(d_model, num_heads, bias=bias)
    return sum(parameter.numel() for parameter in layer.parameters())


@right
def count_parameters__per_head(d_model, num_heads, bias):
    d_head = d_model // num_heads
    return num_heads * 3 * (d_model + bias) * d_head + (d_model + bias) * d_model


@right
def count_parameters__case_by_case(d_model, num_heads, bias):
    if bias:
        return 4 * (d_model * d_model + d_model)
    return 4 * d_model * d_model


@right
def count_parameters__tensor(d_model, num_heads, bias):
    return torch.tensor(4 * d_model**2 + 4 * d_model * int(bias))


@right
def multi_head_attention__torch(X, W_q, W_k, W_v, W_o, num_heads):
    Q, K, V = ((X @ W).unflatten(-1, (num_heads, -1)).transpose(-2, -3) for W in (W_q, W_k, W_v))
    return F.scaled_dot_product_attention(Q, K, V).transpose(-2, -3).reshape(X.shape) @ W_o


@right
def multi_head_attention__torchs_layer(X, W_q, W_k, W_v, W_o, num_heads):
    x = X.reshape(-1, *X.shape[-2:]).transpose(0, 1)
    output, _ = F.multi_head_attention_forward(
        x, x, x, X.shape[-1], num_heads, torch.cat([W_q, W_k, W_v], 1).T, None, None, None, False, 0.0, W_o.T, None
    )
    return output.transpose(0, 1).reshape(X.shape)


@right
def multi_head_attention__loop_over_heads(X, W_q, W_k, W_v, W_o, num_heads):
    e = X.shape[-1] // num_heads
    heads = []
    for i in range(num_heads):
        part = slice(i * e, (i + 1) * e)
        heads.append(catalogue()["self_attention"](X, W_q[:, part], W_k[:, part], W_v[:, part]))
    return torch.cat(heads, dim=-1) @ W_o


@right
def multi_head_attention__sum_of_projected_heads(X, W_q, W_k, W_v, W_o, num_heads):
    e = X.shape[-1] // num_heads
    parts = [slice(i * e, (i + 1) * e) for i in range(num_heads)]
    attend = catalogue()["self_attention"]
    return sum(attend(X, W_q[:, part], W_k[:, part], W_v[:, part] @ W_o[part]) for part in parts)


@right
def multi_head_attention__by_earlier_exercises(X, W_q, W_k, W_v, W_o, num_heads):
    exercises = catalogue()
    Q, K, V = (exercises["split_heads"](X @ W, num_heads) for W in (W_q, W_k, W_v))
    weights = exercises["softmax"](exercises["head_scores"](Q, K))
    return exercises["merge_heads"](weights @ V) @ W_o


@right
def multi_head_attention__einsum(X, W_q, W_k, W_v, W_o, num_heads):
    d = X.shape[-1]
    W_q, W_k, W_v = (W.reshape(d, num_heads, -1) for W in (W_q, W_k, W_v))
    Q, K, V = (torch.einsum("...nd,dhe->...hne", X, W) for W in (W_q, W_k, W_v))
    weights = torch.softmax(torch.einsum("...hqe,...hke->...hqk", Q, K) * Q.shape[-1] ** -0.5, dim=-1)
    return torch.einsum("...hqk,...hke,hed->...qd", weights, V, W_o.reshape(num_heads, -1, d))


@right
def multi_head_attention__the_courses_layer(X, W_q, W_k, W_v, W_o, num_heads):
    layer = attention.MultiHeadAttention(X.shape[-1], num_heads, bias=False).to(X.dtype)
    for name, W in {"W_q": W_q, "W_k": W_k, "W_v": W_v, "W_o": W_o}.items():
        getattr(layer, name).weight = torch.nn.Parameter(W.T.contiguous())
    return layer(X)[0]


@right
def padding_mask__the_courses(tokens, pad_id):
    return masks.padding_mask(tokens, pad_id)


@right
def padding_mask__unsqueezed(tokens, pad_id):
    return tokens.ne(pad_id).unsqueeze(1).unsqueeze(2)


@right
def padding_mask__reshaped(tokens, pad_id):
    return ~(tokens == pad_id).reshape(tokens.shape[0], 1, 1, -1)


@right
def padding_mask__loop(tokens, pad_id):
    return torch.tensor([[[[token != pad_id for token in row]]] for row in tokens.tolist()])


@right
def causal_mask__the_courses(n):
    return masks.causal_mask(n)


@right
def causal_mask__compared(n):
    return torch.arange(n)[:, None] >= torch.arange(n)


@right
def causal_mask__not_the_future(n):
    return ~torch.triu(torch.ones(n, n), diagonal=1).bool()


@right
def causal_mask__loop(n):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, : i + 1] = True
    return mask


@right
def causal_mask__from_torch(n):
    return torch.nn.Transformer.generate_square_subsequent_mask(n) == 0


@right
def masked_softmax__nan_replaced(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1).nan_to_num(0.0)


@right
def masked_softmax__large_number_then_zero(scores, mask):
    return torch.softmax(scores.masked_fill(mask == 0, -1e9), -1) * mask


@right
def masked_softmax__added_infinity(scores, mask):
    weights = torch.softmax(scores + torch.where(mask, 0.0, -torch.inf), -1)
    return torch.where(weights.isnan(), 0.0, weights)


@right
def masked_softmax__powers(scores, mask):
    scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-9)


@right
def masked_attention__the_courses(query, key, value, mask):
    return attention.scaled_dot_product_attention(query, key, value, mask)[0]


@right
def masked_softmax__the_courses_attention(scores, mask):
    identity = torch.eye(scores.shape[-1], dtype=scores.dtype)
    return attention.scaled_dot_product_attention(scores * scores.shape[-1] ** 0.5, identity, identity, mask)[0]


@right
def masked_attention__torch(query, key, value, mask):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask).nan_to_num(0.0)


@right
def masked_attention__by_earlier_exercises(query, key, value, mask):
    exercises = catalogue()
    return exercises["masked_softmax"](exercises["head_scores"](query, key), mask) @ value


@right
def masked_attention__output_zeroed(query, key, value, mask):
    scores = torch.einsum("...qe,...ke->...qk", query, key) / query.shape[-1] ** 0.5
    weights = torch.softmax(torch.where(mask, scores, -1e9), dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, value) * mask.any(-1, keepdim=True)


@right
def sliding_window_mask__triangles(n, width):
    return torch.ones(n, n, dtype=torch.bool).tril().triu(1 - width)


@right
def sliding_window_mask__loop(n, width):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, max(0, i - width + 1) : i + 1] = True
    return mask


@right
def sliding_window_mask__difference_of_causal_masks(n, width):
    return torch.ones(n, n).tril().bool() & ~torch.ones(n, n).tril(-width).bool()


@right
def masked_mean__where(outputs, mask):
    real = mask.unsqueeze(-1)
    return torch.where(real, outputs, 0.0).sum(1) / real.sum(1)


@right
def masked_mean__loop(outputs, mask):
    return torch.stack([rows[real].mean(0) for rows, real in zip(outputs, mask)])


@right
def masked_mean__einsum(outputs, mask):
    weights = mask / mask.sum(-1, keepdim=True)
    return torch.einsum("bn,bnd->bd", weights.to(outputs.dtype), outputs.masked_fill(~mask[..., None], 0.0))


@right
def masked_mean__nanmean(outputs, mask):
    return outputs.masked_fill(~mask[..., None], torch.nan).nanmean(dim=1)


@right
def elman_step__torchs_cell(x, h, W, U, b):
    cell = torch.nn.RNNCell(*W.shape, dtype=W.dtype)
    zeros = torch.zeros_like(b)
    with torch.no_grad():
        for parameter, value in zip(cell.parameters(), (W.T, U.T, b, zeros)):  # weight_ih, weight_hh, bias_ih, bias_hh
            parameter.copy_(value)
    return cell(x.reshape(-1, x.shape[-1]), h.reshape(-1, h.shape[-1])).reshape(h.shape)


@right
def elman_step__concatenated(x, h, W, U, b):
    return (torch.cat([x, h], dim=-1) @ torch.cat([W, U]) + b).tanh()


@right
def elman_step__einsum(x, h, W, U, b):
    return torch.tanh(torch.einsum("...i,ij->...j", x, W) + torch.einsum("...i,ij->...j", h, U) + b)


@right
def elman_step__linear(x, h, W, U, b):
    return torch.tanh(F.linear(x, W.T, b) + F.linear(h, U.T))


@right
def elman_step__row_by_row(x, h, W, U, b):
    if x.ndim > 1:
        return torch.stack([elman_step__row_by_row(one, state, W, U, b) for one, state in zip(x, h)])
    new = []
    for j in range(len(b)):
        total = b[j] + sum(x[i] * W[i, j] for i in range(len(x))) + sum(h[i] * U[i, j] for i in range(len(h)))
        new.append(math.tanh(total))
    return torch.tensor(new, dtype=h.dtype)


@right
def elman_step__tanh_from_exp(x, h, W, U, b):
    total = torch.matmul(x, W) + torch.matmul(h, U) + b
    return 2 * torch.sigmoid(2 * total) - 1


@right
def elman_step__elementwise(x, h, W, U, b):
    return torch.tanh((x[..., None] * W).sum(-2) + (h[..., None] * U).sum(-2) + b)


@right
def sequence_cross_entropy__torch(logits, targets, mask):
    return F.cross_entropy(logits[mask], targets[mask])


@right
def sequence_cross_entropy__ignored_index(logits, targets, mask):
    ignored = targets.masked_fill(~mask, -100)
    return F.cross_entropy(logits.flatten(0, -2), ignored.flatten())


@right
def sequence_cross_entropy__nll(logits, targets, mask):
    return F.nll_loss(F.log_softmax(logits[mask], dim=-1), targets[mask])


@right
def sequence_cross_entropy__none_then_mean(logits, targets, mask):
    losses = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), reduction="none")
    return (losses * mask.reshape(-1)).sum() / mask.sum()


@right
def sequence_cross_entropy__log_sum_exp(logits, targets, mask):
    own = torch.take_along_dim(logits, targets.unsqueeze(-1), dim=-1).squeeze(-1)
    return torch.where(mask, logits.logsumexp(-1) - own, 0.0).sum() / mask.count_nonzero()


@right
def sequence_cross_entropy__one_hot(logits, targets, mask):
    log_p = logits.log_softmax(-1) * F.one_hot(targets, logits.shape[-1])
    return -(log_p.sum(-1) * mask).sum() / mask.sum()


@right
def sequence_cross_entropy__loop(logits, targets, mask):
    total, words = 0.0, 0
    for row, target, real in zip(logits.flatten(0, -2), targets.flatten(), mask.flatten()):
        if real:
            total -= torch.log_softmax(row, 0)[target].item()
            words += 1
    return total / words


@right
def sequence_cross_entropy__torchs_axis_order(logits, targets, mask):
    losses = F.cross_entropy(logits.movedim(-1, 1), targets, reduction="none")
    return losses[mask].mean()


@right
def bilinear_weights__einsum(query, keys, W_s, mask):
    scores = torch.einsum("bq,qd,bkd->bk", query, W_s, keys)
    return torch.where(mask, scores, -torch.inf).softmax(-1)


@right
def bilinear_weights__bmm(query, keys, W_s, mask):
    scores = torch.bmm(keys, (query @ W_s).unsqueeze(2)).squeeze(2)
    return torch.softmax(scores.masked_fill(mask == 0, -1e9), dim=1)


@right
def bilinear_weights__keys_projected(query, keys, W_s, mask):
    scores = (query.unsqueeze(1) * (keys @ W_s.T)).sum(-1)
    return torch.softmax(scores + torch.where(mask, 0.0, -torch.inf), dim=-1)


@right
def bilinear_weights__torchs_layer(query, keys, W_s, mask):
    b, k, _ = keys.shape
    repeated = query[:, None].expand(-1, k, -1)
    scores = F.bilinear(repeated.reshape(b * k, -1), keys.reshape(b * k, -1), W_s[None]).reshape(b, k)
    return torch.softmax(scores.masked_fill(~mask, -math.inf), -1)


@right
def bilinear_weights__loop(query, keys, W_s, mask):
    rows = []
    for q, states, real in zip(query, keys, mask):
        scores = torch.stack([q @ W_s @ state for state in states])
        scores[~real] = -torch.inf
        rows.append(torch.softmax(scores, 0))
    return torch.stack(rows)


@right
def bilinear_weights__torchs_attention(query, keys, W_s, mask):
    identity = torch.eye(keys.shape[1], dtype=keys.dtype).expand(len(keys), -1, -1)
    projected = (query @ W_s)[:, None]
    return F.scaled_dot_product_attention(projected, keys, identity, attn_mask=mask[:, None], scale=1.0)[:, 0]


@right
def bilinear_weights__by_earlier_exercises(query, keys, W_s, mask):
    scores = torch.matmul(keys, torch.matmul(query, W_s)[..., None])[..., 0]
    return catalogue()["masked_softmax"](scores, mask)


@right
def bilinear_weights__powers(query, keys, W_s, mask):
    scores = (query[:, None] @ W_s @ keys.transpose(1, 2)).squeeze(1).masked_fill(~mask, -math.inf)
    powers = (scores - scores.max(dim=-1, keepdim=True).values).exp()
    return powers / powers.sum(-1, keepdim=True)


@right
def context_vector__einsum(weights, states):
    return torch.einsum("bqk,bkd->bqd", weights, states)


@right
def context_vector__bmm(weights, states):
    return torch.bmm(weights, states)


@right
def context_vector__elementwise(weights, states):
    return (weights.unsqueeze(-1) * states.unsqueeze(1)).sum(dim=2)


@right
def context_vector__loop(weights, states):
    context = torch.zeros(weights.shape[0], weights.shape[1], states.shape[2], dtype=states.dtype)
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            for n in range(states.shape[1]):
                context[i, j] += weights[i, j, n] * states[i, n]
    return context


@right
def context_vector__step_by_step(weights, states):
    return torch.stack([(step[:, :, None] * states).sum(1) for step in weights.unbind(1)], dim=1)


@right
def context_vector__sum_over_keys(weights, states):
    return sum(weights[:, :, j, None] * states[:, None, j] for j in range(states.shape[1]))


@right
def context_vector__transposed(weights, states):
    return (states.mT @ weights.mT).mT


@right
def context_vector__by_an_earlier_exercise(weights, states):
    return torch.stack(
        [torch.stack([catalogue()["weighted_sum"](w, s) for w in rows]) for rows, s in zip(weights, states)]
    )


@right
def alignment_error_rate__loop(links, sure, possible):
    found = total = 0
    for i in range(len(links)):
        for link in links[i]:
            found += (link in sure[i]) + (link in possible[i])
        total += len(links[i]) + len(sure[i])
    return 0 if total == 0 else 1.0 - found / total


@right
def alignment_error_rate__intersection(links, sure, possible):
    sure_found = sum(len(a.intersection(s)) for a, s in zip(links, sure))
    found = sum(len(a.intersection(p)) for a, p in zip(links, possible))
    below = sum(map(len, links)) + sum(map(len, sure))
    if not below:
        return 0.0
    return (below - sure_found - found) / below


@right
def alignment_error_rate__weighted(links, sure, possible):
    """Precision and recall, weighted with what they are a share of."""
    n, m = sum(map(len, links)), sum(map(len, sure))
    precision = sum(len(a & p) for a, p in zip(links, possible)) / max(n, 1)
    recall = sum(len(a & s) for a, s in zip(links, sure)) / max(m, 1)
    return 1 - (n * precision + m * recall) / (n + m) if n + m else 0.0


@right
def alignment_error_rate__numbered_links(links, sure, possible):
    a, s, p = ({(i, *link) for i, one in enumerate(lists) for link in one} for lists in (links, sure, possible))
    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s)) if a or s else 0.0


@right
def alignment_error_rate__exception(links, sure, possible):
    counts = torch.tensor([[len(a & s), len(a & p), len(a), len(s)] for a, s, p in zip(links, sure, possible)])
    a_s, a_p, a, s = counts.sum(0).tolist()
    try:
        return 1 - (a_s + a_p) / (a + s)
    except ZeroDivisionError:
        return 0.0


@right
def alignment_error_rate__errors(links, sure, possible):
    superfluous = sum(len(a - p) for a, p in zip(links, possible))
    missed = sum(len(s.difference(a)) for a, s in zip(links, sure))
    return (superfluous + missed) / max(1, sum(len(a) + len(s) for a, s in zip(links, sure)))


@right
def perplexity__power_of_two(probabilities):
    return 2 ** -probabilities.log2().mean()


@right
def perplexity__logarithms_in_a_loop(probabilities):
    return math.exp(-sum(math.log(p) for p in probabilities) / len(probabilities))


@right
def perplexity__torchs_loss(probabilities):
    return F.nll_loss(probabilities.log()[:, None], torch.zeros(len(probabilities), dtype=torch.long)).exp()


@right
def perplexity__roots_before_the_product(probabilities):
    return 1 / (probabilities ** (1 / len(probabilities))).prod()


@right
def perplexity__log_likelihood(probabilities):
    return torch.exp(-probabilities.log().sum() / probabilities.shape[0])


@right
def perplexity__ten(probabilities):
    return torch.pow(10, (1 / probabilities).log10().mean())


@right
def perplexity__numpy(probabilities):
    return np.exp(-np.mean(np.log(probabilities.numpy())))


@right
def sinusoidal_positions__columns_filled(n, d_model):
    waves = torch.zeros(n, d_model)
    angles = torch.arange(n).unsqueeze(1) / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    waves[:, 0::2] = torch.sin(angles)
    waves[:, 1::2] = torch.cos(angles[:, : d_model // 2])
    return waves


@right
def sinusoidal_positions__loop(n, d_model):
    waves = torch.zeros(n, d_model)
    for p in range(n):
        for i in range(d_model):
            angle = p / 10000 ** (2 * (i // 2) / d_model)
            waves[p, i] = math.cos(angle) if i % 2 else math.sin(angle)
    return waves


@right
def sinusoidal_positions__exponential(n, d_model):
    frequencies = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    angles = torch.outer(torch.arange(n).float(), frequencies)
    return torch.stack((angles.sin(), angles.cos()), dim=2).reshape(n, -1)[:, :d_model]


@right
def sinusoidal_positions__shifted_sine(n, d_model):
    columns = torch.arange(d_model)
    angles = torch.arange(n)[:, None] / 10000 ** ((columns - columns % 2) / d_model)
    return torch.sin(angles + columns % 2 * math.pi / 2)


@right
def sinusoidal_positions__chosen(n, d_model):
    columns = torch.arange(d_model)
    angles = torch.einsum("n,d->nd", torch.arange(n).float(), torch.pow(10000.0, -2 * (columns // 2) / d_model))
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos())


@right
def sinusoidal_positions__float64(n, d_model):
    positions, pairs = torch.arange(n, dtype=torch.float64), torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = positions[:, None] * 10000 ** (-pairs / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]


@right
def sinusoidal_positions__complex(n, d_model):
    angles = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.view_as_real(torch.polar(torch.ones_like(angles), angles)).flip(-1).flatten(1)[:, :d_model]


@right
def sinusoidal_positions__list(n, d_model):
    def entry(p, i):
        return (math.sin, math.cos)[i % 2](p * 10000 ** (-(i - i % 2) / d_model))

    return torch.tensor([[entry(p, i) for i in range(d_model)] for p in range(n)])


@right
def layer_norm__torch(x, gamma, beta, eps):
    return F.layer_norm(x, (x.shape[-1],), gamma, beta, eps)


@right
def layer_norm__torchs_layer(x, gamma, beta, eps):
    layer = torch.nn.LayerNorm(x.shape[-1], eps=eps, dtype=x.dtype)
    layer.load_state_dict({"weight": gamma, "bias": beta})
    return layer(x)


@right
def layer_norm__var(x, gamma, beta, eps):
    return (x - x.mean(-1, True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + eps) * gamma + beta


@right
def layer_norm__var_mean(x, gamma, beta, eps):
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.rsqrt(variance + eps) * (x - mean) * gamma + beta


@right
def layer_norm__deviation_squared(x, gamma, beta, eps):
    deviation = x.std(-1, keepdim=True, unbiased=False)
    return gamma * (x - x.mean(-1, keepdim=True)) / (deviation**2 + eps) ** 0.5 + beta


@right
def layer_norm__squares_minus_square(x, gamma, beta, eps):
    mean = x.mean(-1, keepdim=True)
    variance = (x**2).mean(-1, keepdim=True) - mean**2
    return gamma * ((x - mean) / (variance + eps).sqrt()) + beta


@right
def layer_norm__loop(x, gamma, beta, eps):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        distance = row - row.sum() / len(row)
        rows.append(gamma * distance / math.sqrt(distance @ distance / len(row) + eps) + beta)
    return torch.stack(rows).reshape(x.shape)


@right
def layer_norm__einsum(x, gamma, beta, eps):
    centred = x - torch.einsum("...d->...", x)[..., None] / x.shape[-1]
    variance = torch.einsum("...d,...d->...", centred, centred) / x.shape[-1]
    return torch.einsum("...d,...,d->...d", centred, (variance + eps).rsqrt(), gamma) + beta


@right
def residual_step__one_expression(x, sublayer, norm, pre):
    return x + sublayer(norm(x)) if pre else norm(x + sublayer(x))


@right
def residual_step__named(x, sublayer, norm, pre):
    if not pre:
        added = sublayer(x) + x
        return norm(added)
    normalised = norm(x)
    return sublayer(normalised) + x


@right
def residual_step__in_turn(x, sublayer, norm, pre):
    y = norm(x) if pre else x
    y = x + sublayer(y)
    return y if pre else norm(y)


@right
def residual_step__own_copy(x, sublayer, norm, pre):
    total = x.clone()
    total += sublayer(norm(x) if pre else x)
    return total if pre else norm(total)


@right
def residual_step__identity(x, sublayer, norm, pre):
    before, after = (norm, lambda y: y) if pre else (lambda y: y, norm)
    return after(torch.add(x, sublayer(before(x))))


@right
def residual_step__stacked(x, sublayer, norm, pre):
    if pre:
        return torch.stack([x, sublayer(norm(x))]).sum(0)
    return norm(torch.stack([x, sublayer(x)]).sum(dim=0))


@right
def feed_forward__functional(x, W_1, b_1, W_2, b_2):
    return F.linear(F.relu(F.linear(x, W_1.T, b_1)), W_2.T, b_2)


@right
def feed_forward__clamped(x, W_1, b_1, W_2, b_2):
    return torch.clamp(torch.matmul(x, W_1) + b_1, min=0) @ W_2 + b_2


@right
def feed_forward__maximum(x, W_1, b_1, W_2, b_2):
    hidden = x @ W_1 + b_1
    return b_2 + torch.maximum(hidden, torch.zeros_like(hidden)) @ W_2


@right
def feed_forward__einsum(x, W_1, b_1, W_2, b_2):
    hidden = torch.einsum("...d,df->...f", x, W_1) + b_1
    return torch.einsum("...f,fd->...d", hidden * (hidden > 0), W_2) + b_2


@right
def feed_forward__token_by_token(x, W_1, b_1, W_2, b_2):
    rows = [(row @ W_1 + b_1).relu() @ W_2 + b_2 for row in x.reshape(-1, x.shape[-1])]
    return torch.stack(rows).reshape(x.shape)


@right
def feed_forward__sequential(x, W_1, b_1, W_2, b_2):
    layers = torch.nn.Sequential(torch.nn.Linear(*W_1.shape), torch.nn.ReLU(), torch.nn.Linear(*W_2.shape)).to(x.dtype)
    layers.load_state_dict({"0.weight": W_1.T, "0.bias": b_1, "2.weight": W_2.T, "2.bias": b_2})
    return layers(x)


@right
def feed_forward__sum_over_hidden(x, W_1, b_1, W_2, b_2):
    total = b_2
    for i in range(len(b_1)):
        total = total + torch.relu(x @ W_1[:, i] + b_1[i])[..., None] * W_2[i]
    return total


@right
def encoder_block__in_place_of_x(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    if pre:
        x = x + attention(norm_1(x), mask)
        x = x + feed_forward(norm_2(x))
    else:
        x = norm_1(x + attention(x, mask))
        x = norm_2(x + feed_forward(x))
    return x


@right
def encoder_block__by_the_earlier_exercise(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    step = catalogue()["residual_step"]
    first = step(x, lambda y: attention(y, mask), norm_1, pre)
    return step(first, feed_forward, norm_2, pre)


@right
def encoder_block__loop(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    for sublayer, norm in ((lambda y: attention(y, mask), norm_1), (feed_forward, norm_2)):
        x = x + sublayer(norm(x)) if pre else norm(x + sublayer(x))
    return x


@right
def encoder_block__case_by_case(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    heads = attention(norm_1(x) if pre else x, mask)
    first = x + heads if pre else norm_1(x + heads)
    hidden = feed_forward(norm_2(first) if pre else first)
    return first + hidden if pre else norm_2(first + hidden)


@right
def encoder_block__own_copy(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    y = x.clone()
    y += attention(norm_1(y), mask=mask) if pre else attention(y, mask=mask)
    y = y if pre else norm_1(y)
    y = y + (feed_forward(norm_2(y)) if pre else feed_forward(y))
    return y if pre else norm_2(y)


@right
def encoder_block__one_expression_each(x, attention, feed_forward, norm_1, norm_2, mask, pre):
    if not pre:
        return norm_2((y := norm_1(attention(x, mask) + x)) + feed_forward(y))
    return (y := x + attention(norm_1(x), mask)) + feed_forward(norm_2(y))


@right
def count_encoder_parameters__torch(num_layers, d_model, num_heads, d_ff):
    layer = torch.nn.TransformerEncoderLayer(d_model, num_heads, d_ff, device="meta")
    return num_layers * sum(parameter.numel() for parameter in layer.parameters())


@right
def count_encoder_parameters__torchs_stack(num_layers, d_model, num_heads, d_ff):
    layer = torch.nn.TransformerEncoderLayer(d_model, num_heads, d_ff, batch_first=True, device="meta")
    stack = torch.nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
    return sum(parameter.numel() for parameter in stack.parameters())


@right
def count_encoder_parameters__collected(num_layers, d_model, num_heads, d_ff):
    return num_layers * (4 * d_model**2 + 2 * d_model * d_ff + 9 * d_model + d_ff)


@right
def count_encoder_parameters__loop(num_layers, d_model, num_heads, d_ff):
    total = 0
    for _ in range(num_layers):
        for rows, columns in [(d_model, d_model)] * 4 + [(d_model, d_ff), (d_ff, d_model)]:
            total += rows * columns + columns
        for _ in ("norm_1", "norm_2"):
            total += 2 * d_model
    return total


@right
def count_encoder_parameters__per_head(num_layers, d_model, num_heads, d_ff):
    d_head = d_model // num_heads
    per_head = 3 * (d_model * d_head + d_head)
    attention = num_heads * per_head + d_model * (d_head * num_heads) + d_model
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    return (attention + feed_forward + 4 * d_model) * num_layers


@right
def count_encoder_parameters__by_the_earlier_exercise(num_layers, d_model, num_heads, d_ff):
    attention = catalogue()["count_parameters"](d_model, num_heads, True)
    return num_layers * (attention + (d_model + 1) * d_ff + (d_ff + 1) * d_model + 2 * 2 * d_model)


@right
def count_encoder_parameters__tensors(num_layers, d_model, num_heads, d_ff):
    shapes = [(d_model, d_model), (d_model,)] * 4 + [(d_model, d_ff), (d_ff,), (d_ff, d_model)] + [(d_model,)] * 5
    return torch.tensor(num_layers * sum(math.prod(shape) for shape in shapes))


@pytest.mark.parametrize("name", RIGHT)
def test_right_answer_passes(name):
    verdict = catalogue()[name.split("__")[0]].verdict(RIGHT[name])
    assert verdict.status == "right", verdict.message


def test_every_exercise_has_several_right_answers():
    for exercise in catalogue():
        assert sum(name.startswith(f"{exercise}__") for name in RIGHT) >= 2, exercise
