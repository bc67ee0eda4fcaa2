"""tools/setup/update_course.py and carry_over.py: a learner's work comes through an update, and none of it is lost.

The clones are small repositories on this machine; the notebooks of the course itself are carried over once, all.
"""

import json
import os
import re
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
    new = task("softmax") | {"id": "new-id", "metadata": {"tags": ["exercise:softmax", "hard"]}}
    out, report = carry_over.carry(notebook(HEAD, ANSWER | {"outputs": ["✔"]}), notebook(HEAD, new), BASE)
    assert out["cells"] == [HEAD, ANSWER | new | {"source": ANSWER["source"], "outputs": ["✔"]}]
    assert report == {"answers": 1, "cells": 0, "left": []}


LOOK = BASE["cells"][3]
MORE, OWN = prose("more", "More."), code("own", "x = 1")
RENAMED = task("stable_softmax")
SHOWN = code("id-softmax", "def shown(scores):\n    return scores", ["defines"])
COPIED = task("softmax", body="return scores") | {"id": "copied"}
OTHER_WORDS = task("softmax") | {"source": task("softmax")["source"].replace("Returns", "Gives")}
TO_FIX = task("softmax", body="return scores.sum()")
MINE_OF_BASE = [prose("a", "First"), HEAD, SETUP | {"id": "b"}, SETUP, OWN, LOOK, prose("c", "Last"), prose("d", " ")]


def bare(cell):
    return {key: value for key, value in cell.items() if key != "id"}


# What the learner has, what the course has now, what comes out; answers, own cells, what is left to the copy.
CARRIED = {
    "own cells, a copy of the course's among them, stay below the cell that they stood under": (
        (MINE_OF_BASE, [HEAD, MORE, SETUP, LOOK]),
        (["First", "# 02", "import math", "More.", "import math", "x = 1", "**Look.**", "Last"], 0, 4, []),
    ),
    "what else was changed": (
        ([HEAD, code("setup", "import os\nx = 1"), prose("look", "Mine."), ANSWER], BASE["cells"][:4]),
        (["# 02", "import math", ANSWER["source"], "**Look.**"], 1, 0, ["import os", "Mine."]),
    ),
    "other words in the exercise": (([ANSWER], [OTHER_WORDS]), ([ANSWER["source"]], 1, 0, [])),
    "code to be fixed": (([ANSWER], [TO_FIX]), ([ANSWER["source"]], 1, 0, [])),
    "nothing was answered": (([task("softmax")], [TO_FIX]), ([TO_FIX["source"]], 0, 0, [])),
    "an exercise that is gone": (([HEAD, ANSWER], [HEAD]), (["# 02"], 0, 0, ["softmax"])),
    "one with another name": (([ANSWER], [RENAMED]), ([RENAMED["source"]], 0, 0, ["softmax"])),
    "another name in the same cell": (
        ([ANSWER], [RENAMED | {"id": "id-softmax"}]),
        ([RENAMED["source"]], 0, 0, ["softmax"]),
    ),
    "one that is asked further down, below the old solution": (
        ([ANSWER], [SHOWN, task("softmax") | {"id": "new-id"}]),
        ([SHOWN["source"], ANSWER["source"]], 1, 0, []),
    ),
    "a copy of an exercise": (([ANSWER, COPIED], [TO_FIX]), ([ANSWER["source"], COPIED["source"]], 1, 1, [])),
    "what an update that was cut short has merged already": (
        ([HEAD, MORE, OWN, LOOK], [HEAD, MORE, LOOK]),
        (["# 02", "x = 1", "More.", "**Look.**"], 0, 1, []),
    ),
    "cells without ids, as some tools leave them, or with one where Colab keeps it": (
        ([bare(ANSWER), bare(OWN), bare(SETUP) | {"metadata": {"id": "setup"}}, bare(LOOK)], [*BASE["cells"], MORE]),
        (["# 02", *sources(BASE)[1:2], ANSWER["source"], "x = 1", *sources(BASE)[3:], "More."], 1, 1, []),
    ),
    "two cells with one id": (
        ([prose("look", "Mine."), HEAD, LOOK], [HEAD, prose("look", "Better.")]),
        (["Mine.", "# 02", "Better."], 0, 1, []),
    ),
}


