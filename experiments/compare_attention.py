"""Train the small recurrent translators with several seeds, for the tables of the notebook on RNNs with attention.

    python -m experiments.compare_attention [--seeds 0 1 2 3 4]        some ten minutes
    python -m experiments.compare_attention --lengths                  as long

Two tables: which state asks, and where its context goes, each changed alone (dot product); and the three scores. For
each translator its sentences right to the last word, its alignment error rate by the sure links and by the possible
ones, and its weight on gold links: the mean over the seeds, and from the smallest to the largest.

--lengths: the translators of the notebooks, through one vector and with attention; of their sentences of so many words
the share right to the last word, the smallest and the largest over the seeds.
"""

import argparse
from statistics import fmean

import torch

from utils import corpus, measures, rnn, training
from utils.translating import (
    right_by_length,
    translate_all,
    translation_batches,
    translation_loss,
    vocabularies,
    weights_while_reading,
)

SIZES = {"d_embedding": 64, "d_hidden": 96}


class Decoder(rnn.AttentionDecoder):
    """The recurrent decoder with two switches: which state asks, and whether its context goes into a state."""

    def __init__(self, vocabulary_size, *, asks="current", feeds=False, score="dot", **sizes):
        super().__init__(vocabulary_size, **sizes, score=score)
        self.asks, self.feeds = asks, feeds
        self.rnn = rnn.recurrent(
            "gru", d_in=sizes["d_embedding"] + feeds * sizes["d_hidden"], d_hidden=sizes["d_hidden"]
        )

    def forward(self, tokens, memory, state=None):
        if state is None:
            state = self.start.repeat(1, len(tokens), 1), torch.zeros_like(memory.context)[:, None]
        state, context = state  # (1, b, d), (b, 1, d): the context of the step before
        words, steps = self.embedding(tokens), []  # (b, q, d_embedding)
        for word in words.split(1 if self.feeds else words.shape[1], dim=1):  # without feedback all steps at once
            before = state.transpose(0, 1)
            if self.feeds and self.asks == "previous":
                context, weights = self.attend(before, memory)
            new, state = self.rnn(torch.cat([word, context], dim=-1) if self.feeds else word, state)  # (b, q, d)
            if not (self.feeds and self.asks == "previous"):
                asking = new if self.asks == "current" else torch.cat([before, new[:, :-1]], dim=1)
                context, weights = self.attend(asking, memory)
            steps.append((torch.cat([context, new], dim=-1), weights))
        both, weights = (torch.cat(parts, dim=1) for parts in zip(*steps))
        return self.to_logits(torch.tanh(self.combine(both))), (state, context[:, -1:]), weights


def train(small, english, spanish, number, **options):
    """Share right, error rates by sure and by possible links, weight on gold links."""
    training.seed(number)
    decoder = Decoder(len(spanish), **SIZES, **options)
    model = rnn.RecurrentTranslator(rnn.RecurrentEncoder(len(english), **SIZES), decoder)
    words = english, spanish
    training.fit(model, translation_batches(small.train, *words, seed=number), translation_loss, steps=700)
    right = measures.sequence_accuracy(translate_all(model, small.test, *words), [p.target for p in small.test])
    some = small.test[:500]
    weights = weights_while_reading(model, some, *words)
    links = [measures.argmax_links(rows, len(p.source), len(p.target)) for rows, p in zip(weights, some)]
    sure, possible = [set(pair.alignment) for pair in some], [set(pair.possible) for pair in some]
    rates = [measures.alignment_error_rate(links, sure, links_that_count) for links_that_count in (sure, possible)]
    return [right, *rates, measures.attention_mass(weights, sure)]


def table(head, variants, seeds, *corpora):
    print(f"| {head} | sentences right | error rate, sure links | with possible links | weight on gold links |")
    print("|---|---|---|---|---|", flush=True)
    for name, options in variants.items():
        measured = zip(*(train(*corpora, number, **options) for number in seeds))
        shown = [f"{fmean(one):.2f} ({min(one):.2f} to {max(one):.2f})" for one in map(list, measured)]
        print(f"| {' | '.join([name, *shown])} |", flush=True)
    print(flush=True)


def lengths(seeds):
    es = corpus.splits("es", seed=0, train=60_000)
    words = english, spanish = vocabularies(es.train)
    lows = range(3, 17, 2)
    print(f"| through | {' | '.join(f'{low} and {low + 1}' for low in lows)} |")
    print("|---|" + "---|" * len(lows), flush=True)
    kinds = {
        "one vector": (rnn.RecurrentDecoder, {}, 2000),
        "attention": (rnn.AttentionDecoder, {"score": "additive"}, 1400),
    }
    for name, (decoder, options, steps) in kinds.items():
        shares = []
        for number in seeds:
            training.seed(number)
            encoder = rnn.RecurrentEncoder(len(english), **SIZES)
            model = rnn.RecurrentTranslator(encoder, decoder(len(spanish), **SIZES, **options))
            training.fit(model, translation_batches(es.train, *words, seed=number), translation_loss, steps)
            shares.append(right_by_length(translate_all(model, es.test, *words), es.test, lows))
        shown = [f"{min(one):.3f} to {max(one):.3f}" for one in zip(*shares)]
        print(f"| {' | '.join([name, *shown])} |", flush=True)


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    ask.add_argument("--lengths", action="store_true", help="by the words of the source, instead of the two tables")
    asked = ask.parse_args(arguments)
    seeds = asked.seeds
    torch.set_num_threads(1)
    if asked.lengths:
        return lengths(seeds)
    small = corpus.splits("es", seed=0, train=12_000, longest=9, longest_test=10)
    english, spanish = vocabularies(small.train)
    queries = {
        f"{asks} state asks, context {'fed back' if feeds else 'into the prediction alone'}": {
            "asks": asks, "feeds": feeds
        }
        for asks in ("current", "previous")
        for feeds in (False, True)
    }  # fmt: skip
    table("which state asks, where the context goes", queries, seeds, small, english, spanish)
    table("score", {name: {"score": name} for name in rnn.SCORES}, seeds, small, english, spanish)


if __name__ == "__main__":
    main()
