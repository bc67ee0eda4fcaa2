"""Bring in the course's new version with git, and carry a learner's work over (`make update`).

    python tools/setup/update_course.py

`git pull` stops where a notebook was edited, and merging notebooks as text leaves files that no longer open. Here
answers and own cells are carried over into the new notebook (carry_over.py); all else that both sides changed becomes
the course's. First of all, every file that the learner changed, and whatever stands where the course has a file, is
copied into a folder `before-update-…`, which git ignores. A learner's own commits stay in the history: the update is
then a merge of both.

What git ignores is not touched: my_answers, which holds right answers, and progress.json. Anyone who has another copy
of the course copies these two into it.

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
HALF_DONE = ("MERGE_HEAD", "rebase-merge", "rebase-apply")


class Stop(Exception):
    """The update cannot go on; the message says what to do."""


def git(*arguments, given=(), index=None, binary=False):
    """What git says to `given`, bytes or lines, with the file `index` as its index; Stop with its words on failure."""
    given = given if isinstance(given, bytes) else "".join(f"{line}\0" for line in given).encode(**AS_TEXT)
    where = {"cwd": COURSE, "env": os.environ | ({"GIT_INDEX_FILE": index} if index else {})}
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, input=given, **where)
    except OSError:
        raise Stop("git was not found: install it, then run the command again") from None
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip() or "nothing"
        raise Stop(f"`git {' '.join(arguments[:2])}` failed. Git says:\n{words}")
    return done.stdout if binary else done.stdout.decode(**AS_TEXT).strip("\n")


def first(*commands):
    """What git says to the first of the commands that succeeds; "" where none does."""
    for command in commands:
        with contextlib.suppress(Stop):
            return git(*command)
    return ""


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
        raise Stop(f"this folder is no clone of the course: download the new version beside this one, and {TAKE_ALONG}")
    half_done = [name for name in HALF_DONE if (COURSE / git("rev-parse", "--git-path", name)).exists()]
    if half_done or git("ls-files", "--unmerged"):
        raise Stop(
            "a merge or a rebase is half done: `git merge --abort` or `git rebase --abort` ends it; then try again"
        )
    name = first(["rev-parse", "--abbrev-ref", "@{upstream}"]) or "FETCH_HEAD"
    # no upstream: no branch, as in a clone of a tag, or one of the learner's
    git("fetch", "--quiet", *(["origin", "main"] if name == "FETCH_HEAD" else []))
    new, head = git("rev-parse", name), git("rev-parse", "HEAD")
    # Where the course took a commit back, the learner began with one that it no longer has.
    base = first(["merge-base", "--fork-point", name, "HEAD"], ["merge-base", name, "HEAD"])
    if not base:
        raise Stop(f"the course's history was rewritten: clone it anew, and {TAKE_ALONG}")
    changed = parts("diff", "--no-renames", "--name-only", "HEAD")
    if base != head and touched_since(listed(head)).intersection(changed):
        raise Stop("some of your changes are committed and some are not: commit them all, then run the command again")
    if new == base:
        address = re.sub("//[^/]*@", "//", git("ls-remote", "--get-url"))  # without a token that it may hold
        print(f"This is the newest version already: {address} has no later one.")
    return new, base, base != head


def with_index(lines, *arguments):
    """What git says where its index has these lines and no other: no flag hides a file, and the learner's stays."""
    with tempfile.TemporaryDirectory() as folder:
        git("update-index", "-z", "--index-info", given=lines, index=f"{folder}/index")
        return git("-c", "core.fileMode=false", *arguments, index=f"{folder}/index")


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
    who = (
        []
        if first(["var", "GIT_COMMITTER_IDENT"])
        else ["-c", "user.name=learner", "-c", "user.email=learner@localhost"]
    )
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
        line = f"{name}: answers carried over: {report['answers']}, cells of your own: {report['cells']}"
        line += f"; now the course's, and yours in the copy: {', '.join(report['left'])}" if report["left"] else ""
        return carry_over.text(notebook).encode(errors="backslashreplace"), line
    except Exception as problem:  # one odd notebook does not keep the rest from being carried over
        return new, f"{name}: yours was not carried over ({problem}); now it is the course's"


def new_names(was, now):
    """{old: later} of the notebooks that have another number in the new version; `was` and `now` are files by name."""
    topics = {name: re.sub(r"/\d+_(?=[^/]*\.ipynb$)", "/", name) for name in was.keys() ^ now.keys()}
    later = {topics[name]: name for name in now.keys() - was.keys()}
    return {old: later[topics[old]] for old in was.keys() - now.keys() if topics[old] in later}


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


def remove(name):
    """Remove a file, and the folders that are empty then."""
    (COURSE / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        os.removedirs((COURSE / name).parent)


def write(path, content):
    """Give a file its new content in one step, with the mode that it has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    shutil.copymode(path if path.exists() else part, part)
    os.replace(part, path)


def update(aside):
    """Do what the head of this file says, and print a line for each file of the learner's that needs one."""
    new, base, own_commits = state()
    if new == base:
        return
    before, was, now = git("rev-parse", "HEAD"), listed(base), listed(new)
    touched, added = touched_since(was), now.keys() - was.keys()
    untouched = was.keys() - touched
    blocking = {path for name in now for path in in_the_way(name)} - untouched
    mine = {name for name in touched | added if is_there(name)} - blocking
    for name in sorted(mine | blocking):
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(COURSE / name, aside / name, follow_symlinks=(COURSE / name).is_file())
    files, lines = {}, [f"{name}: stood in the way of the course's" for name in sorted(blocking)]
    lines += [f"{name}: you had removed it; it is back" for name in sorted(touched & now.keys() - mine - blocking)]
    renamed = new_names(was, now)
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
    if any((COURSE / name).read_bytes() != (aside / name).read_bytes() for name in mine):
        raise Stop("a file was saved meanwhile: run the command again")
    git("read-tree", tree)  # from here on, files are replaced; before, nothing was
    for name in blocking:
        remove(name)
    for name, content in files.items():
        if not is_there(name) or (COURSE / name).read_bytes() != content:
            write(COURSE / name, content)
    rest = [name for name in now if name not in files and (name in touched or now[name] != was.get(name))]
    git("checkout-index", "--force", "-u", "-z", "--stdin", given=rest)
    for name in untouched - now.keys():
        remove(name)
    git("update-ref", "-m", "make update", "HEAD", new, before)
    lines += [f"Your files as they were: {aside.name}/" if aside.exists() else "You had changed nothing."]
    print("\n".join(lines))
    print("Reload notebooks that are open in JupyterLab (File > Reload Notebook from Disk), and run `make lab`.")


def main():
    os.environ["GIT_TERMINAL_PROMPT"] = "0"
    folders = (COURSE / time.strftime(f"before-update-%Y-%m-%d-%H%M%S{-number or ''}") for number in range(99))
    aside = next(folder for folder in folders if not folder.exists())
    try:
        update(aside)
        return 0
    except (Stop, OSError) as problem:
        why = str(problem) + "." * ("\n" not in str(problem))  # a command that git advises ends as git says it
    except KeyboardInterrupt:
        why = "stopped; the same command goes on with it."
    print(f"update: {why}", f"Your files as they were: {aside.name}/" if aside.exists() else "", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
