"""Binarized MNIST, 28×28: one layer that finds its size, trained for the likelihood.

For a GPU, where it takes some minutes.
"""

import jax

from vrbm import Constant, GrandCanonicalRBM
from vrbm.data.binarized_mnist import binarized_mnist
from vrbm.evaluation.scores import scores
from vrbm.model import storage
from vrbm.training import Config, Optimizer, Persistent, train


def main(
    data=None,
    max_hidden=800,
    epochs=300,
    chains=1000,
    annealed=100,
    temperatures=10_000,
    file="mnist_likelihood.safetensors",
):
    """Train, save and report."""
    data = binarized_mnist() if data is None else data
    model = GrandCanonicalRBM.initialize(
        jax.random.key(0),
        data.n_visible,
        max_hidden,
        data=data.train,
        weight_scale=1e-2,
        potential=Constant(mu=0.1),
    )
    config = Config.paper(
        epochs=epochs,
        batch_size=250,
        negative=Persistent(k=10, chains=chains),
        centred=True,
        optimizer=Optimizer.paper("sgd", 0.02, decay_from=0.5),
    )
    for record in train(model, data, config, jax.random.key(1)):
        print(
            f"epoch {record.epoch}: ⟨z⟩ {record.mean_size:.1f}, {record.seconds:.1f} s", flush=True
        )
    model = record.state.model
    storage.save(model, file)
    return report(model, data, annealed, temperatures)


def report(model, data, annealed=100, temperatures=10_000):
    """Print the likelihood of each split with its bracket; the ends of the test one's."""
    found = scores(model, data, jax.random.key(5), chains=annealed, temperatures=temperatures)
    for one in found.splits:
        likelihood = one.likelihood
        print(
            f"{one.split:10} {likelihood.mean:.2f} nats, "
            f"between {likelihood.lower:.2f} and {likelihood.upper:.2f}"
        )
    for remark in found.remarks:
        print(remark)
    (test,) = (one.likelihood for one in found.splits if one.split == "test")
    return test.lower, test.upper


if __name__ == "__main__":
    main()
