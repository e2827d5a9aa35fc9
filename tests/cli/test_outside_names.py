"""Names, labels and messages from outside are shown: on a terminal, on a page, in a figure."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vrbm.cli import main
from vrbm.cli.streams import adapt_streams
from vrbm.data.arrays import from_array
from vrbm.data.dataset import Dataset, Domain
from vrbm.printable import brief, plain
from vrbm.report import figures, plots
from vrbm.report.gallery import gallery
from vrbm.report.page import Page, Picture, render

HOSTILE = [
    "[/x]",
    "[bold red]loud[/bold red] :skull:",
    "<script>alert(1)</script>",
    "\x1b[2J\x1b]0;owned\x07",
    "\x9b2J",
    "two\nlines\rback",
    "\u202egnp.exe",
    "$x_{$",
    r"a\$b $\frac{$",
    "\udcff",
]
ROWS = np.random.default_rng(0).integers(0, 2, (20, 4)).astype(np.int8)
COMMAND = [sys.executable, "-c", "import sys; from vrbm.cli import main; sys.exit(main())"]


def hostile_set(path: Path, name: str) -> Path:
    labels = np.array([HOSTILE[i % 9] for i in range(20)])
    Dataset(name, Domain.BINARY, ROWS, train_labels=labels, image_shape=(2, 2)).save(path)
    return path


def on_a_terminal(*arguments: object) -> bytes:
    """What the command writes to a pseudo-terminal."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "300", "PYTHONUTF8": "1"}
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 65536):
            written += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    process.wait()
    return written


def test_plain():
    assert plain("a\x1b[2J\n\x9b\u202eé⟨z⟩\udcff") == r"a\x1b[2J\n\x9b\u202eé⟨z⟩\xff"
    assert plain("\ud83d") == r"\ud83d"
    assert brief("x" * 300, 10) == "x" * 9 + "…"
    assert brief("\n" * 5, 20) == r"\n" * 5


def test_nothing_acts_on_a_terminal(tmp_path):
    path = hostile_set(tmp_path / "a.npz", "".join(HOSTILE))
    out = tmp_path / "[/x]\x1b]0;owned\x07.npz"
    written = on_a_terminal("data", "describe", path, "--out", out)
    for raw in (b"\x1b[2J", b"\x1b]0;", b"\x07", b"\xc2\x9b", "\u202e".encode(), b"Traceback"):
        assert raw not in written
    for shown in (rb"\x1b[2J", "[/x]", "[bold red]", "<script>", r"two\nlines\rback", ":skull:"):
        assert (shown if isinstance(shown, bytes) else shown.encode()) in written
    assert out.with_suffix(".png").exists()
    written = on_a_terminal("data", "describe", tmp_path / "absent\x1b[2J[/x].npy")
    assert b"\x1b[2J" not in written
    assert rb"absent\x1b[2J[/x].npy does not exist." in written


@pytest.mark.parametrize("name", HOSTILE)
def test_every_name_is_described(tmp_path, capsys, name):
    path = hostile_set(tmp_path / "a.npz", name)
    assert main(["data", "describe", str(path)]) == 0
    assert plain(name) in capsys.readouterr().out
    (tmp_path / "b.csv").write_text(f'"{name}",b\n1,x\n', errors="surrogateescape", newline="")
    assert main(["data", "describe", str(tmp_path / "b.csv")]) == 2
    message = capsys.readouterr().err
    assert message.startswith("vrbm: ")
    assert plain(message[:-1]) == message[:-1]


