"""The report in a real browser: `make test-browser`, for machines with Chromium."""

import json
import re
import shutil
import subprocess

import pytest

from vrbm.experiments.report import study_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
MEASURE = """<script>
const wide = [...document.querySelectorAll("*")]
  .filter(e => e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.tagName);
const images = [...document.images].map(i => i.naturalWidth);
parent.postMessage(JSON.stringify({inner: innerWidth,
  scroll: document.documentElement.scrollWidth, wide: wide, images: images}), "*");
</script>"""
# A window cannot be as narrow as a phone, a frame can.
FRAME = """<!doctype html><title></title>
<script>onmessage = message => {{ document.title = message.data; }};</script>
<iframe src="page.html" style="width:{width}px;height:900px;border:0"></iframe>"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


def chromium(*arguments: str) -> subprocess.CompletedProcess:
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--virtual-time-budget=4000",
    ]
    command = [CHROMIUM, *flags, "--enable-logging=stderr", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("study", ["ising_study", "mnist_study"])
def test_no_console_message_and_no_overflow(study, width, request, tmp_path):
    folder, _ = request.getfixturevalue(study)
    study_report(folder)
    page = tmp_path / "page.html"
    page.write_text((folder / "report.html").read_text().replace("</body>", f"{MEASURE}</body>"))
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(width=width))
    done = chromium(
        "--window-size=1400,1000", "--virtual-time-budget=3000", "--dump-dom", frame.as_uri()
    )
    assert "CONSOLE" not in done.stderr
    found = json.loads(re.search(r"<title>(.*?)</title>", done.stdout)[1].replace("&quot;", '"'))
    assert found["inner"] == width
    assert found["scroll"] <= found["inner"]
    assert found["wide"] == []
    assert found["images"]
    assert all(found["images"])


def test_it_prints(ising_study, tmp_path):
    folder, _ = ising_study
    study_report(folder)
    paper = tmp_path / "report.pdf"
    chromium(f"--print-to-pdf={paper}", (folder / "report.html").as_uri())
    assert paper.read_bytes().startswith(b"%PDF")
