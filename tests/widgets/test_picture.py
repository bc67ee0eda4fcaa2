"""Pictures that are touched: what a shape asks for is possible, handles stand where their values are, one request draws
one picture, and without the front end everything works as before."""

import html
import json
import math
import random
import subprocess
import sys
import xml.etree.ElementTree
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from course_widgets import COURSE

import utils.setting_up
from tools.site.record_widgets import values
from utils import widgets
from utils.widgets import controls, picture
from utils.widgets.canvas import Phone
from utils.widgets.controls import Explorer, checkbox, menu, nearest, slider, text

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
STATES = 12  # of each widget, drawn at random


def touched(svg):
    """The shapes of a picture that are chosen or dragged: [(what is set, or None, the way it is dragged, or None,
    element)]."""
    shapes = [one for one in xml.etree.ElementTree.fromstring(svg).iter() if {"data-set", "data-drag"} & {*one.keys()}]
    read = lambda one, key: json.loads(one.get(key)) if one.get(key) else None  # noqa: E731
    return [(read(one, "data-set"), read(one, "data-drag"), one) for one in shapes]


def states(explorer, number=STATES):
    """The widget in its first state, and then in others, at random."""
    chance = random.Random(0)
    yield explorer.state
    for _ in range(number):
        for control in explorer.controls.values():
            control.value = chance.choice(values(control))
        yield explorer.state


def centre(shape):
    if shape.tag == f"{SVG}circle":
        return float(shape.get("cx")), float(shape.get("cy"))
    x, y, width, height = (float(shape.get(name)) for name in ("x", "y", "width", "height"))
    return x + width / 2, y + height / 2


def values_at(way, x, y):
    """What a handle at (x, y) says of its controls, as picture.js has it."""
    found = {}
    for axis, place in (("x", x), ("y", y)):
        if axis in way:
            name, origin, unit = way[axis]
            found[name] = (place - origin) / unit
    if "polar" in way:
        across, up = x - way["at"][0], way["at"][1] - y
        angle, length = way["polar"]
        found |= {angle: math.degrees(math.atan2(up, across)) % 360} if angle else {}
        found |= {length: math.hypot(across, up) / way["scale"]} if length else {}
    return found


@pytest.mark.parametrize("name", COURSE)
def test_what_a_shape_asks_for_is_possible(name):
    explorer, _ = COURSE[name](widgets)
    reached = set()
    for state in states(explorer):
        shapes, seen = touched(explorer.screen.value), Counter()
        for sets, drag, shape in shapes:
            label = shape.get("data-name")
            assert label and shape.get("data-group"), "a shape has a name and a group"
            seen[shape.get("data-group"), label] += 1
            for control, value in (sets or {}).items():
                assert nearest(explorer.controls[control], value) == value, (label, control, value)
                reached.add(control)
            if drag and "swap" not in drag:
                for control, value in values_at(drag, *centre(shape)).items():
                    reached.add(control)
                    is_now = nearest(explorer.controls[control], value) == state[control]
                    assert is_now or state[control] is None or abs(value - 360 - state[control]) < 1, (label, control)
        assert max(seen.values(), default=1) == 1, f"{seen.most_common(1)}: two shapes of a group have one name"
    assert {*explorer.replaced} <= reached | {name for name in explorer.replaced if "place" in name}


@pytest.mark.parametrize("name", COURSE)
def test_touching_a_shape_draws_the_picture_it_asks_for(name):
    explorer, _ = COURSE[name](widgets)
    for sets, _, shape in touched(explorer.screen.value)[:40]:
        first = explorer.state
        if not sets:
            continue
        explorer.touch(sets)
        assert sets.items() <= explorer.state.items(), shape.get("data-name")
        assert explorer.screen.value == explorer.draw(**explorer.state).svg
        for control, value in first.items():
            explorer.controls[control].value = value


NEAREST = [
    (slider("a", 2.0, 0.5, 4.0, 0.1), [(1.23, 1.2), (-3, 0.5), (9, 4.0), ({"step": 1}, 2.1), ({"step": -99}, 0.5)]),
    (slider("n", 3, 0, 10), [(4.6, 5), ({"step": 2}, 5), (None, 3), ("4", 3)]),
    (menu("m", [("none", None), ("one", 1), ("five", 5)], 1), [(5, 5), (4.2, 5), (None, None), ({"step": 9}, 5)]),
    (menu("w", ["b", "c"]), [("c", "c"), ("d", "b"), (2, "b"), ({"step": 1}, "c"), ({"step": -1}, "b")]),
    (checkbox("c", False), [(True, True), (1, False), (None, False)]),
    (text("t", "one", []), [("two", "two"), (2, "one")]),
]


