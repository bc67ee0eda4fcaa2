"""How long loading word vectors takes, and how much memory: `WordVectors` beside the usual recipes with pandas.

    python -m experiments.benchmark_loading        needs pandas: python -m pip install pandas

makes a text file of the size of Stanford's with 100 dimensions (400,000 words, 340 MB) in a temporary folder and loads
it in several ways, one after the other, each in a process of its own, three rounds of them, and prints the medians.
Seconds are those of loading and of looking one word up, the libraries imported before; memory is the peak of the whole
process. Times of two ways are comparable only within one run on a quiet machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from utils.vectors import WordVectors

ROOT = Path(__file__).resolve().parent.parent

RECIPES = {
    "pandas, dict of the columns of the transpose": """
import pandas
begin()
frame = pandas.read_csv(path, sep=" ", header=None, quoting=3, index_col=0)
vectors = {word: column.values for word, column in frame.T.items()}
""",
    "pandas, dict of rows by iterrows": """
import pandas
begin()
frame = pandas.read_csv(path, sep=" ", header=None, quoting=3)
vectors = {row[0]: row[1:].to_numpy() for _, row in frame.iterrows()}
""",
    "pandas, dict of rows of one array": """
import pandas
begin()
frame = pandas.read_csv(path, sep=" ", header=None, quoting=3)
vectors = dict(zip(frame[0], frame.iloc[:, 1:].to_numpy()))
""",
    "WordVectors.from_text": """
import polars
from utils.vectors import WordVectors
begin()
vectors = WordVectors.from_text(path)
""",
    "WordVectors.load, the same as .npz": """
from utils.vectors import WordVectors
begin()
vectors = WordVectors.load(path.replace(".txt", ".npz"))
""",
    "WordVectors.load, the course's own vectors": """
from utils.vectors import WordVectors
begin()
vectors = WordVectors.load()
""",
}

FRAME = """
import json, resource, sys, time

def begin():
    global wall, processor
    wall, processor = time.perf_counter(), time.process_time()

path = sys.argv[1]
{recipe}
vectors[sys.argv[2]]
wall, processor = time.perf_counter() - wall, time.process_time() - processor
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([wall, processor, peak / 1e6, len(vectors)]))
"""


def write_text(path: Path, words: int, dimensions: int) -> None:
    """A text file in Stanford's format, with random numbers of five decimals."""
    rng = np.random.default_rng(0)
    with open(path, "w", encoding="utf-8") as file:
        for start in range(0, words, 10_000):
            matrix = rng.normal(0, 0.4, (min(10_000, words - start), dimensions)).round(5)
            names = (f"word{start + i}" if start + i else "the" for i in range(len(matrix)))
            file.writelines(f"{name} {' '.join(map(repr, row))}\n" for name, row in zip(names, matrix.tolist()))


def measure(recipe: str, path: Path) -> list[float]:
    """[seconds, seconds of processor time, peak memory in MB, number of words] of a recipe in its own process."""
    command = [sys.executable, "-c", FRAME.format(recipe=recipe), str(path), "the"]
    result = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    if result.returncode != 0:
        sys.exit(f"{recipe}\nfailed: {result.stderr.strip().splitlines()[-1]}")
    return json.loads(result.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare ways of loading a large file of word vectors.")
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--dimensions", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    measured: dict[str, list] = {name: [] for name in RECIPES}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.txt"
        began = time.perf_counter()
        write_text(path, arguments.words, arguments.dimensions)
        print(f"{path.stat().st_size / 1e6:.0f} MB of text made in {time.perf_counter() - began:.0f} s")
        WordVectors.from_text(path).save(path.with_suffix(".npz"))
        for _ in range(arguments.rounds):
            for name, recipe in RECIPES.items():
                measured[name].append(measure(recipe, path))
    print(f"{'':46}{'seconds':>9}{'of processor':>14}{'peak MB':>9}")
    for name, rounds in measured.items():
        wall, processor, peak, words = map(median, zip(*rounds))
        print(f"{name:46}{wall:9.2f}{processor:14.2f}{peak:9.0f}   ({int(words):,} words)")


if __name__ == "__main__":
    main()
