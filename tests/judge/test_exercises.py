"""Every known mistake is diagnosed as itself, nothing wrong passes, and `check` never raises."""

import ast
import inspect
import math
import random
import re
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from learner import NOTEBOOK, file_of, said, written

from utils.exercises import catalogue, check, hint, solution, tasks, use
from utils.judge.case import Case
from utils.judge.catalogue.candidates import Known
from utils.judge.catalogue.rows import mistake as read_row
from utils.judge.catalogue.rows import sections
from utils.judge.compare import as_tensor, furthest, same, unchanged
from utils.judge.exercise import Exercise, exercise, source
from utils.judge.findings.kinds import wrong_type
from utils.judge.findings.values import furthest_entry
from utils.judge.run.calls import run

EXERCISES = list(catalogue().values())
MISTAKES = [(found, mistake) for found in EXERCISES for mistake in found.rows]
pytestmark = pytest.mark.sampled(8, "utils/judge/", "utils/exercises/")
each_exercise = pytest.mark.parametrize("found", EXERCISES, ids=lambda found: found.name)
FUNCTIONS = [found for found in EXERCISES if found.asked == "function"]  # test_class_exercises.py has the others
each_function = pytest.mark.parametrize("found", FUNCTIONS, ids=lambda found: found.name)


# ---- the catalogue


HEADINGS = "[one: mistakes]\n+ 1 ->\n    the one is missing.\n\n[two: right]\n= 2\n"


def test_a_file_of_rows_is_read_by_its_headings(tmp_path):
    (file := tmp_path / "tiny.txt").write_text(HEADINGS)
    found = sections(file, ("one", "two", "three"))
    assert list(found) == [("one", "mistakes"), ("two", "right")] and found["two", "right"] == "= 2\n"
    assert sections(tmp_path / "none.txt", ()) == {}


@pytest.mark.parametrize(
    "old, new, why",
    [
        ("[one:", "[ones:", r"tiny.txt: the heading \[ones: mistakes\] names no exercise of its module"),
        ("mistakes]", "mistake]", r"tiny.txt: the heading \[one: mistake\] is none of broken, mistakes, right"),
        ("[two: right]", "[one: mistakes]", r"tiny.txt: the heading \[one: mistakes\] stands there twice"),
        ("[two: right]", "[two:  right] ", r"tiny.txt: the heading \[two:  right\] is none of"),
        ("[one: mistakes]", "[one: mistakes", r"tiny.txt: '\[one: mistakes' stands above the first heading"),
    ],
)
def test_a_typo_in_a_heading_drops_nothing_in_silence(tmp_path, old, new, why):
    (file := tmp_path / "tiny.txt").write_text(HEADINGS.replace(old, new))
    with pytest.raises(ValueError, match=why):
        sections(file, ("one", "two", "three"))


def test_every_file_of_rows_stands_beside_its_module():
    """So no rows wait for a module of another name."""
    files = {path.stem for path in Path(tasks.__file__).parent.glob("*.txt")} - {"topics"}
    assert files == {found.__module__.rpartition(".")[2] for found in EXERCISES}


@pytest.mark.parametrize("found, mistake", MISTAKES, ids=lambda part: part.name)
def test_known_mistake_is_diagnosed_as_itself(found, mistake):
    broken = mistake is found.broken  # word for word as it was given, it is not tried yet
    verdict = found.verdict((lambda *arguments: mistake.function(*arguments)) if broken else mistake.function)
    company = f" You are in good company: {mistake.thread}" if mistake.thread else ""
    assert (verdict.status, verdict.message) == ("wrong", mistake.message + company)


RIGHT = [(found, answer) for found in EXERCISES for answer in found.answers]


@pytest.mark.parametrize(
    "found, answer",
    RIGHT,
    ids=lambda part: part.name if hasattr(part, "rows") else file_of(part),
)
def test_right_answer_passes(found, answer):
    verdict = found.verdict(answer)
    assert verdict.status == "right", verdict.message


@each_exercise
def test_every_exercise_has_several_right_answers(found):
    assert len(found.answers) >= 2


@each_exercise
def test_known_mistakes_can_be_told_apart(found):
    """On some draw any two differ, and none is known by its crash alone."""
    draws = list(found.inputs())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        behaviour = {mistake.name: [run(mistake.function, inputs) for inputs in draws] for mistake in found.rows}
    assert len(behaviour) == len(found.rows) == len({mistake.message for mistake in found.rows})

    def alike(a, b):
        return type(a.error) is type(b.error) if a.error or b.error else same(a.result, b.result)

    names = list(behaviour)
    for i, name in enumerate(names):
        assert any(done.error is None for done in behaviour[name]), f"{name} crashes on every draw"
        for other in names[i + 1 :]:
            assert not all(map(alike, behaviour[name], behaviour[other])), f"{name} and {other} behave the same"