@pytest.mark.parametrize("control, asked", NEAREST, ids=[control.description for control, _ in NEAREST])
def test_a_control_takes_the_nearest_value_that_it_can_have(control, asked):
    for value, expected in asked:
        found = nearest(control, value)
        assert found == expected and type(found) is type(expected), value


def circle(x, y):
    canvas = Phone(100)
    canvas.add("circle", cx=x, cy=y, r=3, fill="data")
    return canvas.view(f"{x}, {y}")


def test_one_request_draws_one_picture_and_sends_it_first(monkeypatch):
    drawn, sent = [], []
    explorer = Explorer(
        lambda x, y: drawn.append((x, y)) or circle(x, y), {"x": slider("x", 1, 0, 9), "y": slider("y", 1, 0, 9)}
    )
    monkeypatch.setattr("ipywidgets.Widget.send_state", lambda self, key=None: sent.append(type(self).__name__))
    explorer.picture.on_message(None, {"set": {"x": 4, "y": {"step": 2}}}, [])
    assert drawn == [(1, 1), (4, 3)] and explorer.picture.ready
    assert sent[0] == "Picture" and "HTML" not in sent and sent.count("IntSlider") == 2, sent
    explorer.picture.on_message(None, {"set": {"x": 4}}, [])
    explorer.picture.on_message(None, {"hurry": True}, [])
    assert len(drawn) == 2, "nothing changed"


def test_the_plain_picture_is_drawn_until_the_front_end_is_ready():
    explorer = Explorer(circle, {"x": slider("x", 1, 0, 9), "y": slider("y", 1, 0, 9)})
    explorer.controls["x"].value = 2
    plain = explorer.screen.value
    assert 'cx="2"' in plain and explorer.picture.svg == plain
    explorer.picture.on_message(None, {"ready": True}, [])
    explorer.controls["x"].value = 3
    assert explorer.screen.value == plain and 'cx="3"' in explorer.picture.svg


def test_what_follows_is_told_before_the_picture_is_drawn():
    drawn = []
    pair = {"first": menu("first", [1, 2]), "second": menu("second", [1, 2]), "third": menu("third", [("one", 1)])}
    rules = {
        "first": lambda first, state: {"second": first},
        "second": lambda second, state: {"third": controls.Options([(f"{second}", second)], second)},
    }
    explorer = Explorer(lambda **state: drawn.append(tuple(state.values())) or circle(1, 1), pair, follows=rules)
    explorer.controls["first"].value = 2
    assert drawn == [(1, 1, 1), (2, 2, 2)], "one picture for all three"
    assert explorer.controls["third"].options == (("2", 2),)
    explorer.touch({"second": 1})
    assert drawn[2:] == [(2, 1, 1)]


def test_an_error_stands_in_the_picture():
    explorer = Explorer(lambda x: circle(1 / x, 1), {"x": slider("x", 1, 0, 2)})
    explorer.touch({"x": 0})
    assert explorer.picture.svg == '<pre role="alert">ZeroDivisionError: division by zero</pre>'
    explorer.touch({"x": 2})
    assert "<circle" in explorer.picture.svg


WITHOUT = """
import sys
sys.modules["anywidget"] = None
from utils import widgets
explorer = widgets.two_arrows()
before = explorer.screen.value
explorer.controls["a_x"].value = -1
assert explorer.picture is None and before != explorer.screen.value and len(explorer.box.children) == 2
"""


def test_without_anywidget_everything_works_as_before():
    subprocess.run([sys.executable, "-c", WITHOUT], cwd=ROOT, check=True)


def test_the_front_end_needs_nothing_else():
    source = (picture.HERE / "picture.js").read_text(encoding="utf-8")
    assert "import " not in source and source.count("export default") == 1
    assert html.unescape(source) == source


@pytest.mark.parametrize("code, said", [(0, ""), (1, "anywidget==0.11.0 could not be installed")])
def test_colab_gets_anywidget(monkeypatch, capsys, code, said):
    calls = []
    monkeypatch.setattr(utils.setting_up.importlib.util, "find_spec", lambda name: None)
    run = lambda command, **_: calls.append(command) or SimpleNamespace(returncode=code, stderr="no network")  # noqa: E731
    monkeypatch.setattr(utils.setting_up.subprocess, "run", run)
    utils.setting_up.set_up()
    assert not calls, "not anywhere else"
    monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
    utils.setting_up.set_up()
    assert calls[0][1:] == ["-m", "pip", "install", "-q", "anywidget==0.11.0"]
    assert said in capsys.readouterr().out
