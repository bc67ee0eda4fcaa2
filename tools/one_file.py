"""Write the course's Transformer as one Python file that needs torch alone: the poster of the course.

    python tools/one_file.py transformer.py [--overwrite]

It is made of the definitions of utils/, in reading order from attention to the translator, cut by their syntax trees:
guards and annotations go, the options in GONE, and of a docstring all but its first sentence; CHOSEN and INSTEAD say
what holds in their place. Comments with shapes stay. EDITS joins what that leaves apart; each has to fit once, so what
changes in utils/ comes out here or stops this tool. Weights keep their names: the state dict of utils' own models fits.
"""

import argparse
import ast
import json
import re
import sys
from pathlib import Path

COURSE = Path(__file__).resolve().parent.parent

HEAD = '''"""A Transformer that translates, in one file: attention, encoder, decoder, writing word by word with a cache.

Axis letters: b batch, n position, q and k the same as query and as key, h head, e head dimension, d model dimension,
v vocabulary. Masks are boolean, True = may attend; each query has to see a key. Options, guards and explanations are in
the course "Attention, understood", whose tools/one_file.py made this of its utils/. MIT licence."""

import math
from collections import namedtuple

import torch
from torch import nn

PAD_ID, START_ID, END_ID = 0, 1, 2
'''
PARTS = [  # heading, module, definitions
    ("Masks", "masks", "padding_mask causal_mask"),
    ("Attention", "attention", "scaled_dot_product_attention split_heads merge_heads"),
    ("", "decoder", "rotate KeysValues appended CachedAttention"),
    ("Encoder", "transformer", "LayerNorm FeedForward EncoderBlock Encoder"),
    ("Decoder", "decoder", "BlockState DecoderBlock Weights Decoder PlacedEmbedding LanguageModel"),
    ("Translator", "decoder", "TokenEncoder TransformerTranslator"),
    ("", "decoding", "write"),
]
TAIL = """
if __name__ == "__main__":  # an example: in some ten seconds it learns to write backwards
    torch.manual_seed(0)
    sizes = {"vocabulary_size": 14, "d_model": 32, "num_heads": 2, "d_ff": 64}  # tokens 4 to 13 are the digits
    model = TransformerTranslator(TokenEncoder(**sizes, num_layers=1), LanguageModel(**sizes, num_layers=1))
    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(600):
        source = torch.randint(4, 14, (64, 8))  # (b, k)
        target = torch.cat([torch.full((64, 1), START_ID), source.flip(1), torch.full((64, 1), END_ID)], dim=1)
        logits, _ = model(source, padding_mask(source), target[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        adam.zero_grad(), loss.backward(), adam.step()
    print(f"loss {loss:.3f}", source[0].tolist(), "→", model.translate(source[:1], padding_mask(source[:1]))[0][0])
"""
GONE = set(  # parameters, and what is passed on for them where something is built
    "activation bias causal choose cross dropout eps final_norm max_len norm num_kv_heads options pairing positions "
    "scaled tied".split()
)
CHOSEN = {  # conditions, and what they are here
    "self.norm == 'pre'": True,
    "d_ff is None": False,
    "self.feed_forward is not None": True,
    "self.cross_attention is not None": True,
    "cross": True,
    "final_norm": True,
    "scaled": True,
    "axis == -1": True,
    "tied": True,
    "pairing is None": False,
}
INSTEAD = {  # expressions and names, and what stands in their place
    "ACTIVATIONS[self.activation]": "torch.relu",
    "CachedAttention": "MultiHeadAttention",
    "NOTHING_YET": "BlockState(None, None)",
    "PlacedEmbedding": "Embedding",
    "ResidualNorm": "LayerNorm",
    "axis": "-1",
    "choose(require_logits(logits[:, -1]))": "logits[:, -1].argmax(-1)",
    "mix(weights, value, mask)": "weights @ value",
    "self.eps": "1e-5",
    "rotate(keys, places, self.rotary)": "rotate(keys, places) if self.rotary else keys",
    "self.num_kv_heads": "self.num_heads",
}
EDITS = {  # what stands in the source of a definition, and in its place; None: the line that begins so goes
    "scaled_dot_product_attention": {
        "    weights = attention_weights(query, key, mask)": """
    scores = (query / math.sqrt(query.shape[-1])) @ key.mT  # (…, q, k)
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)""",
    },
    "CachedAttention": {
        "(MultiHeadAttention)": "(nn.Module)",
        "super().__init__(d_model, num_heads, dropout)": "super().__init__()",
        "self.rotary, self.num_kv_heads =": "self.num_heads, self.rotary =",
        'known(rotary, (None, *PAIRINGS), "rotary"), num_kv_heads or num_heads': "num_heads, rotary",
        "rotary: str | None = None": "rotary=False",
        "self.W_k, self.W_v =": "self.W_q, self.W_k, self.W_v, self.W_o =",
        "d_model // num_heads * self.num_kv_heads) for _ in range(2)": "d_model) for _ in range(4)",
        "Q = rotate(split_heads(self.W_q(x), self.num_heads), places, self.rotary)  # (…, h, q, e)":
            "Q, (K, V) = split_heads(self.W_q(x), self.num_heads), kept  # (…, h, q, e), (…, h, k, e) each",
        "K, V = (shared(part, self.num_heads // self.num_kv_heads) for part in kept)  # (…, h, k, e)":
            "Q = rotate(Q, places) if self.rotary else Q",
        "weights = attention_weights(Q, K, mask)  # (…, h, q, k)":
            "heads, weights = scaled_dot_product_attention(Q, K, V, mask)  # (…, h, q, e), (…, h, q, k)",
        "mix(self.dropout(weights), V, mask)": "heads",
    },
    "LayerNorm": {
        "wide = ": None,
        "wide - wide.mean": "x - x.mean",
        "; far faster than x.var": "",
        "(centred / torch": "centred / torch",
        "self.beta).to(x.dtype)": "self.beta",
    },
    "FeedForward": {
        "hidden = ACTIVATIONS[self.activation](self.W_1(x))":
            "return self.W_2(ACTIVATIONS[self.activation](self.W_1(x)))",
        "# (…, n, d_ff)": "# from hidden values (…, n, d_ff)",
        "return self.W_2(self.dropout(hidden))": None,
    },
    "EncoderBlock": {
        "(d_model, num_heads, dropout)": "(d_model, num_heads, rotary=True)",
        "self.feed_forward = None if d_ff is None else FeedForward(d_model, d_ff, activation, dropout)":
            "self.feed_forward, self.norm_2 = FeedForward(d_model, d_ff), LayerNorm(d_model)",
        "self.norm_2 = None": None,
    },
    "Encoder": {
        "blocks = (EncoderBlock": "self.blocks = nn.ModuleList(EncoderBlock",
        "self.blocks = nn.ModuleList(blocks)": None,
    },
    "DecoderBlock": {
        "num_kv_heads, rotary)": "rotary=True)",
        ", rotary: str | None = None": "",
        "self.norm_1, self.norm_3 = ResidualNorm(d_model, norm, dropout), ResidualNorm(d_model, norm, dropout)":
            "self.norm_1, self.norm_2, self.norm_3 = (LayerNorm(d_model) for _ in range(3))",
        "self.norm_2 = ResidualNorm": None,
        "x, cross, weights = self.norm_1.after(x, attended), None, (own_weights, None)":
            "x = self.norm_1.after(x, attended)",
        "x, weights = self.norm_2.after(x, attended), (own_weights, cross_weights)":
            "x = self.norm_2.after(x, attended)",
        "BlockState(own, cross), weights": "BlockState(own, cross), (own_weights, cross_weights)",
    },
    "PlacedEmbedding": {
        "(TokenEmbedding)": "(nn.Module)",
        "super().__init__(vocabulary_size, d_model, None if positions in ROTARY else positions, max_len)":
            "super().__init__()\n        self.vectors = nn.Embedding(vocabulary_size, d_model)",
        ", places: Maybe = None": "",
        "x = self.vectors(tokens) * self.scale": "return self.vectors(tokens) * self.scale",
        "if places is None": None,
        "return self.positions(x)": None,
        "return x + self": None,
    },
    "LanguageModel": {  # no padding before the words, so all words so far can be seen
        "(WordByWord)": "(nn.Module)",
        "options = ": None,
        "state: State | None = None, mask: Maybe = None": "state=None",
        "new = ": None,
        "blocks, before, memory_mask = ": None,
        "words = torch.cat([before, new], dim=-1)  # (b, 1, 1, k)":
            "before = 0 if state is None else state[0].own.keys.shape[-2]  # words that were read earlier",
        "places, visible = self.places(words, tokens.shape[1]), self.visible(words, tokens.shape[1])":
            """places = torch.arange(before, before + tokens.shape[1])  # (n,)
        visible = causal_mask(before + tokens.shape[1])[before:]  # (n, k)""",
        "x = self.embedding(tokens, places[:, 0])": "x = self.embedding(tokens)",
        "x, blocks, weights = self.decoder(x, visible, memory, memory_mask, blocks, places)":
            "x, state, weights = self.decoder(x, visible, memory, memory_mask, state, places)",
        "State(blocks, words, memory_mask)": "state",
    },
    "TokenEncoder": {"options = ": None, "for block in ": None, "block.attention = ": None},
    "TransformerTranslator": {"for `utils.decoding`": "for `write`"},
}  # fmt: skip
TOLD = {  # docstrings whose first sentence tells of options, or leaves out the shapes
    "FeedForward": "relu(x W_1 + b_1) W_2 + b_2, the same at every position (Vaswani et al. 2017, equation 2).",
    "EncoderBlock": "x (b, n, d) → (b, n, d): self-attention, then a feed-forward layer, both with pre-norm.",
    "Encoder": "x (b, n, d) → (b, n, d): blocks, one after the other, and a last layer norm; weights of each block.",
    "KeysValues": "of the positions read so far, (b, h, k, e) each",
    "BlockState": "of its own words, more each time, and of the memory, once",
    "Weights": "a list of (b, h, q, k), one a layer, each",
    "DecoderBlock": "x (b, n, d), memory (b, k, d) → (b, n, d): self- and cross-attention, feed-forward layer.",
    "Decoder": "x (b, n, d) → (b, n, d), the state of each block for the words to come, and all weights.",
    "PlacedEmbedding": "tokens (b, n) → (b, n, d); vectors start √d smaller, as the output layer shares them.",
    "LanguageModel": "tokens (b, n) → logits (b, n, v) for the next token, state to go on from, weights.",
    "TransformerTranslator": "source (b, k), mask, target so far (b, q), from `<s>` on → logits (b, q, v), weights.",
}


