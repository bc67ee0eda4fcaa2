"""Exercises of notebook 01: dot product, magnitude, cosine; the variance that a projection keeps; words near a word."""

import math

import torch

from .engine import exercise


def draw_vectors(generator, count):
    """`count` vectors a draw, of 3, 1, 100 and 8 entries, of different lengths; the 8 in float64."""
    for d, dtype in ((3, None), (1, None), (100, None), (8, torch.float64)):
        sizes = 0.5 + 2 * torch.rand(count, 1, generator=generator, dtype=dtype)
        yield tuple(sizes * torch.randn(count, d, generator=generator, dtype=dtype))


def draw_pairs(generator):
    yield from draw_vectors(generator, 2)
    a = torch.tensor([3.0, -1.0, 2.0, 0.5])
    yield a, -2 * a  # opposite directions


# ---- dot_product


@exercise(
    draws=draw_pairs,
    hints=[
        "What do you get for two vectors with a single entry each? And with two entries each?",
        "Multiply the vectors entry by entry. That gives d products: which operation makes one number of them?",
        "In words: the sum, over i, of a[i] times b[i]. torch has an operator for it, the one of matrix products.",
    ],
    names={"the products entry by entry: did you forget to add them up?": lambda a, b: a * b},
    question="Both vectors have d entries: which operation pairs a[i] with b[i]?",
)
def dot_product(a, b):
    """Dot product of two vectors (d,) and (d,): returns one number."""
    return (a * b).sum()


@dot_product.mistake("you multiply entry by entry, and stop there. The d products still have to be added up.")
def products(a, b):
    return a * b


@dot_product.mistake("you take the mean of the products. The dot product is their sum, d times as large.")
def mean_of_products(a, b):
    return (a * b).mean()


@dot_product.mistake("you add up each vector first and multiply the sums: that pairs every entry with every other one.")
def product_of_sums(a, b):
    return a.sum() * b.sum()


@dot_product.mistake("you add the entries of both vectors. In a dot product a[i] multiplies b[i].")
def sum_of_sums(a, b):
    return (a + b).sum()


@dot_product.mistake("you add a and b entry by entry. In a dot product a[i] multiplies b[i]; the products are added.")
def sum_of_vectors(a, b):
    return a + b


@dot_product.mistake("you drop the signs. A product below zero is what says that two entries point opposite ways.")
def sum_of_absolute_products(a, b):
    return (a * b).abs().sum()


@dot_product.mistake("that is the absolute value. A negative dot product means an angle over 90°: the sign matters.")
def absolute_dot_product(a, b):
    return (a @ b).abs()


@dot_product.mistake("that is every entry of a times every entry of b, d x d numbers: the outer product.")
def outer_product(a, b):
    return torch.outer(a, b)


@dot_product.mistake("that is the cosine: you divide by both magnitudes. The dot product keeps them.")
def normalised_dot_product(a, b):
    return a @ b / (a.norm() * b.norm())


@dot_product.mistake(
    "that is the product of the magnitudes. The angle has no say in it; the dot product is |a||b|cos θ."
)
def product_of_magnitudes(a, b):
    return a.norm() * b.norm()


@dot_product.mistake("that is a distance: small when the vectors are alike. The dot product is large then.")
def distance(a, b):
    return (a - b).norm()


@dot_product.mistake("you multiply a by itself: that is |a|², and b has no say in it.")
def a_with_itself(a, b):
    return a @ a


@dot_product.mistake("you multiply b by itself: that is |b|², and a has no say in it.")
def b_with_itself(a, b):
    return b @ b


@dot_product.mistake("you divide by √d. Attention will do so later; the dot product itself is the plain sum.")
def scaled_dot_product(a, b):
    return a @ b / math.sqrt(len(a))


@dot_product.mistake("you keep the last product only: add it to those before it.")
def last_product(a, b):
    return a[-1] * b[-1]


@dot_product.mistake("you multiply all the products together. They have to be added.")
def product_of_products(a, b):
    return (a * b).prod()


# ---- magnitude


