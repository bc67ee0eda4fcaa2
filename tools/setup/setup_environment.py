"""Build .venv and install the pinned packages: what every target of the Makefile does first.

    python3 tools/setup/setup_environment.py [--this-python] [REQUIREMENTS ...]

requirements.txt always, and the given files besides; what earlier calls brought stays. uv installs, the version that
constraints.txt binds, from .venv itself, where pip puts it; where uv cannot be had or fails, pip installs the same.

A finished install leaves a stamp. The next call believes it only where each package of it is there with all its files,
in their sizes, and with the content that RECORD gives for what was written since. A broken package is installed again,
and a .venv that is no environment of its own, or was moved here, is built anew, as one of another Python is where
--this-python asks for the one that runs this file. Whatever stands in the way ends in one line that says what to do.
"""

import sys

if sys.version_info < (3, 11):
    sys.exit("setup: Python 3.11 or newer is needed: install it, for instance from python.org, then run this again.")

import ast
import base64
import contextlib
import csv
import hashlib
import json
import math
import os
import platform
import re
import shutil
import subprocess
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

COURSE = Path(__file__).resolve().parents[2]
BYTES_NEEDED = 4 * 10**9  # .venv takes 1.5 GB, 1.9 GB with the tools for tests, and uv's cache as much again
BYTES_FOR_GRAPHICS = 14 * 10**9
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# What of the user's settings of pip reaches the install, and what uv calls it: where packages come from and how to get
# there. Others (target, prefix, dry-run, no-deps, ...) would install elsewhere, or less than is needed.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "no-index": None,  # an option of uv, see Installer
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "retries": "UV_HTTP_RETRIES",
    "no-cache-dir": "UV_NO_CACHE",
    "cache-dir": None,
    "keyring-provider": None,
    "use-feature": None,
}
UV_SETTINGS = re.compile(
    r"UV_(DEFAULT_INDEX|INDEX|EXTRA_INDEX|FIND_LINKS|INSECURE|HTTP|CACHE|NO_CACHE|OFFLINE|NATIVE|SYSTEM_CERTS)"
)


class Stop(Exception):
    """The install cannot go on; the message says what to do."""


# What is installed


def venv_python(venv):
    return venv / "Scripts" / "python.exe" if os.name == "nt" else venv / "bin" / "python"


def normalised(package):
    return re.sub(r"[-_.]+", "-", package).lower()


def release(version):
    """Equal for equal versions: 9.8.0+cpu and 9.8, 2026.01.5 and 2026.1.5."""
    return re.sub(r"(\.0)+$", "", re.sub(r"(^|\.)0+(?=\d)", r"\1", version.partition("+")[0]))


def pins(*paths):
    """{package: version} of the lines `package==version` of requirements files."""
    lines = [line for path in paths for line in Path(path).read_text(encoding="utf-8").splitlines()]
    found = [match for line in lines if (match := re.match(r"([\w.-]+)==([\w.]+)", line))]
    return {normalised(match[1]): release(match[2]) for match in found}


def books(venv):
    """[(package, version, its .dist-info folder)]; an upgrade that was cut short leaves two folders of a package."""
    below = "Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages"
    found = []
    for folder in sorted(venv.glob(f"{below}/[!~]*.dist-info")):
        package, _, version = folder.name.removesuffix(".dist-info").rpartition("-")
        found.append((normalised(package), release(version), folder))
    return found


def is_whole(folder, since):
    """Is each file that RECORD in a .dist-info `folder` names there, in its size, and its content if written `since`?

    A wheel brings a RECORD of its own. What installs replaces it at the end by one that names INSTALLER.
    """
    try:
        with open(folder / "RECORD", encoding="utf-8", newline="") as lines:
            rows = [row for row in csv.reader(lines) if len(row) == 3 and not row[0].endswith(".pyc")]
        for name, digest, size in rows:
            found = os.stat(folder.parent / name)
            if size and found.st_size != int(size):
                return False
            if digest and max(found.st_mtime, found.st_ctime) >= since and not holds(folder.parent / name, digest):
                return False
    except (OSError, ValueError):
        return False
    return any(name.endswith(".dist-info/INSTALLER") for name, _, _ in rows)


def holds(path, digest):
    """Has the file the content that RECORD gives as "sha256=..." ?"""
    kind, _, value = digest.partition("=")
    with open(path, "rb") as file:
        return base64.urlsafe_b64encode(hashlib.file_digest(file, kind).digest()).decode().rstrip("=") == value


