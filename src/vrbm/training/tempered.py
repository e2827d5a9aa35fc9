r"""Replica exchange: chains at a ladder of inverse temperatures that swap their visible values.

Replica β has weights βW, hidden biases βb, the prices of the full model, and visible biases
βc + (1 − β)c₀: independent units at β = 0, the model at β = 1. The fields c₀ are 0: from uniform
units replicas find modes that the model has where the data have none, which from the data mean they
miss (docs/training.md). With h and z summed out, the marginal of a replica is p_β(v) ∝ e^{−F_β(v)},
and a swap of the values v_i, v_j of two replicas is accepted with probability

    min(1, e^{F_i(v_i) + F_j(v_j) − F_i(v_j) − F_j(v_i)}),

which leaves the product of the marginals invariant. One product Wv + b serves all β
(`vrbm.model.path`).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from vrbm.model import GrandCanonicalRBM, checks, random
from vrbm.model.path import Path
from vrbm.model.rbm import Response
from vrbm.training.negative import Info, NegativePhase, Persistent, met, most
from vrbm.typing import Chains, Field, RandomKey, Visible, VisibleBias

#: The correlation of chains with themselves, some 200 Gibbs steps before, that calls for a ladder.
SLOW = 0.65
#: The part of one turn in the running averages of rejected swaps.
RATE = 0.05


class Replicas(eqx.Module):
    """State of `Tempered`."""

    v: Field
    """(replicas, chains, N)"""
    betas: Field
    """(replicas,), from 0 to 1; 1 where there is one replica only"""
    base: VisibleBias
    """c₀, (N,)"""
    rejected: Field
    """running average of the rejected fraction between neighbours, (replicas − 1,)"""
    parity: Field
    """0 or 1: which pairs swap next"""


class Tempered(NegativePhase):
    """Replica exchange: swaps of neighbours, then k Gibbs steps; β = 1 gives the averages.

    `betas` is the number of replicas. The ladder begins evenly spaced and is adapted between
    epochs, such that all neighbours reject alike: the points are placed at equal distances in the
    cumulative rejection (Syed, Bouchard-Côté, Deligiannidis and Doucet 2022).

    With `on_demand` it begins as `Persistent(k, chains)`, with the replica at β = 1 alone, and the
    others are added, for good, when the chains are found to be slow (`adapted`). From then on one
    Gibbs step is taken between swaps, and k no longer counts.
    """

    k: int = eqx.field(default=1, static=True)
    betas: int = eqx.field(default=10, static=True)
    chains: int = eqx.field(default=100, static=True)
    on_demand: bool = eqx.field(default=False, static=True)

    def __check_init__(self) -> None:
        checks.count("k", self.k)
        checks.count("chains", self.chains)
        if checks.count("betas", self.betas) < 2:
            raise ValueError(f"betas is {self.betas}: replica exchange needs at least 2 replicas.")

    @property
    def states_kept(self) -> int:
        """The chains of all replicas, also of those that may be added."""
        return self.betas * self.chains

    def start(self, model: GrandCanonicalRBM, rows: Visible, key: RandomKey) -> Replicas:
        """All replicas begin at rows of the data, drawn with replacement."""
        if self.on_demand:
            v = Persistent(self.k, self.chains).start(model, rows, key)[None]
        else:
            v = rows[jax.random.randint(key, (self.betas, self.chains), 0, len(rows))]
        return _replicas(v, jnp.zeros_like(model.c))

    def rest(self, state: Replicas) -> Replicas:
        """Place the ladder at equal distances in the cumulative rejection, which becomes even."""
        replicas = len(state.v)
        if replicas == 1:
            return state
        steps = jnp.maximum(state.rejected, 1e-3)
        barrier = jnp.concatenate([jnp.zeros(1, steps.dtype), jnp.cumsum(steps)])
        even = jnp.linspace(0, barrier[-1], replicas, dtype=steps.dtype)
        betas = jnp.interp(even, barrier, state.betas).at[0].set(0).at[-1].set(1)
        even_rejection = jnp.full_like(state.rejected, state.rejected.mean())
        return eqx.tree_at(lambda s: (s.betas, s.rejected), state, (betas, even_rejection))

    def chains_of(self, state: Replicas) -> Chains:
        """The replica at β = 1."""
        return state.v[-1]

    def with_chains(self, state: Replicas, v: Chains) -> Replicas:
        """The state with v as the replica at β = 1."""
        return eqx.tree_at(lambda s: s.v, state, state.v.at[-1].set(v))

    def adapted(self, state: Replicas, correlation: float) -> Replicas:
        """With a ladder, where there is none yet and the correlation is above `SLOW`.

        The chains at β = 1 stay as they are; replica r below begins with the same rows, r·chains /
        betas places further on.
        """
        if len(state.v) > 1 or not correlation > SLOW:
            return state
        shifts = jnp.arange(self.betas)[::-1, None] * self.chains // self.betas
        order = (jnp.arange(self.chains) + shifts) % self.chains
        return _replicas(state.v[0][order], state.base)

    def __call__(
        self, model: GrandCanonicalRBM, state: Replicas, v: Visible, key: RandomKey
    ) -> tuple[Replicas, Info]:
        """Swaps of even or odd neighbours, then Gibbs steps in every replica.

        The fields x of the replicas' values serve F at both β of a swap and the Gibbs step after
        it. A swap is made by exchange of the two β; values change places at the end.
        """
        if len(state.v) == 1:
            chains, info = Persistent(self.k, self.chains)(model, state.v[0], v, key)
            return eqx.tree_at(lambda s: s.v, state, chains[None]), info
        swap_key, gibbs_key = jax.random.split(key)
        path = Path(model, state.base)
        partner = partners(len(state.v), state.parity)
        own, other = state.betas[:, None, None], state.betas[partner][:, None, None]
        x = path.fields(state.v)  # (replicas, chains, K)
        here, there = path.response(state.v, x, own), path.response(state.v, x, other)
        swap, rejection = swaps(path.gain(state.v, x, own, other), partner, swap_key)
        beta = jnp.where(swap[..., None], other, own)  # (replicas, chains, 1)
        response = _where(swap, there, here)
        # Where idle units are off, what is drawn at β = 1 counts, and no proposal that failed.
        second = (response, beta) if model.potential.idle_is_off else (there, other)
        sizes = most(_met(model, here, own), _met(model, *second))
        steps = 1 if self.on_demand else self.k
        moved, on_the_way = _gibbs_chain(path, response, beta, gibbs_key, steps)
        data = model.response(v)
        turn = partner[:-1] > jnp.arange(len(partner) - 1)
        rejected = jnp.where(turn, (1 - RATE) * state.rejected + RATE * rejection, state.rejected)
        new = Replicas(
            v=jnp.where(swap[..., None], moved[partner], moved),
            betas=state.betas,
            base=state.base,
            rejected=rejected,
            parity=1 - state.parity,
        )
        sizes = most(sizes, on_the_way, met(model, data))
        return new, Info(new.v[-1], None, data, sizes, 1 - rejected)


def _replicas(v: Field, base: VisibleBias) -> Replicas:
    """Replicas with values v at evenly spaced β; at β = 1 if there is one alone."""
    replicas = len(v)
    return Replicas(
        v=v,
        betas=jnp.linspace(1 if replicas == 1 else 0, 1, replicas, dtype=v.dtype),
        base=base,
        rejected=jnp.full(replicas - 1, 0.5, v.dtype),
        parity=jnp.zeros((), v.dtype),
    )


def partners(replicas: int, parity: Array) -> Array:
    """With which replica each may swap, (replicas,): itself where it has no partner.

    Pairs begin at even (parity 0) or odd replicas (parity 1).
    """
    number = jnp.arange(replicas)
    partner = jnp.where(number % 2 == parity, number + 1, number - 1)
    return jnp.where((partner >= 0) & (partner < replicas), partner, number)


def swaps(gain: Field, partner: Array, key: RandomKey) -> tuple[Array, Field]:
    """Which values are swapped, with the probability given above: (replicas, chains) booleans.

    `gain` is F_i(v_i) − F_j(v_i), (replicas, chains), of each replica i with partner j. Also
    returns the mean probability of rejection between neighbours, (replicas − 1,): 0 for those that
    are no partners.
    """
    number = jnp.arange(len(partner))
    log_ratio = gain + gain[partner]  # of a pair both have the same
    u = random.uniform(key, gain.shape, gain.dtype)[jnp.minimum(number, partner)]
    swap = (jnp.log(u) <= log_ratio) & (partner != number)[:, None]
    rejection = 1 - jnp.exp(jnp.minimum(log_ratio, 0)).mean(axis=1)
    return swap, jnp.where(partner > number, rejection, 0)[:-1]


def _where(swap: Array, there: Response, here: Response) -> Response:
    """The first where `swap`, (replicas, chains), is true; else the second."""

    def chosen(x: Field, y: Field) -> Field:
        return jnp.where(swap.reshape(swap.shape + (1,) * (x.ndim - swap.ndim)), x, y)

    return jax.tree.map(chosen, there, here)


def _met(model: GrandCanonicalRBM, response: Response, beta: Field) -> Field:
    """The largest P(z ≥ a|v) over all rows, (1, K).

    Units that are off are on at low β, where any layer is full: there β = 1 alone counts.
    """
    if not model.potential.idle_is_off:
        return met(model, response)
    survival = jnp.where(beta == 1, response.sizes.survival, 0)
    return met(model, response._replace(sizes=response.sizes._replace(survival=survival)))


def _gibbs_chain(
    path: Path, response: Response, beta: Field, key: RandomKey, k: int
) -> tuple[Visible, Field]:
    """k Gibbs steps at the β of each row, and the sizes met before all but the first."""

    def drawn(response: Response, key: RandomKey) -> Visible:
        hidden_key, visible_key = jax.random.split(key)
        h, _ = path.model.sample_response(hidden_key, response)
        return path.model.visible.sample(visible_key, path.visible_fields(h, beta))

    def step(carry: tuple[Visible, Field], key: RandomKey) -> tuple[tuple[Visible, Field], None]:
        v, sizes = carry
        response = path.response(v, path.fields(v), beta)
        return (drawn(response, key), most(sizes, _met(path.model, response, beta))), None

    keys = jax.random.split(key, k)
    start = drawn(response, keys[0]), jnp.zeros((1, path.model.max_hidden), beta.dtype)
    (v, sizes), _ = jax.lax.scan(step, start, keys[1:])
    return v, sizes


def tempered(model: GrandCanonicalRBM, beta: Field, base: VisibleBias) -> GrandCanonicalRBM:
    """The model of replica β. Its prices are those of the model: pass one with `Priced`."""
    return eqx.tree_at(
        lambda m: (m.W, m.b, m.c),
        model,
        (beta * model.W, beta * model.b, beta * model.c + (1 - beta) * base),
    )
