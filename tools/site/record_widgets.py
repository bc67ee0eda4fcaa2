"""Walk a widget through its states without a kernel or a browser: for the tests, and for pages that have no kernel."""

import math
import random
from collections.abc import Iterator

import ipywidgets

from utils.widgets.controls import Explorer


def values(control: ipywidgets.Widget) -> list:
    """All values that a control can take now: those of a menu may follow from another control."""
    if isinstance(control, ipywidgets.Dropdown):
        return [value for _, value in control.options]
    if isinstance(control, ipywidgets.Checkbox):
        return [False, True]
    if isinstance(control, ipywidgets.Text):
        return control.tries
    number = round((control.max - control.min) / control.step) + 1
    return [type(control.min)(round(control.min + k * control.step, 9)) for k in range(number)]


def record(explorer: Explorer, most: int = 5000, seed: int = 0) -> Iterator[tuple[dict[str, object], str, str]]:
    """Walk a widget through its states without a kernel: (state, SVG, description) of one after the other.

    All states where there are at most `most`. Where there are more: every value of every control, with the others as
    they are at first, and then states drawn at random, `most` in all. A state is what `draw` is called with; none
    comes twice. Afterwards the widget is as it was.
    """
    first, seen = explorer.state, set()
    number = math.prod(len(values(control)) for control in explorer.controls.values())
    few, chance = number <= most, random.Random(seed)
    for control in explorer.controls.values():  # it is drawn once a state, not once a control
        control.unobserve(explorer.on_change, "value")
    try:
        for _ in _all_states(explorer, *explorer.controls) if few else _some_states(explorer, first, most, chance):
            state = explorer.state
            if len(seen) < most and tuple(state.items()) not in seen:
                seen.add(tuple(state.items()))
                view = explorer.redraw()
                yield state, view.svg, view.description
    finally:
        _set(explorer, first)
        for control in explorer.controls.values():
            control.observe(explorer.on_change, "value")
        explorer.redraw()


def _set(explorer: Explorer, state: dict[str, object]) -> None:
    for name, value in state.items():
        explorer.controls[name].value = value


def _all_states(explorer: Explorer, name: str, *others: str) -> Iterator[None]:
    """Every value of the first control, and under each all states of the others, whose values may depend on it."""
    for value in values(explorer.controls[name]):
        explorer.controls[name].value = value
        yield from _all_states(explorer, *others) if others else [None]


def _some_states(explorer: Explorer, first: dict[str, object], most: int, chance: random.Random) -> Iterator[None]:
    """Every value of every control by itself, then `most` states drawn at random."""
    for control in explorer.controls.values():
        _set(explorer, first)
        for value in values(control):
            control.value = value
            yield
    for _ in range(most):
        for control in explorer.controls.values():
            control.value = chance.choice(values(control))
        yield
