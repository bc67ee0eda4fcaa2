"""teachers/needed.py: which statements of a notebook an answer needs, and how cells in IPython's syntax read."""

import ast

import pytest

from utils.exercises.teachers.needed import Cell, Notebook


def needed(*cells, exercises=None):
    """The statements that `answer`, defined in the cell that says so, needs of the other cells; a line for each."""
    number = next(n for n, cell in enumerate(cells) if "answer" in cell)
    notebook = Notebook(list(cells), exercises or [[] for _ in cells], [])
    found = notebook.needed(["answer"], number, {"causal_mask"}).values()
    return [one if isinstance(one, str) else ast.unparse(one).replace("\n", ";").replace("    ", " ") for one in found]


ANSWER = "def answer(x):\n    return LOW"

KINDS = {
    "an alias": (
        ["import torch", "t = torch; n = train(t)", "def answer(n): return t.ones(n)"],
        "import torch|t = torch",
    ),
    "a chain": (["LOW = A / 2", "A = B = 4; C = B", "LOW = C", ANSWER], "A = B = 4|C = B|LOW = C"),
    "with an annotation": (["LOW: float", "LOW: float = -1e30", "LOW: float", ANSWER], "LOW: float = -1e+30"),
    "changed": (["LOW = 1; n = 3", "LOW *= 2; n *= 4", ANSWER], "LOW = 1|LOW *= 2"),
    "of a tuple": (["LOW, model = -1, train()", ANSWER], "LOW, = (-1,)"),
    "of one that is no tuple": (["LOW, model = pair", "pair = 1, 2", ANSWER], "LOW, model = pair|pair = (1, 2)"),
    "in a list in a cell": (
        ["LOW = []", "LOW.append(1); print(LOW)", "fit(LOW)", "LOW[0] = 2", ANSWER],
        "LOW = []|LOW.append(1)|LOW[0] = 2",
    ),
    "a loop": (
        ["for i in range(3):\n  if i > 1: break\n  LOW = i * j\n  train(); j = 2", ANSWER],
        "for i in range(3):; if i > 1:;  break; LOW = i * j; j = 2",
    ),
    "the variable of a loop": (["for LOW in range(3):\n  train()", ANSWER], "for LOW in range(3):; pass"),
    "while": (["n = 0", "while n < 3:\n  n += 1\n  LOW = n", ANSWER], "n = 0|while n < 3:; n += 1; LOW = n"),
    "with": (["with torch.no_grad() as g:\n  LOW = 3\n  input()", ANSWER], "with torch.no_grad() as g:; LOW = 3"),
    "by the header of a with": (["with open('x') as LOW: train()", ANSWER], "with open('x') as LOW:; pass"),
    "one of two branches": (["LOW = train()", "if a: LOW = 1\nelse: LOW = 2", ANSWER], "if a:; LOW = 1;else:; LOW = 2"),
    "perhaps": (["LOW = 3", "if a:\n  LOW = 1\n  train()", ANSWER], "LOW = 3|if a:; LOW = 1"),
    "after an error": (
        ["try:\n  import fast\n  LOW = 1\nexcept ImportError:\n  LOW = 2; print()", ANSWER],
        "try:; import fast; LOW = 1;except ImportError:; LOW = 2",
    ),
    "by :=": (["print(LOW := 3)", ANSWER], "print((LOW := 3))"),
    "by := in a comprehension": (["rows = [LOW := n for n in a]", ANSWER], "rows = [(LOW := n) for n in a]"),
    "by global": (
        ["def set_up():\n  global LOW\n  LOW = 3", "set_up()", "set_up", ANSWER],
        "def set_up():; global LOW; LOW = 3|set_up()",
    ),
    "counted by global": (["LOW = 3", "def answer(x):\n  global LOW\n  LOW += 1"], "LOW = 3"),
    "global at the top": (["global LOW; LOW = 3", ANSWER], "LOW = 3"),
    "by await": (["LOW = await low()", ANSWER], "LOW = await low()"),
    "by match": (["match 3:\n  case LOW:\n    train()", ANSWER], "match 3:; case LOW:;  pass"),
    "deleted": (["LOW = 3", "del LOW", ANSWER], "LOW = 3"),
    "the last one above": (["LOW = input()", "LOW = -1", ANSWER, "LOW = train()"], "LOW = -1"),
    "the first one below": ([ANSWER, "LOW = -1", "LOW = train()"], "LOW = -1"),
    "by a helper": (
        ["LOW = train()", "def fill(): return LOW", "LOW = 3", "def answer(x): return fill()"],
        "def fill():; return LOW|LOW = 3",
    ),
    "by a helper, before": (
        ["LOW = 2", "def fill(): return LOW", "T = fill()", "LOW = 3", "def answer(x): return T"],
        "LOW = 2|def fill():; return LOW|T = fill()",
    ),
    "by a helper that is handed on": (
        ["LOW = 2", "def fill(): return LOW", "T = partial(fill)", "LOW = 3", "def answer(x): return T()"],
        "LOW = 2|def fill():; return LOW|T = partial(fill)|LOW = 3",
    ),
    "by a lambda": (
        ["fill = lambda x: x + LOW", "LOW = 3", "def answer(x): return fill(x)"],
        "fill = lambda x: x + LOW|LOW = 3",
    ),
    "by a default": (["LOW = 3", "def answer(x, low=LOW): return low"], "LOW = 3"),
    "by a decorator": (
        ["import functools", "once = functools.cache", "@once\ndef answer(x): return 1"],
        "import functools|once = functools.cache",
    ),
    "by an annotation": (
        ["from torch import Tensor as T", "Mask = T", "def answer(x: Mask): return 1"],
        "from torch import Tensor as T|Mask = T",
    ),
    "by a class": (
        ["LOW = 3; HIGH = 4", "class C:\n  low = LOW\n  def f(self): return HIGH", "def answer(x): return C"],
        "LOW = 3|HIGH = 4|class C:; low = LOW;; def f(self):;  return HIGH",
    ),
    "in its own cell": (["HIGH = 4", f"LOW = HIGH\n{ANSWER}\nprint(model)", "model = train()"], "HIGH = 4"),
    "by a comprehension": (["n = 3", "LOW = [n for i in range(n)]", ANSWER], "n = 3|LOW = [n for i in range(n)]"),
    "a class of an alias": (
        ["nn = torch.nn", "class Net(nn.Module): pass", "def answer(x): return Net()"],
        "nn = torch.nn|class Net(nn.Module):; pass",
    ),
    "an attribute of a function": (
        ["def fill(): pass", "fill.low = 3", "def answer(x): return fill.low"],
        "def fill():; pass|fill.low = 3",
    ),
    "two modules": (
        ["import os.path", "import os", "import os.path", "def answer(x): return os"],
        "import os|import os.path",
    ),
    "a module is changed": (
        ["import os", "os.environ['x'] = input(); os.remove('x')", "def answer(x): return os"],
        "import os",
    ),
    "own names": (["i = x = y = train()", "def answer(x):\n  y = [i for i in x]\n  return y"], ""),
    "another exercise": (["def answer(n): return causal_mask(n)"], "causal_mask"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_statements_that_bind_what_an_answer_looks_up(kind):
    cells, wanted = KINDS[kind]
    assert "|".join(needed(*cells)) == wanted


def test_an_exercise_above_is_its_answer_and_not_its_cell():
    cells = "def causal_mask(n): return LOW\nLOW = 3", "mask = causal_mask", "def answer(n): return mask, LOW"
    assert needed(*cells, exercises=[["causal_mask"], [], []]) == ["causal_mask", "LOW = 3", "mask = causal_mask"]


SYNTAX = {
    "torch.tril?": "pass",
    "?torch.tril": "pass",
    "torch.tril??\nx = 1": "pass|x = 1",
    "files = !ls": "files = []",
    "!ls\n!!ls": "pass|pass",
    "%matplotlib inline\nx = 1": "pass|x = 1",
    "%time x = f()": "x = f()",
    "x = %time f()": "x = f()",
    "x = %pwd": "x = None",
    "x = %timeit -n 10 -o f(1)": "x = f(1)",
    "%prun -s cumtime f()": "f()",
    "for i in a:\n    !ls\n    x = %time f(i)": "for i in a:;    pass;    x = f(i)",
    "def f():\n    %time x = 1\n    return x": "def f():;    x = 1;    return x",
    "get_ipython().run_line_magic('matplotlib', 'inline')": "pass",
    "%%time\nx = 1\n%time y = 2": "x = 1|y = 2",
    "%%capture out\n%%time\nx = 1": "x = 1",
    "%%bash\nx=1": "",
    "%%writefile a.py\nx = 1": "",
    ">>> x = 1\n>>> y = 2": "x = 1|y = 2",
    "  x = 1\n  y = 2": "x = 1|y = 2",
    "s = '''\n%time\n!ls\n'''": "s = '\\n%time\\n!ls\\n'",
}


@pytest.mark.parametrize("source", SYNTAX)
def test_what_ipython_adds_is_read_by_ipython(source):
    cell = Cell(source)
    assert cell.error is None and "|".join(map(ast.unparse, cell.statements)).replace("\n", ";") == SYNTAX[source]


def test_a_cell_in_a_magic_keeps_its_lines():
    assert [node.lineno for node in Cell("%%time\nx = 1\n\ny = 2").statements] == [2, 4]


@pytest.mark.parametrize("source", ["x = (", "x = 1\0", "\ud800 = 1", "%%time\nx = (", "x = " + "(" * 300])
def test_what_python_cannot_read_has_an_error(source):
    cell = Cell(source)
    assert cell.statements == [] and cell.error is not None
