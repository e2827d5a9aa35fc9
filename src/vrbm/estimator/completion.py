r"""Averages over what is missing in a row, under p(v_miss | v_obs).

Exact where a row lacks at most `ENUMERATED` entries: all its completions, weighted by e^{−F(v)}.
Else by a clamped Gibbs chain for each row, with the known entries held: the average over its steps,
after a burn-in of half as many. Means of v are taken from the conditionals ⟨v⟩_{h,z} on the way,
which have less noise than the states.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from vrbm.estimator.batches import BLOCK, padded
from vrbm.model import GrandCanonicalRBM, exact
from vrbm.model.linear import dot
from vrbm.training.observed import clamped_step
from vrbm.typing import Chains, RandomKey, Values

#: The most missing entries of a row whose completions are enumerated.
ENUMERATED = 10
#: Steps of the chains over which averages are taken.
STEPS = 200


class Completion(NamedTuple):
    """What is known of rows with missing entries, each (rows, …)."""

    visible: Any
    """⟨v⟩ given the known entries, which stay as they are; (rows, N)"""
    hidden: Any
    """⟨h⟩, (rows, K)"""
    sizes: Any
    """p(z), (rows, K)"""
    states: Any
    """a draw of v, (rows, N)"""


def complete(
    model: GrandCanonicalRBM, v: np.ndarray, key: RandomKey, steps: int = STEPS
) -> Completion:
    """Averages and draws for rows (n, N) with NaN where entries are missing."""
    missing = np.isnan(v)
    count = missing.sum(axis=1)
    n, k = len(v), model.max_hidden
    result = Completion(
        *(np.empty((n, width), v.dtype) for width in (model.n_visible, k, k, model.n_visible))
    )
    for number, (chosen, exactly) in enumerate(_groups(count)):
        part_key = jax.random.fold_in(key, number)
        if exactly:
            part = _enumerated(model, v[chosen], missing[chosen], part_key)
        else:
            part = _chains(model, v[chosen], missing[chosen], part_key, steps)
        for whole, values in zip(result, part, strict=True):
            whole[chosen] = values
    for filled in (result.visible, result.states):
        filled[~missing] = v[~missing]
    return result


def free_energy(model: GrandCanonicalRBM, v: np.ndarray) -> np.ndarray:
    """−log Σ_{v_miss} e^{−F(v)} of rows (n, N) that lack at most `ENUMERATED` entries; exact."""
    missing = np.isnan(v)
    count = missing.sum(axis=1)
    if count.max() > ENUMERATED:
        raise ValueError(
            f"row {int(count.argmax())} of X lacks {count.max()} entries, and the probability of "
            f"the others is summed over at most {ENUMERATED}: fill in X by impute first."
        )
    result = np.empty(len(v), v.dtype)
    for chosen, _ in _groups(count):
        rows, places = _with_places(v[chosen], missing[chosen])
        size = _rows_for(len(rows))
        values = _marginals(model, padded(rows, size), padded(places, size))
        result[chosen] = np.asarray(values)[: len(chosen)]
    return result


def _groups(count: np.ndarray) -> list[tuple[np.ndarray, bool]]:
    """Row numbers with equally many missing entries, and those with too many to enumerate."""
    groups = [(np.flatnonzero(count == m), True) for m in range(ENUMERATED + 1)]
    groups.append((np.flatnonzero(count > ENUMERATED), False))
    return [(rows, exactly) for rows, exactly in groups if rows.size]


def _with_places(v: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows with 0 for NaN, and where their m missing entries are, (n, m)."""
    m = int(missing[0].sum())
    return np.where(missing, 0, v), np.argsort(~missing, axis=1, kind="stable")[:, :m]


def _rows_for(n: int) -> int:
    """Few different numbers of rows: powers of 4."""
    return int(4 ** np.ceil(np.log(n) / np.log(4)))


