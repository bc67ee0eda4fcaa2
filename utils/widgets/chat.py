"""A chat with a published model, piece by piece: what each piece could have been, and where the model looked for it."""

import functools
import os
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..byte_pairs import BytePairs, chat_prompt
from ..checks import require_list, require_logits, require_whole
from ..decoder import BlockState, KeysValues, LanguageModel, State
from ..decoding import keep_top_p, most_probable
from ..plots import as_numbers, largest
from .canvas import MONOSPACE, NOT_XML, REPLACEMENT, Phone, View, cut, verdict
from .controls import Explorer, checkbox, menu, slider, text

QUESTIONS = (
    "What is the capital of France?",
    "What is the capital of Italy?",
    "Is the sun a star? Answer in one sentence.",
)
LONGEST = 300  # characters of a question that are read
CANDIDATES = 5
PACE = 400  # milliseconds from one piece to the next, while it plays
LAYER = 24  # of SmolLM2-135M-Instruct: much of what the first token leaves goes to words such as France

# What the model writes, and what it could have written


class Outlook(NamedTuple):
    """What a model makes of the ids so far: the most probable next ids, best first, and behind them the one that it
    writes if it is not among them; their probabilities; what it writes; how much attention the last position pays to
    each of the k positions, (k,), in one layer, the mean of its heads."""

    best: list[int]
    shares: list[float]
    writes: int
    weights: np.ndarray


def choose(logits: Tensor, temperature: float, top_p: float, seed: int) -> int:
    """The id that is written for logits (v,): the most probable one at temperature 0, else one that is drawn from
    softmax(logits / temperature), cut to top_p.

    It is drawn as the largest of logits + Gumbel noise, which rounding changes only where two are almost equal; a sum
    over 49,152 probabilities has a border every few millionths."""
    if temperature == 0:
        return int(most_probable(logits))
    kept = keep_top_p(logits.double() / temperature, top_p).numpy()
    return int((kept + np.random.default_rng(seed).gumbel(size=len(kept))).argmax())


def is_over(written: Sequence[int], ends: Collection[int]) -> bool:
    return bool(written) and written[-1] in ends


def shortened(state: State, n: int) -> State:
    """The state after the first n of the tokens that were read."""
    blocks = [BlockState(KeysValues(*(part[..., :n, :] for part in block.own)), block.cross) for block in state.blocks]
    return State(blocks, state.words[..., :n], state.memory_mask)


class Conversation:
    """What a language model writes, and what it would write after other ids. One state is kept, that of the ids that
    were read last: of new ones, only what differs from them is read."""

    def __init__(self, model: LanguageModel, layer: int):
        self.model, self.layer = model, layer
        self.read, self.state = (), None
        self.after = functools.lru_cache(maxsize=1 << 12)(self._after)

    @torch.no_grad()
    def _after(self, ids: tuple[int, ...], temperature: float = 0.0, top_p: float = 1.0) -> Outlook:
        """What the model makes of the ids; the number of ids is the seed of what is drawn."""
        same = len(os.path.commonprefix([self.read, ids[:-1]]))  # the last one is read in any case
        state = shortened(self.state, same) if same else None
        logits, self.state, weights = self.model(torch.tensor([ids[same:]]), state)
        self.read = ids
        last = require_logits(logits[0, -1])  # (v,)
        best = last.argsort(descending=True, stable=True)[:CANDIDATES].tolist()
        writes = choose(last, temperature, top_p, len(ids))
        best += [writes] * (writes not in best)
        shares = last.double().softmax(-1)[best].tolist()
        return Outlook(best, shares, writes, as_numbers(weights.own[self.layer - 1][0, :, -1].mean(0), 1))

    def write(
        self, prompt: Sequence[int], count: int, ends: Collection[int], temperature: float = 0.0, top_p: float = 1.0,
        taken: Mapping[int, int] | None = None,
    ) -> list[int]:  # fmt: skip
        """Up to `count` ids after the prompt; one of the `ends` is the last. taken: {place, from 1: which candidate,
        from 1, is put there}."""
        written = []
        while len(written) < count and not is_over(written, ends):
            outlook = self.after((*prompt, *written), temperature, top_p)
            rank = (taken or {}).get(len(written) + 1)
            written.append(outlook.best[min(rank, len(outlook.best)) - 1] if rank else outlook.writes)
        return written


class Prompt(NamedTuple):
    """The ids of what the model reads first; those of the question are `ids[start:end]`."""

    ids: list[int]
    start: int
    end: int

    @property
    def question(self) -> list[int]:
        return self.ids[self.start : self.end]


