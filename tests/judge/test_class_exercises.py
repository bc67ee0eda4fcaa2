"""An exercise may ask for a class: its layer is built with drawn sizes and judged with the reference's weights."""

import inspect
import linecache
import math
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import torch
import torch.nn.functional as F
from topics import notebook
from torch import nn

from tools.notebooks import files
from utils.attention import SelfAttention as Guarded
from utils.exercises import check, hint, solution, use
from utils.exercises.teachers import grading
from utils.judge import exercise as engine
from utils.judge.catalogue.rows import mistake, read
from utils.judge.exercise import exercise
from utils.judge.run import sandbox

ROOT = Path(__file__).parents[2]


def draw(generator):
    for d_model, d_head, shape, dtype in (
        (4, 4, (3,), torch.float32),
        (6, 2, (5,), torch.float32),
        (3, 5, (2, 4), torch.float64),
    ):
        yield d_model, d_head, torch.randn(*shape, d_model, generator=generator, dtype=dtype)


class SelfAttention(nn.Module):
    """One head of self-attention over X (…, n, d): returns the output (…, n, e) and the weights (…, n, n)."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_head, bias=False)
        self.W_k = nn.Linear(d_model, d_head, bias=False)
        self.W_v = nn.Linear(d_model, d_head, bias=False)

    def forward(self, X):
        Q, K, V = self.W_q(X), self.W_k(X), self.W_v(X)  # (…, n, e)
        weights = torch.softmax(Q @ K.mT / math.sqrt(Q.shape[-1]), dim=-1)  # (…, n, n)
        return weights @ V, weights


COURSE = SelfAttention  # the tests below define classes of the same name
STUB = '''class SelfAttention(nn.Module):
    """One head of self-attention over X (…, n, d): returns the output (…, n, e) and the weights (…, n, n)."""

    def __init__(self, d_model, d_head):
        super().__init__()
        ...

    def forward(self, X):
        return ...'''
MISTAKES = """
/ math.sqrt(Q.shape[-1]) ->
    the scores are not divided by √d_k.
math.sqrt(Q.shape[-1]) -> math.sqrt(X.shape[-1])
    you divide by √d, the size of an input. Divide by √d_k, the size of a key.
dim=-1) -> dim=-2)
    your softmax runs over the queries. It should run over the keys, the last axis.
Q @ K.mT -> K @ Q.mT
    your scores are transposed: a row should belong to a query.
return weights @ V, weights -> return weights @ V
    the weights are missing: return them, too, behind the output.
return weights @ V, weights -> return weights, weights @ V
    output and weights have changed places: the output comes first.
weights @ V, -> weights @ X,
    you mix the inputs. Mix the values.
self.W_v(X) -> self.W_k(X)
    your values come from W_k. They should come from W_v.
"""


@pytest.fixture
def attention(monkeypatch):
    """The exercise, in the catalogue for one test."""
    others = {name: found for name, found in engine._catalogue.items() if name != "SelfAttention"}
    monkeypatch.setattr(engine, "_catalogue", others)
    found = exercise(draws=draw, hints=["Which three layers?", "…"], level=2, minutes=10)(COURSE)
    found.rows = rows_of(found, MISTAKES)
    return found


def rows_of(found, text):
    """Known mistakes as those of a file."""
    return [mistake(found.reference, *row) for row in read(text)]


RETURNED = "return weights @ V, weights"
NUMPY = "the gradient of `X`, `W_q.weight`, `W_k.weight` and `W_v.weight` is not"
SHARED = "`W_k.weight` and `W_q.weight` are the same parameter"
MATRICES = "for name in 'qkv':\n    matrix = torch.randn(d_model, d_head)\n    MAKE"
BODY = STUB.partition('"""\n\n')[2]
INIT = "\n".join(
    ["self.W_q = nn.Linear(d_model, d_head, bias=False)", "self.W_k = nn.Linear(d_model, d_head, bias=False)"]
)
INIT += "\nself.W_v = nn.Linear(d_model, d_head, bias=False)"
FORWARD = "Q, K, V = self.W_q(X), self.W_k(X), self.W_v(X)\n"
FORWARD += "weights = torch.softmax(Q @ K.mT / Q.shape[-1] ** 0.5, dim=-1)\nreturn weights @ V, weights"


def indent(text):
    return "".join(f"        {line}\n" for line in text.splitlines())


