"""Train the word vectors that ship with the course: GloVe's algorithm on text made from WordNet 3.0.

`make vectors` does it all. By hand, on a machine with WordNet's files (`apt-get install wordnet-base`):

    python -m pip install -r tools/vectors/requirements-vectors.txt
    python -m tools.vectors.train_vectors

Two processor cores need about three minutes and 1.2 GB of memory. The result, `data/course_vectors.npz`, is the same
file every time on one machine; on a processor of another kind the numbers differ slightly.

The way from WordNet to vectors, which is also the order of this file:

1. `read_wordnet`: sets of synonyms (synsets), with definitions, examples, relations, and how common each sense is.
2. `sentences` and `random_walks`: text made from these.
3. `choose_vocabulary`: the most useful words first.
4. `count_cooccurrences` and `lend_counts`: how often, and how near, two words occur together.
5. `train`: vectors whose dot products predict the logarithms of these counts (Pennington, Socher & Manning 2014).
"""

import argparse
import math
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

try:
    import numba
    import numpy as np
    import scipy.sparse
    from tqdm import tqdm
except ImportError as error:
    sys.exit(
        f"{error}. Training needs more than the course: python -m pip install -r tools/vectors/requirements-vectors.txt"
    )

from utils.vector_files import write_npz  # noqa: E402  (what it needs besides is said first)
from utils.vectors import SHIPPED  # noqa: E402

# ------------------------------------------------------------------------------------------------ settings

WORDNET = Path("/usr/share/wordnet")
SEED = 0
DIMENSIONS = 100
SHIPPED_WORDS = 20_000
TRAINED_WORDS = 25_000  # the rarest give context to the others and are then left out
MINIMUM_COUNT = 5  # a word that occurs less often in all the text is not trained
WINDOW = 10  # words further apart than this do not count as neighbours
WALKS = 600_000
WALK_LENGTH = 0.85  # the chance that a walk goes on after a step
WALK_WEIGHT = 0.2
OPPOSITE_WEIGHT = 4.0  # of a sentence that names an opposite, times how common the two senses are
FORM_WEIGHT = 3.0  # of the sentences that name inflected forms
FORM_SHARE = 0.04  # of a word's usefulness, what its inflected forms have at least
LENT_SHARE = 0.5  # of a word's counts, what an equally frequent inflected form borrows
LENT_MOST = 0.3  # the most that any form borrows
LENT_TO_RARE = 0.1  # what a form borrows that the course needs and that WordNet has hardly ever
EPOCHS = 10
LEARNING_RATE = 0.1
X_MAX = 10  # counts from here on weigh 1 in the loss (the paper's 100 is for a text of a billion words)
ALPHA = 0.75
ABSENT_SAMPLES = 3  # pairs drawn at random for each pair that occurs
ABSENT_COUNT = 0.01  # the count they are taken to have at most
ABSENT_WEIGHT = 0.18

# Words that the course uses and that must have a vector, however rare they are in WordNet's own text.
COURSE_TEXT = """
    the ship laden with goods from several international ports sailed gently across the ocean
    the animal didn't cross the street because it was too tired
    the man took the chair and disappeared
    my name is so long and thanks for all the fish the green witch arrived the blue car
    florida california texas politics truth king queen man woman
    paris france berlin germany rome italy madrid spain london england
"""

# ------------------------------------------------------------------------------------------------ 1. WordNet

PARTS_OF_SPEECH = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
SENSE_NUMBERS = {"n": "1", "v": "2", "a": "3", "r": "4", "s": "5"}  # how cntlist.rev codes the part of speech
ANIMALS, LOCATIONS, PLANTS = 5, 15, 20  # three of WordNet's lexicographer files
TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)*|[0-9]+")


@dataclass
class Relation:
    """An arrow of WordNet from one synset to another, or from one of its lemmas to one of the other's."""

    symbol: str
    target: str
    source_lemma: int  # counted from 1; 0 where the relation holds for the whole synset
    target_lemma: int


