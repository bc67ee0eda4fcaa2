"""What the documents tell one to type works as it stands, from the course's folder: programs, options, targets,
imports, and calls of what a notebook has."""

import ast
import functools
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.notebooks import files, links

ROOT = Path(__file__).parents[2]
PLACES = [
    "*.md",
    "docs/*.md",
    "data/*.md",
    "notebooks/*.ipynb",
    "tools/**/*.py",
    "experiments/*.py",
    "utils/**/*.py",
    "tests/answers/*.py",
]
DOCUMENTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for place in PLACES
    for path in sorted(ROOT.glob(place))
}
# tools/setup/ is left out: it prepares .venv and the course's files, so a call would set up this copy.
ROOMS = r"tools[./](?:notebooks|site|vectors)|experiments|utils|tests"
CALL = re.compile(rf"python3? -m ((?:{ROOMS})[\w.]*\w)([^`\n\"]*)")
READ = ["*.md", "docs/*.md", "data/*.md", "tests/answers/*.md", "notebooks/*.ipynb"]  # by people, as text
FENCED = re.compile(r"^ *```\w*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
GIVEN = re.compile(r"""python3? -c (["'])(.*?)\1""", re.DOTALL)  # a program of one line
TARGET = re.compile(r"`make ([a-z][\w-]*)")
TRIED = """
import contextlib, io, json, os, runpy, sys
sys.path[0] = os.getcwd()  # as `python -m` has it
said = {}
for name, *command in json.loads(sys.argv[1]):
    sys.argv, out = [name, *command, "--help"], io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            sys.modules.pop(name, None)  # imported by another, it would be run a second time
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        except SystemExit as end:
            print(end.code or "", end="")
        except BaseException as error:
            print(f"{type(error).__name__}: {error}")
    said[" ".join([name, *command])] = out.seek(0) or out.read()
json.dump(said, sys.stdout)
"""


def calls():
    """{(module, its command if it has several): the options that documents name with it}."""
    found = {}
    for text in DOCUMENTS.values():
        for name, rest in CALL.findall(text):
            command = re.findall(r"^ (grade|class)\b", rest)
            found.setdefault((name, *command), set()).update(re.findall(r"--\w[\w-]*", rest))
    return found


@pytest.mark.lane("all", "test_calls")
def test_every_documented_call_works_and_knows_its_options():
    """In one process, since each would wait for the import of torch."""
    documented = calls()
    assert ("experiments.benchmark_attention",) in documented and len(documented) > 10
    command = [sys.executable, "-c", TRIED, json.dumps(list(documented))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for call, said in json.loads(done.stdout).items():
        if "Training needs more than the course: python -m pip install" in said:
            continue
        assert said.startswith("usage: "), f"python -m {call} --help: {said}"
        usage = said.partition("\n\n")[0]  # the rest repeats the docstring
        missing = {option for option in documented[tuple(call.split())] if not re.search(rf"{option}\b", usage)}
        assert not missing, f"python -m {call} has no {missing}"


def test_what_needs_the_course_s_folder_is_called_by_python_m():
    """Called by its path, a file would have its own folder in front of the path of imports, and find no other room."""
    by_path = re.compile(rf"python3? (?:{ROOMS})/?[\w/]*\.py")
    assert not {name: found for name, text in DOCUMENTS.items() if (found := by_path.findall(text))}


def test_every_tool_is_documented_where_it_stands():
    """The docstring of each program in the rooms begins with what it does, and says how it is called."""
    rooms = ("tools/notebooks", "tools/site", "tools/vectors", "experiments")
    for path in (path for room in rooms for path in sorted((ROOT / room).glob("*.py"))):
        text = path.read_text(encoding="utf-8")
        if '__name__ == "__main__"' in text:
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            assert f"    python -m {name}" in text, path.name


def test_the_table_of_tools_names_every_one():
    table = DOCUMENTS["CONTRIBUTING.md"].partition("| tool |")[2].partition("\n\n")[0]
    tools = [path for place in ("tools/**/*.py", "experiments/*.py") for path in ROOT.glob(place)]
    names = {path.stem for path in tools} - {"__init__", "conf"}
    assert len(names) > 20 and {name for name in names if f"`{name}`" not in table} == set()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", *(n for n in DOCUMENTS if n.startswith("docs/"))])
def test_every_documented_target_of_make_is_one(name):
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(TARGET.findall(DOCUMENTS[name])) <= targets


# Imports and calls


def code_in(markdown):
    """The Python in a document: blocks, code within a line, and what is given to `python -c`."""
    found = FENCED.findall(markdown) + [code for _, code in INLINE.findall(FENCED.sub("", markdown))]
    for code in found:
        code = given[2] if (given := GIVEN.search(code)) else code.replace("…", "...")
        try:
            yield code, ast.parse(code.strip())
        except SyntaxError:  # it is of another language, or a piece
            continue


def imports_of(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def run_imports(nodes, space):
    for node in nodes:
        exec(compile(ast.Module([node], []), "<document>", "exec"), space)
    return space


def not_there(tree, space):
    """What a piece of code calls, or names in the package, that is not there or does not take what it is given."""
    for node in ast.walk(tree):
        name = ast.unparse(node.func if isinstance(node, ast.Call) else node)
        root, *parts = name.split(".")
        named = isinstance(node, ast.Call) or root == "utils" and isinstance(node, ast.Attribute)
        if not named or root not in space or not re.fullmatch(r"[\w.]+", name):
            continue
        try:
            value = pkgutil.resolve_name(name) if root == "utils" else functools.reduce(getattr, parts, space[root])
            if isinstance(node, ast.Call):
                inspect.signature(value).bind_partial(*node.args, **{one.arg: one.value for one in node.keywords})
        except (ImportError, AttributeError, TypeError) as error:
            yield f"{name}: {error}"
        except ValueError:  # PyTorch's own functions have no signature
            continue


@pytest.mark.parametrize(
    "path", [path for place in READ for path in sorted(ROOT.glob(place))], ids=lambda one: one.name
)
def test_what_a_document_imports_and_calls_is_there(path):
    """Names are those of the setup cell, of imports in the document itself, and of those in a notebook's cells."""
    markdown, code = path.read_text(encoding="utf-8"), [links.setup_cell()]
    if path.suffix == ".ipynb":
        cells = files.read(path).cells
        markdown = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        code += [cell.source for cell in cells if cell.cell_type == "code"]
    space = {"utils": importlib.import_module("utils")}
    for source in code:
        run_imports(imports_of(ast.parse(source)), space)
    pieces = list(code_in(markdown))
    for _, tree in pieces:
        run_imports(imports_of(tree), space)
    assert not {source: wrong for source, tree in pieces if (wrong := list(not_there(tree, space)))}


def test_an_import_or_a_call_that_does_not_work_is_found():
    (_, tree), *_ = code_in("Run `from utils.exercises import nothing_of_that_name`.")
    with pytest.raises(ImportError):
        run_imports(imports_of(tree), {})
    space = run_imports(imports_of(ast.parse("import utils; from utils.exercises import use")), {})
    for wrong in ("utils.nowhere", "use('attend', mine=True)", "use.of()"):
        assert list(not_there(ast.parse(wrong), space))
    for right in ("use('attend', own=False)", "use(...)", "utils.attention", "unknown.of()"):
        assert not list(not_there(ast.parse(right), space))
