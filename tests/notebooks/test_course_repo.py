"""A notebook opened alone in an empty folder fetches the course: what happens on Colab, and what may go wrong.

test_notebooks.py runs whole notebooks alone.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from course_repo import git, publish, setup_cell

from utils import VERSION

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.lane("test")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a repository that holds what a notebook needs of the course."""
    return publish(tmp_path_factory.mktemp("published"))


def run_setup_cell(address, folder, before="", code="", **environment):
    """The setup cell as it is in a notebook in `folder`, after other code and before some."""
    return subprocess.run(
        [sys.executable, "-c", f"{before}{setup_cell(address)}\nprint(home){code}"],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


def marked(folder):
    """Put into a folder what only the course has."""
    tasks = folder / "utils" / "exercises" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "topics.txt").touch()


@pytest.mark.lane("all", "setup_cell", "test_course_repo")
def test_half_a_clone_is_not_taken_for_the_course(address, tmp_path):
    marked(tmp_path / "attention-course.1.part")
    done = run_setup_cell(address, tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'attention-course'}\n"), done.stderr
    log = git("log", "--format=%s", folder=tmp_path / "attention-course")
    assert log == "The course\n", "the tag of the notebook's version, not what came after it"


def test_a_course_of_another_version_is_named(tmp_path):
    (tmp_path / "utils").mkdir()
    for name in ("widgets", "plots", "exercises", "vectors"):
        (tmp_path / "utils" / f"{name}.py").write_text("check = hint = solution = use = WordVectors = None\n")
    marked(tmp_path)
    (tmp_path / "utils" / "exercises" / "__init__.py").write_text("check = hint = solution = use = None\n")
    done = run_setup_cell(NOWHERE, tmp_path)
    said = f"This notebook is of version {VERSION}, the course in {tmp_path} is not: take both from the same place."
    assert done.stdout.splitlines()[0] == said, done.stderr


NOWHERE = "file:///nowhere"


@pytest.mark.lane("all", "setup_cell", "test_course_repo")
@pytest.mark.parametrize("variable", ["ATTENTION_COURSE", "PYTHONPATH"])
def test_an_installed_course_is_found_before_anything_is_fetched(tmp_path, variable):
    done = run_setup_cell(NOWHERE, tmp_path, **{variable: str(ROOT)})
    assert (done.returncode, done.stdout) == (0, f"{ROOT}\n"), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.lane("all", "setup_cell", "test_course_repo")
@pytest.mark.parametrize("folder", [".", "notebooks", "tests/answers", "utils/exercises/tasks", "data/checkpoints"])
def test_the_course_is_found_from_any_folder_in_it(folder):
    """So no second course is fetched, with answers and progress of its own."""
    done = run_setup_cell(NOWHERE, ROOT / folder)
    assert (done.returncode, done.stdout) == (0, f"{ROOT}\n"), done.stderr


@pytest.mark.lane("all", "setup_cell", "test_course_repo")
def test_the_nearest_course_counts(tmp_path):
    """A copy in a folder of another one, as learners make them before they try something."""
    copy = tmp_path / "attention-course" / "copy"
    for home in (copy.parent, copy):
        marked(home)
    (copy / "mine").mkdir()
    done = run_setup_cell(NOWHERE, copy / "mine")
    assert f"the course in {copy} is not" in done.stdout, done.stderr


@pytest.mark.lane("all", "setup_cell", "test_course_repo")
def test_a_home_in_the_variable_is_a_user_s_home(tmp_path):
    """A kernel.json and a .env file hand ~ on as it stands. What is kept lies there, too."""
    (tmp_path / "course").symlink_to(ROOT)
    code = "\nfrom utils import settings\nprint(settings.root())"
    done = run_setup_cell(NOWHERE, tmp_path, code=code, ATTENTION_COURSE="~/course", HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'course'}\n" * 2), done.stderr
    done = run_setup_cell(NOWHERE, tmp_path, ATTENTION_COURSE="~/moved", HOME=str(tmp_path))
    said = f"RuntimeError: ATTENTION_COURSE is {str(tmp_path / 'moved')!r}, where no course is: unset it, or let "
    assert done.stderr.splitlines()[-1].startswith(said)


@pytest.mark.lane("all", "setup_cell", "test_course_repo")
def test_a_project_with_exercises_of_its_own_is_not_the_course(tmp_path):
    (tmp_path / "utils" / "exercises").mkdir(parents=True)
    (tmp_path / "nb").mkdir()
    done = run_setup_cell(NOWHERE, tmp_path / "nb", PYTHONPATH=str(ROOT))
    assert (done.returncode, done.stdout) == (0, f"{ROOT}\n"), done.stderr


