"""Choosing the words of a sentence: the learner is the sampler, and beam search as a tree that grows."""

import functools
import heapq
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..checks import require_logits, require_whole
from ..vocabulary import END_ID, START_ID, Vocabulary
from .canvas import MONOSPACE, Phone, View, cut, two_decimals
from .chat import choose
from .controls import Explorer, menu, slider, text

END = "end of sentence"
LONGEST = 14  # letters of a word; a longer one is cut


def log_shares(logits: Tensor) -> Tensor:
    """The log-probabilities (v,) of logits (v,), in double precision."""
    return require_logits(logits).double().log_softmax(-1)


class Writer:
    """What a model would write after any ids: each beginning is read once, word by word, and kept."""

    def __init__(self, step: Callable, words: Vocabulary, state: object = None):
        self.step, self.words, self.state = step, words, state
        self.after = functools.lru_cache(maxsize=1 << 12)(self._after)

    @torch.no_grad()
    def _after(self, ids: tuple[int, ...]) -> tuple[Tensor, object]:
        """The log-probabilities (v,) of the word after `<s>` and the ids, and the state after these."""
        state = self.after(ids[:-1])[1] if ids else self.state
        logits, state, *_ = self.step(torch.tensor([[ids[-1] if ids else START_ID]]), state)
        if logits.shape[-1] != len(self.words):
            raise ValueError(
                f"the step gives logits for {logits.shape[-1]} words, the vocabulary has {len(self.words)}: "
                "give the vocabulary of the language that the model writes"
            )
        return log_shares(logits[0, -1]), state

    def logs(self, ids: Sequence[int]) -> Tensor:
        """The log-probabilities (v,) of the word after `<s>` and the ids."""
        return self.after(tuple(ids))[0]

    def total(self, ids: Sequence[int], first: int = 0) -> float:
        """The sum of the log-probabilities of ids[first:], each after those before it."""
        return sum(float(self.logs(ids[:k])[ids[k]]) for k in range(first, len(ids)))


def best_first(logs: Tensor) -> Tensor:
    """The ids (v,) of log-probabilities (v,), the most probable one first; of equal ones, the first one first."""
    return logs.argsort(descending=True, stable=True)


def chance(total: float) -> str:
    """The probability whose logarithm is `total`: "12.3%", and below 1% "1 in 1,230", in three digits."""
    if total > math.log(0.01):
        return f"{math.exp(total):.1%}"
    whole, power = divmod(-total / math.log(10), 1)
    return f"1 in {round(10**power, 2) * 10**whole:,.0f}" if whole < 9 else "less than 1 in 1,000,000,000"


# The learner writes

NEAR = 1e-6  # sums of logs that differ by less count as equal
TRIED = 1000  # beginnings that are continued, to find a sentence for the learner to find


def best_words(writer: Writer, ids: Sequence[int], count: int) -> list[tuple[int, float, bool]]:
    """The `count` most probable ids after the ids, with their log-probabilities; `</s>` ends a sentence."""
    logs = writer.logs(ids)
    return [(one, float(logs[one]), one == END_ID) for one in best_first(logs)[:count].tolist()]


class Target(NamedTuple):
    """What the learner has to find: an ended sentence other than `greedy` whose sum of logs is at least `least`, or
    any ended sentence if that is None."""

    greedy: list[int]
    greedy_total: float
    least: float | None
    better: bool


def in_places(written: str) -> dict[int, int]:
    """{place: rank} of a text such as "7:2 12:30"."""
    return {int(place): int(rank) for place, rank in re.findall(r"(\d{1,3}):(\d{1,5})", written)}


def written_by(
    writer: Writer, beginning: Sequence[int], count: int, seed: int = 0, taken: Mapping[int, int] | None = None
) -> list[int]:
    """Up to `count` ids after the beginning; `</s>` is the last. Each is the most probable one, or with a seed from 1
    is drawn; where taken = {place, from 1: rank, from 1} has its place, it is the one of this rank."""
    written = []
    while len(written) < count and END_ID not in written:
        ids = [*beginning, *written]
        logs, rank = writer.logs(ids), (taken or {}).get(len(written) + 1)
        drawn = choose(logs, float(seed > 0), 1.0, [seed, len(ids)])
        written.append(int(best_first(logs)[min(rank, len(logs)) - 1]) if rank else drawn)
    return written


