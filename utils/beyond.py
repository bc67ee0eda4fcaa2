"""Beyond text: images as sequences of patches, DNA as a sequence of bases, and small models that read them.

Axis letters: b batch, n patches or windows of a sequence, h head, q and k query and key, d model dimension; H and W the
height and width of an image."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .attention import MultiHeadAttention
from .checks import require_choice, require_last_axes, require_shares
from .transformer import POSITIONS, Encoder, FeedForward, LayerNorm

BASES = "ACGT"
MOTIFS = {"AP-1": "TGASTCA", "E-box": "CACGTG", "GC box": "GGGCGG"}  # as the sites of known proteins are called
LOWEST_OF_FIVE = {  # shares that are right, the lowest of the seeds 0 to 4, as experiments/compare_beyond.py found them
    "each its own shuffle": {"with positions": 0.68, "without positions": 0.72},
    "near or far": {
        "attention + positions": 0.98,
        "attention alone": 0.54,
        "largest + positions": 0.91,
        "largest alone": 0.51,
    },
}
EITHER = {"S": "CG", "N": "ACGT"}  # letters that stand for one of several bases


def patchify(images: Tensor, size: int) -> Tensor:
    """Images (b, H, W) cut into squares, row by row, each of them written row by row: (b, n, size²).

    H and W must be multiples of size: else a ValueError."""
    height, width = images.shape[-2:]
    require_shares(height=height, size=size)
    require_shares(width=width, size=size)
    squares = images.unflatten(-1, (-1, size)).unflatten(-3, (-1, size))  # (b, H / size, size, W / size, size)
    return squares.transpose(-3, -2).flatten(-2).flatten(-3, -2)


def unpatchify(patches: Tensor, height: int, width: int) -> Tensor:
    """Patches (b, n, size²) laid out row by row: images (b, height, width), the inverse of patchify."""
    size = round(patches.shape[-1] ** 0.5)
    squares = patches.unflatten(-2, (height // size, width // size)).unflatten(-1, (size, size))
    return squares.transpose(-3, -2).flatten(-2).flatten(-3, -2)


def photograph(shrink: int = 4, device: torch.device | None = None) -> Tensor:
    """A tower above a lake in colour, (H, W, 3) from 0 to 1: each pixel the mean of shrink² of the original, which has
    427 x 640 and comes with scikit-learn (china.jpg, by danielbuechele, CC BY 2.0)."""
    from sklearn.datasets import load_sample_image  # only here: it takes a second to import

    pixels = torch.tensor(load_sample_image("china.jpg") / 255, dtype=torch.float32, device=device)
    height, width = (side // shrink for side in pixels.shape[:2])
    squares = pixels[: height * shrink, : width * shrink].view(height, shrink, width, shrink, 3)
    return squares.mean((1, 3))


def colour_patches(images: Tensor, size: int) -> Tensor:
    """Images in colour (b, H, W, 3) cut into squares, as `patchify` does it: (b, n, 3 size²), one colour behind the
    other."""
    return torch.cat([patchify(colour, size) for colour in images.unbind(-1)], dim=-1)


def lay_colours(patches: Tensor, height: int, width: int) -> Tensor:
    """Patches (b, n, 3 size²) laid out as images (b, height, width, 3), the inverse of colour_patches."""
    return torch.stack([unpatchify(colour, height, width) for colour in patches.chunk(3, dim=-1)], dim=-1)


def windows(picture: Tensor, side: int, step: int = 1) -> Tensor:
    """All squares of side² pixels in a picture (H, W, 3), `step` pixels apart, row by row: (b, side, side, 3)."""
    return picture.unfold(0, side, step).unfold(1, side, step).flatten(0, 1).permute(0, 2, 3, 1)


def photograph_in_windows(device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """The photograph in windows of 16 x 16 pixels, each in 16 patches of 48 numbers: all windows on the left and on the
    right, to learn from (b, 16, 48), and of what is between them the 6 x 3 that fill it (18, 16, 48)."""
    photo = photograph(device=device)
    sides = torch.cat([windows(part, 16) for part in (photo[:, :48], photo[:, 96:])])
    return colour_patches(sides, 4), colour_patches(windows(photo[:96, 48:96], 16, 16), 4)


def lay_windows(patches: Tensor) -> Tensor:
    """The windows (18, 16, 48) that are between the two sides, laid out as one picture (96, 48, 3)."""
    squares = lay_colours(patches, 16, 16).unflatten(0, (6, 3))  # (6, 3, 16, 16, 3)
    return squares.transpose(1, 2).flatten(2, 3).flatten(0, 1)


def shuffled(patches: Tensor, seed: int) -> Tensor:
    """The patches (b, n, p) of each image in an order of its own."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.rand(patches.shape[:2], generator=generator, device=generator.device).argsort(-1)  # (b, n)
    return patches.gather(1, order.to(patches.device)[..., None].expand_as(patches))