@pytest.mark.lane("all", "setup_cell", "test_course_repo")
@pytest.mark.parametrize("told", [" course ", "'course'", '"course" ', "./course"])
def test_blanks_quotes_and_the_current_folder_do_no_harm_to_the_variable(tmp_path, told):
    """What is kept lies in the same folder, whatever the current one is later."""
    (tmp_path / "course").symlink_to(ROOT)
    code = "\nos.chdir('/')\nfrom utils import settings\nprint(settings.root())"
    done = run_setup_cell(NOWHERE, tmp_path, code=code, ATTENTION_COURSE=told)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'course'}\n" * 2), done.stderr


LOCKED = """
import os, sys
def stat(path, *args, seen=os.stat, **more):
    if "locked" in os.fsdecode(path):
        raise PermissionError(13, "Permission denied", path)
    return seen(path, *args, **more)
os.stat = stat  # as for a user who may not enter the folder: the tests may run as one who may enter all
sys.path.insert(0, "/locked")
"""


@pytest.mark.lane("all", "setup_cell", "test_course_repo")
def test_a_folder_that_may_not_be_entered_is_passed_over():
    done = run_setup_cell(NOWHERE, ROOT / "notebooks", before=LOCKED)
    assert (done.returncode, done.stdout) == (0, f"{ROOT}\n"), done.stderr


OWN = {
    "a file": ("utils.py", "import utils\n"),
    "a package": ("utils/__init__.py", "import utils\n"),
    "a folder": ("utils/helpers.py", "import utils.helpers\n"),
    "made by hand": ("utils.txt", "import sys, types; sys.modules['utils'] = types.ModuleType('utils', 'utils')\n"),
}


@pytest.mark.lane("all", "setup_cell", "test_course_repo")
@pytest.mark.parametrize("own", OWN)
def test_another_module_called_utils_that_is_in_the_way_is_named(tmp_path, own):
    name, before = OWN[own]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("VERSION = None\n")
    done = run_setup_cell(NOWHERE, tmp_path, before=before, ATTENTION_COURSE=str(ROOT))
    said = done.stderr.splitlines()[-1]
    where = "<module 'utils'" if own == "made by hand" else str(tmp_path / "utils")
    assert said.startswith("RuntimeError: Another utils is in the way, ") and where in said and not done.stdout, said
    assert said.endswith(": restart, run this cell first; if it stays, rename it.")


@pytest.mark.lane("all", "setup_cell", "test_course_repo")
def test_another_module_called_utils_that_is_not_imported_yet_does_no_harm(tmp_path):
    (tmp_path / "utils.py").write_text("raise RuntimeError\n")
    done = run_setup_cell(NOWHERE, tmp_path, ATTENTION_COURSE=str(ROOT))
    assert (done.returncode, done.stdout) == (0, f"{ROOT}\n"), done.stderr


@pytest.mark.lane("all", "setup_cell", "test_course_repo")
def test_the_cell_may_run_twice_and_find_the_course_by_another_name(tmp_path):
    """What is imported already is the same files, also where a link leads to them."""
    (tmp_path / "course").symlink_to(ROOT)
    again = f"\nos.environ['ATTENTION_COURSE'] = {str(ROOT)!r}\n{setup_cell(NOWHERE)}\nprint(torch.get_num_threads())"
    done = run_setup_cell(NOWHERE, tmp_path, code=again, ATTENTION_COURSE=str(tmp_path / "course"), OMP_NUM_THREADS="2")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'course'}\n1\n"), done.stderr


def test_a_folder_that_is_not_the_course_is_named_and_left_as_it_is(tmp_path):
    done = run_setup_cell(NOWHERE, tmp_path, ATTENTION_COURSE=str(tmp_path / "moved"))
    said = f"RuntimeError: ATTENTION_COURSE is {str(tmp_path / 'moved')!r}, where no course is: unset it, or let "
    assert done.stderr.splitlines()[-1].startswith(said)
    note = tmp_path / "attention-course" / "note.txt"
    note.parent.mkdir()
    note.write_text("mine")
    done = run_setup_cell(NOWHERE, tmp_path)
    assert done.stderr.splitlines()[-1].startswith(f"RuntimeError: {note.parent} is not the course: ")
    assert note.read_text() == "mine" and len(list(tmp_path.iterdir())) == 1


def test_an_address_that_does_not_answer_is_named(tmp_path):
    missing = (tmp_path / "nowhere").as_uri()
    done = run_setup_cell(missing, tmp_path)
    assert done.returncode != 0 and list(tmp_path.iterdir()) == []
    assert done.stderr.splitlines()[-1].startswith(f"RuntimeError: Cannot fetch {missing} into {tmp_path}")


def test_a_machine_without_git_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run_setup_cell(NOWHERE, tmp_path)
    assert done.stderr.splitlines()[-1].endswith("git and a network. [Errno 2] No such file or directory: 'git'")
