"""tools/setup/setup_environment.py: .venv is built and healed by uv, and by pip where uv cannot be had.

A course here has real installers and tiny packages, no index and a cache of its own.
"""

import ast
import errno
import fcntl
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
NIGHT = pytest.mark.lane("all", "setup_environment")
pytestmark = [pytest.mark.lane("test"), pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")]


def wheel(folder, name, version, files):
    """Write a wheel of `files`, {path: text}, into `folder`."""
    info = f"{name}-{version}.dist-info"
    files = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in {**files, f"{info}/RECORD": "".join(f"{path},,\n" for path in files)}.items():
            archive.writestr(path, text)


def call(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


class Course:
    """A course with an empty .venv, and wheels of torch, numpy, a lab with many files outside of site-packages."""

    def __init__(self, folder, installers):
        self.folder, self.wheels = folder, folder.parent / "wheels"
        (folder / SCRIPT).parent.mkdir(parents=True)
        self.wheels.mkdir()
        shutil.copy(ROOT / SCRIPT, folder / SCRIPT)
        (folder / "requirements.txt").write_text("torch==9.8.0\nlab==1.0\nnumpy==2.4.6\n")
        (folder / "requirements-test.txt").write_text("-r requirements.txt\nprobe==1.0\n")
        (folder / "constraints.txt").write_text(f"uv=={metadata.version('uv') if 'uv' in installers else '0.0.1'}\n")
        assets = {f"lab-1.0.data/data/share/lab/{number}.js": f"{number:04}" * 500 for number in range(200)}
        wheel(self.wheels, "lab", "1.0", {"lab.py": "here = True", **assets})
        for name in ("numpy-2.4.6", "numpy-2.3.5", "torch-9.8.0+cpu", "probe-1.0", "own-1.0"):
            package, version = name.split("-")
            wheel(self.wheels, package, version, {f"{package}.py": f"version = '{version}'"})
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.venv], check=True)
        for name in installers:
            for path in Path(metadata.distribution(name).locate_file("")).glob(f"{name}*"):
                shutil.copytree(path, self.site / path.name)
        if "uv" in installers:
            shutil.copy(Path(sys.executable).with_name("uv"), self.venv / "bin")

    @property
    def venv(self):
        return self.folder / ".venv"

    @property
    def site(self):
        return next(self.venv.glob("lib/python*/site-packages"))

    def environment(self):
        cache = str(self.folder.parent / "cache")
        return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels), "UV_CACHE_DIR": cache, "PYTHONUNBUFFERED": "1"}

    def start(self, *sets, **environment):
        environment = {**os.environ, **self.environment(), **environment}
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
        return subprocess.Popen([sys.executable, self.folder / SCRIPT, *sets], env=environment, **how)

    def set_up(self, *sets, **environment):
        """What the tool prints; it has to succeed."""
        process = self.start(*sets, **environment)
        said, _ = process.communicate(timeout=200)
        assert process.returncode == 0, said
        return said

    def files(self):
        """{path: content} of what the packages brought."""
        found = [path for path in self.site.glob("*.py") if path.name[0] != "_"] + [*self.venv.glob("share/lab/*")]
        return {path: path.read_bytes() for path in found}

    def is_whole(self):
        files = self.files()
        return len(files) == 203 and all(files.values()) and self.set_up() == ""


@pytest.fixture
def course(tmp_path, request):
    """With uv where these tests have it; BOTH lets a test run with pip, too."""
    installers = getattr(request, "param", ["pip", "uv"] if find_spec("uv") else ["pip"])
    if "uv" in installers:
        pytest.importorskip("uv")
    return Course(tmp_path / "Kurs für Übung", installers)


BOTH = pytest.mark.parametrize(
    "course", [["pip", "uv"], pytest.param(["pip"], marks=NIGHT)], indirect=True, ids=["uv", "pip"]
)


# Healing


@BOTH
def test_what_is_missing_is_installed_and_nowhere_else(course):
    course.set_up(PIP_TARGET="elsewhere", PIP_NO_DEPS="1", PIP_DRY_RUN="1", PIP_USER="1", UV_TARGET="elsewhere")
    log = (course.venv / "install.log").read_text()
    assert ("uv pip install" in log and "pip --require-virtualenv" not in log) == (course.site / "uv").is_dir()
    assert course.is_whole()
    shutil.rmtree(course.site / "numpy-2.4.6.dist-info")
    (course.site / "numpy.py").unlink()
    assert course.set_up() and course.is_whole()


