"""What to add to an exception: patterns of Python's and torch's own words (those of torch 2.13), and what they mean.

A pattern is sought in "Type: text", and where a second one is given, that one in the learner's line, too.
"""

import re
from typing import NamedTuple


class Remedy(NamedTuple):
    error: str
    text: str
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
    Remedy(r"^RecursionError", "the function calls itself, without end."),
    Remedy(r"^SystemExit", "a function ends with return, not with exit() or quit()."),
    Remedy(r"^MemoryError|bytes are more|tried to allocate", "that takes more memory than there is. What is so large there? The inputs have few numbers."),
    Remedy(r"operand type.*'Linear'", "a layer that a module keeps is called like a function, with a tensor in its brackets.", r"self\.\w+"),
    Remedy(
        r"operand type.*'(ReLU|GELU|Linear|LayerNorm|Softmax)'",
        "the layer is made in that call, and has to be called on a tensor: nn.ReLU()(x), or torch.relu(x).",
    ),
    Remedy(r"at least 1D|operand type.* for @", "@ multiplies two tensors, vectors or matrices; with a single number it is *."),
    Remedy(r"bitwise_xor|for \^", "`^` is no power in Python: `**` is."),
    Remedy(r"unsupported operand.*'tuple'|'tuple' object has no attribute|must be Tensor, not tuple", "a tuple of several tensors stands there (svd, sort, topk, max with dim, …): take the one that is meant."),
    Remedy(r"step must be greater than zero", "a tensor cannot be sliced backwards: .flip(0) turns it round, and sort takes descending=True."),
    Remedy(r"'bool' object", "`is` and `is not` ask once whether two things are one and the same object. == and != compare entry by entry.", r"\bis\b"),
    Remedy(r"tri[lu]\b.*(not int|at least 2 dimensions)", "tril and triu keep a triangle of a matrix. torch.ones(n, n) is a matrix, torch.ones(n) a vector, n a number."),
    Remedy(r"Dimension out of range", "there is no such axis: axes count from 0, or from the end with -1."),
    Remedy(r"batch1 must be a 3D|expand\(|must be a 3D tensor", "bmm takes batches, three axes each; two matrices, or any number of axes, take @.", r"bmm"),
    Remedy(r"ints, ?but got float|'float' object cannot be interpreted|not 'float'", "`/` always gives a float. A size is whole: `//`."),
    Remedy(r"softmax\(\).*must be int, not Tensor", "the second argument of softmax is the axis: dim=-1."),
    Remedy(r"return_types", "`max` with dim, like sort and topk, returns values and positions: take `.values`, or use `amax`."),
    Remedy(r"builtin_function_or_method|'method'|'function'", "a function stands where its result is meant: add ()."),
    Remedy(r"norm\(\) got an unexpected keyword", "torch's norm along an axis is torch.linalg.vector_norm(x, dim=…)."),
    Remedy(r"^TypeError", "NumPy and torch are mixed. The inputs are tensors: use torch.sum, torch.sqrt and the like.", r"\bnp\.|numpy"),
    Remedy(r"only one element tensors", "torch.tensor makes a tensor of Python's numbers; torch.stack makes one of tensors.", r"torch\.tensor\("),
    Remedy(r"selected index k out of range", "topk is asked for more than there are along that axis."),
    Remedy(r"only one element tensors|can be converted to Python scalars", "math's functions take one number; torch.sin, torch.sqrt, … a tensor.", r"\bmath\."),
    Remedy(r"Boolean value of Tensor", "Python's max and min go through a tensor row by row. The largest of all: .max(); of each row: .amax(dim=-1, keepdim=True); entry by entry: torch.maximum, or clamp(min=…).", r"(?<![.\w])(max|min)\("),
    Remedy(r"mixed dtype", "the layer has parameters of its own, in float32: does it use those that are given?", r"nn\."),
    Remedy(r"unpack", "what is called there returns one tensor, not one for each name on the left.", r"=.*\)$"),
    Remedy(r"Boolean value of Tensor", "einsum takes its string first, then the tensors in its order.", r"einsum\((?![\"'])"),
    Remedy(r"Boolean value of Tensor", "`and`, `or`, `not`, `if` and `a < b < c` ask for a single truth. Join comparisons of tensors with &, |, ~, each in brackets."),
    Remedy(r"subscripts in the equation|einsum\(\)", "einsum takes one letter for each axis; `...` stands for any number of axes, as in `...ne`. A letter means one length."),
    Remedy(r"math domain error|nonnegative", "that is the root of a negative number, or the logarithm of 0 or of a negative one."),
    Remedy(r"math range error|OverflowError", "a number became too large: exp of something large?"),
    Remedy(r"log_softmax.*'Long'|nll_loss.*not implemented", "cross_entropy takes the logits first, then the targets."),
    Remedy(r"expected scalar type|same dtype", "two precisions meet; .float() always gives float32. `.to({first}.dtype)` gives what the input has.", r"\.float\(\)"),
    Remedy(r"invert a mask|with a bool tensor is not supported", "a mask of True and False is inverted by ~: 1 - mask and -mask are for numbers."),
    Remedy(r"bitwise_not|~.*not implemented|unary ~", "~ turns True and False round, and this is a tensor of numbers: a comparison makes a mask of it."),
    Remedy(r"bitwise_and|bitwise_or|unsupported operand type\(s\) for [&|].*'(float|Tensor)'", "& and | bind more tightly than a comparison: each comparison in brackets."),
    Remedy(r"^(RuntimeError|NotImplementedError).*(dtype|scalar type|not implemented for ')", "two kinds of numbers meet. Which tensor did you make yourself? torch.zeros and torch.tensor take dtype=…; a mask of bools becomes numbers by .to({first}.dtype)."),
    Remedy(r"must be a (3D tensor|matrix)|permute.*of dimensions|batch1 must be a 3D", "the number of axes varies. Count axes from the end, as in x.shape[-1] and x.mT; @ takes any number of them."),
    Remedy(r"unpack|tuple index|at least 2 dimensions|at most", "the number of axes varies. Count them from the end, as in x.shape[-1] and dim=-1.", r"shape|size|dim|mT|transpose|permute|tril|triu|unbind|\.T\b|softmax|sum|mean|stack"),
    Remedy(r"unpack", "`for a, b in …` takes one pair at a time: zip(x, y) makes pairs of two lists.", r"\bfor .* in [^(]*$"),
    Remedy(r"unsupported operand.*'list'|unhashable type: '(set|list)'", "the argument is a list, with one entry a sentence: go through the lists together, with zip."),
    Remedy(r"'set' and 'set'", "sets cannot be added. & is what both have, | what either has; len counts."),
    Remedy(r"__init__\(\) takes 1 positional", "that is a layer, made first and called then; torch.tanh is a function.", r"nn\."),
    Remedy(r"^ZeroDivisionError", "what is empty or 0 there? The docstring says what is asked for in such a case."),
    Remedy(r"^IndexError: (list )?index.*out of|unpack", "the number of entries varies: what you write has to fit any, as a loop over range(len(…)) does, or @.", r"\[[^\]]*\d\]|^[^=\[]*,.*="),
    Remedy(r"^IndexError.*out of (range|bounds)", "a position runs past the end: positions count from 0 to length - 1."),
    Remedy(r"mask .*does not match the shape of the indexed tensor", "a mask as an index has to have the very axes that it picks from; masked_fill and torch.where broadcast it."),
    Remedy(r"tensors used as indices must be|indices must be integers", "positions are whole numbers (or truths): .long() makes them whole."),
    Remedy(r"'Tensor' object is not callable|missing \d+ required positional argument", "a function is asked for there, and its result is handed over, or one of other arguments: pass the function itself, or a lambda that calls it.", r"\b(norm|sublayer|attention|feed_forward|lambda|residual_step)"),
    Remedy(r"'Tensor' object is not callable|'(float|int|tuple|list)' object is not callable", "something that is no function is called with (): is an operator missing before the bracket, or has a name been given twice?"),
    Remedy(r"Tensor.*has no attribute|'Tensor' and", "a tensor has no such method. Which one of torch's is meant: .sum, .mT, .clone, .argmax?"),
    Remedy(r"'list' object has no attribute|must be Tensor, not list", "that is a Python list. torch.stack makes one tensor of a list of tensors."),
    Remedy(r"'str' object has no attribute 'reverse'", "a list can be turned round in place, a string cannot: `reversed`, or a slice whose step is -1, goes through it from the end."),
    Remedy(r"can only join an iterable", "`reverse`, like `sort`, changes a list in place and gives back None: it needs a line of its own."),
    Remedy(r"expected str instance", "join takes strings only. Does a dictionary give None there, for a letter that it does not hold?"),
    Remedy(r"Class values must be non-negative", "one_hot counts classes from 0: is there a -1, as `find` gives for what it does not find?"),
    Remedy(r"Class values must be smaller", "one_hot counts classes from 0 to num_classes - 1: how many does it take for the largest number that comes in?"),
    Remedy(r"is not reversible", "`reversed` takes a string or a list; a generator has no end to begin from. Can the sequence itself be turned round?"),
    Remedy(r"invalid data type 'str'|too many dimensions 'str'|must be Tensor, not str", "a tensor holds numbers: the letters have to become numbers first."),
    Remedy(r"has no attribute", "the name after the dot does not exist there. Is it spelled as in the docs?"),
    Remedy(r"position 1\) must be Tensor, not (int|float|bool)", "a number stands first, where a tensor is asked for: are the arguments in the right order?", r"\b(F|functional|torch)\.(one_hot|topk|softmax|gather|sum|mean|index_select)\(\w+, "),
    Remedy(r"must be Tensor, not (int|float|bool)", "a number stands where a tensor is asked for: math.sqrt and the like take numbers; clamp(min=…) takes the place of torch.maximum."),
    Remedy(r"max\(\) received an invalid|max\(\): argument", "max finds the largest of one tensor. Entry by entry against a number: clamp(min=0), or torch.relu."),
    Remedy(r"missing \d+ required positional argument|positional arguments? but|unexpected keyword|received an invalid combination|missing a required", "that call gets other arguments than the function takes: which are they, and in which order?"),
    Remedy(r"requires grad|leaf Variable|is a view of a leaf", "the inputs are trained here: they must not be changed in place, nor leave torch by numpy()."),
    Remedy(r"UnboundLocalError", "that name has no value yet where this line reads it: it is set further down, or in an `if` or a loop that was not run. Is an else missing, or a value above the loop?"),
    Remedy(r"view size is not compatible", "after an exchange of axes the numbers lie in another order, and view cannot follow: reshape copies them where it has to."),
    Remedy(r"is invalid for input of size|shape '", "reshape keeps the number of entries: the lengths on both sides have to multiply to the same."),
    Remedy(r"must be tuple of ints, not int", "several sizes are asked for, in brackets: (2, 3). A size of -1 is found by itself, as in (2, -1)."),
    Remedy(r"stack expects each tensor to be equal size|Sizes of tensors must match", "what is put together has to have the same shape: which round makes another one?"),
    Remedy(r"empty TensorList|reduce\(\) of empty|min\(\) arg is an empty|max\(\) arg is an empty", "nothing has been collected: does the loop run at all?"),
    Remedy(r"not support item assignment|immutable", "that cannot be assigned into: build a list, or a tensor by torch.zeros."),
    Remedy(r"not iterable|0-d tensor|not subscriptable|has no len|dimension specified as 0 but tensor has no|invalid index of a 0-dim", "a single number stands where several are meant: what has been added up too early?"),
    Remedy(r"value cannot be converted|can't be cast|result type .* can't", "the numbers do not fit the tensor that they are written into: make it with dtype=…."),
    Remedy(r"self must be a matrix|1D tensors expected|must be 2-D|Expected 1-D argument|only supports|expected a matrix", "that function takes a fixed number of axes, and here it varies: @ takes any."),
)  # fmt: skip
