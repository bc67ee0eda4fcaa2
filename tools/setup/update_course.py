"""Bring in the course's new version with git, and carry a learner's work over (`make update`).

    python tools/setup/update_course.py

`git pull` stops where a notebook was edited, and merging notebooks as text leaves files that no longer open. Here each
notebook is merged cell by cell (carry_over.py); another file that both sides changed becomes the course's. First of
all, every file that the learner changed, and whatever stands where the course has a file, is copied into a folder
`before-update-…`, which git ignores. A learner's own commits stay in the history: the update is then a merge of both.

What git ignores is not touched: my_answers, which holds right answers, and progress.json. Who has another copy of the
course copies these two into it.

Tree and commit are made before a file is touched, and a notebook of the learner's is at all times the one that it was
or the merged one, never the bare course's: an update that is cut short is finished by the next one.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import carry_over

COURSE = Path(__file__).resolve().parents[2]
TAKE_ALONG = "copy my_answers and progress.json from this folder into it; your notebooks stay here, to be read"
AS_TEXT = {"encoding": "utf-8", "errors": "surrogateescape"}


class Stop(Exception):
    """The update cannot go on; the message says what to do."""


class Aside:
    """The folder of this run for the learner's files as they were, made for the first; none is written over."""

    folder = None

    def keep(self, name):
        if self.folder is None:
            now = time.strftime("before-update-%Y-%m-%d-%H%M%S")
            folders = (COURSE / f"{now}{-number or ''}" for number in range(99))
            self.folder = next(folder for folder in folders if not folder.exists())
            self.folder.mkdir()
        if not os.path.lexists(self.folder / name):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(COURSE / name, self.folder / name, follow_symlinks=(COURSE / name).is_file())


def git(*arguments, given=(), index=None, binary=False):
    """What git says to `given`, bytes or lines, with the file `index` as its index; Stop with its words on failure."""
    environment = os.environ | ({"GIT_INDEX_FILE": index} if index else {})
    given = given if isinstance(given, bytes) else "".join(f"{line}\0" for line in given).encode(**AS_TEXT)
    try:
        done = subprocess.run(["git", *arguments], cwd=COURSE, capture_output=True, env=environment, input=given)
    except OSError:
        raise Stop("git was not found: install it, then run the command again") from None
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        why = next((line for line in words if line.startswith(("fatal:", "error:"))), words[-1])
        raise Stop(f"`git {' '.join(arguments[:2])}` failed ({why})")
    return done.stdout if binary else done.stdout.decode(**AS_TEXT).strip("\n")


def parts(*arguments):
    """What git lists with -z, as a list."""
    return [part for part in git(*arguments, "-z").split("\0") if part]


def listed(commit):
    """{path: "mode blob sha path"} for the files of a commit."""
    return {line.partition("\t")[2]: line for line in parts("ls-tree", "-r", commit)}


def held(files, name):
    """The bytes of a file that `listed` has; None where it has no such file."""
    return git("cat-file", "blob", files[name].split()[2], binary=True) if name in files else None


def state():
    """(commit of the new version, where the learner began, has the learner own commits); Stop where git cannot tell."""
    if not (COURSE / ".git").exists():
        how = f"download the new version into a folder beside this one, and {TAKE_ALONG}"
        raise Stop(f"this folder is no clone of the course: {how}")
    if git("ls-files", "--unmerged"):
        raise Stop("a merge is half done here: `git merge --abort` ends it; then run the command again")
    source, name = [], "@{upstream}"
    try:
        git("rev-parse", name)
    except Stop:  # no branch, as in a clone of a tag, or one of the learner's that follows none
        source, name = ["origin", "main"], "FETCH_HEAD"
    git("fetch", "--quiet", *source)
    new, head = git("rev-parse", name), git("rev-parse", "HEAD")
    try:
        base = git("merge-base", head, new)
    except Stop:
        raise Stop(f"the course's history was rewritten: clone it anew, and {TAKE_ALONG}") from None
    edited = touched_since(listed(head)).intersection(parts("diff", "--no-renames", "--name-only", "HEAD"))
    if base != head and edited:
        raise Stop("some of your changes are committed and some are not: commit them all, then run the command again")
    return new, base, base != head


