"""Whatever a learner's function does, it ends with a message, a living kernel, and the process as it was before."""

import builtins
import contextlib
import gc
import itertools
import linecache
import math
import os
import random
import re
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from jupyter_client.manager import KernelManager
from learner import said, written
from torch.utils._python_dispatch import TorchDispatchMode

from utils.exercises import catalogue, check, hint, progress, solution, use
from utils.judge.catalogue.candidates import Known
from utils.judge.run import sandbox

RIGHT = "return weights @ values"
FOUND = catalogue()["weighted_sum"]
VERBS = {"check": check, "hint": hint, "solution": solution, "use": use}
PUBLIC = [
    (module, [name for name in vars(module) if name[0] != "_"])
    for module in (*sandbox.STANDARD_MODULES, *sandbox.WATCHED)
]


@pytest.fixture(autouse=True)
def time_enough(monkeypatch):
    """What is not about time has time on a slow machine, where a first import inside torch may take ten seconds."""
    monkeypatch.setattr(sandbox, "SECONDS", 200.0)


def process_state():
    """All that an answer may leave switched, in a form that can be compared."""
    return [
        *(read() for _, read, _ in sandbox.SWITCHES),
        torch.get_rng_state().tolist(),
        random.getstate(),
        np.random.get_state()[1].tolist(),
        signal.getsignal(sandbox.ALARM),
        signal.getitimer(signal.ITIMER_REAL),
        sandbox.Sandbox.current,
        [[id(vars(module).get(name)) for name in names] for module, names in PUBLIC],
        dict(vars(torch.Tensor)),
    ]


# ---- what is left switched


class Refusing(torch.overrides.TorchFunctionMode):
    """It keeps torch from doing anything."""

    def __torch_function__(self, *_):
        raise RuntimeError


class RefusingInside(TorchDispatchMode):
    def __torch_dispatch__(self, *_):
        raise RuntimeError


SWITCHED = [  # what the answer does; how it is named
    ("torch.set_default_dtype(torch.float64)", "torch's default dtype"),
    ("torch.set_default_device('meta')", "torch's default device"),
    ("torch.set_grad_enabled(False)", "torch's recording of gradients"),
    ("torch.set_num_threads(torch.get_num_threads() + 1)", "torch's number of threads"),
    ("torch.use_deterministic_algorithms(True)", "torch's deterministic mode"),
    ("torch.autograd.set_detect_anomaly(True)", "torch's anomaly detection"),
    ("sys.setrecursionlimit(sys.getrecursionlimit() + 1)", "Python's recursion limit"),
    ("warnings.filterwarnings('error')", "the filters of warnings"),
    ("sys.path.append('here')", "sys.path"),
    ("sys.stdout = None", "sys.stdout"),
    ("sys.stderr = sys.stdout = open(os.devnull, 'w')", "sys.stdout and sys.stderr"),
    ("math.sqrt = lambda x: 2.0", "math.sqrt"),
    ("math.pi = torch.ones(2)", "math.pi"),
    ("torch.softmax = torch.sigmoid", "torch.softmax"),
    ("torch.nn.functional.relu = None", "torch.nn.functional.relu"),
    ("np.sum = None", "numpy.sum"),
    ("builtins.len = builtins.map = builtins.zip = builtins.all = None", "all, len, map and zip"),
    ("del builtins.len", "len"),
    ("np.seterr(all='raise')", "what NumPy does with errors"),
    ("np.set_printoptions(precision=2)", "how NumPy prints"),
    ("torch.set_printoptions(precision=2, sci_mode=False)", "how torch prints"),
    ("torch.set_float32_matmul_precision('medium')", "torch's precision of products"),
    ("torch.autocast('cpu').__enter__()", "torch's autocast"),
    ("os.chdir('/')", "the current folder"),
    ("os.environ['ATTENTION_MARKED'] = '1'; del os.environ['PATH']", "variables of the environment"),
    ("gc.disable()", "the collection of garbage"),
    ("signal.signal(signal.SIGINT, signal.SIG_IGN)", "what an interrupt does"),
    ("sys.setswitchinterval(1e-3)", "how often Python's threads take turns"),
    ("sys.settrace(lambda *_: None)", "what traces Python"),
    ("torch.nn.modules.module.register_module_forward_hook(print)", "hooks of every module"),
    ("torch.Tensor.softmax = lambda *_: 1", "torch.Tensor.softmax"),
    ("torch.Tensor.__matmul__ = torch.Tensor.__rpow__ = None", "torch.Tensor.__matmul__ and torch.Tensor.__rpow__"),
    ("np.linalg.norm = None", "numpy.linalg.norm"),
    ("from utils import attention; attention.masked_softmax_ = None", "utils.attention.masked_softmax_"),
    ("torch.nn.Linear.forward = lambda self, x: 0 * x", "torch.nn.Linear.forward"),
    ("torch.nn.Linear.forward = torch.nn.ReLU.own = torch.ones(2)", "torch.nn.Linear.forward and torch.nn.ReLU.own"),
    ("torch.set_flush_denormal(True)", "torch's rounding of tiny numbers to 0"),
    ("torch.backends.mkldnn.enabled = False", "torch's use of oneDNN"),
    ("os.umask(os.umask(0) ^ 1)", "the permissions of new files"),
    ("sys.excepthook = sys.displayhook = print", "sys.excepthook and sys.displayhook"),
    ("sys.setprofile(lambda *_: None)", "what profiles Python"),
    ("torch.device('meta').__enter__()", "torch's default device"),
    ("torch.overrides.BaseTorchFunctionMode().__enter__()", "a mode of torch's functions"),
    ("Refusing().__enter__()", "a mode of torch's functions"),
    ("RefusingInside().__enter__()", "a mode of torch's functions"),
]


