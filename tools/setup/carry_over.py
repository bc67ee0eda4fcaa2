"""A learner's answers and own cells in a new version of a notebook; `make update` calls this for each notebook.

A cell is found again by its id, which it keeps for life, or by its tag `exercise:name`, or by its text. What each side
changed is known from the version that the learner began with:

    changed by the learner alone      the learner's, outputs included
    changed by the course alone       the course's
    changed by both                   the course's, and below it the learner's text as a note that does not run
    gone                              the learner's text as such a note, in its place
    a cell of the learner's           below the cell that it stood under

An exercise that asks for the same function or class as before counts as changed by the learner alone. A note does not
run, so no old answer takes the name of something new. Right answers are kept besides, in my_answers
(learner/kept_answers.py); this is for those that are not right yet, and for all else that a learner writes into a
notebook. Standard library only.
"""

import ast
import copy
import json
import re
import uuid

NOTE = "*Yours, from before the update; the course has changed this cell since:*\n\n"
GONE = "*Yours, from before the update; this notebook no longer has this cell:*\n\n"


def read(text):
    """The notebook in the text or bytes of a file. Raises ValueError for what is no notebook of format 4."""
    try:
        notebook = json.loads(text)
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
            data, _ = cell["metadata"], cell["cell_type"]
            cell["metadata"] = data if isinstance(data, dict) else {}
            if "tags" in cell["metadata"]:  # some tools write null, or numbers among them
                tags = cell["metadata"]["tags"]
                tags = tags if isinstance(tags, list) else [tags]
                cell["metadata"]["tags"] = [tag for tag in tags if isinstance(tag, str)]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("is not a notebook of format 4") from None
    return notebook


