r"""Hidden units in exchange with a reservoir: the size of a layer, found while it is trained.

A run begins with many units and returns them, step by step, as long as the others can take over
what they did. What is watched is the log pseudo-likelihood of rows that are not trained on
(`vrbm.model.pseudo`): it needs no log Z, and the running average of the parameters frees it of most
of the noise of the steps. The layer sought is the smallest under which these rows lose no more than
`NEGLIGIBLE` nats and `TOLERANCE` of what the best layer gains for them over independent columns.
Theory: docs/theory.md, "Units in exchange with a reservoir".

The first half of a run is for the search. Layers are compared under one low rate, and each is
smaller than the last by up to a third. One that is too small is trained for another level, to heal;
then the run goes back to the last good layer and goes down from there in small steps, until two of
them fail. The size is where the concave curve through all that was measured (`size_curve`) reaches
what is allowed. The second half trains the units that are left, weak again, on all rows.
"""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import equinox as eqx
import jax
import numpy as np

from vrbm.data.dataset import Dataset
from vrbm.model import GrandCanonicalRBM, pseudo
from vrbm.model.random import fold_in
from vrbm.training import growth
from vrbm.training.beginning import field_of_data, first_units
from vrbm.training.config import Config
from vrbm.training.control import Kept, kept, restored
from vrbm.training.gradient import parameters
from vrbm.training.looks import independent_columns
from vrbm.training.merging import mergers
from vrbm.training.observed import Observed
from vrbm.training.optimizer import COMPARED_FROM, SEARCH, UpdateRule
from vrbm.training.size_curve import SizeCurve
from vrbm.training.source import encoded
from vrbm.training.step import Carry, Rules
from vrbm.typing import Field, RandomKey

#: What a smaller layer may lose: a part of what the best one gains over independent columns, and
#: nats a row that are of no use to anyone, by which trained layers differ by chance.
TOLERANCE, NEGLIGIBLE = 0.0075, 0.01
#: Levels that a whole run would have, were all of it for the search.
LEVELS = 57
#: The part of the units that is left after a level: at most until a layer is too small, after that,
#: and while there is nothing to lose.
STEP, FINE_STEP, NOISE_STEP = 0.75, 0.93, 0.25
#: Levels after which a layer that is too small is given up.
FAILURES = 2
#: Rows that are held out: a part of all, at most so many; below so few, training rows serve.
HELD_OUT, MOST_HELD_OUT, FEWEST_HELD_OUT = 0.2, 2000, 10
#: Rows by which the units to be returned, and the first directions, are found.
RANKED_BY, SEEDED_BY = 1000, 5000
#: Standard deviation of the log-odds of a new unit over rows, and what of its weights is chance.
BIRTH_SCALE, CHANCE = 0.3, 0.3
#: The largest eigenvalue of the couplings ¼ Σ_a w_a w_aᵀ, in standard deviations of the columns, of
#: all new units together. From 1 on a layer orders by itself, whatever the rows.
COUPLING = 0.5
#: Correlations count from so many standard errors on.
SIGNIFICANT = 3.0
#: The prior of a unit is a t distribution: where Σ_i w_ai² is so many times what a normal one
#: expects, it pulls half as much. A unit that stands for many columns needs large weights.
TAIL = 10.0
#: The part of one step in the running average of the parameters, and how many times the average is
#: renewed within a level, at least.
AVERAGE_RATE, AVERAGES = 0.01, 3.0
#: The part of the first units in use from which on there may have been too few.
FULL = 0.9
#: Bias of a 0/1 unit that is off, and the largest weight of a unit that is not in use.
OFF, UNUSED = -30.0, 1e-5
#: The fewest units stored.
FEWEST = 32
# Reserved fold_in constant of the key of births.
BIRTHS = 2**32 - 6


class SizeWarning(UserWarning):
    """The size that was found is not that of the data alone."""


