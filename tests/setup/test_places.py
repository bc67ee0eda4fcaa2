"""Where the course runs besides a clone of one's own: a container, Codespaces, a JupyterHub, Colab, Binder."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import setup_environment
from tools.notebooks import links

ROOT = Path(__file__).parents[2]
PLACES = (ROOT / "docs" / "places.md").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
INSTRUCTIONS = [line.split(None, 1) for line in DOCKERFILE.replace("\\\n", "").splitlines() if line[:1].isupper()]


# Containers


def test_the_image_runs_jupyterlab_as_a_user_without_rights():
    words = [word for word, _ in INSTRUCTIONS]
    assert [rest for word, rest in INSTRUCTIONS if word == "USER"] == ["learner"]
    assert words.index("USER") < words.index("COPY") and words[-1] == "CMD"
    assert all("--chown=learner" in rest for word, rest in INSTRUCTIONS if word == "COPY")
    assert all("/" not in rest.split()[0] for word, rest in INSTRUCTIONS if word == "FROM"), "no host of a registry"


def test_the_packages_layer_has_what_the_installation_reads(tmp_path, monkeypatch):
    """Only what is copied before: else the layer could not be built, or would hold packages of other versions."""
    copied = [rest.split()[1:] for word, rest in INSTRUCTIONS if word == "COPY"]
    for *names, place in copied[:-1]:
        for name in names:
            (tmp_path / place).mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / place)
    assert copied[-1] == [".", "."]
    needed = setup_environment.pins(ROOT / "requirements.txt", ROOT / "constraints.txt")
    assert setup_environment.pins(tmp_path / "requirements.txt", tmp_path / "constraints.txt") == needed
    code = "import setup_environment as s; print(s.digest_of(s.COURSE, s.COURSE, [s.COURSE / 'requirements.txt']))"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path / "tools" / "setup", env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_container_starts_what_a_learner_starts(tmp_path):
    """The command is a target of the Makefile, and its options reach JupyterLab."""
    ((_, command),) = [line for line in INSTRUCTIONS if line[0] == "CMD"]
    dry = subprocess.run([*json.loads(command), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.search(r"-m jupyterlab .*--ip=0\.0\.0\.0 --no-browser notebooks/00_start_here\.ipynb", dry.stdout)


def test_the_devcontainer_starts_from_the_image_s_first_stage():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    build = container["build"]
    place = ROOT / ".devcontainer"
    assert (place / build["dockerfile"]).resolve() == ROOT / "Dockerfile" and (
        place / build["context"]
    ).resolve() == ROOT
    assert (
        f"AS {build['target']}" in DOCKERFILE
        and f"useradd --create-home --uid 1000 --shell /bin/bash {container['remoteUser']}" in DOCKERFILE
    )
    assert re.search(
        rf"^{container['postCreateCommand'].removeprefix('make ')}:", (ROOT / "Makefile").read_text(), re.M
    )
    assert all((ROOT / name).is_file() for name in container["customizations"]["codespaces"]["openFiles"])
    settings = container["customizations"]["vscode"]["settings"]
    assert settings["python.defaultInterpreterPath"].endswith("/.venv/bin/python")


def test_nothing_of_a_learner_s_or_of_the_tools_goes_into_the_image():
    ignored = (ROOT / ".dockerignore").read_text().split()
    for name in (ROOT / ".gitignore").read_text().split():
        found = any(name.strip("/") == one.removeprefix("**/").strip("/") for one in ignored)
        assert found, f"{name} is left out by git and not by Docker"


@pytest.mark.parametrize(
    "config, fits",
    [
        (None, True),
        ('[remote "origin"]\n\turl = https://github.com/ada/course\n', True),
        ('[remote "origin"]\n\turl = git@github.com:ada/course.git\n', True),
        ('[remote "origin"]\n\turl = https://x:s3cret@github.com/ada/course\n', False),
        ('[http "https://github.com/"]\n\textraHeader = AUTHORIZATION: basic s3cret\n', False),
    ],
)
def test_no_image_is_built_with_a_token(tmp_path, config, fits):
    (check,) = [rest for word, rest in INSTRUCTIONS if word == "RUN" and ".git/config" in rest]
    if config:
        (tmp_path / ".git").mkdir()
        (tmp_path / ".git" / "config").write_text(config)
    done = subprocess.run(["sh", "-c", check], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0) == fits and ("fresh clone" in done.stderr) != fits and "s3cret" not in done.stderr


# Links


HUB = "https://hub.example.org"


def test_a_hub_fetches_the_course_and_opens_the_first_notebook():
    (link,) = re.findall(r"https://[\w.]+/hub/user-redirect/git-pull\?[^`\s)]+", PLACES)
    asked = parse_qs(urlsplit(link).query, strict_parsing=True)
    repo = links.repository()
    assert asked == {
        "repo": [f"https://github.com/{repo}"],
        "branch": ["main"],
        "urlpath": [f"lab/tree/{repo.partition('/')[2]}/notebooks/00_start_here.ipynb"],
    }
    assert link.endswith(links.hub_link(repo)), "`make links` writes it"


def test_the_hub_s_link_follows_the_address():
    text = f"see {HUB}/hub/user-redirect/{links.hub_link('ada/old')} and https://github.com/ada/old"
    done = links.replace_address(text, "ada/old", "bob/new-one")
    assert done == f"see {HUB}/hub/user-redirect/{links.hub_link('bob/new-one')} and https://github.com/bob/new-one"
    other = f"{HUB}/hub/user-redirect/{links.hub_link('eve/other')}"
    assert links.replace_address(other, "ada/old", "bob/new-one") == other, "somebody else's course"


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_colab_and_binder_open_each_notebook(path):
    colab, binder = links.launch_links(path.name, "ada/course")
    assert urlsplit(colab).path == f"/github/ada/course/blob/main/notebooks/{path.name}"
    assert urlsplit(binder).path == "/v2/gh/ada/course/HEAD"
    assert parse_qs(urlsplit(binder).query) == {"labpath": [f"notebooks/{path.name}"]}


# Colab


def imported(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_on_colab_and_nowhere_else_a_learner_is_told_how_to_keep_the_work():
    there = "import sys, types; sys.modules['google.colab'] = types.ModuleType('google.colab')\n"
    said = imported(there + "import utils; import utils")
    assert said.count("SVG object") == 1 and said.count("\n") == 3 and "File > Save a copy in Drive" in said
    assert imported("import utils") == ""


def test_the_package_itself_is_light():
    """What is said on Colab is said at once, and `import utils` loads nothing."""
    tree = ast.parse((ROOT / "utils" / "__init__.py").read_text(encoding="utf-8"))
    assert [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names] == ["sys"]
