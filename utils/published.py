"""A published encoder, all-MiniLM-L6-v2, in the course's layers: words in pieces, weights by name, sentence vectors.

Devlin et al. 2019 (BERT), Wang et al. 2020 (MiniLM), Reimers and Gurevych 2019 (one vector per sentence).
Axis letters: b batch, n position, d model dimension, h head, q and k the same as query and as key."""

import contextlib
import unicodedata
from collections.abc import Container, Iterator, Sequence

import torch
from torch import Tensor, nn

from . import probes
from .checks import require_choice, require_list, require_tokens
from .data_files import DATA, whole
from .encoder_files import VOCABULARY, WEIGHTS, content, tensors
from .masks import padding_mask
from .transformer import Encoder, LayerNorm, TokenEmbedding

PAD, UNKNOWN, START, END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
LONGEST_WORD = 100  # signs; what is longer is unknown
HIDDEN = {"Cc", "Cf", "Co", "Cs"}  # categories of signs that are left out
IDEOGRAPHS = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F))
IDEOGRAPHS += ((0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


def plain_words(text: str) -> list[str]:
    """A text in lower case without accents, cut at blanks; marks of punctuation and Chinese signs stand alone."""
    shown = (" " if sign.isspace() else sign for sign in text if is_shown(sign))
    decomposed = unicodedata.normalize("NFD", "".join(shown))  # é becomes e and an accent, a mark of category Mn
    bare = "".join(sign.lower() for sign in decomposed if unicodedata.category(sign) != "Mn")  # Σ is σ at an end, too
    return "".join(f" {sign} " if stands_alone(sign) else sign for sign in bare).split()


def is_shown(sign: str) -> bool:
    """Is it no control character, except for the ends of lines and the tab, and not the replacement sign?"""
    hidden = unicodedata.category(sign) in HIDDEN or sign == "\N{REPLACEMENT CHARACTER}"
    return sign in "\t\n\r" or not hidden


def stands_alone(sign: str) -> bool:
    """Is it a mark of punctuation, among them $ + < = > ^ ` | ~, or a Chinese sign?"""
    if sign.isascii():
        return sign.isprintable() and not sign.isalnum() and sign != " "
    return unicodedata.category(sign)[0] == "P" or any(low <= ord(sign) <= high for low, high in IDEOGRAPHS)


def word_pieces(word: str, vocabulary: Container[str]) -> list[str]:
    """A word as pieces of the vocabulary: the longest that it begins with, then the longest that the rest begins with.

    Pieces after the first begin with ##. Where nothing fits, the whole word is [UNK]. (Wu et al. 2016; the greedy
    search is that of BERT, Devlin et al. 2019.)"""
    pieces, start = [], 0
    while start < len(word):
        mark = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if mark + word[start:end] in vocabulary), None)
        if end is None:
            return [UNKNOWN]
        pieces.append(mark + word[start:end])
        start = end
    return pieces


class WordPiece:
    """Text as the pieces of a vocabulary (a word a line), and as their ids, which are the numbers of the lines."""

    def __init__(self, lines: str):
        self.words = lines.splitlines()
        self.ids = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def pieces(self, text: str, most: int = 254) -> list[str]:
        """[CLS], at most so many pieces of the text, [SEP]. What is typed as [CLS] is no special token."""
        found = [piece for word in plain_words(text) for piece in self.of_word(word)]
        return [START, *found[:most], END]

    def of_word(self, word: str) -> list[str]:
        return word_pieces(word, self.ids) if len(word) <= LONGEST_WORD else [UNKNOWN]

    def batch(self, texts: Sequence[str], device: torch.device | None = None) -> Tensor:
        """Token ids (b, n), shorter ones with [PAD], id 0, behind. device: the encoder's. ValueError: no text."""
        require_list(texts=texts)
        if not texts:
            raise ValueError("a batch needs a text")
        rows = [torch.tensor([self.ids[piece] for piece in self.pieces(text)], device=device) for text in texts]
        return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.ids[PAD])


