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
    a = torch.tensor([3.0, 0.0, -4.0, 0.0])
    yield a, -2 * a  # opposite directions, and no rounding: the cosine is -1 to the last digit


SUMS = """
{old} -> {terms}
    you stop at one term for each entry. These d terms still have to be added up.
{old} -> {terms}.mean()
    you take the mean of the terms, one for each entry. Their sum is what counts, d times as large.
{old} -> {terms}[1:].sum()
    the first entry is left out: positions count from 0, so a loop over the entries starts there.
{old} -> {terms}[:-1].sum()
    the last entry is left out: range(n) ends at n - 1 by itself, so range(len(a)) runs over all the entries.
{old} -> {terms}[-1]
    you keep the term of the last entry only: add it to those before it, instead of replacing them.
{old} -> {terms}.prod()
    you multiply the terms, one for each entry. They have to be added.
{old} -> {terms}.max()
    you take the largest of the terms, one for each entry. All of them have to be added up.
{old} -> {terms}[:2].sum()
    you add up two terms, but the number of entries varies: a loop over range(len(a)) takes all of them, and so does sum.
{old} -> {terms}[:3].sum()
    you add up three terms, but the number of entries varies: a loop over range(len(a)) takes all of them, and so does sum.
"""


@exercise(
    draws=draw_pairs,
    hints=[
        "What do you get for two vectors with a single entry each? And with two entries each?",
        "Multiply the vectors entry by entry. That gives d products: which operation makes one number of them?",
        "In words: the sum, over i, of a[i] times b[i]. torch has an operator for it, the one of matrix products.",
    ],
    names={"the products entry by entry: did you forget to add them up?": lambda a, b: a * b},
    question="Both vectors have d entries: which operation pairs a[i] with b[i]?",
    minutes=4,
)
def dot_product(a, b):
    """Dot product of two vectors (d,) and (d,): returns one number."""
    return (a * b).sum()


dot_product.mistakes("""
a * b -> a + b
    you add a and b entry by entry. In a dot product a[i] multiplies b[i]; the products are added.
= a.sum() * b.sum()
    you add up each vector first and multiply the sums: that pairs every entry with every other one.
.sum() -> .abs().sum()
    you drop the signs of the products. A product below zero is what says that two entries point opposite ways.
= torch.outer(a, b)
    that is every entry of a times every entry of b, d x d numbers: the outer product.
= torch.linalg.cross(a, b)
    that is the cross product, a vector at right angles to both, and in three dimensions only. The dot product is a number.
.sum() -> .sum() / (a.norm() * b.norm())
    that is the cosine: you divide by both magnitudes. The dot product keeps them.
.sum() -> .sum() / math.sqrt(len(a))
    you divide by √d. Attention will do so later; the dot product itself is the plain sum.
= a.norm() * b.norm()
    that is the product of the magnitudes. The angle has no say in it; the dot product is |a||b|cos θ.
= (a - b).norm()
    that is a distance: small when the vectors are alike. The dot product is large then.
""")

dot_product.right("""
sum(x * y for x, y in zip(a.tolist(), b.tolist()))

a @ b

torch.einsum("d,d->", a, b)

torch.dot(a, b)

(a * b).sum().item()
""")


def draw_single_vectors(generator):
    yield (torch.tensor([-3.0, 4.0]),)
    yield from draw_vectors(generator, 1)


@exercise(
    draws=draw_single_vectors,
    hints=[
        "How long is the arrow from (0, 0) to (3, 4)? Which theorem tells you?",
        "Pythagoras, with d squares instead of two: square, add up, and undo the square.",
        "The sum of squares is the dot product of a with itself. What is left to do with it?",
    ],
    names={"a: did you forget to add the squares up?": lambda a: a},
    minutes=4,
)
def magnitude(a):
    """Magnitude (Euclidean length) of a vector (d,): returns one number."""
    return (a**2).sum().sqrt()


