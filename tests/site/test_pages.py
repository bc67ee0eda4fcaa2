"""The pages that are made of the notebooks: what they say stands in the notebooks, and nothing of it is forgotten."""

import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from topics import WHOLE

from tools.notebooks import execute as execute_notebooks
from tools.notebooks import files
from tools.notebooks import seeds as repeat_with_seeds
from tools.site import bugs, ledger, pages
from utils import cells
from utils.exercises import catalogue

ROOT = Path(__file__).parents[2]

NOTEBOOKS = {path.stem: files.read(path) for path in files.paths()}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """{name: text} of the pages."""
    return {
        file.stem: file.read_text(encoding="utf-8") for file in pages.write(tmp_path_factory.mktemp("pages") / "new")
    }


# Numbers over seeds


@pytest.mark.parametrize(
    "texts, lines",
    [
        (["right: 63%", "right: 62%", "right: 67%"], ["right: «62 to 67»%"]),
        (["loss 1.50, -0.2 to 3", "loss 1.5, 0.1 to 3"], ["loss 1.50, «-0.2 to 0.1» to 3"]),
        (["1,200 of 9", "900 of 9"], ["«900 to 1,200» of 9"]),
        (
            ["layers: 1 · 36%\nlayers: 2 · 99%", "layers: 1 · 30%\nlayers: 2 · 99%"],
            ["layers: 1 · «30 to 36»%", "layers: 2 · 99%"],
        ),
        (["5 × la\nsum 3", "4 × el\nsum 4"], ["sum «3 to 4»"]),  # other words with another seed
        (["a 1\na 2", "a 1"], []),  # which is which?
        (["word  1:\n\n  right", "word 1:\n right"], ["word 1:", "right"]),
        (["1e-06 at d_2", "3e-05 at d_2"], ["«1e-06 to 3e-05» at d_2"]),
    ],
)
def test_numbers_that_differ_become_a_range(texts, lines):
    assert ledger.merged(texts) == lines


def test_what_a_cell_asserts_is_told_as_it_is_written():
    loop = "for y in ():\n    torch.testing.assert_close(a @ b,\n        c, atol=1)\n# assert"
    source = f'x = 1\nassert x < 2, "small"\nassert x, f"all {{x}} of it"\n{loop}'
    assert ledger.assertions(source) == [("x < 2", "small"), ("x", "all … of it"), ("a @ b ≈ c", "")]


def tiny(*sources):
    cells = [new_code_cell(source, metadata={"tags": ["nbval-ignore-output"]}) for source in sources]
    return new_notebook(cells=[new_markdown_cell("# Tiny"), new_code_cell("SEED = 0"), *cells])


@pytest.mark.lane("all", "ledger", "seeds")
def test_runs_with_other_seeds_are_kept_until_the_cell_changes(tmp_path, monkeypatch):
    path, record = tmp_path / "tiny.ipynb", tmp_path / "measured.json"
    monkeypatch.setattr(repeat_with_seeds, "MEASURED", record)
    notebook = tiny("print(f'{SEED} of 9')\nassert SEED < 2", "print('later', SEED)\nassert True", "print(SEED)")
    nbformat.write(notebook, path)
    assert execute_notebooks.main([str(path)]) == 0
    assert repeat_with_seeds.main([str(path), "--seeds", "1", "2", "--store"]) == 1, "seed 2 fails"
    kept = repeat_with_seeds.json.loads(record.read_text())
    first, later = ledger.claims(path, kept, {})
    assert (first.measured, first.seeds, first.failed) == (["«0 to 2» of 9"], "0 to 2", [2])
    assert (later.measured, later.seeds, later.failed) == (["later «0 to 1»"], "0 to 1", []), "seed 2 never got there"
    for cell, seeds in ((3, ["0 to 2", ""]), (2, ["", ""])):  # the later cell, then the one before it as well
        changed = files.read(path)
        changed.cells[cell].source += "\nprint('more')"
        nbformat.write(changed, path)
        assert [claim.seeds for claim in ledger.claims(path, kept, {})] == seeds
    assert first.failed == [2] and next(ledger.claims(path, kept, {})).measured == ["0 of 9"]


