r"""Negative phases: where the model's averages are taken.

One contract: `state, info = kernel(model, state, v, key)`. The state is carried on from step to
step; `info.v` holds visible values that stand for the model; the gradient takes ⟨h⟩, ⟨z⟩ there.
"""

import functools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp

from vrbm.model import GrandCanonicalRBM, checks, layer_size
from vrbm.model.layer_size import SizeScan
from vrbm.model.rbm import Response
from vrbm.typing import Chains, Field, RandomKey, Sizes, Visible

SizeRule = Literal["mean", "probable", "sample"]


def met(model: GrandCanonicalRBM, response: Response) -> Field:
    """The largest P(z ≥ a|v) over all rows, (1, K)."""
    survival = response.sizes.survival
    if not model.potential.units_are_optional:  # a compiler would find the maximum of ones
        return jnp.ones((1, survival.shape[-1]), survival.dtype)
    return survival.reshape(-1, survival.shape[-1]).max(axis=0, keepdims=True)


def most(*sizes: Field) -> Field:
    """The largest of them, entry by entry."""
    return functools.reduce(jnp.maximum, sizes)


class Info(eqx.Module):
    """What a kernel shows."""

    v: Visible
    """visible values under the model"""
    residual: Visible | None
    """v_data − v with all its digits, where the rows of v belong to those of the data; else None"""
    data: Response
    """the hidden layer given the data"""
    met: Field
    """the largest P(z ≥ a|v) at the data and on the way to v, (`NegativePhase.rows_met`, K)"""
    swap_rates: Field
    """running average of the expected acceptance of swaps between neighbouring replicas,
    (replicas − 1,); else (0,)"""


class NegativePhase(eqx.Module):
    """A way to the model's averages."""

    def start(self, model: GrandCanonicalRBM, rows: Visible, key: RandomKey) -> Any:
        """The state before the first step, given some training rows; None where there is none."""
        return None

    def rest(self, state: Any) -> Any:
        """What the state becomes between two epochs."""
        return state

    def chains_of(self, state: Any) -> Chains | None:
        """The visible values that stand for the model at β = 1, (chains, N); None: none are kept.

        They are those that the last step left in the state.
        """
        return None

    def with_chains(self, state: Any, v: Chains) -> Any:
        """The state with v, (chains, N), in the place of `chains_of`: as many chains as before."""
        return state

    def adapted(self, state: Any, correlation: float) -> Any:
        """What the state becomes when the chains were measured to forget this slowly.

        `correlation` is that of the projections of the chains on the leading directions of the
        data, before and after some 200 Gibbs steps: 0 for chains that forget, 1 for chains that
        stay. The number of replicas in the state may change.
        """
        return state

    def reconstruction(self) -> "MeanField":
        """The mean-field iterations by which a training with this phase is watched."""
        return MeanField(k=1)

    @property
    def states_kept(self) -> int:
        """Visible states that are kept from step to step."""
        return 0

    def rows_met(self, batch: int) -> int:
        """Rows of the `met` of a batch: 1, the largest of all, or one for each row of the data.

        What is kept row by row is reduced once in a block instead of several times in each step;
        then `Info.v` has as many rows.
        """
        return 1

    @abstractmethod
    def __call__(
        self, model: GrandCanonicalRBM, state: Any, v: Visible, key: RandomKey
    ) -> tuple[Any, Info]:
        """One negative phase for the data v of a batch."""


def _rounded_mean(sizes: SizeScan, key: RandomKey) -> Sizes:
    most_units = sizes.survival.shape[-1]
    return jnp.clip(jnp.ceil(layer_size.mean(sizes)), 1, most_units).astype(int)


SIZE_RULES: dict[str, Callable[[SizeScan, RandomKey], Sizes]] = {
    "mean": _rounded_mean,
    "probable": lambda sizes, key: layer_size.probable(sizes),
    "sample": lambda sizes, key: layer_size.sample(key, sizes),
}


