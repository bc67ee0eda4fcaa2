"""Widgets: sliders and menus around the views of views.py. A widget is controls and a view, drawn anew at each change.

`explorer` does the wiring; below it stands one function a widget, in the order of the notebooks.
"""

import math
import textwrap

import ipywidgets as widgets
import numpy as np
import torch
from IPython import get_ipython

from utils import corpus, masks, views
from utils.attention import scaled_dot_product_attention
from utils.plots import in_words
from utils.transformer import sinusoidal_positions
from utils.vectors import pca


class Explorer:
    """Controls above a view. Shown as a widget where a kernel runs, and elsewhere as its first view."""

    def __init__(self, draw, controls, rows=None):
        """rows: how the controls are laid out; side by side, as many as there is room for, if not given."""
        self.draw, self.controls, self.screen = draw, controls, widgets.HTML()
        self.first = self.redraw()
        for control in controls.values():
            control.observe(self.on_change, "value")
        rows = rows or [widgets.HBox(list(controls.values()), layout=widgets.Layout(flex_flow="row wrap"))]
        self.box = widgets.VBox([*rows, self.screen])
        replace_last_run(self)

    def close(self):
        """Take the widget away, with all that it is made of: a model of its own for each control, layout and style."""
        parts = [self.box]
        for part in parts:  # grows while it is walked through
            parts += getattr(part, "children", ())
            parts += [part.layout, *filter(None, [getattr(part, "style", None)])] if hasattr(part, "layout") else []
        for part in parts:
            part.close()

    def redraw(self):
        view = self.draw(**{name: control.value for name, control in self.controls.items()})
        self.screen.value = view.svg
        return view

    def on_change(self, _change):
        try:
            self.redraw()
        except Exception as error:  # noqa: BLE001  a callback has no cell to fail in, so the message stands where the view was
            self.screen.value = f'<pre role="alert">{views.in_xml(f"{type(error).__name__}: {error}")}</pre>'

    def _repr_mimebundle_(self, include=None, exclude=None):
        shown = {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id}
        return {"application/vnd.jupyter.widget-view+json": shown} | self.first._repr_mimebundle_()


ALIVE = {}  # cell id: (the run of the cell, its explorers)


def replace_last_run(explorer):
    """Close what earlier runs of the same cell have shown; where the front end names no cell, nothing is closed."""
    parent = getattr(get_ipython(), "get_parent", dict)() or {}
    cell, run = parent.get("metadata", {}).get("cellId"), parent.get("header", {}).get("msg_id")
    if cell is None:
        return
    last_run, shown = ALIVE.get(cell, (run, []))
    if last_run != run:
        for old in shown:
            old.close()
        shown = []
    ALIVE[cell] = run, [*shown, explorer]


def explorer(draw, **controls):
    """draw(name=value, …) → View, around it one control a name. A first drawing that fails raises at once."""
    return Explorer(draw, controls)


def slider(name, value, low, high, step=1):
    """A slider for whole numbers, or for fractions where `step` is one."""
    kind = widgets.IntSlider if isinstance(step, int) else widgets.FloatSlider
    return kind(
        value=value,
        min=low,
        max=high,
        step=step,
        description=name,
        style={"description_width": "initial"},
        continuous_update=True,
        layout=widgets.Layout(width="340px"),
    )


def menu(name, options, value=None):
    """A menu of words, or of (word, value) pairs."""
    return widgets.Dropdown(
        options=options,
        description=name,
        style={"description_width": "initial"},
        layout=widgets.Layout(width="340px"),
        **({} if value is None else {"value": value}),
    )


# 00 start here


def sentence_attention(words, weights, first):
    """Pick a word and see how much it attends to each word; weights (n, n), `first` the word shown at first."""
    numbered = [(word, number) for number, word in enumerate(words)]
    return explorer(
        lambda chosen: views.word_links(words, weights, chosen), chosen=menu("word", numbered, words.index(first))
    )


def attention_shapes():
    """The matrices of attention, drawn for any number of queries, keys and entries."""
    return explorer(
        views.attention_shapes,
        n_queries=slider("queries q", 3, 1, 10),
        n_keys=slider("keys k", 5, 1, 10),
        d_head=slider("entries e", 8, 1, 12),
        d_value=slider("entries v", 4, 1, 12),
    )


