"""Raise all pinned versions to the newest that go together.

    python tools/setup/raise_pins.py [PACKAGE==VERSION ...]        these as given, the newest of all others

uv's compiler is asked what Python 3.11, the oldest of the course, would get; nothing is installed. Its answer is
written into every file of FILES, and constraints.txt lists what the packages of these files bring along. PyTorch is
raised to the newest that has a build for the processor alone. Then run `make test`, and see that conda-forge has these.
"""

import re
import subprocess
import sys
from pathlib import Path

from setup_environment import CPU_INDEX, normalised, pins, pip_environment, release, uv_environment

COURSE = Path(__file__).resolve().parents[2]
FILES = [
    "requirements.txt",
    "requirements-test.txt",
    "requirements-site.txt",
    "tools/vectors/requirements-glove.txt",
    "tools/vectors/requirements-vectors.txt",
    "environment.yml",  # the last, of another form
]
# uv is installed by setup_environment.py itself. Later versions of jsonschema, which JupyterLab and nbformat import,
# make a parser of addresses at each start, which takes two seconds: python-jsonschema/jsonschema#1428.
BESIDES = ["uv", "jsonschema<4.25"]
CONDA = {"pytorch-cpu": "torch"}  # what conda-forge calls a package
GRAPHICS = re.compile(r"(nvidia|cuda)-|triton$")  # what only builds for graphics cards bring along


def resolve(names, *options):
    """{package: version} for `names` and what they bring along, as uv would install it. SystemExit with uv's words."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "-", "--no-config", "--no-header", "--no-annotate"]
    command += ["--python-version", "3.11", "--index-strategy", "unsafe-best-match", *options]
    environment = uv_environment(Path(sys.prefix), pip_environment(sys.executable))
    done = subprocess.run(command, env=environment, input="\n".join(names), capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return dict(re.findall(r"^([\w.-]+)==([\w.+]+)", done.stdout, re.MULTILINE))


def newest_torch():
    """torch==VERSION of PyTorch's own index."""
    version, _, build = resolve(["torch"], "--no-deps", "--default-index", CPU_INDEX)["torch"].partition("+")
    if build != "cpu":
        raise SystemExit(f"no build of PyTorch for the processor alone was found at {CPU_INDEX}: give torch==VERSION")
    return f"torch=={version}"


def raised(text, new):
    """`text` of a requirements file or of environment.yml with the versions `new`; other lines stay as they are."""

    def line(match):
        start, name, equals, old = match.groups()
        return f"{start}{name}{equals}{new.get(normalised(CONDA.get(name, name)), old)}"

    return re.sub(r"^((?:  - )?)([\w.-]+)(==?)([\w.]+)", line, text, flags=re.MULTILINE)


def listed(text, new):
    """`text` of constraints.txt with its comment and, in alphabetical order, the packages `new` in place of its own."""
    lines = re.findall("^#.*", text, re.MULTILINE) + sorted(f"{name}=={version}" for name, version in new.items())
    return "\n".join(lines) + "\n"


def main(given, course=COURSE):
    files, constraints = [course / name for name in FILES], course / "constraints.txt"
    named, old = pins(*files[:-1]), pins(*files[:-1], constraints)
    asked = {normalised(line.partition("==")[0]): line for line in given}
    if "torch" not in asked:
        asked["torch"] = newest_torch()
    found = resolve([asked.get(name, name) for name in [*named, *BESIDES]])
    new = {name: version.partition("+")[0] for name, version in found.items() if not GRAPHICS.match(name)}
    for path in files:
        path.write_text(raised(path.read_text(encoding="utf-8"), new), encoding="utf-8")
    along = {name: new[name] for name in new.keys() - named.keys()}
    constraints.write_text(listed(constraints.read_text(encoding="utf-8"), along), encoding="utf-8")
    for name in sorted(old.keys() | new.keys()):
        if name not in new or old.get(name) != release(new[name]):
            print(f"{name:30} {old.get(name, 'new'):>12} → {new.get(name, 'gone')}")


if __name__ == "__main__":
    main(sys.argv[1:])
