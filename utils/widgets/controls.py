"""A widget is a function that draws, and controls around it, each with a finite list of values.

So every state can be reached and recorded, without a kernel and without a browser (`tools/site/record_widgets.py`)."""

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import ipywidgets
from IPython import get_ipython
from ipywidgets import Layout, Widget

from . import picture
from .canvas import View, in_xml


class Options(NamedTuple):
    """What a menu offers from now on, (label, value) pairs, and which value it shows."""

    options: Sequence[tuple[str, object]]
    value: object


Follow = Callable[[object, Mapping[str, object]], Mapping[str, object]]


class Explorer:
    """Controls and a picture. Shown as a widget where a kernel runs, and elsewhere as its first view.

    draw(name=value, …) → View takes a value for each of the `controls`. rows: how these are laid out; side by side, as
    many as there is room for, if not given. plays: the slider that can move by itself, the first if not given.
    follows: {control: rule}, where rule(its new value, state) says which others change with it: {control: new value, or
    `Options` of a menu}. replaced: controls that are hidden where the picture can be touched, because it does the
    same. pace: milliseconds for each picture while it plays; until its text is read, if not given. A first drawing that
    fails raises at once."""

    def __init__(
        self, draw: Callable[..., View], controls: dict[str, Widget], rows: Sequence[Widget] | None = None,
        plays: str = "", follows: Mapping[str, Follow] | None = None, replaced: Collection[str] = (),
        pace: int | None = None,
    ):  # fmt: skip
        self.draw, self.controls, self.follows, self.replaced = draw, controls, follows or {}, replaced
        self.pace = pace
        self.screen, self.held = ipywidgets.HTML(), 0
        self.picture = picture.Picture(self.touch) if picture.anywidget else None
        self.plays, self.player = plays or next(filter(self.is_path, controls), ""), None
        self.first = self.redraw()
        for name, control in controls.items():
            if name in self.follows:
                control.observe(self.on_lead, "value")
            control.observe(self.on_change, "value")
        if rows is None:
            rows = [ipywidgets.HBox(list(controls.values()), layout=Layout(flex_flow="row wrap"))]
        self.add_player(rows)
        self.box = ipywidgets.VBox([*rows, self.screen])
        self.box.add_class("attention-course")
        if self.picture:
            self.add_picture(rows)
        replace_last_run(self)

    def add_picture(self, rows: Sequence[Widget]) -> None:
        """The picture to touch, hidden until the front end has loaded it; then its style hides what it replaces."""
        self.screen.add_class("ac-plain")
        hidden = [self.controls[name] for name in self.replaced]
        for control in hidden:
            control.add_class("ac-replaced")
        for row in rows:
            parts = [part for part in getattr(row, "children", ()) if not isinstance(part, ipywidgets.Label)]
            if parts and all(part in hidden for part in parts):
                row.add_class("ac-replaced")
        behind = ipywidgets.Box([self.picture], layout=Layout(display="none", overflow="visible"))
        behind.add_class("ac-picture")
        self.box.children = (*self.box.children, behind)

    def is_path(self, name: str) -> bool:
        """Is this control a slider along which there is something to follow, that is not replaced?"""
        control = self.controls[name]
        return name not in self.replaced and isinstance(control, SLIDERS) and control.max - control.min > control.step

    def add_player(self, rows: Sequence[Widget]) -> None:
        """Put ▶ behind the slider that plays, in its row; the widget that does so counts in whole numbers."""
        leader = self.controls.get(self.plays)
        row = next((row for row in rows if leader in getattr(row, "children", ())), None)
        if row is None or not isinstance(leader, ipywidgets.IntSlider):
            return
        self.player = ipywidgets.Play(
            value=leader.value, min=leader.min, max=leader.max, step=leader.step, show_repeat=False,
            interval=self.pace or pause(self.first.description, leader),
        )  # fmt: skip
        ipywidgets.link((self.player, "value"), (leader, "value"))
        place = row.children.index(leader) + 1
        row.children = (*row.children[:place], self.player, *row.children[place:])

    @property
    def state(self) -> dict[str, object]:
        """The value of each control."""
        return {name: control.value for name, control in self.controls.items()}

    def redraw(self) -> View:
        view = self.draw(**self.state)
        self.show(view.svg)
        if self.player:
            self.player.interval = self.pace or pause(view.description, self.controls[self.plays])
        return view

    def show(self, svg: str) -> None:
        if self.picture:
            self.picture.svg = svg
        if not (self.picture and self.picture.ready):
            self.screen.value = svg

    def touch(self, values: Mapping[str, object]) -> None:
        """Give controls the values that a shape of the picture asks for, each the nearest one that it can have; the new
        picture is drawn once, and sent before what the controls say of it."""
        before = self.state
        with contextlib.ExitStack() as later:
            for control in (*self.controls.values(), *filter(None, [self.player])):
                later.enter_context(control.hold_sync())
            self.held += 1
            try:
                for name, value in values.items():
                    self.controls[name].value = nearest(self.controls[name], value)
            finally:
                self.held -= 1
            if self.state != before:
                self.on_change(None)

    def led(self, leader: str, value: object, state: Mapping[str, object]) -> dict[str, object]:
        """What becomes of the controls that follow the `leader`, and of those that follow these."""
        found = dict(self.follows[leader](value, state))
        for name, new in list(found.items()):
            if name in self.follows:
                found |= self.led(name, new.value if isinstance(new, Options) else new, {**state, leader: value})
        return found

    def on_lead(self, change: Mapping) -> None:
        leader = next(name for name, control in self.controls.items() if control is change["owner"])
        self.held += 1  # the leader's own change draws
        try:
            for name, new in self.led(leader, change["new"], self.state).items():
                if isinstance(new, Options):
                    self.controls[name].options, new = new
                self.controls[name].value = new
        finally:
            self.held -= 1

    def on_change(self, _change: object) -> None:
        if self.held:
            return
        try:
            self.redraw()
        except Exception as error:  # noqa: BLE001  a callback has no cell to fail in, so the message is where the view was
            self.show(f'<pre role="alert">{in_xml(f"{type(error).__name__}: {error}")}</pre>')

    def close(self) -> None:
        """Take the widget away, with all that it is made of: a model of its own for each control, layout and style."""
        parts = [self.box, *self.controls.values()]  # some are in no row
        for part in parts:  # grows while it is walked through
            parts += getattr(part, "children", ())
            parts += [part.layout, *filter(None, [getattr(part, "style", None)])] if hasattr(part, "layout") else []
        for part in parts:
            part.close()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        shown = {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id}
        return {"application/vnd.jupyter.widget-view+json": shown} | self.first._repr_mimebundle_()


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def nearest(control: Widget, value: object) -> object:
    """The value of a control that is nearest to what is asked for: on its steps, among its options; {"step": 1} is so
    many steps on. What it cannot take at all leaves it as it is."""
    steps = value.get("step", 0) if isinstance(value, Mapping) else None
    if isinstance(control, SLIDERS):
        value = control.value + steps * control.step if steps is not None else value
        if not is_number(value):
            return control.value
        number = round((value - control.min) / control.step)
        return min(max(type(control.min)(round(control.min + number * control.step, 9)), control.min), control.max)
    if isinstance(control, ipywidgets.Dropdown):
        known = [option for _, option in control.options]
        if steps is not None:
            return known[min(max(known.index(control.value) + steps, 0), len(known) - 1)]
        numbers = [option for option in known if is_number(option)]
        if value not in known and numbers and is_number(value):
            return min(numbers, key=lambda number: abs(number - value))
        return value if value in known else control.value
    return value if isinstance(value, type(control.value)) else control.value