@pytest.mark.parametrize("what", CARRIED)
def test_of_a_notebook_answers_and_own_cells_are_carried_over(what):
    (mine, new), (expected, *numbers) = CARRIED[what]
    out, report = carry_over.carry(notebook(*mine), notebook(*new), BASE)
    assert sources(out) == expected and [*report.values()] == numbers
    assert len({cell["id"] for cell in out["cells"]}) == len(expected), "each id once"
    names = [name for cell in out["cells"] if (name := carry_over.exercise(cell))]
    assert names == [name for cell in new if (name := carry_over.exercise(cell))], "a copy is no second exercise"


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
@pytest.mark.parametrize("answer", ["return 'mine'", "return 'mine", "return " + "-" * 20000 + "1"])
def test_an_answer_takes_the_place_of_a_stub_of_its_own_form_only(old, new, answer):
    """A function, a class; an answer that Python cannot read; one that was typed ahead of the update."""
    texts = FORMS[old].replace("return ...", answer), FORMS[old], FORMS[new] + "\n# new"
    mine, was, now = (code("id-attend", text, ["exercise:attend"]) for text in texts)
    out, report = carry_over.carry(*map(notebook, (mine, now, was)))
    assert sources(out) == [mine["source"] if old == new else now["source"]]
    assert (report["answers"], report["left"]) == ((1, []) if old == new else (0, ["attend"]))
    if answer == "return 'mine'":
        assert sources(carry_over.carry(*map(notebook, (mine, was, now)))[0]) == [mine["source"]]


@pytest.mark.parametrize(
    "cell", [{"tags": None}, {"tags": [3, "exercise:softmax"]}, {"tags": "exercise:softmax"}, None]
)
def test_odd_metadata_costs_no_answer(cell):
    mine = json.dumps(notebook(HEAD, SETUP, ANSWER | {"metadata": cell}))
    out, report = carry_over.carry(carry_over.read(mine.encode()), NEW, BASE)
    assert sources(out)[2] == ANSWER["source"] and report["answers"] == 1


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_every_answer_of_the_course_comes_through(path):
    """Each notebook with all its exercises answered, and a cell of one's own below every cell."""
    text, mine = path.read_text(encoding="utf-8"), []
    assert carry_over.text(base := carry_over.read(text)) == text, "it is written as Jupyter writes it"
    for cell in base["cells"]:
        answer = cell["source"].replace("return ...", "return 'mine'") + "\n# mine" * bool(carry_over.exercise(cell))
        mine += [cell | {"source": answer}, prose(f"own-{len(mine)}", f"Mine, {len(mine)}.")]
    out, report = carry_over.carry(notebook(*mine), carry_over.read(text), base)
    assert sources(out) == sources(notebook(*mine)) and report["left"] == [] and report["answers"] >= 3
    nbformat.validate(nbformat.reads(carry_over.text(out), as_version=4))


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

    def text(self, name):
        return (self.here / name).read_text(encoding="utf-8")

    def notebook(self, name="notebooks/02.ipynb"):
        return carry_over.read(self.text(name))

    def is_both(self, name="notebooks/02.ipynb"):
        return sources(self.notebook(name)) == [cell["source"] for cell in BOTH]

    def aside(self):
        return sorted(self.here.glob("before-update-*"))

    def git(self, *words):
        return git(*words, folder=self.here)

    def head(self, where=None):
        return git("rev-parse", "HEAD", folder=where or self.here)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    monkeypatch.setattr(update_course, "COURSE", tmp_path / "here")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return Clone(tmp_path)


def commit(clone, message="My work"):
    clone.git("add", "--all")
    clone.git("commit", "--quiet", "--message", message)


def kept(clone):
    """{name: text} of all files that were copied aside."""
    files = (path for folder in clone.aside() for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(clone.here).as_posix().partition("/")[2]: path.read_text() for path in files}


def config(name, value):
    return lambda clone: clone.git("config", name, value)


def at_tag(clone):
    """So the notebooks fetch the course where they are opened alone."""
    git("tag", "v0.1.0", folder=clone.there)
    shutil.rmtree(clone.here)
    git(
        "clone",
        "--quiet",
        "--depth",
        "1",
        "--branch",
        "v0.1.0",
        clone.there.as_uri(),
        str(clone.here),
        folder=clone.there,
    )