def most_probable_endings(
    writer: Writer, beginning: list[int], candidates: int, limit: int, enough: float = math.inf
) -> list[tuple[float, tuple[int, ...]]]:
    """(sum of logs, ids) of sentences to their ends, of the best candidates each time, most probable first. The most
    probable beginning is continued first; so the two best of all are found, unless one is above `enough` or it takes
    more than TRIED beginnings."""
    waiting, ended = [(0.0, ())], []  # what is lost so far, as heapq takes the smallest first
    for _ in range(TRIED):
        if not waiting or (ended and ended[0][0] > enough) or (len(ended) > 1 and ended[1][0] > -waiting[0][0]):
            break
        lost, ids = heapq.heappop(waiting)
        for one, log, ends in best_words(writer, [*beginning, *ids], candidates):
            if ends:
                ended = sorted([*ended, (log - lost, (*ids, one))], reverse=True)
            elif len(ids) + 1 < limit:
                heapq.heappush(waiting, (lost - log, (*ids, one)))
    return ended


def target_of(writer: Writer, beginning: list[int], candidates: int, limit: int) -> Target:
    """Is there a sentence that is more probable than the greedy one? If none is found, the task is to find the second
    best; if there is no second one, to end a sentence."""
    greedy = written_by(writer, beginning, limit)
    total = writer.total([*beginning, *greedy], len(beginning))
    found = most_probable_endings(writer, beginning, candidates, limit, total + NEAR)
    others = [share for share, ids in found if [*ids] != greedy]
    if greedy[-1] != END_ID or not others:
        return Target(greedy, total, None, False)
    better = others[0] > total + NEAR
    return Target(greedy, total, total + NEAR if better else others[0] - NEAR, better)


class Draft(NamedTuple):
    """A picture's data: the words of the beginning; the words written, with their probabilities; the place that is
    looked at, from 1; its candidates with their probabilities, and their ranks, from 1; which of them, from 0, is
    there and which one the rule would write (None: none of them); how many others there are, and their probability
    together; the sum of logs of what is written; whether the sentence has ended, and whether there is room for more;
    is the task done?"""

    beginning: list[str]
    written: list[tuple[str, float]]
    place: int
    candidates: list[tuple[str, float]]
    ranks: list[int]
    here: int | None
    own: int | None
    others: tuple[int, float]
    total: float
    ended: bool
    room: bool
    done: bool


LEFT, COLUMNS, WIDE = 6, 47, 7.2  # where words begin, how many letters a line has, how wide a letter is
LINE, ROW = 36, 21  # from one line of words to the next, from one candidate to the next
LEAST = 3  # lines that are kept free for the sentence
NAME = 120  # how wide the names of the candidates are

BETTER = "Write a sentence to its end that is more probable than the one that greedy search writes, {greedy}."
SECOND = (
    "Greedy search writes a sentence with probability {greedy}. Write another one to its end, with at least {least}."
)
ANY = "Write a sentence to its end."
OPEN = "Which word comes next? Greedy search always writes the first candidate."
ENDED = "Your sentence has ended. Go back to a word where another one was almost as probable."
FULL = "There is no room for more words. Go back, and end your sentence earlier."
FOUND = {
    True: "Greedy search writes “{greedy}”, {share}: each word is the most probable one, but not the sentence.",
    False: "Greedy search writes “{greedy}”, {share}.",
    None: "Your sentence has ended.",
}
WRITTEN_SAID = (
    "Sentence: {sentence}. Probability {share}, sum of logs {total}. {title}: {candidates}; {others}. {note} {task}"
)


def plain(word: str) -> str:
    return END if word == "</s>" else word


def draft_of(
    writer: Writer, target: Target, beginning: list[int], written: list[int], seed: int, count: int, limit: int
) -> Draft:
    """The picture's data for the ids written after the beginning; count: how many candidates are shown."""
    ended, room = END_ID in written, len(written) < limit
    place = len(written) + (room and not ended)
    before = [*beginning, *written[: place - 1]]
    logs = writer.logs(before)
    ranked, shares = best_first(logs).tolist(), logs.exp()
    order = ranked[:count] if END_ID in ranked[:count] else [*ranked[: count - 1], END_ID]  # the end can be chosen
    names, ids = writer.words.words, [*beginning, *written]
    each = [float(writer.logs(ids[:k])[ids[k]]) for k in range(len(beginning), len(ids))]
    own = choose(logs, float(seed > 0), 1.0, [seed, len(before)])
    here = order.index(written[place - 1]) if place <= len(written) and written[place - 1] in order else None
    rest = max(0.0, 1 - float(shares[order].sum()))
    done = ended and written != target.greedy and (target.least is None or sum(each) >= target.least)
    return Draft(
        [names[one] for one in beginning], [(plain(names[one]), math.exp(log)) for one, log in zip(written, each)],
        place, [(plain(names[one]), float(shares[one])) for one in order],
        [ranked.index(one) + 1 for one in order], here, order.index(own) if own in order else None,
        (len(logs) - len(order), rest), sum(each), ended, room, done or (ended and target.least is None),
    )  # fmt: skip


