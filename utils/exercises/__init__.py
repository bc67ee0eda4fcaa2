"""The exercises: `check`, `hint`, `solution` and `use` take the learner's function; `catalogue()` lists them all."""

from importlib import import_module

from .engine import catalogue, check, hint, solution, use

__all__ = ["catalogue", "check", "hint", "solution", "use"]

for notebook in ("start_here",):  # in the order of the course; importing a module adds its exercises to the catalogue
    import_module(f".{notebook}", __name__)