@pytest.mark.lane("all", "ledger", "seeds")
def test_spreads_are_carried_over_where_a_run_says_the_same(tmp_path, monkeypatch):
    path, record = tmp_path / "tiny.ipynb", tmp_path / "measured.json"
    monkeypatch.setattr(repeat_with_seeds, "MEASURED", record)
    nbformat.write(tiny("x = 9", "print(f'{SEED} of {x}')\nassert x > 2", "print(x)\nassert x"), path)
    assert execute_notebooks.main([str(path)]) == 0
    assert repeat_with_seeds.main([str(path), "--seeds", "1", "--store"]) == 0
    before = [files.read(path)]
    for source, carried, spread in (("x = 3 * 3", 2, "0 to 1"), ("x = 8", 0, "")):
        changed = files.read(path)
        changed.cells[2].source = source
        nbformat.write(changed, path)
        assert repeat_with_seeds.carry(before, [changed])[0] == [], "not before the cells ran again"
        assert execute_notebooks.main([str(path)]) == 0
        found, void = repeat_with_seeds.carry(before, [files.read(path)])
        assert (len(found), len(void)) == (carried, 2 - carried)
        claims = ledger.claims(path, repeat_with_seeds.read_measured(), {})
        assert [claim.seeds for claim in claims] == [spread] * 2
        before = [files.read(path)]


CLAIMS = "assert first < 2, 'fewer than two'\nassert second == 9, 'nine'"


def claimed(source=CLAIMS):
    """A notebook whose last cell claims something of two others: one that trains, and one that does not."""
    notebook = tiny("first = SEED\nprint(f'{first} of 9')")
    notebook.cells += [new_code_cell("second = 9\nprint('it is', second)"), new_code_cell(source)]
    notebook.cells[-1].metadata |= {"tags": ["claims"], "of": [cell.id for cell in notebook.cells[2:4]]}
    return notebook


def test_a_claims_cell_tells_what_the_cells_say_that_it_names(tmp_path):
    path, notebook = tmp_path / "tiny.ipynb", claimed()
    first, second = notebook.cells[-1].metadata["of"]
    for cell, text in zip(notebook.cells[2:4], ("1 of 9\n", "it is 9\n")):
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)]
    nbformat.write(notebook, path)
    row = ledger.rows(f"[{second} agrees: Cho (2014)]\nIt is nine.\n")
    beside, claim = ledger.claims(path, {}, row)
    assert claim.cell == notebook.cells[-1].id and claim.asserted == ["first < 2", "second == 9"]
    assert claim.measured == ["1 of 9", "it is 9"] and claim.trained and not claim.rows
    assert (beside.cell, beside.asserted) == (second, []) and beside.telling(*beside.rows) == ["it is 9"]
    notebook.cells[-1].metadata["of"] = [first, "nowhere"]
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match=r"^the claims cell \S+ speaks of 'nowhere', which is no code cell"):
        list(ledger.claims(path, {}, {}))


@pytest.mark.lane("all", "ledger", "seeds")
def test_a_claims_cell_is_repeated_with_other_seeds(tmp_path, monkeypatch):
    path, record = tmp_path / "tiny.ipynb", tmp_path / "measured.json"
    monkeypatch.setattr(repeat_with_seeds, "MEASURED", record)
    nbformat.write(claimed(), path)
    assert execute_notebooks.main([str(path)]) == 0
    assert repeat_with_seeds.main([str(path), "--seeds", "1", "2", "--store"]) == 1, "seed 2 fails"
    (claim,) = ledger.claims(path, repeat_with_seeds.read_measured(), {})
    assert (claim.measured, claim.seeds, claim.failed) == (["«0 to 2» of 9", "it is 9"], "0 to 2", [2])
    moved = files.read(path)
    moved.cells[-1].source = CLAIMS.replace("< 2", "< 3")
    nbformat.write(moved, path)
    (claim,) = ledger.claims(path, repeat_with_seeds.read_measured(), {})
    assert claim.seeds == "", "another claim was not tried with other seeds"


@pytest.mark.lane("all", "ledger", "seeds")
def test_a_spread_is_kept_where_an_assertion_moves_into_a_claims_cell(tmp_path, monkeypatch):
    path, record = tmp_path / "tiny.ipynb", tmp_path / "measured.json"
    monkeypatch.setattr(repeat_with_seeds, "MEASURED", record)
    nbformat.write(tiny("first = SEED\nprint(first)\nassert first < 2"), path)
    assert execute_notebooks.main([str(path)]) == 0
    assert repeat_with_seeds.main([str(path), "--seeds", "1", "--store"]) == 0
    before, moved = files.read(path), files.read(path)
    moved.cells[2].source = moved.cells[2].source.replace("\nassert first < 2", "")
    moved.cells.append(new_code_cell("assert first < 2", metadata={"tags": ["claims"], "of": [moved.cells[2].id]}))
    nbformat.write(moved, path)
    assert execute_notebooks.main([str(path)]) == 0
    assert repeat_with_seeds.carry([before], [files.read(path)]) == ([moved.cells[2].id], [])
    (claim,) = ledger.claims(path, repeat_with_seeds.read_measured(), {})
    assert (claim.seeds, claim.measured) == ("0 to 1", ["«0 to 1»"])