def with_index(lines, *arguments):
    """What git says where its index has these lines and no other: no flag hides a file, and the learner's stays."""
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        git("update-index", "-z", "--index-info", given=lines, index=index)
        return git(*arguments, index=index)


def touched_since(files):
    """The names of those `files` of a commit that differ here or are gone."""
    return files.keys() & with_index(files.values(), "diff", "--no-renames", "--name-only", "-z").split("\0")


def tree_of(own, new, files):
    """The tree of the new version with the learner's `own` lines of the index and the contents in `files` in it."""
    lines = [*own, *new.values()]  # of two in conflict the later one stays
    for name in files.keys() & new.keys():
        blob = git("hash-object", "-w", "--stdin", f"--path={name}", given=files[name])
        lines.append(f"{new[name].split()[0]} blob {blob}\t{name}")
    return with_index(lines, "write-tree")


def commit_of(tree, *parents):
    """A commit of the learner's that merges `parents`, with a name that stands in where git knows none."""
    try:
        git("var", "GIT_COMMITTER_IDENT")
        who = []
    except Stop:
        who = ["-c", "user.name=learner", "-c", "user.email=learner@localhost"]
    parents = [word for parent in parents for word in ("-p", parent)]
    return git(*who, "commit-tree", tree, *parents, "-m", "The course's new version, with my work in it")


def merged(name, mine, base, new):
    """(bytes to write, a line to print) for a file that the learner changed, given as bytes; `base`, `new` or None."""
    if new is None:
        return mine, f"{name}: no longer part of the course; yours stays" if base else ""
    if new == base or mine in (base, new):
        return (new if mine == base else mine), ""
    if not name.endswith(".ipynb") or base is None:
        return new, f"{name}: changed by you and by the course; now it is the course's"
    try:
        notebook, report = carry_over.carry(*map(carry_over.read, (mine, new, base)))
        return carry_over.text(notebook).encode(), f"{name}: {said(report)}"
    except Exception as problem:  # one odd notebook does not keep the rest from being carried over
        return new, f"{name}: yours was not carried over ({problem}); now it is the course's"


def said(report):
    """Words on what was carried over in a notebook."""
    kinds = [("answers", "answer", "answers"), ("edits", "edited cell", "edited cells")]
    kinds += [("cells", "cell of your own", "cells of your own")]
    kinds = [(report[key], one if report[key] == 1 else several) for key, one, several in kinds if report[key]]
    line = f"{', '.join(f'{number} {what}' for number, what in kinds) or 'nothing'} carried over"
    if report["changed"]:
        line += f"; changed since, so that yours stands below as a note: {', '.join(report['changed'])}"
    if report["gone"]:
        line += f"; no longer there, so that yours stands as a note in its place: {', '.join(report['gone'])}"
    return line


def topic(name):
    """The path of a notebook without the number that its name begins with."""
    return re.sub(r"/\d+_(?=[^/]*\.ipynb$)", "/", name)


def new_names(base, new, was, now):
    """{old: later} of the notebooks that have another name in the commit `new`: those of one topic, or else of much the
    same text. `was` and `now` are the files of both commits."""
    later = {topic(name): name for name in now.keys() - was.keys()}
    found = {
        old: later[topic(old)] for old in was.keys() - now.keys() if old.endswith(".ipynb") and topic(old) in later
    }
    # R090, an old name, the new name, and so on
    moves = parts("diff", "--find-renames", "--diff-filter=R", "--name-status", base, new)
    alike = {old: name for old, name in zip(moves[1::3], moves[2::3]) if name.endswith(".ipynb")}
    return {old: name for old, name in alike.items() if name not in found.values()} | found


