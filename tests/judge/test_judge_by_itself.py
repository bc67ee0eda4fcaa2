"""The judge knows nothing of the course: its folder alone judges the exercises of another one."""

import shutil
import subprocess
import sys
from pathlib import Path

from utils import judge

TASKS = '''
import torch
from judge.exercise import exercise


def pairs(generator):
    for length in (3, 4, 5):
        yield torch.randn(length, generator=generator), torch.randn(length, generator=generator)


@exercise(draws=pairs, hints=["Which of the two comes first?"])
def difference(a, b):
    """The entries of a (n,) minus those of b (n,): returns (n,)."""
    return a - b


@exercise(draws=pairs, hints=["How is a square root taken?"])
def distance(a, b):
    """How far a (n,) and b (n,) lie apart: returns a number."""
    return ((a - b) ** 2).sum().sqrt()
'''
ROWS = """
[difference: mistakes]
a - b -> b - a
    you take a from b. It should be the other way round.

[distance: mistakes]
.sqrt() ->
    this is the square of the distance: its root is missing.
"""
COURSE = """
import importlib.util

import tasks
from judge.exercise import catalogue

for name, body in [
    ("difference", "return b - a"),
    ("difference", "return a - b"),
    ("distance", "return ((a - b) ** 2).sum()"),
    ("distance", "return ((a - b) ** 4).sum() ** 0.5"),
]:
    open("answer.py", "w").write(f"import torch\\n\\ndef {name}(a, b):\\n    {body}\\n")
    answer = importlib.util.spec_from_file_location("answer", "answer.py")
    module = importlib.util.module_from_spec(answer)
    answer.loader.exec_module(module)
    importlib.invalidate_caches()
    print(catalogue()[name].verdict(getattr(module, name)).message)
"""
SAID = """
you take a from b. It should be the other way round.
right on all 4 inputs.
this is the square of the distance: its root is missing.
"""


def test_the_folder_alone_judges_the_exercises_of_another_course(tmp_path):
    shutil.copytree(Path(judge.__file__).parent, tmp_path / "judge", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "tasks.txt").write_text(ROWS)
    (tmp_path / "course.py").write_text(COURSE)
    command = [sys.executable, "-B", "course.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(SAID.lstrip())
    assert "look at `(a - b) ** 4`. Is that the right number?" in done.stdout