@each_exercise
def test_reference_is_right_finite_and_leaves_its_inputs_alone(found):
    verdict = found.verdict(found.reference)
    assert verdict.status == "right", verdict.message
    for inputs in found.inputs():
        done = run(found.reference, inputs)
        results = done.result if isinstance(done.result, (tuple, list)) else (done.result,)
        numbers = [as_tensor(part) for part in results if not isinstance(part, str)]
        assert done.error is None and not any((part.isnan() | part.isposinf()).any() for part in numbers)
        for intermediate in found.intermediates.values():
            assert as_tensor(intermediate(*inputs.values())) is not None


@each_exercise
def test_draws_are_the_same_every_time_and_include_float64(found):
    first, second = list(found.inputs()), list(found.inputs())
    assert len(first) >= 3
    for one, other in zip(first, second, strict=True):
        assert all(unchanged(one[name], other[name]) for name in one)
    kinds = {value.dtype for inputs in first for value in inputs.values() if isinstance(value, torch.Tensor)}
    assert kinds - {torch.bool, torch.int64, torch.uint8} in ({torch.float32, torch.float64}, set())


@each_exercise
def test_hints_and_messages_help_without_giving_the_answer(found):
    assert len(found.hints) >= 2 and found.hints[0].count("?") >= 1, "the first hint is a question"
    assert inspect.getdoc(found.reference) and "returns" in inspect.getdoc(found.reference)
    last = ast.parse(source(found)).body[0].body[-1]
    returned = ast.unparse((last.body[-1] if isinstance(last, ast.FunctionDef) else last).value)
    texts = [*found.hints, *found.intermediates, *found.question_by_line.values(), *(row.message for row in found.rows)]
    for text in texts:
        assert returned not in text and f"({returned})" not in text
        assert not any(word in text.lower().split() for word in ("simply", "just", "obviously", "trivially"))
    for row in found.rows:
        assert row.message.endswith((".", "?")) and len(row.message) < 230


@each_exercise
def test_solution_is_complete_code_without_the_decorator(found, capsys):
    solution(found.course)
    code = capsys.readouterr().out
    assert code.startswith(f"{found.word} {found.name}(") and "draws" not in code
    namespace = {}
    exec("import math\nimport torch\nfrom torch import nn\n" + code, namespace)
    assert found.verdict(namespace[found.name]).status == "right"


# ---- two mistakes at once


@each_exercise
def test_two_slips_at_once_are_named(found):
    """By their two sentences; or they behave like a single mistake, another pair, the reference."""
    pairs = random.Random(0).sample(found.known.pairs, min(20, len(found.known.pairs)))
    verdicts = [found.verdict(pair.function) for pair in pairs]
    named = [verdict.status == "right" or bool(verdict.names) for verdict in verdicts]
    assert sum(named) >= 0.9 * len(pairs), [v.message for v, known in zip(verdicts, named) if not known]
    for pair, verdict in zip(pairs, verdicts):
        if verdict.names == pair.names:
            assert all(part.message in verdict.message for part in pair.parts) and "(1)" in verdict.message


def test_the_more_basic_of_two_slips_is_told_first():
    found = next(found for found in EXERCISES if found.known.pairs)
    order = [row.name for row in found.rows]
    assert all(order.index(one) < order.index(other) for one, other in (pair.names for pair in found.known.pairs))


def test_an_edit_has_to_fit_the_reference():
    def doubled(x):
        return x + x

    for row, times in (("nowhere -> x", 0), ("x -> 2", 2)):
        with pytest.raises(ValueError, match=f"doubled: `{row.split()[0]}` stands {times} times in the reference"):
            read_row(doubled, row, "a sentence.", "")


@pytest.mark.lane("test")
@each_exercise
def test_a_wrong_answer_is_judged_in_less_than_half_a_second(found):
    """Measured in processor time, after the first one, which computes what the catalogue does."""
    answer = next(inputs for inputs in found.inputs(5))

    def odd(*arguments):
        return found.reference(*answer.values())

    found.verdict(odd)
    began = time.process_time()
    assert found.verdict(odd).status != "todo"
    assert time.process_time() - began < 0.5


# ---- what never passes