def text(notebook):
    """The notebook as Jupyter writes it."""
    notebook = copy.deepcopy(notebook)
    for cell in notebook["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def exercise(cell):
    """The name in the tag `exercise:name`, or None."""
    tags = (cell or {}).get("metadata", {}).get("tags", [])
    return next((tag.removeprefix("exercise:") for tag in tags if tag.startswith("exercise:")), None)


def identity(cell):
    """The id of a cell; Colab keeps it in the metadata."""
    return cell.get("id") or cell["metadata"].get("id")


def content(cell):
    """What a cell holds, whatever it is called; None for an empty one."""
    return (cell["cell_type"], cell["source"].strip()) if cell["source"].strip() else None


def both(one, other):
    return lambda cell: (one(cell), other(cell)) if one(cell) and other(cell) else None


# Of two cells with one id, as copying makes them, the one that is the same in text or tag comes first.
KEYS = both(identity, content), both(identity, exercise), exercise, identity, content


def found_again(cells, old, keys=KEYS):
    """For each of `cells` the cell of `old` that it is a version of, or None; each one of `old` at most once."""
    free, result = list(old), [None] * len(cells)
    for key in keys:
        for number, cell in enumerate(cells):
            wanted = key(cell)
            if result[number] is None and wanted:
                result[number] = next((one for one in free if key(one) == wanted), None)
                free = [one for one in free if one is not result[number]]
    return result


def definition(source, name):
    """The definition of the function or class `name` in `source`, or None."""
    try:
        return next(node for node in ast.parse(source).body if name and getattr(node, "name", None) == name)
    except (SyntaxError, ValueError, StopIteration, RecursionError, MemoryError):
        return None


def asked(cell):
    """What an exercise cell asks for, or an answer gives: a function's name and arguments, or a class's name, bases and
    methods; None if unreadable."""
    node = definition(cell["source"], exercise(cell))
    try:
        if isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
            return node.name, [*map(ast.dump, node.bases)], {one.name: ast.dump(one.args) for one in methods}
        return (node.name, ast.dump(node.args)) if isinstance(node, ast.FunctionDef) else None
    except RecursionError:
        return None


def as_note(cell, why):
    """A cell of text that shows what `cell` held, without its id, tags and outputs."""
    fence = max(["``", *re.findall("`+", cell["source"])], key=len) + "`"
    shown = f"{fence}python\n{cell['source']}\n{fence}" if cell["cell_type"] == "code" else cell["source"]
    note = {"cell_type": "markdown", "id": uuid.uuid4().hex[:8], "metadata": {}, "source": why + shown}
    return note | ({"attachments": cell["attachments"]} if "attachments" in cell else {})


def carried(mine, base, new):
    """(the cell, is it but a note, to be put below the course's?) for a cell that the learner changed."""
    if new is None:
        return as_note(mine, GONE), True
    kept = mine | {"metadata": new["metadata"]} | ({"id": new["id"]} if "id" in new else {})
    if new["source"].strip() in (mine["source"].strip(), base["source"].strip()):
        return kept, False
    if exercise(new) and asked(new) and asked(new) in (asked(base), asked(mine)):
        return kept, False
    return as_note(mine, NOTE), True


def matched(mine, new, base):
    """(cell of the learner's, the one of `base` that it comes from, the one of `new` that takes its place) for each."""
    bases = found_again(mine, base)
    news = iter(found_again([was for was in bases if was], new))
    found = [next(news) if was else None for was in bases]
    # What is in `new` word for word came from there, by an update that was cut short.
    free = [cell for cell in new if not any(cell is now for now in found)]
    own = [cell for cell, was in zip(mine, bases) if not was]
    again = {id(cell): now for cell, now in zip(own, found_again(own, free, [content])) if now}
    bases = [cell if id(cell) in again else was for cell, was in zip(mine, bases)]
    return [(cell, was, again.get(id(cell), now)) for cell, was, now in zip(mine, bases, found)]


def carry(mine, new, base):
    """(the notebook `new` with what is the learner's in it, report). Nothing is changed in place.

    `base` is the version that the learner began with. The report counts "answers", "edits" and "cells", and lists what
    "changed" under the learner's hands and what is "gone".
    """
    report = {"answers": 0, "edits": 0, "cells": 0, "changed": [], "gone": []}
    taken, notes = {identity(cell) for cell in new["cells"]}, {cell["source"] for cell in new["cells"]}
    replaced, below, above = {}, {}, None
    for cell, was, now in matched(mine["cells"], new["cells"], base["cells"]):
        if was is None:
            if cell["source"].strip() or cell.get("attachments"):
                report["cells"] += 1
                below.setdefault(above, []).append(_own(cell, taken))
        elif cell["source"].strip() != was["source"].strip():
            kept, is_note = carried(cell, was, now)
            name = exercise(cell) or exercise(now) or (cell["source"].strip().splitlines() or ["an empty cell"])[0]
            if is_note and cell["source"].strip() and kept["source"] not in notes:
                report["changed" if now else "gone"].append(name)
                below.setdefault(id(now) if now else above, []).append(kept)
            elif not is_note:
                report["answers" if exercise(now) else "edits"] += 1
                replaced[id(now)] = kept
        above = id(now) if now else above
    cells = list(below.get(None, []))
    for cell in new["cells"]:
        cells += [replaced.get(id(cell), cell), *below.get(id(cell), [])]
    return _whole(new | {"cells": copy.deepcopy(cells)}), report


def _own(cell, taken):
    """A learner's own cell: a copy of an exercise is no second exercise, and the course's ids are the course's."""
    cell = copy.deepcopy(cell)
    if exercise(cell):
        cell["metadata"]["tags"] = [tag for tag in cell["metadata"]["tags"] if not tag.startswith("exercise:")]
    return cell | {"id": None if identity(cell) in taken else identity(cell)}


def _whole(notebook):
    """Each id once, and one for each cell, as format 4.5 wants it."""
    seen = set()
    for cell in notebook["cells"]:
        name = cell["id"] if "id" in cell else identity(cell)
        cell["id"] = uuid.uuid4().hex[:8] if not name or name in seen else name
        seen.add(cell["id"])
    return notebook
