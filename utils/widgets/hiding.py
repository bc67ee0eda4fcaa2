"""A sentence of the learner's own, where a translator looks for each word of it, and what it writes if it may not."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..plots import as_numbers, largest
from .board import width_of
from .canvas import Phone, View, cut
from .controls import Explorer, menu

PITCH, LEFT, RIGHT = 22, 112, 232  # from one word to the next, where English words end, where Spanish ones begin
NONE, END = "—", "</s>"
MOST = 12  # English words
DETERMINERS = {  # as a chip shows them: the word, and whether it is before several things
    "the": ("the", False), "the …s": ("the", True), "a": ("a", False), "these": ("this", True), "two": ("two", True),
}  # fmt: skip
ADJECTIVES = NONE, "green", "happy", "brave", "young", "small"
NOUNS = "witch", "dragon", "turtle", "king", "squirrel"
MODIFIERS = NONE, "near the castle", "who sang", "who saw the cat"
PREDICATES = "arrived", "sang", "found the ring", "painted the door"
DROP = "Hide a word so that a Spanish word loses over 90 % of its weight, and stays the same."
BUILD = "Build a sentence that the model gets wrong."


def draw_chips(canvas: Phone, y: float, control: str, chips: Sequence[str], chosen: str, x: float = 6.0) -> None:
    """A row of words to choose from, at the height y, from x on."""
    for chip in chips:
        wide, here = width_of(chip, 12) + 13, chip == chosen
        shown = {"stroke": "here" if here else "edge", "stroke_width": 2 if here else 1, "rx": 10}
        canvas.rect(x, y, wide, 21, "raised" if here else "none", **shown)
        canvas.text(x + wide / 2, y + 15, chip, 12, fill="here" if here else "ink")
        canvas.touch(x, y, wide, 21, chip, on=here, **{control: chip})
        x += wide + 5


def draw_links(
    canvas: Phone, top: float, source: Sequence[str], weights: np.ndarray, gold: Iterable[tuple[int, int]], hidden: int
) -> None:
    """From each Spanish word ribbons to where it looks, as thick as the weights (q, k); gold links are dashed; an
    English word that is clicked is hidden."""
    middle = (LEFT + RIGHT - 30) / 2

    def way(i, j):
        y, begin = top + PITCH * i, top + PITCH * j
        return f"M{LEFT + 6} {begin:.1f}C{middle} {begin:.1f} {middle} {y:.1f} {RIGHT - 36} {y:.1f}"

    for (i, j), weight in np.ndenumerate(weights):
        if weight >= 0.05:
            shown = {"stroke_width": float(1 + 9 * weight), "opacity": f"{0.25 + 0.4 * weight:.2f}"}
            canvas.add("path", d=way(i, j), fill="none", stroke="weight", data_id=f"ribbon {i} {j}", **shown)
    for i, j in sorted(gold):
        if i < len(weights):
            canvas.add("path", d=way(i, j), fill="none", stroke="ink", stroke_width=1.2, stroke_dasharray="4 4")
    canvas.text(LEFT, top + PITCH * len(source) + 4.5, END, 13, "end", "quiet")
    for j, word in enumerate(source):
        y, gone = top + PITCH * j, j == hidden - 1
        struck = {"text_decoration": "line-through"} if gone else {}
        canvas.text(LEFT, y + 4.5, cut(word, 12), 13, "end", "here" if gone else "ink", gone, **struck)
        canvas.touch(4, y - PITCH / 2, LEFT, PITCH, f"hide word {j + 1}, {word}", on=gone, hidden=0 if gone else j + 1)


def draw_written(canvas: Phone, top: float, target: Sequence[str], now: Sequence[str], row: Sequence[str]) -> None:
    """The Spanish words; where another one is written now, the old one is struck out; row: what is before each."""
    for i, (old, new) in enumerate(zip(target, now)):
        y, same = top + PITCH * i, old == new
        canvas.text(RIGHT - 4, y + 4.5, row[i], 11.5, "end", "weight")
        struck = {} if same else {"text_decoration": "line-through"}
        canvas.text(RIGHT, y + 4.5, cut(old, 14), 13, "start", "ink" if same else "quiet", **struck)
        if not same:
            x = RIGHT + width_of(cut(old, 14), 13) + 8
            room = max(3, int((354 - x) / 7.2))
            canvas.text(x, y + 4.5, cut(new, room), 13, "start", "here", True)


def what_changes(source: Sequence[str], told: tuple, hidden: int) -> tuple[str, list[str]]:
    """What hiding English word number `hidden` changes, in words, and the Spanish words that had over 90 % of their
    weight on it and stay the same."""
    target, before, _, now = told
    if not hidden:
        return "Per cent: the largest weight of each word. Dashed: the gold links.", []
    changes = ", ".join(f"{old} → {new}" for old, new in zip(target, now) if old != new)
    lost = [i for i, one in enumerate(before) if one[hidden - 1] > 0.9]
    kept = [target[i] for i in lost if now[i] == target[i]]
    said = f"Hidden: {source[hidden - 1]}. Changed: {changes or 'nothing'}."
    return said + (f" Not needed for {', '.join(kept)}." if kept else ""), kept


def draw_hiding(
    source: Sequence[str], right: Sequence[str], gold: Iterable[tuple[int, int]], told: tuple, hidden: int,
    chips: Sequence[tuple[str, Sequence[str], str]],
) -> View:  # fmt: skip
    """The chips, both sentences, and what hiding English word number `hidden` changes, from 1; 0: none is hidden.

    told: of the model, what it writes, its weights with nothing hidden and now (q, k), and what it would write now."""
    target, before, weights, now = told
    good, canvas = list(target) == list(right), Phone(0)
    for number, (control, words, chosen) in enumerate(chips):
        draw_chips(canvas, 6 + 25 * number, control, words, chosen)
    said, kept = what_changes(source, told, hidden)
    if not good:
        said = f"The grammar says: {' '.join(right)}. {said}"
    y, tasks = 24.0 + 25 * len(chips), ""
    for task, done in ((DROP, bool(kept)), (BUILD, not good)):
        tasks += f" {'✔' if done else '○'} {task}"
        y = canvas.prose(6, y, f"{'✔' if done else '○'} {task}", fill="right" if done else "quiet", bold=done) + 2
    top = y + 26
    canvas.hint(4, y + 4, "click an English word to hide it")
    draw_links(canvas, top, source, weights, gold if good else (), hidden)
    peaks = [largest(one)[0] for one in weights]
    percents = [f"{one[peak]:.0%}" for one, peak in zip(weights, peaks)]
    draw_written(canvas, top, target, now, percents)
    canvas.prose(6, top + PITCH * (len(source) + 1) + 4, said)
    canvas.height = round(160 + 25 * len(chips) + PITCH * (MOST + 1) + 5 * 17.5)
    looks = ", ".join(f"{word} → {[*source, END][peak]} {part}" for word, peak, part in zip(target, peaks, percents))
    return canvas.view(f"{' '.join(source)}: {' '.join(target)}. Largest weights: {looks}. {said}{tasks}")


def hiding(translate: Callable[[tuple[str, ...], int | None], tuple], language: str) -> Explorer:
    """Build a sentence from chips, see where each word of its translation looks, and hide an English word.

    translate(words, hidden) → what the model writes with nothing hidden, the weights (q, k) with which it does, those
    if it may not look at word number `hidden`, from 0 (None: no word), and the words it writes then, having read the
    same words."""
    from .. import corpus  # only here: it takes longer to load than all widgets, and most notebooks do without

    predicates = {"arrived": ("arrived", None), "sang": ("sang", None)}
    for verb, thing in (("found", "ring"), ("painted", "door")):
        predicates[f"{verb} the {thing}"] = verb, corpus.NounPhrase(thing)
    modifiers = {
        NONE: None, "near the castle": corpus.Prepositional("near", corpus.NounPhrase("castle")),
        "who sang": corpus.Relative("sang"), "who saw the cat": corpus.Relative("saw", corpus.NounPhrase("cat")),
    }  # fmt: skip
    known = {}

    def draw(determiner, adjective, noun, modifier, negated, predicate, hidden):
        word, plural = DETERMINERS[determiner]
        adjectives = () if adjective == NONE else (adjective,)
        subject = corpus.NounPhrase(noun, word, adjectives, plural, modifiers[modifier])
        pair = corpus.translate(corpus.Clause(subject, *predicates[predicate], negated == "did not"), language)
        hidden = hidden if hidden <= len(pair.source) else 0
        if (pair.source, hidden) not in known:
            written, before, now, then = translate(pair.source, hidden - 1 if hidden else None)
            known[pair.source, hidden] = list(written), as_numbers(before, 2), as_numbers(now, 2), list(then)
        chosen = determiner, adjective, noun, modifier, negated, predicate
        rows = [(name, values, value) for (name, values), value in zip(choices.items(), chosen)]
        return draw_hiding(pair.source, pair.target, pair.alignment, known[pair.source, hidden], hidden, rows)

    choices = {
        "determiner": tuple(DETERMINERS), "adjective": ADJECTIVES, "noun": NOUNS, "modifier": MODIFIERS,
        "negated": (NONE, "did not"), "predicate": PREDICATES,
    }  # fmt: skip
    begin = {"adjective": "green", "modifier": "who saw the cat", "predicate": "found the ring"}
    controls = {name: menu(name, values, begin.get(name)) for name, values in choices.items()}
    controls["hidden"] = menu("hide", [("no word", 0), *((f"word {one}", one) for one in range(1, MOST + 1))])
    follows = {name: lambda value, state: {"hidden": 0} for name in choices}
    return Explorer(draw, controls, follows=follows, replaced=list(controls))