MODULES = {
    "gc": gc,
    "signal": signal,
    "Refusing": Refusing,
    "RefusingInside": RefusingInside,
    "sys": sys,
    "os": os,
    "warnings": warnings,
    "builtins": builtins,
    "random": random,
    "itertools": itertools,
}


@pytest.mark.parametrize("body, name", SWITCHED, ids=[name for _, name in SWITCHED])
@pytest.mark.parametrize("end", [RIGHT, "raise ValueError"], ids=["right", "raises"])
def test_what_an_answer_switches_is_set_back_and_named(body, name, end, capsys):
    before = process_state()
    text = said(capsys, written(f"{body}\n{end}", **MODULES))
    assert process_state() == before
    assert text.startswith(f"✘ weighted_sum: your function sets {name}: ")


@pytest.mark.parametrize(
    "body",
    [
        "torch.manual_seed(0); np.random.seed(0); random.seed(0)",
        "torch.rand(1), np.random.rand(1), random.random()",
        "warnings.simplefilter('ignore')",
        "with torch.no_grad(), warnings.catch_warnings(): warnings.simplefilter('error')",
    ],
)
def test_what_an_answer_may_do_is_undone_without_a_word(body):
    before = process_state()
    assert FOUND.verdict(written(f"{body}\n{RIGHT}", **MODULES)).message == "right on all 9 inputs."
    assert process_state() == before


def test_first_import_in_an_answer_is_not_taken_for_a_patch(tmp_path, monkeypatch):
    (tmp_path / "patches_warnings.py").write_text("import warnings\nwarnings.filterwarnings('always', module='mine')")
    monkeypatch.syspath_prepend(tmp_path)
    assert FOUND.verdict(written(f"import patches_warnings\n{RIGHT}")).status == "right"


def test_reference_and_known_mistakes_are_not_spoiled_by_the_answer(capsys, monkeypatch):
    """With math.sqrt patched the reference was wrong too, and a right answer was told of a mistake."""
    spoiled = "math.sqrt = lambda x: 1.0\n"
    right = written(f"{spoiled}return keys @ query / query.shape[-1] ** 0.5", "attention_scores")
    assert "sets math.sqrt: " in said(capsys, right)
    found, done = catalogue()["attention_scores"], []
    monitored = [row._replace(function=lambda *a: done.append(math.sqrt(4)) or 0) for row in found.rows]
    wrong = written("torch.set_default_dtype(torch.float64)\nreturn 3 * keys @ query", "attention_scores")
    monkeypatch.setattr(found, "known", Known(found.reference, monitored, next(found.inputs())))
    assert "sets torch's default dtype" in said(capsys, wrong)
    said(capsys, written("return 3 * keys @ query", "attention_scores"))
    assert set(done) == {2.0}