# What others have found


@pytest.mark.parametrize(
    "text, problem",
    [
        ("[a agrees Cho (2014)]\nno colon\n", "no row"),
        ("[a yes: Cho (2014)]\nSo it is.\n", "a verdict is one of"),
        ("[a agrees: Cho (2014)]\n", "no row"),
        ("words\n", "no row"),
    ],
)
def test_a_row_that_is_none_is_refused(text, problem):
    with pytest.raises(ValueError, match=problem):
        ledger.rows(text)


def test_a_row_may_choose_lines():
    found = ledger.rows("# a remark\n[a in part: Cho (2014)]\nIt is\nso.\n> control\n")
    assert found == {"a": [ledger.Row("in part", "Cho (2014)", "It is so.", ("control",))]}


def test_a_table_in_a_text_is_spelled_out():
    table = "Words.\n\n| | seen | new |\n|---|---|---|\n| one | 3 | 5 to 7 |\n| two | | 2 |\n\nMore."
    assert ledger.spelled(table) == "one: seen 3 · new 5 to 7\ntwo: new 2"


def test_what_others_found_stands_beside_a_claim_and_its_source_in_the_notebook():
    known = ledger.rows((ROOT / "tools/site/claims.txt").read_text(encoding="utf-8"))
    claims = {claim.cell: claim for found in ledger.course().values() for claim in found}
    for cell, row in ((cell, row) for cell, rows in known.items() for row in rows):
        assert cell in claims, f"claims.txt: [{cell}] is no cell that asserts or tells something"
        assert claims[cell].telling(row) or not row.lines, f"[{cell}] tells nothing of {row.lines}"
        stem = claims[cell].notebook
        text = " ".join(cell.source for cell in NOTEBOOKS[stem].cells if cell.cell_type == "markdown")
        name, year = re.match(r"([^\s,]+).*\((\d{4})\)", row.source).groups()
        assert re.search(rf"{name}[^.;]*(?:\. )?[^.;]*{year}", text), f"{stem} does not cite {row.source}"


# The pages


def test_every_claim_is_on_the_page_once_at_least_and_many_have_a_spread(made):
    claims = [claim for found in ledger.course().values() for claim in found if claim.asserted]
    assert all(f'href="{claim.notebook}.html#cell-{claim.cell}"' in made["measured"] for claim in claims)
    asserting = [
        cell.id
        for notebook in NOTEBOOKS.values()
        for cell in notebook.cells
        if cell.cell_type == "code"
        and re.search(r"^\s*(?:assert |torch\.testing\.assert_close)", cell.source, re.MULTILINE)
    ]
    assert sorted(asserting) == sorted(claim.cell for claim in claims)
    assert sum(bool(claim.seeds) for claim in claims) >= 20, "python -m tools.notebooks.seeds NOTEBOOK --store"


def test_links_lead_somewhere(made):
    for name, text in made.items():
        for stem, cell in re.findall(r'href="(\w+)\.html#cell-([^"]+)"', text):
            at = [one for one in NOTEBOOKS[stem].cells if one.id == cell]
            assert len(at) == 1 and at[0].cell_type == "code", f"{name}: {stem} {cell}"
        for target in re.findall(r"\]\(([^)]+)\)", re.sub(r"`[^`]*`|\$[^$]*\$", "", text)):
            page = target.partition("#")[0].removesuffix(".md")
            leads = target.startswith(("https://", "#")) or page in {*NOTEBOOKS, *made, "readme"}
            assert leads, f"{name}: {target}"
        missing = set(re.findall(r'href="#([^"]+)"', text)) - set(re.findall(r'id="([^"]+)"', text))
        assert not missing, f"{name}: {missing}"


