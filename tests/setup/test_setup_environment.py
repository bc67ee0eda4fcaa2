"""tools/setup/setup_environment.py: .venv is built and healed by uv, and by pip where uv cannot be had.

A course here has real installers and tiny packages, no index and a cache of its own.
"""

import ast
import base64
import fcntl
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

import setup_environment

ROOT = Path(__file__).parents[2]
SCRIPT = Path("tools") / "setup" / "setup_environment.py"
pytestmark = [pytest.mark.lane("test"), pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")]


def wheel(folder, name, version, files):
    """Write a wheel of `files`, {path: text}, into `folder`."""
    info = f"{name}-{version}.dist-info"
    meta = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files = {**{f"{info}/{part}": text for part, text in meta.items()}, **files}
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        record += f"{path},sha256={digest},{len(text)}\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(path, text)


def call(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr.splitlines()


class Course:
    """A course with an empty .venv, and wheels of torch, numpy, a lab with many files outside of site-packages."""

    def __init__(self, folder, has_uv):
        self.folder, self.venv, self.wheels = folder, folder / ".venv", folder.parent / "wheels"
        (folder / SCRIPT).parent.mkdir(parents=True)
        self.wheels.mkdir()
        shutil.copy(ROOT / SCRIPT, folder / SCRIPT)
        (folder / "requirements.txt").write_text("torch==9.8.0\nlab==1.0\nnumpy==2.4.6\n")
        (folder / "requirements-test.txt").write_text("-r requirements.txt\nprobe==1.0\n")
        (folder / "requirements-site.txt").write_text("-r requirements.txt\npages==1.0\n")
        (folder / "constraints.txt").write_text(f"uv=={metadata.version('uv')}\n" if has_uv else "uv==0.0.1\n")
        for name, version in [("numpy", "2.4.6"), ("numpy", "2.3.5"), ("torch", "9.8.0+cpu"), ("own", "1.0")]:
            wheel(self.wheels, name, version, {f"{name}.py": f"version = '{version}'"})
        for name in "probe", "pages":
            wheel(self.wheels, name, "1.0", {f"{name}.py": "done = True"})
        assets = {f"lab-1.0.data/data/share/lab/{number}.js": f"{number:04}" * 500 for number in range(200)}
        wheel(self.wheels, "lab", "1.0", {"lab.py": "here = True", **assets})
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.venv], check=True)
        (self.site,) = self.venv.glob("lib/python*/site-packages")
        for name in ["pip", "uv"] if has_uv else ["pip"]:
            for file in metadata.files(name):
                if file.suffix != ".pyc" and not (name == "pip" and ".." in file.parts):
                    (self.site / file).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(file.locate(), self.site / file)
        record = next(self.site.glob("pip-*/RECORD"))
        record.write_text("".join(line for line in record.open() if not line.startswith("..")))

    def start(self, *sets, **environment):
        cache = str(self.folder.parent / "cache")
        settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels), "UV_CACHE_DIR": cache, **environment}
        return subprocess.Popen(
            [sys.executable, self.folder / SCRIPT, *sets],
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def set_up(self, *sets, **environment):
        """What the tool prints; it has to succeed."""
        process = self.start(*sets, **environment)
        said, _ = process.communicate(timeout=200)
        assert process.returncode == 0, said + setup_log(self.venv)
        return said

    def files(self):
        """{path: content} of what the packages brought."""
        found = [path for path in self.site.glob("*.py") if path.name[0] != "_"] + [*self.venv.glob("share/lab/*")]
        return {path: path.read_bytes() for path in found}


def setup_log(venv):
    return (venv / "install.log").read_text() if (venv / "install.log").exists() else ""


@pytest.fixture
def course(tmp_path, request):
    """With uv where these tests have it; BOTH lets a test run with pip, too."""
    installer = getattr(request, "param", "uv" if find_spec("uv") else "pip")
    if installer == "uv":
        pytest.importorskip("uv")
    (tmp_path / "my course").mkdir()
    return Course(tmp_path / "my course", installer == "uv")


PIP = pytest.param("pip", marks=pytest.mark.lane("all", "setup_environment"))
BOTH = pytest.mark.parametrize("course", ["uv", PIP], indirect=True)


# Healing


@BOTH
def test_what_is_altered_emptied_or_deleted_is_healed_by_the_next_command(course):
    """In place, and with the old size: linked files would take it on to uv's cache, and be installed again."""
    course.set_up(PIP_TARGET="elsewhere", PIP_NO_DEPS="1", PIP_DRY_RUN="1", PIP_USER="1", UV_TARGET="elsewhere")
    whole, draw = course.files(), random.Random(0)
    assert len(whole) == 203 and course.set_up() == ""
    with_uv = "uv pip install" in setup_log(course.venv) and "pip --require-virtualenv" not in setup_log(course.venv)
    assert with_uv == (course.site / "uv").is_dir()
    spoil = {
        "altered": lambda path: path.write_bytes(bytes(255 - byte for byte in path.read_bytes())),
        "emptied": lambda path: path.write_bytes(b""),
        "deleted": lambda path: path.unlink(),
    }
    for how, does in spoil.items():
        for path in [course.site / "numpy.py", *draw.sample([*course.venv.glob("share/lab/*")], 3)]:
            does(path)
        assert course.set_up() and course.files() == whole, how
    assert course.set_up() == ""


@pytest.mark.lane("all", "setup_environment")
def test_books_that_are_gone_doubled_incomplete_or_of_another_version(course):
    course.set_up()
    whole, numpy = course.files(), course.site / "numpy-2.4.6.dist-info"
    for spoil in (
        lambda: shutil.rmtree(numpy),
        lambda: numpy.rename(course.site / "numpy-2.3.5.dist-info"),
        lambda: shutil.copytree(numpy, course.site / "numpy-2.3.5.dist-info"),
        lambda: (numpy / "RECORD").write_text("numpy.py,,\n"),
        lambda: (numpy / "METADATA").unlink(),
    ):
        spoil()
        assert course.set_up() and course.files() == whole
        assert [path.name for path in course.site.glob("numpy-*")] == [numpy.name] and course.set_up() == ""


@pytest.mark.lane("all", "setup_environment")
@BOTH
@pytest.mark.parametrize("seed", range(2))
def test_an_install_that_was_killed_is_healed(course, seed):
    draw = random.Random(seed)
    for _ in range(3):
        process = course.start()
        time.sleep(draw.uniform(0.3, 3))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    course.set_up()
    assert len(course.files()) == 203 and all(course.files().values()) and course.set_up() == ""


@pytest.mark.lane("all", "setup_environment")
def test_a_stamp_that_is_a_folder_or_no_stamp(course):
    course.set_up()
    stamp = course.venv / "installed.json"
    for spoil in (stamp.mkdir, lambda: stamp.write_text("[1]"), lambda: stamp.write_text('{"of": '), lambda: None):
        stamp.unlink()
        spoil()
        assert course.set_up() and stamp.is_file() and course.set_up() == ""


@pytest.mark.lane("all", "setup_environment")
@BOTH
def test_without_its_pyvenv_cfg_nothing_is_installed_into_the_python_that_it_came_from(course, tmp_path):
    """With a Python of the test's own as the base: a .venv that was copied in part must never lead to it."""
    base = tmp_path / "base"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", base], check=True)
    (site,) = base.glob("lib/python*/site-packages")
    for path in [*course.site.glob("pip*"), *course.site.glob("uv*")]:
        shutil.copytree(path, site / path.name)
    (course.venv / "pyvenv.cfg").unlink()
    for python in (course.venv / "bin").glob("python*"):
        python.unlink()
    (course.venv / "bin" / "python").write_text(f'#!/bin/sh\nexec "{base}/bin/python" "$@"\n')
    (course.venv / "bin" / "python").chmod(0o755)
    before = sorted(path.name for path in site.iterdir())
    assert not setup_environment.is_usable(course.venv)
    course.set_up()
    assert sorted(path.name for path in site.iterdir()) == before
    assert len(course.files()) == 203 and (course.venv / "pyvenv.cfg").exists()
    log = setup_log(course.venv).splitlines()
    assert all("--require-virtualenv" in line for line in log if line.startswith("$") and "-m pip" in line)


@pytest.mark.lane("all", "setup_environment")
def test_a_moved_course_is_built_anew(course, tmp_path):
    course.set_up()
    moved = course.folder.rename(tmp_path / "moved here")
    environment = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(course.wheels), "UV_CACHE_DIR": str(tmp_path / "cache")}
    assert call(sys.executable, moved / SCRIPT, **environment)[0] == 0
    code, printed, _ = call(moved / ".venv" / "bin" / "pip", "--version")
    assert code == 0 and "moved here/.venv" in printed
    assert call(sys.executable, moved / SCRIPT, **environment) == (0, "", [])