@BOTH
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=NIGHT) for seed in range(2, 11))])
def test_an_install_that_was_killed_is_healed(course, seed):
    process = course.start()
    time.sleep(random.Random(seed).uniform(0.2, 3))
    os.killpg(process.pid, signal.SIGKILL)
    assert process.communicate() and course.set_up() is not None and course.is_whole()


BROKEN = {
    "no stamp": lambda course: (course.venv / "installed.json").unlink(),
    "half a stamp": lambda course: (course.venv / "installed.json").write_text('{"of": '),
    "another stamp": lambda course: (course.venv / "installed.json").write_text('{"of": null, "sets": [5, "/etc/x"]}'),
    "no settings": lambda course: (course.venv / "pyvenv.cfg").unlink(),
    "half a pip": lambda course: (next(course.site.glob("pip-*/INSTALLER"))).unlink(),
    "no python": lambda course: (course.venv / "bin" / "python").unlink(),
    "moved": lambda course: vars(course).update(folder=course.folder.rename(course.folder.with_name("moved here"))),
}


@pytest.mark.parametrize("how", [name if name == "no stamp" else pytest.param(name, marks=NIGHT) for name in BROKEN])
def test_what_is_broken_is_built_anew(course, how):
    """Without pyvenv.cfg, what is installed would go into the Python that .venv came from."""
    course.set_up()
    BROKEN[how](course)
    (course.site / "numpy.py").unlink()
    assert course.set_up().startswith("Building") and course.is_whole()
    assert call(course.venv / "bin" / "pip", "--version")[0] == 0


@NIGHT
def test_what_other_calls_and_the_learner_brought_stays(course):
    course.set_up("requirements-test.txt")
    assert call(course.venv / "bin" / "python", "-m", "pip", "install", "own", **course.environment())[0] == 0
    assert course.set_up() == "" == course.set_up("requirements-test.txt")
    (course.folder / "requirements.txt").write_text("torch==9.8.0\nlab==1.0\nnumpy==2.3.5\n")
    assert course.set_up() and "2.3.5" in (course.site / "numpy.py").read_text() and course.set_up() == ""
    assert {"probe.py", "own.py"} <= {path.name for path in course.site.glob("*.py")}


@NIGHT
def test_two_installs_at_once_take_turns(course):
    with open(course.folder / "requirements.txt") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = course.start()
        assert process.stdout.readline().startswith("Another command is installing here")
        assert not (course.venv / "install.log").exists() and process.poll() is None
    assert process.communicate(timeout=200) and process.returncode == 0 and course.is_whole()


# Settings of the user's


