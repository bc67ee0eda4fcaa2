"""A block that is taken apart: its parts are clicked on and off, and a model trained without them answers."""

from collections.abc import Callable, Collection, Mapping, Sequence

from ..checks import require_list
from .canvas import Phone, View
from .controls import Explorer, checkbox, text

PARTS = ("positions", "attention", "skip", "norm", "feed_forward", "more_blocks")
NAMES = {"positions": "positions", "attention": "attention", "skip": "skip connections", "norm": "norms",
         "feed_forward": "feed-forward layers", "more_blocks": "more blocks"}  # fmt: skip
GOOD, BAD = 0.95, 0.7  # from where on a block copes; below which it fails
CELL, LEFT = 34.0, 58.0  # of the digits
X, SIDE = 92, 232  # of the stream, and of what stands beside it

Answer = Callable[[frozenset, Sequence[int]], Sequence[int]]


def stands_in(shares: Mapping[frozenset, float], missing: Collection[str]) -> bool:
    """Two parts of which either may be missing, but not both?"""
    every = frozenset(PARTS)
    alone = [shares[every - {part}] for part in missing]
    return len(missing) == 2 and min(alone) >= GOOD and shares[every - set(missing)] < BAD


def draw_switch(
    canvas: Phone, x: float, y: float, part: str, on: bool, name: str, wide: float = 118, where: str = ""
) -> None:
    """A part as a box, dashed and pale where it is taken out; a click puts it in or takes it out. where: which one of
    two boxes it is, for screen readers."""
    more = {} if on else {"stroke_dasharray": "4 4"}
    canvas.rect(x - wide / 2, y - 15, wide, 30, "raised" if on else "ground", stroke="ink" if on else "edge",
                stroke_width=2 if on else 1.5, rx=6, **more)  # fmt: skip
    canvas.text(x, y + 4.5, name, 12.5, fill="ink" if on else "quiet", bold=on)
    canvas.touch(x - wide / 2, y - 15, wide, 30, NAMES[part] + where, group="parts", on=on, **{part: not on})


def draw_sublayer(canvas: Phone, low: float, part: str, on: Collection[str]) -> None:
    """One sublayer above the height `low`: its norm, itself, and the sum with what came past it."""
    y_norm, y_part, back = low - 34, low - 78, low - 112
    colour = "quiet" if part in on else "edge"
    canvas.line(X, low, SIDE, low, colour, 2)
    canvas.line(SIDE, low, SIDE, back, colour, 2)
    draw_switch(canvas, SIDE, y_norm, "norm", "norm" in on, "norm", where=f", at {NAMES[part]}")
    draw_switch(canvas, SIDE, y_part, part, part in on, NAMES[part].replace(" layers", ""))
    canvas.add("circle", cx=X, cy=back, r=10, fill="ground", stroke="quiet", stroke_width=1.5)
    canvas.arrow(SIDE, back, X + 10, back, colour, 2)
    canvas.text(X, back + 5, "+" if "skip" in on else "", 14, bold=True)


def draw_skip(canvas: Phone, low: float, part: str, on: Collection[str]) -> None:
    """The stream past a sublayer, which is cut where there is no skip connection."""
    back = low - 112
    kept = "skip" in on or part not in on
    more = {} if kept else {"stroke_dasharray": "2 7"}
    canvas.line(X, low, X, back + 10, "data" if kept else "edge", 4, **more)
    name = "skip" if "skip" in on else "no skip"
    draw_switch(canvas, X - 38, low - 56, "skip", "skip" in on, name, 64, f", past {NAMES[part]}")


def draw_digits(canvas: Phone, y: float, digits: Sequence[int], said: Sequence[int]) -> int:
    """The digits, and below them what the block says, each right or wrong; returns how many are right."""
    right = [(one + other) % 10 for one, other in zip(digits, reversed(digits))]
    canvas.text(6, y + 15, "digits", 12, "start", "quiet")
    canvas.text(6, y + 45, "it says", 12, "start", "quiet")
    for number, (digit, answer, wanted) in enumerate(zip(digits, said, right)):
        x, role = LEFT + CELL * number, "right" if answer == wanted else "wrong"
        canvas.rect(x + 1, y, CELL - 2, 22, "raised", stroke="edge", rx=3)
        canvas.text(x + CELL / 2, y + 16, digit, 13)
        canvas.rect(x + 1, y + 28, CELL - 2, 24, "ground", stroke=role, stroke_width=1.5, rx=3)
        canvas.text(x + CELL / 2, y + 45, f"{answer}{'✔' if answer == wanted else '✘'}", 13, fill=role, bold=True)
    return sum(one == other for one, other in zip(said, right))


