"""The exercises: `check`, `hint`, `solution` and `use` take the learner's function; `progress()` shows how far
the learner is, and `catalogue()` lists them all."""

from . import tasks  # noqa: F401  (it adds the exercises to the catalogue)
from .engine import catalogue, check, hint, solution, use
from .progress import progress

__all__ = ["catalogue", "check", "hint", "progress", "solution", "use"]
