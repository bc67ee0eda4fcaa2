"""tools/setup/update_course.py and carry_over.py: a learner's work comes through an update, and none of it is lost.

The clones are small repositories on this machine; the notebooks of the course itself are carried over once, all.
"""

import ast
import copy
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from course_repo import git

import carry_over
import update_course

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.lane("test")
STUB = 'def {}({}):\n    """Returns (k,)."""\n    return ...\n\ncheck({})'


def code(name, source, tags=()):
    return {
        "cell_type": "code",
        "id": name,
        "metadata": {"tags": [*tags]} if tags else {},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }


def prose(name, source):
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}


def task(name, arguments="scores", body=None):
    source = STUB.format(name, arguments, name)
    return code(f"id-{name}", source.replace("return ...", body) if body else source, [f"exercise:{name}"])


def notebook(*cells):
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def sources(book):
    return [cell["source"] for cell in book["cells"]]


HEAD, SETUP = prose("head", "# 02"), code("setup", "import math", ["setup"])
BASE = notebook(HEAD, SETUP, task("softmax"), prose("look", "**Look.**"), task("attend", "query, keys"))
ANSWER = task("softmax", body="return scores.exp() / scores.exp().sum()")

MINE = notebook(HEAD, SETUP, ANSWER, prose("x", "Mine."), *BASE["cells"][3:])
NEW = notebook(prose("head", "# 02, better"), *BASE["cells"][1:], prose("end", "End."))
BOTH = [prose("head", "# 02, better"), SETUP, ANSWER, prose("x", "Mine."), *BASE["cells"][3:], prose("end", "End.")]


# One notebook


def test_an_answer_takes_the_place_of_the_new_stub_with_its_output():
    mine = notebook(HEAD, SETUP, ANSWER | {"outputs": ["✔"]}, *BASE["cells"][3:])
    new = notebook(prose("head", "# 02, better"), SETUP, prose("more", "More."), task("softmax") | {"id": "new-id"})
    new["cells"][3]["metadata"]["tags"].append("hard")
    out, report = carry_over.carry(mine, new, BASE)
    assert sources(out) == ["# 02, better", "import math", "More.", ANSWER["source"]]
    assert out["cells"][3]["outputs"] == ["✔"] and out["cells"][3]["id"] == "new-id"
    assert out["cells"][3]["metadata"]["tags"] == ["exercise:softmax", "hard"]
    assert report == {"answers": 1, "edits": 0, "cells": 0, "changed": [], "gone": []}


def test_own_cells_stay_below_the_cell_that_they_stood_under():
    own = [prose("a", "My first"), code("b", "x = 1"), prose("c", "My last")]
    mine = notebook(own[0], HEAD, SETUP, task("softmax"), own[1], *BASE["cells"][3:], own[2], prose("d", "  "))
    new = notebook(HEAD, prose("more", "More."), *BASE["cells"][1:])
    out, report = carry_over.carry(mine, new, BASE)
    assert sources(out) == [
        *("My first", "# 02", "More.", "import math", task("softmax")["source"], "x = 1"),
        *("**Look.**", task("attend", "query, keys")["source"], "My last"),
    ]
    assert report["cells"] == 3 and report["changed"] == []


def test_what_both_changed_is_the_course_s_with_a_note_below():
    mine = notebook(HEAD, code("setup", "import math, os"), *BASE["cells"][2:3], prose("look", "Look, my way."))
    new = notebook(HEAD, code("setup", "import sys"), *BASE["cells"][2:3], prose("look", "Look, better."))
    out, report = carry_over.carry(mine, new, BASE)
    assert sources(out)[:2] == ["# 02", "import sys"] and sources(out)[4] == "Look, better."
    notes = [out["cells"][2], out["cells"][5]]
    assert [note["cell_type"] for note in notes] == ["markdown"] * 2
    assert notes[0]["source"] == carry_over.NOTE + "```python\nimport math, os\n```"
    assert notes[1]["source"] == carry_over.NOTE + "Look, my way."
    assert report["changed"] == ["import math, os", "Look, my way."]


def test_what_the_learner_alone_changed_stays():
    mine = notebook(HEAD, code("setup", "import math, os"), *BASE["cells"][2:])
    out, report = carry_over.carry(mine, BASE | {"cells": [*BASE["cells"], prose("end", "End.")]}, BASE)
    assert sources(out)[1] == "import math, os" and sources(out)[-1] == "End." and report["edits"] == 1


def test_an_exercise_that_asks_for_something_else_keeps_its_new_stub():
    mine = notebook(*BASE["cells"][:4], task("attend", "query, keys", body="return keys @ query"))
    new = notebook(*BASE["cells"][:4], task("attend", "query, keys, mask"))
    out, report = carry_over.carry(mine, new, BASE)
    assert out["cells"][4]["source"] == task("attend", "query, keys, mask")["source"]
    assert "return keys @ query" in out["cells"][5]["source"] and out["cells"][5]["cell_type"] == "markdown"
    assert report["changed"] == ["attend"] and report["answers"] == 0
    mine["cells"][4] = task("attend", "query, keys, mask", body="return mask")  # typed ahead of the update
    assert carry_over.carry(mine, new, BASE)[0]["cells"][4]["source"] == mine["cells"][4]["source"]


