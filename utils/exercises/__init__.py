"""The exercises: `check`, `hint`, `solution` and `use` take the learner's function; `progress()` shows how far
the learner is, `my_answers()` which right answers are kept, and `catalogue()` lists all exercises."""

from .. import records
from . import forms, tasks  # noqa: F401  (tasks adds the exercises to the catalogue)
from .engine import catalogue, check, hint, solution, use
from .progress import my_answers, progress

records.FORMS |= forms.of(catalogue())

__all__ = ["catalogue", "check", "hint", "my_answers", "progress", "solution", "use"]
