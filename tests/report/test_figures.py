import numpy as np
import pytest

from vrbm.report import figures, plots


def test_a_figure_that_fails_leaves_nothing(tmp_path, monkeypatch):
    figure = plots.weights_and_biases(np.ones(3), np.ones(3), most=3)

    def full_disk(path, **_):
        path.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(figure, "savefig", full_disk)
    with pytest.raises(OSError, match="No space"):
        figures.save(figure, tmp_path / "figure")
    assert list(tmp_path.iterdir()) == []


def test_figures_are_written_twice(tmp_path):
    paths = figures.save(plots.weights_and_biases(np.ones(3), np.ones(3), 3), tmp_path / "a" / "b")
    assert [path.name for path in paths] == ["b.png", "b.pdf"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert paths[1].read_bytes().startswith(b"%PDF")


def test_curves_show_every_seed():
    epoch = np.arange(1, 5)
    curve = {"epoch": epoch, "error_train": 1 / epoch, "error_test": 2 / epoch, "mean_size": epoch}
    upper, lower = plots.learning_curves({0: curve, 1: curve}, expected=3).axes
    assert len(upper.lines) == 4
    np.testing.assert_allclose(upper.lines[1].get_ydata(), 2 / epoch)
    assert len(upper.get_legend().texts) == 2
    np.testing.assert_allclose(lower.lines[2].get_ydata(), 3)


def test_likelihoods_show_errors_and_looks_that_could_not_be_trusted():
    nan = np.nan
    looks = {
        "epoch": np.array([2.0, 4.0, 6.0]),
        "train": np.array([-9.0, nan, -7.0]),
        "heldout": np.array([-9.5, nan, -8.0]),
        "error": np.array([0.1, 1.5, 0.2]),
    }
    (axes,) = plots.likelihood_curve(looks).axes
    train, heldout = (container.lines[0].get_ydata() for container in axes.containers)
    np.testing.assert_allclose(train, [-9, -7])
    np.testing.assert_allclose(heldout, [-9.5, -8])
    np.testing.assert_allclose(axes.lines[-1].get_xdata(), [4])
    labels = {text.get_text() for text in axes.get_legend().texts}
    assert labels == {"training rows", "held-out rows", "log Z could not be trusted"}
    alone = plots.likelihood_curve({**looks, "heldout": np.full(3, nan)})
    assert len(alone.axes[0].containers) == 1


def test_sizes_are_shown_where_they_are_probable():
    p = np.zeros(100)
    p[60:63] = (0.25, 0.5, 0.25)
    (axes,) = plots.size_distributions({100: p}, expected=64).axes
    assert axes.get_xlim() == (59, 65)
    assert axes.lines[0].get_xdata()[61] == 62


def test_interactions_are_over_the_largest():
    S = np.array([[0, 3.0], [3.0, 0]])
    left, right, _ = plots.interaction_matrices({1: S, 2: -S}, {1: 0.5, 2: 1}).axes
    np.testing.assert_allclose(left.images[0].get_array(), [[0, 1], [1, 0]])
    np.testing.assert_allclose(right.images[0].get_array(), [[0, -1], [-1, 0]])
    assert "0.500" in left.get_title()


def test_profiles_have_a_survival_function():
    p = np.full((2, 4), 0.25)
    upper, lower, beyond = plots.digit_profiles(p, p).axes
    np.testing.assert_allclose(beyond.lines[0].get_ydata(), [1, 0.75, 0.5, 0.25])
    np.testing.assert_allclose(upper.lines[1].get_ydata(), 0.25)
    assert len(lower.collections) == 2


def test_pictures_keep_their_order():
    rows = np.arange(2 * 3 * 4).reshape(2, 3, 2, 2)
    axes = plots.configurations(rows, (1.0, 2.0)).axes
    np.testing.assert_array_equal(axes[1].images[0].get_array(), rows[1, 0])  # a column for each T
    axes = plots.images(rows, ("a", "b")).axes
    np.testing.assert_array_equal(axes[1].images[0].get_array(), rows[0, 1])  # a line for each
