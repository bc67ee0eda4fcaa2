"""A learner's answers and own cells in a new version of a notebook; `make update` calls this for each notebook.

A cell is found again by its id, which it keeps for life, or by its tag `exercise:name`, or by its text. With the
version that the learner began with, what each side changed is known:

    changed by the learner alone      the learner's, outputs included
    changed by the course alone       the course's
    changed by both, or gone          the course's, and below it the learner's text as a note that does not run
    a cell of the learner's           below the cell that it stood under

An exercise that asks for the same function as before counts as changed by the learner alone. Without that version, an
answer is known by not being a bare stub, and other cells that differ are counted, not carried. Standard library only.
"""

import ast
import copy
import json
import uuid

NOTE = "*Yours, from before the update; the course has changed this cell since:*\n\n"
GONE = "*Yours, from before the update; the course has this cell no more:*\n\n"
OLDER = "*Yours, from another copy; this notebook holds another text here:*\n\n"


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
KEYS = both(identity, content), both(identity, exercise), identity, exercise, content


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


def function(source, name):
    """The definition of the function `name` in `source`, or None."""
    try:
        return next(node for node in ast.parse(source).body if name and getattr(node, "name", None) == name)
    except (SyntaxError, ValueError, StopIteration, RecursionError, MemoryError):
        return None


def asked(cell):
    """What an exercise cell asks for, or an answer gives: the function's name and arguments; False if unreadable."""
    node = function(cell["source"], exercise(cell))
    try:
        return isinstance(node, ast.FunctionDef) and (node.name, ast.dump(node.args))
    except RecursionError:
        return False


def is_stub(cell):
    """Does nothing but `return ...`, or several of these dots, stand below the docstring?"""
    node = function(cell["source"], exercise(cell))
    body = [] if node is None else node.body[ast.get_docstring(node) is not None :]
    value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return parts != [] and all(isinstance(part, ast.Constant) and part.value is ... for part in parts)


def is_bare(cell):
    """Is it a stub with nothing of a learner's around it: no comment, no line but those that check the answer?"""
    if not is_stub(cell) or "#" in cell["source"]:
        return False
    name = exercise(cell)
    rest = {ast.get_source_segment(cell["source"], node) for node in ast.parse(cell["source"]).body}
    return len(rest - {f"check({name})", f"{name} = use({name})"}) == 1


def as_note(cell, why):
    """A cell of text that shows what `cell` held, without its id, tags and outputs."""
    code = cell["cell_type"] == "code"
    shown = f"```python\n{cell['source']}\n```" if code else cell["source"]
    note = {"cell_type": "markdown", "id": uuid.uuid4().hex[:8], "metadata": {}, "source": why + shown}
    return note | ({"attachments": cell["attachments"]} if "attachments" in cell else {})


def is_answered(mine, base, new):
    """Has the learner written anything into this cell of the course? Without `base` it has to be an exercise."""
    if base is not None:
        return mine["source"].strip() != base["source"].strip()
    return exercise(mine) is not None and mine["source"].split() != new["source"].split() and not is_bare(mine)


def carried(mine, base, new, known):
    """(the cell, why it is but a note to be put below the course's, or "") for a cell that the learner changed."""
    if new is None:
        return as_note(mine, GONE), GONE
    before, text_here = base or mine, new["source"].strip()
    kept = mine | {"metadata": new["metadata"]} | ({"id": new["id"]} if "id" in new else {})
    if mine["source"].strip() == text_here:
        return (kept if known is None else new), ""
    if known is not None and text_here not in known and not is_bare(new):
        return as_note(mine, OLDER), OLDER
    if base is not None and base["source"] == new["source"]:
        return kept, ""
    if exercise(new) and not (base is None and is_stub(mine)):  # without `base`, ideas in a stub are no answer yet
        if asked(before) in (False, asked(new)) or asked(mine) == asked(new):
            return kept, ""
    return as_note(mine, NOTE), NOTE


def matched(mine, new, base):
    """(cell of the learner's, the one of `base` that it comes from, the one of `new` that takes its place) for each."""
    if base is None:
        return [(cell, None, now) for cell, now in zip(mine, found_again(mine, new))]
    bases = found_again(mine, base)
    news = iter(found_again([was for was in bases if was], new))
    found = [next(news) if was else None for was in bases]
    # What is in `new` word for word came from there: an update that was cut short, or the same FROM for a second time.
    free = [cell for cell in new if not any(cell is now for now in found)]
    own = [cell for cell, was in zip(mine, bases) if not was]
    again = {id(cell): now for cell, now in zip(own, found_again(own, free, [content])) if now}
    bases = [cell if id(cell) in again else was for cell, was in zip(mine, bases)]
    return [(cell, was, again.get(id(cell), now)) for cell, was, now in zip(mine, bases, found)]


def carry(mine, new, base=None, known=None):
    """(the notebook `new` with what is the learner's in it, report). Nothing is changed in place.

    `base` is the version that the learner began with; without it, only exercises and cells that the course does not
    have are carried. Where `new` holds work of the learner's as well, `known` are texts of the course's cells: what is
    neither one of them nor a bare stub stays, and mine stands below it. The report counts "answers", "edits", "cells",
    and what "differ"s without being carried, and lists what "changed" under the learner's hands or is but "older".
    """
    report = {"answers": 0, "edits": 0, "cells": 0, "differ": 0, "changed": [], "older": []}
    taken, notes = {identity(cell) for cell in new["cells"]}, {cell["source"] for cell in new["cells"]}
    replaced, below, above = {}, {}, None
    for cell, was, now in matched(mine["cells"], new["cells"], base and base["cells"]):
        if was is None and now is None:
            if cell["source"].strip() or cell.get("attachments"):
                report["cells"] += 1
                below.setdefault(above, []).append(_own(cell, taken))
        elif is_answered(cell, was, now):
            kept, why = carried(cell, was, now, known)
            name = exercise(cell) or exercise(now) or (cell["source"].strip().splitlines() or ["an empty cell"])[0]
            if why and cell["source"].strip() and kept["source"] not in notes:
                report["older" if why is OLDER else "changed"].append(name)
                below.setdefault(id(now) if now else above, []).append(kept)
            elif not why and kept is not now:
                report["answers" if exercise(now) else "edits"] += 1
                replaced[id(now)] = kept
        elif was is None and content(cell) != content(now):
            report["differ"] += 1
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