magnitude.mistakes("""
.sqrt() ->
    the root is missing: |a|² grows fourfold when the arrow doubles.
.sqrt() -> ** (1 / 3)
    you take a cube root. Squares are undone by the square root.
.sqrt() -> * 0.5
    you halve at the end. A root is what undoes the squares: ** 0.5, not * 0.5.
a**2 -> a
    the entries are not squared. Positive and negative ones cancel, and where the sum is negative its root is NaN.
a**2 -> a * 2
    you double the entries. Squared means a * a, or a**2.
a**2 -> a.abs()
.sqrt() ->
    you add the absolute entries: that is the way along the axes, not the straight line (the L1 norm).
= a.sum().abs()
    you add up first and square afterwards, so positive and negative entries cancel. Square each first.
= a.abs().sqrt().sum()
    you take the roots of the entries. Square each one first; the root comes last, when they are added up.
= a @ a**0.5
    `**` binds more tightly than `@`: only the a on the right gets the root. Put brackets around a @ a.
.sqrt() -> .sqrt() / len(a)
    you divide the length by d. An arrow does not get shorter by having more entries.
= a / a.norm()
    you divide a by its magnitude: an arrow of length 1. Return the magnitude itself.
= len(a)
    you count the entries: len(a) is the dimension d, whatever the numbers are.
= math.sqrt(len(a))
    you count the entries, and take the root: √d, whatever the numbers are.
= a.std()
    that is the standard deviation: it subtracts the mean first, so (1, 1, 1) would have length 0.
""")

magnitude.right("""
torch.linalg.norm(a)

math.sqrt(sum(x**2 for x in a))

math.hypot(*a.tolist())

(a @ a) ** 0.5

torch.einsum("d,d->", a, a).sqrt()
""")


@exercise(
    draws=draw_pairs,
    hints=[
        "The dot product is |a||b|cos θ. What do you have to do to it to be left with cos θ?",
        "Twice as long a vector must give the same cosine. Which numbers have to be divided out, and how many of them?",
        "Dot product over the product of the two magnitudes. Mind the brackets: x / y * z is (x / y) * z.",
    ],
    names={"the products entry by entry: did you forget to add them up?": lambda a, b: a * b},
    question={
        r"cosine_similarity\(|normalize\(": "torch's function goes along axis 1 by itself; the only axis of a vector is 0: dim=0.",
        "": "Both vectors have d entries: which operation pairs a[i] with b[i]?",
    },
    minutes=5,
)
def cosine_similarity(a, b):
    """Cosine of the angle between two vectors (d,) and (d,): returns one number, from -1 to 1."""
    return a @ b / (a.norm() * b.norm())


