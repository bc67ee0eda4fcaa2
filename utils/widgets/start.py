"""Notebook 00: the shapes of attention."""

from ..style import BLUE, DARK_ORANGE, GREEN, GREY, ORANGE, RED
from .canvas import Canvas, View, verdict
from .controls import Explorer, menu, slider


def draw_shapes(n_queries: int, n_keys: int, d_head: int, d_value: int) -> View:
    """The matrices of attention drawn to scale, each with its shape."""
    canvas, unit = Canvas(960, 262), 11
    matrices = [
        ("Q", n_queries, d_head, "(q, e)", BLUE, "·"),
        ("Kᵀ", d_head, n_keys, "(e, k)", ORANGE, "÷ √e, softmax →"),
        ("weights", n_queries, n_keys, "(q, k)", GREEN, "·"),
        ("V", n_keys, d_value, "(k, v)", ORANGE, "="),
        ("output", n_queries, d_value, "(q, v)", RED, ""),
    ]
    taken = sum(max(columns * unit, 60) + 8 * len(then) + 24 for _, _, columns, _, _, then in matrices)
    x = (960 - taken) / 2
    for name, rows, columns, letters, colour, then in matrices:
        slot = max(columns * unit, 60)
        left, top = x + (slot - columns * unit) / 2, 88 - rows * unit / 2
        for row in range(rows):
            for column in range(columns):
                square = left + column * unit, top + row * unit, unit, unit
                canvas.rect(*square, colour, stroke="white", opacity="0.75")
        canvas.text(x + slot / 2, 200, name, 16, fill=DARK_ORANGE if colour == ORANGE else colour, bold=True)
        canvas.text(x + slot / 2, 223, letters)
        canvas.text(x + slot / 2, 246, f"({rows}, {columns})", fill=GREY)
        canvas.text(x + slot + 4 * len(then) + 12, 94, then, 15 if len(then) > 1 else 24)
        x += slot + 8 * len(then) + 24
    return canvas.view(
        f"Q ({n_queries}, {d_head}) times K transposed ({d_head}, {n_keys}), scaled and through softmax, gives weights "
        f"({n_queries}, {n_keys}); times V ({n_keys}, {d_value}) gives the output ({n_queries}, {d_value})."
    )


def attention_shapes() -> Explorer:
    """The matrices of attention, drawn for any number of queries, keys and entries."""
    controls = {
        "n_queries": slider("queries q", 3, 1, 10),
        "n_keys": slider("keys k", 5, 1, 10),
        "d_head": slider("entries e", 8, 1, 12),
        "d_value": slider("entries v", 4, 1, 12),
    }
    return Explorer(draw_shapes, controls)


SHAPE_QUIZ = {
    "X (5, 512) @ W_q (512, 64)": {
        "(5, 64)": (True, "Each of the 5 rows keeps its place; 512 entries become 64."),
        "(5, 512)": (False, "The inner axes, 512 and 512, are summed away. What is left of W_q?"),
        "(64, 5)": (False, "Rows of X stay rows: the positions come first."),
    },
    "Q (5, 64) @ Kᵀ (64, 7)": {
        "(5, 7)": (True, "One score for each pair of a query and a key."),
        "(7, 5)": (False, "That is K @ Qᵀ: queries come first, so that a row belongs to one query."),
        "(64, 64)": (False, "The axis of 64 is the one that is summed. What remains are positions."),
    },
    "softmax of scores (5, 7) over the keys": {
        "(5, 7)": (True, "Softmax changes the numbers, not the shape: every row of 7 now sums to 1."),
        "(5,)": (False, "Nothing is summed away: each score becomes one weight."),
        "(5, 1)": (False, "Nothing is summed away: each score becomes one weight."),
    },
    "weights (5, 7) @ V (7, 32)": {
        "(5, 32)": (True, "One output for each query, as wide as a value."),
        "(5, 64)": (False, "The output is made of values, so it is as wide as a value, not as a key."),
        "(7, 32)": (False, "There are 7 values, but one output for each of the 5 queries."),
    },
    "8 heads, a batch of 2 sentences: Q with axes (b, h, q, e), d_model = 512": {
        "(2, 8, 5, 64)": (True, "512 entries are split over 8 heads: e = 512 / 8 = 64."),
        "(2, 8, 5, 512)": (False, "Heads share the 512 entries: each gets 512 / 8."),
        "(2, 5, 8, 64)": (False, "The order is b, h, q, e: a head sees all positions, so it comes before them."),
    },
}  # fmt: skip
CHOOSE = "choose …"


def shape_quiz() -> Explorer:
    """Which shape comes out? A question, an answer, and why."""
    question, answer = menu("what is the shape of", list(SHAPE_QUIZ), width="640px"), menu("answer", [CHOOSE])

    def offer(_change=None):
        answer.options = [(shape, shape) for shape in (CHOOSE, *sorted(SHAPE_QUIZ[question.value]))]

    def draw(question, answer):
        right, why = SHAPE_QUIZ[question].get(answer, (None, "Choose an answer."))
        return verdict(f"{question}  →  {'?' if right is None else answer}", right, [why])

    offer()
    question.observe(offer, "value")
    return Explorer(draw, {"question": question, "answer": answer})
