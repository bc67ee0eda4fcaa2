"""Exercises of the notebook on the decoder: cross-attention, a feed-forward step to fix, who moves whom, tied logits, the
shift of the target, how many steps have to wait, and a decoder that is given one word after the other."""

import math

import torch

from ...judge.exercise import exercise
from ...vocabulary import END_ID, PAD_ID, START_ID
from .masking import LOW_SCORES


def draw_words_and_memories(generator):
    """All sizes different; q = k; b = q; b = q = k = d = e; one sentence; one query; one source word; padding behind, in
    front, none, and states of padding that are loud, at last so loud that they would drown the words; words that score
    below any number that one would write for a mask; float64."""
    for (b, q, k, d, e), rows, loud, dtype in (
        ((2, 3, 4, 5, 6), [[1, 1, 1, 0], [1, 1, 1, 1]], 1, None),
        ((2, 4, 4, 3, 5), [[1, 1, 0, 0], [0, 1, 1, 1]], 3, None),
        ((3, 3, 3, 3, 3), [[1, 1, 0], [1, 0, 0], [1, 1, 1]], 3, None),
        ((1, 2, 5, 4, 4), [[1, 1, 1, 0, 0]], 2, None),
        ((2, 1, 3, 4, 2), [[0, 1, 1], [1, 1, 1]], 2, None),
        ((3, 2, 1, 2, 4), [[1], [1], [1]], 1, None),
        ((4, 4, 3, 5, 4), [[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 1, 0]], 2, torch.float64),
        ((2, 3, 4, 3, 3), [[1, 1, 1, 0], [1, 1, 0, 0]], 200, None),
    ):
        mask = torch.tensor(rows).bool()
        shapes = (b, q, d), (b, k, d), (d, e), (d, e), (d, e)
        x, M, W_q, W_k, W_v = (torch.randn(*shape, generator=generator, dtype=dtype) for shape in shapes)
        yield x, M * torch.where(mask, 1, loud)[..., None], W_q, W_k, W_v, mask
    x, M, W_v = (torch.randn(*shape, generator=generator).double() for shape in ((2, 3, 4), (2, 5, 4), (4, 4)))
    x[..., 0], M[..., 0] = 1000.0, -1000.0  # scores of -1000² / √4
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0]]).bool()
    M = torch.where(mask[..., None], M, 0.0)  # padding scores 0
    yield x, M, torch.eye(4).double(), torch.eye(4).double(), W_v, mask


def edges_of_cross_attention(generator):
    x, eye = torch.full((1, 2, 2), 3e12).double(), torch.eye(2).double()
    mask = torch.tensor([[True, True, False]])
    M = torch.where(mask[..., None], torch.full((1, 3, 2), -3e12).double(), 0.0)
    yield LOW_SCORES, (x, M, eye, eye, eye, mask)
    for name, (b, q, k, d, e) in (
        ("70 words of the source, 66 words", (1, 66, 70, 67, 68)),
        ("66 sentences", (66, 2, 3, 2, 4)),
    ):
        shapes = (b, q, d), (b, k, d), (d, e), (d, e), (d, e)
        tensors = (torch.randn(*shape, generator=generator) / d**0.25 for shape in shapes)
        yield name, (*tensors, torch.arange(k) < torch.randint(1, k, (b, 1), generator=generator))
    x, M = torch.randn(1, 2, 3, generator=generator).double(), torch.randn(1, 4, 3, generator=generator).double()
    matrices, mask = torch.randn(3, 3, 5, generator=generator).double(), torch.tensor([[True, True, True, False]])
    yield "numbers in float64", (x, M, *matrices, mask)


