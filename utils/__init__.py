"""Everything that the notebooks import."""
