"""A notebook of the course as an assignment for nbgrader or for otter-grader, with this course's verdicts in it.

    python tools/export_assignment.py nbgrader NOTEBOOK ... --to COURSE_FOLDER
    python tools/export_assignment.py otter NOTEBOOK --to FOLDER

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
import sys
from pathlib import Path

COURSE = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(COURSE), str(COURSE / "tools" / "setup")]

import carry_over  # noqa: E402  (the folders have to be on the path first)
from utils.exercises import catalogue  # noqa: E402

MARKED = 'import os\nos.environ["ATTENTION_MARKED"] = "1"  # this is marked work: hint and solution are closed'
NBGRADER_CONFIG = '''"""Written by tools/export_assignment.py: where the course is, and time for its trainings."""

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


def new_cell(name, source, tags=(), **metadata):
    """A code cell without outputs."""
    metadata |= {"tags": list(tags)} if tags else {}
    return {
        "cell_type": "code",
        "id": name,
        "metadata": metadata,
        "execution_count": None,
        "outputs": [],
        "source": source,
    }


def nbgrader(name, points=0, **what):
    """nbgrader's entry in the metadata of a cell."""
    entry = {"grade_id": name, "schema_version": 3, "grade": False, "locked": True, "solution": False, "task": False}
    return {"nbgrader": entry | what | ({"points": points} if points else {})}


def student_cell(cell):
    """The cell as a learner gets it: without outputs, and an exercise without the line that takes a wrong answer's
    place, which is done by the cell that judges it."""
    if cell["cell_type"] != "code":
        return cell
    name, source = carry_over.exercise(cell), cell["source"]
    if name:
        source = re.sub(rf"^{name} = use\({name}\)\n?", "", source, flags=re.MULTILINE).rstrip("\n")
    return cell | {"source": source, "outputs": [], "execution_count": None}


def is_setup(cell):
    return "setup" in cell["metadata"].get("tags", [])


def prepared(path):
    """(notebook, its cells as a learner gets them). SystemExit for a file without exercises."""
    try:
        notebook = carry_over.read(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise SystemExit(f"{path}: {problem}") from None
    cells = [student_cell(cell) for cell in notebook["cells"]]
    if not any(map(carry_over.exercise, cells)) or not any(map(is_setup, cells)):
        raise SystemExit(f"{path} is no notebook of the course with exercises")
    return notebook, cells


def with_others(cells, above, below):
    """`cells` with the list `above(cell)` above each and `below(cell)` below it."""
    return [one for cell in cells for one in (*above(cell), cell, *below(cell))]


def points_of(name):
    return catalogue()[name].level


def for_nbgrader(path, seed=0, is_open=False):
    """The text of the notebook with the metadata and the cells that nbgrader needs."""
    notebook, cells = prepared(path)

    def above(cell):
        return [new_cell("marked", MARKED, **nbgrader("marked"))] if is_setup(cell) and not is_open else []

    def below(cell):
        if not (name := carry_over.exercise(cell)):
            return []
        points = points_of(name)
        more = f", seed={seed}" if seed else ""
        source = f'from utils.exercises.marking import mark\n\nmark("{name}", {points}, globals(){more})'
        return [new_cell(f"mark-{name}"[:64], source, **nbgrader(f"mark_{name}", points, grade=True))]

    return carry_over.text(notebook | {"cells": with_others(cells, above, below)})


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def write_all(files, force):
    """Write {path: text}. SystemExit before the first where a file is there with another text, unless `force`."""
    changed = [str(path) for path, text in files.items() if path.exists() and read(path) != text]
    if changed and not force:
        raise SystemExit(f"there already, and different: {', '.join(changed)}. Move that away, or add --force.")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def export_nbgrader(paths, folder, seed, is_open, force):
    files = {folder / "source" / path.stem / path.name: for_nbgrader(path, seed, is_open) for path in paths}
    config, needed = folder / "nbgrader_config.py", NBGRADER_CONFIG.format(course=str(COURSE))
    write_all(files if config.exists() else files | {config: needed}, force)
    for path in files:
        print(f"{path}: written")
    if read(config) != needed:
        print(f"{config} is yours and stays. It needs these lines:\n\n{needed[needed.index('import') :]}")
    names = " ".join(path.stem for path in paths)
    print(f"In {folder}: nbgrader generate_assignment {names}; later nbgrader autograde, then generate_feedback.")


def is_needed(cell):
    """Does grading need this code cell: imports, definitions, exercises? All others would only take time."""
    if is_setup(cell) or carry_over.exercise(cell) or "defines" in cell["metadata"].get("tags", []):
        return True
    try:
        statements = ast.parse(cell["source"]).body
    except SyntaxError:  # a line for IPython
        return False
    return any(isinstance(one, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)) for one in statements)


def for_otter(path, seed=0, is_open=False):
    """The text of the notebook with otter's cells; what grading does not need has otter's tag `otter_ignore`."""
    notebook, cells = prepared(path)

    def above(cell):
        return [new_cell("marked", MARKED)] if is_setup(cell) and not is_open else []

    def below(cell):
        if is_setup(cell):
            source = "import otter\nfrom utils.exercises.marking import go_on\n\ngrader = otter.Notebook()"
            return [new_cell("otter", source)]
        if not (name := carry_over.exercise(cell)):
            return []
        more = f", seed={seed}" if seed else ""
        source = f'result = grader.check("{name}")\ngo_on("{name}", globals(){more})\nresult'
        return [new_cell(f"check-{name}"[:64], source)]

    for cell in cells:
        if cell["cell_type"] == "code" and not is_needed(cell):
            cell["metadata"] = cell["metadata"] | {"tags": [*cell["metadata"].get("tags", []), "otter_ignore"]}
    return carry_over.text(notebook | {"cells": with_others(cells, above, below)})


def export_otter(path, folder, seed, is_open, force):
    tests, text = folder / "tests", for_otter(path, seed, is_open)
    pins = re.findall(r"^\w[\w.-]*==.*$", (COURSE / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    files = {folder / path.name: text, folder / "requirements.txt": "\n".join(pins) + "\n"}
    for name in filter(None, map(carry_over.exercise, carry_over.read(text)["cells"])):
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
