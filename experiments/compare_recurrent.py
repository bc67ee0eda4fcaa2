"""Train recurrent networks with several seeds, for the tables of the notebook on recurrent networks.

    python -m experiments.compare_recurrent memory [--seeds 0 1 2 3 4]        some two minutes
    python -m experiments.compare_recurrent bottleneck [--seeds 0]            some eight minutes a seed
    python -m experiments.compare_recurrent copying [--seeds 0 1 2]           some seven minutes a seed

memory: the task of the notebook, distances from 1 to 40 mixed, 700 steps; how the matrix U of an Elman network starts
and the learning rate, each changed alone, beside a GRU. bottleneck: the translator with one context vector, by steps
and width; its sentences right to the last word, by the number of words in the source. copying: lists of random words,
read into a note of 8 to 64 numbers and written down again, or looked up in all states; each trained until 500 steps
bring no gain; the share of lists that come out whole, by their length.
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
WORDS, LONGEST = 16, 12  # random words to choose from, and in the longest list
ALL = "all states"
NOTES = [(8, False), (16, False), (32, False), (64, False), (8, True), (16, True)]  # numbers; are they only -1 and 1?
NOTES += [(ALL, False)]  # a writer with attention
SPAN = range(1, LONGEST + 1)


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


class Copier(nn.Module):
    """Reads a list of words (b, n) into a note and writes it down from there: logits (b, n, v), by teacher forcing.

    Reader and writer are the same for every width of the note. switches: what passes is -1 or 1; the gradient passes
    as if it had not been rounded."""

    def __init__(self, width, switches):
        super().__init__()
        self.embedding, self.reader = nn.Embedding(WORDS, 32), rnn.recurrent("gru", d_in=32, d_hidden=96)
        self.squeeze, self.switches = nn.Linear(96, width), switches
        self.before, self.first = nn.Embedding(WORDS + 1, 32), nn.Linear(width, 96)
        self.writer, self.to_logits = rnn.recurrent("gru", d_in=32 + width, d_hidden=96), nn.Linear(96, WORDS)

    def forward(self, words):
        note = torch.tanh(self.squeeze(self.reader(self.embedding(words))[0][:, -1]))  # (b, width)
        if self.switches:
            note = note + (torch.where(note > 0, 1.0, -1.0) - note).detach()
        before = self.before(nn.functional.pad(words[:, :-1], (1, 0), value=WORDS))  # (b, n, 32)
        x = torch.cat([before, note[:, None].expand(-1, words.shape[1], -1)], dim=-1)
        return self.to_logits(self.writer(x, torch.tanh(self.first(note))[None])[0])


class Looker(nn.Module):
    """The same, but for a writer that may look back at every state of the reader: logits (b, n, v)."""

    def __init__(self):
        super().__init__()
        self.embedding, self.reader = nn.Embedding(WORDS, 32), rnn.recurrent("gru", d_in=32, d_hidden=96)
        self.writer = rnn.AttentionDecoder(WORDS + 1, d_embedding=32, d_hidden=96)

    def forward(self, words):
        states = self.reader(self.embedding(words))[0]  # (b, n, d)
        mask = torch.ones(len(words), 1, 1, words.shape[1], dtype=torch.bool)
        before = nn.functional.pad(words[:, :-1], (1, 0), value=WORDS)  # (b, n)
        return self.writer(before, rnn.Memory(states, states[:, -1], mask))[0][..., :WORDS]


def copying_loss(model, words):
    return nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten())


@torch.no_grad()
def whole(model, length, lists=1000):
    """The share of lists that come out right to the last word: the same, whether the writer reads the true words or
    its own, which are the same up to its first mistake."""
    words = torch.randint(WORDS, (lists, length), generator=torch.Generator().manual_seed(length))
    return (model(words).argmax(-1) == words).all(-1).float().mean().item()


def trained_to_the_end(model, rate=5e-3, warm_up=50, cuts=2):
    """Adam, batches of 64 lists of 1 to 12 words. Where 500 steps do not lower the loss of fixed lists by 1 %, the
    rate is divided by 4; where they do not for the third time, the training ends. Returns the number of steps."""
    fixed = [torch.randint(WORDS, (200, n), generator=torch.Generator().manual_seed(-n % 1000)) for n in SPAN]
    optimiser, best, steps = torch.optim.Adam(model.parameters(), rate, betas=(0.9, 0.98)), float("inf"), 0
    while True:
        for _ in range(500):
            steps += 1
            optimiser.param_groups[0]["lr"] = rate * min(1.0, steps / warm_up)
            optimiser.zero_grad()
            copying_loss(model, torch.randint(WORDS, (64, int(torch.randint(1, LONGEST + 1, ()))))).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
        with torch.no_grad():
            loss = sum(copying_loss(model, words).item() for words in fixed) / len(fixed)
        if loss > 0.99 * best:
            if not cuts:
                return steps
            cuts, rate = cuts - 1, rate / 4
        best = min(best, loss)


def copying(seeds):
    print("| seed | numbers | only -1 and 1 | steps |", " | ".join(f"{n} words" for n in SPAN), "|")
    print("|---|---|---|---|" + "---|" * len(SPAN), flush=True)
    for number in seeds:
        for width, switches in NOTES:
            training.seed(number)
            model = Looker() if width == ALL else Copier(width, switches)
            row = [number, width, "yes" if switches else "no", trained_to_the_end(model)]
            print("|", " | ".join(map(str, row + [f"{whole(model, n):.2f}" for n in SPAN])), "|", flush=True)


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("table", choices=["memory", "bottleneck", "copying"])
    ask.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    asked = ask.parse_args(arguments)
    torch.set_num_threads(1)
    {"memory": memory, "bottleneck": bottleneck, "copying": copying}[asked.table](asked.seeds)


if __name__ == "__main__":
    main()
