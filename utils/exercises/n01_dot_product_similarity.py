"""Exercises of notebook 01: dot product, magnitude, cosine; the variance that a projection keeps; words near a word."""


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


dot_product.mistakes("""
= a * b
    you multiply entry by entry, and stop there. The d products still have to be added up.
= (a * b).mean()
    you take the mean of the products. The dot product is their sum, d times as large.
= a.sum() * b.sum()
    you add up each vector first and multiply the sums: that pairs every entry with every other one.
= (a + b).sum()
    you add the entries of both vectors. In a dot product a[i] multiplies b[i].
= a + b
    you add a and b entry by entry. In a dot product a[i] multiplies b[i]; the products are added.
= (a * b).abs().sum()
    you drop the signs. A product below zero is what says that two entries point opposite ways.
= (a @ b).abs()
    that is the absolute value. A negative dot product means an angle over 90°: the sign matters.
= torch.outer(a, b)
    that is every entry of a times every entry of b, d x d numbers: the outer product.
= a @ b / (a.norm() * b.norm())
    that is the cosine: you divide by both magnitudes. The dot product keeps them.
= a.norm() * b.norm()
    that is the product of the magnitudes. The angle has no say in it; the dot product is |a||b|cos θ.
= (a - b).norm()
    that is a distance: small when the vectors are alike. The dot product is large then.
= a @ a
    you multiply a by itself: that is |a|², and b has no say in it.
= b @ b
    you multiply b by itself: that is |b|², and a has no say in it.
= a @ b / math.sqrt(len(a))
    you divide by √d. Attention will do so later; the dot product itself is the plain sum.
= a[-1] * b[-1]
    you keep the last product only: add it to those before it.
= (a * b).prod()
    you multiply all the products together. They have to be added.
""")


dot_product.right("""
total = 0
for x, y in zip(a, b):
    total += x * y
return total

sum(x * y for x, y in zip(a.tolist(), b.tolist()))

a @ b

torch.einsum("d,d->", a, b)

torch.dot(a, b)

(a * b).sum().item()
""")


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


magnitude.mistakes("""
= a @ a
    the root is missing: this is |a|², which grows fourfold when the arrow doubles.
= a.abs().sum()
    you add the absolute entries: that is the way along the axes, not the straight line (the L1 norm).
= a.sum().sqrt()
    you add the entries and take the root, without squaring them first. Where the sum is negative: NaN.
= a.sum()
    you add the entries. Positive and negative ones cancel: (1, -1) would have length 0.
= (a.sum() ** 2).sqrt()
    you add up first and square afterwards, so positive and negative entries cancel. Square each first.
= (a**2).mean().sqrt()
    you take the mean of the squares instead of their sum: twice the entries would not be any longer.
= a.norm() / len(a)
    you divide the length by d. An arrow does not get shorter by having more entries.
= a.abs().max()
    that is the largest entry. The others make the arrow longer, too.
= (a**2).sqrt()
    you square every entry and take the root of every square: the entries without their signs.
= (a**2).sqrt().mean()
    you take the root before the sum, so the absolute entries are added. First add the squares.
= a / a.norm()
    you divide a by its magnitude: an arrow of length 1. Return the magnitude itself.
= len(a)
    you count the entries: len(a) is the dimension d, whatever the numbers are.
= math.sqrt(len(a))
    you count the entries, and take the root: √d, whatever the numbers are.
= a.std()
    that is the standard deviation: it subtracts the mean first, so (1, 1, 1) would have length 0.
= (a**2).sum() * 0.5
    you halve the sum of squares. Its root is what undoes the squares: ** 0.5, not * 0.5.
""")


magnitude.right("""
torch.linalg.norm(a)

math.sqrt(sum(x**2 for x in a))

math.hypot(*a.tolist())

(a @ a) ** 0.5

torch.einsum("d,d->", a, a).sqrt()
""")


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


