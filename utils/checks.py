"""Guards: sizes, kinds, shapes and ids are looked at before they are used, and what does not fit is a clear ValueError.

A layer calls its guard once, in the first line of `forward`; below it is mathematics. Axis letters as in
`attention.py`."""

import json
import math
import numbers
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

MAKE_ONE = "padding_mask(tokens) makes it, boolean (b, 1, 1, k)"


def can_be_read(x: Tensor) -> bool:
    """Can the numbers of x be read? Not on the device `meta`, which keeps shapes alone, nor while torch.compile or
    torch.export trace: there, guards look at shapes only."""
    return not (x.is_meta or torch.compiler.is_compiling())


def require_whole(least: float = 1, **given: Any) -> None:
    """ValueError, with their names, unless all numbers are whole, none of them True or False, and at least `least`."""
    named = " and ".join(f"{name} {number!r}" for name, number in given.items())
    if any(isinstance(number, bool) or not isinstance(number, numbers.Integral) for number in given.values()):
        raise ValueError(f"{named} must be whole numbers")
    if min(given.values()) < least:
        raise ValueError(f"{named} must be at least {least}")


def require_above_0(**given: float) -> None:
    """ValueError, with its name, unless each number is above 0; NaN is not."""
    for name, number in given.items():
        if not number > 0:
            raise ValueError(f"{name} {number} must be above 0")


def require_shares(**given: int) -> None:
    """ValueError, with their names, unless both numbers are sizes and the first is a multiple of the second."""
    require_whole(**given)
    (whole, size), (parts, number) = given.items()
    if size % number:
        raise ValueError(f"{whole} = {size} cannot be shared by {parts} = {number}")


def require_choice(name: str | None, choices: Collection[str | None], what: str) -> str | None:
    """`name`, or a ValueError that lists the choices."""
    if name not in choices:
        raise ValueError(f"{what} {name!r} is unknown; there are {', '.join(map(str, choices))}")
    return name


def require_list(**given: Any) -> None:
    """ValueError, with its name, where one text is given instead of a list: each letter would be taken for a text."""
    for name, texts in given.items():
        if isinstance(texts, str):
            one = json.dumps(texts if len(texts) <= 40 else f"{texts[:40]}…", ensure_ascii=False)
            raise ValueError(f"{name} must be a list of texts, not one: write [{one}], or {one}.split() for its words")


def require_text(text: Any) -> None:
    """ValueError unless it is a string that UTF-8 can hold: without half of a surrogate pair, such as "\\ud83d"."""
    if not isinstance(text, str):
        raise ValueError(f"a text must be a string, not {text!r} of the type {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise ValueError(
            f"character {problem.start} of the text, {text[problem.start]!a}, is half of a surrogate pair, which is no "
            "character; text.encode(errors='replace').decode() puts ? in its place"
        ) from None


def require_tensors(**given: Any) -> None:
    """ValueError unless everything, called by its name, is a tensor."""
    for name, x in given.items():
        if not isinstance(x, Tensor):
            kind = "None" if x is None else f"of the type {type(x).__name__}"
            raise ValueError(f"{name} is {kind}; it must be a tensor: torch.as_tensor makes one of numbers")


def require_boolean(mask: Tensor) -> None:
    """ValueError unless the mask is a boolean tensor."""
    require_tensors(mask=mask)
    if mask.dtype != torch.bool:
        raise ValueError(
            f"the mask has dtype {mask.dtype}; it must be boolean, True = may attend: mask.bool() converts"
        )


def require_vectors(name: str, x: Tensor, weight: Tensor) -> None:
    """ValueError unless x is a tensor (…, positions, d) that goes with a weight (·, d), in shape and in dtype."""
    require_tensors(**{name: x})
    if x.ndim < 2 or x.shape[-1] != weight.shape[-1]:
        raise ValueError(f"{name} {tuple(x.shape)} must be (…, positions, {weight.shape[-1]})")
    if x.dtype != weight.dtype:
        raise ValueError(f"{name} holds {x.dtype}, the weights {weight.dtype}: {name}.to({weight.dtype}) converts")


def require_rotatable(x: Tensor, places: Tensor | None, base: float) -> None:
    """ValueError unless x (…, n, e) holds floats, with an even e, places broadcast to (…, n), and base is above 0."""
    require_tensors(x=x)
    if x.ndim < 2 or not x.is_floating_point():
        raise ValueError(f"x {tuple(x.shape)} of {x.dtype} must be (…, n, e) and hold floats")
    require_shares(e=x.shape[-1], entries_of_a_pair=2)
    require_above_0(base=base)
    if places is not None:
        require_tensors(places=places)
        if places.ndim >= x.ndim or any(p not in (1, n) for p, n in zip(places.shape[::-1], x.shape[-2::-1])):
            raise ValueError(f"places {tuple(places.shape)} do not broadcast to {tuple(x.shape[:-1])}, as x has them")


