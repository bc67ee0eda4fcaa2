"""tools/site/: the course as a site. Built once; then its pages as they are, and as Chromium shows them."""

import csv
import functools
import gzip
import html
import http.server
import re
import threading
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

pytest.importorskip("sphinx", reason="the packages of requirements-site.txt are not installed (make setup-site)")

from chromium import CHROMIUM, MISSING, SMALLEST, barriers
from topics import named

from tools.notebooks import files, links, reading_time
from tools.site import build, notebook_pages
from utils import cells
from utils.style import image_html, luminance

ROOT = Path(__file__).parents[2]
SINGLE, FIRST = named("single_token_attention"), named("start_here")
pytestmark = pytest.mark.lane("test")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FORMULAS = {path.stem: sum(reading_time.count(files.read(path))[1:3]) for path in NOTEBOOKS}  # displayed, inline
STATIC = ROOT / "tools" / "site" / "theme" / "static"
FILMED = ("start_here", "single_token_attention")  # topics
FIRST_PAINT = 300_000  # bytes that a page takes before it shows, packed as servers send them
WIDE = pytest.param(1280, "dark", marks=pytest.mark.lane("all", "build", "notebook_pages", "pages", "test_site"))
NO_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)


@pytest.fixture(scope="module")
def site(tmp_path_factory, pytestconfig):
    """The folder of the site, built without a warning; with all films at night, with a few before a change lands."""
    folder = tmp_path_factory.mktemp("site")
    topics = None if pytestconfig.getoption("lane") == "all" else FILMED
    assert build.build(folder / "site", folder / "cache", topics) == 0
    return folder / "site"


class Page(HTMLParser):
    """What a page's HTML holds: ids, links, pictures, tags without an end or where they may not be."""

    BLOCKS = {"div", "p", "table", "ul", "ol", "pre", "details", "figure"}
    VOID = {"meta", "link", "img", "input", "br", "hr", "source", "col", "wbr"}

    def __init__(self, path):
        super().__init__()
        self.ids, self.addresses, self.alts, self.open, self.wrong = Counter(), [], {}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "id" in given:
            self.ids[given["id"]] += 1
        self.addresses += [given[name] for name in ("href", "src") if given.get(name)]
        if tag == "img":
            self.alts[given["src"]] = given.get("alt")
        if tag in self.BLOCKS and "p" in self.open:
            self.wrong.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.fixture(scope="module")
def pages(site):
    return {path.name: Page(path) for path in sorted(site.glob("*.html"))}


# The pages as files


def test_every_notebook_has_a_page_and_the_map_leads_to_it(pages):
    for path in NOTEBOOKS:
        assert f"{path.stem}.html" in pages and f"{path.stem}.html" in pages["index.html"].addresses


def test_the_front_page_has_a_picture_one_sentence_two_doors_and_then_the_map(site, pages):
    text = (site / "index.html").read_text(encoding="utf-8")
    places = [
        text.index(part) for part in ('data-film="attention_flow"', 'class="lead"', 'class="doors"', 'class="map"')
    ]
    assert places == sorted(places)
    doors = re.search(r'<p class="doors"><a href="([^"]+)">Start reading</a> <a href="([^"]+)">Run it</a></p>', text)
    first = NOTEBOOKS[0].stem
    assert doors.groups() == (f"{first}.html", links.launch_links(f"{first}.ipynb", links.repository(ROOT))[0])
    assert {"questions.html", "beside.html", "measured.html", "_static/cards.txt"} <= set(pages["index.html"].addresses)


def test_every_open_question_is_on_its_page(site):
    text = (site / "questions.html").read_text(encoding="utf-8")
    assert all(f'href="{path.stem}.html"' in text for path in NOTEBOOKS) and "Open question." not in text
    assert len(re.findall(r'href="https://arxiv\.org/abs/\d{4}\.\d{5}"', text)) == 2 * len(NOTEBOOKS)


def test_the_map_stands_on_every_page_once_and_leads_to_every_notebook(site, pages):
    for name in pages.keys() - {"search.html"}:
        text = (site / name).read_text(encoding="utf-8")
        (drawn,) = re.findall(r'<div class="transformer"><svg .*?</svg></div>', text)
        assert {f'href="{path.stem}.html"' for path in NOTEBOOKS} <= set(re.findall(r'href="[^"]+"', drawn)), name
        here = re.search(r"This notebook builds: [^.]+", drawn)
        assert bool(here) == (name[:2].isdigit() and f"{name[:-5]}" != FIRST), name
        assert "data:image/svg+xml" not in text, f"{name}: the notebook's picture of the map stands there, too"


