r"""Looks at a model in training: its log-likelihood, and whether its chains still cross.

One pass over a ladder 0 = β_0 < … < β_M = 1 moves three groups of rows at once:

- forward, from independent columns: log w = Σ_t F_t(v_t) − F_{t+1}(v_t), and ⟨e^{log w}⟩ = Z_M/Z_0;
- backward, from the chains of the training: ⟨e^{−log w}⟩ = Z_0/Z_M if they are draws of the model;
- the same chains at β = 1, to see after M Gibbs steps how much of where they were is left.

Forward estimates of log Z are too low on average, backward ones too high. Their middle is the
estimate, and half their distance, or the standard error if that is larger, its error. See
docs/training.md for what is done with it.
"""

import math
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.data.dataset import Dataset, Domain
from vrbm.model import GrandCanonicalRBM, Unit, exact
from vrbm.model.path import Path
from vrbm.model.weights import log_mean_exp
from vrbm.training import window
from vrbm.training.config import Config
from vrbm.training.monitor import Monitor
from vrbm.training.negative import Persistent
from vrbm.training.tempered import Tempered
from vrbm.typing import Batch, Chains, RandomKey, Scalar, VisibleBias

#: Chains of each group, and temperatures of the ladder.
CHAINS, TEMPERATURES = 32, 200
#: Models whose smaller layer has at most so many units are enumerated.
ENUMERATED = 10
#: The largest part of a run's time that looks may take, and what a product of a row with W costs in
#: a look, with the functions between products, relative to one in training.
SHARE, RELATIVE_COST = 0.15, 1.5
#: The largest error of log Z, in nats, and the fewest effective chains of a look that counts.
TRUSTED, FEW = 0.5, 5.0
#: Leading directions of the data along which chains are followed, and the rows they are found by.
DIRECTIONS, ROWS = 3, 1000
# Number of the key of a look: no epoch has it.
LOOK = 2**32 - 5


@dataclass(frozen=True)
class Look:
    """What was found of one model."""

    log_partition: float
    error: float
    """of log Z, in nats; 0 where exact"""
    doubt: str | None
    """why log Z cannot be trusted, if so"""
    correlation: float
    """the largest, over directions, between where chains were and where they are M steps later"""
    upper: float = np.inf
    """what log Z hardly exceeds: the larger of the two estimates, and two errors; infinite where
    chains have missed what others found"""