@dataclass
class Synset:
    """A meaning: the words (lemmas) that have it, what it is, and how it is related to other meanings."""

    key: str
    part_of_speech: str
    topic: int  # the number of the lexicographer file it comes from
    lemmas: list[str] = field(default_factory=list)
    tokens: list[list[str]] = field(default_factory=list)  # of each lemma
    counts: list[int] = field(default_factory=list)  # how often the lemma was tagged with this meaning in SemCor
    weights: list[float] = field(default_factory=list)  # how common the meaning is among those of the lemma
    relations: list[Relation] = field(default_factory=list)
    definition: list[str] = field(default_factory=list)
    examples: list[list[str]] = field(default_factory=list)


def tokenise(text: str) -> list[str]:
    """Words and numbers in lower case; "didn't" becomes did n't, as in Stanford's vectors, and 's is left out."""
    tokens = []
    for token in TOKEN.findall(text.lower().replace("`", " ").replace("_", " ")):
        if token.endswith("n't") and len(token) > 3:
            tokens += [token[:-3], "n't"]
        else:
            tokens.append(token.removesuffix("'s"))
    return tokens


def data_lines(name: str) -> Iterator[str]:
    """The lines of one of WordNet's files without the licence at its head, which is indented."""
    try:
        with open(WORDNET / name, encoding="latin-1") as file:
            yield from (line for line in file if not line.startswith(" "))
    except FileNotFoundError:
        sys.exit(f"WordNet's file {WORDNET / name} is missing: apt-get install wordnet-base")


def read_wordnet() -> dict[str, Synset]:
    """All synsets by key, a letter for the part of speech and the offset in WordNet's file."""
    counts = read_sense_counts()
    ranks = read_sense_ranks()
    synsets = {}
    for name, letter in PARTS_OF_SPEECH.items():
        for line in data_lines(f"data.{name}"):
            synset = parse_synset(line, letter, counts, ranks)
            synsets[synset.key] = synset
    return synsets


def read_sense_counts() -> dict[tuple, int]:
    """How often a lemma was tagged with a sense: {(lemma, part of speech, topic, sense id): count}."""
    counts = {}
    for line in data_lines("cntlist.rev"):
        sense_key, _, count = line.split()
        lemma, sense = sense_key.split("%")
        part_of_speech, topic, sense_id = sense.split(":")[:3]
        counts[lemma.lower(), part_of_speech, int(topic), int(sense_id)] = int(count)
    return counts


def read_sense_ranks() -> dict[tuple[str, str], int]:
    """The rank of a meaning among those of a lemma, the most common being 0: {(lemma, synset key): rank}."""
    ranks = {}
    for name, letter in PARTS_OF_SPEECH.items():
        for line in data_lines(f"index.{name}"):
            fields = line.split()
            offsets = fields[-int(fields[2]) :]
            for rank, offset in enumerate(offsets):
                ranks[fields[0], letter + offset] = rank
    return ranks


