"""Exercises of the notebook on a published encoder: words in pieces, weights by name, one vector per sentence, and the
length of what a head adds."""

import math

import torch

from ...judge.exercise import exercise

# ---- word_pieces


def draw_cuts(generator):
    """Whole words; long pieces before short ones; ends that no piece fits, dead ends that another cut would avoid;
    pieces of the wrong kind, with ## or without; the same word from its end; words by chance."""
    yield "unaffable", ["un", "##aff", "##a", "##able", "aff", "able", "##ff"]
    yield "playing", ["p", "play", "playing", "##ing", "##lay"]
    yield "playing", ["p", "pl", "play", "##l", "##i", "##in", "##ing", "##n", "##g"]
    yield "bluefox", ["blue", "##fo", "##f", "fox"]
    yield "abcd", ["a", "ab", "abc", "##cd", "##c", "##bcd"]
    yield "sunset", ["sun", "set", "##se"]
    yield "ing", ["##ing", "##in", "ring"]
    yield "abab", ["a", "ab", "##bab", "##ab", "##b"]
    yield "aaaa", ["a", "##a", "##aa", "aaaaa"]
    yield "on", ["o", "#n", "##n"]
    yield "x", ["x", "##x"]
    for length in (5, 9):
        word = "".join("abc"[k] for k in torch.randint(3, (length,), generator=generator).tolist())
        cuts = torch.randint(1, 4, (12,), generator=generator).tolist()
        inner = [f"##{word[k : k + cut]}" for k, cut in enumerate(cuts[: length - 1], start=1)]
        yield word, [word[: cuts[-1]], *inner, *"abc", "##a", "##b", "##c"]


def draw_words(generator):
    """The vocabulary as it is read from the file: the number of each piece."""
    for word, pieces in draw_cuts(generator):
        yield word, {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}


def edges_of_words(generator):
    yield "a word with # in it", ("c#d", {"c": 0, "#": 1, "##d": 2, "###": 3, "###d": 4})
    yield "a word with a capital letter", ("Playing", {"play": 0, "Play": 1, "##ing": 2})
    yield "a piece of 14 letters", ("representation", {"representation": 0, "rep": 1, "##resentation": 2})
    many = {f"##{letter}{number}": number for letter in "abc" for number in range(30)}
    yield (
        "a word of 140 letters, and a vocabulary of 94 pieces",
        (70 * "ab", many | {"a": 90, "##b": 91, "##a": 92, "##ba": 93}),
    )


@exercise(
    draws=draw_words,
    edges=edges_of_words,
    hints=[
        "The word is playing, and the vocabulary has p, play, ##l, ##ing and ##i. Which piece comes first, and which part "
        "of the word remains then?",
        "Try the whole rest of the word first, then the rest without its last letter, and so on, until a piece is in the "
        "vocabulary: word[start:end] with end going down from len(word).",
        "If start is not 0, look the piece up, and list it, with ## before it. If end has come down to start, nothing fits: "
        "return '[UNK]', whatever you found before. Otherwise go on with start = end.",
    ],
    question="word[start:end] is the piece to try: what are start and end in this line?",
    level=2,
    minutes=12,
)
def word_pieces(word, vocabulary):
    """Cut word into pieces of vocabulary, the longest that fits first: returns a string, a space between two pieces.

    A piece that is not at the beginning of the word is looked up, and returned, with ## before
    it. If no piece fits at some point, the result is "[UNK]", for the whole word.
    """
    pieces, start = [], 0
    while start < len(word):
        mark, end = "##" if start > 0 else "", len(word)
        while end > start and mark + word[start:end] not in vocabulary:
            end -= 1
        if end == start:
            return "[UNK]"
        pieces.append(mark + word[start:end])
        start = end
    return " ".join(pieces)


# ---- pack_attention


def draw_files(generator):
    """Names in the order of the alphabet, as in a file, and in others; layers 0, 1 and 10, 1 beside 10 and 11; other
    matrices of attention among them; d of 1 to 5, d = 3 once; float64."""
    inner = ("attention.output.dense", "attention.self.key", "attention.self.query", "attention.self.value")
    for d, layers, layer, order, dtype in (
        (4, (0, 1), 0, 1, None),
        (4, (0, 1, 2), 1, 1, None),
        (2, (0, 1, 10, 11), 1, 1, None),
        (5, (9, 10), 10, -1, None),
        (3, (0,), 0, 1, None),
        (1, (0, 2), 2, -1, None),
        (2, (0, 1, 2), 2, 1, torch.float64),
    ):
        names = sorted(f"encoder.layer.{k}.{part}.weight" for k in layers for part in inner)[::order]
        yield names, torch.randn(len(names), d, d, generator=generator, dtype=dtype), layer