@exercise(
    draws=draw_words_and_memories,
    edges=edges_of_cross_attention,
    hints=[
        "There are two sequences: the words written so far, x, and the memory M. Which of them gives the queries, and which "
        "the keys? How long is a row of weights, then?",
        "Queries come from the words, (b, q, e). Keys and values both come from the memory, (b, k, e). The rest is attention "
        "with a mask, as before.",
        "The scores are (b, q, k), the mask is (b, k): an axis of length 1 for the queries, [:, None], makes it fit, "
        "before the softmax. Give the weights a name, because they are returned, too.",
    ],
    intermediates={
        "the weights, which should still average the values": lambda x, M, W_q, W_k, W_v, source_mask: (
            x @ M.transpose(-2, -1)
        ),
        "(b, k, e), with a row for each word of the source: queries should come from x, keys and values from M": (
            lambda x, M, W_q, W_k, W_v, source_mask: M @ W_v
        ),
        "(b, k, q): queries and keys are swapped": lambda x, M, W_q, W_k, W_v, source_mask: M @ x.transpose(-2, -1),
        "averaged rows of M, which should also be projected by W_v": lambda x, M, W_q, W_k, W_v, source_mask: x,
        "(q, e), but each sentence should have its own result": lambda x, M, W_q, W_k, W_v, source_mask: x[0] @ W_v,
        "(b, e), one vector for each sentence, but each word should have its own": (
            lambda x, M, W_q, W_k, W_v, source_mask: x[:, 0] @ W_v
        ),
        "(b, b, q, k), every sentence with every sentence: on which axis does the mask broadcast?": (
            lambda x, M, W_q, W_k, W_v, source_mask: (x @ M.transpose(-2, -1))[None].expand(len(x), -1, -1, -1)
        ),
    },
    question={
        "mask": "source_mask is (b, k), the scores are (b, q, k): which axis does the mask lack, and where?",
        r"einsum": "x is bqd, M bkd, the matrices de: does your string have a letter for each axis, and does each letter stand for one "
        "length?",
        r"\.T\b|\.t\(\)|permute|transpose|\.mT": "The keys are (b, k, e): swap only their last two axes, with .mT.",
        r"W_[qkv]": "x is (b, q, d), M (b, k, d), each matrix (d, e): vectors are rows and should be on the left of a matrix.",
        "": "Queries are (b, q, e), keys and values (b, k, e), weights (b, q, k): which axes meet in this line?",
    },
    level=2,
    minutes=8,
)
def cross_attention(x, M, W_q, W_k, W_v, source_mask):
    """A decoder's words x (b, q, d) attend to a memory M (b, k, d): returns z (b, q, e) and weights (b, q, k).

    There are W_q, W_k and W_v (d, e), no biases; the scores are divided by √e, since d_k is e. source_mask (b, k)
    is True for words of the source, False for padding, whose weight is 0; each sentence has at least one word.
    """
    queries, keys, values = x @ W_q, M @ W_k, M @ W_v  # (b, q, e), (b, k, e), (b, k, e)
    scores = queries @ keys.mT / math.sqrt(keys.shape[-1])  # (b, q, k)
    weights = torch.softmax(scores.masked_fill(~source_mask[:, None], -math.inf), dim=-1)
    return weights @ values, weights


def draw_streams(generator):
    """All sizes different; b = q; d = f; one position; vectors far longer than what is added; a mean far from 0; float64."""
    for (b, q, d, f), scale, shift, dtype in (
        ((2, 3, 4, 6), 1, 0, None),
        ((3, 3, 5, 5), 3, 0, None),
        ((1, 1, 6, 3), 1, 2, None),
        ((2, 4, 3, 8), 50, 0, None),
        ((2, 5, 8, 4), 2, -3, torch.float64),
    ):
        x = scale * torch.randn(b, q, d, generator=generator, dtype=dtype) + shift
        yield x, *(torch.randn(*shape, generator=generator, dtype=dtype) for shape in ((d, f), (f, d)))


def edges_of_streams(generator):
    yield (
        "70 positions, 66 numbers",
        tuple(torch.randn(*shape, generator=generator) / 8 for shape in ((1, 70, 66), (66, 67), (67, 66))),
    )
    yield "66 sentences", tuple(torch.randn(*shape, generator=generator) for shape in ((66, 2, 4), (4, 3), (3, 4)))


@exercise(
    draws=draw_streams,
    edges=edges_of_streams,
    hints=[
        "What does the cell below show? How much of the first vector should a skip connection let through?",
        "Two things are made of x: what goes into the matrices, and what the result is added to. Which of the two should be "
        "normed?",
        "Give the norm a name of its own, so that x stays as it came in.",
    ],
    intermediates={
        "what the feed-forward layer adds: the skip connection, + x, should still follow": lambda x, W_1, W_2: (
            x @ W_1 @ W_2
        ),
        "the hidden values, (b, q, f): the product with W_2 should still follow": lambda x, W_1, W_2: x @ W_1,
    },
    question={
        "layer_norm": "layer_norm takes the sizes of the axes that it norms over: x.shape[-1:], as given.",
        "": "x is (b, q, d), W_1 (d, f), W_2 (f, d): which axes meet in this line?",
    },
    level=1,
    minutes=6,
)
def think(x, W_1, W_2):
    """The last step of a decoder block, x (b, q, d) plus what a layer makes of its norm: returns (b, q, d)."""
    y = torch.nn.functional.layer_norm(x, x.shape[-1:])
    return x + torch.relu(y @ W_1) @ W_2