def distances(device: torch.device | None = None) -> Tensor:
    """How far the 16 places of an image, in rows of four, are from each other: (16, 16), neighbours are 1 apart."""
    rows = torch.arange(4.0, device=device)
    places = torch.cartesian_prod(rows, rows)  # (16, 2), row and column
    return torch.cdist(places, places)


def likeness(table: Tensor) -> Tensor:
    """The cosine of each row of a table (n, d), less the mean row, with each other: (n, n)."""
    rows = F.normalize(table - table.mean(0), dim=-1)
    return rows @ rows.T


def favourites(weight: Tensor) -> Tensor:
    """The two other places that each place looks at most, in weights (16, 16): (16, 2)."""
    return weight.clone().fill_diagonal_(-1).topk(2).indices


def nearest_two(weight: Tensor) -> float:
    """The mean distance of the two other places that each place of an image looks at most, in weights (16, 16)."""
    return distances(weight.device).gather(1, favourites(weight)).mean().item()


def nearest_by_chance(weight: Tensor, draws: int = 5000) -> tuple[float, float]:
    """Between which numbers `nearest_two` lies in 95 of 100 cases, if the 16 places have random names."""
    generator = torch.Generator().manual_seed(0)
    names = torch.rand(draws, 16, generator=generator, device=generator.device).argsort(-1)  # (draws, 16)
    best = favourites(weight).to(names.device)  # (16, 2)
    means = distances(names.device)[names[:, :, None], names[:, best]].mean((1, 2))  # (draws,)
    return means.quantile(0.025).item(), means.quantile(0.975).item()


def sides(weight: Tensor) -> dict[str, float]:
    """Of numbers (16, 16), one for each pair of places of an image: their mean where the second is the neighbour of the
    first on the left, on the right, above or below."""
    pairs = weight.view(4, 4, 4, 4)  # row and column of the first, row and column of the second
    across, down = pairs.diagonal(0, 0, 2), pairs.diagonal(0, 1, 3)  # (4, 4, 4): in the same row, in the same column
    found = {"left": across.diagonal(-1, 0, 1), "right": across.diagonal(1, 0, 1)}
    found |= {"above": down.diagonal(-1, 0, 1), "below": down.diagonal(1, 0, 1)}
    return {side: numbers.mean().item() for side, numbers in found.items()}