def test_only_where_packages_come_from_reaches_the_installers_and_uv_hears_it_as_well(tmp_path, monkeypatch):
    (tmp_path / "pip.conf").write_text(
        "[global]\ntarget = /elsewhere\nindex-url = https://mirror.example/simple\ncert = /c.pem\nretries = 2\n"
        "find-links =\n  /a\n  /b\n[install]\nretries = 3\nextra-index-url = https://x/a https://x/b\n"
    )
    kept = {"PIP_NO_CACHE_DIR": "1", "PIP_PROXY": "proxy.example", "UV_OFFLINE": "1"}
    dropped = ["PIP_TARGET", "PIP_DRY_RUN", "PIP_NO_DEPS", "PIP_USER", "UV_TARGET", "UV_OVERRIDE", "PYTHONPATH"]
    given = {"PATH": os.environ["PATH"], "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), **dict.fromkeys(dropped, "1")}
    monkeypatch.setattr(os, "environ", given | kept)
    pip = setup_environment.pip_environment(sys.executable)
    assert kept.items() <= pip.items() and not pip.keys() & set(dropped)
    uv = setup_environment.uv_environment(tmp_path, pip)
    wanted = {
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "UV_INDEX": "https://x/a https://x/b",
        "UV_FIND_LINKS": "/a,/b",
        "SSL_CERT_FILE": "/c.pem",
        "ALL_PROXY": "proxy.example",
        "UV_HTTP_RETRIES": "3",
        "UV_NO_CACHE": "1",
        "UV_OFFLINE": "1",
    }
    assert wanted.items() <= uv.items()
    own = {"UV_DEFAULT_INDEX": "https://own.example/simple"}
    assert own.items() <= setup_environment.uv_environment(tmp_path, pip | own).items(), "uv's own settings count more"


@pytest.mark.parametrize("settings", [{}, {"TORCH": "default"}, {"CI": "true"}], ids=str)
@pytest.mark.parametrize("place, calls", [("+cpu", 2), ("download.pytorch.org", 3), ("nowhere", None)])
def test_3_gb_are_not_fetched_unasked(monkeypatch, settings, place, calls):
    """PyTorch for the processor alone comes from the user's places, or from PyTorch's own index."""
    for name in ("TORCH", "CI"):
        monkeypatch.setenv(name, settings.get(name, ""))
    monkeypatch.setattr(sys, "stdin", type("terminal", (), {"isatty": lambda self: True})())
    asked = []

    def install(*words):
        asked.append(" ".join(map(str, words)))
        return place in asked[-1] or "-r" in asked[-1]

    assert (setup_environment.attempt(install, "torch==9.8.0", [Path("sets")]), len(asked)) == (
        bool(calls or settings),
        calls or (3 if settings else 2),
    )


# One line for whatever stands in the way


LAST = "ERROR: No matching distribution found for lab==1.0"
CAUSES = {
    "the proxy does not let it through": "'ProxyError('Cannot connect to proxy.', NewConnectionError('refused'))'",
    "a certificate is not accepted": "Caused by: invalid peer certificate: UnknownIssuer",
    "the network cannot be reached": "Caused by: dns error: failed to lookup address information",
    "the server does not answer": "Caused by: operation timed out",
    "the server refuses": "Caused by: HTTP status client error (403 Forbidden) for url (https://mirror.example/lab/)",
    LAST: LAST,
}


@pytest.mark.parametrize("what", CAUSES)
def test_the_cause_is_said_and_not_what_follows_from_it(what):
    retrying = "WARNING: Retrying (Retry(total=4)) after connection broken by " * what.startswith("the proxy")
    said = setup_environment.cause(
        f"Looking in indexes\n  {retrying}{CAUSES[what]}\n{LAST}\n\n[notice] A new release of pip\n"
    )
    assert said.startswith(what) and said.endswith(CAUSES[what])


def one_line(said):
    lines = [line for line in said.splitlines() if line.startswith("setup: ")]
    assert len(lines) == 1 and said.splitlines()[-1] == lines[0], said
    return lines[0]


def test_a_failed_install_says_so_in_one_line_and_goes_on_later(course):
    hidden = next(course.wheels.glob("lab-*")).rename(course.folder / "lab-1.0-py3-none-any.whl")
    said, _ = course.start(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0").communicate(timeout=200)
    assert LAST in one_line(said) and "run the command again" in said, "in letters that the terminal has"
    hidden.rename(course.wheels / hidden.name)
    assert "Building" not in course.set_up() and course.is_whole()


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


@pytest.mark.parametrize(
    "code, printed, words, is_half",
    [
        (1, "ERROR: [Errno 28] No space left on device", "The disk is full", True),
        (0, "", "says that it is done, and there is no torch", False),
        (1, "Collecting\nERROR: no torch\nnotice", "The install failed: ERROR: no torch. ", False),
    ],
)
def test_a_disk_that_fills_up_and_an_installer_that_lies_are_named(here, monkeypatch, code, printed, words, is_half):
    venv = setup_environment.COURSE / ".venv"
    venv.mkdir()
    monkeypatch.setattr(setup_environment, "is_usable", lambda *_: True)
    monkeypatch.setattr(setup_environment, "venv_python", lambda _: venv / "python")
    (venv / "python").write_text(f'#!/bin/sh\nprintf "%s" "{printed}"\nexit {code}\n')
    (venv / "python").chmod(0o755)
    assert words in here() and (setup_environment.read_stamp(venv)["of"] is None) == is_half


@pytest.mark.parametrize(
    "problem, code, words",
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "The disk is full"),
        (PermissionError("Permission denied"), 1, "Permission denied. Is the folder yours to write to?"),
    ],
)
def test_an_interrupt_or_a_folder_that_cannot_be_written_to(here, monkeypatch, problem, code, words):
    monkeypatch.setattr(setup_environment, "build_venv", lambda *_: (_ for _ in ()).throw(problem))
    assert words in here(code)


def test_a_python_without_ensurepip_is_told_what_to_install(here, monkeypatch):
    done = subprocess.CompletedProcess([], 1, stdout="... because ensurepip is not available.", stderr="")
    monkeypatch.setattr(setup_environment.subprocess, "run", lambda *_, **__: done)
    assert "has no whole venv module" in here()


