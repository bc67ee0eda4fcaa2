"""A training that is kept is taken where it is the same, and nowhere else; what is kept is fresh, and small."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "offline"))

import kept_trainings as kept  # noqa: E402  (the folder above has to be on the path first)

FILES = sorted(kept.FOLDER.glob("*.npz"))


# What is kept


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


# Code

CODE = """\
'''A module.'''

import math


def area(radius):
    '''Of a circle.'''
    return math.pi * radius**2  # as Archimedes has it


class Circle:
    '''Round.'''

    name = "# no comment"
"""


def test_comments_docstrings_and_blank_lines_do_not_count():
    first = kept.digest(kept.bare_lines(CODE))
    for old, new in (
        ("Of a", "The area of a"),
        ("  # as Archimedes has it", ""),
        ("\n\n\n", "\n"),
        ("Round", "A"),
    ):
        assert CODE.replace(old, new) != CODE and kept.digest(kept.bare_lines(CODE.replace(old, new))) == first, old
    for old, new in (("**2", "**3"), ("# no", "no"), ("math.pi", "3")):
        assert kept.digest(kept.bare_lines(CODE.replace(old, new))) != first, old


def test_of_a_cell_only_the_functions_that_run_count():
    import linecache

    def digests(source):
        name = "/tmp/ipykernel_4711/1.py"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        space = {}
        exec(compile(source, name, "exec"), space)
        with kept.Trace() as trace:
            space["run"]()
        return trace.code()["functions"]

    source = "def helper():\n    return 1\ndef run():\n    return [helper() for _ in range(2)]\nprint(end='')"
    first = digests(source)
    assert len(first) == 2 and digests(source + "  # done") == first == digests(source.replace("end", "sep"))
    assert len(set(digests(source.replace("1", "3"))) & set(first)) == 1
    assert not set(digests(source.replace("2", "3"))) >= set(first)


# The beginning


def test_another_processor_begins_alike_and_another_seed_does_not():
    import torch
    from torch import nn

    def start(seed, scale=1.0):
        torch.manual_seed(seed)
        model = nn.Linear(8, 4)
        begins = kept.beginning(model, [80, 5e-3, 50, 1.0])
        with torch.no_grad():
            model.weight.mul_(scale)
        return begins | {"weights": kept.beginning(model, [])["weights"]}

    file = start(0) | {"first": [2.0, 1.0]}
    assert kept.same(file, start(0), [2.0, 1.0]) and kept.same(file, start(0, 1 + 1e-6), [2.00001, 1.0])
    assert not kept.same(file, start(0), [2.001, 1.0]) and not kept.same(file, start(0, 1.001), [2.0, 1.0])
    assert not kept.same(file, start(1), [2.0, 1.0])
    assert not kept.same(file, start(0) | {"settings": [80, 1e-3, 50, 1.0]}, [2.0, 1.0])


# The whole way, in processes of their own

TRAIN = """
import json, sys
sys.path[:0] = [{root!r}, {offline!r}]
import shared_trainings
shared_trainings.share(sys.argv[1], {kept!r})
import torch
from torch import nn
from utils import training


def batches():
    while True:
        yield torch.randn(8, 4)


def loss(model, batch):
    return (model(batch) - batch.sum(-1, keepdim=True)).square().mean()


def train(rate=5e-3):
    training.seed(0)
    model, source = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1)), batches()
    history = training.fit(model, source, loss, 80, rate)
    bits = [model[0].weight.double().sum().item(), torch.rand(1).item(), sum(history.losses)]
    return bits, getattr(history, "kept", None), lambda: training.fit(model, source, loss, 120, history=history)


first, other, once_more = train(), train(rate=1e-3), train()
try:
    first[2]()
    said = "gone on"
except RuntimeError as error:
    said = str(error)
print(json.dumps([first[:2], other[:2], said, once_more[:2]]))
"""


@pytest.mark.lane("all", "kept_trainings", "shared_trainings")
def test_a_kept_training_ends_as_the_live_one_did(tmp_path):
    import torch

    folder = tmp_path / "kept"
    folder.mkdir()
    code = TRAIN.format(root=str(ROOT), offline=str(ROOT / "tests" / "offline"), kept=str(folder))

    def run(name):
        (tmp_path / name).mkdir()
        command = [sys.executable, "-c", code, str(tmp_path / name)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    live = run("live")
    assert [kept_as for _, kept_as in live[:2]] == [None, None] and live[2] == "gone on"
    files = {path.name for path in (tmp_path / "live").iterdir()}
    (further,) = (name for name in files if name.endswith(".further"))
    ended = torch.load(tmp_path / "live" / further.removesuffix(".further"), weights_only=False)
    assert ended["start"]["code"]["modules"].keys() >= {"utils/training.py"}
    kept.write(folder / "tiny_1.npz", ended)
    again = run("again")
    assert again[0] == [pytest.approx(live[0][0], rel=0.02), "tiny_1.npz"], "as rounded as it is kept"
    assert again[1] == live[1], "another rate is trained"
    assert again[3] == again[0], "taken over in the same run"
    assert again[2].startswith("tiny_1.npz is gone on with")
    assert [path.name for path in (tmp_path / "again").glob("*.taken")] == ["tiny_1.npz.taken"]


@pytest.mark.parametrize("shape", [(5, 7), (), (0, 3)])
def test_weights_are_kept_but_for_rounding(shape):
    weights = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    whole, unit = kept.packed(weights)
    again = kept.unpacked(whole, unit)
    assert again.shape == shape and whole.dtype == np.int8 and whole.nbytes == weights.size
    assert np.all(np.abs(np.atleast_1d(again) - np.atleast_1d(weights)) <= 0.51 * unit)


def test_what_trains_on_from_a_kept_training_begins_as_it_does_in_tests(tmp_path, monkeypatch):
    """`make trainings` rounds what it has trained, but for checkpoints, which the tests read as they are."""
    import shared_trainings
    import torch

    kept_model, shipped = torch.nn.Linear(5, 3), torch.nn.Linear(5, 3)
    as_trained = {model: model.weight.detach().clone() for model in (kept_model, shipped)}
    monkeypatch.setattr(shared_trainings, "trained", {kept_model: tmp_path / "one", shipped: tmp_path / "other"})
    (tmp_path / "other.checkpoint").write_text("translator")
    shared_trainings.round_off()
    whole, unit = kept.packed(as_trained[kept_model].numpy())
    assert kept_model.weight.detach().numpy() == pytest.approx(whole * unit, rel=1e-6)
    assert not torch.equal(kept_model.weight, as_trained[kept_model])
    assert torch.equal(shipped.weight, as_trained[shipped])
