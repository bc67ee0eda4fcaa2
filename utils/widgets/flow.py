"""Numbers that flow through attention: a row of Q and a column of Kᵀ meet in a score, softmax shares out one bar, and
weights and a column of V meet in an output; the learner's own query is among them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import ipywidgets
import numpy as np
from torch import Tensor

from ..checks import require_list
from ..plots import as_numbers
from .attention import numbered
from .board import ABOVE, ROW, Board, Place, draw_products, draw_shares, short, width_of
from .canvas import Phone, View, cut, two_decimals
from .controls import Explorer, menu, slider

OWN = "you"  # whose query the learner makes
ENOUGH = 0.8  # the weight that the word of the task is to get
FARTHEST = 3  # an entry of the learner's query, either way
TIMES = "\u00a0·\u00a0"  # no line ends within a product
PULL = 14  # pixels that a finger moves an entry of the learner's query by 1


@dataclass(frozen=True)
class Numbers:
    """Attention of queries (q, e) to keys (k, e) and values (k, v), and in which steps it is computed."""

    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray

    @cached_property
    def scores(self) -> np.ndarray:
        return self.Q @ self.K.T

    @cached_property
    def scaled(self) -> np.ndarray:
        return self.scores / math.sqrt(self.Q.shape[1])

    @cached_property
    def exponentials(self) -> np.ndarray:
        return np.exp(self.scaled)

    @cached_property
    def weights(self) -> np.ndarray:
        return self.exponentials / self.exponentials.sum(1, keepdims=True)

    @cached_property
    def outputs(self) -> np.ndarray:
        return self.weights @ self.V

    @cached_property
    def steps(self) -> list[tuple[str, int]]:
        """What is done in each step, and for which key or entry."""
        scores = [("score", key) for key in range(len(self.K))]
        outputs = [("output", entry) for entry in range(self.V.shape[1])]
        return [("query", 0), *scores, ("scale", 0), ("exponentials", 0), ("weights", 0), *outputs, ("all", 0)]


@dataclass(frozen=True)
class Scene:
    """A step, from 1, of query number i: the numbers, the board on which they are, the canvas, what the entries of a
    value say."""

    words: Sequence[str]
    numbers: Numbers
    i: int
    step: int
    board: Board
    canvas: Phone
    meanings: Sequence[str] = ()

    @property
    def now(self) -> tuple[str, int]:
        return self.numbers.steps[self.step - 1]

    @property
    def done(self) -> list[str]:
        """The kinds of the steps up to this one."""
        return [kind for kind, _ in self.numbers.steps[: self.step]]

    def first(self, *kinds: str) -> int:
        """The first step of one of these kinds."""
        return next(step for step, (kind, _) in enumerate(self.numbers.steps, 1) if kind in kinds)

    @property
    def root(self) -> str:
        return f"√{self.numbers.Q.shape[1]}"

    @property
    def below(self) -> float:
        """Where there is room for the arithmetic."""
        return self.board.top + ROW * len(self.board.queries) + 46

    def known(self, row: int, part: str) -> int:
        """How many numbers this row of the scores S, the weights A or the outputs Z has by now."""
        if row != self.i or part == "A":
            return 999 if self.now[0] == "all" or (row == self.i and "weights" in self.done) else 0
        return self.done.count({"S": "score", "Z": "output"}[part])

    def row(self, part: str) -> list[Place]:
        return [self.board.place(part, self.i, column) for column in range(self.board.columns[part][0])]

    def column(self, part: str) -> list[Place]:
        """The column of Kᵀ or V that is used in this step."""
        rows = {"K": self.numbers.K.shape[1], "V": len(self.numbers.V)}[part]
        return [self.board.place(part, row, self.now[1], rows) for row in range(rows)]


# The board with what is known
def draw_tables(scene: Scene) -> None:
    """All numbers that are known by now; what is not is an empty cell."""
    numbers, board = scene.numbers, scene.board
    for part, table, role in (("Q", numbers.Q, "query"), ("K", numbers.K.T, "key"), ("V", numbers.V, "value")):
        shares = 0.5 * np.abs(table) / max(1.0, np.abs(table).max())
        board.table(scene.canvas, part, [list(map(short, row)) for row in table.tolist()], role, shares)
    scores = numbers.scaled if "scale" in scene.done else numbers.scores
    parts = (
        ("S", scores, "ink", short, 0.0),
        ("A", numbers.weights, "weight", two_decimals, 1.0),
        ("Z", numbers.outputs, "value", two_decimals, 0.5 / max(1.0, np.abs(numbers.V).max())),
    )
    for part, table, role, write, depth in parts:
        known = np.array([np.arange(table.shape[1]) < scene.known(row, part) for row in range(len(table))])
        texts = [[write(value) if there else "" for value, there in zip(*rows)] for rows in zip(table.tolist(), known)]
        board.table(scene.canvas, part, texts, role, np.where(known, depth * np.abs(table), 0.0))


def draw_names(scene: Scene) -> None:
    """The names of the matrices, and whose their rows and columns are."""
    canvas, board, keys = scene.canvas, scene.board, scene.words
    for row, word in enumerate(board.queries):
        here, x, y = row == scene.i, board.lefts["Q"] - 5, board.top + ROW * row + 16
        canvas.text(x, y, cut(word, board.longest), 12.5, "end", "here" if here else "quiet", here)
    scores = f"÷ {scene.root}" if "scale" in scene.done else "scores"
    for part, name, role in (
        ("Q", "Q", "query"),
        ("S", scores, "ink"),
        ("A", "weights", "weight"),
        ("Z", "output", "value"),
    ):
        board.name(canvas, part, name, role)
    x, y, wide, _ = board.place("K", 0, 0, scene.numbers.K.shape[1])
    slanted = max(width_of(cut(word, 9), 11.5) for word in keys) > wide + 4  # where a word is wider than a column
    for number, word in enumerate(keys):
        middle = x + wide * (number + 0.5)
        turned = {"transform": f"rotate(-40 {middle:.1f} {y - 5:.1f})"} if slanted else {}
        canvas.text(middle, y - 5, cut(word, 9), 11.5, "start" if slanted else "middle", "key", **turned)
        left, top, *_ = board.place("V", number, 0, len(keys))
        canvas.text(left - 5, top + 14, cut(word, 9), 11.5, "end", "value")
    canvas.text(x + wide * len(keys) + 6, y + 14, "Kᵀ", 13, "start", "key", bold=True)
    canvas.text(board.middle("V"), board.place("V", 0, 0, len(keys))[1] - 6, "V", 13, fill="value", bold=True)


def stages(scene: Scene) -> dict[str, set[str]]:
    """The names of the stages, and which kinds of steps belong to each."""
    return {
        "1 scores": {"score"}, f"2 ÷ {scene.root}": {"scale"}, "3 softmax": {"exponentials", "weights"},
        "4 output": {"output"},
    }  # fmt: skip


def draw_stages(scene: Scene) -> None:
    """What there is to do, with what is done now."""
    for number, (name, kinds) in enumerate(stages(scene).items()):
        now, reached, y = scene.now[0] in kinds, kinds & set(scene.done), 32 + 25 * number
        edge = {"stroke": "here", "stroke_width": 2.5} if now else {"stroke": "edge"}
        scene.canvas.rect(5, y, 78, 21, "raised" if reached else "ground", rx=4, **edge)
        scene.canvas.text(11, y + 15, name, 12, "start", "ink" if reached else "quiet", now)


def frame_row(scene: Scene, part: str, role: str) -> None:
    cells = scene.row(part)
    scene.board.frame(scene.canvas, cells[0], cells[-1], role, data_id=f"frame in {role}")


ASK, GUESS = "Click another word to let it ask.", "Which word will get most?"


# What is done in a step: drawn, and returned in words
def take_query(scene: Scene) -> str:
    frame_row(scene, "Q", "query")
    q = ", ".join(map(short, scene.numbers.Q[scene.i]))
    return f"Its query is its row of Q: {q}. A column of Kᵀ is the key of a word, a row of V its value. {ASK} {GUESS}"


MEETINGS = {"score": ("Q", "K", "S", ("query", "key")), "output": ("A", "V", "Z", ("weight", "value"))}


def draw_beams(scene: Scene) -> None:
    """From the row and from the column that make a number to its cell: drawn first, so that numbers are on them."""
    kind, at = scene.now
    if kind in MEETINGS:
        left, above, part, roles = MEETINGS[kind]
        to = scene.board.place(part, scene.i, at)
        scene.board.beams(scene.canvas, scene.row(left)[-1], scene.column(above)[-1], to, roles)


def meet(scene: Scene, pairs: Sequence[tuple[str, str]], result: str) -> str:
    """A row and a column are framed, and their numbers go into the sum below; returns the sum in words."""
    kind, at = scene.now
    left, above, part, roles = MEETINGS[kind]
    row, column, to = scene.row(left), scene.column(above), scene.board.place(part, scene.i, at)
    for cells, role in ((row, roles[0]), (column, roles[1]), ([to], "here")):
        scene.board.frame(scene.canvas, cells[0], cells[-1], role, data_id=f"frame in {role}")
    draw_products(scene.canvas, scene.below + 12, pairs, result, roles, (row, column))
    return f"{' + '.join(map(TIMES.join, pairs))} = {result}"


def make_score(scene: Scene) -> str:
    key = scene.now[1]
    pairs = [(short(a), short(b)) for a, b in zip(scene.numbers.Q[scene.i], scene.numbers.K[key])]
    said = meet(scene, pairs, short(scene.numbers.scores[scene.i, key]))
    return f"Its score for {scene.words[key]}: {said}. Multiply entry by entry, then add."


def scale(scene: Scene) -> str:
    scores, scaled = scene.numbers.scores[scene.i], scene.numbers.scaled[scene.i]
    frame_row(scene, "S", "here")
    room = 336 / len(scores)
    for number, (before, after) in enumerate(zip(scores, scaled)):
        text = f"{short(before)} ÷ {scene.root} = {short(after)}"
        size, late = min(14.0, room / width_of(text, 1.1)), scene.canvas.appear(0.15 * number)
        scene.canvas.text(10 + room * (number + 0.5), scene.below + 12, text, size, bold=True, **late)
    said = ", ".join(map(short, scaled))
    return (
        f"Every score of the row is divided by {scene.root}, as a query has {scene.numbers.Q.shape[1]} entries: {said}."
    )


def raise_to_powers(scene: Scene) -> str:
    exponentials, scaled = scene.numbers.exponentials[scene.i], scene.numbers.scaled[scene.i]
    frame_row(scene, "S", "here")
    texts = [f"exp({short(x)}) = {y:.1f}" for x, y in zip(scaled, exponentials)]
    draw_shares(scene.canvas, scene.below - 8, exponentials, scene.words, texts)
    said = ", ".join(f"{one:.1f}" for one in exponentials)
    return f"Their exponentials: {said}. All are positive. A lead in the scores has become a factor."


def weigh(scene: Scene) -> str:
    weights, total = scene.numbers.weights[scene.i], scene.numbers.exponentials[scene.i].sum()
    frame_row(scene, "S", "ink")
    frame_row(scene, "A", "here")
    draw_shares(scene.canvas, scene.below - 8, weights, scene.words, list(map(two_decimals, weights)))
    said = ", ".join(f"{word} {weight:.2f}" for word, weight in zip(scene.words, weights))
    return f"Each exponential is divided by their sum, {total:.1f}. These are the weights: {said}. Together they are 1."


def mix(scene: Scene) -> str:
    entry = scene.now[1]
    pairs = zip(map(two_decimals, scene.numbers.weights[scene.i]), map(short, scene.numbers.V[:, entry]))
    said = meet(scene, list(pairs), two_decimals(scene.numbers.outputs[scene.i, entry]))
    name = f", “{scene.meanings[entry]}”" if scene.meanings else ""
    return f"Entry {entry + 1} of its output{name}: each weight times that entry of the word's value. {said}."


def finish(scene: Scene) -> str:
    scene.canvas.text(178, scene.below + 14, f"softmax( Q Kᵀ / {scene.root} ) V", 17, bold=True)
    output = ", ".join(map(two_decimals, scene.numbers.outputs[scene.i]))
    return f"Every row is computed in the same way, and the formula does all rows at once. Its output: {output}."


DRAWN = {
    "query": take_query, "score": make_score, "scale": scale, "exponentials": raise_to_powers, "weights": weigh,
    "output": mix, "all": finish,
}  # fmt: skip


FREE = {"query": 6, "exponentials": 76, "weights": 76}  # room for what is drawn above the words


def draw_task(scene: Scene, y: float) -> str:
    """What the learner is to bring about, and whether it is done."""
    word, weight = scene.words[0], scene.numbers.weights[-1, 0]
    sign, role = ("✔", "right") if weight > ENOUGH else ("○", "quiet")
    said = f"{sign} Drag numbers in the last row of Q until {word} gets more than {ENOUGH:g}."
    said += f" Now: {weight:.2f}."
    scene.canvas.prose(8, y, said, fill=role)
    return said


# What is touched
def touch_stages(scene: Scene) -> None:
    for number, (name, kinds) in enumerate(stages(scene).items()):
        there = {"group": "stages", "on": scene.now[0] in kinds, "step": scene.first(*kinds)}
        scene.canvas.touch(5, 30 + 25 * number, 78, 25, f"stage {name}", **there)


def touch_words(scene: Scene) -> None:
    """Each word with its row of Q lets it ask; of the learner's own row the entries are dragged."""
    end = scene.board.place("S", 0, 0)[0] - 3
    for row, word in enumerate(scene.board.queries):
        name, right = (f"word {word}", end) if row < len(scene.words) else (OWN, scene.board.lefts["Q"])
        scene.canvas.touch(0, scene.board.top + ROW * row, right, ROW, name, on=row == scene.i, chosen=row)


