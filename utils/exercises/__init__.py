"""The exercises: `check`, `hint`, `solution` and `use` take the learner's function; `catalogue()` lists them all."""

from importlib import import_module

from .engine import catalogue, check, hint, solution, use

__all__ = ["catalogue", "check", "hint", "solution", "use"]

# In the order of the course. Importing a module adds its exercises to the catalogue.
for notebook in (
    "start_here",
    "dot_product_similarity",
    "single_token_attention",
    "multi_head_attention",
    "masking",
    "rnn_with_attention",
    "transformer_encoder",
):
    import_module(f".{notebook}", __name__)