def test_a_better_docstring_or_code_to_be_mended_does_not_cost_an_answer():
    for old, given in (("Returns", "Gives"), ("return ...", "return scores.sum()")):
        new = notebook(HEAD, SETUP, task("softmax") | {"source": task("softmax")["source"].replace(old, given)})
        assert sources(carry_over.carry(notebook(HEAD, SETUP, ANSWER), new, BASE)[0])[2] == ANSWER["source"]
        untouched = carry_over.carry(BASE, new, BASE)
        assert sources(untouched[0]) == sources(new) and untouched[1]["answers"] == 0


def test_an_exercise_that_is_gone_leaves_a_note():
    out, report = carry_over.carry(notebook(HEAD, SETUP, ANSWER, BASE["cells"][3]), notebook(HEAD, SETUP), BASE)
    assert len(out["cells"]) == 3 and out["cells"][2]["source"].startswith(carry_over.GONE + "```python\ndef softmax")
    assert report["gone"] == ["softmax"] and report["changed"] == []


def test_an_exercise_with_another_name_leaves_the_answer_to_the_old_one_as_a_note():
    """Whether its cell kept its id or not."""
    for name in ("id-softmax", "new-id"):
        renamed = task("stable_softmax") | {"id": name}
        out, report = carry_over.carry(notebook(HEAD, SETUP, ANSWER), notebook(HEAD, SETUP, renamed), BASE)
        assert [*map(carry_over.exercise, out["cells"])].count("stable_softmax") == 1
        (note,) = [cell for cell in out["cells"] if "return scores.exp()" in cell["source"]]
        assert note["cell_type"] == "markdown" and renamed["source"] in sources(out)
        assert report["changed"] + report["gone"] == ["softmax"] and report["answers"] == 0


def test_an_answer_is_found_by_its_exercise_where_another_cell_has_its_id_now():
    """As where the notebook shows the old solution and asks for it again further down."""
    shown = code("id-softmax", "def shown(scores):\n    return scores", ["defines"])
    new = notebook(HEAD, SETUP, shown, task("softmax") | {"id": "new-id"})
    out, report = carry_over.carry(notebook(HEAD, SETUP, ANSWER), new, BASE)
    assert sources(out)[2:] == [shown["source"], ANSWER["source"]] and report["answers"] == 1


CLASS = """class {0}(Module):
    def __init__(self, d):
        ...

    def forward(self, x):
        return ...

check({0})"""
FORMS = {
    "function": task("attend", "query, keys")["source"],
    "function of more": task("attend", "query, keys, mask")["source"],
    "class": CLASS.format("attend"),
    "class that is made otherwise": CLASS.format("attend").replace("self, d", "self, d, heads"),
    "class with another method": CLASS.format("attend").replace("forward", "backward"),
    "class on another base": CLASS.format("attend").replace("Module", "Layer"),
}


@pytest.mark.parametrize("new", FORMS)
@pytest.mark.parametrize("old", FORMS)
@pytest.mark.parametrize("answer", ["return 'mine'", "return 'mine"])
def test_an_answer_takes_the_place_of_a_stub_of_its_own_form_only(old, new, answer):
    """A function, a class; an answer that Python cannot read included."""
    cells = {name: code("id-attend", source, ["exercise:attend"]) for name, source in FORMS.items()}
    mine = cells[old] | {"source": cells[old]["source"].replace("return ...", answer)}
    new_cell = cells[new] | {"source": cells[new]["source"] + "\n# new"}
    out, report = carry_over.carry(notebook(mine), notebook(new_cell), notebook(cells[old]))
    if old == new:
        assert sources(out) == [mine["source"]] and report["answers"] == 1 and report["changed"] == []
    else:
        assert sources(out)[0] == new_cell["source"] and mine["source"] in out["cells"][1]["source"]
        assert out["cells"][1]["cell_type"] == "markdown" and report["changed"] == ["attend"]


def test_a_class_that_was_typed_ahead_of_the_update_stays():
    mine, new = FORMS["class"].replace("return ...", "return x"), FORMS["class"]
    cells = [code("id-attend", source, ["exercise:attend"]) for source in (mine, new, FORMS["function"])]
    assert sources(carry_over.carry(*map(notebook, cells))[0]) == [mine]


def test_a_note_shows_code_with_backticks_in_it_whole():
    """A fence of three would end at the first three of the learner's."""
    mine = ANSWER["source"].replace("Returns", "As in\n    ```\n    ````\n    x")
    out, _ = carry_over.carry(notebook(HEAD, SETUP, ANSWER | {"source": mine}), notebook(HEAD, SETUP), BASE)
    assert out["cells"][2]["source"] == f"{carry_over.GONE}`````python\n{mine}\n`````"


def test_an_answer_that_python_cannot_read_is_carried_too():
    broken = task("softmax", body="return scores.exp( /")
    mine = notebook(HEAD, SETUP, broken)
    new = notebook(HEAD, SETUP, prose("more", "More."), task("softmax"))
    assert broken["source"] in sources(carry_over.carry(mine, new, BASE)[0])


