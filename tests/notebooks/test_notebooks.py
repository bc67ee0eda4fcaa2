"""The notebooks as a set: what their files promise; at night, what they do solved, alone in an empty folder.

nbval compares each notebook with a fresh run, cell by cell; here stands what nbval cannot know.
"""

import ast
import builtins
import copy
import html
import os
import re
import symtable
import sys
import threading
from pathlib import Path

import course_repo
import nbformat
import numpy as np
import pytest
from topics import BEFORE, SYLLABUS, TRAINS, WHOLE, named, spelled_out

from tools.notebooks import execute as execute_notebooks
from tools.notebooks import files, links, reading_time
from tools.notebooks import fill as fill_notebooks
from tools.site import ledger
from utils.cells import (
    CLAIMS,
    VOLATILE,
    code,
    has,
    is_folded,
    is_volatile,
    speaks_of,
    syllabus,
    tags,
)
from utils.cells import after as tagged
from utils.cells import exercises as exercise_cells
from utils.exercises import catalogue, tasks
from utils.exercises.tasks import TOPICS
from utils.judge.exercise import source as reference_source
from utils.plots import NOISE
from utils.vectors import WordVectors

ROOT = Path(__file__).parents[2]
PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NOTEBOOKS = {path.stem: files.read(path) for path in PATHS}
SVG = "image/svg+xml"
FILLER = re.compile(r"\b(simply|just|obviously|of course|trivially)\b", re.IGNORECASE)
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:root|work|home/\w|tmp/\w|Users/\w)|[A-Z]:\\Users")
ADDRESS_IN_MEMORY = re.compile(r"\bat 0x[0-9a-f]{6,}")
UNWANTED_CODE = {
    r"^\s*!": "a shell command",
    r"^\s*%(?!pip\b)": "a magic command",
    r"\bpyplot\b|\bplt\.": "pyplot: the course's figures come from utils.plots",
    r"\binteract\b|\bclear_output\b|\bOutput\(": "Output, interact or clear_output: nbval misattributes what they show",
    r"None, None, :\]": "the axes of a padding mask by hand: padding_mask and padding_mask_from_lengths make them",
    r";\s*$": "a semicolon at the end of a line, which nbval does not honour",
}

every_notebook = pytest.mark.parametrize("name", NOTEBOOKS)


def code_cells(name):
    return code(NOTEBOOKS[name])


def prose(name):
    return "\n\n".join(cell.source for cell in NOTEBOOKS[name].cells if cell.cell_type == "markdown")


def outputs(name):
    """(number of the code cell, output) of every stored output."""
    return [(number, output) for number, cell in enumerate(code_cells(name), 1) for output in cell.outputs]


def texts(cell):
    """What `cell` says in words: streams and descriptions, not pictures and not the numbers of widgets."""
    said = []
    for output in cell.outputs:
        if output.output_type == "stream":
            said.append((output.name, output.text))
        else:
            said.append((output.output_type, output.get("data", {}).get("text/plain")))
    return said


# The files


def test_the_syllabus_lists_the_notebooks():
    assert list(SYLLABUS) == list(NOTEBOOKS)


def test_the_readme_names_every_notebook_with_its_minutes():
    rows = [row for row in fill_notebooks.map_rows() if ".ipynb" in row]
    for row, (name, notebook) in zip(rows, NOTEBOOKS.items(), strict=True):
        assert f"({name}.ipynb)" in row
        reading, solving = reading_time.told(notebook)
        assert row.endswith(f" {reading} + {solving} |")


@every_notebook
def test_a_notebook_is_valid_and_small(name):
    nbformat.validate(NOTEBOOKS[name])
    assert (ROOT / "notebooks" / f"{name}.ipynb").stat().st_size < 1_500_000
    assert dict(NOTEBOOKS[name].metadata) == files.METADATA, "run `make links`"


@every_notebook
def test_the_first_code_cell_is_the_setup_cell(name):
    assert code_cells(name)[0].source == links.setup_cell(), "bring it in line: make links"


@every_notebook
def test_every_code_cell_was_run_in_order(name):
    counts = [cell.execution_count for cell in code_cells(name)]
    assert counts == list(range(1, len(counts) + 1)), "run `make notebooks`"
    assert all(cell.source.strip() for cell in code_cells(name))


