"""The exercises: `check`, `hint`, `solution` and `use` take the learner's function; `progress()` shows how far
the learner is, `my_answers()` which right answers are kept, and `catalogue()` lists all exercises."""

from . import tasks  # noqa: F401  (it adds the exercises to the catalogue)
from .engine import catalogue, check, hint, solution, use
from .progress import my_answers, progress

__all__ = ["catalogue", "check", "hint", "my_answers", "progress", "solution", "use"]