def sound(venv, pinned, since):
    """The packages of `pinned` that are installed once, in that version, with all files."""
    found = books(venv)
    names = [package for package, _, _ in found]
    return {
        package
        for package, version, folder in found
        if pinned.get(package) == version and names.count(package) == 1 and is_whole(folder, since)
    }


def forget_broken(venv, pinned, since):
    """Take broken packages off the books, so that they are installed anew over what is left of them."""
    good = sound(venv, pinned, since)
    for package, _, folder in books(venv):
        if package in pinned and package not in good:
            shutil.rmtree(folder)
            for left in folder.parent.glob("~*"):  # pip's, moved out of the way
                remove(left)


def remove(path):
    """Remove a file, a link or a folder; nothing where there is none."""
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


# Running other programs


def run(command, environment, log):
    """Run `command`, its words at the end of the file `log`; returns (did it succeed, its words)."""
    with open(log, "a+", encoding="utf-8", errors="backslashreplace") as output:
        print("\n$", *command, file=output, flush=True)
        start = output.tell()
        # close_fds: what installs holds the lock of alone(), too, so nobody installs beside it if this is killed
        done = subprocess.run(command, env=environment, stdout=output, stderr=subprocess.STDOUT, close_fds=False)
        output.seek(start)
        return done.returncode == 0, output.read()


def clean_environment():
    """The caller's environment without settings that send Python, pip or uv elsewhere."""
    result = {}
    for name, value in os.environ.items():
        if name.startswith("PIP_") and name != "PIP_CONFIG_FILE":
            kept = value and name[4:].lower().replace("_", "-") in SETTINGS
        else:
            kept = UV_SETTINGS.match(name) if name.startswith("UV_") else not name.startswith("PYTHON")
        if kept:
            result[name] = value
    return result


def pip_environment(python):
    """clean_environment() plus what pip.conf says about where packages come from, and nothing else that it says."""
    environment = clean_environment()
    asked = subprocess.run([python, "-m", "pip", "config", "list"], env=environment, capture_output=True)
    said = re.findall(r"^(install|global)\.([\w-]+)=(.+)$", asked.stdout.decode("utf-8", "replace"), re.MULTILINE)
    for _, key, value in sorted(said, reverse=True):  # as for pip, what stands under [install] counts more
        if key in SETTINGS:
            environment.setdefault("PIP_" + key.upper().replace("-", "_"), ast.literal_eval(value.strip()))
    return environment | {"PIP_CONFIG_FILE": os.devnull}


def uv_environment(venv, environment):
    """pip_environment() in uv's words: its own settings count more. uv lists with commas what pip lists with blanks."""
    result = {
        "VIRTUAL_ENV": str(venv),
        "UV_LINK_MODE": "copy",
    }  # linked files would carry what breaks them to the cache
    for key, name in SETTINGS.items():
        value = environment.get("PIP_" + key.upper().replace("-", "_"))
        if name and value:
            result[name] = ",".join(value.split()) if name == "UV_FIND_LINKS" else value
    return result | environment


# .venv


def is_usable(venv):
    """Is `venv` an environment of its own, with a Python that is new enough and a pip with all its files?

    Without pyvenv.cfg, bin/python is the Python that it is a link to: what is installed would go there.
    """
    if not (venv / "pyvenv.cfg").is_file() or not any(row[0] == "pip" and is_whole(row[2], 0) for row in books(venv)):
        return False
    with contextlib.suppress(OSError):
        own = "import sys, pip; assert sys.version_info >= (3, 11) and sys.prefix != sys.base_prefix"
        return not subprocess.run(
            [venv_python(venv), "-c", own], env=clean_environment(), capture_output=True
        ).returncode
    return False


def is_of_this_python(venv):
    """Was `venv` built with the version of Python that runs this?"""
    with contextlib.suppress(OSError):
        said = re.search(r"^version(?:_info)? *= *(\d+)\.(\d+)", (venv / "pyvenv.cfg").read_text(), re.MULTILINE)
        return said is not None and tuple(map(int, said.groups())) == sys.version_info[:2]
    return False


def is_moved(venv):
    """Was `venv` built in another place than where it is? Its scripts hold the path of that one."""
    built = re.search(r"^command = .* -m venv (?:--\S+ )*(.+)$", (venv / "pyvenv.cfg").read_text(), re.MULTILINE)
    return built is not None and not (os.path.exists(built[1]) and os.path.samefile(built[1], venv))


