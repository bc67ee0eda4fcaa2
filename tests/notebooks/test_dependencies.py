"""What is stored of a cell holds until something changes that it depends on, and no longer."""

import copy
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from tools.notebooks import dependencies, execute, files
from tools.site import slices

PATHS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def test_a_cell_needs_the_cells_that_make_its_names():
    texts = [
        "import torch",
        "kind = 3",
        "def f(x):\n    return x + offset",
        "model = build()",
        "offset = 1",
        "for name in []:\n    model.fit(name)",
        "kind = 4",
        "def build():\n    return [torch for kind in range(2)]",
        "lone = 5",
        "model.append(f(offset))",
        "print(lone, model)",
        "widgets.show(model, f)",
    ]
    cells = [dependencies.Cell(text) for text in texts]
    assert slices.called_widget(texts[-1]) == "show" and slices.called_widget("a = widgets.show()") is None
    assert dependencies.needed(cells, 11) == [0, 2, 3, 4, 5, 9, 11]
    assert dependencies.needed(cells, 9) == [0, 2, 3, 4, 5, 9]


def cells(*sources, tags=()):
    made = [new_code_cell(source, id=f"cell{place}") for place, source in enumerate(["SETUP", *sources])]
    for place, tag in dict(tags).items():
        made[place].metadata["tags"] = [tag]
    return made


def last_key(*sources, **tags):
    return list(dependencies.keys(cells(*sources, **tags)).values())[-1]


MODEL = ("import torch", "model = torch.nn.Linear(2, 2)", "model.fit(3)", "print(model)")


@pytest.mark.parametrize(
    "sources",
    [
        ("import torch", "model = torch.nn.Linear(2, 3)", "model.fit(3)", "print(model)"),
        ("import torch", "model = torch.nn.Linear(2, 2)", "model.fit(4)", "print(model)"),
        ("import torch", "model = torch.nn.Linear(2, 2)", "print(model)"),
        ("import torch", "model = torch.nn.Linear(2, 2)", "model.fit(3)", "model.weight[0] = 1", "print(model)"),
        ("import another as torch", *MODEL[1:]),
        (*MODEL[:3], "print(model, 'more')"),
    ],
)
def test_a_key_changes_with_what_the_cell_depends_on(sources):
    assert last_key(*sources) != last_key(*MODEL)


@pytest.mark.parametrize(
    "sources",
    [
        ("import math, torch  # both", *MODEL[1:]),
        ("import torch\nfrom math import pi", "other = pi", *MODEL[1:]),
        ("import torch", "model = torch.nn.Linear(\n    2, 2\n)", "model.fit(3)", "# here\nprint((model))"),
        ("import torch", "%magic and no Python", *MODEL[1:]),
    ],
)
def test_a_key_does_not_change_with_anything_else(sources):
    assert last_key(*sources) == last_key(*MODEL)


def test_a_docstring_says_nothing_and_a_sentence_that_is_printed_does():
    plain, told = "def f():\n    return 'a'", 'def f():\n    """It."""\n    return \'a\''
    assert last_key(plain, "f()") == last_key(told, "f()") != last_key(plain.replace("'a'", "'b'"), "f()")


def test_an_exercise_is_the_course_s_function_whatever_stands_in_its_cell():
    stub, mine = "def f(x):\n    return ...\n\n\ncheck(f)", "def f(x):\n    return helper(x)\n\n\ncheck(f)\nf = use(f)"
    keys = [last_key("helper = 1", one, "print(f(2))", tags={2: "exercise:f"}) for one in (stub, mine)]
    assert keys[0] == keys[1] != last_key("helper = 1", stub, "print(f(2))")


STUB = "def packed_mask(lengths):\n    return ...\n\n\ncheck(packed_mask)\npacked_mask = use(packed_mask)"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_an_exercise_put_into_a_notebook_voids_nothing_that_does_not_depend_on_it(path):
    """In whatever place it comes: the stored outputs stay valid, and so do the spreads over seeds."""
    notebook = files.read(path)
    before, size = execute.fingerprints(notebook), len(notebook.cells)
    for number in (2, size // 3, 2 * size // 3):
        more = copy.deepcopy(notebook)
        more.cells[number:number] = [new_code_cell(STUB, metadata={"tags": ["exercise:packed_mask"]})]
        more.cells[number + 1 : number + 1] = [new_code_cell("print(packed_mask)")]
        assert before.items() <= execute.fingerprints(more).items()


def test_ids_are_unique_over_the_course():
    """What is stored of a cell is found by its id alone."""
    ids = [cell.id for path in PATHS for cell in nbformat.read(path, as_version=4).cells]
    assert len(ids) == len(set(ids))
