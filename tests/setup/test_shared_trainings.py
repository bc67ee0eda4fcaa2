"""A training that is taken over from an earlier one ends as that one did, to the last bit; any other is run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.lane("all", "kept_trainings", "shared_trainings")
CODE = """
import json, sys, time
sys.path[:0] = [{root!r}, {offline!r}]
import shared_trainings
if {folder!r}:
    shared_trainings.share({folder!r})
import torch
from torch import nn
from utils import training


def batches():
    while True:
        yield torch.randn(8, 4)


def loss(model, batch):
    return (model(batch) - batch.sum(-1, keepdim=True)).square().mean()


def train(start=0, rate=5e-3, model=None):
    training.seed(start)
    model = model or nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
    began = time.process_time()
    history = training.fit(model, batches(), loss, 80, rate)
    assert history.finished and not model.training and len(history.losses) == 80
    bits = [model[0].weight.double().sum().item(), torch.rand(1).item(), sum(history.losses)]
    return bits, getattr(history, "taken_over", False), time.process_time() - began, model


def train_further(seed):
    training.seed(seed)
    model, source = nn.Linear(4, 1), batches()
    history = training.fit(model, source, loss, 80)
    taken_over = getattr(history, "taken_over", False)
    training.fit(model, source, loss, 120, history=history)
    return [model.weight.double().sum().item(), sum(history.losses), len(history.losses)], taken_over, 0


first, again, rate, start = train(), train(), train(rate=1e-3), train(start=1)
further = train(model=again[3])
print(json.dumps([one[:3] for one in (first, again, rate, start, further, train_further(2))]))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What the trainings of CODE end with: not shared, shared, shared once more in another process."""
    folder = str(tmp_path_factory.mktemp("trainings"))
    given = {"root": str(ROOT), "offline": str(ROOT / "tests" / "offline")}
    commands = [[sys.executable, "-c", CODE.format(folder=where, **given)] for where in ("", folder, folder)]
    return [json.loads(subprocess.run(one, check=True, capture_output=True, text=True).stdout) for one in commands]


def test_it_ends_as_if_it_had_been_run(runs):
    alone, shared, later = ([bits for bits, *_ in run] for run in runs)
    assert alone == shared == later and alone[0] == alone[1]
    assert len({tuple(bits) for bits in alone}) == 5, "another rate, another start and a model that is trained differ"


def test_it_can_be_gone_on_with(runs):
    assert [run[-1][0] for run in runs] == [runs[0][-1][0]] * 3 and runs[0][-1][0][-1] == 120


def test_only_the_same_training_is_taken_over(runs):
    taken = [[taken for _, taken, _ in run] for run in runs]
    assert taken == [[False] * 6, [False, True, False, False, False, False], [True] * 6]


def test_it_costs_what_it_cost(runs):
    first, again = runs[1][:2]
    assert again[2] > 0.8 * first[2] > 0