def _enumerated(
    model: GrandCanonicalRBM, v: np.ndarray, missing: np.ndarray, key: RandomKey
) -> Completion:
    rows, places = _with_places(v, missing)
    size = _rows_for(len(rows))
    values = _over_completions(model, padded(rows, size), padded(places, size), key)
    return Completion(*(np.asarray(x)[: len(v)] for x in values))


def _completions(model: GrandCanonicalRBM, row: Values, place: Values) -> tuple[Any, Any]:
    """All completions of one row, (2^m, N), and their log-weights −F."""
    states = jnp.asarray(exact.states(model.visible, place.shape[0]), row.dtype)
    v = jnp.broadcast_to(row, (len(states), *row.shape)).at[:, place].set(states)
    return v, -model.free_energy(v)


@jax.jit
def _over_completions(model: GrandCanonicalRBM, v: Any, places: Any, key: RandomKey) -> Completion:
    def of_row(inputs: Any) -> Completion:
        row, place, key = inputs
        v, log_weight = _completions(model, row, place)
        p = jax.nn.softmax(log_weight)
        drawn = v[jax.random.categorical(key, log_weight)]
        hidden, sizes = model.mean_hidden(v), model.size_probabilities(v)
        return Completion(dot(p, v), dot(p, hidden), dot(p, sizes), drawn)

    v = jnp.asarray(v, model.W.dtype)
    return jax.lax.map(of_row, (v, places, jax.random.split(key, len(v))))


@jax.jit
def _marginals(model: GrandCanonicalRBM, v: Any, places: Any) -> Any:
    def of_row(inputs: Any) -> Any:
        return -logsumexp(_completions(model, *inputs)[1])

    return jax.lax.map(of_row, (jnp.asarray(v, model.W.dtype), places))


def _chains(
    model: GrandCanonicalRBM, v: np.ndarray, missing: np.ndarray, key: RandomKey, steps: int
) -> Completion:
    parts = []
    for number, at in enumerate(range(0, len(v), BLOCK)):
        rows, mask = v[at : at + BLOCK], missing[at : at + BLOCK]
        part = _clamped(
            model,
            padded(np.where(mask, 0, rows), BLOCK),
            padded(mask, BLOCK),
            jax.random.fold_in(key, number),
            steps,
        )
        parts.append([np.asarray(x)[: len(rows)] for x in part])
    return Completion(*(np.concatenate(x) for x in zip(*parts, strict=True)))


@partial(jax.jit, static_argnames="steps")
def _clamped(
    model: GrandCanonicalRBM, v: Any, missing: Any, key: RandomKey, steps: int
) -> Completion:
    v = jnp.asarray(v, model.W.dtype)
    start_key, burn_key, key = jax.random.split(key, 3)
    drawn = model.visible.sample(start_key, jnp.broadcast_to(model.c, v.shape))
    v = jnp.where(missing, drawn, v)

    def burn(v: Chains, key: RandomKey) -> tuple[Chains, None]:
        return clamped_step(model, model.response(v), missing, key), None

    def keep(carry: Any, key: RandomKey) -> tuple[Any, None]:
        v, sums = carry
        size_key, hidden_key, visible_key = jax.random.split(key, 3)
        z = model.sample_size(size_key, v)
        y = model.visible_fields(model.sample_hidden(hidden_key, v, z), z)
        v = jnp.where(missing, model.visible.sample(visible_key, y), v)
        new = (model.visible.mean(y), model.mean_hidden(v), model.size_probabilities(v))
        return (v, jax.tree.map(jnp.add, sums, new)), None

    v, _ = jax.lax.scan(burn, v, jax.random.split(burn_key, max(1, steps // 2)))
    layer = jnp.zeros((len(v), model.max_hidden), v.dtype)
    start = (v, (jnp.zeros_like(v), layer, layer))
    (v, sums), _ = jax.lax.scan(keep, start, jax.random.split(key, steps))
    visible, hidden, sizes = (x / steps for x in sums)
    return Completion(visible, hidden, sizes, v)
