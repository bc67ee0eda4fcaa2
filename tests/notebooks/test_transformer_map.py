"""tools/notebooks/transformer_map.py: the map at the head of every notebook is drawn from the list of parts as it is
today, shows what a trained model computes, is the same on every processor, and can be read on a phone."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from topics import LISTED

from tools.notebooks import files, links, transformer_map
from tools.notebooks.transformer_map import (
    LEVELS,
    PARTS,
    SOURCE,
    TARGET,
    draw,
    states,
    tables,
)

ROOT = Path(__file__).parents[2]
KNOWN = links.stems()
TO_COME = KNOWN | {"published_encoder": f"{len(KNOWN)}_published_encoder"}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("topic", KNOWN)
def test_the_map_in_a_notebook_is_that_of_today(topic):
    title = files.read(ROOT / "notebooks" / f"{KNOWN[topic]}.ipynb").cells[0].source
    assert transformer_map.with_map(title, topic, KNOWN) == title, "make links"
    assert transformer_map.without_map(title).count("\n\n") + 2 == title.count("\n\n") and len(title) < 40_000


def test_the_map_of_the_readme_is_that_of_today():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, picture in transformer_map.files(KNOWN).items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == picture, "make links"
        assert f'"docs/{name}"' in readme


def test_every_notebook_but_the_first_builds_a_part_and_every_part_is_built():
    first, *others = (topic for topic, _ in LISTED)
    assert set(others) <= {part.topic for part in PARTS} <= set(TO_COME)
    for topic in others:
        looks = [state for part, state in states(topic, list(KNOWN)) if part.topic == topic]
        assert looks and set(looks) == {"here"}, topic
    later = [part.topic for part, state in states(others[0], list(KNOWN)) if state == "later"]
    assert set(later) == set(others[1:]) and {state for _, state in states(others[-1], list(KNOWN))} == {
        "here",
        "built",
    }


def test_numbers_follow_the_files():
    moved = {topic: f"{number:02}_{topic}" for number, topic in enumerate(("start_here", "masking", "decoder"))}
    said = draw("masking", moved).description
    assert "builds: causal self-attention; the mask." in said and "feed-forward layer (02)" in said
    assert "several heads" not in said, "what no notebook builds is not on the map"
    assert draw("start_here", moved) == draw(None, moved) and "the mask (01)" in draw(None, moved).description


def test_the_small_pictures_are_what_a_model_computes():
    """Shares that sum to 1, a decoder that does not see the future, and a first word that is the translation's."""
    shown = tables()
    for name in ("source", "own", "cross", "weights"):
        assert shown[name].shape == (5, 5) and (shown[name].sum(-1) - 1).abs().max() < 1e-5, name
    assert shown["own"].triu(1).abs().max() == 0 < shown["source"].triu(1).max()
    words = [*SOURCE, "</s>"]
    looks_at = [words[k] for k in shown["cross"].argmax(-1).tolist()]
    assert dict(zip(["<s>", *TARGET], looks_at)) == {
        "<s>": "arrived", "llegó": "witch", "la": "witch", "bruja": "green", "verde": "</s>",
    }, "who writes a word looks at the one that it translates"  # fmt: skip
    assert shown["bars"][0] > 0.9


def test_no_level_hangs_on_rounding():
    for name, table in tables().items():
        if name != "bars":
            from_edge = (LEVELS * table % 1 - 0.5).abs().min().item()
            assert from_edge > 1e-4, f"{name}: a share lies on the edge between two levels of colour"


@pytest.mark.parametrize("topic", [None, *TO_COME])
def test_it_is_read_on_a_phone(topic):
    view = draw(topic, TO_COME)
    root = ET.fromstring(view.svg)
    width, height = (float(number) for number in root.get("viewBox").split()[2:])
    assert width == 356 and root.get("aria-label") == view.description
    for text in root.iter(f"{SVG}text"):
        size, x, y = (float(text.get(name)) for name in ("font-size", "x", "y"))
        wide = (0.65 if text.get("font-weight") else 0.6) * size * len(text.text)
        left = {"start": x, "middle": x - wide / 2, "end": x - wide}[text.get("text-anchor")]
        assert size >= 11 and left >= 0 and left + wide <= width + 4 and size <= y <= height, text.text


def test_every_part_on_a_page_is_a_link_and_a_page_can_be_reached_once():
    root = ET.fromstring(draw("masking", KNOWN, linked=True).svg)
    found = list(root.iter(f"{SVG}a"))
    assert root.get("role") == "group" and [link.get("href") for link in found] == [
        f"{KNOWN[part.topic]}.html" for part in PARTS if part.topic in KNOWN
    ]
    reached = [link.get("href") for link in found if link.get("tabindex") is None]
    assert sorted(reached) == sorted({f"{stem}.html" for stem in KNOWN.values()})
    assert all(re.fullmatch(r".+: notebook \d\d", link.get("aria-label")) for link in found)
