"""Every known mistake is diagnosed as itself, nothing wrong passes, and `check` never raises."""

import ast
import inspect
import linecache
import warnings

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from utils.exercises import catalogue, check, hint, solution, use
from utils.exercises.diagnosis import as_tensor, run, same
from utils.exercises.engine import exercise, source

EXERCISES = list(catalogue().values())
MISTAKES = [(found, mistake) for found in EXERCISES for mistake in found.mistakes]
each_exercise = pytest.mark.parametrize("found", EXERCISES, ids=lambda found: found.name)


def written(body, name="weighted_sum", parameters="weights, values", filename="/tmp/ipykernel_4711/815.py"):
    """A function as a learner writes it in a cell: its lines are in linecache under a made-up file name."""
    code = f"def {name}({parameters}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    linecache.cache[filename] = (len(code), None, code.splitlines(True), filename)
    namespace = {"torch": torch, "np": np}
    exec(compile(code, filename, "exec"), namespace)
    return namespace[name]


def said(capsys, function):
    """What `check` prints."""
    capsys.readouterr()
    check(function)
    return capsys.readouterr().out


# ---- the catalogue


@pytest.mark.parametrize("found, mistake", MISTAKES, ids=lambda part: part.name)
def test_known_mistake_is_diagnosed_as_itself(found, mistake):
    verdict = found.verdict(mistake.function)
    assert (verdict.status, verdict.message) == ("wrong", mistake.message)


@each_exercise
def test_known_mistakes_can_be_told_apart(found):
    """On some draw any two differ, and none is known by its crash alone."""
    draws = list(found.inputs())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        behaviour = {mistake.name: [run(mistake.function, inputs) for inputs in draws] for mistake in found.mistakes}
    assert len(behaviour) == len(found.mistakes) == len({mistake.message for mistake in found.mistakes})

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
        results = done.result if isinstance(done.result, tuple) else (done.result,)
        assert done.error is None and all(as_tensor(part).isfinite().all() for part in results)
        for intermediate in found.names.values():
            assert as_tensor(intermediate(*inputs.values())) is not None


@each_exercise
def test_draws_are_the_same_every_time_and_include_float64(found):
    first, second = list(found.inputs()), list(found.inputs())
    assert len(first) >= 3
    for one, other in zip(first, second, strict=True):
        assert all(same(one[name], other[name]) for name in one)
    kinds = {value.dtype for inputs in first for value in inputs.values() if isinstance(value, torch.Tensor)}
    assert kinds in ({torch.float32, torch.float64}, {torch.int64}, set())


@each_exercise
def test_hints_and_messages_help_without_giving_the_answer(found):
    assert len(found.hints) >= 2 and found.hints[0].count("?") >= 1, "the first hint is a question"
    assert inspect.getdoc(found.reference) and "returns" in inspect.getdoc(found.reference)
    returned = ast.unparse(ast.parse(source(found)).body[0].body[-1].value)
    texts = [*found.hints, *found.names, found.question, *(mistake.message for mistake in found.mistakes)]
    for text in texts:
        assert returned not in text and f"({returned})" not in text
        assert not any(word in text.lower().split() for word in ("simply", "just", "obviously", "trivially"))
    for mistake in found.mistakes:
        assert mistake.message.endswith((".", "?")) and len(mistake.message) < 230


@each_exercise
def test_solution_is_complete_code_without_the_decorator(found, capsys):
    solution(found.reference)
    code = capsys.readouterr().out
    assert code.startswith(f"def {found.name}(") and "draws" not in code
    namespace = {}
    exec("import math\nimport torch\n" + code, namespace)
    assert found.verdict(namespace[found.name]).status == "right"


# ---- what never passes

