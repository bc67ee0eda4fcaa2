"""The widgets of the site, which live without a kernel: what they show is what they show in the notebook.

Those of two notebooks before a change lands, all of them at night.

Beside each film lies a walk through its widget, made with a kernel's controls: every value of each, then some at
random, with the description and the texts of the picture after each step. In Chromium the page takes the same steps.
"""

import base64
import gzip
import html
import json
import re
from pathlib import Path

import ipywidgets
import nbformat
import pytest
from chromium import CHROMIUM, MISSING, SMALLEST, barriers
from course_widgets import COURSE
from lanes import topic
from nbformat.v4 import new_code_cell, new_notebook

from tools.notebooks.dependencies import Cell
from tools.site import films, record
from tools.site.record_widgets import values
from tools.site.shown import PAGES, Page
from utils import widgets
from utils.cells import is_volatile

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.lane("test")

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WIDGETS = {name: path for path in NOTEBOOKS for name in record.names(path).values()}
SAMPLE = {"single_token_attention", "attention_flow", "softmax_saturation"}  # by day: a topic, and two of its films
GUESS = "guess_smallest_weight_by_squares"
MOST_BYTES = 3_000_000  # of a film
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Widgets</title>
{}</head><body><main>{}</main></body></html>"""

# Takes the steps of a walk and says after each what the page shows; one step is one control's new value.
TAKE = """(box, steps) => steps.map(([place, value]) => {
  const input = box.querySelector(`[data-control="${place}"]`);
  if (input.type === "checkbox") input.checked = value === 1; else input.value = value;
  if (input.type !== "checkbox" && +input.value !== value) return [`no value ${value} in control ${place}`, []];
  const began = performance.now();
  input.dispatchEvent(new Event("input"));
  const svg = box.querySelector("svg"), words = box.querySelector(".living-words p").textContent;
  const texts = [...svg.querySelectorAll("text")].map(text => text.textContent);
  return [words === svg.getAttribute("aria-label") ? words : "two descriptions", texts, performance.now() - began];
})"""

# The texts of shapes that fade in or glide.
MOVING = """screen => screen.getAnimations({subtree: true}).filter(one => !(one instanceof CSSAnimation))
  .map(one => one.effect.target.textContent)"""


def about(value, *topics):
    """A parameter of a test in its lane: that of the sample, of the topics given, or of the night."""
    night = pytest.mark.lane("all", *topics)
    by_day = getattr(value, "stem", value) in SAMPLE or topics[0] in SAMPLE and len(topics) == 1
    return pytest.param(value, id=getattr(value, "stem", value), marks=() if by_day else night)


def film(name):
    """The film of a widget, about its notebook and about the module that draws it."""
    return about(name, topic(WIDGETS[name]), getattr(widgets, record.kind(name)).__module__.rpartition(".")[2])


in_chromium = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """site(name) → a folder in which a page, opened without a server, shows that widget."""
    folder, head = tmp_path_factory.mktemp("living"), record.HEAD.format(folder="widgets")

    def site(name):
        page, path = folder / f"{name}.html", WIDGETS[name]
        if not page.exists():
            record.write(folder / "widgets", [path])
            block = record.widget_html(name, path, folder="widgets").removeprefix(head)
            assert "\n\n" not in block, "Markdown would end the block of HTML"
            page.write_text(PAGE.format(head, block), encoding="utf-8")
        return folder

    return site


@pytest.fixture
def open_page(browser, site):
    """open_page(name) → the widget on its page, once its film plays; errors in the console fail the test."""
    page, complaints = browser.new_page(viewport={"width": 1280, "height": 900}), []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))

    def open_page(name, folder=None):
        page.goto(((folder or site(name)) / f"{name}.html").as_uri())
        page.wait_for_selector(".living[data-ready]")
        return page.locator(".living")

    yield open_page
    page.close()
    assert not complaints


def walked(box, walk):
    """The steps after which the page does not show what the kernel showed, and the median time of a change in ms."""
    shown = box.evaluate(TAKE, [step[:2] for step in walk])
    wrong = [(place, value, said, now) for (place, value, said, texts), (now, drawn, *_) in zip(walk, shown)
             if [now.split(), drawn] != [said.split(), texts]]  # fmt: skip
    return wrong, sorted(took for *_, took in shown)[len(shown) // 2] if not wrong else None


@in_chromium
@pytest.mark.parametrize("name", list(map(film, WIDGETS)))
def test_a_page_shows_what_the_kernel_shows(name, open_page, site, browser_report):
    folder, kept = site(name), record.load(name, WIDGETS[name])
    size = (folder / "widgets" / f"{name}.js").stat().st_size
    wrong, median = walked(open_page(name), kept["walk"])
    assert not wrong, wrong[:3]
    reached = {tuple(step[:2]) for step in kept["walk"]}
    number = sum(len(control["texts"]) for control in kept["controls"])
    assert len(reached) > min(0.8 * number, 0.8 * films.STEPS), "the walk tries the controls' values"
    assert size <= MOST_BYTES
    browser_report.append(
        f"on a page {name:<24} {kept['states']:5} pictures, {size / 1000:4.0f} kB, {len(kept['walk'])} changes as in "
        f"the kernel, median {median:.1f} ms"
    )


@in_chromium
@pytest.mark.parametrize("name", list(map(film, WIDGETS)))
def test_on_a_phone_every_picture_fits(name, open_page):
    """At 390 pixels neither page nor picture scrolls sideways, and the smallest letters have eleven; along the whole
    way of the slider that plays."""
    box = open_page(name)
    box.page.set_viewport_size({"width": 390, "height": 844})
    screen, leader = box.locator(".living-screen"), box.locator(".living-control:has(.living-play) input")
    places = range(int(leader.get_attribute("max")) + 1) if leader.count() else [None]
    for place in places:
        if place is not None:
            leader.fill(str(place))
        assert box.page.evaluate("document.documentElement.scrollWidth") <= 390, place
        assert screen.evaluate("one => one.scrollWidth <= one.clientWidth"), place
        assert box.locator("svg").evaluate(SMALLEST) >= 11, place


@in_chromium
def test_a_film_plays_by_itself(open_page):
    """▶ leads from the first picture to the last, what is said of each stands below it, and a hand stops it."""
    box = open_page("attention_flow")
    page, status, slider = box.page, box.get_by_role("status"), box.get_by_role("slider", name="step")
    page.clock.install()
    button = box.locator(".living-play")
    assert button.inner_text() == "▶ Play" and slider.input_value() == "0"
    button.click()
    said = [slider.input_value()]
    for _ in range(3):
        page.clock.run_for(400)
        words = box.locator("details p").text_content()
        assert status.inner_text() == words and status.bounding_box()["height"] > 20, "a caption that can be seen"
        page.clock.run_for(min(700 + 45 * len(words), 90_000 / 10))
        said.append(slider.input_value())
    assert said == ["1", "2", "3", "4"] and button.inner_text() == "❚❚ Pause"
    slider.fill("2")
    assert button.inner_text() == "▶ Play" and status.bounding_box()["height"] <= 1
    page.clock.run_for(20_000)
    assert slider.input_value() == "2"
    button.click()
    page.clock.run_for(100_000)
    assert slider.input_value() == "9" and button.inner_text() == "▶ Play", "it ends"
    button.click()
    assert slider.input_value() == "0", "and begins anew"
    button.click()


@in_chromium
def test_what_is_new_fades_in_unless_less_motion_is_wanted(open_page):
    box = open_page("attention_flow")
    slider, screen = box.get_by_role("slider", name="step"), box.locator(".living-screen")
    assert screen.evaluate(MOVING) == []
    slider.fill("1")
    box.page.wait_for_timeout(600)
    slider.fill("2")
    texts = screen.evaluate(MOVING)
    assert 0 < len(texts) < box.locator("svg *").count() / 2 and "Kᵀ" not in texts
    box.page.emulate_media(reduced_motion="reduce")
    box.page.wait_for_timeout(600)
    slider.fill("3")
    assert screen.evaluate(MOVING) == []


@in_chromium
def test_a_wrong_picture_does_not_go_unnoticed(open_page, site, tmp_path):
    name = "sentence_attention"
    kept = record.load(name, WIDGETS[name])
    film = json.loads(gzip.decompress(base64.b64decode(kept["film"])))
    film["words"][0]["at"].reverse()
    packed = base64.b64encode(gzip.compress(json.dumps(film).encode())).decode()
    (tmp_path / "widgets").mkdir()
    for file in ("frames.js", "frames.css"):
        (tmp_path / "widgets" / file).write_bytes((site(name) / "widgets" / file).read_bytes())
    (tmp_path / "widgets" / f"{name}.js").write_text(f"attentionFilm({name!r}, {packed!r});")
    (tmp_path / f"{name}.html").write_bytes((site(name) / f"{name}.html").read_bytes())
    wrong, _ = walked(open_page(name, tmp_path), kept["walk"])
    assert wrong


@in_chromium
def test_a_widget_is_used_by_keyboard_and_heard(open_page):
    box = open_page("attention_flow")
    page, status = box.page, box.get_by_role("status")
    assert status.inner_text() == "", "the first picture is not news"
    assert box.get_by_role("slider", name="step").count() == 1
    assert box.get_by_role("combobox", name="who asks").count() == 0, "words are clicked instead"
    assert box.get_by_role("button", name="word cats").count() == 1
    slider = box.get_by_role("slider", name="step")
    slider.focus()
    outline = slider.evaluate("one => getComputedStyle(one).outlineStyle + getComputedStyle(one).outlineWidth")
    page.keyboard.press("ArrowRight")
    shown = box.locator(".living-value").first.inner_text()
    assert slider.get_attribute("aria-valuetext") == shown == "2"
    page.wait_for_timeout(500)
    said = box.locator("svg").get_attribute("aria-label")
    assert "Step 2 of 10" in said and status.inner_text() == said == box.locator("details p").text_content()
    box.locator("button.living-play").focus()
    page.keyboard.press("Tab")
    assert box.locator(".living-screen").evaluate("one => one === document.activeElement"), "it scrolls by keyboard"
    page.keyboard.press("Shift+Tab")
    assert outline == "solid3px"


def said(box):
    return box.locator("svg").get_attribute("aria-label")


@in_chromium
def test_a_handle_is_dragged_along_the_recorded_states(open_page):
    """The query, far out, then by keys; what a finger asks for is rounded to what was recorded."""
    box = open_page("hull")
    page, tip = box.page, box.get_by_role("slider", name="tip of the query")
    ring, svg = tip.bounding_box(), box.locator("svg").bounding_box()
    unit = svg["width"] / 356
    page.mouse.move(ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2)
    page.mouse.down()
    for x, y in ((2, 1), (1, 0), (-2, -1.1)):  # the plane of the keys: its middle, 18 units for 1
        page.mouse.move(svg["x"] + unit * (89 + 18 * x), svg["y"] + unit * (111 - 18 * y))
    assert said(box).startswith("Query (-2.0, -1.2).")
    page.mouse.move(svg["x"] - 500, svg["y"] + unit * 111)
    page.mouse.up()
    assert said(box).startswith("Query (-4.0, 0.0)."), "no further than recorded"
    assert tip.evaluate("one => one === document.activeElement"), "the handle stays in hand when it is drawn anew"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert said(box).startswith("Query (-3.6, -0.4).")
    assert box.locator("input").nth(0).input_value() == "1", "the control follows"


@in_chromium
def test_words_and_stages_are_clicked_and_chosen_by_key(open_page):
    box = open_page("attention_flow")
    page = box.page
    box.get_by_role("button", name="word cats").click()
    box.get_by_role("button", name="stage 3 softmax").click()
    assert said(box).startswith("“cats” asks") and box.get_by_role("slider", name="step").input_value() == "5"
    stage = box.get_by_role("button", name="stage 3 softmax")
    assert stage.get_attribute("aria-pressed") == "true" and stage.get_attribute("tabindex") == "0"
    stage.focus()
    for key, name in (("ArrowDown", "stage 4 output"), ("ArrowUp", "stage 3 softmax"), ("ArrowUp", "stage 2 ÷ √4")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.ariaLabel") == name
    page.keyboard.press("Enter")
    assert box.get_by_role("slider", name="step").input_value() == "4"
    assert page.evaluate("document.activeElement.ariaLabel") == "stage 2 ÷ √4", "the focus stays"
    stops = box.locator("svg [data-group=stages][tabindex='0']")
    assert stops.count() == 1, "one stop of the tab key for all four"


@in_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", list(map(film, ["attention_flow", "two_arrows", GUESS, "paint_mask", "hull"])))
def test_no_barriers(open_page, name, scheme):
    box = open_page(name)
    box.page.emulate_media(color_scheme=scheme)
    assert barriers(box.page, ".living", preload=False) == []


@in_chromium
def test_a_guess_comes_before_its_result(open_page):
    box = open_page(GUESS)
    assert "0.8" not in box.locator("svg").text_content()
    box.get_by_role("button", name="2", exact=True).click()
    assert "You guessed 2, which is not right." in said(box) and "0.8" in box.locator("svg").text_content()
    assert box.get_by_role("button", name="2, your guess").get_attribute("aria-pressed") == "true"


@in_chromium
@pytest.mark.lane("all", "guess", topic(WIDGETS["guess_weight_in_a_longer_list"]))
def test_a_curve_is_drawn_before_it_is_shown(open_page):
    box = open_page("guess_weight_in_a_longer_list")
    points = box.get_by_role("slider")
    assert points.count() == 5 and "measured" not in box.locator("svg").text_content()
    points.last.focus()
    for _ in range(3):
        box.page.keyboard.press("ArrowDown")
    box.get_by_role("button", name="Show me").click()
    assert "6,144 85%" in said(box) and "Among 6,144 cards the right one keeps" in said(box).replace("\u00a0", " ")
    box.get_by_role("button", name="Guess again").click()
    assert "6,144 85%" in said(box) and "keeps" not in said(box)


@in_chromium
def test_a_film_that_is_missing_leaves_the_first_picture(browser, site, tmp_path):
    (tmp_path / "widgets").mkdir()
    for file in ("widgets/frames.js", "widgets/frames.css", "projections.html"):
        (tmp_path / file).write_bytes((site("projections") / file).read_bytes())
    page = browser.new_page()
    page.goto((tmp_path / "projections.html").as_uri())
    page.get_by_text("could not be loaded").wait_for()
    assert page.locator(".living svg").count() == 1 and page.locator("select").is_disabled()
    page.close()


@pytest.mark.parametrize("path", [about(path, topic(path)) for path in NOTEBOOKS])
def test_the_first_picture_is_that_of_the_notebook(path):
    """So the cells that were run are all that the widget needs. What a training gives may differ between processors."""
    record.record([path])
    stored = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
    for place, name in record.names(path).items():
        pictures = [output.data for output in stored[place].outputs if "image/svg+xml" in output.get("data", {})]
        said, kept = "".join(pictures[0]["text/plain"]), record.load(name, path)
        if is_volatile(stored[place]):
            said, kept["words"] = (re.sub(r"[\d.]+", "", text).split(".")[0][:12] for text in (said, kept["words"]))
        assert kept["words"] == said, name


def test_every_widget_of_the_notebooks_is_on_its_page():
    used = {record.kind(name) for name in WIDGETS}
    assert used == set(COURSE) and set(PAGES) <= used
    for name, page in PAGES.items():
        controls = COURSE[name](widgets)[0].controls
        assert {*page.grid, *page.hidden} <= set(controls), name
        for control, grid in page.grid.items():
            typed = isinstance(controls[control], ipywidgets.Text)
            assert typed or set(grid) <= set(values(controls[control])), (name, control)


def test_films_have_names_of_their_own(tmp_path):
    assert len(WIDGETS) == sum(len(record.names(path)) for path in NOTEBOOKS)
    for number, kinds in enumerate(["a b a", "b", "a"]):
        cells = [new_code_cell(f"widgets.{kind}()", id=f"{kind}{number}{k}") for k, kind in enumerate(kinds.split())]
        nbformat.write(new_notebook(cells=cells), tmp_path / f"{number}.ipynb")
    found = [record.names(tmp_path / f"{number}.ipynb") for number in range(3)]
    assert found == [{"a00": "a", "b01": "b", "a02": "a_2"}, {"b10": "b_2"}, {"a20": "a_3"}]


def test_a_film_is_made_anew_where_what_it_depends_on_changes(monkeypatch):
    name, cells = "paint_mask", [Cell("causal_mask = use('causal_mask')"), Cell("widgets.paint_mask(causal_mask)")]
    first = record.key(name, cells)
    assert first == record.key(name, [cells[0], Cell("widgets.paint_mask( causal_mask )  # a word")])
    assert first != record.key(name, [cells[0], Cell("widgets.paint_mask(causal_mask, 1)")])
    code = {path.relative_to(ROOT).as_posix().removeprefix("utils/") for path in record.code_of(name, cells)}
    assert {
        "widgets/masking.py",
        "widgets/canvas.py",
        "widgets/board.py",
        "masks.py",
        "exercises/tasks/masking.py",
        "beyond.py",
    } <= code
    assert not {"widgets/beyond.py", "exercises/tasks/decoder.py"} & code
    monkeypatch.setitem(PAGES, "paint_mask", Page(note="another"))
    assert record.key(name, cells) != first


def test_comments_and_docstrings_of_the_code_behind_a_film_say_nothing(tmp_path):
    file, data = tmp_path / "masks.py", tmp_path / "data.jsonl"
    file.write_text('"""Masks."""\n\n\ndef first(n):\n    """One."""\n    return n + 1\n')
    before, text = record.content(file), file.read_text()
    for old, new, same in (("Masks", "A word", True), ("+ 1\n", "+ 1  # more\n", True), ("+ 1", "+ 2", False)):
        file.write_text(text.replace(old, new))
        assert file.read_text() != text and (record.content(file) == before) == same
    data.write_text("# one")
    assert record.content(data) == b"# one"


def test_too_many_states_are_refused():
    explorer, _ = COURSE["two_arrows"](widgets)
    with pytest.raises(ValueError, match="28,561 states are too many"):
        films.film(explorer, Page())
    shown = explorer.screen.value
    explorer.controls["a_x"].value = -1
    assert explorer.screen.value != shown, "the widget is left as it was"


def test_rows_that_depend_on_a_box_each_are_recorded_by_rows():
    explorer, _ = COURSE["paint_mask"](widgets)
    film = films.film(explorer, PAGES["paint_mask"])
    assert max(len(part["frames"]) for part in film["pictures"] + film["words"]) == 64
    assert len(film["shapes"]) < 2000 and html.unescape(film["words"][0]["frames"][0]).startswith("Who attends")
