r"""Negative phases: where the model's averages are taken.

One contract: `state, info = kernel(model, state, v, key)`. The state is carried on from step to
step; `info.v` holds visible values that stand for the model; the gradient takes ⟨h⟩, ⟨z⟩ there.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp

from vrbm.model import GrandCanonicalRBM, checks
from vrbm.typing import Chains, Field, RandomKey, Scalar, Sizes, Visible, Windowed

SizeRule = Literal["mean", "probable", "sample"]


class Met(NamedTuple):
    """What the visible values that a kernel met say about the size, at most."""

    log_edge: Scalar
    """log P(z = K|v): what a narrower layer would have cut off"""
    survival: Windowed
    """P(z ≥ a|v), (K,)"""


def met(model: GrandCanonicalRBM, v: Field) -> Met:
    """The largest log P(z = K|v) and P(z ≥ a|v) over all rows of v."""
    log_edge = model.size_log_probabilities(v)[..., -1].max()
    survival = model.size_survival(v)
    return Met(log_edge, survival.reshape(-1, survival.shape[-1]).max(axis=0))


def most(one: Met, other: Met) -> Met:
    """The larger of both."""
    return Met(*(jnp.maximum(a, b) for a, b in zip(one, other, strict=True)))


class Info(eqx.Module):
    """What a kernel shows."""

    v: Visible
    """visible values under the model"""
    met: Met
    """sizes at the values on the way there"""
    swap_rates: Field
    """expected acceptance of a swap between neighbouring replicas, (replicas − 1,); else (0,)"""


class NegativePhase(eqx.Module):
    """A way to the model's averages."""

    def start(self, model: GrandCanonicalRBM, rows: Visible, key: RandomKey) -> Any:
        """The state before the first step, given some training rows; None where there is none."""
        return None

    def rest(self, state: Any) -> Any:
        """What the state becomes between two epochs."""
        return state

    def reconstruction(self) -> "MeanField":
        """The mean-field iterations by which a training with this phase is watched."""
        return MeanField(k=1)

    @abstractmethod
    def __call__(
        self, model: GrandCanonicalRBM, state: Any, v: Visible, key: RandomKey
    ) -> tuple[Any, Info]:
        """One negative phase for the data v of a batch."""


def _rounded_mean(model: GrandCanonicalRBM, v: Visible, key: RandomKey) -> Sizes:
    return jnp.clip(jnp.ceil(model.mean_size(v)), 1, model.max_hidden).astype(int)


SIZE_RULES: dict[str, Callable[[GrandCanonicalRBM, Visible, RandomKey], Sizes]] = {
    "mean": _rounded_mean,
    "probable": lambda model, v, key: model.probable_size(v),
    "sample": lambda model, v, key: model.sample_size(key, v),
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

    def fields(self, model: GrandCanonicalRBM, v: Visible, key: RandomKey) -> tuple[Visible, Met]:
        """The fields y on the visible units in the last iteration, and the sizes met."""
        sizes = met(model, v)
        y = v
        for iteration in range(self.k):
            if iteration:
                v = model.visible.mean(y)
                sizes = most(sizes, met(model, v))
            z = SIZE_RULES[self.size_rule](model, v, jax.random.fold_in(key, iteration))
            y = model.visible_fields(model.mean_hidden(v), z)
        return y, sizes

    def __call__(
        self, model: GrandCanonicalRBM, state: None, v: Visible, key: RandomKey
    ) -> tuple[None, Info]:
        """⟨v⟩ after k iterations."""
        y, sizes = self.fields(model, v, key)
        return None, Info(model.visible.mean(y), sizes, jnp.zeros(0, v.dtype))


class Gibbs(NegativePhase):
    """CD-k: k sampled steps (z, h, v) from the data."""

    k: int = eqx.field(default=1, static=True)

    def __check_init__(self) -> None:
        checks.count("k", self.k)

    def __call__(
        self, model: GrandCanonicalRBM, state: None, v: Visible, key: RandomKey
    ) -> tuple[None, Info]:
        """v after k steps."""
        v, sizes = gibbs_chain(model, v, key, self.k)
        return None, Info(v, sizes, jnp.zeros(0, v.dtype))


class Persistent(NegativePhase):
    """Persistent CD: chains that go on from step to step, k Gibbs steps in each."""

    k: int = eqx.field(default=1, static=True)
    chains: int = eqx.field(default=500, static=True)

    def __check_init__(self) -> None:
        checks.count("k", self.k)
        checks.count("chains", self.chains)

    def start(self, model: GrandCanonicalRBM, rows: Visible, key: RandomKey) -> Chains:
        """Chains begin at rows of the data, drawn with replacement."""
        return rows[jax.random.randint(key, (self.chains,), 0, len(rows))]

    def __call__(
        self, model: GrandCanonicalRBM, state: Chains, v: Visible, key: RandomKey
    ) -> tuple[Chains, Info]:
        """The chains after k more steps."""
        state, sizes = gibbs_chain(model, state, key, self.k)
        return state, Info(state, sizes, jnp.zeros(0, v.dtype))


def gibbs_step(model: GrandCanonicalRBM, v: Visible, key: RandomKey) -> Visible:
    """z given v, h given (v, z), v given (h, z): leaves p(v) invariant."""
    size_key, hidden_key, visible_key = jax.random.split(key, 3)
    z = model.sample_size(size_key, v)
    return model.sample_visible(visible_key, model.sample_hidden(hidden_key, v, z), z)


def gibbs_chain(
    model: GrandCanonicalRBM, v: Visible, key: RandomKey, k: int
) -> tuple[Visible, Met]:
    """k Gibbs steps, and the sizes met before each."""

    def step(carry: tuple[Visible, Met], key: RandomKey) -> tuple[tuple[Visible, Met], None]:
        v, sizes = carry
        return (gibbs_step(model, v, key), most(sizes, met(model, v))), None

    none = Met(jnp.asarray(-jnp.inf, v.dtype), jnp.zeros(model.max_hidden, v.dtype))
    (v, sizes), _ = jax.lax.scan(step, (v, none), jax.random.split(key, k))
    return v, sizes
