"""Exercises that tell a learner what went wrong: `check`, `hint`, `solution`, `use`.

An exercise is a reference function with a way to draw inputs, graded hints, and a catalogue of *known mistakes*: rows
of text beside the module, each with the sentence that helps whoever wrote it (rows.py). `check` runs the learner's
function beside the reference on every draw. Is it wrong, the first of the findings that applies speaks (findings.py),
known mistakes among them, alone or two at once. The tests use the same catalogue to prove that every mistake is caught.

    @exercise(draws=..., hints=["Which ...?", "..."], names={"the weights: did you forget the values?": weights_of})
    def attention_scores(query, keys):
        return keys @ query / math.sqrt(keys.shape[-1])
"""

import ast
import contextlib
import difflib
import dis
import functools
import inspect
import linecache
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ..records import opened, record
from ..settings import marked
from .case import Case
from .classes import Built
from .classes import is_stub as is_stub_of_class
from .example import small_example
from .findings import at_an_edge, diagnosis
from .isolation import Isolation, Printed, Stopped, standard_torch
from .known import Known
from .numbers import condition
from .own import former, keep, kept
from .reading import is_stub, source_of
from .rows import IMPORTS, Mistake, answers, given, mistake, read, sections
from .running import (
    FLOATS,
    TOLERANCE,
    Run,
    as_asked,
    as_list,
    as_tensor,
    as_wanted,
    copied,
    is_exact,
    is_same_in_floats,
    run,
    same,
    unchanged,
)
from .verdict import MARKS, Verdict
from .wording import describe_kind, describe_want, listed, own_frame, own_line, own_loop, shorten, text_of

CUTS = re.compile(r"detach|\.data\b|item\(|tolist|tensor\(|Parameter\(|numpy|np\.|no_grad")  # out of the graph