cosine_similarity.mistakes("""
/ (a.norm() * b.norm()) ->
    that is the dot product. It grows with the lengths; the cosine knows the angle only.
a @ b / ->
    that is the product of the magnitudes, with nothing above the line: the dot product is missing.
* b.norm()) -> ) * b.norm()
    you divide by |a| and then multiply by |b|. Both belong below the line: put brackets around them.
/ (a -> * (a
    you multiply by the magnitudes instead of dividing by them.
* b -> + b
    you divide by the sum of the magnitudes. Their product is what the dot product contains.
(a.norm() * b.norm()) -> (a.norm() * b.norm()).sqrt()
    you divide by √(|a||b|): one root too many. The result still grows with the lengths.
a.norm() -> a.abs().sum()
b.norm() -> b.abs().sum()
    you divide by sums of absolute entries. The magnitude is the root of the sum of squares.
(a.norm() * b.norm()) -> (a * b).norm()
    you divide by the magnitude of the products a * b. Each vector has a magnitude of its own.
a @ b -> (a * b).norm()
    above the line stands the magnitude of the products a * b, which is never negative. The dot product is their sum.
a @ b -> (a @ b).abs()
    you drop the sign: vectors that point opposite ways have cosine -1, not 1.
= torch.cos(torch.atan2(b[1], b[0]) - torch.atan2(a[1], a[0]))
    you compare the directions of the first two entries. That is right in the plane, and nowhere else.
= torch.arccos(cosine_similarity(a, b))
    that is the angle in radians. Return its cosine: 1 for the same direction, not 0.
= torch.rad2deg(torch.arccos(cosine_similarity(a, b)))
    that is the angle in degrees. Return its cosine: 1 for the same direction, not 0.
= -cosine_similarity(a, b)
    the sign is the wrong way round: the same direction has cosine 1, not -1.
= torch.cos(a @ b)
    a dot product is no angle: it is |a||b|cos θ, with the cosine in it already.
= torch.cos(cosine_similarity(a, b))
    your quotient is the cosine already, and you take the cosine of it once more.
(a.norm() * b.norm()) -> max(a.norm(), b.norm())
    you divide by the larger of the two magnitudes. Both have to be divided out.
a @ b -> (a - b).norm()
    above the line stands the distance |a - b|, in place of the dot product.
= (1 + cosine_similarity(a, b)) / 2
    you squeeze the cosine into 0 to 1. Return it as it is, from -1 to 1.
= 1 - cosine_similarity(a, b)
    that is 1 minus the cosine, a distance: 0 for the same direction. Return the cosine, 1 for it.
= cosine_similarity(a - a.mean(), b - b.mean())
    you subtract the means first: that is the correlation. The cosine takes the entries as given.
= a @ b / (b @ b) * b
    that is the projection of a onto b, a vector. The cosine is a single number.
""")

for one, other in ("ab", "ba"):
    dot_product.mistakes(f"{other} -> {one}\n    you multiply {one} by itself: {other} has no say in it.")
    cosine_similarity.mistakes(f"""
(a.norm() * b.norm()) -> {one}.norm()
    you divide by |{one}| only: where {other} is twice as long, so is the result.
{one}.norm() -> {one}.norm() ** 2
    you divide by |{one}|², so the longer {one} is, the smaller is the result: a root is missing.
{other}.norm() -> {one}.norm()
    you divide by |{one}|² and leave |{other}| in. Each vector's magnitude goes once below the line.
""")

for found in (dot_product, magnitude):
    found.mistakes(SUMS.format(old=".sum()", terms=""))
cosine_similarity.mistakes(SUMS.format(old="a @ b", terms="(a * b)"))

cosine_similarity.right("""
torch.cosine_similarity(a, b, dim=0)

F.normalize(a, dim=0) @ F.normalize(b, dim=0)

sum(x * y for x, y in zip(a.tolist(), b.tolist())) / math.sqrt(sum(x * x for x in a.tolist()) * (b @ b))

(a.dot(b) / a.norm() / b.norm()).clamp(-1, 1)
""")


def draw_points(generator):
    """Clouds that are not centred, with columns of different spread; more columns than points once, float64 once."""
    for n, d, k in ((6, 4, 2), (20, 5, 3), (6, 3, 1), (5, 7, 3), (12, 4, 3)):
        dtype = torch.float64 if n == 12 else None
        spread = torch.linspace(3, 0.5, d, dtype=dtype)[torch.randperm(d, generator=generator)]
        points = spread * torch.randn(n, d, generator=generator, dtype=dtype)
        yield points + 2 * torch.randn(d, generator=generator, dtype=dtype), k


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
        "all the components: did you forget to add the first k up?": lambda points, k: torch.linalg.svdvals(points),
    },
    question="points (n, d) has one point a row: which axis holds the points?",
    level=2,
    minutes=10,
)
def variance_kept(points, k):
    """Share of the variance of points (n, d) in their first k principal components: returns one number, 0 to 1."""
    singular_values = torch.linalg.svdvals(points - points.mean(0))  # largest first
    variances = singular_values**2
    return variances[:k].sum() / variances.sum()


