"""Notebooks 00 and 01 without PyTorch: in this Python, where PyTorch is hidden, and under Pyodide in Node."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from topics import named

import carry_over
from utils import browser
from utils.exercises import catalogue

ROOT = Path(__file__).parent.parent
SIMILARITY = named("dot_product_similarity")
NOTEBOOKS = ["00_start_here", SIMILARITY]
# What a browser's Python lacks is hidden before anything is imported. Matplotlib may be there or not.
HIDE = """
import importlib.abc, json, os, sys
hidden = set(os.environ["HIDDEN"].split())

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Hidden())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.partition(".")[0] in hidden else found(name, *rest)
"""
RUN = """
def run(cells):
    import contextlib, io, warnings
    space, said = {"__name__": "__main__"}, {}
    for number, source in cells:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            try:
                exec(compile(source, f"<cell {number}>", "exec"), space)
            except BaseException as error:
                raise RuntimeError(f"cell {number}: {type(error).__name__}: {error}") from error
        said[number] = out.getvalue()
    print("SAID" + json.dumps(said))
"""
EXERCISES = {"00_start_here": 4, SIMILARITY: 6}


def code_cells(stem, answered=False):
    """(number, cell) of a notebook's code cells; `answered`: the stubs made to call the course's own functions."""
    notebook, result = carry_over.read((ROOT / "notebooks" / f"{stem}.ipynb").read_text(encoding="utf-8")), []
    for number, cell in enumerate(notebook["cells"]):
        if (name := carry_over.exercise(cell)) and answered:
            module = catalogue()[name].reference.__module__
            answer = f"def {name}(*inputs):\n    import {module} as m\n    return m.{name}(*inputs)"
            cell["source"] = f"{answer}\n\ncheck({name})\n{name} = use({name})"
        if cell["cell_type"] == "code":
            result.append((number, cell))
    return result


def sources(stem, answered=False):
    return [[number, cell["source"]] for number, cell in code_cells(stem, answered)]


def heard(output):
    """{number of a cell: what it printed}."""
    return {int(number): said for number, said in json.loads(output.partition("SAID")[2]).items()}


def run_hidden(stem, hidden, answered=False):
    code = f"{HIDE}\n{RUN}\nrun(json.loads(sys.stdin.read()))"
    environment = os.environ | {"HIDDEN": hidden, "ATTENTION_BROWSER": "1"}
    given, folder = json.dumps(sources(stem, answered)), ROOT / "notebooks"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, env=environment, input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return heard(done.stdout)


def require_the_stored_outputs(stem, said):
    """What is printed is what PyTorch printed: exercises, drawings and random numbers aside."""
    compared = 0
    for number, cell in code_cells(stem):
        stored = "".join("".join(one["text"]) for one in cell["outputs"] if one["output_type"] == "stream")
        tags = cell["metadata"].get("tags", [])
        if stored and not tags and "randn(" not in cell["source"] and "randint(" not in cell["source"]:
            assert said[number] == stored, f"cell {number}"
            compared += 1
    assert compared >= {"00_start_here": 4, SIMILARITY: 15}[stem]


@pytest.mark.parametrize("stem", NOTEBOOKS)
@pytest.mark.parametrize("hidden", ["torch ipywidgets", "torch ipywidgets matplotlib scipy sklearn PIL IPython"])
def test_the_code_runs_where_pytorch_is_missing(stem, hidden):
    said = run_hidden(stem, hidden)
    require_the_stored_outputs(stem, said)
    everything = "".join(said.values())
    assert everything.count("not tried yet.") == EXERCISES[stem]
    assert "(The widget " in everything and ("(The figure " in everything) == ("matplotlib" in hidden and "01" in stem)


@pytest.mark.parametrize("stem", NOTEBOOKS)
def test_right_answers_are_right_there_too(stem):
    said = "".join(run_hidden(stem, "torch ipywidgets matplotlib", answered=True).values())
    assert said.count("right on all inputs.") == EXERCISES[stem]


JUDGED = """
import utils
from utils import browser
from utils.exercises.tasks import start_here as n00, dot_product_similarity as n01
from utils.exercises.rows import answers, mistake, read, sections
verdicts = {"right": [], "mistakes": []}
for module in (n00, n01):
    texts = sections(browser.Path(module.__file__).with_suffix(".txt"), tuple(vars(module)))
    for (name, kind), text in texts.items():
        found = getattr(module, name)
        written = answers(found.reference, text) if kind == "right" else [
            mistake(found.reference, *row).function for row in read(text)]
        verdicts[kind] += [(browser._verdict(found, function), name) for function in written]