CUT_OFF = (
    "the numbers are right, but cut off from what they were computed from: nothing can be trained through it ({why}). "
    "detach(), item(), tolist(), numpy() and torch.tensor(…) cut."
)
AGAIN = "the first call is right, but a second call of the same layer, with another input, is not: {why}."
IN_TRAINING = "right after layer.eval(), but not in training, as a layer is when it is made: {why}"
LEFT_OVER = "your code is there, but `...` still stands in it: return your result in its place."


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
        names: dict,
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
        self.hints, self.names = list(hints), names
        self.questions = question if isinstance(question, dict) else {"": question}
        self.texts: list[str] = []
        self.right_texts: list[str] = []
        self.hints_given = 0
        self.said = self.change = ""  # of the answer checked last: what it was told; what would mend it, a hint more
        self.used, self.stopped = False, None  # has use(…) been called; the last function that ran too long

    def __call__(self, *arguments, **keywords):
        return self.reference(*arguments, **keywords)

    def __repr__(self) -> str:
        return f"<exercise {self.name}: {len(self.hints)} hints, {len(self.rows)} known mistakes>"

    @property
    def dots(self) -> str:
        """How hard: ●○○ to ●●●."""
        return "●" * self.level + "○" * (3 - self.level)

    def mistakes(self, text: str) -> None:
        """Add rows to those of the file (rows.py says what they look like)."""
        self.texts.append(text)

    def right(self, text: str) -> None:
        """Add right answers, which the tests judge, to those of the file."""
        self.right_texts.append(text)

    def _rows(self, kind: str) -> str:
        names = tuple(name for name, found in _catalogue.items() if found.__module__ == self.__module__)
        return sections(Path(inspect.getfile(self.course)).with_suffix(".txt"), names).get((self.name, kind), "")

    @functools.cached_property
    def rows(self) -> list[Mistake]:
        """The known mistakes: those of the file of rows, code to be mended first, then those that the module adds."""
        texts = [self._rows("broken"), self._rows("mistakes"), *self.texts]
        return [mistake(self.reference, *row) for text in texts for row in read(text)]

    @property
    def broken(self) -> Mistake | None:
        """In an exercise in debugging: the code that is to be mended, the first of the known mistakes."""
        return self.rows[0] if self._rows("broken") else None

    @property
    def stub(self) -> str:
        """What stands in the notebook in the place of an answer: the broken code, or else `return ...`."""
        return given(self.reference, self.broken.function if self.broken else None)

    @functools.cached_property
    def answers(self) -> list[Callable]:
        """Right answers in other words than the reference's."""
        texts = [self._rows("right"), *self.right_texts]
        return [answer for text in texts for answer in answers(self.reference, text)]

    @functools.cached_property
    def known(self) -> Known:
        return Known(self.reference, self.rows, next(self.inputs()))

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

    def _more(self, seed: int) -> Iterator[Run]:
        """The draws of a seed, with what is right for them."""
        for inputs in self.inputs(seed):
            yield Run(inputs, self.reference(*inputs.values()))

    def verdict(self, function: Callable, seed: int = 0, search: bool = True) -> Verdict:
        """Judge `function` on every draw of `seed`, and on one of the next, which finds a table of the answers.

        Of a wrong one that no known mistake explains, `search` for a change that mends it (repair.py), up to a second.
        Silent; raises KeyboardInterrupt only. What the function does to the process is undone (isolation.py).
        """
        if not callable(function):
            return Verdict("wrong", f"{describe_kind(function)} is not a function.")
        with Isolation() as isolation:
            self.known  # noqa: B018, a row that cannot be read is no mistake of the learner's: its error is not caught
            usual = list(self.inputs(seed))
            draws = usual + self._other_numbers(usual, seed)
            wanted = [self.reference(*inputs.values()) for inputs in draws]  # before the answer can spoil them
            runs: list[Run] = []
            for number, (inputs, want) in enumerate(zip(draws, wanted)):
                runs.append(run(function, inputs, want, isolation.call))
                runs[-1].number = number if seed == 0 and number < len(usual) else None
                if isinstance(runs[-1].error, Stopped):
                    break
            isolation.settle()
            with contextlib.redirect_stdout(Printed()), contextlib.redirect_stderr(Printed()):
                try:
                    found = isolation.bounded(self._judge, function, runs, len(usual), isolation, search, seed)
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # a result so odd that it cannot be compared
                    why = text_of(error) if isinstance(error, Stopped) else type(error).__name__
                    kind = describe_kind(runs[0].result)
                    found = Verdict("wrong", f"your result, {kind}, cannot be compared: {why}.")
        return replace(found, printed=runs[0].printed, shown=isolation.shown)

    def _judge(
        self, function: Callable, runs: list[Run], usual: int, isolation: Isolation, search: bool, seed: int
    ) -> Verdict:
        """First what hides everything else, then the diagnosis."""
        if isolation.asked:
            return Verdict(
                "wrong",
                f"{isolation.asked}(…) stands inside a function, which then calls it each time it runs. "
                f"It belongs below the function, as far left as the word `{self.word}`.",
            )
        if isinstance(runs[-1].error, Stopped):
            self.stopped = function
            return Verdict("wrong", stopped(runs[-1].error, function))
        if any(is_todo(done, function) for done in runs):
            return self._todo(function)
        if self.broken and source_of(function) == source_of(self.broken.function):
            return Verdict("todo", self._untried(" This is the code as it was given, with its mistake."))
        if isolation.switched:
            return Verdict(
                "wrong",
                f"your function sets {listed(isolation.switched)}: every later cell would go on with that. "
                "Here it was set back; leave it as it is.",
            )
        return self._diagnose(function, runs, usual, search, seed)

    def _leaves(self) -> Iterator[tuple[dict[str, Any], dict[str, torch.Tensor]]]:
        """The usual inputs in float64, and what of them a gradient may reach, by name."""
        for arguments in self.inputs():
            inputs = {name: _in_double(copied(value)) for name, value in arguments.items()}
            yield inputs, dict(_leaves(inputs))

    def _gradients_are_nan(self, function: Callable) -> bool:
        """Are gradients NaN on some draw where those of the reference are numbers?"""
        for inputs, leaves in self._leaves():
            try:
                got = _gradients(function(*inputs.values()), leaves)
            except Exception:  # nothing can be trained through NumPy, say, and nothing has to
                return False
            if any(map(_is_nan, got.values())):
                return not any(map(_is_nan, _gradients(self.reference(*inputs.values()), leaves).values()))
        return False

    def _cut(self, function: Callable) -> str | None:
        """Do the gradients that come through the reference come through a right answer as well, on every draw?"""
        for inputs, leaves in self._leaves():
            try:
                got = _gradients(function(*inputs.values()), leaves)
            except Exception as error:
                return CUT_OFF.format(why=shorten(text_of(error), 80))
            want = _gradients(self.reference(*inputs.values()), leaves)
            if lost := [name for name in leaves if not same(got[name], want[name], TOLERANCE[torch.float32])]:
                return _lost(lost, any(_is_nan(got[name]) for name in lost), source_of(function))
        return None

    def _todo(self, function: Callable) -> Verdict:
        if is_stub(function):
            return Verdict("todo", self._untried())
        return Verdict("wrong", LEFT_OVER)

    def _untried(self, said: str = "") -> str:
        help_there_is = "" if marked() else f" hint({self.name}) helps."
        return f"not tried yet ({self.dots}, {self.minutes} minutes).{said}{help_there_is}"

    def _at_the_edges(self, function: Callable, usual: list[Run], seed: int) -> tuple[list[Run], str]:
        """The runs of an answer at the edges, up to the first that is wrong, and what is said of that one, if any."""
        runs, before = [], f"right on the {len(usual)} usual inputs, but"
        for name, inputs in self.edges(seed):
            runs.append(done := run(function, inputs, self.reference(*map(copied, inputs.values()))))
            if isinstance(done.error, Stopped):
                self.stopped = function
                return runs, stopped(done.error, function)
            if done.changed or not (done.right or is_same_in_floats(done)):
                found = at_an_edge(Case(self.reference, function, [done], self.known, self.names, self.questions))
                return runs, f"{before} not for {name}: {found.message}"
        if leak := max((done.leak for done in [*usual, *runs] if done.right), default=0.0):
            return runs, (
                f"{before} what the mask hides is {leak:.1g} in your result, where it should be exactly 0: "
                "a score of -∞ gets no weight at all."
            )
        return runs, ""

    def _diagnose(self, function: Callable, runs: list[Run], usual: int, search: bool, seed: int) -> Verdict:
        """Right, or what went wrong on the usual inputs, or else on the other numbers, or at the edges."""
        wrong = [done for done in runs[:usual] if not done.right or done.changed]
        by_heart = not wrong and not all(done.right for done in runs[usual:])
        if not wrong and not by_heart:
            if self.trained and (message := self._cut(function)):
                return Verdict("wrong", message)
            edges, wrong_there = Isolation.current.call(self._at_the_edges, function, runs[:usual], seed)
            if wrong_there:
                return Verdict("wrong", wrong_there, share=1.0, by="at_an_edge")
            runs, message = runs + edges, f"right on all {usual + len(edges)} inputs."
            rounded = next((used_for_some(lost_digits(done)) for done in runs if not done.exact), "")
            if not self.trained and any(done.masked for done in runs) and self._gradients_are_nan(function):
                message += " For some inputs the gradients through it are NaN, so no model could be trained through it."
            message = " ".join(filter(None, (message, rounded)))
            return Verdict("right", message, fits=all(done.fits for done in runs), exact=not rounded)
        judged = runs[usual:] if by_heart else runs[:usual]
        broken = self.broken.name if self.broken else ""
        more = self._more if search else None
        given = self.known, self.names, self.questions, broken, more, self.answers
        case = Case(self.reference, function, judged, *given)
        found = diagnosis(case)
        message = found.message
        if by_heart:
            return Verdict(
                "wrong",
                f"right on the {usual} inputs of every check, but not on others like them: {message}",
                change=found.change,
                by=found.by,
            )
        if not found.names and not found.change and len(wrong) < usual:
            words = condition(case)
            where = f" That happens where {words}." if words and words not in message else ""
            message += f"{where} ({usual - len(wrong)} of {usual} inputs come out right.)"
        return Verdict("wrong", message, found.names, share=1 - len(wrong) / usual, change=found.change, by=found.by)


