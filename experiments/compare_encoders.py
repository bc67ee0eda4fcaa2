"""Train the models of the notebook on the encoder at work with several seeds, for its tables (`tagging.RECORDED`).

    python -m experiments.compare_encoders [KIND ...] [--seeds 0 1 2 3 4] [--steps 600]     all kinds: eight minutes
    python -m experiments.compare_encoders --curves [KIND ...]     rotary, sine and Elman: seven minutes
    python -m experiments.compare_encoders --parts [KIND ...]      sine and rotary: three minutes
    python -m experiments.compare_encoders --patch [KIND ...]      sine and rotary: three minutes
    python -m experiments.compare_encoders --digits [--seeds 0 1]  twenty minutes
    python -m experiments.compare_encoders --induction             two minutes

KIND: a name of `tagging.KINDS`. Without an option each is trained twice, without and with the sentences in which
somebody else stands between a word and its noun ("taught"). A row a training: tags right on the test sentences; on
sentences of 17 to 20 words, at the positions 1 to 16 and at 17 to 20, which no sentence of the training has; and for
templates at the start of a sentence, in a second clause, behind two adjectives, and with an adjective before the
subject: verbs right with a place in between, and with somebody in between right, of the other gender, plural.

--curves: tags right on 300 test sentences and verbs right in both traps, while a model is trained.
--parts: the taught model on 600 fresh sentences: points lost without a sublayer, which adds nothing (zero) or its mean
(mean), without a head; for how many words a head's largest weight is on the noun, with and without feed-forward 1.
--patch: the taught model, 72 pairs of sentences that differ in their subject: how often the verb flips with one vector
of the other run, for each station and word. Then, in the second clause, pairs that differ in the noun in between.
--digits: sixteen digits in reverse, for an Elman network, one that begins with the identity, and a GRU.
--induction: strings that repeat themselves, for one and two layers.
"""

import argparse

import torch

from utils import corpus, measures, probes, rnn, tagging, training
from utils.masks import padding_mask
from utils.tagging import PLACES, SOMEBODY
from utils.transformer import Tagger

THIRD = ("the {} near the tall green {} arrived",)
TEMPLATES = {
    "first": tagging.AT_THE_START,
    "second": tagging.SECOND_CLAUSE,
    "third": THIRD,
    "adjective": tuple(template.replace("the {}", "the old {}", 1) for template in tagging.AT_THE_START),
}
LOOKS = (0, 25, 50, 75, 100, 150, 200, 300, 400, 500, 600)  # steps after which --curves looks


def trained(task, kind, seed, taught, steps, look=None):
    """A model after a training; `look` is called with the model at the steps LOOKS, its random numbers put back."""
    training.seed(seed)
    model, done = tagging.tagger(kind, len(task.vocabulary)), 0

    def loss(model, batch):
        nonlocal done
        if look and done in LOOKS:
            with torch.random.fork_rng():
                look(model.eval())
            model.train()
        done += 1
        return tagging.tag_loss(model, batch)

    batches = tagging.batches(task.train + task.mixed * taught, task.vocabulary)
    training.fit(model, batches, loss, steps, learning_rate=3e-3)
    if look:
        look(model)
    return model.eval().requires_grad_(False)


@torch.no_grad()
def right(task, model, sentences, *bands):
    tokens, tags, _ = corpus.agreement(sentences, task.vocabulary)
    right = model(tokens, padding_mask(tokens))[0].argmax(-1) == tags
    positions = torch.arange(tokens.shape[1])
    bands = bands or [(0, len(positions))]
    return [right[(tags >= 0) & (positions >= a) & (positions < b)].float().mean().item() for a, b in bands]


def row(task, kind, seed, taught, steps):
    model = trained(task, kind, seed, taught, steps)
    [test], (seen, new) = right(task, model, task.test), right(task, model, task.longer, (0, 16), (16, 20))
    cells = [f"test {test:6.1%}", f"long {seen:4.0%} {new:4.0%}"]
    for name, templates in TEMPLATES.items():
        control, trap = (tagging.verbs(model, task.vocabulary, templates, second) for second in (PLACES, SOMEBODY))
        cells.append(f"{name} {control.right} of {sum(control)}, {tuple(trap)} of {sum(trap)}")
    return f"{kind:13} {'taught' if taught else '':6} seed {seed}   " + "   ".join(cells)