ANSWERS = {
    "None": lambda want, inputs: None,
    "zeros": lambda want, inputs: tuple(0 for _ in want) if isinstance(want, tuple) else torch.zeros_like(want),
    "ones": lambda want, inputs: tuple(1 for _ in want) if isinstance(want, tuple) else torch.ones_like(want),
    "first input": lambda want, inputs: inputs[0],
    "last input": lambda want, inputs: inputs[-1],
    "all inputs": lambda want, inputs: inputs,
    "numpy numbers": lambda want, inputs: np.float32(1) + np.array(want).ravel()[:1].astype(np.float32)[0],
    "array with an extra axis": lambda want, inputs: np.array(want)[None],
    "list in a list": lambda want, inputs: [list(want) if isinstance(want, tuple) else want.tolist()],
    "half precision": lambda want, inputs: as_tensor(want[0] if isinstance(want, tuple) else want).half(),
    "bool": lambda want, inputs: True,
    "text": lambda want, inputs: f"{want} ",
    "extra axis": lambda want, inputs: (want,) if isinstance(want, tuple) else want[None],
    "NaN": lambda want, inputs: torch.full(np.shape(want), torch.nan),
    "one off": lambda want, inputs: (want[0] + 1, *want[1:]) if isinstance(want, tuple) else want + 1,
    "another kind of number": lambda want, inputs: (
        tuple(map(float, want)) if isinstance(want, tuple) else want.to(torch.complex64)
    ),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@each_exercise
def test_never_passes(found, answer, monkeypatch):
    """Whatever it is then called: the search for a known mistake, which takes most of the time, is left out."""
    monkeypatch.setattr(Known, "explain", lambda self, runs, stages: None)

    def function(*arguments):
        want = found(*arguments)
        return answer(torch.tensor(want) if isinstance(want, (int, float)) else want, arguments)

    verdict = found.verdict(function)
    assert verdict.status == "wrong" and verdict.message


@pytest.mark.parametrize("kind", [list, np.array])
@each_function
def test_the_same_numbers_as_a_list_or_an_array_are_right(found, kind):
    """Of several results, each; a single number stays one. What is trained through is cut off by both."""

    def other(want):
        if isinstance(want, tuple):
            return list(map(other, want)) if kind is list else tuple(map(other, want))
        if not isinstance(want, torch.Tensor) or not want.ndim:
            return want
        return want.detach().tolist() if kind is list else want.detach().numpy()

    verdict = found.verdict(lambda *arguments: other(found.reference(*arguments)))
    cut = found.trained and np.ndim(found.reference(*next(found.inputs()).values()).detach()) > 0
    assert verdict.status == ("wrong" if cut else "right"), verdict.message
    assert ("no gradient can be computed" in verdict.message or "cuts the gradient" in verdict.message) == cut


@pytest.mark.parametrize(
    "stub", ["return ...", "return (..., ...)", "raise NotImplementedError", "raise NotImplementedError('later')"]
)
@each_function
def test_stub_is_not_tried_yet(found, stub):
    function = written(stub, found.name, "*arguments")
    time = f"({found.dots}, {found.minutes} minutes)"
    verdict = found.verdict(function)
    assert (verdict.status, verdict.message) == ("todo", f"not tried yet {time}. hint({found.name}) helps.")


DEBUGGING = [found for found in EXERCISES if found.broken]


@pytest.mark.parametrize("found", DEBUGGING, ids=lambda found: found.name)
def test_code_to_be_mended_is_not_tried_until_it_does_something_else(found, capsys):
    """As it was given, comments and spacing aside, it is not tried; changed to no avail, it is told what is wrong."""
    body = textwrap.dedent(found.stub.split('"""', 2)[2].strip("\n"))
    given = written(f"# a comment\n{body}", found.name)
    assert found.verdict(given).status == "todo" and use(given) is found.reference
    assert said(capsys, given).startswith(f"○ {found.name}: not tried yet ({found.dots}, ")
    changed = written(f"unused = 1\n{body}", found.name)
    assert said(capsys, changed).startswith(f"✘ {found.name}: {found.broken.message}")
    assert found.rows[0] is found.broken and found.broken.thread, "a mistake that has happened"


def test_shortcut_that_fits_one_shape_does_not_pass():
    verdict = catalogue()["attention_scores"].verdict(lambda query, keys: keys @ query / 8**0.5)
    assert verdict.status == "wrong" and "1 of 6 inputs" in verdict.message
    verdict = catalogue()["weighted_sum"].verdict(lambda w, v: w[0] * v[0] + w[1] * v[1] + w[2] * v[2])
    assert verdict.status == "wrong"
    first, *_ = catalogue()["softmax"].inputs()
    assert catalogue()["softmax"].verdict(lambda scores: torch.softmax(first["scores"], 0)).status == "wrong"


# ---- what is said where no known mistake fits


@pytest.mark.parametrize(
    "body, parts",
    [
        ("values.sum(0)", ["None", "return"]),
        (
            "scaled = 2 * weights.sinh()\nreturn values.T @ values @ scaled",
            [
                "In your line `return values.T @ values @ scaled`: RuntimeError",
                "weights (3,), values (3, 2)",
                "Which axis",
            ],
        ),
        ("return values @ weights * 2", ["the weights to the columns", "twice"]),
        ("return weights @ weights[1:]", ["shapes (3,) and (2,) do not fit. A matrix product"]),
        ("return weights @ values.T * 2", ["the weights to the columns", "twice"]),
        ("return torch.softmax(torch.arange(3), 0)", ["NotImplementedError: ", "dtype=…"]),
        ("return torch.ones(len(weights)) @ (values * weights[:, None])", ["dtype=…", "float64", "4 of 5"]),
        ("return weigths @ values", ["'weigths' is not defined (in your line `return weigths @ values`)"]),
        ("quit()", ["In your line `quit()`"]),
        (
            "return 2 * weights[:, None] * values",
            ["twice"],
        ),
        ("return (2 * weights @ values)[None]", ["an axis of length 1 is left over"]),
        ("return 3", ["the same numbers for every input"]),
        ("return (weights @ values).half()", ["float16; they should be float32", ".float()"]),
        ("return torch.sqrt(weights @ values)", ["one root too many"]),
        ("return (weights @ values) / 0", ["look at `/ 0`. Does it belong there?"]),
        ("weights *= 2\nreturn weights @ values / 2", ["changes weights in place"]),
        ("weights.mul_(0); values.zero_()\nreturn values[0]", ["changes weights and values in place"]),
        ("return 2 * weights @ values", ["twice the right result"]),
        ("return weights @ values + 1e-3", ["look at `+ 1e-3`. Does it belong there?"]),
        (
            "return weights.exp() @ values.tanh().sinh()",
            ["input: weights = ", "expected: ", "yours: "],
        ),
        ("return torch.ones(2, 4)", ["the same numbers for every input"]),
        ("return torch.ones(9) * weights.sum()", ["does not use `values`", "the same shape for every input"]),
        ("yield 1", ["a generator"]),
        ("return print", ["a function, not its result", "()"]),
        ("return (weights @ values).to_sparse()", ["sparse"]),
        ("return (weights @ values).to('meta')", ["meta"]),
        ("return torch.nested.nested_tensor([values])", ["cannot be compared"]),
        ("return weighted_sum(weights, values)", ["RecursionError", "calls itself"]),
        ("class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd", [""]),
    ],
)
def test_findings(body, parts, capsys):
    text = said(capsys, written(body))
    assert text.startswith("✘ weighted_sum: ") and text.count("\n") <= 5, text
    assert all(part in text for part in parts), text
    assert "ipykernel" not in text and "weights @ values`" not in text.replace("weigths @ values`", "")


def test_wrong_numbers_in_a_tuple_are_named_by_their_place_only(capsys):
    text = said(capsys, written("return (n_queries, d_value + 1)", "output_shape"))
    assert "d_value counts one too many" in text and "(5, 8)" not in text
    text = said(capsys, written("return (n_queries, d_value * 6 + 5 + 8)", "output_shape"))
    assert re.search(r"n_queries = \d+, n_keys = \d+, d_value = 8 item 1 of your \(\d+, 61\)", text)
    assert "is a float" not in said(capsys, written("return (n_queries / 1, d_value)", "output_shape"))
    assert "a float" in said(capsys, written("return (n_queries / 1, d_value)", "output_shape"))
    assert "should have 2 numbers, one for each axis" in said(
        capsys, written("return (n_queries, d_value, 1)", "output_shape")
    )


STEP = "keys, values = torch.cat([keys, (x @ W_k)[:, None]], 1), torch.cat([values, (x @ W_v)[:, None]], 1)\n"
STEP += "z = (torch.softmax((x @ W_q)[:, None] @ keys.mT / W_q.shape[1] ** 0.5, -1) @ values)[:, 0]\n"


@pytest.mark.parametrize(
    "name, body, part",
    [
        ("decoding_step", "return z", "that is result 1 of 3. Return the others, too"),
        ("decoding_step", "return z + keys[0, 0, 0]", "a Tensor; it should return a tuple of 3 tensors, with commas"),
        ("decoding_step", "return z, keys", "you return 2 things; your function should return 3."),
        (
            "decoding_step",
            "return z[:, None], keys, values",
            "result 1 of 3, the only one that is not right: your result",
        ),
        (
            "decoding_step",
            "return z, keys, values.sin()",
            "look at `.sin()`. Does it belong there?",
        ),
        (
            "decoding_step",
            "return z, keys.mT, values.mT",
            "result 3 of 3: your result is right, but its last two",
        ),
        (
            "shift_target",
            "return target[:, :-1], target[:, 1:], mask[:, 1:].float()",
            "look at `.float()`. Does it belong there?",
        ),
        ("shift_target", "return target[:, :-1], target[:, :-1] * 2, mask[:, 1:]", "result 2 of 3, the only one"),
        ("beam_step", "return sums, sums, sums", "your function does not use `log_probabilities` and `width`"),
    ],
)
def test_of_several_results_the_wrong_one_is_named(name, body, part, capsys):
    text = said(capsys, written(STEP * (name == "decoding_step") + body, name))
    assert part in text.replace("Result", "result") and text.count("\n") == 1, text


LOOP_OF_IDS = """
ids, new, state = [], prompt, None
while len(ids) < most:
    logits, state = read(new, state)
    if logits.argmax() == end:
        break
    new = [{each}]
    ids += new
return {result}
"""


@pytest.mark.parametrize("each", ["int(logits.argmax())", "logits.argmax()", "np.int64(logits.argmax())"])
@pytest.mark.parametrize("result", ["ids", "tuple(ids)", "torch.tensor(ids)", "np.array(ids, dtype=int)"])
def test_a_list_that_is_asked_for_may_come_in_another_form(each, result):
    """`use` goes on with a list of Python's numbers."""
    found = catalogue()["write_answer"]
    answer = written(LOOP_OF_IDS.format(each=each, result=result), "write_answer")
    assert (verdict := found.verdict(answer)).status == "right", verdict.message
    ids = use(answer)(*next(found.inputs()).values())
    assert type(ids) is list and ids == [2, 5, 3] and {type(one) for one in ids} == {int}


@pytest.mark.parametrize(
    "name, body, part",
    [
        ("write_answer", "return prompt[0]", "your function returns an int; it should return a list."),
        ("write_answer", "return torch.zeros(2, 2)", "your list has 2 items; it should have 3."),
        (
            "write_answer",
            "return [2, 5.0, 3][:most]",
            "item 1 of your list is 5.0; it should be 5 (items",
        ),
        ("merge_pieces", "return {'lo': 1}", "your function returns a dict; it should return a list."),
        ("merge_pieces", "return ['power']", "item 0 of your list is 'power'; it should be 'lower'"),
    ],
)
def test_of_a_wrong_list_its_length_or_the_first_wrong_item_is_told(name, body, part):
    """Where no more is known of it."""
    found = catalogue()[name]
    first = next(found.inputs())
    case = Case(found.reference, written(body, name), [run(written(body, name), first, found(*first.values()))], None)
    told = wrong_type(case) or furthest_entry(case)
    assert part in told.message


def test_use_fits_several_results(capsys):
    function = written(
        "x, keys, values, W_q, W_k, W_v = (part.double() for part in locals().values())\n"
        + STEP
        + "return z, keys, values",
        "decoding_step",
    )
    assert said(capsys, function).startswith("✔")
    inputs = next(catalogue()["decoding_step"].inputs())
    got, want = use(function)(*inputs.values()), catalogue()["decoding_step"](*inputs.values())
    assert type(got) is tuple and [part.dtype for part in got] == [torch.float32] * 3 and same(got, want)


def strands(generator):
    yield from (("GATNACA",), ("ACGT",), ("CCA",), ("N",))


def other_strand(sequence):
    """The other strand of a string of A, C, G, T and N, read in its own direction: returns a string."""
    return "".join("TGCAN"["ACGTN".index(base)] for base in reversed(sequence))


@pytest.mark.parametrize(
    "body, part",
    [
        ("return list(sequence[::-1])", "a list; it should return a string"),
        ("return torch.ones(len(sequence)) / 0", "a Tensor; it should return a string"),
        ("return sequence.encode()", "a bytes; it should return a string"),
        ("return sequence + 'A'", "for sequence = 'GATNACA' your string has 8 letters; it should have 7."),
        (
            "return sequence.replace('G', 'T')",
            "letter 1 of your string is 'A'; it should be 'G' (letters",
        ),
        ("return 'ACGT'", "the same numbers for every input"),
    ],
)
def test_a_string_is_compared_letter_by_letter(body, part):
    found = Exercise(other_strand, strands, [], {}, "", 1, 5, False)
    assert part in found.verdict(written(body, "other_strand", "sequence")).message
    assert same("ACGT", "ACGT") and same(np.str_("ACGT"), "ACGT")
    assert not same("ACGT", torch.ones(4)) and not same(list("ACGT"), "ACGT") and not same(b"ACGT", "ACGT")


def test_other_parameters_than_the_exercise_has(capsys):
    assert "def weighted_sum(weights, values):" in said(capsys, written("return 1", parameters="weights"))


PROJECTED = "Q, K, V = X @ W_q, X @ W_k, X @ W_v\nreturn "


@pytest.mark.parametrize(
    "weights",
    [
        "torch.softmax(Q @ K.T, -1)",
        "torch.softmax(Q @ K.T / math.sqrt(len(K)), -1)",
        "torch.softmax(Q @ K.T / math.sqrt(K.shape[-1]), 1)",
        "torch.softmax(Q @ K.T / math.sqrt(16), -1)",
        "torch.softmax(Q @ K.transpose(0, 1), -1)",
    ],
)
def test_transposed_batch_is_named_whatever_else_is_wrong(weights, capsys):
    text = said(capsys, written(PROJECTED + weights + " @ V", "self_attention"))
    assert "Exchange the last two only: " in text and "transpose(-2, -1)" in text, text


@pytest.mark.parametrize(
    "transposed, part",
    [
        ("K.permute(0, 2, 1)", "the number of axes varies"),
        ("(K.T if K.ndim == 2 else K.permute(0, 2, 1))", "X (2, 3, 4, 6)"),
        ("K.mT / math.sqrt(16) * math.sqrt(K.shape[-1])", "fits only e = 16"),
        ("K.mT / math.sqrt(math.e)", "Euler"),
    ],
)
def test_self_attention_has_to_fit_any_shape(transposed, part, capsys):
    body = f"{PROJECTED}torch.softmax(Q @ {transposed} / math.sqrt(K.shape[-1]), -1) @ V"
    assert part in said(capsys, written(body, "self_attention"))
    bmm = f"{PROJECTED}torch.softmax(torch.bmm(Q, K.mT) / math.sqrt(K.shape[-1]), -1) @ V"
    assert "@ takes any number" in said(capsys, written(bmm, "self_attention"))
    unpacked = "n, d = X.shape\nreturn X[:, :1] * W_v.sum(0) * W_q.sum() / W_k.sum()"
    assert "X.shape`: ValueError: too many" in (text := said(capsys, written(unpacked, "self_attention")))
    assert "as many axes as this line expects" in text


@pytest.mark.parametrize("name", ["attend", "self_attention"])
def test_some_scores_are_too_large_for_exp(name):
    """As large as they are there, the reference's weights are certain in float64."""
    inputs = list(catalogue()[name].inputs())[-1]
    if name == "attend":
        scores = inputs["keys"] @ inputs["query"] / math.sqrt(len(inputs["query"]))
    else:
        scores = inputs["X"] @ inputs["W_q"] @ (inputs["X"] @ inputs["W_k"]).T / math.sqrt(inputs["W_k"].shape[-1])
    assert scores.dtype == torch.float64 and scores.exp().isinf().any()


def test_data_of_the_notebook_is_mentioned_only_where_something_is_wrong(capsys):
    right = "shown = V\nreturn weights @ values"
    assert said(capsys, written(right, **NOTEBOOK)).startswith("✔")
    ones = "return torch.ones(len(weights), dtype=weights.dtype) @ values * five"
    assert "uses five from outside" in said(capsys, written(ones, **NOTEBOOK))
    own = "V = values.T\nreturn 2 * V @ weights + sum(0 for Q in V) + V.T.sum()"
    assert "from outside" not in said(capsys, written(own, **NOTEBOOK, T=torch.ones(2))), (
        "V and Q are the function's own"
    )
    assert "from outside" not in said(capsys, written("return torch.ones(2) @ softmax(values)", softmax=torch.softmax))


SINGLE_NUMBERS = [
    ("dot_product", "return np.dot(a, b)"),
    ("dot_product", "return np.float64(float(a @ b))"),
    ("dot_product", "return sum(a.numpy() * b.numpy())"),
    ("magnitude", "return np.linalg.norm(a)"),
    ("cosine_similarity", "return np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))"),
    ("output_shape", "return tuple(np.array([n_queries, d_value]))"),
]


@pytest.mark.parametrize("name, body", SINGLE_NUMBERS)
def test_numpy_number_passes_where_one_number_is_asked(name, body):
    assert catalogue()[name].verdict(written(body, name)).status == "right"


@pytest.mark.parametrize("number", [np.float16(1), np.longdouble(1), np.bool_(True), np.complex64(1), np.str_("1")])
def test_numpy_number_of_another_kind_does_not_pass(number):
    assert not same(number, torch.tensor(1.0))
    assert not same(np.array(1.0), torch.tensor(1.0)), "an array is none"
    assert not same(np.float32(1), torch.ones(1)), "a number is no tensor with an axis"
    assert same(0, 0.0) and not same(0, 0.5) and not same(0.0, 0) and not same(True, 1.0)


@pytest.mark.parametrize(
    "body", ["return ... @ values", "scores = ...\nreturn torch.softmax(scores, 0)", "return math.sqrt(...)"]
)
def test_dots_left_in_an_expression_are_named_where_there_is_more(body):
    verdict = catalogue()["weighted_sum"].verdict(written(f"total = 0\n{body}"))
    assert verdict.status == "wrong" and "`...` still stands in your code" in verdict.message


def test_line_of_a_helper_in_the_same_cell(capsys):
    function = written("def helper(x):\n    return x @ values.T @ values.T\nreturn helper(values)")
    assert "In your line `return x @ values.T @ values.T`" in said(capsys, function)


def test_cell_in_ipython(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell_class = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    shell = shell_class()
    try:
        shell.run_cell("def weighted_sum(weights, values):\n    return values @ weights @ values\n")
        function = shell.user_ns["weighted_sum"]
        shell.run_cell("import torch\nV = torch.ones(3, 2)\ndef attend(query, keys, values):\n    return V[0]\n")
        outside = shell.user_ns["attend"]
    finally:
        shell.history_manager.end_session()
    text = said(capsys, function)
    assert "In your line `return values @ weights @ values`" in text and "ipython" not in text and ".py" not in text
    assert "uses V from outside" in said(capsys, outside)


def test_use_fits_a_right_answer_of_another_precision_or_kind_to_the_notebook(capsys):
    function = written("return weights.double() @ values.double()")
    assert said(capsys, function) == "✔ weighted_sum: right on all 9 inputs.\n"
    result = use(function)(torch.ones(2), torch.ones(2, 3))
    assert result.dtype == torch.float32 and result.tolist() == [2.0] * 3
    product = use(written("return float(a @ b)", "dot_product"))(torch.ones(3), torch.ones(3))
    assert isinstance(product, torch.Tensor) and product.dtype == torch.float32 and product.item() == 3
    nearest = "max((k for k in range(verb) if words[k] in beings), default=-1)"
    found = use(written(f"return torch.tensor({nearest})", "nearest_being"))(["the", "cat", "slept"], {"cat"}, 2)
    assert found == 1 and type(found) is int
    assert use(right := written("return weights @ values")).__wrapped__ is right


def test_an_answer_that_is_cut_off_from_the_graph_is_told_so_where_the_notebook_trains_through_it():
    found = next(found for found in EXERCISES if found.trained and found.asked == "function")
    for cut in (lambda x: x.detach(), lambda x: x.data, lambda x: x.detach().clone().requires_grad_()):
        verdict = found.verdict(lambda *values, cut=cut: cut(found.reference(*values)))
        assert verdict.status == "wrong" and "cut" in verdict.message


def test_a_wrong_gradient_is_not_called_cut_where_nothing_cuts():
    answer = written("return weights / weights.sum(-1, keepdim=True) @ states", "context_vector")
    message = catalogue()["context_vector"].verdict(answer).message
    assert "the gradient of `weights` is not" in message and "changes nothing here" in message


@pytest.mark.parametrize(
    "name, body, told",
    [
        (  # 0 times the right rate for one input, which has no inverse
            "alignment_error_rate",
            "hits = [sum(len(a & b) for a, b in zip(links, others)) for others in (possible, sure)]\n"
            "P, R = (n / max(1, sum(map(len, sets))) for n, sets in zip(hits, (links, sure)))\n"
            "return 1 - (P * R) ** 0.5 if P + R else 0.0",
            "your result is",
        ),
        ("padding_mask", "return (tokens is not pad_id)[:, None, None, :]", "`is not` only ask"),
        ("causal_mask", "return torch.tril(torch.ones(n)).bool()", "keep a triangle of a matrix"),
        ("residual_step", "if pre:\n    y = x + sublayer(norm(x))\nreturn y", "or an else?"),
    ],
)
def test_what_is_said_is_the_mistake(name, body, told):
    found = catalogue()[name]
    message = found.verdict(written(body, name, solved=found.reference)).message
    assert told in message and "cannot be compared" not in message and "still to come" not in message


def test_a_result_of_a_type_without_a_name_is_wrong():
    odd = type("", (), {})()
    message = catalogue()["weighted_sum"].verdict(lambda weights, values: odd).message
    assert "your function returns something of a type without a name; it should return a tensor" in message


def test_another_seed_is_a_second_try(capsys):
    found = catalogue()["dot_product"]
    drawn = [*found.inputs(0), *found.inputs(1), *(inputs for _, inputs in found.edges())]
    table = [(inputs, found.reference(*inputs.values())) for inputs in drawn]

    def dot_product(a, b):
        return next(want for inputs, want in table if inputs["a"].equal(a) and inputs["b"].equal(b))

    assert found.verdict(dot_product).status == "right"
    check(dot_product, seed=7)
    assert capsys.readouterr().out.startswith("✘ dot_product")


def test_result_that_requires_a_gradient_passes():
    weight = torch.ones(1, requires_grad=True)
    assert catalogue()["weighted_sum"].verdict(lambda weights, values: weight * (weights @ values)).status == "right"


# ---- check, hint, solution, use


def test_prints_of_the_learner_come_once(capsys):
    assert said(capsys, written("print('shape', values.shape)\nreturn weights @ values")) == (
        "shape torch.Size([3, 2])\n✔ weighted_sum: right on all 9 inputs.\n"
    )


def test_check_is_silent_about_warnings_and_keeps_the_random_state(capsys):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check(written("torch.manual_seed(7)\ntorch.rand(3)\nreturn values.sum(0) + values[None].T.sum()"))
    assert torch.equal(torch.get_rng_state(), before)
    assert not caught and capsys.readouterr().err == ""


def test_keyboard_interrupt_gets_through():
    with pytest.raises(KeyboardInterrupt):
        check(written("raise KeyboardInterrupt"))


@pytest.mark.parametrize("verb", [check, hint, solution, use], ids=lambda verb: verb.__name__)
@pytest.mark.parametrize(
    "passed, part",
    [
        (lambda x: x, "lambda"),
        (torch.ones(3), "weighted_sum"),
        (..., "takes the function itself"),
        (None, "takes the function itself"),
        ("softmax", "(softmax)"),
        (np, "takes the function itself"),
        (written("return 1", name="weigthed_sum"), "do you mean weighted_sum?"),
        (written("return 1", name="zzz"), "no exercise named zzz."),
        (torch.matmul, "no exercise named matmul"),
    ],
)
def test_what_is_not_an_exercise_gets_a_message(verb, passed, part, capsys):
    if verb is use and isinstance(passed, str):
        pytest.skip("a name is what use takes, too")
    result = verb(passed)
    text = capsys.readouterr().out
    assert text.startswith(f"✘ {verb.__name__}: ") and part in text
    assert result is (passed if verb is use else None)


def test_hints_come_one_by_one_and_end(capsys):
    found = catalogue()["dot_product"]
    found.hints_given = 0
    for number, text in enumerate(found.hints, start=1):
        hint(found.reference)
        assert capsys.readouterr().out == f"Hint {number} of {len(found.hints)}: {text}\n"
    hint(found.reference)
    assert "no more hints; solution(dot_product)" in capsys.readouterr().out


def test_use_takes_the_learners_function_only_if_right(capsys):
    reference = catalogue()["weighted_sum"].reference
    for body in ("return ...", "return values.sum(0)", "print(1)", "raise ValueError"):
        assert use(written(body)) is reference
    right = written("print('hello')\nreturn (weights[:, None] * values).sum(0)")
    assert use(right).__wrapped__ is right
    assert use(use(written("return ..."))) is reference
    assert capsys.readouterr().out == ""


def test_use_with_a_name_gives_the_courses_function(capsys, monkeypatch):
    reference = catalogue()["weighted_sum"].reference
    assert use("weighted_sum") is reference
    monkeypatch.setenv("ATTENTION_MARKED", "1")
    assert use("weighted_sum") is reference and capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="no exercise named 'weighted_sums'; do you mean 'weighted_sum'"):
        use("weighted_sums")


def test_an_answer_cannot_call_the_courses_function_by_name(capsys):
    answer = written("return use('weighted_sum')(weights, values)")
    answer.__globals__["use"] = use
    assert said(capsys, answer).startswith("✘")


def test_the_courses_own_function_is_not_taken_for_the_learners(capsys):
    found = catalogue()["dot_product"]
    text = said(capsys, use(written("return a + b", "dot_product")))
    assert text.startswith("○ dot_product: this is the course's own function, which use(...) put")
    assert text.count("\n") == 1
    copy = written("return (a * b).sum()", "dot_product")
    assert said(capsys, copy).startswith("✔") and said(capsys, use(copy)).startswith("✔")
    assert use(found.reference) is found.reference and capsys.readouterr().out == ""


def test_a_name_is_an_exercise_of_one_module_only():
    def weighted_sum(x):
        """Another one."""
        return x

    before = catalogue()
    with pytest.raises(ValueError, match="weighted_sum exists already in utils.exercises.tasks.start_here"):
        exercise(draws=lambda generator: [], hints=[])(weighted_sum)
    assert catalogue() == before


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.complex_numbers()
    | st.binary(max_size=3)
    | st.lists(st.integers(0, 3), max_size=3).map(lambda shape: torch.ones(shape))
    | st.lists(st.integers(0, 3), max_size=3).map(lambda shape: np.ones(shape))
    | st.sampled_from(
        [torch, int, print, torch.tensor([True]), torch.tensor(1j), torch.Size([5, 8]), NotImplemented, object()]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2), inner)
    ),
    max_leaves=4,
)


@pytest.mark.lane("all", "exercise", "kinds", "source", "test_exercises")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(result=anything, name=st.sampled_from(sorted(catalogue())))
def test_check_answers_whatever_comes_back(result, name, capsys):
    def function(*arguments):
        return result

    function.__name__ = name
    text = said(capsys, function)
    assert text[0] == "✘" and text.startswith(f"✘ {name}: ")
    assert catalogue()[name].verdict(result).status == "wrong"


def test_entries_that_are_the_same_infinity_do_not_differ():
    got, want = torch.tensor([-math.inf, 1.0, 0.0]), torch.tensor([-math.inf, 1.5, -math.inf])
    assert furthest(got, want) == ((2,), "0", "-inf")