class ClassExercise(Exercise):
    """An exercise that asks for a class of layers. `reference` is the course's class as a function (classes.py), of the
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
            return Verdict("wrong", f"{self.name} should be a class: class {self.name}(nn.Module):")
        if not issubclass(layer, torch.nn.Module):
            return Verdict(
                "wrong",
                f"the class should be one of PyTorch's modules: `class {self.name}(nn.Module):`. Only then does "
                "layer(…) call its forward, and are its weights found where a model is trained or stored.",
            )
        built = Built(layer, self.reference)
        text = built.text
        if text and is_stub_of_class(text):
            return Verdict("todo", self._untried())
        verdict = super().verdict(built, seed, search=False)
        self.stopped = layer if self.stopped is built else self.stopped
        return verdict

    def _todo(self, built: Built) -> Verdict:
        return Verdict("wrong", LEFT_OVER) if built.text else Verdict("todo", self._untried())

    def _diagnose(self, built: Built, runs: list[Run], *how: Any) -> Verdict:
        """A class cannot be fitted to what is asked for, as `use` fits a function: what is of another type is wrong."""
        verdict = super()._diagnose(built, runs, *how)
        if verdict.status != "right" or verdict.fits and verdict.exact:
            return verdict
        odd = next((done for done in runs if not done.exact), None)
        asked = "they are of another type than they should be", f"Return {describe_want(runs[0].want)}, as it is."
        return Verdict(
            "wrong", "the numbers are right, but {}. {}".format(*lost_digits(odd) if odd else asked), share=1.0
        )

    def _cut(self, built: Built) -> str | None:
        """What goes wrong beyond a first call in evaluation mode: in a second one, in training, in the gradients."""
        for arguments in self.inputs():
            inputs = {name: _in_double(copied(value)) for name, value in arguments.items()}
            want = self.reference(*inputs.values())
            for look, raised in ((self._again, AGAIN), (self._in_training, IN_TRAINING), (self._lost, CUT_OFF)):
                try:
                    message = look(built, inputs, want)
                except Exception as error:
                    message = raised.format(why=shorten(f"{type(error).__name__}: {text_of(error)}", 80))
                if message:
                    return message
        return None

    def _again(self, built: Built, inputs: dict[str, Any], want: Any) -> str | None:
        layer, given = built.layer_for(tuple(inputs.values()))
        layer(*map(_in_other_order, given))
        if _is(layer(*map(copied, given)), want):
            return None
        return AGAIN.format(why="what `forward` computes should not stay in the layer and change what comes out later")

    def _in_training(self, built: Built, inputs: dict[str, Any], want: Any) -> str | None:
        """Where the reference computes the same in training as in evaluation."""
        for one in (self.reference, built):
            layer, given = one.layer_for(tuple(inputs.values()))
            if not _is(layer.train()(*map(copied, given)), want):
                why = "other numbers come out. Does a dropout hide some, which is not asked for?"
                return None if one is self.reference else IN_TRAINING.format(why=why)
        return None

    def _lost(self, built: Built, inputs: dict[str, Any], want: Any) -> str | None:
        """Does a gradient reach the inputs and each of the weights?"""
        leaves, found = dict(_leaves(inputs)), []
        for one in (built, self.reference):
            layer, given = one.layer_for(tuple(inputs.values()))
            found.append(_gradients(as_wanted(layer(*given), want), leaves | dict(layer.named_parameters())))
        mine, theirs = found
        lost = [name for name in theirs if not same(mine[name], theirs[name], TOLERANCE[torch.float32])]
        return _lost(lost, any(_is_nan(mine[name]) for name in lost), built.text) if lost else None


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


KEEP_DTYPE = "To keep the dtype of a tensor x, write dtype=x.dtype where you make a new one."
LOSSES = {  # how a right answer loses digits, and what to do about it
    "whole numbers": ("where whole numbers go in, floats come out", KEEP_DTYPE),
    "float32": ("where float64 goes in, float32 comes out", KEEP_DTYPE),
    "other": ("in float64 your result is off by more than rounding explains", "Do you add or round something?"),
}


def lost_digits(done: Run) -> tuple[str, str]:
    """How a right answer loses digits, and what to do about it."""
    parts = zip(done.result, done.want) if isinstance(done.want, tuple) else [(done.result, done.want)]
    got, want = next((as_tensor(got), want) for got, want in parts if not is_exact(got, want))
    if want.dtype not in FLOATS:
        return LOSSES["whole numbers"]
    return LOSSES["float32" if got.dtype == torch.float32 else "other"]


def used_for_some(lost: tuple[str, str]) -> str:
    """Why the notebook uses a right answer for some inputs only."""
    what, remedy = lost
    return f"{what[0].upper()}{what[1:]}, so there use(…) goes on with the course's function. {remedy}"


def _in_double(value: Any) -> Any:
    """Floats and modules in float64, where gradients that cancel lose nothing to rounding."""
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if is_float or isinstance(value, torch.nn.Module) else value


def _leaves(inputs: dict[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """What a gradient may reach, by name: tensors of floats, and the parameters of a module, such as `self`."""
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            yield name, value.requires_grad_()
        elif isinstance(value, torch.nn.Module):
            yield from ((f"{name}.{inner}", parameter) for inner, parameter in value.named_parameters())


def _gradients(result: Any, leaves: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The gradients of a sum of all the results' numbers, each with a weight of its own; 0 where no way leads."""
    parts = [as_asked(part, leaves) for part in (result if isinstance(result, tuple) else [result])]
    total = sum((part * torch.arange(part.numel()).cos().view(part.shape)).sum() for part in parts)
    gradients = torch.autograd.grad(total, [*leaves.values()], allow_unused=True)
    pairs = zip(leaves.items(), gradients)
    return {name: torch.zeros_like(leaf) if gradient is None else gradient for (name, leaf), gradient in pairs}