def parse_synset(line: str, letter: str, counts: dict, ranks: dict) -> Synset:
    """Read a line of a data file (its format is described in WordNet's manual, wndb(5))."""
    head, gloss = line.split(" | ", 1)
    fields = head.split()
    synset = Synset(key=letter + fields[0], part_of_speech=letter, topic=int(fields[1]))
    number_of_lemmas = int(fields[3], 16)
    for i in range(number_of_lemmas):
        lemma = re.sub(r"\((a|p|ip)\)$", "", fields[4 + 2 * i])  # the marker of an adjective's place in the sentence
        sense_id = int(fields[5 + 2 * i], 16)
        count = counts.get((lemma.lower(), SENSE_NUMBERS[fields[2]], synset.topic, sense_id), 0)
        rank = ranks.get((lemma.lower(), synset.key), 9)
        synset.lemmas.append(lemma.replace("_", " "))
        synset.tokens.append(tokenise(lemma))
        synset.counts.append(count)
        synset.weights.append((1 + math.log1p(count)) / (1 + rank / 2))
    start = 4 + 2 * number_of_lemmas
    for i in range(int(fields[start])):
        symbol, offset, target_pos, lemmas = fields[start + 1 + 4 * i : start + 5 + 4 * i]
        target = target_pos.replace("s", "a") + offset  # satellite adjectives are in the file of adjectives
        synset.relations.append(Relation(symbol, target, int(lemmas[:2], 16), int(lemmas[2:], 16)))
    definition, *_ = re.split(r'(?:^|; )"', gloss.strip(), maxsplit=1)
    synset.definition = tokenise(definition)
    synset.examples = [tokenise(example) for example in re.findall(r'"([^"]+)"?', gloss[len(definition) :])]
    return synset


# ------------------------------------------------------------------------------------------------ 2. text

Sentence = tuple[float, list[str]]  # its weight and its words

LINKS = {"n": ["is"], "v": ["means", "to"], "a": ["means"], "r": ["means"]}
RELATIONS = {
    "!": "is the opposite of",
    "&": "is similar to",
    "$": "is similar to",
    "+": "is related to",
    "\\": "is related to",
    "=": "describes",
    ";c": "in",
    ";r": "in",
    "*": "requires",
    ">": "causes",
    "^": "see also",
    "<": "from",
}
WHOLES = {"#p": "is part of", "#m": "is a member of", "#s": "is the substance of"}
KINDS = {"~": "", "~i": "", "%p": "parts", "%m": "members"}  # relations to several others, told as a list
NOT_WALKED = {";u", "-u", "-r"}  # "is slang", "is a region's word": such bridges lead anywhere


def sentences(synsets: dict[str, Synset], rng: np.random.Generator) -> Iterator[Sentence]:
    """All sentences made from synsets; those about a common sense weigh more."""
    for synset in synsets.values():
        yield from gloss_sentences(synset)
        yield from synonym_sentences(synset)
        yield from relation_sentences(synset, synsets)
        yield from chain_sentence(synset, synsets)
        yield from list_sentences(synset, synsets, rng)


def gloss_sentences(synset: Synset) -> Iterator[Sentence]:
    """Its definition, said of each lemma, and its examples."""
    for tokens, weight in zip(synset.tokens[:4], synset.weights):
        yield weight, tokens + LINKS[synset.part_of_speech] + synset.definition
    for example in synset.examples:
        yield 1.0, example


def synonym_sentences(synset: Synset) -> Iterator[Sentence]:
    """Pairs of its lemmas: "car also called automobile", "automobile or car"."""
    for i, second in enumerate(synset.tokens[:6]):
        for j, first in enumerate(synset.tokens[:i]):
            weight = min(synset.weights[i], synset.weights[j])
            yield weight, second + ["also", "called"] + first
            yield weight, first + ["or"] + second


def relation_sentences(synset: Synset, synsets: dict[str, Synset]) -> Iterator[Sentence]:
    """What it is a kind of, a part of, the opposite of, and so on."""
    for relation in synset.relations:
        target = synsets[relation.target]
        if relation.symbol in ("@", "@i"):
            link = ["is", "a"] if synset.part_of_speech == "n" else ["is", "to"]
            for tokens, weight in zip(synset.tokens[:4], synset.weights):
                for other in target.tokens[:2]:
                    yield weight, tokens + link + other
        elif relation.symbol in WHOLES:
            for tokens, weight in zip(synset.tokens[:3], synset.weights):
                for other in target.tokens[:2]:
                    yield weight, tokens + WHOLES[relation.symbol].split() + other
        elif relation.symbol in RELATIONS:
            i, j = max(relation.source_lemma - 1, 0), max(relation.target_lemma - 1, 0)
            weight = min(synset.weights[i], target.weights[j])
            if relation.symbol == "!":
                weight *= OPPOSITE_WEIGHT
            yield weight, synset.tokens[i] + RELATIONS[relation.symbol].split() + target.tokens[j]


