"""Widgets in the hands of a learner: whatever is typed is drawn or answered in plain words, and quickly; a cell that
runs again takes its old widget away."""

import html
import json
import math
import re
import time
import xml.etree.ElementTree
from pathlib import Path
from types import SimpleNamespace

import course_widgets
import ipywidgets
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from utils import decoding, plots, probes, rnn, widgets
from utils.attention import MultiHeadAttention
from utils.beyond import MOTIFS, MotifReader, PatchTransformer, motif_sequences
from utils.decoder import LanguageModel, TokenEncoder, TransformerTranslator
from utils.transformer import Tagger
from utils.vocabulary import Vocabulary
from utils.widgets import (
    attention,
    beyond,
    controls,
    graphs,
    looking_back,
    recurrence,
    translation,
    writing,
)
from utils.widgets.heads import work_of_heads

WORDS = "king queen man woman ship boat ocean sea paris france rome italy".split()
NAMED = [f"w{'abcdefghij'[i % 10]}{'abcdefghij'[i // 10 % 10]}{'abcdefghij'[i // 100]}" for i in range(600)]
VECTORS = dict(zip(WORDS + NAMED, torch.randn(612, 20, generator=torch.Generator().manual_seed(0)).numpy()))
SENTENCE = "the tall witch near the golden castle arrived"
HOSTILE = [
    "",
    "   ",
    "\x00\x07\x1b[31m",
    "\ud800 lone \udfff",
    "\ufffe\uffff",
    "$$",
    "$\\frac{1}{0}$ \\ % _ ^",
    "x" * 5000,
    "king " * 400,
    " ".join(NAMED),
    "the " * 65,
    "👩‍👩‍👧 🇮🇹 king",
    "\u202eملك שלום\u202c king queen man",
    "<script>alert(1)</script> &amp; ]]> <!-- \"'",
    "<pad> <s> </s> <unk>",
    "the tall </s> arrived",
    "\u00a0\u2028\u2029\u0085",
    "ab,bc->ac " * 40,
    ",".join("ab" * 30) + "->",
]


def word_map():
    return widgets.word_map(VECTORS, " ".join(WORDS)), "words"


def analogy():
    return course_widgets.analogy(widgets)[0], "question"


def sentence_attention():
    return course_widgets.sentence_attention(widgets)[0], "sentence"


def einsum_loops():
    return widgets.einsum_loops(), "equation"


def heads_at_work():
    return course_widgets.heads_at_work(widgets)[0], "sentence"


def head_browser():
    torch.manual_seed(0)
    vocabulary = Vocabulary(SENTENCE.split())
    tagger = Tagger(len(vocabulary), num_tags=3, d_model=8, num_heads=2, num_layers=2, d_ff=16).eval()
    return widgets.head_browser(
        tagger, vocabulary, ["A", "B", "C"], {"arrived"}, [SENTENCE], "arrived", 2, 1
    ), "sentence"


def search():
    return course_widgets.search(widgets)[0], "question"


def published_heads():
    return course_widgets.published_heads(widgets)[0], "sentence"


def chat():
    return course_widgets.chat(widgets)[0], "asked"


def next_word():
    return course_widgets.next_word(widgets)[0], "taken"


def translator():
    return course_widgets.translator(widgets)[0], "sentence"


def trap_bench():
    return course_widgets.trap_bench(widgets)[0], "template"


def induction():
    return course_widgets.induction(widgets)[0], "string"


def block_parts():
    return course_widgets.block_parts(widgets)[0], "digits"


TYPED = word_map, sentence_attention, analogy, einsum_loops, head_browser, search, published_heads, chat, next_word
TYPED += (heads_at_work, trap_bench, induction, block_parts)
TEXT_WIDGETS = {make.__name__: make() for make in (*TYPED, translator)}


def test_every_widget_with_a_text_field_is_in_this_file():
    sources = [path.read_text(encoding="utf-8") for path in Path(controls.__file__).parent.glob("*.py")]
    parts = [part for source in sources for part in source.split("\ndef ")[1:] if "-> Explorer:" in part]
    assert {part.split("(")[0] for part in parts if re.search(r"\btext\(", part.replace(".text(", ""))} == set(
        TEXT_WIDGETS
    )


