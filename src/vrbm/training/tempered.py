r"""Replica exchange: chains at a ladder of inverse temperatures that swap their visible values.

Replica β has weights βW, hidden biases βb, the prices of the full model, and visible biases
βc + (1 − β)c₀, where c₀ is the field of the data mean: independent units at β = 0, the model at
β = 1. With h and z summed out, its marginal is p_β(v) ∝ e^{−F_β(v)}, and a swap of the values v_i,
v_j of two replicas is accepted with probability

    min(1, e^{F_i(v_i) + F_j(v_j) − F_i(v_j) − F_j(v_i)}),

which leaves the product of the marginals invariant.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from vrbm.model import GrandCanonicalRBM, checks
from vrbm.training.negative import Info, NegativePhase, gibbs_chain, met, most
from vrbm.typing import Chains, Field, RandomKey, Visible, VisibleBias


class Replicas(eqx.Module):
    """State of `Tempered`."""

    v: Field
    """(replicas, chains, N)"""
    betas: Field
    """(replicas,), from 0 to 1"""
    base: VisibleBias
    """c₀, (N,)"""
    rejected: Field
    """running average of the rejected fraction between neighbours, (replicas − 1,)"""
    parity: Field
    """0 or 1: which pairs swap next"""


class Tempered(NegativePhase):
    """Replica exchange with k Gibbs steps between swaps; the replica at β = 1 gives the averages.

    `betas` is the number of replicas. The ladder begins evenly spaced and is adapted between
    epochs, such that all neighbours reject alike: the points are placed at equal distances in the
    cumulative rejection (Syed, Bouchard-Côté, Deligiannidis and Doucet 2022).
    """

    k: int = eqx.field(default=1, static=True)
    betas: int = eqx.field(default=10, static=True)
    chains: int = eqx.field(default=100, static=True)

    def __check_init__(self) -> None:
        checks.count("k", self.k)
        checks.count("chains", self.chains)
        if checks.count("betas", self.betas) < 2:
            raise ValueError(f"betas is {self.betas}: replica exchange needs at least 2 replicas.")

    @property
    def states_kept(self) -> int:
        """The chains of all replicas."""
        return self.betas * self.chains

    def start(self, model: GrandCanonicalRBM, rows: Visible, key: RandomKey) -> Replicas:
        """All replicas begin at rows of the data, drawn with replacement."""
        chosen = jax.random.randint(key, (self.betas, self.chains), 0, len(rows))
        return Replicas(
            v=rows[chosen],
            betas=jnp.linspace(0, 1, self.betas, dtype=rows.dtype),
            base=model.visible.field_of_data(rows.mean(axis=0), len(rows)),
            rejected=jnp.full(self.betas - 1, 0.5, rows.dtype),
            parity=jnp.zeros((), rows.dtype),
        )

    def rest(self, state: Replicas) -> Replicas:
        """Place the ladder at equal distances in the cumulative rejection, which becomes even."""
        steps = jnp.maximum(state.rejected, 1e-3)
        barrier = jnp.concatenate([jnp.zeros(1, steps.dtype), jnp.cumsum(steps)])
        even = jnp.linspace(0, barrier[-1], self.betas, dtype=steps.dtype)
        betas = jnp.interp(even, barrier, state.betas).at[0].set(0).at[-1].set(1)
        even_rejection = jnp.full_like(state.rejected, state.rejected.mean())
        return eqx.tree_at(lambda s: (s.betas, s.rejected), state, (betas, even_rejection))

    def chains_of(self, state: Replicas) -> Chains:
        """The replica at β = 1."""
        return state.v[-1]

    def with_chains(self, state: Replicas, v: Chains) -> Replicas:
        """The state with v as the replica at β = 1."""
        return eqx.tree_at(lambda s: s.v, state, state.v.at[-1].set(v))

    def __call__(
        self, model: GrandCanonicalRBM, state: Replicas, v: Visible, key: RandomKey
    ) -> tuple[Replicas, Info]:
        """k Gibbs steps in every replica, then swaps of even or odd neighbours."""
        gibbs_key, swap_key = jax.random.split(key)

        def chain(beta: Field, v: Visible, key: RandomKey) -> tuple[Visible, Field]:
            replica = tempered(model, beta, state.base)
            return gibbs_chain(replica, replica.response(v), key, self.k)

        keys = jax.random.split(gibbs_key, self.betas)
        moved, on_the_way = jax.vmap(chain)(state.betas, state.v, keys)

        def free_energy(beta: Field, v: Visible) -> Field:
            return tempered(model, beta, state.base).free_energy(v)

        swapped, rejection = exchange(free_energy, state.betas, moved, state.parity, swap_key)

        def sizes_of(beta: Field, v: Visible) -> Field:
            return met(model, tempered(model, beta, state.base).response(v))

        data = model.response(v)
        # Units that are off are on at low β, where any layer is full: there β = 1 alone counts.
        only = slice(-1 if model.potential.idle_is_off else 0, None)
        asked = [
            met(model, data)[None],
            on_the_way[only],
            jax.vmap(sizes_of)(state.betas[only], moved[only]),
        ]
        if not model.potential.idle_is_off:
            asked += [
                jax.vmap(sizes_of)(state.betas[:-1], moved[1:]),
                jax.vmap(sizes_of)(state.betas[1:], moved[:-1]),
            ]
        sizes = most(*(sizes.max(axis=0) for sizes in asked))
        new = Replicas(
            v=swapped,
            betas=state.betas,
            base=state.base,
            rejected=0.95 * state.rejected + 0.05 * rejection,
            parity=1 - state.parity,
        )
        return new, Info(swapped[-1], None, data, sizes, 1 - rejection)


def exchange(
    free_energy: Callable[[Field, Field], Field],
    betas: Field,
    v: Field,
    parity: Array,
    key: RandomKey,
) -> tuple[Field, Field]:
    """Swap the values of even (parity 0) or odd neighbours, with the probability given above.

    `free_energy(beta, v)` is F_β(v), (chains,), of values (chains, N); `v` has shape (replicas,
    chains, N). Returns the new values and, for all neighbours, the mean probability of rejection,
    (replicas − 1,).
    """
    here = jax.vmap(free_energy)(betas, v)
    up = jax.vmap(free_energy)(betas[:-1], v[1:])
    down = jax.vmap(free_energy)(betas[1:], v[:-1])
    log_ratio = here[:-1] + here[1:] - up - down  # (replicas − 1, chains)
    wanted = jnp.log(jax.random.uniform(key, log_ratio.shape, log_ratio.dtype)) < log_ratio
    turn = jnp.arange(len(betas) - 1) % 2 == parity
    swap = wanted & turn[:, None]
    none = jnp.zeros((1, swap.shape[1]), bool)
    from_above, from_below = jnp.concatenate([swap, none]), jnp.concatenate([none, swap])
    swapped = jnp.where(from_above[..., None], jnp.roll(v, -1, axis=0), v)
    swapped = jnp.where(from_below[..., None], jnp.roll(v, 1, axis=0), swapped)
    return swapped, 1 - jnp.minimum(1, jnp.exp(jnp.minimum(log_ratio, 0))).mean(axis=1)


def tempered(model: GrandCanonicalRBM, beta: Field, base: VisibleBias) -> GrandCanonicalRBM:
    """The model of replica β. Its prices are those of the model: pass one with `Priced`."""
    return eqx.tree_at(
        lambda m: (m.W, m.b, m.c),
        model,
        (beta * model.W, beta * model.b, beta * model.c + (1 - beta) * base),
    )
