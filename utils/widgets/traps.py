"""Sentences that cannot tell two rules apart: the learner as the model, and a bench on which models are caught."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..checks import require_list
from ..corpus import TAGS
from ..tagging import PLACES, SOMEBODY, Verbs, verbs
from ..vocabulary import Vocabulary
from .board import width_of
from .canvas import Phone, View, cut, verdict
from .controls import Explorer, menu, text
from .masking import draw_buttons

# The task

TAG_ROLES = dict(zip(TAGS, ("query", "key", "value", "weight")))


def agreement(words: Sequence[str], nouns: Sequence[int | None], tags: Sequence[str | None]) -> View:
    """A sentence, a word a line: from every word that gets a tag an arc to its noun, nouns (n,), whose tag it gets.

    tags (n,): those of the nouns."""
    pitch, left = 24, 150
    canvas, said = Phone(34 + pitch * len(words)), []
    canvas.text(left, 18, "word", 12, "start", "quiet")
    canvas.text(300, 18, "its tag", 12, "middle", "quiet")
    for number, (word, noun) in enumerate(zip(words, nouns)):
        y, is_noun = 44 + pitch * number, noun == number
        role = "quiet" if noun is None else TAG_ROLES[tags[noun]]
        canvas.text(left, y, word, 14, "start", "ink" if noun is None else role, is_noun)
        if noun is None or is_noun:
            continue
        end = 44 + pitch * noun
        bulge = left - 20 - 9 * abs(noun - number)
        path = f"M{left - 6} {y - 5} C{bulge} {y - 5} {bulge} {end - 5} {left - 12} {end - 5}"
        canvas.add("path", d=path, fill="none", stroke=role, stroke_width=2)
        canvas.arrow(left - 13, end - 5, left - 4, end - 5, role, 2, 8)
        canvas.text(300, y, tags[noun], 13, fill=role, bold=True)
        said.append(f"{word} → {words[noun]}, {tags[noun]}")
    return canvas.view(f"{' '.join(words)}. Each word with its noun and its tag: {'; '.join(said)}.")


# The learner as the model

SIGNS = {"mip": "●", "bal": "●", "sut": "▲", "fen": "▲", "kest": "●", "zor": "▲", "ruli": "■"}
ROLES = {"●": "query", "▲": "key", "■": "value"}
BEINGS = ("mip", "bal", "sut", "fen", "ruli")
SOLVED = {
    "da mip lo da zor veru": "mip",
    "da fen nu da kest gami": "fen",
    "da sut lo da kest veru": "sut",
    "ruli hoda iko da bal lo da zor gami": "bal",
}
ASKED = {
    "da sut nu da kest gami": ("sut", "the witch behind the castle arrived"),
    "da mip lo da sut gami": ("mip", "the wizard near the witch arrived"),
    "ruli hoda iko da fen nu da bal veru": ("fen", "the friends sang because the queen behind the king slept"),
}  # {sentence: (the noun of its last word, in English)}


def nearest(sentence: str) -> str:
    """The last word before the verb that can act."""
    return [word for word in sentence.split()[:-1] if word in BEINGS][-1]


def draw_sentence(canvas: Phone, y: float, sentence: str, noun: str | None, control: str = "") -> None:
    """A sentence in one line; from its last word an arc to `noun`, whose sign it gets. With a control each noun can be
    clicked; its values count the nouns from 0."""
    x, middles, words = 8.0, [], sentence.split()
    for word in words:
        wide = width_of(word, 13) + 5
        middles.append(x + wide / 2)
        here = word == noun
        colour = ROLES[SIGNS[word]] if here else "ink"
        canvas.text(x + wide / 2, y, word, 13, fill=colour, bold=here)
        x += wide + 3
    if noun:
        begin, end, role = middles[-1], middles[words.index(noun)], ROLES[SIGNS[noun]]
        path = f"M{begin:.1f} {y - 13} C{begin:.1f} {y - 34} {end:.1f} {y - 34} {end:.1f} {y - 16}"
        canvas.add("path", d=path, fill="none", stroke=role, stroke_width=2)
        canvas.arrow(end, y - 19, end, y - 12, role, 2, 6)
    sign = SIGNS[noun] if noun else "?"
    canvas.text(x + 8, y, sign, 14, fill=ROLES.get(sign, "here"), bold=True)
    nouns = [number for number, word in enumerate(words) if word in SIGNS]
    for value, number in enumerate(nouns if control else ()):
        wide, word = width_of(words[number], 13) + 5, words[number]
        box = (middles[number] - wide / 2 - 1, y - 14, wide + 2, 20)
        canvas.rect(*box, stroke="here" if word == noun else "edge", stroke_width=1.5, rx=4)
        canvas.touch(*box, f"{control}: {word}", on=word == noun, **{control: value})


def judged(chosen: Sequence[str | None]) -> tuple[str, str, str]:
    """A sign, a role and words: which of two rules the answers follow."""
    if None in chosen:
        return (
            "○",
            "quiet",
            f"{sum(one is not None for one in chosen)} of 3 answered. Which noun gives the last word its sign?",
        )
    english = list(chosen) == [noun for noun, _ in ASKED.values()]
    near = list(chosen) == [nearest(sentence) for sentence in ASKED]
    told = " ".join(f"{number}: {meant}." for number, (_, meant) in enumerate(ASKED.values(), 1))
    rule = "Your answers follow neither of the two rules that fit all four examples: the subject, or the nearest being."
    if english:
        rule = "All three as in English. But nothing here says so: “take the nearest being” fits all four, too."
    elif near:
        rule = "You took the nearest being. That fits all four examples, and it is not the rule: 2 and 3 are wrong."
    return ("✔", "right", f"{rule} In English, {told}") if english else ("✘", "wrong", f"{rule} In English, {told}")


def draw_language(chosen: Sequence[str | None]) -> View:
    """Four sentences of a made-up language whose last word has its sign, and three to be answered."""
    canvas = Phone(0)
    canvas.text(8, 18, "A language that you do not know", 14, "start", bold=True)
    nouns = ", ".join(f"{word} {sign}" for word, sign in SIGNS.items())
    canvas.text(8, 38, nouns, 12, "start", "quiet")
    y = 78.0
    for sentence, noun in SOLVED.items():
        draw_sentence(canvas, y, sentence, noun)
        y += 36
    canvas.line(8, y - 22, 348, y - 22, "edge")
    y += 12
    for number, (sentence, noun) in enumerate(zip(ASKED, chosen), 1):
        draw_sentence(canvas, y, sentence, noun, f"noun_{number}")
        y += 42
    sign, role, said = judged(chosen)
    canvas.prose(8, y - 10, f"{sign} {said}", fill=role, bold=sign == "✔")
    canvas.height = round(y + 8 * 17.5)
    given = "; ".join(f"{sentence}: {noun or '?'}" for sentence, noun in zip(ASKED, chosen))
    return canvas.view(f"A language with the nouns {nouns}. Yours: {given}. {sign} {said}")


def unknown_language() -> Explorer:
    """Be the model: from four sentences of a made-up language find out which noun the last word of three others
    belongs to. The examples fit two rules."""
    nouns = {sentence: [word for word in sentence.split() if word in SIGNS] for sentence in ASKED}

    def draw(**given):
        found = [some[value] if value >= 0 else None for some, value in zip(nouns.values(), given.values())]
        return draw_language(found)

    controls = {
        f"noun_{number}": menu(
            f"sentence {number}", [("choose …", -1), *((word, k) for k, word in enumerate(some))], -1
        )
        for number, some in enumerate(nouns.values(), 1)
    }
    return Explorer(draw, controls, replaced=controls)


# The bench
FAIR, VERBS = 27, ("slept", "arrived")  # of 30 with a place; what a template may end in


class Caught(NamedTuple):
    """What a model makes of a template: with a place, and with somebody of the other gender."""

    control: Verbs
    trap: Verbs

    @property
    def fair(self) -> bool:
        return self.control.right >= FAIR


def template_of(typed: str, vocabulary: Vocabulary) -> str:
    """A template as it was typed, or a ValueError in plain words."""
    words = typed.lower().split()
    if words.count("{}") != 2:
        raise ValueError("A template has {} twice, each as a word of its own: for the subject, and for somebody else.")
    if len(words) > 20:
        raise ValueError(f"{len(words)} words are too many: up to 20, please.")
    if words[-1] not in VERBS:
        raise ValueError(f"The last word should be the verb of the first {{}}: {' or '.join(VERBS)}.")
    special = [token for token in vocabulary.words[:4] if token in words]
    if special:
        raise ValueError(f"{special[0]} is a special token, not a word: leave it out.")
    vocabulary.encode([cut(word, 30) for word in words if word != "{}"], strict=True)
    return " ".join(words)


def draw_bench(template: str, found: Mapping[str, Caught], taught: bool, wanted: str) -> View:
    """For each model the share of verbs right with a place and with somebody; a lamp: is the template fair to it?"""
    canvas = Phone(0)
    draw_buttons(canvas, 8, 8, 110, {"before": False, "taught": True}, "taught", taught)
    y = canvas.prose(8, 56, template.replace("{}", "…"), 13.5, bold=True) + 10
    left, wide, said = 108, 184, []
    middle = left + wide / 2
    canvas.line(middle, y - 12, middle, y + 58 * len(found) - 12, "ink", 1.3, stroke_dasharray="4 3")
    canvas.text(middle, y - 15, "a coin", 11.5, fill="quiet")
    for name, one in found.items():
        canvas.text(left - 6, y + 20, cut(name, 14), 11.5, "end", bold=True)
        for row, (verbs_of, role, label) in enumerate(
            ((one.control, "quiet", "a place"), (one.trap, "here", "somebody"))
        ):
            top = y + 22 * row
            canvas.rect(left, top, wide, 16, "ground", stroke="edge", fill_opacity="0")
            canvas.rect(left, top, wide * verbs_of.share, 16, role, fill_opacity="0.45", data_id=f"{name} {row}")
            canvas.text(left + 4, top + 12.5, label, 11.5, "start")
            canvas.text(left + wide + 6, top + 12.5, f"{verbs_of.right}/{sum(verbs_of)}", 12, "start", bold=bool(row))
        lamp = ("right", "fair") if one.fair else ("wrong", "unfair")
        canvas.add("circle", cx=left - 52, cy=y + 34, r=5, fill=lamp[0])
        canvas.text(left - 44, y + 38, lamp[1], 11.5, "start", lamp[0])
        said.append(
            f"{name}: {one.control.right} of {sum(one.control)} with a place, {lamp[1]}; {one.trap.right} of "
            f"{sum(one.trap)} with somebody, {one.trap.other} the other gender, {one.trap.plural} plural"
        )
        y += 58
    target = found[wanted]
    done = taught and target.fair and target.trap.share < 0.5
    task = f"Find a template that is fair, and on which {wanted}, taught, gets fewer than half right."
    task = f"{'✔' if done else '○'} {task}"
    canvas.height = round(y + 58)
    canvas.prose(8, y + 6, task, fill="right" if done else "quiet", bold=done)
    return canvas.view(f"{template}, {'taught' if taught else 'before'}. {'. '.join(said)}. {task}")


def trap_bench(
    before: Mapping[str, Callable], taught: Mapping[str, Callable], vocabulary: Vocabulary, examples: Sequence[str],
    wanted: str,
) -> Explorer:  # fmt: skip
    """Type a template with two {}, and see how often each model tags its last word as the first noun wants, with a
    place and with somebody of the other gender in the second {}. before and taught: {name: tagger}, the same names;
    `wanted`: the one that is to be caught."""
    require_list(examples=examples)
    models, known = {False: before, True: taught}, {}

    def caught(template, which):
        if (template, which) not in known:
            known[template, which] = {
                name: Caught(*(verbs(model, vocabulary, [template], some) for some in (PLACES, SOMEBODY)))
                for name, model in models[which].items()
            }
        return known[template, which]

    def draw(example, template, taught):
        try:
            given = template_of(template, vocabulary)
        except ValueError as problem:
            return verdict("This template cannot be tried", False, [str(problem)], 380)
        return draw_bench(given, caught(given, taught), taught, wanted)

    tries = ("the {} slept", "{} the {} SLEPT", "the {} near the {}", "", "the <s> {} near {} slept")
    controls = {
        "example": menu("example", list(examples), width="500px"),
        "template": text("template", examples[0], tries),
        "taught": menu("trained", [("before", False), ("taught", True)], False, "200px"),
    }
    follows = {"example": lambda example, state: {"template": example}}
    return Explorer(draw, controls, follows=follows, replaced=["taught"])
