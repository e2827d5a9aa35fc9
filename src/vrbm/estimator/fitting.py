"""One fit: from encoded rows to a trained model."""

import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight

from vrbm import memory
from vrbm.data.dataset import Dataset, Domain
from vrbm.estimator import completion
from vrbm.estimator.progress import shown
from vrbm.model import Binary, GrandCanonicalRBM, Potential, layer_size
from vrbm.model.random import fold_in, key_of_seed
from vrbm.training import Config, Optimizer, Persistent, Record, TrainState, growth, needs, train
from vrbm.training.gradient import parameters
from vrbm.training.observed import Observed
from vrbm.training.step import Carry

#: Standard deviation of the initial weights; hidden biases begin at 0.
WEIGHT_SCALE = 0.01
#: Clamped Gibbs steps for missing entries before the first epoch.
FIRST_FILLING = 20
#: The fewest units that are off behind the others.
FEWEST_SPARE = 32
#: Fraction of a fit after which the learning rate falls to zero.
DECAY_FROM = 0.5


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in [0, 1] (n, N) with NaN for missing entries, their weights, and what they hold."""

    v: np.ndarray
    weights: np.ndarray | None
    domain: Domain


@dataclass(frozen=True, eq=False)
class Settings:
    """How long and how fast a fit trains."""

    epochs: int
    batch_size: int
    learning_rate: float
    decays: bool
    chains: int
    gibbs_steps: int
    max_units: int | None
    """limit of a layer without an end"""
    show: str | None


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


def initial(
    rows: Rows, units: int, potential: Potential, random: np.random.RandomState
) -> GrandCanonicalRBM:
    """Small random weights, and visible biases from the means of the columns."""
    n, width = rows.v.shape
    memory.require(
        3 * units * width * rows.v.itemsize,
        f"a model with {units} hidden units and {width} columns",
        "take fewer units",
    )
    known = ~np.isnan(rows.v)
    share = known * (np.ones(n) if rows.weights is None else rows.weights)[:, None]
    mean = (share * np.where(known, rows.v, 0)).sum(axis=0) / share.sum(axis=0)
    visible = Binary()
    dtype = jax.dtypes.canonicalize_dtype(rows.v.dtype)
    W = WEIGHT_SCALE * random.standard_normal((units, width))
    c = _field_of_data(visible, mean.astype(dtype), n)
    return GrandCanonicalRBM(
        W.astype(dtype), np.zeros(units, dtype), c, visible, Binary(), potential
    )


def with_spare_units(
    model: GrandCanonicalRBM, random: np.random.RandomState, most: int | None
) -> GrandCanonicalRBM:
    """The model with units that are off behind the others, so that it need not grow at once."""
    # Few sizes, so that a search over prices compiles few programs.
    spare = max(FEWEST_SPARE, growth.spare(float(model.chemical_potential())))
    stored = model.max_hidden + (1 << (spare - 1).bit_length())
    stored += -stored % layer_size.BLOCK  # else steps take a sixth longer
    count = max(0, (stored if most is None else min(stored, most)) - model.max_hidden)
    dtype = model.W.dtype
    W = WEIGHT_SCALE * random.standard_normal((count, model.n_visible))
    W = np.concatenate([model.W, W.astype(dtype)])
    b = np.concatenate([model.b, np.full(count, model.potential.seed_bias, dtype)])
    return GrandCanonicalRBM(W, b, model.c, model.visible, model.hidden, model.potential)


_field_of_data = eqx.filter_jit(Binary.field_of_data)


def priced(model: GrandCanonicalRBM, potential: Potential) -> GrandCanonicalRBM:
    """The same weights and biases with another potential."""
    return GrandCanonicalRBM(model.W, model.b, model.c, model.visible, model.hidden, potential)


def fit(
    model: GrandCanonicalRBM,
    rows: Rows,
    settings: Settings,
    random: np.random.RandomState,
    chains: np.ndarray | None = None,
) -> Result:
    """Train the model; after an interrupt, what it was after the last whole epoch."""
    fit_key = new_key(random)
    key, fill_key = fold_in(fit_key, 0), fold_in(fit_key, 1)
    config = Config(
        epochs=settings.epochs,
        batch_size=_equal_batch(len(rows.v), settings.batch_size),
        negative=Persistent(k=settings.gibbs_steps, chains=settings.chains),
        optimizer=Optimizer(
            rule="sgd",
            learning_rate=settings.learning_rate,
            decay_from=DECAY_FROM if settings.decays else 1.0,
        ),
        monitor_rows=_monitored(len(rows.v)),
        seed_scale=WEIGHT_SCALE,
        max_units=settings.max_units if model.potential.is_unbounded else None,
        # Idle units that earn log 2 leave the bound of the window open.
        window=model.potential.absorb_log2,
    )
    needs.require(model, len(rows.v), config)
    missing = np.isnan(rows.v)
    v, observed = rows.v, Observed()
    if rows.weights is not None:
        observed = replace(observed, weights=jax.device_put(rows.weights.astype(model.W.dtype)))
    if missing.any():
        v = completion.complete(model, v, fill_key, FIRST_FILLING).states
        observed = replace(observed, missing=jax.device_put(missing))
    if chains is None or len(chains) != settings.chains:
        chains = v[random.randint(len(v), size=settings.chains)]
    data = Dataset("X", rows.domain, v.astype(rows.domain.dtype))
    state = _start(model, config, chains, key)
    history = []
    try:
        with closing(train(None, data, config, state=state, observed=observed)) as trained:
            records: Iterator[Record] = trained
            if settings.show is not None:
                records = shown(trained, settings.show, settings.epochs)
            for record in records:
                state = record.state
                history.append(record.facts())
    except KeyboardInterrupt:
        warnings.warn(
            f"fit was interrupted in epoch {state.epoch + 1} of {settings.epochs}: the model is "
            f"that of the end of epoch {state.epoch}, and can be used.",
            ConvergenceWarning,
            stacklevel=5,
        )
    filled = v if state.carry.completed is None else np.asarray(state.carry.completed)
    return Result(filled, state.model, np.asarray(state.carry.negative), history)


def _equal_batch(n: int, most: int) -> int:
    """Rows in a batch, so that fewer of n rows are left out of an epoch than it has batches.

    `most`, or where that leaves out more, n // ⌈n / most⌉.
    """
    return most if n % most < n // most else n // -(-n // most)


def _monitored(n: int) -> int:
    """Rows on which epochs are recorded, 1, 10, 100 or 1000: few shapes to compile."""
    return int(10 ** min(3, int(np.log10(n))))


def _start(
    model: GrandCanonicalRBM, config: Config, chains: np.ndarray, key: jax.Array
) -> TrainState:
    """The state before the first epoch; offsets are those of uncentred training."""
    n, k, dtype = model.n_visible, model.max_hidden, model.W.dtype
    carry = Carry(
        model=model,
        optimizer=config.optimizer.update_rule(dtype).init(parameters(model)),
        negative=jax.device_put(chains.astype(dtype)),
        v_offset=jax.device_put(np.zeros(n, dtype)),
        h_offset=jax.device_put(np.zeros(k, dtype)),
    )
    return TrainState(carry, key, epoch=0, width=k)


def new_key(random: np.random.RandomState) -> jax.Array:
    """A random key from a generator of numpy."""
    return key_of_seed(random.randint(np.iinfo(np.int32).max))
