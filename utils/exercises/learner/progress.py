"""`progress()`: every exercise and how far the learner is; `my_answers()`: the right answers that are kept."""

from collections.abc import Callable

from ...judge.exercise import Exercise, catalogue
from ...judge.verdict import MARKS
from ...records import A_NAME, FILE, OPENED, entries, guesses
from ...settings import marked
from ...widgets.guess import questions
from ..tasks import TOPIC_OF, TOPICS
from . import kept_answers as own
from .kept_answers import by_name

EARLIER = "from an earlier edition of the course"


def notebook_of(found: Exercise) -> str:
    """The stem of the notebook of an exercise: its module's topic, with its place in the course before it."""
    own = found.reference.__module__
    return f"{TOPICS.index(TOPIC_OF[own]):02}_{TOPIC_OF[own]}" if own in TOPIC_OF else own


def progress() -> None:
    """Print every exercise, notebook by notebook: ○ not tried, ✘ not right yet, ✔ right; level, minutes, tries, and
    whether your answer is kept and the solution was opened. Below them are those of earlier editions of the course
    that you tried; they are not counted."""
    try:
        tried, guessed, remark = entries(), guesses(), ""
    except ValueError as problem:
        tried, guessed, remark = {}, {}, f"\nWhat you did before cannot be shown: {FILE} {problem}."
    exercises, notebook, answers = catalogue(), None, own.names()
    for name, found in exercises.items():
        if notebook != (notebook := notebook_of(found)):
            print(notebook)
        print(_line(name, f"{found.dots} {found.minutes:4} min", tried.get(name), name in answers))
    if earlier := [name for name in dict.fromkeys([*tried, *answers]) if name not in exercises]:
        print(EARLIER)
    for name in earlier:
        print(_line(name, "", tried.get(name), name in answers))
    right = sum(tried.get(name, {}).get("status") == "right" for name in exercises)
    print(f"{right} of {len(exercises)} exercises came right.{remark}")
    if made := guessed.keys() & questions().keys():
        print(f"You made {len(made)} of the course's {len(questions())} guesses.")
    if earlier := [name for name in guessed if name not in made and A_NAME.fullmatch(name)]:
        print(f"Guesses {EARLIER}: {', '.join(earlier)}.")
    if answers:
        print(f"Answers that are kept are in {own.FOLDER} in the course's folder: my_answers() lists them.")
    if tried:
        print(f"This is kept in {FILE} in the course's folder, without your code. Deleting it harms nothing.")


def _line(name: str, size: str, entry: dict | None, is_kept: bool) -> str:
    """✔ softmax                        ●●○   10 min   3 tries   kept   solution opened"""
    mark, tried = MARKS[entry["status"] if entry else "todo"], entry["tries"] if entry else 0
    tries = f"{tried:3} {'try' if tried == 1 else 'tries'}" if tried else ""
    opened = "solution opened" if entry and OPENED in entry else ""
    return f"  {mark} {name:<28} {size:<12} {tries:<11}{'kept' if is_kept else '':<7}{opened}".rstrip()


def my_answers(exercise: Callable | str = "") -> None:
    """Print which right answers of yours are kept, or, of one exercise, the code: it runs as it is, also in its
    exercise where that is empty again.

    ValueError where there is neither an answer nor an exercise of that name.
    """
    name = exercise if isinstance(exercise, str) else getattr(exercise, "__name__", "")
    if marked("kept"):
        return
    if file := own.file_of(name):
        print(own.text_in(file), end="")
    elif name:
        print(f"No answer to {by_name(name).name} is kept yet: check keeps one when it comes right.")
    elif not (answers := own.names()):
        print("No answer is kept yet: check keeps one when it comes right.")
    else:
        course = [one for one in catalogue() if one in answers]
        for one in course:
            print(f"{one:<28} {notebook_of(catalogue()[one])}")
        if earlier := [one for one in answers if one not in course]:
            print("\n  ".join([EARLIER, *earlier]))
        print(
            f"They are files of Python in {own.FOLDER}, in the course's folder: copy it to take them along, delete one "
            f'to go on with the course\'s function. my_answers("{answers[0]}") shows the code.'
        )
