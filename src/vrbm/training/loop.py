"""The training loop: a generator of records that prints and writes nothing."""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from vrbm.data.dataset import Dataset, Domain
from vrbm.model import GrandCanonicalRBM, checks
from vrbm.model.random import Keys, fold_in
from vrbm.training import control as steering
from vrbm.training import exchange, growth, needs, programs, resting, step, stiffness, window
from vrbm.training.config import Config
from vrbm.training.control import Control
from vrbm.training.gradient import parameters
from vrbm.training.guards import Diverged, Lost, Phase
from vrbm.training.looks import LOOK, Looker
from vrbm.training.monitor import Measures, Monitor, some
from vrbm.training.negative import NegativePhase, met
from vrbm.training.observed import Observed
from vrbm.training.optimizer import UserOptimizer, scalar
from vrbm.training.source import OnDevice, Source, Streamed, as_dataset, encoded
from vrbm.training.step import Carry, Rules, Steps
from vrbm.typing import HiddenBias, RandomKey, VisibleBias

# Number of the key that starts chains: no epoch has it.
START = 2**32 - 1
# Number of the key that orders the rows of a stream.
ORDER = 2**32 - 2
# Number of the key of the first stiff directions.
STIFF = 2**32 - 4
# Steps after which a layer counts as settled. Before, it still grows: no unit rests, since each
# width would be compiled twice, and the window doubles where it has to grow.
RESTLESS = 5000
# Rows by which offsets, the prior and the leading directions of the data are found.
SURVEYED = 10_000


@dataclass(frozen=True)
class TrainState:
    """Everything that the next epoch depends on."""

    carry: Carry
    key: RandomKey
    epoch: int
    """Epochs done."""
    width: int
    """Window of the next epoch."""
    control: Control = field(default_factory=Control)
    """What is remembered of earlier looks."""
    model_epoch: int = 0
    """The epoch that the model is of: an earlier one where the run went back to it."""
    search: exchange.Search | None = None
    """The search for the size of the layer, where there is one."""

    @property
    def model(self) -> GrandCanonicalRBM:
        """The model as trained so far."""
        return self.carry.model

    def end(self, config: Config) -> int:
        """The epoch after which the run ends."""
        return config.n_epochs if self.is_searching else self.layer_end(config)

    @property
    def is_searching(self) -> bool:
        """Whether the layer that is trained now is one that the search for the size tries."""
        return self.search is not None and not self.search.is_over

    def layer_length(self, config: Config) -> int:
        """The epochs of the layer that is trained now."""
        return config.n_epochs if self.search is None else self.search.length

    def layer_end(self, config: Config) -> int:
        """The epoch after which the layer that is trained now is done."""
        return config.n_epochs if self.search is None else self.search.end


@dataclass(frozen=True)
class Record:
    """One epoch. Errors, sizes and free energies are of at most `monitor_rows` rows."""

    epoch: int
    """Epochs done, this one included."""
    error_train: float
    """ε on training rows."""
    error_heldout: float | None
    """ε on validation rows, else test rows; None without any."""
    mean_size: float
    """⟨z⟩ over training rows."""
    mu: float
    """The chemical potential; the mean over units where each has its own."""
    active_units: float
    """K_eff, the paper's smooth count of active units."""
    learning_rate: float | None
    """γ in the last step; None with an optimizer of your own."""
    gradient_norms: dict[str, float]
    """Norms of the gradient of W, b and c, averaged over the steps."""
    delta_size: float
    """⟨z⟩_data − ⟨z⟩_model, averaged over the steps."""
    free_energy_gap: float | None
    """Mean F of training rows minus that of held-out rows: falls when the model overfits."""
    window: int
    """Units computed."""
    repeats: int
    """How often a block was done again: with a wider window, more units, or none at rest."""
    swap_rates: list[float]
    """Accepted swaps between neighbouring replicas, where there are replicas."""
    log_likelihood_train: float | None
    """Mean log p(v) of training rows in nats, where there was a look and it can be trusted."""
    log_likelihood_heldout: float | None
    """The same of held-out rows."""
    log_likelihood_error: float | None
    """Error of both from log Z, in nats; None without a look."""
    log_likelihood_doubt: str | None
    """Why a look gave no likelihood."""
    chain_correlation: float | None
    """Correlation of chains with where they were 200 Gibbs steps before: 1 if they do not cross."""
    rate_halvings: int
    """How often the run went back to an earlier model, and on at half the rate."""
    kept_epoch: int
    """The epoch whose model the state holds: this one, unless the run went back."""
    is_search: bool
    """Whether the layer is one that the search for the size tries."""
    is_last: bool
    """Whether the run ends here by itself: after its last epoch, or by early stopping."""
    phase: Phase
    """regular, collapsed (few units, μ ≫ 1), saturated (all units in use) or fixed."""
    seconds: float
    state: TrainState = field(repr=False, compare=False)
    """To go on from here, and to read the model; it holds all arrays of that epoch."""

    def facts(self) -> dict[str, Any]:
        """The record without its state, for a file."""
        return {name: value for name, value in vars(self).items() if name != "state"}


