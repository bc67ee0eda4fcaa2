"""tools/vectors/fetch_glove.py: the beginning of an archive, from a server on this machine with all its faults."""

import functools
import io
import resource
import socket
import struct
import subprocess
import sys
import threading
import zipfile
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from tools.vectors import fetch_glove as glove
from utils.vectors import WordVectors

pytest.importorskip("remotezip")

WORDS = 3000
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.lane("test")


def member_text(words=WORDS, columns=100):
    """Text in Stanford's format."""
    matrix = np.random.default_rng(0).normal(size=(words, columns)).round(5)
    return "".join(f"word{i} {' '.join(map(str, row.tolist()))}\n" for i, row in enumerate(matrix)).encode()


def archive_of(text, member=glove.MEMBER, method=zipfile.ZIP_DEFLATED):
    """A zip archive like Stanford's: other members before and after the one that is wanted."""
    filling = np.random.default_rng(1).bytes(3_000_000)  # cannot be packed
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("glove.6B.50d.txt", filling)
        archive.writestr(member, text)
        archive.writestr("glove.6B.200d.txt", filling)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def good_archive():
    return archive_of(member_text())


class Server(ThreadingHTTPServer):
    """Serves `content` at every address and counts the bytes it sends; it can ignore ranges or break off."""

    daemon_threads = True

    def __init__(self, content):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = content
        self.ranges = True
        self.break_after = None
        self.sent = 0
        self.requests = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/glove.6B.zip"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        content = self.server.content
        asked = self.headers.get("Range")
        self.server.requests.append(asked)
        if asked and self.server.ranges:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start = int(first) if first else max(0, len(content) - int(last))
            end = int(last) + 1 if first and last else len(content)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
        else:
            start, end = 0, len(content)
            self.send_response(200)
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 14)  # little is sent in advance
        is_member = end - start > 1 << 17 or start > 0 and end < len(content)
        try:
            for position in range(start, end, 4096):
                if self.server.break_after is not None and is_member and position - start >= self.server.break_after:
                    linger = struct.pack("ii", 1, 0)
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)  # closes with a reset
                    self.connection.close()
                    return
                self.wfile.write(content[position : min(position + 4096, end)])
                self.server.sent += min(4096, end - position)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the reader has enough

    def log_message(self, *arguments):
        pass


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def serve():
    servers = []

    def start(content):
        server = Server(content)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def same_as(vectors, text):
    """Are they the words and numbers of the text?"""
    lines = [line.split(" ") for line in text.decode().splitlines()]
    numbers = np.array([line[1:] for line in lines], np.float32)
    return vectors.words == [line[0] for line in lines] and np.array_equal(vectors.matrix, numbers)


def refuse(folder, url, message, words=500):
    """`fetch` fails with this message and leaves nothing behind."""
    with pytest.raises(glove.FetchError, match=message) as caught:
        glove.fetch(folder, words, url)
    assert not folder.exists() or not list(folder.iterdir())
    assert len(str(caught.value)) < 700 and "\n" not in str(caught.value)


def test_fetches_the_beginning_only(serve, good_archive, tmp_path):
    server = serve(good_archive)
    path = glove.fetch(tmp_path / "new folder", 300, server.url)
    assert path == tmp_path / "new folder" / "glove.6B.100d.first300.npz"
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    vectors = WordVectors.load(path)
    assert same_as(vectors, member_text(300)) and vectors.words[299] == "word299"
    assert vectors.name == "Stanford's GloVe 6B (300 words, 100 dimensions)"
    assert all(asked and asked.startswith("bytes=") for asked in server.requests)
    assert server.sent < 1_000_000 < len(good_archive) / 6


def test_what_is_there_is_not_fetched_again(serve, good_archive, tmp_path):
    server = serve(good_archive)
    path = glove.fetch(tmp_path, 300, server.url)
    asked = len(server.requests)
    assert glove.fetch(tmp_path, 300, server.url) == path and len(server.requests) == asked
    good = path.read_bytes()
    path.write_bytes(good[:-100])  # no longer whole: fetched anew
    assert glove.fetch(tmp_path, 300, server.url) == path and len(server.requests) > asked
    assert path.read_bytes() == good


def test_the_whole_member(serve, good_archive, tmp_path):
    path = glove.fetch(tmp_path, WORDS, serve(good_archive).url)
    assert same_as(WordVectors.load(path), member_text())


def test_more_words_than_there_are(serve, good_archive, tmp_path):
    refuse(tmp_path, serve(good_archive).url, "holds 3,000 words, not the 3,001 asked for", words=WORDS + 1)


def test_a_server_without_ranges(serve, good_archive, tmp_path):
    server = serve(good_archive)
    server.ranges = False
    refuse(tmp_path, server.url, "does not send parts of a file.*Download the whole archive.*WordVectors.from_text")
    assert server.sent < 1_000_000


@pytest.mark.parametrize("after", [0, 100_000])
def test_a_connection_that_breaks(serve, good_archive, tmp_path, after):
    server = serve(good_archive)
    server.break_after = after
    refuse(tmp_path, server.url, "the connection broke .*Try again", words=2000)


