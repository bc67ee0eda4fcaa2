"""Exercises of the notebook on a chat model: numbers from four bits, pieces by merges, the gated feed-forward layer, key
heads that serve several query heads, and the loop that writes an answer."""

import torch

from ...byte_pairs import join
from ...judge.exercise import exercise

# ---- write_answer


def reader(table):
    """A function read(ids, state) whose logits depend on all ids that were read, on their order, and on how many times
    something was read."""

    def read(ids, state):
        if not isinstance(ids, (list, tuple)) or not ids:
            raise ValueError(f"read takes a list of ids, such as [3], and no {type(ids).__name__}")
        before, times = ((), 0) if state is None else state
        before = (*before, *map(int, ids))
        places = torch.arange(1.0, len(before) + 1)
        logits = places.cos() @ table[list(before)] + table[times % len(table)]
        return logits, (before, times + 1)

    return read


def last_word(table):
    """A function read(ids, state) whose logits depend on the last id alone; its state counts what was read."""

    def read(ids, state):
        if not isinstance(ids, (list, tuple)) or not ids:
            raise ValueError(f"read takes a list of ids, such as [3], and no {type(ids).__name__}")
        return table[int(ids[-1])], (state or 0) + len(ids)

    return read


def follow(*pairs, size):
    """A table (size, size) in which the largest logit of row i is that of the id that follows i; all others differ."""
    table = -torch.arange(1.0, size + 1).repeat(size, 1)
    for one, other in pairs:
        table[one, other] = 1.0
    return table


def ending(read, prompt, length):
    """The id at which an answer of that length ends; where ids come again, the one that comes last for the first time."""
    state, ids, new = None, [], prompt
    for _ in range(length + 1):
        logits, state = read(new, state)
        ids.append(int(logits.argmax()))
        new = ids[-1:]
    return max(ids, key=ids.index)


def draw_answers(generator):
    """Answers that end by themselves, at once, at the limit, with the limit; that say an id again; prompts of one id and
    of several, with the end in it; logits by the last id, by all ids."""
    row = follow((1, 2), (2, 5), (5, 3), (3, 4), (4, 0), (0, 1), size=6)
    yield last_word(row), [0, 1], 4, 9
    yield last_word(row), [3], 4, 5
    yield last_word(row), [1, 4, 1], 4, 2
    yield last_word(follow((2, 1), (1, 2), (0, 2), size=4)), [3, 0], 3, 5
    yield last_word(row), [4, 2], 0, 4
    for v, prompt, length, most in (
        (7, [2, 5, 1], 4, 12),
        (9, [3], 6, 20),
        (8, [1, 1, 6, 2], 9, 5),
        (12, [4, 7], 5, 30),
    ):
        read = reader(torch.randn(v, v, generator=generator))
        yield read, prompt, ending(read, prompt, length), most


def edges_of_answers(generator):
    circle = follow(*((i, (i + 1) % 90) for i in range(90)), size=90)
    yield "an answer of 80 ids, and the end is 88", (last_word(circle), [7], 88, 200)
    yield "an answer that stops at 70 ids", (last_word(circle), [3, 9], 2, 70)
    yield "one id at most", (last_word(circle), [1, 2], 50, 1)
    read = reader(torch.randn(70, 70, generator=generator))
    yield "a prompt of 70 ids", (read, list(range(70)), ending(read, list(range(70)), 6), 10)
    certain = torch.where(follow((0, 1), (1, 2), size=3) > 0, 0.0, -torch.inf)
    yield "logits of 0 and -∞", (last_word(certain), [0], 2, 5)