def shown_after(name, text):
    """What the widget shows once `text` was typed: SVG that is XML, whose label is the description."""
    widget, field = TEXT_WIDGETS[name]
    widget.controls[field].value = text
    shown = widget.screen.value
    shown.encode("utf-8")
    assert 'role="alert"' not in shown, shown
    root = xml.etree.ElementTree.fromstring(shown)
    said = root.attrib["aria-label"]
    assert " ".join(said.split()) and "[[" not in said and "(1, " not in said
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text") if element.text]
    assert all(len(word) < 120 for word in words), "a line runs out of the picture"
    return said


@pytest.mark.parametrize("name", TEXT_WIDGETS)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_drawn_or_answered(name, text):
    began = time.process_time()
    shown_after(name, text)
    assert time.process_time() - began < 2, "seconds; 0.2 on the machine of the course"


typed = st.text(st.characters(exclude_categories=())) | st.lists(
    st.sampled_from([*WORDS[:4], *SENTENCE.split(), *HOSTILE[:8], "<pad>", "hqe,hke->hqk", "->", ","])
).map(" ".join)


@pytest.mark.parametrize("name", TEXT_WIDGETS)
@given(text=typed)
@settings(deadline=None, max_examples=150)
@example(text="the\x00tall")
def test_any_text_is_drawn_or_answered(name, text):
    shown_after(name, text)


def test_messages_are_plain_words():
    assert "Type at least one word." in shown_after("head_browser", " ")
    said = shown_after("head_browser", "the " * 65)
    assert "65 words are too many for one picture: up to 20, please." in said
    said = shown_after("head_browser", "the tall <s> </s> arrived <s>")
    assert "<s> and </s> are special tokens, not words: leave them out." in said
    assert "<unk> is a special token, not a word: leave it out." in shown_after("head_browser", "the <unk> witch")
    assert "'wtich' is not among the 7 words of this vocabulary; near it: witch" in shown_after("head_browser", "wtich")
    said = shown_after("word_map", " ".join(NAMED))
    assert said.startswith("Word map") and "600 words are too many for one map: the first 100 are shown." in said
    said = shown_after("word_map", "king queen man " + " ".join(f"zz{i}" for i in range(50)))
    assert "not among the vectors: zz0, zz1" in said and "and 45 more" in said
    assert "longer than 40 characters" in shown_after("einsum_loops", "a" * 41)


def whole_transformer(make=widgets.whole_transformer, **changes):
    """A small translator that was not trained, and the arguments of a widget, some of them changed."""
    torch.manual_seed(0)
    sizes = dict(d_model=8, num_heads=2, d_ff=16, num_layers=1)
    english, spanish = Vocabulary(SENTENCE.split()), Vocabulary("la bruja alta".split())
    encoder, writer = TokenEncoder(len(english), **sizes), LanguageModel(len(spanish), **sizes, cross=True)
    given = {"translator": TransformerTranslator(encoder, writer), "sentences": [SENTENCE.split()]}
    return make(**given | {"english": english, "spanish": spanish} | changes)


@pytest.mark.parametrize(
    "changes, problem",
    [
        (
            {"translator": LanguageModel(8, d_model=8, num_heads=2, num_layers=1, d_ff=16)},
            "a LanguageModel lacks .* give a TransformerTranslator",
        ),
        (
            {"english": Vocabulary(["a", "b"])},
            "the vocabularies have 6 and 7 words, the translator's 11 and 7: first the",
        ),
        ({"sentences": SENTENCE}, "sentences 'the tall .*' must be a list of sentences, each a list of words"),
        (
            {"sentences": [SENTENCE]},
            r"sentences \['the tall .*'\] must be a list of sentences, each a list of words",
        ),
        ({"sentences": []}, r"sentences \[\] must be a list of sentences"),
        ({"sentences": [["the"], []]}, r"the sentence \[\] has 0 words; give 1 to 19"),
        ({"sentences": [["the"] * 20]}, r"the sentence .* has 20 words; give 1 to 19"),
        ({"sentences": [["the", "wtich"]]}, "'wtich' is not among the 7 words of this vocabulary; near it: witch"),
    ],
)
def test_a_transformer_that_cannot_be_shown_is_refused(changes, problem):
    with pytest.raises(ValueError, match=problem):
        whole_transformer(**changes)


