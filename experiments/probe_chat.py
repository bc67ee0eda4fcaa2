"""Measure the published chat model in the course's layers, for the notebook on a chat model.

    python -m experiments.probe_chat mistakes     the loss with each silent mistake in the layers
    python -m experiments.probe_chat sink         the weight on the first piece, its value, and the loss if it is hidden
    python -m experiments.probe_chat induction    the heads that continue a repetition, the loss without them, and
                                                  without two heads that look at the previous piece
    python -m experiments.probe_chat alone        the loss of a repetition without each of the 270 heads
    python -m experiments.probe_chat layers       after which block the right piece comes first
    python -m experiments.probe_chat knows        capitals, sums and translations, each answer judged
    python -m experiments.probe_chat says         questions to which it says something false, and three conversations

Up to six minutes each on one core (their last line says how long). --texts, --draws, --heads and --questions make a
smaller run. Losses are mean negative log-likelihoods per piece, in nats. Intervals are 95 %: of a mean the bootstrap
over texts or draws, of a share Wilson's. What is written is greedy; where the two largest logits were closer than 0.01
when a piece was chosen, `CLOSE` stands beside it: another processor may write something else.
"""

import argparse
import math
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import groupby
from unittest import mock

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils import decoder, probes
from utils.byte_pairs import END, chat_prompt
from utils.chat import load_chat
from utils.decoder import LanguageModel
from utils.measures import interval

TEXTS = (
    "The bus was late again this morning, so a small crowd had gathered at the stop. Some people looked at their "
    "phones, others at the sky, which had turned dark grey. When the bus finally came, it was so full that only "
    "three of them could get on.",
    "To make a simple tomato soup, fry an onion in a little oil until it is soft. Add the tomatoes, some salt and "
    "a cup of water, and let everything cook for twenty minutes. Serve it hot, with bread and a spoon of cream.",
    "My grandmother kept her letters in an old shoe box under the bed. On winter evenings she would take one out, "
    "read it slowly, and tell us about the person who had written it. After her death we found more than two "
    "hundred.",
    "Bees visit flowers to collect nectar and pollen. While they move from one flower to the next, some of the "
    "pollen rubs off, and this is how many plants are able to make seeds. Without bees, farmers would harvest far "
    "less fruit.",
    "Our neighbours have bought a dog that barks whenever somebody walks past the house. At first it was "
    "annoying, but now we are used to it. The children even take it to the park on Sundays and throw sticks into "
    "the pond.",
    "The library is open from nine to six on weekdays. You may borrow up to ten books at a time and keep them for "
    "four weeks. If nobody else is waiting for a book, you can renew it twice at the desk or on the website.",
    "It had not rained for two months, and the grass in front of the school was yellow. The teachers asked the "
    "older pupils to water the young trees every evening. When the first storm came in September, everybody ran "
    "outside.",
    "A good pair of shoes is the most important thing to take on a long walk. They should be neither new nor too "
    "tight. Carry enough water, tell someone where you are going, and turn back in time if the weather gets "
    "worse.",
    "The old bridge across the river was built of stone almost four hundred years ago. Cars are no longer allowed "
    "to use it, but people still cross it on foot and by bicycle. In summer, boys jump from it into the cold "
    "water.",
    "She started to play the piano when she was forty. Her fingers were slow, and her first teacher was not very "
    "patient. But she practised for half an hour every day, and after three years she gave a small concert at "
    "home.",
    "Water freezes at zero degrees, and ice takes up more room than the water it was made from. That is why a "
    "bottle that is completely full will break if you leave it in the freezer overnight.",
    "The train to the coast leaves at seven and takes about two hours. If you sit on the left side, you can see "
    "the mountains for most of the journey. There is a small café in the middle of the train that sells tea and "
    "sandwiches.",
    "My brother works at night in a large bakery. He gets up when the rest of us go to bed, and comes home with "
    "warm rolls for breakfast. He says that he likes the quiet streets, but he misses having dinner with his "
    "friends.",
    "Before you paint a wall, you should wash it and fill all the holes. Cover the floor with old newspapers, and "
    "protect the edges of the windows with tape. Two thin coats of paint look much better than a thick one.",
    "The village has only one shop, and it sells almost everything. You can buy bread, stamps, nails and rubber "
    "boots there. The owner knows all her customers by name and often gives the children a sweet.",
    "Cats sleep for most of the day, but at dusk they become active. They can see well when there is very little "
    "light, and their ears turn towards the smallest sound. A mouse has to be very quiet to escape.",
    "The meeting began with a long talk about money. Nobody could agree on whether to repair the roof this year "
    "or the next. In the end they decided to ask two companies for a price and to meet again in a month.",
    "When I was a child, we spent every summer on my uncle's farm. We fed the hens, climbed the apple trees and "
    "swam in the lake. The days seemed endless, and I cannot remember that it ever rained.",
    "The moon moves around the earth in about four weeks. It gives no light of its own: what we see is the light "
    "of the sun that falls on it. When the earth stands between the two, the moon becomes dark for a few hours.",
    "He had lost his keys for the third time that week. He searched the kitchen, the car and the pockets of all "
    "his coats. At last he found them in the door, where they had been since the evening before.",
    "Learning a language takes time, but it is easier if you use it every day. Read short stories, listen to "
    "songs, and do not be afraid of mistakes. Most people are happy when a stranger tries to speak their "
    "language.",
    "The market opens before sunrise. Farmers arrive with boxes of carrots, onions and eggs, and the first "
    "customers are the cooks of the restaurants nearby. By noon the best things are gone, and the prices begin to "
    "fall.",
    "The doctor told him to walk more and to eat less salt. At first he only walked to the corner and back. Half "
    "a year later he was walking for an hour each morning, and he slept better than he had for years.",
    "There was a power cut in our street last night. We lit candles, played cards and talked, and nobody looked "
    "at a screen. When the lights came back on after two hours, we were almost disappointed.",
)