def is_there(name):
    """Is there a file of this name, in folders that are no links?"""
    return (COURSE / name).is_file() and not any((COURSE / above).is_symlink() for above in Path(name).parents[:-1])


def in_the_way(name):
    """What stands where the course has `name`: a file or link in a folder's place, or all that a folder holds."""
    for above in reversed(Path(name).parents[:-1]):
        if (COURSE / above).is_symlink() or (COURSE / above).is_file():
            return [above.as_posix()]
    here = COURSE / name
    if here.is_symlink() and not here.is_file():
        return [name]
    found = here.rglob("*") if here.is_dir() else []
    return [path.relative_to(COURSE).as_posix() for path in found if path.is_symlink() or not path.is_dir()]


def write(path, content):
    """Give a file its new content in one step, with the mode that it has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    if path.exists():
        shutil.copymode(path, part)
    os.replace(part, path)


def update(aside):
    """Do what the head of this file says, and print a line for each file of the learner's that needs one."""
    new, base, own_commits = state()
    if new == base:
        print("This is the newest version already.")
        return
    before, was, now = git("rev-parse", "HEAD"), listed(base), listed(new)
    touched, added = touched_since(was), now.keys() - was.keys()
    untouched = was.keys() - touched
    blocking = {path for name in now for path in in_the_way(name)} - untouched
    mine = {name for name in touched | added if is_there(name)} - blocking
    for name in sorted(mine | blocking):
        aside.keep(name)
    files, lines = {}, [f"{name}: stood in the way of the course's" for name in sorted(blocking)]
    renamed = new_names(base, new, was, now)
    before_that = {later: old for old, later in renamed.items()}  # an update that was cut short has merged it already
    for name in sorted(mine):
        content = (COURSE / name).read_bytes()
        files[name], line = merged(name, content, held(was, before_that.get(name, name)), held(now, name))
        later = renamed.get(name)
        if later and later not in mine:
            lines.append(f"{name}: its new name is {later}; yours stays, too")
            files[later], line = merged(later, content, held(was, name), held(now, later))
        lines += [line] if line else []
    # What no version of the course has, or the learner changed and the course gave up, stays in the index.
    own = [line for line in parts("ls-files", "--stage") if line.partition("\t")[2] not in now.keys() | untouched]
    tree = tree_of(own, now, files if own_commits else {})
    new = commit_of(tree, before, new) if own_commits else new
    if any((COURSE / name).read_bytes() != (aside.folder / name).read_bytes() for name in mine):
        raise Stop("a file was saved meanwhile: run the command again")
    git("read-tree", tree)  # from here on, files are replaced; before, nothing was
    for path in (COURSE / name for name in blocking | (untouched - now.keys())):
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            os.removedirs(path.parent)  # where it is empty now
    for name, content in files.items():
        if not is_there(name) or (COURSE / name).read_bytes() != content:
            write(COURSE / name, content)
    rest = [name for name in now if name not in files and (name in touched or now[name] != was.get(name))]
    git("checkout-index", "--force", "-u", "-z", "--stdin", given=rest)
    git("update-ref", "-m", "make update", "HEAD", new, before)
    lines += [f"Your files as they were: {aside.folder.name}/" if aside.folder else "You had changed nothing."]
    print("\n".join(lines))
    print("Reload notebooks that are open in JupyterLab (File > Reload Notebook from Disk), and run `make lab`.")


def main():
    os.environ["GIT_TERMINAL_PROMPT"] = "0"
    aside = Aside()
    try:
        update(aside)
        return 0
    except (Stop, OSError) as problem:
        why = f"{problem}."
    except KeyboardInterrupt:
        why = "stopped; the same command goes on with it."
    print(f"update: {why}", f"Your files as they were: {aside.folder.name}/" if aside.folder else "", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
