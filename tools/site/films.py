"""A widget's film: the pictures and descriptions of all its states, for a page that has no kernel.

A film is cut into parts, each with the controls that it depends on: mostly one part that depends on all of them. Where
there are too many states and a picture falls into rows that depend on a few boxes each, every row is a part: 32 states
of five boxes instead of 33 million of 25. What has too many states even so is recorded on a coarser grid, and the page
says so.
"""

import base64
import gzip
import html
import itertools
import json
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence

import ipywidgets

from tools.site.notebook_pages import least_width
from tools.site.record_widgets import values
from tools.site.shown import Page
from utils.widgets.canvas import View
from utils.widgets.controls import Explorer, Options

MOST = 6000  # pictures of a film
STEPS = 150  # of the walk that is kept beside a film
ELEMENTS = re.compile("(?<=>)(?=<(?!/))")
TOUCH = re.compile(r' data-(set|drag)="([^"]*)"')
CLAUSES = re.compile("(?<=; )|(?<=[:.] )")


class Recorder:
    """A widget, and of its controls those that a page shows, each with the values that it can have there."""

    def __init__(self, explorer: Explorer, page: Page):
        self.explorer, self.page, self.first, self.answers = explorer, page, explorer.state, {}
        self.shown = [name for name in explorer.controls if name not in page.hidden]
        self.values = {name: [] for name in self.shown}  # of every control, whatever the others are
        for control in explorer.controls.values():
            control.unobserve(explorer.on_change, "value")
        self.note_values()
        for name in filter(explorer.follows.get, self.shown):  # the values of a menu may follow from another control
            for value in self.options(name):
                explorer.controls[name].value = value
                self.note_values(but=name)
            self.set(self.first)

    def note_values(self, but: str = "") -> None:
        for name, known in self.values.items():
            if name == but:
                continue
            known += [value for value in self.options(name) if value not in known]
            if self.explorer.controls[name].value not in known:
                raise ValueError(f"{name}: {self.explorer.controls[name].value!r} is not among {known}")

    def options(self, name: str) -> list:
        """The values that a control can take now, on the page."""
        control, grid = self.explorer.controls[name], self.page.grid.get(name)
        if isinstance(control, ipywidgets.Text):
            return list(grid or control.tries)
        return [value for value in values(control) if grid is None or value in grid]

    def set(self, state: Mapping[str, object]) -> None:
        for name, value in state.items():
            self.explorer.controls[name].value = value

    def walk(self, *names: str) -> Iterator[None]:
        """Every value of the first control, and under each all states of the others, whose values may depend on it."""
        name, *others = names or self.shown
        for value in self.options(name):
            self.explorer.controls[name].value = value
            yield from self.walk(*others) if others else [None]

    def code(self, names: Sequence[str]) -> int:
        """The number of the state of some controls: their values' places as the digits of a number."""
        code = 0
        for name in names:
            known = self.values[name]
            code = code * len(known) + known.index(self.explorer.controls[name].value)
        return code

    def view(self) -> View:
        return self.explorer.draw(**self.explorer.state)

    def number(self) -> int:
        return math.prod(map(len, self.values.values()))

    def on_page(self, svg: str) -> str:
        """A picture as a page has it: its links lead to pages, and it is touched only where the page has an answer."""
        return TOUCH.sub(self.kept, svg.replace('.ipynb"', '.html"'))

    def kept(self, attribute: re.Match) -> str:
        """An attribute data-set or data-drag; data-no-… where the page cannot do what it asks for."""
        if attribute[0] not in self.answers:
            asked = json.loads(html.unescape(attribute[2]))
            possible = self.can_set(asked) if attribute[1] == "set" else self.can_drag(asked)
            self.answers[attribute[0]] = attribute[0] if possible else f' data-no-{attribute[1]}=""'
        return self.answers[attribute[0]]

    def can_set(self, values: Mapping[str, object]) -> bool:
        """Has the page one of these controls, and, of menus and texts, these values?"""
        menus = {name for name in self.shown if KINDS.get(type(self.explorer.controls[name])) == "menu"}
        shown = {name: value for name, value in values.items() if name in self.shown}
        possible = all(name not in menus or value in self.values[name] for name, value in shown.items())
        return bool(shown) and possible

    def can_drag(self, way: Mapping[str, object]) -> bool:
        if "swap" in way:
            return any(name.startswith(way["swap"]) for name in self.shown)
        return any(name in self.shown for axis in ("x", "y") for name in way.get(axis, ())[:1]) or any(
            name in self.shown for name in way.get("polar", ())
        )

    def release(self) -> None:
        """The widget as it was, drawing by itself again."""
        self.set(self.first)
        for control in self.explorer.controls.values():
            control.observe(self.explorer.on_change, "value")


def elements(svg: str) -> list[str]:
    """The shapes of a picture; the first one is the beginning of the SVG element, its description left out."""
    return ELEMENTS.split(re.sub('aria-label="[^"]*"', "", svg, count=1).removesuffix("</svg>"))


def clauses(view: View) -> list[str]:
    return CLAUSES.split(view.description)


# What follows from a control