def in_lines(labels: Sequence[str], least: int) -> list[tuple[int, int]]:
    """(line, column) of each word; it takes `least` columns or more, and one that is left free behind it."""
    places, line, column = [], 0, 0
    for label in labels:
        wide = max(len(label), least)
        if column and column + wide > COLUMNS:
            line, column = line + 1, 0
        places.append((line, column))
        column += wide + 1
    return places


def draw_sentence(canvas: Phone, top: float, draft: Draft, taken: Mapping[int, int]) -> float:
    """The words so far, each with its probability below it; a click on one goes back to before it. Returns where the
    next thing can be drawn."""
    labels = [cut(word, LONGEST) for word in draft.beginning] + [cut(word, len(END)) for word, _ in draft.written]
    goes_on = not draft.ended and draft.room
    places = in_lines(labels + [" … "] * goes_on, 5)
    for number, (label, (line, column)) in enumerate(zip([*labels, " … "], places)):
        x, y, place = LEFT + WIDE * column, top + LINE * line, number - len(draft.beginning) + 1
        if 0 < place <= len(draft.written):
            share = draft.written[place - 1][1]
            canvas.text(x, y + 29, f"{share:.1%}", 11, "start", "quiet")
        new = place == len(draft.written)
        role = "quiet" if place < 1 else "here" if place == draft.place else "ink"
        canvas.text(x, y + 14, label, 12, "start", role, new, font_family=MONOSPACE)
    for number, (label, (line, column)) in enumerate(zip(labels, places)):
        place = number - len(draft.beginning) + 1
        if place > 0:
            put = " ".join(f"{one}:{rank}" for one, rank in taken.items() if one < place)
            box = LEFT + WIDE * column - 2, top + LINE * line, WIDE * max(len(label), 5) + 4, LINE - 3
            canvas.touch(*box, f"word {place}, {label}: go back to before it", group="words", taken=put, step=place - 1)
    return top + LINE * max(LEAST, places[-1][0] + 1 if places else 0)


def draw_choices(canvas: Phone, top: float, draft: Draft, taken: Mapping[int, int]) -> float:
    """The candidates for the next word as bars; a click on one writes it. Returns where the next thing can be drawn."""
    before = {place: rank for place, rank in taken.items() if place < draft.place}
    for number, (word, share) in enumerate(draft.candidates):
        y, here = top + ROW * number, number == draft.here
        canvas.text(NAME, y + 14, cut(word, LONGEST + 1), 12.5, "end", "here" if here else "ink", here)
        canvas.rect(NAME + 7, y + 3, 130 * share, 14, "data", data_id=f"bar {number}")
        canvas.text(NAME + 13 + 130 * share, y + 14, f"{share:.1%}", 12, "start", bold=here)
        canvas.text(350, y + 14, "written" if here else "", 12, "end", "here", True)
    for number, (word, _) in enumerate(draft.candidates):
        after = before if number == draft.own else before | {draft.place: draft.ranks[number]}
        put, here = " ".join(f"{place}:{rank}" for place, rank in after.items()), number == draft.here
        y, said = top + ROW * number, f"candidate {number + 1}, {word}"
        canvas.touch(0, y, 352, ROW, said, group="candidates", on=here, taken=put, step=draft.place)
    return top + ROW * len(draft.candidates)


def note_of(draft: Draft, target: Target, writer: Writer) -> str:
    """What is said below the candidates."""
    if draft.done:
        better = None if target.least is None else target.better
        greedy = " ".join(writer.words.words[one] for one in target.greedy if one != END_ID)
        return FOUND[better].format(greedy=greedy, share=chance(target.greedy_total))
    return ENDED if draft.ended else OPEN if draft.room else FULL