def text(node):
    return ast.unparse(node)


class Cut(ast.NodeTransformer):
    """Guards, annotations and options away."""

    inside = ""  # the function whose body is gone through

    def visit(self, node):
        if isinstance(node, ast.expr) and text(node) in INSTEAD:
            return ast.parse(INSTEAD[text(node)], mode="eval").body
        return super().visit(node)

    def visit_ClassDef(self, node):
        if text(node.bases[0]) == "NamedTuple":
            fields = " ".join(one.target.id for one in node.body[1:])
            defaults = [one.value for one in node.body[1:] if one.value is not None]
            more = f", defaults=[{', '.join(map(text, defaults))}]" if defaults else ""
            return ast.parse(f"{node.name} = namedtuple({node.name!r}, {fields!r}{more}); '#{TOLD[node.name]}'").body
        node.name = INSTEAD.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node):
        defaults = [None] * (len(node.args.args) - len(node.args.defaults)) + node.args.defaults
        given = [pair for pair in zip(node.args.args, defaults) if pair[0].arg not in GONE]
        defaults = [default for _, default in given if default is not None]
        node.args = ast.arguments([], [ast.arg(one.arg) for one, _ in given], None, [], [], None, defaults)
        node.returns, self.inside = None, node.name
        return self.generic_visit(node)

    def visit_Expr(self, node):
        guard = isinstance(node.value, ast.Call) and text(node.value.func).startswith(("require_", "known"))
        return None if guard else self.generic_visit(node)

    def visit_Call(self, node):
        self.generic_visit(node)
        if self.inside == "__init__":
            node.args = [one for one in node.args if text(one) not in GONE]
            node.keywords = [one for one in node.keywords if text(one.value) not in GONE]
        match node:
            case ast.Call(ast.Attribute(_, "dropout"), [x]):
                return x
            case ast.Call(ast.Attribute(norm, "before"), [x]):
                return ast.Call(norm, [x], [])
            case ast.Call(ast.Attribute(_, "after"), [x, added]):
                return ast.BinOp(x, ast.Add(), added)
        return node

    def visit_IfExp(self, node):
        chosen = CHOSEN.get(text(node.test))
        return self.generic_visit(node) if chosen is None else self.visit(node.body if chosen else node.orelse)

    def visit_If(self, node):
        chosen = False if isinstance(node.body[0], ast.Raise) else CHOSEN.get(text(node.test))
        if chosen is None:
            return self.generic_visit(node)
        return [self.visit(one) for one in (node.body if chosen else node.orelse)]

    def visit_Assign(self, node):
        pairs = [(node.targets[0], node.value)]
        if all(isinstance(side, ast.Tuple) for side in pairs[0]):
            pairs = list(zip(*(side.elts for side in pairs[0])))
        pairs = [pair for pair in pairs if not keeps_an_option(*pair)]
        if len(pairs) > 1:
            pairs = [tuple(ast.Tuple(list(side)) for side in zip(*pairs))]
        return self.generic_visit(ast.Assign([pairs[0][0]], pairs[0][1], lineno=0)) if pairs else None


