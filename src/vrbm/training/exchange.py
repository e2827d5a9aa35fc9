r"""Hidden units in exchange with a reservoir: the size of a layer, found while it is trained.

A run begins with many units and returns them, step by step, as long as the others can take over
what they did. What is watched is the log pseudo-likelihood of rows that are not trained on
(`vrbm.model.pseudo`): it needs no log Z, and the running average of the parameters frees it of most
of the noise of the steps. The layer sought is the smallest under which these rows lose no more than
`TOLERANCE` of what the best layer gains for them over independent columns. Theory:
docs/theory.md, "Units in exchange with a reservoir".

Units go in pieces of a quarter of the layer. Where that loses too much, the run goes back to the
last layer that did not, trains it for another level, which is the new measure, and takes a smaller
step, until the smallest step fails.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import numpy as np

from vrbm.data.dataset import Dataset
from vrbm.model import GrandCanonicalRBM, pseudo
from vrbm.model.random import fold_in
from vrbm.training import growth
from vrbm.training.beginning import first_units
from vrbm.training.config import Config
from vrbm.training.control import Kept, kept, restored
from vrbm.training.gradient import parameters
from vrbm.training.looks import independent_columns
from vrbm.training.merging import mergers
from vrbm.training.observed import Observed
from vrbm.training.optimizer import UpdateRule
from vrbm.training.source import encoded
from vrbm.training.step import Carry, Rules
from vrbm.typing import Field, RandomKey

#: The part of what the best layer gains over independent columns that a smaller one may lose.
TOLERANCE = 0.005
#: The parts of a run between which the size is found, and levels in a whole run.
FIRST, LAST, LEVELS = 0.2, 0.8, 50
#: The part of the units that is left after a step, and the last one that is tried.
STEP, SMALLEST_STEP = 0.75, 0.97
#: Rows that are held out: a part of all, at most so many; below so few, training rows serve.
HELD_OUT, MOST_HELD_OUT, FEWEST_HELD_OUT = 0.2, 2000, 10
#: Rows by which the units to be returned, and the first directions, are found.
RANKED_BY, SEEDED_BY = 1000, 5000
#: Standard deviation of the log-odds of a new unit over rows, and what of its weights is chance.
BIRTH_SCALE, CHANCE = 0.3, 0.3
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

    step: float = STEP
    """the part of the units that the next step leaves"""
    best: float | None = None
    """the highest log pseudo-likelihood of held-out rows since the run last went back"""
    failed: int | None = None
    """the size that was last found too small"""
    is_over: bool = False
    kept: Kept | None = None
    """the smallest layer that is good enough so far"""

    def facts(self) -> dict[str, Any]:
        """All but the arrays, for a file."""
        return {name: value for name, value in vars(self).items() if name != "kept"}


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
        first, last = (max(1, int(part * config.n_epochs)) for part in (FIRST, LAST))
        return cls(
            heldout=jax.device_put(judged.astype(dtype)),
            weights=counts / counts.sum(),
            rows=jax.device_put(v.astype(dtype)),
            trained=trained,
            independent=independent_columns(shares, judged_shares),
            first=first,
            last=last,
            every=level_epochs(config),
            pool=config.max_units or first_units(model.n_visible),
        )

    def is_due(self, epoch: int, descent: Descent) -> bool:
        """Whether a level ends before the epoch that follows."""
        is_level = epoch > self.first and (epoch - self.first) % self.every == 0
        return not descent.is_over and (is_level or epoch >= self.last)

    @property
    def first_step(self) -> float:
        """The part of the units that the first step leaves: less where there are few levels."""
        levels = 1 + (self.last - self.first) // self.every
        return min(STEP, float(self.pool ** (-1.3 / levels)))

    def opened(self, carry: Carry, rule: UpdateRule, key: RandomKey) -> Carry:
        """The state with new units in the place of its own."""
        random = np.random.RandomState(np.asarray(jax.random.key_data(fold_in(key, BIRTHS))))
        W = births(np.asarray(self.rows, np.float64), self.pool, random)
        b = -W @ np.asarray(carry.v_offset, np.float64)
        return rearranged(carry, rule, np.arange(0), (W, b))

    def after(
        self, carry: Carry, descent: Descent, rules: Rules, epoch: int, key: RandomKey
    ) -> tuple[Carry, Descent]:
        """The state and the search after a level: with fewer units, or as before the last step."""
        carry = _at_average(carry)
        size = int(in_use(carry.model).sum())
        is_good, best = self._judged(carry.model, descent.best)
        if is_good:
            current = kept(carry, rules.negative.chains_of(carry.negative))
            descent = replace(descent, best=best, kept=current)
        else:
            assert descent.kept is not None, "the first level is the best"
            carry = restored(carry, descent.kept, rules.update, rules.negative, key)
            descent = replace(descent, best=None, failed=size, step=descent.step**0.5)
            size = int(in_use(carry.model).sum())
        target, step = _next_size(size, descent)
        if target is None or epoch >= self.last:
            self._warn(size, is_cut_short=target is not None)
            return carry, Descent(step, best, descent.failed, is_over=True)
        if not is_good:  # rows are learnt by heart meanwhile, so that the measure is taken anew
            return carry, descent
        return self.reduced(carry, rules.update, target), replace(descent, step=step)

    def _judged(self, model: GrandCanonicalRBM, best: float | None) -> tuple[bool, float]:
        """Whether held-out rows lose no more than is allowed, and the best value so far.

        As long as no layer gained more over independent columns than chance may, each is as good as
        a larger one.
        """
        found = np.asarray(pseudo.log_pseudo_likelihood(model, self.heldout), np.float64)
        value = float(self.weights @ found)
        best = value if best is None else max(best, value)
        gains = found - self.independent
        gain = best - float(self.weights @ self.independent)
        error = np.sqrt((self.weights**2) @ (gains - self.weights @ gains) ** 2)
        return bool(value >= best - TOLERANCE * gain or gain < SIGNIFICANT * error), best

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


def _next_size(size: int, descent: Descent) -> tuple[int | None, float]:
    """The size that is tried after `size`, None if there is none, and the step that leads there."""
    step = descent.step
    while step <= SMALLEST_STEP and size > 0 and size - 1 != descent.failed:
        target = min(size - 1, int(step * size))
        if target != descent.failed:
            return target, step
        step = step**0.5
    return None, step


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
    W *= BIRTH_SCALE / np.linalg.norm(W, axis=1, keepdims=True)
    return np.asarray(W / deviations)


def in_use(model: GrandCanonicalRBM) -> np.ndarray:
    """Which units have weights, (K,)."""
    return np.abs(np.asarray(model.W)).max(axis=1) > UNUSED


def without_idle(model: GrandCanonicalRBM) -> GrandCanonicalRBM:
    """The model with the units in use alone; one at least."""
    is_on = in_use(model)
    is_on[0] |= not is_on.any()
    W, b = np.asarray(model.W)[is_on], np.asarray(model.b)[is_on]
    return eqx.tree_at(lambda m: (m.W, m.b), model, jax.device_put((W, b)))


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
        h_offset[new] = sum(model.hidden.states) / 2
    after = eqx.tree_at(lambda m: (m.W, m.b), model, jax.device_put((W, b)))
    return growth.resized(carry, after, rule, jax.device_put(h_offset), chosen)
