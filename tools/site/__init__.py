"""What makes pages of the notebooks, with their widgets alive: for `make site`."""
