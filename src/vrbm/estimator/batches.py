"""Rows in blocks of one size only, so that one shape is compiled and equal rows agree."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.model import GrandCanonicalRBM, layer_size
from vrbm.training.negative import gibbs_step
from vrbm.typing import RandomKey

BLOCK = 256


def padded(rows: np.ndarray, size: int) -> np.ndarray:
    """Rows with copies of the last one behind, `size` in all."""
    return np.pad(rows, ((0, size - len(rows)), (0, 0)), mode="edge")


def blocks(v: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Blocks of rows, filled up to the one size, and how many of their rows count."""
    for at in range(0, len(v), BLOCK):
        rows = v[at : at + BLOCK]
        yield padded(rows, BLOCK), len(rows)


def by_block(
    function: Callable[[GrandCanonicalRBM, Any], Any], model: GrandCanonicalRBM, v: np.ndarray
) -> np.ndarray:
    """`function(model, rows)` of rows (n, …) in their own type.

    Give functions of a class or module, not lambdas: each new one would be compiled anew.
    """
    compiled = _compiled(function)
    parts = [np.asarray(compiled(model, rows))[:count] for rows, count in blocks(v)]
    return np.concatenate(parts).astype(v.dtype)


@lru_cache(maxsize=16)
def _compiled(function: Callable[[GrandCanonicalRBM, Any], Any]) -> Any:
    def typed(model: GrandCanonicalRBM, rows: Any) -> Any:
        return function(model, jnp.asarray(rows, model.W.dtype))

    return eqx.filter_jit(typed)


def mean_visible(model: GrandCanonicalRBM, h: Any) -> Any:
    """⟨v⟩ given values of all hidden units, (rows, N)."""
    return model.mean_visible(h, model.max_hidden)


def gibbs(model: GrandCanonicalRBM, v: np.ndarray, key: RandomKey) -> np.ndarray:
    """Rows after one Gibbs step."""
    parts = [
        np.asarray(_gibbs(model, rows, jax.random.fold_in(key, number)))[:count]
        for number, (rows, count) in enumerate(blocks(v))
    ]
    return np.concatenate(parts).astype(v.dtype)


@eqx.filter_jit
def _gibbs(model: GrandCanonicalRBM, v: Any, key: RandomKey) -> Any:
    return gibbs_step(model, model.response(jnp.asarray(v, model.W.dtype)), key)


def sizes_met(
    model: GrandCanonicalRBM, v: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """The mean of P(z ≥ a|v) over rows with weights (n,), (K,), and that of ⟨z⟩."""
    weights = np.ones(len(v)) if weights is None else weights
    total, at = np.zeros(model.max_hidden + 1), 0
    for rows, count in blocks(v):
        met = np.column_stack([np.asarray(x, np.float64)[:count] for x in _sizes(model, rows)])
        total += weights[at : at + count] @ met
        at += count
    mean = total / weights.sum()
    return mean[:-1], float(mean[-1])


@eqx.filter_jit
def _sizes(model: GrandCanonicalRBM, v: Any) -> Any:
    sizes = model.response(jnp.asarray(v, model.W.dtype)).sizes
    return sizes.survival, layer_size.mean(sizes)