def draw_single_vectors(generator):
    yield from draw_vectors(generator, 1)
    yield (torch.tensor([-3.0, 4.0]),)


@exercise(
    draws=draw_single_vectors,
    hints=[
        "How long is the arrow from (0, 0) to (3, 4)? Which theorem tells you?",
        "Pythagoras, with d squares instead of two: square, add up, and undo the square.",
        "The sum of squares is the dot product of a with itself. What is left to do with it?",
    ],
    names={"a: did you forget to add the squares up?": lambda a: a},
)
def magnitude(a):
    """Magnitude (Euclidean length) of a vector (d,): returns one number."""
    return (a**2).sum().sqrt()


@magnitude.mistake("the root is missing: this is |a|², which grows fourfold when the arrow doubles.")
def squared_magnitude(a):
    return a @ a


@magnitude.mistake("you add the absolute entries: that is the way along the axes, not the straight line (the L1 norm).")
def way_along_the_axes(a):
    return a.abs().sum()


@magnitude.mistake(
    "you add the entries and take the root, without squaring them first. Where the sum is negative: NaN."
)
def root_of_sum(a):
    return a.sum().sqrt()


@magnitude.mistake("you add the entries. Positive and negative ones cancel: (1, -1) would have length 0.")
def plain_sum(a):
    return a.sum()


@magnitude.mistake(
    "you add up first and square afterwards, so positive and negative entries cancel. Square each first."
)
def root_of_squared_sum(a):
    return (a.sum() ** 2).sqrt()


@magnitude.mistake("you take the mean of the squares instead of their sum: twice the entries would not be any longer.")
def root_mean_square(a):
    return (a**2).mean().sqrt()


@magnitude.mistake("you divide the length by d. An arrow does not get shorter by having more entries.")
def magnitude_per_entry(a):
    return a.norm() / len(a)


@magnitude.mistake("that is the largest entry. The others make the arrow longer, too.")
def largest_entry(a):
    return a.abs().max()


@magnitude.mistake("you square every entry and take the root of every square: the entries without their signs.")
def root_of_every_square(a):
    return (a**2).sqrt()


@magnitude.mistake("you take the root before the sum, so the absolute entries are added. First add the squares.")
def root_before_mean(a):
    return (a**2).sqrt().mean()


@magnitude.mistake("you divide a by its magnitude: an arrow of length 1. Return the magnitude itself.")
def unit_vector(a):
    return a / a.norm()


@magnitude.mistake("you count the entries: len(a) is the dimension d, whatever the numbers are.")
def number_of_entries(a):
    return len(a)


@magnitude.mistake("you count the entries, and take the root: √d, whatever the numbers are.")
def root_of_number_of_entries(a):
    return math.sqrt(len(a))


@magnitude.mistake("that is the standard deviation: it subtracts the mean first, so (1, 1, 1) would have length 0.")
def standard_deviation(a):
    return a.std()


@magnitude.mistake("you halve the sum of squares. Its root is what undoes the squares: ** 0.5, not * 0.5.")
def half_of_squares(a):
    return (a**2).sum() * 0.5


# ---- cosine_similarity


@exercise(
    draws=draw_pairs,
    hints=[
        "The dot product is |a||b|cos θ. What do you have to do to it to be left with cos θ?",
        "Twice as long a vector must give the same cosine. Which numbers have to be divided out, and how many of them?",
        "Dot product over the product of the two magnitudes. Mind the brackets: x / y * z is (x / y) * z.",
    ],
    names={"the products entry by entry: did you forget to add them up?": lambda a, b: a * b},
    question="Both vectors have d entries: which operation pairs a[i] with b[i]?",
)
def cosine_similarity(a, b):
    """Cosine of the angle between two vectors (d,) and (d,): returns one number, from -1 to 1."""
    return a @ b / (a.norm() * b.norm())


@cosine_similarity.mistake("that is the dot product. It grows with the lengths; the cosine knows the angle only.")
def raw_dot_product(a, b):
    return a @ b


@cosine_similarity.mistake("you divide by |a| only: twice as long a b still gives twice the result.")
def divided_by_a_only(a, b):
    return a @ b / a.norm()