SHAPE_QUIZ = {
    "X (5, 512) @ W_q (512, 64)": {
        "(5, 64)": (True, "Each of the 5 rows keeps its place; 512 entries become 64."),
        "(5, 512)": (False, "The inner axes, 512 and 512, are summed away. What is left of W_q?"),
        "(64, 5)": (False, "Rows of X stay rows: the positions come first."),
    },
    "Q (5, 64) @ Kᵀ (64, 7)": {
        "(5, 7)": (True, "One score for each pair of a query and a key."),
        "(7, 5)": (False, "That is K @ Qᵀ: queries come first, so that a row belongs to one query."),
        "(64, 64)": (False, "The axis of 64 is the one that is summed. What remains are positions."),
    },
    "softmax of scores (5, 7) over the keys": {
        "(5, 7)": (True, "Softmax changes the numbers, not the shape: every row of 7 now sums to 1."),
        "(5,)": (False, "Nothing is summed away: each score becomes one weight."),
        "(5, 1)": (False, "Nothing is summed away: each score becomes one weight."),
    },
    "weights (5, 7) @ V (7, 32)": {
        "(5, 32)": (True, "One output for each query, as wide as a value."),
        "(5, 64)": (False, "The output is made of values, so it is as wide as a value, not as a key."),
        "(7, 32)": (False, "There are 7 values, but one output for each of the 5 queries."),
    },
    "8 heads, a batch of 2 sentences: Q with axes (b, h, q, e), d_model = 512": {
        "(2, 8, 5, 64)": (True, "512 entries are split over 8 heads: e = 512 / 8 = 64."),
        "(2, 8, 5, 512)": (False, "Heads share the 512 entries: each gets 512 / 8."),
        "(2, 5, 8, 64)": (False, "The order is b, h, q, e: a head sees all positions, so it comes before them."),
    },
}  # fmt: skip


def shape_quiz():
    """Which shape comes out? A question, an answer, and why."""
    first = next(iter(SHAPE_QUIZ))
    question = menu("what is the shape of", list(SHAPE_QUIZ), first)
    question.layout.width = "640px"
    answer = menu("answer", ["choose …"])

    def offer(_change=None):
        answer.options = ["choose …", *sorted(SHAPE_QUIZ[question.value])]

    def draw(question, answer):
        right, why = SHAPE_QUIZ[question].get(answer, (None, "Choose an answer."))
        return views.verdict(f"{question}  →  {answer if right is not None else '?'}", right, [why])

    offer()
    question.observe(offer, "value")
    return explorer(draw, question=question, answer=answer)


# 01 dot-product similarity


def two_arrows():
    """Two arrows: turn one, stretch both, watch dot product and cosine."""
    return explorer(
        views.two_arrows,
        angle=slider("angle in degrees", 40, 0, 360, 5),
        length_a=slider("length of a", 2.0, 0.5, 4.0, 0.1),
        length_b=slider("length of b", 1.5, 0.5, 3.0, 0.1),
    )


MOST_ON_A_MAP = 100  # words; more cover each other


def word_map(vectors, words):
    """Type words, see them on a map of two principal components."""
    typed = widgets.Text(
        value=words, description="words", continuous_update=False, layout=widgets.Layout(width="700px")
    )

    def draw(words):
        asked = list(dict.fromkeys(words.lower().replace(",", " ").split()))
        known, unknown = [word for word in asked if word in vectors], [word for word in asked if word not in vectors]
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        notes = [f"not among the vectors: {', '.join(views.cut(word, 14) for word in unknown[:5])}{more}"][
            : len(unknown)
        ]
        if len(known) > MOST_ON_A_MAP:
            notes.append(f"{len(known)} words are too many for one map: the first {MOST_ON_A_MAP} are shown.")
            known = known[:MOST_ON_A_MAP]
        if len(known) < 3:
            notes = notes or ["Type more words, separated by spaces."]
            return views.verdict("A map needs three words or more", False, notes)
        points, kept = pca([vectors[word] for word in known], 2)
        return views.word_plane(points, known, sum(kept), "; ".join(notes))

    return explorer(draw, words=typed)


# 02 single-token attention


def softmax_temperature(labels, scores):
    """The weights of fixed scores (k,) at any temperature."""
    scores = torch.as_tensor(scores, dtype=torch.float64)

    def draw(temperature):
        weights = torch.softmax(scores / temperature, dim=-1)
        effective = math.exp(-torch.special.xlogy(weights, weights).sum())
        facts = (f"sum {weights.sum():.3f}", f"as spread out as {effective:.1f} equal weights")
        return views.weight_bars(labels, scores, weights, f"softmax(scores / {temperature:g})", facts)

    return explorer(draw, temperature=slider("temperature", 1.0, 0.1, 10.0, 0.1))