print(json.dumps(verdicts))
"""


def test_the_catalogue_s_answers_are_not_wrong_there_and_its_mistakes_not_right():
    """What the small PyTorch lacks is said, and is no mistake."""
    command = [sys.executable, "-c", HIDE + JUDGED]
    environment = os.environ | {"HIDDEN": "torch ipywidgets", "ATTENTION_BROWSER": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    verdicts = json.loads(done.stdout)
    right = [mark for (mark, _), _ in verdicts["right"]]
    assert right.count("✔") > 0.8 * len(right) > 20
    assert not [one for one in verdicts["right"] if one[0][0] == "✘"]
    assert len(verdicts["mistakes"]) > 100 and not [one for one in verdicts["mistakes"] if one[0][0] == "✔"]
    assert all("on Colab" in words for kind in verdicts.values() for (mark, words), _ in kind if mark == "○")


def test_where_pytorch_is_installed_nothing_is_put_in_its_place():
    code = "import utils, torch, utils.exercises; print(torch.nn.Linear, utils.exercises.progress.__module__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"ATTENTION_BROWSER": "1"},
    )
    assert "torch.nn.modules.linear.Linear" in done.stdout and "utils.exercises.progress" in done.stdout, done.stderr


def test_a_broken_installation_is_no_browser():
    """Where PyTorch should be there, its absence is an error as before, and no stand-in hides it."""
    code = f"{HIDE}\nimport utils\nimport torch"
    environment = {name: value for name, value in os.environ.items() if name != "ATTENTION_BROWSER"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env=environment | {"HIDDEN": "torch"}
    )
    assert "No module named 'torch'" in done.stderr


def test_the_stand_in_computes_what_pytorch_computes():
    import torch

    numbers = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    mine, stand_in = browser.as_tensor(numbers.numpy()), browser._torch()
    for name, call in {
        "sum": lambda t, x: x.sum(dim=0, keepdim=True),
        "mean": lambda t, x: x.mean(dim=-1),
        "topk": lambda t, x: x.topk(2).values,
        "places": lambda t, x: x.topk(2).indices,
        "descending": lambda t, x: x.argsort(dim=-1, descending=True),
        "quantile": lambda t, x: x.quantile(0.9),
        "softmax": lambda t, x: t.softmax(x, dim=0),
        "cosine": lambda t, x: t.cosine_similarity(x[:2], x[2:], dim=-1),
        "distances": lambda t, x: t.cdist(x, x[:3]),
        "singular": lambda t, x: t.linalg.svdvals(x),
        "fill": lambda t, x: x.masked_fill(x > 0, -1.0),
        "norm": lambda t, x: t.linalg.vector_norm(x),
        "eye": lambda t, x: ~t.eye(3, dtype=t.bool),
        "integers": lambda t, x: t.tensor([1, 2]),
        "floats": lambda t, x: t.tensor([1.0, 2.0]),
        "stack": lambda t, x: t.stack([x[0], x[1]]).double(),
        "one number": lambda t, x: t.tensor(0.5),
        "square": lambda t, x: x.square().sum().sqrt().abs(),
        "transpose": lambda t, x: x.transpose(-2, -1),
        "max": lambda t, x: x.max(dim=0).values,
        "where the least stand": lambda t, x: t.min(x, dim=1)[1],
        "std": lambda t, x: x.std(),
        "var": lambda t, x: t.var(x, dim=1, keepdim=True),
        "sort": lambda t, x: x.sort(dim=0, descending=True).values,
        "quotient": lambda t, x: t.tensor([1, 2]) / 2,
        "root": lambda t, x: t.tensor([1, 2]).sqrt(),
        "integers and floats": lambda t, x: x * t.arange(5),
        "both precisions": lambda t, x: x.double() * x,
        "steps": lambda t, x: t.arange(0, 1.0, 0.25),
        "whole steps": lambda t, x: t.arange(1, 4),
        "einsum": lambda t, x: t.einsum("ij,kj->ik", x, x),
        "argmax": lambda t, x: t.argmax(x, dim=1),
        "cat": lambda t, x: t.cat([x, x], dim=1),
        "outer": lambda t, x: t.outer(x[0], x[1]),
        "mul": lambda t, x: t.mul(x, x).add(1),
        "normalize": lambda t, x: t.nn.functional.normalize(x),
        "nothing": lambda t, x: t.cosine_similarity(0 * x, x),
        "matmul": lambda t, x: x.pow(2).matmul(x.t()),
        "clamp": lambda t, x: x.clamp(min=0),
        "zeros": lambda t, x: t.zeros((2, x.size(1))),
        "loops": lambda t, x: sum(entry * entry for entry in x[0]).sqrt(),
        "in place": lambda t, x: plus_one(x.clone()),
    }.items():
        theirs, ours = call(torch, numbers), call(stand_in, mine)
        assert isinstance(ours, browser.Tensor) and tuple(ours.shape) == tuple(theirs.shape), name
        assert str(ours.dtype) == str(theirs.dtype).removeprefix("torch."), name
        assert torch.allclose(torch.from_numpy(ours.numpy().copy()).double(), theirs.double(), atol=1e-5), name
    assert f"{mine.sum():.2f}" == f"{numbers.sum():.2f}"


def plus_one(x):
    x += 1
    return x


def test_the_stand_in_refuses_what_pytorch_refuses_and_says_what_it_lacks():
    """No method of NumPy's shows through: those that do something else, such as sort and repeat, least of all."""
    torch = browser._torch()
    x = torch.ones(2, 2)
    with pytest.raises(RuntimeError):
        torch.dot(x, x)
    with pytest.raises(IndexError):
        torch.cosine_similarity(x[0], x[1])
    for lacks in (
        lambda: x.repeat(2),
        lambda: x.astype(torch.float64),
        lambda: x.norm(1),
        lambda: torch.bmm,
        lambda: torch.nn.Linear,
        lambda: torch.nn.functional.one_hot,
        lambda: torch.linalg.cross,
    ):
        with pytest.raises(
            browser.NotHere, match="is not in this browser's small PyTorch: open this notebook on Colab"
        ):
            lacks()