def task_of(target: Target) -> str:
    """The task, without its sign."""
    if target.least is None:
        return ANY
    said = BETTER if target.better else SECOND
    return said.format(greedy=chance(target.greedy_total), least=chance(target.least))


def draw_draft(draft: Draft, target: Target, note: str, taken: Mapping[int, int]) -> View:
    """The sentence so far with its probability, the candidates for its next word, and the task."""
    canvas = Phone(0)
    canvas.text(LEFT, 16, "your sentence", 12, "start", "quiet")
    if draft.written:
        canvas.hint(350, 16, "click a word to go back", "end")
    y = draw_sentence(canvas, 22, draft, taken) + 16
    share, total = chance(draft.total), two_decimals(draft.total)
    canvas.text(LEFT, y, f"probability {share}", 13.5, "start", bold=True)
    canvas.text(350, y, f"sum of logs {total}", 12.5, "end", "quiet")
    title = f"Candidates for word {draft.place}"
    canvas.text(LEFT, y + 28, title, 13.5, "start", bold=True)
    canvas.hint(350, y + 28, "click one", "end", kernel=True)
    y = draw_choices(canvas, y + 36, draft, taken)
    others = f"{draft.others[0]:,} others, together {draft.others[1]:.1%}"
    canvas.text(NAME + 7, y + 14, others, 12, "start", "quiet")
    task = f"{'✔' if draft.done else '○'} {task_of(target)}"
    low = canvas.prose(LEFT, y + 40, task, fill="right" if draft.done else "quiet", bold=draft.done)
    low = max(low, y + 40 + 3 * 17.5)
    canvas.prose(LEFT, low + 4, note)
    canvas.height = round(low + 4 + 4 * 17.5)
    candidates = ", ".join(f"{word} {share:.1%}" for word, share in draft.candidates)
    sentence = " ".join([*draft.beginning, *(word for word, _ in draft.written)]) or "no word yet"
    said = WRITTEN_SAID.format(
        sentence=sentence, share=share, total=total, title=title, candidates=candidates, others=others, note=note,
        task=task,
    )  # fmt: skip
    return canvas.view(said)


def next_word(
    step: Callable, words: Vocabulary, beginning: str | Sequence[str] = (), candidates: int = 10, limit: int = 16
) -> Explorer:
    """Write a sentence word by word: a click on one of the most probable next words writes it, a click on a word goes
    back to before it. The model goes on by itself: with the most probable word each time, or with words that are drawn.
    The words that were chosen stay, the others follow.

    step(tokens (1, 1), state) → logits (1, 1, v), state, and whatever else, as for `utils.decoding.write`; the first
    state is None. beginning: words that are there already. limit: how many words more there can be.

    ValueError: candidates that are not 2 to 12, a limit below 1, words of the beginning that are not in the vocabulary,
    a vocabulary of another size than the model's."""
    require_whole(candidates=candidates, limit=limit)
    if not 2 <= candidates <= 12:
        raise ValueError(f"candidates {candidates} must be 2 to 12: one picture has room for so many")
    first = words.encode(beginning, strict=True)
    if END_ID in first:
        raise ValueError(f"the beginning {beginning!r} ends with </s>: leave it out, or nothing can follow")
    writer = Writer(step, words)
    target = target_of(writer, first, candidates, limit)

    def draw(rule, taken, step):
        places = in_places(taken)
        written = written_by(writer, first, step, rule, places)
        draft = draft_of(writer, target, first, written, rule, candidates, limit)
        return draw_draft(draft, target, note_of(draft, target, writer), places)

    tries = (
        "",
        "1:2 3:4",
        *(f"{place}:{rank}" for place in range(1, 6) for rank in (2, 3, 4)),
        "0:1 2:99999 3:0 400:1",
    )
    rules = [("the most probable word", 0), *((f"a word drawn at random, draw {seed}", seed) for seed in (1, 2, 3))]
    controls = {
        "rule": menu("▶ writes", rules),
        "taken": text("chosen, as place:rank", "", tries),
        "step": slider("words written", 0, 0, limit),
    }
    return Explorer(draw, controls, replaced=["taken"], pace=PACE)


PACE = 900  # milliseconds from one word to the next, while it plays


# Beam search


