"""What a notebook needs before its first cell, besides the course: its setup cell calls `utils.set_up()`."""

import torch


def set_up() -> None:
    """Make a kernel ready for the course. The setup cell calls it before it imports anything of the course."""
    torch.set_num_threads(1)  # the same numbers whatever the number of cores
