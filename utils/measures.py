"""What measures a model: accuracy, perplexity, alignment error rate, and how much weight lies on the right words."""

import math
from statistics import fmean

import torch
from torch import Tensor, nn

from .checks import require_ids, require_list, require_logits, require_tensors


def perplexity(loss: float | Tensor) -> float:
    """exp(mean cross-entropy in nats): as unsure as between that many equally likely words."""
    try:
        return math.exp(loss.item() if isinstance(loss, Tensor) else loss)
    except OverflowError:
        return math.inf


@torch.no_grad()
def accuracy(model: nn.Module, inputs: Tensor, targets: Tensor) -> float:
    """The share of targets (b, n), those that are not negative, that have the largest of model(inputs)[0]."""
    return token_accuracy(model(inputs)[0], targets, targets >= 0)


def token_accuracy(logits: Tensor, targets: Tensor, mask: Tensor) -> float:
    """The share of words, where mask (…, n) is True, whose largest logit (…, n, v) is the target's (…, n).

    ValueError: shapes that do not fit, no word at all, a target outside the vocabulary, or logits that are NaN or ∞."""
    require_words(logits, targets, mask)
    return (require_logits(logits[mask]).argmax(-1) == targets[mask]).float().mean().item()


def require_words(logits: Tensor, targets: Tensor, mask: Tensor) -> None:
    """ValueError unless logits (…, n, v), targets (…, n), whole numbers below v, and a mask (…, n) go together."""
    require_tensors(logits=logits, targets=targets, mask=mask)
    if not logits.shape[:-1] == targets.shape == mask.shape or mask.dtype != torch.bool:
        shapes = f"logits {tuple(logits.shape)}, targets {tuple(targets.shape)}, mask {tuple(mask.shape)} {mask.dtype}"
        raise ValueError(f"{shapes} must be (…, n, v), (…, n) and boolean (…, n)")
    if not mask.any():
        raise ValueError("the mask is False everywhere: there is no word to measure")
    require_ids(targets[mask], logits.shape[-1], "targets")


def sequence_accuracy(written: list, right: list) -> float:
    """The share of sequences that are right from the first to the last token ("exact match")."""
    require_list(written=written, right=right)
    require_same_number(written, right)
    return sum(list(one) == list(other) for one, other in zip(written, right)) / len(right)


def require_same_number(*lists: list) -> None:
    """ValueError unless the lists have the same number of sentences, at least one."""
    numbers = [len(one) for one in lists]
    if len(set(numbers)) > 1 or not numbers[0]:
        raise ValueError(f"{' and '.join(map(str, numbers))} sentences cannot be compared: give as many, at least one")


def argmax_links(weights: Tensor, source_length: int, target_length: int) -> set[tuple[int, int]]:
    """For each target position the source position with the largest weight (q, k), as (target, source).

    The lengths leave padding, `<s>` and `</s>` out. ValueError where the weights hold fewer positions."""
    require_tensors(weights=weights)
    if weights.ndim != 2 or not (0 < target_length <= len(weights) and 0 < source_length <= weights.shape[1]):
        lengths = f"{target_length} target and {source_length} source words"
        raise ValueError(f"weights {tuple(weights.shape)} must be (q, k) and cover {lengths}, at least one of each")
    return set(enumerate(weights[:target_length, :source_length].argmax(-1).tolist()))


def alignment_error_rate(links: list[set], sure: list[set], possible: list[set]) -> float:
    """1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), counted over all sentences; 0 is best. Och & Ney 2003.

    One set of (target position, source position) a sentence: A `links`, S `sure`, P `possible`, which contains S.
    Where P = S it is 1 − F1. Without any link in A and S there is no error: 0. ValueError: lists that do not fit, or
    a sure link that is not possible."""
    require_same_number(links, sure, possible)
    for s, p in zip(sure, possible):
        if not set(s) <= set(p):
            raise ValueError(f"sure links {sorted(set(s) - set(p))} are not among the possible ones")
    hits = sum(len(a & s) + len(a & p) for a, s, p in zip(links, sure, possible))
    total = sum(len(a) + len(s) for a, s in zip(links, sure))
    return 1 - hits / total if total else 0.0


def attention_mass(weights: list[Tensor], links: list[set]) -> float:
    """The weight that a linked target word puts on its links (target, source), on average over all such words.

    weights: (q, k), one a sentence. ValueError: lists that do not fit, a link outside the weights, or no link at all.
    """
    require_same_number(weights, links)
    mass = []
    for row, gold in zip(weights, links):
        require_tensors(weights=row)
        if any(not (0 <= i < row.shape[0] and 0 <= j < row.shape[1]) for i, j in gold):
            raise ValueError(f"links {sorted(gold)} reach beyond weights {tuple(row.shape)}")
        mass += [sum(row[i, j].item() for i, j in gold if i == target) for target in {i for i, _ in gold}]
    if not mass:
        raise ValueError("there is no link, so no weight can lie on one")
    return fmean(mass)


def interval(values: Tensor, groups: Tensor | None = None, draws: int = 4000) -> tuple[float, float, float]:
    """The mean of values (n,), and from where to where 95 % of the means of as many drawn from them lie, some repeated.

    groups (n,), whole numbers from 0: whole groups are drawn, for what belongs together is alike (the bootstrap, Efron
    1979). ValueError: no values, or groups of another shape."""
    require_tensors(values=values)
    groups = torch.arange(len(values), device=values.device) if groups is None else groups
    if values.ndim != 1 or not len(values) or groups.shape != values.shape:
        raise ValueError(f"values (n,) and groups (n,) are needed, not {tuple(values.shape)}, {tuple(groups.shape)}")
    sums = values.new_zeros(int(groups.max()) + 1, 2, dtype=torch.float64)  # of each group: its values, and how many
    sums.index_add_(0, groups, torch.stack([values.double(), torch.ones_like(values).double()], -1))
    n, generator = len(sums), torch.Generator().manual_seed(0)
    every = (torch.randint(n, (n,), generator=generator, device=generator.device) for _ in range(draws))
    total, count = torch.stack([sums[some].sum(0) for some in every]).T  # not all at once: hundreds of megabytes
    low, high = (total / count).quantile(sums.new_tensor([0.025, 0.975])).tolist()
    return values.double().mean().item(), low, high