def edges_of_files(generator):
    parts = [f"attention.self.{part}.weight" for part in ("key", "query", "value")]
    names = [f"{stack}.layer.0.{part}" for stack in ("decoder", "encoder") for part in parts]
    yield "a file that holds a decoder as well", (names, torch.randn(6, 2, 2, generator=generator), 0)
    names = [f"encoder.layer.{layer}.{part}" for layer in range(71) for part in parts]
    yield "71 layers", (sorted(names), torch.randn(213, 2, 2, generator=generator), 70)
    yield "matrices of 66 by 66", (names[:3], torch.randn(3, 66, 66, generator=generator), 0)


@exercise(
    draws=draw_files,
    edges=edges_of_files,
    hints=[
        "The shapes fit, so ask which matrix is which. Print parts for layer 0: in which order are they, and which order "
        "should the result have?",
        "The names in a file are in alphabetical order. Where is query in that order?",
        "Set the order yourself: build the three names, with query, key and value in this order, and look up the position "
        "of each.",
    ],
    intermediates={
        "(3, d, d), three matrices on an axis of their own, but one should be below the other, as torch.cat puts them": lambda names, matrices, layer: (
            matrices.new_zeros(3, *matrices.shape[1:])
        ),
        "a single matrix: are the other two still missing?": lambda names, matrices, layer: matrices[0],
        "(d, 3d), one beside the other, but the rows of W_k should come below those of W_q": lambda names, matrices, layer: (
            matrices.new_zeros(matrices.shape[1], 3 * matrices.shape[1])
        ),
    },
    question="names[i] is the name of matrices[i], and each matrix is (d, d): which of them does this line take?",
    level=2,
    minutes=10,
)
def pack_attention(names, matrices, layer):
    """The weights of a layer's queries, keys and values, in this order, one below the other: returns (3d, d).

    names is a list of names such as encoder.layer.0.attention.self.key.weight, in the order of a file.
    matrices (p, d, d) are in the order of names. nn.MultiheadAttention expects its in_proj_weight in this form.
    """
    start = f"encoder.layer.{layer}.attention.self."
    parts = [f"{start}{part}.weight" for part in ("query", "key", "value")]
    return torch.cat([matrices[names.index(part)] for part in parts])


# ---- masked_mean


def draw_outputs_and_masks(generator):
    """Padding behind, in front, inside, full of large numbers or NaN; none; words with zeros; one sentence or word; float64.

    In float64 the numbers of words have an exact inverse, so that weights of float32 are no mistake.
    """
    for d, rows, dtype in (
        (3, [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], None),
        (3, [[1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]], None),
        (4, [[0, 0, 1, 1], [1, 0, 1, 1]], None),
        (6, [[1, 1, 0]], None),
        (3, [[1, 1, 0], [1, 0, 0], [1, 1, 1]], None),
        (5, [[1, 1, 0, 0], [1, 1, 1, 1]], torch.float64),
        (2, [[1], [1]], None),
    ):
        mask = torch.tensor(rows).bool()
        outputs = torch.randn(*mask.shape, d, generator=generator, dtype=dtype)
        yield outputs * torch.where(mask, 1, 5)[:, :, None], mask
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]).bool()
    outputs = torch.randn(2, 4, 3, generator=generator)
    outputs[0, 1], outputs[1, 2, 0] = 0.0, 0.0
    yield outputs, mask
    mask = torch.tensor([[1, 1, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1]]).bool()
    yield torch.randn(3, 4, 2, generator=generator).masked_fill(~mask[:, :, None], math.nan), mask


def edges_of_means(generator):
    outputs, mask = torch.randn(2, 3, 4, generator=generator), torch.tensor([[1, 1, 0], [0, 1, 1]]).bool()
    for name, value in (("∞", math.inf), ("-∞", -math.inf), ("NaN", math.nan)):
        yield f"padding that holds {name}", (outputs.masked_fill(~mask[..., None], value), mask)
    for name, shape in (("70 words", (2, 70, 66)), ("66 sentences", (66, 2, 3))):
        mask = torch.arange(shape[1]) < torch.randint(1, shape[1], (shape[0], 1), generator=generator)
        yield name, (torch.randn(shape, generator=generator), mask)