def test_a_sentence_that_does_not_end_is_shown_as_far_as_there_is_room():
    explorer = whole_transformer()
    explorer.controls["step"].value = explorer.controls["step"].max
    assert explorer.controls["step"].max <= 20 and "it reads" in explorer.draw(**explorer.state).description


@pytest.mark.parametrize(
    "given, problem",
    [
        ((["la"], 2, 4, 16), r"words \['la'\] must be a list of 2 to 12 tokens"),
        ((["la"] * 13, 2, 4, 16), "must be a list of 2 to 12 tokens"),
        (("la bruja", 2, 4, 16), r'words must be a list of texts, not one: write \["la bruja"\]'),
        ((["la", "bruja"], 0, 4, 16), "num_layers 0 and num_heads 4 and d_head 16 must be at least 1"),
        ((["la", "bruja"], 2, 4.0, 16), "num_heads 4.0 and d_head 16 must be whole numbers"),
    ],
)
def test_a_cache_that_cannot_be_shown_is_refused(given, problem):
    with pytest.raises(ValueError, match=problem):
        widgets.filling_cache(*given)


def test_what_the_heads_find_is_what_the_layer_gives():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(d_model=12, num_heads=3).double(), torch.randn(4, 12).double()
    work, (output, weights) = work_of_heads(x, layer), layer(x)
    assert np.allclose(work.output, output.detach()) and np.allclose(work.weights, weights.detach())
    assert np.allclose(work.queries, layer.W_q(x).detach())
    for rows, wrong in ((x, layer), (x[:3], MultiHeadAttention(d_model=12, num_heads=6).double())):
        with pytest.raises(ValueError, match="give a row for each word and one for the end"):
            widgets.heads_at_work(lambda words, rows=rows: rows, wrong, ["a", "b"], "a b", "a")


def test_a_translation_is_corrected_word_by_word():
    words, right = "la bruja vio a gato hoy".split(), "la bruja vio al gato".split()
    found = [(word, role) for word, role in translation.corrected(words, right) if role != "ink"]
    assert found == [("a", "wrong"), ("al", "right"), ("hoy", "wrong")]
    assert all(role == "ink" for _, role in translation.corrected(right, right))
    assert translation.corrected([], right) == [(word, "right") for word in right]


SMALL = dict(d_embedding=4, d_hidden=4)


@pytest.mark.parametrize(
    "source, problem",
    [
        (["the"] * 14, "has 14 words; give 1 to 13"),
        ([], "has 0 words"),
        (["wtich"], "near it: w"),
        ("the witch", r'^source must be a list of texts, not one: write \["the witch"\], or "the witch"\.split\(\)'),
    ],
)
def test_a_sentence_that_crosses_no_bridge_is_refused(source, problem):
    model = rnn.RecurrentTranslator(rnn.RecurrentEncoder(11, **SMALL), rnn.RecurrentDecoder(7, **SMALL))
    vocabularies = Vocabulary(SENTENCE.split()), Vocabulary("la bruja alta".split())
    with pytest.raises(ValueError, match=problem):
        widgets.bridge({"one": model}, [(source, ["la"])], *vocabularies)


def test_without_attention_there_is_one_picture_a_word():
    model = rnn.RecurrentTranslator(rnn.RecurrentEncoder(11, **SMALL), rnn.RecurrentDecoder(7, **SMALL)).eval()
    vocabularies = Vocabulary(SENTENCE.split()), Vocabulary("la bruja alta".split())
    explorer = widgets.bridge({"one": model}, [(["the", "witch"], ["la", "bruja"])], *vocabularies)
    seen = looking_back.passage(model, ["the", "witch"], ["la", "bruja"], *vocabularies)
    assert list(explorer.controls) == ["sentence", "step"] and explorer.controls["step"].max == 2 + len(seen.writes)


def test_a_crossing_of_one_decoder_is_a_picture_a_word():
    model = rnn.RecurrentTranslator(rnn.RecurrentEncoder(11, **SMALL), rnn.RecurrentDecoder(7, **SMALL)).eval()
    vocabularies = Vocabulary(SENTENCE.split()), Vocabulary("la bruja alta".split())
    explorer = widgets.crossing({"one": model}, [(["the", "witch"], ["la", "bruja"])], *vocabularies)
    seen = looking_back.passage(model, ["the", "witch"], ["la", "bruja"], *vocabularies)
    assert list(explorer.controls) == ["sentence", "step"] and explorer.controls["step"].max == len(seen.writes)


