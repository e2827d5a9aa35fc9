"""A web server of hand-made files on this machine, and small idx files."""

import gzip
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from tests.data.idx_bytes import idx


@pytest.fixture
def small_mnist(tmp_path) -> Path:
    """Four gzipped idx files: 20 training and 10 test images of 28×28, digits in turn."""
    folder = tmp_path / "small_mnist"
    folder.mkdir()
    random = np.random.default_rng(0)
    for split, count in (("train", 20), ("t10k", 10)):
        images = np.zeros((count, 28, 28), np.uint8)
        images[:, 6:22, 6:22] = random.integers(0, 256, (count, 16, 16))
        labels = np.arange(count) % 10
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            path = folder / f"{split}-{kind}-ubyte.gz"
            path.write_bytes(gzip.compress(idx(array), mtime=0))
    return folder


@pytest.fixture
def real_mnist() -> Path:
    named = os.environ.get("VRBM_DATA")
    base = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    if not (base / "mnist").is_dir():
        pytest.skip(f"no MNIST files in {base / 'mnist'}: set VRBM_DATA to the folder above them")
    return base / "mnist"


class Server:
    """Serves `files` by path; a path in `dropped` is cut off half way."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.dropped: set[str] = set()
        self.requests: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                content = outer.files.get(self.path)
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                half = len(content) // 2
                self.wfile.write(content[:half] if self.path in outer.dropped else content)

            def log_message(self, *arguments):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    result = Server()
    thread = threading.Thread(target=result.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield result
    result.http.shutdown()
    result.http.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("VRBM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("VRBM_DATA", raising=False)
    return tmp_path / "cache"