ODD = {
    "nothing": lambda clone: None,
    "a tag": at_tag,
    "no branch": lambda clone: clone.git("checkout", "--quiet", "--detach"),
    "a branch that follows none": lambda clone: clone.git("checkout", "--quiet", "-b", "mine"),
    "a remote with another name": lambda clone: clone.git("remote", "rename", "origin", "course"),
    "line ends of Windows": config("core.autocrlf", "true"),
    "a filter": lambda clone: (
        clone.edit({".git/info/attributes": "*.ipynb filter=f\n"}),
        config("filter.f.clean", "cat")(clone),
    ),
    "a filter that is missing": lambda clone: (
        clone.edit({".git/info/attributes": "*.ipynb filter=f\n"}),
        config("filter.f.clean", "no-such-program")(clone),
    ),
    "a name with blanks": lambda clone: clone.edit({"notebooks/my notes – Übung.txt": "mine"}),
    "overlooked": lambda clone: clone.git("update-index", "--assume-unchanged", "notebooks/02.ipynb"),
    "skipped": lambda clone: clone.git("update-index", "--skip-worktree", "notebooks/02.ipynb"),
    "another mode": lambda clone: (clone.here / "notes.txt").chmod(0o777),
    "staged": lambda clone: (clone.edit({"more.txt": "mine"}), clone.git("add", "--all")),
}


@pytest.mark.parametrize("state", ODD)
def test_an_edited_notebook_and_the_new_version_come_together(clone, capsys, state):
    ODD[state](clone)
    clone.edit({"notebooks/02.ipynb": MINE})
    clone.publish({"notebooks/02.ipynb": NEW, "notebooks/03.ipynb": BASE, "notes.txt": "two\n"}, gone=["utils/a.py"])
    assert update_course.main() == 0, capsys.readouterr().err
    assert clone.is_both() and clone.head() == clone.head(clone.there) and clone.text("notes.txt") == "two\n"
    assert (clone.here / "notebooks/03.ipynb").is_file() and not (clone.here / "utils").exists()
    assert kept(clone) == {"notebooks/02.ipynb": carry_over.text(MINE)}
    assert "notebooks/02.ipynb: answers carried over: 1, cells of your own: 1\n" in (said := capsys.readouterr().out)
    assert clone.aside()[0].name in said and update_course.main() == 0 and len(clone.aside()) == 1
    assert "newest version already: " in capsys.readouterr().out


def test_work_that_was_committed_is_merged_and_stays_in_the_history(clone):
    """With modes and links, and where git knows no name."""
    clone.edit({"notebooks/02.ipynb": MINE, "own.sh": "mine\n"})
    (clone.here / "own.sh").chmod(0o755)
    (clone.here / "link").symlink_to("own.sh")
    commit(clone)
    config("user.useConfigOnly", "true")(clone)
    clone.publish({"notebooks/02.ipynb": NEW}, gone=["utils/a.py"])
    assert update_course.main() == 0 and clone.git("status", "--porcelain") == "" and clone.is_both()
    assert not (clone.here / "utils").exists() and clone.git("log", "-1", "--format=%s", "HEAD^") == "My work\n"
    heads = [clone.git("rev-parse", "HEAD^"), clone.head(clone.there)]
    assert clone.git("log", "-1", "--format=%an%n%P").split() == ["learner", *map(str.strip, heads)]
    assert re.findall("^1.....", clone.git("ls-tree", "HEAD", "link", "own.sh"), re.M) == [
        "120000",
        "100755",
    ]
    clone.publish({"notes.txt": "three\n"})
    assert update_course.main() == 0 and clone.text("notes.txt") == "three\n" and clone.is_both()


def test_a_commit_that_the_course_took_back_is_none_of_the_learner_s(clone, capsys):
    clone.publish({"notes.txt": "wrong\n"})
    clone.git("pull", "--quiet")
    clone.edit({"notebooks/02.ipynb": MINE})
    git("reset", "--quiet", "--hard", "HEAD~1", folder=clone.there)
    clone.publish({"notebooks/02.ipynb": NEW})
    assert update_course.main() == 0 and clone.is_both() and clone.text("notes.txt") == "one\n"


def half_committed(clone):
    clone.edit({"notebooks/02.ipynb": MINE})
    commit(clone)
    clone.edit({"notes.txt": "mine\n"})


def rewritten(clone):
    git("checkout", "--quiet", "--orphan", "other", folder=clone.there)
    clone.publish({"notes.txt": "anew\n"})
    git("branch", "--quiet", "--force", "main", folder=clone.there)
    clone.git("checkout", "--quiet", "--detach")


