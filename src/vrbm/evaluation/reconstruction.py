r"""Reconstruction errors: how well k mean-field iterations give the data back.

A small error says that the model copies its input, not that it is likely (docs/measures.md).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vrbm.data.dataset import Dataset, Domain
from vrbm.evaluation.blocks import Blocks
from vrbm.model import GrandCanonicalRBM, checks
from vrbm.training import error
from vrbm.training.negative import MeanField
from vrbm.typing import RandomKey


class Error(NamedTuple):
    """Averages over rows of sums over the N visible units."""

    quadratic: float
    """Σ_i (v_i − v'_i)²"""
    absolute: float
    """Σ_i |v_i − v'_i|"""


@dataclass(frozen=True)
class ReconstructionErrors:
    """Errors of the values v' that stand for ⟨v⟩ after the last iteration."""

    rows: int
    mean_field: Error
    """v' = ⟨v⟩, as the paper measures"""
    rounded: Error
    """v' = the state nearest to ⟨v⟩"""
    sampled: Error
    """v' drawn with the mean ⟨v⟩"""
    reproduced: float
    """fraction of rows that rounding gives back whole"""


def reconstruction_errors(
    model: GrandCanonicalRBM,
    data: Any,
    key: RandomKey,
    *,
    kernel: MeanField = MeanField(),  # noqa: B008 (frozen)
    domain: Domain | None = None,
    block_rows: int | None = None,
) -> ReconstructionErrors:
    """ε of rows (rows, N) of any number: an array, a memory map, a split of a data set.

    Rows are read, encoded and reconstructed block by block; the random numbers of a row depend on
    `key` and its number alone. Errors far below the rounding of v itself are right in float32,
    since v − ⟨v⟩ is never computed as a difference. In float32 a residual below 1e-19 has the
    square 0.

    Parameters
    ----------
    kernel
        The mean-field iterations; those of a training are `config.negative.reconstruction()`.
    domain
        Of the data; found by a pass over them where it is not given.
    block_rows
        Rows computed at once.
    """
    key = checks.random_key(key)
    blocks = Blocks(model, data, domain, block_rows)
    sums, number = np.zeros(7), 0
    for rows, count in blocks:
        found = _row_errors(model, rows, np.asarray(number), key, kernel)
        sums += np.asarray(found, np.float64)[:, :count].sum(axis=1)
        number += count
    mean = (sums / len(blocks)).tolist()
    return ReconstructionErrors(
        rows=len(blocks),
        mean_field=Error(*mean[0:2]),
        rounded=Error(*mean[2:4]),
        sampled=Error(*mean[4:6]),
        reproduced=mean[6],
    )


def errors_by_split(
    model: GrandCanonicalRBM,
    data: Dataset,
    key: RandomKey,
    *,
    kernel: MeanField = MeanField(),  # noqa: B008 (frozen)
    block_rows: int | None = None,
) -> dict[str, ReconstructionErrors]:
    """ε_train, ε_test and, where it is there, that of the validation rows, by name of the split."""
    return {
        split: reconstruction_errors(
            model, rows, key, kernel=kernel, domain=data.domain, block_rows=block_rows
        )
        for split, rows, _ in data.splits()
    }


@eqx.filter_jit
def _row_errors(
    model: GrandCanonicalRBM,
    rows: Any,
    first: Any,
    key: RandomKey,
    kernel: MeanField,
) -> Any:
    """Quadratic and absolute errors of the three kinds, and whether rounding was right, (7, n)."""

    def fields(v: Any, key: RandomKey) -> tuple[Any, Any]:
        field_key, sample_key = jax.random.split(key)
        y, _ = kernel.fields(model, v, field_key)
        return y, model.visible.sample(sample_key, y)

    v = jnp.asarray(rows, model.W.dtype)
    keys = jax.vmap(lambda number: jax.random.fold_in(key, number))(first + jnp.arange(len(v)))
    y, sampled = jax.vmap(fields)(v, keys)
    kinds = (
        model.visible.residual(v, y),
        v - model.visible.nearest(model.visible.mean(y)),
        v - sampled,
    )
    values = [f(r) for r in kinds for f in (error.quadratic, lambda r: jnp.abs(r).sum(axis=-1))]
    return jnp.stack([*values, (kinds[1] == 0).all(axis=-1).astype(v.dtype)])
