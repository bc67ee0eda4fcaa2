"""A batch of two sentences, one with padding, and numbers to go with it."""

import torch


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]).bool()
TARGETS = torch.tensor([[3, 0, 4, 1], [2, 2, 0, 0]])
