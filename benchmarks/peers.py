"""The same steps by other packages, by their own functions and without their input checks."""

from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[], Any]


def available(algorithm: str, *shape: Any) -> dict[str, Call]:
    """The peers that have this algorithm; shape is (rows, n_hidden, batch, steps)."""
    makers: dict[str, dict[str, Callable[..., tuple[Call, Callable]]]] = {
        "PCD-1": {"scikit-learn": scikit_learn, "rbms": rbms},
        "CD-1": {"learnergy": learnergy, "rbms": rbms_from_data},
    }
    return {name: make(*shape)[0] for name, make in makers.get(algorithm, {}).items()}


def batches(rows: np.ndarray, batch: int, steps: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, len(rows), (steps, batch))


def scikit_learn(
    rows: np.ndarray, n_hidden: int, batch: int, steps: int, rate: float = 0.01
) -> tuple[Call, Callable]:
    """`BernoulliRBM`: persistent chains, one Gibbs step. Returns the call and its parameters."""
    from sklearn.neural_network import BernoulliRBM

    order = batches(rows, batch, steps)
    random = np.random.RandomState(0)
    machine = BernoulliRBM(n_hidden, learning_rate=rate, batch_size=batch, random_state=0)
    machine.partial_fit(rows[:batch])

    def call() -> None:
        for index in order:
            machine._fit(rows[index], random)

    return call, lambda: (
        machine.components_,
        machine.intercept_hidden_,
        machine.intercept_visible_,
    )


def rbms(
    rows: np.ndarray,
    n_hidden: int,
    batch: int,
    steps: int,
    rate: float = 0.01,
    persistent: bool = True,
    device: str = "cpu",
) -> tuple[Call, Callable]:
    """`rbms`: a step of its training function."""
    import torch
    from rbms.bernoulli_bernoulli.classes import BBRBM
    from rbms.training.pcd import fit_batch_pcd

    order = torch.from_numpy(batches(rows, batch, steps)).to(device)
    data = torch.from_numpy(rows).to(device)
    machine = BBRBM.init_parameters(
        num_hiddens=n_hidden, dataset=_Rows(data), device=torch.device(device), dtype=torch.float32
    )
    optimizer = torch.optim.SGD(machine.parameters(), lr=rate, maximize=True)
    for parameter in machine.parameters():
        parameter.grad = torch.zeros_like(parameter)
    weights = torch.ones(batch, device=device)
    state = {"chains": machine.init_chains(num_samples=batch)}

    def call() -> None:
        with torch.no_grad():
            for index in order:
                v = data[index]
                chains = state["chains"]
                if not persistent:
                    chains = machine.init_chains(batch, weights=weights, start_v=v)
                optimizer.zero_grad(set_to_none=False)
                state["chains"], _ = fit_batch_pcd(
                    (v, weights), chains, machine, gibbs_steps=1, beta=1.0, centered=False
                )
                optimizer.step()
            machine.vbias.sum().item()  # an accelerator is waited for

    return call, lambda: (
        machine.weight_matrix.detach().numpy().T,
        machine.hbias.detach().numpy(),
        machine.vbias.detach().numpy(),
    )


def rbms_from_data(
    rows: np.ndarray, n_hidden: int, batch: int, steps: int, device: str = "cpu"
) -> tuple[Call, Callable]:
    """The same, with chains that begin at the data."""
    return rbms(rows, n_hidden, batch, steps, persistent=False, device=device)


def on_accelerator(algorithm: str, *shape: Any) -> dict[str, Call]:
    """`rbms` with torch on a GPU, for what it has, where both are installed."""
    make: Any = {"PCD-1": rbms, "CD-1": rbms_from_data}.get(algorithm)
    try:
        import rbms as _  # noqa: F401
        import torch
    except ImportError:
        return {}
    if make is None or not torch.cuda.is_available():
        return {}
    return {"rbms": make(*shape, device="cuda")[0]}


class _Rows:
    """What `rbms` asks of a data set when it draws its first parameters."""

    def __init__(self, data: Any) -> None:
        import torch

        self.data, self.weights = data, torch.ones(len(data), device=data.device)

    def get_num_visibles(self) -> int:
        return int(self.data.shape[1])

    def get_num_states(self) -> int:
        return 2


def learnergy(
    rows: np.ndarray, n_hidden: int, batch: int, steps: int, rate: float = 0.01
) -> tuple[Call, Callable]:
    """`learnergy`: the loop of its `fit`, without its pseudo-likelihood and its log."""
    import logging

    import torch
    from learnergy.models.bernoulli import RBM

    logging.disable(logging.INFO)
    order = torch.from_numpy(batches(rows, batch, steps))
    data = torch.from_numpy(rows)
    machine = RBM(n_visible=rows.shape[1], n_hidden=n_hidden, steps=1, learning_rate=rate)

    def call() -> None:
        for index in order:
            samples = data[index]
            *_, fantasy = machine.gibbs_sampling(samples)
            fantasy = fantasy.detach()
            cost = machine.energy(samples).mean() - machine.energy(fantasy).mean()
            machine.optimizer.zero_grad()
            cost.backward()
            machine.optimizer.step()

    return call, lambda: (
        machine.W.detach().numpy().T,
        machine.b.detach().numpy(),
        machine.a.detach().numpy(),
    )
