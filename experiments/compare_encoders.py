"""Train the taggers of the notebook on the encoder at work with several seeds, for its tables.

    python -m experiments.compare_encoders [KIND ...] [--seeds 0 1 2 3 4] [--steps 600]        all kinds: ten minutes
    python -m experiments.compare_encoders --heads [--seeds 0 1 2 3 4]        one minute
    python -m experiments.compare_encoders --journey [--seeds 0 1 2 3 4]        two minutes

KIND: sine, learned, rotary, none, elman; each is trained twice, without and with the sentences in which somebody else
stands between a verb and its subject ("taught"). A row a training: tags right on the test sentences; on sentences of 17
to 20 words, at the places 1 to 16 and at the places 17 to 20, which no sentence of the training has; and verbs right in
the templates of the notebook, with a place and with somebody between subject and verb, at the beginning of a sentence,
in a second clause, and behind two adjectives. --steps: those of a training.

--heads: the taught encoder with sines, on 600 fresh sentences: for each head of each layer, for how many words its
largest weight is on the word's noun, and how many points of the tags are lost without it; then without a whole layer.

--journey: the taught encoder with sines, on sentences that it was not trained on, with somebody between a word and its
noun: of the words that stand 4 places or more from their noun, the share whose tag can be read after the embedding and
after each sublayer; by the model's own last norm and output layer, and by a linear layer that is fitted to the vectors
there (to those of every second sentence; the share is that of the others). Then how often a verb gives its subject more
weight than the somebody, in the last layer and as a mean over its heads: of the 144 verbs at the start of a sentence,
and of the 192 in a second clause.
"""

import argparse

import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

from utils import corpus, measures, probes, rnn, training
from utils.decoder import TokenEncoder
from utils.masks import padding_mask
from utils.transformer import Tagger
from utils.vocabulary import Vocabulary

SIZES = {"d_model": 64, "num_heads": 2, "num_layers": 2, "d_ff": 128}
MALE, FEMALE = ["wizard", "king", "boy", "dragon", "cat", "bear"], ["witch", "queen", "girl", "turtle"]
SOMEBODY = dict.fromkeys(MALE, FEMALE) | dict.fromkeys(FEMALE, MALE)
PLACES = dict.fromkeys(SOMEBODY, ["castle", "tower", "tree"])
FIRST = ["the {} near the {} slept", "the {} near the {} arrived", "the {} behind the {} slept"]
SECOND = [
    f"{clause} the {{}} {near} the {{}} slept"
    for clause in ("the friends sang because", "the friends sang , and")
    for near in ("near", "behind")
]
THIRD = ["the {} near the tall green {} arrived"]


class OtherTagger(nn.Module):
    """A tagger whose encoder is an Elman network that reads both ways, or has rotary positions."""

    def __init__(self, encoder, width, num_tags=4):
        super().__init__()
        self.encoder, self.to_logits = encoder, nn.Linear(width, num_tags)

    def forward(self, tokens, mask=None):
        mask = padding_mask(torch.ones_like(tokens)) if mask is None else mask
        states, *_ = self.encoder(tokens, mask)
        return self.to_logits(states), None


def new_tagger(kind, size):
    if kind == "elman":
        return OtherTagger(rnn.RecurrentEncoder(size, d_embedding=64, d_hidden=128, cell="elman"), 128)
    if kind == "rotary":
        return OtherTagger(TokenEncoder(size, **SIZES, positions="rotary", final_norm=True), 64)
    return Tagger(size, num_tags=4, **SIZES, positions=None if kind == "none" else kind)


class Bench:
    """The sentences of the notebook, and one training on them."""

    def __init__(self, steps=600):
        self.steps = steps
        grammar = corpus.Grammar("it", seed=0)
        pairs = grammar.sample(18_000, 8, 16) + grammar.sample(2_000, 3, 7)
        far = [pair for pair in pairs if corpus.reach(pair) >= 4 and len(pair.source) > 7]
        short = [pair for pair in pairs if len(pair.source) < 8 and not corpus.crossed(pair)]
        plain, self.mixed = ([pair for pair in far if corpus.crossed(pair) == wanted] for wanted in (False, True))
        self.test, self.train = plain[:1000], plain[1000:] + short
        self.vocabulary = Vocabulary(word for pair in pairs for word in pair.source)
        self.long = [pair for pair in grammar.sample(900, 17, 20) if not corpus.crossed(pair)]

    def collate(self, sentences):
        return corpus.agreement(sentences, self.vocabulary)

    def trained(self, kind, seed, taught):
        training.seed(seed)
        model = new_tagger(kind, len(self.vocabulary))
        sentences = self.train + self.mixed * taught
        batches = training.batches_by_length(sentences, lambda pair: len(pair.source), self.collate)

        def loss(model, batch):
            tokens, tags, _ = batch
            return training.sequence_loss(model(tokens, padding_mask(tokens))[0], tags, tags >= 0)

        training.fit(model, batches, loss, self.steps, learning_rate=3e-3)
        return model

    @torch.no_grad()
    def right(self, model, sentences, *bands):
        tokens, tags, _ = self.collate(sentences)
        right = model(tokens, padding_mask(tokens))[0].argmax(-1) == tags
        places = torch.arange(tokens.shape[1])
        bands = bands or [(0, len(places))]
        return [right[(tags >= 0) & (places >= a) & (places < b)].float().mean().item() for a, b in bands]

    @torch.no_grad()
    def verbs_right(self, model, template, second):
        subjects = [noun for noun, nouns in second.items() for _ in nouns]
        filled = [template.format(noun, other).split() for noun, nouns in second.items() for other in nouns]
        given = model(self.vocabulary.batch(filled))[0][:, -1].argmax(-1)
        wanted = torch.tensor([corpus.TAGS.index("m sg" if noun in MALE else "f sg") for noun in subjects])
        return (given == wanted).sum().item()

    @torch.no_grad()
    def hears_subject(self, model, template):
        """In how many of 48 sentences the verb gives its subject more weight than the other noun, in the last layer."""
        subject, other = (place for place, word in enumerate(template.split()) if word == "{}")
        filled = [template.format(noun, one).split() for noun, nouns in SOMEBODY.items() for one in nouns]
        tokens = self.vocabulary.batch(filled)
        weights = model.encoder(model.embedding(tokens))[1][-1].mean(1)[:, -1]  # (b, k)
        return (weights[:, subject] > weights[:, other]).sum().item()

    def row(self, kind, seed, taught):
        model = self.trained(kind, seed, taught)
        [test], (seen, new) = self.right(model, self.test), self.right(model, self.long, (0, 16), (16, 20))
        cells = [f"test {test:6.1%}", f"long {seen:4.0%} {new:4.0%}"]
        for name, templates in (("first", FIRST), ("second", SECOND), ("third", THIRD)):
            control = sum(self.verbs_right(model, template, PLACES) for template in templates)
            counts = [self.verbs_right(model, template, SOMEBODY) for template in templates]
            cells.append(f"{name} {control} of {30 * len(templates)}, {counts} {sum(counts)} of {48 * len(templates)}")
        return f"{kind:8} {'taught' if taught else '':6} seed {seed}   " + "   ".join(cells)