def test_a_link_to_another_project_s_environment_or_to_itself_is_not_installed_into(here, tmp_path):
    venv, other = tmp_path / ".venv", tmp_path / "another project"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", other], check=True)
    before = sorted(other.rglob("*"))
    for target in (other, venv):
        venv.unlink(missing_ok=True)
        venv.symlink_to(target)
        assert "is a link to" in here() and sorted(other.rglob("*")) == before


# Another Python


def test_old_pythons_say_what_is_needed():
    """The tool can be read by Python 3.7; `make` asks the version of what is older."""
    ast.parse((ROOT / SCRIPT).read_text(encoding="utf-8"), feature_version=(3, 7))
    old = f"import runpy, sys; sys.version_info = (3, 10); runpy.run_path({str(ROOT / SCRIPT)!r}, run_name='__main__')"
    assert "Python 3.11 or newer is needed" in one_line(call(sys.executable, "-c", old)[2])


def test_a_python_asked_for_by_name_replaces_another(tmp_path, monkeypatch):
    said = subprocess.CompletedProcess([], 0, stdout="3.99\n")
    monkeypatch.setattr(setup_environment.subprocess, "run", lambda *_, **__: said)
    (tmp_path / "pyvenv.cfg").write_text(f"command = /x/python -m venv --clear {tmp_path}\n")
    assert setup_environment.is_usable(tmp_path), "unasked, an environment that works is kept"
    assert not setup_environment.is_usable(tmp_path, this_python=True)


PYTHON = """#!/bin/sh
[ "$1" = -E ] || [ -z "$PYTHONHOME" ] || exit 1
[ "$2" = -c ] && exit
echo "$@" >> asked
echo "$HOME" >> homes
echo "$JUPYTER_PATH" > kernels
"""


@pytest.fixture
def stage(tmp_path):
    """A folder with an odd name and the Makefile, and a Python beside it that notes what it is asked."""
    folder = tmp_path / 'my "course" $HOME `touch x`'
    for path in (tmp_path / "my pythons" / "python", folder / ".venv" / "bin" / "python"):
        path.parent.mkdir(parents=True)
        path.write_text(PYTHON)
        path.chmod(0o755)
    shutil.copy(ROOT / "Makefile", folder / "Makefile")
    return folder


def test_make_says_whether_a_python_was_asked_for_and_takes_a_newer_one_where_python3_is_too_old(stage):
    make, pythons = [shutil.which("make"), "-s", "-C", stage], stage.parent / "my pythons"
    assert call(*make, "setup", f"PYTHON={pythons / 'python'}")[0] == 0
    assert call(*make, "setup-all", PYTHON=str(pythons / "python"))[0] == 0
    (pythons / "python3.12").symlink_to(pythons / "python")
    shutil.copy(shutil.which("false"), pythons / "python3")
    assert (
        call(*make, "setup", PATH=f"{pythons}:{Path(shutil.which('id')).parent}", PYTHONHOME="/of/another/program")[0]
        == 0
    )
    told = [f"-E {SCRIPT} --this-python", f"-E {SCRIPT} --this-python requirements-test.txt requirements-site.txt"]
    assert (stage / "asked").read_text().splitlines() == [*told, f"-E {SCRIPT}"]
    for path, python in [("/nowhere", "PYTHON ?="), (str(pythons), f"PYTHON={pythons / 'python3'}")]:
        code, _, said = call(*make, "setup", python, PATH=path)
        assert code and "install Python 3.11 or newer" in said


def test_the_lab_opens_in_a_folder_with_any_name_and_has_a_home_that_it_can_write_to(stage):
    (stage / "home").mkdir()
    make = ["make", "-s", "-C", stage, "lab", f"PYTHON={stage.parent / 'my pythons' / 'python'}"]
    for home in ("home", "gone"):
        assert call(*make, HOME=str(stage / home), JUPYTER_PATH="/mine")[0] == 0
    homes = (stage / "homes").read_text().splitlines()
    assert [homes[1], homes[3]] == [str(stage / "home"), str(stage / ".venv" / "home")] and Path(homes[3]).is_dir()
    assert f"--LabApp.app_settings_dir={stage}/tools/lab notebooks/" in (stage / "asked").read_text()
    assert (stage / "kernels").read_text() == f"{stage}/tools/lab:/mine\n" and not (stage / "x").exists()
