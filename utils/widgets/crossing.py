"""How a sentence crosses from the encoder to the decoder: the states that a word looks at slide into its context, which
goes over a bridge; or one vector goes over it, the same for every word."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..plots import largest
from ..rnn import RecurrentTranslator
from ..vocabulary import Vocabulary
from .canvas import Phone, View, cut, indexed
from .controls import Explorer, menu, slider
from .looking_back import Passage, is_wrong, passage

ROW, TOP, TALL = 25, 82, 14  # of the rows of states: from one to the next, the first, how high a state is
READ, WRITTEN, WIDE = 98, 216, 58  # where the states of encoder and decoder begin, and how wide they are
SHOWN, MIXED = 16, 44  # numbers of a state; how high the states are together, once they are mixed
LATE = 0.9  # seconds until the mixture is over the bridge


def row_y(number: int) -> float:
    return TOP + ROW * number


def draw_numbers(
    canvas: Phone, x: float, y: float, vector: np.ndarray, role: str, tall: float = TALL, **more: object
) -> None:
    """Some numbers of a vector (d,) side by side as colours, the larger the deeper."""
    some = np.abs(vector[:: max(1, len(vector) // SHOWN)][:SHOWN])
    wide = WIDE / len(some)
    for column, share in enumerate(some.clip(0, 1).tolist()):
        shade = f"{0.08 + 0.92 * share:.2f}"
        canvas.rect(x + wide * column, y, wide - 0.5, tall, role, fill_opacity=shade, **more)


def draw_banks(canvas: Phone, seen: Passage, step: int, rows: int) -> None:
    """The words of the source with their states on the left, on the right the decoder's states, up to this step; water
    between, as high as so many rows and the bridge."""
    canvas.text(READ + WIDE / 2, 64, "encoder", 13, fill="value", bold=True)
    canvas.text(WRITTEN + WIDE / 2, 64, "decoder", 13, fill="query", bold=True)
    canvas.rect(READ + WIDE + 4, TOP - 6, WRITTEN - READ - WIDE - 8, ROW * rows + 66, "raised")
    for number, (word, state) in enumerate(zip(seen.source, seen.memory)):
        canvas.text(58, row_y(number) + 11.5, cut(word, 9), 12.5, "end")
        draw_numbers(canvas, READ, row_y(number), state, "value")
    for number in range(len(seen.writes)):
        y, here = row_y(number), number == step
        if number > step:
            canvas.rect(WRITTEN, y, WIDE, TALL, stroke="edge", stroke_dasharray="3 3", rx=3)
            continue
        draw_numbers(canvas, WRITTEN, y, seen.states[number], "query")
        role = "wrong" if is_wrong(seen, number) else "here" if here else "ink"
        moves = canvas.appear(LATE + 0.5) if here else {}
        canvas.text(WRITTEN + WIDE + 6, y + 11.5, cut(seen.writes[number], 10), 12.5, "start", role, here, **moves)
    canvas.rect(WRITTEN - 2, row_y(step) - 2, WIDE + 4, TALL + 4, stroke="query", stroke_width=2, rx=3, data_id="now")


def draw_looks(canvas: Phone, weights: np.ndarray, step: int) -> None:
    """Over the water, from the decoder's state to each state of the encoder a line as thick as its weight (k,)."""
    for number, weight in enumerate(weights.tolist()):
        if weight >= 0.005:
            y = row_y(number) + TALL / 2
            shown = {"stroke_width": 0.5 + 10 * weight, "opacity": "0.75"}
            canvas.line(WRITTEN - 3, row_y(step) + TALL / 2, READ + WIDE + 1, y, "weight", **shown)
            canvas.text(READ - 4, y + 4.5, f"{weight:.0%}", 12, "end", "weight", weight > 0.5)


