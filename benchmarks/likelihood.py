"""Log-likelihood reached per second: the same small RBM on the same data, exactly scored."""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from scipy.special import logsumexp

import vrbm
from peers import learnergy, rbms, scikit_learn
from problems import phase
from vrbm.data.digits import digits
from vrbm.training import Config, Optimizer, train

HIDDEN, BATCH = 14, 10
RATE = 0.05


def log_likelihood(rows: np.ndarray, W: Any, b: Any, c: Any) -> float:
    """Mean of log p(v) of a 0/1 RBM: Z by the sum over all states of the hidden layer."""
    W, b, c = (np.asarray(x, np.float64) for x in (W, b, c))
    h = ((np.arange(2 ** len(b))[:, None] >> np.arange(len(b))) & 1).astype(float)
    log_z = logsumexp(h @ b + np.logaddexp(0, h @ W + c).sum(axis=1))
    return float((rows @ c + np.logaddexp(0, rows @ W.T + b).sum(axis=1)).mean() - log_z)


def followed(step: Callable, read: Callable, rows: np.ndarray, seconds: float) -> list[Any]:
    """Pairs (seconds of training, log-likelihood); the score's own time is left out."""
    step()  # compiled, or warm
    spent, curve = 0.0, []
    while spent < seconds:
        start = time.perf_counter()
        step()
        spent += time.perf_counter() - start
        curve.append([spent, log_likelihood(rows, *read())])
    return curve


def ours(
    rows: np.ndarray, potential: vrbm.Potential, hidden: int = HIDDEN
) -> tuple[Callable, Callable]:
    """One epoch of `train` for each call; persistent chains, plain gradient steps."""
    model = vrbm.GrandCanonicalRBM.initialize(
        jax.random.key(0),
        rows.shape[1],
        hidden,
        data=rows,
        weight_scale=0.01,
        visible=vrbm.Binary(),
        hidden=vrbm.Binary(),
        potential=potential,
        dtype=np.float32,
    )
    config = Config.paper(
        epochs=10**6,
        batch_size=BATCH,
        negative=phase("PCD-1", BATCH),
        optimizer=Optimizer.paper("sgd", RATE),
        monitor_rows=10,
    )
    records = train(model, rows, config, jax.random.key(1))
    now: dict[str, Any] = {}

    def step() -> None:
        now["model"] = next(records).state.model

    return step, lambda: (now["model"].W, now["model"].b, now["model"].c)


def measure(seconds: float = 10.0) -> dict[str, Any]:
    """The curves, and by each the time to reach what the slowest peer reached at the end."""
    rows = (digits().train == 1).astype(np.float32)
    steps = len(rows) // BATCH
    curves = {
        "vrbm": followed(*ours(rows, vrbm.FixedSize()), rows, seconds),
        "scikit-learn": followed(*scikit_learn(rows, HIDDEN, BATCH, steps, RATE), rows, seconds),
        "rbms": followed(*rbms(rows, HIDDEN, BATCH, steps, RATE), rows, seconds),
        "learnergy": followed(*learnergy(rows, HIDDEN, BATCH, steps, RATE), rows, seconds),
    }
    goal = min(max(value for _, value in curve) for curve in curves.values()) - 0.01
    reached = {
        name: next((t for t, value in curve if value >= goal), None)
        for name, curve in curves.items()
    }
    return {"goal": goal, "seconds_to_goal": reached, "curves": curves}