@cosine_similarity.mistake("you divide by |b| only: twice as long an a still gives twice the result.")
def divided_by_b_only(a, b):
    return a @ b / b.norm()


@cosine_similarity.mistake(
    "a @ b / |a| * |b| divides by |a| and then multiplies by |b|. Both belong below the line: put brackets around them."
)
def missing_brackets(a, b):
    return a @ b / a.norm() * b.norm()


@cosine_similarity.mistake("you multiply by the magnitudes instead of dividing by them.")
def multiplied_by_magnitudes(a, b):
    return a @ b * a.norm() * b.norm()


@cosine_similarity.mistake("you divide by the sum of the magnitudes. Their product is what the dot product contains.")
def divided_by_sum_of_magnitudes(a, b):
    return a @ b / (a.norm() + b.norm())


@cosine_similarity.mistake("you divide by |a|²|b|²: the roots are missing, so longer vectors get smaller results.")
def divided_by_squares(a, b):
    return a @ b / (a @ a * (b @ b))


@cosine_similarity.mistake("you divide by |a|² and leave |b| in. Each vector's magnitude goes once below the line.")
def divided_by_a_squared(a, b):
    return a @ b / (a @ a)


@cosine_similarity.mistake("you divide by |b|² and leave |a| in. Each vector's magnitude goes once below the line.")
def divided_by_b_squared(a, b):
    return a @ b / (b @ b)


@cosine_similarity.mistake("you divide by √(|a||b|): one root too many. The result still grows with the lengths.")
def root_of_magnitudes(a, b):
    return a @ b / (a.norm() * b.norm()).sqrt()


@cosine_similarity.mistake("you divide by the number of entries. That averages the products, but the lengths stay in.")
def divided_by_dimension(a, b):
    return a @ b / len(a)


@cosine_similarity.mistake("that is the angle in radians. Return its cosine: 1 for the same direction, not 0.")
def angle_in_radians(a, b):
    return torch.arccos((a @ b / (a.norm() * b.norm())).clamp(-1, 1))


@cosine_similarity.mistake("that is the angle in degrees. Return its cosine: 1 for the same direction, not 0.")
def angle_in_degrees(a, b):
    return torch.rad2deg(torch.arccos((a @ b / (a.norm() * b.norm())).clamp(-1, 1)))


@cosine_similarity.mistake(
    "that is 1 minus the cosine, a distance: 0 for the same direction. Return the cosine, 1 for it."
)
def cosine_distance(a, b):
    return 1 - a @ b / (a.norm() * b.norm())


@cosine_similarity.mistake("the sign is the wrong way round: the same direction has cosine 1, not -1.")
def negative_cosine(a, b):
    return -(a @ b) / (a.norm() * b.norm())


@cosine_similarity.mistake("you drop the sign: vectors that point opposite ways have cosine -1, not 1.")
def absolute_cosine(a, b):
    return (a @ b / (a.norm() * b.norm())).abs()


@cosine_similarity.mistake("you cut negative values off at 0. Vectors that point opposite ways have cosine -1.")
def cosine_cut_off(a, b):
    return (a @ b / (a.norm() * b.norm())).clamp(min=0)


@cosine_similarity.mistake("you square the cosine: opposite directions can no longer be told from the same one.")
def squared_cosine(a, b):
    return (a @ b) ** 2 / (a @ a * (b @ b))


@cosine_similarity.mistake("you divide by the magnitude of the products a * b. Each vector has a magnitude of its own.")
def divided_by_magnitude_of_products(a, b):
    return a @ b / (a * b).norm()


@cosine_similarity.mistake("you divide by sums of absolute entries. The magnitude is the root of the sum of squares.")
def divided_by_l1_norms(a, b):
    return a @ b / (a.abs().sum() * b.abs().sum())


@cosine_similarity.mistake(
    "you subtract the means first: that is the correlation. The cosine takes the entries as given."
)
def correlation(a, b):
    a, b = a - a.mean(), b - b.mean()
    return a @ b / (a.norm() * b.norm())


