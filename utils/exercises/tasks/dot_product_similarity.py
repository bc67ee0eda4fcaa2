"""Exercises of the notebook on similarity: dot product, magnitude, cosine; words near a word, the odd one out."""

import torch

from ...judge.exercise import exercise


def draw_vectors(generator, count):
    """`count` vectors a draw, of 3, 1, 100 and 8 entries, of different lengths; the 8 in float64."""
    for d, dtype in ((3, None), (1, None), (100, None), (8, torch.float64)):
        sizes = 0.5 + 2 * torch.rand(count, 1, generator=generator, dtype=dtype)
        yield tuple(sizes * torch.randn(count, d, generator=generator, dtype=dtype))


def draw_pairs(generator):
    yield from draw_vectors(generator, 2)
    a = torch.tensor([3.0, 0.0, -4.0, 0.0])
    yield a, -2 * a  # opposite directions, and no rounding: the cosine is -1 to the last digit


def edges_of_dot_products(generator):
    yield "a vector of zeros", (torch.zeros(3), torch.randn(3, generator=generator))


@exercise(
    draws=draw_pairs,
    edges=edges_of_dot_products,
    hints=[
        "What is the dot product of two vectors with a single entry each? And of two vectors with two entries each?",
        "Multiply the vectors entry by entry. That gives d products: which operation turns them into one number?",
        "In words: the sum of a[i] times b[i] over all i. The operator for matrix products, @, computes it, too.",
    ],
    intermediates={"the products entry by entry: did you forget to add them up?": lambda a, b: a * b},
    question="Both vectors have d entries: which operation pairs a[i] with b[i]?",
    minutes=4,
)
def dot_product(a, b):
    """Dot product of two vectors of floats, (d,) and (d,): returns one number."""
    return (a * b).sum()


def draw_single_vectors(generator):
    yield (torch.tensor([-3.0, 4.0]),)
    yield from draw_vectors(generator, 1)


def edges_of_magnitudes(generator):
    yield "a vector of zeros", (torch.zeros(4),)
    yield "a short vector, of a length near 0.0001", (1e-4 * torch.randn(5, generator=generator),)


@exercise(
    draws=draw_single_vectors,
    edges=edges_of_magnitudes,
    hints=[
        "How long is the arrow from (0, 0) to (3, 4)? Which theorem tells you?",
        "Use the theorem of Pythagoras with d squares instead of two: square each entry, add up, and undo the square.",
        "The sum of the squares is the dot product of a with itself. Which function undoes the square?",
    ],
    intermediates={"a: did you forget to add up the squares?": lambda a: a},
    minutes=4,
)
def magnitude(a):
    """Magnitude (Euclidean length) of a vector (d,): returns one number."""
    return (a**2).sum().sqrt()


def edges_of_cosines(generator):
    a, b = 1e-4 * torch.randn(2, 5, generator=generator)
    yield "short vectors, of lengths near 0.0001", (a, b)


@exercise(
    draws=draw_pairs,
    edges=edges_of_cosines,
    hints=[
        "The dot product is |a||b|cos θ. What do you have to divide it by to get cos θ?",
        "If a vector becomes twice as long, the cosine stays the same. So which two numbers do you have to divide by?",
        "Divide the dot product by the product of the two magnitudes. Put brackets around this product: x / y * z is (x / y) * z.",
    ],
    intermediates={"the products entry by entry: did you forget to add them up?": lambda a, b: a * b},
    question={
        r"cosine_similarity\(|normalize\(": "torch's function works along axis 1 by default, but a vector has only axis 0: does your call say dim=0?",
        "": "Both vectors have d entries: which operation pairs a[i] with b[i]?",
    },
    minutes=5,
)
def cosine_similarity(a, b):
    """Cosine of the angle between two vectors (d,) and (d,), neither of them 0: returns one number, from -1 to 1."""
    return a @ b / (a.norm() * b.norm())


def draw_queries(generator):
    """Rows of very different lengths; the query is a row of the matrix twice, else none; float64 once."""
    for n, d, count, dtype in ((6, 3, 2, None), (30, 8, 5, None), (5, 5, 1, None), (12, 4, 3, torch.float64)):
        lengths = torch.logspace(-0.7, 0.7, n, dtype=dtype)[torch.randperm(n, generator=generator)]
        matrix = lengths[:, None] * torch.randn(n, d, generator=generator, dtype=dtype)
        matrix[-1] = 0
        matrix[-1, :2] = torch.tensor([3, 4])  # its cosine to itself is 1 to the last digit
        yield 0.7 * torch.randn(d, generator=generator, dtype=dtype), matrix, count
        if n > 10:
            yield matrix[-1].clone(), matrix, count


