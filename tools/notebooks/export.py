"""A notebook of the course as an assignment for nbgrader or for otter-grader, with this course's verdicts in it.

    python -m tools.notebooks.export nbgrader NOTEBOOK ... --to COURSE_FOLDER
    python -m tools.notebooks.export otter NOTEBOOK --to FOLDER

Below each exercise stands a cell that judges it: as many points as the exercise has dots (●●○ is 2), half of them where
at least half of the inputs come out right, and in the report the sentence that `check` says. A wrong answer is then
replaced by the course's, so that later exercises do not suffer. `hint` and `solution` are closed, as with
ATTENTION_MARKED=1; with --open they are not. --seed judges on other inputs than `check` does. At the end the tool says
which commands of nbgrader or otter-grader come next. What a teacher has changed in FOLDER is overwritten with --force
only.
"""

import argparse
import ast
import re
import shutil
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

from tools.notebooks.files import COURSE, read, text
from utils import cells
from utils.exercises import catalogue

MARKED = 'import os\nos.environ["ATTENTION_MARKED"] = "1"  # this is marked work: hint and solution are closed'
NBGRADER_CONFIG = '''"""Written by tools/notebooks/export.py: where the course is, and time for its trainings."""

import os

os.environ.setdefault("ATTENTION_COURSE", {course!r})
os.environ["ATTENTION_PROGRESS"] = "off"
c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "attention"
c.ExecutePreprocessor.timeout = 1200
'''
OTTER_TEST = """OK_FORMAT = False

from otter.test_files import test_case
from utils.exercises.marking import require

name, points = {name!r}, {points}


@test_case(name="half of the inputs", points={half})
def half(env):
    require({name!r}, 0.5, env, {seed})


@test_case(name="all inputs", points={half})
def whole(env):
    require({name!r}, 1, env, {seed})
"""


def nbgrader(name, points=0, **what):
    """nbgrader's entry in the metadata of a cell."""
    entry = {"grade_id": name, "schema_version": 3, "grade": False, "locked": True, "solution": False, "task": False}
    return {"nbgrader": entry | what | ({"points": points} if points else {})}


def student_cell(cell):
    """The cell as a learner gets it: without outputs, and an exercise without the line that takes a wrong answer's
    place, which is done by the cell that judges it."""
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
        if name := cells.exercise(cell):
            cell.source = re.sub(rf"^{name} = use\({name}\)\n?", "", cell.source, flags=re.MULTILINE).rstrip("\n")
    return cell


def is_setup(cell):
    return cells.has(cell, "setup")


def prepared(path):
    """The notebook as a learner gets it. SystemExit for a file without exercises."""
    try:
        notebook = read(path)
    except (OSError, ValueError, nbformat.ValidationError) as problem:
        raise SystemExit(f"{path}: {problem}") from None
    if not cells.exercises(notebook) or not any(map(is_setup, notebook.cells)):
        raise SystemExit(f"{path} is no notebook of the course with exercises")
    notebook.cells = [student_cell(cell) for cell in notebook.cells]
    return notebook


def with_others(notebook, above, below):
    """The text of the notebook with the list `above(cell)` above each cell and `below(cell)` below it."""
    notebook.cells = [one for cell in notebook.cells for one in (*above(cell), cell, *below(cell))]
    return text(notebook)


def points_of(name):
    return catalogue()[name].level


def for_nbgrader(path, seed=0, is_open=False):
    """The text of the notebook with the metadata and the cells that nbgrader needs."""
    notebook = prepared(path)

    def above(cell):
        return (
            [new_code_cell(MARKED, id="marked", metadata=nbgrader("marked"))] if is_setup(cell) and not is_open else []
        )

    def below(cell):
        if not (name := cells.exercise(cell)):
            return []
        points = points_of(name)
        more = f", seed={seed}" if seed else ""
        source = f'from utils.exercises.marking import mark\n\nmark("{name}", {points}, globals(){more})'
        return [new_code_cell(source, id=f"mark-{name}"[:64], metadata=nbgrader(f"mark_{name}", points, grade=True))]

    return with_others(notebook, above, below)


def kept(path):
    return path.read_text(encoding="utf-8", errors="replace")


