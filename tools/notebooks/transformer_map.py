"""The map: the whole Transformer as one picture, at the head of every notebook, of every page, and of README.

It is drawn from a list of parts, each with the topic of the notebook that builds it; the numbers come from the names of
the notebooks' files. What a notebook builds is framed, what was built before it is solid, what is still to come is
dashed and has its number. The small pictures are what a trained model of data/checkpoints computes for one sentence.
`links.py` beside this file writes it into the notebooks' first cells and into docs/, the site draws it with links.

In a notebook it is an image whose data are in the text: so it shows offline, where the notebook is alone, and dark on
a dark page. JupyterLab shows no attachment that is an SVG. Colab shows no SVG in a text at all: there `import utils`
shows the one in docs/.
"""

import functools
import html
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from utils import corpus, translating
from utils.checkpoints import load_checkpoint
from utils.decoder import LanguageModel, TokenEncoder, TransformerTranslator
from utils.masks import padding_mask
from utils.style import image_html
from utils.transformer import sinusoidal_positions
from utils.widgets.canvas import Phone, View

SOURCE, TARGET = "the green witch arrived".split(), "llegó la bruja verde".split()
READS, WRITES, INSIDE = 4.0, 122.0, 244.0  # left edges of the encoder, of the decoder, of the attention opened up
WIDE, INNER = 112.0, 98.0  # widths of a part, and of one within a frame, which begins so far right of it:
INSET = 10.0
LEVELS = 6  # of a colour in the small pictures


class Part(NamedTuple):
    """A part of the Transformer: its name, the topic of the notebook that builds it, where it is, what is written
    on it, and which small picture it has."""

    name: str
    topic: str
    x: float
    y: float
    height: float
    lines: Sequence[str]
    picture: str = ""

    @property
    def width(self) -> float:
        return INNER if self.x in (READS + INSET, WRITES + INSET, INSIDE + 5) else WIDE


BLOCK = "transformer_encoder_block"
PARTS = (
    Part("the sentence to read", "start_here", READS, 458, 36, ("the green", "witch arrived")),
    Part("images and DNA in place of words", "beyond_text", READS, 500, 22, ("or image, DNA",)),
    Part("what is written so far", "start_here", WRITES, 458, 36, ("<s> llegó", "la bruja verde")),
    Part("vectors of words", "dot_product_similarity", READS, 424, 26, ("vectors",), "vectors"),
    Part("vectors of words", "dot_product_similarity", WRITES, 424, 26, ("vectors",), "written"),
    Part("positions", BLOCK, READS, 390, 26, ("+ position",), "waves"),
    Part("positions", BLOCK, WRITES, 390, 26, ("+ position",), "waves"),
    Part("self-attention", "self_attention", READS + INSET, 332, 38, ("self-", "attention"), "source"),
    Part("add and norm", BLOCK, READS + INSET, 306, 19, ("+  add, norm",)),
    Part("feed-forward layer", BLOCK, READS + INSET, 264, 34, ("feed-", "forward"), "each"),
    Part("add and norm", BLOCK, READS + INSET, 238, 19, ("+  add, norm",)),
    Part("a stack of blocks", "encoder_at_work", READS, 200, 20, ("× N  a stack",)),
    Part("the memory", "rnn_with_attention", READS, 164, 26, ("memory",), "memory"),
    Part("weights of a published model", "published_encoder", READS, 112, 36, ("weights of a", "known model")),
    Part("a chat model", "chat_model", WRITES, 24, 36, ("question in,", "answer out")),
    Part("causal self-attention", "masking", WRITES + INSET, 332, 38, ("causal", "self-att."), "own"),
    Part("add and norm in the decoder", "decoder", WRITES + INSET, 306, 19, ("+  add, norm",)),
    Part("cross-attention", "rnn_with_attention", WRITES + INSET, 260, 38, ("cross-", "attention"), "cross"),
    Part("add and norm in the decoder", "decoder", WRITES + INSET, 234, 19, ("+  add, norm",)),
    Part("the decoder's feed-forward layer", "decoder", WRITES + INSET, 192, 34, ("feed-", "forward"), "each"),
    Part("add and norm in the decoder", "decoder", WRITES + INSET, 166, 19, ("+  add, norm",)),
    Part("the output layer", "recurrent_networks", WRITES, 116, 26, ("next word",), "bars"),
    Part("writing word by word", "writing", WRITES, 68, 36, ("llegó la", "bruja verde </s>")),
    Part("query, key, value", "single_token_attention", INSIDE + 5, 378, 26, ("Q  K  V",), "projected"),
    Part("scores: dot products", "dot_product_similarity", INSIDE + 5, 334, 36, ("scores", "Q · Kᵀ"), "scores"),
    Part("the mask", "masking", INSIDE + 5, 290, 36, ("mask",), "triangle"),
    Part("÷ √d_k and softmax", "single_token_attention", INSIDE + 5, 246, 36, ("÷ √d_k,", "softmax"), "weights"),
    Part("weights times values", "single_token_attention", INSIDE + 5, 202, 36, ("weights", "times V"), "mixed"),
    Part("several heads and W_o", "multi_head_attention", INSIDE + 5, 158, 36, ("heads,", "W_o"), "heads"),
)
FRAMES = (  # of both blocks and of the attention: x, y, width, height, and whose notebooks are about the whole of it
    (READS, 232, WIDE, 144, ("encoder_at_work", "published_encoder")),
    (WRITES, 160, WIDE, 216, ("decoder",)),
    (INSIDE, 152, INNER + 10, 258, ()),
)
PAST = ((READS, 382, 315), (READS, 302, 247), (WRITES, 382, 315), (WRITES, 303, 243), (WRITES, 230, 175))
UP = "M60 458V450M60 424V416M60 390V370M60 332V325M60 306V298M60 264V257M60 238V220M60 200V190"
UP += "M178 458V450M178 424V416M178 390V370M178 332V325M178 306V298M178 260V253M178 234V226M178 192V185M178 166V142"
UP += "M178 116V104M298 378V370M298 334V326M298 290V282M298 246V238M298 202V194M116 177H124V279H131"
HEADS = ((178, 104, 0, -1), (60, 190, 0, -1), (132, 279, 1, 0))  # of arrows: x, y, and where they point


