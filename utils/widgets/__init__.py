"""Widgets, a file a theme: each holds what is computed, how it is drawn, and the controls around it.

A notebook calls `widgets.two_arrows()` and the like; `record` walks any of them through its states.
"""

from .attention import (
    attention_walk,
    einsum_loops,
    head_gallery,
    sentence_attention,
    softmax_saturation,
    softmax_temperature,
)
from .controls import record
from .encoder import block_stepper, head_browser, position_waves
from .masking import masked_influence, paint_mask
from .start import attention_shapes, shape_quiz
from .translation import bottleneck, decoding, sentence_builder
from .vectors import two_arrows, word_map

__all__ = [
    "attention_shapes",
    "attention_walk",
    "block_stepper",
    "bottleneck",
    "decoding",
    "einsum_loops",
    "head_browser",
    "head_gallery",
    "masked_influence",
    "paint_mask",
    "position_waves",
    "record",
    "sentence_attention",
    "sentence_builder",
    "shape_quiz",
    "softmax_saturation",
    "softmax_temperature",
    "two_arrows",
    "word_map",
]
