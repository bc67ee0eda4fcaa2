"""A sentence of the learner's own, of up to 24 words, translated by two models side by side."""

from collections.abc import Mapping, Sequence

import torch
from torch import nn

from ..masks import padding_mask
from ..vocabulary import Vocabulary
from .canvas import Phone, View, cut
from .controls import Explorer, menu
from .hiding import ADJECTIVES, DETERMINERS, NONE, draw_chips

PITCH, MOST = 17.5, 28  # from one word to the next; rows of words that fit
NOUNS = "witch", "dragon", "student", "king"
MODIFIERS = NONE, "near the castle", "who saw the cat"
PREDICATES = "arrived", "greeted the king", "found the golden ring"
JOINS = NONE, "when", "because", "but"
ENDS = "a boy slept", "the girls near the tree sang", "two girls near the tree did not see the king"
FIND = "Is a word wrong? Click the first one in each column."
BUILD = "Build a sentence that only one of them gets right."


def first_wrong(written: Sequence[str], right: Sequence[str]) -> int | None:
    """The first position at which the two differ, the end of either counted; None where they are equal."""
    if list(written) == list(right):
        return None
    both = zip([*written, "</s>"], [*right, "</s>"])
    return next(number for number, (one, other) in enumerate(both) if one != other)


def draw_column(
    canvas: Phone, x: float, top: float, column: int, name: str, written: Sequence[str], right: Sequence[str], mark: int
) -> None:  # fmt: skip
    """One translation, a word a line; once its first wrong word is found, what is wrong from there is coloured. mark:
    the word that was clicked, from 1, 0 for none."""
    canvas.text(x, top - 8, name, 12.5, "start", bold=True)
    wrong = first_wrong(written, right)
    known = wrong is not None and mark == wrong + 1
    for number, word in enumerate([*written, "</s>"][:MOST]):
        y, here = top + PITCH * (number + 0.75), number + 1 == mark
        role = "ink" if word != "</s>" else "quiet"
        role = "wrong" if known and number >= wrong else "here" if here else role
        bold = here or (known and number == wrong)
        canvas.text(x, y, cut(word, 15), 12, "start", role, bold)
        said = f"{name}, word {number + 1}, {word}"
        # 0, 1 to 28 in the first column, 101 to 128 in the second
        canvas.touch(x - 4, y - 12.5, 116, PITCH, said, group=f"column {column}", on=here,
                     mark=0 if here else 100 * column + number + 1)  # fmt: skip


def verdict_of(name: str, written: Sequence[str], right: Sequence[str], mark: int) -> str:
    """What is said of the word that was clicked."""
    wrong, number = first_wrong(written, right), mark - 1
    word = [*written, "</s>"][number]
    wanted = [*right, "</s>"][number] if number <= len(right) else None
    if wrong is None:
        return f"All that {name} wrote is right."
    if number < wrong:
        return f"{name}: {word} is right."
    if number > wrong:
        return f"{name} went wrong before {word}."
    return f"✔ {name} goes wrong at {word}. Right would be {wanted}."


def draw_side_by_side(
    source: Sequence[str], right: Sequence[str], written: Mapping[str, Sequence[str]],
    chips: Sequence[tuple[str, Sequence[str], str]], mark: int,
) -> View:  # fmt: skip
    """The chips, the sentence, both translations; mark: the word that was clicked, 100 more in the second column."""
    canvas, names = Phone(0), list(written)
    for number, (control, words, chosen) in enumerate(chips):
        draw_chips(canvas, 4 + 25 * number, control, words, chosen)
    y = canvas.prose(6, 26 + 25 * len(chips), f"{' '.join(source)} ({len(source)} words)", fill="value")
    column, number = divmod(mark, 100)
    number = number if number <= len(written[names[column]]) + 1 else 0
    said = verdict_of(names[column], written[names[column]], right, number) if number else f"○ {FIND}"
    found = said.startswith("✔")
    y = canvas.prose(6, y + 5, said, fill="right" if found else "ink", bold=found)
    shown = f"The grammar says: {' '.join(right)}." if number else ""
    y = canvas.prose(6, y, shown, fill="quiet")
    goods = [list(one) == list(right) for one in written.values()]
    done = goods[0] != goods[1] and number > 0
    task = f"{'✔' if done else '○'} {BUILD}"
    top = canvas.prose(6, y + 3, task, fill="right" if done else "quiet", bold=done) + 16
    for position, name in enumerate(names):
        marked = number if position == column else 0
        draw_column(canvas, 8 + 176 * position, top, position, name, written[name], right, marked)
    rows = max(len(right), *map(len, written.values())) + 1
    canvas.height = round(top + PITCH * min(MOST, rows) + 4)
    told = "; ".join(f"{name}: {' '.join(one)}" for name, one in written.items())
    told += f". {' '.join(filter(None, [said, shown, task]))}"
    return canvas.view(f"{' '.join(source)}, {len(source)} words. {told}")