SLIDERS = (ipywidgets.IntSlider, ipywidgets.FloatSlider)


def pause(description: str, leader: Widget) -> int:
    """For how many milliseconds a picture is shown while it plays: until its text is read, which is shorter than its
    description, and all of them in 90 seconds."""
    pictures = (leader.max - leader.min) / leader.step + 1
    return round(min(700 + 20 * len(description), 90_000 / pictures))


ALIVE = {}  # cell id: (the run of the cell, its explorers)


def replace_last_run(explorer: Explorer) -> None:
    """Close what earlier runs of the same cell have shown; where the front end names no cell, nothing is closed."""
    parent = getattr(get_ipython(), "get_parent", dict)() or {}
    cell, run = parent.get("metadata", {}).get("cellId"), parent.get("header", {}).get("msg_id")
    if cell is None:
        return
    last_run, shown = ALIVE.get(cell, (run, []))
    if last_run != run:
        for old in shown:
            old.close()
        shown = []
    ALIVE[cell] = run, [*shown, explorer]


def slider(label: str, value: float, low: float, high: float, step: float = 1) -> Widget:
    """A slider for whole numbers, or for fractions where `step` is one."""
    kind = ipywidgets.IntSlider if isinstance(step, int) else ipywidgets.FloatSlider
    return kind(value=value, min=low, max=high, step=step, continuous_update=True, **_labelled(label))


def menu(label: str, options: Sequence, value: object = None, width: str = "340px") -> ipywidgets.Dropdown:
    """A menu of words, or of (word, value) pairs; at first it shows `value`, or else the first option."""
    options = [option if isinstance(option, tuple) else (str(option), option) for option in options]
    value = options[0][1] if value is None else value
    return ipywidgets.Dropdown(options=options, value=value, **_labelled(label, width))


def checkbox(label: str, value: bool, width: str = "340px") -> ipywidgets.Checkbox:
    return ipywidgets.Checkbox(value=value, indent=False, **_labelled(label, width))


def text(label: str, value: str, tries: Sequence[str], width: str = "700px") -> ipywidgets.Text:
    """A field to type into. `tries` are the texts, wrong ones among them, that a walk through all states types."""
    field = ipywidgets.Text(value=value, continuous_update=False, **_labelled(label, width))
    field.tries = list(dict.fromkeys([value, *tries]))
    return field


def _labelled(label: str, width: str = "340px") -> dict:
    layout = Layout(width=width)
    return {"description": label, "style": {"description_width": "initial"}, "layout": layout}
