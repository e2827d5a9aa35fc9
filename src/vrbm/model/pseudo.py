r"""The log pseudo-likelihood of rows, and what each hidden unit contributes to it.

log PL(v) = Σ_i log p(v_i | v_{j≠i}) over the visible units i needs no partition function, no chains
and no random numbers (Besag 1975). In a layer whose hidden units all exist, the log-odds of the
choice k of unit i against its first choice, given the other units, are

    s_ik = c_i·(e_k − e_0) + Σ_a f_aik,   f_aik = Γ(x_a at v_i = e_k) − Γ(x_a at v_i = e_0),

with e_k = 0 and 1 for a binary unit, and one-hot values for a categorical one. Without unit a they
are s_ik − f_aik, and the average of f_aik over rows is what the visible bias can make up for.

Functions go through the visible units one by one: f has (q − 1, rows, K) numbers for each of q
choices.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.model.layers.functions import softplus
from vrbm.model.linear import dot
from vrbm.model.rbm import GrandCanonicalRBM
from vrbm.typing import Batch, Field, Hidden, HiddenBias, Visible, Weights


class Loss(NamedTuple):
    """What rows lose in log PL without a unit, for each unit, in nats a row."""

    mean: HiddenBias
    error: HiddenBias
    """its standard error over the rows"""
    biases: Weights
    """what the visible biases gain to make up for it, (K, N)"""


class Site(NamedTuple):
    """One visible unit: its weights (values, K), biases (values,), and values (values, rows)."""

    W: Field
    c: Field
    values: Field


@eqx.filter_jit
def log_pseudo_likelihood(model: GrandCanonicalRBM, v: Visible) -> Batch:
    """log PL of rows v (n, N) in nats, (n,). Entries between two states count as shares of both."""
    x = dot(v, model.W.T) + model.b

    def step(total: Field, site: Site) -> tuple[Field, None]:
        _, s, t = _log_odds(model, x, site)
        return total + _log_likelihood(s, t), None

    return jax.lax.scan(step, jnp.zeros(len(v), v.dtype), _sites(model, v))[0]


@eqx.filter_jit
def contributions(model: GrandCanonicalRBM, v: Visible) -> Loss:
    """What rows v (n, N) lose without each unit."""
    x = dot(v, model.W.T) + model.b
    # Of the biases that give these log-odds, those of the least norm.
    to_biases = jnp.asarray(np.linalg.pinv(_against_first(model)), v.dtype)

    def step(total: Field, site: Site) -> tuple[Field, Field]:
        f, s, t = _log_odds(model, x, site)
        mean = f.mean(axis=1)
        without = _log_likelihood(s[..., None] - (f - mean[:, None]), t[..., None])
        return total + _log_likelihood(s, t)[:, None] - without, dot(to_biases, mean)

    zero = jnp.zeros((len(v), model.max_hidden), v.dtype)
    lost, biases = jax.lax.scan(step, zero, _sites(model, v))
    biases = biases.reshape(model.n_visible, model.max_hidden).T
    return Loss(lost.mean(axis=0), lost.std(axis=0) / len(v) ** 0.5, biases)


def _sites(model: GrandCanonicalRBM, v: Visible) -> Site:
    """All visible units, along the first axis."""
    per_unit = model.visible.per_unit
    parts: Any = (
        x.reshape(-1, per_unit, *x.shape[1:]) for x in (model.W.T, jnp.asarray(model.c), v.T)
    )
    return Site(*parts)


def _against_first(model: GrandCanonicalRBM) -> np.ndarray:
    """e_k − e_0 of all choices but the first, (q − 1, values)."""
    choices = model.visible.choices
    return np.asarray(choices[1:] - choices[0])


def _log_odds(model: GrandCanonicalRBM, x: Hidden, site: Site) -> tuple[Field, Field, Field]:
    """f, (q − 1, rows, K), s, (q − 1, rows), and the shares of all choices, (q, rows)."""
    choices = jnp.asarray(model.visible.choices, x.dtype)
    moves = choices[:, :, None] - site.values  # (q, values, rows)
    at = model.hidden.cumulant(x + dot(jnp.moveaxis(moves, 1, 2), site.W))
    f = at[1:] - at[0]
    s = dot(jnp.asarray(_against_first(model), x.dtype), site.c)
    shares = model.visible.shares(site.values.T)[:, 0].T
    return f, s[:, None] + f.sum(axis=-1), shares


def _log_likelihood(s: Field, shares: Field) -> Field:
    """Σ_k t_k log p_k of an entry whose choices have the log-odds 0 and s, (…,)."""
    if len(s) == 1:  # three times as fast
        return -shares[1] * softplus(-s[0]) - shares[0] * softplus(s[0])
    log_p = jax.nn.log_softmax(jnp.concatenate([jnp.zeros_like(s[:1]), s]), axis=0)
    return (shares * log_p).sum(axis=0)
