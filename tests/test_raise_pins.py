"""tools/raise_pins.py: what pip would install is written into every file that pins a version."""

import json
import shutil
import sys
from pathlib import Path

import pytest

import raise_pins
import setup_environment

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.lane("test")


def package(name, version):
    return {"metadata": {"name": name, "version": version}}


def test_local_parts_and_packages_for_graphics_cards_are_left_out():
    report = [package("torch", "2.15.0+cpu"), package("nvidia-cublas", "13.4"), package("cuda_toolkit", "13.2")]
    report += [package("triton", "3.7"), package("Jinja2", "3.1.6"), package("ruff", "0.18.0")]
    assert raise_pins.versions(report) == {"torch": "2.15.0", "jinja2": "3.1.6", "ruff": "0.18.0"}


def test_versions_are_replaced_and_all_else_stays():
    text = "# a comment: numpy==1\n-c constraints.txt\nJinja2==3.1.0\nnumpy==2.4.6  # why\njupyter_core==5.9.1\n"
    new = {"jinja2": "3.2", "numpy": "2.5.5", "jupyter-core": "6.0"}
    expected = text.replace("3.1.0", "3.2").replace("2.4.6", "2.5.5").replace("5.9.1", "6.0")
    assert raise_pins.raised(text, new) == expected
    conda = "dependencies:\n  - python=3.12\n  - pytorch-cpu=9.8.7\n  - numpy=2.4.6\n"
    expected = "dependencies:\n  - python=3.12\n  - pytorch-cpu=2.15.0\n  - numpy=2.5.5\n"
    assert raise_pins.raised(conda, {**new, "torch": "2.15.0"}) == expected


def test_new_packages_are_bound_in_their_place():
    text = "# Exact versions.\n# More.\nattrs==1.0\nJinja2==3.0\nzict==4.0\n"
    done = raise_pins.completed(text, {"idna": "3.0", "kiwi": "2.0"})
    assert done.split() == "# Exact versions. # More. attrs==1.0 idna==3.0 Jinja2==3.0 kiwi==2.0 zict==4.0".split()


def test_pytorch_without_a_build_for_the_processor_is_refused():
    assert raise_pins.newest_torch([package("torch", "2.15.0+cpu")]) == "torch==2.15.0"
    with pytest.raises(SystemExit, match="give torch==VERSION"):
        raise_pins.newest_torch([package("torch", "2.15.0")])


def test_all_files_are_raised_together(tmp_path, monkeypatch, capsys):
    (tmp_path / "tools").mkdir()
    for name in raise_pins.FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    before = setup_environment.pins(ROOT / "requirements.txt", ROOT / "constraints.txt")
    asked = []

    def answer(python, arguments):
        asked.append(arguments)
        return [package(line.partition("==")[0], line.partition("==")[2] or "99.1") for line in arguments] + [
            package("brought-along", "1.5")
        ]

    monkeypatch.setattr(raise_pins, "resolve", answer)
    monkeypatch.setattr(raise_pins.subprocess, "run", lambda *_, **__: None)
    monkeypatch.setattr(sys, "version_info", (3, 12, 1))
    with pytest.raises(SystemExit, match="run this with Python 3.11"):
        raise_pins.main([], tmp_path)
    monkeypatch.setattr(sys, "version_info", (3, 11, 7))
    raise_pins.main(["torch==2.14.0", "numpy==2.5.5"], tmp_path)
    assert len(asked) == 1 and {"torch==2.14.0", "numpy==2.5.5", "attrs", "numba", "ruff"} <= set(asked[0])
    new = setup_environment.pins(*(tmp_path / name for name in raise_pins.FILES if name.endswith(".txt")))
    assert new.pop("brought-along") == "1.5" and set(before) <= set(new)
    assert (new.pop("torch"), new.pop("numpy"), set(new.values())) == ("2.14", "2.5.5", {"99.1"})
    conda = (tmp_path / "environment.yml").read_text()
    assert "pytorch-cpu=2.14.0" in conda and "numpy=2.5.5" in conda and "tqdm=99.1" in conda and "python=3.12" in conda
    assert "numpy" in (said := capsys.readouterr().out) and "2.4.6 → 2.5.5" in said


def test_pips_report_is_read(tmp_path):
    """With a stand-in for pip: a real one would need an index."""
    python = tmp_path / "python"
    report = json.dumps({"install": [package("numpy", "2.5.5")]})
    python.write_text(f"""#!/bin/sh
case "$*" in *fails*) echo "no such package" >&2; exit 1;; esac
while [ $# -gt 1 ]; do [ "$1" = --report ] && echo '{report}' > "$2"; shift; done
""")
    python.chmod(0o755)
    assert raise_pins.resolve(python, ["numpy"]) == [package("numpy", "2.5.5")]
    with pytest.raises(SystemExit, match="no such package"):
        raise_pins.resolve(python, ["fails"])
