"""What `MultiHeadAttention` costs beside PyTorch's: CPU time, forward and backward, on one thread.

    python -m experiments.benchmark_attention

The two take turns, so that a busy machine slows both; a ratio is that of the medians.
"""

import argparse
import statistics
import time

import torch
from torch import nn

from utils.attention import MultiHeadAttention
from utils.masks import causal_mask, to_torch
from utils.torch_weights import load

SIZES = ((32, 16, 64, 4), (8, 64, 128, 8), (2, 256, 128, 8), (1, 1024, 128, 8))  # batch, positions, d_model, heads
TIMES, SECONDS = 12, 0.05  # measurements of each layer, and how long one lasts at least


def cpu_time(run, repeats: int) -> float:
    """Seconds that one run takes, on average over `repeats`."""
    begin = time.process_time()
    for _ in range(repeats):
        run()
    return (time.process_time() - begin) / repeats


def runs(batch: int, n: int, d_model: int, num_heads: int, masked: bool) -> tuple:
    """Forward and backward of our layer and of PyTorch's with the same weights."""
    theirs = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
    ours = load(MultiHeadAttention(d_model=d_model, num_heads=num_heads), theirs)
    mask = causal_mask(n) if masked else None
    hidden = to_torch(mask, num_heads) if masked else None
    X, upstream = torch.randn(batch, n, d_model).requires_grad_(), torch.randn(batch, n, d_model)

    def run_ours():
        ours(X, mask=mask)[0].backward(upstream)

    def run_theirs():
        theirs(X, X, X, attn_mask=hidden, need_weights=True, average_attn_weights=False)[0].backward(upstream)

    return run_ours, run_theirs


def ratio(*size, masked: bool = False) -> float:
    """CPU time of our layer / CPU time of PyTorch's: the medians of `TIMES` measurements in turn."""
    both = runs(*size, masked=masked)
    warm = [cpu_time(run, 5) for run in both]
    repeats, taken = max(1, round(SECONDS / max(warm))), ([], [])
    for _ in range(TIMES):
        for run, times in zip(both, taken):
            times.append(cpu_time(run, repeats))
    return statistics.median(taken[0]) / statistics.median(taken[1])


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.parse_args(arguments)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for size in SIZES:
        plain, causal = ratio(*size), ratio(*size, masked=True)
        print("b {:<3} n {:<5} d {:<4} h {:<3}".format(*size), f"{plain:.2f} times PyTorch's · causal {causal:.2f}")


if __name__ == "__main__":
    main()
