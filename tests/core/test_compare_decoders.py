"""The tool behind the decoder's tables: a quick look prints them all; models that were kept are not trained again."""

from functools import partial

import pytest
import torch

from experiments import cache_bugs, compare_decoders
from utils import corpus

QUICK = ["--seeds", "3", "--steps", "1", "--train", "200", "--sentences", "2"]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Few sentences, of which models that hardly train need not write many words."""
    monkeypatch.setattr(cache_bugs, "LIMIT", 3)
    monkeypatch.setattr(compare_decoders.corpus, "splits", partial(corpus.splits, test=3))
    monkeypatch.setattr(compare_decoders, "translate_all", lambda model, pairs, *_: [pair.target for pair in pairs])


@pytest.mark.lane("all", "compare_decoders", "decoder", "test_compare_decoders")
def test_every_table_is_printed_and_trained_models_are_kept(tmp_path, capsys, monkeypatch):
    compare_decoders.main([*QUICK, "--weights", str(tmp_path / "kept")])
    said = capsys.readouterr().out
    rows = [line.split(" | ") for line in said.splitlines() if line.startswith("| ")]
    firsts = [row[0].removeprefix("| ") for row in rows]
    assert [firsts.count(name) for name in ("rotary", "RNN", "not tied", "learned")] == [3, 2, 1, 2]
    assert {"a third as long, test, 8", "rotary, longer, 1"} <= set(firsts) and "nan" not in said
    assert said.count("| rotary | 100.0 (100.0 to 100.0) |") == 2, "right; and a cache without a bug changes nothing"
    monkeypatch.setattr(compare_decoders.training, "fit", lambda *_, **__: pytest.fail("trained again"))
    compare_decoders.main([*QUICK, "right", "--weights", str(tmp_path / "kept")])
    assert capsys.readouterr().out in said


def test_an_unknown_table_is_refused(capsys):
    with pytest.raises(SystemExit):
        compare_decoders.main(["wrong"])
    assert "no table wrong; there are right, lengths, alignment, cuts, bugs, beams" in capsys.readouterr().err


def test_a_bug_is_gone_after_its_turn():
    torch.manual_seed(0)
    words = [str(i) for i in range(9)]
    model = compare_decoders.new_model(words, words, "sine")
    source = torch.randint(4, 9, (2, 5))
    before = set(vars(model.language_model))
    for bug in cache_bugs.BUGS.values():
        cache_bugs.written(model, source, compare_decoders.padding_mask(source), **bug)
    assert set(vars(model.language_model)) == before
