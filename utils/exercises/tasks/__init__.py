"""The exercises themselves: of each notebook a module, named by its topic, and the rows of its known mistakes.

Importing this package adds them all to the catalogue, in the order of the course."""

from importlib import import_module
from pathlib import Path

from ... import attention, masks
from ...judge.context import configure
from ...settings import marked

NOUNS = (
    "angles context cosines distance heads keys labels losses norms normalised output pairs patches proposal queries "
    "query scores squares total totals value values variance variances wavelengths weights"
).split()
PARAMETERS = ("W", "U", "E", "b_", "gamma", "beta", "kernel")
configure({"attention": attention, "masks": masks}, (attention, masks), NOUNS, PARAMETERS, lambda: not marked())

LIST = Path(__file__).with_name("topics.txt")
# The topics in the order of the course. A notebook's file has its place before its topic.
LINES = [line.split() for line in LIST.read_text(encoding="utf-8").splitlines()[1:]]
TOPICS = tuple(topic for topic, *_ in LINES)
# {topic: the published model that its notebook opens, by its name in utils.model_files.MODELS}
OPENS = {topic: word[9:] for topic, *words in LINES for word in words if word.startswith("download:")}
TOPIC_OF = {import_module(f".{topic}", __name__).__name__: topic for topic in TOPICS}  # {name of a module: its topic}
