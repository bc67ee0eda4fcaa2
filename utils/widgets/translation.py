"""Notebook 05: what length does to a translation, a translation word by word, and sentences from a box of bricks."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from numpy.typing import ArrayLike

from ..plots import as_numbers, largest
from .canvas import MONOSPACE, Canvas, View, lay_out
from .controls import Explorer, checkbox, menu, slider

# Length


def draw_lengths(length: int, source: Sequence[str], right: Sequence[str], written: Mapping, shares: Mapping) -> View:
    """One sentence with its right translation and those `written` by models {name: words}; words that differ in red.
    `shares`: {name: share of the sentences of this length that are right}."""
    canvas = Canvas(960, 130 + 92 * len(written))
    canvas.text(10, 26, f"{length} words", 17, "start", bold=True)
    size = min(15.0, 840 / (0.6 * max(len(" ".join(words)) for words in (source, right, *written.values()))))
    letters = {"size": size, "anchor": "start", "font_family": MONOSPACE}
    for y, label, words in ((56, "source", source), (84, "right", right)):
        canvas.text(90, y, label, 13, "end", "quiet")
        canvas.text(100, y, " ".join(words), **letters)
    for number, (name, words) in enumerate(written.items()):
        y, share, x = 130 + 92 * number, shares[name], 100.0
        canvas.text(10, y, name, 15, "start", bold=True)
        canvas.rect(200, y - 14, 400, 18, "raised")
        canvas.rect(200, y - 14, 400 * share, 18, "data" if share > 0.5 else "negative")
        canvas.text(610, y, f"{share:.0%} of the sentences with {length} words are right", 14, "start")
        for position, word in enumerate(words):
            wrong = position >= len(right) or word != right[position]
            canvas.text(x, y + 30, word, fill="wrong" if wrong else "ink", **letters)
            x += 0.6 * size * (len(word) + 1)
        canvas.text(90, y + 30, "✔" if list(words) == list(right) else "✘", 15, "end")
    said = "; ".join(f"{name} {shares[name]:.0%} right" for name in written)
    return canvas.view(f"Sentences of {length} words: {said}.")


def bottleneck(examples: Mapping[int, tuple], shares: Mapping[int, Mapping[str, float]]) -> Explorer:
    """Move the length and see a sentence of it, with the translations of each model.

    examples: {length: (source, right, {model: written})}, words; shares: {length: {model: share right}}."""
    lengths = sorted(examples)
    words = slider("words in the source", lengths[-4], lengths[0], lengths[-1])
    return Explorer(lambda length: draw_lengths(length, *examples[length], shares[length]), {"length": words})


# Word by word
def draw_step(source: Sequence[str], target: Sequence[str], weights: ArrayLike, step: int, gold: Iterable = ()) -> View:
    """The source above, the translation below, written up to word number `step`; lines from that word to the source
    words as thick as their weights (q, k). Gold links (target, source) are dashed."""
    row, canvas = as_numbers(weights, 2)[step], Canvas(960, 268)
    (above, size_above), (below, size_below) = lay_out(source), lay_out(target)
    linked = [j for i, j in sorted(gold) if i == step]
    for j in linked:
        canvas.line(below[step], 192, above[j], 86, "right", 2, stroke_dasharray="6 5")
    for x, word, weight in zip(above, source, row.tolist()):
        if weight > 0.005:
            line = {"stroke_width": 1 + 20 * weight, "opacity": f"{0.25 + 0.5 * weight:.2f}"}
            canvas.line(below[step], 192, x, 86, "weight", **line)
        canvas.text(x, 72, word, size_above, bold=weight > 0.5)
        canvas.rect(x - 15, 44 - 36 * weight, 30, 36 * weight, "weight")
    for i, (x, word) in enumerate(zip(below[: step + 1], target)):
        canvas.text(x, 214, word, size_below, fill="here" if i == step else "ink", bold=i == step)
    heard = ", ".join(f"{source[j]} {row[j]:.0%}" for j in largest(row, 3))
    canvas.text(480, 252, f"step {step + 1}: {target[step]} looks at {heard}", 15)
    translates = f" It translates {', '.join(source[j] for j in linked)}." if linked else ""
    return canvas.view(f"{target[step]} looks at {heard}.{translates}")


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
    source: Sequence[str], target: Sequence[str], weights: ArrayLike, gold: Iterable, facts: Sequence[str] = ()
) -> View:
    """Weights (q, k) of a translation as a table, a row for each target word; gold links framed; `facts` above."""
    weights, top = as_numbers(weights, 2), 88 + 24 * len(facts)
    canvas, width = Canvas(960, 96 + 28 * max(11, len(target)) + 24 * len(facts)), min(70, 800 / len(source))
    for j, word in enumerate(source):
        x = 140 + width * (j + 0.5)
        canvas.text(x, top - 8, word, 13.5, "start", transform=f"rotate(-40 {x:.1f} {top - 8})")
    for i, word in enumerate(target):
        canvas.text(130, top + 28 * i + 19, word, 14.5, "end")
        for j in range(len(source)):
            canvas.cell(140 + width * j, top + 28 * i, width, 26, weights[i, j], 1.0)
    for i, j in sorted(gold):
        if i < len(target):
            canvas.rect(141 + width * j, top + 1 + 28 * i, width - 2, 24, "none", stroke="right", stroke_width=2.5)
    for number, fact in enumerate(facts):
        canvas.text(20, 24 + 24 * number, fact, 14.5, "start")
    peaks = ", ".join(f"{word} → {source[largest(row)[0]]}" for word, row in zip(target, weights))
    return canvas.view(f"{' '.join(source)}: {' '.join(target)}. Largest weights: {peaks}. " + " ".join(facts))


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
        "who saw the cat": corpus.Relative("saw", corpus.NounPhrase("cat")),
        "who sang": corpus.Relative("sang"),
        "near the castle": corpus.Prepositional("near", corpus.NounPhrase("castle")),
        "nothing more": None,
    }
    nouns, adjectives = ("witch", "dragon", "turtle"), ("green", "happy", "brave", "young")

    def draw(determiner, adjective, noun, modifier, predicate, negated):
        word, plural = DETERMINERS[determiner]
        subject = corpus.NounPhrase(noun, word, (adjective,) if adjective else (), plural, modifiers[modifier])
        pair = corpus.translate(corpus.Clause(subject, *predicates[predicate], negated), language)
        target, weights = translate(pair.source)
        right = tuple(target) == pair.target
        facts = [f"grammar: {' '.join(pair.target)}", f"model: {' '.join(target)} {'✔' if right else '✘'}"]
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
