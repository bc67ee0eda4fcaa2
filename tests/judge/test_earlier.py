"""What a learner did in an earlier edition of the course stays listed and readable, counts no more, and breaks nothing.

The earlier edition is the course itself, the new one the same without an exercise, or with one that asks for something
else.
"""

import json
import re

import pytest
import torch
from learner import said, written

from utils import records
from utils.exercises import (
    catalogue,
    check,
    hint,
    my_answers,
    progress,
    solution,
    use,
)
from utils.exercises.learner import forms
from utils.exercises.teachers import grading
from utils.judge import exercise as engine
from utils.judge.run import sandbox

pytestmark = pytest.mark.lane("test", "kept_answers", "records", "progress", "forms", "test_earlier")
RIGHT, HEADING = "return weights @ values", "from an earlier edition of the course"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A course in a folder of its own, in which a learner tried two exercises, one of them until it came right."""
    monkeypatch.setenv("ATTENTION_COURSE", str(tmp_path))
    monkeypatch.delenv("ATTENTION_PROGRESS")
    monkeypatch.setattr(records, "_unwritten", [])
    monkeypatch.setattr(records, "_guesses", [])
    check(written("return 2 * weights @ values"))
    check(written(RIGHT))
    check(written("return a + b", "dot_product"))
    return tmp_path


def leave_out(monkeypatch, *names):
    """A course without some exercises, the others in their order."""
    rest = {name: found for name, found in catalogue().items() if name not in names}
    monkeypatch.setattr(engine, "_catalogue", rest)


@pytest.fixture
def gone(monkeypatch):
    """The new edition has neither of the two."""
    leave_out(monkeypatch, "weighted_sum", "dot_product")


@pytest.fixture
def changed(monkeypatch):
    """The new edition asks for a third argument."""
    leave_out(monkeypatch, "weighted_sum")

    @engine.exercise(draws=draws, hints=["Which weights count?"])
    def weighted_sum(weights, values, scale):
        return scale * (weights @ values)

    monkeypatch.setattr(records, "FORMS", forms.of(catalogue()))


def draws(generator):
    for size in (2, 3, 4):
        yield torch.rand(size, generator=generator), torch.rand(size, 2, generator=generator), 2.0 * size


def printed(capsys, function, *arguments):
    capsys.readouterr()
    function(*arguments)
    return capsys.readouterr().out


def below_the_heading(text):
    """The lines of the list below the heading."""
    lines = text.splitlines()
    below = lines[lines.index(HEADING) + 1 :]
    return [line.split() for line in below if line.startswith("  ")]


# ---- an exercise that is gone


def test_progress_lists_it_and_does_not_count_it(gone, capsys):
    solution(catalogue()["softmax"].reference)
    text = printed(capsys, progress)
    assert below_the_heading(text) == [
        ["✔", "weighted_sum", "2", "tries", "kept"],
        ["✘", "dot_product", "1", "try"],
    ]
    assert f"\n0 of {len(catalogue())} exercises came right.\n" in text
    assert "softmax" in text.partition(HEADING)[0]


def test_without_anything_earlier_there_is_no_heading(capsys):
    assert HEADING not in printed(capsys, progress) + printed(capsys, my_answers)


def test_a_solution_that_was_opened_and_a_kept_answer_without_progress_are_listed(folder, capsys, monkeypatch):
    solution(written("return ...", "softmax"))
    leave_out(monkeypatch, "weighted_sum", "softmax")
    assert ["○", "softmax", "solution", "opened"] in below_the_heading(printed(capsys, progress))
    (folder / "progress.json").unlink()
    assert below_the_heading(printed(capsys, progress)) == [["○", "weighted_sum", "kept"]]


def test_guesses_that_no_longer_exist_are_listed_and_not_counted(folder, capsys):
    records.guessed("attention_to_padding", 0.1, 0.3)
    records.guessed("of_an_earlier_edition", 0.1, 0.3)
    records.guessed("bad\x1b[31m", 0.1, 0.3)
    text = printed(capsys, progress)
    assert re.search(r"\nYou made 1 of the course's \d+ guesses\.\n", text) and "\x1b" not in text
    assert "\nGuesses from an earlier edition of the course: of_an_earlier_edition.\n" in text
    assert len(json.loads((folder / "progress.json").read_text())["guesses"]) == 3


def test_my_answers_lists_it_and_prints_its_code(gone, capsys):
    text = printed(capsys, my_answers)
    assert below_the_heading(text) == [["weighted_sum"]] and 'my_answers("weighted_sum") shows the code' in text
    assert RIGHT in printed(capsys, my_answers, "weighted_sum")
    with pytest.raises(ValueError, match="dot_product is no longer an exercise of the course. No answer to it is kept"):
        my_answers("dot_product")


def test_use_says_that_it_is_gone_and_where_the_answer_lies(gone, folder):
    where = r"in my_answers/weighted_sum\.py: my_answers\(\"weighted_sum\"\) prints it"
    for own in (True, False):
        with pytest.raises(ValueError, match=f"weighted_sum is no longer an exercise of the course.*{where}"):
            use("weighted_sum", own=own)
    with pytest.raises(ValueError, match="there is no exercise named 'weighted_summ'"):
        use("weighted_summ")
    (folder / "progress.json").write_text("{")
    with pytest.raises(ValueError, match="there is no exercise named 'dot_product'"):
        use("dot_product")


def test_an_old_notebook_goes_on(gone, folder, capsys):
    mine, before = written(RIGHT), (folder / "progress.json").read_text()
    for verb in (check, hint, solution, use):
        text = printed(capsys, verb, mine)
        assert text.startswith(f"✘ {verb.__name__}: weighted_sum is no longer an exercise of the course. Your answer")
        assert text.count("\n") == 1
    assert use(mine) is mine and (folder / "progress.json").read_text() == before


def test_marked_work_names_no_kept_answer(gone, capsys, monkeypatch):
    monkeypatch.setenv("ATTENTION_MARKED", "1")
    text = printed(capsys, check, written(RIGHT))
    assert text == "✘ check: weighted_sum is no longer an exercise of the course.\n"
    assert "my_answers" not in printed(capsys, progress)


def test_nothing_of_it_is_deleted(gone, folder, capsys):
    answer = (folder / "my_answers/weighted_sum.py").read_text()
    before = json.loads((folder / "progress.json").read_text())["exercises"]
    check(written("return scores.softmax(-1)", "softmax"))
    after = json.loads((folder / "progress.json").read_text())["exercises"]
    assert after.pop("softmax")["status"] == "right" and after == before
    assert (folder / "my_answers/weighted_sum.py").read_text() == answer


# ---- an exercise that asks for something else


def test_an_answer_to_the_old_form_gives_way_and_stays(changed, folder, capsys):
    before = (folder / "my_answers/weighted_sum.py").read_text()
    capsys.readouterr()
    assert use("weighted_sum") is catalogue()["weighted_sum"].reference
    text = capsys.readouterr().out
    assert text.startswith(
        "weighted_sum: the course's function, for your own in my_answers/weighted_sum.py is not right"
    )
    assert text.count("\n") == 1 and (folder / "my_answers/weighted_sum.py").read_text() == before
    assert RIGHT in printed(capsys, my_answers, "weighted_sum")


def test_an_answer_to_the_new_form_does_not_replace_it(changed, folder, capsys):
    before = (folder / "my_answers/weighted_sum.py").read_text()
    new = "return scale * weights @ values"
    text = said(capsys, written(new))
    assert text.startswith("✔") and text.endswith(
        " The answer kept before is not right for this edition of the course: it stays in "
        "my_answers/weighted_sum_earlier.py.\n"
    )
    assert new in (folder / "my_answers/weighted_sum.py").read_text()
    assert (folder / "my_answers/weighted_sum_earlier.py").read_text() == before
    assert below_the_heading(printed(capsys, my_answers)) == [["weighted_sum_earlier"]]
    assert RIGHT in printed(capsys, my_answers, "weighted_sum_earlier")
    again = said(capsys, written("return scale * (weights @ values)"))
    assert "earlier" not in again and len(list((folder / "my_answers").iterdir())) == 2, "the last right answer counts"


def test_each_earlier_answer_has_a_file_of_its_own(folder, capsys, monkeypatch):
    """As one that is damaged, one that prints and ends Python, and one that does not end."""
    monkeypatch.setattr(sandbox, "SECONDS", 0.3)
    for text in ("def weighted_sum(", "print('loud')\nraise SystemExit", "while True: pass"):
        (folder / "my_answers/weighted_sum.py").write_text(text)
        assert "loud" not in said(capsys, written(RIGHT))
    names = ["weighted_sum_earlier", "weighted_sum_earlier_2", "weighted_sum_earlier_3"]
    assert [line for (line,) in below_the_heading(printed(capsys, my_answers))] == names
    assert (folder / "my_answers/weighted_sum_earlier.py").read_text() == "def weighted_sum("


def of_the_new_form(text):
    """The line of the table on the exercise as it is asked now."""
    return next(line.split() for line in text.partition(HEADING)[0].splitlines() if " weighted_sum " in line)


def test_progress_with_the_old_form_is_listed_and_not_counted(changed, folder, capsys):
    for _ in range(2):
        text = printed(capsys, progress)
        assert below_the_heading(text) == [["✔", "weighted_sum_earlier", "2", "tries"]]
        assert of_the_new_form(text)[0] == "○" and f"\n0 of {len(catalogue())} exercises came right.\n" in text
        check(written("return ..."))
    with pytest.raises(ValueError, match="weighted_sum_earlier is no longer an exercise of the course"):
        use("weighted_sum_earlier")


def test_progress_with_the_new_form_begins_anew_and_the_old_one_stays(changed, folder, capsys):
    before = json.loads((folder / "progress.json").read_text())["exercises"]
    check(written("return weights @ values"))
    check(written("return scale * (weights @ values)"))
    text = printed(capsys, progress)
    assert below_the_heading(text) == [["✔", "weighted_sum_earlier", "2", "tries", "kept"]]
    assert of_the_new_form(text)[0] == "✔" and f"\n1 of {len(catalogue())} exercises came right.\n" in text
    after = json.loads((folder / "progress.json").read_text())["exercises"]
    assert after["weighted_sum_earlier"] == before["weighted_sum"] and after["dot_product"] == before["dot_product"]
    assert after["weighted_sum"]["tries"] == 2 and re.fullmatch(r"[0-9a-f]{8}", after["weighted_sum"]["form"])
    assert records.read(folder / "progress.json") == after, "as a class's table reads it"


def test_progress_with_each_of_several_forms_stays(changed, capsys, monkeypatch):
    check(written("return scale * (weights @ values)"))
    for text in ("def weighted_sum(a)", "class weighted_sum(a)"):
        now = records.FORMS | {"weighted_sum": (forms.digits(text), records.FORMS["weighted_sum"][1])}
        monkeypatch.setattr(records, "FORMS", now)
        check(written("return weights"))
    assert [line[1] for line in below_the_heading(printed(capsys, progress))] == [
        "weighted_sum_earlier",
        "weighted_sum_earlier_2",
        "weighted_sum_earlier_3",
    ]


def test_a_form_is_known_of_every_exercise_and_written_down_where_it_is_not_the_first(folder):
    """What a progress file of version 0.2.0 says is said of what that version asked."""
    ours = [name for name, found in catalogue().items() if found.__module__.startswith("utils.exercises.tasks.")]
    assert [*records.FORMS] == ours
    assert (
        records.FORMS["weighted_sum"][0]
        == records.FORMS["weighted_sum"][1]
        == forms.digits("def weighted_sum(weights, values)")
    )
    assert "form" not in json.loads((folder / "progress.json").read_text())["exercises"]["weighted_sum"]


def test_of_an_exercise_that_is_new_since_then_the_first_form_is_the_present_one(folder, monkeypatch, capsys):
    monkeypatch.setattr(records, "FORMS", {"weighted_sum": ("00000001", "00000001"), "dot_product": ("00000002", "")})
    text = printed(capsys, progress)
    assert "dot_product" not in text.partition(HEADING)[2] and "weighted_sum" not in text.partition(HEADING)[2]


def test_a_class_and_a_function_are_two_forms():
    class Summed(torch.nn.Module):
        def __init__(self, weights):
            super().__init__()

    assert forms.form(Summed) == forms.digits("class Summed(weights)")


# ---- teachers


def test_a_notebook_of_an_earlier_edition_is_graded_and_says_what_is_not_judged(tmp_path):
    cells = [
        {"source": "def of_old(x):\n    return x\n\ncheck(of_old)\nof_old = use(of_old)", "tags": ["exercise:of_old"]},
        {"source": f"def weighted_sum(weights, values):\n    {RIGHT}", "tags": ["exercise:weighted_sum"]},
    ]
    cells = [{"cell_type": "code", "source": one["source"], "metadata": {"tags": one["tags"]}} for one in cells]
    (tmp_path / "mine.ipynb").write_text(json.dumps({"cells": cells}))
    graded = grading.grade(tmp_path / "mine.ipynb")
    assert graded["exercises"]["weighted_sum"]["status"] == "right" and "of_old" not in graded["exercises"]
    assert graded["problems"] == ["not in this version of the course, and so not judged: of_old"]
