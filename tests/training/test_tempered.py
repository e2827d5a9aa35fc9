"""Replica exchange: a ladder on demand, its checkpoints, and what it is for."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file
from scipy.stats import chi2

import vrbm
from tests.model.oracle import POTENTIALS, Oracle
from vrbm.data.digits import digits
from vrbm.model import storage
from vrbm.training import Config, Gibbs, MeanField, Persistent, Tempered, checkpoint, train, window
from vrbm.training.tempered import SLOW, partners, swaps, tempered

KEY = jax.random.key(7)
ON_DEMAND = Tempered(k=3, betas=4, chains=10, on_demand=True)


def priced(model):
    return window.narrow(model, model.prices(), model.max_hidden)


@pytest.fixture(scope="module")
def small():
    """A model of 3 spins with its 8 states, as rows to begin at."""
    oracle = Oracle("spin", "spin", "absorbed", seed=6)
    return priced(oracle.model), jnp.asarray(oracle.v)


def test_phases_say_which_chains_stand_for_the_model(small):
    model, rows = small
    other = jnp.ones((10, 3))
    for kernel in (Persistent(1, 10), Tempered(1, 4, 10), ON_DEMAND):
        state = kernel.start(model, rows, KEY)
        new, info = jax.jit(kernel)(model, state, rows, KEY)
        assert_array_equal(kernel.chains_of(new), info.v)
        replaced = kernel.with_chains(new, other)
        assert_array_equal(kernel.chains_of(replaced), other)
        assert jax.tree.structure(replaced) == jax.tree.structure(new)
    for kernel in (MeanField(), Gibbs()):
        assert kernel.chains_of(None) is None
        assert kernel.with_chains(None, other) is None
    for kernel in (Gibbs(), Persistent(1, 10), Tempered(1, 4, 10)):
        state = kernel.start(model, rows, KEY)
        assert kernel.adapted(state, 1.0) is state


def test_with_chains_leaves_the_hot_replicas(small):
    kernel = Tempered(1, 4, 10)
    state = kernel.start(*small, KEY)
    new = kernel.with_chains(state, -state.v[-1])
    assert_array_equal(new.v[:-1], state.v[:-1])
    assert_array_equal(new.v[-1], -state.v[-1])


def test_before_it_is_widened_it_is_persistent_cd_bit_by_bit(small):
    model, rows = small
    plain = Persistent(ON_DEMAND.k, ON_DEMAND.chains)
    state, chains = ON_DEMAND.start(model, rows, KEY), plain.start(model, rows, KEY)
    assert state.v.shape == (1, 10, 3)
    assert_array_equal(state.betas, [1])
    for number in range(3):
        key = jax.random.fold_in(KEY, number)
        state, info = jax.jit(ON_DEMAND)(model, state, rows, key)
        state = ON_DEMAND.rest(state)
        chains, expected = jax.jit(plain)(model, chains, rows, key)
        assert_array_equal(state.v[0], chains)
        for mine, theirs in zip(jax.tree.leaves(info), jax.tree.leaves(expected), strict=True):
            assert_array_equal(mine, theirs)


def test_slow_chains_get_a_ladder_for_good(small):
    model, rows = small
    state = ON_DEMAND.start(model, rows, KEY)
    for correlation in (-1.0, 0.0, SLOW, float("nan")):
        assert ON_DEMAND.adapted(state, correlation) is state
    wide = ON_DEMAND.adapted(state, SLOW + 0.01)
    assert wide.v.shape == (4, 10, 3)
    assert_array_equal(wide.v[-1], state.v[0])
    for below in (1, 2, 3):
        assert_array_equal(wide.v[-1 - below], np.roll(state.v[0], -(below * 10 // 4), axis=0))
    assert_allclose(wide.betas, [0, 1 / 3, 2 / 3, 1])
    assert_array_equal(wide.rejected, [0.5, 0.5, 0.5])
    assert_array_equal(wide.base, state.base)
    full = Tempered(1, 4, 10).start(model, rows, KEY)
    for mine, theirs in zip(jax.tree.leaves(wide), jax.tree.leaves(full), strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
    assert ON_DEMAND.adapted(wide, 0.0) is wide
    assert ON_DEMAND.adapted(wide, 1.0) is wide


def test_with_its_ladder_it_takes_one_step_between_swaps(small):
    model, rows = small
    wide = ON_DEMAND.adapted(ON_DEMAND.start(model, rows, KEY), 1.0)
    new, info = jax.jit(ON_DEMAND)(model, wide, rows, KEY)
    once, expected = jax.jit(Tempered(1, 4, 10))(model, wide, rows, KEY)
    for mine, theirs in zip(
        jax.tree.leaves((new, info)), jax.tree.leaves((once, expected)), strict=True
    ):
        assert_array_equal(mine, theirs)
    assert info.swap_rates.shape == (3,)


def counted(v, states):
    """How often each of the states ±1, 3 of them, is among v (…, 3)."""
    return np.bincount(((np.asarray(v).reshape(-1, 3) > 0) @ [4, 2, 1]), minlength=len(states))


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("potential", ["absorbed", "fixed"])
def test_a_widened_ladder_reaches_every_marginal(potential, k):
    """From one row for all chains: after 30 rounds each replica has draws of its own marginal.

    χ² of 50,000 independent chains; each of the 4 tests fails by chance once in a million.
    """
    chains, oracle = 50_000, Oracle("spin", "spin", potential, seed=6)
    model, rows = priced(oracle.model), jnp.asarray(oracle.v)
    demand = Tempered(k=1, betas=4, chains=chains, on_demand=True)
    state = demand.start(model, rows, KEY)
    state = demand.adapted(demand.with_chains(state, jnp.ones((chains, 3))), 1.0)
    kernel = demand if k == 1 else Tempered(k=k, betas=4, chains=chains)

    @jax.jit
    def rounds(state):
        keys = jax.random.split(KEY, 30)
        return jax.lax.scan(lambda s, key: (kernel(model, s, rows, key)[0], None), state, keys)[0]

    state = rounds(state)
    for beta, replica in zip(state.betas, state.v, strict=True):
        p = np.asarray(vrbm.exact.visible_probabilities(tempered(model, beta, state.base)))
        counts = counted(replica, oracle.v)
        assert ((counts - chains * p) ** 2 / (chains * p)).sum() < chi2.ppf(1 - 1e-6, 7)


def test_the_running_averages_are_those_of_the_swaps(small):
    """The mean expected acceptance is the share of pairs whose values change places."""
    model, rows = small
    chains = 50_000
    kernel = Tempered(k=1, betas=4, chains=chains)
    state = kernel.start(model, rows, KEY)
    gain = jax.random.normal(KEY, (4, chains))
    for parity in (0, 1):
        partner = partners(4, jnp.asarray(parity))
        swap, rejection = swaps(gain, partner, KEY)
        pairs = [(0, 1), (2, 3)] if parity == 0 else [(1, 2)]
        for low, high in pairs:
            assert_array_equal(swap[low], swap[high])
            log_ratio = np.asarray(gain[low] + gain[high])
            expected = np.exp(np.minimum(log_ratio, 0)).mean()
            assert rejection[low] == pytest.approx(1 - expected, abs=1e-6)
            # 50,000 draws of a share near 1/2 are good to 0.0022; 5 of these.
            assert swap[low].mean() == pytest.approx(expected, abs=0.011)
        alone = set(range(4)) - {i for pair in pairs for i in pair}
        assert not any(swap[i].any() for i in alone)
    before = state.rejected
    state, info = jax.jit(kernel)(model, state, rows, KEY)
    assert state.rejected[1] == before[1]
    assert (state.rejected != before)[jnp.array([0, 2])].all()
    assert_array_equal(info.swap_rates, 1 - state.rejected)


@pytest.mark.parametrize("parity", [0, 1])
@pytest.mark.parametrize("potential", [*POTENTIALS, "off"])
def test_it_reports_the_largest_sizes_that_it_computed(potential, parity):
    """P(z ≥ a|v) at the data, and of all values at their own β and at that of their partner.

    Where idle units are off, only what is drawn or held at β = 1.
    """
    is_off = potential == "off"
    oracle = Oracle("spin", "binary", "kept" if is_off else potential, seed=2, k=4)
    model, rows = oracle.model, jnp.asarray(oracle.v)
    if is_off:
        model = dataclasses.replace(model, potential=vrbm.Unbounded(0.3, absorb_log2=False))
    model = priced(model)
    assert model.potential.idle_is_off == is_off
    kernel = Tempered(k=1, betas=3, chains=6)
    state = kernel.start(model, rows[:3], KEY)
    state = dataclasses.replace(state, parity=jnp.asarray(float(parity)))
    _, info = jax.jit(kernel)(model, state, rows[:2], KEY)
    at = [tempered(model, beta, state.base) for beta in state.betas]
    low = parity  # replicas 0 and 1 are partners, or 1 and 2
    v = state.v
    met = [model.size_survival(rows[:2])]
    if is_off:
        partner = partners(3, state.parity)
        free = jnp.stack([at[i].free_energy(v[i]) for i in range(3)])
        there = jnp.stack([at[j].free_energy(v[i]) for i, j in enumerate(partner.tolist())])
        swap, _ = swaps(free - there, partner, jax.random.split(KEY)[0])
        assert swap[2].any() == bool(parity)
        drawn = jnp.where(swap[2][:, None], v[1], v[2])
        met += [model.size_survival(v[2]), model.size_survival(drawn)]
    else:
        met += [at[i].size_survival(v[i]) for i in range(3)]
        met += [at[low].size_survival(v[low + 1]), at[low + 1].size_survival(v[low])]
    assert_allclose(info.met[0], np.concatenate(met).max(axis=0), rtol=1e-12)


def copied_bit():
    """10 bits, all 0 or all 1, equally likely: one that differs costs 12 nats, the way across 56.

    Six units with x = 4 Σ_i v_i − 20 and c_i = −12: Γ(x) − Γ(−x) = x gives both modes F = 0.
    """
    model = vrbm.GrandCanonicalRBM(
        np.full((6, 10), 4.0),
        np.full(6, -20.0),
        np.full(10, -12.0),
        visible=vrbm.Binary(),
        hidden=vrbm.Binary(),
        potential=vrbm.FixedSize(),
    )
    return priced(model)


def test_the_ladder_crosses_what_plain_chains_do_not():
    """Two modes of equal weight, all bits 0 or all 1, and all chains begin in one of them."""
    model, chains = copied_bit(), 200
    rows = jnp.stack([jnp.zeros(10), jnp.ones(10)])
    assert_allclose(model.free_energy(rows), 0, atol=1e-6)
    kernel = Tempered(k=2, betas=10, chains=chains, on_demand=True)
    state = kernel.start(model, rows, KEY)
    state = kernel.with_chains(state, jnp.ones((chains, 10)))

    @jax.jit
    def rounds(state):
        keys = jax.random.split(KEY, 400)
        return jax.lax.scan(lambda s, key: (kernel(model, s, rows, key)[0], None), state, keys)[0]

    plain = rounds(state)
    assert kernel.chains_of(plain).mean() > 0.95
    mixed = rounds(kernel.adapted(state, 0.99))
    mean = kernel.chains_of(mixed).mean(axis=1)
    assert ((mean < 0.2) | (mean > 0.8)).mean() > 0.95
    # 200 independent chains are good to 0.035; 5 of these.
    assert (mean > 0.5).mean() == pytest.approx(0.5, abs=0.18)


CONFIG = Config(epochs=3, monitor_rows=20, negative=ON_DEMAND)


def leaves_equal(mine, theirs):
    for one, other in zip(jax.tree.leaves(mine), jax.tree.leaves(theirs), strict=True):
        assert_array_equal(one, other)
        assert one.dtype == other.dtype


def widened(state, config):
    negative = config.negative.adapted(state.carry.negative, 1.0)
    return dataclasses.replace(state, carry=dataclasses.replace(state.carry, negative=negative))


@pytest.fixture(scope="module")
def first():
    data = digits()
    model = vrbm.GrandCanonicalRBM.initialize(KEY, data.n_visible, 20)
    return data, next(train(model, data, CONFIG, KEY)).state


@pytest.mark.parametrize("replicas", [1, 4])
def test_a_run_resumes_bit_by_bit_with_and_without_its_ladder(first, replicas, tmp_path):
    data, state = first
    state = state if replicas == 1 else widened(state, CONFIG)
    assert len(state.carry.negative.v) == replicas
    *_, last = train(None, data, CONFIG, state=state)
    assert len(last.swap_rates) == replicas - 1
    path = tmp_path / "state.safetensors"
    checkpoint.save(path, state, CONFIG, data.content_hash)
    loaded, config = checkpoint.load(path, data, data.content_hash)
    assert config == CONFIG.resolved(state.model, len(data.train))
    leaves_equal(loaded.carry, state.carry)
    *_, again = train(None, data, config, state=loaded)
    leaves_equal(again.state.carry, last.state.carry)


def test_any_other_number_of_replicas_is_damage(first, tmp_path):
    data, state = first
    wide = widened(state, CONFIG)
    path = tmp_path / "state.safetensors"
    for settings, held in (
        ({"on_demand": False}, state),
        ({"betas": 5}, wide),
        ({"betas": 10**6, "chains": 10**6}, wide),
        ({"chains": 11}, state),
    ):
        negative = dataclasses.replace(ON_DEMAND, **settings)
        config = dataclasses.replace(CONFIG, negative=negative)
        checkpoint.save(path, held, config, data.content_hash)
        with pytest.raises(ValueError, match="does not hold the chains"):
            checkpoint.load(path, data, data.content_hash)
    # As many numbers as a ladder has, in another shape.
    checkpoint.save(path, wide, CONFIG, data.content_hash)
    arrays, header = storage.read(path, checkpoint.KIND)
    name = ".carry.negative.v"
    assert set(arrays) == set(load_file(path))
    arrays[name] = arrays[name].reshape(2, 20, -1)
    storage.write(path, arrays, header)
    with pytest.raises(ValueError, match=r"negative.v of shape .* the file is damaged"):
        checkpoint.load(path, data, data.content_hash)


def test_memory_is_asked_for_the_ladder_that_may_come(first, tmp_path):
    """One replica in the file, and a claim that no memory holds: refused before it is made."""
    data, state = first
    huge = dataclasses.replace(ON_DEMAND, betas=10**12)
    assert huge.states_kept == 10**13
    path = tmp_path / "state.safetensors"
    config = dataclasses.replace(CONFIG, negative=huge)
    checkpoint.save(path, state, config, data.content_hash)
    with pytest.raises((ValueError, MemoryError), match="chains"):
        checkpoint.load(path, data, data.content_hash)
