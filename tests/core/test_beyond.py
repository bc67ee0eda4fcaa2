"""Images and DNA as sequences: cutting and putting together, what order means to the models, motifs where they are said
to be."""

import re
from statistics import fmean

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from utils.beyond import (
    BASES,
    MOTIFS,
    MotifReader,
    PatchRestorer,
    PatchTransformer,
    colour_patches,
    distances,
    lay_colours,
    lay_windows,
    likeness,
    motif_pairs,
    motif_sequences,
    nearest_by_chance,
    nearest_two,
    one_hot,
    one_hot_bases,
    patchify,
    photograph,
    photograph_in_windows,
    plant,
    shuffled,
    sides,
    spelled,
    top_windows,
    unpatchify,
    windows,
)
from utils.exercises import catalogue

few = settings(max_examples=25, deadline=None)
sizes = st.integers(1, 4)


# Patches


@few
@given(b=sizes, rows=sizes, columns=sizes, size=sizes)
def test_patches_are_squares_in_reading_order_and_can_be_laid_out_again(b, rows, columns, size):
    images = torch.randn(b, rows * size, columns * size)
    patches = patchify(images, size)
    assert patches.shape == (b, rows * columns, size**2)
    for number in range(rows * columns):
        row, column = divmod(number, columns)
        square = images[:, row * size : (row + 1) * size, column * size : (column + 1) * size]
        assert torch.equal(patches[:, number], square.flatten(1))
    assert torch.equal(patches, F.unfold(images[:, None], size, stride=size).mT)
    assert torch.equal(unpatchify(patches, rows * size, columns * size), images)


@few
@given(rows=sizes, columns=sizes, size=sizes)
def test_images_laid_out_from_any_patches_give_them_back(rows, columns, size):
    patches = torch.randn(2, rows * columns, size**2)
    assert torch.equal(patchify(unpatchify(patches, rows * size, columns * size), size), patches)


@pytest.mark.parametrize("shape, size", [((1, 7, 8), 2), ((1, 8, 7), 2), ((1, 8, 8), 3), ((1, 8, 8), 0)])
def test_images_that_cannot_be_cut_are_refused(shape, size):
    with pytest.raises(ValueError, match="height|width|size"):
        patchify(torch.zeros(shape), size)


def test_a_photograph_in_patches_is_laid_out_again():
    picture = photograph(8)
    assert picture.shape == (53, 80, 3) and 0 <= picture.min() < 0.1 < 0.9 < picture.max() <= 1
    coarser = picture[:52].view(26, 2, 40, 2, 3).mean((1, 3))
    torch.testing.assert_close(photograph(16), coarser)
    tiles = windows(picture, 16, 16)
    assert torch.equal(
        tiles, torch.stack([picture[y : y + 16, x : x + 16] for y in (0, 16, 32) for x in range(0, 80, 16)])
    )
    assert len(windows(picture, 16)) == 38 * 65
    patches = colour_patches(tiles, 4)
    assert patches.shape == (15, 16, 48) and torch.equal(patches[2, 5, 16:32], tiles[2, 4:8, 4:8, 1].flatten())
    assert torch.equal(lay_colours(patches, 16, 16), tiles)


def test_the_windows_that_are_left_out_fill_the_part_between_the_others():
    seen, left_out = photograph_in_windows()
    photo = photograph()
    assert left_out.shape == (18, 16, 48) and torch.equal(lay_windows(left_out), photo[:96, 48:96])
    assert seen.shape == (91 * (33 + 49), 16, 48)  # 106 - 15 rows; 48 - 15 and 64 - 15 columns
    assert torch.equal(seen[0], colour_patches(photo[None, :16, :16], 4)[0])


def test_each_image_is_shuffled_in_its_own_way():
    patches = torch.arange(24.0).view(2, 6, 2)
    mixed = shuffled(patches, 3)
    assert torch.equal(mixed, shuffled(patches, 3)) and not torch.equal(mixed[0] + 12, mixed[1])
    assert torch.equal(mixed.flatten(1).sort(-1).values.view(2, 6, 2), patches), "each keeps its patches, whole"


# Maps of places


def test_sides_are_the_means_over_the_neighbours():
    weight = torch.rand(16, 16)
    for side, step, border in (("left", -1, 0), ("right", 1, 3), ("above", -4, None), ("below", 4, None)):
        pairs = [(i, i + step) for i in range(16) if 0 <= i + step < 16 and i % 4 != border]
        assert sides(weight)[side] == pytest.approx(fmean(weight[pair].item() for pair in pairs)), side


def test_who_looks_at_neighbours_is_nearer_than_chance():
    distance = distances()
    looks = 1 / (0.1 + distance)
    assert nearest_two(looks.fill_diagonal_(99)) == 1, "oneself does not count"
    low, high = nearest_by_chance(looks)
    assert 1.7 < low < distance.sum().item() / 240 < high < 2.6
    everybody = [nearest_two(torch.rand(16, 16)) for _ in range(200)]
    assert 0.85 < fmean(low <= one <= high for one in everybody) <= 1