cosine_similarity.mistakes("""
= a @ b
    that is the dot product. It grows with the lengths; the cosine knows the angle only.
= a @ b / a.norm()
    you divide by |a| only: twice as long a b still gives twice the result.
= a @ b / b.norm()
    you divide by |b| only: twice as long an a still gives twice the result.
= a @ b / a.norm() * b.norm()
    a @ b / |a| * |b| divides by |a| and then multiplies by |b|. Both belong below the line: put brackets around
    them.
= a @ b * a.norm() * b.norm()
    you multiply by the magnitudes instead of dividing by them.
= a @ b / (a.norm() + b.norm())
    you divide by the sum of the magnitudes. Their product is what the dot product contains.
= a @ b / (a @ a * (b @ b))
    you divide by |a|²|b|²: the roots are missing, so longer vectors get smaller results.
= a @ b / (a @ a)
    you divide by |a|² and leave |b| in. Each vector's magnitude goes once below the line.
= a @ b / (b @ b)
    you divide by |b|² and leave |a| in. Each vector's magnitude goes once below the line.
= a @ b / (a.norm() * b.norm()).sqrt()
    you divide by √(|a||b|): one root too many. The result still grows with the lengths.
= a @ b / len(a)
    you divide by the number of entries. That averages the products, but the lengths stay in.
= torch.arccos((a @ b / (a.norm() * b.norm())).clamp(-1, 1))
    that is the angle in radians. Return its cosine: 1 for the same direction, not 0.
= torch.rad2deg(torch.arccos((a @ b / (a.norm() * b.norm())).clamp(-1, 1)))
    that is the angle in degrees. Return its cosine: 1 for the same direction, not 0.
= 1 - a @ b / (a.norm() * b.norm())
    that is 1 minus the cosine, a distance: 0 for the same direction. Return the cosine, 1 for it.
= -(a @ b) / (a.norm() * b.norm())
    the sign is the wrong way round: the same direction has cosine 1, not -1.
= (a @ b / (a.norm() * b.norm())).abs()
    you drop the sign: vectors that point opposite ways have cosine -1, not 1.
= (a @ b / (a.norm() * b.norm())).clamp(min=0)
    you cut negative values off at 0. Vectors that point opposite ways have cosine -1.
= (a @ b) ** 2 / (a @ a * (b @ b))
    you square the cosine: opposite directions can no longer be told from the same one.
= a @ b / (a * b).norm()
    you divide by the magnitude of the products a * b. Each vector has a magnitude of its own.
= a @ b / (a.abs().sum() * b.abs().sum())
    you divide by sums of absolute entries. The magnitude is the root of the sum of squares.
a, b = a - a.mean(), b - b.mean()
return a @ b / (a.norm() * b.norm())
    you subtract the means first: that is the correlation. The cosine takes the entries as given.
= a / a.norm() * (b / b.norm())
    you give both vectors length 1, which is right, but multiply entry by entry without the sum.
""")


cosine_similarity.right("""
torch.cosine_similarity(a, b, dim=0)

F.normalize(a, dim=0) @ F.normalize(b, dim=0)

products, squares_a, squares_b = 0.0, 0.0, 0.0
for x, y in zip(a.tolist(), b.tolist()):
    products, squares_a, squares_b = products + x * y, squares_a + x * x, squares_b + y * y
return products / math.sqrt(squares_a * squares_b)

(a.dot(b) / a.norm() / b.norm()).clamp(-1, 1)
""")


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