def test_a_copy_of_an_exercise_is_the_learner_s_own_cell():
    copied = task("softmax", body="return scores") | {"id": "copied"}
    out, report = carry_over.carry(notebook(HEAD, SETUP, ANSWER, copied), notebook(HEAD, SETUP, task("softmax")), BASE)
    assert sources(out)[2:] == [ANSWER["source"], copied["source"]] and report["answers"] == report["cells"] == 1
    assert [carry_over.exercise(cell) for cell in out["cells"][2:]] == ["softmax", None]


def test_cells_without_ids_are_found_by_tag_and_text():
    """Colab keeps a cell's id in its metadata, and other tools none."""
    own = prose("x", "Mine.")
    mine = copy.deepcopy(notebook(HEAD, SETUP, ANSWER, own, BASE["cells"][3]))
    for number, cell in enumerate(mine["cells"]):
        name = cell.pop("id")
        if number == 1:
            cell["metadata"]["id"] = name
    out, report = carry_over.carry(mine, notebook(*BASE["cells"], prose("end", "End.")), BASE)
    assert sources(out)[2:5] == [ANSWER["source"], "Mine.", "**Look.**"] and report["answers"] == report["cells"] == 1
    assert len({cell["id"] for cell in out["cells"]}) == len(out["cells"])


def test_what_is_there_already_is_not_doubled():
    """An update that was cut short left the merged notebook, and the next one begins with it."""
    own = code("own", "x = 1")
    new = notebook(*NEW["cells"], prose("look2", "Look again."))
    merged = carry_over.carry(notebook(*BASE["cells"], own), new, BASE)[0]
    assert sources(carry_over.carry(merged, new, BASE)[0]) == sources(merged)


def test_of_two_cells_with_one_id_the_course_s_is_the_one_with_its_text():
    mine = notebook(HEAD, prose("look", "Mine."), *BASE["cells"][1:])
    out, report = carry_over.carry(mine, NEW, BASE)
    assert sources(out) == ["# 02, better", "Mine.", *sources(NEW)[1:]] and report["changed"] == []
    assert [cell["id"] for cell in out["cells"] if cell["source"] != "Mine."] == [cell["id"] for cell in NEW["cells"]]


@pytest.mark.parametrize(
    "cell", [{"tags": None}, {"tags": [3, "exercise:softmax"]}, {"tags": "exercise:softmax"}, None]
)
def test_odd_metadata_costs_no_answer(cell):
    mine = json.dumps(notebook(HEAD, SETUP, ANSWER | {"metadata": cell}))
    out, report = carry_over.carry(carry_over.read(mine.encode()), NEW, BASE)
    assert sources(out)[2] == ANSWER["source"] and report["answers"] == 1


def test_an_expression_that_is_too_deep_for_python_is_carried():
    deep = task("softmax", body="return " + "-" * 20000 + "1")
    assert deep["source"] in sources(carry_over.carry(notebook(HEAD, SETUP, deep), NEW, BASE)[0])


def test_every_answer_of_the_course_comes_through(tmp_path):
    """Each notebook with all its exercises answered, and a cell of one's own below every cell."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        assert carry_over.text(carry_over.read(text)) == text, f"{path.name} is written as Jupyter writes it"
        base, mine, answers = carry_over.read(text), carry_over.read(text), []
        for number, cell in reversed(list(enumerate(mine["cells"]))):
            if carry_over.exercise(cell):
                cell["source"] = cell["source"].replace("return ...", "return 'mine'") + "\n# mine"
                answers.append(cell["source"])
            mine["cells"].insert(number + 1, prose(f"own-{number}", f"Mine, {number}."))
        new = carry_over.read(text.replace("**Look.**", "**See.**"))
        out, report = carry_over.carry(mine, new, base)
        assert len(answers) == report["answers"] >= 3 and report["changed"] == []
        assert set(answers) <= set(sources(out))
        assert len(out["cells"]) == 2 * len(new["cells"]) == 2 * report["cells"]
        assert all(cell["source"].startswith("Mine, ") for cell in out["cells"][1::2])
        file = tmp_path / path.name
        file.write_text(carry_over.text(out), encoding="utf-8")
        nbformat.validate(nbformat.read(file, as_version=4))


@pytest.mark.parametrize(
    "text", ["", "[]", '{"cells": 1}', '{"cells": [{"source": "x"}]}', "<<<<<<< HEAD", "[" * 99999]
)
def test_what_is_no_notebook_is_refused(text):
    with pytest.raises(ValueError, match="is not a notebook"):
        carry_over.read(text)


# A clone


class Clone:
    """A course at `there`, and a learner's clone of it at `here`."""

    def __init__(self, folder):
        self.there, self.here = folder / "there", folder / "here"
        self.there.mkdir()
        git("init", "--quiet", "--initial-branch=main", folder=self.there)
        self.publish(
            {"notebooks/02.ipynb": BASE, "notes.txt": "one\n", "utils/a.py": "a = 1\n", ".gitignore": "/b*\n/my*\n"}
        )
        git("clone", "--quiet", str(self.there), str(self.here), folder=folder)
        git("config", "user.name", "learner", folder=self.here)
        git("config", "user.email", "learner@localhost", folder=self.here)

    def write(self, where, files):
        for name, content in files.items():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            text = content if isinstance(content, str) else carry_over.text(content)
            (where / name).write_text(text, encoding="utf-8")

    def publish(self, files, gone=()):
        self.write(self.there, files)
        for name in gone:
            (self.there / name).unlink()
        git("add", "--all", folder=self.there)
        git("commit", "--quiet", "--message", "A version", folder=self.there)

    def edit(self, files):
        self.write(self.here, files)

    def notebook(self, name="notebooks/02.ipynb"):
        return carry_over.read((self.here / name).read_text(encoding="utf-8"))

    def aside(self):
        return sorted(self.here.glob("before-update-*"))

    def status(self):
        return git("status", "--porcelain", folder=self.here)

    def head(self, where=None):
        return git("rev-parse", "HEAD", folder=where or self.here)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    monkeypatch.setattr(update_course, "COURSE", tmp_path / "here")
    return Clone(tmp_path)


