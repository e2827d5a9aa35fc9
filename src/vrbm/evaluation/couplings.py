r"""Interactions between visible units, as spins s = ±1, when hidden units and size are summed out.

Two expansions of −F. The paper's, to leading order in the weights, of F(v, z); and the exact one,
−F = Σ_A J_A Π_{i∈A} s_i over all subsets A of some visible units, whose coefficients are the
Walsh–Hadamard transform of −F over the states of these units.
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64, Int64
from scipy.stats import rankdata

from vrbm.data.ising.lattice import bonds
from vrbm.model import GrandCanonicalRBM, checks
from vrbm.typing import Numbers, Values

#: The most units whose couplings are found exactly.
LIMIT = 20
#: States computed at once times units.
BLOCK = 1 << 20


class LeadingCouplings(NamedTuple):
    """Fields and pair couplings of F(v, z) to leading order in the weights."""

    fields: Numbers
    """J_i, (N,)"""
    pairs: Numbers
    """S_ij, (N, N), symmetric, with 0 on the diagonal"""


def leading_couplings(model: GrandCanonicalRBM, z: int | None = None) -> LeadingCouplings:
    r"""J^z and S^z [Ising:interactionMatrix] of a layer of size z (K if not given).

    J_i = c_i + Σ_{a≤z} b_a w_ai and S_ij = Σ_{a≤z} w_ai w_aj, i ≠ j, in the convention

        F(v, z) = −Σ_i J_i v_i − Σ_{i<j} v_i S_ij v_j + …    [FreeEnergy:Resum]

    in which every pair counts once, since −log cosh x = −x²/2 + …; the paper's sum over all i and j
    would need ½ S (docs/theory.md). So S_ij is to be compared with J/T of an Ising model.

    For other unit types: v = m + d s with spins s, i.e. w → d w, b_a → b_a + m Σ_i w_ai, c → d c,
    and J_i = c_i + Σ_a [Γ'(0) + Γ''(0) b_a] w_ai, S_ij = Γ''(0) Σ_a w_ai w_aj.
    """
    size = _size(model, z) or model.max_hidden
    low, high = model.visible.states[0], model.visible.states[-1]
    middle, half = (low + high) / 2, (high - low) / 2
    W, b, c = (np.asarray(x, np.float64) for x in (model.W, model.b, model.c))
    W, b = W[:size], b[:size]
    W, b, c = half * W, b + middle * W.sum(axis=1), half * c
    mean = float(model.hidden.mean(jnp.zeros(())))
    variance = float(jax.grad(model.hidden.mean)(0.0))
    pairs = variance * W.T @ W
    np.fill_diagonal(pairs, 0)
    return LeadingCouplings(c + (mean + variance * b) @ W, pairs)


def unit_couplings(model: GrandCanonicalRBM) -> Numbers:
    r"""How strongly visible units act on each other, (units, units), with 0 on the diagonal.

    To leading order in the weights, the choices k of unit i and l of unit j have the coupling
    J_ij(k, l) = Γ''(0) Σ_a (w_ai·e_k)(w_aj·e_l). In the gauge in which its sums over k and over l
    are zero, the strength is the norm √Σ_kl J_ij(k, l)². For two-valued units it is 2 |S_ij| of
    `leading_couplings`; for categorical ones, how bonds of a Potts model are told from other pairs.
    """
    per_unit = model.visible.per_unit
    choices = model.visible.choices - model.visible.choices.mean(axis=0)
    W = np.asarray(model.W, np.float64).reshape(model.max_hidden, -1, per_unit) @ choices.T
    variance = float(jax.grad(model.hidden.mean)(0.0))
    # The norm of AᵀB, of matrices A and B with K rows, is √Σ (A Aᵀ)(B Bᵀ).
    squares = np.einsum("aik,bik->iab", W, W).reshape(W.shape[1], -1)
    strengths = variance * np.sqrt(np.maximum(squares @ squares.T, 0))
    np.fill_diagonal(strengths, 0)
    return np.asarray(strengths)


@dataclass(frozen=True, eq=False)
class EffectiveCouplings:
    """Coefficients J_A of −F(s) = Σ_A J_A Π_{i∈A} s_i over the subsets A of m units."""

    sites: Int64[np.ndarray, "m"]
    """numbers of the m visible units"""
    values: Float64[np.ndarray, "subsets"]
    """J_A, (2^m,): bit m − 1 − i of the index says whether the i-th site is in A"""

    @property
    def constant(self) -> float:
        """J of the empty set: the average of −F."""
        return float(self.values[0])

    @property
    def fields(self) -> Numbers:
        """J_i, (m,)."""
        return self.order(1)[1]

    @property
    def pairs(self) -> Numbers:
        """J_ij, (m, m), symmetric, with 0 on the diagonal."""
        m = len(self.sites)
        matrix = np.zeros((m, m))
        if m > 1:
            matrix[np.triu_indices(m, 1)] = self.order(2)[1]
        return matrix + matrix.T

    def order(self, k: int) -> tuple[np.ndarray, Numbers]:
        """All subsets of k units, as positions in `sites` (n, k), and their couplings (n,)."""
        m = len(self.sites)
        if not 0 <= k <= m:
            raise ValueError(f"k is {k}: pass a number of units from 0 to {m}.")
        subsets = np.array(list(combinations(range(m), k)), int).reshape(comb(m, k), k)
        return subsets, self.values[(1 << (m - 1 - subsets)).sum(axis=1)]

    def strengths(self) -> Numbers:
        """Σ_{|A|=k} J_A² for k = 0..m, (m + 1,): the variance of F over all s, order by order."""
        sizes = np.bitwise_count(np.arange(self.values.size))
        return np.bincount(sizes, self.values**2, minlength=len(self.sites) + 1)

    def resummed(self) -> Float64[np.ndarray, "subsets"]:
        """−F of all 2^m states, the last site changing fastest, from −1 to +1."""
        return _transform(self.values, lambda even, odd: (even - odd, even + odd))


def effective_couplings(
    model: GrandCanonicalRBM,
    sites: Values | None = None,
    *,
    rest: Values | None = None,
    z: int | None = None,
) -> EffectiveCouplings:
    r"""J_A = 2^{−m} Σ_s (−F(s)) Π_{i∈A} s_i, exact, for all subsets A of m ≤ 20 visible units.

    Parameters
    ----------
    sites
        Numbers of the m units, counted from 0; all of them where not given.
    rest
        (N,), ±1 or 0/1: where the other units are held; the entries at `sites` do not matter.
        J_A then contains what the couplings with the others give in this surrounding.
    z
        Expand F(v, z) of this size in place of F(v).
    """
    n = model.n_visible
    if model.visible.per_unit > 1:
        raise ValueError(
            f"the visible units are {model.visible}, and couplings of all orders are those of "
            "two-valued units: pass such a model, or take unit_couplings."
        )
    chosen = np.arange(n) if sites is None else _sites(sites, n)
    m = len(chosen)
    if m > LIMIT:
        raise ValueError(
            f"couplings of {m} units were asked for, and the limit is {LIMIT} (2^{LIMIT} states): "
            "pass fewer sites, with the others held at `rest`."
        )
    low, high = model.visible.states[0], model.visible.states[-1]
    if rest is None and m < n:
        raise ValueError(
            f"sites names {m} of {n} units, and rest is None: pass rest, the values (N,) at which "
            "the others are held, e.g. a row of the data."
        )
    base = np.full(n, low) if rest is None else model.visible.encode(rest, "rest")
    if base.shape != (n,):
        raise ValueError(f"rest has shape {base.shape}: pass one value for each of the {n} units.")
    size = _size(model, z)
    width = 1 << max(0, min(m, (BLOCK // (n + model.max_hidden)).bit_length() - 1))
    found = []
    for start in range(0, 1 << m, width):
        v = np.repeat(base[None], width, axis=0)
        bits = np.arange(start, start + width)[:, None] >> np.arange(m - 1, -1, -1) & 1
        v[:, chosen] = np.where(bits, high, low)
        found.append(np.asarray(_minus_free_energies(model, jnp.asarray(v), size), np.float64))
    energies = np.concatenate(found)
    if not np.isfinite(energies).all():
        raise ValueError(f"F(v, z) is not finite at z = {z}: pass a size that the model allows.")
    values = _transform(energies, lambda down, up: ((down + up) / 2, (up - down) / 2))
    return EffectiveCouplings(chosen, values)


class NeighbourScore(NamedTuple):
    """How well a matrix of pair couplings shows the bonds of a lattice, by absolute values."""

    auc: float
    """probability that a bond has a larger |S| than another pair, ties counted half: ½ is chance"""
    precision: float
    """fraction of bonds among as many largest |S| as there are bonds"""
    ratio: float
    """mean |S| of the bonds divided by that of the other pairs; infinite where these are 0"""


def neighbour_score(pairs: Values, L: int) -> NeighbourScore:
    """Compare S (N, N) with the nearest neighbours of the periodic L×L lattice, L ≥ 3.

    `auc` is the area under the ROC curve of |S| as a detector of bonds. Where more pairs
    are equal than fit among the largest, `precision` counts them in proportion.
    """
    S = np.abs(np.asarray(pairs, np.float64))
    links = bonds(L)
    n = L * L
    if S.shape != (n, n):
        raise ValueError(f"pairs has shape {S.shape}: pass a matrix ({n}, {n}) for L = {L}.")
    if L < 3:
        raise ValueError(f"L is {L}: on a lattice of side 2 a pair has two bonds; pass L ≥ 3.")
    linked = np.zeros((n, n), bool)
    linked[links[:, 0], links[:, 1]] = linked[links[:, 1], links[:, 0]] = True
    upper = np.triu_indices(n, 1)
    strength, is_bond = (S + S.T)[upper] / 2, linked[upper]
    count, others = int(is_bond.sum()), int((~is_bond).sum())
    if not others:
        raise ValueError(f"L is {L}: every pair is a bond, so that there is nothing to compare.")
    above = rankdata(strength)[is_bond].sum() - count * (count + 1) / 2
    edge = np.partition(strength, -count)[-count]  # the smallest of the largest
    surely, tied = strength > edge, strength == edge
    share = (count - surely.sum()) / tied.sum()
    elsewhere = strength[~is_bond].mean()
    return NeighbourScore(
        auc=float(above / (count * others)),
        precision=float((is_bond[surely].sum() + share * is_bond[tied].sum()) / count),
        ratio=float(strength[is_bond].mean() / elsewhere) if elsewhere > 0 else float("inf"),
    )


@eqx.filter_jit
def _minus_free_energies(model: GrandCanonicalRBM, v: Any, size: int | None) -> Any:
    v = v.astype(model.W.dtype)
    if size is None:
        return -model.free_energy(v)
    return -model.free_energy_by_size(v)[:, size - 1]


def _transform(values: np.ndarray, pair: Any) -> np.ndarray:
    """Replace, for each bit of the index, the entries with 0 and 1 there by `pair` of both."""
    m = values.size.bit_length() - 1
    for i in range(m):
        view = values.reshape(1 << i, 2, -1)
        values = np.stack(pair(view[:, 0], view[:, 1]), axis=1).reshape(-1)
    return values


def _size(model: GrandCanonicalRBM, z: int | None) -> int | None:
    if z is None:
        return None
    if checks.count("z", z) > model.max_hidden:
        raise ValueError(f"z is {z}: pass a size between 1 and K = {model.max_hidden}.")
    return int(z)


def _sites(sites: Values, n: int) -> np.ndarray:
    array = np.asarray(sites)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
        raise ValueError(f"sites is {sites!r}: pass a list of unit numbers, counted from 0.")
    if array.min() < 0 or array.max() >= n or len(np.unique(array)) < array.size:
        raise ValueError(f"sites is {array.tolist()}: pass different numbers from 0 to {n - 1}.")
    return array.astype(np.int64)
