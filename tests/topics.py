"""Where a notebook is, and what of the syllabus it teaches. Tests name its topic, and never its number, which changes
when one comes before it."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIST = ROOT / "utils" / "exercises" / "tasks" / "topics.txt"
LISTED = [line.split(maxsplit=1) for line in LIST.read_text().splitlines()[1:]]


def notebook(topic):
    """The file of the notebook on a topic."""
    (path,) = (ROOT / "notebooks").glob(f"[0-9][0-9]_{topic}.ipynb")
    return path


def named(topic):
    """The stem of that file."""
    return notebook(topic).stem


def spelled_out(ids):
    """The ids that a list with ranges names: "A1-A3 X9" gives A1, A2, A3 and X9."""
    found = re.findall(r"([A-Z])(\d+)(?:-[A-Z](\d+))?", ids)
    return {f"{letter}{n}" for letter, low, high in found for n in range(int(low), int(high or low) + 1)}


SYLLABUS = {named(topic): spelled_out(ids) for topic, ids in LISTED}
WHOLE = spelled_out("A1-A8 B1-B13 C1-C9 D1-D19 E1-E6 X1-X10 Q1-Q10")  # all that the course has to teach
TRAINS = {named(topic) for topic, ids in LISTED if ids.endswith(" trains")}

# Words, and lines of code, folded code included, of each notebook of version 0.2.0. An edition takes a tenth away.
BEFORE = {
    "start_here": (1597, 51),
    "dot_product_similarity": (2175, 224),
    "single_token_attention": (2354, 211),
    "self_attention": (2316, 247),
    "multi_head_attention": (2772, 281),
    "masking": (2874, 306),
    "recurrent_networks": (2831, 283),
    "rnn_with_attention": (2358, 217),
    "transformer_encoder_block": (2535, 333),
    "encoder_at_work": (2587, 369),
    "decoder": (2881, 305),
    "writing": (2878, 320),
    "beyond_text": (2903, 272),
    "published_encoder": (2263, 305),
}
