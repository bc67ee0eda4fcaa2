"""Chromium in the tests: where it is, how it is started, and what axe-core finds in a page (WCAG 2.2 AA)."""

import os
import shutil
from pathlib import Path

from axe_playwright_python import base

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
LAUNCH = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
LAUNCH += ["--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
LAUNCH += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # Chromium's sandbox refuses root
MISSING = "Chromium is not installed (Debian, Ubuntu: apt-get install chromium)"

SCRIPT = (Path(base.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """([inside, options]) => axe.run(inside ?? document, {resultTypes: ["violations"], ...options}).then(found =>
  found.violations.map(one => one.id + ": " + one.nodes.map(node => node.html.slice(0, 120)).slice(0, 3)))"""
# Of the SVG of a widget: pixels of its smallest letters.
SMALLEST = """svg => Math.min(...[...svg.querySelectorAll("text")].map(text => +text.getAttribute("font-size")))
  * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"""


def barriers(page, inside=None, **options):
    """The violations in a page, each with up to three places; `inside`: a selector of what is looked at."""
    page.evaluate(SCRIPT)
    context = None if inside is None else {"include": [inside]}
    return page.evaluate(RUN, [context, {"runOnly": LEVELS} | options])
