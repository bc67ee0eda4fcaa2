"""The house around the notebooks: the environment, the commands, the rules that keep the course small and portable."""

import ast
import dataclasses
import inspect
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import nbformat
import nbval.plugin
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.notebooks import execute as execute_notebooks
from tools.notebooks import files, links
from tools.notebooks import seeds as repeat_with_seeds
from utils import widgets
from utils.cells import VOLATILE
from utils.decoder import Sizes

ROOT = Path(__file__).parents[2]
POSIX = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")


def course_files():
    """Every file of the course that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if not (ROOT / ".git").exists():
        pytest.skip("this copy of the course is not a git repository")
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


# Requirements


def pins(name):
    """{package: version} in a requirements file; a line that pins nothing and is no reference fails."""
    lines = [line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    found = [line.split("==") for line in lines if line and not line.startswith(("-c ", "-r "))]
    return {normalised(package): version for package, version in found}


def normalised(package):
    return re.sub(r"[-_.]+", "-", package).lower()


def test_conda_and_pip_get_the_same_packages():
    listed = re.findall(r"^  - ([\w-]+)=([\w.]+)$", (ROOT / "environment.yml").read_text(), re.MULTILINE)
    conda = {"torch" if name == "pytorch-cpu" else name: version for name, version in listed}
    assert conda.pop("python") in {"3.11", "3.12", "3.13"}
    assert conda == pins("requirements.txt")


BINARY = {".npz", ".png", ".pt"}


def test_torch_s_version_is_spelled_where_it_is_pinned_and_nowhere_else():
    """Whoever raises it edits requirements.txt, and environment.yml, which has to agree."""
    version, places = pins("requirements.txt")["torch"], {"requirements.txt", "environment.yml"}
    sources = [path for path in course_files() if path.suffix not in BINARY | {".ipynb"}]
    assert {path.name for path in sources if version in path.read_text(encoding="utf-8")} == places
    for path in (ROOT / "notebooks").glob("*.ipynb"):  # outputs say with what they were measured
        assert not any(version in cell.source for cell in files.read(path).cells), path.name


def test_conda_takes_everything_from_one_channel_and_binder_reads_that_file():
    text = (ROOT / "environment.yml").read_text()
    assert re.findall(r"^  - ([\w-]+)$", text, re.MULTILINE) == ["conda-forge", "nodefaults"]
    assert not (ROOT / "binder").exists() and not (ROOT / ".binder").exists()


@pytest.mark.parametrize(
    "name", ["requirements.txt", "requirements-test.txt", "requirements-site.txt", "constraints.txt"]
)
def test_versions_are_exact_and_bound_to_no_index(name):
    assert all(re.fullmatch(r"[\d.]+", version) for version in pins(name).values()), "exact, without a local part"
    assert "://" not in (ROOT / name).read_text() and "--" not in (ROOT / name).read_text()


def test_a_package_is_pinned_once():
    files = ["requirements.txt", "requirements-test.txt", "requirements-site.txt", "constraints.txt"]
    names = [name for file in files for name in pins(file)]
    assert sorted(set(names)) == sorted(names)


def test_the_word_vectors_are_made_with_the_versions_of_the_course():
    course, vectors = pins("requirements.txt") | pins("constraints.txt"), pins("tools/vectors/requirements-vectors.txt")
    assert {name: course.get(name, version) for name, version in vectors.items()} == vectors


def test_glove_takes_the_versions_that_are_tested():
    tester = pins("requirements-test.txt")
    glove = pins("tools/vectors/requirements-glove.txt")
    assert glove and {name: tester.get(name) for name in glove} == glove
    assert not set(glove) & set(pins("requirements.txt")), "who does not want GloVe does not install it"


def test_what_is_installed_is_what_is_pinned():
    """Where the tests run by hand, in an environment of one's own, this says why numbers may differ."""
    from importlib import metadata

    installed = {package: metadata.version(package).partition("+")[0] for package in pins("requirements.txt")}
    assert installed == pins("requirements.txt")