# Mistakes: what each changes, as (of what, attribute, value)


def attentions(model: LanguageModel) -> list[nn.Module]:
    return [block.attention for block in model.decoder.blocks]


def gates(model: LanguageModel) -> list[nn.Module]:
    return [block.feed_forward for block in model.decoder.blocks]


def norms(model: LanguageModel) -> list[nn.Module]:
    return [part for part in model.modules() if hasattr(part, "eps")]


MISTAKES: dict[str, Callable[[LanguageModel], list[tuple]]] = {
    "none": lambda model: [],
    "positions shifted by 100": lambda model: [
        (model, "places", lambda words, n: LanguageModel.places(model, words, n) + 100)
    ],
    "ε 1e-6 for 1e-5": lambda model: [(norm, "eps", 1e-6) for norm in norms(model)],
    "ε 1e-2 for 1e-5": lambda model: [(norm, "eps", 1e-2) for norm in norms(model)],
    "base 10,000 for 100,000": lambda model: [(attention, "base", 10_000) for attention in attentions(model)],
    "GELU for SiLU": lambda model: [(gate, "activation", "gelu") for gate in gates(model)],
    "pairing in halves": lambda model: [(attention, "rotary", "halves") for attention in attentions(model)],
    "no rotation": lambda model: [(attention, "rotary", None) for attention in attentions(model)],
    "key heads tiled": lambda model: [(decoder, "repeat_heads", lambda heads, times: heads.repeat(1, times, 1, 1))],
    "gate and up exchanged": lambda model: [
        (gate, name, part) for gate in gates(model) for name, part in (("W_1", gate.W_3), ("W_3", gate.W_1))
    ],
}


@contextmanager
def change(changes: Iterable[tuple]) -> Iterator[None]:
    """A with block in which attributes have other values."""
    with ExitStack() as stack:
        for one in changes:
            stack.enter_context(mock.patch.object(*one))
        yield


# Losses


