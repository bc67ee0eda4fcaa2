"""Train the small models of the notebook beyond text with several seeds, for its tables.

    python -m experiments.compare_beyond [digits rivals map photo fits motifs distance] [--seeds 0 1 2 3 4]

(Eighteen minutes.) digits: what positions and shuffling do to a Transformer of patches; rivals: the same for a
convolutional network and logistic regression; map: where a hidden patch looks, and the map rebuilt from that; photo:
patches of a photograph restored, and whether the position vectors become a map; fits: map and restored patches without
a model; motifs: accuracy, where the largest weight lies, and what cutting changes; distance: two motifs whose distance
decides.
Each figure is the mean over the seeds, and from the smallest to the largest.
"""

import argparse
import itertools
import time
from statistics import fmean

import torch
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch import nn

from utils import beyond, measures, training, transformer

F = nn.functional
DISTANCE = beyond.distances()  # (n, n)


# Images


def digits():
    """Images (1797, 8, 8) from 0 to 1, their digits (1797,), and which are for training and for testing."""
    data = load_digits()
    order = torch.randperm(1797, generator=torch.Generator().manual_seed(0))
    return torch.tensor(data.images / 16, dtype=torch.float32), torch.tensor(data.target), order[500:], order[:500]


def fixed_order():
    return torch.randperm(16, generator=torch.Generator().manual_seed(2))


def some_of(inputs, targets, rows):
    """A function that draws a batch."""

    def draw(count):
        chosen = rows[torch.randint(len(rows), (count,))]
        return inputs[chosen], targets[chosen]

    return draw


def trained(model, draw, steps, rate, loss=training.loss_of, batch=64):
    training.fit(model, training.endless(draw, batch), loss, steps, learning_rate=rate)
    return model


def as_on_the_map(positions, places):
    """Spearman's correlation of how alike position vectors (n, d) are with how near their places (n,) are."""
    upper = torch.triu_indices(16, 16, 1)
    near = -DISTANCE[places][:, places][tuple(upper)]
    return spearmanr(beyond.likeness(positions.detach())[tuple(upper)], near).statistic


def classify(seed, positions=True, order=None, own=False, steps=800):
    images, targets, train, test = digits()
    patches = beyond.patchify(images, 2)
    patches = patches if order is None else patches[:, order]
    patches = beyond.shuffled(patches, 1) if own else patches
    training.seed(seed)
    model = beyond.PatchTransformer(positions)
    begun = model.positions.detach().clone() if positions else None
    trained(model, some_of(patches, targets, train), steps, 3e-3)
    shuffled = beyond.shuffled(patches[test], 9)
    measured = [measures.accuracy(model, given, targets[test]) for given in (patches[test], shuffled)]
    left = torch.randperm(16, generator=torch.Generator().manual_seed(3))[:12]
    with torch.no_grad():
        moved = (model(patches[test])[0] - model(shuffled)[0]).abs().max().item()
        measured += [(model(patches[test][:, left], left)[0].argmax(-1) == targets[test]).float().mean().item(), moved]
    if not positions:
        return [*measured, 0.0, 0.0]
    places = torch.arange(16) if order is None else order
    moved = (model.positions.detach() - begun).norm() / begun.norm()
    return [*measured, as_on_the_map(model.positions, places), moved.item()]


class Convolutions(nn.Module):
    """Two convolutions of 3 x 3, a maximum over 2 x 2, a linear layer."""

    def __init__(self):
        super().__init__()
        first, second = nn.Conv2d(1, 24, 3, padding=1), nn.Conv2d(24, 32, 3, padding=1)
        self.parts = nn.Sequential(
            first, nn.ReLU(), second, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 10)
        )

    def forward(self, images):
        return self.parts(images[:, None]), None


def rivals(seed, kind, order=None, own=False):
    images, targets, train, test = digits()
    patches = beyond.patchify(images, 2)
    patches = patches if order is None else patches[:, order]
    laid = beyond.unpatchify(beyond.shuffled(patches, 1) if own else patches, 8, 8)
    if kind == "logistic":
        model = LogisticRegression(max_iter=3000, random_state=seed)
        return [model.fit(laid[train].flatten(1), targets[train]).score(laid[test].flatten(1), targets[test])]
    training.seed(seed)
    model = trained(Convolutions(), some_of(laid, targets, train), 600, 3e-3)
    return [measures.accuracy(model, laid[test], targets[test])]