def test_answer_is_judged_in_torchs_standard_state_whatever_a_cell_set(capsys):
    """A learner who tried the function by hand has switched already what it switches."""
    torch.set_default_dtype(torch.float64)
    try:
        text = said(capsys, written(f"torch.set_default_dtype(torch.float64)\n{RIGHT}"))
        assert "sets torch's default dtype" in text
        assert torch.get_default_dtype() == torch.float64, "what a cell has set is the cell's"
        with torch.no_grad():
            assert FOUND.verdict(written(RIGHT)).status == "right" and not torch.is_grad_enabled()
    finally:
        torch.set_default_dtype(torch.float32)


# ---- another default device


@contextlib.contextmanager
def set_as_default(device):
    torch.set_default_device(device)
    try:
        yield
    finally:
        torch.set_default_device(None)


WAYS = {"set_default_device": set_as_default, "with torch.device": torch.device}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def elsewhere(request):
    """A context in which torch makes tensors on `meta`, where no judge could compare numbers."""

    @contextlib.contextmanager
    def context():
        with request.param("meta"):
            before = torch.get_default_device(), torch.overrides._get_current_function_mode_stack()
            yield
            after = torch.get_default_device(), torch.overrides._get_current_function_mode_stack()
            assert torch.zeros(1).is_meta and after == before, "what a cell has set is the cell's"

    return context


@pytest.mark.sampled(8, "utils/judge/", "utils/exercises/")
@pytest.mark.parametrize("found", catalogue().values(), ids=list(catalogue()))
def test_an_exercise_is_judged_on_the_cpu_whatever_the_default_device(found, elsewhere):
    wrong = found.rows[0].function
    told = found.verdict(wrong)
    vars(found).pop("known", None)  # as before the first check
    with elsewhere():
        assert found.verdict(found.reference).status == "right"
        assert found.verdict(wrong) == told
        drawn = [value for value in next(found.inputs()).values() if isinstance(value, torch.Tensor)]
    assert all(value.device.type == "cpu" for value in drawn)


OTHER_KINDS = [
    RIGHT,
    "return (weights @ values).tolist()",
    "return 2 * weights @ values",
    "return values @ weights",
    "...",
]


@pytest.mark.parametrize("body", OTHER_KINDS)
def test_every_verb_says_the_same_whatever_the_default_device(body, elsewhere, capsys):
    def run():
        function = written(body)
        for verb in (check, check, hint, solution):  # a second check shows a small example
            verb(function)
        progress()
        used = use(function)
        assert use("weighted_sum") is FOUND.reference
        FOUND.hints_given, FOUND.said = 0, ""
        return used is function, used is FOUND.reference, capsys.readouterr().out

    expected = run()
    vars(FOUND).pop("known", None)
    with elsewhere():
        assert run() == expected


def test_a_default_device_that_an_answer_sets_is_set_back_to_that_of_the_cell(elsewhere, capsys):
    with elsewhere():
        assert "sets torch's default device: " in said(capsys, written(f"torch.set_default_device('meta')\n{RIGHT}"))


# ---- what does not end


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS", 0.4)


ENDLESS = [  # the answer, the parts of the message
    ("i = 0\nwhile i < 3:\n    j = i + 1", ["in the loop `while i < 3:`"]),
    ("while True:\n    pass", ["in the loop `while True:`"]),
    ("for i in itertools.count():\n    pass", ["in the loop `for i in itertools.count():`"]),
    ("rows = [1]\nfor row in rows:\n    rows.append(row)", ["in the loop `for row in rows:`"]),
    ("while True:\n    for i in range(9):\n        weights.sum()", ["of work, in the loop `while True:`"]),
    ("while True:\n    try:\n        weights.sum()\n    except:\n        pass", ["in the loop `while True:`"]),
    ("while True:\n    print('x' * 1000)", ["in the loop `while True:`"]),
    ("def helper():\n    while True:\n        pass\nhelper()", ["in the loop `while True:`"]),
    ("time.sleep(60)", ["in your line `time.sleep(60)`"]),
]


@pytest.mark.parametrize("body, parts", ENDLESS, ids=[body for body, _ in ENDLESS])
def test_endless_loop_is_stopped_and_named(body, parts, short, capsys):
    before = process_state()
    text = said(capsys, written(body, **MODULES, time=time))
    assert process_state() == before
    *printed, verdict = text.splitlines()
    assert re.match(r"✘ weighted_sum: your function was still running after (0.4 seconds of work|1.2 seconds)", verdict)
    assert all(part in verdict for part in parts), text
    assert len(text) < 1400


