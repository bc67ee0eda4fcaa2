"""Widgets, a file a theme: each holds what is computed, how it is drawn, and the controls around it.

A notebook calls `widgets.two_arrows()` and the like."""

from .attention import (
    attention_shapes,
    einsum_loops,
    sentence_attention,
    weight_and_share,
)
from .beyond import motifs, patch_sizes, patches
from .chat import chat
from .choosing import beam_tree, next_word
from .crossing import crossing
from .encoder import head_browser, position_waves
from .flow import attention_flow
from .gold_frames import gold_frames
from .graphs import graph
from .guess import guess
from .heads import head_split, heads_at_work
from .hiding import hiding
from .hull import hull
from .learning import learning
from .likeness import analogy, winning_key
from .looking_back import bridge
from .loose import loose_patches
from .masking import empty_row, paint_mask, which_to_ship
from .mixing import first_look, translator
from .normed import norm_circle
from .online_softmax import softmax_in_blocks
from .parts import block_parts
from .peeking import peeking
from .projections import kernel_smoothing, projections
from .published import contrast, published_heads, search
from .recurrence import fading, rewritten_note
from .remembering import gate, recall
from .rotary import rotary_hands
from .shelf import be_the_head, shelf, two_cuts
from .side_by_side import side_by_side
from .softmax import softmax_saturation, softmax_sharing
from .tracing import induction, patch_board
from .translation import bottleneck
from .traps import trap_bench, unknown_language
from .vectors import two_arrows, word_map
from .whole_transformer import whole_transformer
from .writing import filling_cache, sampling, three_cuts
