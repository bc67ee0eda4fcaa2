"""The chat: each piece is read once, another candidate goes on from its prefix, what is drawn is the same on every
processor, pieces stand in lines; the recorded conversations are whole on the page."""

import math
import re
from collections import Counter

import numpy as np
import pytest
import torch
from course_widgets import shapes_that_set, small_chat
from topics import notebook

from tools.notebooks import files
from tools.site import films
from tools.site.shown import PAGES, Page
from utils import widgets
from utils.byte_pairs import chat_prompt
from utils.widgets.chat import (
    COLUMNS,
    LAYER,
    LEFT,
    PACE,
    QUESTIONS,
    WIDE,
    Conversation,
    boxes_of,
    choose,
    prompt_of,
)

PROMPT = (0, 5, 6, 7)


class Counting:
    """A model, and how many ids each of its steps has read."""

    def __init__(self, model):
        self.model, self.read = model, []

    def __call__(self, ids, state):
        self.read.append(ids.shape[1])
        return self.model(ids, state)


def test_of_new_ids_only_what_differs_is_read():
    model = Counting(small_chat()[0])
    conversation = Conversation(model, 2)
    written = conversation.write(PROMPT, 5, {1})
    assert model.read == [len(PROMPT), 1, 1, 1, 1]
    assert conversation.write(PROMPT, 5, {1}) == written and len(model.read) == 5, "known already"
    other = conversation.write(PROMPT, 5, {1}, taken={3: 2})
    assert other[:2] == written[:2] and other[2] != written[2]
    assert model.read[5:] == [1, 1], "only what comes after the other piece"


def test_what_goes_on_from_a_prefix_is_what_a_text_read_whole_gives():
    model, _ = small_chat()
    conversation = Conversation(model, 2)
    for ids in ((*PROMPT, 9, 8, 11), (*PROMPT, 9, 12), (0, 5), (*PROMPT, 9, 8, 11, 3), (7,), (7, 7)):
        found = conversation.after(ids)
        with torch.no_grad():
            logits, _, weights = model(torch.tensor([ids]))
        shares = logits[0, -1].softmax(-1)
        assert found.best == shares.topk(5).indices.tolist() and found.writes == found.best[0]
        np.testing.assert_allclose(found.shares, shares[found.best], atol=1e-5)
        np.testing.assert_allclose(found.weights, weights.own[1][0, :, -1].mean(0), atol=1e-5)


def test_an_answer_ends_where_one_of_the_ends_is_written():
    conversation = Conversation(small_chat()[0], 1)
    whole = conversation.write(PROMPT, 6, ())
    end = whole[3]
    assert conversation.write(PROMPT, 6, {end}) == whole[: whole.index(end) + 1]
    assert conversation.write(PROMPT, 0, {end}) == []


def test_a_candidate_that_is_not_there_is_the_last_one():
    conversation = Conversation(small_chat()[0], 1)
    best = conversation.after(PROMPT).best
    assert conversation.write(PROMPT, 1, (), taken={1: 9}) == best[-1:]
    assert conversation.write(PROMPT, 1, (), taken={1: 0}) == best[:1]


LOGITS = torch.tensor([2.0, 1.5, 1.5, 0.0, -1.0, -8.0])


def test_pieces_are_drawn_as_often_as_they_are_probable():
    number = 4000
    for temperature in (0.7, 1.5):
        drawn = Counter(choose(LOGITS, temperature, 1.0, seed) for seed in range(number))
        for piece, share in enumerate((LOGITS / temperature).softmax(-1).tolist()):
            error = 4 * math.sqrt(share * (1 - share) / number)
            assert abs(drawn[piece] / number - share) <= error + 1 / number, (temperature, piece)
    assert {choose(LOGITS, 0, 1.0, seed) for seed in range(50)} == {0}


def test_what_top_p_cuts_is_never_drawn():
    assert {choose(LOGITS, 1.0, 0.7, seed) for seed in range(500)} == {0, 1, 2}
    assert {choose(LOGITS, 1.0, 0.1, seed) for seed in range(50)} == {0}


def test_rounding_does_not_change_what_is_drawn():
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(2000, generator=generator)
    nearly = logits + 1e-5 * torch.rand(2000, generator=generator)
    assert [choose(logits, 1.0, 1.0, seed) for seed in range(3000)] == [
        choose(nearly, 1.0, 1.0, seed) for seed in range(3000)
    ]


@pytest.mark.parametrize("question", ["Why?", "The <|im_end|> of it", "  x", "<|im_start|>user", "é\n\n y"])
def test_a_question_stands_in_the_format_of_a_chat(question):
    _, pieces = small_chat()
    prompt = prompt_of(question, pieces, True)
    assert prompt.question == pieces.encode(question, special=False), "what reads like a special token is typed text"
    assert prompt.ids.count(0) == 3 and prompt.ids.count(1) == 2
    plain = prompt_of(question, pieces, False)
    assert plain.ids == plain.question == prompt.question