# The map


def hide(count, hidden=6, n=16):
    """Which patches are hidden (count, n)."""
    return torch.rand(count, n).argsort(-1) < hidden


def restored_loss(model, batch):
    patches, hidden = batch
    restored, _ = model(patches, hidden)
    return F.mse_loss(restored[hidden], patches[hidden])


def looks(weights, hidden):
    """How much weight a hidden place (row) gives to one that is seen (column), 1 for as much as the others give to it:
    (n, n). weights (b, h, q, k) of one layer; hidden (b, n)."""
    pairs = (hidden[:, :, None] & ~hidden[:, None, :]).float()  # (b, q, k)
    mean = (weights.mean(1) * pairs).sum(0) / pairs.sum(0).clamp(min=1)
    return mean / (mean.sum(0) / (len(mean) - 1))


def laid(weight, places):
    """Numbers (n, n) for patches that belong to these places (n,), in the order of the places."""
    back = places.argsort()
    return weight[back][:, back]


def lay_out(weight, starts=20):
    """A place of the 4 x 4 grid for each patch (n,), those with much weight (n, n) between them near each other: from
    random layouts, two patches change places as long as that helps. The same as in the notebook."""
    pull, chance, best = (weight + weight.T).double(), torch.Generator().manual_seed(0), (torch.inf, None)
    for _ in range(starts):
        place = torch.randperm(16, generator=chance)
        cost, before = (pull * DISTANCE[place][:, place]).sum().item(), torch.inf
        while cost < before:
            before = cost
            for i, j in itertools.combinations(range(16), 2):
                other = place.clone()
                other[[i, j]] = place[[j, i]]
                changed = (pull * DISTANCE[other][:, other]).sum().item()
                if changed < cost:
                    place, cost = other, changed
        best = min(best, (cost, place.tolist()))
    return torch.tensor(best[1])


def neighbours_kept(place, places):
    """The share of the 24 pairs of neighbours on the true map that are neighbours in the layout."""
    side = DISTANCE == 1
    return (side[place][:, place] & side[places][:, places]).sum().item() / 48


def patches_right(place, places):
    """The share of patches that stand where they belong, the layout turned and mirrored as suits best."""
    grid = torch.arange(16).view(4, 4)
    turned = [torch.rot90(one, k).flatten() for one in (grid, grid.T) for k in range(4)]
    return max((one[place] == places).float().mean().item() for one in turned)


def restore(seed, order=None, own=False, steps=1200, rate=6e-3, shuffle=3):
    images, _, train, test = digits()
    patches = beyond.patchify(images, 2)
    patches = patches if order is None else patches[:, order]
    patches = beyond.shuffled(patches, shuffle) if own else patches
    places = torch.arange(16) if order is None else order
    training.seed(seed)

    def draw(count):
        return patches[train[torch.randint(len(train), (count,))]], hide(count)

    model = trained(beyond.PatchRestorer(), draw, steps, rate, restored_loss)
    hidden = hide(500)
    with torch.no_grad():
        restored, weights = model(patches[test], hidden)
        error = F.mse_loss(restored[hidden], patches[test][hidden]).item()
    mean = patches[train].mean(0).expand(500, -1, -1)
    measured = [error, F.mse_loss(mean[hidden], patches[test][hidden]).item()]
    for seen in [looks(one, hidden) for one in weights]:
        place, near = lay_out(seen), beyond.nearest_two(laid(seen, places))
        measured += [near, neighbours_kept(place, places), patches_right(place, places)]
    first = laid(looks(weights[0], hidden), places)
    measured += [*beyond.sides(first).values(), *beyond.nearest_by_chance(first)]
    return [*measured, as_on_the_map(model.positions, places)]


