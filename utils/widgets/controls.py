"""A widget is a function that draws, and controls around it, each with a finite list of values.

So every state can be reached and recorded, without a kernel and without a browser (`tools/site/record_widgets.py`)."""

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import ipywidgets
from IPython import get_ipython
from ipywidgets import Widget

from .canvas import View, in_xml

# In an attribute, since a script that is put into a page as text does not run: the image has no data, so it fails.
ACCESS = f'<img hidden alt="" src="data:," onerror="{escape(Path(__file__).with_name("access.js").read_text())}">'


class Explorer:
    """Controls above a view. Shown as a widget where a kernel runs, and elsewhere as its first view.

    draw(name=value, …) → View takes a value for each of the `controls`. rows: how these are laid out; side by side, as
    many as there is room for, if not given. plays: the slider that can move by itself, the first if not given. A first
    drawing that fails raises at once."""

    def __init__(
        self, draw: Callable[..., View], controls: dict[str, Widget], rows: Sequence[Widget] | None = None,
        plays: str = "",
    ):  # fmt: skip
        self.draw, self.controls, self.screen = draw, controls, ipywidgets.HTML()
        self.plays, self.player = plays or next(filter(self.is_path, controls), ""), None
        self.first = self.redraw()
        for control in controls.values():
            control.observe(self.on_change, "value")
        if rows is None:
            rows = [ipywidgets.HBox(list(controls.values()), layout=ipywidgets.Layout(flex_flow="row wrap"))]
        self.add_player(rows)
        access = ipywidgets.HTML(ACCESS, layout=ipywidgets.Layout(display="none"))
        self.box = ipywidgets.VBox([*rows, self.screen, access])
        self.box.add_class("attention-course")
        replace_last_run(self)

    def is_path(self, name: str) -> bool:
        """Is this control a slider along which there is something to follow?"""
        control = self.controls[name]
        return isinstance(control, SLIDERS) and control.max - control.min > control.step

    def add_player(self, rows: Sequence[Widget]) -> None:
        """Put ▶ behind the slider that plays, in its row; the widget that does so counts in whole numbers."""
        leader = self.controls.get(self.plays)
        row = next((row for row in rows if leader in getattr(row, "children", ())), None)
        if row is None or not isinstance(leader, ipywidgets.IntSlider):
            return
        self.player = ipywidgets.Play(
            value=leader.value, min=leader.min, max=leader.max, step=leader.step, show_repeat=False,
            interval=pause(self.first.description, leader),
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
        self.screen.value = view.svg
        if self.player:
            self.player.interval = pause(view.description, self.controls[self.plays])
        return view

    def on_change(self, _change: object) -> None:
        try:
            self.redraw()
        except Exception as error:  # noqa: BLE001  a callback has no cell to fail in, so the message stands where the view was
            self.screen.value = f'<pre role="alert">{in_xml(f"{type(error).__name__}: {error}")}</pre>'

    def close(self) -> None:
        """Take the widget away, with all that it is made of: a model of its own for each control, layout and style."""
        parts = [self.box]
        for part in parts:  # grows while it is walked through
            parts += getattr(part, "children", ())
            parts += [part.layout, *filter(None, [getattr(part, "style", None)])] if hasattr(part, "layout") else []
        for part in parts:
            part.close()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        shown = {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id}
        return {"application/vnd.jupyter.widget-view+json": shown} | self.first._repr_mimebundle_()


SLIDERS = (ipywidgets.IntSlider, ipywidgets.FloatSlider)


def pause(description: str, leader: Widget) -> int:
    """For how many milliseconds a picture stands while it plays: until its text is read, which is shorter than its
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
    layout = ipywidgets.Layout(width=width)
    return {"description": label, "style": {"description_width": "initial"}, "layout": layout}