def written(
    init=INIT, forward=FORWARD, bases="(nn.Module)", first="super().__init__()\n", head="forward(self, X)", more=""
):
    """A class as it would stand in a cell, with its source where Python looks for it."""
    text = f"class SelfAttention{bases}:\n    def __init__(self, d_model, d_head):\n{indent(first + init)}\n"
    text += f"    def {head}:\n{indent(forward)}{more}"
    return defined(text)


def defined(text, name="SelfAttention"):
    file = f"<cell {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"__name__": "__main__", "nn": nn, "torch": torch, "math": math, "F": F}
    exec(compile(text, file, "exec"), space)
    return space[name]


def message(found, layer):
    verdict = found.verdict(layer)
    assert verdict.status == "wrong", verdict
    return verdict.message


# What is right


RIGHT = {
    "as the reference": {},
    "by PyTorch's function": {
        "forward": "Q, K, V = self.W_q(X), self.W_k(X), self.W_v(X)\n"
        "every = torch.eye(X.shape[-2], dtype=X.dtype).expand(*X.shape[:-1], X.shape[-2])\n"
        "weights = F.scaled_dot_product_attention(Q, K, every)\nreturn weights @ V, weights"
    },
    "in a loop, with a helper": {
        "init": INIT + "\nself.scale = d_head ** -0.5",
        "forward": "weights = torch.softmax(self.scores(X), dim=-1)\nreturn weights @ self.W_v(X), weights",
        "more": "\n    def scores(self, X):\n        return self.scale * self.W_q(X) @ self.W_k(X).transpose(-2, -1)\n",
    },
    "layers made in another order": {"init": "\n".join(reversed(INIT.splitlines()))},
    "another first line": {"first": "nn.Module.__init__(self)\n"},
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_classes_are_right(attention, name):
    verdict = attention.verdict(written(**RIGHT[name]))
    assert (verdict.status, verdict.message) == ("right", "right on all 4 inputs."), verdict


def test_the_courses_own_class_is_right(attention):
    assert attention.verdict(COURSE).status == "right"
    assert isinstance(attention(4, 2), COURSE)


# What is wrong


def test_every_known_mistake_is_named(attention):
    assert len(attention.rows) == 8
    for row in attention.rows:
        assert message(attention, row.function.layer) == row.message


def test_two_known_mistakes_are_named_together(attention):
    both = written(forward=FORWARD.replace(" / Q.shape[-1] ** 0.5", "").replace("self.W_v(X)", "self.W_k(X)"))
    said = message(attention, both)
    assert "the scores are not divided by √d_k." in said and "They should come from W_v." in said


@pytest.mark.parametrize(
    "how, said",
    [
        ({"first": ""}, "`super().__init__()` should be the first line of `__init__`"),
        ({"first": "", "init": INIT + "\nsuper().__init__()"}, "`super().__init__()` should be the first line"),
        ({"first": "", "init": "self.size = d_head"}, "`super().__init__()` should be the first line of `__init__`"),
        ({"init": INIT.replace("W_q", "query")}, "`query` should be called `W_q`: weights are copied by name."),
        ({"init": INIT.replace(", bias=False", "")}, "`W_q`, `W_k` and `W_v` should have no bias"),
        (
            {"init": INIT.replace("d_model, d_head", "d_head, d_model")},
            "`W_q.weight` has the shape (6, 2); it should have (2, 6). nn.Linear takes the input size first",
        ),
        (
            {"init": "\n".join(INIT.splitlines()[:2])},
            "after `__init__` the layer should have `W_v.weight` (4, 4).",
        ),
        ({"init": INIT + "\nself.W_o = nn.Linear(d_head, d_head)"}, "the layer should not have `W_o.weight` (4, 4)"),
        (
            {"init": "self.layers = [nn.Linear(d_model, d_head, bias=False) for _ in range(3)]"},
            "`self.layers` hides its layers from PyTorch. Use nn.ModuleList",
        ),
        (
            {"init": "self.W_q = torch.randn(d_head, d_model)"},
            "`self.W_q` is a tensor that PyTorch does not train. nn.Parameter or nn.Linear makes it trainable. After",
        ),
        ({"init": "pass", "forward": INIT + "\n" + FORWARD}, "`forward` creates `nn.Linear(…)` anew each time"),
        ({"init": INIT, "forward": "self.more = nn.Linear(1, 1)\n" + FORWARD}, "`forward` creates `more.bias` and"),
        ({"head": "foward(self, X)"}, "the class should have a method `forward`. Yours has `foward`."),
        ({"head": "__call__(self, X)"}, "nn.Module already has a `__call__`, which calls `forward`"),
        ({"head": "forward(X)"}, "should be `def forward(self, X):`; yours is `def forward(X):`."),
        ({"head": "forward(self, X, mask)"}, "`def forward(self, X):`; yours is `def forward(self, X, mask):`."),
        (
            {"init": INIT + "\ndef forward(self, X):\n    return X", "head": "helper(self)"},
            "Yours is inside `__init__`: `def forward` should begin below `def __init__`, at the same level.",
        ),
        (
            {"forward": FORWARD.replace("Q.shape[-1]", "d_head")},
            "Only `__init__` knows it. Keep it there with `self.d_head = d_head`, and read `self.d_head`.",
        ),
        ({"forward": FORWARD.replace("self.W_q(X)", "W_q(X)")}, "It is a part of the layer, so write `self.W_q`."),
        ({"init": "..."}, "`...` still stands in `__init__`: create the layers there. After"),
        ({"init": INIT.replace("self.W_k = nn.Linear(d_model, d_head, bias=False)", "self.W_k = self.W_q")}, SHARED),
        (
            {"init": INIT.splitlines()[0] + "\nself.others = [nn.Linear(d_model, d_head, bias=False) for _ in 'kv']"},
            "`self.others` hides its layers from PyTorch",
        ),
        (
            {"init": MATRICES.replace("MAKE", "setattr(self, 'W_' + name, nn.Parameter(matrix))")},
            "`W_v` should be a layer each, created by nn.Linear",
        ),
        (
            {"init": MATRICES.replace("MAKE", "self.register_buffer('W_' + name, matrix)")},
            "`self.W_q` is a tensor that PyTorch",
        ),
        ({"init": INIT + "\nself.W_q.weight.requires_grad_(False)"}, "`W_q.weight` should be trained"),
        ({"init": "self.W = nn.Linear(d_model, 3 * d_head, bias=False)"}, "`__init__` the layer should have `W_q.w"),
        ({"init": "1 / 0"}, "In your line `1 / 0`"),
        ({"forward": "pass"}, "returns None"),
        ({"forward": FORWARD.replace("return weights @ V, weights", "return ...")}, "`...` still stands in your code"),
        ({"forward": FORWARD.replace("K.mT", "K.T")}, "or one of them should have length 1. `.T` reverses all axes"),
        ({"forward": FORWARD.replace("K.mT", "K")}, "In your line `weights = torch.softmax(Q @ K / "),
        ({"forward": FORWARD.replace("weights @ V", "(weights @ V).detach()")}, "the gradient of"),
        ({"forward": FORWARD.replace("self.W_v(X)", "self.W_v(X.detach())")}, "the gradient of"),
        (
            {
                "init": INIT + "\nself.count = 0",
                "forward": f"self.count += 1\n{FORWARD.replace('@ V,', '@ V * self.count,')}",
            },
            "a second call of the same layer, with another input, is not",
        ),
        (
            {
                "init": INIT + "\nself.kept = None",
                "forward": "self.kept = self.kept or [self.W_v(X)]\n" + FORWARD.replace("@ V", "@ self.kept[0]"),
            },
            "a second call of the same layer, with another input, is not",
        ),
        (
            {
                "init": INIT + "\nself.count = 0",
                "forward": f"self.count += 1\nif self.count > 1:\n    raise IndexError('full')\n{FORWARD}",
            },
            "with another input, is not: IndexError: full.",
        ),
        (
            {"forward": f"if self.training:\n    raise IndexError('full')\n{FORWARD}"},
            "but not in training mode, in which a layer begins: IndexError: full",
        ),
        ({"forward": FORWARD.replace("@ V,", "@ F.dropout(V, 0.5, self.training),")}, "begins: it gives other numbers"),
        ({"forward": f"with torch.no_grad():\n{indent(FORWARD)}"}, "but no gradient can be computed"),
        ({"forward": FORWARD.replace(RETURNED, "return (weights @ V).numpy(force=True), weights")}, NUMPY),
        ({"forward": FORWARD.replace(RETURNED, "return [weights @ V, weights]")}, "Return a tuple of 2 tensors"),
        ({"forward": FORWARD.replace(RETURNED, "return (weights @ V).float(), weights")}, "float32 comes out. To keep"),
        ({"forward": FORWARD.replace(RETURNED, "return weights @ V, weights, V")}, "you return 3 things"),
        ({"bases": ""}, "your class should be one of PyTorch's modules: `class SelfAttention(nn.Module):`. Only then"),
    ],
)  # fmt: skip
def test_what_only_a_class_can_get_wrong_is_named(attention, how, said):
    if how.get("bases") == "":
        how = how | {"first": ""}
    assert said in message(attention, written(**how))


def test_a_method_that_is_missing_is_named(attention):
    text = "".join(linecache.getlines(written().forward.__code__.co_filename))
    misspelt = message(attention, defined(text.replace("def __init__", "def _init_")))
    assert misspelt == "the class should have a method `__init__`. Yours has `_init_`."
    for empty in ("class SelfAttention(nn.Module):\n    pass", "class SelfAttention(nn.Module):\n    forward = 3"):
        assert message(attention, defined(empty)) == "the class should have a method `__init__`."
    other = defined(text + "\n    def __new__(cls, *sizes):\n        return 3\n")
    assert message(attention, other) == "SelfAttention(…) should give a layer; yours gives 3."


def test_another_constructor_is_named(attention):
    text = STUB.replace("d_model, d_head", "size").replace("return ...", "return X")
    said = message(attention, defined(text))
    asked = "the first line of `__init__` should be `def __init__(self, d_model, d_head):`"
    assert said == f"{asked}; yours is `def __init__(self, size):`."
    for other in ("d_head, d_model", "**sizes", "*sizes", "d_model, d_head, num_heads"):
        text = "".join(linecache.getlines(written().forward.__code__.co_filename))
        assert asked in message(attention, defined(text.replace("d_model, d_head):", f"{other}):"))), other


def test_what_is_no_class_is_named(attention, capsys):
    assert message(attention, lambda X: X) == "SelfAttention should be a class: class SelfAttention(nn.Module):"
    for layer in (COURSE(4, 4), "SelfAttention"):
        check(layer)
        said = capsys.readouterr().out
        assert "check takes the class itself, without quotes and without arguments: check(SelfAttention)." in said
    check(written(forward="from utils.exercises import check\ncheck(type(self))\n" + FORWARD))
    assert "to the same level as the word `class`." in capsys.readouterr().out


# Parameters that hide what is done with them, and references of other forms


class Norm(nn.Module):
    """x (…, d) on gain and bias: returns (…, d)."""

    def __init__(self, d_model):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("places", torch.arange(d_model) / d_model)

    def forward(self, x):
        return (x + self.places) * self.gain + self.bias


@pytest.mark.parametrize(
    "old, new",
    [
        ("(x + self.places) * self.gain + self.bias", "((x + self.places) + self.bias) * self.gain"),
        ("torch.arange(d_model) / d_model", "torch.arange(d_model) / 2"),
    ],
)
def test_neither_gains_of_1_nor_biases_of_0_nor_buffers_hide_a_mistake(monkeypatch, old, new):
    monkeypatch.setattr(engine, "_catalogue", {})
    draws = [(size, torch.randn(4, size)) for size in (3, 5, 6)]
    found = exercise(draws=lambda generator: iter(draws), hints=[])(Norm)
    text = inspect.getsource(Norm)
    assert found.verdict(defined(text, "Norm")).status == "right"
    assert found.verdict(defined(text.replace(old, new), "Norm")).status == "wrong"


def draw_guarded(generator):
    for d_model, d_head, shape in ((4, None, (3,)), (6, 2, (5,)), (3, 5, (2, 4))):
        X = torch.randn(*shape, d_model, generator=generator)
        yield d_model, d_head, X, None
        yield d_model, d_head, X, torch.ones(shape[-1], shape[-1], dtype=torch.bool).tril()


@pytest.mark.parametrize(
    "sizes, inputs, status",
    [
        ("*, d_model, d_head=None", "X, mask=None", "right"),
        ("d_model, d_head=None", "x, mask=None", "right"),
        ("d_head=None, d_model=2", "X, mask=None", "right"),
        ("d_model, d_head", "X, mask=None", "wrong"),
        ("d_model, d_head=None", "X, mask", "wrong"),
        ("d_model, d_head=None", "X, hidden=None", "wrong"),
    ],
)
def test_a_class_can_be_called_in_every_way_in_which_the_courses_can(monkeypatch, sizes, inputs, status):
    monkeypatch.setattr(engine, "_catalogue", {})
    found = exercise(draws=draw_guarded, hints=[])(Guarded)
    first, second = inputs.replace("=None", "").split(", ")
    text = f"class SelfAttention(nn.Module):\n    def __init__(self, {sizes}):\n        super().__init__()\n"
    text += f"{indent('d_head = d_head or d_model')}{indent(INIT)}    def forward(self, {inputs}):\n"
    text += indent(f"X, mask = {first}, {second}\nQ, K, V = self.W_q(X), self.W_k(X), self.W_v(X)")
    text += indent("scores = Q @ K.mT / Q.shape[-1] ** 0.5\nif mask is not None:")
    text += indent("    scores = scores.masked_fill(~mask, -math.inf)\nweights = torch.softmax(scores, -1)")
    text += indent("return weights @ V, weights")
    verdict = found.verdict(defined(text))
    assert verdict.status == status and (status == "right" or "the first line of" in verdict.message), verdict
    assert found.verdict(Guarded).status == "right"


def test_a_reference_that_takes_any_arguments_is_refused(monkeypatch):
    monkeypatch.setattr(engine, "_catalogue", {})
    with pytest.raises(ValueError, match=r"SelfAttention: .* take no \*args"):
        exercise(draws=draw, hints=[])(defined(STUB.replace("d_model, d_head", "**sizes")))


def test_a_row_that_builds_no_layer_speaks_for_no_other_such_class(attention):
    row = "self.W_v = nn.Linear(d_model, d_head, bias=False) ->\n    there is no W_v.\n"
    attention.rows += rows_of(attention, row)
    assert message(attention, attention.rows[-1].function) == "there is no W_v."
    assert "W_v" not in message(attention, written(init=INIT + "\nself.W_o = nn.Linear(1, 1)"))


# The verbs


def test_the_stub_is_not_tried_yet(attention):
    assert attention.stub == STUB
    verdict = attention.verdict(defined(STUB))
    assert (verdict.status, verdict.message[:14]) == ("todo", "not tried yet ")
    filled = defined(STUB.replace("        ...\n", indent("self.W_q = nn.Linear(d_model, d_head)")))
    assert attention.verdict(filled).status == "wrong", "begun"


def test_check_hint_and_solution_speak_of_the_class(attention, capsys):
    check(written())
    assert capsys.readouterr().out == "✔ SelfAttention: right on all 4 inputs.\n"
    wrong = written(forward=FORWARD.replace("dim=-1", "dim=-2"))
    check(wrong)
    check(wrong)
    said = "✘ SelfAttention: your softmax runs over the queries. It should run over the keys, the last axis.\n"
    assert capsys.readouterr().out == 2 * said
    hint(wrong)
    solution(wrong)
    out = capsys.readouterr().out
    assert out.startswith("Hint 1 of 2: Which three layers?") and "class SelfAttention(nn.Module):" in out
    check(COURSE)
    assert "this is the course's own" in capsys.readouterr().out


def test_use_goes_on_with_a_right_class_and_else_with_the_courses(attention):
    own = written()
    assert use(own) is own
    assert use(written(forward=FORWARD.replace("dim=-1", "dim=-2"))) is COURSE
    assert use("SelfAttention") is COURSE
    rounded = FORWARD.replace("return weights @ V, weights", "return (weights @ V).float(), weights.float()")
    assert use(written(forward=rounded)) is COURSE, "it would round float64"


def test_a_class_that_had_to_be_stopped_is_not_run_again(attention, capsys, monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS", 0.3)
    runs = []
    endless = written(forward="runs.append(1)\nwhile True:\n    pass")
    endless.forward.__globals__["runs"] = runs
    check(endless)
    assert "was still running after" in capsys.readouterr().out
    assert use(endless) is COURSE and len(runs) == 1


def test_judging_draws_no_random_number_of_the_notebook(attention):
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    attention.verdict(written())
    assert torch.equal(before, torch.random.get_rng_state())


# Kept answers


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where answers are kept, in a course in a folder of its own."""
    monkeypatch.setenv("ATTENTION_COURSE", str(tmp_path))
    monkeypatch.delenv("ATTENTION_PROGRESS")
    return tmp_path / "my_answers"


HELPER = "def scaled(scores, size):\n    return scores / math.sqrt(size)\n"


def test_a_right_class_is_kept_with_what_it_needs_and_gone_on_with(attention, folder, capsys):
    own = written(forward=FORWARD.replace("Q @ K.mT / Q.shape[-1] ** 0.5", "scaled(Q @ K.mT, Q.shape[-1])"))
    file = own.forward.__code__.co_filename
    text = HELPER + "".join(linecache.getlines(file))
    check(defined(text))
    kept = (folder / "SelfAttention.py").read_text()
    assert all(
        piece in kept for piece in ("import math", "import torch.nn as nn", "def scaled(", "class SelfAttention(")
    )
    capsys.readouterr()
    later = use("SelfAttention")
    assert capsys.readouterr().out == "SelfAttention: your own class, kept in my_answers/SelfAttention.py.\n"
    assert later is not COURSE and attention.verdict(later).status == "right"
    assert later(4, 2)(torch.ones(3, 4))[0].shape == (3, 2)


def test_what_is_not_right_is_not_kept(attention, folder, capsys):
    check(written(forward=FORWARD.replace("dim=-1", "dim=-2")))
    assert not folder.exists() and use("SelfAttention") is COURSE


# Hand-ins, exports, in a course that asks for a class


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the course with the notebook on self-attention alone, which asks for the class."""
    folder = tmp_path_factory.mktemp("course")
    for name in ("utils", "tools", "data"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "checkpoints", "stored")
        )
    shutil.copy(ROOT / "requirements.txt", folder)
    (folder / "notebooks").mkdir()
    shutil.copy(notebook("self_attention"), folder / "notebooks")
    return folder


def asks_for_the_class(made):
    """The cell of the notebook that asks for it."""
    return next(cell for cell in made.cells if "exercise:SelfAttention" in cell.metadata.get("tags", ()))


def run(course, *arguments):
    done = subprocess.run([sys.executable, *map(str, arguments)], cwd=course, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_class_without_a_tag_is_found_in_what_is_handed_in(attention):
    assert grading.exercises_in(f"{STUB}\n\ncheck(SelfAttention)", []) == {"SelfAttention": True}
    assert grading.exercises_in(STUB, []) == {"SelfAttention": False}
    assert grading.exercises_in(STUB, ["defines"]) == {}


@pytest.mark.lane("test")
def test_a_class_that_is_handed_in_is_graded(course):
    path = course / "notebooks" / notebook("self_attention").name
    for name, edit, line in (
        ("right", {}, "✔ SelfAttention: right on all"),
        ("wrong", {"self.W_v(X)": "self.W_k(X)"}, "✘ SelfAttention: you multiply the weights by the keys."),
    ):
        made = files.read(path)
        text = inspect.getsource(COURSE)
        for old, new in edit.items():
            text = text.replace(old, new)
        asks_for_the_class(made).source = f"{text}\n\ncheck(SelfAttention)\nSelfAttention = use(SelfAttention)"
        nbformat.write(made, course / f"{name}.ipynb")
        said = run(course, "-m", "utils.exercises", "grade", f"{name}.ipynb")
        assert f"\n  {line}" in said, said


@pytest.mark.lane("all", "layers", "export")
def test_a_class_is_exported_for_both_graders(course):
    path = course / "notebooks" / notebook("self_attention").name
    for tool in ("nbgrader", "otter"):
        run(course, "-m", "tools.notebooks.export", tool, path, "--to", course / tool)
    made = files.read(course / "nbgrader" / "source" / path.stem / path.name)
    stubs = [cell.source for cell in made.cells if cell.cell_type == "code"]
    assert any(f"{STUB}\n\ncheck(SelfAttention)" == source for source in stubs)
    assert any('mark("SelfAttention", 2, globals())' in source for source in stubs)
    assert "require('SelfAttention', 1, env" in (course / "otter" / "tests" / "SelfAttention.py").read_text()
    answer = inspect.getsource(COURSE).replace("self.W_v(X)", "self.W_k(X)")
    marks = "from utils.exercises.teachers.marking import mark\nimport torch, math\nfrom torch import nn\n"
    said = run(course, "-c", f"{marks}{answer}\nprint(mark('SelfAttention', 2, globals()), SelfAttention.__module__)")
    assert "✘ SelfAttention: " in said and said.endswith("0.0 utils.exercises.tasks.self_attention\n")