def keeps_an_option(target, value):
    """Does an assignment only keep what is gone?"""
    given = value.args[0] if isinstance(value, ast.Call) and text(value.func) in ("known", "nn.Dropout") else value
    return text(target) == "axis" or text(given) in GONE


def cut(name, source):
    """The definition with that source, cut; comments of the kind `# (…, q, k)` stay."""
    for old, new in EDITS.get(name, {}).items():
        pattern = rf"^ *{re.escape(old)}.*\n?" if new is None else re.escape(old)
        source, times = re.subn(pattern, lambda _, new=new: new or "", source, flags=re.M)
        if times != 1:
            raise ValueError(f"{name} has changed: {old!r} stands there {times} times, not once")
    source = re.sub(r"  # (?!fmt:)(.*)$", as_statement, source, flags=re.M)
    code = text(ast.fix_missing_locations(Cut().visit(ast.parse(source))))
    code = re.sub(r"\n *'#(.*)'$", r"  # \1", code, flags=re.M)
    code = re.sub(r'""".*?"""\n*', first_sentence, code, flags=re.S)
    if name in TOLD:
        code = re.sub(r'""".*"""', f'"""{TOLD[name]}"""', code, count=1)
    code = re.sub(r"'([\w ]+)'(?=[,)])", r'"\1"', code).replace("(not done.all())", "not done.all()")
    code = re.sub(r"ModuleList\(\((.*)\)\)", r"ModuleList(\1)", code)
    return re.sub(r"^( *(?:return|[^=\n]+ =) )\((.*)\)((?:  #.*)?)$", without_brackets, code, flags=re.M)


