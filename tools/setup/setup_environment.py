"""Build .venv and install the pinned packages: what every target of the Makefile does first.

    python3 tools/setup/setup_environment.py [--this-python] [REQUIREMENTS ...]

requirements.txt always, and the given files as well; what earlier calls brought stays. uv installs, in the version that
constraints.txt names, from .venv itself, where pip puts it; where uv cannot be had or fails, pip installs the same.

A stamp in .venv says what is installed, or that an install has begun. One that was killed may have left half a package,
so .venv is then built anew. The same happens where it does not work, was moved here, or has another Python than the one
that was asked for by --this-python. Whatever stands in the way ends in one line that says why and what to do.
"""

import sys

if sys.version_info < (3, 11):
    sys.exit("setup: Python 3.11 or newer is needed: install it, for instance from python.org, then run this again.")

import ast
import contextlib
import errno
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

COURSE = Path(__file__).resolve().parents[2]
STAMP, LOG = "installed.json", "install.log"
BYTES_NEEDED = 4 * 10**9  # .venv takes 1.5 GB, 1.9 GB with the tools for tests, and uv's cache the same again
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
A_SET = re.compile(r"(tools/\w+/)?requirements[\w-]*\.txt")
# What of the user's settings of pip reaches the install, and what uv calls it: where packages come from and how to get
# there. Others (target, prefix, dry-run, no-deps, ...) would install elsewhere, or less than is needed.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "no-index": None,  # an option of uv
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
UV_SETTINGS = "UV_(DEFAULT_INDEX|INDEX|EXTRA_INDEX|FIND_LINKS|INSECURE|HTTP|CACHE|NO_CACHE|OFFLINE|NATIVE|SYSTEM_CERTS)"
# What an environment of its own says to this: the version of its Python.
OWN = """import sys, importlib.metadata
assert importlib.metadata.distribution("pip").read_text("INSTALLER") and sys.prefix != sys.base_prefix
print("{0}.{1}".format(*sys.version_info))"""
PIP = "-m pip --require-virtualenv install --disable-pip-version-check --no-input --no-compile -c".split()
# Of several indexes the best version, as pip does.
UV = "-m uv pip install --no-config --no-progress --index-strategy unsafe-best-match -c".split()
FULL = "The disk is full: make room (about 3 GB), then run the command again."
LARGE = "or take PyTorch's default build (3 GB to fetch, 6 GB on disk) by TORCH=default behind the command, "
# Why an install failed, and how that sounds in the words of pip and uv. Their last words tell of what follows from it.
CAUSES = {
    "the proxy does not let it through": r"prox(y|ies)\b|ProxyError|tunnel|\b407\b",
    "a certificate is not accepted": r"certificate|SSLError|TLS handshake",
    "the network cannot be reached": r"name resolution|dns error|lookup address|not known|unreachable|No route to host",
    "the server does not answer": r"timed? ?out|Connection (refused|reset)|connect error",
    "the server refuses": r"HTTP (status|error)|\b40[13]\b",
}


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
    text = "\n".join(Path(path).read_text(encoding="utf-8") for path in paths)
    found = re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE)
    return {normalised(package): release(version) for package, version in found}


def missing(venv, pinned):
    """The packages of `pinned` that are not installed in `venv` in that version."""
    below = "Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages"
    names = [folder.name[: -len(".dist-info")].rpartition("-") for folder in venv.glob(f"{below}/*.dist-info")]
    installed = {(normalised(package), release(version)) for package, _, version in names}
    return sorted(package for package, version in pinned.items() if (package, version) not in installed)


def read_stamp(venv):
    """{"of": digest of what is installed, "sets": [...]}; "of" is None where an install has begun and not ended."""
    try:
        stamp = json.loads((venv / STAMP).read_text(encoding="utf-8"))
        return {"of": stamp["of"], "sets": [name for name in stamp["sets"] if A_SET.fullmatch(name)]}
    except (OSError, ValueError, TypeError, KeyError):
        return {"of": None if any(os.path.lexists(venv / name) for name in (STAMP, LOG)) else "", "sets": []}


def write_stamp(venv, of, sets):
    (venv / STAMP).write_text(json.dumps({"of": of, "sets": sets}), encoding="utf-8")


def digest_of(course, venv, sets):
    """One hash of the files that say what to install, of the place, and of the Python that it is installed for."""
    places = [os.fsencode(os.path.realpath(path)) for path in (venv, venv_python(venv))]
    texts = [path.read_bytes() for path in [course / "constraints.txt", *sets]]
    return hashlib.sha256(b"\0".join([*places, *texts])).hexdigest()


# The user's settings


def variable(setting):
    return "PIP_" + setting.upper().replace("-", "_")