@cosine_similarity.mistake(
    "you give both vectors length 1, which is right, but multiply entry by entry without the sum."
)
def products_of_unit_vectors(a, b):
    return a / a.norm() * (b / b.norm())


# ---- variance_kept


def draw_points(generator):
    """Clouds that are not centred, with columns of different spread; more columns than points once, float64 once."""
    for n, d, k, dtype in ((20, 5, 2, None), (6, 3, 1, None), (5, 7, 3, None), (12, 4, 3, torch.float64)):
        spread = torch.linspace(3, 0.5, d, dtype=dtype)[torch.randperm(d, generator=generator)]
        points = spread * torch.randn(n, d, generator=generator, dtype=dtype)
        yield points + 2 * torch.randn(d, generator=generator, dtype=dtype), k


def variances(points):
    """Variance along each principal component, up to the factor 1 / (n - 1), largest first: (n, d) → (min(n, d),)."""
    return torch.linalg.svdvals(points - points.mean(0)) ** 2


@exercise(
    draws=draw_points,
    hints=[
        "Variance is measured from the centre of the cloud. Where is it, and what is left if you take it away?",
        "torch.linalg.svdvals(centred) gives the singular values, largest first. A singular value is a spread, like a "
        "standard deviation: what makes a variance of it?",
        "The first k squares, added up, over all squares, added up.",
    ],
    names={
        "the centred points: did you forget to reduce them to one number?": lambda points, k: points,
        "one number for each component: did you forget to add the first k up?": lambda points, k: variances(points),
    },
    question="points (n, d) has one point a row: which axis holds the points?",
)
def variance_kept(points, k):
    """Share of the variance of points (n, d) in their first k principal components: returns one number, 0 to 1."""
    singular_values = torch.linalg.svdvals(points - points.mean(0))  # largest first
    variances = singular_values**2
    return variances[:k].sum() / variances.sum()


@variance_kept.mistake(
    "the points are not centred: you measure from the origin, so the first component mostly points to the mean."
)
def not_centred(points, k):
    squares = torch.linalg.svdvals(points) ** 2
    return squares[:k].sum() / squares.sum()


@variance_kept.mistake("the singular values are not squared. They are spreads; a variance is a spread squared.")
def not_squared(points, k):
    values = torch.linalg.svdvals(points - points.mean(0))
    return values[:k].sum() / values.sum()


@variance_kept.mistake("the points are not centred, and the singular values are not squared.")
def not_centred_not_squared(points, k):
    values = torch.linalg.svdvals(points)
    return values[:k].sum() / values.sum()


@variance_kept.mistake(
    "you square after adding up. Each singular value has to be squared by itself: variances add, spreads do not."
)
def squared_after_sum(points, k):
    values = torch.linalg.svdvals(points - points.mean(0))
    return (values[:k].sum() / values.sum()) ** 2


@variance_kept.mistake("you take the root of the share. Variances are compared here, not spreads.")
def root_of_share(points, k):
    return (variances(points)[:k].sum() / variances(points).sum()).sqrt()


@variance_kept.mistake("you square twice: torch.linalg.eigvalsh of a covariance gives variances already.")
def squared_twice(points, k):
    return (variances(points)[:k] ** 2).sum() / (variances(points) ** 2).sum()


@variance_kept.mistake("that is the share of the k-th component alone. Those before it keep variance, too.")
def kth_component_alone(points, k):
    return variances(points)[k - 1] / variances(points).sum()


@variance_kept.mistake("that is a single component, and the one after the k-th: counting starts at 0.")
def component_after_kth(points, k):
    return variances(points)[k] / variances(points).sum()


@variance_kept.mistake("that is the share of the first component alone, whatever k is.")
def first_component_alone(points, k):
    return variances(points)[0] / variances(points).sum()


@variance_kept.mistake("you always take two components. k says how many.")
def always_two(points, k):
    return variances(points)[:2].sum() / variances(points).sum()


@variance_kept.mistake("you take k + 1 components: [:k] already holds the first k.")
def one_too_many(points, k):
    return variances(points)[: k + 1].sum() / variances(points).sum()


