"""What to add to an exception: patterns of Python's and torch's own words (those of torch 2.13), and what they mean.

A pattern is sought in "Type: text", and where there is one for the line, that one in the learner's line, too. The
first that fits speaks. The example, "exercise: body", is an answer of which this remedy is said: the tests judge each.
"""

import re
from typing import NamedTuple


class Remedy(NamedTuple):
    error: str
    text: str
    example: str
    line: str = ""


PRODUCTS = (  # torch's words for the two shapes of a matrix, matrix-vector or vector product that do not fit
    r"mat1 and mat2 shapes cannot be multiplied \((?P<left>\d+x\d+) and (?P<right>\d+x\d+)\)",
    r"size mismatch, got input \(\d+\), mat \((?P<left>\d+x\d+)\), vec \((?P<right>\d+)\)",
    r"inconsistent tensor size, expected tensor \[(?P<left>\d+)\] and src \[(?P<right>\d+)\].*",
    r"Expected size for first two dimensions of batch2 tensor to be: \[(?P<left>\d+, \d+)\] but got: \[(?P<right>\d+, \d+)\].*",
)
BROADCAST = r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension \d+"
A_SHAPE_PROBLEM = re.compile(
    r"shape|size|dimension|broadcast|1D tensors|must match|equal number of rows|Sizes of tensors", re.IGNORECASE
)
BATCH_REVERSED = re.compile(r"\.T\b|\.t\(\)|transpose\((0, 1|1, 0)\)")
BATCH_REMEDY = (
    "`.T` exchanges all the axes, and transpose(0, 1) the first two, the batch among them. Exchange the last two only: "
    ".transpose(-2, -1), or .mT."
)

