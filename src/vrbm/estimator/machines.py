"""The two estimators."""

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from vrbm.estimator.base import UNUSED, Machine
from vrbm.model import Constant, FixedSize, Potential, Reservoir, checks
from vrbm.model.potential import as_potential
from vrbm.training import Config, beginning
from vrbm.training.config import (
    CHAINS,
    FEWEST_EPOCHS,
    FEWEST_STEPS,
    IN_LEVELS,
    MOST_EPOCHS,
    TRAINED,
    VALIDATION_FRACTION,
)

#: The lowest price without max_hidden: a layer without an end has 1/μ idle units on average.
LEAST_PRICE = 0.01
#: Units with which a layer begins that grows from seeds: some to spare, since growth compiles.
FIRST_UNITS = 16
#: The defaults of a training run, the same as those of `vrbm train`.
DEFAULT = Config()

_PARAMETERS = f"""n_iter : int or None
        Epochs, passes over the data; the learning rate falls to zero by their end. None:
        {FEWEST_EPOCHS}, or as many as make {FEWEST_STEPS:,} steps, at most {MOST_EPOCHS:,}; up
        to {IN_LEVELS / TRAINED} times as many where most of them find the size of the layer.
    learning_rate : float or None
        Rate of gradient ascent on the log-likelihood, in centred coordinates; None: √(B/100) for
        batches of B rows.
    batch_size : int or None
        The most rows in a step; all steps have equally many. None: a twentieth of the rows, from
        10 to 100.
    n_chains : int
        Persistent Gibbs chains, from which the model's averages come. When they are found not to
        cross between the modes of the model, ten replicas of them at higher temperatures help.
    n_gibbs : int
        Gibbs steps of the chains in each step, without replicas.
    early_stopping : bool
        Whether to keep the model under which held-out rows are most likely, and to stop when that
        is long past. The rows are `X_val` of `fit`, or a random part of X.
    validation_fraction : float
        The part of X that is set apart for `early_stopping`, where `fit` is given no `X_val`.
    n_iter_no_change : int or None
        Epochs without a better model, after which training with `early_stopping` goes back to the
        best one and on at half the rate; the third time it stops. None: a quarter of n_iter, and
        at least 10, which chooses the model and seldom saves time.
    warm_start : bool
        Whether `fit` goes on from the model that is there, with n_iter epochs more. Parameters may
        have changed, other than the number of hidden units.
    random_state : int, RandomState or None
        The same number gives the same model, and the same draws after it.
    verbose : int
        1 shows a progress line.

    Attributes
    ----------
    n_hidden_
        The size found. With a price: units beyond exist with a probability of at most {UNUSED},
        averaged over the training rows with their weights; after `partial_fit`, over those of the
        last call.
    mean_size_
        ⟨z⟩ over the same rows.
    chemical_potential_
        μ.
    components_
        Weights W, (`n_hidden_`, `n_features`).
    intercept_hidden_
        Hidden biases b, (`n_hidden_`,).
    intercept_visible_
        Visible biases c, (`n_features`,).
    log_partition_
        log Z, computed when first asked for; `log_partition_error_` is its standard error,
        `log_partition_method_` how it was found, `log_partition_bracket_` its lower and upper end.
    history_
        A record of each epoch, some with the log-likelihood of training and held-out rows.
    n_iter_
        Epochs done.
    n_samples_seen_
        Rows trained on, over all calls of `fit` and `partial_fit` since the model began.
    model_
        The `GrandCanonicalRBM`, with the units in use.
    coding_
        How columns of the data map to 0/1 units.
    """