CALLED = {"sklearn": "scikit-learn"}  # import name → package
COMES_WITH = {
    "IPython": "ipykernel",
    "filelock": "torch",
    "traitlets": "ipywidgets",
    "jupyter_client": "ipykernel",
    "nbclient": "jupyterlab",
    "nbformat": "jupyterlab",
    "jinja2": "jupyterlab",
    "PIL": "matplotlib",
    "scipy": "scikit-learn",
    "requests": "remotezip",
    "urllib3": "remotezip",
    "markdown_it": "myst-parser",
    "mdit_py_plugins": "myst-parser",
}
OURS = {"utils", "tools", "experiments", "transformer"} | {
    path.stem for folder in ("tools", "tests") for path in (ROOT / folder).rglob("*.py")
}


def imports(source):
    """The top-level packages that `source` imports, relative imports aside."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]


def test_whatever_is_imported_is_required():
    learner, tester = set(pins("requirements.txt")), set(pins("requirements-test.txt"))
    for path in sorted((ROOT / "utils").rglob("*.py")):
        require(imports(path.read_text(encoding="utf-8")), learner, path)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in files.read(path).cells:
            if cell.cell_type == "code":
                require(imports(cell.source), learner, path)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        require(imports(path.read_text(encoding="utf-8")), learner | tester, path)
    for path in sorted((ROOT / "experiments").glob("*.py")):  # they compare with other libraries
        require(
            imports(path.read_text(encoding="utf-8")), learner | {"pandas", "tokenizers", "transformers", "gguf"}, path
        )
    for path in sorted((ROOT / "tools" / "notebooks").glob("*.py")):
        require(imports(path.read_text(encoding="utf-8")), learner, path)
    for path in sorted((ROOT / "tools" / "site").glob("*.py")):
        require(imports(path.read_text(encoding="utf-8")), learner | set(pins("requirements-site.txt")), path)


def require(names, packages, path):
    for name in set(names) - OURS - sys.stdlib_module_names:
        needed = {CALLED.get(name, name.replace("_", "-")), COMES_WITH.get(name)}
        assert needed & packages, f"{path.name} imports {name}"


# Code


@pytest.mark.parametrize("command", [["check", "--output-format=concise"], ["format", "--check"]], ids=" ".join)
def test_ruff_has_nothing_to_say(command):
    command = [sys.executable, "-m", "ruff", *command, "--no-cache", "."]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROOMS = re.findall(r"^\| (`[^|]+) \|", CONTRIBUTING.partition("| room | holds |")[2].partition("\n\n")[0], re.MULTILINE)
ORDER = [name for row in ROOMS for name in re.findall(r"`(\w+)(?:\.py|/)`", row)]  # in which they are read
DRAWN = CONTRIBUTING.partition("## The floors of the judge")[2].partition("```")[2].partition("```")[0]
FLOORS = [re.findall(r"\w+(?=\.py|/)", re.split(" {3,}", line)[0]) for line in reversed(DRAWN.strip().splitlines())]
CONTRACTS = """
[importlinter]
root_packages =
    utils
    tools
    experiments

[importlinter:contract:utils]
name = A module of utils/ imports only those above it in the table of CONTRIBUTING.md
type = layers
containers = utils
exhaustive = true
layers = {utils}

[importlinter:contract:judge]
name = The judge knows nothing of the course
type = forbidden
source_modules = utils.judge
forbidden_modules =
    {others}

[importlinter:contract:floors]
name = A part of the judge uses only what lies below it
type = layers
containers = utils.judge
exhaustive = true
layers = {floors}

[importlinter:contract:house]
name = What makes the course knows utils/, which knows nothing of it
type = layers
layers =
    experiments
    tools.site
    tools.notebooks | tools.vectors
    utils
"""


def test_imports_only_run_downwards(tmp_path):
    """As import-linter finds, which also says where a chain of imports begins and ends."""
    config = tmp_path / "importlinter.ini"
    others = "\n    ".join(f"utils.{name}" for name in ORDER if name != "judge")
    rooms = "".join(f"\n    {name}" for name in reversed(ORDER))
    floors = "".join(f"\n    {' | '.join(floor)}" for floor in reversed(FLOORS))
    config.write_text(CONTRACTS.format(utils=rooms, others=others, floors=floors))
    command = [Path(sys.executable).with_name("lint-imports"), "--config", config, "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


CORE = [path for path in sorted((ROOT / "utils").rglob("*.py")) if not {"exercises", "judge"} & {*path.parts}]


def test_modules_of_utils_import_each_other_in_one_style():
    for path in (ROOT / "utils").rglob("*.py"):
        assert "utils" not in set(imports(path.read_text(encoding="utf-8"))), f"{path.name}: from .module import"


def parameters(node):
    """The parameters of a function that its caller gives, self aside."""
    given = node.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [parameter for parameter in named if parameter is not None and parameter.arg not in ("self", "cls", "_")]


def public(body):
    """The public functions among statements, and the public methods and `__init__` of public classes."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public(node.body)
        elif isinstance(node, ast.FunctionDef) and (node.name == "__init__" or not node.name.startswith("_")):
            yield node


