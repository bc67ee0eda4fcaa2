"""Train recurrent networks with several seeds, for the tables of the notebook on recurrent networks.

    python -m experiments.compare_recurrent memory [--seeds 0 1 2 3 4]        some two minutes
    python -m experiments.compare_recurrent bottleneck [--seeds 0]            some eight minutes a seed

memory: the task of the notebook, distances from 1 to 40 mixed, 700 steps; how the matrix U of an Elman network starts
and the learning rate, each changed alone, beside a GRU. bottleneck: the translator with one context vector, by steps
and width; its sentences right to the last word, by the number of words in the source.
"""

import argparse

import torch
from torch import nn

from utils import corpus, measures, rnn, training
from utils.translating import right_by_length, translate_all, translation_batches, translation_loss, vocabularies

FAR = [2, 5, 10, 20, 40]  # words back
STARTS = {"as PyTorch starts it": None, "orthogonal": nn.init.orthogonal_, "the identity": nn.init.eye_}
MEMORIES = [("gru", "as PyTorch starts it", 5e-3), *(("elman", how, rate) for rate in (5e-3, 1e-3) for how in STARTS)]
BUDGETS = [(2000, 96), (8000, 96), (2000, 192)]  # steps, width
LOWS = [13, 15, 17, 19, 21, 23]


class Recall(nn.Module):
    """A random symbol of eight, others behind it, and the question which was first: logits (b, 8)."""

    def __init__(self, cell):
        super().__init__()
        self.embedding = nn.Embedding(9, 16)
        self.rnn, self.to_logits = rnn.recurrent(cell, d_in=16, d_hidden=32), nn.Linear(32, 8)

    def forward(self, tokens):
        return self.to_logits(self.rnn(self.embedding(tokens))[0][:, -1])


def questions(*between):
    while True:
        distance = between[torch.randint(len(between), ()).item()]
        tokens = torch.randint(8, (64, distance + 1))
        tokens[:, -1] = 8
        yield tokens


def recall_loss(model, tokens):
    return nn.functional.cross_entropy(model(tokens), tokens[:, 0])


@torch.no_grad()
def recall_accuracy(model, distance, batches=8):
    asked = questions(distance)
    tokens = torch.cat([next(asked) for _ in range(batches)])
    return (model(tokens).argmax(-1) == tokens[:, 0]).float().mean().item()


def remember(cell, start, rate, number):
    """The shares right at each distance of FAR."""
    training.seed(number)
    model = Recall(cell)
    if STARTS[start]:
        STARTS[start](model.rnn.weight_hh_l0.data)
    training.fit(model, questions(*range(1, 41)), recall_loss, 700, learning_rate=rate)
    return [recall_accuracy(model, distance) for distance in FAR]


def memory(seeds):
    print("| cell | U starts as | learning rate |", " | ".join(f"{distance} back" for distance in FAR), "|")
    print("|---|---|---|" + "---|" * len(FAR), flush=True)
    for cell, start, rate in MEMORIES:
        shares = zip(*(remember(cell, start, rate, number) for number in seeds))
        shown = [f"{min(one):.0%} to {max(one):.0%}" for one in shares]
        print("|", " | ".join([cell, start, f"{rate:g}", *shown]), "|", flush=True)


def bottleneck(seeds):
    es = corpus.splits("es", seed=0, train=60_000)
    words = english, spanish = vocabularies(es.train)
    print("| seed | steps | width | all |", " | ".join(f"{low} and {low + 1} words" for low in LOWS), "|")
    print("|---|---|---|---|" + "---|" * len(LOWS), flush=True)
    for number in seeds:
        for steps, width in BUDGETS:
            training.seed(number)
            sizes = {"d_embedding": 64, "d_hidden": width}
            reader, writer = rnn.RecurrentEncoder(len(english), **sizes), rnn.RecurrentDecoder(len(spanish), **sizes)
            model = rnn.RecurrentTranslator(reader, writer)
            batches = translation_batches(es.train, *words, seed=number)
            training.fit(model, batches, translation_loss, steps)
            shares = [measures.sequence_accuracy(translate_all(model, es.test, *words), [p.target for p in es.test])]
            for pairs, lows in ((es.test, LOWS[:2]), (es.longer, LOWS[2:])):
                shares += right_by_length(translate_all(model, pairs, *words), pairs, lows)
            print(
                "|",
                " | ".join([str(number), str(steps), str(width), *(f"{one:.2f}" for one in shares)]),
                "|",
                flush=True,
            )


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("table", choices=["memory", "bottleneck"])
    ask.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    asked = ask.parse_args(arguments)
    torch.set_num_threads(1)
    {"memory": memory, "bottleneck": bottleneck}[asked.table](asked.seeds)


if __name__ == "__main__":
    main()
