"""The checksums of the small text files of data/, in data/SHA256SUMS and in the table of data/README.md.

    python -m tools.notebooks.text_sums           after one of these files was changed on purpose

The notebooks read these files and compare their checksums first. Their numbers depend on every sentence in them.
"""

import argparse
import hashlib
import re
from pathlib import Path

from tools.notebooks.files import write_sums
from utils.data_files import DATA, SUMS
from utils.files import write_whole


def write_rows(files: list[Path]) -> bool:
    """Bring the sizes and checksums of these files in line in the table of data/README.md. Did it change?"""
    readme = DATA / "README.md"
    table = readme.read_text(encoding="utf-8")
    for file in files:
        content = file.read_bytes()
        told = f"{len(content):,} | `{hashlib.sha256(content).hexdigest()}`"
        table = re.sub(
            rf"^(\| `{re.escape(file.name)}` \|.*\| )[\d,]+ \| `[0-9a-f]+`", rf"\g<1>{told}", table, flags=re.M
        )
    return write_whole(readme, table)


def main() -> None:
    argparse.ArgumentParser(description="Write the checksums of the small text files of data/.").parse_args()
    listed = sorted(DATA.glob("[a-z]*.txt"))
    write_sums(DATA, listed)
    changed = write_rows([*listed, DATA / SUMS])
    print(f"{len(listed)} files, {'written' if changed else 'no change'}")


if __name__ == "__main__":
    main()