def edges_of_neighbours(generator):
    matrix, query = torch.randn(100, 70, generator=generator), torch.randn(70, generator=generator)
    yield "the 70 nearest of 100 rows", (query, matrix, 70)


@exercise(
    draws=draw_queries,
    edges=edges_of_neighbours,
    hints=[
        "How do you get the cosine of the query with all n rows at once, without a loop?",
        "matrix @ query gives n dot products. Divide each of them by the magnitude of its own row, "
        "matrix.norm(dim=1). The magnitude of the query is the same for all rows: does it change the order?",
        "torch.topk(cosines, count) finds the largest cosines, best first. Their positions are in its .indices.",
    ],
    intermediates={
        "the cosines of all rows: did you forget to pick the best?": lambda query, matrix, count: matrix @ query,
        "the rows themselves: return their positions": lambda query, matrix, count: matrix[:count],
    },
    question={
        r"max\(": "max and argmax find only one entry, and the number in their brackets is an axis. Which function finds the `count` largest entries?",
        r"cosine_similarity\(|normalize\(": "Along which axis do the entries of a vector run: 0 or 1?",
        "": "matrix (n, d) has one vector per row: which axis has length d, as the query does?",
    },
    level=2,
    minutes=8,
)
def nearest(query, matrix, count):
    """Rows of matrix (n, d) with the largest cosine to query (d,), best first, no ties: returns positions (count,)."""
    cosines = matrix @ query / (matrix.norm(dim=1) * query.norm())  # (n,)
    return cosines.topk(count).indices


def draw_groups(generator):
    """Rows of very different lengths; as many rows as columns once, two rows once, float64 once."""
    for n, d, dtype in ((6, 3, None), (5, 5, None), (9, 4, torch.float64), (7, 20, None), (2, 4, None)):
        lengths = torch.logspace(-0.6, 0.6, n, dtype=dtype)[torch.randperm(n, generator=generator)]
        yield (lengths[:, None] * torch.randn(n, d, generator=generator, dtype=dtype),)


def edges_of_groups(generator):
    yield "70 rows with 80 columns", (torch.randn(70, 80, generator=generator),)
    yield "short vectors, of lengths near 0.0001", (1e-4 * torch.randn(4, 3, generator=generator),)


@exercise(
    draws=draw_groups,
    edges=edges_of_groups,
    hints=[
        "You need the cosine of each row with each other row. Divide every row by its magnitude first: how do you get "
        "the cosines from these rows?",
        "vectors.norm(dim=1, keepdim=True) has the shape (n, 1), so each row is divided by its own magnitude. Then one "
        "matrix product, rows with rows, gives all the cosines (n, n).",
        "The diagonal holds the cosine of each row with itself, which is 1. Subtract it from the sum of each row, and "
        "divide by the number of other rows, n - 1.",
    ],
    intermediates={
        "all the cosines: did you forget to take the mean of each row?": lambda vectors: torch.cosine_similarity(
            vectors[:, None], vectors[None], dim=-1
        ),
        "the vectors as they were given": lambda vectors: vectors,
    },
    question={
        r"cosine_similarity\(": "For every pair, one of the two tensors needs the shape (n, 1, d): vectors[:, None]. Along which axis do the entries run?",
        "": "vectors (n, d) has one vector per row: which axis has length d?",
    },
    level=2,
    minutes=10,
)
def likeness_to_others(vectors):
    """The mean of the cosines of each row of vectors (n, d) with the other rows: returns (n,).

    n is 2 or more, and no row is 0. A row's cosine with itself does not count.
    """
    directions = vectors / vectors.norm(dim=1, keepdim=True)  # (n, d)
    cosines = directions @ directions.T  # (n, n)
    return (cosines.sum(dim=1) - 1) / (len(vectors) - 1)


@exercise(
    draws=lambda generator: draw_vectors(generator, 3),
    hints=[
        "Paris is to France as Rome is to … Which step leads from Paris to France? Where does it lead from Rome?",
        "The step from a to b is a difference. Which of the two is subtracted from the other?",
        "Start at c and add the step that leads from a to b. Try it with single numbers: 2 is to 5 as 10 is to 13.",
    ],
    minutes=4,
)
def analogy_target(a, b, c):
    """Where "a is to b as c is to ?" points, for word vectors (d,): returns (d,)."""
    return b - a + c
