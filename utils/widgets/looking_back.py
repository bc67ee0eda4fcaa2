"""From reading to writing: all that a decoder gets of a sentence is one vector, or it looks back at every state."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from ..checks import require_list
from ..masks import padding_mask
from ..plots import as_numbers, largest
from ..rnn import RecurrentTranslator
from ..vocabulary import END_ID, START_ID, Vocabulary
from .canvas import Phone, View, cut, indexed, two_decimals
from .controls import Explorer, menu, slider

MOST = 14  # tokens of a sentence, and words written
ROW, TOP, TALL = 25, 70, 14  # of the rows of states: from one to the next, the first, how high a state is
READ, WRITTEN, WIDE = 70, 222, 64  # where the states of encoder and decoder begin, and how wide they are
SHOWN = 16  # numbers of a state
STAGES = ("ask", "weigh", "write")  # of a word


class Passage(NamedTuple):
    """A source of k tokens with its right translation, and what was written of it in q steps, each of which reads a
    token and writes the next: the encoder's states (k, d) and the decoder's (q, d), contexts (q, d), and probabilities
    (q, v) of the next token. With attention the scores and weights (q, k); without it None."""

    source: list[str]
    right: list[str]
    reads: list[str]
    writes: list[str]
    memory: np.ndarray
    states: np.ndarray
    contexts: np.ndarray
    probable: np.ndarray
    scores: np.ndarray | None
    weights: np.ndarray | None


@torch.no_grad()
def passage(
    model: RecurrentTranslator, source: Sequence[str], right: Sequence[str], english: Vocabulary, spanish: Vocabulary
) -> Passage:
    """What a recurrent translator writes for the source, greedily, `</s>` or 14 words being the end.

    ValueError: the source has more than 13 words, or some that are not `english`."""
    require_list(source=source, right=right)
    tokens = torch.tensor([english.encode(source, end=True, strict=True)])  # (1, k)
    if not 1 < tokens.shape[1] <= MOST:
        raise ValueError(f"the sentence {source!r} has {len(source)} words; give 1 to {MOST - 1} of them")
    memory, decoder = model.encoder(tokens, padding_mask(tokens)), model.decoder
    looks, reads, state, steps = hasattr(decoder, "attend"), [START_ID], None, []
    while len(steps) < MOST and (not steps or reads[-1] != END_ID):
        logits, state, weights = decoder(torch.tensor([reads[-1:]]), memory, state)  # (1, 1, v), (1, 1, d), (1, 1, k)
        query = state.transpose(0, 1)  # (1, 1, d), the batch first
        context = weights @ memory.states if looks else memory.context[None]  # (1, 1, d)
        scores = decoder.score(query, memory.states) if looks else None  # (1, 1, k)
        steps.append((query, context, logits.softmax(-1), scores, weights))
        reads.append(int(logits.argmax()))
    parts = [None if part[0] is None else as_numbers(torch.cat(part, dim=1)[0], 2) for part in zip(*steps)]
    words = [spanish.words[i] for i in reads]
    named = [english.words[i] for i in tokens[0]], [*right, spanish.words[END_ID]], words[:-1], words[1:]
    return Passage(*named, as_numbers(memory.states[0], 2), *parts)


def row_y(number: int) -> float:
    return TOP + ROW * number


def draw_state(canvas: Phone, x: float, y: float, vector: np.ndarray, role: str, late: float = 0) -> None:
    """Some numbers of a vector (d,) as colours, the larger the deeper."""
    some = np.abs(vector[:: max(1, len(vector) // SHOWN)][:SHOWN])
    wide = WIDE / len(some)
    for column, share in enumerate(some.clip(0, 1).tolist()):
        moves = canvas.appear(late) if late else {}
        canvas.rect(x + wide * column, y, wide - 0.5, TALL, role, fill_opacity=f"{0.08 + 0.92 * share:.2f}", **moves)


def draw_reading(canvas: Phone, seen: Passage, kind: str) -> None:
    """The words of the source with their states; half of each has read from above, half from below."""
    canvas.text(READ + WIDE / 2, 44, "encoder", 13, fill="value", bold=True)
    canvas.text(READ + WIDE / 2, 60, f"{SHOWN} of {seen.memory.shape[1]} numbers", 11, fill="quiet")
    for number, (word, state) in enumerate(zip(seen.source, seen.memory)):
        y = row_y(number)
        canvas.text(READ - 6, y + 11.5, cut(word, 9), 12.5, "end")
        draw_state(canvas, READ, y, state, "value", 0.15 * (number + 1) if kind == "read" else 0)
        if number:
            canvas.arrow(READ + WIDE / 4, y - 10, READ + WIDE / 4, y - 1, "quiet", 1.5)
            canvas.arrow(READ + 3 * WIDE / 4, y - 1, READ + 3 * WIDE / 4, y - 10, "quiet", 1.5)


def frame(canvas: Phone, x: float, y: float, wide: float, role: str, **more: object) -> None:
    canvas.rect(x - 2, y - 2, wide + 4, TALL + 4, stroke=role, stroke_width=2, rx=3, **more)


def draw_to_come(canvas: Phone, seen: Passage) -> None:
    """The decoder, of which nothing has been yet."""
    canvas.text(WRITTEN + WIDE / 2, 44, "decoder", 13, fill="quiet")
    canvas.text(WRITTEN + WIDE + 6, row_y(0) + 11.5, "to come", 11, "start", "quiet")


def draw_context(canvas: Phone, seen: Passage, i: int, kind: str) -> None:
    """The vector c below the states, and its way to step number i of the decoder."""
    y, looks = row_y(len(seen.source)) + 8, seen.weights is not None
    if looks and kind not in ("weigh", "write"):
        return
    canvas.text(READ - 6, y + 11.5, indexed("c", i + 1) if looks else "c", 12.5, "end", "value", bold=True)
    draw_state(canvas, READ, y, seen.contexts[i], "value")
    frame(canvas, READ, y, WIDE, "value")
    turn, to = WRITTEN - 10, row_y(i) + TALL / 2
    path = f"M{READ + WIDE + 2} {y + TALL / 2:.1f}H{turn}V{to:.1f}H{WRITTEN - 3}"
    canvas.add("path", d=path, fill="none", stroke="value", stroke_width=2.5)
    if not looks:
        frame(canvas, READ, row_y(len(seen.source) - 1), WIDE / 2, "value")
        frame(canvas, READ + WIDE / 2, row_y(0), WIDE / 2, "value")


def draw_looks(canvas: Phone, seen: Passage, i: int, kind: str) -> None:
    """From step number i of the decoder a line to every state, with its score, or as thick as its weight."""
    asks = kind == "ask"
    for j, (score, weight) in enumerate(zip(seen.scores[i], seen.weights[i])):
        y = row_y(j) + TALL / 2
        thick = 1.3 if asks else 0.5 + 9 * float(weight)
        if asks or weight >= 0.005:
            canvas.line(
                WRITTEN - 4, row_y(i) + TALL / 2, READ + WIDE + 44, y, "query" if asks else "weight", thick,
                opacity="0.75",
            )  # fmt: skip
        said = two_decimals(score) if asks else f"{weight:.0%}"
        canvas.text(READ + WIDE + 40, y + 4.5, said, 12, "end", "query" if asks else "weight", weight > 0.5)


def draw_writing(canvas: Phone, seen: Passage, i: int, kind: str) -> None:
    """The decoder's states up to step number i, and what it has written."""
    canvas.text(WRITTEN + WIDE / 2, 44, "decoder", 13, fill="query", bold=True)
    for number in range(i + 1):
        y, here = row_y(number), number == i
        if not (here and kind == "pass"):
            draw_state(canvas, WRITTEN, y, seen.states[number], "query")
        if here:
            frame(canvas, WRITTEN, y, WIDE, "query", data_id="now")
        if number:
            canvas.arrow(WRITTEN + WIDE / 2, y - 10, WRITTEN + WIDE / 2, y - 1, "quiet", 1.5)
        if not here or kind == "write":
            wrong = is_wrong(seen, number)
            role, moves = "wrong" if wrong else "here" if here else "ink", canvas.appear(0.4) if here else {}
            canvas.text(WRITTEN + WIDE + 6, y + 11.5, cut(seen.writes[number], 9), 12.5, "start", role, here, **moves)


