"""Training: one loop for all models, which can be stopped and gone on with; its batches, its loss, its seeds."""

import itertools
import math
import numbers
import os
import random
from collections.abc import Callable, Iterable, Iterator
from statistics import fmean

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from .checks import require_whole
from .measures import require_words


def seed(number: int) -> None:
    """Start torch's and Python's random numbers anew, for layers and batches that come out the same each time."""
    torch.manual_seed(number)
    random.seed(number)


class History:
    """How a training went: `losses`, one a step; `finished`; and what `fit` needs to go on."""

    def __init__(self):
        self.losses: list[float] = []
        self.finished = False
        self.optimiser = None
        self.batches, self.supply, self.batch = None, None, None  # as given, what is left, drawn but not trained on

    def prepare(self, model: nn.Module, batches: Iterable, learning_rate: float) -> None:
        """Adam and a supply of batches, where there are none yet or the batches are others."""
        if self.optimiser is None or not self.losses:  # a first step that was stopped may have half of Adam's state
            self.optimiser = torch.optim.Adam(model.parameters(), learning_rate, betas=(0.9, 0.98), fused=True)
        if self.supply is None or self.batches is not batches:
            self.supply, self.batch, self.batches = Endless(batches), None, batches
        self.finished = False

    def __repr__(self) -> str:
        steps = len(self.losses)
        last = f", loss {mean_of_last(self.losses):.2f} over the last {min(steps, 50)}" if steps else ""
        return f"{'finished' if self.finished else 'stopped'} after {steps} steps{last}"


def mean_of_last(losses: list[float], number: int = 50) -> float:
    """The mean of the last `number` losses, or of all where there are fewer; ValueError if there is none."""
    return fmean(losses[-number:])


def fit(
    model: nn.Module, batches: Iterable, loss: Callable[..., Tensor], steps: int,
    learning_rate: float = 5e-3, warm_up: int = 50, clip: float = 1.0, history: History | None = None,
) -> History:  # fmt: skip
    """Train `model` for `steps` steps of Adam (Kingma & Ba 2015); loss(model, batch) gives a scalar.

    `batches` is gone through again and again. Each step has the share `rate_at` of the learning rate, which rises and
    then falls; gradients are clipped to the norm `clip`. A bar shows steps and loss.

    Interrupting the cell stops the training: the model is usable, and the history says how far it is.
    fit(…, history=history) with the same model, batches and steps then goes on where it stopped; what it was stopped
    in the middle of, one step at most, is left out or made twice. More steps train further.
    Afterwards the model is in evaluation mode and holds no gradients.

    ValueError: nothing to train, no batch, a number of steps, learning rate or clip that trains nothing, a loss that
    does not depend on the model, a loss or gradient that is infinite or NaN (the weights stay as they were before that
    step), or a history of another model or of more steps."""
    history = History() if history is None else history
    require_trainable(model, history, steps, learning_rate=learning_rate, clip=clip)
    try:
        history.prepare(model, batches, learning_rate)
        model.train()
        for step in progress(history, steps):
            if history.batch is None:  # else one is left on which no step was made
                history.batch = next(history.supply)
            model.zero_grad()
            value = require_scalar(loss(model, history.batch))
            value.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
            require_finite_gradients(model, value, norm, step)
            for group in history.optimiser.param_groups:
                group["lr"] = learning_rate * rate_at(step, steps, warm_up)
            history.optimiser.step()
            history.losses.append(value.item())
            history.batch = None
        history.finished = True
    except KeyboardInterrupt:
        print(f"Stopped after {len(history.losses)} of {steps} steps; fit(…, history=history) goes on.")
    finally:
        model.eval()
        model.zero_grad()
        torch.set_grad_enabled(True)  # which an interrupt within the optimiser's step may leave off
    return history


def rate_at(step: int, steps: int, warm_up: int) -> float:
    """The share of the learning rate that a step gets: a warm-up, step by step to 1, times a cosine from 1 to 0.

    As the cosine falls from the first step on, the product stays below 1, the less so the longer a training is: with a
    warm-up of 50 steps it is at most 0.54 where there are 100 steps, 0.94 where there are 300, 0.998 where there are
    2,000."""
    return min(1.0, (step + 1) / max(warm_up, 1)) * 0.5 * (1 + math.cos(math.pi * step / steps))


def progress(history: History, steps: int) -> Iterator[int]:
    """The steps that are left, with a bar that shows how many are done and the loss."""
    quiet = os.environ.get("TQDM_DISABLE") == "1"  # tqdm's own switch, which its bar for notebooks does not read
    begin = len(history.losses)
    with tqdm(total=steps, initial=begin, leave=False, mininterval=0.3, disable=quiet) as bar:
        for step in range(begin, steps):
            yield step
            bar.set_postfix_str(f"loss {mean_of_last(history.losses):.3f}", refresh=False)
            bar.update()