def test_pages_are_well_formed(pages):
    for name, page in pages.items():
        assert not page.wrong and page.open == [], f"{name}: {page.wrong[:3]} {page.open[:3]}"
        doubled = [one for one, times in page.ids.items() if times > 1]
        assert not doubled, f"{name}: {doubled}"


def test_links_lead_somewhere(site, pages):
    for name, page in pages.items():
        for address in page.addresses:
            if re.match(r"https?://|data:|mailto:", address):
                continue
            file, _, part = address.partition("#")
            target = (file or name).partition("?")[0]
            assert (site / target).is_file(), f"{name} leads to {address}"
            if part and target.endswith(".html"):
                assert part in pages[target].ids, f"{name} leads to {address}"


def test_links_to_the_course_have_its_address(pages):
    repo = links.repository(ROOT)
    for name, page in pages.items():
        away = [one for one in page.addresses if "/attention-course" in one and "://" in one]
        owner = repo.partition("/")[0]
        assert all(repo in one or f"{owner}.github.io" in one for one in away), name


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem[:2])
def test_a_page_shows_all_of_its_notebook(site, pages, path):
    notebook, page = nbformat.read(path, as_version=4), pages[f"{path.stem}.html"]
    text = (site / f"{path.stem}.html").read_text(encoding="utf-8")
    said = html.unescape(re.sub(r"<[^>]+>", "", text))
    alts = set(page.alts.values())
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for heading in re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE):
                assert re.sub(r"[*`]|\$.*", "", heading).strip() in said
            continue
        assert f"cell-{cell.id}" in page.ids and cell.source.strip() in said
        for output in cell.outputs:
            if "text/html" in output.get("data", {}):
                assert output.data["text/plain"] in alts or output.data["text/plain"] in said
            else:
                text_of = output.text if output.output_type == "stream" else output.data["text/plain"]
                assert text_of.rstrip() in said
        if name := cells.exercise(cell):
            block = re.search(rf'<div class="cell exercise" id="cell-{cell.id}">.*?</div>\s*</div>', text, re.DOTALL)[0]
            assert f"<code>{name}</code>" in block
            assert notebook_pages.LAB + path.name in page.addresses
            assert all(address in page.addresses for address in links.launch_links(path.name, links.repository(ROOT)))
    assert None not in alts and "" not in alts


def test_what_a_page_takes_before_it_shows_is_small(site, pages, browser_report):
    """Its HTML, the style and the scripts that do not wait; pictures and mathematics come later."""
    heaviest = ("", 0)
    for name in pages:
        text = (site / name).read_text(encoding="utf-8")
        head = text.partition("</head>")[0]
        waiting = re.findall(r'<script[^>]*\bdefer\b[^>]*src="([^"?]+)', head)
        waiting += re.findall(r'<script[^>]*src="([^"?]+)[^>]*\bdefer\b', head)
        needed = set(re.findall(r'(?:href|src)="([^"?]+\.(?:css|js))', head)) - set(waiting)
        sizes = [len(gzip.compress(path.read_bytes())) for path in (site / name, *(site / one for one in needed))]
        assert sum(sizes) < FIRST_PAINT, f"{name}: {sum(sizes)}"
        heaviest = max(heaviest, (name, sum(sizes)), key=lambda one: one[1])
    total = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    browser_report.append(f"site: {len(pages)} pages, {total / 1e6:.1f} MB; {heaviest[1] // 1000} kB until one shows")


def test_colours_of_text_are_read_on_their_ground():
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    pairs = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\)", style))
    for place in (0, 1):
        colour = {name: pair.split(", ")[place] for name, pair in pairs.items()}
        for ground in ("ground", "raised", "turn"):
            for name in ("ink", "quiet", "link", "keyword", "string", "comment", "number", "name"):
                darker, lighter = sorted((luminance(colour[ground]), luminance(colour[name])))
                assert (lighter + 0.05) / (darker + 0.05) >= 4.5, f"{name} on {ground}: {colour[name]}"