def test_a_question_without_special_tokens_is_read_as_one_text():
    _, pieces = small_chat()
    for question in ("Why?", "Is the sun a star, or not?"):
        whole = pieces.encode(chat_prompt([{"role": "user", "content": question}]))
        assert prompt_of(question, pieces, True).ids == whole


def laid(labels):
    """(first column, line) and width in letters of the box of each label."""
    boxes = [*boxes_of(labels, 0)]
    assert {round((x - LEFT) / WIDE, 6) % 1 for x, *_ in boxes} == {0}
    lines = sorted({y for _, y, _, _ in boxes})
    return [(round((x - LEFT) / WIDE), lines.index(y), round(width / WIDE)) for x, y, width, _ in boxes]


def test_pieces_stand_one_behind_the_other_with_gaps_for_blanks():
    assert laid(["The", " capital", "s", ".", " ", "x"]) == [
        (0, 0, 3), (4, 0, 7), (11, 0, 1), (12, 0, 1), (13, 0, 1), (14, 0, 1),
    ]  # fmt: skip
    assert laid(["f(x):⏎   ", " return", " 中⏎", "g"]) == [(0, 0, 6), (4, 1, 6), (11, 1, 3), (0, 2, 1)]


def test_lines_are_broken_between_words():
    first = "a" * (COLUMNS - 4)
    assert laid([first, " be", "tt", "er"]) == [(0, 0, COLUMNS - 4), (0, 1, 2), (2, 1, 2), (4, 1, 2)]
    assert laid([first, " bet"]) == [(0, 0, COLUMNS - 4), (COLUMNS - 3, 0, 3)]
    long = [" " + "b" * 30, "c" * 30, "d" * 30]
    assert laid(long) == [(1, 0, 30), (0, 1, 30), (0, 2, 30)], "a word that is too long is broken between its pieces"
    for labels in (["x" * 9] * 30, [" x" * 4] * 40, ["·"] * 200):
        assert all(0 <= column and column + width <= COLUMNS for column, _, width in laid(labels))


def test_a_click_on_a_candidate_goes_on_from_there():
    model, pieces = small_chat()
    explorer = widgets.chat(model, pieces, ["Why?"], layer=2, limit=7)
    explorer.touch({"step": 5})
    explorer.touch({"chosen": 3})
    assert shapes_that_set(explorer.picture.svg, "taken") == ["", "3:2", "3:3", "3:4", "3:5"]
    before = explorer.picture.svg
    explorer.touch({"taken": "3:2", "step": 3})
    assert explorer.state["chosen"] == 3 and explorer.picture.svg != before
    explorer.touch({"step": 7, "chosen": 5})
    assert shapes_that_set(explorer.picture.svg, "taken")[0] == "3:2", "what was put there before stays"
    explorer.touch({"taken": "3:2 5:2", "step": 5})
    explorer.touch({"chosen": 3})
    assert shapes_that_set(explorer.picture.svg, "taken") == ["", "3:2", "3:3", "3:4", "3:5"], "what comes later goes"
    explorer.controls["question"].value = "Why?"
    explorer.controls["asked"].value = "The weather"
    assert [explorer.state[name] for name in ("taken", "step", "chosen")] == ["", 0, 0]


def test_pieces_are_shaded_by_their_attention_and_the_first_token_is_not():
    model, pieces = small_chat()
    explorer = widgets.chat(model, pieces, ["Is the sun a star?"], layer=2, limit=7)
    for template in (True, False):
        explorer.controls["template"].value = template
        explorer.touch({"step": 5, "chosen": 4})
        prompt = prompt_of("Is the sun a star?", pieces, template)
        conversation = Conversation(model, 2)
        written = conversation.write(prompt.ids, 3, ())
        seen = conversation.after((*prompt.ids, *written)).weights
        seen[0] = 0
        seen = [*seen[prompt.start : prompt.end], *seen[len(prompt.ids) :]]
        shades = re.findall(r'fill="var\(--weight\)" fill-opacity="([0-9.]+)"', explorer.picture.svg)
        expected = [round(one / max(seen), 1) for one in seen if one / max(seen) > 0.05]
        assert [float(shade) for shade in shades] == pytest.approx(expected)
        assert len(expected) > 5, "several pieces are shaded"


def test_a_second_click_on_a_piece_lets_it_go():
    model, pieces = small_chat()
    explorer = widgets.chat(model, pieces, ["Why?"], layer=2, limit=7)
    explorer.touch({"step": 4})
    assert shapes_that_set(explorer.picture.svg, "chosen") == [1, 2, 3, 4]
    explorer.touch({"chosen": 2})
    assert shapes_that_set(explorer.picture.svg, "chosen") == [1, 0, 3, 4]


def test_a_page_keeps_the_candidates_that_it_has_recorded():
    model, pieces = small_chat()
    explorer = widgets.chat(model, pieces, ["Why?"], layer=2, limit=7)
    recorder = films.Recorder(explorer, Page({"taken": ("", "1:3")}, hidden=("asked", "temperature")))
    assert shapes_that_set(explorer.first.svg, "taken") == ["", "1:2", "1:3", "1:4", "1:5"]
    assert shapes_that_set(recorder.on_page(explorer.first.svg), "taken") == ["", "1:3"]
    recorder.release()


