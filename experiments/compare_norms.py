"""Train stacks with the norm before and after each sublayer at several rates, for the notebook on the encoder block.

    python -m experiments.compare_norms [--seeds 0 1 2 3 4] [--rates 0.001 0.003 0.01 0.03 0.1]        three minutes

Eight attention layers with residual connections write strings of 6 digits backwards, 300 steps: pre-norm and post-norm
without a warm-up, and post-norm with one of 100 steps. A row: the loss over the last 20 steps, median of the seeds, and
the smallest and the largest. Knowing nothing is ln 10 = 2.30. Recorded, seeds 0 to 4:

    rate               0.001              0.003              0.01               0.03               0.1
    pre                0.11 (0.10-0.15)   0.00 (0.00-0.00)   0.00 (0.00-0.00)   0.00 (0.00-0.00)   2.09 (2.02-2.18)
    post               1.57 (1.21-1.57)   0.09 (0.01-0.38)   1.78 (1.69-1.79)   2.30 (2.24-2.30)   2.30 (2.30-2.30)
    post, warm-up      1.63 (1.59-1.64)   0.16 (0.04-0.32)   0.00 (0.00-0.00)   1.60 (1.60-1.90)   2.30 (2.27-2.30)
"""

import argparse
from statistics import fmean, median

import torch
from torch import nn

from utils import training
from utils.attention import MultiHeadAttention
from utils.transformer import LayerNorm, LearnedPositions, ResidualNorm

RECIPES = {"pre": ("pre", 0), "post": ("post", 0), "post, warm-up": ("post", 100)}


class Stack(nn.Module):
    def __init__(self, depth, norm, d_model=32):
        super().__init__()
        self.embedding = nn.Embedding(10, d_model)
        self.positions = LearnedPositions(d_model=d_model, max_len=6)
        self.layers = nn.ModuleList(MultiHeadAttention(d_model=d_model, num_heads=2) for _ in range(depth))
        self.norms = nn.ModuleList(ResidualNorm(d_model, norm=norm) for _ in range(depth))
        self.last = LayerNorm(d_model) if norm == "pre" else nn.Identity()
        self.to_logits = nn.Linear(d_model, 10)
        for parameter in self.layers.parameters():
            if parameter.ndim == 2:
                nn.init.xavier_uniform_(parameter)

    def forward(self, digits):
        x = self.positions(self.embedding(digits))
        for layer, norm in zip(self.layers, self.norms):
            x = norm.after(x, layer(norm.before(x))[0])
        return self.to_logits(self.last(x)), None


def reversal(count, n=6, generator=None):
    digits = torch.randint(10, (count, n), generator=generator)
    return digits, digits.flip(1)


def final_loss(norm, warm_up, rate, seed):
    training.seed(seed)
    stack = Stack(8, norm)
    batches = training.endless(reversal, 32)
    return fmean(training.fit(stack, batches, training.loss_of, 300, rate, warm_up=warm_up).losses[-20:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=range(5))
    parser.add_argument("--rates", type=float, nargs="+", default=[0.001, 0.003, 0.01, 0.03, 0.1])
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name, (norm, warm_up) in RECIPES.items():
        for rate in options.rates:
            losses = [final_loss(norm, warm_up, rate, seed) for seed in options.seeds]
            print(f"{name:14} rate {rate:<6} {median(losses):.2f} ({min(losses):.2f} to {max(losses):.2f})", flush=True)


if __name__ == "__main__":
    main()