def prompt_of(question: str, pieces: BytePairs, template: bool) -> Prompt:
    """A question, in the format of a chat or as it is. What looks like a special token in it is plain text."""
    mark = "\0"
    before, after = chat_prompt([{"role": "user", "content": mark}]).split(mark) if template else ("", "")
    parts = [pieces.encode(before), pieces.encode(question, special=False), pieces.encode(after)]
    start = len(parts[0])
    return Prompt(sum(parts, []), start, start + len(parts[1]))


def in_places(written: str) -> dict[int, int]:
    """{place: candidate} of a text such as "7:2 12:3"."""
    return {int(place): int(rank) for place, rank in re.findall(r"(\d{1,3}):(\d)", written)}


# How it is drawn
LEFT, COLUMNS, WIDE = 6, 47, 7.2  # where pieces begin, how many letters a line has, how wide a letter is
LINE, ROW = 21, 20  # from one line of pieces to the next, from one candidate to the next
LEAST = 3  # lines that are kept free for an answer
BAR = 118  # where the bars of the candidates begin

TASK = "Find a piece where another candidate had over 25 %."
ENOUGH = 0.25
LOOKED = "Where did it look when it chose this piece? In layer {layer} (mean of {heads} heads), most at {most}."
LOOKS = "Where does it look for the next piece? In layer {layer} (mean of {heads} heads), most at {most}."
LEFT_OUT = {  # whether there is a chat format
    True: "Not shaded: the chat format, {left_out:.0%}.",
    False: "Not shaded: the first token, {left_out:.0%}.",
}
RAW = "The candidates have the probabilities that they had before temperature and top-p."
SAID = "Question: {question} Answer: {answer}. {title}: {candidates}. {looks} {quiet} {task}"


class Scene(NamedTuple):
    """A picture's data: the pieces of question and answer; which place of the answer is looked at, from 1, the one to
    come if it is behind them, and whether it was clicked; its candidates with their probabilities, which of them, from
    0, was written, and which one the model would write; how much of the attention question (n,), answer (m,), first
    token and all others get."""

    question: list[str]
    answer: list[str]
    place: int
    clicked: bool
    candidates: list[tuple[str, float]]
    written: int | None
    own: int
    on_question: np.ndarray
    on_answer: np.ndarray
    first: float
    rest: float

    @property
    def done(self) -> bool:
        """Was a piece clicked where another one was likely enough?"""
        others = [share for number, (_, share) in enumerate(self.candidates) if number != self.written]
        return self.clicked and max(others) > ENOUGH


def shown(part: str) -> str:
    """Characters of a piece as they are shown: a line's end is ⏎."""
    return cut(NOT_XML.sub(REPLACEMENT, part.replace("\n", "⏎").replace("\t", "⇥")), COLUMNS)


def labels_of(ids: Sequence[int], pieces: BytePairs) -> list[str]:
    """The pieces of a text as they are shown; one that only begins a character is ·."""
    return [shown(part) or "·" for part in [*pieces.stream(ids)][:-1]]


def label_of(number: int, pieces: BytePairs) -> str:
    """A piece by itself; bytes that are no whole character are \\xf0."""
    return shown(pieces.bytes_of(number).decode("utf-8", "backslashreplace"))


def letters(label: str) -> int:
    """How many letters wide a label is; those of Chinese and the like are two."""
    return sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in label)


def named(label: str) -> str:
    """A piece as it is shown in a sentence."""
    return f"“{label.strip() or 'blank'}”"


def boxes_of(labels: Sequence[str], top: float) -> Iterator[tuple[float, float, float, float]]:
    """The box of each piece, without the blanks at its ends. A line is broken behind ⏎, before a blank, and within a
    word only where that is too long."""
    line = column = 0
    for number, label in enumerate(labels):
        rest = next((k for k in range(number + 1, len(labels)) if labels[k].startswith((" ", "⏎"))), len(labels))
        together = "".join(labels[number:rest]) if label.startswith(" ") else label
        if column and column + letters(together) > COLUMNS:
            line, column, label = line + 1, 0, label.lstrip() or label
        word = label.strip() or label  # a piece may be a blank alone
        yield LEFT + WIDE * (column + label.index(word)), top + LINE * line, WIDE * letters(word), LINE - 3
        column += letters(label)
        if "⏎" in label:
            line, column = line + 1, letters(label.rpartition("⏎")[2])