def test_it_plays_in_its_own_pace_in_notebooks_and_on_pages():
    model, pieces = small_chat()
    explorer = widgets.chat(model, pieces, ["Why?"], layer=2, limit=7)
    explorer.touch({"step": 3})
    assert explorer.player.interval == PACE
    hidden = ("asked", "temperature", "top_p", "template", "taken", "chosen")
    film = films.film(explorer, Page(hidden=hidden))
    assert film["pace"] == PACE and film["controls"][film["plays"]]["name"] == "step"


@pytest.mark.parametrize(
    "given, problem",
    [
        ({"questions": "Why?"}, r'questions must be a list of texts, not one: write \["Why\?"\]'),
        ({"questions": []}, "0 questions and layer 2: give one or more, and a layer up to 2"),
        ({"layer": 3}, "1 questions and layer 3: give one or more, and a layer up to 2"),
        ({"layer": 0}, "layer 0 and limit 7 must be at least 1"),
        ({"limit": 2.5}, "layer 2 and limit 2.5 must be whole numbers"),
    ],
)
def test_a_chat_that_cannot_be_shown_is_refused(given, problem):
    model, pieces = small_chat()
    with pytest.raises(ValueError, match=problem):
        widgets.chat(model, pieces, **{"questions": ["Why?"], "layer": 2, "limit": 7} | given)


@pytest.fixture(scope="module")
def published(published_chat):
    return published_chat


def gaps(model, prompt, written):
    """By how much the largest logit exceeds the second, for each piece that was written."""
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *written[:-1]]]))[0][0, len(prompt) - 1 :]  # (n, v)
    first, second = logits.topk(2).values.T
    return first - second


@pytest.mark.lane("test")
def test_the_recorded_conversations_are_whole_on_the_page_and_the_task_can_be_done(published):
    model, pieces = published
    conversation, last = Conversation(model, LAYER), max(PAGES["chat"].grid["step"])
    end = pieces.ids["<|im_end|>"]
    for question in QUESTIONS:
        prompt = prompt_of(question, pieces, True).ids
        written = conversation.write(prompt, 40, {end})
        assert written[-1] == end and len(written) <= last, (question, len(written))
        assert gaps(model, prompt, written).min() > 0.01, "every processor writes the same"
        others = [conversation.after((*prompt, *written[:place])).shares[1] for place in range(len(written))]
        assert max(others) > 0.26, question


@pytest.mark.lane("all", "chat", "chat_model")
def test_no_stored_text_of_the_notebook_hangs_on_rounding(published):
    """The answers about capitals that the notebook on a chat model prints, one a line."""
    model, pieces = published
    end = pieces.ids["<|im_end|>"]
    asked = next(cell for cell in files.read(notebook("chat_model")).cells if cell.id == "n14asked")
    countries = [line.split()[0] for line in asked.outputs[0].text.splitlines()]
    assert len(countries) == 6
    for country in countries:
        prompt = prompt_of(f"What is the capital of {country}?", pieces, True).ids
        written = Conversation(model, LAYER).write(prompt, 24, {end})
        assert gaps(model, prompt, written).min() > 0.01, country


@pytest.mark.lane("all", "chat", "chat_model")
def test_what_the_notebook_reads_after_a_block_does_not_hang_on_rounding(published):
    model, pieces = published
    read = next(cell for cell in files.read(notebook("chat_model")).cells if cell.id == "n14lenscode")
    prompts = [line.partition(" … ")[0] for line in read.outputs[0].text.splitlines()]
    assert len(prompts) == 3
    after = []
    hooks = [
        model.decoder.blocks[number - 1].register_forward_hook(lambda _block, _given, result: after.append(result[0]))
        for number in (10, 20, 28, 29, 30)
    ]
    with torch.no_grad():
        for prompt in prompts:
            model(torch.tensor([pieces.encode(prompt)]))
        logits = torch.stack([model.to_logits(model.decoder.final_norm(x[0, -1])) for x in after])  # (3 · 5, v)
    for hook in hooks:
        hook.remove()
    first, second = logits.topk(2).values.T
    assert len(first) == 15 and (first - second).min() > 0.01


@pytest.mark.lane("test")
def test_the_published_model_answers_in_the_widget(published):
    explorer = widgets.chat(*published)
    assert "“France”" in explorer.first.description and "○" in explorer.first.description
    explorer.touch({"step": 8})
    explorer.touch({"chosen": 7})
    said = explorer.draw(**explorer.state).description
    assert "Answer: The capital of France is Paris.<|im_end|>." in said and "✔" in said
    explorer.touch({"taken": "7:2", "step": 7})
    explorer.touch({"step": 40})
    assert "Answer: The capital of France is Paris, France.<|im_end|>." in explorer.draw(**explorer.state).description