class Beam(NamedTuple):
    """A beginning that was tried: its words or ids, the sum of their log-probabilities, which beam of the level before
    it goes on from, whether it is among the best that go on, and whether it has ended."""

    words: tuple
    total: float
    parent: int
    kept: bool
    ended: bool


Outlook = Callable[[tuple], Sequence[tuple[object, float, bool]]]


def beams(outlook: Outlook, width: int, limit: int, tried: int | None = None) -> list[list[Beam]]:
    """Beam search: for each level the beginnings that were tried, best first, of which the best `width` go on.

    outlook(words) says what can follow: (word, log-probability, does it end there?). A beam that has ended stays among
    the others as it is. tried: how many of a level are returned, all if None. Of equal sums, that of the better beam
    comes first. It ends when all beams have ended, or after `limit` levels."""
    require_whole(width=width, limit=limit)
    levels = [[Beam((), 0.0, 0, True, False)]]
    while len(levels) <= limit and not all(beam.ended for beam in levels[-1] if beam.kept):
        pool = []
        for number, beam in enumerate(levels[-1]):
            if beam.kept and beam.ended:
                pool.append(beam._replace(parent=number))
            elif beam.kept:
                pool += [
                    Beam((*beam.words, word), beam.total + log, number, True, ends)
                    for word, log, ends in outlook(beam.words)
                ]
        pool.sort(key=lambda beam: -beam.total)
        shown = pool[: max(tried, width) if tried else None]
        levels.append([beam._replace(kept=number < width) for number, beam in enumerate(shown)])
    return levels


class Search(NamedTuple):
    """A search that was done: its width, and its levels. percent: are sums shown as probabilities?"""

    width: int
    levels: list[list[Beam]]
    percent: bool

    @property
    def best(self) -> Beam:
        return self.levels[-1][0]


Tree = Mapping[str, tuple[float, Mapping]]


def require_tree(tree: Tree, path: tuple[str, ...] = ()) -> None:
    """ValueError unless each word has a probability and words that follow it, and probabilities sum to 1 at most."""
    place = f"after {' '.join(path)!r}" if path else "at the beginning"
    for word, entry in tree.items():
        if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], Mapping)):
            raise ValueError(f"{place}, {word!r} has {entry!r}: give (probability, what follows), such as (0.4, {{}})")
        if not 0 < entry[0] <= 1:
            raise ValueError(f"{place}, {word!r} has the probability {entry[0]!r}: give one above 0 and up to 1")
        require_tree(entry[1], (*path, word))
    if sum(share for share, _ in tree.values()) > 1 + 1e-9:
        shares = ", ".join(f"{share:g}" for share, _ in tree.values())
        raise ValueError(f"{place}, the probabilities {shares} sum to more than 1: make them smaller")


def searched(tree: Tree, width: int) -> Search:
    """Beam search in a tree of conditional probabilities, {word: (probability, what follows)}; a word that nothing
    follows ends a sentence. ValueError: a tree that is empty or not made so."""
    if not tree:
        raise ValueError("the tree has no words: give one or more, such as {'the': (0.6, {})}")
    require_tree(tree)

    def outlook(words: tuple) -> list[tuple[str, float, bool]]:
        here = functools.reduce(lambda node, word: node[word][1], words, tree)
        return [(word, math.log(share), not after) for word, (share, after) in here.items()]

    return Search(width, beams(outlook, width, 100), True)


def grown(step: Callable, words: Vocabulary, width: int, levels: int, state: object = None) -> Search:
    """Beam search with a model, as `utils.decoding.beam_search` does it, up to `levels` words: of each level the best
    width + 2 beginnings that were tried. step, state: as for `utils.decoding.write`."""
    require_whole(width=width, levels=levels)
    writer = Writer(step, words, state)
    found = beams(lambda ids: best_words(writer, ids, width + 2), width, levels, width + 2)
    named = [
        [beam._replace(words=tuple(plain(words.words[one]) for one in beam.words)) for beam in level] for level in found
    ]
    return Search(width, named, False)


# How it grows
ROWS, TALL, GAP = 6, 38, 30  # levels in a picture, how high a box is, how much is between two
MOST = 6  # boxes of a level
FIRST = 74  # where the levels begin
SMALLEST = "Find the smallest width that finds the best sentence."
GROW = "Which beginnings go on? The best {width} of those that are tried; the others are crossed out."
GROW_ONE = "Which beginning goes on? The best of those that are tried; the others are crossed out."
WINS = "“{best}” wins, {share}."
SAME = "Greedy search, width 1, finds the same."
OTHER = "Greedy search, width 1, finds “{greedy}”, {share}."
TREE_SAID = "Width {width}, level {level}. {rows} Chosen: {chosen}. {note} {task}"


