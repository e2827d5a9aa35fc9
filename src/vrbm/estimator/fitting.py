"""One fit: from encoded rows to a trained model."""

import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight

from vrbm.data.dataset import Dataset, Domain
from vrbm.estimator import completion
from vrbm.estimator.progress import shown
from vrbm.model import GrandCanonicalRBM, Potential
from vrbm.model.random import fold_in, key_of_seed
from vrbm.training import Config, Record, exchange, needs, start, train
from vrbm.training.observed import Observed

#: Clamped Gibbs steps for missing entries before the first epoch.
FIRST_FILLING = 20


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in [0, 1] (n, N) with NaN for missing entries, their weights, and what they hold."""

    v: np.ndarray
    weights: np.ndarray | None
    domain: Domain


@dataclass(frozen=True, eq=False)
class Result:
    """A trained model, the records of its epochs, and the chains to go on with."""

    rows: np.ndarray
    """the rows, with a draw for each missing entry"""
    model: GrandCanonicalRBM
    chains: np.ndarray
    history: list[dict[str, Any]]


def checked_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """Weights of rows X, none of them negative and not all zero."""
    weights: np.ndarray = _check_sample_weight(sample_weight, X)
    if (weights < 0).any():
        raise ValueError(f"sample_weight holds {weights.min():g}: weights are not negative.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: give some row a weight.")
    return weights


def priced(model: GrandCanonicalRBM, potential: Potential) -> GrandCanonicalRBM:
    """The same weights and biases with another potential."""
    return GrandCanonicalRBM(model.W, model.b, model.c, model.visible, model.hidden, potential)


def fit(
    model: GrandCanonicalRBM,
    rows: Rows,
    config: Config,
    random: np.random.RandomState,
    chains: np.ndarray | None = None,
    heldout: np.ndarray | None = None,
    show: str | None = None,
) -> Result:
    """Train the model; after an interrupt, what it was after the last whole epoch.

    `heldout` are rows like those of `rows.v`; those that lack entries are left out.
    """
    fit_key = new_key(random)
    key, fill_key = fold_in(fit_key, 0), fold_in(fit_key, 1)
    may_grow = model.potential.is_unbounded or model.potential.is_exchanged
    config = replace(
        config,
        monitor_rows=_monitored(len(rows.v)),
        max_units=config.max_units if may_grow else None,
        # Idle units that earn log 2 leave the bound of the window open.
        window=model.potential.absorb_log2,
    )
    config = config.resolved(model, len(rows.v))
    needs.require(model, len(rows.v), config)
    missing = np.isnan(rows.v)
    v, observed = rows.v, Observed()
    if rows.weights is not None:
        observed = replace(observed, weights=jax.device_put(rows.weights.astype(model.W.dtype)))
    if missing.any():
        v = completion.complete(model, v, fill_key, FIRST_FILLING).states
        observed = replace(observed, missing=jax.device_put(missing))
    data = Dataset(
        "X",
        rows.domain,
        v.astype(rows.domain.dtype),
        validation=None if heldout is None else _whole(heldout).astype(rows.domain.dtype),
    )
    state = start(model, data, config, key)
    begun = config.negative.chains_of(state.carry.negative)
    if chains is not None and begun is not None and len(chains) == len(begun):
        v_chains = jax.device_put(chains.astype(model.W.dtype))
        negative = config.negative.with_chains(state.carry.negative, v_chains)
        state = replace(state, carry=replace(state.carry, negative=negative))
    history = []
    try:
        with closing(train(None, data, config, state=state, observed=observed)) as trained:
            records: Iterator[Record] = trained
            if show is not None:
                records = shown(trained, show, config.n_epochs)
            for record in records:
                state = record.state
                history.append(record.facts())
    except KeyboardInterrupt:
        warnings.warn(
            f"fit was interrupted in epoch {state.epoch + 1} of {config.n_epochs}: the model is "
            f"that of the end of epoch {state.epoch}, and can be used.",
            ConvergenceWarning,
            stacklevel=5,
        )
    filled = v if state.carry.completed is None else np.asarray(state.carry.completed)
    last = config.negative.chains_of(state.carry.negative)
    whole = state.model
    if whole.potential.is_exchanged:  # an interrupt leaves units that are off
        whole = exchange.without_idle(whole)
    return Result(filled, whole, np.asarray(last), history)


def _whole(rows: np.ndarray) -> np.ndarray:
    """Rows without missing entries, of which there must be some."""
    whole = rows[~np.isnan(rows).any(axis=1)]
    if len(whole) == 0:
        raise ValueError(
            f"each of the {len(rows)} held-out rows lacks an entry, so that none has a likelihood "
            "to stop by: pass X_val without NaN, or set early_stopping=False."
        )
    return whole


def _monitored(n: int) -> int:
    """Rows on which epochs are recorded, 1, 10, 100 or 1000: few shapes to compile."""
    return int(10 ** min(3, int(np.log10(n))))


def new_key(random: np.random.RandomState) -> jax.Array:
    """A random key from a generator of numpy."""
    return key_of_seed(random.randint(np.iinfo(np.int32).max))
