"""Stored weights come back as they were, damage is named with its remedy; what is stored is what notebooks make."""

import hashlib
import io
import shutil
from pathlib import Path

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from torch import nn

from tools.notebooks import checkpoints as make_checkpoints
from tools.notebooks import files
from utils.checkpoints import FOLDER, load_checkpoint
from utils.data_files import SUMS, checksums

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def stored(tmp_path):
    """(folder, model): a folder with the weights of the model, and their checksum."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    put(tmp_path, "tiny", make_checkpoints.packed(model.state_dict()))
    return tmp_path, model


def put(folder, name, content):
    (folder / f"{name}.pt").write_bytes(content)
    (folder / SUMS).write_text(f"{hashlib.sha256(content).hexdigest()}  {name}.pt\n")


def like(model, **changes):
    return nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, changes.get("last", 2)))


def test_weights_come_back_as_they_were_in_evaluation_mode(stored):
    folder, model = stored
    loaded = load_checkpoint("tiny", fresh := like(model).train(), folder)
    assert loaded is fresh and not loaded.training
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(loaded.parameters(), model.parameters()))


def test_a_missing_file_is_named_with_those_that_are_there(stored):
    with pytest.raises(
        FileNotFoundError, match=r"none\.pt are missing \(there are: tiny\)\. Get it back with `git che"
    ):
        load_checkpoint("none", stored[1], stored[0])


@pytest.mark.parametrize(
    "model, what",
    [
        ([1], "of the type list"),
        (5, "of the type int"),
        (None, "of the type NoneType"),
        (nn.Linear, "the class Linear"),
    ],
)
def test_what_is_no_model_is_named(stored, model, what):
    with pytest.raises(ValueError, match=f"^model is {what}; give the model itself, an nn.Module"):
        load_checkpoint("tiny", model, stored[0])


@pytest.mark.parametrize("damage", ["cut short", "altered", "empty", "unlisted"])
def test_a_damaged_file_is_named_and_the_model_stays_as_it_was(stored, damage):
    folder, model = stored
    path, before = folder / "tiny.pt", {name: value.clone() for name, value in model.state_dict().items()}
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    if damage == "unlisted":
        (folder / SUMS).unlink()
    else:
        path.write_bytes({"cut short": content[:100], "altered": content, "empty": b""}[damage])
    with pytest.raises(ValueError, match=r"tiny\.pt was cut short or altered: .*git checkout.*make checkpoints"):
        load_checkpoint("tiny", model, folder)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_another_shape_names_the_weight(stored):
    folder, model = stored
    with pytest.raises(ValueError, match=r"2\.weight is \(2, 4\) of torch.float32 in the file and \(5, 4\) of"):
        load_checkpoint("tiny", like(model, last=5), folder)
    with pytest.raises(ValueError, match=r"tiny\.pt does not fit this Linear: weight is missing in the file"):
        load_checkpoint("tiny", nn.Linear(3, 4), folder)


def test_nothing_but_tensors_is_read(tmp_path):
    class Trap:
        def __reduce__(self):
            return print, ("code ran",)

    torch.save({"weight": Trap()}, tmp_path / "trap.pt")
    put(tmp_path, "trap", (tmp_path / "trap.pt").read_bytes())
    with pytest.raises(ValueError, match=r"trap\.pt holds no weights that can be read"):
        load_checkpoint("trap", nn.Linear(1, 1), tmp_path)


OTHERS = {
    "list": [torch.ones(2)],
    "tuple": (1.0, 2.0),
    "numbers": {"weight": 1.0},
    "tensor": torch.ones(2),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_dictionary_of_weights_is_named(tmp_path, kind):
    torch.save(OTHERS[kind], tmp_path / "odd.pt")
    put(tmp_path, "odd", (tmp_path / "odd.pt").read_bytes())
    name = {"numbers": "dict", "tensor": "Tensor"}.get(kind, kind)
    with pytest.raises(ValueError, match=rf"odd\.pt holds no weights by their names, but a {name}\. Get it back with"):
        load_checkpoint("odd", nn.Linear(1, 1), tmp_path)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_named(stored, wrong):
    folder, model = stored
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    weights["2.bias"][1] = wrong
    put(folder, "tiny", make_checkpoints.packed(weights))
    with pytest.raises(ValueError, match=r"tiny\.pt: some numbers of 2\.bias are NaN or infinite\. Get it back with"):
        load_checkpoint("tiny", like(model), folder)


def test_weights_of_another_kind_are_named(stored):
    folder, model = stored
    with pytest.raises(
        ValueError, match=r"0\.weight is \(4, 3\) of torch.float32 in the file and \(4, 3\) of torch.float64"
    ):
        load_checkpoint("tiny", like(model).double(), folder)
    torch.save({name: value.double() for name, value in model.state_dict().items()}, folder / "tiny.pt")
    put(folder, "tiny", (folder / "tiny.pt").read_bytes())
    with pytest.raises(ValueError, match=r"0\.weight is \(4, 3\) of torch.float64 in the file .*`make checkpoints`"):
        load_checkpoint("tiny", like(model), folder)


@pytest.mark.parametrize("line", [b"", b"one two three", b"a1b2  tiny.pt", b"\xff\xfe  tiny.pt", b"<<<<<<< HEAD"])
def test_a_list_of_checksums_with_another_line_is_named(stored, line):
    folder, model = stored
    with open(folder / SUMS, "ab") as file:
        file.write(line + b"\n")
    with pytest.raises(ValueError, match=r"SHA256SUMS, line 2, is not a checksum .*Get it back with `git checkout"):
        load_checkpoint("tiny", model, folder)


# The tool


def test_the_same_weights_are_the_same_bytes():
    whole = torch.arange(24.0).view(4, 6)
    view, copied = {"w": whole[:, ::2]}, {"w": whole[:, ::2].clone().double()}
    assert make_checkpoints.packed(view) == make_checkpoints.packed(copied)


def test_the_calls_of_a_cell_are_found():
    source = """
