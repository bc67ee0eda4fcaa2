"""utils/training.py: the loop learns, stops, goes on and says what is wrong."""

import io
import json
import math
import os
import random
import signal
import subprocess
import sys
import threading
from itertools import islice
from pathlib import Path

import pytest
import torch
from batches import MASK, TARGETS, draw
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from utils import measures, training
from utils.rnn import RecurrentLanguageModel
from utils.training import History, batches_by_length, fit

ROOT = Path(__file__).parents[2]
POSIX = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


class Line(nn.Module):
    """A layer with dropout in front of it, to tell training from evaluation."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.dropout, self.layer = nn.Dropout(dropout), nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(self.dropout(x))


def line(dropout=0.0, number=0):
    training.seed(number)
    return Line(dropout)


def squares(model, x):
    """Learn the sum of the three numbers, plus one."""
    return (model(x) - x.sum(-1, keepdim=True) - 1).square().mean()


def samples(count=None, number=7):
    """Batches (8, 3), without end unless there is a count."""
    generator = torch.Generator().manual_seed(number)
    while count is None or count > 0:
        count = None if count is None else count - 1
        yield torch.randn(8, 3, generator=generator)


def weights_of(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def updates(history):
    """How many steps the optimiser has made, for every parameter the same."""
    (count,) = {int(state["step"]) for state in history.optimiser.state.values()} or {0}
    return count


# The loop


def test_fit_learns_a_toy_task():
    model = line()
    history = fit(model, samples(), squares, 300, learning_rate=0.05)
    torch.testing.assert_close(weights_of(model), torch.ones(4), atol=1e-3, rtol=0)
    assert history.finished and len(history.losses) == 300
    assert history.losses[0] > 1 > 1e-3 > training.mean_of_last(history.losses)
    assert repr(history) == "finished after 300 steps, loss 0.00 over the last 50"


def test_a_language_model_learns_its_sentence():
    words = torch.tensor([[1, 4, 5, 6, 7, 8, 9, 10, 11, 2]])  # <s> so long and thanks for all the fish </s>
    training.seed(0)
    model, everywhere = RecurrentLanguageModel(12, d_embedding=8, d_hidden=16), torch.ones(1, 9, dtype=torch.bool)

    def loss(model, tokens):
        return training.sequence_loss(model(tokens[:, :-1])[0], tokens[:, 1:], everywhere)

    assert 8 < measures.perplexity(loss(model, words)) < 20
    fit(model, [words], loss, 120, 0.03, warm_up=5)
    assert measures.perplexity(loss(model, words)) < 1.05
    assert model.generate() == words[0, 1:-1].tolist()
    assert measures.token_accuracy(model(words[:, :-1])[0], words[:, 1:], everywhere) == 1.0


def run(number, steps=30):
    model, numbers = line(0.3, number), list(torch.randn(20, 3))
    batches = batches_by_length(numbers, torch.argmax, torch.stack, size=4, seed=random.randrange(100))
    return weights_of(model), fit(model, batches, squares, steps).losses, weights_of(model)


def test_a_seed_settles_layers_batches_and_dropout():
    once, again, other = run(3), run(3), run(4)
    assert all(torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(once, again))
    assert not any(torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(once, other))
    assert not torch.equal(once[0], once[2])


def test_the_model_trains_in_train_mode_and_is_left_for_evaluation():
    model, modes = line(0.5).eval(), []
    fit(model, samples(), lambda model, x: modes.append(model.training) or squares(model, x), 3)
    assert modes == [True] * 3 and not model.training
    assert all(parameter.grad is None for parameter in model.parameters())


def test_nothing_else_is_changed():
    training.seed(0)
    model, handler, numbers = line(), signal.getsignal(signal.SIGINT), torch.get_rng_state()
    fit(model, list(samples(3)), squares, 5)
    with pytest.raises(ValueError, match="depends on the model"):
        fit(model, list(samples(3)), lambda model, x: squares(model, x).item(), 5)
    assert signal.getsignal(signal.SIGINT) is handler and torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), numbers)


def test_learning_rate_and_gradients_are_as_described(monkeypatch):
    rates, norms, step = [], [], torch.optim.Adam.step

    def watch(self):
        rates.extend(group["lr"] for group in self.param_groups)
        norms.append(torch.cat([p.grad.flatten() for g in self.param_groups for p in g["params"]]).norm().item())
        return step(self)

    monkeypatch.setattr(torch.optim.Adam, "step", watch)
    fit(line(), samples(), lambda model, x: 1e4 * squares(model, x), 100, learning_rate=0.1, warm_up=10, clip=0.5)
    expected = [0.1 * min(1, (i + 1) / 10) * (1 + math.cos(math.pi * i / 100)) / 2 for i in range(100)]
    assert rates == pytest.approx(expected) and rates[0] < 0.011 and max(rates) > 0.097 and rates[-1] < 1e-4
    assert max(norms) == pytest.approx(0.5, rel=1e-3)
    fit(line(), samples(), squares, 3, learning_rate=0.1, warm_up=0)
    assert rates[100] == 0.1


@pytest.mark.parametrize("steps, most", [(100, 0.54), (300, 0.94), (2000, 0.998)])
def test_the_largest_share_of_the_learning_rate_is_as_the_docstring_says(steps, most):
    assert max(training.rate_at(step, steps, 50) for step in range(steps)) == pytest.approx(most, abs=0.006)
    assert str(most) in training.rate_at.__doc__


def test_batches_are_gone_through_again():
    seen = []
    fit(line(), list(range(3)), lambda model, i: seen.append(i) or squares(model, torch.ones(1, 3)), 8)
    assert seen == [0, 1, 2, 0, 1, 2, 0, 1]


def test_a_part_of_the_model_may_be_frozen():
    model = line()
    model.layer.bias.requires_grad_(False)
    before = weights_of(model)
    fit(model, samples(), squares, 5)
    after = weights_of(model)
    assert after[3] == before[3] and not torch.equal(after[:3], before[:3])


def test_fit_works_in_another_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(fit(line(), samples(), squares, 5)))
    thread.start()
    thread.join()
    assert found and found[0].finished


# Stopping and going on


def stopping(at, how):
    """The loss, which calls `how` instead when it is asked for the `at`-th time."""
    calls = []

    def loss(model, x):
        calls.append(1)
        if len(calls) == at + 1:
            model.layer.weight.sum().backward()  # half of a step
            how()
        return squares(model, x)

    return loss


def interrupt():
    raise KeyboardInterrupt


SOURCES = {"iterator": samples, "list": lambda: list(samples(6)), "of length": lambda: by_length(0)}
STEPS = 20


def by_length(seed):
    return batches_by_length(list(range(30)), lambda i: i % 7, as_batch, size=4, seed=seed)


def as_batch(numbers):
    return torch.tensor(numbers).float()[:, None] / 10 * torch.tensor([1.0, -0.5, 0.2])


@pytest.mark.parametrize("at", [0, 1, 7, 19])
@pytest.mark.parametrize("source", SOURCES)
def test_an_interrupted_run_goes_on_to_the_very_same_weights(source, at, capsys):
    whole, model, batches = line(), line(), SOURCES[source]()
    straight = fit(whole, SOURCES[source](), squares, STEPS)
    capsys.readouterr()
    history = fit(model, batches, stopping(at, interrupt), STEPS)
    said = f"Stopped after {at} of 20 steps; fit(…, history=history) goes on.\n"
    assert capsys.readouterr().out == said
    assert len(history.losses) == at == updates(history) and not history.finished and not model.training
    assert repr(history).startswith(f"stopped after {at} steps")
    assert weights_of(model).isfinite().all() and model(torch.ones(1, 3)).shape == (1, 1)
    assert not torch.equal(weights_of(model), weights_of(whole))
    assert fit(model, batches, squares, STEPS, history=history) is history
    assert torch.equal(weights_of(model), weights_of(whole))
    assert history.losses == straight.losses and history.finished


def test_any_other_error_can_be_mended_too():
    whole, model, history, batches = line(), line(), History(), samples()
    fit(whole, samples(), squares, STEPS)
    with pytest.raises(ZeroDivisionError):
        fit(model, batches, stopping(5, lambda: 1 / 0), STEPS, history=history)
    assert not model.training and len(history.losses) == 5 == updates(history)
    fit(model, batches, squares, STEPS, history=history)
    assert torch.equal(weights_of(model), weights_of(whole))


@pytest.mark.parametrize("made", [False, True], ids=["before it", "after it"])
def test_an_interrupt_at_the_optimiser_s_step_costs_one_step_at_most(monkeypatch, made):
    model, history, batches, step = line(), History(), samples(), torch.optim.Adam.step

    def stopped(self):
        if made:
            step(self)
        torch.set_grad_enabled(False)  # as it is within the optimiser's step
        raise KeyboardInterrupt

    fit(model, batches, stopping(4, interrupt), STEPS, history=history)
    monkeypatch.setattr(torch.optim.Adam, "step", stopped)
    fit(model, batches, squares, STEPS, history=history)
    assert len(history.losses) == 4 and updates(history) == 4 + made and not model.training
    assert torch.is_grad_enabled()
    monkeypatch.undo()
    fit(model, batches, squares, STEPS, history=history)
    assert len(history.losses) == STEPS and history.finished
    again = list(samples(STEPS))
    again[4:4] = [again[4]] * made
    whole, rates = line(), [training.rate_at(i, STEPS, 50) for i in range(STEPS)]
    rates[4:4] = [rates[4]] * made
    monkeypatch.setattr(training, "rate_at", lambda i, *_: rates[i])
    fit(whole, again, squares, STEPS + made)
    assert torch.equal(weights_of(model), weights_of(whole))


def test_an_interrupt_in_the_middle_of_the_first_step_is_gone_on_from(monkeypatch):
    model, whole, history, batches = line(), line(), History(), samples()

    def stopped(self):
        self.state[model.layer.weight]["step"] = torch.tensor(0.0)  # before the averages that belong to it
        raise KeyboardInterrupt

    monkeypatch.setattr(torch.optim.Adam, "step", stopped)
    assert not fit(model, batches, squares, STEPS, history=history).finished
    monkeypatch.undo()
    fit(model, batches, squares, STEPS, history=history)
    fit(whole, samples(), squares, STEPS)
    assert torch.equal(weights_of(model), weights_of(whole))


def test_a_second_interrupt_while_the_first_is_told_leaves_the_model_usable(monkeypatch):
    def pressed_again(*_):
        raise KeyboardInterrupt

    model, history = line(), History()
    monkeypatch.setattr(training, "print", pressed_again, raising=False)
    with pytest.raises(KeyboardInterrupt):
        fit(model, samples(), stopping(3, interrupt), STEPS, history=history)
    assert not model.training and all(parameter.grad is None for parameter in model.parameters())
    assert len(history.losses) == 3


@pytest.mark.parametrize("of", ["endless", "of length"])
def test_the_course_s_batches_go_on_where_an_interrupt_hit_them(of):
    drawn = []

    def draw(numbers):
        drawn.append(numbers)
        if len(drawn) == 5:
            interrupt()
        return as_batch([1, 2, 3])

    groups = batches_by_length(list(range(30)), lambda i: i % 7, draw, size=4)
    batches, model = training.endless(draw, 4) if of == "endless" else groups, line()
    history = fit(model, batches, squares, STEPS)
    assert len(history.losses) == 4 and not history.finished
    assert len(fit(model, batches, squares, STEPS, history=history).losses) == STEPS and history.finished


def in_a_process(code, **environment):
    command = [sys.executable, "-c", "import sys; sys.path[:0] = ['tests/core', 'tests', '.']\n" + code]
    inherited = {name: value for name, value in os.environ.items() if name != "TQDM_DISABLE"}
    environment = {**inherited, "PYTHONUNBUFFERED": "1", **environment}
    streams = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return subprocess.Popen(command, cwd=ROOT, env=environment, text=True, encoding="utf-8", **streams)


STOPPED_BY_SIGNAL = """
import json, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a kernel, also where the tests run in the background
from test_training import *
def loss(model, x):
    if len(history.losses) == 5:
        print("ready")
    return squares(model, x)