def test_the_seconds_that_are_named_went_by(short, capsys):
    began = time.monotonic()
    text = said(capsys, written("time.sleep(60)", time=time))
    assert "was still running after 1.2 seconds" in text and time.monotonic() - began >= 1.2


def test_use_does_not_wait_again_for_a_function_that_was_stopped(short):
    runs = []
    endless = written("runs.append(1)\nwhile True:\n    pass", runs=runs)
    check(endless)
    assert len(runs) == 1, "the other draws would take as long"
    assert use(endless) is FOUND.reference and len(runs) == 1
    another = written("runs.append(1)\nwhile True:\n    pass", runs=runs)
    assert use(another) is use(another) is FOUND.reference and len(runs) == 2
    mended = written(RIGHT)
    assert use(mended).__wrapped__ is mended


def test_result_that_cannot_be_compared_in_time(short, capsys):
    body = "class Odd(list):\n    def __iter__(self):\n        while True: pass\nreturn Odd([values])"
    text = said(capsys, written(body))
    time_is_up = "was still running after (0.4 seconds of work|1.2 seconds)"  # the second on a busy computer
    assert re.search(f"the judging of your result, an Odd, was stopped: it {time_is_up}", text)


def test_memory_is_bounded(monkeypatch, capsys):
    monkeypatch.setattr(sandbox, "MEMORY", 50_000_000)
    text = said(capsys, written("rows = []\nwhile True:\n    rows.append('x' * 100_000)"))
    assert "takes more than 50 MB of memory" in text and "in the loop `while True:`" in text
    text = said(capsys, written("return torch.zeros(10**12)"))
    assert "4000000000000 bytes are more than there is" in text and "DefaultCPUAllocator" not in text


@pytest.mark.lane("test")
def test_alarm_of_others_is_given_back(short):
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    signal.setitimer(signal.ITIMER_REAL, 4, 0.2)  # late enough for a machine with other work
    began = time.monotonic()
    try:
        FOUND.verdict(written("while True:\n    pass"))
        left, passed = signal.getitimer(signal.ITIMER_REAL)[0], time.monotonic() - began
        assert not rung and 0 < left < 3.7, "less than at first: 0.4 seconds went by"
        assert abs(left + passed - 4) < 0.3, "the time that went by is taken off"
        until = time.monotonic() + 20
        while len(rung) < 2 and time.monotonic() < until:
            time.sleep(0.1)
        assert len(rung) >= 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_without_a_timer_of_the_system_a_thread_asks(short, monkeypatch):
    """As on Windows."""
    monkeypatch.delattr(signal, "setitimer")
    monkeypatch.setattr(sandbox, "ALARM", signal.SIGTERM)
    before, threads = signal.getsignal(signal.SIGTERM), threading.active_count()
    verdict = FOUND.verdict(written("while True:\n    pass"))
    assert "in the loop `while True:`" in verdict.message
    assert signal.getsignal(signal.SIGTERM) == before and threading.active_count() == threads


def test_another_thread_may_check():
    verdicts = []
    thread = threading.Thread(target=lambda: verdicts.append(FOUND.verdict(written(RIGHT))))
    thread.start()
    thread.join()
    assert verdicts[0].status == "right"


def test_interrupt_gets_through_and_leaves_nothing_behind():
    before = process_state()
    with pytest.raises(KeyboardInterrupt):
        check(written("torch.set_default_dtype(torch.float64)\nmath.sqrt = None\nraise KeyboardInterrupt"))
    assert process_state() == before


# ---- what an answer calls, prints and returns


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("body", ["{}(weighted_sum)\n" + RIGHT, "result = weights @ values\n{}(weighted_sum)"])
def test_verb_inside_the_function_is_named(verb, body, capsys):
    text = said(capsys, written(body.format(verb), **VERBS))
    assert text.startswith(f"✘ weighted_sum: {verb}(…) stands inside a function") and text.count("\n") == 1
    assert use(written(body.format(verb), **VERBS)) is FOUND.reference


@pytest.mark.parametrize("body", ["sys.exit()", "raise SystemExit", "return weighted_sum(weights, values)"])
def test_exit_and_recursion_end_in_a_message(body, capsys):
    text = said(capsys, written(body, sys=sys))
    assert f"In your line `{body}`" in text and text.count("\n") == 1