@torch.no_grad()
def losses(model: LanguageModel, ids: Tensor) -> Tensor:
    """The loss (b, n − 1) at each piece of ids (b, n) but the first."""
    logits = model(ids)[0][:, :-1]
    return F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")


def of_texts(model: LanguageModel, texts: Iterable[Tensor], start: int = 1) -> tuple[Tensor, Tensor]:
    """The losses of all texts from piece `start` on, one after the other, and the number of the text of each."""
    each = [losses(model, ids)[0, start - 1 :] for ids in texts]
    return torch.cat(each), torch.arange(len(each)).repeat_interleave(torch.tensor([len(one) for one in each]))


def estimate(mean: float, low: float, high: float, sign: str = "") -> str:
    return f"{mean:{sign}7.3f}  [{low:{sign}.3f}, {high:{sign}.3f}]"


def comparison(name: str, values: Tensor, right: Tensor, groups: Tensor) -> str:
    """A row: the mean loss, and by how much it differs from that of the right model, each with its interval."""
    return f"{name:28} {estimate(*interval(values, groups))}   {estimate(*interval(values - right, groups), '+')}"


@contextmanager
def hide(model: LanguageModel, place: int, since: int) -> Iterator[None]:
    """A with block in which the queries from `since` on do not see one place, in any layer; both count from 0."""

    def visible_without(words: Tensor, n: int) -> Tensor:
        mask = type(model).visible(model, words, n).clone()  # (b, 1, n, n)
        mask[..., since:, place] = False
        return mask

    with mock.patch.object(model, "visible", visible_without):
        yield


def shuffle_words(text: str) -> str:
    words = text.split()
    return " ".join(random.Random(0).sample(words, len(words)))


def repetitions(draws: int, seed: int, length: int = 40) -> Tensor:
    """(draws, 1 + 2 · length): <|endoftext|>, then random pieces twice; from the commoner ones, 1,000 to 19,999."""
    generator = torch.Generator().manual_seed(seed)
    half = torch.randint(1_000, 20_000, (draws, length), generator=generator)
    return torch.cat([torch.zeros(draws, 1, dtype=torch.long), half, half], dim=1)


@torch.no_grad()
def weight_on_successor(model: LanguageModel, tokens: Tensor, length: int = 40) -> Tensor:
    """(layers, heads): the mean weight, in the second pass, on the piece that followed in the first."""
    queries = torch.arange(length + 1, 2 * length)  # not the last, which has no successor
    return torch.stack([w[:, :, queries, queries - length + 1].mean((0, 2)) for w in model(tokens)[2].own])


@torch.no_grad()
def weight_on_previous(model: LanguageModel, tokens: Tensor) -> Tensor:
    """(layers, heads): the mean weight of all queries but the first on the piece before."""
    queries = torch.arange(1, tokens.shape[1])
    return torch.stack([w[:, :, queries, queries - 1].mean((0, 2)) for w in model(tokens)[2].own])


@torch.no_grad()
def after_each_block(model: LanguageModel, ids: Tensor) -> Tensor:
    """The logits (layers, v) after the last of ids (1, n), if each block were the last (nostalgebraist 2020)."""
    stream = []
    hooks = [
        block.register_forward_hook(lambda block, given, output: stream.append(output[0][0, -1]))
        for block in model.decoder.blocks
    ]
    model(ids)
    for hook in hooks:
        hook.remove()
    return model.to_logits(model.decoder.final_norm(torch.stack(stream)))


SMALL_GAP = 0.01  # of logits: what is smaller, rounding might decide

PROMPTS = {  # ten of 51 that were tried: the model goes on with the right piece, and no lead is a close one
    "The capital of France is": " Paris",
    "The capital of Japan is": " Tokyo",
    "The capital of Germany is": " Berlin",
    "The opposite of hot is": " cold",
    "The opposite of black is": " white",
    "One, two, three,": " four",
    "A week has seven": " days",
    "The earth revolves around the": " sun",
    "The first president of the United States was George": " Washington",
    "The first man on the moon was Neil": " Armstrong",
}

