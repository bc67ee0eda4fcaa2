"""What a page shows of each widget, where that is not all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from utils.widgets import mixing


@dataclass(frozen=True)
class Page:
    """What a page shows of a widget: only the `grid` of a control's values, not the `hidden` controls, which follow
    from others. `note`: what the page says about it."""

    grid: Mapping[str, Sequence] = field(default_factory=dict)
    hidden: Sequence[str] = ()
    note: str = ""


MAPS = (
    "king queen man woman ship boat ocean sea paris france rome italy",
    "paris france rome italy madrid spain berlin germany london england",
    "red green blue yellow one two three four monday tuesday january february",
    "dog cat horse cow apple bread cheese milk car train",
    "paris france qqzzx rome italy",
    "ship boat",
)
NEW_ROADS = (0, 3), (1, 3), (1, 4), (2, 4), (0, 5)  # of the graph
PAGES = {
    "attention_shapes": Page(
        {"n_queries": (1, 2, 3, 4, 5, 6, 8, 10), "n_keys": (1, 2, 3, 4, 5, 6, 8, 10)}
        | {"d_head": (1, 4, 8, 12), "d_value": (1, 4, 8, 12)},
        note="Here each slider has some of its values, in the notebook all of them.",
    ),
    "attention_flow": Page(
        {f"entry_{entry}": (-2, 0, 3) for entry in range(1, 5)},
        note="Here each number of your query has three values, in the notebook seven.",
    ),
    "hull": Page(
        {name: [round(0.4 * k - 4, 1) for k in range(21)] for name in ("query_x", "query_y")}
        | {"temperature": (0.25, 1.0, 4.0)},
        note="Here the query moves in steps of 0.4, in the notebook in steps of 0.2, with more temperatures.",
    ),
    "sentence_attention": Page(note="Here you choose a list of words, in the notebook you type your own."),
    "softmax_sharing": Page(
        {"score_1": (-2, 0, 3), "score_2": (0, 2, 4), "score_3": (-2, 1, 3), "score_4": (-3, -1, 2)},
        note="Here each score has three of its values, in the notebook nine.",
    ),
    "two_arrows": Page(
        {name: range(-3, 4) for name in ("a_x", "a_y", "b_x", "b_y")},
        note="Here the tips move in whole steps, in the notebook in halves.",
    ),
    "word_map": Page({"words": MAPS}, note="Here you choose a list of words, in the notebook you type your own."),
    "analogy": Page(
        {"question": ("man king woman", "walk walked talk", "good better bad", "france paris italy", "up down left")},
        note="Here you choose a question, in the notebook you type your own.",
    ),
    "translator": Page(
        {"sentence": ("the green witch arrived", *mixing.EXAMPLES)},
        note="Here you choose a sentence, in the notebook you type your own.",
    ),
    "einsum_loops": Page(note="Here you choose a string, in the notebook you type your own."),
    "heads_at_work": Page(note="Here you choose a sentence, in the notebook you type your own."),
    "paint_mask": Page(
        {f"box_{i}_{j}": (True,) for i in range(4) for j in range(i + 1)},
        hidden=("preset",),
        note="Here the cells above the diagonal can be painted, in the notebook all of them.",
    ),
    "be_the_head": Page(
        {"percent": (0, 30, 50, 70, 100)}, note="Here the border has five of its places, in the notebook eleven."
    ),
    "shelf": Page({"seed": (0, 1)}, note="Here are two of the five trainings."),
    "two_cuts": Page(
        {"percent": (0, 20, 40, 50, 60, 80, 100)} | {name: (5, 25, 45, 65, 85) for name in ("cut_1", "cut_2")},
        note="Here each ring has some of its places, in the notebook all of them.",
    ),
    "hiding": Page(
        {"determiner": ("the", "a"), "adjective": ("—", "green"), "noun": ("witch", "dragon")}
        | {"modifier": ("—", "who saw the cat"), "predicate": ("arrived", "found the ring")},
        note="Here some of the chips can be chosen, in the notebook all of them.",
    ),
    "side_by_side": Page(
        {"determiner": ("the",), "adjective": ("green",), "noun": ("witch",), "modifier": ("who saw the cat",)}
        | {"predicate": ("found the golden ring",), "join": ("when",)}
        | {"end": ("the girls near the tree sang", "two girls near the tree did not see the king")},
        note="Here some of the chips can be chosen, in the notebook all of them.",
    ),
    "head_browser": Page(hidden=("sentence",), note="In the notebook you can type sentences of your own."),
    "trap_bench": Page(hidden=("template",), note="In the notebook you type templates of your own."),
    "induction": Page(hidden=("string",), note="In the notebook you type strings of your own."),
    "search": Page(hidden=("question",), note="In the notebook you can type descriptions of your own."),
    "published_heads": Page(
        {"head": (1, 3, 9, 12)},
        hidden=("sentence",),
        note="Here are four of the twelve heads of each layer; in the notebook all, for sentences of your own.",
    ),
    "position_waves": Page(
        {"d_model": (4, 8, 12, 16, 24, 32), "position": range(0, 24, 2)}
        | {"shift": (0, 1, 2, 3, 4, 6, 8, 12)},
        note="Here each slider has some of its values, in the notebook all of them.",
    ),
    "block_parts": Page(note="Here you choose digits, in the notebook you type your own."),
    "sampling": Page(
        {"temperature": (0.1, 0.3, 0.5, 0.7, 1.0, 1.3, 1.6, 2.0)}
        | {"top_p": (0.05, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)},
        note="Here temperature and top-p have some of their values, in the notebook more.",
    ),
    "softmax_in_blocks": Page(
        hidden=[f"score_{number}" for number in range(1, 8)],
        note="Here you drag the last score, in the notebook each of them.",
    ),
    "chat": Page(
        {"taken": ("", "1:2", "7:2"), "step": range(25), "chosen": range(25)},
        hidden=("asked", "temperature", "top_p", "template"),
        note="Here are three recorded conversations, and what follows from the second candidate for pieces 1 and 7. In "
        "the notebook you ask questions of your own, and click any candidate.",
    ),
    "graph": Page(
        {f"road_{i}_{j}": (j - i == 1,) for i in range(6) for j in range(i + 1, 6) if (i, j) not in NEW_ROADS},
        note="Here five new roads can be painted, in the notebook any, and the old ones closed.",
    ),
    "patches": Page(
        {"order": ("as it is", "halves exchanged", "shuffle 1")},
        hidden=[f"{kind}_{place}" for kind in ("place", "lies") for place in range(16)],
        note="Here you click who asks. In the notebook you also click patches to hide them, and drag them elsewhere.",
    ),
}  # fmt: skip
