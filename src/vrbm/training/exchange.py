r"""Hidden units exchanged with a reservoir: many to begin with, and each has to earn its price.

A run begins with a pool of units, drawn along the correlations of the data. Between `FIRST` and
`LAST` of the run the units that do not pay go back, the poorest first, while the others learn what
these knew. Unit a earns what the model would lose without it, in nats a row, and pays for the
weights that the data determine [docs/theory.md],

    e_a = ⟨g_a⟩ + log⟨e^{−g_a}⟩ ≥ γ_a/n,    γ_a = Σ_i H_ai / (H_ai + λ_a),

where g_a(v) is what it adds to log p(v) beyond what visible biases can, H_ai the variance of
(⟨h_a⟩ − o_a)(v_i − o_i) over rows, o the means, and n the number of rows. λ_a is the strength of
its penalty: in that part of the run the one of highest evidence, λ_a = γ_a/(n Σ_i w_ai²), under
which of several units that share a feature one comes to have it. Two units that can be replaced by
one for less than a price become one.
"""

import warnings
from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.model import GrandCanonicalRBM
from vrbm.model.linear import dot
from vrbm.training import growth
from vrbm.training.config import Config
from vrbm.training.optimizer import UpdateRule
from vrbm.training.step import Carry
from vrbm.typing import Field, Hidden, HiddenBias, RandomKey, Visible

#: The parts of a run between which units are removed.
FIRST, LAST = 0.3, 0.8
#: The part that is removed at once of the units that do not pay; the last time all of them.
AT_ONCE = 1 / 3
#: The largest factor by which the strength of a penalty changes at once.
LARGEST_CHANGE = 2.0
#: Units of the pool that a run begins with, where no limit is given.
POOL = 512
#: Standard deviation of the log-odds of a new unit over the rows.
BIRTH_SCALE = 0.1
#: The part of the pool in use from which on it may have been too small.
FULL = 0.9
#: Rows by which units are judged.
ROWS = 5000
#: Bias of a 0/1 unit that is off, and the largest weight of a unit that is not in use.
OFF, UNUSED = -30.0, 1e-5
#: The fewest units stored.
FEWEST = 32
#: The cosine from which on units are alike, so that one may take over what the other does.
ALIKE = 0.9
#: Gauss-Newton steps by which one unit is fitted to two.
FITTED = 6
# Number of the key of births: no epoch has it.
BIRTHS = 2**32 - 6


class SizeWarning(UserWarning):
    """The size that was found is not that of the data alone."""


class Worth(eqx.Module):
    """What units earn and cost, in nats a row, (K,)."""

    earnings: HiddenBias
    errors: HiddenBias
    """standard errors of the earnings"""
    prices: HiddenBias
    biases: Field
    """what visible biases take over from a unit that is removed, (K, N)"""


class Merger(eqx.Module):
    """For each unit one that could replace it and its partner, the unit most like it, (K,)."""

    partner: jax.Array
    W: Field
    b: HiddenBias
    loss: HiddenBias
    """in nats a row"""
    biases: Field
    """what visible biases take over, (K, N)"""


@eqx.filter_jit
def worth(model: GrandCanonicalRBM, v: Visible, strengths: HiddenBias, count: int) -> Worth:
    """Earnings and prices of all units by rows v (m, N) that stand for `count`."""
    rows = v
    x = dot(v, model.W.T)
    h = model.hidden.mean(x + model.b)
    h, v = h - h.mean(axis=0), v - v.mean(axis=0)
    information = dot((h**2).T, v**2) / len(v) - (dot(h.T, v) / len(v)) ** 2
    determined = information / (information + strengths[:, None] + 1e-30)
    determined = determined.sum(axis=1)
    cumulant = model.hidden.cumulant(x + model.b)
    x = x - x.mean(axis=0)
    slope = (cumulant * x).mean(axis=0) / ((x**2).mean(axis=0) + 1e-30)
    earnings, errors = lost(cumulant - slope * x)
    is_alone = jnp.abs(likeness(model, v)).max(axis=1) < ALIKE
    earnings = jnp.where(is_alone, jnp.maximum(earnings, explained(model, rows)), earnings)
    return Worth(earnings, errors, determined / count, slope[:, None] * model.W)