class VRBM(Machine):  # noqa: D101 (a formatted docstring)
    __doc__ = f"""A restricted Boltzmann machine that finds its own size.

    Trained for the likelihood, with persistent chains; see docs/estimator.md. Data may be ±1, 0/1
    or [0, 1], with NaN for missing entries; the units are 0/1.

    Parameters
    ----------
    max_hidden : int or None
        The most hidden units. None: {beginning.UNITS_PER_COLUMN} for each column, at most
        {beginning.MOST_UNITS}, and with vrbm.Unbounded() as many as it needs.
    potential : None, float, Potential or function
        What decides the size. None, which is vrbm.Reservoir(): the smallest under which rows that
        are set apart meanwhile lose next to nothing; there is no price to choose. A number μ is
        the price of each unit in nats, p(z|v) ∝ e^(−μz) Π (1 + e^(x_a)): larger ones make smaller
        models; without max_hidden it is at least {LEAST_PRICE}. Or another potential such as
        vrbm.Penalizing(), or a function μ(W, b).
    {_PARAMETERS}unit_earnings_
        With vrbm.Reservoir(): what each unit contributes, in nats a row; what the log
        pseudo-likelihood of training rows loses without it. `unit_earnings_error_` is its standard
        error.
    """

    _size_name = "max_hidden"

    def __init__(
        self,
        max_hidden: int | None = None,
        *,
        potential: Any = None,
        n_iter: int | None = DEFAULT.epochs,
        learning_rate: float | None = DEFAULT.optimizer.learning_rate,
        batch_size: int | None = DEFAULT.batch_size,
        n_chains: int = CHAINS.chains,
        n_gibbs: int = CHAINS.k,
        early_stopping: bool = DEFAULT.early_stopping,
        validation_fraction: float = VALIDATION_FRACTION,
        n_iter_no_change: int | None = DEFAULT.n_iter_no_change,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_hidden = max_hidden
        self.potential = potential
        self.n_iter = n_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_chains = n_chains
        self.n_gibbs = n_gibbs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _size_and_potential(self, n_features: int) -> tuple[int, Potential]:
        if self.potential is None:
            potential: Potential = Reservoir()
        elif isinstance(self.potential, Real):
            mu = checks.number("potential", self.potential)
            if self.max_hidden is None and mu < LEAST_PRICE:
                raise ValueError(
                    f"potential is {mu}, too low a price for a layer without an end: pass "
                    f"{LEAST_PRICE} or more, or a largest size max_hidden."
                )
            potential = (
                beginning.default_potential(mu)
                if self.max_hidden is None
                else Constant(mu=mu, absorb_log2=False)
            )
        else:
            potential = as_potential(self.potential)
        first = beginning.first_units(n_features)
        size = first if self.max_hidden is None else checks.count("max_hidden", self.max_hidden)
        if potential.is_unbounded:
            size = min(size, first if potential.idle_is_off else FIRST_UNITS)
        return size, potential

    def size_spread(self, X: Any, n_halves: int = 2) -> np.ndarray:
        """Sizes that copies of this estimator find on random halves of rows X, (n_halves,).

        Halves come in pairs that share no row. Their spread tells how much of `n_hidden_` is
        chance; fewer rows may also have a use for fewer units.
        """
        checks.count("n_halves", n_halves)
        X = clone(self)._validated(X, reset=True)
        if len(X) < 4:
            raise ValueError(f"X has {len(X)} rows: pass at least 4, so that halves can be fitted.")
        random = check_random_state(self.random_state)
        sizes: list[int] = []
        while len(sizes) < n_halves:
            order = random.permutation(len(X))
            for part in np.array_split(order, 2)[: n_halves - len(sizes)]:
                half = clone(self).set_params(random_state=random.randint(2**31 - 1))
                sizes.append(half.fit(X[np.sort(part)]).n_hidden_)
        return np.array(sizes)

    def _config(self) -> Config:
        most = None if self.max_hidden is None else checks.count("max_hidden", self.max_hidden)
        return replace(super()._config(), max_units=most)


class RBM(Machine):  # noqa: D101
    __doc__ = f"""An ordinary restricted Boltzmann machine, of a size that is given.

    The counterpart of `VRBM` with the same methods, and of scikit-learn's BernoulliRBM.

    Parameters
    ----------
    n_hidden : int
        The number of hidden units.
    {_PARAMETERS}"""

    _size_name = "n_hidden"

    def __init__(
        self,
        n_hidden: int = 100,
        *,
        n_iter: int | None = DEFAULT.epochs,
        learning_rate: float | None = DEFAULT.optimizer.learning_rate,
        batch_size: int | None = DEFAULT.batch_size,
        n_chains: int = CHAINS.chains,
        n_gibbs: int = CHAINS.k,
        early_stopping: bool = DEFAULT.early_stopping,
        validation_fraction: float = VALIDATION_FRACTION,
        n_iter_no_change: int | None = DEFAULT.n_iter_no_change,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_iter = n_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_chains = n_chains
        self.n_gibbs = n_gibbs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _size_and_potential(self, n_features: int) -> tuple[int, Potential]:
        return checks.count("n_hidden", self.n_hidden), FixedSize()
