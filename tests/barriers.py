"""What axe-core finds in a page in Chromium: barriers for people who see, hear or move otherwise (WCAG 2.2 AA)."""

from pathlib import Path

from axe_playwright_python import base

SCRIPT = (Path(base.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """([inside, options]) => axe.run(inside ?? document, {resultTypes: ["violations"], ...options}).then(found =>
  found.violations.map(one => one.id + ": " + one.nodes.map(node => node.html.slice(0, 120)).slice(0, 3)))"""


def barriers(page, inside=None, **options):
    """The violations in a page, each with up to three places; `inside`: a selector of what is looked at."""
    page.evaluate(SCRIPT)
    context = None if inside is None else {"include": [inside]}
    return page.evaluate(RUN, [context, {"runOnly": LEVELS} | options])