def pieces_of(seen: Passage, step: int) -> list[tuple[float, float, np.ndarray]]:
    """What the context is mixed of: (height of the row it comes from, its share, numbers (d,)) of each state with some
    weight; without attention the last state of either direction, half each."""
    if seen.weights is not None:
        row = seen.weights[step]
        return [(row_y(k), float(row[k]), seen.memory[k]) for k in np.flatnonzero(row >= 0.005)]
    forth, back = (np.where(np.arange(len(seen.memory[0])) < len(seen.memory[0]) // 2, *parts) for parts in (
        (seen.memory[-1], 0), (0, seen.memory[0])
    ))  # fmt: skip
    return [(row_y(len(seen.memory) - 1), 0.5, forth), (row_y(0), 0.5, back)]


def draw_bridge(canvas: Phone, seen: Passage, step: int, y: float) -> None:
    """The states slide down, as thick as their weights, and lie upon each other; what they mix to goes over the bridge
    at the height y, and up to the decoder's state."""
    left, right, top = READ + WIDE + 4, WRITTEN - 4, y - MIXED / 2
    for number, (begin, share, vector) in enumerate(pieces_of(seen, step)):
        tall = MIXED * share
        slides = canvas.glide(0, begin - top, 0.12 * min(number, 3))
        draw_numbers(canvas, READ, top, vector, "value", tall, **slides)
        top += tall
    canvas.rect(READ - 2, y - MIXED / 2 - 2, WIDE + 4, MIXED + 4, stroke="value", stroke_width=2, rx=3)
    canvas.text(READ - 6, y + 4.5, "mixed" if seen.weights is not None else "both ends", 12, "end", "quiet")
    canvas.rect(left, y + 9, right - left, 5, "ink")
    canvas.add("path", d=f"M{left} {y + 28}Q{(left + right) / 2} {y + 4} {right} {y + 28}", fill="none", stroke="ink",
               stroke_width=3)  # fmt: skip
    for pier in (left + 1.5, right - 1.5):
        canvas.line(pier, y + 9, pier, y + 30, "ink", 3)
    crosses = canvas.appear(LATE)
    name = indexed("c", step + 1) if seen.weights is not None else "c"
    canvas.text((left + right) / 2, y + 4, f"{name} →", 13, fill="value", bold=True, **crosses)
    draw_numbers(canvas, WRITTEN, y - TALL / 2, seen.contexts[step], "value", **crosses)
    canvas.rect(WRITTEN - 2, y - TALL / 2 - 2, WIDE + 4, TALL + 4, stroke="value", stroke_width=2, rx=3, **crosses)
    canvas.text(WRITTEN + WIDE + 6, y + 4.5, f"{seen.contexts.shape[1]} numbers", 11.5, "start", "quiet")
    up = f"M{WRITTEN + WIDE / 2} {y - TALL / 2 - 3}V{row_y(step) + TALL + 3}"
    canvas.add("path", d=up, fill="none", stroke="value", stroke_width=2, stroke_dasharray="4 3", **crosses)


def shares(words: Sequence[str], row: np.ndarray, count: int) -> str:
    """The largest of some shares (n,), each with its word; what rounds to 0 is left out."""
    return ", ".join(f"{words[k]} {row[k]:.0%}" for k in largest(row, count) if row[k] >= 0.005)


def describe(seen: Passage, step: int, words: Sequence[str]) -> str:
    """What happens before this word is written."""
    said = f"The decoder has read {seen.reads[step]}. "
    if seen.weights is None:
        said += "It gets the vector c, the same for every word, made of the last state of either reading direction."
    else:
        said += f"It looks at {shares(seen.source, seen.weights[step], 3)}."
    said += f" Most probable next: {shares(words, seen.probable[step], 2)}."
    if is_wrong(seen, step):
        said += f" Right would be: {(seen.right[step : step + 1] or ['nothing more'])[0]}."
    return said