def test_every_public_parameter_is_annotated():
    for path in CORE:
        for function in public(ast.parse(path.read_text(encoding="utf-8")).body):
            bare = [parameter.arg for parameter in parameters(function) if parameter.annotation is None]
            assert not bare, f"{path.name}: {function.name} takes {bare}"


SIZES = ["vocabulary_size", "d_model", "num_heads", "num_layers", "d_ff"]  # the order in which a module takes them


def test_sizes_of_a_module_are_given_by_name_in_one_order():
    """`Encoder(16, 4, 2, 32)` would build some encoder whatever was meant; a single size, and a vocabulary's, need no
    name. The fields of `Sizes`, which go down through a decoder as one, have that order, too."""
    trees = [ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for path in CORE]
    classes = [node for tree in trees for node in tree if isinstance(node, ast.ClassDef)]
    made = [(node.name, one.args) for node in classes for one in node.body if getattr(one, "name", "") == "__init__"]
    for name, taken in made:
        bare, named = ([one.arg for one in part] for part in (taken.args[1:], taken.kwonlyargs))
        sizes = [size for size in bare + named if size in SIZES]
        assert sizes == sorted(sizes, key=SIZES.index), name
        assert not any(size in SIZES or re.match("d_|num_", size) for size in bare[1:]), name
        assert not named or bare[:1] in ([], ["vocabulary_size"]) or not set(SIZES).intersection(named), name
    assert {"MultiHeadAttention", "Encoder", "Tagger", "TokenEncoder"} <= dict(made).keys()
    fields = dataclasses.fields(Sizes)
    assert [field.name for field in fields][:4] == SIZES[1:] and all(field.kw_only for field in fields)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Sizes(d_model=8, num_heads=2, d_ff=16).d_model = 4


UNWANTED = [
    r"py" + r"pi\.",
    r"python" + r"hosted",
    r"ana" + r"conda\.(?:org|com)",
    r"(?<![\w.])/ro" + r"ot/",
    r"(?<![\w.*])/wo" + r"rk/",
    r"/ho" + r"me/[a-z]+/",
    r"\.\./sha" + r"red",
    r"/opt/wh" + r"eels",
]


def test_files_name_no_registry_and_no_machine():
    pattern = re.compile("|".join(UNWANTED))
    for path in course_files():
        if path.suffix not in BINARY:
            found = pattern.search(path.read_text(encoding="utf-8"))
            assert not found, f"{path.relative_to(ROOT)}: {found.group()}"


NUMBERED = re.compile(r"\bnotebooks? \d\d\b|(?<![\w.-])\d\d_[a-z]\w+")
NUMBERS = {
    "CONTRIBUTING.md",
    "README.md",
    "course_text.txt",
    "links.py",
    "measured.json",
    "teachers.md",  # in its plan, made from the file names, as are the next three
    "measured.md",
    "bugs.md",
    "questions.md",
    "test_house.py",
    "test_update.py",
}  # may hold some
FIRST = "00_start_here"  # comes before all others, and is opened by its file's name


def test_no_text_but_the_notebooks_and_readme_s_table_holds_a_notebook_s_number():
    """So a notebook can be put in between: `make links` writes the numbers of both from the file names."""
    for path in course_files():
        if path.suffix in BINARY | {".ipynb", ".jsonl"} or path.name in NUMBERS or path.parent.name == "stored":
            continue
        found = [one for one in NUMBERED.findall(path.read_text(encoding="utf-8")) if one != FIRST]
        assert not found, f"{path.relative_to(ROOT)}: {found}; name the topic, as in: the notebook on masking"


