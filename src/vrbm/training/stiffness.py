r"""Shorter steps along the few directions in which the likelihood is curved most.

The Fisher information is the covariance C over the model of s = (h v, h, v), with h = ⟨h|v⟩: the
curvature of −⟨log p⟩ where the model has the law of the data. A few of its eigenvalues λ may be far
above all others: where phases coexist, the whole layer takes part in their share. Steps γ with
γλ > 2 overshoot; and persistent chains, which seldom cross from phase to phase, answer so late that
the model swings from one to the other long before that.

The directions u are found on the way, by power iterations on the chains: C u costs two products.
The gradient g then becomes

    g − Σ_u (1 − min(1, κ/γλ)) u (u·g),

so that a step undoes at most a fraction κ of what is off along u, and is itself along all others.
With u and λ from earlier steps it is an ascent, with the same points of rest. Prices count as
constant.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.model import GrandCanonicalRBM
from vrbm.model.linear import dot
from vrbm.training.gradient import Parameters, parameters
from vrbm.typing import Field, HiddenBias, RandomKey, Scalar, Visible, VisibleBias

# κ: the most that a step along a stiff direction undoes.
MOST = 0.01
# Rates at which directions and curvatures follow the chains.
TURN, FOLLOW = 0.05, 0.01
# The curvature to begin with; a wrong one gives way within some 1/FOLLOW steps.
FIRST = 10.0

#: The largest weight of a unit that has none: those that are off drift by rounding.
NO_WEIGHT = 1e-9


class Stiff(eqx.Module):
    """The stiff directions as known so far."""

    directions: tuple[Parameters, ...]
    """u, orthonormal over all parameters"""
    curvatures: Field
    """λ of each"""


def start(model: GrandCanonicalRBM, count: int, key: RandomKey) -> Stiff | None:
    """Random directions; None for none. Units without weights have no part in them.

    Such units are off, and must not be moved by what is left of others' gradients.
    """
    return _started(model, count, key) if count else None


@eqx.filter_jit
def _started(model: GrandCanonicalRBM, count: int, key: RandomKey) -> Stiff:
    like = parameters(model)
    is_on = jnp.abs(model.W).max(axis=1) > NO_WEIGHT
    parts = Parameters(is_on[:, None], is_on, jnp.ones_like(model.c, bool))
    drawn = [
        Parameters(
            *(
                jnp.where(
                    has_part,
                    jax.random.normal(jax.random.fold_in(key, 3 * number + part), x.shape, x.dtype),
                    0,
                )
                for part, (x, has_part) in enumerate(zip(like, parts, strict=True))
            )
        )
        for number in range(count)
    ]
    return Stiff(_orthonormal(drawn), jnp.full(count, FIRST, like.W.dtype))


def followed(
    stiff: Stiff,
    h: Field,
    v: Visible,
    v_offset: VisibleBias | None = None,
    h_offset: HiddenBias | None = None,
) -> Stiff:
    """The directions after a power iteration with chains v, (n, N), and their ⟨h|v⟩, (n, A).

    With offsets the parameters are those of centred coordinates: s = ((h − o_h)(v − o_v), h, v). h
    may be that of the first A units: the others hardly exist, and C u counts as 0 there.
    """
    width = h.shape[1]
    x = h if h_offset is None else h - h_offset[:width]
    y = v if v_offset is None else v - v_offset
    new, found = [], []
    for u, curvature in zip(stiff.directions, stiff.curvatures, strict=True):
        along = jnp.sum(dot(x, u.W[:width]) * y, axis=1) + dot(h, u.b[:width]) + dot(v, u.c)
        along = (along - along.mean()) / len(v)
        Cu = Parameters(dot((x * along[:, None]).T, y), dot(along, h), dot(along, v))
        found.append(_inner(u._replace(W=u.W[:width], b=u.b[:width]), Cu))
        kept = Parameters(*((1 - TURN) * curvature * part for part in u))
        new.append(
            Parameters(
                kept.W.at[:width].add(TURN * Cu.W),
                kept.b.at[:width].add(TURN * Cu.b),
                kept.c + TURN * Cu.c,
            )
        )
    curvatures = (1 - FOLLOW) * stiff.curvatures + FOLLOW * jnp.stack(found)
    return Stiff(_orthonormal(new), curvatures)


def damped(gradient: Parameters, stiff: Stiff, rate: Scalar | float) -> Parameters:
    """The gradient, shortened along the stiff directions for a step of this rate γ."""
    curvatures = stiff.curvatures
    steepness = jnp.maximum(jnp.asarray(rate, curvatures.dtype) * curvatures, 1e-30)
    excess = 1 - jnp.minimum(1, MOST / steepness)
    for number, u in enumerate(stiff.directions):
        gradient = _less(gradient, excess[number] * _inner(u, gradient), u)
    return gradient


def resized(stiff: Stiff | None, units: int, kept: Any) -> Stiff | None:
    """The directions for so many units, of which the first are those `kept`, and others nothing."""
    if stiff is None:
        return None
    more = units - len(kept)

    def fitted(u: Parameters) -> Parameters:
        # By numpy: on the device each of these is a program for each size.
        W, b = np.asarray(u.W)[kept], np.asarray(u.b)[kept]
        W, b = jax.device_put((np.pad(W, ((0, more), (0, 0))), np.pad(b, (0, more))))
        return u._replace(W=W, b=b)

    return Stiff(tuple(fitted(u) for u in stiff.directions), stiff.curvatures)


def _inner(x: Parameters, y: Parameters) -> Scalar:
    return sum((jnp.sum(a * b) for a, b in zip(x, y, strict=True)), jnp.zeros((), x.W.dtype))


def _less(x: Parameters, part: Scalar, u: Parameters) -> Parameters:
    """x − part u."""
    return Parameters(*(a - part * b for a, b in zip(x, u, strict=True)))


def _orthonormal(vectors: list[Parameters]) -> tuple[Parameters, ...]:
    """Gram–Schmidt, in the given order."""
    done: list[Parameters] = []
    for x in vectors:
        for u in done:
            x = _less(x, _inner(u, x), u)
        norm = jnp.sqrt(jnp.maximum(_inner(x, x), 1e-30))
        done.append(Parameters(*(a / norm for a in x)))
    return tuple(done)
