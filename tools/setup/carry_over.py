"""A learner's answers and own cells in a new version of a notebook; `make update` calls this for each notebook.

An answer takes the place of the exercise's new cell, with its outputs, where the exercise still asks for the same
function or class. A cell of the learner's stays below the cell that it stood under. All else is the course's: what the
learner changed in other cells, and answers to what is gone or asks for something else, are listed for the update, which
has put the notebook aside as it was. Right answers are kept besides, in my_answers (learner/kept_answers.py).

A cell is found again by its id, which it keeps for life, or by its tag `exercise:name`, or by its text. What is the
learner's is known from the version that the learner began with. Standard library only.
"""

import ast
import copy
import json
import uuid


def read(text):
    """The notebook in the text or bytes of a file. Raises ValueError for what is no notebook of format 4."""
    try:
        notebook = json.loads(text)
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
            cell["metadata"] = cell["metadata"] if isinstance(cell["metadata"], dict) and cell["cell_type"] else {}
            if "tags" in cell["metadata"]:  # some tools write null, or numbers among them
                tags = cell["metadata"]["tags"]
                tags = tags if isinstance(tags, list) else [tags]
                cell["metadata"]["tags"] = [tag for tag in tags if isinstance(tag, str)]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("is not a notebook of format 4") from None
    return notebook


def text(notebook):
    """The notebook as Jupyter writes it."""
    cells = [cell | {"source": cell["source"].splitlines(keepends=True)} for cell in notebook["cells"]]
    return json.dumps(notebook | {"cells": cells}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def exercise(cell):
    """The name in the tag `exercise:name`, or None."""
    tags = cell.get("metadata", {}).get("tags", [])
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


def asked(cell):
    """What an exercise cell asks for, or an answer gives: a function's name and arguments, or a class's name, bases and
    methods; None if it holds neither, or cannot be read."""
    try:
        defined = (node for node in ast.parse(cell["source"]).body if isinstance(node, ast.FunctionDef | ast.ClassDef))
        node = next(node for node in defined if node.name == exercise(cell))
        if isinstance(node, ast.FunctionDef):
            return node.name, ast.dump(node.args)
        methods = {one.name: ast.dump(one.args) for one in node.body if isinstance(one, ast.FunctionDef)}
        return node.name, [*map(ast.dump, node.bases)], methods
    except (StopIteration, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def carry(mine, new, base):
    """(the notebook `new` with what is the learner's in it, report). Nothing is changed in place.

    `base` is the version that the learner began with. The report counts "answers" and own "cells", and "left" lists
    what the learner changed besides: by the name of its exercise, or by its first line.
    """
    report = {"answers": 0, "cells": 0, "left": []}
    bases = found_again(mine["cells"], base["cells"])
    news = found_again([was for was in bases if was], new["cells"])
    # What is in `new` word for word came from there, by an update that was cut short.
    added = {content(cell) for cell in new["cells"] if not any(cell is now for now in news)}
    taken, later = {identity(cell) for cell in new["cells"]}, iter(news)
    answers, below, above = {}, {}, None
    for cell, was in zip(mine["cells"], bases):
        now = next(later) if was else None
        if was is None and content(cell) and content(cell) not in added:
            report["cells"] += 1
            below.setdefault(above, []).append(_own(cell, taken))
        elif was and content(cell) not in (None, content(was), now and content(now)):
            form = now and asked(now)
            if form and form in (asked(was), asked(cell)):
                report["answers"] += 1
                answers[id(now)] = cell | {"metadata": now["metadata"], "id": now["id"]}
            else:
                report["left"].append(exercise(cell) or cell["source"].strip().splitlines()[0][:50])
        above = id(now) if now else above
    cells = below.get(None, [])
    for cell in new["cells"]:
        cells += [answers.get(id(cell), cell), *below.get(id(cell), [])]
    return copy.deepcopy(new | {"cells": cells}), report


def _own(cell, taken):
    """A learner's own cell: a copy of an exercise is no second exercise, and the course's ids are the course's."""
    data, name = cell["metadata"], identity(cell)
    if not name or name in taken:
        name = uuid.uuid4().hex[:8]
    taken.add(name)
    if exercise(cell):
        data = data | {"tags": [tag for tag in data["tags"] if not tag.startswith("exercise:")]}
    return cell | {"id": name, "metadata": data}
