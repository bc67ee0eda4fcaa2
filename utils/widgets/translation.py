"""Translations: what length does to a translation, a translation word by word, and sentences from a box of bricks."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from numpy.typing import ArrayLike

from ..plots import as_numbers, largest
from .board import width_of
from .canvas import Phone, View, cut
from .controls import Explorer, checkbox, menu, slider

# Length


def draw_lengths(
    length: int, source: Sequence[str], right: Sequence[str], written: Mapping, shares: Mapping, found: bool
) -> tuple[Phone, str]:
    """One sentence with its right translation and those `written` by models {name: words}; words that differ in red:
    the picture, as high as it needs to be, and what it says.
    `shares`: {name: share of the sentences of this length that are right}; found: this is the length of the task."""
    canvas, y = Phone(0), 48.0
    canvas.text(8, 20, f"{length} words", 15, "start", bold=True)
    for label, words in (("source", source), ("right", right)):
        canvas.text(8, y, label, 12, "start", "quiet")
        y = canvas.prose(56, y, " ".join(words), 12.5) + 6
    y += 8
    for name, words in written.items():
        share, x = shares[name], 56.0
        canvas.text(8, y, f"{'✔' if list(words) == list(right) else '✘'} {name}", 13, "start", bold=True)
        canvas.rect(160, y - 11, 140, 14, "raised")
        canvas.rect(160, y - 11, 140 * share, 14, "data" if share > 0.5 else "negative")
        canvas.text(348, y, f"{share:.0%}", 13, "end", bold=True)
        y += 20
        for position, word in enumerate(words):
            wrong, room = position >= len(right) or word != right[position], width_of(word, 12.5) + 7
            x, y = (56.0, y + 17) if x + room > 350 else (x, y)
            canvas.text(x, y, word, 12.5, "start", "wrong" if wrong else "ink")
            x += room
        y += 30
    canvas.text(8, y, f"bar: share of sentences with {length} words that are right", 12, "start", "quiet")
    sign, role = ("✔", "right") if found else ("○", "quiet")
    task = f"{sign} Find the first length at which {next(iter(written))} gets less than half right."
    y = canvas.prose(8, y + 24, task, fill=role, bold=found)
    canvas.height = round(y)
    said = "; ".join(f"{name} {shares[name]:.0%} right" for name in written)
    return canvas, f"Sentences of {length} words: {said}. {task}"


def bottleneck(
    examples: Mapping[int, tuple], shares: Mapping[int, Mapping[str, float]], begin: int | None = None
) -> Explorer:
    """Move the length and see a sentence of it, with the translations of each model.

    examples: {length: (source, right, {model: written})}, words; shares: {length: {model: share right}}. begin: the
    length that is shown first, the shortest if not given."""
    lengths, name = sorted(examples), next(iter(next(iter(shares.values()))))
    half = next((length for length in lengths if shares[length][name] < 0.5), None)
    words = slider("words in the source", begin or lengths[0], lengths[0], lengths[-1])

    drawn = {one: draw_lengths(one, *examples[one], shares[one], one == half) for one in lengths}
    tallest = max(canvas.height for canvas, _ in drawn.values())

    def draw(length):
        canvas, said = drawn[length]
        canvas.height = tallest
        return canvas.view(said)

    return Explorer(draw, {"length": words})


# Word by word
def draw_step(source: Sequence[str], target: Sequence[str], weights: ArrayLike, step: int, gold: Iterable = ()) -> View:
    """The translation on the left, written up to word number `step`, the source on the right; lines from that word to
    the source words as thick as their weights (q, k). Gold links (target, source) are dashed; words yet to come are
    outlines."""
    row, pitch = as_numbers(weights, 2)[step], 25
    canvas = Phone(126 + pitch * max(len(source), len(target)))
    begin = 18 + pitch * step
    linked = [j for i, j in sorted(gold) if i == step]
    for j, (word, weight) in enumerate(zip(source, row.tolist())):
        y = 18 + pitch * j
        if weight > 0.005:
            thick = {"stroke_width": 1 + 14 * weight, "opacity": f"{0.25 + 0.5 * weight:.2f}"}
            canvas.line(112, begin, 196, y, "weight", **thick)
        canvas.text(204, y + 5, cut(word, 11), 13.5, "start", bold=weight > 0.5)
        canvas.rect(290, y - 6, 24 * weight, 12, "weight", data_id=f"bar {j}")
        canvas.text(352, y + 4.5, f"{weight:.0%}", 12, "end", bold=weight > 0.5)
    for j in linked:
        for stroke, thick in (("ground", 5), ("ink", 2)):
            canvas.line(112, begin, 196, 18 + pitch * j, stroke, thick, stroke_dasharray="6 5")
    for i, word in enumerate(target[: step + 1]):
        canvas.text(104, 23 + pitch * i, cut(word, 12), 13.5, "end", "here" if i == step else "ink", i == step)
    for i in range(step + 1, len(target)):
        canvas.rect(40, 9 + pitch * i, 64, 18, stroke="edge", rx=4)
    for i, word in enumerate(target):
        name = f"word {i + 1}{f', {word}' if i <= step else ''}"
        canvas.touch(0, 18 + pitch * (i - 0.5), 110, pitch, name, on=i == step, step=i + 1)
    canvas.hint(8, canvas.height - 8, "click a word of the translation")
    heard = ", ".join(f"{source[j]} {row[j]:.0%}" for j in largest(row, 3))
    canvas.prose(8, canvas.height - 90, f"step {step + 1}: {target[step]} looks at {heard}", 13)
    ahead = target[step + 1 : step + 2]
    ask = f"Guess before you go on: where does it look to write {ahead[0]}?" if ahead else ""
    canvas.prose(8, canvas.height - 46, ask, 12.5, fill="quiet")
    translates = f" It translates {', '.join(source[j] for j in linked)}." if linked else ""
    return canvas.view(f"{target[step]} looks at {heard}.{translates} {ask}".rstrip())


def decoding(examples: Sequence[tuple]) -> Explorer:
    """Step through a translation; examples: (source, target, weights (q, k), gold links (target, source))."""
    titles = [(" ".join(source), number) for number, (source, *_) in enumerate(examples)]
    longest = max(len(target) for _, target, *_ in examples)

    def draw(sentence, step):
        source, target, weights, gold = examples[sentence]
        return draw_step(source, target, weights, min(step, len(target)) - 1, gold)

    controls = {
        "sentence": menu("sentence", titles, width="620px"),
        "step": slider("word of the translation", 1, 1, longest),
    }
    return Explorer(draw, controls)


# Any sentence
def draw_translation(
    source: Sequence[str], target: Sequence[str], weights: ArrayLike, gold: Iterable, facts: Mapping[str, str]
) -> View:
    """Weights (q, k) of a translation in per cent, a row for each target word, a column for each source word; gold
    links framed; above them `facts`, by what they are called, below them the task."""
    weights, canvas, y = as_numbers(weights, 2), Phone(0), 20.0
    for name, fact in facts.items():
        canvas.text(6, y, name, 12, "start", "quiet")
        y = canvas.prose(66, y, fact, 12.5) + 4
    left, wide = 92, min(40.0, (266 - 4.4 * len(source[-1])) / len(source))
    top = y + 12 + 4.3 * max(map(len, source))
    for j, word in enumerate(source):
        x = left + wide * (j + 0.4)
        canvas.text(x, top - 7, word, 12, "start", "key", transform=f"rotate(-40 {x:.1f} {top - 7:.1f})")
    for i, word in enumerate(target):
        canvas.text(left - 6, top + 22 * i + 15, cut(word, 13), 12, "end", "query")
        for j, weight in enumerate(weights[i, : len(source)].tolist()):
            letters = canvas.shade(left + wide * j, top + 22 * i, wide, 22, "weight", weight)
            if weight >= 0.005:
                canvas.text(left + wide * (j + 0.5), top + 22 * i + 15, f"{100 * weight:.0f}", 11, fill=letters)
    for i, j in sorted(gold):
        if i < len(target):
            canvas.frame(left + 1 + wide * j, top + 1 + 22 * i, wide - 2, 20, 2)
    foot = top + 22 * len(target) + 20
    canvas.text(6, foot, "weights in per cent; framed: the gold links", 12, "start", "quiet")
    found = "✘" in facts["model"]
    task = f"{'✔' if found else '○'} Build a sentence that the model gets wrong."
    end = canvas.prose(6, foot + 22, task, fill="right" if found else "quiet", bold=found)
    canvas.height = round(end)
    peaks = ", ".join(f"{word} → {source[largest(row)[0]]}" for word, row in zip(target, weights))
    said = f"{' '.join(source)}: {' '.join(target)}. Largest weights: {peaks}. "
    return canvas.view(said + f"Grammar: {facts['grammar']}. Model: {facts['model']}. {task}")


DETERMINERS = {  # as the menu shows them: the word, and whether it stands before several things
    "the, one": ("the", False), "the, several": ("the", True), "a": ("a", False),
    "this": ("this", False), "these": ("this", True), "two": ("two", True), "three": ("three", True),
}  # fmt: skip


def sentence_builder(
    translate: Callable[[tuple[str, ...]], tuple[Sequence[str], ArrayLike]], language: str
) -> Explorer:
    """Build a sentence from menus: the grammar's translation and gold links, the model's translation and weights.

    translate(words) → (target words, weights (q, k))."""
    from .. import corpus  # only here: it takes longer to load than all widgets, and most notebooks do without

    predicates = {verb: (verb, None) for verb in ("arrived", "sang", "disappeared")}
    for verb, thing in (("found", "ring"), ("lost", "key"), ("painted", "door")):
        predicates[f"{verb} the {thing}"] = verb, corpus.NounPhrase(thing)
    modifiers = {
        "nothing more": None,
        "who saw the cat": corpus.Relative("saw", corpus.NounPhrase("cat")),
        "who sang": corpus.Relative("sang"),
        "near the castle": corpus.Prepositional("near", corpus.NounPhrase("castle")),
    }
    nouns, adjectives = ("witch", "dragon", "turtle"), ("green", "happy", "brave", "young")

    def draw(determiner, adjective, noun, modifier, predicate, negated):
        word, plural = DETERMINERS[determiner]
        subject = corpus.NounPhrase(noun, word, (adjective,) if adjective else (), plural, modifiers[modifier])
        pair = corpus.translate(corpus.Clause(subject, *predicates[predicate], negated), language)
        target, weights = translate(pair.source)
        right = tuple(target) == pair.target
        facts = {"sentence": " ".join(pair.source), "grammar": " ".join(pair.target)}
        facts["model"] = f"{' '.join(target)} {'✔' if right else '✘'}"
        return draw_translation(pair.source, target, weights, pair.alignment if right else (), facts)

    controls = {
        "determiner": menu("determiner", list(DETERMINERS)),
        "adjective": menu("adjective", [("none", None), *adjectives], adjectives[0]),
        "noun": menu("noun", list(nouns)),
        "modifier": menu("and", list(modifiers)),
        "predicate": menu("what happened", list(predicates)),
        "negated": checkbox("did not", False),
    }
    return Explorer(draw, controls)