# Questions, each with the answers that are accepted

WORD = re.compile(r"[^\W_]+")


def contains(answer: str, accepted: Iterable[str]) -> bool:
    """Does the answer contain one of the accepted texts as whole words, in capitals or not?"""
    return any(plain(text) in plain(answer) for text in accepted)


def says_only(answer: str, accepted: Iterable[str]) -> bool:
    """Is the first line of the answer one of the accepted texts, in capitals or not?"""
    return plain(answer.strip().partition("\n")[0]) in map(plain, accepted)


def plain(text: str) -> str:
    """The words of a text in small letters, without punctuation, a blank before and after each."""
    return f" {' '.join(WORD.findall(text.lower()))} "


def share(part: int, whole: int) -> str:
    """Part of whole, with Wilson's 95 % interval."""
    z, p = 1.96, part / whole
    middle, half = p + z * z / (2 * whole), z * math.sqrt(p * (1 - p) / whole + (z / 2 / whole) ** 2)
    low, high = (max(0, middle + sign * half) / (1 + z * z / whole) for sign in (-1, 1))
    return f"{part} of {whole}, {p:.0%} [{low:.0%}, {high:.0%}]"


CAPITALS = {
    "France": ["Paris"],
    "Italy": ["Rome"],
    "Spain": ["Madrid"],
    "Germany": ["Berlin"],
    "Portugal": ["Lisbon"],
    "Greece": ["Athens"],
    "Austria": ["Vienna"],
    "Poland": ["Warsaw"],
    "Hungary": ["Budapest"],
    "Sweden": ["Stockholm"],
    "Norway": ["Oslo"],
    "Finland": ["Helsinki"],
    "Denmark": ["Copenhagen"],
    "Ireland": ["Dublin"],
    "Iceland": ["Reykjavik", "Reykjavík"],
    "Switzerland": ["Bern", "Berne"],
    "Russia": ["Moscow"],
    "Turkey": ["Ankara"],
    "Egypt": ["Cairo"],
    "Kenya": ["Nairobi"],
    "Ethiopia": ["Addis Ababa"],
    "Ghana": ["Accra"],
    "Nigeria": ["Abuja"],
    "Morocco": ["Rabat"],
    "Senegal": ["Dakar"],
    "Iran": ["Tehran", "Teheran"],
    "Iraq": ["Baghdad"],
    "India": ["New Delhi"],
    "Nepal": ["Kathmandu"],
    "China": ["Beijing"],
    "Japan": ["Tokyo"],
    "South Korea": ["Seoul"],
    "Thailand": ["Bangkok"],
    "Vietnam": ["Hanoi"],
    "Australia": ["Canberra"],
    "Canada": ["Ottawa"],
    "Cuba": ["Havana"],
    "Peru": ["Lima"],
    "Argentina": ["Buenos Aires"],
    "Chile": ["Santiago"],
}

FRENCH = {
    "Good morning.": ["bonjour"],
    "Good night.": ["bonne nuit"],
    "Thank you very much.": ["merci beaucoup"],
    "Yes, please.": ["oui s'il vous plaît", "oui s'il te plaît", "oui s'il vous plait", "oui s'il te plait"],
    "I love you.": ["je t'aime", "je vous aime"],
    "How are you?": ["comment allez-vous", "comment vas-tu", "comment ça va", "ça va"],
    "What is your name?": [
        "comment vous appelez-vous", "comment t'appelles-tu", "quel est votre nom", "quel est ton nom",
        "comment tu t'appelles",
    ],
    "I am hungry.": ["j'ai faim"],
    "It is cold today.": ["il fait froid aujourd'hui", "aujourd'hui il fait froid"],
    "The cat is sleeping.": ["le chat dort", "la chatte dort", "le chat est en train de dormir"],
    "I have two sisters.": ["j'ai deux sœurs", "j'ai deux soeurs"],
    "Where is the station?": ["où est la gare", "où se trouve la gare"],
    "The book is on the table.": ["le livre est sur la table"],
    "I do not know.": ["je ne sais pas", "je sais pas"],
    "She lives in Paris.": ["elle vit à Paris", "elle habite à Paris", "elle habite Paris"],
    "We are drinking water.": ["nous buvons de l'eau", "on boit de l'eau"],
    "The house is big.": ["la maison est grande"],
    "See you tomorrow.": ["à demain"],
    "My father is a doctor.": ["mon père est médecin", "mon père est docteur"],
    "The children are playing in the garden.": ["les enfants jouent dans le jardin"],
}  # fmt: skip


