"""tools/setup_environment.py: .venv is built, mended, moved, and what stands in the way is said in one line.

A stage has a stand-in for pip that notes what it is asked for. A course has the real pip, and three tiny packages.
"""

import ast
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import setup_environment

ROOT = Path(__file__).parent.parent
TORCH = re.search(r"^torch==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)[1]
SCRIPT = Path("tools") / "setup_environment.py"
pytestmark = [pytest.mark.lane("test"), pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")]

PYTHON = """#!/bin/sh
case "$*" in *"pip install"*) echo "$@" >> "{folder}/calls"; env > "{folder}/environment";; esac
case "$*" in *{failing}*) echo "{error}"; exit 1;; esac
case "$*" in *"pip install"*) exec "{python}" -IS "{folder}/pip.py" "{site}" "$@";; esac
"""
PIP = """
import json, pathlib, re, sys
site, *words = sys.argv[1:]
named = [words[-1], *(pathlib.Path(words[i + 1]).read_text() for i, word in enumerate(words) if word == "-r")]
if "--report" in words:
    text = pathlib.Path(__file__).with_name("report").read_text()
    pathlib.Path(words[words.index("--report") + 1]).write_text(text)
    named = []
for name, version in re.findall(r"^([\\w-]+)==([\\w.]+)", "\\n".join(named), re.MULTILINE):
    folder = pathlib.Path(site, f"{name.replace('-', '_')}-{version}.dist-info")
    folder.mkdir(exist_ok=True)
    (folder / "INSTALLER").write_text("pip")
    (folder / "RECORD").write_text(f"{folder.name}/INSTALLER,,3\\n{folder.name}/RECORD,,\\n")
"""
NEEDS_GRAPHICS = ['nvidia-cudnn-cu13==9.20.0.48; platform_system == "Linux"']


class Stage:
    """A course's folder whose .venv holds a stand-in for Python and pip."""

    def __init__(self, folder):
        self.folder, self.venv = folder, folder / ".venv"
        for name in ("requirements.txt", "constraints.txt"):
            shutil.copy(ROOT / name, folder / name)
        self.site = self.venv / "lib" / "python3.11" / "site-packages"
        self.site.mkdir(parents=True)
        (self.venv / "bin").mkdir()
        (folder / "pip.py").write_text(PIP)
        self.let_pip()
        self.let_torch_need([])
        subprocess.run([sys.executable, "-IS", folder / "pip.py", self.site, "pip==25.0"], check=True)

    def let_pip(self, failing="nothing-fails", error=""):
        python = self.venv / "bin" / "python"
        values = {"folder": self.folder, "site": self.site, "python": sys.executable}
        python.write_text(PYTHON.format(failing=failing, error=error, **values))
        python.chmod(0o755)

    def let_torch_need(self, packages):
        report = {"install": [{"metadata": {"requires_dist": ["filelock", *packages]}}]}
        (self.folder / "report").write_text(json.dumps(report))

    def installs(self):
        """What pip was asked to install since the last time."""
        calls = self.folder / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return lines

    def environment(self):
        """The environment of the last install."""
        return dict(line.split("=", 1) for line in (self.folder / "environment").read_text().splitlines())

    def set_up(self, *arguments):
        return setup_environment.main([*arguments])


@pytest.fixture
def stage(tmp_path, monkeypatch):
    monkeypatch.setattr(setup_environment, "COURSE", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("TORCH", "CI"):
        monkeypatch.delenv(name, raising=False)
    return Stage(tmp_path)


def one_line(capsys):
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("setup: "), lines
    return lines[0]


# When to install


def test_an_install_is_done_once_and_again_when_the_requirements_change(stage):
    assert stage.set_up() == 0
    torch, others = stage.installs()
    assert "--no-deps" in torch and torch.endswith(f"https://download.pytorch.org/whl/cpu torch=={TORCH}+cpu")
    assert "-c " in others and "requirements.txt" in others and "index" not in others
    assert stage.set_up() == 0 and not stage.installs()
    with open(stage.folder / "constraints.txt", "a") as constraints:
        constraints.write("six==1.17.0\n")
    assert stage.set_up() == 0 and len(stage.installs()) == 1, "torch is there"


UV = """#!/bin/sh
echo "uv $@" >> "{folder}/calls"
{does}
"""


@pytest.fixture
def uv(stage, tmp_path_factory, monkeypatch):
    """uv(command) puts a stand-in for uv on the path, which does what the shell's command does."""
    folder = tmp_path_factory.mktemp("uv")

    def put(does):
        (folder / "uv").write_text(UV.format(folder=stage.folder, does=does))
        (folder / "uv").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))] + ["INSTALLER"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return put


def test_uv_installs_all_but_torch_where_it_is_there(stage, uv):
    uv(f'exec "{sys.executable}" -IS "{stage.folder}/pip.py" "{stage.site}" "$@"')
    assert stage.set_up() == 0
    torch, others = stage.installs()
    assert "pip install" in torch and torch.endswith(f"torch=={TORCH}+cpu")
    assert others.startswith(f"uv pip install --python {stage.venv / 'bin' / 'python'} --no-config ")
    assert others.endswith(f"-r {stage.folder}/requirements.txt") and f"-c {stage.folder}/constraints.txt" in others
    assert stage.set_up() == 0 and not stage.installs(), "what uv installed is recognised"


def test_pip_takes_over_where_uv_fails(stage, uv):
    left = stage.site / "numpy-1.0.dist-info"
    uv(f'mkdir "{left}"; echo "numpy/__init__.py,,1" > "{left}/RECORD"; exit 2')
    assert stage.set_up() == 0
    _, first, second = stage.installs()
    assert first.startswith("uv pip install") and "-m pip install" in second
    assert not left.exists(), "what uv left half done is not taken for installed"


def test_uv_gets_none_of_its_settings_that_say_what_is_installed_or_where(stage, uv, monkeypatch):
    kept = {"UV_CACHE_DIR": "/c", "UV_OFFLINE": "1", "UV_HTTP_TIMEOUT": "9"}
    for name, value in {**kept, "UV_OVERRIDE": "o.txt", "UV_TARGET": "/x", "UV_NO_DEPS": "1"}.items():
        monkeypatch.setenv(name, value)
    uv(f'env > "{stage.folder}/uv"; exec "{sys.executable}" -IS "{stage.folder}/pip.py" "{stage.site}" "$@"')
    assert stage.set_up() == 0 and len(stage.installs()) == 2
    given = dict(line.split("=", 1) for line in (stage.folder / "uv").read_text().splitlines() if line[:3] == "UV_")
    assert given == kept


def test_pip_mends_what_uv_says_that_it_installed(stage, uv):
    broken = stage.site / "numpy-2.4.6.dist-info"
    uv(f'mkdir "{broken}"; echo "numpy-2.4.6.dist-info/INSTALLER,,2" > "{broken}/RECORD"')
    assert stage.set_up() == 0
    _, first, second = stage.installs()
    assert first.startswith("uv pip install") and "-m pip install" in second
    assert (broken / "INSTALLER").read_text() == "pip"


@pytest.mark.parametrize(
    "name, value",
    [("PIP_INDEX_URL", "x"), ("PIP_PROXY", "x"), ("UV_INDEX", "x"), ("UV_DEFAULT_INDEX", "x"), ("INSTALLER", "pip")],
)
def test_pip_s_settings_are_kept_by_leaving_it_to_pip(stage, uv, monkeypatch, name, value):
    uv("exit 0")
    monkeypatch.setenv(name, value)
    assert stage.set_up() == 0 and not any(line.startswith("uv") for line in stage.installs())


def test_only_linux_takes_pytorch_from_its_own_index(stage, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert stage.set_up() == 0 and len(stage.installs()) == 1


def test_a_package_that_is_gone_incomplete_doubled_or_another_is_installed_again(stage):
    assert stage.set_up() == 0 and stage.installs()
    numpy = stage.site / "numpy-2.4.6.dist-info"
    record = (numpy / "RECORD").read_text()
    for spoil in (
        lambda: shutil.rmtree(numpy),
        lambda: numpy.rename(stage.site / "numpy-2.4.5.dist-info"),
        lambda: shutil.copytree(numpy, stage.site / "numpy-2.4.5.dist-info"),
        lambda: (numpy / "RECORD").unlink(),
        lambda: (numpy / "RECORD").write_text("numpy.data/data/x,,\n"),
        lambda: (numpy / "RECORD").write_text(record + "numpy/core.py,sha256=abc,7\n"),
        lambda: (numpy / "INSTALLER").write_text(""),
    ):
        spoil()
        assert stage.set_up() == 0 and len(stage.installs()) == 1
        assert (numpy / "RECORD").read_text() == record
        assert stage.set_up() == 0 and not stage.installs()
        shutil.rmtree(stage.site / "numpy-2.4.5.dist-info", ignore_errors=True)


def test_what_pip_moved_out_of_the_way_goes(stage):
    (stage.site / "~umpy").mkdir()
    (stage.site / "~umpy.libs").touch()
    assert stage.set_up() == 0 and not list(stage.site.glob("~*"))


def test_a_learners_own_package_stays_though_a_file_of_it_is_gone(stage):
    own = stage.site / "seaborn-0.13.2.dist-info"
    own.mkdir()
    (own / "RECORD").write_text("seaborn/gone.py,,7\nseaborn-0.13.2.dist-info/INSTALLER,,3\n")
    assert stage.set_up() == 0 and own.exists()


def test_a_pip_that_only_says_that_it_is_done_is_not_believed(stage, capsys):
    (stage.folder / "pip.py").write_text("")
    assert stage.set_up() == 1
    assert "not as they should be: ipykernel, ipywidgets" in one_line(capsys)
    assert not list(stage.venv.glob("*.installed"))


def test_equal_versions_are_equal():
    assert setup_environment.release("9.8.0+cpu") == setup_environment.release("9.8") == "9.8"
    assert setup_environment.release("2026.01.05") == setup_environment.release("2026.1.5")
    assert setup_environment.release("2.1.0") != setup_environment.release("2.10")


# PyTorch for the processor alone


def test_without_pytorchs_index_another_build_for_the_processor_serves(stage):
    stage.let_pip(failing="download.pytorch.org")
    stage.let_torch_need(['nvidia-cudnn-cu13==9.1; platform_machine == "another"'])
    assert stage.set_up() == 0
    _, asked, others = stage.installs()
    assert "--dry-run" in asked and asked.endswith(f"torch=={TORCH}") and "-r " in others


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(sys, "stdin", type("terminal", (), {"isatty": lambda self: True})())


def test_5_gb_are_not_fetched_unasked(stage, terminal, capsys):
    stage.let_pip(failing="download.pytorch.org")
    stage.let_torch_need(NEEDS_GRAPHICS)
    assert stage.set_up() == 1
    said = one_line(capsys)
    assert "3 GB to fetch and 6 GB on disk" in said and "TORCH=default" in said
    assert all("--dry-run" in call or "pytorch.org" in call for call in stage.installs())


@pytest.mark.parametrize("name, value", [("TORCH", "default"), ("CI", "true")])
def test_5_gb_are_fetched_where_asked_for_or_where_nobody_can_be_asked(
    stage, terminal, capsys, monkeypatch, name, value
):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("usage", (), {"free": 10**11}))
    monkeypatch.setenv(name, value)
    stage.let_pip(failing="download.pytorch.org")
    stage.let_torch_need(NEEDS_GRAPHICS)
    assert stage.set_up() == 0 and len(stage.installs()) == 3
    assert "6 GB on disk" in capsys.readouterr().out


def test_without_a_terminal_nobody_is_asked(stage, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("usage", (), {"free": 10**11}))
    stage.let_pip(failing="download.pytorch.org")
    stage.let_torch_need(NEEDS_GRAPHICS)
    for stdin in (None, open(os.devnull)):
        monkeypatch.setattr(sys, "stdin", stdin)
        assert stage.set_up() == 0


# Settings of the user's


def test_only_settings_about_where_packages_come_from_reach_pip(stage, monkeypatch):
    kept = {"PIP_INDEX_URL": "https://mirror.example/simple", "PIP_CERT": "/c.pem", "PIP_PROXY": "http://p.example:1"}
    dropped = ["TARGET", "PREFIX", "ROOT", "DRY_RUN", "NO_DEPS", "USER", "REQUIRE_HASHES", "CONSTRAINT"]
    for name, value in {**kept, **{f"PIP_{name}": "1" for name in dropped}, "PYTHONPATH": "x"}.items():
        monkeypatch.setenv(name, value)
    assert stage.set_up() == 0
    reached = stage.environment()
    assert kept.items() <= reached.items() and reached["PIP_CONFIG_FILE"] == os.devnull
    assert not [name for name in reached if name.startswith("PYTHON") or name[4:] in dropped]


def test_of_pip_conf_the_same_settings_and_no_others(tmp_path, monkeypatch):
    config = (
        "[global]\ntarget = /elsewhere\nretries = 2\nfind-links =\n  /a\n  /b\n[install]\nretries = 3\nno-deps = 1\n"
    )
    (tmp_path / "pip.conf").write_text(config)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    reached = setup_environment.pip_environment(sys.executable)
    assert reached["PIP_RETRIES"] == "3" and reached["PIP_FIND_LINKS"].split() == ["/a", "/b"]
    assert "PIP_TARGET" not in reached and "PIP_NO_DEPS" not in reached
    assert reached["PIP_CONFIG_FILE"] == os.devnull
    monkeypatch.setenv("PIP_RETRIES", "4")
    assert setup_environment.pip_environment(sys.executable)["PIP_RETRIES"] == "4", "the environment counts more"


# One line for whatever stands in the way


def test_a_failed_install_says_so_in_one_line_and_is_resumed(stage, capsys):
    stage.let_pip(failing="requirements.txt", error="ERROR: No matching distribution found for numpy")
    assert stage.set_up() == 1
    said = one_line(capsys)
    assert "No matching distribution found for numpy" in said and "run the command again" in said
    assert "No matching" in (stage.venv / "install.log").read_text()
    stage.let_pip()
    assert stage.set_up() == 0 and len(stage.installs()) == 3


def test_what_pip_said_before_is_not_the_reason(stage, capsys):
    stage.let_pip(failing="install", error="")
    (stage.folder / "pip.py").write_text("")
    python = stage.venv / "bin" / "python"
    python.write_text(
        python.read_text().replace('echo ""', """case "$*" in *cpu*) echo ERROR: cpu;; *) echo Killed;; esac""")
    )
    assert stage.set_up() == 1
    assert "The install failed (Killed)" in one_line(capsys)


def test_a_disk_that_fills_up_is_named(stage, capsys):
    stage.let_pip(failing="requirements.txt", error="[Errno 28] No space left on device")
    assert stage.set_up() == 1
    assert "The disk is full" in one_line(capsys)


def test_too_little_space_is_found_out_before(stage, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("usage", (), {"free": 10**9}))
    assert stage.set_up() == 1
    said = one_line(capsys)
    assert "GB of free space are needed" in said and "there are 1.0 GB" in said and not stage.installs()


def test_a_python_without_venv_is_told_what_to_install(stage, capsys, monkeypatch):
    monkeypatch.setattr(setup_environment, "works", lambda python, code: False)
    assert stage.set_up() == 1
    assert "has no venv module" in one_line(capsys)


def test_an_interrupted_install_is_resumed(stage, capsys, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(setup_environment, "pip_install", interrupt)
        assert stage.set_up() == 130
    assert "interrupted" in one_line(capsys)
    assert stage.set_up() == 0 and len(stage.installs()) == 2


def test_an_environment_that_is_a_file_or_a_link_to_one_that_does_not_work(stage, capsys):
    shutil.rmtree(stage.venv)
    stage.venv.touch()
    assert stage.set_up() == 1
    said = one_line(capsys)
    assert "cannot be built (Error: " in said and ".venv" in said.partition("(")[2]
    stage.venv.unlink()
    precious = stage.folder / "another project"
    precious.mkdir()
    (precious / "kept").touch()
    stage.venv.symlink_to(precious)
    assert stage.set_up() == 1
    assert "is a link to" in one_line(capsys) and (precious / "kept").exists()


def alone(folder):
    """The tool by itself in a folder, with a file in the place of .venv: it stops as soon as it has spoken."""
    (folder / "tools").mkdir(parents=True)
    shutil.copy(ROOT / SCRIPT, folder / SCRIPT)
    for name in ("requirements.txt", "constraints.txt", ".venv"):
        (folder / name).write_text("torch==1.0\n")
    return folder / SCRIPT


def call(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr.splitlines()


def test_a_colon_in_the_path_is_named_in_the_words_of_venv(tmp_path):
    script = alone(tmp_path / "a:b")
    (tmp_path / "a:b" / ".venv").unlink()
    code, _, said = call(sys.executable, script)
    assert code == 1 and len(said) == 1 and "contains the PATH separator" in said[0]


def test_letters_that_the_terminal_lacks_are_no_obstacle(tmp_path):
    script = alone(tmp_path / "Überblick")
    code, printed, said = call(sys.executable, script, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert code == 1 and len(said) == 1 and "cannot be built (Error: " in said[0]
    assert "Building" in printed and "berblick" in printed


# Old Pythons


def test_the_tool_can_be_read_by_python_2():
    text = (ROOT / SCRIPT).read_text(encoding="utf-8")
    assert text.isascii() and "from __future__ import print_function" in text
    unreadable = ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Nonlocal, ast.YieldFrom, ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(text)):
        assert not isinstance(node, unreadable), f"line {node.lineno}"
        if isinstance(node, ast.FunctionDef):
            assert not node.args.kwonlyargs and not node.returns
        if isinstance(node, ast.Raise):
            assert node.cause is None
    assert not re.search(r"(?<!['\"])\brb['\"]", text), "Python 2 reads br alone"


def test_old_pythons_say_what_is_needed(tmp_path):
    """With those that are installed here, pyenv's included."""
    names = ["python2.7", "python3.6", "python3.8", "python3.10"]
    folders = [*os.environ["PATH"].split(os.pathsep), *Path.home().glob(".pyenv/versions/*/bin")]
    found = [path for name in names for folder in folders if (path := Path(folder, name)).exists()]
    if not (found := [path for path in found if call(path, "-c", "", PYTHONPATH="")[0] == 0]):
        pytest.skip("no old Python here")
    script = alone(tmp_path)
    for python in found:
        code, _, said = call(python, script, PATH=str(tmp_path), PYTHONPATH="")
        assert code == 1 and len(said) == 1 and "setup: Python 3.11 or newer is needed" in said[0], python


def test_an_old_python_is_told_what_is_needed(stage, capsys, monkeypatch):
    monkeypatch.setattr(setup_environment, "works", lambda python, code: False)
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    assert stage.set_up() == 1
    assert "Python 3.11 or newer is needed" in one_line(capsys)


def test_an_old_python_hands_over_to_a_newer_one(stage, tmp_path, monkeypatch):
    newer = tmp_path / "python3.12"
    newer.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{tmp_path}/handed"\nexit 7\n')
    newer.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(setup_environment, "works", lambda python, code: python == "python3.12")
    assert stage.set_up("--this-python", "x.txt") == 7
    assert (tmp_path / "handed").read_text().splitlines()[1:] == ["x.txt"]


# Another Python


def test_a_python_asked_for_by_name_replaces_another(stage, monkeypatch):
    assert stage.set_up() == 0 and stage.installs()
    (stage.venv / "pyvenv.cfg").write_text("home = /x\nversion = 3.1.4\n")
    assert stage.set_up() == 0 and not stage.installs(), "unasked, an environment that works is kept"
    commands = []
    monkeypatch.setattr(setup_environment, "run", lambda command, *_: commands.append(command) or 1)
    monkeypatch.setattr(setup_environment, "works", lambda python, code: True)
    assert stage.set_up("--this-python") == 1
    assert commands == [[sys.executable, "-m", "venv", "--clear", str(stage.venv)]]


def makefile_stage(folder):
    """A folder with the Makefile, whose Python has a blank in its path and notes what it is asked."""
    shutil.copy(ROOT / "Makefile", folder / "Makefile")
    python = folder / "my pythons" / "python"
    for path in (python, folder / ".venv" / "bin" / "python"):
        path.parent.mkdir(parents=True)
        notes = f'echo "$@" >> "{folder}/asked"\nprintf "%s\\n" "$@" > "{folder}/words"\n'
        path.write_text(f'#!/bin/sh\n{notes}echo "$HOME" >> "{folder}/homes"\n')
        path.chmod(0o755)
    return python


def test_make_says_whether_a_python_was_asked_for(tmp_path):
    python = makefile_stage(tmp_path)
    assert call("make", "-s", "-C", tmp_path, "setup", f"PYTHON={python}")[0] == 0
    assert call("make", "-s", "-C", tmp_path, "setup-test", PYTHON=str(python))[0] == 0
    (tmp_path / "my pythons" / "python3").symlink_to(python)
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    assert call("make", "-s", "-C", tmp_path, "setup", PATH=path)[0] == 0
    first, second, third = (tmp_path / "asked").read_text().splitlines()
    assert first == "tools/setup_environment.py --this-python"
    assert second == "tools/setup_environment.py --this-python requirements-test.txt"
    assert third == "tools/setup_environment.py"


def test_the_lab_has_a_home_that_it_can_write_to(tmp_path):
    python, home = makefile_stage(tmp_path), tmp_path / "home"
    home.mkdir()
    for path in (home, tmp_path / "gone"):
        assert call("make", "-s", "-C", tmp_path, "lab", f"PYTHON={python}", HOME=str(path))[0] == 0
    set_up, lab, again, lab_without = (tmp_path / "homes").read_text().splitlines()
    assert lab == str(home) and lab_without == str(tmp_path / ".venv" / "home") and Path(lab_without).is_dir()


def test_the_lab_opens_in_a_folder_with_a_blank_in_its_name(tmp_path):
    folder = tmp_path / "my course"
    folder.mkdir()
    assert call("make", "-s", "-C", folder, "lab", f"PYTHON={makefile_stage(folder)}")[0] == 0
    words = (folder / "words").read_text().splitlines()
    assert f"--LabApp.app_settings_dir={folder}/tools/lab" in words and words[-1] == "notebooks/00_start_here.ipynb"


# With the real pip


def wheel(folder, name, version, files):
    """Write a wheel of `files`, {path: text}, into `folder`."""
    info = f"{name}-{version}.dist-info"
    meta = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files = {**{f"{info}/{part}": text for part, text in meta.items()}, **files}
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


class Course:
    """A course with the real pip and tiny packages, one with many files outside of site-packages as JupyterLab has.

    One, torch, is there from the beginning: that saves a call of pip in each test.
    """

    def __init__(self, folder):
        self.folder, self.venv, self.wheels = folder, folder / ".venv", folder / "wheels"
        (folder / "tools").mkdir()
        self.wheels.mkdir()
        shutil.copy(ROOT / SCRIPT, folder / SCRIPT)
        (folder / "requirements.txt").write_text("torch==9.8.0\nlab==1.0\nnumpy==2.4.6\n")
        (folder / "constraints.txt").write_text("")
        for version in ("2.4.6", "2.3.5"):
            wheel(self.wheels, "numpy", version, {"numpy.py": f"version = '{version}'"})
        self.shared = 400
        assets = {f"lab-1.0.data/data/share/lab/{number}.js": "x" * 2000 for number in range(self.shared)}
        wheel(self.wheels, "lab", "1.0", {"lab.py": "", **assets})
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.venv], check=True)
        self.site = next(self.venv.glob("lib/python*/site-packages"))
        ours = Path(pytest.importorskip("pip").__file__).parent
        for path in (ours, *ours.parent.glob("pip-*.dist-info")):
            shutil.copytree(path, self.site / path.name)
        torch = self.site / "torch-9.8.0+cpu.dist-info"
        torch.mkdir()
        (torch / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.8.0+cpu\n")
        (torch / "INSTALLER").touch()
        (torch / "RECORD").write_text(f"{torch.name}/INSTALLER,,0\n")
        record = next(self.site.glob("pip-*/RECORD"))
        record.write_text("".join(line for line in record.open() if not line.startswith("..")))
        (self.venv / "bin" / "pip").write_text(
            f"#!{self.venv}/bin/python\nfrom pip._internal.cli.main import main\nmain()\n"
        )
        (self.venv / "bin" / "pip").chmod(0o755)

    def start(self, **environment):
        settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels), **environment}
        return subprocess.Popen(
            [sys.executable, self.folder / SCRIPT],
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def set_up(self, **environment):
        """What the tool prints; it has to succeed."""
        process = self.start(**environment)
        said, _ = process.communicate(timeout=100)
        assert process.returncode == 0, said
        return said

    def pip(self, *arguments):
        environment = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}
        code, printed, said = call(self.venv / "bin" / "python", "-m", "pip", *arguments, **environment)
        assert code == 0, said
        return printed

    def is_whole(self):
        code = "import lab, numpy; print(numpy.version)"
        files = len(list((self.venv / "share" / "lab").glob("*.js")))
        return files == self.shared and call(self.venv / "bin" / "python", "-c", code)[1] == "2.4.6\n"


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "course"
    folder.mkdir()
    return Course(folder)