def test_layers_are_cut_one_at_a_time_and_the_model_stays_as_it_was():
    torch.manual_seed(0)
    sizes = dict(d_model=8, num_heads=2, d_ff=16, num_layers=2)
    model = TransformerTranslator(TokenEncoder(11, **sizes), LanguageModel(7, **sizes, cross=True)).eval()
    given = torch.tensor([[4, 5, 2]]), torch.ones(1, 1, 1, 3, dtype=torch.bool), torch.tensor([[1, 4, 5]])
    other = torch.tensor([[6, 7, 2]]), *given[1:]
    with torch.no_grad():
        before = model(*given)[0]
        deaf, alone = (probes.silenced(model, "decoder", off) for off in ("cross_attention", "attention"))
        assert torch.equal(deaf(*given)[0], deaf(*other)[0]) and not torch.equal(before, model(*other)[0])
        swapped = torch.tensor([[1, 5, 5]])
        assert torch.equal(alone(*given)[0][:, -1], alone(*given[:2], swapped)[0][:, -1]), "what was said is not known"
        assert not torch.equal(before[:, -1], model(*given[:2], swapped)[0][:, -1])
        assert torch.equal(before, model(*given)[0])


def test_a_sentence_too_long_for_three_cuts_is_refused():
    with pytest.raises(ValueError, match="a sentence has 10 words; there is room for 9"):
        whole_transformer(make=widgets.three_cuts, sentences=[["the"] * 10])


def test_key_heads_are_those_that_share_the_heads_of_queries():
    for heads, choices in {1: [1], 3: [3, 1], 6: [6, 3, 1]}.items():
        menu = widgets.filling_cache(["a", "b"], 1, heads, 2).controls["kv_heads"]
        assert [number for _, number in menu.options] == choices


@pytest.mark.parametrize(
    "situations, logits, words, problem",
    [
        (["a"], torch.zeros(2, 3), list("xyz"), r"logits \(2, 3\) must be \(1, 3\)"),
        (["a", "b"], torch.zeros(2, 3), list("xy"), r"logits \(2, 3\) must be \(2, 2\)"),
        (["a"], torch.zeros(3), list("xyz"), "needs numbers with 2 axes, got shape"),
        (["a"], torch.tensor([[0.0, math.nan]]), list("xy"), "1 of 2 numbers are NaN or infinite"),
        ([], torch.zeros(0, 3), list("xyz"), "needs numbers with 2 axes"),
    ],
)
def test_logits_that_do_not_fit_are_refused(situations, logits, words, problem):
    with pytest.raises(ValueError, match=problem):
        widgets.sampling(situations, logits, words)


@pytest.mark.parametrize(
    "occurs, problem",
    [
        ([[True, False]], r"occurs \(1, 2\) of bool must be \(1, 3\) of bool"),
        ([[1, 0, 1]], r"occurs \(1, 3\) of int64 must be \(1, 3\) of bool"),
    ],
)
def test_what_occurs_has_to_fit_the_words(occurs, problem):
    with pytest.raises(ValueError, match=problem):
        widgets.sampling(["a"], [[0.0, 1.0, 2.0]], list("xyz"), occurs)


def test_others_that_never_occur_have_a_row_of_their_own():
    words, scores = [f"w{number}" for number in range(20)], [np.linspace(3, 0, 20)]
    occurs = np.arange(20) % 4 > 0  # w0, w4, … w16 never do: three of the first twelve, two of the others
    said = widgets.sampling(["a"], scores, words, [occurs]).screen.value
    for text in ("✘ w0", "w1", "✘ w4", "✘ w8", "6 others", "✘ 2 others", "✘ of them"):
        assert said.count(f">{text}<") == 1, text
    assert ">8 others<" not in said and ">w12<" not in said
    both = [widgets.sampling(["a"], scores, words, *more).first for more in ((), ([np.ones(20, bool)],))]
    assert all(">8 others<" in view.svg and ">✘ 8 others<" not in view.svg for view in both)
    assert "✘" not in both[0].svg and "never" not in both[0].description


