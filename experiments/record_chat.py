"""Record what `transformers` makes of the chat model's file, for the test of utils/chat.py.

    python -m experiments.record_chat path/to/folder/of/the/file > data/chat_reference.json    half a minute

Needs transformers 5.24 and gguf 0.19, which no part of the course needs. Recorded are, for the ids of two chats: the
five largest logits after each of the last eight ids, and the ids that are written greedily.

    python -m experiments.record_chat path/to/folder/of/the/file --numbers

prints the SHA-256 of all tensors, names and float32 numbers, as the package gguf reads them.
"""

import hashlib
import json
import sys
from pathlib import Path

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
CHATS = ("What is the capital of France?", "Write one sentence about the sea.")
WRITTEN, PLACES, LARGEST = 40, 8, 5


def checksum(file: Path) -> str:
    from gguf import GGUFReader
    from gguf.quants import dequantize

    digest = hashlib.sha256()
    for tensor in GGUFReader(file).tensors:
        digest.update(tensor.name.encode())
        digest.update(dequantize(tensor.data, tensor.tensor_type).astype("<f4").tobytes())
    return digest.hexdigest()


def main() -> None:
    if sys.argv[2:] == ["--numbers"]:
        print(checksum(Path(sys.argv[1]) / FILE))
        return
    import torch
    from transformers import AutoModelForCausalLM

    from utils import gguf_file
    from utils.byte_pairs import BytePairs, chat_prompt

    torch.set_num_threads(1)
    folder, recorded = Path(sys.argv[1]), []
    pieces = BytePairs.from_metadata(gguf_file.read((folder / FILE).read_bytes())[0])
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32).eval()
    for said in CHATS:
        ids = pieces.encode(chat_prompt([{"role": "user", "content": said}]))
        tokens = torch.tensor([ids])
        with torch.no_grad():
            best = model(tokens).logits[0, -PLACES:].topk(LARGEST)
            written = model.generate(
                tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=WRITTEN, do_sample=False, eos_token_id=2
            )
        logits = [[round(value, 4) for value in row] for row in best.values.tolist()]
        recorded.append({"said": said, "ids": ids, "largest": best.indices.tolist(), "logits": logits})
        recorded[-1]["written"] = written[0, len(ids) :].tolist()
    json.dump(recorded, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
