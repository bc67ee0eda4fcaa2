"""The task of the notebook on the encoder at work: every article, adjective and verb gets the tag of its noun. Its
sentences, its models and their training, and sentences in which a cheaper rule gives another tag."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from . import corpus, rnn, training
from .corpus import Pair
from .corpus.english import ANIMATE, LEMMAS
from .decoder import TokenEncoder
from .masks import padding_mask
from .transformer import Tagger
from .vocabulary import Vocabulary

SIZES = {"d_model": 64, "num_heads": 2, "num_layers": 2, "d_ff": 128}
KINDS = {"no positions": None, "sine": "sine", "learned": "learned", "rotary": "rotary", "Elman network": "elman"}
MALE, FEMALE = ("wizard", "king", "boy", "dragon", "cat", "bear"), ("witch", "queen", "girl", "turtle")
SOMEBODY = dict.fromkeys(MALE, FEMALE) | dict.fromkeys(FEMALE, MALE)  # {subject: nouns of the other gender}
PLACES = dict.fromkeys(SOMEBODY, ("castle", "tower", "tree"))  # {subject: places, which cannot act}
AT_THE_START = "the {} near the {} slept", "the {} near the {} arrived", "the {} behind the {} slept"
SECOND_CLAUSE = tuple(
    f"{clause} the {{}} {near} the {{}} slept"
    for clause in ("the friends sang because", "the friends sang , and")
    for near in ("near", "behind")
)
BEINGS = {form for form in (*ANIMATE, *LEMMAS) if LEMMAS.get(form, form) in ANIMATE}  # nouns, one or several


class Sentences(NamedTuple):
    """Sentences to learn from and to measure with, in which nobody else stands between a word and its noun; those in
    which somebody does; longer ones; and the vocabulary of all."""

    train: list[Pair]
    test: list[Pair]
    mixed: list[Pair]
    longer: list[Pair]
    vocabulary: Vocabulary


def sentences() -> Sentences:
    """The sentences of the notebook, in which some word stands four positions or more from its noun."""
    grammar = corpus.Grammar("it", seed=0)
    pairs = grammar.sample(18_000, 8, 16) + grammar.sample(2_000, 3, 7)
    far = [pair for pair in pairs if corpus.reach(pair) >= 4 and len(pair.source) > 7]
    short = [pair for pair in pairs if len(pair.source) < 8 and not corpus.crossed(pair)]
    plain, mixed = ([pair for pair in far if corpus.crossed(pair) == wanted] for wanted in (False, True))
    vocabulary = Vocabulary(word for pair in pairs for word in pair.source)
    longer = [pair for pair in grammar.sample(900, 17, 20) if not corpus.crossed(pair)]
    return Sentences(plain[1000:] + short, plain[:1000], mixed, longer, vocabulary)


def verbs_in(pair: Pair) -> list[tuple[int, int]]:
    """The positions of the verbs of a sentence that have a subject, each with that of the subject."""
    subjects = [(i, noun) for i, noun in enumerate(pair.heads) if noun not in (None, i)]
    return [(i, noun) for i, noun in subjects if pair.source[i] in corpus.VERBS]


class TaggerOf(nn.Module):
    """An output layer on an encoder of tokens, which returns states (b, n, d) and perhaps weights.

    Called with tokens (b, n) and perhaps their mask, it returns logits (b, n, tags) and what came second."""

    def __init__(self, encoder: nn.Module, *, num_tags: int, d_state: int):
        super().__init__()
        self.encoder, self.to_logits = encoder, nn.Linear(d_state, num_tags)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> tuple[Tensor, object]:
        mask = padding_mask(torch.ones_like(tokens)) if mask is None else mask
        states, second, *_ = self.encoder(tokens, mask)
        return self.to_logits(states), second


def tagger(kind: str, vocabulary_size: int, num_tags: int = 4) -> nn.Module:
    """A tagger that has not learned anything: of two layers with two heads, or an Elman network that reads both ways.

    kind: a name of KINDS."""
    if kind == "Elman network":
        encoder = rnn.RecurrentEncoder(vocabulary_size, d_embedding=64, d_hidden=128, cell="elman")
        return TaggerOf(encoder, num_tags=num_tags, d_state=128)
    if kind == "rotary":  # turns queries and keys inside the attention: another encoder, the same in all else
        encoder = TokenEncoder(vocabulary_size, **SIZES, positions="rotary", final_norm=True)
        return TaggerOf(encoder, num_tags=num_tags, d_state=SIZES["d_model"])
    return Tagger(vocabulary_size, num_tags=num_tags, **SIZES, positions=KINDS[kind])


def tag_loss(model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """The mean cross-entropy of the words that have a tag, of a batch that `corpus.agreement` made."""
    tokens, tags, _ = batch
    logits, _ = model(tokens, padding_mask(tokens))  # (b, n, tags)
    return training.sequence_loss(logits, tags, tags >= 0)


def batches(pairs: Sequence[Pair], vocabulary: Vocabulary) -> training.Endless:
    """Batches of sentences of about one length, as `training.fit` and `tag_loss` take them."""
    return training.batches_by_length(
        pairs, lambda pair: len(pair.source), lambda some: corpus.agreement(some, vocabulary)
    )


def fill(template: str, second: Mapping[str, Sequence[str]] = SOMEBODY) -> list[tuple[list[str], str, str]]:
    """The sentences of a template with two {}, each with its two nouns. second: {subject: nouns for the second {}}."""
    return [(template.format(noun, one).split(), noun, one) for noun, others in second.items() for one in others]


class Verbs(NamedTuple):
    """What a model says of the last words of filled templates: how many get the tag of their subject, the other gender,
    or a tag of the plural."""

    right: int
    other: int
    plural: int

    @property
    def share(self) -> float:
        return self.right / sum(self)


@torch.no_grad()
def verbs(
    model: nn.Module, vocabulary: Vocabulary, templates: Sequence[str], second: Mapping[str, Sequence[str]] = SOMEBODY
) -> Verbs:
    """How the last word of templates, a verb, is tagged: 48 sentences for each with somebody of the other gender as the
    second noun, 30 with a place."""
    given, wanted, device = [], [], next(model.parameters()).device
    for template in templates:
        filled = fill(template, second)
        tokens = vocabulary.batch([words for words, *_ in filled], device=device)  # (b, n)
        given += model(tokens)[0][:, -1].argmax(-1).tolist()
        wanted += ["m sg" if noun in MALE else "f sg" for _, noun, _ in filled]
    said = [corpus.TAGS[tag] for tag in given]
    right, plural = sum(map(str.__eq__, said, wanted)), sum(tag.endswith("pl") for tag in said)
    return Verbs(right, len(said) - right - plural, plural)


def opened(model: nn.Module) -> tuple[nn.Module, nn.Module]:
    """The embedding and the encoder of a tagger with attention. ValueError: of an Elman network, which has neither."""
    inside = model if hasattr(model, "embedding") else model.encoder
    if not hasattr(inside, "encoder"):
        raise ValueError(f"a {type(inside).__name__} has no layers of attention")
    return inside.embedding, inside.encoder


RECORDED = {  # what `python -m experiments.compare_encoders` measured, with the seeds 0 to 4
    "verbs": {  # right of 144 at the start of a sentence, and of 192 in a second clause
        "sine": ([18, 34, 54, 78, 65], [49, 26, 0, 16, 6]),
        "sine, taught": ([107, 72, 129, 136, 130], [25, 40, 29, 82, 4]),
        "learned": ([126, 138, 144, 144, 132], [71, 10, 115, 136, 130]),
        "learned, taught": ([144, 144, 144, 144, 144], [137, 81, 192, 142, 114]),
        "rotary": ([12, 29, 22, 26, 8], [16, 48, 15, 5, 16]),
        "rotary, taught": ([143, 144, 135, 132, 144], [184, 189, 157, 95, 192]),
        "Elman network": ([65, 30, 40, 70, 40], [64, 53, 52, 46, 46]),
        "Elman network, taught": ([144, 144, 144, 144, 144], [192, 192, 179, 187, 192]),
    },
    "rotary at the start": {  # --curves: {step: share of 144 verbs right}, before it is taught
        0: [0.34, 0.5, 0.49, 0.17, 0.08],
        50: [0.37, 0.44, 0.53, 0.46, 0.4],
        75: [0.45, 0.48, 0.85, 0.49, 0.28],
        100: [0.24, 0.3, 0.34, 0.65, 0.33],
        150: [0.26, 0.19, 0.26, 0.12, 0.21],
        300: [0.15, 0.2, 0.1, 0.16, 0.15],
        600: [0.08, 0.2, 0.15, 0.18, 0.06],
    },
    "digits": {  # --digits --seeds 0: share right after 300 steps and after 3,000, learning rate 0.01
        "Elman network": 0.351,
        "Elman network, 3,000 steps": 0.748,
        "identity, 3,000 steps": 0.562,
        "GRU, 3,000 steps": 0.949,
    },
}
