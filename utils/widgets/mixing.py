"""Start here: a translator at work, and what attention by similarity makes of one word, step by step."""

import difflib
import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..checks import require_list
from ..plots import as_numbers, largest
from .attention import numbered
from .canvas import NOT_XML, REPLACEMENT, Phone, View, cut, two_decimals
from .controls import Explorer, Options, menu, slider, text

# A translator
MOST_WORDS, MOST_WRITTEN = 12, 16  # of a sentence, and of its translation as far as it is shown
LEFT, RIGHT, PITCH = 128, 226, 26  # where English words end, where Spanish ones begin, from one word to the next
ENOUGH = 0.3
EXAMPLES = (
    "the green king arrived",
    "the old queens lost the magic rings",
    "the tower that the wizard saw disappeared",
    "the happy cat did not sleep under the table",
    "the witch is green",
)
FIND = "Find a Spanish word that looks at two words, each with over 30 %."
END = "(end)"


def english_words(sentence: str) -> list[str]:
    """The words of a sentence as the translator reads them: small letters, a comma and 's by themselves."""
    sentence = NOT_XML.sub(REPLACEMENT, sentence).lower().replace("’", "'")
    return re.sub(r"(,|'s\b)", r" \1 ", sentence).rstrip(" .!?").split()


def draw_problem(problem: str, advice: Sequence[str]) -> View:
    """Why a sentence is not translated, and what can be done."""
    canvas = Phone(0)
    y = canvas.prose(8, 24, f"✘ {problem}", 13.5, fill="wrong", bold=True)
    for line in advice:
        y = canvas.prose(8, y + 6, line, 12.5)
    canvas.height = round(y)
    return canvas.view(" ".join([f"✘ {problem}", *advice]))


def unknown(words: Sequence[str], knows: Collection[str]) -> View | None:
    """What is said of a sentence with no word, too many words, or one that the translator has never read."""
    strange = next((word for word in words if word not in knows), None)
    if words and len(words) <= MOST_WORDS and strange is None:
        return None
    if not words:
        problem = "There is no sentence yet."
    elif len(words) > MOST_WORDS:
        problem = f"That is {len(words)} words. Give at most {MOST_WORDS}."
    else:
        problem = f"The translator has never read “{cut(strange, 20)}”."
    close = difflib.get_close_matches(strange or "", sorted(knows), 3, 0.7) if len(strange or "") < 40 else []
    advice = [f"Did you mean {' or '.join(close)}?"] if close else []
    plain = sorted(word for word in knows if word[0].isalpha())
    return draw_problem(problem, [*advice, f"It knows {len(plain)} words: {', '.join(plain)}."])


def draw_ribbons(canvas: Phone, top: float, row: np.ndarray, begin: float) -> None:
    """From the words on the left to the one at the height `begin` on the right, as thick as their weights."""
    for number, weight in enumerate(row.tolist()):
        if weight > 0.005:
            y, middle = top + PITCH * number, (LEFT + RIGHT) / 2
            path = f"M{LEFT + 6} {y:.1f} C{middle} {y:.1f} {middle} {begin:.1f} {RIGHT - 6} {begin:.1f}"
            shown = {"stroke_width": float(1 + 13 * weight), "opacity": f"{0.3 + 0.5 * weight:.2f}"}
            canvas.add("path", d=path, fill="none", stroke="weight", data_id=f"ribbon {number}", **shown)