def heads(bench, seed):
    """Where the heads of the taught encoder look, and what is lost without them, as a line of text."""
    model = bench.trained("sine", seed, True).eval().requires_grad_(False)
    tokens, tags, nouns = bench.collate(corpus.Grammar("it", seed=1).sample(600, 8, 16))
    mask, tagged = padding_mask(tokens), tags >= 0
    logits, weights = model(tokens, mask)
    whole, said = measures.token_accuracy(logits, tags, tagged), []
    for layer in (1, 2):
        for head in (1, 2):
            on_noun = (weights[layer - 1][:, head - 1].argmax(-1) == nouns)[tagged].float().mean().item()
            with probes.ablate(model.encoder, layer, head):
                lost = whole - measures.token_accuracy(model(tokens, mask)[0], tags, tagged)
            said.append(f"head ({layer}, {head}) on the noun {on_noun:4.0%}, silenced {100 * lost:4.1f}")
        with probes.ablate(model.encoder, layer, 1), probes.ablate(model.encoder, layer, 2):
            lost = whole - measures.token_accuracy(model(tokens, mask)[0], tags, tagged)
        said.append(f"layer {layer} silenced {100 * lost:4.1f}")
    return f"seed {seed}   {'   '.join(said)}"


def far_words(bench):
    """Fresh sentences with somebody between a word and its noun, as a batch, and which words stand far from theirs."""
    known = {pair.source for pair in [*bench.train, *bench.mixed, *bench.test]}
    sentences = corpus.Grammar("it", seed=2).sample(14_000, 8, 16)
    fresh = [pair for pair in sentences if corpus.crossed(pair) and pair.source not in known]
    tokens, tags, nouns = bench.collate(fresh)
    return tokens, tags, (tags >= 0) & ((nouns - torch.arange(tokens.shape[1])).abs() >= 4)


def journey(bench, seed):
    """What can be read of the far words on their way through the taught encoder, as a line of text."""
    model = bench.trained("sine", seed, True).eval()
    tokens, tags, far = far_words(bench)
    logits, _ = probes.readings(model, tokens, padding_mask(tokens))  # (s, b, n, tags)
    own = [f"{share:.1%}" for share in (logits.argmax(-1) == tags)[:, far].float().mean(-1).tolist()]
    model.to_logits = nn.Identity()
    vectors, _ = probes.readings(model, tokens, padding_mask(tokens))  # (s, b, n, d): what the output layer would read
    half = far & (torch.arange(len(tokens)) % 2 == 0)[:, None]
    fitted = []
    for x in vectors:
        probe = LogisticRegression(max_iter=2000).fit(x[half].numpy(), tags[half].numpy())
        fitted.append(f"{probe.score(x[far & ~half].numpy(), tags[far & ~half].numpy()):.1%}")
    first, second = (sum(bench.hears_subject(model, one) for one in templates) for templates in (FIRST, SECOND))
    return f"seed {seed}, {far.sum():,} words   own {own}   fitted {fitted}   hears its subject {first}, {second}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = ["sine", "learned", "rotary", "none", "elman"]
    parser.add_argument("kinds", nargs="*", default=kinds, metavar="KIND", help=", ".join(kinds))
    parser.add_argument("--seeds", type=int, nargs="+", default=range(5))
    parser.add_argument("--steps", type=int, default=600, help="of each training")
    parser.add_argument("--heads", action="store_true", help="where heads look, and what is lost without them")
    parser.add_argument("--journey", action="store_true", help="what can be read of a word on its way")
    options = parser.parse_args()
    torch.set_num_threads(1)
    bench = Bench(options.steps)
    if options.heads or options.journey:
        for seed in options.seeds:
            print((heads if options.heads else journey)(bench, seed), flush=True)
        return
    for kind in options.kinds:
        for taught in (False, True):
            for seed in options.seeds:
                print(bench.row(kind, seed, taught), flush=True)


if __name__ == "__main__":
    main()