REMEDIES = (
    Remedy(
        r"^RecursionError",
        "the function calls itself, without end.",
        "weighted_sum: return weighted_sum(weights, values)",
    ),
    Remedy(
        r"^SystemExit",
        "a function ends with return, not with exit() or quit().",
        "weighted_sum: exit(weights @ values)",
    ),
    Remedy(
        r"^MemoryError|bytes are more|tried to allocate",
        "that takes more memory than there is. What is so large there? The inputs have few numbers.",
        "weighted_sum: return torch.zeros(10**15)",
    ),
    Remedy(
        r"'NoneType'|not NoneType|NoneType object",
        "None stands there. Does an argument come in as None? Or is it what append, sort or reverse gives back? They change a list in place, and need a line of their own.",
        "weighted_sum: rows = []\nfor w, v in zip(weights, values):\n    rows = rows.append(w * v)\nreturn sum(rows)",
    ),
    Remedy(
        r"operand type.*'Linear'",
        "a layer that a module keeps is called like a function, with a tensor in its brackets.",
        "SelfAttention: return X @ self.W_v, X",
        line=r"self\.\w+",
    ),
    Remedy(
        r"operand type.*'(ReLU|GELU|Linear|LayerNorm|Softmax)'",
        "the layer is made in that call, and has to be called on a tensor: nn.ReLU()(x), or torch.relu(x).",
        "feed_forward: return nn.ReLU(x @ W_1 + b_1) @ W_2 + b_2",
    ),
    Remedy(
        r"at least 1D|operand type.* for @: .*'(float|int)'",
        "@ multiplies two tensors, vectors or matrices; with a single number it is *.",
        "weighted_sum: return sum(weights[i] @ values[i] for i in range(len(weights)))",
    ),
    Remedy(
        r"unsupported operand.*('tuple'|linalg_)|'tuple' object has no attribute|must be Tensor, not tuple",
        "a tuple of several tensors stands there (svd, sort, topk, max with dim, …): take the one that is meant.",
        "likeness_to_others: s = torch.linalg.svd(vectors)\nreturn (s**2).sum(1)",
    ),
    Remedy(
        r"step must be greater than zero",
        "a tensor cannot be sliced backwards: .flip(0) turns it round, and sort takes descending=True.",
        "nearest: return (matrix @ query).argsort()[::-1][:count]",
    ),
    Remedy(
        r"'bool' object",
        "`is` and `is not` ask once whether two things are one and the same object. == and != compare entry by entry.",
        "padding_mask: return (tokens is not pad_id)[:, None, None]",
        line=r"\bis\b",
    ),
    Remedy(
        r"tri[lu]\b.*(not int|at least 2 dimensions)",
        "tril and triu keep a triangle of a matrix. torch.ones(n, n) is a matrix, torch.ones(n) a vector, n a number.",
        "causal_mask: return torch.tril(torch.ones(n)).bool()",
    ),
    Remedy(
        r"Dimension out of range",
        "there is no such axis: axes count from 0, or from the end with -1.",
        "weighted_sum: return (weights[:, None] * values).sum(2)",
    ),
    Remedy(
        r"must be a 3D tensor",
        "bmm takes batches, three axes each; two matrices, or any number of axes, take @.",
        "weighted_sum: return torch.bmm(weights, values)",
        line=r"bmm",
    ),
    Remedy(
        r"ints?, ?(but got|not) float|'float' object cannot be interpreted|repeat_interleave\(\).*got \((Tensor, )?float",
        "`/` always gives a float. A size is whole: `//`.",
        "split_heads: return projected.view(*projected.shape[:-1], num_heads, projected.shape[-1] / num_heads).transpose(-3, -2)",
    ),
    Remedy(
        r"softmax\(\).*must be int, not Tensor",
        "the second argument of softmax is the axis: dim=-1.",
        "softmax: return torch.softmax(scores, scores.amax())",
    ),
    Remedy(
        r"return_types",
        "`max` with dim, like sort and topk, returns values and positions: take `.values`, or use `amax`.",
        "softmax: return torch.softmax(scores - scores.max(dim=-1, keepdim=True), -1)",
    ),
    Remedy(
        r"builtin_function_or_method|'method'|'function'",
        "a function stands where its result is meant: add ().",
        "dot_product: return (a * b).sum / 1",
    ),
    Remedy(
        r"norm\(\) got an unexpected keyword",
        "that norm takes no such argument. Along an axis it is torch.linalg.vector_norm(x, dim=…).",
        "nearest: return (matrix @ query / matrix.norm(axis=1)).topk(count).indices",
    ),
    Remedy(
        r"^TypeError",
        "NumPy and torch are mixed. The inputs are tensors: use torch.sum, torch.sqrt and the like.",
        "dot_product: return np.sum(a * b)",
        line=r"\bnp\.|numpy",
    ),
    Remedy(
        r"only one element tensors",
        "torch.tensor makes a tensor of Python's numbers; torch.stack makes one of tensors.",
        "weighted_sum: return torch.tensor([w * v for w, v in zip(weights, values)]).sum(0)",
        line=r"torch\.tensor\(",
    ),
    Remedy(
        r"selected index k out of range",
        "topk is asked for more than there are along that axis.",
        "nearest: return (matrix @ query).topk(2 * len(matrix)).indices",
    ),
    Remedy(
        r"only one element tensors|can be converted to Python scalars",
        "math's functions take one number; torch.sin, torch.sqrt, … a tensor.",
        "softmax: return math.exp(scores) / sum(math.exp(scores))",
        line=r"\bmath\.",
    ),
    Remedy(
        r"Boolean value of Tensor",
        "Python's max and min ask of two things which is larger as a whole, and two tensors have an answer for each entry. Entry by entry: torch.relu, torch.maximum, or clamp(min=…).",
        "feed_forward: return max(0, x @ W_1 + b_1) @ W_2 + b_2",
        line=r"(?<![.\w])(max|min)\([^()]*,",
    ),
    Remedy(
        r"Boolean value of Tensor",
        "Python's max and min go through a tensor row by row. The largest of all: .max(); of each row: .amax(dim=-1, keepdim=True); entry by entry: torch.maximum, or clamp(min=…).",
        "softmax: e = torch.exp(scores - max(scores))\nreturn e / e.sum(-1, keepdim=True)",
        line=r"(?<![.\w])(max|min)\(",
    ),
    Remedy(
        r"mixed dtype",
        "the layer has parameters of its own, in float32: does it use those that are given?",
        "layer_norm: return nn.LayerNorm(x.shape[-1], eps=eps)(x) * gamma + beta",
        line=r"nn\.",
    ),
    Remedy(
        r"unpack",
        "what is called there returns one tensor, or another number of things than there are names on the left.",
        "attend: weights, _ = torch.softmax(keys @ query / math.sqrt(len(query)), 0)\nreturn weights @ values",
        line=r"=(?!.*size\(\)).*\)$",
    ),
    Remedy(
        r"Boolean value of Tensor",
        "einsum takes its string first, then the tensors in its order.",
        "weighted_sum: return torch.einsum(weights, values, 'k,kv->v')",
        line=r"einsum\((?![\"'])",
    ),
    Remedy(
        r"Boolean value of Tensor",
        "`and`, `or`, `not`, `if` and `a < b < c` ask for a single truth. Join comparisons of tensors with &, |, ~, each in brackets.",
        "sliding_window_mask: d = torch.arange(n)[:, None] - torch.arange(n)\nreturn 0 <= d < width",
    ),
    Remedy(
        r"subscripts in the equation|einsum\(\)",
        "einsum takes one letter for each axis; `...` stands for any number of axes, as in `...ne`. A letter means one length.",
        "weighted_sum: return torch.einsum('bk,kv->bv', weights, values)",
    ),
    Remedy(
        r"math domain error|expected a (positive|nonnegative) input",  # Python's words to 3.13, and from 3.14
        "that is the root of a negative number, or the logarithm of 0 or of a negative one.",
        "magnitude: return math.sqrt(-sum(a * a))",
    ),
    Remedy(
        r"math range error|OverflowError",
        "a number became too large: exp of something large?",
        "softmax: return scores.exp() / math.exp(1000)",
    ),
    Remedy(
        r"log_softmax.*'Long'|nll_loss.*not implemented",
        "cross_entropy takes the logits first, then the targets.",
        "sequence_cross_entropy: return F.cross_entropy(targets[mask], logits[mask])",
    ),
    Remedy(
        r"expected scalar type|same dtype",
        "two precisions meet; .float() always gives float32. `.to({first}.dtype)` gives what the input has.",
        "weighted_sum: return weights.float() @ values",
        line=r"\.float\(\)",
    ),
    Remedy(
        r"invert a mask|with a bool tensor is not supported",
        "a mask of True and False is inverted by ~: 1 - mask and -mask are for numbers.",
        "masked_mean: return outputs.masked_fill((1 - mask)[..., None], 0).sum(1) / mask.sum(1, keepdim=True)",
    ),
    Remedy(
        r"operator\.invert|bitwise_not|unary ~",
        "~ turns True and False round, and this is a tensor of numbers: a comparison makes a mask of it.",
        "masked_mean: return outputs.masked_fill(~mask.float()[..., None], 0).sum(1) / mask.sum(1, keepdim=True)",
    ),
    Remedy(
        r"bitwise_and|bitwise_or|unsupported operand type\(s\) for [&|].*'(float|Tensor)'",
        "& and | bind more tightly than a comparison: each comparison in brackets.",
        "sliding_window_mask: i = torch.arange(float(n))\nd = i[:, None] - i\nreturn d >= 0 & d < width",
    ),
    Remedy(
        r"^(RuntimeError|NotImplementedError).*(dtype|scalar type|not implemented for ')",
        "two kinds of numbers meet. Which tensor did you make yourself? torch.zeros and torch.tensor take dtype=…; a mask of bools becomes numbers by .to({first}.dtype).",
        "weighted_sum: return torch.tensor(weights.tolist()) @ values",
    ),
    Remedy(
        r"permute.*of dimensions",
        "permute takes all the axes, and the number of axes varies, or is another. Count them from the end, as in x.mT and x.transpose(-2, -1).",
        "weighted_sum: return weights @ values.permute(0, 2, 1)",
    ),
    Remedy(
        r"unpack|tuple index|at least 2 dimensions",
        "the number of axes varies, or is another. Count them from the end, as in x.shape[-1] and dim=-1.",
        "attention_scores: b, k, e = keys.shape\nreturn keys @ query / math.sqrt(e)",
        line=r"shape|size|dim|mT|transpose|permute|tril|triu|unbind|\.T\b|softmax|sum|mean|stack",
    ),
    Remedy(
        r"unpack",
        "`for a, b in …` takes one pair at a time: zip(x, y) makes pairs of two lists.",
        "alignment_error_rate: both = 0\nfor a, s in links, sure:\n    both += len(a & s)\nreturn 1 - both / len(links)",
        line=r"\bfor .* in [^(]*$",
    ),
    Remedy(
        r"unsupported operand.*'list'",
        "that is a list: & and / work on its entries, not on the list. Go through lists together, with zip, or make one tensor of tensors, by torch.stack.",
        "alignment_error_rate: return 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(sure))",
    ),
    Remedy(
        r"unhashable type: '(set|list)'",
        "sets and lists cannot be put into a set themselves. Here they are the entries of a list: go through it one by one.",
        "alignment_error_rate: return 1 - len(set(links) & set(sure)) / len(links)",
    ),
    Remedy(
        r"'set' and 'set'",
        "sets cannot be added. & is what both have, | what either has; len counts.",
        "alignment_error_rate: return 1 - sum(len(a + s) for a, s in zip(links, sure)) / len(links)",
    ),
    Remedy(
        r"is not in (list|deque)|x not in (list|tuple)|not in tuple",
        "`index` finds the first place of something, and raises this where there is none. If that may happen, ask `in` before; if it may not, something else is looked for than what stands there.",
        "induction_target: s = symbols.tolist()\nreturn torch.tensor([s[:i].index(one) + 1 for i, one in enumerate(s)])",
    ),
    Remedy(
        r"__init__\(\) takes 1 positional",
        "that is a layer, made first and called then; torch.tanh is a function.",
        "elman_step: return nn.Tanh(x @ W + state @ U + bias)",
        line=r"nn\.",
    ),
    Remedy(
        r"^ZeroDivisionError",
        "what is empty or 0 there? The docstring says what is asked for in such a case.",
        "alignment_error_rate: return 1 - sum(len(a & s) ** 2 for a, s in zip(links, possible)) / sum(map(len, sure))",
    ),
    Remedy(
        r"^IndexError: (list )?index.*out of|unpack",
        "the number of entries varies: what you write has to fit any, as a loop over range(len(…)) does, or @.",
        "attend: a, b, c = values\nreturn (a + b + c) / 3",
        line=r"\[-?\d+(, ?-?\d+)*\]|^[^=\[]*,.*=",
    ),
    Remedy(
        r"^(Index|Runtime)Error.*out of (range|bounds)",
        "a position runs past the end: positions count from 0 to length - 1.",
        "weighted_sum: return sum(weights[2 * i].exp() * values[2 * i].exp() for i in range(len(weights)))",
    ),
    Remedy(
        r"mask .*does not match the shape of the indexed tensor",
        "a mask as an index has to have the very axes that it picks from; masked_fill and torch.where broadcast it.",
        "masked_mean: return outputs[mask[..., None]].mean(0)",
    ),
    Remedy(
        r"tensors used as indices must be|indices must be integers.*(not float|or None)|converted to an index",
        "positions are whole numbers (or truths): .long() makes them whole, of a single number int(…).",
        "weighted_sum: return values[weights]",
    ),
    Remedy(
        r"'Tensor' object is not callable|missing \d+ required positional argument",
        "a function is asked for there, and its result is handed over, or one of other arguments: pass the function itself, or a lambda that calls it.",
        "encoder_block: def step(x, sublayer, norm):\n    return x + sublayer(norm(x))\nreturn step(step(x, attention(x, mask), norm_1), feed_forward, norm_2)",
        line=r"^(?!.*\(\)).*\b(norm|sublayer|attention|feed_forward|lambda|residual_step)",
    ),
    Remedy(
        r"'Tensor' object is not callable|'(float|int|tuple|list)' object is not callable",
        "something that is no function is called with (): is an operator missing before the bracket, or has a name been given twice?",
        "weighted_sum: return weights(values)",
    ),
    Remedy(
        r"Tensor.*has no attribute",
        "a tensor has no such method. Which one of torch's is meant: .sum, .mT, .clone, .argmax?",
        "weighted_sum: return weights.dot_product(values)",
    ),
    Remedy(
        r"'list' object has no attribute|must be Tensor, not list",
        "that is a Python list. torch.stack makes one tensor of a list of tensors.",
        "weighted_sum: return [w * v for w, v in zip(weights, values)].sum(0)",
    ),
    Remedy(
        r"Class values must be smaller",
        "one_hot counts classes from 0 to num_classes - 1: how many does it take for the largest number that comes in?",
        "one_hot: return F.one_hot(token_ids, len(token_ids)).float()",
    ),
    Remedy(
        r"has no attribute",
        "the name after the dot does not exist there. Is it spelled as in the docs?",
        "magnitude: return torch.magnitude(a)",
    ),
    Remedy(
        r"position 1\) must be Tensor, not (int|float|bool)",
        "a number stands first, where a tensor is asked for: are the arguments in the right order?",
        "one_hot: return F.one_hot(vocabulary_size, token_ids).float()",
        line=r"\b(F|functional|torch)\.(one_hot|topk|softmax|gather|sum|mean|index_select)\(\w+, ",
    ),
    Remedy(
        r"must be Tensor, not (int|float|bool)",
        "a number stands where a tensor is asked for: math.sqrt and the like take numbers; clamp(min=…) takes the place of torch.maximum.",
        "attention_scores: return keys @ query / torch.sqrt(len(query))",
    ),
    Remedy(
        r"max\(\) received an invalid|max\(\): argument",
        "max finds the largest of one tensor. Entry by entry against a number: clamp(min=0), or torch.relu.",
        "feed_forward: return torch.max(x @ W_1 + b_1, 0.0) @ W_2 + b_2",
    ),
    Remedy(
        r"missing \d+ required positional argument|positional arguments? but|unexpected keyword|received an invalid combination|missing a required",
        "that call gets other arguments than the function takes: which are they, and in which order?",
        "attend: return torch.softmax(keys @ query / math.sqrt(len(query))) @ values",
    ),
    Remedy(
        r"requires grad|leaf Variable|is a view of a leaf",
        "what is trained goes in here: it must not be changed in place, nor leave torch by numpy().",
        "SelfAttention: return torch.from_numpy(self.W_v(X).numpy()), X",
    ),
    Remedy(
        r"UnboundLocalError",
        "that name has no value yet where this line reads it: it is set further down, or in an `if` or a loop that was not run. Is an else missing, or a value above the loop?",
        "weighted_sum: for w, v in zip(weights, values):\n    total += w * v\nreturn total",
    ),
    Remedy(
        r"view size is not compatible",
        "after an exchange of axes the numbers lie in another order, and view cannot follow: reshape copies them where it has to.",
        "split_heads: return projected.mT.view(num_heads, -1)",
    ),
    Remedy(
        r"is invalid for input of size|shape '|don't multiply up",
        "reshape, view and unflatten keep the number of entries: the lengths on both sides have to multiply to the same.",
        "weighted_sum: return values.reshape(weights.shape)",
    ),
    Remedy(
        r"must be tuple of ints, not int",
        "several sizes are asked for, in brackets: (2, 3). A size of -1 is found by itself, as in (2, -1).",
        "split_heads: return projected.unflatten(-1, num_heads).transpose(-3, -2)",
    ),
    Remedy(
        r"stack expects each tensor to be equal size|Sizes of tensors must match|must have same number of dimensions",
        "what is put together has to have the same shape, but for the axis along which cat joins: which part has another one?",
        "weighted_sum: return torch.stack([weights, values]).sum(0)",
    ),
    Remedy(
        r"empty TensorList|non-empty list|reduce\(\) of empty|(min|max)\(\) (arg|iterable argument) is (an )?empty",
        "nothing has been collected: does the loop run at all, and does it append?",
        "weighted_sum: rows = []\nfor w, v in zip(weights, values):\n    w * v\nreturn torch.stack(rows).sum(0)",
    ),
    Remedy(
        r"not support item assignment|immutable",
        "that cannot be assigned into: build a list, or a tensor by torch.zeros.",
        "output_shape: shape = (n_queries, n_keys)\nshape[1] = d_value\nreturn shape",
    ),
    Remedy(
        r"'int' object is not iterable",
        "a number cannot be gone through, a range can: range(n) runs from 0 to n - 1.",
        "weighted_sum: total = 0\nfor i in len(weights):\n    total += weights[i] * values[i]\nreturn total",
        line=r"\bfor\b",
    ),
    Remedy(
        r"'(generator|map|zip|filter|set)' (object is not subscriptable|has no len)",
        "there is no list there yet, so nothing to count or to pick by its place: list(…) makes one.",
        "weighted_sum: return sum(map(torch.mul, weights, values)[:-1])",
    ),
    Remedy(
        r"not iterable|0-d tensor|not subscriptable|has no len|dimension specified as 0 but tensor has no|invalid index of a 0-dim",
        "a single number stands where several are meant: what has been added up too early?",
        "dot_product: return sum(a @ b)",
    ),
    Remedy(
        r"value cannot be converted|can't be cast|result type .* can't",
        "the numbers do not fit the tensor that they are written into: make it with dtype=….",
        "weighted_sum: total = torch.zeros(values.shape[1], dtype=torch.long)\nfor w, v in zip(weights, values):\n    total += w * v\nreturn total",
    ),
    Remedy(
        r"must be a (3D tensor|matrix)|1D tensors expected|must be 2-D|Expected 1-D argument|only supports|expected a matrix|matrix @ vector expected",
        "that function takes a fixed number of axes, and what it gets has others: @ takes any number of them.",
        "attention_scores: return torch.outer(query, keys)",
    ),
)
