"""Notebooks in JupyterLab in Chromium, as a learner sees them: opened, then run, with every control moved.

One before a change lands; all of them at night.

Opened for the first time it is not trusted; saved and opened again it is, and has a new kernel (by day only one is).
Whichever it is, each widget's picture is there before anything runs.
"""

import contextlib
import functools
import io
import json
import os
import re
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from chromium import CHROMIUM, MISSING, barriers
from lanes import topic
from PIL import Image
from topics import notebook

from tools.site import notebook_pages
from utils.style import ROLES

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
SETTINGS = {"notebook-extension/tracker": {"windowingMode": "none"}}  # every cell is in the page, in sight or not
SECONDS = 3000  # for a notebook, as for its cells under nbval: a guard against one that hangs

# What `make lab` starts JupyterLab with.
OPTIONS = re.search(r"^OFFLINE_LAB := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
OPTIONS = [option.replace("$$PWD", str(ROOT)) for option in shlex.split(OPTIONS)]
KERNELS = re.search(r"^KERNELS := \$\$PWD/(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]

pytestmark = [
    pytest.mark.lane("test"),
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason=MISSING),
]

# Notes when the last key, click or menu choice came, and when after it the view of its widget was drawn anew.
WATCH = """() => {
  window.course = {began: null, drawn: null};
  for (const kind of ['keydown', 'pointerdown', 'pointermove', 'change'])
    window.addEventListener(kind, event => { window.course = {began: event.timeStamp, drawn: null}; }, true);
  for (const view of document.querySelectorAll('.jp-OutputArea-output .ac-live'))
    new MutationObserver(() => requestAnimationFrame(() => { window.course.drawn ??= performance.now(); }))
      .observe(view, {childList: true, subtree: true, characterData: true});
}"""
ELAPSED = "() => window.course.drawn === null ? null : window.course.drawn - window.course.began"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the course, so that nothing is executed or saved in place."""
    copy = tmp_path_factory.mktemp("browser") / "course"
    ignore = shutil.ignore_patterns(".*", "__pycache__", "tests")
    shutil.copytree(ROOT, copy, ignore=ignore)
    return copy


@contextlib.contextmanager
def running_lab(course, scratch):
    """JupyterLab in the copy, with no settings but those in `scratch`: (address, token, environment)."""
    token = "course"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, content in SETTINGS.items():
        path = scratch / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    folders = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "runtime", "IPYTHONDIR": "ipython"}
    folders |= {"JUPYTER_DATA_DIR": "data"}
    folders |= {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += OPTIONS
    command += [f"--IdentityProvider.token={token}", "notebooks/00_start_here.ipynb"]
    environment = os.environ | {name: str(scratch / folder) for name, folder in folders.items()}
    environment["JUPYTER_PATH"] = str(ROOT / KERNELS)
    with open(scratch / "lab.log", "w") as log:
        server = subprocess.Popen(command, cwd=course, env=environment, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/api/status?token={token}", timeout=5).close()
                break
            except OSError:
                time.sleep(0.25)
        else:
            pytest.fail("JupyterLab did not start:\n" + (scratch / "lab.log").read_text()[-2000:])
        yield address, token, environment
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


@pytest.fixture(scope="module")
def lab(course):
    with running_lab(course, course.parent) as lab:
        yield lab


@pytest.fixture
def complaints():
    """What the page writes to the console as an error, and exceptions that the kernel sends."""
    return []


@pytest.fixture
def open_notebook(browser, lab, complaints):
    """open_notebook(file name) → the page, once its kernel is ready. Page and kernel end with the test."""
    address, token, _ = lab
    page = browser.new_page(viewport={"width": 1200, "height": 1600})
    page.set_default_timeout(60_000)
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("websocket", lambda channel: channel.on("framereceived", note_exception))

    def note_exception(payload):  # also one raised in a callback, which JupyterLab shows nowhere
        message = payload if isinstance(payload, bytes) else payload.encode()
        if re.search(rb'"msg_type":\s*"error"', message):
            complaints.append(f"the kernel sent an exception: {message[-500:]}")

    def open_notebook(name, folder="doc/tree/notebooks/"):
        page.goto(f"{address}/{folder}{name}?token={token}&reset")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        page.wait_for_selector(".jp-Toolbar-kernelName >> text=/Python/")
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]")
        return page

    yield open_notebook
    page.close()
    end_kernels(lab)


def end_kernels(lab):
    address, token, _ = lab
    for kernel in kernels(lab):
        request = urllib.request.Request(f"{address}/api/kernels/{kernel['id']}?token={token}", method="DELETE")
        urllib.request.urlopen(request, timeout=30).close()


def kernels(lab):
    address, token, _ = lab
    with urllib.request.urlopen(f"{address}/api/kernels?token={token}", timeout=30) as answer:
        return json.load(answer)


def choose(page, menu, item):
    page.click(f".lm-MenuBar-itemLabel:text-is('{menu}')")
    page.click(f".lm-Menu-itemLabel:text-is('{item}')")


def run_all(page, lab):
    """Run every cell from the menu and wait until no cell waits and the kernel has been idle for two seconds."""
    choose(page, "Run", "Run All Cells")
    deadline, quiet = time.monotonic() + SECONDS, 0
    while quiet < 8:
        assert time.monotonic() < deadline, f"the notebook still runs after {SECONDS} s"
        time.sleep(0.25)
        waiting = page.locator(".jp-InputPrompt:text-is('[*]:')").count()  # a long cell may be reported as idle
        idle = all(kernel["execution_state"] == "idle" for kernel in kernels(lab))
        quiet = quiet + 1 if idle and not waiting else 0


# What a control says of itself; a button says nothing.
VALUE = "one => one.getAttribute('aria-valuenow') ?? (one.tagName === 'BUTTON' ? null : one.value + one.checked)"


def drawn_after(page, action, control=None):
    """Milliseconds from `action` until the view was drawn anew; None where it stayed as it was."""
    page.evaluate("() => { window.course = {began: performance.now(), drawn: null}; }")
    before = control.evaluate(VALUE) if control else None
    action()
    if before is not None and control.evaluate(VALUE) == before:
        return None  # a slider at its end: nothing to wait for
    for _ in range(30):
        elapsed = page.evaluate(ELAPSED)
        if elapsed is not None:
            page.wait_for_timeout(40)  # let the page settle before the next key
            return elapsed
        page.wait_for_timeout(25)
    return None


def slider_moves(page, handle):
    """From one end a few steps up, to the other end and a step back."""
    for key in ["Home"] + ["ArrowRight"] * 5 + ["End", "ArrowLeft"]:

        def press(key=key):
            handle.focus()
            page.keyboard.press(key)

        yield press


def menu_moves(page, select):
    number = select.locator("option").count()
    for option in [*range(1, number), 0][:12]:
        yield lambda option=option: select.select_option(index=option)


def text_moves(page, field):
    """Leave out the first word, then a word that no one knows, then nothing, then the first text again."""
    words = field.input_value().split()
    for text in (" ".join(words[1:]), " ".join([*words, "qqzzx"]), "", " ".join(words)):

        def write(text=text):
            field.fill(text)
            field.press("Enter")

        yield write


def click_moves(page, button):
    yield button.click


CONTROLS = {
    ".noUi-handle": slider_moves,
    "select": menu_moves,
    "input[type=text]": text_moves,
    "input[type=checkbox]": click_moves,
    ".widget-toggle-buttons button:not(.mod-active)": click_moves,
    ".widget-button:not(.widget-toggle-button)": click_moves,
}


def move_every_control(page, widget):
    """[(kind of control, milliseconds or None for every move)] of one widget; its picture is touched first."""
    found = [("shapes", elapsed)] if (elapsed := touch_every_shape(page, widget)) else []
    for selector, moves in CONTROLS.items():
        inside = f"{selector}:visible:not(.ac-live *):not([contenteditable])"
        for control in widget.locator(inside).all():
            control.scroll_into_view_if_needed()
            elapsed = []
            for move in moves(page, control):
                elapsed.append(drawn_after(page, move, control))
                alerts = widget.locator(".ac-live [role=alert]")
                assert alerts.count() == 0, alerts.first.inner_text()
            found.append((selector, elapsed))
    return found


SHAPES = 6  # of a widget that are clicked


def touch_every_shape(page, widget):
    """Click some shapes, choose one by key, drag every handle there and back, move it by key: milliseconds each."""
    elapsed, some = [], widget.locator(".ac-live [data-set]:not([data-on=true])")
    for number in range(min(SHAPES, some.count())):
        if number < some.count():  # a picture may have fewer shapes now
            elapsed.append(drawn_after(page, some.nth(number).click))
    for number in range(widget.locator(".ac-live [data-drag]:not([data-set])").count()):
        handle = widget.locator(".ac-live [data-drag]:not([data-set])").nth(number)
        for dx, dy in ((-60, -40), (60, 40)):
            elapsed.append(drawn_after(page, functools.partial(drag, page, handle, dx, dy)))
        handle.focus()
        for key in ("ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight"):
            elapsed.append(drawn_after(page, functools.partial(page.keyboard.press, key)))
    assert widget.locator("[role=alert]:visible").count() == 0, widget.locator("[role=alert]").first.inner_text()
    return elapsed


# Scrolls to a handle and says where its middle is; nothing of one that was replaced by a new picture in the meantime.
MIDDLE = """one => {
  one.scrollIntoView({block: 'nearest'});
  const {x, y, width, height} = one.getBoundingClientRect();
  return width && [x + width / 2, y + height / 2];
}"""


def standing_still(page, handle):
    """The middle of a handle once the last picture has come: on a busy machine it may follow the last key late."""
    before = None
    for _ in range(100):
        middle = handle.evaluate(MIDDLE)
        if middle and middle == before:
            return middle
        before = middle
        page.wait_for_timeout(50)
    pytest.fail("a handle that nobody moves does not stand still")


def drag(page, handle, dx, dy):
    x, y = standing_still(page, handle)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx / 2, y + dy / 2)
    page.mouse.move(x + dx, y + dy)
    page.mouse.up()


def descriptions(name):
    """Of the stored pictures of widgets, in their order."""
    cells = json.loads((ROOT / "notebooks" / name).read_text(encoding="utf-8"))["cells"]
    stored = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    return ["".join(data["text/plain"]) for data in stored if "image/svg+xml" in data]


def widgets_are_shown(page, seconds=20):
    """Widgets that cannot be shown say so a moment later; while their states are still being read, in passing."""
    page.wait_for_timeout(1000)
    until = time.monotonic() + seconds
    while page.get_by_text("Error displaying widget").count() and time.monotonic() < until:
        page.wait_for_timeout(250)
    return page.get_by_text("Error displaying widget").count() == 0


def assert_opened_well(page, name):
    """Nothing has run: the picture of each widget is there, with its description, and no message is in the way."""
    assert widgets_are_shown(page)
    find = "all => all.map(one => [one.alt, one.complete && one.naturalWidth > 0])"
    shown = page.eval_on_selector_all(".jp-OutputArea-output img", find)
    missing = [said for said in descriptions(name) if [said, True] not in shown]
    assert not missing
    assert page.get_by_text("official Jupyter news").count() == 0


def trust(course, lab, name):
    command = [sys.executable, "-m", "nbformat.sign", str(course / "notebooks" / name)]
    subprocess.run(command, env=lab[2], check=True, capture_output=True)


@pytest.mark.lane("all")
def test_a_trusted_notebook_opens_as_well(open_notebook, course, lab):
    """One stands for all: what is stored has the same forms in each."""
    name = max(NOTEBOOKS, key=lambda name: len(descriptions(name)))
    trust(course, lab, name)
    assert_opened_well(open_notebook(name), name)


REOPENED = notebook("start_here").name  # by day
SAMPLE = {REOPENED}


def in_its_lane(name, sample=SAMPLE):
    """The file name of a notebook as a parameter of a test."""
    return pytest.param(name, marks=() if name in sample else pytest.mark.lane("all", topic(name)))


def assert_dark_together(page):
    """A picture that is an image follows the system, not JupyterLab's theme: so the theme follows the system, too."""
    for dark, scheme in enumerate(("light", "dark")):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector(f"body[data-jp-theme-light={'false' if dark else 'true'}]", state="attached")
        for _ in range(20):  # colours change over some frames
            picture = page.locator(".jp-Notebook img:visible").first.screenshot()
            corner = "#{:02x}{:02x}{:02x}".format(*Image.open(io.BytesIO(picture)).convert("RGB").getpixel((4, 4)))
            if corner == ROLES["ground"][dark]:
                break
            page.wait_for_timeout(100)
        assert corner == ROLES["ground"][dark], scheme


@pytest.mark.parametrize("name", list(map(in_its_lane, NOTEBOOKS)))
def test_a_notebook_in_the_browser(open_notebook, lab, complaints, browser_report, name, pytestconfig):
    page = open_notebook(name)
    assert_opened_well(page, name)
    page.wait_for_timeout(1000)  # what the kernel says of itself comes soon after it is ready
    assert page.locator(".jp-mod-dirty").count() == 0, "a notebook that is only opened is not changed: make links"
    assert_dark_together(page)
    run_all(page, lab)
    for kind in ("error", "stderr"):
        shown = page.locator(f".jp-Notebook [data-mime-type='application/vnd.jupyter.{kind}']")
        assert shown.count() == 0, shown.first.inner_text()
    widgets = page.locator(".jp-Notebook .jp-OutputArea-output:has(.widget-html-content)").all()
    without = ".jp-Notebook .jp-OutputArea-output:not(:has(.widget-html-content))"
    drawings = page.locator(f"{without} img[src^='data:image/svg']").count()  # pictures that have no controls
    assert len(widgets) + drawings == len(descriptions(name))
    page.evaluate(WATCH)
    changes, touches, number = [], [], 0
    for place, widget in enumerate(widgets, 1):
        controls = move_every_control(page, widget)
        assert controls, f"widget {place} has no control"
        for selector, moves in controls:
            drawn = [elapsed for elapsed in moves if elapsed is not None]
            touches += drawn * (selector == "shapes")
            assert drawn, f"widget {place}: {selector} changes nothing"
            changes, number = changes + drawn, number + 1
    assert not complaints
    browser_report.append(
        f"{name:<40} {len(widgets)} widgets, {number} controls, {len(changes)} changes: "
        f"median {statistics.median(changes):.0f} ms, slowest {max(changes):.0f} ms; "
        f"{len(touches)} touches: median {statistics.median(touches or [0]):.0f} ms"
    )
    assert statistics.median(changes) < 1000, "milliseconds from key press to screen, 50 on that of docs/costs.md"
    if name != REOPENED and pytestconfig.getoption("lane") != "all":
        return
    choose(page, "File", "Save Notebook")
    page.wait_for_selector(".jp-mod-dirty", state="detached")
    end_kernels(lab)
    # On a machine with ten times the work it can do, JupyterLab may read no states when a page opens: then once more.
    assert any(widgets_are_shown(open_notebook(name)) for _ in range(3))
    assert page.locator(".jp-Notebook .jp-OutputArea-output:has(.widget-html-content)").count() == len(widgets)


@pytest.mark.lane("all", "test_browser", "notebook_pages")
def test_the_site_s_link_opens_the_notebook(open_notebook):
    """JupyterLab is started as `make lab` does, which says where its folders begin."""
    links = notebook_pages.places(notebook("masking").name, "ada/course")
    link = re.search(r'href="http://localhost:8888/([^"]+)"', links)[1]
    assert (
        open_notebook(link, folder="")
        .locator(".jp-Notebook h1", has_text=f"{notebook('masking').name[:2]} · Masking")
        .is_visible()
    )


@pytest.mark.lane("all", "picture", "controls", "test_browser")
def test_keys_stay_in_a_widget(open_notebook, lab, complaints):
    """JupyterLab takes plain keys for commands ("d d" deletes a cell) unless they are kept from it; and what a picture
    shows is said to those who do not see it."""
    page = open_notebook("00_start_here.ipynb")
    run_all(page, lab)
    cells, boxes = page.locator(".jp-Notebook .jp-Cell"), page.locator(".attention-course")
    number, named = cells.count(), "all => all.map(one => one.getAttribute('aria-label'))"
    assert "queries q" in page.eval_on_selector_all("[role=slider]", named)
    assert None not in page.eval_on_selector_all("[role=slider]", named)
    for kind in ("select:visible", "[role=slider]:visible"):  # a picture hides those that it replaces
        control = boxes.locator(kind).first
        box = control.locator("xpath=ancestor::*[contains(concat(' ', @class, ' '), ' attention-course ')]")
        control.focus()
        assert box.get_by_role("status").inner_text() == "", "nothing is said before something changes"
        for key in ("ArrowUp", "ArrowUp", "d", "d", "b", "a", "x", "Shift+M", "ArrowDown", "ArrowUp", "ArrowDown"):
            page.keyboard.press(key)
        page.wait_for_timeout(1500)
        assert cells.count() == number and control.evaluate("one => one === document.activeElement")
        shown = box.locator(".ac-live svg").get_attribute("aria-label")
        assert box.get_by_role("status").inner_text() == shown
    slider = boxes.filter(has=page.get_by_role("button", name="Play or pause")).first.locator("[role=slider]").first
    before, play = slider.get_attribute("aria-valuenow"), page.get_by_role("button", name="Play or pause").first
    play.click()
    page.wait_for_function("([one, before]) => one.ariaValueNow !== before", arg=[slider.element_handle(), before])
    play.click()
    for ours in (".attention-course", ".jp-RenderedHTMLCommon"):
        assert barriers(page, ours) == [], ours
    page.keyboard.press("Control+s")  # commands with Ctrl go on to JupyterLab
    page.wait_for_selector(".jp-mod-dirty", state="detached")
    assert not complaints


@pytest.mark.lane("all", "picture", "controls", "test_browser")
def test_without_its_front_end_a_widget_is_moved_by_its_controls(browser, course, tmp_path):
    """JupyterLab has no extension for anywidget: no message stands in the way, and every control is there."""
    settings = tmp_path / "config" / "labconfig" / "page_config.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"disabledExtensions": {"anywidget": True}}))
    with running_lab(course, tmp_path) as lab:
        page = browser.new_page(viewport={"width": 1200, "height": 1600})
        page.set_default_timeout(60_000)
        page.goto(f"{lab[0]}/doc/tree/notebooks/{notebook('dot_product_similarity').name}?token={lab[1]}&reset")
        page.wait_for_selector(".jp-Toolbar-kernelName >> text=/Python/")
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]")
        run_all(page, lab)
        box = page.locator(".attention-course").filter(has=page.locator(".noUi-handle")).first
        plain = box.locator(".ac-plain svg")
        assert plain.is_visible() and page.locator(".ac-live").count() == 0
        assert page.get_by_text("Error displaying widget").locator("visible=true").count() == 0
        before, sliders = plain.get_attribute("aria-label"), box.locator(".noUi-handle:visible")
        assert sliders.count() == 4
        sliders.first.focus()
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(
            "([one, said]) => one.querySelector('.ac-plain svg').ariaLabel !== said", arg=[box.element_handle(), before]
        )
        page.close()