def test_an_edited_notebook_and_the_new_version_come_together(clone, capsys):
    clone.edit({"notebooks/02.ipynb": MINE})
    clone.publish({"notebooks/02.ipynb": NEW, "notebooks/03.ipynb": BASE, "notes.txt": "two\n"}, gone=["utils/a.py"])
    assert update_course.main() == 0
    assert sources(clone.notebook()) == [cell["source"] for cell in BOTH]
    assert clone.head() == clone.head(clone.there) and (clone.here / "notes.txt").read_text() == "two\n"
    assert (clone.here / "notebooks/03.ipynb").is_file() and not (clone.here / "utils/a.py").exists()
    assert clone.status() == " M notebooks/02.ipynb\n"
    (aside,) = clone.aside()
    assert carry_over.read((aside / "notebooks/02.ipynb").read_text()) == MINE
    said = capsys.readouterr().out
    assert "notebooks/02.ipynb: 1 answer, 1 cell of your own carried over\n" in said and aside.name in said
    assert update_course.main() == 0 and "newest version" in capsys.readouterr().out and len(clone.aside()) == 1


def test_the_same_by_pulling_stops_or_leaves_a_file_that_does_not_open(clone):
    """What the update is for; where git learns better, it may go."""
    clone.edit({"notebooks/02.ipynb": MINE})
    clone.publish({"notebooks/02.ipynb": notebook(HEAD, SETUP, task("softmax", body="raise ValueError"))})
    git("commit", "--quiet", "--all", "--message", "My work", folder=clone.here)
    with pytest.raises(Exception, match="git"):
        git("pull", "--quiet", "--no-rebase", folder=clone.here)
    with pytest.raises(ValueError):
        clone.notebook()
    assert update_course.main() == 1 and not clone.aside()


def test_work_that_was_committed_is_merged_and_stays_in_the_history(clone):
    clone.edit({"notebooks/02.ipynb": MINE, "mine.txt": "mine\n"})
    git("add", "--all", folder=clone.here)
    git("commit", "--quiet", "--message", "My work", folder=clone.here)
    before = clone.head()
    clone.publish({"notebooks/02.ipynb": NEW})
    assert update_course.main() == 0
    assert sources(clone.notebook()) == [cell["source"] for cell in BOTH] and clone.status() == ""
    assert (clone.here / "mine.txt").read_text() == "mine\n"
    assert git("log", "-1", "--format=%P", folder=clone.here).split() == [
        before.strip(),
        clone.head(clone.there).strip(),
    ]
    clone.publish({"notes.txt": "three\n"})
    assert update_course.main() == 0 and (clone.here / "notes.txt").read_text() == "three\n"
    assert sources(clone.notebook()) == [cell["source"] for cell in BOTH]


def test_half_of_the_work_committed_is_left_alone(clone, capsys):
    clone.edit({"notebooks/02.ipynb": MINE})
    git("commit", "--quiet", "--all", "--message", "My work", folder=clone.here)
    clone.edit({"notes.txt": "mine\n"})
    clone.publish({"notebooks/02.ipynb": NEW})
    before = clone.head()
    assert update_course.main() == 1 and "commit them all" in capsys.readouterr().err
    assert clone.head() == before and clone.notebook() == MINE and not clone.aside()


def test_nothing_of_any_file_is_lost(clone, capsys):
    mine = {"notes.txt": "mine\n", "utils/a.py": "a = 2\n", "new.txt": "mine, too\n", "notebooks/own.ipynb": BASE}
    clone.edit(mine | {"notebooks/02.ipynb": "<<<<<<< not a notebook"})
    (clone.here / "progress.json").write_text("{}")
    clone.edit({"my_answers/softmax.py": "def softmax"})
    clone.publish({"notebooks/02.ipynb": NEW, "notes.txt": "two\n", "new.txt": "new\n"})
    assert update_course.main() == 0
    (aside,) = clone.aside()
    assert (aside / "notebooks/02.ipynb").read_text() == "<<<<<<< not a notebook"
    assert (aside / "notes.txt").read_text() == "mine\n" and (aside / "new.txt").read_text() == "mine, too\n"
    assert clone.notebook() == NEW and clone.notebook("notebooks/own.ipynb") == BASE
    assert (clone.here / "notes.txt").read_text() == "two\n" and (clone.here / "new.txt").read_text() == "new\n"
    assert (clone.here / "utils/a.py").read_text() == "a = 2\n" and (clone.here / "progress.json").read_text() == "{}"
    assert (clone.here / "my_answers/softmax.py").read_text() == "def softmax" and "softmax.py" not in clone.status()
    said = capsys.readouterr().out
    assert "notes.txt: changed by you and by the course; now it is the course's" in said and "utils/a.py" not in said
    assert (
        "notebooks/02.ipynb: yours was not carried over (is not a notebook of format 4); now it is the course's" in said
    )


