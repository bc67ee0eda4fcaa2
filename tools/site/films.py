"""A widget's film: the pictures and descriptions of all its states, for a page that has no kernel.

A film is cut into parts, each with the controls that it depends on: mostly one part that depends on all of them. Where
a picture falls into rows that depend on a box each (`Page.rows`), every row is a part: 32 states of five boxes instead
of 33 million of 25. What has too many states is recorded on a coarser grid, and the page says so.
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
from utils.widgets.controls import Explorer

MOST = 6000  # pictures of a film
STEPS = 150  # of the walk that is kept beside a film
ELEMENTS = re.compile("(?<=>)(?=<(?!/))")
CLAUSES = re.compile("(?<=; )|(?<=[:.] )")


class Recorder:
    """A widget, and of its controls those that a page shows, each with the values that it can have there."""

    def __init__(self, explorer: Explorer, page: Page):
        self.explorer, self.page, self.first = explorer, page, explorer.state
        self.shown = [name for name in explorer.controls if name not in page.hidden]
        self.values = {name: [] for name in self.shown}  # of every control, whatever the others are
        for control in explorer.controls.values():
            control.unobserve(explorer.on_change, "value")
        self.note_values()
        for name in self.shown:  # the values of a menu may follow from another control
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

    def try_on(self, name: str, value: object) -> bool:
        """Give a control a value, where it can have it now."""
        possible = value in self.options(name)
        if possible:
            self.explorer.controls[name].value = value
        return possible

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


def elements(view: View) -> list[str]:
    """The shapes of a picture; the first one is the beginning of the SVG element, its description left out."""
    svg = re.sub('aria-label="[^"]*"', "", on_page(view.svg), count=1).removesuffix("</svg>")
    return ELEMENTS.split(svg)


def on_page(svg: str) -> str:
    """A picture whose links lead to pages instead of notebooks."""
    return svg.replace('.ipynb"', '.html"')


def clauses(view: View) -> list[str]:
    return CLAUSES.split(view.description)


# What follows from a control


def choices(control: ipywidgets.Widget, known: list) -> list[list] | None:
    """[[place among the values, label], …] of a menu."""
    if not isinstance(control, ipywidgets.Dropdown):
        return None
    return [[known.index(value), str(label)] for label, value in control.options if value in known]


def followers(recorder: Recorder, leader: str) -> dict[str, dict]:
    """{control: what becomes of it when the `leader` is given a new value}: {"to": [for each value of the leader the
    place of its own new value, or {place of its old value: place of its new one}], "options": [for each its choices]}.

    Found by trying: each value of the leader after each other one, and after each value of the followers, which follow
    each by itself."""
    controls, known, numbers = recorder.explorer.controls, recorder.values, range(len(recorder.values[leader]))
    others = [name for name in recorder.shown if name != leader]
    to = {name: [{} for _ in numbers] for name in others}
    options = {name: [None for _ in numbers] for name in others}
    most = max(len(known[name]) for name in others)
    for before, after, trial in itertools.product(numbers, numbers, range(most)):
        recorder.set(recorder.first)
        if before == after or not recorder.try_on(leader, known[leader][before]):
            continue
        old = {name: min(trial, len(known[name]) - 1) for name in others}
        old = {name: place for name, place in old.items() if recorder.try_on(name, known[name][place])}
        controls[leader].value = known[leader][after]
        for name in others:
            options[name][after] = choices(controls[name], known[name])
            if name in old:
                to[name][after][old[name]] = known[name].index(controls[name].value)
    recorder.set(recorder.first)
    rules = {name: rule(to[name], options[name]) for name in others}
    return {name: one for name, one in rules.items() if one}


def rule(to: list[dict[int, int]], options: list) -> dict:
    """A follower's rule, as short as it goes; nothing where it stays as it is."""
    found = {}
    if any(old != new for moves in to for old, new in moves.items()):
        found["to"] = [next(iter(set(moves.values()))) if len(set(moves.values())) == 1 else moves for moves in to]
    if any(one != options[0] for one in options):
        found["options"] = options
    return found


def leads(recorder: Recorder, leader: str) -> bool:
    """Does any other control of the page change with this one?"""
    controls = recorder.explorer.controls
    others = [controls[name] for name in recorder.shown if name != leader]
    found = False
    for value in recorder.options(leader):
        before = [(other.value, getattr(other, "options", None)) for other in others]
        controls[leader].value = value
        found = found or before != [(other.value, getattr(other, "options", None)) for other in others]
    recorder.set(recorder.first)
    return found


# Parts


def grouped(depends: Sequence[frozenset]) -> list[tuple[slice, frozenset]]:
    """Neighbours that depend on the same controls, as slices."""
    found, start = [], 0
    for place in range(1, len(depends) + 1):
        if place == len(depends) or depends[place] != depends[start]:
            found.append((slice(start, place), depends[start]))
            start = place
    return found


def cut(view: View) -> tuple[list[str], list[str]]:
    return elements(view), clauses(view)