@functools.cache
def tables() -> dict[str, torch.Tensor]:
    """What the trained translator of data/checkpoints computes for the sentence, as tables of numbers from 0 to 1:
    {name of a small picture: (rows, columns)}; heads are (h, rows, columns)."""
    english, spanish = translating.vocabularies(corpus.splits("es", seed=0, train=1_000).train)  # all words are there
    sizes = dict(d_model=64, num_heads=4, d_ff=128, positions="sine", scaled=True)
    reader = TokenEncoder(len(english), num_layers=1, **sizes)
    writer = LanguageModel(len(spanish), num_layers=2, cross=True, tied=True, **sizes)
    model = load_checkpoint("translator_sine", TransformerTranslator(reader, writer))
    source, target = english.batch([SOURCE], end=True), spanish.batch([TARGET], start=True)
    attention, norm = reader.encoder.blocks[0].attention, reader.encoder.blocks[0].norm_1
    with torch.no_grad():
        logits, weights = model(source, padding_mask(source), target)
        x = reader.embedding(source)[0]  # (n, d)
        values = attention.W_v(norm(x)).unflatten(-1, (4, 16)).transpose(0, 1)  # (h, n, e)
        memory = reader(source, padding_mask(source))[0][0]
    heads = weights.source[0][0]  # (h, n, n)

    logs = heads[3].log()  # (n, n), the scores except for what softmax does not see

    def deep(table):
        return table.abs() / table.abs().max()

    return {
        "vectors": deep(reader.embedding.vectors(source)[0, :4, :6].detach()),
        "written": deep(writer.embedding.vectors(target)[0, :4, :6].detach()),
        "waves": (1 + sinusoidal_positions(4, 12)[:, :6]) / 2,
        "memory": deep(memory[:4, :6]),
        "source": heads[3],
        "own": weights.own[0][0].mean(0),
        "cross": weights.cross[1][0].mean(0),
        "scores": (logs - logs.min()) / (logs.max() - logs.min()),
        "triangle": torch.ones(5, 5).tril(),
        "weights": heads[3],
        "mixed": deep(heads[3] @ values[3])[:, :3],
        "heads": heads,
        "bars": logits[0, 0].softmax(-1).sort(descending=True).values[:4],
    }


HUES = {"triangle": "quiet", "scores": "ink", "mixed": "value", "source": "weight", "own": "weight", "cross": "weight"}
HUES |= {"weights": "weight", "heads": "weight"}


def draw_grid(canvas: Phone, table: torch.Tensor, x: float, y: float, size: int, role: str) -> None:
    """A table of numbers from 0 to 1 as cells: a dashed line for each row, and on it one path for each of the levels
    that a colour has, which takes few bytes."""
    cells, (rows, columns) = {}, table.shape
    for row, numbers in enumerate(table.tolist()):
        for column, share in enumerate(numbers):
            cells.setdefault(round(LEVELS * share), []).append(f"M{size * column} {size * row}h{size - 1}")
    cells[0] = [f"M0 {size * row}h{size * columns}" for row in range(rows)]
    canvas.shapes.append(f'<g transform="translate({x:g} {y + (size - 1) / 2:g})" stroke-width="{size - 1}">')
    for level, places in sorted(cells.items()):
        looks = {"stroke": role, "opacity": f"{level / LEVELS:.2f}"}
        looks = looks if level else {"stroke": "edge", "opacity": ".4", "stroke_dasharray": f"{size - 1} 1"}
        canvas.add("path", d="".join(places), **looks)
    canvas.shapes.append("</g>")