def touch_cells(scene: Scene) -> None:
    """Every cell of scores, weights and outputs leads to the step in which it is computed."""
    steps = {"S": scene.first("score"), "Z": scene.first("output")}
    names = {"S": [f"score for {word}" for word in scene.words]}
    names["Z"] = [f"output, entry {entry + 1}" for entry in range(scene.numbers.V.shape[1])]
    for row, word in enumerate(scene.board.queries):
        for part, cells in names.items():
            for column, name in enumerate(cells):
                place = scene.board.place(part, row, column)
                touch_cell(scene, place, f"{word}: {name}", row, steps[part] + column)
        x, y, wide, tall = scene.board.place("A", row, 0)
        whole = x, y, wide * len(scene.words), tall
        touch_cell(scene, whole, f"{word}: weights", row, scene.first("weights"))


def touch_cell(scene: Scene, place: Place, name: str, row: int, step: int) -> None:
    on = (row, step) == (scene.i, scene.step)
    scene.canvas.touch(*place, name, group="cells", on=on, chosen=row, step=step)


def touch_entries(scene: Scene) -> None:
    """The entries of the learner's query are dragged up and down; marks show it where it asks."""
    row = len(scene.words)
    for column, entry in enumerate(scene.numbers.Q[row].tolist()):
        x, y, wide, tall = scene.board.place("Q", row, column)
        if scene.i == row:
            draw_marks(scene.canvas, x + wide / 2, y, y + tall)
        way = f"entry_{column + 1}", y + tall / 2 + PULL * entry, -PULL
        scene.canvas.grip(x, y, wide, tall, f"your query, entry {column + 1}", short(entry), y=way)