if "model" not in globals():
    model = load_checkpoint("one", nn.Linear(1, 1))
    models["far"] = checkpoints.load_checkpoint("two", nn.Linear(1, 1))
"""
    assert make_checkpoints.loads(source) == {"one": "model", "two": "models['far']"}
    for bad in ("load_checkpoint('a', m)", "x = load_checkpoint(name, m)", "x = load_checkpoint(f'a{1}', m)"):
        with pytest.raises(ValueError, match="of the form"):
            make_checkpoints.loads(bad)


MADE = "torch.manual_seed(0)\nmodel = torch.nn.Linear(2, 2)"
TRAINED = """
def trained(model):
    torch.nn.init.ones_(model.weight)
    return model
"""
TWIN = 'other = load_checkpoint("tiny_twin", torch.nn.Linear(2, 2).half())\nother = other.float()'
TAGS = {MADE: ["checkpoint:tiny=model"], TWIN: ["twin"]}


@pytest.mark.lane("all", "checkpoints")
def test_a_notebook_is_trained_as_far_as_its_last_checkpoint_and_a_second_run_leaves_no_diff(tmp_path):
    course = tmp_path / "course"
    shutil.copytree(ROOT / "data", course / "data", ignore=shutil.ignore_patterns("*.npz", "*.pt", SUMS, "cache"))
    (course / "notebooks").mkdir()
    path, folder = course / "notebooks" / "5_tiny.ipynb", course / "data" / "checkpoints"
    sources = ["import torch\ntorch.manual_seed(1)", TRAINED, TWIN, MADE, "1 / 0"]
    cells = [new_code_cell(source, metadata={"tags": TAGS.get(source, [])}) for source in sources]
    nbformat.write(new_notebook(cells=[new_markdown_cell("# 05 · Tiny"), *cells]), path)
    assert make_checkpoints.make(path, folder) == ["tiny_twin.pt", "tiny.pt"]
    twin = torch.load(folder / "tiny_twin.pt", weights_only=True)["weight"]
    assert twin.eq(1).all() and twin.dtype == torch.float16, "what `trained` made of it, before the cell goes on"
    make_checkpoints.list_all(course)
    first = {file: file.read_bytes() for file in course.rglob("*") if file.is_file()}
    assert make_checkpoints.make(path, folder) == []
    make_checkpoints.list_all(course)
    assert first == {file: file.read_bytes() for file in course.rglob("*") if file.is_file()}
    assert set(checksums(folder)) == {"tiny.pt", "tiny_twin.pt"}
    assert checksums(folder)["tiny.pt"] == hashlib.sha256((folder / "tiny.pt").read_bytes()).hexdigest()
    row = "| `checkpoints/tiny.pt` | weights of `model` after its training in *Tiny* |"
    assert (course / "data" / "README.md").read_text().count(row) == 1
    load_checkpoint("tiny", torch.nn.Linear(2, 2), folder)
    path.unlink()
    make_checkpoints.list_all(course)
    assert list(folder.iterdir()) == [] and row not in (course / "data" / "README.md").read_text()


# What is stored


def test_a_tag_says_of_what_it_is_a_checkpoint():
    cell = new_code_cell("model = 1", metadata={"tags": ["checkpoint:tiny"]})
    with pytest.raises(ValueError, match="checkpoint:tiny=model"):
        make_checkpoints.made_by(cell)


def test_what_is_stored_is_what_notebooks_make():
    wanted = {name for path in NOTEBOOKS for name in make_checkpoints.made_in(files.read(path))}
    stored = {path.name: path for path in FOLDER.glob("*")} if FOLDER.exists() else {}
    assert set(stored) - {SUMS} == {f"{name}.pt" for name in wanted} == set(checksums(FOLDER)), "run `make checkpoints`"
    for name, digest in checksums(FOLDER).items():
        assert hashlib.sha256(stored[name].read_bytes()).hexdigest() == digest, name


def test_the_stored_weights_are_small_and_listed():
    sizes = [path.stat().st_size for path in FOLDER.glob("*.pt")]
    assert sum(sizes) < 5_000_000
    listed = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    assert all(row in listed for row in make_checkpoints.rows(NOTEBOOKS)), (
        "python -m tools.notebooks.checkpoints --list"
    )


def test_stored_weights_hold_floats_of_single_precision_or_of_half():
    for path in FOLDER.glob("*.pt"):
        weights = torch.load(path, weights_only=True)
        assert {value.dtype for value in weights.values()} in ({torch.float32}, {torch.float16}), path.name


@pytest.mark.parametrize("given, kept", [(torch.float64, torch.float32), (torch.float16, torch.float16)])
def test_weights_are_stored_in_single_precision_unless_the_model_has_half(given, kept):
    packed = make_checkpoints.packed({"w": torch.ones(2, 3, dtype=given).T})
    stored = torch.load(io.BytesIO(packed), weights_only=True)
    assert stored["w"].dtype == kept and torch.equal(stored["w"], torch.ones(3, 2, dtype=kept))