ANSWERS = {
    "None": lambda want, inputs: None,
    "zeros": lambda want, inputs: tuple(0 for _ in want) if isinstance(want, tuple) else torch.zeros_like(want),
    "ones": lambda want, inputs: tuple(1 for _ in want) if isinstance(want, tuple) else torch.ones_like(want),
    "first input": lambda want, inputs: inputs[0],
    "last input": lambda want, inputs: inputs[-1],
    "all inputs": lambda want, inputs: inputs,
    "numpy": lambda want, inputs: np.array(want),
    "numpy number": lambda want, inputs: np.float32(np.sum(np.array(want))),
    "list": lambda want, inputs: (
        list(want) if isinstance(want, tuple) else want.tolist() if want.ndim else [want.item()]
    ),
    "half precision": lambda want, inputs: as_tensor(want[0] if isinstance(want, tuple) else want).half(),
    "bool": lambda want, inputs: True,
    "text": lambda want, inputs: str(want),
    "extra axis": lambda want, inputs: (want,) if isinstance(want, tuple) else want[None],
    "NaN": lambda want, inputs: torch.full(np.shape(want), torch.nan),
    "one off": lambda want, inputs: (want[0] + 1, *want[1:]) if isinstance(want, tuple) else want + 1,
    "another kind of number": lambda want, inputs: (
        tuple(map(float, want)) if isinstance(want, tuple) else want.to(torch.complex64)
    ),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@each_exercise
def test_never_passes(found, answer):
    verdict = found.verdict(lambda *arguments: answer(found(*arguments), arguments))
    assert verdict.status == "wrong" and verdict.message


@pytest.mark.parametrize(
    "stub", ["return ...", "return (..., ...)", "raise NotImplementedError", "raise NotImplementedError('later')"]
)
@each_exercise
def test_stub_is_not_tried_yet(found, stub):
    function = written(stub, found.name, "*arguments")
    assert found.verdict(function)[:2] == ("todo", f"not tried yet. hint({found.name}) helps.")


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
            "scaled = 2 * weights\nreturn values.T @ values @ scaled",
            [
                "RuntimeError in your line `return values.T @ values @ scaled`",
                "weights (3,), values (3, 2)",
                "Which axis",
            ],
        ),
        ("return values @ weights * 2", ["shapes (3, 2) and (3,) do not fit."]),
        ("return weights @ weights[1:]", ["shapes (3,) and (2,) do not fit."]),
        ("return weights @ values.T * 2", ["shapes (1, 3) and (2, 3) do not fit."]),
        ("return torch.softmax(torch.arange(3), 0)", ["NotImplementedError in your line", "dtype=…"]),
        ("return torch.ones(len(weights)) @ (values * weights[:, None])", ["dtype=…", "float64", "4 of 5"]),
        ("return weigths @ values", ["NameError in your line `return weigths @ values`: name 'weigths'"]),
        ("quit()", ["in your line `quit()`"]),
        (
            "return 2 * weights[:, None] * values",
            ["shape (3, 2), expected shape (2,)", "the weighted rows: did you forget"],
        ),
        ("return (2 * weights @ values)[None]", ["shape (1, 2)", "an axis of length 1 is left over"]),
        ("return 3", ["gives a single number, expected shape (2,)"]),
        ("return (weights @ values).numpy()", ["NumPy array", "torch.tensor"]),
        ("return (weights @ values).tolist()", ["a list", "torch.tensor"]),
        ("return (weights @ values).half()", ["float16, expected float32", ".float()"]),
        ("return torch.sqrt(weights @ values)", ["NaN"]),
        ("return (weights @ values) / 0", ["infinity"]),
        ("weights *= 2\nreturn weights @ values / 2", ["changes its input weights in place"]),
        ("weights.mul_(0); values.zero_()\nreturn values[0]", ["weights and values in place"]),
        ("return 2 * weights @ values", ["entry [", "expected", "weights (3,), values (3, 2)"]),
        ("return weights @ values + 1e-3", ["entry [", "expected"]),
        ("yield 1", ["a generator"]),
        ("return print", ["a builtin_function_or_method"]),
        ("return (weights @ values).to_sparse()", ["sparse"]),
        ("return (weights @ values).to('meta')", ["meta"]),
        ("return torch.nested.nested_tensor([values])", ["cannot be compared"]),
        ("return weighted_sum(weights, values)", ["RecursionError", "call itself"]),
        ("class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd", [""]),
    ],
)
def test_findings(body, parts, capsys):
    text = said(capsys, written(body))
    assert text.startswith("✘ weighted_sum: ") and text.count("\n") == 1, text
    assert all(part in text for part in parts), text
    assert "ipykernel" not in text and "weights @ values`" not in text.replace("weigths @ values`", "")