def draw_marks(canvas: Phone, x: float, top: float, foot: float) -> None:
    """Two small triangles, one above and one below a number that is dragged; seen only where it can be."""
    for tip, base in ((top + 1.5, top + 6), (foot - 1.5, foot - 6)):
        corners = f"{x:.1f},{tip:.1f} {x - 4:.1f},{base:.1f} {x + 4:.1f},{base:.1f}"
        canvas.add("polygon", points=corners, fill="here", **{"class": "handle"})
    canvas.handles = True


def draw_flow(
    words: Sequence[str], numbers: Numbers, chosen: int, step: int, columns: dict, meanings: Sequence[str] = ()
) -> View:
    """Step number `step`, from 1, of query number `chosen`; of the numbers the last query is the learner's own.

    columns: as a `Board` takes them. meanings: what each entry of a value says."""
    high = max(numbers.K.shape[1], len(words)) * ABOVE
    longest = max(width_of(cut(word, 9), 11.5) for word in words)
    slanted = 0.64 * longest * (longest > columns["S"][1] + 4)
    board = Board([*words, OWN], columns, max(high + 52.0 + slanted, 140.0))
    own = chosen == len(words)  # then there is a task
    canvas = Phone(board.top + ROW * (len(words) + 1) + (208 if own else 176))
    scene = Scene(words, numbers, chosen, step, board, canvas, meanings)
    asks = (
        "You ask: which words matter to me?" if own else f"“{cut(words[chosen], 12)}” asks: which words matter to me?"
    )
    canvas.text(5, 18, asks, min(15.0, 320 / width_of(asks, 1)), "start", bold=True)
    draw_stages(scene)
    draw_beams(scene)
    draw_tables(scene)
    draw_names(scene)
    said = DRAWN[scene.now[0]](scene)
    end = canvas.prose(8, scene.below + FREE.get(scene.now[0], 44), said)
    task = draw_task(scene, end + 4) if own else ""
    for touch in (touch_stages, touch_words, touch_cells, touch_entries):
        touch(scene)
    return canvas.view(f"{asks} Step {step} of {len(numbers.steps)}. {said} {task}".rstrip())


