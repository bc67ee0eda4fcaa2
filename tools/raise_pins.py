"""Raise all pinned versions to the newest that go together.

    python tools/raise_pins.py [PACKAGE==VERSION ...]        these as given, the newest of all others

In a fresh environment pip is asked what it would install; nothing is installed. Its answer is written into every file
of FILES, and what a package brings along and no file names yet goes into constraints.txt. PyTorch is raised to the
newest that has a build for the processor alone. Then run `make test`, and see that conda-forge has these versions.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from setup_environment import CPU_INDEX, OLDEST, normalised, pins, pip_environment, release, venv_python

COURSE = Path(__file__).resolve().parent.parent
FILES = [
    "requirements.txt",
    "requirements-test.txt",
    "requirements-site.txt",
    "constraints.txt",
    "environment.yml",
    "tools/vectors/requirements-glove.txt",
    "tools/vectors/requirements-vectors.txt",
]
CONDA = {"torch": "pytorch-cpu"}  # what conda-forge calls a package
GRAPHICS = re.compile(r"(nvidia|cuda)-|triton$")  # what only builds for graphics cards bring along


def resolve(python, arguments):
    """What pip's report says that it would install: the list of its packages. Raises SystemExit with pip's words."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [python, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", report]
        done = subprocess.run([*command, *arguments], env=pip_environment(python), capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return json.loads(report.read_text(encoding="utf-8"))["install"]


def versions(packages):
    """{package: version} from a report's packages, without a local part and without what is for graphics cards."""
    found = {normalised(package["metadata"]["name"]): package["metadata"]["version"] for package in packages}
    return {name: version.partition("+")[0] for name, version in found.items() if not GRAPHICS.match(name)}


def newest_torch(packages):
    """torch==VERSION from the report of PyTorch's own index."""
    version = packages[0]["metadata"]["version"]
    if not version.endswith("+cpu"):
        raise SystemExit(f"no build of PyTorch for the processor alone was found at {CPU_INDEX}: give torch==VERSION")
    return f"torch=={version.partition('+')[0]}"


def raised(text, new):
    """`text` of a requirements file or of environment.yml with the versions `new`; other lines stay as they are."""
    conda = {name: package for package, name in CONDA.items()}

    def line(match):
        start, name, equals, old = match.groups()
        return f"{start}{name}{equals}{new.get(normalised(conda.get(name, name)), old)}"

    return re.sub(r"^((?:  - )?)([\w.-]+)(==?)([\w.]+)", line, text, flags=re.MULTILINE)


def completed(text, new):
    """`text` of constraints.txt with a line for each package of `new`, in alphabetical order below its comment."""
    lines = text.splitlines()
    comment = [line for line in lines if line.startswith("#")]
    rest = [line for line in lines if line not in comment] + [f"{name}=={version}" for name, version in new.items()]
    return "\n".join([*comment, *sorted(rest, key=str.lower)]) + "\n"


def main(given, course=COURSE):
    if sys.version_info[:2] != OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise SystemExit(f"run this with Python {oldest}, the oldest for which the versions have to be there")
    files = [course / name for name in FILES]
    old = pins(*(path for path in files if path.suffix == ".txt"))
    asked = {normalised(line.partition("==")[0]): line for line in given}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = venv_python(folder)
        if "torch" not in asked:
            asked["torch"] = newest_torch(resolve(python, ["--no-deps", "--index-url", CPU_INDEX, "torch"]))
        new = versions(resolve(python, [asked.get(name, name) for name in old | asked]))
    for path in files:
        path.write_text(raised(path.read_text(encoding="utf-8"), new), encoding="utf-8")
    if added := {name: version for name, version in new.items() if name not in old}:
        constraints = course / "constraints.txt"
        constraints.write_text(completed(constraints.read_text(encoding="utf-8"), added), encoding="utf-8")
    for name, version in sorted(new.items()):
        if old.get(name) != release(version):
            print(f"{name:30} {old.get(name, 'new'):>12} → {version}")


if __name__ == "__main__":
    main(sys.argv[1:])
