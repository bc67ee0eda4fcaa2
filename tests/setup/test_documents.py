"""The doors: README and docs/ say what is so. What is told twice agrees, what `check` says is what it says, a lesson
names what its notebook has, every page has a title and is led to."""

import inspect
import itertools
import json
import math
import re
from pathlib import Path

import pytest
import torch
from learner import written
from topics import notebook

from tools.notebooks import files, links, opening_picture, reading_time
from tools.site import pages
from utils import VERSION, cells
from utils.exercises import catalogue

ROOT = Path(__file__).parents[2]
DOCS = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
TEXTS = DOCS | {
    name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md", "TUTOR.md")
}
README = TEXTS["README.md"]


def numbers(pattern, *names):
    """{name: the numbers that the pattern finds in a document}; each has some."""
    found = {name: re.findall(pattern, TEXTS[name]) for name in names}
    assert all(found.values()), found
    return found


# What is told twice


@pytest.mark.parametrize(
    "pattern, names",
    [
        (r"([\d.]+) GB of disk|`\.venv` takes ([\d.]+) GB", ["README.md", "places.md"]),
        (r"(\d+) and (\d+) MB", ["README.md", "places.md"]),
        (r"(\d+) GB of memory", ["README.md", "places.md"]),
        (r"more than ([\d,]+) mistakes", ["beside.md", "teachers.md"]),
        (r"Python (3\.\d+) or newer", ["README.md"]),
    ],
)
def test_a_number_that_is_told_twice_is_the_same(pattern, names):
    found = {
        tuple(filter(None, one)) if isinstance(one, tuple) else one
        for some in numbers(pattern, *names).values()
        for one in some
    }
    assert len(found) == 1, found


def test_sizes_of_the_published_models_are_those_of_make():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"\((\d+ and \d+ MB), once\)", makefile)[1] in README


def test_as_many_mistakes_are_known_as_is_told():
    known = sum(len(exercise.rows) for exercise in catalogue().values())
    told = int(numbers(r"more than ([\d,]+) mistakes", "beside.md")["beside.md"][0].replace(",", ""))
    assert told < known < 1.5 * told, "say more"


def test_as_many_answers_are_judged_as_is_told():
    rows = json.loads((ROOT / "tests" / "answers" / "judged.json").read_text(encoding="utf-8"))["rows"]
    judged = sum(row["whole"] for row in rows if row["name"] in pages.UNREAD)
    told = int(numbers(r"more than ([\d,]+) answers", "CONTRIBUTING.md")["CONTRIBUTING.md"][0].replace(",", ""))
    assert told < judged < 1.5 * told, "say more"


def test_notebooks_are_counted_the_same_everywhere():
    said = {"fourteen": 14, "fifteen": 15, "sixteen": 16}
    found = numbers(r"(\bfourteen|\bfifteen|\bsixteen)\b", "CONTRIBUTING.md", "teachers.md")
    assert {said[word] for words in found.values() for word in words} == {len(files.paths())}


def test_the_memory_of_a_kernel_is_what_was_measured():
    peaks = re.search(r"peak memory of its kernel \| ([\d /]+) MB", DOCS["costs.md"])[1]
    told = int(re.search(r"up to (\d+) MB", DOCS["places.md"])[1])
    assert 0 <= told - max(map(int, peaks.split(" / "))) <= 20


def test_hours_and_exercises_in_readme_are_the_sums():
    assert reading_time.total() in README, "make text"


def test_what_readme_says_of_the_judge_is_the_last_measurement():
    named, of = re.search(r"in (\d+) of (\d+) wrong answers that it had not met", README).groups()
    table = DOCS["judge.md"].partition(f"| {of} wrong answers | how many |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| (\w+) \| (\d+) \|", table, re.MULTILINE))
    assert rows["named"] == named
    misled = re.search(r"about one wrong answer of (\w+)", (ROOT / "AGENTS.md").read_text(encoding="utf-8"))[1]
    assert misled == "twelve" and round(int(of) / int(rows["misleading"])) == 12


def test_the_poster_is_as_long_as_readme_says():
    told = int(re.search(r"\[A whole Transformer in one file\]\(transformer\.py\), (\d+) lines", README)[1])
    assert abs((ROOT / "transformer.py").read_text(encoding="utf-8").count("\n") - told) < 50


# What is shown