def test_wrong_arguments_are_shown_and_not_obeyed(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--bogus", "\x1b[2Jxx"])
    error = capsys.readouterr().err
    assert "\x1b" not in error
    assert "--bogus" in error


@pytest.mark.parametrize("name", HOSTILE)
def test_figures_show_names_as_they_are(tmp_path, name):
    data = from_array(ROWS, image_shape=(2, 2), name=name, train_labels=[name] * 20)
    figures.save_as(gallery(data), tmp_path / "a.png")
    figures.save_as(gallery(from_array(ROWS, name=name)), tmp_path / "a.pdf")
    figures.save_as(plots.error_and_likelihood([(name, [1.0], [-1.0])]), tmp_path / "b.png")
    figures.save_as(plots.images(ROWS[None, :3].reshape(1, 3, 2, 2), [name]), tmp_path / "c.png")
    sizes = {name: {name: [3.0]}}
    figures.save_as(plots.sizes_by_setting(sizes, 64, 1), tmp_path / "d.png")
    figures.save_as(plots.phases({(1.0, 1.0): (3.0, name)}, 10), tmp_path / "e.png")


def test_long_names_stay_small(tmp_path):
    figures.save_as(gallery(from_array(ROWS, name="x" * 100_000)), tmp_path / "a.png")


def test_pages_show_names_as_they_are(tmp_path):
    figures.save_as(gallery(from_array(ROWS)), tmp_path / "a.png")
    for name in HOSTILE:
        row = dict.fromkeys(("group", "quantity", "ours", "paper", "remark", "accepted"), name)
        page = Page(
            title=name,
            summary=[name],
            rows=[row | {"verdict": name}],
            pictures=[Picture(tmp_path / "a.png", name)],
            notes=[name],
            settings={name: {name: name}},
            environment={name: name},
            commands=[name, "vrbm resume run"],
        )
        html = render(page)
        html.encode()
        assert "<script" not in html
        assert plain(html.replace("\n", "")) == html.replace("\n", "")
        assert plain(name).replace("<", "&lt;").replace(">", "&gt;") in html


ENCODINGS = ["ascii", "latin-1", "cp1252", "utf-8"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_terminals_of_any_encoding(tmp_path, encoding):
    """One process for each encoding: help, a table, a name that is not UTF-8, an error."""
    path = os.fsencode(tmp_path) + b"/caf\xe9 \xff.csv"
    Path(os.fsdecode(path)).write_text("a,b,c,d\n1,0,1,0\n")
    hostile_set(tmp_path / "μ.npz", "ε ⟨z⟩ 漢")
    script = r"""
import os, sys
from vrbm.cli import main
folder = sys.argv[1]
assert main(["--help"]) == 0
try:
    main(["data", "describe", "--help"])
except SystemExit as end:
    assert end.code == 0
assert main(["data", "describe", os.fsdecode(os.fsencode(folder) + b"/\xce\xbc.npz")]) == 0
name = os.fsdecode(os.fsencode(folder) + b"/caf\xe9 \xff.csv")
assert main(["data", "describe", name, "--out", name + ".npz"]) == 0
assert main(["data", "describe", name, "--key", "\u03bc"]) == 2
"""
    environment = os.environ | {"PYTHONIOENCODING": encoding, "LC_ALL": "C", "COLUMNS": "200"}
    result = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", script, str(tmp_path)],
        capture_output=True,
        env=environment,
    )
    assert result.returncode == 0, result.stderr.decode(encoding)
    out, err = result.stdout.decode(encoding), result.stderr.decode(encoding)
    assert ("COMMAND ..." if encoding in ("ascii", "latin-1") else "COMMAND …") in out
    assert ("epsilon <z> \\u6f22" if encoding != "utf-8" else "ε ⟨z⟩ 漢") in out
    assert "\\xff" in out
    assert ("mu" if encoding != "utf-8" else "μ") in err
    assert "Traceback" not in err


def test_a_run_on_data_whose_name_is_not_utf8(tmp_path):
    """run.json holds the path that leads back to the file, and the report shows it."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.npy")
    np.save(path, ROWS)
    run = tmp_path / "run"
    arguments = ["--out", str(run), "--max-hidden", "3", "--epochs", "1"]
    assert main(["train", "--data", path, *arguments]) == 0
    assert json.loads((run / "run.json").read_text(encoding="ascii"))["source"] == path
    assert main(["report", str(run)]) == 0
    assert "\\xff" in (run / "report.html").read_text(encoding="utf-8")


def test_streams_without_encodings_are_left(monkeypatch):
    class Plain:
        pass

    monkeypatch.setattr(sys, "stdout", Plain())
    adapt_streams()