def softmax_saturation(keys=5, seed=0):
    """One random query and some keys, cut to any size e: the weights with and without the division by √e, and what
    is left of the gradient, here and on average over 500 draws."""
    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(1024, generator=generator), torch.randn(keys, 1024, generator=generator)
    query, key = query.double(), key.double()  # in float32 the gradient below is rounding where one weight is near 1
    many = torch.randn(500, keys, 1024, generator=generator) * torch.randn(500, 1, 1024, generator=generator)

    def draw(power, divide):
        scale = math.sqrt(2**power) if divide else 1
        scores = key[:, : 2**power] @ query[: 2**power] / scale
        weights = torch.softmax(scores, dim=-1)
        best = torch.softmax(many[..., : 2**power].sum(-1) / scale, dim=-1).max(-1).values
        facts = (
            f"largest gradient {in_words((weights * (1 - weights)).max(), 2)}",
            f"standard deviation of the scores {scores.std():.2g}",
            f"mean of the largest gradient over 500 draws {(best * (1 - best)).mean():.2g}",
        )
        title = f"e = {2**power}, {'divided by √e' if divide else 'not divided'}"
        return views.weight_bars([f"key {k}" for k in range(keys)], scores.tolist(), weights.tolist(), title, facts)

    power = slider("e = 2 to the power of", 8, 0, 10)
    return explorer(draw, power=power, divide=widgets.Checkbox(value=False, description="divide by √e", indent=False))


def attention_walk(words, Q, K, V, first):
    """Walk one word through attention: pick the query, then go from scores to output step by step."""
    scores = Q @ K.transpose(-2, -1)
    _, weights = scaled_dot_product_attention(Q, K, V)

    def draw(chosen, step):
        return views.attention_walk(words, scores, scores / math.sqrt(Q.shape[-1]), weights, V, chosen, step)

    numbered = [(word, number) for number, word in enumerate(words)]
    return explorer(draw, chosen=menu("query", numbered, words.index(first)), step=slider("step", 5, 1, 5))


# 03 multi-head attention


LONGEST_EINSUM = 40  # signs, of those that the widget reads


def read_einsum(equation, shapes):
    """(axes of each tensor, axes of the result, size of each letter) of an einsum string for tensors of these shapes.

    Raises ValueError with the reason where the string cannot be read. (PyTorch also takes capitals, three dots and a
    string without an arrow.)
    """
    if len(equation) > LONGEST_EINSUM:
        raise ValueError(f"it is longer than {LONGEST_EINSUM} signs")
    left, arrow, result = (part.replace(" ", "") for part in equation.partition("->"))
    tensors = left.split(",")
    if not arrow:
        raise ValueError("write -> and after it the axes of the result (nothing after it: a single number)")
    if strange := sorted(set(left.replace(",", "") + result) - set("abcdefghijklmnopqrstuvwxyz")):
        raise ValueError(f"axes are named by small letters, not by {' '.join(strange)}")
    if len(tensors) != len(shapes):
        raise ValueError(f"there are {len(shapes)} tensors, but {len(tensors)} group(s) of letters left of the arrow")
    sizes = {}
    for letters, shape in zip(tensors, shapes):
        if len(letters) != len(shape):
            raise ValueError(f"'{letters}' names {len(letters)} axes, but its tensor {shape} has {len(shape)}")
        for letter, size in zip(letters, shape):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"the letter {letter} stands for an axis of {sizes[letter]} and for one of {size}")
    if unknown := sorted(set(result) - set(sizes)):
        raise ValueError(f"{' '.join(unknown)} in the result comes from no tensor on the left")
    if len(set(result)) < len(result):
        raise ValueError("a letter stands twice in the result")
    return tensors, result, sizes


EINSUM_TENSORS = {  # with a string to begin with; every axis has a length of its own, so that no mix-up goes unseen
    "X (5, 16) and W (2, 16, 8)": ("X", (5, 16), "W", (2, 16, 8), "sd,hde->hse"),
    "Q (2, 5, 8) and K (2, 7, 8)": ("Q", (2, 5, 8), "K", (2, 7, 8), "hqe,hke->hqk"),
    "A (2, 5, 7) and V (2, 7, 8)": ("A", (2, 5, 7), "V", (2, 7, 8), "hqk,hke->hqe"),
    "a (3,) and b (3,)": ("a", (3,), "b", (3,), "d,d->"),
}