@pytest.mark.parametrize(
    "body",
    [
        "x = []\nfor _ in range(100_000):\n    x = [x]\nreturn x",
        "class Odd(TypeError):\n    def __str__(self): raise ValueError\nraise Odd",
        "class Odd(ValueError):\n    def __str__(self): raise SystemExit\nraise Odd",
        "class Odd:\n    def __eq__(self, other): raise ValueError\n    __repr__ = __str__ = __eq__\nreturn Odd()",
        "class Odd:\n    def __eq__(self, other): raise SystemExit\n    __repr__ = __eq__\nreturn Odd(), Odd()",
        "class Odd(int):\n    def __index__(self): print('x'); raise SystemExit\nreturn [Odd()]",
        "weights.resize_(0)\nreturn values[0]",
        "sys.stdout.close()",
    ],
)
def test_odd_results_and_exceptions_end_in_one_line(body, capsys):
    text = said(capsys, written(body, sys=sys))
    assert text.startswith("✘ weighted_sum: ") and text.count("\n") == 1 and len(text) < 400


def test_megabytes_of_a_message_are_not_worked_on(capsys):
    began = time.process_time()
    text = said(capsys, written("raise ValueError('x y ' * 2_500_000)"))
    assert "ValueError" in text and len(text) < 400 and time.process_time() - began < 2


def test_odd_object_put_into_an_argument(capsys):
    body = "class Odd:\n    def __eq__(self, other): raise ValueError\nlinks.append(Odd())\nreturn 0.0"
    assert "changes links in place" in said(capsys, written(body, "alignment_error_rate"))


def test_megabytes_of_prints_are_shortened(capsys):
    text = said(capsys, written(f"print('x' * 20_000_000)\n{RIGHT}"))
    assert text.startswith("x" * 1000 + "… (19,999,001 more characters)\n✔") and len(text) < 1200


def test_stderr_is_shown_once(capsys):
    check(written(f"print('to stderr', file=sys.stderr)\n{RIGHT}", sys=sys))
    out, err = capsys.readouterr()
    assert out.count("to stderr") == 1 and err == ""


# ---- a table of the answers


# Sizes and masks are drawn from a fixed list of shapes, whatever the seed.
DRAWN_BY_SEED = [
    name
    for name, found in catalogue().items()
    if found.asked == "function" and found._other_numbers(list(found.inputs()), 0)
]


def test_most_exercises_draw_other_numbers():
    assert len(DRAWN_BY_SEED) >= 22


@pytest.mark.sampled(8, "utils/judge/", "utils/exercises/")
@pytest.mark.parametrize("name", DRAWN_BY_SEED)
def test_table_of_the_answers_does_not_pass(name):
    found = catalogue()[name]

    def plain(value):
        if callable(value):
            return "a function"  # a new one in every draw
        if isinstance(value, list):
            return [plain(part) for part in value]
        return sorted(value) if isinstance(value, set) else value

    def key(arguments):
        return str([plain(value) for value in arguments])

    table = {key(inputs.values()): found(*inputs.values()) for inputs in found.inputs()}
    verdict = found.verdict(lambda *arguments: table.get(key(arguments), next(iter(table.values()))))
    assert verdict.status == "wrong" and verdict.message.startswith("your function is right on the "), verdict
    assert re.search("of every check, but not on others like them: |usual inputs, but not for", verdict.message)


# ---- in the words of the exercise at hand


def run_cell(source, namespace):
    """Run a cell as a kernel does, its lines in linecache."""
    filename = f"/tmp/ipykernel_4711/{hash(source)}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), namespace)


def test_examples_name_the_learners_function(capsys):
    namespace = {"attend": catalogue()["attend"].reference, "x": torch.ones(2), **VERBS}
    for line, example in (
        ("check(attend(x, x[None], x[None]))", "check(attend)"),
        ("hint(attend(x, x[None], x[None]))", "hint(attend)"),
        ("check('softmax')", "check(softmax)"),
        ("check(x)", "check(attend)"),
    ):
        run_cell(line, namespace)
        assert f": {example}." in capsys.readouterr().out


def test_exchanged_parameters_are_named(capsys):
    text = said(capsys, written("return weights @ values", parameters="values, weights"))
    assert "another order, (values, weights)" in text and "def weighted_sum(weights, values):" in text
    assert said(capsys, written("return (a * b).sum()", "dot_product", "b, a")).startswith("✔"), "where it is right"