def lost(gain: Hidden) -> tuple[HiddenBias, HiddenBias]:
    """⟨g⟩ + log⟨e^{−g}⟩ over rows (m, K), what a model loses with g(v), and its standard error."""
    gain = gain - gain.mean(axis=0)
    log_ratio = jax.nn.logsumexp(-gain, axis=0) - np.log(len(gain))
    influence = gain + jnp.expm1(-gain - log_ratio)
    error = jnp.sqrt((influence**2).mean(axis=0) / len(gain))
    return jnp.maximum(log_ratio, 0), error


def explained(model: GrandCanonicalRBM, v: Visible) -> HiddenBias:
    """Σ_i I(h_a; v_i) − I(h_a; v) over rows v (m, N): what each unit alone explains, (K,).

    It is a bound, from below, on the gain over independent columns of the mixture of two that a
    unit makes. Rows of modes far apart hold no states between these, without which e_a is blind.
    """
    (low, high), (off, on) = (
        (unit.states[0], unit.states[-1]) for unit in (model.visible, model.hidden)
    )
    u = (v - low) / (high - low)
    r = (model.hidden.mean(dot(v, model.W.T) + model.b) - off) / (on - off)
    share, both = r.mean(axis=0), dot(r.T, u) / len(v)
    given_on = both / jnp.maximum(share, 1e-12)[:, None]
    given_off = (u.mean(axis=0) - both) / jnp.maximum(1 - share, 1e-12)[:, None]
    of_columns = (
        entropy(u.mean(axis=0))
        - share[:, None] * entropy(given_on)
        - (1 - share)[:, None] * entropy(given_off)
    )
    of_rows = entropy(share) - entropy(r).mean(axis=0)
    return of_columns.sum(axis=1) - of_rows


def entropy(p: Field) -> Field:
    """−p log p − (1 − p) log(1 − p)."""
    return -jax.scipy.special.xlogy(p, p) - jax.scipy.special.xlogy(1 - p, 1 - p)


def likeness(model: GrandCanonicalRBM, v: Visible) -> Field:
    """Cosines between the weights of units, in standard deviations of rows v; 0 with itself."""
    scaled = model.W * v.std(axis=0)
    scaled = scaled / (jnp.linalg.norm(scaled, axis=1, keepdims=True) + 1e-12)
    alike = dot(scaled, scaled.T)
    return alike * (1 - jnp.eye(len(alike), dtype=v.dtype))


@eqx.filter_jit
def mergers(model: GrandCanonicalRBM, v: Visible) -> Merger:
    """For each unit the best one with x = α x_a + β x_b + t in its place and that of its partner b.

    It has Γ(x) = Γ(x_a) + Γ(x_b) up to what visible biases can make up, by least squares over rows.
    """
    alike = likeness(model, v)
    units = jnp.arange(len(alike))
    partner = jnp.abs(alike).argmax(axis=1)
    sign = jnp.where(alike[units, partner] < 0, -1, 1).astype(v.dtype)
    first = dot(v, model.W.T) + model.b
    second = first[:, partner]
    whole = model.hidden.cumulant(first) + model.hidden.cumulant(second)
    linear = jnp.stack([first, second, jnp.ones_like(first)])  # (3, m, K)

    def fitted(theta: Field) -> tuple[Field, Field]:
        """What is left of Γ(x_a) + Γ(x_b), and a step of Gauss and Newton with linear terms."""
        x = jnp.einsum("jmk,jk->mk", linear, theta)
        left = whole - model.hidden.cumulant(x)
        slopes = jnp.concatenate([model.hidden.mean(x) * linear, linear])  # (6, m, K)
        scale = jnp.sqrt((slopes**2).mean(axis=1)) + 1e-12  # (6, K)
        slopes = slopes / scale[:, None]
        square = jnp.einsum("imk,jmk->kij", slopes, slopes, precision="highest") / len(v)
        right = jnp.einsum("imk,mk->ki", slopes, left, precision="highest") / len(v)
        ridge = 1e-4 * jnp.eye(len(slopes), dtype=v.dtype)
        step = jnp.linalg.solve(square + ridge, right[..., None])[..., 0].T / scale
        return left, step

    theta = jnp.stack([jnp.ones_like(sign), sign, jnp.zeros_like(sign)])
    for _ in range(FITTED):
        theta = theta + fitted(theta)[1][:3]
    left, step = fitted(theta)
    left = left - jnp.einsum("jmk,jk->mk", linear[:2], step[3:5])
    theta = jnp.where(jnp.isfinite(theta), theta, 0)
    loss = jnp.where(jnp.isfinite(left).all(axis=0), lost(left)[0], jnp.inf)
    return Merger(
        partner,
        theta[0][:, None] * model.W + theta[1][:, None] * model.W[partner],
        theta[0] * model.b + theta[1] * model.b[partner] + theta[2],
        loss,
        step[3][:, None] * model.W + step[4][:, None] * model.W[partner],
    )


