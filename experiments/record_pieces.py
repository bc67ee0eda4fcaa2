"""Record the pieces that the library `tokenizers` cuts hard texts into, for the test of utils/byte_pairs.py.

    python -m experiments.record_pieces path/to/SmolLM2-135M-Instruct.Q4_1.gguf        two seconds

Prints how many ids 2,000 texts have, and the SHA-256 of all of them. The library is set up as the model's
tokenizer.json says: each digit alone, then GPT-2's pattern, on bytes. Needs requirements-test.txt.
"""

import argparse
import hashlib
import random
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from utils import gguf_file

HARD = [  # characters, words and runs that go wrong easily
    *"aZ9_ '’`\"“…!?.,;:#$€%&@*()[]{}<>|/\\^~+=-–—½²Ⅷªº٣३๓三〇𝟗①",
    *"\t\n\r\x00\x04\x0b\x0c\x1b\x1c\x1f\x7f\x85\xa0\xad\u1680\u180e\u2000\u2003\u200a\u200b\u200d\u2028\u2029\u202f",
    *"\u205f\u2060\u3000\ufeff\ufffd\ufe0f\u0300\u0301\u20dd\ue000\uffff\U000e0067\U000f0000\U0010ffff",
    *["\r\n", "\n\n\n", "    ", "\t\t", "\u3000 ", " \xa0 ", "\n  \n", " " * 20, "a" * 40, "ab" * 30, "!" * 30],
    *"1234567890 3.14 1,000,000 x2y H₂O 2⁸ १२३ ٠١٢ ½½ ⅣⅤ 0x1F 999999999999999999".split(),
    *"don't I'll we've they're it's I'm he'd DON'T I’ll don’t 's ''' 'tis l'été '' 'll've".split(),
    *"The attention lower newest tokenization antidisestablishmentarianism camelCase snake_case".split(),
    *"naïve Zürich e\u0301tude ﬁle ΟΔΟΣ İstanbul straße Việt mañana кириллица ελληνικά ქართული հայերեն".split(),
    *"中文字 漢字 日本語 カタカナ ひらがな 한국어 \u1112\u1161\u11ab אבשלום שָׁלוֹם عربي مُدَرِّس हिन्दी ไทย தமிழ்".split(),
    *"አማርኛ ᐃᓄᒃ ᚠᚢᚦ 𐎠𐎡 𝔘𝔫𝔦 𓀀𓂀 ꦗꦮ བོད་ ភាសា မြန်မာ 👍 👍🏽".split(),
    *"👨\u200d👩\u200d👧\u200d👦 🇩🇪 ❤\ufe0f ☃ 1\ufe0f⃣ 🤷🏾\u200d♀\ufe0f".split(),
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    *["def f(x):\n    return x[0] ** 2  # ok\n", "for (int i=0;i<n;++i){", "<p class='a'>", "https://a.b/c?d=1&e=%20"],
    *"<|im_start|> <|im_end|> <|endoftext|> <repo_name> <reponame> <file_sep> <jupyter_code> <|im_END|>".split(),
    *"<|im_ start|> im_end|> <|im_end <| |> <|im_<|im_end|>end|> <|im_end|><|im_end|> ' \\n".split(),
]


def hard_texts(count: int = 2000) -> Iterator[str]:
    """Texts of up to 30 of these and of characters that Unicode has had since 2002: every table knows them."""
    chance = random.Random(0)
    known = unicodedata.ucd_3_2_0.category
    since_2002 = [one for one in map(chr, range(0x30000)) if known(one) not in ("Cn", "Co", "Cs")]
    for number in range(count):
        parts = [chance.choice(HARD if chance.random() < 0.8 else since_2002) for _ in range(number % 31)]
        yield chance.choice(["", " ", "  ", "\n"]).join(parts)


def checksum(ids: Iterable[list[int]]) -> tuple[int, str]:
    """How many ids there are in all, and the SHA-256 of the lists, each a line of numbers."""
    lists = list(ids)
    lines = "".join(" ".join(map(str, one)) + "\n" for one in lists)
    return sum(map(len, lists)), hashlib.sha256(lines.encode()).hexdigest()


def library_words():
    """How `tokenizers` cuts a text into words, the bytes as visible characters."""
    from tokenizers import pre_tokenizers

    bytes_in_words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bytes_in_words])


def library(names: list[str], merges: list[str], special: Iterable[str]):
    """The tokenizer of `tokenizers` with this vocabulary."""
    from tokenizers import Tokenizer, decoders, models

    pairs = [tuple(merge.split(" ")) for merge in merges]
    tokenizer = Tokenizer(models.BPE(vocab={name: number for number, name in enumerate(names)}, merges=pairs))
    tokenizer.pre_tokenizer, tokenizer.decoder = library_words(), decoders.ByteLevel()
    tokenizer.add_special_tokens(list(special))
    return tokenizer


def main() -> None:
    ask = argparse.ArgumentParser(description="Record the ids that tokenizers gives for hard texts.")
    ask.add_argument("file", type=Path, help="SmolLM2-135M-Instruct.Q4_1.gguf")
    found, _ = gguf_file.read(ask.parse_args().file.read_bytes())
    names, kinds, merges = (found[f"tokenizer.ggml.{key}"] for key in ("tokens", "token_type", "merges"))
    theirs = library(names, merges, [name for name, kind in zip(names, kinds) if kind == 3])
    print(checksum(theirs.encode(text).ids for text in hard_texts()))


if __name__ == "__main__":
    main()