def draw_pieces(
    canvas: Phone, labels: Sequence[str], boxes: Sequence[tuple[float, float, float, float]], shares: np.ndarray,
    place: int = 0, newest: int = 0,
) -> None:  # fmt: skip
    """Pieces, each in its box, shaded by its share (0 to 1) of the colour; number `place` is framed, `newest` bold."""
    for number, (label, box) in enumerate(zip(labels, boxes), 1):
        share = shares[number - 1] if number <= len(shares) else 0
        ink = canvas.shade(*box, "weight", share, "none") if share else "ink"
        canvas.text(box[0], box[1] + 13, label.strip(), 12, "start", ink, number == newest, font_family=MONOSPACE)
        if number == place:
            canvas.rect(box[0] - 1, box[1], box[2] + 2, box[3], stroke="here", stroke_width=2, rx=3)


def draw_candidates(canvas: Phone, top: float, scene: Scene, taken: Mapping[int, int]) -> None:
    """The candidates for the place that is looked at, as bars; a click on one puts it there."""
    before = {place: rank for place, rank in taken.items() if place < scene.place}
    for number, (label, share) in enumerate(scene.candidates):
        y, here = top + ROW * number, number == scene.written
        name, blanks = cut(label, 14), len(label) - len(label.lstrip())
        canvas.text(LEFT + WIDE * blanks, y + 14, name.strip(), 12, "start", "ink", here, font_family=MONOSPACE)
        canvas.rect(BAR, y + 3, 140 * share, 14, "data", data_id=f"bar {number}")
        canvas.text(BAR + 6 + 140 * share, y + 14, f"{share:.1%}", 12, "start", bold=here)
        canvas.text(350, y + 14, "written" if here else "", 12, "end", "here", True)
        after = before if number == scene.own else before | {scene.place: number + 1}
        put = " ".join(f"{place}:{rank}" for place, rank in after.items())
        said = f"candidate {number + 1}, {label}"
        canvas.touch(0, y, 352, ROW, said, group="candidates", on=here, taken=put, step=scene.place)


def draw_answer(canvas: Phone, top: float, scene: Scene, shares: np.ndarray) -> float:
    """The pieces of the answer, which can be clicked, and … for one to come; returns where the next thing comes."""
    labels = scene.answer + [" …"] * (scene.written is None)
    boxes = list(boxes_of(labels, top))
    draw_pieces(canvas, labels, boxes, shares, scene.place, len(scene.answer))
    for number, (label, box) in enumerate(zip(scene.answer, boxes), 1):
        clicked = scene.clicked and number == scene.place
        canvas.touch(*box, f"piece {number}, {label}", on=clicked, chosen=0 if clicked else number)
    return max(boxes[-1][1], top + LINE * (LEAST - 1)) + LINE


def in_words(scene: Scene, layer: int, heads: int, template: bool) -> tuple[str, str]:
    """Where the model looked, and what is not shaded."""
    labels, shares = scene.question + scene.answer, [*scene.on_question, *scene.on_answer]
    most = [f"{named(labels[k])} {shares[k]:.0%}" for k in largest(shares, 3) if shares[k] >= 0.005]
    looks = LOOKS if scene.written is None else LOOKED
    return (
        looks.format(layer=layer, heads=heads, most=", ".join(most) or "no piece that is shown"),
        LEFT_OUT[template].format(left_out=scene.first + scene.rest),
    )


def draw_chat(scene: Scene, question: str, taken: Mapping[int, int], looks: str, quiet: str) -> View:
    """Question and answer as pieces, shaded by the attention of the place that is looked at; its candidates; and where
    it looked, in words."""
    canvas = Phone(0)
    most = max([*scene.on_question, *scene.on_answer]) or 1.0
    shares = [np.round(part / most, 1) for part in (scene.on_question, scene.on_answer)]
    canvas.text(LEFT, 16, "you", 12, "start", "quiet")
    boxes = list(boxes_of(scene.question, 22))
    draw_pieces(canvas, scene.question, boxes, shares[0])
    y = boxes[-1][1] + LINE + 22
    canvas.text(LEFT, y, "the model", 12, "start", "quiet")
    canvas.hint(350, y, "click a piece", "end")
    y = draw_answer(canvas, y + 6, scene, shares[1]) + 18
    title = f"Candidates for piece {scene.place}"
    canvas.text(LEFT, y, title, 13.5, "start", bold=True)
    canvas.hint(350, y, "click one", "end", kernel=True)
    draw_candidates(canvas, y + 8, scene, taken)
    y += 8 + ROW * max(CANDIDATES, len(scene.candidates)) + 18
    task, role = f"{'✔' if scene.done else '○'} {TASK}", "right" if scene.done else "quiet"
    low = canvas.prose(LEFT, canvas.prose(LEFT, y, looks), quiet, fill="quiet")
    low = canvas.prose(LEFT, max(low, y + 5 * 17.5) + 6, task, fill=role, bold=scene.done)
    canvas.height = round(low)
    candidates = ", ".join(f"{named(label)} {share:.1%}" for label, share in scene.candidates)
    answer = "".join(scene.answer).strip() or "nothing yet"
    said = SAID.format(
        question=question, answer=answer, title=title, candidates=candidates, looks=looks, quiet=quiet, task=task
    )
    return canvas.view(said)


