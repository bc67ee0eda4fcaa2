"""Build .venv and install the pinned packages: what every target of the Makefile does first.

    python3 tools/setup_environment.py [--this-python] [REQUIREMENTS]        default: requirements.txt

A finished install leaves a stamp, and the next call believes it only where every file of every package is still there,
so an install that was cut short, wherever that was, and one that was altered later are mended by the next call.
--this-python: a .venv of another Python is built anew with the one that runs this file. Whatever stands in the way ends
in one line that says what to do. Standard library only, and written so that an old Python, even 2.7, can read it, find
a newer one and hand over.
"""

from __future__ import print_function

import ast
import contextlib
import glob
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

COURSE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
OLDEST = (3, 11)
NEWER = ["python3.13", "python3.12", "python3.11", "python3.14", "python3", "python"]  # tried in this order
BYTES_NEEDED = 2500 * 10**6  # .venv takes 1.5 GB, 1.9 GB with the tools for tests; the rest is for downloads
BYTES_FOR_GRAPHICS = 11000 * 10**6  # 6.3 GB with the tools for tests, 3 GB of downloads
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# What of the user's own settings of pip goes into the install: where packages come from and how to get there. Others
# (target, prefix, dry-run, no-deps, ...) would install elsewhere, or less than is needed.
KEPT = (
    "index-url extra-index-url no-index find-links trusted-host cert client-cert use-feature keyring-provider proxy "
    "timeout default-timeout retries cache-dir no-cache-dir"
).split()
# Settings of pip that change nothing about what is installed, so that uv may take over.
HARMLESS = ["PIP_CONFIG_FILE", "PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT", "PIP_RETRIES", "PIP_CACHE_DIR", "PIP_NO_CACHE_DIR"]
# What of the user's own settings of uv it gets: others would install elsewhere, or other things.
UV_KEPT = ["UV_CACHE_DIR", "UV_OFFLINE", "UV_HTTP_TIMEOUT"]


class Stop(Exception):
    """The install cannot go on; the message says what to do."""


# Running other programs


def clean_environment():
    """The caller's environment without settings that send Python or pip elsewhere."""
    result = {}
    for name, value in os.environ.items():
        ours = not name.startswith(("PYTHON", "PIP_")) or name == "PIP_CONFIG_FILE"
        if ours or (value and name[4:].lower().replace("_", "-") in KEPT):
            result[name] = value
    return result