def require_space(course, needed):
    free = shutil.disk_usage(course).free
    if free < needed:
        raise Stop(
            f"{needed / 1e9:.1f} GB of free space are needed in {course} and there are {free / 1e9:.1f} GB: make room, "
            "then run the command again."
        )


def build_venv(course, venv):
    """Make the folder `venv` a new virtual environment, whatever it was."""
    if venv.is_symlink():
        raise Stop(
            f"{venv} is a link to {os.path.realpath(venv)}, which holds no environment that can be used: remove the "
            "link, then run the command again."
        )
    require_space(course, BYTES_NEEDED)
    print(f"Building {venv} with Python {platform.python_version()}", flush=True)
    command = [sys.executable, "-m", "venv", "--clear", venv]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, errors="replace")
    if "ensurepip" in done.stdout:
        raise Stop(
            f"{sys.executable} has no whole venv module: install it (Debian, Ubuntu: sudo apt-get install "
            "python3-venv), then run the command again."
        )
    if done.returncode or not is_usable(venv):
        raise Stop(
            f"{venv} cannot be built ({last_line(done.stdout + done.stderr)}). Put that right (`make clean` removes "
            ".venv), or move the course to a folder of yours with a plain name, then run the command again."
        )


# Installing


class Installer:
    """uv, or pip where uv cannot be had, with the user's settings; its words go into .venv/install.log."""

    def __init__(self, venv, constraints):
        self.venv, self.log, python = venv, venv / "install.log", venv_python(venv)
        remove(self.log)
        self.pip_settings = pip_environment(python)
        pip = [python, "-m", "pip", "--require-virtualenv", "install", "--disable-pip-version-check", "--no-input"]
        self.pip = [*pip, "--no-compile", "-c", constraints]
        uv = [python, "-m", "uv", "pip", "install", "--no-config", "--no-progress", "-c", constraints]
        self.uv = [*uv, "--index-strategy", "unsafe-best-match"]  # as pip: the best version of all indexes
        self.uv += ["--no-index"] if self.pip_settings.get("PIP_NO_INDEX") else []

    def with_uv(self, *arguments):
        return run([*self.uv, *arguments], uv_environment(self.venv, self.pip_settings), self.log)

    def with_pip(self, *arguments):
        return run([*self.pip, *arguments], self.pip_settings, self.log)


def last_line(words):
    """The last thing that a program said, an error of pip's before others."""
    said = [line.strip() for line in words.splitlines() if line.strip()] or ["it said nothing"]
    return ([line for line in said if line.startswith("ERROR")] or said)[-1]


def install_torch(course, install, torch):
    """Install PyTorch for the processor alone: the default index has builds for graphics cards, of several GB."""
    print("Installing PyTorch for the processor (about 200 MB to fetch)", flush=True)
    for source in [], ["--extra-index-url", CPU_INDEX]:  # a place that the user has set may have it as well
        if install("--no-deps", *source, f"{torch}+cpu")[0]:
            return
    print("PyTorch's own index has no answer: looking for a build elsewhere", flush=True)
    done, words = install("--dry-run", torch)
    if not done or not re.search(r"\b(nvidia|cuda)-", words.replace(str(course), "")):
        return
    large = "the default build is for graphics cards, some 3 GB to fetch and 6 GB on disk"
    asked = os.environ.get("TORCH") == "default"
    if not asked and not os.environ.get("CI") and sys.stdin is not None and sys.stdin.isatty():
        raise Stop(
            f"PyTorch's own index ({CPU_INDEX}) does not answer, and {large}. Try again later, or take that build: run "
            "the command again with TORCH=default behind it."
        )
    print(f"Going on with what there is: {large}", flush=True)
    require_space(course, BYTES_FOR_GRAPHICS)