def clean_environment():
    """The caller's environment without settings that send Python, pip or uv elsewhere."""
    settings = [*(f"{variable(key)}$" for key in SETTINGS), "PIP_CONFIG_FILE$", UV_SETTINGS]
    kept = re.compile("|".join(["(?!PIP_|UV_|PYTHON)", *settings]))
    return {name: value for name, value in os.environ.items() if kept.match(name)}


def pip_environment(python):
    """clean_environment() plus what pip.conf says about where packages come from, and nothing else that it says."""
    environment = clean_environment()
    config = subprocess.run([python, "-m", "pip", "config", "list"], env=environment, capture_output=True).stdout
    said = re.findall(r"^(install|global)\.([\w-]+)=(.+)$", config.decode("utf-8", "replace"), re.MULTILINE)
    for _, key, value in sorted(said, reverse=True):  # as for pip, what stands under [install] counts more
        if key in SETTINGS:
            environment.setdefault(variable(key), ast.literal_eval(value.strip()))
    return {**environment, "PIP_CONFIG_FILE": os.devnull}


def uv_environment(venv, environment):
    """pip_environment() in uv's words: its own settings count more. uv lists with commas what pip lists with blanks."""
    found = {
        uv: environment.get(variable(pip)) for pip, uv in SETTINGS.items() if uv and environment.get(variable(pip))
    }
    given = {uv: ",".join(value.split()) if uv == "UV_FIND_LINKS" else value for uv, value in found.items()}
    # Copies, since linked files would carry what breaks them into uv's cache.
    return {"VIRTUAL_ENV": str(venv), "UV_LINK_MODE": "copy", **given, **environment}


# .venv


def is_usable(venv, this_python=False):
    """Is `venv` an environment of its own, built in this place, with pip and a Python that is new enough, or this one?

    Without pyvenv.cfg, bin/python is the Python that it is a link to: what is installed would go there. Of pip,
    INSTALLER is written last.
    """
    try:
        settings = os.fsdecode((venv / "pyvenv.cfg").read_bytes())
        built = re.search(r"^command = .* -m venv (?:--\S+ )*(.+)$", settings, re.MULTILINE)
        if not os.path.samefile(built[1].strip(), venv):
            return False
        asked = subprocess.run([venv_python(venv), "-c", OWN], env=clean_environment(), capture_output=True, text=True)
        version = tuple(map(int, asked.stdout.split(".")))
    except (OSError, ValueError, TypeError):
        return False
    return version == sys.version_info[:2] if this_python else version >= (3, 11)


def build_venv(course, venv):
    """Make the folder `venv` a new virtual environment, whatever it was."""
    free = shutil.disk_usage(course).free
    if free < BYTES_NEEDED:
        raise Stop(
            f"{BYTES_NEEDED / 1e9:.1f} GB of free space are needed in {course} and there are {free / 1e9:.1f} GB: make "
            "room, then run the command again."
        )
    print(f"Building {venv} with Python {platform.python_version()}", flush=True)
    with contextlib.suppress(OSError):  # first of all, so that what is half removed is not taken for usable
        os.unlink(venv / "pyvenv.cfg")
    command = [sys.executable, "-m", "venv", "--clear", venv]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, errors="replace")
    if "ensurepip" in done.stdout:
        raise Stop(
            f"{sys.executable} has no whole venv module: install it (Debian, Ubuntu: sudo apt-get install "
            "python3-venv), then run the command again."
        )
    if done.returncode or not is_usable(venv):
        raise Stop(
            f"{venv} cannot be built ({cause(done.stdout + done.stderr)}). Put that right (`make clean` removes "
            ".venv), or move the course to a folder of yours with a plain name, then run the command again."
        )


# Installing


def run(command, environment, log):
    """Run `command`, put what it says at the end of the file `log`, and return whether it succeeded."""
    # close_fds: what installs holds the lock of alone(), too, so nobody installs beside it if this is killed
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, close_fds=False)
    words = done.stdout.decode("utf-8", "replace")
    if done.returncode and "No space left" in words:
        raise Stop(FULL)
    with open(log, "a", encoding="utf-8", errors="backslashreplace") as output:
        print("\n$", *command, f"\n{words}", file=output)
    return done.returncode == 0


def cause(words):
    """Why a program failed that said these `words`, with the line that shows it."""
    said = [line for line in map(str.strip, re.sub(".* connection broken by ", "", words).splitlines()) if line]
    for what, pattern in CAUSES.items():
        for line in filter(re.compile(pattern, re.IGNORECASE).search, said):
            return f"{what}: {line[:200]}"
    return ([line for line in said if line.startswith("ERROR")] or said or ["it said nothing"])[-1][:200]