def chain_sentence(synset: Synset, synsets: dict[str, Synset]) -> Iterator[Sentence]:
    """Up to four steps towards the general: "oak is a tree a kind of woody plant a kind of ..."."""
    words, steps = list(synset.tokens[0]), 0
    current = synset
    while steps < 4:
        parents = [relation.target for relation in current.relations if relation.symbol in ("@", "@i")]
        if not parents:
            break
        current = synsets[parents[0]]
        words += (["a", "kind", "of"] if steps else ["is", "a"]) + current.tokens[0]
        steps += 1
    if steps > 1:
        yield 0.5 * max(synset.weights), words


def list_sentences(synset: Synset, synsets: dict[str, Synset], rng: np.random.Generator) -> Iterator[Sentence]:
    """Lists of its kinds, parts or members, shuffled, eight to a line, twice: "tree such as oak elm pine ..."."""
    children: dict[str, list[Synset]] = {}
    for relation in synset.relations:
        if relation.symbol in KINDS:
            children.setdefault(KINDS[relation.symbol], []).append(synsets[relation.target])
    for name, members in children.items():
        if len(members) < 2:
            continue
        opening = [name, "of"] + synset.tokens[0] if name else synset.tokens[0] + ["such", "as"]
        for _ in range(2):
            shuffled = [members[i] for i in rng.permutation(len(members))]
            for start in range(0, len(shuffled), 8):
                words, weights = list(opening), []
                for member in shuffled[start : start + 8]:
                    commonest = int(np.argmax(member.weights))
                    words += member.tokens[commonest]
                    weights.append(member.weights[commonest])
                yield sum(weights) / len(weights), words


def random_walks(synsets: dict[str, Synset], number: int) -> Iterator[Sentence]:
    """Short walks over the graph of synsets, each step naming one of the lemmas (Goikoetxea et al. 2015)."""
    rng = random.Random(SEED)
    keys = list(synsets)
    neighbours = {
        key: [relation.target for relation in synset.relations if relation.symbol not in NOT_WALKED]
        for key, synset in synsets.items()
    }
    starts = rng.choices(keys, weights=[sum(synset.weights) for synset in synsets.values()], k=number)
    for key in tqdm(starts, desc="random walks", unit="walk", unit_scale=True):
        words: list[str] = []
        while True:
            synset = synsets[key]
            words += rng.choices(synset.tokens, weights=synset.weights)[0]
            if not neighbours[key] or rng.random() > WALK_LENGTH:
                break
            key = rng.choice(neighbours[key])
        yield WALK_WEIGHT, words


# ------------------------------------------------------------------------------------------------ 3. vocabulary

SUFFIXES = (  # of the inflected form, of the lemma, the lemma's parts of speech, what the form is called
    ("ies", "y", "n", "plural"),
    ("ses", "s", "n", "plural"),
    ("xes", "x", "n", "plural"),
    ("ches", "ch", "n", "plural"),
    ("shes", "sh", "n", "plural"),
    ("s", "", "n", "plural"),
    ("ies", "y", "v", "present"),
    ("es", "e", "v", "present"),
    ("es", "", "v", "present"),
    ("s", "", "v", "present"),
    ("ied", "y", "v", "past"),
    ("ed", "e", "v", "past"),
    ("ed", "", "v", "past"),
    ("ing", "e", "v", "participle"),
    ("ing", "", "v", "participle"),
    ("ier", "y", "a", "comparative"),
    ("er", "e", "a", "comparative"),
    ("er", "", "a", "comparative"),
    ("iest", "y", "a", "superlative"),
    ("est", "e", "a", "superlative"),
    ("est", "", "a", "superlative"),
)


