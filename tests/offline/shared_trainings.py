"""Each training of the course once in a run of the tests: whoever comes to the same one later takes over what it gave.

Loaded by sitecustomize.py in every kernel that finds a folder in COURSE_TRAININGS; conftest.py makes one for each run
of the tests. `fit` of utils.training then trains its first steps as ever. Model, sizes, settings, weights and random
numbers at the start, and the losses of these steps to the last bit: where all this is as in an earlier training of the
same run, the weights, losses, random numbers and processor time that it ended with are taken over, and else the
training goes on and its end is kept. So a cell that would train otherwise when it is run a second time does so.

The longest trainings are taken from tests/trainings/ as well (kept_trainings.py), unless it is night.
"""

import functools
import hashlib
import importlib.abc
import importlib.machinery
import inspect
import itertools
import os
import random
import sys
import tempfile
import time
import weakref

import kept_trainings

LIVE = 3  # steps of every training
LEAST = 60  # shorter trainings are never shared

notebook = None  # its topic, where `make trainings` runs it
trained = weakref.WeakKeyDictionary()  # model: the file with the training that it has gone through


class Enough(Exception):
    """The first steps are done."""


def start_of(model, settings):
    """What a training begins with, as bytes."""
    import torch

    random_numbers = torch.get_rng_state().numpy().tobytes() + repr(random.getstate()).encode()
    weights = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    processor = torch.backends.cpu.get_cpu_capability()
    return weights + random_numbers + repr((processor, type(model).__name__, model, settings)).encode()


def catch_up(history):
    """Draw the batches that a training taken over from another did not draw, for it is gone on with."""
    import torch

    if history is None:
        return
    if getattr(history, "kept", None):
        raise RuntimeError(f"{history.kept} is gone on with, for which it does not hold enough: run `make trainings`")
    if getattr(history, "file", None):
        open(f"{history.file}.further", "w").close()
    before = torch.get_rng_state(), random.getstate()
    for _ in range(getattr(history, "behind", 0)):
        next(history.supply)
    history.behind = 0
    torch.set_rng_state(before[0])
    random.setstate(before[1])


def take_over(model, history, ended):
    """Bring model, history and random numbers to where a training ended."""
    import torch

    model.load_state_dict(ended["weights"])
    model.eval()
    torch.set_rng_state(ended["torch"])
    random.setstate(ended["python"])
    history.losses, history.finished, history.taken_over = ended["losses"], True, True


def save(ended, path):
    """Keep the end of a training for the rest of the run."""
    import torch

    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as part:
        torch.save(ended, part)
    os.replace(part.name, path)


def ships(model, checkpoint):
    """Note that what `model` was trained to ships as a checkpoint; where it was changed afterwards, it does not."""
    import torch

    ended = torch.load(trained[model], weights_only=False)["weights"] if model in trained else {}
    now = model.state_dict()
    if ended.keys() == now.keys() and all(torch.equal(ended[name], now[name]) for name in now):
        with open(f"{trained[model]}.checkpoint", "w") as file:
            file.write(checkpoint)


def round_off():
    """Give models that were trained, but ship as no checkpoint, the weights that they get where their training is
    taken from a file: what trains on from there begins here as it does there."""
    import torch

    for model, path in trained.items():
        if not os.path.exists(f"{path}.checkpoint"):
            kept = [torch.from_numpy(kept_trainings.rounded(value.numpy())) for value in model.state_dict().values()]
            model.load_state_dict(dict(zip(model.state_dict(), kept)))


def first_steps(loss):
    """The loss, which ends the training with `Enough` after the first steps."""
    calls = itertools.count()

    def counted(*inputs):
        if next(calls) >= LIVE:
            raise Enough
        return loss(*inputs)

    return counted


def shared(training, folder, kept):
    """`training.fit` that takes over from an earlier training what is the same."""
    import torch

    fit, clock, ahead = training.fit, time.process_time, [0.0]
    time.process_time = lambda: clock() + ahead[0]  # notebooks compare what trainings cost

    @functools.wraps(fit)
    def shared_fit(*arguments, **keywords):
        given = inspect.signature(fit).bind(*arguments, **keywords)
        given.apply_defaults()
        given = given.arguments
        if given["history"] is not None or given["steps"] < LEAST:
            catch_up(given["history"])
            return fit(**given)
        model, began = given["model"], clock()
        settings = [given[name] for name in ("steps", "learning_rate", "warm_up", "clip")]
        exactly, start = start_of(model, settings), kept_trainings.beginning(model, settings)

        history = training.History()
        try:
            with kept_trainings.Trace() as trace:
                fit(**given | {"loss": first_steps(given["loss"]), "history": history})
        except Enough:
            pass
        else:
            return history  # it was interrupted
        start["code"], first = trace.code(), list(history.losses)
        path = os.path.join(folder, hashlib.sha256(exactly + repr(first).encode()).hexdigest())
        if os.path.exists(path):
            ended = torch.load(path, weights_only=False)
            take_over(model, history, ended)
            history.kept = ended.get("kept")
            if not history.kept:
                history.optimiser.load_state_dict(ended["optimiser"])
            history.behind, history.batch = given["steps"] - LIVE - 1, None  # batches that were not drawn
            ahead[0] += ended["seconds"]
            trained[model], history.file = path, path
        elif kept and (found := kept_trainings.find(kept, start, first)):
            ended = kept_trainings.read(found)
            take_over(model, history, ended)
            history.kept = found.name
            ahead[0] += ended["seconds"]
            open(os.path.join(folder, f"{found.name}.taken"), "w").close()
            save(ended | {"kept": found.name}, path)
        else:
            fit(**given | {"history": history})
            if history.finished:
                ended = {"start": start, "first": first, "notebook": notebook, "number": len(os.listdir(folder))}
                ended |= {"weights": model.state_dict(), "losses": history.losses, "seconds": clock() - began}
                ended |= {"optimiser": history.optimiser.state_dict()}
                ended |= {"torch": torch.get_rng_state(), "python": random.getstate()}
                save(ended, path)
                trained[model], history.file = path, path
        return history

    return shared_fit


class Finder(importlib.abc.MetaPathFinder):
    """Finds utils.training as ever, and changes its `fit` once it is loaded."""

    def __init__(self, folder, kept):
        self.folder, self.kept = folder, kept

    def find_spec(self, name, path=None, target=None):
        if name != "utils.training":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module

        def execute_and_share(module):
            execute(module)
            module.fit = shared(module, self.folder, self.kept)

        spec.loader.exec_module = execute_and_share
        return spec


def share(folder, kept=None):
    sys.meta_path.insert(0, Finder(folder, kept))