variance_kept.mistakes("""
squares = torch.linalg.svdvals(points) ** 2
return squares[:k].sum() / squares.sum()
    the points are not centred: you measure from the origin, so the first component mostly points to the mean.
values = torch.linalg.svdvals(points - points.mean(0))
return values[:k].sum() / values.sum()
    the singular values are not squared. They are spreads; a variance is a spread squared.
values = torch.linalg.svdvals(points)
return values[:k].sum() / values.sum()
    the points are not centred, and the singular values are not squared.
values = torch.linalg.svdvals(points - points.mean(0))
return (values[:k].sum() / values.sum()) ** 2
    you square after adding up. Each singular value has to be squared by itself: variances add, spreads do not.
= (variances(points)[:k].sum() / variances(points).sum()).sqrt()
    you take the root of the share. Variances are compared here, not spreads.
= (variances(points)[:k] ** 2).sum() / (variances(points) ** 2).sum()
    you square twice: torch.linalg.eigvalsh of a covariance gives variances already.
= variances(points)[k - 1] / variances(points).sum()
    that is the share of the k-th component alone. Those before it keep variance, too.
= variances(points)[k] / variances(points).sum()
    that is a single component, and the one after the k-th: counting starts at 0.
= variances(points)[0] / variances(points).sum()
    that is the share of the first component alone, whatever k is.
= variances(points)[:2].sum() / variances(points).sum()
    you always take two components. k says how many.
= variances(points)[: k + 1].sum() / variances(points).sum()
    you take k + 1 components: [:k] already holds the first k.
= variances(points)[: k - 1].sum() / variances(points).sum()
    you take k - 1 components: [:k] holds the first k, for counting starts at 0.
= 1 - variances(points)[:k].sum() / variances(points).sum()
    that is the share that is lost. Return the share that is kept.
ascending = torch.linalg.eigvalsh(torch.cov(points.T))
return ascending[:k].sum() / ascending.sum()
    you take the k smallest components. torch.linalg.eigvalsh sorts from small to large: the first are the last.
= variances(points)[:k].sum() / (len(points) - 1)
    that is a variance in units of the points. Divide by the variance of all components: a share.
= variances(points)[:k].sum()
    that is a sum of squares. Divide by the sum over all components: a share.
= variances(points)[:k].sum() / variances(points)[k:].sum()
    you divide the first k by the others. A share is a part of the whole, the first k included.
= variances(points)[:k].sum() / variances(points)[0]
    you divide by the largest component. A share is a part of the sum over all components.
= variances(points)[:k] / variances(points).sum()
    you give the share of each of the k components. Return what they keep together: their sum.
= variances(points)[:k].mean() / variances(points).sum()
    you take the mean of the first k shares. What they keep together is their sum.
= variances(points)[:k].mean() / variances(points).mean()
    you compare two means. A share compares two sums: the first k components, and all of them.
= variances(points).cumsum(0) / variances(points).sum()
    you give the running shares of all components. Return a single number, the k-th of them.
= 100 * variances(points)[:k].sum() / variances(points).sum()
    that is in percent. Return a share from 0 to 1.
squares = torch.linalg.svdvals(points - points.mean(1, keepdim=True)) ** 2
return squares[:k].sum() / squares.sum()
    you subtract each point's own mean over its columns. The centre of the cloud is the mean of the rows: axis 0.
squares = torch.linalg.svdvals(points - points.mean()) ** 2
return squares[:k].sum() / squares.sum()
    you subtract one number, the mean of all entries. Every column has a mean of its own.
= points.var(0)[:k].sum() / points.var(0).sum()
    you keep the first k columns. Principal components are directions of their own, across the columns.
= points.var(0).sort(descending=True).values[:k].sum() / points.var(0).sum()
    you keep the k columns of most variance. Principal components may run across the columns.
= variances(points / points.std(0))[:k].sum() / variances(points / points.std(0)).sum()
    you divide every column by its spread first. That changes the cloud, and its components with it.
= k / points.shape[1]
    that is the share of the components, k of d. They do not all keep the same variance.
""")


variance_kept.right("""
eigenvalues = torch.linalg.eigvalsh(torch.cov(points.T))
return eigenvalues[-k:].sum() / eigenvalues.sum()

centred = points - points.mean(dim=0, keepdim=True)
_, s, _ = torch.linalg.svd(centred, full_matrices=False)
return (s[:k] ** 2).sum() / (centred**2).sum()

centred = points - points.mean(0)
components = torch.linalg.svd(centred).Vh[:k]
return (centred @ components.T).var(0).sum() / centred.var(0).sum()

_, s, _ = torch.pca_lowrank(points, q=min(points.shape))
return s[:k].pow(2).sum() / s.pow(2).sum()
""")


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