def read_irregular_forms() -> dict[str, tuple[str, str]]:
    """WordNet's lists of irregular forms: {"went": ("go", "past"), "mice": ("mouse", "plural"), ...}."""
    forms = {}
    for name in ("noun", "verb", "adj"):
        for line in data_lines(f"{name}.exc"):
            form, lemma = line.split()[:2]
            if name == "noun":
                kind = "plural"
            elif name == "verb":
                kind = "participle" if form.endswith("ing") else "past"
            else:
                kind = "superlative" if form.endswith("est") else "comparative"
            if form != lemma:
                forms.setdefault(form, (lemma, kind))
    return forms


def find_inflections(words: Iterable[str], synsets: dict[str, Synset], usefulness: Counter) -> dict:
    """The words that are forms of a more useful word: {"ships": ("ship", "plural"), ...}."""
    irregular = read_irregular_forms()
    lemmas = {(lemma, synset.part_of_speech) for synset in synsets.values() for lemma in synset.lemmas}
    names = {lemma.lower() for synset in synsets.values() for lemma in synset.lemmas if lemma[0].isupper()}
    found = {}
    for word in words:
        if word in irregular:
            found[word] = irregular[word]
        elif word not in names:  # Redding is not a form of red
            regular = regular_inflection(word, lemmas)
            if regular:
                found[word] = regular
    return {form: (lemma, kind) for form, (lemma, kind) in found.items() if usefulness[lemma] > usefulness[form]}


def regular_inflection(word: str, lemmas: set[tuple[str, str]]) -> tuple[str, str] | None:
    """The lemma and the kind of a regular form, or None: "sailed" gives ("sail", "past")."""
    for ending, replacement, part_of_speech, kind in SUFFIXES:
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 2:
            continue
        candidates = [stem + replacement]
        if ending[0] in "ei" and not replacement and len(stem) > 3 and stem[-1] == stem[-2]:
            candidates.append(stem[:-1])  # stopped, bigger
        for candidate in candidates:
            if (candidate, part_of_speech) in lemmas:
                return candidate, kind
    return None


def count_usefulness(synsets: dict[str, Synset]) -> Counter:
    """How much a word is worth a place: its count in WordNet's glosses and examples (each once) and in SemCor, and the
    number of its relations, with something added for names of places; those of animals and plants are not counted."""
    usefulness: Counter = Counter()
    for synset in synsets.values():
        usefulness.update(synset.definition)
        for example in synset.examples:
            usefulness.update(example)
        fame = fame_of_place(synset, synsets)
        for i, (tokens, count) in enumerate(zip(synset.tokens, synset.counts)):
            if len(tokens) == 1:
                usefulness[tokens[0]] += count
            if synset.topic in (ANIMALS, PLANTS):
                continue
            if len(tokens) == 1:
                usefulness[tokens[0]] += 1 + len(synset.relations) + (fame if i == 0 else 0)
            elif len(tokens) <= 3:
                for token in tokens:
                    usefulness[token] += 0.3 * min(10, len(synset.relations))
    return usefulness


def fame_of_place(synset: Synset, synsets: dict[str, Synset]) -> int:
    """What a named place has in usefulness beyond its relations; WordNet tells how large it is only by its kind."""
    kinds = [synsets[relation.target].lemmas[0] for relation in synset.relations if relation.symbol == "@i"]
    if synset.topic != LOCATIONS or not kinds:
        return 0
    return 100 if "national capital" in kinds else 14


def add_inflections(usefulness: Counter, inflections: dict[str, tuple[str, str]]) -> None:
    """Make inflected forms of useful words useful: WordNet's counts are those of the lemmas alone."""
    shares = {form: FORM_SHARE * usefulness[lemma] for form, (lemma, _) in inflections.items()}
    usefulness.update(shares)


