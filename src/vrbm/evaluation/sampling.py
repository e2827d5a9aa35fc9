r"""Samples of a model, free or given the values of some visible units.

A clamped unit keeps its value while z, h and the free visible units are drawn: Gibbs sampling of
p(v_free | v_clamped). The same holds at every β of the annealing path, so that annealed and
tempered chains can be clamped too.
"""

from functools import partial
from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from vrbm import memory
from vrbm.evaluation.annealing import VALUES, adapt
from vrbm.evaluation.path import Path, path
from vrbm.model import GrandCanonicalRBM, checks
from vrbm.model.random import Keys, fold_in
from vrbm.training.tempered import partners, swaps
from vrbm.typing import Chains, Field, RandomKey, Values

Method = Literal["gibbs", "tempered", "annealed"]

Mask = Bool[Array, "chains visible"]


def sample(
    model: GrandCanonicalRBM,
    n: int,
    key: RandomKey,
    method: Method = "annealed",
    *,
    steps: int = 1000,
    replicas: int = 20,
    starts: Values | None = None,
    clamp: Values | None = None,
    base: Values | None = None,
) -> np.ndarray:
    """Draw n visible states, (n, N), each the end of a chain of its own, as values of the units.

    Parameters
    ----------
    method
        "gibbs": `steps` Gibbs steps at β = 1, from `starts` or from the base rates. "annealed": a
        run from the base rates at β = 0 to the model along a ladder of `steps` temperatures; what
        gets from mode to mode does so while β is small, and the share of each mode is fixed where
        chains freeze: it is approximate and depends on `base`. "tempered": `steps` rounds of a
        Gibbs step and of swaps in `replicas` replicas between β = 0 and 1; the choice where chains
        get stuck and shares matter, and the most expensive one. All are exact for long chains only.
    steps
        As above: the burn-in, since only the end of a chain is returned.
    starts
        Rows (m, N), in any two-valued coding, where Gibbs chains start, drawn with replacement.
    clamp
        Values (N,) or (n, N) of visible units that are fixed, with NaN for those that are free.
    base
        Fields c₀ (N,) of the base rates; found by a pilot run if None.
    """
    key = checks.random_key(key)
    n, steps = checks.count("n", n), checks.count("steps", steps)
    if method not in get_args(Method):
        raise ValueError(f"method is {method!r}: choose one of {list(get_args(Method))}.")
    if checks.count("replicas", replicas) < 2:
        raise ValueError(f"replicas is {replicas}: pass at least 2, for β = 0 and β = 1.")
    if starts is not None and method != "gibbs":
        raise ValueError(f"starts are given, but {method} chains start at β = 0: leave them out.")
    states = n if method != "tempered" else max(n, replicas)
    memory.require(
        32 * (states * model.n_visible + steps),
        f"drawing {n} samples of {model.n_visible} visible units in {steps} steps",
        "draw fewer at a time",
    )
    fixed, values = _clamped(model, clamp, n)
    keys, pilot_key = Keys(fold_in(key, 0)), fold_in(key, 1)
    points = {"gibbs": 2, "annealed": max(steps, 2), "tempered": replicas}[method]
    model_path = path(model, base)
    if method == "gibbs":
        betas = np.ones(steps)
    else:
        model_path, betas = adapt(model_path, pilot_key, points, adapt_base=base is None)
    rows = None if starts is None else model.visible.encode(starts, "starts")
    if rows is not None:
        model.visible.check("starts", rows)
    width = model.n_visible + model_path.model.max_hidden
    block = max(1, VALUES // (width * (replicas if method == "tempered" else 1)))
    parts = []
    for number, at in enumerate(range(0, n, block)):
        start_key, run_key = keys(number, 0), keys(number, 1)
        here = slice(at, at + block)
        dtype = model.W.dtype
        mask, held, ladder = jax.device_put(
            (fixed[here], values[here].astype(dtype), betas.astype(dtype))
        )
        if method == "tempered":
            v = _exchanged(model_path, start_key, run_key, ladder, mask, held, steps)
        else:
            if rows is None:
                v = model_path.start(start_key, len(held))
            else:
                chosen = jax.random.randint(start_key, (len(held),), 0, len(rows))
                v = jnp.asarray(rows[np.asarray(chosen)], held.dtype)
            v = _annealed(model_path, v, run_key, ladder, mask, held)
        parts.append(np.asarray(v))
    return np.concatenate(parts)


@jax.jit
def _annealed(
    path: Path, v: Chains, key: RandomKey, betas: Field, mask: Mask, held: Chains
) -> Chains:
    """One Gibbs step at each of the betas, with clamped units held."""

    def step(v: Chains, inputs: tuple[Field, RandomKey]) -> tuple[Chains, None]:
        beta, key = inputs
        v = path.step(path.fields(v), beta, key)
        return jnp.where(mask, held, v), None

    keys = jax.random.split(key, len(betas))
    return jax.lax.scan(step, jnp.where(mask, held, v), (betas, keys))[0]


@partial(jax.jit, static_argnames="rounds")
def _exchanged(
    path: Path,
    start_key: RandomKey,
    key: RandomKey,
    betas: Field,
    mask: Mask,
    held: Chains,
    rounds: int,
) -> Chains:
    """Replica exchange at the betas from draws at β = 0: the chains at β = 1 after the rounds."""

    def gibbs(beta: Field, v: Chains, key: RandomKey) -> Chains:
        return jnp.where(mask, held, path.step(path.fields(v), beta, key))

    def turn(v: Field, inputs: tuple[Array, RandomKey]) -> tuple[Field, None]:
        number, key = inputs
        gibbs_key, swap_key = jax.random.split(key)
        v = jax.vmap(gibbs)(betas, v, jax.random.split(gibbs_key, len(betas)))
        partner = partners(len(betas), number % 2)
        own, other = betas[:, None, None], betas[partner][:, None, None]
        swap, _ = swaps(path.gain(v, path.fields(v), own, other), partner, swap_key)
        return jnp.where(swap[..., None], v[partner], v), None

    def start(key: RandomKey) -> Chains:
        return jnp.where(mask, held, path.start(key, len(held)))

    v = jax.vmap(start)(jax.random.split(start_key, len(betas)))
    inputs = (jnp.arange(rounds), jax.random.split(key, rounds))
    return jax.lax.scan(turn, v, inputs)[0][-1]


def _clamped(
    model: GrandCanonicalRBM, clamp: Values | None, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which units are fixed, and their values with 0 elsewhere, each (n, N)."""
    shape = (n, model.n_visible)
    if clamp is None:
        return np.zeros(shape, bool), np.zeros(shape)
    given = np.asarray(checks.host_numbers("clamp", clamp), float)
    if given.shape not in (shape, shape[1:]):
        raise ValueError(
            f"clamp has shape {given.shape}: pass {shape[1:]} values, or {shape} for a row of its "
            "own for each sample, with NaN for the units that are free."
        )
    fixed = ~np.isnan(given)
    values = np.zeros(given.shape)
    if fixed.any():
        values[fixed] = model.visible.encode(given[fixed], "clamp")
        per_unit = model.visible.per_unit
        if not model.visible.splits_none(fixed):
            raise ValueError(
                f"clamp fixes some of the {per_unit} values of a unit: pass all of them, or NaN."
            )
        model.visible.check("clamp", np.where(fixed, values, 1 / per_unit))
    return np.broadcast_to(fixed, shape), np.broadcast_to(values, shape)