def touch_words(canvas: Phone, seen: Passage, step: int, stages: int) -> None:
    """A click on the row of a target word leads to the step in which it is written."""
    for number in range(len(seen.writes)):
        y, written = row_y(number), 2 + stages * (number + 1)
        known = f", {seen.writes[number]}" if step >= written else ""
        if step < written - stages + 1:
            canvas.rect(WRITTEN, y, WIDE, TALL, stroke="edge", stroke_dasharray="3 3", rx=3)
        now = written - stages < step <= written
        canvas.touch(WRITTEN - 4, y - 6, 134, ROW, f"word {number + 1}{known}", on=now, step=written)


def is_wrong(seen: Passage, number: int) -> bool:
    return seen.right[number : number + 1] != seen.writes[number : number + 1]


def shares(words: Sequence[str], row: np.ndarray, count: int) -> str:
    """The largest of some shares (n,), each with its word; what rounds to 0 is left out."""
    return ", ".join(f"{words[k]} {row[k]:.0%}" for k in largest(row, count) if row[k] >= 0.005)


def describe(seen: Passage, i: int, kind: str, words: Sequence[str]) -> tuple[str, str]:
    """The title of the picture, and what it shows, in words."""
    count, d, looks, reads = len(seen.source), seen.memory.shape[1], seen.weights is not None, seen.reads[i]
    if kind == "read":
        said = f"Each of the {count} tokens gets a state of {d} numbers. Half of them have read up to it from the first"
        return "the encoder reads", f"{said} word on, half from the last one back."
    if kind == "pass" and looks:
        said = f"The decoder may look back at each of the {count}, before every word. At the start it knows none."
        return "all states are kept", said
    if kind == "pass":
        said = f"It is made of the last state of either direction, {d} numbers: all that the decoder ever gets of the"
        return "one vector is the only bridge", f"{said} {count} tokens."
    if kind == "ask" and looks:
        scores = ", ".join(f"{seen.source[k]} {two_decimals(seen.scores[i, k])}" for k in largest(seen.scores[i], 3))
        return f"word {i + 1}: the state asks", f"It has read {reads}, and asks every state. Highest scores: {scores}."
    if kind == "ask":
        said = f"It has read {reads}. From that, from its old state and from c it makes a new one."
        return f"word {i + 1}: a new state", said
    if kind == "weigh" and looks:
        said = f"Softmax makes weights of the scores: {shares(seen.source, seen.weights[i], 3)}. The states, mixed by"
        return f"word {i + 1}: weights and context", f"{said} them, are the context c of this word."
    if kind == "weigh":
        said = "There is nobody to ask. What this word needs is in these two vectors, or it is lost."
        return f"word {i + 1}: the same c again", said
    said = f"Having read {reads}, it finds most probable: {shares(words, seen.probable[i], 3)}."
    if is_wrong(seen, i):
        said += f" Right would be: {(seen.right[i : i + 1] or ['nothing more'])[0]}."
    return f"word {i + 1}: {seen.writes[i]}", said


