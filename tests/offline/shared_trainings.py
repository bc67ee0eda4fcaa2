"""Each training of the course once in a run of the tests: whoever comes to the same one later takes over what it gave.

Loaded by sitecustomize.py in every kernel that finds a folder in COURSE_TRAININGS; conftest.py makes one for each run
of the tests. `fit` of utils.training then trains its first steps as ever. Model, sizes, settings, weights and random
numbers at the start, and the losses of these steps to the last bit: where all this is as in an earlier training of the
same run, the weights, losses, random numbers and processor time that it ended with are taken over, and else the
training goes on and its end is kept. So a cell that would train otherwise when it is run a second time does so.
"""

import functools
import hashlib
import importlib.abc
import importlib.machinery
import inspect
import os
import random
import sys
import tempfile
import time

LIVE = 3  # steps of every training
LEAST = 60  # shorter trainings are never shared


class Enough(Exception):
    """The first steps are done."""


def start_of(model, settings):
    """What a training begins with, as bytes."""
    import torch

    random_numbers = torch.get_rng_state().numpy().tobytes() + repr(random.getstate()).encode()
    weights = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    processor = torch.backends.cpu.get_cpu_capability()
    return weights + random_numbers + repr((processor, type(model).__name__, model, settings)).encode()


def shared(training, folder):
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
            if getattr(given["history"], "taken_over", False):
                raise RuntimeError("a training of this length cannot be gone on with here: see tests/offline")
            return fit(**given)
        model, loss, began, calls = given["model"], given["loss"], clock(), []
        start = start_of(model, [given[name] for name in ("steps", "learning_rate", "warm_up", "clip")])

        def first_steps(*inputs):
            calls.append(None)
            if len(calls) > LIVE:
                raise Enough
            return loss(*inputs)

        history = training.History()
        try:
            fit(**given | {"loss": first_steps, "history": history})
        except Enough:
            pass
        else:
            return history  # it was interrupted
        digest = hashlib.sha256(start + repr(history.losses).encode()).hexdigest()
        path = os.path.join(folder, digest)
        if os.path.exists(path):
            kept = torch.load(path, weights_only=False)
            model.load_state_dict(kept["weights"])
            model.eval()
            torch.set_rng_state(kept["torch"])
            random.setstate(kept["python"])
            history.losses, history.finished, history.taken_over = kept["losses"], True, True
            ahead[0] += kept["seconds"]
            return history
        fit(**given | {"history": history})
        if history.finished:
            kept = {"weights": model.state_dict(), "losses": history.losses, "seconds": clock() - began}
            kept |= {"torch": torch.get_rng_state(), "python": random.getstate()}
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as part:
                torch.save(kept, part)
            os.replace(part.name, path)
        return history

    return shared_fit


class Finder(importlib.abc.MetaPathFinder):
    """Finds utils.training as ever, and changes its `fit` once it is loaded."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name != "utils.training":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module

        def execute_and_share(module):
            execute(module)
            module.fit = shared(module, self.folder)

        spec.loader.exec_module = execute_and_share
        return spec


def share(folder):
    sys.meta_path.insert(0, Finder(folder))
