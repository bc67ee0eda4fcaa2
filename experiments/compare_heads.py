"""Train the shelf of the notebook on several heads with other readers and other numbers of heads, for its tables.

    python -m experiments.compare_heads [readers narrow] [--seeds 0 1 2 3 4]    three minutes

readers: one head of 32, read by one linear layer, or through a hidden layer of 64, after 300 and 2,000 steps (20 seeds:
those named, and each 5, 10 and 15 higher; the notebook counts three times twenty, from 0, 20 and 40).
narrow: 1 to 32 heads, d_model = 32 all the time, read by one linear layer after 300 steps.
Each figure is the share of 2,000 new questions of which both answers are right.
"""

import argparse
import itertools

import torch
from torch import nn

from utils.attention import MultiHeadAttention

D_MODEL = 32


class Shelf(nn.Module):
    """The notebook's: eight places, each with a symbol; a question names two of them. `hidden`: of the reader."""

    def __init__(self, num_heads: int, hidden: int = 0):
        super().__init__()
        self.place, self.symbol, self.first, self.second = (nn.Embedding(8, D_MODEL) for _ in range(4))
        self.attention = MultiHeadAttention(d_model=D_MODEL, num_heads=num_heads)
        deep = nn.Sequential(nn.Linear(D_MODEL, hidden), nn.ReLU(), nn.Linear(hidden, 16)) if hidden else None
        self.to_logits = deep or nn.Linear(D_MODEL, 16)

    def forward(self, symbols: torch.Tensor, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        shelf = self.place.weight + self.symbol(symbols)  # (b, k, d)
        question = self.first(places[:, 0]) + self.second(places[:, 1])  # (b, d)
        found, weights = self.attention(question[:, None], shelf)  # (b, 1, d), (b, h, 1, k)
        return self.to_logits(found[:, 0]).unflatten(-1, (2, 8)), weights[:, :, 0]


def questions(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Shelves (b, 8), two different places each (b, 2), and the symbols there (b, 2)."""
    symbols = torch.randint(8, (count, 8), generator=generator)
    places = torch.rand(count, 8, generator=generator).argsort(-1)[:, :2]
    return symbols, places, symbols.gather(1, places)


def train(num_heads: int, seed: int, hidden: int = 0, steps: int = 300) -> Shelf:
    """A Shelf after so many steps, as in the notebook."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Shelf(num_heads, hidden).double()
    for part in model.modules():
        if hasattr(part, "reset_parameters"):
            part.reset_parameters()
    optimiser = torch.optim.Adam(model.parameters(), 1e-2, fused=True)
    for _ in range(steps):
        symbols, places, answers = questions(64, generator)
        logits, _ = model(symbols, places)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), answers.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


@torch.no_grad()
def examine(model: Shelf) -> tuple[float, list[float]]:
    """How often both answers are right, and the first head's mean weight on the two places."""
    symbols, places, answers = questions(2_000, torch.Generator().manual_seed(1_000))
    logits, weights = model(symbols, places)
    right = (logits.argmax(-1) == answers).all(-1).double().mean().item()
    return right, weights[:, 0].gather(1, places).mean(0).tolist()


def readers(seeds: list[int]) -> None:
    """One head: a linear reader, and one with a hidden layer; as many steps as in the notebook, and seven times."""
    twenty = [5 * part + seed for part in range(4) for seed in seeds]
    for hidden, steps in itertools.product((0, 64), (300, 2_000)):
        found = [examine(train(1, seed, hidden, steps)) for seed in twenty]
        solved = sum(right > 0.4 for right, _ in found)
        print(f"one head, hidden layer {hidden}, {steps} steps: {solved} of {len(found)} above 40 %")
        print(
            "   ", ", ".join(f"{right:.0%} ({first:.2f} {second:.2f})" for right, (first, second) in found), flush=True
        )


def narrow(seeds: list[int]) -> None:
    """Ever more and ever narrower heads."""
    for num_heads in (1, 2, 4, 8, 16, 32):
        rights = sorted(examine(train(num_heads, seed))[0] for seed in seeds)
        print(f"{num_heads:2} heads of {D_MODEL // num_heads:2}: {rights[0]:.1%} to {rights[-1]:.1%}")


TABLES = {"readers": readers, "narrow": narrow}


def main() -> None:
    """Run what is named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(TABLES), help=" or ".join(TABLES))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2, 3, 4])
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for table in chosen.tables:
        TABLES[table](chosen.seeds)


if __name__ == "__main__":
    main()