def running_sum(tokens):
    """Each output has the words up to its own."""
    x = 3 * tokens.double()  # (1, n)
    return torch.stack([x.cumsum(-1), -x.cumsum(-1)], dim=-1)


def copy_from_the_right(tokens):
    """Each output is the next word, a leak; its other number never moves."""
    x = 3 * torch.nn.functional.pad(tokens[:, 1:], (0, 1)).double()  # (1, n)
    return torch.stack([torch.ones_like(x), -x, x.new_zeros(x.shape)], dim=-1)


def two_back(tokens):
    """Each output has its own word and the second one before it; it moves by little, and its last number never."""
    x = 0.01 * tokens.double()[..., None]  # (1, n, 1)
    both = torch.cat([x, -x], dim=-1) + torch.nn.functional.pad(x, (0, 0, 2, 0))[:, : x.shape[1]]
    return torch.nn.functional.pad(both, (0, 1))


def three_summaries(tokens):
    """Three outputs, whatever the number of words: the first word, the last, all."""
    x = 3 * tokens.double()
    return -torch.stack([x[:, 0], x[:, -1], x.sum(-1)], dim=-1)[..., None]


def of_some_words(heard):
    """The run in which output i is made of the words of row i of a table (m, n) of True and False."""

    def run(tokens):
        return 3 * (heard.double() @ tokens[0].double())[None, :, None]  # (1, m, 1)

    return run


