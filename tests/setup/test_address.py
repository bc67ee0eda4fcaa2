"""The address fills itself in: the steps of .github/workflows/address.yml, run on a copy of the course, write the name
of the repository, commit and push it, and do nothing a second time. No other workflow may write."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from course_repo import git

from tools.notebooks import links
from utils import VERSION

ROOT = Path(__file__).parents[2]
WORKFLOWS = {path.name: path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml")}
ADDRESS = WORKFLOWS["address.yml"]
STEP = re.compile(r"^      - (.+(?:\n {8}.*)*)", re.MULTILINE)
PARTS = ["utils", "tools", "data", "docs", "notebooks", "*.md", "CITATION.cff", ".ci"]


def steps():
    """The steps of the job that run a command of ours: (its condition, its command, whether it has the token)."""
    for (text,) in (found.groups() for found in STEP.finditer(ADDRESS.partition("    steps:\n")[2])):
        command = re.search(r"^(?: {8})?run: (.+)$", text, re.MULTILINE)
        if command:
            condition = re.search(r"^(?: {8})?if: (.+)$", text, re.MULTILINE)
            yield condition and condition[1], command[1], "TOKEN: ${{ github.token }}" in text


def test_only_this_workflow_may_write_and_only_one_step_of_it_has_the_token():
    writing = {name for name, text in WORKFLOWS.items() if "contents: write" in text}
    with_token = {name for name, text in WORKFLOWS.items() if re.search(r"github\.token|secrets\.", text)}
    assert writing == with_token == {"address.yml"}
    assert ADDRESS.count("github.token") == ADDRESS.count("contents: write") == 1
    assert re.search(r"^permissions:\n  contents: read\n", ADDRESS, re.MULTILINE), "outside of the job, it may read"
    assert [command for _, command, token in steps() if token] == [".ci/address push"]


def test_it_runs_on_main_in_no_fork_and_where_the_placeholder_stands():
    assert re.search(r"^on:\n  push:\n    branches: \[main\]\npermissions", ADDRESS, re.MULTILINE)
    assert "    if: ${{ !github.event.repository.fork }}\n" in ADDRESS
    first, *others = steps()
    assert first == (None, ".ci/address look", False) and "id: placeholder" in ADDRESS
    assert others and {condition for condition, *_ in others} == {"steps.placeholder.outputs.stands == 'yes'"}
    assert "uses: actions/setup-python" in ADDRESS


def test_no_site_is_published_without_an_address():
    site = WORKFLOWS["site.yml"]
    assert site.index("- run: .ci/address require") < site.index("- run: make site")


@pytest.fixture
def pushed(tmp_path):
    """A clone of a repository ada/course with the course as it is now, its address not filled in."""
    if not (ROOT / ".git").exists():
        pytest.skip("this copy of the course is not a git repository")
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", *PARTS, folder=ROOT).split("\0")
    clone = tmp_path / "clone"
    for name in listed:
        if name and (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
    cell = clone / links.SETUP_CELL
    cell.write_text(
        links.ADDRESS.sub(f'COURSE, VERSION = "https://github.com/{links.PLACEHOLDER}", "{VERSION}"', cell.read_text())
    )
    repository = tmp_path / "ada" / "course"
    repository.mkdir(parents=True)
    git("init", "--quiet", "--bare", "--initial-branch=main", folder=repository)
    git("init", "--quiet", "--initial-branch=main", folder=clone)
    git("add", "--all", folder=clone)
    git("commit", "--quiet", "--message", "The course", folder=clone)
    git("push", "--quiet", repository.as_uri(), "HEAD:main", folder=clone)
    return clone


def run_job(clone, tmp_path):
    """What the runner does with the steps, in a clone; `make links` without building .venv. Returns what was said."""
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    make = tools / "make"
    call = f'exec "{sys.executable}" -m tools.notebooks.links "${{2#REPO=}}"'
    make.write_text(f'#!/bin/sh\ntest "$#" = 2 && test "$1" = links && {call}\n')
    make.chmod(0o755)
    told, summary = tmp_path / "output", tmp_path / "summary"
    told.write_text("")
    summary.write_text("")
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(clone)}
    environment |= {"GITHUB_SERVER_URL": tmp_path.as_uri(), "GITHUB_REPOSITORY": "ada/course"}
    environment |= {"GITHUB_OUTPUT": str(told), "GITHUB_STEP_SUMMARY": str(summary)}
    for condition, command, token in steps():
        if condition is None or "stands=yes" in told.read_text():
            given = environment | ({"TOKEN": "s3cret"} if token else {})
            done = subprocess.run(["bash", "-c", command], cwd=clone, env=given, capture_output=True, text=True)
            assert done.returncode == 0, f"{command}: {done.stderr}"
            assert "s3cret" not in done.stdout + done.stderr
    return summary.read_text()


def require(clone):
    return subprocess.run([".ci/address", "require"], cwd=clone, capture_output=True, text=True)


@pytest.mark.lane("test", "address", "links")
@pytest.mark.skipif(os.name == "nt", reason="needs bash")
def test_the_first_push_fills_the_address_in_and_the_second_does_nothing(pushed, tmp_path):
    refused = require(pushed)
    assert refused.returncode == 1 and "git pull, then push the tag" in refused.stderr
    said = run_job(pushed, tmp_path)
    assert f"git tag v{VERSION}, then git push origin v{VERSION}" in said and "github.com/ada/course" in said
    repository = tmp_path / "ada" / "course"
    log = git("log", "--format=%s|%an", "main", folder=repository).splitlines()
    assert log == ["The course's address is https://github.com/ada/course|github-actions[bot]", "The course|course"]
    placed = git("grep", "-l", "THE_OWNER", "main", folder=repository).split()
    assert set(placed) == {"main:.ci/address", "main:tools/notebooks/links.py"}, "what looks for it"
    readme = git("show", "main:README.md", folder=repository)
    assert "This copy has no address yet" not in readme and "https://ada.github.io/course/" in readme
    assert "s3cret" not in (pushed / ".git" / "config").read_text()
    assert require(pushed).returncode == 0
    assert run_job(pushed, tmp_path) == ""
    assert git("log", "--format=%s", "main", folder=repository).count("\n") == 2
