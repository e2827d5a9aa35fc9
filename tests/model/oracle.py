"""Sums over all (v, h, z) in plain numpy, written from the paper and not from the package."""

from itertools import product

import numpy as np

import vrbm

SPIN, BINARY = (-1.0, 1.0), (0.0, 1.0)
#: The package's type, and the values of one unit in each of its states.
UNITS = {
    "spin": (vrbm.Spin, [(s,) for s in SPIN]),
    "binary": (vrbm.Binary, [(s,) for s in BINARY]),
    "three colours": (lambda: vrbm.Categorical(3), [(1, 0, 0), (0, 1, 0), (0, 0, 1)]),
}


def counts_of(states, rows):
    """How often each of the states, rows (…, n), is among other rows."""
    numbers = {tuple(row): index for index, row in enumerate(np.asarray(states).tolist())}
    found = [numbers[tuple(row)] for row in np.asarray(rows).tolist()]
    return np.bincount(found, minlength=len(numbers))


def log_sum(states, x):
    return np.log(sum(np.exp(s * x) for s in states))


def ansatz(p):
    def mu(W, b, states):
        quanta = (abs(W) ** p).sum(axis=1) / W.shape[1] + abs(b) ** p
        return quanta.sum() / np.tanh(quanta).sum()

    return mu


def smooth(W, b, states):
    return np.cosh(ansatz(1)(W, b, states)) / np.cosh(1)


def user_potential(W, b):
    return 0.3 + (W**2).sum() / W.size + abs(b).sum() / b.size


def user_prices(W, b):
    return 0.2 + b**2


# name: (the package's potential, μ(W, b, hidden states) in numpy, log 2 absorbed, all sizes)
POTENTIALS = {
    "absorbed": (vrbm.Penalizing(), ansatz(1), True, True),
    "kept": (vrbm.Penalizing(absorb_log2=False), ansatz(1), False, True),
    "p=2": (vrbm.Penalizing(p=2), ansatz(2), True, True),
    "p=1.5": (vrbm.Penalizing(p=1.5, absorb_log2=False), ansatz(1.5), False, True),
    "smooth": (vrbm.Penalizing(smooth=True), smooth, True, True),
    "constant": (vrbm.Constant(0.7), lambda W, b, s: 0.7, True, True),
    "negative": (vrbm.Constant(-0.4, absorb_log2=False), lambda W, b, s: -0.4, False, True),
    "fixed": (vrbm.FixedSize(), lambda W, b, s: 0.0, False, False),
    "local": (vrbm.Local(1.2), lambda W, b, s: 1.2 * log_sum(s, b), False, True),
    "local absorbed": (
        vrbm.Local(1.1, absorb_log2=True),
        lambda W, b, s: 1.1 * log_sum(s, b),
        True,
        True,
    ),
    "function": (user_potential, lambda W, b, s: user_potential(W, b), True, True),
    "function by unit": (user_prices, lambda W, b, s: user_prices(W, b), True, True),
}


class Oracle:
    """A random small model of n visible and k hidden units, and the same in the package."""

    def __init__(self, visible="spin", hidden="spin", potential="absorbed", n=3, k=3, seed=0):
        rng = np.random.default_rng(seed)
        visible_unit, self.choices = UNITS[visible]
        self.n, self.k = n * len(self.choices[0]), k
        self.W, self.b = rng.normal(size=(k, self.n)), rng.normal(size=k)
        self.c = rng.normal(size=self.n)
        hidden_unit, h_choices = UNITS[hidden]
        self.h_states = [state for (state,) in h_choices]
        given, self.mu, self.absorbed, self.all_sizes = POTENTIALS[potential]
        self.model = vrbm.GrandCanonicalRBM(
            self.W, self.b, self.c, visible_unit(), hidden_unit(), given
        )
        self.enumerate()

    def prices(self, W, b):
        mu = np.broadcast_to(self.mu(W, b, self.h_states), b.shape)
        return mu + (np.log(2) if self.absorbed else 0)

    def log_weight(self, v, h, z, W, b, c):
        """−E − Σ_{a≤z} μ_a."""
        value = c @ v
        for a in range(z):
            value += h[a] * (W[a] @ v + b[a]) - self.prices(W, b)[a]
        return value

    def enumerate(self):
        """Rows (v, h padded with 0, z, weight), for every state of the model."""
        sites = self.n // len(self.choices[0])
        self.v = np.array([np.ravel(v) for v in product(self.choices, repeat=sites)], float)
        rows = []
        for index, v in enumerate(self.v):
            for z in range(1 if self.all_sizes else self.k, self.k + 1):
                for h in product(self.h_states, repeat=z):
                    h = np.array([*h, *[0.0] * (self.k - z)])
                    weight = np.exp(self.log_weight(v, h, z, self.W, self.b, self.c))
                    rows.append((index, h, z, weight))
        self.index = np.array([row[0] for row in rows])
        self.h = np.array([row[1] for row in rows])
        self.z = np.array([row[2] for row in rows])
        self.weight = np.array([row[3] for row in rows])
        self.Z = self.weight.sum()
        self.p = self.weight / self.Z

    def log_likelihood(self, q, W, b, c):
        """Σ_v q(v) log p(v) for other parameters, from the same states."""
        weight = np.exp(
            [
                self.log_weight(self.v[i], h, z, W, b, c)
                for i, h, z in zip(self.index, self.h, self.z, strict=True)
            ]
        )
        of_v = np.bincount(self.index, weight, minlength=len(self.v))
        return q @ np.log(of_v / of_v.sum())
