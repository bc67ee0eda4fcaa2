"""The exercises themselves: of each notebook a module, named by its topic, and the rows of its known mistakes.

Importing this package adds them all to the catalogue, in the order of the course."""

from importlib import import_module
from pathlib import Path

LIST = Path(__file__).with_name("topics.txt")
# The topics in the order of the course. A notebook's file has its place before its topic.
TOPICS = tuple(line.split()[0] for line in LIST.read_text(encoding="utf-8").splitlines()[1:])
FURTHER = {  # a second module of a topic
    "rnn_with_attention": "rnn_with_attention_scores",
    "decoder": "decoder_writing",
    "beyond_text": "beyond_text_sequences",
}

TOPIC_OF = {}  # {name of a module: its topic}
for topic in TOPICS:
    for module in filter(None, (topic, FURTHER.get(topic))):
        TOPIC_OF[import_module(f".{module}", __name__).__name__] = topic
