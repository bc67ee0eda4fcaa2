"""Small files that ship with the course are what they were, or one error names the file and the remedy.

Beside them SHA256SUMS holds their checksums."""

import hashlib
import re
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
SUMS = "SHA256SUMS"


def whole(path: Path, anew: str = "") -> bytes:
    """What a file holds that ships with the course; a text that git wrote for Windows has the ends of lines it had.

    FileNotFoundError: it is missing. ValueError: it was cut short or altered; `anew` says who writes it anew."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing. {remedy(path)}.")
    content = path.read_bytes()
    content = content if path.suffix == ".pt" else content.replace(b"\r\n", b"\n")
    found, wanted = hashlib.sha256(content).hexdigest(), checksums(path.parent).get(path.name)
    if found != wanted:
        why = f"its sha256 is {found[:12]}…, {SUMS} says {wanted[:12]}…" if wanted else f"{SUMS} does not list it"
        lost = path if wanted else path.with_name(SUMS)
        raise ValueError(f"{path} was cut short or altered: {why}. {remedy(lost)}{anew}.")
    return content


def checksums(folder: Path) -> dict[str, str]:
    """{name of a file: sha256}, as SHA256SUMS in `folder` lists them; empty without that file.

    ValueError where a line of it is something else."""
    path, found = Path(folder) / SUMS, {}
    lines = path.read_bytes().splitlines() if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        match = re.fullmatch(rb"([0-9a-f]{64})  ([\w.-]+)", line)
        if match is None:
            raise ValueError(f"{path}, line {number}, is not a checksum and the name of a file. {remedy(path)}.")
        found[match[2].decode()] = match[1].decode()
    return found


def remedy(path: Path) -> str:
    """How to get a file or a folder of data/ back."""
    where = path.relative_to(DATA).as_posix() if path.is_relative_to(DATA) else path.name
    return f"Get it back with `git checkout -- data/{where}`, or clone the course again"