model, history = line(), History()
fit(model, samples(), loss, 10**7, history=history)
print(json.dumps([len(history.losses), updates(history), history.finished, model.training,
                  weights_of(model).isfinite().all().item()]))
"""


@pytest.mark.lane("test")
@POSIX
def test_a_real_interrupt_stops_it():
    process = in_a_process(STOPPED_BY_SIGNAL)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    said, result = output.splitlines()
    losses, steps, *rest = json.loads(result)
    assert 5 <= losses <= steps <= losses + 1 and rest == [False, False, True]
    assert said == f"Stopped after {losses} of 10000000 steps; fit(…, history=history) goes on."


PRESSED_AGAIN_AND_AGAIN = """
import signal
from test_training import *
def in_the_loop(*_):
    frame = sys._getframe()
    while frame and frame.f_code is not fit.__code__:
        frame = frame.f_back
    if frame and frame.f_locals["model"].training:  # else the cell has not begun to train, or has ended
        raise KeyboardInterrupt
signal.signal(signal.SIGINT, in_the_loop)
chance, stops, calm = random.Random(0), 0, threading.Event()
fit(line(), samples(), squares, 1)  # what is imported by then is not imported while somebody presses
def press():
    calm.wait(chance.uniform(0, 0.03))
    os.kill(os.getpid(), signal.SIGINT)