@exercise(
    draws=draw_answers,
    edges=edges_of_answers,
    hints=[
        "After the prompt is read, its logits give the first new id. What has to be read next: the prompt with the new "
        "id, or only the new id? What remembers the prompt?",
        "Two variables change in the loop. What to read next is the prompt at first, then a list with one id. The state "
        "is None at first, then what the last call of read returned.",
        "logits.argmax() is the index of the largest logit. If it is end, stop before anything is appended; otherwise "
        "append it, as int(…). Loop while the list has fewer than most ids.",
    ],
    question={
        r"read\(": "read takes a list of ids and the state: [id] makes a list of one id.",
        "": "Which names in this line are lists, and which are single numbers?",
    },
    level=2,
    minutes=10,
)
def write_answer(read, prompt, end, most):
    """Write an answer to prompt, a list of ids, one id after the other: returns the list of its ids.

    read(ids, state) reads a list of new ids. It returns logits (v,) for the next id, and the state for the next call.
    The first call gets None. Always choose the id with the largest logit. Stop when it is end, which is not part of the
    answer, or when the answer has `most` ids (1 or more). Read the whole prompt in one call, then each new id in one.
    """
    chosen, new, state = [], prompt, None
    while len(chosen) < most:
        logits, state = read(new, state)
        best = int(logits.argmax())
        if best == end:
            break
        chosen.append(best)
        new = [best]
    return chosen


# ---- merge_pieces


def listed(*pairs):
    """{pair: rank} of pairs such as "l ow", from the first that was learned on."""
    return {tuple(pair.split()): rank for rank, pair in enumerate(pairs)}


def of_letters(letters, length, generator):
    """A word, letter by letter, by chance."""
    return [letters[place] for place in torch.randint(len(letters), (length,), generator=generator).tolist()]


def learned_by_chance(parts, count, generator):
    """{pair: rank}, in the order of the alphabet: again and again two neighbours by chance are joined everywhere."""
    pairs = []
    for place in torch.rand(count, generator=generator).tolist():
        at = int(place * (len(parts) - 1))
        pairs.append(tuple(parts[at : at + 2]))
        parts = join(parts, pairs[-1])
    return dict(sorted({pair: rank for rank, pair in enumerate(dict.fromkeys(pairs))}.items()))


def draw_pieces(generator):
    """The lowest rank in front, in the middle, at the end; a pair that comes several times, that overlaps with itself,
    that is made by other pairs; two pairs of the same letters; ranks in no order, with gaps; a joined piece that makes a
    pair of lower rank; parts of several letters; nothing to join; one part; words and lists by chance."""
    yield list("lower"), listed("e r", "l o", "lo w", "low er", "w er")
    yield list("banana"), listed("a n", "n a", "an a", "b an")
    yield list("aaaaa"), listed("a a", "aa a")
    yield list("hugs"), {("g", "s"): 7, ("h", "u"): 3, ("hu", "g"): 5, ("u", "g"): 4}
    yield ["a", "bc", "ab", "c"], listed("ab c", "x y", "a b")
    yield list("abcd"), listed("b c", "x y", "abc d", "c d", "a bc", "ab c", "a b")
    yield list("abcx") + list("abcd"), {("a", "b"): 0, ("ab", "c"): 9, ("c", "x"): 12, ("abc", "d"): 5, ("abc", "x"): 2}
    yield list("ababc"), {("a", "b"): 4, ("ab", "ab"): 8, ("ab", "a"): 1, ("b", "c"): 6}
    yield list("xabab"), {("x", "a"): 1, ("a", "b"): 2, ("b", "a"): 0}
    yield ["b", "cde", "fx", "g"], {("b", "cde"): 1, ("cde", "fx"): 2, ("fx", "g"): 0}
    yield ["in", "form", "at", "ion"], listed("at ion", "i n", "in form", "form ation")
    yield list("xyz"), listed("a b", "y x", "xy z")
    yield ["x"], listed("x x")
    yield list("ababab"), {("b", "a"): 1, ("a", "b"): 2, ("a", "ba"): 3, ("ba", "ba"): 0}
    for letters, length, count in (("abc", 7, 6), ("abc", 10, 14), ("ab", 12, 8), ("abcd", 15, 20)):
        ranks = learned_by_chance(of_letters(letters, 60, generator), count, generator)
        yield of_letters(letters, length, generator), ranks


