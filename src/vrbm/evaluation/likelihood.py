r"""The likelihood: log Z exact, or by annealed importance sampling from both sides.

log p(v) = −F(v) − log Z, and F(v) is exact: all uncertainty is in log Z. See docs/evaluation.md for
what the two sides bound, and what the upper one assumes.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import jax
import numpy as np

from vrbm.data.dataset import Domain
from vrbm.evaluation.baselines import BaselineScore
from vrbm.evaluation.blocks import Blocks
from vrbm.evaluation.chain_blocks import Progress, Settings, chain_weights
from vrbm.evaluation.path import path
from vrbm.model import GrandCanonicalRBM, checks, exact
from vrbm.model.weights import error_of_mean, log_mean_exp
from vrbm.typing import Batch, RandomKey, Values, Visible

#: Models whose smaller layer has at most this many units are enumerated.
ENUMERATED = 20
#: A bracket wider than this, in nats, is a doubt; so are fewer effective chains than this.
WIDE = 1.0
FEW = 10.0
#: Chains and temperatures that are tried in turn until a bracket is at most so wide, in nats.
EFFORTS = ((100, 1000), (200, 4000), (400, 16_000))
NARROW = 0.1
#: With fewer effective chains and a wider bracket than these, in nats, more effort is in vain.
HOPELESS_CHAINS, HOPELESS_WIDTH = 3.0, 20.0


class LikelihoodWarning(UserWarning):
    """A likelihood, or the log Z behind it, that should not be trusted."""


@dataclass(frozen=True)
class LogPartition:
    """log Z with what is known of its error."""

    log_partition: float
    """log Z: exact, or the forward estimate, whose exponential has the mean Z."""
    standard_error: float
    """of the forward estimate, between chains; 0 where exact."""
    lower: float
    """forward estimate − 2 standard errors."""
    upper: float
    """the larger estimate + 2 of its standard errors; infinite without a backward run."""
    effective_sample_size: float
    """of the forward weights; infinite where exact."""
    method: str
    chains: int
    temperatures: int
    backward: float | None = None
    """log Z from backward runs, too high on average if they start from the model."""
    backward_error: float | None = None
    backward_effective_sample_size: float | None = None

    @property
    def starts_are_foreign(self) -> bool:
        """Whether the backward estimate lies below the forward one, by 4 standard errors."""
        if self.backward is None or self.backward_error is None:
            return False
        errors = np.hypot(self.standard_error, self.backward_error)
        return bool(self.backward < self.log_partition - 4 * errors)

    @property
    def is_hopeless(self) -> bool:
        """Whether no effort of `EFFORTS` will do: few chains count, and the ends are far apart."""
        far_below = self.lower - self._backward_end > HOPELESS_WIDTH
        is_wide = self.upper - self.lower > HOPELESS_WIDTH or far_below
        return self.effective_sample_size < HOPELESS_CHAINS and is_wide

    @property
    def _backward_end(self) -> float:
        """The backward estimate + 2 standard errors; infinite without a backward run."""
        if self.backward is None or self.backward_error is None:
            return np.inf
        return self.backward + 2 * self.backward_error

    def doubts(self) -> list[str]:
        """What speaks against trusting the number, as sentences; empty when nothing does."""
        found = []
        if self.effective_sample_size < FEW:
            found.append(
                f"only {self.effective_sample_size:.1f} of {self.chains} chains count: the stated "
                "error is too small, and log Z is likely too low. Take more temperatures."
            )
        if self.backward is None:
            return found
        if self.upper - self.lower > WIDE:
            found.append(
                f"the bracket of log Z is {self.upper - self.lower:.2f} nats wide: take more "
                "temperatures, or more chains."
            )
        if self._backward_end < self.lower:
            found.append(
                f"the backward estimate {self.backward:.2f} lies below the forward one "
                f"{self.log_partition:.2f}: its starts are not from the model, so that there is no "
                "bound from above. Take more temperatures, a longer burn_in, or better starts."
            )
        return found


@dataclass(frozen=True)
class LogLikelihood:
    """The mean of log p(v) over rows, in nats."""

    mean: float
    rows_error: float
    """standard error from the sampling of the rows: infinite for one row."""
    partition_error: float
    """standard error from log Z, common to all rows."""
    lower: float
    """with the upper end of log Z"""
    upper: float
    """with the lower end of log Z"""
    rows: int
    partition: LogPartition

    @property
    def is_impossible(self) -> bool:
        """Whether this cannot be the mean log-probability of two-valued rows."""
        return exceeds_zero(self.mean, self.partition)

    def shortfalls(self, baselines: Mapping[str, BaselineScore]) -> list[str]:
        """What is wrong with the figure itself, as sentences, given baselines on the same rows.

        A model falls short of a baseline if even the upper end of its likelihood is lower, by more
        than `BaselineScore.margin` and rounding. The highest such baseline comes first.
        """
        if self.is_impossible:
            return [
                f"a mean log-probability of {self.mean:.2f} nats is impossible, since that of "
                "two-valued rows is at most 0: annealing has missed most of what the model gives, "
                "and log Z is far too low."
            ]
        below = {
            name: score.mean
            for name, score in baselines.items()
            if self.upper + rounding(self.partition) + score.margin < score.mean
        }
        return [
            f"the mean log-likelihood of {self.mean:.2f} nats is BELOW that of {name}, "
            f"{value:.2f}: the model has not learned these rows."
            for name, value in sorted(below.items(), key=lambda item: -item[1])
        ]


def log_partition(
    model: GrandCanonicalRBM,
    key: RandomKey | None = None,
    *,
    chains: int = 500,
    temperatures: int = 1000,
    block: int | None = None,
    base: Values | None = None,
    starts: Values | None = None,
    backward: bool = True,
    burn_in: int | None = None,
    enumerate_small: bool = True,
    file: FilePath | str | None = None,
    progress: Progress | None = None,
) -> LogPartition:
    r"""log Z, by enumeration of small models, else by annealed importance sampling.

    Parameters
    ----------
    model
        Any potential and any unit types; h and z are summed out in every weight.
    key
        A random key; the same key gives the same result.
    chains
        Independent runs; rounded up to whole blocks.
    temperatures
        Points of the ladder from β = 0 to 1, placed by pilot runs.
    block
        Chains at a time: bounds the memory, and is what a file is resumed by. If None, that of the
        file, else 100; on an accelerator, where more take hardly more time, as many as have 2²⁴
        values of v and h.
    base
        Fields c₀ (N,) of the base rates, e.g. `fields_of_mean` of data; found by a pilot if None.
    starts
        Rows (n, N) where backward runs start, after `burn_in` steps at β = 1: draws from the model
        by other means, or data. If None, the ends of forward runs, drawn by their weights.
    backward
        Whether to run backward too, for the bound from above.
    burn_in
        Gibbs steps at β = 1 before a backward run; a tenth of `temperatures` if None.
    enumerate_small
        Whether models whose smaller layer has at most 20 units are enumerated.
    file
        Log-weights are kept here, block by block: a run that was stopped goes on, and one with more
        chains uses those that are done.
    progress
        Called with the steps done and their total.

    Warns
    -----
    LikelihoodWarning
        For each of the `doubts` of the result.
    """
    model_path = path(model, base)
    small = model_path.model
    if enumerate_small and min(small.n_visible, small.max_hidden) <= ENUMERATED:
        value = float(exact.log_partition(small))
        return LogPartition(value, 0.0, value, value, np.inf, "enumeration", 0, 0)
    key = jax.random.key(0) if key is None else checks.random_key(key)
    settings = Settings(
        chains=checks.count("chains", chains),
        temperatures=_at_least_2(temperatures),
        block=None if block is None else checks.count("block", block),
        backward=backward,
        burn_in=max(1, temperatures // 10) if burn_in is None else _whole("burn_in", burn_in),
        adapt_base=base is None,
    )
    rows = None if starts is None else _states(model, starts, "starts")
    found = chain_weights(model_path, key, settings, rows, file, progress)
    forward = log_mean_exp(found.forward)
    value = found.log_partition_at_0 + forward.value
    backward_values: dict[str, Any] = {}
    upper = np.inf
    if backward:
        inverse = log_mean_exp(-found.backward, found.origins)
        backward_value = found.log_partition_at_0 - inverse.value
        upper = max(backward_value + 2 * inverse.standard_error, value + 2 * forward.standard_error)
        backward_values = {
            "backward": backward_value,
            "backward_error": inverse.standard_error,
            "backward_effective_sample_size": inverse.effective_sample_size,
        }
    result = LogPartition(
        log_partition=value,
        standard_error=forward.standard_error,
        lower=value - 2 * forward.standard_error,
        upper=upper,
        effective_sample_size=forward.effective_sample_size,
        method="annealed importance sampling",
        chains=len(found.forward),
        temperatures=temperatures,
        **backward_values,
    )
    for doubt in result.doubts():
        warnings.warn(doubt, LikelihoodWarning, stacklevel=2)
    return result


def from_both_sides(
    model: GrandCanonicalRBM,
    key: RandomKey,
    starts: Values | None,
    *,
    file: FilePath | str | None = None,
    **settings: Any,
) -> tuple[LogPartition, list[str]]:
    """log Z, forward and backward from `starts`, and what speaks against it, as sentences.

    Where the outcome shows that the model does not give such rows, backward runs start at the ends
    of forward ones instead; so they do if `starts` is None.
    """
    found, remarks, _ = _from_starts_or_ends(model, key, starts, file, settings)
    return found, remarks


def narrowed(
    model: GrandCanonicalRBM,
    key: RandomKey,
    starts: Values,
    *,
    enumerated: int = ENUMERATED,
    file: FilePath | str | None = None,
    **settings: Any,
) -> tuple[LogPartition, list[str]]:
    """log Z from both sides with growing effort, and what speaks against it, as sentences.

    The `EFFORTS` are made in turn until the bracket is at most `NARROW` nats wide, and without a
    doubt; the last is taken as it is. One that `is_hopeless` ends the search, for the next costs 8
    times as much. Smaller layers of at most `enumerated` units are summed exactly. Each effort has
    a file of its own, whose name begins with that of `file`. Other settings are those of
    `log_partition`.
    """
    settings["enumerate_small"] = min(model.W.shape) <= enumerated
    rows: Values | None = starts
    foreign: list[str] = []
    for chains, temperatures in EFFORTS:
        effort = {"chains": chains, "temperatures": temperatures, **settings}
        own = None if file is None else _beside(file, str(temperatures))
        found, doubts, is_foreign = _from_starts_or_ends(model, key, rows, own, effort)
        if is_foreign:  # and would be again
            rows, foreign = None, [FOREIGN]
        elif rows is None:
            doubts = [*foreign, *doubts]
        if not found.doubts() and found.upper - found.lower <= NARROW:
            break
        if found.is_hopeless and (chains, temperatures) != EFFORTS[-1]:
            doubts.append(
                f"more than {chains} chains and {temperatures} temperatures were not tried, since "
                "these came nowhere near: the model has states that chains do not find. Train it "
                "with more Gibbs steps or a lower learning rate."
            )
            break
    return found, doubts


#: Said where rows that were given as starts are not used.
FOREIGN = (
    "the starts given are not typical of the model, so that backward runs began at ends of "
    "forward runs: the upper end of log Z holds if these missed nothing."
)


def _from_starts_or_ends(
    model: GrandCanonicalRBM,
    key: RandomKey,
    starts: Values | None,
    file: FilePath | str | None,
    settings: dict[str, Any],
) -> tuple[LogPartition, list[str], bool]:
    """log Z, what speaks against it, and whether starts were given that the model does not give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LikelihoodWarning)
        if starts is not None:
            found = log_partition(model, key, starts=starts, file=file, **settings)
            if not found.starts_are_foreign:
                return found, found.doubts(), False
        own = None if file is None else _beside(file, "own")
        found = log_partition(model, key, file=own, **settings)
    is_foreign = starts is not None
    return found, [*([FOREIGN] if is_foreign else []), *found.doubts()], is_foreign


