"""How Sphinx makes the site: Markdown with mathematics, our own small theme, and nothing from another server."""

from pathlib import Path

from tools.notebooks import links

COURSE = Path(__file__).resolve().parent.parent.parent

project = "Attention, understood"
language = "en"
extensions = ["myst_parser", "sphinx.ext.mathjax"]
root_doc = "index"
templates_path = []
smartquotes = False
locale_dirs, gettext_compact = [], False

myst_enable_extensions = ["dollarmath"]
myst_dmath_double_inline = True  # $$…$$ within a paragraph
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a notebook may go from its title to a heading of the third level

mathjax_path = "mathjax/tex-chtml.js"
mathjax_options = {"defer": "defer"}

html_theme, html_theme_path = "theme", ["."]
html_title = project
html_baseurl = links.site_address(links.repository(COURSE))
html_context = {"repository": f"https://github.com/{links.repository(COURSE)}"}
html_permalinks_icon = "#"
html_copy_source = html_show_sourcelink = html_use_index = html_domain_indices = False