def edges_of_pieces(generator):
    ranks = learned_by_chance(of_letters("ab", 300, generator), 40, generator)
    yield "a word of 140 letters", (of_letters("ab", 140, generator), ranks)
    yield "a pair that is learned after 48,000 others", (list("the"), {("h", "e"): 48_001, ("t", "h"): 48_000})
    yield "a part that is no letter", (["Ġ", "t", "Ã", "©", " "], listed("Ã ©", "Ġ t", "Ġt Ã©"))
    yield "an empty list of pairs", (list("abc"), {})


@exercise(
    draws=draw_pieces,
    edges=edges_of_pieces,
    hints=[
        "Take the word l o w e r, and the list e r, l o, lo w, low er. Which pair is joined first, and which pairs are "
        "neighbours after that?",
        "zip(parts, parts[1:]) gives all pairs of neighbours. Keep those that are in ranks; if there are none, you are "
        "done. min(…, key=ranks.get) is the one with the lowest rank.",
        "Build a new list from left to right. If its last piece and the next part are that pair, add the part to the "
        "last piece; otherwise append the part.",
        "Put this in a loop that runs while two neighbours are a known pair. Each round begins with the list that the "
        "round before has built.",
    ],
    level=3,
    minutes=12,
)
def merge_pieces(parts, ranks):
    """Byte-pair encoding of one word: returns the list of its pieces, and leaves parts as it is.

    parts is a list of strings, one or more; ranks is {(left, right): rank}. While two neighbours are a pair in ranks,
    join all occurrences, from left to right, of the pair with the lowest rank. No two pairs have the same rank.
    """
    merged = list(parts)
    while known := [pair for pair in zip(merged, merged[1:]) if pair in ranks]:
        best = min(known, key=ranks.get)
        before, merged = merged, []
        for part in before:
            if merged and (merged[-1], part) == best:
                merged[-1] += part
            else:
                merged.append(part)
    return merged


# ---- four_bits


def draw_blocks(generator):
    """One block, several; 16 and 32, where a scale could be meant for a column; bytes of 0, 15, 240 and 255; float64."""
    for n, dtype in ((3, None), (1, None), (32, None), (5, torch.float64), (16, None), (2, None)):
        scales, minimums = torch.randn(2, n, generator=generator, dtype=dtype)
        packed = torch.randint(256, (n, 16), generator=generator, dtype=torch.uint8)
        packed[0, :4] = torch.tensor([0, 15, 240, 255], dtype=torch.uint8)
        yield scales, minimums, packed


def edges_of_blocks(generator):
    packed = torch.randint(256, (70, 16), generator=generator, dtype=torch.uint8)
    yield "70 blocks", (*torch.randn(2, 70, generator=generator), packed)
    yield "a scale of 0", (torch.zeros(2), torch.randn(2, generator=generator), packed[:2])


