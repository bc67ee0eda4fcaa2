"""Training and measuring: one loop for all models, seeds, accuracy, perplexity, alignment error rate."""

import math
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from statistics import fmean

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from .checks import require_ids, require_logits, require_tensors


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
        if self.optimiser is None:
            self.optimiser = torch.optim.Adam(model.parameters(), learning_rate, betas=(0.9, 0.98), fused=True)
        if self.supply is None or self.batches is not batches:
            self.supply, self.batch, self.batches = Endless(batches), None, batches
        self.finished = False

    def advance(self, loss: float, learning_rate: float) -> None:
        """One step of the optimiser, with the gradients of the batch that had this loss."""
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate
        self.optimiser.step()
        self.losses.append(loss)
        self.batch = None

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

    `batches` is gone through again and again. The learning rate rises over `warm_up` steps and falls along a cosine
    towards 0; gradients are clipped to the norm `clip`. A bar shows steps and loss.

    Interrupting the cell stops the training between two steps: the model is usable, and the history says how far it
    is. fit(…, history=history) with the same model, batches and steps then goes on where it stopped, to the weights
    that it would have reached in one go (unless dropout draws other random numbers). More steps train further.
    Afterwards the model is in evaluation mode and holds no gradients. Interrupts in quick succession count as one.

    ValueError: nothing to train, no batch, a loss that does not depend on the model, a loss or gradient that is
    infinite or NaN (the weights stay as they were before that step), or a history of another model or of more steps."""
    history = History() if history is None else history
    require_trainable(model, history, steps)
    history.prepare(model, batches, learning_rate)
    with Interrupts() as interrupts:
        try:
            model.train()
            for step in progress(history, steps):
                with interrupts.after(1.0):  # a generator that is interrupted yields no more
                    history.batch = next(history.supply) if history.batch is None else history.batch
                with interrupts.after(0.0):
                    value = backward(model, loss, history.batch, clip, step)
                history.advance(value, learning_rate * rate_at(step, steps, warm_up))
            history.finished = True
        except KeyboardInterrupt:
            print(f"Stopped after {len(history.losses)} of {steps} steps; fit(…, history=history) goes on.")
        finally:
            model.eval()
            model.zero_grad()
    return history


def rate_at(step: int, steps: int, warm_up: int) -> float:
    """The share of the learning rate that a step gets: rising to 1 over `warm_up` steps, falling along a cosine."""
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


def backward(model: nn.Module, loss: Callable[..., Tensor], batch: object, clip: float, step: int) -> float:
    """The loss of a batch, its gradients in the model, clipped; ValueError where they cannot train it."""
    model.zero_grad()
    value = loss(model, batch)
    if not (isinstance(value, Tensor) and value.numel() == 1 and value.requires_grad):
        raise ValueError(f"the loss must be one number, a tensor that depends on the model, not {value!r}")
    value.backward()
    if all(parameter.grad is None for parameter in model.parameters()):
        kind = type(model).__name__
        raise ValueError(
            f"the loss does not depend on this {kind}: no parameter of it has a gradient. Is it another's?"
        )
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    if not (value.isfinite() and norm.isfinite()):
        what = f"the loss is {value.item()} and the norm of its gradients {norm.item()}"
        raise ValueError(f"at step {step}, {what}: a smaller learning_rate may help")
    return value.item()


def require_trainable(model: nn.Module, history: History, steps: int) -> None:
    """ValueError where `fit` has nothing to train, or a history that does not belong to it."""
    parameters, begin = list(model.parameters()), len(history.losses)
    if not any(parameter.requires_grad for parameter in parameters):
        raise ValueError(f"{type(model).__name__} has no parameter to train")
    if steps < max(begin, 1):
        raise ValueError(f"steps = {steps} must be at least 1, and at least the {begin} steps of the history")
    if history.optimiser is not None:
        known = [parameter for group in history.optimiser.param_groups for parameter in group["params"]]
        if list(map(id, known)) != list(map(id, parameters)):
            raise ValueError("the history is that of another model: leave it out to begin anew")


class Interrupts:
    """Within it, an interrupt (SIGINT) waits, and takes effect only where an `after` block lets it.

    Whoever presses stop may press twice: within a second after an interrupt took effect, others count as the same."""

    def __init__(self):
        self.patience = math.inf  # how many seconds an interrupt waits for the block it came in
        self.pressed = None  # when the first interrupt came, or the last took effect

    def __enter__(self) -> "Interrupts":
        main = threading.current_thread() is threading.main_thread()  # only the main thread is ever interrupted
        self.before = signal.getsignal(signal.SIGINT) if main else None
        if callable(self.before):
            signal.signal(signal.SIGINT, self.press)
        return self

    def __exit__(self, *_) -> None:
        if callable(self.before):
            signal.signal(signal.SIGINT, self.before)

    def press(self, *_) -> None:
        now = time.monotonic()
        first, self.pressed = self.pressed is None, now if self.pressed is None else self.pressed
        if now - self.pressed >= (self.patience if first else max(self.patience, 1.0)):
            self.take_effect()

    def take_effect(self) -> None:
        self.pressed = time.monotonic()
        self.before(signal.SIGINT, None)  # raises KeyboardInterrupt, unless somebody has put something else there
        self.pressed = None

    @contextmanager
    def after(self, seconds: float) -> Iterator[None]:
        """A block that an interrupt ends, at once (0) or where the block lasts longer than that."""
        self.patience = seconds
        try:
            if self.pressed is not None and not seconds:
                self.take_effect()
            yield
        finally:
            self.patience = math.inf


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
                self.iterator = again if again is self.batches else islice(again, self.drawn, None)
            for batch in self.iterator:
                self.drawn += 1
                return batch
        except BaseException:
            self.iterator = None  # a generator that failed yields no more
            raise
        if not self.drawn:
            raise ValueError("there is no batch (left): use a list or a generator that does not end and does not fail")
        self.iterator, self.drawn = None, 0
        return next(self)


def batches_by_length(
    items: list, length: Callable, collate: Callable, size: int = 64, seed: int = 0, pool: int = 16
) -> Iterator:
    """Endless random batches collate([item, …]) of `size` items of like length, so that there is little padding.

    Each pass shuffles the items, sorts them by length(item) within pools of `pool` batches, and yields the batches of
    all pools in random order; `seed` settles both orders. ValueError at the first batch: no items, size or pool < 1."""
    if not items or min(size, pool) < 1:
        raise ValueError(f"{len(items)} items cannot be put into batches of size {size} in pools of {pool}")
    chance = random.Random(seed)
    while True:
        order, batches = chance.sample(items, len(items)), []
        for start in range(0, len(order), size * pool):
            like = sorted(order[start : start + size * pool], key=length)
            batches += [like[i : i + size] for i in range(0, len(like), size)]
        chance.shuffle(batches)
        yield from map(collate, batches)


def sequence_loss(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Mean cross-entropy of targets (…, n) under logits (…, n, v), in nats a word, over those where mask (…, n) is
    True, such as targets != PAD_ID.

    Shapes that do not fit, no word at all, or a target outside the vocabulary: ValueError, here and in
    `token_accuracy`, which refuses logits that are NaN or ∞ as well."""
    require_words(logits, targets, mask)
    return nn.functional.cross_entropy(logits[mask], targets[mask])