def choices(options: Sequence[tuple[str, object]], known: list) -> list[list]:
    """[[place among the values, label], …] of a menu."""
    return [[known.index(value), str(label)] for label, value in options if value in known]


def followers(recorder: Recorder, leader: str) -> dict[str, dict]:
    """{control: what becomes of it when the `leader` is given a new value}: {"to": [for each value of the leader the
    place of its own new value, or {place of its old value: place of its new one}], "options": [for each its choices]},
    by the rule of the widget; a follower's new value may depend on its old one, not on those of others."""
    explorer, known = recorder.explorer, recorder.values
    if leader not in explorer.follows:
        return {}
    rules = {}
    for name in [name for name in recorder.shown if name != leader]:
        new = [[explorer.led(leader, value, {**recorder.first, leader: value, name: old}).get(name, old)
                for old in known[name]] for value in known[leader]]  # fmt: skip
        options = [row[0].options if isinstance(row[0], Options) else () for row in new]
        to = [[known[name].index(one.value if isinstance(one, Options) else one) for one in row] for row in new]
        found = {"to": [row[0] if len(set(row)) == 1 else dict(enumerate(row)) for row in to]}
        if any(row != list(range(len(known[name]))) for row in to):
            rules[name] = found
        if any(options):
            rules[name] = found | {"options": [choices(one, known[name]) for one in options]}
    return rules


# Parts


def grouped(depends: Sequence[frozenset]) -> list[tuple[slice, frozenset]]:
    """Neighbours that depend on the same controls, as slices."""
    found, start = [], 0
    for place in range(1, len(depends) + 1):
        if place == len(depends) or depends[place] != depends[start]:
            found.append((slice(start, place), depends[start]))
            start = place
    return found


def cut(recorder: Recorder) -> tuple[list[str], list[str]]:
    """Shapes and clauses of the picture in the state in which the widget is."""
    view = recorder.view()
    return elements(recorder.on_page(view.svg)), clauses(view)


def sensitive(recorder: Recorder, chance: random.Random) -> list[list[frozenset]]:
    """For each piece of picture and description the controls on which it depends, found by trying: in states where few
    boxes are empty, half of them, and nearly all."""
    depends = [[set() for _ in pieces] for pieces in cut(recorder)]
    for name, empty in itertools.product(recorder.shown, (0.2, 0.5, 0.9, 0.95)):
        options = {one: recorder.options(one) for one in recorder.shown}
        state = {one: some[0] if chance.random() < empty else some[-1] for one, some in options.items()}
        recorder.set(state)
        before = cut(recorder)
        for value in recorder.options(name):
            recorder.set({name: value} | {one: old for one, old in state.items() if one != name})  # what follows, too
            for kind, after in enumerate(cut(recorder)):
                for place, (a, b) in enumerate(zip(before[kind], after, strict=True)):
                    depends[kind][place] |= {name} if a != b else set()
    recorder.set(recorder.first)
    together = largest_sets([names for kind in depends for names in kind])  # rounding may hide that a piece changes
    return [
        [next((one for one in together if names and names <= one), frozenset()) for names in kind] for kind in depends
    ]


def largest_sets(sets: Sequence[set[str]]) -> list[frozenset]:
    """Those of the sets that lie in no other one."""
    found = {frozenset(one) for one in sets if one}
    return [one for one in found if not any(one < other for other in found)]


def parts(recorder: Recorder, chance: random.Random) -> tuple[list[dict], list[dict]]:
    """Those of picture and description: [{"of": places of controls, "at": for each of their states the number of a
    frame, "frames": […]}]. ValueError: there are too many states, and the picture does not fall into parts."""
    slices, many = [[(slice(None), frozenset(recorder.shown))]] * 2, recorder.number()
    if many > MOST:
        try:
            slices = [grouped(one) for one in sensitive(recorder, chance)]
        except ValueError:  # as many pieces in every state are needed for that
            raise ValueError(f"{many:,} states are too many to record: give its Page a coarser grid") from None
    found = [[{"names": names, "place": place, "frames": {}} for place, names in kind] for kind in slices]
    for names in {part["names"]: None for kind in found for part in kind}:
        of = [name for name in recorder.shown if name in names]
        size = math.prod(len(recorder.values[name]) for name in of)
        if size > MOST:
            raise ValueError(f"{size:,} states are too many to record: a part depends on {', '.join(of)}")
        ours = [(kind, part) for kind in (0, 1) for part in found[kind] if part["names"] == names]
        for _, part in ours:
            part |= {"of": [recorder.shown.index(name) for name in of], "at": [-1] * size}
        for _ in recorder.walk(*of) if of else [None]:
            pieces, code = cut(recorder), recorder.code(of)
            for kind, part in ours:
                frame = tuple(pieces[kind][part["place"]])
                part["at"][code] = part["frames"].setdefault(frame, len(part["frames"]))
        recorder.set(recorder.first)
    kept = [[{"of": part["of"], "at": part["at"], "frames": list(part["frames"])} for part in kind] for kind in found]
    return kept[0], kept[1]