def choose_vocabulary(usefulness: Counter, counts: Counter) -> list[str]:
    """The words to train, the most useful first; those of COURSE_TEXT are among the words that ship."""
    trainable = [word for word in usefulness if counts[word] >= MINIMUM_COUNT]
    ranked = sorted(trainable, key=lambda word: (-usefulness[word], word))
    shipped, others = ranked[:SHIPPED_WORDS], ranked[SHIPPED_WORDS:TRAINED_WORDS]
    missing = sorted(set(tokenise(COURSE_TEXT)) - set(shipped))
    kept = shipped[: SHIPPED_WORDS - len(missing)]
    return kept + missing + shipped[len(kept) :] + [word for word in others if word not in missing]


# ------------------------------------------------------------------------------------------------ 4. counts


class Text:
    """A long text as arrays: `tokens` (number of a word) and `weights` (of each sentence), with `lengths`."""

    def __init__(self):
        self.numbers: dict[str, int] = {}
        self.tokens: list[np.ndarray] = []
        self.lengths: list[int] = []
        self.weights: list[float] = []

    def add(self, sentences: Iterable[Sentence]) -> None:
        numbers, buffer = self.numbers, []
        for weight, words in sentences:
            buffer += [numbers.setdefault(word, len(numbers)) for word in words]
            self.lengths.append(len(words))
            self.weights.append(weight)
        self.tokens.append(np.array(buffer, dtype=np.int32))

    def counts(self) -> Counter:
        """How often each word occurs."""
        totals = np.bincount(np.concatenate(self.tokens), minlength=len(self.numbers))
        return Counter(dict(zip(self.numbers, totals.tolist())))


def count_cooccurrences(text: Text, vocabulary: list[str]) -> scipy.sparse.csr_matrix:
    """Symmetric (v, v) matrix: two words d <= WINDOW apart in a sentence add the sentence's weight / d.

    Words outside the vocabulary are taken out first: those around them move together.
    """
    places = {word: place for place, word in enumerate(vocabulary)}
    place_of = np.array([places.get(word, -1) for word in text.numbers], dtype=np.int32)
    tokens = place_of[np.concatenate(text.tokens)]
    sentence = np.repeat(np.arange(len(text.lengths), dtype=np.int32), text.lengths)
    known = tokens >= 0
    tokens, sentence = tokens[known], sentence[known]
    weights = np.array(text.weights, dtype=np.float32)
    shape = (len(vocabulary), len(vocabulary))
    total = scipy.sparse.csr_matrix(shape, dtype=np.float32)
    for distance in tqdm(range(1, WINDOW + 1), desc="counting pairs", unit="distance"):
        together = sentence[:-distance] == sentence[distance:]
        first, second = tokens[:-distance][together], tokens[distance:][together]
        values = weights[sentence[distance:][together]] / distance
        total += scipy.sparse.coo_matrix((values, (first, second)), shape=shape, dtype=np.float32).tocsr()
    return (total + total.T).tocsr()


def lend_counts(
    counts: scipy.sparse.csr_matrix, vocabulary: list[str], inflections: dict, rare: set[str]
) -> scipy.sparse.csr_matrix:
    """Lend an inflected form, so much rarer in WordNet than in real text, a part of its lemma's counts.

    A form borrows in proportion to how often it occurs itself, within limits.
    """
    places = {word: place for place, word in enumerate(vocabulary)}
    totals = np.asarray(counts.sum(axis=1)).ravel()
    known = [(form, lemma) for form, (lemma, _) in inflections.items() if form in places and lemma in places]
    forms = np.array([places[form] for form, _ in known])
    lemmas = np.array([places[lemma] for _, lemma in known])
    shares = np.minimum(LENT_SHARE * totals[forms] / np.maximum(totals[lemmas], 1e-9), LENT_MOST)
    shares[[form in rare for form, _ in known]] = LENT_TO_RARE
    size = len(vocabulary)
    lending = scipy.sparse.eye(size, dtype=np.float32, format="csr")
    lending += scipy.sparse.coo_matrix((shares, (forms, lemmas)), shape=(size, size), dtype=np.float32).tocsr()
    lent = (lending @ counts @ lending.T).tocsr().astype(np.float32)
    lent.data[lent.data < 0.02] = 0
    lent.eliminate_zeros()
    return lent


