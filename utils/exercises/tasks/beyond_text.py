"""Exercises of the notebook beyond text: images cut into patches, patches that are hidden, where these look; what
changes an answer when it is cut out, and where the control may cut; the mask of a graph."""

import torch

from ...judge.exercise import exercise


def draw_images(generator):
    """Wide, high and square ones, one image; patches of 1 to 4 pixels; b = n = size²; one patch alone, a single column
    of patches; float64."""
    for shape, size, dtype in (
        ((3, 6, 10), 2, None),
        ((3, 8, 6), 2, None),
        ((1, 6, 12), 3, None),
        ((4, 4, 4), 2, None),
        ((2, 8, 8), 4, None),
        ((3, 9, 3), 3, None),
        ((2, 2, 3), 1, None),
        ((2, 3, 3), 3, None),
        ((3, 8, 12), 4, torch.float64),
    ):
        yield torch.randn(shape, generator=generator, dtype=dtype), size


def edges_of_images(generator):
    yield "66 images", (torch.randn(66, 4, 6, generator=generator), 2)
    yield "an image of 70 by 132 pixels, in patches of 2", (torch.randn(1, 70, 132, generator=generator), 2)
    yield "patches of 66 by 66 pixels", (torch.randn(1, 66, 132, generator=generator), 66)