def require_last_axes(sizes: Iterable[int], **given: Tensor) -> None:
    """ValueError, with their names, unless each is a tensor whose last axis has its size of `sizes`."""
    require_tensors(**given)
    sizes = tuple(sizes)
    if any(x.shape[-1:] != (size,) for x, size in zip(given.values(), sizes)):
        shapes = " and ".join(f"{name} {tuple(x.shape)}" for name, x in given.items())
        raise ValueError(f"{shapes} must end in {' and '.join(map(str, sizes))}")


def require_room(x: Tensor, table: Tensor) -> None:
    """ValueError unless x (…, n, d) finds a row of the table (max_len, d) for each of its positions."""
    require_tensors(x=x)
    max_len, d_model = table.shape
    if x.ndim < 2 or x.shape[-1] != d_model or x.shape[-2] > max_len:
        fits = f"(…, n, {d_model}) with n at most max_len = {max_len}"
        raise ValueError(f"x {tuple(x.shape)} must be {fits}: cut the input, or build with a larger max_len")


def require_tokens(tokens: Tensor, embedding: nn.Embedding, mask: Tensor | None = None) -> None:
    """ValueError unless tokens are ids (b, n), at least one, of words in the embedding, and a mask is that of their
    padding, (b, 1, 1, n)."""
    require_tensors(tokens=tokens)
    if tokens.ndim != 2 or not tokens.numel():
        raise ValueError(f"token ids must be whole numbers (b, n), not {tuple(tokens.shape)} of {tokens.dtype}")
    require_ids(tokens, embedding.num_embeddings, "token ids")
    if mask is not None:
        require_padding(mask)
        if mask.shape != (len(tokens), 1, 1, tokens.shape[1]):
            raise ValueError(f"the mask {tuple(mask.shape)} is not that of tokens {tuple(tokens.shape)}: {MAKE_ONE}")


def require_padding(mask: Tensor) -> None:
    """ValueError unless the mask is one of padding, (b, 1, 1, k): words at the beginning of each sentence, no holes."""
    require_tensors(mask=mask)
    if mask.dtype != torch.bool or mask.ndim != 4 or mask.shape[1:3] != (1, 1) or not mask.numel():
        raise ValueError(f"the mask {tuple(mask.shape)} of {mask.dtype} is not one of padding: {MAKE_ONE}")
    lengths = mask.sum(-1, keepdim=True)  # (b, 1, 1, 1)
    words = torch.arange(mask.shape[-1], device=mask.device) < lengths  # (b, 1, 1, k), if padding comes last
    if can_be_read(mask) and (lengths.min() < 1 or not torch.equal(mask, words)):
        raise ValueError("every sentence needs a word, and padding only after its words")


def require_ids(ids: Tensor, size: int, what: str) -> None:
    """ValueError unless ids, which `what` calls by their name, are int64 or int32, from 0 to size − 1.

    (A table that is indexed by uint8 or bool takes them for a mask.)"""
    if ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"{what} must be whole numbers, int64 or int32, not {tuple(ids.shape)} of {ids.dtype}: .long() converts"
        )
    if can_be_read(ids) and (ids.min() < 0 or ids.max() >= size):
        raise ValueError(f"{what} from {ids.min()} to {ids.max()} must lie between 0 and {size - 1}")


def require_continuation(tokens: Tensor, mask: Tensor | None, before: Tensor | None) -> Tensor:
    """The mask (b, 1, 1, n) of tokens (b, n), all True if not given; `before` (b, 1, 1, k) is that of the tokens before
    them, if there were any.

    ValueError unless the mask is boolean and fits the tokens, and there were as many sentences before."""
    require_tensors(tokens=tokens)
    if tokens.ndim != 2:
        raise ValueError(f"token ids must be whole numbers (b, n), not {tuple(tokens.shape)} of {tokens.dtype}")
    if mask is None:
        mask = tokens.new_ones(len(tokens), 1, 1, tokens.shape[1], dtype=torch.bool)
    require_boolean(mask)
    if mask.shape != (len(tokens), 1, 1, tokens.shape[1]):
        raise ValueError(f"the mask {tuple(mask.shape)} is not that of tokens {tuple(tokens.shape)}: {MAKE_ONE}")
    if before is not None and len(before) != len(tokens):
        raise ValueError(f"the state is that of {len(before)} sentences; the tokens are {tuple(tokens.shape)}")
    return mask