def draw_parts(on: frozenset, share: float, digits: Sequence[int], said: Sequence[int], done: bool, typed: str) -> View:
    """A block with these parts, what share of new digits it gets right, and its answers to some, read from a text."""
    canvas, missing = Phone(550), [part for part in PARTS if part not in on]
    canvas.hint(348, 16, "click a part", "end")
    canvas.rect(14, 92, 334, 250, "none", stroke="edge", stroke_width=1.5, rx=10)
    out, low = 30.0, 330.0
    canvas.arrow(X, low - 214, X, out + 14, "data", 4)
    canvas.text(X, out + 6, "answer", 12.5, bold=True)
    feet = {"attention": low, "feed_forward": low - 112}
    for part, foot in feet.items():
        draw_skip(canvas, foot, part, on)
    for part, foot in feet.items():
        draw_sublayer(canvas, foot, part, on)
    canvas.line(X, low + 46, X, low, "data", 4)
    more = "more_blocks" in on
    draw_switch(canvas, 278, low - 238, "more_blocks", more, "× 3 blocks" if more else "× 1 block", 122)
    draw_switch(canvas, SIDE, low + 32, "positions", "positions" in on, "+ positions")
    canvas.arrow(SIDE - 59, low + 32, X + 4, low + 32, "quiet" if "positions" in on else "edge", 2)
    canvas.text(X - 10, low + 40, "digits", 12.5, "end", bold=True)
    y = low + 62
    canvas.rect(8, y, 340, 20, "ground", stroke="edge", rx=3)
    role = "right" if share >= GOOD else "wrong" if share < BAD else "quiet"
    canvas.rect(8, y, 340 * share, 20, role, fill_opacity="0.35", rx=3, data_id="share")
    without = " and ".join(NAMES[part] for part in missing) if len(missing) < 3 else f"{len(missing)} parts"
    name = f"without {without}" if missing else "with all parts"
    canvas.text(14, y + 15, f"{share:.0%} right", 13.5, "start", bold=True)
    canvas.text(342, y + 15, name, 11.5, "end")
    right = draw_digits(canvas, y + 30, digits, said)
    task = f"{'✔' if done else '○'} Find two parts of which either may be missing, but not both."
    y = canvas.prose(8, y + 106, task, 12.5, fill="right" if done else "ink")
    wrong = "" if typed == "".join(map(str, digits)) else f" Type {len(digits)} digits: others are left out, or 0."
    canvas.prose(8, y, wrong.strip(), 12.5, fill="wrong")
    return canvas.view(
        f"A block {name}: {share:.0%} of new digits right. Digits {' '.join(map(str, digits))}: it says "
        f"{' '.join(map(str, said))}, {right} of {len(digits)} right. {task}{wrong}"
    )


def digits_of(typed: str, count: int) -> list[int]:
    """The digits of a text, as many as wanted: cut off, or filled up with 0."""
    found = [int(sign) for sign in typed if sign in "0123456789"][:count]
    return found + [0] * (count - len(found))


def block_parts(answer: Answer, shares: Mapping[frozenset, float], digits: str, tries: Sequence[str] = ()) -> Explorer:
    """Click the parts of a block on and off: a model that was trained with these parts says, for each digit, the sum of
    itself and of its mirror image, mod 10.

    answer(parts, digits): what the model with these parts says. shares: {parts: how many digits it gets right}."""

    def draw(digits, **on):
        parts = frozenset(part for part in PARTS if on[part])
        given = digits_of(digits, count)
        done = stands_in(shares, set(PARTS) - parts)
        return draw_parts(parts, shares[parts], given, list(answer(parts, given)), done, digits.strip())

    require_list(tries=tries)
    count = len(digits)
    controls = {part: checkbox(NAMES[part], True, "170px") for part in PARTS}
    controls["digits"] = text(f"{count} digits", digits, tries, "300px")
    return Explorer(draw, controls, replaced=PARTS)
