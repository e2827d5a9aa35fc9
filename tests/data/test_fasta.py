"""Alignments from FASTA files."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from vrbm.data.fasta import ALPHABETS, Alignment, read_fasta


def written(folder, text, encoding="utf-8"):
    path = folder / "family.fasta"
    path.write_bytes(text.encode(encoding))
    return path


def test_letters_become_colours_and_letters_again(tmp_path):
    text = "; a remark\n>first one\nacD-\nWY\n\n>second\nA.DX -Y\n"
    found = read_fasta(written(tmp_path, text))
    assert found.names == ["first one", "second"]
    assert found.colours.dtype == np.int8
    assert found.texts() == ["ACD-WY", "A-D--Y"]
    assert_array_equal(found.colours[0], ["-ACDEFGHIKLMNPQRSTVWY".index(x) for x in "ACD-WY"])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_end_of_line(end, tmp_path):
    found = read_fasta(written(tmp_path, end.join([">a", "AC", ">b", "GU", ""])), "rna")
    assert found.texts() == ["AC", "GU"]


def test_letters_of_ones_own(tmp_path):
    found = read_fasta(written(tmp_path, ">a\nHEC\n>b\n-hh"), "-Hec", unknown="error")
    assert_array_equal(found.colours, [[1, 2, 3], [0, 1, 1]])


@pytest.mark.parametrize(
    ("text", "arguments", "sentence"),
    [
        ("", {}, "holds no sequence"),
        (">a\n>b\n", {}, "holds no sequence"),
        ("ACD\n>a\nACD", {}, "letters in line 1 before the first line with >"),
        (">a\nACD\n>b\nAC", {}, "has 2 letters in sequence 'b', but 3 in 'a': align"),
        (">a\nACZ", {"unknown": "error"}, "has 'Z' at site 2 of sequence 'a'"),
        (">a\nACü", {"unknown": "error"}, "has 'ü' at site 2"),
        (">a\nAC", {"alphabet": "ACGT"}, "alphabet is 'ACGT': pass one of protein, dna, rna"),
        (">a\nAC", {"alphabet": "-aA"}, "letters that differ, large or small"),
        (">a\nAC", {"alphabet": "-.A"}, "and no point"),
        (">a\nAC", {"unknown": "missing"}, "unknown is 'missing'"),
    ],
)
def test_complaints(text, arguments, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        read_fasta(written(tmp_path, text), **arguments)


def test_files_that_are_no_text(tmp_path):
    with pytest.raises(ValueError, match="no text file"):
        read_fasta(written(tmp_path, ">ä\nAC", "latin-1"))
    with pytest.raises(FileNotFoundError):
        read_fasta(tmp_path / "none.fasta")


def test_weights_count_a_family_once():
    random = np.random.default_rng(0)
    apart = random.integers(1, 21, (3, 10))
    near = apart[0].copy()
    near[:2] = 0  # 8 of 10 sites agree
    colours = np.stack([*apart, near, apart[2]]).astype(np.int8)
    alignment = Alignment([""] * 5, colours, ALPHABETS["protein"])
    assert_allclose(alignment.weights(), [1 / 2, 1, 1 / 2, 1 / 2, 1 / 2])
    assert_allclose(alignment.weights(0.81), [1, 1, 1 / 2, 1, 1 / 2])
    assert_allclose(alignment.weights(1.0), [1, 1, 1 / 2, 1, 1 / 2])
    with pytest.raises(ValueError, match="identity is 0"):
        alignment.weights(0)


def test_weights_of_many_sequences_by_blocks(monkeypatch):
    colours = np.random.default_rng(1).integers(0, 2, (40, 6)).astype(np.int8)
    alignment = Alignment([""] * 40, colours, "-A")
    agree = (colours[:, None] == colours).mean(axis=2)
    monkeypatch.setattr("vrbm.data.fasta.BLOCK", 7)
    assert_allclose(alignment.weights(0.5), 1 / (agree >= 0.5).sum(axis=1))
