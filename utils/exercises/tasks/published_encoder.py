"""Exercises of the notebook on a published encoder: words in pieces, weights by name, a search that counts words, the
length of what a head adds, words exchanged, and the loss by which vectors of sentences are trained."""

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
    minutes=10,
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
    minutes=8,
)
def pack_attention(names, matrices, layer):
    """The weights of a layer's queries, keys and values, in this order, one below the other: returns (3d, d).

    names is a list of names such as encoder.layer.0.attention.self.key.weight, in the order of a file.
    matrices (p, d, d) are in the order of names. nn.MultiheadAttention expects its in_proj_weight in this form.
    """
    start = f"encoder.layer.{layer}.attention.self."
    parts = [f"{start}{part}.weight" for part in ("query", "key", "value")]
    return torch.cat([matrices[names.index(part)] for part in parts])


# ---- tf_idf


def draw_counts(generator):
    """Counts of 0 to 3; b = v once; a word in every text, one in a single text; long and short texts; float64.

    In float64 each word is in two texts of four, so that a logarithm of float32 is no mistake: it cancels out."""
    yield (torch.tensor([[2.0, 1, 0, 0], [1, 0, 3, 0], [1, 0, 1, 1]]),)
    yield (torch.tensor([[1.0, 1, 0], [1, 0, 1], [1, 1, 1]]),)
    yield (torch.tensor([[1.0, 0], [0, 1]]),)
    halves = torch.tensor([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]], dtype=torch.float64)
    yield (halves * torch.randint(1, 4, (4, 4), generator=generator),)
    for b, v in ((5, 8), (6, 6), (4, 12)):
        counts = torch.randint(0, 4, (b, v), generator=generator).float()
        counts[0], counts[:, 0] = 0, 1  # a short text, and a word in every text
        counts[torch.arange(v - 1) % b, torch.arange(1, v)] += 1
        yield (counts,)


def edges_of_counts(generator):
    counts = torch.randint(0, 2, (70, 66), generator=generator).float()
    counts[torch.arange(66), torch.arange(66)] += 1
    counts[:, 0] = 1
    counts[66:, 1] += 1
    yield "70 texts and 66 words", (counts,)
    yield "a word that occurs 300 times", (torch.tensor([[300.0, 1, 0], [0, 1, 1]]),)


@exercise(
    draws=draw_counts,
    edges=edges_of_counts,
    hints=[
        "There are 3 texts, and a word occurs in all three. What is log(3 / 3), and what does the word add to a dot product?",
        "counts > 0 is True where a text has a word. Add that up over the texts: one number per word, (v,).",
        "Multiply counts by torch.log(len(counts) / texts), then divide each row by its length: "
        "weighted.norm(dim=-1, keepdim=True) is (b, 1).",
    ],
    intermediates={
        "one number for each word, but there should be a row for each text": lambda counts: counts[0],
        "one number for each text, but there should be a row for each text": lambda counts: counts[:, 0],
    },
    question="counts is (b, v), a row for each text: along which axis should this line count?",
    level=2,
    minutes=7,
)
def tf_idf(counts):
    """Vectors for texts, counts (b, v) being how often each of v words occurs in each of b texts: returns (b, v).

    A count is multiplied by log(b / number of texts that have the word). Then each row is scaled to length 1.
    Each word occurs in some text, and each text has a word that another text lacks.
    """
    texts = (counts > 0).sum(dim=0)  # (v,)
    weighted = counts * torch.log(len(counts) / texts)
    return weighted / weighted.norm(dim=-1, keepdim=True)


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
    minutes=7,
)
def contribution(weights, values, W_o):
    """Lengths of what heads add for each key, weights (h, q, k), values (h, k, e), W_o (h, e, d): returns (h, q, k).

    To the output of query q, head h adds for key k the vector weight · value · W_o, which has d numbers.
    """
    lengths = (values @ W_o).norm(dim=-1)  # (h, k)
    return weights * lengths[:, None, :]


# ---- exchange_words


