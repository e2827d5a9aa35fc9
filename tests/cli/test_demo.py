import numpy as np
import pytest

from vrbm.cli import main
from vrbm.data.digits import digits
from vrbm.experiments.demo import template_model
from vrbm.report import figures


def test_demo_prints_the_table_and_writes_the_figure(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "new" / "demo")]) == 0
    printed = capsys.readouterr().out
    assert "mean size" in printed
    assert "chemical potential" in printed
    assert sorted(path.name for path in (tmp_path / "new" / "demo").iterdir()) == [
        "size_by_digit.pdf",
        "size_by_digit.png",
    ]


def test_each_template_has_the_stated_field_on_its_own_digit():
    demo = template_model(field=3.0, max_hidden=12)
    v, labels = digits().train, digits().train_labels
    fields = v @ np.asarray(demo.model.W).T + np.asarray(demo.model.b)
    own = [fields[labels == digit, digit].mean() for digit in range(10)]
    np.testing.assert_allclose(own, 3.0, rtol=1e-4)
    assert (fields[:, 10:] == 0).all()
    np.testing.assert_allclose(demo.probabilities.sum(axis=1), 1, rtol=1e-5)
    sizes = [row[2] for row in demo.rows()]
    np.testing.assert_allclose(sizes, demo.probabilities @ np.arange(1, 13), rtol=1e-4)


def test_a_folder_that_cannot_be_made_is_named(tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert main(["demo", "--out", str(blocked / "demo")]) == 2
    assert str(blocked) in capsys.readouterr().err


def test_a_figure_that_fails_leaves_nothing(tmp_path, monkeypatch):
    figure = figures.size_profiles(np.ones((1, 2)) / 2, np.ones((1, 2)))

    def full_disk(path, **_):
        path.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(figure, "savefig", full_disk)
    with pytest.raises(OSError, match="No space"):
        figures.save(figure, tmp_path / "figure")
    assert list(tmp_path.iterdir()) == []


def test_version_and_info(capsys):
    assert main(["--version"]) == 0
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    assert "vrbm 0." in printed
    assert "device 0: cpu" in printed