@variance_kept.mistake("you take k - 1 components: [:k] holds the first k, for counting starts at 0.")
def one_too_few(points, k):
    return variances(points)[: k - 1].sum() / variances(points).sum()


@variance_kept.mistake("that is the share that is lost. Return the share that is kept.")
def share_lost(points, k):
    return 1 - variances(points)[:k].sum() / variances(points).sum()


@variance_kept.mistake(
    "you take the k smallest components. torch.linalg.eigvalsh sorts from small to large: the first are the last."
)
def smallest_components(points, k):
    ascending = torch.linalg.eigvalsh(torch.cov(points.T))
    return ascending[:k].sum() / ascending.sum()


@variance_kept.mistake("that is a variance in units of the points. Divide by the variance of all components: a share.")
def not_divided(points, k):
    return variances(points)[:k].sum() / (len(points) - 1)


@variance_kept.mistake("that is a sum of squares. Divide by the sum over all components: a share.")
def sum_of_squares(points, k):
    return variances(points)[:k].sum()


@variance_kept.mistake("you divide the first k by the others. A share is a part of the whole, the first k included.")
def kept_over_lost(points, k):
    return variances(points)[:k].sum() / variances(points)[k:].sum()


@variance_kept.mistake("you divide by the largest component. A share is a part of the sum over all components.")
def divided_by_largest(points, k):
    return variances(points)[:k].sum() / variances(points)[0]


@variance_kept.mistake("you give the share of each of the k components. Return what they keep together: their sum.")
def shares_not_added(points, k):
    return variances(points)[:k] / variances(points).sum()


@variance_kept.mistake("you take the mean of the first k shares. What they keep together is their sum.")
def mean_of_shares(points, k):
    return variances(points)[:k].mean() / variances(points).sum()


@variance_kept.mistake("you compare two means. A share compares two sums: the first k components, and all of them.")
def mean_over_mean(points, k):
    return variances(points)[:k].mean() / variances(points).mean()


@variance_kept.mistake("you give the running shares of all components. Return a single number, the k-th of them.")
def running_shares(points, k):
    return variances(points).cumsum(0) / variances(points).sum()


@variance_kept.mistake("that is in percent. Return a share from 0 to 1.")
def in_percent(points, k):
    return 100 * variances(points)[:k].sum() / variances(points).sum()


@variance_kept.mistake(
    "you subtract each point's own mean over its columns. The centre of the cloud is the mean of the rows: axis 0."
)
def centred_over_columns(points, k):
    squares = torch.linalg.svdvals(points - points.mean(1, keepdim=True)) ** 2
    return squares[:k].sum() / squares.sum()


@variance_kept.mistake("you subtract one number, the mean of all entries. Every column has a mean of its own.")
def centred_by_one_number(points, k):
    squares = torch.linalg.svdvals(points - points.mean()) ** 2
    return squares[:k].sum() / squares.sum()


@variance_kept.mistake(
    "you keep the first k columns. Principal components are directions of their own, across the columns."
)
def first_columns(points, k):
    return points.var(0)[:k].sum() / points.var(0).sum()


@variance_kept.mistake("you keep the k columns of most variance. Principal components may run across the columns.")
def widest_columns(points, k):
    return points.var(0).sort(descending=True).values[:k].sum() / points.var(0).sum()


@variance_kept.mistake(
    "you divide every column by its spread first. That changes the cloud, and its components with it."
)
def standardised(points, k):
    return variances(points / points.std(0))[:k].sum() / variances(points / points.std(0)).sum()


@variance_kept.mistake("that is the share of the components, k of d. They do not all keep the same variance.")
def share_of_components(points, k):
    return k / points.shape[1]


# ---- nearest


def draw_queries(generator):
    """A query that is no row of the matrix, rows of very different lengths; float64 once."""
    for n, d, k, dtype in ((6, 3, 2, None), (30, 8, 5, None), (5, 5, 1, None), (12, 4, 3, torch.float64)):
        lengths = torch.logspace(-0.7, 0.7, n, dtype=dtype)[torch.randperm(n, generator=generator)]
        matrix = lengths[:, None] * torch.randn(n, d, generator=generator, dtype=dtype)
        yield 0.7 * torch.randn(d, generator=generator, dtype=dtype), matrix, k