def _is_nan(gradient: torch.Tensor) -> bool:
    return bool(gradient.isnan().any())


def _lost(names: list[str], is_nan: bool, text: str) -> str:
    """What is said of a right answer through which the gradients of `names` come wrong, or not at all."""
    right = f"the numbers are right, but the gradient that reaches {listed(f'`{name}`' for name in names)} is not"
    if is_nan:
        return (
            f"{right}: it is NaN. What was NaN or infinite on the way forwards, and was replaced further on, comes "
            "back on the way backwards, as 0 · NaN or 0 · ∞. It must not arise: replace what goes in before it does."
        )
    if not text or CUTS.search(text):
        return f"{right}: detach(), .data, item(), torch.tensor(…) and nn.Parameter(…) cut a way that it has to take."
    return f"{right}: is there a step that changes nothing here, but would with other numbers, as a division by 1?"


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


def stopped(error: Stopped, function: Callable) -> str:
    """Where an answer was that took too long or too much memory."""
    line, loop = own_line(error, function), own_loop(error, function)
    place = f" in your line `{line}`" if line and line != loop else ""
    if not loop:
        return f"your function {text_of(error)}{place}."
    return f"your function {text_of(error)}{place}, in the loop `{loop}`. What ends this loop?"


def exercise(
    draws: Callable[[torch.Generator], Iterator[tuple]],
    hints: list[str],
    names: dict[str, Callable] | None = None,
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
    `hints` go from a question to nearly the code; `names` maps a label to a function of the same arguments that
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
            reference, draws, hints, names or {}, question, level, minutes, trained, edges
        )
        return _catalogue[reference.__name__]

    return make