def require_trainable(model: nn.Module, history: History, steps: int, **above_0: float) -> None:
    """ValueError where `fit` has nothing to train, or a history or a number that does not go with it."""
    parameters, begin = list(model.parameters()), len(history.losses)
    if not any(parameter.requires_grad for parameter in parameters):
        raise ValueError(f"{type(model).__name__} has no parameter to train")
    require_whole(least=-math.inf, steps=steps)
    if steps < max(begin, 1):
        raise ValueError(f"steps = {steps} must be at least 1, and at least the {begin} steps of the history")
    for name, number in above_0.items():
        if not (isinstance(number, numbers.Real) and number > 0):
            raise ValueError(
                f"{name} = {number!r} must be a number above 0, or no step changes the weights as it should"
            )
    if history.optimiser is not None:
        known = [parameter for group in history.optimiser.param_groups for parameter in group["params"]]
        if list(map(id, known)) != list(map(id, parameters)):
            raise ValueError("the history is that of another model: leave it out to begin anew")


def require_scalar(value: Tensor) -> Tensor:
    """The loss, or a ValueError unless it is one number that depends on parameters."""
    if not (isinstance(value, Tensor) and value.numel() == 1 and value.requires_grad):
        raise ValueError(f"the loss must be one number, a tensor that depends on the model, not {value!r}")
    return value


def require_finite_gradients(model: nn.Module, value: Tensor, norm: Tensor, step: int) -> None:
    """ValueError where the gradients of a loss, whose norm this is, are not the model's, or cannot train it."""
    if all(parameter.grad is None for parameter in model.parameters()):
        kind = type(model).__name__
        raise ValueError(
            f"the loss does not depend on this {kind}: no parameter of it has a gradient. Is it another's?"
        )
    if not (value.isfinite() and norm.isfinite()):
        what = f"the loss is {value.item()} and the norm of its gradients {norm.item()}"
        raise ValueError(f"at step {step}, {what}: a smaller learning_rate may help")


class Endless:
    """The batches again and again; ValueError if there are none, or if they cannot be gone through again.

    Where drawing a batch fails, the next draw tries that batch again."""

    def __init__(self, batches: Iterable):
        if not hasattr(batches, "__iter__") and not hasattr(batches, "__getitem__"):
            raise ValueError(f"batches of the type {type(batches).__name__} cannot be gone through: give a list")
        self.batches, self.iterator, self.drawn = batches, None, 0

    def __next__(self):
        try:
            if self.iterator is None:
                again = iter(self.batches)
                self.iterator = again if again is self.batches else itertools.islice(again, self.drawn, None)
            for batch in self.iterator:
                self.drawn += 1
                return batch
        except BaseException:
            self.iterator = None  # a generator that failed yields no more
            raise
        if not self.drawn:
            raise ValueError(
                "there is no batch (left): give a list, or a generator that does not end. "
                "One that failed, or was stopped while it made a batch, has to be made anew."
            )
        self.iterator, self.drawn = None, 0
        return next(self)


def endless(draw: Callable, *sizes: int, **keywords: object) -> Iterator:
    """Batches without end: draw(*sizes, **keywords), again and again, also after a draw that failed or was stopped."""
    return map(lambda _: draw(*sizes, **keywords), itertools.count())


def batches_by_length(
    items: list, length: Callable, collate: Callable, size: int = 64, seed: int = 0, pool: int = 16
) -> Iterator:
    """Endless random batches collate([item, …]) of `size` items of like length, so that there is little padding.

    Each pass shuffles the items, sorts them by length(item) within pools of `pool` batches, and yields the batches of
    all pools in random order; `seed` settles both orders. ValueError: no items, size or pool < 1."""
    if not items or min(size, pool) < 1:
        raise ValueError(f"{len(items)} items cannot be put into batches of size {size} in pools of {pool}")
    chance, groups = random.Random(seed), []  # the items of each batch that is left of this pass, the last one first

    def draw() -> object:
        if not groups:
            order = chance.sample(items, len(items))
            for start in range(0, len(order), size * pool):
                like = sorted(order[start : start + size * pool], key=length)
                groups.extend(like[i : i + size] for i in range(0, len(like), size))
            chance.shuffle(groups)
            groups.reverse()
        return collate(groups.pop())

    return endless(draw)


def sequence_loss(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Mean cross-entropy of targets (…, n) under logits (…, n, v), in nats a word, over those where mask (…, n) is
    True, such as targets != PAD_ID.

    ValueError: shapes that do not fit, no word at all, or a target outside the vocabulary."""
    require_words(logits, targets, mask)
    return nn.functional.cross_entropy(logits[mask], targets[mask].long())


def loss_of(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    """The mean cross-entropy of model(inputs)[0], logits (b, n, v), where the targets (b, n) are not negative."""
    inputs, targets = batch
    return sequence_loss(model(inputs)[0], targets, targets >= 0)