variance_kept.mistakes("""
- points.mean(0) ->
    the points are not centred: you measure from the origin, so the first component mostly points to the mean.
points.mean(0) -> points.mean()
    you subtract one number, the mean of all entries. Every column has a mean of its own.
points.mean(0) -> points.mean(1, keepdim=True)
    you subtract each point's own mean over its columns. The centre of the cloud is the mean over the points, axis 0 (torch.cov wants points.T).
points.mean(0) -> points.median(0).values
    you subtract medians. Variance is measured from the mean.
svdvals(points - points.mean(0)) -> svdvals((points - points.mean(0)) / points.std(0))
    you divide every column by its spread first. That changes the cloud, and its components with it.
**2 ->
    the singular values are not squared. They are spreads; a variance is a spread squared.
**2 -> **4
    you square twice: torch.linalg.eigvalsh of a covariance gives variances already.
variances.sum() -> singular_values.sum() ** 2
    below the line you add up first and square afterwards. Each singular value has to be squared by itself.
variances[:k].sum() -> singular_values[:k].sum() ** 2
    above the line you add up first and square afterwards. Each singular value has to be squared by itself.
[:k].sum() -> [k - 1]
    that is the k-th component alone. Those before it keep variance, too.
[:k].sum() -> [k]
    that is a single component, and the one after the k-th: counting starts at 0.
[:k].sum() -> [0]
    that is the first component alone, whatever k is.
[:k].sum() -> [:2].sum()
    you always take two components. k says how many.
variances = singular_values**2 -> variances = torch.ones_like(singular_values)
    you count components, k of them all. They do not all keep the same variance.
[:k].sum() -> [k:].sum()
    that is the share that is lost. Return the share that is kept.
[:k].sum() -> [-k:].sum()
    you take the k smallest components: torch.linalg.svdvals sorts from large to small, so the first stand in front.
ascending = torch.linalg.eigvalsh(torch.cov(points.T))
return ascending[:k].sum() / ascending.sum()
    you take the k smallest components. torch.linalg.eigvalsh sorts from small to large: the first are the last.
[:k].sum() -> [:k]
    you give one share for each of the k components. Return what they keep together: their sum.
[:k].sum() -> [:k].mean()
    you take the mean of the first k components. What they keep together is their sum.
[:k].sum() -> .cumsum(0)
    you give the running shares of all components. Return a single number, the k-th of them.
/ variances.sum() ->
    that is a sum of squares. Divide by the sum over all components: a share.
/ variances.sum() -> / (len(points) - 1)
    that is a variance in units of the points. Divide by the variance of all components: a share.
variances.sum() -> variances[k:].sum()
    you divide by the other components. A share is a part of the whole, the first k included.
variances.sum() -> variances[0]
    you divide by the largest component. A share is a part of the sum over all components.
variances.sum() -> variances.mean()
    you divide by the mean of all components. A share is a part of their sum.
= points.var(0)[:k].sum() / points.var(0).sum()
    you keep the first k columns. Principal components are directions of their own, across the columns.
= points.var(0).sort(descending=True).values[:k].sum() / points.var(0).sum()
    you keep the k columns of most variance. Principal components may run across the columns.
= k / points.shape[1]
    that is k of d columns, whatever the numbers are. Some directions keep more variance than others.
""")

variance_kept.right("""
eigenvalues = torch.linalg.eigvalsh(torch.cov(points.T))
return eigenvalues[-k:].sum() / eigenvalues.sum()

centred = points - points.mean(0)
components = torch.linalg.svd(centred).Vh[:k]
return (centred @ components.T).var(0).sum() / centred.var(0).sum()

_, s, _ = torch.pca_lowrank(points, q=min(points.shape))
return s[:k].pow(2).sum() / s.pow(2).sum()

__import__("sklearn.decomposition").decomposition.PCA(k).fit(points.numpy()).explained_variance_ratio_.sum()
""")