# ------------------------------------------------------------------------------------------------ 5. GloVe


def train(counts: scipy.sparse.csr_matrix, epochs: int) -> np.ndarray:
    """Word vectors (v, d): the sum of a word's two vectors (as word and as context), centred.

    The loss is that of the paper, sum f(x) (w.c + b_w + b_c - log x)^2 over the pairs that occur, x their count, plus
    one for pairs drawn at random, which hardly ever occur: they are pushed down when they are predicted to occur more
    than ABSENT_COUNT times. On so small a text the paper's loss alone gives much worse neighbours.
    """
    rng = np.random.default_rng(SEED)
    rows, columns, values, bounds = shuffle_into_blocks(counts, rng)
    logarithms = np.log(values)
    weights = np.minimum(1, (values / X_MAX) ** ALPHA).astype(np.float32)
    size = counts.shape[0]
    vectors = ((rng.random((2, size, DIMENSIONS), np.float32) - 0.5) / DIMENSIONS).astype(np.float32)
    biases = np.zeros((2, size), np.float32)
    vector_squares, bias_squares = np.ones_like(vectors), np.ones_like(biases)  # AdaGrad's sums of squared gradients
    progress = tqdm(range(1, epochs + 1), desc="training", unit="epoch")
    for epoch in progress:
        loss = run_epoch(
            rows, columns, logarithms, weights, bounds, vectors, biases, vector_squares, bias_squares,
            np.float32(LEARNING_RATE), ABSENT_SAMPLES, np.float32(math.log(ABSENT_COUNT)), np.float32(ABSENT_WEIGHT),
            SEED * 1000 + epoch,
        )  # fmt: skip
        progress.set_postfix(loss=f"{loss / len(values):.4f}")
    summed = vectors[0] + vectors[1]
    return summed - summed.mean(axis=0)


def shuffle_into_blocks(counts: scipy.sparse.csr_matrix, rng: np.random.Generator) -> tuple:
    """The pairs in random order, sorted into four blocks by the parities of row and column; `bounds` divides them.

    Blocks 0 (even, even) and 3 (odd, odd) have neither a row nor a column in common, nor have 1 and 2. So two threads
    can train on them at the same time without touching the same vector, and the result is the same every time.
    """
    pairs = counts.tocoo()
    order = rng.permutation(pairs.nnz)
    rows, columns, values = pairs.row[order], pairs.col[order], pairs.data[order]
    block = (rows % 2) * 2 + columns % 2
    order = np.argsort(block, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(block, minlength=4))])
    return rows[order].astype(np.int32), columns[order].astype(np.int32), values[order].astype(np.float32), bounds


@numba.njit(fastmath=True)
def descend(i, j, step, vectors, biases, vector_squares, bias_squares, rate):
    """One AdaGrad step for word i and context j; `step` is the derivative of the loss by their prediction."""
    for k in range(vectors.shape[2]):
        word, context = vectors[0, i, k], vectors[1, j, k]
        word_gradient, context_gradient = step * context, step * word
        vectors[0, i, k] = word - rate * word_gradient / np.sqrt(vector_squares[0, i, k])
        vectors[1, j, k] = context - rate * context_gradient / np.sqrt(vector_squares[1, j, k])
        vector_squares[0, i, k] += word_gradient * word_gradient
        vector_squares[1, j, k] += context_gradient * context_gradient
    biases[0, i] -= rate * step / np.sqrt(bias_squares[0, i])
    biases[1, j] -= rate * step / np.sqrt(bias_squares[1, j])
    bias_squares[0, i] += step * step
    bias_squares[1, j] += step * step