@every_notebook
def test_no_cell_raised_or_wrote_to_stderr(name):
    bad = [(number, output) for number, output in outputs(name) if output.output_type == "error"]
    bad += [(number, output) for number, output in outputs(name) if output.get("name") == "stderr"]
    assert not bad


@every_notebook
def test_code_cells_are_short_and_hold_one_idea(name):
    """Folded cells and exercises aside."""
    counts = reading_time.count(NOTEBOOKS[name])
    lines = [cell.source.count("\n") + 1 for cell in code_cells(name) if not is_folded(cell)]
    assert max(lines) <= reading_time.LONG and counts.median <= reading_time.DENSE


@every_notebook
def test_the_outputs_belong_to_the_code(name):
    number = name[:2]
    assert execute_notebooks.has_run(NOTEBOOKS[name]), f"its code has changed: run `make notebooks ONLY={number}`"


@every_notebook
def test_only_three_kinds_of_cells_are_folded(name):
    """The setup, claims, and library code that is not the subject; their outputs never are."""
    for cell in NOTEBOOKS[name].cells:
        folds = cell.metadata.get("jupyter", {})
        assert folds == ({"source_hidden": True} if is_folded(cell) else {}), f"{cell.id}: {folds}"
        assert not is_folded(cell) or cell.cell_type == "code"


@every_notebook
def test_the_minutes_in_the_title_are_counted(name):
    assert reading_time.told(NOTEBOOKS[name]) == reading_time.count(NOTEBOOKS[name]).minutes, "run `make text`"


@every_notebook
def test_few_outputs_are_ignored_and_those_belong_to_their_source(name):
    volatile = [cell for cell in code_cells(name) if is_volatile(cell)]
    assert len(volatile) <= (21 if name in TRAINS else 2)
    spoken = {one for cell in code_cells(name) if has(cell, CLAIMS) for one in speaks_of(cell)}
    claims = [cell.id in spoken or "assert" in cell.source or "widgets." in cell.source for cell in volatile]
    assert name not in TRAINS or all(claims)
    assert volatile == execute_notebooks.stored_and_valid(NOTEBOOKS[name]), "run `make notebooks`"
    other = [tag for cell in code_cells(name) for tag in tags(cell) if tag.startswith("nbval-")]
    assert set(other) <= {VOLATILE}
    assert not any(re.search(r"NBVAL_|PYTEST_VALIDATE", cell.source) for cell in code_cells(name))


@every_notebook
def test_every_picture_is_described(name):
    for number, output in outputs(name):
        data = output.get("data", {})
        description = data.get("text/plain", "")
        if "image/png" in data:
            alt = output.metadata.get("image/png", {}).get("alt")
            assert alt and alt == description, f"code cell {number}: the alternative text is {alt!r}"
        if SVG in data:
            assert data[SVG].lstrip().startswith("<svg"), f"code cell {number}: no static twin"
            assert description and not re.match(r"[A-Z]\w+\(\w+=", description), f"code cell {number}: {description!r}"
            assert f'alt="{html.escape(description)}"' in data["text/html"], f"code cell {number}: no alternative text"
        assert "<Figure" not in description, f"code cell {number}: a figure without a description"


@every_notebook
def test_nothing_of_the_machine_is_stored(name):
    assert "widgets" not in NOTEBOOKS[name].metadata
    assert not any(execute_notebooks.WIDGET in output.get("data", {}) for _, output in outputs(name))
    for cell in NOTEBOOKS[name].cells:
        shown = "".join(str(said) for said in texts(cell)) if cell.cell_type == "code" else ""
        assert not MACHINE_PATH.search(cell.source + shown), MACHINE_PATH.search(cell.source + shown).group()
        assert not ADDRESS_IN_MEMORY.search(shown), shown


@every_notebook
@pytest.mark.parametrize("pattern", UNWANTED_CODE)
def test_no_code_that_the_course_does_without(name, pattern):
    found = [cell.source for cell in code_cells(name) if re.search(pattern, cell.source, re.MULTILINE)]
    assert not found, UNWANTED_CODE[pattern]


NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\d)")
TINY_IN_MATHEMATICS = {  # exact in its first digits on every processor, for no sum of larger numbers is behind it
    "9da0c068": {"6e-11"},  # a product of twelve probabilities
}
COMPARES = {"equal", "allclose", "isclose", "array_equal", "array_equiv"}


def tiny_numbers(text):
    """The numbers in `text` that are not 0 and so near to it that they may be what rounding leaves."""
    return {said for said in NUMBER.findall(text) if 0 < abs(float(said)) < NOISE}


def printed_comparisons(source):
    """The comparisons of numbers whose truth `source` prints: one that rounding decides differs by processor."""

    def compares(node):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            inner = called in ("all", "any", "item", "tolist", "bool") and ast.walk(node.func)
            return called in COMPARES or any(isinstance(part, ast.Compare) for part in inner or ())
        return isinstance(node, ast.Compare)

    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    shown = [argument for call in calls if getattr(call.func, "id", "") == "print" for argument in call.args]
    shown += [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FormattedValue)]
    return [ast.unparse(node) for node in shown if compares(node)]


@every_notebook
def test_stored_outputs_hold_on_every_processor(name):
    said = {cell.id: tiny_numbers(" ".join(str(text) for text in texts(cell))) for cell in code_cells(name)}
    noise = {cell: found for cell, found in said.items() if found - TINY_IN_MATHEMATICS.get(cell, set())}
    assert not noise, "by cell; plots.in_words says below 1e-9"
    assert not [found for cell in code_cells(name) for found in printed_comparisons(cell.source)]


def test_noise_and_printed_comparisons_are_found():
    assert tiny_numbers("to 1.72e-16 at 6, [-3e-17] 2e-9 0 0e+00 0.0 1e-3 e-12 7e4") == {"1.72e-16", "-3e-17"}
    assert tiny_numbers("below 1e-9") == set()
    for source in ("print('equal?', torch.equal(a, b))", "print(f'{(a == b).all()}')", "x = f'{a < b}'"):
        assert printed_comparisons(source), source
    assert not printed_comparisons("print(a if a == b else 'no'); assert torch.equal(a, b); f'{(mask).all()}'")


def test_a_cell_keeps_its_id():
    """No other cell of the course has it, so that a cell may move. It says nothing of the position, so that no one is
    tempted to number anew when a cell is put in between."""
    ids = [cell.id for notebook in NOTEBOOKS.values() for cell in notebook.cells]
    assert len(set(ids)) == len(ids) and not any(re.fullmatch(r"\d+-\d+", one) for one in ids)


# The prose


@every_notebook
def test_no_filler_words(name):
    assert not FILLER.findall(prose(name))


@every_notebook
def test_anatomy(name):
    first = NOTEBOOKS[name].cells[0]
    assert first.cell_type == "markdown" and first.source.startswith("# ")
    assert re.search(r"\d+ minutes", first.source), "the first cell says how long it takes"
    for address in links.launch_links(f"{name}.ipynb", links.repository()):
        assert f"]({address})" in first.source, "the first cell has the launch links: make links brings them in line"
    assert re.search(r"^#+ .*Summary", prose(name), re.MULTILINE)
    questions = re.split(r"^#+ .*Check yourself.*$", prose(name), flags=re.MULTILINE)
    assert len(questions) == 2, "one section Check yourself"
    folded = re.split(r"^## ", questions[1], maxsplit=1, flags=re.MULTILINE)[0]
    assert folded.count("<details>") >= 3
    assert folded.count("<details>") == folded.count("<summary>") == folded.count("</details>")


@every_notebook
def test_four_exercises_and_two_widgets(name):
    assert len(exercise_cells(NOTEBOOKS[name])) >= 4
    calls = re.findall(r"^widgets\.\w+\(", "\n".join(cell.source for cell in code_cells(name)), re.MULTILINE)
    assert len(calls) >= 2


def taught(name):
    """The ids of the syllabus in the metadata of a notebook's cells, a list for each cell that has some."""
    return [ids for cell in NOTEBOOKS[name].cells if (ids := syllabus(cell))]