STOPS = {
    "commit them all": half_committed,
    "`git rebase --abort` ends it": lambda clone: (clone.here / ".git/rebase-merge").mkdir(),
    "clone it anew, and copy my_answers": rewritten,
    "index.lock': File exists.\n\nAnother git process": lambda clone: (clone.here / ".git/index.lock").touch(),
    "`git fetch --quiet` failed. Git says:\nfatal: ": lambda clone: clone.there.rename(clone.there.with_name("moved")),
    "no clone of the course: download": lambda clone: (clone.here / ".git").rename(clone.there / "taken"),
}


@pytest.mark.parametrize("words", STOPS)
def test_what_stands_in_the_way_is_said_with_git_s_advice_and_nothing_is_changed(clone, capsys, words):
    clone.edit({"notebooks/02.ipynb": MINE})
    clone.publish({"notebooks/02.ipynb": NEW})
    STOPS[words](clone)
    assert update_course.main() == 1 and words in capsys.readouterr().err
    assert clone.notebook() == MINE


def test_nothing_of_any_file_is_lost(clone, capsys):
    """Changed, new, removed, given up by the course, ignored by git, or no notebook any more."""
    mine = {"notes.txt": "mine\n", "utils/a.py": "a = 2\n", "new.txt": "mine, too\n", "notebooks/02.ipynb": "<<<<<<<"}
    stay = {"progress.json": "{}", "my_answers/softmax.py": "def softmax", "own.ipynb": "mine", "utils/a.py": "a = 2\n"}
    clone.edit(mine | stay)
    (clone.here / ".gitignore").unlink()
    new = {"notebooks/02.ipynb": carry_over.text(NEW), "notes.txt": "two\n", "new.txt": "new\n"}
    clone.publish(new, gone=["utils/a.py"])
    assert update_course.main() == 0 and kept(clone) == mine
    assert {name: clone.text(name) for name in new | stay} == new | stay
    said = capsys.readouterr().out
    lines = (
        "notes.txt: changed by you and by the course; now it is the course's",
        "utils/a.py: no longer part of the course; yours stays",
        "02.ipynb: yours was not carried over (is not a notebook of format 4); now it is the course's",
        ".gitignore: you had removed it; it is back",
    )
    assert [line for line in lines if line not in said] == []


# What stands in the way


def test_files_and_folders_in_the_way_are_kept(clone, capsys):
    clone.write(clone.there.parent / "far", {"a.py": "far\n"})
    (clone.here / "mine").symlink_to(clone.there.parent / "far")
    clone.git("add", "mine")
    shutil.move(clone.here / "utils", clone.here / "moved")
    (clone.here / "utils").symlink_to(clone.there.parent / "far")
    mine = {"extra": "mine\n", "more/mine.txt": "mine, too\n", "staged/mine.txt": "staged\n"}
    clone.edit(mine)
    clone.git("add", "staged")
    (clone.here / "notes.txt").unlink()
    clone.edit({"notes.txt/mine.txt": "in the place of a file\n"})
    new = {"utils/a.py": "a = 2\n", "extra/a.py": "a\n", "more": "m\n", "staged": "s\n", "notes.txt": "two\n"}
    clone.publish(new)
    assert update_course.main() == 0
    assert kept(clone) == mine | {"notes.txt/mine.txt": "in the place of a file\n"}
    assert [*map(clone.text, new)] == [*new.values()] and clone.git("status", "--porcelain") == "A  mine\n?? moved/\n"
    assert (clone.aside()[0] / "utils").is_symlink() and not (clone.here / "utils").is_symlink()
    assert (clone.here / "mine").is_symlink() and clone.text("mine/a.py") == "far\n"
    assert "extra: stood in the way" in capsys.readouterr().out


# An update that does not come to its end


@pytest.mark.parametrize("last", ["read-tree", "write", "checkout-index"])
@pytest.mark.parametrize("committed", [True, False])
def test_an_update_that_is_cut_short_loses_nothing_and_the_next_one_ends_it(
    clone, monkeypatch, capsys, last, committed
):
    """Of a notebook with another number, too."""
    clone.publish({"notebooks/04_forms.ipynb": BASE})
    clone.git("pull", "--quiet")
    clone.edit({"notebooks/02.ipynb": MINE, "notebooks/04_forms.ipynb": MINE, "own.txt": "mine\n"})
    if committed:
        commit(clone)
    clone.publish(
        {"notebooks/02.ipynb": NEW, "notebooks/05_forms.ipynb": NEW, "notes.txt": "two\n", "new.txt": "new\n"},
        gone=["utils/a.py", "notebooks/04_forms.ipynb"],
    )
    place, name = (update_course.os, "replace") if last == "write" else (update_course, "git")
    run = getattr(place, name)

    def stopped(*arguments, **options):
        said = run(*arguments, **options)
        if last in ("write", arguments[0]) and "index" not in options:
            raise KeyboardInterrupt
        return said

    with monkeypatch.context() as patched:
        patched.setattr(place, name, stopped)
        assert update_course.main() == 1 and "stopped" in (said := capsys.readouterr().err)
        assert clone.aside()[0].name in said and ANSWER["source"] in sources(clone.notebook())
    if committed and update_course.main() == 1:
        assert "commit them all" in capsys.readouterr().err
        commit(clone)
    assert update_course.main() == 0
    assert clone.is_both() and clone.is_both("notebooks/05_forms.ipynb")
    assert [*map(clone.text, ("notes.txt", "new.txt", "own.txt"))] == ["two\n", "new\n", "mine\n"]
    assert not (clone.here / "utils/a.py").exists() and clone.notebook("notebooks/04_forms.ipynb") == MINE


