"""Exercises that tell a learner what went wrong: `check`, `hint`, `solution`, `use`.

An exercise is a reference function with a way to draw inputs, graded hints, and a catalogue of *known mistakes*: rows
of text beside the module, each with the sentence that helps whoever wrote it (catalogue/rows.py). `check` runs the
learner's function beside the reference on every draw. If it is wrong, the first of the findings that applies speaks
(findings/order.py), known mistakes among them, alone or two at once. The tests use the same catalogue to prove that
every mistake is caught.

    @exercise(draws=..., hints=["Which ...?", "..."], intermediates={"the weights": weights_of})
    def attention_scores(query, keys):
        return keys @ query / math.sqrt(keys.shape[-1])
"""

import ast
import contextlib
import dis
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from .case import Case
from .catalogue.candidates import Known
from .catalogue.rows import Mistake, answers, given, mistake, read, sections
from .compare import (
    TOLERANCE,
    as_wanted,
    same,
    unchanged,
)
from .context import IMPORTS, hints_are_given
from .findings.order import at_an_edge, diagnosis
from .run.calls import Run, copied, is_same_in_floats, run
from .run.errors import (
    own_frame,
    own_line,
    own_loop,
    text_of,
)
from .run.gradients import (
    AGAIN,
    CUT_OFF,
    IN_TRAINING,
    cut_off,
    gradients_of,
    in_double,
    is_nan,
    leaves_of,
    lost_digits,
    lost_gradients,
)
from .run.layers import Built, is_stub_of_class
from .run.sandbox import Printed, Sandbox, Stopped, standard_torch
from .syntax import (
    is_stub,
    source_of,
    with_decorators,
)
from .verdict import Finding, Verdict, in_a_row
from .wording import (
    describe_kind,
    describe_want,
    listed,
    shorten,
)


def no_edges(generator: torch.Generator) -> Iterator[tuple[str, tuple]]:
    yield from ()