@pytest.mark.parametrize("name", SYLLABUS)
def test_the_cells_of_a_notebook_teach_its_part_of_the_syllabus(name):
    assert set().union(*taught(name)) == SYLLABUS[name], "topics.txt says which ids belong to a notebook"


@every_notebook
def test_a_cell_lists_its_ids_once_and_in_order(name):
    for ids in taught(name):
        assert set(ids) <= WHOLE
        assert ids == sorted(set(ids), key=lambda one: (one[0], int(one[1:])))


def test_the_course_teaches_the_whole_syllabus():
    assert set().union(*(ids for name in NOTEBOOKS for ids in taught(name))) == WHOLE


def test_ids_are_read_from_lists_and_ranges():
    assert spelled_out("A1-A3 X9 B12 trains") == {"A1", "A2", "A3", "X9", "B12"} and len(WHOLE) == 75


@every_notebook
def test_links_to_files_resolve(name):
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose(name))
    missing = [target for target in targets if not (ROOT / "notebooks" / target).exists()]
    assert not missing, "link what is there, name in plain text what is to come"


@every_notebook
def test_the_summary_ends_with_an_open_question_and_two_papers(name):
    asked = [part for part in prose(name).split("\n\n") if part.startswith("**Open question.**")]
    assert len(asked) == 1 and asked[0] in re.split(r"^#+ .*Summary", prose(name), flags=re.MULTILINE)[1]
    assert re.match(r"\*\*Open question\.\*\* \*[^*]+\?\* ", asked[0])
    papers = re.findall(
        r"\(20(\d\d)\), \"[^\"]+\", \[arXiv (\d\d)(\d\d\.\d{5})\]\(https://arxiv\.org/abs/(\S+)\)", asked[0]
    )
    assert len(papers) == 2, "two papers to begin with: authors (year), title, arXiv number"
    assert all(year == begins and address == begins + rest for year, begins, rest, address in papers)


# Claims, and the form of discovery


def claims_faults(cells):
    """What is wrong with the claims cells among the cells of a notebook, in words."""
    code = {cell.id: cell for cell in cells if cell.cell_type == "code"}
    for number, cell in enumerate(cells):
        if not has(cell, CLAIMS):
            continue
        after = next(
            (one for one in cells[number + 1 :] if one.cell_type == "code" or one.source.startswith("## ")), None
        )
        if after is not None and not after.source.startswith("## "):
            yield f"{cell.id}: code of its section stands below it"
        if not speaks_of(cell) or not set(speaks_of(cell)) <= {one.id for one in cells[:number]} & set(code):
            yield f"{cell.id}: `of` has to name code cells above it"
        tree, own = ast.parse(cell.source), names_defined(cell.source)
        asserted = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
        if (
            not cell.source.startswith("# ")
            or not all(node.msg for node in asserted)
            or not ledger.assertions(cell.source)
        ):
            yield f"{cell.id}: it begins with a comment, and each assertion says its claim in words"
        if cell.outputs:
            yield f"{cell.id}: it shows something"
        used = {name for one in code.values() if one is not cell for name, _ in names_in(one.source)}
        if own & used:
            yield f"{cell.id}: another cell uses {own & used}, which it defines"


def names_in(source):
    return names_used(symtable.symtable(source, "cell", "exec"))


@every_notebook
def test_claims_stand_at_the_end_of_their_section_and_read_well(name):
    assert list(claims_faults(NOTEBOOKS[name].cells)) == []


def test_faults_of_claims_are_found():
    def claims(source="# Claims\nassert x == 1, 'x is one'", of=("a",), outputs=()):
        metadata = {"tags": ["claims"], "of": list(of)}
        return nbformat.v4.new_code_cell(source, id="c", metadata=metadata, outputs=list(outputs))

    heading, below = nbformat.v4.new_markdown_cell("## 2 · Next"), nbformat.v4.new_code_cell("print(y)", id="b")
    first = nbformat.v4.new_code_cell("x = 1", id="a")
    assert list(claims_faults([first, claims(), heading, below])) == []
    printed = nbformat.v4.new_output("stream", text="1")
    for cells in (
        [first, claims(), below],
        [first, claims(of=[])],
        [claims(), heading, first],
        [first, claims("# Claims\nassert x == 1")],
        [first, claims("assert x == 1, 'x is one'")],
        [first, claims("# Claims\nx == 1")],
        [first, claims(outputs=[printed])],
        [first, claims("# Claims\ny = 2\nassert x < y, 'x is less'"), heading, below],
    ):
        assert len(list(claims_faults(cells))) == 1, cells