class SentenceEncoder(nn.Module):
    """all-MiniLM-L6-v2: a vector for each piece, each place and the kind of sentence, a norm, and the course's encoder.

    Called with token ids (b, n) and a mask that broadcasts to (b, h, q, k), it returns the output (b, n, 384) and a
    list with the weights (b, 12, n, n) of each of the six layers. Ids outside the vocabulary: ValueError."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30_522, 384)
        self.places = nn.Embedding(512, 384)
        self.types = nn.Embedding(2, 384)
        self.norm = LayerNorm(384)
        self.encoder = Encoder(d_model=384, num_heads=12, num_layers=6, d_ff=1536, norm="post", activation="gelu")
        for part in self.modules():
            if isinstance(part, LayerNorm):
                part.eps = 1e-12

    def embed(self, tokens: Tensor) -> Tensor:
        require_tokens(tokens, self.words)
        return self.norm(self.words(tokens) + self.places.weight[: tokens.shape[-1]] + self.types.weight[0])

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        return self.encoder(self.embed(tokens), mask)


OUR_NAMES = {  # what stands in a name of the file, and what it is called here; the first that fits counts first
    "embeddings.word_embeddings.": "words.",
    "embeddings.position_embeddings.": "places.",
    "embeddings.token_type_embeddings.": "types.",
    "embeddings.LayerNorm.": "norm.",
    "encoder.layer.": "encoder.blocks.",
    "attention.self.query.": "attention.W_q.",
    "attention.self.key.": "attention.W_k.",
    "attention.self.value.": "attention.W_v.",
    "attention.output.dense.": "attention.W_o.",
    "attention.output.LayerNorm.": "norm_1.",
    "intermediate.dense.": "feed_forward.W_1.",
    "output.dense.": "feed_forward.W_2.",
    "output.LayerNorm.": "norm_2.",
}


def our_name(theirs: str) -> str:
    """The name that a tensor of the file has in `SentenceEncoder`."""
    is_norm = "LayerNorm" in theirs
    for there, here in OUR_NAMES.items():
        theirs = theirs.replace(there, here)
    return theirs.replace("weight", "gamma").replace("bias", "beta") if is_norm else theirs


def load_published() -> tuple[SentenceEncoder, WordPiece]:
    """The encoder with its weights, in evaluation mode, and its vocabulary.

    Errors as in `encoder_files.content`: Missing where the files are not here, ValueError where one was altered."""
    encoder, found = SentenceEncoder(), tensors(content(WEIGHTS))
    own = encoder.state_dict().keys()
    encoder.load_state_dict({our_name(name): tensor for name, tensor in found.items() if our_name(name) in own})
    return encoder.eval(), WordPiece(content(VOCABULARY).decode())


def batches(lengths: Sequence[int], most: int = 2000) -> Iterator[list[int]]:
    """The numbers of texts, those of like length together, with at most so many tokens a batch, padding included."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[number] > most:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


@torch.no_grad()
def means_by_layer(encoder: SentenceEncoder, wordpiece: WordPiece, texts: Sequence[str]) -> Tensor:
    """The mean over all that is not padding, of length 1: before the first layer and after each, (layers + 1, b, d)."""
    require_list(texts=texts)
    means = encoder.words.weight.new_empty(len(encoder.encoder.blocks) + 1, len(texts), encoder.words.embedding_dim)
    for batch in batches([len(wordpiece.pieces(text)) for text in texts]):
        tokens = wordpiece.batch([texts[number] for number in batch], means.device)
        mask = padding_mask(tokens)  # (b, 1, 1, k)
        real = mask[:, 0, 0, :, None]  # (b, n, 1)
        x = encoder.embed(tokens)  # (b, n, d)
        for depth, block in enumerate([None, *encoder.encoder.blocks]):
            x = block(x, mask)[0] if block else x
            means[depth, batch] = nn.functional.normalize((x * real).sum(1) / real.sum(1), dim=-1)
    return means


def sentence_vectors(encoder: SentenceEncoder, wordpiece: WordPiece, texts: Sequence[str]) -> Tensor:
    """One vector of length 1 for each text, (b, d), as the model was trained to make it (Reimers and Gurevych 2019)."""
    return means_by_layer(encoder, wordpiece, texts)[-1]