def test_a_click_on_a_word_sets_the_smallest_top_k_that_keeps_it():
    explorer = widgets.sampling(["a"], [np.linspace(3, 0, 20)], [f"w{number}" for number in range(20)])
    for number in range(12):
        set_by = re.findall(rf'data-set="([^"]*)" data-name="w{number}: top-k (\d+)"', explorer.screen.value)
        asked = json.loads(html.unescape(set_by[0][0]))
        assert asked == {"top_k": int(set_by[0][1])}
        explorer.touch(asked)
        stages = writing.sampling_stages(torch.linspace(3, 0, 20), 0.5, explorer.state["top_k"], 1.0)
        kept = (stages[-1] > 0).sum()
        fewer = [count for count in writing.TOP_K if count < kept]
        assert kept > number and (not fewer or fewer[-1] <= number)
        again = re.findall(rf'data-set="([^"]*)" data-name="w{number}: top-k all"', explorer.screen.value)
        explorer.touch(json.loads(html.unescape(again[0])))
        assert explorer.state["top_k"] == 0


def test_a_small_vocabulary_is_shown_whole():
    explorer = widgets.sampling(["a"], [[1.0, 0.0]], ["yes", "no"])
    assert "others" not in explorer.screen.value and "1 of 2 words: yes 100.0%" not in explorer.first.description


def test_bars_of_words_are_seen_and_a_stage_that_changes_nothing_has_none():
    """Of two hundred words none has more than a few per cent: the most probable one fills its column all the same."""
    explorer = widgets.sampling(["a"], [np.linspace(0, 2, 200)], [f"w{number}" for number in range(200)])
    for temperature, columns in ((1.0, 1), (0.5, 2)):
        explorer.controls["temperature"].value = temperature
        root = xml.etree.ElementTree.fromstring(explorer.screen.value)
        bars = [float(one.get("width")) for one in root.iter() if one.get("fill") == "var(--data)"]
        assert len(bars) == 13 * columns and max(bars) == 63, "twelve words and the others"


def test_what_is_shown_is_what_sampling_draws_from():
    """A thousand draws of `utils.decoding.sampling` are words that the picture keeps, as often as it says."""
    logits = 2 * torch.randn(1, 30, generator=torch.Generator().manual_seed(0))
    for setting in ({"temperature": 0.7, "top_k": 5, "top_p": 0.9}, {"temperature": 2.0, "top_k": None, "top_p": 0.6}):
        choose = decoding.sampling(torch.Generator().manual_seed(1), **setting)
        drawn = choose(logits.expand(1000, -1)).bincount(minlength=30) / 1000
        shown = writing.sampling_stages(logits[0], **setting)[-1]
        assert not drawn[shown == 0].any() and (drawn - shown).abs().max() < 0.05


@pytest.mark.lane("test")
def test_more_words_do_not_make_a_map_slower():
    widget, _ = TEXT_WIDGETS["word_map"]
    took = {}
    for number in (100, 600, 100, 600):
        widget.controls["words"].value = " ".join(NAMED[:number])
        began = time.process_time()
        widget.redraw()
        took[number] = time.process_time() - began
    assert took[600] < 3 * took[100]


@pytest.mark.parametrize("text", ["$$", "$x$ and $y", "\\$", "$\\frac{1}{0}$"])
def test_dollars_in_a_figure_are_letters(text):
    figures = [
        plots.heat_map(np.eye(2), [text, "b"], [text, "b"], text, axis=text),
        plots.lines(["a", text], {text: [1, 2]}, text, text, text),
        plots.word_map(np.eye(3)[:, :2], [text, "b", "c"], text),
        plots.mask_pictures({text: np.eye(2)}, [text, "b"]),
        plots.images({text: np.eye(2)}, text),
        plots.bars({text: 1, "b": -0.5}, text),
        plots.photographs({text: np.full((2, 2, 3), 0.5)}),
        plots.offsets({text: np.eye(4)}, text),
    ]
    for figure in figures:
        said = "".join(xml.etree.ElementTree.fromstring(figure.svg()).itertext())
        assert text in said


def test_a_learners_own_figures_keep_their_style():
    import matplotlib

    assert matplotlib.rcParams["text.parse_math"] and matplotlib.rcParams["font.size"] == 10


# What plays by itself