def test_wrong_numbers_in_a_tuple_are_named_by_their_place_only(capsys):
    text = said(capsys, written("return (n, d_head + 1)", "projection_shape", "n, d_model, d_head"))
    assert "n = 5, d_model = 16, d_head = 8" in text and "place 1 of your (5, 9)" in text and "(5, 8)" not in text
    assert "is a float" not in said(capsys, written("return (n / 1, d_head)", "projection_shape", "n, d_model, d_head"))
    assert "a float" in said(capsys, written("return (n / 1, d_head)", "projection_shape", "n, d_model, d_head"))
    assert "number of axes" in said(capsys, written("return (n,)", "projection_shape", "n, d_model, d_head"))
    assert "a list" in said(capsys, written("return [n, d_head]", "projection_shape", "n, d_model, d_head"))


def test_other_parameters_than_the_exercise_has(capsys):
    assert "def weighted_sum(weights, values):" in said(capsys, written("return 1", parameters="weights"))


def test_line_of_a_helper_in_the_same_cell(capsys):
    function = written("def helper(x):\n    return x @ values.T @ values.T\nreturn helper(values)")
    assert "in your line `return x @ values.T @ values.T`" in said(capsys, function)


def test_line_of_a_cell_in_ipython(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell_class = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    shell = shell_class()
    try:
        shell.run_cell("def weighted_sum(weights, values):\n    return values @ weights @ values\n")
        function = shell.user_ns["weighted_sum"]
    finally:
        shell.history_manager.end_session()
    text = said(capsys, function)
    assert "in your line `return values @ weights @ values`" in text and "ipython" not in text and ".py" not in text


def test_right_answer_in_another_precision_passes_with_a_remark(capsys):
    body = "total = torch.zeros(values.shape[1])\nfor w, v in zip(weights, values):\n    total += w * v\nreturn total"
    text = said(capsys, written(body))
    assert text.startswith("✔") and "float64 inputs it returns float32" in text
    assert said(capsys, written("return weights @ values")) == "✔ weighted_sum: right on all 5 inputs.\n"


def test_result_that_requires_a_gradient_passes():
    weight = torch.ones(1, requires_grad=True)
    assert catalogue()["weighted_sum"].verdict(lambda weights, values: weight * (weights @ values)).status == "right"


# ---- check, hint, solution, use


def test_prints_of_the_learner_come_once(capsys):
    assert said(capsys, written("print('shape', values.shape)\nreturn weights @ values")) == (
        "shape torch.Size([3, 2])\n✔ weighted_sum: right on all 5 inputs.\n"
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
    assert use(right) is right
    assert use(use(written("return ..."))) is reference
    assert capsys.readouterr().out == ""


def test_a_name_is_an_exercise_of_one_module_only():
    def weighted_sum(x):
        """Another one."""
        return x

    before = catalogue()
    with pytest.raises(ValueError, match="weighted_sum exists already in utils.exercises.start_here"):
        exercise(draws=lambda generator: [], hints=[])(weighted_sum)
    assert catalogue() == before


def test_catalogue_follows_the_course():
    assert (
        list(catalogue())
        == (
            "weighted_sum projection_shape scores_shape output_shape "
            "dot_product magnitude cosine_similarity variance_kept nearest analogy_target "
            "one_hot softmax attention_scores attend self_attention merge_query_key"
        ).split()
    )


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


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(result=anything, name=st.sampled_from(sorted(catalogue())))
def test_check_answers_whatever_comes_back(result, name, capsys):
    def function(*arguments):
        return result

    function.__name__ = name
    text = said(capsys, function)
    assert text[0] == "✘" and text.startswith(f"✘ {name}: ")
    assert catalogue()[name].verdict(result).status == "wrong"