def draw_queries(generator):
    """Rows of very different lengths; the query is a row of the matrix twice, else none; float64 once."""
    for n, d, k, dtype in ((6, 3, 2, None), (30, 8, 5, None), (5, 5, 1, None), (12, 4, 3, torch.float64)):
        lengths = torch.logspace(-0.7, 0.7, n, dtype=dtype)[torch.randperm(n, generator=generator)]
        matrix = lengths[:, None] * torch.randn(n, d, generator=generator, dtype=dtype)
        matrix[-1] = 0
        matrix[-1, :2] = torch.tensor([3, 4])  # its cosine to itself is 1 to the last digit
        yield 0.7 * torch.randn(d, generator=generator, dtype=dtype), matrix, k
        if n > 10:
            yield matrix[-1].clone(), matrix, k


@exercise(
    draws=draw_queries,
    hints=[
        "How do you get the cosine of the query with all n rows at once, without a loop?",
        "matrix @ query gives n dot products. Each has to be divided by the magnitude of its own row: "
        "matrix.norm(dim=1). The magnitude of the query is the same for all: does it change the order?",
        "torch.topk(cosines, k) finds the k largest and also says where they stand, under .indices.",
    ],
    names={
        "the cosines of all rows: did you forget to pick the best k?": lambda query, matrix, k: matrix @ query,
        "the rows themselves: return their positions": lambda query, matrix, k: matrix[:k],
    },
    question={
        r"max\(": "max and argmax find a single best, and what stands in their brackets is an axis. topk finds the k best.",
        r"cosine_similarity\(|normalize\(": "Along which axis do the entries of a vector run: 0 or 1?",
        "": "matrix (n, d) has one vector a row: which axis has the length d of the query?",
    },
    level=2,
    minutes=8,
)
def nearest(query, matrix, k):
    """Positions of the k rows of matrix (n, d) with the largest cosine to query (d,), best first: returns (k,)."""
    cosines = matrix @ query / (matrix.norm(dim=1) * query.norm())  # (n,)
    return cosines.topk(k).indices


