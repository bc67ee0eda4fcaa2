"""tools/notebooks/fill.py: the code of utils/ that notebooks show, taken from there."""

import ast

import pytest

from tools.notebooks import fill as fill_notebooks

HELD = '''class Layer(Base):
    """What a module says.

    At length.
    """

    @cached
    def forward(self, x):
        """Goes on."""
        return x + 1  # (n,)


@counted
def twice(x):
    """Two times x."""
    return 2 * x
'''


def held():
    return {name: (HELD, node) for name, node in fill_notebooks.definitions(HELD).items()}


def test_code_is_taken_over_and_docstrings_are_not():
    cell = "import math\n\n\nclass Layer(Base):\n    def forward(self, x):\n        return x\n\n\nlayer = Layer()"
    filled = fill_notebooks.with_code_of(cell, held())
    assert filled == (
        "import math\n\n\nclass Layer(Base):\n    @cached\n    def forward(self, x):\n"
        "        return x + 1  # (n,)\n\n\nlayer = Layer()"
    )
    assert fill_notebooks.with_code_of(filled, held()) == filled


def test_a_cell_keeps_its_own_docstring_and_several_definitions_are_filled():
    cell = 'def twice(x):\n    """My words."""\n    return x\n\n\nclass Layer:\n    pass\n\n\nprint(twice(3))'
    filled = fill_notebooks.with_code_of(cell, held())
    first, second = '@counted\ndef twice(x):\n    """My words."""\n    return 2 * x', "class Layer(Base):\n    @cached"
    assert filled.startswith(f"{first}\n\n\n{second}")
    assert filled.endswith("# (n,)\n\n\nprint(twice(3))")
    assert fill_notebooks.with_code_of(filled, held()) == filled


def test_what_utils_does_not_hold_is_named():
    with pytest.raises(ValueError, match="shows thrice"):
        fill_notebooks.with_code_of("def thrice(x):\n    return 3 * x", held())


def test_a_stub_of_a_class_takes_first_lines_and_docstrings_and_keeps_the_learners_bodies():
    reference = """class Layer(nn.Module):
    \'\'\'A layer for X (n, d).\'\'\'

    def __init__(self, d_model):
        super().__init__()
        self.W = nn.Linear(d_model, d_model)

    def forward(self, X):  # (n, d)
        return self.W(X)"""
    mine = "class Layer:\n    'Old.'\n\n    def __init__(self, size):\n        super().__init__()\n        self.V = 1\n"
    mine += "\n    def forward(self, x, y):\n        return self.V * x\n\n\ncheck(Layer)"
    filled = fill_notebooks.with_stub_of(mine, "Layer", reference)
    assert filled == (
        "class Layer(nn.Module):\n    '''A layer for X (n, d).'''\n\n    def __init__(self, d_model):\n"
        "        super().__init__()\n        self.V = 1\n\n    def forward(self, X):  # (n, d)\n"
        "        return self.V * x\n\n\ncheck(Layer)"
    )
    assert fill_notebooks.with_stub_of(filled, "Layer", reference) == filled


def test_a_stub_takes_signature_and_docstring_and_keeps_the_learners_body():
    reference = 'def scores(query, keys):\n    """Scores (n,)."""\n    return keys @ query'
    mine = 'def scores(q):\n    """Old."""\n    return ...\n\n\ncheck(scores)'
    expected = 'def scores(query, keys):\n    """Scores (n,)."""\n    return ...\n\n\ncheck(scores)'
    assert fill_notebooks.with_stub_of(mine, "scores", reference) == expected
    solved = expected.replace("...", "query @ keys.T  # mine")
    assert fill_notebooks.with_stub_of(solved, "scores", reference) == solved


def test_every_definition_of_utils_can_be_shown():
    for name, (source, node) in fill_notebooks.in_utils().items():
        code = "\n".join(fill_notebooks.without_docstrings(source, node))
        assert ast.parse(code).body[0].name == name


def test_a_stub_without_docstring_gets_one_and_keeps_its_body():
    """A maintainer's new cell: the body is not taken for the docstring, nor a comment for the signature."""
    reference = 'def scores(\n    query,\n    keys,\n):\n    """Scores (n,)."""\n    return keys @ query'
    body = "    # mine\n    return ...\n\n\ncheck(scores)"
    expected = reference.replace("    return keys @ query", body)
    assert fill_notebooks.with_stub_of(f"def scores(q):\n{body}", "scores", reference) == expected
    assert fill_notebooks.with_stub_of(expected, "scores", reference) == expected


def test_a_stub_in_one_line_is_refused():
    with pytest.raises(ValueError, match="`return ...` on a line of its own"):
        fill_notebooks.with_stub_of("def f(x): return ...", "f", 'def f(x):\n    """It."""\n    return x')
