"""What both estimators have: the scikit-learn contract around a `GrandCanonicalRBM`."""

import math
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Set
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    DensityMixin,
    TransformerMixin,
)
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from vrbm.data import sparse
from vrbm.data.dataset import Domain
from vrbm.estimator import coding, completion, files, fitting, forks
from vrbm.estimator.batches import by_block, gibbs, mean_visible, sizes_met
from vrbm.estimator.scoring import are_states, check_possible, fitted_baselines, warn_if_below
from vrbm.evaluation import likelihood, sampling
from vrbm.evaluation.baselines import Baseline
from vrbm.evaluation.pruning import cut
from vrbm.evaluation.scores import EARNED_BY
from vrbm.model import GrandCanonicalRBM, Potential, checks, pseudo
from vrbm.training import Config, Optimizer, beginning
from vrbm.training.config import CHAINS, equal_batch

#: log Z is enumerated where the smaller layer has at most so many units, else annealed.
ENUMERATED = 16
#: Units that exist with at most this probability, on average over training rows, are left out.
UNUSED = 0.01


class Machine(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A restricted Boltzmann machine with 0/1 units as transformer and density estimator."""

    #: The parameter that bounds or gives the number of hidden units.
    _size_name: ClassVar[str]

    n_iter: int | None
    learning_rate: float | None
    batch_size: int | None
    n_chains: int
    n_gibbs: int
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int | None
    warm_start: bool
    random_state: Any
    verbose: int

    coding_: coding.Coding
    random_state_: np.random.RandomState
    model_: GrandCanonicalRBM
    n_hidden_: int
    mean_size_: float
    chemical_potential_: float
    n_iter_: int
    n_samples_seen_: int
    history_: list[dict[str, Any]]
    unit_earnings_: np.ndarray
    unit_earnings_error_: np.ndarray
    _whole: GrandCanonicalRBM
    _chains: np.ndarray
    _partition: likelihood.LogPartition | None
    _baselines: Mapping[str, Baseline] = MappingProxyType({})

    @abstractmethod
    def _size_and_potential(self, n_features: int) -> tuple[int, Potential]:
        """K and the potential of a new model; checks the parameters of the subclass."""

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, X_val: Any = None
    ) -> "Machine":
        """Train on rows X, all but a few of them in each epoch.

        All batches have equally many rows, `batch_size` or somewhat less, chosen so that fewer rows
        than there are batches are left out, others in each epoch. A fit that fails leaves the
        estimator as it was.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            ±1, 0/1 or [0, 1], NaN where an entry is missing. Other numbers are scaled to [0, 1]
            column by column, with a warning.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows in the data average of the gradient; rows of weight 0 are left out.
        X_val : array or sparse matrix of shape (n_validation, n_features), optional
            Rows whose log-likelihood is recorded, and stopped by with `early_stopping`; then None
            means a random part of X, `validation_fraction`, which is not trained on.

        Returns
        -------
        self
        """
        going_on = self.warm_start and hasattr(self, "model_")
        return self._train(X, sample_weight, self._config(), going_on, X_val, refits_baselines=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Machine":
        """One pass over rows X at the full learning rate, going on from where the model stands.

        Parameters are those of `fit`, and so are the batches. The coding is that of the first call.
        `n_hidden_` and `mean_size_` are then averages over these rows alone, not over earlier ones.
        With vrbm.Reservoir() no unit is added or removed: `fit` finds the size.
        Baselines are fitted to the rows of the first call that has any, and kept.
        """
        config = self._config()
        going_on = hasattr(self, "model_")
        config = replace(
            config,
            epochs=1,
            looks=0,
            sizing=False,
            early_stopping=False,
            optimizer=replace(config.optimizer, decay_from=1.0, warm_up=0.0),
            prior_rows=self.n_samples_seen_ if going_on else 0,
        )
        return self._train(X, sample_weight, config, going_on, None, refits_baselines=not going_on)

    def transform(self, X: Any) -> np.ndarray:
        """⟨h_a⟩ of the units in use, P(z ≥ a|v) σ(x_a), (n_samples, `n_hidden_`).

        For rows with NaN, the average over p(v_miss|v_obs).
        """
        return self._mean_hidden(self._encoded(X))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """⟨v⟩ given hidden values (n_samples, `n_hidden_`), in the coding of the data."""
        forks.check()
        check_is_fitted(self)
        h = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if h.shape[1] != self.n_hidden_:
            raise ValueError(
                f"X has shape {h.shape}: pass hidden values of shape (n, {self.n_hidden_}), as "
                "transform returns them."
            )
        return self.coding_.decode(by_block(mean_visible, self.model_, h))

    def reconstruct(self, X: Any) -> np.ndarray:
        """⟨v⟩ given ⟨h⟩ of rows X, in the coding of the data: there and back, without chance."""
        return self.inverse_transform(self._mean_hidden(self._encoded(X)))

    def free_energy(self, X: Any) -> np.ndarray:
        """F(v) of rows X, (n_samples,); of a row with NaN, that of its known entries, exact."""
        return self._free_energy(self._encoded(X))

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(v) = −F(v) − log Z of rows X in nats, (n_samples,).

        Of a row with NaN, the log-probability of its known entries. Rows with values between 0 and
        1 get F at these means: a score that compares rows and models, no probability.

        log Z is exact for small models, else annealed from both sides. Effort grows until its
        bracket is narrow; where that fails a `LikelihoodWarning` says why.

        Raises
        ------
        ImpossibleLikelihood
            If a row has a probability above 1, by far more than the error of log Z.
        """
        return self._scores(self._free_energy(self._encoded(X)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean of `score_samples`.

        Warns
        -----
        LikelihoodWarning
            If rows without weights are likelier under a model that is fitted to the training rows
            in closed form (see `baselines`), by more than the errors of both.
        """
        v = self._encoded(X)
        free = self._free_energy(v)
        scores = self._scores(free)
        if sample_weight is not None:
            sample_weight = fitting.checked_weights(sample_weight, X)
        elif self.coding_.domain is not Domain.UNIT:
            warn_if_below(v, free, self._log_partition(), self._baselines)
        return float(np.average(scores, weights=sample_weight))

    def score_bracket(self, X: Any) -> tuple[float, float]:
        """The lower and the upper end of `score`, by those of log Z; equal where it is exact.

        For two-valued rows the upper end is at most 0.
        """
        scores = self.score_samples(X).astype(np.float64)
        found = self._log_partition()
        lower, upper = (
            float(scores.mean()) + found.log_partition - end for end in (found.upper, found.lower)
        )
        return lower, upper if self.coding_.domain is Domain.UNIT else min(upper, 0.0)

    def baselines(self, X: Any) -> dict[str, float]:
        """The mean log-likelihood of rows X under models that any other should beat, in nats.

        These are independent columns, and the Chow-Liu tree of up to 2,000 columns. They are fitted
        to the training rows that miss no entry. There are none, and the result is empty, after a
        fit to weighted rows, to values between 0 and 1, or to fewer than 2 such rows.
        """
        v = self._encoded(X)
        whole = are_states(v)
        if not whole.all():
            raise ValueError(
                f"X has values in row {int(whole.argmin())} that are missing or between two "
                "states: baselines score whole rows of two values, so leave out the others."
            )
        return {name: baseline.mean(v) for name, baseline in self._baselines.items()}

    def sample(self, n_samples: int = 1, *, n_steps: int = 1000) -> np.ndarray:
        """Draw rows of the model in the coding of the data, each the end of an annealed chain."""
        forks.check()
        check_is_fitted(self)
        n_samples, n_steps = checks.count("n_samples", n_samples), checks.count("n_steps", n_steps)
        key = fitting.new_key(self.random_state_)
        states = sampling.sample(self.model_, n_samples, key, "annealed", steps=n_steps)
        return self.coding_.decode(states)

    def gibbs(self, X: Any) -> np.ndarray:
        """Rows X after one Gibbs step, z and h given v, then v; NaN entries are drawn first."""
        v = self._encoded(X)
        fill_key, key = jax.random.split(fitting.new_key(self.random_state_))
        if np.isnan(v).any():
            v = completion.complete(self.model_, v, fill_key).states
        return self.coding_.decode(gibbs(self.model_, v, key))

    def impute(
        self, X: Any, method: str = "mean", *, n_steps: int = completion.STEPS
    ) -> np.ndarray:
        """X with its NaN entries filled in, in the coding of the data.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        method : "mean" or "sample"
            The conditional mean of each entry given the known ones, or one joint draw.
        n_steps
            Gibbs steps, for rows that lack too many entries to enumerate (more than 10).
        """
        if method not in ("mean", "sample"):
            raise ValueError(f"method is {method!r}: choose 'mean' or 'sample'.")
        n_steps = checks.count("n_steps", n_steps)
        v = self._encoded(X)
        key = self._fixed_key() if method == "mean" else fitting.new_key(self.random_state_)
        filled = completion.complete(self.model_, v, key, n_steps)
        decoded = self.coding_.decode(filled.visible if method == "mean" else filled.states)
        given = self._validated(X, reset=False)
        return np.where(np.isnan(given), decoded, given)

    def size_probabilities(self, X: Any) -> np.ndarray:
        """p(z|v) for z = 1 … `n_hidden_`, (n_samples, `n_hidden_`).

        In a layer without an end the last stands for all sizes from `n_hidden_` on.
        """
        v = self._encoded(X)
        if np.isnan(v).any():
            return completion.complete(self.model_, v, self._fixed_key()).sizes
        return by_block(GrandCanonicalRBM.size_probabilities, self.model_, v)

    def save(self, path: Path | str) -> None:
        """Write parameters and fitted state to one safetensors file, whole or not at all."""
        check_is_fitted(self)
        files.save(self, path)

    @classmethod
    def load(cls, path: Path | str) -> "Machine":
        """Read an estimator that `save` wrote."""
        return files.load(cls, path)

    @property
    def log_partition_(self) -> float:
        """log Z, computed when first asked for."""
        return self._log_partition().log_partition

    @property
    def log_partition_method_(self) -> str:
        """How log Z was found: enumeration or annealed importance sampling."""
        return self._log_partition().method

    @property
    def log_partition_error_(self) -> float:
        """The standard error of log Z, common to all scores; 0 where exact."""
        return self._log_partition().standard_error

    @property
    def log_partition_bracket_(self) -> tuple[float, float]:
        """The lower and the upper end of log Z, each 2 standard errors beyond an estimate."""
        found = self._log_partition()
        return found.lower, found.upper

    @property
    def components_(self) -> np.ndarray:
        """Weights W of the units in use, (`n_hidden_`, n_features)."""
        check_is_fitted(self)
        return np.asarray(self.model_.W)

    @property
    def intercept_hidden_(self) -> np.ndarray:
        """Hidden biases b, (`n_hidden_`,)."""
        check_is_fitted(self)
        return np.asarray(self.model_.b)

    @property
    def intercept_visible_(self) -> np.ndarray:
        """Visible biases c, (n_features,)."""
        check_is_fitted(self)
        return np.asarray(self.model_.c)

    @property
    def _n_features_out(self) -> int:
        return self.n_hidden_

    def __getstate__(self) -> dict[str, Any]:
        """Models hold arrays of numpy: reading them starts nothing, in a forked process either."""
        state: dict[str, Any] = super().__getstate__()
        models = {name: state[name] for name in ("model_", "_whole") if name in state}
        return state | jax.tree.map(
            lambda leaf: np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf, models
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _config(self) -> Config:
        """The settings of `fit`, checked; what is None is found from the rows."""
        negative = replace(
            CHAINS,
            k=checks.count("n_gibbs", self.n_gibbs),
            chains=checks.count("n_chains", self.n_chains),
        )
        rate = self.learning_rate
        if rate is not None:
            rate = checks.number("learning_rate", rate, 0.0)
        fraction = checks.number("validation_fraction", self.validation_fraction)
        if not 0 < fraction < 1:
            raise ValueError(f"validation_fraction is {fraction}: pass a number between 0 and 1.")
        return Config(
            epochs=_count_or_none("n_iter", self.n_iter),
            batch_size=_count_or_none("batch_size", self.batch_size),
            negative=negative,
            optimizer=Optimizer(learning_rate=rate),
            early_stopping=bool(self.early_stopping),
            n_iter_no_change=_count_or_none("n_iter_no_change", self.n_iter_no_change),
            seed_scale=beginning.WEIGHT_SCALE,
        )

    def _validated(self, X: Any, reset: bool) -> np.ndarray:
        if isinstance(X, Mapping | Set | Iterator):
            raise ValueError(
                f"X is a {type(X).__name__}: pass an array, a data frame, a sparse matrix or a "
                "list of rows, (n_samples, n_features)."
            )
        if issparse(X):
            sparse.check_dense(X)  # before scikit-learn converts it
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        return X.toarray() if issparse(X) else X

    def _encoded(self, X: Any) -> np.ndarray:
        """Rows in [0, 1], NaN where entries are missing."""
        forks.check()
        check_is_fitted(self)
        return self.coding_.encode(self._validated(X, reset=False))

    def _free_energy(self, v: np.ndarray) -> np.ndarray:
        """F(v) of encoded rows, (rows,)."""
        if np.isnan(v).any():
            return completion.free_energy(self.model_, v)
        return by_block(GrandCanonicalRBM.free_energy, self.model_, v)

    def _scores(self, free: np.ndarray) -> np.ndarray:
        """−F(v) − log Z, (rows,), checked to be possible."""
        scores = free.dtype.type(-self.log_partition_) - free
        if self.coding_.domain is not Domain.UNIT:
            check_possible(scores, self._log_partition())
        return scores

    def _mean_hidden(self, v: np.ndarray) -> np.ndarray:
        """⟨h⟩ of encoded rows, (rows, n_hidden_)."""
        if np.isnan(v).any():
            return completion.complete(self.model_, v, self._fixed_key()).hidden
        return by_block(GrandCanonicalRBM.mean_hidden, self.model_, v)

    def _train(
        self,
        X: Any,
        sample_weight: Any,
        config: Config,
        going_on: bool,
        X_val: Any,
        refits_baselines: bool,
    ) -> "Machine":
        """Train a copy, and take over what it has become when all is done."""
        forks.check()
        new = copy(self)
        new._become_fitted(X, sample_weight, config, going_on, X_val, refits_baselines)
        self.__dict__ = new.__dict__
        return self

    def _become_fitted(
        self,
        X: Any,
        sample_weight: Any,
        config: Config,
        going_on: bool,
        X_val: Any,
        refits_baselines: bool,
    ) -> None:
        X = self._validated(X, reset=not going_on)
        size, potential = self._size_and_potential(X.shape[1])
        if going_on:
            self._check_stored(size, potential)
        rows = self._rows(X, sample_weight, going_on)
        if refits_baselines or not self._baselines:
            self._baselines = fitted_baselines(rows)
        if not going_on:
            self.random_state_ = check_random_state(self.random_state)
        heldout = (
            None if X_val is None else self.coding_.encode(self._validated(X_val, reset=False))
        )
        if config.early_stopping:
            rows, heldout = self._split(rows, heldout)
        if not going_on:
            whole = beginning.initial(
                rows.v, size, potential, self.random_state_, weights=rows.weights
            )
            chains = None
            self.history_, self.n_iter_, self.n_samples_seen_ = [], 0, 0
        else:
            whole, chains = fitting.priced(self._whole, potential), self._chains
            config = replace(config, sizing=False)
        if potential.idle_is_off and not (going_on and self._whole.potential.idle_is_off):
            whole = beginning.with_spare_units(whole, self.random_state_, config.max_units)
        if config.batch_size is not None:
            config = replace(config, batch_size=equal_batch(len(rows.v), config.batch_size))
        config = replace(config, prior_rows=config.prior_rows and config.prior_rows + len(rows.v))
        show = type(self).__name__ if self.verbose else None
        result = fitting.fit(whole, rows, config, self.random_state_, chains, heldout, show)
        self._whole, self._chains = result.model, result.chains
        later = [{**facts, "epoch": self.n_iter_ + facts["epoch"]} for facts in result.history]
        self.history_ = self.history_ + later
        self.n_iter_ += len(later)
        self.n_samples_seen_ += len(rows.v)
        self._describe(result.rows, rows.weights)

    def _split(
        self, rows: fitting.Rows, heldout: np.ndarray | None
    ) -> tuple[fitting.Rows, np.ndarray]:
        """Rows to train on and rows to stop by, set apart at random if there are none."""
        if rows.domain is Domain.UNIT:
            raise ValueError(
                "early_stopping is True, but X has values between 0 and 1, which have no "
                "log-likelihood: threshold or sample them first, or set it to False."
            )
        if heldout is not None:
            return rows, heldout
        n = len(rows.v)
        count = math.ceil(self.validation_fraction * n)
        if count >= n:
            raise ValueError(
                f"X has {n} rows, of which validation_fraction = {self.validation_fraction} leaves "
                "none to train on: pass more rows, or set early_stopping=False."
            )
        order = self.random_state_.permutation(n)
        apart, kept = np.sort(order[:count]), np.sort(order[count:])
        weights = None if rows.weights is None else rows.weights[kept]
        return replace(rows, v=rows.v[kept], weights=weights), rows.v[apart]

    def _check_stored(self, size: int, potential: Potential) -> None:
        """A model that goes on keeps its size; one without an end may have a limit above it."""
        stored, limit = self._whole.max_hidden, getattr(self, self._size_name)
        if limit is None:
            return
        if potential.is_unbounded or potential.is_exchanged:
            size = min(limit, stored)
        if size != stored:
            raise ValueError(
                f"{self._size_name} is {size}, but the model has {stored}: set "
                "warm_start=False and call fit to start anew."
            )

    def _rows(self, X: np.ndarray, sample_weight: Any, going_on: bool) -> fitting.Rows:
        weights = None
        if sample_weight is not None:
            weights = fitting.checked_weights(sample_weight, X)
            X, weights = X[weights > 0], weights[weights > 0]
        self.coding_ = self.coding_.accepts(X) if going_on else coding.find(X)
        return fitting.Rows(self.coding_.encode(X), weights, self.coding_.domain)

    def _describe(self, v: np.ndarray, weights: np.ndarray | None) -> None:
        """Fitted attributes that follow from the model and its rows, without missing entries."""
        survival, self.mean_size_ = sizes_met(self._whole, v, weights)
        self.n_hidden_ = max(1, int((survival > UNUSED).sum()))
        self.model_ = cut(self._whole, self.n_hidden_)
        self.chemical_potential_ = float(np.asarray(self.model_.chemical_potential()).mean())
        self._partition = None
        if self._whole.potential.is_exchanged:
            rows = jnp.asarray(v[:: -(-len(v) // EARNED_BY)], self.model_.W.dtype)
            earned = pseudo.contributions(self.model_, rows)
            self.unit_earnings_ = np.asarray(earned.mean, np.float64)
            self.unit_earnings_error_ = np.asarray(earned.error, np.float64)

    def _log_partition(self) -> likelihood.LogPartition:
        check_is_fitted(self)
        if self._partition is None:
            forks.check()
            self._partition, doubts = likelihood.narrowed(
                self.model_, self._fixed_key(), self._chains, enumerated=ENUMERATED
            )
            for doubt in doubts:
                warnings.warn(doubt, likelihood.LikelihoodWarning, stacklevel=3)
        return self._partition

    def _fixed_key(self) -> Any:
        """A key that is the same in every call, for averages that should repeat."""
        return fitting.new_key(np.random.RandomState(0))


def _count_or_none(name: str, value: Any) -> int | None:
    return None if value is None else checks.count(name, value)
