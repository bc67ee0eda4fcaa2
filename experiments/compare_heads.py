"""Train the shelf of the notebook on several heads in other ways, for what it says of rivals.

    python -m experiments.compare_heads [steps readers narrow] [--seeds 0 1 2 3 4]    three minutes

steps: one head of 32 and two of 16, with three learning rates, 300 steps and 1,000.
readers: one head of 32, read through a hidden layer of 64, after 300 steps (20 seeds: those named, and each 5, 10 and
15 higher).
narrow: 1 to 32 heads that have 32 numbers together, read by one linear layer after 300 steps.
Each figure is the share of 2,000 new questions of which both answers are right.
"""

import argparse
import itertools

import torch
from torch import nn

from utils.attention import scaled_dot_product_attention

SIZE = 32  # of all heads together


class Head(nn.Module):
    """The notebook's: keys are made of places alone, values of places and symbols."""

    def __init__(self, d_head: int):
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(size, d_head, bias=False) for size in (16, 8, 16))

    def forward(self, question: torch.Tensor, places: torch.Tensor, contents: torch.Tensor) -> tuple:
        return scaled_dot_product_attention(self.W_q(question), self.W_k(places), self.W_v(contents))


class Shelf(nn.Module):
    """The notebook's: eight places, each with a symbol; a question names two of them. `hidden`: of the reader."""

    def __init__(self, num_heads: int, hidden: int = 0):
        super().__init__()
        self.heads = nn.ModuleList(Head(SIZE // num_heads) for _ in range(num_heads))
        deep = nn.Sequential(nn.Linear(SIZE, hidden), nn.ReLU(), nn.Linear(hidden, 16)) if hidden else None
        self.reader = deep or nn.Linear(SIZE, 16)

    def forward(self, symbols: torch.Tensor, asked: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        places = torch.eye(8).double().expand(len(symbols), -1, -1)  # (b, k, 8)
        contents = torch.cat([places, nn.functional.one_hot(symbols, 8)], -1)  # (b, k, 16)
        question = nn.functional.one_hot(asked, 8).double().flatten(1)[:, None]  # (b, 1, 16)
        found, weights = zip(*(head(question, places, contents) for head in self.heads))
        return self.reader(torch.cat(found, -1)[:, 0]).view(-1, 2, 8), torch.cat(weights, 1)


def questions(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Shelves (b, 8), two different places each (b, 2), and the symbols there (b, 2)."""
    symbols = torch.randint(8, (count, 8), generator=generator)
    asked = torch.rand(count, 8, generator=generator).argsort(-1)[:, :2]
    return symbols, asked, symbols.gather(1, asked)


def train(num_heads: int, seed: int, hidden: int = 0, steps: int = 300, lr: float = 0.03) -> Shelf:
    """A Shelf after so many steps, as in the notebook."""
    torch.manual_seed(seed)
    generator, model = torch.Generator().manual_seed(seed), Shelf(num_heads, hidden).double()
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        symbols, asked, answers = questions(64, generator)
        loss = nn.functional.cross_entropy(model(symbols, asked)[0].flatten(0, 1), answers.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


@torch.no_grad()
def examine(model: Shelf) -> tuple[float, list[float]]:
    """How often both answers are right, and the first head's mean weight on the two places."""
    symbols, asked, answers = questions(2_000, torch.Generator().manual_seed(1_000))
    logits, weights = model(symbols, asked)
    right = (logits.argmax(-1) == answers).all(-1).double().mean().item()
    return right, weights[:, 0].gather(1, asked).mean(0).tolist()


def steps(seeds: list[int]) -> None:
    """One head and two, with other learning rates and more steps."""
    for lr, count, num_heads in itertools.product((0.01, 0.03, 0.1), (300, 1_000), (1, 2)):
        rights = [examine(train(num_heads, seed, steps=count, lr=lr))[0] for seed in seeds]
        print(f"{num_heads} heads, rate {lr}, {count} steps: {min(rights):.0%} to {max(rights):.0%}", flush=True)


def readers(seeds: list[int]) -> None:
    """One head, read through a hidden layer."""
    twenty = [5 * part + seed for part in range(4) for seed in seeds]
    found = [examine(train(1, seed, hidden=64)) for seed in twenty]
    print("one head, hidden layer of 64:", ", ".join(f"{right:.0%} ({a:.2f} {b:.2f})" for right, (a, b) in found))


def narrow(seeds: list[int]) -> None:
    """Ever more and ever narrower heads."""
    for num_heads in (1, 2, 4, 8, 16, 32):
        rights = sorted(examine(train(num_heads, seed))[0] for seed in seeds)
        print(f"{num_heads:2} heads of {SIZE // num_heads:2}: {rights[0]:.1%} to {rights[-1]:.1%}", flush=True)


TABLES = {"steps": steps, "readers": readers, "narrow": narrow}


def main() -> None:
    """Run what is named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(TABLES), help=", ".join(TABLES))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2, 3, 4])
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for table in chosen.tables:
        TABLES[table](chosen.seeds)


if __name__ == "__main__":
    main()
