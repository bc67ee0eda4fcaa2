"""Everything that the notebooks import."""

VERSION = "0.2.0"  # of the course; `make links` writes it into the notebooks, which fetch the tag of that name with a v
