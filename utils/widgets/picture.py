"""The picture of a widget made interactive, where the front end supports it (`picture.js`)."""

from collections.abc import Callable, Mapping
from pathlib import Path

import traitlets

try:
    import anywidget
except ImportError:  # without it, a widget is a plain picture below its controls
    anywidget = None

HERE = Path(__file__).parent

if anywidget:

    class Picture(anywidget.AnyWidget):
        """Shows `svg`, and calls `on_set` with {control: value, or {"step": number of its steps}} when a shape of it
        is chosen, dragged, or moved by keys. `ready`: the front end has loaded it."""

        _esm = HERE / "picture.js"
        _css = HERE / "picture.css"
        svg = traitlets.Unicode().tag(sync=True)

        def __init__(self, on_set: Callable[[Mapping[str, object]], None]):
            super().__init__()
            self.on_set, self.ready = on_set, False
            self.on_msg(self.on_message)

        def on_message(self, _widget: object, content: Mapping[str, object], _buffers: object) -> None:
            self.ready = True
            if "set" not in content:
                return
            try:
                self.on_set(content["set"])
            finally:
                self.send({"done": True})  # then the front end asks for the newest
