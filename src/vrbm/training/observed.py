r"""What is known of the training rows beyond their values: weights, and which entries are missing.

The gradient of log p(v_obs), where v_obs are the entries that a row has, is the usual data average
taken under p(v_miss, h, z | v_obs), minus the model's. Its draws of v_miss come from clamped Gibbs
chains: one chain for each row, which goes on where it stood when the row was last visited. As with
persistent chains, the average is exact for a model that stands still, and lags behind one that
moves fast.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from vrbm.model import GrandCanonicalRBM, Unit
from vrbm.model.rbm import Response
from vrbm.training.negative import gibbs_step, met, most
from vrbm.typing import Batch, Chains, Field, Missing, MissingInRows, RandomKey, Rows, RowWeights

#: Clamped Gibbs steps for the missing entries of a row each time that it is visited.
SWEEPS = 3
#: Folded into the key of a training step for the completion of its rows.
COMPLETION = 2**31 - 1


class Observed(eqx.Module):
    """Weights of rows and their missing entries; None where all are alike, or all are there."""

    weights: RowWeights | None = None
    """positive, of any scale: row n counts w_n times"""
    missing: MissingInRows | None = None
    """True where an entry is unknown: its value in the rows is where its chain starts"""

    def checked(self, shape: tuple[int, int], visible: Unit) -> "Observed":
        """For rows of that shape, of these units, with weights of mean 1."""
        weights = self.weights
        if weights is not None:
            if weights.shape != shape[:1]:
                raise ValueError(
                    f"observed.weights has shape {weights.shape}, but there are {shape[0]} "
                    "training rows: pass one weight for each row."
                )
            if not (jnp.isfinite(weights) & (weights > 0)).all():
                raise ValueError(
                    "observed.weights holds numbers that are not positive and finite: leave out "
                    "rows that do not count."
                )
            weights = weights / weights.mean()
        if self.missing is not None and self.missing.shape != shape:
            raise ValueError(
                f"observed.missing has shape {self.missing.shape}, but the training rows have "
                f"{shape}: pass a truth value for each entry."
            )
        if self.missing is not None and not visible.splits_none(np.asarray(self.missing)):
            raise ValueError(
                f"observed.missing names some of the {visible.per_unit} values of a unit: name all "
                "of them, or none."
            )
        return Observed(weights, self.missing)

    def batch_weights(self, index: Array) -> Batch | None:
        """Weights of the rows of a batch."""
        return None if self.weights is None else self.weights[index]

    def complete(
        self, model: GrandCanonicalRBM, completed: Rows, index: Array, key: RandomKey
    ) -> tuple[Chains, Rows, Field]:
        """The batch with its missing entries drawn anew, all rows with it, and the sizes met."""
        assert self.missing is not None
        key = jax.random.fold_in(key, COMPLETION)
        v, sizes = clamped_chain(model, completed[index], self.missing[index], key, SWEEPS)
        return v, completed.at[index].set(v), sizes


def clamped_step(
    model: GrandCanonicalRBM, response: Response, missing: Missing, key: RandomKey
) -> Chains:
    """A Gibbs step that keeps the known entries: leaves p(v_miss | v_obs) invariant."""
    return jnp.where(missing, gibbs_step(model, response, key), response.v)


def clamped_chain(
    model: GrandCanonicalRBM, v: Chains, missing: Missing, key: RandomKey, k: int
) -> tuple[Chains, Field]:
    """k clamped Gibbs steps, and the sizes met before each."""

    def step(carry: tuple[Chains, Field], key: RandomKey) -> tuple[tuple[Chains, Field], None]:
        v, sizes = carry
        response = model.response(v)
        return (
            clamped_step(model, response, missing, key),
            most(sizes, met(model, response)),
        ), None

    none = jnp.zeros((1, model.max_hidden), v.dtype)
    (v, sizes), _ = jax.lax.scan(step, (v, none), jax.random.split(key, k))
    return v, sizes