def draw_translator(
    source: Sequence[str], target: Sequence[str], weights: ArrayLike, written: int, chosen: int
) -> View:
    """English words on the left, the Spanish ones `written` so far on the right; of word number `chosen`, counted from
    0, the weights (q, k + 1) at the words and at the end of the sentence."""
    row, names = as_numbers(weights, 2)[chosen], [*source, END]
    lines = max(len(names), len(target))
    canvas, top = Phone(62 + PITCH * lines + 88), 62
    canvas.text(LEFT, 20, "English", 12, "end", "quiet")
    canvas.text(RIGHT, 20, "Spanish", 12, "start", "quiet")
    canvas.hint(350, 40, "click a word", "end")
    canvas.text(40, 40, "share", 12, "end", "weight")
    draw_ribbons(canvas, top, row, top + PITCH * chosen)
    for number, (name, weight) in enumerate(zip(names, row.tolist())):
        y = top + PITCH * number
        letters = canvas.shade(44, y - 11, LEFT - 40, 22, "weight", weight, "none")
        fill = letters if weight >= 0.005 else "quiet" if name == END else "ink"
        canvas.text(LEFT, y + 5, cut(name, 11), 13, "end", fill, weight > 0.5)
        if weight >= 0.005:
            canvas.text(40, y + 4.5, f"{weight:.0%}", 12, "end", "weight", weight > 0.5)
    for number, name in enumerate(target):
        y, here = top + PITCH * number, number == chosen
        if number >= written:
            canvas.rect(RIGHT, y - 9, 64, 18, stroke="edge", rx=4)
            continue
        canvas.text(RIGHT, y + 5, cut(name, 14), 13.5, "start", "here" if here else "ink", here)
        said = f"Spanish word {number + 1}, {name}"
        canvas.touch(RIGHT - 4, y - PITCH / 2, 130, PITCH, said, on=here, chosen=number + 1)
    at = ", ".join(f"{names[k]} {row[k]:.0%}" for k in largest(row, 2) if row[k] >= 0.005)
    looks = f"To write “{target[chosen]}”, it looks at {at}."
    done = sum(row > ENOUGH) > 1
    y = canvas.prose(8, top + PITCH * lines + 14, looks, 13)
    canvas.prose(8, y + 6, f"{'✔' if done else '○'} {FIND}", fill="right" if done else "quiet", bold=done)
    so_far = " ".join(target[:written])
    return canvas.view(f"English: {' '.join(source)}. Spanish: {so_far}. {looks} {'✔' if done else '○'} {FIND}")


def translator(
    translate: Callable[[Sequence[str]], tuple[Sequence[str], ArrayLike]], knows: Collection[str], first: str,
    tries: Sequence[str] = EXAMPLES,
) -> Explorer:  # fmt: skip
    """Type a sentence, watch its translation grow, and see where a translator looks for each word.

    translate(words) → (target words, weights (q, k + 1)), whose last column is the end of the sentence; knows: the
    words that it can read; first: the sentence that is shown at first; tries: others that a page offers."""
    require_list(knows=knows, tries=tries)
    translated = functools.lru_cache(maxsize=64)(translate)

    def draw(sentence, written, chosen):
        source = english_words(sentence)
        if (problem := unknown(source, knows)) is not None:
            return problem
        target, weights = translated(tuple(source))
        target = list(target)[:MOST_WRITTEN]
        if not target:
            return draw_problem("It writes nothing.", ["Try another sentence."])
        written = min(written, len(target))
        return draw_translator(source, target, weights, written, (chosen if 0 < chosen <= written else written) - 1)

    controls = {
        "sentence": text("your sentence", first, (*tries, ""), "500px"),
        "written": slider("words written", 1, 1, MOST_WRITTEN),
        "chosen": slider("word to look at", 0, 0, MOST_WRITTEN),
    }
    follows = {
        "sentence": lambda value, state: {"written": 1, "chosen": 0},
        "written": lambda value, state: {"chosen": 0},
    }
    return Explorer(draw, controls, follows=follows, replaced=["chosen"], pace=1200)


# Attention by similarity
NAMES, STRIP, WIDE, SCORES, BARS, ROW = 70, 76, 1.4, 262, 268, 34  # names end, 100 entries begin, each so wide, …
TOP, TALL = 74, 13  # where words begin; how high the largest entry is
STEPS = (
    "Each word is a vector: 100 numbers, drawn as 100 bars.",
    "Compare: each of its numbers times the other word's. Their sum, divided by √100 = 10, is the score.",
    "Share out: the higher the score, the more of the 100 % a word gets.",
    "Mix: so much of each vector, added up.",
    "Add the mixture to the word's own vector. Which words are nearest to it now?",
)


def draw_bars(canvas: Phone, y: float, vector: np.ndarray, limit: float, **more: object) -> None:
    """All numbers of a vector as thin bars around the line y, up where they are positive."""
    for role, part in (("data", vector.clip(0, None)), ("negative", vector.clip(None, 0))):
        bars = "".join(
            f"M{STRIP + WIDE * k:.1f} {y:.0f}v{-TALL * value / limit:.1f}" for k, value in enumerate(part) if value
        )
        canvas.add("path", d=bars or f"M{STRIP} {y}", fill="none", stroke=role, stroke_width=1.2, **more)