def as_statement(comment):
    """A comment as a string, as syntax trees know statements and no comments."""
    return "; " + json.dumps("#" + comment[1], ensure_ascii=False)


def first_sentence(docstring):
    words = " ".join(docstring[0].strip('"\n').split())
    return f'"""{re.split(r"(?<!al)[.](?: |$)", words)[0]}."""\n'


def without_brackets(line):
    """return (a, b) → return a, b"""
    try:
        same = ast.dump(ast.parse(f"({line[2]})")) == ast.dump(ast.parse(line[2]))
    except SyntaxError:
        same = False
    return line[1] + line[2] + line[3] if same else line[0]


def whole(course=COURSE):
    """The text of the file."""
    pieces = [HEAD]
    for heading, module, names in PARTS:
        source = (course / "utils" / f"{module}.py").read_text(encoding="utf-8")
        found = {node.name: node for node in ast.parse(source).body if hasattr(node, "name")}
        made = [cut(name, ast.get_source_segment(source, found[name])) + "\n" for name in names.split()]
        pieces += [f"# {heading}\n{made[0]}" if heading else made[0], *made[1:]]
    return "\n".join(pieces) + TAIL


def main(arguments=None):
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("file", type=Path, help="where to write it; a file that is there stays as it is")
    ask.add_argument("--overwrite", action="store_true", help="unless this is given")
    options = ask.parse_args(arguments)
    try:
        with options.file.open("w" if options.overwrite else "x", encoding="utf-8", newline="\n") as file:
            file.write(whole())
    except FileExistsError:
        print(f"{options.file} is there already: name another file, or add --overwrite", file=sys.stderr)
        return 1
    print(f"{options.file}: {whole().count(chr(10))} lines. python {options.file} trains a small example.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
