r"""Hidden units in exchange with a reservoir: the size of a layer, found before it is trained.

A run trains one layer after another, each from weak beginnings and under a rate that rises and
falls as in a run of its own. The first ones are for the search: layers of several sizes, trained
for a short time, are judged by the log pseudo-likelihood of rows that are held out
(`vrbm.model.pseudo`), which needs no log Z. Sizes are doubled while rows gain by it, or halved
while they lose little, and then chosen where the concave curve through all that was measured
(`size_curve`) reaches what is allowed, and behind it. Layers of the size found are then
trained longer and longer, while rows held out gain by it; and at last one on all rows, for as long
as they did.
Theory: docs/theory.md, "Units in exchange with a reservoir".
"""

import warnings
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import equinox as eqx
import jax
import numpy as np

from vrbm.data.dataset import Dataset
from vrbm.model import GrandCanonicalRBM, pseudo
from vrbm.model.random import fold_in
from vrbm.training import growth
from vrbm.training.beginning import field_of_data, first_units
from vrbm.training.config import Config, Plan
from vrbm.training.looks import independent_units
from vrbm.training.observed import Observed
from vrbm.training.optimizer import UpdateRule
from vrbm.training.size_curve import NEGLIGIBLE, SizeCurve
from vrbm.training.source import encoded
from vrbm.training.step import Carry
from vrbm.typing import Field, RandomKey

#: Rows that are held out: a part of all, at most so many; below so few, training rows serve.
HELD_OUT, MOST_HELD_OUT, FEWEST_HELD_OUT = 0.2, 2000, 10
#: Units of the first layer that is tried.
FIRST = 32
#: Rows by which contributions of units, and their first directions, are found.
RANKED_BY, SEEDED_BY = 1000, 5000
#: Standard deviation of the log-odds of a new unit over rows, and what of its weights is chance.
BIRTH_SCALE, CHANCE = 0.3, 0.3
#: The largest eigenvalue of the couplings ¼ Σ_a w_a w_aᵀ, in standard deviations of the columns, of
#: all new units together. From 1 on a layer orders by itself, whatever the rows.
COUPLING = 0.5
#: The least part of the variance of a column that counts as left by others.
LEAST_VARIANCE = 1e-6
#: Correlations, and gains over independent columns, count from so many standard errors on.
SIGNIFICANT = 3.0
#: The prior of a unit is a t distribution: where Σ_i w_ai² is so many times what a normal one
#: expects, it pulls half as much. A unit that stands for many columns needs large weights.
TAIL = 10.0
#: The part of the most units from which on there may have been too few.
FULL = 0.9
#: A curve through fewer values does not tell a size.
FEWEST_LEVELS = 3
#: Bias of a 0/1 unit that is off, and the largest weight of a unit that is not in use.
OFF, UNUSED = -30.0, 1e-5
#: The most units, in those of a column, that begin along the correlations of one column.
ALONE = 0.5
#: The fewest units stored. To compile for another number takes longer than to compute with more.
FEWEST = 128
# Reserved fold_in constant of the keys of births.
BIRTHS = 2**32 - 6


class SizeWarning(UserWarning):
    """The size that was found is not that of the data alone."""


