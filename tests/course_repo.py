"""The course as a notebook that was opened alone fetches it: from a repository on this machine, by its address."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tools.notebooks import links
from utils import VERSION

ROOT = Path(__file__).parent.parent


def git(*arguments, folder):
    who = ["-c", "user.name=course", "-c", "user.email=course@localhost"]
    return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def publish(folder):
    """Make the files as they are now, those that a notebook needs, a repository in `folder`; returns its address."""
    if not (ROOT / ".git").exists():
        pytest.skip("this copy of the course is not a git repository")
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "utils", "data", "docs", folder=ROOT)
    for name in listed.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git("init", "--quiet", folder=folder)
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--message", "The course", folder=folder)
    git("tag", f"v{VERSION}", folder=folder)
    git("commit", "--quiet", "--allow-empty", "--message", "Later than the notebooks", folder=folder)
    return folder.as_uri()


def setup_cell(address):
    return links.ADDRESS.sub(f'COURSE, VERSION = "{address}", "{VERSION}"', links.setup_cell())