def curve(task, kind, seed, taught, steps):
    seen = []

    def look(model):
        traps = [tagging.verbs(model, task.vocabulary, TEMPLATES[name]).share for name in ("first", "second")]
        seen.append([*right(task, model, task.test[:300]), *traps])

    trained(task, kind, seed, taught, steps, look)
    columns = [[round(share, 3) for share in column] for column in zip(*seen)]
    named = "   ".join(f"{name} {column}" for name, column in zip(("test", "first", "second"), columns))
    return f"{kind:13} {'taught' if taught else '':6} seed {seed}   {named}"


# Parts and vectors


def run(model, tokens, mask=None, cut=None, exchange=None):
    """The logits, and the stream at each station. cut: (part, what it adds instead (d,)); exchange: (station, position,
    the stations of another run)."""
    embedding, encoder = tagging.opened(model)
    stream = [embedding(tokens)]
    for name, part in [("embedding", None), *probes.sublayers(encoder, mask).items()]:
        if part is not None:
            added = part(stream[-1])
            stream.append(stream[-1] + (cut[1].expand_as(added) if cut and cut[0] == name else added))
        if exchange and exchange[0] == len(stream) - 1:
            stream[-1] = stream[-1].clone()
            stream[-1][:, exchange[1]] = exchange[2][exchange[0]][:, exchange[1]]
    return model.to_logits(encoder.final_norm(stream[-1])), stream


def parts(task, kind, seed, steps):
    model = trained(task, kind, seed, True, steps)
    embedding, encoder = tagging.opened(model)
    tokens, tags, nouns = corpus.agreement(corpus.Grammar("it", seed=1).sample(600, 8, 16), task.vocabulary)
    mask, tagged = padding_mask(tokens), tags >= 0

    def points(logits):
        return 100 * measures.token_accuracy(logits, tags, tagged)

    def on_noun():
        weights = model(tokens, mask)[1]  # (b, h, q, k) for each layer
        return [
            round((one.argmax(-1) == nouns[:, None])[:, h][tagged].float().mean().item(), 2)
            for one in weights
            for h in (0, 1)
        ]

    whole, stream = run(model, tokens, mask)
    real, said = mask[:, 0, 0], [f"whole {points(whole):.1f}"]
    for number, name in enumerate(probes.sublayers(encoder)):
        added = (stream[number + 1] - stream[number])[real].mean(0)
        lost = [points(whole) - points(run(model, tokens, mask, cut=(name, one))[0]) for one in (0 * added, added)]
        said.append(f"{name} zero {lost[0]:.1f} mean {lost[1]:.1f}")
    silenced = []
    for layer, head in ((1, 1), (1, 2), (2, 1), (2, 2)):
        with probes.ablate(encoder, layer, head):
            silenced.append(round(points(whole) - points(model(tokens, mask)[0]), 1))
    said += [f"heads {silenced}", f"on the noun {on_noun()}"]
    hook = encoder.blocks[0].feed_forward.register_forward_hook(lambda _module, _inputs, added: torch.zeros_like(added))
    said.append(f"without feed-forward 1 {on_noun()[2:]}")
    hook.remove()
    return f"{kind:7} seed {seed}   " + "   ".join(said)


def patch(task, kind, seed, steps):
    """For each station, how often the verb flips with the vector of each position of the other run."""
    model = trained(task, kind, seed, True, steps)
    first = [(f"the {a} near the {place} arrived", f"the {b} near the {place} arrived")
             for a in tagging.MALE for b in tagging.FEMALE for place in ("castle", "tower", "tree")]  # fmt: skip
    template = tagging.SECOND_CLAUSE[0]
    between = [(template.format(a, b), template.format(a, c)) for a in tagging.MALE for b in tagging.FEMALE
               for c in tagging.MALE if a != c]  # fmt: skip
    subject = [(template.format(a, b), template.format(c, b)) for a in tagging.MALE for b in tagging.FEMALE
               for c in tagging.FEMALE if b != c]  # fmt: skip
    said = []
    for name, pairs in (
        ("subject", first),
        ("second clause, in between", between),
        ("second clause, subject", subject),
    ):
        mine, other = (task.vocabulary.batch([pair[k].split() for pair in pairs]) for k in (0, 1))
        (logits, _), (others, stream) = run(model, mine), run(model, other)
        before, after = logits[:, -1].argmax(-1), others[:, -1].argmax(-1)
        differ = before != after
        said.append(f"{name}: the whole other run flips {differ.sum()} of {len(pairs)}")
        for station in range(5):
            flips = [
                (run(model, mine, exchange=(station, k, stream))[0][:, -1].argmax(-1) == after)[differ]
                .float()
                .mean()
                .item()
                for k in range(mine.shape[1])
            ]
            said.append(f"    station {station}: {[round(share, 2) for share in flips]}")
    return f"{kind} seed {seed}\n" + "\n".join(said)


