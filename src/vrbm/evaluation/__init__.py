"""What a model has learned: errors, sizes, couplings, observables, mixing."""

from vrbm.evaluation.adversarial import adversarial_accuracy
from vrbm.evaluation.couplings import (
    effective_couplings,
    leading_couplings,
    neighbour_score,
    unit_couplings,
)
from vrbm.evaluation.mixing import effective_sample_size, estimate, mixing_diagnostics, split_r_hat
from vrbm.evaluation.moments import compare_moments, pair_correlations
from vrbm.evaluation.observables import compare_with_ising, exact_ising, ising_observables
from vrbm.evaluation.pruning import prune, to_fixed
from vrbm.evaluation.reconstruction import errors_by_split, reconstruction_errors
from vrbm.evaluation.reweighting import weighted_ising
from vrbm.evaluation.sizes import average_sizes, effective_units, row_averages

__all__ = [
    "adversarial_accuracy",
    "average_sizes",
    "compare_moments",
    "compare_with_ising",
    "effective_couplings",
    "effective_sample_size",
    "effective_units",
    "errors_by_split",
    "estimate",
    "exact_ising",
    "ising_observables",
    "leading_couplings",
    "mixing_diagnostics",
    "neighbour_score",
    "pair_correlations",
    "prune",
    "reconstruction_errors",
    "row_averages",
    "split_r_hat",
    "to_fixed",
    "unit_couplings",
    "weighted_ising",
]