GUESSES = re.compile(r"(?:^|[.?!:*] ?)(?:Guess|Predict)\b", re.MULTILINE)  # as an order to the reader


def discovery_faults(notebook, before=None):
    """What of the form of discovery a notebook does not keep; `before`: its words and lines in the edition before."""
    counts = reading_time.count(notebook)
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    if before and (counts.words > 0.9 * before[0] or counts.lines + counts.folded > 0.9 * before[1]):
        yield f"{counts.words} words and {counts.lines + counts.folded} lines; {before} have to fall by a tenth"
    if sum(cell.source.count("widgets.guess(") for cell in code(notebook)) < 2:
        yield "fewer than two guesses"
    if GUESSES.search(text):
        yield "a guess that is not recorded"
    if "## Where the sources disagree" in text or "Sources by section" in text:
        yield "sources are told in the text"
    for cell in code(notebook):
        if "assert" in cell.source and not (is_volatile(cell) or has(cell, CLAIMS)):
            yield f"{cell.id}: it asserts something, and is neither a training nor a claims cell"


def test_a_notebook_lets_discover():
    found = {name: list(discovery_faults(NOTEBOOKS[name], BEFORE.get(name[3:]))) for name in NOTEBOOKS}
    assert not any(found.values()), found


def test_what_gives_results_away_is_noticed():
    cells = [nbformat.v4.new_code_cell("x", metadata={"tags": ["setup"]})]
    cells += [nbformat.v4.new_code_cell("widgets.guess('a')\nwidgets.guess('b')")]
    new = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("Words."), *cells])
    assert list(discovery_faults(new)) == [] == list(discovery_faults(new, (2, 4)))
    assert len(list(discovery_faults(new, (1, 4)))) == len(list(discovery_faults(new, (2, 2)))) == 1
    assert len(list(discovery_faults(nbformat.v4.new_notebook(cells=[*new.cells[:1], cells[0]])))) == 1
    for text in ("How far? Guess first.", "**Guess** it.", "Predict it.", "## Where the sources disagree"):
        new.cells[0].source = text
        assert len(list(discovery_faults(new))) == 1, text
    new.cells[0].source = "Your guess stands beside what was measured."
    assert list(discovery_faults(new)) == []
    new.cells.append(nbformat.v4.new_code_cell("assert x"))
    assert len(list(discovery_faults(new))) == 1


# Definitions and exercises


@every_notebook
def test_what_a_notebook_shows_of_utils_is_what_utils_holds(name):
    filled = fill_notebooks.fill(copy.deepcopy(NOTEBOOKS[name]))
    stale = [cell.id for cell, now in zip(NOTEBOOKS[name].cells, filled.cells) if cell.source != now.source]
    assert not stale, "run `make notebooks`"
    assert all(fill_notebooks.definitions(cell.source) for cell in code_cells(name) if has(cell, "defines"))


def imports_of(source):
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Import, ast.ImportFrom))]


@every_notebook
def test_the_imports_of_a_notebook_stand_in_its_second_code_cell(name):
    setup, second, *others = code_cells(name)
    assert not [cell.source for cell in others if imports_of(cell.source)]
    allowed = (ast.Import, ast.ImportFrom, ast.Assign)
    assert not imports_of(second.source) or all(isinstance(node, allowed) for node in ast.parse(second.source).body)


AT_ONCE = {"listcomp", "setcomp", "dictcomp", "genexpr"}  # scopes whose code runs where it stands


def names_used(table, at_once=True):
    """(name, is it looked up as soon as the cell runs?) of every global name that a cell's scopes take from outside."""
    for symbol in table.get_symbols():
        outside = table.get_type() == "module" or symbol.is_global()
        if outside and symbol.is_referenced() and not symbol.is_assigned() and not symbol.is_imported():
            yield symbol.get_name(), at_once
    for inner in table.get_children():
        runs_now = inner.get_type() == "class" or inner.get_name() in AT_ONCE
        yield from names_used(inner, at_once and runs_now)