def task_of(seen: Passage, step: int) -> tuple[str, str]:
    """What the learner is to find, and the role in which it is written."""
    wrong = [number for number in range(len(seen.writes)) if is_wrong(seen, number)]
    if wrong:
        found = step == wrong[0]
        return (
            ("✔ Here it goes wrong first.", "right") if found else ("○ Find the first word that goes wrong.", "quiet")
        )
    if step == len(seen.writes) - 1:
        return "Every word is right. And the other sentence, or the other decoder?", "quiet"
    if seen.weights is None:
        return "What does the bridge carry for the next word?", "quiet"
    return "Where will it look for the next word?", "quiet"


def draw_crossing(seen: Passage, step: int, words: Sequence[str], names: Sequence[str], name: str, rows: int) -> View:
    """Word number `step`, from 0, of what is written. names: the decoders to choose from, of which this is `name`."""
    low = TOP + ROW * rows
    canvas = Phone(low + 178)
    x = 6.0
    for one in names if len(names) > 1 else ():
        wide, here = 7.2 * len(one) + 18, one == name
        canvas.rect(x, 6, wide, 24, "raised" if here else "none", stroke="here" if here else "edge",
                    stroke_width=2 if here else 1, rx=12)  # fmt: skip
        canvas.text(x + wide / 2, 22.5, one, 12.5, fill="here" if here else "ink", bold=here)
        canvas.touch(x, 6, wide, 24, one, on=here, decoder=one)
        x += wide + 8
    title = f"word {step + 1}: {seen.writes[step]}"
    canvas.text(6, 48, title, 14.5, "start", bold=True)
    canvas.hint(350, 22, "click a box or a word", "end")
    draw_banks(canvas, seen, step, rows)
    if seen.weights is not None:
        draw_looks(canvas, seen.weights[step], step)
    draw_bridge(canvas, seen, step, low + 30)
    for number in range(len(seen.writes)):
        said = f"word {number + 1}{f', {seen.writes[number]}' if number <= step else ''}"
        canvas.touch(WRITTEN - 2, row_y(number) - 5, 138, ROW, said, on=number == step, step=number + 1)
    said = describe(seen, step, words)
    end = canvas.prose(6, low + 82, said)
    task, role = task_of(seen, step)
    canvas.prose(6, end + 3, task, fill=role, bold=role == "right")
    return canvas.view(f"{name}, {title}. {said} {task}")


def crossing(
    models: Mapping[str, RecurrentTranslator], pairs: Sequence[tuple[Sequence[str], Sequence[str]]],
    english: Vocabulary, spanish: Vocabulary,
) -> Explorer:  # fmt: skip
    """Watch recurrent translators write a sentence, a step a word: what the decoder looks at, and what goes over to it.

    models: {name: translator}, whose decoders ask with their current state, if at all; pairs: sentences of up to 13
    words with their right translations. ValueError: a sentence is longer, or has unknown words."""
    looked = {
        (name, number): passage(model, source, right, english, spanish)
        for name, model in models.items()
        for number, (source, right) in enumerate(pairs)
    }
    names = list(models)
    rows = [
        max(max(len(seen.source), len(seen.writes)) for (_, one), seen in looked.items() if one == number)
        for number in range(len(pairs))
    ]

    def draw(sentence, step, decoder=names[0]):
        seen = looked[decoder, sentence]
        step = min(step, len(seen.writes)) - 1
        return draw_crossing(seen, step, spanish.words, names, decoder, rows[sentence])

    titles = [(" ".join(source), number) for number, (source, _) in enumerate(pairs)]
    choose = {"decoder": menu("decoder", names)} if len(names) > 1 else {}
    most = max(len(seen.writes) for seen in looked.values())
    controls = choose | {"sentence": menu("sentence", titles, width="620px"), "step": slider("word", 1, 1, most)}
    follows = {"sentence": lambda value, state: {"step": 1}}
    return Explorer(draw, controls, follows=follows, replaced=list(choose), pace=2600)