def film(explorer: Explorer, page: Page) -> dict:
    """The film of a widget: its `controls`, `pictures` and `words`, the `shapes` of which pictures are made, and which
    of the controls `plays`, None if none does, in which `pace`, None for that of reading."""
    recorder, chance = Recorder(explorer, page), random.Random(0)
    try:
        pictures, words = parts(recorder, chance)
        for _ in range(60 if len(pictures) > 1 else 0):
            recorder.set({name: chance.choice(recorder.options(name)) for name in recorder.shown})
            if [assembled(recorder, pictures), assembled(recorder, words)] != list(cut(recorder)):
                raise ValueError(f"the picture does not fall into parts: {recorder.explorer.state}")
        shapes = {}
        for part in pictures:
            frames = [[shapes.setdefault(shape, len(shapes)) for shape in frame] for frame in part["frames"]]
            part["frames"] = list(differences(frames))
        for part in words:
            part["frames"] = ["".join(frame) for frame in part["frames"]]
        controls = [control(recorder, name) for name in recorder.shown]
        kept = {"controls": controls, "pictures": pictures, "words": words, "shapes": list(shapes)}
        plays = recorder.shown.index(explorer.plays) if explorer.plays in recorder.shown else None
        return kept | {"plays": plays, "pace": explorer.pace}
    finally:
        recorder.release()


def assembled(recorder: Recorder, kind: Sequence[dict]) -> list[str]:
    """The pieces that a film puts together in the state in which the widget is."""
    places = [part["at"][recorder.code([recorder.shown[k] for k in part["of"]])] for part in kind]
    return [piece for part, place in zip(kind, places) for piece in part["frames"][place]]


def differences(frames: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Each frame less the one before it, place by place: mostly zeros, which take no room."""
    before = []
    for frame in frames:
        yield [new - (before[place] if place < len(before) else 0) for place, new in enumerate(frame)]
        before = frame


KINDS = {ipywidgets.Dropdown: "menu", ipywidgets.Text: "menu", ipywidgets.Checkbox: "box"}


def control(recorder: Recorder, name: str) -> dict:
    """A control as the page has it: its kind, label, values and their texts, the place of the first, what it leads, and
    whether the picture replaces it."""
    one, known = recorder.explorer.controls[name], recorder.values[name]
    texts = [f"{value:g}" if isinstance(value, int | float) else str(value) for value in known]
    options = [[place, text] for place, text in enumerate(texts)]
    if isinstance(one, ipywidgets.Dropdown):
        options = choices(one.options, known)
    said = {"name": name, "kind": KINDS.get(type(one), "slider"), "label": one.description, "texts": texts}
    said |= {"first": known.index(recorder.first[name]), "options": options, "values": known}
    said |= {"replaced": name in recorder.explorer.replaced}
    leading = followers(recorder, name).items()
    return said | {"leads": {recorder.shown.index(other): rule for other, rule in leading}}


# What is kept


def recorded(explorer: Explorer, page: Page) -> dict:
    """What the cache keeps of a widget: its film, what a page says before that is there, and a walk to compare with."""
    kept = film(explorer, page)
    packed = gzip.compress(json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0)
    view, recorder = explorer.redraw(), Recorder(explorer, page)
    recorder.release()
    return {
        "film": base64.b64encode(packed).decode(),
        "controls": kept["controls"],
        "layout": layout(explorer, page),
        "svg": recorder.on_page(view.svg),
        "words": view.description,
        "least": least_width("".join(kept["shapes"])),
        "states": sum(number >= 0 for part in kept["pictures"] for number in part["at"]),
        "walk": list(walk(explorer, page, kept["controls"])),
    }


def layout(explorer: Explorer, page: Page) -> list[list]:
    """The rows of controls: each an entry, a place among the shown controls or the text of a label."""
    shown = [one for name, one in explorer.controls.items() if name not in page.hidden]
    rows = []
    for row in explorer.box.children:
        parts = row.children if isinstance(row, ipywidgets.Box) else [row]
        labels = [part.value if isinstance(part, ipywidgets.Label) else None for part in parts]
        entries = [label or shown.index(part) for part, label in zip(parts, labels) if label or part in shown]
        rows += [entries] if any(isinstance(entry, int) for entry in entries) else []
    return rows


def walk(explorer: Explorer, page: Page, controls: Sequence[dict]) -> Iterator[list]:
    """What somebody could do with the widget in a kernel, and what it shows then: [place of a control, place of its new
    value, description, the texts in the picture]. Every value of every control, then some at random."""
    recorder, chance = Recorder(explorer, page), random.Random(1)
    recorder.release()
    everything = [(name, value) for name in recorder.shown for value in recorder.values[name]]
    chance.shuffle(everything)
    everything += [(chance.choice(recorder.shown), None) for _ in range(STEPS)]
    for name, value in everything[:STEPS]:
        value = chance.choice(recorder.options(name)) if value not in recorder.options(name) else value
        explorer.controls[name].value = value
        view = explorer.redraw()
        place = recorder.shown.index(name), recorder.values[name].index(value)
        yield [*place, view.description, texts(view.svg)]


def texts(svg: str) -> list[str]:
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]