@exercise(
    draws=draw_outputs_and_masks,
    edges=edges_of_means,
    hints=[
        "A sentence has three words and two positions of padding: what should be added up, and what should it be divided by?",
        "Set the padded rows to 0, then sum over the tokens. mask is (b, n), outputs (b, n, d): which axis does mask lack?",
        "mask[:, :, None] fits the outputs. The number of words in each sentence is the sum of its row of mask; with "
        "keepdim=True it is (b, 1) and can divide (b, d).",
    ],
    intermediates={
        "a single mean for the whole batch, but each sentence should have its own": lambda outputs, mask: outputs[0, 0],
        "one number for each token: does the sum run over the tokens, dim=1?": lambda outputs, mask: mask,
        "one row for each position: does the sum run over the tokens, dim=1?": lambda outputs, mask: outputs[0],
        "mask @ outputs, (b, b, d), every mask with every sentence: with mask[:, None], each sentence gets only its own": (
            lambda outputs, mask: outputs.new_zeros(len(mask), len(mask), outputs.shape[-1])
        ),
        "outputs, but the tokens should be added up": lambda outputs, mask: outputs,
    },
    question={
        r"\[mask\]|\.view|\.reshape": "outputs[mask] is one list of all words, but sentences have different numbers of words: "
        "keep (b, n, d), with 0 in padded rows.",
        "@|bmm|matmul|einsum": "mask[:, None], (b, 1, n), times (b, n, d) adds up over the tokens, for each sentence by itself.",
        "": "outputs is (b, n, d), mask (b, n): an axis of length 1 at the end, mask[:, :, None], lets them meet; and "
        "what divides (b, d) should be (b, 1).",
    },
    level=2,
    minutes=8,
)
def masked_mean(outputs, mask):
    """Mean of outputs (b, n, d) over the words of each sentence, where mask (b, n) is True: returns (b, d).

    Padding may hold anything, even NaN."""
    total = outputs.masked_fill(~mask[:, :, None], 0.0).sum(dim=1)  # (b, d)
    words = mask.sum(dim=1, keepdim=True)  # (b, 1)
    return total / words


# ---- contribution


def draw_heads_of_a_layer(generator):
    """h, q, k, e and d all differ, in several ways; q = k, h = k, e = d; one head, one key, e = 1; a value of 0, weights
    of 0; float64."""
    for h, q, k, e, d, dtype in (
        (2, 3, 5, 4, 7, None),
        (3, 4, 4, 2, 6, None),
        (4, 2, 4, 3, 3, None),
        (1, 5, 3, 2, 4, None),
        (2, 6, 1, 5, 3, None),
        (3, 2, 6, 1, 5, None),
        (5, 3, 2, 4, 8, torch.float64),
    ):
        weights = torch.randn(h, q, k, generator=generator, dtype=dtype).softmax(-1)
        values = torch.randn(h, k, e, generator=generator, dtype=dtype)
        if k > 4:
            weights[0, 0], values[1, 2] = torch.eye(k, dtype=weights.dtype)[1], 0.0
        yield weights, values, torch.randn(h, e, d, generator=generator, dtype=dtype)


def edges_of_contributions(generator):
    for name, (h, q, k, e, d) in (("66 queries and 70 keys", (1, 66, 70, 67, 68)), ("66 heads", (66, 2, 3, 2, 2))):
        weights, values = (
            torch.randn(h, q, k, generator=generator).softmax(-1),
            torch.randn(h, k, e, generator=generator),
        )
        yield name, (weights, values, torch.randn(h, e, d, generator=generator))


@exercise(
    draws=draw_heads_of_a_layer,
    edges=edges_of_contributions,
    hints=[
        "To a query's vector, a head adds the sum of weight · value · W_o over all keys. Which part of this sum belongs to one "
        "key, and how long is it?",
        "values @ W_o is (h, k, d): what each head would add for each key if the weight were 1. The length of a vector is "
        "the root of the sum of its squares, over d.",
        "A length times a weight is the length of the weighted vector, because no weight is negative. Lengths are (h, k), "
        "weights (h, q, k): which axis do the lengths lack?",
    ],
    intermediates={
        "(h, k), one length for each key, but every query has its own weights": lambda weights, values, W_o: values[
            ..., 0
        ],
        "(h, q, k, d), the vectors themselves, but their lengths should be returned": lambda weights, values, W_o: (
            weights.new_zeros(*weights.shape, W_o.shape[-1])
        ),
        "(h, q, d), what all keys add together, but there should be one number for each key": lambda weights, values, W_o: (
            weights.new_zeros(*weights.shape[:2], W_o.shape[-1])
        ),
        "(h, k, d), what each key would add if the weight were 1, but its length should be multiplied by the weights": (
            lambda weights, values, W_o: values @ W_o
        ),
        "(q, k), without the heads, but each head should have its own lengths": lambda weights, values, W_o: weights[0],
        "(h, q), one number for each query, but each of its keys should have one": lambda weights, values, W_o: weights[
            ..., 0
        ],
    },
    question="weights are (h, q, k), values (h, k, e), W_o (h, e, d): which axes meet in this line, and which are left?",
    level=2,
    minutes=8,
)
def contribution(weights, values, W_o):
    """Lengths of what heads add for each key, weights (h, q, k), values (h, k, e), W_o (h, e, d): returns (h, q, k).

    To the output of query q, head h adds for key k the vector weight · value · W_o, which has d numbers.
    """
    lengths = (values @ W_o).norm(dim=-1)  # (h, k)
    return weights * lengths[:, None, :]
