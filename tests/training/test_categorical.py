"""Training on units of several colours."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import vrbm
from vrbm.data.arrays import from_array
from vrbm.data.fasta import read_fasta
from vrbm.evaluation import unit_couplings
from vrbm.evaluation.scores import scores
from vrbm.training import Config, train
from vrbm.training.beginning import initial
from vrbm.training.looks import independent_units
from vrbm.training.observed import Observed

COLOURS = vrbm.Categorical(4)


def potts(sites: int, bonds: list, rows: int, seed: int = 0) -> np.ndarray:
    """Colours of sites; both ends of a bond, of which no two touch, agree in two rows of three."""
    random = np.random.default_rng(seed)
    drawn = random.choice(4, (rows, sites), p=[0.4, 0.3, 0.2, 0.1])
    for i, j in bonds:
        drawn[:, j] = np.where(random.random(rows) < 2 / 3, drawn[:, i], drawn[:, j])
    return drawn


def begun(rows: np.ndarray, potential: vrbm.Potential, units: int = 16):
    random = np.random.RandomState(0)
    return initial(rows.astype(np.float32), units, potential, random, visible=COLOURS)


def trained(rows: np.ndarray, potential: vrbm.Potential, weights=None, **settings):
    observed = Observed(None if weights is None else jnp.asarray(weights, np.float32))
    model, config = begun(rows, potential), Config(**settings)
    *_, last = train(model, rows, config, jax.random.key(0), observed=observed)
    return last


def test_bonds_of_a_potts_model_are_found():
    bonds = [(0, 5), (1, 7), (2, 3)]
    last = trained(COLOURS.one_hot(potts(8, bonds, 1000)), vrbm.FixedSize(), epochs=60)
    pairs = np.argwhere(np.tri(8, k=-1).T > 0)
    is_bond = [tuple(pair) in bonds for pair in pairs.tolist()]
    strengths = unit_couplings(last.state.model)[tuple(pairs.T)]
    assert roc_auc_score(is_bond, strengths) == 1
    chains = np.asarray(last.state.carry.negative.v[-1])
    COLOURS.check("chains", chains)


def test_a_family_that_was_sequenced_often_counts_once(tmp_path):
    """800 sequences with three bonds, and one of them 400 times more, in a FASTA file."""
    bonds = [(0, 5), (1, 7), (2, 3)]
    drawn = potts(8, bonds, 800)
    drawn = np.concatenate([drawn, np.repeat(drawn[:1], 400, axis=0)])
    path = tmp_path / "family.fa"
    texts = ["".join("-ACG"[k] for k in row) for row in drawn]
    path.write_text("".join(f">{number}\n{text}\n" for number, text in enumerate(texts)))
    alignment = read_fasta(path, "-ACG")
    weights = alignment.weights(1.0)
    last = trained(COLOURS.one_hot(alignment.colours), vrbm.FixedSize(), epochs=60, weights=weights)
    pairs = np.argwhere(np.tri(8, k=-1).T > 0)
    is_bond = [tuple(pair) in bonds for pair in pairs.tolist()]
    assert roc_auc_score(is_bond, unit_couplings(last.state.model)[tuple(pairs.T)]) == 1
    first = COLOURS.one_hot(drawn[0])
    agreement = COLOURS.one_hot(drawn) @ first  # sites that agree with the one
    expected = np.average(agreement, weights=weights)
    assert agreement.mean() > expected + 1
    chains = np.asarray(last.state.carry.negative.v[-1])
    assert abs((chains @ first).mean() - expected) < 0.6  # 4 standard errors


@pytest.mark.parametrize("negative", [vrbm.training.MeanField(), vrbm.training.Gibbs()])
def test_other_trainers_train_them_too(negative):
    rows = COLOURS.one_hot(potts(4, [(0, 1)], 400))
    last = trained(rows, vrbm.FixedSize(), epochs=30, negative=negative)
    strengths = unit_couplings(last.state.model)
    assert strengths.argmax() == 1  # that of sites 0 and 1


def test_independent_sites_have_one_unit():
    """Values of a site exclude each other, which is no correlation for units to explain."""
    rows = COLOURS.one_hot(potts(6, [], 1000))
    last = trained(rows, vrbm.Reservoir(), epochs=46)
    assert last.state.model.max_hidden == 1


def test_independent_units_have_the_frequencies_of_colours():
    rows = COLOURS.one_hot(potts(3, [], 500))
    p = (rows.sum(axis=0) + 1 / 4) / 501
    expected = (rows[:7] * np.log(p)).sum(axis=1)
    np.testing.assert_allclose(independent_units(COLOURS, rows, rows[:7]), expected, rtol=1e-12)


def test_rows_that_are_not_one_hot_are_refused(monkeypatch):
    rows = COLOURS.one_hot(potts(3, [], 50))
    rows[37] = 1
    monkeypatch.setattr("vrbm.training.loop.SURVEYED", 10)
    with pytest.raises(ValueError, match="row 30 on, has values that sum to 4 in row 7, site 0"):
        trained(rows, vrbm.FixedSize(), epochs=1)


def test_units_are_missing_whole():
    rows = COLOURS.one_hot(potts(3, [], 50))
    missing = np.zeros(rows.shape, bool)
    missing[3, 4:8] = True
    model = begun(rows, vrbm.FixedSize())
    config = Config(epochs=1)
    *_, last = train(model, rows, config, observed=Observed(missing=jnp.asarray(missing)))
    COLOURS.check("completed", np.asarray(last.state.carry.completed))
    missing[5, 0] = True
    with pytest.raises(ValueError, match="names some of the 4 values"):
        train(model, rows, config, observed=Observed(missing=jnp.asarray(missing)))


def test_the_baseline_is_of_sites():
    """That of one-hot columns gives most of its probability to rows that cannot be."""
    colours = potts(5, [], 3000)
    rows = COLOURS.one_hot(colours)
    data = from_array(rows)
    model = begun(rows, vrbm.FixedSize(), 2)
    (split,) = scores(model, data, jax.random.key(0)).splits
    p = np.array([0.4, 0.3, 0.2, 0.1])
    expected = pytest.approx(5 * (p @ np.log(p)), abs=0.1)
    assert split.baselines == {"independent sites": expected}
    assert split.likelihood.mean == expected