class Looker:
    """Estimates log Z of models of one shape after another, at the epochs that are due."""

    def __init__(
        self, data: Dataset, rows: np.ndarray, monitor: Monitor, config: Config, are_whole: bool
    ) -> None:
        """`rows` are some training rows (n, N) as values of the visible units."""
        self.config = config
        self.every = spacing(config, len(data.train))
        self.obstacle: str | None = None
        """why these rows have no likelihood, if so"""
        if not are_whole:
            self.obstacle = "rows with missing entries are not looked at"
        if data.domain is Domain.UNIT:
            self.obstacle = "values between 0 and 1 have no probability"
        self.independent: float | None = None
        """the mean log-likelihood of the rows that are monitored, under independent columns"""
        if self.every == 0:
            return
        self.mean, self.count = rows.mean(axis=0), len(data.train)
        self.directions = jax.device_put(leading_directions(rows[:: max(1, len(rows) // ROWS)]))
        if self.obstacle is None:
            watched = np.asarray(monitor.rows[0], np.float64)
            self.independent = float(independent_units(monitor.visible, rows, watched).mean())

    def is_due(self, left: int) -> bool:
        """Whether to look so many epochs before the last of a layer: then, and every so many."""
        return self.every > 0 and left % self.every == 0

    def __call__(
        self, model: GrandCanonicalRBM, chains: Chains, width: int, key: RandomKey, more: int = 1
    ) -> Look:
        """Look at the first `width` units of a model, with the chains that stand for it.

        With `more` times as many chains, and its square as many temperatures.
        """
        base = model.visible.field_of_data(jnp.asarray(self.mean, model.W.dtype), self.count)
        count = CHAINS * more
        starts = chains[np.linspace(0, len(chains) - 1, count).astype(int)]
        is_small = min(model.n_visible, width) <= ENUMERATED
        steps = TEMPERATURES * more**2
        found = jax.device_get(
            three_ways(model, base, starts, self.directions, width, is_small, steps, key)
        )
        at_0, forward, backward, correlation, whole = found
        if is_small:
            return Look(float(whole), 0.0, None, float(correlation), upper=float(whole))
        return judged(float(at_0), forward, backward, float(correlation))


def judged(at_0: float, forward: np.ndarray, backward: np.ndarray, correlation: float) -> Look:
    """log Z and its error from log Z_0 and the log-weights of both ways."""
    if not (np.isfinite(forward).all() and np.isfinite(backward).all()):
        return Look(np.nan, np.inf, "the log-weights are not finite", correlation)
    low, high = log_mean_exp(forward), log_mean_exp(-backward)
    spread = -high.value - low.value
    errors = float(np.hypot(low.standard_error, high.standard_error))
    error = max(spread / 2, errors)
    doubt = None
    if low.effective_sample_size < FEW:
        doubt = f"only {low.effective_sample_size:.1f} of {len(forward)} chains count"
    elif spread < -4 * errors:
        doubt = "the chains are not typical of the model"
    elif error > TRUSTED:
        doubt = f"log Z is uncertain by {error:.1f} nats"
    is_bounded = low.effective_sample_size >= FEW and spread >= -4 * errors
    upper = at_0 + max(low.value, -high.value) + 2 * errors if is_bounded else np.inf
    return Look(at_0 + (low.value - high.value) / 2, error, doubt, correlation, upper)


def spacing(config: Config, rows: int) -> int:
    """Epochs from one look to the next, such that they cost at most `SHARE`; 0: no looks.

    Costs are counted in products of a row with W: the same run looks at the same epochs anywhere.
    """
    negative = config.negative
    if config.looks == 0 or not isinstance(negative, Persistent | Tempered):
        return 0
    batch = min(config.batch, rows)
    epoch = rows // batch * (3 * batch + (2 * negative.k + 2) * negative.chains)
    look = RELATIVE_COST * 6 * CHAINS * TEMPERATURES
    every = max(math.ceil(look / (SHARE * epoch)), math.ceil(config.plan.training / config.looks))
    if config.early_stopping:  # without looks it could not be
        every = min(every, max(1, config.plan.training // 10))
    return every if every <= config.n_epochs else 0


def independent_units(unit: Unit, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The log-likelihood of other rows under independent units with the means of rows, (m,).

    One row of no preference is added. Entries between two states are shares of both.
    """
    mean = unit.shares(rows.mean(axis=0, dtype=np.float64))
    log_p = np.log((len(rows) * mean + 1 / mean.shape[-1]) / (len(rows) + 1))
    return np.einsum("nuk,uk->n", unit.shares(np.asarray(others, np.float64)), log_p)


def leading_directions(rows: np.ndarray) -> np.ndarray:
    """The first principal directions of rows (n, N), (N, `DIRECTIONS`), by subspace iteration."""
    centred = (rows - rows.mean(axis=0)).astype(np.float32)
    size = min(DIRECTIONS, *centred.shape)
    basis = np.random.RandomState(0).standard_normal((centred.shape[1], size)).astype(np.float32)
    for _ in range(20):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis) + 1e-12 * basis)
    return np.asarray(basis)


@eqx.filter_jit
def three_ways(
    model: GrandCanonicalRBM,
    base: VisibleBias,
    starts: Chains,
    directions: Any,
    width: int,
    is_small: bool,
    temperatures: int,
    key: RandomKey,
) -> tuple[Scalar, Batch, Batch, Scalar, Scalar]:
    """log Z_0, log-weights forward and backward, the correlation that is left, and log Z if small.

    Where the model is small, log Z is exact and the weights are zero.
    """
    path = Path(window.narrow(model, model.prices(), width), base)
    dtype = model.W.dtype
    count = len(starts)
    start_key, key = jax.random.split(key)
    v = jnp.concatenate([path.start(start_key, count), starts, starts])
    up = jnp.linspace(0, 1, temperatures, dtype=dtype)
    down, one = up[::-1], jnp.ones_like(up)

    def by_group(*betas: Any) -> Any:
        return jnp.repeat(jnp.stack(betas), count)[:, None]

    def step(carry: Any, inputs: Any) -> Any:
        (v, log_weights), (at, key) = carry, inputs
        low = by_group(up[at], down[at + 1], one[at])
        high = by_group(up[at + 1], down[at], one[at])
        x = path.fields(v)
        gain = path.gain(v[: 2 * count], x[: 2 * count], low[: 2 * count], high[: 2 * count])
        after = by_group(up[at + 1], down[at + 1], one[at])
        return (path.step(x, after, key), log_weights + gain), None

    steps = jnp.arange(temperatures - 1), jax.random.split(key, temperatures - 1)
    (v, log_weights), _ = jax.lax.scan(step, (v, jnp.zeros(2 * count, dtype)), steps)
    before, now = starts @ directions, v[2 * count :] @ directions
    before, now = before - before.mean(axis=0), now - now.mean(axis=0)
    scale = jnp.sqrt((before**2).mean(axis=0) * (now**2).mean(axis=0))
    correlation = ((before * now).mean(axis=0) / jnp.maximum(scale, 1e-12)).max()
    at_0 = path.log_partition_at_0()
    whole = exact.log_partition(path.model) if is_small else at_0
    return at_0, log_weights[:count], log_weights[count:], correlation, whole