def test_numbers_in_notebooks_are_those_of_the_files():
    """A second `make links` would change nothing, and every mention is a link."""
    known = links.stems()
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = files.read(path).cells
        assert cells[0].source.startswith(f"# {path.name[:2]} · "), path.name
        for cell in cells:
            if cell.cell_type == "markdown":
                assert links.with_numbers(cell.source, known) == cell.source, f"{path.name}, {cell.id}: make links"
                assert not re.search(r"\b[Nn]otebooks? \d\d\b", links.TO_NOTEBOOK.sub("", cell.source)), cell.id
            else:
                assert not NUMBERED.search(cell.source), f"{path.name}, {cell.id}"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert links.with_table(readme, known) == readme


def test_a_notebook_put_in_between_moves_all_numbers():
    known = {"start_here": "00_start_here", "sets": "01_sets", "masking": "02_masking"}
    text = "See [notebook 01](01_masking.ipynb#cell-a), [01 · Masking](01_masking.ipynb), [it](masking.ipynb)."
    moved = "See [notebook 02](02_masking.ipynb#cell-a), [02 · Masking](02_masking.ipynb), [it](02_masking.ipynb)."
    assert links.with_numbers(text, known) == moved == links.with_numbers(moved, known)
    plain = "Notebook 01 says `notebook 01`, [in notebook 01](https://a.b).\n## Notebook 01\nnotebook 09, x_01"
    assert links.with_numbers(plain, known) == plain.replace("Notebook 01 says", "[Notebook 01](01_sets.ipynb) says")
    row = "| 01 | [Masking](https://a.b/01_masking.html) | see | 5 + 5 | [Binder](b?p=notebooks%2F01_masking.ipynb) |"
    assert links.with_table(row, known) == row.replace("01_", "02_").replace("| 01 |", "| 02 |")


def test_licences_are_there():
    assert "MIT License" in (ROOT / "LICENSE").read_text()
    assert "licenses/by/4.0" in (ROOT / "LICENSE-text").read_text()


# Commands


@POSIX
def test_make_alone_lists_the_targets():
    listed = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^make ([\w-]+)", listed, re.MULTILINE)
    targets = "lab update site site-serve cards check test test-all test-processors test-colab test-classroom".split()
    targets += (
        "answers notebooks text stale trainings checkpoints models encoder glove vectors pins links clean".split()
    )
    assert names == targets
    assert all(f"\n{name}:" in (ROOT / "Makefile").read_text() for name in names)


@POSIX
def test_cleaning_leaves_a_learners_files(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path / "Makefile")
    kept = ["notebooks/mine.ipynb", "notebooks/.ipynb_checkpoints/mine.ipynb", "data/cache/glove.npz", "utils/mine.py"]
    gone = [".venv/bin/python", "utils/__pycache__/mine.pyc", ".pytest_cache/x", "tests/x", "tools/x", "experiments/x"]
    for name in kept + gone:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    subprocess.run(["make", "-s", "clean"], cwd=tmp_path, check=True)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"Makefile", "tests/x", "tools/x", "experiments/x", *kept}


@POSIX
def test_a_missing_python_is_one_line():
    command = ["make", "-s", "python", "PYTHON=python-that-is-not-there"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    assert (
        "setup: python-that-is-not-there was not found, or is older than 3.11: install Python 3.11"
        in done.stderr.splitlines()[0]
    )


def test_continuous_integration_calls_the_one_test_command():
    script, workflow = ROOT / ".ci" / "run", (ROOT / ".github" / "workflows" / "test.yml").read_text()
    assert os.access(script, os.X_OK) and script.read_text().rstrip().endswith('exec make "${1:-test}"')
    assert "- run: .ci/run" in workflow and "- run: make test-processors" in workflow and "upload" not in workflow


def test_at_night_everything_is_tested():
    workflow = (ROOT / ".github" / "workflows" / "night.yml").read_text()
    assert re.search(r"^on:\n  schedule:\n    - cron: \"[\d *]+\"\n  workflow_dispatch:\n\w", workflow, re.MULTILINE)
    assert "- run: .ci/run test-all" in workflow


def test_actions_are_pinned_by_commit():
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (\S+)", workflow.read_text())
        assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action in used), workflow.name


def test_actions_keep_no_token_in_the_checkout():
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        checkouts = re.findall(r"uses: actions/checkout@.*\n(.*\n.*\n)", workflow.read_text())
        assert checkouts and all(re.match(r" +with:\n +persist-credentials: false\n", with_) for with_ in checkouts)


