"""Training on units of several colours."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import vrbm
from vrbm.data.fasta import read_fasta
from vrbm.evaluation import unit_couplings
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


def trained(rows: np.ndarray, potential: vrbm.Potential, units: int = 16, weights=None, **settings):
    begun = initial(
        rows.astype(np.float32), units, potential, np.random.RandomState(0), visible=COLOURS
    )
    observed = Observed(None if weights is None else jnp.asarray(weights, np.float32))
    *_, last = train(begun, rows, Config(**settings), jax.random.key(0), observed=observed)
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
    last = trained(rows, vrbm.Penalizing(), epochs=5, negative=negative)
    assert np.isfinite(last.error_train)


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


def test_rows_that_are_not_one_hot_are_refused():
    with pytest.raises(ValueError, match="sum to 2 in row 0, site 0"):
        trained(np.tile([1, 1, 0, 0], (20, 3)).astype(np.int8), vrbm.FixedSize(), epochs=1)
