"""Exercises of the notebook beyond text, sections 1 and 3: images cut into patches, put together again, embedded, and
hidden."""

import math

import torch

from ..engine import exercise

# ---- patchify


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


@exercise(
    draws=draw_images,
    hints=[
        "Number the pixels of an image of 4 x 6 from 0 to 23, row by row. Which four numbers belong to its first patch "
        "of 2 x 2, and which to its second?",
        "Each of the axes H and W becomes two: which patch, and which pixel in it. That is (b, H/size, size, W/size, "
        "size), a reshape that moves no number.",
        "Both axes that count patches belong in front, rows before columns, both that count pixels behind: permute "
        "moves axes. Only then does a reshape join them two by two.",
    ],
    names={
        "(b, n, size, size): is each patch one row of numbers?": lambda images, size: images.new_zeros(
            len(images), images.shape[1] * images.shape[2] // size**2, size, size
        ),
        "(b, H/size, W/size, size²): the patches still lie in rows and columns, and n is one axis": (
            lambda images, size: images.new_zeros(
                len(images), images.shape[1] // size, images.shape[2] // size, size**2
            )
        ),
        "(b, H/size, W/size, size, size): are the axes still to be joined two by two?": (
            lambda images, size: images.new_zeros(
                len(images), images.shape[1] // size, images.shape[2] // size, size, size
            )
        ),
        "(n, b, size²): patches first. stack takes the axis to stack along: dim=1": lambda images, size: (
            images.new_zeros(images.shape[1] * images.shape[2] // size**2, len(images), size**2)
        ),
        "the patches of one image: where are the other images?": lambda images, size: images.new_zeros(
            images.shape[1] * images.shape[2] // size**2, size**2
        ),
        "all patches of an image in one row, as cat puts them. stack gives them an axis of their own": (
            lambda images, size: images.flatten(1)
        ),
        "one patch of each image: does each round of the loop overwrite the one before?": lambda images, size: (
            images.new_zeros(len(images), size**2)
        ),
        "(b, H/size, W/size), one number a patch: a patch is all of its size² pixels": lambda images, size: (
            images.new_zeros(len(images), images.shape[1] // size, images.shape[2] // size)
        ),
        "(b, H/size, W · size): all patches of a row of patches have become one": lambda images, size: images.new_zeros(
            len(images), images.shape[1] // size, images.shape[2] * size
        ),
        "(n, b, size, size): patches first, and each still a square. flatten(1) makes a row of it, dim=1 stacks": (
            lambda images, size: images.new_zeros(images.shape[1] * images.shape[2] // size**2, len(images), size, size)
        ),
    },
    question={
        "unfold": "F.unfold takes images (b, 1, H, W), the 1 for the colours, and a stride; a tensor's own unfold takes "
        "one axis, the length of a window, and the step to the next.",
        r"stack|cat\(": "Each patch is (b, size, size): flatten(1) makes (b, size²) of it, and n of these are stacked.",
        "": "images is (b, H, W), a patch size by size: into which axes does this line cut the H · W pixels?",
    },
    level=2,
    minutes=10,
)
def patchify(images, size):
    """Cut images (b, H, W) into squares of size by size pixels: returns (b, n, size²).

    The n patches come row by row, from the top left, and so do the pixels within each. H and W
    are multiples of size.
    """
    b, height, width = images.shape
    cut = images.reshape(b, height // size, size, width // size, size)  # (b, rows, size, columns, size)
    patches = cut.permute(0, 1, 3, 2, 4)  # (b, rows, columns, size, size)
    return patches.reshape(b, -1, size * size)


# ---- unpatchify


def draw_patches(generator):
    """Wide, high and square images, one image; patches of 1 to 4 pixels; n = size²; one patch alone; one column of
    patches; float64."""
    for b, height, width, size, dtype in (
        (3, 6, 10, 2, None),
        (3, 8, 6, 2, None),
        (1, 6, 12, 3, None),
        (4, 4, 4, 2, None),
        (2, 8, 8, 2, None),
        (2, 12, 20, 4, None),
        (3, 9, 3, 3, None),
        (2, 2, 3, 1, None),
        (2, 3, 3, 3, None),
        (2, 8, 12, 4, torch.float64),
    ):
        n = height * width // size**2
        yield torch.randn(b, n, size**2, generator=generator, dtype=dtype), height, width


@exercise(
    draws=draw_patches,
    hints=[
        "The first row of pixels of the image: from which patches does it take its numbers, and which of theirs?",
        "How long a patch's side is, its number of pixels says. With that, one reshape gives every axis a name: (b, "
        "H/size, W/size, size, size).",
        "Going down the image, one passes the pixels of a patch before the next row of patches: these two axes belong "
        "side by side, and so do the two that go across. Then they can be joined.",
    ],
    names={
        "one row of numbers for each image: where are its rows of pixels?": lambda patches, height, width: (
            patches.flatten(1)
        ),
        "(b, H/size, W/size, size, size): are the axes still to be joined two by two?": (
            lambda patches, height, width: patches.new_zeros(
                len(patches),
                height // math.isqrt(patches.shape[-1]),
                width // math.isqrt(patches.shape[-1]),
                math.isqrt(patches.shape[-1]),
                math.isqrt(patches.shape[-1]),
            )
        ),
        "(b, H/size, size, W/size, size): the axes stand in order, and are still to be joined two by two": (
            lambda patches, height, width: patches.new_zeros(
                len(patches),
                height // math.isqrt(patches.shape[-1]),
                math.isqrt(patches.shape[-1]),
                width // math.isqrt(patches.shape[-1]),
                math.isqrt(patches.shape[-1]),
            )
        ),
        "(b, 1, H, W): fold keeps an axis for colours, and [:, 0] takes it away": lambda patches, height, width: (
            patches.new_zeros(len(patches), 1, height, width)
        ),
        "a single image: where are the others of the batch?": lambda patches, height, width: patches.new_zeros(
            height, width
        ),
    },
    question={
        "fold": "fold takes patches as columns, (b, size², n), the size of the image, that of a patch, and a stride.",
        r"sqrt|\*\* ?0?\.5": "A size is a whole number, and a root gives a float: int(…) or round(…) makes one of it.",
        "": "patches is (b, n, size²), with H/size rows of patches and W/size in a row: which axes does this line make?",
    },
    level=2,
    minutes=8,
)
def unpatchify(patches, height, width):
    """Put patches (b, n, size²) together again: returns images (b, height, width).

    The opposite of patchify: patches come row by row, and so do the pixels within each. height and
    width are multiples of size, which is the root of the length of a patch.
    """
    size = math.isqrt(patches.shape[-1])
    squares = patches.reshape(-1, height // size, width // size, size, size)  # (b, rows, columns, size, size)
    return squares.permute(0, 1, 3, 2, 4).reshape(-1, height, width)


# ---- embed_patches


def draw_kernels(generator):
    """Wide, high and square images, one image; d ≠ n, d = n, d = size² and d = 1; one patch alone; float64."""
    for shape, d, size, dtype in (
        ((3, 6, 10), 5, 2, None),
        ((3, 6, 4), 4, 2, None),
        ((1, 6, 12), 8, 3, None),
        ((2, 4, 4), 4, 2, None),
        ((2, 8, 8), 7, 4, None),
        ((2, 4, 8), 1, 2, None),
        ((3, 3, 3), 2, 3, None),
        ((2, 6, 6), 3, 2, torch.float64),
    ):
        images = torch.randn(shape, generator=generator, dtype=dtype)
        kernel = torch.randn(d, size, size, generator=generator, dtype=dtype)
        yield images, kernel, torch.randn(d, generator=generator, dtype=dtype)


@exercise(
    draws=draw_kernels,
    hints=[
        "A linear layer on patches (b, n, size²) needs a matrix with size² rows. What has size² numbers here, and how "
        "many of these are there?",
        "Flatten the two axes of pixels, in the patches and in the kernel, in the same order: each filter of the "
        "kernel becomes a row of size² numbers, and a row is to stand upright.",
        "As a convolution: a window that moves by a whole patch, stride=size. F.conv2d takes images and kernel with "
        "an axis of colours, [:, None], and gives (b, d, rows, columns): join the last two, then exchange axes.",
    ],
    names={
        "(b, d, H/size, W/size), as a convolution gives it: one axis for the patches, and d comes last": (
            lambda images, kernel, bias: images.new_zeros(
                len(images), len(kernel), images.shape[1] // kernel.shape[1], images.shape[2] // kernel.shape[1]
            )
        ),
        "(b, H/size, W/size, d): the patches still lie in rows and columns": lambda images, kernel, bias: (
            images.new_zeros(
                len(images), images.shape[1] // kernel.shape[1], images.shape[2] // kernel.shape[1], len(kernel)
            )
        ),
        "(b, d, H - size + 1, W - size + 1): the window moves by one pixel. What is the stride?": (
            lambda images, kernel, bias: images.new_zeros(
                len(images),
                len(kernel),
                images.shape[1] - kernel.shape[1] + 1,
                images.shape[2] - kernel.shape[1] + 1,
            )
        ),
        "patches (b, n, size²): does the kernel still come?": lambda images, kernel, bias: images.new_zeros(
            len(images), images[0].numel() // kernel[0].numel(), kernel[0].numel()
        ),
        "the products of pixels and kernel: are they to be added up?": lambda images, kernel, bias: images.new_zeros(
            len(images), images[0].numel() // kernel[0].numel(), *kernel.shape
        ),
        "one vector an image: each patch keeps its own": lambda images, kernel, bias: images.new_zeros(
            len(images), len(kernel)
        ),
    },
    question={
        r"conv2d|Conv2d": "F.conv2d takes images (b, 1, H, W) and a kernel (d, 1, size, size), the 1 for the colours: "
        "[:, None] makes that axis.",
        r"linear\(": "F.linear takes a matrix (d, size²), each filter flattened, and transposes it by itself.",
        "@|matmul|einsum": "Patches are (b, n, size²), the flattened kernel (d, size²): which axes meet, and is one of "
        "the two to be transposed?",
        "": "images is (b, H, W), kernel (d, size, size), bias (d,), a patch size by size: which axes meet in this line?",
    },
    level=2,
    minutes=10,
    trained=True,
)
def embed_patches(images, kernel, bias):
    """Each patch of images (b, H, W) as a vector of d numbers: returns (b, n, d), patches row by row.

    Number j is the sum of the patch's pixels times those of kernel[j], plus bias[j]. kernel is
    (d, size, size), bias (d,); H and W are multiples of size. A convolution with stride size.
    """
    size = kernel.shape[-1]
    windows = images.unfold(1, size, size).unfold(2, size, size)  # (b, rows, columns, size, size)
    patches = windows.flatten(3).flatten(1, 2)  # (b, n, size²)
    return patches @ kernel.flatten(1).T + bias


# ---- hidden_patch_loss


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


@exercise(
    draws=draw_hidden_patches,
    hints=[
        "A model that copies what it sees restores ten of 16 patches without any effort. Should these count?",
        "First the squared distance of every pixel, (b, n, p). hidden is (b, n): as an index in square brackets it "
        "picks whole patches.",
        "What hidden picks is (number of hidden patches, p). The mean of all these numbers is what is asked for.",
    ],
    names={
        "one number a pixel of the patch: is the mean over those still to come?": lambda prediction, patches, hidden: (
            patches[0, 0]
        ),
        "one number a patch: which of them are hidden, and what is their mean?": lambda prediction, patches, hidden: (
            patches[..., 0]
        ),
        "one number a hidden patch: is their mean still to come?": lambda prediction, patches, hidden: patches[hidden][
            :, 0
        ],
        "one number an image: the mean goes over the hidden patches of all images": (
            lambda prediction, patches, hidden: patches[:, 0, 0]
        ),
        "a number for every pixel: is the mean over the hidden patches still to come?": (
            lambda prediction, patches, hidden: patches
        ),
    },
    question={
        r"\* ?hidden|hidden ?\*|where": "hidden is (b, n), the distances are (b, n, p): hidden[..., None] lets them meet.",
        "": "prediction and patches are (b, n, p), hidden (b, n): has what meets in this line the same patches?",
    },
    level=1,
    minutes=6,
    trained=True,
)
def hidden_patch_loss(prediction, patches, hidden):
    """Mean squared error over the hidden patches alone: returns one number.

    prediction and patches are (b, n, p), with p pixels a patch; hidden (b, n) is True where a patch
    was hidden from the model. The mean runs over all pixels of all hidden patches alike.
    """
    squares = (prediction - patches) ** 2  # (b, n, p)
    return squares[hidden].mean()