@exercise(
    draws=draw_blocks,
    edges=edges_of_blocks,
    hints=[
        "The byte 0b0111_0010 holds two numbers. Which two, and which operation on whole numbers gives each of them?",
        "packed & 15 keeps the low four bits, packed >> 4 moves the high four bits down. Both are (n, 16). In "
        "which order should their columns be in (n, 32)?",
        "torch.cat along dim=1 puts them side by side, low halves first. Each row has a scale and a minimum of its own: "
        "[:, None] makes both (n, 1), which fits (n, 32).",
    ],
    intermediates={
        "only one kind of halves: where are the other sixteen of each block?": lambda scales, minimums, packed: packed,
        "(2n, 16): the low halves are above the high ones. They should be joined along dim=1, so that a block is one row": (
            lambda scales, minimums, packed: torch.cat([packed, packed])
        ),
        "(n, 16, 2): the two halves of a byte have an axis of their own. There should be 32 numbers per row": (
            lambda scales, minimums, packed: torch.stack([packed, packed], dim=-1)
        ),
        "(n, 2, 16): low and high halves have an axis of their own. There should be 32 numbers per row": (
            lambda scales, minimums, packed: torch.stack([packed, packed], dim=1)
        ),
        "one long row: each block should have a row of its own, (n, 32)": lambda scales, minimums, packed: torch.cat(
            [packed, packed]
        ).flatten(),
    },
    question={
        "cat|stack": "Low and high halves are (n, 16) each: along which axis should they be joined to (n, 32)?",
        "": "scales and minimums are (n,), the halves (n, 32): [:, None] gives the first two an axis of length 1 at the end.",
    },
    level=1,
    minutes=8,
)
def four_bits(scales, minimums, packed):
    """The numbers of n blocks that are stored in four bits each: returns (n, 32).

    scales (n,) and minimums (n,) hold one number per block, packed (n, 16) its bytes, uint8. Each byte holds two
    halves, numbers of four bits. A row of the result is made of the low halves of all bytes, then of the high halves.
    Each number is scale · half + minimum.
    """
    halves = torch.cat([packed & 15, packed >> 4], dim=1)  # (n, 32)
    return scales[:, None] * halves + minimums[:, None]


# ---- gated_feed_forward


def draw_gates(generator):
    """No, one and two axes in front; d < f, d > f, d = f, f = 1; a single row; gates far from 0; float64."""
    for shape, f, size, dtype in (
        ((3, 4), 6, 1, None),
        ((5,), 3, 1, None),
        ((2, 3, 4), 4, 1, None),
        ((4, 4), 4, 1, None),
        ((5, 4, 3, 2), 6, 1, torch.float64),
        ((1, 3), 7, 4, None),
        ((2, 6), 1, 1, None),
    ):
        x = size * torch.randn(*shape, generator=generator, dtype=dtype)
        d = shape[-1]
        yield x, *(torch.randn(*of_one, generator=generator, dtype=dtype) for of_one in ((d, f), (d, f), (f, d)))


def edges_of_gates(generator):
    for name, shape, f in (("66 vectors of 67 numbers, 70 inside", (66, 67), 70), ("a batch of 66", (66, 2, 3), 4)):
        d = shape[-1]
        matrices = (torch.randn(*of_one, generator=generator) / 8 for of_one in ((d, f), (d, f), (f, d)))
        yield name, (torch.randn(*shape, generator=generator), *matrices)
    x, eye = torch.tensor([[300.0, -300.0], [1.0, 0.0]]), torch.eye(2)
    yield "gates of 300 and -300 (exp(300) is infinite in float32)", (x, eye, eye, eye)


@exercise(
    draws=draw_gates,
    edges=edges_of_gates,
    hints=[
        "There are three products with matrices: which two of them take x, and what does the third one take?",
        "silu(z) is z · sigmoid(z), number by number; in torch it is torch.nn.functional.silu. Which product should go "
        "through it, and which should not?",
        "The gate is silu(x @ W_gate), (…, f), and x @ W_up is (…, f), too. They are multiplied number by number, with *, "
        "and W_down brings the result back to (…, d).",
    ],
    intermediates={
        "(…, f): W_down should bring this back to (…, d)": lambda x, W_gate, W_up, W_down: x @ W_gate,
        "(…, 2f): two results (…, f) side by side. They should be multiplied, number by number": (
            lambda x, W_gate, W_up, W_down: torch.cat([x @ W_gate, x @ W_up], dim=-1)
        ),
    },
    question={
        r"W_\w+ @ |matmul\(W_": "Vectors are rows: x (…, d) should be on the left of the product, W_gate (d, f) on the right.",
        r"\.T\b|\.mT\b|\.t\(\)|linear": "x is (…, d), W_gate and W_up are (d, f), W_down is (f, d): they fit as they are, "
        "with x on the left.",
        "": "x is (…, d), W_gate and W_up are (d, f), W_down is (f, d): which axes meet in this line?",
    },
    level=1,
    minutes=6,
)
def gated_feed_forward(x, W_gate, W_up, W_down):
    """A feed-forward layer with a gate, as in Llama, for x (…, d): returns (…, d).

    W_gate and W_up (d, f), W_down (f, d), no biases. The gate, silu(x W_gate), is multiplied by x W_up, number by
    number. The result is multiplied by the matrix W_down.
    """
    gate = torch.nn.functional.silu(x @ W_gate)  # (…, f)
    return (gate * (x @ W_up)) @ W_down