def require_logits(logits: Tensor) -> Tensor:
    """The logits, or a ValueError where they are NaN or ∞, so that none is the largest (−∞ is a token ruled out)."""
    if can_be_read(logits) and not (logits < math.inf).all():
        raise ValueError("some logits are NaN or infinite, so no token is the most probable: are the weights numbers?")
    return logits


def require_fitting_memory(tokens: Tensor, memory: NamedTuple, embedding: nn.Embedding, d: int) -> None:
    """ValueError unless target tokens (b, q) are ids, and the memory's parts fit them, each other and the size d."""
    require_tokens(tokens, embedding)
    require_tensors(**memory._asdict())
    b, k, d_states = memory.states.shape
    fits = memory.context.shape == (b, d_states) and memory.mask.shape == (b, 1, 1, k)
    if not fits or memory.mask.dtype != torch.bool or d_states != d or len(tokens) != b:
        shapes = ", ".join(f"{name} {tuple(part.shape)}" for name, part in memory._asdict().items())
        sizes = f"with b = {len(tokens)} as in the target tokens and d = {d} as in the decoder"
        wanted = f"(b, k, d), (b, d) and boolean (b, 1, 1, k), {sizes}"
        raise ValueError(f"{shapes} of {memory.mask.dtype} must be {wanted}")


def require_multi_head(layer: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    """ValueError unless the three can be projected by the layer's W_q, W_k and W_v, and go together with the mask."""
    for name, x, W in (("query", query, layer.W_q), ("key", key, layer.W_k), ("value", value, layer.W_v)):
        require_vectors(name, x, W.weight)
    require_fitting_shapes(query, key, value, mask, heads=(layer.num_heads,))


def require_fitting_shapes(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, heads: tuple[int, ...] = ()
) -> None:
    """ValueError, with the shapes, unless query (…, q, e), key (…, k, e), value (…, k, v) and mask go together.

    heads: the axis that each of them is still going to be split into, before its last two; e may differ till then."""
    require_tensors(query=query, key=key, value=value)
    trouble = misfit(query, key, value, heads)
    if mask is not None and trouble is None:
        require_boolean(mask)
        trouble = mask_misfit(mask, (*leading_axes(query, key, value), *heads, query.shape[-2], key.shape[-2]))
    if trouble is not None:
        shapes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
        raise ValueError(f"{shapes}: {trouble}")


def misfit(query: Tensor, key: Tensor, value: Tensor, heads: tuple[int, ...]) -> str | None:
    """Why query, key and value do not go together; None where they do."""
    if min(query.ndim, key.ndim, value.ndim) < 2:
        return "each needs at least two axes, (…, q, e), (…, k, e), (…, k, v)"
    if query.shape[-1] != key.shape[-1] and not heads:
        return f"query and key must have the same last axis e, but {query.shape[-1]} ≠ {key.shape[-1]}"
    if key.shape[-2] != value.shape[-2]:
        return f"each key needs one value, but there are {key.shape[-2]} keys, {value.shape[-2]} values"
    if not (query.dtype == key.dtype == value.dtype and query.is_floating_point()):
        return f"they hold {query.dtype}, {key.dtype} and {value.dtype}, but must hold floats of one kind"
    if leading_axes(query, key, value) is None:
        return "the axes before the last two do not broadcast"
    return None


def leading_axes(*given: Tensor) -> tuple[int, ...] | None:
    """The axes before the last two, which broadcast; None where they do not."""
    leading = [x.shape[:-2] for x in given]
    if leading.count(leading[0]) == len(leading):
        return tuple(leading[0])
    try:
        return tuple(torch.broadcast_shapes(*leading))
    except RuntimeError:
        return None


def mask_misfit(mask: Tensor, scores: tuple[int, ...]) -> str | None:
    """Why the mask does not broadcast to scores of the shape (…, q, k); None where it does.

    Two axes are (q, k), as in PyTorch. Where they cannot be, they may well be padding (b, k), a row a sentence."""
    if mask.ndim <= len(scores) and all(m in (1, s) for m, s in zip(mask.shape[::-1], scores[::-1])):
        return None
    trouble = f"the mask {tuple(mask.shape)} does not broadcast to the scores {scores}"
    if mask.ndim == 2 < len(scores) and mask.shape == (scores[0], scores[-1]):
        index = f"[:, {'None, ' * (len(scores) - 2)}:]"
        return f"{trouble}; if it is padding (b, k), one row a sentence, write mask{index}"
    return trouble