def start(model: GrandCanonicalRBM, data: Any, config: Config, key: RandomKey) -> TrainState:
    """The state before the first epoch."""
    data = as_dataset(data)
    config = config.resolved(model, len(data.train))
    _check(model, data, config)
    dtype = model.W.dtype
    model = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), model)
    rows = some(model, data.train, data.domain, SURVEYED).astype(np.dtype(dtype))
    v_offset, h_offset, survival, prices, negative = _survey(
        model, rows, config.negative, fold_in(key, START)
    )
    checks.finite_prices(prices)
    carry = Carry(
        model=model,
        optimizer=config.optimizer.update_rule(dtype).init(parameters(model)),
        negative=negative,
        v_offset=v_offset,
        h_offset=h_offset,
        stiff=stiffness.start(model, config.directions, jax.random.fold_in(key, STIFF)),
    )
    width = model.max_hidden
    if config.window:
        width = _next_width(model, np.asarray(survival))
    return TrainState(carry, key, epoch=0, width=width)


@eqx.filter_jit
def _survey(
    model: GrandCanonicalRBM, rows: Any, negative: NegativePhase, key: RandomKey
) -> tuple[VisibleBias, HiddenBias, HiddenBias, HiddenBias, Any]:
    """Averages of v and h over rows, the largest P(z ≥ a|v) of some, the prices, and chains."""
    rows = jnp.asarray(rows)
    found = model.response(rows[:: max(1, len(rows) // 1000)])
    return (
        rows.mean(axis=0),
        found.mean.mean(axis=0),
        met(model, found)[0],
        model.prices(),
        negative.start(model, rows, key),
    )


def train(
    model: GrandCanonicalRBM | None,
    data: Any,
    config: Config = Config(),  # noqa: B008 (frozen)
    key: RandomKey | None = None,
    *,
    state: TrainState | None = None,
    optimizer: optax.GradientTransformation | None = None,
    callbacks: Iterable[Callable[[Record], bool | None]] = (),
    observed: Observed | None = None,
) -> Generator[Record, None, None]:
    """Train, and yield a record after each epoch.

    Parameters
    ----------
    model
        Where to start; None when `state` says so.
    data
        A `Dataset`, or an array (rows, N) of ±1, 0/1 or [0, 1].
    config
        Settings.
    key
        A random key: the same key gives the same training.
    state
        Go on from the state of an earlier record, bit for bit as if there had been no pause.
    optimizer
        Any optax transformation, for descent, in place of that of `config`.
    callbacks
        Called with each record; training ends after an epoch in which one returns True.
    observed
        Weights and missing entries of the training rows, in the order of the rows.
    """
    programs.release_if_many()
    data = as_dataset(data)
    if optimizer is not None and config.stiff is None:
        config = replace(config, stiff=0)
    if state is None:
        if model is None:
            raise ValueError("model is None: pass a model, or the state of an earlier training.")
        key = jax.random.key(0) if key is None else checks.random_key(key)
        state = start(model, data, config, key)
        if optimizer is not None:
            fresh = optimizer.init(parameters(state.model))
            state = replace(state, carry=replace(state.carry, optimizer=fresh))
    elif model is not None or key is not None:
        raise ValueError("state is given, and holds model and key: pass None for both.")
    config = config.resolved(state.model, len(data.train))
    _check(state.model, data, config)
    held = 0 if state.carry.stiff is None else len(state.carry.stiff.directions)
    if held != config.stiff:
        raise ValueError(
            f"stiff is {config.stiff}, but the state was begun with {held} stiff directions: go on "
            f"with stiff={held}, or begin anew from its model."
        )
    if config.stiff and optimizer is not None:
        raise ValueError(
            f"stiff is {config.stiff}, which needs the rate of config.optimizer, but an optimizer "
            "is given: leave one of them out."
        )
    observed = Observed() if observed is None else observed
    observed = observed.checked(data.train.shape, state.model.visible)
    return _records(state, data, config, optimizer, list(callbacks), observed)


def _records(
    state: TrainState,
    data: Dataset,
    config: Config,
    optimizer: optax.GradientTransformation | None,
    callbacks: list[Callable[[Record], bool | None]],
    observed: Observed,
) -> Generator[Record, None, None]:
    surveyed = some(state.model, data.train, data.domain, SURVEYED)
    config = config.resolved(state.model, len(data.train), float(surveyed.var(axis=0).sum()))
    source = _source(state, data, config, in_memory=jax.tree.leaves(observed) != [])
    exchanges = None
    if state.model.potential.is_exchanged and config.sizing:
        is_streamed = isinstance(source, Streamed)
        exchanges = exchange.Exchange.of(state.model, data, config, observed, is_streamed)
        source.leave_out(exchanges.trained)
        if state.search is not None and state.search.is_over:
            source.use_all()
    if observed.missing is not None and state.carry.completed is None:
        rows = jnp.asarray(encoded(state.model.visible, data.train, data.domain))
        completed = rows.astype(state.model.W.dtype)
        state = replace(state, carry=replace(state.carry, completed=completed))
    dtype = state.model.W.dtype
    rules = Rules(
        config.optimizer.update_rule(dtype) if optimizer is None else UserOptimizer(optimizer),
        config.negative,
        config.centred,
        scalar(config.penalty, dtype) if config.penalty else None,
        config.penalty_power,
        _tail(state.model, len(data.train), config),
    )
    monitor = Monitor(state.model, data, config)
    looker = Looker(data, surveyed, monitor, config, are_whole=observed.missing is None)
    if looker.every and state.control.kept is None:
        state = replace(state, control=replace(state.control, kept=_kept(state, config)))
    keys = Keys(state.key)
    with closing(source):
        while state.epoch < state.end(config):
            began = time.perf_counter()
            if exchanges is not None and (state.search is None or state.epoch == state.search.end):
                state = _exchanged(state, exchanges, rules, config, source)
            try:
                state, summary, measures, largest_steps = _epoch(
                    state, keys, source, config, rules, monitor, observed
                )
            except Diverged:
                if not looker.every or state.control.halvings == steering.MOST_TURNS:
                    raise
                why = "a parameter or its gradient grew beyond all bounds"
                control = steering.warned(state.control, state.epoch + 1, why)
                state = _returned(replace(state, control=control), rules)
                continue
            epoch = state.epoch
            rate = float(_rates(state, config, epoch * source.batches - 1, source.batches))
            facts, free_energies = monitor.finish(state.model, state.key, measures, largest_steps)
            found, is_over = NO_LOOK, False
            if looker.is_due(state.layer_end(config) - epoch) and not (
                state.is_searching and state.layer_length(config) < looker.every
            ):
                state, found, is_over = _looked(state, looker, monitor, free_energies, rules)
            is_last = is_over or epoch == state.end(config)
            if is_last and config.early_stopping and _kept_is_better(state, looker, monitor):
                state = _returned(state, rules)
            if is_last and exchanges is not None:
                carry = exchanges.closed(state.carry, rules.update)
                state = replace(state, carry=carry, width=carry.model.max_hidden)
            record = Record(
                epoch=epoch,
                learning_rate=rate * state.control.rate_factor if optimizer is None else None,
                seconds=time.perf_counter() - began,
                state=state,
                rate_halvings=state.control.halvings,
                kept_epoch=state.model_epoch,
                is_last=is_last,
                is_search=state.is_searching,
                **facts,
                **summary,
                **found,
            )
            stop = any([bool(callback(record)) for callback in callbacks])  # noqa: C419 (call them all)
            yield record
            if stop or is_over:
                return


def _tail(model: GrandCanonicalRBM, rows: int, config: Config) -> Any:
    """The tail of the prior of a layer that is exchanged."""
    if not (model.potential.is_exchanged and config.penalty):
        return None
    tail = exchange.TAIL * model.n_visible / (rows * config.penalty)
    return scalar(tail, model.W.dtype)


def _exchanged(
    state: TrainState,
    exchanges: exchange.Exchange,
    rules: Rules,
    config: Config,
    source: Source,
) -> TrainState:
    """The state with the layer that the search for the size tries next, or has found."""
    carry, search = exchanges.after(state.carry, state.search, rules.update, state.key)
    if search.is_over:
        source.use_all()
    state = replace(state, carry=carry, width=carry.model.max_hidden, search=search)
    if state.control.kept is not None:
        control = steering.renewed(_kept(state, config), state.epoch)
        state = replace(state, control=control)
    return state


def _rates(state: TrainState, config: Config, steps: Any, batches: int) -> Any:
    """γ at these steps of the run, with so many batches in an epoch."""
    search = state.search
    if search is None:
        return config.optimizer.rates(steps, config.n_epochs * batches)
    steps = np.asarray(steps) - search.begin * batches
    return config.optimizer.rates(steps, search.length * batches, state.is_searching)


NO_LOOK: dict[str, Any] = {
    "log_likelihood_train": None,
    "log_likelihood_heldout": None,
    "log_likelihood_error": None,
    "log_likelihood_doubt": None,
    "chain_correlation": None,
}


def _looked(
    state: TrainState,
    looker: Looker,
    monitor: Monitor,
    free_energies: list[float],
    rules: Rules,
) -> tuple[TrainState, dict[str, Any], bool]:
    """The state after a look, what the record says of it, and whether the run is over."""
    config, carry, epoch = looker.config, state.carry, state.epoch
    chains = config.negative.chains_of(carry.negative)
    assert chains is not None
    assert monitor.width is not None
    key = jax.random.fold_in(jax.random.fold_in(state.key, LOOK), epoch)
    look = looker(carry.model, chains, monitor.width, key)
    likelihoods = [-free - look.log_partition for free in free_energies]
    doubt = looker.obstacle or look.doubt
    train, heldout = (*likelihoods, None)[:2] if doubt is None else (None, None)
    found = {
        "log_likelihood_train": train,
        "log_likelihood_heldout": heldout,
        "log_likelihood_error": look.error if np.isfinite(look.error) else None,
        "log_likelihood_doubt": doubt,
        "chain_correlation": look.correlation,
    }
    negative = config.negative.adapted(carry.negative, look.correlation)
    state = replace(state, carry=replace(carry, negative=negative))
    watched = heldout if config.early_stopping and not state.is_searching else None
    control = state.control
    if steering.has_lost(control, look, train, looker.independent):
        assert train is not None
        assert looker.independent is not None
        if control.halvings == steering.MOST_TURNS:
            raise Lost(epoch, train, looker.independent)
        why = f"the log-likelihood of training rows fell to {train:.2f} nats"
        control = steering.warned(control, epoch, why, train)
        return _returned(replace(state, control=control), rules), found, False
    control = steering.after(control, look, train, watched, _kept(state, config), epoch)
    state = replace(state, control=control)
    waited = epoch - control.best_epoch
    if watched is None or waited < config.epochs_waited(state.layer_length(config)):
        return state, found, False
    if control.turns + 1 == steering.TURNS:
        return state, found, True
    is_better = _kept_is_better(state, looker, monitor)
    state = replace(state, control=steering.turned(control, epoch))
    return _returned(state, rules) if is_better else state, found, False


def _kept_is_better(state: TrainState, looker: Looker, monitor: Monitor) -> bool:
    """Whether validation rows are more likely under the model that is kept, by longer looks.

    A short look can miss what a model gives where no chain has been, and praise it for that. What
    is compared are lower ends: that of a model whose log Z is not certain is low, not unknown.
    """
    control, negative = state.control, looker.config.negative
    if control.best_heldout is None or control.kept_epoch == state.model_epoch:
        return False
    chains = negative.chains_of(state.carry.negative)
    assert control.kept is not None
    assert chains is not None
    key = fold_in(state.key, LOOK)
    values = []
    for model, starts in (
        (_model_kept(state), control.kept.chains),
        (state.model, chains),
    ):
        assert starts is not None
        width, free_energies = monitor.free_energies(model, state.key)
        look = looker(model, starts, width, key, more=3)
        values.append(-free_energies[1] - look.upper)
    return bool(values[0] > values[1])


def _model_kept(state: TrainState) -> GrandCanonicalRBM:
    kept = state.control.kept
    assert kept is not None
    model = state.model
    return eqx.tree_at(lambda m: (m.W, m.b, m.c), model, (kept.W, kept.b, kept.c))


def _kept(state: TrainState, config: Config) -> steering.Kept:
    chains = config.negative.chains_of(state.carry.negative)
    assert chains is not None, "runs without chains have no looks"
    return steering.kept(state.carry, chains)


def _returned(state: TrainState, rules: Rules) -> TrainState:
    """The state with the model and the chains that were kept; what else it holds stays."""
    kept = state.control.kept
    assert kept is not None
    if state.control.kept_epoch == state.model_epoch and state.model_epoch == state.epoch:
        return state
    key = jax.random.fold_in(state.key, STIFF)
    carry = steering.restored(state.carry, kept, rules.update, rules.negative, key)
    model = carry.model
    may_grow = model.potential.is_unbounded or model.potential.is_exchanged
    width = model.max_hidden if may_grow else state.width
    return replace(state, carry=carry, width=width, model_epoch=state.control.kept_epoch)


def _epoch(
    state: TrainState,
    keys: Keys,
    source: Source,
    config: Config,
    rules: Rules,
    monitor: Monitor,
    observed: Observed,
) -> tuple[TrainState, dict[str, Any], Measures | None, np.ndarray | None]:
    """All blocks of an epoch, each with a window, or a layer, that was wide enough.

    While the device is at work, the host prepares the next epoch, and sets it to look at the model
    after the last block; the look and the s̄_a, if any, are returned for `Monitor.finish`.
    """
    carry, repeats = state.carry, 0
    is_unbounded = carry.model.potential.is_unbounded
    use_window = config.window and not is_unbounded
    width = state.width if use_window else carry.model.max_hidden
    dtype = np.dtype(carry.model.W.dtype)
    following = state.epoch + 1
    blocks: list[Steps] = []
    look: Measures | None = None
    largest_steps: Any = None
    done = 0
    for number, (rows, order) in enumerate(
        source.blocks(state.epoch, _order_key(keys, state.epoch))
    ):
        if following < state.end(config):
            source.prepare(following, _order_key(keys, following))
        key = keys(state.epoch, 1, number)
        first = state.epoch * source.batches + done
        is_settled = first >= RESTLESS
        taken = np.arange(first, first + len(order))
        rates = _rates(state, config, taken, source.batches)
        rates = (state.control.rate_factor * rates).astype(dtype)
        may_rest = is_settled
        while True:
            rests = may_rest and resting.applies(carry, rules, width)
            run = resting.run if rests else step.run
            new, steps, largest_steps = run(
                carry, rows, order, jax.device_put(rates), key, width, rules, observed
            )
            is_last = done + len(order) == source.batches
            if is_last and not is_unbounded:  # a layer without an end may shrink afterwards
                look = monitor.begin(new.model, state.key)
            steps, largest_steps = jax.device_get((steps, largest_steps))
            _stop_if_diverged(carry.model, steps, following, done, monitor.constant_columns)
            most_units = carry.model.max_hidden
            is_wide = width == most_units or window.is_exact(float(steps.log_missing), dtype)
            lacks = is_unbounded and growth.is_needed(steps.survival, config.max_units)
            if is_wide and not lacks and steps.misfit <= resting.TOLERANCE:
                break
            if lacks:
                carry = growth.grown(
                    carry, rules.update, state.key, config.seed_scale, config.max_units
                )
                width = carry.model.max_hidden
            elif rests:  # its bound on the tails is loose when idle units move much
                may_rest = False
            else:
                width = window.fitting(most_units, 2 * width)
            repeats += 1
        carry, used = new, width
        blocks.append(steps)
        done += len(order)
        if use_window:
            width = _next_width(carry.model, steps.survival, width, largest_steps, is_settled)
    if is_unbounded:
        survival = np.zeros(carry.model.max_hidden)
        for block in blocks:
            units = len(block.survival)
            survival[:units] = np.maximum(survival[:units], block.survival)
        carry, largest_steps = growth.shrunk(carry, rules.update, survival), None
        width = carry.model.max_hidden
    carry = replace(carry, negative=rules.negative.rest(carry.negative))
    norms, delta_size, swap_rates = (
        np.concatenate([getattr(block.shown, name) for block in blocks]).mean(axis=0)
        for name in ("norms", "delta_size", "swap_rates")
    )
    summary = {
        "gradient_norms": dict(zip("Wbc", norms.tolist(), strict=True)),
        "delta_size": float(delta_size),
        "window": used,
        "repeats": repeats,
        "swap_rates": swap_rates.tolist(),
    }
    after = replace(state, carry=carry, epoch=following, width=width, model_epoch=following)
    return after, summary, look, largest_steps


def _order_key(keys: Keys, epoch: int) -> RandomKey:
    """The key by which the rows of an epoch are ordered."""
    return keys(epoch, 0, epoch)


def _next_width(
    model: GrandCanonicalRBM,
    survival: np.ndarray,
    width: int | None = None,
    largest_steps: np.ndarray | None = None,
    is_settled: bool = False,
) -> int:
    """A width with some room, given the largest P(z ≥ a|v) met and, where known, the s̄_a.

    Until the layer is settled it grows by doubling at least, so that little is compiled for one
    that is still growing; it shrinks only when much narrower would do.
    """
    needed = window.needed(
        survival, window.log_tails(model, largest_steps), np.dtype(model.W.dtype)
    )
    fit = window.fitting(model.max_hidden, needed + max(4, needed // 16))
    if width is None or fit <= 0.75 * width:
        return fit
    if fit <= width:
        return width
    return fit if is_settled else window.fitting(model.max_hidden, max(fit, 2 * width))


def _stop_if_diverged(
    before: GrandCanonicalRBM, steps: Steps, epoch: int, done: int, constant_columns: int
) -> None:
    """Raise if a gradient or price of a step, or a parameter after the last, is out of bounds."""
    shown = steps.shown
    bad = ~np.isfinite(shown.norms) | ~(shown.price <= step.LARGEST_PRICE)[:, None]
    bad[-1] |= steps.spoiled
    if not bad.any():
        return
    number, tensor = (int(i) for i in np.argwhere(bad)[0])
    mu, weight = float(shown.price[number]), float(np.abs(np.asarray(before.W)).max())
    raise Diverged(epoch, done + number + 1, "Wbc"[tensor], mu, weight, constant_columns)


def _source(state: TrainState, data: Dataset, config: Config, in_memory: bool) -> Source:
    unit = state.model.visible
    if in_memory or data.train.size * data.domain.dtype.itemsize <= config.device_bytes:
        return OnDevice(encoded(unit, data.train, data.domain), config.batch)
    seed = int(jax.random.bits(jax.random.fold_in(state.key, ORDER), dtype=jnp.uint32))
    return Streamed(data.train, unit, data.domain, config.batch, seed)


def _check(model: GrandCanonicalRBM, data: Dataset, config: Config) -> None:
    """The data fit the model, a limit is that of an unbounded layer within it, and all fits."""
    if data.n_visible != model.n_visible:
        raise ValueError(
            f"data {data.name!r} has {data.n_visible} values in a row, but the model has "
            f"{model.n_visible} visible units: make a model with n_visible = {data.n_visible}."
        )
    if model.visible.per_unit > 1:
        for split, rows, _ in data.splits():
            for start in range(0, len(rows), SURVEYED):
                part = encoded(model.visible, rows[start : start + SURVEYED], data.domain)
                model.visible.check(f"{split} of data {data.name!r}, from row {start} on,", part)
    most = config.max_units
    may_grow = model.potential.is_unbounded or model.potential.is_exchanged
    if most is not None and not may_grow:
        raise ValueError(
            f"max_units is {most}, but the layer ends at max_hidden = {model.max_hidden}: leave it "
            "out, or take the potential Unbounded or Reservoir."
        )
    if most is not None and model.potential.is_unbounded and most < model.max_hidden:
        raise ValueError(
            f"max_units is {most}, but the model begins with {model.max_hidden} hidden units: "
            "begin with fewer, or allow more."
        )
    if config.early_stopping and data.validation is None:
        raise ValueError(
            f"early_stopping is True, but data {data.name!r} has no validation rows: set some "
            "apart, as validation_fraction does, or leave it out."
        )
    if config.early_stopping and data.domain is Domain.UNIT:
        raise ValueError(
            "early_stopping is True, but values between 0 and 1 have no log-likelihood: threshold "
            "or sample them first, or leave it out."
        )
    needs.require(model, len(data.train), config.resolved(model, len(data.train)))
