"""The core computes on the device of its inputs: no tensor is made elsewhere, and nothing names a device.

There may be no second device to test on, but there is torch's `meta`: its tensors have shapes and no numbers, and fail
where they meet the CPU's. So everything runs twice: on the CPU while torch makes tensors on `meta` by default, and on
`meta` while it makes them on the CPU.
"""

import ast
import contextlib
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from utils import (
    attention,
    beyond,
    checkpoints,
    corpus,
    decoder,
    decoding,
    masks,
    measures,
    probes,
    published,
    rnn,
    tagging,
    torch_weights,
    training,
    transformer,
    translating,
)
from utils.vocabulary import END_ID, Vocabulary

UTILS = Path(__file__).parents[2] / "utils"
# Bytes of a file as tensors, which a state dict copies to wherever the model is; the number of threads.
NO_MODELS = {"encoder_files.py", "setting_up.py", "gguf_file.py", "chat.py"}  # what they read lies on the processor
CORE = [
    path for path in sorted(UTILS.glob("*.py")) if "import torch" in path.read_text() and path.name not in NO_MODELS
]
TAKE_A_DEVICE = """arange as_tensor asarray empty eye full linspace logspace ones rand randint randn randperm
scalar_tensor tensor tril_indices triu_indices zeros""".split()
TAKE_NONE = ["frombuffer", "from_numpy", "normal"]
FACTORIES = {getattr(torch, name) for name in TAKE_A_DEVICE + TAKE_NONE}
CPU = torch.device("cpu")


# ---- what the source says


def made_without_a_device(source):
    """The calls of torch's factories without `device=`, but for those that make the parameters of a layer."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef) and function.name != "__init__":
            for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                name = getattr(call.func, "attr", "")
                of_torch = name in TAKE_A_DEVICE + TAKE_NONE and ast.unparse(call.func.value) == "torch"
                if of_torch and "device" not in {keyword.arg for keyword in call.keywords}:
                    yield ast.unparse(call)


def devices_by_name(source):
    """The strings that name a device, and the methods that move a tensor to one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and str(node.value).partition(":")[0] in (
            "cpu",
            "cuda",
            "mps",
            "xpu",
            "meta",
        ):
            yield node.value
        if isinstance(node, ast.Attribute) and node.attr in ("cpu", "cuda", "mps", "xpu", "pin_memory"):
            yield node.attr


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.stem)
def test_every_tensor_is_made_on_a_device_that_is_said(path):
    assert list(made_without_a_device(path.read_text(encoding="utf-8"))) == []


def test_no_module_names_a_device():
    for path in UTILS.rglob("*.py"):
        if not {"exercises", "judge"} & {*path.parts} and path.name not in NO_MODELS:
            assert list(devices_by_name(path.read_text(encoding="utf-8"))) == [], path.name


def test_the_two_tests_above_see_what_they_should():
    code = "def f(x):\n    a = torch.zeros(2)\n    return x.to('cuda:0'), x.cpu(), torch.tensor(1, device='mps')"
    assert list(made_without_a_device(code)) == ["torch.zeros(2)"]
    assert sorted(devices_by_name(code)) == ["cpu", "cuda:0", "mps"]


# ---- what runs

SIZES = {"d_model": 8, "num_heads": 2}
STACK = SIZES | {"num_layers": 2, "d_ff": 16}
RECURRENT = {"d_embedding": 6, "d_hidden": 8}
PAIRS = corpus.Grammar("es", seed=4).sample(6, 3, 6)
WORDS = translating.vocabularies(PAIRS)


def there_and_back(model, *inputs, **named):
    """A forward pass and a backward pass; what it gives is returned."""
    found = model(*inputs, **named)
    (found[0] if isinstance(found, tuple) else found).square().mean().backward()
    return found


def piecewise(model, tokens, **named):
    """A language model that reads word by word, from what it has kept."""
    state = None
    for token in tokens.split(1, dim=1):
        logits, state, _ = model(token, state, **named)
    return logits