def test_no_server(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/glove.6B.zip"
        refuse(tmp_path, url, "cannot be read.*Try again")


def test_an_address_without_an_archive(serve, tmp_path):
    refuse(tmp_path, serve(b"<html>moved</html>" * 10_000).url, "damaged")


def test_an_archive_without_the_member(serve, tmp_path):
    content = archive_of(b"x", member=f"../{glove.MEMBER}")
    refuse(tmp_path / "folder", serve(content).url, "has no member glove.6B.100d.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def damaged_in_the_middle(content):
    """The archive with some bytes of the wanted member altered."""
    start = zipfile.ZipFile(io.BytesIO(content)).getinfo(glove.MEMBER).header_offset + 50_000
    return content[:start] + bytes(byte ^ 0x55 for byte in content[start : start + 200]) + content[start + 200 :]


def test_a_member_that_cannot_be_unpacked(serve, good_archive, tmp_path):
    refuse(tmp_path, serve(damaged_in_the_middle(good_archive)).url, "damaged", words=2000)


def test_a_stored_member_that_is_altered(serve, tmp_path):
    content = damaged_in_the_middle(archive_of(member_text(), method=zipfile.ZIP_STORED))
    refuse(tmp_path, serve(content).url, "sent is damaged .*Try again")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_checksum_of_a_whole_member(serve, tmp_path, method):
    """A word that is altered into another makes a line like any other: only the archive's checksum tells."""
    sums = [zlib.crc32(text).to_bytes(4, "little") for text in (member_text(), b"other text")]
    content = archive_of(member_text(), method=method)
    assert content.count(sums[0]) == 2  # before the member, and in the list of contents
    refuse(tmp_path, serve(content.replace(*sums)).url, "damaged .*CRC", words=WORDS)


def test_a_member_without_lines(serve, tmp_path):
    refuse(tmp_path, serve(archive_of(b"word " + b"0" * 5_000_000)).url, "Line 1 .* does not end")


@pytest.mark.parametrize("columns", [50, 99, 101])
def test_another_number_of_columns(serve, tmp_path, columns):
    server = serve(archive_of(member_text(columns=columns)))
    refuse(tmp_path, server.url, rf"\(500, {columns}\) numbers where \(500, 100\) belong")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"word20 ", b"word20 x", "a line needs a word and 100 numbers"),
        (b"word20 ", b"word20 1 ", "a line needs a word and 100 numbers"),
        (b"word20 ", b"word2\xff ", "UTF-8"),
        (b"word20 ", b"word20 nan ", "a line needs a word and 100 numbers"),
        (b"word20 ", b"word19 ", "line 21: .word19. is already in line 20"),
    ],
)
def test_lines_that_are_wrong(serve, tmp_path, old, new, message):
    refuse(tmp_path, serve(archive_of(member_text().replace(old, new))).url, message)


def test_a_disk_that_is_full(serve, good_archive, tmp_path):
    """In a process of its own that may not write more than 100 kB into a file, as on a disk with so much room."""
    code = "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    code += "from tools.vectors import fetch_glove as glove\n"
    code += "try: glove.fetch(sys.argv[1], 2000, sys.argv[2])\nexcept glove.FetchError as error: print(error)"
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), serve(good_archive).url],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )
    assert "cannot be written" in result.stdout, result.stderr
    assert "Make room, or choose another folder." in result.stdout
    assert not list(tmp_path.iterdir())


def test_a_folder_in_the_place_of_the_file(serve, good_archive, tmp_path):
    server = serve(good_archive)
    (tmp_path / "glove.6B.100d.first10.npz").mkdir()
    with pytest.raises(glove.FetchError, match="first10.npz is in the way: it is not a file. Rename it, or choose"):
        glove.fetch(tmp_path, 10, server.url)
    assert not server.requests and [path.is_dir() for path in tmp_path.iterdir()] == [True]


def test_no_step_down_from_https_to_http(tmp_path, monkeypatch):
    import requests

    asked = []

    def send(adapter, request, **options):
        asked.append(request.url)
        response = requests.Response()
        response.status_code, response.url, response.request = 302, request.url, request
        response.headers["Location"] = {1: "https://b.example/x", 2: "HTTP://c.example/x"}.get(len(asked), "/end")
        response.raw = io.BytesIO()
        return response

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    refuse(tmp_path, "https://a.example/glove.zip", "it leads from https to HTTP://c.example/x, which is not encrypted")
    assert asked == ["https://a.example/glove.zip", "https://b.example/x"]


def test_a_folder_that_is_a_file(serve, good_archive, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(glove.FetchError, match="cannot be written"):
        glove.fetch(tmp_path / "file", 10, serve(good_archive).url)


def test_an_interrupt_leaves_nothing(serve, good_archive, tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(glove, "read_text", interrupt)
    with pytest.raises(KeyboardInterrupt):
        glove.fetch(tmp_path, 10, serve(good_archive).url)
    assert not list(tmp_path.iterdir())


def test_no_words(tmp_path):
    with pytest.raises(ValueError, match="must be 1 or more, not 0"):
        glove.fetch(tmp_path, 0)


def test_command_line(serve, good_archive, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(glove, "URL", serve(good_archive).url)
    monkeypatch.setattr(sys, "argv", ["glove", "--words", "20", "--folder", str(tmp_path)])
    monkeypatch.setattr(glove, "tqdm", functools.partial(glove.tqdm, disable=False))  # the tests switch bars off
    glove.main()
    output = capsys.readouterr()
    assert "glove.6B.100d.first20.npz is there" in output.out and "20.0/20.0" in output.err
    monkeypatch.setattr(sys, "argv", ["glove", "--words", "4000", "--folder", str(tmp_path)])
    with pytest.raises(SystemExit, match="holds 3,000 words"):
        glove.main()