def einsum_loops():
    """Edit an einsum string for two tensors and read the loops that it stands for, or why it makes no sense."""
    tensors = menu("tensors", list(EINSUM_TENSORS))
    typed = widgets.Text(value=EINSUM_TENSORS[tensors.value][-1], description="einsum", continuous_update=False)
    tensors.observe(lambda change: setattr(typed, "value", EINSUM_TENSORS[change.new][-1]), "value")

    def draw(tensors, equation):
        first, first_shape, second, second_shape, _ = EINSUM_TENSORS[tensors]
        title = f'einsum("{views.cut(equation, LONGEST_EINSUM)}", {first}, {second})'
        try:
            operands, result, sizes = read_einsum(equation, [first_shape, second_shape])
        except ValueError as problem:
            lines = [(0, line) for line in textwrap.wrap(str(problem), 75)]
            return views.code_lines(f"{title} cannot be read", lines, False)
        shape, summed = tuple(sizes[letter] for letter in result), [letter for letter in sizes if letter not in result]
        loops = [f"for {letter} in range({sizes[letter]}):" for letter in [*result, *summed]]
        lines = [(0, "result = 0, of the shape below"), *enumerate(loops)]
        place = f"result[{', '.join(result)}]" if result else "result"
        factors = [f"{name}[{', '.join(axes)}]" for name, axes in zip((first, second), operands)]
        lines.append((len(loops), f"{place} {'+=' if summed else '='} {' * '.join(factors)}"))
        lines.append((0, ""))
        lines.append((0, f"result: shape {shape}" if result else "result: a single number"))
        lines.append((0, f"summed over: {', '.join(summed) or 'nothing'}"))
        lines.append((0, f"multiplications: {math.prod(sizes.values()):,}"))
        return views.code_lines(title, lines, True)

    return explorer(draw, tensors=tensors, equation=typed)


def head_gallery(words, weights, first):
    """Pick a head and a word, and see how much it attends to each word; weights (h, n, n)."""
    numbered = [(word, number) for number, word in enumerate(words)]
    heads = menu("head", list(range(len(weights))))
    word = menu("word", numbered, words.index(first))

    def draw(head, chosen):
        view = views.word_links(words, weights[head], chosen)
        return views.View(view.svg, f"Head {head}: {view.description}")

    return explorer(draw, head=heads, chosen=word)


# 04 masking


def mask_presets(n, padded):
    """{name: mask (n, n)} for a sentence of n positions, the last `padded` of them padding."""
    pairs, causal = torch.ones(n, n, dtype=torch.bool), masks.causal_mask(n)
    padding = masks.padding_mask_from_lengths(torch.tensor([n - padded]), n)[0, 0].expand(n, n)
    return {
        "none": pairs,
        "padding": padding,
        "causal": causal,
        "causal and padding": causal & padding,
        "window, one word to each side": pairs.triu(-1).tril(1),
    }


def paint_mask(words, Q, K, V, padded=0):
    """Paint a mask (n, n), a box for each pair, and see scores, weights and outputs.

    Q and K (n, e), V (n, v); `padded`: how many positions at the end are padding.
    """
    n, scores = len(words), Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    presets = mask_presets(n, padded)
    preset = menu("start from", list(presets), "padding")
    boxes = {
        f"box_{i}_{j}": widgets.Checkbox(
            value=bool(allowed), description=words[j], indent=False, layout=widgets.Layout(width="96px")
        )
        for (i, j), allowed in np.ndenumerate(presets["padding"].numpy())
    }

    def draw(preset, **painted):
        mask = torch.tensor(list(painted.values())).view(n, n)
        outputs, weights = scaled_dot_product_attention(Q, K, V, mask)
        return views.masked_attention(words, mask, scores, weights, outputs)

    rows = [
        widgets.HBox([widgets.Label(f"{word} may attend to", layout=widgets.Layout(width="170px")), *line])
        for word, line in zip(words, np.array(list(boxes.values()), dtype=object).reshape(n, n).tolist())
    ]
    shown = Explorer(draw, {"preset": preset, **boxes}, [preset, *rows])

    def fill(_change):
        with shown.screen.hold_sync():  # one picture for all boxes
            for box, allowed in zip(boxes.values(), presets[preset.value].flatten().tolist()):
                box.value = allowed

    preset.observe(fill, "value")
    return shown