class Exercise:
    """A reference function with draws, hints, named intermediates and known mistakes. Calling it calls the reference.

    Public: `name`, `reference`, `course` (what a notebook goes on with: of a class the class itself), `hints`, `level`
    (1 to 3), `minutes`, `rows`, `answers`, `broken`, `stub`, `verdict(function)`.
    """

    asked, word = "function", "def"  # what is asked for, and the word with which it begins

    def __init__(
        self,
        reference: Callable,
        draws: Callable,
        hints: list[str],
        intermediates: dict,
        question: str | dict,
        level: int,
        minutes: int,
        trained: bool,
        edges: Callable = no_edges,
    ):
        functools.update_wrapper(self, reference, updated=())
        self.name, self.reference, self.draws = reference.__name__, reference, draws
        self.course = reference  # what a notebook goes on with where the learner's own is not right
        self.level, self.minutes, self.trained, self.drawn_edges = level, minutes, trained, edges
        self.hints, self.intermediates = list(hints), intermediates
        self.question_by_line = question if isinstance(question, dict) else {"": question}
        self.hints_given = 0
        self.said = self.change = ""  # of the answer checked last: what it was told; what would fix it, a hint more
        self.used, self.stopped = False, None  # has use(…) been called; the last function that ran too long

    def __call__(self, *arguments, **keywords):
        return self.reference(*arguments, **keywords)

    def __repr__(self) -> str:
        return f"<exercise {self.name}: {len(self.hints)} hints, {len(self.rows)} known mistakes>"

    @property
    def dots(self) -> str:
        """How hard: ●○○ to ●●●."""
        return "●" * self.level + "○" * (3 - self.level)

    def _rows(self, kind: str) -> str:
        names = tuple(name for name, found in _catalogue.items() if found.__module__ == self.__module__)
        return sections(Path(inspect.getfile(self.course)).with_suffix(".txt"), names).get((self.name, kind), "")

    @functools.cached_property
    def rows(self) -> list[Mistake]:
        """The known mistakes: those of the file of rows, code to be fixed first."""
        texts = self._rows("broken"), self._rows("mistakes")
        return [mistake(self.reference, *row) for text in texts for row in read(text)]

    @property
    def broken(self) -> Mistake | None:
        """In an exercise in debugging: the code that is to be fixed, the first of the known mistakes."""
        return self.rows[0] if self._rows("broken") else None

    @property
    def stub(self) -> str:
        """What is in the notebook in place of an answer: the broken code, or else `return ...`."""
        return given(self.reference, self.broken.function if self.broken else None)

    @functools.cached_property
    def answers(self) -> list[Callable]:
        """Right answers in other words than the reference's."""
        return [*answers(self.reference, self._rows("right"))]

    @functools.cached_property
    def known(self) -> Known:
        return Known(self.reference, self.rows, next(self.inputs()))

    def require_readable_rows(self) -> None:
        """Raise ValueError where a row cannot be read: that is no mistake of the learner's."""
        _ = self.known

    def inputs(self, seed: int = 0) -> Iterator[dict[str, Any]]:
        """The draws of a seed as arguments by name, the same ones every time."""
        names = list(inspect.signature(self.reference).parameters)
        with standard_torch():
            draws = list(self.draws(torch.Generator().manual_seed(seed)))
        for arguments in draws:
            yield dict(zip(names, arguments, strict=True))

    def edges(self, seed: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
        """Inputs at the edge of what the docstring allows, each with its name; the last is not contiguous."""
        names = list(inspect.signature(self.reference).parameters)
        with standard_torch():
            drawn = list(self.drawn_edges(torch.Generator().manual_seed(seed)))
        for name, arguments in drawn:
            yield name, dict(zip(names, arguments, strict=True))
        largest = max(self.inputs(seed), key=lambda inputs: max(map(_axes, inputs.values())))
        if any(_axes(value) for value in largest.values()):
            name = "inputs that are not contiguous in memory, as after a transpose"
            yield name, {parameter: _laid_out_otherwise(value) for parameter, value in largest.items()}

    def _other_numbers(self, usual: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
        """One draw of another seed with another result than the usual ones; none where draws do not depend on it."""
        pairs = zip(self.inputs(seed + 1), usual)
        others = [new for new, old in pairs if not all(unchanged(old[name], value) for name, value in new.items())]
        known = [self.reference(*inputs.values()) for inputs in usual]

        def is_known(new: dict[str, Any]) -> bool:
            result = self.reference(*new.values())
            return any(same(result, want) for want in known)

        return sorted(others, key=is_known)[:1]

    def _draws_of_seed(self, seed: int) -> Iterator[Run]:
        """The draws of a seed, with what is right for them."""
        for inputs in self.inputs(seed):
            yield Run(inputs, self.reference(*inputs.values()))

    def verdict(self, function: Callable, seed: int = 0, search: bool = True) -> Verdict:
        """Judge `function` on every draw of `seed`, and on one of the next, which finds a table of the answers.

        Of a wrong one that no known mistake explains, `search` for a change that fixes it (repair.py), up to a second.
        Silent; raises KeyboardInterrupt only. What the function does to the process is undone (sandbox.py).
        """
        if not callable(function):
            return Verdict("wrong", Finding("answer.no_function", {"got": describe_kind(function)}))
        with Sandbox() as sandbox:
            self.require_readable_rows()
            usual = list(self.inputs(seed))
            draws = usual + self._other_numbers(usual, seed)
            wanted = [self.reference(*inputs.values()) for inputs in draws]  # before the answer can spoil them
            runs: list[Run] = []
            for number, (inputs, want) in enumerate(zip(draws, wanted)):
                runs.append(run(function, inputs, want, sandbox.call))
                runs[-1].number = number if seed == 0 and number < len(usual) else None
                if isinstance(runs[-1].error, Stopped):
                    break
            sandbox.settle()
            with contextlib.redirect_stdout(Printed()), contextlib.redirect_stderr(Printed()):
                try:
                    found = sandbox.bounded(self._judge, function, runs, len(usual), sandbox, search, seed)
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # a result so odd that it cannot be compared
                    key = "answer.comparing_stopped" if isinstance(error, Stopped) else "answer.cannot_be_compared"
                    why = text_of(error) if isinstance(error, Stopped) else type(error).__name__
                    found = Verdict("wrong", Finding(key, {"got": describe_kind(runs[0].result), "why": why}))
        return replace(found, printed=runs[0].printed, shown=sandbox.shown)

    def _judge(
        self, function: Callable, runs: list[Run], usual: int, sandbox: Sandbox, search: bool, seed: int
    ) -> Verdict:
        """First what hides everything else, then the diagnosis."""
        if sandbox.asked:
            return Verdict("wrong", Finding("answer.verb_inside", {"verb": sandbox.asked, "word": self.word}))
        if isinstance(runs[-1].error, Stopped):
            self.stopped = function
            return Verdict("wrong", stopped(runs[-1].error, function))
        if any(is_todo(done, function) for done in runs):
            return self._todo(function)
        if self.broken and source_of(function) == source_of(self.broken.function):
            return Verdict("todo", self._untried(Finding("answer.as_given")))
        if sandbox.switched:
            return Verdict("wrong", Finding("answer.switched", {"names": listed(sandbox.switched)}))
        return self._diagnose(function, runs, usual, search, seed)

    def _leaves(self) -> Iterator[tuple[dict[str, Any], dict[str, torch.Tensor]]]:
        """The usual inputs in float64, and what of them a gradient may reach, by name."""
        for arguments in self.inputs():
            inputs = {name: in_double(copied(value)) for name, value in arguments.items()}
            yield inputs, dict(leaves_of(inputs))

    def _gradients_are_nan(self, function: Callable) -> bool:
        """Are gradients NaN on some draw where those of the reference are numbers?"""
        for inputs, leaves in self._leaves():
            try:
                got = gradients_of(function(*inputs.values()), leaves)
            except Exception:  # nothing can be trained through NumPy, say, and nothing has to
                return False
            if any(map(is_nan, got.values())):
                return not any(map(is_nan, gradients_of(self.reference(*inputs.values()), leaves).values()))
        return False

    def _cut(self, function: Callable) -> Finding | None:
        """Do the gradients that come through the reference come through a right answer as well, on every draw?"""
        for inputs, leaves in self._leaves():
            try:
                got = gradients_of(function(*inputs.values()), leaves)
            except Exception as error:
                return cut_off(error, with_decorators(function))
            want = gradients_of(self.reference(*inputs.values()), leaves)
            if lost := [name for name in leaves if not same(got[name], want[name], TOLERANCE[torch.float32])]:
                return lost_gradients(lost, any(is_nan(got[name]) for name in lost), source_of(function))
        return None

    def _todo(self, function: Callable) -> Verdict:
        if is_stub(function):
            return Verdict("todo", self._untried())
        return Verdict("wrong", Finding("answer.dots_left_over"))

    def _untried(self, said: Finding | None = None) -> Finding:
        untried = Finding("answer.untried", {"dots": self.dots, "minutes": self.minutes})
        help_there_is = Finding("answer.hint", {"name": self.name}) if hints_are_given() else None
        return in_a_row(untried, said, help_there_is)

    def _at_the_edges(self, function: Callable, usual: list[Run], seed: int) -> tuple[list[Run], Finding | None]:
        """The runs of an answer at the edges, up to the first that is wrong, and what is said of that one, if any."""
        runs = []
        for name, inputs in self.edges(seed):
            runs.append(done := run(function, inputs, self.reference(*map(copied, inputs.values()))))
            if isinstance(done.error, Stopped):
                self.stopped = function
                return runs, stopped(done.error, function)
            if done.changed or not (done.right or is_same_in_floats(done)):
                given = self.known, self.intermediates, self.question_by_line
                found = at_an_edge(Case(self.reference, function, [done], *given))
                return runs, Finding("answer.at_an_edge", {"inputs": len(usual), "edge": name, "found": found})
        if leak := max((done.leak for done in [*usual, *runs] if done.right), default=0.0):
            return runs, Finding("answer.leak", {"inputs": len(usual), "leak": f"{leak:.1g}"})
        return runs, None

    def _diagnose(self, function: Callable, runs: list[Run], usual: int, search: bool, seed: int) -> Verdict:
        """Right, or what went wrong on the usual inputs, or else on the other numbers, or at the edges."""
        wrong = [done for done in runs[:usual] if not done.right or done.changed]
        by_heart = not wrong and not all(done.right for done in runs[usual:])
        if not wrong and not by_heart:
            return self._on_right_numbers(function, runs, usual, seed)
        case = Case(
            self.reference,
            function,
            runs[usual:] if by_heart else runs[:usual],
            self.known,
            self.intermediates,
            self.question_by_line,
            self.broken.name if self.broken else "",
            self._draws_of_seed if search else None,
            self.answers,
        )
        found = diagnosis(case)
        if by_heart:
            fields = {"inputs": usual, "found": found}
            return Verdict("wrong", Finding("answer.by_heart", fields, change=found.change, by=found.by))
        if not found.names and not found.change and len(wrong) < usual:
            count = Finding("answer.right_for_some", {"right": usual - len(wrong), "inputs": usual})
            found = in_a_row(found, count, by=found.by)
        return Verdict("wrong", found, share=1 - len(wrong) / usual)

    def _on_right_numbers(self, function: Callable, runs: list[Run], usual: int, seed: int) -> Verdict:
        """Of an answer that is right on all draws: gradients, edges, digits."""
        if self.trained and (said := self._cut(function)):
            return Verdict("wrong", said)
        edges, wrong_there = Sandbox.current.call(self._at_the_edges, function, runs[:usual], seed)
        if wrong_there:
            return Verdict("wrong", replace(wrong_there, by="at_an_edge"), share=1.0)
        runs = runs + edges
        lost = next((lost_digits(done) for done in runs if not done.exact), "")
        is_untrainable = not self.trained and any(done.masked for done in runs) and self._gradients_are_nan(function)
        said = in_a_row(
            Finding("answer.right", {"inputs": usual + len(edges)}),
            Finding("answer.gradients_are_nan") if is_untrainable else None,
            Finding(
                "digits.used_for_some", {"lost": Finding(f"digits.{lost}"), "remedy": Finding(f"digits.remedy {lost}")}
            )
            if lost
            else None,
        )
        return Verdict("right", said, fits=all(done.fits for done in runs), exact=not lost)


class ClassExercise(Exercise):
    """An exercise that asks for a class of layers. `reference` is that class as a function (run/layers.py), of the
    sizes that its `__init__` takes and the inputs of its `forward`, which the draws yield in this order."""

    asked, word = "class", "class"

    def __init__(self, layer: type, *how: Any):
        super().__init__(Built(layer), *how)
        self.course, self.trained = layer, True

    def __call__(self, *sizes, **keywords):
        return self.course(*sizes, **keywords)

    @functools.cached_property
    def answers(self) -> list[type]:
        return [built.layer for built in Exercise.answers.func(self)]

    def verdict(self, layer: Any, seed: int = 0, search: bool = True) -> Verdict:
        """Judge a class as `Exercise.verdict` judges a function; no change of it is searched for. Of one whose numbers
        are right, the gradients of all its weights are compared, too, and the results of a second call."""
        layer = layer.layer if isinstance(layer, Built) else layer  # as rows and right answers are
        if not isinstance(layer, type):
            return Verdict("wrong", Finding("answer.no_class", {"name": self.name}))
        if not issubclass(layer, torch.nn.Module):
            return Verdict("wrong", Finding("answer.no_module", {"name": self.name}))
        built = Built(layer, self.reference)
        text = built.text
        if text and is_stub_of_class(text):
            return Verdict("todo", self._untried())
        verdict = super().verdict(built, seed, search=False)
        self.stopped = layer if self.stopped is built else self.stopped
        return verdict

    def _todo(self, built: Built) -> Verdict:
        is_begun = Verdict("wrong", Finding("answer.dots_left_over"))
        return is_begun if built.text else Verdict("todo", self._untried())

    def _diagnose(self, built: Built, runs: list[Run], *how: Any) -> Verdict:
        """A class cannot be fitted to what is asked for, as `use` fits a function: what is of another type is wrong."""
        verdict = super()._diagnose(built, runs, *how)
        if verdict.status != "right" or verdict.fits and verdict.exact:
            return verdict
        lost = next((lost_digits(done) for done in runs if not done.exact), "type")
        remedy = Finding(f"digits.remedy {lost}", {"want": describe_want(runs[0].want)})
        fields = {"lost": Finding(f"digits.{lost}"), "remedy": remedy}
        return Verdict("wrong", Finding("digits.right_but", fields), share=1.0)

    def _cut(self, built: Built) -> Finding | None:
        """What goes wrong beyond a first call in evaluation mode: in a second one, in training, in the gradients."""
        for arguments in self.inputs():
            inputs = {name: in_double(copied(value)) for name, value in arguments.items()}
            want = self.reference(*inputs.values())
            for look, raised in ((self._again, AGAIN), (self._in_training, IN_TRAINING), (self._lost, CUT_OFF)):
                try:
                    said = look(built, inputs, want)
                except Exception as error:
                    said = Finding(raised, {"why": shorten(f"{type(error).__name__}: {text_of(error)}", 80)})
                if said:
                    return said
        return None

    def _again(self, built: Built, inputs: dict[str, Any], want: Any) -> Finding | None:
        layer, given = built.layer_for(tuple(inputs.values()))
        layer(*map(_in_other_order, given))
        if _is(layer(*map(copied, given)), want):
            return None
        return Finding(AGAIN, {"why": Finding("gradients.stays_in_the_layer")})

    def _in_training(self, built: Built, inputs: dict[str, Any], want: Any) -> Finding | None:
        """Where the reference computes the same in training as in evaluation."""
        for one in (self.reference, built):
            layer, given = one.layer_for(tuple(inputs.values()))
            if not _is(layer.train()(*map(copied, given)), want):
                said = Finding(IN_TRAINING, {"why": Finding("gradients.dropout")})
                return None if one is self.reference else said
        return None

    def _lost(self, built: Built, inputs: dict[str, Any], want: Any) -> Finding | None:
        """Does a gradient reach the inputs and each of the weights?"""
        leaves, found = dict(leaves_of(inputs)), []
        for one in (built, self.reference):
            layer, given = one.layer_for(tuple(inputs.values()))
            found.append(gradients_of(as_wanted(layer(*given), want), leaves | dict(layer.named_parameters())))
        mine, theirs = found
        lost = [name for name in theirs if not same(mine[name], theirs[name], TOLERANCE[torch.float32])]
        return lost_gradients(lost, any(is_nan(mine[name]) for name in lost), built.text) if lost else None


def _is(result: Any, want: Any) -> bool:
    return same(as_wanted(result, want), want, TOLERANCE[torch.float32])


def _in_other_order(value: Any) -> Any:
    """A tensor of floats with its numbers in another order; anything else as it is."""
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.detach().flatten().flip(0).view(value.shape) if is_float else copied(value)


def _axes(value: Any) -> int:
    return value.ndim if isinstance(value, torch.Tensor) else 0


def _laid_out_otherwise(value: Any) -> Any:
    """The same tensor, not contiguous: with its axes reversed in memory, or with gaps between its numbers."""
    if not _axes(value):
        return value
    if value.ndim == 1:
        return torch.stack([value, value], dim=-1)[:, 0]
    axes = range(value.ndim)[::-1]
    return value.permute(*axes).contiguous().permute(*axes)


def is_todo(done: Run, function: Callable) -> bool:
    """Nothing written yet: the stub returns `...` or a tuple with it, or itself raises NotImplementedError.

    torch raises NotImplementedError too ("not implemented for 'Long'"), but from inside a call. A `...` that is left in
    an expression raises a TypeError that names the ellipsis.
    """
    if isinstance(done.error, TypeError) and "ellipsis" in text_of(done.error):
        return True
    if isinstance(done.error, NotImplementedError):
        frame = own_frame(done.error, function)
        return frame is not None and dis.opname[frame.tb_frame.f_code.co_code[frame.tb_lasti]] == "RAISE_VARARGS"
    return done.result is ... or (isinstance(done.result, (tuple, list)) and any(part is ... for part in done.result))


def stopped(error: Stopped, function: Callable) -> Finding:
    """Where an answer was that took too long or too much memory."""
    line, loop = own_line(error, function), own_loop(error, function)
    place = "_in_loop" if loop else "_at_line" * bool(line)  # in a loop, chance says which line was running
    return Finding(f"answer.stopped{place}", {"why": text_of(error), "line": line, "loop": loop})


def exercise(
    draws: Callable[[torch.Generator], Iterator[tuple]],
    hints: list[str],
    intermediates: dict[str, Callable] | None = None,
    question: str | dict[str, str] = "",
    level: int = 1,
    minutes: int = 5,
    trained: bool = False,
    edges: Callable[[torch.Generator], Iterator[tuple[str, tuple]]] = no_edges,
) -> Callable[[Callable], Exercise]:
    """Decorator that turns a reference function, or a class of layers, into an `Exercise` and adds it to the catalogue.

    Of a class the draws yield what its `__init__` takes, then the inputs of its `forward`, each argument that has a
    default, too. The learner's layer gets the weights of the reference's by the names of its parameters; outputs, in
    evaluation and in training, and all gradients have to be the same.

    `draws(generator)` yields tuples of positional arguments, three at least, floats in float32 and in float64;
    `hints` go from a question to nearly the code; `intermediates` maps a label to a function of the same arguments that
    gives an intermediate, to be recognised by its shape; `question` is asked where shapes do not fit; of several,
    the first whose pattern, its key, is found in the line that failed. `level` is 1 to 3, `minutes` what the
    exercise takes; `trained` means that the notebook trains through it, so gradients have to come through.
    `edges(generator)` yields names and arguments of what lies at the edge of what the docstring allows, such as "70
    words": tried where all draws come right, and a wrong answer is told the name. Raises ValueError if another module
    has an exercise of that name.
    """

    def make(reference: Callable) -> Exercise:
        known = _catalogue.get(reference.__name__)
        if known is not None and known.__module__ != reference.__module__:
            raise ValueError(f"exercise {reference.__name__} exists already in {known.__module__}: choose another name")
        kind = ClassExercise if isinstance(reference, type) else Exercise
        _catalogue[reference.__name__] = kind(
            reference, draws, hints, intermediates or {}, question, level, minutes, trained, edges
        )
        return _catalogue[reference.__name__]

    return make


_catalogue: dict[str, Exercise] = {}


def catalogue() -> dict[str, Exercise]:
    """Every exercise by name, in the order of the course."""
    return dict(_catalogue)


IMPORTS["catalogue"] = catalogue  # a right answer may build on earlier exercises


def source(found: Exercise) -> str:
    """The code of the reference, without its decorator."""
    text = textwrap.dedent(inspect.getsource(found.course))
    definition = ast.parse(text).body[0]
    return "\n".join(text.splitlines()[definition.lineno - 1 :]).rstrip()