def write_all(files, force):
    """Write {path: text}. SystemExit before the first where a file is there with another text, unless `force`."""
    changed = [str(path) for path, new in files.items() if path.exists() and kept(path) != new]
    if changed and not force:
        raise SystemExit(f"there already, and different: {', '.join(changed)}. Move that away, or add --force.")
    for path, new in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(new, encoding="utf-8")


def export_nbgrader(paths, folder, seed, is_open, force):
    files = {folder / "source" / path.stem / path.name: for_nbgrader(path, seed, is_open) for path in paths}
    config, needed = folder / "nbgrader_config.py", NBGRADER_CONFIG.format(course=str(COURSE))
    write_all(files if config.exists() else files | {config: needed}, force)
    for path in files:
        print(f"{path}: written")
    if kept(config) != needed:
        print(f"{config} is yours and stays. It needs these lines:\n\n{needed[needed.index('import') :]}")
    names = " ".join(path.stem for path in paths)
    print(f"In {folder}: nbgrader generate_assignment {names}; later nbgrader autograde, then generate_feedback.")


def is_needed(cell):
    """Does grading need this code cell: imports, definitions, exercises? All others would only take time."""
    if is_setup(cell) or cells.exercise(cell) or cells.has(cell, "defines"):
        return True
    try:
        statements = ast.parse(cell.source).body
    except SyntaxError:  # a line for IPython
        return False
    return any(isinstance(one, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)) for one in statements)


def for_otter(path, seed=0, is_open=False):
    """The text of the notebook with otter's cells; what grading does not need has otter's tag `otter_ignore`."""
    notebook = prepared(path)

    def above(cell):
        return [new_code_cell(MARKED, id="marked")] if is_setup(cell) and not is_open else []

    def below(cell):
        if is_setup(cell):
            source = "import otter\nfrom utils.exercises.marking import go_on\n\ngrader = otter.Notebook()"
            return [new_code_cell(source, id="otter")]
        if not (name := cells.exercise(cell)):
            return []
        more = f", seed={seed}" if seed else ""
        source = f'result = grader.check("{name}")\ngo_on("{name}", globals(){more})\nresult'
        return [new_code_cell(source, id=f"check-{name}"[:64])]

    for cell in cells.code(notebook):
        if not is_needed(cell):
            cell.metadata["tags"] = [*cells.tags(cell), "otter_ignore"]
    return with_others(notebook, above, below)


def export_otter(path, folder, seed, is_open, force):
    tests, notebook = folder / "tests", for_otter(path, seed, is_open)
    pins = re.findall(r"^\w[\w.-]*==.*$", (COURSE / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    files = {folder / path.name: notebook, folder / "requirements.txt": "\n".join(pins) + "\n"}
    for name in cells.exercises(read(path)):
        points = points_of(name)
        test = OTTER_TEST.format(name=name, points=points, half=points / 2, seed=seed)
        files[tests / f"{name}.py"] = test
    others = [one.name for one in sorted(tests.glob("*.py")) if one not in files]
    if others and not force:  # otter-grader would ask for them, too
        raise SystemExit(
            f"{tests} holds tests of another notebook: {', '.join(others)}. Take another folder, or --force."
        )
    write_all(files, force)
    for part in ("utils", "data"):  # where the setup cell looks for the course
        ignored = shutil.ignore_patterns("__pycache__", ".*", "cache", "glove*")
        shutil.copytree(COURSE / part, folder / "attention-course" / part, ignore=ignored, dirs_exist_ok=True)
    print(f"{folder / path.name}: written, with a test for each exercise.")
    print(f"Learners get {path.name} and tests. In {folder}: otter generate -t tests attention-course")


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("tool", choices=["nbgrader", "otter"])
    ask.add_argument("notebooks", nargs="+", type=Path)
    ask.add_argument("--to", type=Path, required=True, metavar="FOLDER")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--open", action="store_true", help="leave hint and solution open")
    ask.add_argument("--force", action="store_true", help="overwrite what has been changed in the folder")
    told = ask.parse_args(arguments)
    if told.tool == "nbgrader":
        return export_nbgrader(told.notebooks, told.to, told.seed, told.open, told.force)
    if len(told.notebooks) > 1:
        ask.error("otter-grader takes one notebook in a folder")
    return export_otter(told.notebooks[0], told.to, told.seed, told.open, told.force)


if __name__ == "__main__":
    main()