def test_the_site_is_published_on_a_tag_or_by_hand():
    workflow = (ROOT / ".github" / "workflows" / "site.yml").read_text()
    assert (
        re.search(r"^on:\n  push:\n    tags: \[[^\n]+\]\n  workflow_dispatch:\n\w", workflow, re.MULTILINE)
        and "- run: make site" in workflow
    )


# No network


def test_the_tests_have_no_network():
    with pytest.raises(ConnectionRefusedError, match="no network"):
        socket.create_connection(("192.0.2.1", 80), timeout=5)
    with pytest.raises(ConnectionRefusedError, match="no network"):
        socket.getaddrinfo("example.org", 80)
    listener = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(listener.getsockname(), timeout=5).close()
    listener.close()


def test_the_kernels_have_no_network():
    code = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ConnectionRefusedError" in done.stderr and "no network" in done.stderr


# The tools for notebooks


def tiny(*cells):
    """A notebook of code cells, each a source or (source, tag)."""
    parts = [cell if isinstance(cell, tuple) else (cell, None) for cell in cells]
    made = [new_code_cell(source, metadata={"tags": [tag]} if tag else {}) for source, tag in parts]
    return new_notebook(cells=[new_markdown_cell("# Tiny"), *made])


@pytest.fixture
def notebook(tmp_path):
    """notebook(*cells) → the path of a file with those cells."""

    def write(*cells):
        nbformat.write(tiny(*cells), path)
        return path

    path = tmp_path / "tiny.ipynb"
    return write


CLOCK = ("import time; print(time.perf_counter_ns())", "nbval-ignore-output")


@pytest.mark.lane("all", "execute", "dependencies")
def test_a_second_execution_leaves_no_diff(notebook):
    widget = "import ipywidgets\nipywidgets.IntSlider()"
    path = notebook("x = 1", CLOCK, widget, "print(x)\nx")
    assert execute_notebooks.main([str(path)]) == 0
    first = path.read_text()
    assert execute_notebooks.WIDGET not in first and "IntSlider" in first and '"execution_count": 4' in first
    assert execute_notebooks.main([str(path)]) == 0
    assert path.read_text() == first


@pytest.mark.lane("test", "execute", "dependencies")
def test_words_are_renewed_without_a_kernel_and_code_is_not(notebook, capsys):
    path = notebook("import math", ("x = 1\nprint(x)", "claims"))
    assert execute_notebooks.main([str(path)]) == 0
    changed = files.read(path)
    assert changed.cells[2].metadata["jupyter"] == {"source_hidden": True} and execute_notebooks.has_run(changed)
    changed.cells[0].source = "# Tiny, with a word more"
    changed.cells[2].source = "x = 1  # and one here\nprint(x)"
    nbformat.write(changed, path)
    assert execute_notebooks.main(["--text", str(path)]) == 0
    renewed = files.read(path)
    assert [cell.source for cell in renewed.cells] == [cell.source for cell in changed.cells]
    assert renewed.cells[2].outputs[0].text == "1\n"
    before = path.read_bytes()
    for cells in ([*renewed.cells[:2]], [*renewed.cells, new_code_cell("print(2)")]):
        nbformat.write(new_notebook(cells=cells), path)
        before = path.read_bytes()
        assert execute_notebooks.main(["--text", str(path)]) == 1
        assert "its code has changed since it was run: `make notebooks ONLY=ti`" in capsys.readouterr().err
        assert path.read_bytes() == before


def test_a_notebook_is_named_by_its_number_or_its_topic():
    masking = next(path for path in files.paths() if path.stem.endswith("_masking"))
    assert files.choose(["masking", masking.stem[:2], masking]) == [masking] * 3
    assert files.choose([]) == files.paths()
    with pytest.raises(ValueError, match="^sorting is no notebook: give a file, a number"):
        files.choose(["sorting"])


@pytest.mark.lane("all", "execute", "dependencies")
def test_kept_output_is_made_anew_when_a_cell_changes_that_it_depends_on(notebook):
    path = notebook("import math", "x = 1", "y = 1", ("import time; print(x, time.time())", VOLATILE))
    assert execute_notebooks.main([str(path)]) == 0
    before = files.read(path)
    for source, kept in (("x = 2", []), ("x = 1  # a word", before.cells[4:5])):
        before.cells[2].source = source
        assert execute_notebooks.stored_and_valid(before) == kept
    before.cells[3].source = "y = 2"
    assert execute_notebooks.stored_and_valid(before) == before.cells[4:5]


