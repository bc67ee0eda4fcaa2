"""What is said of a wrong answer holds for its code, and is the same every time, whatever ran before."""

import random

import pytest
import torch
from learner import written

from utils.exercises import catalogue
from utils.judge.run.sandbox import Sandbox
from utils.judge.wording import describe_value


def verdict(name, body):
    return catalogue()[name].verdict(written(body, name))


BEST = """
total = sums[:, None] + log_probabilities
best, where = total.flatten().topk(width)
v = log_probabilities.shape[1]
"""
MOVED = """
columns = []
for j in range(tokens.shape[1]):
    other = tokens.clone()
    other[0, j] += 1
    columns.append((run({}) != run(tokens)[0]).any(-1))
return torch.stack(columns, dim=-1)
"""
SAID = [  # exercise, answer, what is said of it
    ("beam_step", f"{BEST}return where // v, where % v, best", "right ones, in another order"),
    ("weighted_sum", "return weights @ values, weights", "stands at place 1 of it"),
    ("weighted_sum", "return 3 * values[0], weights @ values", "stands at place 2 of it"),
    ("weighted_sum", "return values[0] * weights[0], weights[1:] @ values[1:]", "a comma where a + belongs"),
    ("layer_norm", "return nn.functional.layer_norm(x, x.shape[-1:], gamma, beta)", "takes it as `eps=…`"),
    ("moves", MOVED.format("other[0]"), "`run` is handed tokens (5,), and cannot work with that"),
    ("masked_softmax", "return torch.softmax(scores[mask], -1)", "an index by a mask loses the axes"),
    ("padding_mask", "return (tokens[0] != pad_id)[None, None, None, :]", "has an index picked a single one there"),
    ("one_hot", "return torch.eye(7)[:6] * token_ids.sum() * vocabulary_size", "the same, whatever goes in"),
    ("masked_softmax", "return torch.softmax(scores - 1e4 * ~mask, -1)", "hidden scores get -1"),
    ("one_hot", "rows = torch.empty(len(token_ids), vocabulary_size)\nrows[0] = 0\nreturn rows", "`empty` leaves"),
    (
        "elman_step",
        "return torch.tanh(nn.functional.linear(x, W) + nn.functional.linear(state, U) + bias)",
        "is x @ W.T",
    ),
    ("tied_logits", "return nn.functional.linear(states, E.T)", "leave one of the two out"),
    ("residual_step", 'return x + sublayer(norm(x)) if pre == "pre" else norm(x + sublayer(x))', "is never true"),
    (
        "softmax",
        "s = scores - scores.amin(-1, keepdim=True)\nreturn s / s.sum(-1, keepdim=True)",
        "divided by its own sum",
    ),
    ("one_hot", "return nn.Embedding(vocabulary_size, vocabulary_size)(token_ids)", "a table of random numbers"),
]


@pytest.mark.parametrize("name, body, sentence", SAID, ids=[f"{name}: {said}" for name, _, said in SAID])
def test_a_finding_speaks_of_its_mistake(name, body, sentence):
    assert sentence in catalogue()[name].verdict(written(body, name, nn=torch.nn)).message


NOT_SAID = [  # what the code does not hold, or what it holds as it should be
    ("attend", "w = torch.softmax(keys @ query / math.sqrt(len(query)), -1)\nreturn (values.T * w).sum(0)", ".sum(0)."),
    (
        "share_of_output",
        "z = weights @ values\nreturn weights * (z @ values.mT) / (z * z).sum(dim=1, keepdim=True)",
        "`.T`|.T exchanges",
    ),
    ("softmax", "return torch.softmax(scores / scores.abs().amax(), -1)", "exp is missing"),
    (
        "sinusoidal_positions",
        "half = d_model // 2\na = torch.arange(n)[:, None] / 10000 ** (torch.arange(half) / half)\n"
        "out = torch.zeros(n, d_model)\nout[:, 0:2 * half:2] = a.sin()\nout[:, 1::2] = a.cos()\nreturn out",
        "first round",
    ),
    ("beam_step", f"{BEST}return where // v, where % v, best", "quotient and remainder"),
]


@pytest.mark.parametrize("name, body, sentence", NOT_SAID, ids=[name for name, *_ in NOT_SAID])
def test_nothing_is_said_that_the_code_does_not_hold(name, body, sentence):
    message = verdict(name, body).message
    assert not any(part in message for part in sentence.split("|"))


def test_a_row_that_only_raises_the_same_kind_of_exception_does_not_speak():
    """What does not fit in a product is another mistake than what is paired up entry by entry."""
    paired = "return weights * (weights @ values @ values.mT) / (weights @ values)"
    assert ".T exchanges" not in verdict("share_of_output", paired).message


# ---- the same every time


@pytest.mark.parametrize(
    "name, body",
    [
        ("weighted_sum", "return torch.empty(values.shape[-1])"),
        ("weighted_sum", "return weights @ values + torch.rand(())"),
        ("weighted_sum", "import random\nreturn weights @ values * random.random()"),
        ("weighted_sum", "return weights @ values * np.random.rand()"),
        ("sliding_window_mask", "return ~torch.ones(n, n).tril().triu(-width).bool()"),
    ],
)
def test_the_same_answer_hears_the_same_whatever_ran_before(name, body):
    first = verdict(name, body)
    torch.manual_seed(5)
    random.seed(5)
    kept = [torch.full((1000,), 7.0) for _ in range(50)]  # what memory holds that is handed out again
    del kept
    for other in ("causal_mask", "weighted_sum"):
        for row in catalogue()[other].rows[:3]:
            catalogue()[other].verdict(row.function)
    assert verdict(name, body) == first


def test_random_numbers_go_on_as_if_nothing_had_been_judged():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    with Sandbox():
        torch.rand(5)
    assert torch.equal(torch.rand(2), expected)


def a_block(x):
    return x


def test_inputs_are_described_without_chance():
    pairs = [(2, 1), (0, 3), (10, 0), (0, 0)]
    descriptions = {describe_value("links", [set(order)]) for order in (pairs, pairs[::-1], sorted(pairs))}
    assert descriptions == {"links = [{(0, 0), (0, 3), (10, 0), (2, 1)}]"}
    assert describe_value("blocks", [a_block, a_block]) == "blocks = [a_block, a_block]"
    assert " at 0x" not in describe_value("thing", object())