def cosines(query, matrix):
    """Cosine of the query (d,) with every row of the matrix (n, d): returns (n,)."""
    return matrix @ query / (matrix.norm(dim=1) * query.norm())


@exercise(
    draws=draw_queries,
    hints=[
        "How do you get the cosine of the query with all n rows at once, without a loop?",
        "matrix @ query gives n dot products. Each has to be divided by the magnitude of its own row: "
        "matrix.norm(dim=1). The magnitude of the query is the same for all: does it change the order?",
        "torch.topk(cosines, k) finds the k largest and also says where they stand, under .indices.",
    ],
    names={
        "the cosines of all rows: did you forget to pick the best k?": lambda query, matrix, k: cosines(query, matrix),
        "the rows themselves: return their positions": lambda query, matrix, k: matrix[:k],
    },
    question="matrix (n, d) has one vector a row: which axis has the length d of the query?",
)
def nearest(query, matrix, k):
    """Positions of the k rows of matrix (n, d) with the largest cosine to query (d,), best first: returns (k,)."""
    cosines = matrix @ query / (matrix.norm(dim=1) * query.norm())  # (n,)
    return cosines.topk(k).indices


@nearest.mistake("you rank by dot product, so long rows win. Divide each product by the magnitude of its row.")
def ranked_by_dot_product(query, matrix, k):
    return (matrix @ query).topk(k).indices


@nearest.mistake("you rank from small to large: those are the k rows that are least alike.")
def least_alike(query, matrix, k):
    return cosines(query, matrix).topk(k, largest=False).indices


@nearest.mistake("the right rows in the wrong order: the best comes first. argsort sorts upwards: descending=True.")
def best_last(query, matrix, k):
    return cosines(query, matrix).topk(k).indices.flip(0)


@nearest.mistake("the right rows, but sorted by position. Return the best first.")
def sorted_by_position(query, matrix, k):
    return cosines(query, matrix).topk(k).indices.sort().values


@nearest.mistake("you rank by distance. A long row may point the same way and still lie far off: compare angles.")
def ranked_by_distance(query, matrix, k):
    return (matrix - query).norm(dim=1).topk(k, largest=False).indices


@nearest.mistake("you rank by distance, and the largest first: those are the rows farthest off.")
def farthest(query, matrix, k):
    return (matrix - query).norm(dim=1).topk(k).indices


@nearest.mistake("you drop the signs of the cosines: a row that points the opposite way is as unlike as can be.")
def ranked_by_absolute_cosine(query, matrix, k):
    return cosines(query, matrix).abs().topk(k).indices


@nearest.mistake("you return the cosines. Return where they stand: topk gives .values and .indices.")
def values_not_positions(query, matrix, k):
    return cosines(query, matrix).topk(k).values


@nearest.mistake("you return both what topk gives, values and indices. Return the indices only.")
def values_and_positions(query, matrix, k):
    return tuple(cosines(query, matrix).topk(k))


@nearest.mistake("you return the rows themselves. Return their positions in the matrix.")
def rows_not_positions(query, matrix, k):
    return matrix[cosines(query, matrix).topk(k).indices]


@nearest.mistake("that is the best row only, as a single number. Return k positions.")
def best_only(query, matrix, k):
    return cosines(query, matrix).argmax()


@nearest.mistake("you return all n positions in order. Return the first k of them.")
def all_positions(query, matrix, k):
    return cosines(query, matrix).argsort(descending=True)


@nearest.mistake("you return k + 1 positions: [:k] already holds the first k.")
def one_position_too_many(query, matrix, k):
    return cosines(query, matrix).argsort(descending=True)[: k + 1]


@nearest.mistake("you return k - 1 positions: [:k] holds the first k, for counting starts at 0.")
def one_position_too_few(query, matrix, k):
    return cosines(query, matrix).argsort(descending=True)[: k - 1]


@nearest.mistake("you leave the best row out. The query need not be a row of the matrix: nothing is to be skipped.")
def best_left_out(query, matrix, k):
    return cosines(query, matrix).argsort(descending=True)[1 : k + 1]


