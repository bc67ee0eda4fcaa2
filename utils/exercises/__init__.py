"""The exercises: `check`, `hint`, `solution` and `use` take the learner's function; `progress()` shows how far
the learner is, `my_answers()` which right answers are kept, and `catalogue()` lists all exercises. `why` says on what
grounds `check` speaks."""

from .. import records
from ..judge.exercise import catalogue
from . import tasks  # noqa: F401  (it adds the exercises to the catalogue)
from .learner import forms
from .learner.progress import my_answers, progress
from .verbs import check, hint, solution, use, why

records.FORMS |= forms.of(catalogue())

__all__ = ["catalogue", "check", "hint", "my_answers", "progress", "solution", "use", "why"]