def test_a_wrong_answer_is_wrong_and_the_course_s_goes_on(capsys):
    want = browser.Exercise(lambda x: x * 1, lambda _: iter([(browser.as_tensor([1.0, 2.0]),)]), iter([]))
    answers = {
        "✔ right on all": lambda x: x + 0,
        "✘ not the right result on input 1": lambda x: x + 1,
        "✘ not the right result": plus_one,
        "✘ ZeroDivisionError": lambda x: 1 / 0,
        "✘ not the right result on input": lambda x: None,
        "○ not tried": lambda x: ...,
        "○ Tensor.bmm is not in this browser's small PyTorch": lambda x: x.bmm(x),
        "○ TypeError: ": lambda x: x.sum(correction=1),
    }
    for said, answer in answers.items():
        assert " ".join(browser._verdict(want, answer)).startswith(said)


def test_a_name_that_no_exercise_has_is_one_line():
    code = f"{HIDE}\nimport utils\nfrom utils.exercises import check, hint, solution, use\ndef mine(): pass\n"
    code += "check(mine); hint(mine); solution(3); assert use(mine) is mine"
    environment = os.environ | {"HIDDEN": "torch ipywidgets", "ATTENTION_BROWSER": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[0].startswith("✘ there is no exercise named mine.") and done.stdout.count("✘") == 4


# Pyodide


@pytest.fixture
def pyodide():
    """pyodide(code, *packages) → what the code prints under Pyodide in Node; skipped where one of both is missing."""

    def run(code, *packages):
        command = ["node", ROOT / "tests" / "pyodide.mjs", folder, ROOT, *packages]
        done = subprocess.run(command, input=code, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    folder = Path(
        os.environ.get("ATTENTION_PYODIDE", ROOT / ".venv" / "pyodide" / "node_modules" / "pyodide")
    ).resolve()
    if not shutil.which("node") or not (folder / "pyodide.mjs").is_file():
        pytest.skip(
            "needs Node, and Pyodide: npm install --prefix .venv/pyodide pyodide, or its folder in ATTENTION_PYODIDE"
        )
    run.folder = folder
    return run


def test_pyodide_s_python_reads_all_that_these_notebooks_need(pyodide):
    """Its Python is newer than ours: what it would warn of, as of a backslash in a string, is an error here."""
    code = f"""
import json, pathlib, warnings
warnings.simplefilter("error")
for stem, cells in json.loads({json.dumps(json.dumps({stem: sources(stem) for stem in NOTEBOOKS}))}).items():
    for number, source in cells:
        compile(source, f"{{stem}}, cell {{number}}", "exec")
modules = sorted(pathlib.Path("/course/utils").rglob("*.py"))
for path in modules:
    compile(path.read_text(encoding="utf-8"), str(path), "exec")
print("compiled", len(modules))
"""
    assert f"compiled {len(list((ROOT / 'utils').rglob('*.py')))}\n" in pyodide(code)


@pytest.mark.parametrize("stem", NOTEBOOKS)
def test_the_code_runs_under_pyodide(stem, pyodide):
    wheel = json.loads((pyodide.folder / "pyodide-lock.json").read_text())["packages"]["numpy"]["file_name"]
    if not (pyodide.folder / wheel).is_file():
        pytest.skip(f"{wheel} does not lie beside pyodide.mjs: Pyodide's full distribution has it")
    code = f"import json, os\nos.chdir('/course/notebooks')\n{RUN}\nrun(json.loads({json.dumps(sources(stem))!r}))"
    said = heard(pyodide(code, "numpy"))
    require_the_stored_outputs(stem, said)
    assert "".join(said.values()).count("not tried yet.") == EXERCISES[stem]