def scene_of(
    pieces: BytePairs, prompt: Prompt, written: Sequence[int], outlook: Outlook, place: int, clicked: bool
) -> Scene:
    """The picture's data for a place of what was written, from 1; outlook: what the model makes of what is before."""
    seen = outlook.weights.copy()
    first, seen[0] = float(seen[0]), 0.0
    on_question, on_answer = seen[prompt.start : prompt.end], seen[len(prompt.ids) :]
    rest = 1 - first - float(on_question.sum() + on_answer.sum())
    question, answer = (labels_of(ids, pieces) for ids in (prompt.question, written))
    candidates = [(label_of(one, pieces), share) for one, share in zip(outlook.best, outlook.shares)]
    here = outlook.best.index(written[place - 1]) if place <= len(written) else None
    own = outlook.best.index(outlook.writes)
    return Scene(question, answer, place, clicked, candidates, here, own, on_question, on_answer, first, rest)


def chat(
    model: LanguageModel, pieces: BytePairs, questions: Sequence[str] = QUESTIONS, layer: int = LAYER, limit: int = 40
) -> Explorer:
    """Ask a chat model: its answer grows piece by piece. Of each piece: what it could have been, and where the model
    looked, in one layer, from 1. Another candidate can replace it, and the answer goes on from there.

    limit: how many pieces an answer may have. ValueError: no questions, no such layer, no whole limit from 1."""
    require_list(questions=questions)
    require_whole(layer=layer, limit=limit)
    blocks = model.decoder.blocks
    if not questions or layer > len(blocks):
        raise ValueError(
            f"{len(questions)} questions and layer {layer}: give one or more, and a layer up to {len(blocks)}"
        )
    conversation, heads = Conversation(model, layer), blocks[layer - 1].attention.num_heads
    ends = {pieces.ids[name] for name in pieces.special}

    def draw(question, asked, temperature, top_p, template, taken, step, chosen):
        asked = NOT_XML.sub(REPLACEMENT, " ".join(asked.split()))[:LONGEST]
        prompt, places = prompt_of(asked, pieces, template), in_places(taken)
        if not prompt.question:
            return verdict("There is no question yet", False, ["Type at least one word."], 400)
        written = conversation.write(prompt.ids, step, ends, temperature, top_p, places)
        goes_on = len(written) < limit and not is_over(written, ends)
        clicked = 0 < chosen <= len(written)
        place = chosen if clicked else len(written) + goes_on
        outlook = conversation.after((*prompt.ids, *written[: place - 1]), temperature, top_p)
        scene = scene_of(pieces, prompt, written, outlook, place, clicked)
        looks, quiet = in_words(scene, layer, heads, template)
        return draw_chat(scene, asked, places, looks, f"{quiet} {RAW}" if temperature else quiet)

    controls = {
        "question": menu("question", list(questions), width="500px"),
        "asked": text("your question", questions[0], ("", "why?", "Tell me about the sea.")),
        "temperature": menu("temperature", [("0, the likeliest", 0.0), 0.7, 1.0, 1.5], 0.0, width="240px"),
        "top_p": menu("top-p", [("1, all", 1.0), 0.9, 0.5], 1.0, width="140px"),
        "template": checkbox("chat format", True, width="140px"),
        "taken": text("instead, as place:candidate", "", ("1:2", "2:3 4:5", "1:0 9:9")),
        "step": slider("pieces written", 0, 0, limit),
        "chosen": slider("piece to look at", 0, 0, limit),
    }
    anew = {"taken": "", "step": 0, "chosen": 0}
    follows = {name: lambda value, state: anew for name in ("asked", "temperature", "top_p", "template")}
    follows["question"] = lambda question, state: anew | {"asked": question}
    return Explorer(draw, controls, plays="step", follows=follows, replaced=["taken", "chosen"], pace=PACE)