def install_sets(course, venv, sets, since):
    """Install the requirements files `sets`, bound by constraints.txt, with uv, and with pip where that fails."""
    constraints = course / "constraints.txt"
    required, pinned = pins(*sets), pins(*sets, constraints)
    installer = Installer(venv, constraints)
    forget_broken(venv, pinned, since)
    since = math.inf  # what is installed from here on is compared by size alone
    has_uv = "uv" in sound(venv, pinned, since) or ("uv" in pinned and installer.with_pip("--no-deps", "uv")[0])
    for install in [installer.with_uv] * has_uv + [installer.with_pip]:
        if "torch" in required and sys.platform.startswith("linux") and "torch" not in sound(venv, pinned, since):
            install_torch(course, install, re.search(r"^torch==[\w.]+", sets[0].read_text(), re.MULTILINE)[0])
        print(f"Installing the other packages (details in {installer.log})", flush=True)
        done, words = install(*(word for path in sets for word in ("-r", path)))
        broken = sorted(required.keys() - sound(venv, pinned, since))
        if done and not broken:
            return sorted(sound(venv, pinned, since))
        forget_broken(venv, pinned, since)
    if "No space left" in words:
        raise Stop("The disk is full: make room (some 3 GB), then run the command again; it resumes.")
    if done:
        raise Stop(
            f"pip says that it is done, yet these are not as they should be: {', '.join(broken)}. Run `make clean`, "
            f"which removes .venv, then the command again. All of pip's words: {installer.log}"
        )
    raise Stop(
        f"The install failed ({last_line(words)}). Check the network, then run the command again; it resumes. All of "
        f"its words: {installer.log}"
    )


# The stamp of a finished install


def read_stamp(venv):
    """{"of": digest, "sets": [...], "packages": [...]}; {} where there is no whole one."""
    with contextlib.suppress(OSError, ValueError):
        stamp = json.loads((venv / "installed.json").read_text(encoding="utf-8"))
        return stamp if isinstance(stamp, dict) else {}
    return {}


def digest_of(course, venv, sets):
    """One hash of the files that say what to install, of the place, and of the Python that it is installed for."""
    result = hashlib.sha256(os.fsencode(f"{venv.resolve()}\n{os.path.realpath(venv_python(venv))}"))
    for path in [course / "constraints.txt", *sets]:
        result.update(b"\0" + path.read_bytes())
    return result.hexdigest()


def is_ready(course, venv, sets, this_python):
    """Is the stamp there, and all that it speaks of?"""
    stamp, now = read_stamp(venv), time.time()
    if stamp.get("of") != digest_of(course, venv, sets) or (this_python and not is_of_this_python(venv)):
        return False
    since = os.stat(venv / "installed.json").st_mtime
    if set(stamp["packages"]) - sound(venv, pins(*sets, course / "constraints.txt"), since) or not is_usable(venv):
        return False
    with contextlib.suppress(OSError):  # what was compared by its content is not compared again
        os.utime(venv / "installed.json", (now - 1, now - 1))
    return True


@contextlib.contextmanager
def alone(course):
    """Hold the course's folder until this and what it started have ended: two installs at once would clash."""
    if fcntl is None:
        yield
        return
    folder = os.open(course, os.O_RDONLY)
    os.set_inheritable(folder, True)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Another command is installing here: waiting until it is done", flush=True)
        fcntl.flock(folder, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(folder)


def set_up(course, requirements, this_python=False):
    """Install requirements.txt and the files `requirements` into the course's .venv unless all of it is there."""
    venv = course / ".venv"
    with alone(course):
        asked = {"requirements.txt": True, **dict.fromkeys(requirements, True)}
        known = [name for name in read_stamp(venv).get("sets", []) if name in asked or (course / name).is_file()]
        names = list(dict.fromkeys([*asked, *known]))
        sets = [course / name for name in sorted(names, key=lambda name: (name != "requirements.txt", name))]
        if is_ready(course, venv, sets, this_python):
            return
        stamp = venv / "installed.json"
        since = stamp.stat().st_mtime if read_stamp(venv) else 0
        if not is_usable(venv) or is_moved(venv) or (this_python and not is_of_this_python(venv)):
            build_venv(course, venv)
        remove(stamp)
        packages = install_sets(course, venv, sets, since)
        done = {"of": digest_of(course, venv, sets), "sets": names, "packages": packages}
        stamp.write_text(json.dumps(done), encoding="utf-8")


def main(arguments):
    for stream in (sys.stdout, sys.stderr):  # a path may hold letters that the terminal's code lacks
        stream.reconfigure(errors="backslashreplace")
    files = [argument for argument in arguments if argument != "--this-python"]
    try:
        set_up(COURSE, files, this_python=len(files) < len(arguments))
    except Stop as problem:
        print(f"setup: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("setup: interrupted. Run the command again; it resumes.", file=sys.stderr)
        return 130
    except OSError as problem:
        print(f"setup: {problem}. Is the folder yours to write to? Then run the command again.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