_catalogue: dict[str, Exercise] = {}


def catalogue() -> dict[str, Exercise]:
    """Every exercise by name, in the order of the course."""
    return dict(_catalogue)


IMPORTS["catalogue"] = catalogue  # a right answer may build on earlier exercises


def check(function: Callable, seed: int = 0) -> None:
    """Print one short diagnosis of the learner's function: ○ not tried yet, ✔ right, ✘ with what went wrong.

    Another `seed` draws other numbers: a second try on fresh ones. A right answer is kept for later notebooks (own.py).
    """
    found = _find(function, "check")
    if found is None:
        return
    if function is found.course:
        print(
            f"{MARKS['todo']} {found.name}: this is the course's own function, which use(...) put in the place of "
            "yours. Run the cell with your definition again, then check."
        )
        return
    verdict = found.verdict(function, seed)
    twice = verdict.status == "wrong" and verdict.message == found.said and function is not found.stopped
    twice = twice and not isinstance(found, ClassExercise)  # without its weights, an example of a layer says nothing
    example = small_example(found.reference, function, list(found.inputs(seed))) if twice else ""
    found.said, found.change = verdict.message, verdict.change
    if verdict.printed:
        print(verdict.printed, end="" if verdict.printed.endswith("\n") else "\n")
    for output in verdict.shown:
        output.display()
    again = f" Until use({found.name}) runs again, the cells below work with this definition."
    again = again if found.used and verdict.status != "right" and not _use_follows(found.name) else ""
    unkept = ""
    if verdict.status == "right":
        references = {name: one.course for name, one in _catalogue.items()}
        unkept = keep(found.name, function, references, functools.partial(found.verdict, search=False))
    print(f"{MARKS[verdict.status]} {found.name}: {' '.join(filter(None, (verdict.message, example, unkept)))}{again}")
    record(found.name, verdict)


