"""Samples against enumeration, free and clamped."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chi2

import vrbm
from tests.evaluation.small import random_model
from tests.model.oracle import counts_of
from vrbm.evaluation.sampling import sample

N = 5_000
KEY = jax.random.key(0)
NAN = np.nan


def compare(model, drawn, clamp=(NAN, NAN, NAN)):
    """χ² of samples against p(v_free | v_clamped); fails by chance once in a million."""
    states = vrbm.exact.states(model.visible, model.n_visible)
    p = np.asarray(vrbm.exact.visible_probabilities(model))
    p = np.where(((states == clamp) | np.isnan(clamp)).all(axis=1), p, 0)
    p /= p.sum()
    counts = counts_of(states, drawn)
    assert counts[p == 0].sum() == 0
    expected = len(drawn) * p[p > 0]
    statistic = ((counts[p > 0] - expected) ** 2 / expected).sum()
    assert statistic < chi2.ppf(1 - 1e-6, max(1, (p > 0).sum() - 1))


@pytest.mark.parametrize(
    ("method", "unit", "potential"),
    [("gibbs", "spin", "absorbed"), ("tempered", "binary", "local"), ("annealed", "spin", "fixed")],
)
def test_samples_are_from_the_model(method, unit, potential):
    model = random_model(unit, unit, potential, n=3, k=3, seed=1)
    settings = {"steps": 60, "replicas": 4}
    compare(model, sample(model, N, KEY, method, **settings))
    low, high = model.visible.states
    clamp = np.array([NAN, low, NAN])
    compare(model, sample(model, N, KEY, method, clamp=clamp, **settings), clamp)
    rows = np.full((N, 3), NAN)
    rows[::2, 0], rows[1::2, 1:] = high, (high, low)
    drawn = sample(model, N, KEY, method, clamp=rows, **settings)
    compare(model, drawn[::2], np.array([high, NAN, NAN]))
    compare(model, drawn[1::2], np.array([NAN, high, low]))


def test_samples_are_the_same_for_the_same_key_and_come_in_blocks(monkeypatch):
    model = random_model(n=3, k=3)
    first = sample(model, 20, KEY, "gibbs", steps=3)
    assert first.shape == (20, 3)
    assert_array_equal(first, sample(model, 20, KEY, "gibbs", steps=3))
    monkeypatch.setattr("vrbm.evaluation.sampling.VALUES", 120)  # 20 chains
    blocks = sample(model, 40, KEY, "gibbs", steps=3)
    assert_array_equal(blocks[:20], first)
    assert (blocks[20:] != first).any()


def test_gibbs_chains_start_where_they_are_told():
    """A model of two deep wells, that chains do not leave."""
    model = vrbm.GrandCanonicalRBM(np.full((1, 40), 2.0), [0.0], np.zeros(40))
    drawn = sample(model, 30, KEY, "gibbs", steps=10, starts=np.ones((1, 40)))
    assert drawn.mean() > 0.9


def test_tempered_chains_find_both_wells():
    """Both wells are as likely; 4.2 standard errors. Annealed chains need a symmetric base."""
    model = vrbm.GrandCanonicalRBM(np.full((1, 40), 0.5), [0.0], np.zeros(40))
    for method in ("tempered", "annealed"):
        settings = {"steps": 200, "replicas": 8, "base": np.zeros(40)}
        up = (sample(model, 200, KEY, method, **settings).mean(axis=1) > 0).mean()
        assert 0.35 < up < 0.65


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "magic"}, "method is 'magic': choose one of"),
        ({"replicas": 1}, "replicas is 1: pass at least 2"),
        ({"starts": np.ones((1, 3))}, "starts are given, but annealed chains start at β = 0"),
        ({"clamp": np.ones(4)}, r"clamp has shape \(4,\): pass \(3,\) values, or \(5, 3\)"),
        ({"clamp": [0.5, NAN, NAN]}, "clamp holds the value 0.5"),
        ({"steps": 0}, "steps is 0"),
    ],
)
def test_bad_arguments(settings, message):
    from vrbm.evaluation import sampling

    plain = sampling.sample.__wrapped__ if settings.get("method") else sampling.sample
    with pytest.raises(ValueError, match=message):
        plain(random_model(n=3, k=3), 5, KEY, **settings)


def test_categorical_units_are_clamped_whole():
    model = random_model("three colours", "binary", n=3, k=3)
    clamp = np.array([NAN] * 3 + [0.0, 1.0, 0.0] + [NAN] * 3)
    compare(model, sample(model, N, KEY, clamp=clamp, steps=20), clamp)
    for wrong, sentence in (
        ([1.0, NAN, NAN] + [NAN] * 6, "fixes some of the 3 values"),
        ([1.0, 1.0, 0.0] + [NAN] * 6, "clamp has values that sum to 2 in row 0, site 0"),
    ):
        with pytest.raises(ValueError, match=sentence):
            sample(model, 5, KEY, clamp=wrong)