def test_a_folder_of_something_else_is_not_emptied(tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(SystemExit, match="would be emptied"):
        build.build(tmp_path, tmp_path.with_name("cache"))
    assert (tmp_path / "mine.txt").exists()
    with pytest.raises(SystemExit, match="something else than a site"):
        build.build(tmp_path / "mine.txt", tmp_path.with_name("cache"))


def test_a_site_takes_the_place_of_an_older_one_or_leaves_it(tmp_path, monkeypatch):
    class Sphinx:
        _warncount = 0

        def __init__(self, source, settings, made, *_, **__):
            self.made = made

        def build(self):
            self.made.mkdir(parents=True)
            (self.made / "index.html").write_text("<p>new</p>")
            (self.made / build.SEARCH).touch()

    monkeypatch.setattr(build, "write_sources", lambda *_: None)
    monkeypatch.setattr(build, "Sphinx", Sphinx)
    real, linked = tmp_path / "real", tmp_path / "site"
    real.mkdir()
    linked.symlink_to(real)
    assert build.build(linked, tmp_path / "cache") == 0
    page = real / "index.html"
    page.write_text("<p>old</p>")
    monkeypatch.setattr(Sphinx, "_warncount", 3)
    assert build.build(linked, tmp_path / "cache") == 3 and page.read_text() == "<p>old</p>"
    monkeypatch.setattr(Sphinx, "_warncount", 0)
    assert build.build(linked, tmp_path / "cache") == 0 and page.read_text() == "<p>new</p>"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "real", "site"] and linked.is_symlink()


def test_a_cell_that_was_never_run_is_named(tmp_path):
    cell = new_code_cell("print(1)", id="lonely")
    with pytest.raises(SystemExit, match="tiny.ipynb, cell lonely was never run"):
        notebook_pages.page(new_notebook(cells=[new_markdown_cell("# Tiny"), cell]), "tiny.ipynb", tmp_path, "a/b")


def test_a_notebook_becomes_markdown(tmp_path):
    code = new_code_cell('print("```")', execution_count=1, outputs=[new_output("stream", text="a < b\n\nc\n")])
    text = new_markdown_cell(f"See [02]({SINGLE}.ipynb) and the [README](../README.md).")
    notebook = new_notebook(cells=[new_markdown_cell("# Tiny"), text, code])
    page = notebook_pages.page(notebook, "tiny.ipynb", tmp_path, "ada/course")
    assert f"[02]({SINGLE}.md)" in page and "[README](readme.md)" in page
    assert '````python\nprint("```")\n````' in page and "a &lt; b\n\nc</pre>" in page
    shown = image_html("image/svg+xml", b'<svg width="9" height="8" viewBox="0 0 9 8"></svg>', "a < b")
    code.outputs = [new_output("display_data", data={"text/html": shown, "text/plain": "a < b"})]
    page = notebook_pages.page(notebook, "tiny.ipynb", tmp_path, "ada/course", {code.id: "<p>{}</p>".format})
    address = re.search(r'<p><img src="([^"]+)" alt="a &lt; b" width="9" height="8"', page)[1]
    assert b"<svg" in (tmp_path / address).read_bytes()


# The pages in Chromium

CUT = """() => [...document.querySelectorAll('main *')].filter(one => {
  if (one.closest('mjx-assistive-mml') || one.getBoundingClientRect().right <= innerWidth + 1) return false;
  for (let box = one; box && box.tagName !== 'MAIN'; box = box.parentElement)
    if (getComputedStyle(box).overflowX !== 'visible') return false;
  return true;
}).map(one => one.outerHTML.slice(0, 90))"""
SMALL = """async () => {
  const pictures = [...document.querySelectorAll('.figure img[src$=".svg"]')];
  const small = await Promise.all(pictures.map(async (one) => {
    const svg = await (await fetch(one.src)).text(), wide = svg.match(/viewBox="0 0 ([\\d.]+)/)[1];
    const sizes = [...svg.matchAll(/font-size(?:="|: )([\\d.]+)/g)].map(([_, size]) => size * one.clientWidth / wide);
    return Math.min(...sizes) < 9.9 && one.src;
  }));
  return small.filter(Boolean);
}"""
UNREACHED = """() => [...document.querySelectorAll('main *')].filter(one => one.tabIndex < 0 && one.clientWidth > 1
  && /auto|scroll/.test(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth + 1
  && !one.closest('mjx-container, details:not([open])')).map(one => one.outerHTML.slice(0, 90))"""
# An equation or a table that goes on beyond its box says so: cut off, it might look whole.
UNSAID = """() => [...document.querySelectorAll(':is(.figure, .table, div.math)')].filter(one => one.clientWidth > 1
  && one.scrollWidth > one.clientWidth + 1 && !getComputedStyle(one, '::after').content.includes('↔')
  && !one.closest('details:not([open])')).map(one => one.outerHTML.slice(0, 90))"""