def hint(function: Callable) -> None:
    """Print the next hint, each call one further; at the end, the last one again and what else there is."""
    found = _find(function, "hint")
    if found is None or marked("hint"):
        return
    hints = [*found.hints, *filter(None, [found.change])]
    number = min(found.hints_given + 1, len(hints))
    at_the_end = found.hints_given >= len(hints)
    found.hints_given = number
    print(f"Hint {number} of {len(hints)}: {hints[number - 1]}")
    if at_the_end:
        print(f"There are no more hints; solution({found.name}) shows one way to write it.")


def solution(function: Callable) -> None:
    """Print the reference code; progress() says from then on that it was opened."""
    found = _find(function, "solution")
    if found is not None and not marked("solution"):
        print(source(found))
        opened(found.name)


def use(function: Callable | str, own: bool = True) -> Callable:
    """The learner's function where it is right or the work is marked, the reference where it is not, without a word.

    The name of an exercise instead of a function, `use("attend")`, gives the answer that `check` kept of the learner's,
    and says so, or else the course's function; with own=False always the course's. So a notebook goes on from what
    another one built. ValueError where there is no exercise of that name.
    A right function of another kind of number, a list or a NumPy array for instance, is fitted with what the notebook
    goes on with: tensors of the inputs' precision. A function that a check had to stop is not run again.
    """
    if isinstance(function, str) and Isolation.current is None:
        found = by_name(function)
        answer = kept(found.name, functools.partial(found.verdict, search=False)) if own else None
        return _fitting(*answer, found) if answer else found.course
    found = _find(function, "use")
    if found is None or marked():
        return function
    found.used = True
    if function is found.stopped or (verdict := found.verdict(function, search=False)).status != "right":
        return found.course
    return _fitting(function, verdict, found)


def _fitting(function: Callable, verdict: Verdict, found: Exercise) -> Callable:
    """A right function as the notebook goes on with it: fitted where its numbers are of another kind, without gradients
    where the notebook trains nothing through it, and not for what it would round."""
    if function is found.course:
        return function
    if isinstance(found, ClassExercise):
        return function
    function = function if found.trained else _detached(function)
    if not verdict.fits:
        with standard_torch():
            function = _fitted(function, found.reference(*next(found.inputs()).values()))
    return function if verdict.exact else _in_float32(function, found.reference)


def _in_float32(function: Callable, reference: Callable) -> Callable:
    """`function` for numbers in float32, whose digits it keeps; for all others the reference."""

    @functools.wraps(function)
    def in_float32(*arguments, **keywords):
        given = [value for value in (*arguments, *keywords.values()) if isinstance(value, torch.Tensor)]
        floats = {value.dtype for value in given if value.is_floating_point()}
        return (function if floats == {torch.float32} else reference)(*arguments, **keywords)

    return in_float32