# ---- share_heads


def draw_key_heads(generator):
    """No, one and two axes in front; one key head for all, each for itself, two or three for each; as many as each key
    head serves; k = g, e = g, k = e; one key; float64."""
    for shape, num_heads, dtype in (
        ((2, 3, 4), 6, None),
        ((2, 3, 5, 2), 9, None),
        ((1, 4, 3), 4, None),
        ((3, 2, 4, 3), 4, torch.float64),
        ((4, 3, 2, 5, 3), 8, None),
        ((4, 2, 3), 4, None),
        ((3, 3, 3), 6, None),
        ((3, 2, 1, 4), 6, None),
    ):
        yield torch.randn(*shape, generator=generator, dtype=dtype), num_heads


def edges_of_key_heads(generator):
    for name, shape, num_heads in (
        ("66 keys of 67 numbers", (2, 66, 67), 4),
        ("66 key heads, 132 query heads", (66, 2, 3), 132),
        ("a batch of 66", (66, 2, 3, 2), 4),
        ("two axes of a batch, 66 and 2", (2, 66, 2, 3, 2), 4),
    ):
        yield name, (torch.randn(*shape, generator=generator), num_heads)


@exercise(
    draws=draw_key_heads,
    edges=edges_of_key_heads,
    hints=[
        "With 2 key heads and 6 query heads: which key head do the query heads 0, 1, 2, 3, 4 and 5 ask? Write the six "
        "numbers in a row.",
        "The numbers are 0, 0, 0, 1, 1, 1: each key head occurs num_heads / g times in succession. "
        "repeat would give 0, 1, 0, 1, 0, 1.",
        "torch.repeat_interleave repeats each entry of an axis before it goes on to the next. The axis of the heads is "
        "the third from the end, -3, however many axes come before it; g is its length.",
    ],
    intermediates={
        "(…, g, k, e), as keys: each key head should be repeated": lambda keys, num_heads: keys,
        "(…, g, h / g, k, e): the copies have an axis of their own. flatten joins it with the axis of the heads": (
            lambda keys, num_heads: keys.unsqueeze(-3).repeat_interleave(num_heads // keys.shape[-3], dim=-3)
        ),
        "(…, h / g, g, k, e): the copies have an axis of their own, before the heads. It should come after the heads": (
            lambda keys, num_heads: keys.unsqueeze(-4).repeat_interleave(num_heads // keys.shape[-3], dim=-4)
        ),
        "a result with h · g heads: there should be num_heads in the end": (
            lambda keys, num_heads: keys.repeat_interleave(num_heads, dim=-3)
        ),
    },
    question={
        r"repeat\(|expand\(|tile\(": "repeat and expand need one number for each axis, and the number of axes varies: how "
        "many axes come before the heads?",
        "": "keys is (…, g, k, e): the heads are axis -3. Which axis does this line change?",
    },
    level=2,
    minutes=7,
)
def share_heads(keys, num_heads):
    """Key heads (…, g, k, e) for num_heads = h query heads: returns (…, h, k, e).

    keys (…, g, k, e) has g heads, a divisor of num_heads. Each serves h / g neighbouring query heads: the
    first key head serves the first h / g of them, and so on.
    """
    times = num_heads // keys.shape[-3]
    return keys.repeat_interleave(times, dim=-3)