def _beside(file: FilePath | str, word: str) -> FilePath:
    """The file of the same name with a word at its end."""
    return FilePath(file).with_name(f"{FilePath(file).name}-{word}")


def log_likelihood(
    model: GrandCanonicalRBM,
    rows: Any,
    partition: LogPartition | None = None,
    key: RandomKey | None = None,
    *,
    domain: Domain | None = None,
    **settings: Any,
) -> LogLikelihood:
    """Mean log p(v) = −F(v) − log Z of rows (n, N) of any source, ±1 or 0/1.

    `partition` is what `log_partition` gave for this model; if None, it is called with the key and
    the settings.
    """
    log_weights = -free_energies(model, rows, domain)
    partition = log_partition(model, key, **settings) if partition is None else partition
    return mean_log_likelihood(log_weights, partition)


def mean_log_likelihood(log_weights: np.ndarray, partition: LogPartition) -> LogLikelihood:
    """The mean of log p(v) = −F(v) − log Z over rows whose −F(v) are given, (n,)."""
    mean = float(log_weights.mean())
    return LogLikelihood(
        mean=mean - partition.log_partition,
        rows_error=error_of_mean(log_weights),
        partition_error=partition.standard_error,
        lower=mean - partition.upper,
        upper=mean - partition.lower,
        rows=len(log_weights),
        partition=partition,
    )


