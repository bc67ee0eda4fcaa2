"""A learner's answers and own cells in a new version of a notebook; `make update` calls this for each notebook.

A cell is found again by its id, which it keeps for life, or by its tag `exercise:name`, or by its text. With the
version that the learner began with, what each side changed is known:

    changed by the learner alone      the learner's, outputs included
    changed by the course alone       the course's
    changed by both, or gone          the course's, and below it the learner's text as a note that does not run
    a cell of the learner's           below the cell that it stood under

An exercise that asks for the same function as before counts as changed by the learner alone. Standard library only.
"""

import ast
import copy
import json
import uuid

NOTE = "*Yours, from before the update; the course has changed this cell since:*\n\n"
GONE = "*Yours, from before the update; the course has this cell no more:*\n\n"


def read(text):
    """The notebook in the text of a file. Raises ValueError for what is no notebook of format 4."""
    try:
        notebook = json.loads(text)
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
            cell["metadata"], cell["cell_type"]
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


def found_again(cells, old):
    """For each of `cells` the cell of `old` that it is a version of, or None; each one of `old` at most once."""
    free, result = list(old), [None] * len(cells)
    for key in (identity, exercise, lambda cell: (cell["cell_type"], cell["source"].strip())):
        for number, cell in enumerate(cells):
            wanted = key(cell)
            if result[number] is None and wanted and wanted != (cell["cell_type"], ""):
                result[number] = next((one for one in free if key(one) == wanted), None)
                free = [one for one in free if one is not result[number]]
    return result


def function(source, name):
    """The definition of the function `name` in `source`, or None."""
    try:
        return next(node for node in ast.parse(source).body if getattr(node, "name", None) == name)
    except (SyntaxError, ValueError, StopIteration):
        return None


def asked(cell):
    """What an exercise cell asks for, or an answer gives: the function's name and arguments; None if unreadable."""
    node = function(cell["source"], exercise(cell))
    return isinstance(node, ast.FunctionDef) and (node.name, ast.dump(node.args))


def is_stub(cell):
    """Does nothing but `return ...` stand below the docstring?"""
    node = function(cell["source"], exercise(cell))
    body = [] if node is None else node.body[ast.get_docstring(node) is not None :]
    return len(body) == 1 and ast.unparse(body[0]).replace("(", "").startswith("return ...")


def as_note(cell, why):
    """A cell of text that shows what `cell` held, without its id, tags and outputs."""
    code = cell["cell_type"] == "code"
    shown = f"```python\n{cell['source']}\n```" if code else cell["source"]
    note = {"cell_type": "markdown", "id": uuid.uuid4().hex[:8], "metadata": {}, "source": why + shown}
    return note | ({"attachments": cell["attachments"]} if "attachments" in cell else {})


def is_answered(mine, base):
    """Has the learner written anything into this cell of the course? Without `base` it has to be an exercise."""
    if base is not None:
        return mine["source"].strip() != base["source"].strip()
    return exercise(mine) is not None and not is_stub(mine)


def carried(mine, base, new):
    """(the cell, True if it is a note to be put below the course's) for a cell that the learner changed."""
    if new is None:
        return as_note(mine, GONE), True
    same_text = base is not None and base["source"] == new["source"]
    before = base or mine
    kept = mine | {"metadata": new["metadata"]} | ({"id": new["id"]} if "id" in new else {})
    if same_text or mine["source"].strip() == new["source"].strip():
        return kept, False
    if exercise(new) and (asked(before) in (False, asked(new)) or asked(mine) == asked(new)):
        return kept, False
    return as_note(mine, NOTE), True


def carry(mine, new, base=None):
    """(the notebook `new` with what is the learner's in it, report). Nothing is changed in place.

    `base` is the version that the learner began with; without it, only exercises and cells that the course does not
    have are carried. The report counts "answers", "edits", "cells" and lists what "changed" under the learner's hands.
    """
    report = {"answers": 0, "edits": 0, "cells": 0, "changed": []}
    old = base["cells"] if base else [None] * len(mine["cells"])
    bases = found_again(mine["cells"], old) if base else old
    known = [one for one in bases if one] if base else mine["cells"]
    news = iter(found_again(known, new["cells"]))
    replaced, below, above = {}, {}, None
    for cell, was in zip(mine["cells"], bases):
        now = next(news) if was or not base else None
        if was is None and now is None:
            if cell["source"].strip() or cell.get("attachments"):
                report["cells"] += 1
                below.setdefault(above, []).append(_untagged(cell))
        elif is_answered(cell, was):
            kept, is_note = carried(cell, was, now)
            name = exercise(cell) or exercise(now) or (cell["source"].strip().splitlines() or ["an empty cell"])[0]
            if is_note and cell["source"].strip():
                report["changed"].append(name)
                below.setdefault(id(now) if now else above, []).append(kept)
            elif not is_note:
                report["answers" if exercise(now) else "edits"] += 1
                replaced[id(now)] = kept
        above = id(now) if now else above
    cells = list(below.get(None, []))
    for cell in new["cells"]:
        cells += [replaced.get(id(cell), cell), *below.get(id(cell), [])]
    return _whole(new | {"cells": copy.deepcopy(cells)}), report


def _untagged(cell):
    """A learner's own cell: a copy of an exercise is no second exercise."""
    tags = [tag for tag in cell["metadata"].get("tags", []) if not tag.startswith("exercise:")]
    return cell | {"metadata": cell["metadata"] | ({"tags": tags} if "tags" in cell["metadata"] else {})}


def _whole(notebook):
    """Each id once, and one for each cell, as format 4.5 wants it."""
    seen = set()
    for cell in notebook["cells"]:
        name = identity(cell)
        cell["id"] = uuid.uuid4().hex[:8] if not name or name in seen else name
        seen.add(cell["id"])
    return notebook