@nearest.mistake("you divide by the magnitudes of the columns. Each row is a vector: its magnitude runs along dim=1.")
def columns_normalised(query, matrix, k):
    return (matrix / matrix.norm(dim=0) @ query).topk(k).indices


@nearest.mistake("you divide twice by the magnitude of the row, so short rows win.")
def divided_twice(query, matrix, k):
    return (matrix @ query / (matrix**2).sum(1)).topk(k).indices


@nearest.mistake("you multiply by the magnitudes instead of dividing by them, so long rows win. Are brackets missing?")
def rows_multiplied(query, matrix, k):
    return (matrix @ query * matrix.norm(dim=1)).topk(k).indices


@nearest.mistake("you take the longest rows: the query has no say in it.")
def longest_rows(query, matrix, k):
    return matrix.norm(dim=1).topk(k).indices


@nearest.mistake("you take the first k rows: nothing is ranked.")
def first_rows(query, matrix, k):
    return torch.arange(k)


# ---- analogy_target


def draw_triples(generator):
    yield from draw_vectors(generator, 3)


@exercise(
    draws=draw_triples,
    hints=[
        "Paris is to France as Rome is to … Which step leads from Paris to France? Where does it lead from Rome?",
        "The step from a to b is a difference. Which of the two is subtracted from the other?",
        "Start at c and go the step that leads from a to b. Try it with single numbers: 2 is to 5 as 10 is to 13.",
    ],
)
def analogy_target(a, b, c):
    """Where "a is to b as c is to ?" points, for word vectors (d,): returns (d,)."""
    return b - a + c


@analogy_target.mistake("you go the step backwards, from b to a: 2 is to 5 as 10 is to 13, not to 7.")
def step_backwards(a, b, c):
    return a - b + c


@analogy_target.mistake("you add all three. What a and b have in common must go: a is subtracted.")
def all_added(a, b, c):
    return a + b + c


@analogy_target.mistake("you take the mean of the three. A step is a difference: what a and b have in common must go.")
def mean_of_all(a, b, c):
    return (a + b + c) / 3


@analogy_target.mistake("that is the step from b to a, and nothing starts at c. Go from c the step from a to b.")
def step_backwards_only(a, b, c):
    return a - b


@analogy_target.mistake("you subtract b and c. Of the three only a is subtracted: the step from a to b starts at c.")
def b_and_c_subtracted(a, b, c):
    return a - b - c


@analogy_target.mistake("that is the step from a to b. It still has to start somewhere: at c.")
def step_only(a, b, c):
    return b - a


@analogy_target.mistake("that is the step from a to c. Return where the step from a to b leads from c.")
def step_from_a_to_c(a, b, c):
    return c - a


@analogy_target.mistake("you subtract c. That is the word to start from; a is what goes.")
def c_subtracted(a, b, c):
    return a + b - c


@analogy_target.mistake("you subtract a and c. The step from a to b is added to c.")
def a_and_c_subtracted(a, b, c):
    return b - a - c


@analogy_target.mistake("you add b to c and never subtract a: what a and b have in common is counted twice.")
def a_forgotten(a, b, c):
    return b + c


@analogy_target.mistake("you divide by 3. A step is not a mean: 2 is to 5 as 10 is to 13.")
def divided_by_three(a, b, c):
    return (b - a + c) / 3


@analogy_target.mistake(
    "the direction is right, but you shorten the result to length 1. Here the sum is taken as it is."
)
def shortened_result(a, b, c):
    return (b - a + c) / (b - a + c).norm()


@analogy_target.mistake("you shorten all three to length 1 first. Here the vectors are taken as they are.")
def shortened_vectors(a, b, c):
    return b / b.norm() - a / a.norm() + c / c.norm()


@analogy_target.mistake("you take proportions, b / a * c. Word vectors are compared by differences.")
def proportions(a, b, c):
    return b / a * c


@analogy_target.mistake("you return c unchanged: the step from a to b still has to be added.")
def c_itself(a, b, c):
    return c