def test_a_kept_picture_is_drawn_anew_when_the_code_that_draws_it_changes(monkeypatch, tmp_path):
    utils = shutil.copytree(ROOT / "utils", tmp_path / "utils", ignore=shutil.ignore_patterns("exercises", "corpus"))
    monkeypatch.setattr(execute_notebooks, "COURSE", tmp_path)
    calls = ("plots.lines(x, curves)", "widgets.sampling(x)", "print(x)")
    made = tiny("import math", *((source, VOLATILE) for source in calls))
    execute_notebooks.stabilise(made, {})
    assert [cell.metadata.get(execute_notebooks.DRAWN) is None for cell in made.cells[2:]] == [False, False, True]

    def shown(word):
        for cell in made.cells[2:]:
            cell.outputs = [new_output("stream", text=word)]
        return {cell.id: cell.outputs for cell in made.cells[2:]}

    kept = shown("kept")
    sampling = Path(inspect.getfile(widgets.sampling)).name
    for file, function, figure, widget in (
        ("plots.py", "lines", "new", "kept"),
        ("plots.py", "bars", "kept", "kept"),
        (f"widgets/{sampling}", "sampling", "kept", "new"),
        ("widgets/canvas.py", "__init__", "kept", "new"),
        ("widgets/recurrence.py", "draw_unrolled", "kept", "kept"),
    ):
        drawn = (utils / file).read_text()
        assert f"def {function}(" in drawn
        (utils / file).write_text(drawn.replace(f"def {function}(", f"def {function}(more, ", 1))
        execute_notebooks.key_of.cache_clear()
        shown("new")
        execute_notebooks.stabilise(made, kept)
        assert [cell.outputs[0].text for cell in made.cells[2:]] == [figure, widget, "kept"], function
        assert execute_notebooks.stored_and_valid(made) == made.cells[2:], "nothing is void"
    execute_notebooks.key_of.cache_clear()


@pytest.mark.lane("test")
def test_a_cell_that_raises_leaves_the_file_alone(notebook, capsys):
    path = notebook("1 + 1", "1 / 0")
    before = path.read_bytes()
    assert execute_notebooks.main([str(path)]) == 1
    assert path.read_bytes() == before and len(list(path.parent.iterdir())) == 1
    assert "tiny.ipynb: cell 2 raised ZeroDivisionError: division by zero" in capsys.readouterr().err


@pytest.mark.lane("all", "seeds")
def test_other_seeds_run_on_a_copy(notebook, capsys):
    path = notebook("SEED = 0", "assert SEED < 2")
    before = path.read_bytes()
    assert repeat_with_seeds.main([str(path), "--seeds", "1"]) == 0
    assert repeat_with_seeds.main([str(path), "--seeds", "1", "2"]) == 1
    assert "seed 2: cell 2 raised AssertionError" in capsys.readouterr().err and path.read_bytes() == before
    with pytest.raises(ValueError, match="0 cells have a line SEED = 0"):
        repeat_with_seeds.main([str(notebook("seed = 0"))])


@pytest.mark.lane("all", "seeds")
def test_the_margins_of_assertions_are_printed(notebook, capsys):
    path = notebook("SEED = 0", "a = 3.0 - SEED\nassert 0 < a < 10 and all(a <= b for b in (5, 7)) and a != 9")
    assert repeat_with_seeds.main([str(path), "--seeds", "0", "2"]) == 0
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert {"1 2 [2] 0 < a", "7 2 [2] a < 10", "2 2 [2] a <= b"} <= set(said)
    path = notebook("SEED = 0", "assert SEED < 4")
    assert repeat_with_seeds.main([str(path), "--seeds", "0", "3"]) == 0
    assert "thin 1 3 [2] SEED < 4" in " ".join(capsys.readouterr().out.split())


def test_writing_is_all_or_nothing(notebook, monkeypatch):
    path = notebook("1")
    before = path.read_bytes()

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        files.write(tiny("2"), path)
    assert path.read_bytes() == before and len(list(path.parent.iterdir())) == 1


