"""Fetch the beginning of Stanford's GloVe vectors (`make glove`).

    python -m tools.vectors.fetch_glove [--words 40000] [--folder FOLDER]

Stanford's archive (GloVe 6B, trained on Wikipedia and Gigaword; Public Domain Dedication and License) takes 862 MB. Its
words are sorted by frequency, so the first 40,000 are enough for a course, and they take about 15 MB: a web server can
send a part of a file (an HTTP range), and remotezip unpacks a member of an archive from such parts.

Nobody publishes a checksum of that beginning, and a zip archive holds one of whole members only. So the way is guarded
(https with a valid certificate, no step down to http), every line is parsed, and the archive's checksum is compared
where the whole member is asked for. What arrives is kept as `.npz`, which `WordVectors.load` reads.
"""

import argparse
import contextlib
import os
import re
import secrets
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

from utils.vector_files import read_npz, write_npz
from utils.vector_text import read_text
from utils.vectors import SHIPPED

URL = "https://nlp.stanford.edu/data/glove.6B.zip"
MEMBER = "glove.6B.100d.txt"
DIMENSIONS = 100

_TIMEOUT = (20, 60)  # seconds to connect, and between two pieces of the answer
_LONGEST_LINE = 20_000  # bytes; a line of Stanford's file has about 900


class FetchError(RuntimeError):
    """The vectors could not be fetched. The message says why and what to do; no file is left behind."""


def fetch(folder: str | os.PathLike | None = None, words: int = 40_000, url: str | None = None) -> Path:
    """Fetch the vectors of the first `words` words into `folder` (the course's data/), and return the file's path.

    `WordVectors.load` reads the file. It gets its name only when it is complete and verified: so many words, 100
    numbers each. One that is there already is verified and not fetched again. Raises FetchError.
    """
    if words < 1:
        raise ValueError(f"words counts the words to fetch and must be 1 or more, not {words}")
    url = url or URL
    folder = SHIPPED.parent if folder is None else Path(folder)
    path = folder / MEMBER.replace(".txt", f".first{words}.npz")
    if path.exists():
        if not path.is_file():
            raise FetchError(f"{path} is in the way: it is not a file. Rename it, or choose another folder.")
        try:
            _require_size(read_npz(path)[1], words)
            return path
        except (ValueError, OSError):
            pass  # someone changed it: fetch it anew
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        _write(unfinished, _first_lines(url, words))
        known, matrix = read_text(unfinished)
        _require_size(matrix, words)
        if blank := next((number for number, word in enumerate(known, start=1) if len(word.split()) > 1), None):
            raise ValueError(f"line {blank}: a line needs a word and {DIMENSIONS} numbers, and no word holds a blank")
        write_npz(path, known, matrix)
    except ValueError as error:
        raise FetchError(f"What {url} sent is damaged ({error}). Try again.") from error
    except OSError as error:
        raise FetchError(f"{path} cannot be written ({error}). Make room, or choose another folder.") from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()
    return path


def _write(path: Path, lines: Iterator[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "xb") as file:
        for line in lines:
            file.write(line)


def _require_size(matrix: np.ndarray, words: int) -> None:
    """ValueError unless there are so many words with DIMENSIONS numbers each."""
    if matrix.shape != (words, DIMENSIONS):
        raise ValueError(f"it holds {matrix.shape} numbers where ({words}, {DIMENSIONS}) belong")


def _first_lines(url: str, number: int) -> Iterator[bytes]:
    """The first lines of MEMBER in the archive at `url`, unpacked as they arrive; FetchError if they do not."""
    try:
        import remotezip
        import urllib3
    except ImportError as error:
        raise FetchError(f"{error}: `make glove` installs it, or `pip install remotezip` does.") from error
    headers = {"Accept-Encoding": "identity"}
    try:
        with (
            _session() as session,
            remotezip.RemoteZip(url, session=session, headers=headers, timeout=_TIMEOUT) as archive,
            archive.open(MEMBER) as member,
            tqdm(total=number, desc=MEMBER, unit="word", unit_scale=True) as progress,
        ):
            for done in range(number):
                line = member.readline(_LONGEST_LINE)
                if not line.endswith(b"\n"):
                    raise FetchError(_end_of_lines(url, line, done, number))
                progress.update()
                yield line
    except remotezip.RangeNotSupported as error:
        raise FetchError(
            f"The server of {url} does not send parts of a file. Download the whole archive in a browser and unpack "
            f"it; WordVectors.from_text('{MEMBER}') reads what is in it."
        ) from error
    except KeyError as error:
        raise FetchError(f"The archive at {url} has no member {MEMBER}.") from error
    except (zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise FetchError(f"The archive at {url} is damaged ({error}). Try again.") from error
    except (remotezip.RemoteZipError, urllib3.exceptions.HTTPError, OSError, EOFError) as error:
        reason = re.sub(r"\s+", " ", str(error))[:300] or type(error).__name__
        raise FetchError(f"{url} cannot be read, or the connection broke ({reason}). Try again.") from error


def _session():
    """A requests.Session that follows no redirect from https to http, where anybody on the way can alter the file."""
    import requests

    def refuse_http(response, **_):
        target = response.headers.get("Location", "")
        if response.is_redirect and response.url.startswith("https:") and target.lower().startswith("http:"):
            raise requests.RequestException(f"it leads from https to {target[:100]}, which is not encrypted")

    session = requests.Session()
    session.hooks["response"].append(refuse_http)
    return session


def _end_of_lines(url: str, line: bytes, done: int, number: int) -> str:
    if line:
        return f"Line {done + 1} of {MEMBER} at {url} does not end: the archive is damaged. Try again."
    return f"{MEMBER} at {url} holds {done:,} words, not the {number:,} asked for."


def main() -> None:
    parser = argparse.ArgumentParser(description="Fetch Stanford's GloVe vectors.")
    parser.add_argument("--words", type=int, default=40_000, help="how many, the most frequent first (default: 40000)")
    parser.add_argument("--folder", type=Path, help="where to put the file (default: the course's data/)")
    arguments = parser.parse_args()
    try:
        path = fetch(arguments.folder, arguments.words)
    except (FetchError, ValueError) as error:
        sys.exit(str(error))
    print(f'{path.name} is there: WordVectors.load("{os.path.relpath(path)}") reads it.')


if __name__ == "__main__":
    main()