nearest.mistakes("""
/ (matrix.norm(dim=1) * query.norm()) ->
    you rank by dot product, so long rows win. Divide each product by the magnitude of its own row, matrix.norm(dim=1).
matrix @ query / (matrix.norm(dim=1) * query.norm()) -> -(matrix - query).norm(dim=1)
    you rank by distance. A long row may point the same way and still lie far off: compare angles.
matrix @ query / (matrix.norm(dim=1) * query.norm()) -> matrix.norm(dim=1)
    you take the longest rows: the query has no say in it.
= (matrix / matrix.norm(dim=0) @ query).topk(k).indices
    you divide by the magnitudes of the columns. Each row is a vector: its magnitude runs along dim=1.
= F.cosine_similarity(query, matrix, dim=0).topk(k).indices
    you compare along dim=0, down the columns. Each row is a vector, and its entries run along dim=1.
= (matrix * query).sum(0).topk(k).indices
    you add up over the rows, so one number a column remains. A row's products are added up along dim=1, or by @.
matrix.norm(dim=1) -> matrix.norm(dim=1).sqrt()
    you divide by the root of the magnitude: one root too many, so long rows still win.
matrix.norm(dim=1) -> matrix.norm(dim=1) ** 2
    you divide twice by the magnitude of the row, so short rows win.
matrix.norm(dim=1) -> matrix.abs().sum(1)
    you divide by the sum of the absolute entries. The magnitude of a row is the root of its sum of squares.
/ (matrix -> * (matrix
    you multiply by the magnitudes instead of dividing by them, so long rows win. Are brackets missing?
matrix.norm(dim=1) -> matrix.norm(dim=1, keepdim=True)
    magnitudes of shape (n, 1) make an (n, n) table of n dot products. Without keepdim=True the n magnitudes line up with them.
matrix @ query -> (matrix @ query).abs()
    you drop the signs of the cosines: a row that points the opposite way is as unlike as can be.
.topk(k) -> .topk(k, largest=False)
    you rank from small to large: those are the k rows that are least alike. The largest cosine comes first.
.indices -> .indices.flip(0)
    the order is turned round: the best comes first. argsort sorts upwards: descending=True.
.indices -> .indices.sort().values
    you sort by position. Return the best first.
.indices -> .values
    you return the cosines. Return where they stand: topk gives .values and .indices.
(matrix.norm(dim=1) * query.norm()) -> matrix.norm(dim=1)
.indices -> .values
    you return the largest quotients. Return where they stand: topk gives .values and .indices.
return cosines.topk(k).indices -> return matrix[cosines.topk(k).indices]
    you return the rows themselves. Return their positions in the matrix.
return cosines.topk(k).indices -> return cosines >= cosines.topk(k).values[-1]
    you mark the k best rows with True. Return where they stand, best first.
.topk(k).indices -> .argmax()
    you return the best row only, as a single number. Return k positions.
.topk(k) -> .topk(1)
    you return one position, whatever k is.
.topk(k).indices -> .argsort(descending=True)
    you return all n positions in order. Return the first k of them.
.topk(k).indices -> .topk(k + 1).indices[1:]
    you leave the best row out. The query need not be a row of the matrix: nothing is to be skipped.
return cosines -> return cosines.where(cosines < 0.999, -1)
    you leave out a row that equals the query. It counts like any other: the query's own row is the nearest there is.
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


@exercise(
    draws=lambda generator: draw_vectors(generator, 3),
    hints=[
        "Paris is to France as Rome is to … Which step leads from Paris to France? Where does it lead from Rome?",
        "The step from a to b is a difference. Which of the two is subtracted from the other?",
        "Start at c and go the step that leads from a to b. Try it with single numbers: 2 is to 5 as 10 is to 13.",
    ],
    minutes=4,
)
def analogy_target(a, b, c):
    """Where "a is to b as c is to ?" points, for word vectors (d,): returns (d,)."""
    return b - a + c


analogy_target.mistakes("""
b - a -> a - b
    you go the step backwards, from b to a: 2 is to 5 as 10 is to 13, not to 7.
- a -> + a
    you add a. What a and b have in common must go: a is subtracted.
- a ->
    a is never subtracted: what a and b have in common is still in.
+ c ->
    that is a step alone. It still has to start somewhere: at c.
+ c -> - c
    you subtract c. It is the word to start from: the step is added to it.
b - a + ->
    you return c unchanged: the step from a to b still has to be added.
b -> -b
    you subtract b. The step leads to b: only a is subtracted.
b ->
    b is left out: the step leads from a to b.
b - a -> (b - a).abs()
    you drop the signs of the step. It goes up in some entries, and down in others.
b - a -> (b - a) / (b - a).norm()
    you shorten the step to length 1. Go all the way from a to b.
= (a + b + c) / 3
    you take the mean of the three. A step is a difference: what a and b have in common must go.
= (b - a + c) / 3
    you divide by 3. A step is not a mean: 2 is to 5 as 10 is to 13.
= analogy_target(a, b, c) / analogy_target(a, b, c).norm()
    you shorten the result to length 1. Here the sum is taken as it is.
= b / b.norm() - a / a.norm() + c / c.norm()
    you shorten all three to length 1 first. Here the vectors are taken as they are.
= b / a * c
    you take proportions, b / a * c. Word vectors are compared by differences.
= (b - a) * c
    you multiply the step by c. A step is added to where it starts.
= (a @ b) * c
    you multiply c by the dot product of a and b, which makes it longer or shorter. A step is a difference, and is added.
= (b - a).norm() * c
    you multiply c by the length of the step. The step has a direction, too: it is added to c.
= torch.cat((b - a, c))
    you put the step and c behind each other, 2d numbers. They are added, entry by entry.
""")

for word in "abc":
    analogy_target.mistakes(f"{word} -> 2 * {word}\n    {word} counts twice. Each of the three words comes in once.")

analogy_target.right("""
c + b - a

torch.stack([z + (y - x) for x, y, z in zip(a, b, c)])

torch.add(c, torch.sub(b, a))

torch.tensor([-1.0, 1.0, 1.0], dtype=a.dtype) @ torch.stack([a, b, c])
""")