def test_a_notebook_that_the_course_gave_up_stays(clone, capsys):
    clone.edit({"notebooks/02.ipynb": MINE})
    clone.publish({}, gone=["notebooks/02.ipynb"])
    assert update_course.main() == 0 and clone.notebook() == MINE
    assert "no longer part of the course; yours stays" in capsys.readouterr().out


def test_a_failure_leaves_the_files_as_they_were(clone, monkeypatch, capsys):
    clone.edit({"notebooks/02.ipynb": MINE})
    clone.publish({"notebooks/02.ipynb": NEW})
    before = clone.head()
    with monkeypatch.context() as patched:
        full = OSError("No space left on device")
        patched.setattr(update_course.shutil, "copy2", lambda *_, **__: (_ for _ in ()).throw(full))
        assert update_course.main() == 1 and "No space left" in capsys.readouterr().err
    (clone.here / ".git/index.lock").touch()
    assert update_course.main() == 1
    said = capsys.readouterr().err
    assert "index.lock': File exists" in said and "as they were: before-update-" in said, "the words of git that help"
    (clone.here / ".git/index.lock").unlink()
    shutil.move(clone.there, clone.there.with_name("moved"))
    assert update_course.main() == 1 and "`git fetch --quiet` failed (fatal: " in capsys.readouterr().err
    assert clone.head() == before and clone.notebook() == MINE


def test_history_that_was_rewritten_is_told_what_to_do(clone, capsys):
    git("checkout", "--quiet", "--orphan", "other", folder=clone.there)
    clone.publish({"notes.txt": "anew\n"})
    git("branch", "--quiet", "--force", "main", folder=clone.there)
    assert update_course.main() == 1 and "clone it anew, and copy my_answers" in capsys.readouterr().err


# What stands in the way


def kept(clone):
    """{name: text} of all files that were copied aside."""
    files = (path for folder in clone.aside() for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(clone.here).as_posix().partition("/")[2]: path.read_text() for path in files}


def test_a_file_that_has_the_new_name_of_one_of_the_course_is_kept(clone):
    clone.edit({"c.py": "mine\n"})
    clone.publish({"utils/a.py": "a = 1\n", "c.py": "a = 1\n"}, gone=["utils/a.py"])
    assert update_course.main() == 0
    assert kept(clone) == {"c.py": "mine\n"} and (clone.here / "c.py").read_text() == "a = 1\n"


def test_files_and_folders_in_the_way_are_kept(clone, capsys):
    clone.edit({"extra": "mine\n", "more/mine.txt": "mine, too\n", "staged/mine.txt": "staged\n"})
    git("add", "staged", folder=clone.here)
    (clone.here / "notes.txt").unlink()
    clone.edit({"notes.txt/mine.txt": "in the place of a file\n"})
    clone.publish({"extra/a.py": "a\n", "more": "m\n", "staged": "s\n", "notes.txt": "two\n"})
    assert update_course.main() == 0
    assert kept(clone) == {
        "extra": "mine\n",
        "more/mine.txt": "mine, too\n",
        "staged/mine.txt": "staged\n",
        "notes.txt/mine.txt": "in the place of a file\n",
    }
    new = [(clone.here / name).read_text() for name in ("extra/a.py", "more", "staged", "notes.txt")]
    assert new == ["a\n", "m\n", "s\n", "two\n"] and clone.status() == ""
    assert "extra: stood in the way" in capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="links need a right on Windows")
def test_links_of_the_learner_s_stay_and_what_they_lead_to(clone, tmp_path):
    clone.write(tmp_path / "far", {"a.py": "far\n"})
    (clone.here / "mine").symlink_to(tmp_path / "far")
    git("add", "mine", folder=clone.here)
    shutil.rmtree(clone.here / "utils")
    (clone.here / "utils").symlink_to(tmp_path / "far")
    clone.publish({"utils/a.py": "a = 2\n", "notes.txt": "two\n"})
    assert update_course.main() == 0 and (clone.aside()[0] / "utils").is_symlink()
    assert (clone.here / "mine").is_symlink() and (tmp_path / "far/a.py").read_text() == "far\n"
    assert not (clone.here / "utils").is_symlink() and (clone.here / "utils/a.py").read_text() == "a = 2\n"
    assert clone.status() == "A  mine\n"