def masked_influence(words, X, layers, padded=0):
    """Change one word's vector and see which outputs move; layers, called with X (n, d) and a mask, are stacked."""
    presets = mask_presets(len(words), padded)

    def run(X, mask, depth):
        with torch.no_grad():
            for layer in layers[:depth]:
                X = X + layer(X, mask=mask)[0]
        return X

    def draw(chosen, change, mask, depth):
        changed = X.clone()
        changed[chosen] += change
        moved = run(changed, presets[mask], depth) - run(X, presets[mask], depth)
        title = f"mask: {mask} · {depth} layer{'s' * (depth > 1)}"
        return views.moved_outputs(words, chosen, moved.norm(dim=-1), title)

    numbered = [(f"{number} {word}", number) for number, word in enumerate(words)]
    return explorer(
        draw,
        chosen=menu("change the vector of", numbered, 1),
        change=slider("by", 1.0, 0.0, 3.0, 0.25),
        mask=menu("mask", list(presets), "causal"),
        depth=slider("layers", 1, 1, len(layers)),
    )


# 05 RNN with attention


def bottleneck(examples, shares):
    """Move the length and see a sentence of it, with the translations of each model.

    examples: {length: (source, right, {model: written})}, words; shares: {length: {model: share right}}.
    """
    lengths = sorted(examples)

    def draw(length):
        return views.translations_by_length(length, *examples[length], shares[length])

    return explorer(draw, length=slider("words in the source", lengths[-4], lengths[0], lengths[-1]))


def decoding(examples):
    """Step through a translation; examples: (source, target, weights (q, k), gold links (target, source))."""
    titles = [(" ".join(source), number) for number, (source, *_) in enumerate(examples)]
    longest = max(len(target) for _, target, *_ in examples)

    def draw(sentence, step):
        source, target, weights, gold = examples[sentence]
        return views.decoding_step(source, target, weights, min(step, len(target)) - 1, gold)

    sentence = menu("sentence", titles, 0)
    sentence.layout.width = "620px"
    return explorer(draw, sentence=sentence, step=slider("word of the translation", 1, 1, longest))


DETERMINERS = {
    "the, one": ("the", False),
    "the, several": ("the", True),
    "a": ("a", False),
    "this": ("this", False),
    "these": ("this", True),
    "two": ("two", True),
    "three": ("three", True),
}


def sentence_builder(translate, language, nouns, adjectives, predicates, modifiers):
    """Build a sentence from menus: the grammar's translation and gold links, the model's translation and weights.

    translate(words) → (target words, weights (q, k)); predicates: {shown: (verb, object or None)};
    modifiers: {shown: a modifier of a noun phrase, or None}.
    """

    def draw(determiner, adjective, noun, modifier, predicate, negated):
        word, plural = DETERMINERS[determiner]
        subject = corpus.NounPhrase(noun, word, (adjective,) if adjective else (), plural, modifiers[modifier])
        pair = corpus.translate(corpus.Clause(subject, *predicates[predicate], negated), language)
        target, weights = translate(pair.source)
        gold = pair.alignment if tuple(target) == pair.target else ()
        facts = [f"grammar: {' '.join(pair.target)}", f"model: {' '.join(target)} {'✔' if gold else '✘'}"]
        return views.translation_weights(pair.source, target, weights, gold, facts)

    return explorer(
        draw,
        determiner=menu("determiner", list(DETERMINERS)),
        adjective=menu("adjective", [("none", None), *((word, word) for word in adjectives)], adjectives[0]),
        noun=menu("noun", list(nouns)),
        modifier=menu("and", list(modifiers)),
        predicate=menu("what happened", list(predicates)),
        negated=widgets.Checkbox(value=False, description="did not", indent=False),
    )


# 06 the transformer encoder


def position_waves():
    """Sinusoidal positions: choose d_model, a position and a shift, and see both rows, how far each pair of columns
    turns, and the dot product with every position."""

    def draw(d_model, position, shift):
        return views.position_waves(sinusoidal_positions(36, d_model), position, shift)

    return explorer(
        draw,
        d_model=slider("d_model", 16, 4, 32, 2),
        position=slider("position p", 4, 0, 23),
        shift=slider("shift s", 1, 0, 12),
    )


