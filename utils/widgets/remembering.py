"""What a recurrent network remembers: a number behind a gate, and what networks learn of a word far back."""

import math
from collections.abc import Mapping, Sequence

from .canvas import Phone, View
from .controls import Explorer, menu, slider

# One gate
FAR, STEPS = 20, 40  # the step that is asked about, and the last one
FOOT, TALL, LEFT, APART = 280, 104, 16, 8  # of the bars: their foot, the highest, the first, from one to the next


def draw_pipes(canvas: Phone, z: float) -> None:
    """Old number and proposal flow into the new number, each through its own valve."""
    for y, name, share in ((56, "old number", z), (108, "proposal", 1 - z)):
        canvas.rect(8, y - 16, 92, 32, "raised", stroke="edge", rx=6)
        canvas.text(54, y + 4.5, name, 13)
        if share:
            canvas.line(100, y, 176, y, "weight", 1 + 15 * share)
            canvas.line(176, y, 246, 82, "weight", 1 + 15 * share)
        canvas.text(138, y - 18, f"{share:.0%}", 13, fill="weight", bold=True)
    canvas.rect(246, 66, 102, 32, "raised", stroke="ink", rx=6)
    canvas.text(297, 86.5, "new number", 13)


def draw_gate(hundredths: int) -> View:
    """A gate as two valves, and what is left of a number step by step, where the gate stays like that."""
    z, canvas = hundredths / 100, Phone(388)
    canvas.text(8, 22, f"gate z = {z:.2f}", 14, "start", "weight", True)
    draw_pipes(canvas, z)
    y, unit = 144, 330 / 100
    canvas.line(12, y, 12 + 330, y, "quiet", 2)
    canvas.add("circle", cx=12 + unit * hundredths, cy=y, r=6, fill="here", data_id="gate")
    canvas.handle(12 + unit * hundredths, y, "gate in hundredths", f"{hundredths}", x=("gate", 12, unit))
    for step in range(STEPS + 1):
        x, role = LEFT + APART * step, "here" if step == FAR else "data"
        canvas.rect(x, FOOT - TALL * z**step, APART - 2, TALL * z**step, role, data_id=f"left {step}")
        if step % 10 == 0:
            canvas.text(x + 3, FOOT + 16, step, 12, fill="here" if step == FAR else "quiet")
    canvas.text(348, FOOT - TALL - 7, "what is left of a number, step by step", 12, "end", "quiet")
    left, half = z**FAR, math.log(0.5) / math.log(z) if 0 < z < 1 else (math.inf if z else 0.0)
    lasts = f"after {half:.1f} steps" if math.isfinite(half) else "never"
    said = f"After {FAR} steps, {share_in_words(left)} is left. It falls to one half {lasts}."
    end = canvas.prose(8, FOOT + 42, said, 13)
    found = left >= 0.5 and (z - 0.01) ** FAR < 0.5
    task = f"{'✔' if found else '○'} Find the smallest gate that keeps half of a number for {FAR} steps."
    canvas.prose(8, end + 3, task, 12.5, fill="right" if found else "quiet")
    return canvas.view(
        f"Gate z = {z:.2f}: {z:.0%} of the old number stays, {1 - z:.0%} of the proposal comes in. {said} {task}"
    )


def share_in_words(share: float) -> str:
    """A share in per cent; not one that is too small to mean anything."""
    return f"{100 * share:.3g} %" if share >= 1e-4 or not share else "less than 0.01 %"


def gate() -> Explorer:
    """Drag a gate: how much of the old number stays, and what that leaves of it after 20 steps."""
    return Explorer(
        lambda gate: draw_gate(gate), {"gate": slider("gate, in hundredths", 50, 0, 100)}, replaced=["gate"]
    )


# What networks learn of a word far back
ENOUGH = 0.9  # the share right that counts as learned
Film = Mapping[int, Sequence[float]]  # {step: the share right at each distance}


def draw_buttons(canvas: Phone, y: float, control: str, options: Sequence[str], chosen: str) -> None:
    """Options side by side, of which one is chosen by a click."""
    wide = 340 / len(options)
    for number, option in enumerate(options):
        x, here = 8 + wide * number, option == chosen
        canvas.rect(
            x + 1, y, wide - 2, 26, "raised", stroke="here" if here else "edge", stroke_width=2.5 if here else 1, rx=5
        )
        canvas.text(x + wide / 2, y + 17.5, option, 12.5, fill="here" if here else "ink", bold=here)
        canvas.touch(x, y, wide, 26, option, on=here, **{control: option})