def test_the_answer_in_readme_is_told_what_readme_says():
    code = re.search(r"```python\n(def self_attention.+?)```", README, re.DOTALL)[1]
    head, body = code.split("\n", 1)
    answer = written(re.sub(r"^    ", "", body, flags=re.MULTILINE), "self_attention")
    exercise = catalogue()["self_attention"]
    assert head == f"def self_attention({', '.join(inspect.signature(exercise.reference).parameters)}):"
    told = re.search(r"^> ✘ self_attention: (.+)$", README, re.MULTILINE)[1]
    assert exercise.verdict(answer).message == told
    pairs = [(answer(**inputs), exercise.reference(**inputs)) for inputs in exercise.inputs()]
    assert all(got.shape == want.shape for got, want in pairs), "it runs, and its result has the right shape"
    assert not all(torch.allclose(*pair) for pair in pairs)


def test_the_moving_picture_is_what_the_translator_computes():
    for name, picture in opening_picture.files().items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == picture, "make links"
        assert f'"docs/{name}"' in README
    view = opening_picture.draw()
    written_words, weights = opening_picture.TrainedTranslator()(opening_picture.SOURCE)
    assert " ".join(written_words) in README and " ".join(opening_picture.SOURCE) in README
    shown = weights[:, : len(opening_picture.SOURCE)]
    assert (shown - opening_picture.SHOWN).abs().min() > 1e-3, "no ribbon hangs on rounding"
    rounded = [
        100 * shown[shown >= opening_picture.SHOWN],
        opening_picture.THICKEST * shown[shown >= opening_picture.SHOWN],
    ]
    assert all((numbers % 1 - 0.5).abs().min() > 1e-3 for numbers in rounded)
    assert "for “la”, half at “the” and half at “door”" in README and "la: the 51 %, door 49 %" in view.description


def test_the_moving_picture_can_be_read_and_stands_still_for_those_who_asked():
    for picture in opening_picture.files().values():
        assert min(float(size) for size in re.findall(r'font-size="([\d.]+)"', picture)) >= 11
        before, moving = picture.split("@media(prefers-reduced-motion:no-preference){", 1)
        assert "animation-name" not in before and f"animation-iteration-count:{opening_picture.TIMES}" in moving
        assert "script" not in picture and "href" not in picture, "an image on GitHub loads and runs nothing"


# Pages


def test_every_page_has_a_title_and_is_led_to():
    leading = {name: set(re.findall(r"\]\((?:docs/)?(\w+\.md)", text)) for name, text in TEXTS.items()}
    for name, text in DOCS.items():
        assert re.match(r"# \S.+\n\n", text), f"{name} begins without a title"
        assert any(name in found for other, found in leading.items() if other != name), f"nothing leads to {name}"
        assert not re.search(r"make site`\)\.\*|stands here on the page", text), f"{name} ends where it should go on"