def test_a_kill_between_a_packages_books_and_its_files_is_mended(course):
    process = course.start()
    deadline = time.monotonic() + 100
    while not list(course.site.glob("lab-1.0.dist-info/METADATA")) and time.monotonic() < deadline:
        time.sleep(0.0005)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not course.is_whole(), "the kill came too late for this test"
    course.set_up()
    assert course.is_whole() and course.set_up() == ""


def test_an_altered_environment_is_mended(course):
    course.set_up(PIP_TARGET=str(course.folder / "elsewhere"), PIP_NO_DEPS="1", PIP_DRY_RUN="1", PIP_USER="1")
    assert course.is_whole() and course.set_up() == ""
    shutil.rmtree(course.venv / "share")
    assert course.set_up() and course.is_whole()
    course.pip("install", "numpy==2.3.5")
    assert course.set_up() and course.is_whole()
    course.pip("uninstall", "-y", "numpy")
    (course.site / "lab.py").unlink()
    assert course.set_up() and course.is_whole() and course.set_up() == ""


def test_a_moved_course_has_its_own_scripts(course, tmp_path):
    course.set_up()
    moved = tmp_path / "moved here"
    shutil.copytree(course.folder, moved, symlinks=True)
    shutil.rmtree(course.folder)
    assert call(sys.executable, moved / SCRIPT, PIP_NO_INDEX="1")[0] == 0
    code, printed, _ = call(moved / ".venv" / "bin" / "pip", "--version")
    assert code == 0 and "moved here/.venv" in printed
    activate = f'. "{moved}/.venv/bin/activate" && python -c "import sys; print(sys.prefix)"'
    assert call("sh", "-c", activate)[1].strip() == str(moved / ".venv")
    assert call(sys.executable, moved / SCRIPT, PIP_NO_INDEX="1") == (0, "", [])


def test_two_installs_at_once_take_turns(course):
    folder = os.open(course.folder, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    process = course.start(PYTHONUNBUFFERED="1")
    assert process.stdout.readline().startswith("Another command is installing here")
    assert not (course.venv / "install.log").exists() and process.poll() is None
    os.close(folder)
    process.communicate(timeout=100)
    assert process.returncode == 0 and course.is_whole()