def draw_small(canvas: Phone, part: Part) -> None:
    """What happens in a part, at its right end."""
    right, middle = part.x + part.width - 5, part.y + part.height / 2
    table = tables().get(part.picture)
    if part.picture == "each":  # every word by itself
        path = "".join(f"M{right - 3 - 7 * number:g} {middle + 10:g}v-20" for number in range(5))
        canvas.add("path", d=path, stroke="quiet", stroke_width=3.5)
    elif part.picture == "bars":
        for number, share in enumerate(table.tolist()):
            canvas.rect(right - 30, middle - 9 + 5 * number, 30 * max(share, 0.03), 3.5, "quiet")
    elif part.picture == "projected":
        for number, role in enumerate(("query", "key", "value")):
            draw_grid(canvas, torch.full((4, 2), 0.9), right - 44 + 15 * number, middle - 9, 5, role)
    elif part.picture == "heads":
        for number, one in enumerate(table):
            corner = right - 31 + 16 * (number % 2), middle - 15 + 16 * (number // 2)
            draw_grid(canvas, one, *corner, 3, "weight")
    else:
        size = 6 if len(table) == 5 else 5
        corner = right - size * len(table[0]), middle - size * len(table) / 2
        draw_grid(canvas, table, *corner, size, HUES.get(part.picture, "data"))


EDGES = {
    "here": {"stroke": "here", "stroke_width": 3},
    "built": {"stroke": "quiet"},
    "later": {"stroke": "quiet", "stroke_dasharray": "4 3"},
}


def draw_part(canvas: Phone, part: Part, state: str, number: str) -> None:
    """A part that is built "here", was "built", or comes "later"; with the number of a notebook, or ""."""
    canvas.rect(part.x, part.y, part.width, part.height, "ground", rx=4, **EDGES[state])
    for row, line in enumerate(part.lines):
        y = part.y + part.height / 2 + 4 + 13 * (row - (len(part.lines) - 1) / 2)
        canvas.text(part.x + 6, y, line, 11, "start", "quiet" if state == "later" else "ink", state == "here")
    if part.picture and state != "later":
        draw_small(canvas, part)
    if number:
        canvas.rect(part.x + part.width - 15, part.y - 7, 19, 14, "here" if state == "built" else "quiet", rx=3)
        canvas.text(part.x + part.width - 5.5, part.y + 4, number, 11, fill="ground", bold=True)


def draw_frames(canvas: Phone, topic: str | None) -> None:
    """What is drawn behind the parts: both blocks, the attention opened up, and the ways from part to part."""
    for x, y, width, height, topics in FRAMES:
        edge = EDGES["here"] if topic in topics else {"stroke": "edge"}
        canvas.rect(x, y, width, height, "raised", rx=5, **edge)
    path = f"M{WRITES + INSET + INNER} 332L{INSIDE} 152M{WRITES + INSET + INNER} 370L{INSIDE} 410"
    canvas.add("path", d=path, fill="none", stroke="quiet", stroke_dasharray="2 4")
    past = "".join(f"M{x + 56:g} {low}H{x + 5:g}V{high}H{x + INSET:g}" for x, low, high in PAST)
    canvas.add("path", d=UP + past, fill="none", stroke="quiet", stroke_width=1.5)
    for x, y, dx, dy in HEADS:
        corners = (x, y), (x - 6 * dx - 4 * dy, y - 6 * dy + 4 * dx), (x - 6 * dx + 4 * dy, y - 6 * dy - 4 * dx)
        canvas.add("polygon", points=" ".join(f"{a},{b}" for a, b in corners), fill="quiet")
    for x, y, name in ((READS + 56, 540, "encoder: reads"), (WRITES + 56, 510, "decoder: writes")):
        canvas.text(x, y, name, 11.5, fill="quiet", bold=True)
    canvas.prose(INSIDE + 4, 426, "inside an attention", 11.5, width=352, fill="quiet", bold=True)
    canvas.text(WRITES + 4, 155, "× N", 11.5, "start", "quiet")


def states(topic: str | None, known: Sequence[str]) -> list[tuple[Part, str]]:
    """Every part that a notebook of the `known` topics builds, in their order, with "here", "built" or "later"."""
    order = {name: place for place, name in enumerate(known)}
    parts = [part for part in PARTS if part.topic in order]
    if topic is None:
        return [(part, "built") for part in parts]
    now = order[topic]
    names = ("later", "here", "built")
    return [(part, names[1 + (now > order[part.topic]) - (now < order[part.topic])]) for part in parts]


def described(found: Sequence[tuple[Part, str]], known: Mapping[str, str], topic: str | None) -> str:
    """The map in words."""
    listed = {"here": {}, "built": {}, "later": {}}
    for part, state in found:
        number = f" ({known[part.topic][:2]})" if state == "later" or topic is None else ""
        listed[state][f"{part.name}{number}"] = None
    here, built, later = ("; ".join(listed[state]) for state in ("here", "built", "later"))
    if topic is None:
        return f"Map of the Transformer, and in which notebook each part is built: {built}."
    said = f"Map of the Transformer. This notebook builds: {here}. Built before: {built}."
    return f"{said} Still to come, with the number of the notebook: {later}." if later else said


KEY = {"here": "built here", "built": "built before", "later": "to come"}


def draw_head(canvas: Phone, topic: str | None, here: Sequence[str]) -> None:
    """What the looks of a part mean, and the names of those that are built here; of the whole map what numbers mean."""
    if topic is None:
        canvas.prose(READS, 14, "One picture. The number: which notebook builds it", 12, 116, bold=True)
        return
    for row, (state, name) in enumerate(KEY.items()):
        canvas.rect(READS, 5 + 20 * row, 22, 13, "ground", rx=4, **EDGES[state])
        canvas.text(READS + 28, 16 + 20 * row, name, 11.5, "start", "here" if state == "here" else "quiet")
    y = 14.0
    for name in here:
        y = canvas.prose(INSIDE, y, name, 12, 348, fill="here", bold=True) + 3


def draw(topic: str | None, known: Mapping[str, str], linked: bool = False) -> View:
    """The map at the head of the notebook on this topic; the whole one for the first of them, and for None.

    known: {topic: the stem of its notebook}, in the order of the course. With `linked` every part is a link to the page
    of its notebook, and the picture is no image but a group of links; a notebook's first one can be reached by keys."""
    first = next(iter(known))
    topic = None if topic == first else topic
    canvas, found, reached = Phone(548), states(topic, list(known)), set()
    draw_frames(canvas, topic)
    draw_head(canvas, topic, list(dict.fromkeys(part.name for part, state in found if state == "here")))
    for part, state in found:
        stem = known[part.topic]
        shows = state == "later" or topic is None and part.topic != first
        if linked:
            name, again = html.escape(f"{part.name}: notebook {stem[:2]}"), ' tabindex="-1"' * (stem in reached)
            canvas.shapes.append(f'<a href="{stem}.html" aria-label="{name}"{again}>')
        draw_part(canvas, part, state, stem[:2] if shows else "")
        if linked:
            canvas.shapes.append("</a>")
        reached.add(stem)
    view = canvas.view(described(found, known, topic))
    return View(view.svg.replace('role="img"', 'role="group"', 1), view.description) if linked else view


IN_TEXT = re.compile(r'<img align="right"[^>]+>\n\n|\n\n<br clear="all">')
SHOWN = 390  # pixels: its width in a notebook


def without_map(source: str) -> str:
    """The text of a notebook's first cell without the map."""
    return IN_TEXT.sub("", source)


def with_map(source: str, topic: str, known: Mapping[str, str]) -> str:
    """The text of the first cell of the notebook on this topic with its map, to the right of what follows its title."""
    title, _, rest = without_map(source).partition("\n\n")
    view = draw(topic, known)
    image = image_html("image/svg+xml", view.svg.encode(), view.description)
    image = image.replace("<img ", f'<img align="right" width="{SHOWN}" ', 1)
    return f'{title}\n\n{image}\n\n{rest}\n\n<br clear="all">'


def files(known: Mapping[str, str]) -> dict[str, str]:
    """{name of a file in docs/: the whole map as SVG}, for light pages and for dark ones, as GitHub wants them."""
    whole, schemes = draw(None, known).svg + "\n", {"map.svg": "light", "map_dark.svg": "dark"}
    return {name: whole.replace("color-scheme:light dark", f"color-scheme:{one}") for name, one in schemes.items()}


def page_html(topic: str | None, known: Mapping[str, str]) -> str:
    """The map as a page of the site holds it, each part a link."""
    return f'<div class="transformer">{draw(topic, known, linked=True).svg}</div>'