def task_of(seen: Passage, i: int, kind: str) -> tuple[str, str]:
    """What the learner is to find or to guess, and the role in which it is written."""
    wrong = [number for number in range(len(seen.writes)) if is_wrong(seen, number)]
    if kind == "read":
        return "Guess: will it write every word right?", "quiet"
    if wrong:
        if kind == "write" and i == wrong[0]:
            return "✔ Here it goes wrong first.", "right"
        return "○ Find the first word that goes wrong.", "quiet"
    if kind == "ask" and seen.weights is not None:
        best = seen.source[largest(seen.scores[i])[0]]
        return f"Guess before you go on: what share of the weight will “{best}” get?", "quiet"
    if kind == "write" and i == len(seen.writes) - 1:
        return "Every word is right. And in a longer sentence?", "quiet"
    return "", "quiet"


def draw_passage(seen: Passage, step: int, stages: Sequence[str], words: Sequence[str]) -> View:
    """Step number `step`, from 1: the encoder reads, something passes on, then each word in these stages."""
    opening = ["read", "pass"]
    i = max(0, (step - 1 - len(opening)) // len(stages))
    kind = opening[step - 1] if step <= len(opening) else stages[(step - 1 - len(opening)) % len(stages)]
    low = max(row_y(len(seen.source)) + 30, row_y(len(seen.writes)))
    canvas, looks = Phone(low + 108), seen.weights is not None
    title, said = describe(seen, i, kind, words)
    canvas.text(6, 20, title, 15, "start", bold=True)
    canvas.hint(350, 60, "click a word", "end")
    if kind == "read":
        draw_to_come(canvas, seen)
    else:
        if looks and kind in ("ask", "weigh", "write"):
            draw_looks(canvas, seen, i, kind)
        if looks and kind == "pass":
            for number in range(len(seen.source)):
                frame(canvas, READ, row_y(number), WIDE, "value")
        draw_context(canvas, seen, i, kind)
        draw_writing(canvas, seen, i, kind)
    draw_reading(canvas, seen, kind)
    touch_words(canvas, seen, step, len(stages))
    end = canvas.prose(6, low + 20, said)
    task, role = task_of(seen, i, kind)
    canvas.prose(6, end + 3, task, fill=role, bold=role == "right")
    return canvas.view(f"{title}. {said} {task}".rstrip())


def bridge(
    models: Mapping[str, RecurrentTranslator], pairs: Sequence[tuple[Sequence[str], Sequence[str]]],
    english: Vocabulary, spanish: Vocabulary,
) -> Explorer:  # fmt: skip
    """Watch recurrent translators read a sentence and write it, word by word; without attention they have one vector
    of it, with attention they look back at all states.

    models: {name: translator}, whose decoders ask with their current state, if at all; pairs: sentences of up to 13
    words with their right translations. ValueError: a sentence is longer, or has unknown words."""
    looked = {
        (name, number): passage(model, source, right, english, spanish)
        for name, model in models.items()
        for number, (source, right) in enumerate(pairs)
    }
    attends = any(seen.weights is not None for seen in looked.values())
    stages = STAGES if attends else STAGES[-1:]

    only = next(iter(models))

    def draw(sentence, step, name=only):
        seen = looked[name, sentence]
        return draw_passage(seen, min(step, 2 + len(stages) * len(seen.writes)), stages, spanish.words)

    titles = [(" ".join(source), number) for number, (source, _) in enumerate(pairs)]
    controls = {"name": menu("decoder", list(models))} if len(models) > 1 else {}
    controls |= {"sentence": menu("sentence", titles, width="620px")}
    most = max(len(seen.writes) for seen in looked.values())
    return Explorer(draw, controls | {"step": slider("step", 1, 1, 2 + len(stages) * most)})