def attention_flow(
    words: Sequence[str], Q: Tensor, K: Tensor, V: Tensor, first: str, meanings: Sequence[str] = ()
) -> Explorer:
    """Follow one query through attention, number by number: pick a word of `words`, or make a query of your own, and go
    from its row of Q to its output. Q, K (n, e), V (n, v): small, and best of whole numbers; ValueError: too wide.

    meanings: what each of the v entries of a value says, in a few words; none if not given."""
    require_list(words=words, meanings=meanings)
    Q, K, V = (as_numbers(array, 2) for array in (Q, K, V))
    texts = [*map(short, Q.flat), f"-{FARTHEST}"]
    scores = max(map(width_of, map(short, [*(Q @ K.T).flat, -FARTHEST * np.abs(K).sum(1).max()])))
    scores = max(scores, *map(width_of, map(short, (Q @ K.T / math.sqrt(Q.shape[1])).flat)), width_of("-1.5"))
    outputs = max(map(width_of, map(two_decimals, V.flat)))
    widths = {"Q": max(map(width_of, texts)), "S": scores, "A": width_of("0.00"), "Z": outputs}
    counts = {"Q": Q.shape[1], "S": len(words), "A": len(words), "Z": V.shape[1]}
    taken = sum(counts[part] * (widths[part] + 4) for part in counts) + max(width_of(word, 12.5) for word in words)
    named = max(width_of(cut(word, 9), 11.5) for word in words)
    widths["S"] += min(max(0.0, named - scores), max(0.0, (320 - taken) / len(words)))
    columns = {part: (counts[part], widths[part] + 4) for part in counts}
    entries = {f"entry_{k + 1}": slider(f"q{k + 1}", 0, -FARTHEST, FARTHEST) for k in range(Q.shape[1])}
    for entry in entries.values():
        entry.layout.width = "170px"

    def draw(chosen, step, **own):
        return draw_flow(words, Numbers(np.vstack([Q, list(own.values())]), K, V), chosen, step, columns, meanings)

    asked = [*numbered(words), ("you, with a query of your own", len(words))]
    controls = {"chosen": menu("who asks", asked, list(words).index(first))}
    controls |= {"step": slider("step", 1, 1, len(Numbers(Q, K, V).steps)), **entries}
    wraps = ipywidgets.Layout(flex_flow="row wrap")
    rows = [ipywidgets.HBox([controls["chosen"], controls["step"]], layout=wraps)]
    rows.append(ipywidgets.HBox([ipywidgets.Label("your query"), *entries.values()], layout=wraps))
    return Explorer(draw, controls, rows, replaced=["chosen", *entries])