def block_stepper(words, x, block):
    """Walk x (n, d) through an `EncoderBlock` station by station, in pre- or post-norm order, with the residual
    connections or without: what goes in, what comes out, and how long its rows are."""
    sublayers = {
        "attention": lambda x: block.attention(x)[0],
        "feed-forward": block.feed_forward,
        "norm 1": block.norm_1,
        "norm 2": block.norm_2,
    }
    orders = {
        "pre": (("x", None), ("norm 1", None), ("attention", None), ("+", 0), ("norm 2", None), ("feed-forward", None))
        + (("+", 3),),
        "post": (("x", None), ("attention", None), ("+", 0), ("norm 1", None), ("feed-forward", None), ("+", 3))
        + (("norm 2", None),),
    }

    @torch.no_grad()
    def draw(norm, step, bypass):
        stations, outputs = orders[norm], [x]
        for name, source in stations[1:]:
            passing = outputs[source] if source is not None and bypass else 0
            outputs.append(outputs[-1] + passing if name == "+" else sublayers[name](outputs[-1]))
        name, source = stations[step]
        does = {
            "attention": "every word takes from the others: the only station where rows mix",
            "feed-forward": "each row by itself: to d_ff entries, relu, and back",
            "+": f"what {'came in at x' if source == 0 else 'went past'} is added" if bypass else "nothing is added",
        }.get(name, "each row gets mean 0 and deviation 1")
        note = f"{norm}-norm, step {step}, {name}: {does}"
        return views.block_step(words, stations, step, outputs[step - 1], outputs[step], note, bypass)

    return explorer(
        draw,
        norm=menu("norm", ["pre", "post"]),
        step=slider("step", 3, 1, 6),
        bypass=widgets.Checkbox(value=True, description="residual connections", indent=False),
    )


MOST_IN_A_PICTURE = 20  # words; more would be too small to read


def sentence_of_words(sentence, vocabulary):
    """The words of a typed sentence, or a ValueError in plain words: none, too many, special tokens, unknown ones."""
    given = sentence.lower().split()
    if not given:
        raise ValueError("Type at least one word.")
    if len(given) > MOST_IN_A_PICTURE:
        raise ValueError(f"{len(given)} words are too many for one picture: up to {MOST_IN_A_PICTURE}, please.")
    special = [token for token in vocabulary.words[:4] if token in given]
    if special:
        them = (
            "are special tokens, not words: leave them"
            if len(special) > 1
            else "is a special token, not a word: leave it"
        )
        raise ValueError(f"{' and '.join(special)} {them} out.")
    vocabulary.encode([views.cut(word, 30) for word in given], strict=True)
    return given


def head_browser(tagger, vocabulary, tags, sentence, word, layer, head):
    """Type a sentence, and see where each head of each layer looks, and which tag each word gets.

    tagger: called with token ids (1, n), returns logits (1, n, tags) and the weights (1, h, n, n) of each layer.
    `word` is a word of `sentence`, with layer (from 1) and head (from 0) what is shown first.
    """
    typed = widgets.Text(
        value=sentence, description="sentence", continuous_update=False, layout=widgets.Layout(width="700px")
    )
    words = menu("word", list(range(len(sentence.split()))))

    def offer(_change=None):
        given = typed.value.lower().split()[:MOST_IN_A_PICTURE]
        words.options = [(views.cut(word, 30), number) for number, word in enumerate(given)] or [("", 0)]

    def draw(sentence, chosen, layer, head):
        try:
            given = sentence_of_words(sentence, vocabulary)
        except ValueError as problem:
            lines = textwrap.wrap(str(problem), 95)
            return views.verdict("This sentence cannot be read", False, lines + [""] * (8 - len(lines)))
        with torch.no_grad():
            logits, weights = tagger(vocabulary.batch([given]))
        named = [tags[k] for k in logits[0].argmax(-1)]
        title = f"layer {layer}, head {head}"
        return views.tagged_links(given, weights[layer - 1][0, head], min(chosen or 0, len(given) - 1), named, title)

    offer()
    words.value = sentence.split().index(word)
    typed.observe(offer, "value")
    _, first = tagger(vocabulary.batch([sentence]))
    return explorer(
        draw,
        sentence=typed,
        chosen=words,
        layer=menu("layer", list(range(1, len(first) + 1)), layer),
        head=menu("head", list(range(first[0].shape[1])), head),
    )
