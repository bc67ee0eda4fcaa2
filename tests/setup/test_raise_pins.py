"""tools/setup/raise_pins.py: what uv would install is written into every file that pins a version."""

import re
import shutil
from pathlib import Path

import pytest

import raise_pins
import setup_environment

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.lane("test")


def test_pytorch_without_a_build_for_the_processor_is_refused(monkeypatch):
    answers = [{"torch": "2.15.0+cpu"}, {"torch": "2.15.0"}]
    monkeypatch.setattr(raise_pins, "resolve", lambda *_: answers.pop(0))
    assert raise_pins.newest_torch() == "torch==2.15.0"
    with pytest.raises(SystemExit, match="give torch==VERSION"):
        raise_pins.newest_torch()


def test_all_files_are_raised_together_and_all_else_in_them_stays(tmp_path, monkeypatch, capsys):
    for name in [*raise_pins.FILES, "constraints.txt"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)

    def answer(names, *_):
        assert "attrs" not in names and {"torch==2.14.0", "numpy==2.5.5", "numba", "ruff", "uv", "jsonschema<4.25"} <= {
            *names
        }
        found = {re.split("[=<]", line)[0]: line.partition("==")[2] or "99.1" for line in names}
        return found | {"torch": "2.14.0+cpu", "brought-along": "1.5", "nvidia-cublas": "13.4", "triton": "3.7"}

    monkeypatch.setattr(raise_pins, "resolve", answer)
    raise_pins.main(["torch==2.14.0", "numpy==2.5.5"], tmp_path)
    old, new = (("\n".join((folder / name).read_text() for name in raise_pins.FILES)) for folder in (ROOT, tmp_path))
    without = [re.sub(r"(==?)(?!3\.1\d$)[\w.]+", r"\1", text, flags=re.MULTILINE) for text in (old, new)]
    assert without[0] == without[1] and "python=3.12" in new and "pytorch-cpu=2.14.0" in new
    assert all(f"{pin}\n" in new for pin in ("numpy==2.5.5", "torch==2.14.0", "tqdm==99.1", "numpy=2.5.5", "tqdm=99.1"))
    along = {"brought-along": "1.5", "uv": "99.1", "jsonschema": "99.1"}
    assert setup_environment.pins(tmp_path / "constraints.txt") == along
    assert "2.4.6 → 2.5.5" in (said := capsys.readouterr().out) and "6.0.3 → gone" in said
