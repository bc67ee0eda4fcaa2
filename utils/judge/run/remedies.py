"""What to add to an exception: patterns of Python's and torch's own words (those of torch 2.13), and what they mean.

A pattern is sought in "Type: text", and where there is one for the line, that one in the learner's line, too. The
first that fits speaks. The example, "exercise: body", is an answer of which this remedy is said: the tests judge each.
"""

import re
from typing import NamedTuple


class Remedy(NamedTuple):
    name: str
    error: str
    example: str
    line: str = ""


A_SHAPE_PROBLEM = re.compile(
    r"shape|size|dimension|broadcast|1D tensors|must match|equal number of rows|Sizes of tensors", re.IGNORECASE
)
BATCH_REVERSED = re.compile(r"\.T\b|\.t\(\)|transpose\((0, 1|1, 0)\)")
REMEDIES = (
    Remedy(
        "no_such_device",
        r"not linked with support for \w+ devices|not compiled with CUDA|No CUDA GPUs|NVIDIA driver|requires .* device",
        "weighted_sum: return weights.to('cuda') @ values.to('cuda')",
    ),
    Remedy(
        "endless_recursion",
        r"^RecursionError",
        "weighted_sum: return weighted_sum(weights, values)",
    ),
    Remedy(
        "exit_instead_of_return",
        r"^SystemExit",
        "weighted_sum: exit(weights @ values)",
    ),
    Remedy(
        "too_much_memory",
        r"^MemoryError|bytes are more|tried to allocate",
        "weighted_sum: return torch.zeros(10**15)",
    ),
    Remedy(
        "none_used",
        r"'NoneType'|not NoneType|NoneType object",
        "weighted_sum: rows = []\nfor w, v in zip(weights, values):\n    rows = rows.append(w * v)\nreturn sum(rows)",
    ),
    Remedy(
        "layer_as_matrix",
        r"operand type.*'Linear'",
        "SelfAttention: return X @ self.W_v, X",
        line=r"self\.\w+",
    ),
    Remedy(
        "layer_not_called",
        r"operand type.*'(ReLU|GELU|Linear|LayerNorm|Softmax)'",
        "feed_forward: return nn.ReLU(x @ W_1 + b_1) @ W_2 + b_2",
    ),
    Remedy(
        "at_with_a_number",
        r"at least 1D|operand type.* for @: .*'(float|int)'",
        "weighted_sum: return sum(weights[i] @ values[i] for i in range(len(weights)))",
    ),
    Remedy(
        "tuple_used",
        r"unsupported operand.*('tuple'|linalg_)|'tuple' object has no attribute|must be Tensor, not tuple",
        "likeness_to_others: s = torch.linalg.svd(vectors)\nreturn (s**2).sum(1)",
    ),
    Remedy(
        "slice_backwards",
        r"step must be greater than zero",
        "nearest: return (matrix @ query).argsort()[::-1][:count]",
    ),
    Remedy(
        "is_instead_of_equal",
        r"'bool' object",
        "padding_mask: return (tokens is not pad_id)[:, None, None]",
        line=r"\bis\b",
    ),
    Remedy(
        "triangle_of_a_vector",
        r"tri[lu]\b.*(not int|at least 2 dimensions)",
        "causal_mask: return torch.tril(torch.ones(n)).bool()",
    ),
    Remedy(
        "no_such_axis",
        r"Dimension out of range",
        "weighted_sum: return (weights[:, None] * values).sum(2)",
    ),
    Remedy(
        "bmm_of_matrices",
        r"must be a 3D tensor",
        "weighted_sum: return torch.bmm(weights, values)",
        line=r"bmm",
    ),
    Remedy(
        "float_as_size",
        r"ints?, ?(but got|not) float|'float' object cannot be interpreted|repeat_interleave\(\).*got \((Tensor, )?float",
        "split_heads: return projected.view(*projected.shape[:-1], num_heads, projected.shape[-1] / num_heads).transpose(-3, -2)",
    ),
    Remedy(
        "softmax_axis",
        r"softmax\(\).*must be int, not Tensor",
        "softmax: return torch.softmax(scores, scores.amax())",
    ),
    Remedy(
        "max_returns_two",
        r"return_types",
        "softmax: return torch.softmax(scores - scores.max(dim=-1, keepdim=True), -1)",
    ),
    Remedy(
        "function_not_called",
        r"builtin_function_or_method|'method'|'function'",
        "dot_product: return (a * b).sum / 1",
    ),
    Remedy(
        "norm_argument",
        r"norm\(\) got an unexpected keyword",
        "nearest: return (matrix @ query / matrix.norm(axis=1)).topk(count).indices",
    ),
    Remedy(
        "numpy_mixed_in",
        r"^TypeError",
        "dot_product: return np.sum(a * b)",
        line=r"\bnp\.|numpy",
    ),
    Remedy(
        "tensor_of_tensors",
        r"only one element tensors",
        "weighted_sum: return torch.tensor([w * v for w, v in zip(weights, values)]).sum(0)",
        line=r"torch\.tensor\(",
    ),
    Remedy(
        "topk_of_too_many",
        r"selected index k out of range",
        "nearest: return (matrix @ query).topk(2 * len(matrix)).indices",
    ),
    Remedy(
        "math_of_a_tensor",
        r"only one element tensors|can be converted to Python scalars",
        "softmax: return math.exp(scores) / sum(math.exp(scores))",
        line=r"\bmath\.|(?<![.\w])(exp|sqrt|log|sin|cos|tanh)\(",
    ),
    Remedy(
        "max_of_two_tensors",
        r"Boolean value of Tensor",
        "feed_forward: return max(0, x @ W_1 + b_1) @ W_2 + b_2",
        line=r"(?<![.\w])(max|min)\([^()]*,",
    ),
    Remedy(
        "max_of_a_tensor",
        r"Boolean value of Tensor",
        "softmax: e = torch.exp(scores - max(scores))\nreturn e / e.sum(-1, keepdim=True)",
        line=r"(?<![.\w])(max|min)\(",
    ),
    Remedy(
        "layer_in_float32",
        r"mixed dtype",
        "layer_norm: return nn.LayerNorm(x.shape[-1], eps=eps)(x) * gamma + beta",
        line=r"nn\.",
    ),
    Remedy(
        "unpacked_one",
        r"unpack",
        "attend: weights, _ = torch.softmax(keys @ query / math.sqrt(len(query)), 0)\nreturn weights @ values",
        line=r"=(?!.*size\(\)).*\)$",
    ),
    Remedy(
        "einsum_string_first",
        r"Boolean value of Tensor",
        "weighted_sum: return torch.einsum(weights, values, 'k,kv->v')",
        line=r"einsum\((?![\"'])",
    ),
    Remedy(
        "truth_of_a_tensor",
        r"Boolean value of Tensor",
        "sliding_window_mask: d = torch.arange(n)[:, None] - torch.arange(n)\nreturn 0 <= d < width",
    ),
    Remedy(
        "einsum_letters",
        r"subscripts in the equation|einsum\(\)",
        "weighted_sum: return torch.einsum('bk,kv->bv', weights, values)",
    ),
    Remedy(
        "root_of_a_negative",
        r"math domain error|expected a (positive|nonnegative) input",  # Python's words to 3.13, and from 3.14
        "magnitude: return math.sqrt(-sum(a * a))",
    ),
    Remedy(
        "too_large",
        r"math range error|OverflowError",
        "softmax: return scores.exp() / math.exp(1000)",
    ),
    Remedy(
        "cross_entropy_order",
        r"log_softmax.*'Long'|nll_loss.*not implemented",
        "weighted_sum: return F.cross_entropy(torch.tensor([0, 1]), weights[:2])",
    ),
    Remedy(
        "two_precisions",
        r"expected scalar type|same dtype",
        "weighted_sum: return weights.float() @ values",
        line=r"\.float\(\)",
    ),
    Remedy(
        "mask_minus",
        r"invert a mask|with a bool tensor is not supported",
        "masked_softmax: return scores.masked_fill(1 - mask, -torch.inf).softmax(-1)",
    ),
    Remedy(
        "inverted_numbers",
        r"operator\.invert|bitwise_not|unary ~",
        "masked_softmax: return scores.masked_fill(~mask.float(), -torch.inf).softmax(-1)",
    ),
    Remedy(
        "and_before_comparison",
        r"bitwise_and|bitwise_or|unsupported operand type\(s\) for [&|].*'(float|Tensor)'",
        "sliding_window_mask: i = torch.arange(float(n))\nd = i[:, None] - i\nreturn d >= 0 & d < width",
    ),
    Remedy(
        "product_of_booleans",
        r"\"(addmm|addmv|addbmm|baddbmm|bmm|dot|mv)\w*\" not implemented for 'Bool'",
        "weighted_sum: return (weights > 0) @ (values > 0)",
    ),
    Remedy(
        "two_kinds_of_numbers",
        r"^(RuntimeError|NotImplementedError).*(dtype|scalar type|not implemented for ')",
        "weighted_sum: return torch.tensor(weights.tolist()) @ values",
    ),
    Remedy(
        "permute_of_all_axes",
        r"permute.*of dimensions",
        "weighted_sum: return weights @ values.permute(0, 2, 1)",
    ),
    Remedy(
        "number_of_axes",
        r"unpack|tuple index|at least 2 dimensions",
        "attention_scores: b, k, e = keys.shape\nreturn keys @ query / math.sqrt(e)",
        line=r"shape|size|dim|mT|transpose|permute|tril|triu|unbind|\.T\b|softmax|sum|mean|stack",
    ),
    Remedy(
        "pairs_of_two_lists",
        r"unpack",
        "alignment_error_rate: both = 0\nfor a, s in links, sure:\n    both += len(a & s)\nreturn 1 - both / len(links)",
        line=r"\bfor .* in [^(]*$",
    ),
    Remedy(
        "operator_of_lists",
        r"unsupported operand.*'list'",
        "alignment_error_rate: return 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(sure))",
    ),
    Remedy(
        "set_of_sets",
        r"unhashable type: '(set|list)'",
        "alignment_error_rate: return 1 - len(set(links) & set(sure)) / len(links)",
    ),
    Remedy(
        "sum_of_sets",
        r"'set' and 'set'",
        "alignment_error_rate: return 1 - sum(len(a + s) for a, s in zip(links, sure)) / len(links)",
    ),
    Remedy(
        "index_not_found",
        r"is not in (list|deque)|x not in (list|tuple)|not in tuple",
        "induction_target: s = symbols.tolist()\nreturn torch.tensor([s[:i].index(one) + 1 for i, one in enumerate(s)])",
    ),
    Remedy(
        "layer_as_function",
        r"__init__\(\) takes 1 positional",
        "elman_step: return nn.Tanh(x @ W + state @ U + bias)",
        line=r"nn\.",
    ),
    Remedy(
        "division_by_zero",
        r"^ZeroDivisionError",
        "alignment_error_rate: return 1 - sum(len(a & s) ** 2 for a, s in zip(links, possible)) / sum(map(len, sure))",
    ),
    Remedy(
        "number_of_entries",
        r"^IndexError: (list )?index.*out of|unpack",
        "attend: a, b, c = values\nreturn (a + b + c) / 3",
        line=r"\[-?\d+(, ?-?\d+)*\]|^[^=\[]*,.*=",
    ),
    Remedy(
        "position_past_the_end",
        r"^(Index|Runtime)Error.*out of (range|bounds)",
        "weighted_sum: return sum(weights[2 * i].exp() * values[2 * i].exp() for i in range(len(weights)))",
    ),
    Remedy(
        "mask_as_index",
        r"mask .*does not match the shape of the indexed tensor",
        "look_back: return torch.softmax(M[mask[..., None]], -1), M",
    ),
    Remedy(
        "floats_as_positions",
        r"tensors used as indices must be|indices must be integers.*(not float|or None)|converted to an index",
        "weighted_sum: return values[weights]",
    ),
    Remedy(
        "result_instead_of_function",
        r"'Tensor' object is not callable|missing \d+ required positional argument",
        "encoder_block: def step(x, sublayer, norm):\n    return x + sublayer(norm(x))\nreturn step(step(x, attention(x, mask), norm_1), feed_forward, norm_2)",
        line=r"^(?!.*\(\)).*\b(norm|sublayer|attention|feed_forward|lambda|residual_step)",
    ),
    Remedy(
        "call_of_no_function",
        r"'Tensor' object is not callable|'(float|int|tuple|list)' object is not callable",
        "weighted_sum: return weights(values)",
    ),
    Remedy(
        "no_such_method",
        r"Tensor.*has no attribute",
        "weighted_sum: return weights.dot_product(values)",
    ),
    Remedy(
        "list_instead_of_tensor",
        r"'list' object has no attribute|must be Tensor, not list",
        "weighted_sum: return [w * v for w, v in zip(weights, values)].sum(0)",
    ),
    Remedy(
        "one_hot_classes",
        r"Class values must be smaller",
        "one_hot: return F.one_hot(token_ids, len(token_ids)).float()",
    ),
    Remedy(
        "no_such_name",
        r"has no attribute",
        "magnitude: return torch.magnitude(a)",
    ),
    Remedy(
        "number_before_tensor",
        r"position 1\) must be Tensor, not (int|float|bool)",
        "one_hot: return F.one_hot(vocabulary_size, token_ids).float()",
        line=r"\b(F|functional|torch)\.(one_hot|topk|softmax|gather|sum|mean|index_select)\(\w+, ",
    ),
    Remedy(
        "number_instead_of_tensor",
        r"must be Tensor, not (int|float|bool)",
        "attention_scores: return keys @ query / torch.sqrt(len(query))",
    ),
    Remedy(
        "max_of_a_number",
        r"max\(\) received an invalid|max\(\): argument",
        "feed_forward: return torch.max(x @ W_1 + b_1, 0.0) @ W_2 + b_2",
    ),
    Remedy(
        "wrong_arguments",
        r"missing \d+ required positional argument|positional arguments? but|unexpected keyword|received an invalid combination|missing a required",
        "attend: return torch.softmax(keys @ query / math.sqrt(len(query))) @ values",
    ),
    Remedy(
        "changed_in_place",
        r"requires grad|leaf Variable|is a view of a leaf",
        "SelfAttention: return torch.from_numpy(self.W_v(X).numpy()), X",
    ),
    Remedy(
        "not_yet_set",
        r"UnboundLocalError",
        "weighted_sum: for w, v in zip(weights, values):\n    total += w * v\nreturn total",
    ),
    Remedy(
        "view_after_exchange",
        r"view size is not compatible",
        "split_heads: return projected.mT.view(num_heads, -1)",
    ),
    Remedy(
        "reshape_of_other_size",
        r"is invalid for input of size|shape '|don't multiply up",
        "weighted_sum: return values.reshape(weights.shape)",
    ),
    Remedy(
        "sizes_in_brackets",
        r"must be tuple of ints, not int",
        "split_heads: return projected.unflatten(-1, num_heads).transpose(-3, -2)",
    ),
    Remedy(
        "stacked_shapes",
        r"stack expects each tensor to be equal size|Sizes of tensors must match|must have same number of dimensions",
        "weighted_sum: return torch.stack([weights, values]).sum(0)",
    ),
    Remedy(
        "nothing_collected",
        r"empty TensorList|non-empty list|reduce\(\) of empty",
        "weighted_sum: rows = []\nfor w, v in zip(weights, values):\n    w * v\nreturn torch.stack(rows).sum(0)",
    ),
    Remedy(
        "nothing_to_choose_from",
        r"(min|max)\(\) (arg|iterable argument) is (an )?empty",
        "weighted_sum: return max([w for w in weights if w > 2]) * values.sum(0)",
    ),
    Remedy(
        "assigned_into",
        r"not support item assignment|immutable",
        "output_shape: shape = (n_queries, n_keys)\nshape[1] = d_value\nreturn shape",
    ),
    Remedy(
        "loop_over_a_number",
        r"'int' object is not iterable",
        "weighted_sum: total = 0\nfor i in len(weights):\n    total += weights[i] * values[i]\nreturn total",
        line=r"\bfor\b",
    ),
    Remedy(
        "generator_indexed",
        r"'(generator|map|zip|filter|set)' (object is not subscriptable|has no len)",
        "weighted_sum: return sum(map(torch.mul, weights, values)[:-1])",
    ),
    Remedy(
        "number_instead_of_several",
        r"not iterable|0-d tensor|not subscriptable|has no len|dimension specified as 0 but tensor has no|invalid index of a 0-dim",
        "dot_product: return sum(a @ b)",
    ),
    Remedy(
        "does_not_fit_the_tensor",
        r"value cannot be converted|can't be cast|result type .* can't",
        "weighted_sum: total = torch.zeros(values.shape[1], dtype=torch.long)\nfor w, v in zip(weights, values):\n    total += w * v\nreturn total",
    ),
    Remedy(
        "fixed_number_of_axes",
        r"must be a (3D tensor|matrix)|1D tensors expected|must be 2-D|Expected 1-D argument|only supports|expected a matrix|matrix @ vector expected",
        "attention_scores: return torch.outer(query, keys)",
    ),
)
