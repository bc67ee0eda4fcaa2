"""tools/setup/raise_pins.py: what uv would install is written into every file that pins a version."""

import shutil
import subprocess
from pathlib import Path

import pytest

import raise_pins
import setup_environment

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.lane("test")


def test_versions_are_replaced_and_all_else_stays():
    text = "# a comment: numpy==1\n-c constraints.txt\nJinja2==3.1.0\nnumpy==2.4.6  # why\njupyter_core==5.9.1\n"
    new = {"jinja2": "3.2", "numpy": "2.5.5", "jupyter-core": "6.0"}
    expected = text.replace("3.1.0", "3.2").replace("2.4.6", "2.5.5").replace("5.9.1", "6.0")
    assert raise_pins.raised(text, new) == expected
    conda = "dependencies:\n  - python=3.12\n  - pytorch-cpu=9.8.7\n  - numpy=2.4.6\n"
    expected = "dependencies:\n  - python=3.12\n  - pytorch-cpu=2.15.0\n  - numpy=2.5.5\n"
    assert raise_pins.raised(conda, {**new, "torch": "2.15.0"}) == expected


def test_pytorch_without_a_build_for_the_processor_is_refused(monkeypatch):
    answers = [{"torch": "2.15.0+cpu"}, {"torch": "2.15.0"}]
    monkeypatch.setattr(raise_pins, "resolve", lambda *_: answers.pop(0))
    assert raise_pins.newest_torch() == "torch==2.15.0"
    with pytest.raises(SystemExit, match="give torch==VERSION"):
        raise_pins.newest_torch()


def test_all_files_are_raised_together(tmp_path, monkeypatch, capsys):
    for name in [*raise_pins.FILES, "constraints.txt"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    asked = []

    def answer(names, *options):
        asked.extend(names)
        found = {line.partition("==")[0].partition("<")[0]: line.partition("==")[2] or "99.1" for line in names}
        return found | {"torch": "2.14.0+cpu", "brought-along": "1.5", "nvidia-cublas": "13.4", "triton": "3.7"}

    monkeypatch.setattr(raise_pins, "resolve", answer)
    raise_pins.main(["torch==2.14.0", "numpy==2.5.5"], tmp_path)
    assert {"torch==2.14.0", "numpy==2.5.5", "numba", "ruff", "uv"} <= set(asked) and "attrs" not in asked
    new = setup_environment.pins(*(tmp_path / name for name in raise_pins.FILES if name.endswith(".txt")))
    assert (new.pop("torch"), new.pop("numpy"), set(new.values())) == ("2.14", "2.5.5", {"99.1"})
    along = {"brought-along": "1.5", "uv": "99.1", "jsonschema": "99.1"}
    assert setup_environment.pins(tmp_path / "constraints.txt") == along and "jsonschema<4.25" in asked
    conda = (tmp_path / "environment.yml").read_text()
    assert "pytorch-cpu=2.14.0" in conda and "numpy=2.5.5" in conda and "tqdm=99.1" in conda and "python=3.12" in conda
    said = capsys.readouterr().out
    assert "2.4.6 → 2.5.5" in said and "6.0.3 → gone" in said


def test_uv_s_answer_is_read(monkeypatch):
    answers = [subprocess.CompletedProcess([], 0, "numpy==2.5.5\ntorch==9.8.0+cpu\n")]
    answers.append(subprocess.CompletedProcess([], 1, "", "no such package"))
    monkeypatch.setattr(raise_pins, "pip_environment", lambda _: {})
    monkeypatch.setattr(raise_pins.subprocess, "run", lambda *_, **__: answers.pop(0))
    assert raise_pins.resolve(["numpy"]) == {"numpy": "2.5.5", "torch": "9.8.0+cpu"}
    with pytest.raises(SystemExit, match="no such package"):
        raise_pins.resolve(["numpy"])