def joined(words: Sequence[str]) -> str:
    """A sentence without its end."""
    return " ".join(word for word in words if word != END) or ("an empty sentence" if words else "no word yet")


def shown_total(beam: Beam, percent: bool) -> str:
    return f"{math.exp(beam.total):.1%}" if percent else two_decimals(beam.total)


def state_of(beam: Beam) -> str:
    return ("kept" if beam.kept else "pruned") + ", ended" * beam.ended


def path_to(levels: Sequence[Sequence[Beam]], level: int, number: int) -> dict[int, int]:
    """{level: number of the beam} on the way to a beam."""
    path = {}
    while level >= 0:
        path[level], number, level = number, levels[level][number].parent, level - 1
    return path


def draw_row(canvas: Phone, search: Search, level: int, y: float, path: Mapping[int, int], linked: bool) -> None:
    """The beams of a level, side by side, with lines from those that they go on from."""
    row = search.levels[level][:MOST]
    wide = min(96.0, 346 / len(row))
    for number, beam in enumerate(row):
        x, on = place_of(len(row), number), path.get(level) == number
        if linked:
            above = place_of(len(search.levels[level - 1][:MOST]), beam.parent)
            looks = {"stroke_width": 2.5 if on else 1.5} if beam.kept else {"stroke_dasharray": "3 3"}
            canvas.line(above, y - GAP, x, y, "here" if on else "data" if beam.kept else "edge", **looks)
        left, inner = x - wide / 2 + 2, wide - 4
        edge = {"stroke": "here" if on else "data" if beam.kept else "edge", "stroke_width": 2.5 if on else 1.5}
        dashes = {} if beam.kept else {"stroke_dasharray": "3 3"}
        canvas.rect(left, y, inner, TALL, "raised" if beam.kept else "ground", rx=5, **edge, **dashes)
        if not beam.kept:
            canvas.line(left + 3, y + TALL - 3, left + inner - 3, y + 3, "edge", 1.5)
        word = "start" if not beam.words else "end" if beam.words[-1] == END else beam.words[-1]
        ink = "ink" if beam.kept else "quiet"
        size, wider = (12, 7.2) if 7.2 * len(word) <= inner else (11, 6.2)
        canvas.text(x, y + 16, cut(word, int(inner / wider)), size, fill=ink, bold=beam.kept and size == 12)
        canvas.text(x, y + 32, shown_total(beam, search.percent), 11, fill=ink)
        if beam.ended:  # a flag
            right = left + inner - 9
            canvas.line(right, y - 11, right, y + 1, "right", 1.5)
            corners = (right, y - 11), (right + 8, y - 8), (right, y - 5)
            canvas.add("polygon", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in corners), fill="right")


def place_of(count: int, number: int) -> float:
    """The middle of box `number`, from 0, of so many side by side."""
    wide = min(96.0, 346 / count)
    return 178 + wide * (number - (count - 1) / 2)


def note_about(search: Search, greedy: Search, over: bool) -> str:
    if not over:
        return GROW.format(width=search.width) if search.width > 1 else GROW_ONE
    said = WINS.format(best=joined(search.best.words), share=shown_total(search.best, search.percent))
    if search.width == 1:
        return said
    same = greedy.best.words == search.best.words
    share = shown_total(greedy.best, greedy.percent)
    return f"{said} {SAME if same else OTHER.format(greedy=joined(greedy.best.words), share=share)}"