def pip_environment(python):
    """clean_environment() plus what pip.conf says about where packages come from, and nothing else that it says."""
    environment = clean_environment()
    asked = subprocess.run(
        [python, "-m", "pip", "config", "list"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    said = re.findall(r"^(install|global)\.([\w-]+)=(.+)$", asked.stdout.decode("utf-8", "replace"), re.MULTILINE)
    for _, key, value in sorted(said, reverse=True):  # as for pip, what stands under [install] counts more
        if key in KEPT:
            environment.setdefault("PIP_" + key.upper().replace("-", "_"), ast.literal_eval(value.strip()))
    environment["PIP_CONFIG_FILE"] = os.devnull
    return environment


def run(command, output=None, environment=None):
    """Run `command` with all output into the file `output`; returns its exit code."""
    environment = environment or clean_environment()
    if output is None:
        with open(os.devnull, "w") as nowhere:
            return subprocess.call(command, env=environment, stdout=nowhere, stderr=nowhere)
    # close_fds: pip holds the lock of alone(), too, so that nobody installs beside a pip whose parent was killed
    return subprocess.call(command, env=environment, stdout=output, stderr=subprocess.STDOUT, close_fds=False)


def works(python, code):
    """Whether `python` exists, is new enough and runs `code` without an error."""
    try:
        return run([python, "-c", "import sys; assert sys.version_info >= %r; %s" % (OLDEST, code)]) == 0
    except OSError:
        return False


def find_python():
    """A Python on the PATH that is new enough."""
    for name in NEWER:
        if works(name, "pass"):
            return name
    raise Stop(
        "Python %d.%d or newer is needed and was not found (this is %s): install it, for instance from python.org, "
        "then run the command again." % (OLDEST + (platform.python_version(),))
    )


def last_line(words):
    """The last thing that a program said, an error of pip's before others."""
    said = [line.strip() for line in words.splitlines() if line.strip()] or ["it said nothing"]
    return ([line for line in said if line.startswith("ERROR")] or said)[-1]


# What is installed


def venv_python(venv):
    return os.path.join(venv, "Scripts", "python.exe") if os.name == "nt" else os.path.join(venv, "bin", "python")


def site_packages(venv):
    """The folder that packages are installed into; "" where there is none."""
    below = ["Lib", "site-packages"] if os.name == "nt" else ["lib", "python*", "site-packages"]
    return (glob.glob(os.path.join(glob.escape(venv), *below)) or [""])[0]


def normalised(package):
    return re.sub(r"[-_.]+", "-", package).lower()


def release(version):
    """Equal for equal versions: 9.8.0+cpu and 9.8, 2026.01.5 and 2026.1.5."""
    return re.sub(r"(\.0)+$", "", re.sub(r"(^|\.)0+(?=\d)", r"\1", version.partition("+")[0]))


def pins(*paths):
    """{package: version} of the lines `package==version` of requirements files."""
    result = {}
    for path in paths:
        with io.open(path, encoding="utf-8") as text:
            found = re.findall(r"^([\w.-]+)==([\w.]+)", text.read(), re.MULTILINE)
        result.update((normalised(package), release(version)) for package, version in found)
    return result


def installed(venv):
    """{package: [its .dist-info folders]}; an upgrade that was cut short leaves more than one."""
    result = {}
    for folder in glob.glob(os.path.join(glob.escape(site_packages(venv)), "[!~]*.dist-info")):
        result.setdefault(identity(folder)[0], []).append(folder)
    return result


def identity(folder):
    """(package, version) of a .dist-info folder."""
    package, _, version = os.path.basename(folder)[: -len(".dist-info")].rpartition("-")
    return normalised(package), release(version)


def recorded(folder):
    """The rows (path, size or "") of a package's RECORD; none where it was not installed to the end."""
    try:
        with io.open(os.path.join(folder, "RECORD"), encoding="utf-8") as lines:
            rows = [line.rstrip("\r\n").rsplit(",", 2) for line in lines if line.count(",") >= 2]
    except (OSError, ValueError):
        return []
    # A wheel brings a RECORD of its own. pip replaces it as the last thing it does, by one that names INSTALLER.
    done = any(path.endswith(".dist-info/INSTALLER") for path, _, _ in rows)
    return [(path.strip('"'), size) for path, _, size in rows] if done else []


def is_whole(folder):
    """Whether every file of an installed package is there, in its size where it lies in site-packages."""
    rows, site = recorded(folder), os.path.dirname(folder)
    try:
        for path, size in rows:
            if not path.endswith(".pyc"):
                found = os.stat(os.path.join(site, path)).st_size
                if size and not path.startswith("..") and found != int(size):
                    return False
    except (OSError, ValueError):
        return False
    return bool(rows)


def is_sound(folders, version):
    """Whether the .dist-info `folders` of a package are one, of that version, with all files."""
    return len(folders) == 1 and identity(folders[0])[1] == version and is_whole(folders[0])


def sound(venv, pinned):
    """The packages of `pinned`, {package: version}, that are installed in that version with all files."""
    found = installed(venv)
    return [package for package, version in pinned.items() if is_sound(found.get(package, []), version)]


def forget_broken(venv, pinned):
    """Take broken packages off pip's books, so that it installs them anew over what is left of them."""
    for package, folders in installed(venv).items():
        for folder in folders:
            if len(folders) > 1 or not (is_whole(folder) if package in pinned else recorded(folder)):
                shutil.rmtree(folder)
    for left in glob.glob(os.path.join(glob.escape(site_packages(venv)), "~*")):  # pip's, moved out of the way
        shutil.rmtree(left) if os.path.isdir(left) else os.remove(left)


# .venv


def size(folder):
    """Bytes of the files below `folder`."""
    return sum(os.lstat(os.path.join(parent, name)).st_size for parent, _, names in os.walk(folder) for name in names)


def require_space(course, needed):
    """Stop where there is too little room for the rest of the install."""
    free, needed = shutil.disk_usage(course).free, max(needed - size(os.path.join(course, ".venv")), 300 * 10**6)
    if free < needed:
        raise Stop(
            "%.1f GB of free space are needed in %s and there are %.1f GB: make room, then run the command again."
            % (needed / 1e9, course, free / 1e9)
        )


def read(path):
    """The text of a file; "" where there is none."""
    try:
        with io.open(path, encoding="utf-8", errors="surrogateescape") as text:
            return text.read()
    except OSError:
        return ""


def write(path, text):
    with io.open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def python_of(venv):
    """(3, 11), say; None where `venv` does not tell."""
    found = re.search(r"^version(?:_info)? *= *(\d+)\.(\d+)", read(os.path.join(venv, "pyvenv.cfg")), re.MULTILINE)
    return found and (int(found.group(1)), int(found.group(2)))


def place(venv):
    """The file that says where `venv` was built: its scripts hold that path."""
    return os.path.join(venv, "place")


def is_moved(venv):
    built = read(place(venv))
    return bool(built) and not (os.path.exists(built) and os.path.samefile(built, venv))


def move_scripts(venv):
    """Make the scripts of a `venv` that was moved or copied (pip, activate, ...) those of the place where it is now."""
    if run([venv_python(venv), "-m", "venv", "--without-pip", venv]) != 0:  # writes activate anew
        raise Stop("%s was moved and cannot be mended: `make clean`, then run the command again." % venv)
    head = re.compile(
        r"#!(?:/bin/sh\n'{3}exec' \"?)?%s(/bin/[\w.]+)\"?(?: .*)?\n(?:' '{3}\n)?" % re.escape(read(place(venv)))
    )
    for path in glob.glob(os.path.join(glob.escape(os.path.dirname(venv_python(venv))), "*")):
        script = read(path)
        found = head.match(script)
        if found:  # written in pip's form for long paths and for paths with blanks
            shell = "#!/bin/sh\n'''exec' \"%s%s\" \"$0\" \"$@\"\n' '''\n" % (venv, found.group(1))
            write(path, shell + script[found.end() :])


def is_usable(venv):
    """Whether `venv` is an environment of its own, with a Python that is new enough and a pip with all its files.

    Without pyvenv.cfg, bin/python is the Python that it is a link to: what pip installs would go there.
    """
    own = "import pip; assert sys.prefix != sys.base_prefix"
    return (
        os.path.isfile(os.path.join(venv, "pyvenv.cfg"))
        and any(map(is_whole, installed(venv).get("pip", [])))
        and works(venv_python(venv), own)
    )


def build_venv(venv, this_python):
    """Make the folder `venv` a working virtual environment; one that works is kept."""
    other = this_python and python_of(venv) not in (None, sys.version_info[:2])
    if is_usable(venv) and not other:
        if is_moved(venv):
            move_scripts(venv)
        return write(place(venv), venv)
    if os.path.islink(venv):
        raise Stop(
            "%s is a link to %s, which holds no environment that can be used: remove the link, "
            "then run the command again." % (venv, os.path.realpath(venv))
        )
    if not works(sys.executable, "import venv, ensurepip"):
        raise Stop(
            "%s has no venv module: install it (Debian, Ubuntu: sudo apt-get install python3-venv), "
            "then run the command again." % sys.executable
        )
    print("Building %s with Python %s" % (venv, platform.python_version()), flush=True)
    with tempfile.TemporaryFile() as words:
        failed = run([sys.executable, "-m", "venv", "--clear", venv], words) != 0
        if failed or not is_usable(venv):
            words.seek(0)
            raise Stop(
                "%s cannot be built (%s). Put that right (`make clean` removes .venv), or move the course to a folder "
                "of yours with a plain name, then run the command again."
                % (venv, last_line(words.read().decode("utf-8", "replace")))
            )
    write(place(venv), venv)


# Installing


def pip_install(venv, arguments, log):
    """Call pip, its words at the end of the file `log`; returns its exit code."""
    python = venv_python(venv)
    command = [python, "-m", "pip", "--require-virtualenv", "install", "--disable-pip-version-check", "--no-input"]
    command += arguments
    with io.open(log, "a", encoding="utf-8", errors="backslashreplace") as output:
        output.write("\n$ " + " ".join(command) + "\n")
        output.flush()
        return run(command, output, pip_environment(python))


def require_pip(venv, arguments, log):
    """pip_install, and stop where it fails."""
    if pip_install(venv, arguments, log) != 0:
        words = read(log).rpartition("\n$ ")[2]
        if "No space left" in words:
            raise Stop("The disk is full: make room (some 3 GB), then run the command again; it resumes.")
        raise Stop(
            "The install failed (%s). Check the network, then run the command again; it resumes. All of pip's words: %s"
            % (last_line(words), log)
        )


def uv_install(venv, arguments, log):
    """Install with uv where it is on the PATH, in seconds where pip takes a minute; returns whether it did.

    uv knows nothing of pip's settings: where the user has some that say where packages come from, this is left to pip,
    and where uv has an index of its own, too. INSTALLER=pip leaves it to pip always.
    """
    uv, python = shutil.which("uv"), venv_python(venv)
    if not uv or os.environ.get("INSTALLER") == "pip":
        return False
    environment = pip_environment(python)
    if any(name.startswith("PIP_") and name not in HARMLESS for name in environment):
        return False
    if any(name.startswith("UV_") and "INDEX" in name for name in environment):
        return False
    for name in [name for name in environment if name.startswith("UV_") and name not in UV_KEPT]:
        del environment[name]
    command = [uv, "pip", "install", "--python", python, "--no-config", "--no-progress", "--compile-bytecode"]
    with io.open(log, "a", encoding="utf-8", errors="backslashreplace") as output:
        output.write("\n$ " + " ".join(command + arguments) + "\n")
        output.flush()
        return run(command + arguments, output, environment) == 0


def wants_graphics(report):
    """Whether what pip's installation report names would bring packages for graphics cards on this machine."""
    needs = [line for package in report["install"] for line in package["metadata"].get("requires_dist", [])]
    needs = [line for line in needs if "platform_machine" not in line or platform.machine() in line]
    return any(line.startswith(("nvidia-", "cuda-")) for line in needs)


def install_torch(course, venv, torch, log):
    """Install PyTorch for the processor alone: the default index has builds for graphics cards, of several GB."""
    print("Installing PyTorch for the processor (about 200 MB to fetch)", flush=True)
    quick = ["--no-deps", "--timeout", "15", "--retries", "1", "--index-url", CPU_INDEX]
    if pip_install(venv, quick + [torch + "+cpu"], log) == 0:
        return
    print("PyTorch's own index has no answer: looking for a build elsewhere", flush=True)
    report = os.path.join(venv, "torch.json")
    require_pip(venv, ["--no-deps", "--dry-run", "--ignore-installed", "--report", report, torch], log)
    with io.open(report, encoding="utf-8") as file:
        if not wants_graphics(json.load(file)):
            return
    large = "the default build is for graphics cards, some 3 GB to fetch and 6 GB on disk"
    asked = os.environ.get("TORCH") == "default"
    if not asked and not os.environ.get("CI") and sys.stdin is not None and sys.stdin.isatty():
        raise Stop(
            "PyTorch's own index (%s) does not answer, and %s. Try again later, or take that build: run the command "
            "again with TORCH=default behind it." % (CPU_INDEX, large)
        )
    print("Going on with what there is: %s" % large, flush=True)
    require_space(course, BYTES_FOR_GRAPHICS)


def install(course, venv, requirements):
    """Install requirements.txt and the file `requirements`, bound by constraints.txt; returns the packages to stamp."""
    log, base = os.path.join(venv, "install.log"), os.path.join(course, "requirements.txt")
    constraints = os.path.join(course, "constraints.txt")
    required, pinned = pins(base, requirements), pins(base, requirements, constraints)
    write(log, "")
    for stamp in {stamp_of(venv, base), stamp_of(venv, requirements)}:
        if os.path.exists(stamp):
            os.remove(stamp)
    forget_broken(venv, pinned)
    if sys.platform.startswith("linux") and not is_sound(installed(venv).get("torch", []), required["torch"]):
        install_torch(course, venv, re.search(r"^torch==[\w.]+", read(base), re.MULTILINE).group(), log)
    print("Installing the other packages (a few minutes; details in %s)" % log, flush=True)
    everything = ["-c", constraints, "-r", base, "-r", requirements]
    if not uv_install(venv, everything, log) or set(required) - set(sound(venv, pinned)):
        forget_broken(venv, pinned)  # what uv may have left
        require_pip(venv, everything, log)
    packages = sound(venv, pinned)
    broken = sorted(set(required) - set(packages))
    if broken:
        raise Stop(
            "pip says that it is done, yet these are not as they should be: %s. Run `make clean`, which removes .venv, "
            "then the command again. All of pip's words: %s" % (", ".join(broken), log)
        )
    return packages


def stamp_of(venv, requirements):
    """The file that a finished install of `requirements` leaves: digest(), then the packages that it installed."""
    return os.path.join(venv, os.path.basename(requirements) + ".installed")


def digest(course, venv, requirements):
    """One hash of the files that say what to install and of the Python it was installed for."""
    result = hashlib.sha256(os.path.realpath(venv_python(venv)).encode("utf-8", "surrogateescape"))
    for name in (os.path.join(course, "constraints.txt"), os.path.join(course, "requirements.txt"), requirements):
        with open(name, "rb") as file:
            result.update(file.read())
    return result.hexdigest()


def is_ready(course, venv, requirements, this_python):
    """Whether the stamp is there, and all that it speaks of."""
    base = os.path.join(course, "requirements.txt")
    stamp = read(stamp_of(venv, requirements)).split()
    if stamp[:1] != [digest(course, venv, requirements)] or not os.path.exists(venv_python(venv)) or is_moved(venv):
        return False
    if this_python and python_of(venv) != sys.version_info[:2]:
        return False
    found, pinned = installed(venv), pins(base, requirements, os.path.join(course, "constraints.txt"))
    names = set(stamp[1:]).union(pins(base, requirements))
    return all(is_sound(found.get(package, []), pinned.get(package)) for package in names)


@contextlib.contextmanager
def alone(course):
    """Hold the course's folder until this and its pip have ended, even where only this is killed: two would clash."""
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
    """Install `requirements` into the course's .venv unless all of it is there."""
    venv, base = os.path.join(course, ".venv"), os.path.join(course, "requirements.txt")
    if is_ready(course, venv, requirements, this_python):
        return
    with alone(course):
        if is_ready(course, venv, requirements, this_python):
            return
        require_space(course, BYTES_NEEDED)
        build_venv(venv, this_python)
        packages = install(course, venv, requirements)
        for name in {base, requirements}:
            write(stamp_of(venv, name), "\n".join([digest(course, venv, name)] + packages))


def hand_over(arguments):
    """Let a newer Python do what this one is too old for; returns its exit code."""
    return subprocess.call([find_python(), os.path.abspath(__file__)] + arguments)


def main(arguments):
    files = [argument for argument in arguments if argument != "--this-python"]
    try:
        if sys.version_info < OLDEST:
            return hand_over(files)
        for stream in (sys.stdout, sys.stderr):  # a path may hold letters that the terminal's code lacks
            stream.reconfigure(errors="backslashreplace")
        requirements = os.path.abspath(files[0]) if files else os.path.join(COURSE, "requirements.txt")
        set_up(COURSE, requirements, this_python=len(files) < len(arguments))
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
