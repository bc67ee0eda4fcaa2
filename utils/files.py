"""Files that are written whole or not at all, whatever stops the writer, and never seen half written by others."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> bool:
    """Put `content` in place of the file `path`, with the rights that it had; returns whether anything differed.

    Text is UTF-8 with line ends as they are. OSError where it cannot be written; the file then stays as it was.
    """
    path, content = Path(path), content.encode() if isinstance(content, str) else content
    there = path.exists()
    if there and path.read_bytes() == content:
        return False
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(part, path.stat().st_mode & 0o777 if there else 0o644)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise
    return True
