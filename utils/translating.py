"""Sentence pairs and a translator: batches and loss to train it with, what it writes, and where it looks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

import torch
from torch import Tensor, nn

from .corpus import Pair
from .masks import padding_mask
from .rnn import RecurrentTranslator
from .training import batches_by_length, sequence_loss
from .vocabulary import PAD_ID, Vocabulary


def vocabularies(pairs: Iterable[Pair]) -> tuple[Vocabulary, Vocabulary]:
    """The vocabularies of the sources and of the targets."""
    pairs = list(pairs)
    return Vocabulary(word for pair in pairs for word in pair.source), Vocabulary(
        word for pair in pairs for word in pair.target
    )


def translation_batches(
    pairs: Sequence[Pair], source_words: Vocabulary, target_words: Vocabulary, seed: int = 0,
    device: torch.device | None = None,
) -> Iterator[tuple[Tensor, Tensor]]:  # fmt: skip
    """Endless batches of sources (b, k), with `</s>`, and targets (b, q), with `<s>` and `</s>`, of like length.

    device: the one of the model that is trained on them."""

    def collate(some):
        source = source_words.batch([pair.source for pair in some], end=True, device=device)  # (b, k)
        return source, target_words.batch([pair.target for pair in some], start=True, end=True, device=device)

    return batches_by_length(list(pairs), lambda pair: len(pair.source), collate, seed=seed)


def translation_loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    """Mean cross-entropy of the targets, each word guessed from the true ones before it; padding does not count."""
    source, target = batch
    reads, guesses = target[:, :-1], target[:, 1:]  # (b, q) each
    logits, _ = model(source, padding_mask(source), reads)  # (b, q, v)
    return sequence_loss(logits, guesses, guesses != PAD_ID)


def translate_all(
    model: RecurrentTranslator, pairs: Sequence[Pair], source_words: Vocabulary, target_words: Vocabulary
) -> list[tuple[str, ...]]:
    """What the model writes for the source of each pair, greedily."""
    written, device = {}, next(model.parameters()).device
    ordered = sorted(pairs, key=lambda pair: len(pair.source))
    for some in (ordered[start : start + 250] for start in range(0, len(ordered), 250)):
        source = source_words.batch([pair.source for pair in some], end=True, device=device)  # (b, k)
        ids, _ = model.translate(source, padding_mask(source))
        written |= {pair.source: tuple(target_words.decode(one)) for pair, one in zip(some, ids)}
    return [written[pair.source] for pair in pairs]


@torch.no_grad()
def weights_while_reading(
    model: RecurrentTranslator, pairs: Sequence[Pair], source_words: Vocabulary, target_words: Vocabulary
) -> list[Tensor]:
    """The attention weights (q, k), one a pair, while the model reads the right translation (teacher forcing)."""
    found, device = [], next(model.parameters()).device
    for some in (pairs[start : start + 250] for start in range(0, len(pairs), 250)):
        source = source_words.batch([pair.source for pair in some], end=True, device=device)  # (b, k)
        reads = target_words.batch([pair.target for pair in some], start=True, device=device)  # (b, q)
        _, weights = model(source, padding_mask(source), reads)  # (b, q, k)
        found += list(weights)
    return found


def right_by_length(written: Sequence, pairs: Sequence[Pair], lows: Iterable[int]) -> list[float]:
    """The share of right translations among sources of low and low + 1 words, for each of `lows`."""
    shares = []
    for low in lows:
        right = [words == pair.target for words, pair in zip(written, pairs) if low <= len(pair.source) <= low + 1]
        shares.append(fmean(right))
    return shares


def by_length(written: Mapping[str, Sequence], pairs: Sequence[Pair]) -> tuple[dict, dict]:
    """For each length of a source, an example, (source, target, {model: written}), and {model: share right}."""
    examples, shares = {}, {}
    for length in sorted({len(pair.source) for pair in pairs}):
        chosen = [i for i, pair in enumerate(pairs) if len(pair.source) == length]
        first = pairs[chosen[0]]
        examples[length] = first.source, first.target, {name: words[chosen[0]] for name, words in written.items()}
        shares[length] = {name: fmean(words[i] == pairs[i].target for i in chosen) for name, words in written.items()}
    return examples, shares