def draw_tree(search: Search, greedy: Search, level: int, chosen: int, done: bool, rows: int) -> View:
    """The search up to a level; number `chosen` of its beams, from 1, is looked at (0: the best)."""
    levels, over = search.levels, level == len(search.levels) - 1
    start = max(0, level - ROWS + 1)
    number = min(chosen or 1, len(levels[level][:MOST])) - 1
    beam, path = levels[level][number], path_to(levels, level, number)
    canvas = Phone(FIRST + rows * (TALL + GAP) + 150)
    title = f"width {search.width}, level {level}" + ": finished" * over
    canvas.text(6, 20, title, 14, "start", bold=True)
    canvas.hint(350, 20, "click a box", "end")
    heads = [one.words[: max(0, start)] for one in levels[level] if one.kept]
    shared = os.path.commonprefix(heads) if heads else ()
    if start:
        text_above = " ".join(shared)
        canvas.text(
            6, 42, "all begin: " + (text_above if len(text_above) < 46 else f"…{text_above[-45:]}"), 12, "start"
        )
    for place in range(start, level + 1):
        draw_row(canvas, search, place, FIRST + (place - start) * (TALL + GAP), path, place > start)
    for place in range(max(start, 1), level + 1):
        row = levels[place][:MOST]
        for index, one in enumerate(row):
            wide, x = min(96.0, 346 / len(row)), place_of(len(row), index)
            said = f"level {place}, {joined(one.words)}, {state_of(one)}"
            box = x - wide / 2, FIRST + (place - start) * (TALL + GAP), wide, TALL
            canvas.touch(*box, said, group="beams", on=path.get(place) == index, step=place, chosen=index + 1)
    y = FIRST + rows * (TALL + GAP) + 4
    picked = f"{joined(beam.words)}: {chance(beam.total)}, sum of logs {two_decimals(beam.total)}, {state_of(beam)}"
    note = note_about(search, greedy, over)
    task = f"{'✔' if done else '○'} {SMALLEST}"
    y = canvas.prose(6, y, picked, fill="here")
    y = canvas.prose(6, y + 4, note)
    canvas.prose(6, y + 4, task, fill="right" if done else "quiet", bold=done)
    said = "; ".join(
        f"{joined(one.words)} {shown_total(one, search.percent)} {state_of(one)}" for one in levels[level][:MOST]
    )
    return canvas.view(
        TREE_SAID.format(width=search.width, level=level, rows=said + ".", chosen=picked, note=note, task=task)
    )


def beam_tree(
    examples: Mapping[str, Tree | Sequence[Search]] | Sequence[Tree | Sequence[Search]],
    widths: Sequence[int] = (1, 2, 4),
) -> Explorer:
    """Beam search as a tree that grows level by level: which beginnings are tried, which go on, which sentence wins.

    The task is to find the smallest of the widths that finds the best sentence that any of them finds.

    examples: {name: example}, or a list. An example is a tree, {word: (probability, what follows)}, or what `grown` has
    found for each of the `widths`, as a list. ValueError: no examples, one that is neither, widths that do not begin
    with 1."""
    named = examples if isinstance(examples, Mapping) else {f"example {k}": one for k, one in enumerate(examples, 1)}
    if not named:
        raise ValueError("there are no examples: give one or more, such as {'a tree': {'the': (0.6, {})}}")
    require_whole(**{f"width_{number}": width for number, width in enumerate(widths, 1)})
    if [*widths] != sorted({1, *widths}):
        raise ValueError(f"the widths {[*widths]} must rise, and begin with 1, which is greedy search")
    found = {}
    for name, one in named.items():
        searches = [searched(one, width) for width in widths] if isinstance(one, Mapping) else [*one]
        if [getattr(search, "width", None) for search in searches] != [*widths]:
            raise ValueError(
                f"the example {name!r} must be a tree, or have a search for each of the widths {[*widths]}"
            )
        found[name] = searches

    def draw(example, width, step, chosen):
        searches = found[example]
        search = searches[[*widths].index(width)]
        level = min(step, len(search.levels) - 1)
        top = max(one.best.total for one in searches)
        smallest = next(one.width for one in searches if one.best.total > top - NEAR)
        rows = min(ROWS, max(len(one.levels) for one in searches))
        done = level == len(search.levels) - 1 and width == smallest
        return draw_tree(search, searches[0], level, chosen if level == step else 0, done, rows)

    longest = max(len(search.levels) - 1 for searches in found.values() for search in searches)
    anew = {"step": 1, "chosen": 0}
    controls = {
        "example": menu("example", list(found)),
        "width": menu("width", widths, width="140px"),
        "step": slider("level", 1, 1, longest),
        "chosen": slider("beam to look at", 0, 0, MOST),
    }
    follows = {"example": lambda value, state: anew, "width": lambda value, state: anew}
    follows["step"] = lambda value, state: {"chosen": 0}
    return Explorer(draw, controls, follows=follows, replaced=["chosen"], pace=1600)