def draw_first_look(
    words: Sequence[str], X: np.ndarray, row: np.ndarray, chosen: int, step: int,
    nearest: Callable[[np.ndarray, int], Sequence],
) -> View:  # fmt: skip
    """What word number `chosen` does with the others, up to a step from 1 to 5: X (n, d), its weights row (n,), 0 for
    itself; nearest(vector, count) are the words nearest to one, each with its cosine, the nearest first."""
    canvas, word = Phone(TOP + ROW * (len(words) + 2) + 54), cut(words[chosen], 12)
    products, mixture = X * X[chosen], row @ X
    scores, limit = products.sum(1) / X.shape[1] ** 0.5, np.abs(X).max()
    canvas.text(8, 20, f"“{word}” looks around", 15, "start", "here", True)
    canvas.hint(350, 20, "click a word", "end")
    canvas.prose(8, 42, f"{step} {STEPS[step - 1]}", 12.5)
    for number, (name, vector) in enumerate(zip(words, X)):
        y, here = TOP + ROW * number + ROW / 2, number == chosen
        canvas.text(NAMES, y + 5, cut(name, 9), 12.5, "end", "here" if here else "ink", here)
        compared = step == 2 and not here
        draw_bars(canvas, y, products[number] if compared else vector, np.abs(products).max() if compared else limit)
        if here:
            canvas.frame(STRIP - 4, y - ROW / 2 + 2, WIDE * len(vector) + 8, ROW - 4)
        elif step == 2:
            canvas.text(
                SCORES, y + 5, two_decimals(scores[number]), 12, "end", bold=scores[number] == scores[row > 0].max()
            )
        elif step > 2:
            canvas.rect(
                STRIP + WIDE * len(vector) + 8, y - 7, 60 * row[number] / row.max(), 14, "weight", data_id=f"b{number}"
            )
            canvas.text(350, y + 5, f"{row[number]:.0%}", 12, "end", bold=row[number] == row.max())
    y = TOP + ROW * (len(words) + 0.5)
    for name, vector, since in (("mixture", mixture, 4), ("sum", X[chosen] + mixture, 5)):
        known = step >= since
        canvas.text(NAMES, y + 5, name, 12.5, "end", "value" if known else "quiet", known)
        if known:
            draw_bars(canvas, y, vector, max(limit, np.abs(vector).max()))
        y += ROW
    old, new = (
        ", ".join([name for name, _ in nearest(vector, 4) if name != words[chosen]][:3])
        for vector in (X[chosen], X[chosen] + mixture)
    )
    canvas.text(8, y + 4, f"alone, nearest to: {old}", 12.5, "start", "quiet")
    canvas.text(8, y + 24, f"now, nearest to: {new if step == 5 else '?'}", 12.5, "start", "value", step == 5)
    for number, name in enumerate(words):
        canvas.touch(0, TOP + ROW * number, 356, ROW, f"{number + 1}, {name}", on=number == chosen, chosen=number)
    said = [f"“{word}” in “{' '.join(words)}”, step {step}: {STEPS[step - 1]}"]
    others = [k for k in range(len(words)) if k != chosen]
    said += [f"Scores: {', '.join(f'{words[k]} {two_decimals(scores[k])}' for k in others)}."] * (step == 2)
    said += [f"Shares: {', '.join(f'{words[k]} {row[k]:.0%}' for k in others)}."] * (step > 2)
    said += [f"Alone, nearest to {old}; now, nearest to {new if step == 5 else '?'}."]
    return canvas.view(" ".join(said))


def first_look(
    sentences: Mapping[str, tuple[Sequence[str], ArrayLike, ArrayLike]],
    nearest: Callable[[np.ndarray, int], Sequence], first: str,
) -> Explorer:  # fmt: skip
    """Pick a word and watch, in five steps, what attention makes of it.

    sentences: {sentence: (words, X (n, d), weights (n, n), none for the word itself)}; nearest(vector, count)
    are the words nearest to a vector (d,), each with its cosine; first: the word that is chosen at first, in each
    sentence. ValueError: X or weights is no table."""
    told = {
        name: (list(words), as_numbers(X, 2), as_numbers(weights, 2)) for name, (words, X, weights) in sentences.items()
    }
    begin = {name: words.index(first) for name, (words, _, _) in told.items()}

    def draw(sentence, chosen, step):
        words, X, weights = told[sentence]
        return draw_first_look(words, X, weights[chosen], chosen, step, nearest)

    def words_of(sentence, _state):
        return {"chosen": Options(numbered(told[sentence][0]), begin[sentence])}

    sentence = menu("sentence", list(told), width="620px")
    word = menu("word", numbered(told[sentence.value][0]), begin[sentence.value])
    controls = {"sentence": sentence, "chosen": word, "step": slider("step", 1, 1, 5)}
    return Explorer(draw, controls, follows={"sentence": words_of}, replaced=["chosen"])