@dataclass(frozen=True)
class Descent:
    """Where the search for the size stands."""

    curve: SizeCurve = field(default_factory=SizeCurve)
    """log pseudo-likelihoods of held-out rows by size"""
    good: int | None = None
    """the last size that was large enough, the smallest so far"""
    failures: int = 0
    """levels since then"""
    is_fine: bool = False
    """whether a layer was too small, so that steps are small now"""
    is_over: bool = False
    kept: Kept | None = None
    """the layer of the size `good`"""

    def facts(self) -> dict[str, Any]:
        """All but the arrays, for a file."""
        facts = {name: value for name, value in vars(self).items() if name != "kept"}
        return facts | {"curve": vars(self.curve)}


@dataclass(frozen=True, eq=False)
class Exchange:
    """When units are returned, and the rows that decide."""

    heldout: Field
    """rows that are not trained on while the size is found, (m, N)"""
    weights: np.ndarray
    """their weights, (m,)"""
    rows: Field
    """some training rows, (n, N)"""
    trained: np.ndarray | None
    """numbers of the rows that are trained on meanwhile; None: all"""
    independent: np.ndarray
    """their log-likelihoods under independent columns, (m,)"""
    first: int
    last: int
    every: int
    """epochs: of the first level, of the last, and from one to the next"""
    pool: int
    """units to begin with"""

    @classmethod
    def of(
        cls,
        model: GrandCanonicalRBM,
        data: Dataset,
        config: Config,
        observed: Observed,
        is_streamed: bool,
    ) -> "Exchange":
        """That of a run. Validation rows decide where there are any."""
        numbers, apart, trained = _split(len(data.train), observed, is_streamed)
        heldout, counts = data.train[apart], np.ones(len(apart))
        if observed.weights is not None:
            counts = np.asarray(observed.weights, np.float64)[apart]
        if data.validation is not None:
            heldout = data.validation[_shuffled(len(data.validation))[:MOST_HELD_OUT]]
            counts, trained = np.ones(len(heldout)), None
        seen = data.train[(numbers if trained is None else trained)[:SEEDED_BY]]
        v, judged = (encoded(model.visible, rows, data.domain) for rows in (seen, heldout))
        dtype = np.dtype(model.W.dtype)
        low, high = model.visible.states[0], model.visible.states[-1]
        shares, judged_shares = ((rows - low) / (high - low) for rows in (v, judged))
        last = max(1, int(SEARCH * config.n_epochs))
        return cls(
            heldout=jax.device_put(judged.astype(dtype)),
            weights=counts / counts.sum(),
            rows=jax.device_put(v.astype(dtype)),
            trained=trained,
            independent=independent_columns(shares, judged_shares),
            first=max(1, int(COMPARED_FROM * last)),
            last=last,
            every=level_epochs(config),
            pool=config.max_units or first_units(model.n_visible),
        )

    def is_due(self, epoch: int, descent: Descent) -> bool:
        """Whether a level ends before the epoch that follows."""
        is_level = epoch > self.first and (epoch - self.first) % self.every == 0
        return not descent.is_over and (is_level or epoch >= self.last)

    @property
    def step(self) -> float:
        """The part of the units that is left after a level, until a layer is too small."""
        levels = 1 + (self.last - self.first) // self.every
        return min(STEP, float(self.pool ** (-1.1 / levels)))

    def opened(self, carry: Carry, rule: UpdateRule, key: RandomKey) -> Carry:
        """The state with new units in the place of its own."""
        random = np.random.RandomState(np.asarray(jax.random.key_data(fold_in(key, BIRTHS))))
        W = births(np.asarray(self.rows, np.float64), self.pool, random)
        return self._begun(carry, rule, W)

    def reopened(self, carry: Carry, rule: UpdateRule) -> Carry:
        """The state with the same units, weak again.

        Units that were strong when others were taken away are held where they were. What they
        learn in common from weak beginnings is better, and no more than their directions is needed.
        """
        W = np.asarray(carry.model.W, np.float64)[in_use(carry.model)]
        return self._begun(carry, rule, W)

    def _begun(self, carry: Carry, rule: UpdateRule, W: np.ndarray) -> Carry:
        """The state with weak units along W (K, N) alone, that leave the means of columns be."""
        model, rows = carry.model, np.asarray(self.rows, np.float64)
        W = weakened(W, rows.std(axis=0))
        b = -W @ np.asarray(carry.v_offset, np.float64)
        dtype = np.dtype(model.c.dtype)
        means = field_of_data(model.visible, rows.mean(axis=0).astype(dtype), len(rows))
        c = np.asarray(means) - _mean_at_0(model) * W.sum(axis=0)
        model = eqx.tree_at(lambda m: m.c, model, jax.device_put(c.astype(dtype)))
        return rearranged(replace(carry, model=model), rule, np.arange(0), (W, b))

    def after(
        self, carry: Carry, descent: Descent, rules: Rules, epoch: int, key: RandomKey
    ) -> tuple[Carry, Descent]:
        """The state and the search after a level, with the layer that is tried next."""
        carry = _at_average(carry)
        size = int(in_use(carry.model).sum())
        least, descent = self._judged(carry.model, size, descent)
        if descent.failures == 0:
            current = kept(carry, rules.negative.chains_of(carry.negative))
            descent = replace(descent, kept=current)
        has_failed = descent.failures == FAILURES
        is_over = epoch >= self.last or size == 0 or (has_failed and descent.is_fine)
        if descent.failures and (is_over or has_failed):
            assert descent.kept is not None, "the first layer is good"
            carry = restored(carry, descent.kept, rules.update, rules.negative, key)
            size = int(in_use(carry.model).sum())
        if is_over:
            found = min(size, descent.curve.crossing(least))
            self._warn(found, epoch >= self.last and descent.failures == 0)
            descent = replace(descent, is_over=True, kept=None)
        elif descent.failures and not descent.is_fine and not has_failed:
            return carry, descent
        else:
            if has_failed:
                descent = replace(descent, is_fine=True, failures=0)
            step = FINE_STEP if descent.is_fine else self.step
            found = min(size - 1, int((step if np.isfinite(least) else NOISE_STEP) * size))
        carry = self.reduced(carry, rules.update, found) if found < size else carry
        return self.reopened(carry, rules.update) if is_over else carry, descent

    def _judged(
        self, model: GrandCanonicalRBM, size: int, descent: Descent
    ) -> tuple[float, Descent]:
        """What held-out rows must have, and the search with what they have under a layer.

        As long as no layer gained more over independent columns than chance may, each is as good as
        a larger one.
        """
        found = np.asarray(pseudo.log_pseudo_likelihood(model, self.heldout), np.float64)
        curve = descent.curve.measured(size, float(self.weights @ found))
        gains = found - self.independent
        highest = curve.highest()
        gain = highest - float(self.weights @ self.independent)
        error = np.sqrt((self.weights**2) @ (gains - self.weights @ gains) ** 2)
        least = highest - TOLERANCE * gain - NEGLIGIBLE if gain > SIGNIFICANT * error else -np.inf
        if curve.fitted()[size] >= least:
            return least, replace(descent, curve=curve, good=size, failures=0)
        return least, replace(descent, curve=curve, failures=descent.failures + 1)

    def _warn(self, size: int, is_cut_short: bool) -> None:
        if is_cut_short:
            warnings.warn(
                f"the run was too short to find the size of its layer: {size} hidden units are "
                "left, and fewer may do. Allow more epochs (n_iter of an estimator).",
                SizeWarning,
                stacklevel=2,
            )
        elif size > FULL * self.pool:
            warnings.warn(
                f"{size} of the {self.pool} hidden units that the run began with are needed: the "
                "data may have a use for more. Allow more (max_hidden of an estimator, or "
                "max_units) to find out.",
                SizeWarning,
                stacklevel=2,
            )

    def reduced(self, carry: Carry, rule: UpdateRule, size: int) -> Carry:
        """The state with `size` units: others are removed, or merged with the unit most like them.

        What costs the training rows least is done first; a unit takes part in one change.
        """
        model, v = carry.model, self.rows[:RANKED_BY]
        merged = mergers(model, v)
        removal, merger = jax.device_get(
            (pseudo.contributions(model, v), pseudo.replacements(model, v, *merged))
        )
        partner, merged_W, merged_b = jax.device_get(merged)
        is_on = in_use(model)
        costs = np.stack([removal.mean, np.where(is_on[partner], merger.mean, np.inf)])
        costs = np.where(is_on & np.isfinite(costs), costs, np.inf)
        W, b, c = (np.array(x, np.float64) for x in parameters(model))
        is_gone, is_changed, excess = ~is_on, ~is_on, int(is_on.sum()) - size
        for number in np.argsort(costs, axis=None, kind="stable"):
            is_merger, unit = divmod(int(number), len(b))
            other = int(partner[unit])
            if excess == 0 or is_changed[unit] or (is_merger and is_changed[other]):
                continue
            is_changed[unit] = is_gone[unit] = True
            excess -= 1
            c += (merger if is_merger else removal).biases[unit]
            if is_merger:
                is_changed[other] = True
                W[other], b[other] = merged_W[unit], merged_b[unit]
        dtype = np.dtype(model.W.dtype)
        arrays = tuple(jax.device_put(x.astype(dtype)) for x in (W, b, c))
        model = eqx.tree_at(lambda m: (m.W, m.b, m.c), model, arrays)
        return rearranged(replace(carry, model=model), rule, np.flatnonzero(~is_gone))

    def closed(self, carry: Carry, rule: UpdateRule) -> Carry:
        """The state with the units in use alone, those that contribute most first; one at least."""
        found = pseudo.contributions(carry.model, self.rows[:RANKED_BY])
        order = np.argsort(-np.asarray(found.mean), kind="stable")
        is_on = in_use(carry.model)
        chosen = order[is_on[order]] if is_on.any() else order[:1]
        return rearranged(carry, rule, chosen, size=len(chosen))