while stops < 12:
    model, history, batches = line().eval(), History(), by_length(0)
    while not history.finished:
        thread = threading.Thread(target=press)
        thread.start()
        try:
            fit(model, batches, squares, 300, 0.05, history=history)
        except KeyboardInterrupt:  # while it told of the end
            pass
        thread.join()
        stops += not history.finished
        assert not model.training and all(p.grad is None for p in model.parameters()), "left as it was in training"
        assert weights_of(model).isfinite().all()
    assert len(history.losses) == 300
    assert history.losses[0] > 0.5 > 1e-2 > training.mean_of_last(history.losses), history.losses
print(stops)
"""


@pytest.mark.lane("all", "training", "test_training")
@POSIX
def test_stopped_again_and_again_at_any_moment_it_still_learns():
    output, errors = in_a_process(PRESSED_AGAIN_AND_AGAIN, TQDM_DISABLE="1").communicate(timeout=300)
    assert output.splitlines() and output.splitlines()[-1].isdigit(), errors[-2000:]
    assert int(output.splitlines()[-1]) >= 12


def test_a_run_is_saved_and_gone_on_with_elsewhere():
    whole, model = line(), line()
    fit(whole, list(samples(6)), squares, STEPS)
    history = fit(model, list(samples(6)), stopping(12, interrupt), STEPS)
    file = io.BytesIO()
    torch.save([model.state_dict(), history.optimiser.state_dict(), history.losses], file)
    file.seek(0)
    weights, state, losses = torch.load(file)
    model, history = line(number=5), History()
    model.load_state_dict(weights)
    history.losses, history.optimiser = losses, torch.optim.Adam(model.parameters(), fused=True)
    history.optimiser.load_state_dict(state)
    fit(model, list(samples(6)), squares, STEPS, history=history)  # 12 steps are two passes: the list begins anew
    assert torch.equal(weights_of(model), weights_of(whole))


class FailsOnce:
    """Batches from a file that cannot be read at first."""

    def __init__(self, at):
        self.at, self.failed = at, False

    def __iter__(self):
        for i, batch in enumerate(samples(6)):
            if i == self.at and not self.failed:
                self.failed = True
                raise OSError("the disk is away")
            yield batch


@pytest.mark.parametrize("at", [0, 4])
def test_a_batch_that_failed_is_drawn_again(at):
    model, whole, history, batches = line(), line(), History(), FailsOnce(at)
    with pytest.raises(OSError, match="the disk is away"):
        fit(model, batches, squares, STEPS, history=history)
    assert len(history.losses) == at and not model.training
    fit(model, batches, squares, STEPS, history=history)
    fit(whole, list(samples(6)), squares, STEPS)
    assert torch.equal(weights_of(model), weights_of(whole))


def test_a_generator_that_failed_is_named_and_another_goes_on():
    model, history, batches = line(), History(), iter(FailsOnce(4))
    with pytest.raises(OSError):
        fit(model, batches, squares, STEPS, history=history)
    with pytest.raises(ValueError, match="there is no batch .* One that failed, or was stopped .* has to be made anew"):
        fit(model, batches, squares, STEPS, history=history)
    assert fit(model, samples(), squares, STEPS, history=history).finished


def test_a_finished_run_stays_as_it_is_or_goes_further():
    model = line()
    history = fit(model, samples(), squares, 10)
    before, losses = weights_of(model), list(history.losses)
    fit(model, samples(), squares, 10, history=history)
    assert torch.equal(weights_of(model), before) and history.losses == losses and history.finished
    fit(model, samples(), stopping(3, interrupt), 20, history=history)
    assert len(history.losses) == 13 and not history.finished
    fit(model, samples(), squares, 20, history=history)
    assert len(history.losses) == 20 and history.finished


def test_batches_that_end_are_named_and_what_was_learned_stays():
    model, history = line(), History()
    with pytest.raises(ValueError, match="a generator that does not end"):
        fit(model, samples(7), squares, 20, history=history)
    assert len(history.losses) == 7 and not model.training and not history.finished
    fit(model, samples(), squares, 20, history=history)
    assert history.finished


BLOW_UPS = {
    "loss is nan": lambda model, x: squares(model, x) * math.nan,
    "loss is inf": lambda model, x: squares(model, x) + math.inf,
    "loss is 0.0 and the norm of its gradients nan": lambda model, x: (squares(model, x) * 0).sqrt(),
}


@pytest.mark.parametrize("said", BLOW_UPS)
def test_a_loss_or_gradient_that_is_no_number_changes_no_weight(said):
    model, history, kept = line(), History(), []

    def loss(model, x):
        if len(history.losses) < 3:
            return squares(model, x)
        kept.append(weights_of(model))
        return BLOW_UPS[said](model, x)

    with pytest.raises(ValueError, match="smaller learning_rate") as caught:
        fit(model, samples(), loss, 20, history=history)
    assert f"at step 3, the {said}" in str(caught.value)
    assert len(history.losses) == 3 and not model.training and torch.equal(weights_of(model), kept[0])


def test_the_loss_of_another_model_is_refused_and_the_right_one_goes_on():
    model, other, history, whole = line(), line(number=1), History(), line()
    before, batches = weights_of(model), list(samples(6))
    with pytest.raises(ValueError, match="does not depend on this Line: no parameter of it has a gradient"):
        fit(model, batches, lambda _, x: squares(other, x), STEPS, history=history)
    assert torch.equal(weights_of(model), before) and not history.losses and not history.finished
    fit(model, batches, squares, STEPS, history=history)
    fit(whole, batches, squares, STEPS)
    assert torch.equal(weights_of(model), weights_of(whole))


def test_a_loss_may_leave_a_part_of_the_model_out():
    model = nn.ModuleList([line(), line(number=1)])
    used, spare = weights_of(model[0]), weights_of(model[1])
    assert fit(model, samples(), lambda model, x: squares(model[0], x), 3).finished
    assert not torch.equal(weights_of(model[0]), used) and torch.equal(weights_of(model[1]), spare)


def frozen():
    model = line()
    model.requires_grad_(False)
    return model


def on_with(model, steps, made_steps=5):
    return fit(model, samples(), squares, steps, history=fit(line(number=1), samples(), squares, made_steps))


REFUSED = {
    "Identity has no parameter to train": lambda: fit(nn.Identity(), samples(), squares, 5),
    "Line has no parameter to train": lambda: fit(frozen(), samples(), squares, 5),
    "steps 2.5 must be whole numbers": lambda: fit(line(), samples(), squares, 2.5),
    "steps '5' must be whole numbers": lambda: fit(line(), samples(), squares, "5"),
    "clip = 0 must be a number above 0": lambda: fit(line(), samples(), squares, 5, clip=0),
    "clip = -1 must be a number above 0": lambda: fit(line(), samples(), squares, 5, clip=-1),
    "clip = None must be a number above 0": lambda: fit(line(), samples(), squares, 5, clip=None),
    "clip = nan must be a number above 0": lambda: fit(line(), samples(), squares, 5, clip=math.nan),
    "learning_rate = -0.1 must be a number above 0": lambda: fit(line(), samples(), squares, 5, -0.1),
    "steps = -3 must be at least 1": lambda: fit(line(), samples(), squares, -3),
    "steps = 0 must be at least 1": lambda: fit(line(), samples(), squares, 0),
    "steps = 3 must be at least 1, and at least the 5": lambda: on_with(line(), 3),
    "the history is that of another model": lambda: on_with(line(number=1), 9),
    "there is no batch (left)": lambda: fit(line(), [], squares, 5),
    "batches of the type NoneType cannot be gone through": lambda: fit(line(), None, squares, 5),
    "one number, a tensor that depends on the model, not 1.5": lambda: fit(line(), samples(), lambda *_: 1.5, 5),
    "not tensor(2.)": lambda: fit(line(), samples(), lambda *_: torch.tensor(2.0), 5),
    "not tensor([[": lambda: fit(line(), samples(), lambda model, x: model(x), 5),
}


@pytest.mark.parametrize("said", REFUSED)
def test_bad_input_is_named(said):
    with pytest.raises(ValueError) as caught:
        REFUSED[said]()
    assert said in str(caught.value)


# The progress bar

IN_A_KERNEL = """
import ipykernel.zmqshell  # by this tqdm knows a notebook
from tqdm.notebook import tqdm as of_notebooks
from test_training import *
import time
print(issubclass(training.tqdm, of_notebooks))
if not issubclass(training.tqdm, of_notebooks):
    fit(line(), samples(), lambda model, x: time.sleep(0.1) or squares(model, x), 12)
