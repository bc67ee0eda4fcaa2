"""How long a notebook takes: one rule, stated where learners and teachers read it, and written where minutes stand."""

import json
import re
import shutil
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from topics import named

from tools.notebooks import files, links, reading_time
from utils.cells import has, is_folded

ROOT = Path(__file__).parents[2]


def notebook(*cells):
    return new_notebook(cells=[new_markdown_cell(""), code("the set-up\ncell", "setup"), *cells])


def code(source, *tags, outputs=()):
    return new_code_cell(source, metadata={"tags": list(tags)}, outputs=list(outputs))


def picture(kind="image/png"):
    return new_output("display_data", data={kind: "…", "text/plain": "a picture"})


@pytest.mark.parametrize(
    "source, counted",
    [
        ("Two words.", (2, 0, 0)),
        ("It's 12.5 % of `a + b` (well-known)", (5, 0, 0)),
        ("so $x = 1$ and $$\ny = 2\n$$ hold, it costs \\$5", (7, 1, 1)),
        ("[two words](../a/long/address.ipynb)<br>![one](picture.png)", (3, 0, 0)),
        ("<small>Sources: none of this</small> read", (1, 0, 0)),
        ("<details><summary>Why?</summary>Because.</details>", (2, 0, 0)),
        ("", (0, 0, 0)),
    ],
)
def test_words_and_formulas(source, counted):
    assert reading_time.words(source) == counted


def test_every_part_takes_its_time():
    def minutes(*cells):
        return reading_time.count(notebook(*cells)).exact

    assert minutes() == 0, "the setup cell is not read"
    assert minutes(code("assert x\n" * 15, "claims"), code("x = 1\n" * 15, "library")) == 0, "nor is what is folded"
    assert minutes(new_markdown_cell("word " * 100)) == pytest.approx(1)
    assert minutes(code("x = 1\n\n# a comment\n" * 15)) == pytest.approx(1)
    assert minutes(new_markdown_cell("$$x$$")) == pytest.approx((10 + 0) / 60)
    assert minutes(code("", outputs=[picture(), picture("image/svg+xml")])) == pytest.approx(80 / 60)
    assert minutes(code("", "seconds:30")) == pytest.approx(0.5)
    assert minutes(code("def softmax(x):\n    return ...", "exercise:softmax")) == 0


def test_exercises_take_what_they_say():
    softmax = reading_time.catalogue()["softmax"].minutes
    counted = reading_time.count(notebook(code("def softmax(x):\n    return ...", "exercise:softmax")))
    assert counted.exercises == softmax and counted.minutes == (5, reading_time.rounded(softmax))


@pytest.mark.parametrize("exact, minutes", [(0, 5), (7.4, 5), (7.5, 10), (12.4, 10), (12.5, 15), (112, 110)])
def test_minutes_are_rounded_to_five(exact, minutes):
    assert reading_time.rounded(exact) == minutes


@pytest.mark.parametrize("path", files.paths(), ids=lambda path: path.stem)
def test_a_notebook_takes_one_sitting(path):
    """Each limit is kept by taking something out, never by joining cells."""
    found = files.read(path)
    reading, solving = reading_time.count(found).minutes
    assert (reading <= reading_time.READING, solving <= reading_time.SOLVING) == (True, True), (reading, solving)
    assert sum(not is_folded(cell) for cell in found.cells) <= reading_time.CELLS


def test_minutes_are_written_into_titles_readme_and_map_once(tmp_path):
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "README.md", tmp_path)
    places = [tmp_path / "README.md", *files.paths(tmp_path), tmp_path / "docs" / "teachers.md"]
    reading_time.write_minutes(tmp_path)
    before = {path: path.read_bytes() for path in places}
    path = tmp_path / "notebooks" / f"{named('dot_product_similarity')}.ipynb"
    changed = json.loads(path.read_text(encoding="utf-8"))
    changed["cells"].append(json.loads(json.dumps(new_markdown_cell("word " * 6000))))
    path.write_text(json.dumps(changed), encoding="utf-8")
    reading_time.write_minutes(tmp_path)
    read, solve = reading_time.told(files.read(path))
    assert f" | {read} + {solve} | " in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert read >= 60 + 35 - 5
    maps = {one for one in files.paths(tmp_path) if any(has(cell, "map") for cell in files.read(one).cells)}
    assert all(f" | {read} + {solve} |" in one.read_text(encoding="utf-8") for one in maps)
    assert {one for one in places if one.read_bytes() != before[one]} == {places[0], path, places[-1], *maps}


def test_a_new_notebook_gets_its_row_and_one_that_is_renamed_keeps_it(tmp_path):
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    shutil.copy(ROOT / "README.md", tmp_path)
    last = files.paths(tmp_path)[-1]
    new = json.loads(last.read_text(encoding="utf-8"))
    links_and_time = "".join(new["cells"][0]["source"]).partition("**Time**")[2]
    number = len(files.paths(tmp_path))  # from 00 on
    text = f"# {number} · Something new\n\nAfterwards you can do something new.\n\n**Time**{links_and_time}"
    new["cells"][0]["source"] = text
    last.with_name(f"{number}_something_new.ipynb").write_text(json.dumps(new), encoding="utf-8")
    rows = (tmp_path / "README.md").read_text(encoding="utf-8").splitlines()
    reading_time.write_table(tmp_path)
    reading_time.write_table(tmp_path)
    changed = set((tmp_path / "README.md").read_text(encoding="utf-8").splitlines()) - set(rows)
    (added,) = (line for line in changed if line.startswith("| "))
    assert len(changed) == 2 and any(reading_time.total(tmp_path) in line for line in changed)
    page = links.page_address(f"{number}_something_new.ipynb", links.repository())
    begins = f"| {number} | [Something new]({page}) | do something new | "
    assert added.startswith(begins) and f"[file](notebooks/{number}_something_new.ipynb)" in added and "Colab" in added


def test_the_plan_for_teachers_is_made_of_the_minutes():
    plan = reading_time.plan()
    assert plan in (ROOT / "docs" / "teachers.md").read_text(encoding="utf-8"), "run `make text`"
    *rows, everything = [[cell.strip() for cell in row.split("|")[1:-1]] for row in plan.splitlines()[2:]]
    assert len(rows) == len(files.paths()), "a week each"
    minutes = [sum(map(int, row[1].split(" + "))) for row in rows]
    for row, told in zip(rows, minutes):
        assert (int(row[2]) - 1) * 45 < told <= int(row[2]) * 45 and (int(row[3]) - 1) * 90 < told <= int(row[3]) * 90
    assert [sum(int(row[place]) for row in rows) for place in (2, 3)] == [int(everything[2]), int(everything[3])]
    days = {day: sum(told for row, told in zip(rows, minutes) if row[5] == day) for day in ("Saturday", "Sunday")}
    assert abs(days["Saturday"] - days["Sunday"]) <= reading_time.READING + reading_time.SOLVING
    assert everything[5] == f"{sum(days.values()) / 60:.0f} hours in two days" and sum(days.values()) <= 10 * 60


RULE = "100 words a minute, 10 seconds a displayed formula and 2 one in a line, 15 lines of code a minute"


def test_the_rule_is_told_to_teachers():
    told = re.compile(r"100 words and 15 lines of code a minute, 40 seconds a figure")
    assert " ".join(RULE.split()) in " ".join(reading_time.__doc__.split())
    assert told.search((ROOT / "docs" / "teachers.md").read_text(encoding="utf-8"))
