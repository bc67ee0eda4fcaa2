"""Bring in the course's new version and carry a learner's work over (`make update`).

    python tools/update_course.py            fetch the new version with git, as `git pull` would
    python tools/update_course.py OLD ...    this folder is the new version: take the answers from notebooks in OLD,
                                             a folder of an older copy of the course, or notebook files saved on Colab

`git pull` stops where a notebook was edited, and merging notebooks as text leaves files that no longer open. Here each
notebook is merged cell by cell (carry_over.py); another file that both sides changed becomes the course's. First of
all, every file that the learner changed is copied into a folder `before-update-…`, which git ignores. A learner's own
commits stay in the history: the update is then a merge of both. Whatever fails before the last step leaves the files
as they were.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import carry_over

COURSE = Path(__file__).resolve().parent.parent
AS_TEXT = {"encoding": "utf-8", "errors": "surrogateescape"}


class Stop(Exception):
    """The update cannot go on; the message says what to do."""


def git(*arguments, binary=False):
    """What git says; raises Stop with its last words where it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=COURSE, capture_output=True, stdin=subprocess.DEVNULL)
    except OSError:
        raise Stop("git was not found: install it, then run the command again") from None
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise Stop(f"`git {' '.join(arguments[:2])}` failed ({words[-1]})")
    return done.stdout if binary else done.stdout.decode(**AS_TEXT).strip("\n")


def names(*arguments):
    """The paths that git lists, an empty set if none."""
    return {name for name in git(*arguments, "-z").split("\0") if name}


def held(commit, name):
    """A file's bytes in a commit; None where it has no such file."""
    try:
        return git("show", f"{commit}:{name}", binary=True)
    except Stop:
        return None


def read_notebook(content):
    return carry_over.read(content.decode("utf-8-sig"))


def merged(name, mine, base, new):
    """(bytes to write, a line to print) for a file that the learner changed, given as bytes; `base`, `new` or None."""
    if new is None:
        return mine, f"{name}: no longer part of the course; yours stays" if base else ""
    if new == base or mine == new:
        return mine, ""
    if not name.endswith(".ipynb"):
        return new, f"{name}: changed by you and by the course; now it is the course's"
    try:
        notebook, report = carry_over.carry(read_notebook(mine), read_notebook(new), base and read_notebook(base))
    except ValueError as problem:
        return new, f"{name}: your file {problem}; now it is the course's"
    return carry_over.text(notebook).encode(), said(name, report)


def said(name, report):
    """One line on what was carried over in a notebook."""
    kinds = [("answers", "answer", "answers"), ("edits", "edited cell", "edited cells")]
    kinds += [("cells", "cell of your own", "cells of your own")]
    kinds = [(report[key], one if report[key] == 1 else several) for key, one, several in kinds if report[key]]
    words = [f"{number} {what}" for number, what in kinds]
    line = f"{name}: {', '.join(words) or 'nothing'} carried over"
    if report["changed"]:
        line += f"; changed since, so that yours stands below as a note: {', '.join(report['changed'])}"
    return line


def copy_aside(changed):
    """Copy files into a new folder; returns its path."""
    aside = COURSE / time.strftime("before-update-%Y-%m-%d-%H%M%S")
    for name, content in changed.items():
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        (aside / name).write_bytes(content)
    return aside


def state():
    """(commit of the new version, where the learner began, has the learner own commits); Stop where git cannot tell."""
    if not (COURSE / ".git").exists():
        raise Stop(
            "this folder is no clone of the course. Download the new version into a folder beside this one and run "
            "there: python tools/update_course.py OLD, where OLD is this folder"
        )
    if git("ls-files", "--unmerged"):
        raise Stop("a merge is half done here: `git merge --abort` ends it; then run the command again")
    try:
        remote = git("rev-parse", "--abbrev-ref", "@{upstream}").partition("/")[0]
    except Stop:
        raise Stop(
            "git knows no branch to update from: `git branch --set-upstream-to=origin/main`, then again"
        ) from None
    git("fetch", "--quiet", remote)
    new, head = git("rev-parse", "@{upstream}"), git("rev-parse", "HEAD")
    base = git("merge-base", head, new)
    return new, base, base != head


def update():
    """Do what the head of this file says, and print a line for each file of the learner's that needs one."""
    new, base, own_commits = state()
    if new == base:
        print("This is the newest version already.")
        return
    edited = names("diff", "--name-only", "HEAD")
    if own_commits and edited:
        raise Stop("some of your changes are committed and some are not: commit them all, then run the command again")
    added = {name for name in names("diff", "--name-only", "--diff-filter=A", base, new) if (COURSE / name).is_file()}
    touched = names("diff", "--name-only", base) | added
    changed = {name: (COURSE / name).read_bytes() for name in sorted(touched) if (COURSE / name).is_file()}
    written, lines = {}, []
    for name, mine in changed.items():
        written[name], line = merged(name, mine, held(base, name), held(new, name))
        lines += [line] if line else []
    aside = copy_aside(changed) if changed else None
    before = git("rev-parse", "HEAD")
    git("read-tree", "--reset", "-u", new)
    for name, content in written.items():
        (COURSE / name).parent.mkdir(parents=True, exist_ok=True)
        (COURSE / name).write_bytes(content)
    if own_commits:
        if written:
            git("add", "--all", "--", *written)
        tree = git("write-tree")
        new = git("commit-tree", tree, "-p", before, "-p", new, "-m", "The course's new version, with my work in it")
    git("update-ref", "-m", "make update", "HEAD", new, before)
    print("\n".join([*lines, f"Your files as they were: {aside.name}/"] if aside else ["You had changed nothing."]))
    print("Reload notebooks that are open in JupyterLab (File > Reload Notebook from Disk), and run `make lab`.")


def take_from(paths):
    """Carry the answers in older notebooks, files or folders of the course, over into those of this folder."""
    found = [path for path in paths if path.is_file()]
    for folder in (path for path in paths if path.is_dir()):
        below = folder / "notebooks" if (folder / "notebooks").is_dir() else folder
        found += sorted(below.glob("*.ipynb"))
    if not found:
        raise Stop(f"no notebook was found in {', '.join(map(str, paths))}")
    for old in found:
        here = COURSE / "notebooks" / old.name
        if not here.is_file() or old.samefile(here):
            print(f"{old}: the course has no other notebook of this name")
            continue
        new, mine = here.read_bytes(), old.read_bytes()
        content, line = merged(old.name, mine, version_of(mine, old.name), new)
        if content not in (mine, new):
            aside = copy_aside({f"notebooks/{old.name}": new})
            line += f" (as it was: {aside.name}/)"
        here.write_bytes(content)
        print(line or f"{old.name}: the same")


def version_of(mine, name):
    """The notebook as the course published it in the version that `mine` names, where git has it; or None."""
    try:
        code = next(cell["source"] for cell in read_notebook(mine)["cells"] if cell["cell_type"] == "code")
        version = re.search(r'^COURSE, VERSION = .*"([\w.]+)"$', code, re.MULTILINE)
        return version and held(f"v{version[1]}", f"notebooks/{name}")
    except (ValueError, StopIteration):
        return None


def main(arguments):
    os.environ["GIT_TERMINAL_PROMPT"] = "0"
    try:
        take_from([Path(argument) for argument in arguments]) if arguments else update()
    except Stop as problem:
        print(f"update: {problem}.", file=sys.stderr)
        return 1
    except OSError as problem:
        print(f"update: {problem}. Your files are as they were, or in a folder before-update-…", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