def sums(low: int, high: int, count: int = 20) -> dict[str, list[str]]:
    """That many sums of two numbers from low to high − 1, none of them twice."""
    pairs = random.Random(0).sample([(a, b) for a in range(low, high) for b in range(low, high)], count)
    return {f"{a} + {b}": [str(a + b)] for a, b in pairs}


def chat_of(question: str) -> str:
    return chat_prompt([{"role": "user", "content": question}])


def ask_in_chat(form: str, about: str) -> str:
    return chat_of(form.format(about))


SUBJECTS = {  # questions with what is accepted, who judges, a question for a chat, the beginning of a text
    "capitals": (CAPITALS, contains, "What is the capital of {}?", "The capital of {} is"),
    "sums of one digit": (sums(1, 10), contains, "What is {}?", "{} ="),
    "sums of two digits": (sums(10, 100), contains, "What is {}?", "{} ="),
    "French": (FRENCH, says_only, "Translate into French: {}", "English: {}\nFrench:"),
}

FALSE = {  # ten of 26 questions, with what is true: kept because the answers are fluent and false
    "Who painted the Mona Lisa?": "Leonardo da Vinci",
    "Who invented the telephone?": "Alexander Graham Bell has the patent of 1876; Bell Labs was founded in 1925",
    "Who composed the Ninth Symphony with the Ode to Joy?": "Ludwig van Beethoven",
    "Who was Ludwig Wittgenstein?": "a philosopher, born in Vienna in 1889",
    "Who wrote the paper Attention Is All You Need?": "Ashish Vaswani and seven others, most of them at Google",
    "What is the tallest mountain in the world?": "Mount Everest, 8,849 metres; K2 is another mountain",
    "What is the largest ocean?": "the Pacific",
    "Which planet is closest to the sun?": "Mercury",
    "How many letters does the word banana have?": "six",
    "Is the number 17 prime?": "yes, but the only even prime number is 2",
}

CONVERSATIONS = (
    ("Hello! Who are you?", "What can you do for me?", "What is the capital of France?", "And what can I see there?"),
    ("Write a short poem about the sea.", "Now write one about the moon.", "Which of the two do you like better?"),
    ("I cannot sleep at night. What can I do?", "I have tried that already.", "Thank you. Good night!"),
)