def test_likeness_is_the_cosine_of_what_is_left_without_the_mean():
    table = torch.tensor([[1.0, 0], [3, 0], [2, 1], [2, -1]])
    torch.testing.assert_close(likeness(table)[0], torch.tensor([1.0, -1, 0, 0]))


# The models


@few
@given(order=st.permutations(range(16)))
def test_without_positions_no_order_of_the_patches_moves_the_answer(order):
    torch.manual_seed(0)
    model, patches = PatchTransformer(positions=False).double(), torch.randn(3, 16, 4, dtype=torch.float64)
    torch.testing.assert_close(model(patches[:, order])[0], model(patches)[0], atol=1e-10, rtol=0)


@few
@given(order=st.permutations(range(16)))
def test_with_positions_the_order_of_rows_means_nothing_and_the_places_everything(order):
    torch.manual_seed(0)
    model, patches = PatchTransformer().double(), torch.randn(3, 16, 4, dtype=torch.float64)
    expected, order = model(patches)[0], torch.tensor(order)
    torch.testing.assert_close(model(patches[:, order], order)[0], expected, atol=1e-10, rtol=0)
    if order.tolist() != list(range(16)):
        assert (model(patches[:, order])[0] - expected).abs().max() > 1e-6


@few
@given(order=st.permutations(range(16)), positions=st.booleans(), hidden=st.integers(0, 15))
def test_weights_are_shuffled_with_the_patches(order, positions, hidden):
    """Rows and columns alike, whether places go with the patches or none are known, and with patches left out, too."""
    torch.manual_seed(0)
    model, patches = PatchTransformer(positions=positions).double(), torch.randn(2, 16, 4, dtype=torch.float64)
    order = torch.tensor(order)[hidden:]
    shown = order.sort().values
    expected, found = model(patches[:, shown], shown)[1], model(patches[:, order], order)[1]
    rank = torch.searchsorted(shown, order)
    for before, after in zip(expected, found):
        torch.testing.assert_close(after, before[:, :, rank][..., rank], atol=1e-10, rtol=0)


@few
@given(order=st.permutations(range(16)))
def test_a_restorer_of_a_shuffled_image_is_the_restorer_with_shuffled_positions(order):
    torch.manual_seed(0)
    model, patches = PatchRestorer().double(), torch.randn(2, 16, 4, dtype=torch.float64)
    hidden = torch.rand(2, 16) < 0.4
    restored, weights = model(patches, hidden)
    model.positions.data = model.positions.data[order]
    shuffled, looks = model(patches[:, order], hidden[:, order])
    torch.testing.assert_close(shuffled, restored[:, order], atol=1e-10, rtol=0)
    torch.testing.assert_close(looks[0], weights[0][:, :, order][..., order], atol=1e-10, rtol=0)


@few
@given(rows=sizes, columns=sizes, size=sizes, d=sizes)
def test_patch_embedding_is_one_product_and_one_convolution(rows, columns, size, d):
    images, kernel, bias = torch.randn(2, rows * size, columns * size), torch.randn(d, size, size), torch.randn(d)
    product = F.linear(patchify(images, size), kernel.flatten(1), bias)
    convolved = F.conv2d(images[:, None], kernel[:, None], bias, stride=size).flatten(2).mT
    torch.testing.assert_close(product, convolved)


@few
@given(rows=sizes, columns=sizes, size=sizes)
def test_the_exercises_and_the_course_cut_alike(rows, columns, size):
    images = torch.randn(2, rows * size, columns * size)
    assert torch.equal(catalogue()["patchify"](images, size), patchify(images, size))


def test_what_a_patch_transformer_returns():
    logits, weights = PatchTransformer(classes=7)(torch.randn(2, 16, 4))
    assert logits.shape == (2, 7) and [one.shape for one in weights] == [(2, 4, 16, 16)] * 2
    torch.testing.assert_close(weights[0].sum(-1), torch.ones(2, 4, 16))


def test_patches_that_are_left_out_have_no_influence():
    torch.manual_seed(0)
    model, patches, left = PatchTransformer(), torch.randn(2, 16, 4), torch.tensor([0, 3, 7, 8])
    changed = patches.clone()
    changed[:, 5] += 1
    assert torch.equal(model(patches[:, left], left)[0], model(changed[:, left], left)[0])


def test_a_restorer_sees_nothing_of_what_is_hidden():
    torch.manual_seed(0)
    model, patches = PatchRestorer(), torch.randn(3, 16, 4)
    hidden = torch.rand(3, 16) < 0.4
    restored, weights = model(patches, hidden)
    assert restored.shape == patches.shape and [one.shape for one in weights] == [(3, 4, 16, 16)] * 2
    other = torch.where(hidden[..., None], torch.randn(3, 16, 4), patches)
    assert torch.equal(model(other, hidden)[0], restored)
    assert not torch.equal(model(other, ~hidden)[0], model(patches, ~hidden)[0])