def test_a_slider_that_steps_can_play_by_itself():
    explorer = widgets.filling_cache(["a", "b", "c"], 1, 2, 2)
    player, slider = explorer.player, explorer.controls["step"]
    row = next(row for row in explorer.box.children if slider in getattr(row, "children", ()))
    assert row.children[row.children.index(slider) + 1] is player
    assert (player.min, player.max, player.step, player.value) == (1, 3, 1, 1)
    player.value = 2
    assert slider.value == 2 and "step 2 reads b" in explorer.screen.value
    assert player.interval == 700 + 20 * len(explorer.draw(**explorer.state).description)
    slider.value = 1
    assert player.value == 1, "it goes on from where the slider is"
    assert player not in explorer.controls.values() and "player" not in explorer.state


def test_which_slider_plays_is_said_where_it_is_not_the_first():
    assert widgets.position_waves().plays == "shift" and widgets.attention_shapes().plays == "n_queries"
    assert widgets.softmax_sharing(["a", "b"], [0, 1], 0).player is None, "a menu has no player, only its film has"


def test_all_pictures_of_a_film_are_shown_in_ninety_seconds():
    slider = controls.slider("angle", 40, 0, 360, 5)  # 73 values
    assert controls.pause("x" * 10, slider) == 700 + 200 and controls.pause("x" * 1000, slider) == round(90_000 / 73)


def test_curves_are_drawn_as_far_as_one_has_looked_and_their_names_choose_them():
    rates = {"Elman": 0.5, "GRU": 0.6, "Elman, U × 3": 1.08}
    reach = {name: [rate**k for k in range(31)] for name, rate in rates.items()}
    states = {name: np.zeros((31, 4)) for name in rates}
    for back in (0, 3, 30):
        root = xml.etree.ElementTree.fromstring(recurrence.draw_fading("GRU", back, reach, states).svg)
        curves = [one.get("points").split() for one in root.iter() if one.tag.endswith("polyline")]
        assert [len(points) for points in curves] == 3 * [back + 1]
        sets = [json.loads(one.get("data-set")) for one in root.iter() if one.get("data-set")]
        assert sets == [{"network": name} for name in rates]


# Cells that run again


class Kernel:
    """Stands for the kernel that runs a cell: get_ipython() answers with it."""

    def __init__(self):
        self.parent = {}

    def run(self, cell, make):
        """What `make` returns in a new run of the cell with this id (None: the front end tells no id)."""
        self.parent = {"header": {"msg_id": object()}, "metadata": {} if cell is None else {"cellId": cell}}
        return make()

    def get_parent(self):
        return self.parent


@pytest.fixture
def kernel(monkeypatch):
    kernel = Kernel()
    monkeypatch.setattr(controls, "get_ipython", lambda: kernel)
    return kernel


def models():
    """The ids of all live models."""
    kept = getattr(ipywidgets.widgets.widget, "_instances", None)  # of ipywidgets 8
    return set(ipywidgets.Widget.widgets if kept is None else kept)


def test_sixty_runs_of_a_cell_leave_one_widget(kernel):
    kernel.run("a", widgets.rotary_hands)
    other = kernel.run("b", widgets.two_arrows)
    before = len(models())
    for _ in range(60):
        last = kernel.run("a", widgets.rotary_hands)
    assert len(models()) == before
    last.controls["q"].value = 8
    other.controls["b_x"].value, other.controls["b_y"].value = -1, 3
    assert "dot product -3 + 3 = 0" in other.screen.value and last.box.comm and other.box.comm


def test_two_widgets_of_one_cell_go_together(kernel):
    before = models()
    for _ in range(3):
        pair = kernel.run("two", lambda: [widgets.two_arrows(), widgets.two_arrows()])
        assert all(widget.box.comm for widget in pair)
    kernel.run("two", lambda: None)
    gone = kernel.run("two", widgets.rotary_hands)
    own = len(models()) - len(before)
    kernel.run("two", widgets.rotary_hands)
    assert len(models()) - len(before) == own and gone.box.comm is None


def test_all_models_of_a_painted_mask_are_closed(kernel):
    before, (Q, K, V) = models(), torch.arange(15.0).view(3, 5, 1)
    for _ in range(2):
        kernel.run("mask", lambda: widgets.paint_mask(list("abcde"), Q, K, V, padded=2))
    kept = models() - before
    kernel.run("mask", widgets.rotary_hands)
    assert not kept & models()