def draw_exchanges(generator):
    """Two words once each, side by side, at both ends; one of them twice; one inside a longer word; one that is missing."""
    yield "the dog chased the cat", "dog", "cat"
    yield "dog bites man", "man", "dog"
    yield "the cat saw the dog and the cat slept", "dog", "cat"
    yield "a cat saw a caterpillar in the cattle shed", "cat", "shed"
    yield "the king greeted the other queen", "king", "queen"
    yield "she likes art and earth", "art", "earth"
    yield "one two two one one", "one", "two"
    yield "the boy slept", "boy", "girl"
    words = [f"w{k}" for k in torch.randint(3, (9,), generator=generator).tolist()]
    yield " ".join(words), "w0", "w2"


def edges_of_exchanges(generator):
    yield "a sentence of 70 words", (" ".join(["a", "b", "ab"] * 23 + ["a"]), "a", "b")
    yield "a sentence of one word", ("stop", "stop", "go")
    yield "a word with a star", ("a*b is * and a", "*", "a")


@exercise(
    draws=draw_exchanges,
    edges=edges_of_exchanges,
    hints=[
        "After every dog has become a cat, which cats were dogs? So look at each word once, and decide at once.",
        "sentence.split() gives the words. A dictionary says what a word becomes: {one: other, other: one}.",
        "names.get(word, word) is what the word becomes, or the word itself. ' '.join(…) makes a sentence again.",
    ],
    question="What does this line make of 'the dog chased the cat', with dog and cat?",
    level=1,
    minutes=4,
)
def exchange_words(sentence, one, other):
    """Exchange two words wherever they occur in sentence, as whole words: returns the new sentence.

    sentence is words with one space between them.
    """
    becomes = {one: other, other: one}
    return " ".join([becomes.get(word, word) for word in sentence.split()])


# ---- contrastive_loss


def draw_batches(generator):
    """Vectors of length 1: n and d differ, n = d once, n = 2; a small and a large scale; right ones near, and not; float64."""
    for n, d, scale, near, dtype in (
        (4, 3, 20.0, 1.0, None),
        (3, 3, 5.0, 0.0, None),
        (2, 5, 1.0, 0.5, None),
        (6, 2, 10.0, 0.5, None),
        (5, 4, 2.0, -1.0, None),
        (3, 6, 20.0, 0.2, torch.float64),
    ):
        B = torch.randn(n, d, generator=generator, dtype=dtype)
        A = torch.randn(n, d, generator=generator, dtype=dtype) + near * B
        yield torch.nn.functional.normalize(A, dim=-1), torch.nn.functional.normalize(B, dim=-1), scale


def edges_of_batches(generator):
    A, B = torch.nn.functional.normalize(torch.randn(2, 70, 66, generator=generator), dim=-1)
    yield "70 pairs", (A, B, 20.0)
    yield "a scale of 500", (A[:4], B[:4], 500.0)


@exercise(
    draws=draw_batches,
    edges=edges_of_batches,
    hints=[
        "All dot products at once are a matrix (n, n). Which of its entries belong to a text and its own partner?",
        "scale * A @ B.T is the matrix. A softmax over each row, dim=-1, says how sure each row of A is of each row of B.",
        "It is a cross-entropy: row i is a vector of scores whose right class is i. "
        "F.cross_entropy(scores, torch.arange(len(A))) does softmax, log, minus and mean.",
    ],
    intermediates={
        "one loss for each pair: did you take their mean?": lambda A, B, scale: A[:, 0],
        "(n, n), a number for each text and each partner, but there should be one number for the batch": (
            lambda A, B, scale: A @ B.T
        ),
    },
    question="scale * A @ B.T is (n, n): the partner of row i is in column i. What does this line do with it?",
    level=2,
    minutes=8,
    trained=True,
)
def contrastive_loss(A, B, scale):
    """The loss of a batch of n pairs, vectors A (n, d) and B (n, d), all of length 1: returns one number.

    Row i of A belongs to row i of B; the other rows of B are wrong for it. The scores are the dot products times scale.
    A softmax over all rows of B gives each row of A a probability for its own partner. The loss is the mean of -log of
    these n probabilities.
    """
    scores = scale * A @ B.T  # (n, n)
    return -torch.log_softmax(scores, dim=-1).diagonal().mean()