class MeanField(NegativePhase):
    r"""k mean-field iterations from the data [kcd_step]: what the paper trains with.

    h = ⟨h⟩_v and z from v, then v = ⟨v⟩_{h,z}. `size_rule` makes a whole number of z: ⟨z⟩ rounded
    up ("mean"), the largest most probable z ("probable"), or a draw ("sample").
    """

    k: int = eqx.field(default=2, static=True)
    size_rule: SizeRule = eqx.field(default="mean", static=True)

    def __check_init__(self) -> None:
        checks.count("k", self.k)
        if self.size_rule not in get_args(SizeRule):
            raise ValueError(f"size_rule is {self.size_rule!r}: choose one of {list(SIZE_RULES)}.")

    def reconstruction(self) -> "MeanField":
        """Its own iterations."""
        return self

    def rows_met(self, batch: int) -> int:
        """One for each row: all iterations are of the rows of the data."""
        return batch

    def fields(self, model: GrandCanonicalRBM, v: Visible, key: RandomKey) -> tuple[Visible, Field]:
        """The fields y on the visible units in the last iteration, and the sizes met."""
        return self._iterate(model, model.response(v), key)

    def _iterate(
        self, model: GrandCanonicalRBM, response: Response, key: RandomKey
    ) -> tuple[Visible, Field]:
        responses: list[Response] = []
        y = response.v
        for iteration in range(self.k):
            responses.append(model.response(model.visible.mean(y)) if iteration else response)
            sizes, h = responses[-1].sizes, responses[-1].mean
            z = SIZE_RULES[self.size_rule](sizes, jax.random.fold_in(key, iteration))
            y = model.visible_fields(h, z)
        return y, most(*(response.sizes.survival for response in responses))

    def __call__(
        self, model: GrandCanonicalRBM, state: None, v: Visible, key: RandomKey
    ) -> tuple[None, Info]:
        """⟨v⟩ after k iterations, found from its residual: one exponential less."""
        data = model.response(v)
        y, sizes = self._iterate(model, data, key)
        residual = model.visible.residual(v, y)
        return None, Info(v - residual, residual, data, sizes, jnp.zeros(0, v.dtype))


class Gibbs(NegativePhase):
    """CD-k: k sampled steps (z, h, v) from the data."""

    k: int = eqx.field(default=1, static=True)

    def __check_init__(self) -> None:
        checks.count("k", self.k)

    def __call__(
        self, model: GrandCanonicalRBM, state: None, v: Visible, key: RandomKey
    ) -> tuple[None, Info]:
        """v after k steps."""
        data = model.response(v)
        new, sizes = gibbs_chain(model, data, key, self.k)
        return None, Info(new, v - new, data, sizes, jnp.zeros(0, v.dtype))


class Persistent(NegativePhase):
    """Persistent CD: chains that go on from step to step, k Gibbs steps in each."""

    k: int = eqx.field(default=1, static=True)
    chains: int = eqx.field(default=500, static=True)

    def __check_init__(self) -> None:
        checks.count("k", self.k)
        checks.count("chains", self.chains)

    @property
    def states_kept(self) -> int:
        """The chains."""
        return self.chains

    def start(self, model: GrandCanonicalRBM, rows: Visible, key: RandomKey) -> Chains:
        """Chains begin at rows of the data, drawn with replacement."""
        return rows[jax.random.randint(key, (self.chains,), 0, len(rows))]

    def chains_of(self, state: Chains) -> Chains:
        """The state."""
        return state

    def with_chains(self, state: Chains, v: Chains) -> Chains:
        """v itself."""
        return v

    def __call__(
        self, model: GrandCanonicalRBM, state: Chains, v: Visible, key: RandomKey
    ) -> tuple[Chains, Info]:
        """The chains after k more steps. Data and chains share their first product."""
        both = model.response(jnp.concatenate([v, state]))
        data = jax.tree.map(lambda x: x[: len(v)], both)
        chains = jax.tree.map(lambda x: x[len(v) :], both)
        state, sizes = gibbs_chain(model, chains, key, self.k)
        return state, Info(state, None, data, most(sizes, met(model, data)), jnp.zeros(0, v.dtype))


def gibbs_step(model: GrandCanonicalRBM, response: Response, key: RandomKey) -> Visible:
    """z given v, h given (v, z), v given (h, z): leaves p(v) invariant."""
    hidden_key, visible_key = jax.random.split(key)
    return model.sample_visible(visible_key, *model.sample_response(hidden_key, response))


def gibbs_chain(
    model: GrandCanonicalRBM, response: Response, key: RandomKey, k: int
) -> tuple[Visible, Field]:
    """k Gibbs steps from the v of a response, and the sizes met before each."""

    def step(carry: tuple[Visible, Field], key: RandomKey) -> tuple[tuple[Visible, Field], None]:
        v, sizes = carry
        response = model.response(v)
        return (gibbs_step(model, response, key), most(sizes, met(model, response))), None

    keys = jax.random.split(key, k)
    start = gibbs_step(model, response, keys[0]), met(model, response)
    (v, sizes), _ = jax.lax.scan(step, start, keys[1:])
    return v, sizes