def by_neighbours(patches, hidden):
    """Hidden patches (b, n, 3 p) in the mean colour of the neighbours that are visible, or of all that are."""
    near = ((DISTANCE == 1) & ~hidden[:, None]).float()  # (b, q, k)
    near = torch.where(near.sum(-1, keepdim=True) > 0, near, (~hidden[:, None]).float().expand_as(near))
    colours = patches.unflatten(-1, (3, -1)).mean(-1)  # (b, n, 3)
    mean = near @ colours / near.sum(-1, keepdim=True)
    return mean[..., None].expand(-1, -1, -1, patches.shape[-1] // 3).flatten(2)


def photo(seed, own=False, steps=500, rate=6e-3):
    """Windows of a photograph; three columns of them are left out, and restored. own: each in an order of its own."""
    inputs, left_out = beyond.photograph_in_windows()
    training.seed(seed)

    def draw(count):
        patches = inputs[torch.randint(len(inputs), (count,))]
        if own:
            order = torch.rand(count, 16).argsort(-1)
            patches = patches.gather(1, order[..., None].expand_as(patches))
        return patches, hide(count)

    model = trained(beyond.PatchRestorer(d_patch=48), draw, steps, rate, restored_loss)
    torch.manual_seed(0)
    hidden = hide(len(left_out))
    with torch.no_grad():
        restored, weights = model(left_out, hidden)
    rival, mean = by_neighbours(left_out, hidden), inputs.mean((0, 1)).expand_as(left_out)
    errors = [F.mse_loss(one[hidden], left_out[hidden]).item() for one in (restored, rival, mean)]
    order = torch.arange(16)
    return [*errors, as_on_the_map(model.positions, order), beyond.nearest_two(laid(looks(weights[0], hidden), order))]


def linear_fit(patches):
    """How much each of the patches (b, n, p) takes from each other one, if least squares predict it from all others:
    (n, n). The same as in the notebook."""
    rows, taken = (patches - patches.mean(0)).double(), []
    for i in range(16):
        others = rows.index_fill(1, torch.tensor(i), 0)
        fit = torch.linalg.lstsq(others.flatten(1), rows[:, i], driver="gelsd").solution.view(16, 4, 4)
        taken.append(torch.einsum("bnp,npr->bnr", others, fit).square().mean((0, 2)).sqrt())
    return torch.stack(taken)


def restored_by_fit(known, patches, hidden, ridge=3e-3):
    """The error of hidden patches that least squares predict from the visible ones, fitted to `known` (b, n, p) for
    each image anew, as other patches are visible. A pixel that is always paper needs the ridge."""
    known, patches = known.flatten(1).double(), patches.flatten(1).double()
    both, squares = known.T.cov() + ridge * torch.eye(64), []
    for pixels, gone in zip(patches - known.mean(0), hidden.repeat_interleave(4, 1)):
        fit = torch.linalg.solve(both[~gone][:, ~gone], both[~gone][:, gone])
        squares.append((pixels[~gone] @ fit - pixels[gone]) ** 2)
    return torch.cat(squares).mean().item()


def without_a_model(seed):
    """The same map from a linear fit of each patch to all others, and from plain correlations of the patches' ink."""
    images, _, train, test = digits()
    order = fixed_order()
    patches = beyond.patchify(images, 2)[:, order]
    linear = linear_fit(patches[train])
    torch.manual_seed(seed)
    measured = [restored_by_fit(patches[train], patches[test], hide(500))]
    for alike in (linear / (linear.sum(0) / 15), torch.corrcoef(patches.mean(-1).T)):
        place = lay_out(alike)
        measured += [beyond.nearest_two(laid(alike, order)), neighbours_kept(place, order), patches_right(place, order)]
    return measured


# DNA


def by_rule(bases):
    """The class by the rule itself: AP-1 and E-box both somewhere in the bases (b, n), whoever put them there."""
    words = ["".join(beyond.BASES[i] for i in row) for row in bases.tolist()]
    return torch.tensor([int(("TGACTCA" in word or "TGAGTCA" in word) and "CACGTG" in word) for word in words])


def cut(bases, places, size, generator):
    """The bases (b, n) with random ones in `size` places from places (b,) on; nothing where that is negative."""
    bases = bases.clone()
    beyond.plant(bases, places, "N" * size, generator)
    return bases


class WindowReader(nn.Module):
    """The rival without attention: the largest value of each feature over all windows."""

    def __init__(self, d_model=32, window=8):
        super().__init__()
        self.windows, self.to_logits = nn.Conv1d(4, d_model, window), nn.Linear(2 * d_model, 2)
        self.hidden = nn.Linear(d_model, 2 * d_model)

    def forward(self, bases):
        return self.to_logits(F.relu(self.hidden(F.relu(self.windows(bases.mT)).amax(-1)))), None


class PlacedWindowReader(nn.Module):
    """The same rival with what `MotifReader` has besides attention: a norm, waves as positions, and a layer that reads
    window and place together; 7,522 parameters against 9,602."""

    def __init__(self, d_model=32, window=8):
        super().__init__()
        self.windows, self.norm = nn.Conv1d(4, d_model, window), transformer.LayerNorm(d_model)
        self.positions = transformer.POSITIONS["sine"](d_model=d_model, max_len=128)
        self.features, self.hidden = nn.Linear(d_model, 2 * d_model), nn.Linear(2 * d_model, 2 * d_model)
        self.to_logits = nn.Linear(2 * d_model, 2)

    def forward(self, bases):
        x = self.positions(self.norm(F.relu(self.windows(bases.mT)).mT))  # (b, k, d)
        largest = F.relu(self.features(x)).amax(-2)  # (b, 2d)
        return self.to_logits(F.relu(self.hidden(largest))), None


def motifs(seed, shuffle=False, rival=False, steps=700, rate=4e-3):
    draw = torch.Generator().manual_seed(100)
    bases, labels, places = beyond.motif_sequences(8000, draw)
    test, truth, test_places = beyond.motif_sequences(2000, draw)
    training.seed(seed)
    model = WindowReader() if rival else beyond.MotifReader()
    taught = labels[torch.randperm(8000)] if shuffle else labels
    trained(model, some_of(beyond.one_hot(bases), taught, torch.arange(8000)), steps, rate)
    with torch.no_grad():
        logits, weights = model(beyond.one_hot(test))
    found = logits.argmax(-1)
    measured = [(found == truth).float().mean().item(), (by_rule(test) == truth).float().mean().item()]
    measured += [found.float().mean().item()]
    measured += [0.0] * 3 if rival else beyond.top_windows(weights[0], test_places).values()
    both = (truth == 1) & (test_places[:, 2] >= 0)
    both &= True if shuffle else found == 1
    elsewhere = torch.where((test_places[:, :, None] - torch.arange(110)).abs().amin(1) > 9, 1.0, 0.0)
    before, flipped, moved = logits[both].diff(dim=-1), [], []
    for where in (*test_places[both].T, elsewhere[both].multinomial(1, generator=draw)[:, 0]):
        with torch.no_grad():
            after = model(beyond.one_hot(cut(test[both], where, 7, draw)))[0].diff(dim=-1)
        flipped.append(((after > 0) != (before > 0)).float().mean().item())
        moved.append((after - before).abs().mean().item())
    return [*measured, *flipped, *(1000 * one for one in moved)]


READERS = {  # before and after the motifs are known
    "attention": lambda: (beyond.MotifReader(), beyond.MotifReader("sine")),
    "attention, no positions": lambda: (beyond.MotifReader(), beyond.MotifReader()),
    "largest": lambda: (WindowReader(), WindowReader()),
    "largest, positions": lambda: (PlacedWindowReader(), PlacedWindowReader()),
}


def distance(seed, kind, begins=True, steps=700):
    """The class that the distance decides; `begins`: with the weights of a reader of motifs, as in the notebook."""
    draw = torch.Generator().manual_seed(100)
    bases, labels, _ = beyond.motif_sequences(8000, draw)
    draw = torch.Generator().manual_seed(101)
    pairs, near = beyond.motif_pairs(8000, draw)
    test, truth = beyond.motif_pairs(2000, draw)
    training.seed(seed)
    first, model = READERS[kind]()
    every = torch.arange(8000)
    if begins:
        trained(first, some_of(beyond.one_hot(bases), labels, every), 700, 4e-3)
        model.load_state_dict(first.state_dict())
    training.seed(seed)
    trained(model, some_of(beyond.one_hot(pairs), near, every), steps, 3e-3)
    return [measures.accuracy(model, beyond.one_hot(test), truth), (truth == 0).float().mean().item()]


TABLES = {
    "digits": (
        [
            "test",
            "each test image shuffled",
            "4 patches left out",
            "logits move by",
            "positions as on the map",
            "table moved by",
        ],
        {
            "no positions": lambda seed: classify(seed, positions=False),
            "positions": classify,
            "positions, one order for all": lambda seed: classify(seed, order=fixed_order()),
            "positions, each its own order": lambda seed: classify(seed, own=True),
        },
    ),
    "rivals": (
        ["test"],
        {
            "convolutions": lambda seed: rivals(seed, "convolutions"),
            "convolutions, one order for all": lambda seed: rivals(seed, "convolutions", fixed_order()),
            "convolutions, each its own order": lambda seed: rivals(seed, "convolutions", own=True),
            "logistic regression": lambda seed: rivals(seed, "logistic"),
            "logistic regression, one order for all": lambda seed: rivals(seed, "logistic", fixed_order()),
        },
    ),
    "map": (
        ["error", "mean image"]
        + [f"{what}, {layer}" for layer in ("1", "2") for what in ("two nearest", "neighbours", "right")]
        + ["left", "right", "above", "below", "by chance from", "to", "positions as on the map"],
        {
            "as it is": restore,
            "one order for all": lambda seed: restore(seed, fixed_order()),
            "each its own order": lambda seed: restore(seed, fixed_order(), own=True),
            "and another one for each seed": lambda seed: restore(seed, fixed_order(), own=True, shuffle=10 + seed),
        },
    ),
    "photo": (
        ["error", "mean of neighbours", "mean colour", "positions as on the map", "two nearest"],
        {"as it is": photo, "each its own order": lambda seed: photo(seed, own=True)},
    ),
    "fits": (
        ["error"]
        + [f"{what}, {how}" for how in ("fit", "correlations") for what in ("two nearest", "neighbours", "right")],
        {"no model": without_a_model},
    ),
    "motifs": (
        ["test", "the rule", "says 1"]
        + [f"top on {motif}" for motif in beyond.MOTIFS]
        + [f"{what} {where}" for what in ("flips:", "logit, 1/1000:") for where in (*beyond.MOTIFS, "elsewhere")],
        {
            "labels": motifs,
            "shuffled labels": lambda seed: motifs(seed, shuffle=True),
            "largest window": lambda seed: motifs(seed, rival=True),
        },
    ),
    "distance": (
        ["test", "far"],
        {
            "attention, positions": lambda seed: distance(seed, "attention"),
            "attention, positions, twice the steps": lambda seed: distance(seed, "attention", steps=1400),
            "attention, no positions": lambda seed: distance(seed, "attention, no positions"),
            "attention, positions, from nothing": lambda seed: distance(seed, "attention", False, 1400),
            "largest window": lambda seed: distance(seed, "largest"),
            "largest window, positions": lambda seed: distance(seed, "largest, positions"),
            "largest window, positions, twice the steps": lambda seed: distance(seed, "largest, positions", steps=1400),
        },
    ),
}


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("tables", nargs="*", default=list(TABLES))
    ask.add_argument("--rows", nargs="*")
    ask.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    options = ask.parse_args(arguments)
    torch.set_num_threads(1)
    for name in options.tables:
        head, rows = TABLES[name]
        print(f"| {name} | {' | '.join(head)} | seconds |\n|{'---|' * (len(head) + 2)}", flush=True)
        for row, measure in rows.items():
            if options.rows and row not in options.rows:
                continue
            began = time.process_time()
            measured = list(zip(*(measure(seed) for seed in options.seeds)))
            took = (time.process_time() - began) / len(options.seeds)
            shown = [f"{fmean(one):.3f} ({min(one):.3f} to {max(one):.3f})" for one in measured]
            print(f"| {' | '.join([row, *shown])} | {took:.0f} |", flush=True)


if __name__ == "__main__":
    main()
