"""A notebook of the course as an assignment for nbgrader or for otter-grader, with this course's verdicts in it.

    python -m tools.notebooks.export nbgrader NOTEBOOK ... --to COURSE_FOLDER
    python -m tools.notebooks.export otter NOTEBOOK --to FOLDER

Below each exercise is a cell that judges it: as many points as the exercise has dots (●●○ is 2), half of them where
at least half of the inputs come out right, and in the report the sentence that `check` says. A wrong answer is then
replaced by the course's, so that later exercises do not suffer. `hint` and `solution` are closed, as with
ATTENTION_MARKED=1; with --open they are not. --seed judges on other inputs than `check` does. At the end the tool says
which commands of nbgrader or otter-grader come next. What a teacher has changed in FOLDER is overwritten with --force
only.

No answer is handed out: whatever NOTEBOOK holds, an exercise is its stub, and the other cells are as git keeps the
course. Cells that the course does not have are left out, and the tool names them; with --own-cells they stay, and so do
changed texts, except for cells that define a function of an exercise.
"""

import argparse
import ast
import copy
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

from tools.notebooks.files import COURSE, METADATA, read, text
from tools.setup.carry_over import found_again
from utils import cells
from utils.exercises import catalogue
from utils.exercises.learner.progress import notebook_of

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
from utils.exercises.teachers.marking import require

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


def is_setup(cell):
    return cells.has(cell, "setup")


def as_shipped(name, path):
    """The course's notebook as git keeps it, since the file may be solved; without git, the file."""
    file = f"notebooks/{name}.ipynb"
    try:
        done = subprocess.run(["git", "show", f"HEAD:./{file}"], cwd=COURSE, capture_output=True, check=True)
        return nbformat.reads(done.stdout.decode("utf-8"), as_version=4)
    except (OSError, subprocess.CalledProcessError):
        if (COURSE / file).resolve() == path.resolve():
            print(f"{path}: git does not know this notebook, so look yourself whether other cells hold answers.")
        return read(COURSE / file)


def stub_cell(cell, name):
    """An exercise as a learner gets it: without the line that takes a wrong answer's place, which is done by the cell
    that judges it."""
    cell.source = f"{catalogue()[name].stub.rstrip()}\n\ncheck({name})"
    return cell


def student_cells(notebook, shipped, asked, own_cells):
    """(the cells as learners get them, those that are left out, those whose changes are) of a notebook that asks for
    the functions `asked`."""
    kept, left_out, changed, names = [], [], [], []
    answers = re.compile(rf"^\s*(?:def|class) ({'|'.join(asked)})\b", re.MULTILINE)
    for cell, course_cell in zip(notebook.cells, found_again(notebook.cells, shipped.cells)):
        name = cells.exercise(course_cell or cell)
        shown = cell if course_cell is None or own_cells and not name else course_cell
        is_answer = not name and not cells.has(shown, "defines") and answers.search(shown.source)
        is_gone = name and name not in catalogue()  # an exercise of an earlier edition
        if name in names or is_answer or is_gone or not (name or course_cell or own_cells):
            left_out.append(cell)
            continue
        changed += [cell] if shown is not cell and not name and shown.source != cell.source else []
        names += [name] if name else []
        shown = stub_cell(copy.deepcopy(shown), name) if name else copy.deepcopy(shown)
        kept.append(shown)
        if shown.cell_type == "code":
            shown.outputs, shown.execution_count = [], None
    return kept, left_out, changed


def prepared(path, own_cells=False):
    """The notebook as a learner gets it. SystemExit for a file without exercises."""
    try:
        notebook = read(path)
    except (OSError, ValueError, nbformat.ValidationError) as problem:
        raise SystemExit(f"{path}: {problem}") from None
    known = catalogue()
    votes = Counter(notebook_of(known[name]) for name in cells.exercises(notebook) if name in known)
    if not votes or not any(map(is_setup, notebook.cells)):
        raise SystemExit(f"{path} is no notebook of the course with exercises")
    (name, _), *_ = votes.most_common(1)
    asked = [exercise for exercise, found in known.items() if notebook_of(found) == name]
    notebook.cells, left_out, changed = student_cells(notebook, as_shipped(name, path), asked, own_cells)
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in left_out:
        print(f"{path}: a cell of your own is left out, as it may hold an answer: {first_line(cell)}")
    for cell in changed:
        print(f"{path}: your change of a cell is left out: {first_line(cell)}")
    return notebook


