import hashlib
import re
import subprocess
import sys
import textwrap

import pytest

from vrbm.data.download import fetch
from vrbm.data.mnist import FASHION_MNIST, MNIST

CONTENT = bytes(range(256)) * 2000
SHA = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
MD5 = "md5:" + hashlib.md5(CONTENT).hexdigest()


@pytest.mark.parametrize("checksum", [SHA, MD5])
def test_second_call_uses_the_cache(server, tmp_path, checksum):
    server.files["/a/file"] = CONTENT
    seen = []
    path = fetch("file", [server.url + "/a"], checksum, tmp_path, lambda *event: seen.append(event))
    assert path.read_bytes() == CONTENT
    assert seen[-1] == ("file", len(CONTENT), len(CONTENT))
    assert fetch("file", [server.url + "/a"], checksum, tmp_path) == path
    assert server.requests == ["/a/file"]


def test_next_mirror_is_tried(server, tmp_path):
    server.files["/wrong/file"] = b"not the file"
    server.files["/cut/file"] = server.files["/good/file"] = CONTENT
    server.dropped.add("/cut/file")
    mirrors = [f"{server.url}/{kind}/" for kind in ("absent", "wrong", "cut", "good")]
    assert fetch("file", mirrors, SHA, tmp_path).read_bytes() == CONTENT
    assert len(server.requests) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("checksum", [SHA, None])
def test_dropped_connection_leaves_nothing(server, tmp_path, checksum):
    server.files["/file"] = CONTENT
    server.dropped.add("/file")
    with pytest.raises(OSError, match=r"could not be downloaded.*get the files by other means"):
        fetch("file", [server.url], checksum, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_wrong_content_says_what_was_expected_and_found(server, tmp_path):
    server.files["/file"] = b"<html>please log in</html>"
    found = hashlib.sha256(server.files["/file"]).hexdigest()
    with pytest.raises(OSError, match=f"expected a file with {SHA}, but 26 bytes .*{found}"):
        fetch("file", [server.url], SHA, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_no_connection(tmp_path):
    with pytest.raises(OSError, match="Check the connection"):
        fetch("file", ["http://127.0.0.1:9"], SHA, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_damaged_file_in_the_cache_is_replaced(server, tmp_path):
    server.files["/file"] = CONTENT
    (tmp_path / "file").write_bytes(CONTENT[:100])
    assert fetch("file", [server.url], SHA, tmp_path).read_bytes() == CONTENT


def test_two_processes_fill_the_cache_at_once(server, tmp_path):
    names = [f"file{i}" for i in range(10)]
    server.files.update({f"/{name}": CONTENT for name in names})
    (tmp_path / "file0").write_bytes(b"damaged")
    code = textwrap.dedent(f"""
        from pathlib import Path
        from vrbm.data.download import fetch
        for name in {names}:
            path = fetch(name, [{server.url!r}], {SHA!r}, Path({str(tmp_path)!r}))
            assert path.stat().st_size == {len(CONTENT)}
    """)
    both = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert all(path.read_bytes() == CONTENT for path in tmp_path.iterdir())


def test_every_set_has_sha256():
    """MD5 can be forged."""
    for collection in (MNIST, FASHION_MNIST):
        assert len(collection.checksums) == 4
        for checksum in collection.checksums.values():
            assert re.fullmatch(r"sha256:[0-9a-f]{64}", checksum)
