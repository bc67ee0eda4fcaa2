"""Guesses: the result is nowhere before the guess, and beside it afterwards; the first one is counted, once."""

import json
import re
import tomllib
from pathlib import Path

import nbformat
import pytest
from course_widgets import agree

from tools.site.record_widgets import record
from utils import records, widgets
from utils.cells import code
from utils.exercises import progress
from utils.exercises.teachers.classroom import report
from utils.widgets.guess import Question, questions

ROOT = Path(__file__).parents[2]
SHARES = {"-2": 0.8, "-1": 0.5, "0": 0.0, "1": 0.5, "2": 0.8}
CURVE = {6: 0.98, 24: 0.97, 96: 0.9, 384: 0.71, 1536: 0.4, 6144: 0.15}


def options():
    return widgets.guess("smallest_weight_by_squares", options=SHARES)


def number(measured=0.391):
    return widgets.guess("attention_to_padding", number=measured)


def curve():
    return widgets.guess("weight_in_a_longer_list", curve=CURVE)


def test_the_toml_file_is_used_whole_and_every_question_is_asked_once():
    asked = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in code(nbformat.read(path, as_version=4)):
            asked += re.findall(r'widgets\.guess\("(\w+)"', cell.source)
    assert sorted(asked) == sorted(questions())
    text = (ROOT / "utils" / "widgets" / "guesses.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text) == questions()


@pytest.mark.parametrize("make, results", [(options, ["✔", "0.8"]), (number, ["39"]), (curve, ["97%", "71%", "15%"])])
def test_before_the_guess_nothing_shows_the_result(make, results):
    shown = make()._repr_mimebundle_()
    said = " ".join(re.findall(r">([^<]*)<", shown["image/svg+xml"])) + shown["text/plain"]
    explained = [" ".join(one["explanation"].split()[-4:]) for one in questions().values()]
    assert "?" in said and not [one for one in [*results, "measured: ", *explained] if one in said]
    assert "level" not in shown["text/plain"] and "polygon" not in shown["image/svg+xml"]


def test_every_state_of_options():
    for state, _, said in record(options()):
        asked, chosen = questions()["smallest_weight_by_squares"], state["guess"]
        expected = f"{asked['question']} Guess: -2, -1, 0, 1, 2."
        if chosen is not None:
            name = list(SHARES)[chosen]
            verdict = "right" if name == "0" else "not right"
            expected = f"{asked['question']} You guessed {name}, which is {verdict}. Results: "
            expected += "; ".join(f"{k} {v}" for k, v in SHARES.items())
            expected += f". {asked['explanation'].format(measured='0')}"
        assert agree(said, expected), said


def test_every_state_of_a_number():
    asked, states = questions()["attention_to_padding"], 0
    for state, _, said in record(number()):
        states += 1
        expected = f"{asked['question']} Drag the mark, or choose a number."
        if state["guess"] is not None:
            expected = f"{asked['question']} You guessed {5 * state['guess']}%."
            if state["shown"]:
                expected += f" Measured: 39.1%. {asked['explanation'].format(measured='39.1%')}"
        assert agree(said, expected), said
    assert states == 44


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTENTION_COURSE", str(tmp_path))
    monkeypatch.delenv("ATTENTION_PROGRESS", raising=False)
    monkeypatch.delenv("ATTENTION_MARKED", raising=False)
    return tmp_path / records.FILE


def test_the_first_guess_is_kept_and_only_progress_counts_it(kept, capsys):
    explorer = number()
    explorer.controls["shown"].value = True
    assert not kept.exists(), "shown without a guess"
    explorer.controls["guess"].value = 2
    assert kept.exists(), "a guess that is shown at once"
    explorer.controls["shown"].value = False
    for guess in (2, 8):
        explorer.touch({"guess": guess})
        explorer.touch({"shown": True})
        explorer.touch({"shown": False})
    options().controls["guess"].value = 0
    drawn = curve()
    drawn.touch({"shown": True})
    assert "weight_in_a_longer_list" not in kept.read_text(), "an untouched curve is no guess"
    drawn.touch({"shown": False})
    drawn.touch({"level_5": 3})
    drawn.touch({"shown": True})
    guesses = json.loads(kept.read_text())["guesses"]
    assert {name: entry["guess"] for name, entry in guesses.items()} == {
        "attention_to_padding": 0.1,
        "smallest_weight_by_squares": "-2",
        "weight_in_a_longer_list": [1, 1, 1, 1, 0.15],
    }
    assert guesses["smallest_weight_by_squares"]["measured"] == "0"
    progress()
    assert f"You made 3 of the course's {len(questions())} guesses." in capsys.readouterr().out
    report([kept])
    assert "guess" not in capsys.readouterr().out


@pytest.mark.parametrize("name, value", [("ATTENTION_MARKED", "1"), ("ATTENTION_PROGRESS", "off")])
def test_marked_work_and_test_runs_keep_no_guess(kept, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    options().controls["guess"].value = 0
    assert not kept.exists() and not records._guesses


def test_a_guess_survives_tries_and_an_old_file(kept):
    kept.write_text(json.dumps({"version": 1, "exercises": {}, "guesses": "nonsense"}))
    options().controls["guess"].value = 0
    records.opened("softmax")
    found = json.loads(kept.read_text())
    assert list(found["guesses"]) == ["smallest_weight_by_squares"] and "softmax" in found["exercises"]


@pytest.mark.parametrize(
    "given, problem",
    [
        ({"name": "nobody_asks"}, "'nobody_asks' is not a question of guesses.toml: "),
        ({"name": "attention_to_padding"}, "0 results are given: give exactly one of options, number and curve"),
        ({"name": "attention_to_padding", "number": 1.5}, "1.5 is not between 0 and 1, the ends of the scale"),
        ({"name": "attention_to_padding", "number": float("nan")}, "nan is not between 0 and 1"),
        ({"name": "weight_in_a_longer_list", "curve": {1: 0.5}}, "the curve has 1 points; give 3 to 8"),
        ({"name": "weight_in_a_longer_list", "curve": {1: 0.5, 2: 0.5, 3: 2}}, "2.0 is not between 0 and 1"),
    ],
)
def test_results_that_cannot_be_shown_are_refused(given, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        widgets.guess(**given)


def test_a_number_lies_where_its_level_is():
    asked = Question("?", "{measured}", levels=(0, 10, 2))
    assert asked.scale == [0, 2, 4, 6, 8, 10] and asked.at(5) == 2.5 and asked.write(0.5) == "0.5"


def test_a_curve_may_run_over_names():
    explorer = widgets.guess("weight_in_a_longer_list", curve={"few": 1, "some": 0.5, "many": 0.25})
    assert "Your guess: some 100%; many 100%. Measured: few ?; some ?; many ?." in explorer.redraw().description
    assert "your guess at some" in explorer.redraw().svg
