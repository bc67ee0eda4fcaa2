"""Build .venv and install the pinned packages: what every target of the Makefile does first.

    python3 tools/setup_environment.py [REQUIREMENTS]        default: requirements.txt

A finished install leaves a stamp, so that the next call returns at once; an install that was cut short is resumed by
the next call. Whatever stands in the way ends in one line that says what to do. Standard library only, and written so
that an old Python 3 can read it and say that it is too old.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys

COURSE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST = (3, 11)
NEWER = ["python3.13", "python3.12", "python3.11", "python3.14", "python3", "python"]  # tried in this order
BYTES_NEEDED = 2500 * 10**6  # .venv takes 1.7 GB, 1.9 GB with the tools for tests; the rest is for downloads
CPU_INDEX = "https://download.pytorch.org/whl/cpu"


class Stop(Exception):
    """The install cannot go on; the message says what to do."""


def run(command, log=None):
    """Run `command` without the caller's Python settings; returns its exit code, with all output in the file `log`."""
    environment = {name: os.environ[name] for name in os.environ if name not in ("PYTHONPATH", "PYTHONHOME")}
    environment["PIP_USER"] = "0"
    if log is None:
        return subprocess.call(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(log, "a") as output:
        output.write("\n$ " + " ".join(command) + "\n")
        output.flush()
        return subprocess.call(command, env=environment, stdout=output, stderr=subprocess.STDOUT)


def works(python, code):
    """Whether `python` exists, is new enough and runs `code` without an error."""
    try:
        return run([python, "-c", "import sys; assert sys.version_info >= %r; %s" % (OLDEST, code)]) == 0
    except OSError:
        return False


def find_python():
    """A Python that is new enough: the one that runs this file, or else one on the PATH."""
    for name in [sys.executable] + NEWER:
        if name and works(name, "pass"):
            return name
    raise Stop(
        "Python %d.%d or newer is needed and was not found (this is %s): install it, for instance from python.org, "
        "then run the command again." % (OLDEST + (platform.python_version(),))
    )


def venv_python(venv):
    return os.path.join(venv, "Scripts", "python.exe") if os.name == "nt" else os.path.join(venv, "bin", "python")


def size(folder):
    """Bytes of the files below `folder`."""
    return sum(
        os.lstat(os.path.join(parent, name)).st_size for parent, _, names in os.walk(folder) for name in names
    )


def require_space(course, venv):
    """Stop where there is too little room for the rest of the install."""
    free, needed = shutil.disk_usage(course).free, max(BYTES_NEEDED - size(venv), 300 * 10**6)
    if free < needed:
        raise Stop(
            "%.1f GB of free space are needed in %s and there are %.1f GB: make room, then run the command again."
            % (needed / 1e9, course, free / 1e9)
        )


def build_venv(venv):
    """Make the folder `venv` a working virtual environment; one that works is kept."""
    if works(venv_python(venv), "import pip"):
        return
    python = find_python()
    if not works(python, "import venv, ensurepip"):
        raise Stop(
            "%s has no venv module: install it (Debian, Ubuntu: sudo apt-get install python3-venv), "
            "then run the command again." % python
        )
    print("Building %s with %s" % (venv, python), flush=True)
    if run([python, "-m", "venv", "--clear", venv]) != 0 or not works(venv_python(venv), "import pip"):
        raise Stop("%s -m venv %s failed: run that by hand to see why, then run the command again." % (python, venv))


def pip_install(venv, arguments, log):
    command = [venv_python(venv), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    return run(command + arguments, log)


def install(course, venv, requirements):
    """Install requirements.txt and the file `requirements`, bound by constraints.txt."""
    log, base = os.path.join(venv, "install.log"), os.path.join(course, "requirements.txt")
    open(log, "w").close()
    if sys.platform.startswith("linux"):  # there the default index holds builds for graphics cards, of several GB
        print("Installing PyTorch for the processor (about 200 MB to fetch)", flush=True)
        with open(base) as lines:
            torch = next(line.strip() for line in lines if line.startswith("torch=="))
        quick = ["--no-deps", "--timeout", "15", "--retries", "1", "--index-url", CPU_INDEX]
        if pip_install(venv, quick + [torch], log) != 0:
            print("PyTorch's own index does not answer: taking the default build, which may need 8 GB", flush=True)
    print("Installing the other packages (a few minutes; details in %s)" % log, flush=True)
    files = ["-c", os.path.join(course, "constraints.txt"), "-r", base, "-r", requirements]
    if pip_install(venv, files, log) != 0:
        with open(log, errors="replace") as lines:
            said = [line.strip() for line in lines if line.strip()]
        if any("No space left" in line for line in said):
            raise Stop("The disk is full: make room (some 3 GB), then run the command again; it resumes.")
        reason = ([line for line in said if line.startswith("ERROR")] or said)[-1]
        raise Stop(
            "The install failed (%s). Check the network, then run the command again; it resumes. All of pip's words: %s"
            % (reason, log)
        )


def stamp_of(venv, requirements):
    """The file that a finished install of `requirements` leaves."""
    return os.path.join(venv, os.path.basename(requirements) + ".installed")


def digest(course, venv, requirements):
    """What the stamp holds: one hash of the installed files and of the Python they were installed for."""
    result = hashlib.sha256(os.path.realpath(venv_python(venv)).encode())
    for name in (os.path.join(course, "constraints.txt"), os.path.join(course, "requirements.txt"), requirements):
        with open(name, "rb") as file:
            result.update(file.read())
    return result.hexdigest()


def is_ready(course, venv, requirements):
    try:
        with open(stamp_of(venv, requirements)) as stamp:
            return os.path.exists(venv_python(venv)) and stamp.read() == digest(course, venv, requirements)
    except OSError:
        return False


def set_up(course, requirements):
    """Install `requirements` into the course's .venv unless a stamp says that this has been done."""
    venv = os.path.join(course, ".venv")
    if is_ready(course, venv, requirements):
        return
    require_space(course, venv)
    build_venv(venv)
    install(course, venv, requirements)
    for name in (os.path.join(course, "requirements.txt"), requirements):
        with open(stamp_of(venv, name), "w") as stamp:
            stamp.write(digest(course, venv, name))


def main(arguments):
    requirements = os.path.abspath(arguments[0]) if arguments else os.path.join(COURSE, "requirements.txt")
    try:
        set_up(COURSE, requirements)
    except Stop as problem:
        print("setup: %s" % problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("setup: interrupted. Run the command again; it resumes.", file=sys.stderr)
        return 130
    except OSError as problem:
        print("setup: %s. Is the folder yours to write to? Then run the command again." % problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