@dataclass(frozen=True, eq=False)
class Exchanges:
    """When units are exchanged, and by which rows."""

    rows: Visible
    """some training rows, (m, N)"""
    count: int
    """n, the number of all"""
    strength: float
    """of the penalty that all units have in the end"""
    first: int
    last: int
    every: int
    """epochs from one exchange to the next"""
    pool: int
    """units to begin with"""

    @classmethod
    def of(
        cls, model: GrandCanonicalRBM, rows: np.ndarray, count: int, config: Config
    ) -> "Exchanges":
        """Those of a run with `count` training rows, of which some are given, (m, N)."""
        first, last = (max(1, int(part * config.n_epochs)) for part in (FIRST, LAST))
        return cls(
            rows=jnp.asarray(rows[:: -(-len(rows) // ROWS)], model.W.dtype),
            count=count,
            strength=float(config.penalty or 0),
            first=first,
            last=last,
            every=max(1, round((last - first) / config.exchanges)),
            pool=POOL if config.max_units is None else config.max_units,
        )

    def is_due(self, epoch: int) -> bool:
        """Whether units are removed before the epoch that follows."""
        return self.first <= epoch <= self.last and (self.last - epoch) % self.every == 0

    def opened(self, carry: Carry, rule: UpdateRule, key: RandomKey) -> Carry:
        """The state with the units that pay already, and the pool filled with new ones."""
        found = self.worth(carry)
        kept = np.flatnonzero(found.earnings >= found.prices)
        seed = int(jax.random.bits(jax.random.fold_in(key, BIRTHS), dtype=jnp.uint32))
        lacking = max(0, self.pool - len(kept))
        W = births(np.asarray(self.rows, np.float64), lacking, np.random.RandomState(seed))
        b = -W @ np.asarray(carry.v_offset, np.float64)
        return rearranged(carry, rule, kept, (W, b))

    def after(self, carry: Carry, rule: UpdateRule, is_last: bool) -> Carry:
        """The state with fewer units, unless all pay, and with new strengths of the penalty."""
        model, strengths = carry.model, np.asarray(carry.penalties, np.float64)
        found, merger = self.worth(carry), jax.device_get(mergers(model, self.rows))
        model, kept = _without_the_poorest(model, found, merger, 1.0 if is_last else AT_ONCE)
        squares = np.maximum((np.asarray(carry.model.W, np.float64) ** 2).sum(axis=1), 1e-12)
        best = np.sqrt(strengths * found.prices / squares)
        strengths = np.clip(best, strengths / LARGEST_CHANGE, strengths * LARGEST_CHANGE)
        if is_last:
            strengths = np.minimum(strengths, self.strength)
        penalties = jnp.asarray(strengths, model.W.dtype)
        return rearranged(replace(carry, model=model, penalties=penalties), rule, kept)

    def closed(self, carry: Carry, rule: UpdateRule) -> Carry:
        """The state with the units in use alone, those that earn most first; one at least."""
        is_on = in_use(carry.model)
        if is_on.sum() > FULL * self.pool:
            warnings.warn(
                f"{is_on.sum()} of the {self.pool} hidden units that the run began with earn their "
                "price: the data may have a use for more. Allow more (max_units, or max_hidden of "
                "an estimator) to find out.",
                SizeWarning,
                stacklevel=2,
            )
        order = np.argsort(-self.worth(carry).earnings, kind="stable")
        kept = order[is_on[order]] if is_on.any() else order[:1]
        return rearranged(carry, rule, kept, size=len(kept))

    def worth(self, carry: Carry) -> Worth:
        """That of the units of a state."""
        assert carry.penalties is not None
        found: Worth = jax.device_get(worth(carry.model, self.rows, carry.penalties, self.count))
        return found


def births(rows: np.ndarray, units: int, random: np.random.RandomState) -> np.ndarray:
    """Weights (units, N) drawn along the correlations between columns of rows (m, N)."""
    deviations = rows.std(axis=0)
    # A constant column has no correlations.
    deviations = np.where(deviations > 0, deviations, np.inf)
    scaled = (rows - rows.mean(axis=0)) / deviations
    correlations = scaled.T @ scaled / len(rows)
    np.fill_diagonal(correlations, 0)
    values, vectors = np.linalg.eigh(correlations)
    scale = np.sqrt(np.maximum(values, 0) + 1e-6)
    W = (random.standard_normal((units, len(scale))) * scale) @ vectors.T
    W *= BIRTH_SCALE / np.linalg.norm(W, axis=1, keepdims=True)
    return np.asarray(W / deviations)


def _without_the_poorest(
    model: GrandCanonicalRBM, found: Worth, merger: Merger, part: float
) -> tuple[GrandCanonicalRBM, np.ndarray]:
    """The model without that part of the units that do not pay, and which are kept, best first.

    A unit does not pay if it, or what it adds to its partner, is worth less than its price.
    """
    is_on = in_use(model)
    W, b, c = (np.array(x, np.float64) for x in (model.W, model.b, model.c))
    costs = np.stack([found.earnings, merger.loss]) / np.maximum(found.prices, 1e-12)
    costs[:, ~is_on] = np.inf
    costs[1, ~is_on[merger.partner]] = np.inf
    most = np.ceil(part * (costs.min(axis=0) < 1).sum())
    is_gone, is_touched, removed = ~is_on, ~is_on, 0
    for number in np.argsort(costs, axis=None, kind="stable"):
        is_merger, unit = divmod(int(number), len(b))
        if costs[is_merger, unit] >= 1 or removed >= most:
            break
        other = int(merger.partner[unit])
        if is_touched[unit] or (is_merger and is_touched[other]):
            continue
        is_touched[unit] = is_gone[unit] = True
        removed += 1
        c += (merger if is_merger else found).biases[unit]
        if is_merger:
            is_touched[other] = True
            W[other], b[other] = merger.W[unit], merger.b[unit]
    kept = np.flatnonzero(~is_gone)
    kept = kept[np.argsort(-found.earnings[kept], kind="stable")]
    arrays = tuple(jnp.asarray(x, model.W.dtype) for x in (W, b, c))
    return eqx.tree_at(lambda m: (m.W, m.b, m.c), model, arrays), kept


def in_use(model: GrandCanonicalRBM) -> np.ndarray:
    """Which units have weights, (K,)."""
    return np.abs(np.asarray(model.W)).max(axis=1) > UNUSED


def stored(units: int) -> int:
    """The number of units stored for so many: one of few, so that little is compiled."""
    size = FEWEST
    while size < units:
        size *= 4 if size < 128 else 2
    return size


def rearranged(
    carry: Carry,
    rule: UpdateRule,
    kept: np.ndarray,
    born: tuple[np.ndarray, np.ndarray] | None = None,
    size: int | None = None,
) -> Carry:
    """The state with the units `kept`, in this order, new ones behind them, and others off.

    Those `born` have these weights and biases.
    """
    model, dtype = carry.model, np.dtype(carry.model.W.dtype)
    used = len(kept) + (0 if born is None else len(born[1]))
    size = stored(used) if size is None else size
    old, new = slice(0, len(kept)), slice(len(kept), used)
    W = np.zeros((size, model.n_visible), dtype)
    b = np.full(size, OFF if model.hidden.states[0] == 0 else 0, dtype)
    h_offset = np.zeros(size, dtype)
    W[old], b[old] = np.asarray(model.W)[kept], np.asarray(model.b)[kept]
    h_offset[old] = np.asarray(carry.h_offset)[kept]
    if born is not None:
        W[new], b[new] = born
        h_offset[new] = sum(model.hidden.states) / 2
    assert carry.penalties is not None
    penalties = np.full(size, np.asarray(carry.penalties).min(), dtype)
    penalties[old] = np.asarray(carry.penalties)[kept]
    after = eqx.tree_at(lambda m: (m.W, m.b), model, (jnp.asarray(W), jnp.asarray(b)))
    return growth.resized(carry, after, rule, jnp.asarray(h_offset), kept, jnp.asarray(penalties))