EQUATIONS = """async () => { if (window.MathJax?.startup) await MathJax.startup.promise;
  const all = [...document.querySelectorAll('.math')];
  return [all.length, all.filter(one => !one.querySelector('mjx-container')).length,
          document.querySelectorAll('mjx-merror, [data-mjx-error]').length,
          (document.querySelector('main').innerText.match(/\\$\\$|\\\\\\(|\\\\frac/g) || []).length]; }"""
# axe looks at each element: colours of code are compared above, and what MathJax makes is not ours.
PLAIN = """() => { for (const one of document.querySelectorAll('.highlight pre')) one.textContent = one.textContent;
  for (const one of document.querySelectorAll('mjx-container')) one.replaceWith('x'); }"""


@pytest.fixture(scope="module")
def address(site):
    """Where the site is served."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture
def open_page(browser):
    """open_page(width, scheme, home) → (a page, what is wrong with it: console errors, requests that go elsewhere)."""
    opened = []

    def open_page(width, scheme, home):
        page, complaints = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme), []
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        near = (home, "data:")
        page.on("request", lambda asked: None if asked.url.startswith(near) else complaints.append(asked.url))
        opened.append(page)
        return page, complaints

    yield open_page
    for page in opened:
        page.close()


@pytest.mark.browser
@NO_CHROMIUM
class TestInChromium:
    NAME = f"{SINGLE}.html"

    @pytest.mark.parametrize("width, scheme", [(390, "light"), WIDE])
    def test_every_page_is_whole_and_every_film_fits(self, open_page, address, pages, width, scheme):
        page, complaints = open_page(width, scheme, address)
        played = 0
        for name in pages:
            page.goto(address + name)
            equations, unmade, wrong, left = page.evaluate(EQUATIONS)
            assert (unmade, wrong, left) == (0, 0, 0), name
            assert equations >= FORMULAS.get(name.removesuffix(".html"), 0), name
            assert page.evaluate("document.documentElement.scrollWidth") == width, name
            assert not page.evaluate(CUT), name
            assert not page.evaluate(SMALL), name
            page.wait_for_function(f"({UNREACHED})().length === 0")  # page.js looks at boxes after they are laid out
            assert not page.evaluate(UNSAID), name
            for film in page.locator(".living").all():
                film.scroll_into_view_if_needed()
                film.locator("fieldset:not([disabled])").wait_for(state="attached")
                assert film.locator(".living-screen").evaluate("one => one.scrollWidth <= one.clientWidth"), name
                assert film.locator("svg").evaluate(SMALLEST) >= 11, name
                played += 1
            assert not complaints, name
        assert played >= 5

    @pytest.mark.lane("all")
    def test_axe_finds_no_barrier(self, open_page, address, pages):
        """Contrast, which takes longest, on a notebook's page and on all others: the style is one."""
        notebooks = {f"{path.stem}.html" for path in NOTEBOOKS[1:]}
        for width, scheme in ((390, "light"), (1280, "dark")):
            page, _ = open_page(width, scheme, address)
            for name in pages:
                rules = {"color-contrast": {"enabled": name not in notebooks}}
                chosen = {"rules": rules} if scheme == "light" else {"runOnly": ["color-contrast"]}
                if scheme == "light" or name not in notebooks:
                    page.goto(address + name)
                    page.evaluate(EQUATIONS)
                    page.evaluate(PLAIN)
                    assert barriers(page, **chosen) == [], name

    @pytest.mark.lane("all", "flow", "build", "films")  # what moves is waited for, twenty seconds
    def test_the_first_picture_plays_by_itself_where_motion_is_welcome(self, open_page, address):
        page, complaints = open_page(390, "light", address)
        shown, button = page.locator(".first .living-screen svg"), page.locator(".first .living-play")
        page.goto(address)
        page.wait_for_selector(".first .living[data-ready]")
        before = shown.get_attribute("aria-label")
        page.wait_for_function("before => document.querySelector('.first svg').ariaLabel !== before", arg=before)
        button.click()  # WCAG 2.2.2: what moves can be stopped
        stopped = shown.get_attribute("aria-label")
        page.emulate_media(reduced_motion="reduce")
        page.wait_for_timeout(6000)
        assert shown.get_attribute("aria-label") == stopped
        page.goto(address)
        page.wait_for_selector(".first .living[data-ready]")
        page.wait_for_timeout(6000)
        assert page.locator(".first .living-value").first.inner_text() == "1" and not complaints

    def test_the_two_doors_are_seen_without_scrolling(self, open_page, address):
        for width, height in ((390, 844), (1280, 800)):
            page, _ = open_page(width, "light", address)
            page.set_viewport_size({"width": width, "height": height})
            page.goto(address)
            page.wait_for_selector(".first .living[data-ready]")
            box = page.locator(".doors").bounding_box()
            assert box["y"] + box["height"] <= height, width

    def test_equations_of_the_cards_are_set(self, open_page, address, site):
        """By MathJax, as in Anki; the page is one that has it."""
        page, _ = open_page(1280, "light", address)
        page.goto(address + self.NAME)
        page.evaluate(EQUATIONS)
        with (site / "_static" / "cards.txt").open(encoding="utf-8") as file:
            rows = [row for row in csv.reader(file, delimiter="\t") if len(row) == 4]
        sides = "".join(f"<div>{front}{back}</div>" for _, front, back, _ in rows)
        page.evaluate("sides => { document.querySelector('main').innerHTML = sides; }", sides)
        page.evaluate("MathJax.typesetPromise([document.querySelector('main')])")
        assert page.locator("mjx-merror, [data-mjx-error]").count() == 0
        assert page.locator("main mjx-container").count() == sides.count(r"\(") + sides.count(r"\[") > 40

    def test_it_is_read_with_the_keyboard(self, open_page, address):
        page, _ = open_page(390, "light", address)
        page.goto(address + self.NAME)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        menu = page.get_by_role("button", name="Contents")
        menu.focus()
        assert not page.locator("#map").is_visible()
        page.keyboard.press("Enter")
        assert page.locator("#map").is_visible() and menu.get_attribute("aria-expanded") == "true"
        page.get_by_role("link", name=f"{named('masking')[:2]} · Masking").press("Enter")
        page.wait_for_url(f"**/{named('masking')}.html")

    def test_light_and_dark_stay_as_chosen(self, open_page, address):
        page, _ = open_page(1280, "light", address)
        ground = "getComputedStyle(document.body).backgroundColor"
        page.goto(address)
        assert page.evaluate(ground) == "rgb(255, 255, 255)"
        page.get_by_role("button", name="Dark").click()
        page.goto(address + self.NAME)
        assert page.evaluate(ground) == "rgb(22, 25, 29)"
        page.emulate_media(media="print")
        assert page.evaluate(ground) == "rgb(255, 255, 255)", "paper is white"

    def test_pictures_come_when_they_are_near(self, open_page, address):
        page, _ = open_page(1280, "light", address)
        asked = []
        page.on("request", lambda one: asked.append(one.url) if "/figures/" in one.url else None)
        page.goto(f"{address}{named('masking')}.html")
        page.evaluate(EQUATIONS)
        all_of_them = page.locator(".figure img").count()
        assert len(asked) < all_of_them
        last = page.locator(".figure img").last
        last.scroll_into_view_if_needed()
        page.wait_for_function("one => one.complete && one.naturalWidth > 0", arg=last.element_handle())

    def test_the_search_finds_a_page(self, open_page, address):
        page, complaints = open_page(1280, "light", address)
        page.goto(address)
        page.get_by_role("searchbox").fill("sliding window")
        page.keyboard.press("Enter")
        page.locator("#search-results a", has_text="Masking").first.wait_for()
        assert not complaints

    def test_paper_cuts_no_code_and_folds_nothing(self, open_page, address):
        page, _ = open_page(690, "dark", address)
        page.goto(address + self.NAME)
        page.evaluate(EQUATIONS)
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(CUT) == [] and not page.locator("header").is_visible()
        wide = "[...document.querySelectorAll('pre')].filter(one => one.scrollWidth > one.clientWidth + 1).length"
        assert page.evaluate(wide) == 0
        answers = page.locator("main section#check-yourself details")
        assert answers.count() and all(answer.get_attribute("open") is not None for answer in answers.all())

    def test_it_opens_as_a_file(self, open_page, site):
        page, complaints = open_page(1280, "light", "file://")
        page.goto((site / self.NAME).as_uri())
        equations, *wrong = page.evaluate(EQUATIONS)
        assert equations and wrong == [0, 0, 0] and not complaints
        page.get_by_role("link", name=f"{named('multi_head_attention')[:2]} · Multi-head attention").first.click()
        page.wait_for_url(f"**/{named('multi_head_attention')}.html")

    def test_at_double_size_it_is_still_one_column_of_text(self, open_page, address):
        """200 % zoom of a window of 1280 pixels is a window of 640."""
        page, _ = open_page(640, "light", address)
        page.goto(address + self.NAME)
        page.evaluate(EQUATIONS)
        assert page.evaluate("document.documentElement.scrollWidth") == 640 and page.evaluate(CUT) == []