def names_defined(source):
    """The names that a cell gives to something."""
    table = symtable.symtable(source, "cell", "exec")
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}


def missing(sources):
    """What cells use before it is there, at once or ever."""
    known, found = set(dir(builtins)), []
    ever = known.union(*map(names_defined, sources))
    for source in sources:
        known |= names_defined(source)  # in which order within a cell shows when it runs
        used = names_used(symtable.symtable(source, "cell", "exec"))
        found += [name for name, at_once in used if name not in (known if at_once else ever)]
    return found


def strays(sources):
    """What cells use before it is there, and what they define over the head of an import."""
    tables = [symtable.symtable(source, "cell", "exec").get_symbols() for source in sources]
    imported = {symbol.get_name() for table in tables for symbol in table if symbol.is_imported()}
    assigned = {symbol.get_name() for table in tables for symbol in table if symbol.is_assigned()}
    return sorted({*missing(sources), *imported & assigned})


@every_notebook
def test_a_name_is_there_before_it_is_used_and_means_one_thing(name):
    assert strays([cell.source for cell in code_cells(name)]) == []


def test_strays_are_found():
    assert strays(["import math", "def f(x):\n    return g(x) + math.pi", "def g(x):\n    return x", "f(1)"]) == []
    assert strays(["x = y", "y = 1"]) == ["y"] == strays(["[y for _ in range(3)]", "y = 1"])
    assert strays(["class A(B):\n    pass", "class B:\n    pass"]) == ["B"]
    assert strays(["def f():\n    return nowhere"]) == ["nowhere"]
    assert strays(["from math import pi", "def pi():\n    return 3"]) == ["pi"] == strays(["import pi", "pi = 3"])