def level_epochs(config: Config) -> int:
    """Epochs from one level to the next."""
    return max(1, round(config.n_epochs / LEVELS))


def _split(
    count: int, observed: Observed, is_streamed: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Numbers of some rows, of those held out, and of those trained on meanwhile; None: all.

    The same rows are held out in each run, so that seeds differ in nothing but the training.
    A stream is too long to be learnt by heart, and of few rows none can be spared. Rows that miss
    entries are trained on.
    """
    if is_streamed:
        numbers = np.unique(np.linspace(0, count - 1, min(count, SEEDED_BY)).astype(int))
        return numbers, numbers[:: -(-len(numbers) // MOST_HELD_OUT)], None
    numbers = _shuffled(count)
    most = min(int(HELD_OUT * count), MOST_HELD_OUT)
    is_whole = np.ones(count, bool)
    if observed.missing is not None:
        is_whole = np.asarray(~observed.missing.any(axis=1))
    apart = numbers[is_whole[numbers]][:most]
    if len(apart) < FEWEST_HELD_OUT:
        return numbers, numbers[:MOST_HELD_OUT], None
    return numbers, apart, numbers[~np.isin(numbers, apart)]


def _shuffled(count: int) -> np.ndarray:
    """Numbers of rows in an order that is always the same."""
    return np.random.RandomState(0).permutation(count)


def _at_average(carry: Carry) -> Carry:
    """The state with the running average of its parameters as its parameters."""
    assert carry.average is not None
    model = eqx.tree_at(lambda m: (m.W, m.b, m.c), carry.model, tuple(carry.average))
    return replace(carry, model=model)


def births(rows: np.ndarray, units: int, random: np.random.RandomState) -> np.ndarray:
    """Weights (units, N) along the correlations of one column each with all others.

    From independent columns, which a run begins with, these are what the model lacks of the data
    (n, N). Directions of single columns keep apart what is independent; mixtures of all of them
    would have to be disentangled by training.
    """
    deviations = rows.std(axis=0)
    # A constant column has no correlations.
    deviations = np.where(deviations > 0, deviations, np.inf)
    scaled = (rows - rows.mean(axis=0)) / deviations
    correlations = scaled.T @ scaled / len(rows)
    chance = SIGNIFICANT / np.sqrt(len(rows))
    correlations = np.sign(correlations) * np.maximum(np.abs(correlations) - chance, 0)
    np.fill_diagonal(correlations, 1)
    columns = len(correlations)
    turns = [random.permutation(columns) for _ in range(-(-units // columns))]
    W = correlations[np.concatenate(turns)[:units]] * random.choice([-1.0, 1.0], (units, 1))
    W += CHANCE * random.standard_normal(W.shape) / np.sqrt(columns)
    return np.asarray(W / deviations)


def weakened(W: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Weights W (K, N) divided so that no unit is strong, nor all together.

    The log-odds of a unit then vary by at most `BIRTH_SCALE` over rows whose columns have these
    standard deviations (N,) and are independent.
    """
    scaled = W * deviations
    scaled *= np.minimum(1, BIRTH_SCALE / (np.linalg.norm(scaled, axis=1, keepdims=True) + 1e-30))
    together = (COUPLING**0.5 * 2) / (np.linalg.norm(scaled, 2) + 1e-30) if len(W) else 1.0
    scaled *= min(1.0, together)
    return np.asarray(scaled / np.where(deviations > 0, deviations, np.inf))


def in_use(model: GrandCanonicalRBM) -> np.ndarray:
    """Which units have weights, (K,)."""
    return np.abs(np.asarray(model.W)).max(axis=1) > UNUSED


def without_idle(model: GrandCanonicalRBM) -> GrandCanonicalRBM:
    """The model with the units in use alone; one at least."""
    is_on = in_use(model)
    is_on[0] |= not is_on.any()
    W, b = np.asarray(model.W)[is_on], np.asarray(model.b)[is_on]
    return eqx.tree_at(lambda m: (m.W, m.b), model, jax.device_put((W, b)))


def _mean_at_0(model: GrandCanonicalRBM) -> float:
    """⟨h⟩ of a unit whose two states are equally likely."""
    return sum(model.hidden.states) / 2


def stored(units: int) -> int:
    """The number of units stored for so many: one of few, so that little is compiled."""
    size = FEWEST
    while size < units:
        size *= 4 if size < 128 else 2
    return size


def rearranged(
    carry: Carry,
    rule: UpdateRule,
    chosen: np.ndarray,
    born: tuple[np.ndarray, np.ndarray] | None = None,
    size: int | None = None,
) -> Carry:
    """The state with the units `chosen`, in this order, new ones behind them, and others off.

    Those `born` have these weights and biases. The running average begins anew.
    """
    model, dtype = carry.model, np.dtype(carry.model.W.dtype)
    used = len(chosen) + (0 if born is None else len(born[1]))
    size = stored(used) if size is None else size
    old, new = slice(0, len(chosen)), slice(len(chosen), used)
    W = np.zeros((size, model.n_visible), dtype)
    b = np.full(size, OFF if model.hidden.states[0] == 0 else 0, dtype)
    h_offset = np.zeros(size, dtype)
    W[old], b[old] = np.asarray(model.W)[chosen], np.asarray(model.b)[chosen]
    h_offset[old] = np.asarray(carry.h_offset)[chosen]
    if born is not None:
        W[new], b[new] = born
        h_offset[new] = _mean_at_0(model)
    after = eqx.tree_at(lambda m: (m.W, m.b), model, jax.device_put((W, b)))
    return growth.resized(carry, after, rule, jax.device_put(h_offset), chosen)