@pytest.mark.skipif(os.name == "nt", reason="modes and links as POSIX has them")
def test_own_commits_keep_modes_links_and_what_git_ignores(clone):
    clone.edit({"own.sh": "mine\n", "before.txt": "ignored\n"})  # .gitignore here names all that begins with b
    (clone.here / "own.sh").chmod(0o755)
    (clone.here / "link").symlink_to("own.sh")
    git("add", "--force", "--all", folder=clone.here)
    git("commit", "--quiet", "--message", "Mine", folder=clone.here)
    clone.publish({"notes.txt": "two\n"}, gone=["utils/a.py"])
    assert update_course.main() == 0 and clone.status() == ""
    files = "before.txt link own.sh".split()
    listed = git("ls-tree", "HEAD", *files, folder=clone.here).splitlines()
    assert [line.split()[0] for line in listed] == ["100644", "120000", "100755"]
    assert not (clone.here / "utils").exists(), "the course's folder that is empty now"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_file_that_git_was_told_to_overlook_is_merged(clone, flag):
    git("update-index", flag, "notebooks/02.ipynb", folder=clone.here)
    clone.edit({"notebooks/02.ipynb": MINE})
    clone.publish({"notebooks/02.ipynb": NEW})
    assert update_course.main() == 0 and sources(clone.notebook()) == [cell["source"] for cell in BOTH]
    assert clone.status() == " M notebooks/02.ipynb\n" and len(kept(clone)) == 1


# An update that does not come to its end


@pytest.mark.parametrize("last", ["read-tree", "write", "checkout-index"])
@pytest.mark.parametrize("committed", [True, False])
def test_an_update_that_is_cut_short_loses_nothing_and_the_next_one_ends_it(
    clone, monkeypatch, capsys, last, committed
):
    clone.edit({"notebooks/02.ipynb": MINE, "own.txt": "mine\n"})
    if committed:
        git("add", "--all", folder=clone.here)
        git("commit", "--quiet", "--message", "Mine", folder=clone.here)
    clone.publish({"notebooks/02.ipynb": NEW, "notes.txt": "two\n", "new.txt": "new\n"}, gone=["utils/a.py"])
    run, replace = update_course.git, update_course.os.replace

    def git_until(*arguments, **options):
        said = run(*arguments, **options)
        if arguments[0] == last and "index" not in options:
            raise KeyboardInterrupt
        return said

    def replace_and_stop(*paths):
        replace(*paths)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(update_course, "git", git_until)
        if last == "write":
            patched.setattr(update_course.os, "replace", replace_and_stop)
        assert update_course.main() == 1
        said = capsys.readouterr().err
        assert "stopped" in said and clone.aside()[0].name in said
        assert ANSWER["source"] in sources(clone.notebook()) and (clone.here / "own.txt").is_file()
    if update_course.main() == 1:
        assert committed and "commit them all" in capsys.readouterr().err
        git("commit", "--quiet", "--all", "--message", "As it said", folder=clone.here)
        assert update_course.main() == 0
    assert sources(clone.notebook()) == [cell["source"] for cell in BOTH]
    assert (clone.here / "notes.txt").read_text() == "two\n" and (clone.here / "new.txt").is_file()
    assert not (clone.here / "utils/a.py").exists() and (clone.here / "own.txt").read_text() == "mine\n"
    assert clone.status() == ("" if committed else " M notebooks/02.ipynb\n?? own.txt\n")


def test_what_is_saved_while_the_update_runs_is_not_written_over(clone, monkeypatch, capsys):
    clone.edit({"notebooks/02.ipynb": BASE | {"metadata": {"mine": 1}}})
    clone.publish({"notebooks/02.ipynb": NEW})
    run = update_course.merged
    with monkeypatch.context() as patched:  # JupyterLab saves once in two minutes
        patched.setattr(update_course, "merged", lambda *given: clone.edit({"notebooks/02.ipynb": MINE}) or run(*given))
        assert update_course.main() == 1 and "saved meanwhile" in capsys.readouterr().err
    assert clone.notebook() == MINE
    assert update_course.main() == 0 and sources(clone.notebook()) == [cell["source"] for cell in BOTH]


def test_own_commits_are_merged_where_git_knows_no_name(clone, monkeypatch):
    clone.edit({"notebooks/02.ipynb": MINE})
    git("commit", "--quiet", "--all", "--message", "Mine", folder=clone.here)
    for key in ("user.name", "user.email"):
        git("config", "--unset", key, folder=clone.here)
    git("config", "user.useConfigOnly", "true", folder=clone.here)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    clone.publish({"notebooks/02.ipynb": NEW})
    assert update_course.main() == 0 and clone.status() == ""
    assert git("log", "-1", "--format=%an", folder=clone.here) == "learner\n"


def test_a_clone_of_a_tag_is_updated_from_the_main_branch(clone, tmp_path, monkeypatch):
    """So the notebooks fetch the course where they are opened alone."""
    git("tag", "v0.1.0", folder=clone.there)
    alone = ["--quiet", "--depth", "1", "--branch", "v0.1.0", "--config", "advice.detachedHead=false"]
    git("clone", *alone, clone.there.as_uri(), str(tmp_path / "alone"), folder=tmp_path)
    clone.here = tmp_path / "alone"
    monkeypatch.setattr(update_course, "COURSE", clone.here)
    clone.edit({"notebooks/02.ipynb": MINE})
    clone.publish({"notebooks/02.ipynb": NEW})
    assert update_course.main() == 0 and sources(clone.notebook()) == [cell["source"] for cell in BOTH]
    assert clone.head() == clone.head(clone.there)