@numba.njit(fastmath=True)
def predict(i, j, vectors, biases):
    """The predicted logarithm of the count of word i with context j."""
    total = biases[0, i] + biases[1, j]
    for k in range(vectors.shape[2]):
        total += vectors[0, i, k] * vectors[1, j, k]
    return total


@numba.njit(fastmath=True, parallel=True)
def run_epoch(
    rows, columns, logarithms, weights, bounds, vectors, biases, vector_squares, bias_squares,
    rate, absent_samples, absent_logarithm, absent_weight, seed,
):  # fmt: skip
    """Go once through all pairs that occur, with `absent_samples` others each; returns the loss of those that occur."""
    losses = np.zeros(4)
    for turn in range(2):
        for thread in numba.prange(2):
            block = 3 * thread if turn == 0 else 1 + thread
            start, size = bounds[block], bounds[block + 1] - bounds[block]
            loss = 0.0
            state = np.uint64(seed * 4 + block + 1) * np.uint64(0x9E3779B97F4A7C15)
            for n in range(start, start + size):
                i, j = rows[n], columns[n]
                error = predict(i, j, vectors, biases) - logarithms[n]
                loss += 0.5 * weights[n] * error * error
                descend(i, j, weights[n] * error, vectors, biases, vector_squares, bias_squares, rate)
                for _ in range(absent_samples):
                    state ^= state << np.uint64(13)  # xorshift (Marsaglia 2003): a random number of 64 bits
                    state ^= state >> np.uint64(7)
                    state ^= state << np.uint64(17)
                    j = columns[start + np.int64(state % np.uint64(size))]
                    error = predict(i, j, vectors, biases) - absent_logarithm
                    if error > 0:
                        descend(i, j, absent_weight * error, vectors, biases, vector_squares, bias_squares, rate)
            losses[block] = loss
    return losses.sum()


# ------------------------------------------------------------------------------------------------ all together


def build_counts() -> tuple[list[str], scipy.sparse.csr_matrix]:
    """From WordNet's files to the vocabulary and its (v, v) matrix of counts."""
    synsets = read_wordnet()
    usefulness = count_usefulness(synsets)
    text = Text()
    made = sentences(synsets, np.random.default_rng(SEED))
    text.add(tqdm(made, desc="making sentences", unit="sentence", unit_scale=True))
    counts = text.counts()
    inflections = find_inflections(counts, synsets, usefulness)
    add_inflections(usefulness, inflections)
    vocabulary = choose_vocabulary(usefulness, counts)
    rare = {word for word in vocabulary if counts[word] < MINIMUM_COUNT}
    text.add(inflection_sentences(inflections))
    text.add(random_walks(synsets, WALKS))
    return vocabulary, lend_counts(count_cooccurrences(text, vocabulary), vocabulary, inflections, rare)


def inflection_sentences(inflections: dict[str, tuple[str, str]]) -> Iterator[Sentence]:
    """What each inflected form is: "ships plural of ship"."""
    for form, (lemma, kind) in inflections.items():
        yield FORM_WEIGHT, [form, kind, "of", lemma]


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the word vectors that ship with the course.")
    parser.add_argument("--output", type=Path, default=SHIPPED, help="file to write (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="passes over the counts (default: %(default)s)")
    arguments = parser.parse_args()
    began = time.monotonic()
    numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))
    vocabulary, counts = build_counts()
    print(f"{len(vocabulary):,} words, {counts.nnz:,} pairs that occur")
    vectors = train(counts, arguments.epochs)
    write_npz(arguments.output, vocabulary[:SHIPPED_WORDS], vectors[:SHIPPED_WORDS].astype(np.float16))
    print(f"{arguments.output} written after {time.monotonic() - began:.0f} s")
    print("python -m tools.vectors.evaluate_vectors says how good it is; data/README.md quotes that, and the checksum")


if __name__ == "__main__":
    main()