def test_what_is_saved_while_the_update_runs_is_not_written_over(clone, monkeypatch, capsys):
    clone.edit({"notebooks/02.ipynb": BASE | {"metadata": {"mine": 1}}})
    clone.publish({"notebooks/02.ipynb": NEW})
    run = update_course.merged  # JupyterLab saves once in two minutes
    save = lambda *given: clone.edit({"notebooks/02.ipynb": MINE}) or run(*given)  # noqa: E731
    monkeypatch.setattr(update_course, "merged", save)
    assert update_course.main() == 1 and "saved meanwhile" in capsys.readouterr().err and clone.notebook() == MINE
    assert update_course.main() == 0 and clone.is_both()


# Editions


def test_a_new_edition_says_in_a_line_what_became_of_each_answer(clone, capsys):
    """Under another number, with an exercise that is gone, one that asks for more, and a cell that no text can hold."""
    names = ("stays", "goes", "asks_more")
    mine = notebook(HEAD, *(task(name, body="return 'mine'") for name in names), code("own", "goes('\ud800')"))
    new = {"notebooks/05_forms.ipynb": notebook(HEAD, task("stays"), task("asks_more", "a, b"))}
    clone.publish({"notebooks/04_forms.ipynb": notebook(HEAD, *map(task, names))})
    clone.git("pull", "--quiet")
    clone.edit({"notebooks/04_forms.ipynb": json.dumps(mine)})
    clone.publish(new | {"notebooks/04_other.ipynb": BASE}, gone=["notebooks/04_forms.ipynb"])
    assert update_course.main() == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "notebooks/04_forms.ipynb: its new name is notebooks/05_forms.ipynb; yours stays, too",
        "notebooks/05_forms.ipynb: answers carried over: 1, cells of your own: 1; now the course's, and yours in the "
        "copy: goes, asks_more",
    ]
    out = sources(clone.notebook("notebooks/05_forms.ipynb"))
    assert out == ["# 02", mine["cells"][1]["source"], task("asks_more", "a, b")["source"], "goes('\ud800')"]
    assert clone.notebook("notebooks/04_forms.ipynb") == mine == json.loads(kept(clone)["notebooks/04_forms.ipynb"])


@pytest.mark.skipif(os.name == "nt", reason="needs make")
def test_an_old_clone_can_take_the_new_tool_first(clone, tmp_path):
    """As docs/places.md says: an update is made by the tool that is there. In a folder with blanks in its name."""
    tools = ("Makefile", "tools/setup/update_course.py", "tools/setup/carry_over.py")
    clone.publish(dict.fromkeys(tools, "old\n"))
    clone.git("pull", "--quiet")
    here = clone.here = clone.here.rename(tmp_path / "my course")
    clone.edit({"notebooks/02.ipynb": MINE})
    clone.publish({name: (ROOT / name).read_text() for name in tools} | {"notebooks/02.ipynb": NEW})
    git("fetch", "--quiet", folder=here)
    git("checkout", "--quiet", "origin/main", "--", "tools/setup", "Makefile", folder=here)
    done = subprocess.run(
        ["make", "-s", "update", f"PYTHON={sys.executable}"], cwd=here, capture_output=True, text=True
    )
    assert done.stdout.startswith("notebooks/02.ipynb: answers carried over: 1, cells"), done.stderr
    assert clone.is_both() and "tools/setup/update" not in clone.git("status", "--porcelain")


def test_the_tools_need_nothing_that_is_installed():
    """An update may come before, or instead of, an installation."""
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'tools' / 'setup')!r}); import update_course"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
