"""Everything that the notebooks import."""

import sys

VERSION = "0.3.0"  # of the course; `make links` writes it into the notebooks, which fetch the tag of that name with a v

if "google.colab" in sys.modules:
    from pathlib import Path

    from IPython.display import SVG, display

    display(SVG(filename=Path(__file__).parent.parent / "docs" / "map.svg"))  # in a text Colab shows no SVG
    print("The map: this notebook's number stands in its title, and on the parts that it builds.")
    print("This is Colab: File > Save a copy in Drive keeps your work. Otherwise it is gone when the session ends.")


def set_up() -> None:
    """What has to be done before more of the course is imported: every notebook's setup cell calls it."""
    from . import setting_up  # only here, so that `import utils` stays quick

    setting_up.set_up()
