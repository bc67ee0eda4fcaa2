"""What is kept of trainings (tests/trainings/) is fresh, and small."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "offline"))

import kept_trainings as kept  # noqa: E402  (the folder above has to be on the path first)

FILES = sorted(kept.FOLDER.glob("*.npz"))


def test_what_is_kept_is_small():
    assert 0 < sum(path.stat().st_size for path in FILES) < 2_000_000


@pytest.mark.lane("test")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_kept_is_fresh(path):
    assert kept.stale(path) == [], f"no notebook takes {path.name} any more: run `make trainings`"


def test_what_is_stale_is_named(tmp_path, monkeypatch):
    training = kept.told(FILES[0])
    path = tmp_path / "one.npz"
    training["code"]["modules"]["utils/training.py"] = "another"
    training["code"]["modules"]["utils/gone.py"] = "another"
    monkeypatch.setattr(kept, "told", lambda _: training | {"torch": "1.0"})
    *modules, torch = kept.stale(path)
    assert set(modules) == {"utils/training.py", "utils/gone.py"} and torch.startswith("PyTorch 1.0 is ")


def test_of_utils_only_what_a_training_runs_through_counts():
    modules = {name for path in FILES for name in kept.told(path)["code"]["modules"]}
    assert "utils/training.py" in modules
    assert not [name for name in modules if name.startswith(("utils/widgets/", "utils/exercises/", "utils/plots"))]