def free_energies(model: GrandCanonicalRBM, rows: Any, domain: Domain | None = None) -> np.ndarray:
    """F(v) of rows (n, N) of any source, ±1 or 0/1, (n,) in float64, read block by block."""
    small = path(model).model
    blocks = Blocks(small, rows, domain)
    if not blocks.are_states:
        raise ValueError(
            "rows hold values between 0 and 1, which two-valued units have no probability for: "
            "threshold or sample them first."
        )
    parts = [
        np.asarray(_free(small, v.astype(model.W.dtype)), np.float64)[:count] for v, count in blocks
    ]
    return np.concatenate(parts)


@jax.jit
def _free(model: GrandCanonicalRBM, v: Visible) -> Batch:
    return model.free_energy(v)


def exceeds_zero(log_probability: float, partition: LogPartition) -> bool:
    """Whether a log-probability is above 0 by more than rounding and the error of log Z.

    Then log Z is far too low: the annealing missed most of what the model gives.
    """
    return log_probability > rounding(partition) + 6 * partition.standard_error


def rounding(partition: LogPartition) -> float:
    """How far a log-probability may be off by arithmetic in float32, in nats."""
    return 0.01 + 1e-4 * abs(partition.log_partition)


def _states(model: GrandCanonicalRBM, rows: Values, name: str) -> np.ndarray:
    """Rows as states of the visible units."""
    states = model.visible.encode(rows, name)
    if states.ndim != 2 or len(states) == 0 or states.shape[1] != model.n_visible:
        raise ValueError(
            f"{name} has shape {states.shape}: pass at least one row of {model.n_visible} values, "
            "one for each visible unit."
        )
    model.visible.check(name, states)
    return states


def _at_least_2(temperatures: int) -> int:
    if checks.count("temperatures", temperatures) < 2:
        raise ValueError(f"temperatures is {temperatures}: a ladder from 0 to 1 has at least 2.")
    return temperatures


def _whole(name: str, value: Any) -> int:
    return 0 if value == 0 else checks.count(name, value)