def test_one_odd_notebook_does_not_stop_the_rest(clone, monkeypatch, capsys):
    clone.publish({"notebooks/03.ipynb": BASE})
    git("pull", "--quiet", folder=clone.here)
    clone.edit(
        {"notebooks/02.ipynb": MINE, "notebooks/03.ipynb": notebook(HEAD, SETUP, ANSWER, prose(["odd"], "Mine."))}
    )
    clone.publish({"notebooks/02.ipynb": NEW, "notebooks/03.ipynb": NEW})
    assert update_course.main() == 0 and sources(clone.notebook()) == [cell["source"] for cell in BOTH]
    assert "03.ipynb: yours was not carried over (unhashable" in capsys.readouterr().out
    assert "exp" in kept(clone)["notebooks/03.ipynb"]


def test_a_notebook_with_a_new_name_gets_the_answers(clone, capsys):
    clone.edit({"notebooks/02.ipynb": MINE})
    other = notebook(prose("x1", "Other."), task("softmax"))
    clone.publish({"notebooks/03_scores.ipynb": NEW, "notebooks/01.ipynb": other}, gone=["notebooks/02.ipynb"])
    assert update_course.main() == 0
    assert sources(clone.notebook("notebooks/03_scores.ipynb")) == [cell["source"] for cell in BOTH]
    assert clone.notebook() == MINE and sources(clone.notebook("notebooks/01.ipynb")) == sources(other)
    assert capsys.readouterr().out.splitlines()[:2] == [
        "notebooks/02.ipynb: its new name is notebooks/03_scores.ipynb; yours stays, too",
        "notebooks/03_scores.ipynb: 1 answer, 1 cell of your own carried over",
    ]


def test_a_notebook_with_another_number_and_nothing_else_is_named(clone, capsys):
    clone.edit({"notebooks/02.ipynb": MINE})
    clone.publish({"notebooks/03.ipynb": BASE}, gone=["notebooks/02.ipynb"])
    assert update_course.main() == 0 and clone.notebook("notebooks/03.ipynb") == clone.notebook() == MINE
    said = capsys.readouterr().out
    assert said.startswith("notebooks/02.ipynb: its new name is notebooks/03.ipynb; yours stays, too\nYour files")


def test_a_notebook_with_a_new_name_keeps_the_answers_where_the_update_was_cut_short(clone, monkeypatch):
    clone.edit({"notebooks/02.ipynb": MINE})
    clone.publish({"notebooks/03_scores.ipynb": NEW, "notes.txt": "two\n"}, gone=["notebooks/02.ipynb"])
    run = update_course.git

    def until_the_last_files(*arguments, **options):
        if arguments[0] == "checkout-index":
            raise KeyboardInterrupt
        return run(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(update_course, "git", until_the_last_files)
        assert update_course.main() == 1
    assert update_course.main() == 0 and (clone.here / "notes.txt").read_text() == "two\n"
    assert sources(clone.notebook("notebooks/03_scores.ipynb")) == [cell["source"] for cell in BOTH]


def other(topic):
    """A notebook that has next to nothing in common with another one."""
    return notebook(prose(topic, f"# {topic}"), *(prose(f"{topic}{n}", f"{topic} {n * n}.") for n in range(60)))


def test_a_notebook_with_another_number_is_known_by_its_topic_however_much_changed(clone, capsys):
    """Git pairs files that look alike: it would give the answers to another notebook, or to none."""
    clone.publish({"notebooks/02_scores.ipynb": BASE}, gone=["notebooks/02.ipynb"])
    git("pull", "--quiet", folder=clone.here)
    clone.edit({"notebooks/02_scores.ipynb": MINE})
    new = notebook(*other("scores")["cells"], *BASE["cells"])
    alike = notebook(*BASE["cells"][:2], prose("x1", "Alike."), *BASE["cells"][3:])
    clone.publish({"notebooks/03_scores.ipynb": new, "notebooks/04_alike.ipynb": alike}, ["notebooks/02_scores.ipynb"])
    assert update_course.main() == 0
    assert ANSWER["source"] in sources(clone.notebook("notebooks/03_scores.ipynb"))
    assert clone.notebook("notebooks/02_scores.ipynb") == MINE
    assert sources(clone.notebook("notebooks/04_alike.ipynb")) == sources(alike)
    assert "03_scores.ipynb: 1 answer, 1 cell of your own carried over\n" in capsys.readouterr().out


def test_a_new_edition_costs_nothing_and_says_in_a_line_what_became_of_each_answer(clone, capsys):
    """One exercise is gone, one has another name, one asks for more, one for a class, and one is the same."""
    names = ("stays", "goes", "is_renamed", "asks_more", "becomes_a_class")
    base = notebook(HEAD, SETUP, *map(task, names))
    mine = notebook(HEAD, SETUP, *(task(name, body=f"return '{name}'") for name in names), code("own", "goes(1)"))
    new = notebook(HEAD, SETUP, task("stays"), task("renamed") | {"id": "id-is_renamed"}, task("asks_more", "a, b"))
    new["cells"].append(code("id-becomes_a_class", CLASS.format("becomes_a_class"), ["exercise:becomes_a_class"]))
    clone.publish({"notebooks/04_forms.ipynb": base})
    git("pull", "--quiet", folder=clone.here)
    kept_answers = {f"my_answers/{name}.py": f"def {name}" for name in names}
    clone.edit({"notebooks/04_forms.ipynb": mine, "progress.json": "{}"} | kept_answers)
    clone.publish({"notebooks/05_forms.ipynb": new}, gone=["notebooks/04_forms.ipynb"])
    assert update_course.main() == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "notebooks/04_forms.ipynb: its new name is notebooks/05_forms.ipynb; yours stays, too",
        "notebooks/05_forms.ipynb: 1 answer, 1 cell of your own carried over; changed since, so that yours stands "
        "below as a note: is_renamed, asks_more, becomes_a_class; no longer there, so that yours stands as a note in "
        "its place: goes",
    ]
    out = clone.notebook("notebooks/05_forms.ipynb")
    text = "\n".join(sources(out))
    assert all(text.count(f"return '{name}'") == 1 for name in names) and all(
        one in sources(out) for one in sources(new)[3:]
    )
    tagged = [cell["source"] for cell in out["cells"] if carry_over.exercise(cell)]
    assert tagged == [task("stays", body="return 'stays'")["source"], *sources(new)[3:]]
    assert sources(out)[-1] == "goes(1)" and clone.notebook("notebooks/04_forms.ipynb") == mine
    assert json.loads(kept(clone)["notebooks/04_forms.ipynb"]) == json.loads(carry_over.text(mine))
    assert all((clone.here / name).read_text() == content for name, content in kept_answers.items())
    nbformat.validate(nbformat.reads(carry_over.text(out), as_version=4))


