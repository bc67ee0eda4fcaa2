"""The moving picture at the head of README: a trained translator writes word by word, and ribbons show where it looks.

    python -m tools.notebooks.opening_picture         draw it anew into docs/ (`make links` does so, too)

The weights are those of the translator that the first notebook opens. The picture moves by CSS alone, as GitHub allows
in an image: three times, then it stays as it is at the end, which is also what people see who asked for less motion.
"""

from collections.abc import Sequence

import torch

from tools.notebooks.files import COURSE
from utils.files import write_whole
from utils.trained import TrainedTranslator
from utils.widgets.canvas import Phone, View

SOURCE = "two green witches opened the red door".split()
KEPT = "la"  # the word whose ribbons and shares are seen when nothing moves
TOP, BOTTOM, CAPTION, HEIGHT = 54, 138, 172, 182  # baselines of both sentences and of the line below; the height
STEP, REST, TIMES = 1.6, 3.2, 3  # seconds for each written word and at the end; how often it plays
SHOWN, THICKEST = 0.05, 20  # the smallest weight that has a ribbon; pixels of a weight of 1
FAINT = 0.2  # opacity of the ribbons of words that were written before


def centres(words: Sequence[str], size: float) -> list[float]:
    """The middle of each word of a line that fills the width."""
    wide = [0.56 * size * len(word) for word in words]
    gap = (340 - sum(wide)) / (len(words) - 1)
    return [8 + sum(wide[:k]) + gap * k + wide[k] / 2 for k in range(len(words))]


def shares(row: torch.Tensor) -> str:
    """Where a word looks, in words: "the 51 %, door 49 %"."""
    found = [(share, word) for share, word in zip(row.tolist(), SOURCE) if share >= SHOWN]
    return ", ".join(f"{word} {share:.0%}".replace("%", " %") for share, word in sorted(found, reverse=True))


def motion(count: int) -> str:
    """The animations: a word and its ribbons appear at its turn, a line in words stays until the next turn."""
    whole = STEP * count + REST
    rules = []
    for k in range(count):
        begin, soon, end = (100 * seconds / whole for seconds in (STEP * k, STEP * k + 0.4, STEP * (k + 1)))
        after = 100 * (STEP * (k + 1) + 0.4) / whole
        before = f"0%,{begin:.2f}%{{opacity:0}}" if k else "0%{opacity:0}"
        rules.append(f"@keyframes w{k}{{{before}{soon:.2f}%,100%{{opacity:1}}}}")
        rules.append(
            f"@keyframes r{k}{{{before}{soon:.2f}%,{end:.2f}%{{opacity:1}}{after:.2f}%,100%{{opacity:{FAINT}}}}}"
        )
        rules.append(
            f"@keyframes c{k}{{{before}{soon:.2f}%,{end:.2f}%{{opacity:1}}{end + 0.01:.2f}%,100%{{opacity:0}}}}"
        )
    moving = "".join(f".{kind}{k}{{animation-name:{kind}{k}}}" for k in range(count) for kind in "wrc")
    return (
        f".r{{opacity:{FAINT}}}.c{{opacity:0}}.r.kept,.c.kept{{opacity:1}}"
        f"@media(prefers-reduced-motion:no-preference){{.w,.r,.c{{animation-duration:{whole:g}s;"
        f"animation-iteration-count:{TIMES}}}{moving}}}"
    ) + "".join(rules)


def draw(translator: TrainedTranslator | None = None) -> View:
    """The picture: English above, Spanish below, ribbons as thick as the weights (q, k + 1) between them."""
    written, weights = (translator or TrainedTranslator())(SOURCE)
    canvas, above, below = Phone(HEIGHT), centres(SOURCE, 13), centres(written, 13)
    canvas.text(8, 20, "It translates. Where does it look for each word?", 12, "start", bold=True)
    for word, x in zip(SOURCE, above):
        canvas.text(x, TOP, word, 13)
    for k, (word, x) in enumerate(zip(written, below)):
        kept = " kept" * (word == KEPT)
        canvas.shapes.append(f'<g class="r r{k}{kept}">')
        for share, start in zip(weights[k].tolist(), above):
            if share >= SHOWN:
                middle = (TOP + BOTTOM) / 2 - 2
                path = f"M{start:.1f} {TOP + 6}C{start:.1f} {middle:g} {x:.1f} {middle:g} {x:.1f} {BOTTOM - 15}"
                wide = float(1 + round(THICKEST * share))
                canvas.add("path", d=path, fill="none", stroke="weight", stroke_width=wide, stroke_opacity="0.75")
        canvas.shapes.append("</g>")
        canvas.text(x, BOTTOM, word, 13, bold=True, **{"class": f"w w{k}"})
        looks = {"class": f"c c{k}{kept}"}
        canvas.text(8, CAPTION, f"for {word}: {shares(weights[k])}", 12.5, "start", "weight", **looks)
    said = "; ".join(f"{word}: {shares(row)}" for word, row in zip(written, weights))
    view = canvas.view(
        f"A trained translator reads “{' '.join(SOURCE)}” and writes “{' '.join(written)}”, word by word. "
        f"Ribbons show where it looks for each word. {said}."
    )
    return View(view.svg.replace("</style>", f"{motion(len(written))}</style>", 1), view.description)


def files() -> dict[str, str]:
    """{name of a file in docs/: the picture as SVG}, for light pages and for dark ones."""
    svg, schemes = draw().svg + "\n", {"opening.svg": "light", "opening_dark.svg": "dark"}
    return {name: svg.replace("color-scheme:light dark", f"color-scheme:{one}") for name, one in schemes.items()}


def main() -> None:
    for name, picture in files().items():
        write_whole(COURSE / "docs" / name, picture)


if __name__ == "__main__":
    main()