"""


@pytest.mark.lane("all", "training", "test_training")
def test_the_bar_falls_back_to_text_and_shows_the_loss():
    output, errors = in_a_process(IN_A_KERNEL).communicate(timeout=60)
    assert output == "True\n", errors
    blocked = "sys.modules['ipywidgets'] = None\n" + IN_A_KERNEL
    process = in_a_process(blocked)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and output == "False\n", errors
    drawn = errors.split("\r")
    assert any("/12 [" in text and "loss " in text and "%|" in text for text in drawn), errors


@pytest.mark.lane("all", "training", "test_training")
@pytest.mark.parametrize("kernel", ["", "import ipykernel.zmqshell\n"], ids=["text", "notebook"])
def test_a_disabled_bar_is_silent(kernel):
    code = kernel + "from test_training import *\nprint(fit(line(), samples(), squares, 30).finished)"
    process = in_a_process(code, TQDM_DISABLE="1")
    assert process.communicate(timeout=60) == ("True\n", "")


# Batches


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=60),
    size=st.integers(1, 7),
    pool=st.integers(1, 4),
    seed=st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_every_pass_covers_every_item_once(lengths, size, pool, seed):
    items = list(enumerate(lengths))
    batches = batches_by_length(items, lambda item: item[1], list, size, seed, pool)
    full, rest = divmod(len(items), size * pool)
    count = full * pool + -(-rest // size)
    for _ in range(2):
        one_pass = list(islice(batches, count))
        assert sorted(item for batch in one_pass for item in batch) == items
        assert max(map(len, one_pass)) <= size


def padding_share(batches):
    places = sum(max(batch) * len(batch) for batch in batches)
    return 1 - sum(map(sum, batches)) / places


def test_batches_hold_items_of_like_length_in_an_order_that_the_seed_settles():
    chance = random.Random(0)
    lengths = [chance.randint(3, 16) for _ in range(3000)]

    def first_pass(**options):
        return list(islice(batches_by_length(lengths, lambda n: n, list, 32, **options), 94))

    mixed = [lengths[i : i + 32] for i in range(0, 3000, 32)]
    assert padding_share(first_pass()) < 0.05 < 0.3 < padding_share(mixed)
    assert first_pass(seed=1) == first_pass(seed=1) != first_pass(seed=2)
    longest = [max(batch) for batch in first_pass(pool=100)]  # all in one pool
    assert longest != sorted(longest) and longest != sorted(longest, reverse=True)
    two = list(islice(batches_by_length(list(range(50)), lambda n: n, list, 50), 2))
    assert two[0] == two[1] == sorted(two[0])
    shuffled = list(islice(batches_by_length(list(range(50)), lambda n: 0, list, 50), 2))
    assert shuffled[0] != shuffled[1] != list(range(50))


@pytest.mark.parametrize("items, size, pool", [([], 4, 4), ([1], 0, 4), ([1], -1, 4), ([1], 4, 0)])
def test_no_items_or_no_size_is_named(items, size, pool):
    with pytest.raises(ValueError, match=rf"{len(items)} items .* size {size} in pools of {pool}"):
        next(batches_by_length(items, int, list, size, pool=pool))


# The loss


@pytest.mark.filterwarnings("error")
def test_the_loss_ignores_padding():
    logits = draw(2, 4, 5).requires_grad_()
    loss = training.sequence_loss(logits, TARGETS, MASK)
    by_hand = [-logits[b, i].log_softmax(-1)[TARGETS[b, i]] for b, i in MASK.nonzero().tolist()]
    assert len(by_hand) == 6
    torch.testing.assert_close(loss, sum(by_hand) / 6)
    loss.backward()
    assert not logits.grad[~MASK].any() and logits.grad[MASK].all()
    spoilt = logits.detach().masked_fill(~MASK[..., None], math.nan)
    torch.testing.assert_close(training.sequence_loss(spoilt, TARGETS.masked_fill(~MASK, 4), MASK), loss.detach())
    assert measures.perplexity(loss) > 1


def test_there_is_no_mean_of_no_loss():
    with pytest.raises(ValueError, match="at least one data point"):
        training.mean_of_last([])


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_targets_may_be_whole_numbers_of_both_sizes(dtype):
    logits = draw(2, 4, 5)
    expected = training.sequence_loss(logits, TARGETS, MASK)
    assert torch.equal(training.sequence_loss(logits, TARGETS.to(dtype), MASK), expected)
    assert measures.token_accuracy(logits, TARGETS.to(dtype), MASK) == measures.token_accuracy(logits, TARGETS, MASK)


@pytest.mark.parametrize("dtype", [torch.int16, torch.uint8, torch.bool])
def test_targets_that_are_no_ids_are_refused_by_name(dtype):
    for measured in (training.sequence_loss, measures.token_accuracy):
        with pytest.raises(ValueError, match=f"int64 or int32, not .* of {dtype}: .long"):
            measured(draw(2, 4, 5), TARGETS.to(dtype), MASK)


def test_loss_and_accuracy_of_a_model_leave_out_negative_targets():
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    targets = torch.tensor([[1, -100, 4], [-1, 0, 2]])
    drawn = training.endless(lambda count, n: (torch.zeros(count, n), targets), 2, n=3)
    batch = next(drawn)
    assert next(drawn)[0].shape == batch[0].shape == (2, 3)
    kept = targets >= 0
    expected = F.cross_entropy(logits[kept], targets[kept])
    torch.testing.assert_close(training.loss_of(lambda inputs: (logits, None), batch), expected)
    share = (logits.argmax(-1) == targets)[kept].float().mean().item()
    assert measures.accuracy(lambda inputs: (logits, None), *batch) == pytest.approx(share)
