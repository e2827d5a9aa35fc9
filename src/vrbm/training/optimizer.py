"""Optimizers: the rate at each step, and the rules that turn gradients into steps.

Rates, momentum and norms are arguments of the compiled steps, so that a search over them compiles
once.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np
import optax

from vrbm.model import checks
from vrbm.typing import Scalar

#: `warm_up` of a run, and of each layer of one that finds its size: large layers, whose units begin
#: alike, overshoot without, and come out better or worse by chance.
WARM_UP, SLOW_WARM_UP = 0.02, 0.1


def paper_momentum(momentum: float | Scalar) -> optax.GradientTransformation:
    r"""∇^(α) = β ∇^(α−1) + (1 − β) ∂ with ∇^(−1) = 0, as the paper starts it [a_CDupdate]."""
    return optax.chain(optax.scale(1 - momentum), optax.trace(momentum))


@dataclass(frozen=True)
class Optimizer:
    """How parameters follow the gradient: λ ← λ + γ ∇ [CD:updateStep]."""

    rule: Literal["momentum", "sgd", "adam"] = "sgd"
    """sgd; momentum: λ ← λ + γ ∇ with the paper's running average ∇; adam."""
    learning_rate: float | None = None
    """γ; None: √(B/100) for 0/1 units and batches of B rows, 1/16 of that for ±1 units."""
    momentum: float = 0.9
    """β of the paper's momentum; the other rules have none."""
    decay_from: float = 0.3
    """Fraction of the training after which the rate falls linearly to zero; 1: never."""
    search_rate: float | None = None
    """γ while a layer finds its size: each layer that is tried has the schedule of a run.
    None: the default of `learning_rate` with sgd, else `learning_rate`."""
    growth: float = 1.0
    """Factor by which the rate grows, exponentially, over the training. A mean-field gradient falls
    with the error that it has left, so that ε → 0 needs ever larger steps."""
    clip_norm: float | None = None
    """Largest norm of the whole gradient; None: no limit."""
    warm_up: float | None = None
    """Fraction of the training in which the rate first rises linearly to its value; None: a
    fiftieth, and a tenth for each layer where the run finds the size."""

    @classmethod
    def paper(
        cls, rule: Any = "momentum", learning_rate: float = 0.1, **others: Any
    ) -> "Optimizer":
        """The paper's: momentum at a constant rate; other settings as given."""
        return cls(rule, learning_rate, **{"decay_from": 1.0, "warm_up": 0.0, **others})

    def __post_init__(self) -> None:
        if self.learning_rate is not None:
            checks.number("learning_rate", self.learning_rate, 0.0)
        if not 0 <= checks.number("momentum", self.momentum) < 1:
            raise ValueError(f"momentum is {self.momentum}: pass a number from 0 up to below 1.")
        for name in ("decay_from", "warm_up"):
            value = getattr(self, name)
            if value is not None and not 0 <= checks.number(name, value) <= 1:
                raise ValueError(f"{name} is {value}: pass a fraction from 0 to 1.")
        if self.search_rate is not None:
            checks.number("search_rate", self.search_rate, 0.0)
        if checks.number("growth", self.growth, 0.0) == 0:
            raise ValueError(
                "growth is 0: pass the last rate over the first; 1 for a constant one."
            )
        if self.clip_norm is not None:
            checks.number("clip_norm", self.clip_norm, 0.0)
        if self.rule not in ("momentum", "sgd", "adam"):
            raise ValueError(f"rule is {self.rule!r}: choose momentum, sgd or adam.")

    def resolved(self, default_rate: float, finds_size: bool) -> "Optimizer":
        """These settings with numbers in the place of None.

        The rate of the search does not follow that of sgd: so the size does not either.
        """
        rate = default_rate if self.learning_rate is None else self.learning_rate
        search_rate = None
        if finds_size:
            own = default_rate if self.rule == "sgd" else rate
            search_rate = own if self.search_rate is None else self.search_rate
        warm_up = self.warm_up
        if warm_up is None:
            warm_up = SLOW_WARM_UP if finds_size else WARM_UP
        return replace(self, learning_rate=rate, search_rate=search_rate, warm_up=warm_up)

    def rates(self, steps: Any, total: int, is_search: bool = False) -> Any:
        """γ at these steps, counted from 0, of the `total` steps of a layer; in float64."""
        rate = self.search_rate if is_search else self.learning_rate
        assert rate is not None, "Config.resolved chooses a rate"
        assert self.warm_up is not None, "Config.resolved chooses it"
        steps = np.asarray(steps, np.float64)
        begin = int(self.decay_from * total)
        rise = int(self.warm_up * total)
        factors = np.power(self.growth, steps / total)
        if rise:
            factors *= np.minimum(1, (steps + 1) / rise)
        if self.decay_from < 1:
            factors *= 1 - np.clip(steps - begin, 0, total - begin) / (total - begin)
        return rate * factors

    def update_rule(self, dtype: Any) -> "Scheduled":
        """The rule, with its numbers as arrays of this type."""
        clip = None if self.clip_norm is None else scalar(self.clip_norm, dtype)
        return Scheduled(self.rule, scalar(self.momentum, dtype), clip)


def scalar(value: float, dtype: Any) -> jax.Array:
    """A number as an argument of compiled programs."""
    return jax.device_put(np.asarray(value, dtype))


class UpdateRule(eqx.Module):
    """How a step follows from the gradients so far."""

    @property
    @abstractmethod
    def is_linear(self) -> bool:
        """Whether each number moves in proportion to its own gradients so far."""

    @abstractmethod
    def init(self, parameters: Any) -> Any:
        """The state before the first step."""

    @abstractmethod
    def step(self, descent: Any, state: Any, at: Any, rate: Scalar) -> tuple[Any, Any]:
        """The change of the parameters, given the gradient of a loss, and the new state."""


class Scheduled(UpdateRule):
    """The rules of `Optimizer`: −γ times what optax makes of the gradients."""

    rule: str = eqx.field(static=True)
    momentum: Scalar
    clip_norm: Scalar | None

    @property
    def is_linear(self) -> bool:
        """For momentum and sgd without a limit on the norm."""
        return self.rule in ("momentum", "sgd") and self.clip_norm is None

    def init(self, parameters: Any) -> Any:
        """That of the optax transformation."""
        return self._transformation().init(parameters)

    def step(self, descent: Any, state: Any, at: Any, rate: Scalar) -> tuple[Any, Any]:
        """−γ times the direction."""
        direction, state = self._transformation().update(descent, state, at)
        return jax.tree.map(lambda x: -rate * x, direction), state

    def _transformation(self) -> optax.GradientTransformation:
        rules = {
            "momentum": lambda: paper_momentum(self.momentum),
            "sgd": optax.identity,
            "adam": optax.scale_by_adam,
        }
        clip = [] if self.clip_norm is None else [optax.clip_by_global_norm(self.clip_norm)]
        return optax.chain(*clip, rules[self.rule]())


class UserOptimizer(UpdateRule):
    """A user's optax transformation, which has a rate of its own."""

    transformation: optax.GradientTransformation = eqx.field(static=True)

    @property
    def is_linear(self) -> bool:
        """Not known."""
        return False

    def init(self, parameters: Any) -> Any:
        """That of the transformation."""
        return self.transformation.init(parameters)

    def step(self, descent: Any, state: Any, at: Any, rate: Scalar) -> tuple[Any, Any]:
        """That of the transformation."""
        return self.transformation.update(descent, state, at)