class Bench:
    def __init__(self, options: argparse.Namespace):
        self.model, self.pieces = load_chat()
        self.options = options
        self.texts = [self.ids(text) for text in TEXTS[: options.texts]]

    def ids(self, text: str) -> Tensor:
        return torch.tensor([self.pieces.encode(text)])

    def mistakes(self) -> None:
        right, groups = of_texts(self.model, self.texts)
        print(f"{len(self.texts)} texts, {len(right):,} pieces: loss, and what it is more than without a mistake")
        for name, changes in MISTAKES.items():
            with change(changes(self.model)):
                print(comparison(name, of_texts(self.model, self.texts)[0], right, groups), flush=True)
        mixed, groups = of_texts(self.model, [self.ids(shuffle_words(text)) for text in TEXTS[: self.options.texts]])
        print(f"{'words shuffled':28} {estimate(*interval(mixed, groups))}")
        self.base_on_a_long_text()

    def base_on_a_long_text(self, parts: int = 4) -> None:
        """What the base 10,000 costs in each quarter of one long text: all texts, one behind the other."""
        ids = self.ids(" ".join(TEXTS[: self.options.texts]))
        right = losses(self.model, ids)[0]
        with change(MISTAKES["base 10,000 for 100,000"](self.model)):
            more = losses(self.model, ids)[0] - right
        quarters = " ".join(f"{part.mean():+.2f}" for part in more.chunk(parts))
        print(f"base 10,000 in the quarters of one text of {ids.shape[1]:,} pieces: {quarters}")

    # The first piece

    def sink(self) -> None:
        with torch.no_grad():
            outputs = [self.model(ids)[1:] for ids in self.texts]
        print("from the 6th piece on: weight on the 1st, on the 5th; length of the 1st value, the others' mean being 1")
        for layer in range(len(self.model.decoder.blocks)):
            weights = [weights.own[layer][0, :, 5:] for _, weights in outputs]  # (h, n − 5, n)
            values = [state.blocks[layer].own.values[0].norm(dim=-1) for state, _ in outputs]  # (h, n)
            first, fifth = (torch.stack([one[..., place].mean() for one in weights]) for place in (0, 4))
            lengths = torch.stack([(one[:, 0] / one[:, 1:].mean(1)).mean() for one in values])
            print(f"layer {layer + 1:2}  {'   '.join(estimate(*interval(one)) for one in (first, fifth, lengths))}")
        even = torch.stack([(1 / torch.arange(6, ids.shape[1] + 1)).mean() for ids in self.texts])
        print(f"evenly    {estimate(*interval(even))}   what each piece would get if all got the same")
        self.without_value()
        self.if_hidden()

    def without_value(self, start: int = 20) -> None:
        """The loss from the 21st piece on if the value of one of those before is 0 in all layers."""
        right, groups = of_texts(self.model, self.texts, start)
        print(f"loss from piece {start + 1} on, {len(right):,} pieces, and what it is more than with all values")
        print(comparison("all values", right, right, groups))
        others = [place for place in range(1, start) if place != 4]
        others = random.Random(0).sample(others, min(self.options.draws, len(others)))
        silent = {place: self.silenced(place, start) for place in (0, 4, *others)}
        for place in (0, 4):
            print(comparison(f"without that of piece {place + 1}", silent[place], right, groups))
        print("  ".join(f"piece {place + 1}: {(silent[place] - right).mean():+.3f}" for place in sorted(others)))
        mean = torch.stack([silent[place] for place in others]).mean(0)
        print(comparison(f"mean of these {len(others)}", mean, right, groups))
        starts = [ids[:, :1] for ids in self.texts[1:] + self.texts[:1]]
        other_start = [torch.cat([first, ids[:, 1:]], 1) for first, ids in zip(starts, self.texts)]
        print(comparison("another text's piece 1", of_texts(self.model, other_start, start)[0], right, groups))
        shorter = [ids[:, 1:] for ids in self.texts]
        print(comparison("text from piece 2 on", of_texts(self.model, shorter, start - 1)[0], right, groups))

    def if_hidden(self, since: int = 20) -> None:
        """The loss from the 22nd piece on if the queries from the 21st on do not see one of the pieces before."""
        right, groups = of_texts(self.model, self.texts, since + 1)
        print(f"one piece is hidden from query {since + 1} on: the loss of all later pieces")
        for place in (0, 1, 3, 7, 11, 15, since - 1):
            with hide(self.model, place, since):
                loss, _ = of_texts(self.model, self.texts, since + 1)
            print(comparison(f"piece {place + 1} is hidden", loss, right, groups), flush=True)

    def silenced(self, place: int, start: int) -> Tensor:
        with probes.silence(self.model.decoder, place):
            return of_texts(self.model, self.texts, start)[0]

    # Induction

    def induction(self, most: int = 8) -> None:
        scores = weight_on_successor(self.model, repetitions(5, seed=1))  # other pieces than those that are measured
        ordered = [divmod(number, scores.shape[1]) for number in scores.flatten().argsort(descending=True).tolist()]
        best, rest = ordered[:most], ordered[most:]
        print("heads (layer, head), from 1, with most weight on what followed the last time, on five other draws")
        print("  ".join(f"({layer + 1}, {head + 1}) {scores[layer, head]:.3f}" for layer, head in ordered[: most + 2]))
        print(f"median of all {scores.numel()}: {scores.median():.3f}")
        tokens = repetitions(self.options.draws, seed=0)
        few = len(self.texts[:8])
        print(f"{len(tokens)} draws of 40 random pieces, twice: loss of the first pass, of the second, of {few} texts")
        self.without("all heads", [], tokens)
        self.without(f"without the {most} best", best, tokens)
        previous = weight_on_previous(self.model, repetitions(5, seed=1))
        before = [divmod(number, scores.shape[1]) for number in previous.flatten().topk(2).indices.tolist()]
        names = "  ".join(f"({layer + 1}, {head + 1}) {previous[layer, head]:.3f}" for layer, head in before)
        print(f"two heads with most weight on the previous piece: {names}")
        self.without("without these two", before, tokens)
        near = [(layer, head) for layer, head in rest if layer in dict(best)]
        for name, among in ((f"without {most} others", rest), (f"without {most} of the same layers", near)):
            draws = [random.Random(seed).sample(sorted(among), most) for seed in range(self.options.draws)]
            second = torch.tensor([self.without(name, draw, tokens) for draw in draws])
            print(f"mean of these draws of heads: second pass {estimate(*interval(second))}", flush=True)

    def without(self, name: str, heads: list[tuple[int, int]], tokens: Tensor) -> float:
        """Print the losses without some heads, and return that of the second pass."""
        with ExitStack() as stack:
            for layer, head in heads:
                stack.enter_context(probes.ablate(self.model.decoder, layer + 1, head + 1))
            loss = torch.cat([losses(self.model, row[None]) for row in tokens])
            first, second = loss[:, :40].mean(1), loss[:, 41:].mean(1)  # its first piece cannot be known
            plain = interval(*of_texts(self.model, self.texts[:8]))
        print(
            f"{name:32} {estimate(*interval(first))}   {estimate(*interval(second))}   {estimate(*plain)}",
            flush=True,
        )
        return second.mean().item()

    def alone(self) -> None:
        heads = self.model.decoder.blocks[0].attention.num_heads
        tokens = repetitions(1, seed=0)
        everyone = [(layer, head) for layer in range(len(self.model.decoder.blocks)) for head in range(heads)]
        loss = {}
        for layer, head in everyone[: self.options.heads]:
            with probes.ablate(self.model.decoder, layer + 1, head + 1):
                loss[layer, head] = losses(self.model, tokens)[0, 41:].mean().item()
        worst = sorted(loss, key=loss.get, reverse=True)[:10]
        print(f"second pass without one head: median {torch.tensor(list(loss.values())).median():.2f}; the worst ten")
        for layer, head in worst:
            self.without(f"without ({layer + 1}, {head + 1})", [(layer, head)], tokens)

    # After each layer

    def layers(self) -> None:
        right = torch.tensor([self.pieces.encode(answer) for answer in PROMPTS.values()])[:, 0]
        since, others = [], []
        for number, prompt in enumerate(PROMPTS):
            logits = after_each_block(self.model, self.ids(prompt))  # (30, v)
            ranks = torch.stack([(logits > logits[:, [one]]).sum(-1) + 1 for one in right.tolist()])  # (10, 30)
            others.append(ranks[torch.arange(len(right)) != number])
            not_first = (ranks[number] > 1).nonzero()
            since.append(not_first[-1].item() + 2 if len(not_first) else 1)
            gaps = logits.topk(2).values.diff().abs()[:, 0]
            first = [self.pieces.decode([best]) for best in logits.argmax(-1).tolist()]
            print(f"{prompt!r} → {self.pieces.decode([right[number]])!r}: first from block {since[-1]} to the last")
            print(f"  its rank after each block: {' '.join(map(str, ranks[number].tolist()))}")
            print(
                f"  first after each block: {', '.join(f'{len(list(run))} × {one!r}' for one, run in groupby(first))}"
            )
            print(f"  by how much, after the last four: {' '.join(f'{gap:.2f}' for gap in gaps[-4:].tolist())}")
            print(f"  CLOSE after the blocks {[block + 1 for block, gap in enumerate(gaps) if gap < SMALL_GAP]}")
        print(f"first from block {estimate(*interval(torch.tensor(since)))} on, over the {len(since)} prompts")
        median = torch.cat(others).median(0).values.tolist()
        print(f"median rank of the answers to the other prompts: {' '.join(map(str, median))}")

    # Answers

    def answers(self, prompt: str, limit: int) -> tuple[str, bool]:
        """What is written greedily after a prompt, to the end of the answer, and whether a choice was a close one."""
        end, tokens, state, found, close = self.pieces.ids[END], self.ids(prompt), None, [], False
        while len(found) < limit:
            with torch.no_grad():
                logits, state, _ = self.model(tokens, state)
            best = logits[0, -1].topk(2)
            close |= (best.values[0] - best.values[1]).item() < SMALL_GAP
            tokens = best.indices[None, :1]
            if tokens.item() == end:
                break
            found.append(tokens.item())
        return self.pieces.decode(found), close

    def knows(self) -> None:
        for name, (questions, is_right, of_chat, of_text) in SUBJECTS.items():
            asked = dict(list(questions.items())[: self.options.questions])
            ask = partial(ask_in_chat, of_chat)
            self.judge(f"{name}, asked in a chat", asked, is_right, ask, 60)
            self.judge(f"{name}, a text to go on with", asked, is_right, of_text.format, 12)

    def judge(self, name: str, asked: dict[str, list[str]], is_right: Callable, form: Callable, limit: int) -> None:
        """Print each answer, how many are right, and how many would be as answers to the question before."""
        answers = []
        for question, accepted in asked.items():
            answer, close = self.answers(form(question), limit)
            answers.append(answer)
            mark = "right" if is_right(answer, accepted) else "wrong"
            print(f"  {mark} {question} → {answer!r}{'  CLOSE' * close}", flush=True)
        right, shifted = (sum(map(is_right, given, asked.values())) for given in (answers, answers[1:] + answers[:1]))
        print(f"{name}: {share(right, len(asked))}; as answers to the question before: {share(shifted, len(asked))}")

    def says(self) -> None:
        for question, fact in FALSE.items():
            answer, close = self.answers(chat_of(question), 60)
            print(f"{question}\n  {answer!r}{'  CLOSE' * close}\n  ({fact})", flush=True)
        for number, turns in enumerate(CONVERSATIONS, 1):
            print(f"conversation {number}")
            messages = []
            for said in turns:
                messages.append({"role": "user", "content": said})
                answer, close = self.answers(chat_prompt(messages), 120)
                messages.append({"role": "assistant", "content": answer})
                print(f"  user: {said}\n  assistant: {answer!r}{'  CLOSE' * close}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["mistakes", "sink", "induction", "alone", "layers", "knows", "says"])
    parser.add_argument("--texts", type=int, default=len(TEXTS))
    parser.add_argument("--draws", type=int, default=10, help="of positions, of random pieces, of other heads")
    parser.add_argument("--heads", type=int, default=None, help="how many are taken away, one at a time")
    parser.add_argument("--questions", type=int, default=40, help="at most, of each subject")
    options = parser.parse_args()
    torch.set_num_threads(1)
    bench, started = Bench(options), time.time()
    getattr(bench, options.what)()
    print(f"{time.time() - started:.0f} seconds")


if __name__ == "__main__":
    main()