class PatchTransformer(nn.Module):
    """Patches, each with its position, through an encoder of two layers, and one answer for all of them.

    The answer is read from the mean of the outputs. positions False: none are added. An image has n = 16 patches of
    d_patch = 4 numbers.
    Called with patches (b, n, d_patch) and perhaps the places (n,) that they have on the image (0, 1, … if not given),
    it returns logits (b, classes) and a list with the weights (b, h, q, k) of each layer (Dosovitskiy et al. 2021)."""

    def __init__(self, positions: bool = True, classes: int = 10):
        super().__init__()
        n, d_patch, d_model = 16, 4, 48
        self.embed = nn.Linear(d_patch, d_model)
        self.positions = nn.Parameter(0.02 * torch.randn(n, d_model)) if positions else None
        self.encoder = Encoder(d_model=d_model, num_heads=4, num_layers=2, d_ff=2 * d_model, final_norm=True)
        self.to_logits = nn.Linear(d_model, classes)

    def forward(self, patches: Tensor, places: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        x = self.embed(patches)  # (b, n, d)
        if self.positions is not None:
            x = x + (self.positions if places is None else self.positions[places])
        x, weights = self.encoder(x)
        return self.to_logits(x.mean(dim=-2)), weights


class PatchRestorer(nn.Module):
    """The hidden patches of an image, from those that can be seen (He et al. 2022; Xie et al. 2022).

    Sizes are as in `PatchTransformer`; a patch has d_patch numbers.
    Called with patches (b, n, d_patch) and hidden (b, n), True where one learned row takes a patch's place, it returns
    all patches as the model restores them (b, n, d_patch) and a list with the weights (b, h, q, k) of each layer."""

    def __init__(self, d_patch: int = 4):
        super().__init__()
        n, d_model = 16, 48
        self.embed = nn.Linear(d_patch, d_model)
        self.unknown = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(0.1 * torch.randn(n, d_model))
        self.encoder = Encoder(d_model=d_model, num_heads=4, num_layers=2, d_ff=2 * d_model, final_norm=True)
        self.to_patch = nn.Linear(d_model, d_patch)

    def forward(self, patches: Tensor, hidden: Tensor) -> tuple[Tensor, list[Tensor]]:
        x = torch.where(hidden[..., None], self.unknown, self.embed(patches)) + self.positions  # (b, n, d)
        x, weights = self.encoder(x)
        return self.to_patch(x), weights


def one_hot_bases(sequence: str, device: torch.device | None = None) -> Tensor:
    """Letters A, C, G, T, N as (n, 4), a column a base; N, a base that nobody knows, is a row of zeros.

    device: where they are made, torch's default device if not given. Another letter: ValueError."""
    for letter in sequence:
        require_choice(letter, BASES + "N", "base")
    columns = [[float(letter == base) for base in BASES] for letter in sequence]
    return torch.tensor(columns, device=device).view(-1, 4)


def one_hot(bases: Tensor) -> Tensor:
    """Bases (…, n), 0 to 3, each as a row with a single 1, in its column: (…, n, 4)."""
    return F.one_hot(bases, len(BASES)).float()


def plant(bases: Tensor, places: Tensor, motif: str, generator: torch.Generator | None = None) -> None:
    """Write a motif into the bases (b, n), 0 to 3, in place, each at its place (b,); nothing where that is negative."""
    rows = (places >= 0).nonzero()[:, 0]
    for shift, letter in enumerate(motif):
        choices = bases.new_tensor([BASES.index(base) for base in EITHER.get(letter, letter)])
        drawn = torch.randint(len(choices), (len(rows),), generator=generator, device=bases.device)
        bases[rows, places[rows] + shift] = choices[drawn]


def motif_sequences(count: int, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Random bases (count, 120), 0 to 3, with planted motifs; classes (count,); places (count, 3), -1: not there.

    Class 1 has AP-1 and E-box, class 0 one of them alone; the GC box is in every second sequence of either class."""
    device = None if generator is None else generator.device
    bases = torch.randint(4, (count, 120), generator=generator, device=device)
    coins = torch.rand(count, 3, generator=generator, device=device) < 0.5  # the class, which one is alone, the decoy
    there = torch.stack([coins[:, 0] | coins[:, 1], coins[:, 0] | ~coins[:, 1], coins[:, 2]], dim=-1)
    tens = torch.rand(count, 12, generator=generator, device=device).argsort(dim=-1)[:, :3]  # no two motifs overlap
    places = (10 * tens + torch.randint(3, (count, 3), generator=generator, device=device)).where(there, -1)
    for motif, column in zip(MOTIFS.values(), places.T):
        plant(bases, column, motif, generator)
    return bases, coins[:, 0].long(), places


def motif_pairs(count: int, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """Random bases (count, 120), 0 to 3, with AP-1 and E-box planted, and classes (count,).

    Class 1 is near: they begin at most 32 bases apart; class 0 is far: 38 at least."""
    device = None if generator is None else generator.device
    bases = torch.randint(4, (count, 120), generator=generator, device=device)
    tens = torch.rand(count, 12, generator=generator, device=device).argsort(dim=-1)[:, :2]
    places = 10 * tens + torch.randint(3, (count, 2), generator=generator, device=device)
    for motif, column in zip(MOTIFS.values(), places.T):
        plant(bases, column, motif, generator)
    return bases, ((tens[:, 0] - tens[:, 1]).abs() <= 3).long()


def spelled(bases: Tensor, places: Tensor) -> str:
    """Bases (n,) as letters, small ones where no motif is planted; places (3,), -1: not there."""
    letters = "".join(BASES[base] for base in bases.tolist()).lower()
    for place, motif in zip(places.tolist(), MOTIFS.values()):
        if place >= 0:
            end = place + len(motif)
            letters = letters[:place] + letters[place:end].upper() + letters[end:]
    return letters


class MotifReader(nn.Module):
    """DNA in windows of eight bases; one learned query asks all windows, and two classes are told apart.

    positions: "sine", "learned" or None. Called with one-hot bases (b, n, 4), it returns logits (b, 2) and a list with
    the weights (b, h, 1, k), k = n - 7 windows, window i from base i to i + 7. Fewer than 4 columns: ValueError."""

    def __init__(self, positions: str | None = None):
        super().__init__()
        require_choice(positions, POSITIONS, "positions")
        d_model = 32
        self.windows = nn.Conv1d(4, d_model, kernel_size=8)
        self.norm = LayerNorm(d_model)
        self.positions = POSITIONS[positions](d_model=d_model, max_len=128)
        self.question = nn.Parameter(0.1 * torch.randn(1, 1, d_model))
        self.attention = MultiHeadAttention(d_model=d_model, num_heads=2)
        self.feed_forward = FeedForward(d_model=d_model, d_ff=2 * d_model)
        self.to_logits = nn.Linear(d_model, 2)

    def forward(self, bases: Tensor) -> tuple[Tensor, list[Tensor]]:
        require_last_axes((4,), bases=bases)
        x = F.relu(self.windows(bases.mT)).mT  # (b, k, d)
        x = self.positions(self.norm(x))
        summary, weights = self.attention(self.question.expand(len(x), -1, -1), x)  # (b, 1, d), (b, h, 1, k)
        return self.to_logits(self.feed_forward(summary)[:, 0]), [weights]


def top_windows(weights: Tensor, places: Tensor) -> dict[str, float]:
    """For each motif, where it is there (places (b, 3), -1: not): how often the largest weight (b, h, 1, k) of a head
    lies on a window that begins at most 3 bases from it."""
    top = weights[:, :, 0].argmax(-1)  # (b, h)
    on_it = ((top[:, :, None] - places[:, None]).abs() <= 3).any(1)  # (b, 3)
    return {name: on_it[places[:, m] >= 0, m].float().mean().item() for m, name in enumerate(MOTIFS)}