def strict_nbval(path, *further):
    options = ["-p", "conftest", "-p", "no:cacheprovider", f"--rootdir={ROOT}", "-c", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "pytest", "-n0", *options, *further, str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.lane("all", "rerun_plugin", "conftest")
def test_unrun_cells_are_refused(notebook):
    done = strict_nbval(notebook("print(1)"))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR and "was never run" in done.stderr


@pytest.mark.lane("all", "rerun_plugin", "conftest")
def test_a_changed_output_fails_and_a_coordinate_does_not(notebook):
    drawing = "from IPython.display import SVG\nSVG('<svg><rect x=\"{}\"/><text>{}</text></svg>')"
    path = notebook(drawing.format(1.5, "one"), "print(1)")
    assert execute_notebooks.main([str(path)]) == 0
    stored = path.read_text()
    path.write_text(stored.replace("1.5", "1.7"))
    assert "2 passed" in strict_nbval(path, "--once").stdout
    changed = json.loads(stored)
    changed["cells"][1]["outputs"][0]["data"]["image/svg+xml"] = ['<svg><rect x="1.5"/><text>two</text></svg>']
    changed["cells"][2]["outputs"][0]["text"] = ["2\n"]
    path.write_text(json.dumps(changed))
    assert "2 failed" in strict_nbval(path, "--once").stdout


def test_only_attributes_with_numbers_and_folded_tables_are_left_out_of_the_comparison():
    patterns = nbval.plugin.get_sanitize_patterns((ROOT / "tests" / "nbval_sanitize.cfg").read_text())
    (pattern, replacement), (table, shown) = patterns
    view = '<svg width="9.1"><text fill="black" x="1.25">sailed 0.41</text></svg>'
    assert re.sub(pattern, replacement, view) == '<svg width=""><text fill="black" x="">sailed 0.41</text></svg>'
    figure = '<img alt=""><details class="numbers"><table><td>0.5</td></table></details>'
    assert re.sub(table, shown, figure + "0.5") == '<img alt="">(table)0.5'
    described = "weights: sailed attends most to ship 0.41; x = 1.0, y = 2"
    assert re.sub(pattern, replacement, described) == re.sub(table, shown, described) == described


# The address


@pytest.fixture
def published(tmp_path):
    """A copy of what holds the course's address."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    (tmp_path / links.SETUP_CELL).parent.mkdir(parents=True)
    shutil.copy(ROOT / links.SETUP_CELL, tmp_path / links.SETUP_CELL)
    address = f"https://github.com/{links.repository()}"
    (tmp_path / "README.md").write_text(f"See {address}. Or {address}/issues, not {address}-two.\n")
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "places.md", tmp_path / "docs")
    shutil.copy(ROOT / "CITATION.cff", tmp_path)
    return tmp_path


def test_the_address_is_written_everywhere_once(published):
    names = {path.name for path in (published / "notebooks").glob("*.ipynb")}
    assert set(links.update(published, "ada/attention")) == names | {
        "README.md",
        "places.md",
        "map.svg",
        "map_dark.svg",
        "opening.svg",
        "opening_dark.svg",
        "CITATION.cff",
        str(links.SETUP_CELL),
    }
    assert links.update(published, "ada/attention") == [] == links.update(published)
    assert links.repository(published) == "ada/attention"
    readme = (published / "README.md").read_text()
    assert readme.startswith("See https://github.com/ada/attention. Or https://github.com/ada/attention/issues, not ")
    assert f"{links.repository()}-two" in readme
    for path in (published / "notebooks").glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert links.repository() not in text
        assert all(link in text for link in links.launch_links(path.name, "ada/attention"))
        cells = [cell for cell in files.read(path).cells if cell.cell_type == "code"]
        assert cells[0].source == links.setup_cell(published)


def test_writing_the_address_and_back_leaves_no_diff(published):
    before = {path.name: path.read_bytes() for path in (published / "notebooks").iterdir()}
    links.update(published, "ada/attention")
    links.update(published, links.repository())
    assert {path.name: path.read_bytes() for path in (published / "notebooks").iterdir()} == before


NO_NAMES = ["ada", "ada/", "https://github.com/a/b", "a/b/c", "a b/c", "ada/x.git", '"/x', "ada/.."]


@pytest.mark.parametrize("repo", NO_NAMES)
def test_an_address_that_is_none_is_refused(published, repo):
    with pytest.raises(SystemExit, match="owner/name"):
        links.update(published, repo)