def _detached(function: Callable) -> Callable:
    """`function` as `check` has judged it: what it is given records no gradients, so NumPy takes it, too."""

    @functools.wraps(function)
    def detached(*arguments, **keywords):
        result = function(*map(_detach, arguments), **{name: _detach(value) for name, value in keywords.items()})
        return result.clone() if isinstance(result, torch.Tensor) and result.is_inference() else result

    return detached


def _detach(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) and value.requires_grad else value


def by_name(name: str) -> Exercise:
    """The exercise of that name; ValueError, with the nearest one, where there is none."""
    if name in _catalogue:
        return _catalogue[name]
    near = difflib.get_close_matches(name, _catalogue, n=1)
    raise ValueError(
        former(name) or f"there is no exercise named {name!r}" + (f"; do you mean {near[0]!r}?" if near else "")
    )


def _fitted(function: Callable, want: Any) -> Callable:
    """`function` with its result as a tensor of the precision of its first tensor of floats, or else float32; of
    several results, as in `want`, each of them.

    Without any tensor among its arguments, as where parameters are counted: a single number as a number.
    """

    @functools.wraps(function)
    def fitted(*arguments, **keywords):
        given = [value for value in (*arguments, *keywords.values()) if isinstance(value, torch.Tensor)]
        dtype = next((value.dtype for value in given if value.is_floating_point()), torch.get_default_dtype())

        def fit(result: Any, want: Any) -> Any:
            if isinstance(want, tuple):
                return tuple(map(fit, result, want))
            if isinstance(want, list):
                return as_list(result)
            exact = torch.float64 if isinstance(result, float) else None
            tensor = torch.as_tensor(as_asked(result, want), dtype=exact)
            if not given and not tensor.ndim:
                return tensor.item()
            return tensor.to(dtype) if tensor.is_floating_point() else tensor

        return fit(function(*arguments, **keywords), want)

    return fitted


def source(found: Exercise) -> str:
    """The code of the reference, without its decorator."""
    text = textwrap.dedent(inspect.getsource(found.course))
    definition = ast.parse(text).body[0]
    return "\n".join(text.splitlines()[definition.lineno - 1 :]).rstrip()


def _find(function: Callable, verb: str) -> Exercise | None:
    """The exercise that the learner means, by the function's name; None after a message that says what to do.

    None without one where an answer that is being judged calls the verb: it would be judged for ever.
    """
    if Isolation.current is not None:
        Isolation.current.asked = verb
        return None
    name = getattr(function, "__name__", None)
    if not callable(function) or not isinstance(name, str):
        meant = _meant(function)
        what = "class" if isinstance(_catalogue.get(meant), ClassExercise) else "function"
        print(
            f"✘ {verb}: you passed {describe_kind(function)}; {verb} takes the {what} itself, "
            f"without quotes and without arguments: {verb}({meant})."
        )
    elif name == "<lambda>":
        print(f"✘ {verb}: a lambda has no name to find its exercise by. Write it with def, as in the exercise.")
    elif name not in _catalogue and (gone := former(name)):
        print(f"✘ {verb}: {gone}")
    elif name not in _catalogue:
        near = difflib.get_close_matches(name, _catalogue, n=1)
        print(
            f"✘ {verb}: there is no exercise named {name}"
            + (f"; do you mean {near[0]}?" if near else ".")
            + " Keep the name of the function as the exercise gives it."
        )
    else:
        return _catalogue[name]
    return None


def _use_follows(name: str) -> bool:
    """Does the cell that called check go on to use(…)?"""
    frame = sys._getframe(2)
    lines = linecache.getlines(frame.f_code.co_filename)[frame.f_lineno :]
    return any(f"use({name})" in line for line in lines)


def _meant(passed: Any) -> str:
    """The exercise whose name was passed, or stands in the line that called the verb, or was defined last."""
    frame = sys._getframe(3)  # the caller of check, hint, …
    words = [passed] if isinstance(passed, str) else [type(passed).__name__]
    words += re.findall(r"\w+", linecache.getline(frame.f_code.co_filename, frame.f_lineno))
    words += reversed(frame.f_globals)
    return next((word for word in words if word in _catalogue), next(iter(_catalogue), "f"))