class Tags(HTMLParser):
    """Every tag that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, self.getpos()


def test_the_html_in_the_pages_is_whole(made):
    for text in made.values():
        parser = Tags()
        parser.feed(re.sub(r"`[^`\n]*`|\$[^$\n]*\$", "", text))
        assert parser.open == []


def test_a_table_has_as_many_cells_in_every_row(made):
    for name, text in made.items():
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            widths = {len(re.sub(r"\\\||\$[^$]*\$|`[^`]*`", "", row).split("|")) for row in table.splitlines()}
            assert len(widths) == 1, f"{name}: {table[:200]}"


def test_every_symbol_is_met_in_a_notebook(made):
    rows = re.findall(r"^\| \$.*$", made["symbols"], re.MULTILINE)
    assert len(rows) > 9 and all(re.search(r"\| \[\d\d.*\]\(\w+\.md\) \|$", row) for row in rows)
    assert "<details>" not in made["symbols"] and "| `e` |" in made["symbols"]


def test_a_teacher_sees_every_exercise_once(made):
    assert sorted(re.findall(r'#cell-[^"]+">(\w+)</a>[^|]* \| \d', made["teachers"])) == sorted(
        bugs.where_exercises_stand()
    )


# The texts behind the course


def test_everything_that_the_texts_teach_has_its_words_once(made):
    lines = re.findall(r'^\* <a id="(\w+)"></a>(.+)$', made["texts"], re.MULTILINE)
    assert sorted(one for one, _ in lines) == sorted(WHOLE) and made["texts"].count("<a id=") == len(WHOLE)
    assert all(len(re.sub(r"<small>.*", "", words).split()) > 5 for _, words in lines)
    shown = re.sub(r"<[^>]*>", "", made["texts"])
    assert not WHOLE & set(re.findall(r"\w+", shown)), "readers see no id"


def test_each_line_leads_to_every_section_that_teaches_it(made):
    for stem, notebook in NOTEBOOKS.items():
        for section, cell in ledger.sections(notebook):
            for one in cells.syllabus(cell):
                line = re.search(rf'<a id="{one}">.*', made["texts"])[0]
                linked = re.findall(rf'href="{stem}.html#cell-([^"]+)"', line)
                assert section in {where for where, other in ledger.sections(notebook) if other.id in linked}, one


def test_no_other_page_tells_where_the_texts_disagree(made):
    assert "| id | the claim |" not in made["measured"] and "](texts.md)" in made["measured"]


# Real bugs


def test_every_thread_that_the_course_cites_is_on_the_page_once(made):
    known, text = bugs.cited(), (ROOT / "tools/site/bugs.txt").read_text(encoding="utf-8")
    listed = [thread for theme in bugs.themes(text) for thread in theme.threads]
    assert len(listed) == len(set(listed))
    assert not set(listed) - set(known), "bugs.txt tells of a thread that the course cites no longer"
    shown = re.findall(rf"^\*\*\[[^]]+\]\(({bugs.THREAD.pattern})\)\*\*", made["bugs"], re.MULTILINE)
    assert sorted(found[0] for found in shown) == sorted(known)


def test_a_mistake_s_symptom_is_tried():
    rows = {row.name: row for row in catalogue()["attention_scores"].rows}
    unscaled = bugs.symptom(catalogue()["attention_scores"], rows["/ math.sqrt(keys.shape[-1]) ->"])
    assert re.fullmatch(
        r"On our inputs: the right shape, other numbers on \d of \d, right all the same on 1\.", unscaled
    ), unscaled
    merged = catalogue()["merge_heads"]
    view = next(row for row in merged.rows if "vllm" in row.thread)
    assert "an error, RuntimeError" in bugs.symptom(merged, view)


def test_what_has_to_be_mended_is_folded(made):
    """The page must not give away an exercise in debugging to whoever looks up its thread."""
    open_text = re.sub(r"<details>.*?</details>", "", made["bugs"], flags=re.DOTALL)
    for exercise in catalogue().values():
        if exercise.broken:
            assert exercise.broken.message not in open_text and exercise.broken.thread in open_text


def test_a_line_of_bugs_txt_that_is_none_is_refused():
    with pytest.raises(ValueError, match="indented"):
        bugs.themes("[Masks]\nA probe.\nhttps://github.com/a/b/issues/1\nwhat was seen\n")


def test_the_readme_is_short_and_leads_on():
    """What it is, one wrong answer, two commands, the table, two pictures; the rest is where people need it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count("\n") <= 102 and not re.search(r"^## For |\| `make ", readme, re.MULTILINE)
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", readme):
        assert (ROOT / target).exists(), target