def endless(draw: Callable, count: int, **keywords: object) -> Iterator:
    """Batches without end: draw(count, **keywords), again and again."""
    while True:
        yield draw(count, **keywords)


def loss_of(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    """The mean cross-entropy of model(inputs)[0], logits (b, n, v), where the targets (b, n) are not negative."""
    inputs, targets = batch
    return sequence_loss(model(inputs)[0], targets, targets >= 0)


@torch.no_grad()
def accuracy(model: nn.Module, inputs: Tensor, targets: Tensor) -> float:
    """The share of targets (b, n), those that are not negative, that have the largest of model(inputs)[0]."""
    return token_accuracy(model(inputs)[0], targets, targets >= 0)


def perplexity(loss: float | Tensor) -> float:
    """exp(mean cross-entropy in nats): as unsure as between that many equally likely words."""
    return torch.as_tensor(loss, dtype=torch.float64).exp().item()


def token_accuracy(logits: Tensor, targets: Tensor, mask: Tensor) -> float:
    """The share of words, where mask (…, n) is True, whose largest logit (…, n, v) is the target's (…, n)."""
    require_words(logits, targets, mask)
    return (require_logits(logits[mask]).argmax(-1) == targets[mask]).float().mean().item()


def require_words(logits: Tensor, targets: Tensor, mask: Tensor) -> None:
    require_tensors(logits=logits, targets=targets, mask=mask)
    if not logits.shape[:-1] == targets.shape == mask.shape or mask.dtype != torch.bool:
        shapes = f"logits {tuple(logits.shape)}, targets {tuple(targets.shape)}, mask {tuple(mask.shape)} {mask.dtype}"
        raise ValueError(f"{shapes} must be (…, n, v), (…, n) and boolean (…, n)")
    if not mask.any():
        raise ValueError("the mask is False everywhere: there is no word to measure")
    require_ids(targets[mask], logits.shape[-1], "targets")


def sequence_accuracy(written: list, right: list) -> float:
    """The share of sequences that are right from the first to the last token ("exact match")."""
    require_same_number(written, right)
    return sum(list(one) == list(other) for one, other in zip(written, right)) / len(right)


def require_same_number(*lists: list) -> None:
    """ValueError unless the lists have the same number of sentences, at least one."""
    numbers = [len(one) for one in lists]
    if len(set(numbers)) > 1 or not numbers[0]:
        raise ValueError(f"{' and '.join(map(str, numbers))} sentences cannot be compared: give as many, at least one")


def argmax_links(weights: Tensor, source_length: int, target_length: int) -> set[tuple[int, int]]:
    """For each target position the source position with the largest weight (q, k), as (target, source).

    The lengths leave padding, `<s>` and `</s>` out. ValueError where the weights hold fewer positions."""
    require_tensors(weights=weights)
    if weights.ndim != 2 or not (0 < target_length <= len(weights) and 0 < source_length <= weights.shape[1]):
        lengths = f"{target_length} target and {source_length} source words"
        raise ValueError(f"weights {tuple(weights.shape)} must be (q, k) and cover {lengths}, at least one of each")
    return set(enumerate(weights[:target_length, :source_length].argmax(-1).tolist()))


def alignment_error_rate(links: list[set], sure: list[set], possible: list[set]) -> float:
    """1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), counted over all sentences; 0 is best. Och & Ney 2003.

    One set of (target position, source position) a sentence: A `links`, S `sure`, P `possible`, which contains S.
    Where P = S it is 1 − F1. Without any link in A and S there is no error: 0. ValueError: lists that do not fit, or
    a sure link that is not possible."""
    require_same_number(links, sure, possible)
    for s, p in zip(sure, possible):
        if not set(s) <= set(p):
            raise ValueError(f"sure links {sorted(set(s) - set(p))} are not among the possible ones")
    hits = sum(len(a & s) + len(a & p) for a, s, p in zip(links, sure, possible))
    total = sum(len(a) + len(s) for a, s in zip(links, sure))
    return 1 - hits / total if total else 0.0


def attention_mass(weights: list[Tensor], links: list[set]) -> float:
    """The weight that a linked target word puts on its links (target, source), on average over all such words.

    weights: (q, k), one a sentence. ValueError: lists that do not fit, a link outside the weights, or no link at all.
    """
    require_same_number(weights, links)
    mass = []
    for row, gold in zip(weights, links):
        require_tensors(weights=row)
        if any(not (0 <= i < row.shape[0] and 0 <= j < row.shape[1]) for i, j in gold):
            raise ValueError(f"links {sorted(gold)} reach beyond weights {tuple(row.shape)}")
        mass += [sum(row[i, j].item() for i, j in gold if i == target) for target in {i for i, _ in gold}]
    if not mass:
        raise ValueError("there is no link, so no weight can lie on one")
    return fmean(mass)
