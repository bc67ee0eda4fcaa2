"""Is everything here that the notebooks need? One line for each thing, and for each problem what to do about it."""

import re
import sys
from importlib import metadata
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
NEEDED = ("torch", "numpy", "matplotlib", "scikit-learn", "ipywidgets")
REMEDY = "close JupyterLab and run `make lab` in the folder of the course: it installs what is missing"


def check_installation() -> None:
    """Print ✔, ○ (differs from what the course is tested with) or ✘ (will not work) for each part. Raises nothing."""
    lines = [python_line(sys.version_info[:3])]
    pinned = pinned_versions(HOME / "requirements.txt")
    for package in NEEDED:
        try:
            installed = metadata.version(package).partition("+")[0]
        except metadata.PackageNotFoundError:
            installed = None
        lines.append(package_line(package, installed, pinned.get(package)))
    lines.append(vectors_line())
    if not (HOME / "notebooks").is_dir():
        lines.append("○ the folder notebooks/ is not beside utils/")
    wrong = any(line.startswith("✘") for line in lines)
    print("\n".join([*lines, "", f"Something is missing: {REMEDY}." if wrong else "All set. Carry on."]))


def python_line(version: tuple[int, ...]) -> str:
    if version >= (3, 11):
        return "✔ Python 3.11 or newer"
    return f"✘ Python {'.'.join(map(str, version))} is too old: install Python 3.11 or newer, then run `make lab`"


def package_line(package: str, installed: str | None, pinned: str | None) -> str:
    if installed is None:
        return f"✘ {package} is missing: {REMEDY}"
    if pinned and installed != pinned:
        return f"○ {package} {installed}; the course is tested with {pinned}. If a cell fails, that may be why"
    return f"✔ {package} {installed}"


def pinned_versions(requirements: Path) -> dict[str, str]:
    """{package: version} from lines such as `numpy==2.4.6`; empty if there is no such file."""
    text = requirements.read_text(encoding="utf-8") if requirements.is_file() else ""
    return dict(re.findall(r"^([\w-]+)==([\w.]+)", text, re.MULTILINE))


def vectors_line() -> str:
    from .vectors import WordVectors

    try:
        vectors = WordVectors.load()
    except (OSError, ValueError) as error:
        return f"✘ word vectors: {error}"
    return f"✔ word vectors: {len(vectors):,} words of {vectors.matrix.shape[1]} numbers"
