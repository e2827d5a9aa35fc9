r"""The annealing path: from independent visible units at β = 0 to the model at β = 1.

The model at β has weights βW, hidden biases βb, visible biases βc + (1 − β)c₀ and the prices of the
full model. With the unscaled fields x = Wv + b, and h and z summed out,

    −F_β(v) = [βc + (1 − β)c₀]·v + log Σ_z Π_{a≤z} e^{Γ(βx_a) − μ_a},

so that one product Wv serves every β. At β = 0 the sum does not depend on v, and

    log Z_0 = Σ_i Γ(c₀_i) + log Σ_z Π_{a≤z} e^{Γ(0) − μ_a}.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from vrbm.model import layer_size
from vrbm.model.layer_size import SizeScan
from vrbm.model.linear import dot
from vrbm.model.rbm import GrandCanonicalRBM, Response
from vrbm.typing import Batch, Field, Hidden, RandomKey, Scalar, Visible, VisibleBias


class Path(eqx.Module):
    """A model, with its prices computed once, and the base rates c₀ where its path begins.

    β is one number for all rows, or (rows, 1), one for each.
    """

    model: GrandCanonicalRBM
    base: VisibleBias
    """c₀, (N,)"""

    def fields(self, v: Visible) -> Hidden:
        """x = Wv + b, (…, K), the fields at β = 1."""
        return dot(v, self.model.W.T) + self.model.b

    def visible_fields(self, h: Hidden, beta: Field) -> Visible:
        """y = β(hW + c) + (1 − β)c₀, (…, N), given h with 0 beyond z."""
        return beta * (dot(h, self.model.W) + self.model.c) + (1 - beta) * self.base

    def sizes(self, x: Hidden, beta: Field) -> SizeScan:
        """Everything about z at β, given the fields x."""
        steps = self.model.hidden.cumulant(beta * x) - self.model.prices()
        return self.model.potential.sizes(steps)

    def response(self, v: Visible, x: Hidden, beta: Field) -> Response:
        """The hidden layer at β given v, whose fields are x."""
        sizes = self.sizes(x, beta)
        return Response(v, beta * x, sizes, sizes.survival * self.model.hidden.mean(beta * x))

    def log_weight(self, v: Visible, x: Hidden, beta: Field) -> Batch:
        """−F_β(v), (…,), of values v with fields x."""
        linear = dot(v, self.base) + _by_row(beta) * dot(v, self.model.c - self.base)
        return linear + self.sizes(x, beta).log_norm

    def gain(self, v: Visible, x: Hidden, before: Field, after: Field) -> Batch:
        """F_before(v) − F_after(v): what a change of β adds to a log-weight."""
        sizes = self.sizes(x, after).log_norm - self.sizes(x, before).log_norm
        return _by_row(after - before) * dot(v, self.model.c - self.base) + sizes

    def step(self, x: Hidden, beta: Field, key: RandomKey) -> Visible:
        """Draw z, h and then v at β, given the fields of the v before: leaves p_β(v) invariant.

        As a kernel on v it is reversible: p_β(v) T(v→v') = p_β(v') T(v'→v).
        """
        size_key, hidden_key, visible_key = jax.random.split(key, 3)
        model = self.model
        z = layer_size.sample(size_key, self.sizes(x, beta))
        h = model.hidden.sample(hidden_key, beta * x)
        h = jnp.where(jnp.arange(1, model.max_hidden + 1) <= z[..., None], h, 0)
        return model.visible.sample(visible_key, self.visible_fields(h, beta))

    @eqx.filter_jit
    def start(self, key: RandomKey, chains: int) -> Visible:
        """Independent draws at β = 0, (chains, N)."""
        y = jnp.broadcast_to(self.base, (chains, self.model.n_visible))
        return self.model.visible.sample(key, y)

    @eqx.filter_jit
    def log_partition_at_0(self) -> Scalar:
        """log Z_0, exact."""
        x = jnp.zeros_like(self.model.b)
        sizes = self.sizes(x, jnp.zeros((), x.dtype))
        return self.model.visible.cumulant(self.base).sum() + sizes.log_norm


def _by_row(beta: Field) -> Field:
    """β without the axis of the units."""
    return beta[..., 0] if jnp.ndim(beta) else beta
