"""Train the translators of the notebooks on the decoder and on writing with several seeds, for its tables.

    python -m experiments.compare_decoders [TABLE ...] [--seeds 0 1 2 3 4] [--weights FOLDER]        all tables: an hour

right      sentences right to the last word, and processor seconds of the training: positions, tied weights, key heads
lengths    the same by the number of words of the source: training ends at 16, "longer" at 24
alignment  error rate of the largest weight of cross-attention, in the row that writes a word and that reads it
cuts       what is written when one layer adds nothing, in every block of the decoder or the encoder: sentences right,
           words that belong there, sentences that say a word twice in a row, different sentences
bugs       sentences that stay as they are without a cache, with each of five published bugs in the cache
beams      what beam search finds: log-probability of a sentence, and sentences right
speakers   loss per word on English test sentences: a model that speaks, after 300, 1,000 and 3,000 steps, and tables
           that know which word follows one, two or three others; a table has no seed

A number is the mean over the seeds, with the smallest and the largest. --weights keeps the models for the next time.
"""

import argparse
import collections
import math
import time
from pathlib import Path
from statistics import fmean

import torch

from experiments import cache_bugs
from utils import corpus, measures, probes, rnn, training
from utils.decoder import LanguageModel, TokenEncoder, TransformerTranslator
from utils.decoding import beam_search
from utils.masks import padding_mask
from utils.translating import translate_all, translation_batches, translation_loss, vocabularies
from utils.vocabulary import PAD_ID, START_ID

