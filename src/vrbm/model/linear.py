"""The matrix product of the package."""

import jax.numpy as jnp

from vrbm.typing import Field


def dot(a: Field, b: Field) -> Field:
    """a @ b in the precision of its arguments: an accelerator would use fewer bits by default."""
    return jnp.matmul(a, b, precision="highest")