def sensitive(recorder: Recorder, chance: random.Random) -> list[list[frozenset]]:
    """For each piece of picture and description the controls on which it depends, found by trying: in states where few
    boxes are empty, half of them, and nearly all."""
    depends = [[set() for _ in pieces] for pieces in cut(recorder.view())]
    for name, empty in itertools.product(recorder.shown, (0.2, 0.5, 0.9, 0.95)):
        options = {one: recorder.options(one) for one in recorder.shown}
        state = {one: some[0] if chance.random() < empty else some[-1] for one, some in options.items()}
        recorder.set(state)
        before = cut(recorder.view())
        for value in recorder.options(name):
            recorder.set({name: value} | {one: old for one, old in state.items() if one != name})  # what follows, too
            for kind, after in enumerate(cut(recorder.view())):
                for place, (a, b) in enumerate(zip(before[kind], after, strict=True)):
                    depends[kind][place] |= {name} if a != b else set()
    recorder.set(recorder.first)
    together = list(joined([names for kind in depends for names in kind]))  # rounding may hide that a piece changes
    return [
        [next((one for one in together if names and names <= one), frozenset()) for names in kind] for kind in depends
    ]


def joined(sets: Sequence[set[str]]) -> set[frozenset]:
    """The sets, those that share a member united; the empty one stays by itself."""
    found = set()
    for names in filter(None, sets):
        touched = {one for one in found if one & names}
        found = (found - touched) | {frozenset(names).union(*touched)}
    return found


def parts(recorder: Recorder, chance: random.Random) -> tuple[list[dict], list[dict]]:
    """Those of picture and description: [{"of": places of controls, "at": for each of their states the number of a
    frame, "frames": […]}]."""
    whole = [[(slice(None), frozenset(recorder.shown))]] * 2
    slices = [grouped(one) for one in sensitive(recorder, chance)] if recorder.page.rows else whole
    found = [[{"names": names, "place": place, "frames": {}} for place, names in kind] for kind in slices]
    for names in {part["names"]: None for kind in found for part in kind}:
        of = [name for name in recorder.shown if name in names]
        size = math.prod(len(recorder.values[name]) for name in of)
        if size > MOST:
            raise ValueError(f"{size:,} states of a part are too many to record: it depends on {', '.join(of)}")
        ours = [(kind, part) for kind in (0, 1) for part in found[kind] if part["names"] == names]
        for _, part in ours:
            part |= {"of": [recorder.shown.index(name) for name in of], "at": [-1] * size}
        for _ in recorder.walk(*of) if of else [None]:
            pieces, code = cut(recorder.view()), recorder.code(of)
            for kind, part in ours:
                frame = tuple(pieces[kind][part["place"]])
                part["at"][code] = part["frames"].setdefault(frame, len(part["frames"]))
        recorder.set(recorder.first)
    kept = [[{"of": part["of"], "at": part["at"], "frames": list(part["frames"])} for part in kind] for kind in found]
    return kept[0], kept[1]


def film(explorer: Explorer, page: Page) -> dict:
    """The film of a widget: its `controls`, `pictures` and `words`, the `shapes` of which pictures are made, and which
    of the controls `plays`, None if none does."""
    recorder, chance = Recorder(explorer, page), random.Random(0)
    try:
        if recorder.number() > MOST and not page.rows:
            raise ValueError(f"{recorder.number():,} states are too many to record: give its Page a coarser grid")
        pictures, words = parts(recorder, chance)
        for _ in range(60 if page.rows else 0):
            recorder.set({name: chance.choice(recorder.options(name)) for name in recorder.shown})
            if [assembled(recorder, pictures), assembled(recorder, words)] != list(cut(recorder.view())):
                raise ValueError(f"the picture does not fall into rows: {recorder.explorer.state}")
        shapes = {}
        for part in pictures:
            frames = [[shapes.setdefault(shape, len(shapes)) for shape in frame] for frame in part["frames"]]
            part["frames"] = list(differences(frames))
        for part in words:
            part["frames"] = ["".join(frame) for frame in part["frames"]]
        controls = [control(recorder, name) for name in recorder.shown]
        kept = {"controls": controls, "pictures": pictures, "words": words, "shapes": list(shapes)}
        return kept | {"plays": recorder.shown.index(explorer.plays) if explorer.plays in recorder.shown else None}
    finally:
        recorder.set(recorder.first)
        for one in explorer.controls.values():
            one.observe(explorer.on_change, "value")


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
    """A control as the page has it: its kind, label, the texts of its values, the place of the first, what it leads."""
    one, known = recorder.explorer.controls[name], recorder.values[name]
    texts = [f"{value:g}" if isinstance(value, int | float) else str(value) for value in known]
    options = choices(one, known)
    if options is None:
        options = [[place, text] for place, text in enumerate(texts)]
    said = {"name": name, "kind": KINDS.get(type(one), "slider"), "label": one.description, "texts": texts}
    said |= {"first": known.index(recorder.first[name]), "options": options}
    leading = followers(recorder, name) if leads(recorder, name) else {}
    return said | {"leads": {recorder.shown.index(other): rule for other, rule in leading.items()}}


# What is kept


def recorded(explorer: Explorer, page: Page) -> dict:
    """What the cache keeps of a widget: its film, what a page says before that is there, and a walk to compare with."""
    kept = film(explorer, page)
    packed = gzip.compress(json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0)
    view = explorer.redraw()
    return {
        "film": base64.b64encode(packed).decode(),
        "controls": kept["controls"],
        "layout": layout(explorer, page),
        "svg": on_page(view.svg),
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
    for one in explorer.controls.values():
        one.observe(explorer.on_change, "value")
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