@torch.no_grad()
def journey(encoder: SentenceEncoder, tokens: Tensor) -> Tensor:
    """The vectors of one text, tokens (1, n), before the first layer and after each: (layers + 1, n, d)."""
    steps = [encoder.embed(tokens)]
    for block in encoder.encoder.blocks:
        steps.append(block(steps[-1])[0])
    return torch.cat(steps)


@torch.no_grad()
def looks(encoder: SentenceEncoder, wordpiece: WordPiece, text: str) -> tuple[list[str], Tensor, Tensor]:
    """The n pieces of a text, the weights (layers, h, n, n), and the lengths of what is added (layers, h, n, n)."""
    tokens = wordpiece.batch([text], device=encoder.words.weight.device)
    x, weights, lengths = encoder.embed(tokens), [], []
    for block in encoder.encoder.blocks:
        after, shares = block(x)
        weights.append(shares[0])
        lengths.append(probes.added_lengths(block.attention, x, shares)[0])
        x = after
    return wordpiece.pieces(text), torch.stack(weights), torch.stack(lengths)


def shuffle_words(text: str, generator: torch.Generator) -> str:
    """The words of a text in an order that is drawn: whole words, however many pieces each has."""
    words = text.split()
    order = torch.randperm(len(words), generator=generator, device=generator.device)
    return " ".join(words[place] for place in order.tolist())


def sentences(name: str) -> list[list[str]]:
    """The lines of data/`name`, each cut at its bars: the course's own sentences for this encoder. Errors as in
    `data_files.whole`."""
    return [line.split(" | ") for line in whole(DATA / name).decode().splitlines()]


def count_words(texts: Sequence[str], device: torch.device | None = None) -> Tensor:
    """How often each word of these texts occurs in each of them: (b, v). Punctuation is no word; v words in all.

    device: where the counts are wanted."""
    require_list(texts=texts)
    words = [[word for word in plain_words(text) if word[0].isalnum()] for text in texts]
    columns = {word: column for column, word in enumerate(sorted({word for row in words for word in row}))}
    counts = torch.zeros(len(texts), len(columns), device=device)
    for row, found in enumerate(words):
        for word in found:
            counts[row, columns[word]] += 1
    return counts


@torch.no_grad()
def words_without(
    encoder: SentenceEncoder, wordpiece: WordPiece, text: str, place: int, how: str
) -> tuple[Tensor, Tensor]:
    """The mean of the pieces' vectors (d,) between [CLS] and [SEP], as it is and without the piece at `place`.

    how: "hidden", no piece looks at it, in any layer; "silenced", it keeps its weights, but its value is 0."""
    require_choice(how, ("hidden", "silenced"), "how")
    tokens = wordpiece.batch([text], encoder.words.weight.device)
    seen = (torch.arange(tokens.shape[1], device=tokens.device) != place) | (how == "silenced")
    with probes.silence(encoder.encoder, place) if how == "silenced" else contextlib.nullcontext():
        changed = encoder(tokens, seen.view(1, 1, 1, -1))[0]
    return tuple(x[0, 1:-1].mean(0) for x in (encoder(tokens)[0], changed))


class OneVector(nn.Module):
    """A small encoder of sentences, to be trained: token ids (b, n) with padding behind → a vector (b, d) of length 1.

    An embedding, one block, and the mean of its outputs over what is not padding. attends=False: the mean of the word
    vectors themselves, without positions, a bag of words."""

    def __init__(self, vocabulary_size: int, *, d_model: int = 32, attends: bool = True):
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary_size, d_model=d_model, positions="sine" if attends else None)
        sizes = dict(d_model=d_model, num_heads=4, num_layers=1, d_ff=2 * d_model)
        self.encoder = Encoder(**sizes) if attends else None

    def forward(self, tokens: Tensor) -> Tensor:
        x, mask = self.embedding(tokens), padding_mask(tokens)
        x = self.encoder(x, mask)[0] if self.encoder else x  # (b, n, d)
        return nn.functional.normalize(x.masked_fill(~mask[:, 0, 0, :, None], 0.0).sum(1), dim=-1)