# Sets


@pytest.mark.lane("all", "setup_environment")
def test_what_other_calls_and_the_learner_brought_stays(course):
    course.set_up("requirements-test.txt")
    command = [course.venv / "bin" / "python", "-m", "pip", "install", "own"]
    assert call(*command, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(course.wheels))[0] == 0
    (course.site / "own.py").unlink()
    assert course.set_up() == "" == course.set_up("requirements-test.txt"), "what is the learner's is not ours to heal"
    assert course.set_up("requirements-site.txt") and course.set_up() == ""
    assert {"probe.py", "pages.py", "numpy.py"} <= {path.name for path in course.site.glob("*.py")}
    (course.site / "probe.py").unlink()
    assert course.set_up() and (course.site / "probe.py").exists() and [*course.site.glob("own-1.0.dist-info")]
    (course.folder / "requirements.txt").write_text("torch==9.8.0\nlab==1.0\nnumpy==2.3.5\n")
    assert course.set_up() and "2.3.5" in (course.site / "numpy.py").read_text() and course.set_up() == ""


@pytest.mark.lane("all", "setup_environment")
def test_two_installs_at_once_take_turns(course):
    folder = os.open(course.folder, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    process = course.start(PYTHONUNBUFFERED="1")
    assert process.stdout.readline().startswith("Another command is installing here")
    assert not (course.venv / "install.log").exists() and process.poll() is None
    os.close(folder)
    process.communicate(timeout=200)
    assert process.returncode == 0 and len(course.files()) == 203


def test_equal_versions_are_equal():
    assert setup_environment.release("9.8.0+cpu") == setup_environment.release("9.8") == "9.8"
    assert setup_environment.release("2026.01.05") == setup_environment.release("2026.1.5")
    assert setup_environment.release("2.1.0") != setup_environment.release("2.10")


# Settings of the user's


@pytest.fixture
def no_settings(monkeypatch):
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_", "PYTHON")) or "CERT" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def test_only_settings_about_where_packages_come_from_reach_the_installers(no_settings, monkeypatch):
    kept = {"PIP_INDEX_URL": "https://mirror.example/simple", "PIP_CERT": "/c.pem", "UV_OFFLINE": "1"}
    dropped = ["PIP_TARGET", "PIP_DRY_RUN", "PIP_NO_DEPS", "PIP_USER", "UV_TARGET", "UV_OVERRIDE", "PYTHONPATH"]
    for name, value in {**kept, **dict.fromkeys(dropped, "1")}.items():
        monkeypatch.setenv(name, value)
    reached = setup_environment.pip_environment(sys.executable)
    assert kept.items() <= reached.items() and not reached.keys() & set(dropped)


def test_an_index_and_a_certificate_that_pip_is_set_to_are_handed_on_to_uv(no_settings, tmp_path, monkeypatch):
    config = "[global]\ntarget = /elsewhere\nindex-url = https://mirror.example/simple\ncert = /c.pem\n"
    config += (
        "find-links =\n  /a\n  /b\nretries = 2\n[install]\nretries = 3\nextra-index-url = https://x/a https://x/b\n"
    )
    (tmp_path / "pip.conf").write_text(config)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    pip = setup_environment.pip_environment(sys.executable)
    assert pip["PIP_RETRIES"] == "3" and "PIP_TARGET" not in pip and pip["PIP_CONFIG_FILE"] == os.devnull
    uv = setup_environment.uv_environment(tmp_path, pip)
    assert uv["UV_DEFAULT_INDEX"] == "https://mirror.example/simple" and uv["SSL_CERT_FILE"] == "/c.pem"
    assert uv["UV_FIND_LINKS"] == "/a,/b" and uv["UV_INDEX"].split() == ["https://x/a", "https://x/b"]
    assert uv["UV_HTTP_RETRIES"] == "3" and uv["UV_NO_CACHE"] == "1" and uv["UV_LINK_MODE"] == "copy"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://own.example/simple")
    uv = setup_environment.uv_environment(tmp_path, setup_environment.pip_environment(sys.executable))
    assert uv["UV_DEFAULT_INDEX"] == "https://own.example/simple", "what uv itself is set to counts more"


# PyTorch for the processor alone


class Answers:
    """A stand-in for an installer: `has` are the words of a call, one of which has to be in it, that succeed."""

    def __init__(self, *has, needs=""):
        self.has, self.needs, self.calls = has, needs, []

    def __call__(self, *words):
        self.calls.append(" ".join(words))
        return any(word in self.calls[-1] for word in self.has), self.needs


@pytest.fixture
def terminal(monkeypatch):
    for name in ("TORCH", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("usage", (), {"free": 10**11}))
    monkeypatch.setattr(sys, "stdin", type("terminal", (), {"isatty": lambda self: True})())


def test_pytorch_comes_from_the_user_s_places_or_its_own_index(terminal):
    near, far = Answers("+cpu"), Answers("download.pytorch.org")
    for install in near, far:
        setup_environment.install_torch(ROOT, install, "torch==9.8.0")
    assert near.calls == ["--no-deps torch==9.8.0+cpu"] and len(far.calls) == 2


def test_without_pytorch_s_index_another_build_for_the_processor_serves(terminal):
    install = Answers("--dry-run", needs="Would install filelock-3 torch-9.8.0")
    setup_environment.install_torch(ROOT, install, "torch==9.8.0")
    assert install.calls[2:] == ["--dry-run torch==9.8.0"]


NEEDS_GRAPHICS = ["Would install nvidia-cublas-13.4 torch-9.8.0", " + nvidia-cublas==13.4\n + torch==9.8.0"]


@pytest.mark.parametrize("needs", NEEDS_GRAPHICS, ids=["pip", "uv"])
def test_5_gb_are_not_fetched_unasked(terminal, needs, monkeypatch, capsys):
    with pytest.raises(setup_environment.Stop, match="3 GB to fetch and 6 GB on disk.*TORCH=default"):
        setup_environment.install_torch(ROOT, Answers("--dry-run", needs=needs), "torch==9.8.0")
    for name, value in [("TORCH", "default"), ("CI", "true")]:
        with monkeypatch.context() as patched:
            patched.setenv(name, value)
            setup_environment.install_torch(ROOT, Answers("--dry-run", needs=needs), "torch==9.8.0")
    monkeypatch.setattr(sys, "stdin", None)
    setup_environment.install_torch(ROOT, Answers("--dry-run", needs=needs), "torch==9.8.0")
    assert capsys.readouterr().out.count("6 GB on disk") == 3


# One line for whatever stands in the way


def one_line(said):
    lines = [line for line in said.splitlines() if line.startswith("setup: ")]
    assert len(lines) == 1 and said.splitlines()[-1] == lines[0], said
    return lines[0]


def test_a_failed_install_says_so_in_one_line_and_is_resumed(course):
    (hidden,) = course.wheels.glob("lab-*")
    hidden.rename(course.folder / hidden.name)
    said, _ = course.start().communicate(timeout=200)
    assert "No matching distribution found for lab" in one_line(said) and "run the command again" in said
    (course.folder / hidden.name).rename(hidden)
    course.set_up()
    assert len(course.files()) == 203


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """here() is what a call of the tool in the folder `tmp_path` says last."""
    monkeypatch.setattr(setup_environment, "COURSE", tmp_path)
    for name in ("requirements.txt", "constraints.txt"):
        (tmp_path / name).write_text("torch==1.0\n")

    def said(code=1):
        assert setup_environment.main([]) == code
        return one_line(capsys.readouterr().err)

    return said


def test_too_little_space_is_found_out_before(here, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("usage", (), {"free": 10**9}))
    assert "GB of free space are needed" in (said := here()) and "there are 1.0 GB" in said


def test_a_disk_that_fills_up_and_an_installer_that_lies_are_named(here, monkeypatch):
    monkeypatch.setattr(setup_environment, "is_usable", lambda _: True)
    monkeypatch.setattr(setup_environment, "is_moved", lambda _: False)
    monkeypatch.setattr(setup_environment, "pip_environment", lambda _: {})
    (setup_environment.COURSE / ".venv").mkdir()
    for answer, words in [
        ((False, "[Errno 28] No space left on device"), "The disk is full"),
        ((True, ""), "not as they should be: torch"),
        ((False, "Collecting\nERROR: no torch\nnotice"), "The install failed (ERROR: no torch)"),
    ]:
        monkeypatch.setattr(setup_environment, "run", lambda *_, answer=answer: answer)
        assert words in here()


def test_an_interrupted_install_says_so(here, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(setup_environment, "build_venv", interrupt)
    assert "interrupted" in here(130)


def test_a_python_without_ensurepip_is_told_what_to_install(here, monkeypatch):
    words = "The virtual environment was not created successfully because ensurepip is not available."
    done = subprocess.CompletedProcess([], 1, stdout=words, stderr="")
    monkeypatch.setattr(setup_environment.subprocess, "run", lambda *_, **__: done)
    assert "has no whole venv module" in here()


def test_an_environment_that_is_a_file_or_a_link_to_one_that_does_not_work(here, tmp_path):
    venv, precious = tmp_path / ".venv", tmp_path / "another project"
    venv.touch()
    assert "cannot be built (Error: " in here()
    venv.unlink()
    precious.mkdir()
    (precious / "kept").touch()
    venv.symlink_to(precious)
    assert "is a link to" in here() and (precious / "kept").exists()


def alone(folder):
    """The tool by itself in a folder; it stops as soon as it has spoken."""
    (folder / SCRIPT).parent.mkdir(parents=True)
    shutil.copy(ROOT / SCRIPT, folder / SCRIPT)
    for name in ("requirements.txt", "constraints.txt"):
        (folder / name).write_text("torch==1.0\n")
    return folder / SCRIPT


def test_a_colon_in_the_path_is_named_in_the_words_of_venv(tmp_path):
    code, _, said = call(sys.executable, alone(tmp_path / "a:b"))
    assert code == 1 and len(said) == 1 and "contains the PATH separator" in said[0]


def test_letters_that_the_terminal_lacks_are_no_obstacle(tmp_path):
    script = alone(tmp_path / "Überblick")
    (tmp_path / "Überblick" / ".venv").touch()
    code, printed, said = call(sys.executable, script, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert code == 1 and len(said) == 1 and "cannot be built (Error: " in said[0]
    assert "Building" in printed and "berblick" in printed


# Another Python


def test_old_pythons_say_what_is_needed(tmp_path):
    """The tool can be read by Python 3.8, and any that is installed here, pyenv's included, says what is needed."""
    ast.parse((ROOT / SCRIPT).read_text(encoding="utf-8"), feature_version=(3, 8))
    names = ["python3.8", "python3.9", "python3.10"]
    folders = [*os.environ["PATH"].split(os.pathsep), *Path.home().glob(".pyenv/versions/*/bin")]
    found = [path for name in names for folder in folders if (path := Path(folder, name)).exists()]
    for python in [path for path in found if call(path, "-c", "", PYTHONPATH="")[0] == 0]:
        code, _, said = call(python, ROOT / SCRIPT, PYTHONPATH="")
        assert code == 1 and len(said) == 1 and "setup: Python 3.11 or newer is needed" in said[0], python


def test_a_python_asked_for_by_name_replaces_another(here, tmp_path, monkeypatch):
    monkeypatch.setattr(setup_environment, "is_usable", lambda _: True)
    monkeypatch.setattr(setup_environment, "install_sets", lambda *_: [])
    built = []
    monkeypatch.setattr(setup_environment, "build_venv", lambda *_: built.append(1))
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /x\nversion = 3.1.4\n")
    assert setup_environment.main([]) == 0 and not built, "unasked, an environment that works is kept"
    assert setup_environment.main(["--this-python"]) == 0 and built
    assert json.loads((tmp_path / ".venv" / "installed.json").read_text())["sets"] == ["requirements.txt"]


def makefile_stage(folder):
    """A folder with the Makefile, whose Python has a blank in its path and notes what it is asked."""
    shutil.copy(ROOT / "Makefile", folder / "Makefile")
    python = folder / "my pythons" / "python"
    for path in (python, folder / ".venv" / "bin" / "python"):
        path.parent.mkdir(parents=True)
        notes = f'echo "$@" >> "{folder}/asked"\nprintf "%s\\n" "$@" "$JUPYTER_PATH" > "{folder}/words"\n'
        path.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exit\n{notes}echo "$HOME" >> "{folder}/homes"\n')
        path.chmod(0o755)
    return python


def test_make_says_whether_a_python_was_asked_for(tmp_path):
    python = makefile_stage(tmp_path)
    assert call("make", "-s", "-C", tmp_path, "setup", f"PYTHON={python}")[0] == 0
    assert call("make", "-s", "-C", tmp_path, "setup-all", PYTHON=str(python))[0] == 0
    (tmp_path / "my pythons" / "python3").symlink_to(python)
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON"}
    command = ["make", "-s", "-C", tmp_path, "setup"]
    assert subprocess.run(command, env=environment | {"PATH": path}).returncode == 0
    first, second, third = (tmp_path / "asked").read_text().splitlines()
    assert first == f"{SCRIPT} --this-python"
    assert second == f"{SCRIPT} --this-python requirements-test.txt requirements-site.txt"
    assert third == f"{SCRIPT}"


def test_make_takes_a_newer_python_where_python3_is_too_old_and_says_so_where_there_is_none(tmp_path):
    python = makefile_stage(tmp_path)
    (tmp_path / "my pythons" / "python3.12").symlink_to(python)
    old = tmp_path / "my pythons" / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    environment = {"PATH": f"{python.parent}{os.pathsep}/nowhere", "SHELL": "/bin/sh"}
    make = shutil.which("make")
    done = subprocess.run([make, "-s", "-C", tmp_path, "setup"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and (tmp_path / "asked").read_text() == f"{SCRIPT}\n", done.stderr
    environment["PATH"] = "/nowhere"
    done = subprocess.run([make, "-s", "-C", tmp_path, "setup"], env=environment, capture_output=True, text=True)
    assert done.returncode and "setup: Python 3.11 or newer was not found" in done.stderr


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
    *words, notebook, kernels = (folder / "words").read_text().splitlines()
    assert f"--LabApp.app_settings_dir={folder}/tools/lab" in words and notebook == "notebooks/00_start_here.ipynb"
    assert kernels.partition(":")[0] == f"{folder}/tools/lab"
