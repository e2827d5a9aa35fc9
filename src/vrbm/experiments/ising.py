"""The paper's Ising experiment [ssc:Ising]: data, own measures and table."""

import warnings
from typing import Any

import numpy as np

from vrbm.data import ising
from vrbm.data.dataset import Dataset
from vrbm.evaluation import (
    compare_with_ising,
    leading_couplings,
    neighbour_score,
    weighted_ising,
)
from vrbm.evaluation.observables import Comparison
from vrbm.evaluation.sampling import sample
from vrbm.experiments import tables
from vrbm.experiments.results import Results, Row, row
from vrbm.experiments.study import Annealing, Preset
from vrbm.model import GrandCanonicalRBM
from vrbm.typing import RandomKey

TITLE = "The Ising model on an 8×8 lattice"
#: Temperatures at which configurations are shown, and how many of each.
SHOWN_TEMPERATURES = (0.5, 1.5, 2.0, 2.3, 2.8, 4.5)
SHOWN = 5
#: Exact draws that are weighted, and their seed, another one than that of the data.
DRAWS, DRAWS_SEED = 100_000, 1
N = 64


def load(preset: Preset) -> Dataset:
    """Exact draws at T = 0.1 … 4.5."""
    return ising.mixture_set(n_train=preset.train_rows, n_test=preset.test_rows)


def measures(
    model: GrandCanonicalRBM, data: Dataset, preset: Preset, key: RandomKey
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """S^32 and S^64 with their scores, and the model against exact thermodynamics."""
    assert data.train_labels is not None
    assert preset.annealing is not None
    numbers: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for z in (N // 2, N):
        if z <= model.max_hidden:
            found = leading_couplings(model, z)
            numbers[f"neighbours_{z}"] = neighbour_score(found.pairs, 8)._asdict()
            pairs = np.abs(found.pairs[~np.eye(N, dtype=bool)]).mean()
            numbers[f"field_to_pair_{z}"] = float(np.abs(found.fields).mean() / pairs)
            arrays[f"couplings_{z}"] = found.pairs.astype(np.float32)
    drawn = _samples(model, preset.annealing, key)
    temperatures = np.unique(data.train_labels)
    numbers["thermodynamics"] = _facts(compare_with_ising(drawn, temperatures))
    others = ising.mixture_set(8, temperatures, DRAWS, 1, seed=DRAWS_SEED)
    weighted = weighted_ising(model, others.train, temperatures)
    numbers["weighted"] = {
        "share": weighted.share,
        "log_partition": weighted.log_partition._asdict(),
        **(_facts(weighted.observables) if weighted.is_trusted else {}),
    }
    shown = [np.flatnonzero(np.isclose(data.train_labels, T))[:SHOWN] for T in SHOWN_TEMPERATURES]
    arrays["shown_rows"] = np.stack([data.train[rows] for rows in shown]).astype(np.int8)
    arrays["sampled_rows"] = drawn[: SHOWN * len(shown)].astype(np.int8)
    return numbers, arrays


def _facts(compared: dict[str, Comparison]) -> dict[str, Any]:
    return {
        name: {**value._asdict(), "relative": value.value / value.exact - 1}
        for name, value in compared.items()
        if value.exact
    }


def _samples(model: GrandCanonicalRBM, annealing: Annealing, key: RandomKey) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return sample(
            model,
            annealing.samples,
            key,
            "tempered",
            steps=annealing.rounds,
            replicas=annealing.replicas,
        )


def table(results: Results) -> list[Row]:
    """The paper's numbers beside ours, then what it does not report."""
    K = results.member("vrbm")["max_hidden"]
    of = results.values
    rows = [
        *row(f"ε_train, K = {K:,}", "1e-13", of("vrbm", "train", "error"), high=1e-12),
        *row(f"ε_test, K = {K:,}", "1e-13", of("vrbm", "test", "error"), high=1e-12),
        *row(
            "test configurations reproduced after rounding",
            "all",
            of("vrbm", "test", "reproduced"),
            unit="%",
            low=1.0,
        ),
        *row("mean size ⟨z⟩", "about 64, from 60 to 70", of("vrbm", "mean_size"), low=60, high=70),
        *row("chemical potential μ", "1.01", of("vrbm", "mu"), high=1.03),
        *row("last unit with weights", "64", of("vrbm", "last_active_unit"), low=60, high=70),
        *row(
            "largest idle over mean active weights",
            "about 0",
            of("vrbm", "idle_weights"),
            unit="%",
            high=0.01,
        ),
        *row(
            "active |b| over row average of |w|",
            "below 1",
            tables.ratios(of("vrbm", "active_bias"), of("vrbm", "active_weight")),
            high=1,
        ),
        *tables.widths(results, ("vrbm-128", "vrbm-400", "vrbm")),
        *row("ε_test, K = 200", "as K = 2,000", of("vrbm-200", "test", "error"), high=1e-12),
        *row("⟨z⟩, K = 200", "as K = 2,000", of("vrbm-200", "mean_size"), low=60, high=70),
        *row(
            "ε_test, ordinary RBM, 100 units",
            "about 0.1",
            of("rbm", "test", "error"),
            low=0.01,
            high=1,
        ),
        *row("bonds found by S^32, area under ROC", "", of("vrbm", "neighbours_32", "auc")),
        *row(
            "bonds found by S^64, area under ROC",
            "visible",
            of("vrbm", "neighbours_64", "auc"),
            low=0.9,
        ),
        *row(
            "S^64: bonds over other pairs, |S|",
            "visible",
            of("vrbm", "neighbours_64", "ratio"),
            low=2,
        ),
        *row("S^32: bonds over other pairs, |S|", "", of("vrbm", "neighbours_32", "ratio")),
        *row(
            "field |J| over pair coupling |S|, z = 64",
            "subleading",
            of("vrbm", "field_to_pair_64"),
            high=1,
        ),
    ]
    for name in tables.likelihood_members(results):
        rows += tables.likelihood(results, name)
    return rows