def side_by_side(
    models: Mapping[str, nn.Module], english: Vocabulary, spanish: Vocabulary, language: str
) -> Explorer:  # fmt: skip
    """Build a sentence from chips, see what two translators make of it, and find the first word that each gets wrong.

    models: {name: translator}, two of them. ValueError: not two."""
    from .. import corpus  # only here: it takes longer to load than all widgets, and most notebooks do without

    if len(models) != 2:
        raise ValueError(f"{len(models)} models are given: two stand side by side")

    def translate(model, words):
        source = torch.tensor([english.encode(words, end=True, strict=True)])  # (1, k)
        return spanish.decode(model.translate(source, padding_mask(source))[0][0])

    noun = corpus.NounPhrase
    modifiers = {
        NONE: None, "near the castle": corpus.Prepositional("near", noun("castle")),
        "who saw the cat": corpus.Relative("saw", noun("cat")),
    }  # fmt: skip
    predicates = {
        "arrived": ("arrived", None), "found the golden ring": ("found", noun("ring", adjectives=("golden",))),
        "greeted the king": ("greeted", noun("king")),
    }  # fmt: skip
    tree = corpus.Prepositional("near", noun("tree"))
    ends = dict(zip(ENDS, (
        corpus.Clause(noun("boy", "a"), "slept"), corpus.Clause(noun("girl", plural=True, modifier=tree), "sang"),
        corpus.Clause(noun("girl", "two", modifier=tree), "saw", noun("king"), negated=True),
    )))  # fmt: skip
    known = {}

    def pair_of(determiner, adjective, noun_, modifier, negated, predicate, join, end):
        word, plural = DETERMINERS[determiner]
        adjectives = () if adjective == NONE else (adjective,)
        subject = noun(noun_, word, adjectives, plural, modifiers[modifier])
        clause = corpus.Clause(subject, *predicates[predicate], negated == "did not")
        tree = clause if join == NONE else corpus.Sentence((clause, ends[end]), (join,))
        return corpus.translate(tree, language)

    def draw(mark, **chosen):
        pair = pair_of(*chosen.values())
        if pair.source not in known:
            known[pair.source] = {name: translate(model, pair.source) for name, model in models.items()}
        rows = [(name, values, chosen[name]) for name, values in choices.items() if name != "end"]
        if chosen["join"] != NONE:  # the longest end has a line of its own
            rows += [("end", some, chosen["end"]) for some in (ENDS[:-1], ENDS[-1:])]
        return draw_side_by_side(pair.source, pair.target, known[pair.source], rows, mark)

    choices = {
        "determiner": tuple(DETERMINERS), "adjective": ADJECTIVES, "noun": NOUNS, "modifier": MODIFIERS,
        "negated": (NONE, "did not"), "predicate": PREDICATES, "join": JOINS, "end": ENDS,
    }  # fmt: skip
    begin = {"adjective": "green", "modifier": "who saw the cat", "predicate": "found the golden ring"}
    begin |= {"join": "when", "end": ENDS[1]}
    controls = {name: menu(name, values, begin.get(name)) for name, values in choices.items()}
    marks = [("no word", 0)] + [
        (f"{name}, word {number}", 100 * column + number)
        for column, name in enumerate(models)
        for number in range(1, MOST + 1)
    ]
    controls["mark"] = menu("click", marks)
    follows = {name: lambda value, state: {"mark": 0} for name in choices}
    return Explorer(draw, controls, follows=follows, replaced=list(controls))
