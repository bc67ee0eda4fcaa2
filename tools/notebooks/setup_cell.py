import math, os, pathlib, subprocess, sys
COURSE, VERSION = "https://github.com/THE_OWNER/attention-course", "0.3.0"
here, told = pathlib.Path.cwd(), os.path.expanduser(os.environ.get("ATTENTION_COURSE", "").strip(" \t\r\n'\""))
nearby = map(os.path.abspath, [told] if told else [here, *here.parents, here / "attention-course", *sys.path])
home = next((pathlib.Path(one) for one in nearby if os.path.isfile(f"{one}/utils/exercises/tasks/topics.txt")), None)
if home is None:  # the notebook was opened alone, as on Colab: fetch the course
    if told or (home := here / "attention-course").exists():
        said = f"ATTENTION_COURSE is {told!r}, where no course is: unset" if told else f"{home} is not the course: move"
        raise RuntimeError(f"{said} it, or let ATTENTION_COURSE name the folder that holds utils/ and notebooks/")
    fetch = ["git", "clone", "-q", "--depth=1", f"-bv{VERSION}", COURSE, part := f"{home}.{os.getpid()}.part"]
    try:
        subprocess.run(fetch, check=True, env=os.environ | {"GIT_TERMINAL_PROMPT": "0"})
        os.rename(part, home)  # only a whole clone gets the name that is looked for above
    except (OSError, subprocess.CalledProcessError) as problem:
        raise RuntimeError(f"Cannot fetch {COURSE} into {home}: it takes git and a network. {problem}") from None
sys.path.insert(0, str(home))
import numpy as np, torch, utils
if os.path.realpath(found := str([*getattr(utils, "__path__", []), utils][0])) != os.path.realpath(home / "utils"):
    raise RuntimeError(f"Another utils is in the way, {found}: restart, run this cell first; if it stays, rename it.")
if getattr(utils, "VERSION", None) != VERSION:  # said before a name of the one is missed in the other
    print(f"This notebook is of version {VERSION}, the course in {home} is not: take both from the same place.")
utils.set_up()
from utils import plots, widgets
from utils.exercises import check, hint, my_answers, progress, solution, use
from utils.vectors import WordVectors
