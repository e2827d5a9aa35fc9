r"""Smaller models with the same p(v).

A model cut at the size A has lost the sizes beyond:

    F_A(v) = F(v) − log(1 − P(z > A|v)),    so that 0 ≤ F_A − F = log(1 + r),
    r = Σ_{z>A} e^{ℓ_z} / Σ_{z≤A} e^{ℓ_z}.

For every v at once: the step of unit a is at most s̄_a (`vrbm.training.window`), and the lower sum
is at least any of its terms, so that r ≤ Σ_{z>A} e^{C_z − C_B} for all B ≤ A, C_z = Σ_{a≤z} s̄_a.
With n idle units kept beyond the last busy one this is about e^{−nμ}: exponentially small.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vrbm.data.dataset import Domain
from vrbm.evaluation.blocks import Blocks
from vrbm.model import FixedSize, GrandCanonicalRBM, checks
from vrbm.model.potential import Priced
from vrbm.training.window import log_odds_bound


def prune(
    model: GrandCanonicalRBM,
    data: Any = None,
    *,
    tolerance: float = 1e-6,
    domain: Domain | None = None,
) -> GrandCanonicalRBM:
    """Drop idle units: a smaller model whose F(v) is that of `model` within the tolerance.

    Without `data` the tolerance holds for every v, and so for log Z and log p(v), by a bound. With
    `data` (rows, N) it is met on these rows, by their own P(z > A|v); that may drop more units,
    those which other v would use; a layer without an end is cut with `data` only. Rounding of F
    comes on top: in float32 a few 1e-7 |F|.

    The prices stay those of all K units: one price becomes a `Constant`, or stays `Unbounded`.
    Prices by unit stay with their potential if it gives the same ones to fewer units, as `Local`
    does; else they are stored as numbers, and such a model cannot be saved. Of an ordinary RBM
    (`FixedSize`) the units with almost no weights are dropped, wherever they are; F is then the
    same up to a constant.
    """
    tolerance = checks.number("tolerance", tolerance, 0.0)
    if not model.potential.units_are_optional:
        return _units(model, _coupled(model, tolerance))
    if data is None:
        size = _size_for_every_v(model, tolerance)
    else:
        size = _size_for_rows(model, Blocks(model, data, domain), tolerance)
    return _units(model, np.arange(size))


def cut(model: GrandCanonicalRBM, size: int) -> GrandCanonicalRBM:
    """The first `size` units of the model, with the prices that they had in it."""
    return _units(model, np.arange(checks.count("size", size)))


def to_fixed(model: GrandCanonicalRBM, z: int) -> GrandCanonicalRBM:
    """The ordinary RBM of size z: p(v|z) of the model, F(v, z) up to a constant."""
    z = checks.count("z", z)
    if z > model.max_hidden:
        raise ValueError(f"z is {z}: pass a size between 1 and K = {model.max_hidden}.")
    return GrandCanonicalRBM(
        model.W[:z], model.b[:z], model.c, model.visible, model.hidden, FixedSize()
    )


def _size_for_every_v(model: GrandCanonicalRBM, tolerance: float) -> int:
    """The least A with log(1 + r) ≤ tolerance by the bound."""
    return _first(np.logaddexp(0, log_odds_bound(model)[:-1]) <= tolerance)


def _size_for_rows(model: GrandCanonicalRBM, blocks: Blocks, tolerance: float) -> int:
    """The least A with −log(1 − P(z > A|v)) ≤ tolerance on all rows.

    In a layer without an end what is cut becomes idle, e^{s} → e^{−μ} for each unit: F moves by at
    most 2 / (1 − e^{−μ}) times that, since no unit has a step below −μ − log 2.
    """
    if model.potential.is_unbounded:
        tolerance *= -float(np.expm1(-float(model.chemical_potential()))) / 2
    survival = np.zeros(model.max_hidden)
    for rows, _ in blocks:
        survival = np.maximum(survival, np.asarray(_largest_survival(model, jnp.asarray(rows))))
    return _first(survival[1:] <= -np.expm1(-tolerance))


@eqx.filter_jit
def _largest_survival(model: GrandCanonicalRBM, rows: Any) -> Any:
    return model.size_survival(jnp.asarray(rows, model.W.dtype)).max(axis=0)


def _first(enough: np.ndarray) -> int:
    """The first A = 1..K−1 that is enough, else K."""
    found = np.flatnonzero(enough)
    return int(found[0]) + 1 if found.size else enough.size + 1


def _coupled(model: GrandCanonicalRBM, tolerance: float) -> np.ndarray:
    """Units to keep in an ordinary RBM: dropping unit a moves F − const by at most 2 Σ_i|w_ai|.

    That is for units ±1; in general |x_a − b_a| ≤ max|v| Σ_i |w_ai|, and |Γ'| ≤ max|h|.
    """
    reach = [max(abs(s) for s in unit.states) for unit in (model.visible, model.hidden)]
    swing = 2 * np.prod(reach) * np.abs(np.asarray(model.W, np.float64)).sum(axis=1)
    order = np.argsort(swing, kind="stable")
    dropped = order[np.cumsum(swing[order]) <= tolerance]
    kept = np.setdiff1d(np.arange(model.max_hidden), dropped)
    return kept if kept.size else np.array([0])


def _units(model: GrandCanonicalRBM, kept: np.ndarray) -> GrandCanonicalRBM:
    """These units of the model, with the prices that they had in it."""
    mu, potential = model.chemical_potential(), model.potential
    W, b = np.asarray(model.W)[kept], np.asarray(model.b)[kept]
    if not mu.ndim:
        potential = potential.at(float(mu))
    fewer = GrandCanonicalRBM(W, b, model.c, model.visible, model.hidden, potential)
    if mu.ndim:
        prices = model.prices()[kept]
        if not np.array_equal(fewer.prices(), prices):
            fewer = eqx.tree_at(lambda m: m.potential, fewer, Priced(prices, potential))
    return fewer
