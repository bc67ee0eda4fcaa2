"""The exercises: `check`, `hint`, `solution` and `use` take the learner's function; `progress()` shows how far
the learner is, and `catalogue()` lists them all."""

from importlib import import_module
from pathlib import Path

from .engine import catalogue, check, hint, solution, use
from .progress import progress

__all__ = ["catalogue", "check", "hint", "progress", "solution", "use"]

# A module or two a notebook, so that the order of their names is that of the course. Importing a module adds its
# exercises to the catalogue.
for module in sorted(Path(__file__).parent.glob("n[0-9][0-9]_*.py")):
    import_module(f".{module.stem}", __name__)
