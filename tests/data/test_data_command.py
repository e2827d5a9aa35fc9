import numpy as np
import pytest

from vrbm.cli import main
from vrbm.data import ising
from vrbm.data.arrays import load
from vrbm.data.dataset import Dataset, Domain


def run(capsys, *arguments) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_digits_are_written_with_a_picture_beside(capsys, tmp_path):
    status, out, _ = run(capsys, "data", "digits", "--out", tmp_path / "digits.npz")
    assert status == 0
    data = Dataset.load(tmp_path / "digits.npz")
    assert data.content_hash in out
    for fact in ("N = 64", "domain ±1", "1,438", "359", "8×8", "digits.png"):
        assert fact in out
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_is_there_already_is_left(capsys, tmp_path):
    np.save(tmp_path / "a.npy", np.eye(4))
    picture, out = tmp_path / "b.png", tmp_path / "b.npz"
    picture.write_bytes(b"a holiday")
    arguments = ["data", "describe", tmp_path / "a.npy", "--out", out]
    status, printed, _ = run(capsys, *arguments)
    assert status == 0
    assert picture.read_bytes() == b"a holiday"
    assert f"{picture} is there already, and is left as it is" in printed.replace("\n", " ")
    assert run(capsys, *arguments, "--picture", picture)[0] == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_describe_states_what_a_file_holds(capsys, tmp_path):
    rows = np.array([[0, 1, 1], [0, 1, 0]])
    np.save(tmp_path / "mine.npy", rows)
    picture = tmp_path / "mine.pdf"
    status, out, _ = run(capsys, "data", "describe", tmp_path / "mine.npy", "--picture", picture)
    assert status == 0
    for fact in (
        "mine: N = 3, domain 0/1",
        "0.5000",
        "none",
        load(tmp_path / "mine.npy").content_hash,
    ):
        assert fact in out
    assert picture.read_bytes().startswith(b"%PDF")


def test_describe_with_labels_and_shape(capsys, tmp_path):
    (tmp_path / "a.csv").write_text("kind,a,b,c,d\ncat,1,0,0.5,0\ndog,0,0,0,1\n")
    status, out, _ = run(
        capsys, "data", "describe", tmp_path / "a.csv", "--labels", "kind", "--image-shape", 2, 2,
        "--out", tmp_path / "a.npz",
    )  # fmt: skip
    assert status == 0
    assert "2: cat, dog" in out
    data = Dataset.load(tmp_path / "a.npz")
    assert (data.domain, data.image_shape) == (Domain.UNIT, (2, 2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe", "{}/absent.npy"], "absent.npy does not exist"),
        (["describe", "{}"], "is a folder"),
        (["describe", "{}/bad.csv"], "holds 'x' in row 0, column 1 ('b') (line 2)"),
        (["describe", "{}/nan.npy"], "holds nan in row 1, column 0"),
        (["describe", "{}/nan.npy", "--key", "a"], "has no named arrays"),
        (["digits", "--out", "{}/a.csv"], "must end in .npz"),
        (["digits", "--picture", "{}/a.gif"], "must end in .png, .pdf or .svg"),
        (["digits", "--out", "/dev/null/a.npz"], "/dev/null"),
        (["mnist", "--folder", "{}"], "neither train-images-idx3-ubyte nor"),
        (["mnist", "--variant", "mnist", "--smooth"], "do not apply to --variant mnist"),
        (["mnist", "--domain", "spin"], "--domain does not apply"),
    ],
)
def test_errors_are_one_sentence(capsys, tmp_path, arguments, message):
    (tmp_path / "bad.csv").write_text("a,b\n1,x\n")
    np.save(tmp_path / "nan.npy", np.array([[1.0], [np.nan]]))
    status, _, err = run(capsys, "data", *[argument.format(tmp_path) for argument in arguments])
    assert status == 2
    assert message in err
    assert "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "nan.npy"]


def test_mnist_variants(capsys, small_mnist):
    for variant, facts in (
        ([], ["N = 196", "14×14", "domain ±1"]),
        (["--pooling", "max", "--smooth"], ["N = 196"]),
        (["--variant", "mnist"], ["N = 784", "domain [0, 1]"]),
        (["--variant", "fashion", "--domain", "binary"], ["fashion_mnist", "domain 0/1"]),
    ):
        status, out, _ = run(capsys, "data", "mnist", "--folder", small_mnist, *variant)
        assert status == 0
        assert all(fact in out for fact in facts)


def test_ising_draws_what_is_asked_for(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("VRBM_CACHE", str(tmp_path / "cache"))
    arguments = ["--L", 3, "--J", -1, "--temperatures", 1, 2.5, "--n-train", 20, "--n-test", 6]
    out = tmp_path / "set.npz"
    status, printed, _ = run(capsys, "data", "ising", *arguments, "--seed", 4, "--out", out)
    assert status == 0
    assert "ising: N = 9" in printed
    stored = Dataset.load(out)
    expected = ising.mixture_set(3, (1.0, 2.5), 20, 6, J=-1.0, seed=4)
    assert stored.content_hash == expected.content_hash
    assert (stored.train.shape, stored.test.shape) == ((20, 9), (6, 9))
    assert out.with_suffix(".png").exists()