SIZES = {"d_model": 64, "num_heads": 4, "d_ff": 128, "positions": "rotary", "scaled": True}
RECIPE = {"steps": 1350, "learning_rate": 6e-3, "warm_up": 60}
RNN_SIZES, RNN_RECIPE = {"d_embedding": 64, "d_hidden": 96}, {"steps": 1430}
VARIANTS = {  # sizes, options of the decoder, and parts of the recipe, that are others
    "rotary": {},
    "sine": {"positions": "sine"},
    "learned": {"positions": "learned"},
    "RNN": RNN_RECIPE,
    "not tied": {"tied": False},
    "2 key heads": {"num_kv_heads": 2},
    "1 key head": {"num_kv_heads": 1},
    "a third as long": {"steps": RECIPE["steps"] // 3},
}


def new_model(english, spanish, name):
    if name == "RNN":  # the recurrent one
        encoder = rnn.RecurrentEncoder(len(english), **RNN_SIZES)
        return rnn.RecurrentTranslator(encoder, rnn.AttentionDecoder(len(spanish), **RNN_SIZES, score="additive"))
    options = {key: value for key, value in VARIANTS[name].items() if key not in RECIPE}
    sizes = SIZES | {key: options.pop(key) for key in SIZES if key in options}
    encoder = TokenEncoder(len(english), **sizes, num_layers=1)
    options = {"num_layers": 2, "cross": True, "tied": True} | options
    return TransformerTranslator(encoder, LanguageModel(len(spanish), **sizes, **options))


class Bench:
    """The corpus, and the models trained on it, each once."""

    def __init__(self, options):
        self.options, self.models = options, {}
        self.pairs = corpus.splits("es", seed=0, train=options.train)
        self.english, self.spanish = self.words = vocabularies(self.pairs.train)
        self.test, self.unseen, self.longer = (part[: options.sentences] for part in self.pairs[1:])

    def models_of(self, name):
        """(model, processor seconds of its training) for each seed."""
        for number in self.options.seeds:
            if (name, number) not in self.models:
                self.models[name, number] = self.trained(name, number)
            yield self.models[name, number]

    def trained(self, name, number):
        training.seed(number)
        model, folder = new_model(*self.words, name), self.options.weights
        file = folder and folder / f"{name.replace(' ', '_')}-{number}.pt"
        if file and file.exists():
            weights, seconds = torch.load(file, weights_only=True)
            model.load_state_dict(weights)
            return model.eval(), seconds
        recipe = {} if name == "RNN" else RECIPE
        recipe = recipe | {key: value for key, value in VARIANTS[name].items() if key in RECIPE}
        recipe["steps"] = self.options.steps or recipe["steps"]
        batches, start = translation_batches(self.pairs.train, *self.words, seed=number), time.process_time()
        training.fit(model, batches, translation_loss, **recipe)
        seconds = time.process_time() - start
        if file:
            folder.mkdir(parents=True, exist_ok=True)
            torch.save((model.state_dict(), seconds), file)
        return model, seconds

    def right(self, model, pairs):
        return per_cent(translate_all(model, pairs, *self.words), [pair.target for pair in pairs])

    def sources(self, pairs):
        """Source tokens (b, k) and their mask."""
        tokens = self.english.batch([pair.source for pair in pairs], end=True)
        return tokens, padding_mask(tokens)

    def table(self, head, columns, names, measure):
        """For each model a row of what measure(model, seconds) returns, a number a column."""
        begin(head, columns)
        for name in names:
            row(name, [measure(model, seconds) for model, seconds in self.models_of(name)])


def per_cent(written, right):
    return 100 * measures.sequence_accuracy(written, right)


def begin(head, columns):
    print(f"\n| {' | '.join([head, *columns])} |\n|{'---|' * (len(columns) + 1)}", flush=True)


def row(name, seeds, digits=1):
    """A row of a table: of each column, what each seed gave."""
    numbers = [[f"{number:.{digits}f}" for number in (fmean(one), min(one), max(one))] for one in zip(*seeds)]
    cells = [f"{mean} ({low} to {high})" for mean, low, high in numbers]
    print(f"| {' | '.join([name, *cells])} |", flush=True)


def right(bench):
    names = ["rotary", "sine", "RNN", "not tied", "2 key heads", "1 key head", "learned"]
    columns = ["processor seconds", "right: test", "unseen combinations"]
    parts = bench.test, bench.unseen
    bench.table("model", columns, names, lambda model, seconds: [seconds, *(bench.right(model, p) for p in parts)])


def lengths(bench):
    bands = [(3, 6), (7, 10), (11, 13), (14, 16), (17, 17), (18, 18), (19, 19), (20, 20), (21, 24)]
    pairs, parts = bench.pairs.test + bench.pairs.longer, {}
    for low, high in bands:
        some = [pair for pair in pairs if low <= len(pair.source) <= high][: bench.options.sentences]
        parts |= {f"{low} to {high} ({len(some)})": some} if some else {}
    names = ["rotary", "sine", "learned", "RNN"]
    bench.table("words", parts, names, lambda model, _: [bench.right(model, some) for some in parts.values()])


def error_rates(weights, pairs):
    """The alignment error rate of weights (b, q, k) while the right translation is read: in the row that writes a word,
    and in the next one, which reads it, each for all words and for nouns, adjectives, verbs and adverbs."""
    for shift in (0, 1):
        for some in (lambda content: True, lambda content: content):
            found = [measures.argmax_links(w[shift:], len(p.source), len(p.target)) for w, p in zip(weights, pairs)]
            found = [{(i, j) for i, j in links if some(p.content[i])} for links, p in zip(found, pairs)]
            sure = [{(i, j) for i, j in p.alignment if some(p.content[i])} for p in pairs]
            yield measures.alignment_error_rate(found, sure, sure)


def alignment(bench):
    begin("weights of", ["writes: all words", "content words", "reads: all words", "content words"])
    target = bench.spanish.batch([pair.target for pair in bench.test], start=True, end=True)
    for name in ("rotary", "sine", "RNN"):
        views = {}  # {layer: the rates of each seed}
        for model, _ in bench.models_of(name):
            with torch.no_grad():
                _, weights = model(*bench.sources(bench.test), target)
            for i, layer in enumerate([weights] if name == "RNN" else weights.cross, 1):
                heads = [list(error_rates(head, bench.test)) for head in (layer.unbind(1) if layer.ndim == 4 else [])]
                mean = layer.mean(1) if heads else layer
                seen = {"mean of heads" if heads else "its head": list(error_rates(mean, bench.test))}
                seen |= {"best head": list(map(min, *heads)), "worst head": list(map(max, *heads))} if heads else {}
                for view, rates in seen.items():
                    views.setdefault(f"{name}, layer {i}, {view}", []).append(rates)
        for view, seeds in views.items():
            row(view, seeds, digits=3)


CUTS = {  # what adds nothing: in which half, which layer of each block
    "nothing": None,
    "the look at the source": ("decoder", "cross_attention"),
    "the look at its own words": ("decoder", "attention"),
    "the decoder's feed-forward layers": ("decoder", "feed_forward"),
    "the encoder's self-attention": ("encoder", "attention"),
    "the encoder's feed-forward layer": ("encoder", "feed_forward"),
}


def twice(words):
    """Does a word follow itself?"""
    return any(one == other for one, other in zip(words, words[1:]))


def cuts(bench):
    begin("model, without", ["right", "words that belong there", "a word twice in a row", "different sentences"])
    right = [pair.target for pair in bench.test]
    for name in ("rotary", "sine"):
        for cut, where in CUTS.items():
            seeds = []
            for model, _ in bench.models_of(name):
                written = translate_all(probes.silenced(model, *where) if where else model, bench.test, *bench.words)
                fits = [word in wanted for words, wanted in zip(written, right) for word in set(words)]
                doubled = 100 * fmean(map(twice, written))
                seeds.append([per_cent(written, right), 100 * fmean(fits or [0]), doubled, len(set(written))])
            row(f"{name}, {cut}", seeds)


def bugs(bench):
    source, mask = bench.sources(bench.test)

    def measure(model, _):
        right = cache_bugs.written(model, source, mask, cached=False)
        return [per_cent(cache_bugs.written(model, source, mask, **bug), right) for bug in cache_bugs.BUGS.values()]

    bench.table("the same with the bug", list(cache_bugs.BUGS), ["rotary", "sine"], measure)


def beams(bench):
    begin("model, sentences, beams", ["log-probability", "higher than with one", "lower", "right"])
    for name, part in (("rotary", "test"), ("a third as long", "test"), ("rotary", "longer")):
        pairs, greedy = getattr(bench, part), {}
        for width in (1, 2, 4, 8):
            seeds = []
            for model, _ in bench.models_of(name):
                with torch.no_grad():
                    step = model.step_for(*bench.sources(pairs))
                found = beam_search(step, None, len(pairs), cache_bugs.LIMIT, width)
                sums = torch.tensor([best[1] for best, *_ in found])
                more = sums - greedy.setdefault(model, sums)
                changed = [100 * (side > 1e-6).float().mean().item() for side in (more, -more)]
                right = [bench.spanish.decode(best[0]) for best, *_ in found], [pair.target for pair in pairs]
                seeds.append([sums.mean().item(), *changed, per_cent(*right)])
            row(f"{name}, {part}, {width}", seeds, digits=2)


def speaking_loss(model, batch):
    """Mean cross-entropy of the source sentences, each word predicted from those before it, `</s>` included."""
    says, _ = batch  # (b, k)
    reads = torch.cat([says.new_full((len(says), 1), START_ID), says[:, :-1]], dim=1)  # (b, k)
    return training.sequence_loss(model(reads)[0], says, says != PAD_ID)


def windows(sentences, n):
    """All n words in a row, from the beginning of each sentence to its end."""
    for words in sentences:
        padded = ["<s>"] * (n - 1) + [*words, "</s>"]
        yield from zip(*(padded[i:] for i in range(n)))


def loss_of_table(train, test, n, vocabulary_size, discount=0.75):
    """Loss per word of a table of n words in a row, by absolute discounting: each count gives `discount` away, to what
    the table of one word less makes of it (Ney, Essen and Kneser 1994)."""
    counts = [collections.Counter(windows(train, size)) for size in range(1, n + 1)]
    sums, kinds = [collections.Counter() for _ in counts], [collections.Counter() for _ in counts]
    for size, found in enumerate(counts):
        for window, count in found.items():
            sums[size][window[:-1]] += count
            kinds[size][window[:-1]] += 1

    def probability(window):
        share = 1 / vocabulary_size
        for size in range(n):
            short = window[n - 1 - size :]
            if before := sums[size][short[:-1]]:
                given_away = discount * kinds[size][short[:-1]] * share
                share = (max(counts[size][short] - discount, 0) + given_away) / before
        return share

    return -fmean(math.log(probability(window)) for window in windows(test, n))


def speakers(bench):
    begin("speaker", ["loss per word"])
    train, test = ([pair.source for pair in pairs] for pairs in (bench.pairs.train, bench.test))
    for n in (2, 3, 4):
        row(f"table of {n} words", [[loss_of_table(train, test, n, len(bench.english) - 3)]], digits=2)
    for steps in (300, 1000, 3000):
        losses = []
        for number in bench.options.seeds:
            training.seed(number)
            model = LanguageModel(len(bench.english), **SIZES, num_layers=2, tied=True)
            batches = translation_batches(bench.pairs.train, *bench.words, seed=number)
            training.fit(model, batches, speaking_loss, steps=bench.options.steps or steps)
            with torch.no_grad():
                says = bench.english.batch(test, end=True)
                losses.append([speaking_loss(model.eval(), (says, None)).item()])
        row(f"{steps} steps", losses, digits=2)


TABLES = {table.__name__: table for table in (right, lengths, alignment, cuts, bugs, beams, speakers)}


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("tables", nargs="*", metavar="TABLE", help=f"some of {', '.join(TABLES)}; all if none is named")
    ask.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    ask.add_argument("--weights", type=Path, help="a folder for trained models")
    ask.add_argument("--train", type=int, default=60_000, help="how many pairs to train with")
    ask.add_argument("--steps", type=int, help="steps of each training, fewer for a quick look")
    ask.add_argument("--sentences", type=int, default=1000, help="how many to translate for a number, at most")
    options = ask.parse_args(arguments)
    if unknown := set(options.tables) - set(TABLES):
        ask.error(f"no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    torch.set_num_threads(1)
    bench = Bench(options)
    for name in options.tables or TABLES:
        TABLES[name](bench)


if __name__ == "__main__":
    main()