def test_stub_run_again_after_use_says_what_the_cells_below_need(capsys):
    found = catalogue()["dot_product"]
    untouched = f"○ dot_product: not tried yet ({found.dots}, {found.minutes} minutes). hint(dot_product) helps."
    stub = "def dot_product(a, b):\n    return ...\n\ncheck(dot_product)\n"
    used, found.used, namespace = found.used, False, dict(VERBS)
    try:
        run_cell(stub, namespace)
        assert capsys.readouterr().out == f"{untouched}\n"
        run_cell("dot_product = use(dot_product)", namespace)
        run_cell(stub, namespace)
        said_again = " Until use(dot_product) runs again, the cells below work with this definition."
        assert capsys.readouterr().out == f"{untouched}{said_again}\n"
        run_cell(f"{stub}dot_product = use(dot_product)", namespace)
        assert capsys.readouterr().out == f"{untouched}\n", "where use follows in the same cell, all is well"
        for _ in range(2):  # heard twice, a message shows an example
            run_cell(stub.replace("...", "2.5 * (a @ b)"), namespace)
        *_, example, last = capsys.readouterr().out.splitlines()
        assert example.startswith("    yours: ") and last == said_again.lstrip(), "an example keeps its lines"
        run_cell(stub.replace("...", "a @ b"), namespace)
        assert "use(" not in capsys.readouterr().out
    finally:
        found.used = used


# ---- in a kernel


IN_A_CELL = "def weighted_sum(weights, values):\n    {}\n    return weights @ values\n\n"
KERNEL_SET_UP = (
    "import torch\nfrom utils.exercises import check, use\nfrom utils.judge.run import sandbox\nsandbox.SECONDS = 3\n"
)


@pytest.fixture(scope="module")
def kernel():
    manager = KernelManager()
    manager.start_kernel(cwd=Path(__file__).parents[2])
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=120)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def executed(client, code, during=lambda: None):
    """The outputs of a cell: (kind, text), and whether it went through."""
    outputs = []

    def hook(message):
        content = message["content"]
        if message["msg_type"] == "stream":
            outputs.append(("stream", content["text"]))
        elif message["msg_type"] == "display_data":
            outputs.append(("display", content["data"]["text/plain"]))

    timer = threading.Timer(0.5, during)
    timer.start()
    reply = client.execute_interactive(code, timeout=60, output_hook=hook)["content"]
    timer.join()
    return outputs, reply


@pytest.mark.lane("test")
def test_kernel_lives_on(kernel):
    manager, client = kernel
    outputs, reply = executed(client, KERNEL_SET_UP)
    assert reply["status"] == "ok", reply
    for line in ("exit()", "quit()", "get_ipython().ask_exit()", "while True: pass"):
        outputs, reply = executed(
            client, IN_A_CELL.format(line) + "check(weighted_sum)\nweighted_sum = use(weighted_sum)"
        )
        assert reply["status"] == "ok" and not reply["payload"] and len(outputs) == 1, (line, outputs, reply)
        assert outputs[0][1].startswith("✘ weighted_sum: ") and line in outputs[0][1]

    code = IN_A_CELL.format("display(len(values)); print('to', 'stdout')") + "check(weighted_sum)"
    outputs, _ = executed(client, code)
    assert outputs == [
        ("stream", "to stdout\n"),
        ("display", "3"),
        ("stream", "✔ weighted_sum: right on all 9 inputs.\n"),
    ]

    code = "import matplotlib.pyplot as plt\n" + IN_A_CELL.format("plt.figure()") + "check(weighted_sum)"
    outputs, _ = executed(client, code)
    assert [kind for kind, _ in outputs] == ["stream"] and outputs[0][1].startswith("✔"), "figures are not shown"

    code = "sandbox.SECONDS = 60\n" + IN_A_CELL.format("while True: pass") + "check(weighted_sum)"
    outputs, reply = executed(client, code, manager.interrupt_kernel)
    assert reply["status"] == "error" and reply["ename"] == "KeyboardInterrupt"
    outputs, _ = executed(client, IN_A_CELL.format("pass") + "check(weighted_sum)")
    assert outputs == [("stream", "✔ weighted_sum: right on all 9 inputs.\n")]
    time.sleep(0.5)
    assert manager.is_alive()