@pytest.mark.parametrize("positions", [None, "sine", "learned"])
def test_a_reader_asks_every_window_once(positions):
    torch.manual_seed(0)
    model, bases = MotifReader(positions), torch.randint(4, (3, 120))
    logits, (weights,) = model(F.one_hot(bases, 4).float())
    assert logits.shape == (3, 2) and weights.shape == (3, 2, 1, 113)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 2, 1))
    with pytest.raises(ValueError, match="bases"):
        model(torch.zeros(3, 120, 5))


def test_without_positions_a_reader_does_not_know_where_a_window_is():
    """A ring cut open elsewhere has the same windows at other places: only positions tell."""
    torch.manual_seed(0)
    bases = F.one_hot(torch.randint(4, (1, 60)), 4).float()
    turned = torch.cat([bases[:, 30:], bases[:, :30]], dim=1)
    wrapped = [torch.cat([one, one[:, :7]], dim=1) for one in (bases, turned)]  # a ring: the same windows
    blind, placed = MotifReader(), MotifReader("sine")
    torch.testing.assert_close(*(blind(one)[0] for one in wrapped), atol=1e-5, rtol=0)
    assert (placed(wrapped[0])[0] - placed(wrapped[1])[0]).abs().max() > 1e-4


# DNA


def test_bases_as_rows_with_a_single_one():
    assert one_hot_bases("ACGTN").tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert one_hot_bases("").shape == (0, 4)
    with pytest.raises(ValueError, match="base 'a' is unknown"):
        one_hot_bases("a")


def test_motifs_stand_where_they_are_said_to_stand():
    bases, labels, places = motif_sequences(500, torch.Generator().manual_seed(0))
    assert bases.shape == (500, 120) and labels.unique().tolist() == [0, 1] and bases.unique().tolist() == [0, 1, 2, 3]
    spelled = ["".join(BASES[i] for i in row) for row in bases.tolist()]
    for text, label, row in zip(spelled, labels.tolist(), places.tolist()):
        assert (row[0] >= 0) + (row[1] >= 0) == 1 + label
        for motif, place in zip(MOTIFS.values(), row):
            assert place < 0 or re.match(motif.replace("S", "[CG]"), text[place:])
    decoys = [(places[labels == label, 2] >= 0).float().mean().item() for label in (0, 1)]
    assert all(0.4 < share < 0.6 for share in decoys) and 0.4 < labels.float().mean() < 0.6


def test_pairs_of_motifs_are_near_or_far():
    bases, near = motif_pairs(300, torch.Generator().manual_seed(0))
    assert bases.shape == (300, 120) and 0.35 < near.float().mean() < 0.55
    for row, label in zip(bases.tolist(), near.tolist()):
        text = "".join(BASES[i] for i in row)
        first = [[found.start() for found in re.finditer(motif, text)] for motif in ("TGA[CG]TCA", "CACGTG")]
        apart = [abs(a - b) for a in first[0] for b in first[1]]
        assert any(one <= 32 if label else one >= 38 for one in apart)


def test_planting_leaves_the_rest_alone():
    bases = torch.zeros(3, 20, dtype=torch.long)
    plant(bases, torch.tensor([2, -1, 15]), "CACG")
    assert bases.count_nonzero(-1).tolist() == [3, 0, 3]
    assert bases[0, 2:6].tolist() == [1, 0, 1, 2] == bases[2, 15:19].tolist()


def test_planted_motifs_are_spelled_in_capitals():
    bases, _, places = motif_sequences(20, torch.Generator().manual_seed(3))
    for row, where in zip(bases, places):
        capitals = "".join(letter if letter.isupper() else " " for letter in spelled(row, where)).split()
        there = [motif for motif, place in zip(MOTIFS.values(), where.tolist()) if place >= 0]
        assert sorted(re.sub("TGA.TCA", "TGASTCA", word) for word in capitals) == sorted(there)
        assert spelled(row, where).upper() == "".join(BASES[base] for base in row)


def test_the_largest_weight_lies_on_a_motif_if_it_is_at_most_three_bases_away():
    weights = torch.zeros(2, 2, 1, 113)
    weights[0, 0, 0, 23] = weights[0, 1, 0, 50] = weights[1, :, 0, 9] = 1
    found = top_windows(weights, torch.tensor([[20, 54, -1], [13, 6, 9]]))
    assert found == {"AP-1": 0.5, "E-box": 0.5, "GC box": 1.0}


def test_one_hot_bases_have_a_column_each():
    assert one_hot(torch.tensor([[0, 3]])).tolist() == [[[1, 0, 0, 0], [0, 0, 0, 1]]]
