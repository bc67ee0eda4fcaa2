"""Exercises of notebook 08, sections 4 and 5: DNA as numbers, its other strand, and the mask of a graph."""

import torch

from .engine import exercise

# ---- one_hot_bases


def draw_bases(generator, lengths=(9, 30)):
    """All four with N between, without N, without one of the four, a single base, N alone; drawn ones."""
    yield from (("GATNACA",), ("ACGT",), ("TTGACNNA",), ("CCA",), ("N",), ("T",))
    for length in lengths:
        yield ("".join("ACGTN"[i] for i in torch.randint(5, (length,), generator=generator)),)


@exercise(
    draws=draw_bases,
    hints=[
        "How many numbers does a base have, and how many of them are 1? And what is N, the base that nobody could read?",
        "One row a letter of the sequence, one column for each of A, C, G, T, in this order. What is asked of each cell "
        "is whether the letter of its row is that of its column.",
        "Begin with zeros, (n, 4), and set a single 1 a row, in the column of the base; leave rows of N as they are. Or "
        "compare every letter with all four, as float.",
    ],
    names={
        "one number a base, which would make T four times C. Each base is a row of four": lambda sequence: torch.zeros(
            len(sequence)
        ),
        "a column for each letter that occurs. The four columns are always A, C, G, T": lambda sequence: torch.zeros(
            len(sequence), len(set(sequence))
        ),
        "a single row: each base has one of its own": lambda sequence: torch.zeros(4),
        "one row of numbers for all bases: (n, 4) has a row a base": lambda sequence: torch.zeros(4 * len(sequence)),
    },
    question="The result is (n, 4), a row for each base of the sequence: which axis is which in this line?",
    level=1,
    minutes=6,
)
def one_hot_bases(sequence):
    """A string of A, C, G, T and N as numbers, a row for each of its n bases: returns (n, 4), float.

    The columns stand for A, C, G, T. N, a base that could not be read, is a row of zeros.
    """
    return torch.tensor([[float(base == letter) for letter in "ACGT"] for base in sequence])


# ---- reverse_complement


def draw_strands(generator):
    """As draw_bases, longer, and one that is its own reverse complement."""
    yield from draw_bases(generator, (12, 41))
    yield ("CACGTG",)


@exercise(
    draws=draw_strands,
    hints=[
        "The two strands of DNA lie side by side: opposite A lies T, opposite C lies G. The other strand is read from "
        "its own end. What stands opposite AAC, and how is that read?",
        "Two things happen: each base becomes its partner, and the order is turned round. A dictionary knows the "
        "partners; N has itself.",
        "`reversed` or a slice that steps backwards turns the order round. Looked up one by one, the partners are "
        "letters, and the join of an empty string makes one string of them.",
    ],
    names={},
    level=1,
    minutes=5,
)
def reverse_complement(sequence):
    """The other strand of a string of A, C, G, T and N, read in its own direction: returns a string.

    Partners are A and T, C and G; N stays N. The other strand runs the opposite way.
    """
    partner = {"A": "T", "C": "G", "G": "C", "T": "A", "N": "N"}
    return "".join(partner[base] for base in reversed(sequence))


# ---- adjacency_mask


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


@exercise(
    draws=draw_graphs,
    hints=[
        "Three nodes, one edge, (0, 1): which of the nine pairs may attend? What would become of node 2 in a softmax, if "
        "it saw nobody?",
        "Begin with a mask in which each node sees itself: which matrix is True on its diagonal alone?",
        "An edge (one, other) is two cells: the row of one in the column of other, and the row of other in the column "
        "of one. A loop over the edges sets both to True.",
    ],
    names={
        "edges, two numbers each: the mask has a row and a column for every node": lambda edges, n: torch.zeros(
            len(edges), 2
        ),
        "one truth a node: a mask has a row and a column for each": lambda edges, n: torch.zeros(n),
    },
    question="The mask is (n, n), rows are queries, columns are keys, and an edge names one of each: which is which here?",
    level=1,
    minutes=6,
)
def adjacency_mask(edges, n):
    """The mask for attention on a graph: returns boolean (n, n), True = may attend.

    edges is a list of pairs of nodes, which count from 0 to n - 1; it may be empty. A node may attend to its
    neighbours, whichever of the two stands first in the pair, and to itself.
    """
    allowed = torch.eye(n, dtype=torch.bool)
    for one, other in edges:
        allowed[one, other] = allowed[other, one] = True
    return allowed