@exercise(
    draws=draw_images,
    edges=edges_of_images,
    hints=[
        "Number the pixels of an image of 4 x 6 from 0 to 23, row by row. Which four numbers belong to its first patch "
        "of 2 x 2, and which to its second?",
        "Each of the axes H and W becomes two: which patch, and which pixel in it. That is (b, H/size, size, W/size, "
        "size), a reshape that moves no number.",
        "Both axes that count patches should come first, rows before columns, then both that count pixels: permute "
        "moves axes. After that, a reshape joins them two by two.",
    ],
    intermediates={
        "(b, n, size, size): each patch should be one row of numbers": lambda images, size: images.new_zeros(
            len(images), images.shape[1] * images.shape[2] // size**2, size, size
        ),
        "(b, H/size, W/size, size²): rows and columns of patches should be joined to one axis, n": (
            lambda images, size: images.new_zeros(
                len(images), images.shape[1] // size, images.shape[2] // size, size**2
            )
        ),
        "(b, H/size, W/size, size, size): are the axes still to be joined two by two?": (
            lambda images, size: images.new_zeros(
                len(images), images.shape[1] // size, images.shape[2] // size, size, size
            )
        ),
        "(n, b, size²): the patches come first, and should come second. stack can stack along dim=1": lambda images, size: (
            images.new_zeros(images.shape[1] * images.shape[2] // size**2, len(images), size**2)
        ),
        "the patches of one image: where are the other images?": lambda images, size: images.new_zeros(
            images.shape[1] * images.shape[2] // size**2, size**2
        ),
        "all patches of an image in one row. They should have an axis of their own, as stack gives them": (
            lambda images, size: images.flatten(1)
        ),
        "one patch of each image: does each round of the loop overwrite the one before?": lambda images, size: (
            images.new_zeros(len(images), size**2)
        ),
        "(b, H/size, W/size), one number per patch: a patch should have size² numbers": lambda images, size: (
            images.new_zeros(len(images), images.shape[1] // size, images.shape[2] // size)
        ),
        "(b, H/size, W · size): each row of patches is joined into one": lambda images, size: images.new_zeros(
            len(images), images.shape[1] // size, images.shape[2] * size
        ),
        "(n, b, size, size): the patches come first, and each is a square. Use flatten(1) for each, and stack along dim=1": (
            lambda images, size: images.new_zeros(images.shape[1] * images.shape[2] // size**2, len(images), size, size)
        ),
    },
    question={
        "unfold": "F.unfold takes images (b, 1, H, W), the 1 for the colours, and a stride; a tensor's own unfold takes "
        "one axis, the length of a window, and the step to the next.",
        r"stack|cat\(": "Each patch is (b, size, size): flatten(1) makes it (b, size²), and n of these are stacked.",
        "": "images is (b, H, W), a patch size by size: into which axes does this line cut the H · W pixels?",
    },
    level=2,
    minutes=10,
)
def patchify(images, size):
    """Cut images of floats, (b, H, W), into squares of size by size pixels: returns (b, n, size²).

    The n patches come row by row, from the top left, and so do the pixels within each. H and W
    are multiples of size.
    """
    b, height, width = images.shape
    cut = images.reshape(b, height // size, size, width // size, size)  # (b, rows, size, columns, size)
    patches = cut.permute(0, 1, 3, 2, 4)  # (b, rows, columns, size, size)
    return patches.reshape(b, -1, size * size)


def draw_hidden_patches(generator):
    """Unequally many hidden patches an image, equally many, one alone, all, none in an image; n = p, b = n; visible
    patches far off and near; float64."""
    for p, rows, loud, dtype in (
        (4, [[1, 0, 0, 1, 0, 0], [0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1]], 4.0, None),
        (4, [[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1], [1, 0, 1, 0]], 0.2, None),
        (9, [[0, 0, 1, 0]], 3.0, None),
        (4, [[1, 1, 1, 1], [1, 1, 1, 1]], 1.0, None),
        (3, [[0, 0, 0, 0, 0], [1, 0, 1, 1, 0]], 2.0, None),
        (5, [[1, 0, 1, 1, 0], [0, 0, 1, 0, 0]], 3.0, torch.float64),
    ):
        hidden = torch.tensor(rows).bool()
        prediction, patches = torch.randn(2, *hidden.shape, p, generator=generator, dtype=dtype)
        yield (
            patches + (prediction + 0.5) * torch.where(hidden, 1.0, loud)[..., None].to(patches.dtype),
            patches,
            hidden,
        )


def edges_of_hidden_patches(generator):
    for name, shape in (("66 images of 70 patches", (66, 70, 2)), ("patches of 66 pixels", (2, 3, 66))):
        prediction, patches = torch.randn(2, *shape, generator=generator)
        yield name, (prediction, patches, torch.rand(shape[:2], generator=generator) < 0.5)


@exercise(
    draws=draw_hidden_patches,
    edges=edges_of_hidden_patches,
    hints=[
        "A model that copies what it sees restores ten of 16 patches without any effort. Should these count?",
        "First compute the squared error of every pixel, (b, n, p). hidden is (b, n): as an index in square brackets it "
        "selects whole patches.",
        "Indexing with hidden gives (number of hidden patches, p). Return the mean of all these numbers.",
    ],
    intermediates={
        "one number per pixel of a patch: the mean should also go over these": lambda prediction, patches, hidden: (
            patches[0, 0]
        ),
        "one number per patch: which of them are hidden, and what is their mean?": lambda prediction, patches, hidden: (
            patches[..., 0]
        ),
        "one number per hidden patch: their mean should be returned": lambda prediction, patches, hidden: patches[
            hidden
        ][:, 0],
        "one number per image: the mean should go over the hidden patches of all images": (
            lambda prediction, patches, hidden: patches[:, 0, 0]
        ),
        "a number for every pixel: the mean over the hidden patches should be returned": (
            lambda prediction, patches, hidden: patches
        ),
    },
    question={
        r"\* ?hidden|hidden ?\*|where": "hidden is (b, n), the distances are (b, n, p): hidden[..., None] lets them meet.",
        "": "prediction and patches are (b, n, p), hidden is (b, n): which shapes meet in this line?",
    },
    level=1,
    minutes=6,
    trained=True,
)
def hidden_patch_loss(prediction, patches, hidden):
    """Mean squared error over the hidden patches alone: returns one number.

    prediction and patches are (b, n, p), with p pixels per patch; hidden (b, n) is True where a patch
    was hidden from the model. Take one mean over all pixels of all hidden patches.
    """
    squares = (prediction - patches) ** 2  # (b, n, p)
    return squares[hidden].mean()


def draw_looks(generator):
    """Places that everybody looks at, and heads that differ; as many images as places, more, fewer; unequally many
    hidden; one head; float64."""
    for b, h, n, m, dtype in (
        (7, 2, 5, 2, None),
        (6, 3, 4, 1, None),
        (5, 2, 6, 3, None),
        (6, 4, 6, 2, None),
        (9, 1, 3, 1, None),
        (11, 2, 5, 3, torch.float64),
    ):
        scores = torch.randn(b, h, n, n, generator=generator, dtype=dtype)
        scores = scores + 2 * torch.randn(n, generator=generator, dtype=dtype)  # some places are popular
        hidden = (torch.arange(n) + torch.arange(b)[:, None]) % n < m  # (b, n), each place in its turn
        hidden[0, :2] = torch.tensor([True, False])
        yield scores.softmax(-1), hidden


def edges_of_looks(generator):
    for name, (b, h, n) in (("70 places", (4, 2, 70)), ("70 images", (70, 2, 3)), ("66 heads", (5, 66, 3))):
        hidden = (torch.arange(n) + torch.arange(b)[:, None]) % 3 < 1
        yield name, (torch.randn(b, h, n, n, generator=generator).softmax(-1), hidden)


@exercise(
    draws=draw_looks,
    edges=edges_of_looks,
    hints=[
        "Look at a dark field in the pictures: is it dark only for the position that looks, or in every square? "
        "Which of the two should the map show?",
        "mean is (q, k): row q holds what a hidden position gives to the others. What does every column sum to after "
        "the last line, and what does every row sum to? Which of the two should be the same for all?",
        "A column holds what one position gets. Divide each column by its own mean over the other positions: "
        "mean.sum(0) divided by n - 1.",
    ],
    intermediates={
        "the mean weights: they should be divided by what a position gets from the others": (
            lambda weights, hidden: (
                (weights.mean(1) * (hidden[:, :, None] & ~hidden[:, None, :])).sum(0)
                / (hidden[:, :, None] & ~hidden[:, None, :]).sum(0).clamp(min=1)
            )
        ),
    },
    question="weights are (b, h, q, k), hidden is (b, n). Rows are queries, the positions that look; columns are keys. "
    "Which axes meet in this line?",
    level=2,
    minutes=7,
)
def looks(weights, hidden):
    """How much a hidden position (row) looks at a visible one (column), compared with the others: returns (n, n).

    weights (b, h, q, k) of a layer, hidden (b, n). First take the mean over the heads, and over the images in which
    the row's position is hidden and the column's visible. Then scale the result: 1 should mean as much as that visible
    position gets from the other n - 1 on average. The diagonal is 0.
    """
    pairs = (hidden[:, :, None] & ~hidden[:, None, :]).float()  # (b, q, k)
    mean = (weights.mean(1) * pairs).sum(0) / pairs.sum(0).clamp(min=1)  # (q, k)
    return mean / (mean.sum(0) / (len(mean) - 1))


def remainder(rows):
    """An answer that nearly every change turns, to one of three."""
    return rows.sum(-1) % 3


def rich_in_g(rows):
    """An answer that few changes turn, and one way more often than the other."""
    return ((rows == 2).sum(-1) > rows.shape[-1] / 4).long()


def first_and_last(rows):
    """An answer that hangs on two places alone."""
    return (rows[:, 0] > rows[:, -1]).long()


def draw_cuts(generator):
    """Places that differ; the first and the last; one sequence, one base, all of them; as many bases as sequences; new
    bases that are the old ones."""
    for answer, b, n, length in (
        (remainder, 6, 11, 3),
        (rich_in_g, 8, 12, 5),
        (first_and_last, 7, 9, 2),
        (remainder, 4, 10, 4),
        (remainder, 1, 7, 2),
        (first_and_last, 5, 6, 6),
        (rich_in_g, 9, 8, 1),
    ):
        sequences = torch.randint(4, (b, n), generator=generator)
        starts = torch.randint(n - length + 1, (b,), generator=generator)
        starts[0], starts[-1] = 0, n - length
        yield answer, sequences, starts, torch.randint(4, (b, length), generator=generator)
    sequences = torch.randint(4, (3, 5), generator=generator)
    yield remainder, sequences, torch.tensor([2, 2, 2]), sequences[:, 2:4].clone()


def edges_of_cuts(generator):
    sequences, starts = torch.randint(4, (6, 8), generator=generator), torch.tensor([0, 5, 1, 4, 2, 3])
    fresh = torch.randint(4, (6, 3), generator=generator)
    yield "answers that are True or False", (lambda rows: rows.sum(-1) % 2 == 0, sequences, starts, fresh)
    yield "answers that are numbers with a fraction", (lambda rows: rows.double().mean(-1), sequences, starts, fresh)
    sequences, starts = torch.randint(4, (66, 140), generator=generator), torch.randint(70, (66,), generator=generator)
    yield "66 sequences of 140 bases", (remainder, sequences, starts, torch.randint(4, (66, 70), generator=generator))


@exercise(
    draws=draw_cuts,
    edges=edges_of_cuts,
    hints=[
        "You need a copy of the sequences, the new bases written into it, and two answers to compare. Which sequences "
        "does each of the two answers belong to?",
        "Sequence i gets fresh[i] at its own position, from starts[i] to starts[i] + length. You can loop over the "
        "sequences and write one slice in each.",
        "An answer changes where answer(changed) != answer(sequences). That is True or False for each sequence, (b,): "
        "what is the share of True?",
    ],
    intermediates={
        "True or False for each sequence: what is the share of True?": lambda answer, sequences, starts, fresh: (
            sequences[:, 0] > 0
        ),
        "the changed sequences: what do they answer, and what did they answer before?": (
            lambda answer, sequences, starts, fresh: sequences
        ),
    },
    question={
        r"\[.*:.*starts|\[.*starts.*:": "starts has one number per sequence, but a slice takes a single number: loop over "
        "the sequences, or index with positions of shape (b, length).",
        "": "sequences is (b, n), starts (b,), fresh (b, length): which axes meet in this line?",
    },
    level=2,
    minutes=8,
)
def cut_out(answer, sequences, starts, fresh):
    """The share of sequences whose answer changes when a piece of each is cut out: returns one number.

    sequences (b, n) of bases, 0 to 3; answer(sequences) is (b,). From starts (b,) on, fresh (b, length)
    replaces the bases of each sequence. Do not change the sequences that are passed in.
    """
    changed = sequences.clone()
    rows = torch.arange(len(changed))[:, None]  # (b, 1)
    places = starts[:, None] + torch.arange(fresh.shape[1])  # (b, length)
    changed[rows, places] = fresh
    return (answer(changed) != answer(sequences)).float().mean()


def draw_planted(generator):
    """Motifs at the beginning and the end, one that is not there, none at all, a single one, motifs side by side; long
    and short ones; cuts of one base, as long as a motif, longer than all; a single start that is left, or none."""
    yield torch.tensor([[2, 9], [-1, 4], [0, 12]]), torch.tensor([4, 3]), 15, 3
    yield torch.tensor([[5], [-1], [0], [6]]), torch.tensor([2]), 8, 1
    yield torch.tensor([[-1, -1, -1], [3, 8, 12], [12, 0, 6]]), torch.tensor([5, 2, 3]), 16, 4
    yield torch.tensor([[6, 1]]), torch.tensor([3, 5]), 9, 2
    yield torch.tensor([[4, -1], [7, 2]]), torch.tensor([1, 2]), 10, 6
    yield torch.tensor([[0, 7, 3], [10, -1, 2]]), torch.tensor([3, 3, 4]), 14, 1
    yield torch.tensor([[0, 4], [1, 5], [3, -1]]), torch.tensor([4, 4]), 8, 4
    planted = torch.tensor([0, 8, 16]) + torch.randint(3, (5, 3), generator=generator)
    yield planted.where(torch.rand(5, 3, generator=generator) < 0.7, -1), torch.tensor([6, 2, 5]), 24, 3


def edges_of_planted(generator):
    planted = 10 * torch.rand(66, 70, generator=generator).argsort(-1)
    yield "66 sequences of 700 bases, 70 motifs", (planted, torch.full((70,), 3), 700, 5)
    yield "a cut of 66 bases", (torch.tensor([[3, 150]]), torch.tensor([66, 4]), 240, 66)
    yield "a cut as long as the sequence", (torch.tensor([[2], [-1]]), torch.tensor([3]), 7, 7)


@exercise(
    draws=draw_planted,
    edges=edges_of_planted,
    hints=[
        "A motif covers the bases 10 to 16, and you cut seven. Which is the last start before it that leaves it whole, "
        "and which the first behind it?",
        "There are n - size + 1 starts s. A cut covers the bases s to s + size - 1, a motif those from begin to "
        "begin + length - 1. When do two such pieces share a base?",
        "They share one if s < begin + length and s + size > begin. Look at all motifs that are there, begin >= 0, and "
        "allow the starts that touch none.",
    ],
    intermediates={
        "one number per motif and start: they should be joined over the motifs, with any or all": (
            lambda planted, lengths, n, size: torch.zeros(*planted.shape, n - size + 1).bool()
        ),
        "one row for all sequences: there should be one per sequence": (
            lambda planted, lengths, n, size: torch.zeros(n - size + 1).bool()
        ),
    },
    question="planted is (b, m), lengths (m,), the result (b, n - size + 1). Which axes meet in this line?",
    level=2,
    minutes=7,
)
def control_starts(planted, lengths, n, size):
    """Where a control may cut: returns boolean (b, n - size + 1), True = a cut from this base on touches no motif.

    planted (b, m): the base where each of m motifs begins in each of b sequences, -1 where it is not there. lengths
    (m,): how many bases each motif has. A sequence has n bases, and a cut replaces size bases.
    """
    starts = torch.arange(n - size + 1)  # (s,)
    begins, ends = planted[..., None], (planted + lengths)[..., None]  # (b, m, 1)
    touches = (starts + size > begins) & (starts < ends) & (begins >= 0)  # (b, m, s)
    return ~touches.any(1)


def draw_graphs(generator):
    """A path, a node without edges, an edge given twice and one from both sides, a star, two nodes, no edge; drawn ones."""
    yield from (
        ([(0, 1), (1, 2), (2, 3)], 4),
        ([(3, 1), (0, 2)], 5),
        ([(0, 1), (1, 0), (2, 1), (2, 1)], 3),
        ([(0, 3), (0, 1), (0, 2), (0, 4)], 6),
        ([(1, 0)], 2),
        ([], 3),
    )
    for n in (6, 11):
        pairs = torch.randint(n, (n, 2), generator=generator).tolist()
        yield [(one, other) for one, other in pairs if one != other] + [(n - 1, 0)], n


def edges_of_graphs(generator):
    yield "an edge from a node to itself", ([(1, 1), (0, 2)], 3)
    yield "140 nodes", ([(node, (7 * node + 3) % 140) for node in range(140)], 140)


@exercise(
    draws=draw_graphs,
    edges=edges_of_graphs,
    hints=[
        "Take three nodes and one edge, (0, 1): which of the nine cells should be True? What would a softmax give for "
        "node 2 if it saw no node at all?",
        "Begin with a mask in which each node sees only itself: which matrix is True only on its diagonal?",
        "An edge (one, other) stands for two cells: [one, other] and [other, one]. Loop over the edges and set both to "
        "True.",
    ],
    intermediates={
        "edges, two numbers each: the mask should have a row and a column for every node": lambda edges, n: torch.zeros(
            len(edges), 2
        ),
        "one number per node: the mask should have a row and a column for each": lambda edges, n: torch.zeros(n),
    },
    question="The mask is (n, n): rows are queries, columns are keys. Which cells does an edge stand for in this line?",
    level=1,
    minutes=6,
)
def adjacency_mask(edges, n):
    """The mask for attention on a graph: returns boolean (n, n), True = may attend.

    edges is a list of pairs of nodes, which are numbered from 0 to n - 1; it may be empty. A node may attend to its
    neighbours, whichever of the two comes first in the pair, and to itself.
    """
    allowed = torch.eye(n, dtype=torch.bool)
    for one, other in edges:
        allowed[one, other] = allowed[other, one] = True
    return allowed
