"""transformer.py, a whole Transformer in one file: it needs torch alone and computes what utils' classes compute."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

import transformer as poster
from utils import attention, decoder, transformer
from utils.checkpoints import FOLDER, read
from utils.masks import causal_mask, padding_mask
from utils.vocabulary import PAD_ID

PATH = Path(poster.__file__)
pytestmark = pytest.mark.lane("test")
SOURCE = torch.tensor([[5, 3, 9, 2, 7, 10, 4], [4, 8, 6, 0, 0, 0, 0], [6, 10, 7, 3, 5, 0, 0]])
TARGET = torch.tensor([[1, 3, 9, 5, 7, 2], [1, 8, 6, 2, 0, 0], [1, 6, 4, 4, 2, 0]])
SIZES = {"vocabulary_size": 11, "d_model": 16, "num_heads": 4, "d_ff": 24}


@pytest.fixture(params=[(1, 2), (2, 2)], ids=str)
def both(request):
    """The same translator twice, of utils and of the file, in float64."""
    torch.manual_seed(1)
    of_source, of_target = request.param
    options = dict(SIZES, positions="rotary", scaled=True)
    encoder = decoder.TokenEncoder(**options, num_layers=of_source)
    ours = decoder.TransformerTranslator(
        encoder, decoder.LanguageModel(**options, num_layers=of_target, cross=True, tied=True)
    )
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    theirs = poster.TransformerTranslator(
        poster.TokenEncoder(**SIZES, num_layers=of_source), poster.LanguageModel(**SIZES, num_layers=of_target)
    ).double()
    theirs.load_state_dict(ours.double().state_dict())
    return ours.eval(), theirs.eval()


def same(mine, theirs):
    torch.testing.assert_close(theirs, mine, atol=1e-12, rtol=0)


def test_outputs_weights_and_gradients_are_those_of_utils(both):
    found = []
    for model in both:
        logits, weights = model(SOURCE, padding_mask(SOURCE), TARGET[:, :-1])
        cross_entropy(logits.flatten(0, 1), TARGET[:, 1:].flatten(), ignore_index=PAD_ID).backward()
        named = model.named_parameters()
        gradients = {name.replace(".layer.", "."): parameter.grad for name, parameter in named}
        found.append((logits, [*weights.own, *weights.cross, *weights.source], gradients))
    same(*found)
    assert all(gradient.abs().sum() > 0 for gradient in found[0][2].values() if gradient.shape != (16,))


def test_it_writes_what_utils_write_and_goes_on_after_any_chunk(both):
    mask = padding_mask(SOURCE)
    (ids, weights), (other_ids, other_weights) = (model.translate(SOURCE, mask, limit=9) for model in both)
    assert ids == other_ids and any(map(len, ids))
    same(weights, other_weights)
    whole, _ = both[0](SOURCE, mask, TARGET)
    step, state, chunks = both[1].step_for(SOURCE, mask), None, []
    for chunk in TARGET.split([2, 1, 3], dim=1):
        logits, state, _ = step(chunk, state)
        chunks.append(logits)
    same(whole, torch.cat(chunks, dim=1))


def test_its_small_parts_are_those_of_utils():
    assert torch.equal(poster.causal_mask(5), causal_mask(5))
    assert torch.equal(poster.padding_mask(SOURCE), padding_mask(SOURCE))
    Q, K, V = torch.randn(3, 2, 4, 5, 6, dtype=torch.float64)
    for mask in (None, causal_mask(5)):
        same(
            attention.scaled_dot_product_attention(Q, K, V, mask),
            poster.scaled_dot_product_attention(Q, K, V, mask),
        )
    places = torch.tensor([3, 0, 7, 7, 100])
    same(transformer.rotate(Q, places), poster.rotate(Q, places))


def test_the_translator_of_the_course_fits():
    weights = read(FOLDER / "translator_rotary.pt")
    words = [weights[f"{part}.embedding.vectors.weight"].shape[0] for part in ("encoder", "language_model")]
    sizes = {"d_model": 64, "num_heads": 4, "d_ff": 128}
    parts = poster.TokenEncoder(words[0], **sizes, num_layers=1), poster.LanguageModel(words[1], **sizes, num_layers=2)
    poster.TransformerTranslator(*parts).load_state_dict(weights)


def test_it_is_short_and_needs_torch_alone():
    text = PATH.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) <= 320
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imports for alias in node.names} | {getattr(node, "module", "") for node in imports}
    assert names == {"", "math", "typing", "NamedTuple", "torch", "nn"}


def test_it_runs_away_from_the_course(tmp_path):
    """With two steps of its example instead of 600, which learn the task."""
    short = tmp_path / "short.py"
    short.write_text(PATH.read_text(encoding="utf-8").replace("steps=600", "steps=2"), encoding="utf-8")
    done = subprocess.run([sys.executable, "-I", "short.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"loss \d\.\d+ \[[\d, ]+\] → \[[\d, ]*\]\n", done.stdout)