def attempt(install, torch, sets):
    """Install PyTorch, for the processor alone, and all `sets`; returns whether `install` succeeded."""
    if torch:
        print("Installing PyTorch for the processor (about 200 MB to fetch)", flush=True)
        # A place that the user has set may have it as well.
        if not any(install("--no-deps", *place, f"{torch}+cpu") for place in ([], ["--extra-index-url", CPU_INDEX])):
            at_terminal = sys.stdin is not None and sys.stdin.isatty() and not os.environ.get("CI")
            if at_terminal and os.environ.get("TORCH") != "default":
                return False
            print("It was not found: taking the default build, which may be 3 GB to fetch and 6 GB on disk", flush=True)
    print("Installing the other packages", flush=True)
    return install(*(word for path in sets for word in ("-r", path)))


def install_sets(course, venv, sets):
    """Install the requirements files `sets`, bound by constraints.txt, with uv, and with pip where that fails."""
    constraints, log, python, required = course / "constraints.txt", venv / LOG, venv_python(venv), pins(*sets)
    settings = pip_environment(python)
    offline = ["--no-index"] if settings.get("PIP_NO_INDEX") else []

    def with_pip(*words):
        return run([python, *PIP, constraints, *words], settings, log)

    def with_uv(*words):
        return run([python, *UV, constraints, *offline, *words], uv_environment(venv, settings), log)

    wanted = {name: version for name, version in pins(constraints).items() if name == "uv"}
    has_uv = not missing(venv, wanted) or with_pip("--no-deps", "uv")
    for install in [with_uv] * has_uv + [with_pip]:
        lacks_torch = sys.platform.startswith("linux") and "torch" in missing(venv, required)
        torch = lacks_torch and re.search(r"^torch==[\w.]+", sets[0].read_text(encoding="utf-8"), re.MULTILINE)[0]
        done = attempt(install, torch, sets)
        if done and not missing(venv, required):
            return
    left = ", ".join(missing(venv, required))
    words = log.read_text(encoding="utf-8").rpartition("\n$ ")[2].partition("\n")[2]  # of the last command
    why = f"pip says that it is done, and there is no {left}" if done else cause(words)
    how = f"Put that right, {LARGE if 'torch' in left.split(', ') else ''}then run the command again"
    raise Stop(f"The install failed: {why}. {how}: what was fetched is kept. All that was said is in {log}")


@contextlib.contextmanager
def alone(course):
    """Hold a file of the course until this and what it started have ended: two installs at once would clash."""
    with open(course / "requirements.txt", "rb") as held:
        os.set_inheritable(held.fileno(), True)
        with contextlib.suppress(OSError, ImportError):  # a file system without locks; Windows
            import fcntl

            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("Another command is installing here: waiting until it is done", flush=True)
                fcntl.flock(held, fcntl.LOCK_EX)
        yield


def set_up(course, requirements, this_python=False):
    """Install requirements.txt and the files `requirements` into the course's .venv unless it is all there."""
    venv = course / ".venv"
    with alone(course):
        stamp, usable = read_stamp(venv), is_usable(venv, this_python)
        known = {name for name in stamp["sets"] if (course / name).is_file()}
        names = ["requirements.txt", *sorted(known.union(requirements) - {"requirements.txt"})]
        sets = [course / name for name in names]
        if usable and stamp["of"] == digest_of(course, venv, sets) and not missing(venv, pins(*sets)):
            return
        if venv.is_symlink():
            raise Stop(
                f"{venv} is a link to {os.path.realpath(venv)}, and nothing is installed outside of the course: remove "
                "the link, then run the command again."
            )
        if not usable or stamp["of"] is None:
            build_venv(course, venv)
        write_stamp(venv, None, names)
        with contextlib.suppress(OSError):
            os.unlink(venv / LOG)
        try:
            install_sets(course, venv, sets)
        except Stop as problem:
            if str(problem) != FULL:  # it came to its end, so there is no half of a package
                write_stamp(venv, "", names)
            raise
        write_stamp(venv, digest_of(course, venv, sets), names)


def main(arguments):
    for stream in (sys.stdout, sys.stderr):  # a path may hold letters that the terminal's code lacks
        stream.reconfigure(errors="backslashreplace")
    files = [argument for argument in arguments if argument != "--this-python"]
    try:
        set_up(COURSE, files, this_python=len(files) < len(arguments))
    except Stop as problem:
        why, code = str(problem), 1
    except KeyboardInterrupt:
        why, code = "interrupted. Run the command again.", 130
    except OSError as problem:
        denied = f"{problem}. Is the folder yours to write to? Then run the command again."
        why, code = FULL if problem.errno in (errno.ENOSPC, errno.EDQUOT) else denied, 1
    else:
        return 0
    print(f"setup: {why}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
