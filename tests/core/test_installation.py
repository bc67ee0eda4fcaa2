"""utils/installation.py: what it says of an installation that lacks something."""

from utils import installation


def test_all_is_well_here(capsys):
    installation.check_installation()
    said = capsys.readouterr().out
    assert "✘" not in said and "All set" in said and "✔ torch " in said


def test_an_old_python_is_named_with_the_remedy():
    assert installation.python_line((3, 9, 2)).startswith("✘ Python 3.9.2 is too old")
    assert installation.python_line((3, 14, 0)).startswith("✔")


def test_missing_and_other_packages():
    assert "make lab" in installation.package_line("torch", None, "9.8.7")
    assert installation.package_line("torch", "2.9.1", "9.8.7").startswith("○ torch 2.9.1")
    assert installation.package_line("torch", "9.8.7", None) == "✔ torch 9.8.7"


def test_pins_are_read(tmp_path):
    (tmp_path / "pins.txt").write_text("# a comment\nnumpy==2.4.6\nscikit-learn==1.7.2  # why\n")
    assert installation.pinned_versions(tmp_path / "pins.txt") == {"numpy": "2.4.6", "scikit-learn": "1.7.2"}
    assert installation.pinned_versions(tmp_path / "none.txt") == {}


def test_missing_and_damaged_vectors_are_named(tmp_path, monkeypatch, capsys):
    from utils import vectors

    monkeypatch.setattr(vectors, "SHIPPED", tmp_path / "course_vectors.npz")
    installation.check_installation()
    assert "✘ word vectors" in (said := capsys.readouterr().out) and "course_vectors.npz" in said and "missing" in said
    (tmp_path / "course_vectors.npz").write_bytes(b"not vectors")
    assert "damaged" in installation.vectors_line()