def within(context, run):
    with context:
        return run()


def vectors(*shape):
    return torch.randn(*shape, requires_grad=True)


def of_attention():
    X, tokens = vectors(2, 5, 8), torch.tensor([[4, 5, 6, 7, 0], [4, 5, 0, 0, 0]])
    lengths, causal = torch.tensor([5, 2]), torch.ones(5, 5, dtype=torch.bool).tril()
    blind = causal & (torch.arange(5)[:, None] > 1)  # the first queries may attend to nothing
    yield "causal_mask", partial(masks.causal_mask, 5, X.device)
    yield "padding_mask", partial(masks.padding_mask, tokens)
    yield "lengths", partial(masks.padding_mask_from_lengths, lengths, 6)
    yield "longest length, read", partial(masks.padding_mask_from_lengths, lengths)
    yield "to_torch", partial(masks.to_torch, causal, 2)
    for name, mask in {"no mask": None, "causal": causal, "blind": blind}.items():
        yield f"attention, {name}", partial(there_and_back, attention.scaled_dot_product_attention, X, X, X, mask)
        yield f"one head, {name}", partial(there_and_back, attention.SelfAttention(d_model=8), X, mask)
        yield f"heads, {name}", partial(there_and_back, attention.MultiHeadAttention(**SIZES), X, mask=mask)