def draw_runs_and_words(generator):
    """Words drawn for each output, causal, with a leak, with holes, and as many outputs as inputs or not; words of id 0;
    one word; outputs of which one number moves, which move by little, and which fall."""
    for n, run in (
        (5, of_some_words(torch.rand(3, 5, generator=generator) < 0.5)),
        (4, running_sum),
        (5, copy_from_the_right),
        (6, two_back),
        (5, three_summaries),
        (2, three_summaries),
        (3, copy_from_the_right),
        (1, running_sum),
    ):
        tokens = torch.randint(0, 9, (1, n), generator=generator)
        tokens[0, n // 2] = 0
        yield run, tokens


def barely(tokens):
    """Each output has all words up to its own, and moves by very little when one of them changes."""
    return 1e-6 * running_sum(tokens)


def edges_of_moves(generator):
    yield "outputs that move by 0.000001", (barely, torch.tensor([[3, 0, 5]]))
    yield "70 words", (running_sum, torch.randint(9, (1, 70), generator=generator))


@exercise(
    draws=draw_runs_and_words,
    edges=edges_of_moves,
    hints=[
        "What should be the same in two runs, and what different, so that only word j can have moved an output?",
        "Run once with the words as they are. Then, for each j, take a fresh copy of the words, change word j alone, run "
        "again, and compare. An output is a row of numbers: when has it moved?",
        "tokens.clone() copies; adding 1 surely gives another id. Compare with !=, which gives (1, m, d), take the one "
        "sentence, and find out for each output whether any of its numbers differs. torch.stack joins the columns.",
    ],
    intermediates={
        "(n, m), a row for each changed word, but outputs should be the rows, and changed words the columns": lambda run, tokens: (
            (run(tokens)[0, :, :1] == tokens).T
        ),
        "(n,), one answer for each word, but there should be one for each output and word": lambda run, tokens: (
            tokens[0] > 0
        ),
        "the outputs: have you compared two runs?": lambda run, tokens: run(tokens),
        "(m, d), one entry for each number of an output, but there should be one for each output and word": lambda run, tokens: (
            run(tokens)[0]
        ),
    },
    question={
        "clone|copy": "tokens is (1, n): does the copy keep both axes?",
        "any|all": "The result of run is (1, m, d): the last axis holds the numbers of one output. Which axis does this line use?",
        "": "tokens is (1, n), run(tokens) (1, m, d), the result (m, n): which axes meet in this line?",
    },
    level=2,
    minutes=10,
)
def moves(run, tokens):
    """Which outputs of run(tokens) move when one word is replaced: returns True or False, (m, n).

    tokens (1, n) are ids, n words; run(tokens) is (1, m, d), m outputs of d numbers. Row i is the output,
    column j the word that is changed to the next id, while all others stay.
    """
    before, columns = run(tokens), []
    for j in range(tokens.shape[1]):
        other = tokens.clone()
        other[0, j] += 1
        columns.append((run(other) != before)[0].any(dim=-1))  # (m,)
    return torch.stack(columns, dim=-1)


def draw_states_and_embeddings(generator):
    """All sizes different; v = d; n = v; b = n = d = v; a single state; few words; float64."""
    for b, n, d, v in ((2, 3, 4, 6), (2, 3, 5, 5), (1, 4, 3, 4), (3, 3, 3, 3), (1, 1, 2, 7), (2, 5, 6, 2)):
        dtype = torch.float64 if v == 7 else torch.float32
        states = torch.randn(b, n, d, generator=generator, dtype=dtype)
        yield states, torch.randn(v, d, generator=generator, dtype=dtype)


def edges_of_logits(generator):
    yield (
        "70 positions, 66 words",
        (torch.randn(2, 70, 67, generator=generator), torch.randn(66, 67, generator=generator)),
    )
    yield "66 sentences", (torch.randn(66, 2, 3, generator=generator), torch.randn(4, 3, generator=generator))


@exercise(
    draws=draw_states_and_embeddings,
    edges=edges_of_logits,
    hints=[
        "Row i of E is the vector of word i. Which single number tells how well a state matches this word?",
        "Take the dot product of each state with each of the v rows. Which axis do states (b, n, d) and E (v, d) have in "
        "common? The sum should run over it.",
        "A matrix product adds up over the last axis on its left and the second-to-last on its right: E should be "
        "transposed, so that d comes first. The result is the logits: nothing follows.",
    ],
    intermediates={
        "(b, v, n): words and positions are swapped": lambda states, E: (states @ E.mT).mT,
        "the products, (b, n, v, d), which should still be summed over d": lambda states, E: states[:, :, None] * E,
        "(b, v), one position for each sentence, but each position should have its own logits": lambda states, E: (
            states @ E.mT
        )[:, -1],
        "(n, v), but each sentence should have its own logits": lambda states, E: states[0] @ E.mT,
        "(b, n), one number for each position, but each should have the logits of all words": lambda states, E: states[
            ..., 0
        ],
        "(b·n, v), but sentence and position should keep their axes": lambda states, E: (states @ E.mT).flatten(0, 1),
        "the states, which should be multiplied with the vectors of the words": lambda states, E: states,
    },
    question={
        "einsum": "states is bnd, E vd: does your string have a letter for each axis, and does each letter stand for one length?",
        "embedding|E\\[": "E is a matrix of vectors here, and states are not ids: what should be compared?",
        "": "states is (b, n, d), E (v, d): which axis do they share, and where is it in this line?",
    },
    level=1,
    minutes=4,
    trained=True,
)
def tied_logits(states, E):
    """Logits of the v words for states (b, n, d), from the embeddings E (v, d): returns (b, n, v).

    The output layer is the table of embeddings itself: there is no other matrix, and no bias.
    """
    return states @ E.T


def draw_targets(generator):
    """Sentences of several lengths, none of them padded, one sentence, an empty one alone; padding is 0, or any id, or
    `</s>` itself, as where a tokenizer has no token for it; `</s>` of another id."""
    for words, padding in (
        ([5, 2, 3], PAD_ID),
        ([4, 4], None),
        ([3], None),
        ([0], None),
        ([1, 4, 0, 2], END_ID),
        ([2, 5], 6),
        ([3, 1, 2], START_ID),
    ):
        n = max(words) + 2
        target = torch.randint(4, 12, (len(words), n), generator=generator)
        place, ends = torch.arange(n), torch.tensor(words)[:, None] + 1
        target[:, 0] = START_ID
        target[place == ends] = END_ID
        target[place > ends] = PAD_ID if padding is None else padding
        yield target, place <= ends
    target = torch.tensor([[20, 4, 2, 21, 0, 0], [20, 2, 7, 5, 5, 21]])
    yield target + torch.randint(100, (), generator=generator), torch.tensor([[1, 1, 1, 1, 0, 0], [1] * 6]).bool()


def edges_of_targets(generator):
    target = torch.randint(4, 90, (66, 70), generator=generator)
    yield "66 sentences of 70 tokens", (target, torch.arange(70) < torch.randint(3, 71, (66, 1), generator=generator))


@exercise(
    draws=draw_targets,
    edges=edges_of_targets,
    hints=[
        "Write down a sentence with `<s>` and `</s>`. Which token does the decoder read first, and which one should it say "
        "then? Which one does it read last?",
        "At each position the label is the next token. Which token has none after it, and which has none before it? "
        "Inputs and labels both have n - 1 positions.",
        "The mask should tell which *labels* are padding. Cut it as you cut the labels; which ids the padding has "
        "does not matter.",
    ],
    intermediates={
        "(b, n), but each row should lose one token, at one of its ends": lambda target, mask: target,
        "(b, n - 2), cut at both ends, but each row should lose only one token": lambda target, mask: target[:, 2:],
        "(b - 1, n), cut along the sentences, but it should be cut along the tokens, the second axis": (
            lambda target, mask: target[1:] if len(target) > 1 else target.new_zeros(0, target.shape[1])
        ),
        "one long row, but each sentence should keep its own, (b, n - 1)": lambda target, mask: target[:, 1:].flatten(),
        "the tokens that count, in one row: indexing by a mask loses the axes": lambda target, mask: target[:, 1:][
            mask[:, 1:]
        ],
        "all sentences in one row: indexing by a mask loses the axes": lambda target, mask: target[mask][1:],
        "a causal mask, but it should tell which labels count": lambda target, mask: mask.new_ones(
            2 * [mask.shape[1] - 1]
        ),
        "a mask for attention, with axes for heads and queries, but it should be (b, n - 1)": (
            lambda target, mask: mask[:, None, None, 1:]
        ),
    },
    question={
        r"cat\(": "What you join to (b, n) along axis 1 should have b rows, too: (b, 1).",
        "": "target and mask are (b, n): does this line cut the second axis, [:, …]?",
    },
    level=1,
    minutes=6,
)
def shift_target(target, mask):
    """What a decoder reads, what it should say at each position, which of that counts: returns three (b, n - 1).

    target (b, n) are token ids: `<s>`, words, `</s>`, then padding, with any id. mask (b, n) is
    True up to `</s>`, False for padding. Returned are inputs, labels, and the mask of the labels.
    """
    inputs = target[:, :-1]
    labels = target[:, 1:]
    return inputs, labels, mask[:, 1:]


def draw_needs(generator):
    """A chain; nothing needs anything; a short cut beside a chain; a tree; the last needs all; a chain in another order;
    two chains of different lengths, drawn at random; one result."""
    yield (torch.zeros(4, 4).bool(),)
    chain = torch.ones(6, 6).tril(-1).triu(-1).bool()
    yield (chain,)
    short = chain.clone()
    short[5, 0] = True
    yield (short,)
    tree = torch.zeros(7, 7).bool()
    for i in range(3):
        tree[i, 2 * i + 1] = tree[i, 2 * i + 2] = True
    yield (tree,)
    last = torch.zeros(5, 5).bool()
    last[4, :4] = True
    yield (last,)
    for n in (6, 8, 9):
        needs = torch.rand(n, n, generator=generator).tril(-1) > 0.65
        order = torch.randperm(n, generator=generator)
        yield (needs[order][:, order],)
    order = torch.randperm(7, generator=generator)
    both = torch.zeros(7, 7).bool()
    for i, j in ((1, 0), (2, 1), (3, 2), (5, 4), (6, 5)):
        both[i, j] = True
    yield (both[order][:, order],)
    yield (torch.zeros(1, 1).bool(),)


def edges_of_needs(generator):
    order = torch.randperm(70, generator=generator)
    chain = torch.ones(70, 70).tril(-1).triu(-1).bool()
    yield "a chain of 70", (chain[order][:, order],)
    yield "66 results, each of which needs all before it", (torch.ones(66, 66).tril(-1).bool(),)


@exercise(
    draws=draw_needs,
    edges=edges_of_needs,
    hints=[
        "At the first step, which results can be computed? Those that need nothing. And at the second?",
        "Keep a list of what is known. A result can be computed as soon as all that it needs is known; how many rounds "
        "pass until everything is?",
        "needs & ~known says what is still missing. A row without any True is ready: .any(dim=-1). In each round, known "
        "becomes everything that is ready, and the round counts 1.",
    ],
    question={
        "": "needs is (n, n), a row for each result, a column for each one that it needs: which axis meets here?"
    },
    level=2,
    minutes=5,
)
def sequential_steps(needs):
    """How many steps it takes, one after the other, until all n results are known: returns a whole number.

    needs (n, n) is True where result i needs result j first; nothing needs itself, by whatever detour.
    In one step everything is computed at once whose needs are known from the steps before.
    """
    known, waited = torch.zeros(len(needs), dtype=torch.bool), 0
    while not known.all():
        known = ~(needs & ~known).any(dim=-1)  # (n,)
        waited += 1
    return waited


class Reader(torch.nn.Module):
    """A step that reads a word: its logits depend on the word, on those before it, and on how many these are."""

    def __init__(self, table):
        super().__init__()
        self.table = torch.nn.Parameter(table)

    def forward(self, word, state):
        if not isinstance(word, torch.Tensor) or word.ndim != 2 or word.shape[1] != 1:
            shape = tuple(word.shape) if isinstance(word, torch.Tensor) else type(word).__name__
            raise ValueError(f"step reads one word of each sentence, (b, 1), and not {shape}")
        vectors = self.table[word]  # (b, 1, v)
        state = vectors if state is None else torch.cat([state, vectors], dim=1)  # (b, words so far, v)
        weights = torch.softmax(state @ vectors.mT, dim=1).mT  # (b, 1, words so far)
        return vectors + weights @ state.cumsum(1), state, weights


def draw_steps_and_targets(generator):
    """All sizes different; b = q; v = q; a single sentence; one word; words that come again; float64."""
    for b, q, v in ((2, 4, 5), (3, 3, 6), (2, 5, 5), (1, 4, 7), (3, 1, 4), (2, 6, 3), (4, 2, 8)):
        table = torch.randn(9, v, generator=generator, dtype=torch.float64 if v == 7 else torch.float32)
        yield Reader(table), torch.randint(0, 9 if v > 3 else 2, (b, q), generator=generator)


def edges_of_targets_read_by_word(generator):
    for name, (b, q, v) in (("70 words", (1, 70, 3)), ("66 sentences, and 67 words to choose from", (66, 2, 67))):
        step = Reader(torch.randn(9, v, generator=generator) / v)
        yield name, (step, torch.randint(9, (b, q), generator=generator))


@exercise(
    draws=draw_steps_and_targets,
    edges=edges_of_targets_read_by_word,
    hints=[
        "When the third word is read, what should be known of the first two? Which value keeps it from one call to the next?",
        "Go through the words of all sentences at once, column by column. Each call returns the logits of that word and a "
        "new state for the next call. Which state does the first call get?",
        "target[:, i : i + 1] keeps both axes, (b, 1); so does target.split(1, dim=1). Collect the logits (b, 1, v) in a "
        "list, and join them with torch.cat along the axis of the words.",
    ],
    intermediates={
        "(b, 1, v), the logits of a single word, but each of the q words should have its own": lambda step, target: (
            step(target[:, :1], None)[0]
        ),
        "(b·q, 1, v), with all sentences along axis 0, but words should be along axis 1": lambda step, target: step(
            target.flatten()[:, None], None
        )[0],
        "(q, b, 1, v), a list of what each step returns, but it should be joined along the axis of the words": lambda step, target: (
            torch.stack([step(target[:, :1], None)[0]] * target.shape[1])
        ),
        "(b, q), one number for each word, but each should have v logits": lambda step, target: target,
        "(b, 1, q), weights: step returns logits, state and weights, in this order": lambda step, target: target[
            :, None
        ],
    },
    question={
        r"cat\(|stack\(": "Each step returns (b, 1, v): which axis belongs to the words?",
        r"step\(": "step takes a word of each sentence, (b, 1), and a state: what does this line pass to it?",
        "": "target is (b, q), a word of each sentence (b, 1), its logits (b, 1, v): along which axis do you go?",
    },
    level=2,
    minutes=8,
    trained=True,
)
def word_by_word(step, target):
    """Logits (b, q, v) of a decoder that is given the words of target (b, q) one after the other.

    step(word, state) reads one word of each sentence, (b, 1), and returns its logits (b, 1, v), the new
    state, and weights, which are not needed here. The state before the first word is None.
    """
    state, logits = None, []
    for word in target.split(1, dim=1):
        one, state, _ = step(word, state)
        logits.append(one)
    return torch.cat(logits, dim=1)