@pytest.mark.parametrize("name", TEXTS)
def test_what_documents_link_to_is_there(name):
    folder = ROOT / "docs" if name in DOCS else ROOT
    plain = re.sub(r"```.*?```|`[^`\n]*`|\$[^$\n]*\$", "", TEXTS[name], flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", plain):
        file, _, part = target.partition("#")
        assert not file or (folder / file).exists(), target
        text = TEXTS.get(Path(file).name, TEXTS[name] if not file else "")
        if part and text:
            headings = [
                re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-")
                for one in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
            ]
            assert part in headings or f'id="{part}"' in text, target


def test_documents_that_are_made_are_those_of_today():
    for file, text in pages.documents().items():
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: make text"


def test_an_assistant_and_a_tutor_get_the_same_rules():
    agents, tutor = ((ROOT / name).read_text(encoding="utf-8") for name in ("AGENTS.md", "TUTOR.md"))
    rules = agents[agents.index("## As a tutor") :]
    assert tutor.endswith(rules) and tutor.startswith("# ") and len(rules) > 3000


def test_the_citation_names_the_authors_of_the_licence():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    authors = re.search(r"Copyright \(c\) \d+ (.+)", (ROOT / "LICENSE").read_text())[1]
    assert f'authors:\n  - name: "{authors}"\n' in citation and f"\nversion: {VERSION}\n" in citation
    assert f'website: "https://github.com/{links.repository()}/issues"' in citation
    assert citation.startswith("cff-version: 1.2.0\n") and 'title: "Attention, understood"' in citation


def test_what_is_new_is_told_of_this_version():
    versions = re.findall(r"^## (\d+\.\d+\.\d+)$", DOCS["changes.md"], re.MULTILINE)
    assert VERSION in versions and versions == sorted(versions, reverse=True)


def test_words_that_only_this_project_uses_are_explained():
    table = TEXTS["CONTRIBUTING.md"].partition("## Words that only this project uses")[2].partition("\n## ")[0]
    for word in ("film", "lane", "room", "row", "ledger", "poster", "slice", "shown", "twin", "bench", "carry"):
        assert re.search(rf"^\|[^|]*\b{word}\b[^|]*\|", table, re.MULTILINE), word


# Lessons

LESSONS = DOCS["teachers.md"].partition("## Three lessons")[2].partition("\n## ")[0].split("\n### ")[1:]
TOPIC = re.compile(r"\]\(\.\./notebooks/\d\d_(\w+)\.ipynb\)")


def test_a_lesson_has_an_aim_a_plan_and_a_question_with_its_answer():
    assert [lesson.partition(" minutes")[0] for lesson in LESSONS] == ["45", "90", "90"]
    for lesson in LESSONS:
        assert all(part in lesson for part in ("**Aim.**", "| what it meets |", "**For an exam.**", "<summary>Answer"))
        spans = [tuple(map(int, span)) for span in re.findall(r"^\| (\d+)–(\d+) \|", lesson, re.MULTILINE)]
        assert spans[0][0] == 0 and all(a[1] == b[0] for a, b in itertools.pairwise(spans)), "no gap, no overlap"
        assert spans[-1][1] == int(lesson.partition(" minutes")[0])


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda text: text.partition("\n")[0])
def test_a_lesson_names_what_its_notebook_has_where_it_says(lesson):
    found = files.read(notebook(TOPIC.search(lesson)[1])).cells
    by_section, section = {}, ""
    for cell in found:
        if heading := re.match(r"## (\d+) · ", cell.source):
            section = heading[1]
        if cell.cell_type == "code":
            by_section[section] = by_section.get(section, "") + cell.source
    for row in re.findall(r"^\| \d.+$", lesson, re.MULTILINE):
        code = "".join(by_section.values())
        named = re.findall(r"`(widgets\.\w+(?:\(\"\w+\"\))?)`", row)
        assert all(one.rstrip(")") in code for one in named), row
        for call, where in re.findall(r"`(widgets\.\w+(?:\(\"\w+\"\))?)`, section (\d)", row):
            assert call.rstrip(")") in by_section[where], row
    exercises = {cells.exercise(cell) for cell in found}
    asked = re.findall(r"[Ee]xercises? (`\w+`(?: and `\w+`)*)", lesson)
    assert all(name in exercises for one in asked for name in re.findall(r"`(\w+)`", one))


def test_the_answers_to_the_questions_for_an_exam_are_right():
    query, keys = torch.tensor([2.0, 0, 0, 0]), torch.tensor([[0.0, 5, 1, 0], [math.log(3), 0, 0, 7]])
    values = torch.tensor([[8.0, 0], [0, 8]])

    def attend(query, keys):
        return torch.softmax(keys @ query / 2, -1) @ values

    doubled = keys * torch.tensor([[2.0], [1]])
    for output, told in (
        (attend(query, keys), (2, 6)),
        (attend(query, doubled), (2, 6)),
        (attend(2 * query, keys), (0.8, 7.2)),
    ):
        torch.testing.assert_close(output, torch.tensor([float(one) for one in told]))
        assert f"({told[0]}, {told[1]})" in LESSONS[0]
    weights = torch.softmax(torch.tensor([1.0, 1, 5, 0]), -1)
    assert f"{weights[0]:.3f}, {weights[1]:.3f}, 0, 0" in LESSONS[1]

    def balanced(text):
        depth = list(itertools.accumulate(1 if one == "(" else -1 for one in text))
        return min(depth, default=0) >= 0 and (not depth or depth[-1] == 0)

    strings = ["".join(one) for n in (2, 4, 6, 8, 10) for one in itertools.product("()", repeat=n)]
    right = [one for one in strings if balanced(one)]
    turned = {one[:k] + "()"[one[k] == "("] + one[k + 1 :] for one in right for k in range(len(one))}
    rules = [lambda one: one.count("(") == one.count(")"), lambda one: (one.count("(") - len(one) // 2) % 2 == 0]
    assert all(rule(one) == balanced(one) for rule in rules for one in [*right, *turned])
    for rule, other in zip(rules, (")(", "((((")):
        assert f"`{other}`" in LESSONS[2] and rule(other) and not balanced(other)