nearest.mistakes("""
= (matrix @ query).topk(k).indices
    you rank by dot product, so long rows win. Divide each product by the magnitude of its row.
= cosines(query, matrix).topk(k, largest=False).indices
    you rank from small to large: those are the k rows that are least alike.
= cosines(query, matrix).topk(k).indices.flip(0)
    the right rows in the wrong order: the best comes first. argsort sorts upwards: descending=True.
= cosines(query, matrix).topk(k).indices.sort().values
    the right rows, but sorted by position. Return the best first.
= (matrix - query).norm(dim=1).topk(k, largest=False).indices
    you rank by distance. A long row may point the same way and still lie far off: compare angles.
= (matrix - query).norm(dim=1).topk(k).indices
    you rank by distance, and the largest first: those are the rows farthest off.
= cosines(query, matrix).abs().topk(k).indices
    you drop the signs of the cosines: a row that points the opposite way is as unlike as can be.
= cosines(query, matrix).topk(k).values
    you return the cosines. Return where they stand: topk gives .values and .indices.
= tuple(cosines(query, matrix).topk(k))
    you return both what topk gives, values and indices. Return the indices only.
= matrix[cosines(query, matrix).topk(k).indices]
    you return the rows themselves. Return their positions in the matrix.
= cosines(query, matrix).argmax()
    that is the best row only, as a single number. Return k positions.
= cosines(query, matrix).argsort(descending=True)
    you return all n positions in order. Return the first k of them.
= cosines(query, matrix).argsort(descending=True)[: k + 1]
    you return k + 1 positions: [:k] already holds the first k.
= cosines(query, matrix).argsort(descending=True)[: k - 1]
    you return k - 1 positions: [:k] holds the first k, for counting starts at 0.
= cosines(query, matrix).argsort(descending=True)[1 : k + 1]
    you leave the best row out. The query need not be a row of the matrix: nothing is to be skipped.
= (matrix / matrix.norm(dim=0) @ query).topk(k).indices
    you divide by the magnitudes of the columns. Each row is a vector: its magnitude runs along dim=1.
= (matrix @ query / (matrix**2).sum(1)).topk(k).indices
    you divide twice by the magnitude of the row, so short rows win.
= (matrix @ query * matrix.norm(dim=1)).topk(k).indices
    you multiply by the magnitudes instead of dividing by them, so long rows win. Are brackets missing?
= matrix.norm(dim=1).topk(k).indices
    you take the longest rows: the query has no say in it.
= torch.arange(k)
    you take the first k rows: nothing is ranked.
""")


nearest.right("""
cosines = [float(torch.cosine_similarity(query, row, dim=0)) for row in matrix]
return torch.tensor(sorted(range(len(cosines)), key=cosines.__getitem__, reverse=True)[:k])

torch.cosine_similarity(matrix, query[None]).argsort(descending=True)[:k]

torch.topk(F.normalize(matrix, dim=1) @ query, k)[1]

products = torch.einsum("nd,d->n", matrix, query) / torch.einsum("nd,nd->n", matrix, matrix).sqrt()
return products.sort(descending=True).indices[:k].to(torch.int32)
""")


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


analogy_target.mistakes("""
= a - b + c
    you go the step backwards, from b to a: 2 is to 5 as 10 is to 13, not to 7.
= a + b + c
    you add all three. What a and b have in common must go: a is subtracted.
= (a + b + c) / 3
    you take the mean of the three. A step is a difference: what a and b have in common must go.
= a - b
    that is the step from b to a, and nothing starts at c. Go from c the step from a to b.
= a - b - c
    you subtract b and c. Of the three only a is subtracted: the step from a to b starts at c.
= b - a
    that is the step from a to b. It still has to start somewhere: at c.
= c - a
    that is the step from a to c. Return where the step from a to b leads from c.
= a + b - c
    you subtract c. That is the word to start from; a is what goes.
= b - a - c
    you subtract a and c. The step from a to b is added to c.
= b + c
    you add b to c and never subtract a: what a and b have in common is counted twice.
= (b - a + c) / 3
    you divide by 3. A step is not a mean: 2 is to 5 as 10 is to 13.
= (b - a + c) / (b - a + c).norm()
    the direction is right, but you shorten the result to length 1. Here the sum is taken as it is.
= b / b.norm() - a / a.norm() + c / c.norm()
    you shorten all three to length 1 first. Here the vectors are taken as they are.
= b / a * c
    you take proportions, b / a * c. Word vectors are compared by differences.
= c
    you return c unchanged: the step from a to b still has to be added.
""")


analogy_target.right("""
c + b - a

torch.stack([z + (y - x) for x, y, z in zip(a, b, c)])

torch.add(c, torch.sub(b, a))
""")
