"""The two estimators."""

from numbers import Real
from typing import Any

from vrbm.estimator.base import UNUSED, Machine
from vrbm.model import Constant, FixedSize, Potential, checks
from vrbm.model.potential import as_potential
from vrbm.training import Config, beginning
from vrbm.training.config import (
    CHAINS,
    FEWEST_EPOCHS,
    FEWEST_STEPS,
    MOST_EPOCHS,
    VALIDATION_FRACTION,
)
from vrbm.training.exchange import POOL

#: The lowest price without max_hidden: a layer without an end has 1/μ idle units on average.
LEAST_PRICE = 0.01
#: Units with which a layer begins that grows from seeds: some to spare, since growth compiles.
FIRST_UNITS = 16
#: The defaults of a training run, the same as those of `vrbm train`.
DEFAULT = Config()

_PARAMETERS = f"""n_iter : int or None
        Epochs, passes over the data. After 30 % of them the learning rate falls, to zero at the
        end. None: {FEWEST_EPOCHS}, or as many as make {FEWEST_STEPS:,} steps, at most
        {MOST_EPOCHS:,}.
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
        The size found: units beyond exist with a probability of at most {UNUSED}, averaged over
        the training rows with their weights; after `partial_fit`, over those of the last call.
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
        None: a layer without an end. It begins with {beginning.UNITS_PER_COLUMN} units for each
        column, at most {beginning.MOST_UNITS}, loses those that do not earn their price, and grows
        if it needs more; units beyond are off. A number is the largest size, or with
        vrbm.Unbounded() the most units that are stored. With None, a potential with an end ends at
        that first size; with vrbm.Reservoir() a layer begins with {POOL} units.
    potential : float, Potential or function
        The price of a hidden unit in nats. A number μ is the same for all, p(z|v) ∝
        e^(−μz) Π (1 + e^(x_a)): larger ones make smaller models; without max_hidden it is at least
        {LEAST_PRICE}. vrbm.Reservoir(): what its weights cost on new rows, γ_a/n for n rows that
        determine γ_a of its weights; no price has to be chosen. Or another potential such as
        vrbm.Penalizing(), or a function μ(W, b).
    {_PARAMETERS}"""

    _size_name = "max_hidden"

    def __init__(
        self,
        max_hidden: int | None = None,
        *,
        potential: Any = beginning.PRICE,
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
        if isinstance(self.potential, Real):
            mu = checks.number("potential", self.potential)
            if self.max_hidden is None and mu < LEAST_PRICE:
                raise ValueError(
                    f"potential is {mu}, too low a price for a layer without an end: pass "
                    f"{LEAST_PRICE} or more, or a largest size max_hidden."
                )
            potential: Potential = (
                beginning.default_potential(mu)
                if self.max_hidden is None
                else Constant(mu=mu, absorb_log2=False)
            )
        else:
            potential = as_potential(self.potential)
        if potential.is_exchanged:
            size = POOL if self.max_hidden is None else checks.count("max_hidden", self.max_hidden)
            return size, potential
        first = beginning.first_units(n_features)
        size = first if self.max_hidden is None else checks.count("max_hidden", self.max_hidden)
        if potential.is_unbounded:
            size = min(size, first if potential.idle_is_off else FIRST_UNITS)
        return size, potential

    def _limit(self) -> int | None:
        return None if self.max_hidden is None else checks.count("max_hidden", self.max_hidden)


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