def test_an_old_clone_can_take_the_new_tool_first(clone, capsys):
    """As docs/places.md says: an update is made by the tool that is there."""
    clone.publish({"tools/setup/carry_over.py": "old\n", "notebooks/02_scores.ipynb": BASE}, ["notebooks/02.ipynb"])
    git("pull", "--quiet", folder=clone.here)
    clone.edit({"notebooks/02_scores.ipynb": MINE})
    clone.publish(
        {"tools/setup/carry_over.py": "new\n", "notebooks/03_scores.ipynb": NEW}, gone=["notebooks/02_scores.ipynb"]
    )
    git("fetch", "--quiet", folder=clone.here)
    git("checkout", "--quiet", "origin/main", "--", "tools/setup", folder=clone.here)
    assert update_course.main() == 0 and "tools/setup" not in capsys.readouterr().out
    assert sources(clone.notebook("notebooks/03_scores.ipynb")) == [cell["source"] for cell in BOTH]
    assert (clone.here / "tools/setup/carry_over.py").read_text() == "new\n" and "tools/" not in clone.status()


def test_a_notebook_of_the_learner_s_that_has_the_name_of_a_new_one_is_kept_aside(clone, capsys):
    clone.edit({"notebooks/03.ipynb": MINE})
    clone.publish({"notebooks/03.ipynb": NEW})
    assert update_course.main() == 0 and clone.notebook("notebooks/03.ipynb") == NEW
    assert json.loads(kept(clone)["notebooks/03.ipynb"]) == json.loads(carry_over.text(MINE))
    assert "03.ipynb: changed by you and by the course; now it is the course's" in capsys.readouterr().out


# No clone


def test_a_folder_that_is_no_clone_is_told_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(update_course, "COURSE", tmp_path)
    assert update_course.main() == 1
    said = capsys.readouterr().err
    assert "beside this one, and copy my_answers and progress.json from this folder into it" in said


@pytest.mark.skipif(os.name == "nt", reason="needs make")
def test_make_update_works_in_a_folder_with_blanks_in_its_name(clone, tmp_path):
    tools = ("Makefile", "tools/setup/update_course.py", "tools/setup/carry_over.py")
    clone.publish({name: (ROOT / name).read_text() for name in tools})
    git("pull", "--quiet", folder=clone.here)
    here = clone.here.rename(tmp_path / "my course")
    clone.write(here, {"notebooks/02.ipynb": MINE})
    clone.publish({"notebooks/02.ipynb": NEW})
    make = ["make", "--no-print-directory", "update", f"PYTHON={sys.executable}"]
    done = subprocess.run(make, cwd=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("notebooks/02.ipynb: 1 answer, 1 cell of your own carried over\n")


def test_the_tools_need_nothing_that_is_installed(tmp_path):
    """An update may come before, or instead of, an installation."""
    for path in (Path(carry_over.__file__), Path(update_course.__file__)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            named += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert all(name in sys.stdlib_module_names or name == "carry_over" for name in named), named
    assert json.loads(carry_over.text(BASE))["cells"]
