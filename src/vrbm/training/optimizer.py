"""Optimizers: the paper's momentum as an optax transformation, and the builder from settings."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax

from vrbm.model import checks


def paper_momentum(momentum: float) -> optax.GradientTransformation:
    r"""∇^(α) = β ∇^(α−1) + (1 − β) ∂ with ∇^(−1) = 0, as the paper starts it [a_CDupdate]."""
    return optax.chain(optax.scale(1 - momentum), optax.trace(momentum))


@dataclass(frozen=True)
class Optimizer:
    """How parameters follow the gradient: λ ← λ + γ ∇ [CD:updateStep]."""

    rule: Literal["momentum", "sgd", "adam"] = "momentum"
    """momentum: λ ← λ + γ ∇ with the paper's running average ∇; sgd; adam."""
    learning_rate: float = 0.1
    """γ."""
    momentum: float = 0.9
    """β of the paper's momentum; the other rules have none."""
    decay_from: float = 1.0
    """Fraction of the training after which the rate falls linearly to zero; 1: never."""
    growth: float = 1.0
    """Factor by which the rate grows, exponentially, over the training. A mean-field gradient falls
    with the error that it has left, so that ε → 0 needs ever larger steps."""
    clip_norm: float | None = None
    """Largest norm of the whole gradient; None: no limit."""
    warm_up: float = 0.0
    """Fraction of the training in which the rate first rises linearly to its value."""

    def __post_init__(self) -> None:
        checks.number("learning_rate", self.learning_rate, 0.0)
        if not 0 <= checks.number("momentum", self.momentum) < 1:
            raise ValueError(f"momentum is {self.momentum}: pass a number from 0 up to below 1.")
        for name in ("decay_from", "warm_up"):
            if not 0 <= checks.number(name, value := getattr(self, name)) <= 1:
                raise ValueError(f"{name} is {value}: pass a fraction from 0 to 1.")
        if checks.number("growth", self.growth, 0.0) == 0:
            raise ValueError(
                "growth is 0: pass the last rate over the first; 1 for a constant one."
            )
        if self.clip_norm is not None:
            checks.number("clip_norm", self.clip_norm, 0.0)
        if self.rule not in ("momentum", "sgd", "adam"):
            raise ValueError(f"rule is {self.rule!r}: choose momentum, sgd or adam.")

    @property
    def is_linear(self) -> bool:
        """Whether each number moves in proportion to its own gradients so far."""
        return self.rule in ("momentum", "sgd") and self.clip_norm is None

    @lru_cache(maxsize=64)  # noqa: B019 (frozen; one object for equal settings)
    def schedule(self, steps: int) -> optax.Schedule:
        """γ at each step of a training of so many steps: of JAX in a trace, else of numpy."""
        begin = int(self.decay_from * steps)
        left = steps - begin
        rise = int(self.warm_up * steps)

        def rate(step: Any) -> Any:
            xp = jnp if isinstance(step, jax.Array) else np
            value = self.learning_rate
            if rise:
                value *= xp.minimum(1, (step + 1) / rise)
            if self.growth != 1:
                value *= xp.power(self.growth, step / steps)
            if self.decay_from < 1:
                value *= 1 - xp.clip(step - begin, 0, left) / left
            return value

        return rate

    def build(self, steps: int) -> optax.GradientTransformation:
        """The transformation, for gradients of a loss (descent); one object for equal settings."""
        changes = self.decay_from < 1 or self.growth != 1 or self.warm_up > 0
        return _build(self, steps if changes else None)


@lru_cache(maxsize=64)
def _build(settings: Optimizer, steps: int | None) -> optax.GradientTransformation:
    rules = {
        "momentum": lambda: paper_momentum(settings.momentum),
        "sgd": optax.identity,
        "adam": optax.scale_by_adam,
    }
    clip = [] if settings.clip_norm is None else [optax.clip_by_global_norm(settings.clip_norm)]
    rate = optax.scale_by_learning_rate(settings.schedule(steps or 1))
    return optax.chain(*clip, rules[settings.rule](), rate)