def test_without_a_cell_id_nothing_is_closed(kernel, monkeypatch):
    first = kernel.run(None, widgets.rotary_hands)
    kernel.run(None, widgets.rotary_hands)
    for answer in (None, SimpleNamespace(), SimpleNamespace(get_parent=lambda: None)):
        monkeypatch.setattr(controls, "get_ipython", lambda answer=answer: answer)
        widgets.rotary_hands()
    assert first.box.comm


def test_a_description_is_text_that_can_be_sent():
    view = attention.draw_links(["a\x00", "\ud800b", "c"], np.full(3, 0.3), 0, True, {"x": ["\ud800"]}, "\x00")
    view.description.encode("utf-8")
    assert xml.etree.ElementTree.fromstring(view.svg) is not None and "\x00" not in view.description


# Where an output can lie


@pytest.mark.parametrize(
    ("words", "keys", "values", "problem"),
    [
        ("ab", np.eye(2), np.eye(2), "words must be a list of texts"),
        (["a", "b"], np.eye(2), np.eye(2), "2 words: from 3 to 6 have room here"),
        (list("abcdefg"), np.ones((7, 2)), np.ones((7, 2)), "7 words: from 3 to 6 have room here"),
        (list("abc"), np.eye(3), np.eye(3, 2), "keys (3, 3) must be (3, 2): two entries for each word"),
        (list("abc"), np.eye(3, 2), np.ones((3, 3)), "values (3, 3) must be (3, 2): two entries for each word"),
        (list("abc"), 5 * np.eye(3, 2), np.eye(3, 2), "keys and the first query must lie between -4 and 4"),
        (list("abc"), np.eye(3, 2), [[1, math.inf], [0, 1], [0, 0]], "1 of 6 numbers are NaN or infinite"),
        (list("abc"), np.eye(3, 2), [[0, 0], [1, 1], [3, 3]], "lie on one line: give them two dimensions"),
    ],
)
def test_keys_and_values_that_cannot_be_drawn_are_refused(words, keys, values, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        widgets.hull(words, keys, values)


@pytest.mark.parametrize(
    "words, keys, wanted, first, problem",
    [
        ("ab", np.eye(2), "a", (1, 0), "words must be a list of texts"),
        (["a"], np.eye(2), "a", (1, 0), "1 words with keys (2, 2): 2 to 5 words, and two entries for each"),
        (["a", "b"], np.eye(2), "c", (1, 0), "'c' is not one of the words ['a', 'b']"),
        (["a", "b"], 4 * np.eye(2), "a", (1, 0), "keys and the first query lie between -3 and 3, and no key is 0"),
        (["a", "b"], np.eye(2), "a", (1, 4), "keys and the first query lie between -3 and 3, and no key is 0"),
        (["a", "b"], [[1, 0], [0, 0]], "a", (1, 0), "keys and the first query lie between -3 and 3, and no key is 0"),
    ],
)
def test_keys_that_cannot_win_are_refused(words, keys, wanted, first, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        widgets.winning_key(words, keys, wanted, first)


def test_more_words_than_have_room_are_refused():
    with pytest.raises(ValueError, match="5 words: up to 4 have room here"):
        widgets.projections(list("abcde"), *4 * [torch.eye(5)], "a")


# Beyond text


def test_images_and_bases_that_do_not_fit_are_refused_in_plain_words():
    model, reader = PatchTransformer(), MotifReader()
    for images, digits in (((2, 8, 9), 2), ((2, 64), 2), ((8, 8), 8), ((2, 8, 8), 3)):
        with pytest.raises(ValueError, match=re.escape(f"images {images} and digits ({digits},) must be (b, 8, 8)")):
            widgets.patches(torch.zeros(images), torch.zeros(digits, dtype=torch.long), model)
    for bases in (torch.zeros(2, 119).long(), torch.zeros(120).long(), torch.zeros(2, 120), torch.zeros(2, 120, 4)):
        with pytest.raises(ValueError, match=r"must be \(b, 120\) whole numbers"):
            widgets.motifs(reader, bases)
    for lowest, highest in ((-1, 2), (0, 4)):
        with pytest.raises(
            ValueError, match=f"bases run from {lowest} to {highest}; they must be 0 to 3, for A, C, G, T"
        ):
            widgets.motifs(reader, torch.tensor([[lowest, highest] * 60]))


def test_loose_patches_glide_to_where_they_belong_and_the_next_bag_is_closed():
    explorer = widgets.loose_patches(torch.rand(2, 8, 8), torch.tensor([3, 8]))
    before, said = explorer.screen.value, explorer.first.description
    explorer.touch({"answer": 3})
    assert "✔ It is a 3." in explorer.screen.value and "○ Choose a digit." in said
    places = [
        re.findall(r'x="([^"]*)" y="([^"]*)"[^>]*data-id="patch 5"', svg) for svg in (before, explorer.screen.value)
    ]
    assert len(places[0]) == len(places[1]) == 1 and places[0] != places[1]
    explorer.touch({"image": 1})
    assert explorer.state == {"image": 1, "answer": -1} and "Bag 2 of 2" in explorer.screen.value
    with pytest.raises(ValueError, match=r"must be \(b, 8, 8\)"):
        widgets.loose_patches(torch.rand(2, 64), torch.tensor([3, 8]))


def test_a_cell_of_the_mask_is_a_road_in_both_directions():
    points = {"a": (40, 80), "b": (120, 80), "c": (200, 80)}
    explorer = widgets.graph(points, [(1, 0)], "a", "c")
    explorer.touch({"layers": 2, "road_1_2": True})
    share = graphs.spread(graphs.mask_of({(0, 1): True, (1, 2): True}, 3), 0, 2)
    assert share.tolist() == pytest.approx([5 / 12, 5 / 18, 1 / 6])
    assert "✔ Add one road" in explorer.screen.value
    with pytest.raises(ValueError, match=r"\['d'\] are no nodes"):
        widgets.graph(points, [(0, 1)], "a", "d")
    for road in ((1, 1), (0, 3), (-1, 0)):
        with pytest.raises(ValueError, match="they count from 0 to 2"):
            widgets.graph(points, [road], "a", "c")


def test_a_hidden_patch_asks_nothing_and_all_patches_ask_in_its_place():
    torch.manual_seed(0)
    explorer = widgets.patches(torch.rand(1, 8, 8), torch.tensor([7]), PatchTransformer())
    explorer.controls["asks"].value = 5
    assert "patch 5 looks at" in explorer.screen.value and "where patch 5 looks" in explorer.screen.value
    explorer.controls["hide"].value = "the middle"
    assert "12 of 16 patches shown" in explorer.screen.value and "all patches look at" in explorer.screen.value
    explorer.controls["hide"].value = "none"
    assert "16 of 16 patches shown" in explorer.screen.value and "patch 5 looks at" in explorer.screen.value


def test_arrangements_and_places_are_what_they_are_called():
    assert all(sorted(order) == list(range(16)) for order in beyond.ARRANGED.values())
    assert all(set(places) < set(range(16)) for places in beyond.HIDDEN.values())
    spans = [range(spot, spot + len(MOTIFS[name])) for name, spots in beyond.SPOTS.items() for spot in spots]
    taken = [base for span in spans for base in span]
    assert len(taken) == len(set(taken)) and max(taken) < beyond.LENGTH, "no two motifs overlap"
    assert all(span[0] // beyond.LINE == span[-1] // beyond.LINE for span in spans), "each lies in one line"


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=30)
def test_no_motif_is_left_in_a_background_and_the_rest_is_as_it_was(seed):
    bases, _, places = motif_sequences(1, torch.Generator().manual_seed(seed))
    left = beyond.without_motifs(bases[0])
    assert not re.search("TGA[CG]TCA|CACGTG|GGGCGG", "".join("ACGT"[base] for base in left))
    assert torch.equal(left, beyond.without_motifs(bases[0])), "the same every time"
    pattern = re.compile("TGA[CG]TCA|CACGTG|GGGCGG")
    inside = {i for found in pattern.finditer("".join("ACGT"[base] for base in bases[0])) for i in range(*found.span())}
    changed = set((left != bases[0]).nonzero()[:, 0].tolist())
    assert len(changed - inside) <= 7, "a motif that comes about by chance is cut, too"


@given(places=st.dictionaries(st.sampled_from(list(MOTIFS)), st.integers(0, 110)))
@settings(deadline=None, max_examples=30)
def test_windows_on_a_motif_hold_four_of_its_bases(places):
    for name, on in beyond.on_motif(places, 113, 8).items():
        bases = set(range(places[name], places[name] + len(MOTIFS[name])))
        assert on.tolist() == [len(bases & set(range(i, i + 8))) >= 4 for i in range(113)]