def of_recurrent_networks():
    tokens, mask = torch.tensor([[4, 5, 6, 2], [4, 5, 2, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]).bool()
    mask = mask[:, None, None]
    memory = rnn.Memory(vectors(2, 4, 8), vectors(2, 8), mask)
    yield "cell", partial(there_and_back, rnn.ElmanCell(d_in=6, d_hidden=8), vectors(2, 6), vectors(2, 8))
    model = rnn.RecurrentLanguageModel(9, **RECURRENT)
    yield "recurrent model", partial(there_and_back, model, tokens)
    yield "generated, read", partial(model.generate, 4)
    yield "drawn, read", lambda: model.generate(4, torch.Generator().manual_seed(0))
    for score in rnn.SCORES:
        attending = rnn.AttentionDecoder(9, **RECURRENT, score=score)
        yield f"{score} decoder", partial(there_and_back, attending, tokens, memory)
    yield "decoder before", partial(there_and_back, rnn.PreviousStateDecoder(9, **RECURRENT), tokens, memory)
    for context in ("first", "every"):
        without = rnn.RecurrentDecoder(9, **RECURRENT, context=context)
        yield f"context {context}", partial(there_and_back, without, tokens, memory)
        translator = rnn.RecurrentTranslator(rnn.RecurrentEncoder(9, **RECURRENT), without)
        yield f"recurrent translator {context}, read", partial(there_and_back, translator, tokens, mask, tokens)
        yield f"translation {context}, read", partial(translator.translate, tokens, mask, 4)


def of_transformers():
    X, tokens = vectors(2, 5, 8), torch.tensor([[4, 5, 6, 7, 0], [4, 5, 0, 0, 0]])
    mask = (tokens != 0)[:, None, None]
    places = torch.arange(5).expand(2, 1, 5)
    yield "sines", partial(transformer.sinusoidal_positions, 5, 8, device=X.device)
    yield "sines in float64", transformer.PositionalEncoding(d_model=8, max_len=5).double
    yield "rotated", partial(there_and_back, transformer.rotate, X)
    yield "rotated to places", partial(there_and_back, transformer.rotate, X, places[:, 0], "halves")
    for norm in ("pre", "post"):
        yield f"block {norm}", partial(there_and_back, transformer.EncoderBlock(**SIZES, d_ff=16, norm=norm), X, mask)
        encoder = transformer.Encoder(**STACK, norm=norm, final_norm=True)
        yield f"encoder {norm}", partial(there_and_back, encoder, X, mask)
    for positions in transformer.POSITIONS:
        tagger = transformer.Tagger(9, num_tags=3, **STACK, positions=positions, causal=True)
        yield f"tagger {positions}", partial(there_and_back, tagger, tokens, mask)
        yield f"tagger {positions} without mask", partial(there_and_back, tagger, tokens)
    few = decoder.CachedAttention(**SIZES, num_kv_heads=1, rotary="halves")
    yield "few heads", partial(there_and_back, few, X)
    for positions in (*transformer.POSITIONS, *decoder.ROTARY):
        model = decoder.LanguageModel(9, **STACK, positions=positions, tied=True, scaled=True)
        yield f"model {positions}", partial(there_and_back, model, tokens, mask=mask)
        yield f"model {positions}, word by word", partial(piecewise, model, tokens)
        encoder = decoder.TokenEncoder(9, **STACK, positions=positions)
        translator = decoder.TransformerTranslator(
            encoder, decoder.LanguageModel(9, **STACK, positions=positions, cross=True)
        )
        yield f"translator {positions}", partial(there_and_back, translator, tokens, mask, tokens)
    today = decoder.LanguageModel(
        9, **STACK, positions="rotary", base=100, norm_kind="rms", gated=True, activation="silu", bias=False
    )
    yield "model of today", partial(there_and_back, today, tokens, mask=mask)
    yield "model of today, its weights", lambda: today.load_state_dict(today.state_dict())
    yield "all words", partial(there_and_back, decoder.LanguageModel(9, **STACK, causal=False), tokens)
    yield "translation, read", partial(translator.translate, tokens, mask, 4)
    yield "silenced", lambda: [*probes.silenced(translator, "decoder", "feed_forward").parameters()]
    for width in (1, 3):
        search = partial(decoding.beam_search, sentences=2, limit=4, width=width, device=X.device)
        yield f"{width} beams, read", lambda search=search: search(translator.step_for(tokens, mask), None)


def of_writing():
    logits = vectors(2, 9)
    script = iter(torch.tensor([[[5], [END_ID]], [[END_ID], [6]]]))
    yield "most probable", partial(decoding.most_probable, logits)
    yield "top k", partial(decoding.keep_top_k, logits, 2)
    yield "top p", partial(decoding.keep_top_p, logits, 0.5)
    yield "sampled, read", lambda: decoding.sampling(torch.Generator(), 0.5, 3, 0.9)(logits)
    say = partial(decoding.write, lambda token, state: (logits.new_zeros(2, 1, 9), state, None), None, 2, 2)
    yield "written, read", lambda: say(lambda _: next(script)[:, 0], device=logits.device)
    yield "batch", partial(Vocabulary(["a", "b"]).batch, ["a b", "a"], device=logits.device)
    yield "decoded, read", partial(Vocabulary(["a", "b"]).decode, torch.tensor([1, 4, 5, 2]))


def of_images_and_bases():
    images, bases = vectors(2, 8, 8), vectors(2, 20, 4)
    patches, hidden = vectors(2, 16, 4), torch.arange(16).expand(2, 16) % 2 == 0
    yield "patches", lambda: beyond.unpatchify(beyond.patchify(images, 2), 8, 8)
    model = beyond.PatchTransformer()
    yield "patch model", partial(there_and_back, model, patches)
    yield "patch model elsewhere", partial(there_and_back, model, patches, torch.arange(16).flip(0))
    yield "restorer", partial(there_and_back, beyond.PatchRestorer(), patches, hidden)
    for positions in transformer.POSITIONS:
        yield f"motif reader {positions}", partial(there_and_back, beyond.MotifReader(positions), bases)
    coloured, weight, heads = vectors(18, 16, 16, 3), vectors(16, 16), vectors(2, 2, 1, 9)
    letters, places = bases.argmax(-1), torch.tensor([[2, -1, 3], [-1, 4, -1]])
    yield "windows", lambda: beyond.windows(beyond.lay_windows(beyond.colour_patches(coloured, 4)), 16)
    yield "photograph, read", partial(beyond.photograph_in_windows, images.device)
    yield "shuffled, read", partial(beyond.shuffled, patches, 0)
    yield "distances", partial(beyond.distances, images.device)
    yield "likeness", partial(beyond.likeness, weight)
    yield "sides, read", partial(beyond.sides, weight)
    yield "nearest two, read", partial(beyond.nearest_two, weight)
    yield "nearest by chance, read", partial(beyond.nearest_by_chance, weight, 9)
    yield "one hot, read", partial(beyond.one_hot, letters)
    yield "spelled, read", partial(beyond.spelled, letters[0], places[0])
    yield "top windows, read", partial(beyond.top_windows, heads, places)
    yield "one-hot bases", partial(beyond.one_hot_bases, "ACGTN", bases.device)
    yield "motifs, read", lambda: beyond.motif_sequences(3, torch.Generator())
    yield "pairs of motifs, read", lambda: beyond.motif_pairs(3, torch.Generator())


def of_measures_and_training():
    logits, targets = vectors(2, 3, 9), torch.tensor([[4, 5, 6], [4, 5, -1]])
    tokens, mask = torch.tensor([[4, 5, 6], [4, 5, 0]]), torch.tensor([[True, True, True], [True, True, False]])
    model = decoder.LanguageModel(9, **STACK)
    yield "perplexity of a loss, read", partial(measures.perplexity, torch.tensor(2.0))
    yield "perplexity, read", partial(measures.perplexity, 2.0)
    yield "accuracy, read", partial(measures.accuracy, model, tokens, targets)
    yield "word accuracy, read", partial(measures.token_accuracy, logits, targets, mask)
    yield "sequence loss, read", partial(training.sequence_loss, logits, targets, mask)
    yield "links, read", partial(measures.argmax_links, torch.rand(3, 3), 2, 2)
    yield "mass, read", partial(measures.attention_mass, [torch.rand(3, 3)], [{(0, 1)}])
    yield "interval, read", partial(measures.interval, torch.rand(9), draws=20)
    yield "interval of groups, read", partial(measures.interval, torch.rand(6), torch.tensor([0, 0, 1, 1, 2, 2]), 20)
    taught = checkpoints.read(checkpoints.FOLDER / "taught_encoder.pt")
    sizes = {"num_tags": 4, "d_model": 64, "num_heads": 2, "num_layers": 2, "d_ff": 128}
    tagger = transformer.Tagger(len(taught["embedding.vectors.weight"]), **sizes)
    yield "checkpoint, read", lambda: [*checkpoints.load_checkpoint("taught_encoder", tagger).state_dict().values()]
    yield "training, read", lambda: training.fit(model, [(tokens, targets)], training.loss_of, 2)


def of_probes():
    X, tokens, mask = vectors(1, 4, 8), torch.tensor([[4, 5, 6, 4]]), torch.ones(1, 1, 1, 4, dtype=torch.bool)
    encoder, tagger = transformer.Encoder(**STACK), transformer.Tagger(9, num_tags=3, **STACK)
    yield "probe, read", partial(probes.causality_probe, encoder, X)
    yield "probe of tokens, read", partial(probes.causality_probe, tagger, tokens)
    yield "leaks, read", partial(probes.leaks, {"train": torch.ones(2, 2, dtype=torch.bool)})
    yield "ablated", lambda: within(probes.ablate(encoder, 1, 2), partial(encoder, X))
    yield "silent", lambda: within(probes.silence(encoder, 1), partial(encoder, X))
    yield "readings", partial(probes.readings, tagger, tokens, mask)
    weights = torch.rand(1, 2, 4, 4)
    yield "added lengths", partial(probes.added_lengths, encoder.blocks[0].attention, X, weights)
    yield "megabytes, read", partial(probes.kept, encoder, X)
    yield "seconds", partial(probes.milliseconds, {"encoder": partial(encoder, X)}, 1)


def of_taggers():
    tokens, tags = torch.tensor([[4, 5, 6], [4, 5, 0]]), torch.tensor([[0, 1, -100], [2, -100, -100]])
    for kind in tagging.KINDS:
        read = ", read" if kind == "Elman network" else ""
        yield f"tagger, {kind}{read}", partial(there_and_back, tagging.tagger(kind, 9), tokens)
    _, encoder = tagging.opened(model := tagging.tagger("rotary", 9))
    for name, sublayer in probes.sublayers(encoder).items():
        yield f"sublayer {name}", partial(sublayer, vectors(1, 4, 64))
    yield "opened", lambda: tagging.opened(model) and probes.sublayers(encoder) and []
    yield "tag loss, read", partial(tagging.tag_loss, model, (tokens, tags, tags))
    nouns = Vocabulary([*tagging.MALE, *tagging.FEMALE, "slept"])
    several = tagging.tagger("sine", len(nouns))
    yield "verbs, read", lambda: tagging.verbs(several, nouns, ["{} {} slept"]).share


def of_torchs_layers():
    theirs = nn.Transformer(8, 2, 2, 2, 16, activation=nn.functional.gelu, batch_first=True)
    stack = STACK | {"activation": "gelu", "norm": "post", "final_norm": True}
    ours = decoder.TransformerTranslator(
        decoder.TokenEncoder(9, **stack), decoder.LanguageModel(9, **stack, cross=True)
    )
    yield "weights of torch, read", partial(torch_weights.load, ours, theirs)
    recurrent, apart = nn.RNN(6, 8), nn.MultiheadAttention(8, 2, kdim=6, vdim=6)
    yield "weights of a cell", partial(torch_weights.load, rnn.ElmanCell(d_in=6, d_hidden=8), recurrent)
    yield "weights of other shapes", partial(torch_weights.load, attention.MultiHeadAttention(**SIZES), apart)


def of_translations():
    source, target = (words.batch([pair[0] for pair in PAIRS]) for words in WORDS)  # any words will do
    recurrent = rnn.RecurrentTranslator(
        rnn.RecurrentEncoder(len(WORDS[0]), **RECURRENT), rnn.AttentionDecoder(len(WORDS[1]), **RECURRENT)
    )
    yield "batches", lambda: next(translating.translation_batches(PAIRS, *WORDS, device=source.device))
    yield "loss, read", partial(translating.translation_loss, recurrent, (source, target))
    yield "all translations, read", partial(translating.translate_all, recurrent, PAIRS, *WORDS)
    yield "weights while reading, read", partial(translating.weights_while_reading, recurrent, PAIRS, *WORDS)


def of_a_published_encoder():
    encoder, pieces = published.SentenceEncoder(), published.WordPiece("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n##b")
    tokens = torch.tensor([[2, 4, 5, 3]])
    yield "sentence encoder", partial(there_and_back, encoder, tokens, (tokens != 0)[:, None, None])
    yield "pieces", partial(pieces.batch, ["a b", "ab bb a"], device=tokens.device)
    yield "sentence vectors", partial(published.sentence_vectors, encoder, pieces, ["a b", "b"])
    yield "journey", partial(published.journey, encoder, tokens)
    yield "looks", partial(published.looks, encoder, pieces, "a b")
    yield "words without a piece", partial(published.words_without, encoder, pieces, "a b", 0, "hidden")
    yield "counted words", partial(published.count_words, ["a b", "b"], tokens.device)
    yield "one vector", partial(there_and_back, published.OneVector(8), tokens)
    yield "a piece silenced", partial(published.words_without, encoder, pieces, "a b", 0, "silenced")


GROUPS = [group for name, group in list(globals().items()) if name.startswith("of_")]
WITHOUT_TENSORS = set(
    """checks.require_text decoder.sizes_of measures.alignment_error_rate measures.sequence_accuracy
    published.load_published published.our_name published.sentences published.shuffle_words
    rnn.recurrent tagging.batches tagging.sentences tagging.tagger tagging.verbs_in trained.maps trained.share_right
    trained.with_plain_averages training.seed translating.by_length
    translating.right_by_length translating.vocabularies""".split()
)  # words, files, numbers of Python, and layers, which are made wherever torch makes them


class Watch(TorchFunctionMode):
    """Notes what the core makes elsewhere than on the CPU, or without saying where."""

    def __init__(self):
        super().__init__()
        self.elsewhere = []

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        frame, keywords = sys._getframe(1), keywords or {}
        path = Path(frame.f_code.co_filename)
        if function in FACTORIES and path in CORE and keywords.get("device") != CPU:
            self.elsewhere.append(f"{path.name}, line {frame.f_lineno}: {function.__name__}")
        return function(*arguments, **keywords)


@contextlib.contextmanager
def made_by_default_on(device):
    torch.set_default_device(device)
    try:
        yield
    finally:
        torch.set_default_device(None)


def tensors(found):
    if isinstance(found, torch.Tensor):
        yield found
    elif isinstance(found, (tuple, list)):
        for part in found:
            yield from tensors(part)


@pytest.fixture(scope="module")
def runs_on_the_cpu():
    """Where the core made tensors, by run; and the functions that ran, by file and first line."""
    torch.manual_seed(0)
    runs, codes, made = [run for group in GROUPS for run in group()], set(), {}
    sys.setprofile(lambda frame, event, _: codes.add(frame.f_code) if event == "call" else None)
    try:
        for name, run in runs:
            with made_by_default_on("meta"), Watch() as watch:
                found = run()
            assert name not in made, f"two runs are named {name}"
            made[name] = watch.elsewhere + [str(part.device) for part in tensors(found) if part.device != CPU]
    finally:
        sys.setprofile(None)
    return made, {(Path(code.co_filename), code.co_firstlineno) for code in codes}


def test_on_the_cpu_nothing_is_made_where_torch_makes_tensors_by_default(runs_on_the_cpu):
    made, _ = runs_on_the_cpu
    assert {name: found for name, found in made.items() if found} == {}


def test_every_function_of_the_core_runs_here(runs_on_the_cpu):
    """What is new is run here, too: a line more in one of the groups above."""
    _, ran = runs_on_the_cpu
    missing = set()
    for path in CORE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                first = min(part.lineno for part in [node, *node.decorator_list])
                missing |= set() if (path, first) in ran else {f"{path.stem}.{node.name}"}
    assert missing == WITHOUT_TENSORS


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_on_another_device_nothing_is_made_on_the_cpu(group):
    """What reads numbers cannot run there: `meta` has none."""
    with torch.device("meta"):
        runs = list(group())
    for name, run in runs:
        if not name.endswith(", read"):
            assert all(part.is_meta for part in tensors(run())), name


# ---- models that are made without memory, and graphs of models


@pytest.fixture
def filled_with_nan():
    """What memory happens to hold, made visible."""
    torch.use_deterministic_algorithms(True)  # then torch fills new memory with NaN
    yield
    torch.use_deterministic_algorithms(False)


MODELS = {
    "language model": partial(decoder.LanguageModel, 9, **STACK),
    "learned positions": partial(decoder.LanguageModel, 9, **STACK, positions="learned"),
    "rotary positions": partial(decoder.LanguageModel, 9, **STACK, positions="rotary"),
    "tagger": partial(transformer.Tagger, 9, num_tags=3, **STACK),
}
TOKENS = torch.tensor([[4, 5, 6, 7], [4, 5, 6, 8]])


@pytest.mark.lane("test")
def test_torch_can_take_the_graph_of_a_model_under_a_mask():
    """No step depends on whether a query may attend to nothing; such a query gets 0 all the same."""
    mask = torch.tensor([[True] * 4, [False] * 4])[:, None, None]
    X, layer = torch.randn(2, 4, 8), transformer.EncoderBlock(**SIZES, d_ff=16).eval()
    exported = torch.export.export(layer, (X, mask)).module()
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    for way in (exported, compiled):
        torch.testing.assert_close(way(X, mask), layer(X, mask))
    model = decoder.LanguageModel(9, **STACK, positions="rotary").eval()
    found = torch.compile(model, fullgraph=True, backend="eager")(TOKENS)[0]
    torch.testing.assert_close(found, model(TOKENS)[0])