# Digits and induction


def sixteen_digits(count, generator=None):
    there = torch.randint(10, (count, 16), generator=generator)
    return there, there.flip(1)


def digits(cell, learning_rate, steps, seed):
    training.seed(seed)
    encoder = rnn.RecurrentEncoder(10, d_embedding=64, d_hidden=128, cell="gru" if cell == "GRU" else "elman")
    if cell == "identity":
        for name, weight in encoder.rnn.named_parameters():
            if name.startswith("weight_hh"):
                weight.data.copy_(torch.eye(len(weight)))
    model = tagging.TaggerOf(encoder, num_tags=10, d_state=128)
    training.fit(model, training.endless(sixteen_digits, 128), training.loss_of, steps, learning_rate=learning_rate)
    share = measures.accuracy(model, *sixteen_digits(2000, torch.Generator().manual_seed(9)))
    return f"{cell:8} learning rate {learning_rate}, {steps} steps, seed {seed}: {share:.1%}"


def induction(count, shortest=4, longest=11, n=24, symbols=20, generator=None):
    periods = torch.randint(shortest, longest + 1, (count, 1), generator=generator)
    base = torch.rand(count, symbols, generator=generator).argsort(1)  # (count, symbols)
    place = torch.arange(n)
    following = base.gather(1, (place + 1) % periods)
    return base.gather(1, place % periods), following.where(place >= periods, -100)


def inducer(num_layers, d_model, steps, seed):
    training.seed(seed)
    sizes = {"d_model": d_model, "num_heads": 1, "d_ff": None, "num_layers": num_layers}
    model = Tagger(20, num_tags=20, **sizes, positions="learned", max_len=24, causal=True)
    losses = training.fit(model, training.endless(induction, 64), training.loss_of, steps).losses
    share = measures.accuracy(model, *induction(500, generator=torch.Generator().manual_seed(9)))
    means = [round(sum(losses[k : k + 10]) / 10, 2) for k in range(0, min(steps, 250), 10)]
    size = sum(one.numel() for one in model.parameters())
    return (
        f"layers {num_layers}, d {d_model}, {size:,} parameters, {steps} steps, seed {seed}: {share:.1%}, loss {means}"
    )


def lines(options):
    """The lines of a table, one after the other."""
    seeds, steps, kinds = options.seeds, options.steps, options.kinds
    if options.digits:
        for cell in ("elman", "identity", "GRU"):
            for count in (300, 3000):
                yield from (digits(cell, rate, count, seed) for rate in (5e-3, 1e-2) for seed in seeds)
    elif options.induction:
        for num_layers, d_model, count in ((2, 48, 250), (1, 48, 250), (1, 48, 1000), (1, 96, 1000)):
            yield from (inducer(num_layers, d_model, count, seed) for seed in seeds)
    else:
        task = tagging.sentences()
        if options.parts or options.patch:
            measure = parts if options.parts else patch
            yield from (measure(task, kind, seed, steps) for kind in kinds or ["sine", "rotary"] for seed in seeds)
        else:
            measure = curve if options.curves else row
            for kind in kinds or (["rotary", "sine", "Elman network"] if options.curves else tagging.KINDS):
                for taught in (False, True):
                    yield from (measure(task, kind, seed, taught, steps) for seed in seeds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(tagging.KINDS))
    parser.add_argument("--seeds", type=int, nargs="+", default=range(5))
    parser.add_argument("--steps", type=int, default=600, help="of each training of a tagger")
    for name in ("curves", "parts", "patch", "digits", "induction"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for line in lines(options):
        print(line, flush=True)


if __name__ == "__main__":
    main()