def test_topics_and_notebooks_are_in_one_order():
    """The package works without the notebooks, so the order stands there, too."""
    assert [f"{number:02}_{topic}" for number, topic in enumerate(TOPICS)] == list(NOTEBOOKS)
    files = {path.stem for path in Path(tasks.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == {*TOPICS}


def test_every_exercise_is_in_one_notebook():
    placed = [exercise for notebook in NOTEBOOKS.values() for exercise in exercise_cells(notebook)]
    tags = [1 for name in NOTEBOOKS for cell in code_cells(name) if tagged(cell, "exercise:")]
    assert sorted(placed) == sorted(catalogue())
    assert len(tags) == len(placed), "a tag `exercise:` stands twice in one notebook"


def test_the_catalogue_is_in_the_order_of_the_notebooks():
    placed = [exercise for notebook in NOTEBOOKS.values() for exercise in exercise_cells(notebook)]
    assert placed == list(catalogue())


@pytest.mark.parametrize("exercise", catalogue())
def test_an_exercise_cell_holds_the_stub_of_its_reference(exercise):
    cell = next(cells[exercise] for cells in map(exercise_cells, NOTEBOOKS.values()) if exercise in cells)
    found, (stub, *rest) = catalogue()[exercise], ast.parse(cell.source).body
    reference = ast.parse(reference_source(found)).body[0]
    assert type(stub) is type(reference) and stub.name == exercise
    assert ast.get_docstring(stub) == ast.get_docstring(reference) is not None
    if found.broken or isinstance(stub, ast.ClassDef):
        assert cell.source.startswith(f"{found.stub}\n")
    else:
        assert ast.dump(stub.args) == ast.dump(reference.args)
        assert [ast.unparse(line) for line in stub.body[1:]] in (["return ..."], ["return (..., ...)"])
    lines = [ast.unparse(line) for line in rest]
    assert lines in ([f"check({exercise})"], [f"check({exercise})", f"{exercise} = use({exercise})"])
    assert texts(cell) == [("stdout", f"○ {exercise}: {untried(found)}\n")]


def untried(found):
    """What is said of an exercise as it ships."""
    if isinstance(found.course, type):
        return found._untried().message
    return found.verdict(found.broken.function if found.broken else lambda *given: ...).message


@every_notebook
def test_a_bench_stands_below_an_exercise_whose_own_code_is_tried_out(name):
    """As in debugging: the learner's code, not the course's, runs in the bench, for no use(...) comes between."""
    pairs = zip(code_cells(name), code_cells(name)[1:])
    debugged = [tagged(cell, "exercise:") for cell, below in pairs if tagged(below, "bench") is not None]
    exercises = exercise_cells(NOTEBOOKS[name])
    assert set(debugged) == {one for one, cell in exercises.items() if "use(" not in cell.source}
    assert {one for one in exercises if catalogue()[one].broken} <= set(debugged)


# What the notebooks do: tests/rerun_plugin.py says what else is tried in nbval's own kernel


def solved(notebook):
    """A copy of `notebook` in which every exercise holds its reference instead of its stub."""
    notebook = copy.deepcopy(notebook)
    for exercise, cell in exercise_cells(notebook).items():
        end = ast.parse(cell.source).body[0].end_lineno
        cell.source = "\n".join([reference_source(catalogue()[exercise]), *cell.source.splitlines()[end:]])
    return notebook


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a repository that holds what a notebook needs of the course."""
    return course_repo.publish(tmp_path_factory.mktemp("published"))


@pytest.mark.lane("all")
@pytest.mark.runs_cells
@every_notebook
def test_solved_and_alone_in_an_empty_folder_it_runs(address, name, tmp_path):
    """It fetches the course there, as on Colab; right answers change nothing but their verdicts."""
    notebook = solved(NOTEBOOKS[name])
    next(cell for cell in notebook.cells if cell.cell_type == "code").source = course_repo.setup_cell(address)
    cells = [cell for cell in execute_notebooks.execute(notebook, tmp_path).cells if cell.cell_type == "code"]
    assert (tmp_path / "attention-course" / "utils" / "exercises").is_dir()
    for cell, stored in zip(cells, code_cells(name), strict=True):
        if exercise := tagged(cell, "exercise:"):
            ((_, verdict),) = texts(cell)
            assert verdict.startswith(f"✔ {exercise}: "), verdict
        elif tagged(cell, "bench") is None and not execute_notebooks.is_volatile(cell):
            assert texts(cell) == texts(stored), f"the cell that begins {cell.source[:60]!r}"


@pytest.mark.lane("all")
def test_the_first_one_runs_with_vectors_in_stanfords_format(tmp_path):
    """The course's vectors turned round a random axis: other numbers, the same angles, in a file such as Stanford's."""
    ours = WordVectors.load()
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(100, 100)))
    path = tmp_path / "glove.6B.100d.first15000.npz"
    WordVectors(ours.words[:15_000], (ours.matrix @ turn)[:15_000].round(5)).save(path)
    notebook = copy.deepcopy(NOTEBOOKS[named("dot_product_similarity")])
    switch = next(cell for cell in notebook.cells if cell.source.startswith("USE_STANFORD = False"))
    file = 'home / "data" / "glove.6B.100d.first40000.npz"'  # what `make glove` leaves there
    assert f"WordVectors.load({file})" in switch.source
    switch.source = switch.source.replace("= False", "= True").replace(file, repr(str(path)))
    executed = execute_notebooks.execute(notebook, ROOT / "notebooks")
    says = next(cell for cell in executed.cells if cell.id == switch.id).outputs[0].text
    assert says.startswith("In use: Stanford's GloVe 6B (15,000 words, 100 dimensions)")
    said = "".join(str(text) for cell in executed.cells if cell.cell_type == "code" for text in texts(cell))
    assert "the course's own" not in said


def test_environment_of_a_kernel_is_read_while_another_thread_changes_it(monkeypatch):
    """As pytest does: notebooks run in threads of the tests' process, and PYTEST_CURRENT_TEST comes and goes."""
    ended = threading.Event()

    def come_and_go():
        while not ended.is_set():
            os.environ["COMES_AND_GOES"] = "1"
            os.environ.pop("COMES_AND_GOES")

    switching = sys.getswitchinterval()
    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        sys.setswitchinterval(1e-6)
        for _ in range(300):
            assert execute_notebooks.kernel_environment()["PATH"] == os.environ["PATH"]
    finally:
        sys.setswitchinterval(switching)
        ended.set()
        other.join()
