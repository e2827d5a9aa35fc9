r"""The log pseudo-likelihood of rows, and what each hidden unit contributes to it.

log PL(v) = Σ_i log p(v_i | v_{j≠i}) needs no partition function, no chains and no random numbers
(Besag 1975). In a layer whose units all exist, the log-odds of v_i given the other columns are

    s_i = d c_i + Σ_a f_ai,   f_ai = Γ(x_a at v_i = high) − Γ(x_a at v_i = low),

with d = high − low. Without unit a they are s_i − f_ai, and the average of f_ai over rows is what
the visible bias of column i can make up for.

Functions go through the columns one by one: f has (rows, K) numbers for each.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vrbm.model.linear import dot
from vrbm.model.rbm import GrandCanonicalRBM
from vrbm.typing import Batch, Field, Hidden, HiddenBias, Visible, Weights


class Loss(NamedTuple):
    """What rows lose in log PL by a change of one unit, for each unit, in nats a row."""

    mean: HiddenBias
    error: HiddenBias
    """its standard error over the rows"""
    biases: Weights
    """what the visible biases gain to make up for it, (K, N)"""


class Column(NamedTuple):
    """One column: its weights (K,), its visible bias, and its values (rows,)."""

    w: Field
    c: Field
    values: Field


@eqx.filter_jit
def log_pseudo_likelihood(model: GrandCanonicalRBM, v: Visible) -> Batch:
    """log PL of rows v (n, N) in nats, (n,). Entries between two states count as shares of both."""
    x = dot(v, model.W.T) + model.b

    def step(total: Field, column: Column) -> tuple[Field, None]:
        _, s, t = _log_odds(model, x, column)
        return total + _log_likelihood(s, t), None

    return jax.lax.scan(step, jnp.zeros(len(v), v.dtype), _columns(model, v))[0]


@eqx.filter_jit
def contributions(model: GrandCanonicalRBM, v: Visible) -> Loss:
    """What rows v (n, N) lose without each unit."""
    return _losses(model, v, lambda f, column, w: f, None)


def _losses(
    model: GrandCanonicalRBM,
    v: Visible,
    change: Callable[[Field, Column, Any], Field],
    more: Any,
) -> Loss:
    """Losses by what is taken from the log-odds of each column, given f and the entry of `more`."""
    x = dot(v, model.W.T) + model.b
    d = model.visible.states[-1] - model.visible.states[0]

    def step(total: Field, inputs: tuple[Column, Any]) -> tuple[Field, Field]:
        column, extra = inputs
        f, s, t = _log_odds(model, x, column)
        taken = change(f, column, extra)
        mean = taken.mean(axis=0)
        without = _log_likelihood(s[:, None] - (taken - mean), t[:, None])
        return total + _log_likelihood(s, t)[:, None] - without, mean / d

    zero = jnp.zeros((len(v), model.max_hidden), v.dtype)
    lost, biases = jax.lax.scan(step, zero, (_columns(model, v), more))
    return Loss(lost.mean(axis=0), lost.std(axis=0) / len(v) ** 0.5, biases.T)


def _columns(model: GrandCanonicalRBM, v: Visible) -> Column:
    return Column(model.W.T, model.c, v.T)


def _log_odds(model: GrandCanonicalRBM, x: Hidden, column: Column) -> tuple[Field, Field, Field]:
    """f_ai, (rows, K), the log-odds s_i, and the shares t_i of the high state, (rows,)."""
    low, high = model.visible.states[0], model.visible.states[-1]
    f = _difference(model, x, column.w, column.values)
    return f, (high - low) * column.c + f.sum(axis=1), (column.values - low) / (high - low)


def _difference(model: GrandCanonicalRBM, x: Hidden, w: Field, values: Field) -> Field:
    """Γ(x_a) where a column has its high state less Γ(x_a) where it has its low one, (rows, K)."""
    low, high = model.visible.states[0], model.visible.states[-1]
    at_high, at_low = (x + (state - values)[:, None] * w for state in (high, low))
    return model.hidden.cumulant(at_high) - model.hidden.cumulant(at_low)


def _log_likelihood(s: Field, t: Field) -> Field:
    """That of an entry with log-odds s that is high with the share t."""
    return -t * jax.nn.softplus(-s) - (1 - t) * jax.nn.softplus(s)
