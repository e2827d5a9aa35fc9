import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from vrbm.cli import main
from vrbm.experiments import ising, mnist, sizing, tables
from vrbm.experiments.presets import PRESETS
from vrbm.experiments.report import report, study_report
from vrbm.experiments.results import Results, Row, number
from vrbm.report.page import Page, render

VOID = {"meta", "link", "img"}


class Checker(HTMLParser):
    """Elements nest, and nothing is fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("src", "href"):
                assert value.startswith(("data:", "#"))
            assert not name.startswith("on")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def check(html: str) -> str:
    checker = Checker()
    checker.feed(html)
    assert not checker.open
    assert "http" not in re.sub(r"base64,[^\"]*", "", html)
    return checker.text


def test_the_table_is_computed(ising_study):
    folder, _ = ising_study
    rows = {row.quantity: row for row in ising.table(Results(folder)) if not row.group}
    numbers = Results(folder).numbers
    size = rows["mean size ⟨z⟩"]
    assert size.values == tuple(numbers["vrbm"][seed]["mean_size"] for seed in (0, 1))
    assert size.verdict == "differs"  # two epochs
    assert rows["ε_train, K = 66"].verdict == "differs"
    width = rows["width of p(z|v), K = 66"]
    assert width.high == pytest.approx(numbers["vrbm-128"][0]["size_width"])
    groups = {row.group for row in ising.table(Results(folder))}
    assert "vRBM, as the paper trains it, K = 66" in groups


def test_weighted_draws_are_shown_where_they_count_for_every_seed(ising_study):
    results = Results(ising_study[0])
    name = "energy by weighted exact draws, off by"

    def shown():
        return [row.values for row in tables.likelihood(results, "vrbm") if row.quantity == name]

    for seed in (0, 1):
        results.numbers["vrbm"][seed]["weighted"].pop("energy", None)
    assert shown() == []
    results.numbers["vrbm"][0]["weighted"]["energy"] = {"relative": 0.25}
    assert shown() == []
    results.numbers["vrbm"][1]["weighted"]["energy"] = {"relative": -0.5}
    assert shown() == [(0.25, -0.5)]


def test_verdicts_and_numbers():
    row = Row("x", "1", (1.0, 2.0, 3.0), low=1.5, high=2.5)
    assert (row.verdict, row.ours, row.accepted) == ("agrees", "2 (1 … 3)", "1.5 … 2.5")
    assert Row("x", "1", (3.0,), high=2.5).verdict == "differs"
    assert Row("x", "1", (3.0,), high=2.5).accepted == "≤ 2.5"
    assert Row("x", "1", (0.125,), unit="%", low=0.1).ours == "12.5 %"
    assert Row("x", "1", (0.125,), unit="%", low=0.1).accepted == "≥ 10"
    assert Row("x", "", (float("nan"),), low=0).verdict == "differs"
    assert Row("x", "", (3.0,)).verdict == ""
    assert [number(x) for x in (0, 1.23456, 3.2e-13, 123456)] == [
        "0",
        "1.235",
        "3.2e-13",
        "1.2e+05",
    ]


def test_report_of_the_ising_study(ising_study):
    folder, _ = ising_study
    study_report(folder)
    text = check((folder / "report.html").read_text())
    assert "The quick preset" in text
    assert "vrbm reproduce ising --preset quick" in text
    rows = json.loads((folder / "table.json").read_text())
    assert all(row["quantity"] in text for row in rows)
    names = {"configurations", "learning", "sizes", "weights", "interactions", "likelihood"}
    assert {path.stem for path in (folder / "figures").glob("*.pdf")} == names
    assert {path.stem for path in (folder / "figures").glob("*.png")} == names


def test_exported_records_give_the_same_report(ising_study, tmp_path):
    folder, _ = ising_study
    copy = tmp_path / "records" / "ising"
    assert main(["report", str(folder), "--export", str(copy)]) == 0
    assert not list(copy.rglob("*.safetensors"))
    study_report(copy)
    for name in ("table.json", "table.md"):
        assert (copy / name).read_bytes() == (folder / name).read_bytes()
    lines = (copy / "table.md").read_text().splitlines()
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1


def test_report_of_the_mnist_study(mnist_study):
    folder, _ = mnist_study
    rows = {row.quantity for row in study_report(folder)}
    assert {"⟨z⟩ of digit 9", "wrong test pixels after rounding"} <= rows
    assert rows >= {row.quantity for row in mnist.table(Results(folder))}
    check((folder / "report.html").read_text())
    names = {"digits", "learning", "sizes_by_digit", "weights", "likelihood"}
    assert {path.stem for path in (folder / "figures").glob("*.png")} == names


def test_report_of_a_run(tmp_path, capsys):
    rows = np.sign(np.random.default_rng(0).normal(size=(60, 8)))
    np.save(tmp_path / "rows.npy", rows)
    run = tmp_path / "run"
    train = ["train", "--data", str(tmp_path / "rows.npy"), "--out", str(run), "--max-hidden", "12"]
    assert main([*train, "--epochs", "2", "--batch-size", "20"]) == 0
    assert main(["report", str(run)]) == 0
    text = check((run / "report.html").read_text())
    assert "After 2 epochs" in text
    assert "chemical potential" in text
    assert main(["evaluate", str(run)]) == 0
    report(run)
    assert "log-likelihood" in check((run / "report.html").read_text())


def test_folders_without_results_are_told(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 2
    assert "neither study.json nor run.json" in capsys.readouterr().err


def test_text_is_escaped():
    page = Page("<b>title</b>", ["1 < 2"], notes=["<script>alert(1)</script>"])
    html = render(page)
    assert "<script>" not in html
    assert "<b>" not in html
    check(html)


def test_reproduce_prints_the_table(ising_study, ising_preset, monkeypatch, capsys):
    folder, data = ising_study
    monkeypatch.setitem(PRESETS, ("ising", "quick"), ising_preset)
    monkeypatch.setattr(ising, "load", lambda preset: data)
    assert main(["demo", "--out", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "mean size" in printed
    assert "report.html" in printed.replace("\n", "")


def test_reproduce_refuses_a_folder_of_something_else(tmp_path, capsys, monkeypatch, ising_study):
    monkeypatch.setattr(ising, "load", lambda preset: ising_study[1])
    (tmp_path / "mine.txt").write_text("")
    assert main(["reproduce", "ising", "--out", str(tmp_path)]) == 2
    assert "holds no study" in capsys.readouterr().err


def test_the_study_of_sizes(sizing_study):
    folder, _ = sizing_study
    rows = study_report(folder)
    found = {row.quantity: row for row in rows if not row.group}
    numbers = Results(folder).numbers
    ours = found["median of ⟨z⟩, layer without an end, μ = 1"]
    assert ours.values == (numbers["ours-0"][0]["mean_size"],)
    assert ours.verdict == "differs"
    assert found["(max − min) / median, the paper's ansatz"].values == (0.0,)
    likelihood = found["median test log-likelihood, layer without an end, μ = 1"]
    assert likelihood.values == (numbers["ours-0"][0]["test"]["log_likelihood"],)
    assert {row.remark for row in rows if row.group == "⟨z⟩ by phase"} <= {
        "regular", "collapsed", "saturated"
    }  # fmt: skip
    assert {path.name for path in (folder / "figures").iterdir()} >= {
        "sizes.png",
        "likelihoods.png",
        "phases.png",
    }
    check((folder / "report.html").read_text())
    assert sizing.spread([60.0, 64.0, 66.0]) == pytest.approx(6 / 64)