@dataclass(frozen=True)
class Search:
    """Where the search for the size stands, and the layer that is trained."""

    size: int
    """its units"""
    begin: int
    """epochs before it"""
    length: int
    """its epochs"""
    curve: SizeCurve = field(default_factory=SizeCurve)
    """log pseudo-likelihoods of held-out rows by size"""
    is_significant: bool = False
    """whether a layer gained more over independent columns than chance may"""
    trial: int = 0
    """the number of the trial of the size found; 0 while it is sought"""
    best: float = 0.0
    """L of that size after the longest training so far that was worthwhile"""
    is_over: bool = False
    """whether this is the layer that is kept"""

    @property
    def end(self) -> int:
        """Epochs until the layer is trained."""
        return self.begin + self.length

    @property
    def is_noise(self) -> bool:
        """Whether not even one unit gains more than chance may."""
        return not self.is_significant and 1 in self.curve.sizes

    def facts(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Exchange:
    """When layers are judged, and the rows that decide."""

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
    plan: Plan
    most: int
    """the most units"""

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
        most = config.max_units or first_units(model.n_visible)
        return cls(
            heldout=jax.device_put(judged.astype(dtype)),
            weights=counts / counts.sum(),
            rows=jax.device_put(v.astype(dtype)),
            trained=trained,
            independent=independent_units(model.visible, v, judged),
            plan=config.plan,
            most=most,
        )

    def after(
        self,
        carry: Carry,
        search: Search | None,
        rule: UpdateRule,
        key: RandomKey,
    ) -> tuple[Carry, Search]:
        """The state and the search after a layer, with the one that is next; None: at first."""
        new = self._first() if search is None else self._next(carry.model, search)
        if new.is_over:
            self._warn(new)
        random = fold_in(jax.random.fold_in(key, new.begin), BIRTHS)
        return self.begun(carry, rule, new.size, random), new

    def _first(self) -> Search:
        size = min(FIRST, self.most)
        if self.plan.levels == 0:
            return Search(size, 0, self.plan.training, is_over=True)
        return Search(size, 0, self.plan.level)

    def _next(self, model: GrandCanonicalRBM, search: Search) -> Search:
        """What follows the layer that was trained: another, the one found, or the last."""
        values = np.asarray(pseudo.log_pseudo_likelihood(model, self.heldout), np.float64)
        value, begin = float(self.weights @ values), search.end
        if search.trial:
            return self._after_trial(replace(search, begin=begin), value)
        gains = values - self.independent
        gain = self.weights @ gains
        error = np.sqrt((self.weights**2) @ (gains - gain) ** 2)
        search = replace(
            search,
            begin=begin,
            curve=search.curve.measured(search.size, value),
            is_significant=search.is_significant or bool(gain > SIGNIFICANT * error),
        )
        if len(search.curve.sizes) < self.plan.levels and not search.is_noise:
            return replace(search, size=self.next_size(search))
        search = replace(search, size=self.found(search))
        if not search.is_significant:
            return replace(search, is_over=True)
        if not self.plan.trials:
            return replace(search, length=self.plan.training, is_over=True)
        best = search.curve.at(search.size)
        return replace(search, length=self.plan.trials[0], best=best, trial=1)

    def _after_trial(self, search: Search, value: float) -> Search:
        """A longer trial, or the last layer: as long as was worthwhile, by the rows held out."""
        trials, number = self.plan.trials, search.trial
        if not value - search.best > NEGLIGIBLE:
            worthwhile = trials[: number - 1]
            return replace(search, length=max(worthwhile, default=trials[0]), is_over=True)
        if number == len(trials):
            return replace(search, length=self.plan.training, is_over=True)
        return replace(search, length=trials[number], best=value, trial=number + 1)

    @property
    def at_none(self) -> float:
        """The curve at no unit: the mean log-likelihood under independent columns."""
        return float(self.weights @ self.independent)

    def found(self, search: Search) -> int:
        """The smallest size that loses no more than is allowed, by all that was measured."""
        return search.curve.smallest(self.at_none) if search.is_significant else 1

    def next_size(self, search: Search) -> int:
        """The size from which most is to be learned."""
        if not search.is_significant:
            return max(1, search.size // 4)
        return search.curve.next_size(self.at_none, self.most)

    def _warn(self, search: Search) -> None:
        sizes = search.curve.sizes
        is_rising = search.is_significant and search.curve.is_rising(self.at_none)
        is_tried = self.most in sizes
        is_few = len(sizes) < FEWEST_LEVELS and not search.is_noise
        is_low = search.size <= min(sizes, default=0) and 1 not in sizes
        if is_rising and is_tried and search.size > FULL * self.most:
            warnings.warn(
                f"{search.size} of at most {self.most} hidden units are needed: the data may have "
                "a use for more. Allow more (max_hidden of an estimator, or max_units) to find "
                "out.",
                SizeWarning,
                stacklevel=2,
            )
        elif is_few or is_low or (is_rising and not is_tried):
            warnings.warn(
                f"the run was too short to find the size of its layer: {search.size} hidden units "
                "were tried, and more or fewer may do better. Allow more epochs (n_iter of an "
                "estimator).",
                SizeWarning,
                stacklevel=2,
            )

    def begun(self, carry: Carry, rule: UpdateRule, size: int, key: RandomKey) -> Carry:
        """The state with so many weak units alone, that leave the means of columns be."""
        model, rows = carry.model, np.asarray(self.rows, np.float64)
        random = np.random.RandomState(np.asarray(jax.random.key_data(key)))
        W = weakened(births(rows, size, random), rows.std(axis=0))
        b = -W @ np.asarray(carry.v_offset, np.float64)
        dtype = np.dtype(model.c.dtype)
        means = field_of_data(model.visible, rows.mean(axis=0).astype(dtype), len(rows))
        c = np.asarray(means) - _mean_at_0(model) * W.sum(axis=0)
        model = eqx.tree_at(lambda m: m.c, model, jax.device_put(c.astype(dtype)))
        return rearranged(replace(carry, model=model), rule, np.arange(0), (W, b))

    def closed(self, carry: Carry, rule: UpdateRule) -> Carry:
        """The state with the units in use alone, those that contribute most first; one at least."""
        found = pseudo.contributions(carry.model, self.rows[:RANKED_BY])
        order = np.argsort(-np.asarray(found.mean), kind="stable")
        is_on = in_use(carry.model)
        chosen = order[is_on[order]] if is_on.any() else order[:1]
        return rearranged(carry, rule, chosen, size=len(chosen))


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


def births(rows: np.ndarray, units: int, random: np.random.RandomState) -> np.ndarray:
    """Weights (units, N) along the correlations of one column each with all others.

    From independent columns, which a level begins with, these are what the model lacks of the data
    (n, N). Directions of single columns keep apart what is independent; mixtures of all of them
    would have to be disentangled by training. The first columns chosen stand for most others.
    Units beyond one for two columns have random directions with these correlations: units that are
    alike move as one, and a large layer of them overshoots.
    """
    deviations = rows.std(axis=0)
    # A constant column has no correlations.
    deviations = np.where(deviations > 0, deviations, np.inf)
    scaled = (rows - rows.mean(axis=0)) / deviations
    correlations = scaled.T @ scaled / len(rows)
    columns = len(correlations)
    chosen = representatives(correlations, min(units, int(np.ceil(ALONE * columns))))
    chance = SIGNIFICANT / np.sqrt(len(rows))
    correlations = np.sign(correlations) * np.maximum(np.abs(correlations) - chance, 0)
    np.fill_diagonal(correlations, 1)
    W = correlations[chosen] * random.choice([-1.0, 1.0], (len(chosen), 1))
    W += CHANCE * random.standard_normal(W.shape) / np.sqrt(columns)
    if units > len(chosen):
        values, vectors = np.linalg.eigh(correlations)
        root = vectors * np.sqrt(np.maximum(values, 0))
        mixed = random.standard_normal((units - len(chosen), columns)) @ root.T
        W = np.concatenate([W, mixed])
    return np.asarray(W / deviations)


def representatives(correlations: np.ndarray, count: int) -> np.ndarray:
    """Columns that stand for most of the others, each for most of what those before it leave.

    Cholesky's factorization, in which the pivot is the column whose correlations with what is left
    have the largest Σ_i r_i².
    """
    left = correlations.copy()
    chosen = np.zeros(count, int)
    is_free = np.ones(len(left), bool)
    for number in range(count):
        variances = np.maximum(left.diagonal(), LEAST_VARIANCE)
        explained = np.where(is_free, (left**2).sum(axis=0) / variances, -1)
        one = chosen[number] = explained.argmax()
        is_free[one] = False
        left -= np.outer(left[one], left[one]) / variances[one]
    return chosen


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
    return max(FEWEST, 1 << (units - 1).bit_length())


def rearranged(
    carry: Carry,
    rule: UpdateRule,
    chosen: np.ndarray,
    born: tuple[np.ndarray, np.ndarray] | None = None,
    size: int | None = None,
) -> Carry:
    """The state with the units `chosen`, in this order, new ones behind them, and others off.

    Those `born` have these weights and biases.
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