def draw_recall(
    films: Mapping[tuple[str, str], Film], distances: Sequence[int], network: str, practice: str, picture: int
) -> View:
    """What one network has learned so far: the share right by the distance of the word that is asked for, and over the
    steps, at the middle distance."""
    film, steps, canvas = films[network, practice], max((list(film) for film in films.values()), key=len), Phone(446)
    film, step = {one: film.get(one, film[max(film)]) for one in steps}, steps[picture]
    draw_buttons(canvas, 8, "network", list(dict.fromkeys(name for name, _ in films)), network)
    draw_buttons(canvas, 40, "practice", list(dict.fromkeys(name for _, name in films)), practice)
    canvas.text(8, 88, f"after {step:,} steps of training", 13.5, "start", bold=True)
    canvas.text(348, 88, "share right", 12, "end", "quiet")
    for number, (distance, share) in enumerate(zip(distances, film[step])):
        y = 98 + 26 * number
        canvas.text(92, y + 15, f"{distance} back", 12.5, "end")
        canvas.rect(100, y + 2, 196 * share, 18, "data", data_id=f"right {distance}")
        canvas.text(104 + 196 * share, y + 15.5, f"{share:.0%}", 12.5, "start")
    low = 98 + 26 * len(distances)
    chance = 100 + 196 / 8
    canvas.line(chance, 96, chance, low, "ink", 1.3, stroke_dasharray="4 3")
    canvas.text(chance + 4, low + 13, "a guess", 11.5, "start", "quiet")
    top, foot, middle = low + 52, low + 110, len(distances) // 2
    canvas.text(8, low + 34, f"{distances[middle]} back, over the steps", 12, "start", "quiet")
    apart = 326 / max(1, len(steps) - 1)
    at = [(14 + apart * k, foot - (foot - top) * film[one][middle]) for k, one in enumerate(steps)]
    canvas.line(14, foot, 340, foot, "edge")
    for k, one in enumerate(steps):
        if k % 2 == 0:
            canvas.text(14 + apart * k, foot + 16, f"{one:,}", 11, "end" if k == len(steps) - 1 else "middle", "quiet")
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at[: picture + 1])
    canvas.add("polyline", points=path, fill="none", stroke="data", stroke_width=2.5)
    x, y = at[picture]
    canvas.add("circle", cx=x, cy=y, r=5, fill="data", data_id="now")
    canvas.handle(x, y, "step of the training", f"{step}", "data", x=("picture", 14, apart))
    found = network.startswith("Elman") and film[step][-1] > ENOUGH
    task = f"{'✔' if found else '○'} Make an Elman network right at {distances[-1]} words back. What does it take?"
    end = canvas.prose(8, foot + 40, task, 12.5, fill="right" if found else "quiet")
    canvas.height = round(end - 4)
    shares = ", ".join(f"{distance} back {share:.0%}" for distance, share in zip(distances, film[step]))
    return canvas.view(f"{network}, {practice}, after {step:,} steps: {shares}. {task}")


def recall(films: Mapping[tuple[str, str], Film], distances: Sequence[int]) -> Explorer:
    """Choose a network and what it practises, and watch it learn to recall a word. films: {(network, practice): {step:
    the share right at each of the distances}}; one that ends early stays as it is. ValueError: they do not fit."""
    longest = max((list(film) for film in films.values()), key=len)
    sizes = {len(shares) for film in films.values() for shares in film.values()}
    if any(list(film) != longest[: len(film)] for film in films.values()) or sizes != {len(distances)}:
        raise ValueError("every film should have the same steps, and at each step a share for every distance")
    controls = {
        "network": menu("network", dict.fromkeys(name for name, _ in films)),
        "practice": menu("practice", dict.fromkeys(name for _, name in films)),
        "picture": slider("picture", 0, 0, len(longest) - 1),
    }
    return Explorer(
        lambda network, practice, picture: draw_recall(films, distances, network, practice, picture),
        controls,
        replaced=["network", "practice"],
        pace=700,
    )
