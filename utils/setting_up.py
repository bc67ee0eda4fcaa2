"""What a notebook needs before its first cell, besides the course: its setup cell calls `utils.set_up()`."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import torch

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements.txt"


def set_up() -> None:
    """Make a kernel ready for the course. The setup cell calls it before it imports anything of the course."""
    torch.set_num_threads(1)  # the same numbers whatever the number of cores
    if "google.colab" in sys.modules and importlib.util.find_spec("anywidget") is None:
        install_anywidget()


def install_anywidget() -> None:
    """What Colab lacks for pictures that can be touched. Without it every widget has its controls, as before."""
    pinned = re.search(r"^anywidget==\S+", REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE)[0]
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", pinned], capture_output=True, text=True)
    importlib.invalidate_caches()
    if done.returncode:
        print(f"{pinned} could not be installed, so pictures are moved by their controls alone: {done.stderr[-300:]}")