def first_line(cell):
    return next(iter(cell.source.strip().splitlines()), "(empty)")


def with_others(notebook, above, below):
    """The text of the notebook with the list `above(cell)` above each cell and `below(cell)` below it."""
    notebook.cells = [one for cell in notebook.cells for one in (*above(cell), cell, *below(cell))]
    return text(notebook)


def points_of(name):
    return catalogue()[name].level


def for_nbgrader(path, seed=0, is_open=False, own_cells=False):
    """The text of the notebook with the metadata and the cells that nbgrader needs."""
    notebook = prepared(path, own_cells)

    def above(cell):
        return (
            [new_code_cell(MARKED, id="marked", metadata=nbgrader("marked"))] if is_setup(cell) and not is_open else []
        )

    def below(cell):
        if not (name := cells.exercise(cell)):
            return []
        points = points_of(name)
        more = f", seed={seed}" if seed else ""
        source = f'from utils.exercises.teachers.marking import mark\n\nmark("{name}", {points}, globals(){more})'
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


def export_nbgrader(paths, folder, force, **how):
    files = {folder / "source" / path.stem / path.name: for_nbgrader(path, **how) for path in paths}
    config, needed = folder / "nbgrader_config.py", NBGRADER_CONFIG.format(course=str(COURSE))
    write_all(files if config.exists() else files | {config: needed}, force)
    for path in files:
        print(f"{path}: written")
    if kept(config) != needed:
        print(f"{config} is yours and stays. It needs these lines:\n\n{needed[needed.index('import') :]}")
    names = " ".join(path.stem for path in paths)
    print(f"In {folder}: nbgrader generate_assignment {names}; later nbgrader autograde, then generate_feedback.")


def is_needed(cell):
    """Does grading need this code cell: imports, definitions, exercises, names that an answer may use? All others would
    only take time."""
    if is_setup(cell) or cells.exercise(cell) or cells.has(cell, "defines"):
        return True
    try:
        statements = ast.parse(cell.source).body
    except SyntaxError:  # a line for IPython
        return False
    if any(isinstance(one, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)) for one in statements):
        return True
    return any(map(names_what_is_there, statements))


def names_what_is_there(statement):
    """Is it `F = torch.nn.functional`, or a number such as `SEED = 0`?"""
    value = ast.unparse(statement.value) if isinstance(statement, ast.Assign) else ""
    return bool(re.fullmatch(r"[^\W\d]\w*(\.\w+)+|-?\d[\d.e-]*", value))


def for_otter(path, seed=0, is_open=False, own_cells=False):
    """The text of the notebook with otter's cells; what grading does not need has otter's tag `otter_ignore`."""
    notebook = prepared(path, own_cells)

    def above(cell):
        return [new_code_cell(MARKED, id="marked")] if is_setup(cell) and not is_open else []

    def below(cell):
        if is_setup(cell):
            source = "import otter\nfrom utils.exercises.teachers.marking import go_on\n\ngrader = otter.Notebook()"
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


def export_otter(path, folder, force, **how):
    tests, notebook = folder / "tests", for_otter(path, **how)
    pins = re.findall(r"^\w[\w.-]*==.*$", (COURSE / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    files = {folder / path.name: notebook, folder / "requirements.txt": "\n".join(pins) + "\n"}
    for name in cells.exercises(nbformat.reads(notebook, as_version=4)):
        points = points_of(name)
        test = OTTER_TEST.format(name=name, points=points, half=points / 2, seed=how["seed"])
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
    ask.add_argument("--own-cells", action="store_true", help="keep cells that the course does not have, and changes")
    told = ask.parse_args(arguments)
    how = {"seed": told.seed, "is_open": told.open, "own_cells": told.own_cells}
    if told.tool == "nbgrader":
        return export_nbgrader(told.notebooks, told.to, told.force, **how)
    if len(told.notebooks) > 1:
        ask.error("otter-grader takes one notebook in a folder")
    return export_otter(told.notebooks[0], told.to, told.force, **how)


if __name__ == "__main__":
    main()
